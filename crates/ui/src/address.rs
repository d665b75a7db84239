//! The address of the page on this machine.
//!
//! Browsers send a cookie of `127.0.0.1` to every port of that address, so any other local server
//! that a person looks at would get it. The page therefore has an address of its own below
//! `127.0.0.0/8`, random and kept, and no other server is there by accident. Where only `127.0.0.1`
//! exists (macOS), that one is used.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use anyhook_engine::atomic_file::AtomicFile;
use ring::rand::{SecureRandom, SystemRandom};

/// Listens at the page's address: the one of last time, if nobody else is there.
///
/// `port` is what the settings want, or 0.
pub fn listen(kept: &Path, port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let before = std::fs::read_to_string(kept).ok().and_then(|text| text.trim().parse().ok());
    let before = before.filter(|address: &SocketAddr| is_own(address.ip()));
    let address = before.map_or_else(random, |address: SocketAddr| address.ip());
    let wanted = if port == 0 { before.map_or(0, |address| address.port()) } else { port };
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut tries = vec![(address, wanted)];
    if port == 0 {
        // Someone else has the port of last time.
        tries.push((address, 0));
    }
    tries.extend([(local, wanted), (local, port)]);
    let mut last = None;
    for (address, port) in tries {
        match TcpListener::bind((address, port)) {
            Ok(listener) => {
                let bound = listener.local_addr()?;
                // Next time it may be elsewhere then: only bookmarks suffer.
                let _ = AtomicFile::new(kept).replace(format!("{bound}\n").as_bytes());
                return Ok((listener, bound));
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other("there is no address")))
}

/// Returns whether an address is one of those that only this page uses.
fn is_own(address: IpAddr) -> bool {
    address.is_loopback() && address != IpAddr::V4(Ipv4Addr::LOCALHOST)
}

fn random() -> IpAddr {
    let mut bytes = [0; 3];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        return IpAddr::V4(Ipv4Addr::LOCALHOST);
    }
    // Neither the network's own address, nor its broadcast, nor those that systems use.
    let [one, two, three] = bytes.map(|byte| byte.clamp(2, 253));
    IpAddr::V4(Ipv4Addr::new(127, one, two, three))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_kept_and_is_no_other_servers() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("address");
        let (listener, first) = listen(&kept, 0).unwrap();
        assert!(is_own(first.ip()), "{first}");
        drop(listener);
        let (listener, again) = listen(&kept, 0).unwrap();
        assert_eq!(again, first);
        // The port is taken: another one of the same address.
        let (_other, moved) = listen(&kept, 0).unwrap();
        assert_eq!(moved.ip(), first.ip());
        assert_ne!(moved.port(), first.port());
        drop(listener);
    }

    #[test]
    fn what_is_in_the_file_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("address");
        for text in ["0.0.0.0:80", "192.168.1.1:8080", "[::]:1", "nonsense", ""] {
            std::fs::write(&kept, text).unwrap();
            let (_listener, address) = listen(&kept, 0).unwrap();
            assert!(address.ip().is_loopback(), "{text}: {address}");
        }
    }
}
