//! Workflow definitions: `workflow.toml`.

mod check;
pub mod keys;
mod read;
mod schema;

use jiff::SignedDuration;

use super::method::Method;
use super::schemas::ArtifactKind;
use super::vocabulary::{Mode, OnFailure, Risk, Severity, When};
use anyhook_flow::runbook::{Finding, RunbookFormat, SpannedName, in_order, tree};

pub use schema::schema;

/// A workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowDefinition {
    /// Its name.
    pub name: String,
    /// The folder for all artifacts, relative to the project.
    pub folder: String,
    /// The command that starts agents without a `run` of their own.
    pub run: Option<String>,
    /// The agents.
    pub agents: Vec<AgentDefinition>,
    /// The stages, in the order of the text.
    pub stages: Vec<StageDefinition>,
    /// The reviews.
    pub reviews: Vec<ReviewDefinition>,
    /// The rules that require reviews depending on risk.
    pub risks: Vec<RiskRule>,
    /// How test results are handled.
    pub qa: Option<QaRule>,
    /// The documentation agents receive when they start.
    pub documentation: Option<DocumentationRule>,
    /// The rule for second opinions on completed work.
    pub second_opinion: Option<SecondOpinionRule>,
}

/// An agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDefinition {
    /// Its name.
    pub name: SpannedName,
    /// A short description.
    pub description: Option<String>,
    /// The command that starts it, if it is not the usual one.
    pub run: Option<String>,
}

/// A stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageDefinition {
    /// Its name.
    pub name: SpannedName,
    /// The agent responsible for it.
    pub agent: SpannedName,
    /// The group of stages that run in parallel.
    pub group: Option<SpannedName>,
    /// The stages and groups that must be done before it.
    pub after: Vec<SpannedName>,
    /// Whether an earlier agent may skip it.
    pub optional: bool,
    /// The stages and groups whose artifacts its agent receives.
    pub reads: Vec<SpannedName>,
    /// Its artifacts.
    pub artifacts: Vec<ArtifactDefinition>,
    /// When a person is asked for approval.
    pub approval: Option<ApprovalRule>,
    /// How often and how long it is tried.
    pub trying: RetryPolicy,
    /// The stage to repeat if this one fails and rolls back.
    pub rollback_to: Option<SpannedName>,
}

/// How often and how long something is tried, and what happens after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The time limit of each attempt.
    pub timeout: Option<SignedDuration>,
    /// How often it is retried.
    pub retries: u32,
    /// What happens when all attempts have failed.
    pub on_failure: OnFailure,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { timeout: None, retries: 0, on_failure: OnFailure::Fail }
    }
}

/// When a person is asked for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRule {
    /// Before it begins or when it is done.
    pub when: When,
    /// The modes in which it needs approval; all if empty.
    pub modes: Vec<Mode>,
}

/// An artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactDefinition {
    /// The file name, in its agent's folder.
    pub file: SpannedName,
    /// The schema it must match.
    pub schema: SchemaChoice,
    /// The modes in which it is expected; all if empty.
    pub modes: Vec<Mode>,
    /// Whether the stage requires it.
    pub required: bool,
}

/// The schema that an artifact must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaChoice {
    /// One of the kinds that anyhook knows.
    Kind(ArtifactKind),
    /// A schema file of the project, with this path.
    File(SpannedName),
}

/// A review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewDefinition {
    /// Its name.
    pub name: SpannedName,
    /// The reviewing agent.
    pub agent: SpannedName,
    /// The stages and groups that are always reviewed, regardless of risk.
    pub stages: Vec<SpannedName>,
    /// The stages and groups whose artifacts the reviewer is given in addition to the reviewed
    /// ones.
    pub reads: Vec<SpannedName>,
    /// Its artifacts.
    pub artifacts: Vec<ArtifactDefinition>,
    /// How often and how long it is tried.
    pub trying: RetryPolicy,
}

/// The reviews required at a risk level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RiskRule {
    /// The risk levels.
    pub levels: Vec<Risk>,
    /// The reviews.
    pub reviews: Vec<SpannedName>,
    /// The stages and groups to review; all if empty.
    pub stages: Vec<SpannedName>,
}

/// How test results are handled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QaRule {
    /// The testing stage.
    pub stage: SpannedName,
    /// The bug severities that block without asking a person.
    pub blocking: Vec<Severity>,
    /// The stages and groups that fix bugs.
    pub fix: Vec<SpannedName>,
}

/// The documentation agents receive when they start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentationRule {
    /// The server that has it.
    pub server: String,
    /// The stages and groups whose agents receive it.
    pub stages: Vec<SpannedName>,
}

/// Second opinions, and when to ask for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondOpinionRule {
    /// The server to ask.
    pub server: String,
    /// The tool of it, if it has more than one.
    pub tool: Option<String>,
    /// The stages and groups it reviews.
    pub stages: Vec<SpannedName>,
    /// The modes in which it reviews them; all if empty.
    pub modes: Vec<Mode>,
    /// The risk levels at which it reviews every stage.
    pub levels: Vec<Risk>,
    /// The reviews it checks.
    pub reviews: Vec<SpannedName>,
}

