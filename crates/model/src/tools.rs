//! The canonical tools: one name for what every agent names differently.
//!
//! Matchers and events may use any agent's own name, in any case. The tables that translate whole
//! calls belong to the hosts; here is only what a matcher needs. The agents' own names in it are
//! generated from the hosts by `cargo xtask generate`: the engine needs them to parse HOOK.md
//! files, and does not depend on the hosts.

use serde_json::Value;

use crate::agent_names::{self, OTHER_TOOL_TEXTS};

/// A tool that several agents have, under one name.
#[derive(Clone, Copy, Debug)]
pub struct CanonicalTool {
    /// The name in events and matchers.
    pub name: &'static str,
    /// What it does, for people.
    pub what: &'static str,
    /// Its fields that agents have in common.
    pub fields: &'static [&'static str],
    /// Fields that name a file or folder, in every agent's spelling, the canonical ones first.
    pub paths: &'static [&'static str],
    /// The agents' own names for the whole tool, each with its agent.
    pub names: &'static [(&'static str, &'static str)],
    /// The agents' own names for special forms of it: they count as the tool, but in a matcher each
    /// stands only for itself.
    pub special: &'static [(&'static str, &'static str)],
}

/// Every canonical tool.
pub const TOOLS: &[CanonicalTool] = &[
    CanonicalTool {
        name: "Shell",
        what: "runs a command",
        fields: &["command"],
        paths: &[],
        names: agent_names::SHELL.whole,
        special: agent_names::SHELL.special,
    },
    CanonicalTool {
        name: "ReadFile",
        what: "reads a file",
        fields: &["path"],
        paths: agent_names::FILE_FIELDS,
        names: agent_names::READ_FILE.whole,
        special: agent_names::READ_FILE.special,
    },
    CanonicalTool {
        name: "WriteFile",
        what: "writes a whole file, new or existing",
        fields: &["path", "content"],
        paths: agent_names::FILE_FIELDS,
        names: agent_names::WRITE_FILE.whole,
        special: agent_names::WRITE_FILE.special,
    },
    CanonicalTool {
        name: "EditFile",
        what: "changes parts of a file",
        fields: &["path", "old", "new"],
        paths: agent_names::FILE_FIELDS,
        names: agent_names::EDIT_FILE.whole,
        special: agent_names::EDIT_FILE.special,
    },
    CanonicalTool {
        name: "DeleteFile",
        what: "deletes a file; also part of a patch",
        fields: &["path"],
        paths: agent_names::FILE_FIELDS,
        names: agent_names::DELETE_FILE.whole,
        special: agent_names::DELETE_FILE.special,
    },
    CanonicalTool {
        name: "MoveFile",
        what: "moves a file (part of a patch); also a `WriteFile` of `to` and a `DeleteFile` of `path`",
        fields: &["path", "to"],
        paths: &["path", "to", "file_path", "filePath"],
        names: &[],
        special: &[],
    },
    CanonicalTool {
        name: "Glob",
        what: "finds files by name",
        fields: &["pattern", "path"],
        paths: agent_names::FOLDER_FIELDS,
        names: agent_names::GLOB.whole,
        special: agent_names::GLOB.special,
    },
    CanonicalTool {
        name: "Grep",
        what: "searches in files",
        fields: &["pattern", "path"],
        paths: agent_names::FOLDER_FIELDS,
        names: agent_names::GREP.whole,
        special: agent_names::GREP.special,
    },
    CanonicalTool {
        name: "FetchURL",
        what: "fetches a web page",
        fields: &["url", "prompt"],
        paths: &[],
        names: agent_names::FETCH_URL.whole,
        special: agent_names::FETCH_URL.special,
    },
    CanonicalTool {
        name: "SearchWeb",
        what: "searches the web",
        fields: &["query"],
        paths: &[],
        names: agent_names::SEARCH_WEB.whole,
        special: agent_names::SEARCH_WEB.special,
    },
    CanonicalTool {
        name: "Subagent",
        what: "starts a subagent",
        fields: &["prompt", "description", "subagent_type"],
        paths: &[],
        names: agent_names::SUBAGENT.whole,
        special: agent_names::SUBAGENT.special,
    },
    CanonicalTool {
        name: "Todo",
        what: "updates the task list",
        fields: &["todos"],
        paths: &[],
        names: agent_names::TODO.whole,
        special: agent_names::TODO.special,
    },
    CanonicalTool {
        name: "Mcp",
        what: "calls an MCP tool; `mcp.server` and `mcp.tool` say which one",
        fields: &[],
        paths: &[],
        names: &[],
        special: &[],
    },
];

