//! The store under `kill -9` and on a full disk: real processes, real deaths.
//!
//! The writing process is this very test program, started again for the test `child`.

#![cfg(any(debug_assertions, feature = "faults"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhook_daemon::failpoints::POINTS;
use anyhook_daemon::store::{RecoveredStore, Store, StoreOptions};
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::require;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How many processes are killed at a moment of chance.
const RANDOM_KILLS: u64 = 300;
/// How often a process is let come by a fault point before it ends there.
const PASSES: [u64; 3] = [1, 2, 5];

const OPTIONS: StoreOptions = StoreOptions { sync: false, segment_bytes: 500, snapshot_every: 7 };

/// What is kept: a fold that notices order, doubles and holes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    count: u64,
    sum: u64,
    /// Depends on the order.
    trace: u64,
}

impl State {
    fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum += number;
        self.trace = self.trace.wrapping_mul(31).wrapping_add(number) % 1_000_000_007;
    }

    fn after(last: u64) -> Self {
        let mut state = Self::default();
        (1..=last).for_each(|number| state.add(number));
        state
    }

    /// Folds what was recovered; fails on anything but 1, 2, 3, …
    fn of(recovered: &RecoveredStore) -> Self {
        let mut state: Self = match &recovered.snapshot {
            None => Self::default(),
            Some(state) => serde_json::from_value(state.clone()).unwrap(),
        };
        for (sequence, entry) in &recovered.entries {
            assert_eq!(*sequence, state.count + 1);
            let number = entry["number"].as_u64().unwrap();
            assert_eq!(number, *sequence);
            state.add(number);
        }
        assert_eq!(state, Self::after(state.count));
        state
    }
}

/// Numbers that look like chance and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Makes a folder, in memory if that is possible: a process can be killed without a disk.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn entry(number: u64) -> Value {
    json!({ "number": number, "text": "x".repeat((number % 50) as usize) })
}

/// What the writing process does; as a test of its own it does nothing.
#[test]
fn child() {
    let Some(folder) = std::env::var_os("STORE_TEST_FOLDER").map(PathBuf::from) else { return };
    match std::env::var("STORE_TEST_ROLE").unwrap().as_str() {
        "write" => write(&folder),
        "repair" => drop(Store::repair(&folder).unwrap()),
        "fill" => fill(&folder),
        other => panic!("no role {other}"),
    }
}

/// Appends until it is killed, and tells what was confirmed.
fn write(folder: &Path) {
    let seed = std::env::var("STORE_TEST_SEED").unwrap().parse().unwrap();
    let mut chance = Chance(seed);
    let options = StoreOptions { sync: seed % 4 == 0, ..OPTIONS };
    let (mut store, recovered) = Store::open(folder, options).unwrap();
    let mut state = State::of(&recovered);
    tell(&format!("opened {}", state.count));
    for _ in 0..400 {
        let first = state.count + 1;
        let batch: Vec<Value> = (first..=first + chance.below(5)).map(entry).collect();
        let last = store.append(&batch).unwrap();
        tell(&format!("confirmed {last}"));
        (first..=last).for_each(|number| state.add(number));
        if store.wants_snapshot() {
            store.snapshot(&state).unwrap();
        }
    }
}

fn tell(line: &str) {
    let mut stdout = io::stdout().lock();
    // Whoever listened may have gone.
    let _ = stdout.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| stdout.flush());
}

fn start(
    folder: &Path,
    role: &str,
    seed: u64,
    fault: Option<&str>,
) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child", "--exact", "--nocapture"]);
    command.env("STORE_TEST_FOLDER", folder).env("STORE_TEST_ROLE", role);
    command.env("STORE_TEST_SEED", seed.to_string()).env_remove("ANYHOOK_FAULT");
    if let Some(fault) = fault {
        command.env("ANYHOOK_FAULT", fault);
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

/// Reads the next number that the child tells; none when it has ended.
fn hear(stdout: &mut BufReader<ChildStdout>) -> Option<u64> {
    let mut line = String::new();
    while stdout.read_line(&mut line).unwrap() > 0 {
        let told = line.strip_prefix("confirmed ").or(line.strip_prefix("opened "));
        // A line without its end was not told to the end.
        if let Some(number) = told.and_then(|number| number.strip_suffix('\n')) {
            return Some(number.parse().unwrap());
        }
        line.clear();
    }
    None
}

/// Runs a child to its end. Returns the last number it confirmed.
fn run(folder: &Path, role: &str, seed: u64, fault: &str) -> (ExitStatus, u64) {
    let (mut child, mut stdout) = start(folder, role, seed, Some(fault));
    let mut last = 0;
    while let Some(number) = hear(&mut stdout) {
        last = number;
    }
    (child.wait().unwrap(), last)
}

/// Opens the store and returns how many entries it has; fails if they are not 1, 2, 3, …
fn count(folder: &Path) -> u64 {
    let (_, recovered) = Store::open(folder, OPTIONS).unwrap_or_else(|error| panic!("{error}"));
    State::of(&recovered).count
}

fn files(folder: &Path, begin: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(begin))
        .collect();
    paths.sort();
    paths
}

