//! Events as hooks see them, and their JSON in the specifications' spelling, spacing and key order.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::derived::Derived;
use crate::file_path::{CallForms, FilePath, LazyForms};
use crate::host::ForeignEntry;
use crate::json::{self, Object};
use crate::kind::{EventKind, Spelling};
use crate::tools;

/// Something an agent is about to do, or has done.
///
/// It has no id. Ids belong to the journal: one payload may contain several events, and what people
/// look up is the dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The host it came from, such as `agent-hooks` or `claude-code`.
    pub host: String,
    /// The host's own name for the event, if it has one.
    pub native_name: Option<String>,
    /// The host's session, if reported.
    pub session: Option<String>,
    /// Which agent of the session, if the host distinguishes subagents.
    pub agent: Option<String>,
    /// Whose entry was called and who ran it, if those are two agents; the engine fills it in.
    pub foreign_entry: Option<Box<ForeignEntry>>,
    /// The id of our own reason that a prompt merely repeats, if it ends with one.
    pub repeats: Option<String>,
    /// Where the agent works.
    pub work_dir: PathBuf,
    /// The project folder, if the host reported it; the engine fills in the pinned one.
    pub project_dir: Option<PathBuf>,
    /// The user's home folder, for paths that begin with `~`; the engine fills it in.
    pub home: Option<PathBuf>,
    /// When it happened.
    pub at: Timestamp,
    /// The tool call, on tool events.
    pub tool: Option<ToolCall>,
    /// Why it is uncertain which call it is, if it is.
    pub doubt: Option<CallDoubt>,
    /// The event's own fields (see [`EventKind::own_fields`]), except those of the tool call.
    pub data: Object,
    /// Other fields of the host, unchanged.
    pub raw: Object,
    /// The specifications' `context` object.
    pub context: Object,
}

/// A tool call in canonical names, along with the host's own form of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The canonical tool name, such as `Shell`.
    pub name: String,
    /// Further canonical names under which matchers find it: see [`crate::tools::also_known_as`].
    pub also: &'static [&'static str],
    /// The input with canonical field names.
    pub input: Value,
    /// The host's id of the call.
    pub use_id: Option<String>,
    /// Every file the call would touch, as far as that is certain: a list of paths as the call
    /// names them, or null.
    pub files: Value,
    /// These paths in all their forms; computed by the engine.
    pub forms: LazyForms,
    /// What the engine finds out about the call.
    pub derived: Derived,
    /// The call in the host's own form.
    pub native: Option<NativeCall>,
    /// Why no hook may change the input, if so.
    pub fixed: Option<&'static str>,
}

/// Why it is uncertain which call an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallDoubt {
    /// The payload was truncated: no hook saw the whole call.
    Cut,
    /// The tool has no readable name: no matcher can decide whether it applies.
    Unnamed,
    /// The event's name is unknown, and it carries a tool call.
    UnknownEvent,
    /// A command that applies a patch changes its folder too often: its files may be anywhere.
    Folders,
    /// An edit is in an unknown format: it may change any file.
    Files,
}

impl std::fmt::Display for CallDoubt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Cut => "the agent's message was truncated",
            Self::Unnamed => "the agent's message does not name the tool",
            Self::UnknownEvent => "the agent's message has an unknown event type",
            Self::Folders => {
                "the command changes its folder too often to tell which files it patches"
            }
            Self::Files => "the edit is in an unknown format, so it may change any file",
        })
    }
}

/// A tool call in the host's own form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NativeCall {
    /// The host's tool name.
    pub tool_name: String,
    /// The host's input.
    pub tool_input: Value,
}

