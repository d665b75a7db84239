//! `anyhook uninstall`.

use std::fs;
use std::path::PathBuf;

use anyhook_testkit::{TestEnv, write};
use proptest::prelude::*;

use super::install::{AGENTS, anyhook, files, in_place, settings};
use crate::environment;

/// Runs a command for all four agents.
fn all(environment: &TestEnv, command: &[&str]) -> anyhook_testkit::CommandRun {
    let arguments: Vec<&str> = command.iter().copied().chain(AGENTS).collect();
    anyhook(environment, &arguments)
}

/// Settings as people have them: comments, tabs, commas at the end, no line break at the end.
const JSON: [&str; 10] = [
    "",
    "{}",
    "\n\n  { }\n\n",
    "// only a comment\n{\n}\n",
    "{\"model\":\"x\",\"hooks\":{}}",
    "{\n\t\"hooks\" : { \"PreToolUse\":[] , \"BeforeTool\": [ ] }, /* why */\n\t\"z\": 1,\n}",
    "\u{feff}{\r\n  \"a\": 1.50,\r\n  // mine\r\n  \"b\": [1,\r\n 2]\r\n}\r\n",
    "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}, // last\n]}}\n",
    "{\"hooks\": {\"SessionStart\": [\n{\"matcher\": \"startup\", \"hooks\": [{\"type\": \"prompt\", \"prompt\": \"x\"}]}\n] // after\n} /* end */ }   ",
    "{\"a\": {\"b\": {\"c\": \"d\\u00e4\"}},\n\n\n \"hooks\": {\"Unknown\": 7}}",
];

const TOML: [&str; 5] = [
    "",
    "# only a comment",
    "model = 'x' # why\n\n\n[features]\nhooks = true\n",
    "[hooks.state]\n\"/other/hooks.json:stop:0:0\" = { trusted_hash = \"sha256:aa\" }\n\n# the end\n",
    "  [ projects . \"/a b\" ]\r\ntrust_level = \"trusted\"\r\n[hooks]\r\n",
];

#[test]
fn to_the_byte() {
    for (index, text) in JSON.iter().enumerate() {
        let environment = in_place();
        for agent in &AGENTS[..3] {
            write(&settings(&environment, agent), text, 0o640);
        }
        let toml = TOML[index % TOML.len()];
        write(&environment.home().join(".codex/config.toml"), toml, 0o600);
        write(&environment.home().join(".config/opencode/plugins/mine.js"), "// mine\n", 0o644);
        let before = files(&environment);
        let installed = all(&environment, &["install"]);
        assert_eq!(installed.code, 0, "{text:?}: {installed:?}");
        let wired = files(&environment);
        assert_ne!(wired, before);
        assert_eq!(all(&environment, &["install"]).code, 0);
        assert_eq!(files(&environment), wired, "a second time changes nothing: {text:?}");
        let ran = all(&environment, &["uninstall", "--verify"]);
        assert_eq!(ran.code, 0, "{text:?}: {ran:?}");
        assert_eq!(files(&environment), before, "{text:?}");
        assert!(fs::read_dir(environment.state().join("installed")).unwrap().next().is_none());
    }
}

#[test]
fn what_it_says() {
    let environment = in_place();
    write(&settings(&environment, "gemini-cli"), "{\n  // mine\n  \"theme\": \"x\"\n}\n", 0o644);
    assert_eq!(anyhook(&environment, &["install", "gemini-cli"]).code, 0);
    let arguments = ["uninstall", "gemini-cli", "--verify", "--diff"];
    assert_run!(environment, anyhook(&environment, &arguments));
}

