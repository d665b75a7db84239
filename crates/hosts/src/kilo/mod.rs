//! Kilo, a fork of OpenCode: it takes the same plugin, so the codec, the settings, the log and the
//! usage are OpenCode's, with the names and folders of Kilo.

mod capabilities;

use anyhook_model::PromptType;

use crate::contract::Contract;
use crate::log::{LogReader, LogState};
use crate::opencode::flavour::Flavour;
use crate::opencode::{self, decode, log, offline, question, settings};
use crate::spec::{HostSpec, Package, Protocol};

static FLAVOUR: Flavour = Flavour {
    id: "kilo",
    title: "Kilo",
    tools: capabilities::TOOLS,
    other_tools: capabilities::OTHER_TOOLS,
    folder: "kilo",
    project_folder: ".kilo",
    // In the user's folder it loads none from `plugins`.
    plugins: "plugin",
    databases: &["kilo*.db"],
    goes_on_without_screen: false,
    settings_variable: "KILO_CONFIG_CONTENT",
    plugin_package: "@kilocode/plugin",
    models_variable: "KILO_MODELS_PATH",
    quiet_variables: &[
        ("KILO_DISABLE_AUTOUPDATE", "1"),
        ("KILO_DISABLE_LSP_DOWNLOAD", "1"),
        ("KILO_DISABLE_MODELS_FETCH", "1"),
        ("KILO_DISABLE_SESSION_INGEST", "1"),
        ("KILO_TELEMETRY_LEVEL", "off"),
    ],
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: FLAVOUR.id,
    process_names: &["kilo", "node", "bun"],
    project_variables: &[],
    folder_variables: &["XDG_DATA_HOME"],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[(question::TOOL, PromptType::Question)],
    is_answered_by_keys: false,
    stop_cap: None,
    warns: opencode::WARNS,
    late_refusal: &opencode::LATE_REFUSAL,
    codec: &opencode::Codec(&FLAVOUR),
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: FLAVOUR.title,
    other_names: &["kilo-cli", "kilo-code", "kilocode"],
    program: "kilo",
    package: Package::Npm("@kilocode/cli"),
    contracts: &[Contract::run("7.7.9")],
    session_variables: &["KILO", "KILO_RUN_ID"],
    special_tools: &["background_process"],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: opencode::LIMITS,
    search_order: 4,
    settings: &settings::Settings(&FLAVOUR),
    launch: opencode::arguments,
    takes_prompt: opencode::takes_prompt,
    shell_call: opencode::shell_call,
    // Its dialogs were never seen; our plugin is told of them and can answer them.
    dialog: None,
    log: Some(LogReader {
        places: |roots| log::places(&FLAVOUR, roots),
        begin: LogState::unnamed,
        read_line: log::read_line,
        usage: None,
    }),
    transcript: None,
    offline: Some(&offline::Run(&FLAVOUR)),
};
