//! A project's settings switch hooks off: the agent does not call us, and `doctor` says so.
//!
//! What an agent does is asserted, so that we notice when it changes, and is a row of
//! `docs/hosts/behaviour.md`.

use std::fs;

use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;
use serde_json::{Value, json};

use super::table;
use crate::environment;

/// What a project achieves that switches hooks off.
const OFF: &str = "hooks do not run, `anyhook doctor` says so";
const NO_SWITCH: &str = "no such setting, still denied";

fn note(agent: Agent, outcome: &str) {
    let behaviour = "a dangerous shell command while a project disables hooks".to_owned();
    table::OFF.compare(agent, &vec![(behaviour, outcome.to_owned())]);
}

/// Makes a bed where the agent calls us, and a hook denies a command; none if it cannot be run here.
fn wired(agent: Agent) -> Option<AgentSandbox> {
    let bed = AgentSandbox::within(environment(), agent)?;
    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}";
    bed.environment().user_hook("no-danger", matter, "echo no >&2\nexit 2");
    let installed = bed.environment().run(&["install", agent.name()]);
    assert_eq!(installed.code, 0, "{installed:?}");
    Some(bed)
}

/// What came of a command that a hook denies, in a project with a settings file.
#[derive(Debug)]
struct Tried {
    ran: bool,
    /// How many events we were told of.
    events: usize,
    /// What `doctor` says does not call us.
    told: Vec<String>,
    outcome: AgentRun,
}

fn try_with(bed: &AgentSandbox, file: &str, text: &str) -> Tried {
    let path = bed.project().join(file);
    write(&path, text, 0o644);
    let before = bed.environment().journal().len();
    let turns = [bed.shell_tool("touch forbidden"), ModelTurn::text("that was all")];
    let outcome = bed.run("go on", turns);
    let ran = fs::remove_file(bed.project().join("forbidden")).is_ok();
    let events = bed.environment().journal().len() - before;
    let report = bed.environment().run(&["doctor", "--json"]).json();
    let findings = report["findings"].as_array().unwrap();
    let said = |finding: &Value| {
        let message = finding["message"].as_str().unwrap();
        let is_off = finding["about"] == bed.agent().name() && finding["severity"] == "bad";
        is_off.then(|| message.strip_prefix("does not call anyhook: ").map(str::to_owned)).flatten()
    };
    let told = findings.iter().filter_map(said).collect();
    fs::remove_file(path).unwrap();
    Tried { ran, events, told, outcome }
}

/// Returns whether the command ran, and what `doctor` says does not call us.
fn run_with(bed: &AgentSandbox, file: &str, text: &str) -> (bool, Vec<String>) {
    let tried = try_with(bed, file, text);
    let is_silent = tried.events == 0;
    assert_eq!(is_silent, tried.ran, "{file}: it is called at every event, or at none: {tried:#?}");
    (tried.ran, tried.told)
}

fn project_switches_off(agent: Agent, files: &[(&str, &str, &str)]) {
    let Some(bed) = wired(agent) else { return };
    for (file, text, setting) in files {
        let (ran, told) = run_with(&bed, file, text);
        assert!(ran, "{file}: the agent calls us although {setting}: say so in the docs");
        let place = bed.project().join(file);
        assert_eq!(told, [format!("{setting} in {} disables anyhook's hooks", place.display())]);
    }
    note(agent, OFF);
}

/// Checks that settings which would disable hooks elsewhere do nothing here.
fn project_cannot_switch_off(agent: Agent, files: &[(&str, &str)]) {
    let Some(bed) = wired(agent) else { return };
    for (file, text) in files {
        let (ran, told) = run_with(&bed, file, text);
        assert!(!ran && told.is_empty(), "{file}: {told:?}");
    }
    note(agent, NO_SWITCH);
}

#[test]
fn claude_code() {
    let text = "{\"disableAllHooks\": true}";
    project_switches_off(
        Agent::ClaudeCode,
        &[
            (".claude/settings.json", text, "disableAllHooks"),
            (".claude/settings.local.json", text, "disableAllHooks"),
        ],
    );
}

#[test]
fn codex() {
    project_switches_off(
        Agent::Codex,
        &[(".codex/config.toml", "[features]\nhooks = false\n", "[features] hooks = false")],
    );
}

#[test]
fn droid() {
    let text = "{\"hooks\": {\"hooksDisabled\": true}}";
    let setting = "hooks.hooksDisabled = true";
    project_switches_off(
        Agent::Droid,
        &[
            (".factory/settings.json", text, setting),
            (".factory/hooks.json", "{\"hooksDisabled\": true}", "hooksDisabled = true"),
        ],
    );
}

