//! `anyhook add` of a pack: shows one from outside and asks, and installs its hooks and commands.

use std::io::IsTerminal;

use anyhook_engine::Level;
use anyhook_hosts::HostSpec;
use anyhook_model::exit_code;
use anyhook_pages::packs::{show_facts, shown_source};
use anyhook_setup::pack_report::added;
use anyhook_setup::packs::level::PackLevel;
use anyhook_setup::packs::options::read_settings;
use anyhook_setup::packs::source::{SourcePlace, WrittenSource, quoted};

use super::{AddArgs, CommandResult};
use crate::agents as machine;
use crate::confirm::confirm;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::human_only::{CommandOutcome, agent_above, journal, only_a_person, watched};
use crate::packs::status::{self, CommandPlace, HookPlace, PackStatus};
use crate::packs::{FILES, FoundPack, Pack, agents, apply};
use crate::ui::{Out, Tone, counted};

pub fn run(
    source: &WrittenSource,
    arguments: &AddArgs,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    if !matches!(source.place, SourcePlace::BuiltIn(_)) {
        only_a_person("add", environment)?;
    }
    let asked = arguments.level.asked().unwrap_or(Level::User);
    let found = FoundPack::fetch(source, FILES)?;
    let values = read_settings(&found.name, found.options(), &arguments.set)?;
    let level = PackLevel::read(asked, environment)?;
    let pack = found.pack_at(&level, values)?;
    let scope = machine::scope(environment, arguments.level.project)?;
    let chosen = agents::chosen(&arguments.agent, &scope, environment)?;
    let locked = level.locked(&pack.name);
    let hooks = status::hooks(&pack, &level.hooks_folder, locked);
    let commands = status::commands(&pack, &chosen, &scope, locked);
    refuse(&pack, &hooks, &commands, environment)?;
    if !found.is_built_in() && source.digest.is_none() && !arguments.yes {
        ask(&found, &pack, arguments, environment, out)?;
    }
    let agent = agent_above(environment);
    apply::put(&apply::Addition {
        level: &level,
        hooks: &hooks,
        commands: &commands,
        shadow: agent.is_some(),
        record: found.locked(&pack),
    })?;
    let outcome = agent.as_ref().map_or(CommandOutcome::Done, CommandOutcome::InShadow);
    journal("add", &outcome, environment);
    if arguments.json {
        let is_project = arguments.level.project;
        let mut report = added(&pack, &hooks, &commands, is_project, agent.is_some());
        (report.source, report.digest) = (Some(found.place.recorded()), Some(found.digest));
        out.json(&report)?;
        return Ok(exit_code::OK);
    }

    tell_of_hooks(&hooks, &shown(&level.hooks_folder, &environment.places), out)?;
    for command in &commands {
        let word = if command.standing == PackStatus::Same { "has " } else { "gets " };
        out.line(&[
            (Tone::Strong, command.agent.title),
            (Tone::Plain, " "),
            (Tone::Good, word),
            (Tone::Strong, &command.file.call),
            (Tone::Plain, ": "),
            (Tone::Plain, &shown(&command.file.path, &environment.places)),
        ])?;
    }
    for agent in &chosen {
        for limit in agents::limits(&pack, agent) {
            out.line(&[(Tone::Warn, &format!("{} ", agent.title)), (Tone::Plain, &limit)])?;
        }
    }
    let mut hint = |text: &str| out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, text)]);
    if chosen.is_empty() && !pack.commands.is_empty() {
        hint("no agent found, so its commands were not added; choose one with --agent NAME")?;
    }
    let not_wired = |agent: &&&HostSpec| !machine::is_wired(agent, environment);
    for agent in chosen.iter().filter(not_wired) {
        let (title, id) = (agent.title, agent.id());
        hint(&format!("{title} does not call anyhook yet: anyhook install {id}"))?;
    }
    if arguments.level.project {
        hint("trust its hooks so that they run: anyhook trust --all")?;
    }
    if let Some(next) = &pack.next {
        hint(next)?;
    }
    if let Some(agent) = agent {
        hint(&format!("not enforced yet: {}", watched(&agent)))?;
        hint("to enforce one, have a person run: anyhook promote NAME")?;
    }
    Ok(exit_code::OK)
}

