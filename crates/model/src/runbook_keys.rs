//! The keys of a runbook, grouped by the object they belong to, shared by the parser and the
//! schema.

use crate::reaction::Trigger;

/// A key of a runbook, or of an object in it.
#[derive(Clone, Copy, Debug)]
pub struct RunbookKey {
    /// The key as it is written.
    pub name: &'static str,
    /// What it is for, if its value does not say so.
    pub about: Option<&'static str>,
    /// Whether it is required.
    pub is_required: bool,
    /// The values it accepts.
    pub value: RunbookValue,
}

/// The values that a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum RunbookValue {
    /// A text.
    Text,
    /// A text that is a name.
    Name,
    /// `true` or `false`; the default, if it has one.
    Flag(Option<bool>),
    /// One of these words.
    Words(&'static [&'static str]),
    /// A word that no longer has an effect.
    Retired(&'static str),
    /// An object with these keys, and its description.
    Object(&'static str, &'static [RunbookKey]),
    /// An object whose keys are names, each with such a value.
    Named(&'static RunbookValue),
    /// A list with at least one such value.
    List(&'static RunbookValue),
    /// One of these.
    Either(&'static [RunbookValue]),
    /// A definition of the schema, by name.
    Defined(&'static str),
    /// Environment variables.
    Environment,
    /// A reaction to something that happens to an agent.
    Reaction(Trigger),
}

use RunbookValue::{
    Defined, Either, Environment, Flag, List, Name, Named, Object, Reaction, Retired, Text, Words,
};

/// Keys of the runbook itself.
pub const RUNBOOK: &[RunbookKey] = &[
    key("pipeline", Named(&Defined("pipeline"))).about("The pipelines, by name."),
    key("agent", Named(&Defined("agent"))).about("The agents, by name."),
];
/// Keys of the runbook itself that are reserved for future versions.
pub const LATER: &[&str] = &["queue", "worker", "cron"];
/// The definitions of the schema, by name.
pub const DEFINED: &[(&str, RunbookValue)] = &[
    ("pipeline", Object("A pipeline.", PIPELINE)),
    ("step", Object("A step.", STEP)),
    ("agent", Object("An agent and how it is supervised.", AGENT)),
    ("next", Either(&[Name, Object("A step.", NEXT)])),
];
/// The description of a step's successor.
pub const NEXT_ABOUT: &str = "A step: its name, or an object with its name.";
/// Keys of a pipeline.
pub const PIPELINE: &[RunbookKey] = &[
    key("vars", Named(&Either(&[Text, Object("A variable.", VARIABLE)])))
        .about("Its variables: a default value, or an object with details."),
    key("locals", Named(&Text)).about("Strings derived from the variables."),
    key("workspace", Either(&[Words(WORKSPACE_KINDS), Object("Where it runs.", WORKSPACE)])),
    key("notify", Object("The notifications it sends.", NOTIFY)),
    key("step", List(&Defined("step"))).about("Its steps; the first one runs first.").required(),
    key("on_done", Defined("next")),
    key("on_fail", Defined("next")),
    key("on_cancel", Defined("next")),
];
/// Keys of a variable.
pub const VARIABLE: &[RunbookKey] = &[
    key("default", Text).about("The default value."),
    key("required", Flag(None))
        .about("Whether it is required; the default is true if there is no default value."),
    key("description", Text).about("A short description."),
];
const WORKSPACE_KINDS: &[&str] = &["none", "folder", "worktree"];
/// Keys of a workspace.
pub const WORKSPACE: &[RunbookKey] = &[
    key("kind", Words(WORKSPACE_KINDS)).required(),
    key("path", Text).about("Its folder, relative to the project."),
    key("branch", Text).about("The branch that is created for a worktree."),
    key("base", Text).about("The commit or branch to start from."),
    key("keep", Flag(Some(true))).about("Whether to keep it after the pipeline completes."),
];
/// Keys of the notifications.
pub const NOTIFY: &[RunbookKey] =
    &[key("on_start", Text), key("on_done", Text), key("on_fail", Text), key("on_cancel", Text)];
/// Keys of a step.
pub const STEP: &[RunbookKey] = &[
    key("name", Name).required(),
    key("run", Either(&[Text, Object("An agent.", RUN)]))
        .about("A command for `sh`, or an agent.")
        .required(),
    key("timeout", Text).about("The command's timeout, such as \"10m\"."),
    key("on_done", Defined("next")),
    key("on_fail", Defined("next")),
    key("on_cancel", Defined("next")),
];
/// Keys of a step's `run`, if it is not a text.
pub const RUN: &[RunbookKey] = &[key("agent", Name).required()];
/// Keys of a step's successor.
pub const NEXT: &[RunbookKey] = &[key("step", Name).required()];
/// Keys of an agent.
pub const AGENT: &[RunbookKey] = &[
    key("run", Text)
        .about("The command that starts it; `${prompt}` is replaced with its prompt.")
        .required(),
    key("prompt", Text).about("Its prompt."),
    key("prompt_file", Text).about("The file with its prompt, relative to the runbook's folder."),
    key("env", Environment).about("Its environment variables."),
    key("cwd", Text).about("The folder it works in, relative to the workspace."),
    key("host", Text)
        .about("Which agent it is, such as `claude-code`, if this is not clear from its command."),
    key("session", Retired("pty")).about("Not needed: there is only one kind of session."),
    key(Trigger::OnIdle.name(), Reaction(Trigger::OnIdle)),
    key(Trigger::OnPrompt.name(), Reaction(Trigger::OnPrompt)),
    key(Trigger::OnDead.name(), Reaction(Trigger::OnDead)),
    key(Trigger::OnError.name(), Reaction(Trigger::OnError)),
    key(Trigger::OnStop.name(), Reaction(Trigger::OnStop)),
];

const fn key(name: &'static str, value: RunbookValue) -> RunbookKey {
    RunbookKey { name, about: None, is_required: false, value }
}

impl RunbookKey {
    const fn about(mut self, about: &'static str) -> Self {
        self.about = Some(about);
        self
    }

    const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }
}

/// Returns the names of keys.
pub fn names(keys: &[RunbookKey]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}
