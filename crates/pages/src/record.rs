//! The full trace of one dispatch: payload, plan, each hook's output, input changes, reply.

use anyhook_engine::journal::Journal;
use anyhook_model::daemon::PublishedEvent;
use anyhook_model::json::{Object, merge};
use anyhook_model::{AlarmKind, Event, ForeignEntry, Record, RunRecord, Verdict};
use anyhook_replay::journal_replay;
use anyhook_terminal::format::milliseconds;
use anyhook_terminal::{StyledLine, Tone, counted};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::events;
use crate::verdict::{hook_result, verdict_lines};

/// At most this many lines of a payload or an output are shown; `--json` has them all.
const LINES_MOST: usize = 60;

/// A record with everything that belongs to it.
#[derive(Debug)]
pub struct Trace {
    /// The record, with its long texts restored.
    pub record: Record,
    /// The record that has the payload and the reply: the first of the same payload.
    pub first: Record,
    /// Records of hooks that ran in the background, and how they ended.
    pub later: Vec<Record>,
    /// The event as it came, if it is available.
    pub event: Option<Event>,
    /// What is not available.
    pub missing: Vec<String>,
    /// How the daemon interpreted the record, or why that is not known, if it is for the daemon.
    pub heard: Option<Result<Box<PublishedEvent>, &'static str>>,
}

impl Trace {
    /// Combines a record with the records related to it, itself included, in the order of the
    /// journal.
    pub fn new(journal: &Journal, record: Record, family: Vec<Record>) -> Self {
        let mut missing = Vec::new();
        let mut restore = |record: Record| match journal.restored(record.clone()) {
            Ok(record) => record,
            Err(lost) => {
                missing.push(lost.to_string());
                record
            }
        };
        let record = restore(record);
        let (later, siblings): (Vec<Record>, Vec<Record>) = family
            .into_iter()
            .filter(|other| other.id != record.id || other.of.is_none())
            .map(&mut restore)
            .partition(|other| other.of.is_some());
        let place = siblings.iter().position(|other| other.id == record.id).unwrap_or(0);
        let first = siblings.into_iter().next().unwrap_or_else(|| record.clone());
        let event =
            journal_replay::events(&first).ok().and_then(|events| events.into_iter().nth(place));
        Self { record, first, later, event, missing, heard: None }
    }
}

/// What a hook changed in the input of a call.
#[derive(Debug)]
pub struct InputChange<'run> {
    /// The fields it set.
    pub fields: &'run Object,
    /// The input before and after, if the event is known.
    pub whole: Option<(Object, Object)>,
}

/// Returns what each run of a record changed in the input, each in what those before it left.
pub fn input_changes<'run>(
    record: &'run Record,
    event: Option<&Event>,
) -> Vec<Option<InputChange<'run>>> {
    let mut input = event.and_then(|event| event.tool.as_ref()?.input.as_object().cloned());
    let mut change = |run: &'run RunRecord| {
        let fields = run.decision.modified_input.as_ref()?;
        let whole = input.clone().map(|before| {
            let mut after = before.clone();
            merge(&mut after, fields);
            (before, after)
        });
        // A hook that failed or ran in shadow mode changed nothing for the hooks after it.
        if let Some((_, after)) = &whole
            && run.failure.is_none()
            && !run.shadow
        {
            input = Some(after.clone());
        }
        Some(InputChange { fields, whole })
    };
    record.runs.iter().map(&mut change).collect()
}

