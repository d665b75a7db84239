//! Real agents, offline: the command lines that people use, talking to a scripted model.
//!
//! [`AgentSandbox`] makes a fresh home and project and runs an agent there, without login or
//! questions, with every tool allowed, or opens it on an [`AgentScreen`], where it asks. How an agent
//! runs offline is in its folder in `anyhook-hosts`; what only tests need is in a file for each here,
//! behind `AgentProgram`.

mod agent_sandbox;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod daemon_with_model;
mod droid;
mod gemini_cli;
mod grok;
mod hermes;
mod install;
mod kilo;
mod kimi_cli;
mod kimi_code;
mod letta;
mod namespace;
mod oh_my_pi;
mod opencode;
mod pi;
mod qwen_code;
mod screen;

use std::path::{Path, PathBuf};

use anyhook_hosts::HostSpec;
use anyhook_hosts::offline::Offline;
use anyhook_model::{EventKind, Host as _};
use serde_json::{Value, json};

use crate::model_server::ModelTurn;
use crate::npm::NpmInstall;
use install::{Runtime, Unpacked};

pub use crate::npm::InstallError;
pub use agent_sandbox::{AgentRun, AgentSandbox};
pub use daemon_with_model::DaemonWithModel;
pub use install::AgentPackages;
pub use screen::{AGENT_PATIENCE, AgentScreen};

/// Declares the agents: their module, here and in `anyhook-hosts`, and their name in tests. Tests of
/// all agents are made from the same lines, by [`every_agent`](crate::every_agent).
macro_rules! agents {
    ($($module:ident: $agent:ident,)*) => {
        /// An agent that can run in the sandbox.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Agent {
            $(#[doc = concat!("`", stringify!($module), "`")] $agent,)*
        }

        impl Agent {
            /// All of them.
            pub const ALL: [Self; [$(Self::$agent),*].len()] = [$(Self::$agent),*];

            /// Returns its specification in anyhook.
            pub fn spec(self) -> &'static HostSpec {
                match self {
                    $(Self::$agent => &anyhook_hosts::$module::SPEC,)*
                }
            }

            fn host(self) -> &'static dyn AgentProgram {
                match self {
                    $(Self::$agent => &$module::$agent,)*
                }
            }
        }

        /// Makes a test for each agent, named after it: `every_agent!(name_of_a_function_of_an_agent)`.
        #[macro_export]
        macro_rules! every_agent {
            ($test:path) => {
                $(
                    #[test]
                    fn $module() {
                        $test($crate::agents::Agent::$agent);
                    }
                )*
            };
        }
    };
}

agents! {
    claude_code: ClaudeCode,
    cline: Cline,
    codex: Codex,
    copilot: Copilot,
    droid: Droid,
    gemini_cli: GeminiCli,
    kilo: Kilo,
    kimi_code: KimiCode,
    kimi_cli: KimiCli,
    letta: Letta,
    grok: Grok,
    hermes: Hermes,
    oh_my_pi: OhMyPi,
    opencode: OpenCode,
    pi: Pi,
    qwen_code: QwenCode,
}

impl Agent {
    /// Those that are run only by `cargo xtask test agents --all`: they take long, or few people use
    /// them. The profile `agents` in `.config/nextest.toml` names them, too.
    pub const RARE: [Self; 4] = [Self::Kilo, Self::KimiCli, Self::Letta, Self::OhMyPi];

