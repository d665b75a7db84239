//! `anyhook test`: runs the cases in each hook's `tests/` folder.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhook_engine::hook::Trust;
use anyhook_engine::{Engine, Hook};
use anyhook_model::exit_code;
use anyhook_model::report::TestedCase;
use anyhook_replay::cases::{case_files, test};
use clap::Args;

use super::CommandResult;
use super::run::die_if_interrupted;
use crate::environment::{Environment, terminal_width};
use crate::format::milliseconds;
use crate::progress::{RunningHookNotice, note_running};
use crate::target;
use crate::ui::{Out, Tone};

/// If there are more cases than this, those that failed are shown again at the end.
const ON_A_SCREEN: usize = 15;

/// Run hooks' test cases; exit 1 if one fails
#[derive(Args)]
#[command(after_help = "Example: anyhook test examples/hooks/*")]
pub struct TestArgs {
    /// Hooks by name or folder; default: all installed hooks that may run
    hooks: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &TestArgs, environment: &Environment, out: &mut Out) -> CommandResult {
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
    engine.tell_run_to(note_running);
    let mut cases: Vec<(&Hook, PathBuf)> = Vec::new();
    for hook in &hooks {
        cases.extend(case_files(&hook.runs_from)?.into_iter().map(|path| (hook, path)));
    }
    let widths = Widths::of(&cases);
    let began = Instant::now();
    let mut tested = Vec::new();
    for (hook, path) in &cases {
        let ticker = RunningHookNotice::start(format!(" for {}", case_name(path)), terminal_width);
        let case_began = Instant::now();
        let one = test(&engine, hook, path)?;
        drop(ticker);
        if !arguments.json {
            show(&one, Some(case_began.elapsed()), &widths, out)?;
            out.flush()?;
        }
        tested.push(one);
        die_if_interrupted(&engine, out)?;
    }
    let failed = tested.iter().filter(|one| !one.passed).count();
    if arguments.json {
        out.json(&tested)?;
    } else if tested.is_empty() && left_out.is_empty() {
        out.text("no test cases")?;
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, "a case is a file tests/NAME.json in the hook's folder; `anyhook schema case` describes its contents")])?;
    } else {
        if failed > 0 && tested.len() > ON_A_SCREEN {
            out.gap()?;
            for one in tested.iter().filter(|one| !one.passed) {
                show(one, None, &widths, out)?;
            }
        }
        let took = began.elapsed().as_secs_f64();
        let passed = tested.len() - failed;
        out.text(&format!("{passed} passed, {failed} failed in {took:.2} s"))?;
    }
    if !arguments.json && !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(Hook::name).collect();
        let text = format!("not trusted, so tested only when named: {}", names.join(", "));
        out.line(&[(Tone::Warn, "note: "), (Tone::Plain, &text)])?;
    }
    Ok(if failed == 0 { exit_code::OK } else { exit_code::PROBLEM })
}

/// The widths of the name columns.
struct Widths {
    hook: usize,
    case: usize,
}

impl Widths {
    fn of(cases: &[(&Hook, PathBuf)]) -> Self {
        let widest = |names: &mut dyn Iterator<Item = usize>| names.max().unwrap_or(0);
        Self {
            hook: widest(&mut cases.iter().map(|(hook, _)| hook.name().chars().count())),
            case: widest(&mut cases.iter().map(|(_, path)| case_name(path).chars().count())),
        }
    }
}

fn case_name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn show(
    one: &TestedCase,
    took: Option<Duration>,
    widths: &Widths,
    out: &mut Out,
) -> std::io::Result<()> {
    let (tone, mark) = if one.passed { (Tone::Good, "ok    ") } else { (Tone::Bad, "FAILED") };
    let took = took.map(|took| milliseconds(u64::try_from(took.as_micros()).unwrap_or(u64::MAX)));
    let took = took.unwrap_or_default();
    // Lines are not padded at the end.
    let rest = match (&one.description, took.as_str()) {
        (Some(text), "") => format!("  {text}"),
        (Some(text), took) => format!("  {took:<6}  {text}"),
        (None, "") => String::new(),
        (None, took) => format!("  {took}"),
    };
    let case =
        if rest.is_empty() { one.case.clone() } else { format!("{:<1$}", one.case, widths.case) };
    out.line(&[
        (tone, mark),
        (Tone::Strong, &format!("  {:<1$}", one.hook, widths.hook)),
        (Tone::Plain, &format!("  {case}")),
        (Tone::Dim, &rest),
    ])?;
    for fault in &one.faults {
        out.line(&[(Tone::Plain, "        "), (Tone::Plain, fault)])?;
    }
    Ok(())
}
