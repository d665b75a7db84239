//! `anyhook new`: a hook to start from, that passes `check`, with a test case.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhook_engine::definition::{self, name_fault};
use anyhook_engine::matcher::Matcher;
use anyhook_engine::problem::{Severity, event_hint};
use anyhook_engine::script_check::{PLACEHOLDER_REASON, placeholder_description};
use anyhook_model::{Caller, EventKind, Host, OpenFormat, exit_code};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::Ended;
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::level::LevelArgs;
use crate::person::{Outcome, agent_above, journal, watched};
use crate::ui::{Out, Tone};

/// Make a new hook, with a test case
#[derive(Args)]
#[command(
    after_help = "Example: anyhook new no-force-push --trigger before_tool --tool Shell --pattern 'push.*--force'"
)]
pub struct NewArgs {
    /// The hook's name: lowercase letters, digits and hyphens
    name: String,
    /// The event it runs at, in either spelling
    #[arg(long, value_name = "E")]
    trigger: String,
    /// A regular expression for the tool's name
    #[arg(long, value_name = "T")]
    tool: Option<String>,
    /// A regular expression searched in the tool's input
    #[arg(long, value_name = "P")]
    pattern: Option<String>,
    /// The script's language
    #[arg(long, value_enum, default_value_t = Language::Sh)]
    lang: Language,
    #[command(flatten)]
    level: LevelArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    Sh,
    Bash,
    Py,
    Js,
}

pub fn run(arguments: &NewArgs, environment: &Environment, out: &mut Out) -> Ended {
    if let Some(fault) = name_fault(&arguments.name) {
        return Err(Trouble::usage(format!("the name `{}` {fault}", arguments.name))
            .hint("use lowercase letters, digits and single hyphens inside"));
    }
    let Some((kind, spelling)) = EventKind::in_any_spelling(&arguments.trigger) else {
        return Err(Trouble::usage(format!("unknown trigger `{}`", arguments.trigger))
            .hint(event_hint(&arguments.trigger)));
    };
    if (arguments.tool.is_some() || arguments.pattern.is_some()) && !kind.has_matcher() {
        return Err(Trouble::usage(format!(
            "`{kind}` is no tool event, so --tool and --pattern do not count"
        ))
        .hint("leave them out, or use a tool event such as before_tool"));
    }
    let trigger = kind.name(spelling).to_owned();
    let hook_file = hook_file(arguments, &kind, &trigger);
    let read = definition::read(hook_file.as_bytes(), &arguments.name);
    if let Some(problem) = read.problems.iter().find(|problem| problem.severity > Severity::Note) {
        let hint = problem.hint.as_deref().unwrap_or("see `anyhook schema front-matter`");
        return Err(Trouble::usage(problem.message.clone()).hint(hint));
    }
    let folder = arguments.level.hooks_folder(environment)?.join(&arguments.name);
    if folder.symlink_metadata().is_ok() {
        return Err(Trouble::problem(format!("`{}` is already there", folder.display()))
            .hint(format!("choose another name, or `anyhook remove {}` first", arguments.name)));
    }
    let (script_name, script) = script(arguments.lang, arguments, &kind);
    let agent = agent_above(environment);
    write(&folder.join("HOOK.md"), &hook_file, 0o644)?;
    write(&folder.join("scripts").join(script_name), &script, 0o755)?;
    for (name, case) in cases(&trigger, arguments, &kind, &read.matcher) {
        write(&folder.join(format!("tests/{name}.json")), &format!("{case:#}\n"), 0o644)?;
    }
    let place = shown(&folder, &environment.places);
    out.line(&[(Tone::Good, "made "), (Tone::Strong, &place)])?;
    out.text(&format!("  edit    {place}/scripts/{script_name}"))?;
    out.text(&format!("  check   anyhook check {}", arguments.name))?;
    out.text(&format!("  test    anyhook test {}", arguments.name))?;
    if arguments.level.project {
        out.text(&format!("  trust   anyhook trust {}", arguments.name))?;
    }
    if let Some(agent) = &agent {
        journal("new", &Outcome::InShadow(agent), environment);
        out.line(&[(Tone::Warn, "it decides nothing yet: "), (Tone::Plain, &watched(agent))])?;
        let hint = format!("a person lets it count: anyhook promote {}", arguments.name);
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &hint)])?;
    } else {
        out.text(&format!("it only watches until: anyhook promote {}", arguments.name))?;
    }
    Ok(exit_code::OK)
}

fn write(path: &Path, content: &str, mode: u32) -> Result<(), Trouble> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| Trouble::at(parent, error))?;
    fs::write(path, content).map_err(|error| Trouble::at(path, error))?;
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|error| Trouble::at(path, error))
}

