//! Reads the conditions of a matcher (`shell`, `files`, `any` and so on) by the table of their keys.
//!
//! Unlike elsewhere in a HOOK.md, an unknown key makes the hook unusable here: without the condition
//! that its author meant, it would match other calls.

use anyhook_model::hook::keys::{ConditionForm, ConditionKeys, HookKey, KeyValue};
use serde_json::{Map, Value};

use super::DefinitionReader;
use crate::front_matter::{YamlNode, YamlValue};
use crate::matcher;
use crate::problem::{Severity, nearest};

impl DefinitionReader<'_> {
    /// Reads the value of a condition's key. `None` if it is not given, or cannot be used: then it
    /// was reported.
    pub(super) fn condition(
        &mut self,
        key: &HookKey,
        value: &YamlNode,
        path: &str,
    ) -> Option<Value> {
        if value.is_null() {
            return self.refuse(
                value,
                format!("`{path}` has no value"),
                "remove the key, or give it a value",
            );
        }
        match key.value {
            KeyValue::Pattern => self.expression(value, path),
            KeyValue::Boolean => self.boolean(value, path),
            KeyValue::Condition(of, form) => self.conditions(value, of, form, path),
            _ => {
                if path.starts_with("matcher") && TARGET_KEYS.contains(&key.name) {
                    self.target_words(value);
                }
                self.texts(value, path)
            }
        }
    }

    /// Warns about a word that nearly is one for a kind of target: as a pattern it would match
    /// nothing.
    fn target_words(&mut self, node: &YamlNode) {
        let items = match &node.value {
            YamlValue::Sequence(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for item in items {
            let text = item.text().unwrap_or("").trim();
            if !text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                continue;
            }
            let Some(word) = nearest(text, TARGET_WORDS.into_iter()).filter(|word| *word != text)
            else {
                continue;
            };
            let message = format!("`{text}` is a pattern for files here");
            let problem = self.at(item, "target", Severity::Warning, message);
            self.report(
                problem.hint(format!("did you mean `{word}`? write `./{text}` for a file")),
            );
        }
    }

    fn conditions(
        &mut self,
        node: &YamlNode,
        of: ConditionKeys,
        form: ConditionForm,
        path: &str,
    ) -> Option<Value> {
        match &node.value {
            YamlValue::Mapping(pairs) => self.object(node, pairs, of, path),
            YamlValue::Sequence(items) if form == ConditionForm::Many && !items.is_empty() => {
                let one = |item: &YamlNode| match &item.value {
                    YamlValue::Mapping(pairs) => self.object(item, pairs, of, path),
                    _ => self.refuse(
                        item,
                        format!("each item of `{path}` must be a mapping"),
                        KEYS_HINT,
                    ),
                };
                items.iter().map(one).collect::<Vec<_>>().into_iter().collect()
            }
            _ if form == ConditionForm::Texts => self.texts(node, path),
            _ => self.refuse(node, format!("`{path}` must be a mapping"), KEYS_HINT),
        }
    }

    fn object(
        &mut self,
        node: &YamlNode,
        pairs: &[(YamlNode, YamlNode)],
        of: ConditionKeys,
        path: &str,
    ) -> Option<Value> {
        let keys = (of.keys)();
        let mut object = Map::new();
        let mut is_sound = true;
        for (name, value) in pairs {
            let text = name.text().unwrap_or("");
            let Some(key) = keys.iter().find(|key| key.name == text) else {
                self.unknown_condition(name, text, keys, path);
                is_sound = false;
                continue;
            };
            match self.condition(key, value, &format!("{path}.{text}")) {
                Some(value) => is_sound &= object.insert(text.to_owned(), value).is_none(),
                None => is_sound = false,
            }
        }
        if pairs.is_empty() {
            return self.refuse(node, format!("`{path}` has no conditions"), KEYS_HINT);
        }
        is_sound.then_some(Value::Object(object))
    }

    fn unknown_condition(&mut self, node: &YamlNode, name: &str, keys: &[HookKey], path: &str) {
        let message = format!("unknown key `{name}` in `{path}`");
        let problem = self.at(node, "matcher", Severity::Unusable, message);
        self.report(match nearest(name, keys.iter().map(|key| key.name)) {
            Some(known) => problem.hint(format!("did you mean `{known}`?")),
            None => {
                let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                problem.hint(format!("known keys: {}", names.join(", ")))
            }
        });
    }

    fn expression(&mut self, node: &YamlNode, path: &str) -> Option<Value> {
        let Some(text) = node.text() else {
            let message = format!("`{path}` must be a string");
            return self.refuse(
                node,
                message,
                "write one regular expression; `a|b` matches either",
            );
        };
        match matcher::Expression::anywhere(text) {
            Ok(_) => Some(text.into()),
            Err(error) => {
                let message = format!("`{path}` is not a regular expression: {error}");
                let problem = self.at(node, "regex", Severity::Unusable, message);
                self.report(problem.hint(super::REGEX_HINT));
                None
            }
        }
    }

    fn boolean(&mut self, node: &YamlNode, path: &str) -> Option<Value> {
        match node.text().map(str::to_ascii_lowercase).as_deref() {
            Some("true") => Some(true.into()),
            Some("false") => Some(false.into()),
            _ => self.refuse(node, format!("`{path}` must be `true` or `false`"), "write `true`"),
        }
    }

    /// Reads one text or a list of them, as they are written: `777` is a text here.
    fn texts(&mut self, node: &YamlNode, path: &str) -> Option<Value> {
        let items = match &node.value {
            YamlValue::Sequence(items) if !items.is_empty() => items.as_slice(),
            YamlValue::Scalar { .. } => std::slice::from_ref(node),
            _ => &[],
        };
        let text = |item: &YamlNode| {
            item.text().filter(|text| !text.trim().is_empty()).map(|text| Value::from(text.trim()))
        };
        match items.iter().map(text).collect::<Option<Vec<_>>>() {
            Some(texts) if !texts.is_empty() => Some(texts.into()),
            _ => self.refuse(
                node,
                format!("`{path}` must be a text or a list of texts"),
                "write, for example, `[a, b]`",
            ),
        }
    }

    fn refuse<T>(&mut self, node: &YamlNode, message: String, hint: &str) -> Option<T> {
        let problem = self.at(node, "matcher", Severity::Unusable, message);
        self.report(problem.hint(hint));
        None
    }
}

/// Keys of a condition on commands that take kinds of targets.
const TARGET_KEYS: [&str; 7] =
    ["targets", "reads", "writes", "deletes", "moves", "redirects", "except"];
/// Words for kinds of targets.
const TARGET_WORDS: [&str; 9] =
    ["root", "home", "project", "inside", "outside", "temp", "repository", "device", "unknown"];
const KEYS_HINT: &str = "write its keys on indented lines below it";
