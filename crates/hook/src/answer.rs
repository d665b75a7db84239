//! One call from its payload to its reply.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhook_engine::{Engine, now};
use anyhook_model::{Caller, DecodeError, Reply};

use crate::environment::{Environment, folder};
use crate::payload;
use crate::person::ThroughDaemon;
use crate::request::Request;

/// So much of a refused event goes into the journal.
const KEPT_OF_REFUSED: usize = 1024 * 1024;

/// Answers the payload on standard input.
pub fn answer(request: &Request, environment: Environment) -> ExitCode {
    let reply = reply(request, environment);
    // A host that no longer listens has its answer: the exit code.
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    let _ = io::stdout().write_all(reply.stdout.as_bytes());
    ExitCode::from(reply.exit_code)
}

fn reply(request: &Request, environment: Environment) -> Reply {
    let (payload, trouble) = payload::receive(rustix::stdio::stdin());
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
    engine.dispatch(request.host, payload, &caller, request.deadline)
}
