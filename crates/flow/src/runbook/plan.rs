//! Plans a runbook's pipeline: every value is filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhook_model::RecordId;
use anyhook_model::pipeline::{
    AgentPlan, PIPELINE_VERSION, PipelineNotices, PipelinePlan, PipelineStep, ShellStep,
    StepCommand, StepWork, Workspace, WorkspaceKind,
};

use super::definition::{
    AgentDefinition, PipelineDefinition, PromptDefinition, Runbook, SpannedName, StepDefinition,
    WorkDefinition, WorkspaceDefinition,
};
use super::finding::{Finding, Span};
use super::shell::{PROMPT_VARIABLE, ShellCommand, interpolate};
use super::template::{Template, TemplatePiece, TemplateReference, TemplateScope};
use super::tree::NodeText;

/// The inputs of a plan.
pub struct PlanRequest<'asked> {
    /// The id of the run.
    pub id: RecordId,
    /// The project's folder.
    pub project: String,
    /// The runbook's file.
    pub runbook: String,
    /// The SHA-256 of the runbook's text.
    pub digest: String,
    /// The given variables.
    pub variables: BTreeMap<String, String>,
    /// The environment of the caller.
    pub environment: &'asked dyn Fn(&str) -> Option<String>,
    /// The folder for workspaces.
    pub workspaces: String,
    /// Reads a file that the runbook names; returns the reason if that fails.
    pub read: &'asked dyn Fn(&str) -> Result<String, String>,
    /// Returns which host a command line starts; values are in it as parts of words.
    pub host_of: &'asked dyn Fn(&str) -> Option<String>,
}

impl fmt::Debug for PlanRequest<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PlanRequest").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The system's limit for the length of a variable or an argument.
const VALUE_LIMIT: usize = 128 * 1024 - 64;

/// Makes the plan of a pipeline, or reports everything that is missing for it.
pub fn plan(
    runbook: &Runbook,
    name: &str,
    asked: &PlanRequest<'_>,
) -> Result<PipelinePlan, Vec<Finding>> {
    let Some(pipeline) = runbook.pipeline(name) else {
        let names = runbook.pipelines.iter().map(|pipeline| pipeline.name.text.as_str());
        let finding = Finding::error("unknown-pipeline", format!("there is no pipeline `{name}`"));
        return Err(vec![finding.meant(name, names, "available")]);
    };
    let mut filler = TemplateFiller {
        asked,
        pipeline,
        variables: BTreeMap::new(),
        locals: BTreeMap::new(),
        root: asked.project.clone(),
        prompt: String::new(),
        findings: Vec::new(),
    };
    filler.variables();
    let workspace = filler.workspace(&pipeline.workspace);
    filler.root.clone_from(&workspace.root);
    let steps = pipeline.steps.iter().map(|step| filler.step(runbook, step)).collect();
    let notify = PipelineNotices {
        on_start: filler.optional(pipeline.notify.on_start.as_ref()),
        on_done: filler.optional(pipeline.notify.on_done.as_ref()),
        on_fail: filler.optional(pipeline.notify.on_fail.as_ref()),
        on_cancel: filler.optional(pipeline.notify.on_cancel.as_ref()),
    };
    if !filler.findings.is_empty() {
        return Err(filler.findings);
    }
    Ok(PipelinePlan {
        v: PIPELINE_VERSION,
        id: asked.id.clone(),
        name: name.to_owned(),
        run_name: None,
        runbook: asked.runbook.clone(),
        digest: asked.digest.clone(),
        project: asked.project.clone(),
        variables: filler.variables,
        workspace,
        steps,
        notify,
        on_done: text_of(pipeline.on_done.as_ref()),
        on_fail: text_of(pipeline.on_fail.as_ref()),
        on_cancel: text_of(pipeline.on_cancel.as_ref()),
    })
}

fn text_of(name: Option<&SpannedName>) -> Option<String> {
    name.map(|name| name.text.clone())
}

