//! Tells browsers at once that something has changed. What they show, they request anew.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhook_daemon::page_server::PublishedEvent;
use axum::Extension;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_core::Stream;
use tokio::sync::{mpsc, watch};
use tokio::time::Interval;

use crate::app::App;
use crate::devices::DeviceStore;
use crate::error::PageError;
use crate::guard::Caller;

/// How often a stream on which nothing happens says that it is alive.
const ALIVE: Duration = Duration::from_secs(15);
/// How often it is looked whether a device that follows is still paired.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The events of the daemon as a stream that ends with the page.
pub struct EventStream<F> {
    told: mpsc::Receiver<PublishedEvent>,
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    first: Option<Event>,
    make: F,
    /// Whether whoever follows may still do so; looked at from time to time.
    admission: Option<Admission>,
    /// While it is there, the page is in use.
    _use: Arc<()>,
}

/// A device that follows, as long as it is paired.
struct Admission {
    devices: DeviceStore,
    device: String,
    looks: Interval,
    /// While it is there, a device uses the page.
    _use: Arc<()>,
}

impl Admission {
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let mut is_time = false;
        while self.looks.poll_tick(context).is_ready() {
            is_time = true;
        }
        is_time && self.is_revoked()
    }

    fn is_revoked(&self) -> bool {
        !self.devices.has(&self.device)
    }
}

impl<F> EventStream<F> {
    /// Follows the daemon. `first` is sent at once; `make` turns what has happened since into one
    /// event.
    pub fn new(
        app: &App,
        told: mpsc::Receiver<PublishedEvent>,
        first: Option<Event>,
        make: F,
    ) -> Self {
        let closing = Box::pin(closed(app.closing.clone()));
        Self { told, closing, first, make, admission: None, _use: app.used.hold() }
    }

    /// Ends the stream as soon as a device that follows is removed.
    #[must_use]
    pub fn while_admitted(mut self, app: &App, caller: &Caller) -> Self {
        self.admission = caller.device().map(|device| Admission {
            devices: app.devices.clone(),
            device: device.id.clone(),
            looks: tokio::time::interval(LOOK_EVERY),
            _use: app.devices_used.hold(),
        });
        self
    }
}

async fn closed(mut closing: watch::Receiver<bool>) {
    // An error means that the server is gone.
    let _ = closing.wait_for(|closing| *closing).await;
}

impl<F> std::fmt::Debug for EventStream<F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EventStream").finish_non_exhaustive()
    }
}

impl<F: FnMut(Vec<PublishedEvent>) -> Event + Unpin> Stream for EventStream<F> {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if self.closing.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        if self.admission.as_mut().is_some_and(|admission| admission.is_over(context)) {
            return Poll::Ready(None);
        }
        let mut told = Vec::new();
        match self.told.poll_recv_many(context, &mut told, 256) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(0) => Poll::Ready(None),
            Poll::Ready(_) if self.admission.as_ref().is_some_and(Admission::is_revoked) => {
                Poll::Ready(None)
            }
            Poll::Ready(_) => Poll::Ready(Some(Ok((self.make)(told)))),
        }
    }
}

/// Keeps a stream of events alive where nothing happens for long.
pub fn alive<S>(stream: S) -> impl IntoResponse + use<S>
where
    S: Stream<Item = Result<Event, Infallible>> + Send + 'static,
{
    Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE))
}

/// What the page follows: which parts have changed.
pub async fn changes(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<impl IntoResponse, PageError> {
    // First follow, then look: nothing that happens in between is missed.
    let told = app.core.follow(None).await;
    let status = app.status().await?;
    let first = Event::default().event("hello").data(format!("{} {}", status.pid, status.events));
    let stream = EventStream::new(&app, told, Some(first), |told: Vec<PublishedEvent>| {
        Event::default().event("change").data(topics(&told).join(" "))
    });
    Ok(alive(stream.while_admitted(&app, &caller)))
}

/// Returns which parts of the page events are about.
fn topics(told: &[PublishedEvent]) -> Vec<&'static str> {
    let of_event = |told: &PublishedEvent| {
        let name = told.event.type_name();
        match name.split(':').next().unwrap_or_default() {
            "decision" => ["decisions", "agents"].as_slice(),
            "pipeline" | "step" | "shell" | "timer" | "workspace" => &["pipelines"],
            _ => &["agents"],
        }
    };
    let all: BTreeSet<&str> = told.iter().flat_map(of_event).copied().chain(["journal"]).collect();
    all.into_iter().collect()
}
