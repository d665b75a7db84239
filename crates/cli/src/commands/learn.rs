//! `anyhook learn`: proposes hooks from what people and hooks decided about past calls.

use std::path::Path;

use anyhook_daemon::caller::CallingAgent;
use anyhook_engine::{Hook, now};
use anyhook_model::report::changes::PlacedHook;
use anyhook_model::report::learn::{HookProposal, LearnReport};
use anyhook_model::{Effect, exit_code};
use anyhook_replay::learn::{Lesson, PastCall, ProposalLimits, learn, only_for, page};
use anyhook_replay::source;
use anyhook_setup::hooks::hooks_folder;
use anyhook_setup::learned::{self, NewFolder};
use clap::Args;

use super::CommandResult;
use crate::confirm::confirm;
use crate::environment::{Environment, shown, terminal_width};
use crate::error::CommandError;
use crate::human_only::{CommandOutcome, agent_above, journal, only_a_person, watched};
use crate::level::LevelName;
use crate::pattern::Pattern;
use crate::progress::ProgressBar;
use crate::target;
use crate::time_arg::TimeArg;
use crate::ui::{Out, Tone, counted};

/// Propose hooks from the journal: what was denied, what was asked, what people chose
///
/// Shows each proposed hook with what it would have decided so far, according to a replay. --write
/// adds hooks in shadow mode, with test cases made of the calls.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook learn --since 7d\n         anyhook learn deny-git-push-force --write"
)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct LearnArgs {
    /// Proposals by name: shows their HOOK.md, or adds them with --write; default: all
    names: Vec<String>,
    /// Calls since: 30m, 2h or 7d ago, 2026-01-31, or 2026-01-31T09:00:00Z
    #[arg(long, value_name = "T", default_value = "30d")]
    since: TimeArg,
    /// At most N events, the newest; 0 means all
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    limit: usize,
    /// Only propose what at least N calls agree on
    #[arg(long, value_name = "N")]
    min: Option<usize>,
    /// Only calls of this agent, such as claude-code
    #[arg(long, value_name = "H")]
    host: Option<String>,
    /// Only calls in this project: its path or folder name
    #[arg(long, value_name = "PATTERN")]
    project: Option<Pattern>,
    /// Add proposals in shadow mode, asking about each
    #[arg(long)]
    write: bool,
    /// With --write, add all proposals
    #[arg(long, requires = "write", conflicts_with = "names")]
    all: bool,
    /// Where to add them
    #[arg(long, value_enum, default_value_t = LevelName::User, value_name = "LEVEL")]
    level: LevelName,
    /// Don't ask for confirmation
    #[arg(long, short, requires = "write")]
    yes: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &LearnArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let mut report = arguments.lesson(environment)?;
    let is_proposed = |name: &&String| report.proposals.iter().any(|one| one.name == **name);
    if let Some(name) = arguments.names.iter().find(|name| !is_proposed(name)) {
        return Err(CommandError::input(format!("`{name}` is not proposed"))
            .hint("`anyhook learn` lists the proposals"));
    }
    let is_named = !arguments.names.is_empty();
    report.proposals.retain(|one| !is_named || arguments.names.contains(&one.name));
    if !arguments.json {
        page::show(&report, is_named, out)?;
        out.flush()?;
    }
    if arguments.write && !report.proposals.is_empty() {
        arguments.write(&mut report, environment, out)?;
    }
    if arguments.json {
        out.json(&report)?;
    } else if !arguments.write && !report.proposals.is_empty() {
        out.hint(
            "`anyhook learn NAME` shows one, `anyhook learn --write` adds them in shadow mode",
        )?;
    }
    Ok(exit_code::OK)
}

impl LearnArgs {
    fn lesson(&self, environment: &Environment) -> Result<LearnReport, CommandError> {
        let since = self.since.moment(now());
        let past = source::of_journal(
            &environment.journal().ok_or_else(CommandError::no_journal)?,
            since,
            None,
            self.limit,
        )?;
        let standing = target::installed(environment).hooks.into_iter();
        let installed: Vec<Hook> = standing.map(|standing| standing.hook).collect();
        let is_meant = |call: &PastCall| {
            self.host.as_ref().is_none_or(|host| call.event.host == *host)
                && self.project.as_ref().is_none_or(|project| project.matches_path(&call.place))
        };
        let mut bar = ProgressBar::new("replaying", past.payloads.len() as u64, terminal_width);
        let limits = ProposalLimits { at_least: self.min };
        let Lesson { calls, proposals, left_out, problems } =
            learn(past, &installed, limits, &is_meant, environment, &mut |done| bar.at(done))?;
        let needs_trust = self.level == LevelName::Project;
        Ok(LearnReport {
            since,
            calls,
            proposals,
            left_out,
            problems,
            added: Vec::new(),
            needs_trust,
        })
    }

