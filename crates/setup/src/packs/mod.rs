//! Packs: hooks that belong together, and their commands for agents. They come with the program,
//! from a folder or from a git repository, and are installed as ordinary hook folders.
//!
//! - [`source`]: where a pack comes from; [`git`] fetches one; [`tree`]: its files, checked;
//! - [`options`]: what can be set about it;
//! - [`lock`]: what was added, as `packs.lock` records it; [`level`]: the packs of a level;
//! - [`status`]: what is there now; [`apply`] writes and removes; [`update`] compares with the
//!   source; [`removal`] takes it out of a level;
//! - [`listing`]: what is known about packs, for a report;
//! - [`permissions`]: what hooks may do, and what an update changes about it;
//! - [`agents`]: the agents that get the commands.

pub mod agents;
pub mod apply;
mod error;
pub mod git;
pub mod level;
pub mod listing;
pub mod lock;
pub mod options;
pub mod permissions;
pub mod removal;
pub mod source;
pub mod status;
pub mod tree;
pub mod update;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use anyhook_engine::definition::{self, name_fault};
use anyhook_engine::front_matter::FrontMatter;
use anyhook_engine::{Hook, Level};
use anyhook_hosts::slash_command::HostCommand;
use anyhook_model::hook::HookDefinition;
use anyhook_model::pack::{
    LockedHook, LockedOption, LockedPack, OptionValue, PackManifest, PackOption,
};

pub use error::{ContentFault, GitFault, PackError, PackErrorKind, SourceFault};
pub use tree::{PackFile, PackTree};

use crate::error::SetupError;
use level::PackLevel;
use options::OptionValues;
use source::{SourcePlace, WrittenSource};
use tree::{HOOK_FILE, MANIFEST};

/// The prefix of a pack's name on the command line.
pub const PREFIX: &str = "pack/";

/// Every file of every pack that comes with the program: its path in the folder of packs, and its
/// content.
pub type PackFiles = &'static [(&'static str, &'static [u8])];

/// Hooks that belong together.
#[derive(Debug)]
pub struct Pack {
    /// Its name.
    pub name: String,
    /// A short description.
    pub description: String,
    /// What to do once it is installed.
    pub next: Option<String>,
    /// What can be set about it, and the values that were set.
    pub options: Vec<LockedOption>,
    /// Its hooks, in the order they run.
    pub hooks: Vec<PackHook>,
    /// Its commands.
    pub commands: Vec<PackCommand>,
}

/// A hook of a pack.
#[derive(Debug)]
pub struct PackHook {
    name: String,
    /// Its parsed HOOK.md.
    pub definition: HookDefinition,
    /// Its files as they are written, by their path in its folder.
    pub files: BTreeMap<String, PackFile>,
}

/// A command of a pack.
#[derive(Debug)]
pub struct PackCommand {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The placeholder for its arguments.
    pub argument_hint: String,
    /// The prompt for the agent.
    pub prompt: String,
    /// The mark by which its file is recognised.
    pub mark: String,
}

/// A pack as it was fetched, before any option is set.
#[derive(Debug)]
pub struct FoundPack {
    /// Where it comes from.
    pub place: SourcePlace,
    /// The commit that was fetched, if it is from git.
    pub commit: Option<String>,
    /// Its files.
    pub tree: PackTree,
    /// The digest of its content.
    pub digest: String,
    /// Its `pack.toml`.
    pub manifest: PackManifest,
    /// Its name.
    pub name: String,
}

/// Returns every pack that comes with the program, by name, with its defaults.
pub fn all(files: PackFiles) -> Vec<Pack> {
    let packs = names(files).into_iter().filter_map(|name| {
        let tree = built_in_tree(name, files);
        let manifest = read_manifest(&tree, name).ok()?;
        // They are ours, and tests check that each can be read.
        Pack::read(name, &manifest, &tree, &OptionValues::new()).ok()
    });
    packs.collect()
}

fn names(files: PackFiles) -> Vec<&'static str> {
    let mut names: Vec<&'static str> =
        files.iter().filter_map(|(path, _)| Some(path.split_once('/')?.0)).collect();
    names.dedup();
    names
}

