//! The commands of the command line: one file per command.

mod add;
mod agent;
mod check;
pub mod completions;
#[cfg(feature = "workflow")]
mod context7;
mod daemon;
mod decision;
mod demo;
mod doctor;
mod emit;
mod explain;
mod guard;
mod help;
mod hosts;
mod import;
mod init;
mod install;
mod learn;
mod list;
mod log;
pub mod manual;
mod mcp;
mod new;
mod packs;
pub mod permissions;
pub mod pipeline;
mod promote;
mod prompt;
mod reload;
mod remove;
mod replay;
#[cfg(feature = "workflow")]
mod review;
mod run;
mod runbook;
pub mod schema;
mod serve;
mod stats;
mod status_line;
mod test;
mod top;
mod trust;
mod ui;
mod undo;
mod uninstall;
mod untrust;
mod update;
mod verify;
mod watch;
#[cfg(any(test, not(feature = "workflow")))]
mod without_workflow;
#[cfg(feature = "workflow")]
mod workflow;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhook_engine::guard_marker;
use anyhook_engine::places::find_root;
use anyhook_engine::settings::Settings;
use anyhook_model::exit_code;
use anyhook_model::nearest::nearest;
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use self::help::command_line;
use crate::accept_changes::SettingsBefore;
use crate::agents;
use crate::environment::{self, Environment, running_program};
use crate::error::{CommandError, usage};
use crate::hook;
use crate::human_only::{agent_above, by_a_person};
use crate::progress::say_that_we_read;
use crate::ui::{Out, Tone, zone};
#[cfg(not(feature = "workflow"))]
use without_workflow::{context7, review, workflow};

pub use workflow::watch_gates;

/// One hook engine for every AI coding agent.
///
/// Write a hook once, in the open HOOK.md format; every decision is explained and journaled.
#[derive(Parser)]
#[command(
    name = "anyhook",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "Start with: anyhook demo, then anyhook init"
)]
struct Cli {
    /// When to use colors; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN", display_order = 900)]
    color: Colour,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Init(init::InitArgs),
    Hook(HookArgs),
    Serve(serve::ServeArgs),
    Run(run::RunArgs),
    Explain(explain::ExplainArgs),
    List(list::ListArgs),
    Check(check::CheckArgs),
    New(new::NewArgs),
    Test(test::TestArgs),
    Prompt(prompt::PromptArgs),
    Add(add::AddArgs),
    Remove(remove::RemoveArgs),
    Packs(packs::PacksArgs),
    Update(update::UpdateArgs),
    Guard(guard::GuardArgs),
    Trust(trust::TrustArgs),
    Untrust(untrust::UntrustArgs),
    Reload(reload::ReloadArgs),
    Install(install::InstallArgs),
    Uninstall(uninstall::UninstallArgs),
    Import(import::ImportArgs),
    Undo(undo::UndoArgs),
    Hosts(hosts::HostsArgs),
    Doctor(doctor::DoctorArgs),
    StatusLine(status_line::StatusLineArgs),
    Log(log::LogArgs),
    Mcp(mcp::McpArgs),
    Verify(verify::VerifyArgs),
    Stats(stats::StatsArgs),
    Top(top::TopArgs),
    Ui(ui::UiArgs),
    Watch(watch::WatchArgs),
    Agent(agent::AgentArgs),
    Pipeline(pipeline::PipelineArgs),
    Decision(decision::DecisionArgs),
    Emit(emit::EmitArgs),
    Runbook(runbook::RunbookArgs),
    Workflow(workflow::WorkflowArgs),
    Context7(context7::Context7Args),
    Review(review::ReviewArgs),
    Daemon(daemon::DaemonArgs),
    Replay(replay::ReplayArgs),
    Learn(learn::LearnArgs),
    Promote(promote::PromoteArgs),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Help(help::HelpArgs),
}

/// Entry point for agents: payload on standard input, reply on standard output
///
/// `agent-hooks` is the open format itself: an event as JSON in; `{}` or the verdict as JSON out,
/// exit 0, or 2 when blocked with the reason on standard error too.
#[derive(Args)]
#[command(
    after_help = "Example: echo '{\"event_type\": \"before_tool\", \"tool_name\": \"Shell\", \"tool_input\": {\"command\": \"ls\"}}' | anyhook hook agent-hooks"
)]
struct HookArgs {
    /// The agent, as `anyhook hosts` lists them, or `agent-hooks` for the open format
    host: String,
    /// Give up after N milliseconds; hooks still running then fail
    #[arg(long, value_name = "N")]
    deadline_ms: Option<u64>,
    /// The home folder, instead of `HOME`
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// The user level's folder, instead of `agents` in `XDG_CONFIG_HOME`
    #[arg(long, value_name = "DIR")]
    config: Option<PathBuf>,
    /// The state folder, instead of `anyhook` in `XDG_STATE_HOME`
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Treat the event as a tool event if it cannot be read
    #[arg(long)]
    tool_event: bool,
    /// The call is from a package among the agent's plugins: drop it if its settings call anyhook too
    #[arg(long)]
    plugin: bool,
}

