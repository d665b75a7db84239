//! Reads the settings file `anyhook.toml`, next to each level's `hooks` folder.
//!
//! A project's settings may only tighten what the levels above allow.

mod notify;
mod ui;

use std::cell::OnceCell;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use notify::{NotifyCommand, NotifySettings, NtfySettings, SlackSettings, TelegramSettings};
pub use ui::UiSettings;

use crate::discover::not_roots_alone;
use crate::hook::read_regular;
use crate::places::{PROJECT_LEVEL, Places};
use crate::problem::nearest;

/// The file's name, next to each level's `hooks` folder.
pub(crate) const FILE: &str = "anyhook.toml";

/// A gate that blocks more often than this in one turn only wastes money.
const STOP_CAP_DEFAULT: u32 = 8;
const STOP_CAP_MAX: u32 = 100;

/// How many problems of one file are reported.
const PROBLEMS_SHOWN: usize = 10;

/// The contents of one file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    stop_cap: Option<u32>,
    ask_fallback: Option<AskFallback>,
    journal: Option<JournalSettings>,
    decisions: Option<DecisionSettings>,
    notify: Option<NotifySettings>,
    person: Option<PersonSettings>,
    alarms: Option<AlarmSettings>,
    ui: Option<UiSettings>,
}

/// What an alarm does: the `[alarms]` table. A project cannot set it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlarmSettings {
    /// Whether an agent is stopped that executed a call no hook was asked about.
    pub freeze: bool,
}

/// Requirements for commands that loosen protection: the `[person]` table. A project cannot set it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PersonSettings {
    /// Whether such a command needs a terminal.
    pub terminal: TerminalRule,
}

impl PersonSettings {
    /// Reads the `[person]` table of a level's folder, whatever else is wrong with the file; `None`
    /// if it has none.
    ///
    /// One that cannot be read, or is misspelt, is an error with its position: its author wanted to
    /// be asked, so it must not be treated as missing.
    pub fn of_level(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(FILE);
        let Some(text) = read_text(&path)? else { return Ok(None) };
        let table: toml::Table =
            toml::from_str(&text).map_err(|error| problem_at(&path, &text, &error))?;
        let misspelt = table.keys().find(|key| {
            let is_near = || nearest(key, TABLES.into_iter()) == Some("person");
            !TABLES.contains(&key.as_str()) && (key.as_str() == "terminal" || is_near())
        });
        if let Some(key) = misspelt {
            let line = text.lines().position(|line| line.contains(key.as_str()));
            let line = line.map_or_else(String::new, |line| format!(":{}", line + 1));
            let path = path.display();
            return Err(format!("`{path}{line}`: unknown `{key}`; did you mean `[person]`?"));
        }
        let only: OnlyPerson =
            toml::from_str(&text).map_err(|error| problem_at(&path, &text, &error))?;
        Ok(only.person)
    }
}

/// The `[person]` table of a file, and nothing else of it.
#[derive(Deserialize)]
struct OnlyPerson {
    person: Option<PersonSettings>,
}

/// The valid top-level keys of a file.
const TABLES: [&str; 8] =
    ["stop_cap", "ask_fallback", "journal", "decisions", "notify", "person", "alarms", "ui"];

/// Whether a command needs a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TerminalRule {
    /// It does not: a script may run it.
    #[default]
    Optional,
    /// Without a controlling terminal it is refused.
    Required,
}

/// When a person is asked while the agent waits: the `[decisions]` table. A project cannot set it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DecisionSettings {
    /// What waits for a person's answer.
    pub wait: Vec<WaitFor>,
    /// For how long; afterwards the agent asks in its own dialog.
    pub wait_seconds: u64,
}

impl Default for DecisionSettings {
    fn default() -> Self {
        Self { wait: Vec::new(), wait_seconds: 300 }
    }
}

/// What can wait for a person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitFor {
    /// The agent's own permission request.
    Permission,
    /// A hook that says `ask`.
    Ask,
}

/// How the journal is kept: the `[journal]` table. A project cannot set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalSettings {
    /// When a record must be on the disk before the agent gets its answer.
    pub sync: SyncMode,
    /// For how many days records are kept.
    pub keep_days: u32,
    /// How large the journal may get, with its long texts, in MiB.
    pub keep_mib: u32,
    /// How large a segment may get, in KiB.
    pub segment_kib: u32,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self { sync: SyncMode::Never, keep_days: 90, keep_mib: 1024, segment_kib: 8 * 1024 }
    }
}

