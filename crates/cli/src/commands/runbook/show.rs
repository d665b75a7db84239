//! `anyhook runbook show`: shows one pipeline, with a drawing of its steps.

use std::path::Path;

use anyhook_model::exit_code;
use anyhook_setup::runbook_report;

use crate::commands::CommandResult;
use crate::environment::{Environment, terminal_width};
use crate::error::CommandError;
use crate::pages;
use crate::runbooks::{find_pipeline, path_from};
use crate::ui::{Out, Tone};

pub fn run(
    name: &str,
    file: Option<&Path>,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let (file, _, runbook) = find_pipeline(environment, name, file)?;
    let Some(pipeline) = runbook.pipeline(name) else {
        return Err(CommandError::input(format!("there is no pipeline `{name}`"))
            .hint("`anyhook runbook list` lists the available pipelines"));
    };
    let shown = runbook_report::shown(&runbook, pipeline, &file);
    if json {
        out.json(&shown)?;
    } else {
        out.line(&[
            (Tone::Strong, name),
            (Tone::Dim, "  "),
            (Tone::Dim, &path_from(&file, environment)),
        ])?;
        pages::runbook::show(&shown, terminal_width(), out)?;
    }
    Ok(exit_code::OK)
}
