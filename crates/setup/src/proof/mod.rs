//! Proves that agents on this machine heed anyhook, and tells later whether that still holds: what
//! `anyhook doctor --prove` does.
//!
//! ```text
//!  entries in the settings ──▶ as install writes them? ──▶ a canary per event ──▶ the real agent
//!            │                                                                        │
//!            └─────────────── standing: did anything change since? ◀── proofs/ ◀──────┘
//! ```
//!
//! - [`entry`]: the entries, compared with what would be written now;
//! - [`canary`]: an event through an entry's own line, and the agent's form of a denial;
//! - [`scratch`]: the folders of a proof, and the hook that denies in them;
//! - `agent_run`: the real agent with a model in this process;
//! - [`store`]: what was proven, in the state folder;
//! - [`standing`]: whether it still holds; [`status_line`]: the same in one line.

mod agent_run;
pub mod canary;
pub mod entry;
pub mod page;
pub mod scratch;
pub mod standing;
pub mod status_line;
pub mod store;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhook_engine::now;
use anyhook_hook::environment::Environment;
use anyhook_hosts::wiring::{SettingsScope, WiringStatus};
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::EventKind;
use anyhook_model::proof::{AgentProof, EventProof, PROOF_VERSION, Proof};

use crate::error::SetupError;
use crate::install::InstallPlan;
use crate::settings::{self, RecordedInstallation};
use canary::Canary;
use entry::Entries;
use scratch::Scratch;

/// The command of a canary: harmless, also for whoever runs it.
const COMMAND: &str = "true anyhook-canary";

/// What is to be proven: an agent's entries in one place of its settings.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The agent.
    pub agent: &'static HostSpec,
    /// The place.
    pub scope: SettingsScope,
}

impl Subject {
    /// Returns the project whose settings they are; `None` for the user's.
    pub fn project(&self) -> Option<String> {
        self.scope.project.as_ref().map(|project| project.to_string_lossy().into_owned())
    }
}

/// Returns what can be proven of the named agents, or of all: each place in which they call us, or
/// once did. An agent that was named and calls us nowhere is proven not to.
pub fn subjects(names: &[String], environment: &Environment) -> Result<Vec<Subject>, SetupError> {
    let agents = match names {
        [] => AGENTS.to_vec(),
        names => names.iter().map(|name| settings::find(name)).collect::<Result<_, _>>()?,
    };
    let mut found: Vec<Subject> = Vec::new();
    for agent in agents {
        let places = places_of(agent, environment)?;
        let before = found.len();
        found.extend(places.iter().filter(|place| is_ours(place, environment)).cloned());
        if found.len() == before && !names.is_empty() {
            found.extend(places.into_iter().next());
        }
    }
    Ok(found)
}

/// Returns the user's settings of an agent and the project's, if those are other files.
fn places_of(
    agent: &'static HostSpec,
    environment: &Environment,
) -> Result<Vec<Subject>, SetupError> {
    let user = settings::scope(environment, false)?;
    let project = settings::scope(environment, true)?;
    let is_other = agent.settings.files(&user) != agent.settings.files(&project);
    let all = std::iter::once(user).chain(is_other.then_some(project));
    Ok(all.map(|scope| Subject { agent, scope }).collect())
}

/// Returns whether an agent calls us in a place, or did when it was installed or proven there.
fn is_ours(subject: &Subject, environment: &Environment) -> bool {
    let Subject { agent, scope } = subject;
    let calls = || settings::inspect(agent, scope).is_ok_and(|status| !status.ours.is_empty());
    environment.places.state.as_deref().is_some_and(|state| {
        RecordedInstallation::load(state, agent, scope).is_some()
            || store::load(state, agent, scope).is_some()
    }) || calls()
}

/// Proves one subject, and keeps the result. `say` is called again and again with what is waited for.
pub fn prove(
    subject: &Subject,
    run_agent: bool,
    scratch: &mut Scratch,
    environment: &Environment,
    say: &mut dyn FnMut(&str),
) -> Result<Proof, SetupError> {
    let state = environment.places.state.as_deref().ok_or(SetupError::NoState)?;
    let agent = subject.agent;
    let title = agent.title;
    let mut proof = begin(subject, environment)?;
    let entries = match Entries::read(agent, &subject.scope, environment) {
        Ok(entries) => entries,
        Err(error) => Entries { status: WiringStatus::default(), fault: Some(error.to_string()) },
    };
    examine(&mut proof, &entries);
    if proof.fault.is_none() {
        proof.fault = another_build(environment)?;
    }
    if proof.fault.is_none() {
        proof.events = try_events(agent, &entries, scratch, state, say);
    }
    proof.run = match (settings::program(agent), agent.offline) {
        _ if !proof.holds() => AgentProof::not_run("its entries are not in order"),
        _ if !run_agent => AgentProof::not_run("--no-run"),
        (None, _) => AgentProof::not_run(format!("`{}` is not on the PATH", agent.program)),
        (Some(_), None) => AgentProof::not_run("it cannot run without its vendor"),
        (Some(program), Some(offline)) => {
            let calls = entry::calls(environment)?;
            let call = calls.into_iter().find(|call| {
                let plan = InstallPlan::wire(agent, &subject.scope, call);
                plan.is_ok_and(|plan| plan.edits.is_empty())
            });
            let call = call.ok_or(SetupError::NoProgram)?;
            let subject = agent_run::Subject {
                agent,
                program: &program,
                offline,
                is_project: subject.scope.project.is_some(),
                call: &call,
                status: &entries.status,
            };
            agent_run::run(&subject, scratch, state, &mut || say(&format!("running {title}")))
        }
    };
    store::keep(state, agent, &subject.scope, &proof)?;
    // What only the current project switches off says nothing about others, so it is not kept.
    if let (None, Some(obstacle)) =
        (&proof.fault, settings::obstacles(agent, environment).into_iter().next())
    {
        proof.fault = Some(obstacle.what);
    }
    Ok(proof)
}

