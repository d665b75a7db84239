//! `anyhook promote HOOK`: switches a hook from shadow to enforce.

use std::path::{Path, PathBuf};

use anyhook_engine::Hook;
use anyhook_model::report::changes::PromoteReport;
use anyhook_model::report::stats::ShadowStats;
use anyhook_model::{Mode, exit_code};
use anyhook_setup::promote::Promotion;
use anyhook_stats::page::{shadow_line, show_shadow_blocks};
use anyhook_stats::{Tally, TallyScope, fails_closed, shadow_of};
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, shown, terminal_width};
use crate::error::CommandError;
use crate::target;
use crate::ui::{Out, Page, Tone};

/// At most this many of the calls it would have blocked are shown.
const SHOWN: usize = 10;

/// Enforce a hook that has been in shadow mode: `mode: shadow` becomes `mode: enforce`
///
/// Shows what it would have blocked so far. A trusted project hook stays trusted.
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
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &PromoteArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let hook = the_hook(&arguments.hook, environment)?;
    let file = hook.folder.join("HOOK.md");
    let report = |result: &str, line, would_have_blocked| PromoteReport {
        hook: hook.name().to_owned(),
        file: file.to_string_lossy().into_owned(),
        result: result.to_owned(),
        line,
        would_have_blocked,
    };
    if hook.definition.mode == Mode::Enforce {
        if arguments.json {
            out.json(&report("unchanged", None, None))?;
            return Ok(exit_code::OK);
        }
        out.line(&[(Tone::Strong, hook.name()), (Tone::Plain, " is already enforced")])?;
        return Ok(exit_code::OK);
    }
    let promotion = Promotion::of(&hook)?;
    let line = promotion.line;
    let shadow = shadow(hook.name(), environment)?;
    let would_have_blocked = shadow.as_ref().map(|shadow| shadow.would_block);
    if !arguments.json {
        show_shadow(hook.name(), shadow.as_ref(), environment, out)?;
        let place = format!("{}:{line}", shown(&promotion.file, &environment.places));
        out.line(&[(Tone::Dim, &place)])?;
        out.line(&[(Tone::Bad, "- mode: shadow")])?;
        out.line(&[(Tone::Good, "+ mode: enforce")])?;
    }
    if arguments.dry_run {
        if arguments.json {
            out.json(&report("would_promote", Some(line), would_have_blocked))?;
        }
        return Ok(exit_code::OK);
    }
    promotion.write(environment)?;
    if arguments.json {
        out.json(&report("promoted", Some(line), would_have_blocked))?;
        return Ok(exit_code::OK);
    }
    out.line(&[(Tone::Good, "now enforced: "), (Tone::Strong, hook.name())])?;
    Ok(exit_code::OK)
}

/// Returns what the hook would have done, as far back as the journal goes; `None` if it has not
/// run.
fn shadow(hook: &str, environment: &Environment) -> Result<Option<ShadowStats>, CommandError> {
    let Some(journal) = environment.journal() else { return Ok(None) };
    let scope = TallyScope {
        fails_closed: fails_closed(&target::installed(environment)),
        keep: SHOWN,
        ..TallyScope::default()
    };
    Ok(shadow_of(&Tally::read(&journal, scope)?, hook))
}

/// Shows what the hook would have done.
fn show_shadow(
    hook: &str,
    shadow: Option<&ShadowStats>,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    if environment.journal().is_none() {
        return Ok(());
    }
    let Some(shadow) = shadow else {
        let text = "it has not run in shadow mode; `anyhook replay` tries it on past events";
        out.line(&[(Tone::Warn, "note: "), (Tone::Plain, text)])?;
        return Ok(());
    };
    out.line(&[(Tone::Strong, hook), (Tone::Plain, " "), (Tone::Plain, &shadow_line(shadow))])?;
    show_shadow_blocks(shadow, &mut Page::new(out, terminal_width()))?;
    Ok(())
}

/// Returns the one hook that is named.
fn the_hook(name: &Path, environment: &Environment) -> Result<Hook, CommandError> {
    let mut found = target::find(&[name.to_owned()], environment)?;
    if found.len() > 1 {
        let folders: Vec<String> =
            found.iter().map(|hook| shown(&hook.folder, &environment.places)).collect();
        let message = format!("`{}` is ambiguous: {}", name.display(), folders.join(", "));
        return Err(CommandError::input(message).hint("pass its folder"));
    }
    let nothing = || CommandError::input(format!("`{}` is not a hook", name.display()));
    found.pop().ok_or_else(nothing)
}
