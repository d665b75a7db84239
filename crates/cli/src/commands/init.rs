//! `anyhook init`: proposes packs, adds them, installs into agents and proves it; `--undo` undoes it.

use std::io::{BufRead, IsTerminal, Write};

use anyhook_guards::project_tools::ProjectTools;
use anyhook_model::exit_code;
use anyhook_model::report::init::InitReport;
use anyhook_setup::init::plan::{Choice, has_work, plan};
use anyhook_setup::init::survey::{ProjectFacts, check, survey};
use anyhook_setup::init::{apply, canary, page, undo};
use clap::Args;

use super::CommandResult;
use crate::agents;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::human_only::by_a_person;
use crate::packs::FILES;
use crate::ui::{Out, Tone};

/// Protect this machine and project in one step: find agents, add packs, install, prove it
///
/// Looks at the agents, the project and what is there already, proposes packs with a reason each,
/// and asks once. Then it makes a harmful call in each agent's place, which must be denied; the
/// command is never run. `--undo` takes back exactly what was done.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook init\n         anyhook init --yes\n         anyhook init --undo"
)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct InitArgs {
    /// Do what is proposed, without asking
    #[arg(long, short)]
    yes: bool,
    /// These packs, instead of those that are proposed (separated by commas)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    packs: Option<Vec<String>>,
    /// These agents, instead of all that are found, separated by commas; `anyhook hosts` lists them
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    agents: Vec<String>,
    /// Import your own hooks in the agents' settings, too, so that anyhook runs them
    #[arg(long)]
    import: bool,
    /// Only say what is proposed
    #[arg(long)]
    dry_run: bool,
    /// Undo the latest init: nothing else is touched
    #[arg(long, conflicts_with_all = ["yes", "packs", "agents", "import", "dry_run"])]
    undo: bool,
    /// Print as JSON; it does not ask, so it needs --yes, --undo or --dry-run
    #[arg(long)]
    json: bool,
}

/// What a person says to a proposal.
enum Reply {
    Yes,
    No,
    Edit,
}

pub fn run(arguments: &InitArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.undo {
        return by_a_person("init", environment, || take_back(arguments, environment, out));
    }
    let mut report = propose(arguments, environment)?;
    let nothing_to_do = !has_work(&report);
    if arguments.dry_run || nothing_to_do {
        if nothing_to_do {
            "unchanged".clone_into(&mut report.result);
        }
        show(&report, arguments, environment, out)?;
        if nothing_to_do && !arguments.json {
            out.gap()?;
            out.line(&[(Tone::Good, "nothing to do"), (Tone::Dim, ": what is chosen is there")])?;
        }
        return Ok(code(&report));
    }
    if !arguments.yes {
        decide(&mut report, arguments, environment, out)?;
    }
    by_a_person("init", environment, || carry_out(report, arguments, environment, out))
}

/// Looks at the machine and the project, and returns what is proposed.
fn propose(arguments: &InitArgs, environment: &Environment) -> Result<InitReport, CommandError> {
    let found = survey(environment, &arguments.agents, facts(environment), FILES)?;
    if found.agents.is_empty() {
        let message = "no agent found on this machine";
        return Err(CommandError::problem(message)
            .hint("install one, or name one: anyhook init --agents claude-code"));
    }
    let mut report =
        plan(found, &Choice { packs: arguments.packs.clone(), import: arguments.import })?;
    check(&mut report, environment, FILES);
    Ok(report)
}

fn facts(environment: &Environment) -> ProjectFacts {
    let tools = ProjectTools::find(&environment.project_root(), &agents::is_on_path);
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    ProjectFacts {
        languages: owned(tools.languages),
        test_command: tools.tests,
        formatters: owned(tools.formatters),
        linters: owned(tools.linters),
    }
}

fn show(
    report: &InitReport,
    arguments: &InitArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    if arguments.json {
        return Ok(out.json(report)?);
    }
    Ok(page::proposal(report, false, &environment.places, out)?)
}

