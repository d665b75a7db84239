//! Functions beside HOOK.md hooks: one plan, one order, one Decision type, one journal.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhook_engine::journal::Journal;
use anyhook_model::{Record, RunOutcome, SkipReason};
use anyhook_sdk::{
    BuildError, Compaction, Decision, Effect, EventHandler, EventKind, FunctionHook, HookError,
    Hooks, HooksBuilder, SeenEvent, Stop, Subagent, ToolCall, scratch_places,
};
use anyhook_testkit::write;
use serde_json::json;
use tempfile::TempDir;

/// Makes a user's HOOK.md hook.
fn folder_hook(scratch: &TempDir, name: &str, matter: &str, script: &str) {
    let folder = scratch.path().join("config/agents/hooks").join(name);
    let hook = format!("---\nname: {name}\ndescription: the hook {name}\n{matter}\n---\n");
    write(&folder.join("HOOK.md"), hook, 0o644);
    write(&folder.join("scripts/run"), format!("#!/bin/sh\n{script}\n"), 0o755);
}

fn builder(scratch: &TempDir) -> HooksBuilder {
    Hooks::builder("tester").places(scratch_places(scratch.path())).work_dir(scratch.path())
}

fn shell(command: &str) -> ToolCall {
    ToolCall::new("Shell", json!({"command": command})).id("call-1")
}

/// A function that says the same about every event.
fn always(name: &str, decision: Decision) -> FunctionHook {
    FunctionHook::before_tool(name, move |_| {
        let decision = decision.clone();
        Box::pin(async move { Ok(decision) })
    })
}

fn records(state: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    Journal::new(&state.join("state/anyhook"))
        .reader()
        .read_on(&mut |record| records.push(record))
        .unwrap();
    records
}

fn names(record: &Record) -> Vec<&str> {
    record.runs.iter().map(|run| run.hook.as_str()).collect()
}

#[tokio::test]
async fn functions_and_folders_are_asked_in_one_order() {
    let scratch = TempDir::new().unwrap();
    folder_hook(&scratch, "b-folder", "trigger: before_tool\npriority: 500", "exit 0");
    folder_hook(&scratch, "d-folder", "trigger: before_tool", "exit 0");
    let hooks = builder(&scratch)
        .hook(always("a-function", Decision::default()).priority(900))
        .hook(always("c-function", Decision::default()).priority(200))
        .hook(always("e-function", Decision::default()))
        .build()
        .unwrap();
    let verdict = hooks.before_tool("s", &shell("ls")).await;
    assert_eq!(verdict.effect, None);
    let record = records(scratch.path()).remove(0);
    assert_eq!(names(&record), ["a-function", "b-folder", "c-function", "d-folder", "e-function"]);
    assert_eq!(record.host, "tester");
    assert_eq!(record.runs[0].outcome, Some(RunOutcome::Returned));
    assert_eq!(record.runs[1].outcome, Some(RunOutcome::Exited(0)));
    assert_eq!(verdict.id, Some(record.id));
}

#[tokio::test]
async fn the_first_block_stops_the_rest_of_either_kind() {
    let scratch = TempDir::new().unwrap();
    folder_hook(
        &scratch,
        "guard",
        "trigger: before_tool\npriority: 500\nmatcher:\n  pattern: mkfs",
        "echo 'not here' >&2; exit 2",
    );
    let hooks = builder(&scratch).hook(always("later", Decision::deny("never"))).build().unwrap();
    let verdict = hooks.before_tool("s", &shell("mkfs /dev/sda")).await;
    assert_eq!(
        (verdict.by.as_deref(), verdict.reason.as_deref()),
        (Some("guard"), Some("not here"))
    );
    assert_eq!(names(&records(scratch.path())[0]), ["guard"]);
    let verdict = hooks.before_tool("s", &shell("ls")).await;
    assert_eq!(verdict.by.as_deref(), Some("later"));
}

