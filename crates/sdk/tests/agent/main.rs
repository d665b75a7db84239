//! Agents with hooks around their runs: the design's six groups of tests, and every rule beside
//! them.

#![cfg(feature = "agent")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

mod context;
mod failures;
mod forms;
mod lifecycle;
mod loops;
mod model_hooks;
mod order;
mod post;
mod pre;
mod registering;
mod sessions;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use anyhook_sdk::BoxFuture;
use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, Model, ModelError, ModelEvent, ModelRequest,
    ModelStream, PostHook, PreHook, RequestedCall, Run, RunError, SessionContext, StopReason,
    Usage,
};
use futures_core::Stream;
use serde_json::Value;

/// What happened, in order.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

type Events = Vec<Result<ModelEvent, ModelError>>;

/// A model that plays a script: one list of events for each time it is asked.
#[derive(Clone, Debug, Default)]
struct Scripted {
    answers: Arc<Mutex<VecDeque<Events>>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    log: Log,
}

impl Scripted {
    fn saying(text: &str) -> Self {
        Self::default().then_says(text)
    }

    fn then(self, events: Events) -> Self {
        self.answers.lock().unwrap().push_back(events);
        self
    }

    fn then_says(self, text: &str) -> Self {
        let usage = Usage { input_tokens: 10, output_tokens: 5 };
        let pieces = text.split_inclusive(' ').map(|piece| Ok(ModelEvent::Text(piece.to_owned())));
        let end = [Ok(ModelEvent::Usage(usage)), Ok(ModelEvent::Done(StopReason::Finished))];
        self.then(pieces.chain(end).collect())
    }

    fn then_calls(self, id: &str, name: &str, arguments: &str) -> Self {
        let call = RequestedCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        self.then(vec![Ok(ModelEvent::Call(call)), Ok(ModelEvent::Done(StopReason::Calls))])
    }

    fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

/// Events that are all there.
struct Ready(VecDeque<Result<ModelEvent, ModelError>>);

impl Stream for Ready {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front())
    }
}

impl Model for Scripted {
    fn ask(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        self.log.add("model");
        self.requests.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move { Ok(Box::pin(Ready(answer.into())) as ModelStream) })
    }
}

/// A center with one agent, `a`, and its session.
struct World {
    center: Arc<LiveAgentCenter>,
    session: SessionContext,
    model: Scripted,
}

impl World {
    /// Makes a world in which the model says hello.
    fn with(pre: Vec<PreHook>, post: Vec<PostHook>) -> Self {
        Self::of(LiveAgentCenter::builder().build(), Scripted::saying("hello there"), pre, post)
    }

    fn of(
        center: LiveAgentCenter,
        model: Scripted,
        pre: Vec<PreHook>,
        post: Vec<PostHook>,
    ) -> Self {
        center.register_model("m", Arc::new(model.clone()), IfTaken::Refuse).unwrap();
        let agent = Agent::new("a", "m")
            .instructions("be brief")
            .pre_hooks(pre.iter().map(|hook| hook.config().name.clone()))
            .post_hooks(post.iter().map(|hook| hook.config().name.clone()));
        for hook in pre {
            center.register_pre_hook(hook, IfTaken::Refuse).unwrap();
        }
        for hook in post {
            center.register_post_hook(hook, IfTaken::Refuse).unwrap();
        }
        center.register_agent(agent, IfTaken::Refuse).unwrap();
        Self { center: Arc::new(center), session: SessionContext::new("a", "s"), model }
    }

    async fn run(&self) -> Result<Run, RunError> {
        self.center.run_agent(&self.session, "hi", false).await
    }
}

/// A pre-hook that notes its name.
fn noting(log: &Log, name: &str) -> PreHook {
    let (log, note) = (log.clone(), name.to_owned());
    PreHook::boxed(name, move |_| {
        log.add(note.clone());
        Box::pin(async { Ok(()) })
    })
}

/// A post-hook that notes its name.
fn noting_after(log: &Log, name: &str) -> PostHook {
    let (log, note) = (log.clone(), name.to_owned());
    PostHook::boxed(name, move |_, _| {
        log.add(note.clone());
        Box::pin(async { Ok(()) })
    })
}

/// Returns an object's text, for messages of tests.
fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
