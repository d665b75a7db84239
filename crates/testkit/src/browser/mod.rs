//! A real browser, driven by what a test says in JavaScript.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::needs;
use crate::npm::{self, InstallError};

/// What drives the browser, and what checks that a page is accessible.
const PACKAGES: [&str; 2] = ["playwright-core@1.65.1", "axe-core@4.14.1"];
/// The names of the browser's program.
const PROGRAMS: [&str; 2] = ["chromium", "chromium-browser"];

/// Installs what drives the browser; returns the folder.
pub fn install() -> Result<PathBuf, InstallError> {
    npm::install("browser", &PACKAGES)
}

/// A browser that is closed with it.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Browser {
    /// Opens a browser; none if there is none here, which the test then says. Names below `test` are
    /// this machine, and `rebound.test` is the host of the page under test.
    pub fn open(test: &str, host: &str) -> Option<Self> {
        let Some(program) = PROGRAMS.iter().find_map(|name| on_path(name)) else {
            needs::skip(test, "a browser (Debian package chromium)");
            return None;
        };
        let modules = match install() {
            Ok(modules) => modules,
            Err(error) => {
                needs::skip(test, &error.to_string());
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let driver = folder.path().join("driver.mjs");
        std::fs::write(&driver, include_str!("driver.mjs")).unwrap();
        let mut command = Command::new("node");
        command.arg(&driver).arg(&modules).arg(program).arg(host);
        // The browser keeps files in its home.
        command.env("HOME", folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Some(Self { child, input, output: BufReader::new(output), folder })
    }

    /// Returns a folder for the test's files, which is removed with the browser.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the body of an async function of `page`, `args` and `tools`, and returns its value.
    pub fn run(&mut self, script: &str, args: &Value) -> Value {
        let line = json!({"script": script, "args": args}).to_string();
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        let answer: Value =
            serde_json::from_str(&answer).unwrap_or_else(|_| panic!("the browser has ended"));
        assert!(answer.get("error").is_none(), "{}\n{script}", answer["error"].as_str().unwrap());
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The end of its input is what closes the browser.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