/// A line for each agent and file: what would be done, then what was done.
#[test]
fn a_line_for_each_agent_and_file() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), "{\n  \"model\": \"x\"\n}\n", 0o644);
    write(&settings(&environment, "gemini-cli"), "{\n  \"theme\": \"x\"\n}\n", 0o644);
    assert_eq!(all(&environment, &["install"]).code, 0);
    let file = settings(&environment, "gemini-cli");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("\"x\"", "\"y\"")).unwrap();
    let before = files(&environment);
    assert_run!(environment, anyhook(&environment, &["uninstall", "--dry-run"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  would be uninstalled
      would be restored exactly: ~/.claude/settings.json
    Codex  would be uninstalled
      would be removed (it was created by the install): ~/.codex/config.toml
      would be removed (it was created by the install): ~/.codex/hooks.json
    Gemini CLI  would be uninstalled
      edited since install, so it would not be identical: ~/.gemini/settings.json
    OpenCode  would be uninstalled
      would be removed (it was created by the install): ~/.config/opencode/plugins/anyhook.js
    nothing was changed; --diff shows every line
    ");
    assert_eq!(files(&environment), before);
    assert_run!(environment, anyhook(&environment, &["uninstall"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  uninstalled
      restored exactly: ~/.claude/settings.json
    Codex  uninstalled
      removed (it was created by the install): ~/.codex/config.toml
      removed (it was created by the install): ~/.codex/hooks.json
    Gemini CLI  uninstalled
      edited since install, so not identical: ~/.gemini/settings.json
    OpenCode  uninstalled
      removed (it was created by the install): ~/.config/opencode/plugins/anyhook.js
    ");
    assert_run!(environment, anyhook(&environment, &["uninstall", "--project"]), @"
    exit code: 0
    ----- stdout -----
    nothing to uninstall: anyhook is not in any agent's project settings
    ");
}

#[test]
fn as_json() {
    let environment = in_place();
    assert_eq!(anyhook(&environment, &["install", "claude-code", "codex"]).code, 0);
    let file = settings(&environment, "claude-code");
    fs::write(&file, fs::read_to_string(&file).unwrap().replacen('{', "{ ", 1)).unwrap();
    let arguments = ["uninstall", "claude-code", "codex", "opencode", "--json"];
    let report = anyhook(&environment, &arguments).json();
    assert_eq!(report["dry_run"], false);
    let results: Vec<&str> = report["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["result"].as_str().unwrap())
        .collect();
    assert_eq!(results, ["uninstalled", "uninstalled", "not_installed"]);
    assert_eq!(report["agents"][0]["files"][0]["restored"], "edited");
    assert_eq!(report["agents"][1]["files"][0]["restored"], "exactly");
    assert_eq!(report["agents"][1]["files"][0]["change"], "removed");
}

#[test]
fn files_that_were_not_there_go() {
    let environment = in_place();
    let before = files(&environment);
    assert_eq!(all(&environment, &["install"]).code, 0);
    assert_eq!(all(&environment, &["uninstall", "--verify"]).code, 0);
    assert_eq!(files(&environment), before);
}

#[test]
fn out_of_a_project() {
    let environment = in_place();
    write(&environment.project().join(".claude/settings.json"), "{ }", 0o644);
    let before = files(&environment);
    assert_eq!(all(&environment, &["install"]).code, 0);
    let user = files(&environment);
    assert_eq!(all(&environment, &["install", "--project"]).code, 0);
    assert_eq!(all(&environment, &["uninstall", "--project", "--verify"]).code, 0);
    assert_eq!(files(&environment), user, "the user's stays");
    assert_eq!(all(&environment, &["uninstall", "--verify"]).code, 0);
    assert_eq!(files(&environment), before);
}

/// An edit since stays; only what is ours goes.
#[test]
fn after_an_edit() {
    let environment = in_place();
    let file = settings(&environment, "claude-code");
    write(&file, "{\n  \"model\": \"x\"\n}\n", 0o644);
    assert_eq!(anyhook(&environment, &["install", "claude-code"]).code, 0);
    let edited = fs::read_to_string(&file).unwrap().replace("\"x\"", "\"y\" /* better */");
    fs::write(&file, edited).unwrap();
    let ran = anyhook(&environment, &["uninstall", "claude-code", "--verify"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.ends_with("  edited since install, so not identical: ~/.claude/settings.json\n"),
        "{ran:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"model\": \"y\" /* better */\n}\n");
}

/// After an edit and a second installation, what is taken back to is the edit and not our entries.
#[test]
fn after_an_edit_and_a_second_installation() {
    let environment = in_place();
    let file = settings(&environment, "gemini-cli");
    write(&file, "{\n  \"theme\": \"x\"\n}\n", 0o644);
    assert_eq!(anyhook(&environment, &["install", "gemini-cli"]).code, 0);
    let edited = fs::read_to_string(&file)
        .unwrap()
        .replace("\"x\"", "\"y\"")
        .replace("--deadline-ms 540000", "--deadline-ms 9");
    fs::write(&file, edited).unwrap();
    assert_eq!(anyhook(&environment, &["install", "gemini-cli"]).code, 0);
    let ran = anyhook(&environment, &["uninstall", "gemini-cli"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"theme\": \"y\"\n}\n");
}

/// Others' hooks keep their places and Codex its trust in them.
#[test]
fn codex_after_an_edit() {
    let environment = in_place();
    let file = settings(&environment, "codex");
    let config = environment.home().join(".codex/config.toml");
    write(&config, "model = \"x\" # mine\n", 0o644);
    assert_eq!(anyhook(&environment, &["install", "codex"]).code, 0);
    // Somebody puts a hook before ours: ours is not where the trust says any more.
    let text = fs::read_to_string(&file).unwrap();
    let at = text.find("\"Stop\": [").unwrap() + "\"Stop\": [".len();
    let theirs = "{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]},";
    fs::write(&file, format!("{}{theirs}{}", &text[..at], &text[at..])).unwrap();
    let ran = anyhook(&environment, &["doctor"]);
    assert!(ran.stdout.contains(":stop:1:0 is not trusted"), "{ran:?}");
    assert_eq!(anyhook(&environment, &["install", "codex"]).code, 0);
    let ran = anyhook(&environment, &["doctor"]);
    assert!(!ran.stdout.contains("is not trusted"), "{ran:?}");
    assert_eq!(anyhook(&environment, &["uninstall", "codex"]).code, 0);
    assert_eq!(fs::read_to_string(&config).unwrap(), "model = \"x\" # mine\n");
    let left = fs::read_to_string(&file).unwrap();
    assert!(left.contains("theirs") && !left.contains("anyhook"), "{left}");
}

#[test]
fn not_installed() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), "{}", 0o644);
    let before = files(&environment);
    assert_run!(environment, anyhook(&environment, &["uninstall", "claude-code", "--verify"]), @"
    exit code: 0
    ----- stdout -----
    Claude Code  not installed
    ");
    assert_eq!(files(&environment), before);
}

#[test]
fn no_agent() {
    let environment = in_place();
    assert_run!(environment, anyhook(&environment, &["uninstall"]), @"
    exit code: 0
    ----- stdout -----
    nothing to uninstall: anyhook is not in any agent's user settings
    ");
}

/// Without a record what is ours goes, and nobody can say whether the rest is as before.
#[test]
fn without_a_record() {
    let environment = in_place();
    let file = settings(&environment, "gemini-cli");
    write(&file, "{\n  // mine\n  \"theme\": \"x\"\n}\n", 0o644);
    assert_eq!(anyhook(&environment, &["install", "gemini-cli"]).code, 0);
    for record in ["gone", "broken"] {
        let path = environment.state().join("installed/gemini-cli-user.json");
        if record == "gone" {
            fs::remove_file(path).unwrap();
        } else {
            assert_eq!(anyhook(&environment, &["install", "gemini-cli"]).code, 0);
            fs::write(path, "{").unwrap();
        }
        let ran = anyhook(&environment, &["uninstall", "gemini-cli", "--verify"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stdout.contains("not recorded at install"), "{ran:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  // mine\n  \"theme\": \"x\"\n}\n");
    }
}

#[test]
fn broken_settings() {
    let environment = in_place();
    let file = settings(&environment, "claude-code");
    assert_eq!(anyhook(&environment, &["install", "claude-code"]).code, 0);
    fs::write(&file, "{\"hooks\": ").unwrap();
    assert_run!(environment, anyhook(&environment, &["uninstall", "claude-code"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.claude/settings.json` is invalid: Expected value after colon in object property on line 1 column 11
    hint: nothing was changed; fix the file or move it away, then try again
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"hooks\": ");
    let records = fs::read_dir(environment.state().join("installed")).unwrap();
    let records: Vec<PathBuf> = records.flatten().map(|entry| entry.path()).collect();
    assert_eq!(records.len(), 1, "what was there before is still known: {records:?}");
}

#[test]
fn a_read_only_file() {
    for agent in AGENTS {
        let environment = in_place();
        assert_eq!(anyhook(&environment, &["install", agent]).code, 0);
        let file = settings(&environment, agent);
        let mut rights = fs::metadata(&file).unwrap().permissions();
        rights.set_readonly(true);
        fs::set_permissions(&file, rights).unwrap();
        let before = files(&environment);
        let ran = anyhook(&environment, &["uninstall", agent]);
        assert!(ran.code == 1 && ran.stderr.contains("it is read-only"), "{agent}: {ran:?}");
        assert_eq!(files(&environment), before, "{agent}");
    }
}

#[test]
fn an_unknown_agent() {
    let environment = in_place();
    let ran = anyhook(&environment, &["uninstall", "vim"]);
    assert_eq!(ran.code, 64, "{ran:?}");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["uninstall", "--help"]));
}

/// JSON settings as people have them: keys of all sorts, other people's hooks, comments, any form.
fn generated_settings() -> impl Strategy<Value = String> {
    let keys = proptest::collection::btree_map("[a-z]{1,8}", "[a-z \"\\\\/]{0,12}", 0..5);
    let events = proptest::collection::btree_set(
        prop_oneof![Just("PreToolUse"), Just("BeforeTool"), Just("Stop"), Just("Unknown")],
        0..3,
    );
    let form =
        (prop_oneof![Just("  "), Just("    "), Just("\t"), Just("")], any::<bool>(), any::<bool>());
    (keys, events, form).prop_map(|(keys, events, (indent, has_comment, ends_line))| {
        let mut settings = serde_json::json!({});
        for (key, value) in keys {
            settings[key] = value.into();
        }
        for event in events {
            settings["hooks"][event] = serde_json::json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "theirs"}]}]);
        }
        let text = serde_json::to_string_pretty(&settings).unwrap().replace("  ", indent);
        let comment = if has_comment { "// by hand, do not touch\n" } else { "" };
        format!("{comment}{text}{}", if ends_line { "\n" } else { "" })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the settings were, they are the same again, to the byte.
    #[test]
    fn any_settings_come_back_to_the_byte(
        claude in generated_settings(), codex in generated_settings(), gemini in generated_settings(),
        model in "[a-z0-9-]{1,12}", is_commented in any::<bool>(),
    ) {
        let environment = environment();
        // Codex takes nothing but hooks at the top of this file.
        let codex = if codex.contains("\"hooks\"") { codex } else { "{}".to_owned() };
        let note = if is_commented { " # mine" } else { "" };
        let config = format!("model = \"{model}\"{note}\n\n[features]\n  hooks = true\n");
        let files = [
            (".claude/settings.json", claude),
            (".codex/hooks.json", codex),
            (".codex/config.toml", config),
            (".gemini/settings.json", gemini),
        ];
        for (name, text) in &files {
            write(&environment.home().join(name), text, 0o644);
        }
        let all = ["claude-code", "codex", "gemini-cli", "opencode"];
        let installed = environment.run(&[&["install"], &all[..]].concat());
        prop_assert_eq!(installed.code, 0, "{:?}", installed);
        let back = environment.run(&[&["uninstall", "--verify"], &all[..]].concat());
        prop_assert_eq!(back.code, 0, "{:?}", back);
        for (name, text) in &files {
            let now = fs::read_to_string(environment.home().join(name)).unwrap();
            prop_assert_eq!(&now, text, "{}", name);
        }
        prop_assert!(!environment.home().join(".config/opencode/plugins/anyhook.js").exists());
    }
}
