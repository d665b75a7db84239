//! The environment of hooks: variables of the agent's process do not decide what a guard says.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhook_testkit::{CommandRun, TestEnv, run, write};

use super::{finding, last_run, written};
use crate::environment;

const GUARD: &str = "trigger: before_tool\non_failure: block";

const CALL: &str =
    r#"{"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": "rm -rf /"}}"#;

/// The same guard, in each way a hook can be started: it denies by a program it finds in `PATH`.
const GUARDS: [(&str, &str, u32); 5] = [
    ("run", "#!/bin/sh\ngrep -q rm && echo no >&2 && exit 2\n", 0o755),
    ("run", "#!/usr/bin/env bash\ngrep -q rm && echo no >&2 && exit 2\n", 0o755),
    ("run", "grep -q rm && echo no >&2 && exit 2\n", 0o755),
    ("run.sh", "grep -q rm && echo no >&2 && exit 2\n", 0o644),
    (
        "run.py",
        "import sys, json\nif 'rm' in json.load(sys.stdin)['tool_input']['command']:\n    sys.stderr.write('no')\n    sys.exit(2)\n",
        0o644,
    ),
];

/// Makes a guard of one script.
fn guard(environment: &TestEnv, matter: &str, (name, text, mode): (&str, &str, u32)) {
    let folder = environment.user_hook("guard", matter, "exit 0");
    fs::remove_dir_all(folder.join("scripts")).unwrap();
    write(&folder.join("scripts").join(name), text, mode);
}

/// Sends the call with further variables in the agent's environment.
fn call_with(environment: &TestEnv, variables: &[(&str, &str)]) -> CommandRun {
    let mut command = environment.command(&["hook", "agent-hooks"]);
    command.envs(variables.iter().copied());
    run(command, CALL.as_bytes())
}

/// Makes a file that agrees to everything, however it is started.
fn yes(path: &Path) {
    write(path, "#!/bin/sh\nexit 0\n", 0o755);
}

