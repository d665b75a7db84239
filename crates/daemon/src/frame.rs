//! Asynchronous reading and writing of the socket's frames.

use anyhook_socket::frame::{FrameError, encode, length};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Like [`anyhook_socket::frame::write`], without blocking the thread.
pub async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> Result<(), FrameError> {
    Ok(stream.write_all(&encode(message)?).await?)
}

/// Like [`anyhook_socket::frame::read`], without blocking the thread.
pub async fn receive<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<T, FrameError> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let mut body = vec![0; length(head)?];
    stream.read_exact(&mut body).await?;
    Ok(serde_json::from_slice(&body)?)
}