/// Returns the trace, line by line.
pub fn lines(trace: &Trace) -> Vec<StyledLine> {
    let mut page = Page::default();
    let record = &trace.record;
    page.head(record);
    match &trace.heard {
        Some(Ok(told)) => page.heard(told),
        Some(Err(why)) => page.line(&[(Tone::Warn, "daemon   "), (Tone::Plain, why)]),
        None => {}
    }
    for missing in &trace.missing {
        page.line(&[(Tone::Warn, "missing  "), (Tone::Plain, missing)]);
    }
    if let Some(payload) = &trace.first.payload {
        page.gap();
        page.line(&[(Tone::Hint, "payload")]);
        let value = serde_json::from_str::<Value>(payload.as_text()).ok();
        let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
        page.block("  ", pretty.as_deref().unwrap_or(payload.as_text()));
    }
    page.gap();
    page.turns(record, trace.event.as_ref());
    page.left_out(record);
    if record.of.is_none() {
        page.gap();
        page.lines.extend(verdict_lines(&Verdict { id: None, ..record.verdict.clone() }));
        page.reply(&trace.first);
    }
    for later in &trace.later {
        page.gap();
        page.line(&[(Tone::Strong, "later "), (Tone::Dim, &later.at.to_string())]);
        page.turns(later, None);
    }
    page.lines
}

#[derive(Default)]
struct Page {
    lines: Vec<StyledLine>,
}

impl Page {
    fn line(&mut self, pieces: &[(Tone, &str)]) {
        self.lines.push(pieces.iter().map(|(tone, text)| (*tone, (*text).to_owned())).collect());
    }

    fn gap(&mut self) {
        self.lines.push(StyledLine::new());
    }

    fn field(&mut self, name: &str, value: &str) {
        self.line(&[(Tone::Hint, &format!("{name:<9}")), (Tone::Plain, value)]);
    }

    /// Writes the lines of a text after a margin, up to a limit.
    fn block(&mut self, margin: &str, text: &str) {
        let text = text.trim_end();
        let total = text.lines().count();
        for line in text.lines().take(LINES_MOST) {
            self.line(&[(Tone::Dim, margin), (Tone::Plain, line)]);
        }
        if total > LINES_MOST {
            let rest = format!("{margin}… {} more lines (--json)", total - LINES_MOST);
            self.line(&[(Tone::Dim, &rest)]);
        }
    }

    fn detail(&mut self, name: &str, text: &str) {
        self.block(&format!("     {name:<8}│ "), text);
    }

    fn head(&mut self, record: &Record) {
        self.field("record", record.id.as_str());
        if let Some(of) = &record.of {
            self.field("of", of.as_str());
        }
        if let Some(with) = &record.with {
            self.field("with", with.as_str());
        }
        self.field("at", &record.at.to_string());
        let native = record.native_name.as_ref().map(|name| format!(" ({name})"));
        self.field("event", &format!("{}{}", record.event, native.unwrap_or_default()));
        self.field("host", &record.host);
        if let Some(entry) = &record.foreign_entry {
            let ForeignEntry { of, run_by } = entry.as_ref();
            let place = if entry.is_of_plugin() {
                format!("in a plugin of {run_by}")
            } else {
                format!("in the settings of {of}, which {run_by} also runs")
            };
            self.field("entry", &place);
        }
        if record.is_double_call() {
            let text = "no hook ran: the agent also calls anyhook by an entry of its own";
            self.line(&[(Tone::Warn, "dropped  "), (Tone::Plain, text)]);
        }
        self.field("session", record.session.as_deref().unwrap_or("–"));
        if let Some(agent) = &record.agent {
            self.field("agent", agent);
        }
        self.field("work dir", &record.work_dir);
        self.field("project", record.project_dir.as_deref().unwrap_or("–"));
        for (name, value) in
            [("tool", &record.tool), ("call", &record.call), ("about", &record.about)]
        {
            if let Some(value) = value {
                self.field(name, value);
            }
        }
        for (name, value) in &record.counted {
            self.field("counted", &format!("{name} = {value}"));
        }
        self.field("took", &milliseconds(record.took_us));
        if !record.redacted.is_empty() {
            let text = format!("{} (the agent and its hooks saw it)", record.redacted.join(", "));
            self.line(&[(Tone::Warn, "redacted "), (Tone::Plain, &text)]);
        }
        for alarm in &record.alarms {
            // That it was denied and ran is reported below, with its id; disabled hooks are a
            // warning.
            if !matches!(alarm.kind, AlarmKind::DeniedButRan | AlarmKind::HooksOff) {
                self.line(&[(Tone::Bad, "ALARM    "), (Tone::Plain, &alarm.text)]);
            }
        }
        if let Some(denied) = &record.denied_by {
            let text = format!("denied, but it ran anyway: anyhook log show {denied}");
            self.line(&[(Tone::Bad, "ALARM    "), (Tone::Plain, &text)]);
        }
    }

