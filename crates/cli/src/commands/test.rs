//! `anyhook test`: run the cases in each hook's `tests/` folder.

use std::path::PathBuf;

use anyhook_engine::hook::Trust;
use anyhook_engine::{Engine, Hook};
use anyhook_model::exit_code;
use anyhook_model::report::TestedCase;
use anyhook_replay::cases::{case_files, test};
use clap::Args;

use super::Ended;
use super::run::die_if_interrupted;
use crate::environment::Environment;
use crate::target;
use crate::ui::{Out, Tone};

/// Run the test cases of hooks; exit 1 if one fails
#[derive(Args)]
#[command(after_help = "Example: anyhook test examples/hooks/*")]
pub struct TestArgs {
    /// Hooks by name or folder; without, all that are installed and may run
    hooks: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &TestArgs, environment: &Environment, out: &mut Out) -> Ended {
    let (hooks, left_out): (Vec<Hook>, Vec<Hook>) = if arguments.hooks.is_empty() {
        // Nothing from a repository runs unasked: what is not trusted must be named.
        target::installed(environment)
            .hooks
            .into_iter()
            .map(|standing| standing.hook)
            .partition(|hook| matches!(hook.trust, Trust::NotNeeded | Trust::Trusted))
    } else {
        (target::find(&arguments.hooks, environment)?, Vec::new())
    };
    let mut engine = Engine::new(environment.places.clone());
    engine.adopt_orphans();
    engine.heed_signals(anyhook_engine::run::interruption::is_ignored);
    let mut tested = Vec::new();
    for hook in &hooks {
        for path in case_files(&hook.runs_from)? {
            let one = test(&engine, hook, &path)?;
            if !arguments.json {
                show(&one, out)?;
                out.flush()?;
            }
            tested.push(one);
            die_if_interrupted(&engine, out)?;
        }
    }
    let failed = tested.iter().filter(|one| !one.passed).count();
    if arguments.json {
        out.json(&tested)?;
    } else if tested.is_empty() && left_out.is_empty() {
        out.text("no test cases")?;
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, "a case is a file tests/NAME.json in the hook's folder; `anyhook schema case` says what it holds")])?;
    } else {
        out.text(&format!("{} passed, {failed} failed", tested.len() - failed))?;
    }
    if !arguments.json && !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(Hook::name).collect();
        let text = format!("not trusted, so tested only when named: {}", names.join(", "));
        out.line(&[(Tone::Warn, "note: "), (Tone::Plain, &text)])?;
    }
    Ok(if failed == 0 { exit_code::OK } else { exit_code::PROBLEM })
}

fn show(one: &TestedCase, out: &mut Out) -> std::io::Result<()> {
    let (tone, mark) = if one.passed { (Tone::Good, "ok    ") } else { (Tone::Bad, "FAILED") };
    let description =
        one.description.as_deref().map(|text| format!("  {text}")).unwrap_or_default();
    out.line(&[
        (tone, mark),
        (Tone::Plain, "  "),
        (Tone::Strong, &one.hook),
        (Tone::Plain, " "),
        (Tone::Plain, &one.case),
        (Tone::Dim, &description),
    ])?;
    for fault in &one.faults {
        out.line(&[(Tone::Plain, "        "), (Tone::Plain, fault)])?;
    }
    Ok(())
}
