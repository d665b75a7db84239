//! A hermetic environment for black-box tests: a home, a project, and the real program.
//!
//! Nothing of the user's own environment is used: the variables are cleared, the folders are fresh.
//! Tests panic if an expectation fails, so everything here does too.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

pub mod agents;
pub mod browser;
pub mod git;
pub mod kill;
pub mod needs;
pub mod npm;
pub mod programs;
pub mod pypi;
pub mod tls;

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub use anyhook_scripted_model as model_server;

use anyhook_model::host::HOST_IDS;
use rustix::fs::StatVfsMountFlags;
use serde_json::Value;
use tempfile::TempDir;

/// A fresh home and project, and the program under test.
#[derive(Debug)]
pub struct TestEnv {
    root: TempDir,
    path: PathBuf,
    binary: PathBuf,
    answer: Option<AnswerFunction>,
}

/// Answers an event of the open format as `anyhook hook agent-hooks` does.
pub type AnswerFunction = fn(&TestEnv, Vec<u8>) -> CommandRun;

/// What a command printed and how it ended.
#[derive(Clone, Debug)]
pub struct CommandRun {
    /// The exit code; a signal gives 128 plus its number, as in a shell.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl TestEnv {
    /// Makes an environment for the program at `binary`.
    pub fn new(binary: &str) -> Self {
        Self::below(&std::env::temp_dir(), binary)
    }

    /// Makes an environment in memory, if there is room: for tests that make many, as creating and
    /// removing thousands of small files takes much longer on a disk.
    pub fn in_memory(binary: &str) -> Self {
        Self::below(&memory().unwrap_or_else(std::env::temp_dir), binary)
    }

    fn below(folder: &Path, binary: &str) -> Self {
        let root = tempfile::Builder::new().prefix("anyhook-").tempdir_in(folder).unwrap();
        // Tests that run as another user must be able to enter.
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        let path = fs::canonicalize(root.path()).unwrap();
        let environment = Self { root, path, binary: PathBuf::from(binary), answer: None };
        fs::create_dir_all(environment.home()).unwrap();
        fs::create_dir_all(environment.project().join(".git")).unwrap();
        environment
    }

    /// Returns the folder that contains everything.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Returns the home folder.
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// Returns the project: a repository, where commands are run.
    pub fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// Returns the state folder.
    pub fn state(&self) -> PathBuf {
        self.home().join(".local/state/anyhook")
    }

    /// Returns the user's hooks.
    pub fn user_hooks(&self) -> PathBuf {
        self.home().join(".config/agents/hooks")
    }

    /// Returns the project's hooks.
    pub fn project_hooks(&self) -> PathBuf {
        self.project().join(".agents/hooks")
    }

    /// Makes a user's hook: `matter` is its front matter except for name and description; `script`
    /// is its `scripts/run`, with a shebang added unless it has one.
    pub fn user_hook(&self, name: &str, matter: &str, script: &str) -> PathBuf {
        self.hook(&self.user_hooks(), name, matter, script)
    }

    /// Makes a project's hook, not trusted.
    pub fn project_hook(&self, name: &str, matter: &str, script: &str) -> PathBuf {
        self.hook(&self.project_hooks(), name, matter, script)
    }

    /// Makes a hook in a folder of hooks.
    pub fn hook(&self, hooks: &Path, name: &str, matter: &str, script: &str) -> PathBuf {
        let folder = hooks.join(name);
        let script = if script.starts_with("#!") {
            script.to_owned()
        } else {
            format!("#!/bin/sh\n{script}\n")
        };
        write(
            &folder.join("HOOK.md"),
            format!("---\nname: {name}\ndescription: the hook {name}\n{matter}\n---\n"),
            0o644,
        );
        write(&folder.join("scripts/run"), &script, 0o755);
        folder
    }

