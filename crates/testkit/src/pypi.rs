//! Programs from the Python Package Index, each in a virtual environment in the cache folder of this
//! project, at pinned versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::npm::{InstallError, install_once};

/// Installs packages, each with its version, into a folder of the cache, unless they are installed
/// already. Returns the folder; programs are in its `bin`.
pub fn install(name: &str, packages: &[&str], minor: u32) -> Result<PathBuf, InstallError> {
    let package = packages.join(" ");
    // Another version of Python needs another environment.
    let stamp = format!("{package} python>=3.{minor}");
    install_once(name, &stamp, |folder| {
        let python = python(minor)
            .ok_or_else(|| InstallError::NoPython { package: package.clone(), minor })?;
        let mut environment = Command::new(python);
        environment.args(["-m", "venv"]).arg(folder);
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages);
        run(environment, &package)?;
        run(pip, &package)
    })
}

fn run(mut command: Command, package: &str) -> Result<(), InstallError> {
    let failed = |message: String| InstallError::Pip { package: package.to_owned(), message };
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Finds a Python of at least this version: on the `PATH`, or installed by pyenv.
fn python(minor: u32) -> Option<PathBuf> {
    let named = (minor..minor + 4).map(|minor| PathBuf::from(format!("python3.{minor}")));
    let installed = pyenv_versions().into_iter().map(|version| version.join("bin/python3"));
    let mut candidates = ["python3".into()].into_iter().chain(named).chain(installed);
    candidates.find(|python| is_recent(python, minor))
}

fn pyenv_versions() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let versions = home.map(|home| home.join(".pyenv/versions"));
    let entries = versions.and_then(|versions| std::fs::read_dir(versions).ok());
    let mut found: Vec<_> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn is_recent(python: &Path, minor: u32) -> bool {
    let program = format!("import ensurepip, sys, venv; sys.exit(sys.version_info < (3, {minor}))");
    let mut command = Command::new(python);
    command.args(["-c", &program]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Installs the program that tries an HTTP API by its description; returns the folder.
pub fn schemathesis() -> Result<PathBuf, InstallError> {
    install("schemathesis", &["schemathesis==4.32.5"], 10)
}
