//! Reads pipelines and their steps.

use std::ops::Range;

use anyhook_model::pipeline::WorkspaceKind;
use anyhook_model::runbook_keys::{self as keys, names};

use super::TreeReader;
use crate::runbook::definition::{
    LocalDefinition, NotifyDefinition, PipelineDefinition, SpannedName, StepDefinition,
    VariableDefinition, WorkDefinition, WorkspaceDefinition,
};
use crate::runbook::finding::Finding;
use crate::runbook::template::{Template, TemplateScope};
use crate::runbook::tree::{MapEntry, Node, NodeKind, NodeMap};

const KINDS: [(WorkspaceKind, &str); 3] = [
    (WorkspaceKind::None, "none"),
    (WorkspaceKind::Folder, "folder"),
    (WorkspaceKind::Worktree, "worktree"),
];

impl TreeReader {
    pub(super) fn pipeline(&mut self, entry: &MapEntry) -> PipelineDefinition {
        let name = self.name(&entry.key.name, &entry.key.span, "a pipeline");
        let what = name.of("pipeline");
        let mut pipeline = PipelineDefinition { name, ..PipelineDefinition::default() };
        let Some(map) = self.object(entry, &what, &names(keys::PIPELINE)) else { return pipeline };
        if let Some(entry) = map.get("vars") {
            pipeline.variables = self.each(entry, Self::variable);
        }
        if let Some(entry) = map.get("locals") {
            pipeline.locals = self.each(entry, |reader, entry| {
                let name = reader.name(&entry.key.name, &entry.key.span, "a local");
                let value = reader.template_of(entry, TemplateScope::LOCAL).unwrap_or_default();
                LocalDefinition { name, value }
            });
        }
        if let Some(entry) = map.get("workspace") {
            pipeline.workspace = self.workspace(entry);
        }
        if let Some(entry) = map.get("notify") {
            pipeline.notify = self.notify(entry);
        }
        pipeline.steps = self.steps(map);
        if pipeline.steps.is_empty() {
            self.no_steps(entry, map, &what);
        }
        pipeline.on_done = self.next(map, "on_done");
        pipeline.on_fail = self.next(map, "on_fail");
        pipeline.on_cancel = self.next(map, "on_cancel");
        pipeline
    }

    /// Reads an object whose keys are names.
    fn each<T>(
        &mut self,
        entry: &MapEntry,
        mut read: impl FnMut(&mut Self, &MapEntry) -> T,
    ) -> Vec<T> {
        match &entry.node.kind {
            NodeKind::Map(map) => map.iter().map(|entry| read(self, entry)).collect(),
            _ => {
                self.expected(entry, "an object", "its keys are names of your own");
                Vec::new()
            }
        }
    }

    fn variable(&mut self, entry: &MapEntry) -> VariableDefinition {
        let name = self.name(&entry.key.name, &entry.key.span, "a variable");
        if let NodeKind::Text(_) = entry.node.kind {
            let default = self.template_of(entry, TemplateScope::DEFAULT);
            return VariableDefinition { name, default, description: None };
        }
        let NodeKind::Map(map) = &entry.node.kind else {
            self.expected(entry, "a string or an object", "write its default in quotes");
            return VariableDefinition { name, ..VariableDefinition::default() };
        };
        self.known(map, &format!("the variable `{}`", name.text), &names(keys::VARIABLE));
        let mut default = self.template(map, "default", TemplateScope::DEFAULT);
        match self.flag(map, "required") {
            Some(true) => self.no_use(map, &["default"], "on a required variable"),
            // An optional variable without a default is empty.
            Some(false) if default.is_none() => default = Some(Template::default()),
            _ => {}
        }
        let description = self.text(map, "description").map(|(text, _)| text.text.clone());
        VariableDefinition { name, default, description }
    }

    fn workspace(&mut self, entry: &MapEntry) -> WorkspaceDefinition {
        let mut workspace = WorkspaceDefinition::default();
        if let NodeKind::Text(_) = entry.node.kind {
            workspace.kind = self.word(entry, &KINDS).unwrap_or_default();
            return workspace;
        }
        let NodeKind::Map(map) = &entry.node.kind else {
            let hint = "write \"folder\", \"worktree\" or `{ kind = \"worktree\", … }`";
            self.expected(entry, "a string or an object", hint);
            return workspace;
        };
        self.known(map, "a workspace", &names(keys::WORKSPACE));
        let kind = map.get("kind").and_then(|kind| self.word(kind, &KINDS));
        workspace.kind = kind.unwrap_or_default();
        match kind {
            None if map.get("kind").is_none() => self.report(
                Finding::error("missing", "the workspace has no `kind`")
                    .at(entry.key.span.clone())
                    .hint("write `kind = \"worktree\"` or `kind = \"folder\"`"),
            ),
            Some(WorkspaceKind::None) => {
                self.no_use(map, &["path", "branch", "base", "keep"], "without a workspace");
            }
            Some(WorkspaceKind::Folder) => self.no_use(map, &["branch", "base"], "for a folder"),
            Some(WorkspaceKind::Worktree) | None => {}
        }
        workspace.path = self.template(map, "path", TemplateScope::WORKSPACE);
        workspace.branch = self.template(map, "branch", TemplateScope::WORKSPACE);
        workspace.base = self.template(map, "base", TemplateScope::WORKSPACE);
        workspace.keep = self.flag(map, "keep").unwrap_or(true);
        workspace
    }

    fn notify(&mut self, entry: &MapEntry) -> NotifyDefinition {
        let Some(map) = self.object(entry, "`notify`", &names(keys::NOTIFY)) else {
            return NotifyDefinition::default();
        };
        NotifyDefinition {
            on_start: self.template(map, "on_start", TemplateScope::TEXT),
            on_done: self.template(map, "on_done", TemplateScope::TEXT),
            on_fail: self.template(map, "on_fail", TemplateScope::TEXT),
            on_cancel: self.template(map, "on_cancel", TemplateScope::TEXT),
        }
    }

