//! JSON Schemas of everything people write or read: committed, embedded, checked for drift.

/// A schema's short name and its text.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The name, as `anyhook schema NAME` takes it.
    pub name: &'static str,
    /// The JSON Schema.
    pub text: &'static str,
}

macro_rules! schemas {
    ($($name:literal),+ $(,)?) => {
        /// Every schema, by name.
        pub const SCHEMAS: &[Schema] = &[$(Schema {
            name: $name,
            text: include_str!(concat!("../schemas/", $name, ".schema.json")),
        }),+];
    };
}

schemas!(
    "add",
    "agents",
    "case",
    "check",
    "daemon-request",
    "daemon-response",
    "daemon-status",
    "decisions",
    "doctor",
    "emit",
    "event",
    "front-matter",
    "happening",
    "hosts",
    "install",
    "list",
    "new",
    "notice",
    "output",
    "packs",
    "pipeline",
    "pipeline-line",
    "pipeline-plan",
    "pipelines",
    "plan",
    "promote",
    "prompt",
    "record",
    "reload",
    "remove",
    "replay",
    "runbook",
    "runbook-check",
    "runbook-list",
    "runbook-show",
    "serve-answer",
    "serve-request",
    "stats",
    "test",
    "trust",
    "uninstall",
    "untrust",
    "verdict",
    "verify",
    "workflow-check",
    "workflow-context",
    "workflow-history",
    "workflow-next",
    "workflow-status",
    "workflow-validate",
);

/// Finds a schema by name.
pub fn find(name: &str) -> Option<&'static Schema> {
    SCHEMAS.iter().find(|schema| schema.name == name)
}

#[cfg(feature = "schema")]
pub use generated::generate;

#[cfg(feature = "schema")]
mod front_matter;
#[cfg(feature = "schema")]
mod parts;
#[cfg(feature = "schema")]
mod runbook;

/// The schemas made from the types.
#[cfg(feature = "schema")]
mod generated {
    use std::borrow::Cow;

