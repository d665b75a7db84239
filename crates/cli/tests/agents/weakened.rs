//! A guard that the agent itself weakens: the person and the model are told, and the guard goes on
//! denying; and a hook that nobody trusted is told of when the session starts.

use anyhook_model::EventKind;
use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::every_agent;
use anyhook_testkit::model_server::ModelTurn;
use serde_json::Value;

use crate::environment;

const REASON: &str = "PWNED is not wanted here";
const ALARM: &str = "guard keeper changed during this session: it was switched to `mode: shadow`";
const OFF: &str = "1 hook is off, not trusted, so it won't run: ours (anyhook trust)";

fn goes_on_denying(agent: Agent) {
    let Some(bed) = AgentSandbox::within(environment(), agent) else { return };
    let world = bed.environment();
    let matter =
        "trigger: before_tool\non_failure: block\nmatcher:\n  tool: Shell\n  pattern: PWNED";
    let keeper = world.user_hook("keeper", matter, &format!("echo '{REASON}' >&2; exit 2"));
    world.hook(&bed.project().join(".agents/hooks"), "ours", "trigger: before_tool", "exit 2");
    let installed = world.run(&["install", agent.name()]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let file = keeper.join("HOOK.md");
    let weaken = format!("sed -i 's/^on_failure: block/&\\nmode: shadow/' '{}'", file.display());
    let turns = [
        bed.shell_tool(&weaken),
        bed.shell_tool("touch PWNED"),
        bed.shell_tool("echo harmless"),
        ModelTurn::text("that was all"),
    ];
    let outcome = bed.run("do it", turns);
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("mode: shadow"), "{text} {outcome:?}");

    assert!(!bed.project().join("PWNED").exists(), "{outcome:?}");
    assert!(!outcome.told(1, REASON) && outcome.told(2, REASON), "{outcome:?}");
    // At once, with the result of the very call that did it, if the agent passes it on.
    let tells = |events: &[EventKind]| events.iter().any(|event| agent.warns_at(event));
    let tells_of_calls = tells(&[EventKind::BeforeTool, EventKind::AfterTool]);
    assert!(!outcome.told(0, ALARM), "{outcome:?}");
    assert_eq!(outcome.told(1, ALARM), tells_of_calls, "{outcome:?}");
    let journal = world.journal();
    let of = |kind: &str| -> Vec<(&str, &str)> {
        journal.iter().flat_map(|record| alarms(record, kind)).collect()
    };
    let changed = of("guard_changed");
    assert_eq!(changed.len(), usize::from(tells_of_calls), "{changed:?}");
    assert!(changed.iter().all(|(_, text)| text.starts_with(ALARM)), "{changed:?}");
    let off = of("hooks_off");
    let tells_first = tells(&[EventKind::SessionStart, EventKind::BeforeAgent]);
    assert_eq!(off.len(), usize::from(tells_first || tells_of_calls), "{off:?}");
    let tells_at_start = agent.warns_at(&EventKind::SessionStart);
    for (event, text) in off {
        assert_eq!((event == "session_start", text), (tells_at_start, OFF));
    }
    assert_eq!(of("ran_unasked"), [], "{outcome:?}");
    let denied = journal.iter().find(|record| record["verdict"]["decision"] == "deny").unwrap();
    assert_eq!(denied["verdict"]["by"], "keeper (remembered)", "{denied:#}");
}

/// Returns the alarms of a kind in a record: the event, and the text.
fn alarms<'record>(record: &'record Value, kind: &str) -> Vec<(&'record str, &'record str)> {
    let alarms = record["alarms"].as_array().into_iter().flatten();
    alarms
        .filter(|alarm| alarm["kind"] == kind)
        .map(|alarm| (record["event"].as_str().unwrap(), alarm["text"].as_str().unwrap()))
        .collect()
}

every_agent!(goes_on_denying);
