//! `anyhook emit`: reports something about an agent to the daemon, through the journal.

use anyhook_engine::{Engine, new_id, now};
use anyhook_hosts::bus_event::{self, AGENT_LIMIT, MESSAGE_LIMIT};
use anyhook_model::bus::{AgentPrompt, AgentReport, AgentSignal, SignalKind};
use anyhook_model::daemon::StartedBy;
use anyhook_model::report::changes::EmitReport;
use anyhook_model::{BusEvent, PromptType, exit_code};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};

use super::CommandResult;
use crate::daemon;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::Out;

/// Report an agent's state to the daemon, from a hook or from the agent itself
///
/// Writes to the journal and returns: a running daemon reads it at once, otherwise the next one
/// does. Nothing is lost, and the caller never waits.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook emit agent:idle --agent ID\n         anyhook emit agent:prompt --agent ID --type permission\n         anyhook emit agent:signal --agent ID escalate --message \"the tests need a password\""
)]
pub struct EmitArgs {
    #[command(subcommand)]
    command: EmitCommand,
    /// Print what was written as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum EmitCommand {
    /// The agent is done and waits for its next prompt
    #[command(name = "agent:idle", after_help = "Example: anyhook emit agent:idle --agent ID")]
    Idle(AgentArgs),
    /// The agent shows a prompt and waits for an answer
    #[command(
        name = "agent:prompt",
        after_help = "Example: anyhook emit agent:prompt --agent ID --type question"
    )]
    Prompt {
        #[command(flatten)]
        agent: AgentArgs,
        /// What it asks for
        #[arg(long = "type", value_name = "TYPE", default_value = "other", value_parser = PossibleValuesParser::new(PromptType::ALL.map(|(_, name)| name)))]
        prompt_type: String,
    },
    /// The agent reports on its work
    #[command(
        name = "agent:signal",
        after_help = "Example: anyhook emit agent:signal --agent ID complete"
    )]
    Signal {
        #[command(flatten)]
        agent: AgentArgs,
        /// What it reports
        #[arg(value_enum, default_value_t = Signal::Complete)]
        kind: Signal,
        /// Details, as free text
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
    },
}

#[derive(Args)]
struct AgentArgs {
    /// The agent's id or name, as `anyhook agent list` shows it; default: `ANYHOOK_AGENT_ID`
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The session it is about, if the agent has more than one
    #[arg(long, value_name = "ID", requires = "host")]
    session: Option<String>,
    /// The host of that session, such as codex
    #[arg(long, value_name = "HOST", requires = "session")]
    host: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Signal {
    /// It is done
    Complete,
    /// A person has to look at it
    Escalate,
    /// It is not done yet
    Continue,
}

pub fn run(arguments: EmitArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let json = arguments.json;
    let event = match arguments.command {
        EmitCommand::Idle(agent) => BusEvent::AgentIdle(agent.report(environment)?),
        EmitCommand::Prompt { agent, prompt_type } => BusEvent::AgentPrompt(AgentPrompt {
            report: agent.report(environment)?,
            prompt_type: PromptType::from_name(&prompt_type),
        }),
        EmitCommand::Signal { agent, kind, message } => BusEvent::AgentSignal(AgentSignal {
            report: agent.report(environment)?,
            kind: match kind {
                Signal::Complete => SignalKind::Complete,
                Signal::Escalate => SignalKind::Escalate,
                Signal::Continue => SignalKind::Continue,
            },
            message,
        }),
    };
    if let BusEvent::AgentSignal(AgentSignal { message: Some(message), .. }) = &event
        && message.len() > MESSAGE_LIMIT
    {
        return Err(CommandError::input(format!(
            "a message can have at most {MESSAGE_LIMIT} bytes"
        ))
        .hint("write the rest to a file and mention it"));
    }
    let journal = environment.journal().ok_or_else(CommandError::no_journal)?;
    let id = new_id();
    let mut record = bus_event::record(id.clone(), now(), &event);
    record.work_dir = environment.work_dir.to_string_lossy().into_owned();
    Engine::new(environment.places.clone())
        .journal(vec![record])
        .map_err(|error| CommandError::at(journal.folder(), error))?;
    // The daemon learns of journaled events by reading the journal, so it has to run.
    daemon::revive(&environment.places, StartedBy::Hook);
    if json {
        let agent = event.report().map(|report| report.agent.clone()).unwrap_or_default();
        let kind = event.type_name().to_owned();
        out.json(&EmitReport { record: id.to_string(), kind, agent })?;
    }
    Ok(exit_code::OK)
}

impl AgentArgs {
    fn report(self, environment: &Environment) -> Result<AgentReport, CommandError> {
        let agent = self.agent.or_else(|| environment.agent_id.clone());
        let agent = agent.filter(|id| !id.trim().is_empty()).ok_or_else(|| {
            CommandError::usage("no agent given")
                .hint("pass --agent NAME; `anyhook agent list` shows the names")
        })?;
        let lengths = [Some(&agent), self.session.as_ref(), self.host.as_ref()];
        if lengths.into_iter().flatten().any(|text| text.len() > AGENT_LIMIT) {
            let message = format!("an agent's id can have at most {AGENT_LIMIT} bytes");
            return Err(CommandError::input(message).hint("`anyhook agent list` shows the ids"));
        }
        Ok(AgentReport { agent, host: self.host, session: self.session, ..AgentReport::default() })
    }
}
