//! Where oh-my-pi keeps its sessions.

use super::settings::FOLDER_VARIABLE;
use crate::log::{LogFormat, LogLocation, LogRoots};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder(FOLDER_VARIABLE, ".omp/agent").join("sessions"),
        // What subagents do is in folders below.
        names: &["*", "*.jsonl"],
        form: LogFormat::Lines,
    }]
}
