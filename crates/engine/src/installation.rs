//! Recorded installations: what `install` wrote into agents' settings, as far as the engine watches
//! it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhook_model::StateDir;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::hook::read_regular;

/// One installation: an agent, and the files that contain our entries.
#[derive(Debug)]
pub(crate) struct Installation {
    /// The agent.
    pub host: String,
    /// The settings files.
    pub files: Vec<PathBuf>,
    /// The program they call.
    pub program: Option<PathBuf>,
}

#[derive(Deserialize)]
#[expect(clippy::zero_sized_map_values, reason = "of each file only the path is needed")]
struct Record {
    #[serde(default)]
    files: BTreeMap<PathBuf, IgnoredAny>,
    #[serde(default)]
    program: Option<PathBuf>,
}

impl Installation {
    /// Returns every recorded installation.
    pub(crate) fn all(state: &Path) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(StateDir::new(state).installed()) else { return Vec::new() };
        let one = |path: PathBuf| {
            let name = path.file_stem()?.to_str()?;
            // `AGENT-user`, or `AGENT-%home%ann%project`.
            let host = name.strip_suffix("-user").or_else(|| Some(name.split_once("-%")?.0))?;
            let record: Record = serde_json::from_slice(&read_regular(&path).ok()?).ok()?;
            let files = record.files.into_keys().collect();
            Some(Self { host: host.to_owned(), files, program: record.program })
        };
        let mut all: Vec<Self> = entries.flatten().filter_map(|entry| one(entry.path())).collect();
        all.sort_by(|one, other| one.files.cmp(&other.files));
        all
    }
}
