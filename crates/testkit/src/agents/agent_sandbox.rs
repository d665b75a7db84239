//! The agent sandbox: runs an agent in a fresh home, with no network but the scripted model.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhook_hosts::offline::{OfflineFiles, OfflineRun};
use serde_json::Value;

use super::daemon_with_model::DaemonWithModel;
use super::namespace::MODEL_PORT;
use super::screen::{self, AgentScreen};
use super::{Agent, McpServer, namespace};
use crate::model_server::{ModelServer, ModelTurn, SideRequest, tells};
use crate::{CommandRun, TestEnv, needs, write};

/// A fresh home and project for an agent.
///
/// Tests put their hooks into [`AgentSandbox::home`] and [`AgentSandbox::project`], then
/// [`AgentSandbox::run`] the agent.
#[derive(Debug)]
pub struct AgentSandbox {
    agent: Agent,
    folder: PathBuf,
    /// Other agents that work in the same home and project, and their folders.
    others: Vec<(Agent, PathBuf)>,
    environment: TestEnv,
    variables: Vec<(OsString, OsString)>,
    arguments: Vec<String>,
    model: Option<String>,
    is_first_day: bool,
}

/// How an agent's run ended and what the model was sent.
#[derive(Clone, Debug)]
pub struct AgentRun {
    /// The exit code; 124 if the run took too long.
    pub exit_code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The requests of the main conversation: the first one got the first turn, and so on.
    pub requests: Vec<Value>,
    /// When each of them was answered.
    pub sent: Vec<Option<SystemTime>>,
    /// The agent's other requests.
    pub side_requests: Vec<SideRequest>,
}

impl AgentRun {
    /// Returns whether a text was in the request with this number, counted from 0.
    pub fn told(&self, request: usize, text: &str) -> bool {
        self.requests.get(request).is_some_and(|request| tells(request, text))
    }

    /// Returns whether a text was in any request.
    pub fn ever_told(&self, text: &str) -> bool {
        self.requests.iter().any(|request| tells(request, text))
    }
}

impl AgentSandbox {
    /// Makes a sandbox, and installs the agent if necessary.
    ///
    /// Returns `None` if the agent cannot be installed or run here: the reason is printed, and the
    /// test should be skipped. With `ANYHOOK_STRICT=1` that is a failure.
    pub fn new(agent: Agent) -> Option<Self> {
        Self::within(TestEnv::new("anyhook"), agent)
    }

    /// Makes a sandbox in an environment, which provides the program under test.
    pub fn within(environment: TestEnv, agent: Agent) -> Option<Self> {
        let folder = match agent.install() {
            Ok(folder) => folder,
            Err(error) => return skipped(agent, &error.to_string()),
        };
        if let Err(error) = namespace::check() {
            return skipped(agent, &error);
        }
        let mut git = Command::new("git");
        let repository = git.args(["init", "--quiet"]).arg(environment.project()).status().unwrap();
        assert!(repository.success(), "git could not make a repository");
        fs::create_dir_all(environment.root().join("tmp")).unwrap();
        let (variables, arguments) = (Vec::new(), Vec::new());
        let (model, is_first_day) = (None, false);
        let others = Vec::new();
        let bed =
            Self { agent, folder, others, environment, variables, arguments, model, is_first_day };
        write_all(agent.offline().files(&bed.offline_run()));
        Some(bed)
    }

    /// Adds another agent that works in the same home and project; `None` if it cannot be run here.
    pub fn join(&mut self, agent: Agent) -> Option<()> {
        let folder = match agent.install() {
            Ok(folder) => folder,
            Err(error) => {
                needs::skip(agent.name(), &error.to_string());
                return None;
            }
        };
        write_all(agent.offline().files(&self.offline_run()));
        for (name, value) in agent.offline().variables(&self.offline_run()) {
            self.set_variable(name, value);
        }
        self.others.push((agent, folder));
        Some(())
    }

    /// Returns the agent.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// Returns the environment, where the program under test and its hooks are.
    pub fn environment(&self) -> &TestEnv {
        &self.environment
    }

    /// Returns the home folder.
    pub fn home(&self) -> PathBuf {
        self.environment.home()
    }

    /// Returns the project: a repository, where the agent works.
    pub fn project(&self) -> PathBuf {
        self.environment.project()
    }

    /// Sets a variable for the agent and its child processes.
    pub fn set_variable(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.push((name.into(), value.into()));
    }

    /// Returns the value of a variable that the agent gets from the sandbox or from the test.
    pub fn variable(&self, name: &str) -> Option<String> {
        let own = self.variables.iter().rev().find(|(own, _)| own == name);
        let own = own.map(|(_, value)| value.to_string_lossy().into_owned());
        let all = || self.agent.offline().variables(&self.offline_run());
        let hosts = || all().into_iter().find(|(key, _)| *key == name);
        own.or_else(|| hosts().map(|(_, value)| value))
    }

