//! The packs of guards on the corpus in `tests/corpus`: what they miss, and what they stop by
//! mistake. `ANYHOOK_UPDATE_CORPUS=1` writes the page with the figures.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhook_engine::discover::InstalledHooks;
use anyhook_engine::{Engine, Hook, Level, Places};
use anyhook_model::{Caller, Effect, Host as _, OpenFormat};
use anyhook_setup::packs::FoundPack;
use anyhook_setup::packs::source::SourcePlace;
use serde::Deserialize;
use serde_json::{Map, Value};
use tempfile::TempDir;

/// The packs that are judged.
const PACKS: [&str; 4] = ["no-destroy", "protect-paths", "protect-branches", "no-exfil"];
/// The page with the figures.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/corpus.md");
/// Where the calls happen: neither is a real folder.
const HOME: &str = "/home/dev";
const PROJECT: &str = "/home/dev/project";

/// A file of the corpus.
#[derive(Deserialize)]
struct CorpusFile {
    case: Vec<CorpusCase>,
}

/// A call, and what must become of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CorpusCase {
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    input: Option<Map<String, Value>>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    old: Option<String>,
    #[serde(default)]
    new: Option<String>,
    #[serde(default)]
    pattern: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    dir: Option<String>,
    #[serde(default)]
    branch: Option<String>,
    #[serde(default)]
    exists: Vec<String>,
    #[serde(default)]
    secret: Vec<String>,
    expect: Expectation,
    #[serde(default)]
    pack: Option<String>,
    #[serde(default)]
    needs: Option<String>,
    /// For people.
    #[serde(default, rename = "why")]
    _why: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Expectation {
    Deny,
    Ask,
    Unknown,
    Allow,
}

impl CorpusCase {
    /// Returns a text of the case with what it stands for.
    fn fill_in(&self, text: &str) -> String {
        text.replace("{project}", PROJECT)
            .replace("{home}", HOME)
            .replace("{secret}", &self.secret.concat())
    }

    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill_in(text).into(),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn payload(&self) -> String {
        let given = self.input.clone().unwrap_or_default();
        let mut input: Map<String, Value> =
            given.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect();
        let fields = [
            ("command", &self.command),
            ("path", &self.path),
            ("to", &self.to),
            ("content", &self.content),
            ("old", &self.old),
            ("new", &self.new),
            ("pattern", &self.pattern),
            ("url", &self.url),
            ("query", &self.query),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                input.insert(name.to_owned(), self.fill_in(value).into());
            }
        }
        let tool = self.tool.as_deref().unwrap_or("Shell");
        let work_dir = self.dir.as_ref().map_or(PROJECT.to_owned(), |dir| {
            if dir.starts_with('/') { dir.clone() } else { format!("{PROJECT}/{dir}") }
        });
        let mut event = serde_json::json!({
            "event_type": self.event.as_deref().unwrap_or("before_tool"),
            "work_dir": self.fill_in(&work_dir),
        });
        if self.event.as_deref() != Some("before_agent") {
            event["tool_name"] = tool.into();
            event["tool_input"] = input.into();
        }
        if let Some(prompt) = &self.prompt {
            event["prompt"] = self.fill_in(prompt).into();
        }
        event.to_string()
    }

    /// Creates the project, for a case that needs a real one.
    fn lay_out(&self) -> Option<TempDir> {
        if self.branch.is_none() && self.exists.is_empty() {
            return None;
        }
        let project = tempfile::tempdir().unwrap();
        let branch = self.branch.as_deref().unwrap_or("feature/login");
        let head = (".git/HEAD".to_owned(), format!("ref: refs/heads/{branch}\n"));
        let files = self.exists.iter().map(|file| (file.clone(), String::new()));
        for (path, text) in files.chain([head]) {
            let path = project.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Some(project)
    }

    fn shown(&self) -> String {
        let text = self.command.clone().unwrap_or_else(|| self.payload());
        text.replace('\n', "⏎")
    }
}

/// Reads every case, each with the name of its file.
fn corpus() -> Vec<(String, CorpusCase)> {
    let folder = crate_folder("tests/corpus");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let file: CorpusFile =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        file.case.into_iter().map(move |case| (name.clone(), case))
    };
    files.into_iter().flat_map(read).collect()
}

/// The packs as a person gets them, and an engine to ask them.
struct Judge {
    engine: Engine,
    by_pack: BTreeMap<&'static str, InstalledHooks>,
    all: InstalledHooks,
    folder: TempDir,
}

