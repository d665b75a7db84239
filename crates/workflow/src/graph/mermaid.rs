//! Draws a workflow as Mermaid text.

use std::collections::BTreeMap;

use super::{GateStatus, approval, gate_lines, gate_status, reviewed, state_of};
use crate::definition::{StageDefinition, WorkflowDefinition};
use crate::state::WorkflowState;
use crate::vocabulary::{StageStatus, When};

/// Reserved words of Mermaid that cannot be the name of a node.
const RESERVED: &[&str] = &[
    "call",
    "class",
    "classDef",
    "click",
    "default",
    "direction",
    "end",
    "flowchart",
    "graph",
    "href",
    "linkStyle",
    "style",
    "subgraph",
];

/// Draws a workflow; with a state, also the status of each stage.
pub fn mermaid(definition: &WorkflowDefinition, state: Option<&WorkflowState>) -> String {
    let ids = Ids::new(definition);
    let mut lines = vec!["flowchart TD".to_owned()];
    lines.extend(nodes(definition, &ids));
    lines.extend(definition.stages.iter().flat_map(|stage| order(definition, stage, &ids)));
    lines.extend(reviews(definition, &ids));
    if let Some(qa) = &definition.qa {
        let fix = definition.all_named(&qa.fix).into_iter();
        lines.extend(fix.map(|stage| ids.dotted(&qa.stage.text, "fix", &stage.name.text)));
    }
    let back = definition.stages.iter().filter_map(|one| Some((one, one.rollback_to.as_ref()?)));
    lines.extend(back.map(|(stage, to)| ids.dotted(&stage.name.text, "rollback", &to.text)));
    lines.extend(state.into_iter().flat_map(|state| classes(definition, state, &ids)));
    lines.push(String::new());
    lines.join("\n")
}

/// The unique ids of nodes, whatever the names of stages are.
struct Ids {
    of_names: BTreeMap<String, String>,
    of_gates: BTreeMap<String, String>,
}

impl Ids {
    fn new(definition: &WorkflowDefinition) -> Self {
        let mut taken: Vec<String> = RESERVED.iter().map(|&word| word.to_owned()).collect();
        let mut free = |wanted: String| {
            let mut id = wanted;
            while taken.contains(&id) {
                id.push('_');
            }
            taken.push(id.clone());
            id
        };
        let stages = definition.stages.iter();
        let groups = stages.clone().filter_map(|stage| stage.group.as_ref());
        let reviews = definition.reviews.iter().map(|review| &review.name);
        let names = stages.clone().map(|stage| &stage.name).chain(groups).chain(reviews);
        let mut of_names = BTreeMap::new();
        for name in names {
            let id = || free(name.text.replace('-', "_"));
            of_names.entry(name.text.clone()).or_insert_with(id);
        }
        let gates = stages.filter(|stage| stage.approval.is_some());
        let of_gates = gates.map(|stage| {
            let name = &stage.name.text;
            (name.clone(), free(format!("{}_approval", of_names[name])))
        });
        let of_gates = of_gates.collect();
        Self { of_names, of_gates }
    }

    fn of(&self, name: &str) -> &str {
        self.of_names.get(name).map_or("", String::as_str)
    }

    /// Returns the node of the gate of a stage.
    fn gate(&self, stage: &StageDefinition) -> &str {
        self.of_gates.get(&stage.name.text).map_or("", String::as_str)
    }

    fn dotted(&self, from: &str, why: &str, to: &str) -> String {
        format!("  {} -. {why} .-> {}", self.of(from), self.of(to))
    }

    fn node(&self, stage: &StageDefinition) -> String {
        let name = &stage.name.text;
        format!("{}[\"{name}<br/>{}\"]", self.of(name), stage.agent.text)
    }
}

