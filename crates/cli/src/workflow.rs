//! Workflows for commands: the enclosing project, the event of a hook, and the MCP servers that
//! apply. Everything else is in `anyhook_workflow`.

use std::env;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::LazyLock;

use anyhook_hook::daemon_start::start_in_background;
use anyhook_mcp::{Server, ServerFailure, StopHandle};
use anyhook_model::exit_code;
use anyhook_workflow::caller::{WORKFLOW_AGENT, WORKFLOW_CONTEXT, WorkflowCaller};
use anyhook_workflow::error::WorkflowError;
use anyhook_workflow::event::HookEvent;
use anyhook_workflow::method::Method;
use anyhook_workflow::project::Project;
use anyhook_workflow::server_finder::ServerFinder;
use serde_json::json;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::progress::say_that_we_read;
use crate::ui::{Out, Tone, printable};
use crate::{mcp_servers, mcp_wait, packs};

/// The pack that contains the method.
const METHOD_PACK: &str = "delivery-workflow";
/// No event of an agent is larger than this.
const EVENT_LIMIT: u64 = 64 * 1024 * 1024;

/// Returns the method that comes with the program: the workflow of projects that have none of their
/// own, and schemas that others may name.
pub fn method() -> &'static Method {
    static METHOD: LazyLock<Method> = LazyLock::new(|| {
        let files = packs::workflow_files(METHOD_PACK);
        let text = files.iter().find(|(path, _)| *path == "workflow.toml");
        let schema = |path: &'static str| path.strip_prefix("schemas/")?.strip_suffix(".json");
        let schemas = files.iter().filter_map(|(path, text)| Some((schema(path)?, *text)));
        Method::new(text.map_or("", |(_, text)| text), schemas)
    });
    &METHOD
}

/// Returns the agent of a workflow that this session runs, and whether its prompt already has its
/// context.
pub fn workflow_agent() -> (Option<String>, bool) {
    let agent = env::var(WORKFLOW_AGENT).ok().filter(|agent| !agent.is_empty());
    (agent, env::var_os(WORKFLOW_CONTEXT).is_some())
}

/// Returns what a workflow needs to know of this process.
pub fn caller(environment: &Environment) -> WorkflowCaller {
    let (agent, is_started_by_run) = workflow_agent();
    WorkflowCaller {
        places: environment.places.clone(),
        work_dir: environment.work_dir.clone(),
        agent,
        session: environment.agent_id.clone().filter(|_| is_started_by_run),
        method: method(),
        start_daemon: start_in_background,
    }
}

/// Finds the enclosing project, with its own workflow, or the one that comes with anyhook.
pub fn find(environment: &Environment) -> Result<Project, CommandError> {
    Project::at(environment.project_root(), caller(environment))
        .map_err(|error| CommandError::of_workflow(error, environment))
}

/// Reads the event on standard input.
pub fn read_event() -> Result<HookEvent, CommandError> {
    say_that_we_read("the event");
    let mut bytes = Vec::new();
    io::stdin().lock().take(EVENT_LIMIT + 1).read_to_end(&mut bytes)?;
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        CommandError::input(format!("standard input is not an event: {error}"))
            .hint("`--event` is for hook scripts, which get their event on standard input")
    })?;
    Ok(HookEvent::of(value))
}

/// Returns the project and the workflow's agent that an event is about. Events that concern no
/// workflow are recognised before any file is read: whatever is wrong with a workflow, other agents
/// are not affected.
pub fn concerned(
    event: &HookEvent,
    environment: &Environment,
) -> Result<Option<(Project, String)>, CommandError> {
    let of_session = workflow_agent().0;
    let of_session = of_session.as_deref();
    if !event.is_of_subagent() && of_session.is_none() {
        return Ok(None);
    }
    let known = event.agent(method().definition(), of_session);
    match find(environment) {
        Ok(project) => {
            let agent = event.agent(&project.definition, of_session);
            Ok(agent.map(|agent| (project, agent)))
        }
        // A definition that cannot be read may name any agent; it is assumed to name those of the
        // default one.
        Err(trouble) if known.is_some() || of_session.is_some() => Err(trouble),
        Err(_) => Ok(None),
    }
}

/// Answers a hook's event with a text for the model; with nothing, if the text is empty.
///
/// As an object: a text with JSON in it would be taken for the answer itself.
pub fn tell_model(text: &str, out: &mut Out) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    out.text(&json!({"additional_context": text}).to_string())
}

/// Sends the agent of a hook's event back to work.
pub fn send_back(error: WorkflowError) -> Result<u8, CommandError> {
    use std::io::Write as _;

    let trouble = CommandError::from(error);
    let hint = trouble.next_step().unwrap_or_default();
    writeln!(io::stderr(), "{}\nhint: {hint}", trouble.message())?;
    Ok(exit_code::BLOCKED)
}

/// Ends a hook's script that assists and does not guard: an error is reported and blocks nothing.
pub fn in_a_hook(ended: Result<(), CommandError>) -> Result<u8, CommandError> {
    if let Err(trouble) = ended {
        let words = trouble.message();
        let mut stderr = Out::stderr();
        stderr.line(&[(Tone::Warn, "warning: "), (Tone::Plain, words)])?;
        if let Some(hint) = trouble.next_step() {
            stderr.line(&[(Tone::Hint, "hint: "), (Tone::Plain, hint)])?;
        }
    }
    Ok(exit_code::OK)
}

/// Warns on standard error that something which has happened could not be journaled.
pub fn warn_of_journal(error: &io::Error) -> io::Result<()> {
    let why = format!("this could not be journaled: {error}");
    Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &why)])
}

/// Returns the path of a file that a person named, relative to the project.
pub fn path_in_project(
    project: &Project,
    named: &Path,
    environment: &Environment,
) -> Result<String, CommandError> {
    let shown = named.display();
    let resolved = fs::canonicalize(environment.work_dir.join(named)).map_err(|error| {
        CommandError::input(format!("`{shown}` cannot be read: {error}"))
            .hint("`anyhook workflow status` lists the artifacts")
    })?;
    let root = fs::canonicalize(&project.root).unwrap_or_else(|_| project.root.clone());
    let inner = resolved.strip_prefix(&root).map_err(|_| {
        CommandError::input(format!("`{shown}` is outside the project"))
            .hint(format!("artifacts are under `{}`", project.root.display()))
    })?;
    let inner = inner.to_str().filter(|inner| !inner.is_empty());
    inner
        .map(str::to_owned)
        .ok_or_else(|| CommandError::input(format!("`{shown}` is not an artifact")))
}

/// The MCP servers that apply here; a person who waits for one is told so.
#[derive(Debug)]
pub struct ProjectMcpServers<'all>(pub &'all Environment);

impl ServerFinder for ProjectMcpServers<'_> {
    fn find(&self, name: &str) -> Result<Server, ServerFailure> {
        mcp_servers::Servers::find(self.0).and_then(|servers| servers.server(name))
    }

    fn wait(&self, name: &str, stop: &StopHandle, work: &mut (dyn FnMut() + Send)) {
        mcp_wait::wait(&format!("asking {}", printable(name)), stop, work);
    }
}
