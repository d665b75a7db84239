//! `anyhook agent`: what every agent does, and the sessions of those that pipelines started.

mod list;
mod session;

use anyhook_flow::names::NamedItem;
use anyhook_model::daemon::{AgentView, Request, Response};
use anyhook_model::{AgentState, exit_code};
use anyhook_terminal::states::agent_tone;
use clap::{Args, Subcommand};
use jiff::Timestamp;

use self::list::ListArgs;
use super::CommandResult;
use crate::daemon::{ask, connect};
use crate::downtime;
use crate::environment::{Environment, shown, user_name};
use crate::error::CommandError;
use crate::format::{brief, thousands};
use crate::id_prefix::named;
use crate::ui::{Out, Tone};
use crate::usage;

/// Show what every agent is doing: working, idle, waiting at a prompt, failed, finished
///
/// Agents started by a pipeline can also be viewed, typed to and killed.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook agent list\n         anyhook agent show claude-code:5f3c\n         anyhook agent attach 7k2m9x4q.review.2"
)]
pub struct AgentArgs {
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Subcommand)]
enum AgentCommand {
    /// List agents: state, how it is known, and since when
    #[command(
        after_help = "Example: anyhook agent list --all\n         anyhook agent list --state prompting --exit-code && echo an agent is waiting"
    )]
    List(ListArgs),
    /// Show everything known about an agent
    #[command(after_help = "Example: anyhook agent show claude-code:5f3c")]
    Show {
        /// Its id or name, or the start of either
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Rename an agent
    #[command(after_help = "Example: anyhook agent rename claude-code-shop parser-work")]
    Rename {
        /// Its id or name, or the start of either
        id: String,
        /// The name: letters, digits, `-`, `_` and `.`
        name: String,
        /// Print the agent as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the screen of an agent started by a pipeline
    #[command(after_help = "Example: anyhook agent peek 7k2m --history")]
    Peek {
        /// Its id or name, or the start of either
        id: String,
        /// Include scrollback
        #[arg(long)]
        history: bool,
    },
    /// Attach to the terminal of an agent started by a pipeline; Ctrl-b d detaches
    #[command(after_help = "Example: anyhook agent attach 7k2m")]
    Attach {
        /// Its id or name, or the start of either
        id: String,
    },
    /// Type a line into the terminal of an agent started by a pipeline
    #[command(after_help = "Example: anyhook agent send 7k2m 'use the new parser'")]
    Send {
        /// Its id or name, or the start of either
        id: String,
        /// The text to type; `-` reads it from standard input
        text: String,
        /// Type even at a prompt, where the text would count as the answer
        #[arg(long)]
        force: bool,
    },
    /// Kill an agent started by a pipeline; its `on_dead` action follows
    #[command(after_help = "Example: anyhook agent kill 7k2m")]
    Kill {
        /// Its id or name, or the start of either
        id: String,
    },
}

pub fn run(arguments: AgentArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    match arguments.command {
        AgentCommand::List(arguments) => list::run(&arguments, environment, out),
        AgentCommand::Rename { id, name, json } => rename(id, name, json, environment, out),
        AgentCommand::Show { id, json } => show(&agents(environment)?, &id, json, environment, out),
        AgentCommand::Peek { id, history } => session::peek(&id, history, environment, out),
        AgentCommand::Attach { id } => session::attach(&id, environment, out),
        AgentCommand::Send { id, text, force } => session::send(&id, text, force, environment, out),
        AgentCommand::Kill { id } => session::kill(&id, environment, out),
    }
}

fn agents(environment: &Environment) -> Result<Vec<AgentView>, CommandError> {
    match ask(environment, &Request::Agents)? {
        Response::Agents(agents) => Ok(agents),
        _ => Err(anyhook_socket::ClientError::NoAnswer.into()),
    }
}

fn show(
    agents: &[AgentView],
    id: &str,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let mut agent = find(agents, id)?.clone();
    agent.usage = usage::of_agent(&agent);
    if json {
        out.json(&AgentView { daemon_down: downtime::news(environment), ..agent.clone() })?;
        return Ok(exit_code::OK);
    }
    downtime::tell(environment);
    let now = anyhook_engine::now();
    let state = agent.full_state();
    let process = agent.process.as_ref().map(|process| process.pid.to_string());
    let path =
        |path: &Option<String>| path.as_ref().map(|path| shown(path.as_ref(), &environment.places));
    let since = format!("{} ({} ago)", agent.since, age(agent.since, now));
    let rows = [
        ("id", agent.name.is_some().then(|| agent.id.clone())),
        ("state", Some(state.to_string())),
        ("source", Some(agent.source.name().to_owned())),
        ("since", Some(since)),
        ("last seen", Some(format!("{} ago", age(agent.seen, now)))),
        ("decision", agent.decision.as_ref().map(ToString::to_string)),
        ("pipeline", agent.pipeline.as_ref().map(ToString::to_string)),
        ("host", agent.host.clone()),
        ("session", agent.session.clone()),
        ("process", process),
        ("project", path(&agent.project)),
        ("folder", path(&agent.work_dir)),
        ("log", path(&agent.log)),
        ("tool", agent.tool.clone()),
        ("about", agent.about.clone()),
        ("turns", agent.usage.and_then(|usage| usage.turns).map(thousands)),
        ("tokens", agent.usage.and_then(usage::tokens)),
    ];
    out.line(&[(Tone::Strong, agent.shown_name())])?;
    for (name, value) in rows {
        if let Some(value) = value {
            let tone = if name == "state" { agent_tone(state) } else { Tone::Plain };
            out.field(name, tone, &value)?;
        }
    }
    Ok(exit_code::OK)
}

/// Finds an agent by its id, its name or its session, or by a prefix of any of them.
fn find<'all>(agents: &'all [AgentView], id: &str) -> Result<&'all AgentView, CommandError> {
    named(agents, "agent", id, |agent| NamedItem {
        id: &agent.id,
        name: agent.name.clone(),
        also: agent.session.as_deref(),
        lives: !agent.full_state().is_over(),
    })
}

fn rename(
    id: String,
    name: String,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let request = Request::Rename { agent: id, name, by: user_name() };
    let Response::Agents(agents) = connect(environment)?.request(&request)? else {
        return Err(anyhook_socket::ClientError::NoAnswer.into());
    };
    for agent in &agents {
        if json {
            out.json(agent)?;
        } else {
            let text = format!(" is now called {}", agent.shown_name());
            out.line(&[(Tone::Strong, &agent.id), (Tone::Plain, &text)])?;
        }
    }
    Ok(exit_code::OK)
}

fn rank(state: AgentState) -> u8 {
    match state {
        AgentState::Prompting(_) => 0,
        AgentState::Failed(_) => 1,
        AgentState::Idle => 2,
        AgentState::Working => 3,
        AgentState::Exited | AgentState::Gone => 4,
    }
}

fn about(agent: &AgentView) -> String {
    let decision = agent.decision.as_ref().map(|id| format!("decision {id}"));
    let call = match (&agent.tool, &agent.about) {
        (Some(tool), Some(about)) => format!("{tool}: {about}"),
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => String::new(),
    };
    let text = match decision {
        Some(decision) if call.is_empty() => decision,
        Some(decision) => format!("{decision}: {call}"),
        None => call,
    };
    anyhook_model::json::shorten(text.lines().next().unwrap_or(""), 60)
}

/// Returns how long ago something was: `5s`, `3m`, `2h`, `4d`.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    brief(now.duration_since(since))
}
