//! Git, as a program: the person's settings must neither change what it does nor run anything.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::options::GuardError;

/// Variables that would make git work elsewhere.
const NOT_OURS: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
];

/// Settings that hold for every call.
const SETTINGS: [&str; 10] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.safecrlf=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "gc.auto=0",
];

/// Git in a folder.
#[derive(Clone, Debug)]
pub struct Git {
    folder: PathBuf,
    index: Option<PathBuf>,
}

impl Git {
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), index: None }
    }

    /// The same with another index.
    pub fn with_index(&self, index: &Path) -> Self {
        Self { folder: self.folder.clone(), index: Some(index.to_owned()) }
    }

    /// Runs git and returns its output.
    pub fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, GuardError> {
        self.output_of(arguments, b"")
    }

    /// Runs git with an input and returns its output.
    pub fn output_of(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GuardError> {
        let failed = |error| GuardError::Program { program: "git".to_owned(), error };
        let mut child = self.command(arguments).spawn().map_err(failed)?;
        let mut stdin = child.stdin.take();
        let mut stdout = child.stdout.take();
        let mut stderr = child.stderr.take();
        let (out, err) = thread::scope(|scope| {
            // Git reads and writes at the same time: neither side may wait for the other.
            scope.spawn(move || {
                // If git has ended early, its exit code says so.
                let _ = stdin.take().map(|mut stdin| stdin.write_all(input));
            });
            let err = scope.spawn(move || all(stderr.as_mut()));
            (all(stdout.as_mut()), err.join().unwrap_or_else(|_| Ok(Vec::new())))
        });
        let status = child.wait().map_err(failed)?;
        let (out, err) = (out.map_err(failed)?, err.map_err(failed)?);
        if status.success() {
            return Ok(out);
        }
        let why = String::from_utf8_lossy(&err).trim().to_owned();
        let why = why.lines().next().unwrap_or("it failed").to_owned();
        Err(GuardError::Failed(format!("git {}: {why}", arguments.first().unwrap_or(&""))))
    }

    /// Runs git and returns the path that it prints.
    pub fn path(&self, arguments: &[&str]) -> Result<PathBuf, GuardError> {
        let told = self.output(arguments)?;
        let told = told.strip_suffix(b"\n").unwrap_or(&told);
        if told.is_empty() {
            return Err(GuardError::Failed("the repository has no working tree".to_owned()));
        }
        Ok(path_of(told))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for name in NOT_OURS {
            command.env_remove(name);
        }
        command.args(SETTINGS).args(arguments).current_dir(&self.folder);
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            command.env(name, "anyhook");
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "anyhook@localhost");
        }
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env_remove(name);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn all(stream: Option<&mut impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns the parts of an output that end with a zero byte.
pub fn parts(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// Returns an output that is one word.
pub fn lines(output: &[u8]) -> Result<String, GuardError> {
    let text = String::from_utf8_lossy(output).trim().to_owned();
    if text.is_empty() {
        Err(GuardError::Failed("git printed nothing".to_owned()))
    } else {
        Ok(text)
    }
}

/// Returns bytes as a path.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}
