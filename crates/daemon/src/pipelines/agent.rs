//! An agent of a step: started in a session, waited for, ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use anyhook_flow::pipeline::{JobResult, JobWork};
use anyhook_hosts::wiring::Scope;
use anyhook_model::daemon::{RefusalCode, Response};
use anyhook_model::pipeline::{AgentPlan, SessionKind, SessionView};
use tokio::sync::oneshot;

use super::command::{failed, forget_values, result};
use super::screen::Watch;
use super::{Order, Worker};
use crate::core::refusal;
use crate::launch::{self, Additions, Warning};
use crate::session::{self, Place};
use crate::task::{self, Stand, Task};

/// So often an agent is started again at once.
const QUICK_LIVES: u32 = 3;
/// In seconds.
const LONGEST_PAUSE: u64 = 30;

/// What an agent that is taken up again is told, if nobody says anything else.
const GO_ON: &str = "Go on where you stopped.";

impl Worker {
    /// Starts an agent, unless an earlier daemon has, and waits for its end.
    pub(super) fn run_agent(&self, order: &Order) -> JobResult {
        let (Some(plan), Some(agent)) = (order.agent_plan(), &order.agent) else {
            return failed("there is no such agent");
        };
        let folder = self.folders().job(&order.plan.id, order.job.number);
        let known = order.session.filter(|(job, _)| *job == order.job.number);
        let kind = known.map(|(_, kind)| kind).or(plan.session).unwrap_or_else(session::best);
        let place = self.place(&folder);
        if matches!(task::stand(&folder), Ok(Stand::NotBegun)) {
            thread::sleep(pause(&order.job.work));
        }
        match task::stand(&folder) {
            Ok(Stand::NotBegun) => match self.start_agent(order, plan, agent, kind, &place) {
                Ok((warning, to_type)) => self.tell_started(order, kind, warning, to_type),
                Err(why) => return JobResult::Failed { why },
            },
            // It was begun, and whoever began it was killed before it could say so.
            Ok(_) if known.is_none() => self.tell_started(order, kind, None, None),
            Ok(_) => {}
            Err(error) => return JobResult::Failed { why: error.to_string() },
        }
        let watch = Watch::begin(self, agent, plan, kind, &place);
        let stand = task::wait(&folder);
        watch.end();
        forget_values(&folder);
        match stand {
            Ok(stand) => result(&folder, &stand),
            Err(error) => JobResult::Failed { why: error.to_string() },
        }
    }

    fn tell_started(
        &self,
        order: &Order,
        session: SessionKind,
        warning: Option<String>,
        to_type: Option<String>,
    ) {
        let started = JobResult::Started { session, warning, to_type };
        self.tell(&order.plan.id, order.job.number, started);
    }

    fn start_agent(
        &self,
        order: &Order,
        plan: &AgentPlan,
        agent: &str,
        kind: SessionKind,
        place: &Place,
    ) -> Result<(Option<String>, Option<String>), String> {
        let sessions = session::of_kind(kind);
        sessions.check().map_err(|error| error.to_string())?;
        let prompt = prompt(order, plan);
        let mut variables = self.environment(order)?;
        variables.extend(plan.env.clone());
        let home = variables.get("HOME").map(PathBuf::from).or(self.home.clone());
        let home = home.unwrap_or_else(|| PathBuf::from("/"));
        let user = Scope {
            config_home: home.join(".config"),
            home,
            project: None,
            variables: BTreeMap::new(),
        };
        let start = launch::Start {
            agent_id: agent,
            host: plan.host.as_deref(),
            run: &plan.run.text,
            folder: Path::new(&plan.cwd),
            variables: &variables,
            prompt: prompt.as_deref().filter(|_| !plan.places_prompt),
            resume: order.resume.as_deref(),
            state: Some(&self.state),
        };
        let own = place.folder.join("settings");
        let Additions { arguments, to_type, variables: given, warning, .. } =
            launch::prepare(&start, &user, &self.binary, &own)
                .map_err(|error| format!("its settings cannot be written: {error}"))?;
        let run = format!("{} \"$@\"", plan.run.text.trim_end());
        let mut task = self.task(order, &run, plan.run.values.clone(), PathBuf::from(&plan.cwd));
        task.variables.extend(plan.env.clone());
        task.variables.extend(given);
        task.variables.insert("ANYHOOK_PROMPT".to_owned(), prompt.unwrap_or_default());
        let task = Task { arguments, terminal: true, ..task };
        task::prepare(&place.folder, &task).map_err(|error| error.to_string())?;
        sessions.start(place).map_err(|error| error.to_string())?;
        let warning = warning.map(|Warning { text, hint }| format!("{text}\nhint: {hint}"));
        Ok((warning, to_type))
    }

    /// Returns the environment of a pipeline's commands.
    fn environment(&self, order: &Order) -> Result<BTreeMap<String, String>, String> {
        let file = self.folders().environment(&order.plan.id);
        let bytes = fs::read(&file).map_err(|error| format!("`{}`: {error}", file.display()))?;
        serde_json::from_slice(&bytes).map_err(|error| format!("`{}`: {error}", file.display()))
    }

    /// Returns where the session of a job is.
    pub(super) fn place(&self, folder: &Path) -> Place {
        Place::of_job(folder, &self.state, &self.binary)
    }

    pub(super) fn end_session(
        &self,
        order: &Order,
        job: u32,
        kind: SessionKind,
    ) -> Result<(), String> {
        let place = self.place(&self.folders().job(&order.plan.id, job));
        session::of_kind(kind).end(&place).map_err(|error| error.to_string())
    }

    /// Ends an agent aside, for whoever wants it.
    pub fn kill(&self, session: &SessionView, answer: oneshot::Sender<Response>) {
        let place = self.place(Path::new(&session.folder));
        let sessions = session::of_kind(session.kind);
        thread::spawn(move || {
            let response = match sessions.end(&place) {
                Ok(()) => Response::Done,
                Err(error) => Response::Refused(refusal(RefusalCode::NotNow, &error.to_string())),
            };
            let _ = answer.send(response);
        });
    }
}

impl Place {
    /// Names the place of the session of a pipeline's job.
    pub fn of_job(folder: &Path, state: &Path, binary: &Path) -> Self {
        let part = |path: Option<&Path>| {
            path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned())
        };
        // PIPELINE/jobs/NUMBER
        let pipeline = part(folder.parent().and_then(Path::parent)).unwrap_or_default();
        let job = part(Some(folder)).unwrap_or_default();
        Self {
            folder: folder.to_owned(),
            name: format!("{pipeline}-{job}"),
            binary: binary.to_owned(),
            runtime: state.join("daemon").join("run"),
        }
    }
}

/// Returns how long to wait before an agent is started that has died again and again.
fn pause(work: &JobWork) -> Duration {
    let JobWork::Agent { life, .. } = work else { return Duration::ZERO };
    Duration::from_secs(u64::from(life.saturating_sub(QUICK_LIVES)).min(LONGEST_PAUSE))
}

/// Returns what an agent is told to do when it is started.
fn prompt(order: &Order, plan: &AgentPlan) -> Option<String> {
    let JobWork::Agent { message, append, .. } = &order.job.work else { return None };
    // What it was told at first it still knows.
    let own = if order.resume.is_some() { Some(GO_ON) } else { plan.prompt.as_deref() };
    match (own, message) {
        (own, None) => own.map(str::to_owned),
        (Some(own), Some(message)) if *append && order.resume.is_none() => {
            Some(format!("{own}\n\n{message}"))
        }
        (_, Some(message)) => Some(message.clone()),
    }
}
