//! Runs the agent of a step: started in a session, waited for, ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use anyhook_flow::JobId;
use anyhook_flow::pipeline::{JobContext, JobResult, JobWork};
use anyhook_hosts::wiring::SettingsScope;
use anyhook_model::daemon::{RefusalCode, Response};
use anyhook_model::pipeline::AgentPlan;
use tokio::sync::oneshot;

use super::JobRunner;
use super::command::{failed, forget_values, result};
use super::screen::ScreenWatch;
use crate::core::refusal;
use crate::launch::{self, LaunchAdditions, LaunchWarning};
use crate::session::Session;
use crate::task::{self, Task, TaskStatus};

/// How often an agent is restarted without a pause.
const QUICK_LIVES: u32 = 3;
/// In seconds.
const LONGEST_PAUSE: u64 = 30;

/// The prompt of an agent that is resumed, if none is given.
const GO_ON: &str = "Continue where you left off.";

impl JobRunner {
    /// Starts an agent, unless an earlier daemon has, and waits for its end.
    pub(super) fn run_agent(&self, context: &JobContext) -> JobResult {
        let (Some(plan), Some(agent)) = (context.agent_plan(), &context.agent) else {
            return failed("there is no such agent");
        };
        let folder = self.folders().job(&context.id());
        let session = self.session(&context.id());
        if matches!(task::status(&folder), Ok(TaskStatus::NotBegun)) {
            thread::sleep(pause(&context.job.work));
        }
        match task::status(&folder) {
            Ok(TaskStatus::NotBegun) => match self.start_agent(context, plan, agent, &session) {
                Ok((warning, to_type)) => self.tell_started(context, warning, to_type),
                Err(why) => return JobResult::Failed { why },
            },
            // It was started, but the daemon that started it was killed before it could record
            // that.
            Ok(_) if context.session != Some(context.job.number) => {
                self.tell_started(context, None, None);
            }
            Ok(_) => {}
            Err(error) => return JobResult::Failed { why: error.to_string() },
        }
        let watch = ScreenWatch::begin(self, agent, plan, &session);
        let status = task::wait(&folder);
        watch.end();
        forget_values(&folder);
        match status {
            Ok(status) => result(&folder, &status),
            Err(error) => JobResult::Failed { why: error.to_string() },
        }
    }

    fn tell_started(&self, context: &JobContext, warning: Option<String>, to_type: Option<String>) {
        let started = JobResult::Started { warning, to_type };
        self.tell(context.id(), started);
    }

    fn start_agent(
        &self,
        context: &JobContext,
        plan: &AgentPlan,
        agent: &str,
        session: &Session,
    ) -> Result<(Option<String>, Option<String>), String> {
        Session::check().map_err(|error| error.to_string())?;
        let prompt = prompt(context, plan);
        let mut variables = self.environment(context)?;
        variables.extend(plan.env.clone());
        let home = variables.get("HOME").map(PathBuf::from).or(self.home.clone());
        let home = home.unwrap_or_else(|| PathBuf::from("/"));
        let user = SettingsScope {
            config_home: home.join(".config"),
            home,
            project: None,
            variables: BTreeMap::new(),
        };
        let start = launch::AgentLaunch {
            agent_id: agent,
            host: plan.host.as_deref(),
            run: &plan.run.text,
            folder: Path::new(&plan.cwd),
            variables: &variables,
            prompt: prompt.as_deref().filter(|_| !plan.places_prompt),
            resume: context.resume.as_deref(),
            state: Some(&self.state),
        };
        let own = session.folder.join("settings");
        let LaunchAdditions { arguments, to_type, variables: given, warning, .. } =
            launch::prepare(&start, &user, &self.binary, &own)
                .map_err(|error| format!("cannot write its settings: {error}"))?;
        let run = format!("{} \"$@\"", plan.run.text.trim_end());
        let mut task = self.task(context, &run, plan.run.values.clone(), PathBuf::from(&plan.cwd));
        task.variables.extend(plan.env.clone());
        task.variables.extend(given);
        task.variables.insert("ANYHOOK_PROMPT".to_owned(), prompt.unwrap_or_default());
        let task = Task { arguments, terminal: true, ..task };
        task::prepare(&session.folder, &task).map_err(|error| error.to_string())?;
        session.start().map_err(|error| error.to_string())?;
        let warning = warning.map(|LaunchWarning { text, hint }| format!("{text}\nhint: {hint}"));
        Ok((warning, to_type))
    }

    /// Returns the environment of a pipeline's commands.
    fn environment(&self, context: &JobContext) -> Result<BTreeMap<String, String>, String> {
        let file = self.folders().environment(&context.plan.id);
        let bytes = fs::read(&file).map_err(|error| format!("`{}`: {error}", file.display()))?;
        serde_json::from_slice(&bytes).map_err(|error| format!("`{}`: {error}", file.display()))
    }

    /// Kills an agent in the background, and answers the client that requested it.
    pub fn kill(&self, job: &JobId, answer: oneshot::Sender<Response>) {
        let session = self.session(job);
        thread::spawn(move || {
            let response = match session.end() {
                Ok(()) => Response::Done,
                Err(error) => Response::Refused(refusal(RefusalCode::NotNow, &error.to_string())),
            };
            let _ = answer.send(response);
        });
    }
}

/// Returns how long to wait before restarting an agent that has died repeatedly.
fn pause(work: &JobWork) -> Duration {
    let JobWork::Agent { life, .. } = work else { return Duration::ZERO };
    Duration::from_secs(u64::from(life.saturating_sub(QUICK_LIVES)).min(LONGEST_PAUSE))
}

/// Returns the prompt that an agent is started with.
fn prompt(context: &JobContext, plan: &AgentPlan) -> Option<String> {
    let JobWork::Agent { message, append, .. } = &context.job.work else { return None };
    // It still knows its first prompt.
    let own = if context.resume.is_some() { Some(GO_ON) } else { plan.prompt.as_deref() };
    match (own, message) {
        (own, None) => own.map(str::to_owned),
        (Some(own), Some(message)) if *append && context.resume.is_none() => {
            Some(format!("{own}\n\n{message}"))
        }
        (_, Some(message)) => Some(message.clone()),
    }
}
