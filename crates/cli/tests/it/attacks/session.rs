//! To weaken a guard in the middle of a session.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::attack_fixture::{EVIL, Host, World, denying};
use super::{Attempt, Outcome, Seen};

fn edit(hook: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(hook.join("HOOK.md")).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(hook.join("HOOK.md"), text.replace(from, to)).unwrap();
}

fn script(hook: &Path, text: &str) {
    fs::write(hook.join("scripts/run"), format!("#!/bin/sh\n{text}\n")).unwrap();
}

/// What is done to the guard.
type Weaken = fn(&Path);
const WEAKENED: [(&str, Weaken); 25] = [
    ("The guard is removed", |hook| fs::remove_dir_all(hook).unwrap()),
    ("The guard is renamed", |hook| fs::rename(hook, hook.with_file_name("other")).unwrap()),
    ("The guard is moved out of the folder", |hook| {
        fs::rename(hook, hook.parent().unwrap().with_file_name("away")).unwrap();
    }),
    ("All hooks are moved away", |hook| {
        let hooks = hook.parent().unwrap();
        fs::rename(hooks, hooks.with_file_name("away")).unwrap();
    }),
    ("The folder of hooks becomes a link to an empty one", |hook| {
        let hooks = hook.parent().unwrap();
        fs::rename(hooks, hooks.with_file_name("away")).unwrap();
        fs::create_dir(hooks.with_file_name("empty")).unwrap();
        symlink("empty", hooks).unwrap();
    }),
    ("The guard is moved to shadow", |hook| {
        edit(hook, "on_failure: block", "on_failure: block\nmode: shadow");
    }),
    ("The guard's pattern is changed", |hook| edit(hook, "pattern: EVIL", "pattern: NEVER")),
    ("The guard's pattern is narrowed", |hook| edit(hook, "pattern: EVIL", "pattern: ^EVIL-BUT")),
    ("The guard's tool is changed", |hook| edit(hook, "tool: Shell", "tool: ReadFile")),
    ("The guard's trigger is changed", |hook| edit(hook, "before_tool", "session_end")),
    ("The guard's trigger is misspelt", |hook| edit(hook, "before_tool", "befor_tol")),
    ("The guard is limited to another agent", |hook| {
        edit(hook, "on_failure: block", "on_failure: block\nhosts: [cursor]");
    }),
    ("The guard becomes async", |hook| {
        edit(hook, "on_failure: block", "on_failure: block\nasync: true");
    }),
    ("The guard's failure is let pass, and it fails", |hook| {
        edit(hook, "on_failure: block", "on_failure: allow");
        script(hook, "exit 1");
    }),
    ("The guard's script lets everything pass", |hook| script(hook, "exit 0")),
    ("The guard's script allows everything", |hook| {
        script(hook, "echo '{\"decision\": \"allow\"}'");
    }),
    ("The guard's script is emptied", |hook| fs::write(hook.join("scripts/run"), "").unwrap()),
    ("The guard's script is removed", |hook| fs::remove_file(hook.join("scripts/run")).unwrap()),
    ("The guard's script loses its run bit", |hook| {
        let mode = fs::Permissions::from_mode(0o644);
        fs::set_permissions(hook.join("scripts/run"), mode).unwrap();
    }),
    ("The guard's script becomes a link to `/bin/true`", |hook| {
        fs::remove_file(hook.join("scripts/run")).unwrap();
        symlink("/bin/true", hook.join("scripts/run")).unwrap();
    }),
    ("The guard's HOOK.md is removed", |hook| fs::remove_file(hook.join("HOOK.md")).unwrap()),
    ("The guard's HOOK.md is emptied", |hook| fs::write(hook.join("HOOK.md"), "").unwrap()),
    ("The guard's HOOK.md becomes another hook's", |hook| {
        fs::write(
            hook.join("HOOK.md"),
            "---\nname: sentry\ndescription: x\ntrigger: notification\n---\n",
        )
        .unwrap();
    }),
    ("The guard is replaced by a link to another hook", |hook| {
        let other = hook.with_file_name("other");
        fs::create_dir_all(other.join("scripts")).unwrap();
        fs::write(
            other.join("HOOK.md"),
            "---\nname: sentry\ndescription: x\ntrigger: before_tool\n---\n",
        )
        .unwrap();
        anyhook_testkit::write(&other.join("scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
        fs::remove_dir_all(hook).unwrap();
        symlink(&other, hook).unwrap();
    }),
    ("The guard's time limit is a millisecond", |hook| {
        edit(hook, "on_failure: block", "on_failure: block\ntimeout: 1");
    }),
];

/// The guard goes on deciding as it was; that it blocks instead is as good.
fn attempt(host: Host, weaken: Weaken) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    weaken(&world.guard());
    match world.shell(host, EVIL).verdict()? {
        Outcome::Blocked => Ok(Outcome::Denied),
        other => Ok(other),
    }
}

/// A file that the guard reads if it is there is put into its folder.
fn added(host: Host, name: &str) -> Seen {
    let world = World::guarded();
    let obeys =
        "for file in \"$0.rules\" \"${0%/*}/../rules\"; do [ ! -e \"$file\" ] || exit 0; done";
    script(&world.guard(), &format!("{obeys}\n{}", denying()));
    world.is_guarded(host)?;
    // Nobody has to do with it yet: what was added is seen when the guard is due.
    world.shell(host, "ls");
    fs::write(world.guard().join(name), "").unwrap();
    world.shell(host, EVIL).verdict()
}

/// A person who did not do it is told at the next event, whatever that is.
fn told(host: Host, weaken: Weaken) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    weaken(&world.guard());
    let next = world.shell(host, "ls");
    if !next.passes() {
        return Err(format!("a harmless call does not pass any more: {next:?}"));
    }
    let records = world.env.journal();
    let alarm = records
        .iter()
        .rev()
        .take(2)
        .any(|record| record["alarms"].as_array().is_some_and(|alarms| !alarms.is_empty()));
    if alarm { Ok(Outcome::Told) } else { Err(format!("nobody is told: {next:?}")) }
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, weaken)) in WEAKENED.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("after the session's first calls, in `{}`", host.name());
        list.push(Attempt::new(what, how, Outcome::Denied, move || attempt(host, weaken)));
    }
    for (name, host) in [("scripts/run.rules", Host::Claude), ("rules", Host::Codex)] {
        let how = format!("`{name}`, after the session's first calls, in `{}`", host.name());
        let what = "A file that the guard obeys is added to its folder";
        list.push(Attempt::new(what, how, Outcome::Denied, move || added(host, name)));
    }
    // Of these nothing else tells: the file is in order, only another one.
    for number in [0, 1, 3, 5, 6, 9, 11, 14, 15] {
        let (what, weaken) = WEAKENED[number];
        let host = [Host::Claude, Host::Codex, Host::Gemini][number % 3];
        let how = format!("told with the next harmless call, in `{}`", host.name());
        list.push(Attempt::new(what, how, Outcome::Told, move || told(host, weaken)));
    }
    list
}
