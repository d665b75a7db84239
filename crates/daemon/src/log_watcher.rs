//! What the agents' logs tell, brought to the loop with the position behind it.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::{io, thread};

use anyhook_hosts::log::LogRoots;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::core::CoreMessage;
use crate::watch::{LogPositions, WatchPlaces, Watcher};

/// So much may wait on its way; then the logs are read on later.
const ON_THE_WAY: usize = 64;

/// Watches the logs as long as it lives.
#[derive(Debug)]
pub struct LogWatcher {
    _watcher: Watcher,
}

impl LogWatcher {
    /// Begins where they were read to.
    pub fn watch(
        homes: &LogRoots,
        known: &BTreeMap<String, Value>,
        messages: mpsc::Sender<CoreMessage>,
    ) -> io::Result<Self> {
        let mut positions = LogPositions::default();
        for position in known.values() {
            // One that an older version wrote is read anew.
            if let Ok(position) = serde_json::from_value(position.clone()) {
                positions.note(position);
            }
        }
        let (out, told) = sync_channel(ON_THE_WAY);
        let watcher = Watcher::start(WatchPlaces::of(homes), positions, out)?;
        thread::Builder::new().name("logs".to_owned()).spawn(move || {
            for watched in told {
                let Ok(position) = serde_json::to_value(&watched.position) else { continue };
                let event = Box::new(watched.report);
                let message = CoreMessage::Log(event, watched.position.key(), position);
                if messages.blocking_send(message).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { _watcher: watcher })
    }
}
