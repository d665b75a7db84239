//! `anyhook trust`: approves a project's hooks, MCP servers and runbooks, after showing them.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhook_engine::trust::{FileTrust, StagedCopy, TrustStore};
use anyhook_engine::{Hook, Level};
use anyhook_model::exit_code;
use anyhook_model::report::changes::{TrustReport, TrustedItem};
use anyhook_setup::trust::{
    Candidate, CandidateError, EarlierTrust, FileComparison, HookPart, Rivals, ShownItem,
    TrustRequest, TrustReview, candidates, is_replaceable,
};
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::human_only::{CommandOutcome, agent_above, journal, only_a_person};
use crate::mcp_servers::{self, ProjectFile};
use crate::paging::PagerArgs;
use crate::runbooks::{self, FoundRunbook, UnverifiedFile};
use crate::target;
use crate::ui::{Out, Tone, counted};

/// At most this many lines of a file are shown.
const LINES_SHOWN: usize = 60;

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
    let mut sum = Sum::default();
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

/// What was done, for the summary line.
#[derive(Default)]
struct Sum {
    trusted: usize,
    unable: usize,
    replacing: usize,
}

impl Sum {
    fn add(&mut self, cannot_run: bool, replaces: bool) {
        self.trusted += 1;
        self.unable += usize::from(cannot_run);
        self.replacing += usize::from(replaces);
    }

    fn words(&self, left: usize) -> String {
        let mut words = vec![format!("{} trusted", self.trusted)];
        if self.unable > 0 {
            words.push(format!("{} of them cannot run", self.unable));
        }
        if self.replacing > 0 {
            words.push(format!("{} of them replacing yours", self.replacing));
        }
        if left > 0 {
            words.push(format!("{left} not trusted"));
        }
        words.join(", ")
    }
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
            present_hook(&hook, &staged, rival, store, environment, out)?;
            Ok(ShownItem::Hook(staged))
        }
        Candidate::Servers(file) => {
            present_servers(&file, environment, out)?;
            Ok(ShownItem::Servers(file))
        }
        Candidate::Runbook(runbook) => {
            present_runbook(&runbook, environment, out)?;
            Ok(ShownItem::Runbook(runbook))
        }
    }
}

/// Shows the file of MCP servers, all of it: every line may start a program.
fn present_servers(
    file: &ProjectFile,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    let place = shown(&file.path, &environment.places);
    out.line(&[(Tone::Strong, mcp_servers::FILE), (Tone::Dim, "  "), (Tone::Dim, &place)])?;
    match file.config(environment) {
        Ok(config) => {
            let names: Vec<&str> = config.names().collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            out.line(&[(Tone::Plain, "  MCP servers: "), (Tone::Plain, &names)])?;
        }
        Err(error) => {
            out.line(&[(Tone::Bad, "  cannot be used: "), (Tone::Plain, &error.reason)])?;
        }
    }
    if file.trust == FileTrust::Changed {
        out.line(&[(Tone::Warn, "  it was trusted before, with different content")])?;
    }
    let piece = HookPart::File { bytes: file.content.clone(), runnable: false };
    show(mcp_servers::FILE, &piece, None, &place, usize::MAX, out)?;
    Ok(())
}

