//! To keep a guard from being loaded: by a slip in its HOOK.md, or by making it unreadable.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhook_testkit::write;

use super::attack_fixture::{EVIL, Host, NAME, SHELL_GUARD, World, denying, in_time};
use super::{Attempt, Outcome, Seen};

/// Spellings of the trigger.
const TRIGGERS: [&str; 24] = [
    "before_tool",
    "Before_Tool",
    "BEFORE_TOOL",
    "before-tool",
    "Before-Tool",
    "beforeTool",
    "BeforeTool",
    "pre-tool-call",
    "pre_tool_call",
    "Pre-Tool-Call",
    "PRE_TOOL_CALL",
    "PreToolUse",
    "preToolUse",
    "pretooluse",
    "pre_tool_use",
    "tool.execute.before",
    "[before_tool]",
    "[session_start, before_tool]",
    "[PreToolUse, PostToolUse]",
    "\"before_tool\"",
    "'PreToolUse'",
    "before_tool # a note",
    "  before_tool  ",
    "\n  - before_tool",
];

/// Odd forms of HOOK.md with a guard in it; `[M]` is its front matter.
const FORMS: [(&str, &str); 16] = [
    ("A blank line stands before the front matter", "\n---\n[M]\n---\n"),
    ("Many blank lines stand before the front matter", "\n\n  \n\t\n---\n[M]\n---\n"),
    ("A byte order mark stands before the front matter", "\u{feff}---\n[M]\n---\n"),
    ("A byte order mark and a blank line", "\u{feff}\n---\n[M]\n---\n"),
    ("The file ends right after the front matter", "---\n[M]\n---"),
    ("Blanks follow the dashes", "---  \n[M]\n---  \n"),
    ("Dashes stand in the description", "---\ndescription: a --- b\n[M]\n---\n"),
    ("The body is not text", "---\n[M]\n---\n\0\0\u{7f}"),
    ("The name is another than the folder's", "---\nname: other\n[M]\n---\n"),
    ("There is no name and no description", "---\n[M]\n---\n"),
    ("The description is very long", "---\ndescription: [LONG]\n[M]\n---\n"),
    ("There are keys that nobody knows", "---\nseverity: 9\nowner: {a: [1]}\n[M]\n---\n"),
    ("The timeout is out of range", "---\ntimeout: 99999999999\n[M]\n---\n"),
    ("The timeout is a word", "---\ntimeout: soon\n[M]\n---\n"),
    (
        "`async` and `mode` are words that nobody knows",
        "---\nasync: perhaps\nmode: enforced\n[M]\n---\n",
    ),
    ("The priority is out of range", "---\npriority: -5000000\n[M]\n---\n"),
];

/// HOOK.md files that cannot be understood and mention that they must block.
const BROKEN: [(&str, &str); 15] = [
    (
        "The host is misspelt",
        "---\nname: sentry\ndescription: x\ntrigger: before_tool\nhosts: [claud-code]\non_failure: block\n---\n",
    ),
    (
        "The tool is misspelt",
        "---\nname: sentry\ndescription: x\ntrigger: before_tool\nmatcher:\n  tool: Bahs\non_failure: block\n---\n",
    ),
    (
        "The tool is a permission rule of an agent",
        "---\nname: sentry\ndescription: x\ntrigger: before_tool\nmatcher:\n  tool: Bash(rm:*)\non_failure: block\n---\n",
    ),
    (
        "A title stands before the front matter",
        "# Sentry\n---\nname: sentry\ntrigger: before_tool\non_failure: block\n---\n",
    ),
    (
        "The trigger is no event",
        "---\nname: sentry\ndescription: x\ntrigger: tool\non_failure: block\n---\n",
    ),
    (
        "A line of the front matter is broken",
        "---\nname: sentry\ndescription: \"open\ntrigger: before_tool\non_failure: block\n---\n",
    ),
    (
        "The front matter has a tab as indentation",
        "---\nname: sentry\ntrigger: before_tool\nmatcher:\n\ttool: Shell\non_failure: block\n---\n",
    ),
    (
        "The front matter does not end",
        "---\nname: sentry\ndescription: x\ntrigger: before_tool\non_failure: block\n",
    ),
    (
        "The matcher's expression is invalid",
        "---\nname: sentry\ndescription: x\ntrigger: before_tool\nmatcher:\n  pattern: '(EVIL'\non_failure: block\n---\n",
    ),
    (
        "The tool's expression is invalid",
        "---\nname: sentry\ndescription: x\ntrigger: before_tool\nmatcher:\n  tool: '*'\non_failure: block\n---\n",
    ),
    (
        "The trigger is unknown",
        "---\nname: sentry\ndescription: x\ntrigger: before_tol\non_failure: block\n---\n",
    ),
    ("There is no trigger", "---\nname: sentry\ndescription: x\non_failure: block\n---\n"),
    (
        "The trigger is a number",
        "---\nname: sentry\ndescription: x\ntrigger: 7\non_failure: block\n---\n",
    ),
    ("There is no front matter", "name: sentry\ntrigger: before_tool\non_failure: block\n"),
    (
        "A conflict of a merge stands in the file",
        "---\nname: sentry\ndescription: x\n<<<<<<< HEAD\ntrigger: before_tool\n=======\ntrigger: session_start\n>>>>>>> other\non_failure: block\n---\n",
    ),
];