#[tokio::test]
async fn input_changes_go_from_one_to_the_next() {
    let scratch = TempDir::new().unwrap();
    folder_hook(
        &scratch,
        "script",
        "trigger: before_tool\npriority: 500",
        r#"grep -q '"command": "one"' && echo '{"modified_input": {"command": "two"}}'"#,
    );
    let change = |to: &str| Decision {
        modified_input: json!({"command": to}).as_object().cloned(),
        ..Decision::default()
    };
    let seen = Arc::new(Mutex::new(String::new()));
    let saw = seen.clone();
    let hooks = builder(&scratch)
        .hook(always("first", change("one")).priority(900))
        .hook(FunctionHook::before_tool("last", move |event| {
            *saw.lock().unwrap() = event.tool_text("command").unwrap_or_default().to_owned();
            Box::pin(async { Ok(Decision::default()) })
        }))
        .build()
        .unwrap();
    let verdict = hooks.before_tool("s", &shell("zero")).await;
    assert_eq!(verdict.input, json!({"command": "two"}).as_object().cloned());
    assert_eq!(*seen.lock().unwrap(), "two");
}

fn panics_at_once(_: SeenEvent) -> std::future::Ready<Result<Decision, HookError>> {
    panic!("at once")
}

#[tokio::test]
async fn a_panic_an_error_and_a_stall_are_failures_of_that_hook_alone() {
    let scratch = TempDir::new().unwrap();
    let hooks = builder(&scratch)
        .hook(
            FunctionHook::before_tool("panics", |_| Box::pin(async { panic!("on purpose") }))
                .priority(900),
        )
        .hook(FunctionHook::before_tool("panics-at-once", panics_at_once).priority(800))
        .hook(
            FunctionHook::before_tool("errs", |_| Box::pin(async { Err("no table".into()) }))
                .priority(700),
        )
        .hook(
            FunctionHook::before_tool("stalls", |_| Box::pin(std::future::pending()))
                .priority(600)
                .timeout(Duration::from_millis(100)),
        )
        .hook(always("asks", Decision { effect: Some(Effect::Ask), ..Decision::default() }))
        .build()
        .unwrap();
    let verdict = hooks.before_tool("s", &shell("ls")).await;
    assert_eq!(verdict.effect, Some(Effect::Ask), "the others have their say");
    let failed: Vec<(&str, &str)> = verdict
        .failed
        .iter()
        .map(|failure| (failure.hook.as_str(), failure.why.as_str()))
        .collect();
    assert_eq!(
        failed,
        [
            ("panics", "it panicked: on purpose"),
            ("panics-at-once", "it panicked: at once"),
            ("errs", "no table"),
            ("stalls", "timed out after 100 ms"),
        ]
    );
}

#[tokio::test]
async fn on_failure_and_shadow_mean_what_they_mean_in_a_hook_file() {
    let scratch = TempDir::new().unwrap();
    let failing =
        |name: &str| FunctionHook::before_tool(name, |_| Box::pin(async { Err("broken".into()) }));
    let hooks = builder(&scratch)
        .hook(always("watcher", Decision::deny("no")).shadow().priority(900))
        .hook(failing("guard").block_on_failure())
        .build()
        .unwrap();
    let verdict = hooks.before_tool("s", &shell("ls")).await;
    assert_eq!(verdict.by.as_deref(), Some("guard"));
    assert!(verdict.reason.unwrap().contains("broken"));
    let record = records(scratch.path()).remove(0);
    assert!(record.runs[0].shadow && record.runs[0].decision.effect == Some(Effect::Deny));
}

#[tokio::test]
async fn matchers_count_for_functions() {
    let hooks = Hooks::builder("tester")
        .hook(always("shell-only", Decision::deny("no")).tool("Shell").pattern("^rm "))
        .build()
        .unwrap();
    assert!(hooks.before_tool("s", &shell("rm -rf /")).await.is_block());
    assert!(!hooks.before_tool("s", &shell("ls; rm x")).await.is_block());
    let other = ToolCall::new("ReadFile", json!({"path": "rm x"}));
    assert!(!hooks.before_tool("s", &other).await.is_block());
}

