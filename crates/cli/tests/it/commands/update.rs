//! `anyhook update`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_testkit::{CommandRun, TestEnv, run, write};

use super::outside_packs::{GUARD, commit, lock, pack, repository};
use crate::environment;

/// Adds a pack from a folder, and returns the folder.
fn added(environment: &TestEnv) -> PathBuf {
    let folder = environment.root().join("team");
    pack(&folder);
    assert_eq!(environment.run(&["add", folder.to_str().unwrap(), "--yes"]).code, 0);
    folder
}

/// Changes what the hook may do, adds another one and removes nothing.
fn change(folder: &Path) {
    let text = GUARD.replace("on_failure: block", "on_failure: allow\nenv: inherit");
    write(&folder.join("hooks/guard/HOOK.md"), text.replace("Text", "New text"), 0o644);
    write(&folder.join("hooks/more/HOOK.md"), GUARD.replace("name: guard", "name: more"), 0o644);
    write(&folder.join("hooks/more/scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
}

fn installed(environment: &TestEnv) -> String {
    fs::read_to_string(environment.user_hooks().join("guard/HOOK.md")).unwrap()
}

#[test]
fn nothing_was_added() {
    let environment = environment();
    assert_run!(environment, environment.run(&["update"]), @"
    exit code: 0
    ----- stdout -----
    no packs were added
    ");
    assert_run!(environment, environment.run(&["update", "team"]), @"
    exit code: 65
    ----- stderr -----
    error: no pack `team` was added
    hint: `anyhook packs` lists all
    ");
}

#[test]
fn nothing_has_changed() {
    let environment = environment();
    added(&environment);
    assert_eq!(environment.run(&["add", "pack/delivery-workflow"]).code, 0);
    assert_run!(environment, environment.run(&["update"]), @"
    exit code: 0
    ----- stdout -----
    delivery-workflow  user level, from pack/delivery-workflow
      up to date
    team  user level, from [ROOT]/team
      up to date
    ");
}

#[test]
fn what_changes_is_shown_and_applied() {
    let environment = environment();
    let folder = added(&environment);
    let before = fs::read_to_string(lock(&environment)).unwrap();
    change(&folder);
    let shown = environment.run(&["update", "--dry-run"]);
    assert_run!(environment, shown, @r#"
    exit code: 0
    ----- stdout -----
    team  user level, from [ROOT]/team
      what its hooks may do CHANGES:
        guard  on_failure: block → allow
        guard  new env: inherit
        more  new hook: trigger: before_tool; script: scripts/run; matcher: {"tool":"Shell"}; on_failure: block
      ~/.config/agents/hooks/guard/HOOK.md  changed
        @@ -5,5 +5,6 @@
         matcher:
           tool: Shell
        -on_failure: block
        +on_failure: allow
        +env: inherit
         ---
        -Text.
        +New text.
      ~/.config/agents/hooks/more/HOOK.md  created
        @@ -0,0 +1,9 @@
        +---
        +name: more
        +description: Guards
        +trigger: before_tool
        +matcher:
        +  tool: Shell
        +on_failure: block
        +---
        +Text.
      ~/.config/agents/hooks/more/scripts/run  created
        + executable
        @@ -0,0 +1,2 @@
        +#!/bin/sh
        +exit 0
    "#);
    assert!(environment.run(&["packs", "--updates"]).stdout.contains("an update is available"));
    let refused = environment.run(&["update", "team"]);
    assert!(refused.code == 1 && refused.stderr.contains("without a terminal"), "{refused:?}");
    assert_eq!(
        (installed(&environment), fs::read_to_string(lock(&environment)).unwrap()),
        (GUARD.to_owned(), before)
    );
    assert!(!environment.user_hooks().join("more").exists(), "nothing is written unless agreed");

    assert_eq!(environment.run(&["update", "pack/team", "--yes"]).code, 0);
    assert!(installed(&environment).contains("on_failure: allow"));
    assert!(environment.user_hooks().join("more/scripts/run").is_file());
    assert_eq!(fs::read_dir(environment.user_hooks()).unwrap().count(), 2, "nothing is left over");
    assert!(environment.run(&["update"]).stdout.contains("up to date"));
    let journal = environment.all_records();
    assert!(journal.iter().any(|record| record["event"] == "command:update"), "{journal:#?}");
}

#[test]
fn as_json() {
    let environment = environment();
    let folder = added(&environment);
    change(&folder);
    let report = environment.run(&["update", "--dry-run", "--json"]).json();
    let pack = &report["packs"][0];
    assert_eq!((&report["dry_run"], &pack["result"]), (&true.into(), &"would_update".into()));
    assert_ne!(pack["before"], pack["after"]);
    let changes: Vec<String> = pack["permissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            format!(
                "{} {}: {} {}",
                change["hook"], change["what"], change["before"], change["after"]
            )
        })
        .collect();
    assert!(
        changes.contains(&"\"guard\" \"on_failure\": \"block\" \"allow\"".to_owned()),
        "{changes:?}"
    );
    let refused = environment.run(&["update", "--json"]);
    assert!(refused.code == 1 && refused.stderr.contains("--yes"), "{refused:?}");
    let done = environment.run(&["update", "--json", "--yes"]).json();
    assert_eq!(done["packs"][0]["result"], "updated");
}

#[test]
fn what_was_changed_here_stays_or_is_kept() {
    let environment = environment();
    let folder = added(&environment);
    let file = environment.user_hooks().join("guard/HOOK.md");
    let mine = GUARD.replace("Text", "Mine");
    write(&file, &mine, 0o644);
    change(&folder);
    let ran = environment.run(&["update", "--yes"]);
    assert!(
        ran.code == 1 && ran.stdout.contains("changed here: ~/.config/agents/hooks/guard"),
        "{ran:?}"
    );
    assert_eq!(installed(&environment), mine);
    assert!(!environment.user_hooks().join("more").exists(), "all of it or nothing");
    let ran = environment.run(&["update", "--yes", "--theirs"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(installed(&environment).contains("New text"));
    let kept = fs::read_dir(environment.state().join("removed")).unwrap().next().unwrap().unwrap();
    assert_eq!(fs::read_to_string(kept.path().join("hooks/guard/HOOK.md")).unwrap(), mine);
}

#[test]
fn a_hook_that_goes_is_kept_and_one_that_is_not_the_packs_stays() {
    let environment = environment();
    let folder = added(&environment);
    change(&folder);
    environment.user_hook("more", "trigger: before_tool", "exit 0");
    let ran = environment.run(&["update", "--yes", "--theirs"]);
    assert!(ran.code == 1 && ran.stdout.contains("not from this pack"), "{ran:?}");
    assert_eq!(installed(&environment), GUARD);
    fs::remove_dir_all(environment.user_hooks().join("more")).unwrap();
    assert_eq!(environment.run(&["update", "--yes"]).code, 0);
    fs::remove_dir_all(folder.join("hooks/guard")).unwrap();
    let ran = environment.run(&["update", "--yes"]);
    assert!(ran.code == 0 && ran.stdout.contains("guard  no hook any more"), "{ran:?}");
    assert!(!environment.user_hooks().join("guard").exists());
    let kept = fs::read_dir(environment.state().join("removed")).unwrap().next().unwrap().unwrap();
    assert!(kept.path().join("hooks/guard/HOOK.md").is_file());
    assert!(!fs::read_to_string(lock(&environment)).unwrap().contains("\"guard\""));
}

#[test]
fn a_missing_hook_is_restored() {
    let environment = environment();
    added(&environment);
    fs::remove_dir_all(environment.user_hooks().join("guard")).unwrap();
    assert_eq!(environment.run(&["update", "--yes"]).code, 0);
    assert_eq!(installed(&environment), GUARD);
}

#[test]
fn from_a_repository() {
    let environment = environment();
    let folder = repository(&environment, "origin");
    let source = format!("file://{}#main", folder.display());
    assert_eq!(environment.run(&["add", &source, "--yes"]).code, 0);
    change(&folder);
    commit(&folder);
    let done = environment.run(&["update", "--yes", "--json"]).json();
    let commit = done["packs"][0]["commit"].as_str().unwrap();
    assert!(fs::read_to_string(lock(&environment)).unwrap().contains(commit));
    assert!(installed(&environment).contains("New text"));
}

/// A hostile update changes nothing.
#[test]
fn a_source_that_turned_into_something_else() {
    let environment = environment();
    let folder = added(&environment);
    let before = fs::read_to_string(lock(&environment)).unwrap();
    let refused = |why: &str| {
        let ran: CommandRun = environment.run(&["update", "--yes"]);
        assert!(ran.code != 0 && ran.stderr.contains(why), "{why}: {ran:?}");
        assert_eq!(installed(&environment), GUARD);
        assert_eq!(fs::read_to_string(lock(&environment)).unwrap(), before);
    };
    write(&folder.join("pack.toml"), "name = \"other\"\ndescription = \"x\"\n", 0o644);
    refused("was `team` and calls itself `other` now");
    pack(&folder);
    std::os::unix::fs::symlink("/etc", folder.join("hooks/guard/link")).unwrap();
    refused("symbolic link");
    fs::remove_dir_all(&folder).unwrap();
    refused("No such file");
}

/// What cannot be written at the end undoes what was written before.
#[test]
fn an_update_that_fails_leaves_everything_as_it_was() {
    let environment = environment();
    let folder = added(&environment);
    change(&folder);
    // The hook is replaced first; then its neighbour cannot be.
    write(&folder.join("hooks/more/HOOK.md"), GUARD.replace("name: guard", "name: more"), 0o644);
    fs::remove_file(folder.join("hooks/more/scripts/run")).unwrap();
    let ran = environment.run(&["update", "--yes"]);
    assert!(ran.code == 65 && ran.stderr.contains("`more`"), "{ran:?}");
    assert_eq!(installed(&environment), GUARD);
    assert_eq!(fs::read_dir(environment.user_hooks()).unwrap().count(), 1);
}

/// A project's hooks run after an update once they are trusted again.
#[test]
fn at_the_projects_level() {
    let environment = environment();
    let folder = environment.root().join("team");
    pack(&folder);
    let source = folder.to_str().unwrap();
    assert_eq!(environment.run(&["add", source, "--yes", "--project"]).code, 0);
    assert_eq!(environment.run(&["trust", "--all"]).code, 0);
    change(&folder);
    let ran = environment.run(&["update", "--yes"]);
    assert!(ran.code == 0 && ran.stdout.contains("anyhook trust --all"), "{ran:?}");
    assert!(environment.run(&["list"]).stdout.contains("changed"));
}

#[test]
fn an_agent_may_only_look() {
    let environment = environment();
    let folder = added(&environment);
    change(&folder);
    let by_agent = |words: &[&str]| {
        let mut command = environment.command(words);
        command.env("CLAUDECODE", "1");
        run(command, b"")
    };
    let ran = by_agent(&["update", "--yes"]);
    assert!(ran.code == 1 && ran.stderr.contains("only a person may do this"), "{ran:?}");
    assert_eq!(installed(&environment), GUARD);
    assert_eq!(by_agent(&["update", "--dry-run"]).code, 0);
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["update", "--help"]));
}
