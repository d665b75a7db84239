//! Reports on the pipelines of a runbook.

use std::collections::BTreeMap;
use std::path::Path;

use anyhook_flow::runbook::{
    AgentDefinition, PipelineDefinition, PromptDefinition, Runbook, SpannedName, StepDefinition,
    Template, VariableDefinition, WorkDefinition,
};
use anyhook_model::report::runbook::{
    ListedPipeline, ListedVariable, ShownAgent, ShownPipeline, ShownStep, ShownWorkspace,
};
use serde_json::Value;

/// Returns a pipeline's summary.
pub fn listed(pipeline: &PipelineDefinition, file: &Path) -> ListedPipeline {
    ListedPipeline {
        name: pipeline.name.text.clone(),
        file: file.display().to_string(),
        steps: pipeline.steps.iter().map(|step| step.name.text.clone()).collect(),
        variables: variables(pipeline),
    }
}

/// Returns everything that a runbook defines for a pipeline.
pub fn shown(runbook: &Runbook, pipeline: &PipelineDefinition, file: &Path) -> ShownPipeline {
    let workspace = &pipeline.workspace;
    let notify = &pipeline.notify;
    let moments = [
        ("on_start", &notify.on_start),
        ("on_done", &notify.on_done),
        ("on_fail", &notify.on_fail),
        ("on_cancel", &notify.on_cancel),
    ];
    let is_used = |agent: &&AgentDefinition| pipeline.agents().any(|name| *name == agent.name);
    ShownPipeline {
        name: pipeline.name.text.clone(),
        file: file.display().to_string(),
        variables: variables(pipeline),
        locals: pipeline
            .locals
            .iter()
            .map(|local| (local.name.text.clone(), local.value.source.clone()))
            .collect(),
        workspace: ShownWorkspace {
            kind: workspace.kind,
            path: source(workspace.path.as_ref()),
            branch: source(workspace.branch.as_ref()),
            base: source(workspace.base.as_ref()),
            keep: workspace.keep,
        },
        notify: moments
            .into_iter()
            .filter_map(|(moment, text)| Some((moment.to_owned(), source(text.as_ref())?)))
            .collect(),
        steps: pipeline.steps.iter().map(shown_step).collect(),
        on_done: text_of(pipeline.on_done.as_ref()),
        on_fail: text_of(pipeline.on_fail.as_ref()),
        on_cancel: text_of(pipeline.on_cancel.as_ref()),
        agents: runbook.agents.iter().filter(is_used).map(shown_agent).collect(),
    }
}

fn text_of(name: Option<&SpannedName>) -> Option<String> {
    name.map(|name| name.text.clone())
}

fn shown_step(step: &StepDefinition) -> ShownStep {
    let (run, agent, timeout) = match &step.work {
        WorkDefinition::Shell { run, timeout } => (Some(run.source.clone()), None, *timeout),
        WorkDefinition::Agent(name) => (None, Some(name.text.clone()), None),
    };
    ShownStep {
        name: step.name.text.clone(),
        run,
        agent,
        timeout_ms: timeout.and_then(|long| u64::try_from(long.as_millis()).ok()),
        on_done: text_of(step.on_done.as_ref()),
        on_fail: text_of(step.on_fail.as_ref()),
        on_cancel: text_of(step.on_cancel.as_ref()),
    }
}

fn shown_agent(agent: &AgentDefinition) -> ShownAgent {
    let text = |template: &Template| Some(template.source.clone());
    let (prompt, prompt_file) = match &agent.prompt {
        Some(PromptDefinition::Text(template)) => (text(template), None),
        Some(PromptDefinition::File(template)) => (None, text(template)),
        None => (None, None),
    };
    let mut reactions = BTreeMap::new();
    if let Value::Object(members) = agent.reactions.to_value() {
        reactions.extend(members);
    }
    let env = agent.env.iter().map(|(name, value)| (name.text.clone(), value.source.clone()));
    ShownAgent {
        name: agent.name.text.clone(),
        run: agent.run.source.clone(),
        prompt,
        prompt_file,
        env: env.collect(),
        cwd: source(agent.cwd.as_ref()),
        host: text_of(agent.host.as_ref()),
        reactions,
    }
}

/// Returns the variables of a pipeline, as they are printed.
fn variables(pipeline: &PipelineDefinition) -> Vec<ListedVariable> {
    let listed = |variable: &VariableDefinition| ListedVariable {
        name: variable.name.text.clone(),
        required: variable.default.is_none(),
        default: source(variable.default.as_ref()),
        description: variable.description.clone(),
    };
    pipeline.variables.iter().map(listed).collect()
}

/// Returns a text as it was written.
fn source(template: Option<&Template>) -> Option<String> {
    template.map(|template| template.source.clone())
}
