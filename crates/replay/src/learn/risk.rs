//! What is never proposed to be allowed unseen, however often people allowed it.

use super::condition::{Example, reaches_far};
use super::subject::{Subject, flags_of, is_dangerous};

/// Programs that destroy, run anything, reach other machines, or change anyhook itself.
const PROGRAMS: [&str; 67] = [
    "anyhook",
    "ansible",
    "ash",
    "at",
    "awk",
    "bash",
    "bun",
    "bunx",
    "chgrp",
    "chmod",
    "chown",
    "crontab",
    "curl",
    "dash",
    "dd",
    "deno",
    "doas",
    "env",
    "eval",
    "exec",
    "fdisk",
    "find",
    "fish",
    "ftp",
    "gawk",
    "halt",
    "iptables",
    "kill",
    "killall",
    "ksh",
    "launchctl",
    "ln",
    "mkfs",
    "mount",
    "mysql",
    "nc",
    "ncat",
    "node",
    "nsenter",
    "parted",
    "perl",
    "php",
    "pkill",
    "poweroff",
    "powershell",
    "psql",
    "pwsh",
    "python",
    "python3",
    "reboot",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "scp",
    "sftp",
    "sh",
    "shred",
    "shutdown",
    "socat",
    "ssh",
    "su",
    "sudo",
    "tee",
    "truncate",
    "xargs",
    "zsh",
];
/// Programs that run what they are given or fetch.
const RUNNERS: [&str; 12] = [
    "npx", "pipx", "podman", "docker", "sqlite3", "tclsh", "timeout", "nohup", "unlink", "uvx",
    "wget", "wipefs",
];
/// Words with which a program destroys, publishes or deploys.
const WORDS: [&str; 34] = [
    "apply",
    "clean",
    "clear",
    "delete",
    "deploy",
    "destroy",
    "disable",
    "down",
    "drop",
    "erase",
    "exec",
    "filter-branch",
    "format",
    "gc",
    "kill",
    "login",
    "merge",
    "mv",
    "prune",
    "publish",
    "purge",
    "push",
    "rebase",
    "release",
    "remove",
    "reset",
    "restore",
    "revert",
    "rm",
    "rmi",
    "stop",
    "uninstall",
    "unpublish",
    "wipe",
];

/// Returns why a call may not be allowed unseen, if it may not.
pub fn of(subject: &Subject, example: &Example<'_>) -> Option<&'static str> {
    let Subject::Command { program, .. } = subject else { return None };
    let Some(command) = example.command else { return Some("it cannot be told what it runs") };
    let name = program.rsplit('/').next().unwrap_or(program);
    if PROGRAMS.contains(&name) || RUNNERS.contains(&name) || name.starts_with("mkfs") {
        return Some("its program can destroy or run anything");
    }
    let words = command.operands().into_iter().filter_map(|word| word.known());
    let is_word = |word: &str| word.split(['-', ':', '_']).any(|part| WORDS.contains(&part));
    let mut words = words.take(3);
    if words.any(|word| is_word(word) || WORDS.contains(&word)) {
        return Some("it destroys, publishes or deploys something");
    }
    if flags_of(command).iter().any(|flag| is_dangerous(flag)) {
        return Some("its flags are dangerous");
    }
    let leads_out = command.arguments().iter().any(|word| leads_out(&word.text, example));
    (leads_out || reaches_far(example)).then_some("it works on something outside the project")
}

/// Returns whether an argument, or the value of a flag, may name something outside the project.
fn leads_out(argument: &str, example: &Example<'_>) -> bool {
    let event = example.event;
    let project = event.project_dir.as_deref().unwrap_or(&event.work_dir).to_string_lossy();
    let is_inside = |path: &str| {
        path.strip_prefix(&*project).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let value = argument.split_once('=').map_or(argument, |(_, value)| value);
    value.starts_with('~')
        || value.starts_with('/') && !is_inside(value)
        || value.split('/').any(|part| part == "..")
}
