//! Matching: which tool calls a hook runs at.

use anyhook_testkit::TestEnv;
use serde_json::{Value, json};

use super::{BLOCK, finding, last_skip, listed, seen, tool};
use crate::in_process::environment;

/// Makes a guard with a matcher.
fn guard(environment: &TestEnv, matcher: &str) {
    environment.user_hook("guard", &format!("trigger: before_tool\nmatcher:\n  {matcher}"), BLOCK);
}

fn blocks(environment: &TestEnv, name: &str, input: &Value) -> bool {
    tool(environment, name, input).code == 2
}

#[test]
fn a_matcher_counts_on_tool_events_and_permission_requests() {
    let environment = environment();
    let triggers = ["before_tool", "after_tool", "after_tool_failure", "permission_request"];
    environment.user_hook(
        "guard",
        &format!("trigger: [{}]\nmatcher:\n  tool: Shell\n  pattern: rm", triggers.join(", ")),
        BLOCK,
    );
    for name in triggers {
        let send = |tool: &str, command: &str| {
            environment
                .event(
                    &json!({"event_type": name, "tool_name": tool, "tool_input": {"c": command}}),
                )
                .code
        };
        assert_eq!((send("Shell", "rm"), send("Shell", "ls"), send("Read", "rm")), (2, 0, 0));
    }
}

#[test]
fn a_matcher_on_another_event_is_ignored_with_a_lint() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_agent\nmatcher:\n  tool: Shell", BLOCK);
    assert_eq!(environment.event(&json!({"event_type": "before_agent"})).code, 2);
    let found = finding(&environment, "guard", "matcher-ignored");
    assert_eq!((found["severity"].as_str(), found["line"].as_u64()), (Some("warning"), Some(6)));
}

#[test]
fn trap_tool_is_a_whole_name_anchored_as_a_group() {
    let environment = environment();
    guard(&environment, "tool: Shell");
    for (name, hit) in [
        ("Shell", true),
        ("shell", true),
        ("PowerShellX", false),
        ("ShellX", false),
        ("XShell", false),
    ] {
        assert_eq!(blocks(&environment, name, &json!({})), hit, "{name}");
    }
    assert_eq!(last_skip(&environment, "guard"), "tool");
    guard(&environment, "tool: Shell|Write.*");
    for (name, hit) in [
        ("Shell", true),
        ("WriteFile", true),
        ("ShellX", false),
        ("XWriteFile", false),
        ("Shell\n", false),
    ] {
        assert_eq!(blocks(&environment, name, &json!({})), hit, "{name:?}");
    }
    guard(&environment, "tool: (?i)shell");
    assert!(blocks(&environment, "SHELL", &json!({})));
    guard(&environment, "tool: mcp__.*__delete_\\w+");
    assert!(blocks(&environment, "mcp__db__delete_table", &json!({})));
}

#[test]
fn trap_a_tool_is_tried_on_the_canonical_name_and_on_the_hosts_own() {
    let environment = environment();
    let send = |canonical: &str, own: &str| {
        environment
            .event(&json!({
                "event_type": "before_tool", "tool_name": canonical, "tool_input": {},
                "native": {"tool_name": own, "tool_input": {}},
            }))
            .code
    };
    guard(&environment, "tool: Bash");
    assert_eq!((send("Shell", "Bash"), send("Bash", "x"), send("Other", "BashX")), (2, 2, 0));
    assert_eq!((send("Shell", "x"), send("Other", "bash")), (2, 2));
}

#[test]
fn trap_a_tool_goes_by_every_agents_name_in_any_case() {
    let environment = environment();
    let names = ["Shell", "shell", "Bash", "BASH", "run_shell_command", "exec_command"];
    for matcher in names {
        guard(&environment, &format!("tool: {matcher}"));
        for name in names {
            assert!(blocks(&environment, name, &json!({"command": "ls"})), "{matcher} {name}");
        }
        assert!(!blocks(&environment, "WriteFile", &json!({})), "{matcher}");
    }
    // The script sees the name as it came.
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher: {tool: Shell}",
        "cat > seen.json",
    );
    assert_eq!(tool(&environment, "bash", &json!({"command": "ls"})).code, 0);
    assert_eq!(seen(&environment)["tool_name"], "bash");
}

#[test]
fn trap_an_unknown_tool_with_a_command_is_tried_as_shell() {
    let environment = environment();
    guard(&environment, "{tool: Shell, pattern: '^rm -rf'}");
    for field in ["command", "cmd", "script", "shell", "argv"] {
        for value in [json!("rm -rf /"), json!(["rm", "-rf", "/"])] {
            let input = json!({field: value});
            assert!(blocks(&environment, "execute_command", &input), "{input}");
            assert!(blocks(&environment, "mcp__os__run", &input), "{input}");
        }
    }
    assert!(!blocks(&environment, "remember", &json!({"note": "rm -rf /"})));
    assert!(!blocks(&environment, "execute_command", &json!({"command": "ls"})));
}