impl Judge {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut by_pack = BTreeMap::new();
        let mut every = Vec::new();
        for pack in PACKS {
            let mut hooks = hooks_of(pack, &folder.path().join(pack));
            hooks.sort_by_key(|hook| {
                (std::cmp::Reverse(hook.definition.priority), hook.definition.name.clone())
            });
            for hook in &hooks {
                assert_eq!(hook.problems, [], "{}", hook.name());
            }
            every.extend(hooks.iter().cloned());
            by_pack.insert(pack, InstalledHooks::of(hooks));
        }
        let places = Places {
            managed: "/nowhere".into(),
            user: None,
            state: None,
            home: Some(HOME.into()),
            binary: None,
        };
        let engine = Engine::new(places);
        Self { engine, by_pack, all: InstalledHooks::of(every), folder }
    }

    /// Returns what hooks decide about a case, and which one does.
    fn decide(&self, hooks: &InstalledHooks, case: &CorpusCase) -> (Option<Effect>, String) {
        let laid_out = case.lay_out();
        let project = laid_out.as_ref().map_or(Path::new(PROJECT), TempDir::path);
        let caller = Caller {
            work_dir: project.to_owned(),
            project_dir: Some(project.to_owned()),
            now: anyhook_engine::now(),
            agent_id: None,
            foreign_entry: None,
        };
        let payload = case.payload().replace(PROJECT, &project.to_string_lossy());
        let events = OpenFormat.decode(payload.as_bytes(), &caller).unwrap();
        let mut strongest = (None, String::new());
        for event in events {
            let verdict = self.engine.run_only(&OpenFormat, hooks, event, &[]).verdict;
            if verdict.effect > strongest.0 {
                strongest = (verdict.effect, verdict.by.unwrap_or_default());
            }
        }
        strongest
    }
}

/// Writes a pack's hooks with the defaults of its options, and loads them.
fn hooks_of(pack: &str, folder: &Path) -> Vec<Hook> {
    let place = SourcePlace::Folder(crate_folder("../cli/packs").join(pack));
    let found = FoundPack::of_place(&place, &[]).unwrap();
    let pack = found.pack(&BTreeMap::new()).unwrap();
    let load = |hook: &anyhook_setup::packs::PackHook| {
        let folder = folder.join(hook.name());
        for (inner, file) in &hook.files {
            let path = folder.join(inner);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &file.bytes).unwrap();
        }
        Hook::load(&folder, Level::User)
    };
    pack.hooks.iter().map(load).collect()
}

fn crate_folder(inner: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(inner)
}

/// What became of the cases.
#[derive(Default)]
struct Figures {
    /// By file: how many there are, and how many did not become what they must.
    rows: BTreeMap<String, (usize, usize)>,
    harmful: usize,
    harmless: usize,
    misses: Vec<String>,
    false_stops: Vec<String>,
    unknown: Vec<String>,
    not_counted: Vec<String>,
}

impl Figures {
    fn add(&mut self, judge: &Judge, file: &str, case: &CorpusCase) {
        let line = |more: String| format!("{file}: {}{more}", case.shown());
        if let Some(needs) = &case.needs {
            return self.not_counted.push(line(format!("  (needs {needs})")));
        }
        let row = self.rows.entry(file.to_owned()).or_default();
        row.0 += 1;
        if case.expect == Expectation::Allow {
            self.harmless += 1;
            let (effect, by) = judge.decide(&judge.all, case);
            if effect.is_some_and(|effect| effect >= Effect::Ask) {
                row.1 += 1;
                self.false_stops.push(line(format!("  (by {by})")));
            }
            return;
        }
        let pack = case.pack.as_deref().unwrap_or_default();
        let (effect, _) = judge.decide(&judge.by_pack[pack], case);
        let wanted = if case.expect == Expectation::Deny { Effect::Deny } else { Effect::Ask };
        let is_stopped = effect.is_some_and(|effect| effect >= wanted);
        if case.expect == Expectation::Unknown {
            self.unknown.push(line(String::new()));
        } else {
            self.harmful += 1;
        }
        if !is_stopped {
            row.1 += 1;
            self.misses.push(line(format!("  ({:?}, {pack}: {effect:?})", case.expect)));
        }
    }

