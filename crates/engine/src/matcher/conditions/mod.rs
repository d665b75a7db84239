//! The conditions of a matcher, ready to use: on commands, files, URLs and MCP tools.
//!
//! They are decided on what a call would do ([`CallFacts`]), not on its text. What cannot be told is
//! matched by the conditions for that (`unknown`) and by no other.

mod facts;
mod shell;
mod target;

use anyhook_model::Event;
use std::path::Path;

use anyhook_model::hook::{FileCondition, MatcherDefinition, McpCondition};

use self::facts::FileUse;
pub use self::facts::{CallFacts, of_event, reading};
use self::shell::ShellMatcher;
use super::{Matcher, wildcard};
use crate::matcher::wildcard::FilePattern;

/// What of a call matched, for the placeholders of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchEvidence {
    /// The simple command.
    pub command: Option<String>,
    /// Its program.
    pub program: Option<String>,
    /// The argument.
    pub argument: Option<String>,
    /// The file.
    pub path: Option<String>,
    /// The URL.
    pub url: Option<String>,
    /// The MCP server.
    pub server: Option<String>,
}

impl MatchEvidence {
    /// Adds what another part of the matcher matched; what is known already is kept.
    fn join(&mut self, other: Self) {
        let Self { command, program, argument, path, url, server } = other;
        self.command = self.command.take().or(command);
        self.program = self.program.take().or(program);
        self.argument = self.argument.take().or(argument);
        self.path = self.path.take().or(path);
        self.url = self.url.take().or(url);
        self.server = self.server.take().or(server);
    }
}

/// Conditions that must all hold.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    shell: Vec<ShellMatcher>,
    files: Option<FileMatcher>,
    url: Vec<String>,
    mcp: Option<McpCondition>,
    any: Vec<Matcher>,
    all: Vec<Matcher>,
    not: Option<Box<Matcher>>,
}

/// What a call must contain so that conditions may hold: one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefilter {
    /// Whether any call may match.
    pub is_open: bool,
    /// Programs that a command runs.
    pub programs: Vec<String>,
    /// Texts in the name of a file, a URL or an MCP tool.
    pub literals: Vec<String>,
}

impl Prefilter {
    fn open() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    fn or(mut self, other: Self) -> Self {
        self.is_open |= other.is_open;
        self.programs.extend(other.programs);
        self.literals.extend(other.literals);
        self
    }

    /// Returns whether what a call would do may match.
    pub fn may_match(&self, facts: &CallFacts, event: &Event) -> bool {
        self.is_open
            || self.programs.iter().any(|program| facts.runs(program))
            || self.literals.iter().any(|literal| facts.names(literal, event))
    }
}

impl Conditions {
    /// Makes them ready to use; `None` if there are none. The error says what is wrong with an
    /// expression.
    pub fn new(definition: &MatcherDefinition) -> Result<Option<Self>, String> {
        if !definition.has_conditions() {
            return Ok(None);
        }
        let matchers = |definitions: &[MatcherDefinition]| {
            definitions.iter().map(Matcher::new).collect::<Result<Vec<_>, _>>()
        };
        let shell: Result<Vec<_>, _> = definition.shell.iter().map(ShellMatcher::new).collect();
        Ok(Some(Self {
            shell: shell?,
            files: definition.files.as_ref().map(FileMatcher::new),
            url: definition.url.iter().map(|url| url.to_ascii_lowercase()).collect(),
            mcp: definition.mcp.clone(),
            any: matchers(&definition.any)?,
            all: matchers(&definition.all)?,
            not: definition.not.as_deref().map(Matcher::new).transpose()?.map(Box::new),
        }))
    }

    /// Returns what matched, or which part does not hold.
    pub fn matches(&self, event: &Event) -> Result<MatchEvidence, &'static str> {
        let mut evidence = MatchEvidence::default();
        let facts = of_event(event);
        if !self.shell.is_empty() {
            let mut found = self.shell.iter().filter_map(|shell| shell.matches(facts, event));
            evidence.join(found.next().ok_or("shell")?);
        }
        if let Some(files) = &self.files {
            let uses = facts.files(event);
            let file = uses.list.iter().find(|file| files.matches(file)).map(FileUse::evidence);
            let of_more = || uses.is_cut.then(MatchEvidence::default);
            evidence.join(file.or_else(of_more).ok_or("files")?);
        }
        if !self.url.is_empty() {
            let is_meant = |url: &&String| self.url.iter().any(|pattern| is_url(pattern, url));
            let url = facts.urls.iter().find(is_meant).cloned();
            // Those that were not looked at may be meant.
            if url.is_none() && !facts.is_cut {
                return Err("url");
            }
            evidence.join(MatchEvidence { url, ..MatchEvidence::default() });
        }
        if let Some(mcp) = &self.mcp {
            let called = facts.mcp.as_ref().filter(|(server, tool)| is_mcp(mcp, server, tool));
            let (server, _) = called.ok_or("mcp")?;
            let server = Some(server.clone());
            evidence.join(MatchEvidence { server, ..MatchEvidence::default() });
        }
        for matcher in &self.all {
            evidence.join(matcher.matches(event).map_err(|_| "all")?);
        }
        if !self.any.is_empty() {
            let found = self.any.iter().find_map(|matcher| matcher.matches(event).ok());
            evidence.join(found.ok_or("any")?);
        }
        match &self.not {
            Some(not) if not.matches(event).is_ok() => Err("not"),
            _ => Ok(evidence),
        }
    }

    /// Returns what a call must contain so that they may hold: the narrowest of what each part
    /// needs.
    pub fn prefilter(&self) -> Prefilter {
        let mut parts = Vec::new();
        if !self.shell.is_empty() {
            parts.push(join(self.shell.iter().map(ShellMatcher::prefilter)));
        }
        if let Some(files) = &self.files {
            parts.push(files.prefilter());
        }
        if !self.url.is_empty() {
            parts.push(literals(self.url.iter().map(|url| literal_of(required_of_url(url)))));
        }
        if let Some(mcp) = &self.mcp {
            let names = if mcp.tool.is_empty() { &mcp.server } else { &mcp.tool };
            parts.push(literals(names.iter().map(|name| literal_of(name))));
        }
        if !self.any.is_empty() {
            parts.push(join(self.any.iter().map(Matcher::prefilter)));
        }
        parts.extend(self.all.iter().map(Matcher::prefilter));
        let size = |part: &Prefilter| part.programs.len() + part.literals.len();
        parts
            .into_iter()
            .filter(|part| !part.is_open)
            .min_by_key(size)
            .unwrap_or_else(Prefilter::open)
    }
}

