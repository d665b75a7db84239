//! Session guards: what was in force when a session began, and what changed since. A session's
//! guards never shrink.
//!
//! A session remembers, in `guards` of its folder, every hook that can decide: its definition and a
//! digest of its folder, and of those with `on_failure: block` a read-only copy (in
//! `trust/copies/DIGEST/NAME`, like trusted hooks); also our own program, and the agents' settings
//! files that contain our entries. Guards installed later are added.
//!
//! At each event the installed hooks are compared with this file. While the index that answers the
//! event is one the session was compared with before (its stamp is in the file's first line), that
//! is one short read. Any difference is an alarm, once; and where a guard with `on_failure: block`
//! differs, the remembered copy decides together with the installed one: the strictest answer
//! counts, and no rule is needed for which changes weaken a guard.
//!
//! Only a person ends that, by a command ([`accept`]): `accepted` in the state folder has a line
//! for each time and guard, and the session then remembers what is installed at that time.
//!
//! The file is replaced atomically. Of two concurrent processes the last wins; the next comparison
//! finds what the other found.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhook_model::{Alarm, AlarmKind, EventKind, HookDefinition, Mode, StateDir};
use jiff::Timestamp;
use rustix::fs::{Mode as FileMode, OFlags};
use serde::{Deserialize, Serialize};

use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::digest::sha256_hex;
use crate::discover::{HookStatus, InstalledHooks};
use crate::hook::{HOOK_FILE, Hook, Level, Trust};
use crate::index::mark_of;
use crate::installation::Installation;
use crate::problem::{Problem, Severity};
use crate::regular_file::open_own;
use crate::trust::{TrustStore, digest, digest_is, paths};

/// The file's name, in a session's folder.
const FILE: &str = "guards";
/// The header of the file.
///
/// - 1: flags and stamps in the first line, then one JSON object.
const MAGIC: &str = "anyhook-guards 1";
/// The first line is no longer than this.
const HEAD: usize = 512;
/// At most this many stamps are kept: an agent that works in several folders has an index for each.
const STAMPS: usize = 8;
/// How much of it is read: its end.
const ACCEPTED_LIMIT: u64 = 256 * 1024;
/// The name in it that stands for every guard.
const EVERYTHING: &str = "*";

/// The events at which a hook can prevent something.
const DECIDING: [EventKind; 7] = [
    EventKind::BeforeTool,
    EventKind::PermissionRequest,
    EventKind::BeforeStop,
    EventKind::BeforeAgent,
    EventKind::SubagentStart,
    EventKind::SubagentStop,
    EventKind::PreCompact,
];

/// What an event needs to know about its session's guards.
#[derive(Debug, Default)]
pub struct GuardCheck {
    /// Guards that decide as remembered, in addition to what is installed.
    pub remembered: Vec<Hook>,
    /// What has to be reported now.
    pub alarms: Vec<Alarm>,
}

/// The context in which a session's guards are compared, provided by the caller.
#[derive(Debug)]
pub struct GuardContext<'scene> {
    /// The state folder.
    pub state: &'scene Path,
    /// The session's folder.
    pub folder: &'scene Path,
    /// The project root that is pinned.
    pub root: Option<&'scene Path>,
    /// The stamp of the index that answered the event; `None` if hooks were read.
    pub stamp: Option<u64>,
    /// Whether a message at this event reaches anyone.
    pub can_tell: bool,
    /// The time.
    pub now: Timestamp,
}

/// What is in the file after its first line.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Body {
    guards: Vec<Guard>,
    files: Vec<WatchedFile>,
    /// Alarms that could not be reported yet.
    untold: Vec<Alarm>,
}

/// A hook that could decide when it was first seen.
#[derive(Debug, Serialize, Deserialize)]
struct Guard {
    folder: PathBuf,
    level: String,
    /// The digest of its folder; `None` if it cannot be computed because a link leads out of it.
    digest: Option<String>,
    /// Its copy, if it has to decide as remembered.
    copy: Option<PathBuf>,
    definition: HookDefinition,
    since: Timestamp,
    /// How it differs now, and what it is now.
    #[serde(default)]
    differs: Option<Difference>,
}

/// How a guard differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Difference {
    how: String,
    digest: Option<String>,
}

/// A file on the path from the agent to us.
#[derive(Debug, Serialize, Deserialize)]
struct WatchedFile {
    path: PathBuf,
    /// The agent whose settings it is; `None` for our own program.
    host: Option<String>,
    /// How many entries it had, or its mark.
    state: u64,
    since: Timestamp,
    #[serde(default)]
    told: bool,
}

