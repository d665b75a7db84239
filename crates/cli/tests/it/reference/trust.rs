//! Trust: what a project's hooks need before they run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhook_testkit::{TestEnv, run, write};
use serde_json::json;

use super::{BLOCK, MARK, last_run, last_skip, left, listed, trust_all, written};
use crate::in_process::environment;

const GUARD: &str = "trigger: before_tool\non_failure: block";

/// Makes a project's hook with `on_failure: block` that says nothing, and trusts it.
fn trusted(environment: &TestEnv) -> std::path::PathBuf {
    let folder = environment.project_hook("guard", GUARD, MARK);
    trust_all(environment);
    assert_eq!(environment.shell("ls").code, 0);
    assert!(left(environment, "ran-guard"));
    fs::remove_file(environment.project().join("ran-guard")).unwrap();
    folder
}

/// Asserts that the hook does not run, fails and blocks.
fn assert_blocks_unrun(environment: &TestEnv, what: &str) {
    let ran = environment.shell("ls");
    assert_eq!(ran.code, 2, "{what}: {ran:?}");
    assert!(ran.json()["reason"].as_str().unwrap().contains("guard"), "{what}: {ran:?}");
    assert!(!left(environment, "ran-guard"), "{what}");
    assert!(last_run(environment, "guard")["failure"].is_string(), "{what}");
    let list = environment.run(&["list"]);
    assert!(list.stdout.contains("fails"), "{what}: {list:?}");
}

#[test]
fn a_project_hook_never_seen_before_neither_runs_nor_blocks() {
    let environment = environment();
    environment.project_hook("guard", GUARD, &format!("{MARK}; exit 2"));
    environment.project_hook("broken", &format!("{GUARD}\nmatcher:\n  tool: '('"), BLOCK);
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    assert!(!left(&environment, "ran-guard"));
    assert_eq!(last_skip(&environment, "guard"), "untrusted");
    assert_eq!(listed(&environment, "guard")["left_out"], "untrusted");
    assert!(environment.run(&["list"]).stdout.contains("not trusted"));
}

#[test]
fn user_hooks_need_no_trust() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn trust_shows_what_is_to_be_trusted() {
    let environment = environment();
    let folder = environment.project_hook("guard", GUARD, "echo very special script");
    write(&folder.join("lib/more.txt"), "a further file", 0o644);
    for arguments in [&["trust", "--show"][..], &["trust", "guard"]] {
        let ran = environment.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        for words in
            ["guard", "the hook guard", "before_tool", "very special script", "a further file"]
        {
            assert!(ran.stdout.contains(words), "{words}: {ran:?}");
        }
        let trusted = arguments[1] == "guard";
        assert_eq!(listed(&environment, "guard")["trust"] == "trusted", trusted);
    }
}

#[test]
fn nothing_is_trusted_without_being_asked_for() {
    let environment = environment();
    environment.project_hook("guard", GUARD, BLOCK);
    let ran = environment.run(&["trust"]);
    assert_eq!(ran.code, 1, "nobody is there to ask: {ran:?}");
    assert_eq!(environment.shell("ls").code, 0);
}

#[test]
fn trust_says_what_replaces_a_users_hook_and_asks_for_it_apart() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    environment.project_hook("guard", "trigger: before_tool", "exit 0");
    let words = "this REPLACES your hook guard (before_tool, on_failure: allow)";
    let ran = environment.run(&["trust", "guard"]);
    assert!(ran.code == 0 && ran.stdout.contains(words), "{ran:?}");
    assert!(ran.stdout.contains("it runs in addition to your hook guard"), "{ran:?}");
    assert_eq!(environment.shell("ls").code, 2, "trusted, but the user's stands");
    let ran = environment.run(&["trust", "guard", "--replace", "guard"]);
    assert!(ran.code == 0 && ran.stdout.contains("it replaces your hook guard"), "{ran:?}");
    assert_eq!(environment.shell("ls").code, 0);
    let ran = environment.run(&["trust", "guard", "--replace", "other"]);
    assert_eq!(ran.code, 65, "{ran:?}");
}

