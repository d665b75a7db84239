//! What a line runs: the commands and what can be asked about each.

use crate::files::{self, FileAccess};
use crate::programs::{self, Program};
use crate::unknown::Unknown;
use crate::word::Word;

/// What a command line runs, as far as can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Every simple command found, outer before inner, in the order of the text.
    pub commands: Vec<ShellCommand>,
    /// What could not be told.
    pub unknown: Vec<Unknown>,
}

/// A program with its arguments, or only assignments or redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// The program first. Empty if there are only assignments or redirections.
    pub words: Vec<Word>,
    /// Variables that are set for it, or exported by it.
    pub assignments: Vec<(String, Word)>,
    /// Redirections in order.
    pub redirections: Vec<Redirection>,
    /// Commands of one pipeline have the same number.
    pub pipeline: u32,
    /// The place in the pipeline, from 0: what 0 prints, 1 reads.
    pub place: u32,
    /// Programs it is run by, outermost first: `sudo`, `xargs`, `ssh`.
    pub via: Vec<String>,
    /// The folder it runs in.
    pub folder: Folder,
    /// Whether it runs on another machine or in a container.
    pub is_remote: bool,
    /// Whether its program, or what it runs, cannot be told.
    pub is_unknown: bool,
}

/// The folder a command runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Folder {
    /// The one the line starts in.
    #[default]
    Start,
    /// Relative to the one the line starts in.
    Relative(String),
    /// From `/` on, or from `~`.
    Absolute(String),
    /// It cannot be told.
    Unknown,
}