/// The first line of the file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    /// Whether a remembered copy has to decide.
    is_different: bool,
    /// Whether something was not reported yet.
    has_untold: bool,
    stamps: Vec<u64>,
}

impl Head {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(MAGIC)?.strip_prefix(' ')?.split(' ');
        let flags = words.next()?;
        Some(Self {
            is_different: flags.contains('d'),
            has_untold: flags.contains('u'),
            stamps: words.filter_map(|word| u64::from_str_radix(word, 16).ok()).collect(),
        })
    }

    fn line(&self) -> String {
        let mut line = format!("{MAGIC} -");
        line.push_str(if self.is_different { "d" } else { "" });
        line.push_str(if self.has_untold { "u" } else { "" });
        for stamp in &self.stamps {
            line.push_str(&format!(" {stamp:016x}"));
        }
        line + "\n"
    }
}

/// What was read from the file.
enum Known {
    /// It does not exist.
    Nothing,
    /// It exists but cannot be used.
    Damaged,
    /// Its first line, and the rest if it was needed.
    Read(Head, Option<Body>),
}

/// Compares what is installed with what the session remembers, and remembers what is new.
///
/// `installed` finds everything that is installed, in full; it is called only if something may have
/// changed. `begun` returns what has to be reported to a session that begins.
pub fn check(
    scene: &GuardContext<'_>,
    installed: impl FnOnce() -> InstalledHooks,
    begun: impl FnOnce(&InstalledHooks) -> Vec<Alarm>,
) -> io::Result<GuardCheck> {
    let (mut head, mut body) = match read(&scene.folder.join(FILE), scene.stamp, scene.can_tell) {
        Known::Read(head, None) if !head.is_different => return Ok(GuardCheck::default()),
        Known::Read(head, body) => (head, body.unwrap_or_default()),
        before @ (Known::Nothing | Known::Damaged) => {
            let mut body = Body::default();
            if matches!(before, Known::Damaged) {
                body.untold.push(Alarm::new(
                    AlarmKind::GuardChanged,
                    "this session's record of its guards was damaged: guards may have been removed before this event (anyhook list)",
                ));
            }
            let installed = installed();
            body.grow(&installed, scene);
            body.untold.extend(begun(&installed));
            let head = Head { stamps: scene.stamp.into_iter().collect(), ..Head::default() };
            return finish(scene, head, body, true);
        }
    };
    let is_known = scene.stamp.is_some_and(|stamp| head.stamps.contains(&stamp));
    if !is_known {
        let installed = installed();
        body.accept(&Accepted::read(scene.state));
        if body.compare(&installed) {
            // What was found when another index answered is no longer valid.
            head.stamps.clear();
        }
        body.grow(&installed, scene);
        head.stamps.truncate(STAMPS - 1);
        head.stamps.splice(..0, scene.stamp);
    }
    finish(scene, head, body, !is_known)
}

/// Returns whether guards may have to decide as remembered, without comparing or writing anything.
pub fn may_differ(folder: &Path, stamp: Option<u64>) -> bool {
    match read(&folder.join(FILE), stamp, false) {
        Known::Read(_, body) => body.is_some(),
        Known::Nothing | Known::Damaged => false,
    }
}

fn finish(
    scene: &GuardContext<'_>,
    mut head: Head,
    mut body: Body,
    mut is_new: bool,
) -> io::Result<GuardCheck> {
    let mut checked = GuardCheck::default();
    if scene.can_tell && !body.untold.is_empty() {
        checked.alarms = std::mem::take(&mut body.untold);
        is_new = true;
    }
    checked.remembered = body.remembered();
    head.is_different = body.guards.iter().any(Guard::decides_as_remembered);
    head.has_untold = !body.untold.is_empty();
    if is_new {
        let mut text = head.line();
        text.push_str(&serde_json::to_string(&body)?);
        text.push('\n');
        let path = scene.folder.join(FILE);
        let file = AtomicFile::new(&path);
        let written = file.replace_in(text.as_bytes(), || create_private_dir(scene.folder));
        if let Err(error) = written {
            // Reported anyway; the next event tries again.
            return if checked.alarms.is_empty() && checked.remembered.is_empty() {
                Err(error)
            } else {
                Ok(checked)
            };
        }
    }
    Ok(checked)
}

