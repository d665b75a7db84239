//! The page in the network: encrypted, for paired devices, and only while it is asked for.
//!
//! Whoever is in the network can connect, so everything about a connection is bounded: how many
//! there are, in all and of one machine, and how long a handshake, a head and a body may take. They
//! are served by the page's own thread: the daemon's loop knows nothing of them.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhook_engine::atomic_file::AtomicFile;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use jiff::Timestamp;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::app::App;
use crate::certificate::Certificate;
use crate::listener::{Listener, Reach};

/// How many connections may be open at once; more are closed at once.
const CONNECTIONS: usize = 64;
/// How many of one machine.
const CONNECTIONS_OF_ONE: usize = 16;
/// How long a handshake may take, and the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what was sent may wait to be received.
#[cfg(target_os = "linux")]
const UNRECEIVED: Duration = Duration::from_secs(30);
/// How often the certificate is looked at: is it time to renew it?
const RENEWAL_CHECK: Duration = Duration::from_secs(6 * 60 * 60);
/// It is closed when no device has used it for this long, unless settings keep it.
const UNUSED: Duration = Duration::from_secs(60 * 60);

/// How the page is served in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LanOptions {
    /// Whether it is served as long as the page is.
    pub is_enabled: bool,
    /// The address of this machine; the one that leads to the network, if absent.
    pub address: Option<IpAddr>,
    /// The port; that of last time if 0.
    pub port: u16,
}

/// Why the page is not served in the network.
#[derive(Debug, thiserror::Error)]
pub enum LanError {
    /// This machine is in no network.
    #[error("this machine has no address in a network")]
    NoNetwork,
    /// Everyone could connect.
    #[error("{0} is a public address")]
    Public(IpAddr),
    /// It is not the address of one network.
    #[error("{0} is not the address of this machine in a network")]
    NoAddress(IpAddr),
    /// It cannot be served there.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The certificate cannot be made or used.
    #[error("no certificate: {0}")]
    Certificate(io::Error),
}

impl LanError {
    /// Returns the next step.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoNetwork => Some("anyhook ui --lan --address ADDRESS".to_owned()),
            Self::Public(address) => Some(format!(
                "anyhook ui --lan --address {address}, if whoever can reach it may try"
            )),
            Self::Listen(..) => Some("anyhook ui --lan --port N".to_owned()),
            Self::NoAddress(_) | Self::Certificate(_) => None,
        }
    }
}

/// The page while it is served in the network.
#[derive(Debug)]
pub struct Lan {
    /// Where.
    pub address: SocketAddr,
    fingerprint: watch::Receiver<String>,
    close: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Lan {
    /// Serves the page. `router` makes its routes for a listener.
    pub fn serve(
        options: LanOptions,
        folder: &Path,
        app: &Arc<App>,
        runtime: &Handle,
        router: impl FnOnce(Listener) -> Router,
    ) -> Result<Self, LanError> {
        let (listener, address) = listen(options, &folder.join("lan-address"))?;
        let file = folder.join("certificate.json");
        let certificate = Certificate::kept_or_new(&file, address.ip(), Timestamp::now())
            .map_err(LanError::Certificate)?;
        let acceptor = certificate.encryption().map_err(LanError::Certificate)?.into();
        let authority = address.to_string();
        let router = router(Listener { reach: Reach::Network, authority });
        let (shown, fingerprint) = watch::channel(certificate.fingerprint());
        let (close, closing) = watch::channel(false);
        app.devices_used.now();
        let door = Door {
            app: Arc::clone(app),
            router,
            acceptor,
            certificate: file,
            fingerprint: shown,
            address: address.ip(),
            is_kept: options.is_enabled,
        };
        let task = runtime.spawn(async move {
            if let Err(error) = door.run(listener, closing).await {
                tracing::warn!("the page in the network has ended: {error}");
            }
        });
        tracing::info!("the page is in the network at https://{address}/");
        Ok(Self { address, fingerprint, close, task })
    }

    /// Returns the SHA-256 of its certificate.
    pub fn fingerprint(&self) -> String {
        self.fingerprint.borrow().clone()
    }

    /// Returns whether it is served, and as wanted.
    pub fn serves(&self, options: LanOptions) -> bool {
        let has_address = options.address.is_none_or(|address| address == self.address.ip());
        let has_port = options.port == 0 || options.port == self.address.port();
        !self.task.is_finished() && has_address && has_port
    }

    /// Stops it, with every connection.
    pub fn end(&self) {
        let _ = self.close.send(true);
        // Its port must be free for the next one.
        self.task.abort();
    }
}

/// What new connections need.
struct Door {
    app: Arc<App>,
    router: Router,
    acceptor: TlsAcceptor,
    certificate: PathBuf,
    fingerprint: watch::Sender<String>,
    address: IpAddr,
    is_kept: bool,
}

impl Door {
    async fn run(
        mut self,
        listener: TcpListener,
        mut closing: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut connections = JoinSet::new();
        let mut of_one = HashMap::<IpAddr, usize>::new();
        let mut renewal = tokio::time::interval(RENEWAL_CHECK);
        let app = Arc::clone(&self.app);
        let unused = app.devices_used.unused_for(UNUSED);
        tokio::pin!(unused);
        // What is left of connections ends with the set.
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((stream, peer)) = accepted else {
                        // Most likely out of file descriptors: some will become free.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    };
                    let peer = peer.ip();
                    let known = of_one.entry(peer).or_default();
                    if connections.len() >= CONNECTIONS || *known >= CONNECTIONS_OF_ONE {
                        continue;
                    }
                    *known += 1;
                    let (acceptor, router) = (self.acceptor.clone(), self.router.clone());
                    connections.spawn(async move {
                        talk(stream, acceptor, router).await;
                        peer
                    });
                }
                Some(ended) = connections.join_next() => {
                    if let Ok(peer) = ended
                        && let Some(known) = of_one.get_mut(&peer)
                    {
                        *known -= 1;
                        if *known == 0 {
                            of_one.remove(&peer);
                        }
                    }
                }
                _ = renewal.tick() => self.renew(),
                () = closed(&mut closing) => return Ok(()),
                () = &mut unused, if !self.is_kept => return Ok(()),
            }
        }
    }

    /// Renews the certificate, if it is time; phones then warn once.
    fn renew(&mut self) {
        let kept = Certificate::kept_or_new(&self.certificate, self.address, Timestamp::now());
        match kept.and_then(|kept| Ok((kept.encryption()?, kept.fingerprint()))) {
            Ok((encryption, fingerprint)) => {
                self.acceptor = encryption.into();
                self.fingerprint.send_replace(fingerprint);
            }
            Err(error) => tracing::warn!("the certificate cannot be renewed: {error}"),
        }
    }
}

