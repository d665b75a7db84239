//! Fetches a pack from a git repository, which may be anybody's.
//!
//! Nothing of it is ever checked out: the one commit is fetched into an empty bare repository in a
//! temporary folder, and its files are read from there as objects. So no hook, filter, attribute,
//! link, submodule or file name of the repository has any effect; what is not a plain file with a
//! plain name is refused by [`super::tree`].
//!
//! The person's own configuration of git applies, for proxies, certificates and credentials. What
//! would run a program or ask for something is overridden; `ssh` runs in batch mode.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::error::{ContentFault, GitFault, PackError};
use super::source::{GitPlace, printable};
use super::tree::{
    BYTES_LIMIT, EntryKind, FILES_LIMIT, HOOK_FILE, MANIFEST, PackTree, Shape, check_path,
    content_error,
};

/// Fetching takes no longer than this.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// A single commit of a repository of packs is not larger than this.
const FETCH_LIMIT: u64 = 128 * 1024 * 1024;
/// How often a running git is looked at.
const PAUSE: Duration = Duration::from_millis(10);
/// So much of what git says is read.
const SAID_LIMIT: u64 = 64 * 1024;

/// What is fetched is called this.
const FETCHED: &str = "refs/anyhook/pack";

/// Variables by which a caller, such as a hook of git, would move the repository or the
/// configuration that we use.
const REMOVED: [&str; 17] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_TEMPLATE_DIR",
    "GIT_EXEC_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_TRACE",
    "GIT_SSH",
    "GIT_PROTOCOL",
];

