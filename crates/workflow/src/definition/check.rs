//! Checks of a whole definition: unknown names, stages that never begin, artifacts that are read
//! before they exist.

use std::collections::BTreeSet;

use super::{ArtifactDefinition, SchemaChoice, StageDefinition, WorkflowDefinition};
use crate::schemas::ArtifactKind;
use crate::vocabulary::{Mode, OnFailure};
use anyhook_flow::runbook::{Finding, SpannedName, circles};

/// Maximum number of stages, and of reviews, of a workflow.
const AT_MOST: usize = 100;

/// Checks a definition as a whole.
pub fn check(definition: &WorkflowDefinition) -> Vec<Finding> {
    let mut findings = Vec::new();
    if definition.stages.is_empty() {
        let finding = Finding::error("missing", "the workflow has no stages").at(0..0);
        findings.push(finding.hint("add a `[[stage]]`"));
    }
    if definition.stages.len().max(definition.reviews.len()) > AT_MOST {
        let message = format!("the workflow has more than {AT_MOST} stages or reviews");
        let finding = Finding::error("too-many", message).at(0..0);
        findings.push(finding.hint("split it into several workflows"));
        return findings;
    }
    findings.extend(twice(definition));
    findings.extend(agents(definition));
    findings.extend(unknown(definition));
    let circles = endless(definition);
    let has_order = circles.is_empty();
    findings.extend(circles);
    for stage in &definition.stages {
        findings.extend(rollback(definition, stage, has_order));
        if has_order {
            findings.extend(reads_too_early(definition, stage));
        }
    }
    for stage in &definition.stages {
        findings.extend(artifacts("stage", &stage.name, &stage.artifacts));
    }
    for review in &definition.reviews {
        findings.extend(artifacts("review", &review.name, &review.artifacts));
    }
    findings.extend(files(definition));
    findings.extend(tests(definition));
    findings
}

/// Finds names that are used twice.
fn twice(definition: &WorkflowDefinition) -> Vec<Finding> {
    let groups: BTreeSet<&str> = groups(definition).collect();
    let stages = definition.stages.iter().map(|stage| &stage.name);
    let reviews = definition.reviews.iter().map(|review| &review.name);
    let mut seen = groups;
    let names = stages.chain(reviews).filter(|name| !name.text.is_empty());
    names
        .filter(|name| !seen.insert(&name.text))
        .map(|name| {
            Finding::error("twice", format!("`{}` is given twice", name.text))
                .at(&name.span)
                .hint("names of stages, groups and reviews must be unique: use another one")
        })
        .collect()
}

fn groups(definition: &WorkflowDefinition) -> impl Iterator<Item = &str> + Clone {
    definition.stages.iter().filter_map(|stage| stage.group.as_ref()).map(|name| name.text.as_str())
}

fn agents(definition: &WorkflowDefinition) -> Vec<Finding> {
    let known = definition.agents.iter().map(|agent| agent.name.text.as_str());
    let stages = definition.stages.iter().map(|stage| &stage.agent);
    let used: Vec<&SpannedName> =
        stages.chain(definition.reviews.iter().map(|review| &review.agent)).collect();
    let unknown = used
        .iter()
        // A missing name has already been reported.
        .filter(|name| !name.text.is_empty() && definition.agent(&name.text).is_none())
        .map(|name| {
            let finding =
                Finding::error("unknown-agent", format!("there is no agent `{}`", name.text))
                    .at(&name.span);
            if definition.agents.is_empty() {
                finding.hint(format!("add `[agent.{}]`", name.text))
            } else {
                finding.meant(&name.text, known.clone(), "available")
            }
        });
    let is_used = |name: &SpannedName| used.iter().any(|other| other.text == name.text);
    let unused = definition.agents.iter().filter(|agent| !is_used(&agent.name)).map(|agent| {
        let name = &agent.name;
        let message = format!("the agent `{}` is not used", name.text);
        let hint = format!("use it in a stage or review with `agent = \"{}\"`", name.text);
        Finding::error("unused-agent", message).note().at(&name.span).hint(hint)
    });
    unknown.chain(unused).collect()
}

