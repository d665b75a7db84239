//! To do the same by another tool, by a patch, or by a name that the guard's matcher does not have.

use serde_json::{Value, json};

use super::world::{EVIL, Host, SHELL_GUARD, World, denying};
use super::{Attempt, Outcome, Seen};

/// Tools that run commands, and where the command is.
const COMMANDS: [(Host, &str, &str); 34] = [
    (Host::Claude, "Bash", "command"),
    (Host::Claude, "Monitor", "command"),
    (Host::Claude, "PowerShell", "command"),
    (Host::Claude, "bash", "command"),
    (Host::Claude, "BASH", "command"),
    (Host::Claude, "SomethingNew", "command"),
    (Host::Claude, "SomethingNew", "cmd"),
    (Host::Claude, "SomethingNew", "script"),
    (Host::Claude, "SomethingNew", "shell"),
    (Host::Claude, "mcp__box__run", "command"),
    (Host::Claude, "mcp__box__run", "cmd"),
    (Host::Codex, "Bash", "command"),
    (Host::Codex, "shell", "command"),
    (Host::Codex, "exec_command", "cmd"),
    (Host::Codex, "local_shell", "command"),
    (Host::Codex, "SomethingNew", "command"),
    (Host::Codex, "SomethingNew", "cmd"),
    (Host::Codex, "mcp__box__run", "command"),
    (Host::Gemini, "run_shell_command", "command"),
    (Host::Gemini, "Run_Shell_Command", "command"),
    (Host::Gemini, "something_new", "command"),
    (Host::Gemini, "something_new", "cmd"),
    (Host::Gemini, "something_new", "script"),
    (Host::Gemini, "box__run", "command"),
    (Host::OpenCode, "bash", "command"),
    (Host::OpenCode, "Bash", "command"),
    (Host::OpenCode, "something_new", "command"),
    (Host::OpenCode, "something_new", "cmd"),
    (Host::OpenCode, "something_new", "shell"),
    (Host::Open, "Shell", "command"),
    (Host::Open, "shell", "command"),
    (Host::Open, "SHELL", "command"),
    (Host::Open, "Bash", "command"),
    (Host::Open, "run_shell_command", "command"),
];

/// Names that a guard's author may write for the tool that runs commands.
const MATCHERS: [&str; 9] = [
    "Shell",
    "shell",
    "SHELL",
    "Bash",
    "bash",
    "run_shell_command",
    "Bash|Write",
    "(Bash|Shell)",
    "Run_Shell_Command",
];

fn by_tool(host: Host, tool: &str, member: &str) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    let call = |command: &str| {
        let input: Value = json!({member: command});
        world.send(host, host.call(tool, &input, &world.project()).to_string())
    };
    let harmless = call("ls");
    if !harmless.passes() {
        return Err(format!("a harmless call does not pass: {harmless:?}"));
    }
    call(EVIL).verdict()
}

fn by_matcher(host: Host, matcher: &str) -> Seen {
    let matter = SHELL_GUARD.replace("tool: Shell", &format!("tool: {matcher}"));
    let world = World::with(&matter, &denying());
    let harmless = world.shell(host, "ls");
    if !harmless.passes() {
        return Err(format!("a harmless call does not pass: {harmless:?}"));
    }
    world.shell(host, EVIL).verdict()
}

