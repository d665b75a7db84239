//! Messages for events, as people read them.

use anyhook_flow::approval_requests::{ended, listed};
use anyhook_hosts::bus_event::OURS;
use anyhook_model::approval_request::ApprovalEnding;
use anyhook_model::bus::{AgentReport, PipelineReport, SignalKind};
use anyhook_model::daemon::PublishedEvent;
use anyhook_model::{BusEvent, Record};

use anyhook_terminal::{Tone, first_line};

/// The description of a call, a question or a reason is cut to this width.
const WIDTH: usize = 100;

/// Returns the event in one of our own records: one that was emitted, or that the daemon wrote.
pub fn from_record(record: &Record) -> Option<BusEvent> {
    // Others of our own, such as those of commands, describe themselves.
    if record.host != OURS || record.about.is_some() {
        return None;
    }
    serde_json::from_str(record.payload.as_ref()?.as_text()).ok()
}

/// Returns the name of the agent or the pipeline that an event is about.
pub fn subject(told: &PublishedEvent) -> &str {
    let pipeline = told.event.pipeline_report().map(|report| report.pipeline.as_str());
    let name = match agent(&told.event) {
        Some(agent) => told.subject.agent_name.as_deref().or(Some(agent)),
        None => told.subject.pipeline_name.as_deref().or(pipeline),
    };
    name.unwrap_or("-")
}

/// Returns the id of the agent that an event is about.
fn agent(event: &BusEvent) -> Option<&str> {
    match event {
        BusEvent::DecisionCreated(inquiry) => Some(inquiry.agent.as_str()),
        BusEvent::DecisionResolved(resolution) => Some(resolution.agent.as_str()),
        BusEvent::AlarmRaised(report) => Some(report.agent.as_str()),
        BusEvent::DecisionClaimed(claim)
        | BusEvent::DecisionReleased(claim)
        | BusEvent::DecisionRevoked(claim) => Some(claim.agent.as_str()),
        BusEvent::AgentRenamed(renamed) => Some(renamed.agent.as_str()),
        event => event.report().map(|report| report.agent.as_str()),
    }
}

/// Returns which agent or pipeline an event is about and what happened, on one line, with its
/// display name.
pub fn line_of(told: &PublishedEvent) -> String {
    format!("{}: {}", subject(told), what(&told.event))
}

/// Returns which agent or pipeline an event is about and what happened, on one line.
pub fn line(event: &BusEvent) -> String {
    let name = match event {
        BusEvent::DecisionResolved(resolution) => resolution.agent_name.as_deref(),
        _ => None,
    };
    match name.or_else(|| agent(event)).filter(|name| !name.is_empty()) {
        Some(name) => format!("{name}: {}", what(event)),
        None => what(event),
    }
}

/// Returns what happened, on one line.
pub fn what(event: &BusEvent) -> String {
    let text = match event {
        BusEvent::AgentWorking(report) if report.call_ended => {
            with("finished a call", &call(report))
        }
        BusEvent::AgentWorking(report) => with("is working", &call(report)),
        BusEvent::AgentIdle(_) => "is idle".to_owned(),
        BusEvent::AgentPrompt(prompt) => {
            let asks = format!("waits at a prompt ({})", prompt.prompt_type.name());
            with(&asks, &call(&prompt.report))
        }
        BusEvent::AgentFailed(failed) => {
            let failed_how = format!("failed ({})", failed.kind.name());
            with(&failed_how, failed.message.as_deref().unwrap_or_default())
        }
        BusEvent::AgentExited(_) => "ended".to_owned(),
        BusEvent::AgentGone(_) => "is gone: its process ended unexpectedly".to_owned(),
        BusEvent::AgentSignal(signal) => {
            let says = match signal.kind {
                SignalKind::Complete => "reports that it is done",
                SignalKind::Escalate => "asks for a person",
                SignalKind::Continue => "reports that it is not done yet",
            };
            with(says, signal.message.as_deref().unwrap_or_default())
        }
        BusEvent::AgentStop(_) => "tried to stop, but keeps working".to_owned(),
        BusEvent::AgentInput(report) => with("received input", &call(report)),
        BusEvent::DecisionCreated(inquiry) => {
            let about = match (&inquiry.tool, &inquiry.about) {
                (Some(tool), Some(about)) => format!("{tool}: {about}"),
                (_, Some(about)) => about.clone(),
                _ => inquiry.question.clone(),
            };
            let options = listed(&inquiry.options);
            format!("decision {}: {} ({options})", inquiry.id, first_line(&about, WIDTH))
        }
        BusEvent::DecisionResolved(resolution) => {
            format!("decision {}: {}", resolution.id, ended(resolution))
        }
        BusEvent::DecisionClaimed(claim) => {
            format!("decision {}: claimed by {}", claim.id, claim.by)
        }
        BusEvent::DecisionReleased(claim) => {
            format!("decision {}: released by {}", claim.id, claim.by)
        }
        BusEvent::DecisionRevoked(claim) => {
            format!("decision {}: standing answer revoked by {}", claim.id, claim.by)
        }
        BusEvent::AgentRenamed(renamed) => {
            format!("is now called {}, by {} (id {})", renamed.name, renamed.by, renamed.agent)
        }
        BusEvent::AlarmRaised(report) => {
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
        // The reason names the step that failed.
        (Some(_), "pipeline") if report.why.is_some() => format!("pipeline {did}"),
        (Some(step), "pipeline") => format!("pipeline {did}: step {step}"),
        (Some(step), _) => format!("step {step}: {thing} {did}"),
        (None, _) => format!("{thing} {did}"),
    };
    if let Some(code) = report.exit_code {
        text = format!("{text} (exit code {code})");
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
pub fn tone(event: &BusEvent) -> Tone {
    match event {
        BusEvent::AgentPrompt(_) | BusEvent::DecisionCreated(_) | BusEvent::StepWaiting(_) => {
            Tone::Warn
        }
        BusEvent::AgentFailed(_)
        | BusEvent::AgentGone(_)
        | BusEvent::AlarmRaised(_)
        | BusEvent::PipelineFailed(_)
        | BusEvent::StepFailed(_) => Tone::Bad,
        BusEvent::AgentIdle(_) => Tone::Hint,
        BusEvent::PipelineCompleted(_) | BusEvent::StepCompleted(_) => Tone::Good,
        BusEvent::DecisionResolved(resolution) if resolution.ending == ApprovalEnding::Chosen => {
            Tone::Good
        }
        BusEvent::AgentExited(_) => Tone::Dim,
        _ => Tone::Plain,
    }
}
