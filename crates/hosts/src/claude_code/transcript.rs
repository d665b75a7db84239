//! Reconstructs the payloads that hooks received from a session's transcript.
//!
//! Claude Code writes a session line by line to `~/.claude/projects/FOLDER/SESSION.jsonl`, and what
//! a subagent does to a separate file. The format is internal to the host and changes: this module
//! reads what versions 1.0.128, 2.1.50 and 2.1.325 were observed to write, compared with what hooks
//! received at the same time. Lines of an unknown kind are ignored.
//!
//! Not recorded, and therefore missing: notifications, permission prompts, and why a session ended;
//! in earlier versions also that it ended, the input as changed by a hook, and that a hook denied a
//! call, of which only the reason was written.

pub(super) mod entry;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhook_model::json::{self, Object, ReadValue};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::transcript::{Transcript, TranscriptPayload};
use entry::{CallFate, TranscriptEntry, UserLine, text_of};

/// Reads a transcript of a session or of a subagent.
///
/// A call that was denied has a `PreToolUse` and nothing after it, and one that the host rejected
/// before it asked hooks (no such tool, an input that does not fit) has nothing: this is what hooks
/// saw. Parallel calls are in the order of their lines, which may not be the order in which hooks
/// saw them.
pub(super) fn read(bytes: &[u8]) -> Transcript {
    let mut reader = SessionReader::default();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        reader.line(index + 1, line);
    }
    reader.finish()
}

#[derive(Debug, Default)]
struct SessionReader {
    payloads: Vec<TranscriptPayload>,
    problems: Vec<String>,
    /// Whether any line was one of a transcript.
    is_transcript: bool,
    phase: Phase,
    session_id: Option<String>,
    cwd: Option<String>,
    permission_mode: Option<String>,
    prompt_id: Option<String>,
    /// The run of hooks that last reported how the session started: each hook writes a line.
    start_told_by: Option<String>,
    /// The trigger of a compaction whose summary is still to come.
    compaction: Option<Value>,
    /// Calls that were already seen: a message that is written again must not count again.
    seen: HashSet<String>,
    calls: HashMap<String, Call>,
    threads: BTreeMap<Who, Thread>,
}

/// To whom a line belongs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Session,
    /// A subagent, by its id.
    Subagent(String),
    /// Subagents of a version that did not distinguish them.
    Nameless,
}

/// The phase of the session at the next line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Before,
    Running,
    /// It was left, and may be resumed in the same file.
    Ended,
}

/// A call without a result yet.
#[derive(Debug)]
struct Call {
    name: String,
    input: Value,
    /// The index of its `PreToolUse` in the list of payloads.
    payload: usize,
    refused: bool,
}

/// The current state of the session or of one of its subagents.
#[derive(Debug, Default)]
struct Thread {
    /// The index of the subagent's `SubagentStart` in the list of payloads.
    start: Option<usize>,
    agent_type: Option<String>,
    /// The last message, while it may be the last of its turn.
    message: Option<Message>,
    /// Whether a stop was blocked in this turn.
    stop_blocked: bool,
}

/// A message of the model, which may span several lines.
#[derive(Debug, Default)]
struct Message {
    id: Option<String>,
    place: PayloadOrigin,
    /// Its last text: what hooks receive, although there may be more.
    text: String,
    calls: bool,
    /// Whether the model said that its turn ends here; earlier versions did not record that.
    ends_turn: bool,
}

/// Where a payload comes from, and the fields that all payloads have in common.
#[derive(Clone, Debug, Default)]
struct PayloadOrigin {
    line: usize,
    at: Option<Timestamp>,
    common: Object,
}

impl SessionReader {
    fn line(&mut self, line: usize, bytes: &[u8]) {
        if bytes.trim_ascii().is_empty() {
            return;
        }
        match json::read(bytes) {
            Ok(ReadValue { value: Value::Object(fields), .. }) => {
                self.entry(&TranscriptEntry { line, fields });
            }
            Ok(_) => self.problems.push(format!("line {line}: not a JSON object")),
            Err(error) => self.problems.push(format!("line {line}: not valid JSON: {error}")),
        }
    }

