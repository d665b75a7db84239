//! The schema of runbooks, by hand: they are read from a tree, not into types.

use serde_json::{Map, Value, json};

use super::parts::{NAME, named, object, text};
use crate::agent::FailureKind;
use crate::reaction::Trigger;

/// Returns the schema of a runbook in TOML; in HCL, blocks with labels are objects in it.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A runbook",
        "description": "A file of `.agents/runbooks`, in TOML or HCL; in HCL `pipeline \"x\" {…}` is `pipeline.x`, and `step \"a\" {…}` an item of `step` with that name.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "pipeline": named("The pipelines by name.", &json!({"$ref": "#/$defs/pipeline"})),
            "agent": named("The agents by name.", &json!({"$ref": "#/$defs/agent"})),
        },
        "$defs": {
            "pipeline": pipeline(),
            "step": step(),
            "agent": agent(),
            "next": next(),
        },
    })
}

fn next() -> Value {
    let inner = object("A step.", &["step"], json!({"step": {"type": "string", "pattern": NAME}}));
    json!({
        "description": "A step: its name, or an object with it.",
        "anyOf": [{"type": "string", "pattern": NAME}, inner],
    })
}

fn pipeline() -> Value {
    let variable = object(
        "A value that is given.",
        &[],
        json!({
            "default": text("What it is if it is not given."),
            "required": {"type": "boolean", "description": "Whether it must be given; so it is without a default."},
            "description": text("What it is for."),
        }),
    );
    let kinds = json!(["none", "folder", "worktree"]);
    let workspace = object(
        "Where it works.",
        &["kind"],
        json!({
            "kind": {"enum": kinds},
            "path": text("Its folder, relative to the project."),
            "branch": text("The branch of a worktree, which is made for it."),
            "base": text("What the branch begins at."),
            "keep": {"type": "boolean", "default": true, "description": "Whether it stays when all is done."},
        }),
    );
    let moments = ["on_start", "on_done", "on_fail", "on_cancel"];
    let notify: Map<String, Value> =
        moments.iter().map(|moment| ((*moment).to_owned(), json!({"type": "string"}))).collect();
    let either = json!({"anyOf": [{"type": "string"}, variable]});
    object(
        "A pipeline.",
        &["step"],
        json!({
            "vars": named("The values it takes: a default, or more about it.", &either),
            "locals": named("The texts it makes of them.", &json!({"type": "string"})),
            "workspace": {"anyOf": [{"enum": kinds}, workspace]},
            "notify": object("What a person is told.", &[], notify.into()),
            "step": {
                "description": "Its steps; it begins with the first.",
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/$defs/step"},
            },
            "on_done": {"$ref": "#/$defs/next"},
            "on_fail": {"$ref": "#/$defs/next"},
            "on_cancel": {"$ref": "#/$defs/next"},
        }),
    )
}

fn step() -> Value {
    let agent =
        object("An agent.", &["agent"], json!({"agent": {"type": "string", "pattern": NAME}}));
    object(
        "A step.",
        &["name", "run"],
        json!({
            "name": {"type": "string", "pattern": NAME},
            "run": {"description": "A command for `sh`, or an agent.", "anyOf": [{"type": "string"}, agent]},
            "timeout": text("How long the command may take, such as \"10m\"."),
            "on_done": {"$ref": "#/$defs/next"},
            "on_fail": {"$ref": "#/$defs/next"},
            "on_cancel": {"$ref": "#/$defs/next"},
        }),
    )
}

fn agent() -> Value {
    let mut properties = json!({
        "run": text("The command that starts it; `${prompt}` is where its prompt goes."),
        "prompt": text("What it is told to do."),
        "prompt_file": text("The file that has what it is told to do, relative to the runbook's folder."),
        "env": {
            "description": "Variables of its environment.",
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": "string"},
        },
        "cwd": text("The folder it works in, relative to the workspace."),
        "host": text("Which agent it is, such as `claude-code`, if its command does not tell."),
        "session": {"const": "pty", "deprecated": true, "description": "Not needed: there is one kind of session."},
    });
    for trigger in Trigger::ALL {
        let rule = match trigger {
            Trigger::OnError => {
                let kinds = FailureKind::ALL.map(|(_, name)| name);
                let mut rule = action(trigger);
                rule["anyOf"][1]["properties"]["match"] = json!({"enum": kinds});
                json!({"anyOf": [action(trigger), {"type": "array", "items": rule}]})
            }
            _ => action(trigger),
        };
        properties[trigger.name()] = rule;
    }
    object("An agent and how it is looked after.", &["run"], properties)
}

/// Returns what can be done at a trigger: a word, or an object.
fn action(trigger: Trigger) -> Value {
    let verbs: Vec<&str> = trigger.verbs().iter().map(|verb| verb.name()).collect();
    let default = verbs[0];
    let object = object(
        "What is done, and how.",
        &["action"],
        json!({
            "action": {"enum": verbs},
            "message": text("What is said: typed, asked, or given as the reason."),
            "append": {"type": "boolean", "description": "Whether the message comes after what would be said without it."},
            "run": text("The command of a gate."),
            "attempts": {
                "description": "How often before a person is asked.",
                "anyOf": [{"type": "integer", "minimum": 1}, {"const": "forever"}],
            },
            "cooldown": text("How long it waits after one time before the next, such as \"30s\"."),
            "timeout": text("How long a gate may take."),
        }),
    );
    json!({"default": default, "anyOf": [{"enum": verbs}, object]})
}
