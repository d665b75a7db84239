//! The pack `secrets`.

use std::fs;

use serde_json::json;

use super::{call, edit_hook, with_packs};

const PASSWORD: &str = "k3J9x0Qz71";

fn url() -> String {
    format!("url = \"postgres://app:{PASSWORD}@db.internal:5432/app\"\n")
}

#[test]
fn neither_the_reason_nor_the_journal_has_the_secret() {
    let environment = with_packs(&["secrets"]);
    let ran = call(&environment, "WriteFile", &json!({"path": "config.toml", "content": url()}));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("url-password in content, line 1"), "{ran:?}");
    assert!(!ran.stderr.contains(PASSWORD) && !ran.stdout.contains(PASSWORD), "{ran:?}");
    for segment in environment.segments() {
        assert!(!fs::read_to_string(segment).unwrap().contains(PASSWORD));
    }
}

#[test]
fn a_masked_write_goes_on_without_the_secret() {
    let environment = with_packs(&["secrets"]);
    edit_hook(&environment, "secrets", "writes: 'deny'", "writes: mask");
    let ran = call(&environment, "WriteFile", &json!({"path": "config.toml", "content": url()}));
    let reply = ran.json();
    let content = reply["modified_input"]["content"].as_str().unwrap_or_default();
    assert_eq!(content, url().replace(PASSWORD, "[redacted url-password]"), "{ran:?}");
}

/// An option that is misspelled must not switch the guard off.
#[test]
fn a_wrong_option_blocks_and_is_named() {
    let environment = with_packs(&["secrets"]);
    edit_hook(&environment, "secrets", "writes: 'deny'", "write: deny");
    let ran = call(&environment, "Shell", &json!({"command": "ls"}));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("`metadata.options` is invalid: unknown field `write`"), "{ran:?}");
}
