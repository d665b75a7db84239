//! A hook's definition read from its front matter, tolerantly, with every finding named.
//!
//! A guard is not switched off by a cosmetic mistake: what can be given a sensible meaning gets it,
//! and the finding is reported. Only a [`Severity::Unusable`] finding keeps a hook from running.

use std::borrow::Cow;

use anyhook_model::hook::{EnvAccess, limits, replaces_code};
use anyhook_model::host::{HOST_IDS, host_ids};
use anyhook_model::nearest::slip_of;
use anyhook_model::{
    EventKind, FailMode, HookDefinition, Matcher, Mode, Spelling, StdoutUse, Trigger, tools,
};
use unicode_normalization::UnicodeNormalization;

use crate::front_matter::{FrontMatter, Node, Value};
use crate::matcher;
use crate::problem::{Problem, Severity, event_hint, nearest};

/// A HOOK.md above about so many tokens costs an agent more context than it is worth.
const TOKEN_LIMIT: usize = 1000;

/// So many findings are reported.
const PROBLEMS_LIMIT: usize = 100;

/// The keys a front matter may have.
const KEYS: [&str; 14] = [
    "name",
    "description",
    "trigger",
    "matcher",
    "timeout",
    "async",
    "priority",
    "metadata",
    "on_failure",
    "mode",
    "hosts",
    "stdout",
    "env",
    "permissions",
];

/// What was read from a HOOK.md.
#[derive(Clone, Debug)]
pub struct ReadDefinition {
    /// The definition, as far as it could be read.
    pub definition: HookDefinition,
    /// The matcher, ready to use.
    pub matcher: matcher::Matcher,
    /// Every finding, in the order of the file.
    pub problems: Vec<Problem>,
}

impl ReadDefinition {
    /// Returns the finding that keeps the hook from running, if there is one.
    pub fn fault(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.severity == Severity::Unusable)
    }
}

/// Reads the bytes of a HOOK.md in a folder of the given name.
pub fn read(file: &[u8], folder_name: &str) -> ReadDefinition {
    let mut read = ReadDefinition {
        definition: HookDefinition::named(folder_name),
        matcher: matcher::Matcher::default(),
        problems: Vec::new(),
    };
    match FrontMatter::read(file) {
        Ok(mut matter) => {
            let respelled = respell_keys(&mut matter.root);
            let mut reader = Reader { matter: &matter, read: &mut read };
            reader.note_respelled(&respelled);
            reader.all(file, folder_name);
        }
        Err(error) => {
            read.definition = salvage(file, folder_name);
            let problem = Problem::new("unreadable", Severity::Unusable, error.message);
            read.problems.push(problem.at(error.place));
        }
    }
    read.problems.sort_by_key(|problem| problem.place.map_or(usize::MAX, |place| place.start));
    read
}

/// Has keys in another case, or with other separators, be the known ones; and `on_failure` with a slip
/// in it, for a guard must not fail open by a typing error. Returns what they were, by their place in
/// the list.
fn respell_keys(root: &mut Node) -> Vec<(usize, String)> {
    let Value::Mapping(pairs) = &mut root.value else { return Vec::new() };
    let given: Vec<String> =
        pairs.iter().map(|(key, _)| key.text().unwrap_or("").to_owned()).collect();
    let is_given = |known: &str| given.iter().any(|name| name == known);
    let mut respelled = Vec::new();
    for (index, name) in given.iter().enumerate() {
        if KEYS.contains(&name.as_str()) {
            continue;
        }
        let alike = KEYS.into_iter().find(|known| letters_of(known) == letters_of(name));
        let slip = || slip_of(name, KEYS.into_iter()).filter(|known| *known == "on_failure");
        let Some(known) = alike.or_else(slip).filter(|known| !is_given(known)) else { continue };
        pairs[index].0.value = Value::Scalar { text: known.to_owned(), plain: true };
        respelled.push((index, name.clone()));
    }
    respelled
}

/// Returns a key's letters in lower case, without what separates them.
fn letters_of(key: &str) -> String {
    key.chars().filter(|letter| !matches!(letter, '_' | '-')).collect::<String>().to_lowercase()
}

/// Reads what can be read, line by line, of a front matter that is broken elsewhere.
///
/// A guard that says `on_failure: block` must not be switched off by a slip in another line.
fn salvage(file: &[u8], folder_name: &str) -> HookDefinition {
    const LINES: usize = 200;
    const KEPT: [&str; 5] = ["trigger", "on_failure", "async", "mode", "hosts"];
    let matter = |lines: &str| format!("---\n{lines}---\n").into_bytes();
    let is_kept = |line: &str| {
        KEPT.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    let text = String::from_utf8_lossy(file);
    let is_fence = |line: &&str| line.trim_end() == "---";
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // A title or a comment may stand before the opening fence: then the second one ends it.
    let is_open = text.lines().next().is_some_and(|line| is_fence(&line));
    let has_end = text.lines().take(LINES).filter(is_fence).count() > 1;
    let fences = if is_open || !has_end { 1 } else { 2 };
    let matter_lines = || {
        let mut met = 0;
        let inside = move |line: &&str| {
            met += usize::from(is_fence(line));
            met < fences
        };
        let lines = text.lines().skip(usize::from(is_open)).take(LINES);
        // YAML has no tabs before a key.
        lines.take_while(inside).map(|line| line.trim_start_matches('\t'))
    };
    let mut lines = matter_lines().peekable();
    let mut sound = String::new();
    while let Some(line) = lines.next() {
        let mut value = format!("{line}\n");
        // What is indented, or a list, below a key belongs to it.
        while let Some(more) = lines.next_if(|next| next.starts_with([' ', '-'])) {
            value.push_str(more);
            value.push('\n');
        }
        if is_kept(&value) && FrontMatter::read(&matter(&value)).is_ok() {
            sound.push_str(&value);
        }
    }
    let mut definition = match FrontMatter::read(&matter(&sound)) {
        Ok(_) => read(&matter(&sound), folder_name).definition,
        Err(_) => HookDefinition::named(folder_name),
    };
    if matter_lines().any(mentions_block) {
        definition.on_failure = FailMode::Block;
        // What it guards cannot be read, or is said twice (a merge conflict), and a guard that is
        // not asked does not guard: tool calls wait until a person has looked at it.
        let is_said_once = sound.lines().filter(|line| line.starts_with("trigger")).count() == 1;
        if definition.triggers.is_empty() || !is_said_once {
            definition.triggers = tool_calls();
        }
    }
    definition
}

/// Returns the events at which tool calls are decided on.
fn tool_calls() -> Vec<Trigger> {
    let kinds = [EventKind::BeforeTool, EventKind::PermissionRequest];
    kinds.map(|kind| Trigger { kind, spelling: Spelling::Canonical }).into()
}

/// Returns the names of a list that was written as one text: `a, b` or `a | b`.
fn listed(text: &str) -> Vec<String> {
    let parts = text.split([',', '|']).map(str::trim).filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(str::to_owned).collect();
    if parts.is_empty() { vec![text.trim().to_owned()] } else { parts }
}

/// Tells whether a line says `on_failure: block`, however it is spaced and quoted.
fn mentions_block(line: &str) -> bool {
    let letters =
        line.chars().filter(|letter| !letter.is_whitespace() && !"'\"{},".contains(*letter));
    let letters: String = letters.take(200).collect::<String>().to_ascii_lowercase();
    !letters.starts_with('#') && letters.contains("on_failure:block")
}

struct Reader<'a> {
    matter: &'a FrontMatter,
    read: &'a mut ReadDefinition,
}

