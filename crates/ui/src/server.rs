//! Serves the page in a thread of its own, from when it is asked for until nobody uses it.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhook_daemon::page_server::{CoreHandle, Later, PageServer};
use anyhook_engine::Places;
use anyhook_model::daemon::{
    LanPage, OpenLan, OpenPage, PageLink, PairDevice, PairingState, PairingStep, Refusal,
    RefusalCode,
};
use axum::Router;
use axum::middleware;
use axum::routing::get;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;

use crate::app::{self, App};
use crate::devices::DeviceStore;
use crate::guard::Gate;
use crate::lan::{Lan, LanError, LanOptions};
use crate::listener::{Listener, Reach};
use crate::pairing::Pairings;
use crate::refusals::RefusalLimit;
use crate::sessions::{LINK_LIFE, Sessions};
use crate::tokens::TokenStore;
use crate::usage::Usage;
use crate::{address, api, assets, guard, live, views};

/// The files that are read at the same time; each takes a thread.
const READERS: usize = 2;
/// A page that was only asked for is closed when nobody has used it for this long.
const UNUSED: Duration = Duration::from_secs(60 * 60);
/// How long a terminal waits for one answer about a pairing; then it asks again.
const PAIRING_PATIENCE: Duration = Duration::from_secs(5);

/// What the page is served with.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// Where things are.
    pub places: Places,
    /// Whether it is served as long as the daemon runs.
    pub is_enabled: bool,
    /// The port; any if 0.
    pub port: u16,
    /// How it is served in the network.
    pub lan: LanOptions,
}

/// The page. It is not served until someone asks for it.
pub struct Page {
    options: PageOptions,
    core: OnceLock<CoreHandle>,
    served: Mutex<Option<Served>>,
}

/// The page while it is served.
struct Served {
    app: Arc<App>,
    address: SocketAddr,
    close: watch::Sender<bool>,
    thread: JoinHandle<()>,
    runtime: Handle,
    lan: Option<Lan>,
}

impl Page {
    /// Creates a page that is not served yet.
    pub fn new(options: PageOptions) -> Self {
        Self { options, core: OnceLock::new(), served: Mutex::new(None) }
    }

    fn served(&self) -> MutexGuard<'_, Option<Served>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves the page, unless it is served already, and makes a link.
    fn link(&self, request: &OpenPage) -> Result<PageLink, Refusal> {
        let mut served = self.served();
        let served = self.begun(&mut served)?;
        let link = served.app.sessions().new_link(&request.by);
        let link = link.map_err(|error| no_page(&error.to_string()))?;
        let address = format!("http://{}/", served.address);
        let path = request.path.as_deref().filter(|path| is_path(path));
        let to = path.map(|path| format!("&to={path}")).unwrap_or_default();
        let link = format!("{address}enter?code={}{to}", link.text());
        Ok(PageLink { link, address, seconds: LINK_LIFE.as_secs() })
    }

    /// Serves the page, unless it is served already.
    fn begun<'served>(
        &self,
        served: &'served mut Option<Served>,
    ) -> Result<&'served mut Served, Refusal> {
        if served.as_ref().is_none_or(|served| served.thread.is_finished()) {
            *served = Some(self.serve().map_err(|error| no_page(&error.to_string()))?);
        }
        served.as_mut().ok_or_else(|| no_page("it has ended"))
    }

    /// Serves the page in the network, unless it is served there as wanted; begins a pairing.
    fn serve_lan(&self, request: &OpenLan) -> Result<LanPage, Refusal> {
        let address = match &request.address {
            Some(text) => Some(text.parse().map_err(|_| Refusal {
                code: RefusalCode::BadRequest,
                ..no_page("this is not an address")
            })?),
            None => self.options.lan.address,
        };
        let port = request.port.unwrap_or(self.options.lan.port);
        let wanted = LanOptions { address, port, ..self.options.lan };
        let mut served = self.served();
        let served = self.begun(&mut served)?;
        served.serve_lan(wanted).map_err(|error| {
            let hint = error.hint();
            Refusal { hint, ..no_page(&error.to_string()) }
        })?;
        let Some(lan) = &served.lan else { return Err(no_page("it has ended")) };
        let (address, fingerprint) = (format!("https://{}/", lan.address), lan.fingerprint());
        let pairings = &served.app.pairings;
        let pairing = if request.pair {
            Some(pairings.begin(&address, &fingerprint, &request.by, Instant::now())?)
        } else {
            None
        };
        Ok(LanPage { address, fingerprint, pairing })
    }

    /// Continues a pairing.
    async fn continue_pairing(&self, request: PairDevice) -> Result<PairingState, Refusal> {
        let app = self.served().as_ref().map(|served| Arc::clone(&served.app));
        let app = app.ok_or_else(|| no_page("it is not served"))?;
        let PairDevice { id, step, by: _ } = request;
        Ok(match step {
            PairingStep::Wait => app.pairings.wait(&id, PAIRING_PATIENCE).await?,
            PairingStep::Confirm { code } => {
                app.pairings.confirm(&id, &code, &app.devices, Instant::now())?
            }
            PairingStep::Cancel => app.pairings.cancel(&id)?,
        })
    }

    fn serve(&self) -> io::Result<Served> {
        let core = self.core.get().cloned().ok_or_else(|| io::Error::other("it has not begun"))?;
        let places = self.options.places.clone();
        let state = places.state.clone().ok_or_else(|| io::Error::other("no state folder"))?;
        let folder = app::folder(&state);
        make_folder(&folder)?;
        let (listener, address) = address::listen(&folder.join("address"), self.options.port)?;
        listener.set_nonblocking(true)?;
        let (close, closing) = watch::channel(false);
        let app = Arc::new(App {
            core,
            places,
            sessions: Mutex::new(Sessions::load(folder.join("sessions.json"))),
            tokens: TokenStore::new(folder.join("tokens.json")),
            devices: DeviceStore::new(folder.join("devices.json")),
            pairings: Pairings::default(),
            nonces: Mutex::default(),
            refusals: RefusalLimit::default(),
            strangers: RefusalLimit::default(),
            state,
            used: Usage::default(),
            devices_used: Usage::default(),
            closing,
        });
        let is_kept = self.options.is_enabled;
        let running = Arc::clone(&app);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(READERS)
            .thread_name("page-reader")
            .build()?;
        let handle = runtime.handle().clone();
        let local = Listener { reach: Reach::ThisMachine, authority: address.to_string() };
        let thread = std::thread::Builder::new().name("page".to_owned()).spawn(move || {
            let listens = runtime.block_on(run(listener, local, running, is_kept));
            if let Err(error) = listens {
                tracing::warn!("the page has ended: {error}");
            }
            // Requests that read files are not waited for.
            runtime.shutdown_background();
        })?;
        tracing::info!("the page is at http://{address}/");
        let mut served = Served { app, address, close, thread, runtime: handle, lan: None };
        if self.options.lan.is_enabled
            && let Err(error) = served.serve_lan(self.options.lan)
        {
            tracing::warn!("the page is not served in the network: {error}");
        }
        Ok(served)
    }

    fn end(&self) {
        let Some(served) = self.served().take() else { return };
        served.app.sessions().clear();
        served.app.pairings.clear();
        if let Some(lan) = &served.lan {
            lan.end();
        }
        let _ = served.close.send(true);
        // The address must be free when this returns.
        let _ = served.thread.join();
    }
}

