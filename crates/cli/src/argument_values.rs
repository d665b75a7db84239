//! Values of arguments: which completions the tab key offers, and which names an agent has.
//!
//! They are in one table, by command, so that no command needs to know of it. Values that depend on
//! the machine are looked up only when they are completed: installed files are read, the daemon is
//! queried if it runs, and values that are not found in time are not offered.

use std::ffi::OsStr;
use std::sync::mpsc;
use std::time::Duration;

use anyhook_hosts::AGENTS;
use anyhook_hosts::native_hooks::{self, NativeFormat};
use anyhook_model::daemon::{Request, Response};
use anyhook_model::host::host_ids;
use anyhook_model::{EventKind, Host, OpenFormat, Spelling, tools};
use anyhook_socket::Client;
use clap::{Arg, Command};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};

use crate::commands::schema;
use crate::daemon;
use crate::environment::Environment;
use crate::packs;
use crate::runbooks;
use crate::target;
use crate::ui::first_line;

/// A completion takes at most this long.
const LIMIT: Duration = Duration::from_millis(100);

/// At most this many records are offered, the newest first.
const RECORDS: usize = 50;

/// The width of a value's description.
const WIDTH: usize = 60;

/// What kind of value an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// An agent, by its id; other names are accepted.
    Agents,
    /// An agent whose own hooks can be imported; other names are accepted.
    NativeAgents,
    /// A host that events come from: an agent, or the open format; other names are accepted.
    Hosts,
    /// A host by its id alone: what an agent's settings contain is not guessed at.
    HostIds,
    /// A host as a pattern, or by another name of the agent.
    HostPatterns,
    Events,
    Tools,
    /// A hook by its name.
    Hooks,
    /// A hook by its name or its folder.
    HooksOrPaths,
    /// A hook by its name, or a pack.
    HooksOrPacks,
    /// A folder, or a pack.
    PathsOrPacks,
    Packs,
    /// A pack that was added.
    AddedPacks,
    Records,
    /// A pipeline of a runbook.
    Pipelines,
    /// A pipeline that was started.
    Runs,
    /// An agent that the daemon knows.
    Sessions,
    Decisions,
    Schemas,
}

/// Every argument whose values are of a kind: command, argument, kind.
const VALUES: &[(&str, &str, Values)] = &[
    ("init", "agents", Values::Agents),
    ("init", "packs", Values::Packs),
    ("install", "hosts", Values::Agents),
    ("uninstall", "hosts", Values::Agents),
    ("import", "host", Values::NativeAgents),
    ("doctor", "agents", Values::Agents),
    ("add", "agent", Values::Agents),
    ("hook", "host", Values::HostIds),
    ("run", "host", Values::Hosts),
    ("explain", "host", Values::Hosts),
    ("log", "host", Values::Hosts),
    ("stats", "host", Values::Hosts),
    ("replay", "host", Values::Hosts),
    ("learn", "host", Values::Hosts),
    ("agent list", "host", Values::HostPatterns),
    ("watch", "host", Values::HostPatterns),
    ("run", "event", Values::Events),
    ("explain", "event", Values::Events),
    ("log", "event", Values::Events),
    ("new", "trigger", Values::Events),
    ("run", "tool", Values::Tools),
    ("explain", "tool", Values::Tools),
    ("log", "tool", Values::Tools),
    ("new", "tool", Values::Tools),
    ("check", "paths", Values::HooksOrPaths),
    ("test", "hooks", Values::HooksOrPaths),
    ("promote", "hook", Values::HooksOrPaths),
    ("replay", "hooks", Values::HooksOrPaths),
    ("trust", "paths", Values::HooksOrPaths),
    ("untrust", "paths", Values::HooksOrPaths),
    ("trust", "replace", Values::Hooks),
    ("reload", "hooks", Values::Hooks),
    ("stats", "hooks", Values::Hooks),
    ("log", "hook", Values::Hooks),
    ("remove", "name", Values::HooksOrPacks),
    ("add", "path", Values::PathsOrPacks),
    ("packs", "name", Values::Packs),
    ("update", "name", Values::AddedPacks),
    ("log show", "id", Values::Records),
    ("pipeline run", "name", Values::Pipelines),
    ("runbook show", "name", Values::Pipelines),
    ("pipeline show", "id", Values::Runs),
    ("pipeline logs", "id", Values::Runs),
    ("pipeline cancel", "id", Values::Runs),
    ("pipeline resume", "id", Values::Runs),
    ("pipeline wait", "ids", Values::Runs),
    ("watch", "pipeline", Values::Runs),
    ("agent show", "id", Values::Sessions),
    ("agent rename", "id", Values::Sessions),
    ("agent peek", "id", Values::Sessions),
    ("agent attach", "id", Values::Sessions),
    ("agent send", "id", Values::Sessions),
    ("agent thaw", "id", Values::Sessions),
    ("agent kill", "id", Values::Sessions),
    ("watch", "agent", Values::Sessions),
    ("emit agent:idle", "agent", Values::Sessions),
    ("emit agent:prompt", "agent", Values::Sessions),
    ("emit agent:signal", "agent", Values::Sessions),
    ("emit agent:idle", "host", Values::Hosts),
    ("emit agent:prompt", "host", Values::Hosts),
    ("emit agent:signal", "host", Values::Hosts),
    ("decision show", "id", Values::Decisions),
    ("decision resolve", "id", Values::Decisions),
    ("decision claim", "id", Values::Decisions),
    ("decision release", "id", Values::Decisions),
    ("decision revoke", "id", Values::Decisions),
    ("schema", "name", Values::Schemas),
];