impl Reader<'_> {
    fn report(&mut self, problem: Problem) {
        // Nobody reads more, and finding the place of each takes time.
        if self.read.problems.len() >= PROBLEMS_LIMIT && problem.severity < Severity::Unusable {
            return;
        }
        self.read.problems.push(problem);
    }

    /// Notes keys that are read as others.
    fn note_respelled(&mut self, respelled: &[(usize, String)]) {
        let Value::Mapping(pairs) = &self.matter.root.value else { return };
        for (index, name) in respelled {
            let Some((key, _)) = pairs.get(*index) else { continue };
            let known = key.text().unwrap_or("");
            let words = format!("`{name}` is read as `{known}`");
            let problem = self.at(key, "key-spelling", Severity::Note, words);
            self.report(problem.hint(format!("write `{known}`")));
        }
    }

    /// Returns a finding about something that is not there, at the head of the file.
    fn missing(&self, code: &'static str, severity: Severity, message: &str) -> Problem {
        Problem::new(code, severity, message).at(self.matter.head())
    }

    /// Returns a finding at a node; the caller adds a hint and reports it.
    fn at(
        &self,
        node: &Node,
        code: &'static str,
        severity: Severity,
        message: impl Into<String>,
    ) -> Problem {
        Problem::new(code, severity, message).at(self.matter.place(node))
    }

    fn all(&mut self, file: &[u8], folder_name: &str) {
        let root = &self.matter.root;
        let Value::Mapping(pairs) = &root.value else {
            let problem = if root.is_null() {
                self.missing("unreadable", Severity::Unusable, "the front matter is empty")
            } else {
                self.at(
                    root,
                    "unreadable",
                    Severity::Unusable,
                    "the front matter is not a list of `key: value` lines",
                )
            };
            return self.report(problem.hint("write at least name, description and trigger"));
        };
        self.keys(pairs);
        self.name(folder_name);
        self.description();
        self.trigger();
        self.matcher();
        self.numbers();
        self.words();
        self.open_files();
        self.hosts();
        self.env();
        self.misspelt_guard();
        self.blocking_async();
        if let Some(metadata) = root.get("metadata") {
            if !metadata.is_null() && !matches!(metadata.value, Value::Mapping(_)) {
                let problem =
                    self.at(metadata, "metadata", Severity::Warning, "`metadata` is not an object");
                self.report(problem);
            }
            self.read.definition.metadata = metadata.to_json();
        }
        self.lints(file);
    }

    fn keys(&mut self, pairs: &[(Node, Node)]) {
        for (index, (key, _)) in pairs.iter().enumerate() {
            let name = key.text().unwrap_or("");
            if pairs[..index].iter().any(|(earlier, _)| earlier.text() == Some(name)) {
                let problem =
                    self.at(key, "twice", Severity::Error, format!("`{name}` is given twice"));
                self.report(problem.hint("the last one counts; remove the other"));
            }
            if KEYS.contains(&name) || self.read.problems.len() >= PROBLEMS_LIMIT {
                continue;
            }
            let problem =
                self.at(key, "unknown-key", Severity::Warning, format!("unknown key `{name}`"));
            self.report(match name {
                "tool" | "pattern" => problem.hint(format!("indent `{name}` under `matcher:`")),
                _ => match nearest(name, KEYS.into_iter()) {
                    Some(known) => problem.hint(format!("did you mean `{known}`?")),
                    None => problem.hint("put your own keys under `metadata:`"),
                },
            });
        }
        if let Some(permissions) = self.matter.root.get("permissions") {
            let problem = self.at(
                permissions,
                "permissions",
                Severity::Note,
                "`permissions` is reserved; this version does not enforce it",
            );
            self.report(problem);
        }
    }

    fn name(&mut self, folder_name: &str) {
        let given = self.matter.root.get("name").filter(|node| !node.is_null());
        let Some(node) = given else {
            let problem = self.missing("name", Severity::Error, "`name` is missing");
            return self.report(problem.hint(format!("write `name: {folder_name}`")));
        };
        let Some(name) = node.text().filter(|text| !text.trim().is_empty()) else {
            let problem = self.at(node, "name", Severity::Error, "`name` is not a text");
            return self.report(problem.hint(format!("write `name: {folder_name}`")));
        };
        let normal = nfkc(name.trim());
        if let Some(fault) = name_fault(name) {
            let problem = self.at(node, "name", Severity::Error, format!("`name` {fault}"));
            self.report(problem.hint("use lowercase letters, digits and single hyphens inside"));
        }
        if normal != nfkc(folder_name) {
            let problem = self.at(
                node,
                "name-differs",
                Severity::Error,
                format!("`name` is not the folder's name, `{folder_name}`"),
            );
            self.report(problem.hint("rename the one or the other"));
        }
        // A name is shown, journaled and compared everywhere: it stays one short line.
        self.read.definition.name =
            normal.chars().filter(|letter| !letter.is_control()).take(limits::NAME).collect();
    }

    fn description(&mut self) {
        match self.matter.root.get("description").filter(|node| !node.is_null()) {
            None => {
                let problem =
                    self.missing("description", Severity::Error, "`description` is missing");
                self.report(problem.hint("say in one sentence what the hook is for"));
            }
            Some(node) => match node.text() {
                None => {
                    let problem = self.at(
                        node,
                        "description",
                        Severity::Error,
                        "`description` is not a text",
                    );
                    self.report(problem);
                }
                Some(text) => {
                    let length = text.chars().count();
                    if text.trim().is_empty() || length > limits::DESCRIPTION {
                        let problem = self.at(
                            node,
                            "description",
                            Severity::Error,
                            format!(
                                "`description` has {length} characters; 1 to {} are allowed",
                                limits::DESCRIPTION
                            ),
                        );
                        self.report(problem);
                    }
                    text.clone_into(&mut self.read.definition.description);
                }
            },
        }
    }

    fn trigger(&mut self) {
        let Some(node) = self.matter.root.get("trigger").filter(|node| !node.is_null()) else {
            let problem = self.missing("no-trigger", Severity::Unusable, "`trigger` is missing");
            return self.report(problem.hint("name the event, such as `trigger: before_tool`"));
        };
        let names: Vec<&Node> = match &node.value {
            Value::Sequence(items) => items.iter().collect(),
            _ => vec![node],
        };
        let mut unknown = Vec::new();
        let parts = |name: &'_ Node| -> Option<Vec<String>> { name.text().map(listed) };
        for (name, text) in names.iter().flat_map(|name| match parts(name) {
            Some(parts) => parts.into_iter().map(|part| (*name, Some(part))).collect(),
            None => vec![(*name, None)],
        }) {
            let Some(text) = text.as_deref() else {
                unknown.push(self.at(
                    name,
                    "unknown-trigger",
                    Severity::Error,
                    "a trigger is not a text",
                ));
                continue;
            };
            let Some((kind, spelling)) = EventKind::in_any_spelling(text.trim()) else {
                let problem = self.at(
                    name,
                    "unknown-trigger",
                    Severity::Error,
                    format!("unknown trigger `{text}`"),
                );
                unknown.push(problem.hint(event_hint(text.trim())));
                continue;
            };
            if kind.name(spelling) != text.trim() {
                let words = format!("`{}` is read as `{}`", text.trim(), kind.name(spelling));
                let problem = self.at(name, "trigger-spelling", Severity::Note, words);
                self.report(problem.hint(format!("write `{}`", kind.name(spelling))));
            }
            // Two names may mean one event.
            if !self.read.definition.triggers.iter().any(|trigger| trigger.kind == kind) {
                self.read.definition.triggers.push(Trigger { kind, spelling });
            }
        }
        if names.is_empty() {
            unknown.push(self.at(
                node,
                "no-trigger",
                Severity::Error,
                "`trigger` is an empty list",
            ));
        }
        let none_known = self.read.definition.triggers.is_empty();
        for mut problem in unknown {
            if none_known {
                problem.severity = Severity::Unusable;
            }
            self.report(problem);
        }
    }

    /// Has a guard whose trigger is misspelt fail at the event that is meant: it must not be off.
    fn misspelt_guard(&mut self) {
        let definition = &mut self.read.definition;
        if definition.on_failure != FailMode::Block || !definition.triggers.is_empty() {
            return;
        }
        let node = self.matter.root.get("trigger");
        let names = match node.map(|node| &node.value) {
            Some(Value::Sequence(items)) => items.as_slice(),
            _ => node.map(std::slice::from_ref).unwrap_or_default(),
        };
        let meant = names.iter().filter_map(|name| EventKind::slip_of(name.text()?));
        for (kind, spelling) in meant.filter_map(EventKind::in_any_spelling) {
            definition.triggers.push(Trigger { kind, spelling });
        }
        if definition.triggers.is_empty() {
            definition.triggers = tool_calls();
        }
    }

    /// Has a guard wait for its answer although it says `async: true`: it cannot block otherwise, and
    /// `on_failure: block` says that it must.
    fn blocking_async(&mut self) {
        let definition = &mut self.read.definition;
        let decides = |trigger: &Trigger| {
            matches!(
                trigger.kind,
                EventKind::BeforeTool | EventKind::PermissionRequest | EventKind::BeforeStop
            )
        };
        if definition.on_failure == FailMode::Block && definition.triggers.iter().any(decides) {
            definition.is_async = false;
        }
    }

    fn matcher(&mut self) {
        let is_given = |node: &&Node| !node.is_null() && node.text() != Some("");
        let Some(node) = self.matter.root.get("matcher").filter(is_given) else { return };
        let Value::Mapping(pairs) = &node.value else {
            let problem =
                self.at(node, "matcher", Severity::Unusable, "`matcher` is not an object");
            return self.report(
                problem.hint("write `tool:` and `pattern:` on lines of their own, indented"),
            );
        };
        let mut matcher = Matcher::default();
        for (key, value) in pairs {
            let name = key.text().unwrap_or("");
            let field = match name {
                "tool" => &mut matcher.tool,
                "pattern" => &mut matcher.pattern,
                _ => {
                    let problem = self.at(
                        key,
                        "unknown-key",
                        Severity::Warning,
                        format!("unknown key `{name}` in `matcher`"),
                    );
                    self.report(match nearest(name, ["tool", "pattern"].into_iter()) {
                        Some(known) => problem.hint(format!("did you mean `{known}`?")),
                        None => problem.hint("a matcher has `tool` and `pattern`"),
                    });
                    continue;
                }
            };
            if value.is_null() {
                continue;
            }
            let Some(text) = value.text() else {
                let problem = self.at(
                    value,
                    "matcher",
                    Severity::Unusable,
                    format!("`{name}` is not a text"),
                );
                self.report(problem.hint("write one regular expression; `a|b` matches either"));
                continue;
            };
            if text.is_empty() {
                continue;
            }
            let text = &match name {
                "tool" => self.tool_expression(value, text),
                _ => text.to_owned(),
            };
            *field = Some(text.clone());
            let compiled = match name {
                "tool" => self.read.matcher.set_tool(text),
                _ => self.read.matcher.set_pattern(text),
            };
            if let Err(error) = compiled {
                let problem = self.at(
                    value,
                    "regex",
                    Severity::Unusable,
                    format!("`{name}` is not a regular expression: {error}"),
                );
                self.report(problem.hint("the syntax is that of the Rust crate `regex`: no look-around, no back-references"));
            } else if name == "tool" {
                self.tool_names(value, text);
            }
        }
        let triggers = &self.read.definition.triggers;
        if !matcher.is_empty()
            && !triggers.is_empty()
            && !triggers.iter().any(|trigger| trigger.kind.has_matcher())
        {
            let problem = self.at(
                node,
                "matcher-ignored",
                Severity::Warning,
                "`matcher` is ignored: the trigger is no tool event",
            );
            self.report(problem.hint("remove it, or check the event in the script"));
        }
        self.read.definition.matcher = matcher;
    }

    /// Reads the expression for tools: a list of names with commas or blanks is one with `|`, and an
    /// agent's permission rule is not one.
    fn tool_expression(&mut self, node: &Node, text: &str) -> String {
        let is_name = |part: &str| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
        };
        if let Some((name, rule)) = text.strip_suffix(')').and_then(|text| text.split_once('('))
            && is_name(name)
            && tools::find(name).is_some()
        {
            let words = format!("`{text}` is an agent's permission rule, not a tool's name");
            let problem = self.at(node, "tool-rule", Severity::Unusable, words);
            let hint = format!("write `tool: {name}`, and what `{rule}` means as `pattern`");
            self.report(problem.hint(hint));
        }
        let names = listed(text);
        let joined = names.join("|");
        if names.len() < 2 || joined == text || !names.iter().all(|name| is_name(name)) {
            return text.to_owned();
        }
        let problem =
            self.at(node, "tool-list", Severity::Note, format!("`{text}` is read as `{joined}`"));
        self.report(problem.hint(format!("write `{joined}`")));
        joined
    }

    /// Notes names of tools that are not the canonical ones, and what a guard of files leaves open.
    fn tool_names(&mut self, node: &Node, expression: &str) {
        let Ok(tool) = matcher::Expression::whole(expression) else { return };
        let matcher::Needs::Exactly(names) = tool.needs() else { return };
        // One that no agent has, and is like one that they have, is a typing error: the hook would
        // never be asked.
        let is_known = |name: &String| tools::find(name).is_some() || tools::is_known(name);
        let is_swapped = |name: &str| {
            let letters = |text: &str| {
                let mut letters: Vec<u8> = text.to_ascii_lowercase().into_bytes();
                letters.sort_unstable();
                letters
            };
            tools::all_names().any(|known| letters(known) == letters(name))
        };
        let is_slip =
            |name: &String| slip_of(name, tools::all_names()).is_some() || is_swapped(name);
        let is_never_asked = !names.iter().any(is_known) && names.iter().any(is_slip);
        for name in names.iter().filter(|name| !name.is_empty()) {
            let known = tools::find(name);
            let own = |list: &'static [(&str, &'static str)]| {
                list.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, whose)| *whose)
            };
            let (severity, message, hint) = match known {
                Some(known) if known.name == name => continue,
                Some(known) if known.name.eq_ignore_ascii_case(name) => {
                    let message = format!("`{name}` is read as `{}`", known.name);
                    (Severity::Note, message, format!("write `{}`", known.name))
                }
                Some(known) => match (own(known.names), own(known.special)) {
                    (None, Some(whose)) => {
                        let message = format!("`{name}` is a form of `{}` in {whose}", known.name);
                        (Severity::Note, message, format!("`{}` means it, too", known.name))
                    }
                    (whose, _) => {
                        let whose = whose.unwrap_or_default();
                        let message = format!("`{name}` is {whose}'s name for `{}`", known.name);
                        (
                            Severity::Note,
                            message,
                            format!("write `{}`; either means the tool of every agent", known.name),
                        )
                    }
                },
                None if tools::is_known(name) => continue,
                None => match nearest(name, tools::all_names()) {
                    Some(near) => {
                        let message = format!("no agent has a tool `{name}`");
                        let near = tools::find(near).map_or(near, |tool| tool.name);
                        let severity =
                            if is_never_asked { Severity::Unusable } else { Severity::Warning };
                        (severity, message, format!("did you mean `{near}`?"))
                    }
                    None => {
                        let message = format!("no supported agent has a tool `{name}`");
                        let hint = "that is fine for a tool of your own agent".to_owned();
                        (Severity::Note, message, hint)
                    }
                },
            };
            let problem = self.at(node, "tool-name", severity, message);
            self.report(problem.hint(hint));
        }
    }

    /// Notes which other tools can do to a file what a guard keeps some from doing.
    fn open_files(&mut self) {
        let given = self.matter.root.get("matcher");
        let Some(node) = given.and_then(|given| given.get("tool")) else { return };
        let blocks = self.read.definition.on_failure == FailMode::Block;
        let guards = blocks
            && self.read.definition.triggers.iter().any(|trigger| {
                matches!(trigger.kind, EventKind::BeforeTool | EventKind::PermissionRequest)
            });
        let covers = |name: &str| self.read.matcher.tool().is_some_and(|tool| tool.is_match(name));
        // A move writes its target and deletes its source.
        let open: Vec<&str> = ["WriteFile", "EditFile", "DeleteFile"]
            .into_iter()
            .filter(|name| !covers(name))
            .collect();
        let is_partial = covers("WriteFile") || covers("EditFile");
        if !guards || !is_partial || open.is_empty() {
            return;
        }
        let list = open.join("` and `");
        let message =
            format!("`{list}` can still change the files that this keeps from being written");
        let problem = self.at(node, "open-files", Severity::Note, message);
        self.report(problem.hint(format!("add `|{}`, unless that is meant", open.join("|"))));
    }

    fn numbers(&mut self) {
        if let Some(timeout) = self.number(
            "timeout",
            limits::TIMEOUT_MIN,
            limits::TIMEOUT_MAX,
            limits::TIMEOUT_DEFAULT,
        ) {
            self.read.definition.timeout_ms = timeout;
        }
        let most = u64::from(limits::PRIORITY_MAX);
        if let Some(priority) =
            self.number("priority", 0, most, u64::from(limits::PRIORITY_DEFAULT))
        {
            self.read.definition.priority = u16::try_from(priority).unwrap_or(limits::PRIORITY_MAX);
        }
    }

    /// Reads a number and clamps it; one that cannot be read is the default.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "clamped before the cast"
    )]
    fn number(&mut self, key: &'static str, least: u64, most: u64, default: u64) -> Option<u64> {
        let node = self.matter.root.get(key).filter(|node| !node.is_null())?;
        let number = node.text().and_then(|text| text.trim().replace('_', "").parse::<f64>().ok());
        let Some(number) = number.filter(|number| !number.is_nan()) else {
            let problem = self.at(
                node,
                key,
                Severity::Error,
                format!("`{key}` is not a number; {default} is used"),
            );
            self.report(problem);
            return None;
        };
        if !matches!(&node.value, Value::Scalar { plain: true, .. }) {
            let problem = self.at(
                node,
                key,
                Severity::Warning,
                format!("`{key}` is in quotes; it is read as a number"),
            );
            self.report(problem);
        }
        let clamped = number.clamp(least as f64, most as f64) as u64;
        if number < least as f64 || number > most as f64 || number.fract() != 0.0 {
            let problem = self.at(
                node,
                key,
                Severity::Error,
                format!("`{key}` must be a whole number from {least} to {most}; {clamped} is used"),
            );
            self.report(problem);
        }
        Some(clamped)
    }

    fn words(&mut self) {
        if let Some(word) = self.word("async", &["true", "false"], "`false` is used") {
            self.read.definition.is_async = word == "true";
        }
        if let Some(word) = self.word("mode", &["enforce", "shadow"], "`enforce` is used") {
            self.read.definition.mode = if word == "shadow" { Mode::Shadow } else { Mode::Enforce };
        }
        if let Some(word) = self.word("stdout", &["log", "context"], "`log` is used") {
            self.read.definition.stdout =
                if word == "context" { StdoutUse::Context } else { StdoutUse::Log };
        }
        // Whoever writes `on_failure` wants a guard: a slip of the pen must not open it.
        let has_on_failure = self.matter.root.get("on_failure").is_some_and(|node| !node.is_null());
        let word = self.word("on_failure", &["allow", "block"], "`block` is used");
        self.read.definition.on_failure = match word {
            Some("allow") => FailMode::Allow,
            None if !has_on_failure => FailMode::Allow,
            _ => FailMode::Block,
        };
    }

    /// Reads one of a few words, in any case.
    fn word(
        &mut self,
        key: &'static str,
        words: &[&'static str],
        otherwise: &str,
    ) -> Option<&'static str> {
        let node = self.matter.root.get(key).filter(|node| !node.is_null())?;
        let text = node.text().unwrap_or("").trim();
        let found = words.iter().find(|word| word.eq_ignore_ascii_case(text)).copied();
        if found.is_none() {
            let problem = self.at(
                node,
                key,
                Severity::Error,
                format!("`{key}` is neither `{}` nor `{}`; {otherwise}", words[0], words[1]),
            );
            self.report(problem);
        }
        found
    }

    fn hosts(&mut self) {
        let Some(node) = self.matter.root.get("hosts").filter(|node| !node.is_null()) else {
            return;
        };
        let items: Vec<&Node> = match &node.value {
            Value::Sequence(items) => items.iter().collect(),
            _ => vec![node],
        };
        let mut is_any_known = false;
        let mut unknown = Vec::new();
        let parts: Vec<(&Node, Option<String>)> = items
            .into_iter()
            .flat_map(|item| match item.text().map(str::trim).filter(|text| !text.is_empty()) {
                Some(text) => listed(text).into_iter().map(|part| (item, Some(part))).collect(),
                None => vec![(item, None)],
            })
            .collect();
        for (item, text) in parts {
            let Some(text) = text.as_deref() else {
                let problem = self.at(
                    item,
                    "hosts",
                    Severity::Error,
                    "`hosts` is not a list of names; it is ignored",
                );
                self.report(problem);
                self.read.definition.hosts.clear();
                return;
            };
            if matches!(text, "all" | "any" | "*") {
                let words = format!("`{text}` is read as every host");
                let problem = self.at(item, "host-spelling", Severity::Note, words);
                self.report(problem.hint("leave `hosts` out"));
                self.read.definition.hosts.clear();
                return;
            }
            let ids = host_ids(text);
            is_any_known |= !ids.is_empty();
            if ids.is_empty() {
                let problem = self.at(
                    item,
                    "unknown-host",
                    Severity::Error,
                    format!("unknown host `{text}`"),
                );
                unknown.push(match nearest(&text.to_ascii_lowercase(), HOST_IDS.into_iter()) {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem.hint(format!("known hosts: {}", HOST_IDS.join(", "))),
                });
                self.read.definition.hosts.push(text.to_owned());
            } else if ids != [text] {
                let ids_text = ids.join("`, `");
                let words = format!("`{text}` is read as `{ids_text}`");
                let problem = self.at(item, "host-spelling", Severity::Note, words);
                self.report(problem.hint(format!("write `{}`", ids.join(", "))));
            }
            self.read.definition.hosts.extend(ids.into_iter().map(str::to_owned));
        }
        for mut problem in unknown {
            if !is_any_known {
                // It would run nowhere, in silence.
                problem.severity = Severity::Unusable;
                self.read.definition.hosts.clear();
            }
            self.report(problem);
        }
    }

    /// Reads which variables a guard gets; whatever cannot be read leaves it with fewer.
    fn env(&mut self) {
        let Some(node) = self.matter.root.get("env").filter(|node| !node.is_null()) else {
            return;
        };
        let items: Vec<&Node> = match &node.value {
            Value::Sequence(items) => items.iter().collect(),
            _ => vec![node],
        };
        let is_word = |item: &Node| {
            item.text().is_some_and(|text| text.trim().eq_ignore_ascii_case(EnvAccess::INHERIT))
        };
        if let [item] = items[..]
            && is_word(item)
        {
            self.read.definition.env = EnvAccess::Inherit;
        } else {
            let names = items.into_iter().filter_map(|item| self.variable(item)).collect();
            self.read.definition.env = EnvAccess::Named(names);
        }
        if self.read.definition.on_failure != FailMode::Block {
            let problem = self.at(
                node,
                "env-ignored",
                Severity::Note,
                "`env` counts with `on_failure: block` only: other hooks get the agent's environment",
            );
            self.report(problem);
        }
    }

    /// Reads the name of a variable that a guard may get.
    fn variable(&mut self, item: &Node) -> Option<String> {
        let text = item.text().map(str::trim).unwrap_or_default();
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if text.is_empty()
            || !text.chars().all(is_letter)
            || text.starts_with(|first: char| first.is_ascii_digit())
        {
            let problem = self.at(
                item,
                "env",
                Severity::Error,
                "`env` is neither `inherit` nor a list of variables' names; this is left out",
            );
            self.report(problem.hint("write `env: [VIRTUAL_ENV, PATH]`, without `$` and values"));
            return None;
        }
        if replaces_code(text.as_bytes()) {
            let problem = self.at(
                item,
                "env",
                Severity::Error,
                format!("`{text}` can replace the hook's code, so no hook gets it"),
            );
            self.report(problem.hint("set it in the script, where it is needed"));
            return None;
        }
        Some(text.to_owned())
    }

    fn lints(&mut self, file: &[u8]) {
        for place in &self.matter.odd_escapes {
            self.read.problems.push(
                Problem::new(
                    "escape",
                    Severity::Warning,
                    "unknown escape in double quotes; the backslash is read as written",
                )
                .at(*place)
                .hint("use single quotes"),
            );
        }
        if self.matter.lossy {
            self.report(Problem::new(
                "utf-8",
                Severity::Error,
                "the front matter is not UTF-8; bytes were replaced",
            ));
        }
        let definition = &self.read.definition;
        let gate = definition
            .triggers
            .iter()
            .find(|trigger| matches!(trigger.kind, EventKind::BeforeTool | EventKind::BeforeStop))
            .map(|trigger| trigger.kind.name(trigger.spelling).to_owned());
        let blocks_on_failure = definition.on_failure == FailMode::Block;
        let says_async = |node: &&Node| node.text() == Some("true");
        if let Some(node) = self.matter.root.get("async").filter(says_async) {
            if let Some(gate) = gate {
                let problem = self.at(
                    node,
                    "async-gate",
                    Severity::Warning,
                    format!("an async hook cannot block, and `{gate}` is where hooks block"),
                );
                self.report(problem.hint("remove `async: true`, or use an after_… event"));
            }
            if blocks_on_failure {
                let problem = self.at(
                    node,
                    "async-block",
                    Severity::Warning,
                    "an async hook cannot block: where hooks decide, `on_failure: block` counts and `async: true` does not; elsewhere it is the other way round",
                );
                self.report(problem);
            }
        }
        let tokens = estimate_tokens(&String::from_utf8_lossy(file));
        if tokens > TOKEN_LIMIT {
            self.report(
                Problem::new(
                    "long",
                    Severity::Warning,
                    format!(
                        "HOOK.md has about {tokens} tokens; agents read it when its event comes"
                    ),
                )
                .hint(format!("keep it under {TOKEN_LIMIT}; longer texts fit in a file beside it")),
            );
        }
    }
}

