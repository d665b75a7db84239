//! Starts the process that asks people at the gates of workflows.
//!
//! Workflows are files of projects, which the daemon does not know: it only makes sure that they
//! are checked when one has changed.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhook_engine::run::descendants::{ASIDE, MARK};
use anyhook_engine::run::detached;
use anyhook_hosts::bus_event::OURS;
use anyhook_model::{EventKind, Record};

/// The argument that makes the program ask at gates.
pub const ARGUMENT: &str = "__ask-at-gates";

/// Returns whether a record says that a workflow has changed.
pub(crate) fn is_about_workflow(record: &Record) -> bool {
    let is_workflow = |kind: &EventKind| match kind {
        EventKind::Other(name) => name.starts_with("workflow:"),
        _ => false,
    };
    record.host == OURS && is_workflow(&record.event)
}

/// Starts the process. If it is not needed, it exits by itself.
pub(crate) fn launch(binary: &Path) -> io::Result<()> {
    Command::new(binary)
        .arg(ARGUMENT)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env(MARK, ASIDE)
        .current_dir("/")
        .spawn()
        .map(detached::remember_detached)
}