struct TemplateFiller<'asked> {
    asked: &'asked PlanRequest<'asked>,
    pipeline: &'asked PipelineDefinition,
    variables: BTreeMap<String, String>,
    /// Evaluated locals; `None` while one is being evaluated.
    locals: BTreeMap<&'asked str, Option<String>>,
    /// Where the pipeline works.
    root: String,
    /// The prompt of the agent that is being filled in.
    prompt: String,
    findings: Vec<Finding>,
}

impl<'asked> TemplateFiller<'asked> {
    /// Reports a finding once.
    fn report(&mut self, finding: Finding) {
        if !self.findings.iter().any(|other| other.message == finding.message) {
            self.findings.push(finding);
        }
    }

    fn variables(&mut self) {
        let pipeline = self.pipeline;
        let name = &pipeline.name.text;
        for variable in &pipeline.variables {
            let key = &variable.name.text;
            let value = match (self.asked.variables.get(key), &variable.default) {
                (Some(given), _) => given.clone(),
                (None, Some(default)) => self.text(default),
                (None, None) => {
                    let about = variable.description.as_ref();
                    let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
                    self.report(
                        Finding::error(
                            "not-given",
                            format!("the variable `{key}` is missing{about}"),
                        )
                        .at(&variable.name.span)
                        .hint(format!("anyhook pipeline run {name} --var {key}=VALUE")),
                    );
                    continue;
                }
            };
            let value = self.checked(value, &format!("the variable `{key}`"), &variable.name.span);
            self.variables.insert(key.clone(), value);
        }
        for key in self.asked.variables.keys().filter(|key| pipeline.variable(key).is_none()) {
            let known = pipeline.variables.iter().map(|variable| variable.name.text.as_str());
            let finding = Finding::error(
                "unknown-variable",
                format!("the pipeline `{name}` has no variable `{key}`"),
            );
            self.report(if pipeline.variables.is_empty() {
                finding.hint("it has no variables")
            } else {
                finding.meant(key, known, "its variables are")
            });
        }
    }

    /// Rejects a value that cannot be passed to a program.
    fn checked(&mut self, value: String, what: &str, span: &Span) -> String {
        if value.contains('\0') {
            let finding = Finding::error("no-text", format!("{what} contains a NUL character"));
            self.report(finding.at(span).hint("remove it: programs cannot receive one"));
        } else if value.len() > VALUE_LIMIT {
            let message = format!("{what} is too long: {} bytes", value.len());
            let hint =
                format!("the limit is {VALUE_LIMIT}; put it in a file and pass the file's path");
            self.report(Finding::error("too-long", message).at(span).hint(hint));
        }
        value
    }

    /// Returns the value of a reference.
    fn value(&mut self, reference: &'_ TemplateReference, span: &Span) -> String {
        match reference {
            TemplateReference::Variable(name) => {
                self.variables.get(name).cloned().unwrap_or_default()
            }
            TemplateReference::Local(name) => self.local(name),
            TemplateReference::WorkspaceRoot => self.root.clone(),
            TemplateReference::PipelineId => self.asked.id.to_string(),
            TemplateReference::PipelineName => self.pipeline.name.text.clone(),
            TemplateReference::Prompt => self.prompt.clone(),
            TemplateReference::Environment { name, default } => {
                let set = (self.asked.environment)(name);
                match (set, default) {
                    (Some(value), Some(default)) if value.is_empty() => default.clone(),
                    (Some(value), _) => {
                        self.checked(value, &format!("the environment variable `{name}`"), span)
                    }
                    (None, Some(default)) => default.clone(),
                    (None, None) => {
                        let message = format!("the environment variable `{name}` is not set");
                        let hint = format!(
                            "set it, or give it a default: `${{{name}:-default}}`; write a shell variable as `${name}`"
                        );
                        self.report(Finding::error("not-set", message).at(span).hint(hint));
                        String::new()
                    }
                }
            }
        }
    }

    fn local(&mut self, name: &str) -> String {
        if let Some(made) = self.locals.get(name) {
            return made.clone().unwrap_or_default();
        }
        let pipeline: &'asked PipelineDefinition = self.pipeline;
        let Some(local) = pipeline.local(name) else { return String::new() };
        self.locals.insert(&local.name.text, None);
        let value = self.text(&local.value);
        let value = self.checked(value, &format!("the local `{name}`"), &local.name.span);
        self.locals.insert(&local.name.text, Some(value.clone()));
        value
    }

