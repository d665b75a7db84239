//! `cargo xtask dist`: makes the packages, one file per kind.
//!
//! The static binaries are in all packages; with `--all`, an archive with dynamic ones is added.
//! The files are reproducible for the same commit and toolchain. `trial` installs and runs them
//! all.

mod agent_packages;
mod archive;
pub mod binary;
mod checksums;
mod contents;
mod debian;
mod elf;
pub mod layout;
mod notices;
mod npm;
pub mod package;
pub mod platform;
mod tarball;
pub mod trial;
mod wheel;

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use self::contents::Contents;
use self::package::{NAME, PROGRAMS, Programs};
use self::platform::{Libc, Platform};
use crate::{TaskResult, Workspace, tools};

/// The parsed options.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    out: Option<PathBuf>,
    all: bool,
}

/// Makes the packages.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    let options = Options::parse(arguments)?;
    let out = options.out.unwrap_or_else(|| default_folder(workspace));
    make(workspace, &out, if options.all { &Libc::ALL } else { &[Libc::Musl] })?;
    Ok(TaskResult::Good)
}

/// Returns where packages are written by default; cargo has a `dist` folder of its own.
pub fn default_folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("packages")
}

/// Builds the binaries, writes every package that contains them, and the list of checksums.
pub fn make(workspace: &Workspace, out: &Path, libcs: &[Libc]) -> Result<()> {
    let platform = Platform::here()?;
    let time = archive::time(workspace)?;
    fs::create_dir_all(out).with_context(|| format!("{} cannot be made", out.display()))?;
    let mut shelf = PackageFolder { out, sums: String::new() };
    for &libc in libcs {
        let mut programs = Programs::new();
        for (name, built) in build_all(workspace, platform, libc)? {
            let what = format!("{name} for {}", platform.target(libc));
            let bytes = fs::read(&built)?;
            if libc == Libc::Musl {
                elf::look(&bytes)?.must_be_static().context(what)?;
            }
            if layout::concerns(libc, name) {
                layout::must_be_in_place(&bytes)?;
            }
            programs.insert(name, bytes);
        }
        let anyhook = platform.built(&workspace.target, libc).join(NAME);
        let contents = timed("completions, manual, licences", || {
            Contents::gather(workspace, platform, &anyhook)
        })?;
        shelf.put(|| tarball::write(platform, libc, &programs, &contents, time))?;
        if libc == Libc::Musl {
            shelf.put(|| npm::write(platform, &programs, &contents, time))?;
            for package in agent_packages::ALL {
                shelf.put(|| package.write(workspace, &contents, time))?;
            }
            shelf.put(|| wheel::write(workspace, platform, &programs, &contents))?;
            match tools::ensure_programs(&tools::FOR_DEBIAN) {
                Ok(()) => shelf.put(|| debian::write(platform, &programs, &contents, time))?,
                Err(error) => println!("no Debian package: {error:#}"),
            }
        }
    }
    fs::write(out.join(checksums::NAME), &shelf.sums)?;
    println!("{}", out.join(checksums::NAME).display());
    Ok(())
}

/// Builds every program in parallel: the small one is optimized as a whole, on one processor.
fn build_all(
    workspace: &Workspace,
    platform: Platform,
    libc: Libc,
) -> Result<Vec<(&'static str, PathBuf)>> {
    let build = |name| {
        let what = format!("{name} for {}", platform.target(libc));
        timed(&what, || binary::build(workspace, libc, name))
    };
    thread::scope(|scope| {
        let builds = PROGRAMS.map(|name| (name, scope.spawn(move || build(name))));
        let finish = |(name, build): (_, ScopedJoinHandle<'_, Result<PathBuf>>)| {
            let path = build.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            Ok((name, path))
        };
        builds.into_iter().map(finish).collect()
    })
}

/// The folder that packages are put into.
struct PackageFolder<'a> {
    out: &'a Path,
    sums: String,
}

impl PackageFolder<'_> {
    /// Makes a package and prints how long that took.
    fn put(&mut self, make: impl FnOnce() -> Result<(String, Vec<u8>)>) -> Result<()> {
        let start = Instant::now();
        let (name, bytes) = make()?;
        let path = self.out.join(&name);
        fs::write(&path, &bytes)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        self.sums.push_str(&checksums::line(&name, &bytes));
        let (length, seconds) = (bytes.len().div_ceil(1024), start.elapsed().as_secs_f64());
        println!("{}  {length} KiB, {seconds:.1} s", path.display());
        Ok(())
    }
}

/// Runs something and prints how long it took.
fn timed<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("{what} …");
    let start = Instant::now();
    let done = work().with_context(|| what.to_owned())?;
    println!("{what}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(done)
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { out: None, all: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--out" => {
                    let folder = arguments.next().context("--out needs a value")?;
                    options.out = Some(folder.into());
                }
                "--all" => options.all = true,
                other => bail!("`dist` takes --out and --all, but got `{other}`"),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options> {
        Options::parse(&arguments.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_read() {
        let found = parse(&["--all", "--out", "/somewhere"]).unwrap();
        assert_eq!(found, Options { out: Some("/somewhere".into()), all: true });
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for (arguments, error) in [
            (&["--out"][..], "--out needs a value"),
            (&["--fast"], "`dist` takes --out and --all, but got `--fast`"),
        ] {
            assert_eq!(parse(arguments).unwrap_err().to_string(), error);
        }
    }
}