impl ToolCall {
    /// Returns every name of the call: its canonical name, the further ones, and the host's.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let native = self.native.as_ref().map(|native| native.tool_name.as_str());
        std::iter::once(self.name.as_str()).chain(self.also.iter().copied()).chain(native)
    }

    /// Replaces the input; the files of the old one are dropped.
    pub fn change_input(&mut self, input: Object) {
        self.input = Value::Object(input);
        self.also = tools::also_known_as(&self.name, &self.input);
        let names = std::iter::once(self.name.as_str()).chain(self.also.iter().copied());
        let files: Vec<Value> =
            names.flat_map(|name| tools::paths(name, &self.input)).map(Value::from).collect();
        self.files = if files.is_empty() { Value::Null } else { files.into() };
        self.forget_derived();
    }

    /// Forgets what was found out about the call, because it or its location has changed.
    pub fn forget_derived(&mut self) {
        self.forms.forget();
        self.derived = Derived::default();
    }

    /// Sets the id of the call, which links `before_tool` and `after_tool`.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.use_id = Some(id.into());
        self
    }

    /// Creates a call with only a name and an input.
    ///
    /// With the canonical names (`Shell`, `WriteFile`, …) and field names (`command`, `path`, …),
    /// hooks written for other agents match.
    pub fn new(name: &str, input: Value) -> Self {
        Self {
            name: name.to_owned(),
            also: &[],
            input,
            use_id: None,
            files: Value::Null,
            forms: LazyForms::default(),
            derived: Derived::default(),
            native: None,
            fixed: None,
        }
    }
}

impl Event {
    /// Creates an event with only its kind, host, folder and time.
    pub fn new(kind: EventKind, host: &str, work_dir: &Path, at: Timestamp) -> Self {
        Self {
            kind,
            host: host.to_owned(),
            native_name: None,
            session: None,
            agent: None,
            foreign_entry: None,
            repeats: None,
            work_dir: work_dir.to_owned(),
            project_dir: None,
            home: None,
            at,
            tool: None,
            doubt: None,
            data: Object::new(),
            raw: Object::new(),
            context: Object::new(),
        }
    }

    /// Returns the JSON line a script gets on standard input, without the newline.
    pub fn to_json(&self, spelling: Spelling) -> String {
        json::to_spaced(&View { event: self, spelling })
    }

    /// Returns the text that best shows what the event is about: a command, a path, a prompt;
    /// borrowed if it is one of the event's own texts, otherwise its input as JSON.
    pub fn headline(&self) -> Option<Cow<'_, str>> {
        let from_tool = self.tool.as_ref().and_then(|tool| input_headline(tool.input.as_object()?));
        from_tool.or_else(|| {
            ["prompt", "message", "task_description", "exit_reason", "stop_reason"]
                .iter()
                .find_map(|key| self.data.get(*key)?.as_str())
                .map(Cow::Borrowed)
        })
    }

    /// Returns one of the event's own fields; `None` if neither the host nor we know it.
    fn own_field(&self, name: &str) -> Option<FieldValue<'_>> {
        let Some(tool) = &self.tool else {
            return self.data.get(name).map(FieldValue::Json);
        };
        match name {
            // An empty name counts as not given.
            "tool_name" => {
                Some(&tool.name).filter(|name| !name.is_empty()).map(|name| FieldValue::Text(name))
            }
            "tool_input" => Some(FieldValue::Json(&tool.input)),
            "tool_use_id" => tool.use_id.as_deref().map(FieldValue::Text),
            "files" => Some(match tool.forms.get() {
                Some(forms) if !forms.files.is_empty() => FieldValue::Files(forms),
                _ => FieldValue::Json(&tool.files),
            }),
            "native" => tool.native.as_ref().map(FieldValue::Native),
            _ => self.data.get(name).map(FieldValue::Json),
        }
    }
}

/// Returns the text that best shows what a tool is called with, as [`Event::headline`] does.
#[inline]
pub fn input_headline(input: &Object) -> Option<Cow<'_, str>> {
    const TELLING: [&str; 6] = ["command", "path", "file_path", "url", "query", "pattern"];
    let telling = TELLING.iter().find_map(|key| input.get(*key)?.as_str());
    telling.map(Cow::Borrowed).or_else(|| {
        let is_telling = !input.is_empty();
        is_telling.then(|| Cow::Owned(json::to_spaced(input)))
    })
}