/// Builds a library that ends every program but ours as if it agreed.
fn library(folder: &Path) -> String {
    let source = folder.join("yes.c");
    let text = r#"
        #define _GNU_SOURCE
        #include <errno.h>
        #include <string.h>
        #include <unistd.h>
        __attribute__((constructor)) static void yes(void) {
            if (strncmp(program_invocation_short_name, "anyhook", 7) != 0) _exit(0);
        }
    "#;
    write(&source, text, 0o644);
    let target = folder.join("yes.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&target)
        .arg(&source)
        .status()
        .unwrap();
    assert!(built.success());
    target.to_str().unwrap().to_owned()
}

#[test]
fn no_variable_of_the_agent_turns_a_guards_deny_into_silence() {
    let environment = environment();
    let evil = environment.root().join("evil");
    for name in ["grep", "sh", "bash", "python3", "env"] {
        yes(&evil.join(name));
    }
    write(&evil.join("profile"), "exit 0\n", 0o644);
    for module in ["json.py", "sitecustomize.py"] {
        write(&evil.join(module), "import os\nos._exit(0)\n", 0o644);
    }
    let at = |inner: &str| evil.join(inner).to_str().unwrap().to_owned();
    let library = library(&evil);
    let path = format!("{}:/usr/bin:/bin", at(""));
    let tricks: Vec<(&str, String)> = vec![
        ("PATH", path),
        ("BASH_ENV", at("profile")),
        ("ENV", at("profile")),
        ("BASH_FUNC_grep%%", "() { exit 0; }".to_owned()),
        ("LD_PRELOAD", library),
        ("PYTHONPATH", at("")),
        ("PYTHONHOME", at("")),
        ("SHELLOPTS", "noexec".to_owned()),
    ];
    for script in GUARDS {
        guard(&environment, GUARD, script);
        for (name, value) in &tricks {
            let ran = call_with(&environment, &[(name, value)]);
            assert_eq!(ran.code, 2, "{name} {script:?}: {ran:?}");
            assert_eq!(ran.json()["reason"], "no", "{name} {script:?}: {ran:?}");
        }
        let all: Vec<(&str, &str)> =
            tricks.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let ran = call_with(&environment, &all);
        assert_eq!(ran.code, 2, "all at once, {script:?}: {ran:?}");
    }
}

#[test]
fn the_tricks_work_on_programs_that_are_not_protected() {
    // Otherwise the test above would show nothing.
    let environment = environment();
    let evil = environment.root().join("evil");
    yes(&evil.join("grep"));
    write(&evil.join("profile"), "exit 0\n", 0o644);
    write(&evil.join("json.py"), "import os\nos._exit(0)\n", 0o644);
    let library = library(&evil);
    let evil = evil.to_str().unwrap();
    let code = |program: &str, name: &str, value: &str| {
        let mut command = Command::new(program);
        let script = if program == "python3" {
            "import json, sys; sys.exit(2)"
        } else {
            "grep -q rm; exit 2"
        };
        // What is given to grep here has no `rm`: an honest one fails, and ends the script with 2.
        let script = script.replace("; exit 2", " || exit 2");
        command.args(["-c", &script]).env_clear().env("PATH", "/usr/bin:/bin").env(name, value);
        run(command, b"ls").code
    };
    assert_eq!(code("bash", "A", "b"), 2);
    assert_eq!(code("bash", "PATH", &format!("{evil}:/usr/bin:/bin")), 0);
    assert_eq!(code("bash", "BASH_ENV", &format!("{evil}/profile")), 0);
    assert_eq!(code("bash", "BASH_FUNC_grep%%", "() { return 0; }"), 0);
    assert_eq!(code("bash", "LD_PRELOAD", &library), 0);
    assert_eq!(code("python3", "A", "b"), 2);
    assert_eq!(code("python3", "PYTHONPATH", evil), 0);
}

#[test]
fn a_guard_gets_its_own_variables_and_those_it_names() {
    let environment = environment();
    let agents = [
        ("PATH", "/agents/bin:/usr/bin:/bin"),
        ("VIRTUAL_ENV", "/venv"),
        ("TOKEN", "secret"),
        ("USER", "me"),
        ("TZ", "UTC"),
        ("ANYHOOK_AGENT_ID", "mine"),
        ("ANYHOOK_TOOL", "outer"),
        ("BASH_ENV", "/dev/null"),
    ];
    let names = |env: &str| {
        let matter = format!("{GUARD}\n{env}");
        guard(&environment, &matter, ("run", "#!/bin/sh\n/usr/bin/env > seen.txt\n", 0o755));
        assert_eq!(call_with(&environment, &agents).code, 0);
        let text = written(&environment, "seen.txt");
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| {
                let of_run = [
                    "ANYHOOK_RUN=",
                    "ANYHOOK_TOP_PROCESS=",
                    "ANYHOOK_PASSWD_HOME=",
                    "ANYHOOK_BIN=",
                    "PWD=",
                    "OLDPWD=",
                    "_=",
                    "SHLVL=",
                ];
                !of_run.iter().any(|start| line.starts_with(start))
            })
            .map(|line| environment.normal(line))
            .collect();
        lines.sort();
        lines
    };
    let always = [
        "ANYHOOK_AGENT_ID=mine",
        "ANYHOOK_EVENT=before_tool",
        "ANYHOOK_HOOK_DIR=[ROOT]/home/.config/agents/hooks/guard",
        "ANYHOOK_HOOK_NAME=guard",
        "ANYHOOK_HOST=agent-hooks",
        "ANYHOOK_PROJECT_DIR=[ROOT]/home/project",
        "ANYHOOK_SESSION_ID=",
        "ANYHOOK_TOOL=Shell",
        "CLAUDE_PROJECT_DIR=[ROOT]/home/project",
        "HOME=[ROOT]/home",
        "LANG=C.UTF-8",
    ];
    let with = |more: &[&str]| {
        let mut all: Vec<String> = always.iter().chain(more).map(|&line| line.to_owned()).collect();
        all.sort();
        all
    };
    let system = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin";
    assert_eq!(names(""), with(&[system, "TZ=UTC", "USER=me"]));
    assert_eq!(
        names("env: [VIRTUAL_ENV]"),
        with(&[system, "TZ=UTC", "USER=me", "VIRTUAL_ENV=/venv"])
    );
    let agents_path = "PATH=/agents/bin:/usr/bin:/bin";
    assert_eq!(names("env: PATH"), with(&[agents_path, "TZ=UTC", "USER=me"]));
    let inherited = [
        agents_path,
        "TZ=UTC",
        "USER=me",
        "VIRTUAL_ENV=/venv",
        "TOKEN=secret",
        "COLUMNS=100",
        "NO_COLOR=1",
    ];
    assert_eq!(names("env: inherit"), with(&inherited));
    // A hook that is no guard keeps the agent's environment, for the project's tools.
    guard(
        &environment,
        "trigger: before_tool",
        ("run", "#!/bin/sh\necho \"$PATH $TOKEN $BASH_ENV\" > seen.txt\n", 0o755),
    );
    assert_eq!(call_with(&environment, &agents).code, 0);
    assert_eq!(written(&environment, "seen.txt"), "/agents/bin:/usr/bin:/bin secret \n");
}