#[test]
fn trust_says_what_cannot_run_and_ends_with_a_sum() {
    let environment = environment();
    let folder = environment.project_hook("dull", GUARD, BLOCK);
    fs::set_permissions(folder.join("scripts/run"), fs::Permissions::from_mode(0o644)).unwrap();
    environment.project_hook("guard", GUARD, BLOCK);
    let ran = environment.run(&["trust", "--all"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("hint: run `chmod +x scripts/run`"), "{ran:?}");
    assert!(ran.stdout.ends_with("\n2 trusted, 1 of them cannot run\n"), "{ran:?}");
}

/// What was wrong with the trusted copy is put right in the project: now only trust is missing.
#[test]
fn a_trusted_hook_that_was_fixed_needs_trust_and_nothing_else() {
    let environment = environment();
    let folder = environment.project_hook("dull", GUARD, BLOCK);
    let script = folder.join("scripts/run");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(environment.run(&["trust", "--all"]).code, 0);
    let ran = environment.run(&["list"]);
    assert!(ran.stdout.contains("hint: run `chmod +x scripts/run`"), "{ran:?}");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for command in ["list", "doctor"] {
        let ran = environment.run(&[command]);
        assert!(!ran.stdout.contains("chmod"), "{ran:?}");
    }
    let ran = environment.run(&["doctor"]);
    assert!(ran.stdout.contains("    hint: anyhook trust dull\n"), "{ran:?}");
}

#[test]
fn the_trusted_copy_runs_and_is_read_only() {
    let environment = environment();
    let folder = environment.project_hook(
        "guard",
        GUARD,
        "printf %s \"$ANYHOOK_HOOK_DIR\" > dir.txt; printf %s \"$0\" > script.txt; cat \"$ANYHOOK_HOOK_DIR/lib/more.txt\" > more.txt",
    );
    write(&folder.join("lib/more.txt"), "more", 0o644);
    symlink("../lib/more.txt", folder.join("scripts/link")).unwrap();
    trust_all(&environment);
    assert_eq!(environment.shell("ls").code, 0);
    let copy = written(&environment, "dir.txt");
    let copy = Path::new(&copy);
    assert!(copy.starts_with(environment.state()), "{}", copy.display());
    assert!(Path::new(&written(&environment, "script.txt")).starts_with(copy));
    assert_eq!(written(&environment, "more.txt"), "more");
    assert_eq!(fs::read_link(copy.join("scripts/link")).unwrap(), Path::new("../lib/more.txt"));
    for (file, mode) in [("HOOK.md", 0o444), ("scripts/run", 0o555), ("lib/more.txt", 0o444)] {
        let found = fs::metadata(copy.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{file}");
    }
}

#[test]
fn the_folders_of_the_trusted_copy_are_read_only_too() {
    let environment = environment();
    environment.project_hook("guard", GUARD, "printf %s \"$ANYHOOK_HOOK_DIR\" > dir.txt");
    trust_all(&environment);
    environment.shell("ls");
    let copy = written(&environment, "dir.txt");
    for folder in [Path::new(&copy).to_owned(), Path::new(&copy).join("scripts")] {
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o222, 0, "{}: {mode:o}", folder.display());
    }
}

#[test]
fn a_trusted_copy_that_was_tampered_with_does_not_run() {
    let environment = environment();
    environment.project_hook("guard", GUARD, "printf %s \"$ANYHOOK_HOOK_DIR\" > dir.txt");
    trust_all(&environment);
    environment.shell("ls");
    let script = Path::new(&written(&environment, "dir.txt")).join("scripts/run");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&script, "#!/bin/sh\ntouch tampered\n").unwrap();
    environment.shell("ls");
    assert!(!left(&environment, "tampered"), "what runs has not the trusted content");
}

#[test]
fn a_hook_whose_script_changed_does_not_run_and_fails() {
    let environment = environment();
    let folder = trusted(&environment);
    write(&folder.join("scripts/run"), "#!/bin/sh\ntouch ran-guard\nexit 0\n", 0o755);
    assert_blocks_unrun(&environment, "another script");
    let ran = environment.run(&["trust", "--show"]);
    assert!(ran.stdout.contains("CHANGED") && ran.stdout.contains("exit 0"), "{ran:?}");
    trust_all(&environment);
    assert_eq!(environment.shell("ls").code, 0);
    assert!(left(&environment, "ran-guard"), "trusted anew");
}