/// Reads the first line, and the rest if needed.
fn read(path: &Path, stamp: Option<u64>, can_tell: bool) -> Known {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match rustix::fs::open(path, flags, FileMode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Known::Nothing,
        Err(_) => return Known::Damaged,
    };
    let mut bytes = vec![0; HEAD];
    let Ok(length) = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut bytes[..])) else {
        return Known::Damaged;
    };
    bytes.truncate(length);
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let head = end.and_then(|end| Head::parse(str::from_utf8(&bytes[..end]).ok()?));
    let (Some(end), Some(head)) = (end, head) else { return Known::Damaged };
    let is_known = stamp.is_some_and(|stamp| head.stamps.contains(&stamp));
    if is_known && !head.is_different && !(head.has_untold && can_tell) {
        return Known::Read(head, None);
    }
    if length == HEAD && file.read_to_end(&mut bytes).is_err() {
        return Known::Damaged;
    }
    match serde_json::from_slice(&bytes[end + 1..]) {
        Ok(body) => Known::Read(head, Some(body)),
        Err(_) => Known::Damaged,
    }
}

impl Body {
    /// Adds guards that are not remembered yet, and files if there are none.
    fn grow(&mut self, installed: &InstalledHooks, scene: &GuardContext<'_>) {
        let store = TrustStore::new(scene.state);
        for standing in installed.hooks.iter().filter(|standing| is_guard(standing)) {
            let hook = &standing.hook;
            if !is_everywhere(hook, scene.root) {
                continue;
            }
            if self.guards.iter().all(|guard| guard.folder != hook.folder) {
                self.guards.push(Guard::of(hook, &store, scene.now));
            }
        }
        if self.files.is_empty() {
            for installation in Installation::all(scene.state) {
                self.files.extend(WatchedFile::of(&installation, scene.now));
            }
        }
    }

    /// Forgets what a person has accepted since it was remembered.
    fn accept(&mut self, accepted: &Accepted) {
        self.guards.retain(|guard| !accepted.has(&guard.definition.name, guard.since));
        let name = |file: &WatchedFile| file.path.to_string_lossy().into_owned();
        self.files.retain(|file| !accepted.has(&name(file), file.since));
    }

    /// Finds what differs, and adds what is new about that to what has to be reported. Returns
    /// whether anything differs.
    fn compare(&mut self, installed: &InstalledHooks) -> bool {
        let mut is_new = false;
        for guard in &mut self.guards {
            let differs = guard.difference(installed);
            if let Some(difference) = differs.as_ref().filter(|_| guard.differs != differs) {
                self.untold.push(guard.alarm(difference));
            }
            is_new |= guard.differs != differs;
            guard.differs = differs;
        }
        for file in &mut self.files {
            let alarm = file.alarm();
            if let Some(alarm) = alarm.filter(|_| !file.told) {
                self.untold.push(alarm);
                file.told = true;
            }
        }
        is_new
    }

    fn remembered(&self) -> Vec<Hook> {
        self.guards
            .iter()
            .filter(|guard| guard.decides_as_remembered())
            .map(Guard::as_remembered)
            .collect()
    }
}

/// Returns whether a hook can decide anything.
fn is_guard(standing: &HookStatus) -> bool {
    let hook = &standing.hook;
    let definition = &hook.definition;
    standing.out.is_none()
        && hook.fault().is_none()
        && !matches!(hook.trust, Trust::Changed(_) | Trust::Never)
        && hook.level != Level::Program
        && definition.mode == Mode::Enforce
        && !definition.is_async
        && (definition.on_failure == anyhook_model::FailMode::Block
            || definition.triggers.iter().any(|trigger| DECIDING.contains(&trigger.kind)))
}

/// Returns whether a hook is due wherever in its project the session works: a nested one is not,
/// and one of another project comes and goes with the folder the agent works in.
fn is_everywhere(hook: &Hook, root: Option<&Path>) -> bool {
    match hook.level {
        Level::Project => {
            hook.nesting == 0 && root.is_some_and(|root| hook.folder.starts_with(root))
        }
        Level::Managed | Level::User => true,
        Level::Program => false,
    }
}

impl Guard {
    fn of(hook: &Hook, store: &TrustStore, now: Timestamp) -> Self {
        let mut copy = None;
        let mut digest = content_digest(hook);
        if hook.blocks_on_failure() {
            if hook.level == Level::Project {
                copy = Some(hook.runs_from.clone());
            } else if let Ok((of_copy, folder)) = store.keep_copy(&hook.folder, digest.as_deref()) {
                (digest, copy) = (Some(of_copy), Some(folder));
            }
        }
        Self {
            folder: hook.folder.clone(),
            level: hook.level.word().to_owned(),
            digest,
            copy,
            definition: hook.definition.clone(),
            since: now,
            differs: None,
        }
    }

