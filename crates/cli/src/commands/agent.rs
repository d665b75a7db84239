//! `anyhook agent`: what every agent does, and the sessions of those that pipelines started.

pub mod list;
mod session;

use anyhook_flow::names::NamedItem;
use anyhook_model::daemon::{AgentView, Request, Response};
use anyhook_model::exit_code;
use clap::{Args, Subcommand};

use self::list::ListArgs;
use super::CommandResult;
use crate::daemon::{ask, connect};
use crate::downtime;
use crate::environment::{Environment, user_name};
use crate::error::CommandError;
use crate::id_prefix::named;
use crate::pages;
use crate::ui::{Out, Tone};

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
    /// Let an agent continue that an alarm stopped (`[alarms] freeze` in anyhook.toml)
    #[command(after_help = "Example: anyhook agent thaw claude-code-shop")]
    Thaw {
        /// Its id or name, or the start of either
        id: String,
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
        AgentCommand::Thaw { id } => session::thaw(&id, environment, out),
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
    let agent = find(agents, id, environment)?;
    if json {
        out.json(&agent)?;
        return Ok(exit_code::OK);
    }
    downtime::tell(environment);
    pages::agents::show(&agent, anyhook_engine::now(), &environment.places, out)?;
    Ok(exit_code::OK)
}

/// Finds an agent by its id, its name or its session, or by a prefix of any of them, with what is
/// known only of a single one.
pub fn find(
    agents: &[AgentView],
    id: &str,
    environment: &Environment,
) -> Result<AgentView, CommandError> {
    let found = named(agents, "agent", id, |agent| NamedItem {
        id: &agent.id,
        name: agent.name.clone(),
        also: agent.session.as_deref(),
        lives: !agent.full_state().is_over(),
    })?;
    Ok(AgentView {
        usage: anyhook_daemon::usage::of_agent(found),
        daemon_down: downtime::news(environment),
        ..found.clone()
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
