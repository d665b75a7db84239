//! The environment variables that commands read, in addition to those of the hook path.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhook_daemon::caller::{CallingAgent, RecognitionMethod};
use anyhook_daemon::{launch, notice, usage};
use anyhook_engine::Places;
use anyhook_engine::run::environment::{Inherits, recorded_path};
use anyhook_hosts::log::LogRoots;
use anyhook_hosts::{folder_variables, recognition};
use anyhook_model::daemon::Usage;
use anyhook_setup::import::run::RunPlace;
use jiff::tz::TimeZone;

pub use anyhook_hook::environment::{Environment, folder, running_program};
pub use anyhook_setup::shown;

use crate::commands::completions;
use crate::human_only;
use crate::known_places::KnownPlaces;
use crate::passwd;
use crate::ui::Pager;

/// Where the system keeps time zones.
const ZONE_INFO: &str = "/usr/share/zoneinfo";

/// Variables that belong to this terminal and this process alone.
const LEFT_OUT: [&str; 11] = [
    launch::AGENT_ID,
    "COLUMNS",
    "LINES",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "STY",
    "TERM",
    "TMUX",
    "TMUX_PANE",
    "_",
];

/// Returns a variable that a person's file names; one that is not valid Unicode does not count.
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// What the engine tells a hook's script.
pub struct HookVariables {
    pub folder: Option<PathBuf>,
    pub project: Option<PathBuf>,
    pub host: Option<String>,
}

/// Returns what the engine tells a hook's script; nothing outside of one.
pub fn hook_variables() -> HookVariables {
    HookVariables {
        folder: folder("ANYHOOK_HOOK_DIR"),
        project: folder("ANYHOOK_PROJECT_DIR"),
        host: variable("ANYHOOK_HOST").filter(|host| !host.is_empty()),
    }
}

/// Returns what an imported hook is told about where it runs.
pub fn native_place() -> RunPlace {
    let project = folder("CLAUDE_PROJECT_DIR").or_else(|| hook_variables().project);
    RunPlace {
        home: folder("HOME"),
        project: project.or_else(|| env::current_dir().ok()).unwrap_or_default(),
        shell: env::var_os("SHELL").filter(|shell| !shell.is_empty()),
    }
}

/// Returns what a session has used, from its transcript or from its host's database.
pub fn session_usage(host: &str, transcript: Option<&Path>, session: &str) -> Option<Usage> {
    if let Some(transcript) = transcript {
        return usage::of_log(host, transcript, Some(session));
    }
    let roots = log_homes(&Environment::read().places)?;
    let places = anyhook_hosts::find(host)?.log_places(&roots);
    let database = places.iter().find(|place| place.database().is_some())?;
    // The stable version's: others have something in the place of the star.
    let names = database.names.iter().map(|name| name.replace('*', ""));
    let path = names.fold(database.folder.clone(), |path, name| path.join(name));
    usage::of_log(host, &path, Some(session))
}

/// Returns the address of the desktop's bus, as the session gives it.
pub fn desktop_bus() -> Option<String> {
    let told = env::var("DBUS_SESSION_BUS_ADDRESS").ok().filter(|address| !address.is_empty());
    told.or_else(|| Some(notice::bus_at(&folder("XDG_RUNTIME_DIR")?.join("bus"))))
}

/// Returns where agents' logs are.
pub fn log_homes(places: &Places) -> Option<LogRoots> {
    let variables = folder_variables().filter_map(|name| Some((name, folder(name)?)));
    Some(LogRoots { home: places.home.clone()?, variables: variables.collect() })
}

/// Returns the agent in whose session we were started, as far as our own environment shows.
pub fn agent_around() -> Option<CallingAgent> {
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let above = |title: &str, name| CallingAgent {
        title: title.to_owned(),
        how: RecognitionMethod::Variable(name, std::process::id()),
    };
    let known = recognition::session_variables().find(is_set);
    let known = known.and_then(|name| Some(above(recognition::agent_of_variable(name)?, name)));
    let given = || env::var(launch::AGENT_ID).ok().filter(|id| !id.is_empty());
    known.or_else(|| given().map(|id| above(&id, launch::AGENT_ID)))
}

