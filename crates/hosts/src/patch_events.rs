//! A patch as events: one for each file it touches.

use anyhook_model::Event;
use anyhook_model::ToolCall;
use anyhook_model::event::NativeCall;
use anyhook_model::file_path::LazyForms;
use serde_json::{Value, json};

use crate::patch::{self, FileChange};

/// Why no hook may change a patch: it is one call, and several events.
const FIXED: &str = "it is a patch, which can be denied but not rewritten";

/// Splits the event of a patch call into one for each file; a patch that names none stays whole.
pub fn split(event: Event, patch_field: &str) -> Vec<Event> {
    let Some(tool) = &event.tool else { return vec![event] };
    let text = tool.input.get(patch_field).and_then(Value::as_str).unwrap_or_default();
    let changes = patch::read(text);
    if changes.is_empty() {
        let mut whole = event;
        if let Some(tool) = &mut whole.tool {
            tool.fixed = Some(FIXED);
        }
        return vec![whole];
    }
    let mut events = Vec::with_capacity(changes.len().min(EVENTS_LIMIT));
    add_changes(&mut events, &event, changes, true);
    events
}

/// Adds the events of changes; if there are too many, the rest are put together.
fn add_changes(events: &mut Vec<Event>, event: &Event, changes: Vec<FileChange>, is_patch: bool) {
    for (name, input, files) in changes.into_iter().flat_map(canonical) {
        if events.len() >= EVENTS_LIMIT
            && let Some(same) = events
                .iter_mut()
                .rev()
                .filter_map(|event| event.tool.as_mut())
                .find(|tool| tool.name == name)
        {
            add_file(same, input, files);
            continue;
        }
        let mut part = event_of(event, is_patch && events.is_empty());
        if let Some(tool) = &mut part.tool {
            name.clone_into(&mut tool.name);
            tool.input = input;
            tool.files = files.into();
            tool.fixed = Some(FIXED);
        }
        events.push(part);
    }
}

/// Adds to the event of a shell command those of the files that a patch in it touches: the command
/// is both. One without a patch stays as it is.
///
/// Agents take `apply_patch <<'EOF'` in a command for a patch and start no shell.
pub fn of_shell(mut event: Event) -> Vec<Event> {
    let Some(tool) = event.tool.as_mut().filter(|tool| tool.names().any(|name| name == "Shell"))
    else {
        return vec![event];
    };
    let found = tool.input.get("command").and_then(|command| match command {
        Value::String(text) => patch_in(text),
        Value::Array(words) => words.iter().filter_map(Value::as_str).find_map(patch_in),
        _ => None,
    });
    let Some(changes) = found else { return vec![event] };
    tool.fixed = Some(FIXED);
    let mut about_files = event_of(&event, false);
    // What a command printed is in its own event; it would be there as often as there are files.
    about_files.data.shift_remove("tool_output");
    let mut events = vec![event];
    add_changes(&mut events, &about_files, changes, false);
    events
}

/// Returns what a patch in a command does, if there is one.
fn patch_in(command: &str) -> Option<Vec<FileChange>> {
    let start = ["apply_patch", "applypatch"].iter().filter_map(|name| command.find(name)).min()?;
    let (before, patch) = command.split_at(start);
    // A header may follow a quote, and lines may be written as `\n`.
    let mut text = patch.replace("'*** ", "\n*** ").replace("\"*** ", "\n*** ");
    if text.contains("\\n*** ") {
        text = text.replace("\\n", "\n");
    }
    let mut changes = patch::read(&text);
    let folder = changed_folder(before);
    for change in &mut changes {
        match change {
            FileChange::Add { path, .. }
            | FileChange::Update { path, .. }
            | FileChange::Delete { path } => *path = join(&folder, path),
            FileChange::Move { path, to, .. } => {
                *path = join(&folder, path);
                *to = join(&folder, to);
            }
        }
    }
    (!changes.is_empty()).then_some(changes)
}

/// Returns the folder that a command has changed to by `cd`, as far as its text tells.
fn changed_folder(command: &str) -> String {
    let mut folder = String::new();
    for (at, _) in command.match_indices("cd ") {
        let is_word = !command[..at].ends_with(|letter: char| {
            letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/')
        });
        let rest = command[at + 3..].trim_start();
        let rest = rest.strip_prefix("-- ").unwrap_or(rest).trim_start();
        let word = match rest.strip_prefix(['\'', '"']) {
            Some(quoted) => quoted.split(['\'', '"']).next(),
            None => rest.split([' ', '\t', '\n', ';', '&', '|', ')', '\'', '"']).next(),
        };
        // Only a shell knows what a variable holds.
        if let Some(word) = word.filter(|word| is_word && !word.contains(['$', '`'])) {
            folder = join(&folder, word);
        }
    }
    folder
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') {
        return path.to_owned();
    }
    [folder, path].join("/")
}

/// A patch of more files than this puts the rest together, by what happens to them.
const EVENTS_LIMIT: usize = 200;

