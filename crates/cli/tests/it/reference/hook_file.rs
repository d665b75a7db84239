//! HOOK.md: what is tolerated, what is unusable, escapes, fences, anyhook's own keys.

use serde_json::{Value, json};

use super::{
    BLOCK, MARK, finding, findings, last_record, last_run, last_skip, left, listed, raw_hook, tool,
    written,
};
use crate::in_process::environment;

/// The front matters of both specifications: the hook's name, its text.
const EXAMPLES: [(&str, &str); 17] = [
    (
        "security-check",
        "name: security-check\ntrigger: before_tool\nasync: false # default, optional",
    ),
    ("auto-format", "name: auto-format\ntrigger: after_tool\nasync: true"),
    (
        "block-dangerous-commands",
        r#"name: block-dangerous-commands
trigger: before_tool
matcher:
  tool: "Shell" # Tool name regex
  pattern: "rm -rf /|mkfs|>:/dev/sda" # Parameter content regex"#,
    ),
    (
        "only-shell",
        r#"trigger: before_tool
# Only intercept Shell tool
matcher:
  tool: "Shell""#,
    ),
    (
        "file-types",
        r#"trigger: before_tool
# Intercept specific file type writes
matcher:
  tool: "WriteFile"
  pattern: "\.(py|js|ts)$""#,
    ),
    (
        "keywords",
        r#"trigger: before_tool
# Intercept commands with sensitive keywords
matcher:
  tool: "Shell"
  pattern: "(rm -rf|mkfs|dd if=/dev/zero)""#,
    ),
    (
        "folders",
        r#"trigger: before_tool
# Intercept operations on specific directories
matcher:
  pattern: "/etc/passwd|/var/www""#,
    ),
    (
        "enforce-tests",
        "name: enforce-tests
description: Ensure all tests pass before completing
trigger: before_stop
timeout: 60000
async: false
priority: 999",
    ),
    (
        "block-dangerous-commands",
        r#"name: block-dangerous-commands
description: Blocks dangerous system commands
trigger: before_tool
matcher:
  tool: Shell
  pattern: "rm -rf /|mkfs|dd if=/dev/zero"
timeout: 5000
async: false
priority: 999"#,
    ),
    (
        "auto-format-python",
        r#"name: auto-format-python
description: Auto-format Python files after write
trigger: after_tool
matcher:
  tool: WriteFile
  pattern: "\.py$"
timeout: 30000
async: true"#,
    ),
    (
        "block-prod-deploy",
        r#"name: block-prod-deploy
description: Block production deployment operations
trigger: before_tool
matcher:
  tool: Shell
  pattern: "deploy.*prod|kubectl.*production"
timeout: 60000
async: false"#,
    ),
    (
        "audit-log",
        "name: audit-log
description: Log all session activities
trigger: session_end
async: true",
    ),
    (
        "enforce-test-coverage",
        "name: enforce-test-coverage
description: Ensure tests pass before allowing completion
trigger: before_stop
timeout: 120000
async: false
priority: 999",
    ),
    ("first", "trigger: before_tool\n# Security checks execute first\npriority: 999"),
    ("later", "trigger: before_tool\n# Normal notifications execute later\npriority: 10"),
    (
        "block-dangerous-commands",
        r#"name: block-dangerous-commands
description: Blocks dangerous shell commands that could destroy data
trigger: before_tool
matcher:
  tool: Shell
  pattern: "rm -rf /|mkfs|dd if=/dev/zero|>:/dev/sda"
timeout: 5000
async: false
priority: 999"#,
    ),
    // The Chinese specification's template, its placeholders filled in.
    (
        "模板",
        "name: 模板
description: 描述
trigger: pre-tool-call
matcher: # 可选
  tool: Shell # 工具名匹配
  pattern: rm # 参数内容匹配
timeout: 30000 # 毫秒,默认 30000
async: false # 默认 false
priority: 100 # 0-1000,默认 100,高值先执行",
    ),
];

