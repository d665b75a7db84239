//! `anyhook workflow validate`: what is wrong with artifacts, place by place.

use std::io::Write;
use std::path::PathBuf;

use anyhook_model::exit_code;
use anyhook_model::report::workflow::{FileFault, ValidateReport, ValidatedFile};
use anyhook_workflow::definition::{ArtifactDefinition, SchemaChoice};
use anyhook_workflow::machine;
use anyhook_workflow::refusal::Refusal;
use anyhook_workflow::schemas::{Fault, Kind, validate};
use anyhook_workflow::state::State;
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::commands::Ended;
use crate::environment::{Environment, workflow_agent};
use crate::error::Trouble;
use crate::ui::{Out, Tone, counted};
use crate::workflow::context::Given;
use crate::workflow::event::HookEvent;
use crate::workflow::project::{CONFIG, Project, Unreadable};
use crate::workflow::submission::HandedIn;

#[derive(Args)]
pub struct ValidateArgs {
    /// Artifacts
    #[arg(required_unless_present_any = ["all", "event"])]
    files: Vec<PathBuf>,
    /// Every artifact of the workflow that is there
    #[arg(long, conflicts_with = "files")]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// For a hook's script: the event on standard input says whose artifacts
    #[arg(long, conflicts_with_all = ["files", "all", "json"])]
    event: bool,
    /// With `--event`: look at the signal, or at the artifacts that it names
    #[arg(long, value_enum, requires = "event")]
    part: Option<HandedPart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HandedPart {
    /// The signal of completion
    Signal,
    /// The artifacts
    Artifacts,
}

pub fn run(arguments: &ValidateArgs, environment: &Environment, out: &mut Out) -> Ended {
    if arguments.event {
        return of_event(arguments.part, environment);
    }
    let project = Project::find(environment)?;
    let named = || arguments.files.iter().map(|file| project.inner_path(file, environment));
    let paths = if arguments.all { all(&project)? } else { named().collect::<Result<_, _>>()? };
    let files: Result<Vec<ValidatedFile>, Trouble> =
        paths.iter().map(|path| look(&project, path, environment)).collect();
    let files = files?;
    let is_valid = files.iter().all(|file| file.valid);
    if arguments.json {
        out.json(&ValidateReport { files })?;
    } else {
        show(&files, out)?;
    }
    Ok(if is_valid { exit_code::OK } else { exit_code::PROBLEM })
}

fn show(files: &[ValidatedFile], out: &mut Out) -> Result<(), Trouble> {
    for file in files {
        let schema = file.schema.as_ref().map(|schema| format!(" ({schema})")).unwrap_or_default();
        let (tone, mark) = if file.valid { (Tone::Good, "✔ ") } else { (Tone::Bad, "✘ ") };
        out.line(&[(tone, mark), (Tone::Strong, &file.path), (Tone::Dim, &schema)])?;
        for fault in &file.faults {
            let pointer = if fault.pointer.is_empty() { "/" } else { &fault.pointer };
            out.line(&[
                (Tone::Plain, "    "),
                (Tone::Warn, pointer),
                (Tone::Plain, ": "),
                (Tone::Plain, &fault.message),
            ])?;
        }
    }
    let bad = files.iter().filter(|file| !file.valid).count();
    let (tone, words) = match bad {
        0 => (Tone::Good, "all valid".to_owned()),
        bad => (Tone::Bad, format!("{bad} not valid")),
    };
    out.line(&[(Tone::Plain, &counted(files.len(), "file")), (Tone::Dim, ", "), (tone, &words)])?;
    Ok(())
}

/// Returns the paths of all artifacts that are there, below the project.
fn all(project: &Project) -> Result<Vec<String>, Trouble> {
    let definition = &project.definition;
    let stages = definition.stages.iter().map(|stage| (&stage.agent.text, &stage.artifacts));
    let reviews = definition.reviews.iter().map(|review| (&review.agent.text, &review.artifacts));
    let mut paths = vec![CONFIG.to_owned()];
    for (agent, artifacts) in stages.chain(reviews) {
        let made = artifacts.iter().map(|artifact| definition.path(agent, &artifact.file.text));
        paths.extend(made);
        paths.push(project.signal_path(agent));
    }
    for kind in [Kind::STATE, Kind::CONTEXT_REFRESH, Kind::SECOND_OPINION] {
        paths.push(project.system_path(kind.row().file));
    }
    paths.retain(|path| project.root.join(path).symlink_metadata().is_ok());
    // Several stages may be of one agent.
    let mut seen = std::collections::BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    if paths.is_empty() {
        return Err(Trouble::input("there is no artifact yet").hint("anyhook workflow next"));
    }
    Ok(paths)
}

/// Looks at one file, by the schema that the workflow has for it, or by its name.
fn look(
    project: &Project,
    path: &str,
    environment: &Environment,
) -> Result<ValidatedFile, Trouble> {
    let choice = choice(project, path);
    let schema = choice.as_ref().map(|choice| match choice {
        SchemaChoice::Kind(kind) => kind.to_string(),
        SchemaChoice::File(file) => file.text.clone(),
    });
    let faults = match (project.read_json(path), &choice) {
        (Err(error), _) => vec![unreadable(&error)],
        (Ok(value), Some(SchemaChoice::Kind(kind))) => validate(*kind, &value),
        (Ok(value), Some(SchemaChoice::File(file))) => {
            let schemas = project.own_schemas(environment)?;
            schemas.get(&file.text).map(|schema| schema.validate(&value)).unwrap_or_default()
        }
        // What cannot be checked does not pass.
        (Ok(_), None) => vec![Fault::new("", format!("there is no schema for `{path}`"))],
    };
    let faults =
        faults.into_iter().map(|Fault { pointer, message }| FileFault { pointer, message });
    let faults: Vec<FileFault> = faults.collect();
    Ok(ValidatedFile { path: path.to_owned(), schema, valid: faults.is_empty(), faults })
}

fn unreadable(error: &Unreadable) -> Fault {
    Fault::new("", error.to_string())
}

fn choice(project: &Project, path: &str) -> Option<SchemaChoice> {
    let definition = &project.definition;
    let of = |agent: &str, artifacts: &[ArtifactDefinition]| {
        let is = |one: &&ArtifactDefinition| definition.path(agent, &one.file.text) == path;
        artifacts.iter().find(is).map(|artifact| artifact.schema.clone())
    };
    let stage = definition.stages.iter().find_map(|one| of(&one.agent.text, &one.artifacts));
    let review = || definition.reviews.iter().find_map(|one| of(&one.agent.text, &one.artifacts));
    let known = || Kind::of_file(path).map(SchemaChoice::Kind);
    stage.or_else(review).or_else(known)
}

/// An agent's signal.
#[derive(Debug)]
pub struct SignalOf {
    /// The project.
    pub project: Project,
    /// What it says.
    pub signal: Value,
    /// The workflow as it is.
    pub state: State,
}

/// Returns the signal of an event's agent: none if it has nothing to hand in, or why there is none.
pub fn signal_of(
    event: &HookEvent,
    environment: &Environment,
) -> Result<Result<Option<SignalOf>, String>, Trouble> {
    let concerned = event.concerns(workflow_agent().0.as_deref(), environment)?;
    let Some((project, agent)) = concerned else { return Ok(Ok(None)) };
    let Some(state) = project.state()? else { return Ok(Ok(None)) };
    let is_open = machine::next(&project.definition, &state).iter().any(|one| one.agent == agent);
    if !is_open {
        return Ok(Ok(None));
    }
    let path = project.signal_path(&agent);
    let signal = match project.read_json(&path) {
        Ok(signal) => signal,
        Err(error) => return Ok(Err(no_signal(&project, &state, &agent, &error.to_string())?)),
    };
    let told = signal.get("agent").and_then(Value::as_str).unwrap_or(&agent);
    if told != agent {
        let why = format!("it speaks for `{told}`");
        return Ok(Err(no_signal(&project, &state, &agent, &why)?));
    }
    let id = signal.get("id").and_then(Value::as_str).unwrap_or_default();
    if state.signals.iter().any(|known| known == id) {
        let why = format!("its id `{id}` is that of a signal that was handed in before");
        return Ok(Err(no_signal(&project, &state, &agent, &why)?));
    }
    Ok(Ok(Some(SignalOf { project, signal, state })))
}

fn no_signal(project: &Project, state: &State, agent: &str, why: &str) -> Result<String, Trouble> {
    let given = Given::read(project, state, agent)?;
    let path = project.signal_path(agent);
    Ok(format!(
        "you are not done: `{path}` is to say that you are, and {why}\nhint: write your artifacts, then this:\n{}",
        given.signal()
    ))
}

fn of_event(part: Option<HandedPart>, environment: &Environment) -> Ended {
    let event = HookEvent::read()?;
    let SignalOf { project, signal, state } = match signal_of(&event, environment)? {
        Ok(Some(signal)) => signal,
        Ok(None) => return Ok(exit_code::OK),
        // Said once, whichever parts there are.
        Err(_) if part == Some(HandedPart::Artifacts) => return Ok(exit_code::OK),
        Err(why) => return block(&why),
    };
    let handed_in = HandedIn::read(&project, signal, environment)?;
    let Err(refusal) = handed_in.complete(&project.definition, &state) else {
        return Ok(exit_code::OK);
    };
    let is_of_artifacts = matches!(
        refusal,
        Refusal::Artifacts(_) | Refusal::MissingArtifact { .. } | Refusal::NoSchema { .. }
    );
    let is_of_part = match part {
        None => true,
        Some(HandedPart::Artifacts) => is_of_artifacts,
        // All else is about what the signal says: who, which stage, who comes next.
        Some(HandedPart::Signal) => !is_of_artifacts,
    };
    if !is_of_part {
        return Ok(exit_code::OK);
    }
    block(&format!("{refusal}\nhint: {}", refusal.hint()))
}

/// Sends the agent back to work.
pub fn block(why: &str) -> Ended {
    writeln!(std::io::stderr(), "{why}")?;
    Ok(exit_code::BLOCKED)
}
