//! Checks of a whole runbook: undefined steps, agents and values, unreachable steps and endless
//! loops.

use std::collections::BTreeSet;

use super::definition::{AgentDefinition, PipelineDefinition, Runbook, SpannedName};
use super::finding::{Finding, Span};
use super::template::{Template, TemplateReference};

/// Checks a runbook as a whole.
pub fn check(runbook: &Runbook) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pipeline in &runbook.pipelines {
        findings.extend(steps_not_there(pipeline));
        findings.extend(agents_not_there(runbook, pipeline));
        findings.extend(unreachable(pipeline));
        findings.extend(endless(pipeline));
        findings.extend(locals_in_a_circle(pipeline));
        for template in pipeline.templates() {
            findings.extend(values_not_there(pipeline, template, None));
        }
        let agents: BTreeSet<&str> = pipeline.agents().map(|name| name.text.as_str()).collect();
        let is_used = |agent: &&AgentDefinition| agents.contains(agent.name.text.as_str());
        for agent in runbook.agents.iter().filter(is_used) {
            for template in agent.templates() {
                findings.extend(values_not_there(pipeline, template, Some(agent)));
            }
        }
    }
    findings.extend(unused_agents(runbook));
    findings
}

/// Returns the steps that a pipeline and its steps lead to.
fn leads(pipeline: &PipelineDefinition) -> impl Iterator<Item = &SpannedName> {
    let of_steps =
        pipeline.steps.iter().flat_map(|step| [&step.on_done, &step.on_fail, &step.on_cancel]);
    of_steps.chain([&pipeline.on_done, &pipeline.on_fail, &pipeline.on_cancel]).flatten()
}

fn steps_not_there(pipeline: &PipelineDefinition) -> impl Iterator<Item = Finding> {
    leads(pipeline).filter(|name| pipeline.step(&name.text).is_none()).map(|name| {
        let finding = Finding::error("unknown-step", format!("there is no step `{}`", name.text))
            .at(&name.span);
        if pipeline.steps.is_empty() {
            return finding.hint(format!(
                "write `step \"{0}\" {{ … }}` in HCL, a step with `name = \"{0}\"` in TOML",
                name.text
            ));
        }
        let names = pipeline.steps.iter().map(|step| step.name.text.as_str());
        finding.meant(&name.text, names, "available")
    })
}

fn agents_not_there(runbook: &Runbook, pipeline: &PipelineDefinition) -> Vec<Finding> {
    let missing = pipeline.agents().filter(|name| runbook.agent(&name.text).is_none());
    let known = runbook.agents.iter().map(|agent| agent.name.text.as_str());
    missing
        .map(|name| {
            let finding =
                Finding::error("unknown-agent", format!("there is no agent `{}`", name.text))
                    .at(&name.span);
            if runbook.agents.is_empty() {
                return finding.hint(format!(
                    "write `agent \"{0}\" {{ … }}` in HCL, `[agent.{0}]` in TOML",
                    name.text
                ));
            }
            finding.meant(&name.text, known.clone(), "available")
        })
        .collect()
}

fn unused_agents(runbook: &Runbook) -> impl Iterator<Item = Finding> {
    let is_used = |agent: &&AgentDefinition| {
        runbook
            .pipelines
            .iter()
            .flat_map(PipelineDefinition::agents)
            .any(|name| *name == agent.name)
    };
    let is_named = |agent: &&AgentDefinition| !agent.name.text.is_empty();
    runbook.agents.iter().filter(is_named).filter(move |agent| !is_used(agent)).map(|agent| {
        let name = &agent.name;
        Finding::error("unused-agent", format!("no pipeline uses the agent `{}`", name.text))
            .note()
            .at(&name.span)
            .hint(format!("use it in a step with `run = {{ agent = \"{}\" }}`", name.text))
    })
}

/// Finds steps that nothing leads to.
fn unreachable(pipeline: &PipelineDefinition) -> Vec<Finding> {
    let first = pipeline.steps.first().map(|step| step.name.text.as_str());
    let own = [&pipeline.on_done, &pipeline.on_fail, &pipeline.on_cancel].into_iter().flatten();
    let mut pending: Vec<&str> =
        first.into_iter().chain(own.map(|name| name.text.as_str())).collect();
    let mut reached = BTreeSet::new();
    while let Some(name) = pending.pop() {
        if reached.insert(name)
            && let Some(step) = pipeline.step(name)
        {
            let next = [&step.on_done, &step.on_fail, &step.on_cancel].into_iter().flatten();
            pending.extend(next.map(|name| name.text.as_str()));
        }
    }
    let steps = pipeline.steps.iter().enumerate();
    steps
        // A missing name has already been reported.
        .filter(|(_, step)| !step.name.text.is_empty())
        .filter(|(_, step)| !reached.contains(step.name.text.as_str()))
        .map(|(number, step)| {
            let name = &step.name.text;
            let finding =
                Finding::error("unreachable", format!("the step `{name}` is unreachable"))
                    .at(&step.name.span);
            match number.checked_sub(1).and_then(|before| pipeline.steps.get(before)) {
                Some(before) if before.on_done.is_none() => finding.hint(format!(
                    "add `on_done = {{ step = \"{name}\" }}` to the step `{}`",
                    before.name.text
                )),
                _ => finding.hint(format!(
                    "link to it from another step: `on_done = {{ step = \"{name}\" }}`"
                )),
            }
        })
        .collect()
}

