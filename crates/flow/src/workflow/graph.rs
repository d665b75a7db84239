//! A workflow as a picture: Mermaid.

use super::definition::{Definition, StageDefinition};
use super::words::When;

/// Words that mean something to Mermaid and cannot be the name of a node.
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

/// Draws a workflow.
pub fn graph(definition: &Definition) -> String {
    let mut lines = vec!["flowchart TD".to_owned()];
    lines.extend(nodes(definition));
    lines.extend(definition.stages.iter().flat_map(|stage| order(definition, stage)));
    lines.extend(reviews(definition));
    if let Some(qa) = &definition.qa {
        let fix = definition.all_named(&qa.fix).into_iter();
        lines.extend(fix.map(|stage| dotted(&qa.stage.text, "fix", &stage.name.text)));
    }
    let back = definition.stages.iter().filter_map(|one| Some((one, one.rollback_to.as_ref()?)));
    lines.extend(back.map(|(stage, to)| dotted(&stage.name.text, "rollback", &to.text)));
    lines.push(String::new());
    lines.join("\n")
}

/// Returns a name as that of a node.
fn id(name: &str) -> String {
    let id = name.replace('-', "_");
    if RESERVED.contains(&id.as_str()) { format!("{id}_") } else { id }
}

/// Returns the node of a person who is asked about a stage.
fn person(stage: &StageDefinition) -> String {
    format!("{}_approval", id(&stage.name.text))
}

fn dotted(from: &str, why: &str, to: &str) -> String {
    format!("  {} -. {why} .-> {}", id(from), id(to))
}

fn nodes(definition: &Definition) -> Vec<String> {
    let mut lines = Vec::new();
    let mut drawn: Vec<&str> = Vec::new();
    for stage in &definition.stages {
        match &stage.group {
            None => lines.push(format!("  {}", node(stage))),
            Some(group) if drawn.contains(&group.text.as_str()) => {}
            Some(group) => {
                drawn.push(&group.text);
                lines.push(format!("  subgraph {}[\"{}\"]", id(&group.text), group.text));
                let members =
                    definition.stages.iter().filter(|one| one.group.as_ref() == Some(group));
                lines.extend(members.map(|one| format!("    {}", node(one))));
                lines.push("  end".to_owned());
            }
        }
        if let Some(rule) = &stage.approval {
            let modes: Vec<&str> = rule.modes.iter().map(|mode| mode.name()).collect();
            let label = match modes.join(", ") {
                modes if modes.is_empty() => "approval".to_owned(),
                modes => format!("approval<br/>{modes}"),
            };
            lines.push(format!("  {}{{\"{label}\"}}", person(stage)));
        }
    }
    lines
}

/// Draws what comes before a stage, and who is asked about it.
fn order(definition: &Definition, stage: &StageDefinition) -> Vec<String> {
    let name = id(&stage.name.text);
    let to = match approval(stage) {
        Some(When::Before) => person(stage),
        _ => name.clone(),
    };
    let from = |before: &StageDefinition| match approval(before) {
        Some(When::After) => person(before),
        _ => id(&before.name.text),
    };
    let before = definition.before(stage).into_iter();
    let mut lines: Vec<String> =
        before.map(|before| format!("  {} --> {to}", from(before))).collect();
    match approval(stage) {
        Some(When::Before) => lines.push(format!("  {to} --> {name}")),
        Some(When::After) => {
            lines.push(format!("  {name} --> {}", person(stage)));
            lines.push(format!("  {} -. rejected .-> {name}", person(stage)));
        }
        None => {}
    }
    lines
}

fn reviews(definition: &Definition) -> Vec<String> {
    let mut lines = Vec::new();
    for review in &definition.reviews {
        let name = &review.name.text;
        lines.push(format!("  {}([\"{name}<br/>{}\"])", id(name), review.agent.text));
        for stage in definition.all_named(&review.stages) {
            lines.push(dotted(&stage.name.text, "always", name));
        }
        for rule in definition.risks.iter().filter(|rule| rule.reviews.contains(&review.name)) {
            let levels: Vec<&str> = rule.levels.iter().map(|level| level.name()).collect();
            let levels = levels.join(", ");
            let stages = match rule.stages.as_slice() {
                [] => definition.stages.iter().collect(),
                names => definition.all_named(names),
            };
            lines.extend(stages.iter().map(|stage| dotted(&stage.name.text, &levels, name)));
        }
    }
    lines
}

fn approval(stage: &StageDefinition) -> Option<When> {
    stage.approval.as_ref().map(|rule| rule.when)
}

fn node(stage: &StageDefinition) -> String {
    let name = &stage.name.text;
    format!("{}[\"{name}<br/>{}\"]", id(name), stage.agent.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::definition::{DEFAULT, default, read};

    #[test]
    fn the_default_is_drawn() {
        let picture = graph(&default());
        for line in [
            "  subgraph implementation[\"implementation\"]",
            "  requirements --> requirements_approval",
            "  requirements_approval --> architecture",
            "  architecture_approval{\"approval<br/>full_system\"}",
            "  architecture_approval --> ai_implementation",
            "  backend_implementation --> qa_testing",
            "  qa_testing --> deployment_approval",
            "  deployment_approval --> deployment",
            "  requirements -. medium .-> safety_review",
            "  deployment -. high, critical, unknown .-> governance_review",
            "  qa_testing -. fix .-> frontend_implementation",
        ] {
            assert!(picture.lines().any(|one| one == line), "{line}\n{picture}");
        }
        assert!(!picture.contains("always"));
        assert_eq!(picture.matches("subgraph").count(), picture.matches("  end\n").count());
    }

    #[test]
    fn words_of_mermaid_are_no_nodes() {
        let text = DEFAULT.replace("\"requirements\"", "\"end\"");
        let picture = graph(&read(&text).definition);
        assert!(picture.contains("  end_[\"end<br/>product_manager\"]\n"), "{picture}");
        assert!(picture.contains("  end__approval --> architecture\n"));
    }

    #[test]
    fn what_is_reviewed_always_and_rolled_back_is_drawn() {
        let text = DEFAULT.replace("stages = []", "stages = [\"implementation\"]").replace(
            "on_failure = \"block\"",
            "on_failure = \"rollback\"\nrollback_to = \"qa_testing\"",
        );
        let picture = graph(&read(&text).definition);
        assert!(picture.contains("  ai_implementation -. always .-> code_health_review\n"));
        assert!(picture.contains("  deployment -. rollback .-> qa_testing\n"));
    }
}
