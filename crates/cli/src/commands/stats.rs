//! `anyhook stats`: summarises the journal.
//!
//! What is counted, how, and how a report looks is defined in [`anyhook_stats`].

use anyhook_engine::discover::InstalledHooks;
use anyhook_model::exit_code;
use anyhook_model::report::StatsReport;
use anyhook_stats::{StatsError, Tally, TallyScope, fails_closed, page, prometheus, report};
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use super::CommandResult;
use crate::environment::{Environment, terminal_width};
use crate::error::CommandError;
use crate::format::second;
use crate::target;
use crate::time_arg::TimeArg;
use crate::ui::{Out, Page, Tone};

/// The default period.
const PERIOD: TimeArg = TimeArg::Ago(SignedDuration::from_hours(7 * 24));

/// How many entries of each list are shown.
const SHOWN: usize = 5;

/// Summarize the journal: which hooks ran, blocked, failed or never fired, and how long they took
#[derive(Args, Default)]
#[command(
    after_help = "Example: anyhook stats --since 24h\n         anyhook stats guard-shell\n         anyhook stats --prometheus > anyhook.prom.new && mv anyhook.prom.new anyhook.prom"
)]
pub struct StatsArgs {
    /// Show only these hooks, in detail
    #[arg(value_name = "HOOK")]
    pub hooks: Vec<String>,
    /// Records since: how long ago (30m, 2h, 7d) or a time (2026-01-31); default: 7d
    #[arg(long, value_name = "WHEN")]
    pub since: Option<TimeArg>,
    /// Records before: how long ago, or a time
    #[arg(long, value_name = "WHEN")]
    pub until: Option<TimeArg>,
    /// Records of this agent
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Show lists in full: what shadow hooks would have blocked, slowest runs, failures
    #[arg(long)]
    pub all: bool,
    /// Print as JSON, times in microseconds
    #[arg(long)]
    pub json: bool,
    /// Print in Prometheus text format; the whole journal unless --since is given, because
    /// counters must not shrink (they do when the journal drops old records)
    #[arg(long, conflicts_with = "json")]
    pub prometheus: bool,
}

/// The journal counted, and the hooks that are installed.
struct Counted {
    tally: Tally,
    installed: InstalledHooks,
    now: Timestamp,
}

impl Counted {
    fn report(&self, arguments: &StatsArgs) -> StatsReport {
        let wanted = report::HookSelection { installed: &self.installed, hooks: &arguments.hooks };
        report::make(&self.tally, &wanted, self.now)
    }
}

fn count(arguments: &StatsArgs, environment: &Environment) -> Result<Counted, CommandError> {
    let journal = environment.journal().ok_or_else(CommandError::no_journal)?;
    let installed = target::installed(environment);
    let now = Timestamp::now();
    let default = (!arguments.prometheus).then_some(PERIOD);
    let scope = TallyScope {
        since: arguments.since.or(default).map(|since| since.moment(now)),
        until: arguments.until.map(|until| until.moment(now)),
        host: arguments.host.clone(),
        fails_closed: fails_closed(&installed),
        keep: if arguments.all { usize::MAX } else { SHOWN },
    };
    if scope.until.is_some_and(|until| scope.since.is_some_and(|since| until <= since)) {
        return Err(CommandError::usage("the period ends before it begins")
            .hint("--until must be after --since"));
    }
    let tally = Tally::read(&journal, scope)?;
    tally.check_names(&arguments.hooks, &installed, &journal)?;
    Ok(Counted { tally, installed, now })
}

/// Returns the report for programs.
pub fn report(
    arguments: &StatsArgs,
    environment: &Environment,
) -> Result<StatsReport, CommandError> {
    Ok(count(arguments, environment)?.report(arguments))
}

pub fn run(arguments: &StatsArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let counted = count(arguments, environment)?;
    let tally = &counted.tally;
    if arguments.prometheus {
        out.text(prometheus::text(tally, &arguments.hooks).trim_end())?;
        return Ok(exit_code::OK);
    }
    let report = counted.report(arguments);
    if arguments.json {
        out.json(&report)?;
        return Ok(exit_code::OK);
    }
    if tally.records == 0 {
        say_nothing_was_found(tally, out)?;
        return Ok(exit_code::OK);
    }
    let mut paper = Page::new(out, terminal_width());
    if arguments.hooks.is_empty() {
        page::show_overview(&report, &mut paper)?;
    } else {
        page::show_hooks(&report, &arguments.hooks, &mut paper)?;
    }
    Ok(exit_code::OK)
}

fn say_nothing_was_found(tally: &Tally, out: &mut Out) -> std::io::Result<()> {
    match (tally.oldest, tally.scope.since) {
        (None, _) if !tally.has_older => {
            out.text("the journal is empty")?;
            let hint = "`anyhook install` sets up your agents; `anyhook demo` shows what happens";
            out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, hint)])
        }
        (_, Some(since)) => out.text(&format!("no records since {}", second(since))),
        _ => out.text("no records"),
    }?;
    if tally.damaged > 0 {
        let text = crate::format::many(tally.damaged, "damaged line");
        out.line(&[(Tone::Warn, "warning: "), (Tone::Plain, &format!("{text} skipped"))])?;
    }
    Ok(())
}

impl From<StatsError> for CommandError {
    fn from(error: StatsError) -> Self {
        let near = |near: &Option<String>, otherwise: &str| match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => otherwise.to_owned(),
        };
        let message = error.to_string();
        match &error {
            StatsError::Journal { folder, source } => Self::at(folder, source),
            StatsError::UnknownHost { near: name, .. } => {
                Self::input(message).hint(near(name, "`anyhook hosts` shows the agents"))
            }
            StatsError::UnknownHook { near: name, .. } => {
                Self::input(message).hint(near(name, "`anyhook list` shows installed hooks"))
            }
        }
    }
}