    /// Writes how the daemon interpreted it: what its agent does, or why it does not count.
    fn heard(&mut self, told: &PublishedEvent) {
        self.field("daemon", &events::line_of(told));
        if let Some(why) = &told.dropped {
            self.line(&[(Tone::Warn, "dropped  "), (Tone::Plain, why)]);
        }
    }

    /// Writes the result of each hook, and how it changed the input.
    fn turns(&mut self, record: &Record, event: Option<&Event>) {
        let changes = input_changes(record, event);
        for (index, (run, change)) in record.runs.iter().zip(changes).enumerate() {
            let (tone, words) = hook_result(run);
            let shadow = if run.shadow { " (shadow)" } else { "" };
            self.line(&[
                (Tone::Dim, &format!("  {}. ", index + 1)),
                (Tone::Strong, &run.hook),
                (Tone::Dim, shadow),
                (Tone::Plain, "  "),
                (tone, &words),
            ]);
            let outcome =
                run.outcome.as_ref().map_or_else(|| "did not run".to_owned(), ToString::to_string);
            let took = milliseconds(run.took_us);
            self.line(&[(Tone::Dim, &format!("     {outcome}, {took} · {}", run.folder))]);
            self.detail("stdout", &run.stdout);
            self.detail("stderr", &run.stderr);
            if let Some(log) = &run.decision.log {
                self.detail("log", log);
            }
            if let Some(change) = &change {
                self.input_change(change);
            }
            if let Some(context) = &run.decision.additional_context {
                self.detail("context", context);
            }
            for note in &run.notes {
                self.detail("note", note);
            }
        }
    }

    /// Writes what a hook changed, line by line.
    fn input_change(&mut self, change: &InputChange<'_>) {
        let pretty = |object: &Object| serde_json::to_string_pretty(object).unwrap_or_default();
        let Some((before, after)) = &change.whole else {
            return self.detail("input", &anyhook_model::json::to_spaced(change.fields));
        };
        let (before, after) = (pretty(before), pretty(after));
        for change in TextDiff::from_lines(&before, &after).iter_all_changes() {
            let (tone, sign) = match change.tag() {
                ChangeTag::Delete => (Tone::Bad, "- "),
                ChangeTag::Insert => (Tone::Good, "+ "),
                ChangeTag::Equal => continue,
            };
            let text = format!("{sign}{}", change.value().trim());
            self.line(&[(Tone::Dim, "     input   │ "), (tone, &text)]);
        }
    }

    fn left_out(&mut self, record: &Record) {
        for skipped in &record.skipped {
            self.line(&[
                (Tone::Dim, "  – "),
                (Tone::Plain, &skipped.hook),
                (Tone::Dim, ": "),
                (Tone::Dim, &skipped.why.to_string()),
            ]);
        }
        if record.more_skipped > 0 {
            let text =
                format!("  – {} more that do not match", counted(record.more_skipped, "hook"));
            self.line(&[(Tone::Dim, &text)]);
        }
        if record.other_events > 0 {
            let text = format!("  – {} with another trigger", counted(record.other_events, "hook"));
            self.line(&[(Tone::Dim, &text)]);
        }
    }

    /// Writes the reply to the host, and what could not be expressed in it.
    fn reply(&mut self, record: &Record) {
        if let Some(reply) = &record.reply {
            self.line(&[
                (Tone::Hint, "reply:   "),
                (Tone::Plain, &format!("exit {}", reply.exit_code)),
            ]);
            self.detail("stdout", &reply.stdout);
            self.detail("stderr", &reply.stderr);
        }
        for lost in &record.lost {
            self.line(&[
                (Tone::Warn, "lost:    "),
                (Tone::Plain, &lost.what),
                (Tone::Dim, "; sent instead: "),
                (Tone::Plain, &lost.instead),
            ]);
        }
    }
}
