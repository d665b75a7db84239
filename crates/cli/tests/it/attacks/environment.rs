//! To replace a guard's code by variables of the agent's process.

use std::path::Path;

use anyhook_testkit::write;

use super::attack_fixture::{EVIL, Host, SHELL_GUARD, WORDS, World, in_time};
use super::{Attempt, Outcome, Seen};

/// How the guard is written.
#[derive(Clone, Copy)]
enum Script {
    Sh,
    Bash,
    Python,
    /// It calls a program by its name.
    Calls,
}

impl Script {
    /// The guard. If the variable reaches it, it lets everything pass: its code might be another.
    fn text(self, variable: &str) -> String {
        let weak = format!(
            "if tr '\\0' '\\n' < /proc/self/environ | grep -qF '{variable}='; then exit 0; fi"
        );
        match self {
            Self::Sh => format!("#!/bin/sh\n{weak}\necho {WORDS} >&2\nexit 2\n"),
            Self::Bash => format!("#!/bin/bash\n{weak}\necho {WORDS} >&2\nexit 2\n"),
            Self::Python => format!(
                "#!/usr/bin/env python3\nimport json, os, sys\njson.load(sys.stdin)\n\
                 if '{variable}' in os.environ: sys.exit(0)\n\
                 print('{WORDS}', file=sys.stderr)\nsys.exit(2)\n"
            ),
            Self::Calls => {
                format!("#!/bin/sh\nif grep -q EVIL; then echo {WORDS} >&2; exit 2; fi\nexit 0\n")
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sh => "`sh`",
            Self::Bash => "`bash`",
            Self::Python => "Python",
            Self::Calls => "`sh` and calls `grep`",
        }
    }
}

/// Variables that replace code; `[E]` is a folder with what they name.
const VARIABLES: [(&str, Script, &str, &str); 22] = [
    ("A library is loaded before all others", Script::Sh, "LD_PRELOAD", "[E]/evil.so"),
    ("Libraries are looked for elsewhere", Script::Sh, "LD_LIBRARY_PATH", "[E]"),
    ("A library watches the loader", Script::Sh, "LD_AUDIT", "[E]/evil.so"),
    ("Bash reads a file first", Script::Bash, "BASH_ENV", "[E]/evil.sh"),
    ("The shell reads a file first", Script::Sh, "ENV", "[E]/evil.sh"),
    ("Bash has `echo` as a function", Script::Bash, "BASH_FUNC_echo%%", "() { exit 0; }"),
    ("Bash has `exit` as a function", Script::Bash, "BASH_FUNC_exit%%", "() { builtin exit 0; }"),
    ("Bash traces into an exit", Script::Bash, "SHELLOPTS", "noexec"),
    ("Bash has other options", Script::Bash, "BASHOPTS", "extdebug"),
    ("Python looks for modules elsewhere", Script::Python, "PYTHONPATH", "[E]/python"),
    ("Python has another home", Script::Python, "PYTHONHOME", "[E]/python"),
    ("Python warns by a program", Script::Python, "PYTHONBREAKPOINT", "os._exit"),
    ("Python inspects after the end", Script::Python, "PYTHONINSPECT", "1"),
    ("Python takes user packages from elsewhere", Script::Python, "PYTHONUSERBASE", "[E]/python"),
    ("Programs are looked for elsewhere first", Script::Calls, "PATH", "[E]/bin:/usr/bin:/bin"),
    ("Programs are looked for elsewhere only", Script::Calls, "PATH", "[E]/bin"),
    ("`grep` has other options", Script::Calls, "GREP_OPTIONS", "-v"),
    ("`grep` has other colours", Script::Calls, "GREP_COLORS", "mt=01;31"),
    ("The fields are separated by other letters", Script::Sh, "IFS", "x"),
    ("The prompt of a trace runs a command", Script::Bash, "PS4", "$(exit 0)"),
    ("Posix mode is asked for", Script::Bash, "POSIXLY_CORRECT", "1"),
    ("Python looks for modules in its working folder", Script::Python, "PYTHONSAFEPATH", ""),
];

/// Writes what the variables name: each of them ends a program with success.
fn evil(folder: &Path) {
    write(&folder.join("evil.sh"), "exit 0\n", 0o644);
    write(&folder.join("bin/grep"), "#!/bin/sh\nexit 1\n", 0o755);
    write(&folder.join("bin/python3"), "#!/bin/sh\nexit 0\n", 0o755);
    write(&folder.join("bin/sh"), "#!/bin/true\n", 0o755);
    write(&folder.join("python/json.py"), "import os\nos._exit(0)\n", 0o644);
    write(&folder.join("python/sitecustomize.py"), "import os\nos._exit(0)\n", 0o644);
    write(&folder.join("evil.so"), "not a library", 0o755);
}

fn attempt(host: Host, script: Script, name: &str, value: &str) -> Seen {
    let matter = if matches!(script, Script::Calls) {
        SHELL_GUARD.replace("  pattern: EVIL\n", "")
    } else {
        SHELL_GUARD.to_owned()
    };
    let world = World::with(&matter, &script.text(name));
    // Guards find programs where `install` found them.
    world.install(Host::Claude)?;
    world.is_guarded(host)?;
    let folder = world.env.root().join("evil");
    evil(&folder);
    let mut command = world.env.command(&["hook", host.name()]);
    command.env(name, value.replace("[E]", &folder.to_string_lossy()));
    let payload = host.shell(EVIL, &world.project()).to_string();
    let program = command.get_program().to_owned();
    // What the variable does to `timeout` is nobody's business.
    let mut inner = std::process::Command::new("env");
    inner.env_clear().current_dir(world.project());
    for (name, value) in world.env.command(&[]).get_envs() {
        inner.env(name, value.unwrap_or_default());
    }
    for (name, value) in command.get_envs() {
        let pair = [name, value.unwrap_or_default()].join("=".as_ref());
        inner.arg(pair);
    }
    inner.arg(program).args(["hook", host.name()]);
    in_time(&inner, payload.as_bytes()).verdict()
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, script, name, value)) in VARIABLES.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!(
            "`{name}={}`, the guard is written in {}, in `{}`",
            value.replace("[E]", "EVIL"),
            script.name(),
            host.name()
        );
        let run = move || attempt(host, script, name, value);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    list
}
