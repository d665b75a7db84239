//! The canonical tools: one name for what every agent calls differently.
//!
//! Matchers and events may use any agent's own name, in any case. The tables that translate whole
//! calls belong to the hosts; here is only what a matcher needs, and a test in `anyhook-hosts` keeps
//! both in step.

use serde_json::Value;

use crate::json::Object;

/// A tool that several agents have, under one name.
#[derive(Clone, Copy, Debug)]
pub struct CanonicalTool {
    /// The name in events and matchers.
    pub name: &'static str,
    /// What it does, for people.
    pub what: &'static str,
    /// Its fields, as far as agents share them.
    pub fields: &'static [&'static str],
    /// Fields that name a file or folder, in every agent's spelling, the canonical ones first.
    pub paths: &'static [&'static str],
    /// The agents' own names of the whole tool, and whose they are.
    pub names: &'static [(&'static str, &'static str)],
    /// The agents' own names of special forms of it: they count as the tool, but in a matcher they
    /// stand for themselves alone.
    pub special: &'static [(&'static str, &'static str)],
}

const CLAUDE: &str = "Claude Code";
const CODEX: &str = "Codex";
const GEMINI: &str = "Gemini CLI";
const OPENCODE: &str = "OpenCode";

/// Every spelling of the field that names a tool's file.
const PATH: &[&str] = &["path", "file_path", "filePath", "notebook_path"];
/// The same for a folder that is searched.
const FOLDER: &[&str] = &["path", "dir_path"];

/// Every canonical tool.
pub const TOOLS: &[CanonicalTool] = &[
    CanonicalTool {
        name: "Shell",
        what: "runs a command",
        fields: &["command"],
        paths: &[],
        names: &[
            ("Bash", "Claude Code and Codex"),
            ("run_shell_command", GEMINI),
            ("bash", OPENCODE),
            ("exec_command", CODEX),
            ("shell", CODEX),
            ("shell_command", CODEX),
            ("local_shell", CODEX),
        ],
        special: &[("Monitor", CLAUDE), ("PowerShell", CLAUDE), ("REPL", CLAUDE)],
    },
    CanonicalTool {
        name: "ReadFile",
        what: "reads a file",
        fields: &["path"],
        paths: PATH,
        names: &[("Read", CLAUDE), ("read_file", GEMINI), ("read", OPENCODE)],
        special: &[("view_image", CODEX)],
    },
    CanonicalTool {
        name: "WriteFile",
        what: "writes a whole file, new or not",
        fields: &["path", "content"],
        paths: PATH,
        names: &[("Write", CLAUDE), ("write_file", GEMINI), ("write", OPENCODE)],
        special: &[],
    },
    CanonicalTool {
        name: "EditFile",
        what: "changes parts of a file",
        fields: &["path", "old", "new"],
        paths: PATH,
        names: &[("Edit", CLAUDE), ("replace", GEMINI), ("edit", OPENCODE)],
        special: &[("MultiEdit", CLAUDE), ("NotebookEdit", CLAUDE)],
    },
    CanonicalTool {
        name: "DeleteFile",
        what: "deletes a file (part of a patch)",
        fields: &["path"],
        paths: PATH,
        names: &[],
        special: &[],
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
        paths: FOLDER,
        names: &[("Glob", CLAUDE), ("glob", "Gemini CLI and OpenCode")],
        special: &[],
    },
    CanonicalTool {
        name: "Grep",
        what: "searches in files",
        fields: &["pattern", "path"],
        paths: FOLDER,
        names: &[("Grep", CLAUDE), ("grep_search", GEMINI), ("grep", OPENCODE)],
        special: &[],
    },
    CanonicalTool {
        name: "FetchURL",
        what: "fetches a page",
        fields: &["url", "prompt"],
        paths: &[],
        names: &[("WebFetch", CLAUDE), ("web_fetch", GEMINI), ("webfetch", OPENCODE)],
        special: &[],
    },
    CanonicalTool {
        name: "SearchWeb",
        what: "searches the web",
        fields: &["query"],
        paths: &[],
        names: &[
            ("WebSearch", CLAUDE),
            ("web_search", CODEX),
            ("google_web_search", GEMINI),
            ("websearch", OPENCODE),
        ],
        special: &[],
    },
    CanonicalTool {
        name: "Subagent",
        what: "starts a subagent",
        fields: &["prompt", "description", "subagent_type"],
        paths: &[],
        names: &[
            ("Agent", CLAUDE),
            ("Task", CLAUDE),
            ("spawn_agent", CODEX),
            ("invoke_agent", GEMINI),
            ("task", OPENCODE),
        ],
        special: &[],
    },
    CanonicalTool {
        name: "Todo",
        what: "keeps the list of tasks",
        fields: &["todos"],
        paths: &[],
        names: &[
            ("TodoWrite", CLAUDE),
            ("update_plan", CODEX),
            ("write_todos", GEMINI),
            ("todowrite", OPENCODE),
        ],
        special: &[("TaskCreate", CLAUDE), ("TaskUpdate", CLAUDE)],
    },
    CanonicalTool {
        name: "Mcp",
        what: "calls a tool of an MCP server; `mcp.server` and `mcp.tool` say which",
        fields: &[],
        paths: &[],
        names: &[],
        special: &[],
    },
];

