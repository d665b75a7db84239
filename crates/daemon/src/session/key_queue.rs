//! A queue of input to a terminal, typed in order. A program need not read it, so nothing waits
//! forever.

use std::fs::File;
use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// How many items may wait for a program that does not read.
const WAITING: usize = 256;
/// How long to wait for a program to read its input; it may read it later.
const LIMIT: Duration = Duration::from_secs(4);

/// Bytes to type, and a channel to notify when the terminal has taken them.
type QueuedKeys = (Vec<u8>, Option<Sender<()>>);

/// Types into a terminal.
#[derive(Clone, Debug)]
pub(super) struct KeyQueue {
    pieces: SyncSender<QueuedKeys>,
}

impl KeyQueue {
    /// Starts the thread that types.
    pub(super) fn start(terminal: File) -> Self {
        let (pieces, to_type) = sync_channel(WAITING);
        thread::spawn(move || write(terminal, &to_type));
        Self { pieces }
    }

    /// Types and waits until the terminal has taken it. Returns whether it has.
    pub(super) fn whole(&self, bytes: Vec<u8>) -> bool {
        let (told, done) = channel();
        self.pieces.try_send((bytes, Some(told))).is_ok() && done.recv_timeout(LIMIT).is_ok()
    }

    /// Types without waiting, if there is room.
    pub(super) fn aside(&self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let _ = self.pieces.try_send((bytes, None));
        }
    }
}

fn write(mut terminal: File, pieces: &Receiver<QueuedKeys>) {
    while let Ok((bytes, told)) = pieces.recv() {
        if terminal.write_all(&bytes).is_err() {
            return;
        }
        if let Some(told) = told {
            // The caller may no longer wait.
            let _ = told.send(());
        }
    }
}