impl JournalSettings {
    /// Returns how large the journal may get.
    pub fn keep_bytes(&self) -> u64 {
        u64::from(self.keep_mib) * 1024 * 1024
    }

    /// Returns how large a segment may get; at least the size of a record.
    pub fn segment_bytes(&self) -> u64 {
        u64::from(self.segment_kib.max(1)) * 1024
    }
}

/// When a record must be on the disk before the agent gets its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// When the system decides: a power cut may lose the last seconds, a crash of ours nothing.
    #[default]
    Never,
    /// If a hook decided something, or failed.
    Decisions,
    /// Always.
    Always,
}

/// What happens to an `ask` where the host cannot ask anyone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskFallback {
    /// The call is denied, with a reason that says how to approve it.
    #[default]
    Deny,
    /// The call proceeds as if the hook had no opinion.
    Pass,
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// After how many blocks in one turn a stop passes anyway.
    pub stop_cap: u32,
    /// What happens to an `ask` where the host cannot ask anyone.
    pub ask_fallback: AskFallback,
    /// How the journal is kept.
    pub journal: JournalSettings,
    /// When a person is asked while the agent waits.
    pub decisions: DecisionSettings,
    /// How a person is told that an agent needs them.
    pub notify: NotifySettings,
    /// Requirements for commands that loosen protection.
    pub person: PersonSettings,
    /// What an alarm does.
    pub alarms: AlarmSettings,
    /// The page that the daemon serves.
    pub ui: UiSettings,
    /// Files that could not be read, and values that are ignored.
    pub problems: Vec<String>,
}

/// The settings of one dispatch: read when first needed and not again, so that an edit in the
/// meantime does not give one event two values of a setting.
///
/// Most events need only the journal's, which the index provides without a file being read.
#[derive(Clone, Debug, Default)]
pub struct DispatchSettings {
    journal: OnceCell<JournalSettings>,
    all: OnceCell<Settings>,
}

impl DispatchSettings {
    /// Returns the settings; the first call reads them.
    pub(crate) fn get(&self, places: &Places, root: Option<&Path>) -> &Settings {
        self.all.get_or_init(|| {
            let mut settings = Settings::load(places, root);
            if let Some(journal) = self.journal.get() {
                settings.journal.clone_from(journal);
            }
            settings
        })
    }

    /// Returns how the journal is kept.
    pub(crate) fn journal(&self, places: &Places, root: Option<&Path>) -> JournalSettings {
        let read = || self.get(places, root).journal.clone();
        self.journal.get().cloned().unwrap_or_else(read)
    }

    /// Sets how the journal is kept, if known without reading a file; the first value counts.
    pub(crate) fn journal_is(&self, journal: JournalSettings) {
        if self.all.get().is_none() {
            let _ = self.journal.set(journal);
        }
    }
}

impl Settings {
    /// Reads the files of the three levels; a missing file sets nothing.
    pub fn load(places: &Places, root: Option<&Path>) -> Self {
        let project = root.map(|root| root.join(PROJECT_LEVEL));
        // As with hooks: a file that others may write is not the machine's.
        let file = places.managed.join(FILE);
        let fault = file
            .exists()
            .then(|| not_roots_alone(&places.managed).or_else(|| not_roots_alone(&file)))
            .flatten();
        let managed = fault.is_none().then_some(places.managed.as_path());
        let mut settings = Self::of_levels(managed, places.user.as_deref(), project.as_deref());
        settings.problems.extend(fault.map(|fault| {
            format!("ignoring managed settings: `{}` or its folder {fault}", file.display())
        }));
        settings
    }

