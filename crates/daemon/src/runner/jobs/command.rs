//! Runs jobs that are a command: steps, gates, and the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhook_flow::JobId;
use anyhook_flow::pipeline::{JobContext, JobResult, JobWork};
use anyhook_model::pipeline::WorkspaceKind;

use super::JobRunner;
use crate::launch;
use crate::task::{self, TASK_VERSION, Task, TaskStatus};

/// How many bytes of the end of a command's output are stored and reported.
const OUTPUT: usize = 4_096;

impl JobRunner {
    pub(super) fn run_shell(&self, context: &JobContext) -> JobResult {
        let Some(shell) = context.shell() else { return failed("there is no such step") };
        let cwd = PathBuf::from(&context.plan.workspace.root);
        let task = Task {
            timeout_ms: shell.timeout_ms,
            ..self.task(context, &shell.run.text, shell.run.values.clone(), cwd)
        };
        self.run_task(context, &task)
    }

    pub(super) fn run_gate(&self, context: &JobContext, run: &str, timeout_ms: u64) -> JobResult {
        let Some(plan) = context.agent_plan() else { return failed("there is no such agent") };
        let cwd = PathBuf::from(&context.plan.workspace.root);
        let mut values = plan.gate_values.clone();
        values
            .extend(context.agent.iter().map(|agent| ("ANYHOOK_AGENT".to_owned(), agent.clone())));
        let timeout_ms = Some(timeout_ms);
        self.run_task(context, &Task { timeout_ms, ..self.task(context, run, values, cwd) })
    }

    pub(super) fn make_workspace(&self, context: &JobContext) -> JobResult {
        let workspace = &context.plan.workspace;
        let text = match workspace.kind {
            WorkspaceKind::None => return JobResult::Done { note: None },
            WorkspaceKind::Folder => r#"mkdir -p -- "$PARENT" && mkdir -- "$ROOT""#,
            WorkspaceKind::Worktree => {
                r#"mkdir -p -- "$PARENT" &&
                git -C "$PROJECT" worktree add -q -b "$BRANCH" -- "$ROOT" "$BASE""#
            }
        };
        done_if_it_went_well(self.run_in_project(context, text))
    }

    pub(super) fn remove_workspace(&self, context: &JobContext) -> JobResult {
        let text = match context.plan.workspace.kind {
            WorkspaceKind::None => return JobResult::Done { note: None },
            WorkspaceKind::Folder => r#"rm -rf -- "$ROOT""#,
            // Fails if the worktree has uncommitted changes.
            WorkspaceKind::Worktree => r#"git -C "$PROJECT" worktree remove -- "$ROOT""#,
        };
        done_if_it_went_well(self.run_in_project(context, text))
    }

    fn run_in_project(&self, context: &JobContext, text: &str) -> JobResult {
        let workspace = &context.plan.workspace;
        let parent = Path::new(&workspace.root).parent().unwrap_or(Path::new("/"));
        let text_of = |value: &Option<String>, default: &str| {
            value.clone().unwrap_or_else(|| default.to_owned())
        };
        let values = [
            ("ROOT", workspace.root.clone()),
            ("PARENT", parent.to_string_lossy().into_owned()),
            ("PROJECT", context.plan.project.clone()),
            ("BRANCH", text_of(&workspace.branch, "")),
            ("BASE", text_of(&workspace.base, "HEAD")),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        let cwd = PathBuf::from(&context.plan.project);
        self.run_task(context, &self.task(context, text, values, cwd))
    }

    /// Creates a task with the variables that all commands of a pipeline get.
    pub(super) fn task(
        &self,
        context: &JobContext,
        text: &str,
        values: BTreeMap<String, String>,
        cwd: PathBuf,
    ) -> Task {
        let plan = &context.plan;
        let mut variables: BTreeMap<String, String> = [
            ("ANYHOOK_PIPELINE_ID", plan.id.to_string()),
            ("ANYHOOK_PIPELINE", plan.name.clone()),
            ("ANYHOOK_WORKSPACE", plan.workspace.root.clone()),
            ("ANYHOOK_STEP", context.step.clone().unwrap_or_default()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        variables.extend(values);
        Task {
            v: TASK_VERSION,
            text: text.to_owned(),
            arguments: Vec::new(),
            variables,
            environment: self.folders().environment(&plan.id),
            cwd,
            timeout_ms: None,
            terminal: false,
        }
    }

    /// Runs a task, unless it was already started, and waits for its end.
    fn run_task(&self, context: &JobContext, task: &Task) -> JobResult {
        let folder = self.folders().job(&context.id());
        let begun = match task::status(&folder) {
            Ok(TaskStatus::NotBegun) => {
                task::prepare(&folder, task).and_then(|()| task::begin(&folder, &self.binary))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        let result = match begun.and_then(|()| task::wait(&folder)) {
            Ok(status) => result(&folder, &status),
            Err(error) => JobResult::Failed { why: error.to_string() },
        };
        forget_values(&folder);
        result
    }

    /// Ends a job and all processes that it has started.
    pub(super) fn end(&self, context: &JobContext) -> JobResult {
        let Some(job) = &context.ends else { return JobResult::Done { note: None } };
        let id = JobId { number: job.number, ..context.id() };
        let folder = self.folders().job(&id);
        let has_session = matches!(job.work, JobWork::Agent { .. }) && context.session.is_some();
        // Whatever the state of its session, its supervisor is told.
        if !(has_session && self.session(&id).end().is_ok())
            && let Err(error) = task::stop(&folder)
        {
            return JobResult::Failed { why: error.to_string() };
        }
        match task::wait(&folder) {
            Ok(_) => JobResult::Done { note: None },
            Err(error) => JobResult::Failed { why: error.to_string() },
        }
    }
}

/// Removes a command's parameters once it is over: they may contain secrets.
pub(super) fn forget_values(folder: &Path) {
    // If it cannot be removed, only the current user can read it, and it is removed with the
    // pipeline.
    let _ = std::fs::remove_file(folder.join("task.json"));
    let _ = launch::forget(&folder.join("settings"));
}

/// Returns the result of a task.
pub(super) fn result(folder: &Path, status: &TaskStatus) -> JobResult {
    match status {
        // It was killed from outside, and may have done any part of its work.
        TaskStatus::Ended(ended) if ended.killed => JobResult::InDoubt,
        TaskStatus::Ended(ended) => match &ended.why {
            Some(why) => JobResult::Failed { why: why.clone() },
            None => JobResult::Exited {
                code: ended.code,
                timed_out: ended.timed_out,
                // Output that cannot be read is not reported.
                output: task::output_end(folder, OUTPUT).unwrap_or_default(),
            },
        },
        TaskStatus::InDoubt => {
            // If a person decides to run it again, it must not run twice at the same time.
            match task::end_leftovers(folder) {
                Ok(true) => {}
                Ok(false) => tracing::warn!("parts of `{}` may still be running", folder.display()),
                Err(error) => tracing::warn!("parts of it may still be running: {error}"),
            }
            JobResult::InDoubt
        }
        TaskStatus::NotBegun | TaskStatus::Running(_) => failed("it was not started"),
    }
}

fn done_if_it_went_well(result: JobResult) -> JobResult {
    match result {
        JobResult::Exited { code: Some(0), .. } => JobResult::Done { note: None },
        JobResult::Exited { output, .. } => {
            let why = output.trim();
            failed(if why.is_empty() { "its command failed" } else { why })
        }
        other => other,
    }
}

pub(super) fn failed(why: &str) -> JobResult {
    JobResult::Failed { why: why.to_owned() }
}
