//! `anyhook decision list` and `show`.

use anyhook_model::daemon::{DecisionView, Request, Response};
use anyhook_model::exit_code;
use anyhook_socket::ClientError;

use super::filter::DecisionFilter;
use super::{decisions, known};
use crate::commands::CommandResult;
use crate::daemon::ask;
use crate::downtime;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::id_prefix::named;
use crate::pages;
use crate::ui::{Out, Tone};

pub fn list(
    all: bool,
    filter: &DecisionFilter,
    exit_code: bool,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let decisions = filter.choose(decisions(environment)?, all);
    downtime::tell(environment);
    let ended = if exit_code && decisions.is_empty() { exit_code::NOTHING } else { exit_code::OK };
    if json {
        out.json(&decisions)?;
    } else if decisions.is_empty() {
        out.line(&[(Tone::Plain, "no decisions waiting")])?;
    } else {
        pages::decisions::table(&decisions, out)?;
    }
    Ok(ended)
}

pub fn standing(
    exit_code: bool,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let Response::Standing(standing) = ask(environment, &Request::Standing)? else {
        return Err(ClientError::NoAnswer.into());
    };
    let ended = if exit_code && standing.is_empty() { exit_code::NOTHING } else { exit_code::OK };
    if json {
        out.json(&standing)?;
        return Ok(ended);
    }
    if standing.is_empty() {
        out.line(&[(Tone::Plain, "no standing answers")])?;
        return Ok(ended);
    }
    let Response::Agents(agents) = ask(environment, &Request::Agents)? else {
        return Err(ClientError::NoAnswer.into());
    };
    let now = anyhook_engine::now();
    out.lines("", &pages::decisions::standing(&standing, &agents, now))?;
    Ok(ended)
}

pub fn show(id: &str, json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let decisions = decisions(environment)?;
    let decision = find(&decisions, id)?;
    if json {
        out.json(decision)?;
        return Ok(exit_code::OK);
    }
    pages::decisions::show(decision, anyhook_engine::now(), out)?;
    Ok(exit_code::OK)
}

/// Finds a decision by its id, by the name of the agent while it is open, or by a prefix of either.
pub fn find<'all>(
    decisions: &'all [DecisionView],
    id: &str,
) -> Result<&'all DecisionView, CommandError> {
    named(decisions, "decision", id, known)
}
