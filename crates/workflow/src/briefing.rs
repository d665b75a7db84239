//! Briefing: the text an agent is given before it starts: who it is and where the workflow is, the
//! project's configuration, the artifacts of others, the expected output.
//!
//! Agents take in about ten thousand characters at a time, so every part has a limit; what is
//! longer is cut and says where the rest is.

use anyhook_mcp::context7::DocumentationReport;
use anyhook_model::report::workflow::{FindingsReport, WorkflowContextReport};
use anyhook_model::truncate::first_chars;
use serde_json::{Value, json};

use crate::context::{self as rules, AgentContext, ExpectedArtifact};
use crate::definition::SchemaChoice;
use crate::documentation::reports_for;
use crate::error::{FileKind, WorkflowError};
use crate::findings::Findings;
use crate::machine::{self, Invocation};
use crate::opinion::sent_back_with;
use crate::project::{CONFIG, Project};
use crate::state::WorkflowState;

/// A part of a briefing. The parts come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BriefingPart {
    /// Its role, its task, and the state of the workflow.
    WorkflowState,
    /// `project-config.json`.
    ProjectConfig,
    /// Artifacts of earlier stages, and current documentation.
    UpstreamArtifacts,
    /// What it is to make.
    OutputSchema,
}

impl BriefingPart {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::WorkflowState, Self::ProjectConfig, Self::UpstreamArtifacts, Self::OutputSchema];

    /// Maximum number of characters, depending on whether the agent is sent back: for one that is,
    /// what to change matters more than what it was given before.
    fn limit(self, is_sent_back: bool) -> usize {
        match (self, is_sent_back) {
            (Self::WorkflowState, false) => 2000,
            (Self::WorkflowState, true) => 5000,
            (Self::ProjectConfig, false) => 1000,
            (Self::ProjectConfig, true) => 700,
            (Self::UpstreamArtifacts, false) => 4000,
            (Self::UpstreamArtifacts, true) => 1900,
            (Self::OutputSchema, false) => 2700,
            (Self::OutputSchema, true) => 2100,
        }
    }
}

/// Maximum number of characters of the example signal.
const SIGNAL: usize = 500;

/// Everything that an agent is given.
#[derive(Debug)]
pub struct Briefing {
    context: AgentContext,
    description: Option<String>,
    state: WorkflowState,
    config: Config,
    upstream: Vec<(String, Value)>,
    documentation: Vec<DocumentationReport>,
    schemas: Vec<(ExpectedArtifact, Value)>,
    signal: String,
    /// What distinguishes this work from all others of the same run.
    mark: String,
}

impl Briefing {
    /// Reads everything that an agent is given.
    pub fn read(
        project: &Project,
        state: &WorkflowState,
        agent: &str,
    ) -> Result<Self, WorkflowError> {
        let mut context = rules::context(&project.definition, state, agent)?;
        let mut upstream = Vec::new();
        for made in &context.upstream {
            let (agent, path, stage) = (agent.to_owned(), made.path.clone(), made.stage.clone());
            let value = match project.read_json(&made.path) {
                Ok(value) => value,
                Err(why) => {
                    return Err(WorkflowError::InputUnreadable { agent, path, stage, why });
                }
            };
            let maker = state.stages.get(&made.stage);
            if maker.is_some_and(|maker| maker.has_changed(&made.path, &value)) {
                return Err(WorkflowError::InputChanged { agent, path, stage });
            }
            upstream.push((made.path.clone(), value));
        }
        let mut schemas = Vec::new();
        for output in &context.outputs {
            schemas.push((output.clone(), schema(project, &output.schema)?));
        }
        // The person who sends something back has read the second opinion; the agent has not.
        if !context.feedback.is_empty() && context.reviewed.is_none() {
            context.findings.extend(sent_back_with(project, state, &context));
        }
        let described = project.definition.agent(agent);
        let next = machine::next(&project.definition, state);
        let is_this = |one: &&Invocation| one.agent == agent && one.stage == context.stage;
        let mark =
            next.iter().find(is_this).map_or_else(|| context.stage.clone(), Invocation::mark);
        Ok(Self {
            description: described.and_then(|agent| agent.description.clone()),
            signal: project.signal_path(agent),
            mark,
            config: Config::read(project)?,
            documentation: reports_for(project, &context.stage),
            state: state.clone(),
            context,
            upstream,
            schemas,
        })
    }

