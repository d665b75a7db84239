//! What an agent does where anyhook does not answer: it was killed, or is not there.

use std::fs;

use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;

use super::table::Column;
use super::{DENIED, ENDS};
use crate::environment;

/// What the model is told of a call that was refused for want of an answer.
const REFUSED: &str = "so this call is refused";

/// Has a real agent work without an answer of ours, with and without a guard that must not fail.
pub fn rows(agent: Agent) -> Option<Column> {
    let bed = AgentSandbox::within(environment(), agent)?;
    let here = bed.environment();
    here.user_hook(
        "killer",
        "trigger: before_tool\nmatcher: {tool: Shell, pattern: kill-please}\non_failure: block",
        "kill -9 $PPID",
    );
    let installed = here.run(&["install", agent.name()]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let mut column = Column::new();
    let mut note = |behaviour: &str, outcome: &str| {
        column.push((behaviour.to_owned(), outcome.to_owned()));
    };

    // Some can only be kept from running the call by ending their run.
    let ends = agent.ends_unanswered();
    let refused = if ends { ENDS } else { DENIED };
    let (killed, ran) = talk(&bed, "killed.txt", "kill-please");
    assert!(!ran && killed.ever_told(REFUSED) != ends, "{killed:#?}");
    note("a command whose hook kills anyhook (`on_failure: block`)", refused);

    // What agents call; the tests themselves call another copy.
    fs::remove_dir_all(here.home().join(".local/share/anyhook/bin")).unwrap();
    let (missing, ran) = talk(&bed, "missing.txt", "hello");
    assert!(!ran && missing.ever_told(REFUSED) != ends, "{missing:#?}");
    assert!(missing.ever_told("anyhook doctor") != ends, "the way out is told: {missing:#?}");
    note("a command while anyhook is missing, with a guard that blocks on failure", refused);
    let doctor = here.run(&["doctor"]);
    assert!(doctor.stdout.contains("which does not exist"), "{doctor:?}");

    let removed = here.run(&["remove", "killer"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    let (unguarded, ran) = talk(&bed, "unguarded.txt", "hello");
    assert!(ran && !unguarded.ever_told(REFUSED), "{unguarded:#?}");
    note("a command while anyhook is missing, without such a guard", "runs");
    // The prompt has reached the model each time, and it was not sent back when it stopped.
    for (outcome, is_refused) in [(&killed, true), (&missing, true), (&unguarded, false)] {
        let requests = if ends && is_refused { 1 } else { 2 };
        assert_eq!((outcome.exit_code, outcome.requests.len()), (0, requests), "{outcome:#?}");
    }
    note("a prompt and a stop while anyhook is missing", "go on");
    Some(column)
}

/// Has the model write a file by a shell, and say that it is done; tells whether it was written.
fn talk(bed: &AgentSandbox, file: &str, word: &str) -> (AgentRun, bool) {
    let turns = [bed.shell_tool(&format!("echo {word} > {file}")), ModelTurn::text("that was all")];
    let outcome = bed.run("please do it", turns.to_vec());
    (outcome, bed.project().join(file).exists())
}
