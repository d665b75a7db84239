//! `cargo xtask bench`: what one hook call costs, against starting `/bin/true`.
//!
//! The contenders take turns, so that a slow moment of the machine hits all of them alike. Each
//! gets the same environment, working folder, input and output.

mod agents;
mod daemon;
mod journal;
mod sdk;
mod serve;
mod store;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use crate::{Ending, Workspace};

/// Rounds before the clock counts: caches fill, folders get made.
const WARM_UP: usize = 20;
/// The size of the event in bytes.
const EVENT_SIZE: usize = 1024;

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    runs: usize,
    profile: String,
    json: bool,
    agents: bool,
    daemon: bool,
}

/// One thing to measure.
struct Contender {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
    home: PathBuf,
}

/// The times of one contender, in microseconds.
struct Measured {
    name: &'static str,
    median: f64,
    percentile_95: f64,
}

/// Builds the program, measures, prints.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<Ending> {
    let options = Options::parse(arguments)?;
    let anyhook = workspace.build_anyhook(&options.profile)?;
    if options.agents {
        let found = agents::measure(workspace, &anyhook, &options.profile, options.runs)?;
        if options.json {
            println!("{found:#}");
        } else {
            agents::print(&found);
        }
        return Ok(Ending::Good);
    }
    if options.daemon {
        let found = daemon::measure(workspace, &anyhook, &options.profile)?;
        if options.json {
            println!("{found:#}");
        } else {
            daemon::print(&found);
        }
        return Ok(Ending::Good);
    }
    let folder = tempfile::tempdir()?;
    let place = Place::make(folder.path())?;
    let contenders = place.contenders(&anyhook)?;
    place.prove_that_hooks_count(&anyhook)?;
    let measured = measure(&place, &contenders, options.runs)?;
    let journal = journal::measure(workspace, &anyhook, &options.profile)?;
    let sdk = sdk::measure(workspace, &options.profile)?;
    let serve = serve::measure(&anyhook, options.runs)?;
    let store = store::measure(workspace, &options.profile)?;
    if options.json {
        let mut found = as_json(&options, &measured);
        found["serve"] = serve;
        found["journal"] = journal;
        found["sdk"] = sdk;
        found["store"] = store;
        println!("{found:#}");
    } else {
        print_table(&options, &measured);
        serve::print(&serve);
        journal::print(&journal);
        sdk::print(&sdk);
        store::print(&store);
    }
    Ok(Ending::Good)
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        // A round of a whole agent takes seconds, one of a hook milliseconds.
        let agents = arguments.iter().any(|argument| argument == "--agents");
        let runs = if agents { 30 } else { 300 };
        let profile = "release".to_owned();
        let mut options = Self { runs, profile, json: false, agents, daemon: false };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--runs" => {
                    let runs = rest.next().context("`--runs` needs a number")?;
                    options.runs = runs.parse().context("`--runs` needs a whole number")?;
                    if options.runs == 0 {
                        bail!("`--runs` needs at least 1");
                    }
                }
                "--profile" => {
                    options.profile.clone_from(rest.next().context("`--profile` needs a name")?);
                }
                "--json" => options.json = true,
                "--daemon" => options.daemon = true,
                "--agents" => {}
                other => bail!("`bench` has no argument `{other}`"),
            }
        }
        Ok(options)
    }
}

/// The temporary folders and files all contenders work with.
struct Place {
    root: PathBuf,
    project: PathBuf,
    event: PathBuf,
}

impl Place {
    fn make(root: &Path) -> Result<Self> {
        let project = root.join("project");
        fs::create_dir(&project)?;
        let event = root.join("event.json");
        fs::write(&event, event_text(&project)?)?;
        Ok(Self { root: root.to_owned(), project, event })
    }