/// Begins a proof: what is known of the agent before anything is tried.
fn begin(subject: &Subject, environment: &Environment) -> Result<Proof, SetupError> {
    let program = settings::program(subject.agent);
    environment.places.state.as_deref().ok_or(SetupError::NoState)?;
    Ok(Proof {
        v: PROOF_VERSION,
        agent: subject.agent.id().to_owned(),
        project: subject.project(),
        at: now(),
        version: program.as_deref().and_then(settings::version),
        program: program.as_deref().and_then(entry::mark),
        entry: None,
        calls: Vec::new(),
        fault: None,
        events: Vec::new(),
        run: AgentProof::not_run("not yet"),
    })
}

/// Notes what the entries are, and what is wrong with them.
fn examine(proof: &mut Proof, entries: &Entries) {
    proof.entry = entries.digest();
    proof.calls = entries.calls();
    proof.fault = if entries.status.ours.is_empty() && entries.fault.is_none() {
        Some(NOT_CALLED.to_owned())
    } else {
        entries.fault.clone()
    };
}

/// The fault of settings without an entry of ours.
pub(crate) const NOT_CALLED: &str = "its settings do not call anyhook";

/// Returns whether the program that entries call is another build than this one.
fn another_build(environment: &Environment) -> Result<Option<String>, SetupError> {
    let copies = settings::program_copies(environment)?;
    Ok(copies.first().map(|copy| {
        format!(
            "its entries call `{}`, which is another program than this one",
            crate::shown(&copy.target, &environment.places)
        )
    }))
}

fn try_events(
    agent: &'static HostSpec,
    entries: &Entries,
    scratch: &Scratch,
    state: &Path,
    say: &mut dyn FnMut(&str),
) -> Vec<EventProof> {
    let work_dir: PathBuf = scratch.calls();
    let mut natives: Vec<&str> = Vec::new();
    for row in agent.protocol.capabilities.iter().filter(|row| row.block) {
        natives.extend(row.native.filter(|native| !natives.contains(native)));
    }
    let mut events = Vec::new();
    for native_name in natives {
        let Some(line) = entries.status.line_at(native_name) else { continue };
        say(&format!("trying the entry of {} at {native_name}", agent.title));
        let reason = Some(scratch::REASON);
        let canary = Canary { agent, native_name, command: COMMAND, work_dir: &work_dir, reason };
        let began = Instant::now();
        let denied = canary.send(line, state);
        events.push(EventProof {
            event: canary.kind().unwrap_or(EventKind::BeforeTool),
            native_name: native_name.to_owned(),
            denied: denied.is_ok(),
            took_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
            why_not: denied.err(),
        });
    }
    events
}

/// Tries one command in an agent's place in the current project, before a tool, and keeps that as a
/// proof of this event: what `anyhook init` does. The error says why it was not denied.
pub fn try_command(
    agent: &'static HostSpec,
    command: &str,
    environment: &Environment,
) -> Result<(), String> {
    let told = |error: SetupError| error.to_string();
    let state = environment.places.state.as_deref().ok_or(SetupError::NoState).map_err(told)?;
    let scope = settings::scope(environment, false).map_err(told)?;
    let subject = Subject { agent, scope };
    let entries = Entries::read(agent, &subject.scope, environment).map_err(told)?;
    let line = entries.status.before_tool.as_deref();
    let line = line.ok_or("its settings do not call anyhook before a tool")?;
    if let Some(obstacle) = entries.status.obstacles.first() {
        return Err(obstacle.what.clone());
    }
    let work_dir = environment.project_root();
    let native_name = agent.native_name(&EventKind::BeforeTool).unwrap_or_default();
    let canary = Canary { agent, native_name, command, work_dir: &work_dir, reason: None };
    let began = Instant::now();
    let denied = canary.send(line, state);
    let mut proof = begin(&subject, environment).map_err(told)?;
    examine(&mut proof, &entries);
    proof.events.push(EventProof {
        event: EventKind::BeforeTool,
        native_name: native_name.to_owned(),
        denied: denied.is_ok(),
        took_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        why_not: denied.clone().err(),
    });
    proof.run = AgentProof::not_run("anyhook init runs no agent");
    store::keep(state, agent, &subject.scope, &proof).map_err(told)?;
    denied
}
