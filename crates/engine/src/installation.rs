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

/// Returns whether an agent's settings still have our entry, in those of the user or of a project that
/// contains a folder. At a tool call it must be the entry of tool calls.
pub(crate) fn is_in_place(state: &Path, host: &str, work_dir: &Path, is_tool: bool) -> bool {
    let Ok(entries) = fs::read_dir(StateDir::new(state).installed()) else { return false };
    let is_hosts = |path: &Path| {
        let rest = path.file_name().and_then(|name| name.to_str()?.strip_prefix(host));
        let project = |rest: &str| {
            let place = rest.strip_prefix('-')?.strip_suffix(".json")?.to_owned();
            let is_it = |folder: &Path| folder.to_string_lossy().replace('/', "%") == place;
            Some(work_dir.ancestors().any(is_it))
        };
        rest.is_some_and(|rest| rest == "-user.json" || project(rest) == Some(true))
    };
    let is_in = |record: Installed| record.has_entry(&format!("hook {host} "), is_tool);
    entries.flatten().map(|entry| entry.path()).filter(|path| is_hosts(path)).any(|path| {
        let record = read_regular(&path).ok();
        record.and_then(|record| serde_json::from_slice(&record).ok()).is_some_and(is_in)
    })
}

/// The option with which entries of tool calls end.
const TOOL_EVENT: &str = "--tool-event";

#[derive(Deserialize)]
struct Installed {
    #[serde(default)]
    files: BTreeMap<PathBuf, Written>,
}

impl Installed {
    /// Returns whether our entry is still there: the line with our call, whatever else was edited. A
    /// plugin, whose call is not in one line, must be as it was written.
    fn has_entry(&self, call: &str, is_tool: bool) -> bool {
        let mut written = self.files.iter().filter_map(|(path, file)| {
            Some((read_regular(path).unwrap_or_default(), file.after.as_deref()?))
        });
        if self.files.values().any(|file| file.after.as_ref().is_some_and(|it| it.contains(call))) {
            let is_ours =
                |line: &str| line.contains(call) && (!is_tool || line.contains(TOOL_EVENT));
            return written.any(|(now, _)| String::from_utf8_lossy(&now).lines().any(is_ours));
        }
        !self.files.is_empty() && written.all(|(now, after)| now == after.as_bytes())
    }
}

/// A file as it was written.
#[derive(Deserialize)]
struct Written {
    after: Option<String>,
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
