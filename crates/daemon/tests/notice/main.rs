//! Notices on their way to a person, with real parts: a bus, a server, programs.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

mod command;
#[cfg(feature = "desktop")]
mod desktop;
mod webhook;

use std::path::{Path, PathBuf};

use anyhook_daemon::notice::{Delivery, DesktopEnv, NoticeJob, deliver, messages};
use anyhook_engine::settings::NotifySettings;
use anyhook_model::approval_request::{ApprovalKind, ApprovalRequest, Choice};
use anyhook_model::notice::{Channel, DeliveryResult, DeliveryStatus, NoticeOutcome};
use anyhook_model::{Notice, RecordId};

/// What an agent may say, and nobody may run, obey or believe.
const HOSTILE: &str = "'\"; $(touch NOW) `touch NOW` <b>&amp;</b>\r\n\u{1b}]0;x\u{7} \u{202e}%s\\";
/// The same, as it may be shown.
const SHOWN: &str = "'\"; $(touch NOW) `touch NOW` <b>&amp;</b> ]0;x %s\\";

/// Returns a job with the hostile notice of a decision and no way to deliver it.
fn job(scratch: &Path) -> NoticeJob {
    let settings =
        NotifySettings { desktop: false, timeout_seconds: 60, ..NotifySettings::default() };
    NoticeJob {
        notice: notice(),
        settings,
        folder: scratch.join("notices"),
        binary: PathBuf::from("/nowhere/anyhook"),
    }
}

fn notice() -> Notice {
    let inquiry = ApprovalRequest {
        id: RecordId::from_text("7k2m9x4q"),
        kind: ApprovalKind::Permission,
        agent: "codex:s".to_owned(),
        question: "May it?".to_owned(),
        tool: Some("Shell".to_owned()),
        about: None,
        digest: None,
        hook: None,
        calls: Vec::new(),
        options: vec![Choice::new("allow", "it runs"), Choice::new("deny", "it does not")],
        questions: Vec::new(),
        created: "2026-01-01T00:00:00Z".parse().unwrap(),
        until: None,
    };
    // As from a daemon that has not made its texts fit.
    Notice {
        title: HOSTILE.to_owned(),
        body: HOSTILE.to_owned(),
        ..messages::of_inquiry(&inquiry, None, None)
    }
}

/// Delivers, and returns what became of it, which must be what is written down.
fn delivered(job: NoticeJob, bus: Option<&str>) -> NoticeOutcome {
    let folder = job.folder.clone();
    let surroundings = DesktopEnv { bus: bus.map(str::to_owned) };
    let Delivery::Tried(outcome) = deliver(job, &surroundings).unwrap() else {
        panic!("somebody else has claimed it")
    };
    assert_eq!(anyhook_daemon::notice::outcomes(&folder), [(*outcome).clone()]);
    *outcome
}

/// Returns what became of the notice on its only way.
fn only(outcome: &NoticeOutcome, way: Channel) -> &DeliveryResult {
    let [only] = outcome.ways.as_slice() else { panic!("{outcome:?}") };
    assert_eq!(only.way, way);
    only
}

/// Says why it failed on its only way.
fn failure(outcome: &NoticeOutcome, way: Channel) -> String {
    let only = only(outcome, way);
    assert_eq!(only.result, DeliveryStatus::Failed);
    only.why.clone().unwrap()
}

#[test]
fn without_a_way_it_is_tried_and_not_delivered() {
    let scratch = tempfile::tempdir().unwrap();
    let outcome = delivered(job(scratch.path()), None);
    assert!(outcome.tried.is_some() && outcome.ways.is_empty() && !outcome.is_delivered());
    let again = deliver(job(scratch.path()), &DesktopEnv::default()).unwrap();
    assert!(matches!(again, Delivery::Claimed));
}
