//! Where hooks live, and their order: levels, settings, the project root, namesakes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require, run, write};
use serde_json::{Value, json};

use super::{BLOCK, by_way_of, last_record, last_skip, left, listed, trust_all, written};
use crate::in_process::environment;

/// A script that adds its level to a list of who ran.
const NAME: &str = "printf '%s ' \"$ANYHOOK_HOOK_NAME\" >> order.txt";

/// Returns a script that adds a word to a list of who ran.
fn word(environment: &TestEnv, word: &str) -> String {
    format!("printf '%s ' {word} >> '{}'", order_file(environment).display())
}

/// Returns where scripts say who ran, whatever project they run in.
fn order_file(environment: &TestEnv) -> PathBuf {
    environment.home().join("order.txt")
}

/// Sends an event from a folder, in a session if one is given.
fn from_folder(environment: &TestEnv, work_dir: &Path, session: Option<&str>) -> CommandRun {
    environment
        .event(&json!({"event_type": "before_tool", "work_dir": work_dir, "session_id": session}))
}

/// Returns who ran, and forgets it.
fn order(environment: &TestEnv) -> String {
    let path = order_file(environment);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    text
}

/// Returns the root that `explain` finds from a folder.
fn root_from(environment: &TestEnv, work_dir: &Path) -> Value {
    let ran = environment.run(&[
        "explain",
        "before_tool",
        "--work-dir",
        work_dir.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()["project"].clone()
}

/// Trusts the hooks of the project around a folder.
fn trust_in(environment: &TestEnv, folder: &Path) {
    let mut command = environment.command(&["trust", "--all"]);
    command.current_dir(folder);
    let ran = run(command, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Trusts a hook of the project, and agrees that it replaces the user's.
fn trust_replacing(environment: &TestEnv, name: &str) {
    let ran = environment.run(&["trust", "--replace", name]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains(&format!("it replaces your hook {name}")), "{ran:?}");
}

/// Returns the folder that is `/etc/agents` for [`with_managed`].
fn managed(environment: &TestEnv) -> PathBuf {
    environment.root().join("etc/agents")
}

/// Runs the program where `/etc` is a folder of the test's.
fn with_managed(environment: &TestEnv, arguments: &[&str], input: &str) -> CommandRun {
    let etc = environment.root().join("etc");
    let words = [
        "unshare",
        "-m",
        "sh",
        "-c",
        "mount --bind \"$0\" /etc && exec \"$@\"",
        etc.to_str().unwrap(),
    ];
    let ran = run(by_way_of(&words, &environment.command(arguments)), input.as_bytes());
    assert!(!ran.stderr.contains("unshare:") && !ran.stderr.contains("mount:"), "{ran:?}");
    ran
}

fn managed_event(environment: &TestEnv, event: &Value) -> CommandRun {
    with_managed(environment, &["hook", "agent-hooks"], &event.to_string())
}

fn managed_shell(environment: &TestEnv) -> CommandRun {
    managed_event(environment, &json!({"event_type": "before_tool", "tool_name": "Shell"}))
}

#[test]
fn user_hooks_live_in_the_config_folder() {
    let environment = environment();
    let hooks = environment.home().join("config/agents/hooks");
    environment.hook(&hooks, "there", "trigger: before_tool", BLOCK);
    environment.user_hook("default", "trigger: before_tool", NAME);
    let send = |config: &str| {
        let mut command = environment.command(&["hook", "agent-hooks"]);
        command.env("XDG_CONFIG_HOME", config);
        run(command, br#"{"event_type": "before_tool"}"#).code
    };
    assert_eq!(send(environment.home().join("config").to_str().unwrap()), 2);
    assert!(!left(&environment, "order.txt"));
    assert_eq!(send("not/absolute"), 0);
    assert_eq!(written(&environment, "order.txt"), "default ");
}

#[test]
fn state_lives_in_the_state_folder() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    environment.shell("ls");
    assert_eq!(environment.journal().len(), 1);
    let state = environment.home().join("state");
    let mut command = environment.command(&["hook", "agent-hooks"]);
    command.env("XDG_STATE_HOME", &state);
    assert_eq!(run(command, br#"{"event_type": "before_tool", "session_id": "a"}"#).code, 2);
    assert_eq!(environment.journal().len(), 1);
    assert!(state.join("anyhook/journal").is_dir());
}

#[test]
fn hooks_run_by_priority_then_level_then_folder_name() {
    let environment = environment();
    for (name, priority) in [("b", 100), ("c", 100), ("z", 1000), ("y", 0)] {
        environment.user_hook(
            &format!("user-{name}"),
            &format!("trigger: before_tool\npriority: {priority}"),
            NAME,
        );
    }
    for (name, priority) in [("a", 100), ("z", 999), ("y", 1)] {
        environment.project_hook(
            &format!("project-{name}"),
            &format!("trigger: before_tool\npriority: {priority}"),
            NAME,
        );
    }
    // The default is 100.
    environment.user_hook("user-a", "trigger: before_tool", NAME);
    trust_all(&environment);
    environment.shell("ls");
    assert_eq!(
        written(&environment, "order.txt"),
        "user-z project-z user-a user-b user-c project-a project-y user-y "
    );
}

#[test]
fn inside_a_level_the_folders_name_decides_and_not_the_hooks() {
    let environment = environment();
    for (folder, name) in [("a-folder", "z-hook"), ("b-folder", "a-hook")] {
        let folder = environment.user_hook(folder, "trigger: before_tool", NAME);
        write(
            &folder.join("HOOK.md"),
            format!("---\nname: {name}\ndescription: d\ntrigger: before_tool\n---\n"),
            0o644,
        );
    }
    environment.shell("ls");
    assert_eq!(written(&environment, "order.txt"), "z-hook a-hook ");
}

#[test]
fn a_trusted_project_hook_replaces_the_users_of_its_name() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", &word(&environment, "user"));
    let folder =
        environment.project_hook("guard", "trigger: before_tool", &word(&environment, "project"));
    environment.shell("ls");
    assert_eq!(order(&environment), "user ", "not trusted, so it replaces nothing");
    trust_all(&environment);
    environment.shell("ls");
    assert_eq!(order(&environment), "user project ", "nobody agreed that it replaces");
    let list = environment.run(&["list"]);
    assert!(list.stdout.contains("the project's guard runs in addition to yours"), "{list:?}");
    trust_replacing(&environment, "guard");
    environment.shell("ls");
    assert_eq!(order(&environment), "project ");
    assert_eq!(last_skip(&environment, "guard")["replaced"], folder.to_str().unwrap());
    let list = environment.run(&["list"]);
    assert!(list.stdout.contains("overridden by"), "{list:?}");
    write(&folder.join("extra"), "", 0o644);
    environment.shell("ls");
    assert_eq!(order(&environment), "user ", "changed, so it replaces nothing");
    fs::remove_dir_all(&folder).unwrap();
    environment.shell("ls");
    assert_eq!(order(&environment), "user ", "gone, so it replaces nothing");
}

#[test]
fn an_unusable_project_hook_replaces_nothing() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", &word(&environment, "user"));
    environment.project_hook("guard", "trigger: before_tool\nmatcher:\n  tool: '('", "exit 0");
    trust_all(&environment);
    environment.shell("ls");
    assert_eq!(order(&environment), "user ");
}

#[test]
fn a_locked_user_hook_is_never_replaced() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmetadata:\n  locked: true",
        &word(&environment, "user"),
    );
    environment.project_hook("guard", "trigger: before_tool", &word(&environment, "project"));
    trust_all(&environment);
    environment.shell("ls");
    assert_eq!(order(&environment), "user ");
    assert!(last_skip(&environment, "guard")["dropped"].is_string());
    assert!(environment.run(&["list"]).stdout.contains("cannot be overridden"));
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmetadata:\n  locked: false",
        &word(&environment, "user"),
    );
    trust_replacing(&environment, "guard");
    environment.shell("ls");
    assert_eq!(order(&environment), "project ");
}

#[test]
fn a_users_guard_that_blocks_on_failure_is_locked_unless_it_says_otherwise() {
    let environment = environment();
    let guard = "trigger: before_tool\non_failure: block";
    environment.user_hook("guard", guard, &word(&environment, "user"));
    // Whatever its own trigger: it would take the guard away.
    environment.project_hook("guard", "trigger: session_end", &word(&environment, "project"));
    let ran = environment.run(&["trust", "guard"]);
    let words = "your hook guard (before_tool, on_failure: block) is locked: this one is skipped";
    assert!(ran.code == 0 && ran.stdout.contains(words), "{ran:?}");
    environment.shell("ls");
    assert_eq!(order(&environment), "user ");
    let refused = environment.run(&["trust", "--replace", "guard"]);
    assert_eq!(refused.code, 65, "{refused:?}");
    assert!(refused.stderr.contains("can replace your hook `guard`"), "{refused:?}");
    environment.user_hook(
        "guard",
        &format!("{guard}\nmetadata: {{locked: false}}"),
        &word(&environment, "user"),
    );
    environment.shell("ls");
    assert_eq!(order(&environment), "user ", "not locked, but nobody agreed");
    trust_replacing(&environment, "guard");
    environment.shell("ls");
    assert_eq!(order(&environment), "");
}

#[test]
fn a_locked_user_hook_is_not_replaced_when_it_is_unusable_either() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmetadata: {locked: true}\non_failure: block\nmatcher:\n  tool: '('",
        "exit 0",
    );
    environment.project_hook("guard", "trigger: before_tool", "exit 0");
    trust_all(&environment);
    let ran = environment.shell("ls");
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn two_hooks_of_one_name_at_one_level_both_run() {
    let environment = environment();
    for name in ["one", "two"] {
        let folder = environment.user_hook(name, "trigger: before_tool", &word(&environment, name));
        let text = "---\nname: same\ndescription: d\ntrigger: before_tool\n---\n";
        write(&folder.join("HOOK.md"), text, 0o644);
    }
    environment.shell("ls");
    assert_eq!(order(&environment), "one two ");
}

