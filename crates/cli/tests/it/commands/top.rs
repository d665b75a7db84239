//! `anyhook top`, in a terminal of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run, wait_until, write};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::environment;

mod daemon;

/// A terminal with a shell in it, on a server of its own.
struct Terminal<'environment> {
    environment: &'environment TestEnv,
}

impl<'environment> Terminal<'environment> {
    fn open(environment: &'environment TestEnv, width: u16, height: u16) -> Self {
        let terminal = Self { environment };
        let (width, height) = (width.to_string(), height.to_string());
        terminal.tmux(&["new-session", "-d", "-x", &width, "-y", &height, "sh"]);
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command
            .args(["-L", "top", "-f", "/dev/null"])
            .args(arguments)
            .current_dir(self.environment.project())
            .env_clear()
            .env("HOME", self.environment.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            // The socket goes with everything else.
            .env("TMUX_TMPDIR", self.environment.root());
        run(command, b"").stdout
    }

    /// Types a command line into the shell: `top` with arguments, then what shows how it ended.
    fn start(&self, before: &str, arguments: &str) {
        let program = env!("CARGO_BIN_EXE_anyhook");
        self.enter(&format!("echo before; {before} '{program}' top {arguments}; echo ended: $?"));
        self.wait_for("q quit");
    }

    fn enter(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.keys(&["Enter"]);
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"][..], keys].concat());
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn wait_for(&self, text: &str) {
        wait_until(text, || self.screen().contains(text));
    }

    fn wait_until_gone(&self, text: &str) {
        wait_until(&format!("the end of {text}"), || !self.screen().contains(text));
    }

    /// Sees that the program has ended with 0, and left the terminal as it was.
    fn expect_restored(&self) {
        self.wait_for("ended: 0");
        let screen = self.screen();
        assert!(screen.contains("before"), "the shell's screen is back: {screen}");
        assert!(!screen.contains("Verdicts"), "ours is gone: {screen}");
        let state = self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        assert_eq!(state.trim(), "0 1", "the usual screen, and a cursor");
        self.enter("clear; stty -a | tr ';' ' '; echo told");
        self.wait_for("\ntold");
        let modes = self.screen();
        for mode in ["icanon", "echo", "isig", "opost"] {
            assert!(modes.split_whitespace().any(|word| word == mode), "{mode} in {modes}");
        }
        assert_eq!(followers(self.environment), [0; 0], "nobody follows any more");
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.screen());
        }
        self.tmux(&["kill-server"]);
    }
}

/// The processes that follow the journal.
fn followers(environment: &TestEnv) -> Vec<i32> {
    let folder = environment.state().join("journal/followers");
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_prefix("process-")?.parse().ok()).collect()
}

fn guarded() -> TestEnv {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "echo 'not here' >&2; exit 2",
    );
    environment
}

#[test]
fn events_appear_as_they_come() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    let terminal = Terminal::open(&environment, 100, 30);
    terminal.start("", "");
    terminal.wait_for("anyhook install");
    assert_eq!(environment.shell("mkfs /dev/sda").code, 2);
    assert_eq!(environment.shell("echo first").code, 0);
    environment.event(&json!({
        "event_type": "permission_request", "session_id": "one", "tool_name": "Shell",
        "tool_input": {"command": "git push"},
    }));
    for text in [
        "Shell echo first",
        "deny     guard",
        "Shell mkfs /dev/sda",
        "prompting (permission)",
        "running Shell",
        "1 denied",
        "2 sessions",
        "3 events/min",
    ] {
        terminal.wait_for(text);
    }

    terminal.tmux(&["resize-window", "-x", "60", "-y", "12"]);
    terminal.wait_until_gone("Sessions 2");
    terminal.wait_for("Shell mkf");
    terminal.keys(&["Tab"]);
    terminal.wait_for("LAST FAILURE");
    terminal.tmux(&["resize-window", "-x", "30", "-y", "5"]);
    terminal.wait_for("too small");
    terminal.tmux(&["resize-window", "-x", "120", "-y", "40"]);
    terminal.wait_for("Sessions 2");
    assert_eq!(terminal.screen().lines().count(), 40, "the whole of it: {}", terminal.screen());

    terminal.keys(&["q"]);
    terminal.expect_restored();
}

