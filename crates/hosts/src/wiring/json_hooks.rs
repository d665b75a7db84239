//! Edits JSON settings, with or without comments, that contain `hooks` by event, as Claude Code,
//! Codex and Gemini CLI have them. Existing contents keep their position, comments and formatting.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Value, json};

use super::{SettingsError, is_ours};

/// One of our handlers.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The host's event.
    pub event: &'static str,
    /// The handler, as the host reads it.
    pub handler: Value,
}

/// Adds our handlers, one for each event; an existing one of ours is replaced.
///
/// They have no matcher: our own matchers decide, in one order. The meaning of a host's matcher
/// differs from host to host.
pub fn wire(
    path: &Path,
    text: Option<&str>,
    host: &str,
    handlers: &[Handler],
) -> Result<String, SettingsError> {
    let entries: Vec<(&str, Value)> = handlers
        .iter()
        .map(|handler| (handler.event, json!({"hooks": [handler.handler]})))
        .collect();
    wire_in(path, text, host, "hooks", &entries)
}

/// Adds our entries to the lists by event that an object of the file has, or the file itself
/// ([`WHOLE_FILE`]); an existing one of ours is replaced. An entry is a handler, or a group of them,
/// as the host has it in its lists.
pub fn wire_in(
    path: &Path,
    text: Option<&str>,
    host: &str,
    object: &str,
    entries: &[(&str, Value)],
) -> Result<String, SettingsError> {
    let root = parse(path, text.unwrap_or(""))?;
    let hooks = object_of(path, &root, object)?;
    for (event, entry) in entries {
        let list = list_of(path, &hooks, object, event)?;
        keep_one(&list, our_groups(&list, host), entry);
        remove_from_shared_groups(&list, host);
    }
    Ok(finished(text, &root))
}

/// Replaces the first of our groups with the given one, or appends it if there is none.
fn keep_one(groups: &CstArray, ours: impl IntoIterator<Item = CstNode>, group: &Value) {
    let mut ours = ours.into_iter();
    // In place: hosts identify a handler by its position, and those after it must keep theirs.
    match ours.next() {
        Some(first) if to_value(&first).as_ref() == Some(group) => {}
        Some(first) => {
            first.as_object().and_then(|object| object.replace_with(input(group)));
        }
        None => {
            groups.append(input(group));
        }
    }
    for more in ours {
        more.remove();
    }
}

/// Returns a changed text as it should be written to its file.
fn finished(before: Option<&str>, root: &CstRootNode) -> String {
    let mut after = root.to_string();
    if before.is_none() && !after.ends_with('\n') {
        after.push('\n');
    }
    with_mark_of(before, after)
}

/// A group of handlers for one matcher.
#[derive(Clone, Debug)]
pub struct MatcherGroup<'what> {
    /// The matcher.
    pub matcher: &'what str,
    /// Our handler, as the host reads it.
    pub handler: Value,
    /// Returns whether a command is ours, in its current or an earlier form.
    pub is_ours: fn(&str) -> bool,
}

