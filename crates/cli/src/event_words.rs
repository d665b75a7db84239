//! Events in words.

use anyhook_flow::inquiries::{ended, listed};
use anyhook_hosts::happening::OURS;
use anyhook_model::bus::{AgentReport, PipelineReport};
use anyhook_model::daemon::Told;
use anyhook_model::inquiry::Ending;
use anyhook_model::{Happening, Record};

use crate::ui::{Tone, first_line};

/// What is told of a call, a question or a reason is cut to this width.
const WIDTH: usize = 100;

/// Returns the event that a record of our own tells: one that was emitted, or that the daemon wrote.
pub fn of_record(record: &Record) -> Option<Happening> {
    // Others of our own, such as those of commands, say themselves what they are about.
    if record.host != OURS || record.about.is_some() {
        return None;
    }
    serde_json::from_str(record.payload.as_ref()?.as_text()).ok()
}

/// Returns the name of the agent or the pipeline that an event is about.
pub fn subject(told: &Told) -> &str {
    let pipeline = told.event.pipeline_report().map(|report| report.pipeline.as_str());
    let name = match agent(&told.event) {
        Some(agent) => told.subject.agent_name.as_deref().or(Some(agent)),
        None => told.subject.pipeline_name.as_deref().or(pipeline),
    };
    name.unwrap_or("-")
}

/// Returns the id of the agent that an event is about.
fn agent(event: &Happening) -> Option<&str> {
    match event {
        Happening::DecisionCreated(inquiry) => Some(inquiry.agent.as_str()),
        Happening::DecisionResolved(resolution) => Some(resolution.agent.as_str()),
        Happening::AlarmRaised(report) => Some(report.agent.as_str()),
        Happening::DecisionClaimed(claim)
        | Happening::DecisionReleased(claim)
        | Happening::DecisionRevoked(claim) => Some(claim.agent.as_str()),
        Happening::AgentRenamed(renamed) => Some(renamed.agent.as_str()),
        event => event.report().map(|report| report.agent.as_str()),
    }
}

/// Returns whom an event is about and what happened, on one line, with the name people know it by.
pub fn line_of(told: &Told) -> String {
    format!("{}: {}", subject(told), what(&told.event))
}

/// Returns whom an event is about and what happened, on one line.
pub fn line(event: &Happening) -> String {
    let name = match event {
        Happening::DecisionResolved(resolution) => resolution.agent_name.as_deref(),
        _ => None,
    };
    match name.or_else(|| agent(event)).filter(|name| !name.is_empty()) {
        Some(name) => format!("{name}: {}", what(event)),
        None => what(event),
    }
}

/// Returns what happened, on one line.
pub fn what(event: &Happening) -> String {
    let text = match event {
        Happening::AgentWorking(report) if report.call_ended => with("did", &call(report)),
        Happening::AgentWorking(report) => with("works", &call(report)),
        Happening::AgentIdle(_) => "is idle".to_owned(),
        Happening::AgentPrompt(prompt) => {
            let asks = format!("waits at a prompt ({})", prompt.prompt_type.name());
            with(&asks, &call(&prompt.report))
        }
        Happening::AgentFailed(failed) => {
            let failed_how = format!("failed ({})", failed.kind.name());
            with(&failed_how, failed.message.as_deref().unwrap_or_default())
        }
        Happening::AgentExited(_) => "ended".to_owned(),
        Happening::AgentGone(_) => "is gone: its process ended without a word".to_owned(),
        Happening::AgentSignal(signal) => {
            let says = format!("signals {}", signal.kind.name());
            with(&says, signal.message.as_deref().unwrap_or_default())
        }
        Happening::AgentStop(_) => "wanted to stop and works on".to_owned(),
        Happening::AgentInput(report) => with("was told something", &call(report)),
        Happening::DecisionCreated(inquiry) => {
            let about = match (&inquiry.tool, &inquiry.about) {
                (Some(tool), Some(about)) => format!("{tool}: {about}"),
                (_, Some(about)) => about.clone(),
                _ => inquiry.question.clone(),
            };
            let options = listed(&inquiry.options);
            format!("decision {}: {} ({options})", inquiry.id, first_line(&about, WIDTH))
        }
        Happening::DecisionResolved(resolution) => {
            format!("decision {}: {}", resolution.id, ended(resolution))
        }
        Happening::DecisionClaimed(claim) => {
            format!("decision {}: claimed by {}", claim.id, claim.by)
        }
        Happening::DecisionReleased(claim) => {
            format!("decision {}: released by {}", claim.id, claim.by)
        }
        Happening::DecisionRevoked(claim) => {
            format!("decision {}: no longer allowed again, by {}", claim.id, claim.by)
        }
        Happening::AgentRenamed(renamed) => {
            format!("is now called {}, by {} (id {})", renamed.name, renamed.by, renamed.agent)
        }
        Happening::AlarmRaised(report) => {
            let texts: Vec<&str> = report.alarms.iter().map(|alarm| alarm.text.as_str()).collect();
            with("alarm", &texts.join("; "))
        }
        event => match event.pipeline_report() {
            Some(report) => of_pipeline(event.type_name(), report),
            None => event.type_name().to_owned(),
        },
    };
    first_line(&text, 2 * WIDTH)
}

fn of_pipeline(name: &str, report: &PipelineReport) -> String {
    let (thing, did) = name.split_once(':').unwrap_or((name, ""));
    let mut text = match (&report.step, thing) {
        (Some(step), "step") => format!("step {step} {did}"),
        (Some(step), "pipeline") => format!("pipeline {did}: step {step}"),
        (Some(step), _) => format!("step {step}: {thing} {did}"),
        (None, _) => format!("{thing} {did}"),
    };
    if let Some(code) = report.exit_code {
        text = format!("{text} with exit code {code}");
    }
    if let Some(decision) = &report.decision {
        text = format!("{text} for decision {decision}");
    }
    with(&text, report.why.as_deref().or(report.root.as_deref()).unwrap_or_default())
}

fn call(report: &AgentReport) -> String {
    match (&report.tool, &report.about) {
        (Some(tool), Some(about)) => format!("{tool}: {about}"),
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => String::new(),
    }
}

fn with(text: &str, more: &str) -> String {
    if more.is_empty() { text.to_owned() } else { format!("{text}: {}", first_line(more, WIDTH)) }
}

/// Returns the tone of an event.
pub fn tone(event: &Happening) -> Tone {
    match event {
        Happening::AgentPrompt(_) | Happening::DecisionCreated(_) | Happening::StepWaiting(_) => {
            Tone::Warn
        }
        Happening::AgentFailed(_)
        | Happening::AgentGone(_)
        | Happening::AlarmRaised(_)
        | Happening::PipelineFailed(_)
        | Happening::StepFailed(_) => Tone::Bad,
        Happening::AgentIdle(_) => Tone::Hint,
        Happening::PipelineCompleted(_) | Happening::StepCompleted(_) => Tone::Good,
        Happening::DecisionResolved(resolution) if resolution.ending == Ending::Chosen => {
            Tone::Good
        }
        Happening::AgentExited(_) => Tone::Dim,
        _ => Tone::Plain,
    }
}