    fn of_levels(managed: Option<&Path>, user: Option<&Path>, project: Option<&Path>) -> Self {
        let mut problems = Vec::new();
        let mut read = |level: Option<&Path>| {
            level
                .and_then(|folder| read_file(&folder.join(FILE), &mut problems))
                .unwrap_or_default()
        };
        let folders = [managed, user];
        let (managed, user, project) = (read(managed), read(user), read(project));
        // A lower cap overrides a gate earlier, so only a higher one is tighter.
        let above = match (managed.stop_cap, user.stop_cap) {
            (Some(managed), Some(user)) => managed.max(user),
            (one, other) => one.or(other).unwrap_or(STOP_CAP_DEFAULT),
        };
        // Only higher: with a lower cap a gate would give up earlier.
        let stop_cap = project.stop_cap.unwrap_or(above).max(above).clamp(1, STOP_CAP_MAX);
        if let Some(asked) = project.stop_cap.filter(|asked| *asked < above) {
            problems.push(format!("a project can only raise stop_cap: {asked} is below {above}"));
        }
        // Denying is tighter: a lower level may switch to it, never away from the one above.
        let ask_fallback = match (managed.ask_fallback, user.ask_fallback, project.ask_fallback) {
            (Some(AskFallback::Deny), _, _) | (_, _, Some(AskFallback::Deny)) => AskFallback::Deny,
            (managed, user, _) => user.or(managed).unwrap_or_default(),
        };
        // A repository must neither silence a person's notices nor run a command through them.
        let not_its_own = [
            ("journal", "the journal", project.journal.is_some()),
            ("decisions", "decisions", project.decisions.is_some()),
            ("notify", "notices", project.notify.is_some()),
            ("person", "who counts as a person", project.person.is_some()),
            ("alarms", "alarms", project.alarms.is_some()),
            ("ui", "the page", project.ui.is_some()),
        ];
        for (table, what, _) in not_its_own.into_iter().filter(|(_, _, said)| *said) {
            problems.push(format!("a project cannot configure {what}: ignoring its [{table}]"));
        }
        // The machine's file takes precedence: an agent may write the user's file.
        let journal = managed.journal.or(user.journal).unwrap_or_default();
        let decisions = managed.decisions.or(user.decisions).unwrap_or_default();
        let notify = managed.notify.or(user.notify).unwrap_or_default();
        let ui = managed.ui.or(user.ui).unwrap_or_default();
        // Stopping is tighter: neither level can revoke the other's.
        let freezes = |alarms: Option<AlarmSettings>| alarms.is_some_and(|alarms| alarms.freeze);
        let alarms = AlarmSettings { freeze: freezes(managed.alarms) || freezes(user.alarms) };
        // Requiring is tighter: neither level can revoke the other's. A file that cannot be read
        // may have required it; why it cannot be read is among the problems already.
        let requires = |level: Option<&Path>| {
            level.is_some_and(|folder| match PersonSettings::of_level(folder) {
                Ok(person) => {
                    person.is_some_and(|person| person.terminal == TerminalRule::Required)
                }
                Err(_) => true,
            })
        };
        let terminal = if folders.into_iter().any(requires) {
            TerminalRule::Required
        } else {
            TerminalRule::Optional
        };
        let person = PersonSettings { terminal };
        Self { stop_cap, ask_fallback, journal, decisions, notify, person, alarms, ui, problems }
    }
}

fn read_file(path: &Path, problems: &mut Vec<String>) -> Option<File> {
    match read_text(path) {
        Ok(None) => None,
        Ok(Some(text)) => match toml::from_str(&text) {
            Ok(file) => Some(file),
            Err(_) => {
                problems.extend(problems_of(path, text));
                None
            }
        },
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
}

/// Returns the first problems of a file. Its reader stops at the first one, so the line of each is
/// blanked out to find the next, and with the head of a table all of the table.
fn problems_of(path: &Path, mut text: String) -> Vec<String> {
    let mut problems = Vec::new();
    while problems.len() < PROBLEMS_SHOWN {
        let Err(error) = toml::from_str::<File>(&text) else { break };
        problems.push(problem_at(path, &text, &error));
        let Some(at) = error.span().map(|span| span.start.min(text.len())) else { break };
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let is_head = text[start..].trim_start().starts_with('[');
        let ends_with = if is_head { "\n[" } else { "\n" };
        let end = text[at..].find(ends_with).map_or(text.len(), |length| at + length);
        if text[start..end].trim().is_empty() {
            break;
        }
        let blank = text[start..end].replace(|letter| letter != '\n', " ");
        text.replace_range(start..end, &blank);
    }
    problems
}

/// Reads a file; `None` if it does not exist.
fn read_text(path: &Path) -> Result<Option<String>, String> {
    match read_regular(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("`{}` cannot be read: {error}", path.display())),
    }
}

