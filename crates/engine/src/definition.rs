//! A hook's definition read from its front matter, tolerantly, with every finding named.
//!
//! A guard is not switched off by a cosmetic mistake: what can be given a sensible meaning gets it,
//! and the finding is reported. Only a [`Severity::Unusable`] finding keeps a hook from running.

use std::borrow::Cow;

use anyhook_model::hook::limits;
use anyhook_model::host::HOST_IDS;
use anyhook_model::{EventKind, FailMode, HookDefinition, Matcher, Mode, StdoutUse, Trigger};
use unicode_normalization::UnicodeNormalization;

use crate::front_matter::{FrontMatter, Node, Value};
use crate::matcher;
use crate::problem::{Problem, Severity, event_hint, nearest};

/// A HOOK.md above about so many tokens costs an agent more context than it is worth.
const TOKEN_LIMIT: usize = 1000;

/// So many findings are reported.
const PROBLEMS_LIMIT: usize = 100;

/// The keys a front matter may have.
const KEYS: [&str; 13] = [
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
        Ok(matter) => Reader { matter: &matter, read: &mut read }.all(file, folder_name),
        Err(error) => {
            read.definition = salvage(file, folder_name);
            let problem = Problem::new("unreadable", Severity::Unusable, error.message);
            read.problems.push(problem.at(error.place));
        }
    }
    read.problems.sort_by_key(|problem| problem.place.map_or(usize::MAX, |place| place.start));
    read
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
    let mut lines =
        text.lines().skip(1).take(LINES).take_while(|line| line.trim_end() != "---").peekable();
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
    match FrontMatter::read(&matter(&sound)) {
        Ok(_) => read(&matter(&sound), folder_name).definition,
        Err(_) => HookDefinition::named(folder_name),
    }
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
        self.hosts();
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
        for name in &names {
            let Some(text) = name.text() else {
                unknown.push(self.at(
                    name,
                    "unknown-trigger",
                    Severity::Error,
                    "a trigger is not a text",
                ));
                continue;
            };
            let Some((kind, spelling)) = EventKind::known(text.trim()) else {
                let problem = self.at(
                    name,
                    "unknown-trigger",
                    Severity::Error,
                    format!("unknown trigger `{text}`"),
                );
                unknown.push(problem.hint(event_hint(text.trim())));
                continue;
            };
            self.read.definition.triggers.push(Trigger { kind, spelling });
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
            *field = Some(text.to_owned());
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
        for item in items {
            let Some(text) = item.text().map(str::trim).filter(|text| !text.is_empty()) else {
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
            if !HOST_IDS.contains(&text) {
                let problem = self.at(
                    item,
                    "unknown-host",
                    Severity::Warning,
                    format!("unknown host `{text}`"),
                );
                self.report(match nearest(text, HOST_IDS.into_iter()) {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem.hint(format!("known hosts: {}", HOST_IDS.join(", "))),
                });
            }
            self.read.definition.hosts.push(text.to_owned());
        }
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
        let is_async = definition.is_async;
        let blocks_on_failure = definition.on_failure == FailMode::Block;
        if let Some(node) = self.matter.root.get("async").filter(|_| is_async) {
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
                    "an async hook cannot block, so `on_failure: block` has no effect",
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
            (&format!("{BASE}hosts: [emacs]"), "unknown-host"),
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
            ("name: guard\ndescription: d\ntrigger: PreToolUse", "unknown-trigger"),
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
        assert!(hint("PreToolUse").contains("`before_tool`"));
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