    /// Makes a home folder for each contender and lists them all.
    fn contenders(&self, anyhook: &Path) -> Result<Vec<Contender>> {
        let empty = self.home("none", 0)?;
        let ten = self.home("ten", 10)?;
        let hundred = self.home("hundred", 100)?;
        let one = self.home("one", 0)?;
        let script = add_hook(&one, "bench-match", "echo", 0)?;

        let hook: &[&str] = &["hook", "agent-hooks"];
        let anyhook =
            |name, home| Contender { name, program: anyhook.into(), arguments: hook, home };
        let plain =
            |name, program| Contender { name, program, arguments: &[], home: empty.clone() };
        Ok(vec![
            plain("/bin/true", "/bin/true".into()),
            anyhook("anyhook, no hooks", empty.clone()),
            anyhook("anyhook, 10 hooks, none matches", ten),
            anyhook("anyhook, 100 hooks, none matches", hundred),
            anyhook("anyhook, one matching sh hook", one),
            plain("that sh script alone", script),
        ])
    }

    /// Makes a home folder with hooks that do not match. They would block, so one that runs after
    /// all is noticed.
    fn home(&self, name: &str, hooks: usize) -> Result<PathBuf> {
        let home = self.root.join(name);
        fs::create_dir(&home)?;
        for number in 0..hooks {
            add_hook(&home, &format!("bench-{number:03}"), &format!("never-{number:03}"), 2)?;
        }
        Ok(home)
    }

    /// Makes sure that a matching hook is found and run: else we would measure nothing.
    fn prove_that_hooks_count(&self, anyhook: &Path) -> Result<()> {
        let home = self.home("proof", 0)?;
        add_hook(&home, "bench-match", "echo", 2)?;
        let arguments = &["hook", "agent-hooks"];
        let blocked = Contender { name: "proof", program: anyhook.into(), arguments, home };
        let status = self.command(&blocked)?.status()?;
        if status.code() != Some(2) {
            bail!("a hook that blocks did not count: anyhook ended with {status}, not with 2");
        }
        Ok(())
    }

    fn command(&self, contender: &Contender) -> Result<Command> {
        let mut command = Command::new(&contender.program);
        command.args(contender.arguments).current_dir(&self.project);
        // The variables of cargo and of the user are no part of what is measured.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &contender.home);
        command.env("XDG_CONFIG_HOME", contender.home.join("config"));
        command.env("XDG_STATE_HOME", contender.home.join("state"));
        command.stdin(File::open(&self.event)?).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    /// Runs a contender once and returns how long it took from start to end.
    fn time(&self, contender: &Contender) -> Result<Duration> {
        let mut command = self.command(contender)?;
        let start = Instant::now();
        let status = command.status();
        let time = start.elapsed();
        let status = status.with_context(|| format!("`{}` cannot be started", contender.name))?;
        if !status.success() {
            bail!("`{}` ended with {status}, so its time means nothing", contender.name);
        }
        Ok(time)
    }
}

/// Runs an example that measures, and returns the JSON it prints.
fn run_example(
    workspace: &Workspace,
    package: &str,
    example: &str,
    profile: &str,
    arguments: &[&Path],
) -> Result<serde_json::Value> {
    let mut command = workspace.cargo();
    command.args(["run", "--quiet", "--locked", "--package", package, "--profile", profile]);
    command.args(["--example", example, "--"]).args(arguments);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the example `{example}` ended with {}", output.status);
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Writes a hook for the shell tool and returns its script.
fn add_hook(home: &Path, name: &str, pattern: &str, exit_code: u8) -> Result<PathBuf> {
    let folder = home.join("config/agents/hooks").join(name);
    fs::create_dir_all(folder.join("scripts"))?;
    let hook = format!(
        "---\nname: {name}\ndescription: a hook to measure with\ntrigger: before_tool\n\
         matcher:\n  tool: Shell\n  pattern: {pattern}\n---\n"
    );
    fs::write(folder.join("HOOK.md"), hook)?;
    let script = folder.join("scripts/run");
    fs::write(&script, format!("#!/bin/sh\nexit {exit_code}\n"))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script)
}

/// A shell call as event, filled up to [`EVENT_SIZE`] bytes.
fn event_text(project: &Path) -> Result<String> {
    let text = |filling: usize| {
        let event = json!({
            "event_type": "before_tool",
            "timestamp": "2026-01-01T00:00:00Z",
            "session_id": "bench",
            "work_dir": project,
            "tool_name": "Shell",
            "tool_input": { "command": format!("echo {}", "x".repeat(filling)) },
            "tool_use_id": "bench-1",
            "context": {},
        });
        format!("{event}\n")
    };
    let filling =
        EVENT_SIZE.checked_sub(text(0).len()).context("the project's path is too long")?;
    Ok(text(filling))
}

/// Lets the contenders take turns.
fn measure(place: &Place, contenders: &[Contender], runs: usize) -> Result<Vec<Measured>> {
    for _ in 0..WARM_UP {
        for contender in contenders {
            place.time(contender)?;
        }
    }
    let mut times = vec![Vec::with_capacity(runs); contenders.len()];
    for _ in 0..runs {
        for (contender, times) in contenders.iter().zip(&mut times) {
            times.push(place.time(contender)?);
        }
    }
    let measured = contenders.iter().zip(times).map(|(contender, mut times)| {
        times.sort();
        Measured {
            name: contender.name,
            median: microseconds(percentile(&times, 50)),
            percentile_95: microseconds(percentile(&times, 95)),
        }
    });
    Ok(measured.collect())
}

/// The time that `percent` of the sorted times do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn print_table(options: &Options, measured: &[Measured]) {
    println!("\n{} turns each, profile {}\n", options.runs, options.profile);
    println!("{:<34} | {:>9} | {:>9} | {:>11}", "what", "median µs", "p95 µs", "× /bin/true");
    for one in measured {
        println!(
            "{:<34} | {:>9.0} | {:>9.0} | {:>11.2}",
            one.name,
            one.median,
            one.percentile_95,
            one.median / measured[0].median
        );
    }
}

