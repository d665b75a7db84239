//! To make a guard fail, hang or vanish while it decides.

use std::fs;
use std::path::Path;

use super::attack_fixture::{EVIL, Host, NAME, SHELL_GUARD, World, denying};
use super::{Attempt, Outcome, Seen};

/// Scripts that do not come to a decision.
const SCRIPTS: [(&str, &str); 24] = [
    ("The guard exits with 1", "exit 1"),
    ("The guard exits with 3", "exit 3"),
    ("The guard exits with 126", "exit 126"),
    ("The guard exits with 255", "exit 255"),
    ("The guard is killed", "kill -KILL $$"),
    ("The guard crashes", "kill -SEGV $$"),
    ("The guard is told to end", "kill -TERM $$"),
    ("The guard gets a signal that asks for nothing", "kill -USR1 $$"),
    ("The guard hangs", "sleep 1000"),
    (
        "The guard hangs and ignores polite signals",
        "trap '' TERM HUP INT; while :; do sleep 1; done",
    ),
    ("The guard stops itself", "kill -STOP $$"),
    ("The guard waits for input that has ended", "mkfifo pipe; read -r x < pipe"),
    ("The guard's program is not there", "exec /nowhere/program"),
    ("The guard calls a command that is not there", "set -e; no-such-command"),
    ("The guard has a syntax error", "if then fi"),
    ("The guard fills its memory limit", "ulimit -v 20000; exec python3 -c 'x = [0] * 10**9'"),
    ("The guard runs out of descriptors", "ulimit -n 3; cat < /etc/passwd > /dev/null || exit 9"),
    ("The guard's children hang", "for n in 1 2 3 4 5; do (trap '' TERM; sleep 1000) & done; wait"),
    (
        "The guard hands over to a process that hangs elsewhere",
        "setsid sh -c 'trap \"\" TERM; sleep 1000' & wait",
    ),
    ("The guard prints without end", "yes"),
    ("The guard prints errors without end", "yes >&2"),
    ("The guard prints zeros without end", "cat /dev/zero"),
    (
        "The guard prints JSON that does not end",
        "printf '{\"decision\": \"'; cat /dev/zero | tr '\\0' a | head -c 3000000",
    ),
    ("The guard exits with 2 only after its time is over", "sleep 1000; exit 2"),
];

/// Changes of the guard's files right before the call.
type Spoil = fn(&Path);
const SPOILED: [(&str, &str, Spoil); 7] = [
    ("The script is removed", "rm scripts/run", |hook| {
        fs::remove_file(hook.join("scripts/run")).unwrap();
    }),
    ("The scripts' folder is removed", "rm -r scripts", |hook| {
        fs::remove_dir_all(hook.join("scripts")).unwrap();
    }),
    ("The script is a folder", "mkdir scripts/run", |hook| {
        fs::remove_file(hook.join("scripts/run")).unwrap();
        fs::create_dir(hook.join("scripts/run")).unwrap();
    }),
    ("The script is a link to nowhere", "ln -s nowhere scripts/run", |hook| {
        fs::remove_file(hook.join("scripts/run")).unwrap();
        std::os::unix::fs::symlink("nowhere", hook.join("scripts/run")).unwrap();
    }),
    ("The script is a named pipe", "mkfifo scripts/run", |hook| {
        fs::remove_file(hook.join("scripts/run")).unwrap();
        let pipe = hook.join("scripts/run");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }),
    ("The script's interpreter is not there", "#!/no/such/interpreter", |hook| {
        fs::write(hook.join("scripts/run"), "#!/no/such/interpreter\n").unwrap();
    }),
    ("The script's first line ends with CR LF", "#!/bin/sh␍␊", |hook| {
        fs::write(hook.join("scripts/run"), "#!/bin/sh\r\nexit 2\r\n").unwrap();
    }),
];

fn matter() -> String {
    format!("{SHELL_GUARD}\ntimeout: 3000")
}

fn by_script(host: Host, script: &str) -> Seen {
    let script = format!("grep -q EVIL || exit 0\n{script}");
    let world = World::with(&matter().replace("  pattern: EVIL\n", ""), &script);
    world.lets_pass(host)?;
    world.shell(host, EVIL).verdict()
}

fn by_spoiling(host: Host, spoil: Spoil) -> Seen {
    let world = World::with(&matter(), &denying());
    world.is_guarded(host)?;
    spoil(&world.guard());
    // A session that has seen the guard in order goes on with it; a new one cannot.
    let payload = host.call_in(
        "s2",
        host.shell_tool(),
        &serde_json::json!({"command": EVIL}),
        &world.project(),
    );
    world.send(host, payload.to_string()).verdict()
}

/// A guard that fails among others that have no opinion, or allow.
fn among_others(host: Host, others: &[(&str, &str)]) -> Seen {
    let world = World::with(&matter(), "exit 1");
    for (name, script) in others {
        world.env.user_hook(name, "trigger: before_tool\npriority: 900", script);
    }
    world.lets_pass(host)?;
    world.shell(host, EVIL).verdict()
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, script)) in SCRIPTS.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("`{script}`, in `{}`", host.name());
        let run = move || by_script(host, script);
        list.push(Attempt::new(what, how, Outcome::Blocked, run));
    }
    for (number, (what, how, spoil)) in SPOILED.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("`{how}`, in `{}`", host.name());
        let run = move || by_spoiling(host, spoil);
        list.push(Attempt::new(what, how, Outcome::Blocked, run));
    }
    let others: [(&str, &'static [(&str, &str)]); 4] = [
        (
            "Another hook allows before the guard fails",
            &[("fine", "echo '{\"decision\": \"allow\"}'")],
        ),
        ("Another hook crashes before the guard", &[("crash", "kill -SEGV $$")]),
        ("Another hook hangs before the guard", &[("hang", "sleep 0.2")]),
        (
            "Another hook changes the input before the guard",
            &[("change", "echo '{\"modified_input\": {\"note\": \"x\"}}'")],
        ),
    ];
    for (number, (what, hooks)) in others.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("beside `{NAME}`, which fails, in `{}`", host.name());
        let run = move || among_others(host, hooks);
        list.push(Attempt::new(what, how, Outcome::Blocked, run));
    }
    list
}
