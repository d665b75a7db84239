use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::{AGENTS, HostSpec};

/// Returns every recorded screen: the agent, its name and its text.
fn screens() -> BTreeMap<(&'static str, String), String> {
    let mut screens = BTreeMap::new();
    for agent in AGENTS.into_iter().filter(|agent| agent.dialog.is_some()) {
        let folder = format!("src/{}/screens", agent.id().replace('-', "_"));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            screens.insert((agent.id(), name), fs::read_to_string(path).unwrap());
        }
    }
    screens
}

fn agent(id: &str) -> &'static HostSpec {
    crate::find(id).unwrap()
}

fn named(keys: Option<&Vec<Key>>) -> String {
    keys.map_or_else(
        || "–".to_owned(),
        |keys| keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(" "),
    )
}

#[test]
fn every_recorded_screen_is_read_as_what_it_shows() {
    let mut found = Vec::new();
    for ((id, name), text) in screens() {
        let shown = agent(id).dialog(&text).map_or_else(
            || "nothing".to_owned(),
            |dialog| {
                let Dialog { name, prompt_type, question, about, allow, deny, options, .. } =
                    dialog;
                let about = about.map(|about| format!(" [{about}]")).unwrap_or_default();
                let (allow, deny) = (named(allow.as_ref()), named(deny.as_ref()));
                let kind = prompt_type.name();
                let options = options.iter().map(|(option, keys)| {
                    let keys = named(Some(keys));
                    format!("; {option}: {keys}")
                });
                let options: String = options.collect();
                format!("{name} ({kind}): {question}{about}; allow: {allow}; deny: {deny}{options}")
            },
        );
        found.push(format!("{id} {name}: {shown}"));
    }
    insta::assert_snapshot!(found.join("\n"), @"
    claude-code api_key: api_key (permission): Claude Code asks whether it may use the API key from its environment; allow: Up Enter; deny: Enter
    claude-code api_key_up: api_key (permission): Claude Code asks whether it may use the API key from its environment; allow: Enter; deny: Down Enter
    claude-code bypass: bypass_permissions (permission): Claude Code asks whether it may run without asking for permission; allow: Down Enter; deny: Enter
    claude-code bypass_down: bypass_permissions (permission): Claude Code asks whether it may run without asking for permission; allow: Enter; deny: Up Enter
    claude-code idle: nothing
    claude-code login: login (other): Claude Code asks how to log in; allow: –; deny: –
    claude-code mcp_server: mcp_server (permission): Claude Code asks whether it may use one of the project's MCP servers [demo]; allow: Up Up Enter; deny: Enter
    claude-code mcp_servers: mcp_servers (permission): Claude Code asks whether it may use the project's MCP servers [demo, other]; allow: Down Down Enter; deny: Escape
    claude-code permission: nothing
    claude-code quoted: nothing
    claude-code theme: theme (other): Claude Code asks which color theme to use; allow: Enter; deny: –
    claude-code trust: trust (permission): Claude Code asks whether to trust this folder [/home/user/project]; allow: Down Enter; deny: Enter
    claude-code trust_down: trust (permission): Claude Code asks whether to trust this folder [/home/user/project]; allow: Enter; deny: Up Enter
    claude-code trust_narrow: trust (permission): Claude Code asks whether to trust this folder [/home/user/project]; allow: Down Enter; deny: Enter
    claude-code working: nothing
    codex approval: nothing
    codex done: nothing
    codex hook_trust: hook_trust (permission): Codex asks whether to trust its hooks [2 hooks are new or changed.]; allow: Down Enter; deny: Down Down Enter
    codex hook_trust_second: hook_trust (permission): Codex asks whether to trust its hooks [2 hooks are new or changed.]; allow: Enter; deny: Down Enter
    codex idle: nothing
    codex login: login (other): Codex asks how to log in; allow: –; deny: –
    codex model_offer: model (other): Codex offers another model [GPT-6 Sol]; allow: Enter; deny: Down Enter
    codex question: question (question): Which colour?; allow: –; deny: –; red: Enter; blue: Down Enter; None of the above: Down Down Enter
    codex quoted: nothing
    codex trust: trust (permission): Codex asks whether to trust this folder [/home/user/project]; allow: Enter; deny: Down Enter
    codex trust_down: trust (permission): Codex asks whether to trust this folder [/home/user/project]; allow: Up Enter; deny: Enter
    codex trust_narrow: trust (permission): Codex asks whether to trust this folder [/home/user/project]; allow: Enter; deny: Down Enter
    codex update: update (other): Codex offers an update [Update available · 0.166.0 → 9.9.9]; allow: Enter; deny: Down Enter
    gemini-cli auth: login (other): Gemini CLI asks how to log in; allow: –; deny: –
    gemini-cli idle: nothing
    gemini-cli loop: loop (other): Gemini CLI seems to be stuck in a loop. Continue with loop detection off?; allow: Down Enter; deny: Enter
    gemini-cli permission_shell: permission (permission): Allow execution of [Shell]? [Shell  touch done]; allow: Enter; deny: Escape
    gemini-cli permission_shell_second: permission (permission): Allow execution of [Shell]? [Shell  touch done]; allow: Up Enter; deny: Escape
    gemini-cli permission_write: permission (permission): Apply this change? [WriteFile  Writing to notes.txt]; allow: Enter; deny: Escape
    gemini-cli plan: plan (plan_approval): Gemini CLI asks you to approve its plan; allow: Down Enter; deny: Escape
    gemini-cli question: question (question): Which colour?; allow: –; deny: –; red: Enter; blue: Down Enter; Enter a custom value: Down Down Enter
    gemini-cli question_second: question (question): Which colour?; allow: –; deny: –; red: Up Enter; blue: Enter; Enter a custom value: Down Enter
    gemini-cli quoted: nothing
    gemini-cli restarting: nothing
    gemini-cli trust: trust (permission): Gemini CLI asks whether to trust this folder; allow: Enter; deny: Down Down Enter
    gemini-cli trust_down: trust (permission): Gemini CLI asks whether to trust this folder; allow: Up Enter; deny: Down Enter
    gemini-cli trust_narrow: trust (permission): Gemini CLI asks whether to trust this folder; allow: Enter; deny: Down Down Enter
    opencode always: nothing
    opencode idle: nothing
    opencode permission: permission (permission): OpenCode asks for permission: Shell command [$ touch done]; allow: –; deny: Escape
    opencode permission_colours: permission (permission): OpenCode asks for permission: Shell command [$ touch done]; allow: Enter; deny: Escape
    opencode permission_colours_second: permission (permission): OpenCode asks for permission: Shell command [$ touch done]; allow: Left Enter; deny: Escape
    opencode permission_edit: permission (permission): OpenCode asks for permission: Edit notes.txt [Edit notes.txt]; allow: Enter; deny: Escape
    opencode permission_narrow: permission (permission): OpenCode asks for permission: Shell command [$ touch done]; allow: Enter; deny: Escape
    opencode quoted: nothing
    opencode working: nothing
    ");
}

/// Text below a dialog shows that it is quoted, or closed.
#[test]
fn a_dialog_is_what_the_screen_ends_with() {
    for ((id, name), text) in screens() {
        for below in ["\n› Ask anything\n", "\n────\n❯ \n────\n  status\n", "\n  done.\n"]
        {
            let text = format!("{}{below}", text.trim_end());
            let found = agent(id).dialog(&text);
            assert!(found.is_none(), "{id} {name} {below:?}: {found:?}");
        }
    }
}

/// However much of it has been drawn, the keys are those of the complete dialog, or there are none.
#[test]
fn a_part_of_a_dialog_is_none_or_the_same() {
    for ((id, name), text) in screens() {
        let Some(whole) = agent(id).dialog(&text) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        for cut in 0..lines.len() {
            let Some(part) = agent(id).dialog(&lines[..cut].join("\n")) else { continue };
            assert_eq!(part, whole, "{id} {name} {cut}");
        }
    }
}

proptest! {
    /// No text is too odd to be parsed.
    #[test]
    fn any_text_can_be_looked_at(text in "([a-z ❯›●╭╰│┃╹─△\n\u{1b}\\[0-9;m]|Allow once|Reject){0,60}") {
        for agent in AGENTS {
            let _ = agent.dialog(&text);
        }
    }
}

#[test]
fn where_the_mark_is_makes_no_other_dialog() {
    let at = |allow: Vec<Key>, about: &str| Dialog {
        name: "trust",
        prompt_type: PromptType::Permission,
        question: "Is this folder trusted?".to_owned(),
        about: Some(about.to_owned()),
        allow: Some(allow),
        deny: None,
        ..Dialog::default()
    };
    let first = at(vec![Key::Down, Key::Enter], "/p");
    assert_eq!(first.words(), "Is this folder trusted? /p");
    assert!(first.is_same(&at(vec![Key::Enter], "/p")));
    assert!(!first.is_same(&at(vec![Key::Enter], "/q")));
}

#[test]
fn a_dialog_is_known_by_the_call_that_a_hook_told_of() {
    let dialog = |about: &str| Dialog {
        name: "permission",
        prompt_type: PromptType::Permission,
        question: "Allow it?".to_owned(),
        about: Some(about.to_owned()),
        allow: None,
        deny: None,
        ..Dialog::default()
    };
    let shell = dialog("Shell  touch done");
    assert!(shell.is_about("touch done", None) && shell.is_about("touch  done\nrm -r it", None));
    assert!(!shell.is_about("rm -r it", None) && !shell.is_about("/p/notes.txt", None));
    let long = format!("echo {}", "word ".repeat(60));
    assert!(dialog(&format!("Shell  {}…", &long[..100])).is_about(&long, None));
    let write = dialog("WriteFile  Writing to notes.txt");
    assert!(
        write.is_about("/home/user/project/notes.txt", None)
            && !write.is_about("/home/other.txt", None)
    );
    assert!(!write.is_about("/usr/bin/git push origin a/to", None), "not a path");
    assert!(!write.is_about("/home/tes.txt", None) && !shell.is_about(" ", None));
    let other = format!("{} other", &long[..80]);
    assert!(!dialog(&format!("Shell  {}…", &long[..100])).is_about(&other, None));
    let plan = Dialog { prompt_type: PromptType::PlanApproval, ..dialog("A plan") };
    assert!(plan.is_about("plan.md", Some(PromptType::PlanApproval)));
    assert!(!plan.is_about("touch done", Some(PromptType::Permission)));
}
