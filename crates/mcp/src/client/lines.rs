//! Messages as lines, to and from a program. A line that is too long is an error before it is in
//! memory.

use std::io;
use std::sync::Arc;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::transport_errors::TransportErrors;
use crate::error::{ServerError, beginning};

/// The pipes of a program.
#[derive(Debug)]
pub(super) struct LineTransport {
    input: Arc<Mutex<Option<ChildStdin>>>,
    output: BufReader<ChildStdout>,
    /// The part of the next line received so far. Kept here: waiting for the rest may be
    /// interrupted.
    line: Vec<u8>,
    longest: usize,
    seen: TransportErrors,
}

impl LineTransport {
    pub(super) fn new(
        input: ChildStdin,
        output: ChildStdout,
        longest: usize,
        seen: TransportErrors,
    ) -> Self {
        let input = Arc::new(Mutex::new(Some(input)));
        Self { input, output: BufReader::new(output), line: Vec::new(), longest, seen }
    }

    /// Reads until `line` is complete. Returns `false` at the end of the input.
    async fn complete_line(&mut self) -> bool {
        loop {
            let piece = match self.output.fill_buf().await {
                Ok([]) | Err(_) => return false,
                Ok(piece) => piece,
            };
            let end = piece.iter().position(|byte| *byte == b'\n');
            let piece = &piece[..end.unwrap_or(piece.len())];
            if self.line.len() + piece.len() > self.longest {
                self.seen.fatal(ServerError::TooLong { limit: self.longest });
                self.line = Vec::new();
                return false;
            }
            if self.line.capacity() < self.line.len() + piece.len() {
                // Doubling, but never beyond the maximum length of a line.
                let wanted = (self.line.len() * 2).max(piece.len()).min(self.longest);
                self.line.reserve_exact(wanted.saturating_sub(self.line.len()).max(piece.len()));
            }
            self.line.extend_from_slice(piece);
            let consumed = piece.len() + usize::from(end.is_some());
            self.output.consume(consumed);
            self.seen.partial(end.is_none());
            if end.is_some() {
                return true;
            }
        }
    }
}

impl Transport<RoleClient> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let input = self.input.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let input = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            input.write_all(&line).await?;
            input.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if !self.complete_line().await {
                self.seen.ended();
                return None;
            }
            let line = std::mem::take(&mut self.line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(_) => self.seen.noise(beginning(&line)),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A server ends when its input does.
        self.input.lock().await.take();
        Ok(())
    }
}
