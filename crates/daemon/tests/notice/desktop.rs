use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhook_daemon::notice::bus_at;
use anyhook_model::notice::{Channel, DeliveryStatus, NoticeAnswer, NoticeOutcome};
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{require, write};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use zbus::{OwnedVariant, connection, fdo, interface};

use super::{HOSTILE, NoticeJob, SHOWN, delivered, failure, job, only};

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// A desktop that is not asked for so long never will be.
const LIMIT: Duration = Duration::from_secs(60);

/// A bus of our own, on which nobody can be started.
struct Bus {
    folder: TempDir,
    daemon: Child,
    address: String,
}

impl Bus {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("bus.conf");
        let text = format!(
            "<busconfig><type>session</type><listen>unix:path={}</listen><policy context='default'>\
            <allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/>\
            </policy></busconfig>",
            folder.path().join("bus").display()
        );
        fs::write(&settings, text).unwrap();
        let mut daemon = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", settings.display()))
            .args(["--nofork", "--nopidfile", "--print-address=1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { address: bus_at(&folder.path().join("bus")), folder, daemon }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// What a desktop was asked.
#[derive(Debug, PartialEq)]
enum Asked {
    Show { number: u32, title: String, body: String, actions: Vec<String>, urgency: u8, lasts: i32 },
    Close(u32),
}

struct Notifications {
    capabilities: Vec<&'static str>,
    shown: u32,
    tell: mpsc::Sender<Asked>,
}

#[interface(name = "org.freedesktop.Notifications")]
impl Notifications {
    fn get_capabilities(&self) -> Vec<&'static str> {
        self.capabilities.clone()
    }

    #[expect(clippy::too_many_arguments, reason = "the desktop's protocol")]
    fn notify(
        &mut self,
        program: &str,
        replaces: u32,
        icon: &str,
        title: String,
        body: String,
        actions: Vec<String>,
        mut hints: HashMap<String, OwnedVariant>,
        lasts: i32,
    ) -> u32 {
        assert_eq!((program, replaces, icon), ("anyhook", 0, ""));
        self.shown += 1;
        let number = self.shown;
        let urgency =
            hints.remove("urgency").and_then(|urgency| u8::try_from(urgency).ok()).unwrap();
        let _ = self.tell.send(Asked::Show { number, title, body, actions, urgency, lasts });
        number
    }

    fn close_notification(&self, number: u32) {
        let _ = self.tell.send(Asked::Close(number));
    }
}

/// A desktop that shows notifications.
struct Desktop {
    bus: Bus,
    asked: Receiver<Asked>,
    emit: UnboundedSender<Signal>,
}

enum Signal {
    Pressed(u32, &'static str),
    Closed(u32),
}

impl Desktop {
    fn start(capabilities: &[&'static str]) -> Self {
        let bus = Bus::start();
        let (tell, asked) = mpsc::channel();
        let server = Notifications { capabilities: capabilities.to_vec(), shown: 40, tell };
        let emit = serve(&bus.address, server);
        Self { bus, asked, emit }
    }

    /// Delivers aside, as a process of its own would.
    fn deliver(&self, job: NoticeJob) -> JoinHandle<NoticeOutcome> {
        let address = self.bus.address.clone();
        thread::spawn(move || delivered(job, Some(&address)))
    }

    fn job(&self, program: &str) -> NoticeJob {
        let mut job = job(self.bus.folder.path());
        job.settings.desktop = true;
        job.binary = self.bus.folder.path().join("anyhook");
        write(&job.binary, format!("#!/bin/sh\n{program}\n"), 0o755);
        job
    }

    fn asked(&self) -> Asked {
        self.asked.recv_timeout(LIMIT).unwrap()
    }

    fn resolved(&self) -> PathBuf {
        self.bus.folder.path().join("resolved")
    }

    /// A program that writes down how it was called.
    fn recording(&self) -> String {
        format!("printf '%s\\n' \"$@\" >> '{}'", self.resolved().display())
    }
}

/// Connects to the bus as the desktop, and sends its signals.
fn serve(address: &str, server: Notifications) -> UnboundedSender<Signal> {
    let (emit, mut signals) = unbounded_channel();
    let (ready, is_ready) = mpsc::channel();
    let address = address.to_owned();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let builder = connection::Builder::address(address.as_str());
            let builder = builder.name(NAME).serve_at(PATH, server);
            let connection = builder.build().await.unwrap();
            ready.send(()).unwrap();
            let nobody = None::<&str>;
            while let Some(signal) = signals.recv().await {
                let sent = match signal {
                    Signal::Pressed(number, action) => {
                        let body = (number, action);
                        connection.emit_signal(nobody, PATH, NAME, "ActionInvoked", &body).await
                    }
                    Signal::Closed(number) => {
                        let body = (number, 2_u32);
                        connection
                            .emit_signal(nobody, PATH, NAME, "NotificationClosed", &body)
                            .await
                    }
                };
                sent.unwrap();
            }
        });
    });
    is_ready.recv_timeout(LIMIT).unwrap();
    emit
}

