use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::AGENTS;
use crate::wiring::SettingsScope;

const COMMAND: HostCommand<'_> = HostCommand {
    name: "look-up",
    description: "Look a thing up: \"as it is\"",
    argument_hint: "TOPIC",
    prompt: "Look up: {argument}\n\nSay \"C:\\x\" and '''so'''.\n",
    mark: "put here by a test",
};

fn scope(project: bool) -> SettingsScope {
    SettingsScope {
        home: PathBuf::from("/home/you"),
        config_home: PathBuf::from("/home/you/.config"),
        project: project.then(|| PathBuf::from("/work")),
        variables: BTreeMap::new(),
    }
}

#[test]
fn every_agent_has_its_own_file() {
    let mut told = String::new();
    for agent in AGENTS {
        for project in [false, true] {
            let Some(file) = agent.settings.command_file(&scope(project), &COMMAND) else {
                continue;
            };
            assert!(has_mark(&file.text, COMMAND.mark), "{}", agent.id());
            assert!(!file.text.contains(ARGUMENT), "{}", agent.id());
            told += &format!("{}: {} {}\n", agent.id(), file.call, file.path.display());
            if !project {
                told += &file.text;
            }
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_folder_that_people_chose() {
    let mut scope = scope(false);
    scope.variables.insert("CLAUDE_CONFIG_DIR", PathBuf::from("/c"));
    scope.variables.insert("CODEX_HOME", PathBuf::from("/x"));
    let paths: Vec<String> = AGENTS
        .iter()
        .filter_map(|agent| agent.settings.command_file(&scope, &COMMAND))
        .map(|file| file.path.display().to_string())
        .collect();
    assert!(paths.contains(&"/c/commands/look-up.md".to_owned()), "{paths:?}");
    assert!(paths.contains(&"/x/skills/look-up/SKILL.md".to_owned()), "{paths:?}");
}

/// Escaped text is parsed back to what it was.
#[test]
fn toml_says_what_was_meant() {
    let text = COMMAND.toml("{{args}}");
    let read: toml_edit::DocumentMut = text.parse().unwrap();
    assert_eq!(read["description"].as_str(), Some(COMMAND.description));
    assert_eq!(read["prompt"].as_str(), Some("Look up: {{args}}\n\nSay \"C:\\x\" and '''so'''.\n"));
}

#[test]
fn a_mark_is_looked_for_where_it_was_put() {
    assert!(has_mark("---\n# ours\nname: x\n---\n", "ours"));
    assert!(has_mark("# ours\nprompt = ''\n", "ours"));
    for theirs in ["", "---\n# ours too\n", "a\nb\n# ours\n", "ours", "#ours"] {
        assert!(!has_mark(theirs, "ours"), "{theirs:?}");
    }
}
