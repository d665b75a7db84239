//! Notifications on the desktop. Where the desktop supports buttons, a person can answer with them.
//!
//! We do not call `gdbus`, which would put an agent's text into a language of its own, nor
//! `notify-send`, which is often missing or too old for buttons.
//!
//! `bus` speaks D-Bus. That requires a large dependency, so it is behind the feature `desktop`;
//! `absent` replaces it in a build without it.

#[cfg(not(feature = "desktop"))]
mod absent;
#[cfg(feature = "desktop")]
mod bus;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[cfg(not(feature = "desktop"))]
pub use absent::{DesktopNotification, show};
#[cfg(feature = "desktop")]
pub use bus::{DesktopNotification, show};

/// Whether this build can show notices on the desktop.
pub const IS_BUILT_IN: bool = cfg!(feature = "desktop");

/// Returns the address of a bus whose socket is at `path`.
pub fn bus_at(path: &Path) -> String {
    let mut address = "unix:path=".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-_/.".contains(byte) {
            address.push(char::from(*byte));
        } else {
            address.push_str(&format!("%{byte:02x}"));
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_an_address() {
        assert_eq!(bus_at(Path::new("/run/user/0/bus")), "unix:path=/run/user/0/bus");
        assert_eq!(bus_at(Path::new("/a b,c;d")), "unix:path=/a%20b%2cc%3bd");
    }
}
