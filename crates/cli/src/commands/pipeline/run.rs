//! `anyhook pipeline run`: fills in a runbook's plan, checks what can be checked, and starts it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhook_engine::sha256_hex;
use anyhook_flow::names;
use anyhook_flow::runbook::{self, PlanRequest};
use anyhook_hosts::launch;
use anyhook_model::daemon::{Request, Response, RunPipeline};
use anyhook_model::exit_code;
use anyhook_model::pipeline::PipelinePlan;
use anyhook_setup::workspaces::{self, WorkspaceError};
use anyhook_socket::ClientError;
use clap::Args;

use super::{hint, wait, workspaces_folder};
use crate::commands::{CommandResult, trust};
use crate::daemon::connect;
use crate::environment::{Environment, user_name, variables_for_agents};
use crate::error::CommandError;
use crate::runbooks::{self, UnverifiedFile};
use crate::ui::{Out, Tone, counted};

#[derive(Args)]
pub struct RunPipelineArgs {
    /// The pipeline's name
    name: String,
    /// The value of a variable (repeatable)
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// The runbook it is in; default: search the project's and the user's runbooks
    #[arg(long, value_name = "FILE")]
    runbook: Option<PathBuf>,
    /// A name for this run and its agents; default: derived from the pipeline's name and its
    /// variables or its project
    #[arg(long = "name", value_name = "NAME")]
    run_name: Option<String>,
    /// Show progress until it finishes; exit 0 if it completed, otherwise 1
    #[arg(long)]
    wait: bool,
    /// Print the plan as JSON, with every value filled in, and start nothing
    #[arg(long, conflicts_with_all = ["wait", "json"])]
    dry_run: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, as in version=1.2")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub fn run(arguments: RunPipelineArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let RunPipelineArgs { name, variables, runbook, run_name, wait, dry_run, json } = arguments;
    if let Some(Err(why)) = run_name.as_deref().map(names::check) {
        return Err(CommandError::usage(why).hint("choose another --name"));
    }
    let (mut plan, text) = plan(&name, variables, runbook.as_deref(), environment)?;
    plan.run_name = run_name;
    // What would fail later is reported before anything is started.
    workspaces::check(&plan, &environment.places)?;
    if dry_run {
        out.json(&plan)?;
        return Ok(exit_code::OK);
    }
    trust::before_it_runs(
        UnverifiedFile::of(Path::new(&plan.runbook), &text, environment),
        environment,
    )?;
    let run = RunPipeline { plan, environment: variables_for_agents(environment), by: user_name() };
    let request = Request::RunPipeline(Box::new(run));
    let Response::Pipeline(pipeline) = connect(environment)?.request(&request)? else {
        return Err(ClientError::NoAnswer.into());
    };
    let id = pipeline.id.to_string();
    if json && !wait {
        out.json(&pipeline)?;
        return Ok(exit_code::OK);
    }
    if !json {
        let steps = counted(pipeline.steps.len(), "step");
        let about = format!(" {} ({}): {steps}", pipeline.shown_name(), pipeline.name);
        out.line(&[(Tone::Strong, &id), (Tone::Plain, &about)])?;
    }
    if wait {
        return wait::watch(&id, json, environment, out);
    }
    hint(out, &format!("anyhook pipeline logs -f {id}"))?;
    Ok(exit_code::OK)
}

fn plan(
    name: &str,
    given: Vec<(String, String)>,
    file: Option<&Path>,
    environment: &Environment,
) -> Result<(PipelinePlan, String), CommandError> {
    let mut variables = BTreeMap::new();
    for (name, value) in given {
        if variables.insert(name.clone(), value).is_some() {
            let why = format!("variable `{name}` is given twice");
            return Err(CommandError::usage(why).hint("pass --var once per variable"));
        }
    }
    let (file, text, found) = runbooks::find_pipeline(environment, name, file)?;
    let asked = PlanRequest {
        id: anyhook_engine::new_id(),
        project: environment.project_root().to_string_lossy().into_owned(),
        runbook: file.to_string_lossy().into_owned(),
        digest: sha256_hex(text.as_bytes()),
        variables,
        environment: &|name| std::env::var(name).ok(),
        workspaces: workspaces_folder(environment)?.to_string_lossy().into_owned(),
        read: &|path| runbooks::read_beside(&file, path),
        host_of: &|run| launch::of_command(run).map(str::to_owned),
    };
    let plan = runbook::plan(&found, name, &asked)
        .map_err(|findings| runbooks::unusable(&file, &text, &findings, environment))?;
    // The plan was made from this text: trust is checked for the same text.
    Ok((plan, text))
}

impl From<WorkspaceError> for CommandError {
    fn from(error: WorkspaceError) -> Self {
        let hint = match error {
            WorkspaceError::Exists(_) => "remove it, or set another `path` for the workspace",
            WorkspaceError::NoRepository(_) => "run git init, or set workspace = \"folder\"",
            WorkspaceError::NoCommit { .. } => "commit something, or set another `base`",
            WorkspaceError::BranchName(_) | WorkspaceError::BranchExists(_) => {
                "set another `branch` for the workspace"
            }
            WorkspaceError::NoGit(_) => "install git",
        };
        Self::problem(error.to_string()).hint(hint)
    }
}
