use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_engine::Level;
use anyhook_engine::hook::Hook;
use anyhook_model::report::init::InitProject;
use anyhook_setup::init::plan::{Choice, plan};
use anyhook_setup::init::survey::Survey;
use anyhook_setup::packs::PackHook;

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packs")
}

fn below(folder: &Path, root: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, root, found);
        } else {
            let inner = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(inner, fs::read(&path).unwrap());
        }
    }
}

#[test]
fn the_program_carries_every_file_as_it_is() {
    let mut found = BTreeMap::new();
    below(&root(), &root(), &mut found);
    let carried: BTreeMap<String, Vec<u8>> =
        FILES.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
    assert!(found.len() > 50);
    assert_eq!(found, carried);
}

#[test]
fn every_pack_can_be_read_whole() {
    let folders: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let packs = all();
    assert_eq!(packs.len(), folders.len());
    for pack in packs {
        assert!(!pack.description.is_empty());
        let count = |folder: &str| {
            fs::read_dir(root().join(&pack.name).join(folder)).map_or(0, Iterator::count)
        };
        assert_eq!(pack.hooks.len(), count("hooks"), "{}", pack.name);
        assert_eq!(pack.commands.len(), count("commands"), "{}", pack.name);
    }
}

/// A hook of a pack is a hook like any other, without a finding, and names its pack.
#[test]
fn every_hook_is_without_a_finding() {
    for pack in all() {
        for hook in &pack.hooks {
            let folder = root().join(&pack.name).join("hooks").join(hook.name());
            // As it is written: with the values of its options.
            let scratch = tempfile::tempdir().unwrap();
            let written = scratch.path().join(hook.name());
            for (path, file) in &hook.files {
                let path = written.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &file.bytes).unwrap();
                let mode = if file.runnable { 0o755 } else { 0o644 };
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
            let loaded = Hook::load(&written, Level::User);
            assert!(loaded.problems.is_empty(), "{}: {:?}", hook.name(), loaded.problems);
            assert_eq!(loaded.definition, hook.definition);
            assert_eq!(hook.definition.metadata["pack"], *pack.name, "{}", hook.name());
            let cases = hook.files.keys().filter(|path| path.starts_with("tests/")).count();
            assert!(cases > 0, "{} has no test case", hook.name());
            for script in hook.files.keys().filter(|path| status::runs(path)) {
                let mode = fs::metadata(folder.join(script)).unwrap().permissions().mode();
                assert_eq!(mode & 0o111, 0o111, "{}/{script}", hook.name());
            }
        }
    }
}

/// An option that no hook uses would be set without any effect.
#[test]
fn every_option_is_used() {
    let mut found = BTreeMap::new();
    below(&root(), &root(), &mut found);
    for pack in all() {
        let hooks = format!("{}/hooks/", pack.name);
        for option in &pack.options {
            let mark = format!("%{{{}}}", option.option.name);
            let uses = |(path, bytes): (&String, &Vec<u8>)| {
                path.starts_with(&hooks) && String::from_utf8_lossy(bytes).contains(&mark)
            };
            assert!(found.iter().any(uses), "{}: {mark}", pack.name);
        }
    }
}

#[test]
fn hooks_come_in_the_order_they_run() {
    let pack = find("delivery-workflow").unwrap();
    let at = |event: &str| -> Vec<&str> {
        let runs = |hook: &&PackHook| {
            hook.definition.triggers.iter().any(|trigger| trigger.kind.to_string() == event)
        };
        pack.hooks.iter().filter(runs).map(PackHook::name).collect()
    };
    assert_eq!(
        at("subagent_start"),
        [
            "context-refresh",
            "inject-workflow-state",
            "load-project-config",
            "load-upstream-artifacts",
            "load-output-schema"
        ]
    );
    assert_eq!(
        at("subagent_stop"),
        [
            "validate-completion-signal",
            "validate-output-artifact",
            "update-workflow-state",
            "second-opinion"
        ]
    );
}