#[tokio::test]
async fn what_runs_aside_is_journaled_when_it_ends() {
    let scratch = TempDir::new().unwrap();
    folder_hook(&scratch, "script", "trigger: before_tool\nasync: true", "echo aside");
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let waits = gate.clone();
    let hooks = builder(&scratch)
        .hook(
            FunctionHook::before_tool("function", move |_| {
                let waits = waits.clone();
                Box::pin(async move {
                    waits.acquire().await.unwrap().forget();
                    Ok(Decision::deny("too late"))
                })
            })
            .in_background(),
        )
        .hook(
            FunctionHook::before_tool("broken", |_| Box::pin(async { panic!("aside") }))
                .in_background(),
        )
        .build()
        .unwrap();
    let verdict = hooks.before_tool("s", &shell("ls")).await;
    assert_eq!(verdict.effect, None, "nobody waits for it");
    assert!(!hooks.background().is_empty());
    gate.add_permits(1);
    hooks.wait_for_background_hooks().await;
    assert!(hooks.background().is_empty());
    let records = records(scratch.path());
    let later: Vec<&Record> = records.iter().filter(|record| record.of.is_some()).collect();
    assert_eq!((records.len(), later.len()), (4, 3));
    assert!(later.iter().all(|record| record.of == verdict.id));
    let run =
        |name: &str| later.iter().find(|one| one.runs[0].hook == name).unwrap().runs[0].clone();
    assert_eq!(run("script").stdout, "aside\n");
    assert_eq!(run("function").decision.reason.as_deref(), Some("too late"));
    assert_eq!(run("broken").failure.as_deref(), Some("it panicked: aside"));
}

#[tokio::test]
async fn too_many_aside_is_a_failure_that_is_told() {
    let hooks = Hooks::builder("tester")
        .hook(
            FunctionHook::before_tool("endless", |_| Box::pin(std::future::pending()))
                .in_background(),
        )
        .background_hooks(1)
        .build()
        .unwrap();
    hooks.before_tool("s", &shell("ls")).await;
    assert_eq!(hooks.background().len(), 1);
    hooks.before_tool("s", &shell("ls")).await;
    assert_eq!(hooks.background().len(), 1, "bounded");
    hooks.cancel_background_hooks();
    hooks.wait_for_background_hooks().await;
}

/// On a runtime of one thread, a script that waits for another task would wait for ever if it
/// blocked the runtime.
#[tokio::test(flavor = "current_thread")]
async fn a_script_does_not_block_the_runtime() {
    let scratch = TempDir::new().unwrap();
    let file = scratch.path().join("go");
    let script = format!("until [ -e '{}' ]; do sleep 0.01; done", file.display());
    folder_hook(&scratch, "waits", "trigger: before_tool\non_failure: block", &script);
    let hooks = builder(&scratch).build().unwrap();
    let call = shell("ls");
    let (verdict, ()) = tokio::join!(hooks.before_tool("s", &call), async {
        write(&file, "", 0o644);
    });
    assert!(!verdict.is_block());
}

#[tokio::test]
async fn explain_names_all_of_them() {
    let scratch = TempDir::new().unwrap();
    folder_hook(&scratch, "folder", "trigger: before_tool\npriority: 500", "exit 0");
    folder_hook(&scratch, "other", "trigger: session_start", "exit 0");
    let hooks = builder(&scratch)
        .hook(always("function", Decision::default()))
        .hook(always("not-due", Decision::default()).tool("ReadFile"))
        .build()
        .unwrap();
    let mut event = hooks.event(EventKind::BeforeTool, "s");
    event.tool = Some(ToolCall::new("Shell", json!({})));
    let plan = hooks.explain(event).await;
    let shown: Vec<(&str, &str, Option<SkipReason>)> =
        plan.iter().map(|one| (one.name.as_str(), one.level, one.left_out.clone())).collect();
    assert_eq!(
        shown,
        [
            ("folder", "user", None),
            ("function", "program", None),
            ("not-due", "program", Some(SkipReason::Tool)),
            ("other", "user", Some(SkipReason::OtherEvent)),
        ]
    );
    assert!(records(scratch.path()).is_empty());
}