    use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings, json_schema};
    use serde_json::{Map, Value, json};

    use super::{front_matter, runbook};
    use crate::agent::{FailureKind, PromptType};
    use crate::bus::{AgentRenamed, AgentReport, BusEvent, PipelineReport, SignalKind};
    use crate::case::Case;
    use crate::daemon::{self, AgentView, DaemonStatus, DecisionView, Response};
    use crate::decision::Decision;
    use crate::inquiry::{Claim, Inquiry, Resolution};
    use crate::kind::EventKind;
    use crate::notice::Notice;
    use crate::pipeline::{PipelineLine, PipelineView, Plan};
    use crate::record::Record;
    use crate::report::changes::{
        AddReport, EmitReport, InstallReport, NewReport, PromoteReport, ReloadReport, RemoveReport,
        TrustReport, UninstallReport, UntrustReport,
    };
    use crate::report::packs::ListedPack;
    use crate::report::runbook::{RunbookCheckReport, RunbookListReport, ShownPipeline};
    use crate::report::workflow::{
        ValidateReport, WorkflowCheckReport, WorkflowContextReport, WorkflowHistoryReport,
        WorkflowListReport, WorkflowNextReport, WorkflowReport,
    };
    use crate::report::{
        CheckReport, DoctorReport, HostReport, ListReport, PlanReport, PromptedHook, ReplayReport,
        StatsReport, TestedCase, VerifyReport,
    };
    use crate::serve::{Answer, Request};
    use crate::verdict::Verdict;

    /// Returns every schema's name and text, as they are to be committed.
    pub fn generate() -> Vec<(&'static str, String)> {
        let commands = [
            of::<CheckReport>("check", "Findings in hooks", "As `anyhook check --json` prints it."),
            of::<DoctorReport>("doctor", "What is wrong", "As `anyhook doctor --json` prints it."),
            of::<Vec<HostReport>>("hosts", "The agents", "As `anyhook hosts --json` prints it."),
            of::<ListReport>("list", "The installed hooks", "As `anyhook list --json` prints it."),
            of::<Vec<ListedPack>>(
                "packs",
                "The packs",
                "As `anyhook packs --json` prints it; `anyhook packs NAME --json` prints one of them.",
            ),
            of::<PlanReport>(
                "plan",
                "Who would run at an event",
                "As `anyhook explain --json` and `anyhook run --dry-run --json` print it.",
            ),
            of::<Vec<PromptedHook>>(
                "prompt",
                "The hooks in force",
                "As `anyhook prompt --json` prints it.",
            ),
            of::<ReplayReport>(
                "replay",
                "What hooks would have said",
                "As `anyhook replay --json` prints it.",
            ),
            of::<Answer>(
                "serve-answer",
                "A line that `serve` writes",
                "One line of `anyhook serve --stdio` after the first, which is {\"anyhook\": VERSION, \"protocol\": 1}.",
            ),
            of::<Request>(
                "serve-request",
                "A line that `serve` reads",
                "One line to `anyhook serve --stdio`.",
            ),
            of::<StatsReport>(
                "stats",
                "The journal summed up",
                "As `anyhook stats --json` prints it.",
            ),
            of::<Vec<TestedCase>>(
                "test",
                "What became of test cases",
                "As `anyhook test --json` prints it.",
            ),
            of::<VerifyReport>(
                "verify",
                "Whether the journal is whole",
                "As `anyhook verify --json` prints it.",
            ),
            of::<Verdict>(
                "verdict",
                "What all hooks say together",
                "As `anyhook run --json` prints it.",
            ),
        ];
        let files = [
            of::<Case>(
                "case",
                "A test case of a hook",
                "One file of a hook's tests/ folder, run by `anyhook test`.",
            ),
            ("event", event()),
            ("front-matter", text(&front_matter::schema())),
            of::<Notice>(
                "notice",
                "A notice to a person",
                "What a `[notify]` command gets on standard input and a webhook as its body.",
            ),
            of::<Decision>(
                "output",
                "What a hook prints",
                "A JSON object on a hook's standard output, at the beginning of a line, when it exits 0. `block` is read as `deny`, in any case; null is as good as absent.",
            ),
            of::<Record>(
                "record",
                "A record of the journal",
                "One line of a journal file; `anyhook log --json` prints the same.",
            ),
        ];
        files
            .into_iter()
            .chain(commands)
            .chain(of_changes())
            .chain(of_daemon())
            .chain(of_pipelines())
            .chain(of_runbooks())
            .chain(of_workflows())
            .collect()
    }

    /// Returns what commands that change something say of it.
    fn of_changes() -> [(&'static str, String); 10] {
        [
            of::<AddReport>("add", "What was added", "As `anyhook add --json` prints it."),
            of::<EmitReport>(
                "emit",
                "What was told of an agent",
                "As `anyhook emit --json` prints it.",
            ),
            of::<InstallReport>(
                "install",
                "What was installed into agents",
                "As `anyhook install --json` prints it.",
            ),
            of::<NewReport>("new", "A hook that was made", "As `anyhook new --json` prints it."),
            of::<PromoteReport>(
                "promote",
                "A hook that is in force",
                "As `anyhook promote --json` prints it.",
            ),
            of::<ReloadReport>(
                "reload",
                "Guards that sessions use as they are now",
                "As `anyhook reload --json` prints it.",
            ),
            of::<RemoveReport>(
                "remove",
                "What was removed",
                "As `anyhook remove --json` prints it.",
            ),
            of::<TrustReport>("trust", "What was trusted", "As `anyhook trust --json` prints it."),
            of::<UninstallReport>(
                "uninstall",
                "What was removed from agents",
                "As `anyhook uninstall --json` prints it.",
            ),
            of::<UntrustReport>(
                "untrust",
                "What is no longer trusted",
                "As `anyhook untrust --json` prints it.",
            ),
        ]
    }

    /// Returns what a runbook is, and what is said of it.
    fn of_runbooks() -> [(&'static str, String); 4] {
        [
            ("runbook", text(&runbook::schema())),
            of::<RunbookCheckReport>(
                "runbook-check",
                "Findings in runbooks",
                "As `anyhook runbook check --json` prints it.",
            ),
            of::<RunbookListReport>(
                "runbook-list",
                "The pipelines of all runbooks",
                "As `anyhook runbook list --json` prints it.",
            ),
            of::<ShownPipeline>(
                "runbook-show",
                "A pipeline of a runbook",
                "As `anyhook runbook show --json` prints it.",
            ),
        ]
    }

    /// Returns what is said of a workflow.
    fn of_workflows() -> [(&'static str, String); 7] {
        [
            of::<WorkflowCheckReport>(
                "workflow-check",
                "Findings in a workflow's file",
                "As `anyhook workflow check --json` prints it.",
            ),
            of::<WorkflowContextReport>(
                "workflow-context",
                "What an agent of a workflow is given",
                "As `anyhook workflow context --json` prints it.",
            ),
            of::<WorkflowHistoryReport>(
                "workflow-history",
                "What happened to a workflow",
                "As `anyhook workflow history --json` prints it.",
            ),
            of::<WorkflowListReport>(
                "workflow-list",
                "The workflows of a user",
                "As `anyhook workflow list --json` prints it.",
            ),
            of::<WorkflowNextReport>(
                "workflow-next",
                "Who is to work now",
                "As `anyhook workflow next --json` prints it.",
            ),
            of::<WorkflowReport>(
                "workflow-status",
                "Where a workflow is",
                "As `anyhook workflow status --json` prints it, and `init`, `complete`, `approve`, `reject`, `reset` and `run` with `--json`.",
            ),
            of::<ValidateReport>(
                "workflow-validate",
                "What is wrong with artifacts",
                "As `anyhook workflow validate --json` prints it.",
            ),
        ]
    }

    /// Returns what is said by and to the daemon.
    fn of_daemon() -> [(&'static str, String); 6] {
        [
            of::<Vec<AgentView>>(
                "agents",
                "What every agent does",
                "As `anyhook agent list --json` prints it; `anyhook agent show --json` prints one of them.",
            ),
            of::<daemon::Request>(
                "daemon-request",
                "What a client says to the daemon",
                "One frame to the daemon's socket, after the greeting.",
            ),
            of::<Response>(
                "daemon-response",
                "What the daemon answers",
                "One frame from the daemon's socket, after the greeting.",
            ),
            of::<Option<DaemonStatus>>(
                "daemon-status",
                "How the daemon is",
                "As `anyhook daemon status --json` prints it: null if it does not run.",
            ),
            of::<Vec<DecisionView>>(
                "decisions",
                "What waits for a person",
                "As `anyhook decision list --json` prints it; `anyhook decision show --json` prints one of them, and `anyhook decision resolve --json` the `resolution` of one.",
            ),
            of::<BusEvent>(
                "happening",
                "Something that happened",
                "What the daemon tells those who follow it. The members of a type that is not listed here are not known.",
            ),
        ]
    }

    /// Returns what is said of pipelines.
    fn of_pipelines() -> [(&'static str, String); 4] {
        [
            of::<PipelineView>(
                "pipeline",
                "A pipeline",
                "As `anyhook pipeline show --json` prints it; `run`, `cancel` and `resume` with `--json` print the same.",
            ),
            of::<PipelineLine>(
                "pipeline-line",
                "What happened to a pipeline",
                "One line of `anyhook pipeline logs --json`.",
            ),
            of::<Plan>(
                "pipeline-plan",
                "What a pipeline is to do",
                "As `anyhook pipeline run --dry-run` prints it: every value is filled in.",
            ),
            of::<Vec<PipelineView>>(
                "pipelines",
                "Pipelines",
                "As `anyhook pipeline list --json` and `anyhook pipeline wait --json` print them.",
            ),
        ]
    }

    /// By hand: each type has its members in one flat object, and an unknown type may have any.
    impl JsonSchema for BusEvent {
        fn schema_name() -> Cow<'static, str> {
            "Happening".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
            let each: Vec<Value> = Self::TYPES
                .iter()
                .map(|name| {
                    json!({
                        "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                        "then": members(name, generator),
                    })
                })
                .collect();
            json_schema!({
                "description": "Something that happened.",
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": {
                        "description": "What it is.",
                        "anyOf": [{"enum": Self::TYPES}, {"type": "string"}],
                    },
                },
                "allOf": each,
            })
        }
    }

    /// Returns the members that one type has beside `type`.
    fn members(name: &str, generator: &mut SchemaGenerator) -> Value {
        let message = json!({"type": "string", "description": "In its own words."});
        let own = match name {
            "decision:created" => return generator.subschema_for::<Inquiry>().into(),
            "decision:resolved" => return generator.subschema_for::<Resolution>().into(),
            "decision:claimed" | "decision:released" | "decision:revoked" => {
                return generator.subschema_for::<Claim>().into();
            }
            "agent:renamed" => return generator.subschema_for::<AgentRenamed>().into(),
            "agent:prompt" => json!({"prompt_type": generator.subschema_for::<PromptType>()}),
            "agent:failed" => {
                json!({"kind": generator.subschema_for::<FailureKind>(), "message": message})
            }
            "agent:signal" => {
                json!({"kind": generator.subschema_for::<SignalKind>(), "message": message})
            }
            name if name.starts_with("agent:") => {
                return generator.subschema_for::<AgentReport>().into();
            }
            _ => return generator.subschema_for::<PipelineReport>().into(),
        };
        let report = generator.subschema_for::<AgentReport>();
        json!({"allOf": [report, {"properties": own}]})
    }

    fn generator() -> SchemaGenerator {
        SchemaSettings::draft2020_12().into_generator()
    }

    fn of<T: JsonSchema>(
        name: &'static str,
        title: &str,
        description: &str,
    ) -> (&'static str, String) {
        let mut schema = generator().into_root_schema_for::<T>();
        schema.insert("title".to_owned(), title.into());
        schema.insert("description".to_owned(), description.into());
        (name, text(&schema.into()))
    }

    fn text(schema: &Value) -> String {
        format!("{schema:#}\n")
    }

    fn event() -> String {
        let one = |kind: EventKind| {
            let names: Vec<&str> =
                EventKind::all_names().filter(|name| EventKind::from_name(name) == kind).collect();
            let mut fields: Map<String, Value> = kind
                .own_fields()
                .iter()
                .map(|name| ((*name).to_owned(), field(&kind, name)))
                .collect();
            if kind.has_matcher() {
                fields.insert("file_details".to_owned(), file_details());
            }
            json!({
                "if": {"properties": {"event_type": {"enum": names}}},
                "then": {"properties": fields},
            })
        };
        text(&json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "An event",
            "description": "What a script gets on standard input and what `anyhook hook agent-hooks` takes (there only event_type is required). What a host does not tell is null.",
            "type": "object",
            "required": ["event_type"],
            "properties": {
                "event_type": {"type": "string", "examples": EventKind::all_names().collect::<Vec<_>>()},
                "timestamp": {"type": "string", "format": "date-time"},
                "session_id": {"type": ["string", "null"]},
                "work_dir": {"type": "string"},
                "context": {"type": "object"},
            },
            "allOf": EventKind::all().map(one).collect::<Vec<_>>(),
        }))
    }

    /// The schema of the forms of each file.
    fn file_details() -> Value {
        let text = |about: &str| json!({"type": "string", "description": about});
        let or_null = |about: &str| json!({"type": ["string", "null"], "description": about});
        json!({
            "type": "array",
            "description": "The forms of each file; there if `files` is.",
            "items": {
                "type": "object",
                "properties": {
                    "path": text("Absolute, without `.`, `..`, `//` and a `/` at the end."),
                    "given": text("As the call names it."),
                    "relative": or_null("From the project's folder on, if it is inside."),
                    "real": text("With links resolved; of what does not exist, as far as it does."),
                    "real_relative": or_null("The real path from the project's real folder on, if it is inside."),
                    "links": {"type": ["integer", "null"], "description": "How many names the file has, if it exists: more than one are hard links."},
                    "other_names": {
                        "type": "array",
                        "description": "The other names in the project of a file with hard links.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "path": text("Absolute, with links resolved."),
                                "relative": text("From the project's real folder on."),
                            },
                        },
                    },
                    "unknown_names": {"type": "integer", "description": "How many names of a file with hard links were not found; not there if all were."},
                },
            },
        })
    }

    /// The schema of one of an event's own fields.
    fn field(kind: &EventKind, name: &str) -> Value {
        match name {
            "tool_input" => {
                json!({"type": ["object", "null"], "description": "The tool's input with canonical field names."})
            }
            "files" => {
                json!({"type": ["array", "null"], "items": {"type": "string"}, "description": "Every file the call would touch, as far as that is certain: absolute and normalised, each followed by its real path where links lead elsewhere."})
            }
            "native" => {
                json!({"type": ["object", "null"], "description": "The host's own tool_name and tool_input."})
            }
            "duration_seconds" => json!({"type": ["number", "null"]}),
            "total_steps" | "step_count" | "duration_ms" => json!({"type": ["integer", "null"]}),
            "args" | "final_message" | "tool_output" | "error" => json!({}),
            "stop_reason" => {
                json!({"type": ["string", "null"], "examples": ["no_tool_calls", "tool_rejected", "max_steps"]})
            }
            "trigger" => json!({"type": ["string", "null"], "examples": ["manual", "auto"]}),
            "kind" if *kind == EventKind::Notification => {
                json!({"type": ["string", "null"], "examples": ["idle", "permission_prompt", "other"]})
            }
            _ => json!({"type": ["string", "null"]}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_json_with_a_title() {
        for schema in SCHEMAS {
            let value: serde_json::Value = serde_json::from_str(schema.text).unwrap();
            assert!(value["title"].is_string(), "{}", schema.name);
        }
    }
}