/// Returns the event for one file. Only the first carries the whole patch: it would be there as
/// often as there are files.
fn event_of(event: &Event, is_first: bool) -> Event {
    if is_first {
        return event.clone();
    }
    let native = event.tool.as_ref().and_then(|tool| tool.native.as_ref());
    let native = native
        .map(|native| NativeCall { tool_name: native.tool_name.clone(), tool_input: Value::Null });
    let tool = event.tool.as_ref().map(|tool| ToolCall {
        name: String::new(),
        also: &[],
        input: Value::Null,
        forms: LazyForms::default(),
        use_id: tool.use_id.clone(),
        files: Value::Null,
        native,
        fixed: Some(FIXED),
    });
    Event {
        tool,
        native_name: event.native_name.clone(),
        session: event.session.clone(),
        agent: event.agent.clone(),
        project_dir: event.project_dir.clone(),
        data: event.data.clone(),
        ..Event::new(event.kind.clone(), &event.host, &event.work_dir, event.at)
    }
}

/// Puts a further file into the event of others.
fn add_file(tool: &mut ToolCall, input: Value, files: Vec<String>) {
    if let Some(fields) = tool.input.as_object_mut() {
        let more = fields.entry("more").or_insert_with(|| json!([]));
        if let Some(more) = more.as_array_mut() {
            more.push(input);
        }
    }
    if let Some(list) = tool.files.as_array_mut() {
        list.extend(files.into_iter().map(Value::from));
    }
}

/// Returns the calls that a change is: a move also writes its target and deletes its source.
fn canonical(change: FileChange) -> Vec<(&'static str, Value, Vec<String>)> {
    match change {
        FileChange::Add { path, content } => {
            vec![("WriteFile", json!({"path": path, "content": content}), vec![path])]
        }
        FileChange::Update { path, old, new } => {
            vec![("EditFile", json!({"path": path, "old": old, "new": new}), vec![path])]
        }
        FileChange::Delete { path } => vec![("DeleteFile", json!({"path": path}), vec![path])],
        FileChange::Move { path, to, content } => vec![
            ("MoveFile", json!({"path": path, "to": to}), vec![path.clone(), to.clone()]),
            ("WriteFile", json!({"path": to, "content": content}), vec![to]),
            ("DeleteFile", json!({"path": path}), vec![path]),
        ],
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anyhook_model::EventKind;
    use jiff::Timestamp;

    use super::*;

    /// The tools and paths of a command's events.
    fn seen(command: &Value) -> Vec<(String, Value)> {
        let at = Timestamp::UNIX_EPOCH;
        let mut event = Event::new(EventKind::BeforeTool, "codex", Path::new("/p"), at);
        event.tool = Some(ToolCall::new("Shell", json!({"command": command})));
        let tools = of_shell(event).into_iter().map(|event| event.tool.unwrap());
        tools.map(|tool| (tool.name, tool.files)).collect()
    }

    fn file(name: &str, paths: Value) -> (String, Value) {
        (name.to_owned(), paths)
    }

    #[test]
    fn a_patch_in_a_command_is_both() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        let heredoc = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        let shell = || file("Shell", Value::Null);
        for (command, path) in [
            (heredoc.clone(), "a"),
            (format!("cd x && {heredoc}"), "x/a"),
            (format!("cd 'my x' ; cd y\n{heredoc}"), "my x/y/a"),
            (format!("cd /abs; {heredoc}"), "/abs/a"),
            (format!("cd \"$X\" && {heredoc}"), "a"),
            (format!("abcd x; {heredoc}"), "a"),
            (format!("bash -lc \"{heredoc}\""), "a"),
            (format!("apply_patch '{patch}'"), "a"),
            (format!("apply_patch $'{}'", patch.replace('\n', "\\n")), "a"),
            ("applypatch \"*** Delete File: a\n".to_owned(), "a"),
        ] {
            let expected = [shell(), file("DeleteFile", json!([path]))];
            assert_eq!(seen(&command.clone().into()), expected, "{command}");
            assert_eq!(seen(&json!(["bash", "-lc", command])), expected, "{command}");
        }
        for command in ["ls", "apply_patch --help", "echo '*** Delete File: a'"] {
            assert_eq!(seen(&command.into()), [shell()], "{command}");
        }
    }

    #[test]
    fn a_move_writes_its_target_and_deletes_its_source() {
        let patch =
            "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch\n";
        let seen = seen(&format!("apply_patch <<'EOF'\n{patch}EOF").into());
        let expected = [
            file("Shell", Value::Null),
            file("MoveFile", json!(["a", "b"])),
            file("WriteFile", json!(["b"])),
            file("DeleteFile", json!(["a"])),
            file("EditFile", json!(["a"])),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn every_file_of_a_huge_patch_is_seen_in_little_memory() {
        let patch: String = (0..5_000)
            .map(|index| format!("*** Delete File: f{index}\n"))
            .collect::<Vec<_>>()
            .concat();
        let mut event =
            Event::new(EventKind::BeforeTool, "codex", Path::new("/p"), Timestamp::UNIX_EPOCH);
        let native = NativeCall {
            tool_name: "apply_patch".to_owned(),
            tool_input: json!({"command": patch}),
        };
        let call = ToolCall::new("apply_patch", json!({"command": patch}));
        event.tool = Some(ToolCall { native: Some(native), ..call });
        let events = split(event, "command");
        assert_eq!(events.len(), EVENTS_LIMIT);
        let files: usize = events
            .iter()
            .map(|event| event.tool.as_ref().unwrap().files.as_array().unwrap().len())
            .sum();
        assert_eq!(files, 5_000);
    }
}
