//! Packs: hooks that belong together, and the commands for agents that go with them. They come with
//! the program, and are put in place as ordinary hook folders.

pub mod agents;
pub mod place;
pub mod put;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use anyhook_engine::definition;
use anyhook_engine::front_matter::FrontMatter;
use anyhook_engine::problem::nearest;
use anyhook_hosts::command::Command;
use anyhook_model::hook::HookDefinition;
use serde::Deserialize;

use crate::error::Trouble;

/// What stands before a pack's name on the command line.
pub const PREFIX: &str = "pack/";

/// Every file of every pack: its path in the repository's `packs` folder, and what is in it.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// Hooks that belong together.
#[derive(Debug)]
pub struct Pack {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub description: String,
    /// What to do once it is in place.
    pub next: Option<String>,
    /// Its hooks, those that run first at the front.
    pub hooks: Vec<PackHook>,
    /// Its commands.
    pub commands: Vec<PackCommand>,
}

/// A hook of a pack.
#[derive(Debug)]
pub struct PackHook {
    /// What its HOOK.md says.
    pub definition: HookDefinition,
    /// Its files, by their path in its folder.
    pub files: BTreeMap<&'static str, &'static [u8]>,
}

/// A command of a pack.
#[derive(Debug)]
pub struct PackCommand {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: String,
    /// What is typed behind its name.
    pub argument_hint: String,
    /// What the agent is told.
    pub prompt: String,
    /// By which its file is known again.
    pub mark: String,
}

/// `pack.toml`.
#[derive(Deserialize)]
struct PackFile {
    description: String,
    next: Option<String>,
}

/// Returns every pack, by name.
pub fn all() -> Vec<Pack> {
    let mut names: Vec<&'static str> =
        FILES.iter().filter_map(|(path, _)| Some(path.split_once('/')?.0)).collect();
    names.dedup();
    names.into_iter().filter_map(Pack::read).collect()
}

/// Finds a pack by name.
pub fn find(name: &str) -> Result<Pack, Trouble> {
    let packs = all();
    let names: Vec<&str> = packs.iter().map(|pack| pack.name).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are: {}", names.join(", ")),
    };
    packs
        .into_iter()
        .find(|pack| pack.name == name)
        .ok_or_else(|| Trouble::input(format!("there is no pack `{name}`")).hint(hint))
}

/// Finds the pack that is meant by `pack/NAME`; none if something else is.
pub fn meant(word: &Path) -> Option<Result<Pack, Trouble>> {
    let name = word.to_str()?.strip_prefix(PREFIX)?;
    if name.is_empty() {
        return Some(Err(Trouble::usage("which pack is meant?")
            .hint("write pack/NAME; `anyhook packs` shows them")));
    }
    Some(find(name.trim_end_matches('/')))
}

impl Pack {
    /// Reads a pack; its files are ours, and tests say that each can be read.
    fn read(name: &'static str) -> Option<Self> {
        let inner = |path: &'static str| path.strip_prefix(name)?.strip_prefix('/');
        let mut file: Option<PackFile> = None;
        let mut folders: BTreeMap<&'static str, BTreeMap<_, _>> = BTreeMap::new();
        let mut commands = Vec::new();
        for (path, bytes) in FILES.iter().filter_map(|(path, bytes)| Some((inner(path)?, *bytes))) {
            if path == "pack.toml" {
                file = toml::from_slice(bytes).ok();
            } else if let Some(command) = path.strip_prefix("commands/") {
                commands.push(PackCommand::read(name, command.strip_suffix(".md")?, bytes)?);
            } else if let Some((hook, path)) = path.strip_prefix("hooks/")?.split_once('/') {
                folders.entry(hook).or_default().insert(path, bytes);
            }
        }
        let mut hooks: Vec<PackHook> =
            folders.into_iter().filter_map(|(name, files)| PackHook::read(name, files)).collect();
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.definition.priority));
        let PackFile { description, next } = file?;
        Some(Self { name, description, next, hooks, commands })
    }

    /// Returns the word by which it is named on the command line.
    pub fn word(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }
}

impl PackHook {
    fn read(name: &str, files: BTreeMap<&'static str, &'static [u8]>) -> Option<Self> {
        let definition = definition::read(files.get("HOOK.md")?, name).definition;
        Some(Self { definition, files })
    }

    /// Returns its name, which is its folder's.
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

impl PackCommand {
    fn read(pack: &str, name: &'static str, bytes: &[u8]) -> Option<Self> {
        let matter = FrontMatter::read(bytes).ok()?;
        let text = |key: &str| matter.root.get(key)?.text().map(str::to_owned);
        let (_, prompt) = std::str::from_utf8(bytes).ok()?.split_once("\n---\n")?;
        Some(Self {
            name,
            description: text("description")?,
            argument_hint: text("argument-hint")?,
            prompt: prompt.to_owned(),
            mark: format!("Put here by `anyhook add {PREFIX}{pack}`, taken away by `remove`."),
        })
    }

    /// Returns it as agents' files are made from it.
    pub fn command(&self) -> Command<'_> {
        Command {
            name: self.name,
            description: &self.description,
            argument_hint: &self.argument_hint,
            prompt: &self.prompt,
            mark: &self.mark,
        }
    }
}