fn file(matter: &str) -> String {
    format!("---\n{matter}\n---\n\n# Text\n")
}

/// A front matter that is in order but for the given lines.
fn matter(lines: &str) -> String {
    file(&format!("name: guard\ndescription: d\ntrigger: before_tool\n{lines}"))
}

#[test]
fn trap_every_example_of_both_specifications_loads() {
    for (name, text) in EXAMPLES {
        let environment = environment();
        raw_hook(&environment, name, file(text), BLOCK);
        let hook = listed(&environment, name);
        assert_eq!(hook["usable"], true, "{text}\n{hook}");
        assert_eq!(hook["left_out"], Value::Null, "{text}");
        let unexpected: Vec<&Value> = hook["problems"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|problem| !["name", "description"].contains(&problem["code"].as_str().unwrap()))
            .collect();
        assert!(unexpected.is_empty(), "{text}\n{unexpected:?}");
    }
}

#[test]
fn trap_the_specifications_regexes_mean_what_they_say() {
    let environment = environment();
    raw_hook(&environment, "file-types", file(EXAMPLES[4].1), BLOCK);
    for (path, code) in [("/src/a.py", 2), ("/src/a.ts", 2), ("/src/a.pyc", 0), ("/src/apy", 0)] {
        assert_eq!(tool(&environment, "WriteFile", &json!({"path": path})).code, code, "{path}");
    }
    assert_eq!(tool(&environment, "ReadFile", &json!({"path": "a.py"})).code, 0);
}

#[test]
fn the_chinese_template_with_its_indentation_lost_still_loads() {
    let environment = environment();
    raw_hook(
        &environment,
        "guard",
        file(
            "name: guard\ndescription: 描述\ntrigger: pre-tool-call\nmatcher: # 可选\ntool: Shell # 工具名匹配\npattern: rm\ntimeout: 30000",
        ),
        BLOCK,
    );
    assert_eq!(environment.shell("ls").code, 2);
    let hint = finding(&environment, "guard", "unknown-key")["hint"].clone();
    assert!(hint.as_str().unwrap().contains("indent `tool` under `matcher:`"), "{hint}");
}

#[test]
fn fields_have_the_ranges_and_defaults_of_the_appendix() {
    let environment = environment();
    raw_hook(&environment, "guard", matter("metadata: {team: core}"), BLOCK);
    let definition = listed(&environment, "guard")["definition"].clone();
    assert_eq!(definition["timeout_ms"], 30_000);
    assert_eq!(definition["async"], false);
    assert_eq!(definition["priority"], 100);
    assert_eq!(definition["matcher"], json!({}));
    assert_eq!(definition["metadata"], json!({"team": "core"}));
    assert_eq!(definition["on_failure"], "allow");
    assert_eq!(definition["mode"], "enforce");
    assert!(findings(&environment, "guard").is_empty());
    for (lines, field, value) in [
        ("timeout: 100", "timeout_ms", json!(100)),
        ("timeout: 600000", "timeout_ms", json!(600_000)),
        ("priority: 0", "priority", json!(0)),
        ("priority: 1000", "priority", json!(1000)),
    ] {
        raw_hook(&environment, "guard", matter(lines), BLOCK);
        assert_eq!(listed(&environment, "guard")["definition"][field], value);
        assert!(findings(&environment, "guard").is_empty(), "{lines}");
    }
}

