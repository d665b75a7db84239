//! Tests that need the real static binary: that all of it works without a C library, and that hooks
//! are started the cheap way.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::super::package::{NAME, PROGRAMS};
use super::account::{Account, fed};
use crate::{process, tools};

/// Tests the installed archive's programs.
pub fn try_out(account: &Account) -> Result<()> {
    let programs = account.place("home/.local/bin");
    let anyhook = programs.join(NAME);
    process::output(account.command(&anyhook).arg("demo"))?;
    daemon(account, &anyhook)?;
    PROGRAMS.into_iter().try_for_each(|name| spawn(account, &programs.join(name)).context(name))
}

/// Checks that the daemon starts, answers and stops.
fn daemon(account: &Account, anyhook: &Path) -> Result<()> {
    let ask = |what: &str| process::output(account.command(anyhook).args(["daemon", what]));
    ask("start")?;
    let status = ask("status");
    // It must not outlive us, whatever it answered.
    ask("stop")?;
    let status = status?;
    if !status.starts_with("daemon running") {
        bail!("`daemon status` says: {status}");
    }
    if ask("status").is_ok() {
        bail!("the daemon runs after `daemon stop`");
    }
    Ok(())
}

/// Checks that a hook's script is started without a copy of the process: with static musl, the
/// standard library has the function for that only if the linker included it.
fn spawn(account: &Account, program: &Path) -> Result<()> {
    let Some(strace) = tools::on_path("strace") else {
        println!("strace is not here: how hooks are started was not looked at");
        return Ok(());
    };
    let calls = account.place("calls");
    let mut command = account.command(strace);
    command.args(["-f", "-e", "trace=process", "-o"]).arg(&calls);
    command.arg(program).args(["hook", "agent-hooks"]);
    let event = json!({
        "event_type": "before_tool",
        "tool_name": "Shell",
        "tool_input": {"command": "mkfs /dev/sda"},
        "cwd": account.place("project"),
        "session_id": "trial",
    });
    let ended = fed(&mut command, &event)?;
    if ended.status.code() != Some(2) {
        println!("strace may not look at processes here: {ended:?}");
        return Ok(());
    }
    let calls = fs::read_to_string(calls)?;
    let mut starts = calls.lines().filter(|line| line.contains("clone") || line.contains("fork("));
    if !starts.clone().any(|line| line.contains("CLONE_VFORK")) {
        bail!("a hook was not started by vfork: {}", starts.next().unwrap_or("by nothing at all"));
    }
    Ok(())
}