#[test]
fn any_change_of_names_bytes_or_run_bits_counts_and_taking_it_back_restores_trust() {
    let environment = environment();
    let folder = trusted(&environment);
    let script = folder.join("scripts/run");
    let mode = |mode: u32| fs::set_permissions(&script, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    assert_blocks_unrun(&environment, "run bit");
    mode(0o755);
    assert_eq!(environment.shell("ls").code, 0, "as it was");
    fs::remove_file(environment.project().join("ran-guard")).unwrap();
    write(&folder.join("extra"), "", 0o644);
    assert_blocks_unrun(&environment, "a new file");
    fs::remove_file(folder.join("extra")).unwrap();
    symlink("run", folder.join("scripts/link")).unwrap();
    assert_blocks_unrun(&environment, "a new link");
    fs::remove_file(folder.join("scripts/link")).unwrap();
    fs::rename(&script, folder.join("scripts/run.sh")).unwrap();
    assert_blocks_unrun(&environment, "another name");
    fs::rename(folder.join("scripts/run.sh"), &script).unwrap();
    assert_eq!(environment.shell("ls").code, 0, "as it was");
}

#[test]
fn a_changed_hook_fails_as_it_was_last_trusted_whatever_the_source_says_now() {
    let environment = environment();
    let folder = trusted(&environment);
    for text in [
        "---\nname: guard\ndescription: d\ntrigger: before_tool\non_failure: allow\n---\n",
        "---\nname: guard\ndescription: d\ntrigger: session_end\n---\n",
        "---\nname: other\ndescription: d\ntrigger: before_tool\nmode: shadow\n---\n",
        "---\nname: guard\ntrigger: before_tool\nhosts: [codex]\nmatcher: {tool: Nobody}\n---\n",
        "---\nname: guard\ntrigger: before_tool\nasync: true\n---\n",
        "no front matter",
        "",
    ] {
        write(&folder.join("HOOK.md"), text, 0o644);
        assert_blocks_unrun(&environment, text);
    }
    fs::remove_file(folder.join("HOOK.md")).unwrap();
    assert_blocks_unrun(&environment, "no HOOK.md");
}

#[test]
fn a_changed_hook_keeps_the_matcher_that_was_trusted() {
    let environment = environment();
    let folder =
        environment.project_hook("guard", &format!("{GUARD}\nmatcher:\n  tool: Shell"), MARK);
    trust_all(&environment);
    write(&folder.join("extra"), "", 0o644);
    assert_eq!(environment.shell("ls").code, 2);
    assert_eq!(super::tool(&environment, "ReadFile", &json!({})).code, 0);
}

#[test]
fn a_changed_hook_with_on_failure_allow_passes_and_is_reported() {
    let environment = environment();
    let folder = environment.project_hook("guard", "trigger: before_tool", MARK);
    trust_all(&environment);
    // It cannot make itself a blocking one either.
    write(
        &folder.join("HOOK.md"),
        "---\nname: guard\ndescription: d\ntrigger: before_tool\non_failure: block\n---\n",
        0o644,
    );
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    assert!(!left(&environment, "ran-guard"));
    let failure = last_run(&environment, "guard")["failure"].clone();
    assert!(failure.as_str().unwrap().contains("changed"), "{failure}");
    assert!(environment.run(&["list"]).stdout.contains("changed since it was trusted"));
}

#[test]
fn a_trusted_hook_whose_folder_is_gone_fails() {
    let environment = environment();
    let folder = trusted(&environment);
    fs::remove_dir_all(&folder).unwrap();
    assert_blocks_unrun(&environment, "the hook's folder");
    fs::remove_dir_all(environment.project().join(".agents")).unwrap();
    assert_blocks_unrun(&environment, "the whole level");
}

#[test]
fn a_trusted_hook_that_is_renamed_fails_and_its_new_name_is_not_trusted() {
    let environment = environment();
    let folder = trusted(&environment);
    fs::rename(&folder, folder.with_file_name("guard-2")).unwrap();
    assert_blocks_unrun(&environment, "renamed");
}

#[test]
fn a_link_that_leads_out_of_the_folder_is_refused() {
    for target in ["/etc/passwd", "../../../outside", "../scripts/../../other"] {
        let environment = environment();
        let folder = environment.project_hook("guard", GUARD, MARK);
        symlink(target, folder.join("scripts/link")).unwrap();
        let ran = environment.run(&["trust", "--all"]);
        assert_eq!(ran.code, 1, "{target}: {ran:?}");
        assert!(ran.stderr.contains("points outside"), "{target}: {ran:?}");
        assert_eq!(environment.shell("ls").code, 0, "{target}");
        assert!(!left(&environment, "ran-guard"), "{target}");
    }
}

#[test]
fn a_link_that_leads_out_by_way_of_another_link_is_refused() {
    let environment = environment();
    let folder = environment.project_hook("guard", GUARD, MARK);
    write(&environment.project().join(".agents/outside"), "out", 0o644);
    fs::create_dir_all(folder.join("a/b")).unwrap();
    // To the hook's own folder; from there, `..` is outside.
    symlink("../..", folder.join("a/b/up")).unwrap();
    symlink("../a/b/up/../../outside", folder.join("scripts/link")).unwrap();
    assert_eq!(fs::read_to_string(folder.join("scripts/link")).unwrap(), "out");
    let ran = environment.run(&["trust", "--all"]);
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn a_link_out_that_appears_later_is_a_change() {
    let environment = environment();
    let folder = trusted(&environment);
    symlink("/etc/passwd", folder.join("link")).unwrap();
    assert_blocks_unrun(&environment, "a link out");
}

#[test]
fn untrust_makes_a_hook_one_that_was_never_seen() {
    let environment = environment();
    let folder = trusted(&environment);
    let ran = environment.run(&["untrust", "guard"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(environment.shell("ls").code, 0);
    assert!(!left(&environment, "ran-guard"));
    write(&folder.join("extra"), "", 0o644);
    assert_eq!(environment.shell("ls").code, 0);
    assert_eq!(listed(&environment, "guard")["left_out"], "untrusted");
    trust_all(&environment);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(environment.shell("ls").code, 2);
    assert_eq!(environment.run(&["untrust", "--all"]).code, 0);
    assert_eq!(environment.shell("ls").code, 0, "one that is gone can be forgotten");
}

#[test]
fn a_project_whose_path_is_not_utf_8_can_be_trusted() {
    let environment = environment();
    let project = environment.home().join(OsStr::from_bytes(b"pro\xffject"));
    fs::create_dir_all(project.join(".git")).unwrap();
    environment.hook(&project.join(".agents/hooks"), "guard", GUARD, BLOCK);
    let run_there = |arguments: &[&str], input: &str| {
        let mut command = environment.command(arguments);
        command.current_dir(&project);
        run(command, input.as_bytes())
    };
    let trust = run_there(&["trust", "--all"], "");
    let ran = run_there(&["hook", "agent-hooks"], r#"{"event_type": "before_tool"}"#);
    assert_eq!((trust.code, ran.code), (0, 2), "{trust:?} {ran:?}");
}

#[test]
fn trust_in_one_project_is_no_trust_in_another() {
    let environment = environment();
    trusted(&environment);
    let other = environment.home().join("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    environment.hook(&other.join(".agents/hooks"), "guard", GUARD, MARK);
    let ran = environment.event(&json!({"event_type": "before_tool", "work_dir": other}));
    assert_eq!(ran.code, 0);
    assert!(!other.join("ran-guard").exists());
    assert_eq!(last_skip(&environment, "guard"), "untrusted");
}

/// Sends a tool call from a folder.
fn call_in(
    environment: &TestEnv,
    folder: &Path,
    session: Option<&str>,
) -> anyhook_testkit::CommandRun {
    let event = json!({"event_type": "before_tool", "work_dir": folder, "session_id": session});
    let mut command = environment.command(&["hook", "agent-hooks"]);
    // The project itself may be gone.
    command.current_dir(environment.home());
    run(command, event.to_string().as_bytes())
}

fn git(folder: &Path, arguments: &[&str]) {
    let ran = std::process::Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
}

#[test]
fn a_git_worktree_has_the_guards_that_the_repository_has() {
    let environment = environment();
    let project = environment.project();
    fs::remove_dir_all(project.join(".git")).unwrap();
    git(&project, &["init", "-q"]);
    environment.project_hook("guard", GUARD, BLOCK);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "a guard"]);
    git(&project, &["worktree", "add", "-q", "../early"]);
    trust_all(&environment);
    git(&project, &["worktree", "add", "-q", "../late"]);
    for name in ["early", "late"] {
        let tree = environment.home().join(name);
        assert_eq!(call_in(&environment, &tree, None).code, 2, "{name}");
        let hook = tree.join(".agents/hooks/guard");
        write(&hook.join("scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
        let ran = call_in(&environment, &tree, None);
        assert!(ran.code == 2 && ran.stderr.contains("changed since it was trusted"), "{ran:?}");
        fs::remove_dir_all(&hook).unwrap();
        let ran = call_in(&environment, &tree, None);
        assert!(ran.code == 2 && ran.stderr.contains("removed from the project"), "{ran:?}");
    }
    // Unrelated, although it says that it is a worktree.
    let stranger = environment.home().join("stranger");
    environment.hook(&stranger.join(".agents/hooks"), "guard", GUARD, BLOCK);
    fs::copy(environment.home().join("early/.git"), stranger.join(".git")).unwrap();
    assert_eq!(call_in(&environment, &stranger, None).code, 0);
    assert_eq!(last_skip(&environment, "guard"), "untrusted");
}

#[test]
fn moving_a_project_takes_no_guard_away() {
    for (is_linked, is_edited) in [(false, false), (true, false), (false, true), (true, true)] {
        let environment = trusted_guard();
        let (project, moved) = (environment.project(), environment.home().join("moved"));
        assert_eq!(call_in(&environment, &project, Some("s")).code, 2);
        fs::rename(&project, &moved).unwrap();
        if is_linked {
            symlink(&moved, &project).unwrap();
        }
        if is_edited {
            write(&moved.join(".agents/hooks/guard/scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
        }
        for folder in [&project, &moved] {
            for session in [Some("s"), Some("new"), None] {
                if !is_linked && folder == &project && session != Some("s") {
                    // There is no such project any more, and nobody remembers it.
                    continue;
                }
                let ran = call_in(&environment, folder, session);
                let about = format!("{is_linked} {is_edited} {} {session:?}", folder.display());
                assert_eq!(ran.code, 2, "{about}: {ran:?}");
                if !is_edited && (is_linked || folder == &moved) {
                    assert!(ran.stderr.contains("blocked by hook guard"), "{about}: {ran:?}");
                }
            }
        }
    }
}

#[test]
fn what_was_trusted_elsewhere_is_offered_and_not_assumed() {
    let environment = trusted_guard();
    let copy = environment.home().join("copy");
    fs::create_dir_all(copy.join(".git")).unwrap();
    let hooks = copy.join(".agents/hooks");
    environment.hook(&hooks, "guard", "trigger: before_tool\non_failure: block", "exit 2");
    assert_eq!(call_in(&environment, &copy, None).code, 0);
    let mut command = environment.command(&["trust", "--all"]);
    command.current_dir(&copy);
    let ran = run(command, b"");
    let words = "same content as you trusted in ~/project/.agents/hooks/guard";
    assert!(ran.code == 0 && ran.stdout.contains(words), "{ran:?}");
    assert!(ran.stdout.contains("── scripts/run (17 bytes, executable)  unchanged"), "{ran:?}");
    assert_eq!(call_in(&environment, &copy, None).code, 2);
}

/// A trusted guard that must not fail, in a project.
fn trusted_guard() -> TestEnv {
    let environment = environment();
    environment.project_hook("guard", "trigger: before_tool\non_failure: block", "exit 2");
    assert_eq!(environment.run(&["trust", "--all"]).code, 0);
    assert_eq!(environment.shell("ls").code, 2);
    environment
}

#[test]
fn a_file_left_behind_among_the_records_takes_no_guard_away() {
    let environment = trusted_guard();
    let projects = environment.state().join("trust/projects");
    let folder = fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    fs::write(folder.join(".tmpAbC"), "").unwrap();
    assert_eq!(environment.shell("ls").code, 2);
    let record = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .find(|entry| entry.path().extension().is_some())
        .unwrap()
        .path();
    fs::write(record, "broken").unwrap();
    let ran = environment.shell("ls");
    assert!(ran.code == 2 && ran.stderr.contains("its trust record cannot be read"), "{ran:?}");
}

#[test]
fn a_link_in_place_of_the_folder_takes_no_guard_away() {
    for (from, link) in [(".agents", ".agents"), (".agents/hooks", ".agents/hooks")] {
        let environment = trusted_guard();
        let folder = environment.project().join(from);
        let moved = environment.project().join("moved");
        fs::rename(&folder, &moved).unwrap();
        symlink(&moved, environment.project().join(link)).unwrap();
        assert_eq!(environment.shell("ls").code, 2, "{from}");
    }
}

#[test]
fn a_tampered_copy_is_made_anew_by_trust() {
    let environment = trusted_guard();
    let copies = environment.state().join("trust/copies");
    let ran = std::process::Command::new("sh")
        .arg("-c")
        .arg("chmod -R u+w . && find . -name run -exec sh -c 'echo \"exit 0\" > \"$1\"' _ {} \\;")
        .current_dir(&copies)
        .status()
        .unwrap();
    assert!(ran.success());
    assert!(environment.shell("ls").stderr.contains("tampered"));
    assert_eq!(environment.run(&["trust", "guard"]).code, 0);
    let ran = environment.shell("ls");
    assert!(ran.code == 2 && ran.stderr.contains("blocked by hook guard"), "{ran:?}");
}

#[test]
fn an_untrusted_repository_costs_no_more_than_its_names() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 2");
    let keys: String =
        (0..9_000).map(|index| format!("k{index}: 1\n")).collect::<Vec<_>>().concat();
    write(&environment.project_hooks().join("slow/HOOK.md"), format!("---\n{keys}---\n"), 0o644);
    let ran = environment.run_with_input(
        &["hook", "agent-hooks", "--deadline-ms", "5000"],
        r#"{"event_type": "before_tool"}"#,
    );
    assert_eq!(ran.code, 2, "{ran:?}");
}
