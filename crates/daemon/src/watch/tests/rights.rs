//! Tests with a file without read permission: run as a user other than root, who may read
//! everything.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::*;

/// Set for the run as another user.
const MARK: &str = "ANYHOOK_TEST_AS_ANOTHER_USER";
const NOBODY: u32 = 65_534;

#[test]
fn a_file_that_may_not_be_read_is_read_when_it_may() {
    if rustix::process::geteuid().is_root() && std::env::var_os(MARK).is_none() {
        run_as_nobody("watch::tests::rights::a_file_that_may_not_be_read_is_read_when_it_may");
        return;
    }
    let mut scene = Scene::watched();
    let log = place("claude-code", "", "s");
    let path = scene.path(&log);
    File::create(&path).unwrap().set_permissions(fs::Permissions::from_mode(0o000)).unwrap();
    assert!(File::open(&path).is_err(), "the test has the right to read everything");
    scene.catch_up();
    // Its owner may still let processes write to it that had it open before.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o200)).unwrap();
    scene.append(&log, WORK);
    scene.catch_up();
    assert_eq!(scene.told("claude-code:s"), "");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    scene.expect("claude-code:s", "working");
}

/// Runs one test of this program as an unprivileged user, in a copy that the user may execute.
fn run_as_nobody(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    for (path, mode) in [(folder.path(), 0o755), (&*scratch, 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let program = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).env(MARK, "1").env("TMPDIR", &scratch);
    let output = command.uid(NOBODY).gid(NOBODY).current_dir(&scratch).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("1 passed"), "{output:#?}");
}
