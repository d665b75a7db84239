//! The peer of a socket: only processes of the same user are accepted.

use std::os::fd::AsFd;

/// Returns the process id of the peer, where the system reports it.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn process(socket: impl AsFd) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// Other systems do not report it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn process(socket: impl AsFd) -> Option<u32> {
    let _ = socket;
    None
}

/// Returns whether the peer belongs to the same user.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn is_ours(socket: impl AsFd) -> bool {
    let ours = rustix::process::geteuid();
    rustix::net::sockopt::socket_peercred(socket).is_ok_and(|peer| peer.uid == ours)
}

/// Other systems rely on the permissions of the socket and its folder.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn is_ours(socket: impl AsFd) -> bool {
    let _ = socket;
    true
}
