//! Answers one hook call: from its payload to its reply.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhook_engine::{Engine, Places, now};
use anyhook_model::daemon::StartedBy;
use anyhook_model::{Caller, DecodeError, EventKind, ForeignEntry, Reply, exit_code};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat, stat};
use rustix::io::{Errno, write};
use rustix::stdio::{stderr, stdout};

use crate::daemon_approver::DaemonApprover;
use crate::environment::{Environment, folder};
use crate::foreign_entry;
use crate::payload;
use crate::presence;
use crate::request::HookCall;
use crate::watchdog;

/// How much of a refused event is journaled, in bytes.
const KEPT_OF_REFUSED: usize = 1024 * 1024;

/// Answers the payload on standard input. Most events do not need `anyhook`, so it is only located
/// when one does.
pub fn answer(request: &HookCall, anyhook: fn() -> Option<PathBuf>) -> u8 {
    let Answered { reply, daemon_needed } = reply(request, anyhook);
    watchdog::answering(if reply.blocks { exit_code::BLOCKED } else { reply.exit_code });
    // If the host no longer reads, the exit code is its answer.
    let _ = write_all(stderr(), reply.stderr.as_bytes());
    let written = write_all(stdout(), reply.stdout.as_bytes())
        .and_then(|()| if reply.blocks { is_read(stdout()) } else { Ok(()) });
    let code = match written {
        // Many hosts treat missing output as approval, but none treats exit code 2 as approval.
        Err(error) if reply.blocks && reply.exit_code != exit_code::BLOCKED => {
            let text = format!(
                "anyhook: denied, but the denial could not be written to stdout: {}\n{}",
                io::Error::from(error),
                reply.stdout
            );
            let _ = write_all(stderr(), text.as_bytes());
            exit_code::BLOCKED
        }
        _ => reply.exit_code,
    };
    // The agent has its answer: nothing after this can change or delay it.
    if let Some(places) = daemon_needed {
        presence::revive(&places, anyhook, StartedBy::Hook);
    }
    code
}

/// The reply to a call, and what remains to be done after it is written.
struct Answered {
    reply: Reply,
    /// Set if the daemon should be running when it has work: the places where it is found.
    daemon_needed: Option<Places>,
}

impl From<Reply> for Answered {
    fn from(reply: Reply) -> Self {
        Self { reply, daemon_needed: None }
    }
}

/// Writes to a standard stream. Does not use the standard library's handle, which buffers an
/// incomplete line until the process exits normally. Waits for a full pipe until the deadline.
fn write_all(stream: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(stream, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR | Errno::AGAIN) if watchdog::has_expired() => {
                return Err(Errno::TIMEDOUT);
            }
            Err(Errno::INTR) => {}
            // The stream is non-blocking. The alarm at the deadline interrupts this.
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(&stream, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns an error if nobody can read what is written to a stream: if it is `/dev/null`, which
/// also stands in for a stream that we were not given.
fn is_read(stream: impl AsFd) -> Result<(), Errno> {
    let (found, null) = (fstat(stream)?, stat("/dev/null")?);
    let is_device = FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice;
    if is_device && found.st_rdev == null.st_rdev { Err(Errno::BADF) } else { Ok(()) }
}

fn reply(request: &HookCall, anyhook: fn() -> Option<PathBuf>) -> Answered {
    let environment = Environment::of(None, &request.folders);
    let state = environment.places.state.as_deref();
    watchdog::may_block(request.may_be_tool_call());
    watchdog::arm(request.left(), state, request.host.late_refusal());
    let (payload, trouble) = payload::receive(rustix::stdio::stdin(), watchdog::has_expired);
    watchdog::deciding();
    let (host, mut foreign_entry) =
        foreign_entry::find(request.host, &payload, foreign_entry::is_set);
    if request.is_from_plugin && foreign_entry.is_none() {
        foreign_entry = Some(Box::new(ForeignEntry::of_plugin(host.id())));
    }
    let project_dir = host.project_variables().iter().find_map(|name| folder(name));
    let caller = Caller {
        work_dir: environment.work_dir,
        project_dir,
        now: now(),
        agent_id: environment.agent_id,
        foreign_entry,
    };
    let mut engine = Engine::new(environment.places).with_person(DaemonApprover { anyhook });
    engine.find_binary_by(anyhook);
    if let Some(trouble) = trouble {
        let kept = &payload[..payload.len().min(KEPT_OF_REFUSED)];
        return engine.refuse(host, &DecodeError::NotTaken(trouble), kept, &caller).into();
    }
    engine.configure_for_hook_process(watchdog::is_ignored);
    engine.tell_kind_to(note_kind);
    let reply = engine.dispatch(host, payload, &caller, request.left());
    // Tool calls are frequent, and the agent waits for them: only those of an agent that the daemon
    // itself started check whether it is running.
    let looks = caller.agent_id.is_some() || !IS_TOOL_CALL.load(Ordering::Relaxed);
    let daemon_needed = looks.then(|| engine.places().clone());
    Answered { reply, daemon_needed }
}

/// Whether the event is one of a tool call.
static IS_TOOL_CALL: AtomicBool = AtomicBool::new(false);

/// Tells the watchdog what it would have to refuse, and remembers whether the event is a tool call.
fn note_kind(kind: &EventKind) {
    watchdog::decided_about(kind);
    let is_tool_call =
        matches!(kind, EventKind::BeforeTool | EventKind::AfterTool | EventKind::AfterToolFailure);
    IS_TOOL_CALL.store(is_tool_call, Ordering::Relaxed);
    #[cfg(debug_assertions)]
    if std::env::var_os("ANYHOOK_FAULT").is_some_and(|fault| fault == "hook.hangs") {
        // Tests of the watchdog need something that hangs without being a bug.
        loop {
            std::hint::spin_loop();
        }
    }
}
