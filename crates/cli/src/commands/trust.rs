//! `anyhook trust`: approve a project's hooks and MCP servers, after showing what they are.

use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::hook::Trust;
use anyhook_engine::trust::{FileTrust, Staged, TrustError, TrustStore};
use anyhook_engine::{Hook, Level, now};
use anyhook_model::exit_code;
use clap::Args;

use super::Ended;
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::person::only_a_person;
use crate::servers::{self, ProjectFile};
use crate::target;
use crate::ui::{Out, Tone, counted};

/// So many lines of a file are shown.
const LINES_SHOWN: usize = 60;

/// Approve a project's hooks and MCP servers after showing what they are
///
/// What runs of a hook is a copy. Of servers, `.agents/mcp.json` counts while it is as it was shown.
#[derive(Args)]
#[command(after_help = "Example: anyhook trust --show\n         anyhook trust my-hook")]
pub struct TrustArgs {
    /// Hooks by name or folder, or `mcp.json`; without, you are asked about each that is not trusted
    paths: Vec<PathBuf>,
    /// All hooks of the project that are not trusted, and its MCP servers
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
    if !arguments.show {
        only_a_person("trust", environment)?;
    }
    let store = TrustStore::new(state);
    let candidates = candidates(arguments, environment)?;
    if candidates.is_empty() {
        out.text(
            "nothing to trust: every hook of this project is trusted already, or there is none",
        )?;
        return Ok(exit_code::OK);
    }
    let asked_for = arguments.all || !arguments.paths.is_empty();
    let mut left = Vec::new();
    for (index, candidate) in candidates.into_iter().enumerate() {
        if index > 0 {
            out.gap()?;
        }
        let name = candidate.name().to_owned();
        let shown = candidate.present(&store, environment, out)?;
        out.flush()?;
        if arguments.show {
            continue;
        }
        if !asked_for && !confirm(&name)? {
            left.push(shown);
            continue;
        }
        shown.trust(&store)?;
        out.line(&[(Tone::Good, "trusted "), (Tone::Strong, &name)])?;
    }
    if !left.is_empty() && !std::io::stdin().is_terminal() {
        let hooks = left.iter().filter(|shown| matches!(shown, Shown::Hook(_))).count();
        let servers = if hooks < left.len() { Some(servers::FILE.to_owned()) } else { None };
        let hooks = if hooks > 0 { Some(counted(hooks, "hook")) } else { None };
        let what: Vec<String> = hooks.into_iter().chain(servers).collect();
        let message = format!("{} not trusted: nobody is there to ask", what.join(" and "));
        return Err(Trouble::problem(message).hint("name them, or say --all"));
    }
    Ok(exit_code::OK)
}

/// What may be trusted.
enum Candidate {
    Hook(Box<Hook>),
    Servers(ProjectFile),
}

/// What was shown: this, and nothing else, is trusted.
enum Shown {
    Hook(Staged),
    Servers(ProjectFile),
}

impl Candidate {
    fn name(&self) -> &str {
        match self {
            Self::Hook(hook) => hook.name(),
            Self::Servers(_) => servers::FILE,
        }
    }

    fn present(
        self,
        store: &TrustStore,
        environment: &Environment,
        out: &mut Out,
    ) -> Result<Shown, Trouble> {
        match self {
            Self::Hook(hook) => {
                let staged = store.stage(&hook.folder)?;
                present(&hook, &staged, store, environment, out)?;
                Ok(Shown::Hook(staged))
            }
            Self::Servers(file) => {
                present_servers(&file, environment, out)?;
                Ok(Shown::Servers(file))
            }
        }
    }
}

impl Shown {
    fn trust(self, store: &TrustStore) -> Result<(), TrustError> {
        match self {
            Self::Hook(staged) => store.trust(staged, now()).map(drop),
            Self::Servers(file) => store.trust_file(&file.path, &file.content, now()).map(drop),
        }
    }
}

/// Returns the hooks to be trusted, and the file of MCP servers.
fn candidates(arguments: &TrustArgs, environment: &Environment) -> Result<Vec<Candidate>, Trouble> {
    let servers = servers::project_file(environment);
    let project = target::installed(environment)
        .hooks
        .into_iter()
        .map(|standing| standing.hook)
        .filter(|hook| hook.level == Level::Project && hook.folder.symlink_metadata().is_ok());
    if arguments.paths.is_empty() {
        let hooks = project.filter(|hook| hook.trust != Trust::Trusted).map(Box::new);
        // What is wrong with a file that nobody named is for `doctor` to say.
        let servers = servers.ok().flatten().filter(|file| file.trust != FileTrust::Trusted);
        return Ok(hooks.map(Candidate::Hook).chain(servers.map(Candidate::Servers)).collect());
    }
    let mut servers = Some(servers);
    let project: Vec<Hook> = project.collect();
    let mut found = Vec::new();
    for path in &arguments.paths {
        let full = environment.work_dir.join(path);
        if servers::is_meant(path, environment) && servers::project_path(environment).exists() {
            let file = servers
                .take()
                .transpose()
                .map_err(|error| Trouble::input(error.reason).hint(error.hint))?;
            found.extend(file.flatten().map(Candidate::Servers));
            continue;
        }
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
        found.push(Candidate::Hook(Box::new(hook.clone())));
    }
    Ok(found)
}

/// Shows the file of MCP servers, all of it: every line may start a program.
fn present_servers(
    file: &ProjectFile,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), Trouble> {
    let place = shown(&file.path, &environment.places);
    out.line(&[(Tone::Strong, servers::FILE), (Tone::Dim, "  "), (Tone::Dim, &place)])?;
    match file.config(environment) {
        Ok(config) => {
            let names: Vec<&str> = config.names().collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            out.line(&[(Tone::Plain, "  MCP servers: "), (Tone::Plain, &names)])?;
        }
        Err(error) => {
            out.line(&[(Tone::Bad, "  cannot be used: "), (Tone::Plain, &error.reason)])?;
        }
    }
    if file.trust == FileTrust::Changed {
        out.line(&[(Tone::Warn, "  it was trusted before, with another content")])?;
    }
    let piece = Piece::File { bytes: file.content.clone(), runnable: false };
    let heading = format!("── {}{}", servers::FILE, piece.words());
    out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
    piece.show(&place, usize::MAX, out)?;
    Ok(())
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
            piece.show(&place, LINES_SHOWN, out)?;
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
    fn show(&self, place: &str, most: usize, out: &mut Out) -> std::io::Result<()> {
        let Self::File { bytes, .. } = self else { return Ok(()) };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return out.line(&[(Tone::Warn, "  │ not a text")]);
        };
        for line in text.lines().take(most) {
            out.line(&[(Tone::Dim, "  │ "), (Tone::Plain, line)])?;
        }
        match text.lines().count().saturating_sub(most) {
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
