//! Counts the tokens and turns of a session from its transcript.
//!
//! An agent writes a message more than once: Claude Code a line for each of its blocks, Gemini CLI
//! again when its tools are done. So each message counts once, by its id, as it was last written.
//! Lines are parsed in each agent's folder; messages in a database are counted as
//! [`crate::log_database::LogDatabase`] describes.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::daemon::Usage;
use anyhook_model::json::Object;

/// The maximum number of messages; a transcript with more is not one of a session.
const MESSAGES: usize = 1_000_000;

/// Counts what the lines of one transcript report.
#[derive(Debug)]
pub struct UsageTally {
    feed: fn(&mut Self, &Object),
    by_message: BTreeMap<String, Usage>,
    /// The last total that the agent itself reported.
    total: Usage,
    prompts: BTreeSet<String>,
}

impl UsageTally {
    /// Starts a count for a host's transcript; `None` if its transcripts cannot be read line by
    /// line.
    pub fn of_host(host: &str) -> Option<Self> {
        let feed = crate::find(host)?.log.as_ref()?.usage?;
        let (by_message, prompts) = (BTreeMap::new(), BTreeSet::new());
        Some(Self { feed, by_message, total: Usage::default(), prompts })
    }

    /// Processes a line; one that is not JSON is ignored.
    pub fn feed(&mut self, line: &str) {
        let Ok(object) = serde_json::from_str::<Object>(line) else { return };
        if self.by_message.len() < MESSAGES && self.prompts.len() < MESSAGES {
            (self.feed)(self, &object);
        }
    }

    /// Returns the usage that the lines reported; `None` if there was none.
    pub fn usage(&self) -> Option<Usage> {
        let messages = self.by_message.values().copied();
        let mut usage = messages.fold(self.total, Usage::plus);
        if !self.prompts.is_empty() {
            usage.turns = u64::try_from(self.prompts.len()).ok();
        }
        (!usage.is_empty()).then_some(usage)
    }

    /// Counts a message of the model, replacing what was written about it before.
    pub(crate) fn message(&mut self, id: &str, usage: Usage) {
        self.by_message.insert(id.to_owned(), usage);
    }

    /// Sets the total that the agent reported, replacing the previous one.
    pub(crate) fn total(&mut self, usage: Usage) {
        self.total = usage;
    }

    /// Counts a person's prompt.
    pub(crate) fn prompt(&mut self, id: &str) {
        self.prompts.insert(id.to_owned());
    }

    /// Counts a person's prompt that has no id.
    pub(crate) fn next_prompt(&mut self) {
        self.prompts.insert(self.prompts.len().to_string());
    }
}

/// Returns a number of an object.
pub(crate) fn number(object: &Object, key: &str) -> Option<u64> {
    object.get(key)?.as_u64()
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
            // The model of these sessions read 100 tokens and wrote 10 at each request.
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
