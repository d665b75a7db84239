//! A server under test: what it writes is read by a thread, checked against its schema, and kept.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhook_testkit::TestEnv;
use serde_json::{Value, json};

/// No answer takes as long as this, on however busy a machine.
const LONG: Duration = Duration::from_secs(120);

/// A server at work.
pub struct Server {
    pub child: Child,
    pub hello: Value,
    stdin: Option<ChildStdin>,
    answers: Receiver<Value>,
    validator: jsonschema::Validator,
}

/// A `before_tool` event of a shell command.
pub fn shell(command: &str) -> Value {
    json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": command}})
}

impl Server {
    pub fn start(environment: &TestEnv, arguments: &[&str]) -> Self {
        let mut all = vec!["serve", "--stdio"];
        all.extend(arguments);
        let mut command = environment.command(&all);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (told, answers) = mpsc::channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                // Nothing but JSON is ever written.
                let line = serde_json::from_str(&line.unwrap()).unwrap();
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        let schema = environment.run(&["schema", "serve-answer"]).json();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let stdin = child.stdin.take();
        let hello = answers.recv_timeout(LONG).unwrap();
        Self { child, hello, stdin, answers, validator }
    }

    /// Starts a server whose standard output the test holds, unread.
    pub fn start_unread(environment: &TestEnv) -> (Child, ChildStdin, ChildStdout) {
        let mut command = environment.command(&["serve", "--stdio"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (child, stdin, stdout)
    }

    pub fn send(&mut self, request: &Value) {
        self.send_text(&request.to_string());
    }

    pub fn send_text(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Takes the way in, to be filled by the test.
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.take().unwrap()
    }

    /// Returns the next answer, which keeps to its schema.
    pub fn next(&self) -> Value {
        let answer = self.answers.recv_timeout(LONG).unwrap();
        assert!(self.validator.is_valid(&answer), "{answer}");
        answer
    }

    /// Returns an answer that is there already.
    pub fn at_hand(&self) -> Option<Value> {
        self.answers.try_recv().ok()
    }

    /// Asks one thing and waits for its answer.
    pub fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        self.next()
    }

    /// Closes the way in and returns what is still answered; the server ends well.
    pub fn finish(mut self) -> Vec<Value> {
        self.stdin = None;
        self.wait()
    }

    /// Waits for the end, which is a good one, and returns what was still answered.
    pub fn wait(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Ok(answer) = self.answers.recv_timeout(LONG) {
            rest.push(answer);
        }
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        rest
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that failed leaves nobody behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pipe by name at which hooks wait: `: < "$HOME/gate"` returns when the gate has been opened.
pub struct Gate(std::path::PathBuf);

impl Gate {
    pub fn new(environment: &TestEnv) -> Self {
        let path = environment.home().join("gate");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        Self(path)
    }

    /// Lets everybody through, as long as what it returns is held.
    pub fn open(&self) -> std::fs::File {
        std::fs::OpenOptions::new().read(true).write(true).open(&self.0).unwrap()
    }
}