/// Somebody who is not the desktop says that a button was pressed, to everybody and to each.
/// When it returns, the bus has passed that on.
fn stranger_says(address: &str, action: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stranger = connection::Builder::address(address).build().await.unwrap();
        let bus = fdo::DBusProxy::new(&stranger).await.unwrap();
        let everybody = bus.list_names().await.unwrap();
        let each = everybody
            .iter()
            .map(|name| Some(name.as_str()))
            .filter(|name| name.is_some_and(|name| name.starts_with(':')));
        for receiver in each.chain([None]) {
            let body = (41_u32, action);
            stranger.emit_signal(receiver, PATH, NAME, "ActionInvoked", &body).await.unwrap();
        }
        // The bus answers in order.
        bus.get_id().await.unwrap();
    });
}

fn pressed(number: u32, failure: Option<&str>) -> NoticeAnswer {
    NoticeAnswer { number, failure: failure.map(str::to_owned) }
}

#[test]
fn a_person_answers_with_a_button() {
    require!(MachineNeed::Program("dbus-daemon"));
    let desktop = Desktop::start(&["body", "actions", "body-markup"]);
    let delivery = desktop.deliver(desktop.job(&desktop.recording()));
    let asked = desktop.asked();
    let body = SHOWN.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let actions = ["1", "allow", "2", "deny"].map(str::to_owned).to_vec();
    let title = SHOWN.to_owned();
    assert_eq!(asked, Asked::Show { number: 41, title, body, actions, urgency: 2, lasts: -1 });

    // Neither somebody else's notification nor somebody else's word counts.
    desktop.emit.send(Signal::Pressed(40, "1")).unwrap();
    desktop.emit.send(Signal::Closed(40)).unwrap();
    stranger_says(&desktop.bus.address, "1");
    desktop.emit.send(Signal::Pressed(41, "2")).unwrap();
    let outcome = delivery.join().unwrap();
    assert_eq!(only(&outcome, Channel::Desktop).result, DeliveryStatus::Delivered);
    assert_eq!(outcome.answer, Some(pressed(2, None)));
    let resolved = fs::read_to_string(desktop.resolved()).unwrap();
    assert_eq!(resolved, "decision\nresolve\n7k2m9x4q\n2\n");
}

#[test]
fn what_was_not_offered_is_no_answer() {
    require!(MachineNeed::Program("dbus-daemon"));
    for action in ["3", "default", "01", "$(touch NOW)", "--help"] {
        let desktop = Desktop::start(&["actions"]);
        let delivery = desktop.deliver(desktop.job(&desktop.recording()));
        desktop.asked();
        desktop.emit.send(Signal::Pressed(41, action)).unwrap();
        assert_eq!(delivery.join().unwrap().answer, None, "{action}");
        assert!(!desktop.resolved().exists());
    }
}