/// Shows the proposal and asks until the person agrees or not.
fn decide(
    report: &mut InitReport,
    arguments: &InitArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    if arguments.json || !std::io::stdin().is_terminal() {
        show(report, arguments, environment, out)?;
        out.flush()?;
        let message = "nothing was changed: cannot ask for confirmation without a terminal";
        return Err(CommandError::problem(message)
            .hint(format!("to do it: anyhook init{} --yes", chosen(arguments))));
    }
    loop {
        page::proposal(report, true, &environment.places, out)?;
        out.gap()?;
        // What is asked about must have been shown.
        out.flush()?;
        match reply()? {
            Reply::Yes if has_work(report) => return Ok(()),
            Reply::Yes | Reply::No => return Err(CommandError::problem("nothing was changed")),
            Reply::Edit => edit(report)?,
        }
        out.gap()?;
    }
}

/// Returns the options by which agents and packs were chosen.
fn chosen(arguments: &InitArgs) -> String {
    let agents = Some(&arguments.agents).filter(|agents| !agents.is_empty());
    let options = [("agents", agents), ("packs", arguments.packs.as_ref())];
    let option = |(name, values): (&str, Option<&Vec<String>>)| {
        values.map(|values| format!(" --{name} {}", values.join(",")))
    };
    let import = arguments.import.then(|| " --import".to_owned());
    options.into_iter().filter_map(option).chain(import).collect()
}

fn reply() -> Result<Reply, CommandError> {
    loop {
        let answer = ask("Do this? [Y/n/edit] ")?;
        match answer.as_deref().map(str::trim) {
            Some("" | "y" | "Y" | "yes") => return Ok(Reply::Yes),
            None | Some("n" | "N" | "no") => return Ok(Reply::No),
            Some("e" | "edit") => return Ok(Reply::Edit),
            Some(other) => {
                Out::stderr().hint(&format!("`{other}` is none of them: answer y, n or edit"))?;
            }
        }
    }
}

/// Switches items on and off by their numbers.
fn edit(report: &mut InitReport) -> Result<(), CommandError> {
    let answer = ask("Which numbers do you want to switch? ")?.unwrap_or_default();
    let words = answer.split(|letter: char| letter == ',' || letter.is_whitespace());
    let mut switches = page::switches(report);
    for word in words.filter(|word| !word.is_empty()) {
        let index = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match index.and_then(|index| switches.get_mut(index)) {
            Some(switch) => **switch = !**switch,
            None => Out::stderr()
                .line(&[(Tone::Warn, "not a number of the list: "), (Tone::Plain, word)])?,
        }
    }
    Ok(())
}

/// Asks on the terminal; `None` at the end of the input.
fn ask(question: &str) -> Result<Option<String>, CommandError> {
    Out::stderr().pieces(&[(Tone::Strong, question)])?;
    std::io::stderr().flush()?;
    let mut answer = String::new();
    let length = std::io::stdin().lock().read_line(&mut answer)?;
    Ok((length > 0).then_some(answer))
}

fn carry_out(
    mut report: InitReport,
    arguments: &InitArgs,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    apply::carry_out(&mut report, environment, FILES)?;
    canary::prove(&mut report, environment);
    if arguments.json {
        out.json(&report)?;
    } else {
        page::outcome(&report, out)?;
    }
    let unproved = report.agents.iter().find_map(|agent| {
        let why = agent.proof.as_ref()?.why_not.as_ref()?;
        Some(format!("{} was not told to stop: {why}", agent.title))
    });
    match unproved {
        Some(message) => {
            out.flush()?;
            let hint = "`anyhook doctor` says what is wrong; `anyhook init --undo` undoes it";
            Err(CommandError::problem(message).hint(hint))
        }
        None => Ok(code(&report)),
    }
}

/// Returns the exit code: a problem if an agent cannot be protected.
fn code(report: &InitReport) -> u8 {
    let is_open = report.agents.iter().any(|agent| agent.problem.is_some());
    if is_open { exit_code::PROBLEM } else { exit_code::OK }
}

fn take_back(arguments: &InitArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let report = undo::undo(environment, FILES)?;
    if arguments.json {
        out.json(&report)?;
    } else {
        page::undone(&report, out)?;
    }
    Ok(exit_code::OK)
}
