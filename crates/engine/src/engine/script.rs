//! Prepares and starts the script of a hook whose turn has come: its environment and time limit.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhook_model::json::shorten;
use anyhook_model::{RunOutcome, StdinForm};

use super::{Engine, OpenedEvent};
use crate::dispatch::{DueHook, RunResult};
use crate::places::nearest_existing;
use crate::run::environment::{Inherits, of_guard};
use crate::run::{ProcessCommand, ProcessRunner, detached};

/// A longer value would keep a script from starting at all.
const VARIABLE_LIMIT: usize = 4 * 1024;

/// The variable in which most agents name the project.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// A hook's process, ready to be started.
#[derive(Debug)]
pub struct PreparedScript {
    command: ProcessCommand,
    input: String,
    limit: Duration,
}

impl PreparedScript {
    /// Runs it to its end or its time limit. Blocks.
    pub fn run(&self) -> RunResult {
        ProcessRunner::default().run(&self.command, &self.input, self.limit)
    }
}

impl Engine {
    /// Builds the command of a hook whose turn has come.
    fn command(&self, due: &DueHook<'_>, more: &[(OsString, OsString)]) -> Option<ProcessCommand> {
        let DueHook { hook, event, spelling, .. } = due;
        let entry = hook.entry.as_ref()?;
        let root = hook.root.as_deref().or(event.project_dir.as_deref());
        let work_dir = nearest_existing(root.unwrap_or(&event.work_dir));
        let inherits = Inherits::of(hook);
        let mut environment = match &inherits {
            Inherits::Clean(named) => of_guard(&self.places, named),
            Inherits::All | Inherits::AllButCode => Vec::new(),
        };
        environment.reserve(10 + more.len());
        let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
        let text = |value: &str| OsString::from(shorten(&value.replace('\0', ""), VARIABLE_LIMIT));
        set("ANYHOOK_EVENT", text(event.kind.name(*spelling)));
        set("ANYHOOK_HOOK_NAME", text(hook.name()));
        set("ANYHOOK_HOOK_DIR", hook.runs_from.clone().into());
        set("ANYHOOK_PROJECT_DIR", work_dir.clone().into());
        set("ANYHOOK_SESSION_ID", text(event.session.as_deref().unwrap_or("")));
        set("ANYHOOK_HOST", text(&event.host));
        if let Some(binary) = self.binary() {
            set("ANYHOOK_BIN", binary.into());
        }
        // A hook that reads the agent's own payload finds its files as the agent says, too.
        if hook.definition.stdin != StdinForm::Native || !inherits.passes_on(PROJECT_VARIABLE) {
            set(PROJECT_VARIABLE, work_dir.clone().into());
        }
        if let Some(tool) = &event.tool {
            set("ANYHOOK_TOOL", text(&tool.name));
        }
        environment.extend_from_slice(more);
        Some(ProcessCommand::new(entry, work_dir, inherits, environment))
    }

    /// Prepares a hook whose turn has come, for a driver that starts it itself.
    pub fn prepare(
        &self,
        due: &DueHook<'_>,
        left: Option<Duration>,
    ) -> Result<PreparedScript, RunResult> {
        self.prepare_with(due, left, &[])
    }

    fn prepare_with(
        &self,
        due: &DueHook<'_>,
        left: Option<Duration>,
        more: &[(OsString, OsString)],
    ) -> Result<PreparedScript, RunResult> {
        let Some(command) = self.command(due, more) else {
            return Err(RunResult::not_started("no script to run"));
        };
        let timeout = Duration::from_millis(due.hook.definition.timeout_ms);
        let limit = left.map_or(timeout, |left| left.min(timeout));
        if limit.is_zero() {
            return Err(RunResult::not_started("the caller's deadline has passed"));
        }
        let input = due.input().map_err(RunResult::not_started)?;
        Ok(PreparedScript { command, input, limit })
    }

    pub(super) fn run(
        &self,
        due: &DueHook<'_>,
        left: Option<Duration>,
        more: &[(OsString, OsString)],
    ) -> RunResult {
        if let Some(tell) = self.tell_run {
            tell(due.hook.name());
        }
        match self.prepare_with(due, left, more) {
            Ok(PreparedScript { command, input, limit }) => {
                self.runner.run(&command, &input, limit)
            }
            Err(result) => result,
        }
    }

    /// Starts a hook that runs in the background.
    pub(super) fn detach(&self, due: &DueHook<'_>, opened: &OpenedEvent) -> RunResult {
        let began = Instant::now();
        if let Some(signal) = self.interrupted() {
            return RunResult {
                outcome: RunOutcome::Interrupted(signal),
                ..RunResult::not_started("")
            };
        }
        let Some(command) = self.command(due, &[]) else {
            return RunResult::not_started("no script to run");
        };
        let input = match due.input() {
            Ok(input) => input,
            Err(why) => return RunResult::not_started(why),
        };
        let job = detached::DetachedJob {
            command,
            input,
            limit_ms: due.hook.definition.timeout_ms,
            stdout: due.hook.definition.stdout,
            state: self.places.state.clone().map(PathBuf::into_os_string),
            journal: opened.settings.journal(&self.places, opened.hooks.root.as_deref()),
            record: Self::background_record(due, opened.id()),
        };
        let Some(binary) = self.binary() else {
            return RunResult::not_started("no anyhook program to supervise it");
        };
        match detached::launch(binary, &job) {
            Ok(()) => RunResult {
                outcome: RunOutcome::Detached,
                took: began.elapsed(),
                ..RunResult::not_started("")
            },
            Err(error) => RunResult::not_started(format!("cannot start its supervisor: {error}")),
        }
    }
}
