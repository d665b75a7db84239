//! `anyhook hook HOST`: the hook path. Short, synchronous, without clap.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhook_engine::{Engine, now};
use anyhook_model::{Caller, DecodeError, Host, OpenFormat, Reply};

use crate::daemon::ThroughDaemon;
use crate::environment::{Environment, folder};

/// Events larger than this are refused, not read to the end of memory.
const PAYLOAD_LIMIT: u64 = 64 * 1024 * 1024;

/// So much of a refused event goes into the journal.
const KEPT_OF_REFUSED: usize = 1024 * 1024;

/// A call by an agent.
pub struct Request {
    host: &'static dyn Host,
    deadline: Option<Duration>,
}

impl Request {
    /// Reads the arguments after `hook`; anything unusual is left to clap, which explains it.
    pub fn parse(arguments: &[OsString]) -> Option<Self> {
        let words: Vec<&str> = arguments.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
        let (host, deadline) = match words[..] {
            [host] => (host, None),
            [host, "--deadline-ms", number] | ["--deadline-ms", number, host] => {
                (host, Some(number))
            }
            [host, flag] => (host, Some(flag.strip_prefix("--deadline-ms=")?)),
            _ => return None,
        };
        let deadline = match deadline {
            None => None,
            Some(number) => Some(Duration::from_millis(number.parse().ok()?)),
        };
        Self::new(host, deadline)
    }

    /// Makes a request of a host we speak to.
    pub fn new(host: &str, deadline: Option<Duration>) -> Option<Self> {
        Some(Self { host: find_host(host)?, deadline })
    }
}

/// Returns the host of that name.
pub fn find_host(name: &str) -> Option<&'static dyn Host> {
    if name == OpenFormat.id() {
        return Some(&OpenFormat);
    }
    anyhook_hosts::find(name).map(|agent| agent as &dyn Host)
}

/// Answers the payload on standard input.
pub fn answer(request: &Request) -> ExitCode {
    let reply = reply(request);
    // A host that no longer listens has its answer: the exit code.
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    let _ = io::stdout().write_all(reply.stdout.as_bytes());
    ExitCode::from(reply.exit_code)
}

fn reply(request: &Request) -> Reply {
    let environment = Environment::read();
    let mut payload = Vec::new();
    let read = io::stdin().lock().take(PAYLOAD_LIMIT + 1).read_to_end(&mut payload);
    let trouble = match read {
        Err(error) => Some(format!("cannot be read: {error}")),
        Ok(_) if payload.len() as u64 > PAYLOAD_LIMIT => Some("is larger than 64 MiB".to_owned()),
        Ok(_) => None,
    };
    let project_dir = request.host.project_variables().iter().find_map(|name| folder(name));
    let caller = Caller {
        work_dir: environment.work_dir,
        project_dir,
        now: now(),
        agent_id: environment.agent_id,
    };
    let mut engine = Engine::new(environment.places).with_person(ThroughDaemon);
    if let Some(trouble) = trouble {
        return engine.refuse(
            request.host,
            &DecodeError::NotTaken(trouble),
            &payload[..payload.len().min(KEPT_OF_REFUSED)],
            &caller,
        );
    }
    engine.be_hook_process();
    engine.dispatch(request.host, &payload, &caller, request.deadline)
}
