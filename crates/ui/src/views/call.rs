//! A call that waits for a person: the command, or what would become of a file.

use std::path::Path;

use anyhook_engine::Places;
use anyhook_engine::redact::without_secrets;
use anyhook_engine::regular_file::open_regular;
use anyhook_model::approval_request::RequestedCall;
use anyhook_model::json::shorten;
use maud::{Markup, html};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::app::blocking;

/// A longer file is not compared.
const FILE_LIMIT: u64 = 256 * 1024;
/// More lines of a comparison are not shown.
const LINES: usize = 400;
/// Lines around a change.
const AROUND: usize = 3;

/// Shows calls. Relative paths are relative to the agent's folder.
pub async fn all(places: &Places, calls: &[RequestedCall], folder: Option<String>) -> Markup {
    let folder = folder.or_else(|| Some(places.home.as_ref()?.display().to_string()));
    let mut shown = Vec::new();
    for call in calls {
        let now = match text(&call.input, "path") {
            Some(path) if call.tool == "WriteFile" => content(folder.as_deref(), path).await,
            _ => None,
        };
        shown.push(one(call, now.as_deref()));
    }
    html! { @for one in &shown { (one) } }
}

/// Returns what is in a file now, without secrets.
async fn content(folder: Option<&str>, path: &str) -> Option<String> {
    let path = Path::new(folder.unwrap_or("/")).join(path);
    blocking(move || Ok(read(&path))).await.ok().flatten()
}

fn read(path: &Path) -> Option<String> {
    use std::io::Read as _;

    let file = open_regular(path, rustix::fs::OFlags::RDONLY).ok()?;
    let mut bytes = Vec::new();
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > FILE_LIMIT {
        return None;
    }
    String::from_utf8(bytes).ok().map(without_secrets)
}

fn one(call: &RequestedCall, now: Option<&str>) -> Markup {
    html! {
        section.call {
            h3 { (call.tool) @if let Some(path) = text(&call.input, "path") { " " code { (path) } } }
            (input(&call.tool, &call.input, now))
            @if let Some(changed) = &call.changed {
                h3 { "As changed by hooks, which is what would run" }
                (input(&call.tool, changed, now))
            }
            @if call.shortened {
                p.notice.warn { "It is too long to be shown in full: the journal has all of it afterwards." }
            }
        }
    }
}

fn input(tool: &str, input: &Value, now: Option<&str>) -> Markup {
    match tool {
        "Shell" => match text(input, "command") {
            Some(command) => {
                html! { pre.command tabindex="0" { (command) } (rest(input, &["command"])) }
            }
            None => rest(input, &[]),
        },
        "WriteFile" => match text(input, "content") {
            Some(content) => html! {
                @if now.is_none() { p.hint { "There is no such file, or it cannot be compared: this is all of it." } }
                (diff(now.unwrap_or_default(), content)) (rest(input, &["path", "content"]))
            },
            None => rest(input, &[]),
        },
        "EditFile" => match (text(input, "old"), text(input, "new")) {
            (Some(old), Some(new)) => {
                html! { (diff(old, new)) (rest(input, &["path", "old", "new"])) }
            }
            _ => rest(input, &[]),
        },
        _ => rest(input, &["path"]),
    }
}

fn text<'input>(input: &'input Value, field: &str) -> Option<&'input str> {
    input.get(field)?.as_str()
}

/// What is left of an input, field by field.
fn rest(input: &Value, shown: &[&str]) -> Markup {
    let Value::Object(fields) = input else {
        return html! { pre tabindex="0" { (pretty(input)) } };
    };
    let left: Vec<_> = fields.iter().filter(|(name, _)| !shown.contains(&name.as_str())).collect();
    html! {
        @if !left.is_empty() {
            dl.input {
                @for (name, value) in left {
                    dt { (name) }
                    dd {
                        @match value {
                            Value::String(text) => { pre tabindex="0" { (text) } },
                            value => { pre tabindex="0" { (pretty(value)) } },
                        }
                    }
                }
            }
        }
    }
}

/// Returns a value on several lines.
pub fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    shorten(&text, 64 * 1024)
}

/// Two texts, line by line.
pub fn diff(old: &str, new: &str) -> Markup {
    let diff =
        TextDiff::configure().timeout(std::time::Duration::from_millis(200)).diff_lines(old, new);
    let mut lines = Vec::new();
    for (number, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if number > 0 {
            lines.push(("gap", " ", "…".to_owned()));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (class, sign) = match change.tag() {
                ChangeTag::Delete => ("del", "-"),
                ChangeTag::Insert => ("ins", "+"),
                ChangeTag::Equal => ("same", " "),
            };
            lines.push((class, sign, change.value().trim_end_matches(['\r', '\n']).to_owned()));
        }
    }
    let left_out = lines.len().saturating_sub(LINES);
    html! {
        @if lines.is_empty() { p.hint { "Nothing changes." } }
        @else {
            pre.diff tabindex="0" aria-label="What would change" {
                @for (class, sign, line) in lines.iter().take(LINES) {
                    span.(class) { (sign) (line) "\n" }
                }
            }
            @if left_out > 0 { p.hint { (left_out) " more lines." } }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(tool: &str, input: Value, now: Option<&str>) -> String {
        let call = RequestedCall { tool: tool.to_owned(), input, changed: None, shortened: false };
        one(&call, now).into_string()
    }

    #[test]
    fn a_write_is_compared_with_the_file() {
        let page =
            shown("WriteFile", json!({"path": "a", "content": "one\nthree\n"}), Some("one\ntwo\n"));
        assert!(page.contains("<span class=\"del\">-two\n</span>"), "{page}");
        assert!(page.contains("<span class=\"ins\">+three\n</span>"), "{page}");
        let fresh = shown("WriteFile", json!({"path": "a", "content": "one\n"}), None);
        assert!(fresh.contains("+one") && fresh.contains("no such file"), "{fresh}");
    }

    #[test]
    fn every_field_is_shown_and_escaped() {
        let input = json!({"command": "echo '<b>'", "cwd": "<i>", "list": ["<u>"]});
        let page = shown("Shell", input, None);
        for text in ["&lt;b&gt;", "&lt;i&gt;", "&lt;u&gt;"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        for tag in ["<b>", "<i>", "<u>"] {
            assert!(!page.contains(tag), "{tag}: {page}");
        }
        assert!(shown("Mcp", json!("text"), None).contains("text"));
    }
}
