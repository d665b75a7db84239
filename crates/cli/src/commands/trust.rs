//! `anyhook trust`: approve a project's hooks, MCP servers and runbooks, after showing what they are.

use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::discover::Installed;
use anyhook_engine::hook::Trust;
use anyhook_engine::trust::{FileTrust, Staged, TrustError, TrustStore};
use anyhook_engine::{Hook, Level, Problem, now};
use anyhook_model::exit_code;
use clap::Args;

use super::Ended;
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::person::{Outcome, agent_above, journal, only_a_person};
use crate::runbooks::{self, Foreign, Found};
use crate::servers::{self, ProjectFile};
use crate::target;
use crate::ui::{Out, Tone, counted};

/// So many lines of a file are shown.
const LINES_SHOWN: usize = 60;

/// Approve a project's hooks, MCP servers and runbooks after showing what they are
///
/// What runs of a hook is a copy. `.agents/mcp.json` and runbooks count while they are as they were
/// shown.
#[derive(Args)]
#[command(
    after_help = "Example: anyhook trust --show\n         anyhook trust my-hook\n         anyhook trust my-hook --replace my-hook"
)]
pub struct TrustArgs {
    /// Hooks by name or folder, runbooks and `workflow.toml` by file, or `mcp.json`; without, you are
    /// asked about each that is not trusted
    paths: Vec<PathBuf>,
    /// All hooks of the project that are not trusted, its MCP servers and its runbooks
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// Have the project's hook of this name replace your own
    #[arg(long, value_name = "NAME")]
    replace: Vec<String>,
    /// Only show them
    #[arg(long)]
    show: bool,
}

pub fn run(arguments: &TrustArgs, environment: &Environment, out: &mut Out) -> Ended {
    let Some(state) = &environment.places.state else {
        return Err(Trouble::problem("there is no state folder to remember it in").hint("set HOME"));
    };
    let store = TrustStore::new(state);
    let installed = target::installed(environment);
    let candidates = candidates(arguments, &installed, environment)?;
    let rivals = Rivals::new(&installed);
    if let Some(name) = arguments.replace.iter().find(|name| {
        !candidates.iter().any(|candidate| rivals.replaced_by(candidate, name).is_some())
    }) {
        let message = format!("no hook of this project can replace a hook `{name}` of yours");
        return Err(Trouble::input(message).hint("`anyhook list` shows the hooks of both"));
    }
    if candidates.is_empty() {
        out.text(
            "nothing to trust: every hook of this project is trusted already, or there is none",
        )?;
        return Ok(exit_code::OK);
    }
    let asked_for = arguments.all || !arguments.paths.is_empty() || !arguments.replace.is_empty();
    let total = candidates.len();
    let mut left = Vec::new();
    let mut sum = Sum::default();
    for (index, candidate) in candidates.into_iter().enumerate() {
        if index > 0 {
            out.gap()?;
        }
        let name = candidate.name(environment);
        let rival = rivals.rival_of(&candidate);
        let shown = candidate.present(&store, rival, environment, out)?;
        out.flush()?;
        if arguments.show {
            continue;
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
                arguments.replace.iter().any(|name| name == rival.name())
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
                out.line(&[(Tone::Plain, "  it runs beside your hook "), (Tone::Strong, &name)])?;
                let hint = format!("anyhook trust {name} --replace {name}");
                out.line(&[(Tone::Hint, "  hint: "), (Tone::Plain, &hint)])?;
            }
            None => {}
        }
    }
    if total > 1 && !arguments.show {
        out.gap()?;
        out.text(&sum.words(left.len()))?;
    }
    if !left.is_empty() && !std::io::stdin().is_terminal() {
        let count = |is: fn(&Shown) -> bool| left.iter().filter(|shown| is(shown)).count();
        let hooks = count(|shown| matches!(shown, Shown::Hook(_)));
        let runbooks = count(|shown| matches!(shown, Shown::Runbook(_)));
        let servers = (hooks + runbooks < left.len()).then(|| servers::FILE.to_owned());
        let hooks = (hooks > 0).then(|| counted(hooks, "hook"));
        let runbooks = (runbooks > 0).then(|| counted(runbooks, "runbook"));
        let what: Vec<String> = hooks.into_iter().chain(servers).chain(runbooks).collect();
        let message = format!("{} not trusted: nobody is there to ask", what.join(" and "));
        return Err(Trouble::problem(message).hint("name them, or say --all"));
    }
    Ok(exit_code::OK)
}

