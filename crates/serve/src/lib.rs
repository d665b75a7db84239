//! Protocols on standard input and output, a line for each message, many requests at once:
//! `anyhook serve --stdio` (`events`) and `anyhook mcp` ([`mcp`]).
//!
//! What they share is `line_server`: reading, a bounded queue, threads, answers, and when to exit.

mod answers;
mod events;
mod line_server;
mod lines;
pub mod mcp;
mod queue;
mod work;

pub use events::serve_stdio;