    /// Adds the chosen hooks.
    fn write(
        &self,
        report: &mut LearnReport,
        environment: &Environment,
        out: &mut Out,
    ) -> Result<(), CommandError> {
        let chosen = self.choose(&report.proposals, environment)?;
        if chosen.is_empty() {
            let nothing = CommandError::problem("nothing was added");
            let hint = "use --yes to skip the confirmation";
            return Err(if self.yes { nothing } else { nothing.hint(hint) });
        }
        if chosen.iter().any(|proposal| proposal.decision == Effect::Allow) {
            only_a_person("learn", environment)?;
        }
        let agent = agent_above(environment);
        let hooks: Vec<NewFolder> =
            chosen.iter().map(|proposal| NewFolder::from(*proposal)).collect();
        let added = learned::add(&hooks_folder(self.level.into(), environment)?, &hooks);
        let outcome = match (&added, &agent) {
            (Err(error), _) => CommandOutcome::Failed(error.to_string()),
            (Ok(_), Some(agent)) => CommandOutcome::InShadow(agent),
            (Ok(_), None) => CommandOutcome::Done,
        };
        journal("learn", &outcome, environment);
        let names = chosen.into_iter().map(|proposal| proposal.name.clone());
        let placed = names.zip(added?).map(|(name, folder)| PlacedHook {
            name,
            folder: folder.to_string_lossy().into_owned(),
        });
        report.added = placed.collect();
        if self.json { Ok(()) } else { show_added(report, agent.as_ref(), environment, out) }
    }

    /// Returns the proposals to add: those named or all, after one question, or else those that a
    /// person agrees to one by one.
    fn choose<'report>(
        &self,
        proposals: &'report [HookProposal],
        environment: &Environment,
    ) -> Result<Vec<&'report HookProposal>, CommandError> {
        let mut chosen = Vec::new();
        for proposal in proposals {
            match only_for(proposal, self.level.into(), &environment.project_root()) {
                None => chosen.push(proposal),
                Some(project) => {
                    let place = shown(project, &environment.places);
                    let text = format!(
                        "{} is not added: it was only allowed in {place}; add it there with --level project",
                        proposal.name
                    );
                    Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &text)])?;
                }
            }
        }
        if self.yes || chosen.is_empty() {
            return Ok(chosen);
        }
        if self.all || !self.names.is_empty() {
            let is_agreed = confirm(&format!("Add {}?", counted(chosen.len(), "hook")))?;
            return Ok(if is_agreed { chosen } else { Vec::new() });
        }
        let mut agreed = Vec::new();
        for proposal in chosen {
            if confirm(&format!("Add {}: {}?", proposal.name, proposal.description))? {
                agreed.push(proposal);
            }
        }
        Ok(agreed)
    }
}

fn show_added(
    report: &LearnReport,
    agent: Option<&CallingAgent>,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    for PlacedHook { name, folder } in &report.added {
        let place = shown(Path::new(folder), &environment.places);
        out.line(&[
            (Tone::Good, "added "),
            (Tone::Strong, name),
            (Tone::Plain, ": "),
            (Tone::Plain, &place),
        ])?;
    }
    if report.needs_trust {
        out.hint("trust them so that they run: anyhook trust")?;
    }
    let Some(PlacedHook { name, .. }) = report.added.first() else { return Ok(()) };
    if let Some(agent) = agent {
        out.line(&[(Tone::Warn, "not enforced yet: "), (Tone::Plain, &watched(agent))])?;
        out.hint(&format!("to enforce one, have a person run: anyhook promote {name}"))?;
        return Ok(());
    }
    out.text("in shadow mode: `anyhook stats` shows what they would have done")?;
    out.text(&format!("to enforce one: anyhook promote {name}"))?;
    Ok(())
}