/// Every spelling of a file's path, and links to it: a guard of the file sees them all.
#[test]
fn trap_a_path_is_tried_in_all_its_forms() {
    let environment = environment();
    let project = environment.project();
    let file = project.join("vendor/a.c");
    anyhook_testkit::write(&file, "x", 0o644);
    std::os::unix::fs::symlink("vendor", project.join("link")).unwrap();
    std::os::unix::fs::symlink("vendor/a.c", project.join("other.c")).unwrap();
    std::os::unix::fs::symlink("vendor/new.c", project.join("dangling.c")).unwrap();
    let absolute = file.to_string_lossy().into_owned();
    let spellings = [
        "vendor/a.c",
        "./vendor/a.c",
        "vendor//a.c",
        "vendor/a.c/",
        "src/../vendor/a.c",
        "vendor/x/../a.c",
        "link/a.c",
        "other.c",
        "dangling.c",
        " vendor/a.c",
        &absolute,
        &absolute.replace("/vendor", "//vendor/."),
    ];
    let root = format!("^{}/vendor/", project.display());
    for pattern in ["^vendor/", &root, r"/vendor/(a|new)\.c$"] {
        guard(&environment, &format!("{{tool: WriteFile, pattern: '{pattern}'}}"));
        for given in spellings {
            let input = json!({"path": given, "content": "x"});
            assert!(blocks(&environment, "WriteFile", &input), "{pattern} {given}");
            let input = json!({"file_path": given, "content": "x"});
            assert!(blocks(&environment, "Write", &input), "{pattern} {given}");
        }
        for given in ["a.c", "vendors/a.c", "src/vendor.c"] {
            let input = json!({"path": given, "content": "x vendor/a.c."});
            assert!(!blocks(&environment, "WriteFile", &input), "{pattern} {given}");
        }
    }
}

#[test]
fn the_script_sees_the_forms_that_were_matched() {
    let environment = environment();
    let project = environment.project();
    anyhook_testkit::write(&project.join("vendor/a.c"), "x", 0o644);
    std::fs::hard_link(project.join("vendor/a.c"), project.join("hard.c")).unwrap();
    std::os::unix::fs::symlink("vendor/a.c", project.join("soft.c")).unwrap();
    environment.user_hook("guard", "trigger: before_tool", "cat > seen.json");
    tool(&environment, "WriteFile", &json!({"path": "x/../soft.c", "content": ""}));
    let event = seen(&environment);
    let path = |name: &str| project.join(name).to_string_lossy().into_owned();
    assert_eq!(event["files"], json!([path("soft.c"), path("vendor/a.c"), path("hard.c")]));
    assert_eq!(
        event["file_details"],
        json!([{
            "path": path("soft.c"), "given": "x/../soft.c", "relative": "soft.c",
            "real": path("vendor/a.c"), "real_relative": "vendor/a.c", "links": 2,
            "other_names": [{"path": path("hard.c"), "relative": "hard.c"}],
        }])
    );
    std::fs::hard_link(project.join("vendor/a.c"), environment.root().join("outside.c")).unwrap();
    tool(&environment, "WriteFile", &json!({"path": "hard.c", "content": ""}));
    assert_eq!(seen(&environment)["file_details"][0]["unknown_names"], 1);
    tool(&environment, "Shell", &json!({"command": "ls"}));
    let event = seen(&environment);
    assert_eq!((&event["files"], event.get("file_details")), (&Value::Null, None));
}

#[test]
fn a_changed_path_is_matched_in_its_forms_too() {
    let environment = environment();
    environment.user_hook(
        "first",
        "trigger: before_tool\npriority: 900",
        r#"echo '{"modified_input": {"path": "src/../vendor/a.c"}}'"#,
    );
    guard(&environment, "{tool: WriteFile, pattern: '^vendor/'}");
    assert!(blocks(&environment, "WriteFile", &json!({"path": "src/a.c"})));
}

