//! Writes `crates/model/src/agent_names.rs` (`cargo xtask generate`): what hooks may call agents,
//! their tools and their events by, collected from the agents' folders. A second file gets the table
//! of tools in `docs/reference/events.md`.
//!
//! The model is below this crate, and the engine knows nothing else of agents.

use std::fmt::Write as _;
use std::{env, fs, io};

use anyhook_hosts::planned::planned;
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::{EventKind, Host as _, OpenFormat, tools};

fn main() -> io::Result<()> {
    let mut files = env::args_os().skip(1);
    let mut file = || files.next().ok_or(io::ErrorKind::InvalidInput);
    fs::write(file()?, text())?;
    fs::write(file()?, table())
}

/// The canonical tools, for people; special forms are in italics.
fn table() -> String {
    let mut table = "| tool | | fields | agents' own names |\n|---|---|---|---|\n".to_owned();
    let cell = |items: Vec<String>| {
        if items.is_empty() { "–".to_owned() } else { items.join(", ") }
    };
    for tool in tools::TOOLS {
        let fields = cell(tool.fields.iter().map(|field| format!("`{field}`")).collect());
        let whole = tool_names(tool.name, false).into_iter();
        let whole = whole.map(|(name, whose)| format!("`{name}` ({whose})"));
        let special = tool_names(tool.name, true).into_iter();
        let special = special.map(|(name, whose)| format!("*`{name}`* ({whose})"));
        let names = cell(whole.chain(special).collect());
        let _ = writeln!(table, "| `{}` | {} | {fields} | {names} |", tool.name, tool.what);
    }
    table
}

fn text() -> String {
    let mut text = "\
//! The names that agents have for themselves, for their tools and for their events.
//!
//! Made by `cargo xtask generate` from the folders in `crates/hosts`; changes here are lost.

use crate::kind::EventKind;

/// Agents' own names of a tool, and whose they are.
pub(crate) struct ToolNames {
    /// Of the whole tool.
    pub whole: &'static [(&'static str, &'static str)],
    /// Of special forms of it.
    pub special: &'static [(&'static str, &'static str)],
}
"
    .to_owned();
    let ids = host_ids();
    let _ = write!(
        text,
        "\n/// Names of hosts that a hook's `hosts` may list.\n\
         pub const HOST_IDS: [&str; {}] = {ids:?};\n",
        ids.len()
    );
    let names = host_names();
    let _ = write!(
        text,
        "\n/// Other names of hosts, and the ids they stand for.\n\
         pub(crate) const HOST_NAMES: [(&str, &[&str]); {}] = {};\n",
        names.len(),
        list(names.iter().map(|(name, ids)| format!("({name:?}, &{ids:?})")))
    );
    for tool in tools::TOOLS {
        let (whole, special) = (tool_names(tool.name, false), tool_names(tool.name, true));
        if whole.is_empty() && special.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n/// `{}`.\npub(crate) const {}: ToolNames = ToolNames {{ whole: &{whole:?}, \
             special: &{special:?} }};\n",
            tool.name,
            constant(tool.name)
        );
    }
    let mut others: Vec<&str> =
        AGENTS.iter().flat_map(|agent| agent.other_tools).map(|tool| tool.name).collect();
    others.sort_unstable();
    others.dedup();
    let texts: Vec<_> = AGENTS.iter().flat_map(|agent| agent.other_tool_texts).collect();
    let _ = write!(
        text,
        "\n/// Every spelling of the field that names a tool's file, the canonical one first.\n\
         pub(crate) const FILE_FIELDS: &[&str] = &{:?};\n\
         \n/// The same for a folder that is searched.\n\
         pub(crate) const FOLDER_FIELDS: &[&str] = &{:?};\n\
         \n/// Tools that are none of the canonical ones.\n\
         pub const OTHER_TOOLS: &[&str] = &{others:?};\n\
         \n/// Fields of these tools that look as if they held a command and do not: tool, field.\n\
         pub(crate) const OTHER_TOOL_TEXTS: &[(&str, &str)] = &{texts:?};\n",
        path_fields(&["ReadFile", "WriteFile", "EditFile"]),
        path_fields(&["Glob", "Grep"]),
    );
    let events = event_names();
    let _ = write!(
        text,
        "\n/// The names of agents' events, and the kind that is meant by them.\n\
         pub(crate) const EVENT_NAMES: [(&str, EventKind); {}] = {};\n",
        events.len(),
        list(events.iter().map(|(name, kind)| format!("({name:?}, EventKind::{kind:?})")))
    );
    text
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// `ReadFile` as `READ_FILE`.
fn constant(name: &str) -> String {
    let mut constant = String::new();
    let mut is_after_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && is_after_small {
            constant.push('_');
        }
        is_after_small = letter.is_lowercase();
        constant.push(letter.to_ascii_uppercase());
    }
    constant
}

