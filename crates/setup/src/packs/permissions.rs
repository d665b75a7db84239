//! What a hook may do, in words, and what an update changes about it.

use std::collections::BTreeMap;

use anyhook_engine::front_matter::FrontMatter;
use anyhook_model::hook::{EnvAccess, FailMode, Mode, StdoutUse};
use anyhook_model::report::changes::PermissionChange;
use serde_json::Value;

use super::PackHook;
use super::tree::HOOK_FILE;

/// What is said of a hook that decides without a script.
pub const DECLARATIVE: &str = "nothing: decides by its HOOK.md alone";

/// What a hook may do: each fact by its name, the most important first.
pub type Facts = Vec<(&'static str, String)>;

/// Returns what a hook may do.
pub fn facts(hook: &PackHook) -> Facts {
    let definition = &hook.definition;
    let triggers: Vec<String> =
        definition.triggers.iter().map(|trigger| trigger.kind.to_string()).collect();
    let scripts: Vec<&str> =
        hook.files.keys().map(String::as_str).filter(|path| path.starts_with("scripts/")).collect();
    let runs = if scripts.is_empty() { DECLARATIVE.to_owned() } else { scripts.join(", ") };
    let mut facts = vec![("trigger", triggers.join(", ")), ("script", runs)];
    let matter = hook.files.get(HOOK_FILE).and_then(|file| FrontMatter::read(&file.bytes).ok());
    let key = |name: &str| {
        let value = matter.as_ref()?.root.get(name)?.to_json();
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    facts.extend(key("matcher").map(|matcher| ("matcher", matcher)));
    for name in ["decision", "reason", "modified_input", "additional_context"] {
        facts.extend(key(name).map(|value| (name, value)));
    }
    let on_failure = match definition.on_failure {
        FailMode::Block => "block",
        FailMode::Allow => "allow",
    };
    facts.push(("on_failure", on_failure.to_owned()));
    if definition.mode == Mode::Shadow {
        facts.push(("mode", "shadow".to_owned()));
    }
    if definition.is_async {
        facts.push(("async", "true".to_owned()));
    }
    if definition.stdout == StdoutUse::Context {
        facts.push(("stdout", "context".to_owned()));
    }
    match &definition.env {
        EnvAccess::Inherit => facts.push(("env", EnvAccess::INHERIT.to_owned())),
        EnvAccess::Named(names) if !names.is_empty() => facts.push(("env", names.join(", "))),
        EnvAccess::Named(_) => {}
    }
    if !definition.hosts.is_empty() {
        facts.push(("hosts", definition.hosts.join(", ")));
    }
    if definition.metadata.get("locked") == Some(&Value::Bool(false)) {
        facts.push(("locked", "false".to_owned()));
    }
    facts
}

/// Returns what changes between two versions of a pack.
pub fn changes(before: &[PackHook], after: &[PackHook]) -> Vec<PermissionChange> {
    let named = |hooks: &'_ [PackHook]| -> BTreeMap<String, Facts> {
        hooks.iter().map(|hook| (hook.name().to_owned(), facts(hook))).collect()
    };
    let (before, after) = (named(before), named(after));
    let mut changes = Vec::new();
    for (hook, old) in &before {
        let Some(new) = after.get(hook) else {
            changes.push(change(hook, "hook", Some(&value(old, "trigger")), None));
            continue;
        };
        let facts = old.iter().chain(new.iter().filter(|(name, _)| !has(old, name)));
        for (name, _) in facts {
            let (was, is) = (find(old, name), find(new, name));
            if was != is {
                changes.push(change(hook, name, was, is));
            }
        }
    }
    for (hook, new) in after.iter().filter(|(hook, _)| !before.contains_key(*hook)) {
        let words = new.iter().map(|(name, value)| format!("{name}: {value}"));
        let words = words.collect::<Vec<_>>().join("; ");
        changes.push(change(hook, "hook", None, Some(&words)));
    }
    changes
}

fn find<'facts>(facts: &'facts Facts, name: &str) -> Option<&'facts String> {
    facts.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

fn has(facts: &Facts, name: &str) -> bool {
    find(facts, name).is_some()
}

fn value(facts: &Facts, name: &str) -> String {
    find(facts, name).cloned().unwrap_or_default()
}

fn change(
    hook: &str,
    what: &str,
    before: Option<&String>,
    after: Option<&String>,
) -> PermissionChange {
    PermissionChange {
        hook: hook.to_owned(),
        what: what.to_owned(),
        before: before.cloned(),
        after: after.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::pack_of;
    use super::*;

    fn shown(before: &[(&str, &str)], after: &[(&str, &str)]) -> String {
        let (before, after) = (pack_of(before), pack_of(after));
        let word = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let line = |change: PermissionChange| {
            let (before, after) = (word(change.before), word(change.after));
            format!("{} {}: {before} => {after}\n", change.hook, change.what)
        };
        changes(&before.hooks, &after.hooks).into_iter().map(line).collect()
    }

    const BEFORE: &str = "---\nname: one\ndescription: d\ntrigger: before_tool\n\
                          matcher:\n  tool: Shell\non_failure: block\n---\n";

    #[test]
    fn every_change_of_what_a_hook_may_do_is_told() {
        let after = "---\nname: one\ndescription: other\ntrigger: [before_tool, after_tool]\n\
                     env: inherit\nhosts: [codex]\nmode: shadow\nasync: true\n---\n";
        let script = ("hooks/one/scripts/run", "#!/bin/sh\n");
        insta::assert_snapshot!(
            shown(&[("hooks/one/HOOK.md", BEFORE)], &[("hooks/one/HOOK.md", after), script]),
            @r#"
        one trigger: before_tool => before_tool, after_tool
        one script: nothing: decides by its HOOK.md alone => scripts/run
        one matcher: {"tool":"Shell"} => -
        one on_failure: block => allow
        one mode: - => shadow
        one async: - => true
        one env: - => inherit
        one hosts: - => codex
        "#
        );
    }

    #[test]
    fn new_and_removed_hooks_are_told_and_texts_are_not() {
        let other = BEFORE.replace("name: one", "name: two");
        let reworded = BEFORE.replace("description: d", "description: e");
        assert_eq!(
            shown(&[("hooks/one/HOOK.md", BEFORE)], &[("hooks/one/HOOK.md", &reworded)]),
            ""
        );
        insta::assert_snapshot!(
            shown(&[("hooks/one/HOOK.md", BEFORE)], &[("hooks/two/HOOK.md", &other)]),
            @r#"
        one hook: before_tool => -
        two hook: - => trigger: before_tool; script: nothing: decides by its HOOK.md alone; matcher: {"tool":"Shell"}; on_failure: block
        "#
        );
    }

    #[test]
    fn what_decides_without_a_script_is_told_with_its_decision() {
        let before = BEFORE.replace("on_failure", "decision: deny\nreason: no\non_failure");
        let after = before.replace("decision: deny", "decision: allow");
        insta::assert_snapshot!(
            shown(&[("hooks/one/HOOK.md", &before)], &[("hooks/one/HOOK.md", &after)]),
            @"one decision: deny => allow"
        );
    }
}
