//! The sessions of agents that pipelines started: peek, attach, send, kill.

use std::io::Read;

use anyhook_daemon::session::{Session, SessionError};
use anyhook_model::daemon::{Request, Response, SendKeys};
use anyhook_model::exit_code;
use anyhook_socket::ClientError;

use crate::commands::CommandResult;
use crate::daemon::{ask, connect};
use crate::environment::{Environment, user_name};
use crate::error::CommandError;
use crate::ui::{Out, Tone, printable};

/// At most this much is read from standard input to be typed.
const TYPED_LIMIT: u64 = 256 * 1024;

pub fn peek(id: &str, history: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let session = find(id, environment)?;
    let seen = if history { session.history() } else { session.screen() };
    let seen = match seen {
        // The last screen is kept.
        Err(SessionError::NotThere(_)) => session.history()?,
        seen => seen?,
    };
    out.text(printable(&seen).trim_end())?;
    Ok(exit_code::OK)
}

pub fn attach(id: &str, environment: &Environment, out: &mut Out) -> CommandResult {
    let session = find(id, environment)?;
    out.flush()?;
    session.attach()?;
    Ok(exit_code::OK)
}

pub fn send(
    agent: &str,
    text: String,
    force: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let text = if text == "-" { from_input()? } else { text };
    let request =
        Request::Send(Box::new(SendKeys { agent: agent.to_owned(), text, force, by: user_name() }));
    connect(environment)?.request(&request)?;
    out.line(&[(Tone::Strong, agent), (Tone::Plain, ": sent")])?;
    Ok(exit_code::OK)
}

pub fn thaw(agent: &str, environment: &Environment, out: &mut Out) -> CommandResult {
    let request = Request::Thaw { agent: agent.to_owned(), by: user_name() };
    connect(environment)?.request(&request)?;
    out.line(&[(Tone::Strong, agent), (Tone::Plain, ": continues")])?;
    Ok(exit_code::OK)
}

pub fn kill(agent: &str, environment: &Environment, out: &mut Out) -> CommandResult {
    let request = Request::Kill { agent: agent.to_owned(), by: user_name() };
    connect(environment)?.request(&request)?;
    out.line(&[(Tone::Strong, agent), (Tone::Plain, ": ended")])?;
    Ok(exit_code::OK)
}

fn find(agent: &str, environment: &Environment) -> Result<Session, CommandError> {
    let asked = Request::Session { agent: agent.to_owned() };
    let Response::Session(found) = ask(environment, &asked)? else {
        return Err(ClientError::NoAnswer.into());
    };
    let places = &environment.places;
    let (Some(state), Some(binary)) = (&places.state, &places.binary) else {
        return Err(
            CommandError::problem("no state folder, so there are no sessions").hint("set HOME")
        );
    };
    Ok(Session {
        folder: found.folder.into(),
        name: found.name,
        binary: binary.clone(),
        runtime: Session::runtime_folder(state),
    })
}

fn from_input() -> Result<String, CommandError> {
    let mut text = String::new();
    std::io::stdin().take(TYPED_LIMIT).read_to_string(&mut text).map_err(|error| {
        CommandError::input(format!("cannot send standard input: {error}"))
            .hint("it must be UTF-8 text")
    })?;
    Ok(text.trim_end_matches('\n').to_owned())
}

impl From<SessionError> for CommandError {
    fn from(error: SessionError) -> Self {
        Self::problem(error.to_string()).hint(error.hint())
    }
}
