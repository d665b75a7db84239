//! The vocabulary of hook answers: the keys of the open format, and those of the agents whose hooks
//! people have already written.
//!
//! One table says what each key means. A key is read case-insensitively, and with or without `_` or
//! `-`, so that `updatedInput` and `updated_input` are one row.

use anyhook_model::json::{Object, shorten};
use anyhook_model::nearest::{nearest, slip_of};
use anyhook_model::{Decision, Effect, EventKind};
use serde_json::Value;

use super::object::{Fields, Member};

/// A reason longer than this helps no one.
pub(super) const REASON_LIMIT: usize = 16 * 1024;
/// At most this many unknown keys are named.
const UNKNOWN_NAMED: usize = 5;

/// What a key of an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMeaning {
    /// `allow`, `ask` or `deny`, or an object that says so ([`WORDS`] again).
    Effect,
    /// Like [`Self::Effect`], in the words of agents that name an action.
    Action,
    /// A boolean: false denies. Where an agent is about to stop, false lets it stop.
    GoesOn,
    /// A boolean: true denies.
    Stops,
    /// A text: why.
    Reason,
    /// A text: why, if there is a decision; without one, context.
    Message,
    /// A text that makes an agent continue that is about to stop.
    FollowUp,
    /// Fields of the tool's input.
    Input,
    /// Like [`Self::Input`], but only inside `hookSpecificOutput`: elsewhere it is the event's own.
    NestedInput,
    /// A text, or several, for the model.
    Context,
    /// A text for the person.
    Told,
    /// A text for the journal.
    Log,
    /// An object with more of these keys.
    Nested,
    /// Known, and ignored.
    Nothing,
    /// An agent's key for something that hooks of anyhook cannot do.
    CannotDo,
}

impl KeyMeaning {
    /// Returns whether an object with such a key is an answer, wherever it is in a text.
    fn is_telling(self) -> bool {
        self.decides() || matches!(self, Self::Input | Self::Nested)
    }

    /// Returns whether such a key decides.
    fn decides(self) -> bool {
        matches!(self, Self::Effect | Self::Action | Self::GoesOn | Self::Stops)
    }
}

/// A key of an answer.
#[derive(Clone, Copy, Debug)]
pub struct AnswerKey {
    /// The key as it is usually written.
    pub key: &'static str,
    /// What it means.
    pub meaning: KeyMeaning,
    /// Whose key it is.
    pub of: &'static str,
}

const fn word(key: &'static str, meaning: KeyMeaning, of: &'static str) -> AnswerKey {
    AnswerKey { key, meaning, of }
}

