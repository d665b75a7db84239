//! The command line with which an agent calls us.
//!
//! A shell of the agent's choice parses it: `sh`, `bash`, `zsh`, `fish`. So if more is needed than
//! a program and its arguments, it is `/bin/sh -c SCRIPT`, with a script in single quotes that
//! contains neither single quotes nor backslashes, and everything that differs between
//! installations in words after it. It uses no variable with a name: some agents replace those in the
//! commands of hooks, also in settings that they read in addition to their own.
//!
//! At a tool event, the script checks how our program ended. Its own answers (exit 0 and 2) are
//! passed on. Anything else is not an answer: it was killed, is missing, cannot be loaded, or
//! failed. Then the call is refused if a guard that blocks on failure is installed, for which the
//! engine maintains a marker, and continues otherwise. What waits for a person (a prompt) or ends a
//! turn (a stop) is never refused by this.

use std::path::{Path, PathBuf};

use super::injection::words;
use super::{EntryLine, HOOK_BINARY, HookInvocation, PROGRAM, command_line, json_hooks};

/// What an agent does with a call that our program did not answer, and therefore how an entry must
/// end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The agent continues by itself, whatever the exit code.
    GoesOn,
    /// Some exit codes would block: they become 1, with which the agent continues.
    Softened,
    /// A tool call: refused with exit 2 if a guard is installed, and otherwise ended with this
    /// code, with which the agent continues.
    Refused {
        /// The exit code without a guard.
        otherwise: u8,
    },
    /// The same for an agent that takes the reason from standard output alone.
    RefusedWith {
        /// What is printed there: one line, without single quotes and backslashes.
        reply: &'static str,
        /// The exit code without a guard.
        otherwise: u8,
    },
}

/// Runs our program, `"$@"`; the marker is `$0`.
const REFUSED: &str = r#""$@"; set -- $?; case $1 in 0|2) exit $1;; esac; if [ -e "$0" ]; then echo "anyhook did not answer (exit $1), and a guard that blocks on failure is installed, so this call is refused. To recover, in a terminal: run anyhook doctor to diagnose it, or anyhook install to restore the program; without anyhook, rm -r $0" >&2; exit 2; fi; echo "anyhook did not answer (exit $1); no guard that blocks on failure is installed, so the call is allowed" >&2; exit "#;

/// As above; the reply of a refusal is the first argument, before the program.
const REPLIED: &str = r#"f() { shift; "$@"; }; f "$@"; set -- $? "$1"; case $1 in 0|2) exit $1;; esac; if [ -e "$0" ]; then echo "$2"; echo "anyhook did not answer (exit $1), and a guard that blocks on failure is installed, so this call is refused. To recover, in a terminal: run anyhook doctor to diagnose it, or anyhook install to restore the program; without anyhook, rm -r $0" >&2; exit 2; fi; echo "anyhook did not answer (exit $1); no guard that blocks on failure is installed, so the call is allowed" >&2; exit "#;

/// Runs our program, and prevents exit codes that are not an answer from being taken for one.
const SOFTENED: &str = r#""$@"; set -- $?; case $1 in 0|2) exit $1;; esac; exit 1"#;

/// The shell that every system has.
const SHELL: &str = "/bin/sh";

impl Unanswered {
    /// Returns the script, and the arguments that precede our program.
    fn script(self, call: &HookInvocation) -> Option<Vec<String>> {
        let marker = || Some(call.folders()?.marker().to_str()?.to_owned());
        match self {
            Self::GoesOn => None,
            Self::Softened => Some(vec![SOFTENED.to_owned(), PROGRAM.to_owned()]),
            Self::Refused { otherwise } => Some(vec![format!("{REFUSED}{otherwise}"), marker()?]),
            Self::RefusedWith { reply, otherwise } => {
                Some(vec![format!("{REPLIED}{otherwise}"), marker()?, reply.to_owned()])
            }
        }
    }

    /// Returns whether an unanswered call is refused if a guard is installed.
    fn refuses(self) -> bool {
        matches!(self, Self::Refused { .. } | Self::RefusedWith { .. })
    }
}