    /// Returns it as data, uncut.
    pub fn report(&self) -> WorkflowContextReport {
        let context = &self.context;
        let schemas = self.schemas.iter();
        WorkflowContextReport {
            agent: context.agent.clone(),
            stage: context.stage.clone(),
            reviewed_stage: context.reviewed.clone(),
            feedback: context.feedback.clone(),
            findings: context.findings.iter().map(found).collect(),
            project_config: self.config.value().cloned(),
            workflow_state: self.state.to_json(),
            upstream_artifacts: self.upstream.iter().cloned().collect(),
            documentation: self.documentation.iter().filter_map(value).collect(),
            output_schemas: schemas
                .map(|(one, schema)| (one.path.clone(), schema.clone()))
                .collect(),
            signal: self.signal.clone(),
        }
    }

    /// Returns it as the text that an agent is given.
    pub fn text(&self) -> String {
        let parts = BriefingPart::ALL.into_iter().map(|part| self.part(part));
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// Returns one part; empty if there is nothing to say.
    pub fn part(&self, part: BriefingPart) -> String {
        let limit = part.limit(self.is_sent_back());
        match part {
            BriefingPart::WorkflowState => self.task(limit),
            BriefingPart::ProjectConfig => match &self.config {
                Config::Read(config) => block(CONFIG, config, CONFIG, limit),
                Config::Absent => format!("## {CONFIG}\n{NO_CONFIG}"),
            },
            BriefingPart::UpstreamArtifacts => self.upstream(limit),
            BriefingPart::OutputSchema => self.outputs(limit),
        }
    }

    fn is_sent_back(&self) -> bool {
        !(self.context.feedback.is_empty() && self.context.findings.is_empty())
    }

    /// Returns why the agent is sent back, in about `room` characters: notes first, then findings.
    fn why_again(&self, room: usize) -> String {
        let AgentContext { agent, feedback, findings, .. } = &self.context;
        if !self.is_sent_back() {
            return String::new();
        }
        let all = format!("anyhook workflow context {agent} --json");
        let notes: Vec<String> = feedback.iter().map(|line| format!("- {line}")).collect();
        // Findings are the actual work; a note must not take all of the room.
        let for_notes = if findings.is_empty() { room } else { room / 2 };
        let title = "Do this differently this time:";
        let mut text = format!("{title}\n{}", cut(&notes.join("\n"), for_notes, &all));
        let mut left = room.saturating_sub(text.chars().count());
        for (index, findings) in findings.iter().enumerate() {
            let told = findings.text(left / (self.context.findings.len() - index));
            left = left.saturating_sub(told.chars().count() + 1);
            text = format!("{text}\n{told}");
        }
        text
    }

    fn task(&self, limit: usize) -> String {
        let AgentContext { agent, stage, reviewed, outputs, .. } = &self.context;
        let state = &self.state;
        let mode = state.execution_mode.map_or("not set yet", |mode| mode.name());
        let about = self.description.as_deref().unwrap_or("");
        let mut lines = vec![format!("# You are `{agent}` in the workflow `{}`", state.workflow)];
        lines.extend((!about.is_empty()).then(|| about.to_owned()));
        lines.push(match reviewed {
            Some(reviewed) => format!("You review the stage `{reviewed}` (`{stage}`)."),
            None => format!("Your stage is `{stage}`."),
        });
        lines.push(format!(
            "The workflow is {}; execution mode: {mode}; risk: {}. {}",
            state.status.name(),
            state.risk().name(),
            stages(state),
        ));
        let paths: Vec<String> =
            outputs.iter().map(|output| format!("`{}`", output.path)).collect();
        let done = format!(
            "When you are done: write {}, then `{}` as below, then run `anyhook workflow complete {}`. Fix every error it reports.",
            paths.join(", "),
            self.signal,
            self.signal
        );
        // The task itself is never cut, however much was said about it.
        let room = limit.saturating_sub(SIGNAL + done.chars().count());
        let head = cut(&lines.join("\n"), room.min(1200), "anyhook workflow status");
        let why = self.why_again(room.saturating_sub(head.chars().count() + 10));
        let signal = self.signal();
        let all = [head, why, done, signal];
        all.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Returns an example of the agent's signal.
    pub fn signal(&self) -> String {
        let AgentContext { agent, stage, reviewed, outputs, .. } = &self.context;
        let required = outputs.iter().filter(|output| output.required);
        let paths: Vec<&str> = required.map(|output| output.path.as_str()).collect();
        let mut signal = json!({
            "id": format!("{}-{}", self.state.id, self.mark),
            "agent": agent,
            "stage": stage,
            "status": "completed",
            "completed_at": anyhook_engine::now().to_string(),
            "output_artifacts": paths,
            "summary": "what was done, in one sentence",
        });
        if let (Some(reviewed), Some(signal)) = (reviewed, signal.as_object_mut()) {
            signal.insert("reviewed_stage".to_owned(), json!(reviewed));
        }
        signal.to_string()
    }

    fn upstream(&self, limit: usize) -> String {
        let share = limit / (self.upstream.len() + self.documentation.len()).max(1);
        let blocks = self.upstream.iter().map(|(path, value)| block(path, value, path, share));
        let documentation = self.documentation.iter().map(|report| documented(report, share));
        blocks.chain(documentation).collect::<Vec<_>>().join("\n\n")
    }

    fn outputs(&self, limit: usize) -> String {
        let share = limit / self.schemas.len().max(1);
        let blocks = self.schemas.iter().map(|(output, schema)| {
            let (name, rest) = match &output.schema {
                SchemaChoice::Kind(kind) => (kind.to_string(), format!("anyhook schema {kind}")),
                SchemaChoice::File(file) => (file.text.clone(), file.text.clone()),
            };
            let optional = if output.required { "" } else { ", if there is one" };
            let title = format!("{}{optional} must conform to the JSON Schema {name}", output.path);
            let whole = schema.to_string().chars().count() + title.len();
            // Descriptions help, but are dropped first if there is no room.
            let schema = if whole > share { without_descriptions(schema) } else { schema.clone() };
            block(&title, &schema, &rest, share)
        });
        blocks.collect::<Vec<_>>().join("\n\n")
    }
}

/// The project's configuration, which every agent should be given.
#[derive(Debug)]
enum Config {
    Read(Value),
    Absent,
}

/// The message if the project's configuration is missing.
pub const NO_CONFIG: &str = "project-config.json is missing: agents learn nothing about the project's technology, constraints and risk. Write it again, or restore it from version control; `anyhook workflow init` creates an empty one.";

impl Config {
    fn read(project: &Project) -> Result<Self, WorkflowError> {
        Ok(project.config()?.map_or(Self::Absent, Self::Read))
    }

    fn value(&self) -> Option<&Value> {
        match self {
            Self::Read(value) => Some(value),
            Self::Absent => None,
        }
    }
}

fn found(findings: &Findings) -> FindingsReport {
    let Findings { source, file, summary, items, omitted } = findings.clone();
    FindingsReport { source, file, summary, items, omitted }
}

/// Returns the complete text that an agent is given.
pub fn text(
    project: &Project,
    state: &WorkflowState,
    agent: &str,
) -> Result<String, WorkflowError> {
    Ok(Briefing::read(project, state, agent)?.text())
}

/// Describes the status of the stages.
fn stages(state: &WorkflowState) -> String {
    let each = state.stages.iter().map(|(name, stage)| format!("{name} {}", stage.status.name()));
    format!("Stages: {}.", each.collect::<Vec<_>>().join(", "))
}

fn schema(project: &Project, choice: &SchemaChoice) -> Result<Value, WorkflowError> {
    match choice {
        SchemaChoice::Kind(kind) => Ok(serde_json::from_str(kind.text()).unwrap_or_default()),
        SchemaChoice::File(file) => {
            let schema = project.read_json(&file.text);
            schema.map_err(|error| WorkflowError::file(FileKind::Other, &file.text, error))
        }
    }
}

fn value(report: &DocumentationReport) -> Option<Value> {
    serde_json::to_value(report).ok()
}

/// Returns what is known about a topic, truncated to a length.
fn documented(report: &DocumentationReport, limit: usize) -> String {
    let DocumentationReport { topic, source, summary, reason, .. } = report;
    let said = match (summary, reason) {
        (Some(summary), _) => summary.clone(),
        (None, Some(reason)) => format!("unavailable: {reason}"),
        (None, None) => "unavailable".to_owned(),
    };
    let room = limit.saturating_sub(topic.len() + source.len() + 90);
    format!(
        "## Current documentation for {topic}, from {source}\n{}",
        cut(&said, room, "anyhook context7")
    )
}

/// Returns a value below a title, truncated to a length.
fn block(title: &str, value: &Value, rest: &str, limit: usize) -> String {
    let text = value.to_string();
    let room = limit.saturating_sub(title.len() + rest.len() + 50);
    format!("## {title}\n```json\n{}\n```", cut(&text, room, rest))
}

/// Returns the beginning of a text, and where the rest is.
fn cut(text: &str, limit: usize, rest: &str) -> String {
    let kept = first_chars(text, limit);
    if kept.len() == text.len() {
        return text.to_owned();
    }
    format!("{kept}… (truncated; for the rest: {rest})")
}

fn without_descriptions(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            // A property may have this name, too: in that case its schema is an object.
            let is_kept = |(name, member): &(&String, &Value)| {
                !(matches!(name.as_str(), "description" | "title" | "$schema")
                    && member.is_string())
            };
            let kept = members.iter().filter(is_kept);
            kept.map(|(name, member)| (name.clone(), without_descriptions(member))).collect()
        }
        Value::Array(elements) => elements.iter().map(without_descriptions).collect(),
        other => other.clone(),
    }
}
