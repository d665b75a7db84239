use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const FILE: &str = ".agents/mcp.json";

fn read(text: &str) -> Config {
    Config::read(FILE, text).unwrap()
}

fn wrong(text: &str) -> String {
    with_hint(&Config::read(FILE, text).unwrap_err())
}

fn with_hint(error: &ConfigError) -> String {
    format!("{error}\n  hint: {}", error.hint)
}

/// An environment with one variable, and one that is empty.
fn variable(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn server(config: &Config, name: &str) -> Result<Server, ConfigError> {
    config.server(name, FILE, &variable)
}

#[test]
fn both_kinds_of_servers_are_read() {
    let config = read(
        r#"{
            // Comments and commas at an end are fine.
            "mcpServers": {
                "docs": {
                    "command": "npx", "args": ["-y", "${PACKAGE:-context7}"],
                    "env": { "KEY": "${TOKEN}" }, "cwd": "/srv/${EMPTY:-here}",
                },
                "remote": {
                    "type": "http", "url": "https://example.com/${EMPTY}mcp",
                    "headers": { "Authorization": "Bearer ${TOKEN}" },
                },
            },
        }"#,
    );
    assert_eq!(config.names().collect::<Vec<_>>(), ["docs", "remote"]);
    assert_eq!(config.notes, []);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        server(&config, "docs").unwrap().endpoint,
        Endpoint::Stdio {
            command: "npx".to_owned(),
            arguments: vec!["-y".to_owned(), "context7".to_owned()],
            environment: vec![pair("KEY", "s3cret")],
            work_dir: Some("/srv/here".to_owned()),
        }
    );
    let remote = server(&config, "remote").unwrap();
    assert_eq!(
        remote.endpoint,
        Endpoint::Http {
            url: "https://example.com/mcp".to_owned(),
            headers: vec![pair("Authorization", "Bearer s3cret")],
        }
    );
    assert!(!format!("{config:?} {remote:?}").contains("s3cret"));
}

#[test]
fn unknown_keys_are_kept_and_noted() {
    let config = read(
        r#"{
  "inputs": [],
  "mcpServers": { "a": { "comand": "y", "command": "x", "timeout": 60, "url2": null } }
}"#,
    );
    let notes: Vec<_> = config.notes.iter().map(ToString::to_string).collect();
    assert_snapshot!(notes.join("\n"), @r"
    .agents/mcp.json:2:3: unknown key `inputs` in the file
    .agents/mcp.json:3:26: unknown key `comand` in the MCP server `a` (did you mean `command`?)
    .agents/mcp.json:3:57: unknown key `timeout` in the MCP server `a`
    .agents/mcp.json:3:72: unknown key `url2` in the MCP server `a`
    ");
    let other = server(&config, "a").unwrap().other;
    assert_eq!(Value::Object(other), json!({"comand": "y", "timeout": 60, "url2": null}));
}

#[test]
fn the_first_file_that_names_a_server_counts() {
    let project = read(r#"{"mcpServers": {"a": {"command": "project"}}}"#);
    let user = r#"{"mcpServers": {"a": {"command": "user"}, "b": {"command": "b"}}, "x": 1}"#;
    let user = Config::read("~/.config/agents/mcp.json", user).unwrap();
    let both = project.clone().or(user.clone());
    assert_eq!(both.file_of("a"), Some(FILE));
    assert_eq!(both.file_of("b"), Some("~/.config/agents/mcp.json"));
    assert_eq!(both.notes.len(), 1);
    assert_eq!(user.or(project).file_of("a"), Some("~/.config/agents/mcp.json"));
    assert_eq!(read("").names().count(), 0);
    assert_eq!(read("\u{feff}{}").names().count(), 0);
}

#[test]
fn errors_say_where_and_what_to_do() {
    let cases = [
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\" \"x\"}\n}}",
        "{'mcpServers': {}}",
        "[]",
        r#"{"mcpServers": []}"#,
        r#"{"mcpServers": {"é": 5, "b": {}}}"#,
        r#"{"mcpServers": {"é": {}, "b": {}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "url": "y"}}}"#,
        r#"{"mcpServers": {"a": {"command": ["x"]}}}"#,
        r#"{"mcpServers": {"a": {"command": " "}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "args": "y"}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "args": ["y", 5]}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "env": {"PORT": 80}}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "cwd": null}}}"#,
        r#"{"mcpServers": {"a": {"type": "http", "command": "x"}}}"#,
        r#"{"mcpServers": {"a": {"type": "stdio", "url": "x"}}}"#,
        r#"{"mcpServers": {"a": {"type": "sse", "url": "x"}}}"#,
        r#"{"mcpServers": {"a": {"type": "pigeon", "url": "x"}}}"#,
        r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "command": "y"}}}"#,
        r#"{"mcpServers": {"": {"command": "x"}}}"#,
    ];
    let errors: Vec<_> = cases.into_iter().map(wrong).collect();
    assert_snapshot!("errors", errors.join("\n"));
}

#[test]
fn variables_that_cannot_be_filled_in() {
    let config = read(
        r#"{"mcpServers": {
  "a": {"command": "x", "env": {"KEY": "${MISSING}"}},
  "b": {"command": "x", "args": ["ok", "${un closed"]},
  "c": {"url": "https://${1}"},
  "context7": {"command": "$${A} $HOME ${EMPTY}"}
}}"#,
    );
    let failures = ["a", "b", "c", "d", "contxt7"];
    let errors: Vec<_> =
        failures.iter().map(|name| with_hint(&server(&config, name).unwrap_err())).collect();
    assert_snapshot!("variables", errors.join("\n"));
    let fine = Server::stdio("context7", "${A} $HOME ", [""; 0]);
    assert_eq!(server(&config, "context7").unwrap(), fine);
}

proptest! {
    #[test]
    fn any_text_is_survived(text in r#"[{}\[\]":,a-z$ /*\n]{0,60}|\{"mcpServers":.{0,40}"#) {
        let _ = Config::read(FILE, &text);
    }

    /// A text without `${` stays as it is; an expanded value is not expanded again.
    #[test]
    fn only_variables_are_filled_in(before in "[^$]{0,20}", value in ".{0,20}", after in "[^$]{0,20}") {
        let lookup = |_: &str| Some(value.clone());
        let text = format!("{before}{after}");
        prop_assert_eq!(expand::expand(&text, &lookup).unwrap(), text);
        let filled = expand::expand(&format!("{before}${{A}}{after}"), &lookup).unwrap();
        prop_assert_eq!(filled, format!("{before}{value}{after}"));
    }
}
