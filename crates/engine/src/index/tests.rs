use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhook_model::{Event, EventKind, Skipped, ToolCall};
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::require;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::discover::ReadDepth;
use crate::hook::EntryPoint;
use crate::plan::{DispatchPlan, NotRunnable, skipped};
use crate::trust::TrustStore;

/// Folders of three levels, a state, and a project.
struct World {
    folder: TempDir,
    places: Places,
}

/// The outcome of an event: which hooks run, which do not and why, and how many are for other
/// events.
type Becomes = (Vec<(PathBuf, Option<EntryPoint>, Option<NotRunnable>)>, Vec<Skipped>, usize);

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["managed", "user/hooks", "state", "project/inner"] {
            fs::create_dir_all(path(name)).unwrap();
        }
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

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a hook with an executable script.
    fn hook(&self, folder: &str, more: &str) {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        let text =
            format!("---\nname: {name}\ndescription: d\ntrigger: before_tool\n{more}\n---\n");
        self.write(&format!("{folder}/HOOK.md"), &text);
        self.script(folder, "run");
    }

    fn script(&self, folder: &str, name: &str) {
        let script = format!("{folder}/scripts/{name}");
        self.write(&script, "#!/bin/sh\n");
        fs::set_permissions(self.path(&script), Permissions::from_mode(0o755)).unwrap();
    }

    fn trust(&self, folder: &str) {
        let store = TrustStore::new(self.places.state.as_deref().unwrap());
        let staged = store.stage(&self.path(folder)).unwrap();
        store.trust(staged, crate::now()).unwrap();
    }

    fn event(&self, command: &str) -> Event {
        event(&self.path("project/inner"), EventKind::BeforeTool, "Shell", command)
    }

    fn roots(&self) -> Roots {
        Roots::of(Some(&self.path("project")))
    }

    fn plainly(&self, event: &Event) -> Becomes {
        let installed = InstalledHooks::find_in(
            &self.places,
            &self.roots(),
            &event.work_dir,
            ReadDepth::WhatMayRun,
        );
        becomes(&installed, event)
    }

    /// Asks the index, treating everything as settled.
    fn by_index(&self, event: &Event) -> Becomes {
        let later = SystemTime::now() + Duration::from_secs(3600);
        let met = meet_at(&self.places, &self.roots(), event, &OnceCell::new(), later);
        becomes(&met.installed, event)
    }

    /// Whether the index alone has the answer.
    fn is_known(&self, event: &Event) -> bool {
        let whose = IndexKey::new(&self.places, &self.roots(), &event.work_dir).unwrap();
        read::Index::open(&whose).and_then(|index| index.lookup(event, &OnceCell::new())).is_some()
    }

    fn index_file(&self) -> PathBuf {
        let entries = fs::read_dir(self.path("state/index")).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    /// Waits until the clock that sets file times has advanced.
    fn tick(&self) {
        let probe = self.path("state/probe");
        let time = || {
            fs::write(&probe, "x").unwrap();
            let metadata = fs::metadata(&probe).unwrap();
            (metadata.ctime(), metadata.ctime_nsec())
        };
        let (began, first) = (SystemTime::now(), time());
        while time() == first {
            assert!(began.elapsed().unwrap() < Duration::from_secs(10), "the clock stands");
        }
    }
}

fn event(work_dir: &Path, kind: EventKind, tool: &str, command: &str) -> Event {
    let mut event = Event::new(kind, "agent-hooks", work_dir, jiff::Timestamp::UNIX_EPOCH);
    event.tool = Some(ToolCall::new(tool, json!({"command": command})));
    event
}

