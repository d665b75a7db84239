//! Frames: a big-endian length of four bytes, followed by that many bytes of JSON.

use std::io::{self, Read, Write};

use anyhook_model::daemon::FRAME_LIMIT;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a frame cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The peer has disconnected or does not answer.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The announced length exceeds the limit.
    #[error("a frame of {0} bytes is too long")]
    TooLong(usize),
    /// It is not the expected JSON.
    #[error("cannot parse a frame: {0}")]
    NotJson(#[from] serde_json::Error),
}

/// Returns a message as a frame.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    match u32::try_from(length) {
        Ok(short) if length <= FRAME_LIMIT => frame[..4].copy_from_slice(&short.to_be_bytes()),
        _ => return Err(FrameError::TooLong(length)),
    }
    Ok(frame)
}

/// Returns the length of a frame's body from its header.
pub fn length(head: [u8; 4]) -> Result<usize, FrameError> {
    let length = usize::try_from(u32::from_be_bytes(head)).unwrap_or(usize::MAX);
    if length > FRAME_LIMIT { Err(FrameError::TooLong(length)) } else { Ok(length) }
}

/// Writes a message.
pub fn write(stream: &mut impl Write, message: &impl Serialize) -> Result<(), FrameError> {
    Ok(stream.write_all(&encode(message)?)?)
}

/// Reads a message.
pub fn read<T: DeserializeOwned>(stream: &mut impl Read) -> Result<T, FrameError> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let mut body = vec![0; length(head)?];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

#[cfg(test)]
mod tests {
    use anyhook_model::daemon::{Hello, Request};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Hello::ours()).unwrap();
        write(&mut bytes, &Request::Follow { after: Some(7), since: None }).unwrap();
        let mut rest = bytes.as_slice();
        assert_eq!(read::<Hello>(&mut rest).unwrap(), Hello::ours());
        assert_eq!(
            read::<Request>(&mut rest).unwrap(),
            Request::Follow { after: Some(7), since: None }
        );
        assert!(read::<Request>(&mut rest).is_err(), "there is no more");
    }

    #[test]
    fn a_length_that_nobody_may_send_is_not_waited_for() {
        let mut bytes: &[u8] = &[0xff; 64];
        assert!(matches!(read::<Hello>(&mut bytes), Err(FrameError::TooLong(_))));
        let long = "x".repeat(FRAME_LIMIT);
        assert!(matches!(encode(&long), Err(FrameError::TooLong(_))));
    }

    proptest! {
        #[test]
        fn nothing_that_comes_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = read::<Request>(&mut bytes.as_slice());
        }
    }
}