/// Brings the store into the state that leads by a point. Returns how many entries must survive.
fn prepare(folder: &Path, point: &str) -> u64 {
    let (mut store, recovered) = Store::open(folder, OPTIONS).unwrap();
    let mut state = State::of(&recovered);
    let mut after_snapshot = 0;
    for _ in 0..2 {
        for _ in 0..8 {
            let number = state.count + 1;
            store.append(&[entry(number)]).unwrap();
            state.add(number);
        }
        after_snapshot = state.count;
        store.snapshot(&state).unwrap();
    }
    for _ in 0..2 {
        let number = state.count + 1;
        store.append(&[entry(number)]).unwrap();
        state.add(number);
    }
    drop(store);
    let segment = files(folder, "log-").pop().unwrap();
    match point {
        "store.recover.leftover_removed" => {
            for number in 0..5 {
                fs::write(folder.join(format!("left-{number}.new")), "x").unwrap();
            }
        }
        "store.recover.snapshot_moved" => {
            let newest = files(folder, "snapshot-").pop().unwrap();
            fs::write(newest, "{}").unwrap();
        }
        "store.recover.tail_copied" | "store.recover.tail_cut" => {
            OpenOptions::new().append(true).open(segment).unwrap().write_all(b"{\"n\":").unwrap();
        }
        "store.repair.snapshot_moved" => {
            for path in files(folder, "snapshot-").into_iter().chain(files(folder, "log-")) {
                fs::write(path, "{}").unwrap();
            }
            return 0;
        }
        "store.repair.segment_moved" => {
            fs::write(&files(folder, "log-")[0], "damage").unwrap();
            return state.count;
        }
        _ if point.starts_with("store.repair.") => {
            // The first entry after the snapshot; a whole one follows.
            let text = fs::read_to_string(&segment).unwrap().replacen("number", "numbed", 1);
            fs::write(&segment, text).unwrap();
            return after_snapshot;
        }
        _ => {}
    }
    state.count
}

/// Makes a test of each point of the store, and `TESTED`, which lists them.
macro_rules! killed_at {
    ($($name:ident = $point:literal,)+) => {
        const TESTED: &[&str] = &[$($point),+];

        mod killed_at {
            $(
                #[test]
                fn $name() {
                    super::killed($point);
                }
            )+
        }
    };
}

killed_at! {
    append_begun = "store.append.begun",
    append_half = "store.append.half",
    append_written = "store.append.written",
    append_synced = "store.append.synced",
    rotate_begun = "store.rotate.begun",
    rotate_written = "store.rotate.written",
    rotate_synced = "store.rotate.synced",
    rotate_renamed = "store.rotate.renamed",
    rotate_done = "store.rotate.done",
    snapshot_begun = "store.snapshot.begun",
    snapshot_written = "store.snapshot.written",
    snapshot_synced = "store.snapshot.synced",
    snapshot_renamed = "store.snapshot.renamed",
    snapshot_folder_synced = "store.snapshot.folder_synced",
    snapshot_rotated = "store.snapshot.rotated",
    tidy_snapshot_removed = "store.tidy.snapshot_removed",
    tidy_segment_removed = "store.tidy.segment_removed",
    recover_surveyed = "store.recover.surveyed",
    recover_leftover_removed = "store.recover.leftover_removed",
    recover_snapshot_moved = "store.recover.snapshot_moved",
    recover_tail_copied = "store.recover.tail_copied",
    recover_tail_cut = "store.recover.tail_cut",
    repair_surveyed = "store.repair.surveyed",
    repair_snapshot_moved = "store.repair.snapshot_moved",
    repair_segment_moved = "store.repair.segment_moved",
    repair_tail_moved = "store.repair.tail_moved",
}

#[test]
fn every_point_has_its_test() {
    let expected: Vec<&str> =
        POINTS.iter().copied().filter(|point| point.starts_with("store.")).collect();
    assert_eq!(TESTED, expected);
}

