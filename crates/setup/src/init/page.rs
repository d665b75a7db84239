//! What a person sees of it: what was found and is proposed, and what now happens when.

use std::io;
use std::path::Path;

use anyhook_engine::Places;
use anyhook_model::report::init::{
    InitAgent, InitImport, InitNativeHook, InitPack, InitProject, InitReport,
};
use anyhook_terminal::format::milliseconds;
use anyhook_terminal::{Cell, Out, Tone, counted, first_line};

use super::plan::{is_called, is_imported};
use crate::shown;

/// At most this many of an agent's own hooks are named, each cut to this width.
const NATIVE_SHOWN: usize = 3;
const NATIVE_WIDTH: usize = 60;

/// Returns what a person can switch on and off, in the order of their numbers.
pub fn switches(report: &mut InitReport) -> Vec<&mut bool> {
    let mut switches: Vec<&mut bool> = Vec::new();
    let mut imports: Vec<&mut bool> = Vec::new();
    for agent in &mut report.agents {
        let (is_open, is_importable) = (is_open(agent), is_importable(agent));
        let InitAgent { chosen, import, .. } = agent;
        switches.extend(is_open.then_some(chosen));
        imports.extend(import.as_mut().filter(|_| is_importable).map(|import| &mut import.chosen));
    }
    let packs = report.packs.iter_mut().filter(|pack| is_addable(pack));
    switches.extend(packs.map(|pack| &mut pack.chosen));
    switches.extend(imports);
    switches
}

fn is_importable(agent: &InitAgent) -> bool {
    agent.import.is_some() && agent.problem.is_none()
}

fn is_open(agent: &InitAgent) -> bool {
    !agent.was_installed && agent.problem.is_none()
}

fn is_addable(pack: &InitPack) -> bool {
    !pack.was_added && pack.problem.is_none()
}

/// Prints what was found, and what is proposed; with numbers, if they can be chosen.
pub fn proposal(
    report: &InitReport,
    numbered: bool,
    places: &Places,
    out: &mut Out,
) -> io::Result<()> {
    let mut number = 0;
    let mut mark = |is_chosen: bool, can_change: bool| -> String {
        if !can_change {
            return String::new();
        }
        number += 1;
        let sign = if is_chosen { "[x]" } else { "[ ]" };
        if numbered { format!("{number:>2} {sign}") } else { sign.to_owned() }
    };
    out.line(&[(Tone::Strong, "Agents")])?;
    let agents: Vec<Vec<Cell>> = report
        .agents
        .iter()
        .map(|agent| agent_row(agent, &mark(agent.chosen, is_open(agent))))
        .collect();
    out.table(&agents)?;
    native_hooks(report, places, out)?;
    if let Some(project) = &report.project {
        out.gap()?;
        out.line(&[
            (Tone::Strong, "Project "),
            (Tone::Plain, &shown(Path::new(&project.root), places)),
            (Tone::Dim, &format!("  {}", facts(project))),
        ])?;
    }
    for (title, proposed) in [("Proposed", true), ("You may add", false)] {
        let packs: Vec<&InitPack> =
            report.packs.iter().filter(|pack| (pack.proposed || pack.chosen) == proposed).collect();
        if packs.is_empty() {
            continue;
        }
        out.gap()?;
        out.line(&[(Tone::Strong, title)])?;
        let rows: Vec<Vec<Cell>> = packs
            .into_iter()
            .map(|pack| pack_row(pack, &mark(pack.chosen, is_addable(pack))))
            .collect();
        out.table(&rows)?;
    }
    let imports = report.agents.iter().filter(|agent| is_importable(agent));
    let imports: Vec<Vec<Cell>> = imports
        .filter_map(|agent| {
            let import = agent.import.as_ref()?;
            Some(import_row(agent, import, &mark(import.chosen, true)))
        })
        .collect();
    if !imports.is_empty() {
        out.gap()?;
        out.line(&[(Tone::Strong, "You may import")])?;
        out.table(&imports)?;
    }
    Ok(())
}

fn import_row(agent: &InitAgent, import: &InitImport, mark: &str) -> Vec<Cell> {
    let names = import.hooks.join(", ");
    let staying = match import.staying {
        0 => String::new(),
        staying => format!("; {staying} cannot be"),
    };
    vec![
        Cell::new(Tone::Plain, format!("  {mark}")),
        Cell::new(Tone::Strong, &agent.title),
        Cell::new(Tone::Plain, format!("your own {}", counted(import.hooks.len(), "hook"))),
        Cell::new(
            Tone::Dim,
            format!("{names}: the same command, run and journaled by anyhook{staying}"),
        ),
    ]
}

fn agent_row(agent: &InitAgent, mark: &str) -> Vec<Cell> {
    let (tone, words) = match &agent.problem {
        Some(problem) => (Tone::Bad, format!("cannot be installed: {problem}")),
        None if agent.was_installed => (Tone::Dim, "calls anyhook already".to_owned()),
        None => (Tone::Plain, "install anyhook in its settings".to_owned()),
    };
    vec![
        Cell::new(Tone::Plain, format!("  {mark}")),
        Cell::new(Tone::Strong, &agent.title),
        Cell::new(tone, words),
    ]
}

fn pack_row(pack: &InitPack, mark: &str) -> Vec<Cell> {
    let place = if pack.level == "project" { "this project" } else { "all projects" };
    let (tone, words) = match &pack.problem {
        Some(problem) => (Tone::Bad, format!("cannot be added: {problem}")),
        None if pack.was_added => (Tone::Dim, "is there already".to_owned()),
        None => (Tone::Plain, pack.reason.clone()),
    };
    vec![
        Cell::new(Tone::Plain, format!("  {mark}")),
        Cell::new(Tone::Strong, &pack.name),
        Cell::new(Tone::Dim, place),
        Cell::new(tone, words),
    ]
}

