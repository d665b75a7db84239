//! Installs agents into a cache folder of this project, at a pinned version.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhook_hosts::HostSpec;
use anyhook_hosts::spec::Package;

use super::{Agent, npm_architecture};
use crate::npm::{self, InstallError};
use crate::pypi;

/// What an agent is installed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentPackages {
    /// Packages of npm, each with its version.
    Npm(Vec<String>),
    /// Packages of the Python Package Index, each with its version.
    PyPi {
        /// The packages.
        packages: Vec<String>,
        /// The earliest version 3 of Python that runs them.
        python: u32,
    },
}

/// What runs an agent's scripts where the machine's own Node.js does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    /// Node.js 24.
    Node24,
    /// Bun.
    Bun,
}

/// A program that is compressed with Brotli in a package.
#[derive(Clone, Debug)]
pub(super) struct Unpacked {
    /// The file in `node_modules`.
    pub(super) packed: String,
    /// The program in the agent's folder.
    pub(super) program: &'static str,
}

impl Unpacked {
    /// Unpacks it with Node.js, which npm needs anyway.
    fn unpack(&self, folder: &Path) -> Result<(), InstallError> {
        let program = folder.join(self.program);
        let failed = |message: String| InstallError::Npm { package: self.packed.clone(), message };
        let parent = program.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .map_err(|error| InstallError::Cache { folder: parent.to_owned(), error })?;
        let output = Command::new("node")
            .args(["-e", UNPACK])
            .arg(folder.join("node_modules").join(&self.packed))
            .arg(&program)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// Unpacks a file with Node.js: `node -e UNPACK FROM TO`.
const UNPACK: &str = "\
const fs = require('fs'), [from, to] = process.argv.slice(1);\
fs.writeFileSync(to, require('zlib').brotliDecompressSync(fs.readFileSync(from)), {mode: 0o755});";

impl AgentPackages {
    /// Returns the package that people install, at the version that anyhook was tested with.
    pub fn of(spec: &HostSpec) -> Self {
        let version = spec.tried_version().expect("an agent that is run has a version");
        match spec.package {
            Package::Npm(name) => Self::Npm(vec![format!("{name}@{version}")]),
            Package::PyPi(name) => {
                Self::PyPi { packages: vec![format!("{name}=={version}")], python: 11 }
            }
            Package::Elsewhere => panic!("{} is in no package", spec.id()),
        }
    }
}

impl Runtime {
    fn package(self) -> (String, &'static str) {
        match self {
            Self::Node24 => (format!("node-linux-{}", npm_architecture()), "24.21.0"),
            Self::Bun => (format!("@oven/bun-linux-{}", npm_architecture()), "1.3.14"),
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Node24 => "runtimes/node-24",
            Self::Bun => "runtimes/bun",
        }
    }

    fn install(self) -> Result<PathBuf, InstallError> {
        let (package, version) = self.package();
        let folder = npm::install(self.folder(), &[&format!("{package}@{version}")])?;
        // npm leaves it to an install script, which we do not run, to make it executable.
        let program = self.program();
        fs::set_permissions(&program, Permissions::from_mode(0o755))
            .map_err(|error| InstallError::Cache { folder: program, error })?;
        Ok(folder)
    }

    /// Returns its program, which is there once an agent that needs it was installed.
    pub(super) fn program(self) -> PathBuf {
        let name = match self {
            Self::Node24 => "node",
            Self::Bun => "bun",
        };
        let modules = npm::cache().join(self.folder()).join("node_modules");
        modules.join(self.package().0).join("bin").join(name)
    }
}

impl Agent {
    /// Installs the agent, unless it is there already, and returns its folder.
    pub fn install(self) -> Result<PathBuf, InstallError> {
        if let Some(runtime) = self.host().runtime() {
            runtime.install()?;
        }
        let name = format!("agents/{}", self.name());
        match self.host().packages(self.spec()) {
            AgentPackages::Npm(packages) => {
                let how = self.host().npm_install(self.spec());
                npm::install_with(&name, &words(&packages), &how, |folder| {
                    match self.host().unpacked() {
                        Some(unpacked) => unpacked.unpack(folder),
                        None => Ok(()),
                    }
                })
            }
            AgentPackages::PyPi { packages, python } => {
                pypi::install(&name, &words(&packages), python)
            }
        }
    }
}

fn words(packages: &[String]) -> Vec<&str> {
    packages.iter().map(String::as_str).collect()
}
