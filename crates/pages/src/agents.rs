//! Agents: a line for each, and all that is known of one.

use std::io;

use anyhook_engine::Places;
use anyhook_model::AgentState;
use anyhook_model::daemon::AgentView;
use anyhook_setup::shown;
use anyhook_terminal::format::{age, thousands};
use anyhook_terminal::states::{NEEDS_YOU, agent_tone};
use anyhook_terminal::text::counted;
use anyhook_terminal::{Cell, Out, StyledLine, Tone, columns};
use jiff::Timestamp;

use crate::usage;

/// Returns a line for each agent.
pub fn table(agents: &[AgentView], now: Timestamp, places: &Places) -> Vec<StyledLine> {
    let mut rows = vec![
        ["agent", "state", "for", "source", "project", "about"]
            .map(|title| Cell::new(Tone::Dim, title))
            .to_vec(),
    ];
    for agent in agents {
        let (tone, state) = state(agent);
        let project = agent.project.as_deref().or(agent.work_dir.as_deref()).unwrap_or("");
        rows.push(vec![
            Cell::new(Tone::Strong, agent.shown_name()),
            Cell::new(tone, state),
            Cell::new(Tone::Plain, age(agent.since, now)),
            Cell::new(Tone::Plain, agent.source.name()),
            Cell::new(Tone::Plain, shown(project.as_ref(), places)),
            Cell::new(Tone::Dim, about(agent)),
        ]);
    }
    columns(&rows)
}

/// Returns what an agent does, and its tone. One with an open decision needs a person, whatever it
/// does meanwhile.
fn state(agent: &AgentView) -> (Tone, String) {
    let (tone, state) = match agent.full_state() {
        state @ (AgentState::Working | AgentState::Idle) if agent.decision.is_some() => {
            (Tone::Warn, format!("{state}, {NEEDS_YOU}"))
        }
        state => (agent_tone(state), state.to_string()),
    };
    let frozen = agent.frozen.then_some("frozen");
    let unguarded = (agent.unguarded > 0).then_some("unguarded");
    let alarms: Vec<&str> = frozen.into_iter().chain(unguarded).collect();
    if alarms.is_empty() {
        return (tone, state);
    }
    (Tone::Bad, format!("{state}, {}", alarms.join(", ")))
}

/// Returns how many calls ran that no hook was asked about.
fn unguarded(agent: &AgentView) -> Option<String> {
    (agent.unguarded > 0).then(|| counted(usize::try_from(agent.unguarded).unwrap_or(0), "call"))
}

/// Shows all that is known of an agent.
pub fn show(agent: &AgentView, now: Timestamp, places: &Places, out: &mut Out) -> io::Result<()> {
    let (state_tone, state) = state(agent);
    let process = agent.process.as_ref().map(|process| process.pid.to_string());
    let path = |path: &Option<String>| path.as_ref().map(|path| shown(path.as_ref(), places));
    let since = format!("{} ({} ago)", agent.since, age(agent.since, now));
    let rows = [
        ("id", agent.name.is_some().then(|| agent.id.clone())),
        ("state", Some(state)),
        ("unguarded", unguarded(agent)),
        ("source", Some(agent.source.name().to_owned())),
        ("since", Some(since)),
        ("last seen", Some(format!("{} ago", age(agent.seen, now)))),
        ("decision", agent.decision.as_ref().map(ToString::to_string)),
        ("pipeline", agent.pipeline.as_ref().map(ToString::to_string)),
        ("host", agent.host.clone()),
        ("session", agent.session.clone()),
        ("process", process),
        ("project", path(&agent.project)),
        ("folder", path(&agent.work_dir)),
        ("log", path(&agent.log)),
        ("tool", agent.tool.clone()),
        ("about", agent.about.clone()),
        ("turns", agent.usage.and_then(|usage| usage.turns).map(thousands)),
        ("tokens", agent.usage.and_then(usage::tokens)),
    ];
    out.line(&[(Tone::Strong, agent.shown_name())])?;
    for (name, value) in rows {
        if let Some(value) = value {
            let tone = match name {
                "state" => state_tone,
                "unguarded" => Tone::Bad,
                _ => Tone::Plain,
            };
            out.field(name, tone, &value)?;
        }
    }
    Ok(())
}

/// Returns whether a person would see no difference except for the time.
pub fn is_same(one: &[AgentView], other: &[AgentView]) -> bool {
    let seen = |agent: &AgentView| {
        let AgentView { name, source, since, project, decision, .. } = agent.clone();
        let seen = (agent.id.clone(), name, state(agent), source, since, project, decision);
        (seen, agent.unguarded, about(agent))
    };
    one.iter().map(seen).eq(other.iter().map(seen))
}

/// Returns the place of an agent in a list: what waits for a person comes first.
pub fn rank(agent: &AgentView) -> u8 {
    match agent.full_state() {
        state if agent.decision.is_some() && !state.is_over() => 0,
        AgentState::Prompting(_) => 0,
        AgentState::Failed(_) => 1,
        AgentState::Idle => 2,
        AgentState::Working => 3,
        AgentState::Exited | AgentState::Gone => 4,
    }
}

/// Returns what an agent does or waits for, on one line.
fn about(agent: &AgentView) -> String {
    let decision = agent.decision.as_ref().map(|id| format!("decision {id}"));
    let call = match (&agent.tool, &agent.about) {
        (Some(tool), Some(about)) => format!("{tool}: {about}"),
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => String::new(),
    };
    let text = match decision {
        Some(decision) if call.is_empty() => decision,
        Some(decision) => format!("{decision}: {call}"),
        None => call,
    };
    anyhook_model::json::shorten(text.lines().next().unwrap_or(""), 60)
}
