//! The server on the daemon's socket: who may connect, the greeting, requests and answers.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::time::Duration;

use anyhook_model::RecordId;
use anyhook_model::daemon::{
    Hello, PROTOCOL_VERSION, PublishedEvent, RefusalCode, Request, Response,
};
use anyhook_socket::frame::FrameError;
use anyhook_socket::{DaemonFolder, peer};
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::core::{CoreMessage, FollowStart, refusal};
use crate::frame;
use crate::page_server::{PageRequest, PageServer};

/// How many connections may be open at once; others wait.
const CONNECTIONS: usize = 2048;
/// How long a client may take to send its greeting.
const GREETING: Duration = Duration::from_secs(5);
/// How often the socket file is checked.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How many events may wait for a follower; one that is further behind is dropped. Several portions
/// of the journal: the events of a portion arrive at once.
const FOLLOWER_QUEUE: usize = 8192;

/// Creates the socket, accessible only to the current user. One left by an earlier daemon is
/// removed: only one process can hold the store's lock.
pub fn listen(folder: &DaemonFolder) -> io::Result<UnixListener> {
    let path = folder.socket();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Ends the daemon when its socket is gone or was replaced: no client could reach it any more.
pub async fn watch_socket(folder: DaemonFolder, messages: mpsc::Sender<CoreMessage>) {
    let inode = || std::fs::symlink_metadata(folder.socket()).map(|metadata| metadata.ino()).ok();
    let ours = inode();
    while ours.is_some() && inode() == ours {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    tracing::warn!("the socket is gone");
    let _ = messages.send(CoreMessage::Stop).await;
}

/// Accepts connections until the loop has ended; at most as many at once as there are file
/// descriptors for them.
pub async fn serve(
    listener: UnixListener,
    messages: mpsc::Sender<CoreMessage>,
    page: Option<Arc<dyn PageServer>>,
    files: usize,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS.min(files)));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Most likely out of file descriptors: some will become free.
                    tracing::warn!("cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = messages.closed() => return,
        };
        let (messages, page) = (messages.clone(), page.clone());
        tokio::spawn(async move {
            let _place = place;
            // An error on a connection only ends that connection.
            if let Err(error) = talk(stream, messages, page).await {
                tracing::debug!("a connection ended: {error}");
            }
        });
    }
}

async fn talk(
    mut stream: UnixStream,
    messages: mpsc::Sender<CoreMessage>,
    page: Option<Arc<dyn PageServer>>,
) -> Result<(), FrameError> {
    if !peer::is_ours(&stream) {
        tracing::warn!("rejected a connection from another user's process");
        return Ok(());
    }
    let greeting = tokio::time::timeout(GREETING, frame::receive::<Hello>(&mut stream));
    let Ok(hello) = greeting.await else { return Ok(()) };
    let hello = hello?;
    frame::send(&mut stream, &Hello::ours()).await?;
    if hello.protocol != PROTOCOL_VERSION {
        return Ok(());
    }
    loop {
        let request = match frame::receive::<Request>(&mut stream).await {
            Ok(request) => request,
            Err(FrameError::NotJson(error)) => {
                let refused = refusal(RefusalCode::BadRequest, &error.to_string());
                frame::send(&mut stream, &Response::Refused(refused)).await?;
                continue;
            }
            Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        match request {
            Request::Stop => {
                let _ = messages.send(CoreMessage::Stop).await;
                // The answer is the end of the connection: the store is closed by then.
                messages.closed().await;
                return frame::send(&mut stream, &Response::Done).await;
            }
            Request::Follow { after, since } => {
                let from = match (after, since) {
                    (Some(after), _) => FollowStart::After(after),
                    (None, Some(since)) => FollowStart::Since(since),
                    (None, None) => FollowStart::Now,
                };
                return follow(stream, &messages, from).await;
            }
            Request::Ask(ask) => {
                let id = ask.inquiry.id.clone();
                let Some(answer) = wait(&mut stream, &messages, Request::Ask(ask), id).await?
                else {
                    return Ok(());
                };
                frame::send(&mut stream, &answer).await?;
            }
            request => {
                // The loop knows whether the caller is a person; the page is not its concern.
                let for_page = PageRequest::of(&request);
                let (answer, answered) = oneshot::channel();
                let message = CoreMessage::Request(request, peer::process(&stream), answer);
                if messages.send(message).await.is_err() {
                    return Ok(());
                }
                let Ok(answer) = answered.await else { return Ok(()) };
                let answer = match for_page {
                    Some(request) if answer == Response::Done => {
                        ask_page(page.as_deref(), request).await
                    }
                    _ => answer,
                };
                match frame::send(&mut stream, &answer).await {
                    Err(FrameError::TooLong(length)) => {
                        let why = format!("the answer is too long ({length} bytes)");
                        let refused = Response::Refused(refusal(RefusalCode::Busy, &why));
                        frame::send(&mut stream, &refused).await?;
                    }
                    sent => sent?,
                }
            }
        }
    }
}

async fn ask_page(page: Option<&dyn PageServer>, request: PageRequest) -> Response {
    let Some(page) = page else {
        let why = "this program was built without the page";
        return Response::Refused(refusal(RefusalCode::BadRequest, why));
    };
    match request {
        PageRequest::Open(open) => match page.open(open).await {
            Ok(link) => Response::Page(link),
            Err(refused) => Response::Refused(refused),
        },
        PageRequest::OpenLan(open) => match page.open_lan(open).await {
            Ok(lan) => Response::Lan(lan),
            Err(refused) => Response::Refused(refused),
        },
        PageRequest::Pair(pair) => match page.pair(pair).await {
            Ok(state) => Response::Pairing(state),
            Err(refused) => Response::Refused(refused),
        },
        PageRequest::Close => {
            page.close().await;
            Response::Done
        }
    }
}

/// Waits for a person's answer; `None` if the process that asked is gone, which is reported to the
/// loop.
async fn wait(
    stream: &mut UnixStream,
    messages: &mpsc::Sender<CoreMessage>,
    request: Request,
    id: RecordId,
) -> Result<Option<Response>, FrameError> {
    let (answer, mut answered) = oneshot::channel();
    if messages.send(CoreMessage::Request(request, peer::process(&*stream), answer)).await.is_err()
    {
        return Ok(None);
    }
    // The client must not send anything while it waits: if the stream is readable, it has
    // disconnected.
    let mut byte = [0];
    tokio::select! {
        answer = &mut answered => Ok(answer.ok()),
        _ = stream.read(&mut byte) => {
            drop(answered);
            let _ = messages.send(CoreMessage::Waived(id)).await;
            Ok(None)
        }
    }
}

async fn follow(
    mut stream: UnixStream,
    messages: &mpsc::Sender<CoreMessage>,
    from: FollowStart,
) -> Result<(), FrameError> {
    let (sender, mut told) = mpsc::channel::<PublishedEvent>(FOLLOWER_QUEUE);
    if messages.send(CoreMessage::Follow(from, sender)).await.is_err() {
        return Ok(());
    }
    let mut byte = [0];
    loop {
        tokio::select! {
            next = told.recv() => match next {
                Some(told) => frame::send(&mut stream, &Response::Told(Box::new(told))).await?,
                // Too slow, or it asked for what is no longer available.
                None => {
                    let refused = refusal(RefusalCode::Busy, "events were missed: request the state, then follow again");
                    return frame::send(&mut stream, &Response::Refused(refused)).await;
                }
            },
            _ = stream.read(&mut byte) => return Ok(()),
        }
    }
}