impl Served {
    /// Serves the page in the network, unless it is served there as wanted.
    fn serve_lan(&mut self, wanted: LanOptions) -> Result<(), LanError> {
        if self.lan.as_ref().is_some_and(|lan| lan.serves(wanted)) {
            return Ok(());
        }
        if let Some(before) = self.lan.take() {
            before.end();
        }
        let (app, folder) = (Arc::clone(&self.app), app::folder(&self.app.state));
        let routes = |listener| router(app, listener);
        self.lan = Some(Lan::serve(wanted, &folder, &self.app, &self.runtime, routes)?);
        Ok(())
    }
}

/// Serves until the daemon stops, or the page is closed or unused.
async fn run(
    listener: TcpListener,
    local: Listener,
    app: Arc<App>,
    is_kept: bool,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut closing = app.closing.clone();
    tokio::select! {
        ended = axum::serve(listener, router(Arc::clone(&app), local)) => ended,
        () = app.core.stopped() => Ok(()),
        _ = closing.wait_for(|closing| *closing) => Ok(()),
        () = app.used.unused_for(UNUSED), if !is_kept => Ok(()),
    }
}

fn router(app: Arc<App>, listener: Listener) -> Router {
    let pages = views::routes()
        .merge(views::ways_in(&listener))
        .route("/live", get(live::changes))
        .merge(assets::routes());
    let gate = Gate { app: Arc::clone(&app), listener };
    pages
        .nest("/api/v1", api::router())
        .fallback(views::nothing_here)
        .layer(middleware::from_fn_with_state(gate, guard::check))
        .with_state(app)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn no_page(why: &str) -> Refusal {
    Refusal {
        code: RefusalCode::NotNow,
        message: format!("cannot serve the page: {why}"),
        hint: None,
    }
}

/// Returns whether a text is the path of a page, and nothing else.
pub fn is_path(path: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.:".contains(&byte);
    path.starts_with('/') && !path.starts_with("//") && path.bytes().all(is_usual)
}

impl PageServer for Page {
    fn begin(&self, core: CoreHandle) {
        // It begins once.
        let _ = self.core.set(core);
        if !self.options.is_enabled {
            return;
        }
        match self.serve() {
            Ok(served) => *self.served() = Some(served),
            Err(error) => tracing::warn!("the page cannot be served: {error}"),
        }
    }

    fn open(&self, request: OpenPage) -> Later<'_, Result<PageLink, Refusal>> {
        Box::pin(async move { self.link(&request) })
    }

    fn open_lan(&self, request: OpenLan) -> Later<'_, Result<LanPage, Refusal>> {
        Box::pin(async move { self.serve_lan(&request) })
    }

    fn pair(&self, request: PairDevice) -> Later<'_, Result<PairingState, Refusal>> {
        Box::pin(self.continue_pairing(request))
    }

    fn close(&self) -> Later<'_, ()> {
        Box::pin(async move { self.end() })
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Page").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(served) = self.served().take() {
            let _ = served.close.send(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_page_of_ours() {
        for good in ["/", "/decisions/7k2m9x4q", "/agents/claude-code:1-2"] {
            assert!(is_path(good), "{good}");
        }
        for bad in ["", "decisions", "//evil.example", "/a?b", "/a#b", "/a b", "/\u{e9}", "/a\n"] {
            assert!(!is_path(bad), "{bad}");
        }
    }
}
