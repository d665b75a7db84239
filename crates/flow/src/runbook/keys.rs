//! Every key that a runbook may have, by what it is a key of.

/// Of the whole.
pub const RUNBOOK: &[&str] = &["pipeline", "agent"];
/// Of the whole, of versions to come.
pub const LATER: &[&str] = &["queue", "worker", "cron"];
/// Of a pipeline.
pub const PIPELINE: &[&str] =
    &["vars", "locals", "workspace", "notify", "step", "on_done", "on_fail", "on_cancel"];
/// Of a variable.
pub const VARIABLE: &[&str] = &["default", "required", "description"];
/// Of a workspace.
pub const WORKSPACE: &[&str] = &["kind", "path", "branch", "base", "keep"];
/// Of what a person is told.
pub const NOTIFY: &[&str] = &["on_start", "on_done", "on_fail", "on_cancel"];
/// Of a step.
pub const STEP: &[&str] = &["name", "run", "timeout", "on_done", "on_fail", "on_cancel"];
/// Of a step's `run`, if it is no text.
pub const RUN: &[&str] = &["agent"];
/// Of where a step leads.
pub const NEXT: &[&str] = &["step"];
/// Of an agent.
pub const AGENT: &[&str] = &[
    "run",
    "prompt",
    "prompt_file",
    "env",
    "cwd",
    "host",
    "session",
    "on_idle",
    "on_prompt",
    "on_dead",
    "on_error",
    "on_stop",
];