/// Every key of an answer. Of several reasons, the first row that has one provides it.
pub const WORDS: [AnswerKey; 56] = [
    word("decision", KeyMeaning::Effect, "open format, Claude Code, Gemini CLI"),
    word("permissionDecision", KeyMeaning::Effect, "Claude Code, Copilot"),
    word("permission", KeyMeaning::Effect, "Cursor"),
    word("behavior", KeyMeaning::Effect, "Claude Code, Copilot"),
    word("action", KeyMeaning::Action, "Amp"),
    word("continue", KeyMeaning::GoesOn, "Claude Code, Gemini CLI, Cursor"),
    word("cancel", KeyMeaning::Stops, "Cline"),
    word("halt", KeyMeaning::Stops, "Crush"),
    word("block", KeyMeaning::Stops, "plugins"),
    word("reason", KeyMeaning::Reason, "open format, Claude Code, Gemini CLI"),
    word("permissionDecisionReason", KeyMeaning::Reason, "Claude Code, Copilot"),
    word("agentMessage", KeyMeaning::Reason, "Cursor"),
    word("errorMessage", KeyMeaning::Reason, "Cline"),
    word("stopReason", KeyMeaning::Reason, "Claude Code, Gemini CLI"),
    word("followupMessage", KeyMeaning::FollowUp, "Cursor"),
    word("message", KeyMeaning::Message, "Claude Code, Copilot, Kimi"),
    word("userMessage", KeyMeaning::Told, "Cursor"),
    word("systemMessage", KeyMeaning::Told, "Claude Code, Gemini CLI"),
    word("modified_input", KeyMeaning::Input, "open format"),
    word("updatedInput", KeyMeaning::Input, "Claude Code, Codex, Cursor, Crush"),
    word("modifiedArgs", KeyMeaning::Input, "Copilot"),
    word("overrideInput", KeyMeaning::Input, "Cline"),
    word("tool_input", KeyMeaning::NestedInput, "Gemini CLI"),
    word("additional_context", KeyMeaning::Context, "open format, Claude Code, Cursor"),
    word("contextModification", KeyMeaning::Context, "Cline"),
    word("context", KeyMeaning::Context, "Cline, Crush"),
    word("log", KeyMeaning::Log, "open format"),
    word("hookSpecificOutput", KeyMeaning::Nested, "Claude Code, Codex, Gemini CLI"),
    word("hookEventName", KeyMeaning::Nothing, "Claude Code"),
    word("suppressOutput", KeyMeaning::Nothing, "Claude Code, Gemini CLI"),
    word("version", KeyMeaning::Nothing, "Crush"),
    word("interrupt", KeyMeaning::CannotDo, "Claude Code, Copilot"),
    word("updatedPermissions", KeyMeaning::CannotDo, "Claude Code"),
    word("updatedToolOutput", KeyMeaning::CannotDo, "Claude Code"),
    word("updatedMCPToolOutput", KeyMeaning::CannotDo, "Claude Code, Cursor"),
    word("modifiedResult", KeyMeaning::CannotDo, "Copilot"),
    word("modifiedResponse", KeyMeaning::CannotDo, "Copilot"),
    word("modifiedPrompt", KeyMeaning::CannotDo, "Copilot"),
    word("modifiedTransformedPrompt", KeyMeaning::CannotDo, "Copilot"),
    word("suppressOriginalPrompt", KeyMeaning::CannotDo, "Claude Code"),
    word("initialUserMessage", KeyMeaning::CannotDo, "Claude Code"),
    word("sessionTitle", KeyMeaning::CannotDo, "Claude Code"),
    word("watchPaths", KeyMeaning::CannotDo, "Claude Code"),
    word("reloadSkills", KeyMeaning::CannotDo, "Claude Code"),
    word("classifierContext", KeyMeaning::CannotDo, "Claude Code"),
    word("terminalSequence", KeyMeaning::CannotDo, "Claude Code"),
    word("async", KeyMeaning::CannotDo, "Claude Code"),
    word("asyncTimeout", KeyMeaning::CannotDo, "Claude Code"),
    word("retry", KeyMeaning::CannotDo, "Claude Code"),
    word("clearContext", KeyMeaning::CannotDo, "Gemini CLI"),
    word("tailToolCallRequest", KeyMeaning::CannotDo, "Gemini CLI"),
    word("llm_request", KeyMeaning::CannotDo, "Gemini CLI"),
    word("llm_response", KeyMeaning::CannotDo, "Gemini CLI"),
    word("env", KeyMeaning::CannotDo, "Cursor"),
    word("review", KeyMeaning::CannotDo, "Cline"),
    word("synthesize", KeyMeaning::CannotDo, "Amp"),
];

/// A deny in each of the dialects, for tests.
pub const DENIES: [&str; 13] = [
    r#"{"decision": "deny", "reason": "no"}"#,
    r#"{"decision": "block", "reason": "no"}"#,
    r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}}"#,
    r#"{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "no"}}}"#,
    r#"{"hookSpecificOutput": {"hookEventName": "Stop", "decision": "block", "reason": "no"}}"#,
    r#"{"permissionDecision": "deny", "permissionDecisionReason": "no"}"#,
    r#"{"behavior": "deny", "message": "no", "interrupt": true}"#,
    r#"{"permission": "deny", "user_message": "not shown to the model", "agent_message": "no"}"#,
    r#"{"permission": "deny", "userMessage": "no"}"#,
    r#"{"continue": false, "stopReason": "no"}"#,
    r#"{"cancel": true, "errorMessage": "no", "contextModification": ""}"#,
    r#"{"version": 1, "halt": true, "reason": "no"}"#,
    r#"{"action": "reject-and-continue", "message": "no"}"#,
];

/// Returns the row of a key, and its index in the table.
fn find(key: &str) -> Option<(usize, &'static AnswerKey)> {
    WORDS.iter().enumerate().find(|(_, word)| is_same_key(word.key, key))
}

