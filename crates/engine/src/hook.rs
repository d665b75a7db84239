//! A hook as loaded from its folder.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhook_model::{FailMode, HookDefinition, HookTrigger};
use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;

use crate::definition;
use crate::last_known::{is_blank, is_there};
use crate::matcher::Matcher;
use crate::problem::{Problem, Severity};

/// The file that says what a hook is.
pub(crate) const HOOK_FILE: &str = "HOOK.md";
/// The folder with its scripts.
pub(crate) const SCRIPTS: &str = "scripts";
/// Scripts that may be run, in order of preference, and the interpreter for those that cannot be
/// started directly.
pub(crate) const ENTRIES: [(&str, &str); 3] =
    [("run", "sh"), ("run.sh", "bash"), ("run.py", "python3")];

/// No more than this of a HOOK.md is read.
const FILE_LIMIT: u64 = 1024 * 1024;

/// Whose hook it is; hooks of equal priority run in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The machine's, `/etc/agents/hooks`.
    Managed,
    /// The user's, `~/.config/agents/hooks`.
    User,
    /// The project's, `.agents/hooks`.
    Project,
    /// A function of the program that embeds the engine.
    Program,
}

impl Level {
    /// Every level, in order.
    pub(crate) const ALL: [Self; 4] = [Self::Managed, Self::User, Self::Project, Self::Program];

    /// Returns the level's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Program => "program",
        }
    }
}

/// Whether a hook may run, as far as trust goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is the user's or the machine's own.
    NotNeeded,
    /// A project's hook whose content is the trusted one.
    Trusted,
    /// It was trusted with another content: why it counts as a failure now.
    Changed(String),
    /// A project's hook that no one has trusted.
    Never,
}

impl Trust {
    /// Returns the state's name.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotNeeded => "not_needed",
            Self::Trusted => "trusted",
            Self::Changed(_) => "changed",
            Self::Never => "never",
        }
    }
}

/// What is started to run a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// The script.
    pub script: PathBuf,
    /// The interpreter, where the script cannot be started directly.
    pub interpreter: Option<&'static str>,
}

/// A hook in its folder.
#[derive(Clone, Debug)]
pub struct Hook {
    /// What its HOOK.md says.
    pub definition: HookDefinition,
    /// Its matcher, ready to use.
    pub matcher: Matcher,
    /// All findings.
    pub problems: Vec<Problem>,
    /// Its level.
    pub level: Level,
    /// How far below the project root its `.agents` folder is; 0 for all but nested ones.
    pub nesting: usize,
    /// Where it was found.
    pub folder: PathBuf,
    /// Where it runs from: `folder`, or its trusted copy.
    pub runs_from: PathBuf,
    /// What is started.
    pub entry: Option<EntryPoint>,
    /// Whether it is trusted.
    pub trust: Trust,
    /// Whether a person agreed that this project's hook replaces their own hook of the same name.
    pub replaces: bool,
    /// The file of the record that makes it trusted.
    pub record: Option<PathBuf>,
    /// The project it runs in, where that is not the session's.
    pub root: Option<PathBuf>,
}

impl Hook {
    /// Makes a project's hook that is known only by its folder's name.
    pub fn unread(folder: &Path, level: Level) -> Self {
        let folder_name = folder.file_name().unwrap_or_default().to_string_lossy();
        Self {
            definition: HookDefinition::named(&folder_name),
            matcher: Matcher::default(),
            problems: Vec::new(),
            level,
            nesting: 0,
            folder: folder.to_owned(),
            runs_from: folder.to_owned(),
            entry: None,
            trust: if level == Level::Project { Trust::Never } else { Trust::NotNeeded },
            replaces: false,
            record: None,
            root: None,
        }
    }

    /// Makes a hook of a function, which the driver of the dispatch calls. The error says what is
    /// wrong with an expression of the matcher.
    ///
    /// It is a hook like any other, so that ordering, matching, chaining and fail modes exist only
    /// once.
    pub fn of_program(definition: HookDefinition) -> Result<Self, String> {
        let folder = Path::new("(program)").join(&definition.name);
        let mut hook = Self::unread(&folder, Level::Program);
        hook.matcher = Matcher::new(&definition.matcher)?;
        hook.definition = definition;
        Ok(hook)
    }

    /// Reads the hook in `folder`. Whatever is wrong with it is one of its problems.
    pub fn load(folder: &Path, level: Level) -> Self {
        let folder_name = folder.file_name().unwrap_or_default().to_string_lossy();
        let mut hook = Self::unread(folder, level);
        match read_regular(&hook.file()) {
            Ok(file) if is_blank(&file) => {
                let problem = Problem::new("unreadable", Severity::Unusable, "HOOK.md is empty");
                hook.problems.push(problem.hint("restore it, or remove the hook's folder"));
            }
            Ok(file) => {
                let read = definition::read(&file, &folder_name);
                hook.definition = read.definition;
                hook.matcher = read.matcher;
                hook.problems = read.problems;
            }
            Err(error) => {
                let is_missing = error.kind() == io::ErrorKind::NotFound;
                let (message, hint) = if is_missing && !is_there(&hook.file()) {
                    ("there is no HOOK.md".to_owned(), how_to_create(folder))
                } else {
                    (format!("HOOK.md cannot be read: {error}"), how_to_read(&error).to_owned())
                };
                hook.problems
                    .push(Problem::new("unreadable", Severity::Unusable, message).hint(hint));
                return hook;
            }
        }
        match find_entry(folder) {
            // A script next to a declared answer is for programs that read scripts only.
            _ if hook.definition.answer.is_some() => {}
            Ok(entry) => hook.entry = Some(entry),
            Err(problem) => hook.problems.push(problem),
        }
        hook
    }

