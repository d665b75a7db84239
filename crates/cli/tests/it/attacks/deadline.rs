//! To keep the answer from arriving: in time, or at all.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhook_testkit::{CommandRun, begin, finish, wait_until};
use serde_json::{Value, json};

use super::attack_fixture::{EVIL, Host, Reply, SHELL_GUARD, World};
use super::{Attempt, Outcome, Seen};

/// The deadline that the entry gives, and how much later an answer is late on a busy machine.
const DEADLINE: &str = "1000";
const LATE: Duration = Duration::from_secs(30);

fn command(world: &World, host: Host, arguments: &[&str]) -> Command {
    let mut command = world.env.command(&["hook", host.name()]);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for an answer; ends the process if there is none.
fn answer(mut child: Child) -> Reply {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LATE {
            child.kill().unwrap();
            child.wait().unwrap();
            let nothing = CommandRun { code: 124, stdout: String::new(), stderr: String::new() };
            return Reply(nothing);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Reply(finish(child))
}

/// Whatever stops the call will do, as long as it does in time.
fn stopped(reply: &Reply) -> Seen {
    reply.verdict().map(|_| Outcome::Refused)
}

/// How much of a payload comes.
type Part = fn(&str) -> String;

/// A payload that does not end: so much of it comes, and then nothing.
fn slow_input(host: Host, part: Part) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    let mut command = command(&world, host, &["--deadline-ms", DEADLINE]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let payload = host.shell(EVIL, &world.project()).to_string();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(part(&payload).as_bytes()).unwrap();
    let reply = answer(child);
    drop(stdin);
    stopped(&reply)
}

/// Guards that together take longer than there is time.
fn slow_guards(host: Host, guards: usize, script: &str) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    for number in 0..guards {
        let matter = format!("{SHELL_GUARD}\npriority: 900\ntimeout: 600000");
        world.env.user_hook(&format!("slow-{number}"), &matter, script);
    }
    let mut command = command(&world, host, &["--deadline-ms", DEADLINE]);
    let payload = host.shell(EVIL, &world.project()).to_string();
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    stopped(&answer(child))
}

/// Standard output that takes nothing.
fn deaf(host: Host, output: &'static str) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    let payload = host.shell(EVIL, &world.project()).to_string();
    let mut command = command(&world, host, &[]);
    match output {
        "/dev/full" => {
            command.stdout(OpenOptions::new().write(true).open(output).unwrap());
        }
        "read-only" => {
            command.stdout(File::open("/dev/null").unwrap());
        }
        _ => {
            let original = command;
            command = Command::new("sh");
            command.args(["-c", &format!("exec \"$0\" \"$@\" {output}")]);
            command.arg(original.get_program()).args(original.get_args());
            command.current_dir(world.project()).env_clear();
            for (name, value) in original.get_envs() {
                command.env(name, value.unwrap_or_default());
            }
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
    }
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    let reply = answer(child);
    match reply.0.code {
        2 => Ok(Outcome::Refused),
        124 => Err("it hung".to_owned()),
        code => Err(format!("it passed, with exit code {code}: {}", reply.text())),
    }
}

/// A signal to anyhook while the guard runs.
fn signalled(host: Host, signal: &str) -> Seen {
    let world = World::empty();
    let begun = world.env.root().join("begun");
    let script = format!("echo $$ > '{}'; exec sleep 1000", begun.display());
    world.env.user_hook(super::attack_fixture::NAME, SHELL_GUARD, &script);
    if !world.shell(host, "ls").passes() {
        return Err("a harmless call does not pass".to_owned());
    }
    let payload = host.shell(EVIL, &world.project()).to_string();
    let child = begin(command(&world, host, &[]), payload.as_bytes());
    wait_until("the guard to begin", || {
        std::fs::read_to_string(&begun).is_ok_and(|text| text.ends_with('\n'))
    });
    let engine = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &engine]).status().unwrap().success());
    let seen = stopped(&answer(child))?;
    let guard = std::fs::read_to_string(&begun).unwrap();
    let is_gone = || !std::path::Path::new("/proc").join(guard.trim()).exists();
    wait_until("the guard to be ended", is_gone);
    Ok(seen)
}

/// Values that made the engine slow.
fn long_value(host: Host, name: &str, value: &Value) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    let mut payload = host.shell(EVIL, &world.project());
    payload[name] = value.clone();
    let mut command = command(&world, host, &["--deadline-ms", "25000"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = payload.to_string();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(text.as_bytes());
    });
    let reply = answer(child);
    writer.join().unwrap();
    match reply.verdict()? {
        Outcome::Denied => Ok(Outcome::Denied),
        other => Err(format!("the guard did not get to decide: {other}: {reply:?}")),
    }
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    let hosts = [Host::Claude, Host::Codex, Host::Gemini];
    let inputs: [(&str, Part); 4] = [
        ("Standard input stays open and nothing comes", |_| String::new()),
        ("Standard input stays open after half of the payload", |payload| {
            payload[..payload.len() / 2].to_owned()
        }),
        ("Standard input stays open after the whole payload", str::to_owned),
        ("Standard input stays open after blanks", |_| " \n".repeat(10)),
    ];
    for (what, part) in inputs {
        for host in hosts {
            let how = format!("`--deadline-ms {DEADLINE}`, in `{}`", host.name());
            let run = move || slow_input(host, part);
            list.push(Attempt::new(what, how, Outcome::Refused, run));
        }
    }
    for host in hosts {
        let how = format!("`--deadline-ms {DEADLINE}`, in `{}`", host.name());
        list.push(Attempt::new(
            "Four guards together take longer than there is time",
            how.clone(),
            Outcome::Refused,
            move || slow_guards(host, 4, "sleep 0.7"),
        ));
        list.push(Attempt::new(
            "A guard may take longer than there is time, and does",
            how,
            Outcome::Refused,
            move || slow_guards(host, 1, "trap '' TERM; sleep 1000"),
        ));
    }
    for (what, output) in [
        ("Standard output is a full disk", "/dev/full"),
        ("Standard output is closed", ">&-"),
        ("Standard output cannot be written", "read-only"),
        ("Standard output and standard error are closed", ">&- 2>&-"),
    ] {
        for host in hosts {
            let how = format!("`{output}`, in `{}`", host.name());
            let run = move || deaf(host, output);
            list.push(Attempt::new(what, how, Outcome::Refused, run));
        }
    }
    for signal in ["TERM", "INT", "HUP"] {
        for host in hosts {
            let how = format!("`kill -{signal}`, in `{}`", host.name());
            let what = "anyhook gets a signal while the guard runs";
            let run = move || signalled(host, signal);
            list.push(Attempt::new(what, how, Outcome::Refused, run));
        }
    }
    for (what, name, value) in [
        ("The working folder is a megabyte long", "cwd", json!("/a".repeat(500_000))),
        ("The working folder has 200,000 levels up", "cwd", json!("/..".repeat(200_000))),
        ("The session's name is a megabyte long", "session_id", json!("s".repeat(1_000_000))),
        ("The call's id is a megabyte long", "tool_use_id", json!("t".repeat(1_000_000))),
    ] {
        let host = Host::Claude;
        let how = format!("`{name}`, in `{}`", host.name());
        let run = move || long_value(host, name, &value);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    list
}
