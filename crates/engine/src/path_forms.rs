//! Resolves the forms of the paths that a call names, against which a file guard is matched.
//!
//! A path can be written in many ways, and a link gives a file another name. So each path is tried
//! as given, absolute and normalised, relative to the project, and with links resolved. This needs
//! disk access, and happens when a hook with a pattern is due, or one is about to read the event.
//!
//! The work is linear in the length of the paths: an existing path is opened once, and for any
//! other the longest existing part is found by bisection. A file with hard links is also searched
//! for under its other names in the project, in a limited number of folder entries.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use anyhook_model::{CallForms, Event, FilePath, OtherName, ToolCall, tools};
use serde_json::Value;

/// At most this many paths of a call are checked. For a call with more, every pattern matches.
const MOST_PATHS: usize = 1000;
/// At most this many links are followed, as by the system itself.
const MOST_LINKS: usize = 40;
/// At most this many folder entries are searched for a file's other names. Reading them takes some
/// ten milliseconds.
const MOST_ENTRIES: usize = 20_000;
/// Folders that are not searched: they contain many files with hard links that no one guards by
/// name.
const NOT_SEARCHED: [&str; 3] = [".git", "node_modules", "target"];

/// Resolves the path forms of an event's call, once.
pub fn resolve(event: &Event) {
    if let Some(call) = &event.tool {
        call.forms.get_or_init(|| forms(event, call));
    }
}

fn forms(event: &Event, call: &ToolCall) -> CallForms {
    let is_shell = call.name == "Shell" || call.also.contains(&"Shell");
    let commands = if is_shell { tools::command_lines(&call.input) } else { Vec::new() };
    let mut forms = CallForms { commands, ..CallForms::default() };
    let listed = call.files.as_array().into_iter().flatten().filter_map(Value::as_str);
    let names = std::iter::once(call.name.as_str()).chain(call.also.iter().copied());
    let in_fields = names.flat_map(|name| tools::paths(name, &call.input));
    let seeming = tools::seeming_paths(&call.name, &call.input).texts;
    let mut seen = HashSet::new();
    let mut place = EventLocation {
        work_dir: &event.work_dir,
        root: None,
        real_root: None,
        linked: Vec::new(),
    };
    for given in listed.chain(in_fields).chain(seeming).filter(|given| seen.insert(*given)) {
        if forms.files.len() >= MOST_PATHS {
            forms.is_cut = true;
            break;
        }
        if place.root.is_none() {
            place.root = event.project_dir.as_deref().map(|root| normal(&text(root)));
        }
        for reading in readings(given, event.home.as_deref()) {
            place.add(&mut forms.files, given, &reading);
        }
    }
    place.add_other_names(&mut forms.files);
    forms
}

/// A path that a command names.
#[derive(Clone, Debug)]
pub struct NamedPath {
    /// As it is written.
    pub given: String,
    /// Absolute.
    pub absolute: String,
    /// Whether it has wildcards.
    pub is_glob: bool,
    /// The command.
    pub command: String,
}

/// Resolves the forms of paths, each with its place in the list. A path may lead to two files.
pub(crate) fn resolve_named<'path>(
    event: &Event,
    paths: impl Iterator<Item = &'path NamedPath>,
) -> Vec<(usize, FilePath)> {
    let root = event.project_dir.as_deref().map(|root| normal(&text(root)));
    let mut place =
        EventLocation { work_dir: &event.work_dir, root, real_root: None, linked: Vec::new() };
    let (mut files, mut places) = (Vec::new(), Vec::new());
    for (index, path) in paths.enumerate() {
        place.add(&mut files, &path.given, &path.absolute);
        places.resize(files.len(), index);
    }
    place.add_other_names(&mut files);
    places.into_iter().zip(files).collect()
}

/// Returns the paths an agent may take a text for: agents are known to trim blanks and to replace
/// `~` by the home folder.
fn readings(given: &str, home: Option<&Path>) -> Vec<String> {
    let mut readings = vec![given.to_owned()];
    let trimmed = given.trim();
    if trimmed.len() < given.len() {
        readings.push(trimmed.to_owned());
    }
    if let Some(rest) = trimmed.strip_prefix('~')
        && (rest.is_empty() || rest.starts_with('/'))
        && let Some(home) = home
    {
        readings.push(text(home) + rest);
    }
    readings
}

