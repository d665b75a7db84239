//! The schema of `workflow.toml`, by hand: it is read from a tree, not into types.

use serde_json::{Value, json};

use super::parts::{NAME, named, object, text};

const MODES: [&str; 4] = ["full_system", "feature", "bug_fix", "refactor"];
const RISKS: [&str; 5] = ["low", "medium", "unknown", "high", "critical"];
const KINDS: [&str; 16] = [
    "pm-output",
    "architect-output",
    "architecture-assessment",
    "frontend-output",
    "backend-output",
    "ai-engineer-output",
    "qa-output",
    "devops-output",
    "safety-output",
    "governance-output",
    "code-health-output",
    "stage-completion-signal",
    "workflow-state",
    "project-config",
    "context-refresh-report",
    "second-opinion-review",
];

/// Returns the schema of a workflow.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A workflow",
        "description": "A project's `.agents/workflow.toml`: who does what, in which order, what they hand on, and who is asked.",
        "type": "object",
        "additionalProperties": false,
        "required": ["stage"],
        "properties": {
            "name": {"type": "string", "pattern": NAME, "default": "workflow", "description": "The workflow's name."},
            "folder": path("The folder of all artifacts, below the project.", "ARTIFACTS"),
            "run": filled("The command that starts agents that have none of their own."),
            "agent": named("Who works, by name.", &agent()),
            "stage": {
                "description": "What is done.",
                "type": "array", "minItems": 1, "maxItems": 100,
                "items": {"$ref": "#/$defs/stage"},
            },
            "review": {
                "description": "Who looks at what was done.",
                "type": "array", "maxItems": 100,
                "items": {"$ref": "#/$defs/review"},
            },
            "risk": {
                "description": "Which risk asks for which reviews.",
                "type": "array",
                "items": {"$ref": "#/$defs/risk"},
            },
            "qa": {"$ref": "#/$defs/qa"},
            "documentation": {"$ref": "#/$defs/documentation"},
            "second_opinion": {"$ref": "#/$defs/second_opinion"},
        },
        "$defs": {
            "name": {"type": "string", "pattern": NAME},
            "stage": stage(),
            "artifact": artifact(),
            "review": review(),
            "risk": risk(),
            "qa": qa(),
            "documentation": documentation(),
            "second_opinion": second_opinion(),
        },
    })
}

/// Returns a name of something else in the file.
fn name(description: &str) -> Value {
    json!({"$ref": "#/$defs/name", "description": description})
}

fn names(description: &str) -> Value {
    json!({"type": "array", "items": {"$ref": "#/$defs/name"}, "description": description})
}

fn words(known: &[&str], description: &str) -> Value {
    json!({"type": "array", "items": {"enum": known}, "description": description})
}

/// Returns a text that says something.
fn filled(description: &str) -> Value {
    json!({"type": "string", "pattern": "\\S", "description": description})
}

/// Returns a path that stays below the project.
fn path(description: &str, default: &str) -> Value {
    let mut schema = json!({
        "type": "string",
        "minLength": 1,
        "not": {"pattern": "^/|//|\\\\|(^|/)\\.\\.?(/|$)"},
        "description": description,
    });
    if !default.is_empty() {
        schema["default"] = json!(default);
    }
    schema
}

fn timeout() -> Value {
    json!({"type": "string", "pattern": "^[0-9]", "description": "How long each time, such as \"2h\"."})
}

fn retries() -> Value {
    json!({
        "type": "integer", "minimum": 0, "maximum": 100, "default": 0,
        "description": "How often it is tried again.",
    })
}

fn artifacts() -> Value {
    json!({
        "description": "What it makes.",
        "type": "array", "minItems": 1,
        "items": {"$ref": "#/$defs/artifact"},
    })
}

fn agent() -> Value {
    object(
        "An agent.",
        &[],
        json!({
            "description": text("What it is for."),
            "run": filled("The command that starts it, if it is not that of the workflow."),
        }),
    )
}

