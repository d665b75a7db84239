//! Answers from a phone: listens where buttons of notices send their codes, and edits messages when
//! a decision has ended.
//!
//! ```text
//!  ntfy reply topic ──(JSON stream)────┐
//!  Telegram ─────────(long polling)────┼──▶ CoreMessage::Reply ──▶ core: is the code good? resolve
//!  Slack ────────────(Socket Mode)─────┘                                   │
//!  messages in Slack and Telegram ◀──── "allow, by telegram:7" ◀───────────┘ EndedDecision
//! ```
//!
//! All connections go out; nothing listens on a port. One thread serves all of it, so that a server
//! that hangs delays nothing else, and pauses grow while one is away. What was answered is decided
//! by the core alone, so that reading an answer twice is harmless.

pub mod code;
mod end;
mod listener;
mod ntfy;
mod slack;
mod telegram;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use anyhook_engine::settings::{NotifySettings, NtfySettings, SlackSettings, TelegramSettings};
use anyhook_model::notice::Channel;
use anyhook_model::{ApprovalRequest, Notice, StateDir};
use jiff::Timestamp;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use self::code::AnswerKey;
use self::listener::{Listener, keep_listening};
use crate::core::CoreMessage;
use crate::notice::{self, ChannelCodes};

/// How many ended decisions may wait for their messages to be edited; more are not edited.
const ENDED: usize = 256;

/// A press of a button, as a service reported it.
#[derive(Clone, Debug)]
pub struct PhoneReply {
    /// The channel.
    pub channel: Channel,
    /// The code of the button.
    pub code: String,
    /// The service's id of the user, where it has users.
    pub user: Option<String>,
    /// Whether this user may answer, according to the settings.
    pub may_answer: bool,
}

impl PhoneReply {
    /// Returns who answered, as it is recorded.
    pub fn by(&self) -> String {
        let user = self.user.as_deref().map(|user| notice::text::line(user, notice::text::NAME));
        let name = self.channel.name();
        user.map_or_else(|| name.to_owned(), |user| format!("{name}:{user}"))
    }
}

/// A decision that has ended, whose messages may be edited.
#[derive(Clone, Debug)]
pub struct EndedDecision {
    /// Its notice, without options.
    pub notice: Notice,
    /// How it ended.
    pub ended: String,
}

/// Makes the codes of notices.
#[derive(Clone, Debug)]
pub struct AnswerCodes {
    /// The key.
    pub key: Arc<AnswerKey>,
    channels: Vec<Channel>,
}

impl AnswerCodes {
    /// Returns `None` if no channel answers.
    pub fn of(settings: &NotifySettings, state: &Path) -> io::Result<Option<Self>> {
        let channels = [
            (Channel::Ntfy, settings.ntfy.as_ref().is_some_and(NtfySettings::answers)),
            (Channel::Slack, settings.slack.as_ref().is_some_and(SlackSettings::answers)),
            (Channel::Telegram, settings.telegram.as_ref().is_some_and(TelegramSettings::answers)),
        ];
        let answering = channels.into_iter().filter(|(_, answers)| *answers);
        let channels: Vec<Channel> = answering.map(|(channel, _)| channel).collect();
        if channels.is_empty() {
            return Ok(None);
        }
        let key = AnswerKey::load_or_create(&StateDir::new(state).answer_key())?;
        Ok(Some(Self { key: Arc::new(key), channels }))
    }

    /// Returns the codes of a decision's buttons.
    pub fn of_inquiry(&self, inquiry: &ApprovalRequest, now: Timestamp) -> Vec<ChannelCodes> {
        let codes = |&channel: &Channel| ChannelCodes {
            channel,
            codes: self.key.codes(inquiry, channel, now),
        };
        self.channels.iter().map(codes).collect()
    }
}

/// The thread that talks to the services. It ends when this is dropped.
#[derive(Debug)]
pub struct ReplyChannels {
    ended: mpsc::Sender<EndedDecision>,
    _end: oneshot::Sender<()>,
}

impl ReplyChannels {
    /// Starts the thread; `None` if no channel needs it. `answers` says whether it listens, too.
    pub fn start(
        settings: &NotifySettings,
        state: &Path,
        answers: bool,
        messages: mpsc::Sender<CoreMessage>,
    ) -> io::Result<Option<Self>> {
        let is_bot = settings.slack.as_ref().is_some_and(|slack| slack.bot_token_file.is_some());
        if !answers && !is_bot && settings.telegram.is_none() {
            return Ok(None);
        }
        let (ended, endings) = mpsc::channel(ENDED);
        let (end, is_over) = oneshot::channel::<()>();
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(4).build()?;
        let worker = Worker { settings: settings.clone(), state: state.to_owned(), messages };
        thread::Builder::new().name("replies".to_owned()).spawn(move || {
            let work = async {
                tokio::select! {
                    // The sender is dropped with the daemon.
                    _ = is_over => {}
                    () = worker.work(answers, endings) => {}
                }
            };
            LocalSet::new().block_on(&runtime, work);
            // Does not wait for a name that is still being resolved.
            runtime.shutdown_background();
        })?;
        Ok(Some(Self { ended, _end: end }))
    }

    /// A decision has ended. Its messages are edited if there is room: nobody waits for it.
    pub fn decision_ended(&self, ended: EndedDecision) {
        let _ = self.ended.try_send(ended);
    }
}

struct Worker {
    settings: NotifySettings,
    state: PathBuf,
    messages: mpsc::Sender<CoreMessage>,
}

impl Worker {
    async fn work(self, answers: bool, endings: mpsc::Receiver<EndedDecision>) {
        let settings = &self.settings;
        let listener = Listener::new(self.messages.clone());
        let listener = &listener;
        let ntfy = async {
            if let Some(settings) = settings.ntfy.as_ref().filter(|ntfy| answers && ntfy.answers())
            {
                let position = StateDir::new(&self.state).ntfy_position();
                let mut topic = ntfy::ReplyTopic::new(settings, position);
                keep_listening(Channel::Ntfy, async || topic.listen(listener).await).await;
            }
        };
        let slack = async {
            if let Some(settings) =
                settings.slack.as_ref().filter(|slack| answers && slack.answers())
            {
                keep_listening(Channel::Slack, async || slack::listen(settings, listener).await)
                    .await;
            }
        };
        let telegram = async {
            if let Some(settings) =
                settings.telegram.as_ref().filter(|chat| answers && chat.answers())
            {
                let mut updates = telegram::Updates::new(settings);
                keep_listening(Channel::Telegram, async || updates.listen(listener).await).await;
            }
        };
        let claims = StateDir::new(&self.state).notices();
        let edits = end::edit_messages(settings.clone(), claims, endings);
        tokio::join!(ntfy, slack, telegram, edits);
    }
}

/// How long a person's service may take to accept a short request.
const SHORTLY: Duration = Duration::from_secs(10);
