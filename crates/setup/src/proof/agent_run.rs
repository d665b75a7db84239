//! Runs the real agent for a proof: in a home and a project of its own, without the person's
//! credentials, with a model in this process that calls the agent's shell once.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhook_engine::canary::Announcement;
use anyhook_engine::wait::poll_until;
use anyhook_hosts::HostSpec;
use anyhook_hosts::offline::{Offline, OfflineFiles, OfflineRun};
use anyhook_hosts::wiring::{HookInvocation, SettingsScope, WiringStatus};
use anyhook_model::proof::{AgentOutcome, AgentProof};
use anyhook_scripted_model::{ModelServer, ModelTurn, tells};
use serde_json::Value;

use super::canary::end;
use super::scratch::{REASON, Scratch};
use crate::settings;

/// How long an agent may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to end, once its model has seen the answer.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How often it is looked after.
const EVERY: Duration = Duration::from_millis(20);
/// The prompt that it gets.
const PROMPT: &str = "Run the command.";
/// The file in the project that the command would make.
const MARKER: &str = "the-canary-ran";
/// Variables of the person that it needs in order to start, and that name nobody's account.
const KEPT: [&str; 4] = ["PATH", "LANG", "LC_ALL", "TZ"];

/// An agent to run.
pub(super) struct Subject<'subject> {
    /// The agent.
    pub(super) agent: &'static HostSpec,
    /// Its program.
    pub(super) program: &'subject Path,
    /// How it is run.
    pub(super) offline: &'static dyn Offline,
    /// Whether the entries are those of a project.
    pub(super) is_project: bool,
    /// What the entries call, as in the person's settings.
    pub(super) call: &'subject HookInvocation,
    /// The person's settings.
    pub(super) status: &'subject WiringStatus,
}

/// Runs an agent; `say` is called again and again while it runs.
pub(super) fn run(
    subject: &Subject<'_>,
    scratch: &mut Scratch,
    state: &Path,
    say: &mut dyn FnMut(),
) -> AgentProof {
    let began = Instant::now();
    let result = try_run(subject, scratch, state, say);
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    match result {
        Ok(()) => AgentProof { outcome: AgentOutcome::Denied, why: None, took_ms },
        Err(why) => AgentProof { outcome: AgentOutcome::Failed, why: Some(why), took_ms },
    }
}

fn try_run(
    subject: &Subject<'_>,
    scratch: &mut Scratch,
    state: &Path,
    say: &mut dyn FnMut(),
) -> Result<(), String> {
    scratch.for_agent().map_err(words)?;
    let marker = scratch.project().join(MARKER);
    let (tool, input) = subject.offline.shell_call(&format!("touch {}", quoted(&marker)));
    let model = ModelServer::start(vec![ModelTurn::tool(tool, input)]).map_err(words)?;
    let address = model.address().map_err(words)?;
    let run = OfflineRun {
        home: scratch.home(),
        project: scratch.project(),
        scratch: scratch.folder().to_owned(),
        model_url: format!("http://{address}"),
        model: None,
        is_first_use: false,
    };
    write(subject.offline.files(&run)).map_err(words)?;
    install(subject, &run)?;
    let mut late = subject.offline.late_files(&run);
    late.retain(|(path, _)| !path.exists());
    write(late).map_err(words)?;
    let _announcement = Announcement::run(state).map_err(words)?;
    let output = scratch.folder().join("output");
    let mut child = start(subject, scratch, &run, &output).map_err(words)?;
    let ended = wait(&mut child, &model, say);
    // Also what it has left behind, before anything is looked at.
    end(&mut child);
    judge(&model.requests(), &marker, ended, &output)
}

