//! `anyhook decision resolve`: answers one decision, or all that match.

use anyhook_model::Resolution;
use anyhook_model::daemon::{DecisionView, ResolveDecision};
use anyhook_model::exit_code;
use anyhook_model::nearest::nearest;
use clap::Args;

use super::filter::DecisionFilter;
use super::{decisions, who};
use crate::commands::CommandResult;
use crate::confirm::confirm;
use crate::daemon::connect;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::pages;
use crate::ui::{Out, Tone, counted};

#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Args)]
#[command(group = clap::ArgGroup::new("filters").args(["agent", "project", "tool", "about"]).multiple(true).requires("all"))]
pub struct ResolveArgs {
    /// The decision's id or the start of it, or the agent's name; with --all, the answer
    id: String,
    /// The option: its number or its name
    #[arg(required_unless_present = "all")]
    choice: Option<String>,
    /// Answers to the decision's further questions
    #[arg(value_name = "ANSWER")]
    more: Vec<String>,
    /// Answer every open decision that matches --agent, --project, --tool and --about with this
    /// option's name
    #[arg(long, conflicts_with = "again")]
    all: bool,
    #[command(flatten)]
    filter: DecisionFilter,
    /// With --all, don't ask for confirmation
    #[arg(long, requires = "all")]
    yes: bool,
    /// Also allow identical calls, without asking, until the agent's session ends
    #[arg(long)]
    again: bool,
    /// A message for the agent
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Who decides; default: your login name
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Print the resolution as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: ResolveArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let by = who(arguments.by.clone())?;
    if arguments.all {
        return all(&arguments, &by, environment, out);
    }
    let ResolveArgs { id, choice, more, message, again, json, .. } = arguments;
    let choice = choice.unwrap_or_default();
    let resolve =
        ResolveDecision { id, choice, more, message, by, again, digest: None, signature: None };
    let resolution = connect(environment)?.resolve(resolve)?;
    if json {
        out.json(&resolution)?;
    } else {
        print(&resolution, out)?;
    }
    Ok(exit_code::OK)
}

fn print(resolution: &Resolution, out: &mut Out) -> std::io::Result<()> {
    let choice = resolution.choice.as_deref().unwrap_or_default();
    let answers = resolution.answers.iter().map(|one| one.answer.join(", "));
    let answers = answers.collect::<Vec<_>>().join("; ");
    let choice = if answers.is_empty() { choice } else { &answers };
    let id = resolution.id.to_string();
    let again =
        if resolution.again { ", and for identical calls until the session ends" } else { "" };
    let claimed = resolution.claimed_by.as_ref();
    let claimed = claimed.map(|by| format!(" ({by} had claimed it)")).unwrap_or_default();
    out.line(&[
        (Tone::Strong, &id),
        (Tone::Plain, ": "),
        (Tone::Good, choice),
        (Tone::Plain, again),
        (Tone::Warn, &claimed),
    ])
}

fn all(
    arguments: &ResolveArgs,
    by: &str,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    if arguments.choice.is_some() {
        let why = "--all takes an answer but no id";
        return Err(
            CommandError::usage(why).hint("anyhook decision resolve --all --tool Shell allow")
        );
    }
    let choice = &arguments.id;
    if choice.parse::<usize>().is_ok() {
        let why = "with --all, answer with an option's name: numbers may differ between decisions";
        return Err(CommandError::usage(why).hint("anyhook decision list shows the names"));
    }
    let mut open = decisions(environment)?;
    open.retain(|decision| decision.resolution.is_none() && arguments.filter.takes(decision));
    let has = |decision: &DecisionView| {
        decision.inquiry.options.iter().any(|option| option.name == *choice)
    };
    let (meant, others): (Vec<DecisionView>, Vec<DecisionView>) = open.into_iter().partition(has);
    if meant.is_empty() {
        return Err(no_such_option(choice, &others));
    }
    let question = format!("answer {} with `{choice}`?", counted(meant.len(), "decision"));
    if !arguments.json || !arguments.yes {
        let mut shown = Out::stderr();
        pages::decisions::table(&meant, &mut shown)?;
        if !others.is_empty() {
            let left = counted(others.len(), "decision");
            let text = format!("skipped, no such option: {left}");
            shown.line(&[(Tone::Warn, &text)])?;
        }
    }
    if !arguments.yes && !confirm(&question)? {
        return Err(CommandError::problem("nothing was answered")
            .hint("use --yes to skip the confirmation"));
    }
    answer(arguments, by, &meant, environment, out)
}

/// The error if no open decision that matches has an option.
fn no_such_option(choice: &str, open: &[DecisionView]) -> CommandError {
    if open.is_empty() {
        return CommandError::input("no open decision matches").hint("anyhook decision list");
    }
    let options = open.iter().flat_map(|decision| &decision.inquiry.options);
    let hint = match nearest(choice, options.map(|option| option.name.as_str())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "anyhook decision list".to_owned(),
    };
    CommandError::input(format!("no matching decision has an option `{choice}`")).hint(hint)
}

fn answer(
    arguments: &ResolveArgs,
    by: &str,
    meant: &[DecisionView],
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let mut client = connect(environment)?;
    let (mut made, mut code) = (Vec::new(), exit_code::OK);
    for decision in meant {
        let resolve = ResolveDecision {
            id: decision.inquiry.id.to_string(),
            choice: arguments.id.clone(),
            more: Vec::new(),
            message: arguments.message.clone(),
            by: by.to_owned(),
            again: false,
            digest: decision.inquiry.digest.clone(),
            signature: None,
        };
        match client.resolve(resolve) {
            Ok(resolution) => {
                if !arguments.json {
                    print(&resolution, out)?;
                }
                made.push(resolution);
            }
            // Someone else answered first, or the agent continued: the others still wait.
            Err(anyhook_socket::ClientError::Refused(refusal)) => {
                let mut stderr = Out::stderr();
                stderr.line(&[(Tone::Warn, "warning: "), (Tone::Plain, &refusal.message)])?;
                code = exit_code::PROBLEM;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if arguments.json {
        out.json(&made)?;
    }
    Ok(code)
}
