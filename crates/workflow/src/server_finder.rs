//! Finding MCP servers and waiting for them, which the caller implements.

use anyhook_mcp::{Server, ServerFailure, SessionLimits, StopHandle};

/// Finds MCP servers, and waits for them.
pub trait ServerFinder {
    /// Finds a server by its name, in the configuration files that apply.
    fn find(&self, name: &str) -> Result<Server, ServerFailure>;

    /// Runs a request to the server with this name. It may take long: the implementation can show
    /// that to the user, and can end it through `stop`.
    fn wait(&self, name: &str, stop: &StopHandle, work: &mut (dyn FnMut() + Send));
}

/// Queries a server within limits; the caller can end it early.
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
