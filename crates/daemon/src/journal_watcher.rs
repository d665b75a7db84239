//! Says when the journal has grown: the system tells at once, and the loop looks now and then
//! itself, so that nothing depends on it. Hook processes do not tell the daemon anything: they pay
//! nothing for it, and a daemon that is down loses nothing.

use std::path::Path;

use notify::{EventKind, RecursiveMode, Watcher as _, recommended_watcher};
use tokio::sync::mpsc;

use crate::core::CoreMessage;

/// Watches the journal as long as it lives.
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
                // A full queue is read soon, and the journal with it.
                let _ = messages.try_send(CoreMessage::JournalChanged);
            }
        })?;
        watcher.watch(journal, RecursiveMode::NonRecursive)?;
        Ok(Self { _watcher: watcher })
    }
}
