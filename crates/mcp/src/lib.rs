//! MCP servers and their tools, for command-line programs.
//!
//! - [`config`]: which servers are configured (pure);
//! - [`guard`]: dangerous commands in the input of a tool (pure).
//!
//! With the feature `client`:
//!
//! - `client`: connecting, listing, calling, within limits of time and length;
//! - `context7`: current documentation of libraries;
//! - `second_opinion`: another model's review of an artifact.

#[cfg(feature = "client")]
pub mod client;
pub mod config;
#[cfg(feature = "client")]
pub mod context7;
pub mod error;
pub mod guard;
#[cfg(feature = "client")]
pub mod second_opinion;

#[cfg(feature = "client")]
pub use client::{
    Connection, ServerSession, ServerTool, SessionLimits, ShutdownMode, StopHandle, ToolAnswer,
    call,
};
pub use config::{Config, ConfigError, Endpoint, Server};
pub use error::{McpError, ServerError, ServerFailure, ServerStep};
