//! Tests of workflow definitions: the default is valid; every error in another one is reported at
//! its position.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::graph::{mermaid, svg};
use crate::machine;
use crate::schemas::OWN_KINDS;
use crate::testing::{DEFAULT, default, method, read};
use crate::vocabulary::Mode;

fn names<'all>(stages: impl IntoIterator<Item = &'all StageDefinition>) -> Vec<&'all str> {
    stages.into_iter().map(|stage| stage.name.text.as_str()).collect()
}

#[test]
fn the_default_has_no_finding() {
    let reading = read(DEFAULT);
    assert_eq!(reading.findings, []);
    let definition = reading.definition;
    assert_eq!(definition, default());
    assert_eq!(definition.agents.len(), 10);
    assert_eq!(
        names(&definition.stages),
        [
            "requirements",
            "architecture",
            "frontend_implementation",
            "backend_implementation",
            "ai_implementation",
            "qa_testing",
            "deployment"
        ]
    );
    assert_eq!(names(definition.named("implementation")).len(), 3);
    let qa = definition.stage("qa_testing").unwrap();
    assert_eq!(names(definition.before(qa)), names(definition.named("implementation")));
    assert_eq!(definition.following("qa_testing"), ["deployment"]);
    assert_eq!(definition.following("requirements").len(), 6);
    assert_eq!(
        definition.path("product_manager", "product-requirements-packet.json"),
        "ARTIFACTS/product-manager/product-requirements-packet.json"
    );
}

/// Every schema of the method belongs to an artifact of its workflow, and each artifact's file name
/// identifies its kind.
#[test]
fn the_method_has_the_schemas_that_its_workflow_names() {
    let definition = default();
    let of_stages = definition.stages.iter().flat_map(|one| &one.artifacts);
    let of_reviews = definition.reviews.iter().flat_map(|one| &one.artifacts);
    let mut named = Vec::new();
    for artifact in of_stages.chain(of_reviews) {
        let SchemaChoice::Kind(kind) = artifact.schema else { panic!("{artifact:?}") };
        assert_eq!(method().kind_of_file(&format!("a/b/{}", artifact.file.text)), Some(kind));
        named.push(kind.name());
    }
    assert_eq!(named.len(), 11);
    let kinds = method().kinds().filter(|kind| !OWN_KINDS.contains(kind));
    for kind in kinds {
        assert!(named.contains(&kind.name()), "{kind}");
    }
}

