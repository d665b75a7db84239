//! Bad input: a clear message, the other hooks still run, the reply is still well-formed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require, run, wait_until, write};
use serde_json::{Value, json};

use crate::{environment, guarded, namespace};

/// A user who may do nothing beyond its own files.
const NOBODY: u32 = 65534;

fn shell(command: &str) -> String {
    json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": command}})
        .to_string()
}

/// Runs a command, but not for ever: a hang gives exit code 124.
fn run_in_time(command: &Command, input: impl AsRef<[u8]>) -> CommandRun {
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after", "1", "10"]).arg(command.get_program()).args(command.get_args());
    limited.current_dir(command.get_current_dir().unwrap_or(Path::new("/"))).env_clear();
    for (name, value) in command.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    run(limited, input.as_ref())
}

fn hook(environment: &TestEnv, input: impl AsRef<[u8]>) -> CommandRun {
    run_in_time(&environment.command(&["hook", "agent-hooks"]), input)
}

/// Fails unless the reply is what the open format asks for.
fn assert_well_formed(ran: &CommandRun) {
    assert!(matches!(ran.code, 0 | 2), "{ran:?}");
    let reply = ran.json();
    assert!(reply.is_object(), "{ran:?}");
    assert_eq!(reply["decision"] == "deny", ran.code == 2, "{ran:?}");
}

/// Fails unless the guard does its work among whatever else is there.
fn assert_guarded(environment: &TestEnv) {
    let harmless = hook(environment, shell("ls"));
    assert_eq!((harmless.code, harmless.stdout.as_str()), (0, "{}\n"), "{harmless:?}");
    let blocked = hook(environment, shell("mkfs /dev/sda"));
    assert_eq!(blocked.code, 2, "{blocked:?}");
    assert_well_formed(&blocked);
}

/// Puts something in the place of a hook's HOOK.md that cannot be read, and expects it to block.
fn assert_blocking(make: impl Fn(&Path), words: &str) {
    let environment = environment();
    let folder = environment.user_hook("strange", "trigger: before_tool", "exit 0");
    fs::remove_file(folder.join("HOOK.md")).unwrap();
    make(&folder.join("HOOK.md"));
    let ran = hook(&environment, shell("ls"));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_well_formed(&ran);
    let reason = environment.normal(ran.json()["reason"].as_str().unwrap());
    for part in [words, "`[ROOT]/home/.config/agents/hooks/strange/HOOK.md`"] {
        assert!(reason.contains(part), "{reason}");
    }
    let prompt = json!({"event_type": "before_agent", "prompt": "hello"});
    assert_eq!(hook(&environment, prompt.to_string()).stdout, "{}\n");
    for arguments in [&["list"][..], &["check", "strange"], &["check"]] {
        let ran = run_in_time(&environment.command(arguments), "");
        assert_eq!(ran.code, i32::from(arguments[0] == "check"), "{arguments:?}: {ran:?}");
        assert!(ran.stdout.contains(words), "{arguments:?}: {ran:?}");
    }
}

/// Puts something in the place of a hook's HOOK.md and expects it to be unusable, loudly.
fn assert_unusable(make: impl Fn(&Path), words: &str) {
    let environment = guarded();
    let folder = environment.user_hook("strange", "trigger: before_tool", "exit 0");
    fs::remove_file(folder.join("HOOK.md")).unwrap();
    make(&folder.join("HOOK.md"));
    assert_guarded(&environment);
    for arguments in [&["list"][..], &["check", "strange"], &["check"]] {
        let ran = run_in_time(&environment.command(arguments), "");
        assert_eq!(ran.code, i32::from(arguments[0] == "check"), "{arguments:?}: {ran:?}");
        assert!(ran.stdout.contains(words), "{arguments:?}: {ran:?}");
    }
    let record = environment.journal().pop().unwrap();
    assert_eq!(record["skipped"][0]["hook"], "strange", "{record}");
}

// ---------------------------------------------------------------- HOOK.md

#[test]
fn a_hook_file_that_is_a_folder() {
    assert_blocking(
        |path| fs::create_dir(path).unwrap(),
        "HOOK.md cannot be read: it is not a file",
    );
}

#[test]
fn a_hook_file_that_is_a_named_pipe() {
    assert_blocking(make_pipe, "HOOK.md cannot be read: it is not a file");
}

#[test]
fn a_hook_file_that_is_a_device() {
    assert_blocking(
        |path| symlink("/dev/zero", path).unwrap(),
        "HOOK.md cannot be read: it is not a file",
    );
}

#[test]
fn a_hook_file_that_is_a_loop() {
    assert_blocking(|path| symlink("HOOK.md", path).unwrap(), "HOOK.md cannot be read: ");
}

#[test]
fn a_hook_file_that_is_a_broken_link() {
    assert_blocking(|path| symlink("nowhere", path).unwrap(), "HOOK.md cannot be read: ");
}

#[test]
fn a_hook_file_that_was_emptied() {
    assert_blocking(|path| fs::write(path, "").unwrap(), "HOOK.md is empty");
    assert_blocking(|path| fs::write(path, "\n \n").unwrap(), "HOOK.md is empty");
}

