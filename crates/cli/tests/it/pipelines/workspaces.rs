use std::path::Path;
use std::process::Command;

use super::*;

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn with_workspace(workspace: &str, command: &str) -> World {
    let world = World::new(&format!(
        r#"
pipeline "work" {{
  workspace = {workspace}

  step "a" {{
    run = "{command}"
  }}
}}
"#
    ));
    let project = world.environment.project();
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "first"]);
    world
}

#[test]
fn a_folder_of_its_own() {
    let world = with_workspace("\"folder\"", "pwd; echo ${workspace.root}; ls -A; touch made");
    let id = world.begin("work");
    let view = world.wait_phase(&id, "completed");
    let root = view["workspace"]["root"].as_str().unwrap();
    let state = world.environment.state();
    assert_eq!(Path::new(root), state.join(format!("workspaces/work-{id}")));
    assert!(Path::new(root).join("made").exists(), "it stays");
    let logs = world.run(&["pipeline", "logs", &id]).stdout;
    assert_eq!(logs.matches(&format!("  | {root}\n")).count(), 2, "{logs}");
}

#[test]
fn a_folder_that_is_not_kept_goes_when_all_went_well() {
    for (command, phase, stays) in [("touch made", "completed", false), ("false", "failed", true)] {
        let world =
            with_workspace("{ kind = \"folder\", path = \"build/x\", keep = false }", command);
        let id = world.begin("work");
        world.wait_phase(&id, phase);
        assert_eq!(world.environment.project().join("build/x").exists(), stays, "{command}");
    }
}

#[test]
fn a_worktree_on_a_branch_of_its_own() {
    let commit = "echo x > f; git add f; git -c user.name=a -c user.email=a@b commit -qm made";
    let world = with_workspace(
        "{ kind = \"worktree\", branch = \"work/${pipeline.id}\", keep = false }",
        commit,
    );
    let id = world.begin("work");
    let view = world.wait_phase(&id, "completed");
    assert!(
        !Path::new(view["workspace"]["root"].as_str().unwrap()).exists(),
        "it is clean and goes"
    );
    let project = world.environment.project();
    let log = git(&project, &["log", "--format=%s", &format!("work/{id}")]);
    assert_eq!(log, "made\nfirst\n", "what was committed stays");
    assert!(!project.join("f").exists());
}

#[test]
fn a_worktree_with_something_that_would_be_lost_stays() {
    let world = with_workspace("{ kind = \"worktree\", keep = false }", "echo precious > new");
    let id = world.begin("work");
    let view = world.wait_phase(&id, "completed");
    let root = Path::new(view["workspace"]["root"].as_str().unwrap());
    assert!(root.join("new").exists());
    let logs = world.run(&["pipeline", "logs", &id]).stdout;
    assert!(logs.contains("the workspace was kept: "), "{logs}");
}

#[test]
fn what_is_in_the_way_is_said_before_anything_begins() {
    let world =
        with_workspace("{ kind = \"worktree\", path = \"../tree\", branch = \"b\" }", "true");
    let project = world.environment.project();
    let refused = |message: &str, hint: &str| {
        let ran = world.run(&["pipeline", "run", "work"]);
        let expected = format!("error: {message}\nhint: {hint}\n");
        assert_eq!((ran.code, world.environment.normal(&ran.stderr)), (1, expected));
        let all = world.run(&["pipeline", "list", "--all", "--json"]).json();
        assert_eq!(all.as_array().unwrap().len(), 0, "nothing has begun");
    };
    git(&project, &["branch", "b"]);
    refused("the branch `b` already exists", "set another `branch` for the workspace");
    git(&project, &["branch", "-D", "b"]);
    fs::create_dir(project.join("../tree")).unwrap();
    refused(
        "the workspace `~/project/../tree` already exists",
        "remove it, or set another `path` for the workspace",
    );
    fs::remove_dir(project.join("../tree")).unwrap();
    fs::remove_dir_all(project.join(".git")).unwrap();
    refused(
        "`~/project` is not a git repository, so it cannot have worktrees",
        "run git init, or set workspace = \"folder\"",
    );
}