#[test]
fn filters_and_traces() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    environment.shell("echo first");
    environment.shell("mkfs /dev/sda");
    // Too long for a line of the journal.
    environment.shell(&format!("cat {} the-end", "x".repeat(50_000)));
    let terminal = Terminal::open(&environment, 100, 30);
    terminal.start("", "");
    terminal.wait_for("Verdicts 3");

    terminal.keys(&["Enter", "End"]);
    terminal.wait_for("the-end\"");
    terminal.keys(&["Home"]);
    terminal.wait_for("event    before_tool");
    terminal.keys(&["q"]);
    terminal.wait_for("Verdicts 3");

    terminal.keys(&["/", "m", "k", "f", "s"]);
    terminal.wait_for("Verdicts 1 · /mkfs");
    terminal.keys(&["Enter"]);
    terminal.wait_until_gone("Enter keep");
    terminal.keys(&["Enter"]);
    terminal.wait_for("blocked by guard: not here");
    terminal.keys(&["Escape"]);
    terminal.wait_for("Verdicts 1 · /mkfs");
    terminal.keys(&["a"]);
    terminal.wait_for("Verdicts 3");
    terminal.keys(&["d"]);
    terminal.wait_for("Verdicts 1 · only denials");
    terminal.keys(&["a", "p"]);
    terminal.wait_for("paused, 0 new");
    environment.shell("echo later");
    terminal.wait_for("paused, 1 new");
    assert!(!terminal.screen().contains("echo later"), "{}", terminal.screen());
    terminal.keys(&["p"]);
    terminal.wait_for("Shell echo later");

    terminal.keys(&["?", "End"]);
    terminal.wait_for("Times are UTC");
    terminal.keys(&["C-c"]);
    terminal.expect_restored();
}

#[test]
fn every_way_to_end_gives_the_terminal_back() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    let terminal = Terminal::open(&environment, 80, 24);
    for key in ["q", "Escape", "C-c"] {
        terminal.start("", "");
        terminal.keys(&[key]);
        terminal.expect_restored();
        terminal.enter("clear");
        terminal.wait_until_gone("told");
    }
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        terminal.start("", "");
        wait_until("a follower", || followers(&environment).len() == 1);
        kill_process(Pid::from_raw(followers(&environment)[0]).unwrap(), signal).unwrap();
        terminal.expect_restored();
        terminal.enter("clear");
        terminal.wait_until_gone("told");
    }
}

/// Neither the signal nor the keys may be there when a terminal goes.
#[test]
fn it_ends_with_its_terminal() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    let terminal = Terminal::open(&environment, 80, 24);
    for before in ["", "setsid --wait"] {
        terminal.tmux(&["new-window", "sh"]);
        terminal.start(before, "");
        wait_until("a follower", || followers(&environment).len() == 1);
        let folder = format!("/proc/{}", followers(&environment)[0]);
        terminal.tmux(&["kill-window"]);
        wait_until("the end of the process", || !Path::new(&folder).exists());
        // It ended as it should, or it would have left something behind.
        assert_eq!(followers(&environment), [0; 0]);
    }
}

#[test]
fn what_was_before_is_left_out() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    environment.shell("echo before it began");
    let terminal = Terminal::open(&environment, 100, 30);
    terminal.start("", "--since 0s");
    terminal.wait_for("anyhook install");
    environment.shell("echo since then");
    terminal.wait_for("Shell echo since then");
    terminal.wait_for("Verdicts 1");
}

#[test]
fn a_journal_that_cannot_be_read_is_no_end() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    let journal = environment.state().join("journal");
    write(&journal, "", 0o644);
    let terminal = Terminal::open(&environment, 100, 30);
    terminal.start("", "");
    terminal.wait_for("journal: Not a directory");
    fs::remove_file(&journal).unwrap();
    environment.shell("echo mended");
    terminal.wait_for("Shell echo mended");
    terminal.wait_until_gone("Not a directory");
    terminal.keys(&["q"]);
    terminal.expect_restored();
}

#[test]
fn colours_only_where_they_are_wanted() {
    require!(MachineNeed::Program("tmux"));
    let environment = guarded();
    environment.shell("mkfs /dev/sda");
    let terminal = Terminal::open(&environment, 100, 30);
    for (before, arguments, colours) in [
        ("", "", true),
        ("NO_COLOR=1", "", false),
        ("", "--color never", false),
        ("NO_COLOR=1", "--color always", true),
    ] {
        terminal.start(before, arguments);
        terminal.wait_for("mkfs /dev/sda");
        let screen = terminal.tmux(&["capture-pane", "-e", "-p"]);
        assert_eq!(screen.contains("\u{1b}[31m"), colours, "{before} {arguments}: {screen:?}");
        terminal.keys(&["q"]);
        terminal.wait_for("ended: 0");
        terminal.enter("clear");
        terminal.wait_until_gone("ended");
    }
}

#[test]
fn without_a_terminal() {
    let environment = environment();
    assert_run!(environment, environment.run(&["top"]), @"
    exit code: 64
    ----- stderr -----
    error: `anyhook top` needs a terminal: standard output is not a terminal
    hint: anyhook log -f
    ");
    assert_run!(environment, environment.run(&["top", "--since", "yesterday"]), @"
    exit code: 64
    ----- stderr -----
    error: invalid value 'yesterday' for '--since <WHEN>': expected a duration (30m, 2h, 7d) or a time (2026-01-31, [TIME])
    hint: anyhook top --help
    ");
}

#[test]
fn without_a_home() {
    require!(MachineNeed::Users);
    let environment = environment();
    let command = environment.command_without_home(&["top"]);
    assert_run!(environment, run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: no state folder, so there is no journal
    hint: set HOME
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["top", "--help"]));
}