/// Patches that touch `secret.txt`, for guards of some tools.
const PATCHES: [(&str, &str, &str); 12] = [
    ("A patch adds the file", "WriteFile|EditFile", "*** Add File: secret.txt\n+x\n"),
    ("A patch updates the file", "WriteFile|EditFile", "*** Update File: secret.txt\n@@\n-a\n+b\n"),
    ("A patch deletes the file", "DeleteFile", "*** Delete File: secret.txt\n"),
    (
        "A patch moves another file there",
        "WriteFile|EditFile",
        "*** Update File: open.txt\n*** Move to: secret.txt\n@@\n-a\n+b\n",
    ),
    (
        "A patch moves the file away",
        "DeleteFile",
        "*** Update File: secret.txt\n*** Move to: open.txt\n@@\n-a\n+b\n",
    ),
    (
        "A patch moves the file away, for a guard of edits",
        "EditFile|DeleteFile|MoveFile",
        "*** Update File: secret.txt\n*** Move to: open.txt\n@@\n-a\n+b\n",
    ),
    (
        "A patch of three files has it in the middle",
        "WriteFile|EditFile",
        "*** Add File: one.txt\n+x\n*** Update File: secret.txt\n@@\n-a\n+b\n*** Add File: two.txt\n+x\n",
    ),
    (
        "A patch has it last, after a delete",
        "WriteFile|EditFile",
        "*** Delete File: one.txt\n*** Add File: secret.txt\n+x\n",
    ),
    ("A patch names it with a dot", "WriteFile|EditFile", "*** Add File: ./secret.txt\n+x\n"),
    (
        "A patch names it with two slashes",
        "WriteFile|EditFile",
        "*** Add File: .//secret.txt\n+x\n",
    ),
    (
        "A patch moves to it by another spelling",
        "WriteFile|EditFile",
        "*** Update File: open.txt\n*** Move to: x/../secret.txt\n@@\n-a\n+b\n",
    ),
    (
        "A patch puts blanks after its name",
        "WriteFile|EditFile",
        "*** Add File: secret.txt  \n+x\n",
    ),
];

/// How a patch comes.
#[derive(Clone, Copy)]
enum Way {
    CodexTool,
    CodexShell,
    OpenCodeTool,
}

impl Way {
    const ALL: [Self; 3] = [Self::CodexTool, Self::CodexShell, Self::OpenCodeTool];

    fn name(self) -> &'static str {
        match self {
            Self::CodexTool => "Codex's `apply_patch`",
            Self::CodexShell => "`apply_patch <<'EOF'` in Codex's shell",
            Self::OpenCodeTool => "OpenCode's `apply_patch`",
        }
    }
}

fn by_patch(way: Way, tools: &str, changes: &str) -> Seen {
    let matter = format!(
        "trigger: before_tool\nmatcher:\n  tool: {tools}\n  pattern: (^|/)secret\\.txt$\n\
         on_failure: block"
    );
    let world = World::with(&matter, &denying());
    for name in ["secret.txt", "open.txt", "one.txt"] {
        std::fs::write(world.project().join(name), "a\n").unwrap();
    }
    let call = |changes: &str| {
        let patch = format!("*** Begin Patch\n{changes}*** End Patch");
        let (host, tool, input) = match way {
            Way::CodexTool => (Host::Codex, "apply_patch", json!({"command": patch})),
            Way::CodexShell => {
                let command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
                (Host::Codex, "Bash", json!({"command": command}))
            }
            Way::OpenCodeTool => (Host::OpenCode, "apply_patch", json!({"patchText": patch})),
        };
        world.send(host, host.call(tool, &input, &world.project()).to_string())
    };
    let harmless = call("*** Add File: harmless.txt\n+x\n");
    if !harmless.passes() {
        return Err(format!("a harmless call does not pass: {harmless:?}"));
    }
    call(changes).verdict()
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (host, tool, member) in COMMANDS {
        let how = format!("`{tool}` with `{member}`, as `{}`", host.name());
        let run = move || by_tool(host, tool, member);
        list.push(Attempt::new("The command is run by this tool", how, Outcome::Denied, run));
    }
    for host in [Host::Open, Host::Claude, Host::Gemini] {
        for matcher in MATCHERS {
            let how = format!("`tool: {matcher}`, as `{}`", host.name());
            let what = "The guard names the tool in another spelling or by an agent's own name";
            let run = move || by_matcher(host, matcher);
            list.push(Attempt::new(what, how, Outcome::Denied, run));
        }
    }
    for way in Way::ALL {
        for (what, tools, changes) in PATCHES {
            let how = format!("{}, guard of `{tools}`", way.name());
            let run = move || by_patch(way, tools, changes);
            list.push(Attempt::new(what, how, Outcome::Denied, run));
        }
    }
    list
}