/// Shows a runbook, all of it: every line may be a command.
fn present_runbook(
    runbook: &UnverifiedFile,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    let place = shown(&runbook.path, &environment.places);
    let name = runbook.name(environment);
    out.line(&[(Tone::Strong, &name), (Tone::Dim, "  "), (Tone::Dim, &place)])?;
    if !runbook.is_workflow() {
        let found = FoundRunbook::read(&runbook.path).runbook;
        let names: Vec<&str> = found.pipelines.iter().map(|one| one.name.text.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        out.line(&[(Tone::Plain, "  pipelines: "), (Tone::Plain, &names)])?;
    }
    if runbook.trust == FileTrust::Changed {
        out.line(&[(Tone::Warn, "  it was trusted before, with different content")])?;
    }
    let piece = HookPart::File { bytes: runbook.text.clone().into_bytes(), runnable: false };
    show(&name, &piece, None, &place, usize::MAX, out)
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
    present_runbook(&runbook, environment, &mut stderr)?;
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

/// Shows a hook, from the copy that would run.
fn present_hook(
    hook: &Hook,
    staged: &StagedCopy,
    rival: Option<&Hook>,
    store: &TrustStore,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), CommandError> {
    let TrustReview { copy, earlier, files, removed } = TrustReview::new(hook, staged, store)?;
    let place = |path: &Path| shown(path, &environment.places);
    let folder = place(&hook.folder);
    out.line(&[(Tone::Strong, hook.name()), (Tone::Dim, "  "), (Tone::Dim, &folder)])?;
    out.line(&[(Tone::Plain, "  "), (Tone::Plain, &copy.definition.description)])?;
    let triggers = copy.trigger_names();
    if !triggers.is_empty() {
        out.line(&[(Tone::Plain, "  runs at "), (Tone::Plain, &triggers.join(", "))])?;
    }
    if let Some(fault) = copy.fault() {
        out.line(&[(Tone::Bad, "  cannot run: "), (Tone::Plain, &fault.message)])?;
        if let Some(hint) = &fault.hint {
            out.line(&[(Tone::Hint, "  hint: "), (Tone::Plain, hint)])?;
        }
    }
    if let Some(rival) = rival {
        present_rival(rival, out)?;
    }
    match &earlier {
        Some(EarlierTrust::Changed) => {
            out.line(&[(Tone::Warn, "  it was trusted before; changes since then are marked")])?;
        }
        Some(EarlierTrust::SameContent(source)) => {
            let same = "  same content as you trusted in ";
            out.line(&[(Tone::Good, same), (Tone::Plain, &place(source))])?;
        }
        None => {}
    }
    for file in &files {
        let place = place(&hook.folder.join(&file.path));
        let name = file.path.display().to_string();
        show(&name, &file.piece, file.change, &place, LINES_SHOWN, out)?;
    }
    for gone in &removed {
        let heading = format!("── {}  REMOVED", gone.display());
        out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
    }
    Ok(())
}

/// Shows what happens to the hook with the same name.
fn present_rival(rival: &Hook, out: &mut Out) -> std::io::Result<()> {
    let on_failure = if rival.blocks_on_failure() { "block" } else { "allow" };
    let about = format!(
        "{} ({}, on_failure: {on_failure})",
        rival.name(),
        rival.trigger_names().join(", ")
    );
    let words = match rival.level {
        Level::User if is_replaceable(rival) => {
            format!("  this REPLACES your hook {about}, if you agree")
        }
        Level::User => format!("  your hook {about} is locked: this one is skipped"),
        _ => format!("  the managed hook {about} takes precedence: this one is skipped"),
    };
    out.line(&[(Tone::Warn, &words)])
}

/// Shows a file: what it is, and its first lines unless it is unchanged. The rest is at `place`.
fn show(
    name: &str,
    piece: &HookPart,
    change: Option<FileComparison>,
    place: &str,
    most: usize,
    out: &mut Out,
) -> std::io::Result<()> {
    let about = match piece {
        HookPart::File { bytes, runnable: true } => format!(" ({} bytes, executable)", bytes.len()),
        HookPart::File { bytes, runnable: false } => format!(" ({} bytes)", bytes.len()),
        HookPart::Link(target) => format!(" → {}", target.display()),
        HookPart::Missing => " (cannot be read)".to_owned(),
    };
    let change_words = match change {
        None => "",
        Some(FileComparison::New) => "  NEW",
        Some(FileComparison::Same) => "  unchanged",
        Some(FileComparison::Changed) => "  CHANGED",
    };
    let heading = format!("── {name}{about}{change_words}");
    out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
    let (HookPart::File { bytes, .. }, false) = (piece, change == Some(FileComparison::Same))
    else {
        return Ok(());
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return out.line(&[(Tone::Warn, "  │ not text")]);
    };
    for line in text.lines().take(most) {
        out.line(&[(Tone::Dim, "  │ "), (Tone::Plain, line)])?;
    }
    match text.lines().count().saturating_sub(most) {
        0 => Ok(()),
        more => out.line(&[(Tone::Dim, &format!("  │ … {more} more lines in {place}"))]),
    }
}

/// Asks the person at the terminal; without one, the answer is no.
pub fn confirm(question: &str) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut stderr = Out::stderr();
    stderr.pieces(&[(Tone::Strong, &format!("{question} [y/N] "))])?;
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