/// Adds our groups to those of an event; an existing one of ours is replaced.
pub fn add_matched(
    path: &Path,
    text: Option<&str>,
    event: &str,
    groups: &[MatcherGroup<'_>],
) -> Result<String, SettingsError> {
    let root = parse(path, text.unwrap_or(""))?;
    let there = list_of(path, &object_of(path, &root, "hooks")?, "hooks", event)?;
    for matched in groups {
        let group = json!({"matcher": matched.matcher, "hooks": [matched.handler]});
        let is_ours = |node: &CstNode| {
            let group = to_value(node).unwrap_or_default();
            let commands = group_commands(&group);
            let handlers = group.get("hooks").and_then(Value::as_array).map_or(0, Vec::len);
            commands.len() == handlers
                && handlers > 0
                && commands.iter().all(|command| (matched.is_ours)(command))
        };
        keep_one(&there, there.elements().into_iter().filter(is_ours), &group);
    }
    Ok(finished(text, &root))
}

/// Adds texts to a list in an object, except for those that it already contains.
pub fn add_to_list(
    path: &Path,
    text: Option<&str>,
    [object, list]: [&str; 2],
    texts: &[String],
) -> Result<String, SettingsError> {
    let root = parse(path, text.unwrap_or(""))?;
    let there = top(path, &root)?
        .object_value_or_create(object)
        .ok_or_else(|| unexpected(path, &format!("`{object}`"), "an object"))?
        .array_value_or_create(list)
        .ok_or_else(|| unexpected(path, &format!("`{object}.{list}`"), "a list"))?;
    let known: Vec<Value> = there.elements().iter().filter_map(to_value).collect();
    for text in texts.iter().filter(|text| !known.iter().any(|one| one == text.as_str())) {
        there.append(CstInputValue::String(text.clone()));
    }
    Ok(finished(text, &root))
}

/// Removes our handlers, and what contained only them.
pub fn unwire(path: &Path, text: &str, host: &str) -> Result<String, SettingsError> {
    unwire_in(path, text, host, "hooks")
}

/// The object of a file that is nothing but lists by event.
pub const WHOLE_FILE: &str = "";

/// Removes our entries from the lists by event that an object of the file has, or the file itself.
pub fn unwire_in(
    path: &Path,
    text: &str,
    host: &str,
    object: &str,
) -> Result<String, SettingsError> {
    let root = parse(path, text)?;
    let Some(hooks) = existing_object(path, &root, object)? else { return Ok(text.to_owned()) };
    let mut changed = false;
    for event in hooks.properties() {
        let Some(groups) = event.array_value() else { continue };
        changed |= remove_from_shared_groups(&groups, host);
        let ours = our_groups(&groups, host);
        changed |= !ours.is_empty();
        let emptied = !ours.is_empty() && ours.len() == groups.elements().len();
        if ours.is_empty() {
            continue;
        }
        for group in ours {
            group.remove();
        }
        if emptied {
            event.remove();
        } else {
            rejoin_last_line(&groups.children());
        }
    }
    if changed {
        remove_if_empty(path, &root, object)?;
    }
    Ok(if changed { with_mark_of(Some(text), root.to_string()) } else { text.to_owned() })
}

/// Removes an object of the file if nothing is left in it.
pub(crate) fn remove_if_empty(
    path: &Path,
    root: &CstRootNode,
    object: &str,
) -> Result<(), SettingsError> {
    let top = top(path, root)?;
    let Some(hooks) = existing_object(path, root, object)? else { return Ok(()) };
    match top.get(object).filter(|_| hooks.properties().is_empty()) {
        Some(property) => {
            property.remove();
            rejoin_last_line(&top.children());
        }
        None => rejoin_last_line(&hooks.children()),
    }
    Ok(())
}

/// Restores the position of the closing bracket of a list or object, if everything else in it is on
/// one line: the line break before it was added with our entry.
pub(crate) fn rejoin_last_line(children: &[CstNode]) {
    let mut breaks = children.iter().filter(|node| node.is_newline());
    if let (Some(only), None) = (breaks.next(), breaks.next())
        && children.iter().rev().nth(1).is_some_and(CstNode::is_newline)
    {
        only.clone().remove();
    }
}

/// Removes our handlers from groups that also contain others'; returns whether there were any.
fn remove_from_shared_groups(groups: &CstArray, host: &str) -> bool {
    let mut changed = false;
    for group in groups.elements() {
        let handlers = group.as_object().and_then(|group| group.array_value("hooks"));
        let Some(handlers) = handlers.map(|handlers| handlers.elements()) else { continue };
        let ours: Vec<CstNode> =
            handlers.iter().filter(|handler| is_our_handler(handler, host)).cloned().collect();
        if ours.len() < handlers.len() {
            changed |= !ours.is_empty();
            ours.into_iter().for_each(CstNode::remove);
        }
    }
    changed
}

/// The mark that some editors put before the first character of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns a text with the byte order mark of the text from which it was made.
pub(crate) fn with_mark_of(before: Option<&str>, after: String) -> String {
    if before.is_some_and(|before| before.starts_with(BYTE_ORDER_MARK)) {
        format!("{BYTE_ORDER_MARK}{after}")
    } else {
        after
    }
}

/// Returns the commands of all handlers, with their events.
pub fn commands(path: &Path, text: &str) -> Result<Vec<(String, String)>, SettingsError> {
    commands_in(path, text, "hooks")
}

/// Returns the commands in the lists by event that an object of the file has, or the file itself.
pub fn commands_in(
    path: &Path,
    text: &str,
    object: &str,
) -> Result<Vec<(String, String)>, SettingsError> {
    let root = parse(path, text)?;
    let Some(hooks) = existing_object(path, &root, object)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for event in hooks.properties() {
        let name = event.decoded_name().unwrap_or_default();
        let groups = event.array_value().map(|groups| groups.elements()).unwrap_or_default();
        for command in groups.iter().filter_map(to_value).flat_map(|group| group_commands(&group)) {
            found.push((name.clone(), command));
        }
    }
    Ok(found)
}

/// Returns a value of the settings by its path of keys.
pub fn value(path: &Path, text: &str, keys: &[&str]) -> Result<Option<Value>, SettingsError> {
    let root = parse(path, text)?;
    let whole = root.value().and_then(|node| to_value(&node));
    Ok(keys.iter().fold(whole, |value, key| value?.get(*key).cloned()))
}

pub(crate) fn parse(path: &Path, text: &str) -> Result<CstRootNode, SettingsError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| SettingsError::Broken { path: path.to_owned(), why: error.to_string() })
}