/// Returns the files of a pack that comes with the program.
fn built_in_tree(name: &str, files: PackFiles) -> PackTree {
    let mut tree = PackTree::default();
    for (path, bytes) in files {
        let inner = path.strip_prefix(name).and_then(|path| path.strip_prefix('/'));
        if let Some(inner) = inner.filter(|inner| tree::Shape::Pack.has(inner)) {
            let in_hook = inner.split_once('/').and_then(|(_, rest)| rest.split_once('/'));
            let runnable = in_hook.is_some_and(|(_, path)| status::runs(path));
            tree.insert_own(inner, bytes, runnable);
        }
    }
    tree
}

/// Finds a pack that comes with the program, by name.
pub fn find(name: &str, files: PackFiles) -> Result<Pack, SetupError> {
    let packs = all(files);
    let known = packs.iter().map(|pack| pack.name.clone()).collect();
    let found = packs.into_iter().find(|pack| pack.name == name);
    found.ok_or_else(|| SetupError::UnknownPack { name: name.to_owned(), known })
}

impl FoundPack {
    /// Reads or fetches a pack. Its content must have the digest that was written, if one was.
    pub fn fetch(source: &WrittenSource, files: PackFiles) -> Result<Self, SetupError> {
        let found = Self::of_place(&source.place, files)?;
        match &source.digest {
            Some(expected) if *expected != found.digest => {
                Err(PackError::OtherDigest { expected: expected.clone(), found: found.digest }
                    .into())
            }
            _ => Ok(found),
        }
    }

    /// Reads or fetches a pack.
    pub fn of_place(place: &SourcePlace, files: PackFiles) -> Result<Self, SetupError> {
        let text = place.recorded();
        let (tree, commit) = match place {
            SourcePlace::BuiltIn(name) => {
                if !names(files).contains(&name.as_str()) {
                    find(name, files)?;
                }
                (built_in_tree(name, files), None)
            }
            SourcePlace::Folder(folder) => (PackTree::of_folder(folder)?, None),
            SourcePlace::Git(place) => {
                let fetched = git::fetch(place)?;
                (fetched.tree, Some(fetched.commit))
            }
        };
        let tree = if tree.get(MANIFEST).is_none() { around_hook(tree, &text)? } else { tree };
        let manifest = read_manifest(&tree, &text)?;
        let name = name_of(&manifest, place, &text)?;
        if !matches!(place, SourcePlace::BuiltIn(_)) && names(files).contains(&name.as_str()) {
            return Err(PackError::BuiltInName(name).into());
        }
        Ok(Self { place: place.clone(), commit, digest: tree.digest()?, tree, manifest, name })
    }

    /// Returns the pack with values of its options.
    pub fn pack(&self, values: &OptionValues) -> Result<Pack, PackError> {
        Pack::read(&self.name, &self.manifest, &self.tree, values)
    }

    /// Returns the pack as it is to be added at a level, with values of its options; refuses if one
    /// of this name was added that is not exactly the same.
    pub fn pack_at(&self, level: &PackLevel, values: OptionValues) -> Result<Pack, PackError> {
        let Some(locked) = level.locked(&self.name) else { return self.pack(&values) };
        if locked.source != self.place.recorded() {
            let (name, added) = (self.name.clone(), locked.source.clone());
            return Err(PackError::OtherSource { name, added });
        }
        let pack = self.pack(&with_values(&locked.options, values))?;
        if locked.digest != self.digest || locked.options != pack.options {
            return Err(PackError::AlreadyAdded(self.name.clone()));
        }
        Ok(pack)
    }

    /// Returns what can be set about it.
    pub fn options(&self) -> &[PackOption] {
        &self.manifest.options
    }

    /// Returns whether it comes with the program.
    pub fn is_built_in(&self) -> bool {
        matches!(self.place, SourcePlace::BuiltIn(_))
    }

    /// Returns what `packs.lock` records, without what was written.
    pub fn locked(&self, pack: &Pack) -> LockedPack {
        let reference = match &self.place {
            SourcePlace::Git(place) => place.reference.clone(),
            _ => None,
        };
        LockedPack {
            name: pack.name.clone(),
            description: pack.description.clone(),
            source: self.place.recorded(),
            reference,
            commit: self.commit.clone(),
            digest: self.digest.clone(),
            options: pack.options.clone(),
            hooks: Vec::new(),
            commands: Vec::new(),
        }
    }
}