#[test]
fn names_may_be_in_any_script_and_faulty_ones_are_a_finding_only() {
    let environment = environment();
    for name in ["a", "guard-2", "2fast", "prüfer", "守卫", "حارس", "ガード", &"x".repeat(64)]
    {
        environment.user_hook(name, "trigger: before_tool", BLOCK);
        assert!(findings(&environment, name).is_empty(), "{name}");
        std::fs::remove_dir_all(environment.user_hooks()).unwrap();
    }
    for name in ["Guard", "a--b", "-a", "a-", "a_b", "a b", "a.b", "ﬁne", &"x".repeat(65)] {
        let folder = environment.user_hook("folder", "trigger: before_tool", BLOCK);
        std::fs::rename(folder, environment.user_hooks().join(name)).unwrap();
        let text = file(&format!("name: \"{name}\"\ndescription: d\ntrigger: before_tool"));
        std::fs::write(environment.user_hooks().join(name).join("HOOK.md"), text).unwrap();
        let path = format!("../.config/agents/hooks/{name}");
        let found = finding(&environment, &path, "name");
        assert_eq!(
            (found["line"].as_u64(), found["column"].as_u64()),
            (Some(2), Some(7)),
            "{name}"
        );
        assert_eq!(environment.shell("ls").code, 2, "{name}");
        std::fs::remove_dir_all(environment.user_hooks()).unwrap();
    }
}

#[test]
fn a_cosmetic_mistake_does_not_switch_a_guard_off() {
    let environment = environment();
    let base = "name: guard\ndescription: d\ntrigger: before_tool";
    for (text, code, place) in [
        (
            format!("name: guard\ndescription: {}\ntrigger: before_tool", "x".repeat(1025)),
            "description",
            (3, 14),
        ),
        ("name: guard\ndescription: ''\ntrigger: before_tool".into(), "description", (3, 14)),
        ("name: guard\ndescription: [d]\ntrigger: before_tool".into(), "description", (3, 14)),
        ("name: other\ndescription: d\ntrigger: before_tool".into(), "name-differs", (2, 7)),
        ("name: [x]\ndescription: d\ntrigger: before_tool".into(), "name", (2, 7)),
        (format!("{base}\ntimeout: 5"), "timeout", (5, 10)),
        (format!("{base}\ntimeout: 99999999"), "timeout", (5, 10)),
        (format!("{base}\ntimeout: -1"), "timeout", (5, 10)),
        (format!("{base}\ntimeout: 5s"), "timeout", (5, 10)),
        (format!("{base}\ntimeout: '500'"), "timeout", (5, 10)),
        (format!("{base}\npriority: 1001"), "priority", (5, 11)),
        (format!("{base}\npriority: high"), "priority", (5, 11)),
        (format!("{base}\nasync: maybe"), "async", (5, 8)),
        (format!("{base}\nasync: [true]"), "async", (5, 8)),
        (format!("{base}\nmode: quiet"), "mode", (5, 7)),
        (format!("{base}\nstdout: nowhere"), "stdout", (5, 9)),
        (format!("{base}\ncolour: red"), "unknown-key", (5, 1)),
        (format!("{base}\nmetadata: 5"), "metadata", (5, 11)),
        (format!("{base}\nhosts: [emacs, agent-hooks]"), "unknown-host", (5, 9)),
    ] {
        raw_hook(&environment, "guard", file(&text), BLOCK);
        let ran = environment.shell("ls");
        // The shortest time limit is short indeed on a busy machine; the hook did run.
        let run = environment.journal().pop().unwrap()["runs"][0].clone();
        assert!(ran.code == 2 || run["outcome"]["timed_out"] == 100, "{text}: {ran:?} {run}");
        let path = environment.user_hooks().join("guard");
        let found = finding(&environment, path.to_str().unwrap(), code);
        assert_ne!(found["severity"], "unusable", "{text}");
        let at = (found["line"].as_u64().unwrap(), found["column"].as_u64().unwrap());
        assert_eq!(at, place, "{text}: {found}");
        assert_eq!(environment.run(&["check"]).code, 1, "{text}");
    }
}

#[test]
fn a_missing_name_or_description_is_reported_with_line_and_column() {
    let environment = environment();
    for (text, code) in [
        ("name: guard\ntrigger: before_tool", "description"),
        ("description: d\ntrigger: before_tool", "name"),
    ] {
        raw_hook(&environment, "guard", file(text), BLOCK);
        assert_eq!(environment.shell("ls").code, 2, "{text}");
        let found = finding(&environment, "guard", code);
        assert!(found["line"].is_u64() && found["column"].is_u64(), "{found}");
    }
}

