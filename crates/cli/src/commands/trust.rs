//! `anyhook trust`: approves a project's hooks, MCP servers and runbooks, after showing them.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhook_engine::Hook;
use anyhook_engine::trust::{FileTrust, TrustStore};
use anyhook_model::exit_code;
use anyhook_model::report::changes::{TrustReport, TrustedItem};
use anyhook_setup::trust::{
    Candidate, CandidateError, Rivals, ShownItem, TrustRequest, TrustReview, candidates,
    is_replaceable,
};
use anyhook_setup::trust_page::{self, TrustSummary};
use clap::Args;

use super::CommandResult;
use crate::confirm::confirm;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::human_only::{CommandOutcome, agent_above, journal, only_a_person};
use crate::mcp_servers::{self};
use crate::paging::PagerArgs;
use crate::runbooks::{self, UnverifiedFile};
use crate::target;
use crate::ui::{Out, Tone, counted};

/// Review and approve a project's hooks, MCP servers and runbooks
///
/// A trusted hook runs from a copy. `.agents/mcp.json` and runbooks stay trusted until they
/// change.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook trust --show\n         anyhook trust my-hook\n         anyhook trust my-hook --replace my-hook"
)]
pub struct TrustArgs {
    /// Hooks by name or folder, runbooks and `workflow.toml` by file, or `mcp.json`; default: ask
    /// about each one that is not trusted
    paths: Vec<PathBuf>,
    /// All of the project's untrusted hooks, MCP servers and runbooks
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// Let the project's hook with this name replace yours
    #[arg(long, value_name = "NAME")]
    replace: Vec<String>,
    /// Only show them, without trusting them
    #[arg(long)]
    show: bool,
    /// Print what was done as JSON; what they are is not shown
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pager: PagerArgs,
}

impl TrustArgs {
    /// Returns whether the person has named what to trust, so that nothing is asked.
    fn says_what(&self) -> bool {
        self.all || !self.paths.is_empty() || !self.replace.is_empty()
    }
}

pub fn run(arguments: &TrustArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let Some(state) = &environment.places.state else {
        return Err(CommandError::problem("no state folder to save this in").hint("set HOME"));
    };
    if arguments.json && !arguments.show && !arguments.says_what() {
        return Err(CommandError::usage("--json cannot ask, so name what to trust")
            .hint("name hooks, or use --all or --show"));
    }
    let store = TrustStore::new(state);
    let installed = target::installed(environment);
    let TrustArgs { paths, all, replace, .. } = arguments;
    let asked = TrustRequest { paths, all: *all, replace };
    let candidates = candidates(asked, &installed, environment)?;
    let rivals = Rivals::new(&installed);
    let is_replaced =
        |name: &String| candidates.iter().any(|candidate| rivals.can_replace(candidate, name));
    if let Some(name) = replace.iter().find(|name| !is_replaced(name)) {
        let message = format!("this project has no hook that can replace your hook `{name}`");
        return Err(
            CommandError::input(message).hint("`anyhook list` shows the hooks of both levels")
        );
    }
    if arguments.json {
        return trust_as_json(arguments, candidates, &rivals, &store, environment, out);
    }
    if candidates.is_empty() {
        out.text("nothing to trust: this project has no untrusted hooks")?;
        return Ok(exit_code::OK);
    }
    let asked_for = arguments.says_what();
    let total = candidates.len();
    let mut left = Vec::new();
    let mut sum = TrustSummary::default();
    for (index, candidate) in candidates.into_iter().enumerate() {
        if index > 0 {
            out.gap()?;
        }
        let name = candidate.name(environment);
        let rival = rivals.rival_of(&candidate);
        arguments.pager.start(out);
        let shown = present(candidate, &store, rival, environment, out)?;
        if arguments.show {
            continue;
        }
        let is_asked = !asked_for || rival.is_some_and(is_replaceable);
        if is_asked || !out.is_held() {
            // What is asked about must have been shown, and what cannot be shown is not trusted.
            out.flush()?;
        }
        if !asked_for && !confirm(&format!("Trust {name}?"))? {
            out.line(&[(Tone::Warn, "not trusted: "), (Tone::Strong, &name)])?;
            left.push(shown);
            continue;
        }
        let replaceable = rival.filter(|rival| is_replaceable(rival));
        let replaces = match replaceable {
            None => false,
            Some(rival) => {
                replace.iter().any(|name| name == rival.name())
                    || confirm(&format!("Let it replace your hook {}?", rival.name()))?
            }
        };
        let fault = shown.fault();
        shown.trust(&store, replaces)?;
        sum.add(fault.is_some(), replaces);
        out.line(&[(Tone::Good, "trusted "), (Tone::Strong, &name)])?;
        if let Some(fault) = fault {
            out.line(&[(Tone::Warn, "  it cannot run: "), (Tone::Plain, &fault.message)])?;
        }
        match replaceable {
            Some(_) if replaces => {
                out.line(&[(Tone::Warn, "  it replaces your hook "), (Tone::Strong, &name)])?;
            }
            Some(_) => {
                out.line(&[
                    (Tone::Plain, "  it runs in addition to your hook "),
                    (Tone::Strong, &name),
                ])?;
                let hint = format!("anyhook trust {name} --replace {name}");
                out.line(&[(Tone::Hint, "  hint: "), (Tone::Plain, &hint)])?;
            }
            None => {}
        }
    }
    if total > 1 && !arguments.show {
        // Below the pager, so that a person who quits it early sees this, too.
        out.flush()?;
        out.gap()?;
        out.text(&sum.words(left.len()))?;
    }
    if !left.is_empty() && !std::io::stdin().is_terminal() {
        return Err(cannot_ask(&left));
    }
    Ok(exit_code::OK)
}

