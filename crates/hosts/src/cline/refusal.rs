//! How a tool call is refused.
//!
//! A hook of Cline can end the whole run, and then nobody is told why; it cannot refuse one call. But
//! it can change the call's input, without a check of the result, and add a text for the model. So a
//! refused call gets an input with which its tool fails without doing anything, and the reason is
//! told with the failure. Neither the reason nor anything else from outside is part of that input.

use serde_json::{Value, json};

/// Where nothing can be: no file, no folder, no program.
const NOWHERE: &str = "/dev/null/refused-by-anyhook/";

/// The tools that check their input before they do anything, and need a field.
const CHECKING: [&str; 9] = [
    "ask_question",
    "spawn_agent",
    "team_broadcast",
    "team_mission_log",
    "team_run_task",
    "team_send_message",
    "team_shutdown_teammate",
    "team_spawn_teammate",
    "team_task",
];

/// Returns the input with which a tool does nothing but fail; `None` for a tool of which we do not
/// know one, such as those of MCP servers.
///
/// It differs from call to call: Cline ends a run with five equal calls in a row.
pub fn input(tool: &str, call_id: &str) -> Option<Value> {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let call_id: String = call_id.chars().filter(is_plain).take(64).collect();
    let place = format!("{NOWHERE}{call_id}");
    Some(match tool {
        // A program with arguments is started without a shell.
        "run_commands" => json!({"commands": [{"command": place, "args": []}]}),
        "read_files" => json!({"files": [{"path": place}]}),
        "editor" => json!({"path": place, "new_text": ""}),
        "apply_patch" => json!({"input": place}),
        "search_codebase" => json!({"queries": [format!("({place}")]}),
        "fetch_web_content" => json!({"requests": [{"url": place, "prompt": "refused"}]}),
        _ if CHECKING.contains(&tool) => json!({"refused_by_anyhook": call_id}),
        _ => return None,
    })
}

/// Returns whether a call has the input that a refused one gets.
pub fn is_refused(tool: &str, call_id: &str, input_found: &Value) -> bool {
    input(tool, call_id).is_some_and(|refused| refused == *input_found)
}
