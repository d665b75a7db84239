//! What a call is: the one thing that it is about, as far as that can be told.

use std::fmt;

use anyhook_model::{Event, ToolCall, tools};
use anyhook_shell::ShellCommand;
use serde_json::Value;

/// Programs whose first words say what they do.
const WITH_SUBCOMMANDS: [&str; 38] = [
    "apt",
    "apt-get",
    "aws",
    "az",
    "brew",
    "bun",
    "cargo",
    "composer",
    "deno",
    "dnf",
    "docker",
    "dotnet",
    "firebase",
    "flyctl",
    "gcloud",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "heroku",
    "helm",
    "just",
    "kubectl",
    "make",
    "mvn",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "systemctl",
    "terraform",
    "uv",
    "vercel",
    "yarn",
];
/// First words that say what they do only with the next one.
const WITH_TWO_WORDS: [&str; 26] = [
    "alias",
    "auth",
    "branches",
    "compose",
    "compute",
    "container",
    "ecr",
    "iam",
    "image",
    "issue",
    "network",
    "pr",
    "rds",
    "release",
    "remote",
    "repo",
    "run",
    "s3",
    "s3api",
    "secret",
    "sql",
    "stash",
    "storage",
    "submodule",
    "system",
    "volume",
];
/// Programs that say nothing about why a command line was denied: they change nothing.
const NEUTRAL: [&str; 25] = [
    "basename", "cat", "cd", "date", "dirname", "echo", "false", "grep", "head", "ls", "popd",
    "printf", "pushd", "pwd", "readlink", "realpath", "set", "sleep", "sort", "tail", "test",
    "true", "uniq", "wc", "which",
];
/// Flags that change what a command does to what is there.
const DANGEROUS_FLAGS: [&str; 30] = [
    "-D",
    "-R",
    "-f",
    "-r",
    "-x",
    "--all",
    "--amend",
    "--auto-approve",
    "--delete",
    "--exec",
    "--force",
    "--force-with-lease",
    "--global",
    "--hard",
    "--mirror",
    "--no-preserve-root",
    "--no-verify",
    "--overwrite",
    "--privileged",
    "--prune",
    "--purge",
    "--recursive",
    "--skip-checks",
    "--system",
    "--unsafe",
    "--yes",
    "-auto-approve",
    "-delete",
    "-exec",
    "-y",
];
/// Spellings that mean the same, for the programs that have both.
const SAME_FLAGS: [&[&str]; 3] =
    [&["-r", "-R", "--recursive"], &["-f", "--force"], &["-y", "--yes"]];

/// What a call is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A command of this kind.
    Command {
        /// Its program.
        program: String,
        /// Its subcommand; empty if it has none.
        subcommand: String,
        /// Its dangerous flags, sorted; each in all its spellings.
        flags: Vec<String>,
    },
    /// A tool that accesses a file.
    File(FileAccess),
    /// A tool that fetches from a host.
    Url(String),
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
}

/// What a tool does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileAccess {
    /// It reads it.
    Read,
    /// It writes it.
    Write,
    /// It deletes it.
    Delete,
    /// It moves it.
    Move,
}

impl FileAccess {
    /// Returns the key of HOOK.md for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, subcommand, flags } => {
                formatter.write_str(program)?;
                let words = Some(subcommand.as_str()).filter(|words| !words.is_empty());
                let longest =
                    |flag: &'_ String| flag.split('|').max_by_key(|it| it.len()).map(str::to_owned);
                let words = words.map(str::to_owned);
                let flags = flags.iter().filter_map(longest);
                words.into_iter().chain(flags).try_for_each(|word| write!(formatter, " {word}"))
            }
            Self::File(access) => write!(formatter, "{} a file", access.word()),
            Self::Url(host) => write!(formatter, "fetch from {host}"),
            Self::Mcp { server, tool } => write!(formatter, "{tool} of the MCP server {server}"),
        }
    }
}

/// Returns what a call is about, and the command if it is one; `None` if it is about several things
/// or cannot be told.
pub fn of(event: &Event) -> Option<(Subject, Option<ShellCommand>)> {
    let tool = event.tool.as_ref()?;
    if is_shell(tool) {
        let command = only_command(tool)?;
        return Some((of_command(&command)?, Some(command)));
    }
    let place = || mcp(event, tool).or_else(|| url(tool).and_then(|url| host_of(&url)));
    Some((place().or_else(|| file_access(tool).map(Subject::File))?, None))
}

/// Returns whether a call runs a command.
pub fn is_shell(tool: &ToolCall) -> bool {
    tool.name == "Shell" || tool.also.contains(&"Shell")
}

/// Returns every command of a call, with whether all of it could be read.
pub fn commands(tool: &ToolCall) -> (Vec<ShellCommand>, bool) {
    let lines = tools::shell_lines(&tool.input);
    let read: Vec<_> = lines.iter().map(|line| anyhook_shell::read(line)).collect();
    let is_known = read.iter().all(|line| line.unknown.is_empty());
    let commands: Vec<ShellCommand> = read.into_iter().flat_map(|line| line.commands).collect();
    let is_known = is_known && commands.iter().all(|command| !command.is_unknown);
    (commands, is_known)
}

/// Returns the command that a line is about: the only one that is not neutral.
fn only_command(tool: &ToolCall) -> Option<ShellCommand> {
    let (mut commands, is_known) = commands(tool);
    if commands.len() > 1 {
        commands.retain(|command| !is_neutral(command));
    }
    let first = commands.pop()?;
    (is_known && commands.is_empty()).then_some(first)
}

fn is_neutral(command: &ShellCommand) -> bool {
    command.redirections.is_empty()
        && command.program().is_some_and(|program| NEUTRAL.contains(&program))
}

