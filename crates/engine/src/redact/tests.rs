//! Tests of redaction: a corpus of true and false cases, and the invariants.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;

#[derive(serde::Deserialize)]
struct Corpus {
    plain: Vec<String>,
    secret: BTreeMap<String, Vec<String>>,
}

fn corpus() -> Corpus {
    let text = include_str!("corpus.toml").replace('~', "");
    toml::from_str(&text).unwrap()
}

/// Kind, text, and the text without its secrets.
fn secrets() -> Vec<(String, String, String)> {
    let mut cases = Vec::new();
    for (kind, texts) in corpus().secret {
        for marked in texts {
            let mut clean = String::new();
            for (at, part) in marked.split(['«', '»']).enumerate() {
                match at % 2 {
                    0 => clean.push_str(part),
                    _ => clean.push_str(&format!("[redacted {kind}]")),
                }
            }
            cases.push((kind.clone(), marked.replace(['«', '»'], ""), clean));
        }
    }
    cases
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A text in the contexts where it may be found.
fn places(text: &str) -> Vec<String> {
    let line = format!("one\n\ttwo: {text}\r\nthree");
    let mut places = vec![
        text.to_owned(),
        format!("\n{text}"),
        format!("a\n{text}\nb"),
        format!("a\r\n{text}"),
        format!("é\t{text}"),
        format!("{text} "),
        format!("\x1b[1m{text}\x1b[0m"),
        line.clone(),
    ];
    for inner in [text, &format!("\n{text}\n"), &format!("\x1b[31m{text}\x1b[0m"), &line] {
        let once = json(inner);
        let twice = json(&format!("{{\"a\":{once},\"b\":1}}"));
        let thrice = json(&format!("[{twice}]"));
        places.extend([format!("{{\"tool\":{{\"output\":{once}}},\"n\":1}}"), once, twice, thrice]);
    }
    places
}

#[test]
fn secrets_are_replaced_and_nothing_else() {
    let mut wrong = Vec::new();
    for (kind, text, clean) in secrets() {
        for (text, clean) in places(&text).iter().zip(places(&clean)) {
            let redacted = redact(text);
            let expected = Redacted { text: clean, kinds: vec![] };
            match redacted {
                Some(found) if found.text == expected.text && found.kinds == [kind.as_str()] => {}
                found => wrong.push(format!("{kind}\n  of {text:?}\n got {found:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn secrets_are_found_where_they_are_replaced() {
    for (kind, text, clean) in secrets() {
        let (mut told, mut done) = (String::new(), 0);
        for place in find(&text) {
            assert_eq!(place.kind, kind);
            told += &format!("{}[redacted {kind}]", &text[done..place.range.start]);
            done = place.range.end;
        }
        assert_eq!(told + &text[done..], clean);
    }
}

#[test]
fn what_is_no_secret_stays() {
    let mut wrong = Vec::new();
    for text in corpus().plain {
        for text in places(&text) {
            if let Some(found) = redact(&text) {
                wrong.push(format!("{text:?}\n got {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case() {
    let fold = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let cases = secrets();
    for rule in RULES {
        let has = cases
            .iter()
            .any(|(kind, text, _)| kind == rule.kind && fold(text).contains(&fold(rule.prefix)));
        assert!(has, "{} {}", rule.kind, rule.prefix);
    }
}

#[test]
fn kinds_are_told_once_in_order() {
    let [jwt, token] = ["jwt", "github-token"]
        .map(|kind| secrets().into_iter().find(|(its, ..)| its == kind).unwrap().1);
    let found = redact(&format!("{token} {jwt} {token}")).unwrap();
    assert_eq!(found.kinds, ["github-token", "jwt"]);
}

/// Texts made of what rules look for, combined in all ways.
fn fragments() -> impl Strategy<Value = String> {
    let mut parts: Vec<String> = RULES.iter().map(|rule| rule.prefix.to_owned()).collect();
    parts.extend(secrets().into_iter().map(|(_, text, _)| text));
    parts.extend(corpus().plain);
    parts.extend(
        [
            "\n",
            "\\n",
            "\\\\n",
            "\\",
            "\"",
            "\\\"",
            "'",
            " ",
            ":",
            "=",
            ", ",
            ".",
            "@",
            "/",
            "://",
            "://a:",
            "-----BEGIN ",
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----END ",
            "PRIVATE KEY-----",
            "curl ",
            " -u ",
            "a:b",
            "Bearer ",
            "$",
            "é",
            "…",
            "\u{1b}[31m",
            "abcdefghijklmnopqrstuvwxyz012345",
            "0123456789abcdef",
            "xxxxxxxxxxxxxxxx",
        ]
        .map(str::to_owned),
    );
    let part = prop_oneof![4 => prop::sample::select(parts), 1 => ".{0,6}"];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

fn shape(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(shape).collect::<String>()),
        Json::Object(members) => {
            format!("{{{}}}", members.values().map(shape).collect::<String>())
        }
        Json::String(_) => "s".to_owned(),
        other => other.to_string(),
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        fragments().prop_map(Json::String),
        fragments().prop_map(|text| Json::String(json(&text))),
        any::<u64>().prop_map(Json::from),
        Just(Json::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec((fragments(), inner), 0..4)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Searching eight bytes at a time finds the same as searching byte by byte.
    #[test]
    fn no_beginning_is_passed_over(
        text in "(ghp_|sk-|eyJ|://|curl|-BEGIN|X_Api|SecRet|hf_|x|:|é| ){0,20}", from in 0_usize..30,
    ) {
        let scan = SecretScan { text: &text, bytes: text.as_bytes(), ..SecretScan::default() };
        let plain = (from..text.len()).find(|at| scan.may_begin(*at));
        prop_assert_eq!(scan.lead(from), plain);
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        let _ = redact(&text);
    }

    #[test]
    fn twice_is_once(text in fragments()) {
        if let Some(once) = redact(&text) {
            let twice = redact(&once.text);
            prop_assert!(twice.is_none(), "{:?}\n{:?}\n{:?}", text, once, twice);
        }
    }

    #[test]
    fn json_stays_json_of_the_same_shape(value in any_json()) {
        for text in [serde_json::to_string(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap()] {
            if let Some(found) = redact(&text) {
                let again: Json = serde_json::from_str(&found.text)
                    .map_err(|error| TestCaseError::fail(format!("{error}: {}", found.text)))?;
                prop_assert_eq!(shape(&again), shape(&value));
            }
        }
    }
}
