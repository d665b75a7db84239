//! `anyhook decision`: what waits for a person, and the person's answer.

use anyhook_flow::inquiries::{ended, listed};
use anyhook_model::daemon::{DecisionView, Request, Resolve, Response};
use anyhook_model::inquiry::{AgentQuestion, Choice};
use anyhook_model::{Inquiry, exit_code};
use clap::{Args, Subcommand};

use super::Ended;
use super::agent::age;
use crate::daemon::{ask, connect};
use crate::downtime;
use crate::environment::{Environment, person};
use crate::error::Trouble;
use crate::prefix::one_of;
use crate::ui::{Cell, Out, Tone};

/// Answer an agent from any terminal: what waits for a person, and what can be chosen
///
/// A permission or an `ask` waits here if `[decisions]` in anyhook.toml says so.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook decision list\n         anyhook decision resolve 7k2m9x4q 1\n         anyhook decision resolve 7k2m deny --message \"not on this branch\""
)]
pub struct DecisionArgs {
    #[command(subcommand)]
    command: DecisionCommand,
}

#[derive(Subcommand)]
enum DecisionCommand {
    /// What waits for a person
    #[command(after_help = "Example: anyhook decision list --all")]
    List {
        /// Those that are made, too, as far as they are remembered
        #[arg(long)]
        all: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// One decision: what is asked, and what can be chosen
    #[command(after_help = "Example: anyhook decision show 7k2m9x4q")]
    Show {
        /// Its id, or the beginning of it
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a decision; the first answer counts
    ///
    /// An agent's question takes the number or the text of one of its answers, several of them
    /// separated by commas where it allows that, or your own words; a decision with several
    /// questions takes an answer for each, in order.
    #[command(
        after_help = "Example: anyhook decision resolve 7k2m9x4q allow\n         anyhook decision resolve 7k2m9x4q blue\n         anyhook decision resolve 7k2m9x4q 2 1,3 \"as large as it gets\""
    )]
    Resolve {
        /// Its id, or the beginning of it
        id: String,
        /// The option: its number or its name
        choice: String,
        /// The answers to further questions of the same decision
        #[arg(value_name = "ANSWER")]
        more: Vec<String>,
        /// What the agent is told beside it
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        /// Print what was decided as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: DecisionArgs, environment: &Environment, out: &mut Out) -> Ended {
    match arguments.command {
        DecisionCommand::List { all, json } => list(all, json, environment, out),
        DecisionCommand::Show { id, json } => show(&id, json, environment, out),
        DecisionCommand::Resolve { id, choice, more, message, json } => {
            let resolve = Resolve { id, choice, more, message, by: person() };
            let resolution = connect(environment)?.resolve(resolve)?;
            if json {
                out.json(&resolution)?;
            } else {
                let choice = resolution.choice.as_deref().unwrap_or_default();
                let id = resolution.id.to_string();
                let answers = resolution.answers.iter().map(|one| one.answer.join(", "));
                let answers = answers.collect::<Vec<_>>().join("; ");
                let said = if answers.is_empty() { choice } else { &answers };
                out.line(&[(Tone::Strong, &id), (Tone::Plain, ": "), (Tone::Good, said)])?;
            }
            Ok(exit_code::OK)
        }
    }
}

fn decisions(environment: &Environment) -> Result<Vec<DecisionView>, Trouble> {
    match ask(environment, &Request::Decisions)? {
        Response::Decisions(decisions) => Ok(decisions),
        _ => Err(anyhook_daemon::ClientError::NoAnswer.into()),
    }
}

fn list(all: bool, json: bool, environment: &Environment, out: &mut Out) -> Ended {
    let mut decisions = decisions(environment)?;
    downtime::tell(environment);
    if !all {
        decisions.retain(|decision| decision.resolution.is_none());
    }
    if json {
        out.json(&decisions)?;
        return Ok(exit_code::OK);
    }
    if decisions.is_empty() {
        out.line(&[(Tone::Plain, "nothing waits for a decision")])?;
        return Ok(exit_code::OK);
    }
    let now = anyhook_engine::now();
    let mut rows = vec![
        ["decision", "agent", "for", "what", "choose"]
            .map(|title| Cell::new(Tone::Dim, title))
            .to_vec(),
    ];
    for decision in &decisions {
        let inquiry = &decision.inquiry;
        let (tone, choose) = match &decision.resolution {
            None => (Tone::Warn, listed(&inquiry.options)),
            Some(resolution) => (Tone::Dim, ended(resolution)),
        };
        rows.push(vec![
            Cell::new(Tone::Strong, inquiry.id.to_string()),
            Cell::new(Tone::Plain, inquiry.agent.clone()),
            Cell::new(Tone::Plain, age(inquiry.created, now)),
            Cell::new(Tone::Plain, what(decision)),
            Cell::new(tone, choose),
        ]);
    }
    out.table(&rows)?;
    Ok(exit_code::OK)
}

fn what(decision: &DecisionView) -> String {
    let inquiry = &decision.inquiry;
    let text = match (&inquiry.tool, &inquiry.about) {
        (Some(tool), Some(about)) => format!("{tool}: {about}"),
        (_, Some(about)) => about.clone(),
        _ => inquiry.question.clone(),
    };
    anyhook_model::json::shorten(text.lines().next().unwrap_or(""), 60)
}

/// Tells whether the options of a decision are all that can be answered, but for free text.
fn is_simple(questions: &[AgentQuestion]) -> bool {
    matches!(questions, [] | [AgentQuestion { multiple: false, .. }])
}

fn show_options(options: &[Choice], out: &mut Out) -> std::io::Result<()> {
    for (index, option) in options.iter().enumerate() {
        let number = format!("  {} ", index + 1);
        out.line(&[
            (Tone::Warn, &number),
            (Tone::Strong, &option.name),
            (Tone::Dim, &format!("  {}", option.does)),
        ])?;
    }
    Ok(())
}

/// Returns the command that answers.
fn how_to_answer(inquiry: &Inquiry) -> String {
    let answers: Vec<&str> = match &inquiry.questions[..] {
        [] => vec!["1"],
        questions => {
            questions.iter().map(|question| if question.multiple { "1,2" } else { "1" }).collect()
        }
    };
    let mut command = format!("anyhook decision resolve {} {}", inquiry.id, answers.join(" "));
    if inquiry.questions.iter().any(|question| question.free_text) {
        command.push_str("   (or your own words in quotes)");
    }
    command
}

fn show(id: &str, json: bool, environment: &Environment, out: &mut Out) -> Ended {
    let decisions = decisions(environment)?;
    let begins = |decision: &DecisionView| decision.inquiry.id.as_str().starts_with(id);
    let decision =
        one_of(&decisions, "decision", id, |decision| decision.inquiry.id.as_str(), begins)?;
    if json {
        out.json(decision)?;
        return Ok(exit_code::OK);
    }
    let inquiry = &decision.inquiry;
    let now = anyhook_engine::now();
    out.line(&[
        (Tone::Strong, inquiry.id.as_str()),
        (Tone::Plain, " "),
        (Tone::Plain, &inquiry.question),
    ])?;
    let until = inquiry
        .until
        .map(|until| format!("{} (then the agent's own dialog stands)", age(now, until)));
    let open_until = until.filter(|_| decision.resolution.is_none());
    let rows = [
        ("agent", Some(inquiry.agent.clone())),
        ("tool", inquiry.tool.clone()),
        ("about", inquiry.about.clone()),
        ("input", inquiry.digest.as_ref().map(|digest| format!("sha256:{digest}"))),
        ("asked", Some(format!("{} ago", age(inquiry.created, now)))),
        ("waits for", open_until),
        (
            "ended",
            decision.resolution.as_ref().map(|resolution| {
                format!("{}, {} ago", ended(resolution), age(resolution.at, now))
            }),
        ),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            out.field(name, Tone::Plain, &value)?;
        }
    }
    if decision.resolution.is_none() {
        let is_simple = is_simple(&inquiry.questions);
        for question in inquiry.questions.iter().filter(|_| !is_simple) {
            let several = if question.multiple { "  (several, separated by commas)" } else { "" };
            out.line(&[(Tone::Strong, &question.text), (Tone::Dim, several)])?;
            show_options(&question.options, out)?;
        }
        show_options(&inquiry.options, out)?;
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &how_to_answer(inquiry))])?;
    }
    Ok(exit_code::OK)
}