/// What was done, for the last line.
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
            words.push(format!("{} of them in place of yours", self.replacing));
        }
        if left > 0 {
            words.push(format!("{left} not trusted"));
        }
        words.join(", ")
    }
}

/// The hooks beside the project's that may have the name of one of them.
struct Rivals<'installed>(Vec<&'installed Hook>);

impl<'installed> Rivals<'installed> {
    fn new(installed: &'installed Installed) -> Self {
        let hooks = installed.hooks.iter().map(|standing| &standing.hook);
        Self(hooks.filter(|hook| hook.level < Level::Project).collect())
    }

    /// Returns the hook whose place a candidate could take, or that keeps it out.
    fn rival_of(&self, candidate: &Candidate) -> Option<&'installed Hook> {
        let Candidate::Hook(hook) = candidate else { return None };
        let written = Hook::load(&hook.folder, Level::Project);
        let named = |rival: &&&Hook| rival.name() == written.name();
        let firm = self.0.iter().filter(named).find(|rival| !is_replaceable(rival));
        firm.or_else(|| self.0.iter().filter(|_| hook.nesting == 0).find(named)).copied()
    }

    /// Returns the user's hook of this name, if the candidate can replace it.
    fn replaced_by(&self, candidate: &Candidate, name: &str) -> Option<&'installed Hook> {
        self.rival_of(candidate).filter(|rival| rival.name() == name && is_replaceable(rival))
    }
}

fn is_replaceable(rival: &Hook) -> bool {
    rival.level == Level::User && !rival.definition.is_locked()
}

/// What may be trusted.
enum Candidate {
    Hook(Box<Hook>),
    Servers(ProjectFile),
    Runbook(Foreign),
}

/// What was shown: this, and nothing else, is trusted.
enum Shown {
    Hook(Staged),
    Servers(ProjectFile),
    Runbook(Foreign),
}

impl Candidate {
    fn name(&self, environment: &Environment) -> String {
        match self {
            Self::Hook(hook) => hook.name().to_owned(),
            Self::Servers(_) => servers::FILE.to_owned(),
            Self::Runbook(runbook) => runbook.name(environment),
        }
    }

    fn present(
        self,
        store: &TrustStore,
        rival: Option<&Hook>,
        environment: &Environment,
        out: &mut Out,
    ) -> Result<Shown, Trouble> {
        match self {
            Self::Hook(hook) => {
                let staged = store.stage(&hook.folder)?;
                present(&hook, &staged, rival, store, environment, out)?;
                Ok(Shown::Hook(staged))
            }
            Self::Servers(file) => {
                present_servers(&file, environment, out)?;
                Ok(Shown::Servers(file))
            }
            Self::Runbook(runbook) => {
                present_runbook(&runbook, environment, out)?;
                Ok(Shown::Runbook(runbook))
            }
        }
    }
}

impl Shown {
    /// Returns what keeps the hook from running, if anything does.
    fn fault(&self) -> Option<Problem> {
        match self {
            Self::Hook(staged) => Hook::load(staged.folder(), Level::Project).fault().cloned(),
            Self::Servers(_) | Self::Runbook(_) => None,
        }
    }

