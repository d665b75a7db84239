//! What a command works on: which kind of place, going by what can be told.

use std::path::Path;

use anyhook_model::Event;
use anyhook_shell::{Folder, ShellCommand, Word};

use crate::matcher::wildcard::{FilePattern, PathForms};
use crate::path_forms::normal;

/// A kind of target, or a pattern for one.
#[derive(Clone, Debug)]
pub enum TargetKind {
    /// The root of the file system or a folder of the system, or all that is in one.
    Root,
    /// The home folder, or all that is in it.
    Home,
    /// The project's folder or one above it, or all that is in it.
    Project,
    /// Below the project's folder.
    Inside,
    /// Neither in the project nor in a temporary folder.
    Outside,
    /// In a temporary folder.
    Temp,
    /// A `.git` folder, or in one.
    Repository,
    /// A disk.
    Device,
    /// It cannot be told.
    Unknown,
    /// A file that matches a pattern.
    Pattern(FilePattern),
}

/// Folders of the system: what is directly in the root of the file system.
const SYSTEM: [&str; 22] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc",
    "root", "run", "sbin", "srv", "sys", "usr", "var", "Users", "Library", "System",
];
/// Folders below `/usr` and `/var` without which a system does not run.
const SYSTEM_BELOW: [&str; 9] = [
    "usr/bin",
    "usr/lib",
    "usr/sbin",
    "usr/share",
    "usr/local",
    "var/lib",
    "var/log",
    "var/www",
    "etc/ssh",
];
const TEMPORARY: [&str; 4] = ["/tmp", "/var/tmp", "/private/tmp", "/dev/shm"];
const DISKS: [&str; 9] = ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/"];
/// Variables that name a temporary folder, as words are written.
const TEMPORARY_VARIABLES: [&str; 6] =
    ["$TMPDIR", "${TMPDIR}", "$TMP", "${TMP}", "$TEMP", "${TEMP}"];

impl TargetKind {
    /// Reads the name of a kind, or a pattern.
    pub fn new(text: &str) -> Self {
        match text {
            "root" => Self::Root,
            "home" => Self::Home,
            "project" => Self::Project,
            "inside" => Self::Inside,
            "outside" => Self::Outside,
            "temp" => Self::Temp,
            "repository" => Self::Repository,
            "device" => Self::Device,
            "unknown" => Self::Unknown,
            pattern => Self::Pattern(FilePattern::new(pattern)),
        }
    }
}

/// A target in its place.
#[derive(Debug)]
pub struct Target<'call> {
    /// Where it is, as far as that can be told.
    path: Option<String>,
    extent: Extent,
    is_unknown: bool,
    is_temporary: bool,
    /// Whether its end names a `.git` folder, whatever the beginning is.
    ends_in_repository: bool,
    place: Place<'call>,
}

/// How much of its path a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// The file or the folder itself.
    Whole,
    /// All that is in the folder.
    Content,
    /// Something in the folder.
    Part,
}

/// Where targets are told apart.
#[derive(Clone, Copy, Debug)]
pub struct Place<'call> {
    /// Where the agent works.
    pub work_dir: &'call Path,
    /// The project's folder.
    pub project: Option<&'call Path>,
    /// The person's home folder.
    pub home: Option<&'call Path>,
}

impl<'call> Place<'call> {
    /// Returns where an event happens.
    pub fn of(event: &'call Event) -> Self {
        Self {
            work_dir: &event.work_dir,
            project: event.project_dir.as_deref(),
            home: event.home.as_deref(),
        }
    }

    /// Returns the folder in which a command runs.
    pub fn folder_of(&self, command: &ShellCommand) -> Option<String> {
        let work_dir = self.work_dir.to_string_lossy();
        let folder = match &command.folder {
            Folder::Start => work_dir.into_owned(),
            Folder::Relative(path) => format!("{work_dir}/{path}"),
            Folder::Absolute(path) => self.at_home(path).unwrap_or_else(|| path.clone()),
            Folder::Unknown => return None,
        };
        Some(normal(&folder))
    }

    /// Returns a path that begins with `~`, in the home folder.
    fn at_home(&self, path: &str) -> Option<String> {
        let after = path.strip_prefix('~')?;
        let (user, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
        match user {
            "" => Some(format!("{}{rest}", self.home?.to_string_lossy())),
            "root" => Some(format!("/root{rest}")),
            // The home folder of another person is where this one is.
            _ if is_user(user) => {
                let all = self.home?.parent()?.to_string_lossy();
                Some(format!("{}/{user}{rest}", all.trim_end_matches('/')))
            }
            _ => None,
        }
    }

    /// Returns the absolute path of what a word names; `None` if that cannot be told.
    pub fn absolute(&self, path: &str, folder: Option<&str>) -> Option<String> {
        if let Some(path) = self.at_home(path) {
            return Some(normal(&path));
        }
        if path.starts_with('/') {
            return Some(normal(path));
        }
        folder.map(|folder| normal(&format!("{folder}/{path}")))
    }
}

impl<'call> Target<'call> {
    /// Tells where a word of a command leads.
    pub fn new(word: &Word, folder: Option<&str>, place: Place<'call>) -> Self {
        let mut target = Self {
            path: None,
            extent: Extent::Whole,
            is_unknown: false,
            is_temporary: TEMPORARY_VARIABLES.iter().any(|name| word.text.starts_with(name)),
            ends_in_repository: word.known().is_none() && ends_in_repository(word),
            place,
        };
        let known = match word.known() {
            Some(text) => text,
            None => {
                // What is in a folder that is known is told by that folder.
                let prefix = word.prefix();
                let Some((folder, _)) = prefix.rsplit_once('/') else {
                    target.is_unknown = true;
                    return target;
                };
                target.extent = Extent::Part;
                if folder.is_empty() { "/" } else { folder }
            }
        };
        let text = match word.is_glob().then(|| before_glob(known)) {
            Some((folder, extent)) => {
                let is_part = target.extent == Extent::Part;
                target.extent = if is_part { Extent::Part } else { extent };
                folder
            }
            None => known,
        };
        target.path = place.absolute(text, folder);
        target.is_unknown = target.path.is_none();
        if word.known().is_none() {
            // `/$X` and `~/$X` are the folder itself if the variable is empty.
            let is_wide =
                [Self::is_root, Self::is_home, Self::is_project].iter().any(|is| is(&target));
            target.is_unknown |= is_wide;
            if is_wide {
                target.extent = Extent::Content;
            }
        }
        target
    }