fn stage() -> Value {
    let mut stage = object(
        "A stage.",
        &["name", "agent", "artifact"],
        json!({
            "name": name("Its name."),
            "agent": name("Who owns it."),
            "group": name("The group of stages that are done side by side."),
            "after": names("The stages and groups that come before it."),
            "optional": {
                "type": "boolean", "default": false,
                "description": "Whether an earlier agent may say that it is not needed.",
            },
            "reads": names("The stages and groups whose artifacts its agent is given."),
            "artifact": artifacts(),
            "approval": {
                "enum": ["before", "after"],
                "description": "Whether a person is asked before it begins or when it is done.",
            },
            "approval_modes": words(&MODES, "In which modes; in all if there is none."),
            "timeout": timeout(),
            "retries": retries(),
            "on_failure": {
                "enum": ["fail", "block", "rollback"], "default": "fail",
                "description": "What is done when it failed as often as it may.",
            },
            "rollback_to": name("The stage that is done again then."),
        }),
    );
    stage["dependentRequired"] = json!({"approval_modes": ["approval"]});
    stage["if"] =
        json!({"properties": {"on_failure": {"const": "rollback"}}, "required": ["on_failure"]});
    stage["then"] = json!({"required": ["rollback_to"]});
    stage
}

fn artifact() -> Value {
    let mut artifact = object(
        "An artifact.",
        &["file"],
        json!({
            "file": {
                "type": "string", "pattern": "^[^/\\\\]+$", "not": {"enum": [".", ".."]},
                "description": "The file's name, in its agent's folder.",
            },
            "schema": {"enum": KINDS, "description": "What it must be: a kind that anyhook knows."},
            "schema_file": path("What it must be: a JSON Schema of the project's own.", ""),
            "modes": words(&MODES, "In which modes it is made; in all if there is none."),
            "required": {
                "type": "boolean", "default": true,
                "description": "Whether the stage is not done without it.",
            },
        }),
    );
    artifact["oneOf"] = json!([{"required": ["schema"]}, {"required": ["schema_file"]}]);
    artifact
}

fn review() -> Value {
    object(
        "A review.",
        &["name", "agent", "artifact"],
        json!({
            "name": name("Its name."),
            "agent": name("Who reviews."),
            "stages": names("The stages and groups that are reviewed whatever the risk is."),
            "reads": names("The stages and groups whose artifacts the reviewer is given, too."),
            "artifact": artifacts(),
            "timeout": timeout(),
            "retries": retries(),
        }),
    )
}

fn risk() -> Value {
    object(
        "Which reviews a risk asks for.",
        &["levels", "reviews"],
        json!({
            "levels": words(&RISKS, "The risks."),
            "reviews": names("The reviews."),
            "stages": names("Of which stages and groups; of all if there is none."),
        }),
    )
}

fn qa() -> Value {
    object(
        "What the tests decide.",
        &["stage"],
        json!({
            "stage": name("The stage that tests."),
            "blocking": words(&["p0", "p1", "p2", "p3"], "Bugs so bad that no person is asked."),
            "fix": names("The stages and groups that mend bugs."),
        }),
    )
}

fn documentation() -> Value {
    object(
        "Whose documentation an agent is given when it begins.",
        &["server", "stages"],
        json!({
            "server": filled("The server of `.agents/mcp.json` that has it."),
            "stages": names("The stages and groups whose agents are given it."),
        }),
    )
}

fn second_opinion() -> Value {
    let mut rule = object(
        "Who else looks at what was done, and at what.",
        &["server"],
        json!({
            "server": filled("The server of `.agents/mcp.json` that is asked."),
            "tool": filled("The tool of it."),
            "stages": names("The stages and groups that it looks at."),
            "modes": words(&MODES, "In which modes it looks at them; in all if there is none."),
            "levels": words(&RISKS, "The risks at which it looks at every stage."),
            "reviews": names("The reviews that it looks at."),
        }),
    );
    rule["dependentRequired"] = json!({"modes": ["stages"]});
    rule
}
