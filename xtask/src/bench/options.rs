//! The options of `cargo xtask bench`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

/// The number of runs of a quick contender. A whole agent's round takes seconds, so there are
/// fewer.
const RUNS: usize = 1000;
const AGENT_RUNS: usize = 30;

/// The profile that is shipped: a static build for musl.
pub const SHIPPED: &str = "dist";

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchMode {
    /// What a hook call costs, with the goals.
    Hooks,
    /// How soon it is known what an agent waits for.
    Agents,
    /// How the daemon performs.
    Daemon,
    /// How many instructions the standard dispatches take.
    Instructions,
    /// The system calls of the path on which no hook matches.
    SystemCalls,
    /// Where the time goes on that path.
    Stations,
}

/// Which program is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Build {
    /// Built with this profile.
    Profile(String),
    /// An existing binary.
    Binary(PathBuf),
}

impl Build {
    /// The profile of examples that measure inside a process.
    pub fn of_examples(&self) -> &str {
        match self {
            // Link-time optimization of every example would take longer than all the measuring.
            Self::Profile(profile) if profile != SHIPPED => profile,
            _ => "release",
        }
    }
}

/// The parsed options.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, PartialEq, Eq)]
pub struct BenchOptions {
    pub mode: BenchMode,
    pub runs: usize,
    pub build: Build,
    /// Print JSON.
    pub json: bool,
    /// Leave out what is not started as a process of its own.
    pub quick: bool,
    /// A missed goal is a failure.
    pub check: bool,
    /// Write the figures into the repository.
    pub write: bool,
}

impl BenchOptions {
    /// Reads the arguments.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let mut mode = BenchMode::Hooks;
        let (mut runs, mut build) = (None, None);
        let (mut json, mut quick, mut check, mut write) = (false, false, false, false);
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let set_mode = |mode: &mut BenchMode, wanted| match *mode {
                BenchMode::Hooks => {
                    *mode = wanted;
                    Ok(())
                }
                _ => bail!("`{argument}` is one task too many: `bench` does one at a time"),
            };
            match argument.as_str() {
                "--agents" => set_mode(&mut mode, BenchMode::Agents)?,
                "--daemon" => set_mode(&mut mode, BenchMode::Daemon)?,
                "--instructions" => set_mode(&mut mode, BenchMode::Instructions)?,
                "--syscalls" => set_mode(&mut mode, BenchMode::SystemCalls)?,
                "--where" => set_mode(&mut mode, BenchMode::Stations)?,
                "--runs" => {
                    let number = rest.next().context("`--runs` needs a number")?;
                    let number = number.parse().context("`--runs` needs a whole number")?;
                    if number == 0 {
                        bail!("`--runs` needs at least 1");
                    }
                    runs = Some(number);
                }
                "--profile" => {
                    let name = rest.next().context("`--profile` needs a name")?;
                    build = Some(Build::Profile(name.clone()));
                }
                "--binary" => {
                    let path = rest.next().context("`--binary` needs a path")?;
                    build = Some(Build::Binary(path.into()));
                }
                "--json" => json = true,
                "--quick" => quick = true,
                "--check" => check = true,
                "--write" => write = true,
                other => bail!("`bench` has no argument `{other}`"),
            }
        }
        if write && !matches!(mode, BenchMode::Hooks | BenchMode::Instructions) {
            bail!("`--write` goes with the whole benchmark or with `--instructions`");
        }
        if write && quick {
            bail!("`--write` needs every figure, and `--quick` leaves some out");
        }
        let profile = match mode {
            BenchMode::Agents | BenchMode::Daemon => "release",
            _ => SHIPPED,
        };
        Ok(Self {
            mode,
            runs: runs.unwrap_or(if mode == BenchMode::Agents { AGENT_RUNS } else { RUNS }),
            build: build.unwrap_or_else(|| Build::Profile(profile.to_owned())),
            json,
            quick,
            check,
            write,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<BenchOptions> {
        BenchOptions::parse(&arguments.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_shipped_build_is_measured_a_thousand_times() {
        let read = options(&[]).unwrap();
        assert_eq!(read.mode, BenchMode::Hooks);
        assert_eq!(read.runs, 1000);
        assert_eq!(read.build, Build::Profile("dist".to_owned()));
        assert!(!read.json && !read.quick && !read.check && !read.write);
    }

    #[test]
    fn arguments_are_read() {
        let read = options(&["--runs", "5", "--profile", "dev", "--json", "--check"]).unwrap();
        assert_eq!((read.runs, read.json, read.check), (5, true, true));
        assert_eq!(read.build, Build::Profile("dev".to_owned()));
        assert_eq!(options(&["--binary", "/a"]).unwrap().build, Build::Binary("/a".into()));
        assert_eq!(options(&["--daemon"]).unwrap().mode, BenchMode::Daemon);
        assert_eq!(options(&["--agents"]).unwrap().runs, 30);
        assert_eq!(options(&["--runs", "5", "--agents"]).unwrap().runs, 5);
        assert_eq!(options(&["--daemon"]).unwrap().build, Build::Profile("release".to_owned()));
        assert!(options(&["--instructions", "--write"]).unwrap().write);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for arguments in [
            &["--runs"][..],
            &["--runs", "0"],
            &["--run"],
            &["--binary"],
            &["--agents", "--daemon"],
            &["--agents", "--write"],
            &["--quick", "--write"],
        ] {
            assert!(options(arguments).is_err(), "{arguments:?}");
        }
    }

    #[test]
    fn examples_are_not_linked_as_a_whole() {
        assert_eq!(Build::Profile("dist".to_owned()).of_examples(), "release");
        assert_eq!(Build::Binary("/a".into()).of_examples(), "release");
        assert_eq!(Build::Profile("dev".to_owned()).of_examples(), "dev");
    }
}