    /// Fills in a text.
    fn text(&mut self, template: &Template) -> String {
        let mut text = String::new();
        for piece in &template.pieces {
            match piece {
                TemplatePiece::Text(part) => text.push_str(part),
                TemplatePiece::Value(reference, span) => {
                    text.push_str(&self.value(reference, span));
                }
            }
        }
        self.checked(text, "the text", &template.span)
    }

    fn optional(&mut self, template: Option<&Template>) -> Option<String> {
        template.map(|template| self.text(template))
    }

    /// Fills in a command; its variables are numbered from `first`.
    fn command(&mut self, template: &Template, first: usize) -> StepCommand {
        let ShellCommand { text, values, findings } = interpolate(template, first);
        self.findings.extend(findings);
        let text = self.checked(text, "the command", &template.span);
        let values = values
            .iter()
            .map(|(variable, reference, span)| (variable.clone(), self.value(reference, span)));
        StepCommand { text, values: values.collect() }
    }

    fn workspace(&mut self, definition: &WorkspaceDefinition) -> Workspace {
        let WorkspaceDefinition { kind, path, branch, base, keep } = definition;
        let own = format!("{}-{}", self.pipeline.name.text, self.asked.id);
        let root = match (kind, path) {
            (WorkspaceKind::None, _) => self.asked.project.clone(),
            (_, Some(path)) => {
                let inner = self.text(path);
                if inner.is_empty() {
                    let finding = Finding::error("missing", "the workspace's path is empty");
                    self.report(finding.at(&path.span).hint("omit `path`, or set it"));
                }
                below(&self.asked.project, &inner)
            }
            (_, None) => below(&self.asked.workspaces, &own),
        };
        let is_worktree = *kind == WorkspaceKind::Worktree;
        let branch = self.revision(branch.as_ref(), format!("anyhook/{own}"));
        let base = self.revision(base.as_ref(), "HEAD".to_owned());
        Workspace {
            kind: *kind,
            root,
            keep: *keep,
            branch: is_worktree.then_some(branch),
            base: is_worktree.then_some(base),
        }
    }

    /// Fills in a branch or a commit; one that Git would parse as an option is rejected.
    fn revision(&mut self, template: Option<&Template>, default: String) -> String {
        let Some(template) = template else { return default };
        let name = self.text(template);
        if name.is_empty() || name.starts_with('-') {
            let finding =
                Finding::error("word", format!("`{name}` is not a valid branch or commit"));
            self.report(finding.at(&template.span).hint("use one such as `main`"));
        }
        name
    }

    fn step(&mut self, runbook: &Runbook, step: &StepDefinition) -> PipelineStep {
        let work = match &step.work {
            WorkDefinition::Shell { run, timeout } => StepWork::Shell(ShellStep {
                run: self.command(run, 1),
                timeout_ms: timeout.map(|long| u64::try_from(long.as_millis()).unwrap_or(u64::MAX)),
            }),
            WorkDefinition::Agent(name) => {
                let missing = AgentDefinition::default();
                let agent = runbook.agent(&name.text);
                if agent.is_none() {
                    let finding = Finding::error(
                        "unknown-agent",
                        format!("there is no agent `{}`", name.text),
                    );
                    self.report(finding.at(&name.span));
                }
                StepWork::Agent(Box::new(self.agent(agent.unwrap_or(&missing))))
            }
        };
        PipelineStep {
            name: step.name.text.clone(),
            work,
            on_done: text_of(step.on_done.as_ref()),
            on_fail: text_of(step.on_fail.as_ref()),
            on_cancel: text_of(step.on_cancel.as_ref()),
        }
    }

