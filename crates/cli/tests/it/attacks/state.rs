//! To break the state folder, so that the engine hangs, fails or forgets.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::attack_fixture::{EVIL, Host, World};
use super::{Attempt, Outcome, Seen};

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else if path.symlink_metadata().is_ok() {
        fs::remove_file(path).unwrap();
    }
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn replaced_by_link(path: &Path, target: &str) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else if path.symlink_metadata().is_ok() {
        fs::remove_file(path).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}

fn replaced_by_file(path: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "a file").unwrap();
}

/// The folder of the only session.
fn session(state: &Path) -> PathBuf {
    let mut sessions = fs::read_dir(state.join("sessions")).unwrap().flatten();
    sessions.next().unwrap().path()
}

/// What is done to the state folder.
type Spoil = fn(&Path);
const SPOILED: [(&str, Spoil); 29] = [
    ("The state folder is removed", |state| fs::remove_dir_all(state).unwrap()),
    ("The state folder is a file", replaced_by_file),
    ("The state folder is a named pipe", pipe),
    ("The state folder is a link to `/proc`", |state| replaced_by_link(state, "/proc")),
    ("The state folder is a link to itself", |state| replaced_by_link(state, "anyhook")),
    ("The state folder is a link to nowhere", |state| replaced_by_link(state, "nowhere")),
    ("`sessions` is a file", |state| replaced_by_file(&state.join("sessions"))),
    ("`sessions` is a named pipe", |state| pipe(&state.join("sessions"))),
    ("The session's folder is a file", |state| replaced_by_file(&session(state))),
    ("The session's folder is a named pipe", |state| pipe(&session(state))),
    ("The session's `root` is a named pipe", |state| pipe(&session(state).join("root"))),
    ("The session's `steps` is a named pipe", |state| pipe(&session(state).join("steps"))),
    ("The session's `denied` is a named pipe", |state| pipe(&session(state).join("denied"))),
    ("The session's `turn` is a named pipe", |state| pipe(&session(state).join("turn"))),
    ("The session's `root` is a link to `/dev/zero`", |state| {
        replaced_by_link(&session(state).join("root"), "/dev/zero");
    }),
    ("The session's `root` is a folder", |state| {
        let root = session(state).join("root");
        let _ = fs::remove_file(&root);
        fs::create_dir(root).unwrap();
    }),
    ("The session's `root` is noise", |state| {
        fs::write(session(state).join("root"), [0xff, 0, 0xfe, b'\n']).unwrap();
    }),
    ("The session's `root` is empty", |state| fs::write(session(state).join("root"), "").unwrap()),
    ("`alarms.jsonl` is a named pipe", |state| pipe(&state.join("alarms.jsonl"))),
    ("`alarms.jsonl` is a link to `/dev/full`", |state| {
        replaced_by_link(&state.join("alarms.jsonl"), "/dev/full");
    }),
    ("`journal` is a file", |state| replaced_by_file(&state.join("journal"))),
    ("`journal` is a named pipe", |state| pipe(&state.join("journal"))),
    ("The journal's `current` is a named pipe", |state| pipe(&state.join("journal/current"))),
    ("The journal's `current` is a link to `/dev/full`", |state| {
        replaced_by_link(&state.join("journal/current"), "/dev/full");
    }),
    ("The journal's `current` is a link to `/dev/zero`", |state| {
        replaced_by_link(&state.join("journal/current"), "/dev/zero");
    }),
    ("`index` is a file", |state| replaced_by_file(&state.join("index"))),
    ("`index` is a named pipe", |state| pipe(&state.join("index"))),
    ("`trust` is a named pipe", |state| pipe(&state.join("trust"))),
    ("`guarded` is a named pipe", |state| pipe(&state.join("guarded"))),
];

fn by_spoiling(host: Host, spoil: Spoil) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    spoil(&world.env.state());
    let seen = world.shell(host, EVIL).verdict();
    // A named pipe would block the cleanup.
    let harmless = world.shell(host, "ls");
    if !harmless.passes() {
        return Err(format!("a harmless call does not pass any more: {harmless:?}"));
    }
    seen
}

/// Limits of the system on the engine's process, set by a shell before it.
fn limited(host: Host, limits: &str) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    let original = world.env.command(&["hook", host.name()]);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{limits}; exec \"$0\" \"$@\""));
    command.arg(original.get_program()).args(original.get_args());
    command.current_dir(world.project()).env_clear();
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let payload = host.shell(EVIL, &world.project()).to_string();
    let seen = super::attack_fixture::in_time(&command, payload.as_bytes()).verdict()?;
    // Where the guard cannot be started its failure blocks: as good as its no.
    Ok(if seen == Outcome::Blocked { Outcome::Denied } else { seen })
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, spoil)) in SPOILED.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("in `{}`", host.name());
        let run = move || by_spoiling(host, spoil);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    for (what, limits) in [
        ("The process may write no file", "ulimit -f 0"),
        ("The process may have few descriptors", "ulimit -n 8"),
        ("The process may use little processor time", "ulimit -t 5"),
        ("The process may leave no core", "ulimit -c 0"),
        ("The process may use little stack", "ulimit -s 1024"),
        ("Files are made without any permission", "umask 777"),
        ("The working folder is removed", "mkdir gone; cd gone; rmdir ../gone"),
        ("The process starts with signals ignored", "trap '' TERM INT HUP CHLD PIPE"),
    ] {
        let how = format!("`{limits}`, in `claude-code`");
        let run = move || limited(Host::Claude, limits);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    list
}
