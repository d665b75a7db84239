//! A home with a guard, and calls to it as agents make them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_testkit::{CommandRun, TestEnv, run};
use serde_json::{Value, json};

use super::{Outcome, Seen};
use crate::{in_process, program};

/// What the guard is called. No message of ours has this word by itself.
pub const NAME: &str = "sentry";
/// What the guard says when it denies.
pub const WORDS: &str = "SENTRY-SAYS-NO";
/// What a call must have in it for the guard to deny it.
pub const EVIL: &str = "EVIL";
/// A guard of shell commands.
pub const SHELL_GUARD: &str =
    "trigger: before_tool\nmatcher:\n  tool: Shell\n  pattern: EVIL\non_failure: block";

/// A script that denies.
pub fn denying() -> String {
    format!("echo {WORDS} >&2; exit 2")
}

/// Whose payload is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    Open,
    Claude,
    Codex,
    Gemini,
    OpenCode,
}

impl Host {
    pub const ALL: [Self; 5] =
        [Self::Open, Self::Claude, Self::Codex, Self::Gemini, Self::OpenCode];

    /// The name after `anyhook hook`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "agent-hooks",
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini-cli",
            Self::OpenCode => "opencode",
        }
    }

    /// What the host sends before a tool of its own.
    pub fn call(self, tool: &str, input: &Value, folder: &Path) -> Value {
        self.call_in("s1", tool, input, folder)
    }

    /// The same, in a session.
    pub fn call_in(self, session: &str, tool: &str, input: &Value, folder: &Path) -> Value {
        match self {
            Self::Open => json!({
                "event_type": "before_tool", "session_id": session, "work_dir": folder,
                "tool_name": tool, "tool_input": input, "tool_use_id": "t1",
            }),
            Self::Claude | Self::Codex => json!({
                "session_id": session, "cwd": folder, "hook_event_name": "PreToolUse",
                "tool_name": tool, "tool_input": input, "tool_use_id": "t1",
            }),
            Self::Gemini => json!({
                "session_id": session, "cwd": folder, "hook_event_name": "BeforeTool",
                "tool_name": tool, "tool_input": input,
            }),
            Self::OpenCode => json!({
                "hook": "tool.execute.before", "directory": folder, "worktree": folder,
                "input": {"tool": tool, "sessionID": session, "callID": "t1"},
                "output": {"args": input},
            }),
        }
    }

    /// The host's own name of the tool that runs commands.
    pub fn shell_tool(self) -> &'static str {
        match self {
            Self::Open => "Shell",
            Self::Claude | Self::Codex => "Bash",
            Self::Gemini => "run_shell_command",
            Self::OpenCode => "bash",
        }
    }

    pub fn shell(self, command: &str, folder: &Path) -> Value {
        self.call(self.shell_tool(), &json!({"command": command}), folder)
    }

    /// A call that writes a file.
    pub fn write(self, path: &str, folder: &Path) -> Value {
        let (tool, input) = match self {
            Self::Open => ("WriteFile", json!({"path": path, "content": "x"})),
            Self::Claude => ("Write", json!({"file_path": path, "content": "x"})),
            Self::Codex => (
                "apply_patch",
                json!({"command": format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n")}),
            ),
            Self::Gemini => ("write_file", json!({"file_path": path, "content": "x"})),
            Self::OpenCode => ("write", json!({"filePath": path, "content": "x"})),
        };
        self.call(tool, &input, folder)
    }

    /// A call that changes a file.
    pub fn edit(self, path: &str, folder: &Path) -> Value {
        let (tool, input) = match self {
            Self::Open => ("EditFile", json!({"path": path, "old_text": "a", "new_text": "b"})),
            Self::Claude => {
                ("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"}))
            }
            Self::Codex => (
                "apply_patch",
                json!({"command": format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n")}),
            ),
            Self::Gemini => {
                ("replace", json!({"file_path": path, "old_string": "a", "new_string": "b"}))
            }
            Self::OpenCode => {
                ("edit", json!({"filePath": path, "oldString": "a", "newString": "b"}))
            }
        };
        self.call(tool, &input, folder)
    }
}

/// What was answered to a call.
#[derive(Clone, Debug)]
pub struct Reply(pub CommandRun);

impl Reply {
    /// Tells whether the call goes on.
    pub fn passes(&self) -> bool {
        self.verdict().is_err_and(|why| why.starts_with("it passed"))
    }

    /// Tells how the call was stopped, or that it was not.
    pub fn verdict(&self) -> Seen {
        let CommandRun { code, stdout, stderr } = &self.0;
        let text = format!("{stdout}{stderr}");
        let reply: Value = serde_json::from_str(stdout).unwrap_or_default();
        let denies = reply["decision"] == "deny"
            || reply["decision"] == "block"
            || reply["hookSpecificOutput"]["permissionDecision"] == "deny"
            || reply["deny"].is_string();
        match code {
            124 | 137 => Err(format!("it hung: {:?}", self.0)),
            0 | 2 if *code == 2 || denies => Ok(if text.contains(WORDS) {
                Outcome::Denied
            } else if text.contains(NAME) {
                Outcome::Blocked
            } else {
                Outcome::Refused
            }),
            0 => Err(format!("it passed: {text}")),
            // Agents take any other code for a fault of ours, and go on.
            _ => Err(format!("it passed, with exit code {code}: {text}")),
        }
    }

    pub fn text(&self) -> String {
        format!("{}{}", self.0.stdout, self.0.stderr)
    }
}

/// A home and a project.
pub struct World {
    pub env: TestEnv,
}

impl World {
    /// Makes one without any hook.
    pub fn empty() -> Self {
        Self { env: TestEnv::in_memory(&program()) }
    }

    /// Makes one with a guard of shell commands.
    pub fn guarded() -> Self {
        Self::with(SHELL_GUARD, &denying())
    }

    /// Makes one with a guard: its front matter and its script.
    pub fn with(matter: &str, script: &str) -> Self {
        let world = Self::empty();
        world.env.user_hook(NAME, matter, script);
        world
    }

    pub fn project(&self) -> PathBuf {
        self.env.project()
    }

    /// The guard's folder.
    pub fn guard(&self) -> PathBuf {
        self.env.user_hooks().join(NAME)
    }

    /// Sends bytes as a host's payload, and waits a minute at most.
    pub fn send(&self, host: Host, payload: impl AsRef<[u8]>) -> Reply {
        in_time(&self.env.command(&["hook", host.name()]), payload.as_ref())
    }

    /// Has a host ask about a shell command.
    pub fn shell(&self, host: Host, command: &str) -> Reply {
        self.send(host, host.shell(command, &self.project()).to_string())
    }

    /// Sends a payload before the attempt, and in this process: only the attempt takes another.
    fn beforehand(&self, host: Host, payload: &Value) -> Reply {
        Reply(in_process::answer_host(&self.env, host.name(), payload.to_string().into()))
    }

    /// Makes sure that a harmless command passes.
    pub fn lets_pass(&self, host: Host) -> Result<(), String> {
        self.lets_through(host, &host.shell("ls", &self.project()))
    }

    /// Makes sure that a harmless call passes.
    pub fn lets_through(&self, host: Host, harmless: &Value) -> Result<(), String> {
        let reply = self.beforehand(host, harmless);
        if !reply.passes() {
            return Err(format!("a harmless call does not pass: {reply:?}"));
        }
        Ok(())
    }

    /// Makes sure that a harmless command passes and one that the guard knows does not.
    pub fn is_guarded(&self, host: Host) -> Result<(), String> {
        self.lets_pass(host)?;
        let evil = host.shell(EVIL, &self.project());
        match self.beforehand(host, &evil).verdict()? {
            Outcome::Denied => Ok(()),
            other => Err(format!("the guard does not deny what it should, but: {other}")),
        }
    }

    /// Installs into an agent. What the agent calls is a link to the program: a copy for each
    /// attempt would take gigabytes.
    pub fn install(&self, agent: Host) -> Result<(), String> {
        let program = self.installed_program();
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        symlink(self.env.command(&[]).get_program(), &program).unwrap();
        for folder in [".claude", ".codex", ".gemini"] {
            fs::create_dir_all(self.env.home().join(folder)).unwrap();
        }
        let ran = self.run(&["install", agent.name()]);
        if ran.code == 0 { Ok(()) } else { Err(format!("`install` does not work: {ran:?}")) }
    }

    /// What agents call after [`World::install`].
    pub fn installed_program(&self) -> PathBuf {
        self.env.home().join(".local/share/anyhook/bin/anyhook")
    }

    /// Runs the program with arguments, as an agent would or not.
    pub fn run(&self, arguments: &[&str]) -> CommandRun {
        in_time(&self.env.command(arguments), b"").0
    }
}

/// Runs a command, but not for ever: a hang gives exit code 124.
pub fn in_time(command: &Command, input: &[u8]) -> Reply {
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after", "1", "60"]).arg(command.get_program()).args(command.get_args());
    limited.current_dir(command.get_current_dir().unwrap_or(Path::new("/"))).env_clear();
    for (name, value) in command.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    Reply(run(limited, input))
}