/// Tools of the supported agents that are not canonical; what they do is in the host's own table.
pub use crate::agent_names::OTHER_TOOLS;

/// The last words of the names of fields in which an unknown tool carries a command, such as `cmd`,
/// `bash_command` and `shellScript`.
const COMMAND_WORDS: [&str; 11] = [
    "command",
    "commands",
    "cmd",
    "cmds",
    "cmdline",
    "commandline",
    "command_line",
    "commandLine",
    "script",
    "shell",
    "argv",
];
/// Field names that mean a command only as a whole.
const COMMAND_NAMES: [&str; 1] = ["code"];
/// Fields that name a program, and fields with its arguments: together they are a command.
const PROGRAM_NAMES: [&str; 4] = ["program", "executable", "binary", "exe"];
const ARGUMENT_NAMES: [&str; 4] = ["args", "arguments", "argv", "parameters"];

/// The last words of the names of fields that name a file or a folder, such as `path`,
/// `notebook_path` and `filePath`.
const PATH_WORDS: [&str; 21] = [
    "path",
    "paths",
    "file",
    "files",
    "filepath",
    "filepaths",
    "filename",
    "filenames",
    "file_name",
    "fileName",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "source",
    "destination",
    "target",
    "dest",
    "uri",
];

/// Returns whether the last word of a field's name is this one, in any case: `_`, `-` and a capital
/// letter start a word.
fn ends_with_word(name: &str, word: &str) -> bool {
    let Some(start) = name.len().checked_sub(word.len()) else { return false };
    let (name, word) = (name.as_bytes(), word.as_bytes());
    if !name[start..].eq_ignore_ascii_case(word) {
        return false;
    }
    let Some(before) = start.checked_sub(1).map(|at| name[at]) else { return true };
    !before.is_ascii_alphanumeric()
        || (name[start].is_ascii_uppercase() && !before.is_ascii_uppercase())
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn is_command_field(name: &str) -> bool {
    COMMAND_WORDS.iter().any(|word| ends_with_word(name, word)) || is_one_of(name, &COMMAND_NAMES)
}

fn is_path_field(name: &str) -> bool {
    PATH_WORDS.iter().any(|word| ends_with_word(name, word))
}

/// Finds a canonical tool by its name or by an agent's own, in any case.
pub fn find(name: &str) -> Option<&'static CanonicalTool> {
    let named = |list: &[(&str, &str)]| list.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    TOOLS.iter().find(|tool| {
        tool.name.eq_ignore_ascii_case(name) || named(tool.names) || named(tool.special)
    })
}

/// Returns the canonical names of a call in addition to its own, whatever agent it comes from.
///
/// A tool that is in some agent's table and carries a command in a field that the table does not
/// know still counts as a command: another agent may have a tool of that name.
pub fn also_known_as(name: &str, input: &Value) -> &'static [&'static str] {
    if !OTHER_TOOLS.contains(&name) {
        return unlisted(name, input);
    }
    let own = OTHER_TOOL_TEXTS.iter().find(|(tool, _)| *tool == name).map(|(_, field)| *field);
    if carries_command(input, own) { SHELL } else { &[] }
}

const SHELL: &[&str] = &["Shell"];

/// Returns the further canonical names of a call whose tool is in no table of its host.
///
/// A name that is an agent's own is the tool it names. An unknown tool whose input carries a
/// command counts as `Shell`: a guard of commands must see it. A move writes one file and deletes
/// another.
pub fn unlisted(name: &str, input: &Value) -> &'static [&'static str] {
    if name == "Shell" {
        return &[];
    }
    if name.eq_ignore_ascii_case("MoveFile") {
        return &["MoveFile", "WriteFile", "DeleteFile"];
    }
    match find(name) {
        Some(tool) if tool.name == "Mcp" => {}
        Some(tool) => {
            let is_own = tool.name == name;
            return if is_own { &[] } else { std::slice::from_ref(&tool.name) };
        }
        None => {}
    }
    if carries_command(input, None) { SHELL } else { &[] }
}

/// Returns whether an input carries a command, however deep; `own` is a field that never is one.
fn carries_command(input: &Value, own: Option<&str>) -> bool {
    let mut stack = vec![input];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(fields) => {
                let (mut has_program, mut has_arguments) = (false, false);
                for (name, value) in fields {
                    if is_command_field(name) && own != Some(name.as_str()) {
                        if has_text(value) {
                            return true;
                        }
                        continue;
                    }
                    has_program |= value.is_string() && is_one_of(name, &PROGRAM_NAMES);
                    has_arguments |= is_one_of(name, &ARGUMENT_NAMES);
                    stack.push(value);
                }
                if has_program && has_arguments {
                    return true;
                }
            }
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    false
}