#[test]
fn the_project_root_is_the_nearest_repository_or_else_agents_folder() {
    let environment = environment();
    let home = environment.home();
    for folder in
        ["repo/.git", "repo/in/.agents/hooks", "repo/in/side", "plain/.agents/a/.agents/b"]
    {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    write(&home.join("worktree/.git"), "gitdir: elsewhere", 0o644);
    for (work_dir, root) in [
        ("repo", Some("repo")),
        ("repo/in/side", Some("repo")),
        ("repo/in/not/there/yet", Some("repo")),
        ("plain/.agents/a/.agents/b", Some("plain/.agents/a")),
        ("plain/other", Some("plain")),
        ("worktree/deep", Some("worktree")),
        ("nothing/here", None),
    ] {
        let expected = root.map(|root| home.join(root).to_str().unwrap().to_owned());
        assert_eq!(root_from(&environment, &home.join(work_dir)), json!(expected), "{work_dir}");
    }
}

#[test]
fn the_project_root_is_not_looked_for_past_the_home_folder() {
    let environment = environment();
    fs::create_dir_all(environment.root().join(".git")).unwrap();
    fs::create_dir_all(environment.root().join(".agents/hooks")).unwrap();
    fs::create_dir_all(environment.home().join("plain")).unwrap();
    assert_eq!(root_from(&environment, &environment.home().join("plain")), Value::Null);
    let outside = environment.root().join("outside/home");
    let root = environment.root().to_str().unwrap();
    assert_eq!(root_from(&environment, &outside), root);
    fs::create_dir_all(environment.home().join(".git")).unwrap();
    let home = environment.home();
    assert_eq!(root_from(&environment, &home.join("plain")), home.to_str().unwrap());
}

#[test]
fn the_home_folder_stops_the_search_under_whatever_name_it_goes() {
    let environment = environment();
    fs::create_dir_all(environment.root().join(".git")).unwrap();
    fs::create_dir_all(environment.home().join("plain")).unwrap();
    let link = environment.root().join("link");
    symlink(environment.home(), &link).unwrap();
    for (home, work_dir) in [
        (link.clone(), environment.home().join("plain")),
        (environment.home(), link.join("plain")),
        (environment.root().join("home/"), environment.home().join("plain")),
    ] {
        let mut command = environment.command(&["explain", "before_tool", "--json", "--work-dir"]);
        command.arg(&work_dir).env("HOME", &home);
        let found = run(command, b"").json()["project"].clone();
        assert_eq!(found, Value::Null, "{} from {}", home.display(), work_dir.display());
    }
}

#[test]
fn the_root_is_pinned_for_the_session() {
    let environment = environment();
    environment.project_hook("guard", "trigger: before_tool", BLOCK);
    trust_all(&environment);
    let project = environment.project();
    let elsewhere = environment.home().join("elsewhere");
    let nested = project.join("vendor/nested");
    for folder in [elsewhere.join(".git"), nested.join(".git"), elsewhere.join(".agents/hooks")] {
        fs::create_dir_all(folder).unwrap();
    }
    assert_eq!(from_folder(&environment, &project, Some("s")).code, 2);
    for work_dir in [&elsewhere, &nested, Path::new("/"), &project.join("gone"), Path::new("/gone")]
    {
        assert_eq!(
            from_folder(&environment, work_dir, Some("s")).code,
            2,
            "{}",
            work_dir.display()
        );
        assert_eq!(last_record(&environment)["project_dir"], project.to_str().unwrap());
        let other = from_folder(&environment, work_dir, None).code;
        let inside = work_dir.starts_with(&project) && work_dir != nested;
        assert_eq!(other == 2, inside, "without a session: {}", work_dir.display());
    }
    assert_eq!(from_folder(&environment, &elsewhere, Some("t")).code, 0, "another session");
    let ran = from_folder(&environment, &project, Some("t"));
    assert_eq!(ran.code, 2, "pinned elsewhere, and the event's own root counts as well");
}

/// Returns a script that says who runs, and where.
fn places(environment: &TestEnv) -> String {
    format!(
        "printf '%s %s %s\\n' \"$ANYHOOK_HOOK_NAME\" \"$PWD\" \"$ANYHOOK_PROJECT_DIR\" >> '{}'",
        order_file(environment).display()
    )
}

#[test]
fn the_hooks_of_the_session_and_of_the_event_count_together() {
    let environment = environment();
    let (project, other) = (environment.project(), environment.home().join("other"));
    fs::create_dir_all(other.join(".git")).unwrap();
    environment.user_hook("user", "trigger: before_tool", &places(&environment));
    environment.project_hook("first", "trigger: before_tool", &places(&environment));
    environment.hook(
        &other.join(".agents/hooks"),
        "second",
        "trigger: before_tool",
        &places(&environment),
    );
    // It would replace the user's, where the session is its own.
    environment.hook(&other.join(".agents/hooks"), "user", "trigger: before_tool", "exit 0");
    trust_all(&environment);
    let mut command = environment.command(&["trust", "--all", "--replace", "user"]);
    command.current_dir(&other);
    assert_eq!(run(command, b"").code, 0);
    let line = |name: &str, folder: &Path| {
        let folder = folder.display();
        format!("{name} {folder} {folder}\n")
    };
    from_folder(&environment, &project, Some("s"));
    assert_eq!(order(&environment), line("user", &project) + &line("first", &project));
    from_folder(&environment, &other, Some("s"));
    let expected = [line("user", &other), line("first", &project), line("second", &other)];
    assert_eq!(order(&environment), expected.concat());
    assert_eq!(last_record(&environment)["project_dir"], project.to_str().unwrap());
    // By way of a link it is the same project, once.
    symlink(&project, environment.home().join("link")).unwrap();
    from_folder(&environment, &environment.home().join("link"), Some("s"));
    assert_eq!(order(&environment), line("user", &project) + &line("first", &project));
    // A host that names another project than the one the work is in: the hooks of both.
    let claude = |session: &str, work_dir: &Path| {
        let event = json!({
            "session_id": session, "cwd": work_dir, "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t",
        });
        let mut command = environment.command(&["hook", "claude-code"]);
        command.env("CLAUDE_PROJECT_DIR", &other);
        run(command, event.to_string().as_bytes())
    };
    claude("c", &project);
    let both = line("first", &project) + &line("second", &other);
    assert_eq!(order(&environment), both);
    let mut command = environment.command(&["hook", "claude-code"]);
    command.env("CLAUDE_PROJECT_DIR", &project);
    let event = json!({"session_id": "c", "cwd": project, "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "u"});
    run(command, event.to_string().as_bytes());
    let expected = [line("first", &project), line("second", &other)];
    assert_eq!(order(&environment), expected.concat());
}

#[test]
fn a_session_that_starts_in_a_folder_that_is_gone_has_the_root_above_it() {
    let environment = environment();
    environment.project_hook("guard", "trigger: before_tool", BLOCK);
    trust_all(&environment);
    let gone = environment.project().join("build/gone");
    assert_eq!(from_folder(&environment, &gone, Some("s")).code, 2);
    assert_eq!(from_folder(&environment, Path::new("/"), Some("s")).code, 2);
}

#[test]
fn a_nested_agents_folder_adds_hooks_and_never_takes_any_away() {
    let environment = environment();
    let project = environment.project();
    let inner = project.join("packages/inner");
    fs::create_dir_all(&inner).unwrap();
    environment.user_hook("user", "trigger: before_tool", &word(&environment, "user"));
    environment.project_hook("same", "trigger: before_tool", &word(&environment, "root"));
    for name in ["user", "same", "own"] {
        environment.hook(
            &inner.join(".agents/hooks"),
            name,
            "trigger: before_tool",
            &word(&environment, &format!("nested-{name}")),
        );
    }
    trust_in(&environment, &inner);
    from_folder(&environment, &project, None);
    assert_eq!(order(&environment), "user root ");
    from_folder(&environment, &inner.join("src/deep"), None);
    assert_eq!(order(&environment), "user nested-own root nested-same nested-user ");
    from_folder(&environment, &project.join("packages"), None);
    assert_eq!(order(&environment), "user root ");
}

#[test]
fn a_nested_hook_needs_trust_like_any_other() {
    let environment = environment();
    let inner = environment.project().join("inner");
    environment.hook(&inner.join(".agents/hooks"), "guard", "trigger: before_tool", BLOCK);
    assert_eq!(from_folder(&environment, &inner, None).code, 0);
    trust_in(&environment, &inner);
    assert_eq!(from_folder(&environment, &inner, None).code, 2);
}

#[test]
fn a_nested_hook_does_not_get_past_a_locked_one() {
    let environment = environment();
    let inner = environment.project().join("inner");
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmetadata: {locked: true}",
        &word(&environment, "user"),
    );
    environment.hook(
        &inner.join(".agents/hooks"),
        "guard",
        "trigger: before_tool",
        &word(&environment, "nested"),
    );
    trust_in(&environment, &inner);
    from_folder(&environment, &inner, None);
    assert_eq!(order(&environment), "user ");
}

#[test]
fn a_hook_runs_once_however_the_work_dir_is_written() {
    let environment = environment();
    let project = environment.project();
    fs::create_dir_all(project.join("sub")).unwrap();
    symlink(".", project.join("loop")).unwrap();
    environment.project_hook("guard", "trigger: before_tool", &word(&environment, "guard"));
    trust_all(&environment);
    from_folder(&environment, &project, Some("s"));
    assert_eq!(order(&environment), "guard ");
    for work_dir in ["sub", "sub/..", "sub/../sub", "loop", "loop/loop/sub", ".", "sub/"] {
        from_folder(&environment, &project.join(work_dir), Some("s"));
        assert_eq!(order(&environment), "guard ", "{work_dir}");
        from_folder(&environment, &project.join(work_dir), None);
        assert_eq!(order(&environment), "guard ", "{work_dir} without a session");
    }
}

#[test]
fn hidden_folders_and_plain_files_beside_hooks_are_no_hooks() {
    let environment = environment();
    environment.user_hook(".hidden", "trigger: before_tool", BLOCK);
    write(&environment.user_hooks().join("README.md"), "text", 0o644);
    assert_eq!(environment.shell("ls").code, 0);
    assert_eq!(environment.run(&["list", "--json"]).json()["hooks"], json!([]));
}

#[test]
fn a_link_to_a_hooks_folder_is_a_hook() {
    let environment = environment();
    let elsewhere = environment.home().join("shared");
    environment.hook(&elsewhere, "guard", "trigger: before_tool", BLOCK);
    fs::create_dir_all(environment.user_hooks()).unwrap();
    symlink(elsewhere.join("guard"), environment.user_hooks().join("guard")).unwrap();
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn a_broken_settings_file_is_named_and_harms_nobody() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    write(&environment.home().join(".config/agents/anyhook.toml"), "stop_cap = \n", 0o644);
    assert_eq!(environment.shell("ls").code, 2);
    for command in ["list", "check"] {
        let ran = environment.run(&[command]);
        assert!(ran.stdout.contains("anyhook.toml:1:"), "{ran:?}");
    }
}

#[test]
fn managed_hooks_run_first_at_equal_priority_and_need_no_trust() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    let hooks = managed(&environment).join("hooks");
    environment.hook(&hooks, "managed", "trigger: before_tool", &word(&environment, "managed"));
    environment.hook(
        &hooks,
        "managed-low",
        "trigger: before_tool\npriority: 1",
        &word(&environment, "low"),
    );
    environment.user_hook("a-user", "trigger: before_tool", &word(&environment, "user"));
    environment.project_hook("a-project", "trigger: before_tool", &word(&environment, "project"));
    trust_all(&environment);
    let ran = managed_shell(&environment);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(order(&environment), "managed user project low ");
    environment.shell("ls");
    assert_eq!(order(&environment), "user project ", "outside the namespace there is none");
}

#[test]
fn a_managed_hook_is_never_replaced() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    let hooks = managed(&environment).join("hooks");
    environment.hook(&hooks, "guard", "trigger: before_tool", &word(&environment, "managed"));
    environment.user_hook(
        "guard",
        "trigger: before_tool\npriority: 999\nmetadata: {locked: true}",
        &word(&environment, "user"),
    );
    environment.project_hook("guard", "trigger: before_tool", &word(&environment, "project"));
    trust_all(&environment);
    managed_shell(&environment);
    assert_eq!(order(&environment), "managed ");
    let record = last_record(&environment);
    let dropped = record["skipped"].as_array().unwrap();
    assert_eq!(dropped.len(), 2, "{record}");
    assert!(dropped.iter().all(|skip| skip["why"]["dropped"].is_string()), "{record}");
    let list = with_managed(&environment, &["list"], "");
    assert!(list.stdout.contains("/etc/agents/hooks/guard cannot be overridden"), "{list:?}");
}

