//! Forwards the reports of agents' logs to the loop, each with the position after it.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::{io, thread};

use anyhook_hosts::log::LogRoots;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::core::CoreMessage;
use crate::watch::{LogPositions, WatchPlaces, Watcher};

/// How many reports may be in transit; then reading the logs pauses.
const ON_THE_WAY: usize = 64;

/// Watches the logs until it is dropped.
#[derive(Debug)]
pub struct LogWatcher {
    _watcher: Watcher,
}

impl LogWatcher {
    /// Continues from the stored positions.
    pub fn watch(
        homes: &LogRoots,
        known: &BTreeMap<String, Value>,
        messages: mpsc::Sender<CoreMessage>,
    ) -> io::Result<Self> {
        let mut positions = LogPositions::default();
        for position in known.values() {
            // A position written by an older version is ignored, and its log read anew.
            if let Ok(position) = serde_json::from_value(position.clone()) {
                positions.note(position);
            }
        }
        let (out, told) = sync_channel(ON_THE_WAY);
        let watcher = Watcher::start(WatchPlaces::of(homes), positions, out)?;
        thread::Builder::new().name("logs".to_owned()).spawn(move || {
            for watched in told {
                let Ok(position) = serde_json::to_value(&watched.position) else { continue };
                let key = watched.position.key();
                let message = match watched.report {
                    Some(report) => CoreMessage::Log(Box::new(report), key, position),
                    None => CoreMessage::CallsRan(watched.calls, key, position),
                };
                if messages.blocking_send(message).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { _watcher: watcher })
    }
}
