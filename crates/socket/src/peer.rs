//! Who is at the other end of a socket: only the user's own processes are spoken to.

use std::os::fd::AsFd;

/// Returns the number of the process at the other end, where the system tells.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn process(socket: impl AsFd) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// Elsewhere it is not told.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn process(socket: impl AsFd) -> Option<u32> {
    let _ = socket;
    None
}

/// Tells whether the process at the other end is the user's own.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn is_ours(socket: impl AsFd) -> bool {
    let ours = rustix::process::geteuid();
    rustix::net::sockopt::socket_peercred(socket).is_ok_and(|peer| peer.uid == ours)
}

/// Elsewhere the rights of the socket and its folder must do.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn is_ours(socket: impl AsFd) -> bool {
    let _ = socket;
    true
}
