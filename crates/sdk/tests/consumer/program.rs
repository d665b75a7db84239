//! A program that depends on the crate and has types of its own, which are read as without it.

use std::sync::Arc;

use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, RunRequest, ScriptedModel, SessionContext,
};
use anyhook_sdk::schemars::{self, JsonSchema};
use anyhook_sdk::{Decision, FunctionHook, Hooks, ToolCall};
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Amount {
    Number(f64),
    Text(String),
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Position {
    latitude: f64,
    longitude: f64,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Place {
    name: String,
    #[serde(flatten)]
    position: Position,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Answer {
    amount: Amount,
    place: Place,
    shape: Shape,
}

const ANSWER: &str = r#"{"amount": 1.5, "place": {"name": "Ulm", "latitude": 48.4, "longitude": 10.0},
    "shape": {"kind": "circle", "radius": 0.25}}"#;

fn expected() -> Answer {
    Answer {
        amount: Amount::Number(1.5),
        place: Place {
            name: "Ulm".to_owned(),
            position: Position { latitude: 48.4, longitude: 10.0 },
        },
        shape: Shape::Circle { radius: 0.25 },
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    assert_eq!(serde_json::from_str::<Answer>(ANSWER)?, expected());
    // Keys are in the order that `serde_json` has by default.
    assert_eq!(json!({"b": 1, "a": 2.0}).to_string(), r#"{"a":2.0,"b":1}"#);

    let center = LiveAgentCenter::builder().build();
    let model = ScriptedModel::new().says(ANSWER);
    center.register_model("model", Arc::new(model), IfTaken::Refuse)?;
    center.register_agent(Agent::new("agent", "model"), IfTaken::Refuse)?;
    let request = RunRequest::new(SessionContext::new("agent", "session"), "where?");
    let (answer, _run) = center.run_as::<Answer>(request).await?;
    assert_eq!(answer, expected());

    // What fits into the types of `serde_json` is exact; what does not is no panic.
    let guard = FunctionHook::before_tool("guard", async |event| {
        let limit = event.tool_input("limit").map(ToString::to_string);
        Ok(match limit.as_deref() {
            Some("18446744073709551615" | "-9223372036854775808" | "0.1") => Decision::deny("seen"),
            _ => Decision::default(),
        })
    });
    let hooks = Hooks::builder("consumer").hook(guard).build()?;
    for (text, is_seen) in [
        ("18446744073709551615", true),
        ("-9223372036854775808", true),
        ("0.1", true),
        ("12345678901234567890123", false),
    ] {
        let input = serde_json::from_str(&format!("{{\"limit\": {text}}}"))?;
        let verdict = hooks.before_tool("session", &ToolCall::new("Shell", input)).await;
        assert_eq!(verdict.is_block(), is_seen, "{text}");
    }
    println!("as without it");
    Ok(())
}