#[tokio::test]
async fn a_session_has_its_turns_and_its_stop_cap() {
    let scratch = TempDir::new().unwrap();
    write(&scratch.path().join("config/agents/anyhook.toml"), "stop_cap = 2\n", 0o644);
    let gate = FunctionHook::new("gate", &[EventKind::BeforeStop], |_| {
        Box::pin(async { Ok(Decision::deny("not yet")) })
    });
    let hooks = builder(&scratch).hook(gate).build().unwrap();
    hooks.session_start("s").await;
    hooks.before_agent("s", "do it").await;
    assert!(hooks.before_stop("s", "done").await.is_block());
    assert!(hooks.before_stop("s", "done").await.is_block());
    let capped = hooks.before_stop("s", "done").await;
    assert!(!capped.is_block() && capped.capped);
    hooks.before_agent("s", "again").await;
    assert!(hooks.before_stop("s", "done").await.is_block(), "a new turn");
    hooks.session_end("s", "done").await;
}

#[tokio::test]
async fn a_denied_call_that_ran_raises_the_alarm() {
    let scratch = TempDir::new().unwrap();
    let hooks = builder(&scratch).hook(always("guard", Decision::deny("no"))).build().unwrap();
    assert!(hooks.before_tool("s", &shell("mkfs")).await.is_block());
    let verdict = hooks.after_tool("s", &shell("mkfs"), Ok(json!("formatted"))).await;
    assert!(verdict.warnings[0].contains("denied but ran: tester"), "{:?}", verdict.warnings);
    let verified = Journal::new(&scratch.path().join("state/anyhook")).verify(&mut |_| ()).unwrap();
    assert!(verified.whole);
    assert_eq!(verified.denied_but_ran.len(), 1);
}

/// A function hook may be an `async fn`, an async closure, or a type of its own.
#[tokio::test]
async fn functions_of_every_form() {
    async fn no_mkfs(event: SeenEvent) -> Result<Decision, HookError> {
        let command = event.tool_text("command").unwrap_or_default();
        Ok(if command.contains("mkfs") { Decision::deny("function") } else { Decision::default() })
    }
    struct Forbidden(String);
    impl EventHandler for Forbidden {
        async fn decide(&self, event: SeenEvent) -> Result<Decision, HookError> {
            let command = event.tool_text("command").unwrap_or_default();
            Ok(if command.contains(&self.0) { Decision::deny("type") } else { Decision::default() })
        }
    }
    let forbidden = Forbidden("dd ".to_owned());
    let log = Arc::new(Mutex::new(Vec::new()));
    let noting = log.clone();
    let hooks = Hooks::builder("tester")
        .hook(FunctionHook::before_tool("function", no_mkfs))
        .hook(FunctionHook::before_tool("closure", async |event| {
            let is_reboot = event.tool_text("command") == Some("reboot");
            Ok(if is_reboot { Decision::deny("closure") } else { Decision::default() })
        }))
        .hook(FunctionHook::from_handler("type", &[EventKind::BeforeTool], forbidden))
        .hook(
            FunctionHook::before_tool("noting", move |event| {
                let noting = noting.clone();
                async move {
                    let command = event.tool_text("command").unwrap_or_default().to_owned();
                    noting.lock().unwrap().push(command);
                    Ok(Decision::default())
                }
            })
            .priority(1),
        )
        .build()
        .unwrap();
    for (command, reason) in
        [("mkfs /dev/sda", "function"), ("reboot", "closure"), ("dd if=x", "type")]
    {
        let verdict = hooks.before_tool("s", &shell(command)).await;
        assert_eq!(verdict.reason.as_deref(), Some(reason));
    }
    assert!(!hooks.before_tool("s", &shell("ls")).await.is_block());
    assert_eq!(*log.lock().unwrap(), ["ls"]);
}

