//! `anyhook install`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require, run, write};

use crate::environment;

/// Another user, who may not write what root owns.
const NOBODY: u32 = 65534;

pub const AGENTS: [&str; 4] = ["claude-code", "codex", "gemini-cli", "opencode"];

/// Makes an environment in which our program is where `install` would copy it.
pub fn in_place() -> TestEnv {
    let environment = environment();
    let bin = stable(&environment);
    fs::create_dir_all(bin.parent().unwrap()).unwrap();
    symlink(crate::program(), bin).unwrap();
    environment
}

/// Returns where the program is copied to.
pub fn stable(environment: &TestEnv) -> PathBuf {
    environment.home().join(".local/share/anyhook/bin/anyhook")
}

/// Returns the program; only the agents of the test are on its `PATH`.
pub fn command(environment: &TestEnv, arguments: &[&str]) -> Command {
    let mut command = environment.command(arguments);
    command.env("PATH", environment.home().join("bin"));
    command
}

pub fn anyhook(environment: &TestEnv, arguments: &[&str]) -> CommandRun {
    run(command(environment, arguments), b"")
}

/// Puts a program of this name on the `PATH`.
pub fn program(environment: &TestEnv, name: &str) {
    write(&environment.home().join("bin").join(name), "#!/bin/sh\n", 0o755);
}

/// Returns an agent's settings file, below the home folder.
pub fn settings(environment: &TestEnv, agent: &str) -> PathBuf {
    environment.home().join(match agent {
        "claude-code" => ".claude/settings.json",
        "codex" => ".codex/hooks.json",
        "gemini-cli" => ".gemini/settings.json",
        _ => ".config/opencode/plugins/anyhook.js",
    })
}

/// Returns every file below the home folder but anyhook's own: its text, or where it leads.
pub fn files(environment: &TestEnv) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![environment.home()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_symlink() {
                let target = fs::read_link(&path).unwrap();
                files.insert(path, target.into_os_string().into_encoded_bytes());
            } else if path.is_dir() {
                if !path.ends_with("anyhook") {
                    folders.push(path);
                }
            } else {
                files.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    files
}

/// Expects a failure that changes nothing.
fn refuses(environment: &TestEnv, arguments: &[&str]) -> CommandRun {
    let before = files(environment);
    let ran = anyhook(environment, arguments);
    assert_eq!(files(environment), before, "{ran:?}");
    assert_eq!(ran.code, 1, "{ran:?}");
    ran
}

#[test]
fn claude_code() {
    let environment = in_place();
    assert_run!(environment, anyhook(&environment, &["install", "claude-code", "--diff"]));
}

#[test]
fn codex() {
    let environment = in_place();
    assert_run!(environment, anyhook(&environment, &["install", "codex", "--diff"]));
    let config = fs::read_to_string(environment.home().join(".codex/config.toml")).unwrap();
    assert_eq!(config.matches("trusted_hash").count(), 11, "{config}");
}

#[test]
fn gemini_cli() {
    let environment = in_place();
    assert_run!(environment, anyhook(&environment, &["install", "gemini-cli", "--diff"]));
}

#[test]
fn opencode() {
    let environment = in_place();
    let ran = anyhook(&environment, &["install", "opencode", "--diff"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let plugin = fs::read_to_string(settings(&environment, "opencode")).unwrap();
    let binary = format!("const BINARY = {:?};", stable(&environment).to_str().unwrap());
    assert!(plugin.contains(&binary), "{plugin}");
    assert!(!plugin.contains('@'), "{plugin}");
    // All of it is shown.
    for line in plugin.lines() {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
}

const OWN_HOOK: &str = r#"{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine.sh"}]}
    ]
  }
}
"#;

/// What was done, what was kept, what the agent cannot do, and what to try next: without the diff.
#[test]
fn a_few_lines_for_each_agent() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), OWN_HOOK, 0o644);
    let arguments: Vec<&str> = ["install"].into_iter().chain(AGENTS).collect();
    assert_run!(environment, anyhook(&environment, &arguments), @"
    exit code: 0
    ----- stdout -----
    Claude Code  installed for 14 events (tested with 2.1.325)
      changed ~/.claude/settings.json
      kept 1 hook of yours: mine.sh
      cannot block session_start, subagent_start
    Codex  installed for 11 events (tested with 0.166.0)
      created ~/.codex/config.toml
      created ~/.codex/hooks.json
      does not have after_tool_failure, notification
      cannot block subagent_start
      can't ask you: an ask becomes a deny that explains how to approve (ask_fallback)
    Gemini CLI  installed for 8 events (tested with 0.61.0)
      created ~/.gemini/settings.json
      does not have subagent_start, subagent_stop, post_compact, permission_request
      cannot block session_start, pre_compact
      ignores context added before a tool call
    OpenCode  installed (tested with 1.18.33)
      created ~/.config/opencode/plugins/anyhook.js
      cannot block session_start, subagent_start, subagent_stop, pre_compact
      can't ask you: an ask becomes a deny that explains how to approve (ask_fallback)
      ignores context added before a tool call
    next: start claude or codex or gemini or opencode, let it use a tool, then: anyhook doctor
    ");
}