/// Asks all matchers, as if no hook changed the input.
fn becomes(installed: &InstalledHooks, event: &Event) -> Becomes {
    let plan = DispatchPlan::new(installed, event);
    let mut others = plan.passed.other_events;
    let mut left_out = plan.passed.skipped.clone();
    for (hook, why) in plan.skipped {
        match why {
            anyhook_model::SkipReason::OtherEvent => others += 1,
            why => left_out.push(skipped(hook, why)),
        }
    }
    let mut run = Vec::new();
    for step in &plan.steps {
        match step.mismatch(event) {
            Some(why) => left_out.push(skipped(step.hook, why)),
            None => {
                run.push((step.hook.folder.clone(), step.hook.entry.clone(), step.broken.clone()));
            }
        }
    }
    // In what order they are named says nothing.
    left_out.sort_by_cached_key(|one| format!("{one:?}"));
    (run, left_out, others)
}

fn names(becomes: &Becomes) -> Vec<&str> {
    becomes.0.iter().map(|(folder, ..)| folder.file_name().unwrap().to_str().unwrap()).collect()
}

#[test]
fn the_second_event_asks_the_index() {
    let world = World::new();
    world.hook("user/hooks/guard", "matcher:\n  tool: Shell\n  pattern: mkfs");
    let harmless = world.event("ls");
    assert!(!world.is_known(&harmless));
    assert_eq!(world.by_index(&harmless), world.plainly(&harmless));
    assert!(world.is_known(&harmless));
    let harmful = world.event("mkfs /dev/sda");
    assert!(world.is_known(&harmful));
    assert_eq!(names(&world.by_index(&harmful)), ["guard"]);
    assert_eq!(world.by_index(&harmful), world.plainly(&harmful));
}

/// What is only in a path's other forms is seen by the index, too.
#[test]
fn the_index_knows_the_forms_of_paths() {
    let world = World::new();
    let root = fs::canonicalize(world.path("project")).unwrap();
    fs::create_dir_all(root.join("vendor")).unwrap();
    fs::write(root.join("vendor/secret.txt"), "x").unwrap();
    symlink("vendor/secret.txt", root.join("harmless")).unwrap();
    let patterns = [
        ("relative", "^vendor/secret"),
        ("absolute", "/project/vendor/secret"),
        ("ends", "secret\\.txt$"),
        ("plain", "vendor/secret"),
        ("never", "elsewhere"),
    ];
    for (name, pattern) in patterns {
        let matter = format!("matcher:\n  tool: WriteFile\n  pattern: '{pattern}'");
        world.hook(&format!("user/hooks/{name}"), &matter);
    }
    for given in [
        "vendor/secret.txt",
        "vendor//secret.txt/",
        "src/../vendor/./secret.txt",
        "harmless",
        "./harmless/",
        "README.md",
    ] {
        let mut event = world.event("");
        event.work_dir.clone_from(&root);
        event.project_dir = Some(root.clone());
        event.tool = Some(ToolCall::new("WriteFile", json!({"path": given, "content": "x"})));
        let (fast, plain) = (world.by_index(&event.clone()), world.plainly(&event.clone()));
        assert_eq!(fast, plain, "{given}");
        let expected: &[&str] = match given {
            "README.md" => &[],
            _ => &["absolute", "ends", "plain", "relative"],
        };
        assert_eq!(names(&fast), expected, "{given}");
        assert!(world.is_known(&event), "{given}");
    }
}

#[test]
fn what_changed_just_now_is_not_remembered() {
    let world = World::new();
    world.hook("user/hooks/guard", "");
    let event = world.event("ls");
    let roots = world.roots();
    meet_at(&world.places, &roots, &event, &OnceCell::new(), SystemTime::now());
    assert!(!world.is_known(&event));
    let began = SystemTime::now();
    while !world.is_known(&event) {
        lookup(&world.places, &roots, &event, &OnceCell::new());
        assert!(began.elapsed().unwrap() < Duration::from_secs(30), "it never settles");
    }
}

