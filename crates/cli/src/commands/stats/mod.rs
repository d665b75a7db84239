//! `anyhook stats`: the journal summed up.
//!
//! - [`tally`] and [`runs`] count records, [`histogram`] and [`kept`] keep that small;
//! - [`report`] makes of it what `--json` prints; [`view`] and [`detail`] show that to people, on a
//!   [`page`] that is as wide as the terminal;
//! - [`prometheus`] writes the counts for machines; [`shadow`] is for hooks that are only watched.

mod detail;
mod histogram;
mod kept;
pub(crate) mod page;
mod prometheus;
mod report;
mod runs;
pub(crate) mod shadow;
mod tally;
#[cfg(test)]
mod tests;
mod view;
mod waits;

use std::collections::BTreeSet;

use anyhook_engine::discover::Installed;
use anyhook_engine::journal::Journal;
use anyhook_engine::problem::nearest;
use anyhook_model::exit_code;
use anyhook_model::host::HOST_IDS;
use clap::Args;
use jiff::{SignedDuration, Timestamp};

pub(crate) use tally::{Scope, Tally};

use self::page::Page;
use super::Ended;
use crate::environment::{Environment, terminal_width};
use crate::error::Trouble;
use crate::figures::second;
use crate::since::Since;
use crate::target;
use crate::ui::{Out, Tone};

/// How far back a person looks.
const PERIOD: Since = Since::Ago(SignedDuration::from_hours(7 * 24));

/// How many of each list are shown.
const SHOWN: usize = 5;

/// Sum up the journal: who ran, blocked and failed, how long it took, what never fired
#[derive(Args)]
#[command(
    after_help = "Example: anyhook stats --since 24h\n         anyhook stats guard-shell\n         anyhook stats --prometheus > anyhook.prom.new && mv anyhook.prom.new anyhook.prom"
)]
pub struct StatsArgs {
    /// Show only these hooks, in detail
    #[arg(value_name = "HOOK")]
    hooks: Vec<String>,
    /// Records since: how long ago (30m, 2h, 7d) or a time (2026-01-31); 7d unless said
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,
    /// Records before: how long ago, or a time
    #[arg(long, value_name = "WHEN")]
    until: Option<Since>,
    /// Records of this agent
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Show lists in full: what shadow hooks would have blocked, slowest runs, failures
    #[arg(long)]
    all: bool,
    /// Print as JSON, times in microseconds
    #[arg(long)]
    json: bool,
    /// Print in Prometheus's text format; all of the journal unless --since is given, because
    /// counters must not shrink (they do when the journal drops what is too old)
    #[arg(long, conflicts_with = "json")]
    prometheus: bool,
}

pub fn run(arguments: &StatsArgs, environment: &Environment, out: &mut Out) -> Ended {
    let journal = environment.journal().ok_or_else(Trouble::no_journal)?;
    let installed = target::installed(environment);
    let now = Timestamp::now();
    let default = (!arguments.prometheus).then_some(PERIOD);
    let scope = Scope {
        since: arguments.since.or(default).map(|since| since.moment(now)),
        until: arguments.until.map(|until| until.moment(now)),
        host: arguments.host.clone(),
        fails_closed: fails_closed(&installed),
        keep: if arguments.all { usize::MAX } else { SHOWN },
    };
    if scope.until.is_some_and(|until| scope.since.is_some_and(|since| until <= since)) {
        return Err(Trouble::usage("the period ends before it begins")
            .hint("--until is a time after --since"));
    }
    let tally = read(&journal, scope)?;
    check_names(arguments, &tally, &installed, &journal)?;
    if arguments.prometheus {
        out.text(prometheus::text(&tally, &arguments.hooks).trim_end())?;
        return Ok(exit_code::OK);
    }
    let wanted = report::Wanted { installed: &installed, hooks: &arguments.hooks };
    let report = report::make(&tally, &wanted, now);
    if arguments.json {
        out.json(&report)?;
        return Ok(exit_code::OK);
    }
    if tally.records == 0 {
        say_nothing_was_found(&tally, out)?;
        return Ok(exit_code::OK);
    }
    let mut page = Page::new(out, terminal_width());
    if arguments.hooks.is_empty() {
        view::show(&report, &mut page)?;
    } else {
        detail::show(&report, &arguments.hooks, &mut page)?;
    }
    Ok(exit_code::OK)
}

