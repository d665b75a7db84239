//! Where an agent reads its settings when a variable names another folder: `install` writes there.

use anyhook_testkit::agents::{Agent, Bed};
use anyhook_testkit::model_server::Turn;
use anyhook_testkit::write;

use crate::environment;

#[test]
fn gemini_cli_has_another_home() {
    let Some(mut bed) = Bed::within(environment(), Agent::GeminiCli) else { return };
    let other = bed.environment().root().join("other home");
    let settings = std::fs::read_to_string(bed.home().join(".gemini/settings.json")).unwrap();
    write(&other.join(".gemini/settings.json"), settings, 0o644);
    bed.set_variable("GEMINI_CLI_HOME", &other);

    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: '^touch forbidden'}";
    bed.environment().user_hook("no-danger", matter, "echo no >&2\nexit 2");
    let mut install = bed.environment().command(&["install", "gemini-cli"]);
    install.env("GEMINI_CLI_HOME", &other);
    let installed = anyhook_testkit::run(install, b"");
    assert_eq!(installed.code, 0, "{installed:?}");
    let there = std::fs::read_to_string(other.join(".gemini/settings.json")).unwrap();
    assert!(there.contains("anyhook"), "{there}");

    bed.run("go on", [bed.shell_tool("touch forbidden"), Turn::text("that was all")]);
    assert!(!bed.project().join("forbidden").exists());
    let denied = |record: &serde_json::Value| record["verdict"]["decision"] == "deny";
    assert!(bed.environment().journal().iter().any(denied));
}