impl HookArgs {
    /// Returns the request; it was written in an unusual way, or it would have been answered before
    /// clap.
    fn request(&self) -> Option<hook::HookCall> {
        let request = hook::HookCall::new(&self.host, self.deadline_ms.map(Duration::from_millis))?;
        let folders = hook::FolderOverrides {
            home: self.home.clone(),
            config: self.config.clone(),
            state: self.state.clone(),
        };
        let request = request.with_folders(folders).of_tool(self.tool_event);
        Some(request.from_plugin(self.plugin))
    }

    /// Returns why there is no answer.
    fn explain(&self) -> CommandError {
        let known = agents::host_ids();
        CommandError::usage(format!("unknown host `{}`", self.host)).hint(
            match nearest(&self.host, known.split(", ")) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("supported: {known}"),
            },
        )
    }
}

/// The result of a command: an exit code, or an error.
type CommandResult = Result<u8, CommandError>;

/// Runs the command on the command line.
pub fn main() -> ExitCode {
    if environment::forces_colours() {
        anstream::ColorChoice::Always.write_global();
    }
    let parsed = command_line()
        .try_get_matches()
        .and_then(|typed| Ok((Cli::from_arg_matches(&typed)?, permissions::for_a_person(&typed))));
    let (cli, for_a_person) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return told_by_clap(&error),
    };
    match cli.color {
        Colour::Auto => {}
        Colour::Always => anstream::ColorChoice::Always.write_global(),
        Colour::Never => anstream::ColorChoice::Never.write_global(),
    }
    let Some(command) = cli.command else {
        // Nothing can be done about a closed standard output.
        let _ = help::print_list();
        return ExitCode::SUCCESS;
    };
    if let Command::Hook(arguments) = &command
        && let Some(request) = arguments.request()
    {
        say_that_we_read("the event");
        return hook::answer(&request, running_program).into();
    }
    zone::set(environment::time_zone());
    let environment = Environment::read();
    let mut out = Out::stdout();
    if command.uses_settings() {
        warn_of_settings(&environment);
    }
    let may_change_hooks = command.may_change_hooks();
    let counts_at_once =
        command.counts_at_once() && (for_a_person.is_some() || agent_above(&environment).is_none());
    let before = counts_at_once.then(|| SettingsBefore::look(&environment));
    let ended = match for_a_person {
        Some(name) => {
            by_a_person(&name, &environment, || dispatch(command, &environment, &mut out))
        }
        None => dispatch(command, &environment, &mut out),
    };
    if let Some(before) = before.filter(|_| ended.is_ok()) {
        before.accept_changes(&environment);
    }
    if may_change_hooks {
        refresh_guard_marker(&environment);
    }
    let flushed = out.flush().map_err(CommandError::from);
    match (ended, flushed) {
        // A closed output does not change the result; a block remains one in any case.
        (Ok(code), Err(trouble)) if trouble.is_silent() || code == exit_code::BLOCKED => {
            ExitCode::from(code)
        }
        (Ok(code), Ok(())) => ExitCode::from(code),
        (Err(trouble), _) if trouble.is_silent() => ExitCode::SUCCESS,
        (Err(trouble), _) | (Ok(_), Err(trouble)) => trouble.tell(),
    }
}

impl Command {
    /// Returns whether the command's changes to hooks and settings take effect in running sessions.
    /// Those of commands that an agent may call do not.
    fn counts_at_once(&self) -> bool {
        matches!(
            self,
            Self::Init(_)
                | Self::Remove(_)
                | Self::Update(_)
                | Self::Trust(_)
                | Self::Untrust(_)
                | Self::Promote(_)
                | Self::Install(_)
                | Self::Uninstall(_)
                | Self::Import(_)
        )
    }

    /// Returns whether the command depends on `anyhook.toml`. Commands that look for problems
    /// report it themselves.
    fn uses_settings(&self) -> bool {
        match self {
            Self::Run(_)
            | Self::Serve(_)
            | Self::Top(_)
            | Self::Watch(_)
            | Self::Agent(_)
            | Self::Pipeline(_)
            | Self::Decision(_)
            | Self::Workflow(_) => true,
            Self::Daemon(arguments) => arguments.is_start(),
            _ => false,
        }
    }

    /// Returns whether the command may change which hooks are installed; `doctor` fixes what
    /// follows from that.
    fn may_change_hooks(&self) -> bool {
        matches!(
            self,
            Self::Init(_)
                | Self::New(_)
                | Self::Learn(_)
                | Self::Add(_)
                | Self::Remove(_)
                | Self::Update(_)
                | Self::Trust(_)
                | Self::Untrust(_)
                | Self::Promote(_)
                | Self::Install(_)
                | Self::Uninstall(_)
                | Self::Import(_)
                | Self::Doctor(_)
        )
    }
}