/// Returns whether a command or its arguments are a list or an object somewhere in an input:
/// whatever is omitted from one is part of the command.
pub fn has_command_in_parts(input: &Value) -> bool {
    let mut stack = vec![input];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let has_parts = value.is_array() || value.is_object();
                    if has_parts && (is_command_field(name) || is_one_of(name, &ARGUMENT_NAMES)) {
                        return true;
                    }
                    stack.push(value);
                }
            }
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    false
}

/// Returns whether a value contains a text that is not empty.
fn has_text(value: &Value) -> bool {
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) if !text.is_empty() => return true,
            Value::Array(items) => stack.extend(items),
            Value::Object(fields) => stack.extend(fields.values()),
            _ => {}
        }
    }
    false
}

/// Returns the commands of an input that are given in parts, as one line each: lists of words, and
/// commands whose arguments are in a separate field. Patterns are written for a line.
pub fn command_lines(input: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut stack = vec![input];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if is_container(value) {
                        stack.push(value);
                    }
                    if is_one_of(name, &ARGUMENT_NAMES)
                        && let Some(arguments) = words(value)
                    {
                        let programs = fields.iter().filter(|(name, _)| {
                            is_command_field(name) || is_one_of(name, &PROGRAM_NAMES)
                        });
                        let programs = programs.filter_map(|(_, program)| program.as_str());
                        lines.extend(programs.map(|program| format!("{program} {arguments}")));
                    }
                }
            }
            Value::Array(items) => {
                if items.len() > 1 {
                    lines.extend(words(value));
                }
                stack.extend(items.iter().filter(|item| is_container(item)));
            }
            _ => {}
        }
    }
    lines
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

/// Returns the command lines of an input, as a shell would read them: texts in fields for commands,
/// and lists of words with each word quoted.
pub fn shell_lines(input: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut stack = vec![input];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if is_command_field(name) {
                        lines.extend(value.as_str().map(str::to_owned));
                        lines.extend(quoted_words(value));
                    }
                    if is_one_of(name, &ARGUMENT_NAMES)
                        && let Some(arguments) = quoted_words(value)
                    {
                        let programs = fields.iter().filter(|(name, _)| {
                            is_command_field(name) || is_one_of(name, &PROGRAM_NAMES)
                        });
                        let programs = programs.filter_map(|(_, program)| program.as_str());
                        lines.extend(programs.map(|program| format!("{program} {arguments}")));
                    }
                    stack.extend(Some(value).filter(|value| is_container(value)));
                }
            }
            Value::Array(items) => stack.extend(items.iter().filter(|item| is_container(item))),
            _ => {}
        }
    }
    lines
}

/// Returns a list of texts as one line in which each is a word.
fn quoted_words(value: &Value) -> Option<String> {
    let words: Option<Vec<String>> =
        value.as_array()?.iter().map(|word| word.as_str().map(quoted)).collect();
    words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a text, or a list of texts, as one line.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

/// Returns the paths that a call's input names, according to the fields of its tool.
pub fn paths<'input>(name: &str, input: &'input Value) -> Vec<&'input str> {
    let Some(tool) = find(name).filter(|tool| !tool.paths.is_empty()) else { return Vec::new() };
    tool.paths.iter().filter_map(|field| input.get(field)?.as_str()).collect()
}

/// The paths that fields of an input seem to name.
#[derive(Debug, Default)]
pub struct SeemingPaths<'input> {
    /// The paths as written.
    pub texts: Vec<&'input str>,
    /// Whether some are in a list, which may be long.
    pub is_list: bool,
}

/// Returns the values of fields with names that suggest paths, however deep, for any tool.
///
/// A canonical tool without paths has none: `source` of a web search is not a file.
pub fn seeming_paths<'input>(name: &str, input: &'input Value) -> SeemingPaths<'input> {
    let mut found = SeemingPaths::default();
    if find(name).is_some_and(|tool| tool.paths.is_empty() && tool.name != "Mcp") {
        return found;
    }
    let mut stack = vec![(input, false, false)];
    while let Some((value, is_path, is_in_list)) = stack.pop() {
        match value {
            Value::String(text) if is_path => {
                found.texts.push(text.strip_prefix("file://").unwrap_or(text));
                found.is_list |= is_in_list;
            }
            // Reversed, because the stack is last-in, first-out.
            Value::Array(items) => {
                stack.extend(items.iter().rev().map(|item| (item, is_path, true)));
            }
            Value::Object(fields) => {
                stack.extend(fields.iter().rev().filter_map(|(name, value)| {
                    // A single value is a search's filter of names.
                    let is_include = value.is_array() && name.eq_ignore_ascii_case("include");
                    let is_path = is_include || is_path_field(name);
                    let is_worth = is_path || is_container(value);
                    is_worth.then_some((value, is_path, is_in_list))
                }));
            }
            _ => {}
        }
    }
    found
}