/// Sets the values of every argument.
pub fn described(command: Command) -> Command {
    below(command, "")
}

/// Does so for a command's arguments, and for those of its subcommands. The order of arguments is
/// kept: clap derives positions from it.
fn below(command: Command, path: &str) -> Command {
    let describe = |argument: Arg| match kind_of(path, argument.get_id().as_str()) {
        Some(values) => values.describe(argument),
        None => argument,
    };
    command.mut_args(describe).mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        below(inner, path.trim_start())
    })
}

fn kind_of(command: &str, argument: &str) -> Option<Values> {
    let is_it = |(path, id, _): &&(&str, &str, Values)| *path == command && *id == argument;
    VALUES.iter().find(is_it).map(|(_, _, values)| *values)
}

impl Values {
    fn describe(self, argument: Arg) -> Arg {
        let argument = match self {
            Self::Hosts => argument.value_parser(|name: &str| Ok::<_, String>(host_id(name))),
            _ => argument,
        };
        match self {
            Self::HooksOrPaths => argument.add(ArgValueCompleter::new(OrPath(Self::Hooks))),
            Self::PathsOrPacks => argument.add(ArgValueCompleter::new(OrPath(self))),
            _ => argument.add(ArgValueCandidates::new(move || self.candidates())),
        }
    }

    /// Returns all values, as far as they are known in time.
    fn candidates(self) -> Vec<CompletionCandidate> {
        match self {
            Self::Agents | Self::HostPatterns => agents(),
            Self::NativeAgents => {
                let format = |format: &NativeFormat| candidate(format.host, format.title);
                native_hooks::FORMATS.into_iter().map(format).collect()
            }
            Self::Hosts | Self::HostIds => {
                let open = CompletionCandidate::new(OpenFormat.id());
                agents().into_iter().chain([open.help(Some("the open format".into()))]).collect()
            }
            Self::Events => events(),
            Self::Tools => {
                let tool = |tool: &tools::CanonicalTool| candidate(tool.name, tool.what);
                tools::TOOLS.iter().map(tool).collect()
            }
            Self::Packs => pack_candidates(""),
            Self::AddedPacks => in_time(|here| Some(added_packs(here))),
            Self::PathsOrPacks => pack_candidates(packs::PREFIX),
            Self::Schemas => {
                let schema = |(name, title): (String, String)| candidate(&name, &title);
                schema::titles().into_iter().map(schema).collect()
            }
            Self::Hooks | Self::HooksOrPaths => in_time(|here| Some(hooks(here))),
            Self::HooksOrPacks => {
                let hooks = in_time(|here| Some(hooks(here)));
                hooks.into_iter().chain(pack_candidates(packs::PREFIX)).collect()
            }
            Self::Records => in_time(records),
            Self::Pipelines => in_time(|here| Some(pipelines(here))),
            Self::Runs => in_time(runs),
            Self::Sessions => in_time(sessions),
            Self::Decisions => in_time(decisions),
        }
    }
}

/// Returns the id of a host for any of its names; an unknown name is returned as it is.
fn host_id(name: &str) -> String {
    match host_ids(name).as_slice() {
        [id] => (*id).to_owned(),
        _ => name.to_owned(),
    }
}

/// Names, or a path if what was typed is not a prefix of any name.
struct OrPath(Values);