pub(crate) fn top(path: &Path, root: &CstRootNode) -> Result<CstObject, SettingsError> {
    root.object_value_or_create().ok_or_else(|| unexpected(path, "the file", "an object"))
}

/// Returns the object that has the lists by event, if it exists.
fn existing_object(
    path: &Path,
    root: &CstRootNode,
    name: &str,
) -> Result<Option<CstObject>, SettingsError> {
    let top = top(path, root)?;
    Ok(if name == WHOLE_FILE { Some(top) } else { top.object_value(name) })
}

fn object_of(path: &Path, root: &CstRootNode, name: &str) -> Result<CstObject, SettingsError> {
    let top = top(path, root)?;
    if name == WHOLE_FILE {
        return Ok(top);
    }
    top.object_value_or_create(name)
        .ok_or_else(|| unexpected(path, &format!("`{name}`"), "an object"))
}

fn list_of(
    path: &Path,
    hooks: &CstObject,
    object: &str,
    event: &str,
) -> Result<CstArray, SettingsError> {
    hooks.array_value_or_create(event).ok_or_else(|| {
        let place = if object == WHOLE_FILE { String::new() } else { format!("{object}.") };
        unexpected(path, &format!("`{place}{event}`"), "a list")
    })
}

fn unexpected(path: &Path, what: &str, expected: &'static str) -> SettingsError {
    SettingsError::Unexpected { path: path.to_owned(), what: what.to_owned(), expected }
}

/// Returns the entries that are our handlers, or groups that contain only those.
fn our_groups(groups: &CstArray, host: &str) -> Vec<CstNode> {
    let is_our_group = |node: &CstNode| {
        if is_our_handler(node, host) {
            return true;
        }
        let handlers = node.as_object().and_then(|group| group.array_value("hooks"));
        let handlers = handlers.map(|handlers| handlers.elements()).unwrap_or_default();
        !handlers.is_empty() && handlers.iter().all(|handler| is_our_handler(handler, host))
    };
    groups.elements().into_iter().filter(is_our_group).collect()
}

fn is_our_handler(handler: &CstNode, host: &str) -> bool {
    let handler = to_value(handler).unwrap_or_default();
    handler.get("command").and_then(Value::as_str).is_some_and(|command| is_ours(command, host))
}

/// Returns the commands of a group of handlers, or of an entry that is a handler itself.
fn group_commands(group: &Value) -> Vec<String> {
    let handlers = group.get("hooks").and_then(Value::as_array);
    let command = |handler: &Value| Some(handler.get("command")?.as_str()?.to_owned());
    handlers.into_iter().flatten().chain([group]).filter_map(command).collect()
}

/// Converts a node to plain JSON.
pub(crate) fn to_value(node: &CstNode) -> Option<Value> {
    node.to_serde_value()
}

