//! `anyhook demo`: a scripted agent session with real hooks, each event with its verdict.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhook_engine::journal::Journal;
use anyhook_engine::wait::try_poll_until;
use anyhook_engine::{Engine, Places, now};
use anyhook_model::{Caller, Host, OpenFormat, Record, Verdict, exit_code};
use anyhook_pages::records;
use anyhook_pages::verdict::{show_runs, verdict_lines};
use clap::Args;
use serde_json::{Value, json};

use super::CommandResult;
use crate::environment::{Environment, line_width};
use crate::error::CommandError;
use crate::ui::{Cell, Out, Tone};

/// Take a tour: real hooks and a scripted agent in a temporary folder
#[derive(Args)]
#[command(after_help = "Example: anyhook demo --keep")]
pub struct DemoArgs {
    /// Keep the folder so you can look around
    #[arg(long)]
    keep: bool,
}

/// The demo's hooks: name, HOOK.md, script.
macro_rules! hooks {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../demo/", $name, "/HOOK.md")), include_str!(concat!("../../demo/", $name, "/scripts/run")))),+]
    };
}

const HOOKS: [(&str, &str, &str); 6] = hooks!(
    "block-dangerous-commands",
    "pnpm-not-npm",
    "project-notes",
    "tests-must-pass",
    "audit-log",
    "ask-the-policy",
);

/// The folder that the demo runs in.
struct Stage {
    project: PathBuf,
    hooks: PathBuf,
    engine: Engine,
}

pub fn run(arguments: &DemoArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let mut scratch =
        tempfile::Builder::new().prefix("anyhook-demo-").tempdir().map_err(|error| {
            CommandError::at(&std::env::temp_dir(), error).hint("set TMPDIR to a writable folder")
        })?;
    scratch.disable_cleanup(arguments.keep);
    let stage = set_up(scratch.path(), environment)?;
    introduce(scratch.path(), arguments.keep, out)?;
    tour(&stage, out)?;
    out.gap()?;
    out.line(&[(Tone::Strong, "It's all in the journal")])?;
    let records = wait_for_aside(&stage)?;
    records::print(&records, line_width(), out)?;
    out.gap()?;
    out.line(&[(Tone::Strong, "Next")])?;
    let look_around = ("anyhook demo --keep", "keep the folder of this tour, to look around in it");
    let next = [
        ("anyhook install", "put anyhook into your agents"),
        ("anyhook new my-hook --trigger before_tool", "create your own hook"),
        ("anyhook test my-hook", "run its test cases"),
        ("anyhook run before_tool --command 'ls'", "fire an event manually"),
        ("anyhook log -f", "watch decisions as they are made"),
    ]
    .into_iter()
    .chain((!arguments.keep).then_some(look_around));
    let rows: Vec<Vec<Cell>> = next
        .map(|(command, what)| {
            vec![Cell::new(Tone::Hint, format!("  {command}")), Cell::new(Tone::Dim, what)]
        })
        .collect();
    out.table(&rows)?;
    if arguments.keep {
        out.gap()?;
        out.line(&[(Tone::Dim, "kept: "), (Tone::Plain, &scratch.path().display().to_string())])?;
    }
    Ok(exit_code::OK)
}

fn set_up(folder: &Path, environment: &Environment) -> Result<Stage, CommandError> {
    let project = folder.join("project");
    let config = folder.join("config/agents");
    let hooks = config.join("hooks");
    fs::create_dir_all(project.join(".git"))?;
    for (name, hook_file, script) in HOOKS {
        let hook = hooks.join(name);
        fs::create_dir_all(hook.join("scripts"))?;
        fs::write(hook.join("HOOK.md"), hook_file)?;
        fs::write(hook.join("scripts/run"), script)?;
        fs::set_permissions(hook.join("scripts/run"), Permissions::from_mode(0o755))?;
    }
    let mut engine = Engine::new(Places {
        managed: folder.join("managed"),
        user: Some(config),
        state: Some(folder.join("state")),
        home: Some(folder.to_owned()),
        binary: environment.places.binary.clone(),
    });
    engine.adopt_orphans();
    Ok(Stage { project, hooks, engine })
}