/// A hook that the user adds on Droid's screen is in a file that takes the place of the settings.
#[test]
fn droid_has_hooks_elsewhere() {
    let Some(bed) = wired(Agent::Droid) else { return };
    let file = bed.home().join(".factory/hooks.json");
    let command = format!("touch '{}'", bed.home().join("theirs").display());
    let theirs = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]});
    write(&file, theirs.to_string(), 0o644);
    let turns = || [bed.shell_tool("touch forbidden"), ModelTurn::text("that was all")];
    bed.run("go on", turns());
    assert!(fs::remove_file(bed.project().join("forbidden")).is_ok(), "ours runs, too");
    assert!(fs::remove_file(bed.home().join("theirs")).is_ok());
    let doctor = bed.environment().run(&["doctor"]);
    assert!(doctor.stdout.contains("PreToolUse"), "{doctor:?}");
    let installed = bed.environment().run(&["install", "droid"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let outcome = bed.run("go on", turns());
    assert!(!bed.project().join("forbidden").exists(), "{outcome:#?}");
    assert!(bed.home().join("theirs").exists(), "{outcome:#?}");
    let removed = bed.environment().run(&["uninstall", "droid"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    let left: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(left, theirs);
}

#[test]
fn gemini_cli() {
    let text = "{\"hooksConfig\": {\"enabled\": false}}";
    project_switches_off(
        Agent::GeminiCli,
        &[(".gemini/settings.json", text, "hooksConfig.enabled = false")],
    );
}

#[test]
fn qwen_code() {
    let text = "{\"disableAllHooks\": true}";
    project_switches_off(Agent::QwenCode, &[(".qwen/settings.json", text, "disableAllHooks")]);
}

/// Hermes Agent reads no settings of a project, and only with a variable its plugins, which replace the
/// user's of the same name. The user's settings can leave ours out.
#[test]
fn hermes() {
    let Some(mut bed) = wired(Agent::Hermes) else { return };
    let (ran, told) = run_with(&bed, ".hermes/config.yaml", "plugins: {disabled: [anyhook]}\n");
    assert!(!ran && told.is_empty(), "{told:?}");

    let theirs = bed.project().join(".hermes/plugins/anyhook/__init__.py");
    write(&theirs, "def register(ctx):\n    pass\n", 0o644);
    let file = ".hermes/plugins/anyhook/plugin.yaml";
    bed.set_variable("HERMES_ENABLE_PROJECT_PLUGINS", "1");
    let (ran, told) = run_with(&bed, file, "name: anyhook\n");
    assert!(ran, "it calls us although a project's plugin has our name: say so in the docs");
    let replaced = format!(
        "{} replaces the user's plugin of anyhook if HERMES_ENABLE_PROJECT_PLUGINS is set",
        bed.project().join(file).display()
    );
    assert_eq!(told, [replaced]);
    fs::remove_file(&theirs).unwrap();

    let config = bed.home().join(".hermes/config.yaml");
    let text = fs::read_to_string(&config).unwrap();
    write(&config, format!("{text}  disabled:\n    - anyhook\n"), 0o644);
    let (ran, told) = run_with(&bed, "README.md", "");
    assert!(ran, "it calls us although plugins.disabled names us: say so in the docs");
    let place = config.display();
    assert_eq!(told, [format!("`plugins.disabled` in {place} disables anyhook's hooks")]);
    note(Agent::Hermes, NO_SWITCH);
}

/// One hook that Kimi Code does not accept, in the user's settings: a project has none.
#[test]
fn kimi_code() {
    let Some(bed) = wired(Agent::KimiCode) else { return };
    let file = bed.home().join(".kimi-code/config.toml");
    let text = fs::read_to_string(&file).unwrap();
    write(&file, format!("{text}\n[[hooks]]\nevent = \"Nope\"\ncommand = \"true\"\n"), 0o644);
    let (ran, told) = run_with(&bed, ".kimi-code/config.toml", "");
    assert!(ran, "it calls us although a hook is not accepted: say so in the docs");
    let start = format!("Kimi Code ignores all hooks in {}", file.display());
    assert!(told.len() == 1 && told[0].starts_with(&start), "{told:?}");
    write(&file, text, 0o644);
    let theirs = "[[hooks]]\nevent = \"Nope\"\ncommand = \"true\"\n";
    let (ran, told) = run_with(&bed, ".kimi-code/config.toml", theirs);
    assert!(!ran && told.is_empty(), "a project's settings have no hooks: {told:?}");
    note(Agent::KimiCode, NO_SWITCH);
}

/// A project's settings have nothing by which OpenCode leaves out the user's plugins.
#[test]
fn opencode() {
    project_cannot_switch_off(Agent::OpenCode, &[("opencode.json", "{\"plugin\": []}")]);
}

#[test]
fn kilo() {
    project_cannot_switch_off(Agent::Kilo, &[("kilo.json", "{\"plugin\": []}")]);
}

/// A project's file with the name of the user's extension replaces it, and its settings can leave it
/// out by that name.
#[test]
fn oh_my_pi() {
    let Some(bed) = wired(Agent::OhMyPi) else { return };
    let mut ours = fs::read_dir(bed.home().join(".omp/agent/extensions")).unwrap();
    let ours = ours.next().unwrap().unwrap().path();
    let name = ours.file_stem().unwrap().to_string_lossy().into_owned();
    let file = format!(".omp/extensions/{name}.js");
    let (ran, told) = run_with(&bed, &file, "export default function () {}\n");
    assert!(ran, "it calls us although a project's extension has our name: say so in the docs");
    let replaced =
        format!("{} replaces the user's extension of anyhook", bed.project().join(&file).display());
    assert_eq!(told, [replaced]);

    let file = ".omp/config.yml";
    let text = format!("disabledExtensions: ['extension-module:{name}']\n");
    let (ran, told) = run_with(&bed, file, &text);
    assert!(ran, "it calls us although disabledExtensions names us: say so in the docs");
    let place = bed.project().join(file);
    assert_eq!(
        told,
        [format!("disabledExtensions in {} disables anyhook's hooks", place.display())]
    );
    note(Agent::OhMyPi, OFF);
}

/// A project's settings have nothing by which pi leaves out the user's extensions.
#[test]
fn pi() {
    let Some(mut bed) = wired(Agent::Pi) else { return };
    bed.add_argument("--approve");
    let text = "{\"extensions\": [\"-extensions/anyhook.js\", \"-anyhook.js\"]}";
    let (ran, told) = run_with(&bed, ".pi/settings.json", text);
    assert!(!ran && told.is_empty(), "{told:?}");
    note(Agent::Pi, NO_SWITCH);
}

/// In the file that is not in the repository, such a setting disables hooks; in the other one, it
/// breaks every call of a tool.
#[test]
fn letta() {
    let Some(bed) = wired(Agent::Letta) else { return };
    for (file, is_off) in [(".letta/settings.json", false), (".letta/settings.local.json", true)] {
        let tried = try_with(&bed, file, "{\"hooks\": {\"disabled\": true}}");
        assert_eq!((tried.ran, tried.events), (is_off, 0), "{file}: {tried:#?}");
        let is_broken = tried.outcome.told(1, "is not iterable");
        assert_eq!(is_broken, !is_off, "{file}: it has learned: {tried:#?}");
        let place = bed.project().join(file);
        let setting = format!("hooks.disabled = true in {}", place.display());
        assert_eq!(tried.told, [format!("{setting} disables anyhook's hooks")]);
    }
    note(Agent::Letta, OFF);
}

/// Only a project that is trusted.
#[test]
fn copilot() {
    let Some(mut bed) = wired(Agent::Copilot) else { return };
    let (file, text) = (".github/copilot/settings.json", "{\"disableAllHooks\": true}");
    let (ran, _) = run_with(&bed, file, text);
    assert!(!ran, "it does not call us in a folder that is not trusted: say so in the docs");
    bed.add_argument("--trust-folder");
    let (ran, told) = run_with(&bed, file, text);
    assert!(ran, "it calls us although disableAllHooks: say so in the docs");
    let place = bed.project().join(file);
    assert_eq!(told, [format!("disableAllHooks in {} disables anyhook's hooks", place.display())]);
    note(Agent::Copilot, OFF);
}

/// What a project's hook answers after ours can undo a denial, though: see `overruled.rs`.
#[test]
fn cline() {
    let text = "{\"hooksEnabled\": false, \"disableAllHooks\": true}";
    project_cannot_switch_off(
        Agent::Cline,
        &[(".cline/settings.json", text), (".cline/global-settings.json", text)],
    );
}

/// What an administrator can restrict hooks with does nothing in a project.
#[test]
fn grok() {
    let text = "allow_managed_hooks_only = true\n\n[hooks]\nenabled = false\n";
    project_cannot_switch_off(
        Agent::Grok,
        &[(".grok/config.toml", text), (".grok/requirements.toml", text)],
    );
}

/// A project has no settings.
#[test]
fn kimi_cli() {
    let theirs = "[[hooks]]\nevent = \"Nope\"\ncommand = \"true\"\n";
    project_cannot_switch_off(Agent::KimiCli, &[(".kimi/config.toml", theirs)]);
}
