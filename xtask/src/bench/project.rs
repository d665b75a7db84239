//! The folders and files that all contenders work with.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

/// How an agent that speaks the open format calls the program.
pub const HOOK: [&str; 2] = ["hook", "agent-hooks"];

/// A project, and homes next to it.
pub struct BenchProject {
    root: PathBuf,
    /// The working folder of all contenders. It looks like a repository, as projects do.
    pub project: PathBuf,
    /// The search path of all contenders.
    pub search: OsString,
}

impl BenchProject {
    /// Creates the project in an empty folder.
    pub fn make(root: &Path) -> Result<Self> {
        let project = root.join("project");
        fs::create_dir_all(project.join(".git"))?;
        let search = std::env::var_os("PATH").unwrap_or_default();
        Ok(Self { root: root.to_owned(), project, search })
    }

    /// Writes a file next to the project and returns its path.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.root.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Copies a program, as an installer would, and returns its path.
    pub fn copy(&self, program: &Path) -> Result<PathBuf> {
        let path = self.root.join("bin").join(program.file_name().context("no program")?);
        fs::create_dir_all(self.root.join("bin"))?;
        if !path.exists() {
            fs::copy(program, &path)
                .with_context(|| format!("{} cannot be copied", program.display()))?;
        }
        Ok(path)
    }

    /// Creates a home with hooks that do not match. They would block, so a hook that runs by
    /// mistake is noticed.
    pub fn home(&self, name: &str, hooks: usize) -> Result<PathBuf> {
        self.home_with(name, hooks, "")
    }

    /// The same, with further lines in the front matter of each hook.
    pub fn home_with(&self, name: &str, hooks: usize, lines: &str) -> Result<PathBuf> {
        let home = self.root.join(name);
        fs::create_dir(&home)?;
        for number in 0..hooks {
            let pattern = format!("never-{number:04}");
            BenchHook {
                name: &format!("bench-{number:04}"),
                pattern: &pattern,
                exit_code: 2,
                lines,
            }
            .write(&home)?;
        }
        Ok(home)
    }

    /// Creates a home with declarative guards, none of which matches the ordinary event; with
    /// `matching`, the last one does, and asks.
    pub fn home_of_guards(&self, name: &str, hooks: usize, matching: bool) -> Result<PathBuf> {
        let home = self.root.join(name);
        fs::create_dir(&home)?;
        for number in 0..hooks {
            let is_matching = matching && number + 1 == hooks;
            let program =
                if is_matching { "echo".to_owned() } else { format!("never-{number:04}") };
            let folder = home.join("config/agents/hooks").join(format!("bench-{number:04}"));
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("HOOK.md"), guard(number, &program))?;
        }
        Ok(home)
    }

    /// Returns a command with the same variables, working folder and outputs for all.
    pub fn command(&self, program: &Path, home: &Path) -> Command {
        let mut command = Command::new(program);
        // The variables of cargo and of the user are not part of what is measured.
        command.current_dir(&self.project).env_clear().env("PATH", &self.search);
        command.env("HOME", home).env("XDG_CONFIG_HOME", home.join("config"));
        command.env("XDG_STATE_HOME", home.join("state"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The same for a hook call with an event.
    pub fn hook_call(&self, anyhook: &Path, home: &Path, event: &Path) -> Result<Command> {
        let mut command = self.command(anyhook, home);
        command.args(HOOK).stdin(open(event)?);
        Ok(command)
    }
}

/// Returns where the program stores its index in a home.
pub fn index_folder(home: &Path) -> PathBuf {
    home.join("state/anyhook/index")
}

/// Opens an event.
pub fn open(event: &Path) -> Result<File> {
    File::open(event).with_context(|| format!("{} cannot be read", event.display()))
}

/// Returns the text of a declarative guard.
fn guard(number: usize, program: &str) -> String {
    format!(
        "---\nname: bench-{number:04}\ndescription: a guard to measure with\ntrigger: before_tool\n\
         matcher:\n  shell:\n    program: {program}\n    not: {{flags: [--help]}}\n\
         decision: ask\nreason: '`{{command}}` is measured'\non_failure: block\n---\n"
    )
}

/// A hook for the shell tool.
pub struct BenchHook<'a> {
    pub name: &'a str,
    pub pattern: &'a str,
    /// The exit code of its script.
    pub exit_code: u8,
    /// Further lines of its front matter.
    pub lines: &'a str,
}

impl BenchHook<'_> {
    /// Writes it into a home and returns its script.
    pub fn write(&self, home: &Path) -> Result<PathBuf> {
        let folder = home.join("config/agents/hooks").join(self.name);
        fs::create_dir_all(folder.join("scripts"))?;
        fs::write(folder.join("HOOK.md"), self.text())?;
        let script = folder.join("scripts/run");
        fs::write(&script, format!("#!/bin/sh\nexit {}\n", self.exit_code))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(script)
    }

    fn text(&self) -> String {
        let Self { name, pattern, lines, .. } = self;
        format!(
            "---\nname: {name}\ndescription: a hook to measure with\ntrigger: before_tool\n\
             matcher:\n  tool: Shell\n  pattern: {pattern}\n{lines}---\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_has_hooks_that_can_run() {
        let folder = tempfile::tempdir().unwrap();
        let place = BenchProject::make(folder.path()).unwrap();
        let home = place.home_with("two", 2, "on_failure: block\n").unwrap();
        let hook = home.join("config/agents/hooks/bench-0001");
        let text = fs::read_to_string(hook.join("HOOK.md")).unwrap();
        assert!(text.ends_with("  pattern: never-0001\non_failure: block\n---\n"), "{text}");
        assert_eq!(Command::new(hook.join("scripts/run")).status().unwrap().code(), Some(2));
    }
}
