//! Every key that a workflow may have, by what it is a key of, and what it may be: the reader knows
//! its keys from here, and the JSON Schema is made of it.

use crate::words::{Mode, OnFailure, Risk, Severity, When};

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub shape: Shape,
    /// What it says.
    pub about: &'static str,
    /// Whether it must be there.
    pub required: bool,
}

/// Something that has keys.
#[derive(Debug)]
pub struct Table {
    /// Its name in the schema.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// Returns the words that a key may be.
pub type Words = fn() -> Vec<&'static str>;

/// What a key may be.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A name of its own, which is this one if it is not given.
    OwnName(&'static str),
    /// A name of something in the file.
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
    /// True or false; false if it is not given, or true.
    Flag(bool),
    /// How long something takes.
    Time,
    /// How often something is tried again.
    Retries,
    /// One of some words, which may have a default.
    Word(Words, Option<&'static str>),
    /// Some of some words.
    Words(Words),
    /// A table.
    One(&'static Table),
    /// Tables by their names.
    Named(&'static Table),
    /// Tables one after the other, at least and at most so many.
    Many(&'static Table, Option<u32>, Option<u32>),
}

const fn key(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, about, required: false }
}

const fn needed(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, about, required: true }
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

/// The whole.
pub static WORKFLOW: Table = Table {
    name: "workflow",
    about: "A project's `.agents/workflow.toml`: who does what, in which order, what they hand on, and who is asked.",
    keys: &[
        key("name", Shape::OwnName("workflow"), "The workflow's name."),
        key(
            "folder",
            Shape::Path(Some("ARTIFACTS")),
            "The folder of all artifacts, below the project.",
        ),
        key("run", Shape::Filled, "The command that starts agents that have none of their own."),
        key("agent", Shape::Named(&AGENT), "Who works, by name."),
        needed("stage", Shape::Many(&STAGE, Some(1), Some(100)), "What is done."),
        key("review", Shape::Many(&REVIEW, None, Some(100)), "Who looks at what was done."),
        key("risk", Shape::Many(&RISK, None, None), "Which risk asks for which reviews."),
        key("qa", Shape::One(&QA), ""),
        key("documentation", Shape::One(&DOCUMENTATION), ""),
        key("second_opinion", Shape::One(&SECOND_OPINION), ""),
    ],
};

/// An agent.
pub static AGENT: Table = Table {
    name: "agent",
    about: "An agent.",
    keys: &[
        key("description", Shape::Text, "What it is for."),
        key("run", Shape::Filled, "The command that starts it, if it is not that of the workflow."),
    ],
};

/// A stage.
pub static STAGE: Table = Table {
    name: "stage",
    about: "A stage.",
    keys: &[
        needed("name", Shape::Name, "Its name."),
        needed("agent", Shape::Name, "Who owns it."),
        key("group", Shape::Name, "The group of stages that are done side by side."),
        key("after", Shape::Names, "The stages and groups that come before it."),
        key(
            "optional",
            Shape::Flag(false),
            "Whether an earlier agent may say that it is not needed.",
        ),
        key("reads", Shape::Names, "The stages and groups whose artifacts its agent is given."),
        needed("artifact", Shape::Many(&ARTIFACT, Some(1), None), "What it makes."),
        key(
            "approval",
            Shape::Word(whens, None),
            "Whether a person is asked before it begins or when it is done.",
        ),
        key("approval_modes", Shape::Words(modes), "In which modes; in all if there is none."),
        key("timeout", Shape::Time, "How long each time, such as \"2h\"."),
        key("retries", Shape::Retries, "How often it is tried again."),
        key(
            "on_failure",
            Shape::Word(failures, Some("fail")),
            "What is done when it failed as often as it may.",
        ),
        key("rollback_to", Shape::Name, "The stage that is done again then."),
    ],
};

/// An artifact.
pub static ARTIFACT: Table = Table {
    name: "artifact",
    about: "An artifact.",
    keys: &[
        needed("file", Shape::File, "The file's name, in its agent's folder."),
        key("schema", Shape::Schema, "What it must be: a kind that anyhook knows."),
        key(
            "schema_file",
            Shape::Path(None),
            "What it must be: a JSON Schema of the project's own.",
        ),
        key("modes", Shape::Words(modes), "In which modes it is made; in all if there is none."),
        key("required", Shape::Flag(true), "Whether the stage is not done without it."),
    ],
};

/// A review.
pub static REVIEW: Table = Table {
    name: "review",
    about: "A review.",
    keys: &[
        needed("name", Shape::Name, "Its name."),
        needed("agent", Shape::Name, "Who reviews."),
        key(
            "stages",
            Shape::Names,
            "The stages and groups that are reviewed whatever the risk is.",
        ),
        key(
            "reads",
            Shape::Names,
            "The stages and groups whose artifacts the reviewer is given, too.",
        ),
        needed("artifact", Shape::Many(&ARTIFACT, Some(1), None), "What it makes."),
        key("timeout", Shape::Time, "How long each time, such as \"2h\"."),
        key("retries", Shape::Retries, "How often it is tried again."),
    ],
};

/// A rule about risk.
pub static RISK: Table = Table {
    name: "risk",
    about: "Which reviews a risk asks for.",
    keys: &[
        needed("levels", Shape::Words(risks), "The risks."),
        needed("reviews", Shape::Names, "The reviews."),
        key("stages", Shape::Names, "Of which stages and groups; of all if there is none."),
    ],
};

/// What the tests decide.
pub static QA: Table = Table {
    name: "qa",
    about: "What the tests decide.",
    keys: &[
        needed("stage", Shape::Name, "The stage that tests."),
        key("blocking", Shape::Words(severities), "Bugs so bad that no person is asked."),
        key("fix", Shape::Names, "The stages and groups that fix bugs."),
    ],
};

/// The documentation that agents are given.
pub static DOCUMENTATION: Table = Table {
    name: "documentation",
    about: "Whose documentation an agent is given when it begins.",
    keys: &[
        needed("server", Shape::Filled, "The server of `.agents/mcp.json` that has it."),
        needed("stages", Shape::Names, "The stages and groups whose agents are given it."),
    ],
};

/// A second opinion.
pub static SECOND_OPINION: Table = Table {
    name: "second_opinion",
    about: "Who else looks at what was done, and at what.",
    keys: &[
        needed("server", Shape::Filled, "The server of `.agents/mcp.json` that is asked."),
        key("tool", Shape::Filled, "The tool of it."),
        key("stages", Shape::Names, "The stages and groups that it looks at."),
        key(
            "modes",
            Shape::Words(modes),
            "In which modes it looks at them; in all if there is none.",
        ),
        key("levels", Shape::Words(risks), "The risks at which it looks at every stage."),
        key("reviews", Shape::Names, "The reviews that it looks at."),
    ],
};

/// Every table, the whole first.
pub static TABLES: [&Table; 9] =
    [&WORKFLOW, &AGENT, &STAGE, &ARTIFACT, &REVIEW, &RISK, &QA, &DOCUMENTATION, &SECOND_OPINION];