#[test]
fn numbers_out_of_range_are_clamped() {
    let environment = environment();
    for (lines, field, value) in [
        ("timeout: 5", "timeout_ms", 100),
        ("timeout: 99999999", "timeout_ms", 600_000),
        ("timeout: soon", "timeout_ms", 30_000),
        ("priority: -5", "priority", 0),
        ("priority: 5000", "priority", 1000),
        ("priority: high", "priority", 100),
    ] {
        raw_hook(&environment, "guard", matter(lines), BLOCK);
        assert_eq!(listed(&environment, "guard")["definition"][field], value, "{lines}");
    }
}

/// Front matters of hooks that cannot run, and a word of the reason.
const UNUSABLE: [(&str, &str); 10] = [
    ("name: guard\ntrigger: before_tool\nmatcher: [", "YAML"),
    ("just text", "key: value"),
    ("", "empty"),
    ("name: guard\ndescription: d", "`trigger` is missing"),
    ("name: guard\ntrigger: lunch", "unknown trigger `lunch`"),
    ("name: guard\ntrigger: []", "empty list"),
    (
        "name: guard\ntrigger: before_tool\nmatcher: Shell",
        "`matcher` must be a mapping with `tool`, `pattern` and conditions",
    ),
    (
        "name: guard\ntrigger: before_tool\nmatcher:\n  tool: [Shell, Bash]",
        "`tool` must be a string",
    ),
    ("name: guard\ntrigger: before_tool\nmatcher:\n  pattern: '('", "not a regular expression"),
    ("name: guard\ntrigger: before_tool\nmatcher:\n  tool: 'a)|(b'", "not a regular expression"),
];

#[test]
fn trap_an_unusable_hook_is_skipped_and_every_other_goes_on() {
    let environment = environment();
    environment.user_hook("other", "trigger: before_tool\npriority: 1", MARK);
    for (text, words) in UNUSABLE {
        raw_hook(&environment, "guard", file(text), BLOCK);
        let ran = environment.shell("ls");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{text}");
        assert!(left(&environment, "ran-other"), "{text}");
        std::fs::remove_file(environment.project().join("ran-other")).unwrap();
        let why = last_skip(&environment, "guard")["unusable"].clone();
        assert!(why.as_str().unwrap().contains(words), "{text}: {why}");
        assert_eq!(listed(&environment, "guard")["usable"], false, "{text}");
        let list = environment.run(&["list"]);
        assert!(list.stdout.contains("unusable") && list.stdout.contains(words), "{list:?}");
        assert_eq!(environment.run(&["check"]).code, 1, "{text}");
    }
}

#[test]
fn a_folder_with_nothing_to_run_or_without_a_hook_file_is_unusable_alone() {
    let environment = environment();
    environment.user_hook("other", "trigger: before_tool", MARK);
    let folder = environment.user_hook("guard", "trigger: before_tool", BLOCK);
    std::fs::remove_file(folder.join("scripts/run")).unwrap();
    std::fs::create_dir(environment.user_hooks().join("nobody")).unwrap();
    assert_eq!(environment.shell("ls").code, 0);
    assert!(left(&environment, "ran-other"));
    let why = last_skip(&environment, "guard");
    assert!(why["unusable"].as_str().unwrap().contains("no script to run"), "{why}");
    let why = last_skip(&environment, "nobody");
    assert!(why["unusable"].as_str().unwrap().contains("no HOOK.md"), "{why}");
}

