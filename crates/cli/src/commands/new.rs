//! `anyhook new`: creates a hook that passes `check`, with a test case.

use anyhook_engine::problem::event_hint;
use anyhook_model::exit_code;
use anyhook_model::report::changes::NewReport;
use anyhook_setup::new_hook::{self, NewHook, NewHookError, SCRIPT};
use clap::{Args, ValueEnum};

use super::CommandResult;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::human_only::{CommandOutcome, agent_above, journal, watched};
use crate::level::LevelArgs;
use crate::ui::{Out, Tone};

/// Create a hook with test cases
#[derive(Args)]
#[command(
    after_help = "Example: anyhook new no-force-push --trigger before_tool --tool Shell --pattern 'push.*--force'"
)]
pub struct NewArgs {
    /// The hook's name: lowercase letters, digits and hyphens
    name: String,
    /// The event that triggers it, in either spelling; several with commas, or with a `--trigger` each
    #[arg(long, value_name = "E", required = true, value_delimiter = ',')]
    trigger: Vec<String>,
    /// A regular expression for the tool's name
    #[arg(long, value_name = "T")]
    tool: Option<String>,
    /// A regular expression to search for in the tool's input
    #[arg(long, value_name = "P")]
    pattern: Option<String>,
    /// The script's language
    #[arg(long, value_enum, default_value_t = Language::Sh)]
    lang: Language,
    #[command(flatten)]
    level: LevelArgs,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    Sh,
    Bash,
    Py,
    Js,
}

impl From<Language> for new_hook::Language {
    fn from(language: Language) -> Self {
        match language {
            Language::Sh => Self::Sh,
            Language::Bash => Self::Bash,
            Language::Py => Self::Py,
            Language::Js => Self::Js,
        }
    }
}

pub fn run(arguments: &NewArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let (tool, pattern) = (arguments.tool.as_deref(), arguments.pattern.as_deref());
    let hook =
        NewHook::new(&arguments.name, &arguments.trigger, tool, pattern, arguments.lang.into())
            .map_err(|error| unusable(error, arguments))?;
    let folder = arguments.level.hooks_folder(environment)?.join(&arguments.name);
    if folder.symlink_metadata().is_ok() {
        return Err(CommandError::problem(format!("`{}` already exists", folder.display()))
            .hint(format!("choose another name, or `anyhook remove {}` first", arguments.name)));
    }
    let agent = agent_above(environment);
    let files = hook.write(&folder)?;
    if let Some(agent) = &agent {
        journal("new", &CommandOutcome::InShadow(agent), environment);
    }
    if arguments.json {
        out.json(&NewReport {
            name: arguments.name.clone(),
            folder: folder.to_string_lossy().into_owned(),
            files,
            needs_trust: arguments.level.project,
        })?;
        return Ok(exit_code::OK);
    }
    let place = shown(&folder, &environment.places);
    out.line(&[(Tone::Good, "created "), (Tone::Strong, &place)])?;
    out.text(&format!("  edit    {place}/{SCRIPT}"))?;
    out.text(&format!("  check   anyhook check {}", arguments.name))?;
    out.text(&format!("  test    anyhook test {}", arguments.name))?;
    if arguments.level.project {
        out.text(&format!("  trust   anyhook trust {}", arguments.name))?;
    }
    if let Some(agent) = &agent {
        out.line(&[(Tone::Warn, "not enforced yet: "), (Tone::Plain, &watched(agent))])?;
        let hint = format!("to enforce it, have a person run: anyhook promote {}", arguments.name);
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &hint)])?;
    } else {
        out.text(&format!("in shadow mode; to enforce it: anyhook promote {}", arguments.name))?;
    }
    Ok(exit_code::OK)
}

/// Reports which part of the description cannot be used.
fn unusable(error: NewHookError, arguments: &NewArgs) -> CommandError {
    let (message, hint) = match error {
        NewHookError::Name(fault) => (
            format!("the name `{}` {fault}", arguments.name),
            "use lowercase letters, digits and single hyphens (my-hook)".to_owned(),
        ),
        NewHookError::UnknownTrigger(word) => {
            (format!("unknown trigger `{word}`"), event_hint(&word))
        }
        NewHookError::NoToolEvent(kind) => (
            format!("--tool and --pattern only apply to tool events, and `{kind}` is not one"),
            "omit them, or use a tool event such as before_tool".to_owned(),
        ),
        NewHookError::Definition(problem) => (
            problem.message,
            problem.hint.unwrap_or_else(|| "see `anyhook schema front-matter`".to_owned()),
        ),
    };
    CommandError::usage(message).hint(hint)
}