impl ValueCompleter for OrPath {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let typed = current.to_string_lossy();
        let mut found = self.0.candidates();
        found.retain(|candidate| candidate.get_value().to_string_lossy().starts_with(&*typed));
        if found.is_empty() || typed.is_empty() && self.0 == Values::PathsOrPacks {
            found.extend(PathCompleter::any().complete(current));
        }
        found
    }
}

/// Returns what is found within the limit; a lookup that takes longer is abandoned.
fn in_time(
    find: impl FnOnce(&Environment) -> Option<Vec<CompletionCandidate>> + Send + 'static,
) -> Vec<CompletionCandidate> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // The receiver is gone if it took too long.
        let _ = sender.send(find(&Environment::read()));
    });
    receiver.recv_timeout(LIMIT).ok().flatten().unwrap_or_default()
}

fn candidate(value: &str, about: &str) -> CompletionCandidate {
    let about = first_line(about, WIDTH);
    CompletionCandidate::new(value).help((!about.is_empty()).then(|| about.into()))
}

/// Returns the agents by their ids; by their programs if one of these is typed.
fn agents() -> Vec<CompletionCandidate> {
    let ids = AGENTS.iter().map(|agent| candidate(agent.id(), agent.title));
    let others = AGENTS.iter().filter(|agent| agent.program != agent.id());
    let programs = others.map(|agent| candidate(agent.program, agent.title).hide(true));
    ids.chain(programs).collect()
}

/// Returns the events by their canonical names; by other names if one of these is typed.
fn events() -> Vec<CompletionCandidate> {
    let canonical: Vec<EventKind> = EventKind::all().collect();
    let is_other =
        |name: &&str| canonical.iter().all(|kind| kind.name(Spelling::Canonical) != *name);
    let others = EventKind::all_names().filter(is_other);
    let others = others.map(|name| CompletionCandidate::new(name).hide(true));
    let names = canonical.iter().map(|kind| kind.name(Spelling::Canonical).to_owned());
    names.map(CompletionCandidate::new).chain(others).collect()
}

fn pack_candidates(prefix: &str) -> Vec<CompletionCandidate> {
    let pack = |pack: packs::Pack| candidate(&format!("{prefix}{}", pack.name), &pack.description);
    packs::all().into_iter().map(pack).collect()
}

fn added_packs(environment: &Environment) -> Vec<CompletionCandidate> {
    let levels = packs::levels(None, environment).unwrap_or_default();
    let added = levels.iter().flat_map(|level| &level.lock.lock.packs);
    added.map(|pack| candidate(&pack.name, &pack.description)).collect()
}

fn hooks(environment: &Environment) -> Vec<CompletionCandidate> {
    let hooks = target::installed(environment).hooks;
    let mut found: Vec<CompletionCandidate> = hooks
        .iter()
        .map(|standing| candidate(standing.hook.name(), &standing.hook.definition.description))
        .collect();
    found.sort();
    found.dedup_by(|one, other| one.get_value() == other.get_value());
    found
}

/// Returns the newest records.
fn records(environment: &Environment) -> Option<Vec<CompletionCandidate>> {
    let journal = environment.journal()?;
    let newest = journal.segments().ok()?.pop()?;
    let mut found = Vec::new();
    journal
        .read_segment(&newest, &mut |record| {
            let about = record.about.as_deref().unwrap_or_default();
            let words = format!("{} {} {about}", record.event, record.verdict.word());
            found.push((record.id.to_string(), words));
        })
        .ok()?;
    let newest = found.iter().rev().take(RECORDS).enumerate();
    let ordered = |(place, (id, words)): (usize, &(String, String))| {
        candidate(id, words.trim_end()).display_order(Some(place))
    };
    Some(newest.map(ordered).collect())
}

fn pipelines(environment: &Environment) -> Vec<CompletionCandidate> {
    let installed = runbooks::InstalledRunbooks::find(environment);
    let pipelines = installed.runbooks.iter().flat_map(|found| &found.runbook.pipelines);
    let names = pipelines.map(|pipeline| pipeline.name.text.as_str());
    names.filter(|name| !name.is_empty()).map(CompletionCandidate::new).collect()
}

/// Queries the daemon, if it runs.
fn ask(environment: &Environment, request: &Request) -> Option<Response> {
    let folder = daemon::folder(&environment.places).ok()?;
    Client::connect_within(&folder, LIMIT).ok()?.request(request).ok()
}