fn host_ids() -> Vec<&'static str> {
    let mut ids = vec![OpenFormat.id()];
    ids.extend(AGENTS.map(HostSpec::id));
    ids.extend(planned().flat_map(|host| host.ids));
    ids.sort_unstable();
    ids
}

fn host_names() -> Vec<(&'static str, Vec<&'static str>)> {
    let own = AGENTS
        .into_iter()
        .flat_map(|agent| agent.other_names.iter().map(move |name| (*name, vec![agent.id()])));
    let others = planned()
        .flat_map(|host| host.other_names.iter().map(move |name| (*name, host.ids.to_vec())));
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, ids) in own.chain(others) {
        // Two agents may have a program of the same name.
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.extend(ids),
            None => names.push((name, ids)),
        }
    }
    for (_, ids) in &mut names {
        ids.sort_unstable();
    }
    names
}

/// Returns agents' own names of a canonical tool, each with the titles of whose it is.
fn tool_names(canonical: &str, is_special: bool) -> Vec<(&'static str, String)> {
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for agent in AGENTS {
        let tools = agent.protocol.tools.iter().filter(|tool| tool.canonical == canonical);
        for tool in tools.filter(|tool| agent.special_tools.contains(&tool.native) == is_special) {
            match names.iter_mut().find(|(name, _)| *name == tool.native) {
                Some((_, whose)) => whose.push(agent.title),
                None => names.push((tool.native, vec![agent.title])),
            }
        }
    }
    names.into_iter().map(|(name, whose)| (name, enumeration(&whose))).collect()
}

/// `a`, `a and b`, `a, b and c`.
fn enumeration(names: &[&str]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.concat(),
    }
}

/// Returns every spelling of `path` in these tools.
fn path_fields(canonical_tools: &[&str]) -> Vec<&'static str> {
    let mut fields = vec!["path"];
    for canonical in canonical_tools {
        let tools = AGENTS.iter().flat_map(|agent| agent.protocol.tools);
        let renamed =
            tools.filter(|tool| tool.canonical == *canonical).flat_map(|tool| tool.renamed);
        for (native, _) in renamed.filter(|(_, field)| *field == "path") {
            if !fields.contains(native) {
                fields.push(native);
            }
        }
    }
    fields
}

/// Returns the names of agents' events. One that is several events is the one that can be blocked.
fn event_names() -> Vec<(&'static str, EventKind)> {
    let mut names: Vec<(&str, EventKind)> = Vec::new();
    for agent in AGENTS {
        let rows = agent.protocol.capabilities;
        for native in rows.iter().filter_map(|row| row.native) {
            if names.iter().any(|(name, _)| *name == native) {
                continue;
            }
            let mut own = rows.iter().filter(|row| row.native == Some(native));
            let kind = own.clone().find(|row| row.block).or_else(|| own.next());
            names.extend(kind.map(|row| (native, row.event.clone())));
        }
    }
    names
}
