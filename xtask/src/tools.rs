//! Finds the programs that the suites need, and installs missing ones.
//!
//! Tools go to a cache folder of this project, never into the user's `~/.cargo/bin`.
//! Debian programs are installed only by root, who could do so anyway.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{process, workspace};

/// A tool from a registry.
///
/// Versions are pinned: the newest one may need a newer compiler than ours.
pub struct Tool {
    name: &'static str,
    version: &'static str,
    source: ToolSource,
}

/// Where a tool comes from.
enum ToolSource {
    /// Compiled here, from crates.io, with these arguments.
    CratesIo(&'static [&'static str]),
    /// A prebuilt program, from Python's registry.
    Python,
}

/// Runs tests, each in a process of its own.
pub const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    version: "0.9.143",
    source: ToolSource::CratesIo(&["--no-default-features", "--features=default-no-update"]),
};

/// Checks dependencies: their licences, sources and known vulnerabilities.
pub const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    source: ToolSource::CratesIo(&["--no-default-features"]),
};

/// Finds unused dependencies.
pub const MACHETE: Tool = Tool {
    name: "cargo-machete",
    version: "0.9.2",
    source: ToolSource::CratesIo(&["--no-default-features"]),
};

/// Finds misspelt words.
pub const TYPOS: Tool = Tool { name: "typos", version: "1.51.1", source: ToolSource::Python };

/// Makes the Python package.
pub const MATURIN: Tool = Tool { name: "maturin", version: "1.16.0", source: ToolSource::Python };

/// A program and the Debian package it comes from.
pub struct Program {
    name: &'static str,
    package: &'static str,
}

/// The interpreters of hooks, and the programs with which tests isolate and observe them.
pub const FOR_HOOKS: [Program; 9] = [
    Program { name: "bash", package: "bash" },
    Program { name: "python3", package: "python3" },
    Program { name: "unshare", package: "util-linux" },
    Program { name: "setpriv", package: "util-linux" },
    Program { name: "ps", package: "procps" },
    Program { name: "tmux", package: "tmux" },
    Program { name: "node", package: "nodejs" },
    Program { name: "dbus-daemon", package: "dbus-daemon" },
    Program { name: "strace", package: "strace" },
];

/// What few tests need.
pub const FOR_FEW_TESTS: [Program; 6] = [
    Program { name: "fish", package: "fish" },
    Program { name: "make", package: "make" },
    Program { name: "npm", package: "npm" },
    Program { name: "perl", package: "perl" },
    Program { name: "vi", package: "vim-tiny" },
    Program { name: "zsh", package: "zsh" },
];

/// The programs to install and isolate the real agents.
pub const FOR_AGENTS: [Program; 6] = [
    Program { name: "npm", package: "npm" },
    Program { name: "node", package: "nodejs" },
    Program { name: "git", package: "git" },
    Program { name: "ip", package: "iproute2" },
    Program { name: "unshare", package: "util-linux" },
    Program { name: "python3", package: "python3" },
];

/// The browser, what drives it, and what speaks to the API.
pub const FOR_PAGE: [Program; 5] = [
    Program { name: "chromium", package: "chromium" },
    Program { name: "node", package: "nodejs" },
    Program { name: "npm", package: "npm" },
    Program { name: "python3", package: "python3" },
    Program { name: "curl", package: "curl" },
];

/// The programs for the clients in other languages.
pub const FOR_CLIENTS: [Program; 3] = [
    Program { name: "python3", package: "python3" },
    Program { name: "node", package: "nodejs" },
    Program { name: "npm", package: "npm" },
];

/// The programs to install and run the peers of the benchmark.
pub const FOR_PEERS: [Program; 4] = [
    Program { name: "git", package: "git" },
    Program { name: "npm", package: "npm" },
    Program { name: "node", package: "nodejs" },
    Program { name: "python3", package: "python3" },
];

/// The program that measures memory.
pub const FOR_MEMORY: [Program; 1] = [Program { name: "time", package: "time" }];

/// The programs that count instructions and system calls.
pub const FOR_COUNTING: [Program; 2] = [
    Program { name: "valgrind", package: "valgrind" },
    Program { name: "strace", package: "strace" },
];

/// What building libFuzzer needs.
pub const FOR_FUZZING: [Program; 1] = [Program { name: "c++", package: "g++" }];

/// The compiler of the C parts of a static binary.
pub const FOR_STATIC: [Program; 1] = [Program { name: "musl-gcc", package: "musl-tools" }];

/// The programs that make a Debian package.
pub const FOR_DEBIAN: [Program; 2] = [
    Program { name: "dpkg-deb", package: "dpkg" },
    Program { name: "md5sum", package: "coreutils" },
];