/// Settings that no configuration changes.
const SETTINGS: [&str; 10] = [
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "protocol.ext.allow=never",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// A pack that was fetched.
#[derive(Debug)]
pub struct FetchedPack {
    /// Its files.
    pub tree: PackTree,
    /// The commit.
    pub commit: String,
}

/// Fetches a pack.
pub fn fetch(place: &GitPlace) -> Result<FetchedPack, PackError> {
    let failed = |fault| PackError::Git { source_text: place.address.clone(), fault };
    let repository = Repository::new().map_err(failed)?;
    repository.fetch(place).map_err(failed)?;
    let commit = repository.commit().map_err(failed)?;
    let tree = repository.tree(place, &commit)?;
    Ok(FetchedPack { tree, commit })
}

/// An empty repository in a temporary folder.
struct Repository {
    scratch: TempDir,
}

/// An entry of a commit.
struct Entry {
    path: String,
    kind: EntryKind,
    object: String,
    size: u64,
}

impl Repository {
    fn new() -> Result<Self, GitFault> {
        let scratch = tempfile::Builder::new()
            .prefix("anyhook-pack-")
            .tempdir()
            .map_err(GitFault::Scratch)?;
        let repository = Self { scratch };
        repository.git(&["init", "--bare", "--quiet", "--template=", "."], None)?;
        Ok(repository)
    }

    fn folder(&self) -> &Path {
        self.scratch.path()
    }

    fn fetch(&self, place: &GitPlace) -> Result<(), GitFault> {
        let wanted = place.reference.as_deref().unwrap_or("HEAD");
        let wanted = format!("+{wanted}:{FETCHED}");
        let options = [
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
        ];
        let words: Vec<&str> =
            ["fetch"].into_iter().chain(options).chain(["--", &place.address, &wanted]).collect();
        self.git(&words, None).map(drop)
    }

    fn commit(&self) -> Result<String, GitFault> {
        let said = self.git(&["rev-parse", "--verify", &format!("{FETCHED}^{{commit}}")], None)?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// Reads the files of the pack, as they were committed.
    fn tree(&self, place: &GitPlace, commit: &str) -> Result<PackTree, PackError> {
        let source = super::source::SourcePlace::Git(place.clone()).recorded();
        let failed = |fault| PackError::Git { source_text: place.address.clone(), fault };
        let refuse = |path: &str, fault| content_error(&source, path, fault);
        let mut entries = self.entries(&format!("{commit}:{}", place.folder)).map_err(failed)?;
        let is_there = |name: &str| entries.iter().any(|entry| entry.path == name);
        let shape = Shape::of(is_there(MANIFEST), is_there(HOOK_FILE));
        let shape = shape.ok_or_else(|| PackError::NotAPack(source.clone()))?;
        entries.retain(|entry| shape.has(&entry.path));
        let mut tree = PackTree::default();
        let mut total = 0;
        for entry in &entries {
            check_path(&entry.path).map_err(|fault| refuse(&entry.path, fault))?;
            total += entry.size;
            if entries.len() > FILES_LIMIT || total > BYTES_LIMIT {
                return Err(refuse(&entry.path, ContentFault::TooLarge));
            }
        }
        let is_file = |entry: &&Entry| matches!(entry.kind, EntryKind::File { .. });
        let wanted: Vec<&str> =
            entries.iter().filter(is_file).map(|entry| entry.object.as_str()).collect();
        let mut contents = self.contents(&wanted).map_err(failed)?.into_iter();
        for entry in &entries {
            let bytes = if is_file(&entry) { contents.next() } else { None };
            tree.insert(&entry.path, entry.kind, bytes.unwrap_or_default())
                .map_err(|fault| refuse(&entry.path, fault))?;
        }
        Ok(tree)
    }

    fn entries(&self, tree: &str) -> Result<Vec<Entry>, GitFault> {
        let listed = self.git(&["ls-tree", "-r", "-z", "--long", "--full-tree", tree], None)?;
        let mut entries = Vec::new();
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            // What is not UTF-8 gets a name that is refused.
            let line = String::from_utf8_lossy(line).replace('\u{fffd}', "\u{1a}");
            let entry = Entry::read(&line);
            entries.push(entry.ok_or_else(|| GitFault::Said(printable(&line)))?);
        }
        Ok(entries)
    }

    /// Returns the contents of objects.
    fn contents(&self, objects: &[&str]) -> Result<Vec<Vec<u8>>, GitFault> {
        let answer = self.git(&["cat-file", "--batch"], Some(&objects.join("\n")))?;
        let mut rest = answer.as_slice();
        let cut = || GitFault::Said("the objects cannot be read".to_owned());
        let mut contents = Vec::new();
        for _ in objects {
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(cut)?;
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let size = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
            let size = size.ok_or_else(|| GitFault::Said(printable(&head)))?;
            let content = rest.get(end + 1..end + 1 + size).ok_or_else(cut)?;
            contents.push(content.to_owned());
            rest = rest.get(end + 2 + size..).ok_or_else(cut)?;
        }
        Ok(contents)
    }

    /// Runs git in the repository, and returns what it wrote to standard output.
    fn git(&self, words: &[&str], input: Option<&str>) -> Result<Vec<u8>, GitFault> {
        let (said, told) = (self.folder().join("anyhook-out"), self.folder().join("anyhook-err"));
        let create = |path: &PathBuf| File::create(path).map_err(GitFault::Scratch);
        let asked = self.folder().join("anyhook-in");
        fs::write(&asked, input.unwrap_or_default()).map_err(GitFault::Scratch)?;
        let mut command = Command::new("git");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        for name in REMOVED {
            command.env_remove(name);
        }
        command
            .args(words)
            .current_dir(self.folder())
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "https:ssh:file")
            .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=20")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            .stdin(File::open(&asked).map_err(GitFault::Scratch)?)
            .stdout(create(&said)?)
            .stderr(create(&told)?)
            // Its children end with it.
            .process_group(0);
        let child = command.spawn().map_err(GitFault::Program)?;
        let ended = self.wait(child, TIME_LIMIT)?;
        if ended.success() {
            return fs::read(&said).map_err(GitFault::Scratch);
        }
        Err(GitFault::Said(cause(&told)))
    }

    /// Waits for git, as long as it keeps to the limits.
    fn wait(&self, child: Child, limit: Duration) -> Result<ExitStatus, GitFault> {
        let mut running = Running(child);
        let end = Instant::now() + limit;
        loop {
            if let Some(ended) = running.0.try_wait().map_err(GitFault::Program)? {
                return Ok(ended);
            }
            if Instant::now() > end {
                return Err(GitFault::TimeLimit(limit));
            }
            if size_of(self.folder()) > FETCH_LIMIT {
                return Err(GitFault::TooLarge(FETCH_LIMIT));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// A running git, which is ended with its children unless it has ended.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            // What has just ended needs no end.
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

impl Entry {
    /// Reads `MODE TYPE OBJECT SIZE<tab>PATH`.
    fn read(line: &str) -> Option<Self> {
        let (head, path) = line.split_once('\t')?;
        let mut words = head.split_whitespace();
        let (mode, kind, object) = (words.next()?, words.next()?, words.next()?);
        let size = words.next()?.parse().unwrap_or(0);
        let kind = match (mode, kind) {
            ("100755", "blob") => EntryKind::File { runnable: true },
            ("120000", _) => EntryKind::Link,
            ("160000", _) => EntryKind::Submodule,
            (mode, "blob") if mode.starts_with("100") => EntryKind::File { runnable: false },
            _ => EntryKind::Special,
        };
        Some(Self { path: path.to_owned(), kind, object: object.to_owned(), size })
    }
}

/// Returns the size of all files below a folder, as far as they can be seen.
fn size_of(folder: &Path) -> u64 {
    let mut total = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => total += size_of(&entry.path()),
            Ok(metadata) => total += metadata.len(),
            Err(_) => {}
        }
    }
    total
}

/// Returns why git failed, from what it said. What the other side said is not repeated: it may be
/// anything.
fn cause(told: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(told) {
        // What cannot be read is not told.
        let _ = file.take(SAID_LIMIT).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let own = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let line =
        text.lines().rfind(own).map(|line| line.split_once(": ").map_or(line, |(_, why)| why));
    let line: String = printable(line.unwrap_or("it failed")).chars().take(300).collect();
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_what_their_mode_says() {
        let kind = |line: &str| Entry::read(line).unwrap().kind;
        let object = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        let line = |mode: &str, kind: &str| format!("{mode} {kind} {object}      12\ta b/c");
        assert_eq!(kind(&line("100644", "blob")), EntryKind::File { runnable: false });
        assert_eq!(kind(&line("100755", "blob")), EntryKind::File { runnable: true });
        assert_eq!(kind(&line("120000", "blob")), EntryKind::Link);
        assert_eq!(kind(&line("160000", "commit")), EntryKind::Submodule);
        assert_eq!(kind(&line("010000", "blob")), EntryKind::Special);
        let entry = Entry::read(&line("100644", "blob")).unwrap();
        assert_eq!((entry.path.as_str(), entry.size), ("a b/c", 12));
        assert!(Entry::read("no entry").is_none());
    }

    #[test]
    fn what_takes_too_long_is_ended_with_its_children() {
        let repository = Repository { scratch: tempfile::tempdir().unwrap() };
        let alive = repository.folder().join("alive");
        let mut command = Command::new("sh");
        let script = "(sleep 600; true) & echo $! > alive.new; mv alive.new alive; wait";
        command.args(["-c", script]).current_dir(repository.folder()).process_group(0);
        let child = command.spawn().unwrap();
        while !alive.exists() {
            std::thread::yield_now();
        }
        let waited = repository.wait(child, Duration::ZERO);
        assert!(matches!(waited, Err(GitFault::TimeLimit(_))), "{waited:?}");
        let id: i32 = fs::read_to_string(&alive).unwrap().trim().parse().unwrap();
        let state = || fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let end = Instant::now() + Duration::from_secs(60);
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(Instant::now() < end, "the child is still there");
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_cause_is_what_git_itself_says() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("x");
        fs::write(&file, "remote: \x1b[31mfatal: lies\nfatal: not \x1b here\nhint: x\n").unwrap();
        assert_eq!(cause(&file), "not \\u{1b} here");
        assert_eq!(cause(&scratch.path().join("none")), "it failed");
    }
}
