//! One record: the trace of a dispatch.

use std::sync::Arc;

use anyhook_model::alarm::AlarmKind;
use anyhook_model::{Effect, Record, RunRecord, Verdict};
use anyhook_pages::record::{InputChange, Trace, input_changes};
use anyhook_pages::verdict::hook_result;
use anyhook_pages::{events, records};
use anyhook_terminal::format::milliseconds;
use axum::Extension;
use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;

use super::call::{diff, pretty};
use super::layout::{PageHead, page};
use super::parts::{ago, fact, in_path, long_text, tone, with_query};
use super::{Failed, journal as list};
use crate::api::input::Name;
use crate::app::App;
use crate::guard::Caller;
use crate::journal;

/// This much of a text is shown.
const TEXT: usize = 64 * 1024;

/// Shows one record.
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Markup, Failed> {
    match journal::trace(&app, &id).await {
        Ok(trace) => {
            let title = format!("Record {}", trace.record.id);
            let head = PageHead { section: "/journal", title: &title, follows: "" };
            Ok(page(&app, &caller, head, &content(&trace)).await)
        }
        Err(error) => Err(Failed(error, caller)),
    }
}

fn content(trace: &Trace) -> Markup {
    let record = &trace.record;
    let (verdict_tone, verdict) = records::verdict(record);
    html! {
        p.hint { a href="/journal" { "Journal" } }
        h1 { (record.event) " " @if verdict != "–" { span.chip.(tone(verdict_tone)) { (verdict) } } }
        (alarms(record))
        @for missing in &trace.missing { p.notice.warn { "Not available any more: " (missing) } }
        (facts(trace))
        @if record.of.is_none() { (outcome(record, &trace.first)) }
        (runs("What ran", record, trace))
        @for later in &trace.later {
            (runs_of(&format!("Ended in the background, {}", later.id), later, &input_changes(later, None)))
        }
        (left_out(record))
        @if let Some(answered) = &record.answered {
            h2 { "Answer" }
            p {
                a href={"/decisions/" (in_path(answered.id.as_str()))} { (answered.id) } ": "
                strong { (answered.choice.as_deref().unwrap_or("–")) } " by " (answered.by) ", " (ago(answered.at)) " ago"
            }
            @if let Some(message) = &answered.message { blockquote { (message) } }
        }
        (raw(trace))
    }
}

fn alarms(record: &Record) -> Markup {
    html! {
        @for alarm in &record.alarms {
            // That it was denied and ran has a link, below.
            @if alarm.kind != AlarmKind::DeniedButRan {
                p.notice.(if alarm.kind == AlarmKind::HooksOff { "warn" } else { "bad" }) role="alert" { (alarm.text) }
            }
        }
        @if let Some(denied) = &record.denied_by {
            p.notice.bad role="alert" {
                "It was denied, but ran anyway: " a href={"/journal/" (in_path(denied.as_str()))} { "the denial" }
            }
        }
        @if record.is_double_call() {
            p.notice.warn { "No hook ran: the agent also calls anyhook by an entry of its own." }
        }
    }
}

fn facts(trace: &Trace) -> Markup {
    let record = &trace.record;
    let link = |id: &anyhook_model::RecordId| {
        html! { a href={"/journal/" (in_path(id.as_str()))} { (id) } }
    };
    let session = record.session.as_deref();
    html! {
        dl.facts #facts {
            dt { "When" } dd { (ago(record.at)) " ago, " (record.at) }
            dt { "Record" } dd { code { (record.id) } }
            @if let Some(of) = &record.of { dt { "Outcome of" } dd { (link(of)) } }
            @if let Some(with) = &record.with { dt { "Same payload as" } dd { (link(with)) } }
            dt { "Agent" } dd { (record.host) }
            (fact("Its name for the event", record.native_name.as_deref()))
            @if let Some(entry) = &record.foreign_entry {
                dt { "Entry" } dd { "of " (entry.of) ", run by " (entry.run_by) }
            }
            @if let Some(session) = session {
                dt { "Session" }
                dd { a href=(with_query("/journal", [("host", record.host.as_str()), ("session", session)])) { (session) } }
            }
            (fact("Subagent", record.agent.as_deref()))
            (fact("Project", record.project_dir.as_deref()))
            dt { "Folder" } dd { (record.work_dir) }
            (fact("Tool", record.tool.as_deref()))
            (fact("Call", record.call.as_deref()))
            @if let Some(about) = &record.about { dt { "About" } dd { code { (about) } } }
            @for (name, value) in &record.counted { dt { "Counted" } dd { (name) " = " (value) } }
            dt { "Took" } dd { (milliseconds(record.took_us)) }
            @if !record.redacted.is_empty() {
                dt { "Redacted" } dd { (record.redacted.join(", ")) " (the agent and its hooks saw it)" }
            }
            @if let Some(Ok(told)) = &trace.heard {
                dt { "The daemon" }
                dd { (events::line_of(told)) @if let Some(why) = &told.dropped { " – " (why) } }
            }
        }
    }
}