/// Returns whether two keys are the same except for case, `_` and `-`.
pub(super) fn is_same_key(one: &str, other: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = u8> {
        let bytes = text.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        bytes.map(|byte| byte.to_ascii_lowercase())
    }
    letters(one).eq(letters(other))
}

/// Returns whether an object that begins with this key is an answer, wherever it is in a text.
pub(super) fn is_telling_key(key: &str) -> bool {
    find(key).is_some_and(|(_, word)| word.meaning.is_telling())
}

/// What one object of a hook's output says.
#[derive(Debug, Default)]
pub(super) struct ObjectAnswer {
    /// What it decides; for an object that cannot be used, only a deny.
    pub decision: Decision,
    /// What the person is told.
    pub told: Option<String>,
    /// Why it cannot be used.
    pub failure: Option<String>,
    /// Additional notes.
    pub notes: Vec<String>,
    /// Whether it is certainly an answer, and not an object with another purpose.
    pub is_telling: bool,
}

/// Reads what an object says at an event.
pub(super) fn read(fields: Fields, kind: &EventKind) -> ObjectAnswer {
    let is_empty = fields.is_empty();
    let mut reading = ObjectReader { is_stop: is_stop(kind), ..ObjectReader::default() };
    reading.fields(fields, false);
    reading.finish(is_empty)
}

/// Returns whether an agent is about to stop at this event, so that a block makes it continue.
fn is_stop(kind: &EventKind) -> bool {
    matches!(kind, EventKind::BeforeStop | EventKind::SubagentStop)
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "what was seen so far, each a yes or no")]
struct ObjectReader {
    is_stop: bool,
    effect: Option<Effect>,
    /// Reasons, with their index in the table.
    reasons: Vec<(usize, String)>,
    messages: Vec<String>,
    told: Vec<String>,
    context: Vec<String>,
    input: Option<Object>,
    log: Option<String>,
    /// Whether there is a known key that says something.
    is_known: bool,
    is_telling: bool,
    /// Whether there is a key that decides, though it may decide nothing (`continue: true`).
    has_verdict: bool,
    is_event: bool,
    wrong: Vec<String>,
    unknown: Vec<String>,
    /// Whether one of these has a value that decides: true, false, or a word such as `deny`.
    unknown_decides: bool,
    cannot_do: Vec<&'static str>,
    notes: Vec<String>,
}

impl ObjectReader {
    fn fields(&mut self, fields: Fields, nested: bool) {
        for (key, member) in fields {
            match member {
                Member::Nested(inner) if find(&key).is_some_and(|(_, w)| w.is_nested()) => {
                    self.is_known = true;
                    self.is_telling = true;
                    self.fields(inner, true);
                }
                Member::Nested(inner) => {
                    let inner = inner.into_iter().map(|(key, value)| (key, value.into_value()));
                    self.field(&key, Value::Object(inner.collect()), nested);
                }
                Member::Value(value) => self.field(&key, value, nested),
            }
        }
    }

    fn field(&mut self, key: &str, value: Value, nested: bool) {
        let Some((row, word)) = find(key) else {
            self.is_event |= matches!(key, "event_type" | "hook_event_name");
            // Copilot's scripts report their progress on lines of their own.
            if key == "type" && value.as_str() == Some("progress") {
                self.is_known = true;
            } else {
                self.unknown_decides |= match &value {
                    Value::Bool(_) => true,
                    Value::String(word) => effect(word).is_some(),
                    Value::Object(inner) => inner.keys().any(|key| is_telling_key(key)),
                    _ => false,
                };
                self.unknown.push(key.to_owned());
            }
            return;
        };
        if word.meaning == KeyMeaning::NestedInput && !nested {
            self.unknown.push(key.to_owned());
            return;
        }
        if word.meaning == KeyMeaning::CannotDo {
            if !matches!(value, Value::Null | Value::Bool(false)) {
                self.cannot_do.push(word.key);
            }
            return;
        }
        self.is_known = true;
        if value.is_null() {
            return;
        }
        self.is_telling |= word.meaning.is_telling();
        self.has_verdict |= word.meaning.decides();
        self.take(key, row, word.meaning, value);
    }

