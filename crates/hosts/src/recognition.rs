//! Recognises agents: which agent a process is, by its command line, and to which agent's session
//! an environment belongs, by its variables.
//!
//! Agents that anyhook does not support yet are recognised, too: none of them is a person.

use std::path::Path;

use crate::AGENTS;
use crate::planned::planned;

/// The variable in which several agents identify themselves as agents.
const ANY_AGENT: &str = "AI_AGENT";

/// Variables of one agent that others set as well, for programs that look for it: they count only if
/// no other variable is set.
const IMITATED: [&str; 2] = ["CLAUDECODE", "OPENCODE"];

/// Programs that run a script, which is then the program that counts.
const INTERPRETERS: [&str; 4] = ["node", "nodejs", "bun", "deno"];

/// Returns the agent that a process is, by its name in the system, its program's path and its
/// command line.
///
/// An interpreter alone is not an agent: it may be a person's own server. The script that it runs
/// counts.
pub fn agent_of_process(
    name: &str,
    program: Option<&Path>,
    arguments: &[String],
) -> Option<&'static str> {
    let of_program = program.and_then(file_name);
    let first = arguments.first().map(Path::new).and_then(file_name);
    // The system truncates names to fifteen bytes: none of ours is longer.
    let direct = [Some(name), of_program, first].into_iter().flatten().find_map(agent_of_program);
    direct.or_else(|| {
        let interprets = [of_program, first].into_iter().flatten().any(is_interpreter);
        let script = arguments.get(1..)?.iter().find(|argument| !argument.starts_with('-'))?;
        interprets.then(|| agent_of_script(script)).flatten()
    })
}

/// Returns the agent whose sessions have this variable.
pub fn agent_of_variable(name: &str) -> Option<&'static str> {
    let other = planned().find(|other| other.session_variables.contains(&name));
    let own = || AGENTS.into_iter().find(|agent| agent.session_variables.contains(&name));
    let any = || (name == ANY_AGENT).then_some("an agent");
    other.map(|other| other.title).or_else(|| own().map(|agent| agent.title)).or_else(any)
}

/// Returns every variable that is set in an agent's session, those that say the most first.
pub fn session_variables() -> impl Iterator<Item = &'static str> {
    let others = planned().flat_map(|other| other.session_variables);
    let own = AGENTS.into_iter().flat_map(|agent| agent.session_variables);
    let all = others.chain(own).copied();
    all.filter(|name| !IMITATED.contains(name)).chain(IMITATED).chain([ANY_AGENT])
}

/// Returns the agent that a script is: installed under the agent's name, or in its package.
fn agent_of_script(script: &str) -> Option<&'static str> {
    let is_in = |package: &&str| script.contains(&format!("/node_modules/{package}/"));
    let of_package = || {
        let own = AGENTS.into_iter().find(|agent| agent.package.npm().as_ref().is_some_and(is_in));
        let other = || planned().find(|other| other.packages.iter().any(is_in));
        own.map(|agent| agent.title).or_else(|| other().map(|other| other.title))
    };
    file_name(Path::new(script)).and_then(agent_of_program).or_else(of_package)
}

/// Programs of agents that are editors: people have terminals in them.
const EDITORS: [&str; 2] = ["code", "windsurf"];

fn agent_of_program(name: &str) -> Option<&'static str> {
    if EDITORS.contains(&name) {
        return None;
    }
    let own = AGENTS.into_iter().find(|agent| agent.program == name);
    let other = || planned().find(|other| other.programs.contains(&name));
    // Some give their process a title; one that is the name of their runtime says nothing.
    let titled = || {
        let mut agents = AGENTS.into_iter().filter(|_| !is_interpreter(name));
        agents.find(|agent| agent.protocol.process_names.contains(&name))
    };
    own.map(|agent| agent.title)
        .or_else(|| other().map(|other| other.title))
        .or_else(|| titled().map(|agent| agent.title))
}

fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name) || name.starts_with("python")
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, program: &str, line: &str) -> Option<&'static str> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        agent_of_process(name, Some(Path::new(program)), &arguments)
    }

    #[test]
    fn an_agent_is_recognised_by_its_program_or_its_script() {
        for (name, program, line, agent) in [
            ("codex", "/opt/codex/bin/codex", "/opt/codex/bin/codex exec", "Codex"),
            ("claude", "/root/.local/share/claude/versions/2.1.325", "claude -p x", "Claude Code"),
            ("node", "/usr/bin/node", "node /usr/bin/gemini -p x", "Gemini CLI"),
            (
                "node",
                "/usr/bin/node",
                "node --no-warnings=DEP0040 /usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js",
                "Gemini CLI",
            ),
            ("MainThread", "/usr/bin/node", "node /usr/local/bin/codex", "Codex"),
            ("opencode", "/usr/bin/bun", "opencode run", "OpenCode"),
            (
                "node",
                "/usr/bin/node",
                "node /x/node_modules/@github/copilot/index.js",
                "Copilot CLI",
            ),
            // It blanks its arguments.
            ("pi", "/usr/bin/node", "pi", "pi"),
            (
                "bun",
                "/usr/bin/bun",
                "bun /x/node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js",
                "oh-my-pi",
            ),
            ("hermes", "/usr/bin/python3.12", "python3 /home/a/bin/hermes", "Hermes Agent"),
            ("kimi-code", "/usr/bin/node", "kimi-code", "Kimi Code"),
            ("Kimi Code", "/usr/bin/python3.12", "Kimi Code", "Kimi CLI"),
            ("python3", "/usr/bin/python3.12", "python3 /home/a/bin/hermes", "Hermes Agent"),
        ] {
            assert_eq!(process(name, program, line), Some(agent), "{line}");
        }
    }

    #[test]
    fn what_a_person_runs_is_no_agent() {
        for (name, program, line) in [
            ("node", "/usr/bin/node", "node server.js"),
            ("node", "/usr/bin/node", "node ./tools/gemini.js"),
            ("node", "/usr/bin/node", "node"),
            ("node", "/usr/bin/node", "node --inspect"),
            ("bash", "/usr/bin/bash", "bash codex"),
            ("vim", "/usr/bin/vim", "vim claude"),
            ("cursor", "/usr/share/cursor/cursor", "/usr/share/cursor/cursor --type=renderer"),
            ("code", "/usr/share/code/code", "/usr/share/code/code --ms-enable-electron"),
            ("tmux: server", "/usr/bin/tmux", "tmux new -s claude"),
            ("claude-desktop", "/opt/claude-desktop", "claude-desktop"),
            ("sh", "/usr/bin/dash", ""),
        ] {
            assert_eq!(process(name, program, line), None, "{line}");
        }
        assert_eq!(agent_of_process("sh", None, &[]), None);
    }

    #[test]
    fn every_session_variable_has_its_agent() {
        for name in session_variables() {
            assert!(agent_of_variable(name).is_some(), "{name}");
        }
        let place = |name| session_variables().position(|known| known == name).unwrap();
        assert!(place("OMPCODE") < place("CLAUDECODE"), "oh-my-pi sets both");
        assert!(place("CLAUDE_CODE_SESSION_ID") < place("CLAUDECODE"));
        assert_eq!(agent_of_variable("CODEX_THREAD_ID"), Some("Codex"));
        assert_eq!(agent_of_variable("KILO"), Some("Kilo"));
        // Kilo sets that of OpenCode as well: its own come first.
        let position = |wanted: &str| session_variables().position(|name| name == wanted);
        assert!(position("KILO") < position("OPENCODE"));
        // Variables of editors' terminals, and settings of people.
        for name in [
            "TERM_PROGRAM",
            "VSCODE_PID",
            "CURSOR_TRACE_ID",
            "CLAUDE_CODE_SSE_PORT",
            "GEMINI_CLI_IDE_SERVER_PORT",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
            "ANTHROPIC_API_KEY",
            "AGENT",
        ] {
            assert_eq!(agent_of_variable(name), None, "{name}");
        }
    }
}