/// The verdict, what became of it, and what could not be said.
fn outcome(record: &Record, first: &Record) -> Markup {
    let verdict = &record.verdict;
    let (class, words) = words(verdict);
    html! {
        h2 { "Verdict" }
        p { span.chip.(class) { (words) }
            @if let Some(by) = &verdict.by { " by " code { (by) } }
        }
        @if let Some(reason) = &verdict.reason { (long_text(reason, TEXT)) }
        @if let Some(context) = &verdict.context { h3 { "Context for the model" } (long_text(context, TEXT)) }
        @for failure in &verdict.failed {
            p.notice.(if failure.blocked { "bad" } else { "warn" }) { code { (failure.hook) } " failed: " (failure.why) }
        }
        @for warning in &verdict.warnings { p.notice.warn { (warning) } }
        @for lost in &record.lost {
            p.notice.warn { "Could not be said to " (record.host) ": " (lost.what) "; sent instead: " (lost.instead) }
        }
        @if let Some(reply) = &first.reply {
            details #reply {
                summary { "Reply to the agent (exit " (reply.exit_code) ")" }
                @if !reply.stdout.is_empty() { h3 { "stdout" } (long_text(&reply.stdout, TEXT)) }
                @if !reply.stderr.is_empty() { h3 { "stderr" } (long_text(&reply.stderr, TEXT)) }
                @if reply.stdout.is_empty() && reply.stderr.is_empty() { p.hint { "Nothing was written." } }
            }
        }
    }
}

fn words(verdict: &Verdict) -> (&'static str, &'static str) {
    match verdict.effect {
        Some(Effect::Deny) => ("bad", "blocked"),
        Some(Effect::Ask) => ("wait", "a person is asked"),
        Some(Effect::Allow) => ("good", "allowed"),
        None if verdict.capped => ("wait", "let through: it had blocked too often"),
        None => ("over", "no opinion: the agent's own rules decide"),
    }
}

fn runs(headline: &str, record: &Record, trace: &Trace) -> Markup {
    runs_of(headline, record, &input_changes(record, trace.event.as_ref()))
}

fn runs_of(headline: &str, record: &Record, changes: &[Option<InputChange<'_>>]) -> Markup {
    html! {
        h2 { (headline) }
        @if record.runs.is_empty() { p.hint { "No hook ran." } }
        ol.runs {
            @for (run, change) in record.runs.iter().zip(changes) { (one_run(run, change.as_ref())) }
        }
    }
}

fn one_run(run: &RunRecord, change: Option<&InputChange<'_>>) -> Markup {
    let (result_tone, result) = hook_result(run);
    let outcome =
        run.outcome.as_ref().map_or_else(|| "did not run".to_owned(), ToString::to_string);
    html! {
        li {
            p {
                strong { a href=(with_query("/journal", [("hook", run.hook.as_str())])) { (run.hook) } }
                @if run.shadow { " " span.chip.idle { "shadow" } }
                " " span.chip.(tone(result_tone)) { (result) }
            }
            p.meta { span { (outcome) } span { (milliseconds(run.took_us)) } span { code { (run.folder) } } }
            @if let Some(reason) = &run.decision.reason { (long_text(reason, TEXT)) }
            @if let Some(change) = change { (input_change(change)) }
            @if let Some(context) = &run.decision.additional_context { h3 { "Context" } (long_text(context, TEXT)) }
            @if let Some(log) = &run.decision.log { h3 { "Log" } (long_text(log, TEXT)) }
            @for note in &run.notes { p.hint { (note) } }
            @for (name, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
                @if !text.is_empty() { details { summary { (name) } (long_text(text, TEXT)) } }
            }
        }
    }
}

fn input_change(change: &InputChange<'_>) -> Markup {
    let text = |object: &anyhook_model::json::Object| pretty(&Value::Object(object.clone()));
    html! {
        h3 { "Changed the input" }
        @match &change.whole {
            Some((before, after)) => { (diff(&text(before), &text(after))) },
            None => { (long_text(&text(change.fields), TEXT)) },
        }
    }
}

fn left_out(record: &Record) -> Markup {
    let is_all = record.skipped.is_empty() && record.more_skipped == 0 && record.other_events == 0;
    html! {
        @if !is_all {
            details #left-out {
                summary { "What did not run" }
                ul.plain {
                    @for skipped in &record.skipped { li { code { (skipped.hook) } ": " (skipped.why) } }
                    @if record.more_skipped > 0 { li { (record.more_skipped) " more that do not match" } }
                    @if record.other_events > 0 { li { (record.other_events) " with another trigger" } }
                }
            }
        }
    }
}

