//! `anyhook decision`: what waits for a person, and the person's answer.

pub mod filter;
pub mod list;
mod resolve;

use anyhook_flow::names::NamedItem;
use anyhook_model::daemon::{ClaimRequest, DecisionView, Request, Response};
use anyhook_model::exit_code;
use anyhook_socket::ClientError;
use clap::{Args, Subcommand};

use self::filter::DecisionFilter;
use self::resolve::ResolveArgs;
use super::CommandResult;
use crate::daemon::{ask, connect};
use crate::environment::{Environment, user_name};
use crate::error::CommandError;
use crate::ui::{Out, Tone};

/// Answer agents from any terminal: see what is waiting for you, and choose
///
/// Permission requests and `ask` verdicts wait here if `[decisions]` in anyhook.toml enables it.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook decision list\n         anyhook decision resolve 7k2m9x4q allow\n         anyhook decision resolve 7k2m deny --message \"not on this branch\""
)]
pub struct DecisionArgs {
    #[command(subcommand)]
    command: DecisionCommand,
}

#[derive(Subcommand)]
enum DecisionCommand {
    /// List what is waiting for you
    #[command(
        after_help = "Example: anyhook decision list --all\n         anyhook decision list --exit-code > /dev/null && echo a decision is waiting"
    )]
    List {
        /// Include decisions already made, as far as they are remembered
        #[arg(long)]
        all: bool,
        /// List standing answers, which apply for the rest of a session (`resolve --again`)
        #[arg(long, conflicts_with_all = ["all", "agent", "project", "tool", "about"])]
        standing: bool,
        #[command(flatten)]
        filter: DecisionFilter,
        /// Exit 3 if nothing is listed, for scripts
        #[arg(long)]
        exit_code: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a decision: the question and its options
    #[command(after_help = "Example: anyhook decision show 7k2m9x4q")]
    Show {
        /// Its id or the start of it, or the agent's name
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer a decision, or several at once; the first answer counts
    ///
    /// Answer an agent's question with the number or text of an option, several options separated
    /// by commas where allowed, or your own words; a decision with several questions takes one
    /// answer for each, in order.
    #[command(
        after_help = "Example: anyhook decision resolve 7k2m9x4q allow\n         anyhook decision resolve 7k2m9x4q 2 1,3 \"as large as it gets\"\n         anyhook decision resolve 7k2m allow --again\n         anyhook decision resolve --all --tool Shell --about 'git status*' allow"
    )]
    Resolve(ResolveArgs),
    /// Claim a decision: others see that you have it, and reminders stop
    #[command(after_help = "Example: anyhook decision claim 7k2m9x4q")]
    Claim {
        #[command(flatten)]
        claim: ClaimArgs,
    },
    /// Release a decision you claimed
    #[command(after_help = "Example: anyhook decision release 7k2m9x4q")]
    Release {
        #[command(flatten)]
        claim: ClaimArgs,
    },
    /// Revoke a standing answer (`resolve --again`)
    #[command(after_help = "Example: anyhook decision revoke 7k2m9x4q")]
    Revoke {
        #[command(flatten)]
        claim: ClaimArgs,
    },
}

#[derive(Args)]
struct ClaimArgs {
    /// The decision's id, or the start of it
    id: String,
    /// Your name; default: your login name
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: DecisionArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    match arguments.command {
        DecisionCommand::List { standing: true, exit_code, json, .. } => {
            list::standing(exit_code, json, environment, out)
        }
        DecisionCommand::List { all, filter, exit_code, json, standing: false } => {
            list::list(all, &filter, exit_code, json, environment, out)
        }
        DecisionCommand::Show { id, json } => list::show(&id, json, environment, out),
        DecisionCommand::Resolve(arguments) => resolve::run(arguments, environment, out),
        DecisionCommand::Claim { claim } => {
            change(claim, Request::Claim, "claimed", environment, out)
        }
        DecisionCommand::Release { claim } => {
            change(claim, Request::Release, "released", environment, out)
        }
        DecisionCommand::Revoke { claim } => revoke(claim, environment, out),
    }
}

/// Returns who decides: the given name, or the login name.
fn who(by: Option<String>) -> Result<String, CommandError> {
    match by {
        Some(by) if by.trim().is_empty() || by.chars().any(char::is_control) => {
            Err(CommandError::usage("--by needs a name").hint("omit it to use your login name"))
        }
        Some(by) => Ok(by),
        None => Ok(user_name()),
    }
}

fn change(
    claim: ClaimArgs,
    request: fn(ClaimRequest) -> Request,
    word: &str,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let ClaimArgs { id, by, json } = claim;
    let by = who(by)?;
    let request = request(ClaimRequest { id, by: by.clone() });
    let Response::Decision(decision) = connect(environment)?.request(&request)? else {
        return Err(ClientError::NoAnswer.into());
    };
    if json {
        out.json(&decision)?;
        return Ok(exit_code::OK);
    }
    let id = decision.inquiry.id.to_string();
    out.line(&[(Tone::Strong, &id), (Tone::Plain, &format!(" {word} by {by}"))])?;
    Ok(exit_code::OK)
}

fn revoke(claim: ClaimArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let ClaimArgs { id, by, json } = claim;
    let request = Request::Revoke(ClaimRequest { id, by: who(by)? });
    let Response::Standing(ended) = connect(environment)?.request(&request)? else {
        return Err(ClientError::NoAnswer.into());
    };
    if json {
        out.json(&ended)?;
        return Ok(exit_code::OK);
    }
    for standing in &ended {
        let about = standing.about.as_deref().unwrap_or(&standing.question);
        let text = format!(": revoked, will ask again: {}", crate::ui::first_line(about, 60));
        out.line(&[(Tone::Strong, standing.id.as_str()), (Tone::Plain, &text)])?;
    }
    Ok(exit_code::OK)
}

fn decisions(environment: &Environment) -> Result<Vec<DecisionView>, CommandError> {
    match ask(environment, &Request::Decisions)? {
        Response::Decisions(decisions) => Ok(decisions),
        _ => Err(ClientError::NoAnswer.into()),
    }
}

/// Returns the names by which a decision is found: its id, or the name of the agent while it is
/// open.
fn known(decision: &DecisionView) -> NamedItem<'_> {
    let is_open = decision.resolution.is_none();
    NamedItem {
        id: decision.inquiry.id.as_str(),
        name: decision.agent_name.clone().filter(|_| is_open),
        also: Some(decision.inquiry.agent.as_str()).filter(|_| is_open),
        lives: is_open,
    }
}