    /// Returns the program with arguments, in the project, with only the test's variables.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(arguments)
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1")
            // The tests may be run by an agent; the commands in them are run as by a person.
            .env("ANYHOOK_TOP_PROCESS", std::process::id().to_string())
            // Nor may the tests use the home folder of the user who runs them.
            .env("ANYHOOK_PASSWD_HOME", self.home());
        command
    }

    /// Runs the program.
    pub fn run(&self, arguments: &[&str]) -> CommandRun {
        run(self.command(arguments), b"")
    }

    /// Runs the program with something on standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> CommandRun {
        run(self.command(arguments), input.as_ref())
    }

    /// Has events answered by a function in this process and not by the program: a process for each
    /// event costs more than the code under test.
    pub fn answered_by(mut self, answer: AnswerFunction) -> Self {
        self.answer = Some(answer);
        self
    }

    /// Sends an event through `anyhook hook agent-hooks`, or the function that
    /// [answers](Self::answered_by) for it.
    pub fn event(&self, event: &Value) -> CommandRun {
        self.event_as_written(&event.to_string())
    }

    /// As [`event`](Self::event), with the event as text.
    pub fn event_as_written(&self, event: &str) -> CommandRun {
        match self.answer {
            Some(answer) => answer(self, event.into()),
            None => self.run_with_input(&["hook", "agent-hooks"], event),
        }
    }

    /// Sends a `before_tool` event of a shell command.
    pub fn shell(&self, command: &str) -> CommandRun {
        self.event(&serde_json::json!({
            "event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": command},
        }))
    }

    /// Returns the journal's segments, oldest first.
    pub fn segments(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.state().join("journal")) else { return Vec::new() };
        let is_segment = |path: &PathBuf| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(|first: char| first.is_ascii_digit())
        };
        let mut files: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(is_segment).collect();
        files.sort();
        files
    }

    /// Returns the journal's records of events: [all](Self::all_records) except those of commands
    /// that people ran.
    pub fn journal(&self) -> Vec<Value> {
        let is_event = |record: &Value| {
            !record["event"].as_str().is_some_and(|event| event.starts_with("command:"))
        };
        self.all_records().into_iter().filter(is_event).collect()
    }

    /// Returns the journal's records as they are, without their checksums.
    pub fn all_records(&self) -> Vec<Value> {
        self.segments()
            .iter()
            .flat_map(|file| {
                let text = fs::read_to_string(file).unwrap();
                // The last record may only be half written yet.
                let whole = text.rfind('\n').map_or("", |end| &text[..end]);
                whole.lines().map(str::to_owned).collect::<Vec<_>>()
            })
            // Concurrent writers may leave an empty line.
            .filter(|line| !line.is_empty())
            .map(|line| {
                let mut record: Value = serde_json::from_str(&line).unwrap();
                assert!(remove(&mut record, "sum"), "{line}");
                record
            })
            .collect()
    }

    /// Replaces what differs from run to run, and lists of agents, which grow.
    pub fn normal(&self, text: &str) -> String {
        let text = text.replace(&self.path.to_string_lossy().into_owned(), "[ROOT]");
        let text = text.replace(&self.root.path().to_string_lossy().into_owned(), "[ROOT]");
        text.split_inclusive('\n').map(without_agents).collect()
    }

    /// Returns a text without what differs between environments: the folder's name, and the ids of
    /// records.
    pub fn comparable(&self, text: &str) -> String {
        let mut text = self.normal(text);
        for record in self.journal() {
            text = text.replace(record["id"].as_str().unwrap(), "[ID]");
        }
        text
    }

    /// Returns the journal without what differs between environments, and without the given members
    /// of its records.
    pub fn comparable_journal(&self, without: &[&str]) -> Vec<Value> {
        let text = Value::from(self.journal()).to_string();
        let mut records: Vec<Value> = serde_json::from_str(&self.comparable(&text)).unwrap();
        for record in &mut records {
            for key in ["at", "took_us", "counted"].iter().chain(without) {
                remove(record, key);
            }
            for run in record["runs"].as_array_mut().into_iter().flatten() {
                remove(run, "took_us");
            }
        }
        records
    }

    /// Changes the owner of everything to another user and returns the program to be run by that
    /// user.
    ///
    /// For tests of missing permissions: root may do anything, so as root they would test nothing.
    /// Needs [`MachineNeed::Users`](needs::MachineNeed::Users).
    pub fn command_as(&self, uid: u32, arguments: &[&str]) -> Command {
        let program = self.program_for_others();
        let original = self.command(arguments);
        let mut command = Command::new("setpriv");
        let id = uid.to_string();
        command
            .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
            .arg(&program)
            .args(arguments)
            .current_dir(self.project())
            .env_clear();
        for (name, value) in original.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
    }

    /// Returns a program that every user may run: a copy if the build folder is not accessible.
    fn program_for_others(&self) -> PathBuf {
        let is_open = |path: &Path| {
            fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o001 != 0)
        };
        if self.binary.is_absolute() && self.binary.ancestors().all(is_open) {
            return self.binary.clone();
        }
        let copy = self.path.join("anyhook");
        if !copy.exists() {
            // With another process: a file that we hold open for writing may be inherited by a
            // child of another thread, and then it cannot be executed.
            let status = Command::new("cp").arg(&self.binary).arg(&copy).status().unwrap();
            assert!(status.success(), "cp works");
            fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
        }
        copy
    }

    /// Returns the program to be run by a user who has no home folder, neither by variable nor in
    /// the user database.
    ///
    /// Needs [`MachineNeed::Users`](needs::MachineNeed::Users).
    pub fn command_without_home(&self, arguments: &[&str]) -> Command {
        const NOBODYS: u32 = 54_321;
        self.give_to(NOBODYS);
        let mut command = self.command_as(NOBODYS, arguments);
        command.env_remove("HOME");
        command
    }

    /// Returns the process of the daemon that runs here, if one does.
    pub fn daemon(&self) -> Option<u32> {
        let lock = fs::read_to_string(self.state().join("daemon/store/lock")).ok()?;
        let process: u32 = lock.trim().parse().ok()?;
        let command = fs::read_to_string(format!("/proc/{process}/cmdline")).ok()?;
        command.contains("__daemon").then_some(process)
    }

    /// Kills the daemon with `kill -9`, and keeps hook events and task supervisors from restarting
    /// it, as `anyhook daemon stop` does. The next command that needs it starts it.
    pub fn kill_daemon_for_good(&self) {
        let folder = self.state().join("daemon");
        if folder.is_dir() {
            fs::write(folder.join("stopped"), "").unwrap();
        }
        self.kill_daemon();
    }

    /// Kills the daemon that runs here with `kill -9`. While agents or pipelines are running, a
    /// hook event or the end of a task supervisor restarts it.
    pub fn kill_daemon(&self) {
        let Some(process) = self.daemon() else { return };
        // It may be gone by now.
        let mut kill = Command::new("kill");
        kill.args(["-9", &process.to_string()]).stderr(Stdio::null()).status().unwrap();
        // A process that waits for the disk ends when the disk has answered.
        let limit = Duration::from_secs(60);
        // Its socket is removed before its lock is released.
        wait_within(limit, "the daemon to be gone", || {
            self.daemon() != Some(process) && (self.daemon().is_some() || !self.store_is_locked())
        });
    }

    /// Returns whether a process has locked the daemon's store.
    fn store_is_locked(&self) -> bool {
        let lock = fs::File::open(self.state().join("daemon/store/lock"));
        lock.is_ok_and(|lock| lock.try_lock_shared().is_err())
    }

    /// Changes the owner of everything to another user. Needs
    /// [`MachineNeed::Users`](needs::MachineNeed::Users).
    pub fn give_to(&self, uid: u32) {
        let status = Command::new("chown")
            .args(["-R", &format!("{uid}:{uid}")])
            .arg(&self.path)
            .status()
            .unwrap();
        assert!(status.success(), "chown works as root only");
    }

    /// Ends every process that works in these folders or was started with them: hooks that a test
    /// blocks, task supervisors and terminals, which outlive the daemon.
    fn end_processes(&self) {
        let own = std::process::id().to_string();
        // Most running processes are older than this test, and are skipped.
        let began = started(Path::new("/proc/self"));
        // A process that is being killed may just be starting another one.
        for _ in 0..10 {
            let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
            let names = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let ours: Vec<String> = names
                .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
                .filter(|name| self.has_process(&Path::new("/proc").join(name), began))
                .collect();
            if ours.is_empty() {
                return;
            }
            let _ =
                Command::new("kill").args(["-9", "--"]).args(&ours).stderr(Stdio::null()).status();
        }
    }

    /// Returns whether a process that was started since has our folder in its arguments or its
    /// variables, or works there.
    fn has_process(&self, process: &Path, began: Option<u64>) -> bool {
        let path = self.path.as_os_str().as_encoded_bytes();
        let names_us = |file: &str| {
            let text = fs::read(process.join(file)).unwrap_or_default();
            text.windows(path.len()).any(|part| part == path)
        };
        let works_here =
            || fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&self.path));
        started(process) >= began && (works_here() || names_us("cmdline") || names_us("environ"))
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        self.kill_daemon_for_good();
        self.end_processes();
        // Trusted copies are read-only, and only root can remove what it cannot write.
        if !rustix::process::geteuid().is_root() {
            let mut chmod = Command::new("chmod");
            let _ = chmod.args(["-R", "u+w"]).arg(&self.path).stderr(Stdio::null()).status();
        }
    }
}

