//! `anyhook promote HOOK`: from shadow to enforce.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::hook::Trust;
use anyhook_engine::trust::TrustStore;
use anyhook_engine::{Hook, Level, now};
use anyhook_model::{Mode, exit_code};
use anyhook_stats::{Scope, Tally, fails_closed, shadow_of};
use clap::Args;

use super::Ended;
use super::stats::shadow::{shadow_line, show_shadow_blocks};
use crate::environment::{Environment, shown, terminal_width};
use crate::error::Trouble;
use crate::target;
use crate::ui::{Out, Page, Tone};

/// So many of the calls it would have blocked are shown.
const SHOWN: usize = 10;

/// Let a hook that was only watched count: `mode: shadow` becomes `mode: enforce`
///
/// Says what it would have blocked so far. A project's hook that is trusted stays trusted.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook promote no-force-push --dry-run\n         anyhook promote no-force-push"
)]
pub struct PromoteArgs {
    /// The hook, by name or folder
    hook: PathBuf,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

pub fn run(arguments: &PromoteArgs, environment: &Environment, out: &mut Out) -> Ended {
    let hook = the_hook(&arguments.hook, environment)?;
    let file = hook.folder.join("HOOK.md");
    if hook.definition.mode == Mode::Enforce {
        out.line(&[(Tone::Strong, hook.name()), (Tone::Plain, " is in force already")])?;
        return Ok(exit_code::OK);
    }
    let before = fs::read(&file).map_err(|error| Trouble::at(&file, error))?;
    let (after, line) = enforce(&before).ok_or_else(|| by_hand(&file))?;
    show_shadow(hook.name(), environment, out)?;
    let place = format!("{}:{line}", shown(&file, &environment.places));
    out.line(&[(Tone::Dim, &place)])?;
    out.line(&[(Tone::Bad, "- mode: shadow")])?;
    out.line(&[(Tone::Good, "+ mode: enforce")])?;
    if arguments.dry_run {
        return Ok(exit_code::OK);
    }
    let trusted = trusted(&hook, environment);
    replace(&file, &after)?;
    if Hook::load(&hook.folder, hook.level).definition.mode != Mode::Enforce {
        // The file is not what it looks like: nothing is changed by half.
        replace(&file, &before)?;
        return Err(by_hand(&file));
    }
    if let Some((store, replaces)) = trusted {
        let staged = store.stage(&hook.folder)?.replacing(replaces);
        store.trust(staged, now())?;
    }
    out.line(&[(Tone::Good, "in force: "), (Tone::Strong, hook.name())])?;
    Ok(exit_code::OK)
}

/// Shows what the hook would have done, as far back as the journal goes.
fn show_shadow(hook: &str, environment: &Environment, out: &mut Out) -> Result<(), Trouble> {
    let Some(journal) = environment.journal() else { return Ok(()) };
    let scope = Scope {
        fails_closed: fails_closed(&target::installed(environment)),
        keep: SHOWN,
        ..Scope::default()
    };
    let tally = Tally::read(&journal, scope)?;
    let Some(shadow) = shadow_of(&tally, hook) else {
        let text = "it has not run in shadow mode: `anyhook replay` tries it on the past";
        out.line(&[(Tone::Warn, "note: "), (Tone::Plain, text)])?;
        return Ok(());
    };
    out.line(&[(Tone::Strong, hook), (Tone::Plain, " "), (Tone::Plain, &shadow_line(&shadow))])?;
    show_shadow_blocks(&shadow, &mut Page::new(out, terminal_width()))?;
    Ok(())
}

/// Returns the one hook that is meant.
fn the_hook(name: &Path, environment: &Environment) -> Result<Hook, Trouble> {
    let mut found = target::find(&[name.to_owned()], environment)?;
    if found.len() > 1 {
        let folders: Vec<String> =
            found.iter().map(|hook| shown(&hook.folder, &environment.places)).collect();
        let message = format!("`{}` stands for several: {}", name.display(), folders.join(", "));
        return Err(Trouble::input(message).hint("name its folder"));
    }
    let nothing = || Trouble::input(format!("`{}` is no hook", name.display()));
    found.pop().ok_or_else(nothing)
}

/// Returns the store in which a project's hook is trusted as it is, to be trusted again, and
/// whether it replaces the user's.
fn trusted(hook: &Hook, environment: &Environment) -> Option<(TrustStore, bool)> {
    let standing = target::installed(environment).hooks.into_iter().map(|standing| standing.hook);
    let trusted = standing
        .filter(|other| other.folder == hook.folder && other.level == Level::Project)
        .find(|other| other.trust == Trust::Trusted)?;
    Some((TrustStore::new(environment.places.state.as_deref()?), trusted.replaces))
}

/// Returns the file with `mode: enforce`, and the line that changed; none if it is not plain.
fn enforce(file: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut lines: Vec<Vec<u8>> =
        file.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let is_fence = |line: &Vec<u8>| line.trim_ascii() == b"---";
    let end = lines.iter().skip(1).position(is_fence)? + 1;
    let mut modes = (1..end).filter(|index| lines[*index].starts_with(b"mode"));
    let (place, None) = (modes.next()?, modes.next()) else { return None };
    let text = String::from_utf8(lines[place].clone()).ok()?;
    let (key, rest) = text.split_once(':')?;
    let value = rest.trim_start();
    let blanks = &rest[..rest.len() - value.len()];
    let after = ["shadow", "\"shadow\"", "'shadow'"]
        .iter()
        .find_map(|word| value.strip_prefix(word))
        .filter(|after| after.is_empty() || after.starts_with(|next: char| next.is_whitespace()))?;
    (key.trim_end() == "mode").then_some(())?;
    lines[place] = format!("{key}:{blanks}enforce{after}").into_bytes();
    Some((lines.concat(), place + 1))
}

/// Replaces a file atomically; it keeps its permissions.
fn replace(file: &Path, text: &[u8]) -> Result<(), Trouble> {
    let at_fault = |error| Trouble::at(file, error);
    // A link stays one: what it points to is replaced.
    let file = fs::canonicalize(file).map_err(at_fault)?;
    let permissions = fs::metadata(&file).map_err(at_fault)?.permissions();
    AtomicFile::new(&file).permissions(permissions).replace(text).map_err(at_fault)
}

fn by_hand(file: &Path) -> Trouble {
    Trouble::problem(format!("`{}` has no plain line `mode: shadow`", file.display()))
        .hint("write `mode: enforce` there by hand, then: anyhook check")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_changes() {
        let of = |text: &str| {
            enforce(text.as_bytes()).map(|(text, line)| (String::from_utf8(text).unwrap(), line))
        };
        for (before, after) in [
            (
                "---\nname: a\nmode: shadow\n---\nmode: shadow\n",
                "---\nname: a\nmode: enforce\n---\nmode: shadow\n",
            ),
            (
                "---\r\nname: a\r\nmode:  'shadow' # for now\r\n---\r\n",
                "---\r\nname: a\r\nmode:  enforce # for now\r\n---\r\n",
            ),
            (
                "\u{feff}---\nname: a\nmode : \"shadow\"\n---",
                "\u{feff}---\nname: a\nmode : enforce\n---",
            ),
        ] {
            assert_eq!(of(before), Some((after.to_owned(), 3)), "{before}");
        }
        for odd in [
            "---\nname: a\n---\nmode: shadow\n",
            "---\nmode: shadows\n---\n",
            "---\nmode: shadow\nmode: shadow\n---\n",
            "---\nmodel: shadow\n---\n",
            "mode: shadow",
            "",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
