//! Reads the answer that a declarative hook gives.

use anyhook_model::hook::DeclaredAnswer;
use anyhook_model::hook::answer::{INPUT_PLACEHOLDER, PLACEHOLDERS};
use anyhook_model::hook::keys;
use anyhook_model::{Effect, EventKind};
use serde_json::Value;

use super::DefinitionReader;
use crate::declared_answer::{TemplatePart, template_parts};
use crate::front_matter::{YamlNode, YamlValue};
use crate::problem::{Severity, nearest};

impl DefinitionReader<'_> {
    /// Reads the keys of an answer. What cannot be read keeps the hook from running: nothing else
    /// would answer in its place.
    pub(super) fn answer(&mut self) {
        let root = &self.matter.root;
        let given = |key: &str| root.get(key).filter(|node| !node.is_null());
        let (decision, reason) = (given("decision"), given("reason"));
        let (input, context) = (given("modified_input"), given("additional_context"));
        if decision.is_none() && input.is_none() && context.is_none() {
            if let Some(node) = reason {
                let message = "`reason` without a `decision` has no effect";
                let problem = self.at(node, "answer", Severity::Error, message);
                self.report(problem.hint("add `decision: deny` or `decision: ask`"));
            }
            return;
        }
        let answer = DeclaredAnswer {
            effect: decision.and_then(|node| self.decision(node)),
            reason: reason.and_then(|node| self.template(node, "reason")),
            modified_input: input.and_then(|node| self.modified_input(node)),
            additional_context: context.and_then(|node| self.template(node, "additional_context")),
        };
        if let Some(node) = input {
            self.input_change_without_effect(node);
        }
        self.read.definition.answer = Some(answer);
    }

    fn decision(&mut self, node: &YamlNode) -> Option<Effect> {
        let text = node.text().unwrap_or("").trim();
        let effect = Effect::from_word(text);
        if effect.is_none() {
            let message = "`decision` must be `deny`, `ask` or `allow`";
            let problem = self.at(node, "answer", Severity::Unusable, message);
            let words = keys::DECISION.iter().map(|choice| choice.word);
            self.report(match nearest(&text.to_ascii_lowercase(), words) {
                Some(meant) => problem.hint(format!("did you mean `{meant}`?")),
                None => problem,
            });
        }
        effect
    }

    fn template(&mut self, node: &YamlNode, key: &str) -> Option<String> {
        let Some(text) = node.text() else {
            let problem =
                self.at(node, "answer", Severity::Unusable, format!("`{key}` must be a string"));
            self.report(problem.hint("put it in quotes"));
            return None;
        };
        self.placeholders(node, text);
        Some(text.to_owned())
    }

    fn modified_input(&mut self, node: &YamlNode) -> Option<anyhook_model::json::Object> {
        let YamlValue::Mapping(_) = &node.value else {
            let message = "`modified_input` must be a mapping of fields of the tool's input";
            let problem = self.at(node, "answer", Severity::Unusable, message);
            self.report(
                problem.hint(
                    "write, for example, `modified_input: {command: 'nice {input.command}'}`",
                ),
            );
            return None;
        };
        let value = node.to_json();
        let mut texts = Vec::new();
        collect_texts(&value, &mut texts);
        for text in texts {
            self.placeholders(node, text);
        }
        match value {
            Value::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// Reports placeholders that nothing is known to stand for.
    fn placeholders(&mut self, node: &YamlNode, text: &str) {
        for part in template_parts(text) {
            let TemplatePart::Placeholder(name) = part else { continue };
            let is_known = name.starts_with(INPUT_PLACEHOLDER)
                || PLACEHOLDERS.iter().any(|(known, _)| *known == name);
            if is_known {
                continue;
            }
            let message = format!("unknown placeholder `{{{name}}}`");
            let problem = self.at(node, "placeholder", Severity::Error, message);
            let known = PLACEHOLDERS.iter().map(|(known, _)| *known);
            self.report(match nearest(name, known) {
                Some(meant) => problem.hint(format!("did you mean `{{{meant}}}`?")),
                None => problem.hint(format!("write `{{{{{name}}}}}` for the text `{{{name}}}`")),
            });
        }
    }

    fn input_change_without_effect(&mut self, node: &YamlNode) {
        let triggers = &self.read.definition.triggers;
        let takes = |kind: &EventKind| kind.takes_input_change();
        if triggers.is_empty() || triggers.iter().any(|trigger| takes(&trigger.kind)) {
            return;
        }
        let message = "`modified_input` has no effect at these events";
        let problem = self.at(node, "answer", Severity::Warning, message);
        self.report(problem.hint("it changes a tool's input at `before_tool` only"));
    }
}

fn collect_texts<'value>(value: &'value Value, texts: &mut Vec<&'value str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}