fn runs(environment: &Environment) -> Option<Vec<CompletionCandidate>> {
    let Response::Pipelines(runs) = ask(environment, &Request::Pipelines)? else { return None };
    let run = |run: &anyhook_model::pipeline::PipelineView| {
        let id = run.id.to_string();
        candidate(run.run_name.as_deref().unwrap_or(&id), &run.name)
    };
    Some(runs.iter().map(run).collect())
}

fn sessions(environment: &Environment) -> Option<Vec<CompletionCandidate>> {
    let Response::Agents(agents) = ask(environment, &Request::Agents)? else { return None };
    let agent = |agent: &anyhook_model::daemon::AgentView| {
        candidate(agent.name.as_deref().unwrap_or(&agent.id), &agent.state)
    };
    Some(agents.iter().map(agent).collect())
}

fn decisions(environment: &Environment) -> Option<Vec<CompletionCandidate>> {
    let Response::Decisions(decisions) = ask(environment, &Request::Decisions)? else {
        return None;
    };
    let open = decisions.iter().filter(|decision| decision.resolution.is_none());
    let decision = |decision: &anyhook_model::daemon::DecisionView| {
        candidate(decision.inquiry.id.as_str(), &decision.inquiry.question)
    };
    Some(open.map(decision).collect())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    /// Returns what the tab key offers at the end of a line.
    fn offered(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let last = words.len() - 1;
        let mut command = crate::commands::command_line();
        let found = clap_complete::engine::complete(&mut command, words, last, None).unwrap();
        let values = found.iter().map(|one| one.get_value().to_string_lossy().into_owned());
        values.filter(|value| !value.starts_with('-')).collect()
    }

    #[test]
    fn every_row_is_about_an_argument_there_is() {
        let command = crate::commands::command_line();
        for (path, argument, values) in VALUES {
            let find = |command: &Command, name| command.find_subcommand(name).cloned();
            let found = path.split(' ').try_fold(command.clone(), |above, name| find(&above, name));
            let found = found.unwrap_or_else(|| panic!("no command `{path}`"));
            let has = found.get_arguments().any(|known| known.get_id() == argument);
            assert!(has, "`{path}` has no `{argument}` for {values:?}");
        }
    }

    #[test]
    fn agents_are_offered_by_id_and_by_program_where_that_was_typed() {
        assert_eq!(offered("anyhook install cl")[0], "claude-code");
        assert!(offered("anyhook install c").iter().all(|agent| agent.starts_with('c')));
        assert_eq!(offered("anyhook install codex ge"), ["gemini-cli"]);
        assert_eq!(offered("anyhook install claude"), ["claude-code"]);
        let mut ids: Vec<_> = AGENTS.map(anyhook_hosts::HostSpec::id).into();
        ids.push("agent-hooks");
        assert_eq!(offered("anyhook log --host "), ids);
    }

    #[test]
    fn events_are_offered_in_the_spelling_that_was_begun() {
        assert_eq!(offered("anyhook run before_t"), ["before_tool"]);
        assert_eq!(offered("anyhook explain pre-t"), ["pre-tool-call"]);
        assert_eq!(
            offered("anyhook new x --trigger before_tool,after_a"),
            ["before_tool,after_agent"]
        );
        assert_eq!(offered("anyhook log --event=notif"), [""; 0]);
        assert_eq!(offered("anyhook log --event notif"), ["notification"]);
    }

    #[test]
    fn what_comes_with_the_program_is_offered() {
        assert_eq!(offered("anyhook packs deli"), ["delivery-workflow"]);
        assert_eq!(offered("anyhook add pack/no-d"), ["pack/no-destroy"]);
        assert_eq!(offered("anyhook schema front-"), ["front-matter"]);
        assert_eq!(offered("anyhook run before_tool --tool Sh"), ["Shell"]);
        assert_eq!(offered("anyhook completions z"), ["zsh"]);
        assert_eq!(offered("anyhook unins"), ["uninstall"]);
    }

    #[test]
    fn what_takes_too_long_is_not_offered() {
        let slow = in_time(|_| {
            std::thread::sleep(LIMIT * 20);
            Some(vec![CompletionCandidate::new("late")])
        });
        assert_eq!(slow, []);
        assert_eq!(in_time(|_| None), []);
    }

    #[test]
    fn a_host_has_one_id_by_any_name() {
        for (name, id) in [
            ("claude", "claude-code"),
            ("Claude Code", "claude-code"),
            ("gemini", "gemini-cli"),
            ("codex", "codex"),
            ("agent-hooks", "agent-hooks"),
            ("my-own", "my-own"),
        ] {
            assert_eq!(host_id(name), id, "{name}");
        }
    }
}
