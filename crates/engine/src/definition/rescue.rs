//! Rescues a front matter that cannot be parsed as a whole, so that what is left of it still
//! guards.

use anyhook_model::{EventKind, FailMode, HookDefinition, HookTrigger, Spelling};

use super::read;
use crate::front_matter::FrontMatter;

/// Reads whatever can be read, line by line, from a front matter that is broken elsewhere.
///
/// A guard that says `on_failure: block` must not be switched off by a typo in another line.
pub(super) fn rescue(file: &[u8], folder_name: &str) -> HookDefinition {
    const LINES: usize = 200;
    const KEPT: [&str; 5] = ["trigger", "on_failure", "async", "mode", "hosts"];
    let matter = |lines: &str| format!("---\n{lines}---\n").into_bytes();
    let is_kept = |line: &str| {
        KEPT.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    let text = String::from_utf8_lossy(file);
    let is_fence = |line: &&str| line.trim_end() == "---";
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // A title or a comment may precede the opening fence: then the second one ends it.
    let is_open = text.lines().next().is_some_and(|line| is_fence(&line));
    let has_end = text.lines().take(LINES).filter(is_fence).count() > 1;
    let fences = if is_open || !has_end { 1 } else { 2 };
    let matter_lines = || {
        let mut met = 0;
        let inside = move |line: &&str| {
            met += usize::from(is_fence(line));
            met < fences
        };
        let lines = text.lines().skip(usize::from(is_open)).take(LINES);
        // YAML allows no tabs before a key.
        lines.take_while(inside).map(|line| line.trim_start_matches('\t'))
    };
    let mut lines = matter_lines().peekable();
    let mut sound = String::new();
    while let Some(line) = lines.next() {
        let mut value = format!("{line}\n");
        // Indented lines and list items below a key belong to it.
        while let Some(more) = lines.next_if(|next| next.starts_with([' ', '-'])) {
            value.push_str(more);
            value.push('\n');
        }
        if is_kept(&value) && FrontMatter::read(&matter(&value)).is_ok() {
            sound.push_str(&value);
        }
    }
    let mut definition = match FrontMatter::read(&matter(&sound)) {
        Ok(_) => read(&matter(&sound), folder_name).definition,
        Err(_) => HookDefinition::named(folder_name),
    };
    if matter_lines().any(mentions_block) {
        definition.on_failure = FailMode::Block;
        // What it guards cannot be read, or is given twice (a merge conflict), and a guard that is
        // not asked does not guard: it blocks tool calls until a person has looked at it.
        let is_said_once = sound.lines().filter(|line| line.starts_with("trigger")).count() == 1;
        if definition.triggers.is_empty() || !is_said_once {
            definition.triggers = tool_calls();
        }
    }
    definition
}

/// Returns the events at which tool calls are decided.
pub(super) fn tool_calls() -> Vec<HookTrigger> {
    let kinds = [EventKind::BeforeTool, EventKind::PermissionRequest];
    kinds.map(|kind| HookTrigger { kind, spelling: Spelling::Canonical }).into()
}

/// Returns whether a line says `on_failure: block`, however it is spaced and quoted.
fn mentions_block(line: &str) -> bool {
    let letters =
        line.chars().filter(|letter| !letter.is_whitespace() && !"'\"{},".contains(*letter));
    let letters: String = letters.take(200).collect::<String>().to_ascii_lowercase();
    !letters.starts_with('#') && letters.contains("on_failure:block")
}
