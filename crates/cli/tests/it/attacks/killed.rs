//! To end or remove the engine itself: the entry that `install` wrote is run as the agent runs it.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use anyhook_testkit::write;
use serde_json::Value;

use super::attack_fixture::{EVIL, Host, Reply, SHELL_GUARD, World, denying, in_time};
use super::{Attempt, Outcome, Seen};

/// Where an agent's entries are, below the home.
fn settings(host: Host) -> &'static str {
    match host {
        Host::Claude => ".claude/settings.json",
        Host::Codex => ".codex/hooks.json",
        _ => ".gemini/settings.json",
    }
}

fn before_tool(host: Host) -> &'static str {
    if host == Host::Gemini { "BeforeTool" } else { "PreToolUse" }
}

/// Installs, and returns the entry before tools, as the shell gets it.
fn installed(world: &World, host: Host) -> Result<String, String> {
    world.install(host)?;
    let file = world.env.home().join(settings(host));
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let entry = value["hooks"][before_tool(host)][0]["hooks"][0]["command"].as_str();
    let entry = entry.ok_or_else(|| format!("no entry: {text}"))?;
    let program = world.installed_program();
    if entry.contains(&*program.to_string_lossy()) {
        Ok(entry.to_owned())
    } else {
        Err(format!("the entry does not call {}: {entry}", program.display()))
    }
}

/// Runs an entry as agents do: by a shell, with the payload.
fn ask(world: &World, host: Host, entry: &str, command: &str) -> Reply {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(entry).current_dir(world.project()).env_clear();
    for (name, value) in world.env.command(&[]).get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    in_time(&shell, host.shell(command, &world.project()).to_string().as_bytes())
}

/// What is done to the program, which is a link.
type Spoil = fn(&Path);
const SPOILED: [(&str, &str, Spoil); 6] = [
    ("The program is removed", "rm", |program| fs::remove_file(program).unwrap()),
    ("The program cannot be run", "chmod -x", |program| {
        replace(program, b"#!/bin/sh\nexit 0\n", 0o644);
    }),
    ("A folder takes the program's place", "mkdir", |program| {
        fs::remove_file(program).unwrap();
        fs::create_dir(program).unwrap();
    }),
    ("The program is cut off", "truncate", |program| {
        let mut start = vec![0; 100_000];
        fs::File::open(program).unwrap().read_exact(&mut start).unwrap();
        replace(program, &start, 0o755);
    }),
    ("The program is a link to nowhere", "ln -s nowhere", |program| {
        fs::remove_file(program).unwrap();
        std::os::unix::fs::symlink("nowhere", program).unwrap();
    }),
    ("The program ends with a fault of its own", "exit 70", |program| {
        replace(program, b"#!/bin/sh\nexit 70\n", 0o755);
    }),
];

fn replace(program: &Path, bytes: &[u8], mode: u32) {
    fs::remove_file(program).unwrap();
    write(program, bytes, mode);
}

fn guarded(host: Host, script: &str) -> Result<(World, String), String> {
    let world = World::with(SHELL_GUARD, script);
    let entry = installed(&world, host)?;
    let harmless = ask(&world, host, &entry, "ls");
    if !harmless.passes() {
        return Err(format!("a harmless call does not pass: {harmless:?}"));
    }
    Ok((world, entry))
}

/// The engine is not there to answer, so it must be the entry that stops the call.
fn stopped(reply: &Reply) -> Seen {
    match reply.verdict()? {
        Outcome::Denied => Err(format!("the engine has answered: {reply:?}")),
        _ => Ok(Outcome::Refused),
    }
}

fn by_spoiling(host: Host, spoil: Spoil) -> Seen {
    let (world, entry) = guarded(host, &denying())?;
    spoil(&world.installed_program());
    stopped(&ask(&world, host, &entry, EVIL))
}

/// The guard's script ends the engine.
fn by_script(host: Host, script: &str) -> Seen {
    let (world, entry) = guarded(host, script)?;
    stopped(&ask(&world, host, &entry, EVIL))
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    let hosts = [Host::Codex, Host::Gemini, Host::Claude];
    for host in hosts {
        for (what, how, spoil) in SPOILED {
            let how = format!("`{how}`, the entry in `{}`", host.name());
            let run = move || by_spoiling(host, spoil);
            list.push(Attempt::new(what, how, Outcome::Refused, run));
        }
        for (what, script) in [
            ("The guard's script kills the engine", "kill -KILL $PPID; exit 2"),
            (
                "The guard's script ends the engine by a signal of the system",
                "kill -SYS $PPID; exit 2",
            ),
            ("The guard's script aborts the engine", "kill -ABRT $PPID; exit 2"),
        ] {
            let how = format!("`{script}`, the entry in `{}`", host.name());
            let run = move || by_script(host, script);
            list.push(Attempt::new(what, how, Outcome::Refused, run));
        }
    }
    list
}
