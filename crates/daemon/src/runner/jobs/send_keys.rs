//! Types into an agent's session: only when it is idle, and only where the input is meant to go.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_engine::wait::poll_until;
use anyhook_flow::JobId;
use anyhook_flow::pipeline::{JobContext, JobResult};
use anyhook_hosts::dialog::KeyPacer;
use anyhook_model::PromptType;
use anyhook_model::daemon::{RefusalCode, Response, SendKeys};
use tokio::sync::oneshot;

use super::command::failed;
use super::{JobRunner, KeysTarget};
use crate::core::{CoreMessage, refusal};
use crate::session::{Session, SessionError};

/// How long a program may take to show what was typed, or to react to an answer.
const LIMIT: Duration = Duration::from_secs(10);
/// The interval between two reads of a dialog that is being answered.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long an agent may take until it accepts input.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// It is ready when this many consecutive reads return the same screen.
const READY_LOOKS: u32 = 4;
/// The interval between two of these reads.
const READY_LOOK_EVERY: Duration = Duration::from_millis(250);
/// A key without effect is pressed again after this time: dialogs may ignore input right after they
/// appear.
const PRESS_AGAIN: Duration = Duration::from_millis(400);
/// After this many reads without it, a dialog is gone.
const GONE_LOOKS: u32 = 3;

/// Held while typing: two inputs must not be interleaved.
static KEYBOARD: Mutex<()> = Mutex::new(());

/// A session that is typed into, and whose dialogs are known.
struct DialogSession<'desk> {
    session: &'desk Session,
    host: Option<&'desk str>,
}

impl DialogSession<'_> {
    /// Returns whether the screen shows a dialog, which would take a text for its answer.
    fn shows_dialog(&self) -> Result<bool, SessionError> {
        let Some(host) = self.host.and_then(anyhook_hosts::find) else { return Ok(false) };
        Ok(host.dialog(&self.session.coloured()?).is_some())
    }

    /// Types a line, unless a dialog is open; `store` records it before it is typed, or returns why
    /// it must not be. So the agent's reaction comes later in the log.
    fn type_line(
        &self,
        text: &str,
        store: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), SendKeysError> {
        let _alone = KEYBOARD.lock().unwrap_or_else(PoisonError::into_inner);
        let obsolete = || SendKeysError::Obsolete("the screen shows a dialog".to_owned());
        if self.shows_dialog().map_err(SendKeysError::of)? {
            return Err(obsolete());
        }
        store().map_err(SendKeysError::Obsolete)?;
        // A dialog that appears in the meantime would take Enter for its answer.
        let may_enter = || !self.shows_dialog().unwrap_or(true);
        match self.session.type_line_if(text, LIMIT, may_enter) {
            Ok(true) => Ok(()),
            Ok(false) => Err(obsolete()),
            Err(error) => Err(SendKeysError::of(error)),
        }
    }
}

/// What a person chose instead of answering the dialog on the screen.
#[derive(Clone, Copy, Debug)]
pub(super) enum DialogChoice<'choice> {
    /// The option that allows.
    Allow,
    /// The option that denies.
    Deny,
    /// An option of a question.
    Option(&'choice str),
}

impl DialogChoice<'_> {
    pub(super) fn of(allow: bool) -> Self {
        if allow { Self::Allow } else { Self::Deny }
    }
}

/// Why nothing was typed.
enum SendKeysError {
    /// It is no longer applicable.
    Obsolete(String),
    /// It failed.
    Failed(String),
}

impl SendKeysError {
    #[expect(clippy::needless_pass_by_value, reason = "it is what becomes of the error")]
    fn of(error: SessionError) -> Self {
        Self::Failed(error.to_string())
    }
}

fn result(typed: Result<(), SendKeysError>) -> JobResult {
    match typed {
        Ok(()) => JobResult::Done { note: None },
        Err(SendKeysError::Obsolete(why)) => JobResult::Obsolete { why },
        Err(SendKeysError::Failed(why)) => JobResult::Failed { why },
    }
}

impl JobRunner {
    /// Types a message, if the agent is still idle.
    pub(super) fn nudge(&self, context: &JobContext, rest: u64, message: &str) -> JobResult {
        let (Some(session), Some(agent)) = (self.session_of(context), &context.agent) else {
            return failed("the agent has no session");
        };
        let into = KeysTarget { job: context.id(), rest };
        let desk = DialogSession { session: &session, host: host_of(context) };
        result(desk.type_line(message, || self.tell_of_input(agent.clone(), Some(into))))
    }