/// The programs that install packages.
pub const FOR_PACKAGES: [Program; 6] = [
    Program { name: "tar", package: "tar" },
    Program { name: "sha256sum", package: "coreutils" },
    Program { name: "npm", package: "npm" },
    Program { name: "node", package: "nodejs" },
    Program { name: "python3", package: "python3" },
    Program { name: "dpkg", package: "dpkg" },
];

/// Returns the tool's path: from `PATH`, from our cache, or freshly installed.
pub fn ensure(tool: &Tool) -> Result<PathBuf> {
    if let Some(found) = on_path(tool.name) {
        return Ok(found);
    }
    let tools = cache_folder()?.join("tools");
    let root = tools.join(format!("{}-{}", tool.name, tool.version));
    let installed = root.join("bin").join(tool.name);
    if is_program(&installed) {
        return Ok(installed);
    }
    println!("{} is missing: installing version {}", tool.name, tool.version);
    match tool.source {
        ToolSource::CratesIo(arguments) => compile(tool, arguments, &tools, &root),
        ToolSource::Python => fetch(tool, &root),
    }
    .with_context(|| format!("{} cannot be installed", tool.name))?;
    Ok(installed)
}

/// Compiles a tool without optimization: that takes a third of the time, and each of them still
/// finishes within seconds.
fn compile(tool: &Tool, arguments: &[&str], tools: &Path, root: &Path) -> Result<()> {
    let mut install = Command::new(workspace::cargo_program());
    install.args(["install", tool.name, "--version", tool.version, "--locked", "--debug"]);
    install.args(arguments).arg("--root").arg(root);
    // Common dependencies are compiled once.
    install.env("CARGO_TARGET_DIR", tools.join("build"));
    install.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    process::run(&mut install)
}

/// Installs a Python package into an environment of its own.
fn fetch(tool: &Tool, root: &Path) -> Result<()> {
    ensure_programs(&[Program { name: "python3", package: "python3" }])?;
    ensure_venv()?;
    process::run(Command::new("python3").args(["-m", "venv"]).arg(root))?;
    let mut install = Command::new(root.join("bin/python3"));
    install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]);
    process::run(install.arg(format!("{}=={}", tool.name, tool.version)))
}

/// Makes sure that the programs are installed, or reports which are missing.
pub fn ensure_programs(programs: &[Program]) -> Result<()> {
    let mut missing = missing(programs);
    if missing.is_empty() {
        return Ok(());
    }
    if is_root() && on_path("apt-get").is_some() {
        install_packages(&missing).context("Debian packages cannot be installed")?;
        missing = self::missing(programs);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let list: Vec<_> = missing
        .iter()
        .map(|program| format!("{} (Debian package {})", program.name, program.package))
        .collect();
    bail!("programs are missing: {}", list.join(", "));
}

/// Makes sure that python can create virtual environments, which is a separate package in Debian.
pub fn ensure_venv() -> Result<()> {
    let has = || process::output(Command::new("python3").args(["-c", "import ensurepip"])).is_ok();
    if !has() && is_root() && on_path("apt-get").is_some() {
        let venv = Program { name: "python3 -m venv", package: "python3-venv" };
        install_packages(&[&venv]).context("Debian packages cannot be installed")?;
    }
    if !has() {
        bail!("python3 cannot make virtual environments (Debian package python3-venv)");
    }
    Ok(())
}

fn missing(programs: &[Program]) -> Vec<&Program> {
    programs.iter().filter(|program| on_path(program.name).is_none()).collect()
}

fn install_packages(programs: &[&Program]) -> Result<()> {
    let mut packages: Vec<_> = programs.iter().map(|program| program.package).collect();
    packages.dedup();
    process::run(Command::new("apt-get").arg("update"))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    process::run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Asks `id`, because the standard library does not provide the user id.
fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|number| number.trim() == "0")
}

/// Returns the path of a program, if it is found.
pub fn on_path(name: &str) -> Option<PathBuf> {
    find_in(&std::env::var_os("PATH")?, name)
}

fn find_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Returns the folder for installed tools.
pub fn cache_folder() -> Result<PathBuf> {
    // An empty or relative value counts as unset, as the XDG specification says.
    let from = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = from("XDG_CACHE_HOME").or_else(|| Some(from("HOME")?.join(".cache")));
    Ok(cache.context("neither XDG_CACHE_HOME nor HOME is set")?.join("anyhook-dev"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_file_with_the_run_bit_is_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        fs::write(&file, "").unwrap();
        assert_eq!(find_in(folder.path().as_os_str(), "tool"), None);

        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_in(folder.path().as_os_str(), "tool"), Some(file));
    }

    #[test]
    fn a_folder_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tool")).unwrap();
        assert_eq!(find_in(folder.path().as_os_str(), "tool"), None);
    }
}