#[test]
fn trap_a_pattern_is_searched_in_each_value() {
    let environment = environment();
    for (pattern, input, hit) in [
        (r"\.py$", json!({"path": "/a/b.py", "content": "x"}), true),
        (r"\.py$", json!({"path": "/a/b.pyc"}), false),
        (r"^rm", json!({"command": "rm -rf /"}), true),
        (r"^rm", json!({"command": "sudo rm"}), false),
        (r"^rm", json!({"first": "x", "deep": [{"more": ["y", "rm x"]}]}), true),
        (r"^42$", json!({"n": 42}), true),
        (r"^4\.50$", json!({"n": [4.5]}), false),
        (r"^true$", json!({"flag": true}), true),
        (r"^false$", json!({"flag": [false]}), true),
        (r"null", json!({"flag": null}), false),
        (r"command", json!({"command": "ls"}), false),
        (r"secret", json!({"outer": {"secret": "x"}}), false),
        (r#"""#, json!({"a": "b", "c": ["d"]}), false),
        (r"[{}:,\[\]]", json!({"a": "b", "c": ["d", {"e": 1}]}), false),
        (r#"say "hi""#, json!({"a": "say \"hi\""}), true),
        (r"a\nb", json!({"a": "a\nb"}), true),
        (r"^b", json!({"a": "a\nb"}), false),
        (r"(?m)^b", json!({"a": "a\nb"}), true),
        (r"é漢", json!({"a": "xé漢y"}), true),
        (r"a.*b", json!({"x": "a", "y": "b"}), false),
    ] {
        guard(&environment, &format!("pattern: '{pattern}'"));
        assert_eq!(blocks(&environment, "Any", &input), hit, "{pattern} in {input}");
    }
    assert_eq!(last_skip(&environment, "guard"), "pattern");
}

#[test]
fn a_number_is_matched_in_its_json_form() {
    let environment = environment();
    for (pattern, number) in [
        (r"^4\.50$", "4.50"),
        (r"^12345678901234567890123$", "12345678901234567890123"),
        (r"^-1e5$|^-1e\+5$", "-1e5"),
    ] {
        guard(&environment, &format!("pattern: '{pattern}'"));
        let event = format!(r#"{{"event_type": "before_tool", "tool_input": {{"n": {number}}}}}"#);
        let ran = environment.event_as_written(&event);
        assert_eq!(ran.code, 2, "{number}: {ran:?}");
    }
}

#[test]
fn an_input_that_is_no_object_is_matched_too() {
    let environment = environment();
    guard(&environment, "pattern: ^rm");
    assert!(blocks(&environment, "Shell", &json!("rm -rf /")));
    assert!(blocks(&environment, "Shell", &json!(["ls", "rm -rf /"])));
}

#[test]
fn a_pattern_is_searched_in_the_hosts_own_input_as_well() {
    let environment = environment();
    guard(&environment, "pattern: ^rm");
    let ran = environment.event(&json!({
        "event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": "x"},
        "native": {"tool_name": "Bash", "tool_input": {"cmd": ["rm"]}},
    }));
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn the_dollar_is_the_end_of_the_value() {
    let environment = environment();
    guard(&environment, r"pattern: \.py$");
    assert!(!blocks(&environment, "Write", &json!({"content": "a.py\n"})));
    assert!(!blocks(&environment, "Write", &json!({"content": "a.py\nb"})));
    assert!(blocks(&environment, "Write", &json!({"content": "b\na.py"})));
}

#[test]
fn matching_takes_linear_time() {
    let environment = environment();
    guard(&environment, "pattern: (a*)*(a|aa)+(x+x+)+y$");
    let began = std::time::Instant::now();
    assert!(!blocks(&environment, "Write", &json!({"content": "a".repeat(50_000)})));
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn the_syntax_is_that_of_rusts_regex() {
    let environment = environment();
    for expression in [r"(?=a)b", r"(a)\\1"] {
        guard(&environment, &format!("pattern: \"{expression}\""));
        assert_eq!(listed(&environment, "guard")["usable"], false, "{expression}");
    }
    guard(&environment, r"pattern: '\p{Han}'");
    assert!(blocks(&environment, "Write", &json!({"content": "漢"})));
}

#[test]
fn empty_is_not_given() {
    let environment = environment();
    for matcher in [
        "matcher:",
        "matcher: {}",
        "matcher: ~",
        "matcher:\n  tool: ''\n  pattern: \"\"",
        "matcher:\n  tool:\n  pattern:",
    ] {
        environment.user_hook("guard", &format!("trigger: before_tool\n{matcher}"), BLOCK);
        assert!(blocks(&environment, "Any", &json!({})), "{matcher}");
    }
    guard(&environment, "tool: ''\n  pattern: rm");
    assert!(blocks(&environment, "Any", &json!({"c": "rm"})));
    assert!(!blocks(&environment, "Any", &json!({"c": "ls"})));
}

#[test]
fn an_empty_text_as_matcher_is_not_given_either() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool\nmatcher: ''", BLOCK);
    assert!(blocks(&environment, "Any", &json!({})));
}

#[test]
fn tool_and_pattern_must_both_match() {
    let environment = environment();
    guard(&environment, "tool: Shell\n  pattern: rm");
    assert!(blocks(&environment, "Shell", &json!({"c": "rm"})));
    assert!(!blocks(&environment, "Shell", &json!({"c": "ls"})));
    assert!(!blocks(&environment, "Read", &json!({"c": "rm"})));
}

#[test]
fn after_an_input_change_later_hooks_match_and_receive_the_changed_input() {
    let environment = environment();
    environment.user_hook(
        "change",
        "trigger: before_tool\npriority: 900",
        "echo '{\"modified_input\": {\"command\": \"new\"}}'",
    );
    environment.user_hook(
        "old",
        "trigger: before_tool\npriority: 800\nmatcher:\n  pattern: old",
        BLOCK,
    );
    environment.user_hook(
        "new",
        "trigger: before_tool\npriority: 700\nmatcher:\n  pattern: ^new$",
        "cat > seen.json",
    );
    let ran = environment.event(&json!({
        "event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": "old"},
        "native": {"tool_name": "Bash", "tool_input": {"cmd": "old"}},
    }));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()["modified_input"], json!({"command": "new"}));
    assert_eq!(seen(&environment)["tool_input"], json!({"command": "new"}));
    assert_eq!(last_skip(&environment, "old"), "pattern");
}
