//! The files of an imported hook: HOOK.md, its script, and what it was.

use anyhook_hosts::HostSpec;
use anyhook_hosts::native_hooks::{MatcherForm, NativeEvent, NativeFormat, NativeHook};
use anyhook_terminal::first_line;

use super::definition::{FILE, NativeDefinition, NativeEntry, VERSION};
use super::run;
use crate::learned::NewFolder;
use crate::new_hook::{SCRIPT, quoted};

/// The script of every imported hook.
const RUNS: &str = "#!/bin/sh\nexec \"${ANYHOOK_BIN:-anyhook}\" guard native\n";

/// At most this many characters of a command are in a description.
const COMMAND_WIDTH: usize = 100;

/// A hook that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewImport<'plan> {
    /// Its name.
    pub name: &'plan str,
    /// The agent whose hook it was.
    pub agent: &'static HostSpec,
    /// How that writes its hooks.
    pub format: &'static NativeFormat,
    /// Whether it was in the project's settings.
    pub project: bool,
    /// Whether it is put into shadow mode.
    pub shadow: bool,
    /// Its place among the hooks of its event, the first of which runs first.
    pub order: usize,
}

impl NewImport<'_> {
    /// Returns its files; `None` if the hooks cannot be carried over.
    pub fn files(&self, natives: &[&NativeHook]) -> Option<NewFolder> {
        let first = *natives.first()?;
        let definition = NativeDefinition {
            v: VERSION,
            host: self.agent.id().to_owned(),
            event: first.event.clone(),
            project: self.project,
            entries: natives.iter().map(|native| NativeEntry::from(*native)).collect(),
        };
        let event = self.format.event(&first.event)?;
        let hook_file = self.hook_file(event, first, &definition)?;
        let described = serde_json::to_string_pretty(&definition).ok()?;
        Some(NewFolder {
            name: self.name.to_owned(),
            files: vec![
                ("HOOK.md".to_owned(), hook_file),
                (SCRIPT.to_owned(), RUNS.to_owned()),
                (FILE.to_owned(), described + "\n"),
            ],
        })
    }

    fn hook_file(
        &self,
        event: &NativeEvent,
        first: &NativeHook,
        definition: &NativeDefinition,
    ) -> Option<String> {
        let command = first.command.as_ref().ok()?;
        let (name, title, line) = (self.name, self.format.title, command.line());
        let kinds: Vec<String> = event.kinds().iter().map(ToString::to_string).collect();
        let about = format!(
            "Imported from {title} ({}): {}",
            event.name,
            first_line(line.trim(), COMMAND_WIDTH)
        );
        let mut text = format!(
            "---\nname: {name}\ndescription: {}\ntrigger: [{}]\n",
            quoted(&about),
            kinds.join(", ")
        );
        if let Some(tools) = tools(self.agent, self.format, event, definition) {
            text += &format!("matcher:\n  tool: {}\n", quoted(&tools));
        }
        let timeout = command.timeout_ms.min(run::longest_ms(self.agent, event)) + run::START_MS;
        let priority = 100_usize.saturating_sub(self.order);
        text += &format!(
            "hosts: {}\nstdin: native\ntimeout: {timeout}\npriority: {priority}\n",
            self.agent.id()
        );
        if command.blocks_on_failure {
            text += "on_failure: block\nenv: inherit\n";
        }
        if self.shadow {
            text += "mode: shadow\n";
        }
        let indented: Vec<String> = line.trim().lines().map(|line| format!("    {line}")).collect();
        text += &format!(
            "---\n\n# {name}\n\nRuns the command that {title} ran at `{}`, as {title} ran it:\n\n{}\n\n`{FILE}` is its entry in {title}'s settings; change the command there. `anyhook import {} --restore{}` puts it back.\n",
            event.name,
            indented.join("\n"),
            self.agent.id(),
            if self.project { " --project" } else { "" },
        );
        Some(text)
    }
}

/// Returns an expression for the tools that a hook is for; `None` if it is for every tool, or if it
/// is not certain that the expression means the same to us.
///
/// It only spares a process: the agent's matchers are in the definition, and decide.
fn tools(
    agent: &HostSpec,
    format: &NativeFormat,
    event: &NativeEvent,
    definition: &NativeDefinition,
) -> Option<String> {
    if !event.kind.has_matcher() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for entry in &definition.entries {
        let MatcherForm::Names(listed) = (format.matcher)(event, entry.matcher.as_deref()?) else {
            return None;
        };
        for name in listed {
            let is_found_by = |(_, others): &&(&str, &[&str])| others.contains(&name.as_str());
            let others = format.tool_names.iter().filter(is_found_by);
            names.extend(others.map(|(tool, _)| (*tool).to_owned()));
            names.push(name);
        }
    }
    let is_plain = |name: &String| {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_- ".contains(letter);
        name.chars().all(is_plain) && is_one_event(agent, name)
    };
    if names.is_empty() || !names.iter().all(is_plain) {
        return None;
    }
    let known = |name: &String| agent.protocol.tools.iter().find(|tool| tool.native == name);
    let canonical =
        |name: &String| known(name).map_or(name.clone(), |tool| tool.canonical.to_owned());
    let mut names: Vec<String> = names.iter().map(canonical).collect();
    names.sort();
    names.dedup();
    Some(names.join("|"))
}

/// Returns whether a call of a tool is one event: a patch is one for each file, as if each were a
/// call of another tool.
fn is_one_event(agent: &HostSpec, name: &str) -> bool {
    if agent.other_tools.iter().all(|tool| tool.name != "apply_patch") {
        return true;
    }
    let known = agent.protocol.tools.iter().find(|tool| tool.native == name);
    known.is_some_and(|tool| !tool.canonical.ends_with("File")) || name.starts_with("mcp__")
}
