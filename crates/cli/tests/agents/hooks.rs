//! The hooks, the same for every agent, and what they say.

use anyhook_testkit::TestEnv;

pub const DANGER: &str = "this would delete what is precious";
/// Followed by the tool.
pub const PROTECTED: &str = "this file is protected from";
pub const ASK: &str = "somebody should look at this first";
pub const UNFINISHED: &str = "the work is not finished yet";
pub const CONTEXT_OF_SESSION: &str = "told at the session's start";
pub const CONTEXT_OF_PROMPT: &str = "told with the prompt";
pub const CONTEXT_BEFORE_TOOL: &str = "told before the tool";
pub const CONTEXT_AFTER_TOOL: &str = "told after the tool";
pub const CONTEXT_AT_STOP: &str = "told at the stop";
/// What a blocked call's reason says of the guard that crashed.
pub const CRASHED: &str = "crashing-guard";

/// Makes the hooks.
pub fn write(environment: &TestEnv) {
    let hook = |name: &str, matter: &str, script: &str| {
        environment.user_hook(name, matter, script);
    };
    hook("silent", "trigger: before_tool", "echo nothing to say");
    hook("no-danger", &at_shell("^rm -rf"), &deny(DANGER));
    hook(
        "protected-files",
        // A path's end: the text of a whole patch does not match, only what is read out of it.
        "trigger: before_tool\nmatcher: {tool: '(Write|Edit|Delete|Move)File', pattern: 'protected/[a-z]+\\.txt$'}",
        &format!("echo \"{PROTECTED} $ANYHOOK_TOOL\" >&2\nexit 2"),
    );
    hook("asking", &at_shell("ask-please"), &ask(ASK));
    hook("crashing-guard", &(at_shell("crash-please") + "\non_failure: block"), "kill -9 $$");
    change_commands(environment);
    hook(
        "stamp",
        "trigger: before_tool\nmatcher: {tool: WriteFile, pattern: 'draft\\.txt$'}",
        r#"printf '%s\n' '{"modified_input": {"content": "stamped\n"}}'"#,
    );
    hook(
        "session-context",
        "trigger: session_start\nstdout: context",
        &format!("echo {CONTEXT_OF_SESSION:?}"),
    );
    hook(
        "prompt-context",
        "trigger: before_agent\nstdout: context",
        &format!("echo {CONTEXT_OF_PROMPT:?}"),
    );
    hook(
        "tool-context",
        &(at_shell("context-please") + "\nstdout: context"),
        &format!("echo {CONTEXT_BEFORE_TOOL:?}"),
    );
    hook(
        "result-context",
        "trigger: after_tool\nmatcher: {tool: Shell, pattern: heard}\nstdout: context",
        &format!("echo {CONTEXT_AFTER_TOOL:?}"),
    );
    hook("stop-gate", "trigger: before_stop\nstdout: context", &stop_gate());
}

/// Two hooks that change a command; the second knows only what the first makes of it.
fn change_commands(environment: &TestEnv) {
    let one = "echo one > changed.txt";
    let change =
        |command: &str| format!(r#"echo '{{"modified_input": {{"command": "{command}"}}}}'"#);
    let matter =
        |priority: u32, pattern: &str| at_shell(pattern) + &format!("\npriority: {priority}");
    environment.user_hook("change-first", &matter(600, "^echo original"), &change(one));
    let receives = format!("grep -q '\"command\": \"{one}\"' || exit 1\n");
    let script = receives + &change(&format!("{one}; echo two >> changed.txt"));
    environment.user_hook("change-second", &matter(500, &format!("^{one}$")), &script);
}

/// Blocks until the work is finished; tells the number of tool calls either way.
fn stop_gate() -> String {
    format!(
        "sed -n 's/.*\"step_count\": \\([0-9]*\\).*/steps=\\1/p'\n\
         [ -e finished.txt ] || {{ echo {UNFINISHED:?} >&2; exit 2; }}\n\
         echo {CONTEXT_AT_STOP:?}"
    )
}

fn at_shell(pattern: &str) -> String {
    format!("trigger: before_tool\nmatcher: {{tool: Shell, pattern: '{pattern}'}}")
}

fn deny(reason: &str) -> String {
    format!("echo {reason:?} >&2\nexit 2")
}

fn ask(reason: &str) -> String {
    format!(r#"echo '{{"decision": "ask", "reason": "{reason}"}}'"#)
}