/// Converts plain JSON to a node.
pub(crate) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn handlers() -> Vec<Handler> {
        ["PreToolUse", "Stop"]
            .map(|event| Handler { event, handler: json!({"type": "command", "command": "/x/anyhook hook claude-code", "timeout": 600}) })
            .to_vec()
    }

    fn wired(text: &str) -> String {
        wire(Path::new("s.json"), Some(text), "claude-code", &handlers()).unwrap()
    }

    #[test]
    fn what_is_there_stays_with_its_comments() {
        let text = "// mine\n{\n  \"model\": \"x\", // why\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]}\n    ]\n  }\n}\n";
        let after = wired(text);
        for kept in [
            "// mine\n",
            "\"model\": \"x\", // why",
            "{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]}",
        ] {
            assert!(after.contains(kept), "{after}");
        }
        let found = commands(Path::new("s.json"), &after).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(wired(&after), after, "a second time changes nothing");
        let back = unwire(Path::new("s.json"), &after, "claude-code").unwrap();
        assert_eq!(
            commands(Path::new("s.json"), &back).unwrap(),
            [("PreToolUse".to_owned(), "mine.sh".to_owned())]
        );
    }

    /// Also if the text has been edited since, so that it cannot be restored from a record. In that
    /// case, objects on one line get line breaks.
    #[test]
    fn lists_are_as_they_were() {
        let theirs = r#"{"hooks": [{"type": "command", "command": "mine.sh"}]}"#;
        let on_one_line = format!("{{\n  \"hooks\": {{\n    \"Stop\": [{theirs}]\n  }}\n}}\n");
        let on_several = on_one_line.replace(theirs, &format!("\n      {theirs}\n    "));
        for text in [on_one_line.as_str(), &on_several, "{\n  \"model\": \"x\"\n}\n"] {
            let back = unwire(Path::new("s.json"), &wired(text), "claude-code").unwrap();
            assert_eq!(back, text);
        }
    }

    #[test]
    fn an_older_entry_of_ours_is_replaced() {
        let old = wire(
            Path::new("s"),
            None,
            "codex",
            &[Handler {
                event: "Stop",
                handler: json!({"type": "command", "command": "/old/anyhook hook codex"}),
            }],
        )
        .unwrap();
        let new = wire(
            Path::new("s"),
            Some(&old),
            "codex",
            &[Handler {
                event: "Stop",
                handler: json!({"type": "command", "command": "/new/anyhook hook codex"}),
            }],
        )
        .unwrap();
        assert_eq!(
            commands(Path::new("s"), &new).unwrap(),
            [("Stop".to_owned(), "/new/anyhook hook codex".to_owned())]
        );
    }

    #[test]
    fn broken_files_are_left_alone() {
        for text in ["{", "[]", "{\"hooks\": 3}", "{\"hooks\": {\"PreToolUse\": {}}}"] {
            assert!(
                wire(Path::new("s"), Some(text), "claude-code", &handlers()).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_new_file_is_made() {
        let text = wire(Path::new("s"), None, "claude-code", &handlers()).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        assert!(text.ends_with("}\n"));
    }

    proptest! {
        /// Removing our handlers again results in the same settings, whatever they were.
        #[test]
        fn wire_and_unwire_keep_what_is_there(
            keys in proptest::collection::btree_map("[a-z]{1,6}", 0u8..100, 0..5),
            events in proptest::collection::btree_set(prop_oneof!["PreToolUse", "Stop", "Other"], 0..3),
            spaces in prop_oneof![Just("  "), Just("    "), Just("\t"), Just("")],
            comment in any::<bool>(),
        ) {
            let mut settings = json!({});
            for (key, value) in &keys {
                settings[key] = json!(value);
            }
            for event in &events {
                settings["hooks"][event] = json!([{"matcher": "x", "hooks": [{"type": "command", "command": "theirs"}]}]);
            }
            let text = serde_json::to_string_pretty(&settings).unwrap().replace("  ", spaces);
            let text = if comment { format!("// a note\n{text}\n") } else { text };
            let after = wired(&text);
            prop_assert_eq!(wired(&after), after.clone());
            let back = unwire(Path::new("s"), &after, "claude-code").unwrap();
            let plain = |text: &str| parse(Path::new("s"), text).unwrap().to_serde_value().unwrap();
            prop_assert_eq!(plain(&back), settings);
        }
    }
}
