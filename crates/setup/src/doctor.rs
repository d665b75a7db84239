//! The checks of `anyhook doctor`: what is wrong with the setup, and how to fix it, except for the
//! daemon and the workflow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhook_engine::alarms;
use anyhook_engine::hook::Trust;
use anyhook_engine::index;
use anyhook_engine::journal::denied::Denials;
use anyhook_engine::now;
use anyhook_engine::settings::Settings;
use anyhook_engine::trust::FileTrust;
use anyhook_engine::{Hook, Severity};
use anyhook_hook::environment::Environment;
use anyhook_hook::full_binary;
use anyhook_hosts::wiring::{HOOK_BINARY, Obstacle, PROGRAM, WiringStatus, is_ours, program_of};
use anyhook_hosts::{AGENTS, HostSpec, contract};
use anyhook_mcp::ServerFailure;
use anyhook_model::report::DoctorFinding;
use anyhook_model::{Alarm, AlarmKind, SkipReason};
use anyhook_terminal::counted;
use anyhook_terminal::format::second;
use jiff::{SignedDuration, Timestamp};

use crate::mcp_servers::{self, Servers};
use crate::proof::standing::Doubt;
use crate::proof::{self, Subject};
use crate::settings::RecordedInstallation;
use crate::{hooks, settings, shown};

/// The events of records of commands that only a person may run start with this.
pub const COMMAND_EVENT: &str = "command:";

/// How far back the journal is checked.
const RECENT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// At most this many alarms are shown.
const ALARMS_SHOWN: usize = 5;

/// Findings about one subject.
#[derive(Debug)]
pub struct SubjectFindings<'report> {
    /// All findings so far.
    pub findings: &'report mut Vec<DoctorFinding>,
    /// The subject.
    pub about: String,
}

impl<'report> SubjectFindings<'report> {
    /// Adds findings about a subject to those that there are.
    pub fn about(findings: &'report mut Vec<DoctorFinding>, subject: &str) -> Self {
        Self { findings, about: subject.to_owned() }
    }

    /// Adds a check that passed.
    pub fn good(&mut self, message: impl Into<String>) {
        self.add("good", message.into(), None);
    }

    /// Adds a note.
    pub fn note(&mut self, message: impl Into<String>) {
        self.add("note", message.into(), None);
    }

    /// Adds a problem, and what to do about it.
    pub fn bad(&mut self, message: impl Into<String>, hint: &str) {
        let message = message.into();
        // Two levels may share a file, and several entries a program.
        let is_known =
            |finding: &DoctorFinding| finding.about == self.about && finding.message == message;
        if !self.findings.iter().any(is_known) {
            self.add("bad", message, Some(hint.to_owned()));
        }
    }

    /// Returns how many problems were found so far.
    fn problems(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == "bad").count()
    }

    fn add(&mut self, severity: &str, message: String, hint: Option<String>) {
        self.findings.push(DoctorFinding {
            about: self.about.clone(),
            severity: severity.to_owned(),
            message,
            hint,
        });
    }
}