/// Describes what is wrong with a file, and where.
fn problem_at(path: &Path, text: &str, error: &toml::de::Error) -> String {
    let place = error.span().map_or_else(String::new, |span| {
        let before = &text[..span.start.min(text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        format!(":{line}:{column}")
    });
    format!("`{}{place}`: {}", path.display(), error.message())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_problem_of_a_file_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let text = "stop_cap = \"x\"\nstop_kap = 3\n\n[decisons]\nwait = [\"ask\"]\n\n[journal]\nkeep_weeks = 2\n";
        fs::write(scratch.path().join(FILE), text).unwrap();
        let settings = Settings::of_levels(None, Some(scratch.path()), None);
        let places: Vec<bool> = [":1:", ":2:", ":4:", ":8:"]
            .iter()
            .map(|place| settings.problems.iter().any(|problem| problem.contains(place)))
            .collect();
        assert_eq!((settings.problems.len(), places), (4, vec![true; 4]), "{settings:?}");
    }

    fn caps(managed: Option<u32>, user: Option<u32>, project: Option<u32>) -> Settings {
        let scratch = tempfile::tempdir().unwrap();
        let level = |name: &str, cap: Option<u32>| {
            let folder = scratch.path().join(name);
            fs::create_dir(&folder).unwrap();
            if let Some(cap) = cap {
                fs::write(folder.join(FILE), format!("stop_cap = {cap}\n")).unwrap();
            }
            folder
        };
        Settings::of_levels(
            Some(&level("managed", managed)),
            Some(&level("user", user)),
            Some(&level("project", project)),
        )
    }

    #[test]
    fn a_project_may_only_tighten() {
        assert_eq!(caps(None, None, None).stop_cap, 8);
        assert_eq!(caps(None, Some(3), None).stop_cap, 3);
        assert_eq!(caps(None, Some(3), Some(5)).stop_cap, 5);
        let refused = caps(None, None, Some(2));
        assert_eq!((refused.stop_cap, refused.problems.len()), (8, 1));
        assert_eq!(caps(Some(6), Some(3), None).stop_cap, 6);
        assert_eq!(caps(None, Some(0), None).stop_cap, 1);
    }

    #[test]
    fn only_the_person_may_let_an_ask_pass() {
        let fallback = |user: &str, project: &str| {
            let scratch = tempfile::tempdir().unwrap();
            for (level, text) in [("user", user), ("project", project)] {
                fs::create_dir(scratch.path().join(level)).unwrap();
                fs::write(scratch.path().join(level).join(FILE), text).unwrap();
            }
            Settings::of_levels(
                None,
                Some(&scratch.path().join("user")),
                Some(&scratch.path().join("project")),
            )
            .ask_fallback
        };
        assert_eq!(fallback("", ""), AskFallback::Deny);
        assert_eq!(fallback("ask_fallback = 'pass'", ""), AskFallback::Pass);
        assert_eq!(fallback("", "ask_fallback = 'pass'"), AskFallback::Deny);
        assert_eq!(fallback("ask_fallback = 'pass'", "ask_fallback = 'deny'"), AskFallback::Deny);
    }

    #[test]
    fn the_journal_is_the_machines_or_the_persons_business() {
        let scratch = tempfile::tempdir().unwrap();
        let of = |managed: &str, user: &str, project: &str| {
            let levels = [("managed", managed), ("user", user), ("project", project)];
            let folders = levels.map(|(level, text)| {
                let folder = scratch.path().join(level);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(FILE), text).unwrap();
                folder
            });
            Settings::of_levels(Some(&folders[0]), Some(&folders[1]), Some(&folders[2]))
        };
        let table = "[journal]\nsync = 'always'\nkeep_days = 7\n";
        let user = of("", table, "").journal;
        assert_eq!((user.sync, user.keep_days, user.keep_mib), (SyncMode::Always, 7, 1024));
        let managed = of("[journal]\nkeep_mib = 1", table, "");
        assert_eq!((managed.journal.keep_days, managed.journal.keep_mib), (90, 1));
        let project = of("", "", table);
        assert_eq!(project.journal, JournalSettings::default());
        assert_eq!(project.problems.len(), 1, "{:?}", project.problems);
        let unknown = of("", "[journal]\nkeep_weeks = 1", "");
        assert!(unknown.problems[0].contains("keep_weeks"), "{:?}", unknown.problems);
    }

    #[test]
    fn notices_are_the_machines_or_the_persons_business() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = |level: &str, text: &str| {
            let folder = scratch.path().join(level);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(FILE), text).unwrap();
            folder
        };
        let user = folder("user", "[notify]\nbell = true\n");
        let managed = folder("managed", "[notify]\ndesktop = false\n");
        let project = folder("project", "[notify]\ncommand = 'touch /tmp/x'\n");
        assert!(Settings::of_levels(None, Some(&user), None).notify.bell);
        let both = Settings::of_levels(Some(&managed), Some(&user), None).notify;
        assert!(!both.bell && !both.desktop);
        let refused = Settings::of_levels(None, None, Some(&project));
        assert_eq!(refused.notify, NotifySettings::default());
        assert!(refused.problems[0].contains("[notify]"), "{:?}", refused.problems);
        let unknown = folder("user", "[notify]\nbell = true\nsound = 'x'\n");
        let unknown = Settings::of_levels(None, Some(&unknown), None);
        assert!(unknown.problems[0].contains("anyhook.toml:3:1"), "{:?}", unknown.problems);
    }

    #[test]
    fn a_terminal_is_required_by_the_machine_or_the_person() {
        let scratch = tempfile::tempdir().unwrap();
        let of = |managed: &str, user: &str, project: &str| {
            let levels = [("managed", managed), ("user", user), ("project", project)];
            let folders = levels.map(|(level, text)| {
                let folder = scratch.path().join(level);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(FILE), text).unwrap();
                folder
            });
            let [managed, user, project] = &folders;
            let settings = Settings::of_levels(Some(managed), Some(user), Some(project));
            (settings.person.terminal, settings.problems.len())
        };
        let (required, optional) =
            ("[person]\nterminal = 'required'\n", "[person]\nterminal = 'optional'\n");
        assert_eq!(of("", "", ""), (TerminalRule::Optional, 0));
        assert_eq!(of("", required, ""), (TerminalRule::Required, 0));
        assert_eq!(of(required, optional, ""), (TerminalRule::Required, 0));
        assert_eq!(of("", required, optional), (TerminalRule::Required, 1));
        assert_eq!(of("", "", required), (TerminalRule::Optional, 1));
        // An error elsewhere neither removes the rule nor adds one.
        let (wrong, with) = ("stop_kap = 3\n", format!("stop_kap = 3\n{required}"));
        assert_eq!(of("", &with, ""), (TerminalRule::Required, 1));
        assert_eq!(of("", wrong, ""), (TerminalRule::Optional, 1));
    }

    #[test]
    fn a_misspelt_or_broken_rule_counts_as_required() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join(FILE);
        for (text, place) in [
            ("[person]\nterminal = 'Required'\n", ":2:12`"),
            ("[person]\nterminal = 'requird'\n", ":2:12`"),
            ("[person]\nterminal = true\n", ":2:12`"),
            ("[person]\nTerminal = 'required'\n", ":2:1`"),
            ("[person]\nterminal = required\n", ":2:12`"),
            ("person = 'required'\n", ":1:10`"),
            ("# ours\n[Person]\nterminal = 'required'\n", ":2`"),
            ("[persn]\nterminal = 'required'\n", ":1`"),
            ("terminal = 'required'\n", ":1`"),
            ("stop_cap = 3\n[person\n", ":2:8`"),
        ] {
            fs::write(&file, text).unwrap();
            let why = PersonSettings::of_level(scratch.path()).unwrap_err();
            assert!(why.contains(&format!("{FILE}{place}")), "{text}: {why}");
            let settings = Settings::of_levels(None, Some(scratch.path()), None);
            assert_eq!(settings.person.terminal, TerminalRule::Required, "{text}");
            assert_eq!(settings.problems.len(), 1, "{text}: {:?}", settings.problems);
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(PersonSettings::of_level(scratch.path()), Ok(None));
        fs::create_dir(&file).unwrap();
        assert!(PersonSettings::of_level(scratch.path()).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_broken_file_is_named_with_its_place() {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join(FILE), "# ours\nstop_kap = 3\n").unwrap();
        let settings = Settings::of_levels(None, Some(scratch.path()), None);
        assert_eq!(settings.stop_cap, 8);
        assert!(settings.problems[0].contains("anyhook.toml:2:1"), "{:?}", settings.problems);
    }
}
