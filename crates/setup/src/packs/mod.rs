//! Packs: hooks that belong together, and their commands for agents. They come with the program,
//! and are installed as ordinary hook folders.

pub mod agents;
pub mod apply;
pub mod status;

use std::collections::BTreeMap;

use anyhook_engine::definition;
use anyhook_engine::front_matter::FrontMatter;
use anyhook_hosts::slash_command::HostCommand;
use anyhook_model::hook::HookDefinition;
use serde::Deserialize;

use crate::error::SetupError;

/// The prefix of a pack's name on the command line.
pub const PREFIX: &str = "pack/";

/// Every file of every pack: its path in the folder of packs, and its content.
pub type PackFiles = &'static [(&'static str, &'static [u8])];

/// Hooks that belong together.
#[derive(Debug)]
pub struct Pack {
    /// Its name.
    pub name: &'static str,
    /// A short description.
    pub description: String,
    /// What to do once it is installed.
    pub next: Option<String>,
    /// Its hooks, in the order they run.
    pub hooks: Vec<PackHook>,
    /// Its commands.
    pub commands: Vec<PackCommand>,
}

/// A hook of a pack.
#[derive(Debug)]
pub struct PackHook {
    /// Its parsed HOOK.md.
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
    /// The placeholder for its arguments.
    pub argument_hint: String,
    /// The prompt for the agent.
    pub prompt: String,
    /// The mark by which its file is recognised.
    pub mark: String,
}

/// `pack.toml`.
#[derive(Deserialize)]
struct PackFile {
    description: String,
    next: Option<String>,
}

/// Returns every pack, by name.
pub fn all(files: PackFiles) -> Vec<Pack> {
    let mut names: Vec<&'static str> =
        files.iter().filter_map(|(path, _)| Some(path.split_once('/')?.0)).collect();
    names.dedup();
    names.into_iter().filter_map(|name| Pack::read(name, files)).collect()
}

/// Finds a pack by name.
pub fn find(name: &str, files: PackFiles) -> Result<Pack, SetupError> {
    let packs = all(files);
    let known = packs.iter().map(|pack| pack.name).collect();
    let found = packs.into_iter().find(|pack| pack.name == name);
    found.ok_or_else(|| SetupError::UnknownPack { name: name.to_owned(), known })
}

impl Pack {
    /// Reads a pack; its files are ours, and tests check that each can be read.
    fn read(name: &'static str, files: PackFiles) -> Option<Self> {
        let inner = |path: &'static str| path.strip_prefix(name)?.strip_prefix('/');
        let mut file: Option<PackFile> = None;
        let mut folders: BTreeMap<&'static str, BTreeMap<_, _>> = BTreeMap::new();
        let mut commands = Vec::new();
        for (path, bytes) in files.iter().filter_map(|(path, bytes)| Some((inner(path)?, *bytes))) {
            if path == "pack.toml" {
                file = toml::from_slice(bytes).ok();
            } else if let Some(command) = path.strip_prefix("commands/") {
                commands.push(PackCommand::read(name, command.strip_suffix(".md")?, bytes)?);
            } else if let Some((hook, path)) =
                path.strip_prefix("hooks/").and_then(|path| path.split_once('/'))
            {
                folders.entry(hook).or_default().insert(path, bytes);
            }
        }
        let mut hooks: Vec<PackHook> =
            folders.into_iter().filter_map(|(name, files)| PackHook::read(name, files)).collect();
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.definition.priority));
        let PackFile { description, next } = file?;
        Some(Self { name, description, next, hooks, commands })
    }

    /// Returns its name on the command line.
    pub fn word(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }
}

impl PackHook {
    fn read(name: &str, files: BTreeMap<&'static str, &'static [u8]>) -> Option<Self> {
        let definition = definition::read(files.get("HOOK.md")?, name).definition;
        Some(Self { definition, files })
    }

    /// Returns its name, which is that of its folder.
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

    /// Returns it in the form from which agents' files are made.
    pub fn command(&self) -> HostCommand<'_> {
        HostCommand {
            name: self.name,
            description: &self.description,
            argument_hint: &self.argument_hint,
            prompt: &self.prompt,
            mark: &self.mark,
        }
    }
}