    /// Returns whether it is of a kind.
    pub fn is(&self, kind: &TargetKind) -> bool {
        let is_whole = self.extent != Extent::Part;
        match kind {
            TargetKind::Unknown => self.is_unknown && !self.is_temporary,
            TargetKind::Temp => self.is_temporary || self.is_temp(),
            TargetKind::Root => is_whole && self.is_root(),
            TargetKind::Home => is_whole && self.is_home(),
            TargetKind::Project => is_whole && self.is_project(),
            TargetKind::Inside => {
                self.path.is_some() && self.is_inside() && !(is_whole && self.is_project())
            }
            TargetKind::Outside => {
                self.path.is_some()
                    && !self.is_temporary
                    && !self.is_temp()
                    && !self.is_inside()
                    && !self.is_harmless_device()
            }
            TargetKind::Repository => {
                self.ends_in_repository
                    || self
                        .path
                        .as_deref()
                        .is_some_and(|path| path.split('/').any(|part| part == ".git"))
            }
            TargetKind::Device => self.path.as_deref().is_some_and(is_disk),
            TargetKind::Pattern(pattern) => {
                self.forms().is_some_and(|forms| pattern.matches(&forms))
            }
        }
    }

    fn is_root(&self) -> bool {
        let Some(path) = self.path.as_deref() else { return false };
        let inner = path.trim_start_matches('/');
        inner.is_empty() || SYSTEM.contains(&inner) || SYSTEM_BELOW.contains(&inner)
    }

    fn is_home(&self) -> bool {
        let home = self.place.home.map(|home| normal(&home.to_string_lossy()));
        match (self.path.as_deref(), home) {
            (Some(path), Some(home)) => path == home || is_above(path, &home),
            _ => false,
        }
    }

    fn is_project(&self) -> bool {
        let project = self.project();
        self.path.as_deref().is_some_and(|path| path == project || is_above(path, &project))
    }

    fn is_inside(&self) -> bool {
        let project = self.project();
        self.path.as_deref().is_some_and(|path| path == project || is_above(&project, path))
    }

    fn is_temp(&self) -> bool {
        let Some(path) = self.path.as_deref() else { return false };
        TEMPORARY
            .iter()
            .any(|folder| is_above(folder, path) || path == *folder && self.extent != Extent::Whole)
    }

    fn is_harmless_device(&self) -> bool {
        let is_safe = |path: &str| {
            [
                "/dev/null",
                "/dev/zero",
                "/dev/stdin",
                "/dev/stdout",
                "/dev/stderr",
                "/dev/tty",
                "/dev/random",
                "/dev/urandom",
                "/dev/full",
            ]
            .contains(&path)
                || path.starts_with("/dev/fd/")
        };
        self.path.as_deref().is_some_and(is_safe)
    }

    fn project(&self) -> String {
        let project = self.place.project.unwrap_or(self.place.work_dir);
        normal(&project.to_string_lossy())
    }

    fn forms(&self) -> Option<PathForms<'_>> {
        let absolute = self.path.as_deref()?;
        let below = |folder: Option<&Path>| {
            let folder = normal(&folder?.to_string_lossy());
            below(absolute, &folder)
        };
        Some(PathForms {
            absolute,
            relative: below(self.place.project),
            in_home: below(self.place.home),
        })
    }
}

/// Returns the part of a path below a folder.
pub fn below<'path>(path: &'path str, folder: &str) -> Option<&'path str> {
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() { Some(".") } else { rest.strip_prefix('/') }
}

fn is_above(folder: &str, path: &str) -> bool {
    folder == "/" && path != "/"
        || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether this can be the name of a user, as in `~name`.
fn is_user(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit() || byte == b'-')
}

/// Whether what is known of a word names a `.git` folder, as in `$(pick)/.git`.
fn ends_in_repository(word: &Word) -> bool {
    word.text.ends_with("/.git") || word.text.contains("/.git/")
}

fn is_disk(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)))
}

/// Returns the folder before the wildcards of a word, and how much of it they stand for.
fn before_glob(text: &str) -> (&str, Extent) {
    let at = text.find(['*', '?', '[', '{']).unwrap_or(text.len());
    let start = text[..at].rfind('/').map_or(0, |slash| slash + 1);
    let (folder, rest) = text.split_at(start);
    let folder = match folder {
        "" => ".",
        "/" => "/",
        folder => folder.trim_end_matches('/'),
    };
    let is_all = rest.split('/').all(|part| {
        matches!(
            part,
            "" | "*"
                | "**"
                | ".*"
                | "*.*"
                | "?*"
                | ".??*"
                | ".[!.]*"
                | "..?*"
                | "{*,.*}"
                | "{.*,*}"
        )
    });
    (folder, if is_all { Extent::Content } else { Extent::Part })
}