fn nodes(definition: &WorkflowDefinition, ids: &Ids) -> Vec<String> {
    let mut lines = Vec::new();
    let mut drawn: Vec<&str> = Vec::new();
    for stage in &definition.stages {
        match &stage.group {
            None => lines.push(format!("  {}", ids.node(stage))),
            Some(group) if drawn.contains(&group.text.as_str()) => {}
            Some(group) => {
                drawn.push(&group.text);
                lines.push(format!("  subgraph {}[\"{}\"]", ids.of(&group.text), group.text));
                let members =
                    definition.stages.iter().filter(|one| one.group.as_ref() == Some(group));
                lines.extend(members.map(|one| format!("    {}", ids.node(one))));
                lines.push("  end".to_owned());
            }
        }
        if let Some(said) = gate_lines(stage) {
            let modes = said.get(1..).unwrap_or_default().join(", ");
            let label = if modes.is_empty() { String::new() } else { format!("<br/>{modes}") };
            lines.push(format!("  {}{{\"approval{label}\"}}", ids.gate(stage)));
        }
    }
    lines
}

/// Draws the predecessors of a stage, and its gate.
fn order(definition: &WorkflowDefinition, stage: &StageDefinition, ids: &Ids) -> Vec<String> {
    let name = ids.of(&stage.name.text);
    let to = match approval(stage) {
        Some(When::Before) => ids.gate(stage),
        _ => name,
    };
    let from = |before: &StageDefinition| match approval(before) {
        Some(When::After) => ids.gate(before).to_owned(),
        _ => ids.of(&before.name.text).to_owned(),
    };
    let before = definition.before(stage).into_iter();
    let mut lines: Vec<String> =
        before.map(|before| format!("  {} --> {to}", from(before))).collect();
    match approval(stage) {
        Some(When::Before) => lines.push(format!("  {to} --> {name}")),
        Some(When::After) => {
            lines.push(format!("  {name} --> {}", ids.gate(stage)));
            lines.push(format!("  {} -. rejected .-> {name}", ids.gate(stage)));
        }
        None => {}
    }
    lines
}

fn reviews(definition: &WorkflowDefinition, ids: &Ids) -> Vec<String> {
    let mut lines = Vec::new();
    for review in &definition.reviews {
        let name = &review.name.text;
        lines.push(format!("  {}([\"{name}<br/>{}\"])", ids.of(name), review.agent.text));
        for (when, stages) in reviewed(definition, review) {
            let when = when.words();
            lines.extend(stages.iter().map(|stage| ids.dotted(&stage.name.text, &when, name)));
        }
    }
    lines
}

/// Sets the status of every node, and its style.
fn classes(definition: &WorkflowDefinition, state: &WorkflowState, ids: &Ids) -> Vec<String> {
    let mut members: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for stage in &definition.stages {
        let Some(now) = state_of(Some(state), stage) else { continue };
        members.entry(now.status.name()).or_default().push(ids.of(&stage.name.text));
        let gate = match gate_status(now) {
            GateStatus::Asked => "asked",
            GateStatus::Open => "approved",
            GateStatus::Shut => "rejected",
            GateStatus::Closed => continue,
        };
        if stage.approval.is_some() {
            members.entry(gate).or_default().push(ids.gate(stage));
        }
    }
    let mut lines = Vec::new();
    for (class, nodes) in members {
        lines.push(format!("  classDef {class} {}", style(class)));
        lines.push(format!("  class {} {class}", nodes.join(",")));
    }
    lines
}

/// Returns the style of a status: with its own text colour, so that it is readable on every page.
fn style(class: &str) -> &'static str {
    let is = |status: StageStatus| class == status.name();
    if is(StageStatus::InProgress) {
        "fill:#dbeafe,stroke:#2563eb,color:#1e293b"
    } else if is(StageStatus::Completed) || class == "approved" {
        "fill:#dcfce7,stroke:#16a34a,color:#1e293b"
    } else if is(StageStatus::CompletedWithWarnings) || class == "asked" {
        "fill:#fef3c7,stroke:#d97706,color:#1e293b"
    } else if is(StageStatus::Blocked) || is(StageStatus::Failed) || class == "rejected" {
        "fill:#fee2e2,stroke:#dc2626,color:#1e293b"
    } else if is(StageStatus::RolledBack) {
        "fill:#f3e8ff,stroke:#9333ea,color:#1e293b"
    } else {
        "fill:#f8fafc,stroke:#94a3b8,color:#1e293b"
    }
}