/// Makes a pack of a single hook, with the hook's name.
fn around_hook(tree: PackTree, source: &str) -> Result<PackTree, PackError> {
    let bytes = tree.get(HOOK_FILE).unwrap_or_default();
    let definition = definition::read(bytes, "").definition;
    check_name(&definition.name).map_err(|why| PackError::Hook { hook: source.to_owned(), why })?;
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let description: String = definition
        .description
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    let manifest =
        format!("name = {}\ndescription = {}\n", quoted(&definition.name), quoted(&description));
    Ok(tree.around_hook(&definition.name, manifest))
}

fn read_manifest(tree: &PackTree, source: &str) -> Result<PackManifest, PackError> {
    let refuse = |why: String| PackError::Manifest { source_text: source.to_owned(), why };
    let bytes = tree.get(MANIFEST).unwrap_or_default();
    let manifest: PackManifest =
        toml::from_slice(bytes).map_err(|error| refuse(error.message().to_owned()))?;
    let texts = [Some(&manifest.description), manifest.next.as_ref()];
    let texts =
        texts.into_iter().flatten().chain(manifest.options.iter().map(|option| &option.about));
    if texts.into_iter().any(|text| text.chars().any(char::is_control)) {
        return Err(refuse("its texts must be on one line".to_owned()));
    }
    for (index, option) in manifest.options.iter().enumerate() {
        if !options::is_name(&option.name) {
            return Err(refuse(format!("an option cannot be named {:?}", option.name)));
        }
        if manifest.options[..index].iter().any(|other| other.name == option.name) {
            return Err(refuse(format!("the option `{}` is there twice", option.name)));
        }
        if !options::is_plain(&option.default) {
            return Err(refuse(format!("the default of `{}` must be on one line", option.name)));
        }
    }
    Ok(manifest)
}

/// Returns the name of a pack: what its `pack.toml` says, or else that of its folder.
fn name_of(
    manifest: &PackManifest,
    place: &SourcePlace,
    source: &str,
) -> Result<String, PackError> {
    let refuse = |why: String| PackError::Manifest { source_text: source.to_owned(), why };
    let name = match (place, &manifest.name) {
        (SourcePlace::BuiltIn(name), _) | (_, Some(name)) => name.clone(),
        (_, None) => return Err(refuse("it has no `name`".to_owned())),
    };
    check_name(&name).map_err(|why| refuse(format!("the name {name:?} {why}")))?;
    Ok(name)
}

fn check_name(name: &str) -> Result<(), String> {
    name_fault(name).map_or(Ok(()), |fault| Err(fault.to_owned()))
}

impl Pack {
    /// Reads a pack with values of its options.
    fn read(
        name: &str,
        manifest: &PackManifest,
        tree: &PackTree,
        values: &OptionValues,
    ) -> Result<Self, PackError> {
        let options = options::locked(&manifest.options, values);
        let mut folders: BTreeMap<&str, BTreeMap<String, PackFile>> = BTreeMap::new();
        let mut commands = Vec::new();
        for (path, file) in tree.files() {
            if let Some(command) = path.strip_prefix("commands/") {
                commands.push(PackCommand::read(name, command, &file.bytes)?);
            } else if let Some(inner) = path.strip_prefix("hooks/") {
                let (hook, inner) = inner.split_once('/').ok_or_else(|| PackError::Hook {
                    hook: inner.to_owned(),
                    why: "it is not a folder".to_owned(),
                })?;
                folders.entry(hook).or_default().insert(inner.to_owned(), file.clone());
            }
        }
        let mut hooks = Vec::new();
        for (hook, files) in folders {
            hooks.push(PackHook::read(name, hook, files, &options)?);
        }
        if hooks.is_empty() {
            return Err(PackError::Empty(name.to_owned()));
        }
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.definition.priority));
        let PackManifest { description, next, .. } = manifest.clone();
        Ok(Self { name: name.to_owned(), description, next, options, hooks, commands })
    }

    /// Returns a pack as `packs.lock` knows it, without the content of its files: what is needed to
    /// find and remove what was added.
    pub fn of_lock(locked: &LockedPack, hooks_folder: &Path) -> Self {
        let hook = |hook: &LockedHook| {
            let folder = hooks_folder.join(&hook.name);
            let definition = Hook::load(&folder, Level::User).definition;
            PackHook { name: hook.name.clone(), definition, files: BTreeMap::new() }
        };
        let mut hooks: Vec<PackHook> = locked.hooks.iter().map(hook).collect();
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.definition.priority));
        let mut names: Vec<&str> =
            locked.commands.iter().map(|command| command.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let command = |command: &str| PackCommand {
            name: command.to_owned(),
            description: String::new(),
            argument_hint: String::new(),
            prompt: String::new(),
            mark: mark(&locked.name),
        };
        Self {
            name: locked.name.clone(),
            description: locked.description.clone(),
            next: None,
            options: locked.options.clone(),
            hooks,
            commands: names.into_iter().map(command).collect(),
        }
    }

    /// Returns its name on the command line.
    pub fn word(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }
}