fn join(parts: impl Iterator<Item = Prefilter>) -> Prefilter {
    parts.fold(Prefilter::default(), Prefilter::or)
}

/// Returns the need for one of several literals; nothing is needed where one has none.
fn literals<'text>(texts: impl Iterator<Item = Option<&'text str>>) -> Prefilter {
    match texts.map(|text| text.map(str::to_owned)).collect::<Option<Vec<_>>>() {
        Some(literals) => Prefilter { literals, ..Prefilter::default() },
        None => Prefilter::open(),
    }
}

/// Returns the longest text that whatever matches a pattern contains.
fn literal_of(pattern: &str) -> Option<&str> {
    pattern.split(['*', '?']).max_by_key(|piece| piece.len()).filter(|piece| piece.len() > 1)
}

/// Returns the part of a pattern for URLs that stands in the URL as it is: a port may stand between
/// host and path.
fn required_of_url(pattern: &str) -> &str {
    if pattern.contains("://") {
        return pattern;
    }
    pattern.split('/').next().unwrap_or(pattern)
}

/// Returns whether a URL is one that a pattern means: by its host and the hosts below it, by host
/// and path, or as a whole.
fn is_url(pattern: &str, url: &str) -> bool {
    if pattern.contains("://") {
        return wildcard::matches(pattern, url);
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let bare = match host.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => bare,
        _ => host,
    };
    let (wanted, wanted_path) = match pattern.split_once('/') {
        Some((host, path)) => (host, Some(path)),
        None => (pattern, None),
    };
    let is_host = |host: &str| {
        wildcard::matches(wanted, host)
            || host.match_indices('.').any(|(at, _)| wildcard::matches(wanted, &host[at + 1..]))
    };
    let path = path.trim_start_matches('/');
    let is_below = |wanted: &str| {
        wildcard::matches(wanted, path)
            || wildcard::matches(&format!("{}/*", wanted.trim_end_matches('/')), path)
    };
    (is_host(bare) || wildcard::matches(wanted, host))
        && wanted_path.is_none_or(|wanted| wanted.is_empty() || is_below(wanted))
}

fn is_mcp(wanted: &McpCondition, server: &str, tool: &str) -> bool {
    (wanted.server.is_empty() || wildcard::matches_any(&wanted.server, server))
        && (wanted.tool.is_empty() || wildcard::matches_any(&wanted.tool, tool))
}

/// A condition on files.
#[derive(Clone, Debug)]
struct FileMatcher {
    read: Vec<FilePattern>,
    write: Vec<FilePattern>,
    delete: Vec<FilePattern>,
    moved: Vec<FilePattern>,
    any: Vec<FilePattern>,
    except: Vec<FilePattern>,
    exists: Option<bool>,
}

impl FileMatcher {
    fn new(definition: &FileCondition) -> Self {
        let patterns = |texts: &[String]| texts.iter().map(|text| FilePattern::new(text)).collect();
        let FileCondition { read, write, delete, r#move, any, except, exists } = definition;
        Self {
            read: patterns(read),
            write: patterns(write),
            delete: patterns(delete),
            moved: patterns(r#move),
            any: patterns(any),
            except: patterns(except),
            exists: *exists,
        }
    }

    fn matches(&self, file: &FileUse) -> bool {
        let is_meant = |patterns: &[FilePattern]| {
            patterns.iter().any(|pattern| {
                file.forms()
                    .any(|forms| pattern.matches(&forms) || file.is_glob && pattern.may_be(&forms))
            })
        };
        // An exception holds for what is reached, so every form must be one.
        let is_exempt = || {
            let mut forms = file.forms().peekable();
            forms.peek().is_some()
                && forms.all(|forms| self.except.iter().any(|pattern| pattern.matches(&forms)))
        };
        let access = file.access;
        let is_found = is_meant(&self.any)
            || access.reads() && is_meant(&self.read)
            || access.writes() && is_meant(&self.write)
            || access.deletes() && is_meant(&self.delete)
            || access.moves() && is_meant(&self.moved);
        let exists = || Path::new(&file.path.real).symlink_metadata().is_ok();
        is_found
            && (self.except.is_empty() || !is_exempt())
            && self.exists.is_none_or(|wanted| wanted == exists())
    }

    fn prefilter(&self) -> Prefilter {
        let lists = [&self.read, &self.write, &self.delete, &self.moved, &self.any];
        literals(lists.into_iter().flatten().map(FilePattern::literal))
    }
}

#[cfg(test)]
mod tests;