    fn name(&self) -> &str {
        &self.definition.name
    }

    fn blocks(&self) -> bool {
        self.definition.on_failure == anyhook_model::FailMode::Block
    }

    fn decides_as_remembered(&self) -> bool {
        self.differs.is_some() && self.blocks()
    }

    /// Returns how it differs from what it was.
    fn difference(&self, installed: &InstalledHooks) -> Option<Difference> {
        let Some(standing) =
            installed.hooks.iter().find(|standing| standing.hook.folder == self.folder)
        else {
            return Some(Difference { how: self.gone(installed), digest: None });
        };
        let hook = &standing.hook;
        let now = content_digest(hook);
        let how = self.how(standing, now.as_deref())?;
        Some(Difference { how, digest: now })
    }

    fn how(&self, standing: &HookStatus, now: Option<&str>) -> Option<String> {
        let hook = &standing.hook;
        if let Some(out) = &standing.out {
            return Some(format!("it no longer runs ({out})"));
        }
        if let Trust::Changed(why) = &hook.trust {
            return Some(why.clone());
        }
        if let Some(fault) = hook.fault() {
            return Some(format!("it cannot run ({})", fault.message));
        }
        if let Some(how) = changed_fields(&self.definition, &hook.definition) {
            return Some(how);
        }
        let is_same = self.digest.is_none() || self.digest.as_deref() == now;
        (!is_same).then(|| "its script or another of its files changed".to_owned())
    }

    fn gone(&self, installed: &InstalledHooks) -> String {
        let is_it = |standing: &&HookStatus| {
            let hook = &standing.hook;
            hook.trust == Trust::NotNeeded
                && self.digest.as_deref().is_some_and(|known| digest_is(&hook.runs_from, known))
        };
        match installed.hooks.iter().find(is_it) {
            Some(standing) => format!("its folder is now `{}`", standing.hook.folder.display()),
            None => format!("its folder `{}` was removed", self.folder.display()),
        }
    }

    fn alarm(&self, difference: &Difference) -> Alarm {
        let name = self.name();
        let then = if self.blocks() {
            "The previous version stays in force alongside the new one until `anyhook reload` or a new session."
        } else {
            "If you changed it, run `anyhook reload`; if not, run `anyhook check` and `anyhook log`."
        };
        let text = format!("guard {name} changed during this session: {}. {then}", difference.how);
        Alarm::about(AlarmKind::GuardChanged, name, text)
    }

    /// Makes the remembered hook, to be run from its copy.
    fn as_remembered(&self) -> Hook {
        let level = Level::ALL.into_iter().find(|level| level.word() == self.level);
        let level = level.unwrap_or(Level::User);
        let is_whole =
            |copy: &&PathBuf| self.digest.as_deref().is_some_and(|digest| digest_is(copy, digest));
        let mut hook = match self.copy.as_ref().filter(is_whole) {
            Some(copy) => {
                let mut hook = Hook::load(copy, level);
                hook.trust = Trust::NotNeeded;
                hook
            }
            None => {
                let mut hook = Hook::unread(&self.folder, level);
                hook.definition = self.definition.clone();
                let why = format!(
                    "{} changed during this session, and there is no copy of the previous version; run `anyhook reload` to accept it",
                    self.name()
                );
                hook.problems.push(Problem::new("no-copy", Severity::Unusable, why));
                hook.trust = Trust::NotNeeded;
                hook
            }
        };
        hook.definition.name = format!("{} (remembered)", self.name());
        hook
    }
}

/// Returns the digest of a hook's folder; where a link leads out of it, of what is read and run.
fn content_digest(hook: &Hook) -> Option<String> {
    let of_what_runs = || {
        let script = fs::read(&hook.entry.as_ref()?.script).ok()?;
        let file = fs::read(hook.runs_from.join(HOOK_FILE)).ok()?;
        Some(format!("{} {}", sha256_hex(&file), sha256_hex(&script)))
    };
    digest(&hook.runs_from).ok().or_else(of_what_runs)
}