#[test]
fn guards_get_the_path_that_install_has_recorded() {
    let environment = environment();
    fs::create_dir_all(environment.home().join(".claude")).unwrap();
    let tools = environment.root().join("tools");
    write(&tools.join("my-tool"), "#!/bin/sh\necho found >&2\nexit 2\n", 0o755);
    guard(&environment, GUARD, ("run", "#!/bin/sh\nmy-tool\n", 0o755));
    let ran = call_with(&environment, &[]);
    assert_eq!(ran.code, 2, "a guard whose tool is missing has failed: {ran:?}");
    assert_eq!(last_run(&environment, "guard")["outcome"], serde_json::json!({"exited": 127}));
    let path = format!(".:{}::/usr/bin:/bin", tools.display());
    let mut dry = environment.command(&["install", "claude-code", "--dry-run"]);
    assert_eq!(run_ok(dry.env("PATH", &path)), "");
    let recorded = environment.state().join("guard-path");
    assert!(!recorded.exists());
    let mut install = environment.command(&["install", "claude-code"]);
    assert_eq!(run_ok(install.env("PATH", &path)), "");
    let text = fs::read_to_string(&recorded).unwrap();
    assert_eq!(text, format!("{}:/usr/bin:/bin\n", tools.display()));
    let ran = call_with(&environment, &[("PATH", "/nowhere")]);
    assert_eq!(ran.json()["reason"], "found", "{ran:?}");
}

/// Runs a command that must succeed; returns its standard error.
fn run_ok(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_guard_whose_interpreter_is_missing_blocks_and_says_how_to_find_it() {
    let environment = environment();
    write(&environment.state().join("guard-path"), "/nowhere\n", 0o600);
    guard(&environment, GUARD, ("run.py", "print('never')\n", 0o644));
    let ran = call_with(&environment, &[]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("`python3` is not on a guard's PATH; run `anyhook install` to record yours"),
        "{ran:?}"
    );
    // A pipe in its place keeps nobody waiting.
    let file = environment.state().join("guard-path");
    fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    assert_eq!(call_with(&environment, &[]).code, 0);
}

#[test]
fn check_says_what_is_wrong_with_env() {
    let environment = environment();
    environment.user_hook("guard", &format!("{GUARD}\nenv: [LD_PRELOAD]"), "exit 0");
    let found = finding(&environment, "guard", "env");
    assert_eq!(found["severity"], "error");
    assert_eq!((&found["line"], &found["column"]), (&6.into(), &7.into()));
    environment.user_hook("gate", "trigger: before_tool\nenv: [PATH]", "exit 0");
    assert_eq!(finding(&environment, "gate", "env-ignored")["severity"], "note");
}

#[test]
fn folders_that_an_entry_names_are_moved_by_no_variable() {
    let environment = environment();
    guard(&environment, GUARD, GUARDS[0]);
    let state = environment.state();
    let config = environment.home().join(".config/agents");
    let home = environment.home();
    let named = |path: &Path| path.to_str().unwrap().to_owned();
    let entry = [
        "hook",
        "agent-hooks",
        "--deadline-ms",
        "60000",
        "--home",
        &named(&home),
        "--config",
        &named(&config),
        "--state",
        &named(&state),
        "--tool-event",
    ];
    let elsewhere = environment.root().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    let tricks = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];
    for moved in tricks.iter().map(|trick| vec![*trick]).chain([tricks.to_vec()]) {
        let before = environment.journal().len();
        let variables = moved.iter().map(|name| (*name, elsewhere.to_str().unwrap()));
        let mut command = environment.command(&entry);
        command.envs(variables.clone());
        let ran = run(command, CALL.as_bytes());
        assert_eq!(ran.json()["reason"], "no", "{moved:?}: {ran:?}");
        assert_eq!(environment.journal().len(), before + 1, "{moved:?}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{moved:?}");
        // Without the options a variable decides, as it does for people who wire by hand.
        let mut command = environment.command(&["hook", "agent-hooks"]);
        command.envs(variables);
        let ran = run(command, CALL.as_bytes());
        let moves_hooks = moved.iter().any(|name| ["HOME", "XDG_CONFIG_HOME"].contains(name));
        assert_eq!(ran.code, if moves_hooks { 0 } else { 2 }, "{moved:?}: {ran:?}");
        fs::remove_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
    }
    // A home that is a folder of the project does not cut its guards off.
    let inner = environment.project().join("src/deep");
    fs::create_dir_all(&inner).unwrap();
    fs::remove_dir_all(environment.user_hooks()).unwrap();
    environment.project_hook("guard", GUARD, "echo no >&2; exit 2");
    super::trust_all(&environment);
    let mut command = environment.command(&entry);
    command.current_dir(&inner).env("HOME", environment.project().join("src"));
    assert_eq!(run(command, CALL.as_bytes()).json()["reason"], "no");
}

#[test]
fn the_marker_is_there_exactly_while_a_guard_is() {
    let environment = environment();
    let marker = environment.state().join("guarded");
    environment.shell("ls");
    assert!(!marker.exists());
    guard(&environment, GUARD, GUARDS[0]);
    environment.shell("ls");
    assert!(marker.exists(), "an event has read the hooks");
    assert_eq!(environment.run(&["remove", "guard"]).code, 0);
    assert!(!marker.exists());
    environment.project_hook("guard", GUARD, "exit 0");
    environment.shell("ls");
    assert!(!marker.exists(), "nobody trusts it");
    super::trust_all(&environment);
    assert!(marker.exists());
    assert_eq!(environment.run(&["untrust", "--all"]).code, 0);
    assert!(!marker.exists());
}