/// Tools of the supported agents that are none of the canonical ones; what they do is in the host's
/// own table.
pub const OTHER_TOOLS: &[&str] = &[
    "AskUserQuestion",
    "CronCreate",
    "CronDelete",
    "CronList",
    "DeferredToolPlaceholder",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "KillShell",
    "LSP",
    "ListAgents",
    "ListMcpResourcesTool",
    "PushNotification",
    "ReadMcpResourceTool",
    "RemoteTrigger",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "ToolSearch",
    "Workflow",
    "activate_skill",
    "apply_patch",
    "ask_user",
    "close_agent",
    "complete_task",
    "create_goal",
    "enter_plan_mode",
    "exec",
    "exit_plan_mode",
    "get_goal",
    "get_internal_docs",
    "invalid",
    "list_agents",
    "list_background_processes",
    "list_directory",
    "lsp",
    "plan_exit",
    "question",
    "read_background_output",
    "read_many_files",
    "request_user_input",
    "save_memory",
    "send_input",
    "send_message",
    "skill",
    "tool_search",
    "update_goal",
    "update_topic",
    "wait",
    "wait_agent",
    "write_stdin",
];

/// Fields in which a tool that no table knows carries a command.
const COMMAND_FIELDS: [&str; 9] = [
    "command",
    "cmd",
    "commands",
    "command_line",
    "commandLine",
    "script",
    "shell",
    "argv",
    "code",
];

/// Finds a canonical tool by its name or by an agent's own, in any case.
pub fn find(name: &str) -> Option<&'static CanonicalTool> {
    let named = |list: &[(&str, &str)]| list.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    TOOLS.iter().find(|tool| {
        tool.name.eq_ignore_ascii_case(name) || named(tool.names) || named(tool.special)
    })
}

/// Returns the canonical names a call also goes by, beside its own; none for a tool that an agent's
/// table knows to be another.
pub fn also_known_as(name: &str, input: &Value) -> &'static [&'static str] {
    if OTHER_TOOLS.contains(&name) { &[] } else { unlisted(name, input) }
}

/// Returns the canonical names a call also goes by whose tool is in no table of its host.
///
/// A name that is an agent's own is the tool it names. A tool that no table knows and whose input
/// carries a command counts as `Shell`: a guard of commands must see it. A move writes one file and
/// deletes another.
pub fn unlisted(name: &str, input: &Value) -> &'static [&'static str] {
    const SHELL: &[&str] = &["Shell"];
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
    if input.as_object().is_some_and(has_command) { SHELL } else { &[] }
}

fn has_command(input: &Object) -> bool {
    input.iter().any(|(key, value)| {
        let is_text = match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(words) => words.first().is_some_and(Value::is_string),
            _ => false,
        };
        is_text && COMMAND_FIELDS.iter().any(|field| field.eq_ignore_ascii_case(key))
    })
}

/// Returns the paths that a call's input names, by the fields of its tool.
pub fn paths<'input>(name: &str, input: &'input Value) -> Vec<&'input str> {
    let Some(tool) = find(name).filter(|tool| !tool.paths.is_empty()) else { return Vec::new() };
    tool.paths.iter().filter_map(|field| input.get(field)?.as_str()).collect()
}

/// Returns whether any supported agent has a tool of this name, or might: an MCP server's.
pub fn is_known(name: &str) -> bool {
    find(name).is_some()
        || OTHER_TOOLS.iter().any(|other| other.eq_ignore_ascii_case(name))
        || name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("mcp_"))
}

/// Returns every name of every tool: for a hint at what was meant.
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
        for field in COMMAND_FIELDS {
            assert_eq!(also("Frobnicate", json!({field: "rm -rf /"})), ["Shell"], "{field}");
            assert_eq!(also("Mcp", json!({field: ["rm", "-rf"]})), ["Shell"], "{field}");
        }
        for input in [json!({"command": ""}), json!({"shell": true}), json!(null), json!("ls")] {
            assert_eq!(also("Frobnicate", input), [""; 0]);
        }
        // A known tool is what its table says.
        assert_eq!(also("Subagent", json!({"command": "/review"})), [""; 0]);
        assert_eq!(also("Workflow", json!({"script": "x"})), [""; 0]);
    }
}
