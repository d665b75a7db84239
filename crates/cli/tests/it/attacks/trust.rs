//! To change what was trusted, or to have run what nobody trusted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::attack_fixture::{EVIL, Host, NAME, SHELL_GUARD, World, denying};
use super::{Attempt, Outcome, Seen};

/// A world whose guard is the project's and trusted.
fn world(host: Host) -> Result<World, String> {
    let world = World::empty();
    world.env.project_hook(NAME, SHELL_GUARD, &denying());
    let trusted = world.run(&["trust", "--all"]);
    if trusted.code != 0 {
        return Err(format!("`trust` does not work: {trusted:?}"));
    }
    world.is_guarded(host)?;
    Ok(world)
}

/// Changes of a trusted hook, given its folder and the project.
type Change = fn(&Path, &Path);
const CHANGES: [(&str, &str, Change); 17] = [
    ("The script is replaced by one that lets pass", "edit scripts/run", |hook, _| {
        fs::write(hook.join("scripts/run"), "#!/bin/sh\nexit 0\n").unwrap();
    }),
    ("A blank is added to the script", "edit scripts/run", |hook, _| {
        let text = fs::read_to_string(hook.join("scripts/run")).unwrap();
        fs::write(hook.join("scripts/run"), text + " ").unwrap();
    }),
    ("The pattern is narrowed", "edit HOOK.md", |hook, _| {
        let text = fs::read_to_string(hook.join("HOOK.md")).unwrap();
        fs::write(hook.join("HOOK.md"), text.replace("EVIL", "EVIL-BUT-NOT-THIS")).unwrap();
    }),
    ("The guard is moved to shadow", "mode: shadow", |hook, _| {
        let text = fs::read_to_string(hook.join("HOOK.md")).unwrap();
        let text = text.replace("on_failure: block", "on_failure: block\nmode: shadow");
        fs::write(hook.join("HOOK.md"), text).unwrap();
    }),
    ("`on_failure` is taken out", "edit HOOK.md", |hook, _| {
        let text = fs::read_to_string(hook.join("HOOK.md")).unwrap();
        fs::write(hook.join("HOOK.md"), text.replace("on_failure: block\n", "")).unwrap();
    }),
    ("The trigger is changed", "trigger: session_end", |hook, _| {
        let text = fs::read_to_string(hook.join("HOOK.md")).unwrap();
        fs::write(hook.join("HOOK.md"), text.replace("before_tool", "session_end")).unwrap();
    }),
    ("HOOK.md is emptied", ": > HOOK.md", |hook, _| {
        fs::write(hook.join("HOOK.md"), "").unwrap();
    }),
    ("HOOK.md is removed", "rm HOOK.md", |hook, _| {
        fs::remove_file(hook.join("HOOK.md")).unwrap();
    }),
    ("A file is added to the folder", "touch data", |hook, _| {
        fs::write(hook.join("data"), "x").unwrap();
    }),
    ("The script loses its run bit", "chmod -x", |hook, _| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(hook.join("scripts/run"), mode).unwrap();
    }),
    ("The script becomes a link out of the folder", "ln -s /bin/true", |hook, _| {
        fs::remove_file(hook.join("scripts/run")).unwrap();
        symlink("/bin/true", hook.join("scripts/run")).unwrap();
    }),
    ("A named pipe is put into the folder", "mkfifo", |hook, _| {
        assert!(Command::new("mkfifo").arg(hook.join("pipe")).status().unwrap().success());
    }),
    ("The hook is removed", "rm -r", |hook, _| fs::remove_dir_all(hook).unwrap()),
    ("The hook is renamed", "mv", |hook, _| {
        fs::rename(hook, hook.with_file_name("renamed")).unwrap();
    }),
    ("All hooks of the project are removed", "rm -r .agents/hooks", |_, project| {
        fs::remove_dir_all(project.join(".agents/hooks")).unwrap();
    }),
    ("`.agents` is removed", "rm -r .agents", |_, project| {
        fs::remove_dir_all(project.join(".agents")).unwrap();
    }),
    ("`.agents` becomes a link to an empty folder", "ln -s", |_, project| {
        fs::remove_dir_all(project.join(".agents")).unwrap();
        fs::create_dir(project.join("empty")).unwrap();
        symlink("empty", project.join(".agents")).unwrap();
    }),
];

/// In a session that begins after the change: one that has seen the guard remembers it.
fn by_change(host: Host, change: Change) -> Seen {
    let world = world(host)?;
    change(&world.env.project_hooks().join(NAME), &world.project());
    let input = serde_json::json!({"command": EVIL});
    let payload = host.call_in("s2", host.shell_tool(), &input, &world.project());
    let seen = world.send(host, payload.to_string()).verdict()?;
    // The trusted copy may decide, or the change may block: either way nothing passes.
    Ok(if seen == Outcome::Denied { Outcome::Blocked } else { seen })
}

