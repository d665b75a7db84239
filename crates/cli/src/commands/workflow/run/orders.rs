//! What `workflow run` has the daemon do: begin, end and tell of pipelines.
//!
//! The daemon may be away for a moment; what it was told before is then known to the next one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhook_daemon::{Client, ClientError, Folder};
use anyhook_model::daemon::{
    DecisionView, PipelineOrder, RefusalCode, Request, Response, RunPipeline,
};
use anyhook_model::pipeline::{PipelineView, Plan};

use crate::daemon::{folder, start};
use crate::environment::{Environment, person, variables_for_agents};
use crate::error::Trouble;

/// The daemon answers within this time, or is started.
const PATIENCE: Duration = Duration::from_secs(10);
/// It may be away for so long before that is told.
const AWAY: Duration = Duration::from_secs(20);

/// Gives orders to the daemon.
#[derive(Debug)]
pub struct Orders<'all> {
    environment: &'all Environment,
    folder: Folder,
    away_since: Option<Instant>,
}

impl<'all> Orders<'all> {
    pub fn new(environment: &'all Environment) -> Result<Self, Trouble> {
        Ok(Self { environment, folder: folder(&environment.places)?, away_since: None })
    }

    /// Asks the daemon; starts it if it does not run. None if it is away, and only for a moment.
    fn request(&mut self, request: &Request) -> Result<Option<Response>, Trouble> {
        let places = &self.environment.places;
        let client = Client::connect_or(&self.folder, PATIENCE, || {
            start(places.binary.as_deref(), &self.folder)
        });
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

    /// Returns every pipeline; none if the daemon is away.
    pub fn pipelines(&mut self) -> Result<Option<Vec<PipelineView>>, Trouble> {
        match self.request(&Request::Pipelines)? {
            Some(Response::Pipelines(pipelines)) => Ok(Some(pipelines)),
            Some(_) => Err(ClientError::NoAnswer.into()),
            None => Ok(None),
        }
    }

    /// Returns every decision; none if the daemon is away.
    pub fn decisions(&mut self) -> Result<Option<Vec<DecisionView>>, Trouble> {
        match self.request(&Request::Decisions)? {
            Some(Response::Decisions(decisions)) => Ok(Some(decisions)),
            Some(_) => Err(ClientError::NoAnswer.into()),
            None => Ok(None),
        }
    }

    /// Begins a pipeline. None if the daemon is away: it may have begun all the same.
    pub fn begin(&mut self, plan: Plan) -> Result<Option<PipelineView>, Trouble> {
        let environment = variables_for_agents(self.environment);
        let run = RunPipeline { plan, environment, by: person() };
        match self.request(&Request::RunPipeline(Box::new(run)))? {
            Some(Response::Pipeline(pipeline)) => Ok(Some(*pipeline)),
            Some(_) => Err(ClientError::NoAnswer.into()),
            None => Ok(None),
        }
    }

    /// Ends a pipeline before it is done.
    pub fn cancel(&mut self, pipeline: &PipelineView) -> Result<(), Trouble> {
        let order = PipelineOrder {
            id: pipeline.id.to_string(),
            step: None,
            environment: BTreeMap::new(),
            by: format!("{} (workflow run)", person()),
        };
        let places = &self.environment.places;
        let client = Client::connect_or(&self.folder, PATIENCE, || {
            start(places.binary.as_deref(), &self.folder)
        });
        let request = Request::CancelPipeline(order);
        match client.and_then(|mut client| client.request(&request)) {
            // It is over, or is being cancelled.
            Err(ClientError::Refused(refusal)) if refusal.code == RefusalCode::NotNow => Ok(()),
            Err(error) if !error.may_pass() => Err(error.into()),
            // If it was not heard, it is said again.
            _ => Ok(()),
        }
    }
}
