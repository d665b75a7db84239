//! Tokens and turns of agents, from the transcripts that their hosts write.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhook_hosts::log::{LogHomes, LogPlace};
use anyhook_hosts::usage::UsageTally;
use anyhook_model::daemon::{AgentView, Usage};

use crate::figures::thousands;

/// So much of a transcript is read.
const LIMIT: u64 = 1024 * 1024 * 1024;

/// Returns what the transcript of an agent tells; none if there is none, or it tells nothing.
pub fn of_agent(agent: &AgentView) -> Option<Usage> {
    let (host, log) = (agent.host.as_deref()?, Path::new(agent.log.as_deref()?));
    let places = anyhook_hosts::find(host)?.log_places(&LogHomes::default());
    if let Some(queries) = places.iter().find_map(LogPlace::database) {
        return anyhook_daemon::usage::of_session(queries, log, agent.session.as_deref()?);
    }
    let mut tally = UsageTally::of_host(host)?;
    let file = File::open(log).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut lines = BufReader::new(file.take(LIMIT));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).ok()? > 0 {
        tally.feed(&String::from_utf8_lossy(&line));
        line.clear();
    }
    tally.usage()
}

/// Returns tokens in words: `1,200 in, 340 out, 5,000 from cache`.
pub fn tokens(usage: Usage) -> Option<String> {
    let parts = [
        (usage.input_tokens, "in"),
        (usage.output_tokens, "out"),
        (usage.cache_read_tokens, "from the cache"),
        (usage.cache_write_tokens, "to the cache"),
    ];
    let told: Vec<String> = parts
        .into_iter()
        .filter_map(|(number, word)| Some(format!("{} {word}", thousands(number?))))
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}
