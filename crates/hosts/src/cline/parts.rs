//! Calls that do several things: commands, files, patterns or addresses in a list. Each is an event of
//! its own, so that a guard sees it alone; what is denied is the whole call.

use anyhook_model::ToolCall;
use anyhook_model::json::{Object, remove};
use serde_json::{Value, json};

use crate::wiring;

/// Why no hook may change one that does several things.
const SEVERAL: &str = "it does several things, so it can be denied but not rewritten";

/// What a call does, one by one.
#[derive(Debug)]
pub struct Parts {
    /// The inputs, as if each were a call: at least one.
    pub inputs: Vec<Value>,
    /// Why no hook may change them, if none may.
    pub fixed: Option<&'static str>,
    /// Whether the tool takes a list, and returns one.
    pub is_list: bool,
}

impl Parts {
    /// Splits the input of a call; one of another form stays whole.
    pub fn of(tool: &str, input: Value) -> Self {
        let mut fixed = None;
        let inputs: Vec<Value> = match tool {
            "run_commands" => {
                let items = items(&input, &["commands", "cmd"]);
                if items.iter().any(|item| item.get("args").is_some()) {
                    fixed = Some("it is a program with arguments, not a command");
                }
                items.iter().map(command).collect()
            }
            "read_files" => {
                items(&input, &["files", "file_paths", "paths"]).iter().map(file).collect()
            }
            "search_codebase" => {
                items(&input, &["queries"]).iter().map(|item| json!({"queries": item})).collect()
            }
            "fetch_web_content" => items(&input, &["requests"]).to_vec(),
            _ => Vec::new(),
        };
        let is_list = !inputs.is_empty();
        match inputs.len() {
            0 => Self { inputs: vec![input], fixed, is_list },
            1 => Self { inputs, fixed, is_list },
            _ => Self { inputs, fixed: Some(SEVERAL), is_list },
        }
    }
}

/// Returns the items of a list, which Cline also accepts under other names, alone, or, if it is
/// only one, without a list.
fn items<'input>(input: &'input Value, names: &[&str]) -> &'input [Value] {
    let inner = names.iter().find_map(|name| input.get(*name)).unwrap_or(input);
    match inner {
        Value::Array(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// Returns the input of a single command. A program with arguments is written as a shell would have
/// it.
fn command(item: &Value) -> Value {
    let Some(program) = item.get("command").and_then(Value::as_str) else {
        return json!({"commands": item});
    };
    let arguments = item.get("args").and_then(Value::as_array).into_iter().flatten();
    let arguments = arguments.filter_map(Value::as_str);
    let line = match item.get("args") {
        Some(_) => wiring::command_line([program].into_iter().chain(arguments)),
        None => program.to_owned(),
    };
    json!({"commands": line})
}

/// Returns the input of a single file.
fn file(item: &Value) -> Value {
    let mut fields = match item {
        Value::Object(fields) => fields.clone(),
        path => Object::from_iter([("path".to_owned(), path.clone())]),
    };
    for other in ["file_path", "filePath"] {
        if let Some(path) = remove(&mut fields, other) {
            fields.insert("path".to_owned(), path);
        }
    }
    Value::Object(fields)
}

/// Puts a changed input of a single thing back into its list.
pub fn whole(call: &ToolCall, input: Value) -> Value {
    let tool = call.native.as_ref().map_or("", |native| native.tool_name.as_str());
    let Value::Object(mut fields) = input else { return input };
    let list = |name: &str, item: Value| json!({name: [item]});
    match tool {
        "run_commands" => list("commands", remove(&mut fields, "commands").unwrap_or_default()),
        "search_codebase" => list("queries", remove(&mut fields, "queries").unwrap_or_default()),
        "read_files" => list("files", Value::Object(fields)),
        "fetch_web_content" => list("requests", Value::Object(fields)),
        "editor" => {
            if let Some(content) = remove(&mut fields, "content") {
                fields.insert("new_text".to_owned(), content);
            }
            Value::Object(fields)
        }
        _ => Value::Object(fields),
    }
}
