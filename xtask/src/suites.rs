//! The bodies of the test suites.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::tools::Tool;
use crate::{Ending, Workspace, generate, process, tools};

/// How a suite ended when nothing was found wrong.
pub enum Outcome {
    /// All of it ran.
    Passed,
    /// It ran, except for the part named here.
    PassedExcept(String),
    /// It could not run, for this reason.
    Skipped(String),
}

/// How long fetching the advisory database may take.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// Features that are off by default and tested all the same.
const FEATURES: &str = "--features=anyhook-sdk/mcp,anyhook-sdk/openai";

pub fn format(workspace: &Workspace) -> Result<Outcome> {
    cargo(workspace, &["fmt", "--all", "--check"])
}

pub fn lint(workspace: &Workspace) -> Result<Outcome> {
    cargo(
        workspace,
        &["clippy", "--workspace", "--all-targets", FEATURES, "--locked", "--", "-D", "warnings"],
    )
}

pub fn build(workspace: &Workspace) -> Result<Outcome> {
    cargo(workspace, &["build", "--workspace", FEATURES, "--locked"])
}

pub fn tests(workspace: &Workspace) -> Result<Outcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_HOOKS) {
        return Ok(Outcome::Skipped(format!("{error:#}")));
    }
    match tools::ensure(Tool::Nextest) {
        Ok(nextest) => {
            let mut command = workspace.command(nextest);
            command.args(["nextest", "run", "--workspace", FEATURES, "--locked", "--no-fail-fast"]);
            // The real agents and the clients are suites of their own.
            command.args(["--filterset", "not (binary(bed) | test(/^(agents|clients)::/))"]);
            process::run_tests(&mut command)?;
            Ok(Outcome::Passed)
        }
        // Every test runs under plain cargo too, only not in a process of its own.
        Err(error) => {
            println!("without cargo-nextest: {error:#}");
            // The documentation's examples are a suite of their own.
            let mut command = workspace.cargo();
            command.args(["test", "--workspace", FEATURES, "--locked"]);
            process::run_tests(command.args(["--all-targets", "--no-fail-fast"]))?;
            Ok(Outcome::Passed)
        }
    }
}

/// The real agents: installed by package name, run without a network.
pub fn agents(workspace: &Workspace) -> Result<Outcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_AGENTS) {
        return Ok(Outcome::Skipped(format!("{error:#}")));
    }
    let install =
        ["run", "--locked", "--package", "anyhook-testkit", "--example", "install_agents"];
    if let Err(error) = process::run(workspace.cargo().args(install)) {
        return Ok(Outcome::Skipped(format!("the agents cannot be installed: {error:#}")));
    }
    // They are here, so a test that leaves itself out is a failure.
    let suites = [
        ["anyhook-testkit", "bed", ""],
        ["anyhook", "it", "agents::"],
        ["anyhook-daemon", "agents", "agents::"],
    ];
    for tests in suites {
        let [package, target, filter] = tests;
        let mut command = workspace.cargo();
        command.args(["test", "--locked", "--package", package, "--test", target, "--", filter]);
        process::run_tests(command.env("ANYHOOK_STRICT", "1"))?;
    }
    Ok(Outcome::Passed)
}

/// The clients in other languages, each with its own tests.
pub fn clients(workspace: &Workspace) -> Result<Outcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_CLIENTS) {
        return Ok(Outcome::Skipped(format!("{error:#}")));
    }
    let install =
        ["run", "--locked", "--package", "anyhook-testkit", "--example", "install_typescript"];
    if let Err(error) = process::run(workspace.cargo().args(install)) {
        return Ok(Outcome::Skipped(format!("TypeScript cannot be installed: {error:#}")));
    }
    let mut command = workspace.cargo();
    command.args(["test", "--locked", "--package", "anyhook", "--test", "it", "--", "clients::"]);
    process::run_tests(command.env("ANYHOOK_STRICT", "1"))?;
    Ok(Outcome::Passed)
}

pub fn doctests(workspace: &Workspace) -> Result<Outcome> {
    process::run_tests(workspace.cargo().args([
        "test",
        "--workspace",
        FEATURES,
        "--locked",
        "--doc",
    ]))?;
    Ok(Outcome::Passed)
}

pub fn docs(workspace: &Workspace) -> Result<Outcome> {
    let mut command = workspace.cargo();
    command.args(["doc", "--workspace", FEATURES, "--locked", "--no-deps"]);
    process::run(command.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    Ok(Outcome::Passed)
}

pub fn generated(workspace: &Workspace) -> Result<Outcome> {
    match generate::check(workspace)? {
        Ending::Good => Ok(Outcome::Passed),
        Ending::Bad => bail!("generated files are out of date; run `cargo xtask generate`"),
    }
}

pub fn examples(workspace: &Workspace) -> Result<Outcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_HOOKS) {
        return Ok(Outcome::Skipped(format!("{error:#}")));
    }
    let anyhook = workspace.build_anyhook("dev")?;
    let mut hooks = hooks_in(workspace, "examples/hooks")?;
    for pack in folders_in(workspace, Path::new("packs"))? {
        hooks.extend(hooks_in(workspace, pack.join("hooks"))?);
    }
    // The hooks and the state of whoever runs this stay out of it.
    let home = tempfile::tempdir()?;
    for task in ["check", "test"] {
        let mut command = workspace.command(&anyhook);
        command.arg(task).args(&hooks).env("HOME", home.path());
        for (variable, folder) in
            [("XDG_CONFIG_HOME", ".config"), ("XDG_STATE_HOME", ".local/state")]
        {
            command.env(variable, home.path().join(folder));
        }
        process::run_tests(&mut command)?;
    }
    Ok(Outcome::Passed)
}

pub fn deny(workspace: &Workspace) -> Result<Outcome> {
    let deny = match tools::ensure(Tool::Deny) {
        Ok(deny) => deny,
        Err(error) => return Ok(Outcome::Skipped(format!("{error:#}"))),
    };
    let mut command = workspace.command(&deny);
    process::run(command.args(["--locked", "check", "bans", "licenses", "sources"]))?;

    // A database out of reach says nothing about our dependencies, so only what it says can fail.
    let mut fetch = workspace.command(&deny);
    if let Err(error) = process::run_within(FETCH_LIMIT, fetch.args(["--locked", "fetch", "db"])) {
        println!("{error:#}");
        let left_out = "advisories were not checked: their database cannot be reached from here";
        return Ok(Outcome::PassedExcept(left_out.to_owned()));
    }
    let mut advisories = workspace.command(&deny);
    process::run(advisories.args(["--locked", "check", "advisories"]))?;
    Ok(Outcome::Passed)
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<Outcome> {
    process::run(workspace.cargo().args(arguments))?;
    Ok(Outcome::Passed)
}

/// The hooks' folders in a folder of the repository.
fn hooks_in(workspace: &Workspace, parent: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let hooks = folders_in(workspace, parent.as_ref())?;
    if hooks.is_empty() {
        bail!("{} has no hook", parent.as_ref().display());
    }
    Ok(hooks)
}

/// The folders in a folder of the repository, relative to it, in order of name.
fn folders_in(workspace: &Workspace, parent: &Path) -> Result<Vec<PathBuf>> {
    let entries = workspace.root.join(parent).read_dir();
    let mut folders = Vec::new();
    for entry in entries.with_context(|| format!("{} cannot be read", parent.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(parent.join(entry.file_name()));
        }
    }
    folders.sort();
    Ok(folders)
}
