//! Agents with hooks: pre- and post-hooks around a run, model hooks around each call of its model,
//! tool hooks around each call of a tool.

mod agent_loop;
pub mod builtin;
pub mod center;
pub mod compose;
pub mod definition;
pub mod flow;
pub mod handler;
pub mod hook;
pub mod live;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod message;
pub mod model;
pub mod model_hook;
pub mod run;
pub mod scripted;
pub mod session;
pub mod stream;
pub mod stream_hook;
pub mod tool;

pub use agent_loop::Piece;
pub use center::{AgentCenter, IfTaken, RegisterError};
pub use definition::Agent;
pub use flow::{Cancel, RunRequest};
pub use handler::{PostHookHandler, PreHookHandler};
pub use hook::{Hook, HookContext, PostHook, PreHook};
pub use live::{LiveAgentCenter, LiveAgentCenterBuilder, PlannedRunHook};
#[cfg(feature = "mcp")]
pub use mcp::McpServer;
pub use message::{Message, RequestedCall};
pub use model::{
    Model, ModelAnswer, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, Usage,
};
pub use model_hook::{ModelHook, ModelHookHandler};
pub use run::{MadeCall, Run, RunError, RunStatus};
pub use scripted::ScriptedModel;
pub use session::{History, MemoryHistory, SessionContext};
pub use stream::{RunEvent, RunStream};
pub use stream_hook::{StreamHook, StreamStep};
pub use tool::{FunctionTool, Tool, ToolDescription, ToolError};
