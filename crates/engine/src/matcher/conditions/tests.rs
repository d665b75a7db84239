//! Tests of conditions: what matches, and what an answer may say about it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_model::{EventKind, ToolCall};
use serde_json::{Value, json};

use super::*;

const PROJECT: &str = "/srv-test/me/project";
const HOME: &str = "/srv-test/me";

fn event_in(project: &Path, work_dir: &Path, tool: ToolCall) -> Event {
    let at = jiff::Timestamp::UNIX_EPOCH;
    let mut event = Event::new(EventKind::BeforeTool, "agent-hooks", work_dir, at);
    event.project_dir = Some(project.to_owned());
    event.home = Some(PathBuf::from(HOME));
    event.tool = Some(tool);
    event
}

fn of_tool(name: &str, input: Value) -> Event {
    event_in(Path::new(PROJECT), Path::new(PROJECT), ToolCall::new(name, input))
}

fn command(line: &str) -> Event {
    of_tool("Shell", json!({"command": line}))
}

fn matcher(definition: Value) -> Matcher {
    let definition: MatcherDefinition = serde_json::from_value(definition).unwrap();
    Matcher::new(&definition).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "shorter where it is called")]
fn shell(condition: Value) -> Matcher {
    matcher(json!({ "shell": [condition] }))
}

/// Checks which events match, and that the prefilter lets all of them through.
fn check(matcher: &Matcher, events: &[(Event, bool)]) {
    for (event, is_match) in events {
        let about = &event.tool.as_ref().unwrap().input;
        assert_eq!(matcher.matches(event).is_ok(), *is_match, "{about}");
        let may_match = matcher.prefilter().may_match(of_event(event), event);
        assert!(may_match || !is_match, "the prefilter drops {about}");
    }
}

fn check_lines(condition: Value, lines: &[(&str, bool)]) {
    let events: Vec<_> = lines.iter().map(|(line, is_match)| (command(line), *is_match)).collect();
    check(&shell(condition), &events);
}

#[test]
fn a_program_is_found_however_it_is_written() {
    check_lines(
        json!({"program": ["rm", "mkfs*"]}),
        &[
            ("rm x", true),
            ("ls; sudo /bin/r\\m x", true),
            ("mkfs.ext4 /dev/sda", true),
            ("bash -c 'rm x'", true),
            ("find . -exec rm {} \\;", true),
            ("echo rm x", false),
            ("git commit -m 'rm x'", false),
            ("cat <<EOF\nrm x\nEOF", false),
            ("rmdir x", false),
        ],
    );
}

#[test]
fn subcommands_and_flags_are_told_from_arguments() {
    check_lines(
        json!({"program": "git", "subcommand": "push", "flags": ["-f", "--force"], "not": {"flags": "--force-with-lease"}}),
        &[
            ("git push --force", true),
            ("git -C /x push origin main -f", true),
            ("git push -uf", true),
            ("git push", false),
            ("git push --force-with-lease", false),
            ("git commit -m 'push --force'", false),
            ("git log --force push", false),
        ],
    );
    check_lines(
        json!({"program": "rm", "all_flags": ["-r|-R|--recursive", "-f|--force"]}),
        &[
            ("rm -rf x", true),
            ("rm -f -R x", true),
            ("rm --recursive --force x", true),
            ("rm -r x", false),
            ("rm -- -rf", false),
        ],
    );
}

#[test]
fn targets_are_told_by_where_they_lead() {
    let rows: &[(&str, &[&str])] = &[
        ("rm -r /", &["root", "home", "project", "outside"]),
        ("rm -r /etc", &["root", "outside"]),
        ("rm -r /*", &["root", "home", "project", "outside"]),
        ("rm -r ~", &["home", "project", "outside"]),
        ("rm -r ~/*", &["home", "project", "outside"]),
        ("rm -r \"$HOME\"", &["home", "project", "outside"]),
        ("rm -r .", &["project"]),
        ("rm -r *", &["project"]),
        ("rm -r ..", &["home", "project", "outside"]),
        ("rm -r build", &["inside"]),
        ("rm -r ./build/../src", &["inside"]),
        ("rm *.pyc", &["inside"]),
        ("cd build && rm -r *", &["inside"]),
        ("cd / && rm -r *", &["root", "home", "project", "outside"]),
        ("rm -r ../other", &["outside"]),
        ("rm -r /tmp/x", &["temp"]),
        ("rm -r /tmp/*", &["temp"]),
        ("rm -r \"$TMPDIR/x\"", &["temp"]),
        ("rm -r .git", &["inside", "repository"]),
        ("rm -r $X", &["unknown"]),
        ("rm -r build/$X", &["inside"]),
        ("rm -r /$X", &["root", "home", "project", "outside", "unknown"]),
        ("rm -r ~/$X", &["home", "project", "outside", "unknown"]),
        ("cat x > /dev/sda", &["outside", "device"]),
        ("echo > /dev/null", &[]),
    ];
    let kinds =
        ["root", "home", "project", "inside", "outside", "temp", "repository", "device", "unknown"];
    for (line, wanted) in rows {
        let event = command(line);
        let is = |kind: &&str| {
            let condition = if line.contains('>') { "redirects" } else { "targets" };
            shell(json!({condition: kind})).matches(&event).is_ok()
        };
        let found: Vec<&str> = kinds.into_iter().filter(is).collect();
        assert_eq!(found, *wanted, "{line}");
    }
}

