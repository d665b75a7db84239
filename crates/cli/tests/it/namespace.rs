//! Mounts of one process alone: a full disk, a read-only folder, a managed level. Tests that use them
//! need [`Need::Mounts`](anyhook_testkit::needs::Need::Mounts).

use std::process::Command;

use anyhook_testkit::TestEnv;

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
