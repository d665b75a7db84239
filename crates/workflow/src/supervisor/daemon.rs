//! The supervisor's handle to the daemon: starts, ends and lists pipelines.
//!
//! The daemon may be away for a moment; the next one still knows what the previous one was told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhook_model::daemon::{
    DecisionView, PipelineRequest, RefusalCode, Request, Response, RunPipeline,
};
use anyhook_model::pipeline::{PipelinePlan, PipelineView};
use anyhook_socket::{ClientError, DaemonFolder};

use super::StartOptions;
use crate::caller::WorkflowCaller;
use crate::error::WorkflowError;

/// How long it may be away before that is reported.
const AWAY: Duration = Duration::from_secs(20);

/// The daemon, as the supervisor uses it.
#[derive(Debug)]
pub struct DaemonHandle<'all> {
    caller: &'all WorkflowCaller,
    options: &'all StartOptions,
    folder: DaemonFolder,
    away_since: Option<Instant>,
}

impl<'all> DaemonHandle<'all> {
    pub fn new(
        caller: &'all WorkflowCaller,
        options: &'all StartOptions,
    ) -> Result<Self, WorkflowError> {
        Ok(Self { caller, options, folder: caller.daemon_folder()?, away_since: None })
    }

    /// Sends a request to the daemon; starts it if it is not running. `None` if it is away, and
    /// only for a moment.
    fn request(&mut self, request: &Request) -> Result<Option<Response>, WorkflowError> {
        let client = self.caller.connect(&self.folder);
        match client.and_then(|mut client| client.request(request)) {
            Ok(response) => {
                self.away_since = None;
                Ok(Some(response))
            }
            Err(error) if error.may_pass() => {
                let since = *self.away_since.get_or_insert_with(Instant::now);
                if since.elapsed() > AWAY { Err(error.into()) } else { Ok(None) }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns every pipeline; `None` if the daemon is away.
    pub fn pipelines(&mut self) -> Result<Option<Vec<PipelineView>>, WorkflowError> {
        match self.request(&Request::Pipelines)? {
            Some(Response::Pipelines(pipelines)) => Ok(Some(pipelines)),
            Some(_) => Err(ClientError::NoAnswer.into()),
            None => Ok(None),
        }
    }

    /// Returns every decision; `None` if the daemon is away.
    pub fn decisions(&mut self) -> Result<Option<Vec<DecisionView>>, WorkflowError> {
        match self.request(&Request::Decisions)? {
            Some(Response::Decisions(decisions)) => Ok(Some(decisions)),
            Some(_) => Err(ClientError::NoAnswer.into()),
            None => Ok(None),
        }
    }

    /// Starts a pipeline. `None` if the daemon is away: it may still have been started.
    pub fn begin(&mut self, plan: PipelinePlan) -> Result<Option<PipelineView>, WorkflowError> {
        let environment = self.options.variables.clone();
        let run = RunPipeline { plan, environment, by: self.options.by.clone() };
        match self.request(&Request::RunPipeline(Box::new(run)))? {
            Some(Response::Pipeline(pipeline)) => Ok(Some(*pipeline)),
            Some(_) => Err(ClientError::NoAnswer.into()),
            None => Ok(None),
        }
    }

    /// Cancels a pipeline.
    pub fn cancel(&mut self, pipeline: &PipelineView) -> Result<(), WorkflowError> {
        let change = PipelineRequest {
            id: pipeline.id.to_string(),
            step: None,
            environment: BTreeMap::new(),
            by: format!("{} (workflow run)", self.options.by),
        };
        let client = self.caller.connect(&self.folder);
        let request = Request::CancelPipeline(change);
        match client.and_then(|mut client| client.request(&request)) {
            // It is over, or is being cancelled.
            Err(ClientError::Refused(refusal)) if refusal.code == RefusalCode::NotNow => Ok(()),
            Err(error) if !error.may_pass() => Err(error.into()),
            // If the request was lost, it is repeated.
            _ => Ok(()),
        }
    }
}