    /// Removes all arguments that were added.
    pub fn clear_arguments(&mut self) {
        self.arguments.clear();
    }

    /// Adds an argument to the agent's command line.
    pub fn add_argument(&mut self, argument: impl Into<String>) {
        self.arguments.push(argument.into());
    }

    /// Sets the model's name, on which the tools that an agent offers may depend.
    pub fn set_model(&mut self, model: impl Into<String>) {
        self.model = Some(model.into());
    }

    /// Makes it the user's first use of the agent, on a screen: it greets, and asks whether it may
    /// trust the folder.
    pub fn be_first_day(&mut self) {
        self.is_first_day = true;
    }

    /// Returns where the agents here run.
    fn offline_run(&self) -> OfflineRun {
        OfflineRun {
            home: self.home(),
            project: self.project(),
            scratch: self.environment.root().to_owned(),
            model_url: format!("http://127.0.0.1:{MODEL_PORT}"),
            model: self.model.clone(),
            is_first_use: self.is_first_day,
        }
    }

    /// Writes what an agent needs in addition to the files of the test.
    fn prepare(&self, agent: Agent) {
        let mut files = agent.offline().late_files(&self.offline_run());
        files.retain(|(path, _)| !path.exists());
        write_all(files);
    }

    /// Returns a call of the agent's shell.
    pub fn shell_tool(&self, command: &str) -> ModelTurn {
        self.agent.shell_tool(command)
    }

    /// Returns a call that reads a file of the project.
    pub fn read_tool(&self, path: &str) -> ModelTurn {
        self.agent.host().read_tool(&self.absolute(path))
    }

