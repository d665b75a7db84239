//! Maps tools to one canonical name for all agents: tables of names and fields, applied both ways.

use anyhook_model::derived::Derived;
use anyhook_model::event::NativeCall;
use anyhook_model::file_path::LazyForms;
use anyhook_model::json::Object;
use anyhook_model::{ToolCall, tools};
use serde_json::Value;

/// One tool of a host and its canonical name.
#[derive(Debug)]
pub struct HostTool {
    /// The host's name.
    pub native: &'static str,
    /// The canonical name, such as `Shell`.
    pub canonical: &'static str,
    /// Fields with a different name here: the host's, the canonical.
    pub renamed: &'static [(&'static str, &'static str)],
    /// Further fields the tool is known to accept, under the same name.
    pub known: &'static [&'static str],
    /// The canonical fields that name a file the call touches.
    pub files: &'static [&'static str],
}

/// A tool of a host that is not canonical.
#[derive(Clone, Copy, Debug)]
pub struct NativeTool {
    /// The host's name.
    pub name: &'static str,
    /// What it does, for people.
    pub what: &'static str,
}

/// Finds a host's tool.
fn find(tools: &'static [HostTool], native: &str) -> Option<&'static HostTool> {
    tools.iter().find(|tool| tool.native == native)
}

/// Returns whether a tool is one of a host's own.
pub fn is_known(tools: &'static [HostTool], others: &'static [NativeTool], native: &str) -> bool {
    find(tools, native).is_some() || others.iter().any(|other| other.name == native)
}

/// Converts a host's call to its canonical form, along with the host's own form.
///
/// A tool that is in no table keeps its name and its fields. If it carries a command, it also
/// counts as `Shell`.
pub fn canonical(
    host_tools: &'static [HostTool],
    others: &'static [NativeTool],
    name: String,
    input: Value,
    use_id: Option<String>,
) -> ToolCall {
    let tool = find(host_tools, &name);
    let also =
        if is_known(host_tools, others, &name) { &[] } else { tools::unlisted(&name, &input) };
    let mut shadowed = false;
    let translated = match (&input, tool) {
        (Value::Object(fields), Some(tool)) => {
            let mut translated = Object::new();
            for (key, value) in fields {
                let is_renamed = tool.renamed.iter().any(|(native, _)| native == key);
                // A field that only has the canonical name must not replace the one that the host
                // reads.
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
    let paths = tool.into_iter().flat_map(|tool| tool.files);
    let files: Vec<&str> = paths.filter_map(|field| translated.get(field)?.as_str()).collect();
    let files = if files.is_empty() { Value::Null } else { files.into() };
    let canonical_name = tool.map(|tool| tool.canonical.to_owned());
    ToolCall {
        name: canonical_name.unwrap_or_else(|| name.clone()),
        also,
        input: translated,
        forms: LazyForms::default(),
        derived: Derived::default(),
        use_id,
        files,
        native: Some(NativeCall { tool_name: name, tool_input: input }),
        fixed: shadowed.then_some("a field is given twice"),
    }
}

/// Translates a changed canonical input into the host's own.
///
/// A field that the tool does not have is rejected: the host would drop it, or the whole call. Half
/// a change would be a different command from the one that the hook meant.
pub fn native_input(
    tools: &'static [HostTool],
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
            return Err(format!("`{key}` is not a field of {}", native.tool_name));
        }
        input.insert(name.to_owned(), value.clone());
    }
    Ok(Some(Value::Object(input)))
}

fn canonical_key<'key>(tool: &'static HostTool, key: &'key str) -> &'key str {
    tool.renamed.iter().find(|(native, _)| *native == key).map_or(key, |(_, canonical)| canonical)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOOLS: &[HostTool] = &[HostTool {
        native: "Write",
        canonical: "WriteFile",
        renamed: &[("file_path", "path")],
        known: &["content"],
        files: &["path"],
    }];

    fn write() -> ToolCall {
        let input = json!({"file_path": "a.txt", "content": "x"});
        canonical(TOOLS, &[], "Write".to_owned(), input, None)
    }

    #[test]
    fn names_and_fields_are_canonical() {
        let call = write();
        assert_eq!(call.name, "WriteFile");
        assert_eq!(call.input, json!({"path": "a.txt", "content": "x"}));
        assert_eq!(call.files, json!(["a.txt"]));
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
            Err("`mode` is not a field of Write".to_owned())
        );
    }

    #[test]
    fn a_field_with_the_canonical_name_does_not_hide_the_real_one() {
        let input = json!({"file_path": "/etc/passwd", "content": "x", "path": "ok.txt"});
        let call = canonical(TOOLS, &[], "Write".to_owned(), input, None);
        assert_eq!(call.input["path"], "/etc/passwd");
        assert_eq!(call.files, json!(["/etc/passwd"]));
        assert!(call.fixed.is_some());
    }

    #[test]
    fn an_unknown_tool_with_a_command_is_also_a_shell() {
        const OTHERS: &[NativeTool] = &[NativeTool { name: "Script", what: "plays a script" }];
        let names = |name: &str, input: Value| {
            let call = canonical(TOOLS, OTHERS, name.to_owned(), input, None);
            call.names().map(str::to_owned).collect::<Vec<_>>()
        };
        let input = json!({"cmd": ["rm", "-rf", "/"]});
        assert_eq!(names("Frobnicate", input), ["Frobnicate", "Shell", "Frobnicate"]);
        assert_eq!(names("Script", json!({"script": "play"})), ["Script", "Script"]);
        assert_eq!(names("Write", json!({"command": "x"})), ["WriteFile", "Write"]);
    }

    #[test]
    fn an_unknown_tool_stays_as_it_is() {
        let call = canonical(TOOLS, &[], "Frobnicate".to_owned(), json!({"x": 1}), None);
        assert_eq!((call.name.as_str(), &call.files), ("Frobnicate", &Value::Null));
        let changed = json!({"y": 2});
        assert_eq!(
            native_input(TOOLS, &call, changed.as_object().unwrap()),
            Ok(Some(changed.clone()))
        );
    }
}
