//! `cargo xtask bench`: what one hook call costs, against starting `/bin/true` and others.
//!
//! This file reads the options and assembles a run. The figures are in files of their own:
//! `measure` times processes that take turns (`contenders`, `peers`), `memory` measures their
//! peaks, `instructions` and `system_calls` count, `path_phases` shows where the time goes; `goals`
//! judges, and `table`, `picture` and `page` show. `journal`, `sdk`, `serve` and `store` measure
//! inside a process, `agents` and `daemon` are runs of their own.

mod agents;
mod contenders;
mod daemon;
pub mod dispatches;
mod events;
mod goals;
pub mod instructions;
mod journal;
mod limit;
mod machine;
mod measure;
mod memory;
mod options;
pub mod page;
mod path_phases;
mod peers;
mod picture;
mod program;
mod project;
mod report;
mod sdk;
mod serve;
mod store;
mod system_calls;
mod table;

use std::path::Path;
use std::process::Stdio;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use self::dispatches::Dispatches;
use self::goals::Measurements;
use self::machine::Machine;
use self::options::{BenchMode, BenchOptions};
use self::program::BuiltPrograms;
use self::project::BenchProject;
use self::report::BenchReport;
use crate::{TaskResult, Workspace, tools};

/// Builds the program, measures, prints.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    let options = BenchOptions::parse(arguments)?;
    if matches!(
        options.mode,
        BenchMode::Instructions | BenchMode::SystemCalls | BenchMode::Stations
    ) {
        // The program that people call is not involved, and takes minutes to build.
        return count(workspace, &options, &program::find_hook(workspace, &options.build)?);
    }
    let program = program::find(workspace, &options.build)?;
    match options.mode {
        BenchMode::Hooks => return hooks(workspace, &options, &program),
        BenchMode::Agents => {
            let profile = options.build.of_examples();
            let found = agents::measure(workspace, &program.whole, profile, options.runs)?;
            show(&options, &found, agents::print);
        }
        BenchMode::Daemon => {
            let profile = options.build.of_examples();
            show(&options, &daemon::measure(workspace, &program.whole, profile)?, daemon::print);
        }
        BenchMode::Instructions | BenchMode::SystemCalls | BenchMode::Stations => {}
    }
    Ok(TaskResult::Good)
}

/// Counts what the program does, which needs no quiet machine.
fn count(workspace: &Workspace, options: &BenchOptions, hook: &Path) -> Result<TaskResult> {
    tools::ensure_programs(&tools::FOR_COUNTING)?;
    let dispatches = Dispatches::make(hook)?;
    match options.mode {
        BenchMode::SystemCalls => {
            let calls = system_calls::count(&dispatches)?;
            if options.json {
                println!("{:#}", json!(calls));
            } else {
                system_calls::print(&calls);
            }
        }
        BenchMode::Stations => {
            let stations = path_phases::measure(&dispatches)?;
            if options.json {
                println!("{:#}", json!(stations));
            } else {
                path_phases::print(&stations);
            }
        }
        _ => count_instructions(workspace, options, &dispatches)?,
    }
    Ok(TaskResult::Good)
}

fn show(options: &BenchOptions, found: &Value, print: fn(&Value)) {
    if options.json {
        println!("{found:#}");
    } else {
        print(found);
    }
}

fn count_instructions(
    workspace: &Workspace,
    options: &BenchOptions,
    dispatches: &Dispatches,
) -> Result<()> {
    let counted = instructions::count_all(dispatches)?;
    if options.json {
        println!("{:#}", instructions::as_json(&counted));
    } else {
        instructions::print(&counted, instructions::Committed::read(workspace).ok().as_ref());
    }
    if options.write {
        instructions::write(workspace, &counted, system_calls::count(dispatches)?)?;
        if page::has_report(workspace) {
            page::write(workspace)?;
        }
    }
    Ok(())
}

