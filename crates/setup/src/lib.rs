//! What is set up on a machine, for a user and a project; read and written, without a word to anybody.
//!
//! - [`settings`] and [`install`]: agents' settings files, and how they come to call us;
//! - [`new_hook`]: a hook to start from; [`packs`]: hooks that belong together, put in place and taken
//!   away; [`shadow`]: hooks that are only watched; [`promote`]: hooks that count from now on;
//! - [`hooks`], [`runbooks`], [`mcp_servers`]: what counts for work in a folder, and what of it is trusted;
//!   [`trust`]: what may be trusted, compared with what was; [`runbook_report`]: a runbook's pipelines
//!   as they are reported;
//! - [`workspaces`]: whether a pipeline's workspace can be made;
//! - [`known_places`]: where all that is, whatever the caller's environment says;
//! - [`service`]: the daemon as a service of the session; [`doctor`]: what is wrong with all of it;
//! - [`accept_changes`]: what a person changed counts at once.

pub mod accept_changes;
pub mod doctor;
mod error;
pub mod hooks;
pub mod install;
pub mod known_places;
pub mod mcp_servers;
pub mod new_hook;
pub mod packs;
pub mod passwd;
pub mod promote;
pub mod runbook_report;
pub mod runbooks;
pub mod service;
pub mod settings;
pub mod shadow;
pub mod trust;
pub mod workspaces;

use std::path::Path;

use anyhook_engine::Places;

pub use error::SetupError;

/// Returns a path as a person would write it: below home with `~`.
pub fn shown(path: &Path, places: &Places) -> String {
    match places.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(inner) if !inner.as_os_str().is_empty() => format!("~/{}", inner.display()),
        _ => path.display().to_string(),
    }
}
