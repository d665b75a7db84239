//! A server that writes exactly the bytes of its scripts, one script for each connection.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhook_sdk::openai::OpenAiModel;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What the server does after it has read the request.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes.
    Write(Vec<u8>),
    /// Writes again and again, until nobody listens.
    WriteForever(Vec<u8>),
    /// Lets time pass.
    Pause(Duration),
    /// Waits until the other side has closed the connection, and says so.
    UntilClosed,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub head: String,
    pub body: Value,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: mpsc::UnboundedReceiver<()>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub async fn start(scripts: Vec<Vec<Step>>) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), scripts, None)
    }

    pub fn on(
        listener: TcpListener,
        scripts: Vec<Vec<Step>>,
        encryption: Option<TlsAcceptor>,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (sender, closed) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn({
            let seen = Arc::clone(&seen);
            async move {
                let mut scripts = VecDeque::from(scripts);
                let mut connections = JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    // Without a script, it is closed at once.
                    let Some(script) = scripts.pop_front() else { continue };
                    let (seen, sender) = (Arc::clone(&seen), sender.clone());
                    let encryption = encryption.clone();
                    connections.spawn(async move {
                        match encryption {
                            None => play(stream, script, &seen, &sender).await,
                            Some(encryption) => {
                                if let Ok(stream) = encryption.accept(stream).await {
                                    play(stream, script, &seen, &sender).await;
                                }
                            }
                        }
                    });
                }
            }
        });
        Self { address, seen, closed, _tasks: tasks }
    }

    pub fn model(&self) -> OpenAiModel {
        OpenAiModel::new(format!("http://{}/v1", self.address), "test-model")
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until a connection is closed by the other side.
    pub async fn closed(&mut self) {
        let closed = tokio::time::timeout(Duration::from_secs(10), self.closed.recv());
        closed.await.expect("the connection is still open").unwrap();
    }
}

async fn play(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: Vec<Step>,
    seen: &Mutex<Vec<Seen>>,
    closed: &mpsc::UnboundedSender<()>,
) {
    let Some(request) = read_request(&mut stream).await else { return };
    seen.lock().unwrap().push(request);
    for step in script {
        // A client that goes away in the middle is its own business.
        match step {
            Step::Write(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
                let _ = stream.flush().await;
            }
            Step::WriteForever(bytes) => {
                while stream.write_all(&bytes).await.is_ok() {}
                let _ = closed.send(());
            }
            Step::Pause(pause) => tokio::time::sleep(pause).await,
            Step::UntilClosed => {
                while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
                let _ = closed.send(());
            }
        }
    }
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = bytes.split_off(end + 4);
    let head = String::from_utf8(bytes).unwrap();
    let mut seen = Seen { head, body: Value::Null };
    let length: usize = seen.header("content-length").unwrap().parse().unwrap();
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    seen.body = serde_json::from_slice(&body).unwrap();
    Some(seen)
}
