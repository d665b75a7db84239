//! Refusals: why the rules do not allow something. The state is unchanged.

use super::next_actions::NextAction;
use super::schemas::SchemaViolation;
use super::vocabulary::{Mode, StageStatus, WorkflowStatus};

/// What is wrong with an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactDefect {
    /// It is named, but does not exist.
    Absent,
    /// It does not match its schema.
    Faults(Vec<SchemaViolation>),
}

/// Why the rules do not allow something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowRefusal {
    /// The state belongs to another definition, with other stages or reviews.
    #[error("the state does not match the workflow: {0}")]
    OtherDefinition(String),
    /// The state follows other rules.
    #[error(
        "the state does not match the workflow: its stages, gates or rules have changed since it began"
    )]
    OtherRules,
    /// The workflow is over.
    #[error("the workflow is {}", .0.name())]
    Over(WorkflowStatus),
    /// The signal does not match its schema.
    #[error("the signal is not valid:{}", lines(.0))]
    Signal(Vec<SchemaViolation>),
    /// There is no such stage or review.
    #[error("there is no stage or review `{name}`")]
    UnknownStage {
        /// What was named.
        name: String,
        /// The existing ones.
        known: Vec<String>,
    },
    /// Another agent owns it.
    #[error("`{stage}` belongs to `{owner}`, not to `{agent}`")]
    NotOwner {
        /// The stage or review.
        stage: String,
        /// The agent that owns it.
        owner: String,
        /// The agent that signalled.
        agent: String,
    },
    /// It is not its turn.
    #[error("the stage `{stage}` is {}, not in_progress", .status.name())]
    NotCurrent {
        /// The stage.
        stage: String,
        /// Its status.
        status: StageStatus,
        /// The current stages.
        current: Vec<String>,
    },
    /// No one requested that review.
    #[error("`{review}`{} was not requested", .stage.as_ref().map(|stage| format!(" of `{stage}`")).unwrap_or_default())]
    NotAsked {
        /// The review.
        review: String,
        /// The stage it names.
        stage: Option<String>,
    },
    /// The review is about another stage.
    #[error("`{review}` was requested for `{asked}`, but the signal is about `{told}`")]
    OtherStage {
        /// The review.
        review: String,
        /// The stage to review.
        asked: String,
        /// The stage it names.
        told: String,
    },
    /// There is no schema for an artifact.
    #[error("there is no schema for `{path}`: `{stage}` has no such artifact")]
    NoSchema {
        /// The stage or review.
        stage: String,
        /// The artifact.
        path: String,
    },
    /// A required artifact of the stage is missing.
    #[error("`{stage}` is incomplete without `{path}`")]
    MissingArtifact {
        /// The stage or review.
        stage: String,
        /// The artifact.
        path: String,
    },
    /// Artifacts are invalid: everything that is wrong with each.
    #[error("{}", artifacts(.0))]
    Artifacts(Vec<(String, ArtifactDefect)>),
    /// An artifact is for another mode.
    #[error("`{path}` is for the mode `{}`; the workflow is in `{}`", .told.name(), .mode.name())]
    OtherMode {
        /// The artifact.
        path: String,
        /// The mode it names.
        told: Mode,
        /// The mode of the workflow.
        mode: Mode,
    },
    /// No one has set the mode.
    #[error("the execution mode is not set")]
    NoMode,
    /// The agent that is named as next cannot come next.
    #[error("`{agent}` cannot come after `{stage}`")]
    NotNext {
        /// The agent.
        agent: String,
        /// After which stage.
        stage: String,
        /// The agents that can.
        possible: Vec<String>,
    },
    /// A review has no verdict.
    #[error("`{0}` has no verdict")]
    NoVerdict(String),
    /// A deployment that failed is reported as done.
    #[error("`{path}` says `{told}`, but the signal says that `{stage}` is done")]
    NotDeployed {
        /// The stage.
        stage: String,
        /// The report.
        path: String,
        /// The status it reports.
        told: String,
    },
    /// Tests approve although they found blocking bugs.
    #[error("`{path}` says `approve`, but these bugs are open: {}", .bugs.join(", "))]
    OpenBugs {
        /// The report.
        path: String,
        /// The bugs.
        bugs: Vec<String>,
    },
    /// There is no such question about the stage.
    #[error("`{stage}` has nothing {what}; it is {}", .status.name())]
    NothingAsked {
        /// What was answered.
        what: &'static str,
        /// The stage.
        stage: String,
        /// Its status.
        status: StageStatus,
        /// What can be done about it instead.
        ways: Vec<NextAction>,
    },
    /// There is no one who decides.
    #[error("missing the name of the person who decides")]
    Nobody,
}

