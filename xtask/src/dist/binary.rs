//! Builds the shipped programs. The flags of the static ones are in `.cargo/config.toml`, the
//! profile is in `Cargo.toml`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::layout;
use super::package::SMALL;
use super::platform::{Libc, Platform};
use crate::{Workspace, process, tools};

/// The profile of shipped builds.
pub const PROFILE: &str = "dist";

/// Builds a program for this machine's platform and returns its path.
///
/// Every task that needs a shipped binary uses this: with other flags cargo would rebuild
/// everything. One call per program: in a common one each would get the features that the other
/// needs.
pub fn build(workspace: &Workspace, libc: Libc, program: &str) -> Result<PathBuf> {
    build_with(workspace, libc, program, &[])
}

/// Builds the small static program with symbols.
pub fn build_with_names(workspace: &Workspace) -> Result<PathBuf> {
    // Not with the profile: with another one, the compiled code would differ.
    build_with(workspace, Libc::Musl, SMALL, &["-C", "strip=none"])
}

fn build_with(
    workspace: &Workspace,
    libc: Libc,
    program: &str,
    for_the_compiler: &[&str],
) -> Result<PathBuf> {
    let platform = Platform::here()?;
    ensure_target(&platform.target(libc))?;
    if libc == Libc::Musl {
        tools::ensure_programs(&tools::FOR_STATIC)?;
    }
    let recipe = Recipe::new(platform, libc, program)?;
    let mut command = workspace.cargo();
    command.args(["rustc", "--package", program, "--bin", program]).args(&recipe.arguments);
    recipe.set_environment(&mut command);
    let folder = build_folder(workspace, program);
    command.arg("--target-dir").arg(&folder);
    command.arg("--").args(for_the_compiler);
    if layout::concerns(libc, program) {
        command.args(layout::arguments(workspace)?);
    }
    process::run(&mut command)?;
    Ok(platform.built(&folder, libc).join(program))
}

/// Returns the build folder of a program. Cargo locks a build folder, and the two programs share no
/// artifact: their profiles differ. With a folder each they are built in parallel.
fn build_folder(workspace: &Workspace, program: &str) -> PathBuf {
    match program {
        SMALL => workspace.target.join("hook"),
        _ => workspace.target.clone(),
    }
}

/// How a program is built: with anything else cargo would rebuild everything.
pub struct Recipe {
    /// The arguments for cargo, whichever task starts it.
    pub arguments: Vec<String>,
    /// The compiler of the C parts, if it is not the default one.
    c_compiler: Option<String>,
}

impl Recipe {
    /// The recipe for a program.
    pub fn new(platform: Platform, libc: Libc, program: &str) -> Result<Self> {
        let target = platform.target(libc);
        let mut arguments: Vec<String> =
            ["--locked", "--profile", PROFILE, "--target", &target].map(str::to_owned).into();
        let mut set = |setting: String| arguments.extend(["--config".to_owned(), setting]);
        set(remap(&target)?);
        // Agents wait for the small static program. With link-time optimization the large one takes
        // five minutes more to build; and with dynamic linking, that alone takes longer at each
        // start than what would be saved.
        if libc == Libc::Gnu || program != SMALL {
            set("profile.dist.lto=false".to_owned());
        }
        // For the large one size matters; the crates that are optimized for speed nevertheless are
        // named in `Cargo.toml`. Shipped builds have every feature.
        if program != SMALL {
            set("profile.dist.opt-level=\"z\"".to_owned());
        }
        if program != SMALL {
            arguments.push("--features=full".to_owned());
        }
        // Not every architecture's musl compiler has the long name that is looked up.
        let c_compiler = (libc == Libc::Musl).then(|| format!("CC_{}", target.replace('-', "_")));
        Ok(Self { arguments, c_compiler })
    }

    /// Sets what the build depends on, and removes what would change it.
    pub fn set_environment(&self, command: &mut Command) {
        // A person's own flags would replace ours.
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        if let Some(variable) = &self.c_compiler
            && std::env::var_os(variable).is_none()
        {
            command.env(variable, "musl-gcc");
        }
    }
}

/// Removes cargo's folder on this machine from panic messages: it is private, and another machine
/// builds the same bytes. Our own crates are named relative to the repository's root anyway.
fn remap(target: &str) -> Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let home = home.context("cargo's home is not known: neither CARGO_HOME nor HOME is set")?;
    let flags = [format!("--remap-path-prefix={}=/cargo", home.display())];
    // JSON strings are valid in TOML, too.
    Ok(format!("target.{target}.rustflags={}", serde_json::to_string(&flags)?))
}

/// Checks whether the static programs can be built here, and installs what is missing.
pub fn ensure_static() -> Result<()> {
    tools::ensure_programs(&tools::FOR_STATIC)?;
    ensure_target(&Platform::here()?.target(Libc::Musl))
}

/// Makes sure that the standard library is installed for the target.
fn ensure_target(target: &str) -> Result<()> {
    if has_target(target) {
        return Ok(());
    }
    println!("Rust's standard library for {target} is missing: adding it");
    let added = process::run(Command::new("rustup").args(["target", "add", target]));
    if !has_target(target) {
        let why = added.err().map(|error| format!(": {error:#}")).unwrap_or_default();
        bail!("Rust's standard library for {target} is missing and cannot be added{why}");
    }
    Ok(())
}

fn has_target(target: &str) -> bool {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--print", "target-libdir", "--target", target]);
    process::output(&mut command).is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}