    fn page(&self) -> String {
        let mut page = String::from(PREFACE);
        let _ = writeln!(page, "| class | cases | wrong |\n|---|--:|--:|");
        for (file, (cases, wrong)) in &self.rows {
            let _ = writeln!(page, "| {file} | {cases} | {wrong} |");
        }
        let _ = writeln!(
            page,
            "\n| | |\n|---|--:|\n| harmful or risky, and readable | {} |\n| of these missed | {} |\n| harmless | {} |\n| of these stopped | {} |\n| not readable: the guard asks | {} |\n| need something that matchers cannot express; not counted | {} |",
            self.harmful,
            self.misses.len(),
            self.harmless,
            self.false_stops.len(),
            self.unknown.len(),
            self.not_counted.len(),
        );
        for (title, lines) in [
            ("Missed", &self.misses),
            ("Stopped by mistake", &self.false_stops),
            ("Not readable", &self.unknown),
            ("Not counted", &self.not_counted),
        ] {
            let _ = writeln!(page, "\n## {title}\n");
            if lines.is_empty() {
                let _ = writeln!(page, "None.");
            } else {
                let _ = writeln!(page, "```text\n{}\n```", lines.join("\n"));
            }
        }
        page
    }
}

const PREFACE: &str = "# What the packs stop, in figures

Made by `ANYHOOK_UPDATE_CORPUS=1 cargo test -p anyhook-setup --test corpus`; do not edit.

The [packs](../packs/README.md) `no-destroy`, `protect-paths`, `protect-branches` and `no-exfil` as `anyhook add` installs them, on a [corpus](../../crates/setup/tests/corpus/README.md) of calls that was written for this project. A harmful call counts as missed if the pack that is responsible for it does not deny it, or does not ask where it is only risky. A harmless call counts as stopped if any of the packs denies it or asks. A further 1,596 rows (`held-out`) were written on 18 November 2026 without knowledge of the packs; on the first run 134 of 937 harmful ones were missed (22 of these asked instead of denying) and 11 of 659 harmless ones were stopped. Since then they are part of the corpus; for 38 of them the expectation was wrong or nothing the packs promise, and has been changed.

";

#[test]
fn the_packs_stop_what_is_harmful_and_nothing_else() {
    let judge = Judge::new();
    let mut figures = Figures::default();
    let judged: BTreeSet<&str> = PACKS.into_iter().collect();
    for (file, case) in corpus() {
        // The pack of secrets reads what is written; its cases are in its own tests.
        let is_judged = case.pack.as_deref().is_none_or(|pack| judged.contains(pack));
        if is_judged && case.event.is_none() {
            figures.add(&judge, &file, &case);
        }
    }
    let page = figures.page();
    if std::env::var_os("ANYHOOK_UPDATE_CORPUS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let wrong = || format!("{}\n{}", figures.misses.join("\n"), figures.false_stops.join("\n"));
    assert_eq!(figures.misses.len(), 0, "{}", wrong());
    assert!(figures.false_stops.len() * 200 <= figures.harmless, "{}", wrong());
    assert!(figures.harmful >= 1000 && figures.harmless >= 1000, "the corpus has shrunk");
    assert_eq!(fs::read_to_string(PAGE).unwrap_or_default(), page, "write the page again");
}

/// Whatever declarative guards say of the whole corpus, scripts with the same matchers say.
#[test]
fn declared_answers_are_those_of_scripts() {
    let judge = Judge::new();
    let folder = judge.folder.path().join("scripts");
    let script = |hook: &Hook| {
        let copy = folder.join(hook.name());
        as_script(hook, &copy);
        let script = Hook::load(&copy, Level::User);
        assert!(script.entry.is_some(), "{}", hook.name());
        script
    };
    let scripts = judge.all.hooks.iter().map(|standing| script(&standing.hook)).collect();
    let scripts = InstalledHooks::of(scripts);
    let mut decided = 0;
    for (_, case) in corpus().iter().filter(|(_, case)| case.event.is_none()) {
        let declared = judge.decide(&judge.all, case);
        assert_eq!(declared, judge.decide(&scripts, case), "{}", case.shown());
        decided += usize::from(declared.0.is_some());
    }
    assert!(decided > 1000, "{decided}");
}

/// Writes a hook with the same matcher whose script says what the hook declares.
fn as_script(hook: &Hook, folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let answer = hook.definition.answer.as_ref().unwrap();
    let text = fs::read_to_string(hook.folder.join("HOOK.md")).unwrap();
    let is_kept = |line: &&str| !["decision:", "reason:"].iter().any(|key| line.starts_with(key));
    let text: Vec<&str> = text.lines().filter(is_kept).collect();
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::write(folder.join("HOOK.md"), text.join("\n")).unwrap();
    let decision = answer.effect.unwrap().word();
    let script = format!("#!/bin/sh\ncat > /dev/null\necho '{{\"decision\": \"{decision}\"}}'\n");
    let path = folder.join("scripts/run");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}
