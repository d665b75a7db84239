//! Classifies the first word of a command.

/// What a command's name says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandName {
    /// Fetches from a network.
    Download,
    /// Executes its input, whatever its arguments are.
    Shell,
    /// Executes its input, unless its arguments say otherwise.
    Interpreter,
    /// Executes its arguments.
    Evaluator,
    /// `rm`.
    Remove,
    /// `sudo`.
    Sudo,
    /// Starts another command, which is among its first arguments.
    Wrapper,
    /// Starts another command somewhere else; it may be any of its arguments.
    Carrier,
    /// A keyword of the shell before a command.
    Keyword,
    /// Anything else.
    Other,
}

impl CommandName {
    /// Classifies the name of a command, with or without its path.
    pub fn of(word: &str) -> Self {
        match word.rsplit('/').next().unwrap_or(word) {
            "curl" | "wget" => Self::Download,
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => Self::Shell,
            "eval" | "source" | "." => Self::Evaluator,
            "rm" => Self::Remove,
            "sudo" => Self::Sudo,
            "env" | "command" | "exec" | "builtin" | "nohup" | "nice" | "ionice" | "time"
            | "timeout" | "stdbuf" | "setsid" | "xargs" | "parallel" | "watch" | "doas"
            | "busybox" | "unbuffer" => Self::Wrapper,
            "ssh" | "su" | "docker" | "podman" | "kubectl" | "chroot" | "nsenter" | "runuser" => {
                Self::Carrier
            }
            "if" | "then" | "else" | "elif" | "do" | "while" | "until" | "!" => Self::Keyword,
            name if is_interpreter(name) => Self::Interpreter,
            _ => Self::Other,
        }
    }
}

/// Returns whether a name is an interpreter, with or without a version.
fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    ["python", "perl", "ruby", "node"].contains(&name)
}

/// Returns whether an interpreter's argument names its program, so that its input is only data.
pub fn names_program(argument: &str) -> bool {
    match argument.strip_prefix('-') {
        None => argument != "/dev/stdin",
        Some("") => false,
        Some(flags) if flags.starts_with('-') => matches!(flags, "-eval" | "-print" | "-require"),
        // Python's `-c` and `-m`; `-e`, `-n` and `-p` of the others.
        Some(flags) => flags.contains(['c', 'm', 'e', 'n', 'p']),
    }
}

/// Returns whether a word only precedes a command: flags, assignments, numbers and durations.
pub fn is_preliminary(word: &str) -> bool {
    is_assignment(word) || word.starts_with(|letter: char| letter == '-' || letter.is_ascii_digit())
}

pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|letter: char| letter == '_' || letter.is_ascii_alphabetic())
            && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
    })
}

/// Returns whether a word looks like an argument of `curl`, unlike a word of prose.
pub fn looks_fetchable(word: &str) -> bool {
    word.contains("://")
        || (word.starts_with('-') && word.len() > 1)
        || word.starts_with('$')
        || word.trim_end_matches(['.', ',', ':']).contains(['.', '/', ':'])
}

/// Returns whether a function of a programming language starts a command, given the text before its
/// parenthesis.
pub fn starts_commands(function: &str) -> bool {
    let name = function.rsplit(['.', ':', '>']).next().unwrap_or(function);
    matches!(
        name,
        "system"
            | "popen"
            | "Popen"
            | "run"
            | "call"
            | "check_call"
            | "check_output"
            | "getoutput"
            | "exec"
            | "execSync"
            | "spawn"
            | "spawnSync"
            | "shell_exec"
            | "passthru"
            | "sh"
    )
}

/// Returns which of `rm`'s two flags an argument sets: recursive, force.
pub fn removal_flags(argument: &str) -> (bool, bool) {
    match argument.strip_prefix("--") {
        // GNU accepts every prefix of a long flag.
        Some(long) => (is_beginning(long, "recursive"), is_beginning(long, "force")),
        None => match argument.strip_prefix('-') {
            Some(flags) => (flags.contains(['r', 'R']), flags.contains('f')),
            None => (false, false),
        },
    }
}

fn is_beginning(word: &str, whole: &str) -> bool {
    !word.is_empty() && whole.starts_with(word)
}