/// Where an event happens.
struct EventLocation<'event> {
    work_dir: &'event Path,
    /// The project's folder, normalised.
    root: Option<String>,
    /// The same with links resolved, once needed.
    real_root: Option<String>,
    /// Which of the files have hard links, and their identities.
    linked: Vec<(usize, FileId)>,
}

/// What identifies a file under any name: its device number and its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl EventLocation<'_> {
    fn add(&mut self, files: &mut Vec<FilePath>, given: &str, reading: &str) {
        if reading.is_empty() {
            return;
        }
        let absolute = if reading.starts_with('/') {
            reading.to_owned()
        } else {
            text(self.work_dir) + "/" + reading
        };
        let path = normal(&absolute);
        let (real, at_real) = real(&path);
        // To the system `link/..` is where the link leads, and some agents leave it to the system.
        let by_system = absolute
            .split('/')
            .any(|part| part == "..")
            .then(|| self::real(&absolute))
            .filter(|(by_system, _)| *by_system != real);
        self.add_file(files, given, path, real, at_real);
        if let Some((real, at_real)) = by_system {
            self.add_file(files, given, real.clone(), real, at_real);
        }
    }

    fn add_file(
        &mut self,
        files: &mut Vec<FilePath>,
        given: &str,
        path: String,
        real: String,
        at_real: Option<Names>,
    ) {
        let relative = self.root.as_deref().and_then(|root| inside(&path, root));
        let real_relative = if real == path && relative.is_some() {
            relative.clone()
        } else {
            self.real_root().and_then(|root| inside(&real, root))
        };
        if let Some(names) = at_real.filter(|names| names.count > 1) {
            self.linked.push((files.len(), names.id));
        }
        let (given, links) = (given.to_owned(), at_real.map(|names| names.count));
        files.push(FilePath {
            path,
            given,
            relative,
            real,
            real_relative,
            links,
            ..FilePath::default()
        });
    }

    fn real_root(&mut self) -> Option<&str> {
        let root = self.root.as_deref()?;
        Some(self.real_root.get_or_insert_with(|| real(root).0))
    }

    /// Finds the other names that files with hard links have in the project.
    fn add_other_names(&mut self, files: &mut [FilePath]) {
        if self.linked.is_empty() {
            return;
        }
        let linked = std::mem::take(&mut self.linked);
        for (index, _) in &linked {
            let file = &mut files[*index];
            file.unknown_names = file.links.unwrap_or_default().saturating_sub(1);
        }
        let Some(root) = self.real_root() else { return };
        search(Path::new(root), MOST_ENTRIES, |path, inode| {
            for (index, id) in linked.iter().filter(|(_, id)| id.inode == inode) {
                let name = text(path);
                let file = &mut files[*index];
                // An inode number identifies a file only together with the device.
                if file.real == name || id_of(path) != Some(*id) {
                    continue;
                }
                let relative = inside(&name, root).unwrap_or_default();
                file.other_names.push(OtherName { path: name, relative });
                file.unknown_names = file.unknown_names.saturating_sub(1);
            }
            linked.iter().any(|(index, _)| files[*index].unknown_names > 0)
        });
    }
}

/// Walks through a folder breadth-first and passes each file with its inode number to `visit`,
/// until that has seen enough or `most` entries were read.
fn search(root: &Path, most: usize, mut visit: impl FnMut(&Path, u64) -> bool) {
    use std::os::unix::fs::DirEntryExt;
    let mut folders = VecDeque::from([root.to_owned()]);
    let mut left = most;
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Some(fewer) = left.checked_sub(1) else { return };
            left = fewer;
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if !NOT_SEARCHED.iter().any(|name| entry.file_name() == *name) {
                    folders.push_back(entry.path());
                }
            } else if kind.is_file() && !visit(&entry.path(), entry.ino()) {
                return;
            }
        }
    }
}

fn id_of(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some(FileId { device: metadata.dev(), inode: metadata.ino() })
}

/// Returns the part of a path below a folder, if it is inside.
fn inside(path: &str, folder: &str) -> Option<String> {
    let rest = path.strip_prefix(folder)?;
    match rest.strip_prefix('/') {
        Some(inner) => Some(inner.to_owned()),
        None if rest.is_empty() => Some(".".to_owned()),
        // The folder is the file system root.
        None if folder.ends_with('/') => Some(rest.to_owned()),
        None => None,
    }
}

