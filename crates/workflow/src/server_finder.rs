//! Help from MCP servers: how they are found and waited for, which the caller decides.

use anyhook_mcp::{Server, ServerFailure, SessionLimits, StopHandle};

/// Finds MCP servers, and waits for them.
pub trait ServerFinder {
    /// Finds a server by its name, in the files that count.
    fn find(&self, name: &str) -> Result<Server, ServerFailure>;

    /// Does what a server with this name is asked for. It may take long: who waits can be told so,
    /// and can end it by `stop`.
    fn wait(&self, name: &str, stop: &StopHandle, work: &mut (dyn FnMut() + Send));
}

/// Asks a server within limits that the caller can end early.
pub(crate) fn ask<T: Send>(
    servers: &dyn ServerFinder,
    name: &str,
    deadline: std::time::Duration,
    work: impl Fn(&Server, SessionLimits) -> T + Sync,
) -> Result<T, ServerFailure> {
    let server = servers.find(name)?;
    let stop = StopHandle::default();
    let limits = SessionLimits { deadline, stop: stop.clone(), ..SessionLimits::default() };
    let mut answer = None;
    servers.wait(name, &stop, &mut || answer = Some(work(&server, limits.clone())));
    answer.ok_or_else(|| ServerFailure {
        reason: format!("the server `{name}` was not asked"),
        hint: "ask again".to_owned(),
    })
}
