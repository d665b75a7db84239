//! The peers in the benchmark: runners of git hooks from npm, and hooks in Python and Node.
//!
//! A peer that is not available is left out, and that is reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::measure::{Contender, RowKind};
use super::project::{BenchProject, open};
use crate::{process, tools};

/// A pinned version, so that runs are comparable.
const PREK: &str = "@j178/prek@0.5.3";
const LEFTHOOK: &str = "lefthook@2.2.2";

/// Both runners get one hook, which runs this.
const NOTHING: &str = "true";
/// What proves that the hook is run: it fails.
const FAILURE: &str = "false";

/// The hooks with the same logic, one per language.
const PYTHON: &str = include_str!("peers/hook.py");
const NODE: &str = include_str!("peers/hook.mjs");

/// The available peers, and lines about the missing ones.
#[derive(Default)]
pub struct Peers {
    pub contenders: Vec<Contender>,
    pub left_out: Vec<String>,
}

/// Installs one peer and checks that it does what is measured.
type Make = fn(&BenchProject, &Path, &Path) -> Result<Contender>;

/// Installs the peers and checks that each does what is measured.
pub fn find(place: &BenchProject, event: &Path) -> Peers {
    let mut peers = Peers::default();
    if let Err(error) = tools::ensure_programs(&tools::FOR_PEERS) {
        peers.left_out.push(format!("the peers: {error:#}"));
        return peers;
    }
    let home = match place.home("peers", 0) {
        Ok(home) => home,
        Err(error) => {
            peers.left_out.push(format!("the peers: {error:#}"));
            return peers;
        }
    };
    let all: [(&str, Make); 4] =
        [("prek", prek), ("lefthook", lefthook), ("a Python hook", python), ("a Node hook", node)];
    for (name, make) in all {
        match make(place, &home, event) {
            Ok(contender) => peers.contenders.push(contender),
            Err(error) => peers.left_out.push(format!("{name}: {error:#}")),
        }
    }
    peers
}

fn prek(place: &BenchProject, home: &Path, event: &Path) -> Result<Contender> {
    let folder = install("prek", PREK)?;
    let program = folder.join(format!("node_modules/@j178/prek-linux-{}-gnu/prek", architecture()));
    let config = |run: &str| {
        format!(
            "repos:\n  - repo: local\n    hooks:\n      - id: nothing\n        name: nothing\n        \
             language: system\n        entry: \"{run}\"\n        always_run: true\n        \
             pass_filenames: false\n"
        )
    };
    let contender = Contender {
        name: "prek, one git hook that does nothing".to_owned(),
        kind: RowKind::Peer,
        program,
        arguments: vec!["run".to_owned()],
        home: home.to_owned(),
        event: event.to_owned(),
        every: 5,
        without: None,
    };
    prove_runner(place, &contender, ".pre-commit-config.yaml", config)?;
    Ok(contender)
}

fn lefthook(place: &BenchProject, home: &Path, event: &Path) -> Result<Contender> {
    let folder = install("lefthook", LEFTHOOK)?;
    let program =
        folder.join(format!("node_modules/lefthook-linux-{}/bin/lefthook", architecture()));
    let config =
        |run: &str| format!("pre-commit:\n  jobs:\n    - name: nothing\n      run: \"{run}\"\n");
    let contender = Contender {
        name: "lefthook, one git hook that does nothing".to_owned(),
        kind: RowKind::Peer,
        program,
        arguments: vec!["run".to_owned(), "pre-commit".to_owned()],
        home: home.to_owned(),
        event: event.to_owned(),
        every: 5,
        without: None,
    };
    prove_runner(place, &contender, "lefthook.yml", config)?;
    Ok(contender)
}

fn python(place: &BenchProject, home: &Path, event: &Path) -> Result<Contender> {
    // The program on the path may be a script that looks for the interpreter.
    let program =
        process::output(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]))?;
    interpreted(place, home, event, ("a Python hook", "hook.py", PYTHON), program.trim())
}

fn node(place: &BenchProject, home: &Path, event: &Path) -> Result<Contender> {
    let program = process::output(Command::new("node").args(["-p", "process.execPath"]))?;
    interpreted(place, home, event, ("a Node hook", "hook.mjs", NODE), program.trim())
}

