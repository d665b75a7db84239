//! What a session does not let happen.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhook_daemon::session::SessionError;

use super::{Stage, kill, play};

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
    play(|stage| {
        let played = stage.started("echo here; exec cat");
        played.shows("here");
        let socket = fs::read_dir(&stage.runtime).unwrap().next().unwrap().unwrap().path();
        let mode = fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(say(stage, 0, ASKED), r#"b'{"text":"here\\n"}'"#);
        assert_eq!(say(stage, OTHER, ASKED), "PermissionError");
        // Not even where permissions let it in.
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
        assert!(say(stage, 0, r#"{"v":99,"what":"screen"}"#).contains("a different version (1)"));
        assert!(played.screen().contains("here"));
    });
}

#[test]
fn a_program_that_does_not_read_does_not_hang_us() {
    play(|stage| {
        let played = stage.started("stty raw -echo; echo here; exec sleep 1000");
        played.shows("here");
        let long = "x".repeat(1024 * 1024);
        let error = played.session.paste(&long).unwrap_err();
        assert_eq!(error.to_string(), "the terminal of `s-0`: the program does not read its input");
        assert!(played.screen().contains("here"));
    });
}

#[test]
fn a_terminal_process_that_hangs_does_not_hang_us() {
    play(|stage| {
        let played = stage.started("echo here; exec cat");
        let terminal = played.terminal_process();
        kill("-STOP", &terminal);
        let errors = [played.session.screen().unwrap_err(), played.session.paste("x").unwrap_err()];
        kill("-CONT", &terminal);
        for error in errors {
            assert!(matches!(error, SessionError::Slow(_)), "{error}");
        }
        played.shows("here");
    });
}
