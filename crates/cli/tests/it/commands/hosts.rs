//! `anyhook hosts`.

use anyhook_hosts::AGENTS;
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{require, write};

use super::install::{anyhook, in_place, program, settings};
use crate::environment;

#[test]
fn as_a_person_sees_it() {
    let environment = in_place();
    program(&environment, "claude");
    assert_eq!(anyhook(&environment, &["install", "claude-code"]).code, 0);
    assert_run!(environment, anyhook(&environment, &["hosts"]));
}

#[test]
fn of_named_agents() {
    let environment = in_place();
    assert_run!(environment, anyhook(&environment, &["hosts", "pi", "cursor"]));
    assert_run!(environment, anyhook(&environment, &["hosts", "emacs"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown agent `emacs`
    hint: available: [AGENTS]
    ");
}

#[test]
fn as_json() {
    let environment = in_place();
    program(&environment, "codex");
    let ran = anyhook(&environment, &["hosts", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let hosts = ran.json();
    let ids: Vec<&str> =
        hosts.as_array().unwrap().iter().map(|host| host["id"].as_str().unwrap()).collect();
    let (supported, refused) = ids.split_at(AGENTS.len());
    assert_eq!(supported, AGENTS.map(anyhook_hosts::HostSpec::id));
    assert_eq!(refused, ["continue"]);
    let refused = &hosts[AGENTS.len()];
    assert_eq!(refused["unsupported"], "it reads settings of hooks and never calls a hook");
    assert_eq!((&refused["tried_version"], &refused["wired"]), (&"1.5.47".into(), &false.into()));
    assert!(hosts[0].get("unsupported").is_none());
    let mut first = hosts[ids.iter().position(|id| *id == "codex").unwrap()].clone();
    first["capabilities"].as_array_mut().unwrap().truncate(1);
    first["quirks"].as_array_mut().unwrap().truncate(1);
    let text = environment.normal(&serde_json::to_string_pretty(&first).unwrap());
    insta::assert_snapshot!(text, @r#"
    {
      "id": "codex",
      "title": "Codex",
      "program": "[ROOT]/home/bin/codex",
      "version": null,
      "tried_version": "0.166.0",
      "standing": null,
      "contracts": [
        {
          "from": "0.166.0",
          "below": null,
          "run": "0.166.0",
          "documented": null,
          "supported": true,
          "note": null
        }
      ],
      "wired": false,
      "obstacles": [],
      "capabilities": [
        {
          "event": "session_start",
          "native": "SessionStart",
          "block": true,
          "modify": false,
          "context": true,
          "ask": false
        }
      ],
      "quirks": [
        {
          "id": "codex-strict-json",
          "versions": "0.166.0",
          "behaviour": "a single unknown key in the JSON answer, or exit 2 without text, lets the tool run",
          "mitigation": "a deny is exit 2 with a reason on stderr that is never empty",
          "evidence": "run"
        }
      ]
    }
    "#);
}

/// Settings that cannot be read are the doctor's business.
#[test]
fn broken_settings() {
    let environment = in_place();
    write(&settings(&environment, "claude-code"), "{", 0o644);
    let ran = anyhook(&environment, &["hosts", "--json"]);
    assert_eq!((ran.code, ran.json()[0]["wired"].clone()), (0, false.into()), "{ran:?}");
}

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    let environment = in_place();
    let hosts = environment.command_without_home(&["hosts"]);
    assert_eq!(anyhook_testkit::run(hosts, b"").code, 0);
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["hosts", "--help"]));
}
