//! Reads the fields of a front matter, each as tolerantly as possible.

use std::borrow::Cow;

use anyhook_model::hook::keys::{self, KeyWord, NumberRange};
use anyhook_model::hook::{EnvAccess, limits, replaces_code};
use anyhook_model::host::{HOST_IDS, host_ids};
use anyhook_model::{EventKind, FailMode, HookTrigger, Mode, StdinForm, StdoutUse};
use unicode_normalization::UnicodeNormalization;

use super::rescue::tool_calls;
use super::{DefinitionReader, listed};
use crate::front_matter::{YamlNode, YamlValue};
use crate::problem::{Severity, event_hint, nearest};

impl DefinitionReader<'_> {
    pub(super) fn name(&mut self, folder_name: &str) {
        let given = self.matter.root.get("name").filter(|node| !node.is_null());
        let Some(node) = given else {
            let problem = self.missing("name", Severity::Error, "`name` is missing");
            return self.report(problem.hint(format!("write `name: {folder_name}`")));
        };
        let Some(name) = node.text().filter(|text| !text.trim().is_empty()) else {
            let problem = self.at(node, "name", Severity::Error, "`name` must be a string");
            return self.report(problem.hint(format!("write `name: {folder_name}`")));
        };
        let normal = nfkc(name.trim());
        if let Some(fault) = name_fault(name) {
            let problem = self.at(node, "name", Severity::Error, format!("`name` {fault}"));
            self.report(problem.hint("use lowercase letters, digits and single hyphens (my-hook)"));
        }
        if normal != nfkc(folder_name) {
            let problem = self.at(
                node,
                "name-differs",
                Severity::Error,
                format!("`name` does not match the folder name, `{folder_name}`"),
            );
            self.report(problem.hint("rename either one"));
        }
        // A name is shown, journaled and compared everywhere: it stays one short line.
        self.read.definition.name =
            normal.chars().filter(|letter| !letter.is_control()).take(limits::NAME).collect();
    }

    pub(super) fn description(&mut self) {
        match self.matter.root.get("description").filter(|node| !node.is_null()) {
            None => {
                let problem =
                    self.missing("description", Severity::Error, "`description` is missing");
                self.report(problem.hint("describe in one sentence what the hook does"));
            }
            Some(node) => match node.text() {
                None => {
                    let problem = self.at(
                        node,
                        "description",
                        Severity::Error,
                        "`description` must be a string",
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
                                "`description` is {length} characters long; it must be 1 to {}",
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

    pub(super) fn trigger(&mut self) {
        let Some(node) = self.matter.root.get("trigger").filter(|node| !node.is_null()) else {
            let problem = self.missing("no-trigger", Severity::Unusable, "`trigger` is missing");
            return self.report(problem.hint("name an event, for example `trigger: before_tool`"));
        };
        let names: Vec<&YamlNode> = match &node.value {
            YamlValue::Sequence(items) => items.iter().collect(),
            _ => vec![node],
        };
        let mut unknown = Vec::new();
        let parts = |name: &'_ YamlNode| -> Option<Vec<String>> { name.text().map(listed) };
        for (name, text) in names.iter().flat_map(|name| match parts(name) {
            Some(parts) => parts.into_iter().map(|part| (*name, Some(part))).collect(),
            None => vec![(*name, None)],
        }) {
            let Some(text) = text.as_deref() else {
                unknown.push(self.at(
                    name,
                    "unknown-trigger",
                    Severity::Error,
                    "each trigger must be a string",
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
            // Two names may mean the same event.
            if !self.read.definition.triggers.iter().any(|trigger| trigger.kind == kind) {
                self.read.definition.triggers.push(HookTrigger { kind, spelling });
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

    /// Makes a guard with a misspelt trigger fail at the event that is meant: it must not be off.
    pub(super) fn misspelt_guard(&mut self) {
        let definition = &mut self.read.definition;
        if definition.on_failure != FailMode::Block || !definition.triggers.is_empty() {
            return;
        }
        let node = self.matter.root.get("trigger");
        let names = match node.map(|node| &node.value) {
            Some(YamlValue::Sequence(items)) => items.as_slice(),
            _ => node.map(std::slice::from_ref).unwrap_or_default(),
        };
        let meant = names.iter().filter_map(|name| EventKind::slip_of(name.text()?));
        for (kind, spelling) in meant.filter_map(EventKind::in_any_spelling) {
            definition.triggers.push(HookTrigger { kind, spelling });
        }
        if definition.triggers.is_empty() {
            definition.triggers = tool_calls();
        }
    }

    /// Makes a guard wait for its answer even with `async: true`: it could not block otherwise, and
    /// `on_failure: block` says that it must.
    pub(super) fn blocking_async(&mut self) {
        let definition = &mut self.read.definition;
        let decides = |trigger: &HookTrigger| {
            matches!(
                trigger.kind,
                EventKind::BeforeTool | EventKind::PermissionRequest | EventKind::BeforeStop
            )
        };
        if definition.on_failure == FailMode::Block && definition.triggers.iter().any(decides) {
            definition.is_async = false;
        }
    }

    pub(super) fn numbers(&mut self) {
        if let Some(timeout) = self.number("timeout", keys::TIMEOUT) {
            self.read.definition.timeout_ms = timeout;
        }
        if let Some(priority) = self.number("priority", keys::PRIORITY) {
            self.read.definition.priority = u16::try_from(priority).unwrap_or(limits::PRIORITY_MAX);
        }
    }

    /// Reads a number and clamps it; an unreadable one becomes the default.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "clamped before the cast"
    )]
    fn number(&mut self, key: &'static str, range: NumberRange) -> Option<u64> {
        let NumberRange { least, most, default } = range;
        let node = self.matter.root.get(key).filter(|node| !node.is_null())?;
        let number = node.text().and_then(|text| text.trim().replace('_', "").parse::<f64>().ok());
        let Some(number) = number.filter(|number| !number.is_nan()) else {
            let problem = self.at(
                node,
                key,
                Severity::Error,
                format!("`{key}` must be a number; using {default}"),
            );
            self.report(problem);
            return None;
        };
        if !matches!(&node.value, YamlValue::Scalar { plain: true, .. }) {
            let problem = self.at(
                node,
                key,
                Severity::Warning,
                format!("`{key}` is quoted; reading it as a number"),
            );
            self.report(problem);
        }
        let clamped = number.clamp(least as f64, most as f64) as u64;
        if number < least as f64 || number > most as f64 || number.fract() != 0.0 {
            let problem = self.at(
                node,
                key,
                Severity::Error,
                format!("`{key}` must be an integer from {least} to {most}; using {clamped}"),
            );
            self.report(problem);
        }
        Some(clamped)
    }

    pub(super) fn words(&mut self) {
        if let Some(word) = self.word("async", ["true", "false"], "assuming `false`") {
            self.read.definition.is_async = word == "true";
        }
        if let Some(word) = self.word("mode", words_of(keys::MODE), "assuming `enforce`") {
            self.read.definition.mode = if word == "shadow" { Mode::Shadow } else { Mode::Enforce };
        }
        if let Some(word) = self.word("stdin", words_of(keys::STDIN), "assuming `event`") {
            self.read.definition.stdin =
                if word == "native" { StdinForm::Native } else { StdinForm::Event };
        }
        if let Some(word) = self.word("stdout", words_of(keys::STDOUT), "assuming `log`") {
            self.read.definition.stdout =
                if word == "context" { StdoutUse::Context } else { StdoutUse::Log };
        }
        // A hook with `on_failure` is meant as a guard: a typo must not make it fail open.
        let has_on_failure = self.matter.root.get("on_failure").is_some_and(|node| !node.is_null());
        let word = self.word("on_failure", words_of(keys::ON_FAILURE), "assuming `block`");
        self.read.definition.on_failure = match word {
            Some("allow") => FailMode::Allow,
            None if !has_on_failure => FailMode::Allow,
            _ => FailMode::Block,
        };
    }

    /// Reads one of a few words, case-insensitively.
    fn word(
        &mut self,
        key: &'static str,
        words: [&'static str; 2],
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
                format!("`{key}` must be `{}` or `{}`; {otherwise}", words[0], words[1]),
            );
            self.report(match nearest(&text.to_ascii_lowercase(), words.into_iter()) {
                Some(meant) => problem.hint(format!("did you mean `{meant}`?")),
                None => problem,
            });
        }
        found
    }

    pub(super) fn hosts(&mut self) {
        let Some(node) = self.matter.root.get("hosts").filter(|node| !node.is_null()) else {
            return;
        };
        let items: Vec<&YamlNode> = match &node.value {
            YamlValue::Sequence(items) => items.iter().collect(),
            _ => vec![node],
        };
        let mut is_any_known = false;
        let mut unknown = Vec::new();
        let parts: Vec<(&YamlNode, Option<String>)> = items
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
                    "`hosts` must be a list of names; ignoring it",
                );
                self.report(problem);
                self.read.definition.hosts.clear();
                return;
            };
            if matches!(text, "all" | "any" | "*") {
                let words = format!("`{text}` means every host");
                let problem = self.at(item, "host-spelling", Severity::Note, words);
                self.report(problem.hint("remove `hosts`"));
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
                // It would silently run nowhere.
                problem.severity = Severity::Unusable;
                self.read.definition.hosts.clear();
            }
            self.report(problem);
        }
    }

    /// Reads which variables a guard gets; anything unreadable leaves it with fewer.
    pub(super) fn env(&mut self) {
        let Some(node) = self.matter.root.get("env").filter(|node| !node.is_null()) else {
            return;
        };
        let items: Vec<&YamlNode> = match &node.value {
            YamlValue::Sequence(items) => items.iter().collect(),
            _ => vec![node],
        };
        let is_word = |item: &YamlNode| {
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
                "`env` only applies with `on_failure: block`: other hooks inherit the agent's environment",
            );
            self.report(problem);
        }
    }

    /// Reads the name of a variable that a guard may get.
    fn variable(&mut self, item: &YamlNode) -> Option<String> {
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
                "`env` must be `inherit` or a list of variable names; ignoring this entry",
            );
            self.report(problem.hint("write `env: [VIRTUAL_ENV, PATH]`, without `$` or values"));
            return None;
        }
        if replaces_code(text.as_bytes()) {
            let problem = self.at(
                item,
                "env",
                Severity::Error,
                format!("`{text}` can replace the hook's code, so it is never passed to hooks"),
            );
            self.report(problem.hint("set it in the script if needed"));
            return None;
        }
        Some(text.to_owned())
    }
}

/// Returns the two words that a key accepts.
fn words_of(words: &'static [KeyWord; 2]) -> [&'static str; 2] {
    [words[0].word, words[1].word]
}

/// Returns a text in Unicode normalization form NFKC; most texts are ASCII, which already is.
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
        Some("must be 1 to 64 characters long")
    } else if nfkc(name) != name {
        Some("must be in Unicode NFKC form")
    } else if !name.chars().all(is_letter) {
        Some("may only contain lowercase letters, digits and hyphens")
    } else if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        Some("must not start or end with a hyphen, or contain two in a row")
    } else {
        None
    }
}