/// Reports on standard error what is wrong with `anyhook.toml`: defaults are used instead.
fn warn_of_settings(environment: &Environment) {
    let places = &environment.places;
    let root = find_root(&environment.work_dir, places.home.as_deref());
    for problem in Settings::load(places, root.as_deref()).problems {
        // Whether anyone reads it changes nothing.
        let _ = Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &problem)]);
    }
}

/// Updates the marker for agents' entries to match the hooks that are installed now.
fn refresh_guard_marker(environment: &Environment) {
    let places = &environment.places;
    let root = find_root(&environment.work_dir, places.home.as_deref());
    if let Err(error) = guard_marker::refresh(places, root.as_deref(), &environment.work_dir) {
        // With standard error closed there is nowhere else to report it.
        let _ = Out::stderr().line(&[
            (Tone::Warn, "warning: "),
            (
                Tone::Plain,
                &format!(
                    "cannot update the marker that tells agents' entries whether guards are installed: {error}"
                ),
            ),
        ]);
    }
}

/// Prints the requested help, or reports how the command was used wrongly.
fn told_by_clap(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing can be done about a closed standard output.
        let _ = help::print(error);
        return ExitCode::SUCCESS;
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(exit_code::USAGE);
    }
    let typed: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    usage::trouble(error, typed.iter().map(String::as_str)).tell()
}

fn dispatch(command: Command, environment: &Environment, out: &mut Out) -> CommandResult {
    match command {
        Command::Demo(arguments) => demo::run(&arguments, environment, out),
        Command::Init(arguments) => init::run(&arguments, environment, out),
        Command::Hook(arguments) => Err(arguments.explain()),
        Command::Serve(arguments) => serve::run(&arguments, environment),
        Command::Run(arguments) => run::run(&arguments, environment, out),
        Command::Explain(arguments) => explain::run(&arguments, environment, out),
        Command::List(arguments) => list::run(&arguments, environment, out),
        Command::Check(arguments) => check::run(&arguments, environment, out),
        Command::New(arguments) => new::run(&arguments, environment, out),
        Command::Test(arguments) => test::run(&arguments, environment, out),
        Command::Prompt(arguments) => prompt::run(&arguments, environment, out),
        Command::Add(arguments) => add::run(&arguments, environment, out),
        Command::Remove(arguments) => remove::run(&arguments, environment, out),
        Command::Packs(arguments) => packs::run(&arguments, environment, out),
        Command::Update(arguments) => update::run(&arguments, environment, out),
        Command::Guard(arguments) => guard::run(&arguments, environment),
        Command::Trust(arguments) => trust::run(&arguments, environment, out),
        Command::Untrust(arguments) => untrust::run(&arguments, environment, out),
        Command::Reload(arguments) => reload::run(&arguments, environment, out),
        Command::Install(arguments) => install::run(&arguments, environment, out),
        Command::Uninstall(arguments) => uninstall::run(&arguments, environment, out),
        Command::Import(arguments) => import::run(&arguments, environment, out),
        Command::Undo(arguments) => undo::run(&arguments, environment, out),
        Command::Hosts(arguments) => hosts::run(&arguments, environment, out),
        Command::Doctor(arguments) => doctor::run(&arguments, environment, out),
        Command::StatusLine(arguments) => status_line::run(&arguments, environment, out),
        Command::Log(arguments) => log::run(&arguments, environment, out),
        Command::Mcp(arguments) => mcp::run(&arguments, environment),
        Command::Promote(arguments) => promote::run(&arguments, environment, out),
        Command::Learn(arguments) => learn::run(&arguments, environment, out),
        Command::Replay(arguments) => replay::run(&arguments, environment, out),
        Command::Verify(arguments) => verify::run(&arguments, environment, out),
        Command::Stats(arguments) => stats::run(&arguments, environment, out),
        Command::Top(arguments) => top::run(&arguments, environment),
        Command::Ui(arguments) => ui::run(&arguments, environment, out),
        Command::Watch(arguments) => watch::run(&arguments, environment, out),
        Command::Pipeline(arguments) => pipeline::run(arguments, environment, out),
        Command::Agent(arguments) => agent::run(arguments, environment, out),
        Command::Decision(arguments) => decision::run(arguments, environment, out),
        Command::Emit(arguments) => emit::run(arguments, environment, out),
        Command::Runbook(arguments) => runbook::run(&arguments, environment, out),
        Command::Workflow(arguments) => workflow::run(arguments, environment, out),
        Command::Context7(arguments) => context7::run(&arguments, environment, out),
        Command::Review(arguments) => review::run(&arguments, environment, out),
        Command::Daemon(arguments) => daemon::run(&arguments, environment, out),
        Command::Schema(arguments) => schema::run(&arguments, out),
        Command::Completions(arguments) => completions::run(&arguments, out),
        Command::Help(arguments) => help::run(&arguments),
    }
}
