//! Session transcripts, converted to the payloads that hooks received.

use anyhook_model::json::Object;
use jiff::Timestamp;

/// How an agent's transcripts are read.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptReader {
    /// Reads a transcript of a session or of a subagent.
    pub read: fn(&[u8]) -> Transcript,
    /// Where they are, for people.
    pub place: &'static str,
}

/// A payload made from a transcript, and the line it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptPayload {
    /// The number of the line, starting at 1.
    pub line: usize,
    /// When the line was written, if it says so.
    pub at: Option<Timestamp>,
    /// What the agent sent to a hook, as far as the transcript shows; the caller has to add
    /// `transcript_path`.
    pub payload: Object,
}

/// The contents of a transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The payloads, in the order of their lines.
    pub payloads: Vec<TranscriptPayload>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}
