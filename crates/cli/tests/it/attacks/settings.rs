//! To switch hooks off in an agent's settings: the agent then does not ask, so it is found by
//! looking at the files.

use std::path::Path;

use anyhook_testkit::write;

use super::attack_fixture::{Host, World};
use super::{Attempt, Outcome, Seen};

const DOCTOR: Outcome = Outcome::Detected("`doctor`");

/// Files that switch hooks off: what, agent, file below the project or the home, text.
const SWITCHES: [(&str, &str, &str, &str); 10] = [
    (
        "The project switches all hooks off",
        "claude-code",
        "P/.claude/settings.json",
        r#"{"disableAllHooks": true}"#,
    ),
    (
        "The project's local settings switch all hooks off",
        "claude-code",
        "P/.claude/settings.local.json",
        r#"{"disableAllHooks": true}"#,
    ),
    (
        "The person's settings switch all hooks off",
        "claude-code",
        "H/.claude/settings.json",
        r#"{"disableAllHooks": true}"#,
    ),
    (
        "The project switches hooks off",
        "codex",
        "P/.codex/config.toml",
        "[features]\nhooks = false\n",
    ),
    (
        "The project switches hooks off by the older name",
        "codex",
        "P/.codex/config.toml",
        "[features]\ncodex_hooks = false\n",
    ),
    (
        "The person's settings switch hooks off",
        "codex",
        "H/.codex/config.toml",
        "[features]\nhooks = false\n",
    ),
    (
        "The person's settings switch hooks off by the older name",
        "codex",
        "H/.codex/config.toml",
        "[features]\ncodex_hooks = false\n",
    ),
    (
        "The project switches hooks off",
        "gemini-cli",
        "P/.gemini/settings.json",
        r#"{"hooksConfig": {"enabled": false}}"#,
    ),
    (
        "The person's settings switch hooks off",
        "gemini-cli",
        "H/.gemini/settings.json",
        r#"{"hooksConfig": {"enabled": false}}"#,
    ),
    (
        "The project disables each of our hooks by name",
        "gemini-cli",
        "P/.gemini/settings.json",
        r#"{"hooksConfig": {"disabled": ["anyhook"]}}"#,
    ),
];

fn attempt(agent: &str, file: &str, text: &str, command: &[&str]) -> Seen {
    let world = World::guarded();
    let host = Host::ALL.into_iter().find(|host| host.name() == agent).unwrap();
    world.install(host)?;
    let before = world.run(command);
    let path = match file.split_once('/').unwrap() {
        ("P", path) => world.project().join(path),
        (_, path) => world.env.home().join(path),
    };
    put(&path, text);
    let after = world.run(command);
    let told = |text: &str| {
        text.lines()
            .filter(|line| line.contains("settings") || line.contains("config.toml"))
            .count()
    };
    if after.stdout == before.stdout && after.stderr == before.stderr {
        return Err(format!("`{}` says the same as before: {}", command.join(" "), after.stdout));
    }
    if command[0] == "doctor" && after.code == 0 {
        return Err(format!("`doctor` finds nothing wrong: {}", after.stdout));
    }
    if told(&after.stdout) < told(&before.stdout) {
        return Err(format!("it does not name the file: {}", after.stdout));
    }
    Ok(DOCTOR)
}

/// Adds the switch to what is there.
fn put(path: &Path, text: &str) {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    let text = if path.extension().is_some_and(|extension| extension == "json") {
        let mut value: serde_json::Value =
            serde_json::from_str(&before).unwrap_or_else(|_| serde_json::json!({}));
        let more: serde_json::Value = serde_json::from_str(text).unwrap();
        for (name, member) in more.as_object().unwrap() {
            value[name] = member.clone();
        }
        value.to_string()
    } else {
        format!("{before}\n{text}")
    };
    write(path, text, 0o644);
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (what, agent, file, text) in SWITCHES {
        let how = |command: &str| {
            format!(
                "`{}` in `{}` of `{agent}`, then `{command}`",
                text.replace('\n', " ").trim(),
                &file[2..]
            )
        };
        list.push(Attempt::new(what, how("doctor"), DOCTOR, move || {
            attempt(agent, file, text, &["doctor"])
        }));
    }
    list
}
