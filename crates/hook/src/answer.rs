//! One call from its payload to its reply.

use std::os::fd::AsFd;
use std::path::PathBuf;

use anyhook_engine::{Engine, now};
use anyhook_model::{Caller, DecodeError, Reply};

use rustix::io::{Errno, retry_on_intr, write};
use rustix::stdio::{stderr, stdout};

use crate::environment::{Environment, folder};
use crate::payload;
use crate::person::ThroughDaemon;
use crate::request::Request;

/// So much of a refused event goes into the journal.
const KEPT_OF_REFUSED: usize = 1024 * 1024;

/// Answers the payload on standard input. Most events need no `anyhook`: where it is, is found out
/// when one does.
pub fn answer(request: &Request, anyhook: fn() -> Option<PathBuf>) -> u8 {
    let reply = reply(request, anyhook);
    // A host that no longer listens has its answer: the exit code.
    let _ = write_all(stderr(), reply.stderr.as_bytes());
    let _ = write_all(stdout(), reply.stdout.as_bytes());
    reply.exit_code
}

/// Writes to a standard stream: not by the standard library's handle, which keeps back what has no
/// line break until the process ends by its ways.
fn write_all(stream: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = retry_on_intr(|| write(&stream, bytes))?;
        if written == 0 {
            return Err(Errno::IO);
        }
        bytes = &bytes[written..];
    }
    Ok(())
}

fn reply(request: &Request, anyhook: fn() -> Option<PathBuf>) -> Reply {
    let environment = Environment::of(None);
    let (payload, trouble) = payload::receive(rustix::stdio::stdin());
    let project_dir = request.host.project_variables().iter().find_map(|name| folder(name));
    let caller = Caller {
        work_dir: environment.work_dir,
        project_dir,
        now: now(),
        agent_id: environment.agent_id,
    };
    let mut engine = Engine::new(environment.places).with_person(ThroughDaemon { anyhook });
    engine.find_binary_by(anyhook);
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
