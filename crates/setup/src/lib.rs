//! Setup on a machine, for a user and a project: reads and writes it, without any output.
//!
//! - [`settings`] and [`install`]: agents' settings files, and the entries that call us;
//!   [`install_report`], [`host_report`], [`pack_report`]: what is reported of them and of packs;
//! - [`init`]: all that a newcomer needs, in one step that can be undone; [`import`]: makes HOOK.md
//!   folders of the hooks in agents' own settings;
//! - [`proof`]: whether agents heed us on this machine, and whether that still holds;
//! - [`new_hook`]: the template of a hook; [`learned`]: adds hooks that were proposed; [`packs`]:
//!   installs and removes packs of hooks; [`shadow`]: hooks in shadow mode; [`promote`]: switches
//!   them to enforce;
//! - [`hooks`], [`runbooks`], [`mcp_servers`]: what applies to work in a folder, and whether it is
//!   trusted; [`trust`]: what may be trusted, compared with what was trusted before;
//!   [`trust_page`]: what a person sees of it;
//!   [`runbook_report`]: a runbook's pipelines as they are reported;
//! - [`workspaces`]: whether a pipeline's workspace can be created;
//! - [`known_places`]: the folders of all that, whatever the caller's environment says;
//! - [`service`]: the daemon as a service of the session; [`doctor`]: checks all of it;
//! - [`accept_changes`]: makes a person's changes take effect at once.

pub mod accept_changes;
pub mod doctor;
mod error;
pub mod hooks;
pub mod host_report;
pub mod import;
pub mod init;
pub mod install;
pub mod install_report;
pub mod known_places;
pub mod learned;
pub mod mcp_servers;
pub mod new_hook;
pub mod pack_report;
pub mod packs;
pub mod passwd;
pub mod promote;
pub mod proof;
pub mod runbook_report;
pub mod runbooks;
pub mod service;
pub mod settings;
pub mod shadow;
pub mod trust;
pub mod trust_page;
pub mod workspaces;

use std::path::Path;

use anyhook_engine::Places;

pub use error::SetupError;

/// Returns a path as a person would write it: below the home folder with `~`.
pub fn shown(path: &Path, places: &Places) -> String {
    match places.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(inner) if !inner.as_os_str().is_empty() => format!("~/{}", inner.display()),
        _ => path.display().to_string(),
    }
}
