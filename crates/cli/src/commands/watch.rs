//! `anyhook watch`: prints events as they happen, one line each, for people and for scripts.

pub mod source;

use anyhook_model::daemon::PublishedEvent;
use anyhook_model::exit_code;
use anyhook_model::json::to_spaced;
use anyhook_pages::events::{subject, tone, what};
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::format::second;
use crate::pattern::Pattern;
use crate::time_arg::TimeArg;
use crate::ui::{Out, Tone};

use self::source::{EventSource, SubscriptionStart, WatchUpdate, end_by};

/// The width of the name column; a longer name shifts the rest of its line.
const NAME_WIDTH: usize = 24;

/// Watch what agents and pipelines do, one line for each event, until Ctrl-C
///
/// Continues after a restart of the daemon. In patterns, `*` matches anything.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook watch --type 'agent:idle,agent:prompt,decision:*'\n         anyhook watch --json --project shop --since 10m"
)]
pub struct WatchArgs {
    /// Only from agents with this name or id (repeatable)
    #[arg(long, value_name = "PATTERN")]
    agent: Vec<Pattern>,
    /// Only from pipelines with this name or id, and their agents
    #[arg(long, value_name = "PATTERN")]
    pipeline: Vec<Pattern>,
    /// Only from projects with this path or folder name
    #[arg(long, value_name = "PATTERN")]
    project: Vec<Pattern>,
    /// Only from agents of this host, such as claude-code
    #[arg(long, value_name = "PATTERN")]
    host: Vec<Pattern>,
    /// Only events of these types, such as agent:idle,decision:*
    #[arg(long = "type", value_name = "TYPES", value_delimiter = ',')]
    types: Vec<Pattern>,
    /// Start with events since: 10m or 2h ago, 2026-01-31T09:00:00Z; the latest 2,000 events are
    /// kept
    #[arg(long, value_name = "WHEN", conflicts_with = "after")]
    since: Option<TimeArg>,
    /// Start after the event with this number (`sequence` in --json)
    #[arg(long, value_name = "SEQUENCE")]
    after: Option<u64>,
    /// Include events that changed nothing because a better source reported something newer
    #[arg(long)]
    all: bool,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &WatchArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let begin = match (arguments.after, arguments.since) {
        (Some(number), _) => SubscriptionStart::After(number),
        (None, Some(since)) => SubscriptionStart::Since(since.moment(anyhook_engine::now())),
        (None, None) => SubscriptionStart::Now,
    };
    let mut source = EventSource::open(begin, environment)?;
    loop {
        match source.next()? {
            WatchUpdate::Told(told) => {
                if arguments.takes(&told) {
                    print(&told, arguments.json, out)?;
                    // Readers want each line at once.
                    out.flush()?;
                }
            }
            WatchUpdate::Closed => return Ok(exit_code::OK),
            WatchUpdate::Signal(signal) => return end_by(signal, out),
            WatchUpdate::Quiet => {}
        }
    }
}

impl WatchArgs {
    fn takes(&self, told: &PublishedEvent) -> bool {
        let is_meant = |patterns: &[Pattern], test: &dyn Fn(&Pattern) -> bool| {
            patterns.is_empty() || patterns.iter().any(test)
        };
        let known = &told.subject;
        let object = told.event.to_object();
        let member = |name: &str| object.get(name).and_then(serde_json::Value::as_str);
        let agents = [known.agent_name.as_deref(), member("agent")];
        let pipelines =
            [known.pipeline_name.as_deref(), known.pipeline.as_deref(), member("pipeline")];
        let host = member("host").or(known.host.as_deref());
        let project = member("project").or(known.project.as_deref());
        (self.all || told.dropped.is_none())
            && is_meant(&self.types, &|one| one.matches_word(told.event.type_name()))
            && is_meant(&self.agent, &|one| one.matches_any(agents))
            && is_meant(&self.pipeline, &|one| one.matches_any(pipelines))
            && is_meant(&self.host, &|one| one.matches_any([host]))
            && is_meant(&self.project, &|one| project.is_some_and(|path| one.matches_path(path)))
    }
}

fn print(told: &PublishedEvent, json: bool, out: &mut Out) -> std::io::Result<()> {
    if json {
        return out.text(&to_spaced(&told.to_object()));
    }
    let blanks = NAME_WIDTH.saturating_sub(subject(told).chars().count());
    let mut what = what(&told.event);
    if let Some(why) = &told.dropped {
        what = format!("{what} (ignored: {why})");
    }
    let tone = if told.dropped.is_some() { Tone::Dim } else { tone(&told.event) };
    out.line(&[
        (Tone::Dim, &second(told.heard)),
        (Tone::Plain, "  "),
        (Tone::Strong, subject(told)),
        (Tone::Plain, &" ".repeat(blanks + 2)),
        (tone, &what),
    ])
}