/// Returns an absolute path without `.`, `..`, `//` and a trailing `/`, going by its text alone.
pub(crate) fn normal(path: &str) -> String {
    let mut normal = String::with_capacity(path.len());
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => normal.truncate(normal.rfind('/').unwrap_or(0)),
            part => {
                normal.push('/');
                normal.push_str(part);
            }
        }
    }
    if normal.is_empty() { "/".to_owned() } else { normal }
}

/// Returns where an absolute path leads, and the names of the file there if it exists.
///
/// For a path that does not exist, the existing part is resolved, and a dangling link is followed:
/// writing there creates the file it names.
fn real(path: &str) -> (String, Option<Names>) {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let (existing, found) = longest_existing(&path);
        let rest = path[existing..].trim_start_matches('/');
        if rest.is_empty() {
            return (text(&found.path), found.names);
        }
        let (next, behind) = rest.split_once('/').unwrap_or((rest, ""));
        let Ok(target) = std::fs::read_link(found.path.join(next)) else {
            let joined = text(&found.path) + "/" + rest;
            let plain = normal(&joined);
            if plain.len() < joined.trim_end_matches('/').len() {
                // A path that leads out of a folder that does not exist may lead to something that
                // does.
                path = plain;
                continue;
            }
            return (plain, None);
        };
        path = text(&found.path.join(target)) + "/" + behind;
    }
    (normal(&path), None)
}

/// Returns the length of the longest prefix of an absolute path that exists, and where it leads.
fn longest_existing(path: &str) -> (usize, ExistingPath) {
    let whole = path.trim_end_matches('/');
    if let Some(found) = find(whole) {
        return (path.len(), found);
    }
    let parent = whole.rfind('/').unwrap_or(0);
    if let Some(found) = find(&whole[..parent]) {
        return (parent, found);
    }
    // Nothing exists below what does not exist.
    let ends: Vec<usize> = whole[..parent].match_indices('/').map(|(at, _)| at).collect();
    let exists = |end: &usize| find(&whole[..*end]).is_some();
    let count = ends.partition_point(exists);
    let end = count.checked_sub(1).map_or(0, |last| ends[last]);
    let root = || ExistingPath { path: PathBuf::from("/"), names: None };
    (end, find(&whole[..end]).unwrap_or_else(root))
}

/// What exists under a path.
struct ExistingPath {
    /// Where it leads.
    path: PathBuf,
    /// The names it has, if it is a file.
    names: Option<Names>,
}

/// How many names a file has, and which file it is.
#[derive(Clone, Copy, Debug)]
struct Names {
    count: u64,
    id: FileId,
}

/// Returns where an existing path leads; the empty path is the file system root.
#[cfg(target_os = "linux")]
fn find(path: &str) -> Option<ExistingPath> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{FileType, Mode, OFlags};
    let path = if path.is_empty() { "/" } else { path };
    // Nothing is read: it neither waits for a pipe nor wakes a device.
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&handle).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let real = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let path = real.or_else(|_| std::fs::canonicalize(path)).ok()?;
    #[allow(clippy::unnecessary_cast, reason = "their types differ between machines")]
    let names = Names {
        count: stat.st_nlink as u64,
        id: FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 },
    };
    Some(ExistingPath { path, names: is_file.then_some(names) })
}

