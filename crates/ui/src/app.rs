//! What every request needs: the daemon's loop, the folders, who may come in.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhook_daemon::page_server::CoreHandle;
use anyhook_engine::Places;
use anyhook_engine::journal::Journal;
use anyhook_engine::settings::Settings;
use anyhook_model::StateDir;
use anyhook_model::approval_request::StandingAnswer;
use anyhook_model::daemon::{
    AgentView, DaemonStatus, DecisionView, Refusal, RefusalCode, Request, Response,
};
use anyhook_model::pipeline::{PipelineLine, PipelineView};
use tokio::sync::watch;

use crate::devices::DeviceStore;
use crate::error::PageError;
use crate::pairing::Pairings;
use crate::refusals::{NextRefusal, RefusalLimit};
use crate::sessions::Sessions;
use crate::signed::Nonces;
use crate::tokens::TokenStore;
use crate::usage::Usage;

/// The page while it is served.
#[derive(Debug)]
pub struct App {
    /// The daemon's loop.
    pub core: CoreHandle,
    /// Where things are.
    pub places: Places,
    /// The state folder.
    pub state: PathBuf,
    /// The browsers that may use the page.
    pub sessions: Mutex<Sessions>,
    /// The programs that may use the API.
    pub tokens: TokenStore,
    /// The devices that may use the page from the network.
    pub devices: DeviceStore,
    /// The device that is being paired.
    pub pairings: Pairings,
    /// The words that devices sign with their requests.
    pub nonces: Mutex<Nonces>,
    /// How many refusals of paired devices were journaled.
    pub refusals: RefusalLimit,
    /// How many refusals of others were: they must not use up what devices have.
    pub strangers: RefusalLimit,
    /// When the page was last used.
    pub used: Usage,
    /// When a device last used it.
    pub devices_used: Usage,
    /// `true` as soon as the page is closed: streams end then.
    pub closing: watch::Receiver<bool>,
}

impl App {
    /// Returns the sessions.
    pub fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the words that devices sign.
    pub fn nonces(&self) -> MutexGuard<'_, Nonces> {
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Journals that a request from the network was refused, unless there are too many.
    pub fn journal_refusal(&self, about: String, why: &str, limit: &RefusalLimit) {
        let why = match limit.next(Instant::now()) {
            NextRefusal::Journaled => why.to_owned(),
            NextRefusal::Last => format!("{why} (more refusals are not journaled for a while)"),
            NextRefusal::Dropped => return,
        };
        self.core.device_refused(about, why);
    }

    /// Returns the journal.
    pub fn journal(&self) -> Journal {
        let settings = Settings::load(&self.places, None);
        Journal::with(&self.state, settings.journal)
    }

    /// Sends a request to the daemon.
    pub async fn ask(&self, request: Request) -> Result<Response, PageError> {
        match self.core.request(request).await {
            Response::Refused(refusal) => Err(refusal.into()),
            response => Ok(response),
        }
    }

    /// Returns the daemon's status.
    pub async fn status(&self) -> Result<DaemonStatus, PageError> {
        match self.ask(Request::Status).await? {
            Response::Status(status) => Ok(*status),
            _ => Err(PageError::no_answer()),
        }
    }

    /// Returns every agent, those that wait for a person first.
    pub async fn agents(&self) -> Result<Vec<AgentView>, PageError> {
        match self.ask(Request::Agents).await? {
            Response::Agents(agents) => Ok(agents),
            _ => Err(PageError::no_answer()),
        }
    }

    /// Returns an agent by its id or name.
    pub async fn agent(&self, name: &str) -> Result<AgentView, PageError> {
        let agents = self.agents().await?;
        let is_it = |agent: &&AgentView| agent.id == name || agent.name.as_deref() == Some(name);
        let found = agents.iter().find(|agent| agent.id == name).or(agents.iter().find(is_it));
        found.cloned().ok_or_else(|| PageError::unknown("agent", name))
    }

    /// Returns every decision, oldest first.
    pub async fn decisions(&self) -> Result<Vec<DecisionView>, PageError> {
        match self.ask(Request::Decisions).await? {
            Response::Decisions(decisions) => Ok(decisions),
            _ => Err(PageError::no_answer()),
        }
    }

    /// Returns every answer that counts for the rest of a session.
    pub async fn standing(&self) -> Result<Vec<StandingAnswer>, PageError> {
        match self.ask(Request::Standing).await? {
            Response::Standing(answers) => Ok(answers),
            _ => Err(PageError::no_answer()),
        }
    }

    /// Returns every pipeline, the newest first.
    pub async fn pipelines(&self) -> Result<Vec<PipelineView>, PageError> {
        match self.ask(Request::Pipelines).await? {
            Response::Pipelines(mut pipelines) => {
                pipelines.sort_by_key(|pipeline| std::cmp::Reverse(pipeline.created));
                Ok(pipelines)
            }
            _ => Err(PageError::no_answer()),
        }
    }

    /// Returns a pipeline by its id.
    pub async fn pipeline(&self, id: &str) -> Result<PipelineView, PageError> {
        match self.ask(Request::Pipeline { id: id.to_owned() }).await? {
            Response::Pipeline(pipeline) => Ok(*pipeline),
            _ => Err(PageError::no_answer()),
        }
    }

    /// Returns the log of a pipeline after a line.
    pub async fn pipeline_log(&self, id: &str, after: u64) -> Result<Vec<PipelineLine>, PageError> {
        match self.ask(Request::PipelineLog { id: id.to_owned(), after }).await? {
            Response::PipelineLog(lines) => Ok(lines),
            _ => Err(PageError::no_answer()),
        }
    }

    /// Returns a decision by its id.
    pub async fn decision(&self, id: &str) -> Result<DecisionView, PageError> {
        let decisions = self.decisions().await?;
        let found = decisions.into_iter().find(|decision| decision.inquiry.id.as_str() == id);
        found.ok_or_else(|| PageError::unknown("decision", id))
    }
}

/// Returns the page's folder in the state folder.
pub fn folder(state: &Path) -> PathBuf {
    StateDir::new(state).ui()
}

/// Runs what reads files, where it delays nobody.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PageError> + Send + 'static,
) -> Result<T, PageError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(PageError::from(Refusal {
            code: RefusalCode::Busy,
            message: "the request was not carried out".to_owned(),
            hint: Some("anyhook daemon logs".to_owned()),
        })),
    }
}
