//! Reads a hook's tool matcher, and reports what it does not cover.

use anyhook_model::hook::keys::{self, HookKey};
use anyhook_model::nearest::slip_of;
use anyhook_model::{EventKind, FailMode, MatcherDefinition, tools};
use serde_json::{Map, Value};

use super::{DefinitionReader, listed};
use crate::front_matter::{YamlNode, YamlValue};
use crate::matcher;
use crate::problem::{Severity, nearest};

/// Returns the names of the keys of a matcher.
fn names_of_keys() -> impl Iterator<Item = &'static str> + Clone {
    (keys::MATCHER.keys)().iter().map(|key| key.name)
}

/// Returns the key of a condition.
fn condition_key(name: &str) -> Option<&'static HookKey> {
    (keys::MATCHER.keys)().iter().find(|key| key.name == name)
}

impl DefinitionReader<'_> {
    /// Whether anyhook itself answers calls that match.
    fn declares_answer(&self) -> bool {
        let is_given = |key: &str| self.matter.root.get(key).is_some();
        ["decision", "modified_input", "additional_context"].into_iter().any(is_given)
    }

    pub(super) fn matcher(&mut self) {
        let Some(node) = self.matter.root.get("matcher") else { return };
        if node.is_null() || node.text() == Some("") {
            if self.declares_answer() {
                let message = "`matcher` has no value, so the answer would apply to every call";
                let problem = self.at(node, "matcher", Severity::Unusable, message);
                self.report(problem.hint("indent its keys below it, or remove `matcher`"));
            }
            return;
        }
        let YamlValue::Mapping(pairs) = &node.value else {
            let problem = self.at(
                node,
                "matcher",
                Severity::Unusable,
                "`matcher` must be a mapping with `tool`, `pattern` and conditions",
            );
            return self
                .report(problem.hint("put `tool:` and `pattern:` on their own indented lines"));
        };
        let mut matcher = MatcherDefinition::default();
        let mut conditions = Map::new();
        for (key, value) in pairs {
            let name = key.text().unwrap_or("");
            let field = match name {
                "tool" => &mut matcher.tool,
                "pattern" => &mut matcher.pattern,
                _ => {
                    if let Some(key) = condition_key(name) {
                        let given = self.condition(key, value, &format!("matcher.{name}"));
                        conditions.extend(given.map(|value| (name.to_owned(), value)));
                        continue;
                    }
                    let message = format!("unknown key `{name}` in `matcher`");
                    // Without the condition its author meant, an answer would be given to other
                    // calls. A script can look for itself.
                    let problem = if self.declares_answer() {
                        self.at(key, "matcher", Severity::Unusable, message)
                    } else {
                        self.at(key, "unknown-key", Severity::Warning, message)
                    };
                    self.report(match nearest(name, names_of_keys()) {
                        Some(known) => problem.hint(format!("did you mean `{known}`?")),
                        None => {
                            let names: Vec<&str> = names_of_keys().collect();
                            problem.hint(format!("known keys: {}", names.join(", ")))
                        }
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
                    format!("`{name}` must be a string"),
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
                self.report(problem.hint(super::REGEX_HINT));
            } else if name == "tool" {
                self.tool_names(value, text);
            }
        }
        self.set_conditions(node, &mut matcher, conditions);
        let triggers = &self.read.definition.triggers;
        if !matcher.is_empty()
            && !triggers.is_empty()
            && !triggers.iter().any(|trigger| trigger.kind.has_matcher())
        {
            let problem = self.at(
                node,
                "matcher-ignored",
                Severity::Warning,
                "ignoring `matcher`: the trigger is not a tool event",
            );
            self.report(problem.hint("remove it, or check the event in the script"));
        }
        self.read.definition.matcher = matcher;
    }

    /// Adds conditions to a matcher.
    fn set_conditions(
        &mut self,
        node: &YamlNode,
        matcher: &mut MatcherDefinition,
        conditions: Map<String, Value>,
    ) {
        if conditions.is_empty() {
            return;
        }
        let read = serde_json::from_value::<MatcherDefinition>(conditions.into());
        let compiled = read.map_err(|error| error.to_string()).and_then(|read| {
            self.read.matcher.set_conditions(&read)?;
            Ok(read)
        });
        match compiled {
            Ok(read) => {
                let MatcherDefinition { tool, pattern, .. } = std::mem::take(matcher);
                *matcher = MatcherDefinition { tool, pattern, ..read };
            }
            Err(error) => {
                let message = format!("the conditions of `matcher` cannot be used: {error}");
                let problem = self.at(node, "matcher", Severity::Unusable, message);
                self.report(problem);
            }
        }
    }

    /// Reads the expression for tools: a list of names separated by commas or blanks becomes one
    /// with `|`, and an agent's permission rule is rejected.
    fn tool_expression(&mut self, node: &YamlNode, text: &str) -> String {
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
            let words = format!("`{text}` is an agent's permission rule, not a tool name");
            let problem = self.at(node, "tool-rule", Severity::Unusable, words);
            let hint = format!("write `tool: {name}`, and express `{rule}` as a `pattern`");
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

    /// Reports tool names that are not the canonical ones, and what a file guard does not cover.
    fn tool_names(&mut self, node: &YamlNode, expression: &str) {
        let Ok(tool) = matcher::Expression::whole(expression) else { return };
        let matcher::RequiredLiterals::Exactly(names) = tool.needs() else { return };
        // A name that no agent has, but that resembles one they have, is a typo: the hook would
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
                        let message =
                            format!("`{name}` is a variant of `{}` in {whose}", known.name);
                        (Severity::Note, message, format!("`{}` matches it too", known.name))
                    }
                    (whose, _) => {
                        let whose = whose.unwrap_or_default();
                        let message =
                            format!("`{name}` is the name of `{}` in {whose}", known.name);
                        (
                            Severity::Note,
                            message,
                            format!("write `{}`; both match the tool in every agent", known.name),
                        )
                    }
                },
                None if tools::is_known(name) => continue,
                None => match nearest(name, tools::all_names()) {
                    Some(near) => {
                        let message = format!("no agent has a tool named `{name}`");
                        let near = tools::find(near).map_or(near, |tool| tool.name);
                        let severity =
                            if is_never_asked { Severity::Unusable } else { Severity::Warning };
                        (severity, message, format!("did you mean `{near}`?"))
                    }
                    None => {
                        let message = format!("no supported agent has a tool named `{name}`");
                        let hint = "ignore this if your own agent has such a tool".to_owned();
                        (Severity::Note, message, hint)
                    }
                },
            };
            let problem = self.at(node, "tool-name", severity, message);
            self.report(problem.hint(hint));
        }
    }

    /// Reports which other tools can do to a file what a guard keeps some tools from doing.
    pub(super) fn open_files(&mut self) {
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
        let message = format!("`{list}` can still change the files this hook protects");
        let problem = self.at(node, "open-files", Severity::Note, message);
        self.report(problem.hint(format!("add `|{}`, unless this is intended", open.join("|"))));
    }
}