/// Kills the writing process at a point, some passes one after the other on the same store.
fn killed(point: &str) {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let role = if point.starts_with("store.repair.") { "repair" } else { "write" };
    let mut killed = 0;
    for pass in PASSES {
        let before = prepare(&folder, point);
        let (status, confirmed) = run(&folder, role, pass, &format!("{point}:{pass}"));
        killed += u64::from(status.signal() == Some(9));
        assert!(status.signal() == Some(9) || status.success(), "{point}:{pass}: {status}");
        if role == "repair" {
            Store::repair(&folder).unwrap();
        }
        let found = count(&folder);
        // What was confirmed, and at most one append more that was not.
        let certain = before.max(confirmed);
        assert!((certain..=certain + 5).contains(&found), "{point}:{pass}: {certain}, {found}");
    }
    assert!(killed > 0, "nobody came by {point}");
}

#[test]
fn killed_at_any_moment() {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let mut chance = Chance(42);
    let mut last = 0;
    let mut in_the_middle = 0;
    for seed in 0..RANDOM_KILLS {
        let (mut child, mut stdout) = start(&folder, "write", seed, None);
        let opened = hear(&mut stdout);
        if let Some(opened) = opened {
            assert_eq!(opened, last);
        }
        let mut confirmed = last;
        for _ in 0..chance.below(40) {
            confirmed = hear(&mut stdout).unwrap_or(confirmed);
        }
        // A little further on, wherever that is.
        let (began, pause) = (Instant::now(), u128::from(chance.below(1500)));
        while began.elapsed().as_micros() < pause {}
        child.kill().unwrap();
        while let Some(number) = hear(&mut stdout) {
            confirmed = number;
        }
        in_the_middle += u64::from(child.wait().unwrap().signal() == Some(9));
        let found = count(&folder);
        assert!((confirmed..=confirmed + 5).contains(&found), "{seed}: {confirmed}, {found}");
        last = found;
    }
    assert!(in_the_middle > RANDOM_KILLS / 2, "{in_the_middle}");
}

/// Fills a small disk, makes room, fills it again, makes room for a snapshot, goes on.
fn fill(folder: &Path) {
    let options = StoreOptions { sync: true, segment_bytes: 1 << 20, snapshot_every: 0 };
    let ballast = ["ballast-1", "ballast-2"].map(|name| folder.join(name));
    let (mut store, _) = Store::open(folder, options).unwrap();
    for path in &ballast {
        fs::write(path, vec![0; 12 * 1024]).unwrap();
    }
    let mut state = State::default();
    for path in &ballast {
        let before = state.count;
        append_until_full(&mut store, &mut state);
        assert!(state.count >= before + 10, "{before}, {state:?}");
        // A snapshot does not fit either, and that harms nothing.
        assert!(store.snapshot(&vec![0; 16 * 1024]).unwrap_err().is_disk_full());
        assert_eq!(files(folder, "snapshot-"), Vec::<PathBuf>::new());
        fs::remove_file(path).unwrap();
    }
    store.snapshot(&state).unwrap();
    append_until_full(&mut store, &mut state);
    drop(store);
    // A full disk keeps nobody from reading.
    let (_, recovered) = Store::open(folder, options).unwrap();
    assert_eq!(State::of(&recovered), state);
    assert_eq!(recovered.notes, Vec::<String>::new());
    tell("done");
}

fn append_until_full(store: &mut Store, state: &mut State) {
    loop {
        let first = state.count + 1;
        let batch: Vec<Value> = (first..first + 10).map(entry).collect();
        match store.append(&batch) {
            Ok(last) => (first..=last).for_each(|number| state.add(number)),
            Err(error) => {
                assert!(error.is_disk_full() && error.hint() == "free up disk space", "{error}");
                // What was written of it is gone again.
                let path = files(store.folder(), "log-").pop().unwrap();
                let text = fs::read_to_string(path).unwrap();
                assert!(text.ends_with("\"}\n"), "{text}");
                let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
                assert_eq!(last["n"], state.count);
                return;
            }
        }
    }
}

#[test]
fn a_disk_that_fills_up() {
    require!(MachineNeed::Mounts);
    let scratch = scratch();
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-e", "-c"]);
    command.arg("mount -t tmpfs -o size=64k none \"$STORE_TEST_FOLDER\"\nexec \"$0\" \"$@\"");
    command.arg(program).args(["child", "--exact", "--nocapture"]);
    command.env("STORE_TEST_FOLDER", scratch.path()).env("STORE_TEST_ROLE", "fill");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("done\n"), "{output:?}");
}
