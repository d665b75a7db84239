//! Agents that anyhook does not support yet: the single list of them.
//!
//! Their ids are allowed in a hook's `hosts`, so that a hook written today works as soon as they
//! are supported. Their programs and variables are known because none of them is a person. The row
//! of an agent that has its own folder is ignored and can be deleted.

use crate::find_host;

/// An agent that anyhook does not support yet.
#[derive(Debug)]
pub struct PlannedHost {
    /// Its ids in a hook's `hosts`: one for each of its programs that work differently. Empty for
    /// one that is only recognised.
    pub ids: &'static [&'static str],
    /// Other names that people write there.
    pub other_names: &'static [&'static str],
    /// Its display name.
    pub title: &'static str,
    /// The names of its programs.
    pub programs: &'static [&'static str],
    /// The npm packages it comes in.
    pub packages: &'static [&'static str],
    /// The variables that it sets for the commands it runs, and that nothing else sets.
    pub session_variables: &'static [&'static str],
}

/// Returns every agent that does not have its own folder.
pub fn planned() -> impl Iterator<Item = &'static PlannedHost> {
    PLANNED.iter().filter(|host| !host.ids.iter().any(|id| find_host(id).is_some()))
}

const NOTHING: PlannedHost = PlannedHost {
    ids: &[],
    other_names: &[],
    title: "",
    programs: &[],
    packages: &[],
    session_variables: &[],
};

/// Omitted on purpose: what an editor sets in a person's terminal (`CURSOR_TRACE_ID`,
/// `CLAUDE_CODE_SSE_PORT`, `GEMINI_CLI_IDE_SERVER_PORT`, `TERM_PROGRAM`), the program `cursor`,
/// which is such an editor, and `AGENT`, which anyone may set.
const PLANNED: &[PlannedHost] = &[
    PlannedHost { ids: &["amp"], title: "Amp", ..NOTHING },
    PlannedHost { ids: &["kiro"], other_names: &["kiro-cli"], title: "Kiro", ..NOTHING },
    PlannedHost { ids: &["vscode"], other_names: &["code"], title: "VS Code", ..NOTHING },
    PlannedHost {
        ids: &["cursor"],
        other_names: &["cursor-agent"],
        title: "Cursor's agent",
        programs: &["cursor-agent"],
        session_variables: &["CURSOR_AGENT"],
        ..NOTHING
    },
    PlannedHost {
        ids: &["copilot"],
        other_names: &["copilot-cli", "github-copilot", "github-copilot-cli"],
        title: "Copilot CLI",
        programs: &["copilot"],
        packages: &["@github/copilot"],
        session_variables: &["COPILOT_CLI"],
    },
    PlannedHost {
        ids: &["qwen-code"],
        other_names: &["qwen"],
        title: "Qwen Code",
        programs: &["qwen"],
        packages: &["@qwen-code/qwen-code"],
        session_variables: &["QWEN_CODE", "QWEN_CODE_SESSION_ID"],
    },
    PlannedHost {
        ids: &["kimi-cli", "kimi-code"],
        other_names: &["kimi"],
        title: "Kimi",
        programs: &["kimi", "kimi-cli"],
        packages: &["@moonshot-ai/kimi-code"],
        session_variables: &[],
    },
    PlannedHost {
        ids: &["droid"],
        other_names: &["factory-droid"],
        title: "Droid",
        programs: &["droid"],
        packages: &["droid", "@factory/cli"],
        session_variables: &[],
    },
    PlannedHost {
        ids: &["cline"],
        title: "Cline",
        programs: &["cline"],
        packages: &["cline"],
        ..NOTHING
    },
    PlannedHost {
        ids: &["crush"],
        title: "Crush",
        programs: &["crush"],
        session_variables: &["CRUSH"],
        ..NOTHING
    },
    // It sets OPENCODE, too.
    PlannedHost {
        title: "Kilo",
        programs: &["kilo"],
        packages: &["@kilocode/cli"],
        session_variables: &["KILO", "KILO_RUN_ID"],
        ..NOTHING
    },
    PlannedHost {
        title: "Pi",
        packages: &["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"],
        session_variables: &["PI_CODING_AGENT", "PI_SESSION_ID"],
        ..NOTHING
    },
    PlannedHost {
        title: "Grok",
        programs: &["grok"],
        packages: &["@xai-official/grok"],
        session_variables: &["GROK_AGENT"],
        ..NOTHING
    },
    PlannedHost {
        title: "Hermes",
        programs: &["hermes"],
        session_variables: &["HERMES_SESSION_ID"],
        ..NOTHING
    },
    PlannedHost {
        title: "Letta Code",
        programs: &["letta"],
        packages: &["@letta-ai/letta-code"],
        session_variables: &["LETTA_AGENT_ID", "LETTA_CONVERSATION_ID"],
        ..NOTHING
    },
];
