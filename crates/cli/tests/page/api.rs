//! The API: its description is true, and a program finds no request that breaks it.

use std::process::Command;

use anyhook_testkit::{TestEnv, finish, needs, pypi, run};
use serde_json::{Value, json};

use crate::environment;
use crate::opened::{asks, dismissed, link, waits};

fn token(environment: &TestEnv, arguments: &[&str]) -> String {
    let made = environment.run(&[&["ui", "token", "add"], arguments].concat());
    assert_eq!(made.code, 0, "{made:?}");
    made.stdout.trim().to_owned()
}

/// Sends a request with `curl`; returns the status and the body.
fn request(address: &str, token: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "30", "--write-out", "\n%{http_code}"]);
    command.args(["--header", &format!("Authorization: Bearer {token}")]);
    if let Some(body) = body {
        command.args(["--header", "Content-Type: application/json", "--data", &body.to_string()]);
    }
    let ran = run(
        {
            command.arg(format!("{address}{path}"));
            command
        },
        b"",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let (text, status) = ran.stdout.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), serde_json::from_str(text).unwrap_or(Value::Null))
}

fn address(environment: &TestEnv) -> String {
    let page = link(environment);
    format!("{}api/v1", page["address"].as_str().unwrap())
}

#[test]
fn a_token_for_reading_answers_nothing() {
    let environment = environment();
    asks(&environment);
    let (process, decision) =
        waits(&environment, "s", "Shell", &json!({"command": "touch please-ask"}));
    let (address, id) = (address(&environment), decision["inquiry"]["id"].as_str().unwrap());
    let (reads, answers) =
        (token(&environment, &["dashboard"]), token(&environment, &["phone", "--answer"]));
    let (status, listed) = request(&address, &reads, "/decisions?open=true", None);
    assert_eq!((status, &listed[0]["inquiry"]["id"]), (200, &json!(id)));
    assert_eq!(listed[0]["inquiry"]["calls"][0]["input"]["command"], "touch please-ask");
    let path = format!("/decisions/{id}/answer");
    let digest = &listed[0]["inquiry"]["digest"];
    let answer = json!({"choice": "allow", "digest": digest});
    let (status, refused) = request(&address, &reads, &path, Some(&answer));
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("read_only")));
    // An answer is for the call that was seen, and for no other.
    for (wrong, status) in [
        (json!({"choice": "allow"}), 400),
        (json!({"choice": "allow", "digest": "00"}), 409),
        (json!({"choice": "all", "digest": digest}), 422),
        (json!({"choice": "allow", "digest": digest, "more": 1}), 400),
        (json!({"choice": "allow", "digest": digest, "x": 1}), 400),
    ] {
        assert_eq!(request(&address, &answers, &path, Some(&wrong)).0, status, "{wrong}");
    }
    let (status, made) = request(&address, &answers, &path, Some(&answer));
    assert_eq!((status, &made["by"]), (200, &json!("token phone")), "{made}");
    let (status, late) = request(&address, &answers, &path, Some(&answer));
    assert_eq!((status, &late["error"]["code"]), (409, &json!("already_resolved")));
    assert_eq!(finish(process).code, 0);
    // A token that was removed is refused at once.
    assert_eq!(environment.run(&["ui", "token", "remove", "dashboard"]).code, 0);
    assert_eq!(request(&address, &reads, "/status", None).0, 401);
}

/// Hundreds of requests made from the description, good and bad ones: no answer is an internal
/// error, and each is as described.
#[test]
fn the_api_is_as_its_description_says() {
    let folder = match pypi::schemathesis() {
        Ok(folder) => folder,
        Err(error) => return needs::skip("the API", &error.to_string()),
    };
    let environment = environment();
    asks(&environment);
    let (process, decision) =
        waits(&environment, "s", "Shell", &json!({"command": "touch please-ask"}));
    let address = address(&environment);
    for arguments in [&["reader"][..], &["writer", "--answer"]] {
        let token = token(&environment, arguments);
        let (status, description) = request(&address, &token, "/openapi.json", None);
        assert_eq!(status, 200);
        let file = environment.root().join("openapi.json");
        std::fs::write(&file, description.to_string()).unwrap();
        let mut command = Command::new(folder.join("bin/schemathesis"));
        command.args(["run", file.to_str().unwrap(), "--url", &address]);
        command.args(["--header", &format!("Authorization: Bearer {token}")]);
        command.args(["--max-examples", "25", "--seed", "7", "--no-color"]);
        command.args(["--phases", "examples,coverage,fuzzing", "--exclude-path", "/events"]);
        // Which options a decision has, no description says; and a token for reading is refused.
        command.args(["--exclude-checks", "positive_data_acceptance", "--request-timeout", "30"]);
        command.current_dir(environment.root()).env("HOME", environment.home());
        let ran = run(command, b"");
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    }
    dismissed(process, &environment, &decision);
}