fn stopped(world: &World, host: Host) -> Seen {
    world.shell(host, EVIL).verdict()
}

fn harmless(world: &World, host: Host) -> Result<(), String> {
    let reply = world.shell(host, "ls");
    if reply.passes() { Ok(()) } else { Err(format!("a harmless call does not pass: {reply:?}")) }
}

fn with_text(text: &str) -> World {
    let world = World::empty();
    write(&world.guard().join("HOOK.md"), text, 0o644);
    write(&world.guard().join("scripts/run"), format!("#!/bin/sh\n{}\n", denying()), 0o755);
    world
}

fn by_trigger(host: Host, trigger: &str) -> Seen {
    let matter = SHELL_GUARD.replace("trigger: before_tool", &format!("trigger: {trigger}"));
    let world = World::with(&matter, &denying());
    harmless(&world, host)?;
    stopped(&world, host)
}

fn by_form(host: Host, form: &str) -> Seen {
    let text = form.replace("[M]", SHELL_GUARD).replace("[LONG]", &"long ".repeat(2000));
    let world = with_text(&text);
    harmless(&world, host)?;
    stopped(&world, host)
}

/// A broken guard stops every tool call, so it is another event that must pass.
fn by_broken(host: Host, text: &str) -> Seen {
    let world = with_text(text);
    let start = match host {
        Host::Gemini => r#"{"hook_event_name": "SessionStart", "session_id": "s1"}"#,
        _ => r#"{"hook_event_name": "SessionEnd", "session_id": "s1"}"#,
    };
    let reply = world.send(host, start);
    if reply.0.code != 0 {
        return Err(format!("another event does not pass: {reply:?}"));
    }
    let call = world.shell(host, EVIL);
    let seen = call.verdict()?;
    let check = world.run(&["check"]);
    if check.code == 0 || !check.stdout.contains(NAME) {
        return Err(format!("`check` finds nothing wrong: {check:?}"));
    }
    Ok(seen)
}