#[test]
fn a_hook_file_of_garbage() {
    let garbage: Vec<u8> =
        (0..200_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert_unusable(|path| fs::write(path, &garbage).unwrap(), "no front matter");
    assert_unusable(|path| fs::write(path, b"---\n\0\0\0\n---\n").unwrap(), "not valid YAML");
}

#[test]
fn a_hook_file_without_end() {
    assert_unusable(
        |path| fs::write(path, format!("---\n{}", "name: x\n".repeat(1_000_000))).unwrap(),
        "longer than 256 KiB",
    );
}

/// Aliases that would grow to gigabytes, and nesting without bottom.
#[test]
fn a_hook_file_that_explodes() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let inner = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    let environment = guarded();
    for matter in [
        bomb,
        format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a: {}", "{a: ".repeat(50_000)),
        (0..20_000).map(|depth| format!("{}a:\n", " ".repeat(depth.min(10)))).collect(),
        "metadata: &a [*a]".to_owned(),
        "<<: *nothing".to_owned(),
        "!!binary x: !!set {a}".to_owned(),
    ] {
        let folder = environment.user_hooks().join("bomb");
        write(
            &folder.join("HOOK.md"),
            format!("---\nname: bomb\ndescription: d\ntrigger: after_tool\n{matter}\n---\n"),
            0o644,
        );
        write(&folder.join("scripts/run"), "#!/bin/sh\n", 0o755);
        let began = Instant::now();
        assert_guarded(&environment);
        assert!(began.elapsed() < Duration::from_secs(5), "{}", &matter[..20.min(matter.len())]);
        let check = run_in_time(&environment.command(&["check", "bomb"]), "");
        assert!(matches!(check.code, 0 | 1), "{check:?}");
    }
}

#[test]
fn a_hook_file_its_user_may_not_read() {
    require!(MachineNeed::Users);
    let environment = guarded();
    let folder = environment.user_hook("secret", "trigger: before_tool", "exit 0");
    environment.give_to(NOBODY);
    fs::set_permissions(folder.join("HOOK.md"), Permissions::from_mode(0o000)).unwrap();
    let hook = |command: &str| {
        run(environment.command_as(NOBODY, &["hook", "agent-hooks"]), shell(command).as_bytes())
    };
    for command in ["ls", "mkfs /dev/sda"] {
        let ran = hook(command);
        assert_eq!(ran.code, 2, "{ran:?}");
    }
    fs::set_permissions(folder.join("HOOK.md"), Permissions::from_mode(0o644)).unwrap();
    assert_eq!(hook("ls").stdout, "{}\n");
    fs::set_permissions(&folder, Permissions::from_mode(0o000)).unwrap();
    assert_eq!(hook("ls").code, 2);
    let list = run(environment.command_as(NOBODY, &["list"]), b"");
    assert!(
        list.stdout.contains("unusable, so it blocks: HOOK.md cannot be read: Permission denied"),
        "{list:?}"
    );
    let check = run(environment.command_as(NOBODY, &["check", "secret"]), b"");
    assert_eq!(check.code, 1, "{check:?}");
}

/// A script its user may not run or read: with `on_failure: block` nothing passes.
#[test]
fn a_script_its_user_may_not_read() {
    require!(MachineNeed::Users);
    for (mode, name) in [(0o000, "run"), (0o000, "run.sh"), (0o200, "run.py")] {
        let environment = guarded();
        let folder =
            environment.user_hook("secret", "trigger: before_tool\non_failure: block", "exit 0");
        fs::rename(folder.join("scripts/run"), folder.join("scripts").join(name)).unwrap();
        environment.give_to(NOBODY);
        fs::set_permissions(folder.join("scripts").join(name), Permissions::from_mode(mode))
            .unwrap();
        let ran =
            run(environment.command_as(NOBODY, &["hook", "agent-hooks"]), shell("ls").as_bytes());
        assert_eq!(ran.code, 2, "{name}: {ran:?}");
        assert!(ran.json()["reason"].as_str().unwrap().contains("secret"), "{name}: {ran:?}");
    }
}

// ---------------------------------------------------------------- folders

#[test]
fn a_hooks_folder_its_user_may_not_read() {
    require!(MachineNeed::Users);
    let environment = guarded();
    environment.project_hook("other", "trigger: before_tool", "exit 0");
    environment.give_to(NOBODY);
    fs::set_permissions(environment.user_hooks(), Permissions::from_mode(0o000)).unwrap();
    let list = run(environment.command_as(NOBODY, &["list"]), b"");
    assert_eq!(list.code, 0, "{list:?}");
    assert!(list.stdout.contains("hooks` cannot be read: Permission denied"), "{list:?}");
    assert!(list.stdout.contains("other"), "{list:?}");
    let check = run(environment.command_as(NOBODY, &["check"]), b"");
    assert_eq!(check.code, 1, "{check:?}");
    let ran =
        run(environment.command_as(NOBODY, &["hook", "agent-hooks"]), shell("mkfs").as_bytes());
    assert_well_formed(&ran);
    assert_eq!(ran.code, 2, "{ran:?}");
}

/// Guards that cannot even be looked for: the caller is told, and nothing passes where one may be.
#[test]
fn a_hooks_folder_that_cannot_be_read_blocks_where_its_hooks_did() {
    require!(MachineNeed::Users);
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop", "exit 0");
    environment.give_to(NOBODY);
    let hook = |event: &str| {
        run(environment.command_as(NOBODY, &["hook", "agent-hooks"]), event.as_bytes())
    };
    let stop = r#"{"event_type": "before_stop"}"#;
    assert_eq!(hook(stop).code, 0);
    fs::set_permissions(environment.user_hooks(), Permissions::from_mode(0o000)).unwrap();
    let ran = hook(stop);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("hooks` cannot be read: Permission denied"), "{ran:?}");
    assert_eq!(hook(&shell("ls")).code, 0, "the only hook was no guard of tools");
    // Nobody knows what was in it.
    fs::remove_file(environment.state().join("known")).unwrap();
    assert_eq!(hook(&shell("ls")).code, 2);
}

#[test]
fn a_hooks_folder_that_is_no_folder() {
    let things: [fn(&Path); 3] = [
        |path| fs::write(path, "x").unwrap(),
        |path| symlink("hooks", path).unwrap(),
        |path| symlink("nowhere", path).unwrap(),
    ];
    for make in things {
        let environment = guarded();
        fs::remove_dir_all(environment.user_hooks()).unwrap();
        make(&environment.user_hooks());
        let ran = hook(&environment, shell("ls"));
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("hooks` cannot be read: "), "{ran:?}");
    }
}

