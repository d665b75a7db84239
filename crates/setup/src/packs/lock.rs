//! `packs.lock`: which packs were added at a level.
//!
//! A project's file is whatever its repository contains, so everything in it is checked: a name in
//! it becomes a path.

use std::fs::{File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::definition::name_fault;
use anyhook_engine::regular_file::open_regular;
use anyhook_model::pack::{LOCK_VERSION, LockedPack, PacksLock};
use rustix::fs::OFlags;

use super::error::PackError;
use super::options;
use super::source::{DIGEST, SourcePlace, WrittenSource, is_digest};
use crate::error::SetupError;

/// The file's name.
pub const FILE: &str = "packs.lock";

/// A longer file is not one of ours.
const SIZE_LIMIT: u64 = 4 * 1024 * 1024;

const HEAD: &str = "# The packs that `anyhook add` put here: where they come from, and what they contain.\n\
                    # Written by anyhook; `anyhook packs` shows it, `anyhook update` updates them.\n\n";

/// The lock file of a level.
#[derive(Clone, Debug)]
pub struct LockFile {
    /// Its path.
    pub path: PathBuf,
    /// What it says; nothing if it does not exist.
    pub lock: PacksLock,
}

impl LockFile {
    /// Reads the file next to a `hooks` folder.
    pub fn read(hooks_folder: &Path) -> Result<Self, PackError> {
        let path = hooks_folder.parent().unwrap_or(hooks_folder).join(FILE);
        let mut text = String::new();
        let read = open_regular(&path, OFlags::RDONLY)
            .and_then(|file| file.take(SIZE_LIMIT).read_to_string(&mut text));
        let lock = match read {
            Ok(_) => parse(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PacksLock::default()),
            Err(error) => Err(error.to_string()),
        };
        match lock {
            Ok(lock) => Ok(Self { path, lock }),
            Err(why) => Err(PackError::Lock { path, why }),
        }
    }

    /// Finds a pack.
    pub fn find(&self, name: &str) -> Option<&LockedPack> {
        self.lock.packs.iter().find(|pack| pack.name == name)
    }

    /// Returns the text with a pack instead of the one of the same name.
    pub(super) fn text_with(&self, pack: LockedPack) -> Result<String, SetupError> {
        let mut lock = self.lock.clone();
        lock.packs.retain(|other| other.name != pack.name);
        lock.packs.push(pack);
        self.text_of(lock)
    }

    fn text_of(&self, mut lock: PacksLock) -> Result<String, SetupError> {
        lock.version = LOCK_VERSION;
        lock.packs.sort_by(|one, other| one.name.cmp(&other.name));
        let text = toml::to_string(&lock).map_err(io::Error::other);
        Ok(format!("{HEAD}{}", text.map_err(SetupError::unusable(&self.path))?))
    }

    /// Removes a pack from the file, and the file with the last one.
    pub fn remove(&self, name: &str) -> Result<(), SetupError> {
        let mut lock = self.lock.clone();
        lock.packs.retain(|other| other.name != name);
        if lock == self.lock {
            return Ok(());
        }
        if lock.packs.is_empty() {
            return std::fs::remove_file(&self.path).map_err(SetupError::unusable(&self.path));
        }
        let text = self.text_of(lock)?;
        self.file().replace(text.as_bytes()).map_err(SetupError::unusable(&self.path))
    }

    pub(super) fn file(&self) -> AtomicFile<'_> {
        AtomicFile::new(&self.path).permissions(Permissions::from_mode(0o644)).synced(true)
    }
}

/// Waits until no other process changes the packs of a level, for as long as the returned file is
/// open.
pub fn hold(hooks_folder: &Path) -> Result<Option<File>, SetupError> {
    let folder = hooks_folder.parent().unwrap_or(hooks_folder);
    match File::open(folder) {
        Ok(file) => {
            file.lock().map_err(SetupError::unusable(folder))?;
            Ok(Some(file))
        }
        // The first pack of a level creates it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SetupError::unusable(folder)(error)),
    }
}

