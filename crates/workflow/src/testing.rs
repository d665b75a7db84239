//! The method that tests use: that of the pack `delivery-workflow`.

use std::path::Path;
use std::sync::LazyLock;

use crate::definition::{self, ParsedDefinition, WorkflowDefinition};
use crate::method::Method;
use crate::schemas::ArtifactKind;

/// The folder of the method.
const FOLDER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/cli/packs/delivery-workflow/workflow");
/// Its `workflow.toml`.
pub const DEFAULT: &str =
    include_str!("../../../crates/cli/packs/delivery-workflow/workflow/workflow.toml");

/// Returns the method.
pub fn method() -> &'static Method {
    static METHOD: LazyLock<Method> =
        LazyLock::new(|| Method::read_folder(Path::new(FOLDER)).unwrap());
    &METHOD
}

/// Returns one of its kinds of artifacts, or one of anyhook's own.
pub fn kind(name: &str) -> ArtifactKind {
    method().kind(name).unwrap()
}

/// Returns its workflow.
pub fn default() -> WorkflowDefinition {
    method().definition().clone()
}

/// Reads a `workflow.toml` that may name the method's schemas.
pub fn read(text: &str) -> ParsedDefinition {
    definition::read(text, method())
}
