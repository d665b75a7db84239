//! Repositories for tests.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::TestEnv;

/// Runs git in a folder, as a person with settings of their own.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
    let ran = Command::new("git").args(who).args(arguments).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// Makes the project a repository with a commit of what is in it.
pub fn make_repository(environment: &TestEnv) {
    let project = environment.project();
    fs::remove_dir_all(project.join(".git")).unwrap();
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
}