/// Reads the journal and counts what is in the scope.
pub(crate) fn read(journal: &Journal, scope: Scope) -> Result<Tally, Trouble> {
    let since = scope.since;
    let mut tally = Tally::new(scope);
    let mut count = || {
        let mut reader = match since {
            Some(since) => journal.reader_since(since)?,
            None => journal.reader(),
        };
        let first = journal.segments()?.into_iter().next();
        tally.has_older =
            reader.position().is_some_and(|position| Some(&position.segment) != first.as_ref());
        reader.read_on(&mut |record| tally.take(&record))?;
        tally.damaged = u64::try_from(reader.damaged()).unwrap_or(u64::MAX);
        Ok(())
    };
    count().map_err(|error: std::io::Error| Trouble::at(journal.folder(), error))?;
    Ok(tally)
}

/// Returns the names of the installed hooks whose failure blocks, or would if they counted.
pub(crate) fn fails_closed(installed: &Installed) -> BTreeSet<String> {
    let hooks = installed.hooks.iter().filter(|standing| standing.out.is_none());
    hooks
        .filter(|standing| standing.hook.blocks_on_failure())
        .map(|standing| standing.hook.name().to_owned())
        .collect()
}

/// Says so if somebody asks for a hook or a host that nobody has heard of.
fn check_names(
    arguments: &StatsArgs,
    tally: &Tally,
    installed: &Installed,
    journal: &Journal,
) -> Result<(), Trouble> {
    let is_installed =
        |name: &String| installed.hooks.iter().any(|standing| standing.hook.name() == name);
    let is_hook = |name: &String| tally.hooks.contains_key(name) || is_installed(name);
    let is_host = |name: &String| tally.records > 0 || HOST_IDS.contains(&name.as_str());
    let strange_hook = arguments.hooks.iter().find(|name| !is_hook(name));
    let strange_host = arguments.host.iter().find(|name| !is_host(name));
    if strange_hook.is_none() && strange_host.is_none() {
        return Ok(());
    }
    // Not in this period, or not at this host; but perhaps at another time, or elsewhere.
    let whole = read(journal, Scope::default())?;
    if let Some(name) = strange_host.filter(|name| !whole.hosts.contains_key(*name)) {
        let known = HOST_IDS.into_iter().chain(whole.hosts.keys().map(String::as_str));
        return Err(unknown("host", "known", name, known, "`anyhook hosts` shows the agents"));
    }
    let stranger =
        arguments.hooks.iter().find(|name| !is_hook(name) && !whole.hooks.contains_key(*name));
    if let Some(name) = stranger {
        let installed = installed.hooks.iter().map(|standing| standing.hook.name());
        let known = installed.chain(whole.hooks.keys().map(String::as_str));
        return Err(unknown(
            "hook",
            "installed",
            name,
            known,
            "`anyhook list` shows what is installed",
        ));
    }
    Ok(())
}

fn unknown<'known>(
    what: &str,
    is_what: &str,
    name: &str,
    known: impl Iterator<Item = &'known str>,
    else_hint: &str,
) -> Trouble {
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => else_hint.to_owned(),
    };
    Trouble::input(format!("no {what} `{name}` is {is_what} or in the journal")).hint(hint)
}

fn say_nothing_was_found(tally: &Tally, out: &mut Out) -> std::io::Result<()> {
    match (tally.oldest, tally.scope.since) {
        (None, _) if !tally.has_older => {
            out.text("the journal is empty")?;
            let hint = "`anyhook install` wires it into your agents; `anyhook demo` shows what happens then";
            out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, hint)])
        }
        (_, Some(since)) => out.text(&format!("no records since {}", second(since))),
        _ => out.text("no records"),
    }?;
    if tally.damaged > 0 {
        let text = crate::figures::many(tally.damaged, "damaged line");
        out.line(&[(Tone::Warn, "warning: "), (Tone::Plain, &format!("{text} passed over"))])?;
    }
    Ok(())
}
