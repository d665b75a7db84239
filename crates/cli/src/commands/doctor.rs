//! `anyhook doctor`: reports what is wrong and how to fix it.

use anyhook_hosts::AGENTS;
use anyhook_model::exit_code;
use anyhook_model::report::DoctorReport;
use anyhook_setup::doctor::{
    SubjectFindings, look_at_agent, look_at_hooks, look_at_journal, look_at_servers, look_at_state,
};
use clap::Args;

use super::{CommandResult, workflow};
use crate::daemon;
use crate::downtime;
use crate::environment::Environment;
use crate::ui::{Out, Tone};

/// Diagnose problems and suggest fixes; exit 1 if there are any
#[derive(Args)]
#[command(after_help = "Example: anyhook doctor")]
pub struct DoctorArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &DoctorArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let mut report = DoctorReport { findings: Vec::new() };
    look_at_state(
        environment,
        &mut SubjectFindings { findings: &mut report.findings, about: "anyhook".to_owned() },
    );
    look_at_hooks(
        environment,
        &mut SubjectFindings { findings: &mut report.findings, about: "hooks".to_owned() },
    );
    look_at_servers(
        environment,
        &mut SubjectFindings { findings: &mut report.findings, about: "mcp".to_owned() },
    );
    workflow::look_at(
        environment,
        &mut SubjectFindings { findings: &mut report.findings, about: "workflow".to_owned() },
    );
    let seen = look_at_journal(
        environment,
        &mut SubjectFindings { findings: &mut report.findings, about: "journal".to_owned() },
    );
    look_at_daemon(
        environment,
        &mut SubjectFindings { findings: &mut report.findings, about: "daemon".to_owned() },
    );
    for agent in AGENTS {
        let mut ward =
            SubjectFindings { findings: &mut report.findings, about: agent.id().to_owned() };
        look_at_agent(agent, environment, &seen, &mut ward);
    }
    let bad = report.findings.iter().filter(|finding| finding.severity == "bad").count();
    if arguments.json {
        out.json(&report)?;
    } else {
        let mut about = "";
        for finding in &report.findings {
            if finding.about != about {
                out.line(&[(Tone::Strong, &finding.about)])?;
                about = &finding.about;
            }
            let (tone, mark) = match finding.severity.as_str() {
                "bad" => (Tone::Bad, "  ✗ "),
                "good" => (Tone::Good, "  ✓ "),
                _ => (Tone::Dim, "  · "),
            };
            out.line(&[(tone, mark), (Tone::Plain, &finding.message)])?;
            if let Some(hint) = &finding.hint {
                out.line(&[(Tone::Hint, "    hint: "), (Tone::Plain, hint)])?;
            }
        }
        let words = match bad {
            0 => "no problems found".to_owned(),
            1 => "1 problem found".to_owned(),
            many => format!("{many} problems found"),
        };
        out.line(&[(if bad == 0 { Tone::Good } else { Tone::Bad }, &words)])?;
    }
    Ok(if bad == 0 { exit_code::OK } else { exit_code::PROBLEM })
}

/// Checks the daemon, if it has ever run. It starts on demand, so that it is not running is not a
/// problem.
fn look_at_daemon(environment: &Environment, ward: &mut SubjectFindings<'_>) {
    let Ok(folder) = daemon::folder(&environment.places) else { return };
    if !folder.path().exists() {
        return;
    }
    match daemon::connect_if_it_runs(environment)
        .and_then(|client| client.map(|mut client| daemon::status(&mut client)).transpose())
    {
        Ok(Some(status)) => {
            ward.good(format!("daemon running (pid {})", status.pid));
            if let Some(down) = status.down.as_ref().filter(|down| downtime::is_unexpected(down)) {
                let words = downtime::words(down, status.started_by);
                ward.note(format!("the daemon was down {words}"));
            }
            for note in status.notes {
                ward.bad(note, "anyhook daemon status");
            }
        }
        Ok(None) => match daemon::last_words(&folder) {
            Some((why, hint)) => ward.bad(format!("the daemon cannot run: {why}"), &hint),
            None => match downtime::down_since(environment) {
                // Hook events and task supervisors start it again; there have been none since.
                Some(since) if folder.has_work() && !folder.is_stopped() => ward.bad(
                    format!("the daemon is needed but not running: {since}"),
                    "anyhook daemon start; `anyhook daemon install` lets the system restart it",
                ),
                Some(since) => {
                    ward.note(format!("daemon not running; it starts on demand ({since})"));
                }
                None => ward.note("daemon not running; it starts on demand"),
            },
        },
        Err(trouble) => {
            let hint = trouble.next_step().unwrap_or("anyhook daemon logs").to_owned();
            ward.bad(trouble.message(), &hint);
        }
    }
    if !anyhook_daemon::notice::desktop::IS_BUILT_IN {
        ward.note("this build shows no desktop notices (feature `desktop`)");
    }
    for lost in daemon::notices_that_failed(&environment.places) {
        ward.bad(lost, "check [notify] in anyhook.toml");
    }
}