#[test]
fn an_unusable_managed_hook_with_on_failure_block_cannot_be_replaced() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    let hooks = managed(&environment).join("hooks");
    let matter = "trigger: before_tool\non_failure: block\nmatcher:\n  tool: '('";
    environment.hook(&hooks, "guard", matter, "exit 0");
    environment.project_hook("guard", "trigger: before_tool", "exit 0");
    trust_all(&environment);
    assert_eq!(managed_shell(&environment).code, 2);
}

#[test]
fn a_managed_level_that_others_can_write_does_not_count_and_list_says_so() {
    require!(MachineNeed::Mounts, MachineNeed::Users);
    for (part, mode, owner) in [
        ("", 0o775, 0),
        ("", 0o757, 0),
        ("hooks", 0o775, 0),
        ("hooks", 0o777, 0),
        ("", 0o755, 1000),
        ("hooks", 0o755, 1000),
    ] {
        let environment = environment();
        let folder = managed(&environment);
        environment.hook(&folder.join("hooks"), "guard", "trigger: before_tool", BLOCK);
        assert_eq!(managed_shell(&environment).code, 2);
        let part = folder.join(part);
        fs::set_permissions(&part, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(&part, Some(owner), None).unwrap();
        let ran = managed_shell(&environment);
        assert_eq!(ran.code, 0, "{mode:o} {owner}: {ran:?}");
        let list = with_managed(&environment, &["list"], "");
        assert!(list.stdout.contains("ignoring managed hooks"), "{list:?}");
    }
}

#[test]
fn a_managed_hook_that_others_can_write_does_not_run() {
    require!(MachineNeed::Mounts, MachineNeed::Users);
    for part in ["", "HOOK.md", "scripts", "scripts/run"] {
        for owner in [0, 1000] {
            let environment = environment();
            let hooks = managed(&environment).join("hooks");
            let hook =
                environment.hook(&hooks, "guard", "trigger: before_tool", "touch ran; exit 2");
            environment.hook(&hooks, "other", "trigger: before_tool", &word(&environment, "other"));
            if owner == 0 {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
                fs::set_permissions(hook.join(part), mode).unwrap();
            } else {
                std::os::unix::fs::chown(hook.join(part), Some(owner), None).unwrap();
            }
            assert_eq!(managed_shell(&environment).code, 0, "{part:?} {owner}");
            assert!(!left(&environment, "ran"), "{part:?} {owner}");
            assert_eq!(order(&environment), "other ");
            let list = with_managed(&environment, &["list"], "");
            assert!(list.stdout.contains("is not treated as managed"), "{list:?}");
        }
    }
}

#[test]
fn a_managed_hook_with_a_further_file_that_others_can_write_does_not_run() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    let hooks = managed(&environment).join("hooks");
    let hook = environment.hook(
        &hooks,
        "guard",
        "trigger: before_tool",
        "touch ran; . \"$ANYHOOK_HOOK_DIR/scripts/lib.sh\"",
    );
    write(&hook.join("scripts/lib.sh"), "exit 2", 0o666);
    managed_shell(&environment);
    assert!(!left(&environment, "ran"));
}