impl WorkflowRefusal {
    /// Returns whether it is about artifacts, and not about the signal itself: the agent, the
    /// stage, the next agents.
    pub fn is_about_artifacts(&self) -> bool {
        matches!(self, Self::Artifacts(_) | Self::MissingArtifact { .. } | Self::NoSchema { .. })
    }

    /// Returns the next step.
    pub fn hint(&self) -> String {
        match self {
            Self::OtherDefinition(_) => {
                "undo the change to workflow.toml, or start over: `anyhook workflow reset --all`"
                    .to_owned()
            }
            Self::OtherRules => {
                "undo the change to workflow.toml, accept it: `anyhook workflow reset --rules`, or start over: `anyhook workflow reset --all`"
                    .to_owned()
            }
            Self::Over(_) => "start over: `anyhook workflow reset --all`".to_owned(),
            Self::Artifacts(all) if all.iter().all(|(_, wrong)| *wrong == ArtifactDefect::Absent) => {
                "write it, or remove it from `output_artifacts`".to_owned()
            }
            Self::Signal(_) | Self::Artifacts(_) => {
                "fix the errors above, then run complete again".to_owned()
            }
            Self::UnknownStage { known, .. } => format!("available: {}", known.join(", ")),
            Self::NotOwner { owner, .. } => format!("let `{owner}` do it"),
            Self::NotCurrent { current, .. } if current.is_empty() => {
                "no agent can start now; run `anyhook workflow status` to see what it waits for".to_owned()
            }
            Self::NotCurrent { current, .. } => format!("current agents: {}", current.join(", ")),
            Self::NotAsked { .. } => "reviews are requested depending on a stage's risk".to_owned(),
            Self::OtherStage { asked, .. } => format!("review `{asked}`"),
            Self::NoSchema { .. } => {
                "remove it from `output_artifacts`, or add it to workflow.toml with a schema"
                    .to_owned()
            }
            Self::MissingArtifact { path, .. } => {
                format!("write it, and add \"{path}\" to `output_artifacts`")
            }
            Self::OtherMode { mode, .. } => format!("write it for the mode `{}`", mode.name()),
            Self::NoMode => {
                "set `execution_mode` in the requirements or in project-config.json"
                    .to_owned()
            }
            Self::NotNext { possible, .. } if possible.is_empty() => {
                "write `next_agent_required: null`".to_owned()
            }
            Self::NotNext { possible, .. } => {
                format!("write null, or one of {}", possible.join(", "))
            }
            Self::NoVerdict(_) => {
                "write `verdict`: approve, approve_with_notes, needs_changes or reject".to_owned()
            }
            Self::NotDeployed { .. } => {
                "signal `failed` with a `reason`, or deploy it and rewrite the report".to_owned()
            }
            Self::OpenBugs { .. } => {
                "set the verdict to `needs_fixes`, or set the bug's `status` to `fixed` or `wont_fix` if it is no longer open"
                    .to_owned()
            }
            Self::NothingAsked { ways, .. } if !ways.is_empty() => {
                ways.iter().map(NextAction::hint).collect::<Vec<_>>().join("; or ")
            }
            Self::NothingAsked { .. } => "run `anyhook workflow status` to see what is pending".to_owned(),
            Self::Nobody => "pass `--by NAME`".to_owned(),
        }
    }
}

fn lines(faults: &[SchemaViolation]) -> String {
    let start = std::iter::once(String::new());
    start.chain(faults.iter().map(SchemaViolation::to_string)).collect::<Vec<_>>().join("\n  ")
}

fn artifacts(all: &[(String, ArtifactDefect)]) -> String {
    let each = all.iter().map(|(path, wrong)| match wrong {
        ArtifactDefect::Absent => format!("`{path}` is missing"),
        ArtifactDefect::Faults(faults) => format!("`{path}` is not valid:{}", lines(faults)),
    });
    each.collect::<Vec<_>>().join("\n")
}