/// An edit: its description and the function that makes it.
type Edit = (&'static str, fn(&World));

/// What a person or a program may do to hooks between two events.
fn edits() -> Vec<Edit> {
    fn replace(world: &World, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(world.path(name)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(world.path(name), text.replace(from, to)).unwrap();
    }
    vec![
        ("a pattern, in place and as long", |world| {
            replace(world, "user/hooks/guard/HOOK.md", "mkfs", "echo");
        }),
        ("a trigger", |world| {
            replace(world, "user/hooks/guard/HOOK.md", "before_tool", "after_tool");
        }),
        ("a mistake", |world| {
            replace(world, "user/hooks/guard/HOOK.md", "trigger: before_tool", "trigger: [");
        }),
        ("a file put in the place of another", |world| {
            world
                .write("user/new", "---\nname: guard\ndescription: d\ntrigger: before_tool\n---\n");
            fs::rename(world.path("user/new"), world.path("user/hooks/guard/HOOK.md")).unwrap();
        }),
        ("a new hook", |world| world.hook("user/hooks/another", "")),
        ("a hook that goes", |world| {
            fs::remove_dir_all(world.path("user/hooks/log")).unwrap();
        }),
        ("a HOOK.md that goes", |world| {
            fs::remove_file(world.path("user/hooks/guard/HOOK.md")).unwrap();
        }),
        ("a folder of another name", |world| {
            fs::rename(world.path("user/hooks/log"), world.path("user/hooks/logger")).unwrap();
        }),
        ("a script of a hook that must not fail", |world| {
            fs::remove_file(world.path("user/hooks/must/scripts/run")).unwrap();
        }),
        ("a file more in a hook that must not fail", |world| {
            fs::write(world.path("user/hooks/must/scripts/more"), "").unwrap();
        }),
        ("a script that comes before the one there", |world| {
            world.script("user/hooks/log", "run");
        }),
        ("a script that may no longer be run", |world| {
            let script = world.path("user/hooks/log/scripts/run.sh");
            fs::set_permissions(script, Permissions::from_mode(0o644)).unwrap();
        }),
        ("a script without its first line", |world| {
            fs::write(world.path("user/hooks/log/scripts/run.sh"), "exit 0\n").unwrap();
        }),
        ("a script for one that had none", |world| {
            world.script("user/hooks/empty", "run");
        }),
        ("a project's hook", |world| world.hook("project/.agents/hooks/more", "")),
        ("a project's hook that is trusted", |world| world.trust("project/.agents/hooks/unknown")),
        ("a trusted hook that changes", |world| {
            fs::write(world.path("project/.agents/hooks/ours/scripts/run"), "#!/bin/sh\n:\n")
                .unwrap();
        }),
        ("a file more in a trusted hook", |world| {
            fs::write(world.path("project/.agents/hooks/ours/notes"), "x").unwrap();
        }),
        ("a trusted hook that goes", |world| {
            fs::remove_dir_all(world.path("project/.agents/hooks/ours")).unwrap();
        }),
        ("trust that is taken back", |world| {
            let store = TrustStore::new(world.places.state.as_deref().unwrap());
            let source = fs::canonicalize(world.path("project/.agents/hooks/ours")).unwrap();
            assert!(store.forget(&source).unwrap());
        }),
        ("a hook in a folder below", |world| {
            world.hook("project/inner/.agents/hooks/below", "");
            world.trust("project/inner/.agents/hooks/below");
        }),
        ("a user's hook with the name of a trusted one", |world| {
            world.hook("user/hooks/ours", "");
        }),
        ("a link that leads elsewhere", |world| {
            fs::remove_file(world.path("user/hooks/linked")).unwrap();
            symlink(world.path("elsewhere/two"), world.path("user/hooks/linked")).unwrap();
        }),
        ("a change behind a link", |world| {
            replace(world, "elsewhere/one/HOOK.md", "name: one", "name: two");
        }),
        ("a file behind a link that becomes a folder", |world| {
            fs::remove_file(world.path("elsewhere/file")).unwrap();
            world.hook("elsewhere/file", "");
        }),
        ("managed hooks that come", |world| {
            fs::set_permissions(world.path("managed"), Permissions::from_mode(0o755)).unwrap();
            world.hook("managed/hooks/theirs", "");
        }),
        ("the project in another folder of the same name", |world| {
            fs::rename(world.path("project"), world.path("before")).unwrap();
            fs::create_dir_all(world.path("project/inner")).unwrap();
        }),
    ]
}

/// Hooks of all kinds.
fn zoo() -> World {
    let world = World::new();
    world.hook("user/hooks/guard", "matcher:\n  tool: Shell\n  pattern: mkfs");
    world.hook("user/hooks/must", "on_failure: block\nmatcher:\n  pattern: never");
    world.hook("user/hooks/log", "matcher:\n  pattern: echo");
    fs::remove_file(world.path("user/hooks/log/scripts/run")).unwrap();
    world.script("user/hooks/log", "run.sh");
    world.hook("user/hooks/empty", "");
    fs::remove_file(world.path("user/hooks/empty/scripts/run")).unwrap();
    world.hook("elsewhere/one", "");
    world.hook("elsewhere/two", "");
    world.write("elsewhere/file", "no hook");
    symlink(world.path("elsewhere/one"), world.path("user/hooks/linked")).unwrap();
    symlink(world.path("elsewhere/file"), world.path("user/hooks/nothing")).unwrap();
    world.hook("project/.agents/hooks/unknown", "");
    world.hook("project/.agents/hooks/ours", "matcher:\n  pattern: mkfs");
    world.trust("project/.agents/hooks/ours");
    world
}

#[test]
fn every_edit_takes_effect_at_the_next_event() {
    for (what, edit) in edits() {
        let world = zoo();
        let events = [world.event("echo hello"), world.event("mkfs"), world.event("ls")];
        for event in &events {
            assert_eq!(world.by_index(event), world.plainly(event), "before {what}");
            assert!(world.is_known(event), "before {what}");
        }
        world.tick();
        edit(&world);
        for event in &events {
            assert_eq!(world.by_index(event), world.plainly(event), "after {what}");
        }
    }
}

/// A kind of damage: its description and the function that causes it.
type Damage = (&'static str, fn(&Path));

#[test]
fn an_index_that_nobody_may_trust_is_made_anew() {
    let world = World::new();
    world.hook("user/hooks/guard", "matcher:\n  pattern: mkfs");
    let event = world.event("mkfs");
    let plain = world.plainly(&event);
    let damages: [Damage; 6] = [
        ("cut", |path| fs::write(path, &fs::read(path).unwrap()[..40]).unwrap()),
        ("empty", |path| fs::write(path, "").unwrap()),
        ("another version", |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[8] += 1;
            fs::write(path, bytes).unwrap();
        }),
        ("others may write it", |path| {
            fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
        }),
        ("a link", |path| {
            fs::rename(path, path.with_extension("moved")).unwrap();
            symlink(path.with_extension("moved"), path).unwrap();
        }),
        ("a folder", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let _ = fs::remove_dir_all(world.path("state/index"));
        assert_eq!(world.by_index(&event), plain);
        damage(&world.index_file());
        assert!(!world.is_known(&event), "{what}");
        assert_eq!(world.by_index(&event), plain, "{what}");
        assert!(what == "a folder" || world.is_known(&event), "{what}");
    }
}

#[test]
fn an_index_of_another_user_is_made_anew() {
    require!(MachineNeed::Users);
    let world = World::new();
    world.hook("user/hooks/guard", "matcher:\n  pattern: mkfs");
    let event = world.event("mkfs");
    let plain = world.plainly(&event);
    assert_eq!(world.by_index(&event), plain);
    std::os::unix::fs::chown(world.index_file(), Some(65534), None).unwrap();
    assert!(!world.is_known(&event));
    assert_eq!(world.by_index(&event), plain);
    assert!(world.is_known(&event));
}

#[test]
fn no_damaged_byte_changes_an_answer() {
    let world = World::new();
    world.hook("user/hooks/guard", "matcher:\n  tool: Shell|Write\n  pattern: mkfs\\s");
    world.hook("user/hooks/log", "");
    let events = [world.event("mkfs /dev"), world.event("ls")];
    let plain: Vec<Becomes> = events.iter().map(|event| world.plainly(event)).collect();
    world.by_index(&events[0]);
    let path = world.index_file();
    let intact = fs::read(&path).unwrap();
    for place in 0..intact.len() {
        let mut bytes = intact.clone();
        bytes[place] ^= 0x20;
        fs::write(&path, &bytes).unwrap();
        for (event, plain) in events.iter().zip(&plain) {
            let root = world.path("project");
            // Read-only: the damage stays for the other event.
            let whose =
                IndexKey::new(&world.places, &Roots::of(Some(&root)), &event.work_dir).unwrap();
            if let Some(met) =
                read::Index::open(&whose).and_then(|index| index.lookup(event, &OnceCell::new()))
            {
                assert_eq!(becomes(&met.installed, event), *plain, "byte {place}");
            }
        }
    }
}

/// An index of another project in place of ours: none of it counts.
#[test]
fn a_project_has_its_own_index() {
    let world = World::new();
    world.hook("user/hooks/guard", "matcher:\n  pattern: mkfs");
    let (ours, theirs) = (world.path("project"), world.path("theirs"));
    fs::create_dir_all(&theirs).unwrap();
    let later = SystemTime::now() + Duration::from_secs(3600);
    let event_of = |root: &Path| event(root, EventKind::BeforeTool, "Shell", "mkfs");
    for root in [&ours, &theirs] {
        meet_at(&world.places, &Roots::of(Some(root)), &event_of(root), &OnceCell::new(), later);
    }
    let index_of =
        |root: &Path| IndexKey::new(&world.places, &Roots::of(Some(root)), root).unwrap();
    assert_ne!(index_of(&ours).path, index_of(&theirs).path);
    fs::copy(index_of(&theirs).path, index_of(&ours).path).unwrap();
    assert!(read::Index::open(&index_of(&theirs)).is_some());
    assert!(read::Index::open(&index_of(&ours)).is_none());
}

#[test]
fn the_roots_of_an_event_are_all_in_its_index() {
    let world = World::new();
    world.hook("user/hooks/user", "");
    for project in ["project", "other", "third"] {
        fs::create_dir_all(world.path(&format!("{project}/.git"))).unwrap();
        let hook = format!("{project}/.agents/hooks/of-{project}");
        world.hook(&hook, "");
        world.trust(&hook);
    }
    let later = SystemTime::now() + Duration::from_secs(3600);
    let project = Some(world.path("project"));
    let by_work = Roots { pinned: project.clone(), earlier: None, named: None };
    let by_host = Roots { named: Some(world.path("other")), ..by_work.clone() };
    for (roots, work_dir) in [(&by_work, "other"), (&by_host, "third"), (&by_host, "project")] {
        let event = event(&world.path(work_dir), EventKind::BeforeTool, "Shell", "ls");
        let plainly = || {
            let reading = ReadDepth::WhatMayRun;
            InstalledHooks::find_in(&world.places, roots, &event.work_dir, reading)
        };
        let by_index = || meet_at(&world.places, roots, &event, &OnceCell::new(), later).installed;
        let expected = ["user", "of-other", "of-project"];
        for installed in [plainly(), by_index(), by_index()] {
            let roots: Vec<_> = installed.hooks.iter().map(|one| one.hook.root.clone()).collect();
            let other = Some(world.path("other"));
            assert_eq!(names(&becomes(&installed, &event)), expected, "{work_dir}");
            assert_eq!(roots, [other.clone(), other, None], "{work_dir}");
        }
        let whose = IndexKey::new(&world.places, roots, &event.work_dir).unwrap();
        let index = read::Index::open(&whose).unwrap();
        assert!(index.lookup(&event, &OnceCell::new()).is_some(), "{work_dir}");
        world.tick();
        fs::rename(world.path("other"), world.path("away")).unwrap();
        let met = meet_at(&world.places, roots, &event, &OnceCell::new(), later).installed;
        assert_eq!(becomes(&met, &event), becomes(&plainly(), &event), "{work_dir}");
        fs::rename(world.path("away"), world.path("other")).unwrap();
    }
}

/// A repository that no one trusts is known by the names of its folders, and by nothing else.
#[test]
fn nothing_that_is_not_trusted_is_in_an_index() {
    let world = World::new();
    let hooks = "project/.agents/hooks/stranger";
    world.hook(hooks, "matcher:\n  pattern: SECRETWORD");
    let event = world.event("ls");
    assert_eq!(world.by_index(&event), world.plainly(&event));
    assert!(world.is_known(&event));
    let bytes = fs::read(world.index_file()).unwrap();
    let holds = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    assert!(holds(b"stranger") && !holds(b"SECRETWORD"));
}

#[test]
fn many_may_read_and_write_at_once() {
    let world = World::new();
    for number in 0..20 {
        world.hook(&format!("user/hooks/h{number}"), "matcher:\n  pattern: mkfs");
    }
    let event = world.event("ls");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (world, event) = (&world, &event);
            scope.spawn(move || {
                for _ in 0..40 {
                    if number == 0 {
                        let _ = fs::remove_dir_all(world.path("state/index"));
                    }
                    let (run, left_out, _) = world.by_index(event);
                    assert_eq!((run.len(), left_out.len()), (0, 20));
                }
            });
        }
    });
    let left: Vec<_> = fs::read_dir(world.path("state/index")).unwrap().collect();
    assert!(left.len() <= 1, "{left:?}");
}

