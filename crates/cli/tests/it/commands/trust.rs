//! `anyhook trust`.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require, run, write};

use crate::environment;
use crate::mcp::project_file;

fn guard(environment: &TestEnv) -> std::path::PathBuf {
    environment.project_hook(
        "guard",
        "trigger: before_tool",
        "# Says no to everything.\necho no >&2\nexit 2",
    )
}

/// Runs the program with a pseudo-terminal on which a person types `typed`.
pub fn at_a_terminal(environment: &TestEnv, arguments: &[&str], typed: &str) -> CommandRun {
    at_a_terminal_with(environment, &[], arguments, typed)
}

/// As [`at_a_terminal`], with further variables.
pub fn at_a_terminal_with(
    environment: &TestEnv,
    variables: &[(&str, &str)],
    arguments: &[&str],
    typed: &str,
) -> CommandRun {
    let original = environment.command(arguments);
    let line: Vec<String> = std::iter::once(original.get_program())
        .chain(original.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut command = Command::new("script");
    command
        .args(["--quiet", "--echo", "never", "--return", "--command", &line.join(" "), "/dev/null"])
        .current_dir(environment.project())
        .env_clear();
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.envs(variables.iter().copied());
    let ran = run(command, typed.as_bytes());
    CommandRun { stdout: ran.stdout.replace('\r', ""), ..ran }
}

#[test]
fn by_name() {
    let environment = environment();
    guard(&environment);
    assert_eq!(environment.shell("ls").code, 0);
    assert_run!(environment, environment.run(&["trust", "guard"]), @"
    exit code: 0
    ----- stdout -----
    guard  ~/project/.agents/hooks/guard
      the hook guard
      runs at before_tool
      ── HOOK.md (69 bytes)
      │ ---
      │ name: guard
      │ description: the hook guard
      │ trigger: before_tool
      │ ---
      ── scripts/run (54 bytes, executable)
      │ #!/bin/sh
      │ # Says no to everything.
      │ echo no >&2
      │ exit 2
    trusted guard
    ");
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn by_folder() {
    let environment = environment();
    let folder = guard(&environment);
    assert_eq!(environment.run(&["trust", ".agents/hooks/guard"]).code, 0);
    assert_eq!(environment.run(&["untrust", folder.to_str().unwrap()]).code, 0);
    assert_eq!(environment.run(&["trust", folder.to_str().unwrap()]).code, 0);
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn all_at_once() {
    let environment = environment();
    guard(&environment);
    environment.project_hook("other", "trigger: [before_stop, session_end]", "exit 0");
    assert_run!(environment, environment.run(&["trust", "--all"]));
    assert_run!(environment, environment.run(&["trust", "--all"]), @"
    exit code: 0
    ----- stdout -----
    nothing to trust: this project has no untrusted hooks
    ");
}

#[test]
fn only_show() {
    let environment = environment();
    guard(&environment);
    assert_run!(environment, environment.run(&["trust", "--show"]), @"
    exit code: 0
    ----- stdout -----
    guard  ~/project/.agents/hooks/guard
      the hook guard
      runs at before_tool
      ── HOOK.md (69 bytes)
      │ ---
      │ name: guard
      │ description: the hook guard
      │ trigger: before_tool
      │ ---
      ── scripts/run (54 bytes, executable)
      │ #!/bin/sh
      │ # Says no to everything.
      │ echo no >&2
      │ exit 2
    ");
    assert_eq!(environment.shell("ls").code, 0, "nothing is trusted");
}

/// Nobody is there to ask, so nothing is trusted.
#[test]
fn without_a_terminal_and_without_names() {
    let environment = environment();
    guard(&environment);
    assert_run!(environment, environment.run_with_input(&["trust"], "y\n"), @"
    exit code: 1
    ----- stdout -----
    guard  ~/project/.agents/hooks/guard
      the hook guard
      runs at before_tool
      ── HOOK.md (69 bytes)
      │ ---
      │ name: guard
      │ description: the hook guard
      │ trigger: before_tool
      │ ---
      ── scripts/run (54 bytes, executable)
      │ #!/bin/sh
      │ # Says no to everything.
      │ echo no >&2
      │ exit 2
    not trusted: guard

    ----- stderr -----
    error: 1 hook not trusted: cannot ask for confirmation without a terminal
    hint: pass names, or --all
    ");
    assert_eq!(environment.shell("ls").code, 0);
}

#[test]
fn a_person_says_yes() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    guard(&environment);
    assert_run!(environment, at_a_terminal(&environment, &["trust"], "y\n"), @"
    exit code: 0
    ----- stdout -----
    guard  ~/project/.agents/hooks/guard
      the hook guard
      runs at before_tool
      ── HOOK.md (69 bytes)
      │ ---
      │ name: guard
      │ description: the hook guard
      │ trigger: before_tool
      │ ---
      ── scripts/run (54 bytes, executable)
      │ #!/bin/sh
      │ # Says no to everything.
      │ echo no >&2
      │ exit 2
    Trust guard? [y/N] trusted guard
    ");
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn a_person_says_anything_else() {
    require!(MachineNeed::Terminals);
    for answer in ["\n", "n\n", "no\n", "ye\n", "1\n", "\u{4}"] {
        let environment = environment();
        guard(&environment);
        let ran = at_a_terminal(&environment, &["trust"], answer);
        assert_eq!(ran.code, 0, "{answer:?}: {ran:?}");
        assert!(ran.stdout.contains("Trust guard? [y/N] "), "{ran:?}");
        assert!(!ran.stdout.contains("trusted guard"), "{answer:?}: {ran:?}");
        assert_eq!(environment.shell("ls").code, 0, "{answer:?}");
    }
}

#[test]
fn what_has_changed_is_shown() {
    let environment = environment();
    let folder = guard(&environment);
    write(&folder.join("scripts/words.txt"), "one\n", 0o644);
    assert_eq!(environment.run(&["trust", "guard"]).code, 0);
    write(&folder.join("scripts/words.txt"), "one\ntwo\n", 0o644);
    write(&folder.join("scripts/more.txt"), "new\n", 0o644);
    assert_eq!(environment.shell("ls").code, 0, "changed: it does not run");
    assert_run!(environment, environment.run(&["trust", "guard"]), @"
    exit code: 0
    ----- stdout -----
    guard  ~/project/.agents/hooks/guard
      the hook guard
      runs at before_tool
      it was trusted before; changes since then are marked
      ── HOOK.md (69 bytes)  unchanged
      ── scripts/more.txt (4 bytes)  NEW
      │ new
      ── scripts/run (54 bytes, executable)  unchanged
      ── scripts/words.txt (8 bytes)  CHANGED
      │ one
      │ two
    trusted guard
    ");
    assert_eq!(environment.shell("ls").code, 2);
}

/// A file with the same bytes and another run bit, or a link in its place, is another one.
#[test]
fn run_bits_and_links_are_changes_too() {
    let environment = environment();
    let folder = guard(&environment);
    write(&folder.join("scripts/help"), "exit 0\n", 0o644);
    write(&folder.join("scripts/link"), "exit 0\n", 0o644);
    assert_eq!(environment.run(&["trust", "guard"]).code, 0);
    write(&folder.join("scripts/help"), "exit 0\n", 0o755);
    fs::remove_file(folder.join("scripts/link")).unwrap();
    symlink("help", folder.join("scripts/link")).unwrap();
    assert_run!(environment, environment.run(&["trust", "--show"]), @"
    exit code: 0
    ----- stdout -----
    guard  ~/project/.agents/hooks/guard
      the hook guard
      runs at before_tool
      it was trusted before; changes since then are marked
      ── HOOK.md (69 bytes)  unchanged
      ── scripts/help (7 bytes, executable)  CHANGED
      │ exit 0
      ── scripts/link → help  CHANGED
      ── scripts/run (54 bytes, executable)  unchanged
    ");
}

/// A hook that loses a file is another hook.
#[test]
fn what_is_gone_is_shown() {
    let environment = environment();
    let folder = guard(&environment);
    write(&folder.join("scripts/words.txt"), "one\n", 0o644);
    assert_eq!(environment.run(&["trust", "guard"]).code, 0);
    fs::remove_file(folder.join("scripts/words.txt")).unwrap();
    assert_run!(environment, environment.run(&["trust", "--show"]), @"
    exit code: 0
    ----- stdout -----
    guard  ~/project/.agents/hooks/guard
      the hook guard
      runs at before_tool
      it was trusted before; changes since then are marked
      ── HOOK.md (69 bytes)  unchanged
      ── scripts/run (54 bytes, executable)  unchanged
      ── scripts/words.txt  REMOVED
    ");
}

#[test]
fn that_it_replaces_yours_is_a_question_of_its_own() {
    require!(MachineNeed::Terminals);
    for (answers, code) in [("y\nn\n", 2), ("y\ny\n", 0), ("n\n", 2)] {
        let environment = environment();
        environment.user_hook("guard", "trigger: before_tool", "exit 2");
        environment.project_hook("guard", "trigger: before_tool", "exit 0");
        let ran = at_a_terminal(&environment, &["trust"], answers);
        let question = "Let it replace your hook guard? [y/N]";
        assert_eq!(ran.stdout.contains(question), answers.starts_with('y'), "{ran:?}");
        assert_eq!(ran.stdout.contains("not trusted: guard"), answers.starts_with('n'), "{ran:?}");
        assert_eq!(environment.shell("ls").code, code, "{answers:?}");
    }
}

#[test]
fn a_runbook_is_shown_and_asked_about_before_it_runs() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    let text = "pipeline \"p\" {\n  step \"a\" {\n    run = \"true\"\n  }\n}\n";
    write(&environment.project().join(".agents/runbooks/p.hcl"), text, 0o644);
    let ran = at_a_terminal(&environment, &["pipeline", "run", "p"], "n\n");
    assert!(ran.stdout.contains("Trust .agents/runbooks/p.hcl? [y/N]"), "{ran:?}");
    assert!(ran.stdout.contains("run = \"true\""), "{ran:?}");
    assert!(ran.stdout.contains("is not trusted, so its pipelines do not run"), "{ran:?}");
    let ran = at_a_terminal(&environment, &["pipeline", "run", "p"], "y\n");
    assert!(ran.stdout.contains("p-project (p): 1 step"), "{ran:?}");
    assert_eq!(environment.run(&["pipeline", "run", "p"]).code, 0, "trusted from now on");
}

#[test]
fn long_and_strange_files() {
    let environment = environment();
    let folder = guard(&environment);
    let lines: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    write(&folder.join("scripts/long.txt"), lines, 0o644);
    write(&folder.join("scripts/picture"), b"\x89PNG\xff\x00", 0o644);
    write(&folder.join("scripts/steers"), "\x1b[2Jclear\n", 0o644);
    symlink("run", folder.join("scripts/link")).unwrap();
    assert_run!(environment, environment.run(&["trust", "--show"]));
}

#[test]
fn a_hook_that_cannot_run() {
    let environment = environment();
    environment.project_hook("broken", "trigger: never", "exit 0");
    assert_run!(environment, environment.run(&["trust", "--show"]), @"
    exit code: 0
    ----- stdout -----
    broken  ~/project/.agents/hooks/broken
      the hook broken
      cannot run: unknown trigger `never`
      hint: events: session_start, session_end, before_agent, after_agent, before_stop, after_stop, before_tool, after_tool, after_tool_failure, subagent_start, subagent_stop, pre_compact, post_compact, notification, permission_request
      ── HOOK.md (65 bytes)
      │ ---
      │ name: broken
      │ description: the hook broken
      │ trigger: never
      │ ---
      ── scripts/run (17 bytes, executable)
      │ #!/bin/sh
      │ exit 0
    ");
}

#[test]
fn a_link_that_leads_out() {
    let environment = environment();
    let folder = guard(&environment);
    symlink("../../../../secrets", folder.join("scripts/secrets")).unwrap();
    assert_run!(environment, environment.run(&["trust", "guard"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/project/.agents/hooks/guard/scripts/secrets` is a link that points outside the hook's folder
    hint: copy what it points to into the hook's folder
    ");
}

#[test]
fn a_folder_that_is_too_large() {
    let environment = environment();
    let folder = guard(&environment);
    let file = fs::File::create(folder.join("large")).unwrap();
    file.set_len(40 * 1024 * 1024).unwrap();
    let mut settings = super::snapshot::settings();
    settings.add_filter(r"\.staged-\w+", ".staged-[RANDOM]");
    let ran = environment.run(&["trust", "guard"]);
    settings.bind(|| assert_run!(environment, ran, @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/project/.agents/hooks/guard` has more than 2000 files or 32 MiB, which is too large for a hook
    hint: keep only what the hook needs in its folder
    "));
}

#[test]
fn nothing_to_trust() {
    let environment = environment();
    assert_run!(environment, environment.run(&["trust"]), @"
    exit code: 0
    ----- stdout -----
    nothing to trust: this project has no untrusted hooks
    ");
}

/// The user's own hooks need no trust.
#[test]
fn not_the_projects() {
    let environment = environment();
    environment.user_hook("mine", "trigger: before_tool", "exit 0");
    assert_run!(environment, environment.run(&["trust", "mine"]), @"
    exit code: 65
    ----- stderr -----
    error: this project has no hook `mine`
    hint: only project hooks need trust: those in the repository's .agents/hooks
    ");
}

#[test]
fn all_and_a_name() {
    let environment = environment();
    assert_run!(environment, environment.run(&["trust", "--all", "guard"]), @"
    exit code: 64
    ----- stderr -----
    error: the argument '--all' cannot be used with '[PATHS]...'

    Usage: anyhook trust --all [PATHS]...
    hint: anyhook trust --help
    ");
}

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    let environment = environment();
    guard(&environment);
    let command = environment.command_without_home(&["trust", "guard"]);
    assert_run!(environment, run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: no state folder to save this in
    hint: set HOME
    ");
}

#[test]
fn a_state_folder_that_cannot_be_written() {
    let environment = environment();
    guard(&environment);
    write(&environment.home().join(".local"), "a file", 0o644);
    assert_run!(environment, environment.run(&["trust", "guard"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.local/state/anyhook/trust/copies`: Not a directory
    hint: check the folder's permissions and free disk space
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["trust", "--help"]));
}

/// Which programs MCP servers are is code, too.
#[test]
fn mcp_servers_of_the_project() {
    let environment = environment();
    guard(&environment);
    let file = project_file(&environment);
    write(
        &file,
        "{\n  // For the architect.\n  \"mcpServers\": {\"gemini\": {\"command\": \"npx\"}}\n}\n",
        0o644,
    );
    assert_run!(environment, environment.run(&["trust", "mcp.json"]), @r#"
    exit code: 0
    ----- stdout -----
    mcp.json  ~/project/.agents/mcp.json
      MCP servers: gemini
      ── mcp.json (75 bytes)
      │ {
      │   // For the architect.
      │   "mcpServers": {"gemini": {"command": "npx"}}
      │ }
    trusted mcp.json
    "#);
    let shown = environment.run(&["trust", "--show"]).stdout;
    assert!(shown.contains("guard") && !shown.contains("mcp.json"), "{shown}");
    // All of it is shown, however long.
    let many: String = (0..200).map(|number| format!("  // line {number}\n")).collect();
    write(&file, format!("{{\n{many}  \"mcpServers\": {{}}\n}}\n"), 0o644);
    let shown = environment.run(&["trust", "--show"]).stdout;
    assert!(shown.contains("it was trusted before, with different content"), "{shown}");
    assert!(shown.contains("MCP servers: none") && shown.contains("// line 199"), "{shown}");
    let ran = environment.run_with_input(&["trust"], "y\n");
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains(
            "1 hook and mcp.json not trusted: cannot ask for confirmation without a terminal"
        ),
        "{ran:?}"
    );
    assert_eq!(environment.run(&["trust", "--all"]).code, 0);
    assert!(environment.run(&["trust", "--all"]).stdout.starts_with("nothing to trust"));
}

#[test]
fn a_file_of_mcp_servers_that_cannot_be_used() {
    let environment = environment();
    let file = project_file(&environment);
    write(&file, "{\"mcpServers\": 5}", 0o644);
    let shown = environment.run(&["trust", "--show"]).stdout;
    assert!(shown.contains("cannot be used: ~/project/.agents/mcp.json:1:16: "), "{shown}");
    fs::remove_file(&file).unwrap();
    let missing = environment.run(&["trust", "mcp.json"]);
    assert_eq!(missing.code, 65);
    assert!(missing.stderr.contains("this project has no hook `mcp.json`"), "{missing:?}");
    fs::create_dir(&file).unwrap();
    assert!(environment.run(&["trust"]).stdout.starts_with("nothing to trust"));
    let named = environment.run(&["trust", ".agents/mcp.json"]);
    assert_eq!(named.code, 65);
    assert!(named.stderr.contains("it is not a file"), "{named:?}");
}

#[test]
fn a_person_is_asked_about_mcp_servers() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    write(&project_file(&environment), "{\"mcpServers\": {}}", 0o644);
    assert!(
        at_a_terminal(&environment, &["trust"], "n\n").stdout.contains("Trust mcp.json? [y/N]")
    );
    assert!(environment.run(&["trust", "--show"]).stdout.contains("mcp.json"));
    assert!(at_a_terminal(&environment, &["trust"], "y\n").stdout.contains("trusted mcp.json"));
    assert!(!environment.run(&["trust", "--show"]).stdout.contains("mcp.json"));
}
