//! Reads a definition from its tree, and reports everything that is wrong with it.

use super::{
    AgentDefinition, ApprovalRule, ArtifactDefinition, DocumentationRule, QaRule, RetryPolicy,
    ReviewDefinition, RiskRule, SchemaChoice, SecondOpinionRule, StageDefinition,
    WorkflowDefinition, keys,
};
use crate::method::Method;
use crate::schemas;
use crate::vocabulary::{Mode, OnFailure, Risk, Severity, When};
use anyhook_flow::runbook::{Finding, MapEntry, Node, NodeKind, NodeMap, SpannedName, TreeReader};

/// Maximum number of retries.
pub(super) const RETRIES: u32 = 100;

/// The kinds of artifacts that may be referenced.
type Kinds = Vec<(schemas::ArtifactKind, &'static str)>;

/// Reads a definition from its tree.
pub fn definition(tree: &Node, method: &'static Method) -> (WorkflowDefinition, Vec<Finding>) {
    let kinds: Kinds = method.kinds().map(|kind| (kind, kind.name())).collect();
    let mut reader = TreeReader::default();
    let mut definition = WorkflowDefinition::default();
    if let NodeKind::Map(map) = &tree.kind {
        reader.known(map, "a workflow", &keys::WORKFLOW.names());
        definition.name = word(&mut reader, map, "name", "workflow");
        definition.folder = folder(&mut reader, map);
        definition.run = filled(&mut reader, map, "run", "write a command");
        if let Some(agents) = map.get("agent") {
            for entry in reader.members(&agents.node, "agent") {
                definition.agents.push(agent(&mut reader, entry));
            }
        }
        for (map, at) in tables(&mut reader, map, "stage") {
            definition.stages.push(stage(&mut reader, map, at, &kinds));
        }
        for (map, at) in tables(&mut reader, map, "review") {
            definition.reviews.push(review(&mut reader, map, at, &kinds));
        }
        for (map, at) in tables(&mut reader, map, "risk") {
            definition.risks.push(risk(&mut reader, map, at));
        }
        definition.qa = map.get("qa").and_then(|entry| qa(&mut reader, entry));
        let rule = map.get("documentation");
        definition.documentation = rule.and_then(|entry| documentation(&mut reader, entry));
        let rule = map.get("second_opinion");
        definition.second_opinion = rule.and_then(|entry| second_opinion(&mut reader, entry));
    }
    (definition, reader.findings)
}

fn word(reader: &mut TreeReader, map: &NodeMap, key: &str, otherwise: &str) -> String {
    match reader.text(map, key) {
        Some((text, span)) => reader.name(&text.text, span, "a workflow").text,
        None => otherwise.to_owned(),
    }
}

/// Reads a text; an empty one is reported.
fn filled(reader: &mut TreeReader, map: &NodeMap, key: &str, hint: &str) -> Option<String> {
    let (text, span) = reader.text(map, key)?;
    if text.text.trim().is_empty() {
        let finding = Finding::error("missing", format!("`{key}` is empty"));
        reader.report(finding.at(span.clone()).hint(hint));
    }
    Some(text.text.clone())
}

/// Reads the folder: it stays below the project.
fn folder(reader: &mut TreeReader, map: &NodeMap) -> String {
    let Some((text, span)) = reader.text(map, "folder") else { return "ARTIFACTS".to_owned() };
    let folder = text.text.trim_end_matches('/');
    if !is_below(folder) {
        let message = format!("the folder `{folder}` is outside the project");
        let hint = "write a path inside the project, such as \"ARTIFACTS\"";
        reader.report(Finding::error("path", message).at(span.clone()).hint(hint));
    }
    folder.to_owned()
}

/// Returns whether a path stays below its base.
fn is_below(path: &str) -> bool {
    !path.contains('\\') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Returns the tables `[[key]]`, each with its position.
fn tables<'tree>(
    reader: &mut TreeReader,
    map: &'tree NodeMap,
    key: &str,
) -> Vec<(&'tree NodeMap, &'tree Node)> {
    let Some(entry) = map.get(key) else { return Vec::new() };
    let hint = format!("write each as `[[{key}]]`");
    let NodeKind::List(nodes) = &entry.node.kind else {
        reader.expected(entry, "a list", &hint);
        return Vec::new();
    };
    let mut tables = Vec::new();
    for node in nodes {
        match &node.kind {
            NodeKind::Map(map) => tables.push((map, node)),
            NodeKind::Unreadable => {}
            other => {
                let message = format!("`{key}` is {}, not an object", other.what());
                reader.report(
                    Finding::error("type", message).at(node.span.clone()).hint(hint.clone()),
                );
            }
        }
    }
    tables
}

/// Reads a required key that is a name.
fn needed(
    reader: &mut TreeReader,
    map: &NodeMap,
    key: &str,
    at: &Node,
    what: &str,
    hint: &str,
) -> SpannedName {
    if map.get(key).is_none() {
        let finding = Finding::error("missing", format!("{what} has no `{key}`"));
        reader.report(finding.at(at.span.clone()).hint(hint));
    }
    match reader.text(map, key) {
        Some((text, span)) => reader.name(&text.text, span, key_of(key)),
        None => SpannedName { text: String::new(), span: at.span.clone().into() },
    }
}

fn key_of(key: &str) -> &'static str {
    match key {
        "agent" => "an agent",
        "stage" | "rollback_to" => "a stage",
        _ => "a stage or review",
    }
}

