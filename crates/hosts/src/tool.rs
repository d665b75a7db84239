//! Tools under one name for all agents: tables of names and fields, applied both ways.

use std::path::Path;

use anyhook_model::ToolCall;
use anyhook_model::event::NativeCall;
use anyhook_model::json::Object;
use serde_json::Value;

/// One tool of a host and its canonical name.
#[derive(Debug)]
pub struct Tool {
    /// The host's name.
    pub native: &'static str,
    /// The canonical name, such as `Shell`.
    pub canonical: &'static str,
    /// Fields that have another name here: the host's, the canonical.
    pub renamed: &'static [(&'static str, &'static str)],
    /// Further fields the tool is known to take, under the same name.
    pub known: &'static [&'static str],
    /// The canonical fields that name a file the call touches.
    pub files: &'static [&'static str],
}

/// Finds a host's tool.
fn find(tools: &'static [Tool], native: &str) -> Option<&'static Tool> {
    tools.iter().find(|tool| tool.native == native)
}

/// Makes the canonical form of a host's call, with the host's own beside it.
///
/// A tool that no table knows keeps its name and its fields.
pub fn canonical(
    tools: &'static [Tool],
    name: String,
    input: Value,
    use_id: Option<String>,
    work_dir: &Path,
) -> ToolCall {
    let tool = find(tools, &name);
    let mut shadowed = false;
    let translated = match (&input, tool) {
        (Value::Object(fields), Some(tool)) => {
            let mut translated = Object::new();
            for (key, value) in fields {
                let is_renamed = tool.renamed.iter().any(|(native, _)| native == key);
                // A field that only has the canonical name must not stand in for the one the host reads.
                let stands_in = |(native, canonical): &(&str, &str)| {
                    canonical == key && fields.contains_key(*native)
                };
                if !is_renamed && tool.renamed.iter().any(stands_in) {
                    shadowed = true;
                    continue;
                }
                translated.insert(canonical_key(tool, key).to_owned(), value.clone());
            }
            Value::Object(translated)
        }
        _ => input.clone(),
    };
    let files = tool.filter(|tool| !tool.files.is_empty()).map_or(Value::Null, |tool| {
        let paths = tool.files.iter().filter_map(|field| translated.get(field)?.as_str());
        paths.map(|path| work_dir.join(path).to_string_lossy().into_owned()).collect()
    });
    let canonical_name = tool.map(|tool| tool.canonical.to_owned());
    ToolCall {
        name: canonical_name.unwrap_or_else(|| name.clone()),
        input: translated,
        use_id,
        files,
        native: Some(NativeCall { tool_name: name, tool_input: input }),
        fixed: shadowed.then_some("it names a field twice"),
    }
}

/// Translates a changed canonical input into the host's own.
///
/// A field the tool does not have is refused: the host would drop it, or the whole call.
pub fn native_input(
    tools: &'static [Tool],
    call: &ToolCall,
    changed: &Object,
) -> Result<Option<Value>, String> {
    let Some(native) = &call.native else { return Ok(None) };
    let Some(tool) = find(tools, &native.tool_name) else {
        return Ok(Some(Value::Object(changed.clone())));
    };
    let mut input = Object::new();
    for (key, value) in changed {
        let name = tool
            .renamed
            .iter()
            .find(|(_, canonical)| canonical == key)
            .map_or(key.as_str(), |(native, _)| native);
        let is_known = tool.renamed.iter().any(|(native, _)| *native == name)
            || tool.known.contains(&name)
            || native.tool_input.get(name).is_some();
        if !is_known {
            return Err(format!("`{key}` is no field of {}", native.tool_name));
        }
        input.insert(name.to_owned(), value.clone());
    }
    Ok(Some(Value::Object(input)))
}

fn canonical_key<'key>(tool: &'static Tool, key: &'key str) -> &'key str {
    tool.renamed.iter().find(|(native, _)| *native == key).map_or(key, |(_, canonical)| canonical)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOOLS: &[Tool] = &[Tool {
        native: "Write",
        canonical: "WriteFile",
        renamed: &[("file_path", "path")],
        known: &["content"],
        files: &["path"],
    }];

    fn write() -> ToolCall {
        let input = json!({"file_path": "a.txt", "content": "x"});
        canonical(TOOLS, "Write".to_owned(), input, None, Path::new("/p"))
    }

    #[test]
    fn names_and_fields_are_canonical() {
        let call = write();
        assert_eq!(call.name, "WriteFile");
        assert_eq!(call.input, json!({"path": "a.txt", "content": "x"}));
        assert_eq!(call.files, json!(["/p/a.txt"]));
        assert_eq!(call.native.unwrap().tool_name, "Write");
    }

    #[test]
    fn changes_go_back_exactly_or_not_at_all() {
        let change = |value: Value| native_input(TOOLS, &write(), value.as_object().unwrap());
        assert_eq!(
            change(json!({"path": "b", "content": "y"})),
            Ok(Some(json!({"file_path": "b", "content": "y"})))
        );
        assert_eq!(
            change(json!({"path": "b", "mode": 7})),
            Err("`mode` is no field of Write".to_owned())
        );
    }

    #[test]
    fn a_field_with_the_canonical_name_does_not_hide_the_real_one() {
        let input = json!({"file_path": "/etc/passwd", "content": "x", "path": "ok.txt"});
        let call = canonical(TOOLS, "Write".to_owned(), input, None, Path::new("/p"));
        assert_eq!(call.input["path"], "/etc/passwd");
        assert_eq!(call.files, json!(["/etc/passwd"]));
        assert!(call.fixed.is_some());
    }

    #[test]
    fn an_unknown_tool_stays_as_it_is() {
        let call = canonical(TOOLS, "Frobnicate".to_owned(), json!({"x": 1}), None, Path::new("/"));
        assert_eq!((call.name.as_str(), &call.files), ("Frobnicate", &Value::Null));
        let changed = json!({"y": 2});
        assert_eq!(
            native_input(TOOLS, &call, changed.as_object().unwrap()),
            Ok(Some(changed.clone()))
        );
    }
}
