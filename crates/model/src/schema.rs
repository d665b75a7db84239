//! JSON Schemas of everything people write or read: committed, embedded, checked for drift.

/// A schema's short name and its text.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The name, as `anyhook schema NAME` accepts it.
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
    "doctor-prove",
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
    "pack",
    "packs",
    "packs-lock",
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
    "update",
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
pub use mcp::tools as mcp_tools;

#[cfg(feature = "schema")]
mod front_matter;
#[cfg(feature = "schema")]
mod mcp;
#[cfg(feature = "schema")]
mod parts;
#[cfg(feature = "schema")]
mod runbook;

/// The schemas generated from the types.
#[cfg(feature = "schema")]
mod generated {
    use std::borrow::Cow;

    use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings, json_schema};
    use serde_json::{Map, Value, json};

    use super::{front_matter, runbook};
    use crate::agent::{FailureKind, PromptType};
    use crate::approval_request::{ApprovalRequest, Claim, Resolution};
    use crate::bus::{AgentRenamed, AgentReport, BusEvent, PipelineReport, SignalKind};
    use crate::case::Case;
    use crate::daemon::{self, AgentView, DaemonStatus, DecisionView, Response};
    use crate::decision::Decision;
    use crate::kind::EventKind;
    use crate::notice::Notice;
    use crate::pack::{PackManifest, PacksLock};
    use crate::pipeline::{PipelineLine, PipelinePlan, PipelineView};
    use crate::proof::Proof;
    use crate::record::Record;
    use crate::report::changes::{
        AddReport, EmitReport, InstallReport, NewReport, PromoteReport, ReloadReport, RemoveReport,
        TrustReport, UndoReport, UninstallReport, UntrustReport, UpdateReport,
    };
    use crate::report::import::ImportReport;
    use crate::report::init::InitReport;
    use crate::report::learn::LearnReport;
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
    use crate::serve::{ServeAnswer, ServeRequest};
    use crate::verdict::Verdict;

    /// Returns every schema's name and text, as they are to be committed.
    pub fn generate() -> Vec<(&'static str, String)> {
        let commands = [
            of::<CheckReport>(
                "check",
                "Hook check findings",
                "The output of `anyhook check --json`.",
            ),
            of::<DoctorReport>("doctor", "Diagnosis", "The output of `anyhook doctor --json`."),
            of::<Vec<Proof>>(
                "doctor-prove",
                "What was proven of agents",
                "The output of `anyhook doctor --prove --json`; each item is also a file `proofs/AGENT-PLACE.json` in the state folder.",
            ),
            of::<Vec<HostReport>>(
                "hosts",
                "Supported agents",
                "The output of `anyhook hosts --json`.",
            ),
            of::<ListReport>("list", "Installed hooks", "The output of `anyhook list --json`."),
            of::<Vec<ListedPack>>(
                "packs",
                "Packs",
                "The output of `anyhook packs --json`; `anyhook packs NAME --json` prints a single entry.",
            ),
            of::<PlanReport>(
                "plan",
                "Hooks that would run for an event",
                "The output of `anyhook explain --json` and `anyhook run --dry-run --json`.",
            ),
            of::<Vec<PromptedHook>>(
                "prompt",
                "Active hooks",
                "The output of `anyhook prompt --json`.",
            ),
            of::<ReplayReport>(
                "replay",
                "Replay results",
                "The output of `anyhook replay --json`.",
            ),
            of::<ServeAnswer>(
                "serve-answer",
                "A response line of `serve`",
                "One output line of `anyhook serve --stdio`, after the greeting {\"anyhook\": VERSION, \"protocol\": 1}.",
            ),
            of::<ServeRequest>(
                "serve-request",
                "A request line of `serve`",
                "One input line of `anyhook serve --stdio`.",
            ),
            of::<StatsReport>(
                "stats",
                "Journal statistics",
                "The output of `anyhook stats --json`.",
            ),
            of::<Vec<TestedCase>>("test", "Test results", "The output of `anyhook test --json`."),
            of::<VerifyReport>(
                "verify",
                "Journal integrity",
                "The output of `anyhook verify --json`.",
            ),
            of::<Verdict>("verdict", "The combined verdict", "The output of `anyhook run --json`."),
        ];
        let files = [
            of::<Case>(
                "case",
                "A hook test case",
                "A file in a hook's tests/ folder, run by `anyhook test`.",
            ),
            ("event", event()),
            ("front-matter", text(&front_matter::schema())),
            of::<Notice>(
                "notice",
                "A notification",
                "What a `[notify]` command receives on stdin, and a webhook as its request body.",
            ),
            of::<Decision>(
                "output",
                "Hook output",
                "A JSON object on the hook's stdout, at the start of a line, when the hook exits with 0. `block` means `deny`, in any letter case; null is the same as absent.",
            ),
            of::<PackManifest>("pack", "A pack", "`pack.toml`, which describes a pack of hooks."),
            of::<PacksLock>(
                "packs-lock",
                "Packs that were added",
                "`packs.lock`, next to the `hooks` folder of a level.",
            ),
            of::<Record>(
                "record",
                "A journal record",
                "One line of a journal file, also printed by `anyhook log --json`.",
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

    /// Returns the schemas of the output of commands that change something.
    fn of_changes() -> [(&'static str, String); 15] {
        [
            of::<AddReport>("add", "What was added", "As `anyhook add --json` prints it."),
            of::<EmitReport>(
                "emit",
                "What was reported about an agent",
                "As `anyhook emit --json` prints it.",
            ),
            of::<ImportReport>(
                "import",
                "An agent's own hooks, and what becomes of them",
                "As `anyhook import --json` prints it.",
            ),
            of::<InitReport>(
                "init",
                "What is proposed for a machine and a project, and what was done",
                "As `anyhook init --json` prints it.",
            ),
            of::<InstallReport>(
                "install",
                "What was installed into agents",
                "As `anyhook install --json` prints it.",
            ),
            of::<LearnReport>(
                "learn",
                "Hooks that past calls suggest",
                "The output of `anyhook learn --json`.",
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
            of::<UndoReport>(
                "undo",
                "Files that are back as they were",
                "As `anyhook undo --json` prints it.",
            ),
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
            of::<UpdateReport>(
                "update",
                "What was updated",
                "As `anyhook update --json` prints it.",
            ),
        ]
    }

    /// Returns the schemas of runbooks and of the output about them.
    fn of_runbooks() -> [(&'static str, String); 4] {
        [
            ("runbook", text(&runbook::schema())),
            of::<RunbookCheckReport>(
                "runbook-check",
                "Runbook check findings",
                "The output of `anyhook runbook check --json`.",
            ),
            of::<RunbookListReport>(
                "runbook-list",
                "Pipelines of all runbooks",
                "The output of `anyhook runbook list --json`.",
            ),
            of::<ShownPipeline>(
                "runbook-show",
                "A pipeline of a runbook",
                "The output of `anyhook runbook show --json`.",
            ),
        ]
    }

    /// Returns the schemas of the output about workflows.
    fn of_workflows() -> [(&'static str, String); 7] {
        [
            of::<WorkflowCheckReport>(
                "workflow-check",
                "Workflow check findings",
                "The output of `anyhook workflow check --json`.",
            ),
            of::<WorkflowContextReport>(
                "workflow-context",
                "The context of a workflow agent",
                "The output of `anyhook workflow context --json`.",
            ),
            of::<WorkflowHistoryReport>(
                "workflow-history",
                "Workflow history",
                "The output of `anyhook workflow history --json`.",
            ),
            of::<WorkflowListReport>(
                "workflow-list",
                "A user's workflows",
                "The output of `anyhook workflow list --json`.",
            ),
            of::<WorkflowNextReport>(
                "workflow-next",
                "Next steps of a workflow",
                "The output of `anyhook workflow next --json`.",
            ),
            of::<WorkflowReport>(
                "workflow-status",
                "Workflow status",
                "The output of `anyhook workflow status --json`, and of `init`, `complete`, `approve`, `reject`, `reset` and `run` with `--json`.",
            ),
            of::<ValidateReport>(
                "workflow-validate",
                "Artifact validation results",
                "The output of `anyhook workflow validate --json`.",
            ),
        ]
    }

    /// Returns the schemas of the daemon's protocol.
    fn of_daemon() -> [(&'static str, String); 6] {
        [
            of::<Vec<AgentView>>(
                "agents",
                "Agent states",
                "The output of `anyhook agent list --json`; `anyhook agent show --json` prints a single entry.",
            ),
            of::<daemon::Request>(
                "daemon-request",
                "A request to the daemon",
                "One frame sent to the daemon's socket, after the greeting.",
            ),
            of::<Response>(
                "daemon-response",
                "A response of the daemon",
                "One frame received from the daemon's socket, after the greeting.",
            ),
            of::<Option<DaemonStatus>>(
                "daemon-status",
                "Daemon status",
                "The output of `anyhook daemon status --json`; null if the daemon is not running.",
            ),
            of::<Vec<DecisionView>>(
                "decisions",
                "Decisions",
                "The output of `anyhook decision list --json`; `anyhook decision show --json` prints a single entry, and `anyhook decision resolve --json` its `resolution`.",
            ),
            of::<BusEvent>(
                "happening",
                "An event of the daemon",
                "What the daemon sends to subscribers. The members of a type that is not listed here are unspecified.",
            ),
        ]
    }

    /// Returns the schemas of pipelines.
    fn of_pipelines() -> [(&'static str, String); 4] {
        [
            of::<PipelineView>(
                "pipeline",
                "A pipeline",
                "The output of `anyhook pipeline show --json`, and of `run`, `cancel` and `resume` with `--json`.",
            ),
            of::<PipelineLine>(
                "pipeline-line",
                "A pipeline log line",
                "One line of `anyhook pipeline logs --json`.",
            ),
            of::<PipelinePlan>(
                "pipeline-plan",
                "A pipeline plan",
                "The output of `anyhook pipeline run --dry-run`, with every value filled in.",
            ),
            of::<Vec<PipelineView>>(
                "pipelines",
                "Pipelines",
                "The output of `anyhook pipeline list --json` and `anyhook pipeline wait --json`.",
            ),
        ]
    }

    /// Written by hand: each type has its members in one flat object, and an unknown type may have
    /// any.
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

    /// Returns the members of one type in addition to `type`.
    fn members(name: &str, generator: &mut SchemaGenerator) -> Value {
        let message = json!({"type": "string", "description": "A message in its own words."});
        let own = match name {
            "decision:created" => return generator.subschema_for::<ApprovalRequest>().into(),
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
            "description": "What a script receives on stdin, and what `anyhook hook agent-hooks` accepts (where only event_type is required). Fields that a host does not report are null.",
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

    /// Returns the schema of the forms of each file.
    fn file_details() -> Value {
        let text = |about: &str| json!({"type": "string", "description": about});
        let or_null = |about: &str| json!({"type": ["string", "null"], "description": about});
        json!({
            "type": "array",
            "description": "The paths of each file; present if `files` is.",
            "items": {
                "type": "object",
                "properties": {
                    "path": text("Absolute, without `.`, `..`, `//` or a trailing `/`."),
                    "given": text("As given in the call."),
                    "relative": or_null("Relative to the project folder, if inside it."),
                    "real": text("With links resolved; for a path that does not exist, as far as it does."),
                    "real_relative": or_null("The real path relative to the project's real folder, if inside it."),
                    "links": {"type": ["integer", "null"], "description": "The file's link count, if it exists; more than 1 means hard links."},
                    "other_names": {
                        "type": "array",
                        "description": "For a file with hard links: its other names in the project.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "path": text("Absolute, with links resolved."),
                                "relative": text("Relative to the project's real folder."),
                            },
                        },
                    },
                    "unknown_names": {"type": "integer", "description": "For a file with hard links: how many of its names were not found; absent if all were."},
                },
            },
        })
    }

    /// Returns the schema of one of an event's own fields.
    fn field(kind: &EventKind, name: &str) -> Value {
        match name {
            "tool_input" => {
                json!({"type": ["object", "null"], "description": "The tool's input with canonical field names."})
            }
            "files" => {
                json!({"type": ["array", "null"], "items": {"type": "string"}, "description": "Every file the call would touch, as far as is certain: absolute and normalized, each followed by its real path if links lead elsewhere."})
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
