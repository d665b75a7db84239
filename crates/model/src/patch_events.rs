//! Splits a patch into events, one for each file it touches.
//!
//! So a guard of a path sees each file, and any deny stops the whole patch. The price: a patch can
//! be denied, but not rewritten.

use serde_json::{Value, json};

use crate::derived::Derived;
use crate::event::{CallDoubt, Event, NativeCall, ToolCall};
use crate::file_path::LazyForms;
use crate::json::any_leaf;
use crate::patch::{self, FileChange};

/// Why no hook may change a patch: it is one call, but several events.
const FIXED: &str = "it is a patch, which can be denied but not rewritten";

/// The beginning of every header of a patch.
const MARK: &str = "*** ";
/// The headers that name a file.
const HEADERS: [&str; 4] =
    ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
/// The names by which agents know the program that applies a patch.
const PROGRAMS: [&str; 2] = ["apply_patch", "applypatch"];

/// Creates an event for each file that a call's patch touches. A call without a patch stays
/// unchanged.
pub fn of_call(event: Event) -> Vec<Event> {
    let Some(tool) = &event.tool else { return vec![event] };
    if tool.name == "apply_patch" {
        return split(event);
    }
    let is_patch = is_patch_tool(&tool.name)
        || (tool.name == "Mcp"
            && tool.native.as_ref().is_some_and(|native| is_patch_tool(&native.tool_name)));
    if is_patch || (has_mark(&tool.input) && tool.names().any(|name| name == "Shell")) {
        return beside(event, is_patch);
    }
    vec![event]
}

/// Returns whether a tool applies patches, judging by its name.
fn is_patch_tool(name: &str) -> bool {
    let Some(start) = name.len().checked_sub("patch".len()) else { return false };
    if !name.as_bytes()[start..].eq_ignore_ascii_case(b"patch") {
        return false;
    }
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    letters == "patch" || letters.ends_with("applypatch")
}

/// Returns whether an input may contain a header of a patch. Hardly any input does.
fn has_mark(input: &Value) -> bool {
    let is_marked = |text: &str| text.contains('*') && text.contains(MARK);
    match input {
        Value::Object(fields) => fields.values().any(|value| match value {
            Value::String(text) => is_marked(text),
            Value::Array(_) | Value::Object(_) => any_leaf(value, &mut |text| is_marked(text)),
            _ => false,
        }),
        _ => any_leaf(input, &mut |text| is_marked(text)),
    }
}

/// Splits the event of a patch tool into one for each file; a patch that names no file stays whole.
fn split(mut event: Event) -> Vec<Event> {
    let Some(tool) = &mut event.tool else { return vec![event] };
    let changes = patch::read(&all_text(&tool.input));
    tool.fixed = Some(FIXED);
    if changes.is_empty() {
        return vec![event];
    }
    if tool.native.is_none() {
        // The parts have other names; a matcher for the tool itself must still see them.
        let (tool_name, tool_input) = (tool.name.clone(), tool.input.clone());
        tool.native = Some(NativeCall { tool_name, tool_input });
    }
    let mut events = Vec::with_capacity(changes.len().min(EVENTS_LIMIT));
    add_changes(&mut events, &event, changes, &|path| vec![path.to_owned()], true);
    events
}

/// Returns an event followed by those of the files that a patch in it touches: the call is both.
///
/// Agents treat `apply_patch <<'EOF'` in a command as a patch and start no shell; in a shell it is
/// a program.
fn beside(mut event: Event, is_tool: bool) -> Vec<Event> {
    let Some(tool) = &mut event.tool else { return vec![event] };
    let text = all_text(&tool.input);
    if !is_tool && !names_program(&text) {
        return vec![event];
    }
    let changes = patch::read(&if is_tool { text.clone() } else { in_lines(&text) });
    if changes.is_empty() {
        return vec![event];
    }
    let (folders, are_all) = folders(&text, &tool.input);
    tool.fixed = Some(FIXED);
    let mut about_files = event_of(&event, false);
    // The output of a command is in its own event; here it would be repeated for every file.
    crate::json::remove(&mut about_files.data, "tool_output");
    let mut events = vec![event];
    let is_heredoc = text.contains("<<");
    let places = |path: &str| places(path, &folders, is_heredoc);
    add_changes(&mut events, &about_files, changes, &places, false);
    if !are_all {
        events[1..].iter_mut().for_each(|part| part.doubt = Some(CallDoubt::Folders));
    }
    events
}