fn as_json(options: &Options, measured: &[Measured]) -> serde_json::Value {
    let results: Vec<_> = measured
        .iter()
        .map(|one| {
            json!({
                "name": one.name,
                "median_us": rounded(one.median),
                "p95_us": rounded(one.percentile_95),
                "times_true": rounded(one.median / measured[0].median),
            })
        })
        .collect();
    json!({ "runs": options.runs, "profile": options.profile, "results": results })
}

/// Two decimals: more would be noise.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<Options> {
        Options::parse(&arguments.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn percentiles_of_few_and_many() {
        let one_to = |last| (1..=last).map(Duration::from_micros).collect::<Vec<_>>();
        assert_eq!(percentile(&one_to(1), 50), Duration::from_micros(1));
        assert_eq!(percentile(&one_to(3), 50), Duration::from_micros(2));
        assert_eq!(percentile(&one_to(100), 50), Duration::from_micros(50));
        assert_eq!(percentile(&one_to(100), 95), Duration::from_micros(95));
        assert_eq!(percentile(&one_to(3), 95), Duration::from_micros(3));
    }

    #[test]
    fn arguments_are_read() {
        let read = options(&["--runs", "5", "--profile", "dist", "--json"]).unwrap();
        let profile = "dist".to_owned();
        let wanted = Options { runs: 5, profile, json: true, agents: false, daemon: false };
        assert_eq!(read, wanted);
        assert!(options(&["--daemon"]).unwrap().daemon);
        assert_eq!(options(&["--agents"]).unwrap().runs, 30);
        assert_eq!(options(&["--runs", "5", "--agents"]).unwrap().runs, 5);
        assert!(options(&["--runs"]).is_err());
        assert!(options(&["--runs", "0"]).is_err());
        assert!(options(&["--run"]).is_err());
    }

    #[test]
    fn the_event_has_the_promised_size() {
        assert_eq!(event_text(Path::new("/tmp/project")).unwrap().len(), EVENT_SIZE);
    }
}