/// A hook in an interpreted language; it must let the event pass and stop a bad one.
fn interpreted(
    place: &BenchProject,
    home: &Path,
    event: &Path,
    (name, file, text): (&str, &str, &str),
    program: &str,
) -> Result<Contender> {
    let script = place.file(file, text)?;
    let bad = r#"{"tool_input": {"command": "rm -rf /"}}"#;
    let bad = place.file("bad.json", bad)?;
    for (event, wanted) in [(event, 0), (bad.as_path(), 2)] {
        let mut command = place.command(program.as_ref(), home);
        let status = command.arg(&script).stdin(open(event)?).status()?;
        if status.code() != Some(wanted) {
            bail!("it ended with {status}, not with {wanted}");
        }
    }
    Ok(Contender {
        name: name.to_owned(),
        kind: RowKind::Peer,
        program: program.into(),
        arguments: vec![script.to_string_lossy().into_owned()],
        home: home.to_owned(),
        event: event.to_owned(),
        every: if file.ends_with("mjs") { 20 } else { 5 },
        without: None,
    })
}

/// Checks that a runner runs its hook: one that fails must be distinguishable from one that does
/// not.
fn prove_runner(
    place: &BenchProject,
    contender: &Contender,
    file: &str,
    config: impl Fn(&str) -> String,
) -> Result<()> {
    let mut git = place.command("git".as_ref(), &contender.home);
    process::output(git.args(["init", "--quiet"]))?;
    for (run, succeeds) in [(FAILURE, false), (NOTHING, true)] {
        fs::write(place.project.join(file), config(run))?;
        // Neither handles a file that git does not track.
        let mut git = place.command("git".as_ref(), &contender.home);
        process::output(git.args(["add", file]))?;
        let mut command = place.command(&contender.program, &contender.home);
        let status = command.args(&contender.arguments).status().context("it cannot be started")?;
        if status.success() != succeeds {
            bail!("with the hook `{run}` it ended with {status}");
        }
    }
    Ok(())
}

/// Installs an npm package into our cache, unless it is there, and returns its folder.
fn install(name: &str, package: &str) -> Result<PathBuf> {
    let folder = tools::cache_folder()?.join("peers").join(name);
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == package) {
        return Ok(folder);
    }
    fs::create_dir_all(&folder)?;
    let mut command = Command::new("npm");
    command.arg("install").arg("--prefix").arg(&folder);
    command.args(["--ignore-scripts", "--no-fund", "--no-audit", package]);
    process::output(&mut command).with_context(|| format!("{package} cannot be installed"))?;
    fs::write(stamp, package)?;
    Ok(folder)
}

/// The machine's architecture, as npm packages name it.
fn architecture() -> &'static str {
    if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" }
}

#[cfg(test)]
mod tests {
    use super::super::events;
    use super::*;

    #[test]
    fn hooks_in_other_languages_are_proved_before_they_are_timed() {
        let folder = tempfile::tempdir().unwrap();
        let place = BenchProject::make(folder.path()).unwrap();
        let home = place.home("home", 0).unwrap();
        let text = events::command(&place.project, events::SMALL).unwrap();
        let event = place.file("event.json", &text).unwrap();
        assert_eq!(python(&place, &home, &event).unwrap().every, 5);
        assert_eq!(node(&place, &home, &event).unwrap().every, 20);
        let deaf = interpreted(&place, &home, &event, ("deaf", "hook.sh", "exit 0\n"), "/bin/sh");
        let error = deaf.map(|one| one.name).unwrap_err();
        assert!(error.to_string().contains("not with 2"), "{error}");
    }

    #[test]
    fn a_runner_that_runs_nothing_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let place = BenchProject::make(folder.path()).unwrap();
        let home = place.home("home", 0).unwrap();
        let deaf = Contender {
            name: "deaf".to_owned(),
            kind: RowKind::Peer,
            program: "/bin/true".into(),
            arguments: Vec::new(),
            home,
            event: "/dev/null".into(),
            every: 1,
            without: None,
        };
        let error = prove_runner(&place, &deaf, "deaf.yml", str::to_owned).unwrap_err();
        assert!(error.to_string().contains("with the hook `false`"), "{error}");
    }
}