    fn take(&mut self, key: &str, row: usize, meaning: KeyMeaning, value: Value) {
        match (meaning, value) {
            (KeyMeaning::Effect, Value::Object(inner)) => {
                let decides = |key: &String| find(key).is_some_and(|(_, w)| w.meaning == meaning);
                if !inner.keys().any(decides) {
                    self.wrong.push(format!("`{key}` is an object without a decision"));
                }
                for (key, value) in inner {
                    self.field(&key, value, true);
                }
            }
            (KeyMeaning::Effect, Value::String(word)) => match effect(&word) {
                Some(effect) => self.decide(effect),
                None => self.unknown_value(key, &word),
            },
            (KeyMeaning::Action, Value::String(word)) => match action(&word, self.is_stop) {
                Some(effect) => self.decide(effect),
                None => self.unknown_value(key, &word),
            },
            (KeyMeaning::GoesOn, Value::Bool(false)) if self.is_stop => {
                self.notes.push(format!("`{key}: false` lets the agent stop"));
            }
            (KeyMeaning::GoesOn, Value::Bool(goes_on)) => {
                self.decide((!goes_on).then_some(Effect::Deny));
            }
            (KeyMeaning::Stops, Value::Bool(stops)) => self.decide(stops.then_some(Effect::Deny)),
            (KeyMeaning::Reason, Value::String(text)) => self.reasons.push((row, text)),
            (KeyMeaning::FollowUp, Value::String(text)) => {
                if self.is_stop {
                    self.decide(Some(Effect::Deny));
                }
                self.reasons.push((row, text));
            }
            (KeyMeaning::Message, Value::String(text)) => self.messages.push(text),
            (KeyMeaning::Told, Value::String(text)) => self.told.push(text),
            (KeyMeaning::Log, Value::String(text)) => self.log = Some(text),
            (KeyMeaning::Context, Value::String(text)) => self.context.push(text),
            // Crush accepts several.
            (KeyMeaning::Context, Value::Array(texts))
                if key == "context" && texts.iter().all(Value::is_string) =>
            {
                self.context.extend(texts.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            (KeyMeaning::Input | KeyMeaning::NestedInput, Value::Object(input)) => {
                self.input = Some(input);
            }
            (KeyMeaning::Nothing, _) => {}
            (meaning, value) => self.wrong_type(key, meaning, &value),
        }
    }

    /// The strongest effect wins: of contradicting keys a deny wins.
    fn decide(&mut self, effect: Option<Effect>) {
        self.effect = self.effect.max(effect);
    }

    fn unknown_value(&mut self, key: &str, word: &str) {
        let known = ["allow", "deny", "ask", "block", "approve"];
        let hint = nearest(&word.to_ascii_lowercase(), known.into_iter())
            .map_or("use allow, ask or deny".to_owned(), |near| format!("did you mean {near}?"));
        let value = Value::from(shorten(word, 100));
        self.wrong.push(format!("unknown {key} {value}; {hint}"));
    }

    fn wrong_type(&mut self, key: &str, meaning: KeyMeaning, value: &Value) {
        let wanted = match meaning {
            KeyMeaning::Effect | KeyMeaning::Action => {
                let value = shorten(&value.to_string(), 100);
                return self.wrong.push(format!("unknown {key} {value}; use allow, ask or deny"));
            }
            KeyMeaning::GoesOn | KeyMeaning::Stops => "true or false",
            KeyMeaning::Input | KeyMeaning::NestedInput | KeyMeaning::Nested => "an object",
            _ => "a string",
        };
        self.wrong.push(format!("`{key}` must be {wanted}"));
    }

    fn finish(mut self, is_empty: bool) -> ObjectAnswer {
        let is_denied = self.effect == Some(Effect::Deny);
        self.judge_unknown_keys(is_empty);
        let is_decided = matches!(self.effect, Some(Effect::Deny | Effect::Ask));
        self.reasons.sort_by_key(|(row, _)| *row);
        let is_text = |text: &String| !text.trim().is_empty();
        let mut reason = self.reasons.into_iter().map(|(_, text)| text).find(is_text);
        if is_decided && reason.is_none() {
            let mut others = self.messages.drain(..).chain(self.told.drain(..));
            reason = others.find(is_text);
        }
        self.context.append(&mut self.messages);
        let text = |texts: Vec<String>| (!texts.is_empty()).then(|| texts.join("\n\n"));
        let decision = Decision {
            effect: self.effect,
            reason: reason.map(|reason| shorten(&reason, REASON_LIMIT)),
            modified_input: self.input.filter(|_| !is_denied),
            additional_context: text(self.context),
            log: self.log,
        };
        let told = text(self.told);
        let is_telling = self.is_telling;
        if is_denied {
            // A deny counts whatever is wrong with the rest.
            self.notes.append(&mut self.wrong);
        }
        if self.wrong.is_empty() {
            return ObjectAnswer { decision, told, failure: None, notes: self.notes, is_telling };
        }
        let failure = format!("invalid output: {}", self.wrong.join("; "));
        ObjectAnswer {
            failure: Some(failure),
            notes: self.notes,
            is_telling,
            ..ObjectAnswer::default()
        }
    }

    /// An unknown key may be what the author meant: next to a decision it is worth a note, without
    /// one it is a fault.
    fn judge_unknown_keys(&mut self, is_empty: bool) {
        let is_decided = self.effect.is_some();
        let known = || WORDS.iter().map(|word| word.key);
        for key in &self.unknown {
            let key = shorten(key, 60);
            let is_slip = |meant: &&str| {
                // Next to an allow, what was meant may be the objection.
                !is_decided || self.effect == Some(Effect::Allow) && is_telling_key(meant)
            };
            match slip_of(&key, known()).filter(is_slip) {
                Some(meant) => {
                    // The author meant to answer.
                    self.is_telling = true;
                    self.wrong.push(format!("unknown key `{key}`; did you mean `{meant}`?"));
                }
                _ if self.notes.len() < UNKNOWN_NAMED => {
                    self.notes.push(format!("unknown key `{key}`"));
                }
                _ => {}
            }
        }
        // A reason without a decision: one of the unknown keys decides.
        let has_message = !self.messages.is_empty() && self.unknown_decides;
        let has_reason = !self.reasons.is_empty() || has_message;
        let has_other = self.input.is_some() || !self.context.is_empty() || self.log.is_some();
        let decides_nothing = !self.has_verdict && !has_other && self.wrong.is_empty();
        if has_reason
            && decides_nothing
            && let Some(key) = self.unknown.first()
        {
            let key = shorten(key, 60);
            self.wrong.push(format!(
                "it gives a reason but no decision, and the key `{key}` is unknown; write `decision`"
            ));
        }
        let says_something = is_decided || self.input.is_some() || !self.context.is_empty();
        for key in &self.cannot_do {
            let words = format!("`{key}` is not supported by anyhook");
            if says_something { &mut self.notes } else { &mut self.wrong }.push(words);
        }
        if self.is_event && !is_decided {
            self.wrong.push("this is an event, not an answer".to_owned());
        } else if !self.is_known && !is_empty && self.wrong.is_empty() {
            let mut keys: Vec<String> = self.unknown.iter().map(|key| shorten(key, 60)).collect();
            keys.truncate(UNKNOWN_NAMED);
            self.wrong.push(format!("the object has no known keys (`{}`)", keys.join("`, `")));
        }
    }
}

impl AnswerKey {
    fn is_nested(&self) -> bool {
        self.meaning == KeyMeaning::Nested
    }
}

/// Parses the word for a decision; the outer option says whether it is one.
#[expect(clippy::option_option, reason = "a known word may decide nothing")]
fn effect(word: &str) -> Option<Option<Effect>> {
    match word.trim().to_ascii_lowercase().as_str() {
        "approve" => Some(Some(Effect::Allow)),
        // Claude Code's word for leaving the decision to the next.
        "defer" => Some(None),
        word => Effect::from_word(word).map(Some),
    }
}

/// Parses the word for an action; the outer option says whether it is one.
#[expect(clippy::option_option, reason = "a known word may decide nothing")]
fn action(word: &str, is_stop: bool) -> Option<Option<Effect>> {
    match word.trim().to_ascii_lowercase().as_str() {
        "reject" | "reject-and-continue" | "error" => Some(Some(Effect::Deny)),
        // In this dialect it means that a person is asked.
        "approve" => Some(Some(Effect::Ask)),
        "continue" => Some(is_stop.then_some(Effect::Deny)),
        word => Effect::from_word(word).map(Some),
    }
}
