//! `anyhook add pack/NAME`: installs a pack's hooks and commands.

use anyhook_hosts::HostSpec;
use anyhook_model::exit_code;
use anyhook_setup::pack_report::added;

use super::{AddArgs, CommandResult};
use crate::agents as machine;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::human_only::{CommandOutcome, agent_above, journal, watched};
use crate::packs::status::{self, CommandPlace, HookPlace, PackStatus};
use crate::packs::{Pack, agents, apply};
use crate::ui::{Out, Tone, counted};

pub fn run(
    pack: &Pack,
    arguments: &AddArgs,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let hooks_folder = arguments.level.hooks_folder(environment)?;
    let scope = machine::scope(environment, arguments.level.project)?;
    let chosen = agents::chosen(&arguments.agent, &scope, environment)?;
    let hooks = status::hooks(pack, &hooks_folder);
    let commands = status::commands(pack, &chosen, &scope);
    refuse(pack, &hooks, &commands, environment)?;
    let agent = agent_above(environment);
    apply::put(&hooks_folder, &hooks, &commands, agent.is_some())?;
    if let Some(agent) = &agent {
        journal("add", &CommandOutcome::InShadow(agent), environment);
    }
    if arguments.json {
        let is_project = arguments.level.project;
        let report = added(pack, &hooks, &commands, is_project, agent.is_some());
        out.json(&report)?;
        return Ok(exit_code::OK);
    }

    tell_of_hooks(&hooks, &shown(&hooks_folder, &environment.places), out)?;
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
        for limit in agents::limits(pack, agent) {
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