#[test]
fn pipelines_wrappers_and_places_are_conditions() {
    check_lines(
        json!({"program": ["curl", "wget"], "piped_to": ["sh", "bash"]}),
        &[
            ("curl x | sh", true),
            ("curl x | tee y | sudo bash", true),
            ("curl x; sh y", false),
            ("sh y | curl x", false),
        ],
    );
    check_lines(json!({"via": "sudo", "program": "rm"}), &[("sudo rm x", true), ("rm x", false)]);
    check_lines(
        json!({"program": "rm", "remote": false}),
        &[("rm x", true), ("ssh host rm x", false)],
    );
    check_lines(json!({"assigns": "GIT_*"}), &[("GIT_DIR=x git a", true), ("X=1 git a", false)]);
    check_lines(
        json!({"arguments": ["*:main", "main"], "program": "git"}),
        &[("git push origin HEAD:main", true), ("git push origin maintenance", false)],
    );
    check_lines(
        json!({"program": "psql", "pattern": "(?i)drop\\s+table"}),
        &[("psql -c 'DROP  TABLE x'", true), ("psql -c 'select 1'", false)],
    );
}

#[test]
fn what_cannot_be_told_matches_only_what_asks_for_it() {
    for (line, is_unknown) in [
        ("$X y", true),
        ("eval \"$X\"", true),
        ("curl x | sh", true),
        ("rm -rf '", true),
        ("echo $X", false),
        ("ls", false),
    ] {
        let event = command(line);
        assert_eq!(shell(json!({"unknown": true})).matches(&event).is_ok(), is_unknown, "{line}");
        assert!(shell(json!({"program": "reboot"})).matches(&event).is_err(), "{line}");
    }
}

#[test]
fn files_are_those_of_tools_and_of_commands() {
    let secret = matcher(
        json!({"files": {"read": [".env", "~/.ssh"], "write": ".env", "except": "fixtures"}}),
    );
    check(
        &secret,
        &[
            (of_tool("ReadFile", json!({"path": ".env"})), true),
            (of_tool("WriteFile", json!({"path": "a/../.env"})), true),
            (of_tool("ReadFile", json!({"path": "fixtures/.env"})), false),
            (of_tool("ReadFile", json!({"path": ".env.example"})), false),
            (of_tool("Mcp", json!({"path": ".env"})), true),
            (command("cat .env"), true),
            (command("cat < '.e'nv"), true),
            (command("cd a; cat ../.env"), true),
            (command("base64 ~/.ssh/id_rsa"), true),
            (command("echo A=b >> .env"), true),
            (command("cp .env x"), true),
            (command("ls .envrc"), false),
            (command("echo .env"), false),
            (command("ssh host cat .env"), false),
        ],
    );
    let deleted = matcher(json!({"files": {"delete": "*.lock"}}));
    check(
        &deleted,
        &[
            (command("rm a.lock"), true),
            (command("mv a.lock b"), true),
            (command("cat a.lock"), false),
            (of_tool("MoveFile", json!({"path": "a.lock", "to": "b"})), true),
        ],
    );
}

#[test]
fn wildcards_and_links_lead_to_the_files_they_stand_for() {
    let scratch = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(scratch.path()).unwrap();
    fs::write(root.join(".env"), "x").unwrap();
    fs::write(root.join("other"), "x").unwrap();
    std::os::unix::fs::symlink(".env", root.join("link")).unwrap();
    let secret = matcher(json!({"files": [".env"]}));
    // `*` stands for the link, too.
    for (line, is_match) in
        [("cat .e*", true), ("cat link", true), ("cat *", true), ("cat o*", false)]
    {
        let tool = ToolCall::new("Shell", json!({"command": line}));
        let event = event_in(&root, &root, tool);
        assert_eq!(secret.matches(&event).is_ok(), is_match, "{line}");
    }
}