/// The whole benchmark.
fn hooks(
    workspace: &Workspace,
    options: &BenchOptions,
    program: &BuiltPrograms,
) -> Result<TaskResult> {
    let folder = tempfile::tempdir()?;
    let place = BenchProject::make(folder.path())?;
    // Copied as by an installer: a file that a linker has just written has a worse layout in
    // memory.
    let anyhook = &place.copy(&program.hook)?;
    let whole = &place.copy(&program.whole)?;
    let limit = limit::build(folder.path())?;
    let mut contenders = contenders::list(&place, anyhook, whole, &limit)?;
    contenders::prove(&place, anyhook, &contenders.event)?;
    let peers = peers::find(&place, &contenders.event);
    contenders.list.extend(peers.contenders);
    let mut left_out = contenders.left_out;
    left_out.extend(peers.left_out);

    eprintln!("{} contenders take turns, {} rounds", contenders.list.len(), options.runs);
    let times = measure::measure(&place, &contenders.list, options.runs)?;
    let mut or_left_out = |what: &str, error: anyhow::Error| {
        left_out.push(format!("{what}: {error:#}"));
    };
    let memory = memory::measure(&place, anyhook, &limit).unwrap_or_else(|error| {
        or_left_out("memory", error);
        Vec::new()
    });
    let (mut growth, mut stations) = (None, Vec::new());
    if !options.quick {
        match counted(workspace, anyhook) {
            Ok(found) => growth = Some(found),
            Err(error) => or_left_out("instructions", error),
        }
        match Dispatches::make(anyhook).and_then(|dispatches| path_phases::measure(&dispatches)) {
            Ok(found) => stations = found,
            Err(error) => or_left_out("where the time goes", error),
        }
    }
    let inside = if options.quick {
        Value::Null
    } else {
        inside(workspace, options, whole, &mut or_left_out)
    };
    let goals = goals::judge(&Measurements {
        times: &times,
        memory: &memory,
        instructions: growth,
        journal: &inside["journal"],
        store: &inside["store"],
    });
    let report = BenchReport {
        date: machine::today()?,
        machine: Machine::look(),
        build: program.build.clone(),
        program_bytes: anyhook.metadata()?.len(),
        goals,
        times: report::rows(&times),
        memory,
        stations,
        left_out,
        inside,
    };
    if options.json {
        println!("{:#}", serde_json::to_value(&report)?);
    } else {
        print_inside(&report.inside);
        table::print(&report);
    }
    if options.write {
        page::keep(workspace, &report)?;
        page::write(workspace)?;
    }
    // A time is not a test, unless that was requested.
    Ok(if options.check && !report.reaches_all() { TaskResult::Bad } else { TaskResult::Good })
}

/// Returns how the instructions have grown.
fn counted(workspace: &Workspace, anyhook: &Path) -> Result<f64> {
    tools::ensure_programs(&tools::FOR_COUNTING)?;
    instructions::growth(workspace, &Dispatches::make(anyhook)?)
}

/// Runs the measurements inside a process.
fn inside(
    workspace: &Workspace,
    options: &BenchOptions,
    anyhook: &Path,
    or_left_out: &mut impl FnMut(&str, anyhow::Error),
) -> Value {
    let profile = options.build.of_examples();
    let mut part = |name: &str, found: Result<Value>| {
        found.unwrap_or_else(|error| {
            or_left_out(name, error);
            Value::Null
        })
    };
    json!({
        "serve": part("serve", serve::measure(anyhook, options.runs)),
        "journal": part("the journal", journal::measure(workspace, anyhook, profile)),
        "sdk": part("the SDK", sdk::measure(workspace, profile)),
        "store": part("the store", store::measure(workspace, profile)),
    })
}

fn print_inside(inside: &Value) {
    let show = |name: &str, print: fn(&Value)| {
        if let Some(found) = inside.get(name).filter(|found| !found.is_null()) {
            print(found);
        }
    };
    show("serve", serve::print);
    show("journal", journal::print);
    show("sdk", sdk::print);
    show("store", store::print);
}

/// Runs an example that measures, and returns the JSON it prints.
fn run_example(
    workspace: &Workspace,
    package: &str,
    example: &str,
    profile: &str,
    arguments: &[&Path],
) -> Result<Value> {
    let mut command = workspace.cargo();
    command.args(["run", "--quiet", "--locked", "--package", package, "--profile", profile]);
    command.args(["--example", example, "--"]).args(arguments);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the example `{example}` ended with {}", output.status);
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