/// Returns the name of the user: from the environment, else from the user database.
pub fn user_name() -> String {
    let told = |name: &&str| env::var(name).ok().filter(|name| !name.is_empty());
    let known = || passwd::user().map(|user| user.name);
    let name = ["USER", "LOGNAME"].iter().find_map(told).or_else(known);
    name.unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw()))
}

/// Returns the environment that a pipeline's commands and agents get: ours, without what belongs to
/// this terminal, or to the agent in whose session we were started.
///
/// If an agent started the pipeline, variables that inject code into programs are left out, and
/// programs are found where `install` found them: a trusted runbook must not run other programs.
pub fn variables_for_agents(environment: &Environment) -> BTreeMap<String, String> {
    let is_agents = human_only::agent_above(environment).is_some();
    let mut variables = variables(if is_agents { &Inherits::AllButCode } else { &Inherits::All });
    let states = is_agents.then(|| KnownPlaces::find(environment));
    let recorded = states.and_then(|known| {
        known.trusted_states().iter().find_map(|state| recorded_path(state)?.into_string().ok())
    });
    variables.extend(recorded.map(|path| ("PATH".to_owned(), path)));
    variables
}

fn variables(inherits: &Inherits) -> BTreeMap<String, String> {
    let left_out: Vec<&str> =
        LEFT_OUT.into_iter().chain(recognition::session_variables()).collect();
    let is_kept = |(name, _): &(String, String)| {
        !left_out.contains(&name.as_str())
            && (*inherits == Inherits::All || inherits.has(name.as_ref()))
    };
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(is_kept)
        .collect()
}

/// Returns the person's time zone: from `TZ`, else the system's, else UTC.
pub fn time_zone() -> TimeZone {
    let file = |path: &Path| TimeZone::tzif("local", &fs::read(path).ok()?).ok();
    let zone = match env::var("TZ") {
        Ok(told) => {
            let name = told.trim_start_matches(':');
            let folder = folder("TZDIR").unwrap_or_else(|| ZONE_INFO.into());
            // An absolute path is used as it is. `..` never leads to a zone.
            let is_name = !name.is_empty() && !name.contains("..");
            let named = is_name.then(|| file(&folder.join(name))).flatten();
            named.or_else(|| TimeZone::posix(name).ok())
        }
        Err(_) => file(Path::new("/etc/localtime")),
    };
    zone.unwrap_or(TimeZone::UTC)
}

/// Returns whether colours are wanted wherever the output goes, by the conventions of Node.js
/// programs; what anstream reads itself (`NO_COLOR`, `CLICOLOR_FORCE`) is only considered as a
/// veto.
pub fn forces_colours() -> bool {
    let told = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let is_off = |value: &std::ffi::OsString| value == "0" || value == "false";
    told("FORCE_COLOR").is_some_and(|value| !is_off(&value)) && told("NO_COLOR").is_none()
}

/// Returns whether no colours are wanted, wherever the output goes.
pub fn is_without_colours() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Returns the shell whose script requests completions.
pub fn completing_shell() -> Option<String> {
    env::var(completions::VARIABLE).ok().filter(|shell| !shell.is_empty())
}

/// Returns the pager for long output: `ANYHOOK_PAGER`, else `PAGER`, else `less`; `None` if the
/// first of them that is set says so, or the terminal cannot do it.
pub fn pager() -> Option<Pager> {
    if env::var_os("TERM").is_none_or(|terminal| terminal == "dumb") {
        return None;
    }
    let chosen = ["ANYHOOK_PAGER", "PAGER"].iter().find_map(|name| env::var(name).ok());
    let Some(chosen) = chosen else { return Some(Pager::less()) };
    let command = chosen.trim();
    if command.is_empty() || command == "cat" {
        return None;
    }
    let pager = Pager::chosen(command);
    Some(if env::var_os("LESS").is_none() { pager.with_usual_options() } else { pager })
}

/// Returns the maximum width of a line: from `COLUMNS`, else the terminal's width, else 100.
pub fn terminal_width() -> usize {
    let told = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    // Less than this is unusable.
    told.or_else(seen).unwrap_or(100).max(20)
}

/// Returns the maximum width of a list's lines on standard output: the width of the terminal, or
/// unlimited where another program reads them.
pub fn line_width() -> usize {
    if io::stdout().is_terminal() { terminal_width() } else { usize::MAX }
}