/// Shows a pack from outside and what it may do, and asks whether to add it.
fn ask(
    found: &FoundPack,
    pack: &Pack,
    arguments: &AddArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    let cannot_ask = !std::io::stdin().is_terminal() || arguments.json;
    if !arguments.json {
        let hooks = counted(pack.hooks.len(), "hook");
        out.line(&[(Tone::Strong, &pack.name), (Tone::Dim, &format!("  {hooks}"))])?;
        out.line(&[(Tone::Plain, "  "), (Tone::Plain, &pack.description)])?;
        let commit = found.commit.as_ref().map(|commit| ("commit", commit.clone()));
        let facts = [("from", shown_source(&found.place.written(), &environment.places))]
            .into_iter()
            .chain(commit);
        for (name, value) in facts.chain([("digest", found.digest.clone())]) {
            out.line(&[(Tone::Dim, &format!("  {name:<8}")), (Tone::Plain, &value)])?;
        }
        show_facts(pack, out)?;
        // What is asked about must have been shown.
        out.flush()?;
    }
    if cannot_ask {
        let mut words = vec![format!("{}@{}", arguments.path.display(), found.digest)];
        words.extend(arguments.level.project.then(|| "--project".to_owned()));
        words.extend(arguments.agent.iter().map(|name| format!("--agent {name}")));
        words.extend(arguments.set.iter().map(|setting| format!("--set {}", quoted(setting))));
        words[0] = quoted(&words[0]);
        let why = "cannot ask for confirmation without a terminal";
        return Err(CommandError::problem(format!("`{}` was not added: {why}", pack.name))
            .hint(format!("to add exactly this: anyhook add {}", words.join(" "))));
    }
    let question = format!("Add {} of {}?", counted(pack.hooks.len(), "hook"), pack.name);
    if confirm(&question)? {
        return Ok(());
    }
    Err(CommandError::problem(format!("`{}` was not added", pack.name)))
}

/// Prints how many hooks there are now, and how many there were before.
fn tell_of_hooks(hooks: &[HookPlace<'_>], folder: &str, out: &mut Out) -> std::io::Result<()> {
    let there = hooks.iter().filter(|place| place.standing == PackStatus::Same).count();
    let added = hooks.len() - there;
    if added > 0 {
        out.line(&[
            (Tone::Good, "added "),
            (Tone::Strong, &counted(added, "hook")),
            (Tone::Plain, ": "),
            (Tone::Plain, folder),
        ])?;
    }
    if there > 0 {
        let text = format!("{} of the pack ", counted(there, "hook"));
        let verb = if there == 1 { "was" } else { "were" };
        out.line(&[
            (Tone::Strong, &text),
            (Tone::Plain, verb),
            (Tone::Plain, " already in place: "),
            (Tone::Plain, folder),
        ])?;
    }
    Ok(())
}

/// Refuses if a file already exists: nothing is overwritten.
fn refuse(
    pack: &Pack,
    hooks: &[HookPlace<'_>],
    commands: &[CommandPlace<'_>],
    environment: &Environment,
) -> Result<(), CommandError> {
    let places = hooks.iter().map(|place| (&place.folder, place.standing, "hook"));
    let files = commands.iter().map(|place| (&place.file.path, place.standing, "command"));
    let in_the_way: Vec<_> =
        places.chain(files).filter(|(_, standing, _)| standing.is_in_the_way()).collect();
    if in_the_way.is_empty() {
        return Ok(());
    }
    let mut message = format!("`{}` cannot be added: files are in the way", pack.name);
    for (path, standing, what) in &in_the_way {
        let why = match standing {
            PackStatus::Changed => "from this pack, but modified".to_owned(),
            _ => format!("a different {what}"),
        };
        message.push_str(&format!("\n  {} ({why})", shown(path, &environment.places)));
    }
    let all_ours = in_the_way.iter().all(|(_, standing, _)| *standing == PackStatus::Changed);
    let hint = if all_ours {
        format!(
            "nothing was added; `anyhook remove {}` removes the old one and keeps a copy",
            pack.word()
        )
    } else {
        "nothing was added; move or rename them".to_owned()
    };
    Err(CommandError::problem(message).hint(hint))
}