impl HookInvocation {
    /// Makes the hooks of a package call us: by its script, which finds the program. `root` is what
    /// the agent replaces by the folder of the package.
    pub(crate) fn in_package(root: &str) -> Self {
        Self::to(format!("{root}/{PACKAGE_SCRIPT}"))
    }

    /// Returns what the agent replaces by the folder of the package, in one.
    fn package_root(&self) -> Option<&str> {
        self.binary.to_str()?.strip_suffix(PACKAGE_SCRIPT)?.strip_suffix('/')
    }

    /// Returns the command line for a shell, which answers a little before the host's own limit.
    pub fn command(&self, host: &str, limit_ms: u64, unanswered: Unanswered) -> String {
        if let Some(root) = self.package_root() {
            return self.package_command(root, host, limit_ms, unanswered);
        }
        let mut words = Vec::with_capacity(16);
        if let Some(script) = unanswered.script(self) {
            words.extend([SHELL.to_owned(), "-c".to_owned()]);
            words.extend(script);
        }
        words.push(self.answering().to_string_lossy().into_owned());
        words.extend(self.arguments(host, limit_ms));
        if unanswered.refuses() {
            words.push(TOOL_EVENT.to_owned());
        }
        command_line(words.iter().map(String::as_str))
    }

    /// Returns the command line in a package, whose script does what that of an entry does.
    fn package_command(
        &self,
        root: &str,
        host: &str,
        limit_ms: u64,
        unanswered: Unanswered,
    ) -> String {
        let mut words = match unanswered {
            Unanswered::GoesOn | Unanswered::Softened => vec!["other".to_owned()],
            Unanswered::Refused { otherwise } | Unanswered::RefusedWith { otherwise, .. } => {
                vec![format!("tool:{otherwise}")]
            }
        };
        words.extend(self.arguments(host, limit_ms));
        if unanswered.refuses() {
            words.push(TOOL_EVENT.to_owned());
        }
        let words = command_line(words.iter().map(String::as_str));
        // The agent replaces the folder in the text, or the shell does by a variable.
        format!("{PACKAGE_CALL}{root}\"/{PACKAGE_SCRIPT} {words}")
    }

    /// Returns the arguments that every call has.
    pub fn arguments(&self, host: &str, limit_ms: u64) -> Vec<String> {
        let deadline = (limit_ms / 10 * 9).to_string();
        let mut words = ["hook", host, "--deadline-ms", &deadline].map(str::to_owned).to_vec();
        if self.package_root().is_some() {
            words.push(PLUGIN.to_owned());
        }
        for (option, folder) in self.folders().iter().flat_map(|folders| folders.options()) {
            words.extend([option.to_owned(), folder.to_string_lossy().into_owned()]);
        }
        words
    }
}

/// Returns the command lines with which a plugin of ours calls its program: before a tool, and at every
/// other event.
pub(crate) fn plugin_lines(
    binary: &str,
    arguments: &[String],
    before_tool: Option<&str>,
) -> Vec<EntryLine> {
    let words = || std::iter::once(binary).chain(arguments.iter().map(String::as_str));
    vec![
        EntryLine {
            event: before_tool.map(str::to_owned),
            line: command_line(words().chain([TOOL_EVENT])),
        },
        EntryLine { event: None, line: command_line(words()) },
    ]
}

/// The option that says, before the event is parsed, that it is a tool event.
pub const TOOL_EVENT: &str = "--tool-event";
/// The option that says that the call is from a package, not from an agent's settings.
pub const PLUGIN: &str = "--plugin";
/// The script of a package that finds our program.
pub(crate) const PACKAGE_SCRIPT: &str = "anyhook.sh";
/// How a command line in a package begins.
const PACKAGE_CALL: &str = "/bin/sh \"";

/// Returns whether a command line is that of one of our packages for this host.
pub(crate) fn is_package_call(command: &str, host: &str) -> bool {
    let after_script = command
        .strip_prefix(PACKAGE_CALL)
        .and_then(|rest| rest.split_once(&format!("\"/{PACKAGE_SCRIPT} ")));
    after_script.and_then(|(_, words)| words.split_once(' ')).is_some_and(|(_, call)| {
        call.strip_prefix("hook ").is_some_and(|call| call.split(' ').next() == Some(host))
    })
}

