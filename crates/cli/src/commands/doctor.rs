//! `anyhook doctor`: reports what is wrong and how to fix it.

use anyhook_engine::settings::{NotifySettings, Settings};
use anyhook_model::exit_code;
use anyhook_model::report::DoctorReport;
use anyhook_setup::doctor::{
    SubjectFindings, look_at_agents, look_at_hooks, look_at_journal, look_at_servers, look_at_state,
};
use anyhook_setup::proof::scratch::Scratch;
use anyhook_setup::{SetupError, proof};
use clap::Args;

use super::{CommandResult, workflow};
use crate::daemon;
use crate::downtime;
use crate::environment::{Environment, terminal_width};
use crate::progress::WaitNotice;
use crate::ui::Out;

/// Diagnose problems and suggest fixes; exit 1 if there are any
#[derive(Args)]
#[command(after_help = "Example: anyhook doctor --prove claude-code")]
pub struct DoctorArgs {
    /// With --prove, these agents; default: all that call anyhook
    #[arg(requires = "prove", value_name = "AGENT")]
    agents: Vec<String>,
    /// Prove that agents heed anyhook: send canaries through their entries, and run the agents
    ///
    /// A canary at every event that hooks can block goes through the command line in the agent's
    /// settings, and must be denied in the agent's own form. Then the agent itself is run, in a
    /// home and a project of its own, without your credentials: a model in this process calls its
    /// shell once, and must be told that the call is denied.
    #[arg(long)]
    prove: bool,
    /// With --prove, run no agent
    #[arg(long, requires = "prove")]
    no_run: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &DoctorArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.prove {
        return prove(arguments, environment, out);
    }
    let mut report = DoctorReport { findings: Vec::new() };
    look_at_state(environment, &mut SubjectFindings::about(&mut report.findings, "anyhook"));
    look_at_hooks(environment, &mut SubjectFindings::about(&mut report.findings, "hooks"));
    look_at_servers(environment, &mut SubjectFindings::about(&mut report.findings, "mcp"));
    workflow::look_at(environment, &mut SubjectFindings::about(&mut report.findings, "workflow"));
    let seen =
        look_at_journal(environment, &mut SubjectFindings::about(&mut report.findings, "journal"));
    look_at_daemon(environment, &mut SubjectFindings::about(&mut report.findings, "daemon"));
    look_at_notices(environment, &mut SubjectFindings::about(&mut report.findings, "notices"));
    look_at_agents(environment, &seen, &mut report.findings);
    let is_good = report.findings.iter().all(|finding| finding.severity != "bad");
    if arguments.json {
        out.json(&report)?;
    } else {
        anyhook_pages::doctor::show(&report, out)?;
    }
    Ok(if is_good { exit_code::OK } else { exit_code::PROBLEM })
}

/// Proves that agents heed anyhook, and keeps the results.
fn prove(arguments: &DoctorArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let state = environment.places.state.as_deref().ok_or(SetupError::NoState)?;
    let subjects = proof::subjects(&arguments.agents, environment)?;
    let mut scratch = Scratch::make(state)?;
    let mut proofs = Vec::with_capacity(subjects.len());
    for subject in &subjects {
        let mut notice = WaitNotice::new(terminal_width);
        let mut say = |what: &str| notice.say(what);
        let runs = !arguments.no_run;
        let proof = proof::prove(subject, runs, &mut scratch, environment, &mut say)?;
        drop(notice);
        if !arguments.json {
            out.lines("", &proof::page::lines(&proof))?;
            out.flush()?;
        }
        proofs.push(proof);
    }
    let failed = proofs.iter().filter(|proof| !proof.holds()).count();
    if arguments.json {
        out.json(&proofs)?;
    } else {
        let (tone, words) = proof::page::summary(proofs.len(), failed);
        out.line(&[(tone, &words)])?;
        if failed > 0 {
            out.hint("`anyhook doctor` says what is wrong; `anyhook install` repairs entries")?;
        }
    }
    Ok(if failed == 0 && !proofs.is_empty() { exit_code::OK } else { exit_code::PROBLEM })
}

/// Checks the settings of notices, whether or not one was ever sent.
fn look_at_notices(environment: &Environment, ward: &mut SubjectFindings<'_>) {
    let settings = Settings::load(&environment.places, None);
    for problem in anyhook_daemon::notice::check(&settings.notify) {
        ward.bad(problem, "fix [notify] in anyhook.toml, then: anyhook daemon stop");
    }
    let NotifySettings { ntfy, slack, telegram, .. } = &settings.notify;
    let is_phone = ntfy.is_some() || slack.is_some() || telegram.is_some();
    if is_phone && settings.ui.url.is_none() {
        ward.note("notices have no link to the decision: set `url` in [ui] of anyhook.toml");
    }
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
            if let Some(down) =
                status.down.as_ref().filter(|down| anyhook_pages::downtime::is_unexpected(down))
            {
                let words = anyhook_pages::downtime::words(down, status.started_by);
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