/// Describes which fields of a definition changed, the most important first.
fn changed_fields(then: &HookDefinition, now: &HookDefinition) -> Option<String> {
    if then == now {
        return None;
    }
    if now.mode != then.mode {
        return Some("it was switched to `mode: shadow`".to_owned());
    }
    let fields = [
        ("trigger", then.triggers != now.triggers),
        ("matcher", then.matcher != now.matcher),
        ("decision", then.answer != now.answer),
        ("on_failure", then.on_failure != now.on_failure),
        ("async", then.is_async != now.is_async),
        ("hosts", then.hosts != now.hosts),
        ("stdin", then.stdin != now.stdin),
        ("timeout", then.timeout_ms != now.timeout_ms),
        ("priority", then.priority != now.priority),
        ("name", then.name != now.name),
    ];
    let changed: Vec<&str> =
        fields.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name).collect();
    Some(match changed[..] {
        [] => "its HOOK.md changed".to_owned(),
        _ => format!("its HOOK.md has a new value for `{}`", changed.join("`, `")),
    })
}

impl WatchedFile {
    fn of(installation: &Installation, now: Timestamp) -> Vec<Self> {
        let watched = |path: &PathBuf, host: Option<String>, state: u64| Self {
            path: path.clone(),
            host,
            state,
            since: now,
            told: false,
        };
        let host = || Some(installation.host.clone());
        let settings = installation.files.iter().filter_map(|path| {
            let entries = entries(path, &installation.host)?;
            (entries > 0).then(|| watched(path, host(), entries))
        });
        let program = installation.program.iter().map(|path| watched(path, None, mark_of(path)));
        settings.chain(program).collect()
    }

    fn alarm(&self) -> Option<Alarm> {
        let file = self.path.display();
        match &self.host {
            Some(host) => (entries(&self.path, host).unwrap_or(0) < self.state).then(|| {
                let text = format!(
                    "anyhook's entries were removed from `{file}` during this session: {host} no longer asks about every call. Restore them: anyhook install {host}"
                );
                Alarm::new(AlarmKind::EntryRemoved, text)
            }),
            None => (mark_of(&self.path) != self.state).then(|| {
                let text = format!(
                    "the anyhook program `{file}` was replaced during this session. If you did not update it, run anyhook doctor"
                );
                Alarm::new(AlarmKind::ProgramChanged, text)
            }),
        }
    }
}

/// Counts our entries in a settings file; `None` if it cannot be read.
fn entries(path: &Path, host: &str) -> Option<u64> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(0),
        Err(_) => return None,
    };
    let calls = text.matches(&format!("hook {host}")).count();
    let count = if calls > 0 { calls } else { usize::from(text.contains("anyhook")) };
    u64::try_from(count).ok()
}

/// What a person accepted, and when.
struct Accepted(Vec<(Timestamp, String)>);

