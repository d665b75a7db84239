//! Parses a hook's definition from its front matter, tolerantly, reporting every finding.
//!
//! A guard is not switched off by a cosmetic mistake: what can be given a sensible meaning gets it,
//! and the finding is reported. Only a [`Severity::Unusable`] finding keeps a hook from running.

mod answer;
mod conditions;
mod fields;
mod lints;
mod rescue;
#[cfg(test)]
mod tests;
mod tool_matcher;

use anyhook_model::HookDefinition;
use anyhook_model::hook::keys;
use anyhook_model::nearest::slip_of;

use crate::front_matter::{FrontMatter, YamlNode, YamlValue};
use crate::matcher;
use crate::problem::{Problem, Severity, nearest};

pub use fields::name_fault;

/// At most this many findings are reported.
const PROBLEMS_LIMIT: usize = 100;
const REGEX_HINT: &str =
    "use the syntax of the Rust `regex` crate: no look-around, no back-references";

/// What was read from a HOOK.md.
#[derive(Clone, Debug)]
pub struct ParsedDefinition {
    /// The definition, as far as it could be read.
    pub definition: HookDefinition,
    /// The matcher, ready to use.
    pub matcher: matcher::Matcher,
    /// Every finding, in file order.
    pub problems: Vec<Problem>,
}

impl ParsedDefinition {
    /// Returns the finding that keeps the hook from running, if there is one.
    pub fn fault(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.severity == Severity::Unusable)
    }
}

/// Reads the bytes of a HOOK.md in a folder of the given name.
pub fn read(file: &[u8], folder_name: &str) -> ParsedDefinition {
    let mut read = ParsedDefinition {
        definition: HookDefinition::named(folder_name),
        matcher: matcher::Matcher::default(),
        problems: Vec::new(),
    };
    match FrontMatter::read(file) {
        Ok(mut matter) => {
            let respelled = respell_keys(&mut matter.root);
            let mut reader = DefinitionReader { matter: &matter, read: &mut read };
            reader.note_respelled(&respelled);
            reader.all(file, folder_name);
        }
        Err(error) => {
            read.definition = rescue::rescue(file, folder_name);
            let problem = Problem::new("unreadable", Severity::Unusable, error.message);
            read.problems.push(problem.at(error.place));
        }
    }
    read.problems.sort_by_key(|problem| problem.place.map_or(usize::MAX, |place| place.start));
    read
}

/// Maps keys in another case, or with other separators, to the known ones; also `on_failure` with a
/// typo, because a guard must not fail open by a typing error. Returns the original spellings, by
/// their index in the list.
fn respell_keys(root: &mut YamlNode) -> Vec<(usize, String)> {
    let YamlValue::Mapping(pairs) = &mut root.value else { return Vec::new() };
    let given: Vec<String> =
        pairs.iter().map(|(key, _)| key.text().unwrap_or("").to_owned()).collect();
    let is_given = |known: &str| given.iter().any(|name| name == known);
    let mut respelled = Vec::new();
    for (index, name) in given.iter().enumerate() {
        if is_key(name) {
            continue;
        }
        let alike = keys::names().find(|known| letters_of(known) == letters_of(name));
        let slip = || slip_of(name, keys::names()).filter(|known| *known == "on_failure");
        let Some(known) = alike.or_else(slip).filter(|known| !is_given(known)) else { continue };
        pairs[index].0.value = YamlValue::Scalar { text: known.to_owned(), plain: true };
        respelled.push((index, name.clone()));
    }
    respelled
}

/// Returns a key's letters in lower case, without separators.
fn letters_of(key: &str) -> String {
    key.chars().filter(|letter| !matches!(letter, '_' | '-')).collect::<String>().to_lowercase()
}

struct DefinitionReader<'a> {
    matter: &'a FrontMatter,
    read: &'a mut ParsedDefinition,
}

impl DefinitionReader<'_> {
    fn report(&mut self, problem: Problem) {
        // Further findings are not read, and locating each takes time.
        if self.read.problems.len() >= PROBLEMS_LIMIT && problem.severity < Severity::Unusable {
            return;
        }
        self.read.problems.push(problem);
    }

    /// Reports keys that are read as other keys.
    fn note_respelled(&mut self, respelled: &[(usize, String)]) {
        let YamlValue::Mapping(pairs) = &self.matter.root.value else { return };
        for (index, name) in respelled {
            let Some((key, _)) = pairs.get(*index) else { continue };
            let known = key.text().unwrap_or("");
            let words = format!("`{name}` is read as `{known}`");
            let problem = self.at(key, "key-spelling", Severity::Note, words);
            self.report(problem.hint(format!("write `{known}`")));
        }
    }

    /// Returns a finding about something missing, at the head of the file.
    fn missing(&self, code: &'static str, severity: Severity, message: &str) -> Problem {
        Problem::new(code, severity, message).at(self.matter.head())
    }

    /// Returns a finding at a node; the caller adds a hint and reports it.
    fn at(
        &self,
        node: &YamlNode,
        code: &'static str,
        severity: Severity,
        message: impl Into<String>,
    ) -> Problem {
        Problem::new(code, severity, message).at(self.matter.place(node))
    }

    fn all(&mut self, file: &[u8], folder_name: &str) {
        let root = &self.matter.root;
        let YamlValue::Mapping(pairs) = &root.value else {
            let problem = if root.is_null() {
                self.missing("unreadable", Severity::Unusable, "the front matter is empty")
            } else {
                self.at(
                    root,
                    "unreadable",
                    Severity::Unusable,
                    "the front matter must be a list of `key: value` lines",
                )
            };
            return self.report(problem.hint("write at least name, description and trigger"));
        };
        self.keys(pairs);
        self.name(folder_name);
        self.description();
        self.trigger();
        self.matcher();
        self.answer();
        self.numbers();
        self.words();
        self.open_files();
        self.hosts();
        self.env();
        self.misspelt_guard();
        self.blocking_async();
        if let Some(metadata) = root.get("metadata") {
            if !metadata.is_null() && !matches!(metadata.value, YamlValue::Mapping(_)) {
                let problem = self.at(
                    metadata,
                    "metadata",
                    Severity::Warning,
                    "`metadata` must be a mapping",
                );
                self.report(problem);
            }
            self.read.definition.metadata = metadata.to_json();
        }
        self.lints(file);
    }

    fn keys(&mut self, pairs: &[(YamlNode, YamlNode)]) {
        for (index, (key, _)) in pairs.iter().enumerate() {
            let name = key.text().unwrap_or("");
            if pairs[..index].iter().any(|(earlier, _)| earlier.text() == Some(name)) {
                let problem =
                    self.at(key, "twice", Severity::Error, format!("`{name}` is given twice"));
                self.report(problem.hint("the last one wins; remove the other"));
            }
            if is_key(name) || self.read.problems.len() >= PROBLEMS_LIMIT {
                continue;
            }
            let problem =
                self.at(key, "unknown-key", Severity::Warning, format!("unknown key `{name}`"));
            self.report(match name {
                "tool" | "pattern" => problem.hint(format!("indent `{name}` under `matcher:`")),
                _ => match nearest(name, keys::names()) {
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
}

/// Returns the names in a list that was written as one text: `a, b` or `a | b`.
fn listed(text: &str) -> Vec<String> {
    let parts = text.split([',', '|']).map(str::trim).filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(str::to_owned).collect();
    if parts.is_empty() { vec![text.trim().to_owned()] } else { parts }
}

/// Returns whether a front matter may have this key.
fn is_key(name: &str) -> bool {
    keys::names().any(|key| key == name)
}