/// Returns whether JSON text may contain a field with a name that suggests a path or a command.
/// Linear, and without parsing any of it into memory.
pub fn may_have_telling_field(json: &str) -> bool {
    let mut rest = json;
    while let Some((before, after)) = rest.split_once(':') {
        let key = before.trim_end().strip_suffix('"').and_then(|text| text.rsplit('"').next());
        let is_telling = |key: &str| {
            // An escape may stand for any letter.
            key.contains('\\')
                || key.eq_ignore_ascii_case("include")
                || is_path_field(key)
                || is_command_field(key)
                || is_one_of(key, &PROGRAM_NAMES)
                || is_one_of(key, &ARGUMENT_NAMES)
        };
        if key.is_some_and(is_telling) {
            return true;
        }
        rest = after;
    }
    false
}

/// Returns whether any supported agent has a tool of this name, or may have: an MCP server's.
pub fn is_known(name: &str) -> bool {
    find(name).is_some()
        || OTHER_TOOLS.iter().any(|other| other.eq_ignore_ascii_case(name))
        || name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("mcp_"))
}

/// Returns every name of every tool, for suggestions.
pub fn all_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().flat_map(|tool| {
        let own = tool.names.iter().chain(tool.special).map(|(name, _)| *name);
        std::iter::once(tool.name).chain(own)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_found_by_any_of_its_names_in_any_case() {
        for name in ["Shell", "shell", "BASH", "bash", "Run_Shell_Command", "Monitor"] {
            assert_eq!(find(name).unwrap().name, "Shell", "{name}");
        }
        assert_eq!(find("write_file").unwrap().name, "WriteFile");
        assert!(find("Frobnicate").is_none());
    }

    #[test]
    fn a_name_means_one_tool() {
        for name in all_names() {
            let tools = TOOLS.iter().filter(|tool| {
                tool.name.eq_ignore_ascii_case(name)
                    || tool
                        .names
                        .iter()
                        .chain(tool.special)
                        .any(|(own, _)| own.eq_ignore_ascii_case(name))
            });
            assert_eq!(tools.count(), 1, "{name}");
            assert!(!OTHER_TOOLS.iter().any(|other| other.eq_ignore_ascii_case(name)), "{name}");
        }
    }

    #[test]
    fn a_call_goes_by_the_names_of_what_it_does() {
        let also = |name: &str, input: Value| also_known_as(name, &input).to_vec();
        assert_eq!(also("Shell", json!({"command": "ls"})), [""; 0]);
        assert_eq!(also("WriteFile", json!({})), [""; 0]);
        assert_eq!(also("bash", json!({})), ["Shell"]);
        assert_eq!(also("MoveFile", json!({})), ["MoveFile", "WriteFile", "DeleteFile"]);
        let more = ["code", "bash_command", "shellScript", "run-cmd", "COMMAND"];
        for field in COMMAND_WORDS.into_iter().chain(more) {
            for input in [
                json!({field: "rm -rf /"}),
                json!({field: ["rm", "-rf"]}),
                json!({"params": {field: "rm"}}),
                json!({"steps": [{"n": 1}, {field: [{"line": "rm"}]}]}),
            ] {
                for name in ["Frobnicate", "Mcp", "wait", "invalid", "skill"] {
                    assert_eq!(also(name, input.clone()), ["Shell"], "{name} {input}");
                }
            }
        }
        assert_eq!(also("exec", json!({"command": "rm"})), ["Shell"]);
        assert_eq!(also("Frobnicate", json!({"program": "rm", "args": ["-rf"]})), ["Shell"]);
        for input in [
            json!({"command": ""}),
            json!({"command": [null, {"line": ""}]}),
            json!({"shell": true}),
            json!({"program": "CS 101"}),
            json!({"args": ["rm"]}),
            json!({"transcript": "x", "exit_code": "1", "subcommander": "x"}),
            json!(null),
            json!("ls"),
        ] {
            assert_eq!(also("Frobnicate", input.clone()), [""; 0], "{input}");
        }
        // A known tool is what its table says.
        assert_eq!(also("Subagent", json!({"command": "/review"})), [""; 0]);
        for (name, field) in OTHER_TOOL_TEXTS {
            assert_eq!(also(name, json!({(*field): "x"})), [""; 0], "{name}");
        }
    }

    #[test]
    fn commands_in_parts_are_lines() {
        for input in [
            json!({"command": ["rm", "-rf", "/"]}),
            json!({"command": "rm", "args": ["-rf", "/"]}),
            json!({"arguments": "-rf /", "program": "rm"}),
            json!({"params": {"commands": [{"cmd": "rm", "args": ["-rf", "/"]}]}}),
        ] {
            assert!(command_lines(&input).contains(&"rm -rf /".to_owned()), "{input}");
        }
        assert_eq!(command_lines(&json!({"command": "ls", "n": [1, 2]})), [""; 0]);
        assert_eq!(command_lines(&json!({"command": ["ls"]})), [""; 0]);
    }

    #[test]
    fn a_list_of_words_is_a_line_of_quoted_words() {
        for (input, lines) in [
            (json!({"command": "a | b"}), vec!["a | b"]),
            (json!({"command": ["bash", "-c", "it's"]}), vec![r"'bash' '-c' 'it'\''s'"]),
            (json!({"command": "rm", "args": ["-r", "x y"]}), vec!["rm", "rm '-r' 'x y'"]),
            (json!({"steps": [{"cmd": "a"}, {"cmd": "b"}]}), vec!["b", "a"]),
            (json!({"text": "a"}), vec![]),
        ] {
            assert_eq!(shell_lines(&input), lines, "{input}");
        }
    }

    #[test]
    fn commands_in_parts_are_found_wherever_they_are() {
        for (input, expected) in [
            (json!({"command": "ls", "n": [1, 2]}), false),
            (json!({"command": [0, 1]}), true),
            (json!({"a": [{"command": {"line": "ls"}}]}), true),
            (json!({"program": "ls", "args": ["-l"]}), true),
            (json!([1, "args"]), false),
        ] {
            assert_eq!(has_command_in_parts(&input), expected, "{input}");
        }
    }

    #[test]
    fn fields_are_found_in_text_by_their_names() {
        for (text, expected) in [
            (r#"{"n": 1, "name": "v1", "on": true}, {"n": 2}"#, false),
            (r#"{"n": 1, "path": "x"}"#, true),
            (r#"1}, {"file_path" : "x"}"#, true),
            (r#"{"p\u0061th": "x"}"#, true),
            (r#"{"command":"x"}"#, true),
            (r#"{"program":"x", "n": 1}"#, true),
            (r#"{"argv":["x"]}"#, true),
            (r#""a: b", "c""#, false),
            ("", false),
        ] {
            assert_eq!(may_have_telling_field(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_are_known_by_the_names_of_their_fields() {
        let seen = |name: &str, input: Value| -> Vec<String> {
            seeming_paths(name, &input).texts.into_iter().map(str::to_owned).collect()
        };
        for field in [
            "path",
            "file_path",
            "filePath",
            "dir_path",
            "notebook_path",
            "absolutePath",
            "PATH",
            "source",
            "destination",
            "uri",
            "filename",
            "output-file",
            "directory",
        ] {
            assert_eq!(seen("Frobnicate", json!({field: "a"})), ["a"], "{field}");
            assert_eq!(seen("Mcp", json!({"x": [{field: "a"}]})), ["a"], "{field}");
        }
        let lists = json!({"include": ["a", "b"], "paths": ["c"], "files": [{"path": "d"}]});
        assert_eq!(seen("read_many_files", lists.clone()), ["a", "b", "c", "d"]);
        assert!(seeming_paths("read_many_files", &lists).is_list);
        assert!(!seeming_paths("LSP", &json!({"filePath": "a"})).is_list);
        assert_eq!(seen("Frobnicate", json!({"uri": "file:///p/a"})), ["/p/a"]);
        assert_eq!(seen("Grep", json!({"include": "*.rs", "profile": "x"})), [""; 0]);
        assert_eq!(seen("Shell", json!({"path": "x"})), [""; 0]);
    }

    #[test]
    fn deep_inputs_are_looked_through() {
        let mut deep = json!({"command": "rm", "path": "a"});
        for _ in 0..100_000 {
            deep = Value::Array(vec![deep]);
        }
        assert_eq!(also_known_as("Frobnicate", &deep), ["Shell"]);
        assert_eq!(seeming_paths("Frobnicate", &deep).texts, ["a"]);
        // Dropping it would recurse level by level, and overflow the stack.
        std::mem::forget(deep);
    }
}