/// The error if there is no terminal to ask on.
fn cannot_ask(left: &[ShownItem]) -> CommandError {
    let count = |is: fn(&ShownItem) -> bool| left.iter().filter(|shown| is(shown)).count();
    let hooks = count(|shown| matches!(shown, ShownItem::Hook(_)));
    let runbooks = count(|shown| matches!(shown, ShownItem::Runbook(_)));
    let servers = (hooks + runbooks < left.len()).then(|| mcp_servers::FILE.to_owned());
    let hooks = (hooks > 0).then(|| counted(hooks, "hook"));
    let runbooks = (runbooks > 0).then(|| counted(runbooks, "runbook"));
    let what: Vec<String> = hooks.into_iter().chain(servers).chain(runbooks).collect();
    let message = format!(
        "{} not trusted: cannot ask for confirmation without a terminal",
        what.join(" and ")
    );
    CommandError::problem(message).hint("pass names, or --all")
}

/// Trusts what was named without showing or asking, and prints what was done.
fn trust_as_json(
    arguments: &TrustArgs,
    candidates: Vec<Candidate>,
    rivals: &Rivals<'_>,
    store: &TrustStore,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let mut items = Vec::new();
    for candidate in candidates {
        let rival = rivals.rival_of(&candidate).filter(|rival| is_replaceable(rival));
        let replaces =
            rival.is_some_and(|rival| arguments.replace.iter().any(|name| name == rival.name()));
        let (kind, path) = candidate.place();
        let path = path.to_string_lossy().into_owned();
        let name = candidate.name(environment);
        let shown = candidate.into_shown(store)?;
        let fault = shown.fault().map(|fault| fault.message);
        if !arguments.show {
            shown.trust(store, replaces)?;
        }
        let (kind, trusted) = (kind.to_owned(), !arguments.show);
        items.push(TrustedItem { name, kind, path, trusted, fault, replaces });
    }
    out.json(&TrustReport { items })?;
    Ok(exit_code::OK)
}

impl From<CandidateError> for CommandError {
    fn from(error: CandidateError) -> Self {
        match error {
            CandidateError::Servers(failure) => Self::input(failure.reason).hint(failure.hint),
            CandidateError::Runbook(word, why) => {
                Self::input(format!("`{}` cannot be read: {why}", word.display()))
            }
            CandidateError::Unknown(word) => {
                Self::input(format!("this project has no hook `{}`", word.display()))
                    .hint("only project hooks need trust: those in the repository's .agents/hooks")
            }
        }
    }
}

/// Shows what is to be trusted.
fn present(
    candidate: Candidate,
    store: &TrustStore,
    rival: Option<&Hook>,
    environment: &Environment,
    out: &mut Out,
) -> Result<ShownItem, CommandError> {
    match candidate {
        Candidate::Hook(hook) => {
            let staged = store.stage(&hook.folder)?;
            let review = TrustReview::new(&hook, &staged, store)?;
            trust_page::hook(&hook, &review, rival, environment, out)?;
            Ok(ShownItem::Hook(staged))
        }
        Candidate::Servers(file) => {
            trust_page::servers(&file, environment, out)?;
            Ok(ShownItem::Servers(file))
        }
        Candidate::Runbook(runbook) => {
            trust_page::runbook(&runbook, environment, out)?;
            Ok(ShownItem::Runbook(runbook))
        }
    }
}

/// Asks the person at the terminal about a runbook whose pipeline is to run; refuses it without a
/// terminal, or for an agent.
pub fn before_it_runs(
    runbook: UnverifiedFile,
    environment: &Environment,
) -> Result<(), CommandError> {
    if agent_above(environment).is_some() {
        return before_an_agent_runs_it("pipeline run", &runbook, environment);
    }
    if runbook.is_own || runbook.trust == FileTrust::Trusted {
        return Ok(());
    }
    let refusal = runbooks::refusal(&runbook, environment);
    let Some(state) = &environment.places.state else { return Err(refusal) };
    let name = runbook.name(environment);
    only_a_person("pipeline run", environment).map_err(|refused| to_be_trusted(refused, &name))?;
    if !std::io::stdin().is_terminal() {
        return Err(refusal);
    }
    // Standard output may be read by a program.
    let mut stderr = Out::stderr();
    trust_page::runbook(&runbook, environment, &mut stderr)?;
    stderr.flush()?;
    if !confirm(&format!("Trust {name}?"))? {
        return Err(refusal);
    }
    ShownItem::Runbook(runbook).trust(&TrustStore::new(state), false)?;
    journal("trust", &CommandOutcome::Done, environment);
    Ok(())
}

/// Refuses a runbook or workflow that an agent wants to run, unless a person has trusted what it
/// says: the agent's hooks would see nothing of its commands.
pub fn before_an_agent_runs_it(
    command: &str,
    runbook: &UnverifiedFile,
    environment: &Environment,
) -> Result<(), CommandError> {
    if runbook.is_trusted_for_agents(environment) {
        return Ok(());
    }
    let name = runbook.name(environment);
    only_a_person(command, environment).map_err(|refused| to_be_trusted(refused, &name))?;
    Err(runbooks::refusal(runbook, environment))
}

/// Adds what a person can do about a refused runbook.
fn to_be_trusted(refused: CommandError, name: &str) -> CommandError {
    refused.hint(format!(
        "a person has to trust `{name}` first: run anyhook trust {name} in your own terminal"
    ))
}