/// Hooks of a repository that nobody trusted must not even run.
fn untrusted(host: Host, matter: &str, script: &str) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    let mark = world.env.root().join("ran");
    let script = format!("touch '{}'\n{script}", mark.display());
    world.env.project_hook("theirs", matter, &script);
    match world.shell(host, EVIL).verdict()? {
        Outcome::Denied if !mark.exists() => Ok(Outcome::Refused),
        Outcome::Denied => Err("a hook ran that nobody trusted".to_owned()),
        other => Ok(other),
    }
}

/// What is done to the folder `trust` of the state.
type Tamper = fn(&Path);

/// Trusted copies and records in the state folder.
fn tampered(host: Host, tamper: Tamper) -> Seen {
    let world = world(host)?;
    tamper(&world.env.state().join("trust"));
    let input = serde_json::json!({"command": EVIL});
    let payload = host.call_in("s2", host.shell_tool(), &input, &world.project());
    let reply = world.send(host, payload.to_string());
    if reply.passes() && reply.text().contains("changed since it was trusted") {
        return Ok(Outcome::Told);
    }
    let seen = reply.verdict()?;
    Ok(if seen == Outcome::Denied { Outcome::Blocked } else { seen })
}

/// Does something to every file below a folder whose name ends so.
fn each(folder: &Path, ends_with: &str, change: &dyn Fn(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            each(&path, ends_with, change);
        } else if path.to_string_lossy().ends_with(ends_with) {
            let writable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            let _ = fs::set_permissions(folder, writable);
            change(&path);
        }
    }
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, how, change)) in CHANGES.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("`{how}` in the project, in `{}`", host.name());
        let run = move || by_change(host, change);
        list.push(Attempt::new(what, how, Outcome::Blocked, run));
    }
    let hooks: [(&str, &str, &str); 6] = [
        (
            "A repository brings a hook that allows everything",
            "trigger: before_tool\npriority: 1000",
            "echo '{\"decision\": \"allow\"}'",
        ),
        (
            "A repository brings a hook that changes the call",
            "trigger: before_tool\npriority: 1000",
            "echo '{\"modified_input\": {\"command\": \"ls\"}}'",
        ),
        (
            "A repository brings a hook for every event",
            "trigger: [session_start, before_agent, before_tool, after_tool]",
            "exit 0",
        ),
        (
            "A repository brings a hook that runs in the background",
            "trigger: before_tool\nasync: true",
            "exit 0",
        ),
        (
            "A repository brings a hook that says it is locked",
            "trigger: before_tool\nmetadata:\n  locked: true",
            "exit 0",
        ),
        (
            "A repository brings a hook in shadow mode",
            "trigger: before_tool\nmode: shadow",
            "exit 0",
        ),
    ];
    for (number, (what, matter, script)) in hooks.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("not trusted, in `{}`", host.name());
        let run = move || untrusted(host, matter, script);
        list.push(Attempt::new(what, how, Outcome::Refused, run));
    }
    let tampers: [(&str, &str, Tamper); 4] = [
        ("The trusted copy's script is replaced", "edit the copy", |trust| {
            each(trust, "scripts/run", &|file| {
                let _ = fs::remove_file(file);
                fs::write(file, "#!/bin/sh\nexit 0\n").unwrap();
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                fs::set_permissions(file, mode).unwrap();
            });
        }),
        ("The trusted copy's HOOK.md is replaced", "edit the copy", |trust| {
            each(trust, "HOOK.md", &|file| {
                let text = fs::read_to_string(file).unwrap().replace("EVIL", "NEVER");
                let _ = fs::remove_file(file);
                fs::write(file, text).unwrap();
            });
        }),
        ("The trusted copy's script is removed", "rm the copy", |trust| {
            each(trust, "scripts/run", &|file| fs::remove_file(file).unwrap());
        }),
        ("The record of what was trusted is noise", "edit the record", |trust| {
            each(trust, ".json", &|file| {
                let _ = fs::remove_file(file);
                fs::write(file, "{\"broken").unwrap();
            });
        }),
    ];
    for (number, (what, how, tamper)) in tampers.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("{how} in the state folder, in `{}`", host.name());
        let run = move || tampered(host, tamper);
        // A copy that was made to look at other calls does not meet this one, but is found out.
        let is_other = what.contains("HOOK.md");
        let expected = if is_other { Outcome::Told } else { Outcome::Blocked };
        list.push(Attempt::new(what, how, expected, run));
    }
    list
}
