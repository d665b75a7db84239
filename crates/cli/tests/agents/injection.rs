//! Agents that the daemon starts: they get their prompt, call us for this one start beside what the
//! user has, and go on with a session.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhook_daemon::launch::{self, LaunchAdditions};
use anyhook_hosts::wiring::{SettingsScope, codex_trust};
use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, AgentSandbox, AgentScreen};
use anyhook_testkit::model_server::{ModelTurn, tells};
use anyhook_testkit::{wait_within, write};
use serde_json::{Value, json};

use crate::environment;

const HOSTILE_ID: &str = "it's a b; touch x";

/// What the user has of their own: it leaves a mark at the end of a turn.
fn of_the_user(bed: &AgentSandbox) -> Vec<PathBuf> {
    let mark = bed.home().join("theirs");
    let command = format!("touch '{}'", mark.display());
    let handler = json!({"type": "command", "command": command});
    let hooks = json!({"hooks": {"Stop": [{"hooks": [handler]}]}});
    match bed.agent() {
        Agent::ClaudeCode => {
            let file = bed.home().join(".claude/settings.json");
            write(&file, hooks.to_string(), 0o644);
            vec![file]
        }
        Agent::Codex => {
            let file = bed.home().join(".codex/hooks.json");
            write(&file, hooks.to_string(), 0o644);
            let trusted: Vec<_> = codex_trust::hashes(&file, &hooks)
                .into_iter()
                .map(|(key, hash, _)| (key, hash))
                .collect();
            let settings = "notify = [\"/bin/sh\", \"-c\", \"touch \\\"$HOME/told\\\"\"]\n";
            let config = bed.home().join(".codex/config.toml");
            let text = codex_trust::trust(&config, Some(settings), &trusted).unwrap();
            write(&config, text, 0o644);
            vec![file]
        }
        Agent::OpenCode => {
            let plugin = format!(
                "import {{ writeFileSync }} from 'node:fs';\nexport const mine = async () => ({{ event: async \
                 ({{ event }}) => {{ if (event.type === 'session.idle') writeFileSync({}, '') }} }});\n",
                Value::from(mark.to_string_lossy())
            );
            let file = bed.home().join(".config/opencode/plugins/mine.js");
            write(&file, plugin, 0o644);
            vec![file]
        }
        // It cannot be given hooks for one start.
        Agent::GeminiCli => {
            let installed = bed.environment().run(&["install", "gemini-cli"]);
            assert_eq!(installed.code, 0, "{installed:?}");
            vec![bed.home().join(".gemini/settings.json")]
        }
        other => panic!("{} was never opened this way", other.name()),
    }
}

/// Makes an agent ready to be opened as the daemon would start it.
fn prepare(bed: &mut AgentSandbox, prompt: &str, resume: Option<&str>) -> LaunchAdditions {
    let content = "OPENCODE_CONFIG_CONTENT";
    let variables: BTreeMap<String, String> =
        bed.variable(content).map(|value| (content.to_owned(), value)).into_iter().collect();
    let user = SettingsScope {
        home: bed.home(),
        config_home: bed.home().join(".config"),
        project: None,
        variables: BTreeMap::new(),
    };
    let state = bed.home().join(".local/state/anyhook");
    let start = launch::AgentLaunch {
        agent_id: HOSTILE_ID,
        host: Some(bed.agent().name()),
        run: "agent",
        folder: &bed.project(),
        variables: &variables,
        prompt: Some(prompt),
        resume,
        state: Some(&state),
    };
    let own = bed.home().join("it's mine");
    let binary = Path::new(env!("CARGO_BIN_EXE_anyhook"));
    let additions = launch::prepare(&start, &user, binary, &own).unwrap();
    assert_eq!(additions.warning, None);
    bed.clear_arguments();
    for argument in &additions.arguments {
        bed.add_argument(argument);
    }
    for (name, value) in &additions.variables {
        bed.set_variable(name, value);
    }
    additions
}

/// Returns the agent's own records of an event.
fn records(bed: &AgentSandbox, event: &str) -> Vec<Value> {
    let mut records = bed.environment().journal();
    records.retain(|record| record["event"] == event && record["agent_id"] == HOSTILE_ID);
    records
}

/// Waits until the agent has been told something, and has stopped after it.
fn wait_for_stop(bed: &AgentSandbox, screen: &AgentScreen, told: &[&str], stops: usize) {
    wait_within(AGENT_PATIENCE, &format!("the prompt {told:?}"), || {
        let requests = screen.model().requests();
        requests.iter().any(|request| told.iter().all(|text| tells(request, text)))
    });
    wait_within(AGENT_PATIENCE, "the stop", || records(bed, "before_stop").len() == stops);
}

