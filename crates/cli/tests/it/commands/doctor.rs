//! `anyhook doctor`.

use std::fs;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run, write};

use super::install::{anyhook, command, in_place, program, settings, stable};
use crate::{environment, namespace};

/// Makes an environment with an agent wired in.
fn wired(agent: &str) -> TestEnv {
    let environment = in_place();
    let ran = anyhook(&environment, &["install", agent]);
    assert_eq!(ran.code, 0, "{ran:?}");
    environment
}

/// Tries all entries, without which nothing is known of them.
fn prove(environment: &TestEnv) {
    let ran = anyhook(environment, &["doctor", "--prove", "--no-run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Changes a file's text.
fn edit(environment: &TestEnv, agent: &str, from: &str, to: &str) {
    let file = settings(environment, agent);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn nothing_is_wired_in() {
    let environment = in_place();
    program(&environment, "claude");
    assert_run!(environment, anyhook(&environment, &["doctor"]), @"
    exit code: 0
    ----- stdout -----
    anyhook
      ✓ state folder is writable: ~/.local/state/anyhook
    hooks
      ✓ 0 hooks ready
    journal
      ✓ 0 records in the last 7 days
    claude-code
      · found (~/bin/claude), but anyhook is not installed in it: anyhook install claude-code
    other agents
      · not found on this machine: [AGENTS]
    no problems found
    ");
}

#[test]
fn all_is_well() {
    let environment = wired("claude-code");
    for agent in ["codex", "gemini-cli", "opencode"] {
        assert_eq!(anyhook(&environment, &["install", agent]).code, 0);
    }
    prove(&environment);
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    assert_run!(environment, anyhook(&environment, &["doctor"]), @"
    exit code: 0
    ----- stdout -----
    anyhook
      ✓ state folder is writable: ~/.local/state/anyhook
    hooks
      ✓ 1 hook ready
    journal
      ✓ 4 records in the last 7 days
    claude-code
      ✓ installed in user settings
      ✓ proven at [DAY AND TIME], its entries only
      · no events seen yet
    codex
      ✓ installed in user settings
      ✓ proven at [DAY AND TIME], its entries only
      · no events seen yet
    gemini-cli
      ✓ installed in user settings
      ✓ proven at [DAY AND TIME], its entries only
      · no events seen yet
    opencode
      ✓ installed in user settings
      ✓ proven at [DAY AND TIME], its entries only
      · no events seen yet
    other agents
      · not found on this machine: [AGENTS]
    no problems found
    ");
}

#[test]
fn as_json() {
    let environment = wired("gemini-cli");
    edit(&environment, "gemini-cli", "{", "{\"hooksConfig\": {\"enabled\": false},");
    assert_run!(environment, anyhook(&environment, &["doctor", "--json"]), @r#"
    exit code: 1
    ----- stdout -----
    {
      "findings": [
        {
          "about": "anyhook",
          "severity": "good",
          "message": "state folder is writable: ~/.local/state/anyhook"
        },
        {
          "about": "hooks",
          "severity": "good",
          "message": "0 hooks ready"
        },
        {
          "about": "journal",
          "severity": "good",
          "message": "1 record in the last 7 days"
        },
        {
          "about": "gemini-cli",
          "severity": "good",
          "message": "installed in user settings"
        },
        {
          "about": "gemini-cli",
          "severity": "bad",
          "message": "does not call anyhook: hooksConfig.enabled = false in [ROOT]/home/.gemini/settings.json disables anyhook's hooks",
          "hint": "remove it from [ROOT]/home/.gemini/settings.json, then run anyhook doctor"
        },
        {
          "about": "gemini-cli",
          "severity": "note",
          "message": "no events seen yet"
        },
        {
          "about": "other agents",
          "severity": "note",
          "message": "not found on this machine: [AGENTS]"
        }
      ]
    }
    "#);
}

#[test]
fn the_project_as_well() {
    let environment = wired("claude-code");
    assert_eq!(anyhook(&environment, &["install", "claude-code", "--project"]).code, 0);
    prove(&environment);
    let ran = anyhook(&environment, &["doctor"]);
    assert!(ran.code == 0 && ran.stdout.contains("in project settings"), "{ran:?}");
    // In the home folder the project's settings are the user's.
    let mut at_home = command(&environment, &["doctor"]);
    at_home.current_dir(environment.home());
    let ran = run(at_home, b"");
    assert!(!ran.stdout.contains("in project settings"), "{ran:?}");
}

#[test]
fn the_program_is_gone() {
    for agent in ["claude-code", "opencode"] {
        let environment = wired(agent);
        fs::remove_file(stable(&environment)).unwrap();
        let ran = anyhook(&environment, &["doctor"]);
        let words = format!("calls `{}`, which does not exist", stable(&environment).display());
        assert!(ran.code == 1 && ran.stdout.contains(&words), "{ran:?}");
        assert_eq!(ran.stdout.matches(&words).count(), 1, "{ran:?}");
        let words = format!("hint: anyhook install {agent}");
        assert!(ran.stdout.contains(&words), "{ran:?}");
    }
}

#[test]
fn broken_settings() {
    let environment = wired("claude-code");
    write(&settings(&environment, "claude-code"), "{\"hooks\": {\n", 0o644);
    write(&environment.home().join(".codex/config.toml"), "[features\n", 0o644);
    assert_run!(environment, anyhook(&environment, &["doctor"]), @"
    exit code: 1
    ----- stdout -----
    anyhook
      ✓ state folder is writable: ~/.local/state/anyhook
    hooks
      ✓ 0 hooks ready
    journal
      ✓ 1 record in the last 7 days
    claude-code
      ✗ `[ROOT]/home/.claude/settings.json` is invalid: Unterminated object on line 1 column 11
        hint: fix the file: the agent may not be able to read it either
    codex
      ✗ `[ROOT]/home/.codex/config.toml` is invalid: unclosed table, expected `]` on line 1 column 10
        hint: fix the file: the agent may not be able to read it either
    other agents
      · not found on this machine: [AGENTS]
    2 problems found
    ");
}

#[test]
fn hooks_are_switched_off() {
    let environment = wired("claude-code");
    for agent in ["codex", "gemini-cli"] {
        assert_eq!(anyhook(&environment, &["install", agent]).code, 0);
    }
    edit(&environment, "claude-code", "{", "{\"disableAllHooks\": true,");
    edit(&environment, "gemini-cli", "{", "{\"hooksConfig\": {\"enabled\": false},");
    let config = environment.home().join(".codex/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("[features]\nhooks = false\n{text}")).unwrap();
    assert_run!(environment, anyhook(&environment, &["doctor"]), @"
    exit code: 1
    ----- stdout -----
    anyhook
      ✓ state folder is writable: ~/.local/state/anyhook
    hooks
      ✓ 0 hooks ready
    journal
      ✓ 3 records in the last 7 days
    claude-code
      ✓ installed in user settings
      ✗ does not call anyhook: disableAllHooks in [ROOT]/home/.claude/settings.json disables anyhook's hooks
        hint: remove it from [ROOT]/home/.claude/settings.json, then run anyhook doctor
      · no events seen yet
    codex
      ✓ installed in user settings
      ✗ does not call anyhook: [features] hooks = false in [ROOT]/home/.codex/config.toml disables anyhook's hooks
        hint: remove it from [ROOT]/home/.codex/config.toml, then run anyhook doctor
      · no events seen yet
    gemini-cli
      ✓ installed in user settings
      ✗ does not call anyhook: hooksConfig.enabled = false in [ROOT]/home/.gemini/settings.json disables anyhook's hooks
        hint: remove it from [ROOT]/home/.gemini/settings.json, then run anyhook doctor
      · no events seen yet
    other agents
      · not found on this machine: [AGENTS]
    3 problems found
    ");
}

/// Returns what `doctor` says does not call us, and how to get out.
fn switched_off(environment: &TestEnv) -> Vec<(String, String)> {
    let report = anyhook(environment, &["doctor", "--json"]).json();
    let findings = report["findings"].as_array().unwrap().iter();
    let is_off = |finding: &&serde_json::Value| {
        finding["message"].as_str().unwrap().starts_with("does not call anyhook: ")
    };
    let text = |value: &serde_json::Value| environment.normal(value.as_str().unwrap());
    findings
        .filter(is_off)
        .map(|finding| {
            assert_eq!(finding["severity"], "bad");
            (text(&finding["message"]), text(&finding["hint"]))
        })
        .collect()
}

#[test]
fn the_project_switches_hooks_off() {
    let environment = wired("claude-code");
    for agent in ["codex", "gemini-cli"] {
        assert_eq!(anyhook(&environment, &["install", agent]).code, 0);
    }
    assert_eq!(switched_off(&environment), []);
    let project = environment.project();
    for (file, text, setting) in [
        (".claude/settings.json", "{\"disableAllHooks\": true}", "disableAllHooks"),
        (".claude/settings.local.json", "{\"disableAllHooks\": true}", "disableAllHooks"),
        (".codex/config.toml", "[features]\nhooks = false\n", "[features] hooks = false"),
        (
            ".codex/config.toml",
            "[features]\ncodex_hooks = false\n",
            "[features] codex_hooks = false",
        ),
        (
            ".gemini/settings.json",
            "{\"hooksConfig\": {\"enabled\": false}}",
            "hooksConfig.enabled = false",
        ),
        (
            ".gemini/settings.json",
            "{\"hooksConfig\": {\"disabled\": [\"anyhook\"]}}",
            "hooksConfig.disabled, which lists anyhook,",
        ),
    ] {
        let path = project.join(file);
        write(&path, text, 0o644);
        let place = format!("[ROOT]/home/project/{file}");
        let expected = (
            format!("does not call anyhook: {setting} in {place} disables anyhook's hooks"),
            format!("remove it from {place}, then run anyhook doctor"),
        );
        assert_eq!(switched_off(&environment), std::slice::from_ref(&expected), "{file}");
        assert_eq!(anyhook(&environment, &["doctor"]).code, 1);
        let agent = file[1..].split('/').next().unwrap();
        let hosts = anyhook(&environment, &["hosts"]);
        let row = hosts.stdout.lines().find(|line| line.starts_with(agent)).unwrap();
        assert!(row.ends_with("switched off"), "{hosts:?}");
        let said = environment.normal(&hosts.stdout);
        assert!(said.contains(&format!("{}\nhint: {}\n", expected.0, expected.1)), "{said}");
        let id = row.split(' ').next().unwrap();
        let installed = anyhook(&environment, &["install", id]);
        let said = environment.normal(&installed.stdout);
        assert!(said.contains(&format!("  {}\n  hint: {}\n", expected.0, expected.1)), "{said}");
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(switched_off(&environment), []);
}

#[test]
fn of_a_projects_settings_the_local_ones_count_first() {
    let environment = wired("claude-code");
    let folder = environment.project().join(".claude");
    write(&folder.join("settings.json"), "{\"disableAllHooks\": true}", 0o644);
    assert_eq!(switched_off(&environment).len(), 1);
    write(&folder.join("settings.local.json"), "{\"disableAllHooks\": false}", 0o644);
    assert_eq!(switched_off(&environment), []);
}

#[test]
fn a_project_file_that_cannot_be_read_is_told() {
    let environment = wired("claude-code");
    let file = environment.project().join(".claude/settings.local.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for (make, why) in [
        ("mkfifo", "it is not a file"),
        ("mkdir", "it is not a file"),
        ("truncate --size 5M", "it is too large"),
        ("ln -s settings.local.json", "Too many levels of symbolic links (os error 40)"),
    ] {
        let line = format!("{make} \"$0\"");
        let made = std::process::Command::new("sh").args(["-c", &line]).arg(&file).status();
        assert!(made.unwrap().success(), "{make}");
        let place = "[ROOT]/home/project/.claude/settings.local.json";
        let what = format!(
            "does not call anyhook: `{place}`, which may switch hooks off, cannot be read: {why}"
        );
        let hint = "check the file and its permissions".to_owned();
        assert_eq!(switched_off(&environment), [(what, hint)], "{make}");
        std::process::Command::new("rm").arg("-r").arg(&file).status().unwrap();
    }
    write(&file, "{\"disableAllHooks\": tr", 0o644);
    let broken = anyhook(&environment, &["doctor"]);
    assert_eq!(broken.code, 1, "{broken:?}");
    assert!(broken.stdout.contains("settings.local.json` is invalid"), "{broken:?}");
}

#[test]
fn a_plugin_with_modules_may_answer_before_us() {
    let environment = wired("claude-code");
    let plugin = environment.home().join(".claude/plugins/cache/shop/mod/1.0.0");
    let installed = serde_json::json!({"version": 2, "plugins": {
        "mod@shop": [{"scope": "user", "installPath": plugin, "version": "1.0.0"}],
    }});
    let list = environment.home().join(".claude/plugins/installed_plugins.json");
    write(&list, installed.to_string(), 0o644);
    write(&plugin.join("hooks/hooks.json"), "{\"modules\": [\"./register.ts\"]}", 0o644);
    assert_eq!(switched_off(&environment), [], "nobody has enabled it");
    let settings = environment.project().join(".claude/settings.json");
    write(&settings, "{\"enabledPlugins\": {\"mod@shop\": true}}", 0o644);
    let found = switched_off(&environment);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].0,
        "does not call anyhook: the plugin in \
         [ROOT]/home/.claude/plugins/cache/shop/mod/1.0.0/hooks/hooks.json has modules, which may \
         answer events before anyhook"
    );
    assert!(found[0].1.starts_with("disable the plugin (/plugin), or "), "{found:?}");
    write(&plugin.join("hooks/hooks.json"), "{\"hooks\": {}, \"modules\": []}", 0o644);
    assert_eq!(switched_off(&environment), []);
}

#[test]
fn gemini_switches_ours_off() {
    let environment = wired("gemini-cli");
    edit(&environment, "gemini-cli", "{", "{\"hooksConfig\": {\"disabled\": [\"anyhook\"]},");
    let ran = anyhook(&environment, &["doctor"]);
    assert!(
        ran.code == 1 && ran.stdout.contains("hooksConfig.disabled, which lists anyhook, in "),
        "{ran:?}"
    );
}

#[test]
fn codex_does_not_trust_us() {
    let environment = wired("codex");
    let config = environment.home().join(".codex/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    // One is stale, one is missing.
    let at = text.find("pre_tool_use:0:0").unwrap();
    let hash = at + text[at..].find("sha256:").unwrap() + "sha256:".len();
    let stale = format!("{}0000{}", &text[..hash], &text[hash + 4..]);
    fs::write(&config, stale.replace("hooks.json:stop:", "hooks.json:gone:")).unwrap();
    assert_run!(environment, anyhook(&environment, &["doctor"]), @"
    exit code: 1
    ----- stdout -----
    anyhook
      ✓ state folder is writable: ~/.local/state/anyhook
    hooks
      ✓ 0 hooks ready
    journal
      ✓ 1 record in the last 7 days
    codex
      ✓ installed in user settings
      ✗ does not call anyhook: [ROOT]/home/.codex/hooks.json:pre_tool_use:0:0 is not trusted in [ROOT]/home/.codex/config.toml
        hint: anyhook install codex
      ✗ does not call anyhook: [ROOT]/home/.codex/hooks.json:stop:0:0 is not trusted in [ROOT]/home/.codex/config.toml
        hint: anyhook install codex
      · no events seen yet
    other agents
      · not found on this machine: [AGENTS]
    2 problems found
    ");
    assert_eq!(anyhook(&environment, &["install", "codex"]).code, 0);
    prove(&environment);
    assert_eq!(anyhook(&environment, &["doctor"]).code, 0);
}

#[test]
fn a_rival_and_a_missing_event() {
    let environment = wired("claude-code");
    edit(
        &environment,
        "claude-code",
        "\"PreToolUse\": [",
        "\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"other-guard\"}]},",
    );
    edit(&environment, "claude-code", "\"Stop\": [", "\"Elsewhere\": [");
    assert_run!(environment, anyhook(&environment, &["doctor"]), @"
    exit code: 1
    ----- stdout -----
    anyhook
      ✓ state folder is writable: ~/.local/state/anyhook
    hooks
      ✓ 0 hooks ready
    journal
      ✓ 1 record in the last 7 days
    claude-code
      ✗ installed in user settings, but not at Stop
        hint: anyhook install claude-code
      · you also have a hook of your own: other-guard
      · no events seen yet
    other agents
      · not found on this machine: [AGENTS]
    1 problem found
    ");
}

#[test]
fn the_last_event() {
    let environment = wired("claude-code");
    let payload = r#"{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#;
    assert_eq!(environment.run_with_input(&["hook", "claude-code"], payload).code, 0);
    prove(&environment);
    let ran = anyhook(&environment, &["doctor"]);
    assert!(ran.code == 0 && ran.stdout.contains("✓ last event: before_tool at 2"), "{ran:?}");
}

#[test]
fn hooks_that_do_not_run() {
    let environment = in_place();
    environment.user_hook("ready", "trigger: before_tool", "exit 0");
    environment.user_hook("broken", "trigger: sometimes", "exit 0");
    environment.project_hook("stranger", "trigger: before_tool", "exit 0");
    let changed = environment.project_hook("changed", "trigger: before_tool", "exit 0");
    assert_eq!(environment.run(&["trust", "changed"]).code, 0);
    fs::write(changed.join("scripts/run"), "#!/bin/sh\nexit 1\n").unwrap();
    write(&environment.home().join(".config/agents/anyhook.toml"), "stop = 3\n", 0o644);
    assert_run!(environment, anyhook(&environment, &["doctor"]), @"
    exit code: 1
    ----- stdout -----
    anyhook
      ✓ state folder is writable: ~/.local/state/anyhook
      ✗ `[ROOT]/home/.config/agents/anyhook.toml:1:1`: unknown field `stop`, expected one of `stop_cap`, `ask_fallback`, `journal`, `decisions`, `notify`, `person`, `alarms`, `ui`
        hint: fix anyhook.toml
    hooks
      ✗ broken cannot run: unknown trigger `sometimes`
        hint: events: session_start, session_end, before_agent, after_agent, before_stop, after_stop, before_tool, after_tool, after_tool_failure, subagent_start, subagent_stop, pre_compact, post_compact, notification, permission_request
      ✗ changed fails: it has changed since it was trusted; review it with `anyhook trust`
        hint: anyhook trust changed
      · stranger is not trusted, so it does not run (run anyhook trust)
      ✓ 1 hook ready
    journal
      ✓ 1 record in the last 7 days
    other agents
      · not found on this machine: [AGENTS]
    3 problems found
    ");
}

#[test]
fn state_that_cannot_be_written() {
    require!(MachineNeed::Mounts);
    let environment = in_place();
    fs::create_dir_all(environment.state()).unwrap();
    let state = environment.state();
    let mounts =
        format!("mount --bind '{0}' '{0}' && mount -o remount,bind,ro '{0}'", state.display());
    let ran = run(namespace::command(&environment, &mounts, &["doctor"]), b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("cannot be written: "), "{ran:?}");
    assert!(ran.stdout.contains("hint: verdicts still apply"), "{ran:?}");
}

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    let environment = in_place();
    let doctor = environment.command_without_home(&["doctor"]);
    let ran = run(doctor, b"");
    assert!(ran.code == 1 && ran.stdout.contains("hint: set HOME"), "{ran:?}");
}

/// Agents call a copy: that it is of another build is worth knowing, and `install` renews it.
#[test]
fn a_copy_of_another_build() {
    let environment = environment();
    assert_eq!(anyhook(&environment, &["install", "claude-code"]).code, 0);
    prove(&environment);
    let words = "is from a different build than this program: anyhook install";
    let ran = anyhook(&environment, &["doctor"]);
    assert!(ran.code == 0 && !ran.stdout.contains(words), "{ran:?}");
    let copy = environment.home().join(".local/share/anyhook/bin/anyhook");
    let mut bytes = fs::read(&copy).unwrap();
    bytes.push(0);
    fs::write(&copy, bytes).unwrap();
    let ran = anyhook(&environment, &["doctor"]);
    let told = format!("  · ~/.local/share/anyhook/bin/anyhook {words}\n");
    assert!(ran.code == 1 && ran.stdout.contains(&told), "{ran:?}");
    assert!(ran.stdout.contains("✗ the program that its entries call was replaced"), "{ran:?}");
    let ran = anyhook(&environment, &["install", "claude-code"]);
    assert!(ran.stdout.contains("copied anyhook ("), "{ran:?}");
    assert!(!anyhook(&environment, &["doctor"]).stdout.contains(words));
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["doctor", "--help"]));
}

#[test]
fn the_daemon() {
    let environment = environment();
    let about_daemon = || {
        let report = environment.run(&["doctor", "--json"]).json();
        let of_daemon = |finding: &&serde_json::Value| finding["about"] == "daemon";
        report["findings"].as_array().unwrap().iter().filter(of_daemon).cloned().collect::<Vec<_>>()
    };
    assert!(about_daemon().is_empty(), "nobody has needed it yet");
    environment.run(&["daemon", "start"]);
    assert_eq!(about_daemon()[0]["severity"], "good");
    environment.run(&["daemon", "stop"]);
    assert_eq!(about_daemon()[0]["severity"], "note");

    // What it could not do is said, whoever started it.
    for agent in ["one", "two", "three"] {
        environment.run(&["emit", "agent:idle", "--agent", agent]);
        environment.run(&["agent", "list"]);
    }
    environment.kill_daemon();
    let store = environment.state().join("daemon/store");
    for file in fs::read_dir(&store).unwrap().map(|file| file.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        write(&file, text.replacen("\"one\"", "\"eno\"", 1), 0o600);
    }
    let refused = environment.run(&["agent", "list"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let finding = &about_daemon()[0];
    assert_eq!(finding["severity"], "bad", "{finding}");
    assert!(finding["hint"].as_str().unwrap().contains("--repair"), "{finding}");
}

#[test]
fn a_notice_that_failed() {
    let environment = environment();
    let settings = "[notify]\ndesktop = false\ncommand = [\"/no/such/program\"]\n";
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    environment.run(&["emit", "agent:signal", "--agent", "a", "escalate"]);
    environment.run(&["agent", "list"]);
    let failed = || {
        let text = environment.run(&["doctor"]).stdout;
        text.lines().find(|line| line.contains("a notice failed (command: ")).map(str::to_owned)
    };
    anyhook_testkit::wait_until("doctor to tell of it", || failed().is_some());
    let status = environment.run(&["daemon", "status"]).stdout;
    assert!(status.contains("note: a notice failed (command: "), "{status}");
}

#[test]
fn mcp_servers() {
    use crate::mcp::{project_file, user_file};
    let environment = environment();
    let about = || {
        let report = environment.run(&["doctor", "--json"]).json();
        let findings = report["findings"].as_array().unwrap().clone();
        let findings = findings.iter().filter(|finding| finding["about"] == "mcp");
        let text = |finding: &serde_json::Value, name: &str| {
            finding[name].as_str().unwrap_or_default().to_owned()
        };
        findings
            .map(|finding| {
                [text(finding, "severity"), text(finding, "message"), text(finding, "hint")]
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(about(), [] as [[String; 3]; 0]);
    let file = project_file(&environment);
    let one = r#"{"mcpServers": {"context7": {"command": "npx"}}}"#;
    write(&file, one, 0o644);
    write(&user_file(&environment), one.replace("context7", "gemini"), 0o644);
    let not_trusted = "`~/project/.agents/mcp.json` is not trusted, so its MCP servers are ignored (anyhook trust .agents/mcp.json)";
    assert_eq!(about(), [["note", not_trusted, ""], ["good", "active servers: gemini", ""]]);
    assert_eq!(environment.run(&["trust", "--all"]).code, 0);
    assert_eq!(about(), [["good", "active servers: context7, gemini", ""]]);
    write(&file, one.replace("npx", "npm"), 0o644);
    let changed = "`~/project/.agents/mcp.json` has changed since it was trusted, so its MCP servers are ignored";
    assert_eq!(
        about(),
        [
            ["bad", changed, "anyhook trust .agents/mcp.json"],
            ["good", "active servers: gemini", ""]
        ]
    );
}
