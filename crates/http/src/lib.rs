//! Connections to HTTP servers: addresses, TLS with the machine's certificates, and a stream for
//! `hyper`.
//!
//! ```text
//! Address::parse(url) ──▶ Encryption::new(…) if it is encrypted ──▶ connect(…) ──▶ hyper
//! ```
//!
//! Webhooks, MCP servers and models are all reached this way. Nothing here repeats a URL in an
//! error: it may contain a secret.

mod address;
mod connect;
mod encryption;

use std::error::Error;

pub use address::{Address, AddressError};
pub use connect::{ConnectError, Transport, connect};
pub use encryption::{Encryption, EncryptionError};

/// Returns an error's message with its cause.
pub fn with_cause(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
