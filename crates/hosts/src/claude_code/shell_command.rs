//! How Claude Code starts the commands of its `Bash` tool.

/// Extracts the command from the argument with which a shell is started: `source … && eval
/// 'COMMAND' < /dev/null && pwd -P >| …`. The quotes are those that Claude Code puts around it.
pub fn command(argument: &str) -> &str {
    let command = argument.split_once("eval ").map_or(argument, |(_, command)| command);
    let ends = [" \\< /dev/null && pwd -P", " < /dev/null && pwd -P", " && pwd -P >|"];
    let end = ends.iter().filter_map(|end| command.find(end)).min();
    &command[..end.unwrap_or(command.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_around_a_command_is_not_part_of_it() {
        let around = |command: &str| {
            format!(
                "source /h/snapshot.sh 2>/dev/null || true && shopt -u extglob && \
                 eval {command} \\< /dev/null && pwd -P >| /tmp/claude-1-cwd"
            )
        };
        for quoted in ["'npm test'", "'eval x'", "pwd"] {
            assert_eq!(command(&around(quoted)), quoted);
        }
        assert_eq!(command("eval 'ls' && pwd -P >| /tmp/x"), "'ls'");
        assert_eq!(command("make all"), "make all");
    }
}
