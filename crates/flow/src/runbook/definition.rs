//! The types of a runbook: its pipelines, steps and agents as they were written.

use anyhook_model::pipeline::WorkspaceKind;
use anyhook_model::reaction::{Action, Reactions, Trigger};
use jiff::SignedDuration;

use super::finding::Span;
use super::template::Template;

/// A runbook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runbook {
    /// Its pipelines, in the order of the text.
    pub pipelines: Vec<PipelineDefinition>,
    /// Its agents, in the order of the text.
    pub agents: Vec<AgentDefinition>,
}

impl Runbook {
    /// Returns a pipeline by its name.
    pub fn pipeline(&self, name: &str) -> Option<&PipelineDefinition> {
        self.pipelines.iter().find(|pipeline| pipeline.name.text == name)
    }

    /// Returns an agent by its name.
    pub fn agent(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name.text == name)
    }
}

/// A name and its position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpannedName {
    /// The name.
    pub text: String,
    /// Its position.
    pub span: Span,
}

impl SpannedName {
    /// Describes what it names, such as "the step `build`"; the name may be empty.
    pub fn of(&self, kind: &str) -> String {
        match self.text.as_str() {
            "" => format!("the {kind}"),
            name => format!("the {kind} `{name}`"),
        }
    }
}

/// A pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineDefinition {
    /// Its name.
    pub name: SpannedName,
    /// Its variables.
    pub variables: Vec<VariableDefinition>,
    /// Strings derived from the variables.
    pub locals: Vec<LocalDefinition>,
    /// Where it runs.
    pub workspace: WorkspaceDefinition,
    /// The notifications it sends.
    pub notify: NotifyDefinition,
    /// Its steps; the first one runs first.
    pub steps: Vec<StepDefinition>,
    /// The step to run when everything is done.
    pub on_done: Option<SpannedName>,
    /// The step to run when a step fails that has no `on_fail` of its own.
    pub on_fail: Option<SpannedName>,
    /// The step to run when it is cancelled.
    pub on_cancel: Option<SpannedName>,
}

impl PipelineDefinition {
    /// Returns a step by its name.
    pub fn step(&self, name: &str) -> Option<&StepDefinition> {
        self.steps.iter().find(|step| step.name.text == name)
    }

    /// Returns a variable by its name.
    pub fn variable(&self, name: &str) -> Option<&VariableDefinition> {
        self.variables.iter().find(|variable| variable.name.text == name)
    }

    /// Returns a local by its name.
    pub fn local(&self, name: &str) -> Option<&LocalDefinition> {
        self.locals.iter().find(|local| local.name.text == name)
    }

    /// Returns the names of the agents that its steps refer to.
    pub fn agents(&self) -> impl Iterator<Item = &SpannedName> {
        self.steps.iter().filter_map(|step| match &step.work {
            WorkDefinition::Agent(name) => Some(name),
            WorkDefinition::Shell { .. } => None,
        })
    }

    /// Returns all of its texts that may contain values.
    pub(super) fn templates(&self) -> Vec<&Template> {
        let Self { workspace, notify, .. } = self;
        let defaults = self.variables.iter().filter_map(|variable| variable.default.as_ref());
        let locals = self.locals.iter().map(|local| &local.value);
        let commands = self.steps.iter().filter_map(|step| match &step.work {
            WorkDefinition::Shell { run, .. } => Some(run),
            WorkDefinition::Agent(_) => None,
        });
        let others = [
            &workspace.path,
            &workspace.branch,
            &workspace.base,
            &notify.on_start,
            &notify.on_done,
            &notify.on_fail,
            &notify.on_cancel,
        ];
        defaults.chain(locals).chain(commands).chain(others.into_iter().flatten()).collect()
    }
}

/// A variable of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableDefinition {
    /// Its name.
    pub name: SpannedName,
    /// The default value; without one, the variable must be given.
    pub default: Option<Template>,
    /// A short description.
    pub description: Option<String>,
}

