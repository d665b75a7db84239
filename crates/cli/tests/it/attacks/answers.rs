//! To lose a guard's deny on its way: in another agent's words, beside other output, misspelt.

use super::attack_fixture::{EVIL, Host, SHELL_GUARD, WORDS, World};
use super::{Attempt, Outcome, Seen};

/// What a guard prints that means no, in any of the words that agents know. `[W]` is its reason.
const DENIES: [(&str, &str); 30] = [
    ("The open format's own word", r#"{"decision": "deny", "reason": "[W]"}"#),
    ("The open format's other word", r#"{"decision": "block", "reason": "[W]"}"#),
    ("The word in capitals", r#"{"decision": "DENY", "reason": "[W]"}"#),
    ("The word with a capital", r#"{"decision": "Block", "reason": "[W]"}"#),
    (
        "The word of Claude Code",
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "[W]"}}"#,
    ),
    (
        "The word of Claude Code without the event's name",
        r#"{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "[W]"}}"#,
    ),
    (
        "The word of Claude Code, not nested",
        r#"{"permissionDecision": "deny", "permissionDecisionReason": "[W]"}"#,
    ),
    ("Claude Code's way to stop everything", r#"{"continue": false, "stopReason": "[W]"}"#),
    ("Claude Code's old word", r#"{"decision": "block", "reason": "[W]", "suppressOutput": true}"#),
    (
        "The word of Cursor",
        r#"{"permission": "deny", "userMessage": "[W]", "agentMessage": "[W]"}"#,
    ),
    ("The word of Gemini CLI", r#"{"decision": "deny", "reason": "[W]", "systemMessage": "x"}"#),
    ("A list with one answer", r#"[{"decision": "deny", "reason": "[W]"}]"#),
    (
        "A list whose second answer denies",
        r#"[{"decision": "allow"}, {"decision": "deny", "reason": "[W]"}]"#,
    ),
    (
        "A deny before an allow",
        "{\"decision\": \"deny\", \"reason\": \"[W]\"}\n{\"decision\": \"allow\"}",
    ),
    (
        "An allow before a deny",
        "{\"decision\": \"allow\"}\n{\"decision\": \"deny\", \"reason\": \"[W]\"}",
    ),
    (
        "A deny after log text on its line",
        r#"checking the command: {"decision": "deny", "reason": "[W]"}"#,
    ),
    ("A deny after lines of log", "one\ntwo\n{\"decision\": \"deny\", \"reason\": \"[W]\"}"),
    ("A deny before lines of log", "{\"decision\": \"deny\", \"reason\": \"[W]\"}\nbye"),
    ("A deny spread over lines", "{\n  \"decision\": \"deny\",\n  \"reason\": \"[W]\"\n}"),
    (
        "A deny after an object that means nothing",
        "{\"level\": \"info\"}\n{\"decision\": \"deny\", \"reason\": \"[W]\"}",
    ),
    (
        "A decision given twice, the allow last",
        r#"{"decision": "deny", "decision": "allow", "reason": "[W]"}"#,
    ),
    (
        "A decision given twice, the deny last",
        r#"{"decision": "allow", "decision": "deny", "reason": "[W]"}"#,
    ),
    (
        "An allow of the open format beside a deny of Claude Code",
        r#"{"decision": "allow", "reason": "[W]", "hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "[W]"}}"#,
    ),
    (
        "A deny beside a changed input",
        r#"{"decision": "deny", "reason": "[W]", "modified_input": {"command": "ls"}}"#,
    ),
    (
        "A deny beside members that nobody knows",
        r#"{"decision": "deny", "reason": "[W]", "severity": 9, "x": null}"#,
    ),
    ("A deny after a byte order mark", "\u{feff}{\"decision\": \"deny\", \"reason\": \"[W]\"}"),
    (
        "A deny after colours for a terminal",
        "\u{1b}[31m\n{\"decision\": \"deny\", \"reason\": \"[W]\"}\n\u{1b}[0m",
    ),
    ("A deny between empty objects", "{}\n{\"decision\": \"deny\", \"reason\": \"[W]\"}\n{}"),
    ("A deny with blanks before it", "   {\"decision\": \"deny\", \"reason\": \"[W]\"}"),
    (
        "A deny that ends without a line break and with CR LF before",
        "x\r\n{\"decision\": \"deny\", \"reason\": \"[W]\"}",
    ),
];

/// What a guard prints that nobody can understand.
const FAILURES: [(&str, &str); 22] = [
    ("A key misspelt", r#"{"decison": "deny", "reason": "x"}"#),
    ("Another key misspelt", r#"{"desicion": "deny"}"#),
    ("A dialect's key misspelt", r#"{"permissionDecison": "deny"}"#),
    ("A nested key misspelt", r#"{"hookSpecificOutput": {"permisionDecision": "deny"}}"#),
    ("A key in another case", r#"{"Decision": "denied"}"#),
    ("An unknown word", r#"{"decision": "denied"}"#),
    ("Another unknown word", r#"{"decision": "no"}"#),
    ("An empty word", r#"{"decision": ""}"#),
    ("An unknown word of a dialect", r#"{"hookSpecificOutput": {"permissionDecision": "reject"}}"#),
    ("A decision that is a number", r#"{"decision": 0}"#),
    ("A decision that is false", r#"{"decision": false}"#),
    ("A decision that is a list", r#"{"decision": ["deny"]}"#),
    ("A decision that is an object", r#"{"decision": {"deny": true}}"#),
    ("An object that means nothing", r#"{"status": "dangerous"}"#),
    ("An object with the exit code of a deny", r#"{"exit_code": 2}"#),
    ("A deny that is cut short", r#"{"decision": "deny""#),
    ("A deny that is cut short in its reason", r#"{"decision": "deny", "reason": "x"#),
    ("Single quotes instead of double ones", "{'decision': 'deny'}"),
    ("Keys without quotes", "{decision: deny}"),
    ("A comma too many", r#"{"decision": "deny",}"#),
    ("A wrong type beside a good word", r#"{"decision": "allow", "modified_input": "ls"}"#),
    ("Only an opening brace", "{"),
];

/// Ways to print a deny that is one by the exit code.
const BY_EXIT_CODE: [(&str, &str); 8] = [
    (
        "Exit 2 with an allow on standard output",
        "echo '{\"decision\": \"allow\"}'; echo [W] >&2; exit 2",
    ),
    ("Exit 2 with broken JSON on standard output", "echo '{\"decision'; echo [W] >&2; exit 2"),
    ("Exit 2 with a reason that is not UTF-8", "printf '\\377[W]\\376' >&2; exit 2"),
    ("Exit 2 with a megabyte of reason", "echo [W] >&2; yes | head -c 1000000 >&2; exit 2"),
    ("Exit 2 after closing standard output", "exec >&-; echo [W] >&2; exit 2"),
    ("Exit 2 from a subshell's failure with `set -e`", "set -e; echo [W] >&2; (exit 2)"),
    ("Exit 2 without reading the input", "exec <&-; echo [W] >&2; exit 2"),
    ("Exit 2 with a child that still writes", "(sleep 1; echo late) & echo [W] >&2; exit 2"),
];

fn attempt(host: Host, script: &str) -> Seen {
    // The harmless call does not meet the guard, so it is told apart in the script as well.
    let script = format!("grep -q EVIL || exit 0\n{}", script.replace("[W]", WORDS));
    let matter = SHELL_GUARD.replace("  pattern: EVIL\n", "");
    let world = World::with(&matter, &script);
    world.lets_pass(host)?;
    world.shell(host, EVIL).verdict()
}

fn printing(text: &str) -> String {
    format!("cat <<'END'\n{text}\nEND")
}

/// What stands in a cell of the table.
fn shown(text: &str) -> String {
    let text = text.replace("[W]", "no").replace('\u{1b}', "ESC").replace('\u{feff}', "BOM");
    format!("prints `{}`", text.replace("\r\n", "␍␊").replace('\n', "␊").trim())
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, text)) in DENIES.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("{}, in `{}`", shown(text), host.name());
        let run = move || attempt(host, &printing(text));
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    for (number, (what, text)) in FAILURES.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("{}, in `{}`", shown(text), host.name());
        let run = move || attempt(host, &printing(text));
        list.push(Attempt::new(what, how, Outcome::Blocked, run));
    }
    for (number, (what, script)) in BY_EXIT_CODE.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("`{}`, in `{}`", script.replace("[W]", "no"), host.name());
        let run = move || attempt(host, script);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    list
}