    /// Returns the path of its HOOK.md.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(HOOK_FILE)
    }

    /// Returns the hook's name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns where the hook was found, as text.
    pub fn folder_text(&self) -> String {
        self.folder.to_string_lossy().into_owned()
    }

    /// Returns the events the hook runs at, in its own spelling.
    pub fn trigger_names(&self) -> Vec<String> {
        let name = |trigger: &HookTrigger| trigger.kind.name(trigger.spelling).to_owned();
        self.definition.triggers.iter().map(name).collect()
    }

    /// Returns what keeps the hook from running, if anything does.
    pub fn fault(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.severity == Severity::Unusable)
    }

    /// Describes what keeps the hook from running. If the hook blocks because of it, the person
    /// blocked must be able to find the place.
    pub(crate) fn fault_words(&self) -> Option<String> {
        let fault = self.fault()?;
        let line = fault.place.filter(|_| self.blocks_on_failure()).map(|place| place.line);
        Some(match line {
            Some(line) => {
                let file = self.folder.join(HOOK_FILE);
                format!("{} ({}:{line})", fault.message, file.display())
            }
            None => fault.message.clone(),
        })
    }

    /// Returns whether a failure of this hook blocks.
    pub fn blocks_on_failure(&self) -> bool {
        self.definition.on_failure == FailMode::Block && !self.definition.is_async
    }
}

/// Returns what to do about a folder without a HOOK.md: its name may be spelled otherwise.
fn how_to_create(folder: &Path) -> String {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_meant = |name: &OsString| {
        ["hook.md", "hook", "hook.markdown"].iter().any(|other| name.eq_ignore_ascii_case(other))
    };
    match names.into_iter().find(is_meant) {
        Some(name) => format!("rename `{}` to `HOOK.md`", name.display()),
        None => "create a hook with `anyhook new`".to_owned(),
    }
}

/// Says how to make a HOOK.md readable again.
fn how_to_read(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(code) if code == Errno::ACCESS.raw_os_error() => {
            "make HOOK.md readable (chmod u+r) and its folder accessible (chmod u+rx), or remove the folder"
        }
        Some(code) if [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error).contains(&code) => {
            "raise the open file limit (ulimit -n)"
        }
        _ => "make HOOK.md a readable regular file, or remove the hook's folder",
    }
}

/// Reads a regular file, but not a pipe, device or folder in its place.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    // Without NONBLOCK, opening a named pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    // Read at once, including the end of file.
    let length = usize::try_from(metadata.len().min(FILE_LIMIT)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(length + 1);
    file.take(FILE_LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Finds what to start: `scripts/run` if it is executable, otherwise `run.sh`, otherwise `run.py`.
fn find_entry(folder: &Path) -> Result<EntryPoint, Problem> {
    let scripts = folder.join(SCRIPTS);
    let may_run = |path: &Path| rustix::fs::access(path, Access::EXEC_OK).is_ok();
    let [(run, _), ..] = ENTRIES;
    for (name, interpreter) in ENTRIES {
        let script = scripts.join(name);
        // A `run` that is not executable is skipped for the next; the others need only their name.
        let Some(length) = length_of(&script) else { continue };
        let may_run = may_run(&script);
        if name != run || may_run {
            if length == 0 {
                // An empty script has no opinion: no one writes a script for that.
                let words = format!("`{SCRIPTS}/{name}` is empty");
                let problem = Problem::new("empty-script", Severity::Unusable, words);
                return Err(problem.hint("write it, or remove the hook"));
            }
            let by_itself = may_run && starts_by_itself(&script);
            return Ok(EntryPoint { script, interpreter: (!by_itself).then_some(interpreter) });
        }
    }
    Err(nothing_to_run(folder))
}

/// Returns the length of a regular file; `None` for anything else.
fn length_of(path: &Path) -> Option<u64> {
    path.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len())
}

/// Says why there is nothing to run, and what was found instead.
fn nothing_to_run(folder: &Path) -> Problem {
    let problem = |words: String| Problem::new("nothing-to-run", Severity::Unusable, words);
    let run = folder.join(SCRIPTS).join("run");
    if run.is_file() {
        return problem("`scripts/run` is not executable".to_owned())
            .hint("run `chmod +x scripts/run` in the hook's folder");
    }
    let files = |inside: &Path| {
        let entries = fs::read_dir(folder.join(inside)).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.path().is_file()).map(|entry| entry.file_name());
        let mut names: Vec<PathBuf> = files.map(|name| inside.join(name)).collect();
        names.sort();
        names
    };
    let is_program = |name: &PathBuf| {
        let stem = name.file_stem().unwrap_or_default();
        ["run", "main", "hook", "index"].iter().any(|known| stem == *known)
            && name.as_path() != Path::new(HOOK_FILE)
            && name.extension().is_none_or(|extension| extension != "md")
    };
    let found = files(Path::new(SCRIPTS)).into_iter().next();
    match found.or_else(|| files(Path::new("")).into_iter().find(is_program)) {
        Some(found) => {
            let found = found.display();
            problem(format!("no script to run: found `{found}`, which is not an entry point"))
                .hint(format!("rename it (mv {found} scripts/run), add a `#!` line, and make it executable (chmod +x)"))
        }
        None => problem("no script to run".to_owned())
            .hint("add scripts/run, scripts/run.sh or scripts/run.py"),
    }
}