/// What happened, which hooks are in force and how they fare: the same as on the command line.
#[test]
fn the_journal_and_what_is_counted_of_it() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "echo 'not <b>here</b>' >&2; exit 2",
    );
    for command in ["ls", "mkfs /dev/<script>sda", "ls -l"] {
        environment.event(&json!({
            "event_type": "before_tool", "session_id": "s1", "tool_name": "Shell",
            "tool_input": {"command": command}, "work_dir": environment.project(),
        }));
    }
    let (address, token) = (address(&environment), token(&environment, &["reader"]));
    let get = |path: &str| request(&address, &token, path, None);

    let (status, found) = get("/records?verdict=deny&tool=Shell&session=s1");
    assert_eq!((status, found["records"].as_array().unwrap().len()), (200, 1), "{found:#}");
    let record = &found["records"][0];
    assert_eq!(record["about"], "mkfs /dev/<script>sda");
    // Page by page, without a gap.
    let mut seen = Vec::new();
    let mut path = "/records?limit=1&event=before_tool".to_owned();
    loop {
        let (status, page) = get(&path);
        assert_eq!(status, 200, "{page:#}");
        seen.extend(page["records"].as_array().unwrap().iter().map(|one| one["about"].clone()));
        let Some(older) = page["older"].as_str() else { break };
        path = format!("/records?limit=1&event=before_tool&before={older}");
    }
    assert_eq!(seen, ["ls -l", "mkfs /dev/<script>sda", "ls"]);
    let (status, trace) = get(&format!("/records/{}", record["id"].as_str().unwrap()));
    assert_eq!(status, 200, "{trace:#}");
    assert_eq!(trace["record"]["runs"][0]["hook"], "guard", "{trace:#}");
    assert_eq!(trace["record"]["payload"]["tool_input"]["command"], "mkfs /dev/<script>sda");
    for wrong in ["verdict=perhaps", "since=soon", "before=x", "limit=0", "limit=201", "color=red"]
    {
        let (status, refused) = get(&format!("/records?{wrong}"));
        assert_eq!((status, &refused["error"]["code"]), (400, &json!("bad_request")), "{wrong}");
    }
    assert_eq!(get("/records/nothing").0, 404);

    let (status, hooks) = get("/hooks");
    assert_eq!(status, 200, "{hooks:#}");
    assert_eq!(hooks["project"], environment.project().to_str().unwrap(), "{hooks:#}");
    let guard = hooks["hooks"].as_array().unwrap().iter().find(|hook| hook["name"] == "guard");
    let health = &guard.unwrap()["health"];
    assert_eq!((&health["runs"], &health["blocks"]), (&json!(1), &json!(1)), "{hooks:#}");
    // Other folders are nobody's business.
    assert_eq!(get("/hooks?project=/etc").0, 404);

    let (status, counted) = get("/stats?since=24h");
    assert_eq!(status, 200, "{counted:#}");
    let sum = |name: &str| -> u64 {
        let steps = counted["report"]["verdicts"][name].as_array().unwrap().iter();
        steps.map(|number| number.as_u64().unwrap()).sum()
    };
    assert_eq!((sum("denied"), sum("asked"), sum("passed")), (1, 0, 2), "{counted:#}");
    for (path, expected) in
        [("/pipelines", json!([])), ("/workflows", json!([])), ("/standing", json!([]))]
    {
        assert_eq!(get(path), (200, expected), "{path}");
    }
}

/// A call that was allowed again is asked about again once that is revoked.
#[test]
fn a_standing_answer_can_be_revoked() {
    let environment = environment();
    asks(&environment);
    let input = json!({"command": "touch please-ask"});
    let (process, decision) = waits(&environment, "s", "Shell", &input);
    let id = decision["inquiry"]["id"].as_str().unwrap();
    let allowed = environment.run(&["decision", "resolve", id, "allow", "--again"]);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert_eq!(finish(process).code, 0);
    let address = address(&environment);
    let (reads, answers) =
        (token(&environment, &["reader"]), token(&environment, &["phone", "--answer"]));
    let (status, standing) = request(&address, &reads, "/standing", None);
    assert_eq!((status, &standing[0]["id"]), (200, &json!(id)), "{standing:#}");
    let revoke = |token: &str| delete(&address, token, &format!("/standing/{id}"));
    assert_eq!(revoke(&reads), 403);
    assert_eq!(revoke(&answers), 200);
    assert_eq!(revoke(&answers), 404);
    assert_eq!(request(&address, &reads, "/standing", None), (200, json!([])));
    let (process, decision) = waits(&environment, "s", "Shell", &input);
    dismissed(process, &environment, &decision);
}

fn delete(address: &str, token: &str, path: &str) -> u16 {
    let mut command = Command::new("curl");
    command.args(["--silent", "--output", "/dev/null", "--max-time", "30", "--request", "DELETE"]);
    command.args(["--header", &format!("Authorization: Bearer {token}")]);
    command.args(["--write-out", "%{http_code}", &format!("{address}{path}")]);
    run(command, b"").stdout.parse().unwrap()
}
