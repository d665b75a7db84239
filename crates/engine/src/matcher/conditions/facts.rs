//! What a tool call would do, as far as that can be told: the commands it runs, the files it
//! touches, the URLs it fetches, the MCP tool it calls.
//!
//! Found once for a call, when the first hook with conditions asks.

use std::collections::HashSet;
use std::sync::OnceLock;

use anyhook_model::report::{CallReading, CommandReading, FileReading, UnknownReading};
use anyhook_model::{Event, FilePath, ToolCall, tools};
use anyhook_shell::{CommandLine, ShellCommand};
use serde_json::Value;

use super::MatchEvidence;
use super::target::{Place, below};
use crate::matcher::wildcard::{self, PathForms};
use crate::path_forms::{self, NamedPath};

/// No more commands lines, files and URLs than this are looked at.
const MOST: usize = 1000;
/// No more names in a folder are compared with the wildcards of a command.
const MOST_ENTRIES: usize = 2000;

/// What a tool call would do.
#[derive(Debug, Default)]
pub struct CallFacts {
    /// Its command lines.
    pub lines: Vec<CommandLine>,
    /// The files it touches; found when first needed.
    files: OnceLock<FileUses>,
    /// The URLs it fetches, in lower case.
    pub urls: Vec<String>,
    /// The server and the tool, of a call of an MCP tool.
    pub mcp: Option<(String, String)>,
    /// Whether there is more than was looked at.
    pub is_cut: bool,
}

impl CallFacts {
    /// Returns every command of its command lines.
    pub fn commands(&self) -> impl Iterator<Item = &ShellCommand> {
        self.lines.iter().flat_map(|line| &line.commands)
    }

    /// Returns whether a command runs a program.
    pub fn runs(&self, program: &str) -> bool {
        let is_it = |name| wildcard::matches(program, name);
        self.is_cut || self.commands().any(|command| command.program().is_some_and(is_it))
    }

    /// Returns the files it touches.
    pub fn files(&self, event: &Event) -> &FileUses {
        self.files.get_or_init(|| FileUses::of(self, event))
    }

    /// Returns whether a file, a URL or the MCP tool has a text in its name.
    pub fn names(&self, literal: &str, event: &Event) -> bool {
        let is_file = |file: &FileUse| {
            file.is_glob || file.forms().any(|forms| forms.absolute.contains(literal))
        };
        let files = self.files(event);
        self.is_cut
            || files.is_cut
            || files.list.iter().any(is_file)
            || self.urls.iter().any(|url| url.contains(literal))
            || self
                .mcp
                .iter()
                .any(|(server, tool)| server.contains(literal) || tool.contains(literal))
    }
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Delete,
    /// It is gone from its place and written in another.
    Move,
    /// Nothing says what.
    Any,
}

impl Access {
    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Any => "any",
        }
    }

    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Any)
    }

    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Move | Self::Any)
    }

    pub fn deletes(self) -> bool {
        matches!(self, Self::Delete | Self::Move | Self::Any)
    }

    pub fn moves(self) -> bool {
        matches!(self, Self::Move | Self::Any)
    }

    fn of_tool(tool: &ToolCall) -> Self {
        let is = |name: &str| tool.name == name || tool.also.contains(&name);
        if is("MoveFile") {
            Self::Move
        } else if is("ReadFile") || is("Grep") || is("Glob") {
            Self::Read
        } else if is("WriteFile") || is("EditFile") {
            Self::Write
        } else if is("DeleteFile") {
            Self::Delete
        } else {
            Self::Any
        }
    }

    fn of_command(kind: anyhook_shell::Access) -> Self {
        match kind {
            anyhook_shell::Access::Read => Self::Read,
            anyhook_shell::Access::Write => Self::Write,
            anyhook_shell::Access::Delete => Self::Delete,
            anyhook_shell::Access::Move => Self::Move,
        }
    }
}

/// The files that a call touches.
#[derive(Debug, Default)]
pub struct FileUses {
    pub list: Vec<FileUse>,
    /// Whether there are more than were looked at: then every pattern counts as matching.
    pub is_cut: bool,
}

/// A file that a call touches.
#[derive(Debug)]
pub struct FileUse {
    pub path: FilePath,
    pub access: Access,
    /// Whether it has wildcards, which may stand for many files.
    pub is_glob: bool,
    /// The command that touches it, if one does.
    pub command: Option<(String, Option<String>)>,
    home: Option<String>,
}

