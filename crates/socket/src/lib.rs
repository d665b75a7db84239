//! The daemon's socket, as far as both sides need it: its path, the frames sent over it, the
//! identity of the peer, a client, and a subscription to events.
//!
//! Synchronous and small: it is part of every hook process.

pub mod client;
pub mod folder;
pub mod frame;
pub mod peer;
pub mod presence;
pub mod subscription;

pub use client::{Client, ClientError};
pub use folder::{DaemonFolder, FolderError};
