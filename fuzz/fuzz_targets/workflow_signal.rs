//! Whatever agents and people say to a workflow.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use anyhook_workflow::fuzzing::workflow_signal;
use anyhook_workflow::method::Method;

static METHOD: LazyLock<Method> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/cli/packs/delivery-workflow/workflow");
    Method::read_folder(Path::new(folder)).expect("the method of the pack")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| workflow_signal(data, &METHOD));