    /// Returns the agent's name, as anyhook names it.
    pub fn name(self) -> &'static str {
        self.spec().id()
    }

    /// Returns the version that is installed for tests.
    pub fn version(self) -> &'static str {
        self.spec().tried_version().expect("an agent that is run has a version")
    }

    /// Returns a call of its shell.
    pub fn shell_tool(self, command: &str) -> ModelTurn {
        let (name, input) = self.offline().shell_call(command);
        ModelTurn::tool(name, input)
    }

    /// Returns a call that writes a file.
    pub fn write_tool(self, path: &str, content: &str) -> ModelTurn {
        self.host().write_tool(path, content)
    }

    /// Returns a call that applies a patch; `None` if the agent has no such tool.
    pub fn patch_tool(self, patch: &str) -> Option<ModelTurn> {
        self.host().patch_tool(patch)
    }

    /// Returns which canonical tools a call is with which it reads a file.
    pub fn reads_as(self) -> &'static [&'static str] {
        self.host().reads_as()
    }

    /// Returns whether a hook can change what it writes to a file.
    pub fn rewrites_files(self) -> bool {
        self.host().rewrites_files()
    }

    /// Returns whether it ends if a hook asks and nobody is there.
    pub fn ends_on_ask(self) -> bool {
        self.host().ends_on_ask()
    }

    /// Returns whether it ends, and tells nobody why, if a call is refused because anyhook did not
    /// answer.
    pub fn ends_unanswered(self) -> bool {
        self.host().ends_unanswered()
    }

    /// Returns whether hooks are told of a shell command that ends with another exit code than 0.
    pub fn tells_of_failed_commands(self) -> bool {
        self.host().tells_of_failed_commands()
    }

    /// Returns the model with which it applies patches, if it does not with the usual one.
    pub fn patching_model(self) -> Option<&'static str> {
        self.host().patching_model()
    }

    /// Returns whether its hooks are told of an event when it runs without a screen.
    pub fn is_told(self, event: &EventKind) -> bool {
        let row = self.spec().protocol.capabilities.iter().find(|row| row.event == *event);
        row.is_some_and(|row| row.native.is_some()) && !self.host().untold().contains(event)
    }

    /// Returns whether it reports a call that was denied as one that failed.
    pub fn reports_denied_as_failed(self) -> bool {
        self.host().reports_denied_as_failed()
    }

    /// Returns whether warnings of anyhook at an event are shown to somebody.
    pub fn warns_at(self, event: &EventKind) -> bool {
        self.is_told(event) && self.spec().protocol.can_warn(event)
    }

    /// Returns whether a hook can hold back its stop when it runs without a screen.
    pub fn can_be_held(self) -> bool {
        self.host().can_be_held()
    }

    /// Returns whether it asks again before it stops after a hook has held it back.
    pub fn asks_again_at_stop(self) -> bool {
        self.host().asks_again_at_stop()
    }

    /// Returns whether a hook can hold it back only in a turn in which it has changed files.
    pub fn is_held_after_edits_only(self) -> bool {
        self.host().is_held_after_edits_only()
    }

    /// Returns whether its shell tool does not even start such a command, whatever hooks say.
    pub fn refuses_command(self, command: &str) -> bool {
        self.host().refuses_command(command)
    }

    /// Returns how many tokens a conversation has that it compacts, and that is not too long for it.
    pub fn tokens_to_compact(self) -> u32 {
        self.host().tokens_to_compact()
    }

    /// Returns what it writes to the model that is to summarize a conversation, if it does not accept
    /// a summary of one word.
    pub fn summary_request(self) -> Option<&'static str> {
        self.host().summary_request()
    }

    /// Returns the model with which it has a tool for scripts, if it lacks it otherwise.
    pub fn scripting_model(self) -> Option<&'static str> {
        self.host().scripting_model()
    }

    /// Returns whether it ends, and tells nobody why, if a call of an MCP tool is denied.
    pub fn ends_on_denied_mcp(self) -> bool {
        self.host().ends_on_denied_mcp()
    }

    /// Returns whether it offers the tools of an MCP server that starts slowly only from the second
    /// time on.
    pub fn caches_mcp_tools(self) -> bool {
        self.host().caches_mcp_tools()
    }

    /// Returns what it tells the model if a subagent needs its vendor's service, which is not there.
    pub fn subagent_failure(self) -> Option<&'static str> {
        self.host().subagent_failure()
    }

    /// Returns a call of a tool of an MCP server; `None` if the agent has no such tools.
    pub fn mcp_tool(self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        self.host().mcp_tool(server, tool, input)
    }

    /// Returns a call that starts a subagent; `None` if the agent has no such tool.
    pub fn subagent_tool(self, prompt: &str) -> Option<ModelTurn> {
        self.host().subagent_tool(prompt)
    }

    /// Returns how a subagent ends.
    pub fn subagent_result(self, text: &str) -> ModelTurn {
        self.host().subagent_result(text)
    }

    /// Returns a call of a script in which a command is run with the agent's own tools; `None` if
    /// the agent has no such tool.
    pub fn script_tool(self, command: &str) -> Option<ModelTurn> {
        self.host().script_tool(command)
    }

    fn offline(self) -> &'static dyn Offline {
        self.spec().offline.expect("an agent of the sandbox runs offline")
    }
}

