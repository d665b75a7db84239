//! Commands that only a person may run: an agent could weaken its own guards with them.
//!
//! An agent is recognised as far as the system allows ([`anyhook_daemon::caller`]); one that has a
//! shell and wants to hide can hide. So each such command is journaled, whether refused or run,
//! with its parent processes. The commands are listed in [`crate::commands::permissions`].
//!
//! The caller's environment does not affect this: whether a terminal is required and what is
//! journaled applies to all the places of this user ([`crate::known_places`]).

use std::fs::File;

use anyhook_daemon::caller::{self, CallingAgent, RecognitionMethod};
use anyhook_engine::settings::{PersonSettings, Settings, TerminalRule};
use anyhook_engine::{Engine, Places, process_name};
use anyhook_model::daemon::{AgentView, Request, Response};
use anyhook_model::{EventKind, Payload, Record, exit_code};
use anyhook_setup::doctor::COMMAND_EVENT;
use serde_json::json;

use crate::daemon::connect_if_it_runs;
use crate::environment::{Environment, agent_around, shown};
use crate::error::CommandError;
use crate::known_places::KnownPlaces;
use crate::ui::{Out, Tone};

/// Returns the message that what an agent added runs in shadow mode.
pub fn watched(agent: &CallingAgent) -> String {
    format!("`mode: shadow`, because this runs under {agent}")
}

/// Returns the agent in whose session we were started, as far as can be determined.
pub fn agent_above(environment: &Environment) -> Option<CallingAgent> {
    agent_around()
        .or_else(|| caller::agent_above(std::process::id()))
        .or_else(|| known_to_daemon(environment))
}

/// Refuses a command in an agent's session, and journals the refusal.
///
/// `command` is its name as it is typed after `anyhook`, such as `daemon stop`.
pub fn only_a_person(command: &str, environment: &Environment) -> Result<(), CommandError> {
    let why = if let Some(agent) = agent_above(environment) {
        format!("only a person may do this, and this runs under {agent}")
    } else if let Some(rule) = terminal_rule(environment)
        && File::open("/dev/tty").is_err()
    {
        format!("there is no terminal, and {rule}")
    } else {
        return Ok(());
    };
    journal(command, &CommandOutcome::Refused(&why), environment);
    Err(CommandError::problem(format!("`anyhook {command}` is refused: {why}"))
        .hint("run it in your own terminal"))
}

/// Runs what only a person may run, and journals it.
pub fn by_a_person(
    command: &str,
    environment: &Environment,
    deed: impl FnOnce() -> Result<u8, CommandError>,
) -> Result<u8, CommandError> {
    only_a_person(command, environment)?;
    let ended = deed();
    let outcome = match &ended {
        Ok(exit_code::OK) => CommandOutcome::Done,
        Ok(code) => CommandOutcome::Failed(format!("exit code {code}")),
        Err(trouble) if trouble.is_silent() => CommandOutcome::Done,
        // Nothing was done.
        Err(trouble) if trouble.is_about_input() => return ended,
        Err(trouble) => CommandOutcome::Failed(trouble.message().to_owned()),
    };
    journal(command, &outcome, environment);
    ended
}

/// How a command ended.
pub enum CommandOutcome<'why> {
    /// It was run.
    Done,
    /// It was run in an agent's session, so it is in shadow mode until a person agrees.
    InShadow(&'why CallingAgent),
    /// It was refused.
    Refused(&'why str),
    /// It was tried and failed.
    Failed(String),
}

/// Records in the journal that a command was run or refused, and its parent processes.
///
/// Where nothing can be journaled, as in an agent's sandbox, a warning is printed.
pub fn journal(command: &str, outcome: &CommandOutcome<'_>, environment: &Environment) {
    let (word, why) = match outcome {
        CommandOutcome::Done => ("done", None),
        CommandOutcome::InShadow(agent) => {
            ("done in shadow mode", Some(format!("runs under {agent}")))
        }
        CommandOutcome::Refused(why) => ("refused", Some((*why).to_owned())),
        CommandOutcome::Failed(why) => ("failed", Some(why.clone())),
    };
    let line: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let process = caller::caller(std::process::id());
    let kind = EventKind::Other(format!("{COMMAND_EVENT}{}", command.replace(' ', "_")));
    let mut record = Record::new(anyhook_engine::new_id(), anyhook_engine::now(), "anyhook", kind);
    record.work_dir = environment.work_dir.display().to_string();
    record.project_dir = Some(environment.project_root().display().to_string());
    let because = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    record.about = Some(format!("anyhook {}: {word}{because}", line.join(" ")));
    let mut told = json!({"arguments": line, "outcome": word, "process": process});
    if let Some(why) = why {
        told["why"] = why.into();
    }
    record.payload = Some(Payload::new(told.to_string().as_bytes()));
    let journaled = Engine::new(environment.places.clone()).journal(vec![record.clone()]);
    for state in KnownPlaces::find(environment).other_states(&environment.places) {
        let places = Places { state: Some(state.clone()), ..environment.places.clone() };
        // A failure there is not reported: the caller chose another place.
        let _ = Engine::new(places).journal(vec![record.clone()]);
    }
    // If the command failed, the person is told why, and the cause is most likely the same.
    if let Err(error) = journaled
        && !matches!(outcome, CommandOutcome::Failed(_))
    {
        let why = format!("this could not be journaled: {error}");
        let _ = Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &why)]);
    }
}

/// Returns which settings require a terminal, if any. One file is enough; a file that cannot be
/// read might have required one, so it counts.
fn terminal_rule(environment: &Environment) -> Option<String> {
    let places = &environment.places;
    let managed = Places { user: None, ..places.clone() };
    let by_machine = Settings::load(&managed, None).person.terminal == TerminalRule::Required;
    let users = KnownPlaces::find(environment).users;
    let levels = by_machine.then(|| places.managed.clone()).into_iter().chain(users);
    levels.into_iter().find_map(|level| match PersonSettings::of_level(&level) {
        Ok(person) => {
            person.filter(|person| person.terminal == TerminalRule::Required)?;
            let file = shown(&level.join("anyhook.toml"), places);
            Some(format!("[person] in `{file}` requires one"))
        }
        Err(why) => Some(format!("one is required until this is fixed: {why}")),
    })
}

/// Returns the agent whose process started us, as far as a daemon of this user knows it.
fn known_to_daemon(environment: &Environment) -> Option<CallingAgent> {
    KnownPlaces::find(environment).states.into_iter().find_map(|state| {
        let places = Places { state: Some(state), ..environment.places.clone() };
        known_to_daemon_of(&Environment { places, ..environment.clone() })
    })
}

fn known_to_daemon_of(environment: &Environment) -> Option<CallingAgent> {
    let mut daemon = connect_if_it_runs(environment).ok()??;
    let Response::Agents(agents) = daemon.request(&Request::Agents).ok()? else { return None };
    let above = process_name::with_ancestors(std::process::id());
    let is_it = |agent: &&AgentView| {
        let (Some(host), Some(known)) = (&agent.host, &agent.process) else { return false };
        anyhook_hosts::is_among(known, host, &above)
    };
    let found = agents.iter().find(is_it)?;
    Some(CallingAgent { title: found.id.clone(), how: RecognitionMethod::Daemon })
}