impl CommandRun {
    /// Returns standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Returns a folder in memory that has room and from which programs can be executed; `None` if
/// `TMPDIR` is set.
fn memory() -> Option<PathBuf> {
    const ROOM: u64 = 2 << 30;
    let folder = PathBuf::from("/dev/shm");
    let found = rustix::fs::statvfs(&folder).ok()?;
    let may_run = !found.f_flag.intersects(StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY);
    let fits = may_run && found.f_bavail * found.f_frsize >= ROOM;
    (fits && std::env::var_os("TMPDIR").is_none()).then_some(folder)
}

/// Returns when a process was started, in clock ticks; `None` if it is gone.
fn started(process: &Path) -> Option<u64> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The name is in parentheses and may contain some itself; then comes the third field.
    stat.rsplit_once(") ")?.1.split(' ').nth(22 - 3)?.parse().ok()
}

/// Writes a file with its mode, and creates its parent folders.
pub fn write(path: &Path, content: impl AsRef<[u8]>, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Runs a command to its end.
pub fn run(mut command: Command, input: &[u8]) -> CommandRun {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program need not read its input.
        scope.spawn(move || drop(stdin.write_all(input)));
        finish(child)
    })
}

/// Starts a command whose end is awaited later, with [`finish`].
pub fn begin(mut command: Command, input: &[u8]) -> Child {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child
}

/// Waits for a process to end.
pub fn finish(child: Child) -> CommandRun {
    let output = child.wait_with_output().unwrap();
    CommandRun {
        code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Removes a member of an object, and returns whether it was there; the others keep their order.
fn remove(value: &mut Value, key: &str) -> bool {
    let object = value.as_object_mut().unwrap();
    let before = object.len();
    object.retain(|other, _| other != key);
    object.len() < before
}

/// Replaces a list of many agents at the end of a line: most tests are not about which there are.
fn without_agents(line: &str) -> String {
    let Some((before, list)) = line.rsplit_once(": ") else { return line.to_owned() };
    let is_agent = |name: &&str| HOST_IDS.contains(name);
    if list.split(", ").take(4).filter(is_agent).count() < 4 {
        return line.to_owned();
    }
    let is_of_list = |letter: char| letter.is_alphanumeric() || ", -".contains(letter);
    format!("{before}: [AGENTS]{}", list.trim_start_matches(is_of_list))
}

/// Waits for a condition, at most ten seconds.
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_within(Duration::from_secs(10), what, condition);
}

/// Waits for a condition, at most `limit`.
pub fn wait_within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
