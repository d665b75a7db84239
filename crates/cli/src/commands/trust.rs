//! `anyhook trust`: approve a project's hooks, after showing what they are.

use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::hook::Trust;
use anyhook_engine::trust::{Staged, TrustStore};
use anyhook_engine::{Hook, Level, now};
use anyhook_model::exit_code;
use clap::Args;

use super::Ended;
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::target;
use crate::ui::{Out, Tone, counted};

/// So many lines of a file are shown.
const LINES_SHOWN: usize = 60;

/// Approve a project's hooks after showing what they are; what runs is a copy
#[derive(Args)]
#[command(after_help = "Example: anyhook trust --show\n         anyhook trust my-hook")]
pub struct TrustArgs {
    /// Hooks by name or folder; without, you are asked about each that is not trusted
    paths: Vec<PathBuf>,
    /// All hooks of the project that are not trusted
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// Only show them
    #[arg(long)]
    show: bool,
}

pub fn run(arguments: &TrustArgs, environment: &Environment, out: &mut Out) -> Ended {
    let Some(state) = &environment.places.state else {
        return Err(Trouble::problem("there is no state folder to remember it in").hint("set HOME"));
    };
    let store = TrustStore::new(state);
    let hooks = candidates(arguments, environment)?;
    if hooks.is_empty() {
        out.text(
            "nothing to trust: every hook of this project is trusted already, or there is none",
        )?;
        return Ok(exit_code::OK);
    }
    let asked_for = arguments.all || !arguments.paths.is_empty();
    let mut left = 0;
    for (index, hook) in hooks.iter().enumerate() {
        if index > 0 {
            out.gap()?;
        }
        let staged = store.stage(&hook.folder)?;
        present(hook, &staged, &store, environment, out)?;
        out.flush()?;
        if arguments.show {
            continue;
        }
        if !asked_for && !confirm(hook.name())? {
            left += 1;
            continue;
        }
        store.trust(staged, now())?;
        out.line(&[(Tone::Good, "trusted "), (Tone::Strong, hook.name())])?;
    }
    if left > 0 && !std::io::stdin().is_terminal() {
        return Err(Trouble::problem(format!(
            "{} not trusted: nobody is there to ask",
            counted(left, "hook")
        ))
        .hint("name them, or say --all"));
    }
    Ok(exit_code::OK)
}

/// Returns the hooks to be trusted.
fn candidates(arguments: &TrustArgs, environment: &Environment) -> Result<Vec<Hook>, Trouble> {
    let project = target::installed(environment)
        .hooks
        .into_iter()
        .map(|standing| standing.hook)
        .filter(|hook| hook.level == Level::Project && hook.folder.symlink_metadata().is_ok());
    if arguments.paths.is_empty() {
        return Ok(project.filter(|hook| hook.trust != Trust::Trusted).collect());
    }
    let project: Vec<Hook> = project.collect();
    let mut found = Vec::new();
    for path in &arguments.paths {
        let full = environment.work_dir.join(path);
        let named = |hook: &&Hook| {
            Path::new(hook.name()) == path
                || hook.folder.file_name().is_some_and(|name| name == path.as_os_str())
                || std::fs::canonicalize(&full).is_ok_and(|full| {
                    std::fs::canonicalize(&hook.folder).is_ok_and(|folder| folder == full)
                })
        };
        let hook = project.iter().find(named).ok_or_else(|| {
            Trouble::input(format!("`{}` is no hook of this project", path.display()))
                .hint("only a project's hooks need trust: those in .agents/hooks of the repository")
        })?;
        found.push(hook.clone());
    }
    Ok(found)
}