/// Returns a text in Unicode's normal form NFKC; most are in ASCII, and so in it.
fn nfkc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { text.nfkc().collect() }
}

/// Returns what is wrong with a name, if anything.
pub fn name_fault(name: &str) -> Option<&'static str> {
    let is_letter = |letter: char| {
        letter == '-'
            || letter.is_numeric()
            || letter.is_alphabetic() && letter.to_lowercase().eq([letter])
    };
    if name.is_empty() || name.chars().count() > limits::NAME {
        Some("has not 1 to 64 characters")
    } else if nfkc(name) != name {
        Some("is not in Unicode's normal form NFKC")
    } else if !name.chars().all(is_letter) {
        Some("has other characters than lowercase letters, digits and hyphens")
    } else if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        Some("has a hyphen at an end, or two in a row")
    } else {
        None
    }
}

/// Estimates tokens: four Latin letters each, one for any other.
fn estimate_tokens(text: &str) -> usize {
    let others = text.chars().filter(|letter| !letter.is_ascii()).count();
    (text.chars().count() - others) / 4 + others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_matter(matter: &str) -> ReadDefinition {
        read(format!("---\n{matter}\n---\n").as_bytes(), "guard")
    }

    fn codes(matter: &str) -> Vec<&'static str> {
        read_matter(matter).problems.iter().map(|problem| problem.code).collect()
    }

    const BASE: &str = "name: guard\ndescription: d\ntrigger: before_tool\n";

    #[test]
    fn a_plain_hook_has_no_findings() {
        let read = read_matter(BASE);
        assert_eq!(read.problems, []);
        assert_eq!(read.definition.timeout_ms, 30_000);
        assert_eq!(read.definition.priority, 100);
    }

    #[test]
    fn names_of_tools_are_noted() {
        let said = |tool: &str, more: &str| {
            let matter = format!("{BASE}matcher:\n  tool: {tool}\n{more}");
            let problems = read_matter(&matter).problems.into_iter();
            problems
                .map(|found| (found.severity, found.message, found.hint.unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        let found = |severity, message: &str, hint: &str| {
            vec![(severity, message.to_owned(), hint.to_owned())]
        };
        for fine in ["Shell", "ReadFile|Glob", "Skill", "mcp__db__drop", "Sh.*", "Mcp"] {
            assert_eq!(said(fine, ""), [], "{fine}");
        }
        assert_eq!(
            said("Bash", ""),
            found(
                Severity::Note,
                "`Bash` is Claude Code and Codex's name for `Shell`",
                "write `Shell`; either means the tool of every agent"
            )
        );
        assert_eq!(
            said("Monitor", ""),
            found(
                Severity::Note,
                "`Monitor` is a form of `Shell` in Claude Code",
                "`Shell` means it, too"
            )
        );
        assert_eq!(
            said("readfile", ""),
            found(Severity::Note, "`readfile` is read as `ReadFile`", "write `ReadFile`")
        );
        assert_eq!(
            said("Shel", ""),
            found(Severity::Warning, "no agent has a tool `Shel`", "did you mean `Shell`?")
        );
        assert_eq!(
            said("zzz", ""),
            found(
                Severity::Note,
                "no supported agent has a tool `zzz`",
                "that is fine for a tool of your own agent"
            )
        );
        assert_eq!(said("WriteFile|EditFile", ""), []);
        assert_eq!(
            said("WriteFile|EditFile", "on_failure: block"),
            found(
                Severity::Note,
                "`DeleteFile` can still change the files that this keeps from being written",
                "add `|DeleteFile`, unless that is meant"
            )
        );
        assert_eq!(said("(Write|Edit|Delete)File", "on_failure: block"), []);
    }

    #[test]
    fn cosmetic_mistakes_do_not_switch_a_guard_off() {
        for (matter, code) in [
            ("trigger: before_tool\ndescription: d", "name"),
            ("name: other\ntrigger: before_tool\ndescription: d", "name-differs"),
            ("name: guard\ntrigger: before_tool", "description"),
            (
                &format!("name: guard\ntrigger: before_tool\ndescription: {}", "x".repeat(2000)),
                "description",
            ),
            (&format!("{BASE}timeout: 5"), "timeout"),
            (&format!("{BASE}timeout: soon"), "timeout"),
            (&format!("{BASE}priority: 5000"), "priority"),
            (&format!("{BASE}async: maybe"), "async"),
            (&format!("{BASE}mode: quiet"), "mode"),
            (&format!("{BASE}colour: red"), "unknown-key"),
            (&format!("{BASE}hosts: [emacs, codex]"), "unknown-host"),
            (&format!("{BASE}hosts: all"), "host-spelling"),
            (&format!("{BASE}matcher:\n  tool: Bash, Write"), "tool-list"),
            (&format!("{BASE}On-Failure: block"), "key-spelling"),
            (&format!("{BASE}on_failur: block"), "key-spelling"),
            (&format!("{BASE}name: guard"), "twice"),
        ] {
            let read = read_matter(matter);
            assert!(read.fault().is_none(), "{matter}: {:?}", read.problems);
            assert!(
                read.problems.iter().any(|problem| problem.code == code),
                "{matter}: {:?}",
                read.problems
            );
        }
    }

    #[test]
    fn numbers_are_clamped() {
        assert_eq!(read_matter(&format!("{BASE}timeout: 5")).definition.timeout_ms, 100);
        assert_eq!(read_matter(&format!("{BASE}timeout: 1e99")).definition.timeout_ms, 600_000);
        assert_eq!(read_matter(&format!("{BASE}priority: -3")).definition.priority, 0);
        assert_eq!(read_matter(&format!("{BASE}priority: '7'")).definition.priority, 7);
    }

    #[test]
    fn what_cannot_run_is_unusable() {
        for (matter, code) in [
            ("name: guard\ndescription: d", "no-trigger"),
            ("name: guard\ndescription: d\ntrigger: []", "no-trigger"),
            ("name: guard\ndescription: d\ntrigger: before_tol", "unknown-trigger"),
            (&format!("{BASE}matcher: Shell"), "matcher"),
            (&format!("{BASE}matcher:\n  tool: [a]"), "matcher"),
            (&format!("{BASE}matcher:\n  pattern: '('"), "regex"),
            ("just text", "unreadable"),
            ("", "unreadable"),
            ("a: [", "unreadable"),
        ] {
            let read = read_matter(matter);
            assert_eq!(read.fault().map(|problem| problem.code), Some(code), "{matter}");
        }
    }

    #[test]
    fn a_broken_line_does_not_switch_off_a_guard_that_must_not_fail() {
        let read = read_matter(
            "name: guard\ntrigger: [before_tool, pre-session]\non_failure: block\nmatcher: {tool: [\n",
        );
        assert_eq!(read.fault().unwrap().code, "unreadable");
        assert_eq!(read.definition.triggers.len(), 2);
        assert_eq!(read.definition.on_failure, FailMode::Block);
        assert!(read_matter("trigger: [before_tool\n").definition.triggers.is_empty());
        // What it guards cannot be read: all tool calls.
        for matter in [
            "trigger: [before_tool\non_failure: block\n",
            "trigger: {x\n  'on_failure' : \"Block\"\n",
            "{name: guard, trigger: before_tool, on_failure: block\n",
        ] {
            let read = read_matter(matter);
            assert_eq!(read.fault().unwrap().code, "unreadable", "{matter}");
            let kinds: Vec<_> =
                read.definition.triggers.iter().map(|trigger| trigger.kind.clone()).collect();
            assert_eq!(kinds, [EventKind::BeforeTool, EventKind::PermissionRequest], "{matter}");
            assert_eq!(read.definition.on_failure, FailMode::Block, "{matter}");
        }
        let unopened =
            super::read(b"name: guard\non_failure: block\ntrigger: before_stop\n", "guard");
        assert_eq!(unopened.definition.triggers[0].kind, EventKind::BeforeStop);
        assert_eq!(unopened.definition.on_failure, FailMode::Block);
        assert_eq!(read_matter("# on_failure: block\na: [\n").definition.triggers, []);
        let list =
            read_matter("trigger:\n  - before_tool\non_failure: block\ndescription: \"unclosed\n");
        assert_eq!(
            (list.definition.triggers.len(), list.definition.on_failure),
            (1, FailMode::Block)
        );
    }

    #[test]
    fn hints_name_what_was_meant() {
        let hint = |trigger: &str| {
            read_matter(&format!("name: guard\ndescription: d\ntrigger: {trigger}")).problems[0]
                .hint
                .clone()
                .unwrap()
        };
        assert!(hint("before_tol").contains("`before_tool`"));
        assert!(hint("pre-tool-cal").contains("`pre-tool-call`"));
        assert!(hint("BEFORE_TOL").contains("`before_tool`"));
        assert!(hint("PreToolUze").contains("`PreToolUse`"));
    }

    #[test]
    fn triggers_and_hosts_are_read_in_any_spelling_with_a_note() {
        for (trigger, name) in [
            ("Before_Tool", "before_tool"),
            ("before-tool", "before_tool"),
            ("PreToolUse", "before_tool"),
            ("tool.execute.before", "before_tool"),
            ("pre_tool_call", "pre-tool-call"),
        ] {
            let read = read_matter(&format!(
                "name: guard\ndescription: d\ntrigger: {trigger}\nhosts: [Claude_Code, gemini]"
            ));
            let [trigger] = &read.definition.triggers[..] else { panic!("{trigger}") };
            assert_eq!(trigger.kind.name(trigger.spelling), name);
            assert_eq!(read.definition.hosts, ["claude-code", "gemini-cli"]);
            let found: Vec<_> =
                read.problems.iter().map(|problem| (problem.code, problem.severity)).collect();
            assert_eq!(
                found,
                [
                    ("trigger-spelling", Severity::Note),
                    ("host-spelling", Severity::Note),
                    ("host-spelling", Severity::Note)
                ]
            );
        }
    }

    #[test]
    fn lists_that_are_written_as_one_text_are_lists() {
        let read = read_matter(
            "name: guard\ndescription: d\ntrigger: before_tool, permission_request\n\
             hosts: claude-code | codex\nmatcher:\n  tool: Bash | Write",
        );
        assert!(read.fault().is_none(), "{:?}", read.problems);
        let kinds: Vec<_> = read.definition.triggers.iter().map(|one| one.kind.clone()).collect();
        assert_eq!(kinds, [EventKind::BeforeTool, EventKind::PermissionRequest]);
        assert_eq!(read.definition.hosts, ["claude-code", "codex"]);
        assert_eq!(read.definition.matcher.tool.as_deref(), Some("Bash|Write"));
    }

    #[test]
    fn a_hook_that_would_never_be_asked_is_unusable() {
        for (more, code) in [
            ("hosts: [claud-code]", "unknown-host"),
            ("hosts: emacs", "unknown-host"),
            ("matcher:\n  tool: Bahs", "tool-name"),
            ("matcher:\n  tool: WriteFlie", "tool-name"),
            ("matcher:\n  tool: Bash(rm:*)", "tool-rule"),
        ] {
            let read = read_matter(&format!("{BASE}{more}\non_failure: block"));
            assert_eq!(read.fault().map(|fault| fault.code), Some(code), "{more}");
            assert_eq!(read.definition.triggers[0].kind, EventKind::BeforeTool, "{more}");
            assert!(read.definition.hosts.is_empty(), "it blocks everywhere: {more}");
        }
        // A tool of somebody's own agent is like none that we know.
        assert!(read_matter(&format!("{BASE}matcher:\n  tool: deploy_shop")).fault().is_none());
    }

    #[test]
    fn a_guard_waits_for_its_answer_whatever_async_says() {
        let is_async = |matter: &str| read_matter(matter).definition.is_async;
        assert!(!is_async(&format!("{BASE}async: true\non_failure: block")));
        assert!(is_async(&format!("{BASE}async: true")));
        let after = "name: guard\ndescription: d\ntrigger: after_tool\nasync: true";
        assert!(is_async(&format!("{after}\non_failure: block")));
    }

    #[test]
    fn a_guard_without_a_trigger_blocks_tool_calls() {
        for trigger in ["", "trigger: {before_tool: true}", "trigger: tool", "trigger: []"] {
            let matter = format!("name: guard\ndescription: d\n{trigger}\non_failure: block");
            let read = read_matter(&matter);
            assert!(read.fault().is_some(), "{trigger}");
            assert_eq!(read.definition.triggers, tool_calls(), "{trigger}");
        }
    }

    #[test]
    fn what_stands_before_the_front_matter_does_not_hide_a_guard() {
        for before in ["# My guard\n", "<!-- x -->\n\n", ""] {
            let tab = if before.is_empty() { "\t" } else { "" };
            let text = format!(
                "{before}---\n{tab}name: guard\n\ttrigger: before_stop\non_failure: block\n---\n"
            );
            let read = read(text.as_bytes(), "guard");
            assert!(read.fault().is_some(), "{text}");
            assert_eq!(read.definition.on_failure, FailMode::Block, "{text}");
            assert_eq!(read.definition.triggers[0].kind, EventKind::BeforeStop, "{text}");
        }
    }

    #[test]
    fn a_misspelt_guard_fails_at_the_event_that_is_meant() {
        let matter = "name: guard\ndescription: d\ntrigger: befor_tool\n";
        let read = read_matter(&format!("{matter}on_failure: block"));
        assert_eq!(read.fault().unwrap().code, "unknown-trigger");
        assert_eq!(read.definition.triggers[0].kind, EventKind::BeforeTool);
        assert!(read_matter(matter).definition.triggers.is_empty());
    }

    #[test]
    fn a_list_with_one_known_trigger_is_usable() {
        let read = read_matter("name: guard\ndescription: d\ntrigger: [pre-tool-call, nonsense]");
        assert!(read.fault().is_none());
        assert_eq!(read.definition.triggers.len(), 1);
        assert_eq!(read.problems[0].severity, Severity::Error);
    }

    #[test]
    fn an_unreadable_on_failure_does_not_open_a_guard() {
        let mode =
            |value: &str| read_matter(&format!("{BASE}on_failure: {value}")).definition.on_failure;
        assert_eq!(mode("allow"), FailMode::Allow);
        assert_eq!(mode("Block"), FailMode::Block);
        assert_eq!(mode("blok"), FailMode::Block);
        assert_eq!(mode(""), FailMode::Allow);
    }

    #[test]
    fn variables_of_a_guard_are_named() {
        let env = |value: &str| {
            let read = read_matter(&format!("{BASE}on_failure: block\nenv: {value}"));
            assert!(read.fault().is_none(), "{value}");
            let codes: Vec<&str> = read.problems.iter().map(|problem| problem.code).collect();
            (read.definition.env, codes)
        };
        let named =
            |names: &[&str]| EnvAccess::Named(names.iter().map(|&name| name.into()).collect());
        assert_eq!(env("[PATH, VIRTUAL_ENV]"), (named(&["PATH", "VIRTUAL_ENV"]), vec![]));
        assert_eq!(env("PATH"), (named(&["PATH"]), vec![]));
        assert_eq!(env("inherit"), (EnvAccess::Inherit, vec![]));
        assert_eq!(env("[Inherit]"), (EnvAccess::Inherit, vec![]));
        assert_eq!(env(""), (named(&[]), vec![]));
        assert_eq!(env("[]"), (named(&[]), vec![]));
        // What cannot be read leaves the guard with fewer variables, not with more.
        for bad in ["[$PATH]", "['A=b']", "[1A]", "{PATH: /bin}", "[[A]]", "['']"] {
            assert_eq!(env(bad), (named(&[]), vec!["env"]), "{bad}");
        }
        assert_eq!(
            env("[LD_PRELOAD, A, BASH_ENV, ENV]"),
            (named(&["A"]), vec!["env", "env", "env"])
        );
        assert_eq!(codes(&format!("{BASE}env: [A]")), ["env-ignored"]);
    }

    #[test]
    fn lints() {
        assert_eq!(codes(&format!("{BASE}async: true")), ["async-gate"]);
        assert_eq!(
            codes("name: guard\ndescription: d\ntrigger: session_start\nmatcher:\n  tool: Shell"),
            ["matcher-ignored"]
        );
        assert_eq!(codes(&format!("{BASE}permissions: [net]")), ["permissions"]);
        assert_eq!(codes("name: guard\ndescription: \"a\\q\"\ntrigger: before_tool"), ["escape"]);
        assert_eq!(codes(&format!("{BASE}tool: Shell")), ["unknown-key"]);
    }

    #[test]
    fn empty_matchers_are_not_given() {
        let read = read_matter(&format!("{BASE}matcher:\n  tool: ''\n  pattern:"));
        assert!(read.definition.matcher.is_empty());
        assert_eq!(read.problems, []);
    }

    #[test]
    fn names_of_any_script() {
        for good in ["guard", "a-1", "拦截危险命令", "προστασία", "हुक"] {
            assert_eq!(name_fault(good), None, "{good}");
        }
        for bad in ["", "Guard", "-a", "a-", "a--b", "a_b", "a b", "ﬁle", "ǅ"] {
            assert!(name_fault(bad).is_some(), "{bad}");
        }
    }
}
