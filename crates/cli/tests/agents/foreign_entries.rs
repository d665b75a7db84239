//! An agent that also runs the hooks in another agent's settings: Grok and those of Claude Code.

use std::fs;

use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use serde_json::{Value, json};

use crate::environment;

const REASON: &str = "nothing is forbidden without a reason";

/// Makes a bed with a guard where our entries are in the settings of some agents.
fn wired(agents: &[&str]) -> Option<AgentSandbox> {
    let bed = AgentSandbox::within(environment(), Agent::Grok)?;
    bed.environment().user_hook(
        "guard",
        "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}\non_failure: block",
        &format!("echo '{REASON}' >&2\nexit 2"),
    );
    for agent in agents {
        let installed = bed.environment().run(&["install", agent]);
        assert_eq!(installed.code, 0, "{installed:?}");
    }
    Some(bed)
}

fn play(bed: &AgentSandbox) -> AgentRun {
    let turns = [
        bed.shell_tool("touch forbidden"),
        bed.shell_tool("touch harmless"),
        ModelTurn::text("that was all"),
    ];
    let outcome = bed.run("do it", turns);
    assert_eq!(outcome.exit_code, 0, "{outcome:#?}");
    assert!(!bed.project().join("forbidden").exists(), "{outcome:#?}");
    outcome
}

/// Returns the records of an event about a command.
fn records(bed: &AgentSandbox, event: &str, about: &str) -> Vec<Value> {
    let mut records = bed.environment().journal();
    records.retain(|record| {
        record["event"] == event
            && record["native_name"] == "PreToolUse"
            && record["about"] == about
    });
    records
}

#[test]
fn a_call_through_two_entries_is_handled_once() {
    let Some(bed) = wired(&["claude-code", "grok"]) else { return };
    let outcome = play(&bed);
    assert!(outcome.told(1, REASON), "{outcome:#?}");
    let journal = bed.environment().journal();
    let denied = records(&bed, "before_tool", "touch forbidden");
    assert_eq!(denied.len(), 1, "{journal:#?}");
    assert_eq!(denied[0]["verdict"]["decision"], "deny");
    assert_eq!(denied[0]["foreign_entry"], Value::Null, "{journal:#?}");
    assert_eq!(records(&bed, "before_tool", "touch harmless").len(), 1, "{journal:#?}");
    let dropped = records(&bed, "double_call", "touch harmless");
    assert_eq!(dropped.len(), 1, "{journal:#?}");
    let entry = json!({"of": "claude-code", "run_by": "grok"});
    assert_eq!((&dropped[0]["host"], &dropped[0]["foreign_entry"]), (&"grok".into(), &entry));
    assert!(dropped[0]["runs"].is_null() && dropped[0]["payload"].is_null(), "{journal:#?}");
    for event in ["before_agent", "before_stop", "session_end"] {
        let of_event = journal.iter().filter(|record| record["event"] == event).count();
        assert_eq!(of_event, 1, "{event}: {journal:#?}");
    }
    let verified = bed.environment().run(&["verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn a_call_through_another_agents_entry_alone_is_handled() {
    let Some(bed) = wired(&["claude-code"]) else { return };
    let outcome = play(&bed);
    assert!(outcome.told(1, REASON), "{outcome:#?}");
    let journal = bed.environment().journal();
    let denied = records(&bed, "before_tool", "touch forbidden");
    assert_eq!(denied.len(), 1, "{journal:#?}");
    let entry = json!({"of": "claude-code", "run_by": "grok"});
    assert_eq!((&denied[0]["host"], &denied[0]["foreign_entry"]), (&"grok".into(), &entry));
    assert!(journal.iter().all(|record| record["event"] != "double_call"), "{journal:#?}");

    // The entry itself refuses what nobody answers. Of what it says, Grok passes on the first line: the
    // shell's.
    fs::remove_dir_all(bed.home().join(".local/share/anyhook/bin")).unwrap();
    let missing = play(&bed);
    assert!(missing.told(1, "Hook denied: "), "{missing:#?}");
    assert!(missing.told(1, "bin/anyhook: not found"), "{missing:#?}");
    assert!(!bed.project().join("harmless.txt").exists());
}
