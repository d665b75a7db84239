//! Moonshot AI's Kimi CLI, the Python program. Its successor, Kimi Code, is another agent with the
//! same command `kimi`.

mod capabilities;
mod decode;
mod encode;
mod log;
mod offline;
mod settings;
#[cfg(test)]
mod tests;

use anyhook_model::{Caller, DecodeError, Event, PromptType, Reply, Verdict};

use crate::contract::Contract;
use crate::launch::{self, Launch};
use crate::log::LogReader;
use crate::payload;
use crate::spec::{
    self, EXIT_CODE_REFUSAL, HostSpec, Package, Protocol, TimeLimits, WarningAudience,
};

/// What the hook path needs.
pub static PROTOCOL: Protocol = Protocol {
    id: "kimi-cli",
    // The first is the title that it gives its process.
    process_names: &["Kimi Code", "kimi", "kimi-cli"],
    project_variables: &[],
    folder_variables: &[HOME_VARIABLE],
    hook_variables: &[],
    also_runs_hooks_of: &[],
    tools: capabilities::TOOLS,
    capabilities: capabilities::CAPABILITIES,
    opaque_fields: decode::OPAQUE_FIELDS,
    prompt_tools: &[
        ("AskUserQuestion", PromptType::Question),
        ("ExitPlanMode", PromptType::PlanApproval),
    ],
    is_answered_by_keys: true,
    // It does not ask again after a blocked stop.
    stop_cap: Some(1),
    // It shows nothing of what a hook prints unless the hook blocks.
    warns: WarningAudience::Model(&[]),
    late_refusal: &EXIT_CODE_REFUSAL,
    codec: &Codec,
};

/// Everything known about it.
pub static SPEC: HostSpec = HostSpec {
    protocol: &PROTOCOL,
    title: "Kimi CLI",
    other_names: &["kimi"],
    // The package also installs `kimi`, which is the program of Kimi Code, too.
    program: "kimi-cli",
    package: Package::PyPi("kimi-cli"),
    contracts: &[
        Contract { below: Some("1.51.0"), ..Contract::fact_sheet("1.49.0", "2026-07-16") },
        Contract { below: Some("1.52.0"), ..Contract::run("1.51.0") },
        Contract {
            is_supported: false,
            note: Some("it only prints that Kimi Code replaced it"),
            ..Contract::run("1.52.0")
        },
    ],
    session_variables: &[],
    special_tools: &[],
    other_tools: capabilities::OTHER_TOOLS,
    other_tool_texts: &[],
    quirks: capabilities::QUIRKS,
    limits: TimeLimits { session_end_ms: 4_500, other_ms: 540_000 },
    search_order: 20,
    settings: &settings::Settings,
    launch: arguments,
    takes_prompt,
    shell_call: payload::shell_call,
    dialog: None,
    log: Some(LogReader {
        places: log::places,
        begin: log::begin,
        read_line: log::read_line,
        usage: None,
    }),
    transcript: None,
    offline: Some(&offline::Run),
};

/// The variable that names its own folder.
const HOME_VARIABLE: &str = "KIMI_SHARE_DIR";
/// Its own folder in the home folder.
const FOLDER: &str = ".kimi";

/// Decodes its payloads and encodes its replies.
struct Codec;

impl spec::Codec for Codec {
    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        decode::decode(payload, caller)
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        encode::encode(event, verdict)
    }
}

/// Returns whether a start takes its prompt as an argument: on its screen, the program ends once it
/// has answered such a prompt.
fn takes_prompt(launch: &Launch<'_>) -> bool {
    launch::arguments_of(launch.run).iter().any(|word| word == "--print" || word == "--quiet")
}

fn arguments(launch: &Launch<'_>) -> Vec<String> {
    let resume = launch.resume.map(|session| format!("--session={session}"));
    let prompt = launch.prompt.filter(|_| takes_prompt(launch));
    let prompt = prompt.map(|prompt| format!("--prompt={prompt}"));
    resume.into_iter().chain(prompt).collect()
}
