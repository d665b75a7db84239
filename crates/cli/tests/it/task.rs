//! Tasks: run at most once, by a keeper that outlives whoever began it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhook_daemon::task::{self, TASK_VERSION, Task, TaskResult, TaskStatus};
use anyhook_testkit::{TestEnv, wait_until, write};
use serde_json::json;

use crate::environment;

const BINARY: &str = env!("CARGO_BIN_EXE_anyhook");

/// A command with an environment of its own, in a folder of its own.
struct Work {
    environment: TestEnv,
    task: Task,
}

impl Work {
    fn new(text: &str) -> Self {
        let environment = environment();
        let file = environment.root().join("environment.json");
        let path = std::env::var("PATH").unwrap();
        write(&file, json!({"PATH": path, "LANG": "C.UTF-8"}).to_string(), 0o600);
        let task = Task {
            v: TASK_VERSION,
            text: text.to_owned(),
            arguments: Vec::new(),
            variables: [].into(),
            environment: file,
            cwd: environment.project(),
            timeout_ms: None,
            terminal: false,
        };
        Self { environment, task }
    }

    fn folder(&self) -> PathBuf {
        self.environment.root().join("tasks/one")
    }

    fn prepared(self) -> Self {
        task::prepare(&self.folder(), &self.task).unwrap();
        self
    }

    fn begun(self) -> Self {
        let work = self.prepared();
        task::begin(&work.folder(), Path::new(BINARY)).unwrap();
        work
    }

    fn end(&self) -> TaskResult {
        match task::wait(&self.folder()).unwrap() {
            TaskStatus::Ended(ended) => ended,
            other => panic!("{other:?}"),
        }
    }

    fn output(&self) -> String {
        task::output_end(&self.folder(), 1024 * 1024).unwrap()
    }

    /// Returns a file in the project, once it is there.
    fn file(&self, name: &str) -> String {
        let path = self.environment.project().join(name);
        wait_until(name, || fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')));
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// Starts a keeper as the leader of a process group, from a shell in between.
    fn keeper_below_a_shell(&self, fault: Option<&str>) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "\"$0\" __keeper \"$1\"; true", BINARY]).arg(self.folder());
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        if let Some(fault) = fault {
            command.env("ANYHOOK_FAULT", fault);
        }
        command.spawn().unwrap()
    }

    fn keeper(&self) -> u32 {
        match task::status(&self.folder()).unwrap() {
            TaskStatus::Running(process) => process.pid,
            other => panic!("{other:?}"),
        }
    }
}

fn kill(arguments: &[&str]) {
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
}

fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn the_result_of_a_command_is_left_in_its_folder() {
    let work = Work::new("echo to stdout; echo to stderr >&2; exit 7").begun();
    let ended = work.end();
    assert_eq!((ended.code, ended.signal, ended.why.as_deref()), (Some(7), None, None));
    assert!(!ended.timed_out && !ended.killed && !ended.is_success());
    assert_eq!(work.output(), "to stdout\nto stderr\n");
    assert_eq!(task::status(&work.folder()).unwrap(), TaskStatus::Ended(ended));
    let mode =
        |name: &str| fs::metadata(work.folder().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    for name in ["task.json", "claim", "output", "ended"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    // To begin what is over does nothing.
    task::begin(&work.folder(), Path::new(BINARY)).unwrap();
    task::stop(&work.folder()).unwrap();
    assert_eq!(work.output(), "to stdout\nto stderr\n");
}

#[test]
fn a_command_may_end_itself_by_a_signal() {
    let work = Work::new("kill -9 $$").begun();
    let ended = work.end();
    assert_eq!((ended.code, ended.signal, ended.killed), (None, Some(9), false));
}

#[test]
fn it_outlives_whoever_began_it() {
    let work =
        Work::new("echo $$ > began; while [ ! -e go ]; do sleep 0.01; done; echo done").prepared();
    let mut shell = work.keeper_below_a_shell(None);
    let command = work.file("began");
    kill(&["-9", "--", &format!("-{}", shell.id())]);
    shell.wait().unwrap();
    assert!(lives(&command));
    work.keeper();
    write(&work.environment.project().join("go"), "", 0o644);
    assert_eq!(work.end().code, Some(0));
    assert_eq!(work.output(), "done\n");
}

#[test]
fn of_many_keepers_one_runs_it() {
    let work = Work::new("echo ran >> runs; while [ ! -e go ]; do sleep 0.01; done").prepared();
    let folder = work.folder();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| task::begin(&folder, Path::new(BINARY)).unwrap());
        }
    });
    let keeper = work.keeper();
    task::begin(&folder, Path::new(BINARY)).unwrap();
    let again = Command::new(BINARY).arg("__keeper").arg(&folder).output().unwrap();
    assert!(again.status.success(), "it is in good hands: {again:?}");
    assert_eq!(work.keeper(), keeper);
    write(&work.environment.project().join("go"), "", 0o644);
    assert_eq!(work.end().code, Some(0));
    assert_eq!(work.file("runs"), "ran");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn a_keeper_that_is_killed_leaves_a_doubt_at_every_point() {
    for (point, has_run) in [
        ("task.keeper.claimed", false),
        ("task.keeper.started", true),
        ("task.keeper.over", true),
        ("task.keeper.written", true),
    ] {
        let work = Work::new("echo ran >> runs").prepared();
        work.keeper_below_a_shell(Some(point)).wait().unwrap();
        let stand = task::wait(&work.folder()).unwrap();
        if point == "task.keeper.written" {
            assert_eq!(work.end().code, Some(0));
        } else {
            assert_eq!(stand, TaskStatus::InDoubt, "{point}");
        }
        if has_run {
            assert_eq!(work.file("runs"), "ran", "{point}");
        }
        // Nobody tries again.
        task::begin(&work.folder(), Path::new(BINARY)).unwrap();
        assert_eq!(task::status(&work.folder()).unwrap(), stand, "{point}");
        let runs = fs::read_to_string(work.environment.project().join("runs")).unwrap_or_default();
        assert_eq!(runs, if has_run { "ran\n" } else { "" }, "{point}");
    }
    let work = Work::new("echo $$ > began; exec sleep 1000").begun();
    let command = work.file("began");
    kill(&["-9", &work.keeper().to_string()]);
    assert_eq!(
        task::wait(&work.folder()).unwrap(),
        TaskStatus::InDoubt,
        "the command holds no lock"
    );
    assert!(lives(&command));
    kill(&["-9", &command]);
}

/// Starts what does not want to end: a child, one in a session of its own, one whose parents are
/// gone, one that is stopped, and the command itself.
const STUBBORN: &str = "
sh -c 'echo $$ > child; trap : TERM; while :; do sleep 0.05; done' &
setsid sh -c 'echo $$ > session; trap : TERM; while :; do sleep 0.05; done' &
sh -c 'setsid sh -c \"echo \\$\\$ > orphan; while :; do sleep 0.05; done\" & '
sh -c 'echo $$ > stopped; kill -STOP $$; sleep 1000' &
while [ ! -s child ] || [ ! -s session ] || [ ! -s orphan ] || [ ! -s stopped ]; do sleep 0.01; done
echo $$ > all
while :; do sleep 0.05; done
";

fn all_have_ended(work: &Work) {
    for name in ["child", "session", "orphan", "stopped", "all"] {
        assert!(!lives(&work.file(name)), "{name}");
    }
}

#[test]
fn when_its_time_is_over_all_it_started_ends() {
    let mut work = Work::new(STUBBORN);
    work.task.timeout_ms = Some(5000);
    let work = work.begun();
    let ended = work.end();
    assert!(ended.timed_out && !ended.killed, "{ended:?}");
    assert_eq!((ended.code, ended.signal), (None, Some(15)));
    all_have_ended(&work);
}

