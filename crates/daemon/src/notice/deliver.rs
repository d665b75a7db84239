//! Delivers one notice: the main function of the delivering process.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhook_engine::now;
use anyhook_engine::run::{ProcessCommand, ProcessRunner};
use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryResult, NoticeAnswer, NoticeOutcome, NoticeState};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, LocalSet, spawn_blocking, spawn_local};

use super::claim::NoticeClaim;
use super::{
    DesktopEnv, NoticeJob, bell, command, desktop, messages, ntfy, slack, telegram, webhook,
};

/// How long the command that resolves a decision may take: it is a short call to the daemon.
const RESOLVE_WITHIN: Duration = Duration::from_secs(30);

/// How a delivery ended.
#[derive(Debug)]
pub enum Delivery {
    /// Another process delivers the notice, or did.
    Claimed,
    /// Every channel was tried.
    Tried(Box<NoticeOutcome>),
}

/// Delivers a notice, unless another process has claimed it. Returns when every channel was tried
/// and, if the desktop shows buttons, one of them was pressed or the answer is no longer needed.
pub fn deliver(job: NoticeJob, surroundings: &DesktopEnv) -> io::Result<Delivery> {
    let Some(mut claim) = NoticeClaim::make(&job.folder, &job.notice, now())? else {
        return Ok(Delivery::Claimed);
    };
    let job = NoticeJob { notice: messages::made_fit(job.notice), ..job };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let work = go(&mut claim, Arc::new(job), surroundings.bus.clone());
    let result = LocalSet::new().block_on(&runtime, work);
    // Does not wait for a name that is still being resolved.
    runtime.shutdown_background();
    result.map(|()| Delivery::Tried(Box::new(claim.into_outcome())))
}

async fn go(claim: &mut NoticeClaim, job: Arc<NoticeJob>, bus: Option<String>) -> io::Result<()> {
    let mut ways = start(&job);
    let mut answering = None;
    if job.settings.desktop {
        let (tell, told) = oneshot::channel();
        let job = Arc::clone(&job);
        answering = Some(spawn_local(async move { show(&job, bus.as_deref(), tell).await }));
        ways.insert(0, (Channel::Desktop, spawn_local(async move { told.await.ok() })));
    }
    let mut outcomes = Vec::new();
    for (way, task) in ways {
        let outcome = task.await.ok().flatten();
        outcomes.push(outcome.unwrap_or_else(|| DeliveryResult::failed(way, "it was aborted")));
    }
    let recorded = claim.record(|outcome| {
        outcome.state = NoticeState::Tried;
        outcome.tried = Some(now());
        outcome.ways = outcomes;
    });
    // A person may press a button even if nothing can be written to the claim.
    let answer = match answering {
        Some(task) => task.await.ok().flatten(),
        None => None,
    };
    recorded?;
    match answer {
        Some(answer) => claim.record(|outcome| outcome.answer = Some(answer)),
        None => Ok(()),
    }
}

/// Starts every channel but the desktop.
fn start(job: &Arc<NoticeJob>) -> Vec<(Channel, JoinHandle<Option<DeliveryResult>>)> {
    let settings = &job.settings;
    let limit = settings.timeout();
    let mut ways = Vec::new();
    if let Some(told) = settings.command.clone() {
        let job = Arc::clone(job);
        let task = spawn_blocking(move || Some(command::run(&told, &job.notice, limit)));
        ways.push((Channel::Command, task));
    }
    if let Some(url) = settings.webhook.clone() {
        let job = Arc::clone(job);
        let task = spawn_local(async move {
            let secret = job.settings.webhook_secret_file.as_deref();
            Some(webhook::send(&url, secret, &job.notice, limit).await)
        });
        ways.push((Channel::Webhook, task));
    }
    if settings.ntfy.is_some() {
        let job = Arc::clone(job);
        let task = spawn_local(async move {
            let settings = job.settings.ntfy.as_ref()?;
            Some(ntfy::send(settings, &job.notice, &job.buttons(Channel::Ntfy), limit).await)
        });
        ways.push((Channel::Ntfy, task));
    }
    if settings.slack.is_some() {
        let job = Arc::clone(job);
        let task = spawn_local(async move {
            let settings = job.settings.slack.as_ref()?;
            Some(slack::send(settings, &job.notice, &job.buttons(Channel::Slack), limit).await)
        });
        ways.push((Channel::Slack, task));
    }
    if settings.telegram.is_some() {
        let job = Arc::clone(job);
        let task = spawn_local(async move {
            let settings = job.settings.telegram.as_ref()?;
            let buttons = job.buttons(Channel::Telegram);
            Some(telegram::send(settings, &job.notice, &buttons, limit).await)
        });
        ways.push((Channel::Telegram, task));
    }
    if settings.bell {
        ways.push((Channel::Bell, spawn_blocking(|| Some(bell::ring()))));
    }
    ways
}

/// Shows the notice on the desktop, reports the result, and returns the answer.
async fn show(
    job: &NoticeJob,
    bus: Option<&str>,
    tell: oneshot::Sender<DeliveryResult>,
) -> Option<NoticeAnswer> {
    let mut shown = match desktop::show(bus, &job.notice, job.settings.timeout()).await {
        Ok(shown) => shown,
        Err(outcome) => {
            let _ = tell.send(outcome);
            return None;
        }
    };
    let _ = tell.send(DeliveryResult::delivered(Channel::Desktop));
    let number = shown.answer(&job.notice).await?;
    let (binary, notice) = (job.binary.clone(), job.notice.clone());
    let failure = spawn_blocking(move || resolve(&binary, &notice, number)).await.ok().flatten();
    if let Some(why) = &failure {
        let limit = job.settings.timeout();
        let _ = tokio::time::timeout(limit, shown.complain(why)).await;
    }
    Some(NoticeAnswer { number, failure })
}

/// Resolves the decision as the person would: `anyhook decision resolve ID NUMBER`. Returns why it
/// failed.
fn resolve(binary: &Path, notice: &Notice, number: u32) -> Option<String> {
    let id = notice.decision.as_ref()?.as_str();
    // Must not be taken for an option.
    if !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Some("the decision's id is invalid".to_owned());
    }
    let arguments = ["decision", "resolve", id, &number.to_string()].map(Into::into).to_vec();
    let command =
        ProcessCommand::of_program(binary.into(), arguments, PathBuf::from("/"), Vec::new());
    let result = ProcessRunner::default().run(&command, "", RESOLVE_WITHIN);
    command::failure(&result.outcome, &result.stderr)
}
