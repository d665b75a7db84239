//! `anyhook agent list`: lists every agent, once or continuously.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anyhook_model::daemon::{AgentView, Request, Response};
use anyhook_model::exit_code;
use anyhook_model::json::to_spaced;
use anyhook_model::mcp::STATES;
use anyhook_setup::proof::standing;
use anyhook_setup::proof::status_line::PROVE;
use clap::Args;

use super::agents;
use crate::commands::CommandResult;
use crate::commands::watch::source::{EventSource, SubscriptionStart, WatchUpdate, end_by};
use crate::daemon::connect_if_it_runs;
use crate::downtime;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::pages;
use crate::pattern::Pattern;
use crate::ui::{Out, Tone};

/// How often the times on a terminal are redrawn.
const TICK: Duration = Duration::from_secs(1);
/// Events that arrive within this time of each other count as one change.
const TOGETHER: Duration = Duration::from_millis(30);
/// At most this many events count as one change.
const AT_ONCE: usize = 200;

#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: AgentFilter,
    /// Redraw on every change until Ctrl-C: in place on a terminal, otherwise appended
    #[arg(long, conflicts_with = "exit_code")]
    watch: bool,
    /// Exit 3 if no agent is listed, for scripts
    #[arg(long)]
    exit_code: bool,
    /// Print as JSON; with --watch, one line per change
    #[arg(long)]
    json: bool,
}

/// Which agents are listed: those that fit all of these.
#[derive(Args)]
pub struct AgentFilter {
    /// Include finished ones
    #[arg(long)]
    pub all: bool,
    /// Only agents in one of these states: working, idle, prompting, failed, exited, gone
    #[arg(long, value_name = "STATES", value_delimiter = ',', value_parser = STATES)]
    pub state: Vec<String>,
    /// Only agents in this project: its path or folder name; `*` matches anything
    #[arg(long, value_name = "PATTERN")]
    pub project: Option<Pattern>,
    /// Only agents of this host, such as claude-code
    #[arg(long, value_name = "PATTERN")]
    pub host: Option<Pattern>,
}

impl AgentFilter {
    fn is_narrow(&self) -> bool {
        !self.state.is_empty() || self.project.is_some() || self.host.is_some()
    }

    /// Returns the selected agents: those that wait for a person first, the longest waiting first.
    pub fn choose(&self, mut agents: Vec<AgentView>) -> Vec<AgentView> {
        let names_over = self.state.iter().any(|state| state == "exited" || state == "gone");
        agents.retain(|agent| {
            let project = agent.project.as_deref().or(agent.work_dir.as_deref());
            (self.all || names_over || !agent.full_state().is_over())
                && (self.state.is_empty() || self.state.contains(&agent.state))
                && self.project.as_ref().is_none_or(|wanted| {
                    project.is_some_and(|project| wanted.matches_path(project))
                })
                && self.host.as_ref().is_none_or(|wanted| {
                    agent.host.as_deref().is_some_and(|host| wanted.matches(host))
                })
        });
        agents.sort_by_key(|agent| (pages::agents::rank(agent), agent.since));
        agents
    }
}

pub fn run(arguments: &ListArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.watch {
        return watch(arguments, environment, out);
    }
    let agents = arguments.filter.choose(agents(environment)?);
    downtime::tell(environment);
    if arguments.json {
        out.json(&agents)?;
    } else {
        print(&agents, arguments.filter.is_narrow(), environment, out)?;
    }
    warn_of_unproven(&agents, environment)?;
    let is_nothing = arguments.exit_code && agents.is_empty();
    Ok(if is_nothing { exit_code::NOTHING } else { exit_code::OK })
}

fn print(
    agents: &[AgentView],
    is_narrow: bool,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    if agents.is_empty() {
        let text = if is_narrow { "no active agents match" } else { "no active agents" };
        out.line(&[(Tone::Plain, text), (Tone::Dim, " (use --all to include finished ones)")])?;
        return Ok(());
    }
    let now = anyhook_engine::now();
    out.lines("", &pages::agents::table(agents, now, &environment.places))?;
    Ok(())
}

/// Reports on standard error which of the agents are not proven to heed their hooks.
fn warn_of_unproven(agents: &[AgentView], environment: &Environment) -> Result<(), CommandError> {
    let hosts: Vec<&str> = agents.iter().filter_map(|agent| agent.host.as_deref()).collect();
    let warnings = standing::warnings(&hosts, environment);
    let mut stderr = Out::stderr();
    for warning in &warnings {
        stderr.line(&[(Tone::Bad, "warning: "), (Tone::Plain, warning)])?;
    }
    if !warnings.is_empty() {
        stderr.hint(PROVE)?;
    }
    Ok(())
}

/// Shows the agents, and again whenever something about them changes.
fn watch(arguments: &ListArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let is_terminal = io::stdout().is_terminal() && !arguments.json;
    // Before the first query, so that no change is missed.
    let mut source = EventSource::open(SubscriptionStart::Now, environment)?;
    let mut last: Option<Vec<AgentView>> = None;
    loop {
        // A stopped daemon is not started again by commands that only read.
        if let Some(agents) = look(environment)? {
            let agents = arguments.filter.choose(agents);
            let is_new = last.as_ref().is_none_or(|last| !pages::agents::is_same(last, &agents));
            if is_new || is_terminal {
                draw(&agents, is_terminal, last.is_none(), arguments, environment, out)?;
            }
            last = Some(agents);
        }
        let mut limit = is_terminal.then_some(TICK);
        for _ in 0..AT_ONCE {
            match source.next_within(limit)? {
                WatchUpdate::Told(_) => limit = Some(TOGETHER),
                WatchUpdate::Quiet => break,
                WatchUpdate::Closed => return Ok(exit_code::OK),
                WatchUpdate::Signal(signal) => return end_by(signal, out),
            }
        }
    }
}

fn look(environment: &Environment) -> Result<Option<Vec<AgentView>>, CommandError> {
    let Some(mut client) = connect_if_it_runs(environment)? else { return Ok(None) };
    match client.request(&Request::Agents) {
        Ok(Response::Agents(agents)) => Ok(Some(agents)),
        Err(error) if error.may_pass() => Ok(None),
        Err(error) => Err(error.into()),
        Ok(_) => Err(anyhook_socket::ClientError::NoAnswer.into()),
    }
}

fn draw(
    agents: &[AgentView],
    is_terminal: bool,
    is_first: bool,
    arguments: &ListArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    if arguments.json {
        out.text(&to_spaced(agents))?;
    } else {
        if is_terminal {
            // Moves the cursor to the top left corner and clears everything below it.
            io::stdout().write_all(b"\x1b[H\x1b[J")?;
        } else if !is_first {
            out.gap()?;
        }
        print(agents, arguments.filter.is_narrow(), environment, out)?;
    }
    Ok(out.flush()?)
}