    /// Returns a call that writes a file of the project, a new one with Codex.
    pub fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        self.agent.host().write_tool(&self.absolute(path), content)
    }

    /// Returns a call that replaces whole lines in a file of the project.
    pub fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        self.agent.host().edit_tool(&self.absolute(path), old, new)
    }

    /// Returns a call that applies a patch; `None` if the agent has no such tool.
    pub fn patch_tool(&self, patch: &str) -> Option<ModelTurn> {
        self.agent.patch_tool(patch)
    }

    /// Writes settings with which the agent has all its tools and compacts a short conversation.
    pub fn offer_everything(&mut self) {
        self.agent.host().offer_everything(self);
    }

    /// Names an MCP server in the user's settings, so that nobody is asked about its tools.
    pub fn add_mcp_server(&self, server: &McpServer) {
        self.agent.host().add_mcp_server(self, server);
    }

    /// Adds a hook of the user's own, which approves every call, to settings that anyhook is not in
    /// yet. It makes a file when it runs.
    pub fn add_approving_hook(&self, made: &Path) {
        self.agent.host().add_approving_hook(self, made);
    }

    /// Writes a program that makes a file and prints an answer, and returns its path.
    pub(super) fn answering(&self, made: &Path, answer: &Value) -> String {
        let program = self.home().join("approve.sh");
        let script = format!("#!/bin/sh\ntouch '{}'\necho '{answer}'\n", made.display());
        write(&program, script, 0o755);
        program.to_string_lossy().into_owned()
    }

    /// Adds to a settings file below the home: the fields of objects, whole if they are anything
    /// else.
    pub(super) fn add_json(&self, file: &str, more: Value) {
        let path = self.home().join(file);
        let mut settings = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).unwrap(),
            Err(_) => Value::Object(serde_json::Map::new()),
        };
        merge(&mut settings, more);
        write(&path, format!("{settings:#}\n"), 0o600);
    }

    /// Copies a program to a place below the home.
    pub(super) fn add_program(&self, file: &str, program: &str) {
        write(&self.home().join(file), fs::read(program).unwrap(), 0o755);
    }

    /// Adds text to the end of a settings file below the home.
    pub(super) fn add_text(&self, file: &str, more: &str) {
        let path = self.home().join(file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        write(&path, text + more, 0o600);
    }

    fn absolute(&self, path: &str) -> String {
        self.project().join(path).to_string_lossy().into_owned()
    }

    /// Runs the agent with a prompt; the model plays the script.
    pub fn run(&self, prompt: &str, script: impl Into<Vec<ModelTurn>>) -> AgentRun {
        self.run_with(prompt, |model| model.add_turns(script.into()))
    }

    /// Runs the agent with a prompt and a model that is told what to say.
    pub fn run_with(&self, prompt: &str, tell: impl FnOnce(&ModelServer)) -> AgentRun {
        self.prepare(self.agent);
        let mut command = self.agent.host().program(&self.folder);
        command.extend(self.agent.offline().arguments(&self.offline_run(), prompt));
        command.extend_from_slice(&self.arguments);
        let mut runner = namespace::runner(&command);
        self.set_up(&mut runner);
        let inside = namespace::spawn(runner);
        let server = ModelServer::on(inside.socket, Vec::new());
        tell(&server);
        let ran = crate::finish(inside.process);
        let requests = server.requests();
        AgentRun {
            exit_code: ran.code,
            stdout: ran.stdout,
            stderr: ran.stderr,
            sent: (0..requests.len()).map(|request| server.sent_at(request)).collect(),
            requests,
            side_requests: server.side_requests(),
        }
    }

    /// Runs a command of the agent that manages it, such as one that installs a plugin; the model is
    /// not asked.
    pub fn manage(&self, arguments: &[&str]) -> CommandRun {
        let mut command = self.agent.host().program(&self.folder);
        command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let mut runner = namespace::runner(&command);
        self.set_up(&mut runner);
        let inside = namespace::spawn(runner);
        let _server = ModelServer::on(inside.socket, Vec::new());
        crate::finish(inside.process)
    }

    /// Puts a program with the agent's name into the folder `bin` of the home: it starts the agent like
    /// the one that people install.
    pub fn put_program(&self) {
        let bin = self.home().join("bin");
        let exports = self.agent.host().variables(&self.folder).into_iter();
        let exports: Vec<String> = exports
            .map(|(name, value)| format!("export {name}={}\n", shell_line(&[value])))
            .collect();
        let start = shell_line(&self.agent.host().program(&self.folder));
        let script = format!("#!/bin/sh\n{}exec {start} \"$@\"\n", exports.concat());
        write(&bin.join(self.agent.spec().program), script, 0o755);
    }

    /// Opens the agent on a screen, as a person does, and waits until it accepts input, or, on
    /// first use, until it shows anything; the model plays the script.
    ///
    /// Returns `None` if the agent cannot be run this way here: the reason is printed, and the test
    /// should be skipped.
    pub fn open(&self, script: impl Into<Vec<ModelTurn>>) -> Option<AgentScreen> {
        if let Err(error) = screen::check() {
            needs::skip(self.agent.name(), &error);
            return None;
        }
        let Some(mut command) = self.screen_command(self.agent, &self.folder) else {
            needs::skip(self.agent.name(), "nobody has taught the test bed to open it");
            return None;
        };
        self.prepare(self.agent);
        if !self.is_first_day {
            self.agent.host().prepare_screen(self);
        }
        command.extend_from_slice(&self.arguments);
        let screen = AgentScreen::open(self, &command, script.into());
        if self.is_first_day {
            screen.wait_until("anything", |text| !text.trim().is_empty());
        } else {
            screen.wait_for(self.agent.host().screen_mark());
        }
        Some(screen)
    }

    /// Starts the daemon in a network where agents that it starts reach the model, which plays the
    /// script.
    pub fn surround(&self, script: impl Into<Vec<ModelTurn>>) -> DaemonWithModel {
        let others = self.others.iter().map(|(agent, _)| *agent);
        for agent in [self.agent].into_iter().chain(others) {
            self.prepare(agent);
            agent.host().prepare_screen(self);
        }
        DaemonWithModel::start(self, script.into())
    }

    /// Returns the agent's command line for a shell; `None` if opening it is not supported.
    pub fn command_line(&self) -> Option<String> {
        let mut words = self.screen_command(self.agent, &self.folder)?;
        words.extend_from_slice(&self.arguments);
        Some(shell_line(&words))
    }

    /// Returns the command line of an added agent, with arguments.
    pub fn command_line_of(&self, agent: Agent, arguments: &[&str]) -> Option<String> {
        let (_, folder) = self.others.iter().find(|(other, _)| *other == agent)?;
        let mut words = self.screen_command(agent, folder)?;
        words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        Some(shell_line(&words))
    }

    /// Returns the program and its arguments to open an agent on a screen.
    fn screen_command(&self, agent: Agent, folder: &Path) -> Option<Vec<String>> {
        let mut words = agent.host().program(folder);
        words.extend(agent.offline().screen_arguments(&self.offline_run())?);
        Some(words)
    }

    /// Sets the folder and the variables of an agent for a command.
    pub(super) fn set_up(&self, command: &mut Command) {
        command.current_dir(self.project()).env_clear().envs(self.common_variables());
        command
            .envs(self.agent.offline().variables(&self.offline_run()))
            .envs(self.agent.host().variables(&self.folder))
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    fn common_variables(&self) -> [(&'static str, OsString); 7] {
        [
            ("HOME", self.home().into()),
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("TMPDIR", self.environment.root().join("tmp").into()),
            ("SHELL", "/bin/bash".into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
            ("NO_COLOR", "1".into()),
        ]
    }
}

fn merge(settings: &mut Value, more: Value) {
    match (settings, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (key, value) in more {
                merge(fields.entry(key).or_insert(Value::Null), value);
            }
        }
        (settings, more) => *settings = more,
    }
}

/// Returns words quoted for a shell.
fn shell_line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

fn skipped(agent: Agent, error: &str) -> Option<AgentSandbox> {
    needs::skip(agent.name(), error);
    None
}

fn write_all(files: OfflineFiles) {
    for (path, text) in files {
        write(&path, text, 0o644);
    }
}