    fn entry(&mut self, entry: &TranscriptEntry) {
        let (Some(kind), Some(session_id)) = (entry.text("type"), entry.text("sessionId")) else {
            return;
        };
        self.is_transcript = true;
        self.session_id = Some(session_id.to_owned());
        match kind {
            "user" | "assistant" | "system" | "attachment" | "progress" => {}
            "permission-mode" => {
                return remember(&mut self.permission_mode, entry, "permissionMode");
            }
            // Written whenever a session is left.
            "cost-state" => return self.end(entry),
            _ => return,
        }
        remember(&mut self.cwd, entry, "cwd");
        if !entry.flag("isSidechain") {
            self.begin(entry);
        }
        remember(&mut self.permission_mode, entry, "permissionMode");
        remember(&mut self.prompt_id, entry, "promptId");
        match kind {
            "user" => self.user(entry),
            "assistant" => self.assistant(entry),
            "system" => self.system(entry),
            _ => self.attachment(entry),
        }
    }

    /// Starts the session at its first line, or the first since it was left.
    fn begin(&mut self, entry: &TranscriptEntry) {
        let source = match self.phase {
            Phase::Running => return,
            Phase::Before if entry.has_parent() => "resume",
            Phase::Before => "startup",
            Phase::Ended => "resume",
        };
        self.start(entry, source);
    }

    fn start(&mut self, entry: &TranscriptEntry, source: &str) {
        self.stop(&Who::Session);
        self.phase = Phase::Running;
        self.prompt_id = None;
        self.push(self.place(entry), "SessionStart", json!({"source": source}));
    }

    fn end(&mut self, entry: &TranscriptEntry) {
        if self.phase == Phase::Running {
            self.stop(&Who::Session);
            self.phase = Phase::Ended;
            self.push(self.place(entry), "SessionEnd", json!({}));
        }
    }

    /// Processes a hook's line about the session's start, for which there may be a payload already.
    fn start_told(&mut self, entry: &TranscriptEntry, source: &str) {
        let run = entry.fields.get("attachment").unwrap_or(&Value::Null);
        let run = run.get("toolUseID").and_then(Value::as_str).or(entry.text("toolUseID"));
        if run.is_some() && self.start_told_by.as_deref() == run {
            return;
        }
        self.start_told_by = run.map(str::to_owned);
        match self.last("SessionStart") {
            Some(last) => _ = last.insert("source".to_owned(), source.into()),
            // A session starts up only once, and compactions have their own lines.
            None if matches!(source, "startup" | "compact") => {}
            None => self.start(entry, source),
        }
    }

    fn user(&mut self, entry: &TranscriptEntry) {
        if entry.results().next().is_some() {
            for result in entry.results() {
                self.result(entry, result);
            }
            return;
        }
        let who = who(entry);
        match entry.said() {
            UserLine::StopFeedback => {
                self.stop(&who);
                self.thread(who).stop_blocked = true;
            }
            UserLine::Interruption => self.thread(who).message = None,
            UserLine::Prompt(prompt) if who == Who::Session => self.prompt(entry, &prompt),
            UserLine::Prompt(_) => self.subagent(entry, who),
            UserLine::Summary(summary) if who == Who::Session => self.compacted(entry, &summary),
            UserLine::Command { name, arguments } => self.command(&name, arguments),
            UserLine::Summary(_) | UserLine::Nothing => {}
        }
    }

    fn prompt(&mut self, entry: &TranscriptEntry, prompt: &str) {
        self.stop(&Who::Session);
        self.thread(Who::Session).stop_blocked = false;
        self.push(self.place(entry), "UserPromptSubmit", json!({"prompt": prompt}));
    }

    /// Processes a prompt to a subagent; the first one starts it.
    fn subagent(&mut self, entry: &TranscriptEntry, who: Who) {
        self.stop(&who);
        let next = self.payloads.len();
        let has_name = who != Who::Nameless;
        let thread = self.thread(who);
        thread.stop_blocked = false;
        if has_name && thread.start.is_none() {
            thread.start = Some(next);
            self.push(self.place(entry), "SubagentStart", json!({}));
        }
    }

    fn compacted(&mut self, entry: &TranscriptEntry, summary: &str) {
        if let Some(trigger) = self.compaction.take() {
            let place = self.place(entry);
            self.push(place.clone(), "SessionStart", json!({"source": "compact"}));
            let fields = json!({"trigger": trigger, "compact_summary": summary});
            self.push(place, "PostCompact", fields);
        }
    }

    /// Processes one of the host's own commands, which is recorded after it was carried out.
    fn command(&mut self, name: &str, arguments: String) {
        // A compaction has three payloads, of which the first contained the instructions.
        let (reach, event, field, value) = match name {
            "/clear" => (1, "SessionStart", "source", "clear".to_owned()),
            "/compact" if !arguments.is_empty() => {
                (3, "PreCompact", "custom_instructions", arguments)
            }
            _ => return,
        };
        let mut recent = self.payloads.iter_mut().rev().take(reach).map(|made| &mut made.payload);
        if let Some(payload) = recent.find(|payload| is(payload, event)) {
            payload.insert(field.to_owned(), value.into());
        }
    }

