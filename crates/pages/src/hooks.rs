//! Installed hooks: a line for each, their problems, and notes about several of them.

use std::io;

use anyhook_engine::discover::HookStatus;
use anyhook_engine::hook::Trust;
use anyhook_engine::{Hook, Level, Places, Problem, Severity};
use anyhook_hosts::HostSpec;
use anyhook_model::report::ListedHook;
use anyhook_model::{Mode, SkipReason};
use anyhook_setup::shown;
use anyhook_terminal::{Column, Out, Page, Tone};

/// Shows a line for each hook, at most as wide as the terminal.
pub fn table(hooks: &[HookStatus], width: usize, out: &mut Out) -> io::Result<()> {
    let column = |title: &str, cell: &dyn Fn(&HookStatus) -> (Tone, String)| {
        Column::new(title, hooks.iter().map(cell).collect::<Vec<_>>().into_iter())
    };
    let triggers = |standing: &HookStatus| {
        let names = standing.hook.trigger_names();
        if names.is_empty() { "–".to_owned() } else { names.join(", ") }
    };
    let priority = |standing: &HookStatus| standing.hook.definition.priority.to_string();
    Page::new(out, width).table(
        0,
        vec![
            column("hook", &|one| (Tone::Strong, one.hook.name().to_owned())).firm(20),
            column("trigger", &|one| (Tone::Plain, triggers(one))).least(11).weight(3),
            column("level", &|one| (Tone::Dim, one.hook.level.word().to_owned())).weight(2),
            column("priority", &|one| (Tone::Dim, priority(one))).weight(1),
            column("status", &status).firm(20),
        ],
    )
}

/// Shows what is wrong with a hook, if anything is; with `all`, also what could be better.
pub fn findings(hook: &Hook, all: bool, places: &Places, out: &mut Out) -> io::Result<()> {
    // `permissions` looks like protection: that it is not is always reported.
    let findings: Vec<_> = hook
        .problems
        .iter()
        .filter(|problem| {
            all || problem.severity >= Severity::Error || problem.code == "permissions"
        })
        .collect();
    if !all && findings.is_empty() {
        return Ok(());
    }
    out.gap()?;
    out.line(&[
        (Tone::Strong, hook.name()),
        (Tone::Dim, "  "),
        (Tone::Dim, &shown(&hook.folder, places)),
    ])?;
    if all && !hook.definition.description.is_empty() {
        out.line(&[(Tone::Plain, "  "), (Tone::Plain, &hook.definition.description)])?;
    }
    for problem in findings {
        let place = problem
            .place
            .map(|place| format!("{}:{}: ", place.line, place.column))
            .unwrap_or_default();
        let tone = if problem.severity >= Severity::Error { Tone::Bad } else { Tone::Warn };
        out.line(&[(tone, "  ! "), (Tone::Dim, &place), (Tone::Plain, &problem.message)])?;
        if let Some(hint) = &problem.hint {
            out.line(&[(Tone::Hint, "    hint: "), (Tone::Plain, hint)])?;
        }
    }
    Ok(())
}

/// Reports which hooks of the project run next to the user's hooks of the same name.
pub fn beside(hooks: &[HookStatus]) -> Vec<String> {
    let stands = |standing: &&HookStatus| {
        standing.out.is_none()
            && standing.hook.fault().is_none()
            && !matches!(standing.hook.trust, Trust::Changed(_))
    };
    let of = |level: Level| {
        hooks.iter().filter(stands).map(|one| &one.hook).filter(move |hook| hook.level == level)
    };
    let is_beside =
        |hook: &&Hook| hook.nesting == 0 && of(Level::User).any(|user| user.name() == hook.name());
    let words = |hook: &Hook| {
        let name = hook.name();
        format!(
            "the project's {name} runs in addition to yours; `anyhook trust {name} --replace {name}` lets it replace yours"
        )
    };
    of(Level::Project).filter(is_beside).map(words).collect()
}

/// Reports where a hook may take longer than one of the agents will wait.
pub fn too_slow(hook: &Hook, agents: &[&HostSpec]) -> Vec<String> {
    let definition = &hook.definition;
    let mut notes = Vec::new();
    if definition.is_async {
        return notes;
    }
    for agent in agents {
        for trigger in &definition.triggers {
            let limit = agent.limit_ms(&trigger.kind);
            if definition.timeout_ms > limit {
                notes.push(format!(
                    "{} may take {} ms at {}, but {} only waits {limit} ms: after that it fails",
                    hook.name(),
                    definition.timeout_ms,
                    trigger.kind,
                    agent.id()
                ));
            }
        }
    }
    notes
}

/// Returns the status of a hook for display.
pub fn status(standing: &HookStatus) -> (Tone, String) {
    let hook = &standing.hook;
    if let Some(why) = &standing.out {
        let tone = if *why == SkipReason::Untrusted { Tone::Warn } else { Tone::Dim };
        return (tone, why.to_string());
    }
    if let Trust::Changed(why) = &hook.trust {
        return (Tone::Bad, format!("fails: {why}"));
    }
    if let Some(fault) = hook.fault() {
        let blocks = if hook.blocks_on_failure() { ", so it blocks" } else { "" };
        return (Tone::Bad, format!("unusable{blocks}: {}", fault.message));
    }
    let fails = |problem: &&Problem| matches!(problem.code, "script" | "always-fails");
    if let Some(problem) = hook.problems.iter().rfind(fails) {
        return (Tone::Bad, format!("fails: {}", problem.message));
    }
    let definition = &hook.definition;
    let mut words = Vec::new();
    if definition.mode == Mode::Shadow {
        words.push("shadow");
    }
    if definition.is_async {
        words.push("async");
    }
    if hook.trust == Trust::Trusted {
        words.push("trusted");
    }
    if words.is_empty() {
        (Tone::Good, "ready".to_owned())
    } else {
        (Tone::Good, format!("ready, {}", words.join(", ")))
    }
}

/// Returns a hook for programs.
pub fn listed(standing: &HookStatus) -> ListedHook {
    let hook = &standing.hook;
    ListedHook {
        name: hook.name().to_owned(),
        level: hook.level.word().to_owned(),
        folder: hook.folder_text(),
        definition: hook.definition.clone(),
        trust: hook.trust.word().to_owned(),
        usable: hook.fault().is_none(),
        left_out: standing.out.clone(),
        problems: hook.problems.iter().map(Problem::to_finding).collect(),
    }
}