fn parse(text: &str) -> Result<PacksLock, String> {
    let lock: PacksLock = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    if lock.version > LOCK_VERSION {
        return Err(format!("version {} is newer than this anyhook", lock.version));
    }
    for (index, pack) in lock.packs.iter().enumerate() {
        if lock.packs[..index].iter().any(|other| other.name == pack.name) {
            return Err(format!("`{}` is there twice", pack.name));
        }
        check(pack)?;
    }
    Ok(lock)
}

fn check(pack: &LockedPack) -> Result<(), String> {
    let names = pack.hooks.iter().map(|hook| &hook.name);
    let names = names.chain(pack.commands.iter().map(|command| &command.name)).chain([&pack.name]);
    for name in names {
        if let Some(fault) = name_fault(name) {
            return Err(format!("the name {name:?} {fault}"));
        }
    }
    if !pack.digest.strip_prefix(DIGEST).is_some_and(is_digest) {
        return Err(format!("{:?} is not a digest", pack.digest));
    }
    for option in &pack.options {
        let has_type = option.current().is_like(&option.option.default);
        if !options::is_name(&option.option.name)
            || !has_type
            || !options::is_plain(option.current())
        {
            return Err(format!("the option {:?} cannot be used", option.option.name));
        }
    }
    place(pack).map(drop).map_err(|error| error.to_string())
}

/// Returns where a pack comes from.
pub fn place(pack: &LockedPack) -> Result<SourcePlace, PackError> {
    let written = match &pack.reference {
        Some(reference) => format!("{}#{reference}", pack.source),
        None => pack.source.clone(),
    };
    Ok(WrittenSource::parse(&written, Path::new("/"))?.place)
}

#[cfg(test)]
mod tests {
    use anyhook_model::pack::{LockedHook, LockedOption, OptionValue, PackOption};

    use super::*;

    fn pack() -> LockedPack {
        LockedPack {
            name: "guards".to_owned(),
            description: "Guards".to_owned(),
            source: "https://a.example/x.git//y".to_owned(),
            reference: Some("main".to_owned()),
            commit: Some("c".to_owned()),
            digest: format!("sha256:{}", "a".repeat(64)),
            options: vec![LockedOption {
                option: PackOption {
                    name: "paths".to_owned(),
                    about: "x".to_owned(),
                    default: OptionValue::List(Vec::new()),
                },
                value: Some(OptionValue::List(vec!["a'b".to_owned()])),
            }],
            hooks: vec![LockedHook {
                name: "one".to_owned(),
                digest: "d".to_owned(),
                shadow: false,
            }],
            commands: Vec::new(),
        }
    }

    fn file() -> LockFile {
        LockFile { path: "packs.lock".into(), lock: PacksLock::default() }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = file().text_with(pack()).unwrap();
        let lock = parse(&text).unwrap();
        assert_eq!(lock.packs, [pack()]);
        let other = LockedPack { name: "before".to_owned(), ..pack() };
        let text = LockFile { lock, ..file() }.text_with(other).unwrap();
        let names: Vec<String> =
            parse(&text).unwrap().packs.into_iter().map(|pack| pack.name).collect();
        assert_eq!(names, ["before", "guards"]);
        assert!(matches!(place(&pack()).unwrap(), SourcePlace::Git(_)));
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        let refused = |change: fn(&mut LockedPack)| {
            let mut pack = pack();
            change(&mut pack);
            parse(&file().text_with(pack).unwrap()).unwrap_err()
        };
        let up = |pack: &mut LockedPack| pack.hooks[0].name = "../../x".to_owned();
        assert!(refused(up).contains("may only contain"));
        assert!(refused(|pack| pack.name = "..".to_owned()).contains("may only contain"));
        assert!(refused(|pack| pack.source = "ext::sh".to_owned()).contains("ext"));
        assert!(refused(|pack| pack.digest = "x".to_owned()).contains("not a digest"));
        let other_type = |pack: &mut LockedPack| {
            pack.options[0].value = Some(OptionValue::Bool(true));
        };
        assert!(refused(other_type).contains("paths"));
        assert!(parse("version = 2").unwrap_err().contains("newer"));
        let text = file().text_with(pack()).unwrap();
        let twice = format!("{text}\n{}", &text[text.find("[[pack]]").unwrap()..]);
        assert!(parse(&twice).unwrap_err().contains("twice"));
    }
}