/// Finds references to stages, groups and reviews that do not exist.
fn unknown(definition: &WorkflowDefinition) -> Vec<Finding> {
    let stages: BTreeSet<&str> = definition
        .stages
        .iter()
        .map(|stage| stage.name.text.as_str())
        .chain(groups(definition))
        .collect();
    let reviews: BTreeSet<&str> =
        definition.reviews.iter().map(|review| review.name.text.as_str()).collect();
    let mut meant: Vec<&SpannedName> = Vec::new();
    for stage in &definition.stages {
        meant.extend(stage.after.iter().chain(&stage.reads).chain(&stage.rollback_to));
    }
    for review in &definition.reviews {
        meant.extend(review.stages.iter().chain(&review.reads));
    }
    meant.extend(definition.risks.iter().flat_map(|rule| &rule.stages));
    if let Some(qa) = &definition.qa {
        meant.extend(qa.fix.iter().chain([&qa.stage]));
    }
    meant.extend(definition.documentation.iter().flat_map(|rule| &rule.stages));
    let other = definition.second_opinion.as_ref();
    meant.extend(other.into_iter().flat_map(|rule| &rule.stages));
    let missing = |what: &str, name: &SpannedName, known: &BTreeSet<&str>| {
        Finding::error("unknown-name", format!("there is no {what} `{}`", name.text))
            .at(&name.span)
            .meant(&name.text, known.iter().copied(), "available")
    };
    let is_missing = |name: &&&SpannedName, known: &BTreeSet<&str>| {
        !name.text.is_empty() && !known.contains(name.text.as_str())
    };
    let of_stages = meant.iter().filter(|name| is_missing(name, &stages));
    let of_risks = definition.risks.iter().flat_map(|rule| &rule.reviews);
    let asked: Vec<&SpannedName> =
        of_risks.chain(other.into_iter().flat_map(|rule| &rule.reviews)).collect();
    let of_reviews = asked.iter().filter(|name| is_missing(name, &reviews));
    of_stages
        .map(|name| missing("stage or group", name, &stages))
        .chain(of_reviews.map(|name| missing("review", name, &reviews)))
        .collect()
}

/// Finds stages that come after themselves.
fn endless(definition: &WorkflowDefinition) -> Vec<Finding> {
    let before: Vec<(&str, Vec<SpannedName>)> = definition
        .stages
        .iter()
        .map(|stage| {
            let names = stage.after.iter().flat_map(|name| {
                let at = |before: &StageDefinition| SpannedName {
                    text: before.name.text.clone(),
                    span: name.span.clone(),
                };
                definition.named(&name.text).map(at)
            });
            (stage.name.text.as_str(), names.collect())
        })
        .collect();
    let edges = before.iter().map(|(name, before)| (*name, before.iter().collect()));
    circles(&edges.collect::<Vec<_>>())
        .into_iter()
        .map(|(way, span)| {
            Finding::error("endless", format!("the stages depend on each other in a cycle: {way}"))
                .at(span)
                .hint("a stage cannot come after a stage that depends on it")
        })
        .collect()
}

/// Returns whether a stage, or all of a group, is done before another; also `true` if it does not
/// exist.
fn is_before(
    definition: &WorkflowDefinition,
    wanted: &SpannedName,
    stage: &StageDefinition,
) -> bool {
    definition
        .named(&wanted.text)
        .all(|other| definition.following(&other.name.text).contains(&stage.name.text.as_str()))
}

/// Finds references of a stage to artifacts of later stages.
fn reads_too_early(definition: &WorkflowDefinition, stage: &StageDefinition) -> Vec<Finding> {
    let name = stage.name.of("stage");
    let early = stage.reads.iter().filter(|wanted| !is_before(definition, wanted, stage));
    early
        .map(|wanted| {
            let message = format!("{name} reads `{}`, which does not run before it", wanted.text);
            let hint = format!("add \"{}\" to its `after`, or remove it here", wanted.text);
            Finding::error("order", message).at(&wanted.span).hint(hint)
        })
        .collect()
}

