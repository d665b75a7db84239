//! What a person sees of a hook, a runbook or a file of MCP servers before trusting it.

use std::io;
use std::path::Path;

use anyhook_engine::trust::FileTrust;
use anyhook_engine::{Hook, Level};
use anyhook_hook::environment::Environment;
use anyhook_terminal::{Out, Tone};

use crate::mcp_servers::{self, ProjectFile};
use crate::runbooks::{FoundRunbook, UnverifiedFile};
use crate::shown;
use crate::trust::{EarlierTrust, FileComparison, HookPart, TrustReview, is_replaceable};

/// At most this many lines of a file are shown.
const LINES_SHOWN: usize = 60;

/// Shows the file of MCP servers, all of it: every line may start a program.
pub fn servers(file: &ProjectFile, environment: &Environment, out: &mut Out) -> io::Result<()> {
    let place = shown(&file.path, &environment.places);
    out.line(&[(Tone::Strong, mcp_servers::FILE), (Tone::Dim, "  "), (Tone::Dim, &place)])?;
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
        out.line(&[(Tone::Warn, "  it was trusted before, with different content")])?;
    }
    let piece = HookPart::File { bytes: file.content.clone(), runnable: false };
    show(mcp_servers::FILE, &piece, None, &place, usize::MAX, out)
}

/// Shows a runbook, all of it: every line may be a command.
pub fn runbook(
    runbook: &UnverifiedFile,
    environment: &Environment,
    out: &mut Out,
) -> io::Result<()> {
    let place = shown(&runbook.path, &environment.places);
    let name = runbook.name(environment);
    out.line(&[(Tone::Strong, &name), (Tone::Dim, "  "), (Tone::Dim, &place)])?;
    if !runbook.is_workflow() {
        let found = FoundRunbook::read(&runbook.path).runbook;
        let names: Vec<&str> = found.pipelines.iter().map(|one| one.name.text.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        out.line(&[(Tone::Plain, "  pipelines: "), (Tone::Plain, &names)])?;
    }
    if runbook.trust == FileTrust::Changed {
        out.line(&[(Tone::Warn, "  it was trusted before, with different content")])?;
    }
    let piece = HookPart::File { bytes: runbook.text.clone().into_bytes(), runnable: false };
    show(&name, &piece, None, &place, usize::MAX, out)
}

/// Shows a hook, from the copy that would run.
pub fn hook(
    hook: &Hook,
    review: &TrustReview,
    rival: Option<&Hook>,
    environment: &Environment,
    out: &mut Out,
) -> io::Result<()> {
    let TrustReview { copy, earlier, files, removed } = review;
    let place = |path: &Path| shown(path, &environment.places);
    let folder = place(&hook.folder);
    out.line(&[(Tone::Strong, hook.name()), (Tone::Dim, "  "), (Tone::Dim, &folder)])?;
    out.line(&[(Tone::Plain, "  "), (Tone::Plain, &copy.definition.description)])?;
    let triggers = copy.trigger_names();
    if !triggers.is_empty() {
        out.line(&[(Tone::Plain, "  runs at "), (Tone::Plain, &triggers.join(", "))])?;
    }
    if let Some(fault) = copy.fault() {
        out.line(&[(Tone::Bad, "  cannot run: "), (Tone::Plain, &fault.message)])?;
        if let Some(hint) = &fault.hint {
            out.line(&[(Tone::Hint, "  hint: "), (Tone::Plain, hint)])?;
        }
    }
    if let Some(rival) = rival {
        show_rival(rival, out)?;
    }
    match earlier {
        Some(EarlierTrust::Changed) => {
            out.line(&[(Tone::Warn, "  it was trusted before; changes since then are marked")])?;
        }
        Some(EarlierTrust::SameContent(source)) => {
            let same = "  same content as you trusted in ";
            out.line(&[(Tone::Good, same), (Tone::Plain, &place(source))])?;
        }
        None => {}
    }
    for file in files {
        let place = place(&hook.folder.join(&file.path));
        let name = file.path.display().to_string();
        show(&name, &file.piece, file.change, &place, LINES_SHOWN, out)?;
    }
    for gone in removed {
        let heading = format!("── {}  REMOVED", gone.display());
        out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
    }
    Ok(())
}

/// Shows what happens to the hook with the same name.
fn show_rival(rival: &Hook, out: &mut Out) -> io::Result<()> {
    let on_failure = if rival.blocks_on_failure() { "block" } else { "allow" };
    let about = format!(
        "{} ({}, on_failure: {on_failure})",
        rival.name(),
        rival.trigger_names().join(", ")
    );
    let words = match rival.level {
        Level::User if is_replaceable(rival) => {
            format!("  this REPLACES your hook {about}, if you agree")
        }
        Level::User => format!("  your hook {about} is locked: this one is skipped"),
        _ => format!("  the managed hook {about} takes precedence: this one is skipped"),
    };
    out.line(&[(Tone::Warn, &words)])
}

/// Shows a file: what it is, and its first lines unless it is unchanged. The rest is at `place`.
fn show(
    name: &str,
    piece: &HookPart,
    change: Option<FileComparison>,
    place: &str,
    most: usize,
    out: &mut Out,
) -> io::Result<()> {
    let about = match piece {
        HookPart::File { bytes, runnable: true } => format!(" ({} bytes, executable)", bytes.len()),
        HookPart::File { bytes, runnable: false } => format!(" ({} bytes)", bytes.len()),
        HookPart::Link(target) => format!(" → {}", target.display()),
        HookPart::Missing => " (cannot be read)".to_owned(),
    };
    let change_words = match change {
        None => "",
        Some(FileComparison::New) => "  NEW",
        Some(FileComparison::Same) => "  unchanged",
        Some(FileComparison::Changed) => "  CHANGED",
    };
    let heading = format!("── {name}{about}{change_words}");
    out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
    let (HookPart::File { bytes, .. }, false) = (piece, change == Some(FileComparison::Same))
    else {
        return Ok(());
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return out.line(&[(Tone::Warn, "  │ not text")]);
    };
    for line in text.lines().take(most) {
        out.line(&[(Tone::Dim, "  │ "), (Tone::Plain, line)])?;
    }
    match text.lines().count().saturating_sub(most) {
        0 => Ok(()),
        more => out.line(&[(Tone::Dim, &format!("  │ … {more} more lines in {place}"))]),
    }
}

/// What was done, for the summary line.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrustSummary {
    trusted: usize,
    unable: usize,
    replacing: usize,
}

impl TrustSummary {
    /// Counts something that was trusted.
    pub fn add(&mut self, cannot_run: bool, replaces: bool) {
        self.trusted += 1;
        self.unable += usize::from(cannot_run);
        self.replacing += usize::from(replaces);
    }

    /// Returns it in words; `left` were not trusted.
    pub fn words(&self, left: usize) -> String {
        let mut words = vec![format!("{} trusted", self.trusted)];
        if self.unable > 0 {
            words.push(format!("{} of them cannot run", self.unable));
        }
        if self.replacing > 0 {
            words.push(format!("{} of them replacing yours", self.replacing));
        }
        if left > 0 {
            words.push(format!("{left} not trusted"));
        }
        words.join(", ")
    }
}
