//! Mounts of one process alone: a full disk, a read-only folder, a managed level.

use std::process::Command;

use anyhook_testkit::TestEnv;

/// Tells whether mounts can be made here; says so if not.
pub fn can_mount() -> bool {
    let mut probe = Command::new("unshare");
    probe.args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]);
    let can = probe.output().is_ok_and(|output| output.status.success());
    if !can {
        println!("left out: mounts need root and a mount namespace");
    }
    can
}

/// Returns the program with arguments, after `mounts`, a line of shell, in a namespace of its own.
pub fn command(environment: &TestEnv, mounts: &str, arguments: &[&str]) -> Command {
    let original = environment.command(arguments);
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-e", "-c"])
        .arg(format!("{mounts}\nexec \"$0\" \"$@\""))
        .arg(original.get_program())
        .args(arguments)
        .current_dir(environment.project())
        .env_clear();
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
}

/// Returns the mounts that make `ROOT/etc/agents` the managed level.
pub fn managed(environment: &TestEnv) -> String {
    format!("mount --bind '{}' /etc", environment.root().join("etc").display())
}