#[test]
fn an_unusable_hook_with_on_failure_block_blocks_at_every_event_of_its_trigger() {
    let environment = environment();
    for (lines, words) in [
        ("matcher: Shell", "`matcher` must be a mapping with `tool`, `pattern` and conditions"),
        ("matcher:\n  tool: Nobody\n  pattern: '('", "not a regular expression"),
        ("matcher:\n  tool: '['", "not a regular expression"),
    ] {
        raw_hook(&environment, "guard", matter(&format!("{lines}\non_failure: block")), BLOCK);
        for name in ["Shell", "ReadFile", ""] {
            let ran = tool(&environment, name, &json!({"path": "x"}));
            assert_eq!(ran.code, 2, "{lines}: {ran:?}");
            assert!(ran.json()["reason"].as_str().unwrap().contains(words), "{ran:?}");
            assert!(ran.json()["reason"].as_str().unwrap().contains("guard"), "{ran:?}");
        }
        let run = last_run(&environment, "guard");
        assert!(run["failure"].as_str().unwrap().contains(words), "{run}");
        let other = environment.event(&json!({"event_type": "after_tool", "tool_name": "Shell"}));
        assert_eq!(other.code, 0, "not its trigger");
        assert!(environment.run(&["list"]).stdout.contains("blocks"));
    }
}

#[test]
fn a_guard_with_nothing_to_run_and_on_failure_block_blocks_whatever_its_matcher() {
    let environment = environment();
    let folder = environment.user_hook(
        "guard",
        "trigger: [before_tool, before_agent]\non_failure: block\nmatcher:\n  tool: Nobody",
        "",
    );
    std::fs::remove_dir_all(folder.join("scripts")).unwrap();
    let ran = environment.shell("ls");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.json()["reason"].as_str().unwrap().contains("no script to run"), "{ran:?}");
    assert_eq!(environment.event(&json!({"event_type": "before_agent"})).code, 2);
}

#[test]
fn a_guard_whose_yaml_is_broken_elsewhere_blocks_if_its_trigger_can_be_read() {
    let environment = environment();
    for lines in [
        "description: Blocks: everything",
        "description: \"never closed",
        "matcher: {tool: Shell",
        "\tmatcher: x",
        "metadata: [a, b",
        "description: @home",
    ] {
        let text = format!("name: guard\ntrigger: before_tool\non_failure: block\n{lines}");
        raw_hook(&environment, "guard", file(&text), "exit 0");
        let ran = environment.shell("ls");
        assert_eq!(ran.code, 2, "{lines}: {ran:?}");
    }
}

#[test]
fn a_guard_whose_front_matter_does_not_parse_blocks_tool_calls_naming_file_and_line() {
    let environment = environment();
    for (text, line) in [
        ("---\nname: guard\ntrigger: [before_tool\non_failure: block\n---\n", 4),
        ("\n---\nname: guard\non_failure: block\ndescription: a: b\n---\n", 5),
    ] {
        raw_hook(&environment, "guard", text, BLOCK);
        let ran = environment.shell("rm -rf /");
        assert_eq!(ran.code, 2, "{text}: {ran:?}");
        let reason = ran.json()["reason"].as_str().unwrap().to_owned();
        let place = format!("/agents/hooks/guard/HOOK.md:{line})");
        assert!(reason.contains(&place), "{text}: {reason}");
        // What it was meant for is unknown: other events are not held up.
        assert_eq!(environment.event(&json!({"event_type": "before_stop"})).code, 0, "{text}");
    }
}

#[test]
fn a_guard_whose_trigger_is_misspelt_blocks_at_the_event_that_is_meant() {
    let environment = environment();
    raw_hook(
        &environment,
        "guard",
        file("name: guard\ntrigger: befor_tool\non_failure: block"),
        BLOCK,
    );
    let ran = environment.shell("ls");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("unknown trigger `befor_tool`"), "{ran:?}");
    assert_eq!(environment.event(&json!({"event_type": "before_agent"})).code, 0);
}