    /// Reports that a pipeline has no steps, unless something is wrong with them.
    fn no_steps(&mut self, pipeline: &MapEntry, map: &NodeMap, what: &str) {
        let is_empty = |entry: &MapEntry| entry.node.kind == NodeKind::List(Vec::new());
        if !map.get("step").is_none_or(is_empty) {
            return;
        }
        let name = Some(pipeline.key.name.as_str()).filter(|name| !name.is_empty());
        let hint = format!(
            "write `step \"name\" {{ … }}` in HCL, `[[pipeline.{}.step]]` in TOML",
            name.unwrap_or("NAME")
        );
        let finding = Finding::error("no-steps", format!("{what} has no steps"));
        self.report(finding.at(pipeline.key.span.clone()).hint(hint));
    }

    fn steps(&mut self, map: &NodeMap) -> Vec<StepDefinition> {
        let steps = match map.get("step") {
            Some(MapEntry { node: Node { kind: NodeKind::List(steps), .. }, .. }) => {
                steps.as_slice()
            }
            Some(entry) => {
                let hint = "write `step \"name\" { … }` in HCL, `[[pipeline.NAME.step]]` in TOML";
                self.expected(entry, "a list of steps", hint);
                return Vec::new();
            }
            None => &[],
        };
        let mut found: Vec<StepDefinition> = Vec::new();
        for node in steps {
            let Some(step) = self.step(node) else { continue };
            let name = &step.name;
            if !name.text.is_empty() && found.iter().any(|other| other.name == *name) {
                self.report(
                    Finding::error("twice", format!("duplicate step `{}`", name.text))
                        .at(&name.span)
                        .hint("give one of them another name"),
                );
            }
            found.push(step);
        }
        found
    }

    fn step(&mut self, node: &Node) -> Option<StepDefinition> {
        let NodeKind::Map(map) = &node.kind else {
            if node.is_unreadable() {
                return None;
            }
            let finding =
                Finding::error("type", format!("a step is {}, not an object", node.kind.what()));
            self.report(finding.at(node.span.clone()).hint("its keys are name, run, on_done, …"));
            return None;
        };
        if map.get("name").is_none() {
            let finding = Finding::error("missing", "the step has no `name`");
            self.report(finding.at(node.span.clone()).hint("write `name = \"build\"`"));
        }
        let name = match self.text(map, "name") {
            Some((text, span)) => self.name(&text.text, span, "a step"),
            None => SpannedName { text: String::new(), span: node.span.clone().into() },
        };
        self.known(map, &name.of("step"), &names(keys::STEP));
        let work = self.work(map, &name);
        Some(StepDefinition {
            name,
            work,
            on_done: self.next(map, "on_done"),
            on_fail: self.next(map, "on_fail"),
            on_cancel: self.next(map, "on_cancel"),
        })
    }

    fn work(&mut self, map: &NodeMap, step: &SpannedName) -> WorkDefinition {
        let hint = "write `run = \"make\"` or `run = { agent = \"name\" }`";
        let run = match map.get("run") {
            Some(MapEntry { node: Node { kind: NodeKind::Map(run), span }, .. }) => {
                self.no_use(map, &["timeout"], "on an agent step; use `on_idle` and similar keys");
                return self.agent_of(run, span);
            }
            Some(entry) if matches!(entry.node.kind, NodeKind::Text(_)) => {
                self.command(entry, TemplateScope::TEXT)
            }
            Some(entry) => {
                self.expected(entry, "a command or an agent", hint);
                None
            }
            None => {
                let message = format!("{} has no `run`", step.of("step"));
                self.report(Finding::error("missing", message).at(&step.span).hint(hint));
                None
            }
        };
        let timeout = map.get("timeout").and_then(|entry| self.duration(entry));
        WorkDefinition::Shell { run: run.unwrap_or_default(), timeout }
    }

    /// Reads the agent of a step's `run`.
    fn agent_of(&mut self, run: &NodeMap, span: &Range<usize>) -> WorkDefinition {
        self.known(run, "`run`", &names(keys::RUN));
        if run.get("agent").is_none() {
            let finding = Finding::error("missing", "`run` does not name an agent");
            let hint = "write `run = { agent = \"name\" }`";
            self.report(finding.at(span.clone()).hint(hint));
        }
        match self.text(run, "agent") {
            Some((text, span)) => WorkDefinition::Agent(SpannedName {
                text: text.text.clone(),
                span: span.clone().into(),
            }),
            None => WorkDefinition::Shell { run: Template::default(), timeout: None },
        }
    }

    /// Reads a step reference: a step's name, or `{ step = "name" }`.
    fn next(&mut self, map: &NodeMap, key: &str) -> Option<SpannedName> {
        let entry = map.get(key)?;
        let (text, span) = match &entry.node.kind {
            NodeKind::Text(text) => (text, &entry.node.span),
            NodeKind::Map(next) => {
                self.known(next, &format!("`{key}`"), &names(keys::NEXT));
                if next.get("step").is_none() {
                    let finding =
                        Finding::error("missing", format!("`{key}` does not name a step"));
                    let hint = format!("write `{key} = {{ step = \"name\" }}`");
                    self.report(finding.at(entry.node.span.clone()).hint(hint));
                }
                self.text(next, "step")?
            }
            _ => {
                let hint = format!("write `{key} = {{ step = \"name\" }}`");
                self.expected(entry, "a step", &hint);
                return None;
            }
        };
        Some(SpannedName { text: text.text.clone(), span: span.clone().into() })
    }
}
