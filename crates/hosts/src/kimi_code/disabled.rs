//! What disables Kimi Code's hooks: it ignores all of them if it does not accept one.

use std::path::Path;

use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::wiring::Obstacle;

/// The names of all events that may have hooks.
const EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionResult",
    "UserPromptSubmit",
    "UserPromptQueued",
    "Stop",
    "StopFailure",
    "Interrupt",
    "TurnStarted",
    "SessionStart",
    "SessionEnd",
    "SessionHeartbeat",
    "SubagentStart",
    "SubagentStop",
    "TaskStarted",
    "PreCompact",
    "PostCompact",
    "Notification",
];

/// Returns what keeps Kimi Code from calling us, according to the text of its settings.
pub fn obstacles(path: &Path, text: &str) -> Vec<Obstacle> {
    // A file that cannot be parsed is an error of its own.
    let Ok(document) = text.parse::<DocumentMut>() else { return Vec::new() };
    let hooks = hooks(&document);
    let refused = hooks.iter().enumerate().filter_map(|(place, hook)| {
        let why = hook.map_or_else(|| Some("it is not a table".to_owned()), refusal)?;
        Some(Obstacle {
            what: format!(
                "Kimi Code ignores all hooks in {}, because of hook number {}: {why}",
                path.display(),
                place + 1
            ),
            way_out: format!("correct or remove that hook in {}", path.display()),
        })
    });
    refused.collect()
}

/// Returns the hooks, in whichever form they are written; `None` for what is not a table.
fn hooks(document: &DocumentMut) -> Vec<Option<&dyn TableLike>> {
    match document.get("hooks") {
        Some(Item::ArrayOfTables(tables)) => {
            tables.iter().map(|table| Some(table as &dyn TableLike)).collect()
        }
        Some(item) => item.as_array().into_iter().flatten().map(inline_table).collect(),
        None => Vec::new(),
    }
}

fn inline_table(value: &Value) -> Option<&dyn TableLike> {
    value.as_inline_table().map(|table| table as &dyn TableLike)
}

/// Returns why a hook is not accepted, if so.
fn refusal(hook: &dyn TableLike) -> Option<String> {
    let text = |key: &str| hook.get(key).and_then(Item::as_str);
    let known = ["event", "matcher", "command", "timeout"];
    if let Some((key, _)) = hook.iter().find(|(key, _)| !known.contains(key)) {
        return Some(format!("the key `{key}` is unknown"));
    }
    if !text("event").is_some_and(|event| EVENTS.contains(&event)) {
        return Some(format!("the event `{}` is unknown", text("event").unwrap_or_default()));
    }
    if text("command").is_none_or(str::is_empty) {
        return Some("it has no command".to_owned());
    }
    if hook.get("matcher").is_some_and(|matcher| !matcher.is_str()) {
        return Some("its `matcher` is not a text".to_owned());
    }
    let is_short =
        |timeout: &Item| timeout.as_integer().is_some_and(|seconds| (1..=600).contains(&seconds));
    let timeout = hook.get("timeout")?;
    (!is_short(timeout)).then(|| "its `timeout` is not between 1 and 600 seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hook_that_is_not_accepted_disables_all() {
        let ours = "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\ntimeout = 600\n";
        for (theirs, why) in [
            ("", None),
            ("[[hooks]]\nevent = \"Interrupt\"\nmatcher = \"x\"\ncommand = \"true\"\n", None),
            ("[[hooks]]\nevent = \"Nope\"\ncommand = \"true\"\n", Some("the event `Nope`")),
            (
                "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\nname = 'x'\n",
                Some("the key `name`"),
            ),
            (
                "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\ntimeout = 601\n",
                Some("its `timeout`"),
            ),
            ("[[hooks]]\nevent = \"Stop\"\n", Some("it has no command")),
            ("[[hooks]]\nevent = \"Stop\"\ncommand = 'x'\nmatcher = 1\n", Some("its `matcher`")),
        ] {
            let found = obstacles(Path::new("config.toml"), &format!("{ours}{theirs}"));
            match why {
                None => assert_eq!(found, [], "{theirs}"),
                Some(why) => {
                    assert_eq!(found.len(), 1, "{theirs}");
                    let start = format!("because of hook number 2: {why}");
                    assert!(found[0].what.contains(&start), "{found:?}");
                }
            }
        }
        let inline = "hooks = [{ event = 'Stop', command = 'x' }, 7, { event = 'x' }]";
        assert_eq!(obstacles(Path::new("config.toml"), inline).len(), 2);
        assert_eq!(obstacles(Path::new("config.toml"), "= broken"), []);
    }
}
