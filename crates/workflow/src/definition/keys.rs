//! All keys of a workflow definition, by table, and their allowed values: the reader uses these
//! keys, and the JSON Schema is generated from them.

use crate::vocabulary::{Mode, OnFailure, Risk, Severity, When};

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct DefinitionKey {
    /// Its name.
    pub name: &'static str,
    /// Its allowed values.
    pub shape: KeyShape,
    /// Its description.
    pub about: &'static str,
    /// Whether it is required.
    pub required: bool,
}

/// A table of keys.
#[derive(Debug)]
pub struct Table {
    /// Its name in the schema.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [DefinitionKey],
}

/// Returns the allowed words of a key.
pub type Words = fn() -> Vec<&'static str>;

/// The allowed values of a key.
#[derive(Clone, Copy, Debug)]
pub enum KeyShape {
    /// A name of its own, with this default.
    OwnName(&'static str),
    /// The name of something in the file.
    Name,
    /// Names of things in the file.
    Names,
    /// Any text.
    Text,
    /// A text that is not empty.
    Filled,
    /// A path below the project, which may have a default.
    Path(Option<&'static str>),
    /// The name of a file, without a folder.
    File,
    /// The name of a schema that is known.
    Schema,
    /// A boolean, with its default.
    Flag(bool),
    /// A duration.
    Time,
    /// A number of retries.
    Retries,
    /// One of some words, which may have a default.
    Word(Words, Option<&'static str>),
    /// A list of some words.
    Words(Words),
    /// A table.
    One(&'static Table),
    /// Tables by their names.
    Named(&'static Table),
    /// A list of tables, with a minimum and a maximum number.
    Many(&'static Table, Option<u32>, Option<u32>),
}

const fn key(name: &'static str, shape: KeyShape, about: &'static str) -> DefinitionKey {
    DefinitionKey { name, shape, about, required: false }
}

const fn needed(name: &'static str, shape: KeyShape, about: &'static str) -> DefinitionKey {
    DefinitionKey { name, shape, about, required: true }
}

fn modes() -> Vec<&'static str> {
    Mode::ALL.iter().map(|(_, word)| *word).collect()
}

fn risks() -> Vec<&'static str> {
    Risk::ALL.iter().map(|(_, word)| *word).collect()
}

fn severities() -> Vec<&'static str> {
    Severity::ALL.iter().map(|(_, word)| *word).collect()
}

fn whens() -> Vec<&'static str> {
    When::ALL.iter().map(|(_, word)| *word).collect()
}

fn failures() -> Vec<&'static str> {
    OnFailure::ALL.iter().map(|(_, word)| *word).collect()
}

impl Table {
    /// Returns the names of its keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

/// The top level.
pub static WORKFLOW: Table = Table {
    name: "workflow",
    about: "A project's `.agents/workflow.toml`: its agents and stages, their order, artifacts, reviews and approvals.",
    keys: &[
        key("name", KeyShape::OwnName("workflow"), "The workflow's name."),
        key(
            "folder",
            KeyShape::Path(Some("ARTIFACTS")),
            "The folder for all artifacts, relative to the project.",
        ),
        key(
            "run",
            KeyShape::Filled,
            "The command that starts agents without a `run` of their own.",
        ),
        key("agent", KeyShape::Named(&AGENT), "The agents, by name."),
        needed("stage", KeyShape::Many(&STAGE, Some(1), Some(100)), "The stages."),
        key("review", KeyShape::Many(&REVIEW, None, Some(100)), "The reviews."),
        key(
            "risk",
            KeyShape::Many(&RISK, None, None),
            "The rules that require reviews depending on risk.",
        ),
        key("qa", KeyShape::One(&QA), ""),
        key("documentation", KeyShape::One(&DOCUMENTATION), ""),
        key("second_opinion", KeyShape::One(&SECOND_OPINION), ""),
    ],
};

/// An agent.
pub static AGENT: Table = Table {
    name: "agent",
    about: "An agent.",
    keys: &[
        key("description", KeyShape::Text, "A short description."),
        key(
            "run",
            KeyShape::Filled,
            "The command that starts it, if different from the workflow's.",
        ),
    ],
};

/// A stage.
pub static STAGE: Table = Table {
    name: "stage",
    about: "A stage.",
    keys: &[
        needed("name", KeyShape::Name, "Its name."),
        needed("agent", KeyShape::Name, "The agent responsible for it."),
        key("group", KeyShape::Name, "The group of stages that run in parallel."),
        key("after", KeyShape::Names, "The stages and groups that must be done before it."),
        key("optional", KeyShape::Flag(false), "Whether an earlier agent may skip it."),
        key("reads", KeyShape::Names, "The stages and groups whose artifacts its agent receives."),
        needed("artifact", KeyShape::Many(&ARTIFACT, Some(1), None), "Its artifacts."),
        key(
            "approval",
            KeyShape::Word(whens, None),
            "Whether it needs approval before it starts or after it is done.",
        ),
        key(
            "approval_modes",
            KeyShape::Words(modes),
            "The modes in which it needs approval; all if empty.",
        ),
        key("timeout", KeyShape::Time, "The timeout per attempt, such as \"2h\"."),
        key("retries", KeyShape::Retries, "The number of retries."),
        key(
            "on_failure",
            KeyShape::Word(failures, Some("fail")),
            "What happens when it runs out of retries.",
        ),
        key("rollback_to", KeyShape::Name, "The stage to roll back to."),
    ],
};

/// An artifact.
pub static ARTIFACT: Table = Table {
    name: "artifact",
    about: "An artifact.",
    keys: &[
        needed("file", KeyShape::File, "The file name, in its agent's folder."),
        key("schema", KeyShape::Schema, "Its schema: one of anyhook's built-in kinds."),
        key("schema_file", KeyShape::Path(None), "Its schema: a JSON Schema file in the project."),
        key("modes", KeyShape::Words(modes), "The modes in which it is expected; all if empty."),
        key("required", KeyShape::Flag(true), "Whether the stage requires it."),
    ],
};

/// A review.
pub static REVIEW: Table = Table {
    name: "review",
    about: "A review.",
    keys: &[
        needed("name", KeyShape::Name, "Its name."),
        needed("agent", KeyShape::Name, "The reviewing agent."),
        key(
            "stages",
            KeyShape::Names,
            "The stages and groups that are always reviewed, regardless of risk.",
        ),
        key(
            "reads",
            KeyShape::Names,
            "The additional stages and groups whose artifacts the reviewer receives.",
        ),
        needed("artifact", KeyShape::Many(&ARTIFACT, Some(1), None), "Its artifacts."),
        key("timeout", KeyShape::Time, "The timeout per attempt, such as \"2h\"."),
        key("retries", KeyShape::Retries, "The number of retries."),
    ],
};

/// A rule about risk.
pub static RISK: Table = Table {
    name: "risk",
    about: "The reviews required at a risk level.",
    keys: &[
        needed("levels", KeyShape::Words(risks), "The risk levels."),
        needed("reviews", KeyShape::Names, "The reviews."),
        key("stages", KeyShape::Names, "The stages and groups to review; all if empty."),
    ],
};

/// How test results are handled.
pub static QA: Table = Table {
    name: "qa",
    about: "How test results are handled.",
    keys: &[
        needed("stage", KeyShape::Name, "The testing stage."),
        key(
            "blocking",
            KeyShape::Words(severities),
            "The bug severities that block without asking a person.",
        ),
        key("fix", KeyShape::Names, "The stages and groups that fix bugs."),
    ],
};

/// The documentation that agents are given.
pub static DOCUMENTATION: Table = Table {
    name: "documentation",
    about: "The documentation agents receive when they start.",
    keys: &[
        needed("server", KeyShape::Filled, "The server in `.agents/mcp.json` that provides it."),
        needed("stages", KeyShape::Names, "The stages and groups whose agents receive it."),
    ],
};

/// A second opinion.
pub static SECOND_OPINION: Table = Table {
    name: "second_opinion",
    about: "Second opinions, and when to ask for them.",
    keys: &[
        needed("server", KeyShape::Filled, "The server in `.agents/mcp.json` to ask."),
        key("tool", KeyShape::Filled, "The server's tool to call."),
        key("stages", KeyShape::Names, "The stages and groups it reviews."),
        key("modes", KeyShape::Words(modes), "The modes in which it reviews them; all if empty."),
        key("levels", KeyShape::Words(risks), "The risk levels at which it reviews every stage."),
        key("reviews", KeyShape::Names, "The reviews it checks."),
    ],
};

/// Every table, the top level first.
pub static TABLES: [&Table; 9] =
    [&WORKFLOW, &AGENT, &STAGE, &ARTIFACT, &REVIEW, &RISK, &QA, &DOCUMENTATION, &SECOND_OPINION];
