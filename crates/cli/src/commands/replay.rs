//! `anyhook replay`: shows what hooks would have said to past events. Nothing is changed.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhook_engine::hook::Trust;
use anyhook_engine::{Hook, now};
use anyhook_model::{Mode, exit_code};
use anyhook_replay::isolate::{self, IsolationOptions};
use anyhook_replay::{page, replay, source};
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, terminal_width};
use crate::error::CommandError;
use crate::progress::ProgressBar;
use crate::target;
use crate::time_arg::TimeArg;
use crate::ui::Out;

/// Try hooks on past events: what would they have decided? Exit 1 if anything differs
///
/// Each event is tried in an empty scratch folder with its own home, no network, and all other
/// files read-only; nothing is journaled. A hook in shadow mode is tried as if it were enforced.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook replay --hook ./no-force-push --since 7d\n         anyhook replay --hook guard --transcript session.jsonl"
)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct ReplayArgs {
    /// A hook by name or folder (repeatable); default: all installed hooks that may run
    #[arg(long = "hook", value_name = "HOOK")]
    hooks: Vec<PathBuf>,
    /// Events since: 30m, 2h or 7d ago, 2026-01-31, or 2026-01-31T09:00:00Z
    #[arg(long, value_name = "T", default_value = "30d")]
    since: TimeArg,
    /// At most N events, the newest; 0 means all
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    limit: usize,
    /// Only events of this agent, such as claude-code
    #[arg(long, value_name = "H")]
    host: Option<String>,
    /// Read the events from a Claude Code transcript instead of the journal
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "host"])]
    transcript: Option<PathBuf>,
    /// How many to try in parallel; default: the number of processors
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Give the hooks network access; files stay protected
    #[arg(long)]
    with_network: bool,
    /// Run without a sandbox: the hooks can really use the network and change files
    #[arg(long)]
    unprotected: bool,
    /// This is the process that tries them
    #[arg(long, hide = true)]
    apart: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ReplayArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let hooks = hooks(arguments, environment)?;
    let leave = IsolationOptions {
        network: arguments.with_network || arguments.unprotected,
        all: arguments.unprotected,
    };
    if !arguments.apart {
        return Ok(isolate::run_again(&arguments.again(&hooks, environment), leave)?);
    }
    if !leave.all {
        isolate::check(&environment.work_dir)?;
    }
    let past = match &arguments.transcript {
        Some(path) => source::of_transcript(&environment.work_dir.join(path), arguments.limit)?,
        None => {
            let journal = environment.journal().ok_or_else(CommandError::no_journal)?;
            let since = arguments.since.moment(now());
            source::of_journal(&journal, since, arguments.host.as_deref(), arguments.limit)?
        }
    };
    let jobs = arguments
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    let mut bar = ProgressBar::new("replaying", past.payloads.len() as u64, terminal_width);
    let report = replay(hooks, past, leave, jobs.max(1), environment, &mut |done| bar.at(done))?;
    drop(bar);
    if arguments.json {
        out.json(&report)?;
    } else {
        page::show(&report, out)?;
    }
    let differs = !report.new_blocks.is_empty()
        || !report.new_allows.is_empty()
        || !report.differences.is_empty();
    Ok(if differs { exit_code::PROBLEM } else { exit_code::OK })
}

impl ReplayArgs {
    /// Returns the arguments for the process that does the work, with the hooks found here: there,
    /// the machine's own hooks may look like untrusted ones.
    fn again(&self, hooks: &[Hook], environment: &Environment) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["replay".into(), "--apart".into()];
        let mut add = |flag: &str, value: OsString| arguments.extend([flag.into(), value]);
        for hook in hooks {
            add("--hook", hook.folder.clone().into());
        }
        match &self.transcript {
            Some(path) => add("--transcript", environment.work_dir.join(path).into()),
            None => {
                add("--since", self.since.moment(now()).to_string().into());
                if let Some(host) = &self.host {
                    add("--host", host.into());
                }
            }
        }
        add("--limit", self.limit.to_string().into());
        if let Some(jobs) = self.jobs {
            add("--jobs", jobs.to_string().into());
        }
        for (flag, is_set) in [
            ("--json", self.json),
            ("--with-network", self.with_network),
            ("--unprotected", self.unprotected),
        ] {
            arguments.extend(is_set.then(|| OsString::from(flag)));
        }
        arguments.extend(colours());
        arguments
    }
}

/// Returns the colour options to pass on.
fn colours() -> Vec<OsString> {
    let mut arguments = std::env::args_os()
        .skip_while(|argument| !argument.as_encoded_bytes().starts_with(b"--color"));
    match arguments.next() {
        Some(flag) if flag == OsStr::new("--color") => {
            [Some(flag), arguments.next()].into_iter().flatten().collect()
        }
        flag => flag.into_iter().collect(),
    }
}

/// Returns the hooks to try, as if they were enforced.
fn hooks(arguments: &ReplayArgs, environment: &Environment) -> Result<Vec<Hook>, CommandError> {
    let mut hooks = if arguments.hooks.is_empty() {
        // Nothing from a repository runs unasked: what is not trusted must be named.
        let may_run = |hook: &Hook| matches!(hook.trust, Trust::NotNeeded | Trust::Trusted);
        let installed = target::installed(environment).hooks.into_iter();
        installed
            .filter(|standing| standing.out.is_none())
            .map(|standing| standing.hook)
            .filter(|hook| may_run(hook) && hook.fault().is_none())
            .collect()
    } else {
        target::find(&arguments.hooks, environment)?
    };
    if hooks.is_empty() {
        return Err(
            CommandError::input("no hooks to try").hint("pass --hook with a name or a folder")
        );
    }
    for hook in &mut hooks {
        if let Some(fault) = hook.fault() {
            let message = format!("`{}` cannot run: {}", hook.name(), fault.message);
            return Err(CommandError::input(message).hint(format!("anyhook check {}", hook.name())));
        }
        hook.definition.mode = Mode::Enforce;
        hook.trust = Trust::NotNeeded;
    }
    Ok(hooks)
}
