//! Reads agents and their reactions.

use anyhook_model::nearest::nearest;
use anyhook_model::reaction::{ReactionError, ReactionProblem, Trigger};
use anyhook_model::runbook_keys::{self as keys, names};

use super::TreeReader;
use crate::runbook::definition::{AgentDefinition, PromptDefinition, ReactionText, SpannedName};
use crate::runbook::finding::Finding;
use crate::runbook::template::{TemplateReference, TemplateScope, is_variable};
use crate::runbook::tree::{MapEntry, Node, NodeKind, NodeMap, follow};

/// Prefix of our own variables.
const OWN: &str = "ANYHOOK_";

impl TreeReader {
    pub(super) fn agent(&mut self, entry: &MapEntry) -> AgentDefinition {
        let name = self.name(&entry.key.name, &entry.key.span, "an agent");
        let what = name.of("agent");
        let mut agent = AgentDefinition { name, ..AgentDefinition::default() };
        let Some(map) = self.object(entry, &what, &names(keys::AGENT)) else { return agent };
        match map.get("run") {
            Some(entry) => {
                agent.run = self.command(entry, TemplateScope::AGENT).unwrap_or_default();
            }
            None => self.report(
                Finding::error("missing", format!("{what} has no `run`"))
                    .at(entry.key.span.clone())
                    .hint("add the command that starts it: `run = \"claude\"`"),
            ),
        }
        agent.prompt = self.prompt(map);
        if !["prompt", "prompt_file"].iter().any(|key| map.get(key).is_some())
            && let Some((_, span)) = agent
                .run
                .references()
                .find(|(reference, _)| **reference == TemplateReference::Prompt)
        {
            self.report(
                Finding::error("missing", format!("{what} has no prompt"))
                    .at(span)
                    .hint("write `prompt = \"…\"` or `prompt_file = \"…\"`"),
            );
        }
        if let Some(entry) = map.get("env") {
            agent.env = self.env(entry);
        }
        agent.cwd = self.template(map, "cwd", TemplateScope::TEXT);
        if let Some((text, span)) = self.text(map, "host") {
            agent.host = Some(self.name(&text.text, span, "a host"));
        }
        self.retired_session(map);
        let entries = Trigger::ALL.iter().filter_map(|trigger| map.get(trigger.name()));
        for entry in entries {
            let read = agent.reactions.set(&entry.key.name, &entry.node.to_json());
            for error in read.err().into_iter().flatten() {
                self.reaction(entry, &error);
            }
        }
        agent.texts = self.texts(map);
        agent
    }

    /// Reads `session`, which selected one of two kinds of session until only one remained.
    fn retired_session(&mut self, map: &NodeMap) {
        let Some(entry) = map.get("session") else { return };
        let hint = "remove it: use `anyhook agent attach` to open any agent's session";
        match &entry.node.kind {
            NodeKind::Text(text) if text.text == "tmux" => self.report(
                Finding::error("retired", "tmux sessions are no longer supported")
                    .at(entry.node.span.clone())
                    .hint(hint),
            ),
            NodeKind::Text(text) if text.text == "pty" => self.report(
                Finding::error(
                    "retired",
                    "`session` is not needed: there is only one kind of session",
                )
                .note()
                .at(entry.key.span.clone())
                .hint(hint),
            ),
            _ => drop(self.word(entry, &[((), "pty")])),
        }
    }

    fn prompt(&mut self, map: &NodeMap) -> Option<PromptDefinition> {
        if map.get("prompt").is_some() {
            self.no_use(map, &["prompt_file"], "together with `prompt`");
        }
        let text = self.template(map, "prompt", TemplateScope::TEXT).map(PromptDefinition::Text);
        let file =
            self.template(map, "prompt_file", TemplateScope::TEXT).map(PromptDefinition::File);
        text.or(file)
    }

    fn env(&mut self, entry: &MapEntry) -> Vec<(SpannedName, crate::runbook::template::Template)> {
        let NodeKind::Map(map) = &entry.node.kind else {
            self.expected(entry, "an object", "its keys are environment variables");
            return Vec::new();
        };
        let mut env = Vec::new();
        for entry in map {
            let name =
                SpannedName { text: entry.key.name.clone(), span: entry.key.span.clone().into() };
            if !is_variable(&name.text) {
                let message = format!("`{}` is not a valid environment variable name", name.text);
                let hint = "use letters, digits and `_`, and do not start with a digit";
                self.report(Finding::error("name", message).at(&name.span).hint(hint));
            } else if name.text.starts_with(OWN) {
                let message = format!("`{}` is set by anyhook itself", name.text);
                let hint = format!("use a name that does not start with `{OWN}`");
                self.report(Finding::error("name", message).at(&name.span).hint(hint));
            }
            if let Some(value) = self.template_of(entry, TemplateScope::TEXT) {
                env.push((name, value));
            }
        }
        env
    }

    /// Reports an error in a reaction at its position.
    fn reaction(&mut self, entry: &MapEntry, error: &ReactionError) {
        let ReactionError { path, problem } = error;
        let found = follow(entry, path);
        if found.value.is_unreadable() && matches!(problem, ReactionProblem::Expected(_)) {
            return;
        }
        let near = |word: &str, known: &str| {
            nearest(word, known.split(", ")).map(|near| format!("did you mean `{near}`?"))
        };
        let example = "write an action as a string, or as an object such as `{ action = \"nudge\", message = \"continue\", attempts = 3 }`";
        let hint = match problem {
            ReactionProblem::UnknownKey { known } => {
                near(found.name, known).or(Some("remove it".to_owned()))
            }
            ReactionProblem::UnknownAction { name, known }
            | ReactionProblem::UnknownKind { name, known } => {
                near(name, known).or(Some("use one of them".to_owned()))
            }
            ReactionProblem::OtherTrigger { .. } => Some("use one of them".to_owned()),
            ReactionProblem::Missing("run") | ReactionProblem::Expected("a command") => Some(
                "write `run = \"make test\"`: if it succeeds, the pipeline continues".to_owned(),
            ),
            ReactionProblem::NoUse(_) => Some("remove it".to_owned()),
            ReactionProblem::Missing(_) | ReactionProblem::Expected(_) => Some(example.to_owned()),
        };
        let span = match problem {
            ReactionProblem::UnknownKey { .. } | ReactionProblem::NoUse(_) => found.key,
            _ => &found.value.span,
        };
        let finding = Finding::error("reaction", format!("`{path}`: {problem}")).at(span.clone());
        self.report(Finding { hint, ..finding });
    }

    /// Reads the texts of all reactions.
    fn texts(&mut self, map: &NodeMap) -> Vec<ReactionText> {
        let mut texts = Vec::new();
        for trigger in Trigger::ALL {
            let Some(entry) = map.get(trigger.name()) else { continue };
            let rules: &[Node] = match &entry.node.kind {
                NodeKind::List(rules) => rules,
                _ => std::slice::from_ref(&entry.node),
            };
            for (rule, node) in rules.iter().enumerate() {
                let NodeKind::Map(action) = &node.kind else { continue };
                for (key, is_command) in [("message", false), ("run", true)] {
                    // That it is a non-empty text has already been checked.
                    let Some(entry) = action.get(key) else { continue };
                    let NodeKind::Text(_) = entry.node.kind else { continue };
                    let template = if is_command {
                        self.shell(entry, TemplateScope::TEXT)
                    } else {
                        self.template_of(entry, TemplateScope::TEXT)
                    };
                    let text = |template| ReactionText { trigger, rule, is_command, template };
                    texts.extend(template.map(text));
                }
            }
        }
        texts
    }
}
