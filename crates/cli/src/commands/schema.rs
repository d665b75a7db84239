//! `anyhook schema`: prints the JSON Schemas.

use std::borrow::Cow;

use anyhook_model::nearest::nearest;
use anyhook_model::{exit_code, schema};
use clap::Args;

use super::{CommandResult, workflow};
use crate::error::CommandError;
use crate::ui::{Cell, Out, Tone};

/// Print a JSON Schema; without a name, list them
#[derive(Args)]
#[command(after_help = "Example: anyhook schema front-matter > hook.schema.json")]
pub struct SchemaArgs {
    /// The schema's name
    name: Option<String>,
}

/// Returns every schema's name and text, sorted by name: those of files and answers, and those of a
/// workflow's artifacts.
fn all() -> Vec<(&'static str, Cow<'static, str>)> {
    let own = schema::SCHEMAS.iter().map(|schema| (schema.name, schema.text.into()));
    let mut all: Vec<_> = own.chain(workflow::schemas()).collect();
    all.sort_unstable();
    all
}

/// Returns every schema's name and title.
pub fn titles() -> Vec<(String, String)> {
    let title = |text: &str| -> Option<String> {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        Some(value["title"].as_str()?.to_owned())
    };
    let all = all().into_iter();
    all.map(|(name, text)| (name.to_owned(), title(&text).unwrap_or_default())).collect()
}

pub fn run(arguments: &SchemaArgs, out: &mut Out) -> CommandResult {
    let all = all();
    if let Some(name) = &arguments.name {
        let found = all.iter().find(|(known, _)| known == name);
        let (_, text) = found.ok_or_else(|| {
            let near = nearest(name, all.iter().map(|(known, _)| *known));
            CommandError::usage(format!("unknown schema `{name}`")).hint(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`anyhook schema` lists them".to_owned(),
            })
        })?;
        out.text(text.trim_end())?;
        return Ok(exit_code::OK);
    }
    let rows: Vec<Vec<Cell>> = titles()
        .into_iter()
        .map(|(name, title)| vec![Cell::new(Tone::Strong, name), Cell::new(Tone::Plain, title)])
        .collect();
    out.table(&rows)?;
    Ok(exit_code::OK)
}
