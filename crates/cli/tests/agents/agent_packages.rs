//! The packages of the folder `plugins`, installed by each agent's own mechanism: the agent calls
//! anyhook, once, and says so where anyhook is missing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::{CommandRun, write};
use serde_json::{Value, json};

use crate::environment;

const REASON: &str = "nothing is forbidden without a reason";
const GUARD: &str =
    "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}\non_failure: block";
const MISSING: &str = "anyhook is not installed: guards do not run";

/// Returns the repository, which is a marketplace.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn package(name: &str) -> String {
    repository().join("plugins").join(name).to_str().unwrap().to_owned()
}

/// Makes a bed with a guard and the agent's package; none if the agent cannot be run here.
///
/// The program is in a folder of `PATH`, if at all.
fn packaged(agent: Agent, has_program: bool) -> Option<AgentSandbox> {
    let mut bed = AgentSandbox::within(environment(), agent)?;
    bed.environment().user_hook("guard", GUARD, &format!("echo '{REASON}' >&2\nexit 2"));
    let programs = bed.environment().root().join("programs");
    fs::create_dir_all(&programs).unwrap();
    if has_program {
        let anyhook = crate::program();
        symlink(&anyhook, programs.join("anyhook")).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    bed.set_variable("PATH", format!("{}:{path}", programs.display()));
    install(&mut bed);
    Some(bed)
}

/// Installs the package of an agent as people do.
fn install(bed: &mut AgentSandbox) {
    let repository = repository();
    let repository = repository.to_str().unwrap();
    let manage = |arguments: &[&str]| {
        let done = bed.manage(arguments);
        assert_eq!(done.code, 0, "{arguments:?}: {done:?}");
        done
    };
    match bed.agent() {
        Agent::ClaudeCode => {
            manage(&["plugin", "marketplace", "add", repository]);
            manage(&["plugin", "install", "anyhook@anyhook"]);
        }
        Agent::Codex => {
            manage(&["plugin", "marketplace", "add", repository]);
            manage(&["plugin", "add", "anyhook@anyhook"]);
            // The sandbox switches plugins off, which would look for others in the network.
            bed.add_argument("--config");
            bed.add_argument("features.plugins=true");
        }
        Agent::GeminiCli => {
            manage(&["extensions", "install", &package("gemini-cli"), "--consent"]);
        }
        Agent::Copilot => {
            manage(&["plugin", "install", &package("open-plugins")]);
        }
        Agent::OpenCode => {
            // As npm has it.
            let folder = bed.environment().root().join("anyhook-opencode");
            symlink(package("opencode"), &folder).unwrap();
            let settings = json!({"plugin": [format!("file://{}", folder.display())]});
            let file = bed.home().join(".config/opencode/opencode.json");
            write(&file, settings.to_string(), 0o644);
        }
        other => panic!("{} has no package", other.name()),
    }
}

fn play(bed: &AgentSandbox) -> AgentRun {
    let turns = [
        bed.shell_tool("touch forbidden"),
        bed.shell_tool("touch harmless"),
        ModelTurn::text("that was all"),
    ];
    let outcome = bed.run("do it", turns);
    assert_eq!(outcome.exit_code, 0, "{outcome:#?}");
    assert!(!bed.project().join("forbidden").exists(), "{outcome:#?}");
    outcome
}

/// Returns the records of an event about a command.
fn records(journal: &[Value], event: &str, about: &str) -> Vec<Value> {
    let is = |record: &&Value| record["event"] == event && record["about"] == about;
    journal.iter().filter(is).cloned().collect()
}

/// Returns what `doctor` says where the agents are on the `PATH` that they had.
fn doctor(bed: &AgentSandbox) -> String {
    let mut command = bed.environment().command(&["doctor"]);
    command.env("PATH", bed.variable("PATH").unwrap());
    anyhook_testkit::run(command, b"").stdout
}

/// The agent calls anyhook through the package alone; then also through its settings.
fn check_calls(agent: Agent) {
    let Some(mut bed) = packaged(agent, true) else { return };
    if agent == Agent::Codex {
        bed.add_argument("--dangerously-bypass-hook-trust");
    }
    let outcome = play(&bed);
    assert!(outcome.told(1, REASON), "{outcome:#?}");
    assert!(bed.project().join("harmless").exists(), "{outcome:#?}");
    let journal = bed.environment().journal();
    let denied = records(&journal, "before_tool", "touch forbidden");
    assert_eq!(denied.len(), 1, "{journal:#?}");
    assert_eq!(denied[0]["verdict"]["decision"], "deny");
    let entry = json!({"of": "plugin", "run_by": agent.name()});
    assert_eq!((&denied[0]["host"], &denied[0]["foreign_entry"]), (&agent.name().into(), &entry));
    assert!(journal.iter().any(|record| record["event"] == "session_start"), "{journal:#?}");
    if agent != Agent::Copilot {
        let doctor = doctor(&bed);
        assert!(doctor.contains("calls anyhook by a plugin"), "{doctor}");
    }

    // With entries in its settings, too, the package's calls are dropped.
    let installed = bed.environment().run(&["install", agent.name()]);
    assert_eq!(installed.code, 0, "{installed:?}");
    fs::remove_file(bed.project().join("harmless")).unwrap();
    let before = bed.environment().journal().len();
    let outcome = play(&bed);
    assert!(outcome.told(1, REASON), "{outcome:#?}");
    let journal = bed.environment().journal().split_off(before);
    let harmless = records(&journal, "before_tool", "touch harmless");
    assert_eq!(harmless.len(), 1, "{journal:#?}");
    assert_eq!(harmless[0]["foreign_entry"], Value::Null, "{journal:#?}");
    let dropped = records(&journal, "double_call", "touch harmless");
    assert!(!dropped.is_empty(), "{journal:#?}");
    assert!(dropped.iter().all(|record| record["foreign_entry"] == entry), "{journal:#?}");
    if agent != Agent::Copilot {
        let doctor = doctor(&bed);
        assert!(doctor.contains("its calls are dropped, so no hook runs twice"), "{doctor}");
    }
    let verified = bed.environment().run(&["verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// Without the program, a guard that blocks on failure refuses.
fn check_missing(agent: Agent) {
    let Some(mut bed) = packaged(agent, false) else { return };
    if agent == Agent::Codex {
        bed.add_argument("--dangerously-bypass-hook-trust");
    }
    let turns = [bed.shell_tool("touch harmless"), ModelTurn::text("that was all")];
    let refused = bed.run("do it", turns);
    assert!(refused.told(1, MISSING), "{refused:#?}");
    assert!(!bed.project().join("harmless").exists(), "{refused:#?}");
}

/// Without the program, a person sees that when a session starts.
fn check_told(agent: Agent) {
    let Some(mut bed) = packaged(agent, false) else { return };
    if agent == Agent::Codex {
        bed.add_argument("--dangerously-bypass-hook-trust");
    }
    let Some(screen) = bed.open([ModelTurn::text("hello yourself")]) else { return };
    screen.submit("hello");
    screen.wait_until("that anyhook is missing", |text| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains(MISSING)
    });
    screen.close();
}

/// The agent's own check finds nothing.
fn check_valid(agent: Agent, arguments: &[&str]) {
    let Some(bed) = AgentSandbox::within(environment(), agent) else { return };
    let CommandRun { code, stdout, stderr } = bed.manage(arguments);
    assert_eq!(code, 0, "{stdout}\n{stderr}");
}

#[test]
fn claude_code() {
    check_calls(Agent::ClaudeCode);
}

#[test]
fn codex() {
    check_calls(Agent::Codex);
}

#[test]
fn copilot() {
    check_calls(Agent::Copilot);
}

#[test]
fn gemini_cli() {
    check_calls(Agent::GeminiCli);
}

#[test]
fn opencode() {
    check_calls(Agent::OpenCode);
}

#[test]
fn claude_code_without_the_program() {
    check_missing(Agent::ClaudeCode);
}

#[test]
fn codex_without_the_program() {
    check_missing(Agent::Codex);
}

#[test]
fn copilot_without_the_program() {
    check_missing(Agent::Copilot);
}

#[test]
fn gemini_cli_without_the_program() {
    check_missing(Agent::GeminiCli);
}

#[test]
fn opencode_without_the_program() {
    check_missing(Agent::OpenCode);
}

#[test]
fn claude_code_tells_a_person_that_the_program_is_missing() {
    check_told(Agent::ClaudeCode);
}

#[test]
fn codex_tells_a_person_that_the_program_is_missing() {
    check_told(Agent::Codex);
}

#[test]
fn gemini_cli_tells_a_person_that_the_program_is_missing() {
    check_told(Agent::GeminiCli);
}

#[test]
fn opencode_tells_a_person_that_the_program_is_missing() {
    check_told(Agent::OpenCode);
}

#[test]
fn claude_code_finds_the_plugin_and_the_marketplace_valid() {
    let repository = repository();
    let repository = repository.to_str().unwrap();
    check_valid(Agent::ClaudeCode, &["plugin", "validate", "--strict", repository]);
    let plugin = package("claude-code");
    check_valid(Agent::ClaudeCode, &["plugin", "validate", "--profile", "directory", &plugin]);
}

#[test]
fn gemini_cli_finds_the_extension_valid() {
    check_valid(Agent::GeminiCli, &["extensions", "validate", &package("gemini-cli")]);
}

/// Codex runs the hooks of a plugin once a person has trusted them, and not before.
#[test]
fn codex_asks_a_person_to_trust_the_plugin() {
    let Some(bed) = packaged(Agent::Codex, true) else { return };
    assert!(doctor(&bed).contains("the hooks of the plugin anyhook@anyhook are not trusted"));
    let turns = [bed.shell_tool("touch forbidden"), ModelTurn::text("that was all")];
    let Some(screen) = bed.open(turns) else { return };
    screen.wait_for("Trust all and continue");
    let is_chosen = |text: &str| {
        text.lines().any(|line| line.contains('›') && line.contains("Trust all and continue"))
    };
    screen.press_until("Down", "the choice", is_chosen);
    screen.press_until("Enter", "the trust", |text| !text.contains("Trust all and continue"));
    screen.submit("do it");
    screen.wait_for("that was all");
    screen.close();
    let journal = bed.environment().journal();
    let denied = records(&journal, "before_tool", "touch forbidden");
    assert_eq!(denied.len(), 1, "{journal:#?}");
    assert_eq!(denied[0]["verdict"]["decision"], "deny", "{journal:#?}");
    assert!(!bed.project().join("forbidden").exists());
    assert!(!doctor(&bed).contains("are not trusted"));
}
