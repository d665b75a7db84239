//! What is true of one kind of session alone.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhook_daemon::session::{self, Key, SessionError};
use anyhook_model::pipeline::SessionKind;
use anyhook_testkit::write;

use super::{Stage, kill, play, start_helper};

/// Settings that would make detached sessions end, name them anew, or start programs.
const HOSTILE: &str = "
set -g base-index 7
set -g pane-base-index 3
set -g default-command 'false'
set -g default-shell /bin/false
set -g remain-on-exit on
set -g destroy-unattached on
set -g mouse on
set -g history-limit 1
set -g default-size 10x10
set -g default-terminal nonsense
set -g automatic-rename on
set -g status off
set-hook -g session-created 'kill-server'
unbind -a
this is no command
";

#[test]
fn what_a_person_set_for_their_own_tmux_does_not_matter() {
    play(SessionKind::Tmux, |stage| {
        write(&stage.environment.home().join(".tmux.conf"), HOSTILE, 0o644);
        let config = stage.environment.home().join(".config/tmux/tmux.conf");
        write(&config, HOSTILE, 0o644);
        let played = stage.prepared("stty size; seq 100; echo here; read -r line; exit 4");
        // It is the server that reads them, and it is started by the first session.
        let mut starter = start_helper(&played, "start");
        let lines = BufReader::new(starter.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.ends_with("started")));
        starter.kill().unwrap();
        starter.wait().unwrap();
        played.shows("here");
        let history = stage.sessions.history(&played.place).unwrap();
        assert!(history.starts_with("50 160\n1\n2\n"), "{history}");
        played.press(Key::Enter);
        assert_eq!(played.ended().code, Some(4));
        played.is_gone();
    });
}

#[test]
fn other_panes_are_not_typed_into() {
    play(SessionKind::Tmux, |stage| {
        let played = stage.started("echo the agent; exec cat > got");
        played.shows("the agent");
        let socket = stage.runtime.join("tmux");
        let tmux = |words: &[&str]| {
            let output = Command::new("tmux").arg("-S").arg(&socket).args(words).output().unwrap();
            assert!(output.status.success(), "{output:?}");
        };
        tmux(&[
            "split-window",
            "-t",
            "=s-0:",
            "--",
            "sh",
            "-c",
            "echo another; exec cat > /dev/null",
        ]);
        tmux(&[
            "new-window",
            "-t",
            "=s-0:",
            "--",
            "sh",
            "-c",
            "echo a third; exec cat > /dev/null",
        ]);
        assert!(played.screen().contains("the agent"));
        // Somebody looks at what scrolled away.
        tmux(&["copy-mode", "-t", "=s-0:.%0"]);
        played.paste("typed");
        played.press(Key::Enter);
        stage.holds("got", b"typed\n");
        stage.sessions.end(&played.place).unwrap();
        assert!(!played.is_there(), "the other panes end with it");
    });
}

#[test]
fn a_server_that_hangs_does_not_hang_us() {
    play(SessionKind::Tmux, |stage| {
        let played = stage.started("echo here; exec cat");
        let server = played.terminal_process();
        kill("-STOP", &server);
        let errors = [
            stage.sessions.screen(&played.place).unwrap_err(),
            stage.sessions.is_there(&played.place).unwrap_err(),
        ];
        kill("-CONT", &server);
        for error in errors {
            assert!(matches!(error, SessionError::Slow(_)), "{error}");
        }
        played.shows("here");
    });
}

#[test]
fn a_session_starts_while_the_server_ends_with_its_last() {
    play(SessionKind::Tmux, |stage| {
        let all: Vec<_> = (0..60).map(|_| stage.prepared("true")).collect();
        std::thread::scope(|scope| {
            for half in all.chunks(30) {
                scope.spawn(move || {
                    for played in half {
                        stage.sessions.start(&played.place).unwrap();
                        let ended = played.ended();
                        assert!(ended.is_success(), "{ended:?}");
                    }
                });
            }
        });
    });
}

#[test]
fn tmux_is_best_where_it_can_be_had() {
    let has_tmux = session::of_kind(SessionKind::Tmux).check().is_ok();
    let best = if has_tmux { SessionKind::Tmux } else { SessionKind::Pty };
    assert_eq!(session::best(), best);
}

/// Says something to a session's socket as a user, and returns what came back.
fn say(stage: &Stage, uid: u32, body: &str) -> String {
    const CODE: &str = "
import socket, struct, sys
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(20)
try:
    connection.connect(sys.argv[1])
    body = sys.argv[2].encode()
    connection.sendall(struct.pack('>I', len(body)) + body)
    print(connection.recv(1000)[4:])
except OSError as error:
    print(type(error).__name__)
";
    let socket = fs::read_dir(&stage.runtime).unwrap().next().unwrap().unwrap().path();
    let id = uid.to_string();
    let output = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups", "/usr/bin/python3", "-c", CODE])
        .arg(socket)
        .arg(body)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn only_the_user_gets_to_a_terminal_of_ours() {
    const OTHER: u32 = 54_321;
    const ASKED: &str = r#"{"v":1,"what":"screen"}"#;
    play(SessionKind::Pty, |stage| {
        let played = stage.started("echo here; exec cat");
        played.shows("here");
        let socket = fs::read_dir(&stage.runtime).unwrap().next().unwrap().unwrap().path();
        let mode = fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(say(stage, 0, ASKED), r#"b'{"text":"here\\n"}'"#);
        assert_eq!(say(stage, OTHER, ASKED), "PermissionError");
        // Not even where rights let it in.
        let path = socket.clone();
        for path in path.ancestors().take_while(|path| path.starts_with(stage.environment.root())) {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let refused = say(stage, OTHER, ASKED);
        assert!(
            ["b''", "ConnectionResetError", "BrokenPipeError"].contains(&refused.as_str()),
            "{refused}"
        );
        // What is no request ends nothing but itself.
        assert!(say(stage, 0, "[]").starts_with(r#"b'{"refused":"#));
        assert!(say(stage, 0, r#"{"v":99,"what":"screen"}"#).contains("another version (1)"));
        assert!(played.screen().contains("here"));
    });
}

#[test]
fn a_program_that_does_not_read_does_not_hang_us() {
    play(SessionKind::Pty, |stage| {
        let played = stage.started("stty raw -echo; echo here; exec sleep 1000");
        played.shows("here");
        let long = "x".repeat(1024 * 1024);
        let error = stage.sessions.paste(&played.place, &long).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the terminal of `s-0`: the program does not read what is typed"
        );
        assert!(played.screen().contains("here"));
    });
}
