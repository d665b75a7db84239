//! Frames as the socket's two sides exchange them, for those who must not block their thread too.

use anyhook_socket::frame::{FrameError, encode, length};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// As [`anyhook_socket::frame::write`], without blocking the thread.
pub async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> Result<(), FrameError> {
    Ok(stream.write_all(&encode(message)?).await?)
}

/// As [`anyhook_socket::frame::read`], without blocking the thread.
pub async fn receive<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<T, FrameError> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let mut body = vec![0; length(head)?];
    stream.read_exact(&mut body).await?;
    Ok(serde_json::from_slice(&body)?)
}