#[test]
fn when_it_is_stopped_all_it_started_ends() {
    let work = Work::new(STUBBORN).begun();
    work.file("all");
    task::stop(&work.folder()).unwrap();
    let ended = work.end();
    assert!(ended.killed && !ended.timed_out, "{ended:?}");
    all_have_ended(&work);
}

#[test]
fn when_its_keeper_was_killed_all_it_started_can_be_ended() {
    for end in [task::end_leftovers, |folder: &Path| task::stop(folder).map(|()| true)] {
        let work = Work::new(STUBBORN).begun();
        work.file("all");
        let other = Work::new("echo $$ > all; exec sleep 1000").begun();
        let stranger = other.file("all");
        assert!(task::end_leftovers(&work.folder()).unwrap());
        assert!(lives(&work.file("child")), "its keeper lives, and has it");
        kill(&["-9", &work.keeper().to_string()]);
        assert_eq!(task::wait(&work.folder()).unwrap(), TaskStatus::InDoubt);
        // The system itself ends a group that has lost its keeper while one of it is stopped.
        for name in ["session", "orphan"] {
            assert!(lives(&work.file(name)), "{name}");
        }
        assert!(end(&work.folder()).unwrap());
        all_have_ended(&work);
        assert!(end(&work.folder()).unwrap(), "nobody is left");
        assert_eq!(task::status(&work.folder()).unwrap(), TaskStatus::InDoubt, "it stays a doubt");
        assert!(lives(&stranger), "nobody else is reached");
        task::stop(&other.folder()).unwrap();
    }
}

#[test]
fn a_command_may_end_in_order_when_it_is_asked() {
    let work = Work::new("trap 'echo bye; exit 3' TERM; echo > up; while :; do sleep 0.01; done");
    let work = work.begun();
    work.file("up");
    task::stop(&work.folder()).unwrap();
    let ended = work.end();
    assert_eq!((ended.code, ended.killed), (Some(3), true));
    assert!(work.output().ends_with("bye\n"), "{}", work.output());
}

