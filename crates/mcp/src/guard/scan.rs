//! Scans a text in one pass, word by word, splitting it as a shell would.
//!
//! Quotes do not hide anything: their content may be a command for another program.

use super::Danger;
use super::command_names::{
    CommandName, is_assignment, is_preliminary, looks_fetchable, names_program, removal_flags,
    starts_commands,
};

/// Returns the dangers in a text, each at most once, with the byte where its command begins.
pub fn scan(text: &str) -> Vec<(Danger, usize)> {
    let mut scanner = Scanner::default();
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                // The line continues.
                Some((_, '\n')) => scanner.end_word(),
                Some((_, '\r')) if letters.peek().is_some_and(|(_, next)| *next == '\n') => {
                    letters.next();
                    scanner.end_word();
                }
                Some((_, escaped)) => scanner.push(at, escaped),
                None => {}
            },
            '\n' => scanner.end_line(),
            _ if letter.is_whitespace() => scanner.end_word(),
            // Part of an address, or of `2>&1` and `&>`.
            _ if scanner.is_inside_address() => scanner.push(at, letter),
            '&' if scanner.word.ends_with(['<', '>']) => scanner.push(at, letter),
            '&' if letters.peek().is_some_and(|(_, next)| *next == '>') => scanner.push(at, letter),
            '|' if letters.next_if(|(_, next)| *next == '|').is_some() => scanner.separate(),
            '|' => {
                letters.next_if(|(_, next)| *next == '&');
                scanner.pipe();
            }
            ';' | '&' => scanner.separate(),
            '`' if scanner.frame.in_ticks => scanner.close(),
            '`' => scanner.open(Bracket::Tick),
            '(' => scanner.open(Bracket::Round),
            ')' => scanner.close(),
            // Not in `${NAME}` or `{a,b}.txt`.
            '{' if !scanner.has_word => scanner.open(Bracket::Curly),
            '}' if !scanner.has_word => scanner.close(),
            _ => scanner.push(at, letter),
        }
    }
    scanner.separate();
    scanner.found
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    Round,
    Curly,
    Tick,
}

/// What is expected of the next word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    /// The name of a command.
    #[default]
    Name,
    /// Flags of a wrapper, or the command that it starts.
    Wrapped {
        /// The word before was a flag, and this may be its value.
        after_flag: bool,
    },
    /// Anything that a carrier takes, or the command that it starts.
    Carried,
    /// An argument.
    Argument,
}

/// A simple command.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is seen by itself")]
struct ScannedCommand {
    expected: Expected,
    name: Option<CommandName>,
    /// Where it begins.
    start: usize,
    /// A word of it has been seen.
    is_begun: bool,
    /// Flags of `rm`.
    recursive: bool,
    force: bool,
    flags_over: bool,
    /// An interpreter that has its program.
    has_program: bool,
    /// It holds the word `curl`, perhaps only in prose.
    speaks_of_download: bool,
    downloads: bool,
    /// It began in the quotes of another command, and reads no output of a pipe.
    is_quoted: bool,
    /// It starts other commands, which may be in quotes.
    starts_others: bool,
    /// Its last word announced a value, as `"command":` does.
    announced: bool,
}

/// The text between two brackets.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is seen by itself")]
struct Frame {
    command: ScannedCommand,
    /// A download flows into the current command.
    piped: bool,
    /// A command in here downloads, so the output of the brackets is a download.
    downloads: bool,
    /// The output of the brackets is executed.
    is_executed: bool,
    /// The line before was a download: a pipe at the beginning of this one would continue it.
    after_download: bool,
    /// The line began with a pipe: a row of a table.
    is_row: bool,
    in_ticks: bool,
}

/// Brackets that are nested deeper only act as separators.
const DEEPEST: usize = 1000;

#[derive(Debug, Default)]
struct Scanner {
    found: Vec<(Danger, usize)>,
    outer: Vec<Frame>,
    /// Open brackets beyond those.
    deeper: usize,
    frame: Frame,
    has_word: bool,
    /// The word so far, without quotes and backslashes.
    word: String,
    word_start: usize,
    /// The number of quotes in it, and before which of its bytes the last one was.
    quotes: usize,
    last_quote: usize,
    /// It contains `://` since then.
    has_address: bool,
}

