//! `anyhook prompt`: describes the hooks in a short text for an agent's context.

use anyhook_engine::Hook;
use anyhook_engine::hook::Trust;
use anyhook_model::exit_code;
use anyhook_model::report::PromptedHook;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::target;
use crate::ui::Out;

/// Print the active hooks as a short text for an agent's context
#[derive(Args)]
#[command(after_help = "Example: anyhook prompt >> AGENTS.md")]
pub struct PromptArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &PromptArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let installed = target::installed(environment);
    let in_force: Vec<&Hook> = installed
        .hooks
        .iter()
        .filter(|standing| standing.out.is_none() && standing.hook.fault().is_none())
        // A hook that differs from what was trusted does not run.
        .filter(|standing| !matches!(standing.hook.trust, Trust::Changed(_)))
        .map(|standing| &standing.hook)
        .collect();
    if arguments.json {
        let hooks: Vec<PromptedHook> = in_force
            .iter()
            .map(|hook| PromptedHook {
                name: hook.name().to_owned(),
                description: hook.definition.description.clone(),
                trigger: hook.trigger_names(),
                location: hook.folder.join("HOOK.md").to_string_lossy().into_owned(),
            })
            .collect();
        out.json(&hooks)?;
        return Ok(exit_code::OK);
    }
    if in_force.is_empty() {
        out.text("No hooks are active here.")?;
        return Ok(exit_code::OK);
    }
    out.text("These hooks check your work. A hook that blocks gives a reason; follow it.")?;
    for hook in in_force {
        let description =
            hook.definition.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let location = hook.folder.join("HOOK.md");
        out.text(&format!(
            "- {} ({}): {description} [{}]",
            hook.name(),
            hook.trigger_names().join(", "),
            location.display()
        ))?;
    }
    Ok(exit_code::OK)
}
