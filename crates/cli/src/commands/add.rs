//! `anyhook add`: installs a hook, or a pack of hooks.

mod pack;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_engine::definition::name_fault;
use anyhook_engine::hook::Hook;
use anyhook_engine::trust::copy_folder;
use anyhook_engine::{Level, Severity};
use anyhook_model::report::changes::{AddReport, PlacedHook};
use anyhook_model::{StateDir, exit_code};
use anyhook_setup::packs::source::{SourcePlace, WrittenSource};
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::human_only::{CommandOutcome, agent_above, journal, watched};
use crate::level::LevelArgs;
use crate::packs;
use crate::shadow::put_in_shadow;
use crate::ui::{Out, Tone, counted};

/// Add a hook folder or a pack, at the user or project level
#[derive(Args)]
#[command(
    after_help = "Example: anyhook add examples/hooks/block-dangerous-commands\n         anyhook add pack/delivery-workflow --project\n         anyhook add https://example.com/guards.git//packs/no-prod#v1.2"
)]
pub struct AddArgs {
    /// A hook's folder, pack/NAME for a pack that `anyhook packs` lists, a pack's folder, or a git
    /// repository: `SOURCE[//FOLDER][#REF][@sha256:DIGEST]`
    #[arg(value_name = "SOURCE")]
    path: PathBuf,
    #[command(flatten)]
    level: LevelArgs,
    /// Agent that gets the pack's commands (repeatable); default: all that are found
    #[arg(long, value_name = "NAME")]
    agent: Vec<String>,
    /// Set an option of the pack (repeatable; a list takes a value each time, or a JSON list)
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Add a pack from outside without asking
    #[arg(long, short)]
    yes: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &AddArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if let Some(source) = pack_source(arguments, environment)? {
        return pack::run(&source, arguments, environment, out);
    }
    let options = [("--agent NAME", &arguments.agent), ("--set NAME=VALUE", &arguments.set)];
    if let Some((option, _)) = options.into_iter().find(|(_, given)| !given.is_empty()) {
        let name = option.split(' ').next().unwrap_or_default();
        return Err(CommandError::usage(format!("{name} only applies to packs"))
            .hint(format!("add a pack: anyhook add pack/NAME {option}")));
    }
    let named = environment.work_dir.join(&arguments.path);
    let source = std::fs::canonicalize(&named).map_err(|error| {
        let shown = arguments.path.display();
        let message = match error.kind() {
            io::ErrorKind::NotFound => format!("`{shown}` does not exist"),
            _ => format!("`{shown}` cannot be read: {error}"),
        };
        CommandError::input(message).hint("pass the path of a hook's folder")
    })?;
    let hook = Hook::load(&source, Level::User);
    if let Some(fault) = hook.fault() {
        return Err(CommandError::input(format!(
            "`{}` cannot run: {}",
            arguments.path.display(),
            fault.message
        ))
        .hint(format!("anyhook check {}", arguments.path.display())));
    }
    let hooks_folder = arguments.level.hooks_folder(environment)?;
    let target = hooks_folder.join(folder_name(&source, &hook, environment));
    if target.symlink_metadata().is_ok() {
        return Err(CommandError::problem(format!("`{}` already exists", target.display()))
            .hint(format!("`anyhook remove {}` removes it", hook.name())));
    }
    std::fs::create_dir_all(&hooks_folder)
        .map_err(|error| CommandError::at(&hooks_folder, error))?;
    // Copied to a temporary folder and renamed: a running agent never sees half a hook. A hidden
    // folder is not a hook.
    let aside = tempfile::Builder::new()
        .prefix(".adding-")
        .tempdir_in(&hooks_folder)
        .map_err(|error| CommandError::at(&hooks_folder, error))?;
    let copy = aside.path().join("copy");
    copy_folder(&source, &copy)?;
    let agent = agent_above(environment);
    if agent.is_some() {
        put_in_shadow(&copy, hook.name())?;
    }
    std::fs::rename(&copy, &target).map_err(|error| CommandError::at(&target, error))?;
    if let Some(agent) = &agent {
        journal("add", &CommandOutcome::InShadow(agent), environment);
    }
    if arguments.json {
        let folder = target.to_string_lossy().into_owned();
        out.json(&AddReport {
            pack: None,
            hooks: vec![PlacedHook { name: hook.name().to_owned(), folder }],
            commands: Vec::new(),
            source: None,
            digest: None,
            shadow: agent.is_some(),
            needs_trust: arguments.level.project,
        })?;
        return Ok(exit_code::OK);
    }
    out.line(&[
        (Tone::Good, "added "),
        (Tone::Strong, hook.name()),
        (Tone::Plain, ": "),
        (Tone::Plain, &shown(&target, &environment.places)),
    ])?;
    if let Some(agent) = &agent {
        out.line(&[(Tone::Warn, "not enforced yet: "), (Tone::Plain, &watched(agent))])?;
        let hint = format!("to enforce it, have a person run: anyhook promote {}", hook.name());
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &hint)])?;
    }
    let problems = Hook::load(&target, Level::User).problems;
    let findings = problems.iter().filter(|problem| problem.severity > Severity::Note).count();
    if findings > 0 {
        out.line(&[
            (Tone::Warn, &format!("it has {}: ", counted(findings, "finding"))),
            (Tone::Plain, &format!("anyhook check {}", hook.name())),
        ])?;
    }
    if arguments.level.project {
        out.line(&[
            (Tone::Hint, "hint: "),
            (Tone::Plain, &format!("trust it so that it runs: anyhook trust {}", hook.name())),
        ])?;
    }
    Ok(exit_code::OK)
}

/// Returns where the pack is; `None` for the folder of a single hook that is added as it is.
fn pack_source(
    arguments: &AddArgs,
    environment: &Environment,
) -> Result<Option<WrittenSource>, CommandError> {
    if let Some(name) = packs::meant(&arguments.path) {
        name?;
    }
    // A path that is not UTF-8 is that of a hook.
    let Some(written) = arguments.path.to_str() else { return Ok(None) };
    let source = WrittenSource::parse(written, &environment.work_dir)
        .map_err(anyhook_setup::SetupError::from)?;
    let is_hook = match &source {
        WrittenSource { place: SourcePlace::Folder(folder), digest: None } => {
            !folder.join("pack.toml").exists()
        }
        _ => false,
    };
    Ok((!is_hook).then_some(source))
}

/// Returns the name of the folder that a hook gets: that of its own folder, except for one that
/// `remove` kept, whose folder has the time in its name.
fn folder_name(source: &Path, hook: &Hook, environment: &Environment) -> OsString {
    let removed = environment.places.state.as_deref().map(|state| StateDir::new(state).removed());
    let removed = removed.and_then(|folder| std::fs::canonicalize(folder).ok());
    let is_kept = removed.is_some_and(|removed| source.starts_with(removed))
        && name_fault(hook.name()).is_none();
    let usual = source.file_name().unwrap_or_default();
    if is_kept { hook.name().into() } else { usual.to_owned() }
}