/// Schemas that do not belong to the method may be the project's own, and are not searched for
/// elsewhere.
#[test]
fn a_workflow_may_name_the_schemas_of_its_method_or_files_of_its_own() {
    static OTHER: LazyLock<Method> =
        LazyLock::new(|| Method::new(DEFAULT, [("notes", r#"{"type": "object"}"#)]));
    let stage = "[agent.a]\n[[stage]]\nname = \"s\"\nagent = \"a\"\nartifact = [";
    let text = |schema: &str| format!("{stage}{{file = \"n.json\", {schema}}}]\n");
    let read = |schema: &str| crate::definition::read(&text(schema), &OTHER);
    assert_eq!(read("schema = \"notes\"").findings, []);
    assert_eq!(read("schema_file = \"schemas/notes.json\"").findings, []);
    assert_eq!(read("schema = \"project-config\"").findings, []);
    let finding = &read("schema = \"pm-output\"").findings[0];
    assert_eq!(finding.message, "invalid value `pm-output` for `schema`");
}

#[test]
fn the_architect_makes_what_the_mode_asks_for() {
    let definition = default();
    let stage = definition.stage("architecture").unwrap();
    for (mode, _) in Mode::ALL {
        let made: Vec<&str> = stage
            .artifacts
            .iter()
            .filter(|artifact| artifact.is_made_in(Some(*mode)))
            .map(|artifact| artifact.file.text.as_str())
            .collect();
        let expected = match mode {
            Mode::FullSystem => "architecture-handover-packet.json",
            _ => "architecture-assessment.json",
        };
        assert_eq!(made, [expected]);
    }
}

#[test]
fn documentation_is_for_those_who_implement() {
    let definition = default();
    let rule = definition.documentation.as_ref().unwrap();
    assert_eq!(rule.server, "context7");
    for stage in &definition.stages {
        let is_implementation = stage.group.is_some();
        assert_eq!(definition.wants_documentation(&stage.name.text), is_implementation);
    }
    assert!(!definition.wants_documentation("safety_review"));
    assert!(!definition.wants_documentation("nothing"));
    let none = WorkflowDefinition { documentation: None, ..definition };
    assert!(!none.wants_documentation("ai_implementation"));
}

#[test]
fn a_second_opinion_is_asked_for_by_stage_and_mode_by_risk_and_by_review() {
    let definition = default();
    let rule = definition.second_opinion.as_ref().unwrap();
    assert_eq!((rule.server.as_str(), rule.tool.as_deref()), ("gemini", Some("ask-gemini")));
    let wants = |stage, mode, risk| definition.wants_second_opinion(stage, mode, risk);
    for (mode, _) in Mode::ALL {
        let is_whole = *mode == Mode::FullSystem;
        assert_eq!(wants("architecture", Some(*mode), Risk::Low), is_whole);
        assert!(!wants("requirements", Some(*mode), Risk::Low));
    }
    assert!(!wants("architecture", None, Risk::Low));
    for (risk, _) in Risk::ALL {
        let is_much = matches!(risk, Risk::High | Risk::Critical);
        for stage in &definition.stages {
            assert_eq!(wants(&stage.name.text, Some(Mode::Feature), *risk), is_much);
        }
        assert!(!wants("safety_review", Some(Mode::FullSystem), *risk));
        assert!(!wants("nothing", Some(Mode::FullSystem), *risk));
    }

    let text = DEFAULT.replace("reviews = []", "reviews = [\"safety_review\"]").replace(
        "stages = [\"architecture\"]\nmodes = [\"full_system\"]",
        "stages = [\"implementation\"]",
    );
    let changed = read(&text);
    assert_eq!(changed.findings, []);
    let wants = |stage| changed.definition.wants_second_opinion(stage, None, Risk::Low);
    assert!(wants("safety_review") && wants("ai_implementation"));
    assert!(!wants("governance_review") && !wants("architecture"));
    let none = WorkflowDefinition { second_opinion: None, ..changed.definition };
    assert!(!none.wants_second_opinion("safety_review", None, Risk::Critical));
}

#[test]
fn agents_are_started_by_the_command_of_the_workflow_or_their_own() {
    let text = DEFAULT
        .replace("# run = \"claude\"", "run = \"codex exec\"")
        .replace("[agent.ai_engineer]", "[agent.ai_engineer]\nrun = \"claude\"");
    let reading = read(&text);
    assert_eq!(reading.findings, []);
    assert_eq!(reading.definition.run.as_deref(), Some("codex exec"));
    assert_eq!(reading.definition.agent("ai_engineer").unwrap().run.as_deref(), Some("claude"));
    assert_eq!(default().run, None);
}

/// The default with one text in it replaced, the code of the only finding, the text at its
/// position, and the hint.
const WRONG: &[(&str, &str, &str, &str, &str)] = &[
    ("folder =", "foldre =", "unknown-key", "foldre", "did you mean `folder`?"),
    ("optional = true", "optinal = true", "unknown-key", "optinal", "did you mean `optional`?"),
    (
        "folder = \"ARTIFACTS\"",
        "folder = \"../x\"",
        "path",
        "\"../x\"",
        "write a path inside the project, such as \"ARTIFACTS\"",
    ),
    ("name = \"delivery\"", "name = 7", "type", "7", "put it in quotes"),
    (
        "agent = \"qa_engineer\"",
        "agent = \"qa_enginer\"",
        "unknown-agent",
        "\"qa_enginer\"",
        "did you mean `qa_engineer`?",
    ),
    ("agent = \"qa_engineer\"\n", "", "missing", "[[stage]]", "name its agent: `agent = \"…\"`"),
    (
        "after = [\"qa_testing\"]",
        "after = [\"qa_test\"]",
        "unknown-name",
        "\"qa_test\"",
        "did you mean `qa_testing`?",
    ),
    (
        "schema = \"qa-output\"",
        "schema = \"qa-outputs\"",
        "word",
        "\"qa-outputs\"",
        "did you mean `qa-output`?",
    ),
    (
        "schema = \"qa-output\"",
        "schema = \"x.json\"",
        "word",
        "\"x.json\"",
        "available: ai-engineer-output, architect-output, architecture-assessment, backend-output, code-health-output, frontend-output, governance-output, pm-output, safety-output, qa-output, devops-output, stage-completion-signal, workflow-state, project-config, context-refresh-report, second-opinion-review; write `schema_file = \"…\"` for your own",
    ),
    (
        "schema = \"devops-output\"\n",
        "",
        "no-schema",
        "[[stage.artifact]]",
        "write `schema = \"…\"`, or `schema_file = \"…\"` for your own",
    ),
    (
        "schema = \"devops-output\"",
        "schema_file = \"/etc/x\"",
        "path",
        "\"/etc/x\"",
        "write a path inside the project",
    ),
    (
        "file = \"deployment-report.json\"",
        "file = \"a/b.json\"",
        "path",
        "\"a/b.json\"",
        "write a name without a folder: it goes in its agent's folder",
    ),
    (
        "file = \"deployment-report.json\"\n",
        "",
        "missing",
        "[[stage.artifact]]",
        "write `file = \"report.json\"`",
    ),
    (
        "after = [\"requirements\"]",
        "after = [\"deployment\"]",
        "endless",
        "\"architecture\"",
        "a stage cannot come after a stage that depends on it",
    ),
    (
        "reads = [\"requirements\"]",
        "reads = [\"qa_testing\"]",
        "order",
        "\"qa_testing\"",
        "add \"qa_testing\" to its `after`, or remove it here",
    ),
    (
        "on_failure = \"block\"",
        "on_failure = \"rollback\"",
        "missing",
        "\"deployment\"",
        "write `rollback_to = \"…\"`",
    ),
    (
        "on_failure = \"block\"",
        "rollback_to = \"implementation\"",
        "order",
        "\"implementation\"",
        "name one stage that runs before it",
    ),
    (
        "on_failure = \"block\"",
        "on_failure = \"blok\"",
        "word",
        "\"blok\"",
        "did you mean `block`?",
    ),
    (
        "\nmodes = [\"full_system\"]\n",
        "\nmodes = [\"feature\"]\n",
        "missing",
        "\"architecture\"",
        "add one, or add the mode to the `modes` of an existing one",
    ),
    (
        "approval_modes = [\"full_system\"]",
        "approval_modes = [\"full\"]",
        "word",
        "\"full\"",
        "did you mean `full_system`?",
    ),
    (
        "approval = \"after\"\napproval_modes",
        "approval_modes",
        "no-use",
        "approval_modes",
        "remove it",
    ),
    (
        "reviews = [\"safety_review\"]",
        "reviews = [\"safty_review\"]",
        "unknown-name",
        "\"safty_review\"",
        "did you mean `safety_review`?",
    ),
    (
        "levels = [\"medium\"]",
        "levels = [\"mediocre\"]",
        "word",
        "\"mediocre\"",
        "did you mean `medium`?",
    ),
    ("levels = [\"medium\"]\n", "", "missing", "[[risk]]", "write `levels = [\"…\"]`"),
    (
        "name = \"governance_review\"",
        "name = \"implementation\"",
        "twice",
        "\"implementation\"",
        "names of stages, groups and reviews must be unique: use another one",
    ),
    ("retries = 0", "retries = -1", "type", "-1", "write a number from 0 to 100"),
    (
        "timeout = \"8h\"",
        "timeout = \"soon\"",
        "type",
        "\"soon\"",
        "write a number with a unit, such as \"30s\" or \"10m\"",
    ),
    (
        "stage = \"qa_testing\"",
        "stage = \"requirements\"",
        "missing",
        "\"requirements\"",
        "give it a required artifact with `schema = \"qa-output\"`",
    ),
    (
        "blocking = [\"p0\", \"p1\"]",
        "blocking = [\"p0\", 1]",
        "type",
        "1",
        "write `blocking = [\"…\"]`",
    ),
    (
        "fix = [\"implementation\"]",
        "fix = \"implementation\"",
        "type",
        "\"implementation\"",
        "write `fix = [\"…\"]`",
    ),
    ("# run = \"claude\"", "run = \" \"", "missing", "\" \"", "write a command"),
    ("# run = \"claude\"", "run = [\"claude\"]", "type", "[", "put it in quotes"),
    (
        "[agent.ai_engineer]",
        "[agent.ai_engineer]\nrun = \"\"",
        "missing",
        "\"\"",
        "write a command",
    ),
    (
        "[documentation]",
        "[documentaton]",
        "unknown-key",
        "documentaton",
        "did you mean `documentation`?",
    ),
    (
        "server = \"context7\"\n",
        "",
        "missing",
        "documentation",
        "write `server = \"…\"`, one of `.agents/mcp.json`",
    ),
    (
        "server = \"context7\"",
        "server = \"\"",
        "missing",
        "\"\"",
        "name a server of `.agents/mcp.json`",
    ),
    (
        "server = \"context7\"\nstages = [\"implementation\"]",
        "server = \"context7\"",
        "missing",
        "documentation",
        "write `stages = [\"…\"]`",
    ),
    (
        "server = \"context7\"\nstages = [\"implementation\"]",
        "server = \"context7\"\nstages = [\"implementaton\"]",
        "unknown-name",
        "\"implementaton\"",
        "did you mean `implementation`?",
    ),
    ("tool = \"ask-gemini\"", "tol = \"ask-gemini\"", "unknown-key", "tol", "did you mean `tool`?"),
    (
        "tool = \"ask-gemini\"",
        "tool = \"\"",
        "missing",
        "\"\"",
        "name one of the server's tools, or remove it",
    ),
    (
        "stages = [\"architecture\"]\nmodes",
        "stages = [\"architectur\"]\nmodes",
        "unknown-name",
        "\"architectur\"",
        "did you mean `architecture`?",
    ),
    ("stages = [\"architecture\"]\nmodes", "modes", "no-use", "modes", "remove it"),
    (
        "levels = [\"high\", \"critical\"]",
        "levels = [\"hihg\"]",
        "word",
        "\"hihg\"",
        "did you mean `high`?",
    ),
    (
        "reviews = []",
        "reviews = [\"saftey_review\"]",
        "unknown-name",
        "\"saftey_review\"",
        "did you mean `safety_review`?",
    ),
];

#[test]
fn what_is_wrong_is_told_at_its_place() {
    for (old, new, code, there, hint) in WRONG {
        assert!(DEFAULT.contains(old), "{old}");
        let text = DEFAULT.replacen(old, new, 1);
        let reading = read(&text);
        assert!(!reading.is_usable(), "{new}");
        let found = reading.findings.iter().find(|finding| {
            let span = finding.span.clone().unwrap();
            finding.code == *code && text[span].starts_with(there)
        });
        let found = found.unwrap_or_else(|| panic!("{new}: {:#?}", reading.findings));
        assert_eq!(found.hint.as_deref(), Some(*hint), "{new}");
    }
}

#[test]
fn an_agent_without_work_is_a_note() {
    let reading = read(&format!("{DEFAULT}\n[agent.idle_one]\n"));
    assert!(reading.is_usable());
    assert_eq!(reading.findings[0].code, "unused-agent");
}

#[test]
fn a_note_does_not_hide_a_mistake() {
    let text = DEFAULT.replacen("reads = [\"requirements\"]", "reads = [\"qa_testing\"]", 1);
    let reading = read(&format!("{text}\n[agent.idle_one]\n"));
    let codes: Vec<&str> = reading.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["order", "unused-agent"]);
}

#[test]
fn every_mistake_is_told_at_once() {
    let text = r#"
foldr = 1
run = " "
[agent.a]
run = 5
[[stage]]
name = 5
agnt = "a"
after = ["nowhere", 5, 1979-05-27]
retries = 1000
timeout = "soon"
on_failure = "rollbak"
[[stage.artifact]]
file = "a/b"
schema = "qa-outputs"
schema_file = "/x"
modes = ["full", 5]
required = "no"
[[stage.artifact]]
[[stage]]
name = "b"
agent = "x"
reads = ["c"]
on_failure = "rollback"
[[stage.artifact]]
file = "b.json"
schema = "qa-output"
modes = ["feature"]
[[stage]]
name = "c"
agent = "a"
rollback_to = "d"
[qa]
stge = "b"
blocking = "p0"
[agent.a]
"#;
    let reading = read(text);
    let mut told = String::new();
    for finding in &reading.findings {
        let span = finding.span.clone().unwrap();
        let line = text[..span.start].matches('\n').count() + 1;
        told.push_str(&format!(
            "{line} `{}`: {}: {}\n  {}\n",
            text[span].lines().next().unwrap_or_default(),
            finding.code,
            finding.message,
            finding.hint.as_deref().unwrap_or_default()
        ));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn nothing_is_no_workflow() {
    for text in
        ["", "stage = 7", "stage = [7]", "[[stage]]", "[[stage]]\nname = 7\nagent = []", "x ="]
    {
        let reading = read(text);
        assert!(!reading.is_usable(), "{text}");
        for finding in reading.findings {
            assert!(finding.hint.is_some(), "{finding:?}");
            assert!(text.get(finding.span.unwrap()).is_some());
        }
    }
}

#[test]
fn the_same_file_of_one_agent_is_told() {
    let text = DEFAULT.replace("architecture-assessment.json", "architecture-handover-packet.json");
    let reading = read(&text);
    assert_eq!(reading.findings[0].code, "twice");
}

#[test]
fn too_many_stages_are_told() {
    let stages: Vec<String> = (0..101).map(|one| format!("[[stage]]\nname = \"s{one}\"")).collect();
    let stages = stages.join("\n");
    assert!(read(&stages).findings.iter().any(|finding| finding.code == "too-many"));
}

proptest! {
    /// Any fragment of a definition is read, and every finding is in the text.
    #[test]
    fn any_text_is_read(
        from in 0..DEFAULT.len(),
        length in 0..200_usize,
        new in "[a-z_=\\[\\]\" \n]{0,12}",
    ) {
        let to = (from + length).min(DEFAULT.len());
        prop_assume!(DEFAULT.is_char_boundary(from) && DEFAULT.is_char_boundary(to));
        let text = format!("{}{new}{}", &DEFAULT[..from], &DEFAULT[to..]);
        let reading = read(&text);
        for finding in &reading.findings {
            let span = finding.span.clone().unwrap_or_default();
            prop_assert!(text.get(span).is_some(), "{finding:?}");
        }
        if reading.is_usable() {
            let start = machine::NewWorkflow::default();
            let (state, effects) = machine::start(&reading.definition, start, jiff::Timestamp::UNIX_EPOCH);
            prop_assert_eq!(state.fits(&reading.definition), None);
            prop_assert!(!effects.invoke.is_empty() || !effects.ask.is_empty());
            prop_assert!(mermaid(&reading.definition, None).starts_with("flowchart TD"));
            prop_assert!(svg(&reading.definition, Some(&state)).ends_with("</svg>\n"));
        }
    }
}

#[test]
fn the_committed_schema_is_made_of_the_keys() {
    let committed = include_str!("../../schemas/workflow-file.schema.json");
    assert_eq!(format!("{:#}\n", schema(method())), committed, "cargo xtask generate");
}
