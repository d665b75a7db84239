//! To have an old, broken or false index answer instead of the hooks that are there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_testkit::{wait_until, write};

use super::attack_fixture::{EVIL, Host, SHELL_GUARD, World, denying};
use super::{Attempt, Outcome, Seen};

/// The index of a world in which one was written by now.
fn index(world: &World, host: Host) -> PathBuf {
    let folder = world.env.state().join("index");
    let find = || fs::read_dir(&folder).ok()?.flatten().map(|entry| entry.path()).next();
    wait_until("an index", || {
        world.shell(host, "ls");
        find().is_some()
    });
    find().unwrap()
}

/// What is done to the index.
type Spoil = fn(&Path);
const SPOILED: [(&str, &str, Spoil); 16] = [
    ("The index is removed", "rm", |file| fs::remove_file(file).unwrap()),
    ("The index is emptied", ": >", |file| fs::write(file, "").unwrap()),
    ("The index is cut to half", "truncate", |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("The index is cut by one byte", "truncate -s -1", |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
    }),
    ("The index is longer by one byte", ">>", |file| {
        let mut bytes = fs::read(file).unwrap();
        bytes.push(0);
        fs::write(file, bytes).unwrap();
    }),
    ("The index is noise", "dd if=/dev/urandom", |file| {
        let noise: Vec<u8> =
            (0..20_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(file, noise).unwrap();
    }),
    ("The index is zeros", "dd if=/dev/zero", |file| fs::write(file, [0; 5000]).unwrap()),
    ("The index's first byte is flipped", "byte 0", |file| flip(file, 0)),
    ("The index's tenth byte is flipped", "byte 10", |file| flip(file, 10)),
    ("A byte in the middle is flipped", "byte n/2", |file| {
        flip(file, fs::metadata(file).unwrap().len() / 2);
    }),
    ("The index's last byte is flipped", "byte n-1", |file| {
        flip(file, fs::metadata(file).unwrap().len() - 1);
    }),
    ("The guard's name is taken out of the index", "sed s/sentry/nobody/", |file| {
        replace(file, b"sentry", b"nobody");
    }),
    ("The guard's word is taken out of the index", "sed s/EVIL/GOOD/", |file| {
        replace(file, b"EVIL", b"GOOD");
    }),
    ("The index is a folder", "mkdir", |file| {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }),
    ("The index is a named pipe", "mkfifo", |file| {
        fs::remove_file(file).unwrap();
        assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    }),
    ("The index is a link to a device without end", "ln -s /dev/zero", |file| {
        fs::remove_file(file).unwrap();
        symlink("/dev/zero", file).unwrap();
    }),
];

fn flip(file: &Path, at: u64) {
    let mut bytes = fs::read(file).unwrap();
    bytes[usize::try_from(at).unwrap()] ^= 0x55;
    fs::write(file, bytes).unwrap();
}

fn replace(file: &Path, word: &[u8], by: &[u8]) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.windows(word.len()).position(|part| part == word);
    if let Some(at) = at {
        bytes[at..at + by.len()].copy_from_slice(by);
    }
    fs::write(file, bytes).unwrap();
}

fn by_spoiling(host: Host, spoil: Spoil) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    spoil(&index(&world, host));
    world.shell(host, EVIL).verdict()
}

/// How a guard comes.
type Guard = fn(&World);

/// An index that was written while there was no guard yet.
fn of_the_past(host: Host, guard: Guard) -> Seen {
    let world = World::empty();
    world.env.user_hook("other", "trigger: before_tool\nmatcher:\n  pattern: never", "exit 0");
    index(&world, host);
    if !world.shell(host, EVIL).passes() {
        return Err("something stops the call without a guard".to_owned());
    }
    guard(&world);
    world.shell(host, EVIL).verdict()
}

fn with_old_times(world: &World, matter: &str) {
    let file = world.env.user_hooks().join("other/HOOK.md");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let text = format!("---\nname: other\ndescription: the hook other\n{matter}\n---\n");
    fs::write(&file, text).unwrap();
    write(&file.with_file_name("scripts/run"), format!("#!/bin/sh\n{}\n", denying()), 0o755);
    fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, how, spoil)) in SPOILED.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("`{how}`, in `{}`", host.name());
        let run = move || by_spoiling(host, spoil);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    let past: [(&str, &str, Guard); 5] = [
        ("A guard comes after the index was written", "`mkdir hooks/sentry`", |world| {
            world.env.user_hook("sentry", SHELL_GUARD, &denying());
        }),
        ("A guard is moved in whole", "`mv elsewhere hooks/sentry`", |world| {
            let away = world.env.root().join("away");
            world.env.hook(&away, "sentry", SHELL_GUARD, &denying());
            fs::rename(away.join("sentry"), world.env.user_hooks().join("sentry")).unwrap();
        }),
        ("A guard is linked in", "`ln -s elsewhere hooks/sentry`", |world| {
            let away = world.env.root().join("away");
            world.env.hook(&away, "sentry", SHELL_GUARD, &denying());
            symlink(away.join("sentry"), world.env.user_hooks().join("sentry")).unwrap();
        }),
        ("A hook becomes a guard and keeps its time", "`touch -r`", |world| {
            with_old_times(world, SHELL_GUARD);
        }),
        ("The folder of hooks is replaced by another", "`mv hooks2 hooks`", |world| {
            let hooks = world.env.user_hooks();
            world.env.hook(&hooks.with_file_name("hooks2"), "sentry", SHELL_GUARD, &denying());
            fs::rename(&hooks, hooks.with_file_name("old")).unwrap();
            fs::rename(hooks.with_file_name("hooks2"), hooks).unwrap();
        }),
    ];
    for (number, (what, how, guard)) in past.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("{how}, in `{}`", host.name());
        let run = move || of_the_past(host, guard);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    list
}