/// `--dry-run` says the same of what would be done.
#[test]
fn what_would_be_done() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), OWN_HOOK, 0o644);
    assert_run!(environment, anyhook(&environment, &["install", "claude", "--dry-run"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  would be installed for 14 events (tested with 2.1.325)
      would change ~/.claude/settings.json
      kept 1 hook of yours: mine.sh
      cannot block session_start, subagent_start
    nothing was changed; --diff shows every line
    ");
    let ran = anyhook(&environment, &["install", "claude", "--dry-run", "--diff"]);
    assert!(ran.stdout.contains("hook claude-code --deadline-ms"), "{ran:?}");
    assert!(ran.stdout.ends_with("nothing was changed\n"), "{ran:?}");
    assert_eq!(fs::read_to_string(settings(&environment, "claude-code")).unwrap(), OWN_HOOK);
}

/// Agents go by the names of their programs, too.
#[test]
fn by_the_names_of_programs() {
    let environment = in_place();
    let ran = anyhook(&environment, &["install", "claude", "gemini", "Codex", "claude-code"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for agent in &AGENTS[..3] {
        assert!(settings(&environment, agent).exists(), "{agent}");
    }
    assert_eq!(ran.stdout.matches("Claude Code").count(), 1, "{ran:?}");
    assert_eq!(anyhook(&environment, &["uninstall", "gemini", "--verify"]).code, 0);
    assert!(!settings(&environment, "gemini-cli").exists());
    assert_run!(environment, anyhook(&environment, &["install", "cluade-code"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown agent `cluade-code`
    hint: did you mean `claude-code`?
    ");
}

/// The copies of the programs are large: it is said where they are.
#[test]
fn the_copies_are_told_of() {
    let environment = environment();
    let dry = anyhook(&environment, &["install", "claude-code", "--dry-run"]);
    let ran = anyhook(&environment, &["install", "claude-code"]);
    for (ran, word) in [(&dry, "would copy anyhook ("), (&ran, "\ncopied anyhook (")] {
        assert!(ran.stdout.contains(word), "{ran:?}");
        assert!(ran.stdout.contains(" MB) to ~/.local/share/anyhook/bin, for agents\n"), "{ran:?}");
    }
    let again = anyhook(&environment, &["install", "claude-code"]);
    assert!(!again.stdout.contains("copied"), "{again:?}");
}

#[test]
fn as_json() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), OWN_HOOK, 0o644);
    let dry = anyhook(&environment, &["install", "claude-code", "--json", "--dry-run"]).json();
    let ran = anyhook(&environment, &["install", "claude-code", "--json", "--diff"]).json();
    assert_eq!((&dry["dry_run"], &ran["dry_run"]), (&true.into(), &false.into()));
    let agent = &ran["agents"][0];
    assert_eq!((&agent["id"], &agent["result"]), (&"claude-code".into(), &"installed".into()));
    assert_eq!(agent["kept"], serde_json::json!(["mine.sh"]));
    assert_eq!(agent["events"].as_array().unwrap().len(), 14);
    let file = &agent["files"][0];
    assert_eq!(file["change"], "changed");
    assert!(file["diff"].as_str().unwrap().contains("+        \"hooks\": ["), "{file}");
    assert!(dry["agents"][0]["files"][0]["diff"].is_null());
    let again = anyhook(&environment, &["install", "claude-code", "--json"]).json();
    assert_eq!(again["agents"][0]["result"], "unchanged");
    assert_eq!(again["agents"][0]["files"], serde_json::json!([]));
    assert_eq!(again["programs"], serde_json::json!([]));
}

/// Comments, order and form stay; only our entries are added.
#[test]
fn into_settings_that_are_there() {
    let environment = in_place();
    write(
        &settings(&environment, "claude-code"),
        "// my settings\n{\n\t\"model\": \"opus\",   // the big one\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]},\n\t\t],\n\t},\n}\n",
        0o600,
    );
    assert_run!(environment, anyhook(&environment, &["install", "claude-code", "--diff"]));
    let file = settings(&environment, "claude-code");
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.starts_with("// my settings\n{\n\t\"model\": \"opus\",   // the big one\n"));
    assert!(after.contains("\t\t\t{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]},\n"), "{after}");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "its mode stays");
}

#[test]
fn what_is_found() {
    let environment = in_place();
    program(&environment, "claude");
    fs::create_dir_all(environment.home().join(".config/opencode")).unwrap();
    let ran = anyhook(&environment, &["install", "--dry-run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("Claude Code") && ran.stdout.contains("OpenCode"), "{ran:?}");
    assert!(!ran.stdout.contains("Codex") && !ran.stdout.contains("Gemini"), "{ran:?}");
}

#[test]
fn none_is_found() {
    let environment = in_place();
    assert_run!(environment, anyhook(&environment, &["install"]), @"
    exit code: 1
    ----- stderr -----
    error: no agent found on this machine
    hint: name one: anyhook install claude-code
    ");
    assert_run!(environment, anyhook(&environment, &["install", "--project"]), @"
    exit code: 1
    ----- stderr -----
    error: no agent found on this machine
    hint: name one: anyhook install claude-code
    ");
}

#[test]
fn only_shown() {
    let environment = environment();
    let before = files(&environment);
    let arguments: Vec<&str> = ["install", "--dry-run"].into_iter().chain(AGENTS).collect();
    let ran = anyhook(&environment, &arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    let last = "nothing was changed; --diff shows every line\n";
    assert!(ran.stdout.ends_with(last), "{ran:?}");
    assert_eq!(files(&environment), before);
    assert!(!stable(&environment).exists() && !environment.state().exists());
}

#[test]
fn into_a_project() {
    let environment = in_place();
    let arguments: Vec<&str> = ["install", "--project"].into_iter().chain(AGENTS).collect();
    let ran = anyhook(&environment, &arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    for file in [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".opencode/plugins/anyhook.js",
    ] {
        assert!(environment.project().join(file).is_file(), "{file}");
    }
    for agent in AGENTS {
        assert!(!settings(&environment, agent).exists(), "{agent}");
    }
    // Trust is the user's, also for a project's hooks.
    assert!(environment.home().join(".codex/config.toml").is_file());
    assert!(!environment.project().join(".codex/config.toml").exists());
    // An agent the machine has is found for a project, too.
    fs::create_dir_all(environment.home().join(".gemini")).unwrap();
    let ran = anyhook(&environment, &["install", "--project"]);
    assert!(ran.stdout.contains("Gemini CLI"), "{ran:?}");
}

#[test]
fn a_second_time() {
    let environment = in_place();
    let arguments: Vec<&str> = ["install"].into_iter().chain(AGENTS).collect();
    assert_eq!(anyhook(&environment, &arguments).code, 0);
    let before = files(&environment);
    assert_run!(environment, anyhook(&environment, &arguments), @"
    exit code: 0
    ----- stdout -----
    Claude Code  already installed (tested with 2.1.325)
      cannot block session_start, subagent_start
    Codex  already installed (tested with 0.166.0)
      does not have after_tool_failure, notification
      cannot block subagent_start
      can't ask you: an ask becomes a deny that explains how to approve (ask_fallback)
    Gemini CLI  already installed (tested with 0.61.0)
      does not have subagent_start, subagent_stop, post_compact, permission_request
      cannot block session_start, pre_compact
      ignores context added before a tool call
    OpenCode  already installed (tested with 1.18.33)
      cannot block session_start, subagent_start, subagent_stop, pre_compact
      can't ask you: an ask becomes a deny that explains how to approve (ask_fallback)
      ignores context added before a tool call
    ");
    assert_eq!(files(&environment), before);
}

#[test]
fn the_same_agent_twice() {
    let environment = in_place();
    let ran = anyhook(&environment, &["install", "gemini-cli", "gemini-cli"]);
    assert_eq!(ran.stdout.matches("Gemini CLI").count(), 1, "{ran:?}");
}

/// The program is copied to a place that stays, and what is wired in works from there.
#[test]
fn the_program_is_copied() {
    let environment = environment();
    assert_eq!(anyhook(&environment, &["install", "claude-code"]).code, 0);
    let copy = stable(&environment);
    assert!(fs::read(&copy).unwrap() == fs::read(env!("CARGO_BIN_EXE_anyhook")).unwrap());
    let text = fs::read_to_string(settings(&environment, "claude-code")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let line = value["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    environment.user_hook("guard", "trigger: before_tool", "echo no >&2\nexit 2");
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(environment.project()).env_clear();
    shell.env("HOME", environment.home()).env("PATH", "/usr/bin:/bin");
    let payload = r#"{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#;
    let ran = run(shell, payload.as_bytes());
    assert!(ran.stdout.contains("deny"), "{ran:?}");
}

/// An older entry of ours, with another path and in a group it shares, gives way; theirs stay.
#[test]
fn older_entries_of_ours() {
    let environment = in_place();
    let file = settings(&environment, "gemini-cli");
    write(
        &file,
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "/old/anyhook hook gemini-cli"}, {"type": "command", "command": "theirs"}]}, {"matcher": "x", "hooks": [{"type": "command", "command": "/older/anyhook hook gemini-cli"}]}, {"hooks": [{"type": "command", "command": "sh -c 'anyhook hook gemini-cli'"}]}]}}"#,
        0o644,
    );
    assert_eq!(anyhook(&environment, &["install", "gemini-cli"]).code, 0);
    let text = fs::read_to_string(&file).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let commands: Vec<&str> = value["hooks"]["BeforeTool"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["hooks"].as_array().unwrap())
        .map(|handler| handler["command"].as_str().unwrap())
        .collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    assert_eq!((commands[0], commands[2]), ("theirs", "sh -c 'anyhook hook gemini-cli'"));
    let marker = environment.state().join("guarded");
    let ours = format!(
        " {} {} hook gemini-cli --deadline-ms 540000 --home ",
        marker.display(),
        stable(&environment).display()
    );
    assert!(commands[1].starts_with("/bin/sh -c '\"$@\"; set -- $?;"), "{commands:?}");
    assert!(commands[1].contains(&ours) && commands[1].ends_with(" --tool-event"), "{commands:?}");
}

#[test]
fn broken_settings() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), "{\"hooks\": {\n", 0o644);
    // All are looked at before any is written.
    let ran = refuses(&environment, &["install", "gemini-cli", "claude-code"]);
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.claude/settings.json` is invalid: Unterminated object on line 1 column 11
    hint: nothing was changed; fix the file or move it away, then try again
    ");
}

#[test]
fn broken_toml() {
    let environment = in_place();
    write(&environment.home().join(".codex/config.toml"), "model = \n", 0o644);
    assert_run!(environment, refuses(&environment, &["install", "codex"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.codex/config.toml` is invalid: string values must be quoted, expected literal string on line 1 column 9
    hint: nothing was changed; fix the file or move it away, then try again
    ");
}

#[test]
fn something_else_where_hooks_belong() {
    for (text, what) in [
        ("[]", "the file"),
        ("7", "the file"),
        ("{\"hooks\": \"none\"}", "`hooks`"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", "`hooks.PreToolUse`"),
    ] {
        let environment = in_place();
        write(&settings(&environment, "claude-code"), text, 0o644);
        let ran = refuses(&environment, &["install", "claude-code"]);
        assert!(ran.stderr.contains(what) && ran.stderr.contains("hint: "), "{text}: {ran:?}");
    }
    let environment = in_place();
    write(&environment.home().join(".codex/config.toml"), "hooks = 3\n", 0o644);
    assert_run!(environment, refuses(&environment, &["install", "codex"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.codex/config.toml`: `hooks` is not a table
    hint: nothing was changed: anyhook does not recognize this format; check it first
    ");
}

#[test]
fn a_read_only_file() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), "{}\n", 0o444);
    assert_run!(environment, refuses(&environment, &["install", "claude-code"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.claude/settings.json` cannot be written: it is read-only
    hint: nothing in it was changed; check the permissions of the file and its folder
    ");
}

/// Of two files that belong together either both change or none.
#[test]
fn one_of_two_is_read_only() {
    let environment = in_place();
    write(&settings(&environment, "codex"), "{}\n", 0o644);
    write(&environment.home().join(".codex/config.toml"), "model = \"x\"\n", 0o444);
    refuses(&environment, &["install", "codex"]);
}

#[test]
fn a_file_of_another_user() {
    require!(MachineNeed::Users);
    let environment = environment();
    environment.give_to(NOBODY);
    let file = settings(&environment, "claude-code");
    write(&file, "{}\n", 0o600);
    fs::set_permissions(file.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    let nobody = environment.command_as(NOBODY, &["install", "claude-code"]);
    assert_run!(environment, run(nobody, b""), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.claude/settings.json` cannot be read: Permission denied
    hint: nothing was changed; check the file and its permissions
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
    // One that can be read and whose folder cannot be written.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let nobody = environment.command_as(NOBODY, &["install", "claude-code"]);
    assert_run!(environment, run(nobody, b""), @r#"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.claude/settings.json` cannot be written: permission denied
    hint: nothing in it was changed; check the permissions of the file and its folder
    "#);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
}

/// A link into somebody's folder of settings stays a link; what it leads to is written.
#[test]
fn a_link() {
    let environment = in_place();
    let real = environment.root().join("dotfiles/claude.json");
    write(&real, "{\"model\": \"x\"}\n", 0o644);
    let file = settings(&environment, "claude-code");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    symlink(&real, &file).unwrap();
    assert_eq!(anyhook(&environment, &["install", "claude-code"]).code, 0);
    assert_eq!(fs::read_link(&file).unwrap(), real);
    assert!(fs::read_to_string(&real).unwrap().contains("hook claude-code"));
    assert_eq!(anyhook(&environment, &["uninstall", "claude-code", "--verify"]).code, 0);
    assert_eq!(fs::read_link(&file).unwrap(), real);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\"model\": \"x\"}\n");
}

#[test]
fn a_link_that_leads_nowhere() {
    let environment = in_place();
    let file = settings(&environment, "claude-code");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    symlink("/nowhere/settings.json", &file).unwrap();
    assert_run!(environment, refuses(&environment, &["install", "claude-code"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.claude/settings.json` is a broken link
    hint: fix or remove the link
    ");
}

#[test]
fn what_is_no_file() {
    let environment = in_place();
    fs::create_dir_all(settings(&environment, "claude-code")).unwrap();
    assert_run!(environment, refuses(&environment, &["install", "claude-code"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.claude/settings.json` is not a file
    hint: nothing was changed; move it away, then try again
    ");
    let pipe = settings(&environment, "gemini-cli");
    fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ran = anyhook(&environment, &["install", "gemini-cli"]);
    assert!(ran.code == 1 && ran.stderr.contains("is not a file"), "{ran:?}");
}

#[test]
fn not_text() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), b"{\"model\": \"\xff\"}", 0o644);
    assert_run!(environment, refuses(&environment, &["install", "claude-code"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.claude/settings.json` cannot be read: stream did not contain valid UTF-8
    hint: nothing was changed; check the file and its permissions
    ");
}

#[test]
fn an_agent_in_which_no_hook_works() {
    let environment = in_place();
    let before = files(&environment);
    let ran = anyhook(&environment, &["install", "claude-code", "continue"]);
    let by_program = anyhook(&environment, &["install", "cn"]);
    assert_eq!((by_program.code, &by_program.stderr), (ran.code, &ran.stderr));
    assert_run!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: Continue is not supported: it reads settings of hooks and never calls a hook (version 1.5.47 was run)
    hint: `exclude` in ~/.continue/permissions.yaml keeps it from using a tool, except with --auto; `anyhook hosts` lists agents in which hooks work
    ");
    assert_eq!(files(&environment), before);
}

#[test]
fn an_unknown_agent() {
    let environment = in_place();
    let before = files(&environment);
    assert_run!(environment, anyhook(&environment, &["install", "claude-code", "vim"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown agent `vim`
    hint: available: [AGENTS]
    ");
    assert_eq!(files(&environment), before);
}

#[test]
fn somebody_elses_plugin() {
    let environment = in_place();
    write(&settings(&environment, "opencode"), "export const Mine = 1;\n", 0o644);
    assert_run!(environment, refuses(&environment, &["install", "opencode"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.config/opencode/plugins/anyhook.js`: the file is not our plugin
    hint: nothing was changed: anyhook does not recognize this format; check it first
    ");
    // Nor is it taken away.
    let ran = anyhook(&environment, &["uninstall", "opencode"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(settings(&environment, "opencode").exists());
}

#[test]
fn folders_the_user_has_chosen() {
    let environment = in_place();
    let mut install = command(&environment, &["install", "claude-code", "codex", "opencode"]);
    install.env("CLAUDE_CONFIG_DIR", environment.root().join("c"));
    install.env("CODEX_HOME", environment.root().join("x"));
    install.env("XDG_CONFIG_HOME", environment.root().join("o"));
    assert_eq!(run(install, b"").code, 0);
    for file in
        ["c/settings.json", "x/hooks.json", "x/config.toml", "o/opencode/plugins/anyhook.js"]
    {
        assert!(environment.root().join(file).is_file(), "{file}");
    }
}

/// Whole settings files are kept to be restored, and those may hold keys.
#[test]
fn the_record_is_for_the_user_alone() {
    let environment = in_place();
    assert_eq!(anyhook(&environment, &["install", "claude-code"]).code, 0);
    let record = environment.state().join("installed/claude-code-user.json");
    assert_eq!(fs::metadata(record).unwrap().permissions().mode() & 0o777, 0o600);
}

/// `anyhook install | head -1` installs all the same.
#[test]
fn nobody_reads_what_it_says() {
    let environment = in_place();
    let arguments: Vec<&str> = ["install"].into_iter().chain(AGENTS).collect();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut install = command(&environment, &arguments);
    let ended = install.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    for agent in AGENTS {
        assert!(settings(&environment, agent).exists(), "{agent}");
    }
    let arguments: Vec<&str> = ["uninstall", "--verify"].into_iter().chain(AGENTS).collect();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = command(&environment, &arguments).stdout(writer).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    for agent in AGENTS {
        assert!(!settings(&environment, agent).exists(), "{agent}");
    }
}

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    let environment = in_place();
    let install = environment.command_without_home(&["install", "claude-code"]);
    assert_run!(environment, run(install, b""), @"
    exit code: 1
    ----- stderr -----
    error: there is no home folder
    hint: set HOME
    ");
}

/// A home with blanks and quotes in its name: the line is one a shell understands.
#[test]
fn a_home_with_a_strange_name() {
    let environment = environment();
    let home = environment.root().join("it's a home");
    let bin = home.join(".local/share/anyhook/bin/anyhook");
    fs::create_dir_all(bin.parent().unwrap()).unwrap();
    symlink(crate::program(), &bin).unwrap();
    let at = |arguments: &[&str]| {
        let mut command = command(&environment, arguments);
        command.env("HOME", &home);
        run(command, b"")
    };
    assert_eq!(at(&["install", "claude-code", "opencode"]).code, 0);
    let doctor = at(&["doctor"]);
    assert!(!doctor.stdout.contains("which does not exist"), "{doctor:?}");
    assert_eq!(at(&["uninstall", "claude-code", "opencode", "--verify"]).code, 0);
    assert!(!Path::new(&home).join(".claude/settings.json").exists());
}

#[test]
fn both_levels() {
    let environment = in_place();
    assert_run!(environment, anyhook(&environment, &["install", "--user", "--project"]), @"
    exit code: 64
    ----- stderr -----
    error: the argument '--user' cannot be used with '--project'

    Usage: anyhook install --user [HOSTS]...
    hint: anyhook install --help
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["install", "--help"]));
}