    fn system(&mut self, entry: &TranscriptEntry) {
        if let Some(prompt) = entry.blocked_prompt() {
            return self.prompt(entry, prompt);
        }
        match entry.text("subtype") {
            Some("stop_hook_summary") => self.stop(&who(entry)),
            Some("compact_boundary") if !entry.flag("isSidechain") => {
                self.stop(&Who::Session);
                let trigger =
                    entry.fields.get("compactMetadata").and_then(|told| told.get("trigger"));
                let trigger = trigger.cloned().unwrap_or_default();
                let fields = json!({"trigger": trigger, "custom_instructions": null});
                self.push(self.place(entry), "PreCompact", fields);
                self.compaction = Some(trigger);
            }
            _ => {}
        }
    }

    fn attachment(&mut self, entry: &TranscriptEntry) {
        if let Some(source) = entry.start_source() {
            self.start_told(entry, source);
        }
        if let Some((id, input)) = entry.changed_input()
            && let Some(call) = self.calls.get_mut(id)
        {
            call.input = input;
        }
        if let Some(prompt) = entry.queued_prompt().filter(|_| who(entry) == Who::Session) {
            self.push(self.place(entry), "UserPromptSubmit", json!({"prompt": prompt}));
        }
    }

    fn assistant(&mut self, entry: &TranscriptEntry) {
        let who = who(entry);
        let Some(told) = entry.message() else { return };
        let id = text_of(told, "id").map(str::to_owned);
        let mut message = match self.thread(who.clone()).message.take() {
            Some(last) if id.is_some() && last.id == id => last,
            last => {
                // A message that neither says so nor is followed by a prompt did not end its turn.
                if last.as_ref().is_some_and(|last| last.ends_turn) {
                    self.thread(who.clone()).message = last;
                    self.stop(&who);
                }
                Message { id, ..Message::default() }
            }
        };
        if text_of(told, "model") == Some("<synthetic>") {
            // The host's own message: an error, or that there is nothing to answer.
            return;
        }
        if let Some(agent_type) = entry.text("attributionAgent") {
            self.agent_type(who.clone(), agent_type);
        }
        message.place = self.place(entry);
        for block in entry.blocks() {
            match text_of(block, "type") {
                Some("tool_use") => {
                    message.calls = true;
                    self.call(&message.place, block);
                }
                Some("text") => {
                    text_of(block, "text").unwrap_or_default().trim().clone_into(&mut message.text);
                }
                _ => {}
            }
        }
        let reason = text_of(told, "stop_reason");
        message.calls |= reason == Some("tool_use");
        message.ends_turn |= reason == Some("end_turn");
        self.thread(who).message = Some(message);
    }

    /// Records the type of a subagent, which becomes known only after it has started.
    fn agent_type(&mut self, who: Who, agent_type: &str) {
        let thread = self.thread(who);
        if thread.agent_type.is_none() {
            thread.agent_type = Some(agent_type.to_owned());
            let start = thread.start;
            if let Some(made) = start.and_then(|start| self.payloads.get_mut(start)) {
                // The same position as in other payloads: before the event's name, which is last.
                let place = made.payload.len() - 1;
                json::insert_at(&mut made.payload, place, "agent_type", agent_type.into());
            }
        }
    }

    fn call(&mut self, place: &PayloadOrigin, block: &Object) {
        let (Some(id), Some(name)) = (text_of(block, "id"), text_of(block, "name")) else { return };
        if !self.seen.insert(id.to_owned()) {
            return;
        }
        let input = block.get("input").cloned().unwrap_or_else(|| json!({}));
        let call = Call {
            name: name.to_owned(),
            input: input.clone(),
            payload: self.payloads.len(),
            refused: false,
        };
        let fields = json!({"tool_name": name, "tool_input": input, "tool_use_id": id});
        self.push(place.clone(), "PreToolUse", fields);
        self.calls.insert(id.to_owned(), call);
    }