fn name(reader: &mut TreeReader, map: &NodeMap, key: &str, what: &str) -> Option<SpannedName> {
    reader.text(map, key).map(|(text, span)| reader.name(&text.text, span, what))
}

/// Reads a list of names.
fn names(reader: &mut TreeReader, map: &NodeMap, key: &str) -> Vec<SpannedName> {
    let texts = texts(reader, map, key);
    texts
        .into_iter()
        .map(|(text, node)| reader.name(text, &node.span, "a stage, group or review"))
        .collect()
}

fn texts<'tree>(
    reader: &mut TreeReader,
    map: &'tree NodeMap,
    key: &str,
) -> Vec<(&'tree str, &'tree Node)> {
    let Some(entry) = map.get(key) else { return Vec::new() };
    let hint = format!("write `{key} = [\"…\"]`");
    let NodeKind::List(nodes) = &entry.node.kind else {
        reader.expected(entry, "a list", &hint);
        return Vec::new();
    };
    let mut texts = Vec::new();
    for node in nodes {
        match &node.kind {
            NodeKind::Text(text) => texts.push((text.text.as_str(), node)),
            NodeKind::Unreadable => {}
            other => {
                let message = format!("`{key}` contains {}, not a string", other.what());
                reader.report(
                    Finding::error("type", message).at(node.span.clone()).hint(hint.clone()),
                );
            }
        }
    }
    texts
}