/// A text that a pipeline defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalDefinition {
    /// Its name.
    pub name: SpannedName,
    /// The text.
    pub value: Template,
}

/// Where a pipeline runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceDefinition {
    /// Its kind.
    pub kind: WorkspaceKind,
    /// Its folder, relative to the project.
    pub path: Option<Template>,
    /// The branch of a worktree.
    pub branch: Option<Template>,
    /// The commit or branch to start from.
    pub base: Option<Template>,
    /// Whether it is kept when the pipeline completes.
    pub keep: bool,
}

impl Default for WorkspaceDefinition {
    fn default() -> Self {
        Self { kind: WorkspaceKind::None, path: None, branch: None, base: None, keep: true }
    }
}

/// The messages for a person about a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotifyDefinition {
    /// When it starts.
    pub on_start: Option<Template>,
    /// When it completes.
    pub on_done: Option<Template>,
    /// When it fails.
    pub on_fail: Option<Template>,
    /// When it is cancelled.
    pub on_cancel: Option<Template>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDefinition {
    /// Its name.
    pub name: SpannedName,
    /// What it does.
    pub work: WorkDefinition,
    /// The next step; if absent, the pipeline is done.
    pub on_done: Option<SpannedName>,
    /// The step to run if it fails.
    pub on_fail: Option<SpannedName>,
    /// The step to run if it is cancelled.
    pub on_cancel: Option<SpannedName>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkDefinition {
    /// Runs a command.
    Shell {
        /// The command.
        run: Template,
        /// How long it may take.
        timeout: Option<SignedDuration>,
    },
    /// Runs an agent.
    Agent(SpannedName),
}

/// An agent and how it is supervised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDefinition {
    /// Its name.
    pub name: SpannedName,
    /// The command that starts it.
    pub run: Template,
    /// Its prompt.
    pub prompt: Option<PromptDefinition>,
    /// Its environment variables.
    pub env: Vec<(SpannedName, Template)>,
    /// The folder it works in, relative to the workspace.
    pub cwd: Option<Template>,
    /// Which agent it is, if its command does not show it.
    pub host: Option<SpannedName>,
    /// What is done when it is idle, asks, dies, fails or stops; the texts are as written.
    pub reactions: Reactions,
    /// The texts in `reactions`.
    pub texts: Vec<ReactionText>,
}

/// Where a prompt comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptDefinition {
    /// It is given inline.
    Text(Template),
    /// It is in the file with this path.
    File(Template),
}

/// A text in a reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReactionText {
    /// The trigger.
    pub trigger: Trigger,
    /// The index of the rule, if the trigger has several.
    pub rule: usize,
    /// Whether it is the command of a gate instead of a message.
    pub is_command: bool,
    /// The text.
    pub template: Template,
}

impl ReactionText {
    /// Returns the action that the text belongs to.
    pub(super) fn action<'all>(&self, reactions: &'all mut Reactions) -> Option<&'all mut Action> {
        match self.trigger {
            Trigger::OnIdle => Some(&mut reactions.on_idle),
            Trigger::OnPrompt => Some(&mut reactions.on_prompt),
            Trigger::OnDead => Some(&mut reactions.on_dead),
            Trigger::OnStop => Some(&mut reactions.on_stop),
            Trigger::OnError => reactions.on_error.get_mut(self.rule).map(|rule| &mut rule.action),
        }
    }
}

impl AgentDefinition {
    /// Returns all of its texts that may contain values.
    pub(super) fn templates(&self) -> Vec<&Template> {
        let prompt = self.prompt.iter().map(|prompt| match prompt {
            PromptDefinition::Text(template) | PromptDefinition::File(template) => template,
        });
        let env = self.env.iter().map(|(_, value)| value);
        let texts = self.texts.iter().map(|text| &text.template);
        [&self.run].into_iter().chain(prompt).chain(env).chain(&self.cwd).chain(texts).collect()
    }
}
