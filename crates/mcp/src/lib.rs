//! Tools of MCP servers, for programs of the command line.
//!
//! - [`config`]: which servers there are (pure);
//! - [`client`]: connecting, listing, calling, within limits of time and length;
//! - [`context7`]: current documentation of libraries;
//! - [`second_opinion`]: what another model thinks of an artifact;
//! - [`guard`]: dangerous commands in what a tool is called with (pure).

pub mod client;
pub mod config;
pub mod context7;
pub mod error;
pub mod guard;
pub mod second_opinion;

pub use client::{Answer, Connection, Ending, Limits, Session, Stop, Tool, call};
pub use config::{Config, ConfigError, Endpoint, Server};
pub use error::{Failure, Fault, McpError, Step};