/// Reads a list of known words.
fn words<T: Copy>(
    reader: &mut TreeReader,
    map: &NodeMap,
    key: &str,
    known: &[(T, &'static str)],
) -> Vec<T> {
    let mut found = Vec::new();
    for (text, node) in texts(reader, map, key) {
        match known.iter().find(|(_, name)| *name == text) {
            Some((value, _)) => found.push(*value),
            None => {
                let names = known.iter().map(|(_, name)| *name);
                let finding = Finding::error("word", format!("`{key}` cannot contain `{text}`"));
                reader.report(finding.at(node.span.clone()).meant(text, names, "available"));
            }
        }
    }
    found
}

fn agent(reader: &mut TreeReader, entry: &MapEntry) -> AgentDefinition {
    let name = reader.name(&entry.key.name, &entry.key.span, "an agent");
    let what = name.of("agent");
    let mut agent = AgentDefinition { name, ..AgentDefinition::default() };
    if let Some(map) = reader.object(entry, &what, &keys::AGENT.names()) {
        agent.description = reader.text(map, "description").map(|(text, _)| text.text.clone());
        agent.run = filled(reader, map, "run", "write a command");
    }
    agent
}

fn stage(reader: &mut TreeReader, map: &NodeMap, at: &Node, kinds: &Kinds) -> StageDefinition {
    let name_of = needed(reader, map, "name", at, "a stage", "write `name = \"…\"`");
    let what = name_of.of("stage");
    reader.known(map, &what, &keys::STAGE.names());
    let owner = "name its agent: `agent = \"…\"`";
    let approval = map.get("approval").and_then(|entry| reader.word(entry, When::ALL));
    let modes = words(reader, map, "approval_modes", Mode::ALL);
    if map.get("approval").is_none() {
        reader.no_use(map, &["approval_modes"], "without `approval`");
    }
    StageDefinition {
        agent: needed(reader, map, "agent", at, &what, owner),
        name: name_of,
        group: name(reader, map, "group", "a group"),
        after: names(reader, map, "after"),
        optional: reader.flag(map, "optional").unwrap_or(false),
        reads: names(reader, map, "reads"),
        artifacts: artifacts(reader, map, at, &what, kinds),
        approval: approval.map(|when| ApprovalRule { when, modes }),
        trying: trying(reader, map),
        rollback_to: name(reader, map, "rollback_to", "a stage"),
    }
}

fn review(reader: &mut TreeReader, map: &NodeMap, at: &Node, kinds: &Kinds) -> ReviewDefinition {
    let name = needed(reader, map, "name", at, "a review", "write `name = \"…\"`");
    let what = name.of("review");
    reader.known(map, &what, &keys::REVIEW.names());
    let owner = "name its agent: `agent = \"…\"`";
    ReviewDefinition {
        agent: needed(reader, map, "agent", at, &what, owner),
        name,
        stages: names(reader, map, "stages"),
        reads: names(reader, map, "reads"),
        artifacts: artifacts(reader, map, at, &what, kinds),
        trying: trying(reader, map),
    }
}

fn trying(reader: &mut TreeReader, map: &NodeMap) -> RetryPolicy {
    let retries = map.get("retries").and_then(|entry| match &entry.node.kind {
        NodeKind::Number(number) => {
            let number = number.as_u64().and_then(|number| u32::try_from(number).ok());
            let number = number.filter(|number| *number <= RETRIES);
            if number.is_none() {
                let finding = Finding::error("type", "invalid `retries`");
                let hint = format!("write a number from 0 to {RETRIES}");
                reader.report(finding.at(entry.node.span.clone()).hint(hint));
            }
            number
        }
        _ => {
            reader.expected(entry, "a number", "write `retries = 2`");
            None
        }
    });
    let on_failure = map.get("on_failure").and_then(|entry| reader.word(entry, OnFailure::ALL));
    RetryPolicy {
        timeout: map.get("timeout").and_then(|entry| reader.duration(entry)),
        retries: retries.unwrap_or(0),
        on_failure: on_failure.unwrap_or(OnFailure::Fail),
    }
}

fn artifacts(
    reader: &mut TreeReader,
    map: &NodeMap,
    at: &Node,
    what: &str,
    kinds: &Kinds,
) -> Vec<ArtifactDefinition> {
    let tables = tables(reader, map, "artifact");
    if map.get("artifact").is_none() {
        let finding = Finding::error("missing", format!("{what} has no artifact"));
        let hint = "add an `artifact` table with `file` and `schema`";
        reader.report(finding.at(at.span.clone()).hint(hint));
    }
    tables.into_iter().filter_map(|(map, at)| artifact(reader, map, at, what, kinds)).collect()
}

fn artifact(
    reader: &mut TreeReader,
    map: &NodeMap,
    at: &Node,
    what: &str,
    kinds: &Kinds,
) -> Option<ArtifactDefinition> {
    reader.known(map, "an artifact", &keys::ARTIFACT.names());
    let modes = words(reader, map, "modes", Mode::ALL);
    let required = reader.flag(map, "required").unwrap_or(true);
    let schema = schema(reader, map, at, what, kinds);
    let Some((text, span)) = reader.text(map, "file") else {
        if map.get("file").is_none() {
            let finding = Finding::error("missing", format!("an artifact of {what} has no `file`"));
            reader.report(finding.at(at.span.clone()).hint("write `file = \"report.json\"`"));
        }
        return None;
    };
    if !is_below(&text.text) || text.text.contains('/') {
        let message = format!("`{}` is not a valid artifact file name", text.text);
        let hint = "write a name without a folder: it goes in its agent's folder";
        reader.report(Finding::error("path", message).at(span.clone()).hint(hint));
    }
    let file = SpannedName { text: text.text.clone(), span: span.clone().into() };
    Some(ArtifactDefinition { file, schema: schema?, modes, required })
}

fn schema(
    reader: &mut TreeReader,
    map: &NodeMap,
    at: &Node,
    what: &str,
    kinds: &Kinds,
) -> Option<SchemaChoice> {
    if map.get("schema").is_none() && map.get("schema_file").is_none() {
        let finding = Finding::error("no-schema", format!("an artifact of {what} has no schema"));
        let hint = "write `schema = \"…\"`, or `schema_file = \"…\"` for your own";
        reader.report(finding.at(at.span.clone()).hint(hint));
    }
    let file = schema_file(reader, map);
    let kind = map.get("schema").and_then(|entry| schema_kind(reader, entry, kinds));
    file.or(kind)
}

fn schema_file(reader: &mut TreeReader, map: &NodeMap) -> Option<SchemaChoice> {
    let (text, span) = reader.text(map, "schema_file")?;
    if map.get("schema").is_some() {
        let finding =
            Finding::error("no-use", "`schema_file` has no effect together with `schema`");
        reader.report(finding.at(span.clone()).hint("remove one of them"));
    }
    if !is_below(&text.text) {
        let message = format!("the schema `{}` is outside the project", text.text);
        let hint = "write a path inside the project";
        reader.report(Finding::error("path", message).at(span.clone()).hint(hint));
    }
    Some(SchemaChoice::File(SpannedName { text: text.text.clone(), span: span.clone().into() }))
}

fn schema_kind(reader: &mut TreeReader, entry: &MapEntry, kinds: &Kinds) -> Option<SchemaChoice> {
    let kind = reader.word(entry, kinds);
    // A word that resembles none of them may be meant as a file.
    let hint =
        reader.findings.last_mut().filter(|_| kind.is_none()).and_then(|one| one.hint.as_mut());
    if let Some(hint) = hint.filter(|hint| hint.starts_with("available")) {
        hint.push_str("; write `schema_file = \"…\"` for your own");
    }
    kind.map(SchemaChoice::Kind)
}

fn risk(reader: &mut TreeReader, map: &NodeMap, at: &Node) -> RiskRule {
    reader.known(map, "a risk rule", &keys::RISK.names());
    for key in ["levels", "reviews"].into_iter().filter(|key| map.get(key).is_none()) {
        let finding = Finding::error("missing", format!("a risk rule has no `{key}`"));
        reader.report(finding.at(at.span.clone()).hint(format!("write `{key} = [\"…\"]`")));
    }
    RiskRule {
        levels: words(reader, map, "levels", Risk::ALL),
        reviews: names(reader, map, "reviews"),
        stages: names(reader, map, "stages"),
    }
}

fn qa(reader: &mut TreeReader, entry: &MapEntry) -> Option<QaRule> {
    let map = reader.object(entry, "`qa`", &keys::QA.names())?;
    let hint = "name the testing stage: `stage = \"…\"`";
    Some(QaRule {
        stage: needed(reader, map, "stage", &entry.node, "`qa`", hint),
        blocking: words(reader, map, "blocking", Severity::ALL),
        fix: names(reader, map, "fix"),
    })
}

/// Reads the server of a rule: without one there is no one to ask.
fn server(reader: &mut TreeReader, map: &NodeMap, entry: &MapEntry) -> String {
    if map.get("server").is_none() {
        let finding = Finding::error("missing", format!("`{}` has no `server`", entry.key.name));
        let hint = "write `server = \"…\"`, one of `.agents/mcp.json`";
        reader.report(finding.at(entry.key.span.clone()).hint(hint));
    }
    filled(reader, map, "server", "name a server of `.agents/mcp.json`").unwrap_or_default()
}

fn documentation(reader: &mut TreeReader, entry: &MapEntry) -> Option<DocumentationRule> {
    let map = reader.object(entry, "`documentation`", &keys::DOCUMENTATION.names())?;
    if map.get("stages").is_none() {
        let finding = Finding::error("missing", "`documentation` has no `stages`");
        reader.report(finding.at(entry.key.span.clone()).hint("write `stages = [\"…\"]`"));
    }
    Some(DocumentationRule {
        server: server(reader, map, entry),
        stages: names(reader, map, "stages"),
    })
}

fn second_opinion(reader: &mut TreeReader, entry: &MapEntry) -> Option<SecondOpinionRule> {
    let map = reader.object(entry, "`second_opinion`", &keys::SECOND_OPINION.names())?;
    if map.get("stages").is_none() {
        reader.no_use(map, &["modes"], "without `stages`");
    }
    Some(SecondOpinionRule {
        server: server(reader, map, entry),
        tool: filled(reader, map, "tool", "name one of the server's tools, or remove it"),
        stages: names(reader, map, "stages"),
        modes: words(reader, map, "modes", Mode::ALL),
        levels: words(reader, map, "levels", Risk::ALL),
        reviews: names(reader, map, "reviews"),
    })
}
