//! `cargo xtask bench`: what one hook call costs, against starting `/bin/true` and others.
//!
//! This file reads the options and puts a run together. The figures are in files of their own:
//! `measure` times processes that take turns (`contenders`, `peers`), `memory` asks for their
//! peaks, `instructions` and `system_calls` count, `stations` tells where the time goes; `goals`
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
mod peers;
mod picture;
mod place;
mod program;
mod report;
mod sdk;
mod serve;
mod stations;
mod store;
mod system_calls;
mod table;

use std::path::Path;
use std::process::Stdio;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use self::dispatches::Dispatches;
use self::goals::Findings;
use self::machine::Machine;
use self::options::{Mode, Options};
use self::place::Place;
use self::program::Program;
use self::report::Report;
use crate::{Ending, Workspace, tools};

/// Builds the program, measures, prints.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<Ending> {
    let options = Options::parse(arguments)?;
    if matches!(options.mode, Mode::Instructions | Mode::SystemCalls | Mode::Stations) {
        // The program that people call has no part in it, and takes minutes to build.
        return count(workspace, &options, &program::find_hook(workspace, &options.build)?);
    }
    let program = program::find(workspace, &options.build)?;
    match options.mode {
        Mode::Hooks => return hooks(workspace, &options, &program),
        Mode::Agents => {
            let profile = options.build.of_examples();
            let found = agents::measure(workspace, &program.whole, profile, options.runs)?;
            show(&options, &found, agents::print);
        }
        Mode::Daemon => {
            let profile = options.build.of_examples();
            show(&options, &daemon::measure(workspace, &program.whole, profile)?, daemon::print);
        }
        Mode::Instructions | Mode::SystemCalls | Mode::Stations => {}
    }
    Ok(Ending::Good)
}

/// Counts what the program does, which takes no quiet machine.
fn count(workspace: &Workspace, options: &Options, hook: &Path) -> Result<Ending> {
    tools::ensure_programs(&tools::FOR_COUNTING)?;
    let dispatches = Dispatches::make(hook)?;
    match options.mode {
        Mode::SystemCalls => {
            let calls = system_calls::count(&dispatches)?;
            if options.json {
                println!("{:#}", json!(calls));
            } else {
                system_calls::print(&calls);
            }
        }
        Mode::Stations => {
            let stations = stations::measure(&dispatches)?;
            if options.json {
                println!("{:#}", json!(stations));
            } else {
                stations::print(&stations);
            }
        }
        _ => count_instructions(workspace, options, &dispatches)?,
    }
    Ok(Ending::Good)
}

fn show(options: &Options, found: &Value, print: fn(&Value)) {
    if options.json {
        println!("{found:#}");
    } else {
        print(found);
    }
}

fn count_instructions(
    workspace: &Workspace,
    options: &Options,
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
fn hooks(workspace: &Workspace, options: &Options, program: &Program) -> Result<Ending> {
    let folder = tempfile::tempdir()?;
    let place = Place::make(folder.path())?;
    // As an installer leaves it: what a linker has just written is laid out worse in memory.
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
        match Dispatches::make(anyhook).and_then(|dispatches| stations::measure(&dispatches)) {
            Ok(found) => stations = found,
            Err(error) => or_left_out("where the time goes", error),
        }
    }
    let inside = if options.quick {
        Value::Null
    } else {
        inside(workspace, options, whole, &mut or_left_out)
    };
    let goals = goals::judge(&Findings {
        times: &times,
        memory: &memory,
        instructions: growth,
        journal: &inside["journal"],
        store: &inside["store"],
    });
    let report = Report {
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
    // A time is no test, unless somebody wants it to be one.
    Ok(if options.check && !report.reaches_all() { Ending::Bad } else { Ending::Good })
}

/// How the instructions have grown.
fn counted(workspace: &Workspace, anyhook: &Path) -> Result<f64> {
    tools::ensure_programs(&tools::FOR_COUNTING)?;
    instructions::growth(workspace, &Dispatches::make(anyhook)?)
}

/// What is measured inside a process.
fn inside(
    workspace: &Workspace,
    options: &Options,
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
