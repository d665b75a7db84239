//! Checks whether a hook's script can be started, without starting it.
//!
//! Only for commands that show hooks, and for a run that has failed to start: no event looks at a
//! script before it is due.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};

use crate::hook::{Hook, SCRIPTS};
use crate::problem::{Problem, Severity};

/// The system reads no more than this of a `#!` line.
const SHEBANG_LIMIT: u64 = 256;
/// A script that `anyhook new` made gives this reason until a person replaces it.
pub const PLACEHOLDER_REASON: &str = "TODO: explain why this is blocked";
/// No more than this of a script is searched for the placeholder.
const SEARCH_LIMIT: u64 = 64 * 1024;

/// The interpreter given in the first line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shebang {
    /// The interpreter as the system reads it, with a carriage return if there is one.
    pub interpreter: String,
    /// The program that `env` has to find, if `env` is the interpreter.
    pub found_by_env: Option<String>,
    /// Whether the line ends with CRLF.
    pub has_carriage_return: bool,
}

/// Reads the `#!` line of a script, if it has one.
pub(crate) fn shebang(script: &Path) -> Option<Shebang> {
    let bytes = head(script, SHEBANG_LIMIT)?;
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let interpreter = words.next()?.to_owned();
    let is_env = Path::new(interpreter.trim_end_matches('\r')).file_name() == Some("env".as_ref());
    // `env -S program arguments`, `env NAME=value program`.
    let program = words.find(|word| !word.starts_with('-') && !word.contains('='));
    Some(Shebang {
        found_by_env: program.filter(|_| is_env).map(|word| word.trim_end().to_owned()),
        has_carriage_return: line.ends_with('\r'),
        interpreter,
    })
}

/// Returns why the system cannot start a script directly, the cause first.
pub(crate) fn unstartable(script: &Path) -> Option<String> {
    let shebang = shebang(script)?;
    if shebang.has_carriage_return {
        let read_as = match &shebang.found_by_env {
            Some(program) => format!("{program}\\r"),
            None => shebang.interpreter.replace('\r', "\\r"),
        };
        return Some(format!(
            "it has Windows line endings, so the system looks for an interpreter named `{read_as}`"
        ));
    }
    let interpreter = Path::new(&shebang.interpreter);
    if interpreter.is_dir() {
        return Some(format!("its interpreter `{}` is a folder", interpreter.display()));
    }
    (!interpreter.exists())
        .then(|| format!("its interpreter `{}` was not found", interpreter.display()))
}

/// Checks what a hook runs. `search` are the folders in which programs are found.
pub fn check(hook: &Hook, search: &[PathBuf]) -> Vec<Problem> {
    let Some(entry) = &hook.entry else { return Vec::new() };
    let script = &entry.script;
    let name = format!("{SCRIPTS}/{}", script.file_name().unwrap_or_default().to_string_lossy());
    let error = |message: String| Problem::new("script", Severity::Error, message);
    let mut problems = Vec::new();
    if let Some(interpreter) = entry.interpreter {
        if !is_found(interpreter, search) {
            let words = format!("`{name}` needs `{interpreter}`, which is not on the PATH");
            problems.push(error(words).hint(format!("install {interpreter}")));
        }
        if shebang(script).is_some_and(|shebang| shebang.has_carriage_return) {
            let words = format!("`{name}` has Windows line endings");
            problems.push(error(words).hint(strip_returns(script)));
        }
    } else if let Some(shebang) = shebang(script) {
        if let Some(why) = unstartable(script) {
            let words = why.strip_prefix("it ").unwrap_or(&why);
            let words = if words == why {
                format!("`{name}` cannot be started: {why}")
            } else {
                format!("`{name}` {words}")
            };
            problems.push(error(words).hint(if shebang.has_carriage_return {
                strip_returns(script)
            } else {
                "put an existing interpreter in its first line".to_owned()
            }));
        } else if let Some(program) =
            shebang.found_by_env.as_ref().filter(|program| !is_found(program, search))
        {
            let words = format!(
                "`{name}` cannot be started: its interpreter `{program}` is not on the PATH"
            );
            problems.push(error(words).hint(format!("install {program}, or use its full path")));
        }
    }
    let placeholder =
        |words: &str, hint: &str| Problem::new("placeholder", Severity::Note, words).hint(hint);
    if head(script, SEARCH_LIMIT).is_some_and(|text| contains(&text, PLACEHOLDER_REASON)) {
        let words =
            format!("`{name}` is unchanged since `anyhook new`: its reason is a placeholder");
        let hint = format!("write the script, then run anyhook promote {}", hook.name());
        problems.push(placeholder(&words, &hint));
    }
    if hook.definition.description == placeholder_description(hook.name()) {
        problems.push(placeholder(
            "`description` is still the placeholder, and agents see it",
            "describe in one sentence what the hook does",
        ));
    }
    problems
}

/// Returns the description of a hook that `anyhook new` made.
pub fn placeholder_description(name: &str) -> String {
    format!("TODO describe in one sentence what {name} does")
}

fn strip_returns(script: &Path) -> String {
    format!("sed -i 's/\\r$//' {}", script.display())
}

fn is_found(program: &str, search: &[PathBuf]) -> bool {
    let may_run = |path: &Path| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok();
    if program.contains('/') {
        return may_run(Path::new(program));
    }
    search.iter().any(|folder| may_run(&folder.join(program)))
}

fn contains(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|window| window == word.as_bytes())
}

/// Reads the beginning of a file; `None` if it is not a regular file.
fn head(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::hook::Level;

    fn messages(script: &str, mode: u32) -> Vec<String> {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("guard");
        fs::create_dir_all(folder.join("scripts")).unwrap();
        fs::write(
            folder.join("HOOK.md"),
            "---\nname: guard\ndescription: d\ntrigger: before_tool\n---\n",
        )
        .unwrap();
        let path = folder.join("scripts/run");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let hook = Hook::load(&folder, Level::User);
        let problems = check(&hook, &["/usr/bin".into(), "/bin".into()]);
        problems.into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_script_that_can_be_started_has_no_findings() {
        for script in ["#!/bin/sh\nexit 0\n", "#! /usr/bin/env -S sh -e\n", "exit 0\n", "#!/bin/sh"]
        {
            assert_eq!(messages(script, 0o755), [""; 0], "{script}");
        }
    }

    #[test]
    fn what_keeps_a_script_from_starting_is_named() {
        for (script, message) in [
            (
                "#!/bin/sh\r\nexit 0\r\n",
                "`scripts/run` has Windows line endings, so the system looks for an interpreter named `/bin/sh\\r`",
            ),
            (
                "#!/usr/bin/env sh\r\n",
                "`scripts/run` has Windows line endings, so the system looks for an interpreter named `sh\\r`",
            ),
            (
                "#!/no/such/shell -e\n",
                "`scripts/run` cannot be started: its interpreter `/no/such/shell` was not found",
            ),
            (
                "#!/usr/bin/env no-such-program\n",
                "`scripts/run` cannot be started: its interpreter `no-such-program` is not on the PATH",
            ),
        ] {
            assert_eq!(messages(script, 0o755), [message], "{script}");
        }
    }

    #[test]
    fn a_placeholder_is_noticed() {
        let script = format!("#!/bin/sh\necho \"{PLACEHOLDER_REASON}\" >&2\nexit 2\n");
        assert_eq!(messages(&script, 0o755).len(), 1);
    }
}