/// Changes one byte of an index and corrects its checksums, as anyone with write permission can.
fn poison(bytes: &[u8], place: usize) -> Vec<u8> {
    let head_end = encoding::head_end(bytes).unwrap();
    let (mut head, rest) = (bytes[24..head_end].to_vec(), &bytes[head_end..]);
    head[place] ^= 1;
    encoding::assemble(&head, rest).unwrap()
}

#[test]
fn a_poisoned_index_is_found() {
    let world = World::new();
    world.hook("user/hooks/guard", "matcher:\n  tool: Shell\n  pattern: mkfs\non_failure: block");
    world.hook("project/.agents/hooks/other", "");
    world.trust("project/.agents/hooks/other");
    let (event, harmful) = (world.event("ls"), world.event("mkfs /dev/sda"));
    world.by_index(&event);
    assert!(world.is_known(&event));
    assert_eq!(disagreements(&world.places), []);
    let file = world.index_file();
    let whole = fs::read(&file).unwrap();
    // The guard's pattern: it no longer matches what it is there for.
    let place = whole.windows(4).position(|bytes| bytes == b"mkfs").unwrap() - 24;
    fs::write(&file, poison(&whole, place)).unwrap();
    assert_eq!(names(&world.by_index(&harmful)), ["other"], "the attack works");
    let found = disagreements(&world.places);
    let work_dir = world.path("project/inner");
    assert_eq!(found, [Disagreement { file: file.clone(), work_dir }]);
    found[0].remove().unwrap();
    assert_eq!(world.by_index(&harmful), world.plainly(&harmful));
    assert_eq!(disagreements(&world.places), []);
    // Any byte of the head: the change is detected, or the index is not used.
    let whole = fs::read(&file).unwrap();
    for place in 0..encoding::head_end(&whole).unwrap() - 24 {
        fs::write(&file, poison(&whole, place)).unwrap();
        let is_found = !disagreements(&world.places).is_empty();
        let plainly = [&event, &harmful].map(|event| (world.plainly(event), event));
        let is_harmless = plainly.iter().all(|(plainly, event)| {
            let met = IndexKey::new(&world.places, &world.roots(), &event.work_dir)
                .and_then(|whose| read::Index::open(&whose))
                .and_then(|index| index.lookup(event, &OnceCell::new()));
            met.is_none_or(|met| becomes(&met.installed, event) == *plainly)
        });
        assert!(is_found || is_harmless, "byte {place}");
    }
}