    fn trust(self, store: &TrustStore, replaces: bool) -> Result<(), TrustError> {
        match self {
            Self::Hook(staged) => store.trust(staged.replacing(replaces), now()).map(drop),
            Self::Servers(file) => store.trust_file(&file.path, &file.content, now()).map(drop),
            Self::Runbook(Foreign { path, text, .. }) => {
                store.trust_file(&path, text.as_bytes(), now()).map(drop)
            }
        }
    }
}

/// Returns the hooks to be trusted, and the file of MCP servers.
fn candidates(
    arguments: &TrustArgs,
    installed: &Installed,
    environment: &Environment,
) -> Result<Vec<Candidate>, Trouble> {
    let servers = servers::project_file(environment);
    let project = installed
        .hooks
        .iter()
        .map(|standing| standing.hook.clone())
        .filter(|hook| hook.level == Level::Project && hook.folder.symlink_metadata().is_ok());
    // Whoever says only what is to be replaced means the hooks of that name.
    let named: Vec<PathBuf> = match &arguments.paths {
        paths if paths.is_empty() && !arguments.all => {
            arguments.replace.iter().map(PathBuf::from).collect()
        }
        paths => paths.clone(),
    };
    if named.is_empty() {
        let hooks = project.filter(|hook| hook.trust != Trust::Trusted).map(Box::new);
        // What is wrong with a file that nobody named is for `doctor` to say.
        let servers = servers.ok().flatten().filter(|file| file.trust != FileTrust::Trusted);
        let runbooks = runbooks::of_project(environment).into_iter();
        let runbooks = runbooks.filter(|runbook| runbook.trust != FileTrust::Trusted);
        return Ok(hooks
            .map(Candidate::Hook)
            .chain(servers.map(Candidate::Servers))
            .chain(runbooks.map(Candidate::Runbook))
            .collect());
    }
    let mut servers = Some(servers);
    let project: Vec<Hook> = project.collect();
    let mut found = Vec::new();
    for path in &named {
        let full = environment.work_dir.join(path);
        if servers::is_meant(path, environment) && servers::project_path(environment).exists() {
            let file = servers
                .take()
                .transpose()
                .map_err(|error| Trouble::input(error.reason).hint(error.hint))?;
            found.extend(file.flatten().map(Candidate::Servers));
            continue;
        }
        if let Some(runbook) = runbooks::named(path, environment) {
            found.push(Candidate::Runbook(runbook?));
            continue;
        }
        let named = |hook: &&Hook| {
            Path::new(hook.name()) == path
                || hook.folder.file_name().is_some_and(|name| name == path.as_os_str())
                || std::fs::canonicalize(&full).is_ok_and(|full| {
                    std::fs::canonicalize(&hook.folder).is_ok_and(|folder| folder == full)
                })
        };
        let hook = project.iter().find(named).ok_or_else(|| {
            Trouble::input(format!("`{}` is no hook of this project", path.display()))
                .hint("only a project's hooks need trust: those in .agents/hooks of the repository")
        })?;
        found.push(Candidate::Hook(Box::new(hook.clone())));
    }
    Ok(found)
}

/// Shows the file of MCP servers, all of it: every line may start a program.
fn present_servers(
    file: &ProjectFile,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), Trouble> {
    let place = shown(&file.path, &environment.places);
    out.line(&[(Tone::Strong, servers::FILE), (Tone::Dim, "  "), (Tone::Dim, &place)])?;
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
        out.line(&[(Tone::Warn, "  it was trusted before, with another content")])?;
    }
    let piece = Piece::File { bytes: file.content.clone(), runnable: false };
    let heading = format!("── {}{}", servers::FILE, piece.words());
    out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
    piece.show(&place, usize::MAX, out)?;
    Ok(())
}