/// Checks the stage that a stage rolls back to. Stages in a cycle have no order.
fn rollback(
    definition: &WorkflowDefinition,
    stage: &StageDefinition,
    has_order: bool,
) -> Option<Finding> {
    let name = stage.name.of("stage");
    match &stage.rollback_to {
        Some(to) => {
            let is_group = definition.stage(&to.text).is_none();
            // A missing stage has already been reported.
            let is_there = definition.named(&to.text).next().is_some();
            let is_late = has_order && !is_before(definition, to, stage);
            let message = format!("{name} cannot roll back to `{}`", to.text);
            let finding = Finding::error("order", message).at(&to.span);
            (is_there && (is_group || is_late))
                .then(|| finding.hint("name one stage that runs before it"))
        }
        None if stage.trying.on_failure == OnFailure::Rollback => {
            let message = format!("{name} has no stage to roll back to");
            let finding = Finding::error("missing", message).at(&stage.name.span);
            Some(finding.hint("write `rollback_to = \"…\"`"))
        }
        None => None,
    }
}

/// Finds modes in which a stage would have no artifact.
fn artifacts(kind: &str, name: &SpannedName, artifacts: &[ArtifactDefinition]) -> Option<Finding> {
    let is_made = |mode: Mode| {
        artifacts.iter().any(|artifact| artifact.required && artifact.is_made_in(Some(mode)))
    };
    let modes = Mode::ALL.iter().filter(|(mode, _)| !is_made(*mode)).map(|(_, name)| *name);
    let (modes, word) = match &modes.collect::<Vec<_>>()[..] {
        [] => return None,
        [one] => (format!("`{one}`"), "mode"),
        more => (format!("`{}`", more.join("`, `")), "modes"),
    };
    let message = format!("{} has no required artifact in the {word} {modes}", name.of(kind));
    let hint = format!("add one, or add the {word} to the `modes` of an existing one");
    let finding = Finding::error("missing", message).at(&name.span).hint(hint);
    // That there is none at all has already been reported.
    (!artifacts.is_empty()).then_some(finding)
}

/// Finds files that would overwrite each other.
fn files(definition: &WorkflowDefinition) -> Vec<Finding> {
    let of_stages = definition
        .stages
        .iter()
        .flat_map(|stage| stage.artifacts.iter().map(|one| (&stage.agent, one)));
    let of_reviews = definition
        .reviews
        .iter()
        .flat_map(|review| review.artifacts.iter().map(|one| (&review.agent, one)));
    let mut seen = BTreeSet::new();
    of_stages
        .chain(of_reviews)
        .filter(|(agent, artifact)| !seen.insert((&agent.text, &artifact.file.text)))
        .map(|(agent, artifact)| {
            let message = format!("`{}` uses the file `{}` twice", agent.text, artifact.file.text);
            let hint = "one would overwrite the other: use another name";
            Finding::error("twice", message).at(&artifact.file.span).hint(hint)
        })
        .collect()
}

/// Checks that the testing stage produces the report that decisions are based on.
fn tests(definition: &WorkflowDefinition) -> Option<Finding> {
    let qa = definition.qa.as_ref()?;
    // A missing stage has already been reported.
    let stage = definition.stage(&qa.stage.text).filter(|stage| !stage.name.text.is_empty())?;
    let is_told = stage.artifacts.iter().any(|artifact| {
        artifact.required && artifact.schema == SchemaChoice::Kind(ArtifactKind::QA)
    });
    let message = format!("no artifact of the stage `{}` has a verdict", qa.stage.text);
    let hint = "give it a required artifact with `schema = \"qa-output\"`";
    (!is_told).then(|| Finding::error("missing", message).at(&qa.stage.span).hint(hint))
}
