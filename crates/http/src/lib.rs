//! Connections to HTTP servers: where one is, TLS with the machine's certificates, and a stream that
//! `hyper` speaks through.
//!
//! ```text
//! Address::parse(url) ──▶ Encryption::new(…) if it is encrypted ──▶ connect(…) ──▶ hyper
//! ```
//!
//! Webhooks, MCP servers and models are all reached this way. Nothing here repeats a URL in an error:
//! there may be a secret in it.

mod address;
mod connect;
mod encryption;

use std::error::Error;

pub use address::{Address, AddressError};
pub use connect::{ConnectError, Transport, connect};
pub use encryption::{Encryption, EncryptionError};

/// Returns what an error says, with its cause.
pub fn with_cause(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
