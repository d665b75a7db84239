//! The synchronisation primitives of [`crate::registry`]: tests replace them with shuttle's.

pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use tokio::sync::Notify;