#[test]
fn managed_settings_count_like_any_others() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    environment.user_hook("gate", "trigger: before_stop", BLOCK);
    write(&managed(&environment).join("anyhook.toml"), "stop_cap = 2\n", 0o644);
    let stop = json!({"event_type": "before_stop", "session_id": "s"});
    let codes: Vec<i32> = (0..3).map(|_| managed_event(&environment, &stop).code).collect();
    assert_eq!(codes, [2, 2, 0]);
}

#[test]
fn managed_settings_that_others_can_write_do_not_count() {
    require!(MachineNeed::Mounts, MachineNeed::Users);
    for (folder_mode, file_mode, owner) in
        [(0o777, 0o644, 0), (0o755, 0o666, 0), (0o755, 0o644, 1000)]
    {
        let environment = environment();
        environment.user_hook("gate", "trigger: before_stop", BLOCK);
        let folder = managed(&environment);
        write(&folder.join("anyhook.toml"), "stop_cap = 1\n", file_mode);
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(folder_mode))
            .unwrap();
        std::os::unix::fs::chown(folder.join("anyhook.toml"), Some(owner), None).unwrap();
        let stop = json!({"event_type": "before_stop", "session_id": "s"});
        let codes: Vec<i32> = (0..3).map(|_| managed_event(&environment, &stop).code).collect();
        assert_eq!(codes, [2, 2, 2], "{folder_mode:o} {file_mode:o} {owner}");
    }
}

