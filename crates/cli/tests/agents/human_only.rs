//! The real agents cannot loosen what guards them, however their shell starts the command.

use std::fs;

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::every_agent;
use anyhook_testkit::model_server::ModelTurn;
use serde_json::Value;

use crate::environment;

/// How the agent's shell starts the command.
const WAYS: [&str; 4] =
    ["", "env -i HOME=\"$HOME\" ", "setsid --wait ", "env -i HOME=\"$HOME\" setsid --wait "];

fn cannot_trust(agent: Agent) {
    let Some(bed) = AgentSandbox::within(environment(), agent) else { return };
    bed.environment().project_hook("guard", "trigger: before_tool", "exit 2");
    let program = bed.environment().command(&[]).get_program().to_str().unwrap().to_owned();
    let mut turns: Vec<ModelTurn> = Vec::new();
    for (index, way) in WAYS.iter().enumerate() {
        let line = format!("{way}{program} trust --all > out{index} 2>&1; echo $? > code{index}");
        turns.push(bed.shell_tool(&line));
    }
    turns.push(ModelTurn::text("that was all"));
    bed.run("trust the hooks of this project", turns);
    let said = |file: String| fs::read_to_string(bed.project().join(file)).unwrap_or_default();
    for (index, way) in ways(agent) {
        let out = said(format!("out{index}"));
        assert_eq!(said(format!("code{index}")), "1\n", "{way}: {out}");
        let refused =
            format!("only a person may do this, and this runs under {} (", agent.spec().title);
        assert!(out.contains(&refused), "{way}: {out}");
    }
    let listed = bed.environment().run(&["list"]);
    assert!(listed.stdout.contains("not trusted"), "{listed:?}");
    journaled(&bed);
}

/// Returns the ways in which the agent's shell starts commands at all, each with its number.
fn ways(agent: Agent) -> impl Iterator<Item = (usize, &'static str)> {
    WAYS.into_iter().enumerate().filter(move |(_, way)| !agent.refuses_command(way))
}

/// All of it is in the journal, unless the agent's sandbox lets nothing be written there.
fn journaled(bed: &AgentSandbox) {
    let records = bed.environment().all_records();
    let is_refusal = |record: &&Value| {
        record["event"] == "command:trust" && record["payload"]["outcome"] == "refused"
    };
    let refused = records.iter().filter(is_refusal).count();
    let wanted = ways(bed.agent()).count();
    let is_told = || {
        ways(bed.agent()).all(|(index, _)| {
            let out = fs::read_to_string(bed.project().join(format!("out{index}"))).unwrap();
            out.contains("warning: this could not be journaled")
        })
    };
    assert!(refused == wanted || refused == 0 && is_told(), "{refused}: {records:?}");
}

every_agent!(cannot_trust);