/// Returns whether a file with hooks has such a command line.
pub(crate) fn has_package_call(path: &Path, text: &str, host: &str) -> bool {
    let commands = json_hooks::commands(path, text).unwrap_or_default();
    commands.iter().any(|(_, command)| is_package_call(command, host))
}

/// What the script of a package does with a call that our program did not answer, in the same words
/// as an entry.
pub(crate) struct UnansweredScripts {
    /// For a tool call; the exit code without a guard is to be appended.
    pub refused: &'static str,
    /// For any other.
    pub softened: &'static str,
}

/// Returns these scripts.
pub(crate) fn unanswered_scripts() -> UnansweredScripts {
    UnansweredScripts { refused: REFUSED, softened: SOFTENED }
}

/// The options that name our folders.
pub(super) const FOLDER_OPTIONS: [&str; 3] = ["--home", "--config", "--state"];

/// How one of our entries is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryForm {
    /// Whether it names our folders, so that no variable changes them.
    pub names_folders: bool,
    /// Whether it refuses a tool call that is not answered if a guard is installed.
    pub refuses: bool,
}

/// Returns whether a command line is one of ours for this host: nothing but our program and its
/// arguments, with or without the shell that we write around it, so that a line in which someone
/// else wrapped it stays theirs.
pub fn is_ours(command: &str, host: &str) -> bool {
    form_of(command, host).is_some()
}

/// Returns the program of one of our command lines.
pub fn program_of(command: &str) -> Option<PathBuf> {
    match words(command) {
        Some(words) => {
            let (_, inner) = without_shell(&words);
            inner.first().filter(|_| inner.len() > 1).map(PathBuf::from)
        }
        None => split(command).map(|(program, _)| PathBuf::from(program)),
    }
}

/// Returns the folders that one of our command lines names, by their options; empty if it names
/// none.
pub fn folders_of(command: &str) -> Vec<(&'static str, PathBuf)> {
    let words = words(command).unwrap_or_default();
    folders_in(&words)
}

/// Returns the folders that our arguments name, by their options.
pub(crate) fn folders_in(words: &[String]) -> Vec<(&'static str, PathBuf)> {
    let named = words.iter().zip(words.iter().skip(1)).filter_map(|(option, folder)| {
        let option = FOLDER_OPTIONS.into_iter().find(|known| known == option)?;
        let folder = PathBuf::from(folder);
        folder.is_absolute().then_some((option, folder))
    });
    named.collect()
}

/// What follows the name of a script: if it is missing, the call is refused.
const OR_REFUSED: &str = " || exit 2";

/// Returns the name of the script that contains the command line of a tool call, for a host that
/// shows the model whatever its settings contain.
pub(crate) fn script_name(host: &str) -> String {
    format!("anyhook-{host}.sh")
}

/// Returns the command line that runs such a script.
pub(crate) fn script_command(path: &str) -> String {
    format!("{}{OR_REFUSED}", command_line([SHELL, path].into_iter()))
}

/// Returns whether a command line runs such a script.
pub(crate) fn is_entry_script(command: &str, host: &str) -> bool {
    let words = command.strip_suffix(OR_REFUSED).and_then(words).unwrap_or_default();
    let [shell, path] = words.as_slice() else { return false };
    shell == SHELL && Path::new(path).file_name().is_some_and(|name| *name == *script_name(host))
}

/// Returns how one of our command lines for this host is written; `None` if it is not ours.
///
/// Of a script, only the line in it tells.
pub fn form_of(command: &str, host: &str) -> Option<EntryForm> {
    if is_entry_script(command, host) {
        return Some(EntryForm { names_folders: true, refuses: true });
    }
    if let Some(words) = words(command) {
        let (refuses, inner) = without_shell(&words);
        let (program, arguments) = inner.split_first()?;
        let arguments = arguments.iter().map(String::as_str);
        return form(program, arguments, host).map(|form| EntryForm { refuses, ..form });
    }
    // Written by hand, with a variable or `~` in the program's path.
    let (program, arguments) = split(command)?;
    form(&program, arguments.split_whitespace(), host)
}