#[test]
fn no_variable_moves_the_managed_level() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    environment.hook(&managed(&environment).join("hooks"), "guard", "trigger: before_tool", BLOCK);
    let mut command = environment.command(&["hook", "agent-hooks"]);
    for name in ["ANYHOOK_MANAGED", "ANYHOOK_ETC", "XDG_CONFIG_DIRS", "AGENTS_HOME"] {
        command.env(name, environment.root());
    }
    let etc = environment.root().join("etc");
    let words = [
        "unshare",
        "-m",
        "sh",
        "-c",
        "mount --bind \"$0\" /etc && exec \"$@\"",
        etc.to_str().unwrap(),
    ];
    let ran = run(by_way_of(&words, &command), br#"{"event_type": "before_tool"}"#);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(environment.shell("ls").code, 0);
    assert_eq!(environment.run(&["list", "--json"]).json()["hooks"], json!([]));
}

#[test]
fn a_name_decides_who_is_replaced_and_not_the_folder() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", &word(&environment, "user"));
    let folder =
        environment.project_hook("folder", "trigger: before_tool", &word(&environment, "project"));
    let text = "---\nname: guard\ndescription: d\ntrigger: before_tool\n---\n";
    write(&folder.join("HOOK.md"), text, 0o644);
    trust_replacing(&environment, "guard");
    environment.shell("ls");
    assert_eq!(order(&environment), "project ");
    assert!(listed(&environment, "guard").is_object());
}
