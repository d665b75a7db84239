//! Usage errors: a command line that clap refuses, in our words, with one suggestion as the hint.

use anyhook_model::nearest::nearest;
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::CommandError;
use crate::commands::command_line;

/// Names from other programs that people type.
const OTHER_NAMES: [(&str, &str); 4] =
    [("ls", "list"), ("rm", "remove"), ("status", "doctor"), ("version", "--version")];

/// Returns the error for the words that were typed after the program's name.
pub fn trouble<'typed>(error: &Error, typed: impl Iterator<Item = &'typed str>) -> CommandError {
    let mut program = command_line();
    // Only then does each command know the global options.
    program.build();
    let (command, path) = named(&program, typed);
    let suggested = suggestion(error, command);
    let hint = match &suggested {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("{path} --help"),
    };
    CommandError::usage(message(error, suggested.is_some())).hint(hint)
}

/// Returns clap's message without its tips, and without the usage where that does not help.
fn message(error: &Error, has_suggestion: bool) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(word) = text_of(error, ContextKind::InvalidSubcommand)
    {
        return format!("there is no command `{word}`");
    }
    let is_kept = |paragraph: &&str| {
        let paragraph = paragraph.trim_start();
        !(paragraph.starts_with("tip: ")
            || paragraph.starts_with("For more information")
            || has_suggestion && paragraph.starts_with("Usage: "))
    };
    let kept: Vec<&str> = text.split("\n\n").filter(is_kept).collect();
    kept.join("\n\n").trim_end().to_owned()
}

/// Returns what was probably meant, if anything is similar enough.
fn suggestion(error: &Error, command: &Command) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            near_command(text_of(error, ContextKind::InvalidSubcommand)?, command)
        }
        ErrorKind::InvalidValue => {
            let ContextValue::Strings(valid) = error.get(ContextKind::ValidValue)? else {
                return None;
            };
            let word = text_of(error, ContextKind::InvalidValue)?;
            nearest(word, valid.iter().map(String::as_str)).map(str::to_owned)
        }
        ErrorKind::UnknownArgument => {
            let word = text_of(error, ContextKind::InvalidArg)?;
            let Some(name) = word.strip_prefix("--") else { return near_command(word, command) };
            let options = command.get_arguments().filter_map(|argument| argument.get_long());
            nearest(name, options).map(|option| format!("--{option}"))
        }
        _ => None,
    }
}

/// Returns the subcommand that a word is similar to.
fn near_command(word: &str, above: &Command) -> Option<String> {
    let names = || above.get_subcommands().map(Command::get_name);
    let is_known = |name: &&str| match *name {
        "--version" => above.get_version().is_some(),
        name => names().any(|one| one == name),
    };
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == word).map(|(_, name)| *name);
    other.filter(is_known).or_else(|| nearest(word, names())).map(str::to_owned)
}

fn text_of(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// Returns the command that the words name, as far as they do, and how it is typed.
fn named<'program, 'typed>(
    program: &'program Command,
    typed: impl Iterator<Item = &'typed str>,
) -> (&'program Command, String) {
    let mut command = program;
    let mut path = program.get_name().to_owned();
    for word in typed {
        if let Some(inner) = command.find_subcommand(word) {
            command = inner;
            path = format!("{path} {word}");
        }
    }
    (command, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the message and the hint for a command line.
    fn told(line: &str) -> (String, String) {
        let words: Vec<&str> = line.split(' ').collect();
        let error = command_line().try_get_matches_from(&words).unwrap_err();
        let trouble = trouble(&error, words.into_iter().skip(1));
        (trouble.message().to_owned(), trouble.next_step().unwrap_or_default().to_owned())
    }

    #[test]
    fn the_nearest_is_named_and_no_other() {
        for (line, hint) in [
            ("anyhook instal", "did you mean `install`?"),
            ("anyhook remvoe", "did you mean `remove`?"),
            ("anyhook lst", "did you mean `list`?"),
            ("anyhook ls", "did you mean `list`?"),
            ("anyhook version", "did you mean `--version`?"),
            ("anyhook upgrade", "anyhook --help"),
            ("anyhook daemon strt", "did you mean `start`?"),
            ("anyhook --color never daemon strt", "did you mean `start`?"),
            ("anyhook daemon frobnicate", "anyhook daemon --help"),
            ("anyhook completions bsh", "did you mean `bash`?"),
            ("anyhook completions ksh", "anyhook completions --help"),
            ("anyhook log --verdict den", "did you mean `deny`?"),
            ("anyhook run before_tool --comand x", "did you mean `--command`?"),
            ("anyhook run before_tool --xyzzy x", "anyhook run --help"),
            ("anyhook list x", "anyhook list --help"),
            ("anyhook log shw 7k2m", "did you mean `show`?"),
            ("anyhook run", "anyhook run --help"),
        ] {
            let (message, found) = told(line);
            assert_eq!(found, hint, "{line}: {message}");
            assert!(!message.contains("tip:"), "{line}: {message}");
        }
        assert_eq!(told("anyhook instal").0, "there is no command `instal`");
        assert_eq!(
            told("anyhook run before_tool --comand x").0,
            "unexpected argument '--comand' found"
        );
    }
}
