//! Stream hooks: hooks on a model's answer, piece by piece, before it is shown.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::hook::PRIORITY_DEFAULT;
use crate::call::CallError;
use crate::function::HookError;

/// A stream hook's default time limit for a piece.
pub const PIECE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(1);
/// At most this many bytes a hook may hold back.
pub const MOST_HELD: usize = 64 * 1024;

/// What to do with a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamStep {
    /// It is shown as it is.
    Pass,
    /// This is shown instead.
    Change(String),
    /// It is held back, and comes again with the next piece appended.
    Hold,
    /// The first is shown; the second is held back, and comes again with the next piece appended.
    Part(String, String),
    /// Nothing more is shown, with the reason.
    Stop(String),
}

type Step = dyn FnMut(&str, bool) -> StreamStep + Send;
type MakeStep = dyn Fn() -> Box<Step> + Send + Sync;

/// A function on the pieces of an answer, as they come.
///
/// Each run has a function of its own, so its state belongs to that run alone.
///
/// ```
/// use anyhook_sdk::agent::stream_hook::{StreamChain, StreamHook, StreamStep};
///
/// let numbers = StreamHook::new("count", || {
///     let mut count = 0;
///     Box::new(move |piece| {
///         count += 1;
///         StreamStep::Change(format!("{count}:{piece} "))
///     })
/// });
/// let mut chain = StreamChain::new(&[numbers]);
/// assert_eq!(chain.push("a").unwrap(), "1:a ");
/// assert_eq!(chain.push("b").unwrap(), "2:b ");
/// ```
#[derive(Clone)]
pub struct StreamHook {
    name: String,
    priority: i32,
    timeout: Duration,
    guardrail: bool,
    asked_at_end: bool,
    make: Arc<MakeStep>,
}

impl StreamHook {
    /// Makes a hook; `make` is called once for each run.
    ///
    /// What it still [holds](StreamStep::Hold) at the end it is asked about once more; what it then
    /// holds again is shown.
    pub fn new<F>(name: impl Into<String>, make: F) -> Self
    where
        F: Fn() -> Box<dyn FnMut(&str) -> StreamStep + Send> + Send + Sync + 'static,
    {
        let make = move || -> Box<Step> {
            let mut step = make();
            Box::new(move |piece, _| step(piece))
        };
        Self { asked_at_end: false, ..Self::with_end(name, make) }
    }

    /// Makes a hook whose function also gets whether a piece is the last one. The last one may be
    /// empty.
    pub fn with_end<F>(name: impl Into<String>, make: F) -> Self
    where
        F: Fn() -> Box<dyn FnMut(&str, bool) -> StreamStep + Send> + Send + Sync + 'static,
    {
        Self {
            name: name.into(),
            priority: PRIORITY_DEFAULT,
            timeout: PIECE_TIMEOUT_DEFAULT,
            guardrail: false,
            asked_at_end: true,
            make: Arc::new(make),
        }
    }

    /// Makes its failure end the stream. Otherwise it is skipped from then on.
    pub fn guardrail(mut self) -> Self {
        self.guardrail = true;
        self
    }

    /// Sets its priority; higher runs first, 100 by default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets how long it may take for a piece; 1 second by default. It cannot be interrupted: one
    /// that took longer has failed.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for StreamHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StreamHook")
            .field("name", &self.name)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

/// A hook stopped a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hook `{hook}` stopped the answer: {reason}")]
#[non_exhaustive]
pub struct StreamStopped {
    /// The hook.
    pub hook: String,
    /// The reason.
    pub reason: String,
}

/// A hook failed, and is skipped from then on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamFailure {
    /// The hook.
    pub hook: String,
    /// The error.
    pub error: HookError,
}

/// The stream hooks of one run: takes pieces, and returns what is to be shown.
///
/// A hook sees the output of the previous ones. Pure: it starts nothing and waits for nothing.
#[derive(Debug)]
pub struct StreamChain {
    links: Vec<ChainLink>,
    failures: Vec<StreamFailure>,
    stopped: Option<StreamStopped>,
}

struct ChainLink {
    hook: StreamHook,
    /// `None` once it has failed.
    step: Option<Box<Step>>,
    held: String,
}

impl fmt::Debug for ChainLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ChainLink")
            .field("hook", &self.hook)
            .field("held", &self.held.len())
            .finish_non_exhaustive()
    }
}

