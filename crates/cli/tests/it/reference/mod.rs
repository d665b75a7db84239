//! The reference page of the open format as tests: a file for each section, a test for each rule.
//!
//! Nothing of the program is used but its command line; events are answered in this process where
//! the rule is one of hooks and not of processes. Scripts leave what they got in the project's
//! folder, which is where they run.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_testkit::{CommandRun, TestEnv, write};
use serde_json::{Value, json};

mod answers;
mod declarative;
mod environment;
mod events;
mod hook_file;
mod matching;
mod places_and_order;
mod protocol;
mod running;
mod trust;

/// A script that blocks.
const BLOCK: &str = "echo no >&2; exit 2";
/// A script that leaves `ran-NAME` in the project.
const MARK: &str = "touch \"ran-$ANYHOOK_HOOK_NAME\"";

/// Makes a user's hook with a HOOK.md written in full.
fn raw_hook(environment: &TestEnv, name: &str, file: impl AsRef<[u8]>, script: &str) -> PathBuf {
    let folder = environment.user_hook(name, "trigger: before_tool", script);
    write(&folder.join("HOOK.md"), file, 0o644);
    folder
}

/// Sends a `before_tool` event.
fn tool(environment: &TestEnv, name: &str, input: &Value) -> CommandRun {
    environment.event(&json!({"event_type": "before_tool", "tool_name": name, "tool_input": input}))
}

/// Tells whether a script left a file in the project.
fn left(environment: &TestEnv, file: &str) -> bool {
    environment.project().join(file).exists()
}

/// Returns what a script wrote into a file in the project.
fn written(environment: &TestEnv, file: &str) -> String {
    let path = environment.project().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the event a script got, if it was written with `cat > seen.json`.
fn seen(environment: &TestEnv) -> Value {
    serde_json::from_str(&written(environment, "seen.json")).unwrap()
}

/// Returns what `list --json` says of a hook.
fn listed(environment: &TestEnv, name: &str) -> Value {
    let ran = environment.run(&["list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let hooks = ran.json()["hooks"].clone();
    let found = hooks.as_array().unwrap().iter().find(|hook| hook["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("{name} is not in {hooks}"))
}

/// Returns the findings of `check --json` about a hook.
fn findings(environment: &TestEnv, name: &str) -> Vec<Value> {
    let ran = environment.run(&["check", name, "--json"]);
    assert!(ran.code < 2, "{ran:?}");
    ran.json()["hooks"][0]["problems"].as_array().unwrap().clone()
}

/// Returns the finding with a code.
fn finding(environment: &TestEnv, name: &str, code: &str) -> Value {
    let all = findings(environment, name);
    let found = all.iter().find(|finding| finding["code"] == code).cloned();
    found.unwrap_or_else(|| panic!("no finding `{code}` in {all:?}"))
}

/// Returns the journal's last record of a dispatch.
fn last_record(environment: &TestEnv) -> Value {
    let journal = environment.journal();
    journal.into_iter().rfind(|record| record.get("of").is_none()).expect("a record")
}

/// Returns what the last record says of a hook that had its turn.
fn last_run(environment: &TestEnv, hook: &str) -> Value {
    let record = last_record(environment);
    let runs = record["runs"].as_array().cloned().unwrap_or_default();
    runs.into_iter().find(|run| run["hook"] == hook).unwrap_or_else(|| panic!("{hook}: {record}"))
}

/// Returns why the last record says that a hook was left out.
fn last_skip(environment: &TestEnv, hook: &str) -> Value {
    let record = last_record(environment);
    let skipped = record["skipped"].as_array().cloned().unwrap_or_default();
    let found = skipped.into_iter().find(|skip| skip["hook"] == hook);
    found.unwrap_or_else(|| panic!("{hook}: {record}"))["why"].clone()
}

/// Trusts all hooks of the project.
fn trust_all(environment: &TestEnv) {
    let ran = environment.run(&["trust", "--all"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Returns a command that starts `inner` by way of other words, in the same folder and environment.
fn by_way_of(words: &[&str], inner: &Command) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(inner.get_program()).args(inner.get_args()).env_clear();
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.current_dir(inner.get_current_dir().unwrap());
    command
}

/// Tells whether a process whose id is in a file of the project is alive.
fn is_alive(environment: &TestEnv, file: &str) -> bool {
    let id = written(environment, file);
    let stat = fs::read_to_string(Path::new("/proc").join(id.trim()).join("stat"));
    // The state follows the name in parentheses; Z is a process that only waits to be counted.
    stat.is_ok_and(|stat| !stat.rsplit(") ").next().unwrap_or_default().starts_with(['Z', 'X']))
}

/// Ends a process whose id is in a file of the project.
fn end(environment: &TestEnv, file: &str) {
    let id = written(environment, file);
    assert!(Command::new("kill").args(["-9", id.trim()]).status().unwrap().success());
}
