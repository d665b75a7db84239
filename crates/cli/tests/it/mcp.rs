//! Scripted MCP servers, and the files that name them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhook_testkit::{TestEnv, wait_until, write};
use serde_json::{Value, json};

fn script(name: &str) -> String {
    format!("{}/../mcp/tests/it/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns an entry of `mcpServers` for the scripted server, which notes its processes and calls.
pub fn scripted(environment: &TestEnv, mode: &str) -> Value {
    json!({"command": "python3", "args": ["-u", script("server.py"), mode, notes(environment)]})
}

fn notes(environment: &TestEnv) -> PathBuf {
    environment.root().join("pids")
}

/// Returns the text of a file that names both servers that a workflow asks.
pub fn both(entry: &Value) -> String {
    json!({"mcpServers": {"context7": entry, "gemini": entry}}).to_string()
}

pub fn user_file(environment: &TestEnv) -> PathBuf {
    environment.home().join(".config/agents/mcp.json")
}

pub fn project_file(environment: &TestEnv) -> PathBuf {
    environment.project().join(".agents/mcp.json")
}

/// Names the scripted server in the user's file.
pub fn give_servers(environment: &TestEnv, mode: &str) {
    write(&user_file(environment), both(&scripted(environment, mode)), 0o644);
}

/// Returns the calls that the scripted servers got.
pub fn calls(environment: &TestEnv) -> Vec<String> {
    let calls = fs::read_to_string(notes(environment).with_extension("calls"));
    calls.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Returns how many of the scripted servers were started.
pub fn started(environment: &TestEnv) -> usize {
    fs::read_to_string(notes(environment)).unwrap_or_default().lines().count()
}

/// Checks that nothing is left of the servers and of what they have started.
pub fn must_be_gone(environment: &TestEnv) {
    let noted = fs::read_to_string(notes(environment)).unwrap_or_default();
    for process in noted.split_ascii_whitespace() {
        wait_until("a process of a server ends", || {
            let status = fs::read_to_string(format!("/proc/{process}/status"));
            status.map_or(true, |status| status.contains("State:\tZ"))
        });
    }
}

/// Reads an artifact, which must keep to its schema.
pub fn artifact(environment: &TestEnv, path: &str) -> Value {
    let text = fs::read_to_string(environment.project().join(path)).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let faults = crate::workflow::method().validate_file(path, &value);
    assert!(faults.is_empty(), "{path}: {faults:?}\n{value:#}");
    value
}

/// Returns the reports of documentation.
pub fn reports(environment: &TestEnv) -> Vec<Value> {
    let reports = artifact(environment, "ARTIFACTS/system/context-refresh-report.json");
    reports.as_array().unwrap().clone()
}

/// A scripted server over HTTP; it ends with this.
pub struct Web {
    child: Child,
    pub port: String,
}

impl Web {
    pub fn start() -> Self {
        let mut command = Command::new("python3");
        command.args(["-u", &script("http_server.py")]).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, port: port.trim().to_owned() }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks that a file is as it was before.
pub fn must_hold(path: &Path, text: &str) {
    assert_eq!(fs::read_to_string(path).unwrap(), text);
}
