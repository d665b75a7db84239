//! Watches the journal for growth: the system reports changes immediately, and the loop also polls,
//! so that nothing depends on these reports. Hook processes do not notify the daemon: this costs
//! them nothing, and a daemon that is down loses nothing.

use std::path::Path;

use notify::{EventKind, RecursiveMode, Watcher as _, recommended_watcher};
use tokio::sync::mpsc;

use crate::core::CoreMessage;

/// Watches the journal until it is dropped.
#[derive(Debug)]
pub struct JournalWatcher {
    _watcher: notify::RecommendedWatcher,
}

impl JournalWatcher {
    /// Begins to watch the journal's folder.
    pub fn watch(journal: &Path, messages: mpsc::Sender<CoreMessage>) -> notify::Result<Self> {
        let mut watcher = recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is_written = event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)));
            if is_written {
                // If the queue is full, it will be read soon, and the journal with it.
                let _ = messages.try_send(CoreMessage::JournalChanged);
            }
        })?;
        watcher.watch(journal, RecursiveMode::NonRecursive)?;
        Ok(Self { _watcher: watcher })
    }
}
