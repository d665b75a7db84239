//! An agent on a screen, as a person sees it: in a `tmux` terminal, without a person.
//!
//! It runs with the host's process ids, so that process watchers see it, and in a network that has
//! nothing but the scripted model. All of it ends with the [`AgentScreen`].

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{AgentSandbox, namespace};
use crate::model_server::{ModelServer, ModelTurn};

/// The width and height of a screen: nothing an agent prints is cut off.
const SIZE: [&str; 4] = ["-x", "160", "-y", "60"];

/// How long to wait between two checks of the screen.
const GLANCE: Duration = Duration::from_millis(20);

/// How long an agent may take for anything, on a busy machine.
pub const AGENT_PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait before a key is pressed again.
const TIMEOUT: Duration = Duration::from_millis(500);

/// An agent that was opened on a screen. It is killed with its child processes when dropped.
#[derive(Debug)]
pub struct AgentScreen {
    model: ModelServer,
    socket: PathBuf,
    child: Child,
    /// The process that holds the network exits when this is closed.
    line: Option<UnixStream>,
}

/// Returns why there can be no screen here, if so.
pub(super) fn check() -> Result<(), String> {
    match Command::new("tmux").arg("-V").stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("tmux fails: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("tmux is needed: {error}")),
    }
}

impl AgentScreen {
    pub(super) fn open(bed: &AgentSandbox, command: &[String], script: Vec<ModelTurn>) -> Self {
        let socket = bed.environment().root().join("tmux");
        assert!(!socket.exists(), "a bed has one screen at a time");
        let socket_name = socket.to_string_lossy().into_owned();
        // The screen outlives the program, so that its last output can be read.
        let tmux = ["tmux", "-S", &socket_name, "-f", "/dev/null", "start-server", ";"];
        let options = ["set-option", "-g", "remain-on-exit", "on", ";", "new-session", "-d"];
        let whole: Vec<String> = [&tmux[..], &options, &SIZE, &["--"]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .chain(command.iter().map(|argument| escaped(argument)))
            .collect();
        let mut runner = namespace::open_runner(&whole);
        bed.set_up(&mut runner);
        let namespace::NamespacedProcess { process, socket: listener, line } =
            namespace::spawn(runner);
        let model = ModelServer::on(listener, script);
        let screen = Self { model, socket, child: process, line: Some(line) };
        let mut answer = [0];
        screen.line.as_ref().unwrap().read_exact(&mut answer).unwrap();
        assert_eq!(answer, [b'+'], "tmux could not open the agent");
        screen
    }

    /// Returns the model the agent talks to.
    pub fn model(&self) -> &ModelServer {
        &self.model
    }

    /// Types a text, without a newline.
    pub fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", &escaped(text)]);
    }

    /// Presses a key, by its name in `tmux`: `Enter`, `Escape`, `Down`, `C-c`.
    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", "--", key]);
    }

    /// Presses a key until the screen is as expected: an agent may ignore a key that comes right
    /// after it has asked something.
    pub fn press_until(&self, key: &str, what: &str, mut condition: impl FnMut(&str) -> bool) {
        let mut pressed: Option<Instant> = None;
        self.wait_until(what, |text| {
            let is_done = condition(text);
            if !is_done && pressed.is_none_or(|pressed| pressed.elapsed() > TIMEOUT) {
                self.press(key);
                pressed = Some(Instant::now());
            }
            is_done
        });
    }

    /// Types a prompt, waits for it on the screen and submits it.
    pub fn submit(&self, prompt: &str) {
        self.type_text(prompt);
        self.wait_for(prompt);
        self.press("Enter");
    }

    /// Returns what is on the screen.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Returns what is on the screen, with its colours.
    pub fn coloured_text(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-e"]).stdout).into_owned()
    }

    /// Waits for a text on the screen, and panics if it does not appear.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?} on the screen"), |screen| screen.contains(text));
    }

    /// Waits until the screen is as expected, and panics if that does not happen.
    pub fn wait_until(&self, what: &str, mut condition: impl FnMut(&str) -> bool) {
        let until = Instant::now() + AGENT_PATIENCE;
        loop {
            let text = self.text();
            if condition(&text) {
                return;
            }
            assert!(Instant::now() < until, "waited in vain for {what}:\n{text}");
            thread::sleep(GLANCE);
        }
    }

    /// Returns the agent's process.
    pub fn process(&self) -> u32 {
        self.show("#{pane_pid}").parse().unwrap()
    }

    /// Returns the agent's exit code once it has ended.
    pub fn exit_code(&self) -> Option<i32> {
        let shown = self.show("#{pane_dead} #{pane_dead_status}");
        let (is_dead, status) = shown.split_once(' ').unwrap_or((&shown, ""));
        if is_dead == "1" && status.is_empty() {
            // It may have missed the end of its child; it checks again when another one ends.
            self.tmux(&["run-shell", "-b", "true"]);
        }
        status.parse().ok()
    }

    /// Ends the agent and its child processes.
    pub fn close(mut self) {
        self.end();
    }

    fn show(&self, format: &str) -> String {
        let output = self.tmux(&["display-message", "-p", format]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(arguments).stdin(Stdio::null());
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {message}");
        output
    }

    fn end(&mut self) {
        if self.line.take().is_some() {
            drop(self.child.wait());
            drop(std::fs::remove_file(&self.socket));
        }
    }
}

/// A semicolon at the end of an argument would start another `tmux` command.
fn escaped(argument: &str) -> String {
    match argument.strip_suffix(';') {
        Some(before) => format!("{before}\\;"),
        None => argument.to_owned(),
    }
}

impl Drop for AgentScreen {
    fn drop(&mut self) {
        self.end();
    }
}