/// Adds the events of changes; if there are too many, the rest are combined.
fn add_changes(
    events: &mut Vec<Event>,
    event: &Event,
    changes: Vec<FileChange>,
    places: &dyn Fn(&str) -> Vec<String>,
    is_patch: bool,
) {
    for (name, input, files) in changes.into_iter().flat_map(|change| canonical(change, places)) {
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

/// Returns every text of an input, the command's first: a patch may be an argument of its own.
fn all_text(input: &Value) -> String {
    let mut texts = Vec::new();
    let mut add = |value: &Value| {
        any_leaf(value, &mut |text| {
            texts.push(text.to_owned());
            false
        });
    };
    match input {
        Value::Object(fields) => {
            fields.get("command").into_iter().for_each(&mut add);
            fields.iter().filter(|(name, _)| *name != "command").for_each(|(_, value)| add(value));
        }
        other => add(other),
    }
    texts.join("\n")
}

/// Returns whether a command names the program that applies patches, however it is quoted.
fn names_program(text: &str) -> bool {
    let is_named = |text: &str| PROGRAMS.iter().any(|name| text.contains(name));
    is_named(text) || is_named(&text.replace(['\'', '"', '\\'], ""))
}

/// Returns a command's text with every header of a patch on its own line: a header may follow a
/// quote, and line breaks may be written as `\n`.
fn in_lines(text: &str) -> String {
    let mut text = text.to_owned();
    if text.contains("\\n*** ") {
        text = text.replace("\\n", "\n");
    }
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        // Lines that a patch adds or removes are content.
        let is_content = line.starts_with(['+', '-']);
        let mut rest = line;
        while !is_content
            && let Some(at) = HEADERS.iter().filter_map(|header| rest.find(header)).min()
        {
            lines.push_str(&rest[..at]);
            lines.push('\n');
            lines.push_str(MARK);
            rest = &rest[at + MARK.len()..];
        }
        lines.push_str(rest);
    }
    lines
}

/// Returns the paths that a path in a command's patch may mean, the most likely first.
fn places(path: &str, folders: &[String], is_heredoc: bool) -> Vec<String> {
    let mut readings = vec![path];
    // In an argument, the name may end at the quote.
    let bare = path.split(['\'', '"']).next().unwrap_or(path).trim();
    if bare.len() < path.len() && !bare.is_empty() {
        readings.insert(usize::from(is_heredoc), bare);
    }
    let places = readings.into_iter().flat_map(|reading| {
        let folders = if reading.starts_with('/') { &folders[..1] } else { folders };
        folders.iter().map(move |folder| join(folder, reading))
    });
    places.collect()
}

/// The maximum number of folders of a command that are tried.
const MOST_FOLDERS: usize = 16;
/// The maximum number of places in a command that may change its folder and are examined.
const MOST_CHANGES: usize = 64;

/// Returns the folders in which a command may apply its patch, the most likely first, and whether
/// these are all; the empty one is where the command itself starts.
///
/// A folder is certain if the command does nothing before the patch but change to it. Otherwise
/// only a shell knows which `cd` takes effect, so each is tried, and also none.
fn folders(text: &str, input: &Value) -> (Vec<String>, bool) {
    if let Some(folder) = certain_folder(text) {
        return (in_start_folders(vec![folder], input), true);
    }
    let (changed, are_all) = changed_folders(text);
    let mut folders = vec![String::new()];
    let mut reached = String::new();
    for folder in changed {
        reached = join(&reached, &folder);
        for place in [folder, reached.clone()] {
            folders.retain(|other| *other != place);
            folders.push(place);
        }
    }
    folders.reverse();
    (in_start_folders(folders, input), are_all)
}

/// Adds the folder in which the call itself wants its command started.
fn in_start_folders(folders: Vec<String>, input: &Value) -> Vec<String> {
    const FIELDS: [&str; 6] =
        ["workdir", "cwd", "dir_path", "directory", "working_directory", "work_dir"];
    let start = FIELDS.iter().find_map(|field| input.get(field)?.as_str());
    let Some(start) = start.filter(|start| !start.is_empty()) else { return folders };
    let started: Vec<String> = folders.iter().map(|folder| join(start, folder)).collect();
    started.into_iter().chain(folders).collect()
}

/// Returns the folder of a patch if the command is `cd FOLDER && apply_patch …`, with any number of
/// `cd` commands, by itself or in `bash -lc`, and applies no other patch.
fn certain_folder(text: &str) -> Option<String> {
    let mentions: usize = text
        .lines()
        .filter(|line| !line.starts_with(['+', '-']))
        .map(|line| PROGRAMS.iter().map(|name| line.matches(name).count()).sum::<usize>())
        .sum();
    if mentions != 1 {
        return None;
    }
    let mut rest = text.trim_start();
    while let Some(inner) = in_shell(rest) {
        rest = inner;
    }
    let mut folder = String::new();
    while let Some(behind) = rest.strip_prefix("cd ") {
        let (word, behind) = first_word(behind.trim_start());
        folder = join(&folder, &word?);
        rest = behind.trim_start().strip_prefix("&&")?.trim_start();
    }
    PROGRAMS.iter().any(|name| rest.starts_with(name)).then_some(folder)
}

/// Returns the command that is passed to a shell with `-c`.
fn in_shell(text: &str) -> Option<&str> {
    let (program, rest) = text.split_once(char::is_whitespace)?;
    let name = program.rsplit('/').next()?;
    let (option, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let is_shell = matches!(name, "bash" | "sh" | "zsh" | "dash") && option.starts_with('-');
    let rest = rest.trim_start();
    is_shell.then(|| rest.strip_prefix(['\'', '"']).unwrap_or(rest))
}

/// Returns the folders to which a command may change, judging by its text, and whether these are
/// all.
fn changed_folders(text: &str) -> (Vec<String>, bool) {
    const WORDS: [&str; 5] = ["cd", "pushd", "chdir", "-C", "--chdir"];
    let mut folders = Vec::new();
    let mut changes = 0;
    for line in text.lines().filter(|line| !line.starts_with(['+', '-'])) {
        for (at, _) in line.match_indices(['c', 'p', '-']) {
            let is_inside = line[..at].ends_with(|letter: char| {
                letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/')
            });
            let Some(word) = WORDS.iter().find(|word| line[at..].starts_with(**word)) else {
                continue;
            };
            let behind = line[at + word.len()..].trim_start_matches(['\'', '"']);
            if is_inside || !behind.starts_with([' ', '\t', '=']) {
                continue;
            }
            changes += 1;
            if changes > MOST_CHANGES || folders.len() == MOST_FOLDERS {
                return (folders, false);
            }
            let mut rest = behind[1..].trim_start();
            let folder = loop {
                let (word, behind) = first_word(rest);
                match word {
                    // An option.
                    Some(word) if word.len() > 1 && word.starts_with('-') => {
                        rest = behind.trim_start();
                    }
                    // No folder, or the previous one.
                    Some(word) if word.is_empty() || word == "-" => break None,
                    word => break word,
                }
            };
            folders.extend(folder);
        }
    }
    (folders, true)
}

/// Removes the first word of a command, without its quotes; `None` if only a shell can determine
/// it.
fn first_word(text: &str) -> (Option<String>, &str) {
    let mut word = String::new();
    let mut is_known = true;
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some('\'')) => word.push(letter),
            ('\'' | '"', None) => quote = Some(letter),
            ('\\', _) => match letters.next() {
                // Nested quotes.
                Some((_, '\'' | '"' | '\n')) | None => {}
                Some((_, escaped)) => word.push(escaped),
            },
            ('$' | '`', _) | ('*' | '?' | '[' | '{', None) => is_known = false,
            (' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>', None) => {
                return (is_known.then_some(word), &text[at..]);
            }
            (letter, _) => word.push(letter),
        }
    }
    (is_known.then_some(word), "")
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') || path == "~" || path.starts_with("~/") {
        return path.to_owned();
    }
    if path.is_empty() {
        return folder.to_owned();
    }
    [folder, path].join("/")
}

