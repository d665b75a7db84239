//! The page of anyhook in the browser, and the HTTP API that it and other programs use.
//!
//! ```text
//!  browser ──▶ guard ──▶ views ──┐
//!                                ├──▶ app ──▶ CoreHandle ──▶ the daemon's loop
//!  program ──▶ guard ──▶ api ────┘     └────▶ journal, hooks: read from the disk
//! ```
//!
//! The daemon starts it when a person asks for it, in a thread of its own: whatever the page does,
//! no decision waits for it. Pages are made here, completely; a small module in the browser replaces
//! the parts that have changed. Nothing is loaded from elsewhere.

mod address;
pub mod api;
mod app;
mod assets;
mod error;
mod guard;
mod hooks;
mod journal;
mod live;
mod screen;
mod secret;
mod server;
mod sessions;
mod stats;
mod time_box;
pub mod tokens;
mod views;
mod workflows;

pub use server::{Page, PageOptions};
#[cfg(feature = "workflow")]
pub use workflows::use_method;
