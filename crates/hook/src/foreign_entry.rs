//! Which agent called: some agents also run the hooks in the settings of others, so that an entry of
//! one agent may be run by another.

use std::env;

use anyhook_hosts::{Protocol, runners_of};
use anyhook_model::{ForeignEntry, Host};

/// Returns whether a variable is set.
pub fn is_set(name: &str) -> bool {
    env::var_os(name).is_some()
}

/// Returns the host that reads the payload and encodes the reply, and whose entry was run by whom,
/// if those are two agents. `host` is the one that the entry names.
///
/// A variable alone proves nothing: a hook's command may start another agent, which inherits it, and
/// a project may set it. So only a payload in the form of the other agent makes a call foreign. A call
/// of an agent without a form of its own is handled as one of the agent that the entry names: twice, if
/// it has an entry of its own, but never by nobody.
pub fn find(
    host: &'static dyn Host,
    payload: &[u8],
    has_variable: impl Fn(&str) -> bool,
) -> (&'static dyn Host, Option<Box<ForeignEntry>>) {
    let is_own = |runner: &&'static Protocol| runner.codec.is_own(payload) == Some(true);
    match runners_of(host.id(), has_variable).into_iter().find(is_own) {
        Some(runner) => (runner, Some(Box::new(entry(host, runner)))),
        None => (host, None),
    }
}

fn entry(host: &dyn Host, runner: &Protocol) -> ForeignEntry {
    ForeignEntry { of: host.id().to_owned(), run_by: runner.id.to_owned() }
}
