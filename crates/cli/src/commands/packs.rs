//! `anyhook packs`: lists packs of hooks, and where they are installed.

use anyhook_model::exit_code;
use anyhook_setup::packs::listing;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::packs::{self, FILES};
use crate::ui::{Out, Tone};

/// List the packs that come with anyhook or were added, and where they are installed
#[derive(Args)]
#[command(after_help = "Example: anyhook packs\n         anyhook packs delivery-workflow")]
pub struct PacksArgs {
    /// Show this pack's hooks, options and commands
    name: Option<String>,
    /// Ask the sources of packs whether there are updates
    #[arg(long)]
    updates: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &PacksArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let levels = packs::levels(None, environment)?;
    if let Some(name) = &arguments.name {
        let name = name.strip_prefix(packs::PREFIX).unwrap_or(name);
        let pack = listing::find(name, &levels, FILES)?;
        let listed = listing::listed(&pack, &levels, FILES, arguments.updates)?;
        if arguments.json {
            out.json(&listed)?;
        } else {
            anyhook_pages::packs::show(&listed, &environment.places, out)?;
        }
        return Ok(exit_code::OK);
    }
    let mut listed = Vec::new();
    for pack in listing::known(&levels, FILES) {
        listed.push(listing::listed(&pack, &levels, FILES, arguments.updates)?);
    }
    if arguments.json {
        out.json(&listed)?;
        return Ok(exit_code::OK);
    }
    anyhook_pages::packs::list(&listed, &environment.places, out)?;
    out.line(&[
        (Tone::Hint, "hint: "),
        (Tone::Plain, "`anyhook packs NAME` shows one, `anyhook add pack/NAME` adds it"),
    ])?;
    Ok(exit_code::OK)
}