async fn closed(closing: &mut watch::Receiver<bool>) {
    // An error means that the page is gone.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Serves one connection. Whatever goes wrong ends only this one.
async fn talk(stream: TcpStream, acceptor: TlsAcceptor, router: Router) {
    // If these fail, the consequences are latency, and a connection that is open for longer.
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = rustix::net::sockopt::set_tcp_user_timeout(
        &stream,
        u32::try_from(UNRECEIVED.as_millis()).unwrap_or(u32::MAX),
    );
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await else {
        return;
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = served.await {
        tracing::debug!("a connection from the network ended: {error}");
    }
}

/// Listens at the address that is wanted, or the one that leads to the network; at the port of last
/// time, if nobody else has it: a browser keeps a device's key for this very address and port.
fn listen(options: LanOptions, kept: &Path) -> Result<(TcpListener, SocketAddr), LanError> {
    let address = match options.address {
        Some(address) if address.is_unspecified() || address.is_multicast() => {
            return Err(LanError::NoAddress(address));
        }
        Some(address) => address,
        None => match own_address().ok_or(LanError::NoNetwork)? {
            address if is_private(address) => address,
            address => return Err(LanError::Public(address)),
        },
    };
    let before = std::fs::read_to_string(kept).ok().and_then(|text| text.trim().parse().ok());
    let before = before.map_or(0, |before: SocketAddr| before.port());
    let ports = if options.port == 0 { vec![before, 0] } else { vec![options.port] };
    let mut last = io::Error::other("no port");
    for port in ports {
        let wanted = SocketAddr::new(address, port);
        let bound = TcpListener::bind(wanted).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        match bound {
            Ok((bound, listener)) => {
                // Next time it may be elsewhere then: devices have to be paired again.
                let _ = AtomicFile::new(kept).replace(format!("{bound}\n").as_bytes());
                return Ok((listener, bound));
            }
            Err(error) => last = error,
        }
    }
    Err(LanError::Listen(SocketAddr::new(address, options.port), last))
}

/// Returns the address of this machine from which it reaches others. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    // Addresses of documents, which nobody has.
    let others: [(IpAddr, IpAddr); 2] = [
        (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(198, 51, 100, 1).into()),
        (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
    ];
    others.into_iter().find_map(|(any, other)| {
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect((other, 9)).ok()?;
        let own = socket.local_addr().ok()?.ip();
        (!own.is_unspecified() && !own.is_loopback()).then_some(own)
    })
}

/// Returns whether an address is one that only a network of one's own has.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_everyone_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("lan-address");
        for address in ["0.0.0.0", "::", "224.0.0.1"] {
            let address = Some(address.parse().unwrap());
            let refused = listen(LanOptions { address, ..LanOptions::default() }, &kept);
            assert!(matches!(refused, Err(LanError::NoAddress(_))), "{refused:?}");
        }
        for (address, private) in [
            ("10.1.2.3", true),
            ("192.168.1.1", true),
            ("172.16.0.1", true),
            ("172.32.0.1", false),
            ("8.8.8.8", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("fd00::1", true),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_private(address.parse().unwrap()), private, "{address}");
        }
    }

    #[test]
    fn the_port_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("lan-address");
        let address = Some(IpAddr::from([127, 0, 0, 2]));
        let options = LanOptions { address, ..LanOptions::default() };
        let (listener, first) = listen(options, &kept).unwrap();
        drop(listener);
        let (listener, again) = listen(options, &kept).unwrap();
        assert_eq!(again, first);
        // A port that was named is not replaced by another.
        let named = LanOptions { port: first.port(), ..options };
        assert!(matches!(listen(named, &kept), Err(LanError::Listen(..))));
        let (_other, moved) = listen(options, &kept).unwrap();
        assert_ne!(moved.port(), first.port());
        drop(listener);
    }
}