/// A redirection of a command's input or output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// What it does.
    pub kind: RedirectionKind,
    /// The file; the text of a here-document or here-string; the descriptor to duplicate.
    pub target: Word,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedirectionKind {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`
    Write,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `<<`
    HereDocument,
    /// `<<<`
    HereString,
    /// `2>&1`
    Duplicate,
}

impl Folder {
    /// Returns the folder after `cd` to a path that is known.
    pub(crate) fn join(&self, path: &str) -> Self {
        if path.starts_with(['/', '~']) {
            return Self::Absolute(path.to_owned());
        }
        let path = path.trim_start_matches("./").trim_end_matches('/');
        if path.is_empty() || path == "." {
            return self.clone();
        }
        match self {
            Self::Start => Self::Relative(path.to_owned()),
            Self::Relative(folder) => Self::Relative(format!("{folder}/{path}")),
            Self::Absolute(folder) => {
                Self::Absolute(format!("{}/{path}", folder.trim_end_matches('/')))
            }
            Self::Unknown => Self::Unknown,
        }
    }
}

/// Returns a program's name without folders and `.exe`.
pub(crate) fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    let length = name.len().saturating_sub(4);
    match name.get(length..) {
        Some(end) if length > 0 && end.eq_ignore_ascii_case(".exe") => {
            let name = &name[..length];
            // A path of Windows.
            name.rsplit('\\').next().unwrap_or(name)
        }
        _ if GNU.contains(&name) => &name[1..],
        _ => name,
    }
}

/// The names of GNU programs on systems with programs of their own.
const GNU: [&str; 13] = [
    "gchgrp",
    "gchmod",
    "gchown",
    "gdd",
    "gfind",
    "gmv",
    "grm",
    "grmdir",
    "gsed",
    "gshred",
    "gtee",
    "gtruncate",
    "gunlink",
];

/// Flags of one letter, to be borrowed from.
const SHORT_FLAGS: &str = "-0-1-2-3-4-5-6-7-8-9-A-B-C-D-E-F-G-H-I-J-K-L-M-N-O-P-Q-R-S-T-U-V-W-X-Y\
-Z-a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-x-y-z";

/// Returns `-x` for `x`.
fn short_flag(letter: u8) -> Option<&'static str> {
    let index = match letter {
        b'0'..=b'9' => letter - b'0',
        b'A'..=b'Z' => letter - b'A' + 10,
        b'a'..=b'z' => letter - b'a' + 36,
        _ => return None,
    };
    SHORT_FLAGS.get(usize::from(index) * 2..usize::from(index) * 2 + 2)
}

/// What a word behind the program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A flag; an option with its value if there is a `=`.
    Flag,
    /// The value of the option before.
    Value,
    /// Anything else.
    Operand,
    /// `--`
    End,
}

impl ShellCommand {
    /// Returns the program's base name, if it is known: `rm` for `\rm` and `/bin/rm`.
    pub fn program(&self) -> Option<&str> {
        let word = self.words.first()?;
        let name = base_name(word.known()?);
        let is_pattern = word.is_glob() && name != "[";
        (!is_pattern && !name.is_empty()).then_some(name)
    }

    /// Returns the words behind the program.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Returns the flags that are given: `-r` and `-f` for `-rf`, `--color` for `--color=never`.
    pub fn flags(&self) -> impl Iterator<Item = &str> {
        let program = self.table();
        let mut found = Vec::new();
        for (word, role) in self.roles() {
            if role == Role::Flag {
                split_flags(word.prefix(), program, &mut found);
            }
        }
        found.into_iter()
    }

    /// Returns whether a flag is given: `-f` also within `-rf`, `--force` also as `--force=x` and
    /// abbreviated to four letters or more.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags().any(|given| given == flag || is_abbreviation(given, flag))
    }

    /// Returns the first operands, which name what is done: `push` and `origin` for
    /// `git -C x push origin`.
    pub fn subcommand(&self) -> Vec<&str> {
        self.operands().into_iter().map_while(Word::known).collect()
    }

    /// Returns the arguments that are neither flags nor values of flags.
    pub fn operands(&self) -> Vec<&Word> {
        let operands = self.roles().into_iter().filter(|(_, role)| *role == Role::Operand);
        operands.map(|(word, _)| word).collect()
    }

    /// Returns the files it reads, writes, deletes or moves.
    pub fn files(&self) -> Vec<FileAccess<'_>> {
        files::of(self)
    }

    /// Returns the addresses among its arguments.
    pub fn urls(&self) -> Vec<&str> {
        crate::urls::of(self)
    }

    /// Returns the command as text: the program and its arguments.
    pub fn text(&self) -> String {
        Word::joined(&self.words).text
    }

    /// Returns what is known about the program.
    pub(crate) fn table(&self) -> &'static Program {
        self.program().map_or(&programs::OTHER, programs::find)
    }

    /// Returns every argument with what it is.
    pub(crate) fn roles(&self) -> Vec<(&Word, Role)> {
        roles(self.arguments(), self.table())
    }
}

/// Tells flags, their values and operands apart.
pub(crate) fn roles<'a>(arguments: &'a [Word], program: &Program) -> Vec<(&'a Word, Role)> {
    let mut roles = Vec::with_capacity(arguments.len());
    let mut is_value = false;
    let mut ended = false;
    for word in arguments {
        let text = word.prefix();
        let role = if is_value {
            is_value = false;
            Role::Value
        } else if ended || !text.starts_with('-') || text == "-" {
            Role::Operand
        } else if text == "--" && word.known().is_some() {
            ended = true;
            Role::End
        } else {
            is_value = program.takes_value(text);
            Role::Flag
        };
        roles.push((word, role));
    }
    roles
}

fn split_flags<'a>(text: &'a str, program: &Program, found: &mut Vec<&'a str>) {
    if text.starts_with("--") || program.has_long_flags() {
        found.push(text.split('=').next().unwrap_or(text));
        return;
    }
    // As it stands, for programs with flags such as `-delete` that are not known here.
    if text.len() != 2 {
        found.push(text.split('=').next().unwrap_or(text));
    }
    for &letter in &text.as_bytes()[1..] {
        let Some(flag) = short_flag(letter) else { return };
        found.push(flag);
        if program.is_value_letter(letter) {
            return;
        }
    }
}

/// Whether a long flag is given by its beginning. `--force` is a flag of its own, and not the
/// beginning of `--force-with-lease`.
fn is_abbreviation(given: &str, flag: &str) -> bool {
    given.len() >= "--".len() + 4
        && flag.starts_with("--")
        && flag.strip_prefix(given).is_some_and(|rest| !rest.starts_with('-'))
}