/// Removes the shell that we write around our program; returns whether it refuses calls, and the
/// rest.
fn without_shell(words: &[String]) -> (bool, &[String]) {
    match words {
        [shell, option, script, _, inner @ ..] if shell == SHELL && option == "-c" => {
            let is = |start| {
                script.strip_prefix(start).is_some_and(|code: &str| code.parse::<u8>().is_ok())
            };
            match inner {
                [_reply, inner @ ..] if is(REPLIED) => (true, inner),
                inner if is(REFUSED) => (true, inner),
                inner if script == SOFTENED || is_former(script) => (false, inner),
                _ => (false, words),
            }
        }
        _ => (false, words),
    }
}

/// Returns whether a script is one of an earlier version, which kept the exit code in a variable.
fn is_former(script: &str) -> bool {
    let current = script.replace("code=$?;", "set -- $?;").replace("$code", "$1");
    let is_refusal = |code: &str| code.parse::<u8>().is_ok();
    script.contains("code=$?;")
        && (current == SOFTENED || current.strip_prefix(REFUSED).is_some_and(is_refusal))
}

fn form<'words>(
    program: &str,
    mut words: impl Iterator<Item = &'words str>,
    host: &str,
) -> Option<EntryForm> {
    let name = Path::new(program).file_name()?;
    let is_call = (name == PROGRAM || name == HOOK_BINARY)
        && words.next() == Some("hook")
        && words.next() == Some(host);
    if !is_call {
        return None;
    }
    let mut form = EntryForm { names_folders: false, refuses: false };
    while let Some(word) = words.next() {
        match word {
            "--deadline-ms" => drop(words.next()?),
            word if FOLDER_OPTIONS.contains(&word) => {
                words.next()?;
                form.names_folders = true;
            }
            TOOL_EVENT => {}
            _ => return None,
        }
    }
    Some(form)
}

