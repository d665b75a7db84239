//! Lints: what is valid but still worth a warning.

use anyhook_model::{EventKind, FailMode};

use super::DefinitionReader;
use crate::front_matter::YamlNode;
use crate::problem::{Problem, Severity};

/// A HOOK.md above roughly this many tokens costs an agent more context than it is worth.
const TOKEN_LIMIT: usize = 1000;

impl DefinitionReader<'_> {
    pub(super) fn lints(&mut self, file: &[u8]) {
        for place in &self.matter.odd_escapes {
            self.read.problems.push(
                Problem::new(
                    "escape",
                    Severity::Warning,
                    "unknown escape in double quotes; keeping the backslash",
                )
                .at(*place)
                .hint("use single quotes"),
            );
        }
        if self.matter.lossy {
            self.report(Problem::new(
                "utf-8",
                Severity::Error,
                "the front matter is not valid UTF-8; replaced the invalid bytes",
            ));
        }
        let definition = &self.read.definition;
        let gate = definition
            .triggers
            .iter()
            .find(|trigger| matches!(trigger.kind, EventKind::BeforeTool | EventKind::BeforeStop))
            .map(|trigger| trigger.kind.name(trigger.spelling).to_owned());
        let blocks_on_failure = definition.on_failure == FailMode::Block;
        let says_async = |node: &&YamlNode| node.text() == Some("true");
        if let Some(node) = self.matter.root.get("async").filter(says_async) {
            if let Some(gate) = gate {
                let problem = self.at(
                    node,
                    "async-gate",
                    Severity::Warning,
                    format!("an async hook cannot block, and `{gate}` is a blocking event"),
                );
                self.report(problem.hint("remove `async: true`, or use an after_… event"));
            }
            if blocks_on_failure {
                let problem = self.at(
                    node,
                    "async-block",
                    Severity::Warning,
                    "an async hook cannot block: at blocking events `on_failure: block` wins and `async: true` is ignored; at other events it is the other way round",
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
                        "HOOK.md is about {tokens} tokens long; agents read it when its event fires"
                    ),
                )
                .hint(format!(
                    "keep it under {TOKEN_LIMIT}; move longer text to a file next to it"
                )),
            );
        }
    }
}

/// Estimates tokens: one per four Latin letters, and one for any other character.
fn estimate_tokens(text: &str) -> usize {
    let others = text.chars().filter(|letter| !letter.is_ascii()).count();
    (text.chars().count() - others) / 4 + others
}