#[test]
fn blank_lines_before_the_front_matter_do_not_disable_a_hook() {
    let environment = environment();
    raw_hook(
        &environment,
        "guard",
        "\n \n---\nname: guard\ndescription: d\ntrigger: before_tool\n---\n",
        BLOCK,
    );
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn hosts_are_read_in_any_case_and_by_their_programs() {
    let environment = environment();
    for name in ["Claude-Code", "claude_code", "claude"] {
        environment.user_hook("guard", &format!("trigger: before_tool\nhosts: [{name}]"), BLOCK);
        let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let ran = environment.run_with_input(&["hook", "claude-code"], event.to_string());
        assert!(ran.stdout.contains("\"deny\""), "{name}: {ran:?}");
        assert_eq!(environment.shell("ls").code, 0, "{name}");
        assert_eq!(finding(&environment, "guard", "host-spelling")["severity"], "note");
    }
}

#[test]
fn a_guard_without_any_readable_trigger_blocks_tool_calls() {
    let environment = environment();
    for text in ["name: guard\non_failure: block", "name: guard\non_failure: block\ntrigger: x"] {
        raw_hook(&environment, "guard", file(text), BLOCK);
        assert_eq!(environment.shell("ls").code, 2);
        let other = environment.event(&json!({"event_type": "before_agent", "prompt": "x"}));
        assert_eq!(other.code, 0, "{other:?}");
    }
    raw_hook(&environment, "guard", file("name: guard\ntrigger: x"), BLOCK);
    assert_eq!(environment.shell("ls").code, 0, "it does not say that it must block");
}

#[test]
fn trap_in_double_quoted_tool_and_pattern_a_backslash_is_itself() {
    let environment = environment();
    for (lines, hits, misses) in [
        (r#"pattern: "\brm\b""#, "sudo rm -r x", "farm"),
        (r#"pattern: "\.(py|js|ts)$""#, "a.ts", "ats"),
        (r#"pattern: "^\s*\w+\t?\d$""#, " ab1", "a b"),
        (r#"pattern: "a\\.b""#, "xa.by", "aXb"),
        (r#"pattern: "say \"hi\"""#, "say \"hi\" now", "say hi"),
        (r#"pattern: "\\\\server""#, r"\\server", "server"),
        (r#"pattern: "\x41\u0042""#, "AB", "x41"),
        (r"pattern: '\brm\b'", "rm", "farm"),
        (r"pattern: \brm\b", "rm", "farm"),
        (r#""pattern": "\brm\b""#, "rm", "farm"),
        (r#"'pattern' : "\brm\b" # "\q""#, "rm", "farm"),
        ("pattern: \"\\brm\n    -rf\\b\"", "rm -rf", "rm"),
        ("pattern: |-\n    \\brm\\b", "rm", "farm"),
    ] {
        raw_hook(&environment, "guard", matter(&format!("matcher:\n  {lines}")), BLOCK);
        let path = environment.user_hooks().join("guard");
        assert_eq!(environment.shell(hits).code, 2, "{lines}: {:?}", listed(&environment, "guard"));
        assert_eq!(environment.shell(misses).code, 0, "{lines}");
        assert!(findings(&environment, path.to_str().unwrap()).is_empty(), "{lines}");
    }
    raw_hook(
        &environment,
        "guard",
        matter(r#"matcher: {tool: "Sh\w+", pattern: "\brm\b"}"#),
        BLOCK,
    );
    assert_eq!(environment.shell("rm").code, 2);
    assert_eq!(environment.shell("farm").code, 0);
    assert_eq!(tool(&environment, "Sh", &json!({"note": "rm"})).code, 0);
}

#[test]
fn an_unknown_escape_in_another_field_is_read_as_written_with_a_lint() {
    let environment = environment();
    raw_hook(
        &environment,
        "guard",
        file(
            "name: guard\ndescription: \"files \\.py \\d, a\\ttab, \\u00e9\"\ntrigger: before_tool",
        ),
        BLOCK,
    );
    let hook = listed(&environment, "guard");
    assert_eq!(hook["definition"]["description"], "files \\.py \\d, a\ttab, é");
    let found = finding(&environment, "guard", "escape");
    assert_eq!((found["line"].as_u64(), found["column"].as_u64()), (Some(3), Some(21)));
    assert_ne!(found["severity"], "unusable");
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn trap_the_front_matter_ends_at_a_line_of_three_dashes_alone() {
    let environment = environment();
    raw_hook(
        &environment,
        "guard",
        "---\nname: guard\ndescription: a --- b\n# ---- not yet\ntrigger: before_tool\nmetadata:\n  line: --- x\n---\n\n---\ntrigger: lunch\n---\n",
        BLOCK,
    );
    let hook = listed(&environment, "guard");
    assert_eq!(hook["definition"]["description"], "a --- b", "{hook}");
    assert_eq!(hook["definition"]["metadata"]["line"], "--- x", "{hook}");
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn crlf_bom_no_final_newline_and_a_body_that_is_not_utf_8_are_fine() {
    let environment = environment();
    let plain =
        "---\nname: guard\ndescription: d\ntrigger: before_tool\nmatcher:\n  tool: \"Shell\"\n---";
    let crlf = plain.replace('\n', "\r\n");
    for file in [
        plain.as_bytes().to_vec(),
        crlf.clone().into_bytes(),
        format!("\u{feff}{plain}\n").into_bytes(),
        format!("\u{feff}{crlf}\r\n").into_bytes(),
        [plain.as_bytes(), b"\n\xff\xfe\x00 body \xc3\x28\n"].concat(),
        format!("{plain}  \nbody").into_bytes(),
    ] {
        let text = String::from_utf8_lossy(&file).into_owned();
        raw_hook(&environment, "guard", file, BLOCK);
        assert_eq!(environment.shell("ls").code, 2, "{text:?}");
        assert_eq!(tool(&environment, "ReadFile", &json!({})).code, 0, "{text:?}");
        assert!(findings(&environment, "guard").is_empty(), "{text:?}");
    }
}

#[test]
fn unknown_top_level_keys_are_a_lint() {
    let environment = environment();
    raw_hook(&environment, "guard", matter("colour: red\nprioirty: 5"), BLOCK);
    let found: Vec<Value> = findings(&environment, "guard");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|one| one["severity"] == "warning"), "{found:?}");
    assert!(found[1]["hint"].as_str().unwrap().contains("priority"), "{found:?}");
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn a_shadow_hook_runs_and_is_journaled_and_counts_for_nothing() {
    let environment = environment();
    let shadow = "trigger: before_tool\nmode: shadow\npriority: 500\nstdout: context";
    environment.user_hook("look", "trigger: before_tool\npriority: 1", "cat > seen.json");
    for script in [
        "touch shadow-ran; exit 2",
        "echo '{\"decision\": \"deny\", \"reason\": \"r\"}'",
        "echo '{\"decision\": \"allow\", \"modified_input\": {\"command\": \"x\"}, \"additional_context\": \"c\"}'",
        "echo '{\"decision\": \"ask\"}'",
        "echo plain",
    ] {
        environment.user_hook("watch", shadow, script);
        let ran = environment.shell("ls");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{script}");
        assert_eq!(super::seen(&environment)["tool_input"]["command"], "ls");
        assert_eq!(last_run(&environment, "watch")["shadow"], true);
    }
    assert!(left(&environment, "shadow-ran"));
    environment.user_hook("watch", shadow, "echo '{\"decision\": \"deny\", \"reason\": \"r\"}'");
    environment.shell("ls");
    assert_eq!(last_run(&environment, "watch")["decision"]["decision"], "deny");
}

#[test]
fn a_shadow_hook_does_not_block_by_failing_or_being_unusable_either() {
    let environment = environment();
    environment.user_hook(
        "watch",
        "trigger: before_tool\nmode: shadow\non_failure: block",
        "exit 1",
    );
    environment.user_hook(
        "broken",
        "trigger: before_tool\nmode: shadow\non_failure: block\nmatcher:\n  tool: '('",
        "exit 0",
    );
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    assert!(last_run(&environment, "watch")["failure"].is_string());
}

#[test]
fn hosts_names_the_agents_a_hook_runs_in() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool\nhosts: [claude-code, codex]", BLOCK);
    assert_eq!(environment.shell("ls").code, 0);
    assert_eq!(last_skip(&environment, "guard"), "host");
    let run = |host: &str| environment.run(&["run", "before_tool", "--host", host]).code;
    assert_eq!((run("claude-code"), run("codex"), run("gemini-cli")), (2, 2, 0));
    environment.user_hook("guard", "trigger: before_tool\nhosts: [agent-hooks]", BLOCK);
    assert_eq!(environment.shell("ls").code, 2);
    environment.user_hook("guard", "trigger: before_tool\nhosts: []", BLOCK);
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn plain_text_is_context_with_stdout_context_only() {
    let environment = environment();
    environment.user_hook("tell", "trigger: before_agent", "echo 'mind the gap'");
    let ran = environment.event(&json!({"event_type": "before_agent"}));
    assert_eq!(ran.stdout, "{}\n");
    assert_eq!(last_run(&environment, "tell")["stdout"], "mind the gap\n");
    environment.user_hook("tell", "trigger: before_agent\nstdout: context", "echo 'mind the gap'");
    let ran = environment.event(&json!({"event_type": "before_agent"}));
    assert_eq!((ran.code, ran.json()["additional_context"].as_str()), (0, Some("mind the gap")));
    assert_eq!(ran.json().get("decision"), None);
    environment.user_hook("tell", "trigger: before_agent\nstdout: context", "echo no; exit 1");
    let ran = environment.event(&json!({"event_type": "before_agent"}));
    assert_eq!(ran.stdout, "{}\n", "only on exit 0");
}

#[test]
fn permissions_is_reserved_and_check_and_list_say_so() {
    let environment = environment();
    raw_hook(&environment, "guard", matter("permissions: {network: false}"), BLOCK);
    for command in ["check", "list"] {
        let ran = environment.run(&[command]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains("does not enforce"), "{ran:?}");
    }
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn on_failure_is_allow_by_default_and_a_slip_of_the_pen_does_not_open_the_guard() {
    let environment = environment();
    for (lines, code) in [
        ("", 0),
        ("on_failure: allow", 0),
        ("on_failure: block", 2),
        ("on_failure: Block", 2),
        ("on_failure: blok", 2),
    ] {
        raw_hook(&environment, "guard", matter(lines), "exit 1");
        assert_eq!(environment.shell("ls").code, code, "{lines}");
    }
}

#[test]
fn check_lints_a_long_hook_file_and_async_where_hooks_block() {
    let environment = environment();
    let long = format!("{}{}", matter(""), "words and more words ".repeat(300));
    raw_hook(&environment, "guard", long, BLOCK);
    assert_eq!(finding(&environment, "guard", "long")["severity"], "warning");
    raw_hook(&environment, "guard", format!("{}{}", matter(""), "word ".repeat(500)), BLOCK);
    assert!(findings(&environment, "guard").is_empty());
    for (trigger, lint) in [
        ("before_tool", true),
        ("before_stop", true),
        ("pre-tool-call", true),
        ("after_tool", false),
        ("session_end", false),
    ] {
        environment.user_hook("guard", &format!("trigger: {trigger}\nasync: true"), "exit 0");
        let found = findings(&environment, "guard");
        assert_eq!(found.iter().any(|one| one["code"] == "async-gate"), lint, "{trigger}");
    }
}

#[test]
fn a_hook_file_is_read_anew_at_every_event() {
    let environment = environment();
    raw_hook(&environment, "guard", matter("matcher:\n  pattern: one"), BLOCK);
    assert_eq!(environment.shell("one").code, 2);
    raw_hook(&environment, "guard", matter("matcher:\n  pattern: two"), "pwd > place.txt; exit 2");
    assert_eq!((environment.shell("one").code, environment.shell("two").code), (0, 2));
    assert_eq!(written(&environment, "place.txt").trim(), environment.project().to_str().unwrap());
    assert_eq!(last_record(&environment)["verdict"]["by"], "guard");
}