/// Ways to make the guard's HOOK.md unreadable after it was seen in order.
type Spoil = fn(&Path);
const SPOILED: [(&str, &str, Spoil); 9] = [
    ("HOOK.md is emptied", ": > HOOK.md", |file| fs::write(file, "").unwrap()),
    ("HOOK.md becomes a folder", "rm HOOK.md; mkdir HOOK.md", |file| {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }),
    ("HOOK.md becomes a named pipe", "mkfifo HOOK.md", |file| {
        fs::remove_file(file).unwrap();
        let status = std::process::Command::new("mkfifo").arg(file).status().unwrap();
        assert!(status.success());
    }),
    ("HOOK.md becomes a link to itself", "ln -s HOOK.md HOOK.md", |file| {
        fs::remove_file(file).unwrap();
        symlink("HOOK.md", file).unwrap();
    }),
    ("HOOK.md becomes a link to a device", "ln -s /dev/zero HOOK.md", |file| {
        fs::remove_file(file).unwrap();
        symlink("/dev/zero", file).unwrap();
    }),
    ("HOOK.md becomes a link to nowhere", "ln -s nowhere HOOK.md", |file| {
        fs::remove_file(file).unwrap();
        symlink("nowhere", file).unwrap();
    }),
    ("HOOK.md is cut in half", "truncate HOOK.md", |file| {
        let text = fs::read(file).unwrap();
        fs::write(file, &text[..text.len() / 2]).unwrap();
    }),
    ("HOOK.md is overwritten with zeros", "dd if=/dev/zero of=HOOK.md", |file| {
        fs::write(file, [0; 200]).unwrap();
    }),
    ("HOOK.md is overwritten with noise", "dd if=/dev/urandom of=HOOK.md", |file| {
        let noise: Vec<u8> =
            (0..4000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(file, noise).unwrap();
    }),
];

fn by_spoiling(host: Host, spoil: Spoil) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    spoil(&world.guard().join("HOOK.md"));
    // What was known of it stays known, so this is denied or blocked; both are named the same here.
    match stopped(&world, host)? {
        Outcome::Denied => Ok(Outcome::Blocked),
        other => Ok(other),
    }
}

/// As another user: root can read everything.
fn by_permissions(path: &'static str, mode: u32) -> Seen {
    const NOBODY: u32 = 65534;
    let world = World::guarded();
    world.env.give_to(NOBODY);
    let send = |command: &str| {
        let payload = Host::Claude.shell(command, &world.project()).to_string();
        in_time(&world.env.command_as(NOBODY, &["hook", "claude-code"]), payload.as_bytes())
    };
    if !send("ls").passes() {
        return Err(format!("a harmless call does not pass: {:?}", send("ls")));
    }
    if send(EVIL).verdict() != Ok(Outcome::Denied) {
        return Err(format!("the guard does not deny: {:?}", send(EVIL)));
    }
    fs::set_permissions(world.guard().join(path), Permissions::from_mode(mode)).unwrap();
    let seen = send(EVIL).verdict();
    fs::set_permissions(world.guard().join(path), Permissions::from_mode(0o755)).unwrap();
    match seen? {
        Outcome::Denied => Ok(Outcome::Blocked),
        other => Ok(other),
    }
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, trigger) in TRIGGERS.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("`trigger: {}`, in `{}`", trigger.trim().replace('\n', " "), host.name());
        let run = move || by_trigger(host, trigger);
        list.push(Attempt::new("The trigger has another spelling", how, Outcome::Denied, run));
    }
    for (number, (what, form)) in FORMS.into_iter().enumerate() {
        let host = Host::ALL[(number + 1) % Host::ALL.len()];
        let how = format!("in `{}`", host.name());
        let run = move || by_form(host, form);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    for (number, (what, text)) in BROKEN.into_iter().enumerate() {
        let host = [Host::Claude, Host::Codex, Host::Gemini][number % 3];
        let how = format!("a new HOOK.md with `on_failure: block`, in `{}`", host.name());
        let run = move || by_broken(host, text);
        list.push(Attempt::new(what, how, Outcome::Blocked, run));
    }
    for (number, (what, how, spoil)) in SPOILED.into_iter().enumerate() {
        let host = [Host::Claude, Host::Codex, Host::Gemini][number % 3];
        let how = format!("`{how}`, in `{}`", host.name());
        let run = move || by_spoiling(host, spoil);
        list.push(Attempt::new(what, how, Outcome::Blocked, run));
    }
    for (what, path, mode) in [
        ("Nobody may read HOOK.md", "HOOK.md", 0o000),
        ("Nobody may enter the guard's folder", ".", 0o000),
        ("The guard's folder can be listed but not entered", ".", 0o444),
        ("Nobody may read the script", "scripts/run", 0o000),
        ("Nobody may run the script", "scripts/run", 0o644),
        ("Nobody may enter the folder of the script", "scripts", 0o000),
    ] {
        let how = format!("`chmod {mode:03o} {path}`, not as root");
        let run = move || by_permissions(path, mode);
        list.push(Attempt::new(what, how, Outcome::Blocked, run).only_as_root());
    }
    list
}