impl PackHook {
    fn read(
        pack: &str,
        name: &str,
        mut files: BTreeMap<String, PackFile>,
        options: &[LockedOption],
    ) -> Result<Self, PackError> {
        let refuse = |why: String| PackError::Hook { hook: name.to_owned(), why };
        check_name(name).map_err(|why| refuse(format!("its folder's name {why}")))?;
        let file =
            files.get_mut(HOOK_FILE).ok_or_else(|| refuse("it has no HOOK.md".to_owned()))?;
        let uses = |option| refuse(format!("it uses %{{{option}}}, which is not an option"));
        let rendered = options::render(&file.bytes, options).map_err(uses)?;
        if rendered != *file.bytes {
            file.bytes = rendered.into();
        }
        let read = definition::read(&file.bytes, name);
        if let Some(fault) = read.fault() {
            return Err(refuse(fault.message.clone()));
        }
        let definition = read.definition;
        if definition.name != name {
            return Err(refuse(format!("it calls itself {:?}", definition.name)));
        }
        match definition.metadata.get("pack").and_then(|named| named.as_str()) {
            Some(named) if named != pack => {
                Err(refuse(format!("it says that it is of the pack {named:?}")))
            }
            _ => Ok(Self { name: name.to_owned(), definition, files }),
        }
    }

    /// Returns a hook as it is installed, if it can be read.
    fn installed(name: &str, files: BTreeMap<String, PackFile>) -> Option<Self> {
        let definition = definition::read(&files.get(HOOK_FILE)?.bytes, name).definition;
        Some(Self { name: name.to_owned(), definition, files })
    }

    /// Returns its name, which is that of its folder.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Returns the mark of a pack's commands.
fn mark(pack: &str) -> String {
    format!("Put here by `anyhook add {PREFIX}{pack}`, taken away by `remove`.")
}

impl PackCommand {
    fn read(pack: &str, file: &str, bytes: &[u8]) -> Result<Self, PackError> {
        let refuse =
            |why: &str| PackError::Command { command: file.to_owned(), why: why.to_owned() };
        let name = file.strip_suffix(".md").ok_or_else(|| refuse("it is not a file NAME.md"))?;
        check_name(name).map_err(|why| refuse(&format!("its name {why}")))?;
        let matter = FrontMatter::read(bytes).map_err(|fault| refuse(&fault.message))?;
        let text = |key: &str| {
            let text = matter.root.get(key).and_then(|node| node.text());
            let plain = text.filter(|text| !text.chars().any(char::is_control));
            plain
                .map(str::to_owned)
                .ok_or_else(|| refuse(&format!("it has no `{key}` on one line")))
        };
        let whole = std::str::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8"))?;
        let (_, prompt) = whole
            .split_once("\n---\n")
            .ok_or_else(|| refuse("it has no text after its front matter"))?;
        Ok(Self {
            name: name.to_owned(),
            description: text("description")?,
            argument_hint: text("argument-hint")?,
            prompt: prompt.to_owned(),
            mark: mark(pack),
        })
    }

    /// Returns it in the form from which agents' files are made.
    pub fn command(&self) -> HostCommand<'_> {
        HostCommand {
            name: &self.name,
            description: &self.description,
            argument_hint: &self.argument_hint,
            prompt: &self.prompt,
            mark: &self.mark,
        }
    }
}

/// Returns the options of a pack that was added with `values` in place of those that were set, where
/// they are given.
pub fn with_values(locked: &[LockedOption], values: OptionValues) -> OptionValues {
    let mut set: BTreeMap<String, OptionValue> = options::set_values(locked);
    set.extend(values);
    set
}
