//! Cuts the network: the whole command is run again where there is none.
//!
//! On Linux a new network namespace has nothing but a loopback device that is down. `unshare` (of
//! util-linux) makes one, for a user other than root together with a user namespace.

use std::ffi::OsString;
use std::process::Command;

use crate::error::Trouble;

/// Says that this process was started by [`cut_network`].
const MARK: &str = "ANYHOOK_NETWORK_CUT";

/// What became of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// There is none here.
    Cut,
    /// It is as it was.
    Open,
    /// Another process did the work, and ended so.
    DoneElsewhere(u8),
}

/// Runs this command again without a network, unless there is none already.
pub fn cut_network() -> Result<Network, Trouble> {
    if is_cut() {
        return Ok(Network::Cut);
    }
    if std::env::var_os(MARK).is_some() {
        return Err(cannot("it is still there"));
    }
    let ways: &[&[&str]] = &[&["--net"], &["--user", "--map-root-user", "--net"]];
    let mut why = "`unshare` is not on this machine".to_owned();
    for way in ways {
        match Command::new("unshare").args(*way).arg("true").output() {
            Ok(output) if output.status.success() => return run_again(way),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().clone_into(&mut why),
            Err(_) => break,
        }
    }
    Err(cannot(&why))
}

fn run_again(way: &[&str]) -> Result<Network, Trouble> {
    let program = std::env::current_exe()?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let status = Command::new("unshare")
        .args(way)
        .arg("--")
        .arg(program)
        .args(arguments)
        .env(MARK, "1")
        .status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Network::DoneElsewhere(code.unwrap_or(anyhook_model::exit_code::FAULT)))
}

/// Tells whether there is no way out of this machine.
fn is_cut() -> bool {
    // Two lines of headings, then a line a device.
    std::fs::read_to_string("/proc/net/dev").is_ok_and(|devices| {
        devices.lines().skip(2).all(|line| line.trim_start().starts_with("lo:"))
    })
}

fn cannot(why: &str) -> Trouble {
    Trouble::problem(format!("the network cannot be cut on this machine: {why}")).hint(
        "--with-network tries the hooks with it; they then do for real what they do to others",
    )
}
