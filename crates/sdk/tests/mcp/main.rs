//! Tools of MCP servers, against a real server process: what it may do right, and all it may do
//! wrong.

#![cfg(feature = "mcp")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

mod ending;
mod failures;
mod serving;

use std::collections::VecDeque;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhook_sdk::BoxFuture;
use anyhook_sdk::agent::{
    Agent, AgentCenter, IfTaken, LiveAgentCenter, LiveAgentCenterBuilder, MadeCall, McpServer,
    Model, ModelError, ModelEvent, ModelRequest, ModelStream, RequestedCall, Run, RunError,
    SessionContext, StopReason,
};
use futures_core::Stream;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server whose first argument says how it behaves at the start; its tools misbehave in calls.
const SERVER: &str = include_str!("server.py");

/// A model that makes the calls it is given, one after another, and then is done.
#[derive(Clone, Debug, Default)]
struct Caller {
    calls: Arc<Mutex<VecDeque<RequestedCall>>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

struct Ready(VecDeque<Result<ModelEvent, ModelError>>);

impl Stream for Ready {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front())
    }
}

impl Model for Caller {
    fn ask(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        self.requests.lock().unwrap().push(request);
        let events = match self.calls.lock().unwrap().pop_front() {
            Some(call) => [ModelEvent::Call(call), ModelEvent::Done(StopReason::Calls)],
            None => [ModelEvent::Text("done".into()), ModelEvent::Done(StopReason::Finished)],
        };
        let stream = Ready(events.into_iter().map(Ok).collect());
        Box::pin(async move { Ok(Box::pin(stream) as ModelStream) })
    }
}

/// A center with the server `s` and two agents that name it.
struct World {
    center: LiveAgentCenter,
    model: Caller,
    scratch: TempDir,
}

impl World {
    fn new(mode: &str) -> Self {
        Self::of(mode, LiveAgentCenter::builder(), |server| server)
    }

    fn of(
        mode: &str,
        builder: LiveAgentCenterBuilder,
        set: impl FnOnce(McpServer) -> McpServer,
    ) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let world = Self { center: builder.build(), model: Caller::default(), scratch };
        let center = &world.center;
        center.register_model("m", Arc::new(world.model.clone()), IfTaken::Refuse).unwrap();
        center.register_mcp_server("s", set(world.server(mode)), IfTaken::Refuse).unwrap();
        for id in ["a", "b"] {
            let agent = Agent::new(id, "m").mcp_servers(["s"]);
            center.register_agent(agent, IfTaken::Refuse).unwrap();
        }
        world
    }

    fn server(&self, mode: &str) -> McpServer {
        let script = self.scratch.path().join("server.py");
        std::fs::write(&script, SERVER).unwrap();
        let pid_file = self.scratch.path().join("pids");
        McpServer::stdio("python3", [script.as_os_str(), mode.as_ref(), pid_file.as_os_str()])
    }

    async fn run(&self, agent: &str) -> Result<Run, RunError> {
        self.center.run_agent(&SessionContext::new(agent, "session"), "go", false).await
    }

    /// Runs the agent with one call of a tool.
    async fn call(&self, tool: &str, arguments: Value) -> MadeCall {
        let call = RequestedCall {
            id: "c".to_owned(),
            name: format!("mcp__s__{tool}"),
            arguments: arguments.to_string(),
        };
        self.model.calls.lock().unwrap().push_back(call);
        let mut run = self.run("a").await.unwrap();
        assert_eq!(run.output, "done");
        run.tool_calls.remove(0)
    }

    /// Returns why a tool failed.
    async fn failure(&self, tool: &str) -> String {
        self.call(tool, json!({})).await.result.unwrap_err()
    }

    /// Returns why the server cannot be used.
    async fn unusable(&self) -> String {
        match self.run("a").await.unwrap_err() {
            RunError::McpServer { server, why } if server == "s" => why,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the processes of all servers that were started, each with that of its child.
    fn processes(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(self.scratch.path().join("pids")).unwrap_or_default();
        let pair = |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
        text.lines().filter_map(pair).collect()
    }
}

/// Waits until a process is off the list: not even a zombie.
fn wait_until_gone(process: &str) {
    wait_until(|| !Path::new("/proc").join(process).exists());
}

/// Waits until a process has ended. That it is off the list is not our doing: it is no child of ours.
fn wait_until_ended(process: &str) {
    wait_until(|| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        status.map_or(true, |status| status.contains("State:\tZ"))
    });
}

fn wait_until(condition: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < limit, "it never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}