#[test]
fn urls_are_told_by_host_and_path() {
    let fetch = |url: &str| of_tool("FetchURL", json!({"url": url}));
    let urls = matcher(json!({"url": ["example.com", "api.test/v1", "ftp://*"]}));
    check(
        &urls,
        &[
            (fetch("https://example.com/x"), true),
            (fetch("https://user@A.Example.com:8080"), true),
            (fetch("https://api.test/v1/users?x"), true),
            (fetch("https://api.test:8080/v1/users"), true),
            (fetch("https://api.test//v1"), true),
            (fetch("https://api.test/v2"), false),
            (fetch("https://example.com.evil.test"), false),
            (fetch("https://evil.test/example.com"), false),
            (command("curl -s https://example.com/x"), true),
            (command("echo 'see https://example.com'"), false),
        ],
    );
}

#[test]
fn more_urls_than_are_looked_at_hide_none() {
    let mut list: Vec<String> =
        (0..1100).map(|place| format!("https://fine{place}.test")).collect();
    list.push("https://example.com".to_owned());
    let event = of_tool("mcp__web__fetch", json!({"urls": list}));
    check(&matcher(json!({"url": "example.com"})), &[(event, true)]);
}

#[test]
fn mcp_tools_are_told_by_server_and_name() {
    let call = |name: &str| of_tool(name, json!({}));
    let mcp = matcher(json!({"mcp": {"server": "git*", "tool": ["delete_*", "drop"]}}));
    check(
        &mcp,
        &[
            (call("mcp__github__delete_repo"), true),
            (call("mcp__github__list"), false),
            (call("mcp__db__drop"), false),
            (call("delete_repo"), false),
        ],
    );
}

#[test]
fn any_all_and_not_combine() {
    let combined = matcher(json!({
        "any": [{"shell": {"program": "rm"}}, {"files": {"delete": "*"}}],
        "all": [{"tool": "Shell|DeleteFile"}],
        "not": {"pattern": "--help"},
    }));
    check(
        &combined,
        &[
            (command("rm x"), true),
            (command("rm --help"), false),
            (of_tool("DeleteFile", json!({"path": "x"})), true),
            (of_tool("WriteFile", json!({"path": "x"})), false),
        ],
    );
}

#[test]
fn an_answer_can_say_what_matched() {
    let evidence = |condition: Value, line: &str| shell(condition).matches(&command(line)).unwrap();
    let found = evidence(json!({"program": "rm", "targets": "outside"}), "ls; rm -r a '/x y'");
    assert_eq!(found.command.as_deref(), Some("rm -r a /x y"));
    assert_eq!(found.program.as_deref(), Some("rm"));
    assert_eq!(found.argument.as_deref(), Some("/x y"));
    let files = matcher(json!({"files": ".env"})).matches(&command("cat x/.env")).unwrap();
    assert_eq!(files.path.as_deref(), Some("x/.env"));
    assert_eq!(files.command.as_deref(), Some("cat x/.env"));
}

#[test]
fn a_changed_input_is_read_anew() {
    let mut event = command("ls");
    let deletes = shell(json!({"program": "rm"}));
    assert!(deletes.matches(&event).is_err());
    let changed = json!({"command": "rm x"}).as_object().unwrap().clone();
    event.tool.as_mut().unwrap().change_input(changed);
    assert!(deletes.matches(&event).is_ok());
}

#[test]
fn homes_of_others_and_repositories_are_told_by_what_is_known() {
    for (line, kind, is_match) in [
        ("rm -r ~root", "root", true),
        ("rm -r ~me/", "home", true),
        ("rm -r ~other/x", "outside", true),
        ("cd ~root && rm -r *", "root", true),
        ("rm -r './~$draft.docx'", "outside", false),
        ("rm -r $(pick)/.git", "repository", true),
        ("rm -r $X/.git/refs", "repository", true),
        ("rm -r $X/.github", "repository", false),
    ] {
        let condition = shell(json!({"targets": kind}));
        assert_eq!(condition.matches(&command(line)).is_ok(), is_match, "{line}");
    }
}

mod prefilter {
    //! Whatever matches gets through the prefilter.

    use proptest::prelude::*;

    use super::*;