/// A check that breaks must block; a hook that only informs must not.
#[test]
fn guards_block_when_they_fail_and_others_do_not() {
    let pack = find("delivery-workflow").unwrap();
    let blocking: Vec<&str> = pack
        .hooks
        .iter()
        .filter(|hook| hook.definition.on_failure == anyhook_model::hook::FailMode::Block)
        .map(PackHook::name)
        .collect();
    insta::assert_debug_snapshot!(blocking, @r#"
    [
        "check-human-approval",
        "pre-mcp",
        "protect-workflow",
        "validate-completion-signal",
        "validate-output-artifact",
        "update-workflow-state",
    ]
    "#);
}

#[test]
fn what_agents_lack_is_told() {
    let pack = find("delivery-workflow").unwrap();
    let mut told = String::new();
    // Of each kind one: nothing is lacking, an event is, the effect of one is, and nearly all is.
    for id in ["claude-code", "gemini-cli", "opencode", "crush"] {
        let agent = anyhook_hosts::find(id).unwrap();
        for limit in agents::limits(&pack, agent) {
            told += &format!("{} {limit}\n", agent.title);
        }
    }
    insta::assert_snapshot!(told, @"
    Gemini CLI has no subagent_start; these hooks only work at before_agent: context-refresh, inject-workflow-state, load-project-config, load-upstream-artifacts, load-output-schema
    Gemini CLI has no subagent_stop; these hooks only work at before_stop: validate-completion-signal, validate-output-artifact, update-workflow-state, second-opinion
    OpenCode ignores context at subagent_start; these hooks only work at before_agent: context-refresh, inject-workflow-state, load-project-config, load-upstream-artifacts, load-output-schema
    OpenCode can't block subagent_stop; these hooks only work at before_stop: validate-completion-signal, validate-output-artifact, update-workflow-state
    Crush has no before_agent; these hooks have no effect: context-refresh, inject-workflow-state, load-project-config, load-upstream-artifacts, load-output-schema, notify-orchestrator
    Crush has no subagent_start; these hooks have no effect: context-refresh, inject-workflow-state, load-project-config, load-upstream-artifacts, load-output-schema
    Crush has no before_stop; these hooks have no effect: validate-completion-signal, validate-output-artifact, update-workflow-state, second-opinion
    Crush has no subagent_stop; these hooks have no effect: validate-completion-signal, validate-output-artifact, update-workflow-state, second-opinion
    Crush has no after_tool; these hooks have no effect: notify-orchestrator, invoke-safety-review, invoke-governance-review, check-code-health
    ");
}

#[test]
fn a_word_that_means_a_pack() {
    assert!(meant(Path::new("hooks/mine")).is_none());
    assert!(meant(Path::new("./pack/delivery-workflow")).is_none());
    assert!(meant(Path::new("package/x")).is_none());
    assert_eq!(meant(Path::new("pack/delivery-workflow/")).unwrap().unwrap(), "delivery-workflow");
    assert!(meant(Path::new("pack/")).unwrap().is_err());
    assert!(find("../x").is_err());
}

/// What `init` knows of packs is what they are: their names, and the branches protected anyway.
#[test]
fn init_proposes_packs_as_they_are() {
    let project =
        InitProject { git: true, default_branch: Some("dev".to_owned()), ..InitProject::default() };
    let survey = Survey { project: Some(project), ..Survey::default() };
    let report = plan(survey, &Choice::default()).unwrap();
    let mut names: Vec<String> = report.packs.iter().map(|pack| pack.name.clone()).collect();
    names.sort();
    let known = all().into_iter().map(|pack| pack.name).filter(|name| name != "delivery-workflow");
    assert_eq!(names, known.collect::<Vec<_>>());
    let pack = find("protect-branches").unwrap();
    let default = |name: &str| {
        let option = pack.options.iter().find(|option| option.option.name == name).unwrap();
        serde_json::to_value(&option.option.default).unwrap()
    };
    let branches = format!("branches={}|dev", default("branches").as_str().unwrap());
    let mut checked_out = default("checked_out");
    checked_out.as_array_mut().unwrap().push("dev".into());
    let proposed = report.packs.iter().find(|proposed| proposed.name == pack.name).unwrap();
    assert_eq!(proposed.options, [branches, format!("checked_out={checked_out}")]);
}
