//! Agents that are scripts, for `workflow run`: they do what their prompt says, and what a test adds.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhook_testkit::{CommandRun, finish, run, write};
use serde_json::{Value, json};

use super::workflow_fixture::{Desk, WORK, artifact};

/// A stage may take so long on a machine that does much else.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A desk at which scripts work.
pub struct Crew {
    pub desk: Desk,
}

/// The agent: reads the signal in its prompt, writes the artifacts that it names, hands them in, and
/// stays until it is ended. What a test adds comes before, and may leave.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, pathlib, re, subprocess, sys, time

root = pathlib.Path("ROOT")
prompt = os.environ["ANYHOOK_PROMPT"]
signal = json.loads(next(line for line in prompt.splitlines() if line.startswith("{")))
stage, attempt = signal["stage"], int(signal["id"].rsplit("-", 1)[1])

def say(word):
    with open(root / "said", "a") as file:
        file.write(f"{stage} {attempt} {word}\n")

def said():
    return (root / "said").read_text().splitlines()

def wait(condition):
    until = time.monotonic() + 60
    while not condition():
        if time.monotonic() > until:
            say("waited in vain")
            sys.exit(9)
        time.sleep(0.02)

def hand_in():
    for path in signal["output_artifacts"]:
        file = pathlib.Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((root / "made" / stage).read_bytes())
    folder = pathlib.Path("ARTIFACTS") / signal["agent"].replace("_", "-")
    file = folder / "stage-completion-signal.json"
    file.write_text(json.dumps(signal))
    # Once it is accepted, the session is ended: nothing is said after that.
    say("hands in")
    # As the prompt says it: `…/anyhook workflow complete FILE`.
    done = subprocess.run(re.search("`([^`]+ workflow complete [^`]+)`", prompt)[1], shell=True)
    if done.returncode != 0:
        say(f"refused {done.returncode}")

assert sys.argv[-1] == prompt and os.environ["ANYHOOK_WORKFLOW_AGENT"] == signal["agent"]
assert os.environ["ANYHOOK_WORKFLOW_CONTEXT"] == "given"
say("began")
BEHAVIOUR
hand_in()
time.sleep(600)
"#;

impl Crew {
    /// Begins a workflow with a low risk.
    pub fn new(behaviour: &str) -> Self {
        Self::at(Desk::new(), behaviour)
    }

    pub fn at(desk: Desk, behaviour: &str) -> Self {
        let crew = Self { desk };
        for (stage, ..) in WORK {
            crew.will_make(stage, &artifact(stage, "full_system"));
        }
        crew.behave(behaviour);
        crew
    }

    /// Says what agents do before they hand in.
    pub fn behave(&self, behaviour: &str) {
        let root = self.desk.environment.root().to_string_lossy().into_owned();
        let text = AGENT.replace("ROOT", &root).replace("BEHAVIOUR", behaviour);
        write(&self.desk.path("worker"), text, 0o755);
    }

    /// Says what the agent of a stage makes.
    pub fn will_make(&self, stage: &str, value: &Value) {
        let file = self.desk.environment.root().join("made").join(stage);
        write(&file, value.to_string(), 0o644);
    }

    /// Has agents go on that wait for the file `go`.
    pub fn go(&self) {
        write(&self.desk.environment.root().join("go"), "", 0o644);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let all = [&["workflow", "run", "--with", "./worker"], arguments].concat();
        self.desk.environment.command(&all)
    }

    /// Runs the workflow until it ends by itself.
    pub fn run(&self, arguments: &[&str]) -> CommandRun {
        run(self.command(arguments), b"")
    }

    /// Runs the workflow beside the test.
    pub fn begin(&self, arguments: &[&str]) -> Run<'_> {
        let file = self.desk.environment.root().join("told");
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(fs::File::create(&file).unwrap());
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        Run { crew: self, child: Some(child), file }
    }

    /// What the agents said, in order.
    pub fn said(&self) -> Vec<String> {
        let text = fs::read_to_string(self.desk.environment.root().join("said"));
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub fn has_said(&self, line: &str) -> bool {
        self.said().iter().any(|said| said == line)
    }

    pub fn wait_said(&self, line: &str) {
        self.wait(line, || self.has_said(line));
    }

    /// Waits for something, and tells all that is known if it does not come.
    pub fn wait(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let until = std::time::Instant::now() + TIMEOUT;
        while !condition() {
            assert!(
                std::time::Instant::now() < until,
                "waited in vain: {what}\n{:?}\n{}\n{}",
                self.said(),
                self.desk.run(&["status"]).stdout,
                self.desk.environment.run(&["pipeline", "list", "--all"]).stdout
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the decisions about gates.
    pub fn gates(&self) -> Vec<Value> {
        let ran = self.desk.environment.run(&["decision", "list", "--all", "--json"]);
        let all = if ran.code == 0 { ran.json() } else { json!([]) };
        let all = all.as_array().unwrap().iter();
        all.filter(|one| one["inquiry"]["kind"] == "gate").cloned().collect()
    }

    /// Waits until a person is asked about a stage; returns the decision's id.
    pub fn wait_asked(&self, stage: &str) -> String {
        let mut id = None;
        self.wait(&format!("a question about {stage}"), || {
            let gates = self.gates();
            let open = gates.iter().find(|one| {
                one["inquiry"]["agent"] == format!("workflow/{stage}")
                    && one["resolution"].is_null()
            });
            id = open.map(|one| one["inquiry"]["id"].as_str().unwrap().to_owned());
            id.is_some()
        });
        id.unwrap()
    }

    pub fn resolve(&self, decision: &str, choice: &str, message: &str) {
        let mut command = self.desk.environment.command(&[
            "decision",
            "resolve",
            decision,
            choice,
            "--message",
            message,
        ]);
        command.env("USER", "ann");
        let ran = run(command, b"");
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    /// Returns every pipeline of the workflow: its stage and its phase.
    pub fn pipelines(&self) -> Vec<(String, String)> {
        let all = self.desk.environment.run(&["pipeline", "list", "--all", "--json"]).json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let all = all.as_array().unwrap().iter();
        all.map(|one| (text(&one["variables"]["stage"]), text(&one["phase"]))).collect()
    }
}

/// A `workflow run` beside the test; it is killed when dropped.
pub struct Run<'crew> {
    crew: &'crew Crew,
    child: Option<Child>,
    file: PathBuf,
}

impl Run<'_> {
    pub fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until it has told something.
    pub fn wait_told(&self, text: &str) {
        self.crew.wait(text, || fs::read_to_string(&self.file).unwrap().contains(text));
    }

    /// Waits for its end.
    pub fn finish(mut self) -> CommandRun {
        let mut child = self.child.take().unwrap();
        let crew = self.crew;
        crew.wait("the end of workflow run", || child.try_wait().unwrap().is_some());
        CommandRun { stdout: fs::read_to_string(&self.file).unwrap(), ..finish(child) }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