/// With too few descriptors to read anything, nothing passes a guard.
#[test]
fn too_few_descriptors_are_not_a_way_past_a_guard() {
    let environment = environment();
    let matter = "trigger: before_tool\non_failure: block\nmatcher:\n  pattern: mkfs";
    environment.user_hook("guard", matter, "exit 2");
    assert_eq!(hook(&environment, shell("ls")).code, 0);
    for limit in 4..16 {
        let original = environment.command(&["hook", "agent-hooks"]);
        let mut limited = Command::new("sh");
        limited
            .args(["-c", "ulimit -n \"$1\"; shift; exec \"$@\"", "sh", &limit.to_string()])
            .arg(original.get_program())
            .args(original.get_args())
            .current_dir(environment.project())
            .env_clear()
            .envs(original.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = run_in_time(&limited, shell("mkfs /dev/sda"));
        assert_ne!(ran.code, 0, "{limit}: {ran:?}");
    }
}

#[test]
fn folders_that_are_links_and_loops() {
    let environment = guarded();
    let hooks = environment.user_hooks();
    let shelf = environment.root().join("shelf");
    environment.hook(&shelf, "linked", "trigger: before_agent", "echo linked >&2; exit 2");
    symlink(shelf.join("linked"), hooks.join("linked")).unwrap();
    symlink("loop", hooks.join("loop")).unwrap();
    symlink("two", hooks.join("one")).unwrap();
    symlink("one", hooks.join("two")).unwrap();
    symlink("/nowhere", hooks.join("broken")).unwrap();
    symlink("..", hooks.join("up")).unwrap();
    symlink("/dev/null", hooks.join("device")).unwrap();
    symlink("/proc/self", hooks.join("process")).unwrap();
    write(&hooks.join("README.md"), "not a hook", 0o644);
    fs::create_dir(hooks.join(".hidden")).unwrap();
    make_pipe(&hooks.join("pipe"));
    assert_guarded(&environment);
    let linked = hook(&environment, r#"{"event_type": "before_agent"}"#);
    assert_eq!(linked.code, 2, "{linked:?}");
    let list = run_in_time(&environment.command(&["list"]), "");
    for name in ["loop", "one", "two", "broken", "up", "process"] {
        let line = list.stdout.lines().find(|line| line.starts_with(&format!("{name} ")));
        assert!(line.is_some_and(|line| line.contains("unusable")), "{name}: {}", list.stdout);
    }
    for name in ["README", ".hidden", "pipe", "device"] {
        assert!(!list.stdout.contains(name), "{name}: {}", list.stdout);
    }
}

#[test]
fn level_folders_that_are_no_folders() {
    for make in [
        (|path: &Path| fs::write(path, "a file").unwrap()) as fn(&Path),
        |path| symlink("hooks", path).unwrap(),
        |path| symlink("/nowhere", path).unwrap(),
        make_pipe,
    ] {
        let environment = guarded();
        fs::create_dir_all(environment.project().join(".agents")).unwrap();
        make(&environment.project_hooks());
        assert_guarded(&environment);
        assert_eq!(run_in_time(&environment.command(&["list"]), "").code, 0);
    }
    let environment = guarded();
    fs::write(environment.project().join(".agents"), "a file").unwrap();
    assert_guarded(&environment);
}

#[test]
fn names_that_are_no_texts() {
    let environment = guarded();
    for name in [&b"\xff\xfe"[..], b"new\nline", b"\x1b[2J", b"-rf", b"a b"] {
        let folder = environment.user_hooks().join(OsStr::from_bytes(name));
        write(&folder.join("HOOK.md"), "---\ndescription: d\ntrigger: before_agent\n---\n", 0o644);
        write(&folder.join("scripts/run"), "#!/bin/sh\necho x >> seen\n", 0o755);
    }
    assert_guarded(&environment);
    let ran = hook(&environment, r#"{"event_type": "before_agent"}"#);
    assert_well_formed(&ran);
    let seen = fs::read_to_string(environment.project().join("seen")).unwrap();
    assert_eq!(seen.lines().count(), 5, "all of them run");
    let list = environment.run(&["list"]);
    assert!(!list.stdout.contains('\x1b'), "{}", list.stdout);
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_thousand_hooks() {
    let environment = guarded();
    for number in 0..1000 {
        environment.user_hook(
            &format!("hook-{number}"),
            "trigger: before_tool\nmatcher:\n  tool: Read\n  pattern: \\.(py|js)$",
            "exit 0",
        );
    }
    for command in ["ls", "mkfs /dev/sda"] {
        let began = Instant::now();
        let ran = hook(&environment, shell(command));
        assert_well_formed(&ran);
        assert_eq!(ran.code, if command == "ls" { 0 } else { 2 });
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
    let list = environment.run(&["list"]);
    assert_eq!(list.stdout.lines().count(), 1002);
}

// ---------------------------------------------------------------- events

#[test]
fn a_ten_megabyte_event() {
    let environment = guarded();
    environment.user_hook("count", "trigger: before_tool\npriority: 900", "wc -c > counted");
    for (end, code) in [("ls", 0), ("mkfs", 2)] {
        let event = shell(&("x ".repeat(5 * 1024 * 1024) + end));
        let ran = hook(&environment, &event);
        assert_eq!(ran.code, code, "{:?}", ran.stderr);
        assert_well_formed(&ran);
        let counted = fs::read_to_string(environment.project().join("counted")).unwrap();
        assert!(counted.trim().parse::<usize>().unwrap() > 10 * 1024 * 1024, "{counted}");
    }
    // The journal keeps what it is about, not all of it.
    let log = environment.run(&["log"]);
    assert_eq!((log.stdout.lines().count(), log.stderr.as_str()), (2, ""));
    assert!(environment.journal()[1].to_string().len() < 20_000);
}

/// What a hook changes in a large input must not make the journal unreadable.
#[test]
fn a_change_of_a_ten_megabyte_input_is_journaled() {
    let environment = environment();
    environment.user_hook(
        "changer",
        "trigger: before_tool",
        r#"echo '{"modified_input": {"a": 1}}'"#,
    );
    let ran = hook(&environment, shell(&"x".repeat(10 * 1024 * 1024)));
    assert_eq!(ran.code, 0, "{:?}", ran.stderr);
    let id = ran.json()["id"].as_str().unwrap().to_owned();
    let shown = environment.run(&["log", "show", &id]);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
}

#[test]
fn an_event_without_end_is_refused() {
    let environment = guarded();
    let mut event = shell("ls").into_bytes();
    event.resize(65 * 1024 * 1024, b' ');
    let ran = hook(&environment, event);
    assert_eq!((ran.code, ran.stdout.as_str()), (65, ""));
    assert!(ran.stderr.contains("larger than 64 MiB"), "{:?}", ran.stderr);
}

#[test]
fn a_bottomless_event() {
    let environment = guarded();
    let depth = 100_000;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for (leaf, code) in [("\"ls\"", 0), ("\"mkfs\"", 2)] {
            let deep = format!("{}{leaf}{}", open.repeat(depth), close.repeat(depth));
            let event = format!(
                r#"{{"event_type": "before_tool", "tool_name": "Shell", "tool_input": {{"a": {deep}}}, "context": {{"b": {deep}}}, "further": {deep}}}"#
            );
            let ran = hook(&environment, event);
            assert_well_formed(&ran);
            assert_eq!(ran.code, code, "{open} {leaf} {:?}", ran.stderr);
        }
        let unclosed = format!(r#"{{"event_type": "before_tool", "a": {}"#, open.repeat(depth));
        let ran = hook(&environment, unclosed);
        assert_eq!(ran.code, 65, "{:?}", ran.stderr);
        assert!(ran.stderr.contains("hint: "), "{:?}", ran.stderr);
    }
    assert_eq!(environment.run(&["log"]).stderr, "");
}

#[test]
fn a_bottomless_answer() {
    let environment = guarded();
    let nested = "head -c 100000 /dev/zero | tr '\\0' '['; head -c 100000 /dev/zero | tr '\\0' ']'";
    environment.user_hook(
        "deep",
        "trigger: before_agent",
        &format!("printf '{{\"additional_context\": \"x\", \"a\": '; {nested}; printf '}}'"),
    );
    let prompt = r#"{"event_type": "before_agent"}"#;
    let ran = hook(&environment, prompt);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{ran:?}");
    let failure = environment.journal()[0]["runs"][0]["failure"].clone();
    assert!(failure.as_str().unwrap().contains("looks like JSON but does not parse"), "{failure}");
    environment.user_hook(
        "deep-deny",
        "trigger: before_agent\non_failure: block",
        &format!("printf '{{\"decision\": \"deny\", \"a\": '; {nested}; printf '}}'"),
    );
    let ran = hook(&environment, prompt);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("looks like JSON but does not parse"), "{ran:?}");
    environment.user_hook(
        "deep-input",
        "trigger: before_tool\npriority: 900",
        &format!("printf '{{\"modified_input\": {{\"a\": '; {nested}; printf '}}}}'"),
    );
    assert_guarded(&environment);
}

#[test]
fn unknown_events_pass() {
    let environment = guarded();
    for name in ["made_up", "日本", "a/../b", "before", "tool"] {
        let ran = hook(&environment, json!({"event_type": name, "x": 1}).to_string());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{name}: {ran:?}");
        assert_eq!(environment.journal().pop().unwrap()["event"], name);
    }
    let log = environment.run(&["log", "--event", "made_up"]);
    assert_eq!(log.stdout.lines().count(), 1, "{log:?}");
}

#[test]
fn payloads_that_are_no_events() {
    let environment = guarded();
    let utf_16: Vec<u8> = shell("mkfs").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for payload in [
        &b""[..],
        b"   \n",
        b"null",
        b"\"before_tool\"",
        b"[{}]",
        b"{",
        b"{\"event_type\"}",
        b"{\"event_type\": null}",
        b"{\"event_type\": [\"before_tool\"]}",
        b"{\"event_type\": \"before_tool\"} trailing",
        b"\xff\xfe",
        &utf_16,
    ] {
        let ran = hook(&environment, payload);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{payload:?}: {ran:?}");
        assert!(ran.stderr.starts_with("anyhook: ") && ran.stderr.contains("\nhint: "), "{ran:?}");
    }
    let journal = environment.journal();
    assert!(journal.iter().all(|record| record["event"] == "unreadable"), "{journal:?}");
    assert_eq!(journal.len(), 12, "what could not be read is journaled too");
}

/// Odd, but an event: it is answered, and the guard sees it.
/// A guard of another tool's calls, which must not be passed by.
fn strict_guard(environment: &TestEnv) {
    environment.user_hook(
        "strict",
        "trigger: before_tool\nmatcher: {tool: Shell, pattern: mkfs}\non_failure: block",
        "echo no >&2; exit 2",
    );
}

/// The answer of a host's hook, and whether it stops the call.
fn stops(environment: &TestEnv, host: &str, payload: &str) -> (bool, CommandRun) {
    let ran = run_in_time(&environment.command(&["hook", host]), payload);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let stops = ran.code == 2 || said.contains("\"deny\"") || said.contains("\"block\"");
    (stops, ran)
}

#[test]
fn a_call_that_was_cut_off_does_not_get_past_a_guard() {
    let environment = environment();
    let hosts = ["claude-code", "codex", "gemini-cli", "opencode"];
    let whole = |host: &str| {
        match host {
        "opencode" => r#"{"hook": "tool.execute.before", "directory": "/p", "input": {"tool": "bash", "sessionID": "s", "callID": "c"}, "output": {"args": {"command": "mkfs"}}}"#.to_owned(),
        "gemini-cli" => r#"{"hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "run_shell_command", "tool_input": {"command": "mkfs"}}"#.to_owned(),
        _ => r#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "mkfs"}}"#.to_owned(),
    }
    };
    for host in hosts {
        let payload = whole(host).replace("mkfs", "ls");
        let (stopped, ran) = stops(&environment, host, &payload[..payload.len() - 4]);
        assert!(!stopped, "without a guard it goes on: {host} {ran:?}");
    }
    strict_guard(&environment);
    for host in hosts {
        let harmless = whole(host).replace("mkfs", "ls");
        let (stopped, ran) = stops(&environment, host, &harmless);
        assert!(!stopped, "{host} {ran:?}");
        // Wherever it is cut, but where only signs are missing that say nothing more.
        for end in (1..harmless.len()).step_by(9) {
            let (stopped, ran) = stops(&environment, host, &harmless[..end]);
            assert!(stopped, "{host} {} {ran:?}", &harmless[..end]);
        }
    }
    let after = whole("codex").replace("PreToolUse", "PostToolUse");
    let (stopped, ran) = stops(&environment, "codex", &after[..after.len() - 4]);
    assert!(!stopped, "what has happened goes on: {ran:?}");
}

#[test]
fn a_call_without_a_name_that_can_be_read_does_not_get_past_a_guard() {
    let environment = environment();
    strict_guard(&environment);
    let payload = |name: &str, tool: &str| {
        format!(
            r#"{{"hook_event_name": {name}, "session_id": "s"{tool}, "tool_input": {{"command": "ls"}}}}"#
        )
    };
    let event = r#""PreToolUse""#;
    for tool in [
        "",
        ", \"tool_name\": null",
        ", \"tool_name\": 5",
        ", \"tool_name\": [\"Bash\"]",
        ", \"tool_name\": \"\"",
    ] {
        let (stopped, ran) = stops(&environment, "claude-code", &payload(event, tool));
        assert!(stopped, "{tool} {ran:?}");
        let open = payload(event, tool)
            .replace("hook_event_name\": \"PreToolUse", "event_type\": \"before_tool");
        let (stopped, ran) = stops(&environment, "agent-hooks", &open);
        assert!(stopped, "{open} {ran:?}");
    }
    for name in ["null", "5", "[\"PreToolUse\"]", "true", "\"\""] {
        let (stopped, ran) =
            stops(&environment, "codex", &payload(name, ", \"tool_name\": \"Bash\""));
        assert!(stopped, "{name} {ran:?}");
    }
    // A guard that takes every call has seen it, and decides.
    environment.user_hook("strict", "trigger: before_tool\non_failure: block", "exit 0");
    let another_session = payload(event, "").replace("\"s\"", "\"t\"");
    let (stopped, ran) = stops(&environment, "claude-code", &another_session);
    assert!(!stopped, "{ran:?}");
}

#[test]
fn what_is_no_event_exits_2_where_a_guard_of_tools_is_installed() {
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop\non_failure: block", "exit 2");
    for payload in ["", "nonsense", "[1]", "{}", r#"{"event_type": "before_tool", "#] {
        assert_eq!(hook(&environment, payload).code, 65, "{payload}");
    }
    strict_guard(&environment);
    for payload in ["", "nonsense", "[1]", "{}", r#"{"event_type": "before_tool", "#] {
        let ran = hook(&environment, payload);
        assert_well_formed(&ran);
        assert_eq!(ran.code, 2, "{payload} {ran:?}");
        assert!(ran.stderr.contains("on_failure: block"), "{ran:?}");
    }
}

#[test]
fn events_with_fields_of_other_types() {
    let environment = guarded();
    for field in [
        "tool_name",
        "tool_input",
        "tool_use_id",
        "session_id",
        "work_dir",
        "timestamp",
        "context",
        "files",
        "native",
    ] {
        for value in [
            json!(null),
            json!(true),
            json!(7),
            json!(-1e308),
            json!(""),
            json!("mkfs"),
            json!([1]),
            json!({"a": {}}),
        ] {
            let mut event: Value = serde_json::from_str(&shell("ls")).unwrap();
            event[field] = value.clone();
            let ran = hook(&environment, event.to_string());
            let blocks = field == "tool_input" && value == "mkfs";
            assert_eq!(ran.code, if blocks { 2 } else { 0 }, "{field} {value}: {ran:?}");
            assert_well_formed(&ran);
        }
    }
}

#[test]
fn bytes_that_are_not_utf_8_in_an_event() {
    let environment = guarded();
    let event = shell("mkfs BYTES").replace("BYTES", "\u{fffd}").into_bytes();
    let event: Vec<u8> = event.split(|byte| *byte == 0xef).collect::<Vec<_>>().join(&b'\xff');
    let ran = hook(&environment, event);
    // Either it is refused, or the guard sees it: it must not pass unseen.
    assert!(matches!(ran.code, 2 | 65), "{ran:?}");
}

#[test]
fn nul_bytes_in_every_field() {
    let environment = guarded();
    environment.user_hook(
        "see",
        "trigger: before_tool\npriority: 900",
        "env > /dev/null; cat > /dev/null",
    );
    let whole = json!({
        "event_type": "before_tool", "timestamp": "t\0", "session_id": "s\0s", "work_dir": "/\0/x",
        "tool_name": "Sh\0ell", "tool_input": {"com\0mand": "mkfs\0 /dev", "a": ["\0"]},
        "tool_use_id": "\0", "files": ["\0"], "further\0": "\0", "context": {"\0": "\0"},
        "native": {"tool_name": "\0", "tool_input": {"\0": "\0"}},
    });
    let ran = hook(&environment, whole.to_string());
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_well_formed(&ran);
    for (field, value) in whole.as_object().unwrap() {
        let mut event = json!({"event_type": "before_tool"});
        event[field] = value.clone();
        let ran = hook(&environment, event.to_string());
        assert_well_formed(&ran);
        let runs = environment.journal().pop().unwrap()["runs"].clone();
        assert_eq!(runs[0]["failure"], Value::Null, "{field}: {runs}");
    }
    let ran = hook(&environment, json!({"event_type": "a\0b"}).to_string());
    assert_well_formed(&ran);
}

#[test]
fn texts_of_a_megabyte() {
    let environment = guarded();
    environment.user_hook("see", "trigger: before_tool\npriority: 900", "env > /dev/null");
    let megabyte = "x".repeat(1024 * 1024);
    for field in ["session_id", "tool_name", "tool_use_id", "work_dir", "timestamp", "further"] {
        let mut event: Value = serde_json::from_str(&shell("mkfs")).unwrap();
        event[field] = megabyte.clone().into();
        let ran = hook(&environment, event.to_string());
        assert_eq!(ran.code, 2, "{field}: {:?}", ran.stderr);
        assert_well_formed(&ran);
        let record = environment.journal().pop().unwrap();
        assert_eq!(record["runs"][0]["failure"], Value::Null, "{field}");
    }
    let ran = hook(&environment, json!({"event_type": megabyte}).to_string());
    assert_well_formed(&ran);
    let log = environment.run(&["log", "-n", "0"]);
    assert_eq!((log.stdout.lines().count(), log.stderr.as_str()), (7, ""));
}

/// A session's id may be long; the journal stays one that can be read.
#[test]
fn an_id_of_ten_megabytes_is_journaled() {
    let environment = guarded();
    let mut event: Value = serde_json::from_str(&shell("mkfs")).unwrap();
    event["session_id"] = "x".repeat(10 * 1024 * 1024).into();
    assert_eq!(hook(&environment, event.to_string()).code, 2);
    let log = environment.run(&["log"]);
    assert_eq!((log.stdout.lines().count(), log.stderr.as_str()), (1, ""));
}

// ---------------------------------------------------------------- matchers and scripts

#[test]
fn regexes_that_explode_elsewhere() {
    let environment = guarded();
    for (name, pattern) in [
        ("plus", "(a+)+$"),
        ("star", "(a*)*b$"),
        ("either", "(a|aa)+$"),
        ("mail", r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+$"),
    ] {
        environment.user_hook(
            name,
            &format!("trigger: before_tool\nmatcher:\n  pattern: '{pattern}'"),
            "exit 0",
        );
    }
    environment.user_hook(
        "huge",
        "trigger: before_tool\nmatcher:\n  pattern: '((a{1000}){1000}){1000}'",
        "exit 0",
    );
    let began = Instant::now();
    let ran = hook(&environment, shell(&("a".repeat(100_000) + "!mkfs")));
    assert_eq!(ran.code, 2, "{:?}", ran.stderr);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let list = environment.run(&["list"]);
    assert!(list.stdout.contains("`pattern` is not a regular expression: "), "{}", list.stdout);
}

/// A script that vanishes between plan and run.
#[test]
fn a_script_that_vanishes() {
    let environment = guarded();
    let later = environment.user_hook("later", "trigger: before_tool\npriority: 200", "exit 0");
    let strict = environment.user_hook(
        "strict",
        "trigger: before_agent\npriority: 200\non_failure: block",
        "exit 0",
    );
    for (name, trigger, script) in [
        ("thief", "before_tool", format!("rm -rf '{}'", later.display())),
        ("thief-too", "before_agent", format!("rm '{}/scripts/run'", strict.display())),
    ] {
        environment.user_hook(name, &format!("trigger: {trigger}\npriority: 900"), &script);
    }
    let ran = hook(&environment, shell("mkfs"));
    assert_eq!(ran.code, 2, "the guard behind it still runs: {ran:?}");
    let runs = environment.journal().pop().unwrap()["runs"].clone();
    assert!(runs[1]["failure"].as_str().unwrap().contains("not found"), "{runs}");
    let ran = hook(&environment, r#"{"event_type": "before_agent"}"#);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.json()["reason"].as_str().unwrap().contains("strict"), "{ran:?}");
}

#[test]
fn scripts_that_cannot_be_started() {
    for (script, mode) in [
        (&b"#!/no/such/interpreter\n"[..], 0o755),
        (b"#!\n", 0o755),
        (b"\x7fELF garbage", 0o755),
        (b"", 0o755),
        (b"#!/bin/sh\nexec /no/such/program\n", 0o755),
    ] {
        let environment = guarded();
        let folder = environment.user_hook("odd", "trigger: before_tool\npriority: 900", "exit 0");
        write(&folder.join("scripts/run"), script, mode);
        assert_guarded(&environment);
    }
    let environment = guarded();
    let folder = environment.user_hook("odd", "trigger: before_tool\npriority: 900", "exit 0");
    fs::remove_file(folder.join("scripts/run")).unwrap();
    make_pipe(&folder.join("scripts/run"));
    assert_guarded(&environment);
    fs::remove_dir_all(folder.join("scripts")).unwrap();
    symlink("scripts", folder.join("scripts")).unwrap();
    assert_guarded(&environment);
}

// ---------------------------------------------------------------- settings

#[test]
fn settings_that_cannot_be_read() {
    for make in [
        (|path: &Path| fs::write(path, "stop_cap = [").unwrap()) as fn(&Path),
        |path| fs::write(path, b"\xff\xfe").unwrap(),
        |path| fs::write(path, "stop_cap = -1\n").unwrap(),
        |path| fs::write(path, "stop_cap = 99999999999999999999\n").unwrap(),
        |path| fs::create_dir(path).unwrap(),
        |path| symlink("anyhook.toml", path).unwrap(),
    ] {
        let environment = guarded();
        make(&environment.home().join(".config/agents/anyhook.toml"));
        assert_guarded(&environment);
        let check = environment.run(&["check"]);
        assert_eq!(check.code, 1, "{check:?}");
        assert!(check.stdout.contains("anyhook.toml"), "{check:?}");
    }
}

/// A project must not be able to hold up every answer.
#[test]
fn settings_that_are_a_named_pipe() {
    let environment = guarded();
    fs::create_dir_all(environment.project().join(".agents")).unwrap();
    make_pipe(&environment.project().join(".agents/anyhook.toml"));
    assert_guarded(&environment);
}

// ---------------------------------------------------------------- the state folder

/// Verdicts do not change, and whoever reads is told that nothing can be remembered.
fn assert_verdicts_stand(answer: impl Fn(&str) -> CommandRun, cause: &str) {
    for (command, code) in [("ls", 0), ("mkfs /dev/sda", 2)] {
        let mut event: Value = serde_json::from_str(&shell(command)).unwrap();
        for session in [Value::Null, "one".into()] {
            event["session_id"] = session.clone();
            let ran = answer(&event.to_string());
            assert_eq!(ran.code, code, "{ran:?}");
            assert_well_formed(&ran);
            assert!(ran.stderr.contains("anyhook: the journal cannot be written: "), "{ran:?}");
            assert!(ran.stderr.contains(cause), "{ran:?}");
            let told = ran.stderr.contains("anyhook: cannot save session state: ");
            assert_eq!(told, !session.is_null(), "{ran:?}");
        }
    }
}

#[test]
fn a_full_disk() {
    require!(MachineNeed::Mounts);
    let environment = guarded();
    environment.user_hook("aside", "trigger: before_tool\nasync: true", "exit 0");
    fs::create_dir_all(environment.state()).unwrap();
    let state = environment.state();
    let state = state.display();
    let mounts = format!(
        "mount -t tmpfs -o size=16k none '{state}'\nhead -c 100000 /dev/zero > '{state}/fill' 2>/dev/null || true"
    );
    let command = |arguments: &[&str]| namespace::command(&environment, &mounts, arguments);
    assert_verdicts_stand(
        |event| run(command(&["hook", "agent-hooks"]), event.as_bytes()),
        "No space left",
    );
    let ran = run(command(&["run", "before_tool", "--input", r#"{"command": "mkfs"}"#]), b"");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains("warning: the journal cannot be written: No space left"),
        "{ran:?}"
    );
    environment.project_hook("ours", "trigger: before_tool", "exit 0");
    let ran = run(command(&["trust", "ours"]), b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("No space left") && ran.stderr.contains("hint: "), "{ran:?}");
    let ran = run(command(&["remove", "guard"]), b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(environment.user_hooks().join("guard/scripts/run").exists(), "nothing is lost");
}

#[test]
fn a_read_only_state_folder() {
    require!(MachineNeed::Mounts);
    let environment = guarded();
    fs::create_dir_all(environment.state()).unwrap();
    let state = environment.state();
    let state = state.display();
    let mounts = format!("mount --bind '{state}' '{state}'\nmount -o remount,ro,bind '{state}'");
    let command = |arguments: &[&str]| namespace::command(&environment, &mounts, arguments);
    assert_verdicts_stand(
        |event| run(command(&["hook", "agent-hooks"]), event.as_bytes()),
        "Read-only file system",
    );
    let log = run(command(&["log"]), b"");
    assert_eq!((log.code, log.stdout.as_str()), (0, "no records\n"), "{log:?}");
}

#[test]
fn a_state_folder_of_somebody_else() {
    require!(MachineNeed::Users);
    let environment = guarded();
    environment.give_to(NOBODY);
    fs::create_dir_all(environment.state()).unwrap();
    assert_verdicts_stand(
        |event| run(environment.command_as(NOBODY, &["hook", "agent-hooks"]), event.as_bytes()),
        "Permission denied",
    );
}

/// What was trusted stays trusted, though nothing new can be remembered.
#[test]
fn a_read_only_state_folder_with_a_trusted_hook() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    environment.project_hook("ours", "trigger: before_tool", "echo ours >&2; exit 2");
    assert_eq!(environment.run(&["trust", "ours"]).code, 0);
    let state = environment.state();
    let state = state.display();
    let mounts = format!("mount --bind '{state}' '{state}'\nmount -o remount,ro,bind '{state}'");
    let command = namespace::command(&environment, &mounts, &["hook", "agent-hooks"]);
    let ran = run(command, shell("ls").as_bytes());
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn a_home_its_user_may_not_write() {
    require!(MachineNeed::Users);
    let environment = guarded();
    // Everything is root's: nobody may look, but not write.
    assert_verdicts_stand(
        |event| run(environment.command_as(NOBODY, &["hook", "agent-hooks"]), event.as_bytes()),
        "Permission denied",
    );
    let new =
        run(environment.command_as(NOBODY, &["new", "mine", "--trigger", "before_tool"]), b"");
    assert_eq!(new.code, 1, "{new:?}");
    assert!(new.stderr.contains("Permission denied") && new.stderr.contains("hint: "), "{new:?}");
}

#[test]
fn a_state_folder_that_is_a_file() {
    for place in [".local", ".local/state", ".local/state/anyhook"] {
        let environment = guarded();
        write(&environment.home().join(place), "a file", 0o644);
        assert_verdicts_stand(|event| hook(&environment, event), "Not a directory");
    }
}

#[test]
fn state_files_that_are_folders() {
    let environment = guarded();
    let mut event: Value = serde_json::from_str(&shell("mkfs")).unwrap();
    event["session_id"] = "one".into();
    assert_eq!(hook(&environment, event.to_string()).code, 2);
    let sessions = environment.state().join("sessions");
    let session = fs::read_dir(sessions).unwrap().flatten().next().unwrap().path();
    for entry in fs::read_dir(&session).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
        fs::create_dir(entry.path()).unwrap();
    }
    let journal =
        fs::read_dir(environment.state().join("journal")).unwrap().flatten().next().unwrap();
    fs::remove_file(journal.path()).unwrap();
    fs::create_dir(journal.path()).unwrap();
    let ran = hook(&environment, event.to_string());
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_well_formed(&ran);
    assert!(ran.stderr.contains("the journal cannot be written"), "{ran:?}");
}

// ---------------------------------------------------------------- surroundings

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    for home in [None, Some(""), Some("relative")] {
        let environment = guarded();
        environment.project_hook("ours", "trigger: before_tool", "exit 2");
        let mut command = environment.command_without_home(&["hook", "agent-hooks"]);
        if let Some(home) = home {
            command.env("HOME", home);
        }
        let ran = run(command, shell("mkfs").as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{home:?}: {ran:?}");
        assert!(ran.stderr.contains("there is no home folder"), "{home:?}: {ran:?}");
        assert!(!environment.project().join("relative").exists());
        for arguments in [&["list"][..], &["check"], &["prompt"], &["explain", "before_tool"]] {
            let command = environment.command_without_home(arguments);
            assert_eq!(run(command, b"").code, 0, "{arguments:?}");
        }
    }
}

#[test]
fn a_project_that_is_gone() {
    let environment = guarded();
    environment.user_hook("see", "trigger: before_tool\npriority: 900", "pwd >> \"$HOME/seen\"");
    let gone = environment.project().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "rmdir ../gone; exec \"$0\" hook agent-hooks"]);
    let original = environment.command(&[]);
    command.arg(original.get_program()).current_dir(&gone).env_clear();
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let ran = run(command, shell("mkfs").as_bytes());
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_well_formed(&ran);
    // An event from a folder that is gone, and a session whose root goes.
    let mut event: Value = serde_json::from_str(&shell("mkfs")).unwrap();
    event["work_dir"] = environment.project().join("no/such/place").to_str().unwrap().into();
    event["session_id"] = "one".into();
    assert_eq!(hook(&environment, event.to_string()).code, 2);
    fs::rename(environment.project(), environment.root().join("moved")).unwrap();
    let mut command = environment.command(&["hook", "agent-hooks"]);
    command.current_dir("/");
    let ran = run(command, event.to_string().as_bytes());
    assert_eq!(ran.code, 2, "{ran:?}");
    let seen = fs::read_to_string(environment.home().join("seen")).unwrap();
    let home = environment.home();
    assert_eq!(seen.lines().last(), home.to_str(), "the nearest folder that is there");
}

#[test]
fn a_hostile_environment() {
    let long = "x".repeat(100_000);
    let variables: [(&str, OsString); 16] = [
        ("ANYHOOK_RUN", "detached".into()),
        ("ANYHOOK_EVENT", "session_start".into()),
        ("ANYHOOK_HOOK_DIR", "/nowhere".into()),
        ("ANYHOOK_BIN", "/bin/false".into()),
        ("ANYHOOK_ALLOW", "1".into()),
        ("XDG_CONFIG_HOME", "relative".into()),
        ("XDG_STATE_HOME", "".into()),
        ("TMPDIR", "/nowhere".into()),
        ("BASH_ENV", "/nowhere".into()),
        ("IFS", "/".into()),
        ("LANG", "nonsense".into()),
        ("LC_ALL", "\u{fffd}".into()),
        ("COLUMNS", "-1".into()),
        ("RUST_BACKTRACE", "full".into()),
        ("STRANGE", OsStr::from_bytes(b"\xff\xfe").to_owned()),
        ("LONG", long.into()),
    ];
    let environment = guarded();
    environment.user_hook("aside", "trigger: before_tool\nasync: true", "exit 0");
    for (name, value) in &variables {
        let mut command = environment.command(&["hook", "agent-hooks"]);
        command.env(name, value);
        let ran = run(command, shell("mkfs").as_bytes());
        assert_eq!((ran.code, ran.stderr.contains("not here")), (2, true), "{name}: {ran:?}");
        assert_well_formed(&ran);
    }
    let mut command = environment.command(&["hook", "agent-hooks"]);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let ran = run(command, shell("mkfs").as_bytes());
    assert_eq!(ran.code, 2, "{ran:?}");
    let aside = |record: &Value| !record["of"].is_null();
    wait_until("the hooks that ran aside", || {
        environment.journal().into_iter().filter(aside).count() == 17
    });
    for record in environment.journal().into_iter().filter(aside) {
        assert_eq!(record["runs"][0]["outcome"]["exited"], 0, "{record}");
    }
}

/// A hook that calls anyhook is answered, too, and ends with its own limit.
#[test]
fn a_hook_within_a_hook() {
    let environment = guarded();
    environment.user_hook(
        "asker",
        "trigger: before_agent",
        r#""$ANYHOOK_BIN" run before_tool --input '{"command": "mkfs"}' >&2; exit $?"#,
    );
    let ran = hook(&environment, r#"{"event_type": "before_agent"}"#);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("blocked by guard: not here"), "{ran:?}");
}