fn raw(trace: &Trace) -> Markup {
    html! {
        @if let Some(payload) = &trace.first.payload {
            @let value = serde_json::from_str::<Value>(payload.as_text()).ok();
            details #payload {
                summary { "Payload from the agent" }
                (long_text(&value.as_ref().map_or_else(|| payload.as_text().to_owned(), pretty), TEXT))
            }
        }
        @if let Some(input) = &trace.record.verdict.input {
            details #input { summary { "Input after all hooks" } (long_text(&pretty(&Value::Object(input.clone())), TEXT)) }
        }
        @let family = trace.record.with.as_ref().map(|_| std::slice::from_ref(&trace.first));
        @if let Some(family) = family { h2 { "The first record of this payload" } (list::table(family)) }
        @if !trace.later.is_empty() { h2 { "Records of background hooks" } (list::table(&trace.later)) }
        p.hint { "In a terminal: " code { "anyhook log show " (trace.record.id) } }
    }
}

#[cfg(test)]
mod tests {
    use anyhook_engine::journal::Journal;
    use anyhook_model::alarm::Alarm;
    use anyhook_model::record::Skipped;
    use anyhook_model::{Decision, EventKind, Payload, RecordId, RunOutcome, SkipReason};
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    const EVIL: &str = "<img src=x onerror=alert(1)>\u{1b}[2J";

    fn trace() -> Trace {
        let id = RecordId::from_text("7k2m9x4q");
        let mut record =
            Record::new(id, Timestamp::UNIX_EPOCH, "claude-code", EventKind::BeforeTool);
        record.tool = Some("Shell".to_owned());
        record.about = Some(EVIL.to_owned());
        record.session = Some(EVIL.to_owned());
        record.payload = Some(Payload::new(json!({"evil": EVIL}).to_string().as_bytes()));
        record.alarms.push(Alarm::new(AlarmKind::GuardChanged, EVIL));
        record.skipped.push(Skipped::new(EVIL, String::new, SkipReason::Tool));
        record.verdict.effect = Some(Effect::Deny);
        record.verdict.reason = Some(EVIL.to_owned());
        record.runs.push(RunRecord {
            hook: EVIL.to_owned(),
            folder: EVIL.to_owned(),
            shadow: true,
            outcome: Some(RunOutcome::Exited(0)),
            decision: Decision {
                modified_input: json!({"command": EVIL}).as_object().cloned(),
                ..Decision::deny(EVIL)
            },
            failure: None,
            notes: vec![EVIL.to_owned()],
            stdout: EVIL.to_owned(),
            stderr: EVIL.to_owned(),
            took_us: 1200,
        });
        let folder = tempfile::tempdir().unwrap();
        Trace::new(&Journal::new(folder.path()), record.clone(), vec![record])
    }

    #[test]
    fn whatever_an_agent_or_a_hook_says_is_text() {
        let shown = content(&trace()).into_string();
        assert!(!shown.contains("<img"), "{shown}");
        assert!(
            !shown.contains('\u{1b}')
                || !shown.contains("stdout</summary><pre tabindex=\"0\">\u{1b}")
        );
        // It is all there: alarm, reason, hook, change, note, both outputs, what was left out.
        assert!(shown.matches("&lt;img").count() >= 9, "{shown}");
    }

    #[test]
    fn a_trace_says_what_ran_and_what_did_not() {
        let shown = content(&trace()).into_string();
        for text in ["blocked", "shadow", "1.2 ms", "What did not run", "Payload from the agent"] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
    }
}