impl StreamChain {
    /// Starts a run with these hooks, by priority.
    pub fn new(hooks: &[StreamHook]) -> Self {
        let mut hooks = hooks.to_vec();
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.priority));
        let mut chain = Self { links: Vec::new(), failures: Vec::new(), stopped: None };
        for hook in hooks {
            let made = catch_unwind(AssertUnwindSafe(|| (hook.make)()));
            let mut link = ChainLink { hook, step: None, held: String::new() };
            match made {
                Ok(step) => link.step = Some(step),
                Err(panic) => chain.fail(&link.hook, &CallError::of_panic(&*panic).to_string()),
            }
            chain.links.push(link);
        }
        chain
    }

    /// Takes a piece, and returns what is to be shown now.
    pub fn push(&mut self, piece: &str) -> Result<String, StreamStopped> {
        self.pass(piece, false)
    }

    /// Ends the text, and returns what was held back until now.
    pub fn finish(&mut self) -> Result<String, StreamStopped> {
        self.pass("", true)
    }

    /// Returns the hooks that failed and their errors, oldest first.
    pub fn failures(&self) -> &[StreamFailure] {
        &self.failures
    }

    fn pass(&mut self, piece: &str, is_last: bool) -> Result<String, StreamStopped> {
        let mut text = piece.to_owned();
        for at in 0..self.links.len() {
            if let Some(stopped) = &self.stopped {
                return Err(stopped.clone());
            }
            let link = &mut self.links[at];
            match link.take(&text, is_last) {
                Ok(shown) => text = shown,
                Err(LinkEnd::Stopped(reason)) => {
                    self.stopped = Some(StreamStopped { hook: link.hook.name.clone(), reason });
                }
                Err(LinkEnd::Failed(why)) => {
                    let hook = link.hook.clone();
                    link.step = None;
                    text.insert_str(0, &std::mem::take(&mut link.held));
                    self.fail(&hook, &why);
                }
            }
        }
        match &self.stopped {
            Some(stopped) => Err(stopped.clone()),
            None => Ok(text),
        }
    }

    fn fail(&mut self, hook: &StreamHook, why: &str) {
        let (name, error) = (hook.name.clone(), HookError::new(why));
        self.failures.push(StreamFailure { hook: name.clone(), error });
        if hook.guardrail && self.stopped.is_none() {
            self.stopped = Some(StreamStopped { hook: name, reason: why.to_owned() });
        }
    }
}

/// Why a link of the chain returned nothing.
enum LinkEnd {
    Stopped(String),
    Failed(String),
}

impl ChainLink {
    fn take(&mut self, piece: &str, is_last: bool) -> Result<String, LinkEnd> {
        let Some(step) = &mut self.step else { return Ok(piece.to_owned()) };
        let is_asked_at_end = self.hook.asked_at_end || !self.held.is_empty();
        if piece.is_empty() && !(is_last && is_asked_at_end) {
            return Ok(String::new());
        }
        let text = format!("{}{piece}", self.held);
        let began = Instant::now();
        let said = catch_unwind(AssertUnwindSafe(|| step(&text, is_last)));
        let took = began.elapsed();
        let said =
            said.map_err(|panic| LinkEnd::Failed(CallError::of_panic(&*panic).to_string()))?;
        if took > self.hook.timeout {
            let (took, limit) = (took.as_millis(), self.hook.timeout.as_millis());
            return Err(LinkEnd::Failed(format!("it took {took} ms, more than {limit} ms")));
        }
        let (shown, held) = match said {
            StreamStep::Pass => (text, String::new()),
            StreamStep::Change(shown) => (shown, String::new()),
            StreamStep::Hold if is_last => (text, String::new()),
            StreamStep::Part(shown, held) if is_last => (shown + &held, String::new()),
            StreamStep::Hold => (String::new(), text),
            StreamStep::Part(shown, held) => (shown, held),
            StreamStep::Stop(reason) => return Err(LinkEnd::Stopped(reason)),
        };
        if held.len() > MOST_HELD {
            return Err(LinkEnd::Failed(format!("it buffers more than {MOST_HELD} bytes")));
        }
        self.held = held;
        Ok(shown)
    }
}

#[cfg(test)]
#[path = "stream_hook_tests.rs"]
mod tests;