impl Accepted {
    fn read(state: &Path) -> Self {
        let read = || -> io::Result<String> {
            let mut file = open_own(&accepted_file(state), OFlags::RDONLY)?;
            let length = file.metadata()?.len();
            io::Seek::seek(&mut file, io::SeekFrom::Start(length.saturating_sub(ACCEPTED_LIMIT)))?;
            let mut text = Vec::new();
            file.take(ACCEPTED_LIMIT).read_to_end(&mut text)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        let text = read().unwrap_or_default();
        let line = |line: &str| {
            let (at, name) = line.split_once(' ')?;
            Some((at.parse().ok()?, name.to_owned()))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// Returns whether something remembered since a time was accepted later.
    fn has(&self, name: &str, since: Timestamp) -> bool {
        self.0.iter().any(|(at, what)| *at >= since && (what == name || what == EVERYTHING))
    }
}

/// Makes active sessions use guards as they are now: those of these names (for a settings file its
/// path), or all of them if none is named.
///
/// For commands that a person gives. Call it before changing the guards.
pub fn accept(state: &Path, names: &[&str], now: Timestamp) -> io::Result<()> {
    create_private_dir(state)?;
    let names = if names.is_empty() { &[EVERYTHING] } else { names };
    let mut lines = String::new();
    for name in names {
        lines.push_str(&format!("{now} {}\n", name.replace('\n', " ")));
    }
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    open_own(&accepted_file(state), flags)?.write_all(lines.as_bytes())
}

/// Returns the paths of the settings files and programs that sessions watch.
pub fn watched_files(state: &Path) -> Vec<String> {
    let installations = Installation::all(state).into_iter();
    let paths = installations.flat_map(|one| one.files.into_iter().chain(one.program));
    let mut names: Vec<String> = paths.map(|path| path.to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the file of what a person accepted.
pub(crate) fn accepted_file(state: &Path) -> PathBuf {
    StateDir::new(state).accepted()
}

/// Returns a stamp of what is installed where no index was used.
pub(crate) fn stamp_of(installed: &InstalledHooks, state: &Path) -> u64 {
    let mut seen = Vec::new();
    for standing in &installed.hooks {
        let hook = &standing.hook;
        seen.extend_from_slice(hook.folder.as_os_str().as_bytes());
        seen.push(u8::from(is_guard(standing)));
        if is_guard(standing) {
            for path in paths(&hook.runs_from).unwrap_or_default() {
                seen.extend_from_slice(&mark_of(&path).to_le_bytes());
            }
        }
    }
    seen.extend_from_slice(&mark_of(&accepted_file(state)).to_le_bytes());
    let digits = sha256_hex(&seen);
    u64::from_str_radix(&digits[..16], 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;
    use crate::discover::ReadDepth;
    use crate::places::Places;

    const GUARD: &str = "trigger: before_tool\non_failure: block";

    struct World {
        folder: TempDir,
        places: Places,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            fs::create_dir_all(path("state")).unwrap();
            let places = Places {
                managed: path("managed"),
                user: Some(path("user")),
                state: Some(path("state")),
                home: None,
                binary: None,
            };
            Self { folder, places }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn hook(&self, name: &str, matter: &str, script: &str) -> PathBuf {
            let folder = self.path("user/hooks").join(name);
            fs::create_dir_all(folder.join("scripts")).unwrap();
            let text = format!("---\nname: {name}\ndescription: d\n{matter}\n---\n");
            fs::write(folder.join("HOOK.md"), text).unwrap();
            let run = folder.join("scripts/run");
            fs::write(&run, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
            folder
        }

        fn installed(&self) -> InstalledHooks {
            InstalledHooks::find(&self.places, None, Path::new("/"), ReadDepth::WhatMayRun)
        }

        fn check_at(&self, stamp: Option<u64>, can_tell: bool, now: i64) -> GuardCheck {
            let (state, folder) = (self.path("state"), self.path("state/sessions/s"));
            let now = Timestamp::from_second(now).unwrap();
            let scene =
                GuardContext { state: &state, folder: &folder, root: None, stamp, can_tell, now };
            check(&scene, || self.installed(), |_| Vec::new()).unwrap()
        }

        /// Returns which guards decide as remembered, and what is reported.
        fn check(&self) -> (Vec<String>, Vec<String>) {
            shown(&self.check_at(None, true, 100))
        }
    }

    fn shown(checked: &GuardCheck) -> (Vec<String>, Vec<String>) {
        let names = checked.remembered.iter().map(|hook| hook.name().to_owned()).collect();
        let how = |alarm: &Alarm| {
            let text = alarm.text.split_once(": ").unwrap().1;
            format!("{}: {}", alarm.hook.as_deref().unwrap(), text.split_once(". ").unwrap().0)
        };
        (names, checked.alarms.iter().map(how).collect())
    }

    fn none() -> (Vec<String>, Vec<String>) {
        (Vec::new(), Vec::new())
    }

    /// A change: its description and the function that makes it.
    type Change = (&'static str, fn(&World));

    #[test]
    fn a_guard_that_blocks_goes_on_deciding_whatever_becomes_of_it() {
        let changes: [Change; 8] = [
            ("its folder `[HOOKS]/guard` was removed", |world| {
                fs::remove_dir_all(world.path("user/hooks/guard")).unwrap();
            }),
            ("its folder is now `[HOOKS]/other`", |world| {
                let hooks = world.path("user/hooks");
                fs::rename(hooks.join("guard"), hooks.join("other")).unwrap();
            }),
            ("it was switched to `mode: shadow`", |world| {
                world.hook("guard", &format!("{GUARD}\nmode: shadow"), "exit 2");
            }),
            ("its HOOK.md has a new value for `trigger`", |world| {
                world.hook("guard", "trigger: session_end\non_failure: block", "exit 2");
            }),
            ("its HOOK.md has a new value for `matcher`, `timeout`", |world| {
                let more = "matcher:\n  pattern: never\ntimeout: 100";
                world.hook("guard", &format!("{GUARD}\n{more}"), "exit 2");
            }),
            ("its HOOK.md has a new value for `on_failure`", |world| {
                world.hook("guard", "trigger: before_tool", "exit 2");
            }),
            ("its HOOK.md has a new value for `hosts`", |world| {
                world.hook("guard", &format!("{GUARD}\nhosts: [codex]"), "exit 2");
            }),
            ("its script or another of its files changed", |world| {
                world.hook("guard", GUARD, "exit 0");
            }),
        ];
        for (how, change) in changes {
            let world = World::new();
            world.hook("guard", GUARD, "exit 2");
            world.hook("polite", "trigger: before_tool", "exit 2");
            world.hook("log", "trigger: after_tool\non_failure: block", "exit 2");
            assert_eq!(world.check(), none());
            assert_eq!(world.check(), none());
            change(&world);
            let hooks = world.path("user/hooks").display().to_string();
            let how = format!("guard: {}", how.replace("[HOOKS]", &hooks));
            let remembered = vec!["guard (remembered)".to_owned()];
            assert_eq!(world.check(), (remembered.clone(), vec![how.clone()]));
            // It is reported once.
            assert_eq!(world.check(), (remembered, Vec::new()), "{how}");
            let hook = &world.check_at(None, true, 100).remembered[0];
            assert!(hook.blocks_on_failure() && hook.fault().is_none(), "{how}");
            let script = fs::read_to_string(&hook.entry.as_ref().unwrap().script).unwrap();
            assert_eq!(script, "#!/bin/sh\nexit 2\n", "{how}");
        }
    }

    #[test]
    fn a_guard_that_fails_open_is_told_of_and_no_more() {
        let world = World::new();
        world.hook("polite", "trigger: before_tool", "exit 2");
        assert_eq!(world.check(), none());
        world.hook("polite", "trigger: before_tool\nmode: shadow", "exit 2");
        let how = "polite: it was switched to `mode: shadow`".to_owned();
        assert_eq!(world.check(), (Vec::new(), vec![how]));
        world.hook("polite", "trigger: before_tool", "exit 2");
        assert_eq!(world.check(), none());
    }

    /// For people who keep their scripts elsewhere.
    #[test]
    fn a_script_that_is_a_link_is_compared_by_what_it_leads_to() {
        let world = World::new();
        let folder = world.hook("guard", GUARD, "exit 2");
        let script = world.path("elsewhere");
        fs::rename(folder.join("scripts/run"), &script).unwrap();
        std::os::unix::fs::symlink(&script, folder.join("scripts/run")).unwrap();
        assert_eq!(world.check(), none());
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let how = "guard: its script or another of its files changed".to_owned();
        assert_eq!(world.check(), (vec!["guard (remembered)".to_owned()], vec![how]));
        let hook = &world.check_at(None, true, 100).remembered[0];
        assert!(hook.blocks_on_failure() && hook.fault().is_some(), "there is no copy to run");
    }

    #[test]
    fn guards_that_come_later_are_remembered_too() {
        let world = World::new();
        assert_eq!(world.check(), none());
        world.hook("guard", GUARD, "exit 2");
        assert_eq!(world.check(), none());
        fs::remove_dir_all(world.path("user/hooks/guard")).unwrap();
        assert_eq!(world.check().0, ["guard (remembered)"]);
    }

    #[test]
    fn what_a_person_accepts_counts_at_once_and_not_for_later() {
        let world = World::new();
        let state = world.path("state");
        world.hook("guard", GUARD, "exit 2");
        assert_eq!(world.check(), none());
        let at = |second| Timestamp::from_second(second).unwrap();
        accept(&state, &["guard"], at(99)).unwrap();
        world.hook("guard", GUARD, "exit 0");
        assert_eq!(world.check().0, ["guard (remembered)"], "it was accepted before");
        accept(&state, &["other"], at(101)).unwrap();
        assert_eq!(world.check().0, ["guard (remembered)"], "another one");
        accept(&state, &["guard"], at(101)).unwrap();
        assert_eq!(shown(&world.check_at(None, true, 102)), none());
        world.hook("guard", GUARD, "exit 1");
        let again = world.check_at(None, true, 103);
        assert_eq!(again.remembered.len(), 1, "it was remembered as it was accepted");
        let script = &again.remembered[0].entry.as_ref().unwrap().script;
        assert_eq!(fs::read_to_string(script).unwrap(), "#!/bin/sh\nexit 0\n");
        accept(&state, &[], at(104)).unwrap();
        assert_eq!(shown(&world.check_at(None, true, 105)), none());
    }

    #[test]
    fn what_cannot_be_told_waits() {
        let world = World::new();
        world.hook("guard", GUARD, "exit 2");
        world.check_at(Some(1), false, 100);
        fs::remove_dir_all(world.path("user/hooks/guard")).unwrap();
        let silent = world.check_at(Some(2), false, 100);
        assert_eq!((silent.remembered.len(), silent.alarms.len()), (1, 0));
        let told = world.check_at(Some(2), true, 100);
        assert_eq!((told.remembered.len(), told.alarms.len()), (1, 1));
        let after = world.check_at(Some(2), true, 100);
        assert_eq!((after.remembered.len(), after.alarms.len()), (1, 0));
    }

    /// With an index that was compared before, nothing is read.
    #[test]
    fn a_stamp_that_is_known_costs_no_comparison() {
        let world = World::new();
        world.hook("guard", GUARD, "exit 2");
        let (state, folder) = (world.path("state"), world.path("state/sessions/s"));
        let check = |stamp, installed: &dyn Fn() -> InstalledHooks| {
            let now = Timestamp::UNIX_EPOCH;
            let scene = GuardContext {
                state: &state,
                folder: &folder,
                root: None,
                stamp: Some(stamp),
                can_tell: true,
                now,
            };
            shown(&check(&scene, installed, |_| Vec::new()).unwrap())
        };
        for stamp in 1..=3 {
            assert_eq!(check(stamp, &|| world.installed()), none());
        }
        for stamp in 1..=3 {
            assert_eq!(check(stamp, &|| unreachable!()), none());
        }
        fs::remove_dir_all(world.path("user/hooks/guard")).unwrap();
        assert_eq!(check(4, &|| world.installed()).0.len(), 1);
        assert_eq!(check(4, &|| unreachable!()).0.len(), 1);
    }

    #[test]
    fn a_copy_that_was_tampered_with_blocks() {
        let world = World::new();
        world.hook("guard", GUARD, "exit 2");
        world.check();
        world.hook("guard", GUARD, "exit 0");
        let script = world.check_at(None, true, 100).remembered.remove(0).entry.unwrap().script;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(&script, "#!/bin/sh\nexit 0\n").unwrap();
        let hook = world.check_at(None, true, 100).remembered.remove(0);
        assert!(hook.blocks_on_failure() && hook.fault().is_some());
    }

    #[test]
    fn a_memory_that_was_damaged_is_told_of() {
        for damage in ["", "anyhook-guards 1 -\n{", "anyhook-guards 2 -\n{}", "x"] {
            let world = World::new();
            world.hook("guard", GUARD, "exit 2");
            world.check();
            fs::write(world.path("state/sessions/s/guards"), damage).unwrap();
            let alarms = world.check_at(None, true, 100).alarms;
            assert!(alarms[0].text.contains("was damaged"), "{alarms:?}");
            assert_eq!(world.check(), none());
        }
    }

    #[test]
    fn entries_that_are_removed_are_told_of_once() {
        let world = World::new();
        let settings = world.path("settings.json");
        let program = world.path("anyhook-hook");
        fs::write(&program, "x").unwrap();
        fs::write(&settings, "anyhook-hook hook codex\nanyhook-hook hook codex\n").unwrap();
        let record = serde_json::json!({
            "v": 1, "files": {settings.to_str().unwrap(): {}}, "program": program,
        });
        fs::create_dir_all(world.path("state/installed")).unwrap();
        fs::write(world.path("state/installed/codex-user.json"), record.to_string()).unwrap();
        let kinds = || -> Vec<AlarmKind> {
            world.check_at(None, true, 100).alarms.iter().map(|alarm| alarm.kind).collect()
        };
        assert_eq!(kinds(), []);
        fs::write(&settings, "more\nanyhook-hook hook codex\nanyhook-hook hook codex\n").unwrap();
        assert_eq!(kinds(), []);
        fs::write(&settings, "more\nanyhook-hook hook codex\n").unwrap();
        fs::write(&program, "another").unwrap();
        assert_eq!(kinds(), [AlarmKind::EntryRemoved, AlarmKind::ProgramChanged]);
        assert_eq!(kinds(), []);
    }

    #[test]
    fn a_head_survives_a_round_trip() {
        let head = Head { is_different: true, has_untold: false, stamps: vec![0, 7, u64::MAX] };
        assert_eq!(Head::parse(head.line().trim_end()), Some(head));
        let full = Head { stamps: vec![u64::MAX; STAMPS], ..Head::default() };
        assert!(full.line().len() <= HEAD);
    }
}