/// Returns the name of an interpreter.
pub(crate) fn interpreter(name: &str) -> Option<&'static str> {
    ENTRIES.into_iter().map(|(_, interpreter)| interpreter).find(|known| *known == name)
}

/// Returns whether the system can start a file directly: it has a shebang or is a compiled program.
fn starts_by_itself(path: &Path) -> bool {
    let mut head = [0; 4];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else { return true };
    let length = rustix::io::read(file, &mut head).unwrap_or(0);
    let head = &head[..length];
    head.starts_with(b"#!")
        || head == b"\x7fELF"
        // Mach-O, thin and fat.
        || head == b"\xcf\xfa\xed\xfe"
        || head == b"\xca\xfe\xba\xbe"
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn hook_with(files: &[(&str, &str, u32)]) -> (tempfile::TempDir, Hook) {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("guard");
        fs::create_dir_all(folder.join("scripts")).unwrap();
        fs::write(
            folder.join("HOOK.md"),
            "---\nname: guard\ndescription: d\ntrigger: before_tool\n---\n",
        )
        .unwrap();
        for (name, content, mode) in files {
            let path = folder.join("scripts").join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        let hook = Hook::load(&folder, Level::User);
        (scratch, hook)
    }

    fn entry(files: &[(&str, &str, u32)]) -> (String, Option<&'static str>) {
        let (_scratch, hook) = hook_with(files);
        let entry = hook.entry.unwrap();
        (entry.script.file_name().unwrap().to_string_lossy().into_owned(), entry.interpreter)
    }

    #[test]
    fn entries_in_order() {
        let run = ("run", "#!/bin/sh\n", 0o755);
        let shell = ("run.sh", "#!/bin/bash\n", 0o755);
        let python = ("run.py", "print()\n", 0o644);
        assert_eq!(entry(&[run, shell, python]), ("run".to_owned(), None));
        assert_eq!(
            entry(&[("run", "#!/bin/sh\n", 0o644), shell, python]),
            ("run.sh".to_owned(), None)
        );
        assert_eq!(entry(&[python]), ("run.py".to_owned(), Some("python3")));
    }

    #[test]
    fn scripts_without_run_bit_or_shebang_get_an_interpreter() {
        assert_eq!(entry(&[("run.sh", "#!/bin/bash\n", 0o644)]).1, Some("bash"));
        assert_eq!(entry(&[("run.sh", "exit 0\n", 0o755)]).1, Some("bash"));
        assert_eq!(entry(&[("run", "exit 0\n", 0o755)]).1, Some("sh"));
    }

    #[test]
    fn nothing_to_run_is_unusable() {
        let (_scratch, hook) = hook_with(&[("run", "exit 0\n", 0o644)]);
        let fault = hook.fault().unwrap();
        assert_eq!(
            (fault.code, &*fault.message),
            ("nothing-to-run", "`scripts/run` is not executable")
        );
        assert!(fault.hint.as_ref().unwrap().starts_with("run `chmod +x scripts/run` in the hook"));
        for (name, words) in [
            ("run.js", "no script to run: found `scripts/run.js`, which is not an entry point"),
            ("main.py", "no script to run: found `scripts/main.py`, which is not an entry point"),
        ] {
            let (_scratch, hook) = hook_with(&[(name, "x\n", 0o755)]);
            assert_eq!(hook.fault().unwrap().message, words);
        }
        let (_scratch, hook) = hook_with(&[]);
        assert_eq!(hook.fault().unwrap().message, "no script to run");
    }

    #[test]
    fn an_empty_script_is_unusable() {
        for name in ["run", "run.sh"] {
            let (_scratch, hook) = hook_with(&[(name, "", 0o755)]);
            assert_eq!(hook.fault().unwrap().message, format!("`scripts/{name}` is empty"));
        }
    }

    #[test]
    fn a_pipe_that_calls_itself_a_file_does_not_hang() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("guard");
        fs::create_dir(&folder).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.join("HOOK.md"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(Hook::load(&folder, Level::User).fault().unwrap().message.contains("not a file"));
    }
}
