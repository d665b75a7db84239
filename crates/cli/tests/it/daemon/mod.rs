//! The daemon from outside: what kill -9 leaves, who may come in, and that no verdict depends on it.

mod alarms;
mod full;
mod kill;
mod many;
mod phones;
mod presence;
mod security;
mod unguarded;
mod verdicts;

use std::process::{Command, Stdio};

use anyhook_testkit::TestEnv;

/// Says something to the daemon's socket byte by byte, and returns what it answered.
///
/// `code` is Python with `connection` at hand, and `frame(object)`, `receive()`.
fn say(environment: &TestEnv, uid: Option<u32>, code: &str) -> String {
    const PRELUDE: &str = r"
import json, socket, struct, sys
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(20)
def frame(value):
    body = json.dumps(value).encode()
    connection.sendall(struct.pack('>I', len(body)) + body)
def exactly(count):
    data = b''
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            return None
        data += more
    return data
def receive():
    head = exactly(4)
    return head and json.loads(exactly(struct.unpack('>I', head)[0]))
connection.connect(sys.argv[1])
";
    let mut command = match uid {
        None => Command::new("python3"),
        Some(uid) => {
            let mut command = Command::new("setpriv");
            let id = uid.to_string();
            // The person's own may be in the person's home.
            let python = ["--clear-groups", "/usr/bin/python3"];
            command.args(["--reuid", &id, "--regid", &id]).args(python);
            command
        }
    };
    command
        .arg("-c")
        .arg(format!("{PRELUDE}{code}"))
        .arg(environment.state().join("daemon/socket"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (out, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{error}")
}
