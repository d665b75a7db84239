//! The bodies of the test suites.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::workspace::EVERYTHING;
use crate::{TaskResult, Workspace, generate, process, tools};

/// The outcome of a suite without failures.
#[derive(Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SuiteOutcome {
    /// All of it ran.
    Passed,
    /// It ran, except for the part named here.
    PassedExcept(String),
    /// It could not run, for this reason.
    Skipped(String),
}

/// How long fetching the advisory database may take.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

pub fn format(workspace: &Workspace) -> Result<SuiteOutcome> {
    cargo(workspace, &["fmt", "--all", "--check"])
}

pub fn lint(workspace: &Workspace) -> Result<SuiteOutcome> {
    let mut command = workspace.cargo();
    command.arg("clippy").args(EVERYTHING).args(["--all-targets", "--", "-D", "warnings"]);
    process::run(&mut command)?;
    Ok(SuiteOutcome::Passed)
}

pub fn tests(workspace: &Workspace) -> Result<SuiteOutcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_HOOKS) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    // Each of these is needed by few tests, which are skipped without it.
    if let Err(error) = tools::ensure_programs(&tools::FOR_FEW_TESTS) {
        println!("{error:#}");
    }
    nextest(workspace, "ci")
}

/// The variable with which the suite `agents` runs those, too, that few people use: `--all`.
pub const ALL_AGENTS: &str = "ANYHOOK_ALL_AGENTS";

/// The real agents: installed from their registries, run without a network.
pub fn agents(workspace: &Workspace) -> Result<SuiteOutcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_AGENTS) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    let programs = workspace.build_everything()?;
    let all = std::env::var_os(ALL_AGENTS).is_some_and(|all| all == "1");
    let mut install = workspace.command(programs.join("examples/install_agents"));
    if let Err(error) = process::run(install.args(all.then_some("--all"))) {
        return Ok(SuiteOutcome::Skipped(format!("the agents cannot be installed: {error:#}")));
    }
    nextest(workspace, if all { "agents-all" } else { "agents" })
}

/// The page in a real browser, and what programs make of its API.
pub fn page(workspace: &Workspace) -> Result<SuiteOutcome> {
    for programs in [&tools::FOR_PAGE[..], &tools::FOR_AGENTS] {
        if let Err(error) = tools::ensure_programs(programs) {
            return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
        }
    }
    let programs = workspace.build_everything()?;
    let mut install = workspace.command(programs.join("examples/install_page_tests"));
    if let Err(error) = process::run(&mut install) {
        return Ok(SuiteOutcome::Skipped(format!("its tests cannot be installed: {error:#}")));
    }
    nextest(workspace, "page")
}

/// The clients in other languages, each with its own tests.
pub fn clients(workspace: &Workspace) -> Result<SuiteOutcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_CLIENTS) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    let programs = workspace.build_everything()?;
    if let Err(error) =
        process::run(&mut workspace.command(programs.join("examples/install_typescript")))
    {
        return Ok(SuiteOutcome::Skipped(format!("TypeScript cannot be installed: {error:#}")));
    }
    nextest(workspace, "clients")
}

/// Runs the tests of a profile of `.config/nextest.toml`.
fn nextest(workspace: &Workspace, profile: &str) -> Result<SuiteOutcome> {
    let nextest = match tools::ensure(&tools::NEXTEST) {
        Ok(nextest) => nextest,
        Err(error) => return Ok(SuiteOutcome::Skipped(format!("{error:#}"))),
    };
    let mut command = workspace.command(nextest);
    command.args(["nextest", "run", "--profile", profile]).args(EVERYTHING);
    if let Some(partition) = std::env::var_os("ANYHOOK_PARTITION").filter(|one| !one.is_empty()) {
        command.arg("--partition").arg(partition);
    }
    process::run_tests(&mut command)?;
    Ok(SuiteOutcome::Passed)
}

pub fn doctests(workspace: &Workspace) -> Result<SuiteOutcome> {
    process::run_tests(workspace.cargo().args(["test", "--doc"]).args(EVERYTHING))?;
    Ok(SuiteOutcome::Passed)
}

pub fn docs(workspace: &Workspace) -> Result<SuiteOutcome> {
    let mut command = workspace.cargo();
    command.args(["doc", "--no-deps"]).args(EVERYTHING);
    process::run(command.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    Ok(SuiteOutcome::Passed)
}

pub fn generated(workspace: &Workspace) -> Result<SuiteOutcome> {
    match generate::check(workspace)? {
        TaskResult::Good => Ok(SuiteOutcome::Passed),
        TaskResult::Bad => bail!("generated files are out of date; run `cargo xtask generate`"),
    }
}

pub fn examples(workspace: &Workspace) -> Result<SuiteOutcome> {
    if let Err(error) = tools::ensure_programs(&tools::FOR_HOOKS) {
        return Ok(SuiteOutcome::Skipped(format!("{error:#}")));
    }
    let anyhook = workspace.build_everything()?.join("anyhook");
    // Those of packs are checked by `every_case_passes`, as they are added, with their options.
    let hooks = hooks_in(workspace, "examples/hooks")?;
    // The hooks and the state of the user who runs this must not be used.
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
    Ok(SuiteOutcome::Passed)
}

pub fn deny(workspace: &Workspace) -> Result<SuiteOutcome> {
    let deny = match tools::ensure(&tools::DENY) {
        Ok(deny) => deny,
        Err(error) => return Ok(SuiteOutcome::Skipped(format!("{error:#}"))),
    };
    let mut command = workspace.command(&deny);
    process::run(command.args(["--locked", "check", "bans", "licenses", "sources"]))?;

    // An unreachable database says nothing about our dependencies, so only its content can cause a
    // failure.
    let mut fetch = workspace.command(&deny);
    if let Err(error) = process::run_within(FETCH_LIMIT, fetch.args(["--locked", "fetch", "db"])) {
        println!("{error:#}");
        let left_out = "advisories were not checked: their database cannot be reached from here";
        return Ok(SuiteOutcome::PassedExcept(left_out.to_owned()));
    }
    let mut advisories = workspace.command(&deny);
    process::run(advisories.args(["--locked", "check", "advisories"]))?;
    Ok(SuiteOutcome::Passed)
}

/// No word is misspelt; exceptions are in `_typos.toml`.
pub fn typos(workspace: &Workspace) -> Result<SuiteOutcome> {
    match tools::ensure(&tools::TYPOS) {
        Ok(typos) => process::run(&mut workspace.command(typos))?,
        Err(error) => return Ok(SuiteOutcome::Skipped(format!("{error:#}"))),
    }
    Ok(SuiteOutcome::Passed)
}

/// Every dependency is used by the crate that names it.
pub fn unused(workspace: &Workspace) -> Result<SuiteOutcome> {
    match tools::ensure(&tools::MACHETE) {
        Ok(machete) => process::run(&mut workspace.command(machete))?,
        Err(error) => return Ok(SuiteOutcome::Skipped(format!("{error:#}"))),
    }
    Ok(SuiteOutcome::Passed)
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<SuiteOutcome> {
    process::run(workspace.cargo().args(arguments))?;
    Ok(SuiteOutcome::Passed)
}

/// The hooks' folders in a folder of the repository.
fn hooks_in(workspace: &Workspace, parent: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let hooks = folders_in(workspace, parent.as_ref())?;
    if hooks.is_empty() {
        bail!("{} has no hook", parent.as_ref().display());
    }
    Ok(hooks)
}

/// Returns the folders in a folder of the repository, relative to it, sorted by name.
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
