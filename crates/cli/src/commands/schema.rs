//! `anyhook schema`: the JSON Schemas.

use anyhook_model::{exit_code, schema};
use clap::Args;

use super::Ended;
use crate::error::Trouble;
use crate::ui::{Cell, Out, Tone};

/// Print a JSON Schema; without a name, list them
#[derive(Args)]
#[command(after_help = "Example: anyhook schema front-matter > hook.schema.json")]
pub struct SchemaArgs {
    /// The schema's name
    name: Option<String>,
}

pub fn run(arguments: &SchemaArgs, out: &mut Out) -> Ended {
    if let Some(name) = &arguments.name {
        let names: Vec<&str> = schema::SCHEMAS.iter().map(|schema| schema.name).collect();
        let found = schema::find(name).ok_or_else(|| {
            Trouble::usage(format!("unknown schema `{name}`"))
                .hint(format!("there are: {}", names.join(", ")))
        })?;
        out.text(found.text.trim_end())?;
        return Ok(exit_code::OK);
    }
    let rows: Vec<Vec<Cell>> = schema::SCHEMAS
        .iter()
        .map(|schema| {
            let value: serde_json::Value = serde_json::from_str(schema.text).unwrap_or_default();
            vec![
                Cell::new(Tone::Strong, schema.name),
                Cell::new(Tone::Plain, value["title"].as_str().unwrap_or("")),
            ]
        })
        .collect();
    out.table(&rows)?;
    Ok(exit_code::OK)
}
