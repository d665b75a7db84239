//! `anyhook context7`, against real server processes.

use std::fs;
use std::process::{Command, Stdio};

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{require, run, wait_until, write};
use serde_json::{Value, json};

use super::trust::at_a_terminal;
use crate::environment;
use crate::mcp::{
    Web, both, calls, give_servers, must_be_gone, must_hold, project_file, reports, scripted,
    started, user_file,
};
use crate::workflow::workflow_fixture::Desk;

const REPORT: &str = "ARTIFACTS/system/context-refresh-report.json";

#[test]
fn documentation_is_fetched_shown_and_kept() {
    let environment = environment();
    give_servers(&environment, "newer");
    assert_run!(environment, environment.run(&["context7", "Next.js App Router"]), @r#"
    exit code: 0
    ----- stdout -----
    Next.js App Router  /vercel/next.js  https://nextjs.org/docs/app
    ### Routing

    Source: https://nextjs.org/docs/app

    {"libraryId": "/vercel/next.js", "query": "Next.js App Router"}
    "#);
    let [report] = &reports(&environment)[..] else { panic!() };
    assert_eq!((&report["status"], &report["source"]), (&json!("fetched"), &json!("context7")));
    assert_eq!(report.get("for_stage"), None);
    let ran = environment.run(&["context7", "Nuxt", "Nuxt", "--stage", "qa_testing", "--json"]);
    let told = ran.json();
    let [nuxt] = &told.as_array().unwrap()[..] else { panic!("a topic counts once: {ran:?}") };
    assert_eq!(nuxt["library"], "/nuxt/nuxt");
    assert_eq!(reports(&environment), [report.clone(), nuxt.clone()]);
    must_be_gone(&environment);
}

#[test]
fn a_report_of_the_same_topic_and_stage_takes_its_place() {
    let environment = environment();
    give_servers(&environment, "older");
    for arguments in [
        &["context7", "Nuxt"][..],
        &["context7", "Nuxt", "--stage", "qa_testing"],
        &["context7", "Nuxt"],
    ] {
        assert_eq!(environment.run(arguments).code, 0);
    }
    let stages: Vec<Value> =
        reports(&environment).iter().map(|one| one["for_stage"].clone()).collect();
    assert_eq!(stages, [json!("qa_testing"), Value::Null]);
    // One that stands alone is a list of one.
    let alone = json!({"topic": "React", "source": "me", "summary": "Hooks.", "fetched_at": "2025-12-02T15:30:00Z"});
    write(&environment.project().join(REPORT), alone.to_string(), 0o644);
    assert_eq!(environment.run(&["context7", "Nuxt"]).code, 0);
    let topics: Vec<Value> = reports(&environment).iter().map(|one| one["topic"].clone()).collect();
    assert_eq!(topics, ["React", "Nuxt"]);
}

#[test]
fn many_at_once_lose_nothing() {
    let environment = environment();
    give_servers(&environment, "newer");
    let topics: Vec<String> = (0..6).map(|number| format!("Nuxt {number}")).collect();
    let children: Vec<_> = topics
        .iter()
        .map(|topic| {
            environment.command(&["context7", topic]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let mut kept: Vec<String> =
        reports(&environment).iter().map(|one| one["topic"].as_str().unwrap().to_owned()).collect();
    kept.sort();
    assert_eq!(kept, topics);
}

/// What a server does wrong is told, and written down as the schema has it.
#[test]
fn a_server_that_is_of_no_use() {
    let environment = environment();
    give_servers(&environment, "newer");
    for (topic, timeout, why) in [
        ("slow", "5s", "it did not answer within 5 s before it answered the call"),
        ("die", "1m", "it ended before it answered the call (exit code 3)"),
        ("garbage", "5s", "its answer is not a valid protocol message: {]{]"),
        ("half", "1m", "it closed the connection before it answered the call, in the middle"),
        ("huge", "1m", "its answer is longer than 8388608 bytes"),
        ("nothing", "1m", "it has no library for `nothing`"),
    ] {
        let ran = environment.run(&["context7", topic, "--timeout", timeout]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{topic}: {ran:?}");
        assert!(ran.stderr.contains(why) && ran.stderr.contains("hint: "), "{topic}: {ran:?}");
        let report = reports(&environment).pop().unwrap();
        assert_eq!((&report["topic"], &report["status"]), (&json!(topic), &json!("unavailable")));
        assert!(report["reason"].as_str().unwrap().contains(why), "{report}");
        assert_eq!(report.get("summary"), None, "{report}");
    }
    must_be_gone(&environment);
}

#[test]
fn a_topic_that_fails_leaves_the_others_alone() {
    let environment = environment();
    give_servers(&environment, "newer");
    assert_run!(environment, environment.run(&["context7", "nothing", "Nuxt"]), @r#"
    exit code: 1
    ----- stdout -----
    Nuxt  /nuxt/nuxt  https://nextjs.org/docs/app
    ### Routing

    Source: https://nextjs.org/docs/app

    {"libraryId": "/nuxt/nuxt", "query": "Nuxt"}

    ----- stderr -----
    error: no documentation found for `nothing`: the MCP server `context7`: it has no library for `nothing`: No documentation libraries found matching your query.
    hint: name the library as the server does, or by its id, such as `/vercel/next.js`
    "#);
    assert_eq!(started(&environment), 1);
}

#[test]
fn a_server_that_is_absent() {
    let environment = environment();
    assert_run!(environment, environment.run(&["context7", "React", "Vue"]), @"
    exit code: 1
    ----- stderr -----
    error: no documentation found for `React`, `Vue`: ~/project/.agents/mcp.json or ~/.config/agents/mcp.json: there is no MCP server `context7`
    hint: add it under `mcpServers` in ~/project/.agents/mcp.json or ~/.config/agents/mcp.json
    ");
    assert_eq!(reports(&environment).len(), 2);
    let entry = json!({"command": "/nowhere/context7"});
    write(&user_file(&environment), both(&entry), 0o644);
    assert_run!(environment, environment.run(&["context7", "React"]), @"
    exit code: 1
    ----- stderr -----
    error: no documentation found for `React`: the MCP server `context7`: `/nowhere/context7` cannot be started: No such file or directory
    hint: install the program, or correct `command` and `cwd` in mcp.json
    ");
}

/// Nothing from a repository runs unasked.
#[test]
fn a_projects_file_counts_only_as_it_was_trusted() {
    let environment = environment();
    let file = project_file(&environment);
    write(&file, both(&scripted(&environment, "newer")), 0o644);
    let untrusted = environment.run(&["context7", "Nuxt"]);
    assert_run!(environment, untrusted, @"
    exit code: 1
    ----- stderr -----
    error: no documentation found for `Nuxt`: `~/project/.agents/mcp.json` is not trusted, so its MCP servers are ignored
    hint: anyhook trust .agents/mcp.json
    ");
    assert_eq!(started(&environment), 0);
    assert_eq!(environment.run(&["trust", ".agents/mcp.json"]).code, 0);
    assert_eq!(environment.run(&["context7", "Nuxt"]).code, 0);
    assert_eq!(started(&environment), 1);
    let mut text = fs::read_to_string(&file).unwrap();
    text.push('\n');
    write(&file, &text, 0o644);
    let changed = environment.run(&["context7", "Nuxt"]);
    assert_eq!(changed.code, 1);
    assert!(changed.stderr.contains("has changed since it was trusted"), "{changed:?}");
    assert_eq!(started(&environment), 1, "no byte may differ");
    // What the user names counts meanwhile, and after the project's if that is trusted.
    give_servers(&environment, "older");
    assert!(environment.run(&["context7", "Nuxt"]).stdout.contains("context7CompatibleLibraryID"));
    assert_eq!(environment.run(&["trust", "--all"]).code, 0);
    assert!(environment.run(&["context7", "Nuxt"]).stdout.contains("libraryId"));
    assert_eq!(environment.run(&["untrust", "mcp.json"]).code, 0);
    assert!(environment.run(&["context7", "Nuxt"]).stdout.contains("context7CompatibleLibraryID"));
}

#[test]
fn a_server_is_started_in_the_projects_root() {
    let environment = environment();
    write(
        &environment.project().join("tools/server"),
        "#!/bin/sh\necho \"in $PWD with $MARKED\" >&2\nexit 7\n",
        0o755,
    );
    let entry = json!({"command": "tools/server", "env": {"MARKED": "${HOME}"}});
    write(&user_file(&environment), both(&entry), 0o644);
    fs::create_dir_all(environment.project().join("deep/er")).unwrap();
    let mut command = environment.command(&["context7", "Nuxt"]);
    command.current_dir(environment.project().join("deep/er"));
    let ran = run(command, b"");
    let words =
        format!("in {} with {}", environment.project().display(), environment.home().display());
    assert!(ran.stderr.contains(&words), "{ran:?}");
    assert_eq!(reports(&environment).len(), 1, "they are kept in the project's root, too");
}

#[test]
fn a_server_over_http() {
    let environment = environment();
    let web = Web::start();
    let entry = json!({
        "type": "http", "url": format!("http://127.0.0.1:{}/context7", web.port),
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    });
    write(&user_file(&environment), both(&entry), 0o644);
    let without = environment.run(&["context7", "Vue"]);
    assert!(
        without.stderr.contains("mcp.json:1:") && without.stderr.contains("TOKEN"),
        "{without:?}"
    );
    let mut command = environment.command(&["context7", "Vue"]);
    command.env("TOKEN", "s3cret");
    let ran = run(command, b"");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Vue  /vuejs/core\nxxxxx\n"), "{ran:?}");
    let mut command = environment.command(&["context7", "Vue"]);
    command.env("TOKEN", "s3crets");
    let ran = run(command, b"");
    assert!(ran.stderr.contains("it answered with status 401"), "{ran:?}");
    assert!(!fs::read_to_string(environment.project().join(REPORT)).unwrap().contains("s3cret"));
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_line_and_column() {
    let environment = environment();
    write(
        &user_file(&environment),
        "{\n  \"mcpServers\": {\n    \"context7\": oops\n  }\n}\n",
        0o644,
    );
    let ran = environment.run(&["context7", "React"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("~/.config/agents/mcp.json:3:17: "), "{ran:?}");
    assert_eq!(reports(&environment)[0]["status"], "unavailable");
    let doctor = environment.run(&["doctor"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.stdout.contains("~/.config/agents/mcp.json:3:17: "), "{doctor:?}");
    fs::remove_file(user_file(&environment)).unwrap();
    fs::create_dir(user_file(&environment)).unwrap();
    let ran = environment.run(&["context7", "React"]);
    assert!(ran.stderr.contains("cannot be used: it is not a file"), "{ran:?}");
}

#[test]
fn a_report_that_is_not_valid_is_not_written_over() {
    let environment = environment();
    give_servers(&environment, "newer");
    for text in ["[{\"topic\": 5}]", "mine", "{\"title\": \"my notes\"}"] {
        let file = environment.project().join(REPORT);
        write(&file, text, 0o644);
        let ran = environment.run(&["context7", "Nuxt"]);
        assert_eq!(ran.code, 65, "{ran:?}");
        assert!(ran.stderr.contains(REPORT) && ran.stderr.contains("it is never overwritten"));
        must_hold(&file, text);
    }
    assert_eq!(started(&environment), 0, "what could not be kept is not asked for");
}

#[test]
fn wrong_usage() {
    let environment = environment();
    for arguments in [
        &["context7"][..],
        &["context7", " "],
        &["context7", "React", "--stage", "implementation"],
        &["context7", "React", "--event"],
        &["context7", "React", "--timeout", "2h"],
        &["context7", "React", "--timeout", "soon"],
    ] {
        let ran = environment.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("hint: "), "{arguments:?}: {ran:?}");
    }
    assert!(!environment.project().join("ARTIFACTS").exists());
}

/// Told to end while a server works, the program ends that first, and then by the same signal.
#[test]
fn a_signal_ends_the_server_too() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let environment = environment();
        give_servers(&environment, "newer");
        let mut command = environment.command(&["context7", "slow"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        wait_until("the server to be asked", || calls(&environment).len() == 1);
        let process = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &process]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(code - 128));
        must_be_gone(&environment);
        assert!(!environment.project().join(REPORT).exists(), "nobody waits for a report");
    }
}

/// Whoever waits for more than a moment is told what for.
#[test]
fn at_a_terminal_it_says_that_it_waits() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    give_servers(&environment, "newer");
    let ran = at_a_terminal(&environment, &["context7", "slow", "--timeout", "3s"], "");
    assert!(ran.stdout.contains("asking context7 … 1 s"), "{ran:?}");
    assert!(ran.stdout.contains("error: no documentation found for `slow`"), "{ran:?}");
    let ran = environment.run(&["context7", "slow", "--timeout", "3s"]);
    assert!(!ran.stderr.contains("asking"), "nobody looks: {ran:?}");
}

/// The engine ends a hook that takes too long; the server goes with it.
#[test]
fn a_hook_that_times_out_leaves_no_server() {
    let environment = environment();
    give_servers(&environment, "newer");
    let script = "exec \"$ANYHOOK_BIN\" context7 slow";
    environment.user_hook("docs", "trigger: before_agent\ntimeout: 3000", script);
    let ran = environment.event(&json!({"event_type": "before_agent", "prompt": "hello"}));
    assert_eq!(ran.code, 0, "{ran:?}");
    let record = environment.journal()[0].to_string();
    assert!(record.contains("timed out after 3000 ms"), "{record}");
    assert_eq!(started(&environment), 1);
    must_be_gone(&environment);
}

/// What the pack's hook calls when an agent begins.
mod event {
    use super::*;

    fn desk() -> Desk {
        let desk = Desk::with(&json!({
            "project_name": "shop", "risk_level": "low",
            "technology_stack": {
                "frontend": {"framework": "Next.js", "version": "15"},
                "backend": {"framework": "Nuxt"}, "ai": null,
            },
        }));
        desk.up_to("frontend_implementation");
        desk
    }

    fn start(desk: &Desk, agent: &str) {
        let event = json!({"event_type": "subagent_start", "subagent_type": agent});
        let ran = desk.event(&["context7", "--event", "--timeout", "20s"], &event);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran:?}");
    }

    #[test]
    fn every_framework_is_asked_about_once_a_day_and_stage() {
        let desk = desk();
        give_servers(&desk.environment, "newer");
        start(&desk, "frontend-engineer");
        let told: Vec<(Value, Value)> = reports(&desk.environment)
            .iter()
            .map(|report| (report["topic"].clone(), report["for_stage"].clone()))
            .collect();
        let stage = json!("frontend_implementation");
        assert_eq!(told, [(json!("Next.js"), stage.clone()), (json!("Nuxt"), stage)]);
        assert_eq!(calls(&desk.environment).len(), 4);
        start(&desk, "frontend-engineer");
        assert_eq!(calls(&desk.environment).len(), 4, "what is there is current");
        start(&desk, "backend_engineer");
        assert_eq!(calls(&desk.environment).len(), 8, "another stage");
        // What was fetched two days ago is not current.
        let mut old = reports(&desk.environment);
        let before = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(48);
        old[0]["fetched_at"] = json!(before.to_string());
        desk.write(REPORT, &json!(old));
        start(&desk, "frontend-engineer");
        assert_eq!(calls(&desk.environment).len(), 10);
        must_be_gone(&desk.environment);
    }

    #[test]
    fn libraries_and_plain_areas_are_asked_about_and_no_match_is_none() {
        let desk = Desk::with(&json!({
            "project_name": "shop", "risk_level": "low",
            "technology_stack": {
                "frontend": {"framework": "Next.js", "libraries": ["Nuxt"]},
                "database": "nothing",
            },
        }));
        desk.up_to("frontend_implementation");
        give_servers(&desk.environment, "newer");
        let event = json!({"event_type": "subagent_start", "subagent_type": "frontend-engineer"});
        let ran = desk.event(&["context7", "--event", "--timeout", "20s"], &event);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        assert!(ran.stderr.contains("it has no library for `nothing`"), "{ran:?}");
        let told: Vec<(Value, Value)> = reports(&desk.environment)
            .iter()
            .map(|report| (report["topic"].clone(), report["status"].clone()))
            .collect();
        let (fetched, missing) = (json!("fetched"), json!("unavailable"));
        assert_eq!(
            told,
            [
                (json!("Next.js"), fetched.clone()),
                (json!("Nuxt"), fetched),
                (json!("nothing"), missing)
            ]
        );
        // What is neither is refused, with its place.
        desk.write(
            "project-config.json",
            &json!({"project_name": "x", "technology_stack": {"database": 5}}),
        );
        let ran = desk.run(&["context", "frontend_engineer"]);
        assert_eq!(ran.code, 65, "{ran:?}");
        assert!(ran.stderr.contains("/technology_stack/database: "), "{ran:?}");
    }

    #[test]
    fn others_are_let_alone() {
        let desk = desk();
        give_servers(&desk.environment, "newer");
        for agent in ["Explore", "qa_engineer", "product_manager"] {
            start(&desk, agent);
        }
        let event = json!({"event_type": "before_agent", "prompt": "hello"}).to_string();
        let ran = desk.environment.run_with_input(&["context7", "--event"], &event);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
        assert_eq!(started(&desk.environment), 0);
        let mut command = desk.environment.command(&["context7", "--event"]);
        command.env("ANYHOOK_WORKFLOW_AGENT", "backend_engineer");
        assert_eq!(run(command, event.as_bytes()).code, 0);
        assert_eq!(reports(&desk.environment)[0]["for_stage"], "backend_implementation");
    }

    /// A help that is not to be had stops nobody.
    #[test]
    fn without_a_server_the_report_says_so() {
        let desk = desk();
        let event = json!({"event_type": "subagent_start", "subagent_type": "frontend-engineer"});
        let ran = desk.event(&["context7", "--event"], &event);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        let warning = "warning: no documentation found for `Next.js`, `Nuxt`: ";
        assert!(ran.stderr.starts_with(warning) && ran.stderr.contains("\nhint: "), "{ran:?}");
        for report in reports(&desk.environment) {
            assert_eq!(report["status"], "unavailable", "{report}");
        }
        give_servers(&desk.environment, "newer");
        start(&desk, "frontend-engineer");
        assert_eq!(reports(&desk.environment)[0]["status"], "fetched", "it is asked again");
    }

    #[test]
    fn what_goes_wrong_is_a_warning() {
        let desk = desk();
        give_servers(&desk.environment, "newer");
        let event = json!({"event_type": "subagent_start", "subagent_type": "backend_engineer"});
        for (path, text) in
            [(REPORT, "mine"), (".agents/workflow.toml", "stage = 5"), ("project-config.json", "[")]
        {
            let file = desk.path(path);
            let before = fs::read_to_string(&file).ok();
            write(&file, text, 0o644);
            let ran = desk.event(&["context7", "--event"], &event);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{path}: {ran:?}");
            assert!(ran.stderr.starts_with("warning: "), "{path}: {ran:?}");
            match before {
                Some(before) => fs::write(&file, before).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
        }
        assert_eq!(started(&desk.environment), 0);
    }
}
