//! Real agents, offline: the command lines that people use, talking to a scripted model.
//!
//! [`AgentSandbox`] makes a fresh home and project and runs an agent there, without login or
//! questions, with every tool allowed, or opens it on an [`AgentScreen`], where it asks. The
//! differences between agents are in a file for each, behind `AgentProgram`.

mod agent_sandbox;
mod claude_code;
mod codex;
mod daemon_with_model;
mod gemini_cli;
mod install;
mod namespace;
mod opencode;
mod screen;

use std::path::Path;

use anyhook_hosts::HostSpec;

use crate::model_server::ModelTurn;

pub use crate::npm::InstallError;
pub use agent_sandbox::{AgentRun, AgentSandbox};
pub use daemon_with_model::DaemonWithModel;
pub use screen::{AGENT_PATIENCE, AgentScreen};

/// An agent that can run in the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// `OpenAI`'s Codex.
    Codex,
    /// Google's Gemini CLI.
    GeminiCli,
    /// `OpenCode`.
    OpenCode,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::GeminiCli, Self::OpenCode];

    /// Returns the agent's name, as anyhook names it.
    pub fn name(self) -> &'static str {
        self.spec().id()
    }

    /// Returns the npm package and its version.
    pub fn package(self) -> (&'static str, &'static str) {
        (self.spec().package, self.spec().tried_version)
    }

    /// Returns its specification in anyhook.
    fn spec(self) -> &'static HostSpec {
        match self {
            Self::ClaudeCode => &anyhook_hosts::claude_code::SPEC,
            Self::Codex => &anyhook_hosts::codex::SPEC,
            Self::GeminiCli => &anyhook_hosts::gemini_cli::SPEC,
            Self::OpenCode => &anyhook_hosts::opencode::SPEC,
        }
    }

    /// Returns a call of its shell.
    pub fn shell_tool(self, command: &str) -> ModelTurn {
        self.host().shell_tool(command)
    }

    fn host(self) -> &'static dyn AgentProgram {
        match self {
            Self::ClaudeCode => &claude_code::ClaudeCode,
            Self::Codex => &codex::Codex,
            Self::GeminiCli => &gemini_cli::GeminiCli,
            Self::OpenCode => &opencode::OpenCode,
        }
    }
}

/// What the sandbox needs to know of an agent.
///
/// The tools have the agent's own names and inputs; their paths are absolute.
trait AgentProgram {
    /// Writes the files that the agent needs, before the test adds its own.
    fn write_config(&self, _bed: &AgentSandbox) {}

    /// Writes the files that the agent needs in addition to those of the test.
    fn prepare(&self, _bed: &AgentSandbox) {}

    /// Returns the environment variables that the agent needs.
    fn variables(&self, bed: &AgentSandbox) -> Vec<(&'static str, String)>;

    /// Returns the program, found in the agent's folder, and its arguments.
    fn command(&self, folder: &Path, bed: &AgentSandbox, prompt: &str) -> Vec<String>;

    /// Returns the program and its arguments to open it on a screen; `None` if that is not
    /// supported.
    fn screen_command(&self, _folder: &Path, _bed: &AgentSandbox) -> Option<Vec<String>> {
        None
    }

    /// Returns the text that is on the screen as soon as the agent accepts input.
    fn screen_mark(&self) -> &'static str {
        ""
    }

    /// Writes the files without which the agent would greet a new user on its screen.
    fn prepare_screen(&self, _bed: &AgentSandbox) {}

    fn shell_tool(&self, command: &str) -> ModelTurn;

    fn read_tool(&self, path: &str) -> ModelTurn;

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn;

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn;

    /// Returns a call that applies a patch; `None` if the agent has no such tool.
    fn patch_tool(&self, patch: &str) -> Option<ModelTurn>;
}

/// The machine's architecture, as npm packages name it.
fn npm_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}
