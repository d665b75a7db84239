//! The screens of agents that the daemon runs.

use anyhook_daemon::session::{Session, SessionError};
use anyhook_model::daemon::{Request, Response};
use anyhook_terminal::printable;

use crate::app::{App, blocking};
use crate::error::PageError;

/// Returns what is on an agent's screen; its last screen if it has ended.
pub async fn of_agent(app: &App, agent: &str) -> Result<String, PageError> {
    let request = Request::Session { agent: agent.to_owned() };
    let Response::Session(found) = app.ask(request).await? else {
        return Err(PageError::no_answer());
    };
    let Some(binary) = app.places.binary.clone() else { return Err(PageError::no_answer()) };
    let state = app.state.clone();
    blocking(move || {
        let session = Session {
            folder: found.folder.into(),
            name: found.name,
            binary,
            runtime: Session::runtime_folder(&state),
        };
        let seen = match session.screen() {
            Err(SessionError::NotThere(_)) => session.history(),
            seen => seen,
        };
        seen.map(|seen| printable(&seen))
            .map_err(|error| PageError::unknown("screen", &error.to_string()))
    })
    .await
}