fn introduce(folder: &Path, keeps: bool, out: &mut Out) -> std::io::Result<()> {
    out.line(&[
        (Tone::Strong, "anyhook"),
        (Tone::Plain, ": one hook engine for every AI coding agent"),
    ])?;
    out.line(&[
        (Tone::Dim, "Six hooks, each a folder with a HOOK.md and a script, in "),
        (Tone::Dim, &folder.display().to_string()),
        (Tone::Dim, if keeps { "" } else { " (deleted at the end; --keep keeps it)" }),
    ])?;
    out.line(&[(Tone::Dim, "The agent is scripted; the hooks, processes and journal are real.")])?;
    out.gap()?;
    for line in HOOKS[0].1.lines() {
        out.line(&[(Tone::Dim, "  │ "), (Tone::Plain, line)])?;
    }
    Ok(())
}

/// The scripted session.
fn tour(stage: &Stage, out: &mut Out) -> Result<(), CommandError> {
    let shell = |command: &str| json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": command}});
    let deploy = json!({"event_type": "before_tool", "tool_name": "Deploy", "tool_input": {"target": "production"}});
    let stop = json!({"event_type": "before_stop", "stop_reason": "no_tool_calls"});
    let mut scene = DemoEvent { stage, number: 0, session: "demo" };

    scene.play(
        "You write: make the build faster",
        json!({"event_type": "before_agent", "prompt": "make the build faster"}),
        out,
    )?;
    scene.play("The agent runs: ls -la", shell("ls -la"), out)?;
    scene.play(
        "The agent runs: rm -rf / --no-preserve-root",
        shell("rm -rf / --no-preserve-root"),
        out,
    )?;
    scene.play("The agent runs: npm install", shell("npm install"), out)?;
    let done = json!({"event_type": "after_tool", "tool_name": "Shell", "tool_input": {"command": "pnpm install"}, "tool_output": "added 112 packages"});
    scene.play("The tool has run", done, out)?;
    scene.play(
        "The agent deploys, and a hook is broken: a failing hook lets the call through by default",
        deploy.clone(),
        out,
    )?;
    let hook_file = stage.hooks.join("ask-the-policy/HOOK.md");
    let text = fs::read_to_string(&hook_file)?;
    fs::write(&hook_file, text.replacen("trigger:", "on_failure: block\ntrigger:", 1))?;
    // In a session of its own: the running one would report that its guard was changed.
    scene.session = "demo-2";
    scene.play("The same with `on_failure: block` in its HOOK.md", deploy, out)?;
    scene.play("The agent tries to stop", stop.clone(), out)?;
    fs::write(stage.project.join("tests-pass"), "")?;
    scene.play("The agent fixes the tests and tries to stop", stop, out)
}

/// One event after another.
struct DemoEvent<'stage> {
    stage: &'stage Stage,
    number: usize,
    session: &'static str,
}

impl DemoEvent<'_> {
    fn play(&mut self, story: &str, mut event: Value, out: &mut Out) -> Result<(), CommandError> {
        self.number += 1;
        event["session_id"] = self.session.into();
        let caller = Caller::new(self.stage.project.clone(), now());
        let decoded = OpenFormat.decode(event.to_string().as_bytes(), &caller);
        let events = decoded.map_err(|error| CommandError::problem(error.to_string()))?;
        for event in events {
            out.gap()?;
            out.line(&[
                (Tone::Hint, &format!("{} ", self.number)),
                (Tone::Strong, story),
                (Tone::Dim, "  "),
                (Tone::Dim, &event.kind.to_string()),
            ])?;
            let dispatched = self.stage.engine.dispatch_event(&OpenFormat, event, None);
            self.stage
                .engine
                .journal_with(vec![(*dispatched.record).clone()], &dispatched.settings)?;
            show_runs(&dispatched.record.runs, &dispatched.verdict, out)?;
            out.lines("  ", &verdict_lines(&Verdict { id: None, ..dispatched.verdict }))?;
            out.flush()?;
        }
        Ok(())
    }
}

/// Returns the journal once the hook that ran in the background has reported.
fn wait_for_aside(stage: &Stage) -> Result<Vec<Record>, CommandError> {
    let folder = stage.engine.places().state.clone().unwrap_or_default();
    let limit = Instant::now() + Duration::from_secs(5);
    let mut records = Vec::new();
    try_poll_until(limit, Duration::from_millis(10), || {
        records.clear();
        Journal::new(&folder).reader().read_on(&mut |record| records.push(record))?;
        Ok::<_, CommandError>(records.iter().any(|record| record.of.is_some()).then_some(()))
    })?;
    Ok(records)
}