/// Shows what is to be trusted, from the copy that would run.
fn present(
    hook: &Hook,
    staged: &Staged,
    store: &TrustStore,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), Trouble> {
    let copy = Hook::load(staged.folder(), Level::Project);
    let triggers = copy.trigger_names();
    out.line(&[
        (Tone::Strong, hook.name()),
        (Tone::Dim, "  "),
        (Tone::Dim, &shown(&hook.folder, &environment.places)),
    ])?;
    out.line(&[(Tone::Plain, "  "), (Tone::Plain, &copy.definition.description)])?;
    if !triggers.is_empty() {
        out.line(&[(Tone::Plain, "  runs at "), (Tone::Plain, &triggers.join(", "))])?;
    }
    if let Some(fault) = copy.fault() {
        out.line(&[(Tone::Bad, "  cannot run: "), (Tone::Plain, &fault.message)])?;
    }
    let before = match &hook.trust {
        Trust::Changed(_) => {
            out.line(&[(Tone::Warn, "  it was trusted before; what has changed since is marked")])?;
            let source = anyhook_engine::trust::absolute(&hook.folder)?;
            let records = store.records(source.parent().unwrap_or(&source));
            records?.get(&source).map(|record| store.copy_of(record))
        }
        _ => None,
    };
    let now = files(staged.folder())?;
    for inner in &now {
        let piece = Piece::read(&staged.folder().join(inner));
        let old = before.as_ref().map(|before| Piece::read(&before.join(inner)));
        let change = match &old {
            None => "",
            Some(Piece::Missing) => "  NEW",
            Some(old) if *old == piece => "  as before",
            Some(_) => "  CHANGED",
        };
        let heading = format!("── {}{}{change}", inner.display(), piece.words());
        out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
        if old.as_ref() != Some(&piece) {
            let place = shown(&hook.folder.join(inner), &environment.places);
            piece.show(&place, out)?;
        }
    }
    for gone in before.map_or(Ok(Vec::new()), |before| files(&before))? {
        if !now.contains(&gone) {
            let heading = format!("── {}  REMOVED", gone.display());
            out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
        }
    }
    Ok(())
}

/// One part of a hook's folder, with all that trust covers.
#[derive(PartialEq, Eq)]
enum Piece {
    File { bytes: Vec<u8>, runnable: bool },
    Link(PathBuf),
    Missing,
}

impl Piece {
    fn read(path: &Path) -> Self {
        if let Ok(target) = std::fs::read_link(path) {
            return Self::Link(target);
        }
        let Ok(bytes) = std::fs::read(path) else { return Self::Missing };
        let mode = std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
        Self::File { bytes, runnable: mode & 0o111 != 0 }
    }

    fn words(&self) -> String {
        match self {
            Self::File { bytes, runnable: true } => format!(" ({} bytes, may run)", bytes.len()),
            Self::File { bytes, runnable: false } => format!(" ({} bytes)", bytes.len()),
            Self::Link(target) => format!(" → {}", target.display()),
            Self::Missing => " (cannot be read)".to_owned(),
        }
    }

    /// Shows the first lines of a text; `place` is where the rest is.
    fn show(&self, place: &str, out: &mut Out) -> std::io::Result<()> {
        let Self::File { bytes, .. } = self else { return Ok(()) };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return out.line(&[(Tone::Warn, "  │ not a text")]);
        };
        for line in text.lines().take(LINES_SHOWN) {
            out.line(&[(Tone::Dim, "  │ "), (Tone::Plain, line)])?;
        }
        match text.lines().count().saturating_sub(LINES_SHOWN) {
            0 => Ok(()),
            more => out.line(&[(Tone::Dim, &format!("  │ … {more} more lines in {place}"))]),
        }
    }
}

/// Returns the files and links of a folder, HOOK.md first.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next).map_err(|error| Trouble::at(&next, error))?.flatten()
        {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else if let Ok(inner) = path.strip_prefix(folder) {
                found.push(inner.to_owned());
            }
        }
    }
    found.sort_by_key(|path| (path.as_path() != Path::new("HOOK.md"), path.clone()));
    Ok(found)
}

fn confirm(name: &str) -> Result<bool, Trouble> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut stderr = Out::stderr();
    stderr.pieces(&[(Tone::Strong, &format!("Trust {name}? [y/N] "))])?;
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
