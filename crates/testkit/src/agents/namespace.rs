//! A network namespace that has nothing but the scripted model, for one process and its children.
//!
//! The model's socket is created in that network and passed to the test, which then serves it: a
//! socket belongs to the network in which it was created, whichever process holds it.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// Where the model listens: always free, as every run has a network of its own.
pub(super) const MODEL_PORT: &str = "8399";

/// Seconds that a run may take.
const TIME_LIMIT: &str = "120";

/// Processes that the agent leaves behind get a moment to finish, then they are killed: the shell
/// is the first process of its namespace, which ends with it.
const INSIDE: &str = r#"
PATH="$PATH:/usr/sbin:/sbin" ip link set lo up || exit 71
python3 -c "$1" "$2" || exit 71
shift 2
timeout -k 5 "$@" </dev/null
code=$?
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    set -- /proc/[0-9]*
    [ $# -gt 1 ] || break
    sleep 0.1
done
exit $code
"#;

/// As above, but with the host's process ids, so that other processes see what runs there. It runs
/// until its standard input, which the test holds, is closed: then, or when the test is killed,
/// everything in this network is killed.
const INSIDE_OPENLY: &str = r#"
PATH="$PATH:/usr/sbin:/sbin" ip link set lo up || exit 71
exec python3 -c "$@"
"#;

const LOOK_AFTER: &str = "
import os, signal, socket, subprocess, sys, time
os.setsid()
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=64)
line = socket.socket(fileno=0)
socket.send_fds(line, [b'-'], [listener.fileno()])
listener.close()
started = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, close_fds=True)
line.send(b'+' if started.returncode == 0 else b'!')
line.recv(1)
def others():
    ours = os.readlink('/proc/self/ns/net')
    for name in os.listdir('/proc'):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if os.readlink(f'/proc/{name}/ns/net') == ours: yield int(name)
            except OSError: pass
for _ in range(500):
    left = list(others())
    if not left: break
    for process in left:
        try: os.kill(process, signal.SIGKILL)
        except OSError: pass
    time.sleep(0.01)
";

const HAND_OUT_SOCKET: &str = "
import socket, sys
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=64)
socket.send_fds(socket.socket(fileno=0), [b'-'], [listener.fileno()])
";

/// Returns why there can be no such network here, if so.
pub(super) fn check() -> Result<(), String> {
    let mut command = unshare();
    command.args(["sh", "-c", "PATH=\"$PATH:/usr/sbin:/sbin\" ip link set lo up"]);
    let message = match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("a network namespace is needed (`unshare` and `ip`): {message}"))
}

/// Returns a command that runs another one in namespaces of its own.
pub(super) fn runner(command: &[String]) -> Command {
    let mut runner = unshare();
    runner.args(["sh", "-c", INSIDE, "sh", HAND_OUT_SOCKET, MODEL_PORT, TIME_LIMIT]).args(command);
    runner
}

/// Returns a command that runs another one in a network of its own and stays until its input
/// closes.
pub(super) fn open_runner(command: &[String]) -> Command {
    let mut runner = unshare_network();
    runner.args(["sh", "-c", INSIDE_OPENLY, "sh", LOOK_AFTER, MODEL_PORT]).args(command);
    runner
}

fn unshare() -> Command {
    let mut command = unshare_network();
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command
}

fn unshare_network() -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.arg("--net");
    command
}

/// A process in a network of its own.
pub(super) struct NamespacedProcess {
    /// The process.
    pub(super) process: Child,
    /// The model's socket there.
    pub(super) socket: TcpListener,
    /// The other end of its standard input.
    pub(super) line: UnixStream,
}

/// Starts such a command and takes the model's socket from it.
pub(super) fn spawn(mut runner: Command) -> NamespacedProcess {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut child = runner
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It holds the other end of the pair: once dropped, a child that fails closes the last one.
    drop(runner);
    match receive(&ours) {
        Ok(Some(socket)) => {
            NamespacedProcess { process: child, socket: TcpListener::from(socket), line: ours }
        }
        received => {
            drop(child.kill());
            panic!("no network namespace: {received:?}: {:?}", child.wait_with_output())
        }
    }
}

fn receive(stream: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut data = [0; 1];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(stream.as_fd(), &mut [IoSliceMut::new(&mut data)], &mut ancillary, flags)?;
    let socket = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    Ok(socket)
}
