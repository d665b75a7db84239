//! Workflows: staged delivery with artifacts and gates.

mod bad_input;
mod commands;
mod decisions;
mod events;
mod gate;
mod list;
mod next_actions;
mod run;
mod safety;
mod scripted_agents;
mod send_back_reasons;
mod stages;
pub mod workflow_fixture;

use std::path::Path;
use std::sync::LazyLock;

use anyhook_workflow::method::Method;

/// The folder of the method that comes with the program.
pub const METHOD_FOLDER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/cli/packs/delivery-workflow/workflow");

/// Returns the method that comes with the program.
pub fn method() -> &'static Method {
    static METHOD: LazyLock<Method> =
        LazyLock::new(|| Method::read_folder(Path::new(METHOD_FOLDER)).unwrap());
    &METHOD
}