#[test]
fn the_output_is_bounded() {
    const MIB: usize = 1024 * 1024;
    let text =
        "echo first; head -c 70000000 /dev/zero | tr '\\0' x; echo; echo why it failed; exit 4";
    let work = Work::new(text).begun();
    assert_eq!(work.end().code, Some(4), "the command is not kept from printing");
    assert_eq!(task::output_end(&work.folder(), 15).unwrap(), "\nwhy it failed\n");
    let output = fs::read_to_string(work.folder().join("output")).unwrap();
    assert!(output.starts_with("first\nxxx"));
    let (left_out, rest) = {
        let (_, rest) = output.split_once("\n[").unwrap();
        rest.split_once(" bytes omitted]\n").unwrap()
    };
    assert!((16 * MIB..=32 * MIB).contains(&rest.len()), "{}", rest.len());
    let printed = 70_000_000 + "first\n\nwhy it failed\n".len();
    assert_eq!(left_out.parse::<usize>().unwrap(), printed - MIB - rest.len());
    let mode = fs::metadata(work.folder().join("output")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn values_arrive_as_they_are() {
    let strange = "one\ntwo 'three' \"four\" $five `six` \\ ä\u{1f600}\n";
    let mut work = Work::new("printf '%s|' \"$0\" \"$#\" \"$@\" \"$VALUE\"");
    work.task.arguments = vec![strange.to_owned(), String::new(), "-n".to_owned()];
    work.task.variables = [("VALUE".to_owned(), strange.to_owned())].into();
    let work = work.begun();
    assert_eq!(work.end().code, Some(0));
    assert_eq!(work.output(), format!("sh|3|{strange}||-n|{strange}|"));
}

#[test]
fn the_variables_that_were_given_arrive_and_no_others() {
    let mut work = Work::new("env -0 | tr '\\0' '\\1'");
    let given = json!({"PATH": "/usr/bin:/bin", "SECRET": "a\nb", "TERM": "mine", "BOTH": "file"});
    write(&work.task.environment, given.to_string(), 0o600);
    let own = [("BOTH", "own"), ("OWN", "")];
    work.task.variables =
        own.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    let work = work.begun();
    assert_eq!(work.end().code, Some(0));
    let output = work.output();
    // A shell adds some of its own, and we add what its processes are known by.
    let added = ["PWD=", "OLDPWD=", "SHLVL=", "_=", "ANYHOOK_RUN="];
    let mut variables: Vec<&str> = output
        .split_terminator('\u{1}')
        .filter(|variable| !added.iter().any(|name| variable.starts_with(name)))
        .collect();
    variables.sort_unstable();
    assert_eq!(variables, ["BOTH=own", "OWN=", "PATH=/usr/bin:/bin", "SECRET=a\nb", "TERM=mine"]);
}

#[test]
fn what_cannot_be_started_ends_with_a_reason() {
    let mut work = Work::new("true");
    work.task.cwd = work.environment.root().join("nowhere");
    let work = work.begun();
    let ended = work.end();
    assert_eq!((ended.code, ended.signal), (None, None));
    assert!(!ended.is_success());
    let why = work.environment.normal(&ended.why.unwrap());
    assert_eq!(why, "the folder `[ROOT]/nowhere` does not exist");

    let mut work = Work::new("true");
    work.task.arguments = vec!["a\0b".to_owned()];
    let why = work.begun().end().why.unwrap();
    assert!(why.starts_with("`/bin/sh` cannot be started: "), "{why}");

    let work = Work::new("true");
    write(&work.task.environment, "[1]", 0o600);
    let why = work.begun().end().why.unwrap();
    assert!(why.contains("/environment.json` cannot be read: invalid type"), "{why}");
}

#[test]
fn what_cannot_be_begun_says_why() {
    let work = Work::new("true");
    let begin = |binary: &str| task::begin(&work.folder(), Path::new(binary)).unwrap_err();
    let told = |error: &task::TaskError| work.environment.normal(&error.to_string());
    let error = begin(BINARY);
    assert!(told(&error).starts_with("cannot access `[ROOT]/tasks/one/task.json`: "), "{error}");
    task::prepare(&work.folder(), &Task { v: 99, ..work.task.clone() }).unwrap();
    let why = "`[ROOT]/tasks/one/task.json` cannot be read: it has version 99, but this is 1";
    assert_eq!(told(&begin(BINARY)), why);
    task::prepare(&work.folder(), &Task { terminal: true, ..work.task.clone() }).unwrap();
    assert_eq!(told(&begin(BINARY)), "the task in `[ROOT]/tasks/one` needs a terminal");
    task::prepare(&work.folder(), &work.task).unwrap();
    let error = begin("/nowhere/anyhook");
    assert!(
        told(&error).contains("could not be started: `/nowhere/anyhook`: No such file"),
        "{error}"
    );
    let error = begin("/bin/true");
    assert!(told(&error).ends_with("could not be started: its supervisor exited"), "{error}");
    assert_eq!(task::status(&work.folder()).unwrap(), TaskStatus::NotBegun);
    task::begin(&work.folder(), Path::new(BINARY)).unwrap();
    assert_eq!(work.end().code, Some(0));
}

#[test]
fn who_is_left_behind_is_not_waited_for() {
    let work = Work::new("sh -c 'echo $$ > left; exec sleep 1000' & while [ ! -s left ]; do sleep 0.01; done; echo here").begun();
    assert_eq!(work.end().code, Some(0));
    assert_eq!(work.output(), "here\n");
    let left = work.file("left");
    assert!(lives(&left), "it is left alone");
    kill(&["-9", &left]);
}
