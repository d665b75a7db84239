//! Parses one line of a transcript.

use anyhook_model::json::Object;
use jiff::Timestamp;
use serde_json::Value;

/// One line.
#[derive(Debug)]
pub(in crate::claude_code) struct TranscriptEntry {
    /// Its number, starting at 1.
    pub line: usize,
    pub fields: Object,
}

/// Prefixes of text written by the host or one of its commands, where no field of the line says so.
const WRITTEN_BY_HOST: [&str; 4] =
    ["<local-command-", "<bash-", "<user-memory-input>", "<system-reminder>"];

/// What a user's line without a tool result contains.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::claude_code) enum UserLine {
    /// A prompt, as it was typed.
    Prompt(String),
    /// The summary of the conversation after a compaction.
    Summary(String),
    /// A stop was blocked, and this is the reason.
    StopFeedback,
    /// A person interrupted the turn.
    Interruption,
    /// A command that the host carried out itself.
    Command { name: String, arguments: String },
    /// Something that the host or one of its commands wrote.
    Nothing,
}

/// The result of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::claude_code) enum CallFate {
    Done,
    Failed,
    /// A hook, a rule or a person did not allow it, or a person interrupted it.
    Denied,
    /// The host rejected it before it asked any hook: no such tool, or an input it does not accept.
    Refused,
}

impl TranscriptEntry {
    /// Returns a text of the line; an empty text counts as absent.
    pub fn text(&self, name: &str) -> Option<&str> {
        text_of(&self.fields, name)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.fields.get(name) == Some(&Value::Bool(true))
    }

    pub fn at(&self) -> Option<Timestamp> {
        self.text("timestamp")?.parse().ok()
    }

    /// Returns whether it was preceded by something that is in another file.
    pub fn has_parent(&self) -> bool {
        self.text("parentUuid").or(self.text("logicalParentUuid")).is_some()
    }

    pub fn message(&self) -> Option<&Object> {
        self.fields.get("message")?.as_object()
    }

    /// Returns the blocks of the message's content, unless it is plain text.
    pub fn blocks(&self) -> impl Iterator<Item = &Object> {
        let content = self.message().and_then(|message| message.get("content"));
        content.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
    }

    /// Returns the tool results in the line.
    pub fn results(&self) -> impl Iterator<Item = &Object> {
        self.blocks().filter(|block| text_of(block, "type") == Some("tool_result"))
    }

    /// Returns what the tool returned to the host; `None` if the line has several results.
    pub fn tool_response(&self) -> Option<&Value> {
        let response = self.fields.get("toolUseResult").filter(|value| !value.is_null())?;
        (self.results().count() == 1).then_some(response)
    }

    /// Returns how the session was started, if this line was written by one of its start hooks.
    pub fn start_source(&self) -> Option<&str> {
        let written = ["attachment", "data"].into_iter().find_map(|name| self.fields.get(name))?;
        written.get("hookName")?.as_str()?.strip_prefix("SessionStart:")
    }

    /// Returns what a user's line contains.
    pub fn said(&self) -> UserLine {
        let content = self.message().and_then(|message| message.get("content"));
        let text = content.map(plain_text).unwrap_or_default();
        if self.flag("isCompactSummary") {
            return UserLine::Summary(text);
        }
        // Later versions record who wrote a prompt; no other line has that field.
        if self.text("promptSource").is_some() {
            return UserLine::Prompt(text);
        }
        if text.starts_with("Stop hook feedback:") {
            return UserLine::StopFeedback;
        }
        if self.flag("isMeta") || self.flag("isVisibleInTranscriptOnly") || text.is_empty() {
            return UserLine::Nothing;
        }
        if text.starts_with("[Request interrupted by user") {
            return UserLine::Interruption;
        }
        let command = || {
            let name = between(&text, "<command-name>", "</command-name>")?;
            let arguments = between(&text, "<command-args>", "</command-args>").unwrap_or_default();
            Some((name.to_owned(), arguments.to_owned()))
        };
        // For commands that the host carries out itself the name comes first, for those that it
        // passes on the message.
        if text.starts_with("<command-name>") {
            let (name, arguments) = command().unwrap_or_default();
            return UserLine::Command { name, arguments };
        }
        if text.starts_with("<command-message>")
            && let Some((name, arguments)) = command()
        {
            return UserLine::Prompt(format!("{name} {arguments}").trim_end().to_owned());
        }
        if WRITTEN_BY_HOST.into_iter().any(|start| text.starts_with(start)) {
            return UserLine::Nothing;
        }
        UserLine::Prompt(text)
    }

