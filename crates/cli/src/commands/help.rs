//! `anyhook help`: the help of a command, and the list of all commands in groups.
//!
//! clap has no groups of commands, so the list is written here from [`GROUPS`]; the descriptions
//! are those of the commands themselves.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anyhook_model::exit_code;
use clap::{Args, Command, CommandFactory};

use super::{Cli, CommandResult};
use crate::argument_values;
use crate::environment::terminal_width;
use crate::error::usage;

/// Lines are at most this long: the same limit as `max_term_width` sets for clap's own text.
const WIDEST: usize = 100;

/// Every command, in the order in which the help lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Hooks",
        &[
            "demo", "new", "list", "check", "test", "run", "explain", "replay", "learn", "promote",
            "add", "remove", "packs", "update", "undo", "trust", "untrust", "reload",
        ],
    ),
    (
        "Agents",
        &[
            "init",
            "install",
            "uninstall",
            "import",
            "hosts",
            "doctor",
            "status-line",
            "agent",
            "decision",
        ],
    ),
    ("Journal", &["log", "stats", "top", "ui", "watch", "mcp", "verify"]),
    ("Pipelines and workflows", &["pipeline", "runbook", "workflow", "review", "context7"]),
    (
        "Plumbing",
        &["hook", "serve", "guard", "emit", "prompt", "daemon", "schema", "completions", "help"],
    ),
];

/// Show the help of a command; without one, the list of all
#[derive(Args)]
#[command(after_help = "Example: anyhook help pipeline run")]
pub struct HelpArgs {
    /// The command, such as `run` or `pipeline run`
    command: Vec<String>,
}

pub fn run(arguments: &HelpArgs) -> CommandResult {
    let words = ["anyhook"].into_iter().chain(arguments.command.iter().map(String::as_str));
    let typed: Vec<&str> = words.chain(["--help"]).collect();
    match command_line().try_get_matches_from(&typed) {
        Err(help) if !help.use_stderr() => {
            print(&help)?;
            Ok(exit_code::OK)
        }
        Err(error) => Err(usage::trouble(&error, typed.into_iter().skip(1))),
        // `--help` is an option of every command.
        Ok(_) => Ok(exit_code::OK),
    }
}

/// Prints the help that clap has rendered, with colours where they are wanted.
pub fn print(help: &clap::Error) -> io::Result<()> {
    write!(anstream::stdout(), "{}", help.render().ansi())
}

/// Prints the list of all commands.
pub fn print_list() -> io::Result<()> {
    write!(anstream::stdout(), "{}", command_line().render_help().ansi())
}

/// Returns the clap command line, with the values that its arguments take and a help that lists the
/// commands in groups.
pub fn command_line() -> Command {
    let command = argument_values::described(Cli::command());
    let list = list(&command, terminal_width().min(WIDEST));
    let header = *command.get_styles().get_header();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// Returns the commands in their groups, with their descriptions.
fn list(command: &Command, width: usize) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let column = names.map(|name| name.len()).max().unwrap_or(0) + 4;
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let blanks = " ".repeat(column - 2 - name.len());
            let _ = write!(text, "  {literal}{name}{literal:#}{blanks}");
            let lines = wrapped(&about, width.saturating_sub(column));
            let _ = writeln!(text, "{}", lines.join(&format!("\n{}", " ".repeat(column))));
        }
        text.push('\n');
    }
    text
}

/// Wraps a text in lines of at most `width`, unless a single word is longer.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let long = |text: &str| text.chars().count();
        let fits = |line: &str| line.is_empty() || long(line) + 1 + long(word) <= width;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let command = Cli::command();
        let known: Vec<&str> = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(Command::get_name)
            .collect();
        let listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for name in &known {
            let found = listed.iter().filter(|other| *other == name).count();
            assert_eq!(found, 1, "`{name}`: give it a place in a group of help.rs");
        }
        for name in &listed {
            assert!(known.contains(name), "`{name}` is in a group and is not a command");
        }
    }

    #[test]
    fn lines_fit() {
        for width in 1..40 {
            let lines = wrapped("Take software through stages: people decide at gates", width);
            assert!(
                lines.iter().all(|line| line.chars().count() <= width.max(8)),
                "{width}: {lines:?}"
            );
            assert_eq!(lines.join(" "), "Take software through stages: people decide at gates");
        }
        assert_eq!(wrapped("", 10), [""]);
    }
}