/// Prints the hooks in agents' settings that are not ours.
fn native_hooks(report: &InitReport, places: &Places, out: &mut Out) -> io::Result<()> {
    let mut is_any = false;
    for agent in &report.agents {
        let hooks = &agent.native_hooks;
        is_any |= !hooks.is_empty();
        for hook in hooks.iter().take(NATIVE_SHOWN) {
            let file = shown(Path::new(&hook.file), places);
            let words = format!("  yours in {}: {}", agent.title, named(hook));
            out.line(&[(Tone::Plain, &words), (Tone::Dim, &format!("  {file}"))])?;
        }
        if let Some(more) = hooks.len().checked_sub(NATIVE_SHOWN).filter(|more| *more > 0) {
            out.line(&[(Tone::Dim, &format!("  and {} more", counted(more, "hook")))])?;
        }
    }
    if is_any && !report.agents.iter().any(is_imported) {
        out.line(&[(
            Tone::Dim,
            "  these are not imported: they stay where they are and run next to anyhook",
        )])?;
    }
    Ok(())
}

fn named(hook: &InitNativeHook) -> String {
    match (&hook.event, &hook.command) {
        (Some(event), Some(command)) => {
            format!("{event}: {}", first_line(command, NATIVE_WIDTH))
        }
        _ => "a plugin".to_owned(),
    }
}

/// Returns what was found in a project, in a line.
fn facts(project: &InitProject) -> String {
    let mut facts = project.languages.clone();
    facts.extend(project.git.then(|| "git".to_owned()));
    let more = [
        ("tests", project.test_command.clone().into_iter().collect::<Vec<_>>()),
        ("formatter", project.formatters.clone()),
        ("linter", project.linters.clone()),
    ];
    for (what, names) in more {
        if !names.is_empty() {
            facts.push(format!("{what}: {}", names.join(" and ")));
        }
    }
    facts.join(", ")
}

/// Prints what was done and proved, and what now happens when.
pub fn outcome(report: &InitReport, out: &mut Out) -> io::Result<()> {
    for agent in &report.agents {
        let Some(proof) = &agent.proof else { continue };
        let took = milliseconds(proof.took_us);
        let (tone, words) = match &proof.why_not {
            None => (Tone::Good, format!("proved: `{}` was denied in {took}", proof.command)),
            Some(why) => (Tone::Bad, format!("not proved: {why}")),
        };
        out.line(&[(Tone::Strong, &agent.title), (tone, &format!("  {words}"))])?;
    }
    for agent in report.agents.iter().filter(|agent| is_imported(agent)) {
        let names = agent.import.as_ref().map(|import| import.hooks.join(", ")).unwrap_or_default();
        out.line(&[
            (Tone::Strong, &agent.title),
            (Tone::Good, &format!("  imported {names}")),
            (Tone::Dim, "; its settings no longer run them"),
        ])?;
    }
    if report.agents.iter().any(|agent| agent.proof.is_some()) {
        out.line(&[(Tone::Dim, "the command was only asked about, and never run")])?;
    }
    out.gap()?;
    if !is_called(report) {
        let id = report.agents.first().map_or("AGENT", |agent| agent.id.as_str());
        return out.line(&[
            (Tone::Bad, "no agent calls anyhook yet, so nothing is stopped"),
            (Tone::Plain, &format!(": anyhook install {id}")),
        ]);
    }
    out.line(&[(Tone::Strong, "What now happens")])?;
    let rows: Vec<Vec<Cell>> = report
        .effects
        .iter()
        .map(|effect| {
            vec![
                Cell::new(Tone::Plain, format!("  {}", effect.when)),
                Cell::new(Tone::Good, &effect.then),
                Cell::new(Tone::Dim, &effect.pack),
            ]
        })
        .collect();
    out.table(&rows)?;
    out.gap()?;
    let next = [
        ("anyhook log", "see what was decided"),
        (
            "anyhook packs NAME",
            "see a pack's options; `anyhook add` and `anyhook remove` change what is there",
        ),
        ("anyhook init --undo", "undo all of this"),
    ];
    let rows: Vec<Vec<Cell>> = next
        .into_iter()
        .map(|(command, what)| {
            vec![Cell::new(Tone::Hint, format!("  {command}")), Cell::new(Tone::Dim, what)]
        })
        .collect();
    out.table(&rows)
}

/// Prints what was undone.
pub fn undone(report: &InitReport, out: &mut Out) -> io::Result<()> {
    for agent in &report.agents {
        let how = match agent.restored.as_deref() {
            Some("exactly") => "its settings are as they were, byte for byte",
            Some("edited") => "its settings were edited since; only anyhook's entries are gone",
            _ => "anyhook's entries are gone",
        };
        if let Some(import) = agent.import.as_ref().filter(|import| !import.hooks.is_empty()) {
            let words = format!("  your own {} again", counted(import.hooks.len(), "hook"));
            let (title, names) = (&agent.title, import.hooks.join(", "));
            out.line(&[
                (Tone::Strong, title),
                (Tone::Plain, &words),
                (Tone::Dim, &format!("; removed {names}")),
            ])?;
        }
        out.line(&[(Tone::Strong, &agent.title), (Tone::Plain, &format!("  {how}"))])?;
    }
    let names: Vec<&str> = report.packs.iter().map(|pack| pack.name.as_str()).collect();
    if !names.is_empty() {
        let packs = format!("removed {}: {}", counted(names.len(), "pack"), names.join(", "));
        out.line(&[(Tone::Plain, &packs)])?;
    }
    out.line(&[(Tone::Good, "undone")])
}