/// What only tests need to know of an agent.
///
/// The tools have the agent's own names and inputs; their paths are absolute.
trait AgentProgram {
    /// Returns the packages it is installed from.
    fn packages(&self, spec: &HostSpec) -> AgentPackages {
        AgentPackages::of(spec)
    }

    /// Returns how npm installs them.
    fn npm_install(&self, _spec: &HostSpec) -> NpmInstall {
        NpmInstall::default()
    }

    /// Returns what runs its scripts, if the machine's own Node.js does not.
    fn runtime(&self) -> Option<Runtime> {
        None
    }

    /// Returns what is compressed in its packages and has to be unpacked.
    fn unpacked(&self) -> Option<Unpacked> {
        None
    }

    /// Returns the program in the agent's folder, with the arguments that are part of it.
    fn program(&self, folder: &Path) -> Vec<String>;

    /// Returns the variables that it needs in the tests in addition to those of every offline run,
    /// given the folder in which it is installed.
    fn variables(&self, _folder: &Path) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Returns the text that is on the screen as soon as the agent accepts input.
    fn screen_mark(&self) -> &'static str {
        ""
    }

    /// Writes the files without which the agent would greet a new user on its screen.
    fn prepare_screen(&self, _bed: &AgentSandbox) {}

    fn read_tool(&self, path: &str) -> ModelTurn;

    /// Returns which canonical tools that is.
    fn reads_as(&self) -> &'static [&'static str] {
        &["ReadFile"]
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn;

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn;

    /// Returns a call that applies a patch; `None` if the agent has no such tool.
    fn patch_tool(&self, _patch: &str) -> Option<ModelTurn> {
        None
    }

    /// Returns the model with which it has the tool to patch, if it lacks it otherwise.
    fn patching_model(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether a hook can change what it writes to a file.
    fn rewrites_files(&self) -> bool {
        true
    }

    /// Returns whether it ends if a hook asks and nobody is there.
    fn ends_on_ask(&self) -> bool {
        false
    }

    /// Returns whether it ends, and tells nobody why, if a call is refused because anyhook did not
    /// answer.
    fn ends_unanswered(&self) -> bool {
        false
    }

    /// Returns whether hooks are told of a shell command that ends with another exit code than 0.
    fn tells_of_failed_commands(&self) -> bool {
        true
    }

    /// Returns the events that it has and of which it does not tell hooks without a screen.
    fn untold(&self) -> &'static [EventKind] {
        &[]
    }

    /// Returns whether a hook can hold back its stop when it runs without a screen, if it can at all.
    fn can_be_held(&self) -> bool {
        true
    }

    /// Returns whether it asks again before it stops after a hook has held it back.
    fn asks_again_at_stop(&self) -> bool {
        true
    }

    /// Returns whether it reports a call that was denied as one that failed.
    fn reports_denied_as_failed(&self) -> bool {
        false
    }

    /// Returns whether its shell tool does not even start such a command, whatever hooks say.
    fn refuses_command(&self, _command: &str) -> bool {
        false
    }

    /// Returns whether a hook can hold it back only in a turn in which it has changed files.
    fn is_held_after_edits_only(&self) -> bool {
        false
    }

    /// Writes settings with which it has all its tools and compacts a short conversation.
    fn offer_everything(&self, _bed: &mut AgentSandbox) {}

    /// Returns how many tokens a conversation has that it compacts, and that is not too long for it.
    fn tokens_to_compact(&self) -> u32 {
        1_100_000
    }

    /// Returns what it writes to the model that is to summarize a conversation, if it does not accept
    /// a summary of one word.
    fn summary_request(&self) -> Option<&'static str> {
        None
    }

    /// Returns the model with which it has a tool for scripts, if it lacks it otherwise.
    fn scripting_model(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether it ends, and tells nobody why, if a call of an MCP tool is denied.
    fn ends_on_denied_mcp(&self) -> bool {
        false
    }

    /// Returns what it tells the model if a subagent needs its vendor's service, which is not there.
    fn subagent_failure(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether it offers the tools of an MCP server that starts slowly only from the second
    /// time on.
    fn caches_mcp_tools(&self) -> bool {
        false
    }

    /// Names an MCP server in the user's settings, so that nobody is asked about its tools.
    fn add_mcp_server(&self, _bed: &AgentSandbox, _server: &McpServer) {}

    /// Returns a call of a tool of an MCP server; `None` if the agent has no such tools.
    fn mcp_tool(&self, _server: &str, _tool: &str, _input: Value) -> Option<ModelTurn> {
        None
    }

    /// Returns a call that starts a subagent; `None` if the agent has no such tool.
    fn subagent_tool(&self, _prompt: &str) -> Option<ModelTurn> {
        None
    }

    /// Returns how a subagent ends.
    fn subagent_result(&self, text: &str) -> ModelTurn {
        ModelTurn::text(text)
    }

    /// Returns a call of a script in which a command is run with the agent's own tools; `None` if
    /// the agent has no such tool.
    fn script_tool(&self, _command: &str) -> Option<ModelTurn> {
        None
    }

    /// Adds a hook of the user's own, which approves every call, to settings that anyhook is not in
    /// yet. It makes a file when it runs.
    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path);
}

