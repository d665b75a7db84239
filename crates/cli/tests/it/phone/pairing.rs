//! Pairing a phone: who is let in, and who is not.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhook_testkit::wait_within;
use serde_json::json;

use super::client::{LIMIT, Phone, Terminal, paired};
use crate::environment;

#[test]
fn a_phone_is_paired_by_a_person_at_the_terminal() {
    let environment = environment();
    let mut phone = paired(&environment, "Ann's phone");
    let devices = environment.run(&["ui", "device", "list", "--json"]).json();
    assert_eq!(devices[0]["name"], "Ann's phone");
    assert_eq!(devices[0]["key"], phone.public_key());
    assert_eq!(devices[0]["by"], "ann");
    let kept = std::fs::read_to_string(environment.state().join("ui/devices.json")).unwrap();
    assert!(!kept.contains(&phone.cookie), "only a digest is kept");
    assert_eq!(phone.get("/decisions").status, 200);
    // A second phone comes to the same address with the same certificate.
    let other = paired(&environment, "Ann's phone");
    assert_eq!(other.authority, phone.authority);
    assert_eq!(other.shown_fingerprint(), phone.shown_fingerprint());
    let list = environment.run(&["ui", "device", "list"]).stdout;
    assert!(list.contains("Ann's phone 2"), "{list}");
    let cookie = std::mem::replace(&mut phone.cookie, "0".repeat(64));
    assert_eq!(phone.get("/decisions").status, 401);
    phone.cookie = cookie;
    assert_eq!(phone.get("/decisions").status, 200);
}

#[test]
fn a_phone_that_was_shown_another_certificate_is_not_paired() {
    let environment = environment();
    let mut terminal = Terminal::begin(&environment);
    let mut phone = Phone::new(&terminal.authority());
    let (_, ticket) = phone.arrive(&terminal.link, "phone");
    assert_eq!(phone.shown_fingerprint(), terminal.fingerprint);
    // Someone in between has another certificate; that the code is right does not help them.
    for _ in 0..3 {
        terminal.type_fingerprint(&"5a".repeat(32));
    }
    assert_eq!(terminal.end(), 1);
    assert!(
        terminal.said().contains("the phone was shown another certificate"),
        "{}",
        terminal.said()
    );
    let answered = phone.finish(&ticket);
    assert_eq!((answered.status, answered.code().as_str()), (403, "not_paired"));
    assert!(
        environment.run(&["ui", "device", "list", "--json"]).json().as_array().unwrap().is_empty()
    );
}

#[test]
fn a_phone_whose_code_nobody_has_read_is_not_paired() {
    let environment = environment();
    let mut terminal = Terminal::begin(&environment);
    let mut phone = Phone::new(&terminal.authority());
    let (code, ticket) = phone.arrive(&terminal.link, "phone");
    terminal.type_fingerprint(&phone.shown_fingerprint());
    let wrong = if code == "000000" { "000001" } else { "000000" };
    terminal.type_code(wrong);
    for left in (1..5).rev() {
        terminal.wait_for(&format!("({left} more tries)"));
        terminal.type_line(wrong);
    }
    assert_eq!(terminal.end(), 1);
    assert!(terminal.said().contains("too many wrong attempts"), "{}", terminal.said());
    assert_eq!(phone.finish(&ticket).code(), "not_paired");
}

#[test]
fn who_does_not_have_the_link_is_refused_and_journaled() {
    let environment = environment();
    let terminal = Terminal::begin(&environment);
    let phone = Phone::new(&terminal.authority());
    let (key, proof) = (phone.public_key(), "00".repeat(32));
    let sent = json!({"name": "x", "key": key, "proof": proof, "signature": "00".repeat(64)});
    for _ in 0..5 {
        assert_eq!(phone.post_json("/pair", &sent).code(), "not_paired");
    }
    // The link is worth nothing now.
    assert!(phone.post_json("/pair", &sent).body.contains("too many wrong attempts"));
    let refused = || {
        let records = environment.all_records();
        records.iter().filter(|one| one["event"] == "command:ui_device").count()
    };
    wait_within(LIMIT, "the refusals in the journal", || refused() == 6);
}

#[test]
fn the_two_doors_are_apart() {
    let environment = environment();
    let phone = paired(&environment, "phone");
    let opened = environment.run(&["ui", "--json"]).json();
    let (link, local) = (opened["link"].as_str().unwrap(), opened["address"].as_str().unwrap());
    let local = local.trim_start_matches("http://").trim_end_matches('/');
    let plain = |authority: &str, request: &str| {
        let mut stream = TcpStream::connect(authority).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let get = |path: &str, host: &str, line: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{line}\r\n\r\n")
    };
    // No plain HTTP in the network.
    let said = plain(&phone.authority, &get("/pair", &phone.authority, "x: y"));
    assert!(!said.contains("HTTP/1.1"), "{said:?}");
    // A session of this machine, and a token, are worth nothing in the network.
    let path = link.split_once(local).unwrap().1;
    let entered = plain(local, &get(path, local, "x: y"));
    let cookie = entered.split_once("set-cookie: ").unwrap().1.split(';').next().unwrap();
    let cookie = format!("cookie: {cookie}");
    assert!(plain(local, &get("/decisions", local, &cookie)).starts_with("HTTP/1.1 200"));
    assert_eq!(phone.request("GET", "/decisions", &[cookie], "").status, 401);
    let token = environment.run(&["ui", "token", "add", "bot", "--answer"]).stdout;
    let token = format!("authorization: Bearer {}", token.trim());
    assert!(plain(local, &get("/api/v1/status", local, &token)).starts_with("HTTP/1.1 200"));
    assert_eq!(phone.request("GET", "/api/v1/status", &[token], "").status, 401);
    let second = environment.run(&["ui", "--json"]).json()["link"].as_str().unwrap().to_owned();
    let path = second.split_once(local).unwrap().1.to_owned();
    assert_eq!(phone.request("GET", &path, &[], "").status, 401);
    assert_eq!(phone.request("GET", &path, &[phone.cookie_line()], "").status, 404);
    // And the other way round.
    let said = plain(local, &get("/decisions", local, &phone.cookie_line()));
    assert!(said.starts_with("HTTP/1.1 401"), "{said}");
    // A name that leads here is not ours.
    let mut other = phone.connect();
    other.write_all(get("/decisions", "evil.example", &phone.cookie_line()).as_bytes()).unwrap();
    let mut said = String::new();
    let _ = other.read_to_string(&mut said);
    assert!(said.starts_with("HTTP/1.1 421"), "{said}");
    assert_eq!(environment.run(&["ui", "--stop"]).code, 0);
    assert!(TcpStream::connect(&phone.authority).is_err(), "it is closed in the network, too");
}

#[test]
fn a_public_address_has_to_be_named() {
    let environment = environment();
    let ran = environment.run(&["ui", "--lan", "--address", "0.0.0.0", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("0.0.0.0 is not the address of this machine in a network"),
        "{ran:?}"
    );
    let ran = environment.run(&["ui", "--lan", "--address", "127.0.0.2", "--json"]);
    let page = ran.json();
    assert!(page["address"].as_str().unwrap().starts_with("https://127.0.0.2:"), "{page}");
    assert_eq!(page["fingerprint"].as_str().unwrap().len(), 64);
    assert!(page.get("pairing").is_none(), "nothing to pair with is printed");
}
