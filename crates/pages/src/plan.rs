//! What an event would run: the hooks in their order, what a command line was read as, and which
//! hooks are skipped and why.

use std::io;
use std::path::Path;

use anyhook_engine::agent_directives::PIPELINE;
use anyhook_engine::hook::Trust;
use anyhook_engine::matcher::reading;
use anyhook_engine::{Hook, Places};
use anyhook_model::report::{CallReading, PlanReport, PlannedHook};
use anyhook_model::{Event, Mode, SkipReason, Spelling};
use anyhook_setup::shown;
use anyhook_terminal::{Cell, Out, Tone};

/// What an event would run.
#[derive(Debug)]
pub struct PlanPage<'plan> {
    /// The event, in its project.
    pub event: &'plan Event,
    /// The project's root.
    pub root: Option<&'plan Path>,
    /// The hooks, each with the spelling of the event that it receives, or why it is skipped.
    pub hooks: &'plan [(&'plan Hook, Spelling, Result<(), SkipReason>)],
    /// What its pipeline would tell the agent if that wanted to stop.
    pub held: Option<String>,
}

impl PlanPage<'_> {
    /// Returns the plan for programs.
    pub fn report(&self) -> PlanReport {
        let hook =
            |(hook, spelling, due): &(&Hook, Spelling, Result<(), SkipReason>)| PlannedHook {
                hook: hook.name().to_owned(),
                level: hook.level.word().to_owned(),
                folder: hook.folder_text(),
                priority: hook.definition.priority,
                runs: due.is_ok(),
                event: due.is_ok().then(|| self.event.kind.name(*spelling).to_owned()),
                why: due.clone().err(),
                fails: failing(hook),
            };
        PlanReport {
            event: self.event.kind.clone(),
            project: self.root.map(|root| root.to_string_lossy().into_owned()),
            reading: reading(self.event),
            hooks: self.hooks.iter().map(hook).collect(),
        }
    }

    /// Shows the plan.
    pub fn show(&self, places: &Places, out: &mut Out) -> io::Result<()> {
        let tool =
            self.event.tool.as_ref().map(|tool| format!(" {}", tool.name)).unwrap_or_default();
        let root = self.root.map_or_else(
            || "no project".to_owned(),
            |root| format!("project {}", shown(root, places)),
        );
        out.line(&[
            (Tone::Strong, &self.event.kind.to_string()),
            (Tone::Strong, &tool),
            (Tone::Dim, " · "),
            (Tone::Dim, &root),
        ])?;
        let due: Vec<_> = self.hooks.iter().filter(|(_, _, due)| due.is_ok()).collect();
        if due.is_empty() {
            out.line(&[(Tone::Dim, "no hooks would run")])?;
        }
        let rows: Vec<Vec<Cell>> = due
            .iter()
            .enumerate()
            .map(|(index, (hook, _, _))| {
                vec![
                    Cell::new(Tone::Plain, format!("{:>3}.", index + 1)),
                    Cell::new(Tone::Strong, hook.name()),
                    Cell::new(Tone::Dim, hook.level.word()),
                    Cell::new(Tone::Dim, format!("priority {}", hook.definition.priority)),
                    remarks(hook),
                ]
            })
            .collect();
        out.table(&rows)?;
        if let Some(message) = &self.held {
            let text = format!("then the {PIPELINE} blocks the stop: {message}");
            out.line(&[(Tone::Warn, &text)])?;
        }
        if let Some(reading) = reading(self.event).filter(|reading| !is_plain(reading, self.event))
        {
            show_reading(&reading, out)?;
        }
        let (other, left_out): (Vec<_>, Vec<_>) = self
            .hooks
            .iter()
            .filter_map(|(hook, _, due)| due.as_ref().err().map(|why| (hook, why)))
            .partition(|(_, why)| **why == SkipReason::OtherEvent);
        if !left_out.is_empty() || !other.is_empty() {
            out.gap()?;
            out.line(&[(Tone::Strong, "skipped")])?;
        }
        let rows: Vec<Vec<Cell>> = left_out
            .iter()
            .chain(&other)
            .map(|(hook, why)| {
                vec![
                    Cell::new(Tone::Plain, "    "),
                    Cell::new(Tone::Plain, hook.name()),
                    Cell::new(Tone::Dim, hook.level.word()),
                    Cell::new(Tone::Dim, why_not(hook, why, self.event)),
                ]
            })
            .collect();
        out.table(&rows)?;
        Ok(())
    }
}

/// Returns why a hook would not run; of several conditions, the one that does not hold.
fn why_not(hook: &Hook, why: &SkipReason, event: &Event) -> String {
    let unmet = || hook.matcher.unmet_condition(event);
    match why {
        SkipReason::Conditions => {
            unmet().map_or(why.to_string(), |key| format!("matcher.{key} does not match"))
        }
        _ => why.to_string(),
    }
}

/// Returns whether a line is the one command that it seems to be.
fn is_plain(reading: &CallReading, event: &Event) -> bool {
    let CallReading { commands, files, urls, unknown } = reading;
    let [only] = commands.as_slice() else { return false };
    let line = event.headline().unwrap_or_default();
    let has_more = only.remote || !(files.is_empty() && urls.is_empty() && unknown.is_empty());
    !has_more && only.via.is_empty() && only.command == line.trim()
}

/// Shows what a command line was read as.
fn show_reading(reading: &CallReading, out: &mut Out) -> io::Result<()> {
    out.gap()?;
    out.line(&[(Tone::Strong, "command read")])?;
    for command in &reading.commands {
        let mut marks = Vec::new();
        if !command.via.is_empty() {
            marks.push(format!("via {}", command.via.join(", ")));
        }
        if command.remote {
            marks.push("elsewhere".to_owned());
        }
        if command.unknown {
            marks.push("cannot be told".to_owned());
        }
        let marks =
            if marks.is_empty() { String::new() } else { format!("  {}", marks.join("; ")) };
        out.line(&[(Tone::Plain, &format!("  {}", command.command)), (Tone::Dim, &marks)])?;
    }
    for file in &reading.files {
        let text = format!("  {:<6}  ", file.access);
        out.line(&[(Tone::Dim, &text), (Tone::Plain, &file.path)])?;
    }
    for url in &reading.urls {
        out.line(&[(Tone::Dim, "  fetch   "), (Tone::Plain, url)])?;
    }
    for unknown in &reading.unknown {
        let text = format!("  unknown: {}", unknown.reason);
        out.line(&[(Tone::Warn, &text), (Tone::Dim, &format!("  {}", unknown.text))])?;
    }
    Ok(())
}

/// Returns why a hook fails without being run, if it does.
fn failing(hook: &Hook) -> Option<String> {
    match (&hook.trust, hook.fault()) {
        (Trust::Changed(why), _) => Some(why.clone()),
        (_, Some(fault)) => Some(fault.message.clone()),
        _ => None,
    }
}

fn remarks(hook: &Hook) -> Cell {
    if let Some(why) = failing(hook) {
        let blocks = if hook.blocks_on_failure() { "and blocks" } else { "open" };
        return Cell::new(Tone::Bad, format!("fails {blocks}: {why}"));
    }
    let definition = &hook.definition;
    let mut words = Vec::new();
    if definition.is_async {
        words.push("async");
    }
    if definition.mode == Mode::Shadow {
        words.push("shadow");
    }
    Cell::new(Tone::Warn, words.join(", "))
}
