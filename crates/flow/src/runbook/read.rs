//! Reads a runbook from its tree, and reports everything that is wrong with it.

mod agent;
mod pipeline;

use std::ops::Range;

use anyhook_model::runbook_keys::{self as keys, names};
use jiff::SignedDuration;

use super::definition::{Runbook, SpannedName};
use super::finding::Finding;
use super::template::{Template, TemplateScope, is_name};
use super::tree::{MapEntry, MapKey, Node, NodeKind, NodeMap, NodeText};

/// Reads a runbook from its tree.
pub fn runbook(tree: &Node) -> (Runbook, Vec<Finding>) {
    let mut reader = TreeReader { findings: Vec::new() };
    let mut runbook = Runbook::default();
    if let NodeKind::Map(map) = &tree.kind {
        reader.top(map);
        if let Some(pipelines) = map.get("pipeline") {
            for entry in reader.members(&pipelines.node, "pipeline") {
                let pipeline = reader.pipeline(entry);
                runbook.pipelines.push(pipeline);
            }
        }
        if let Some(agents) = map.get("agent") {
            for entry in reader.members(&agents.node, "agent") {
                let agent = reader.agent(entry);
                runbook.agents.push(agent);
            }
        }
    }
    (runbook, reader.findings)
}

/// Reads values from a tree and reports what is wrong with them.
#[derive(Debug, Default)]
pub struct TreeReader {
    /// The findings so far.
    pub findings: Vec<Finding>,
}