/// Finds steps that form a cycle although all of them succeed.
fn endless(pipeline: &PipelineDefinition) -> Vec<Finding> {
    let edges = pipeline.steps.iter().map(|step| {
        let next = step.on_done.iter().collect();
        (step.name.text.as_str(), next)
    });
    let hint = "omit `on_done` in the last step; to repeat a step, use `on_fail` of a later one";
    circles(&edges.collect::<Vec<_>>())
        .into_iter()
        .map(|(way, span)| {
            Finding::error("endless", format!("the steps form an endless loop: {way}"))
                .at(span)
                .hint(hint)
        })
        .collect()
}

fn locals_in_a_circle(pipeline: &PipelineDefinition) -> Vec<Finding> {
    let names: Vec<(&str, Vec<SpannedName>)> = pipeline
        .locals
        .iter()
        .map(|local| {
            let uses = local.value.references().filter_map(|(reference, span)| match reference {
                TemplateReference::Local(name) => {
                    Some(SpannedName { text: name.clone(), span: span.clone() })
                }
                _ => None,
            });
            (local.name.text.as_str(), uses.collect())
        })
        .collect();
    let edges = names.iter().map(|(name, uses)| (*name, uses.iter().collect()));
    circles(&edges.collect::<Vec<_>>())
        .into_iter()
        .map(|(way, span)| {
            Finding::error("locals-circle", format!("the locals refer to each other: {way}"))
                .at(span)
                .hint("write out one of them")
        })
        .collect()
}

/// Finds cycles: each as `a → b → a`, and the edge that closes it.
pub fn circles<'all>(edges: &[(&'all str, Vec<&'all SpannedName>)]) -> Vec<(String, &'all Span)> {
    let next = |name: &str| {
        edges.iter().find(|(from, _)| *from == name).map_or(&[][..], |(_, to)| to.as_slice())
    };
    let mut found = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for (start, _) in edges {
        // The path so far: each name, and how many of its edges were taken.
        let mut way: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some((name, taken)) = way.last_mut() {
            let Some(edge) = next(name).get(*taken).filter(|_| !done.contains(name)) else {
                done.insert(name);
                way.pop();
                continue;
            };
            *taken += 1;
            match way.iter().position(|(name, _)| *name == edge.text) {
                Some(begin) => {
                    let names = way[begin..].iter().map(|(name, _)| *name);
                    let circle: Vec<&str> = names.chain([edge.text.as_str()]).collect();
                    found.push((circle.join(" → "), &edge.span));
                }
                None => way.push((&edge.text, 0)),
            }
        }
    }
    found
}

/// Finds references to variables and locals that a pipeline does not have.
fn values_not_there(
    pipeline: &PipelineDefinition,
    template: &Template,
    agent: Option<&AgentDefinition>,
) -> Vec<Finding> {
    let of_pipeline = pipeline.name.of("pipeline");
    let whose = match agent {
        Some(agent) => format!(" in {of_pipeline}, which uses {}", agent.name.of("agent")),
        None => format!(" in {of_pipeline}"),
    };
    let variables = pipeline.variables.iter().map(|variable| variable.name.text.as_str());
    let locals = pipeline.locals.iter().map(|local| local.name.text.as_str());
    let mut findings = Vec::new();
    for (reference, span) in template.references() {
        let unknown = |what: &str, name: &str| {
            Finding::error("unknown-value", format!("there is no {what} `{name}`{whose}")).at(span)
        };
        let finding = match reference {
            TemplateReference::Variable(name) if pipeline.variable(name).is_none() => {
                let finding = unknown("variable", name);
                if pipeline.variables.is_empty() {
                    finding.hint(format!("add `{name} = \"default\"` to its `vars`"))
                } else {
                    finding.meant(name, variables.clone(), "its variables are")
                }
            }
            TemplateReference::Local(name) if pipeline.local(name).is_none() => {
                let finding = unknown("local", name);
                if pipeline.locals.is_empty() {
                    finding.hint(format!("add `{name} = \"…\"` to its `locals`"))
                } else {
                    finding.meant(name, locals.clone(), "its locals are")
                }
            }
            _ => continue,
        };
        findings.push(finding);
    }
    findings
}