/// An MCP server on standard input and output.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// Its name in settings.
    pub name: &'static str,
    /// Its program.
    pub program: String,
    /// The program's arguments.
    pub arguments: Vec<String>,
}

impl McpServer {
    /// Returns settings that name it as most agents do.
    fn settings(&self, more: &Value) -> Value {
        let mut entry = json!({"command": self.program, "args": self.arguments});
        for (key, value) in more.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        json!({"mcpServers": {self.name: entry}})
    }

    /// Returns settings that name it as programs written in Rust do.
    fn toml(&self) -> String {
        let arguments = json!(self.arguments);
        let Self { name, program, .. } = self;
        format!("\n[mcp_servers.{name}]\ncommand = {program:?}\nargs = {arguments}\n")
    }
}

/// Returns what a hook prints that approves a call, in the form of Claude Code.
fn nested_approval() -> Value {
    let approval = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow"});
    json!({"hookSpecificOutput": approval})
}

/// Returns settings with a hook that runs a command, in the form of Claude Code.
fn nested_hook(event: &str, command: &str) -> Value {
    let handler = json!({"type": "command", "command": command});
    json!({"hooks": {event: [{"hooks": [handler]}]}})
}

/// The machine's architecture, as npm packages name it.
fn npm_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns the command of a script in an installed package, run by the machine's own Node.js.
fn node_script(folder: &Path, script: &str) -> Vec<String> {
    script_of("node".into(), folder, script)
}

/// Returns the command of a script in an installed package, run by an installed runtime.
fn runtime_script(runtime: Runtime, folder: &Path, script: &str) -> Vec<String> {
    script_of(runtime.program(), folder, script)
}

fn script_of(program: PathBuf, folder: &Path, script: &str) -> Vec<String> {
    let script = folder.join("node_modules").join(script);
    [program, script].map(|path| path.to_string_lossy().into_owned()).to_vec()
}