/// Puts the entries into the settings of the scratch home or project, and makes sure that they are
/// those of the person's settings.
fn install(subject: &Subject<'_>, run: &OfflineRun) -> Result<(), String> {
    let scope = SettingsScope {
        home: run.home.clone(),
        config_home: run.home.join(".config"),
        project: subject.is_project.then(|| run.project.clone()),
        variables: std::collections::BTreeMap::new(),
    };
    let editor = subject.agent.settings;
    let texts = settings::read(subject.agent, &scope).map_err(words)?;
    let edits = editor.wire(&scope, &texts, subject.call).map_err(words)?;
    settings::write(&edits).map_err(words)?;
    let there = settings::inspect(subject.agent, &scope).map_err(words)?;
    if there.entries != subject.status.entries {
        return Err("its entries could not be copied as they are".to_owned());
    }
    Ok(())
}

fn write(files: OfflineFiles) -> std::io::Result<()> {
    for (path, text) in files {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

fn start(
    subject: &Subject<'_>,
    scratch: &Scratch,
    run: &OfflineRun,
    output: &Path,
) -> std::io::Result<Child> {
    let kept = KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let own: [(&str, OsString); 5] = [
        ("HOME", scratch.home().into()),
        ("TMPDIR", scratch.temporary().into()),
        ("SHELL", "/bin/sh".into()),
        ("TERM", "dumb".into()),
        ("NO_COLOR", "1".into()),
    ];
    let file = File::create(output)?;
    Command::new(subject.program)
        .args(subject.offline.arguments(run, PROMPT))
        .current_dir(&run.project)
        .env_clear()
        .envs(kept)
        .envs(own)
        .envs(subject.offline.variables(run))
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .process_group(0)
        .spawn()
}

/// Waits until it ends, or a little longer than its model needs to see the answer; `None` if it had
/// to be ended.
fn wait(child: &mut Child, model: &ModelServer, say: &mut dyn FnMut()) -> Option<ExitStatus> {
    let limit = Instant::now() + PATIENCE;
    let mut told = None;
    let ended = poll_until(limit, EVERY, || {
        say();
        match child.try_wait() {
            Ok(None) => {}
            Ok(status) => return Some(status),
            Err(_) => return Some(None),
        }
        if told.is_none() && model.requests().len() > 1 {
            told = Some(Instant::now());
        }
        told.filter(|told| told.elapsed() > LAST_WORDS).map(|_| None)
    });
    ended.flatten()
}

/// Returns why the call was not denied, or the model not told.
fn judge(
    requests: &[Value],
    marker: &Path,
    ended: Option<ExitStatus>,
    output: &Path,
) -> Result<(), String> {
    if marker.exists() {
        return Err("the agent ran the command: its hooks do not keep it from that".to_owned());
    }
    let how = || {
        let how = ended.map_or_else(|| "had to be ended".to_owned(), |status| status.to_string());
        let text = fs::read(output).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        let last: String = last.trim().chars().take(200).collect();
        format!("({how}; it last said: {last})")
    };
    match requests {
        [] => Err(format!("the agent did not reach the scripted model {}", how())),
        [_] => Err(format!("the agent did not answer the model's call {}", how())),
        [_, after @ ..] if after.iter().any(|request| tells(request, REASON)) => Ok(()),
        _ => Err("the command did not run, but the model was not told why".to_owned()),
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_denial_that_the_model_has_seen_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (marker, output) = (folder.path().join("marker"), folder.path().join("output"));
        fs::write(&output, "hello\nno such model\n\n").unwrap();
        let told = json!({"messages": [{"content": format!("Denied: {REASON}")}]});
        let silent = json!({"messages": [{"content": "ok"}]});
        let judge = |requests: &[Value]| judge(requests, &marker, None, &output);
        assert_eq!(judge(&[silent.clone(), told.clone()]), Ok(()));
        let why = judge(&[]).unwrap_err();
        assert!(why.contains("did not reach") && why.contains("no such model"), "{why}");
        assert!(judge(std::slice::from_ref(&told)).is_err(), "it knew before");
        assert!(judge(&[silent.clone(), silent.clone()]).unwrap_err().contains("not told why"));
        fs::write(&marker, "").unwrap();
        assert!(judge(&[silent, told]).unwrap_err().contains("ran the command"));
    }
}