#[test]
fn an_edit_is_no_disagreement() {
    for (what, edit) in edits() {
        let world = zoo();
        world.by_index(&world.event("ls"));
        world.tick();
        edit(&world);
        assert_eq!(disagreements(&world.places), [], "{what}");
    }
}

#[test]
fn old_ones_are_forgotten() {
    let world = World::new();
    let event = world.event("ls");
    world.by_index(&event);
    let state = world.path("state");
    forget_old(&state, SystemTime::now());
    assert!(world.is_known(&event));
    forget_old(&state, SystemTime::now() + FORGET_AFTER + Duration::from_secs(60));
    assert!(!world.is_known(&event));
}

/// A generated hook: its level, and what its HOOK.md says.
fn any_hook() -> impl Strategy<Value = (&'static str, String)> {
    let level = prop::sample::select(vec!["user/hooks", "project/.agents/hooks"]);
    let line = |choices: &'static [&'static str]| prop::sample::select(choices);
    (
        level,
        line(&["", "on_failure: block", "mode: shadow", "async: true", "hosts: [codex]"]),
        line(&["", "priority: 5", "priority: 900", "metadata:\n  locked: true"]),
        line(&[
            "",
            "matcher:\n  tool: Shell",
            "matcher:\n  tool: Read|Write",
            "matcher:\n  tool: S.*",
            "matcher:\n  tool: '(?i)shell'\n  pattern: rm",
            "matcher:\n  pattern: '\\brm\\s+-rf?\\b'",
            "matcher:\n  pattern: '(?i)DROP\\s+table'",
            "matcher:\n  tool: Shell\n  pattern: '^ls$'",
            "matcher:\n  pattern: '.*'",
            "matcher:\n  pattern: '('",
            "matcher:\n  shell: {program: rm}",
            "matcher:\n  shell: {program: [ls, r?], not: {flags: -r}}",
            "matcher:\n  tool: Shell\n  shell: {targets: x}",
            "matcher:\n  files: {delete: x}",
            "matcher:\n  files: [inner]",
            "matcher:\n  any: [{shell: {program: echo}}, {mcp: {server: a}}]",
            "matcher:\n  mcp: {tool: b}",
            "matcher:\n  not: {shell: {program: ls}}",
            "matcher:\n  shell: {programs: rm}",
        ]),
        line(&["", "", "decision: ask", "decision: deny\nmodified_input: {command: ls}"]),
    )
        .prop_map(|(level, one, two, three, four)| {
            let lines: Vec<&str> =
                [one, two, three, four].into_iter().filter(|line| !line.is_empty()).collect();
            (level, lines.join("\n"))
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The index and the slow path agree, whatever is installed and whatever happens.
    #[test]
    fn the_index_and_the_plain_way_agree(
        hooks in prop::collection::vec((any_hook(), 0..6_u8, 0..4_u8), 0..8),
        commands in prop::collection::vec("(ls|rm -rf x|rm|drop  TABLE t|echo (rm|x)|)", 1..5),
        tool in prop::sample::select(vec!["Shell", "Read", "Write", "shell", "mcp__a__b"]),
    ) {
        let world = World::new();
        for ((level, more), name, oddity) in &hooks {
            let folder = format!("{level}/h{name}");
            world.hook(&folder, more);
            match oddity {
                1 => fs::remove_file(world.path(&folder).join("scripts/run")).unwrap(),
                2 if level.starts_with("project") => world.trust(&folder),
                _ => {}
            }
        }
        for command in commands {
            for kind in [EventKind::BeforeTool, EventKind::AfterTool, EventKind::SessionStart] {
                let event = event(&world.path("project/inner"), kind, tool, &command);
                let plain = world.plainly(&event);
                // The first lookup builds the index where possible, the second uses it.
                prop_assert_eq!(&world.by_index(&event), &plain);
                prop_assert_eq!(&world.by_index(&event), &plain);
            }
        }
    }
}