impl Scanner {
    fn push(&mut self, at: usize, letter: char) {
        if !self.has_word {
            self.has_word = true;
            self.word_start = at;
        }
        if letter == '"' || letter == '\'' {
            self.quotes += 1;
            self.last_quote = self.word.len();
            self.has_address = false;
        } else {
            self.word.push(letter);
            self.has_address |= letter == '/' && self.word.ends_with("://");
        }
    }

    /// Returns whether we are in a quoted URL, where shell metacharacters mean nothing.
    fn is_inside_address(&self) -> bool {
        self.quotes % 2 == 1 && self.has_address
    }

    fn alarm(&mut self, danger: Danger, start: usize) {
        if self.found.iter().all(|(known, _)| *known != danger) {
            self.found.push((danger, start));
        }
    }

    fn end_word(&mut self) {
        if !self.has_word {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let (start, quotes, last_quote) = (self.word_start, self.quotes, self.last_quote);
        (self.has_word, self.quotes, self.last_quote) = (false, 0, 0);
        self.has_address = false;
        self.frame.after_download = false;
        let command = self.frame.command;
        // But not `"$(`, which belongs to the command around it.
        let opens = quotes % 2 == 1 && !matches!(&word[last_quote..], "" | "$");
        // `A="rm`, `"command":"rm`, `"command": "rm`.
        let before = &word[..last_quote];
        let is_value =
            command.announced || before.ends_with('=') || (quotes > 1 && before.ends_with(':'));
        let is_inner = command.starts_others && command.expected != Expected::Name;
        if opens && (is_value || is_inner) {
            self.end_command();
            self.frame.command = ScannedCommand { is_quoted: true, ..ScannedCommand::default() };
            self.take(&word[last_quote..], start);
        } else {
            self.take(&word, start);
        }
        self.frame.command.announced = quotes > 0 && word.ends_with(':');
        // Reused: a word needs no allocation of its own.
        self.word = word;
        self.word.clear();
    }

    /// Handles a word of the current command.
    fn take(&mut self, word: &str, start: usize) {
        let ScannedCommand { expected, name, start: began, .. } = self.frame.command;
        self.frame.command.is_begun = true;
        if name == Some(CommandName::Sudo) && matches!(expected, Expected::Wrapped { .. }) {
            self.alarm(Danger::Sudo, began);
        }
        match expected {
            Expected::Name if is_assignment(word) || word.starts_with(['<', '>']) => {}
            Expected::Name => self.name(CommandName::of(word), start),
            Expected::Wrapped { after_flag } => match CommandName::of(word) {
                CommandName::Other if after_flag || is_preliminary(word) => {
                    let after_flag = word.starts_with('-');
                    self.frame.command.expected = Expected::Wrapped { after_flag };
                }
                name => self.started(name, start),
            },
            Expected::Carried => match CommandName::of(word) {
                CommandName::Other
                | CommandName::Keyword
                | CommandName::Wrapper
                | CommandName::Carrier => {}
                name => self.started(name, start),
            },
            Expected::Argument => self.argument(word),
        }
    }

    /// Handles the name of a command that the current one starts.
    fn started(&mut self, name: CommandName, start: usize) {
        let is_quoted = self.frame.command.is_quoted;
        self.end_command();
        self.frame.command = ScannedCommand {
            is_quoted,
            is_begun: true,
            starts_others: true,
            ..ScannedCommand::default()
        };
        self.name(name, start);
    }

    fn name(&mut self, name: CommandName, start: usize) {
        let command = &mut self.frame.command;
        command.start = start;
        command.name = Some(name);
        command.speaks_of_download = name == CommandName::Download;
        command.expected = match name {
            CommandName::Keyword => Expected::Name,
            CommandName::Wrapper | CommandName::Sudo => Expected::Wrapped { after_flag: false },
            CommandName::Carrier => Expected::Carried,
            _ => Expected::Argument,
        };
        command.starts_others |= !matches!(
            name,
            CommandName::Other | CommandName::Keyword | CommandName::Download | CommandName::Remove
        );
    }

    fn argument(&mut self, word: &str) {
        let is_row = self.frame.is_row;
        let command = &mut self.frame.command;
        match command.name {
            Some(CommandName::Download) => command.downloads |= !is_row,
            Some(CommandName::Interpreter) => command.has_program |= names_program(word),
            Some(CommandName::Remove) if !command.flags_over => {
                let (recursive, force) = removal_flags(word);
                command.recursive |= recursive;
                command.force |= force;
                command.flags_over = word == "--";
            }
            _ => {}
        }
        command.downloads |= command.speaks_of_download && looks_fetchable(word);
        command.speaks_of_download |= CommandName::of(word) == CommandName::Download;
        // `find . -exec rm`, `npx something -- rm`.
        let introduces = matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir")
            || (word == "--" && command.name == Some(CommandName::Other));
        if introduces {
            let is_quoted = command.is_quoted;
            self.end_command();
            self.frame.command =
                ScannedCommand { is_quoted, is_begun: true, ..ScannedCommand::default() };
        }
    }

    /// Evaluates the command that ends here.
    fn end_command(&mut self) {
        let command = std::mem::take(&mut self.frame.command);
        let is_fed = self.frame.piped && !command.is_quoted;
        let executes = match command.name {
            Some(CommandName::Shell) => is_fed,
            Some(CommandName::Interpreter) => is_fed && !command.has_program,
            _ => command.downloads && self.frame.is_executed,
        };
        if executes {
            self.alarm(Danger::PipedIntoShell, command.start);
        }
        if command.recursive && command.force {
            self.alarm(Danger::RemovesAll, command.start);
        }
        self.frame.downloads |= command.downloads;
    }

    fn separate(&mut self) {
        self.end_word();
        self.end_command();
        self.frame.piped = false;
        self.frame.after_download = false;
    }

    fn end_line(&mut self) {
        self.end_word();
        // After a pipe the command may be on the next line.
        if self.frame.command.is_begun {
            let flows = self.frame.piped || self.frame.command.downloads;
            self.separate();
            self.frame.after_download = flows;
        }
        self.frame.is_row = false;
    }

    fn pipe(&mut self) {
        self.end_word();
        let Frame { command, piped, after_download, .. } = self.frame;
        if !command.is_begun && !piped && !after_download {
            self.frame.is_row = true;
        }
        self.end_command();
        self.frame.piped = piped || after_download || command.downloads;
        self.frame.after_download = false;
    }

    fn open(&mut self, bracket: Bracket) {
        if self.outer.len() >= DEEPEST {
            self.deeper += 1;
            return self.separate();
        }
        let announced = bracket == Bracket::Round && starts_commands(&self.word);
        let glue = if self.has_word { self.word.chars().next_back() } else { None };
        self.end_word();
        let outer = self.frame;
        let substitutes = bracket == Bracket::Tick || matches!(glue, Some('$' | '<' | '>' | '='));
        let runs_arguments =
            matches!(outer.command.name, Some(CommandName::Shell | CommandName::Evaluator));
        // `word (` is not shell syntax: parentheses in prose.
        let is_prose = bracket == Bracket::Round && outer.command.is_begun && !substitutes;
        let is_prose = is_prose && outer.command.expected != Expected::Name;
        self.frame = Frame {
            is_executed: substitutes && runs_arguments,
            // `tee >(sh)`
            piped: glue == Some('>') && outer.piped,
            in_ticks: bracket == Bracket::Tick,
            ..Frame::default()
        };
        if is_prose {
            self.frame.command = ScannedCommand {
                expected: Expected::Argument,
                name: Some(CommandName::Other),
                is_begun: true,
                // `os.system("rm`
                announced,
                ..ScannedCommand::default()
            };
        }
        self.outer.push(outer);
    }

    fn close(&mut self) {
        self.separate();
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let Frame { downloads, .. } = self.frame;
        // Without an opening bracket it ends the pattern of a `case`.
        let Some(outer) = self.outer.pop() else { return };
        self.frame = outer;
        let command = &mut self.frame.command;
        command.downloads |= downloads;
        if !command.is_begun {
            command.is_begun = true;
            command.name = Some(CommandName::Other);
            command.expected = Expected::Argument;
        }
    }
}
