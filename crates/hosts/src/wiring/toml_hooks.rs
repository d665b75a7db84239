//! Edits TOML settings that contain a list `hooks`, each with its event and its command, as the
//! agents of Moonshot AI have them. Existing contents keep their position, comments and formatting.
//!
//! The list may be written as tables, `[[hooks]]`, or in one value, `hooks = []`, as an agent writes
//! it that saves its settings: ours are added in the form that is there, because both forms in one
//! file are an error that keeps the agent from starting.

use std::path::{Path, PathBuf};

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::settings::status;
use super::{SettingsEdits, SettingsError, SettingsTexts, WiringStatus, is_ours};

/// One of our hooks.
#[derive(Clone, Debug)]
pub struct TomlHook {
    /// The host's event.
    pub event: &'static str,
    /// The command.
    pub command: String,
    /// How long the host waits, in seconds.
    pub seconds: u64,
}

/// One settings file of a host, and the hooks that belong in it.
#[derive(Debug)]
pub(crate) struct TomlSettings {
    /// The host's id.
    pub host: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The events at which an unanswered call must be refused.
    pub tool_events: &'static [&'static str],
}

impl TomlSettings {
    /// Returns the file's text with our hooks added.
    pub fn wire(&self, texts: &SettingsTexts, hooks: &[TomlHook]) -> Result<String, SettingsError> {
        wire(&self.path, self.text(texts), self.host, hooks)
    }

    /// Removes our hooks from the file.
    pub fn unwire(&self, texts: &SettingsTexts) -> Result<SettingsEdits, SettingsError> {
        let Some(text) = self.text(texts) else { return Ok(SettingsEdits::new()) };
        let after = unwire(&self.path, text, self.host)?;
        Ok(if after == text {
            SettingsEdits::new()
        } else {
            SettingsEdits::from([(self.path.clone(), Some(after))])
        })
    }

    /// Determines which events have one of our hooks, and what else is there.
    pub fn inspect(
        &self,
        texts: &SettingsTexts,
        events: &[&str],
    ) -> Result<WiringStatus, SettingsError> {
        let commands = match self.text(texts) {
            Some(text) => commands(&self.path, text)?,
            None => Vec::new(),
        };
        Ok(status(self.host, self.tool_events, &commands, events))
    }

    fn text<'texts>(&self, texts: &'texts SettingsTexts) -> Option<&'texts str> {
        texts.get(&self.path).map(String::as_str)
    }
}

/// Adds our hooks, one for each event; an existing one of ours is replaced, wherever it is.
fn wire(
    path: &Path,
    text: Option<&str>,
    host: &str,
    hooks: &[TomlHook],
) -> Result<String, SettingsError> {
    let mut document = parse(path, text.unwrap_or(""))?;
    let list = document.entry(KEY).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    match list {
        Item::ArrayOfTables(tables) => {
            for hook in hooks {
                keep_first(tables, host, hook.event);
                let mut all = tables.iter_mut();
                match all.find(|table| is_hook_at(*table, host, hook.event)) {
                    Some(table) => fill(table, hook),
                    None => {
                        drop(all);
                        tables.push(table_of(hook));
                    }
                }
            }
        }
        Item::Value(Value::Array(array)) => {
            for hook in hooks {
                let ours = |value: &Value| is_value_at(value, host, hook.event);
                let mut places =
                    (0..array.len()).filter(|place| array.get(*place).is_some_and(ours));
                let (first, more): (_, Vec<usize>) = (places.next(), places.collect());
                for place in more.into_iter().rev() {
                    array.remove(place);
                }
                match first
                    .and_then(|place| array.get_mut(place))
                    .and_then(Value::as_inline_table_mut)
                {
                    Some(table) => fill(table, hook),
                    None => array.push(value_of(hook)),
                }
            }
        }
        _ => return Err(unexpected(path)),
    }
    Ok(document.to_string())
}

/// Removes our hooks, and the list if nothing else was in it.
fn unwire(path: &Path, text: &str, host: &str) -> Result<String, SettingsError> {
    let mut document = parse(path, text)?;
    let is_our_table = |table: &dyn TableLike| command(table).is_some_and(|it| is_ours(it, host));
    match document.get_mut(KEY) {
        None => return Ok(text.to_owned()),
        Some(Item::ArrayOfTables(tables)) => {
            let before = tables.len();
            tables.retain(|table| !is_our_table(table));
            if tables.len() == before {
                return Ok(text.to_owned());
            }
            if tables.is_empty() {
                document.remove(KEY);
            }
        }
        Some(Item::Value(Value::Array(array))) => {
            let before = array.len();
            array.retain(|value| !value.as_inline_table().is_some_and(|table| is_our_table(table)));
            if array.len() == before {
                return Ok(text.to_owned());
            }
        }
        Some(_) => return Err(unexpected(path)),
    }
    Ok(document.to_string())
}

/// Returns the commands of all hooks, with their events.
fn commands(path: &Path, text: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let document = parse(path, text)?;
    let named = |table: &dyn TableLike| {
        let event = table.get("event").and_then(Item::as_str)?;
        Some((event.to_owned(), command(table)?.to_owned()))
    };
    match document.get(KEY) {
        None => Ok(Vec::new()),
        Some(Item::ArrayOfTables(tables)) => {
            Ok(tables.iter().filter_map(|table| named(table)).collect())
        }
        Some(Item::Value(Value::Array(array))) => {
            let tables = array.iter().filter_map(Value::as_inline_table);
            Ok(tables.filter_map(|table| named(table)).collect())
        }
        Some(_) => Err(unexpected(path)),
    }
}

