//! The page of anyhook in the browser, and the HTTP API that it and other programs use.
//!
//! ```text
//!  browser ─────────────▶ guard ──▶ views ──┐
//!  phone ──▶ lan (TLS) ──▶  │               ├──▶ app ──▶ CoreHandle ──▶ the daemon's loop
//!  program ───────────────▶ └─────▶ api ────┘     └────▶ journal, hooks: read from the disk
//! ```
//!
//! The daemon starts it when a person asks for it, in a thread of its own: whatever the page does,
//! no decision waits for it. Pages are made here, completely; a small module in the browser replaces
//! the parts that have changed. Nothing is loaded from elsewhere.

mod address;
mod answered;
pub mod api;
mod app;
mod assets;
mod certificate;
pub mod devices;
mod error;
pub mod fingerprint;
mod guard;
mod hooks;
mod journal;
mod json;
mod lan;
mod listener;
mod live;
mod pairing;
mod refusals;
mod screen;
mod secret;
mod server;
mod sessions;
mod signed;
mod stats;
mod time_box;
pub mod tokens;
mod usage;
mod views;
mod workflows;

pub use lan::LanOptions;
pub use server::{Page, PageOptions};
#[cfg(feature = "workflow")]
pub use workflows::use_method;