    /// Returns the prompt that a hook blocked, if the line reports one.
    pub fn blocked_prompt(&self) -> Option<&str> {
        let told =
            self.text("content")?.strip_prefix("UserPromptSubmit operation blocked by hook")?;
        Some(told.split_once("\n\nOriginal prompt: ")?.1)
    }

    /// Returns what was typed while the agent was working and passed to it in the same turn.
    pub fn queued_prompt(&self) -> Option<String> {
        let queued = self.fields.get("attachment")?.as_object()?;
        let is_prompt = text_of(queued, "type") == Some("queued_command")
            && text_of(queued, "commandMode").is_none_or(|mode| mode == "prompt");
        let prompt = queued.get("prompt").filter(|_| is_prompt).map(plain_text)?;
        Some(prompt).filter(|prompt| !prompt.is_empty())
    }

    /// Returns the input as changed by a hook, and the call's id.
    pub fn changed_input(&self) -> Option<(&str, Value)> {
        let attachment = self.fields.get("attachment")?.as_object()?;
        if text_of(attachment, "hookEvent") != Some("PreToolUse") {
            return None;
        }
        let printed: Value = serde_json::from_str(text_of(attachment, "stdout")?).ok()?;
        let input = printed
            .get("hookSpecificOutput")?
            .get("updatedInput")
            .filter(|input| input.is_object())?;
        Some((text_of(attachment, "toolUseID")?, input.clone()))
    }

    /// Returns the result of a call, according to one of this line's results.
    pub fn fate(&self, result: &Object, tool: &str) -> CallFate {
        if result.get("is_error") != Some(&Value::Bool(true)) {
            return CallFate::Done;
        }
        let decision = self.fields.get("permissionDecision").and_then(|told| told.get("decision"));
        if self.text("toolDenialKind").is_some() || decision.is_some_and(|told| told == "reject") {
            return CallFate::Denied;
        }
        if decision.is_some() {
            return CallFate::Failed;
        }
        // Earlier versions say so only in the text for the model.
        let told = result.get("content").map(plain_text).unwrap_or_default();
        if told.starts_with("<tool_use_error>") {
            CallFate::Refused
        } else if tells_of_denial(&told, tool) {
            CallFate::Denied
        } else {
            CallFate::Failed
        }
    }

    /// Returns the error of a result as a hook receives it.
    pub fn error(&self, result: &Object) -> String {
        match self.tool_response().and_then(Value::as_str) {
            // The text for the model may end with a hint.
            Some(error) => error.strip_prefix("Error: ").unwrap_or(error).to_owned(),
            None => result.get("content").map(plain_text).unwrap_or_default(),
        }
    }
}

fn tells_of_denial(told: &str, tool: &str) -> bool {
    const STARTS: [&str; 5] = [
        "The user doesn't want to",
        "Claude requested permissions to ",
        "This command requires approval",
        "Hook PreToolUse:",
        "[Request interrupted by user",
    ];
    STARTS.into_iter().any(|start| told.starts_with(start))
        || told.starts_with("PreToolUse:") && told.contains(" hook error")
        || told.starts_with("Permission to use ") && told.contains(" has been denied")
        || told.contains(" was blocked. For security, Claude Code may only ")
        || told
            .strip_prefix(tool)
            .is_some_and(|told| told.starts_with(" operation blocked by hook"))
}

/// Returns a text of an object; an empty text counts as absent.
pub(in crate::claude_code) fn text_of<'object>(
    object: &'object Object,
    name: &str,
) -> Option<&'object str> {
    object.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the text of a content: the text itself, or its text blocks.
fn plain_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks
        .filter(|block| block.get("type").is_some_and(|kind| kind == "text"))
        .filter_map(|block| block.get("text")?.as_str())
        .collect();
    texts.join("\n")
}

fn between<'text>(text: &'text str, open: &str, close: &str) -> Option<&'text str> {
    Some(text.split_once(open)?.1.split_once(close)?.0)
}