/// The maximum number of events of a patch; further files are combined by what happens to them.
const EVENTS_LIMIT: usize = 200;

/// Returns the event for one file. Only the first carries the whole patch, which would otherwise be
/// repeated for every file.
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
        derived: Derived::default(),
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

/// Adds a further file to an event.
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

/// Returns the calls that a change amounts to, with every path that its files may mean: a move also
/// writes its target and deletes its source.
fn canonical(
    change: FileChange,
    places: &dyn Fn(&str) -> Vec<String>,
) -> Vec<(&'static str, Value, Vec<String>)> {
    match change {
        FileChange::Add { path, content } => {
            let files = places(&path);
            vec![("WriteFile", json!({"path": files[0], "content": content}), files)]
        }
        FileChange::Update { path, old, new } => {
            let files = places(&path);
            vec![("EditFile", json!({"path": files[0], "old": old, "new": new}), files)]
        }
        FileChange::Delete { path } => {
            let files = places(&path);
            vec![("DeleteFile", json!({"path": files[0]}), files)]
        }
        FileChange::Move { path, to, content } => {
            let (files, targets) = (places(&path), places(&to));
            let both = files.iter().chain(&targets).cloned().collect();
            vec![
                ("MoveFile", json!({"path": files[0], "to": targets[0]}), both),
                ("WriteFile", json!({"path": targets[0], "content": content}), targets),
                ("DeleteFile", json!({"path": files[0]}), files),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;

    use super::*;
    use crate::kind::EventKind;

    fn event(name: &str, input: Value) -> Event {
        let at = Timestamp::UNIX_EPOCH;
        let mut event = Event::new(EventKind::BeforeTool, "codex", Path::new("/p"), at);
        event.tool = Some(ToolCall::new(name, input));
        event
    }

    /// Returns the tools and paths of a call's events.
    fn seen_of(event: Event) -> Vec<(String, Value)> {
        let tools = of_call(event).into_iter().map(|event| event.tool.unwrap());
        tools.map(|tool| (tool.name, tool.files)).collect()
    }

    /// Returns the tools and paths of a command's events.
    fn seen(command: &Value) -> Vec<(String, Value)> {
        seen_of(event("Shell", json!({"command": command})))
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
            (heredoc.clone(), json!(["a"])),
            (format!("cd x && {heredoc}"), json!(["x/a"])),
            (format!("cd x && cd 'my y' && {heredoc}"), json!(["x/my y/a"])),
            (format!("cd /abs && {heredoc}"), json!(["/abs/a"])),
            (format!("bash -lc \"cd x && {heredoc}\""), json!(["x/a"])),
            // Only a shell knows which of them takes effect.
            (format!("cd 'x' ; {heredoc}"), json!(["x/a", "a"])),
            (format!("cd x; cd y\n{heredoc}"), json!(["x/y/a", "y/a", "x/a", "a"])),
            (format!("cd \"$X\" && {heredoc}"), json!(["a"])),
            (format!("cd x && cd $Y && {heredoc}"), json!(["x/a", "a"])),
            (format!("abcd x; {heredoc}"), json!(["a"])),
            (format!("pushd x; {heredoc}"), json!(["x/a", "a"])),
            (format!("cd\tx; {heredoc}"), json!(["x/a", "a"])),
            (format!("cd -P x; {heredoc}"), json!(["x/a", "a"])),
            (format!("cd ven\"dor\"; {heredoc}"), json!(["vendor/a", "a"])),
            (format!("env -C x {heredoc}"), json!(["x/a", "a"])),
            (format!(": cd y; {heredoc}"), json!(["y/a", "a"])),
            (format!(": apply_patch\ncd x && {heredoc}"), json!(["x/a", "a"])),
            (format!("app'ly'_patch <<'EOF'\n{patch}\nEOF"), json!(["a"])),
            (format!("bash -lc \"{heredoc}\""), json!(["a"])),
            (format!("apply_patch '{patch}'"), json!(["a"])),
            (format!("apply_patch $'{}'", patch.replace('\n', "\\n")), json!(["a"])),
            (format!("printf '%s' '{patch}' | apply_patch"), json!(["a"])),
            (format!("P='{patch}'; cd x; apply_patch \"$P\""), json!(["x/a", "a"])),
            (
                "printf '%s\\n' '*** Delete File: a' | apply_patch".to_owned(),
                json!(["a", "a' | apply_patch"]),
            ),
            ("applypatch \"*** Delete File: a\n".to_owned(), json!(["a"])),
        ] {
            let expected = [shell(), file("DeleteFile", path)];
            assert_eq!(seen(&command.clone().into()), expected, "{command}");
            assert_eq!(seen(&json!(["bash", "-lc", command])), expected, "{command}");
        }
        for command in ["ls", "apply_patch --help", "echo '*** Delete File: a'"] {
            assert_eq!(seen(&command.into()), [shell()], "{command}");
        }
    }

    #[test]
    fn a_patch_is_seen_wherever_it_is_in_a_call() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        let deleted = || file("DeleteFile", json!(["a"]));
        for command in
            [json!(["apply_patch", patch]), json!({"cmd": format!("apply_patch '{patch}'")})]
        {
            assert_eq!(seen(&command), [file("Shell", Value::Null), deleted()], "{command}");
        }
        for field in ["command", "patchText", "patch", "input"] {
            assert_eq!(
                seen_of(event("apply_patch", json!({field: patch}))),
                [deleted()],
                "{field}"
            );
        }
        let whole = seen_of(event("apply_patch", json!({"command": "nothing"})));
        assert_eq!(whole, [file("apply_patch", Value::Null)]);
        for name in ["applyPatch", "mcp_fs_apply_patch", "patch"] {
            let seen = seen_of(event(name, json!({"patch": patch})));
            assert_eq!(seen, [file(name, Value::Null), deleted()], "{name}");
        }
        let mut unknown = event("Frobnicate", json!({"program": "apply_patch", "args": [patch]}));
        assert_eq!(seen_of(unknown.clone()), [file("Frobnicate", Value::Null)]);
        unknown.tool.as_mut().unwrap().also = &["Shell"];
        assert_eq!(seen_of(unknown), [file("Frobnicate", Value::Null), deleted()]);
        let input = json!({"command": ["apply_patch", patch], "workdir": "x"});
        let started = seen_of(event("Shell", input));
        assert_eq!(started[1], file("DeleteFile", json!(["x/a", "a"])));
    }

    #[test]
    fn folders_that_are_too_many_to_try_are_a_doubt() {
        let patch = "apply_patch <<'EOF'\n*** Delete File: a\nEOF";
        let parts = |decoys: String| {
            of_call(event("Shell", json!({"command": decoys + "cd vendor; " + patch})))
        };
        let few = parts(": cd x; ".repeat(9));
        assert_eq!(few[1].doubt, None);
        assert_eq!(few[1].tool.as_ref().unwrap().files[1], "vendor/a");
        for decoys in [": cd x; ".repeat(100), "cd $X; ".repeat(100)] {
            assert_eq!(parts(decoys)[1].doubt, Some(CallDoubt::Folders));
        }
    }

    #[test]
    fn a_matcher_of_the_tool_sees_the_parts_of_its_patch() {
        let patch = "*** Delete File: a\n*** Delete File: b\n";
        for part in of_call(event("apply_patch", json!({"patch": patch}))) {
            assert!(part.tool.unwrap().names().any(|name| name == "apply_patch"));
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
        let events = of_call(event);
        assert_eq!(events.len(), EVENTS_LIMIT);
        let files: usize = events
            .iter()
            .map(|event| event.tool.as_ref().unwrap().files.as_array().unwrap().len())
            .sum();
        assert_eq!(files, 5_000);
    }
}