/// Shows a runbook, all of it: every line may be a command.
fn present_runbook(
    runbook: &Foreign,
    environment: &Environment,
    out: &mut Out,
) -> std::io::Result<()> {
    let place = shown(&runbook.path, &environment.places);
    let name = runbook.name(environment);
    out.line(&[(Tone::Strong, &name), (Tone::Dim, "  "), (Tone::Dim, &place)])?;
    if !runbook.is_workflow() {
        let found = Found::read(&runbook.path).runbook;
        let names: Vec<&str> = found.pipelines.iter().map(|one| one.name.text.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        out.line(&[(Tone::Plain, "  pipelines: "), (Tone::Plain, &names)])?;
    }
    if runbook.trust == FileTrust::Changed {
        out.line(&[(Tone::Warn, "  it was trusted before, with another content")])?;
    }
    let piece = Piece::File { bytes: runbook.text.clone().into_bytes(), runnable: false };
    let heading = format!("── {name}{}", piece.words());
    out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
    piece.show(&place, usize::MAX, out)
}

/// Asks whoever is at the terminal about a runbook whose pipeline is to run; refuses it where nobody
/// is, or an agent.
pub fn before_it_runs(runbook: Foreign, environment: &Environment) -> Result<(), Trouble> {
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
    // What the command prints may be read by a program.
    let mut stderr = Out::stderr();
    present_runbook(&runbook, environment, &mut stderr)?;
    stderr.flush()?;
    if !confirm(&format!("Trust {name}?"))? {
        return Err(refusal);
    }
    Shown::Runbook(runbook).trust(&TrustStore::new(state), false)?;
    journal("trust", &Outcome::Done, environment);
    Ok(())
}

/// Refuses a runbook or workflow that an agent wants to run, unless a person has trusted what it says:
/// the agent's hooks would see nothing of its commands.
pub fn before_an_agent_runs_it(
    command: &str,
    runbook: &Foreign,
    environment: &Environment,
) -> Result<(), Trouble> {
    if runbook.is_trusted_for_agents(environment) {
        return Ok(());
    }
    let name = runbook.name(environment);
    only_a_person(command, environment).map_err(|refused| to_be_trusted(refused, &name))?;
    Err(runbooks::refusal(runbook, environment))
}

/// Says what a person can do about a runbook that was refused.
fn to_be_trusted(refused: Trouble, name: &str) -> Trouble {
    refused.hint(format!(
        "a person has to trust `{name}` first: anyhook trust {name}, in a terminal of your own"
    ))
}

/// Shows what is to be trusted, from the copy that would run.
fn present(
    hook: &Hook,
    staged: &Staged,
    rival: Option<&Hook>,
    store: &TrustStore,
    environment: &Environment,
    out: &mut Out,
) -> Result<(), Trouble> {
    let copy = Hook::load(staged.folder(), Level::Project);
    let triggers = copy.trigger_names();
    out.line(&[
        (Tone::Strong, hook.name()),
        (Tone::Dim, "  "),
        (Tone::Dim, &shown(&hook.folder, &environment.places)),
    ])?;
    out.line(&[(Tone::Plain, "  "), (Tone::Plain, &copy.definition.description)])?;
    if !triggers.is_empty() {
        out.line(&[(Tone::Plain, "  runs at "), (Tone::Plain, &triggers.join(", "))])?;
    }
    if let Some(fault) = copy.fault() {
        out.line(&[(Tone::Bad, "  cannot run: "), (Tone::Plain, &fault.message)])?;
        hint_of(fault, out)?;
    }
    if let Some(rival) = rival {
        present_rival(rival, out)?;
    }
    let before = match &hook.trust {
        Trust::Changed(_) => {
            out.line(&[(Tone::Warn, "  it was trusted before; what has changed since is marked")])?;
            store.latest(&hook.folder).map(|record| store.copy_of(&record))
        }
        Trust::Never => {
            // A copy of a project, or a second clone: read once is enough.
            let same = store.same_content(staged);
            if let Some(record) = &same {
                let place = shown(&record.source, &environment.places);
                out.line(&[
                    (Tone::Good, "  same content as you trusted in "),
                    (Tone::Plain, &place),
                ])?;
            }
            same.map(|record| store.copy_of(&record))
        }
        _ => None,
    };
    let now = files(staged.folder())?;
    for inner in &now {
        let piece = Piece::read(&staged.folder().join(inner));
        let old = before.as_ref().map(|before| Piece::read(&before.join(inner)));
        let change = match &old {
            None => "",
            Some(Piece::Missing) => "  NEW",
            Some(old) if *old == piece => "  as before",
            Some(_) => "  CHANGED",
        };
        let heading = format!("── {}{}{change}", inner.display(), piece.words());
        out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
        if old.as_ref() != Some(&piece) {
            let place = shown(&hook.folder.join(inner), &environment.places);
            piece.show(&place, LINES_SHOWN, out)?;
        }
    }
    for gone in before.map_or(Ok(Vec::new()), |before| files(&before))? {
        if !now.contains(&gone) {
            let heading = format!("── {}  REMOVED", gone.display());
            out.line(&[(Tone::Dim, "  "), (Tone::Hint, &heading)])?;
        }
    }
    Ok(())
}

/// Says what becomes of the hook that has the same name.
fn present_rival(rival: &Hook, out: &mut Out) -> std::io::Result<()> {
    let on_failure = if rival.blocks_on_failure() { "block" } else { "allow" };
    let about = format!(
        "{} ({}, on_failure: {on_failure})",
        rival.name(),
        rival.trigger_names().join(", ")
    );
    let words = match rival.level {
        Level::User if is_replaceable(rival) => {
            format!("  this REPLACES your hook {about}, if you agree to that")
        }
        Level::User => format!("  your hook {about} is locked: this one is left out"),
        _ => format!("  the managed hook {about} stands: this one is left out"),
    };
    out.line(&[(Tone::Warn, &words)])
}

fn hint_of(fault: &Problem, out: &mut Out) -> std::io::Result<()> {
    match &fault.hint {
        Some(hint) => out.line(&[(Tone::Hint, "  hint: "), (Tone::Plain, hint)]),
        None => Ok(()),
    }
}

/// One part of a hook's folder, with all that trust covers.
#[derive(PartialEq, Eq)]
enum Piece {
    File { bytes: Vec<u8>, runnable: bool },
    Link(PathBuf),
    Missing,
}

impl Piece {
    fn read(path: &Path) -> Self {
        if let Ok(target) = std::fs::read_link(path) {
            return Self::Link(target);
        }
        let Ok(bytes) = std::fs::read(path) else { return Self::Missing };
        let mode = std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
        Self::File { bytes, runnable: mode & 0o111 != 0 }
    }

    fn words(&self) -> String {
        match self {
            Self::File { bytes, runnable: true } => format!(" ({} bytes, may run)", bytes.len()),
            Self::File { bytes, runnable: false } => format!(" ({} bytes)", bytes.len()),
            Self::Link(target) => format!(" → {}", target.display()),
            Self::Missing => " (cannot be read)".to_owned(),
        }
    }

    /// Shows the first lines of a text; `place` is where the rest is.
    fn show(&self, place: &str, most: usize, out: &mut Out) -> std::io::Result<()> {
        let Self::File { bytes, .. } = self else { return Ok(()) };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return out.line(&[(Tone::Warn, "  │ not a text")]);
        };
        for line in text.lines().take(most) {
            out.line(&[(Tone::Dim, "  │ "), (Tone::Plain, line)])?;
        }
        match text.lines().count().saturating_sub(most) {
            0 => Ok(()),
            more => out.line(&[(Tone::Dim, &format!("  │ … {more} more lines in {place}"))]),
        }
    }
}

/// Returns the files and links of a folder, HOOK.md first.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next).map_err(|error| Trouble::at(&next, error))?.flatten()
        {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else if let Ok(inner) = path.strip_prefix(folder) {
                found.push(inner.to_owned());
            }
        }
    }
    found.sort_by_key(|path| (path.as_path() != Path::new("HOOK.md"), path.clone()));
    Ok(found)
}

fn confirm(question: &str) -> Result<bool, Trouble> {
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
