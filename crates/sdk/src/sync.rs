//! What [`crate::registry`] is made of: tests put shuttle's in its place.

pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use tokio::sync::Notify;