impl ArtifactDefinition {
    /// Returns whether it is expected in a mode.
    pub fn is_made_in(&self, mode: Option<Mode>) -> bool {
        self.modes.is_empty() || mode.is_some_and(|mode| self.modes.contains(&mode))
    }
}

impl WorkflowDefinition {
    /// Returns a stage by its name.
    pub fn stage(&self, name: &str) -> Option<&StageDefinition> {
        self.stages.iter().find(|stage| stage.name.text == name)
    }

    /// Returns a review by its name.
    pub fn review(&self, name: &str) -> Option<&ReviewDefinition> {
        self.reviews.iter().find(|review| review.name.text == name)
    }

    /// Returns an agent by its name.
    pub fn agent(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name.text == name)
    }

    /// Returns the stages that a name refers to: one, or those of a group.
    pub fn named<'all>(&'all self, name: &'all str) -> impl Iterator<Item = &'all StageDefinition> {
        self.stages.iter().filter(move |stage| {
            stage.name.text == name || stage.group.as_ref().is_some_and(|group| group.text == name)
        })
    }

    /// Returns the stages that some names refer to, each once, in the order of the text.
    pub fn all_named(&self, names: &[SpannedName]) -> Vec<&StageDefinition> {
        let is_named = |stage: &&StageDefinition| {
            names.iter().any(|name| {
                name.text == stage.name.text
                    || stage.group.as_ref().is_some_and(|group| group.text == name.text)
            })
        };
        self.stages.iter().filter(is_named).collect()
    }

    /// Returns the stages that come directly before one.
    pub fn before(&self, stage: &StageDefinition) -> Vec<&StageDefinition> {
        self.all_named(&stage.after)
    }

    /// Returns the names of all stages that come after one, directly or indirectly.
    pub fn following(&self, name: &str) -> Vec<&str> {
        let before: Vec<(&str, Vec<&StageDefinition>)> = self
            .stages
            .iter()
            .map(|stage| (stage.name.text.as_str(), self.before(stage)))
            .collect();
        let mut found: Vec<&str> = Vec::new();
        loop {
            let known = found.len();
            for (later, before) in &before {
                let is_after = |one: &&StageDefinition| {
                    one.name.text == name || found.contains(&one.name.text.as_str())
                };
                if !found.contains(later) && before.iter().any(is_after) {
                    found.push(later);
                }
            }
            if found.len() == known {
                return found;
            }
        }
    }

    /// Returns whether a stage is among some names, by itself or by its group.
    fn is_among(&self, names: &[SpannedName], stage: &str) -> bool {
        self.all_named(names).iter().any(|one| one.name.text == stage)
    }

    /// Returns whether a stage's agent is given documentation when it starts.
    pub fn wants_documentation(&self, stage: &str) -> bool {
        self.documentation.as_ref().is_some_and(|rule| self.is_among(&rule.stages, stage))
    }

    /// Returns whether a completed stage or review needs a second opinion.
    pub fn wants_second_opinion(&self, stage: &str, mode: Option<Mode>, risk: Risk) -> bool {
        let Some(rule) = &self.second_opinion else { return false };
        if self.review(stage).is_some() {
            return rule.reviews.iter().any(|name| name.text == stage);
        }
        let is_mode = rule.modes.is_empty() || mode.is_some_and(|mode| rule.modes.contains(&mode));
        let is_named = is_mode && self.is_among(&rule.stages, stage);
        is_named || (self.stage(stage).is_some() && rule.levels.contains(&risk))
    }

    /// Returns the path of an agent's file, relative to the project.
    pub fn path(&self, agent: &str, file: &str) -> String {
        format!("{}/{}/{file}", self.folder, agent.replace('_', "-"))
    }
}

/// A definition as far as it could be read, and the findings.
#[derive(Clone, Debug, Default)]
pub struct ParsedDefinition {
    /// The definition; only usable if there are no errors.
    pub definition: WorkflowDefinition,
    /// Errors and notes, in the order of the text.
    pub findings: Vec<Finding>,
}

impl ParsedDefinition {
    /// Returns whether it can be used.
    pub fn is_usable(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity == anyhook_flow::runbook::Severity::Note)
    }
}

/// Reads the text of a `workflow.toml`, which may name the schemas of a method.
pub fn read(text: &str, method: &'static Method) -> ParsedDefinition {
    let (tree, mut findings) = tree(text, RunbookFormat::Toml);
    let Some(tree) = tree else {
        return ParsedDefinition {
            definition: WorkflowDefinition::default(),
            findings: in_order(findings),
        };
    };
    let (definition, more) = read::definition(&tree, method);
    findings.extend(more);
    findings.extend(check::check(&definition));
    ParsedDefinition { definition, findings: in_order(findings) }
}

#[cfg(test)]
mod tests;
