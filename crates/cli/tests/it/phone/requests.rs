//! What a paired phone sends: its answers count, and what it did not sign so does not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::Instant;

use anyhook_testkit::{TestEnv, begin, finish, wait_within, write};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};

use super::client::{LIMIT, Sent, paired};
use crate::environment;

/// An environment in which a hook asks about deployments, and waits for a person.
fn waiting() -> TestEnv {
    let environment = environment();
    let settings = "[decisions]\nwait = [\"ask\"]\nwait_seconds = 120\n[notify]\ndesktop = false\n";
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    environment.user_hook(
        "careful",
        "trigger: before_tool\nmatcher:\n  pattern: deploy",
        r#"echo '{"decision": "ask", "reason": "this goes to production"}'"#,
    );
    environment
}

/// An agent asks, and waits.
fn asks(environment: &TestEnv, command: &str) -> Child {
    let call = json!({
        "event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": command},
        "session_id": "s", "cwd": environment.project(),
    });
    begin(environment.command(&["hook", "agent-hooks"]), call.to_string().as_bytes())
}

/// Waits until one decision is open, and returns its inquiry.
fn open(environment: &TestEnv) -> Value {
    let list = || environment.run(&["decision", "list", "--json"]).json();
    wait_within(LIMIT, "a decision to be open", || list().as_array().unwrap().len() == 1);
    list()[0]["inquiry"].clone()
}

fn path(inquiry: &Value) -> String {
    format!("/decisions/{}/answer", inquiry["id"].as_str().unwrap())
}

fn body(inquiry: &Value, choice: &str) -> String {
    format!("digest={}&message=&choice={choice}", inquiry["digest"].as_str().unwrap())
}

/// Returns why requests of devices were refused, as the journal says.
fn refused(environment: &TestEnv) -> Vec<String> {
    let records = environment.all_records();
    let ours = records.iter().filter(|one| one["event"] == "command:ui_device");
    ours.inspect(|one| assert_eq!(one["payload"]["outcome"], "refused"))
        .map(|one| one["about"].as_str().unwrap().to_owned())
        .collect()
}

fn wait_for_refusal(environment: &TestEnv, why: &str) {
    wait_within(LIMIT, why, || refused(environment).iter().any(|one| one.ends_with(why)));
}

#[test]
fn a_phone_answers_an_agent_that_waits() {
    let environment = waiting();
    let phone = paired(&environment, "Ann's phone");
    let agent = asks(&environment, "make deploy");
    let inquiry = open(&environment);
    let id = inquiry["id"].as_str().unwrap();
    let page = phone.get(&format!("/decisions/{id}"));
    assert!(
        page.body.contains("make deploy") && page.body.contains("/assets/device.js"),
        "{page:?}"
    );
    let answered = phone.post(&phone.signed(&path(&inquiry), &body(&inquiry, "allow")));
    assert_eq!(
        (answered.status, answered.json()["to"].as_str()),
        (200, Some(&*format!("/decisions/{id}")))
    );
    let reply = finish(agent);
    assert_eq!(reply.code, 0, "{reply:?}");
    assert!(!reply.stdout.contains("ask") && !reply.stdout.contains("deny"), "{reply:?}");
    let resolved = || {
        let journal = environment.journal();
        journal.iter().find(|one| one["event"] == "decision:resolved").cloned()
    };
    wait_within(LIMIT, "the answer in the journal", || resolved().is_some());
    let made = resolved().unwrap()["payload"].clone();
    assert_eq!(
        (made["choice"].as_str(), made["by"].as_str()),
        (Some("allow"), Some("Ann's phone (device)"))
    );
    // Whoever has the record can check who has signed what.
    let signature = &made["signature"];
    let text = signature["text"].as_str().unwrap();
    assert!(text.contains(&path(&inquiry)) && text.ends_with(&body(&inquiry, "allow")), "{text}");
    assert_eq!(signature["key"], phone.public_key());
    assert_eq!(signature["device"], phone.id);
    let bytes = |name: &str| -> Vec<u8> {
        let digits = signature[name].as_str().unwrap();
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect()
    };
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes("key"));
    key.verify(text.as_bytes(), &bytes("signature")).unwrap();
    assert!(refused(&environment).is_empty());
}

