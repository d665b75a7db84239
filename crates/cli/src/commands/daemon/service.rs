//! `anyhook daemon install` and `uninstall`: the daemon as a service of the user's session.

use std::fs;
use std::time::Instant;

use anyhook_engine::wait::try_poll_until;
use anyhook_hosts::folder_variables;
use anyhook_model::daemon::{Request, StartedBy};
use anyhook_model::exit_code;
use anyhook_setup::service::{Manager, Service, is_ours, read, reload, run, write};

use super::{END_LIMIT, LOOK_EVERY, does_not_end};
use crate::agents::{call, put_where_they_stay};
use crate::commands::CommandResult;
use crate::daemon::{self, connect_if_it_runs};
use crate::environment::{Environment, shown, variable};
use crate::error::CommandError;
use crate::ui::{Out, Tone};

/// The variables by which the daemon finds its folders and programs, apart from those for agents'
/// folders.
const VARIABLES: [&str; 4] = ["PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];

/// Writes the service file and starts the service; with `print` only shows what would be written.
pub fn install(print: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let manager = Manager::here();
    let of_agents = folder_variables().filter(|name| !VARIABLES.contains(name));
    let variables = VARIABLES
        .into_iter()
        .chain(of_agents)
        .filter_map(|name| Some((name, variable(name).filter(|value| !value.is_empty())?)))
        .collect();
    let service = Service { program: call(environment)?.binary, variables };
    if let Some((name, _)) = service.variables.iter().find(|(_, value)| value.contains('\n')) {
        return Err(CommandError::problem(format!(
            "{name} contains a line break, which service files do not allow"
        ))
        .hint(format!("set {name} to something else")));
    }
    let text = manager.text(&service);
    if print {
        out.text(&text)?;
        return Ok(exit_code::OK);
    }
    let file = manager.file(environment)?;
    let place = shown(&file, &environment.places);
    let there = read(&file)?;
    if there.as_deref().is_some_and(|there| !is_ours(there)) {
        return Err(CommandError::problem(format!(
            "`{place}` exists and was not written by anyhook"
        ))
        .hint(
            "move it out of the way; `anyhook daemon install --print` shows what would be written",
        ));
    }
    put_where_they_stay(environment)?;
    if there.as_deref() == Some(&text) {
        out.line(&[(Tone::Plain, &format!("{place} is up to date"))])?;
    } else {
        write(&file, &text)?;
        out.line(&[(Tone::Good, "wrote "), (Tone::Plain, &place)])?;
    }
    let all = manager.enable(&file);
    let typed = typed(&all);
    for (index, words) in all.iter().enumerate() {
        // The service manager answers: from here on it supervises the daemon.
        if index + 1 == all.len() {
            hand_over(environment)?;
        }
        run(words).map_err(|why| {
            CommandError::problem(format!("written, but could not be enabled: {why}"))
                .hint(typed.clone())
        })?;
    }
    out.line(&[(Tone::Good, "enabled"), (Tone::Dim, &format!(" ({typed})"))])?;
    if manager == Manager::Systemd {
        let hint = "run `loginctl enable-linger` to keep it running without a login";
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, hint)])?;
    }
    Ok(exit_code::OK)
}

/// Stops the service and removes its files.
pub fn uninstall(environment: &Environment, out: &mut Out) -> CommandResult {
    let manager = Manager::here();
    let file = manager.file(environment)?;
    let place = shown(&file, &environment.places);
    let Some(there) = read(&file)? else {
        out.line(&[(Tone::Plain, &format!("there is no {place}"))])?;
        return Ok(exit_code::OK);
    };
    if !is_ours(&there) {
        return Err(CommandError::problem(format!("`{place}` was not written by anyhook"))
            .hint("remove it yourself if you don't need it"));
    }
    let disabled = manager.disable().iter().try_for_each(|words| run(words));
    fs::remove_file(&file).map_err(|error| CommandError::at(&file, error))?;
    match disabled {
        Ok(()) => {
            let typed = typed(&manager.disable());
            out.line(&[(Tone::Good, "disabled"), (Tone::Dim, &format!(" ({typed})"))])?;
            if manager == Manager::Systemd {
                // Otherwise the removal is only noticed at the next login.
                let _ = run(&reload());
            }
        }
        Err(why) => {
            out.line(&[(Tone::Warn, "could not be disabled: "), (Tone::Plain, &why)])?;
        }
    }
    out.line(&[(Tone::Good, "removed "), (Tone::Plain, &place)])?;
    Ok(exit_code::OK)
}

/// Stops a daemon that something other than the service manager started, so that the service can
/// replace it. No state is lost.
fn hand_over(environment: &Environment) -> Result<(), CommandError> {
    let Some(mut client) = connect_if_it_runs(environment)? else { return Ok(()) };
    if daemon::status(&mut client)?.started_by == StartedBy::Service {
        return Ok(());
    }
    // It answers by exiting.
    let _ = client.request(&Request::Stop);
    let over = try_poll_until(Instant::now() + END_LIMIT, LOOK_EVERY, || {
        Ok::<_, CommandError>(connect_if_it_runs(environment)?.is_none().then_some(()))
    })?;
    over.ok_or_else(does_not_end)
}

fn typed(all: &[Vec<String>]) -> String {
    all.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" && ")
}