    /// Words of command lines: programs, arguments, and what shells make of them.
    const WORDS: &[&str] = &[
        "rm",
        "sudo",
        "git",
        "curl",
        "cat",
        "push",
        "-rf",
        "--force",
        "/",
        "~",
        ".env",
        "a/.env",
        "src/x.rs",
        "*.key",
        "$X",
        "$(pick)",
        "'a b'",
        "r\\m",
        "\"$HOME\"",
        "~/.ssh/id_rsa",
        "https://example.com:8080/a//b",
        "http://me@API.test/v1",
        "file:///x",
        ".git/config",
        "..",
        "xargs",
        "bash",
        "-c",
        "'rm -rf /'",
        "find",
        "-exec",
        "{}",
        "\\;",
        "mkfs.ext4",
        "\u{e9}",
        "node",
        "-e",
        "\"require('fs').rmSync('a')\"",
        "x=1",
        "<<<",
        "env",
    ];
    const JOINTS: &[&str] =
        &[" ", " ", " ", " ", " && ", " | ", "; ", " > ", "\n", "(", ")", " 'x"];
    const NAMES: &[&str] = &["rm", "r*", "*", "mkfs*", "?m", "git", "cat", "", "\u{e9}"];
    const PATTERNS: &[&str] = &[
        ".env",
        "*.key",
        "~/.ssh",
        "/",
        "src/**",
        "./src",
        "**/x.rs",
        "a",
        "{a,b}/.env",
        "[.]env",
        "~",
        "..",
        "",
        "*",
        ".git",
        "/srv-test/**",
    ];
    const URLS: &[&str] = &[
        "example.com",
        "example.com/a",
        "example.com/a/b",
        "api.test/v1",
        "*.test",
        "https://*",
        "example.com:8080",
        "*",
        "/a",
        "example.*/a",
        "EXAMPLE.com/",
    ];
    const KINDS: &[&str] = &["root", "home", "project", "inside", "outside", "unknown", ".env"];

    fn line() -> impl Strategy<Value = String> {
        let piece = (prop::sample::select(WORDS), prop::sample::select(JOINTS));
        prop::collection::vec(piece, 0..9)
            .prop_map(|pieces| pieces.iter().flat_map(|(word, joint)| [*word, *joint]).collect())
    }

    fn some(from: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(from), 1..3)
    }

    fn shell_condition() -> BoxedStrategy<Value> {
        let leaf = prop_oneof![
            some(NAMES).prop_map(|names| json!({"program": names})),
            some(KINDS).prop_map(|kinds| json!({"targets": kinds})),
            some(PATTERNS).prop_map(|names| json!({"reads": names})),
            Just(json!({"unknown": true})),
            Just(json!({"flags": ["-r", "--force"]})),
            some(NAMES).prop_map(|names| json!({"piped_to": names})),
            some(NAMES).prop_map(|names| json!({"program": names, "pattern": "."})),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            let list = prop::collection::vec(inner.clone(), 1..3);
            prop_oneof![
                list.clone().prop_map(|list| json!({"any": list})),
                list.prop_map(|list| json!({"all": list})),
                inner.prop_map(|one| json!({"not": one})),
            ]
        })
        .boxed()
    }

    fn matcher_definition() -> BoxedStrategy<Value> {
        let leaf = prop_oneof![
            prop::collection::vec(shell_condition(), 1..3).prop_map(|list| json!({"shell": list})),
            some(PATTERNS).prop_map(|names| json!({"files": names})),
            (some(PATTERNS), some(PATTERNS))
                .prop_map(|(read, except)| json!({"files": {"read": read, "except": except}})),
            some(URLS).prop_map(|urls| json!({"url": urls})),
            Just(json!({"mcp": {"server": "git*"}})),
            Just(json!({"mcp": {"tool": ["*", "drop"]}})),
            Just(json!({"tool": "Shell"})),
            Just(json!({"pattern": "rm"})),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            let list = prop::collection::vec(inner.clone(), 1..3);
            prop_oneof![
                list.clone().prop_map(|list| json!({"any": list})),
                list.prop_map(|list| json!({"all": list})),
                inner.prop_map(|one| json!({"not": one, "tool": ".*"})),
            ]
        })
        .boxed()
    }

    fn call() -> BoxedStrategy<Event> {
        prop_oneof![
            4 => line().prop_map(|line| command(&line)),
            1 => prop::sample::select(WORDS)
                .prop_map(|path| of_tool("ReadFile", json!({"path": path}))),
            1 => prop::sample::select(WORDS)
                .prop_map(|url| of_tool("FetchURL", json!({"url": url}))),
            1 => prop::sample::select(WORDS)
                .prop_map(|text| of_tool("mcp__github__drop", json!({"path": text, "url": text}))),
        ]
        .boxed()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lets_through_whatever_matches(definition in matcher_definition(), event in call()) {
            let Ok(definition) = serde_json::from_value(definition) else { return Ok(()) };
            let Ok(matcher) = Matcher::new(&definition) else { return Ok(()) };
            if matcher.matches(&event).is_ok() {
                prop_assert!(matcher.prefilter().may_match(of_event(&event), &event));
            }
        }
    }
}
