//! `anyhook untrust`: revokes the trust in a project's hooks, MCP servers and runbooks.

use std::path::{Path, PathBuf};

use anyhook_engine::hook::Trust;
use anyhook_engine::trust::TrustStore;
use anyhook_engine::{Hook, Level};
use anyhook_model::exit_code;
use anyhook_model::report::changes::UntrustReport;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::mcp_servers;
use crate::runbooks;
use crate::target;
use crate::ui::{Out, Tone};

/// Revoke trust in the project's hooks, MCP servers or runbooks
#[derive(Args)]
#[command(after_help = "Example: anyhook untrust my-hook")]
pub struct UntrustArgs {
    /// Hooks by name or folder, runbooks by file, or `mcp.json`
    #[arg(required_unless_present = "all")]
    paths: Vec<PathBuf>,
    /// All of the project's hooks, MCP servers and runbooks
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &UntrustArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let Some(state) = &environment.places.state else {
        return Err(CommandError::problem("there is no state folder").hint("set HOME"));
    };
    let store = TrustStore::new(state);
    let known: Vec<Hook> = target::installed(environment)
        .hooks
        .into_iter()
        .map(|standing| standing.hook)
        .filter(|hook| hook.level == Level::Project && !matches!(hook.trust, Trust::Never))
        .collect();
    let mut unknown = arguments.paths.clone();
    let mut untrusted: Vec<String> = Vec::new();
    for hook in &known {
        let named = |path: &PathBuf| {
            Path::new(hook.name()) == path
                || environment.work_dir.join(path) == hook.folder
                || hook.folder.file_name().is_some_and(|name| name == path.as_os_str())
        };
        if !arguments.all && !arguments.paths.iter().any(named) {
            continue;
        }
        if store.forget(&hook.folder)? {
            unknown.retain(|path| !named(path));
            untrusted.push(hook.name().to_owned());
        }
    }
    // The trust in a file that is gone from the project can still be revoked.
    let file = mcp_servers::project_path(environment);
    let is_named = |path: &PathBuf| mcp_servers::is_meant(path, environment);
    if (arguments.all || arguments.paths.iter().any(is_named)) && store.forget(&file)? {
        unknown.retain(|path| !is_named(path));
        untrusted.push(mcp_servers::FILE.to_owned());
    }
    // Named ones include those that are gone.
    let of_project = runbooks::of_project(environment).into_iter().map(|runbook| runbook.path);
    let runbooks: Vec<(PathBuf, Option<PathBuf>)> = if arguments.all {
        of_project.map(|path| (path, None)).collect()
    } else {
        let named = unknown.iter().filter(|word| runbooks::is_name(word));
        named.map(|word| (runbooks::place(word, environment), Some(word.clone()))).collect()
    };
    for (path, word) in runbooks {
        if store.forget(&path)? {
            unknown.retain(|other| Some(other) != word.as_ref());
            untrusted.push(runbooks::path_from(&path, environment));
        }
    }
    if !arguments.json {
        for name in &untrusted {
            out.line(&[(Tone::Good, "no longer trusted: "), (Tone::Strong, name)])?;
        }
    }
    if let Some(path) = unknown.first() {
        return Err(CommandError::input(format!(
            "this project has no trusted hook `{}`",
            path.display()
        ))
        .hint("`anyhook list` shows which hooks are trusted"));
    }
    if arguments.json {
        out.json(&UntrustReport { untrusted })?;
    } else if untrusted.is_empty() {
        out.text("no hook of this project was trusted")?;
    }
    Ok(exit_code::OK)
}
