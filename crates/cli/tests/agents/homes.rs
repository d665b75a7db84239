//! Where an agent has its settings and logs when a variable names another folder: `install` writes
//! there, `hosts` and `doctor` look there, and the daemon follows what is written there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhook_hosts::log::{LogRoots, is_named};
use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;

use crate::environment;

/// Returns how many logs Gemini CLI has below a home, where the daemon looks for them.
fn logs(home: &Path, variables: BTreeMap<&'static str, std::path::PathBuf>) -> usize {
    let homes = LogRoots { home: home.to_owned(), variables };
    let places = anyhook_hosts::gemini_cli::SPEC.log_places(&homes);
    // The other one has the logs of subagents.
    let place = &places[0];
    let [_, chats, file] = place.names else { panic!("{place:?}") };
    let folders = fs::read_dir(&place.folder).into_iter().flatten().flatten();
    let files = folders.flat_map(|project| fs::read_dir(project.path().join(chats))).flatten();
    files.flatten().filter(|entry| is_named(file, &entry.file_name().to_string_lossy())).count()
}

/// Tells whether `anyhook hosts` says that Gemini CLI calls us.
fn is_wired(bed: &AgentSandbox, home: Option<&Path>) -> bool {
    let mut hosts = bed.environment().command(&["hosts", "--json"]);
    hosts.envs(home.map(|home| ("GEMINI_CLI_HOME", home)));
    let told = anyhook_testkit::run(hosts, b"");
    let told: Vec<serde_json::Value> = serde_json::from_str(&told.stdout).unwrap();
    let own = told.iter().find(|host| host["id"] == "gemini-cli").unwrap();
    own["wired"].as_bool().unwrap()
}

#[test]
fn gemini_cli_has_another_home() {
    let Some(mut bed) = AgentSandbox::within(environment(), Agent::GeminiCli) else { return };
    let other = bed.environment().root().join("other home");
    let settings = fs::read_to_string(bed.home().join(".gemini/settings.json")).unwrap();
    write(&other.join(".gemini/settings.json"), settings, 0o644);
    bed.set_variable("GEMINI_CLI_HOME", &other);

    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}";
    bed.environment().user_hook("no-danger", matter, "echo no >&2\nexit 2");
    let mut install = bed.environment().command(&["install", "gemini-cli"]);
    install.env("GEMINI_CLI_HOME", &other);
    let installed = anyhook_testkit::run(install, b"");
    assert_eq!(installed.code, 0, "{installed:?}");
    let there = fs::read_to_string(other.join(".gemini/settings.json")).unwrap();
    assert!(there.contains("anyhook"), "{there}");
    assert!(is_wired(&bed, Some(&other)) && !is_wired(&bed, None));
    let mut doctor = bed.environment().command(&["doctor"]);
    doctor.env("GEMINI_CLI_HOME", &other);
    let doctor = anyhook_testkit::run(doctor, b"");
    assert!(doctor.stdout.contains("installed in user settings"), "{doctor:?}");

    bed.run("go on", [bed.shell_tool("touch forbidden"), ModelTurn::text("that was all")]);
    assert!(!bed.project().join("forbidden").exists());
    let denied = |record: &serde_json::Value| record["verdict"]["decision"] == "deny";
    assert!(bed.environment().journal().iter().any(denied));
    assert_eq!(logs(&bed.home(), [("GEMINI_CLI_HOME", other)].into()), 1);
    assert_eq!(logs(&bed.home(), BTreeMap::new()), 0, "it writes nothing into its usual home");
}
