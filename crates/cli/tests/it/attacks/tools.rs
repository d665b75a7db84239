//! To do the same by another tool, by a patch, or by a name that the guard's matcher does not have.

use serde_json::{Value, json};

use super::attack_fixture::{EVIL, Host, SHELL_GUARD, World, denying};
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

/// Inputs of tools that no table of their agent knows, with the command somewhere in them.
const INPUTS: [(Host, &str, &str); 20] = [
    (Host::Open, "exec", r#"{"command": "EVIL"}"#),
    (Host::Open, "wait", r#"{"command": "EVIL"}"#),
    (Host::Open, "invalid", r#"{"cmd": "EVIL"}"#),
    (Host::Open, "skill", r#"{"script": "EVIL"}"#),
    (Host::Open, "Frobnicate", r#"{"params": {"command": "EVIL"}}"#),
    (Host::Open, "Frobnicate", r#"{"commands": [{"cmd": "EVIL"}]}"#),
    (Host::Claude, "mcp__x__run", r#"{"params": {"command": "EVIL"}}"#),
    (Host::Claude, "mcp__x__run", r#"{"commands": [{"line": "EVIL"}]}"#),
    (Host::Claude, "mcp__x__run", r#"{"command": {"cmd": "EVIL"}}"#),
    (Host::Claude, "mcp__x__run", r#"{"bash_command": "EVIL"}"#),
    (Host::Claude, "mcp__x__run", r#"{"cmdline": "EVIL"}"#),
    (Host::Claude, "mcp__x__run", r#"{"program": "sh", "args": ["-c", "EVIL"]}"#),
    (Host::Codex, "mcp__x__run", r#"{"request": {"shellCommand": "EVIL"}}"#),
    (Host::Codex, "something_new", r#"{"steps": [{"run_command": ["EVIL"]}]}"#),
    (Host::Codex, "something_new", r#"{"executable": "EVIL", "arguments": "x"}"#),
    (Host::Gemini, "something_new", r#"{"params": {"script": "EVIL"}}"#),
    (Host::Gemini, "something_new", r#"{"bash-command": "EVIL"}"#),
    (Host::Gemini, "something_new", r#"{"command": [{"text": "EVIL"}]}"#),
    (Host::OpenCode, "something_new", r#"{"params": {"commandLine": "EVIL"}}"#),
    (Host::OpenCode, "something_new", r#"{"program": "EVIL", "args": []}"#),
];

/// Inputs that are `rm -rf /` in parts.
const PARTS: [(Host, &str, &str); 6] = [
    (Host::Open, "Shell", r#"{"command": "rm", "args": ["-rf", "/"]}"#),
    (Host::Open, "Frobnicate", r#"{"program": "rm", "args": ["-rf", "/"]}"#),
    (Host::Claude, "mcp__x__run", r#"{"command": "rm", "args": ["-rf", "/"]}"#),
    (Host::Codex, "shell", r#"{"command": ["rm", "-rf", "/"]}"#),
    (Host::Gemini, "something_new", r#"{"params": {"command": "rm", "arguments": "-rf /"}}"#),
    (Host::OpenCode, "something_new", r#"{"commands": [["rm", "-rf", "/"]]}"#),
];

fn by_input(host: Host, pattern: &str, tool: &str, input: &str) -> Seen {
    let world = World::with(&SHELL_GUARD.replace("EVIL", pattern), &denying());
    let call = |input: &str| {
        let input = serde_json::from_str(input).unwrap();
        host.call(tool, &input, &world.project())
    };
    let harmless = input.replace("EVIL", "ls").replace("\"rm\"", "\"ls\"");
    world.lets_through(host, &call(&harmless))?;
    world.send(host, call(input).to_string()).verdict()
}

/// Commands that apply a patch which adds `vendor/x`: `[V]` is that patch, `[X]` one that adds `x`.
const PATCHING: [(&str, &str); 16] = [
    ("A heredoc", "apply_patch <<'EOF'\n[V]\nEOF"),
    ("An argument", "apply_patch '[V]'"),
    ("A pipe", "printf '%s' '[V]' | apply_patch"),
    (
        "A pipe of lines",
        "printf '%s\\n' '*** Begin Patch' '*** Add File: vendor/x' '+a' | apply_patch",
    ),
    ("A variable", "P='[V]'; apply_patch \"$P\""),
    ("A name in quotes", "\"apply\"_patch '[V]'"),
    ("A decoy before it", ": apply_patch\ncd vendor && apply_patch <<'EOF'\n[X]\nEOF"),
    ("A decoy of a folder", ": cd elsewhere; apply_patch <<'EOF'\n[V]\nEOF"),
    ("A folder that is not there", "cd elsewhere; apply_patch <<'EOF'\n[V]\nEOF"),
    ("`cd`", "cd vendor && apply_patch <<'EOF'\n[X]\nEOF"),
    ("`pushd`", "pushd vendor && apply_patch <<'EOF'\n[X]\nEOF"),
    ("`cd` and a tab", "cd\tvendor && apply_patch <<'EOF'\n[X]\nEOF"),
    ("`cd -P`", "cd -P vendor && apply_patch <<'EOF'\n[X]\nEOF"),
    ("`cd` and a word in quotes", "cd ven\"dor\" && apply_patch <<'EOF'\n[X]\nEOF"),
    ("`env -C`", "env -C vendor apply_patch <<'EOF'\n[X]\nEOF"),
    ("`cd` after the patch", "P='[X]'; cd vendor; apply_patch \"$P\""),
];

/// How such a command comes.
#[derive(Clone, Copy)]
enum Form {
    Line,
    Words,
}

fn by_patching(host: Host, form: Form, command: &str) -> Seen {
    let matter = "trigger: before_tool\nmatcher:\n  tool: WriteFile\n  pattern: ^vendor/x$\n\
                  on_failure: block";
    let world = World::with(matter, &denying());
    std::fs::create_dir(world.project().join("vendor")).unwrap();
    let patch = |file: &str| format!("*** Begin Patch\n*** Add File: {file}\n+a\n*** End Patch");
    let call = |folder: &str| {
        let command = command
            .replace("[V]", &patch("vendor/x"))
            .replace("[X]", &patch("x"))
            .replace("ven\"dor\"", &format!("\"{folder}\""))
            .replace("vendor", folder);
        let input = match form {
            Form::Line => json!({"command": command}),
            Form::Words => json!({"command": ["bash", "-lc", command]}),
        };
        host.call(host.shell_tool(), &input, &world.project())
    };
    world.lets_through(host, &call("other"))?;
    world.send(host, call("vendor").to_string()).verdict()
}

/// More folders than are tried are as good as none that is known.
fn by_many_folders(host: Host) -> Seen {
    let decoys = ": cd elsewhere; ".repeat(100);
    match by_patching(host, Form::Line, &format!("{decoys}apply_patch <<'EOF'\n[V]\nEOF")) {
        // The harmless one is as unclear.
        Err(why) if why.contains("changes its folder too often") => Ok(Outcome::Blocked),
        other => other,
    }
}

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
    world.lets_pass(host)?;
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
    CodexWords,
    OpenCodeTool,
    OpenTool,
    OpenShell,
}

impl Way {
    const ALL: [Self; 6] = [
        Self::CodexTool,
        Self::CodexShell,
        Self::CodexWords,
        Self::OpenCodeTool,
        Self::OpenTool,
        Self::OpenShell,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::CodexTool => "Codex's `apply_patch`",
            Self::CodexShell => "`apply_patch <<'EOF'` in Codex's shell",
            Self::CodexWords => "`[\"apply_patch\", …]` in Codex's shell",
            Self::OpenCodeTool => "OpenCode's `apply_patch`",
            Self::OpenTool => "`apply_patch` of `agent-hooks`",
            Self::OpenShell => "`apply_patch <<'EOF'` in `Shell` of `agent-hooks`",
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
            Way::CodexWords => (Host::Codex, "shell", json!({"command": ["apply_patch", patch]})),
            Way::OpenCodeTool => (Host::OpenCode, "apply_patch", json!({"patchText": patch})),
            Way::OpenTool => (Host::Open, "apply_patch", json!({"patch": patch})),
            Way::OpenShell => {
                let command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
                (Host::Open, "Shell", json!({"command": command}))
            }
        };
        (host, host.call(tool, &input, &world.project()))
    };
    let (host, harmless) = call("*** Add File: harmless.txt\n+x\n");
    world.lets_through(host, &harmless)?;
    world.send(host, call(changes).1.to_string()).verdict()
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
    for (host, tool, input) in INPUTS {
        let how = format!("`{tool}` with `{input}`, as `{}`", host.name());
        let what = "The command is somewhere in the input of a tool that is in no table";
        let run = move || by_input(host, EVIL, tool, input);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    for (host, tool, input) in PARTS {
        let how = format!("`{tool}` with `{input}`, as `{}`; the pattern is `rm -rf`", host.name());
        let run = move || by_input(host, "rm -rf", tool, input);
        list.push(Attempt::new("The command is given in parts", how, Outcome::Denied, run));
    }
    for (number, (what, command)) in PATCHING.into_iter().enumerate() {
        let others = [Host::Open, Host::Claude, Host::Gemini, Host::OpenCode];
        for (host, form) in [
            (Host::Codex, Form::Line),
            (Host::Codex, Form::Words),
            (others[number % others.len()], Form::Line),
        ] {
            let shown = command.replace('\n', "␊").replace("[V]", "PATCH").replace("[X]", "PATCH");
            let form_name =
                if matches!(form, Form::Words) { " as words of `bash -lc`" } else { "" };
            let how = format!("{what}: `{shown}`{form_name}, as `{}`", host.name());
            let run = move || by_patching(host, form, command);
            let what = "A patch in a command writes the file";
            list.push(Attempt::new(what, how, Outcome::Denied, run));
        }
    }
    for host in [Host::Codex, Host::Open] {
        let how = format!("`: cd elsewhere; ` a hundred times, as `{}`", host.name());
        let what = "A command that applies a patch changes its folder too often to be followed";
        list.push(Attempt::new(what, how, Outcome::Blocked, move || by_many_folders(host)));
    }
    list
}