    fn agent(&mut self, agent: &AgentDefinition) -> AgentPlan {
        let prompt = agent.prompt.as_ref().map(|prompt| self.prompt(prompt));
        self.prompt = prompt.clone().unwrap_or_default();
        let run = self.command(&agent.run, 1);
        let places_prompt = run.values.contains_key(PROMPT_VARIABLE);
        let host = match &agent.host {
            Some(host) => Some(host.text.clone()),
            None => (self.asked.host_of)(&filled(&run)),
        };
        let mut env = BTreeMap::new();
        for (name, value) in &agent.env {
            env.insert(name.text.clone(), self.text(value));
        }
        let cwd = self.optional(agent.cwd.as_ref()).unwrap_or_default();
        let mut reactions = agent.reactions.clone();
        let mut gate_values = BTreeMap::new();
        for text in &agent.texts {
            let filled = if text.is_command {
                let command = self.command(&text.template, gate_values.len() + 1);
                gate_values.extend(command.values);
                command.text
            } else {
                self.text(&text.template)
            };
            if let Some(action) = text.action(&mut reactions) {
                let place = if text.is_command { &mut action.run } else { &mut action.message };
                *place = Some(filled);
            }
        }
        AgentPlan {
            name: agent.name.text.clone(),
            host,
            run,
            prompt,
            places_prompt,
            env,
            cwd: below(&self.root, &cwd),
            reactions,
            gate_values,
        }
    }

    fn prompt(&mut self, prompt: &PromptDefinition) -> String {
        let template = match prompt {
            PromptDefinition::Text(template) => return self.text(template),
            PromptDefinition::File(template) => template,
        };
        let path = self.text(template);
        let text = match (self.asked.read)(&path) {
            Ok(text) => text,
            Err(why) => {
                let finding =
                    Finding::error("prompt-file", format!("`{path}` cannot be read: {why}"));
                self.report(
                    finding.at(&template.span).hint("its path is relative to the runbook's folder"),
                );
                return String::new();
            }
        };
        self.file(&path, &text, &template.span)
    }

    /// Fills in a prompt's file. Its positions are not in the runbook, so they are described in
    /// words.
    fn file(&mut self, path: &str, text: &str, span: &Span) -> String {
        let whole = 0..text.len();
        let text = NodeText::new(text.to_owned(), text, &whole);
        let (template, mut findings) = Template::read(&text, whole, TemplateScope::TEXT);
        for (reference, place) in template.references() {
            let (what, name) = match reference {
                TemplateReference::Variable(name) if self.pipeline.variable(name).is_none() => {
                    ("variable", name)
                }
                TemplateReference::Local(name) if self.pipeline.local(name).is_none() => {
                    ("local", name)
                }
                _ => continue,
            };
            let pipeline = &self.pipeline.name.text;
            let message = format!("there is no {what} `{name}` in the pipeline `{pipeline}`");
            findings.push(Finding::error("unknown-value", message).at(place));
        }
        let seen = self.findings.len();
        let filled = self.text(&template);
        findings.extend(self.findings.drain(seen..));
        for finding in findings {
            let at = finding.span.as_ref().map_or(0, |span| span.start);
            let line = text.text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            let message = format!("{path}:{line}: {}", finding.message);
            self.report(Finding { message, ..finding }.at(span));
        }
        filled
    }
}

/// Returns a command's text with its variables replaced by their values, each a part of one word.
fn filled(command: &StepCommand) -> String {
    let mut text = String::new();
    let mut rest = command.text.as_str();
    while let Some((before, after)) = rest.split_once("${") {
        text.push_str(before);
        let is_outside = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
        let (name, end) = after.split_at(after.find(is_outside).unwrap_or(after.len()));
        match (command.values.get(name), end.strip_prefix('}')) {
            (Some(value), Some(end)) => {
                // It is inside double quotes.
                for letter in value.chars() {
                    text.extend(matches!(letter, '"' | '\\').then_some('\\'));
                    text.push(letter);
                }
                rest = end;
            }
            _ => {
                text.push_str("${");
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

/// Returns a path relative to a folder; an absolute one stays as it is.
fn below(folder: &str, path: &str) -> String {
    if path.is_empty() {
        return folder.to_owned();
    }
    Path::new(folder).join(path).to_string_lossy().into_owned()
}
