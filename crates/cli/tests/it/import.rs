//! An imported hook and the original give the same replies: for every recorded payload of an agent,
//! what it makes of the original's output is what it makes of our reply.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhook_engine::now;
use anyhook_hosts::native_hooks::{self, NativeAnswer, NativeEvent, NativeFormat, NativeOutcome};
use anyhook_hosts::wiring::SettingsScope;
use anyhook_model::{Caller, Effect, Event, Host};
use anyhook_testkit::{TestEnv, write};
use serde_json::{Value, json};

use crate::in_process::{self, answer_host};

/// A hook: its name, and its command line at an event.
struct Sample {
    name: &'static str,
    matcher: Option<&'static str>,
    line: fn(&NativeEvent) -> String,
}

impl Sample {
    /// Whether it depends on the tool what happens; otherwise one payload of each event will do.
    fn depends_on_tool(&self) -> bool {
        ![
            "silent",
            "exit-2-silent",
            "exit-1",
            "exit-3",
            "text",
            "broken",
            "tells",
            "block",
            "stops",
        ]
        .contains(&self.name)
    }
}

const fn sample(name: &'static str, line: fn(&NativeEvent) -> String) -> Sample {
    Sample { name, matcher: None, line }
}

/// What hooks of every agent do.
const COMMON: &[Sample] = &[
    sample("silent", |_| "cat > /dev/null".to_owned()),
    sample("exit-2", |_| "echo not so >&2; exit 2".to_owned()),
    sample("exit-2-silent", |_| "exit 2".to_owned()),
    sample("exit-1", |_| "echo boom >&2; exit 1".to_owned()),
    sample("text", |_| "echo some text".to_owned()),
    sample("broken", |_| says("{\"decision\": ")),
    Sample { name: "matched", matcher: Some("Bash|Write|Shell|Edit"), line: |_| refuses() },
    Sample { name: "searched", matcher: Some("^(B|r).*(h|d)$"), line: |_| refuses() },
    Sample { name: "for-patches", matcher: Some("apply_patch"), line: |_| refuses() },
    Sample { name: "for-mcp", matcher: Some("mcp_.*"), line: |_| refuses() },
    sample("block", |_| says(r#"{"decision":"block","reason":"r"}"#)),
    sample("stops", |_| says(r#"{"continue":false,"stopReason":"s"}"#)),
    sample("tells", |_| says(r#"{"systemMessage":"m"}"#)),
];

/// What hooks of agents do that have Claude Code's form of answers.
const SPECIFIC: &[Sample] = &[
    sample("deny", |event| specific(event, &decision("deny"))),
    sample("ask", |event| specific(event, &decision("ask"))),
    sample("allow", |event| specific(event, &decision("allow"))),
    sample("change", |event| {
        let mut own = decision("allow");
        own["updatedInput"] = json!({"command": "true"});
        specific(event, &own)
    }),
    sample("context", |event| specific(event, &json!({"additionalContext": "c"}))),
    sample("permit", |event| specific(event, &json!({"decision": {"behavior": "allow"}}))),
    sample("forbid", |event| {
        specific(event, &json!({"decision": {"behavior": "deny", "message": "m"}}))
    }),
];

const GEMINI: &[Sample] = &[
    sample("exit-3", |_| "echo so not >&2; exit 3".to_owned()),
    sample("deny", |_| says(r#"{"decision":"deny","reason":"r"}"#)),
    sample("ask", |_| says(r#"{"decision":"ask","reason":"r"}"#)),
    sample("allow", |_| says(r#"{"decision":"allow"}"#)),
    sample("change", |_| says(r#"{"hookSpecificOutput":{"tool_input":{"command":"true"}}}"#)),
    sample("context", |_| says(r#"{"hookSpecificOutput":{"additionalContext":"c"}}"#)),
];

const COPILOT: &[Sample] = &[
    sample("deny", |_| says(r#"{"permissionDecision":"deny","permissionDecisionReason":"r"}"#)),
    sample("ask", |_| says(r#"{"permissionDecision":"ask","permissionDecisionReason":"r"}"#)),
    sample("allow", |_| says(r#"{"permissionDecision":"allow"}"#)),
    sample("change", |_| says(r#"{"modifiedArgs":{"command":"true"}}"#)),
    sample("context", |_| says(r#"{"additionalContext":"c"}"#)),
    sample("nested", |event| specific(event, &decision("deny"))),
];

const CURSOR: &[Sample] = &[
    sample("deny", |_| says(r#"{"permission":"deny","agent_message":"a","user_message":"a"}"#)),
    sample("ask", |_| says(r#"{"permission":"ask"}"#)),
    sample("allow", |_| says(r#"{"permission":"allow"}"#)),
    sample("change", |_| says(r#"{"permission":"allow","updated_input":{"command":"true"}}"#)),
    sample("hold", |_| says(r#"{"continue":false,"user_message":"u"}"#)),
    sample("go-on", |_| says(r#"{"followup_message":"go on"}"#)),
    sample("context", |_| says(r#"{"additional_context":"c"}"#)),
];

fn refuses() -> String {
    "echo not that >&2; exit 2".to_owned()
}

fn says(text: &str) -> String {
    format!("printf '%s' '{text}'")
}

fn decision(word: &str) -> Value {
    json!({"permissionDecision": word, "permissionDecisionReason": "p"})
}

fn specific(event: &NativeEvent, own: &Value) -> String {
    let mut own = own.clone();
    own["hookEventName"] = event.name.into();
    says(&json!({"hookSpecificOutput": own}).to_string())
}

/// What hooks of an agent do in the form of its own answers.
fn own(host: &str) -> &'static [Sample] {
    match host {
        "gemini-cli" => GEMINI,
        "copilot" => COPILOT,
        "cursor" => CURSOR,
        _ => SPECIFIC,
    }
}

/// The recorded payloads of an agent.
fn fixtures(host: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src");
    let folder = folder.join(host.replace('-', "_")).join("fixtures");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.into_iter().map(|path| (name(&path), fs::read(path).unwrap())).collect()
}

/// Makes the settings of an agent that has a hook at each of these events, and installs and imports.
fn imported(
    format: &'static NativeFormat,
    sample: &Sample,
    events: &[&'static NativeEvent],
) -> TestEnv {
    let environment = in_process::environment();
    let scope = SettingsScope {
        home: environment.home(),
        config_home: environment.home().join(".config"),
        project: None,
        variables: BTreeMap::new(),
    };
    let mut hooks = serde_json::Map::new();
    for event in events {
        // A command that stands at several events is one hook at each of them.
        let line = format!("{} # {}", (sample.line)(event), event.name);
        let mut handler = json!({"type": "command", "command": line});
        let entry = if format.layout == native_hooks::Layout::Groups {
            let mut group = json!({"hooks": [handler]});
            if let Some(matcher) = sample.matcher {
                group["matcher"] = matcher.into();
            }
            group
        } else {
            if let Some(matcher) = sample.matcher {
                handler["matcher"] = matcher.into();
            }
            handler
        };
        hooks.insert(event.name.to_owned(), json!([entry]));
    }
    let file = (format.folders)(&scope).first().map(|folder| folder.join("mine.json"));
    let file = file.unwrap_or_else(|| (format.files)(&scope)[0].clone());
    write(&file, json!({"version": 1, "hooks": hooks}).to_string(), 0o644);
    let installed = environment.run(&["install", format.host]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let ran = environment.run(&["import", format.host, "--park", "--partial", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    for hook in report["hooks"].as_array().unwrap() {
        assert_eq!(hook["state"], "parked", "{hook:#}");
    }
    environment
}

/// Runs the original, as the agent does.
fn original(
    format: &NativeFormat,
    event: &NativeEvent,
    sample: &Sample,
    payload: &[u8],
) -> NativeAnswer {
    let fields: serde_json::Map<String, Value> = serde_json::from_slice(payload).unwrap();
    let given = (format.payload)(event, fields);
    if let (Some(matcher), Some(targets)) = (sample.matcher, format.targets(event, &given)) {
        let is_found = |expression: String| {
            let expression = anyhook_engine::matcher::Expression::anywhere(&expression).unwrap();
            targets.iter().any(|target| expression.is_match(target))
        };
        let matches = match (format.matcher)(event, matcher) {
            native_hooks::MatcherForm::Every => true,
            native_hooks::MatcherForm::Names(names) => {
                targets.iter().any(|target| names.iter().any(|name| name == target))
            }
            native_hooks::MatcherForm::Search(text) => is_found(text),
            native_hooks::MatcherForm::Whole(text) => is_found(format!("^(?:{text})$")),
        };
        if !matches {
            return NativeAnswer::default();
        }
    }
    let mut command = Command::new("bash");
    command.args(["-c", &(sample.line)(event)]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It need not read it.
    let _ = child.stdin.take().unwrap().write_all(payload);
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let outcome = NativeOutcome { code: output.status.code(), stdout: &stdout, stderr: &stderr };
    (format.answer)(event, &outcome)
}

/// Returns a reason without the record that ours names.
fn told(reason: Option<&String>) -> Option<&str> {
    let reason = reason?;
    Some(reason.split_once("\n(anyhook log show ").map_or(reason.as_str(), |(told, _)| told))
}

/// Returns what differs between what the agent makes of the original and of our reply, except for
/// what only the agent itself can do.
fn difference(
    format: &NativeFormat,
    event: &Event,
    original: &NativeAnswer,
    reply: &NativeAnswer,
) -> Option<String> {
    let agent = anyhook_hosts::find(format.host).unwrap();
    let row = agent.protocol.capabilities.iter().find(|row| row.event == event.kind);
    let what = |what: &str| Some(format!("{what}: {original:?}, and imported {reply:?}"));
    if reply.failure.is_some() {
        return what("our reply is a failure");
    }
    if original.failure.is_some() {
        // Agents that can only tell the model of a failure do so.
        let is_silent = reply.effect.is_none() && reply.input.is_none();
        return if is_silent { None } else { what("a failure") };
    }
    if original.stops {
        let is_refused = reply.effect == Some(Effect::Deny);
        let can_block = row.is_some_and(|row| row.block);
        let stops_too = reply.stops;
        return if is_refused || stops_too || !can_block {
            None
        } else {
            what("the end of the work")
        };
    }
    // A change that cannot be passed on refuses the call.
    let cannot = reply.reason.as_ref().is_some_and(|why| why.contains("anyhook cannot pass on"));
    if original.input.is_some() && reply.effect == Some(Effect::Deny) && cannot {
        return None;
    }
    if original.effect != reply.effect {
        return what("the effect");
    }
    if original.reason.is_some() && told(original.reason.as_ref()) != told(reply.reason.as_ref()) {
        // Some agents show no reason of a permission that is given.
        if original.effect != Some(Effect::Allow) {
            return what("the reason");
        }
    }
    // A permission may name the input that there is.
    let tool = event.tool.as_ref();
    let is_same = tool.is_some_and(|tool| reply.input.as_ref() == tool.input.as_object());
    if original.input != reply.input && !(original.input.is_none() && is_same) {
        return what("the input");
    }
    if original.context != reply.context {
        return what("the context");
    }
    None
}

/// Compares all replies. Events that have two names in an agent's settings are tried by one name at
/// a time: a hook at each would be two.
fn same_replies(host: &str, samples: &[Sample]) {
    let format = native_hooks::find(host).unwrap();
    let (own, others): (Vec<_>, Vec<_>) =
        format.events.iter().partition(|event| event.name == event.asked_as);
    let mut seen = Seen::default();
    for events in [own, others].iter().filter(|events| !events.is_empty()) {
        for sample in samples {
            seen.compare(format, events, sample);
        }
    }
    let Seen { compared, decided, changed, differences } = seen;
    let found = differences.len();
    assert_eq!(found, 0, "{found} of {compared}:\n{}", differences.join("\n"));
    assert!(compared > 30 && decided > 0, "{compared} {decided}");
    // Qwen Code changes no input.
    let changes = samples.iter().any(|sample| sample.name == "change") && host != "qwen-code";
    assert_eq!(changed > 0, changes, "{compared}");
}

/// What was compared.
#[derive(Default)]
struct Seen {
    compared: usize,
    decided: usize,
    changed: usize,
    differences: Vec<String>,
}

impl Seen {
    fn compare(
        &mut self,
        format: &'static NativeFormat,
        events: &[&'static NativeEvent],
        sample: &Sample,
    ) {
        let host = format.host;
        let agent = anyhook_hosts::find(host).unwrap();
        let environment = imported(format, sample, events);
        let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
        for (name, payload) in fixtures(host) {
            let caller = Caller::new(environment.project(), now());
            let Ok(decoded) = agent.protocol.decode(&payload, &caller) else { continue };
            let event = &decoded[0];
            let native = event.native_name.clone().unwrap_or_default();
            let is_it = |event: &&&NativeEvent| event.asked_as == native || event.name == native;
            let Some(asked) = events.iter().find(is_it) else { continue };
            if !seen.insert((native, event.kind.to_string())) && !sample.depends_on_tool() {
                continue;
            }
            let reply = answer_host(&environment, host, payload.clone());
            let outcome = NativeOutcome {
                code: Some(reply.code),
                stdout: &reply.stdout,
                stderr: &reply.stderr,
            };
            // The payloads are of sessions that have nothing to do with each other.
            let _ = fs::remove_dir_all(environment.state().join("sessions"));
            let _ = fs::remove_file(environment.state().join("alarms.jsonl"));
            // Hooks that fail at one after the other would be off at the next.
            let _ = fs::remove_dir_all(environment.state().join("failures"));
            let reply = (format.answer)(format.event(asked.asked_as).unwrap(), &outcome);
            self.compared += 1;
            if !asked.kinds().contains(&event.kind) {
                assert!(asked.unasked.is_some(), "{name}: {:?}", event.kind);
                continue;
            }
            let answer = original(format, asked, sample, &payload);
            self.decided += usize::from(answer.effect.is_some());
            self.changed += usize::from(answer.input.is_some() && answer.input == reply.input);
            if let Some(what) = difference(format, event, &answer, &reply) {
                self.differences.push(format!("{} {name}: {what}", sample.name));
            }
        }
    }
}

#[test]
fn claude_code() {
    same_replies("claude-code", COMMON);
}

#[test]
fn claude_code_in_its_own_form() {
    same_replies("claude-code", own("claude-code"));
}

// Codex runs hooks by a login shell, which may take its time to start: so there are more tests.

#[test]
fn codex() {
    same_replies("codex", &COMMON[..6]);
}

#[test]
fn codex_further() {
    same_replies("codex", &COMMON[6..]);
}

#[test]
fn codex_in_its_own_form() {
    same_replies("codex", &own("codex")[..4]);
}

#[test]
fn codex_in_its_own_form_further() {
    same_replies("codex", &own("codex")[4..]);
}

#[test]
fn copilot() {
    same_replies("copilot", COMMON);
}

#[test]
fn copilot_in_its_own_form() {
    same_replies("copilot", own("copilot"));
}

#[test]
fn cursor() {
    same_replies("cursor", COMMON);
}

#[test]
fn cursor_in_its_own_form() {
    same_replies("cursor", own("cursor"));
}

#[test]
fn gemini_cli() {
    same_replies("gemini-cli", COMMON);
}

#[test]
fn gemini_cli_in_its_own_form() {
    same_replies("gemini-cli", own("gemini-cli"));
}

#[test]
fn qwen_code() {
    same_replies("qwen-code", COMMON);
}

#[test]
fn qwen_code_in_its_own_form() {
    same_replies("qwen-code", own("qwen-code"));
}
