//! A model that plays a script: for tests, examples, and trying hooks without a provider.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use serde_json::Value;

use super::message::RequestedCall;
use super::model::{Model, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, Usage};
use crate::function::BoxFuture;

type Events = VecDeque<Result<ModelEvent, ModelError>>;

/// A model that plays a script. Clones play the same one.
///
/// ```
/// use anyhook_sdk::agent::ScriptedModel;
///
/// let model = ScriptedModel::new().calls("Shell", &serde_json::json!({"command": "ls"})).says("Done.");
/// assert!(model.requests().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedModel {
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    answers: VecDeque<Events>,
    requests: Vec<ModelRequest>,
    calls: usize,
}

impl ScriptedModel {
    /// Makes a model with an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers with a text next, word by word.
    pub fn says(self, text: &str) -> Self {
        let words = text.split_inclusive(' ').map(|word| Ok(ModelEvent::Text(word.to_owned())));
        let output_tokens = u64::try_from(text.split_whitespace().count()).unwrap_or(0);
        let usage = Usage { input_tokens: 10, output_tokens };
        let end = [Ok(ModelEvent::Usage(usage)), Ok(ModelEvent::Done(StopReason::Finished))];
        self.answers(words.chain(end).collect())
    }

    /// Asks for a tool next.
    pub fn calls(self, tool: &str, input: &Value) -> Self {
        let number = {
            let mut script = self.lock();
            script.calls += 1;
            script.calls
        };
        let call = RequestedCall {
            id: format!("call-{number}"),
            name: tool.to_owned(),
            arguments: input.to_string(),
        };
        let events = [Ok(ModelEvent::Call(call)), Ok(ModelEvent::Done(StopReason::Calls))];
        self.answers(events.into())
    }

    /// Fails next.
    pub fn fails(self, error: ModelError) -> Self {
        self.answers([Err(error)].into())
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.lock().requests.clone()
    }

    fn answers(self, events: Events) -> Self {
        self.lock().answers.push_back(events);
        self
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for ScriptedModel {
    fn ask(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        let mut script = self.lock();
        script.requests.push(request);
        let events = script.answers.pop_front().unwrap_or_default();
        Box::pin(async move { Ok(Box::pin(Ready(events)) as ModelStream) })
    }
}

/// A stream of events that are all available.
struct Ready(Events);

impl Stream for Ready {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front())
    }
}
