//! Tools of MCP servers, for programs of the command line.
//!
//! - [`config`]: which servers there are (pure);
//! - [`guard`]: dangerous commands in what a tool is called with (pure).
//!
//! With the feature `client`:
//!
//! - `client`: connecting, listing, calling, within limits of time and length;
//! - `context7`: current documentation of libraries;
//! - `second_opinion`: what another model thinks of an artifact.

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