/// A borrowed value of an own field, so that a 10 MB input is not copied in order to be written.
#[derive(Serialize)]
#[serde(untagged)]
enum FieldValue<'event> {
    Text(&'event str),
    Json(&'event Value),
    Native(&'event NativeCall),
    #[serde(serialize_with = "listed")]
    Files(&'event CallForms),
}

fn listed<S: Serializer>(forms: &CallForms, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(forms.listed())
}

/// The field with the forms of each file, which follows `files`.
const DETAILS: &str = "file_details";

/// A serializable view of an event in one hook's spelling.
struct View<'event> {
    event: &'event Event,
    spelling: Spelling,
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const BASE: [&str; 5] = ["event_type", "timestamp", "session_id", "work_dir", "context"];
        let event = self.event;
        let own = event.kind.own_fields();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event_type", event.kind.name(self.spelling))?;
        map.serialize_entry("timestamp", &event.at.to_string())?;
        map.serialize_entry("session_id", &event.session)?;
        map.serialize_entry("work_dir", &event.work_dir.to_string_lossy())?;
        for name in own {
            map.serialize_entry(name, &event.own_field(name))?;
            if *name == "files" {
                let files: Option<&[FilePath]> =
                    event.tool.as_ref().and_then(|tool| Some(&*tool.forms.get()?.files));
                if let Some(files) = files.filter(|files| !files.is_empty()) {
                    map.serialize_entry(DETAILS, files)?;
                }
            }
        }
        for (name, value) in &event.raw {
            // The host's field of the same name was already written in its canonical form.
            let is_ours =
                BASE.contains(&name.as_str()) || (name == DETAILS && event.tool.is_some());
            if !own.contains(&name.as_str()) && !is_ours {
                map.serialize_entry(name, value)?;
            }
        }
        map.serialize_entry("context", &event.context)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: EventKind) -> Event {
        Event::new(kind, "agent-hooks", Path::new("/p"), "2024-01-15T10:30:00Z".parse().unwrap())
    }

    #[test]
    fn keys_in_the_order_of_the_specifications() {
        let mut event = event(EventKind::BeforeTool);
        event.session = Some("sess-abc123".to_owned());
        let call = ToolCall::new("Shell", json!({"command": "rm -rf /tmp"}));
        event.tool = Some(ToolCall { use_id: Some("tool_123".to_owned()), ..call });
        event.raw.insert("turn".to_owned(), json!(3));
        event.raw.insert("tool_name".to_owned(), json!("never twice"));
        assert_eq!(
            event.to_json(Spelling::Alias),
            r#"{"event_type": "pre-tool-call", "timestamp": "2024-01-15T10:30:00Z", "session_id": "sess-abc123", "work_dir": "/p", "tool_name": "Shell", "tool_input": {"command": "rm -rf /tmp"}, "tool_use_id": "tool_123", "files": null, "native": null, "turn": 3, "context": {}}"#
        );
    }

    #[test]
    fn what_is_not_told_is_null() {
        assert_eq!(
            event(EventKind::BeforeStop).to_json(Spelling::Canonical),
            r#"{"event_type": "before_stop", "timestamp": "2024-01-15T10:30:00Z", "session_id": null, "work_dir": "/p", "stop_reason": null, "step_count": null, "final_message": null, "context": {}}"#
        );
    }

    #[test]
    fn the_headline_is_what_a_person_looks_for() {
        let mut shown = event(EventKind::BeforeAgent);
        shown.data.insert("prompt".to_owned(), json!("hello"));
        assert_eq!(shown.headline().as_deref(), Some("hello"));
        assert_eq!(event(EventKind::SessionStart).headline(), None);
    }
}