    /// Types the prompt of an agent that does not take it on its command line, once its screen has
    /// settled and shows no dialog.
    pub(super) fn type_prompt(&self, context: &JobContext, message: &str) -> JobResult {
        let (Some(session), Some(agent)) = (self.session_of(context), &context.agent) else {
            return failed("the agent has no session");
        };
        let desk = DialogSession { session: &session, host: host_of(context) };
        let until = Instant::now() + READY_LIMIT;
        let (mut last, mut same) = (String::new(), 0);
        while same < READY_LOOKS {
            let looked = session.screen().and_then(|now| Ok((now, desk.shows_dialog()?)));
            let (screen, asks) = match looked {
                Ok(looked) => looked,
                Err(error) => return JobResult::Failed { why: error.to_string() },
            };
            let is_same = screen == last && !screen.trim().is_empty() && !asks;
            same = if is_same { same + 1 } else { 0 };
            last = screen;
            // A person may take long to answer a dialog.
            if Instant::now() > until && !asks {
                return failed("its screen keeps changing, so it has not received its prompt yet");
            }
            thread::sleep(READY_LOOK_EVERY);
        }
        result(desk.type_line(message, || self.tell_of_input(agent.clone(), None)))
    }

    /// Has the loop store that an agent is sent input, before it is: so the agent's reaction comes
    /// after it. With a rest, only if the agent is still at it.
    fn tell_of_input(&self, agent: String, into: Option<KeysTarget>) -> Result<(), String> {
        let (answer, answered) = oneshot::channel();
        let ends = || "the daemon is stopping".to_owned();
        self.messages
            .blocking_send(CoreMessage::SendKeys(agent, into, answer))
            .map_err(|_| ends())?;
        answered.blocking_recv().map_err(|_| ends())?
    }

    /// Answers the dialog on the screen, if the agent is still at it and it is the one the person
    /// was asked about.
    pub(super) fn answer(
        &self,
        context: &JobContext,
        rest: u64,
        wanted: DialogChoice<'_>,
        (about, prompt): (Option<&str>, Option<PromptType>),
    ) -> JobResult {
        let Some(session) = self.session_of(context) else {
            return failed("the agent has no session");
        };
        let Some(host) = host_of(context).and_then(anyhook_hosts::find) else {
            return failed("this agent's dialogs are unknown");
        };
        let _alone = KEYBOARD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(obsolete) = self.still_at_prompt(context, rest) {
            return obsolete;
        }
        let mut pacer = KeyPacer::new(PRESS_AGAIN);
        // A dialog that is being redrawn may be missing for one read.
        let mut looks_without = 0;
        let answered = poll_until(Instant::now() + LIMIT, LOOK_EVERY, || {
            let dialog = match session.coloured() {
                Ok(screen) => host.dialog(&screen),
                Err(error) => return Some(JobResult::Failed { why: error.to_string() }),
            };
            // Hooks and screens use different words for the same call.
            let dialog =
                dialog.filter(|dialog| about.is_none_or(|about| dialog.is_about(about, prompt)));
            looks_without = if dialog.is_none() { looks_without + 1 } else { 0 };
            if pacer.has_pressed() && looks_without >= GONE_LOOKS {
                return Some(JobResult::Done { note: None });
            }
            let dialog = dialog?;
            let keys = match wanted {
                DialogChoice::Allow => dialog.allow.as_ref(),
                DialogChoice::Deny => dialog.deny.as_ref(),
                DialogChoice::Option(label) => dialog.keys_of(label),
            };
            let Some(key) = keys.and_then(|keys| keys.first()) else {
                return Some(failed(
                    "only a person can answer this dialog, in the agent's session",
                ));
            };
            // One key at a time: the next is computed from the new position of the selection.
            let is_first = !pacer.has_pressed();
            if pacer.may_press(&dialog, Instant::now()) {
                // Once the agent has continued, a dialog with the same words is another one.
                if !is_first && self.still_at_prompt(context, rest).is_err() {
                    return Some(JobResult::Done { note: None });
                }
                if let Err(error) = session.press(*key) {
                    return Some(JobResult::Failed { why: error.to_string() });
                }
            }
            None
        });
        answered.unwrap_or_else(|| {
            failed(if pacer.has_pressed() {
                "the dialog does not react to keys"
            } else {
                "the screen does not show the dialog in question"
            })
        })
    }

    fn session_of(&self, context: &JobContext) -> Option<Session> {
        Some(self.session(&JobId { number: context.session?, ..context.id() }))
    }

    /// Types something in the background, and answers the client that requested it; with force,
    /// even into a dialog.
    pub fn type_to(
        &self,
        job: &JobId,
        send: SendKeys,
        host: Option<String>,
        answer: oneshot::Sender<Response>,
    ) {
        let (runner, session) = (self.clone(), self.session(job));
        thread::spawn(move || {
            let SendKeys { agent, text, force, .. } = send;
            let desk =
                DialogSession { session: &session, host: host.as_deref().filter(|_| !force) };
            let typed = desk.type_line(&text, || runner.tell_of_input(agent, None));
            let response = match typed {
                Ok(()) => Response::Done,
                Err(SendKeysError::Obsolete(why) | SendKeysError::Failed(why)) => {
                    Response::Refused(refusal(RefusalCode::NotNow, &why))
                }
            };
            // A client that has disconnected needs no answer.
            let _ = answer.send(response);
        });
    }
}

fn host_of(context: &JobContext) -> Option<&str> {
    context.agent_plan().and_then(|plan| plan.host.as_deref())
}
