//! The process that delivers a notice: many at once, killed, in a terminal, over TLS.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhook_daemon::notice;
use anyhook_engine::settings::{NotifyCommand, NotifySettings};
use anyhook_model::notice::{
    Channel, DeliveryResult, NOTICE_VERSION, Notice, NoticeKind, NoticeOutcome, NoticeState,
};
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::tls::{CERTIFICATE, PRIVATE_KEY};
use anyhook_testkit::{TestEnv, require, wait_until, write};

use serde_json::Value;

use crate::environment;

const SERVER: &str = "
import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        open(sys.argv[1] + '/got', 'wb').write(body)
        self.send_response(204)
        self.end_headers()
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + '/certificate', sys.argv[1] + '/key')
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
";

fn job(environment: &TestEnv, settings: NotifySettings) -> notice::NoticeJob {
    notice::NoticeJob {
        notice: Notice {
            v: NOTICE_VERSION,
            id: "7k2m9x4q".to_owned(),
            kind: NoticeKind::Prompt,
            agent: "codex:s".to_owned(),
            title: "codex has a question".to_owned(),
            body: "in shop".to_owned(),
            decision: None,
            options: Vec::new(),
            until: None,
            host: None,
            project: None,
            url: None,
            at: "2026-01-01T00:00:00Z".parse().unwrap(),
        },
        settings: NotifySettings { desktop: false, timeout_seconds: 60, ..settings },
        folder: notice::folder(&environment.state()),
        binary: PathBuf::from("/nowhere/anyhook"),
        codes: Vec::new(),
    }
}

fn job_of_line(environment: &TestEnv, line: String) -> notice::NoticeJob {
    let settings =
        NotifySettings { command: Some(NotifyCommand::Line(line)), ..NotifySettings::default() };
    job(environment, settings)
}

/// Writes the job where a process can read it.
fn job_file(environment: &TestEnv, job: &notice::NoticeJob) -> PathBuf {
    let path = environment.root().join("job");
    fs::write(&path, serde_json::to_vec(job).unwrap()).unwrap();
    path
}

/// Returns the process that delivers, as the daemon would start it.
fn notifier(environment: &TestEnv, job: &notice::NoticeJob) -> Command {
    notifier_of(environment, &job_file(environment, job))
}

fn notifier_of(environment: &TestEnv, job_file: &Path) -> Command {
    let mut command = environment.command(&[notice::ARGUMENT]);
    command.stdin(File::open(job_file).unwrap());
    command
}

fn outcome(environment: &TestEnv) -> NoticeOutcome {
    let mut outcomes = notice::outcomes(&notice::folder(&environment.state()));
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    outcomes.remove(0)
}

#[test]
fn of_twenty_that_try_one_delivers() {
    let environment = environment();
    let told = environment.root().join("told");
    let job = job_of_line(&environment, format!("echo told >> '{}'", told.display()));
    let file = job_file(&environment, &job);
    let mut started: Vec<Child> =
        (0..20).map(|_| notifier_of(&environment, &file).spawn().unwrap()).collect();
    for child in &mut started {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fs::read_to_string(&told).unwrap(), "told\n");
    let outcome = outcome(&environment);
    assert_eq!(outcome.state, NoticeState::Tried);
    assert_eq!(outcome.ways, [DeliveryResult::delivered(Channel::Command)]);
}

#[test]
fn a_notice_whose_process_was_killed_is_in_doubt_and_not_repeated() {
    let environment = environment();
    let told = environment.root().join("told");
    // The whole line at once: a reader of the file sees all of it or nothing.
    let line = format!("echo $$ >> '{}'; exec sleep 1000", told.display());
    let job = job_of_line(&environment, line);
    let mut child = notifier(&environment, &job).spawn().unwrap();
    let pid = || fs::read_to_string(&told).unwrap_or_default();
    wait_until("the command runs", || pid().ends_with('\n'));
    assert_eq!(outcome(&environment).state, NoticeState::UnderWay);
    child.kill().unwrap();
    child.wait().unwrap();
    let left = outcome(&environment);
    assert_eq!((left.state, left.tried), (NoticeState::InDoubt, None));
    assert_eq!(left.title.as_deref(), Some("codex has a question"));

    assert!(notifier(&environment, &job).status().unwrap().success());
    assert_eq!(outcome(&environment).state, NoticeState::InDoubt);
    assert_eq!(pid().lines().count(), 1, "nobody was told twice");
    let kill = Command::new("kill").args(["-9", pid().trim()]).status().unwrap();
    assert!(kill.success());
}