/// Single-quoted YAML needs nothing but doubled quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn hook_file(arguments: &NewArgs, kind: &EventKind, trigger: &str) -> String {
    let name = &arguments.name;
    // It decides nothing until its author has written it and says so.
    let mut matter = format!(
        "---\nname: {name}\ndescription: {}\ntrigger: {trigger}\nmode: shadow\n",
        placeholder_description(name)
    );
    if arguments.tool.is_some() || arguments.pattern.is_some() {
        matter.push_str("matcher:\n");
        for (key, value) in [("tool", &arguments.tool), ("pattern", &arguments.pattern)] {
            if let Some(value) = value {
                matter.push_str(&format!("  {key}: {}\n", quoted(value)));
            }
        }
    }
    let meaning = match kind {
        EventKind::BeforeStop => "the agent goes on working, with the reason as feedback",
        EventKind::BeforeTool => "the tool does not run, and the model is told the reason",
        EventKind::BeforeAgent => "the prompt is rejected",
        EventKind::PermissionRequest => "the permission is denied",
        _ => "the reason is reported, and acted on where the agent can",
    };
    matter.push_str(&format!(
        "timeout: 5000\n---\n\n# {name}\n\nReads the event as JSON on standard input.\n\n- Exit 0: go on.\n- Exit 2: block, with the reason on standard error; {meaning}.\n"
    ));
    matter
}

/// Returns the script's name and text.
///
/// With a pattern the matcher has found what to block, so the script blocks; without, it shows how
/// to look into the event.
fn script(language: Language, arguments: &NewArgs, kind: &EventKind) -> (&'static str, String) {
    let blocks = kind.takes_input_change() && arguments.pattern.is_some();
    let reason = PLACEHOLDER_REASON;
    let text = match language {
        Language::Sh | Language::Bash => {
            let shell =
                if matches!(language, Language::Sh) { "#!/bin/sh" } else { "#!/usr/bin/env bash" };
            if blocks {
                format!(
                    "{shell}\n# The matcher has found what to block; the event is on standard input.\necho \"{reason}\" >&2\nexit 2\n"
                )
            } else {
                format!(
                    "{shell}\n# The event comes as one line of JSON.\nevent=$(cat)\n\ncase \"$event\" in\n*'block me'*)\n\techo \"{reason}\" >&2\n\texit 2\n\t;;\nesac\nexit 0\n"
                )
            }
        }
        Language::Py => {
            let condition = if blocks { "" } else { "if \"block me\" in json.dumps(event):\n    " };
            let end = if blocks { "" } else { "    " };
            format!(
                "#!/usr/bin/env python3\nimport json\nimport sys\n\nevent = json.load(sys.stdin)\n{condition}print(\"{reason}\", file=sys.stderr)\n{end}sys.exit(2)\n"
            )
        }
        Language::Js => {
            let body = format!("console.error(\"{reason}\");\nprocess.exit(2);\n");
            let body = if blocks {
                body
            } else {
                format!(
                    "if (JSON.stringify(event).includes(\"block me\")) {{\n  {}}}\n",
                    body.replace(";\np", ";\n  p")
                )
            };
            format!(
                "#!/usr/bin/env node\nconst event = JSON.parse(require(\"fs\").readFileSync(0, \"utf8\"));\n{body}"
            )
        }
    };
    ("run", text)
}

/// Makes the cases: an everyday event, and one that the script blocks.
fn cases(
    trigger: &str,
    arguments: &NewArgs,
    kind: &EventKind,
    matcher: &Matcher,
) -> Vec<(&'static str, Value)> {
    let event = |command: &str| {
        let mut event = json!({"event_type": trigger});
        if kind.has_matcher() {
            event["tool_name"] = "Shell".into();
            event["tool_input"] = json!({"command": command});
        } else {
            event["note"] = command.into();
        }
        event
    };
    let runs = |event: &Value| {
        let caller = Caller::new("/", anyhook_engine::now());
        let decoded = OpenFormat.decode(event.to_string().as_bytes(), &caller).unwrap_or_default();
        let tool = decoded.into_iter().next().and_then(|event| event.tool);
        tool.is_none_or(|tool| matcher.mismatch(&tool).is_none())
    };
    let everyday = event("echo hello");
    let decision = match (runs(&everyday), arguments.pattern.is_some() && kind.takes_input_change())
    {
        (false, _) => "skipped",
        (true, true) => "deny",
        (true, false) => "none",
    };
    let mut cases = vec![(
        "everyday",
        json!({"description": "an everyday event", "event": everyday, "expect": {"decision": decision}}),
    )];
    let blocked = event("block me");
    if runs(&blocked) {
        cases.push((
            "blocked",
            json!({"description": "an event that is blocked", "event": blocked, "expect": {"decision": "deny", "reason": PLACEHOLDER_REASON}}),
        ));
    }
    cases
}
