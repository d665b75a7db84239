//! Every key that a workflow may have, by what it is a key of.

/// Of the whole.
pub const WORKFLOW: &[&str] = &[
    "name",
    "folder",
    "run",
    "agent",
    "stage",
    "review",
    "risk",
    "qa",
    "documentation",
    "second_opinion",
];
/// Of an agent.
pub const AGENT: &[&str] = &["description", "run"];
/// Of a stage.
pub const STAGE: &[&str] = &[
    "name",
    "agent",
    "group",
    "after",
    "optional",
    "reads",
    "artifact",
    "approval",
    "approval_modes",
    "timeout",
    "retries",
    "on_failure",
    "rollback_to",
];
/// Of an artifact.
pub const ARTIFACT: &[&str] = &["file", "schema", "schema_file", "modes", "required"];
/// Of a review.
pub const REVIEW: &[&str] = &["name", "agent", "stages", "reads", "artifact", "timeout", "retries"];
/// Of a rule about risk.
pub const RISK: &[&str] = &["levels", "reviews", "stages"];
/// Of what the tests decide.
pub const QA: &[&str] = &["stage", "blocking", "fix"];
/// Of the documentation that agents are given.
pub const DOCUMENTATION: &[&str] = &["server", "stages"];
/// Of a second opinion.
pub const SECOND_OPINION: &[&str] = &["server", "tool", "stages", "modes", "levels", "reviews"];