#[test]
fn what_is_no_job_is_refused_in_silence() {
    let ran = environment().run_with_input(&[notice::ARGUMENT], "{\"notice\": 3}");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (1, "", ""));
}

#[test]
fn it_is_started_aside_in_a_session_of_its_own() {
    let environment = environment();
    let told = environment.root().join("told");
    let line = format!("ps -o ppid=,sid= -p $$ > '{}'", told.display());
    let job = job_of_line(&environment, line);
    notice::launch(env!("CARGO_BIN_EXE_anyhook").as_ref(), &job).unwrap();
    let folder = notice::folder(&environment.state());
    wait_until("it is delivered", || {
        notice::outcomes(&folder).first().is_some_and(|outcome| outcome.tried.is_some())
    });
    assert!(outcome(&environment).is_delivered());
    let told = fs::read_to_string(&told).unwrap();
    let [notifier, session] = told.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{told}")
    };
    assert_eq!(notifier, session, "the process leads its session");
}

/// Runs a script in a world with no other processes, and so with no other terminals.
fn alone(environment: &TestEnv, script: &str) -> String {
    let settings = NotifySettings { bell: true, ..NotifySettings::default() };
    let job = job_file(environment, &job(environment, settings));
    let original = environment.command(&[]);
    let mut command = Command::new("setsid");
    command
        .args(["--wait", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-e", "-c", script])
        .arg(original.get_program())
        .arg(job)
        .current_dir(environment.root())
        .env_clear();
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let ran = anyhook_testkit::run(command, b"");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

#[test]
fn the_bell_rings_in_tmux() {
    require!(MachineNeed::Processes, MachineNeed::Program("tmux"));
    let environment = environment();
    let script = "
        t() { tmux -S tmux.socket -f /dev/null \"$@\"; }
        t new-session -d cat
        t new-window cat
        \"$0\" __notice < \"$1\"
        for round in $(seq 1000); do
            rung=$(t list-windows -F '#{window_bell_flag}' | head -n 1)
            test \"$rung\" = 0 || break
            sleep 0.01
        done
        t kill-server
        echo \"rung: $rung\"";
    assert_eq!(alone(&environment, script), "rung: 1\n");
    assert_eq!(outcome(&environment).ways, [DeliveryResult::delivered(Channel::Bell)]);
}

#[test]
fn without_terminals_no_bell_rings() {
    require!(MachineNeed::Processes);
    let environment = environment();
    alone(&environment, "\"$0\" __notice < \"$1\"");
    assert_eq!(
        outcome(&environment).ways,
        [DeliveryResult::absent(Channel::Bell, "no terminals known")]
    );
}

/// A server that is ended with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_webhook_is_asked_over_tls_and_must_show_who_it_is() {
    let environment = environment();
    let folder = environment.root();
    write(&folder.join("certificate"), CERTIFICATE, 0o600);
    write(&folder.join("key"), PRIVATE_KEY, 0o600);
    let mut server = Command::new("python3");
    server.args(["-c", SERVER]).arg(folder).stdout(Stdio::piped());
    let mut server = Server(server.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let webhook = Some(format!("https://127.0.0.1:{}/", port.trim()));
    let mut job = job(&environment, NotifySettings { webhook, ..NotifySettings::default() });

    assert!(notifier(&environment, &job).status().unwrap().success());
    let refused = outcome(&environment);
    let why = refused.ways[0].why.clone().unwrap();
    assert!(why.contains("certificate"), "{why}");
    assert!(!folder.join("got").exists());

    job.folder = folder.join("again");
    let mut command = notifier(&environment, &job);
    command.env("SSL_CERT_FILE", folder.join("certificate"));
    assert!(command.status().unwrap().success());
    let outcomes = notice::outcomes(&job.folder);
    assert_eq!(outcomes[0].ways, [DeliveryResult::delivered(Channel::Webhook)]);
    let got: Value = serde_json::from_slice(&fs::read(folder.join("got")).unwrap()).unwrap();
    assert_eq!(got, serde_json::to_value(&job.notice).unwrap());
    let schema = environment.run(&["schema", "notice"]).json();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&got), "{got}");
}
