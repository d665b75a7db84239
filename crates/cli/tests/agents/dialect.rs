//! Guards that answer in the words of one agent, asked by each of them.

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::every_agent;
use anyhook_testkit::model_server::ModelTurn;

use crate::environment;

/// What a guard prints, by the file that its command would make.
const GUARDS: [(&str, &str); 4] = [
    (
        "claude",
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "said as Claude Code has it"}}"#,
    ),
    ("gemini", r#"{"decision": "block", "reason": "said as Gemini has it", "continue": true}"#),
    (
        "cursor",
        r#"checked: {"permission": "deny", "user_message": "for the person", "agent_message": "said as Cursor has it"}"#,
    ),
    ("array", r#"[{"cancel": true, "errorMessage": "said as Cline has it"}]"#),
];

fn denies_in_every_dialect(agent: Agent) {
    let Some(bed) = AgentSandbox::within(environment(), agent) else { return };
    for (name, answer) in GUARDS {
        let matter =
            format!("trigger: PreToolUse\nmatcher: {{tool: Shell, pattern: 'made-{name}'}}");
        bed.environment().user_hook(name, &matter, &format!("cat <<'END'\n{answer}\nEND"));
    }
    let installed = bed.environment().run(&["install", agent.name()]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let touch = |name: &str| bed.shell_tool(&format!("touch made-{name}.txt"));
    let mut turns: Vec<ModelTurn> = GUARDS.iter().map(|(name, _)| touch(name)).collect();
    // A command that nobody objects to shows that the agent can do what it wants.
    turns.push(touch("harmless"));
    turns.push(ModelTurn::text("that was all"));
    let outcome = bed.run("make some files", turns);
    let was_made = |name: &str| bed.project().join(format!("made-{name}.txt")).exists();
    assert!(was_made("harmless"), "{outcome:#?}");
    for ((name, _), reason) in GUARDS.iter().zip(["Claude Code", "Gemini", "Cursor", "Cline"]) {
        assert!(!was_made(name), "{name}: {outcome:#?}");
        assert!(outcome.ever_told(&format!("said as {reason} has it")), "{name}: {outcome:#?}");
    }
}

every_agent!(denies_in_every_dialect);
