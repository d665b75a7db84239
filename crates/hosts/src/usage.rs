//! What a session's transcript tells of the tokens and turns it took.
//!
//! A host writes a message more than once: Claude Code a line for each of its blocks, Gemini CLI
//! again when its tools are done. So each message counts once, by its id, as it was written last.
//! OpenCode keeps its messages in a database, see [`crate::opencode::MessageTally`].

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::daemon::Usage;
use anyhook_model::json::Object;
use serde_json::Value;

use crate::claude_code;
use crate::log::text;

/// So many messages are told apart; a transcript with more is not one of a session.
const MESSAGES: usize = 1_000_000;

/// Counts what the lines of one transcript tell.
#[derive(Debug)]
pub struct UsageTally {
    form: Form,
    by_message: BTreeMap<String, Usage>,
    /// What the host itself summed up last.
    total: Usage,
    prompts: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    ClaudeCode,
    Codex,
    GeminiCli,
}

impl UsageTally {
    /// Begins with the transcript of a host; none if its transcripts cannot be read line by line.
    pub fn of_host(host: &str) -> Option<Self> {
        let form = match host {
            "claude-code" => Form::ClaudeCode,
            "codex" => Form::Codex,
            "gemini-cli" => Form::GeminiCli,
            _ => return None,
        };
        let (by_message, prompts) = (BTreeMap::new(), BTreeSet::new());
        Some(Self { form, by_message, total: Usage::default(), prompts })
    }

    /// Takes a line in; one that is no JSON tells nothing.
    pub fn feed(&mut self, line: &str) {
        let Ok(object) = serde_json::from_str::<Object>(line) else { return };
        if self.by_message.len() >= MESSAGES || self.prompts.len() >= MESSAGES {
            return;
        }
        match self.form {
            Form::ClaudeCode => self.claude_code(object),
            Form::Codex => self.codex(&object),
            Form::GeminiCli => self.gemini_cli(&object),
        }
    }

    /// Returns what the lines told; none if that is nothing.
    pub fn usage(&self) -> Option<Usage> {
        let messages = self.by_message.values().copied();
        let mut usage = messages.fold(self.total, Usage::plus);
        if !self.prompts.is_empty() {
            usage.turns = u64::try_from(self.prompts.len()).ok();
        }
        (!usage.is_empty()).then_some(usage)
    }

    fn claude_code(&mut self, object: Object) {
        let message = object.get("message").and_then(Value::as_object);
        if let Some(message) = message
            && text(&object, "type") == Some("assistant")
            && text(message, "model") != Some("<synthetic>")
            && let Some(told) = message.get("usage").and_then(Value::as_object)
        {
            let usage = Usage {
                turns: None,
                input_tokens: number(told, "input_tokens"),
                output_tokens: number(told, "output_tokens"),
                cache_read_tokens: number(told, "cache_read_input_tokens"),
                cache_write_tokens: number(told, "cache_creation_input_tokens"),
            };
            let id = text(message, "id").or_else(|| text(&object, "uuid")).unwrap_or_default();
            self.by_message.insert(id.to_owned(), usage);
        }
        let id = text(&object, "uuid").unwrap_or_default().to_owned();
        if claude_code::is_prompt(object) {
            self.prompts.insert(id);
        }
    }

    fn codex(&mut self, object: &Object) {
        let Some(payload) = object.get("payload").and_then(Value::as_object) else { return };
        match (text(object, "type"), text(payload, "type")) {
            (Some("event_msg"), Some("task_started" | "turn_started")) => {
                let id = self.prompts.len().to_string();
                self.prompts.insert(id);
            }
            (Some("event_msg"), Some("token_count")) => {
                let total = payload.get("info").and_then(|info| info.get("total_token_usage"));
                let Some(total) = total.and_then(Value::as_object) else { return };
                let cached = number(total, "cached_input_tokens");
                let written = number(total, "cache_write_input_tokens");
                let elsewhere = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
                self.total = Usage {
                    turns: None,
                    input_tokens: number(total, "input_tokens")
                        .map(|all| all.saturating_sub(elsewhere)),
                    output_tokens: number(total, "output_tokens"),
                    cache_read_tokens: cached,
                    cache_write_tokens: written,
                };
            }
            _ => {}
        }
    }

    fn gemini_cli(&mut self, object: &Object) {
        let id = text(object, "id").unwrap_or_default();
        match text(object, "type") {
            Some("user") if is_asked(object) => {
                self.prompts.insert(id.to_owned());
            }
            Some("gemini") => {
                let Some(tokens) = object.get("tokens").and_then(Value::as_object) else { return };
                let cached = number(tokens, "cached");
                let thoughts = number(tokens, "thoughts").unwrap_or(0);
                let usage = Usage {
                    turns: None,
                    input_tokens: number(tokens, "input")
                        .map(|all| all.saturating_sub(cached.unwrap_or(0))),
                    output_tokens: number(tokens, "output").map(|all| all.saturating_add(thoughts)),
                    cache_read_tokens: cached,
                    cache_write_tokens: None,
                };
                self.by_message.insert(id.to_owned(), usage);
            }
            _ => {}
        }
    }
}

fn number(object: &Object, key: &str) -> Option<u64> {
    object.get(key)?.as_u64()
}

/// Tells whether a user's message is what a person asked: neither what a tool returned nor the
/// host's own words about the folder and the system.
fn is_asked(object: &Object) -> bool {
    let first = match object.get("content") {
        Some(Value::Array(parts)) => parts.first().and_then(|part| part.get("text")),
        content => content,
    };
    first.and_then(Value::as_str).is_some_and(|text| !text.starts_with("<session_context>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(host: &str, log: &str) -> Option<Usage> {
        let mut tally = UsageTally::of_host(host).unwrap();
        log.lines().for_each(|line| tally.feed(line));
        tally.usage()
    }

    #[test]
    fn a_message_counts_once_however_often_it_is_written() {
        let line = |id: &str, output: u64| {
            format!(
                r#"{{"type":"assistant","uuid":"{output}","message":{{"id":"{id}","model":"m","role":"assistant","content":[],"usage":{{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":7,"output_tokens":{output}}}}}}}"#
            )
        };
        let log = [line("a", 1), line("a", 20), line("b", 3), "no JSON".to_owned()].join("\n");
        let expected = Usage {
            turns: None,
            input_tokens: Some(10),
            output_tokens: Some(23),
            cache_read_tokens: Some(200),
            cache_write_tokens: Some(14),
        };
        assert_eq!(of("claude-code", &log), Some(expected));
    }

    #[test]
    fn what_real_transcripts_tell() {
        let claude = of("claude-code", include_str!("claude_code/fixtures/logs/tools.jsonl"));
        let codex = of("codex", include_str!("codex/fixtures/logs/tools.jsonl"));
        let gemini = of("gemini-cli", include_str!("gemini_cli/fixtures/logs/tools.jsonl"));
        for usage in [claude, codex, gemini] {
            let usage = usage.unwrap();
            // The model of these sessions took 100 tokens and wrote 10 at each request.
            assert_eq!(
                usage.input_tokens,
                usage.output_tokens.map(|output| output * 10),
                "{usage:?}"
            );
            assert!(usage.output_tokens >= Some(20), "{usage:?}");
            assert_eq!(usage.turns, Some(1), "{usage:?}");
        }
        assert_eq!(gemini.unwrap().cache_write_tokens, None, "it does not tell");
    }

    #[test]
    fn what_is_not_told_is_not_known() {
        assert!(UsageTally::of_host("opencode").is_none());
        assert_eq!(of("codex", "{}\n\n"), None);
    }
}
