//! The daemon's socket, as far as both sides need it: where it is, the frames that go over it, who
//! is at the other end, a client, and a subscription to what happens.
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