impl FileUse {
    /// Returns its path in the forms that a pattern may match.
    pub fn forms(&self) -> impl Iterator<Item = PathForms<'_>> {
        let FilePath { path, relative, real, real_relative, other_names, .. } = &self.path;
        let given = std::iter::once((path, relative.as_deref()));
        let is_link = real != path || real_relative != relative;
        let real = is_link.then_some((real, real_relative.as_deref()));
        let others = other_names.iter().map(|name| (&name.path, Some(name.relative.as_str())));
        given.chain(real).chain(others).map(|(absolute, relative)| {
            let in_home = self.home.as_deref().and_then(|home| below(absolute, home));
            PathForms { absolute, relative, in_home }
        })
    }

    /// Returns what an answer may say about it.
    pub fn evidence(&self) -> MatchEvidence {
        let path = self.path.relative.as_ref().unwrap_or(&self.path.path);
        let (command, program) = self.command.clone().unzip();
        let program = program.flatten();
        MatchEvidence { path: Some(path.clone()), command, program, ..MatchEvidence::default() }
    }
}

/// Returns what the call of an event would do.
pub fn of_event(event: &Event) -> &CallFacts {
    static NOTHING: CallFacts = CallFacts {
        lines: Vec::new(),
        files: OnceLock::new(),
        urls: Vec::new(),
        mcp: None,
        is_cut: false,
    };
    let Some(tool) = &event.tool else { return &NOTHING };
    tool.derived.get_or_init(|| facts(event, tool)).unwrap_or(&NOTHING)
}

fn facts(event: &Event, tool: &ToolCall) -> CallFacts {
    let is_shell = tool.name == "Shell" || tool.also.contains(&"Shell");
    let mut facts = CallFacts { mcp: mcp(event, tool), ..CallFacts::default() };
    if is_shell {
        let lines = tools::shell_lines(&tool.input);
        facts.is_cut |= lines.len() > MOST;
        facts.lines = lines.iter().take(MOST).map(|line| anyhook_shell::read(line)).collect();
    }
    facts.find_urls(tool, is_shell);
    facts
}

/// Returns what the call of an event would do, for people; `None` unless it runs a command.
pub fn reading(event: &Event) -> Option<CallReading> {
    let facts = of_event(event);
    if facts.lines.is_empty() {
        return None;
    }
    let command = |command: &ShellCommand| CommandReading {
        command: command.text(),
        via: command.via.clone(),
        remote: command.is_remote,
        unknown: command.is_unknown,
    };
    let file = |file: &FileUse| FileReading {
        path: file.path.relative.clone().unwrap_or_else(|| file.path.path.clone()),
        access: file.access.word().to_owned(),
    };
    let unknown = facts.lines.iter().flat_map(|line| &line.unknown);
    let unknown = unknown.map(|unknown| UnknownReading {
        text: unknown.text.clone(),
        reason: unknown.reason.to_string(),
    });
    let is_run = |command: &&ShellCommand| !command.words.is_empty();
    let mut files: Vec<FileReading> = Vec::new();
    for file in facts.files(event).list.iter().map(file) {
        // What `sudo` runs has its redirections, too.
        if !files.contains(&file) {
            files.push(file);
        }
    }
    Some(CallReading {
        commands: facts.commands().filter(is_run).map(command).collect(),
        files,
        urls: facts.urls.clone(),
        unknown: unknown.collect(),
    })
}

impl FileUses {
    fn of(facts: &CallFacts, event: &Event) -> Self {
        let mut files = Self::default();
        if let Some(tool) = &event.tool {
            files.of_tool(event, tool);
        }
        files.of_commands(facts, event);
        files
    }

    fn of_tool(&mut self, event: &Event, tool: &ToolCall) {
        path_forms::resolve(event);
        let Some(forms) = tool.forms.get() else { return };
        self.is_cut |= forms.is_cut;
        let access = Access::of_tool(tool);
        let home = home_of(event);
        self.list.extend(forms.files.iter().map(|path| FileUse {
            path: path.clone(),
            access,
            is_glob: false,
            command: None,
            home: home.clone(),
        }));
    }