/// Checks the state folder, the index of hooks and the settings.
pub fn look_at_state(environment: &Environment, ward: &mut SubjectFindings<'_>) {
    let Some(state) = &environment.places.state else {
        return ward.bad("no state folder: no journal, no sessions, no trust", "set HOME");
    };
    let probe = std::fs::create_dir_all(state)
        .and_then(|()| tempfile::NamedTempFile::new_in(state).map(drop));
    match probe {
        Ok(()) => ward.good(format!("state folder is writable: {}", shown(state, &environment.places))),
        Err(error) => ward.bad(
            format!("`{}` cannot be written: {}", state.display(), error.kind()),
            "verdicts still apply, but nothing is journaled or remembered: check its permissions and free disk space",
        ),
    }
    for copy in settings::program_copies(environment).unwrap_or_default() {
        if copy.replaces {
            let target = shown(&copy.target, &environment.places);
            ward.note(format!(
                "{target} is from a different build than this program: anyhook install"
            ));
        }
    }
    if let Some(error) = index::trouble(&environment.places) {
        ward.bad(
            format!("the index of hooks in `{}` cannot be written: {error}", state.display()),
            "hooks still work, but each event reads all of them: check the permissions of its folder `index`",
        );
    }
    for found in index::disagreements(&environment.places) {
        let work_dir = shown(&found.work_dir, &environment.places);
        let file = shown(&found.file, &environment.places);
        let then = match found.remove() {
            Ok(()) => "it was removed, and the next event creates a new one",
            Err(_) => "remove it",
        };
        ward.bad(
            format!(
                "the index for `{work_dir}` does not match the hooks on disk: it was tampered with, or this is a bug"
            ),
            &format!("{then}; find out what wrote `{file}`"),
        );
    }
    let root = environment.project_root();
    for problem in Settings::load(&environment.places, Some(&root)).problems {
        ward.bad(problem, "fix anyhook.toml");
    }
}

/// Checks every installed hook.
pub fn look_at_hooks(environment: &Environment, ward: &mut SubjectFindings<'_>) {
    let installed = hooks::installed(environment);
    for note in &installed.notes {
        ward.bad(note.clone(), "check the folder's permissions");
    }
    let mut ready = 0;
    for standing in &installed.hooks {
        let hook = &standing.hook;
        if let Some(fault) = hook.fault() {
            let hint =
                fault.hint.clone().unwrap_or_else(|| format!("anyhook check {}", hook.name()));
            ward.bad(format!("{} cannot run: {}", hook.name(), fault.message), &hint);
        } else if let Trust::Changed(why) = &hook.trust {
            ward.bad(
                format!("{} fails: {why}", hook.name()),
                &format!("anyhook trust {}", hook.name()),
            );
        } else {
            match &standing.out {
                Some(SkipReason::Untrusted) => ward.note(format!(
                    "{} is not trusted, so it does not run (run anyhook trust)",
                    hook.name()
                )),
                Some(why) => ward.note(format!("{}: {why}", hook.name())),
                None => ready += usize::from(!look_at_script(hook, environment, ward)),
            }
        }
    }
    ward.good(if ready == 1 { "1 hook ready".to_owned() } else { format!("{ready} hooks ready") });
}

/// Reports what keeps a hook's script from running; returns whether anything does.
fn look_at_script(hook: &Hook, environment: &Environment, ward: &mut SubjectFindings<'_>) -> bool {
    let mut is_broken = false;
    for problem in hooks::findings(hook, environment) {
        let words = format!("{}: {}", hook.name(), problem.message);
        if problem.severity >= Severity::Error {
            is_broken = true;
            ward.bad(words, &problem.hint.unwrap_or_default());
        } else {
            ward.note(words);
        }
    }
    is_broken
}

/// Checks the MCP servers for documentation and second opinions, if any are named.
pub fn look_at_servers(environment: &Environment, ward: &mut SubjectFindings<'_>) {
    let left_out = mcp_servers::project_file(environment).ok().flatten();
    if let Some(file) = left_out
        && let Some(ServerFailure { reason, hint }) = file.not_counted(environment)
    {
        match file.trust {
            FileTrust::Changed => ward.bad(reason, &hint),
            _ => ward.note(format!("{reason} ({hint})")),
        }
    }
    match Servers::find(environment) {
        Ok(servers) => {
            for note in servers.notes() {
                ward.note(note.to_string());
            }
            let names = servers.names();
            if !names.is_empty() {
                ward.good(format!("active servers: {}", names.join(", ")));
            }
        }
        Err(ServerFailure { reason, hint }) => ward.bad(reason, &hint),
    }
}