/// Tells whether Claude Code has written something down; the others do so before they stop.
fn has_logged(bed: &AgentSandbox, text: &str) -> bool {
    let stops = records(bed, "before_stop");
    match stops[0]["payload"]["transcript_path"].as_str() {
        Some(log) if bed.agent() == Agent::ClaudeCode => {
            fs::read_to_string(log).is_ok_and(|log| log.contains(text))
        }
        _ => true,
    }
}

fn starts_and_goes_on(agent: Agent) -> Option<()> {
    let mut bed = AgentSandbox::within(environment(), agent)?;
    let files = of_the_user(&bed);
    let texts: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    prepare(&mut bed, "-x the first task", None);
    let screen = bed.open([ModelTurn::text("it rests")])?;
    wait_for_stop(&bed, &screen, &["-x the first task"], 1);
    screen.wait_for("it rests");
    wait_within(AGENT_PATIENCE, "the session's log", || has_logged(&bed, "it rests"));
    if agent != Agent::GeminiCli {
        wait_within(AGENT_PATIENCE, "the user's own", || bed.home().join("theirs").exists());
    }
    let session = records(&bed, "before_stop")[0]["session"].as_str().unwrap().to_owned();
    // Codex makes titles in sessions of its own, which rest, too.
    let rests = |bed: &AgentSandbox| {
        let idle = records(bed, "agent:idle");
        idle.iter().filter(|record| record.to_string().contains(&session)).count()
    };
    if agent == Agent::Codex {
        // It tells by `notify` after it has told by its hooks.
        wait_within(AGENT_PATIENCE, "our program", || rests(&bed) == 1);
    }
    screen.close();
    let started = records(&bed, "session_start");
    assert_eq!(started.len(), 1, "{started:#?}");

    let additions = prepare(&mut bed, "the second task", Some(&session));
    let screen = bed.open([ModelTurn::text("it rests again")])?;
    assert_eq!(additions.to_type.is_some(), agent == Agent::OpenCode);
    if let Some(prompt) = additions.to_type {
        screen.wait_for("it rests");
        screen.submit(&prompt);
    }
    wait_for_stop(&bed, &screen, &["-x the first task", "it rests", "the second task"], 2);
    assert_eq!(records(&bed, "before_stop")[1]["session"], session.as_str());
    screen.wait_for("it rests again");
    if agent == Agent::Codex {
        wait_within(AGENT_PATIENCE, "our program", || rests(&bed) == 2);
        wait_within(AGENT_PATIENCE, "the user's own", || bed.home().join("told").exists());
    }
    for (file, text) in files.iter().zip(texts) {
        assert_eq!(fs::read(file).unwrap(), text, "{} was changed", file.display());
    }
    assert!(!bed.project().join("x").exists(), "an id was run");
    Some(())
}

#[test]
fn claude_code() {
    starts_and_goes_on(Agent::ClaudeCode);
}

#[test]
fn codex() {
    starts_and_goes_on(Agent::Codex);
}

#[test]
fn gemini_cli() {
    starts_and_goes_on(Agent::GeminiCli);
}

#[test]
fn opencode() {
    starts_and_goes_on(Agent::OpenCode);
}

/// Its own notifications are the second source.
#[test]
fn claude_code_tells_that_it_waits() {
    let Some(mut bed) = AgentSandbox::within(environment(), Agent::ClaudeCode) else { return };
    write(&bed.home().join(".claude.json"), r#"{"messageIdleNotifThresholdMs": 300}"#, 0o600);
    prepare(&mut bed, "do it", None);
    let Some(screen) = bed.open([bed.shell_tool("touch done"), ModelTurn::text("it rests")]) else {
        return;
    };
    screen.wait_for("Do you want to proceed?");
    let told = |event: &str| !records(&bed, event).is_empty();
    wait_within(AGENT_PATIENCE, "the request", || told("permission_request"));
    wait_within(AGENT_PATIENCE, "the notification of the dialog", || told("agent:prompt"));
    screen.press_until("Enter", "the answer", |text| !text.contains("Do you want to proceed?"));
    wait_within(AGENT_PATIENCE, "the notification of the rest", || told("agent:idle"));
    assert!(!bed.project().join("x").exists(), "an id was run");
}
