//! A fresh account with one guard, in which a package is tested.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::package::VERSION;
use crate::{process, tools};

const GUARD: &str = "\
---
name: no-mkfs
description: Keeps disks from being formatted
trigger: before_tool
matcher:
  tool: Shell
  pattern: mkfs
---
";

/// A home, a folder for each package manager to install to, and the packages.
pub struct Account {
    folder: TempDir,
    packages: PathBuf,
    path: String,
}

impl Account {
    /// Creates an account with the packages in `packages`.
    pub fn new(packages: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("anyhook-").tempdir()?;
        let place = |inner: &str| folder.path().join(inner);
        let hook = place("home/.config/agents/hooks/no-mkfs");
        for made in ["bin", "project/.git", "root/var/lib/dpkg/info", "root/var/lib/dpkg/updates"] {
            fs::create_dir_all(place(made))?;
        }
        fs::create_dir_all(hook.join("scripts"))?;
        fs::write(hook.join("HOOK.md"), GUARD)?;
        program(&hook.join("scripts/run"), "#!/bin/sh\necho 'not here' >&2\nexit 2\n")?;

        // The machine itself is not changed: dpkg works on a root folder in the account.
        fs::write(place("root/var/lib/dpkg/status"), "")?;
        program(&place("bin/sudo"), "#!/bin/sh\nexec \"$@\"\n")?;
        let dpkg = tools::on_path("dpkg").context("dpkg is missing")?;
        let root = place("root");
        let log = place("dpkg.log");
        let (dpkg, root, log) = (dpkg.display(), root.display(), log.display());
        program(
            &place("bin/dpkg"),
            &format!(
                "#!/bin/sh\nexec '{dpkg}' --root='{root}' --log='{log}' --force-not-root \"$@\"\n"
            ),
        )?;

        // The user's home may select another python.
        let python = process::output(
            Command::new("python3").args(["-c", "import sys; print(sys.executable)"]),
        )?;
        let python = Path::new(python.trim()).parent().context("python3 has no folder")?.to_owned();
        let given = std::env::var("PATH").context("PATH is no text")?;
        let path = [place("bin"), python].map(|folder| folder.display().to_string()).join(":");
        // dpkg requires programs that only root has on the path.
        let path = format!("{path}:{given}:/usr/local/sbin:/usr/sbin:/sbin");
        Ok(Self { folder, packages: packages.to_owned(), path })
    }

    /// A file of the account.
    pub fn place(&self, inner: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(inner)
    }

    /// Returns a command as the account's owner would start it, in a project.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.place("project")).env_clear().stdin(Stdio::null());
        command.env("HOME", self.place("home")).env("PATH", &self.path).env("LANG", "C.UTF-8");
        command.env("npm_config_prefix", self.place("npm"));
        // The packages need nothing else, so no network is needed.
        for (name, value) in [
            ("offline", "true"),
            ("audit", "false"),
            ("fund", "false"),
            ("update_notifier", "false"),
        ] {
            command.env(format!("npm_config_{name}"), value);
        }
        command.env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        command
    }

    /// Runs a block of the page, in the folder with the packages.
    pub fn play(&self, block: &str) -> Result<()> {
        for line in block.lines() {
            println!("  $ {line}");
        }
        let mut shell = self.command("sh");
        process::output(shell.args(["-e", "-c", block]).current_dir(&self.packages))?;
        Ok(())
    }

    /// Checks that an installed program prints its version, and blocks what the guard is for and
    /// nothing else.
    pub fn guards(&self, program: &Path) -> Result<()> {
        let program = self.place(program);
        let version = process::output(self.command(&program).arg("--version"))?;
        if version != format!("anyhook {VERSION}\n") {
            bail!("its version is `{}`", version.trim());
        }
        for (shell, code, decision) in [("mkfs /dev/sda", 2, json!("deny")), ("ls", 0, Value::Null)]
        {
            let event = json!({
                "event_type": "before_tool",
                "tool_name": "Shell",
                "tool_input": {"command": shell},
                "cwd": self.place("project"),
                "session_id": "trial",
            });
            let ended = fed(self.command(&program).args(["hook", "agent-hooks"]), &event)?;
            let said: Value = serde_json::from_slice(&ended.stdout).unwrap_or_default();
            if ended.status.code() != Some(code) || said["decision"] != decision {
                bail!("`{shell}` was answered with {ended:?}");
            }
        }
        Ok(())
    }

    /// Fails unless a file of the account exists.
    pub fn must_have(&self, file: &Path) -> Result<()> {
        let found = self.place(file).metadata();
        let found = found.with_context(|| format!("{} was not installed", file.display()))?;
        if !found.is_file() || found.len() == 0 {
            bail!("{} is empty or no file", file.display());
        }
        Ok(())
    }

    /// Fails if a file of the account exists.
    pub fn must_not_have(&self, file: &Path) -> Result<()> {
        if self.place(file).symlink_metadata().is_ok() {
            bail!("{} was left behind", file.display());
        }
        Ok(())
    }
}

/// Runs a command with an event on its standard input.
pub fn fed(command: &mut Command, event: &Value) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("the program cannot be started")?;
    let mut input = child.stdin.take().context("the program has no standard input")?;
    input.write_all(event.to_string().as_bytes())?;
    drop(input);
    Ok(child.wait_with_output()?)
}

fn program(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, Permissions::from_mode(0o755))?;
    Ok(())
}