/// Each event has a method, and each tells what its fields are for.
#[tokio::test]
async fn every_event_can_be_told() {
    const EVENTS: [EventKind; 15] = [
        EventKind::SessionStart,
        EventKind::SessionEnd,
        EventKind::BeforeAgent,
        EventKind::AfterAgent,
        EventKind::BeforeStop,
        EventKind::AfterStop,
        EventKind::BeforeTool,
        EventKind::AfterTool,
        EventKind::AfterToolFailure,
        EventKind::SubagentStart,
        EventKind::SubagentStop,
        EventKind::PreCompact,
        EventKind::PostCompact,
        EventKind::Notification,
        EventKind::PermissionRequest,
    ];
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noting = seen.clone();
    let watch = FunctionHook::new("watch", &EVENTS, move |event| {
        noting.lock().unwrap().push((event.kind.clone(), event.data.clone(), event.tool.clone()));
        std::future::ready(Ok(Decision::default()))
    });
    let hooks = Hooks::builder("tester").hook(watch).build().unwrap();
    let (call, reviewer) = (shell("ls"), Subagent::new("reviewer").kind("general").task("read"));
    hooks.session_start("s").await;
    hooks.before_agent("s", "go").await;
    hooks.before_tool("s", &call).await;
    hooks.permission_request("s", &call).await;
    hooks.after_tool("s", &call, Ok(json!("x"))).await;
    hooks.after_tool("s", &call, Err("broken".to_owned())).await;
    hooks.subagent_start("s", &reviewer).await;
    hooks.subagent_stop("s", &reviewer, "looks good").await;
    hooks.pre_compact("s", Compaction::Auto).await;
    hooks.post_compact("s", Compaction::Manual).await;
    hooks.notification("s", "idle", "waiting for you").await;
    hooks.before_stop("s", Stop::new("done").reason("no_tool_calls").steps(3)).await;
    hooks.after_agent("s", "done").await;
    hooks.after_stop("s", "done").await;
    hooks.session_end("s", "finished").await;

    let seen = seen.lock().unwrap().clone();
    for event in EVENTS {
        assert!(seen.iter().any(|(kind, ..)| *kind == event), "{event:?} was not told");
    }
    let of = |event: EventKind| seen.iter().find(|(kind, ..)| *kind == event).unwrap();
    assert_eq!(of(EventKind::PermissionRequest).2.as_ref().unwrap().input["command"], "ls");
    assert_eq!(
        of(EventKind::PermissionRequest).2.as_ref().unwrap().use_id.as_deref(),
        Some("call-1")
    );
    assert_eq!(
        json!(of(EventKind::SubagentStop).1),
        json!({
            "subagent_name": "reviewer", "subagent_type": "general", "task_description": "read",
            "final_message": "looks good",
        })
    );
    assert_eq!(json!(of(EventKind::PreCompact).1), json!({"trigger": "auto"}));
    let stop = json!({"final_message": "done", "stop_reason": "no_tool_calls", "step_count": 3});
    assert_eq!(json!(of(EventKind::BeforeStop).1), stop);
    assert_eq!(json!(of(EventKind::SessionEnd).1)["exit_reason"], "finished");
}

/// Any tool that runs a command is one for `Shell`, as with every other agent.
#[tokio::test]
async fn a_tool_that_runs_a_command_is_a_shell_to_matchers() {
    let guard = always("guard", Decision::deny("no")).tool("Shell").pattern("mkfs");
    let hooks = Hooks::builder("tester").hook(guard).build().unwrap();
    let call = ToolCall::new("run_in_terminal", json!({"command": "mkfs /dev/sda"}));
    assert!(hooks.before_tool("s", &call).await.is_block());
    let call = ToolCall::new("note", json!({"text": "mkfs /dev/sda"}));
    assert!(!hooks.before_tool("s", &call).await.is_block());
}

#[test]
fn wrong_hooks_are_refused() {
    let build = |hooks: Vec<FunctionHook>| {
        let builder = hooks.into_iter().fold(Hooks::builder("tester"), HooksBuilder::hook);
        builder.build().err().unwrap()
    };
    let hook = |name: &str| always(name, Decision::default());
    assert_eq!(build(vec![hook("a"), hook("a")]), BuildError::DuplicateName("a".to_owned()));
    assert_eq!(build(vec![hook("")]), BuildError::NoName);
    let silent = FunctionHook::new("a", &[], |_| Box::pin(async { Ok(Decision::default()) }));
    assert_eq!(build(vec![silent]), BuildError::NoEvent("a".to_owned()));
    let wrong = build(vec![hook("a").pattern("(")]);
    assert!(wrong.to_string().starts_with("the hook `a` has an invalid matcher: "), "{wrong}");
}

/// Without places nothing is read or written, and there are the functions alone.
#[tokio::test]
async fn functions_alone() {
    let hooks =
        Hooks::builder("tester").hook(always("guard", Decision::deny("no"))).build().unwrap();
    let verdict = hooks.before_tool("s", &shell("ls")).await;
    assert!(verdict.is_block() && verdict.warnings.is_empty(), "{verdict:?}");
}
