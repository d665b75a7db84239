//! How an agent is started: which one a command line starts, and the arguments for a prompt or for
//! resuming a session.

use crate::{AGENTS, HostSpec};

/// The parameters of a start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launch<'launch> {
    /// The command line to which the arguments are appended.
    pub run: &'launch str,
    /// The agent's prompt.
    pub prompt: Option<&'launch str>,
    /// The session to resume.
    pub resume: Option<&'launch str>,
}

/// Returns the arguments for starting whatever a command line starts.
pub fn arguments(host: Option<&str>, launch: &Launch<'_>) -> Vec<String> {
    match host.and_then(crate::find) {
        Some(agent) => (agent.launch)(launch),
        None => plain(launch),
    }
}

/// Returns the arguments for an unknown program: its prompt.
pub(crate) fn plain(launch: &Launch<'_>) -> Vec<String> {
    launch.prompt.map(str::to_owned).into_iter().collect()
}

/// Returns `true`: every start takes its prompt as an argument.
pub(crate) fn always(_: &Launch<'_>) -> bool {
    true
}

/// Returns the id of the host that a command line starts, by the name of its program or package.
pub fn of_command(run: &str) -> Option<&'static str> {
    let words = words(run);
    let program = program(&words)?;
    let named = |name: &str| {
        let agent = AGENTS.into_iter().find(|agent| agent.program == name);
        agent.or_else(|| AGENTS.into_iter().find(|agent| agent.package.npm() == Some(name)))
    };
    let whole = words.get(program)?;
    // A package may have a version: `@openai/codex@latest`.
    let package = match whole.rfind('@') {
        Some(place) if place > 0 => &whole[..place],
        _ => whole,
    };
    let file = whole.rsplit('/').next().unwrap_or(whole);
    let file = file.strip_suffix(".js").unwrap_or(file);
    named(package).or_else(|| named(file)).map(HostSpec::id)
}

/// Returns the arguments that a command line passes to its program, as a shell would split plain
/// ones.
pub(crate) fn arguments_of(run: &str) -> Vec<String> {
    let mut words = words(run);
    match program(&words) {
        Some(program) => words.split_off(program + 1),
        None => Vec::new(),
    }
}

/// Programs that run another program, and which of their options have a value.
const RUNNERS: [(&str, &[&str]); 14] = [
    ("exec", &["-a"]),
    ("command", &[]),
    ("env", &["-u", "-C", "--unset", "--chdir"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("time", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("node", &[]),
    ("bun", &[]),
    ("npx", &["-p", "--package"]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("dlx", &[]),
    ("x", &[]),
];

/// Returns the position of the program's name, after assignments and programs that run another one.
fn program(words: &[String]) -> Option<usize> {
    let mut place = 0;
    let mut options_with_value: Option<&[&str]> = None;
    loop {
        let word = words.get(place)?;
        let name = word.rsplit('/').next().unwrap_or(word);
        let runner = RUNNERS.iter().find(|(runner, _)| *runner == name);
        match options_with_value {
            _ if is_assignment(word) => {}
            Some(with_value) if word.starts_with('-') => {
                place += usize::from(with_value.contains(&word.as_str()));
            }
            // Their own commands come next: `pnpm dlx`.
            _ if ["pnpm", "yarn"].contains(&name) => options_with_value = Some(&[]),
            _ => match runner {
                Some((_, with_value)) => options_with_value = Some(with_value),
                None => return Some(place),
            },
        }
        place += 1;
    }
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty()
        && name.chars().all(is_letter)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the words of the last command in a command line, to which further arguments are
/// appended.
///
/// The crate `shlex` cannot be used: it treats `;`, `&`, `|` and `(` as parts of words and a line
/// break as a space, so the start of the last command could not be distinguished from quoted text.
fn words(run: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = run.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '&' | '|' | ';' | '\n' | '(' => {
                words.clear();
                word = None;
            }
            letter if letter.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                while let Some(inner) = letters.next().filter(|inner| *inner != letter) {
                    match inner {
                        '\\' if letter == '"' => word.extend(letters.next()),
                        _ => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_tells_its_host() {
        for (run, host) in [
            ("claude", Some("claude-code")),
            ("claude --model opus --add-dir '/a b'", Some("claude-code")),
            ("FOO=1 BAR='a b' claude", Some("claude-code")),
            ("/usr/bin/env codex", Some("codex")),
            ("env -i -u X HOME=/h codex exec", Some("codex")),
            ("npx -y @openai/codex@latest --full-auto", Some("codex")),
            ("npx --package x @openai/codex", Some("codex")),
            ("pnpm dlx @anthropic-ai/claude-code", Some("claude-code")),
            ("exec gemini", Some("gemini-cli")),
            ("exec nice -n 5 gemini", Some("gemini-cli")),
            ("node /opt/x/gemini.js", Some("gemini-cli")),
            ("bunx opencode-ai@1.18", Some("opencode")),
            ("pi --model x", Some("pi")),
            ("npx @oh-my-pi/pi-coding-agent@18", Some("oh-my-pi")),
            ("cd sub && '/opt/my tools/opencode' run", Some("opencode")),
            ("cd sub;codex", Some("codex")),
            ("cd sub\ncodex 'a;b'", Some("codex")),
            ("claude; echo done", None),
            ("echo claude", None),
            ("my-claude", None),
            ("./claude-wrapper claude", None),
            ("FOO=claude", None),
            ("", None),
            ("'", None),
        ] {
            assert_eq!(of_command(run), host, "{run}");
        }
    }

    fn launched(run: &str, prompt: Option<&str>, resume: Option<&str>) -> String {
        arguments(of_command(run), &Launch { run, prompt, resume }).join("|")
    }

    #[test]
    fn a_prompt_is_given_as_the_program_takes_it() {
        for (run, arguments) in [
            ("claude", "--|-x do it"),
            ("claude -p --allowedTools Bash Edit", "--|-x do it"),
            ("codex", "--|-x do it"),
            ("codex exec --json", "--|-x do it"),
            ("gemini", "--prompt-interactive=-x do it"),
            ("gemini --approval-mode yolo -p", "-x do it"),
            ("opencode", "--prompt=-x do it"),
            ("opencode --model x run", "--|-x do it"),
            ("opencode --model run", "--prompt=-x do it"),
            ("pi -p", "--|-x do it"),
            ("omp", "--|-x do it"),
            ("mine", "-x do it"),
        ] {
            assert_eq!(launched(run, Some("-x do it"), None), arguments, "{run}");
            assert_eq!(launched(run, None, None), "", "{run}");
        }
        assert_eq!(launched("claude", Some("doctor"), None), "--|doctor ", "it is no command");
    }

    #[test]
    fn a_session_is_gone_on_with() {
        for (run, arguments) in [
            ("claude", "--resume|5f3c|--|do it"),
            ("codex", "resume|5f3c|--|do it"),
            ("codex exec --json", "resume|5f3c|--|do it"),
            ("gemini", "--resume|5f3c|--prompt-interactive=do it"),
            ("gemini -p", "do it|--resume|5f3c"),
            ("opencode", "--session|5f3c"),
            ("opencode run", "--session|5f3c|--|do it"),
            ("pi", "--session|5f3c|--|do it"),
            ("omp -p", "--resume|5f3c|--|do it"),
            ("mine", "do it"),
        ] {
            assert_eq!(launched(run, Some("do it"), Some("5f3c")), arguments, "{run}");
        }
        assert_eq!(launched("codex", None, Some("5f3c")), "resume|5f3c");
    }
}