/// Returns where an existing path leads; the empty path is the file system root.
#[cfg(not(target_os = "linux"))]
fn find(path: &str) -> Option<ExistingPath> {
    use std::os::unix::fs::MetadataExt;
    let path = std::fs::canonicalize(if path.is_empty() { "/" } else { path }).ok()?;
    let metadata = std::fs::metadata(&path).ok()?;
    let id = FileId { device: metadata.dev(), inode: metadata.ino() };
    let names = metadata.is_file().then(|| Names { count: metadata.nlink(), id });
    Some(ExistingPath { names, path })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant};

    use anyhook_model::EventKind;
    use proptest::prelude::*;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    /// A project with `secret.txt`, and links to it.
    fn project() -> (TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap().join("project");
        fs::create_dir_all(root.join("vendor/deep")).unwrap();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("vendor/secret.txt"), "x").unwrap();
        (scratch, root)
    }

    fn event(root: &Path, given: &str) -> Event {
        let work_dir = root.join("src");
        let at = jiff::Timestamp::UNIX_EPOCH;
        let mut event = Event::new(EventKind::BeforeTool, "agent-hooks", &work_dir, at);
        event.project_dir = Some(root.to_owned());
        event.tool = Some(ToolCall::new("WriteFile", json!({"path": given, "content": ""})));
        event
    }

    fn of(root: &Path, given: &str) -> CallForms {
        let event = event(root, given);
        resolve(&event);
        event.tool.unwrap().forms.get().unwrap().clone()
    }

    #[test]
    fn every_spelling_of_a_path_has_the_same_forms() {
        let (_scratch, root) = project();
        let file = root.join("vendor/secret.txt").to_string_lossy().into_owned();
        let spellings = [
            file.clone(),
            format!("{file}/"),
            format!("{file}/."),
            file.replace("/vendor/", "//vendor///"),
            file.replace("/vendor/", "/vendor/../vendor/./"),
            "../vendor/secret.txt".to_owned(),
            "../vendor/deep/../secret.txt".to_owned(),
            "../missing/../vendor/secret.txt".to_owned(),
            format!(" {file}\n"),
        ];
        for given in spellings {
            let files = of(&root, &given).files;
            let last = files.last().unwrap();
            let expected = FilePath {
                path: file.clone(),
                given: given.clone(),
                relative: Some("vendor/secret.txt".to_owned()),
                real: file.clone(),
                real_relative: Some("vendor/secret.txt".to_owned()),
                links: Some(1),
                ..FilePath::default()
            };
            // What is missing for the system exists for an agent that goes by the text.
            let found = files.iter().find(|file| file.path == expected.path).unwrap_or(last);
            assert_eq!(*found, expected, "{given:?}");
        }
    }

    #[test]
    fn links_are_followed_also_to_what_does_not_exist_yet() {
        let (_scratch, root) = project();
        symlink("../vendor/secret.txt", root.join("src/link")).unwrap();
        symlink("../vendor", root.join("src/folder")).unwrap();
        symlink("../vendor/new.txt", root.join("src/dangling")).unwrap();
        symlink("dangling", root.join("src/second")).unwrap();
        for (given, expected) in [
            ("link", "vendor/secret.txt"),
            ("folder/secret.txt", "vendor/secret.txt"),
            ("folder/new/deep/er.txt", "vendor/new/deep/er.txt"),
            ("dangling", "vendor/new.txt"),
            ("second", "vendor/new.txt"),
            ("second/behind", "vendor/new.txt/behind"),
            ("plain.txt", "src/plain.txt"),
        ] {
            let file = of(&root, given).files.remove(0);
            assert_eq!(file.relative, Some(format!("src/{given}")));
            assert_eq!(file.real_relative.as_deref(), Some(expected), "{given}");
            assert_eq!(file.real, root.join(expected).to_string_lossy(), "{given}");
        }
    }

    #[test]
    fn a_parent_of_a_link_is_seen_as_the_system_and_as_the_text_has_it() {
        let (_scratch, root) = project();
        symlink("../vendor/deep", root.join("src/link")).unwrap();
        let files = of(&root, "link/../secret.txt").files;
        let seen: Vec<_> = files.iter().filter_map(|file| file.real_relative.as_deref()).collect();
        assert_eq!(seen, ["src/secret.txt", "vendor/secret.txt"]);
    }

    #[test]
    fn a_project_behind_a_link_is_the_same_project() {
        let (scratch, root) = project();
        let link = scratch.path().join("link");
        symlink(&root, &link).unwrap();
        let file = root.join("vendor/secret.txt").to_string_lossy().into_owned();
        let files = of(&link, &file).files;
        assert_eq!(files[0].relative, None);
        assert_eq!(files[0].real_relative.as_deref(), Some("vendor/secret.txt"));
    }

    #[test]
    fn loops_hard_links_and_the_home_folder() {
        let (_scratch, root) = project();
        symlink("loop", root.join("src/loop")).unwrap();
        assert!(of(&root, "loop").files[0].real.ends_with("/src/loop"));
        fs::hard_link(root.join("vendor/secret.txt"), root.join("src/hard")).unwrap();
        assert_eq!(of(&root, "hard").files[0].links, Some(2));
        let mut event = event(&root, "~/vendor/secret.txt");
        event.home = Some(root.clone());
        resolve(&event);
        let call = event.tool.unwrap();
        let found: Vec<_> = call.forms.get().unwrap().files.iter().map(|file| file.links).collect();
        assert_eq!(found, [None, Some(2)]);
    }

    #[test]
    fn a_file_with_hard_links_is_known_by_its_other_names() {
        let (scratch, root) = project();
        let secret = root.join("vendor/secret.txt");
        fs::hard_link(&secret, root.join("src/twin")).unwrap();
        fs::hard_link(&secret, root.join("src/third")).unwrap();
        let forms = of(&root, "twin");
        let mut names: Vec<_> =
            forms.files[0].other_names.iter().map(|name| name.relative.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["src/third", "vendor/secret.txt"]);
        assert_eq!(forms.files[0].unknown_names, 0);
        let path = secret.to_string_lossy();
        assert!(forms.texts().any(|text| text == "vendor/secret.txt"));
        assert!(forms.texts().any(|text| text == path) && forms.listed().any(|text| text == path));
        // Names that are not found are counted.
        fs::hard_link(&secret, scratch.path().join("outside")).unwrap();
        fs::create_dir(root.join("node_modules")).unwrap();
        fs::hard_link(&secret, root.join("node_modules/fifth")).unwrap();
        assert_eq!(of(&root, "twin").files[0].unknown_names, 2);
        assert!(of(&root, "plain").files[0].other_names.is_empty());
    }

    #[test]
    fn a_search_ends_after_so_many_entries() {
        let (_scratch, root) = project();
        for number in 0..50 {
            fs::write(root.join(format!("src/{number}")), "").unwrap();
        }
        for (most, expected) in [(0, 0), (10, 7), (1000, 51)] {
            let mut seen = 0;
            search(&root, most, |_, _| {
                seen += 1;
                true
            });
            // `vendor`, `src` and `vendor/deep` are entries, too.
            assert!(seen >= expected && seen <= most, "{most}: {seen}");
        }
    }

    #[test]
    fn the_paths_of_any_tool_have_their_forms() {
        let (_scratch, root) = project();
        for input in [
            json!({"path": "../vendor//secret.txt"}),
            json!({"include": ["../vendor/./secret.txt"]}),
            json!({"files": [{"filePath": "../vendor/deep/../secret.txt"}]}),
        ] {
            let mut event = event(&root, "");
            event.tool = Some(ToolCall::new("mcp__fs__write", input.clone()));
            resolve(&event);
            let forms = event.tool.unwrap().forms.get().unwrap().clone();
            assert!(forms.texts().any(|text| text == "vendor/secret.txt"), "{input}");
        }
    }

    #[test]
    fn commands_in_words_are_lines_too() {
        let mut event = event(Path::new("/p"), "");
        let input = json!({"command": ["rm", "-rf", "/"], "n": [1, 2]});
        event.tool = Some(ToolCall::new("Shell", input));
        resolve(&event);
        let call = event.tool.unwrap();
        let texts: Vec<_> = call.forms.get().unwrap().texts().collect();
        assert_eq!(texts, ["rm -rf /"]);
    }

    #[test]
    fn hostile_paths_take_no_time() {
        let began = Instant::now();
        let (_scratch, root) = project();
        for given in [
            "a/".repeat(100_000),
            "../".repeat(100_000),
            "./".repeat(100_000) + "../vendor/secret.txt",
            "/".repeat(300_000),
            "x".repeat(1_000_000),
            "a\0b".to_owned(),
            String::new(),
        ] {
            let _ = of(&root, &given);
        }
        let mut event = event(&root, "x");
        let files: Vec<String> = (0..100_000).map(|number| format!("f{number}")).collect();
        event.tool.as_mut().unwrap().files = json!(files);
        resolve(&event);
        let call = event.tool.unwrap();
        assert!(call.forms.get().unwrap().is_cut);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn normal_paths_are_normal(parts in proptest::collection::vec("(\\.|\\.\\.|[ab]?)", 0..12)) {
            let path = format!("/{}", parts.join("/"));
            let once = normal(&path);
            prop_assert!(once.starts_with('/') && !once.contains("//"));
            prop_assert!(once == "/" || !once.ends_with('/'));
            prop_assert!(!once.split('/').any(|part| part == "." || part == ".."));
            prop_assert_eq!(normal(&once), once);
        }
    }
}