impl TreeReader {
    /// Adds a finding.
    pub fn report(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Checks the top-level keys.
    fn top(&mut self, map: &NodeMap) {
        let known = names(keys::RUNBOOK);
        for MapEntry { key, .. } in
            map.iter().filter(|entry| !known.contains(&entry.key.name.as_str()))
        {
            let name = &key.name;
            self.report(if keys::LATER.contains(&name.as_str()) {
                Finding::error("not-yet", format!("`{name}` is not supported in this version"))
                    .at(key.span.clone())
                    .hint("remove it: a runbook has only pipelines and agents")
            } else {
                unknown_key(name, "a runbook", &known).at(key.span.clone())
            });
        }
    }

    /// Returns the members of a table that holds definitions by name.
    pub fn members<'tree>(&mut self, node: &'tree Node, what: &str) -> &'tree [MapEntry] {
        match &node.kind {
            NodeKind::Map(map) => map.entries(),
            NodeKind::Unreadable => &[],
            other => {
                self.report(
                    Finding::error("type", format!("`{what}` is {}", other.what()))
                        .at(node.span.clone())
                        .hint(format!(
                            "write `{what} \"name\" {{ … }}` in HCL, `[{what}.name]` in TOML"
                        )),
                );
                &[]
            }
        }
    }

    /// Reports a value of the wrong type.
    pub fn expected(&mut self, entry: &MapEntry, what: &str, hint: &str) {
        let MapEntry { key, node } = entry;
        if node.is_unreadable() {
            return;
        }
        self.report(
            Finding::error("type", format!("`{}` is {}, not {what}", key.name, node.kind.what()))
                .at(node.span.clone())
                .hint(hint),
        );
    }

    /// Returns an object, checking its keys.
    pub fn object<'tree>(
        &mut self,
        entry: &'tree MapEntry,
        what: &str,
        known: &[&str],
    ) -> Option<&'tree NodeMap> {
        let NodeKind::Map(map) = &entry.node.kind else {
            self.expected(entry, "an object", &format!("its keys are {}", known.join(", ")));
            return None;
        };
        self.known(map, what, known);
        Some(map)
    }

    /// Reports the unknown keys of an object.
    pub fn known(&mut self, map: &NodeMap, what: &str, known: &[&str]) {
        for MapEntry { key, .. } in map {
            if !known.contains(&key.name.as_str()) {
                self.report(unknown_key(&key.name, what, known).at(key.span.clone()));
            }
        }
    }

    /// Returns a key's text.
    pub fn text<'tree>(
        &mut self,
        map: &'tree NodeMap,
        key: &str,
    ) -> Option<(&'tree NodeText, &'tree Range<usize>)> {
        self.text_of(map.get(key)?)
    }

    /// Returns the text of an entry.
    pub fn text_of<'tree>(
        &mut self,
        entry: &'tree MapEntry,
    ) -> Option<(&'tree NodeText, &'tree Range<usize>)> {
        match &entry.node.kind {
            NodeKind::Text(text) => Some((text, &entry.node.span)),
            _ => {
                self.expected(entry, "a string", "put it in quotes");
                None
            }
        }
    }

    /// Returns a key's text, which may contain values.
    fn template(&mut self, map: &NodeMap, key: &str, scope: TemplateScope) -> Option<Template> {
        self.template_of(map.get(key)?, scope)
    }

    fn template_of(&mut self, entry: &MapEntry, scope: TemplateScope) -> Option<Template> {
        let (text, span) = self.text_of(entry)?;
        let (template, findings) = Template::read(text, span.clone(), scope);
        self.findings.extend(findings);
        Some(template)
    }

    /// Returns a key's text for the shell.
    fn command(&mut self, entry: &MapEntry, scope: TemplateScope) -> Option<Template> {
        let template = self.shell(entry, scope)?;
        if template.source.trim().is_empty() {
            self.report(
                Finding::error("missing", format!("`{}` is empty", entry.key.name))
                    .at(&template.span)
                    .hint("write a command"),
            );
        }
        Some(template)
    }

    /// Returns a key's text for the shell, which may be empty.
    fn shell(&mut self, entry: &MapEntry, scope: TemplateScope) -> Option<Template> {
        let template = self.template_of(entry, scope)?;
        self.findings.extend(super::shell::interpolate(&template, 1).findings);
        Some(template)
    }

    /// Returns a boolean key.
    pub fn flag(&mut self, map: &NodeMap, key: &str) -> Option<bool> {
        let entry = map.get(key)?;
        match entry.node.kind {
            NodeKind::Bool(flag) => Some(flag),
            _ => {
                self.expected(entry, "true or false", &format!("write `{key} = true`"));
                None
            }
        }
    }

    /// Returns a key whose value is one of some words.
    pub fn word<T: Copy>(&mut self, entry: &MapEntry, known: &[(T, &'static str)]) -> Option<T> {
        let (text, span) = self.text_of(entry)?;
        let found = known.iter().find(|(_, name)| *name == text.text);
        if found.is_none() {
            let key = &entry.key.name;
            let names = known.iter().map(|(_, name)| *name);
            let finding =
                Finding::error("word", format!("invalid value `{}` for `{key}`", text.text));
            self.report(finding.at(span.clone()).meant(&text.text, names, "available"));
        }
        found.map(|(value, _)| *value)
    }

    /// Returns a key that is a duration.
    pub fn duration(&mut self, entry: &MapEntry) -> Option<SignedDuration> {
        let text = match &entry.node.kind {
            NodeKind::Text(text) => text.text.as_str(),
            _ => "",
        };
        // It begins with a digit: neither negative nor in another notation.
        let duration = Some(text)
            .filter(|text| text.starts_with(|first: char| first.is_ascii_digit()))
            .and_then(|text| text.parse::<SignedDuration>().ok())
            .filter(SignedDuration::is_positive);
        if duration.is_none() && !entry.node.is_unreadable() {
            self.report(
                Finding::error("type", format!("`{}` is not a duration", entry.key.name))
                    .at(entry.node.span.clone())
                    .hint("write a number with a unit, such as \"30s\" or \"10m\""),
            );
        }
        duration
    }

    /// Reads a name, and reports if it is not a valid one.
    pub fn name(&mut self, text: &str, span: &Range<usize>, what: &str) -> SpannedName {
        let is_told = MapKey { name: text.to_owned(), span: span.clone() }.is_nameless();
        if !is_name(text) && !is_told {
            let message = if text.is_empty() {
                format!("{what} has an empty name")
            } else {
                format!("`{text}` is not a valid name for {what}")
            };
            let hint = "use letters, digits, `_` and `-`";
            self.report(Finding::error("name", message).at(span.clone()).hint(hint));
        }
        SpannedName { text: text.to_owned(), span: span.clone().into() }
    }

    /// Reports keys that have no effect there.
    pub fn no_use(&mut self, map: &NodeMap, unused: &[&str], why: &str) {
        for entry in unused.iter().filter_map(|key| map.get(key)) {
            let finding =
                Finding::error("no-use", format!("`{}` has no effect {why}", entry.key.name));
            self.report(finding.at(entry.key.span.clone()).hint("remove it"));
        }
    }
}

fn unknown_key(name: &str, what: &str, known: &[&str]) -> Finding {
    Finding::error("unknown-key", format!("unknown key `{name}` in {what}")).meant(
        name,
        known.iter().copied(),
        "its keys are",
    )
}