/// Checks the journal. Returns when each host was last seen, and at which event.
pub fn look_at_journal(
    environment: &Environment,
    ward: &mut SubjectFindings<'_>,
) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let Some(journal) = environment.journal() else { return seen };
    // Older ones are left to `verify`: this should be quick, and alarms expire.
    let since = now() - RECENT;
    let (mut denials, mut records) = (Denials::default(), 0);
    let mut alarms_told = Vec::new();
    let read = journal.reader_since(since).and_then(|mut reader| {
        reader.read_on(&mut |record| {
            if record.is_canary() {
                return;
            }
            if record.at >= since {
                // Every record, as `stats` counts them.
                records += 1;
            }
            if record.event.to_string().starts_with(COMMAND_EVENT) {
                return;
            }
            if record.at >= since {
                denials.take(&record);
                alarms_told.extend(record.alarms.iter().map(|alarm| (record.at, alarm.clone())));
            }
            if record.is_unasked_call() {
                return;
            }
            seen.insert(record.host, format!("{} at {}", record.event, second(record.at)));
        })?;
        Ok(reader.damaged())
    });
    match read {
        Ok(0) => ward.good(format!("{} in the last 7 days", counted(records, "record"))),
        Ok(damaged) => ward.note(format!(
            "{} in the last 7 days, {} skipped (run anyhook verify)",
            counted(records, "record"),
            counted(damaged, "damaged line")
        )),
        Err(error) => ward.bad(
            format!("`{}` cannot be read: {error}", journal.folder().display()),
            "check its permissions",
        ),
    }
    for alarm in denials.found() {
        ward.bad(
            alarms::ran_anyway(&alarm).text,
            "the agent ignored the denial: check its version, and its other hooks",
        );
    }
    look_at_alarms(alarms_told, ward);
    if let Err(error) = journal.try_writing() {
        ward.bad(
            format!("`{}` cannot be written: {error}", journal.folder().display()),
            "verdicts still apply, but nothing is journaled: check its permissions and free disk space",
        );
    }
    for follower in journal.followers_behind(since).unwrap_or_default() {
        ward.bad(
            format!("the reader `{follower}` has not advanced for days, so no records are dropped"),
            &format!(
                "let it continue reading, or remove it: rm {}",
                shown(&journal.folder().join("followers").join(&follower), &environment.places)
            ),
        );
    }
    seen
}

/// Reports the latest alarms: what bypassed our guards, and what was done to them.
fn look_at_alarms(mut told: Vec<(Timestamp, Alarm)>, ward: &mut SubjectFindings<'_>) {
    // Denied calls that ran are reported from the journal itself, and disabled hooks from the
    // current settings.
    told.retain(|(_, alarm)| !matches!(alarm.kind, AlarmKind::DeniedButRan | AlarmKind::HooksOff));
    let mut texts = BTreeSet::new();
    told.retain(|(_, alarm)| texts.insert(alarm.text.clone()));
    let left = told.len().saturating_sub(ALARMS_SHOWN);
    for (at, alarm) in told.drain(left..) {
        let text = format!("{}: {}", second(at), alarm.text);
        match alarm.kind {
            AlarmKind::RanUnasked => ward.bad(
                text,
                "the agent ran it without asking: check its version, and whether the anyhook process was killed",
            ),
            _ => ward.note(text),
        }
    }
    if left > 0 {
        ward.note(format!("{} before that (anyhook log)", counted(left, "alarm")));
    }
}

/// Checks how each agent calls us; `seen` is when each host was last seen.
pub fn look_at_agents(
    environment: &Environment,
    seen: &BTreeMap<String, String>,
    findings: &mut Vec<DoctorFinding>,
) {
    let mut absent = Vec::new();
    for agent in AGENTS {
        let before = findings.len();
        let mut ward = SubjectFindings { findings, about: agent.id().to_owned() };
        look_at_agent(agent, environment, seen, &mut ward);
        if findings.len() == before {
            absent.push(agent.id());
        }
    }
    if !absent.is_empty() {
        let mut ward = SubjectFindings { findings, about: "other agents".to_owned() };
        ward.note(format!("not found on this machine: {}", absent.join(", ")));
    }
}

