//! Hooks injected for one start of an agent are really called by it, with our arguments, beside
//! what the user has.

use std::fs;
use std::path::PathBuf;

use anyhook_hosts::wiring::Call;
use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, Bed};
use anyhook_testkit::model_server::Turn;
use anyhook_testkit::{wait_within, write};
use serde_json::json;

use crate::environment;

const HOSTILE_ID: &str = "it's a b; touch x";

/// Makes a program that writes down how it is called, in the place of ours or of the user's.
fn stand_in(bed: &Bed, name: &str) -> PathBuf {
    let program = bed.home().join("bin of mine").join(name);
    let script =
        "#!/bin/sh\n{ printf '%s' \"${0##*/}\"; printf ' [%s]' \"$@\"; echo; } >>\"$HOME/calls\"\n";
    write(&program, script, 0o755);
    program
}

fn calls(bed: &Bed) -> Vec<String> {
    let text = fs::read_to_string(bed.home().join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Gives the agent the injected hooks.
fn inject(bed: &mut Bed, settings: Option<&str>) {
    let call = Call { binary: stand_in(bed, "anyhook") };
    let agent = anyhook_hosts::find(bed.agent().name()).unwrap();
    let injection = agent.inject(HOSTILE_ID, settings, &call).unwrap().unwrap();
    let file = bed.home().join("injected.json");
    if let Some(text) = injection.text() {
        write(&file, text, 0o600);
    }
    for argument in injection.arguments(&file) {
        bed.add_argument(argument);
    }
}

#[test]
fn claude_code() {
    let Some(mut bed) = Bed::within(environment(), Agent::ClaudeCode) else { return };
    write(&bed.home().join(".claude.json"), r#"{"messageIdleNotifThresholdMs": 300}"#, 0o600);
    let theirs = stand_in(&bed, "theirs");
    let handler = json!({"type": "command", "command": format!("'{}' told", theirs.display())});
    let hooks = json!({"hooks": {"Notification": [{"hooks": [handler]}]}});
    write(&bed.home().join(".claude/settings.json"), hooks.to_string(), 0o644);
    inject(&mut bed, None);

    let Some(screen) = bed.open([bed.shell_tool("touch done"), Turn::text("it rests")]) else {
        return;
    };
    screen.submit("do it");
    screen.wait_for("Do you want to proceed?");
    let prompt =
        format!("anyhook [emit] [agent:prompt] [--agent] [{HOSTILE_ID}] [--type] [permission]");
    wait_within(AGENT_PATIENCE, "the notification of the dialog", || calls(&bed).contains(&prompt));
    screen.press_until("Enter", "the answer", |text| !text.contains("Do you want to proceed?"));
    let idle = format!("anyhook [emit] [agent:idle] [--agent] [{HOSTILE_ID}]");
    wait_within(AGENT_PATIENCE, "the notification of the rest", || calls(&bed).contains(&idle));
    wait_within(AGENT_PATIENCE, "the user's own", || {
        calls(&bed).iter().filter(|call| *call == "theirs [told]").count() == 2
    });
    let ours = calls(&bed).into_iter().filter(|call| call.starts_with("anyhook"));
    assert_eq!(ours.collect::<Vec<_>>(), [prompt, idle]);
    assert!(!bed.project().join("x").exists(), "an id was run");
}

#[test]
fn codex() {
    let Some(mut bed) = Bed::within(environment(), Agent::Codex) else { return };
    let theirs = stand_in(&bed, "theirs");
    let settings = format!("# mine\nnotify = [\"{}\", \"turn over\"]\n", theirs.display());
    write(&bed.home().join(".codex/config.toml"), &settings, 0o644);
    inject(&mut bed, Some(&settings));

    let outcome = bed.run("do it", [Turn::text("it rests")]);
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    let calls = calls(&bed);
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!(calls[0], format!("anyhook [emit] [agent:idle] [--agent={HOSTILE_ID}]"));
    assert!(
        calls[1].starts_with("theirs [turn over] [{\"type\":\"agent-turn-complete\""),
        "{calls:?}"
    );
    let kept = fs::read_to_string(bed.home().join(".codex/config.toml")).unwrap();
    assert!(kept.starts_with(&settings), "{kept}");
    assert!(!bed.project().join("x").exists(), "an id was run");
}
