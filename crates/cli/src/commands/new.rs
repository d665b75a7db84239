//! `anyhook new`: a hook to start from, that passes `check`, with a test case.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhook_engine::definition::{self, name_fault};
use anyhook_engine::problem::nearest;
use anyhook_model::{Caller, EventKind, Host, OpenFormat, exit_code};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::Ended;
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::level::LevelArgs;
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
    let Some((kind, _)) = EventKind::known(&arguments.trigger) else {
        let trouble = Trouble::usage(format!("unknown trigger `{}`", arguments.trigger));
        return Err(match EventKind::of_agent_name(&arguments.trigger) {
            Some(kind) => {
                trouble.hint(format!("that is an agent's own name; the event is `{kind}` here"))
            }
            None => match nearest(&arguments.trigger, EventKind::all_names()) {
                Some(near) => trouble.hint(format!("did you mean `{near}`?")),
                None => trouble.hint(format!(
                    "events: {}",
                    EventKind::all().map(|kind| kind.to_string()).collect::<Vec<_>>().join(", ")
                )),
            },
        });
    };
    if (arguments.tool.is_some() || arguments.pattern.is_some()) && !kind.has_matcher() {
        return Err(Trouble::usage(format!(
            "`{kind}` is no tool event, so --tool and --pattern do not count"
        ))
        .hint("leave them out, or use a tool event such as before_tool"));
    }
    let hook_file = hook_file(arguments, &kind);
    let read = definition::read(hook_file.as_bytes(), &arguments.name);
    if let Some(problem) = read.problems.first() {
        let hint = problem.hint.as_deref().unwrap_or("see `anyhook schema front-matter`");
        return Err(Trouble::usage(problem.message.clone()).hint(hint));
    }
    let folder = arguments.level.hooks_folder(environment)?.join(&arguments.name);
    if folder.symlink_metadata().is_ok() {
        return Err(Trouble::problem(format!("`{}` is already there", folder.display()))
            .hint(format!("choose another name, or `anyhook remove {}` first", arguments.name)));
    }
    let case = case(arguments, &kind, &read.matcher);
    let (script_name, script) = script(arguments.lang, &kind);
    write(&folder.join("HOOK.md"), &hook_file, 0o644)?;
    write(&folder.join("scripts").join(script_name), &script, 0o755)?;
    write(&folder.join("tests/first.json"), &format!("{case:#}\n"), 0o644)?;
    let place = shown(&folder, &environment.places);
    out.line(&[(Tone::Good, "made "), (Tone::Strong, &place)])?;
    out.text(&format!("  edit    {place}/scripts/{script_name}"))?;
    out.text(&format!("  check   anyhook check {}", arguments.name))?;
    out.text(&format!("  test    anyhook test {}", arguments.name))?;
    if arguments.level.project {
        out.text(&format!("  trust   anyhook trust {}", arguments.name))?;
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

fn hook_file(arguments: &NewArgs, kind: &EventKind) -> String {
    let name = &arguments.name;
    let mut matter = format!(
        "---\nname: {name}\ndescription: Say in one sentence what {name} is for\ntrigger: {}\n",
        arguments.trigger
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

fn script(language: Language, kind: &EventKind) -> (&'static str, String) {
    let command = kind.has_matcher();
    match language {
        Language::Sh | Language::Bash => {
            let shell =
                if matches!(language, Language::Sh) { "#!/bin/sh" } else { "#!/usr/bin/env bash" };
            (
                "run",
                format!(
                    "{shell}\n# The event comes as one line of JSON; `jq` reads it well.\nevent=$(cat)\n\ncase \"$event\" in\n*'block me'*)\n\techo \"say here why\" >&2\n\texit 2\n\t;;\nesac\nexit 0\n"
                ),
            )
        }
        Language::Py => {
            let subject =
                if command { "json.dumps(event[\"tool_input\"])" } else { "json.dumps(event)" };
            (
                "run",
                format!(
                    "#!/usr/bin/env python3\nimport json\nimport sys\n\nevent = json.load(sys.stdin)\nif \"block me\" in {subject}:\n    print(\"say here why\", file=sys.stderr)\n    sys.exit(2)\n"
                ),
            )
        }
        Language::Js => {
            let subject =
                if command { "JSON.stringify(event.tool_input)" } else { "JSON.stringify(event)" };
            (
                "run",
                format!(
                    "#!/usr/bin/env node\nconst event = JSON.parse(require(\"fs\").readFileSync(0, \"utf8\"));\nif ({subject}.includes(\"block me\")) {{\n  console.error(\"say here why\");\n  process.exit(2);\n}}\n"
                ),
            )
        }
    }
}

/// Makes a case for an everyday event; whether the hook runs at it depends on its matcher.
fn case(
    arguments: &NewArgs,
    kind: &EventKind,
    matcher: &anyhook_engine::matcher::CompiledMatcher,
) -> Value {
    let mut event = json!({"event_type": arguments.trigger});
    if kind.has_matcher() {
        event["tool_name"] = "Shell".into();
        event["tool_input"] = json!({"command": "echo hello"});
    }
    let caller = Caller { work_dir: "/".into(), project_dir: None, now: anyhook_engine::now() };
    let decoded = OpenFormat.decode(event.to_string().as_bytes(), &caller).unwrap_or_default();
    let tool = decoded.into_iter().next().and_then(|event| event.tool);
    let runs = tool.is_none_or(|tool| matcher.mismatch(&tool).is_none());
    json!({
        "description": "an everyday event goes on",
        "event": event,
        "expect": {"decision": if runs { "none" } else { "skipped" }},
    })
}