/// Checks how an agent calls us. Nothing is added about one that is not on this machine.
fn look_at_agent(
    agent: &'static HostSpec,
    environment: &Environment,
    seen: &BTreeMap<String, String>,
    ward: &mut SubjectFindings<'_>,
) {
    let id = agent.id();
    let mut looked_at = Vec::new();
    let mut told = Vec::new();
    for project in [false, true] {
        let Ok(scope) = settings::scope(environment, project) else { continue };
        let files = agent.settings.files(&scope);
        // In the home folder the project's settings are the user's; for some agents they always are,
        // and still a project may have something that replaces ours.
        if looked_at == files {
            if let Ok(found) = settings::inspect(agent, &scope)
                && !found.ours.is_empty()
            {
                tell_obstacles(found.obstacles, &mut told, ward);
            }
            continue;
        }
        looked_at = files;
        let place = if project { "project settings" } else { "user settings" };
        let found = settings::inspect(agent, &scope).map_err(|error| error.to_string());
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                ward.bad(error, "fix the file: the agent may not be able to read it either");
                continue;
            }
        };
        if !project && !found.packages.is_empty() {
            look_at_packages(&found, environment, ward);
            if found.ours.is_empty() {
                tell_obstacles(found.obstacles, &mut told, ward);
                look_at_last_event(seen.get(id), ward);
                continue;
            }
        }
        let before = ward.problems();
        if found.ours.is_empty() {
            if let Some(state) = environment.places.state.as_deref()
                && RecordedInstallation::load(state, agent, &scope).is_some()
            {
                ward.bad(
                    format!("installed before, but its {place} no longer call anyhook"),
                    &format!("anyhook install {id}, or anyhook uninstall {id} if that was meant"),
                );
            }
            // What the project's settings disable is off, whichever settings register us.
            if project && settings::is_wired(agent, environment) {
                tell_obstacles(found.obstacles, &mut told, ward);
            }
            if let Some(path) = settings::program(agent).filter(|_| !project) {
                let path = shown(&path, &environment.places);
                ward.note(format!(
                    "found ({path}), but anyhook is not installed in it: anyhook install {id}"
                ));
            }
            continue;
        }
        if found.missing.is_empty() {
            ward.good(format!("installed in {place}"));
        } else {
            ward.bad(
                format!("installed in {place}, but not at {}", found.missing.join(", ")),
                &format!("anyhook install {id}"),
            );
        }
        // A plugin names only the program.
        let program = |command: &String| {
            program_of(command)
                .filter(|_| is_ours(command, id))
                .unwrap_or_else(|| PathBuf::from(command))
        };
        let programs: BTreeSet<PathBuf> = found.ours.iter().map(program).collect();
        for program in &programs {
            look_at_program(program, id, ward);
        }
        tell_obstacles(found.obstacles, &mut told, ward);
        for fault in &found.stale {
            ward.bad(format!("does not call anyhook: {fault}"), &format!("anyhook install {id}"));
        }
        if !found.outdated.is_empty() {
            ward.bad(
                format!(
                    "has an entry from an earlier version in {place}, for {}: calls are not checked if \
                     the program is killed or missing, or if a variable moves its folder",
                    found.outdated.join(", ")
                ),
                &format!("anyhook install {id}"),
            );
        }
        for rival in &found.rivals {
            ward.note(format!("you also have a hook of your own: {rival}"));
        }
        let is_in_order = ward.problems() == before;
        look_at_proof(&Subject { agent, scope }, is_in_order, environment, ward);
        look_at_last_event(seen.get(id), ward);
    }
}

fn look_at_last_event(last: Option<&String>, ward: &mut SubjectFindings<'_>) {
    match last {
        Some(last) => ward.good(format!("last event: {last}")),
        None => ward.note("no events seen yet"),
    }
}