/// The list of hooks.
const KEY: &str = "hooks";

fn command(table: &dyn TableLike) -> Option<&str> {
    table.get("command").and_then(Item::as_str)
}

fn is_hook_at(table: &dyn TableLike, host: &str, event: &str) -> bool {
    table.get("event").and_then(Item::as_str) == Some(event)
        && command(table).is_some_and(|command| is_ours(command, host))
}

fn is_value_at(value: &Value, host: &str, event: &str) -> bool {
    value.as_inline_table().is_some_and(|table| is_hook_at(table, host, event))
}

/// Removes our hooks for an event except for the first.
fn keep_first(tables: &mut ArrayOfTables, host: &str, event: &str) {
    let mut is_first = true;
    tables.retain(|table| {
        let is_ours = is_hook_at(table, host, event);
        !is_ours || std::mem::take(&mut is_first)
    });
}

/// Writes our values; a matcher would keep us from being called for every tool.
fn fill(table: &mut dyn TableLike, hook: &TomlHook) {
    table.remove("matcher");
    let mut set = |key: &str, new: Value| match table.get_mut(key).and_then(Item::as_value_mut) {
        // In place, with what surrounds it.
        Some(old) => {
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(key, Item::Value(new));
        }
    };
    set("event", hook.event.into());
    set("command", hook.command.as_str().into());
    set("timeout", i64::try_from(hook.seconds).unwrap_or(i64::MAX).into());
}

fn table_of(hook: &TomlHook) -> Table {
    let mut table = Table::new();
    fill(&mut table, hook);
    table
}

fn value_of(hook: &TomlHook) -> InlineTable {
    let mut table = InlineTable::new();
    fill(&mut table, hook);
    table
}

/// Parses the text of a file.
pub(super) fn parse(path: &Path, text: &str) -> Result<DocumentMut, SettingsError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let why = format!("{} on line {line} column {column}", error.message());
        SettingsError::Broken { path: path.to_owned(), why }
    })
}

fn unexpected(path: &Path) -> SettingsError {
    SettingsError::Unexpected {
        path: path.to_owned(),
        what: format!("`{KEY}`"),
        expected: "a list of tables",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "config.toml";

    fn hook(event: &'static str, program: &str) -> TomlHook {
        TomlHook { event, command: format!("{program} hook kimi-cli --tool-event"), seconds: 600 }
    }

    fn wired(text: &str, program: &str) -> String {
        let hooks = [hook("PreToolUse", program), hook("Stop", program)];
        wire(Path::new(FILE), Some(text), "kimi-cli", &hooks).unwrap()
    }

    fn unwired(text: &str) -> String {
        unwire(Path::new(FILE), text, "kimi-cli").unwrap()
    }

    #[test]
    fn hooks_are_added_and_removed_without_touching_the_rest() {
        for text in [
            "",
            "# mine\ndefault_model = \"x\" # why\n\n[models.x]\nmodel = 'y'\n",
            "hooks = []\nyolo = false\n",
            "hooks = [ { event = \"Stop\", command = \"theirs\" } ] # mine\n",
            "[[hooks]]\nevent = 'Stop'\ncommand = 'theirs' # mine\n\n[models.x]\nmodel = 'y'\n# end\n",
            "[[hooks]]\nevent = 'Stop'\ncommand = 'log; anyhook hook kimi-cli'\nmatcher = 'x'\n",
        ] {
            let after = wired(text, "/a/anyhook");
            for line in text.lines().filter(|line| !line.starts_with("hooks =")) {
                assert!(after.contains(line), "{line}: {after}");
            }
            let theirs = commands(Path::new(FILE), text).unwrap();
            let all = commands(Path::new(FILE), &after).unwrap();
            assert_eq!(all.len(), theirs.len() + 2, "{after}");
            assert_eq!(wired(&after, "/a/anyhook"), after, "a second time");
            let moved = wired(&after, "/b/anyhook");
            assert_eq!(moved, after.replace("/a/", "/b/"), "another program");
            let read: DocumentMut = after.parse().unwrap();
            assert!(read.get(KEY).is_some(), "it can be read: {after}");
            assert_eq!(unwired(&moved), text);
            assert_eq!(unwired(text), text);
        }
    }

    #[test]
    fn several_of_ours_become_one_without_a_matcher() {
        let ours = "[[hooks]]\nevent = 'Stop'\nmatcher = 'x'\ncommand = 'anyhook hook kimi-cli'\n";
        for text in [
            ours.repeat(2),
            "hooks = [{ event = 'Stop', matcher = 'x', command = 'anyhook hook kimi-cli' }, \
             { event = 'Stop', command = '/x/anyhook-hook hook kimi-cli' }]"
                .to_owned(),
        ] {
            let after = wired(&text, "/a/anyhook");
            let all = commands(Path::new(FILE), &after).unwrap();
            assert_eq!(all.iter().filter(|(event, _)| event == "Stop").count(), 1, "{after}");
            assert!(!after.contains("matcher"), "{after}");
        }
    }

    #[test]
    fn what_is_not_a_list_of_hooks_is_an_error() {
        let hooks = [hook("Stop", "/a/anyhook")];
        for text in ["hooks = 3\n", "[hooks]\nevent = 'Stop'\n", "= broken"] {
            assert!(wire(Path::new(FILE), Some(text), "kimi-cli", &hooks).is_err(), "{text}");
        }
        let error = wire(Path::new(FILE), Some("a = 1\nb = ="), "kimi-cli", &hooks).unwrap_err();
        assert!(error.to_string().contains("on line 2"), "{error}");
    }
}
