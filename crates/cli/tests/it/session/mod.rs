//! Agents' sessions.

mod attach;
mod cases;
mod limits;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhook_daemon::session::{Key, Session, SessionError};
use anyhook_daemon::task::{self, TASK_VERSION, Task, TaskResult, TaskStatus};
use anyhook_testkit::{TestEnv, needs, wait_within, write};
use serde_json::json;

use crate::environment;

const BINARY: &str = env!("CARGO_BIN_EXE_anyhook");

/// How long anything may take, on a machine that does much else.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Where sessions are played.
struct Stage {
    environment: TestEnv,
    runtime: PathBuf,
    /// How many have been made.
    made: AtomicU32,
}

/// One session.
struct Played<'a> {
    stage: &'a Stage,
    session: Session,
}

/// Plays a case, unless there can be no session here.
fn play(case: fn(&Stage)) {
    if let Err(error) = Session::check() {
        return needs::skip("sessions", &error.to_string());
    }
    case(&Stage::new());
}

impl Stage {
    fn new() -> Self {
        let environment = environment();
        let runtime = environment.root().join("run");
        Self { environment, runtime, made: AtomicU32::new(0) }
    }

    /// Writes a session's task down.
    fn prepared(&self, text: &str) -> Played<'_> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        self.named(&format!("s-{number}"), number, text)
    }

    fn named(&self, name: &str, number: u32, text: &str) -> Played<'_> {
        let folder = self.environment.root().join(format!("tasks/{number}"));
        let file = self.environment.root().join("environment.json");
        let variables = json!({
            "PATH": std::env::var("PATH").unwrap(), "LANG": "C.UTF-8", "HOME": self.environment.home(),
            "TERM": "dumb", "TMUX": "/the/person's,1,0", "STY": "x", "COLUMNS": "7",
        });
        write(&file, variables.to_string(), 0o600);
        let task = Task {
            v: TASK_VERSION,
            text: text.to_owned(),
            arguments: Vec::new(),
            variables: [].into(),
            environment: file,
            cwd: self.environment.project(),
            timeout_ms: None,
            terminal: true,
        };
        task::prepare(&folder, &task).unwrap();
        let session = Session {
            folder,
            name: name.to_owned(),
            binary: BINARY.into(),
            runtime: self.runtime.clone(),
        };
        Played { stage: self, session }
    }

    fn started(&self, text: &str) -> Played<'_> {
        let played = self.prepared(text);
        played.session.start().unwrap();
        played
    }

    fn file(&self, name: &str) -> PathBuf {
        self.environment.project().join(name)
    }

    /// Returns a line that was written to a file in the project, once it is there.
    fn line(&self, name: &str) -> String {
        let read = || fs::read_to_string(self.file(name)).unwrap_or_default();
        wait_within(TIMEOUT, name, || read().ends_with('\n'));
        read().trim().to_owned()
    }

    /// Waits until a file in the project holds these bytes.
    fn holds(&self, name: &str, bytes: &[u8]) {
        let read = || fs::read(self.file(name)).unwrap_or_default();
        let what = format!("{name} to be {:?}", String::from_utf8_lossy(bytes));
        wait_within(TIMEOUT, &what, || read().len() >= bytes.len());
        let (now, wanted) = (read(), bytes);
        assert!(now == wanted, "{:?} is not {what}", String::from_utf8_lossy(&now));
    }
}

impl Played<'_> {
    fn is_there(&self) -> bool {
        self.session.is_there().unwrap()
    }

    fn screen(&self) -> String {
        self.session.screen().unwrap()
    }

    /// Waits for a text on the screen.
    fn shows(&self, text: &str) {
        let mut last = String::new();
        let until = std::time::Instant::now() + TIMEOUT;
        while !last.contains(text) {
            assert!(std::time::Instant::now() < until, "waited in vain for {text:?}:\n{last}");
            last = self.screen();
        }
    }

    fn paste(&self, text: &str) {
        self.session.paste(text).unwrap();
    }

    fn press(&self, key: Key) {
        self.session.press(key).unwrap();
    }

    fn ended(&self) -> TaskResult {
        match task::wait(&self.session.folder).unwrap() {
            TaskStatus::Ended(ended) => ended,
            other => panic!("{other:?}"),
        }
    }

    fn is_gone(&self) {
        wait_within(TIMEOUT, "the session to be gone", || !self.is_there());
    }

    /// Returns the process that keeps the session's terminal: the keeper's parent.
    fn terminal_process(&self) -> String {
        let TaskStatus::Running(keeper) = task::status(&self.session.folder).unwrap() else {
            panic!("it does not run")
        };
        let stat = fs::read_to_string(format!("/proc/{}/stat", keeper.pid)).unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().to_owned()
    }
}

/// Types a line and presses Enter, whatever happens meanwhile.
fn type_line(session: &Session, text: &str, limit: Duration) -> Result<(), SessionError> {
    session.type_line_if(text, limit, || true).map(|is_sent| assert!(is_sent))
}

impl Drop for Played<'_> {
    fn drop(&mut self) {
        let _ = self.session.end();
    }
}

fn kill(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Returns the words that have another process do something with a session: see [`helper`].
fn helper_words(played: &Played<'_>, what: &str) -> (Vec<(&'static str, String)>, Vec<String>) {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let variables = vec![
        ("ANYHOOK_TEST_WHAT", what.to_owned()),
        ("ANYHOOK_TEST_FOLDER", text(&played.session.folder)),
        ("ANYHOOK_TEST_NAME", played.session.name.clone()),
        ("ANYHOOK_TEST_RUNTIME", text(&played.session.runtime)),
    ];
    let program = text(&std::env::current_exe().unwrap());
    let words = ["session::helper", "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let words = [program].into_iter().chain(words.map(str::to_owned)).collect();
    (variables, words)
}

fn start_helper(played: &Played<'_>, what: &str) -> Child {
    let (variables, words) = helper_words(played, what);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(variables);
    command.env("HOME", played.stage.environment.home());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Not a test but a process of the others.
#[test]
#[ignore = "started by the other tests"]
fn helper() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let Ok(what) = std::env::var("ANYHOOK_TEST_WHAT") else { return };
    let session = Session {
        folder: variable("ANYHOOK_TEST_FOLDER").into(),
        name: variable("ANYHOOK_TEST_NAME"),
        binary: BINARY.into(),
        runtime: variable("ANYHOOK_TEST_RUNTIME").into(),
    };
    match what.as_str() {
        "start" => {
            session.start().unwrap();
            println!("started");
            loop {
                std::thread::park();
            }
        }
        "attach" => match session.attach() {
            Ok(()) => println!("attached and back"),
            Err(error) => println!("not attached: {error}"),
        },
        other => panic!("{other}"),
    }
}
