//! What only a person may do: an agent would let itself through.
//!
//! A net for what happens by itself, not a wall: an agent with a shell of its own and the will to
//! hide can hide. What is decided is journaled with who did it.

use anyhook_engine::process_name;
use anyhook_model::daemon::{AgentView, Request, Response};

use crate::daemon::connect_if_it_runs;
use crate::environment::{Environment, agent_around};
use crate::error::Trouble;

/// Refuses to do something in an agent's session.
pub fn only_a_person(what: &str, environment: &Environment) -> Result<(), Trouble> {
    no_agent(what, agent_around().or_else(|| agent_above(environment)))
}

/// Refuses to do something if it is an agent that wants to.
pub fn no_agent(what: &str, agent: Option<String>) -> Result<(), Trouble> {
    let Some(agent) = agent else { return Ok(()) };
    let why = format!("an agent cannot {what} for a person, and this is {agent}'s session");
    Err(Trouble::problem(why).hint(format!("{what} from a terminal of your own")))
}

/// Returns the agent whose process we come from, as far as the daemon knows it, if it runs.
fn agent_above(environment: &Environment) -> Option<String> {
    let mut daemon = connect_if_it_runs(environment).ok()??;
    let Response::Agents(agents) = daemon.request(&Request::Agents).ok()? else { return None };
    let above = process_name::with_ancestors(std::process::id());
    let is_it = |agent: &&AgentView| {
        let (Some(host), Some(known)) = (&agent.host, &agent.process) else { return false };
        anyhook_hosts::is_among(known, host, &above)
    };
    agents.iter().find(is_it).map(|agent| agent.id.clone())
}