#[test]
fn what_the_phone_did_not_sign_so_is_refused_and_journaled() {
    let environment = waiting();
    let phone = paired(&environment, "phone");
    let other = paired(&environment, "other");
    let agent = asks(&environment, "make deploy");
    let inquiry = open(&environment);
    let (path, allow) = (path(&inquiry), body(&inquiry, "allow"));
    let altered = |change: &dyn Fn(&mut Sent), code: &str| {
        let mut sent = phone.signed(&path, &body(&inquiry, "deny"));
        change(&mut sent);
        let answered = phone.post(&sent);
        assert_eq!((answered.status, answered.code().as_str()), (403, code), "{sent:?}");
    };
    altered(&|sent| sent.body = allow.clone(), "wrong_signature");
    altered(&|sent| sent.body = sent.body.replace("digest=", "digest=0"), "wrong_signature");
    altered(&|sent| sent.body += "&again=true", "wrong_signature");
    altered(&|sent| sent.path = sent.path.replace("/answer", "/claim"), "wrong_signature");
    altered(&|sent| sent.device.clone_from(&other.id), "wrong_device");
    altered(&|sent| sent.nonce = "0".repeat(64), "unknown_nonce");
    altered(&|sent| *sent = other.signed(&path, &allow), "wrong_device");
    altered(&|sent| sent.signature = other.sign("x"), "wrong_signature");
    // A form that a browser sends without the script.
    let lines = [
        phone.cookie_line(),
        format!("origin: https://{}", phone.authority),
        "content-type: application/x-www-form-urlencoded".to_owned(),
    ];
    let plain = phone.request("POST", &path, &lines, &allow);
    assert_eq!(plain.status, 403);
    assert!(plain.body.contains("its browser needs JavaScript"), "{plain:?}");
    // Signed, but about another call than the decision.
    let elsewhere = format!("digest={}&choice=allow", "0".repeat(64));
    let answered = phone.post(&phone.signed(&path, &elsewhere));
    assert_eq!(answered.status, 409, "{answered:?}");
    let nothing = phone.post(&phone.signed(&path, "choice=allow"));
    assert_eq!(nothing.status, 400, "{nothing:?}");
    assert_eq!(open(&environment)["id"], inquiry["id"], "nobody has answered it");
    // The right one counts, and only once.
    let sent = phone.signed(&path, &allow);
    assert_eq!(phone.post(&sent).status, 200);
    assert_eq!(phone.post(&sent).code(), "replayed");
    assert_eq!(finish(agent).code, 0);
    // Late: the decision is over.
    assert_eq!(phone.post(&phone.signed(&path, &allow)).code(), "already_resolved");
    for why in [
        "the signature does not fit the request",
        "it is signed for another device",
        "its one-time word is unknown or too old",
        "it is not signed by the device",
        "is about another call",
        "the answer needs its digest",
        "it was sent before",
        "was already made: allow, by phone (device)",
    ] {
        wait_for_refusal(&environment, why);
    }
    let all = refused(&environment);
    assert!(all.iter().all(|one| one.contains(&format!("from phone ({})", phone.id))), "{all:?}");
    assert_eq!(all.len(), 13, "{all:?}");
}

#[test]
fn a_removed_phone_is_refused_at_once() {
    let environment = waiting();
    let phone = paired(&environment, "phone");
    let agent = asks(&environment, "make deploy");
    let inquiry = open(&environment);
    let sent = phone.signed(&path(&inquiry), &body(&inquiry, "allow"));
    let mut live = phone.send("GET", "/live", &[phone.cookie_line()], "");
    let mut bytes = [0; 4096];
    let mut said = String::new();
    while !said.contains("event: hello") {
        let length = live.read(&mut bytes).unwrap();
        said.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
    let removed = environment.run(&["ui", "device", "remove", "phone"]);
    assert_eq!((removed.code, removed.stdout.as_str()), (0, "phone: removed\n"));
    let began = Instant::now();
    let _ = live.read_to_string(&mut said);
    assert!(began.elapsed() < LIMIT, "its stream has ended");
    assert_eq!(phone.post(&sent).code(), "unauthorized");
    assert_eq!(phone.get("/decisions").status, 401);
    wait_for_refusal(&environment, "this device is not paired");
    assert!(refused(&environment).iter().any(|one| one.contains("an unknown device")));
    environment.run(&["decision", "resolve", inquiry["id"].as_str().unwrap(), "deny"]);
    assert_eq!(finish(agent).code, 2);
    let ran = environment.run(&["ui", "device", "remove", "phone"]);
    assert_eq!((ran.code, ran.stderr.contains("there is no device `phone`")), (1, true), "{ran:?}");
}

#[test]
fn a_phone_does_not_remove_devices_but_leaves() {
    let environment = waiting();
    let phone = paired(&environment, "phone");
    let other = paired(&environment, "other");
    let listed = phone.get("/devices");
    assert!(listed.body.contains("this device") && !listed.body.contains("/remove"), "{listed:?}");
    let answered = phone.post(&phone.signed(&format!("/devices/{}/remove", other.id), ""));
    assert_eq!(answered.code(), "not_here");
    assert_eq!(other.get("/devices").status, 200);
    assert_eq!(phone.post(&phone.signed("/leave", "")).status, 200);
    assert_eq!(phone.get("/devices").status, 401);
}

#[test]
fn an_idle_crowd_does_not_keep_phones_out() {
    let environment = environment();
    let phone = paired(&environment, "phone");
    // More than one machine may have at once; none of them says anything.
    let idle: Vec<_> = (0..80).map(|_| TcpStream::connect(&phone.authority).unwrap()).collect();
    let began = Instant::now();
    wait_within(LIMIT, "a phone to be served again", || {
        let mut text = String::new();
        let mut stream = phone.connect();
        let (host, cookie) = (&phone.authority, phone.cookie_line());
        let request = format!(
            "GET /devices HTTP/1.1\r\nhost: {host}\r\n{cookie}\r\nconnection: close\r\n\r\n"
        );
        // It may have been closed at once.
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.read_to_string(&mut text);
        text.starts_with("HTTP/1.1 200")
    });
    assert!(began.elapsed() < LIMIT);
    drop(idle);
}