#[test]
fn an_answer_that_does_not_get_through_is_said() {
    require!(MachineNeed::Program("dbus-daemon"));
    let desktop = Desktop::start(&["actions"]);
    let delivery = desktop.deliver(desktop.job("echo 'it is over' >&2; exit 1"));
    desktop.asked();
    desktop.emit.send(Signal::Pressed(41, "1")).unwrap();
    let Asked::Show { title, body, .. } = desktop.asked() else { panic!("closed") };
    assert_eq!(title, "anyhook: your answer was not delivered");
    assert_eq!(body, "exit 1: it is over");
    let outcome = delivery.join().unwrap();
    assert_eq!(outcome.answer, Some(pressed(1, Some("exit 1: it is over"))));
}

#[test]
fn a_notification_that_is_closed_or_too_late_ends_the_wait() {
    require!(MachineNeed::Program("dbus-daemon"));
    let desktop = Desktop::start(&["actions"]);
    let delivery = desktop.deliver(desktop.job(&desktop.recording()));
    desktop.asked();
    desktop.emit.send(Signal::Closed(41)).unwrap();
    assert_eq!(delivery.join().unwrap().answer, None);

    let desktop = Desktop::start(&["actions"]);
    let mut job = desktop.job(&desktop.recording());
    job.notice.until = Some(anyhook_engine::now() + Duration::from_secs(1));
    let delivery = desktop.deliver(job);
    let Asked::Show { lasts, .. } = desktop.asked() else { panic!("closed") };
    assert!((1..=1000).contains(&lasts), "{lasts}");
    assert_eq!(desktop.asked(), Asked::Close(41));
    assert_eq!(delivery.join().unwrap().answer, None);
}

#[test]
fn a_desktop_without_buttons_and_markup_gets_plain_text() {
    require!(MachineNeed::Program("dbus-daemon"));
    let desktop = Desktop::start(&["body"]);
    let outcome = desktop.deliver(desktop.job("exit 1")).join().unwrap();
    assert_eq!(only(&outcome, Channel::Desktop).result, DeliveryStatus::Delivered);
    let Asked::Show { body, actions, .. } = desktop.asked() else { panic!("closed") };
    assert_eq!((body.as_str(), actions), (SHOWN, Vec::new()));
}

#[test]
fn no_bus_and_nobody_on_it_are_no_errors() {
    require!(MachineNeed::Program("dbus-daemon"));
    let absent = |bus: Option<&str>| {
        let scratch = tempfile::tempdir().unwrap();
        let mut job = job(scratch.path());
        job.settings.desktop = true;
        let outcome = delivered(job, bus);
        let only = only(&outcome, Channel::Desktop).clone();
        assert_eq!(only.result, DeliveryStatus::Absent);
        only.why.unwrap()
    };
    assert_eq!(absent(None), "no desktop bus");
    assert_eq!(absent(Some(&bus_at(Path::new("/nowhere/bus")))), "no desktop bus");
    let bus = Bus::start();
    assert_eq!(absent(Some(&bus.address)), "no desktop notification service is running");
}

#[test]
fn a_bus_that_does_not_answer_costs_the_limit_and_no_more() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("bus");
    let _listener = UnixListener::bind(&socket).unwrap();
    let mut job = job(scratch.path());
    job.settings.desktop = true;
    job.settings.timeout_seconds = 1;
    let why = failure(&delivered(job, Some(&bus_at(&socket))), Channel::Desktop);
    assert_eq!(why, "no answer within 1 s");
}

#[test]
fn an_address_that_is_none_is_a_failure() {
    let scratch = tempfile::tempdir().unwrap();
    let mut job = job(scratch.path());
    job.settings.desktop = true;
    failure(&delivered(job, Some(HOSTILE)), Channel::Desktop);
}