/// Splits a command line into its first word, without quotes, and the rest.
fn split(command: &str) -> Option<(String, &str)> {
    let mut program = String::new();
    let mut is_quoted = false;
    let mut letters = command.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => program.push(letters.next()?.1),
            ' ' if !is_quoted => return Some((program, &command[index..])),
            _ => program.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::super::EntryFolders;
    use super::*;

    const REFUSED_OR_1: Unanswered = Unanswered::Refused { otherwise: 1 };
    const REPLY: &str = r#"{"deny": "so this call is refused"}"#;
    const REPLIED_OR_0: Unanswered = Unanswered::RefusedWith { reply: REPLY, otherwise: 0 };

    fn folders(home: &Path) -> EntryFolders {
        let at = |inner: &str| home.join(inner);
        EntryFolders { home: home.to_owned(), config: at(".config/agents"), state: at("state") }
    }

    #[test]
    fn commands_are_quoted_and_known_again() {
        let binary = PathBuf::from("/home/a b/it's/anyhook");
        let small = Some(PathBuf::from("/home/a b/it's/anyhook-hook"));
        let one = HookInvocation::to(&binary);
        let plain = one.command("codex", 600_000, Unanswered::GoesOn);
        assert_eq!(plain, r"'/home/a b/it'\''s/anyhook' hook codex --deadline-ms 540000");
        assert_eq!(
            one.command("codex", 600_000, REFUSED_OR_1),
            format!("{plain} --tool-event"),
            "without a state folder there is no marker to look for"
        );
        let home = Path::new("/home/a b");
        let both = HookInvocation { binary, small, folders: Some(folders(home)) };
        let quicker = both.command("codex", 600_000, Unanswered::GoesOn);
        assert_eq!(
            quicker,
            r"'/home/a b/it'\''s/anyhook-hook' hook codex --deadline-ms 540000 --home '/home/a b' --config '/home/a b/.config/agents' --state '/home/a b/state'"
        );
        let tool = both.command("codex", 600_000, REFUSED_OR_1);
        assert_eq!(
            tool,
            format!("/bin/sh -c '{REFUSED}1' '/home/a b/state/guarded' {quicker} --tool-event")
        );
        let soft = both.command("codex", 600_000, Unanswered::Softened);
        assert_eq!(soft, format!("/bin/sh -c '{SOFTENED}' anyhook {quicker}"));
        let replied = both.command("codex", 600_000, REPLIED_OR_0);
        assert_eq!(
            replied,
            format!(
                "/bin/sh -c '{REPLIED}0' '/home/a b/state/guarded' '{REPLY}' {quicker} --tool-event"
            )
        );
        for (command, call, form) in [
            (plain, &one, EntryForm { names_folders: false, refuses: false }),
            (quicker, &both, EntryForm { names_folders: true, refuses: false }),
            (soft, &both, EntryForm { names_folders: true, refuses: false }),
            (tool, &both, EntryForm { names_folders: true, refuses: true }),
            (replied, &both, EntryForm { names_folders: true, refuses: true }),
        ] {
            assert_eq!(form_of(&command, "codex"), Some(form), "{command}");
            assert!(!is_ours(&command, "claude-code"), "{command}");
            assert_eq!(program_of(&command).as_deref(), Some(call.answering()));
        }
    }

    #[test]
    fn scripts_are_read_alike_by_every_shell() {
        for script in [REFUSED, REPLIED, SOFTENED] {
            assert!(!script.contains(['\'', '\\', '!', '`', '\n']), "{script}");
            let is_name =
                |after: &str| after.starts_with(|it: char| it.is_alphabetic() || it == '{');
            assert!(!script.split('$').skip(1).any(is_name), "{script}");
        }
    }

    #[test]
    fn an_entry_of_an_earlier_version_is_known() {
        for script in [SOFTENED.to_owned(), format!("{REFUSED}1")] {
            let former = script.replace("set -- $?;", "code=$?;").replace("$1", "$code");
            let command = format!("/bin/sh -c '{former}' /m /x/anyhook hook codex --state /s");
            let form = EntryForm { names_folders: true, refuses: false };
            assert_eq!(form_of(&command, "codex"), Some(form), "{command}");
            assert_eq!(program_of(&command).as_deref(), Some(Path::new("/x/anyhook")));
            assert!(!is_ours(&command.replace("exit $code", "exit 0"), "codex"), "{command}");
        }
    }

    #[test]
    fn a_line_around_ours_is_not_ours() {
        assert!(is_ours("anyhook hook codex", "codex"));
        assert!(is_ours("anyhook-hook hook codex", "codex"));
        assert!(is_ours("~/.local/bin/anyhook hook codex --deadline-ms 5", "codex"));
        assert!(is_ours("\"$HOME\"/bin/anyhook hook codex", "codex"));
        let other = REFUSED.replace("exit 2", "exit 0");
        for theirs in [
            "log.sh; anyhook hook codex",
            "anyhook hook codex | tee log",
            "anyhook hook codex; say done",
            "anyhook hook codex --deadline-ms 5 && x",
            "anyhook hook codex --deadline-ms",
            "anyhook hook codex --state",
            "anyhook hook codex --color never",
            "/opt/anyhook-log/bin/log hook codex",
            "anyhook-hooks hook codex",
            "anyhook-hook-log hook codex",
            "anyhook-hook emit codex",
            "anyhook hook codex-next",
            "echo anyhook hook codex",
            "'anyhook hook codex",
            "anyhook",
            "",
            "/bin/sh -c 'anyhook hook codex'",
            "/bin/sh -c 'tee log; \"$@\"' x anyhook hook codex",
            &format!("/bin/sh -c '{other}1' /m anyhook hook codex"),
            &format!("/bin/sh -c '{REFUSED}1; rm x' /m anyhook hook codex"),
            &format!("/bin/sh -c '{REFUSED}1' /m log hook codex"),
            &format!("/bin/sh -c '{REFUSED}1' /m anyhook hook codex; x"),
            &format!("/bin/bash -c '{REFUSED}1' /m anyhook hook codex"),
        ] {
            assert!(!is_ours(theirs, "codex"), "{theirs}");
        }
    }

    /// A program that may be replaced by something else, and the entry that calls it.
    struct World {
        scratch: tempfile::TempDir,
        call: HookInvocation,
    }

    impl World {
        fn new() -> Self {
            let scratch = tempfile::tempdir().expect("a folder");
            let home = scratch.path().join("it's a home");
            fs::create_dir_all(home.join("state")).expect("a folder");
            let call = HookInvocation {
                binary: home.join("anyhook"),
                small: None,
                folders: Some(folders(&home)),
            };
            Self { scratch, call }
        }

        fn program(&self, script: &str) {
            fs::write(&self.call.binary, format!("#!/bin/sh\n{script}\n")).expect("a script");
            fs::set_permissions(&self.call.binary, fs::Permissions::from_mode(0o755))
                .expect("a script");
        }

        fn guarded(&self, guarded: bool) {
            let marker = self.call.folders().expect("folders").marker();
            let _ = if guarded { fs::create_dir(marker) } else { fs::remove_dir(marker) };
        }

        /// Runs the entry in a shell; returns its exit code, standard output and standard error.
        fn run(&self, shell: &str, unanswered: Unanswered) -> (i32, String, String) {
            let command = self.call.command("codex", 600_000, unanswered);
            let output = Command::new(shell)
                .args(["-c", &command])
                .current_dir(self.scratch.path())
                .output()
                .expect("a shell");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let code = output.status.code().expect("the shell itself ends");
            (code, text(&output.stdout), text(&output.stderr))
        }
    }

    const SHELLS: [&str; 2] = ["/bin/sh", "/bin/bash"];

    #[test]
    fn our_own_answers_pass_through() {
        let world = World::new();
        world.program("cat; echo \"$*\"; echo said >&2; exit 2");
        let home = world.scratch.path().join("it's a home");
        let said = format!(
            "hook codex --deadline-ms 540000 --home {0} --config {0}/.config/agents --state {0}/state --tool-event\n",
            home.display()
        );
        for (shell, guarded) in SHELLS.into_iter().flat_map(|shell| [(shell, false), (shell, true)])
        {
            world.guarded(guarded);
            let expected = (2, said.clone(), "said\n".to_owned());
            assert_eq!(world.run(shell, REFUSED_OR_1), expected, "{shell} {guarded}");
            assert_eq!(world.run(shell, REPLIED_OR_0), expected, "{shell} {guarded}");
        }
        world.program("echo said >&2; echo '{}'");
        for unanswered in [Unanswered::GoesOn, Unanswered::Softened, REFUSED_OR_1] {
            let (code, stdout, stderr) = world.run("/bin/sh", unanswered);
            assert_eq!((code, &*stdout, &*stderr), (0, "{}\n", "said\n"), "{unanswered:?}");
        }
    }

    #[test]
    fn no_answer_is_a_refusal_where_a_guard_is_installed_and_nowhere_else() {
        for (what, spoil) in [
            ("missing", None),
            ("killed", Some("kill -9 $$")),
            ("killed softly", Some("kill -TERM $$")),
            ("a fault", Some("exit 70")),
            ("wrong usage", Some("exit 64")),
            ("failed", Some("exit 1")),
            ("not loaded", Some("exit 127")),
        ] {
            let world = World::new();
            if let Some(script) = spoil {
                world.program(script);
            }
            for shell in SHELLS {
                world.guarded(true);
                let (code, stdout, stderr) = world.run(shell, REFUSED_OR_1);
                assert_eq!((code, &*stdout), (2, ""), "{what}: {stderr}");
                assert!(stderr.contains("so this call is refused"), "{what}: {stderr}");
                assert!(stderr.contains("anyhook doctor"), "{what}: {stderr}");
                assert!(stderr.contains("it's a home/state/guarded"), "{what}: {stderr}");
                assert_eq!(world.run(shell, Unanswered::Softened).0, 1, "{what}");
                world.guarded(false);
                let (code, stdout, stderr) = world.run(shell, REFUSED_OR_1);
                assert_eq!((code, &*stdout), (1, ""), "{what}: {stderr}");
                assert!(stderr.contains("so the call is allowed"), "{what}: {stderr}");
                assert_eq!(world.run(shell, Unanswered::Refused { otherwise: 0 }).0, 0, "{what}");
            }
        }
        let world = World::new();
        world.program("exit 0");
        fs::set_permissions(&world.call.binary, fs::Permissions::from_mode(0o644)).expect("a file");
        world.guarded(true);
        assert_eq!(world.run("/bin/sh", REFUSED_OR_1).0, 2, "not executable");
    }
}