    fn of_commands(&mut self, facts: &CallFacts, event: &Event) {
        let place = Place::of(event);
        let mut named: Vec<(NamedPath, Access, Option<String>)> = Vec::new();
        for command in facts.commands() {
            if command.is_remote {
                continue;
            }
            let folder = place.folder_of(command);
            for access in command.files() {
                let kind = Access::of_command(access.access);
                for path in paths_of(&access.word, folder.as_deref(), &place) {
                    let text = command.text();
                    let named_path = NamedPath {
                        given: access.word.text.clone(),
                        is_glob: access.word.is_glob() && path.contains(['*', '?', '[']),
                        absolute: path,
                        command: text,
                    };
                    named.push((named_path, kind, command.program().map(str::to_owned)));
                }
            }
        }
        if named.len() > MOST {
            self.is_cut = true;
            named.truncate(MOST);
        }
        if named.is_empty() {
            return;
        }
        let home = home_of(event);
        let resolved = path_forms::resolve_named(event, named.iter().map(|(path, ..)| path));
        for (index, path) in resolved {
            let (named, access, program) = &named[index];
            let command = Some((named.command.clone(), program.clone()));
            let (access, is_glob) = (*access, named.is_glob);
            self.list.push(FileUse { path, access, is_glob, command, home: home.clone() });
        }
    }
}

impl CallFacts {
    fn find_urls(&mut self, tool: &ToolCall, is_shell: bool) {
        let mut urls = Vec::new();
        if is_shell {
            for command in self.commands() {
                urls.extend(command.urls().into_iter().map(str::to_ascii_lowercase));
            }
        } else {
            anyhook_model::json::any_leaf(&tool.input, &mut |text| {
                let start = text.trim_start().get(..8).unwrap_or_default().to_ascii_lowercase();
                if start.starts_with("http://") || start == "https://" {
                    urls.push(text.trim().to_ascii_lowercase());
                }
                urls.len() > MOST
            });
            if tool.name == "FetchURL"
                && let Some(url) = tool.input.get("url").and_then(Value::as_str)
            {
                urls.push(url.trim().to_ascii_lowercase());
            }
        }
        let mut seen = HashSet::new();
        urls.retain(|url| seen.insert(url.clone()));
        self.is_cut |= urls.len() > MOST;
        self.urls = urls;
    }
}

fn home_of(event: &Event) -> Option<String> {
    Some(path_forms::normal(&event.home.as_ref()?.to_string_lossy()))
}

/// Returns the paths that a word of a command names: one, or those that its wildcards stand for.
fn paths_of(word: &anyhook_shell::Word, folder: Option<&str>, place: &Place<'_>) -> Vec<String> {
    let Some(text) = word.known() else {
        // The folder that is known may be what a pattern names.
        let known = word.prefix().rsplit_once('/').map(|(folder, _)| folder);
        let known = known.filter(|folder| !folder.is_empty() && *folder != "~" && *folder != ".");
        return known.and_then(|known| place.absolute(known, folder)).into_iter().collect();
    };
    let Some(absolute) = place.absolute(text, folder) else { return Vec::new() };
    if !word.is_glob() {
        return vec![absolute];
    }
    let Some((parent, pattern)) = absolute.rsplit_once('/') else { return Vec::new() };
    let mut paths = vec![absolute.clone()];
    if parent.contains(['*', '?', '[', '{']) {
        return paths;
    }
    let entries = std::fs::read_dir(if parent.is_empty() { "/" } else { parent });
    for entry in entries.into_iter().flatten().flatten().take(MOST_ENTRIES) {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        // A wildcard does not stand for a dot at the beginning.
        let is_hidden = name.starts_with('.') && !pattern.starts_with('.');
        if !is_hidden && fast_glob::glob_match(pattern, name) {
            paths.push(format!("{parent}/{name}"));
        }
    }
    paths
}

/// Returns the server and the tool that a call of an MCP tool is for.
fn mcp(event: &Event, tool: &ToolCall) -> Option<(String, String)> {
    let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
    let told =
        event.raw.get("mcp").and_then(|mcp| Some((text(mcp, "server")?, text(mcp, "tool")?)));
    told.or_else(|| {
        let name = tool.names().find_map(|name| name.strip_prefix("mcp__"))?;
        let (server, tool) = name.split_once("__")?;
        Some((server.to_owned(), tool.to_owned()))
    })
}
