//! Reads the body of an answer from pieces: server-sent events, or one JSON object.

use std::collections::VecDeque;
use std::sync::Arc;

use super::answer::{AnswerBuilder, Chunk};
use super::secrets::Secrets;
use super::sse::{SseItem, SseParser};
use crate::agent::{ModelError, ModelEvent};

/// The format of the body. The first byte determines it, whatever its content type.
#[derive(Debug)]
enum Shape {
    Unknown,
    Events(SseParser),
    Whole(Vec<u8>),
}

/// Reads the body of an answer. Its buffers are bounded.
pub(super) struct BodyReader {
    shape: Shape,
    answer: AnswerBuilder,
    has_data: bool,
    is_done: bool,
    status: u16,
    limit: usize,
    secrets: Arc<Secrets>,
}

impl BodyReader {
    pub(super) fn new(status: u16, limit: usize, secrets: Arc<Secrets>) -> Self {
        Self {
            shape: Shape::Unknown,
            answer: AnswerBuilder::new(limit),
            has_data: false,
            is_done: false,
            status,
            limit,
            secrets,
        }
    }

    /// Returns whether the answer is complete: the rest of the body is ignored.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Takes the next piece of the body.
    pub(super) fn feed(
        &mut self,
        mut piece: &[u8],
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if self.is_done {
            return Ok(());
        }
        if matches!(self.shape, Shape::Unknown) {
            // Whitespace and a byte order mark may come first.
            let is_filler =
                |byte: &u8| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte);
            let Some(start) = piece.iter().position(|byte| !is_filler(byte)) else {
                return Ok(());
            };
            piece = &piece[start..];
            self.shape = match piece[0] {
                b'{' => Shape::Whole(Vec::new()),
                _ => Shape::Events(SseParser::new(self.limit)),
            };
        }
        match &mut self.shape {
            Shape::Unknown => Ok(()),
            Shape::Whole(body) if piece.len() > self.limit - body.len() => {
                Err(ModelError::Garbage(format!("it is longer than {} bytes", self.limit)))
            }
            Shape::Whole(body) => {
                body.extend_from_slice(piece);
                Ok(())
            }
            Shape::Events(parser) => {
                let mut items = Vec::new();
                let read = parser.feed(piece, &mut items);
                self.take_items(items, events)?;
                match read {
                    Err(error) if !self.is_done => Err(ModelError::Garbage(error.to_string())),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Takes the end of the body, clean or not: an answer with a stop reason is complete.
    pub(super) fn finish(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        match std::mem::replace(&mut self.shape, Shape::Unknown) {
            _ if self.is_done => return Ok(()),
            Shape::Unknown => return Err(ModelError::BrokenOff),
            Shape::Whole(body) => {
                let chunk = serde_json::from_slice(&body).map_err(|error| {
                    if error.is_eof() {
                        ModelError::BrokenOff
                    } else {
                        self.no_chunk(&error, &String::from_utf8_lossy(&body))
                    }
                })?;
                self.take_chunk(chunk, events)?;
            }
            Shape::Events(mut parser) => {
                let mut items = Vec::new();
                // An event that is cut off in the middle is not garbage: there was more to come.
                let _ = parser.finish(&mut items);
                match self.take_items(items, events) {
                    Err(ModelError::Garbage(_)) if self.has_data => {}
                    taken => taken?,
                }
                if self.is_done {
                    return Ok(());
                }
                if !self.answer.has_ended() {
                    return Err(ModelError::BrokenOff);
                }
            }
        }
        self.complete(events)
    }

    /// Takes the error that interrupted the body. It does not matter if the answer was complete.
    pub(super) fn interrupt(
        &mut self,
        error: ModelError,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if self.answer.has_ended() && !self.is_done { self.complete(events) } else { Err(error) }
    }

    fn take_items(
        &mut self,
        items: Vec<SseItem>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        for item in items {
            match item {
                _ if self.is_done => break,
                SseItem::Stray(line) if !self.has_data && !is_cut_field(&line) => {
                    let line = self.secrets.excerpt(&line);
                    return Err(ModelError::Garbage(format!(
                        "it is not an event stream: `{line}`"
                    )));
                }
                SseItem::Stray(_) => {}
                SseItem::Data(data) => self.take_data(data.trim(), events)?,
            }
        }
        Ok(())
    }

    fn take_data(
        &mut self,
        data: &str,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.has_data = true;
        match data {
            "[DONE]" => self.complete(events),
            // A keep-alive.
            "" => Ok(()),
            _ => {
                let chunk =
                    serde_json::from_str(data).map_err(|error| self.no_chunk(&error, data))?;
                self.take_chunk(chunk, events)
            }
        }
    }

    fn take_chunk(
        &mut self,
        chunk: Chunk,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.answer.take(chunk, self.status, events).map_err(|error| match error {
            ModelError::Refused { status, message } => {
                ModelError::Refused { status, message: self.secrets.excerpt(&message) }
            }
            error => error,
        })
    }

    fn complete(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        self.is_done = true;
        self.answer.complete(events)
    }

    fn no_chunk(&self, error: &serde_json::Error, text: &str) -> ModelError {
        let error = self.secrets.excerpt(&error.to_string());
        ModelError::Garbage(format!("{error}: `{}`", self.secrets.excerpt(text)))
    }
}

/// Returns whether a line may be the start of a valid one, cut off by the end.
fn is_cut_field(line: &str) -> bool {
    ["data", "event", "id", "retry"].iter().any(|field| field.starts_with(line))
}

#[cfg(test)]
mod tests;