/// Checks our packages among an agent's plugins.
fn look_at_packages(
    found: &WiringStatus,
    environment: &Environment,
    ward: &mut SubjectFindings<'_>,
) {
    let places = found.packages.iter().map(|place| shown(Path::new(place), &environment.places));
    let places = places.collect::<Vec<_>>().join(", ");
    if !settings::do_packages_find_us(environment) {
        ward.bad(
            format!("has a plugin of anyhook ({places}), which does not find the program"),
            "put anyhook on the PATH, or run anyhook install",
        );
    } else if found.ours.is_empty() {
        ward.good(format!("calls anyhook by a plugin ({places})"));
    } else {
        ward.note(format!(
            "also has a plugin of anyhook ({places}): its calls are dropped, so no hook runs twice"
        ));
    }
}

/// Reports what keeps an agent from calling us, unless that was done.
fn tell_obstacles(
    obstacles: Vec<Obstacle>,
    told: &mut Vec<Obstacle>,
    ward: &mut SubjectFindings<'_>,
) {
    for obstacle in obstacles {
        if !told.contains(&obstacle) {
            ward.bad(format!("does not call anyhook: {}", obstacle.what), &obstacle.way_out);
            told.push(obstacle);
        }
    }
}

/// Checks whether what was proven of an agent's entries still holds, and its version.
fn look_at_proof(
    subject: &Subject,
    is_in_order: bool,
    environment: &Environment,
    ward: &mut SubjectFindings<'_>,
) {
    let agent = subject.agent;
    let standing = proof::standing::Standing::of(subject.clone(), environment);
    let prove = format!("{} {}", proof::status_line::PROVE, agent.id());
    // One that is as it was proven need not be started.
    let version = match (&standing.doubt, &standing.proof) {
        (None, Some(proof)) => proof.version.clone(),
        _ => settings::program(agent).as_deref().and_then(settings::version),
    };
    match (&standing.doubt, &standing.proof) {
        // It was reported above what is wrong with it, and has to be done first.
        (Some(_), _) if !is_in_order => return,
        (Some(doubt @ Doubt::Entry(_)), _) => {
            ward.bad(doubt.words(), &format!("anyhook install {}, then {prove}", agent.id()));
        }
        (Some(Doubt::Program { proven, .. }), _) => {
            let doubt = Doubt::Program { proven: proven.clone(), now: version.clone() };
            ward.bad(doubt.words(), &prove);
        }
        (Some(doubt), _) => ward.bad(doubt.words(), &prove),
        (None, Some(proof)) => {
            let how = if standing.was_run() { "by running it" } else { "its entries only" };
            ward.good(format!("proven at {}, {how}", second(proof.at)));
        }
        (None, None) => {}
    }
    let Some(version) = version else { return };
    let of_version = agent.standing(&version);
    let words = of_version.words(&version, agent.tried_version());
    match of_version {
        contract::Standing::Proven => ward.good(words),
        contract::Standing::Unsupported(_) => {
            ward.bad(words, "anyhook hosts shows the version that works");
        }
        _ if standing.doubt.is_none() && standing.was_run() => {
            ward.good(format!("{words}, but proven on this machine"));
        }
        _ => ward.note(format!("{words}: {prove} shows whether it heeds hooks")),
    }
}

/// Checks the program that an agent calls.
fn look_at_program(program: &Path, id: &str, ward: &mut SubjectFindings<'_>) {
    // A program without a folder is looked up by the agent's shell.
    if !program.is_absolute() {
        return;
    }
    let install = format!("anyhook install {id}");
    if !program.exists() {
        ward.bad(format!("calls `{}`, which does not exist", program.display()), &install);
    } else if program.ends_with(HOOK_BINARY) && full_binary::sibling(program, PROGRAM).is_none() {
        ward.bad(
            format!(
                "calls `{}`, but there is no `{PROGRAM}` next to it: background hooks fail, and \
                 calls cannot wait for your approval",
                program.display()
            ),
            &install,
        );
    } else if program.ends_with(PROGRAM) && full_binary::sibling(program, HOOK_BINARY).is_some() {
        ward.note(format!(
            "calls `{}`, but `{HOOK_BINARY}` next to it is faster: {install}",
            program.display()
        ));
    }
}
