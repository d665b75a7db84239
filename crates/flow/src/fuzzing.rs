//! Fuzz target entry points: take any bytes and must return.

use anyhook_model::pipeline::{PipelinePlan, StepWork};
use anyhook_model::{RecordId, reaction::Reactions};

use crate::runbook::{
    Finding, PipelineDefinition, PlanRequest, Runbook, RunbookFormat, plan, read,
};

/// Values that must never be part of a command.
const VALUES: [&str; 2] = ["'\"; touch gone; $(touch gone)", "other"];

/// Reads bytes as a runbook in every format, and makes plans from what could be read.
pub fn runbook(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for (format, _) in RunbookFormat::ALL {
        let reading = read(&text, format);
        places_are_in(&text, &reading.findings);
        if !reading.is_usable() {
            continue;
        }
        for pipeline in &reading.runbook.pipelines {
            match VALUES.map(|value| planned(&reading.runbook, pipeline, value)) {
                [Ok(one), Ok(other)] => {
                    assert_eq!(commands(&one), commands(&other), "a value is part of a command");
                }
                findings => {
                    for findings in findings.into_iter().filter_map(Result::err) {
                        places_are_in(&text, &findings);
                    }
                }
            }
        }
    }
}

/// Plans a pipeline with one value for every variable.
fn planned(
    runbook: &Runbook,
    pipeline: &PipelineDefinition,
    value: &str,
) -> Result<PipelinePlan, Vec<Finding>> {
    let given = pipeline.variables.iter();
    let asked = PlanRequest {
        id: RecordId::from_random(7),
        project: "/project".to_owned(),
        runbook: "/runbook".to_owned(),
        digest: String::new(),
        variables: given.map(|one| (one.name.text.clone(), value.to_owned())).collect(),
        environment: &|_| Some(value.to_owned()),
        workspaces: "/workspaces".to_owned(),
        read: &|path| Ok(path.to_owned()),
        host_of: &|_| None,
    };
    plan(runbook, &pipeline.name.text, &asked)
}

/// Asserts that findings point into the text.
pub fn places_are_in(text: &str, findings: &[Finding]) {
    for span in findings.iter().filter_map(|finding| finding.span.as_ref()) {
        assert!(span.start <= span.end && span.end <= text.len(), "{span:?}");
    }
}

/// Returns the text of every command of a plan.
fn commands(plan: &PipelinePlan) -> Vec<&str> {
    let mut commands = Vec::new();
    for step in &plan.steps {
        match &step.work {
            StepWork::Shell(shell) => commands.push(shell.run.text.as_str()),
            StepWork::Agent(agent) => {
                commands.push(&agent.run.text);
                let Reactions { on_idle, on_prompt, on_dead, on_error, on_stop } = &agent.reactions;
                let rules = on_error.iter().map(|rule| &rule.action);
                let actions = [on_idle, on_prompt, on_dead, on_stop].into_iter().chain(rules);
                commands.extend(actions.filter_map(|action| action.run.as_deref()));
            }
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_pass() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runbooks");
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_file() {
                runbook(&std::fs::read(entry.path()).unwrap());
            }
        }
    }
}
