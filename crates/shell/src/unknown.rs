//! What could not be told about a line, and why.

use std::fmt;

/// Something of which cannot be told what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Why.
    pub reason: UnknownReason,
    /// The text concerned; the beginning of it if it is long.
    pub text: String,
}

/// Why something cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownReason {
    /// The line is longer than what is read.
    TooLong,
    /// Groups, substitutions or shells in shells are nested too deep.
    TooDeep,
    /// There are more commands than are listed.
    TooManyCommands,
    /// The line expands to more than is read.
    TooMuchWork,
    /// It is not the syntax of a shell.
    Syntax,
    /// The program's name is computed when the line runs.
    Program,
    /// A text that is computed when the line runs is run as commands or code.
    ComputedCode,
    /// An encoded text is decoded and run.
    DecodedCode,
    /// A downloaded text is run.
    DownloadedCode,
    /// What a program reads from its input is run.
    InputCode,
    /// Code of an interpreter builds what it runs.
    InterpreterCode,
    /// `PowerShell` is not read.
    PowerShell,
    /// Code in a language that is not read.
    Language,
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLong => "the line is longer than what is read",
            Self::TooDeep => "it is nested too deep",
            Self::TooManyCommands => "there are too many commands",
            Self::TooMuchWork => "it expands to more than is read",
            Self::Syntax => "it cannot be read as shell syntax",
            Self::Program => "the name of the program is computed",
            Self::ComputedCode => "a computed text is run",
            Self::DecodedCode => "a decoded text is run",
            Self::DownloadedCode => "downloaded text is run",
            Self::InputCode => "what is run is read from the input",
            Self::InterpreterCode => "the code builds what it runs",
            Self::PowerShell => "PowerShell is not read",
            Self::Language => "code in this language is not read",
        })
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.reason, self.text)
    }
}