    fn result(&mut self, entry: &TranscriptEntry, result: &Object) {
        let Some(id) = text_of(result, "tool_use_id") else { return };
        let Some(mut call) = self.calls.remove(id) else { return };
        let fate = entry.fate(result, &call.name);
        call.refused = fate == CallFate::Refused;
        if call.refused {
            // Kept, because it may be retried under the same id.
            self.calls.insert(id.to_owned(), call);
            return;
        }
        let mut fields = json!({"tool_name": call.name, "tool_input": call.input});
        let event = match fate {
            CallFate::Done => {
                let response = entry.tool_response().or(result.get("content"));
                fields["tool_response"] = response.cloned().unwrap_or_default();
                "PostToolUse"
            }
            CallFate::Failed => {
                fields["error"] = entry.error(result).into();
                "PostToolUseFailure"
            }
            CallFate::Denied | CallFate::Refused => return,
        };
        fields["tool_use_id"] = id.into();
        self.push(self.place(entry), event, fields);
    }

    /// Ends the turn of a thread with its last message, if that was meant to be the last.
    fn stop(&mut self, who: &Who) {
        let Some(thread) = self.threads.get_mut(who) else { return };
        let Some(message) = thread.message.take() else { return };
        let event = match who {
            Who::Session => "Stop",
            Who::Subagent(_) => "SubagentStop",
            Who::Nameless => return,
        };
        if message.calls || message.text.is_empty() && !message.ends_turn {
            return;
        }
        let mut fields = json!({"stop_hook_active": thread.stop_blocked});
        if !message.text.is_empty() {
            fields["last_assistant_message"] = message.text.into();
        }
        self.push(message.place, event, fields);
    }

    fn thread(&mut self, who: Who) -> &mut Thread {
        self.threads.entry(who).or_default()
    }

    fn place(&self, entry: &TranscriptEntry) -> PayloadOrigin {
        let who = who(entry);
        let mut common = Object::new();
        let mut put = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                common.insert(name.to_owned(), value.into());
            }
        };
        put("session_id", self.session_id.as_deref());
        put("cwd", self.cwd.as_deref());
        put("prompt_id", self.prompt_id.as_deref());
        put("permission_mode", self.permission_mode.as_deref());
        if let Who::Subagent(id) = &who {
            put("agent_id", Some(id));
            let thread = self.threads.get(&who);
            put("agent_type", thread.and_then(|thread| thread.agent_type.as_deref()));
        }
        PayloadOrigin { line: entry.line, at: entry.at(), common }
    }

    fn push(&mut self, place: PayloadOrigin, event: &str, fields: Value) {
        let mut payload = place.common;
        let absent: &[&str] = match event {
            "SessionStart" | "SubagentStart" | "PostCompact" => &["permission_mode"],
            // Input that leaves or compacts the session has its own id, which is not recorded.
            "SessionEnd" | "PreCompact" => &["permission_mode", "prompt_id"],
            _ => &[],
        };
        for name in absent {
            json::remove(&mut payload, name);
        }
        payload.insert("hook_event_name".to_owned(), event.into());
        if let Value::Object(fields) = fields {
            payload.extend(fields);
        }
        self.payloads.push(TranscriptPayload { line: place.line, at: place.at, payload });
    }

    /// Returns the last payload if it is of this event.
    fn last(&mut self, event: &str) -> Option<&mut Object> {
        let payload = &mut self.payloads.last_mut()?.payload;
        is(payload, event).then_some(payload)
    }

    fn finish(mut self) -> Transcript {
        let threads: Vec<Who> = self.threads.keys().cloned().collect();
        for who in &threads {
            self.stop(who);
        }
        if !self.is_transcript {
            let problem = "not a Claude Code transcript: no line has a `type` and a `sessionId`";
            return Transcript { payloads: Vec::new(), problems: vec![problem.to_owned()] };
        }
        let refused: HashSet<usize> =
            self.calls.values().filter(|call| call.refused).map(|call| call.payload).collect();
        let mut index = 0;
        self.payloads.retain(|_| {
            index += 1;
            !refused.contains(&(index - 1))
        });
        // Stops become known only when something follows them.
        self.payloads.sort_by_key(|made| made.line);
        Transcript { payloads: self.payloads, problems: self.problems }
    }
}

/// Returns whether a payload is of an event.
fn is(payload: &Object, event: &str) -> bool {
    text_of(payload, "hook_event_name") == Some(event)
}

/// Keeps a text of a line, if present.
fn remember(kept: &mut Option<String>, entry: &TranscriptEntry, name: &str) {
    if let Some(text) = entry.text(name) {
        *kept = Some(text.to_owned());
    }
}

fn who(entry: &TranscriptEntry) -> Who {
    match entry.text("agentId") {
        _ if !entry.flag("isSidechain") => Who::Session,
        Some(id) => Who::Subagent(id.to_owned()),
        None => Who::Nameless,
    }
}