fn of_command(command: &ShellCommand) -> Option<Subject> {
    let program = command.program()?.to_owned();
    let mut flags: Vec<String> =
        flags_of(command).into_iter().filter(|flag| is_dangerous(flag)).collect();
    flags.sort();
    flags.dedup();
    let subcommand = subcommand(command);
    Some(Subject::Command { program, subcommand, flags })
}

/// Returns the words that say what a command does; empty for a program without such.
pub fn subcommand(command: &ShellCommand) -> String {
    let has_one = command.program().is_some_and(|name| WITH_SUBCOMMANDS.contains(&name));
    let words = if has_one { command.subcommand() } else { Vec::new() };
    let is_word = |word: &&str| !word.is_empty() && !word.contains(['*', '?', ' ', '\n']);
    let first = words.first().copied().filter(is_word);
    let Some(first) = first else { return String::new() };
    match words.get(1).copied().filter(|_| WITH_TWO_WORDS.contains(&first)).filter(is_word) {
        Some(second) => format!("{first} {second}"),
        None => first.to_owned(),
    }
}

/// Returns the flags of a command, each in all its spellings: `-f|--force`.
pub fn flags_of(command: &ShellCommand) -> Vec<String> {
    let words = command.arguments().iter().filter_map(|word| word.known());
    let flags = words.take_while(|word| *word != "--").filter(|word| word.len() > 1);
    let mut found: Vec<String> = Vec::new();
    for word in flags.filter(|word| word.starts_with('-')) {
        let name = word.split('=').next().unwrap_or(word);
        let letters = &name[1..];
        // A cluster of letters, unless it is a long flag with one hyphen, as `-delete`.
        let is_cluster = letters.len() <= 4 && letters.bytes().all(|it| it.is_ascii_alphabetic());
        if is_cluster && !DANGEROUS_FLAGS.contains(&name) {
            found.extend(letters.chars().map(|letter| with_spellings(&format!("-{letter}"))));
        } else {
            found.push(with_spellings(name));
        }
    }
    found
}

fn with_spellings(flag: &str) -> String {
    let same = SAME_FLAGS.iter().find(|spellings| spellings.contains(&flag));
    same.map_or_else(|| flag.to_owned(), |spellings| spellings.join("|"))
}

/// Returns whether a flag, in all its spellings, changes what a command does to what is there.
pub fn is_dangerous(flag: &str) -> bool {
    flag.split('|').any(|spelling| DANGEROUS_FLAGS.contains(&spelling))
}

/// Returns the server and the tool of a call of an MCP tool.
fn mcp(event: &Event, tool: &ToolCall) -> Option<Subject> {
    let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
    let told = event.raw.get("mcp");
    let told = told.and_then(|mcp| Some((text(mcp, "server")?, text(mcp, "tool")?)));
    let named = || {
        let name = tool.names().find_map(|name| name.strip_prefix("mcp__"))?;
        let (server, tool) = name.split_once("__")?;
        Some((server.to_owned(), tool.to_owned()))
    };
    let (server, tool) = told.or_else(named)?;
    Some(Subject::Mcp { server, tool })
}

/// Returns the URL that a tool fetches, in lower case.
pub fn url(tool: &ToolCall) -> Option<String> {
    let is_fetch = tool.name == "FetchURL";
    let url = tool.input.get("url").filter(|_| is_fetch)?.as_str()?;
    Some(url.trim().to_ascii_lowercase())
}

/// Returns the host of a URL.
fn host_of(url: &str) -> Option<Subject> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split(':').next().filter(|host| !host.is_empty())?;
    Some(Subject::Url(host.to_owned()))
}

fn file_access(tool: &ToolCall) -> Option<FileAccess> {
    file(tool)?;
    match tool.name.as_str() {
        "ReadFile" => Some(FileAccess::Read),
        "WriteFile" | "EditFile" => Some(FileAccess::Write),
        "DeleteFile" => Some(FileAccess::Delete),
        "MoveFile" => Some(FileAccess::Move),
        _ => None,
    }
}

/// Returns the file that a tool of files names.
pub fn file(tool: &ToolCall) -> Option<&str> {
    tool.input.get("path")?.as_str().filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn about(tool: &str, input: Value) -> Option<String> {
        let mut event = Event::new(
            anyhook_model::EventKind::BeforeTool,
            "agent-hooks",
            Path::new("/work"),
            Timestamp::UNIX_EPOCH,
        );
        event.tool = Some(ToolCall::new(tool, input));
        Some(of(&event)?.0.to_string())
    }

    #[test]
    fn a_call_is_known_by_what_it_does() {
        for (tool, input, expected) in [
            ("Shell", json!({"command": "git push --force origin main"}), Some("git push --force")),
            ("Shell", json!({"command": "git push -f"}), Some("git push --force")),
            ("Shell", json!({"command": "rm -rf build"}), Some("rm --force --recursive")),
            ("Shell", json!({"command": "docker compose down"}), Some("docker compose down")),
            ("Shell", json!({"command": "cd a; npm publish"}), Some("npm publish")),
            ("Shell", json!({"command": "npm test; npm publish"}), None),
            ("Shell", json!({"command": "ls"}), Some("ls")),
            ("WriteFile", json!({"path": "a"}), Some("write a file")),
            (
                "FetchURL",
                json!({"url": "https://X.example.com:80/a"}),
                Some("fetch from x.example.com"),
            ),
            ("mcp__db__drop", json!({}), Some("drop of the MCP server db")),
            ("Todo", json!({}), None),
        ] {
            let shown = format!("{tool} {input}");
            assert_eq!(about(tool, input).as_deref(), expected, "{shown}");
        }
    }
}
