//! Tests of parsing front matters, and of the findings reported.

use anyhook_model::hook::EnvAccess;
use anyhook_model::{EventKind, FailMode};

use super::rescue::tool_calls;
use super::*;

fn read_matter(matter: &str) -> ParsedDefinition {
    read(format!("---\n{matter}\n---\n").as_bytes(), "guard")
}

fn codes(matter: &str) -> Vec<&'static str> {
    read_matter(matter).problems.iter().map(|problem| problem.code).collect()
}

const BASE: &str = "name: guard\ndescription: d\ntrigger: before_tool\n";

#[test]
fn a_plain_hook_has_no_findings() {
    let read = read_matter(BASE);
    assert_eq!(read.problems, []);
    assert_eq!(read.definition.timeout_ms, 30_000);
    assert_eq!(read.definition.priority, 100);
}

#[test]
fn names_of_tools_are_noted() {
    let said = |tool: &str, more: &str| {
        let matter = format!("{BASE}matcher:\n  tool: {tool}\n{more}");
        let problems = read_matter(&matter).problems.into_iter();
        problems
            .map(|found| (found.severity, found.message, found.hint.unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let found =
        |severity, message: &str, hint: &str| vec![(severity, message.to_owned(), hint.to_owned())];
    for fine in ["Shell", "ReadFile|Glob", "Skill", "mcp__db__drop", "Sh.*", "Mcp"] {
        assert_eq!(said(fine, ""), [], "{fine}");
    }
    assert_eq!(
        said("Bash", ""),
        found(
            Severity::Note,
            "`Bash` is the name of `Shell` in Amp, Claude Code, Codex, Copilot CLI, Junie, Kimi Code and Letta Code",
            "write `Shell`; both match the tool in every agent"
        )
    );
    assert_eq!(
        said("Monitor", ""),
        found(
            Severity::Note,
            "`Monitor` is a variant of `Shell` in Claude Code",
            "`Shell` matches it too"
        )
    );
    assert_eq!(
        said("readfile", ""),
        found(Severity::Note, "`readfile` is read as `ReadFile`", "write `ReadFile`")
    );
    assert_eq!(
        said("Shel", ""),
        found(Severity::Warning, "no agent has a tool named `Shel`", "did you mean `Shell`?")
    );
    assert_eq!(
        said("zzz", ""),
        found(
            Severity::Note,
            "no supported agent has a tool named `zzz`",
            "ignore this if your own agent has such a tool"
        )
    );
    assert_eq!(said("WriteFile|EditFile", ""), []);
    assert_eq!(
        said("WriteFile|EditFile", "on_failure: block"),
        found(
            Severity::Note,
            "`DeleteFile` can still change the files this hook protects",
            "add `|DeleteFile`, unless this is intended"
        )
    );
    assert_eq!(said("(Write|Edit|Delete)File", "on_failure: block"), []);
}

#[test]
fn cosmetic_mistakes_do_not_switch_a_guard_off() {
    for (matter, code) in [
        ("trigger: before_tool\ndescription: d", "name"),
        ("name: other\ntrigger: before_tool\ndescription: d", "name-differs"),
        ("name: guard\ntrigger: before_tool", "description"),
        (
            &format!("name: guard\ntrigger: before_tool\ndescription: {}", "x".repeat(2000)),
            "description",
        ),
        (&format!("{BASE}timeout: 5"), "timeout"),
        (&format!("{BASE}timeout: soon"), "timeout"),
        (&format!("{BASE}priority: 5000"), "priority"),
        (&format!("{BASE}async: maybe"), "async"),
        (&format!("{BASE}mode: quiet"), "mode"),
        (&format!("{BASE}colour: red"), "unknown-key"),
        (&format!("{BASE}hosts: [emacs, codex]"), "unknown-host"),
        (&format!("{BASE}hosts: all"), "host-spelling"),
        (&format!("{BASE}matcher:\n  tool: Bash, Write"), "tool-list"),
        (&format!("{BASE}On-Failure: block"), "key-spelling"),
        (&format!("{BASE}on_failur: block"), "key-spelling"),
        (&format!("{BASE}name: guard"), "twice"),
    ] {
        let read = read_matter(matter);
        assert!(read.fault().is_none(), "{matter}: {:?}", read.problems);
        assert!(
            read.problems.iter().any(|problem| problem.code == code),
            "{matter}: {:?}",
            read.problems
        );
    }
}

#[test]
fn numbers_are_clamped() {
    assert_eq!(read_matter(&format!("{BASE}timeout: 5")).definition.timeout_ms, 100);
    assert_eq!(read_matter(&format!("{BASE}timeout: 1e99")).definition.timeout_ms, 600_000);
    assert_eq!(read_matter(&format!("{BASE}priority: -3")).definition.priority, 0);
    assert_eq!(read_matter(&format!("{BASE}priority: '7'")).definition.priority, 7);
}

#[test]
fn what_cannot_run_is_unusable() {
    for (matter, code) in [
        ("name: guard\ndescription: d", "no-trigger"),
        ("name: guard\ndescription: d\ntrigger: []", "no-trigger"),
        ("name: guard\ndescription: d\ntrigger: before_tol", "unknown-trigger"),
        (&format!("{BASE}matcher: Shell"), "matcher"),
        (&format!("{BASE}matcher:\n  tool: [a]"), "matcher"),
        (&format!("{BASE}matcher:\n  pattern: '('"), "regex"),
        ("just text", "unreadable"),
        ("", "unreadable"),
        ("a: [", "unreadable"),
    ] {
        let read = read_matter(matter);
        assert_eq!(read.fault().map(|problem| problem.code), Some(code), "{matter}");
    }
}

#[test]
fn a_broken_line_does_not_switch_off_a_guard_that_must_not_fail() {
    let read = read_matter(
        "name: guard\ntrigger: [before_tool, pre-session]\non_failure: block\nmatcher: {tool: [\n",
    );
    assert_eq!(read.fault().unwrap().code, "unreadable");
    assert_eq!(read.definition.triggers.len(), 2);
    assert_eq!(read.definition.on_failure, FailMode::Block);
    assert!(read_matter("trigger: [before_tool\n").definition.triggers.is_empty());
    // What it guards cannot be read: all tool calls.
    for matter in [
        "trigger: [before_tool\non_failure: block\n",
        "trigger: {x\n  'on_failure' : \"Block\"\n",
        "{name: guard, trigger: before_tool, on_failure: block\n",
    ] {
        let read = read_matter(matter);
        assert_eq!(read.fault().unwrap().code, "unreadable", "{matter}");
        let kinds: Vec<_> =
            read.definition.triggers.iter().map(|trigger| trigger.kind.clone()).collect();
        assert_eq!(kinds, [EventKind::BeforeTool, EventKind::PermissionRequest], "{matter}");
        assert_eq!(read.definition.on_failure, FailMode::Block, "{matter}");
    }
    let unopened = super::read(b"name: guard\non_failure: block\ntrigger: before_stop\n", "guard");
    assert_eq!(unopened.definition.triggers[0].kind, EventKind::BeforeStop);
    assert_eq!(unopened.definition.on_failure, FailMode::Block);
    assert_eq!(read_matter("# on_failure: block\na: [\n").definition.triggers, []);
    let list =
        read_matter("trigger:\n  - before_tool\non_failure: block\ndescription: \"unclosed\n");
    assert_eq!((list.definition.triggers.len(), list.definition.on_failure), (1, FailMode::Block));
}

#[test]
fn hints_name_what_was_meant() {
    let hint = |trigger: &str| {
        read_matter(&format!("name: guard\ndescription: d\ntrigger: {trigger}")).problems[0]
            .hint
            .clone()
            .unwrap()
    };
    assert!(hint("before_tol").contains("`before_tool`"));
    assert!(hint("pre-tool-cal").contains("`pre-tool-call`"));
    assert!(hint("BEFORE_TOL").contains("`before_tool`"));
    assert!(hint("PreToolUze").contains("`PreToolUse`"));
    assert_eq!(hint("before_tool\nmode: shadw"), "did you mean `shadow`?");
    assert_eq!(hint("before_tool\non_failure: blok"), "did you mean `block`?");
}

#[test]
fn triggers_and_hosts_are_read_in_any_spelling_with_a_note() {
    for (trigger, name) in [
        ("Before_Tool", "before_tool"),
        ("before-tool", "before_tool"),
        ("PreToolUse", "before_tool"),
        ("tool.execute.before", "before_tool"),
        ("pre_tool_call", "pre-tool-call"),
    ] {
        let read = read_matter(&format!(
            "name: guard\ndescription: d\ntrigger: {trigger}\nhosts: [Claude_Code, gemini]"
        ));
        let [trigger] = &read.definition.triggers[..] else { panic!("{trigger}") };
        assert_eq!(trigger.kind.name(trigger.spelling), name);
        assert_eq!(read.definition.hosts, ["claude-code", "gemini-cli"]);
        let found: Vec<_> =
            read.problems.iter().map(|problem| (problem.code, problem.severity)).collect();
        assert_eq!(
            found,
            [
                ("trigger-spelling", Severity::Note),
                ("host-spelling", Severity::Note),
                ("host-spelling", Severity::Note)
            ]
        );
    }
}

#[test]
fn lists_that_are_written_as_one_text_are_lists() {
    let read = read_matter(
        "name: guard\ndescription: d\ntrigger: before_tool, permission_request\n\
         hosts: claude-code | codex\nmatcher:\n  tool: Bash | Write",
    );
    assert!(read.fault().is_none(), "{:?}", read.problems);
    let kinds: Vec<_> = read.definition.triggers.iter().map(|one| one.kind.clone()).collect();
    assert_eq!(kinds, [EventKind::BeforeTool, EventKind::PermissionRequest]);
    assert_eq!(read.definition.hosts, ["claude-code", "codex"]);
    assert_eq!(read.definition.matcher.tool.as_deref(), Some("Bash|Write"));
}

#[test]
fn a_hook_that_would_never_be_asked_is_unusable() {
    for (more, code) in [
        ("hosts: [claud-code]", "unknown-host"),
        ("hosts: emacs", "unknown-host"),
        ("matcher:\n  tool: Bahs", "tool-name"),
        ("matcher:\n  tool: WriteFlie", "tool-name"),
        ("matcher:\n  tool: Bash(rm:*)", "tool-rule"),
    ] {
        let read = read_matter(&format!("{BASE}{more}\non_failure: block"));
        assert_eq!(read.fault().map(|fault| fault.code), Some(code), "{more}");
        assert_eq!(read.definition.triggers[0].kind, EventKind::BeforeTool, "{more}");
        assert!(read.definition.hosts.is_empty(), "it blocks everywhere: {more}");
    }
    // A tool of a custom agent does not resemble one that we know.
    assert!(read_matter(&format!("{BASE}matcher:\n  tool: deploy_shop")).fault().is_none());
}

#[test]
fn a_guard_waits_for_its_answer_whatever_async_says() {
    let is_async = |matter: &str| read_matter(matter).definition.is_async;
    assert!(!is_async(&format!("{BASE}async: true\non_failure: block")));
    assert!(is_async(&format!("{BASE}async: true")));
    let after = "name: guard\ndescription: d\ntrigger: after_tool\nasync: true";
    assert!(is_async(&format!("{after}\non_failure: block")));
}

#[test]
fn a_guard_without_a_trigger_blocks_tool_calls() {
    for trigger in ["", "trigger: {before_tool: true}", "trigger: tool", "trigger: []"] {
        let matter = format!("name: guard\ndescription: d\n{trigger}\non_failure: block");
        let read = read_matter(&matter);
        assert!(read.fault().is_some(), "{trigger}");
        assert_eq!(read.definition.triggers, tool_calls(), "{trigger}");
    }
}

#[test]
fn what_stands_before_the_front_matter_does_not_hide_a_guard() {
    for before in ["# My guard\n", "<!-- x -->\n\n", ""] {
        let tab = if before.is_empty() { "\t" } else { "" };
        let text = format!(
            "{before}---\n{tab}name: guard\n\ttrigger: before_stop\non_failure: block\n---\n"
        );
        let read = read(text.as_bytes(), "guard");
        assert!(read.fault().is_some(), "{text}");
        assert_eq!(read.definition.on_failure, FailMode::Block, "{text}");
        assert_eq!(read.definition.triggers[0].kind, EventKind::BeforeStop, "{text}");
    }
}

#[test]
fn a_misspelt_guard_fails_at_the_event_that_is_meant() {
    let matter = "name: guard\ndescription: d\ntrigger: befor_tool\n";
    let read = read_matter(&format!("{matter}on_failure: block"));
    assert_eq!(read.fault().unwrap().code, "unknown-trigger");
    assert_eq!(read.definition.triggers[0].kind, EventKind::BeforeTool);
    assert!(read_matter(matter).definition.triggers.is_empty());
}

#[test]
fn a_list_with_one_known_trigger_is_usable() {
    let read = read_matter("name: guard\ndescription: d\ntrigger: [pre-tool-call, nonsense]");
    assert!(read.fault().is_none());
    assert_eq!(read.definition.triggers.len(), 1);
    assert_eq!(read.problems[0].severity, Severity::Error);
}

#[test]
fn an_unreadable_on_failure_does_not_open_a_guard() {
    let mode =
        |value: &str| read_matter(&format!("{BASE}on_failure: {value}")).definition.on_failure;
    assert_eq!(mode("allow"), FailMode::Allow);
    assert_eq!(mode("Block"), FailMode::Block);
    assert_eq!(mode("blok"), FailMode::Block);
    assert_eq!(mode(""), FailMode::Allow);
}

#[test]
fn variables_of_a_guard_are_named() {
    let env = |value: &str| {
        let read = read_matter(&format!("{BASE}on_failure: block\nenv: {value}"));
        assert!(read.fault().is_none(), "{value}");
        let codes: Vec<&str> = read.problems.iter().map(|problem| problem.code).collect();
        (read.definition.env, codes)
    };
    let named = |names: &[&str]| EnvAccess::Named(names.iter().map(|&name| name.into()).collect());
    assert_eq!(env("[PATH, VIRTUAL_ENV]"), (named(&["PATH", "VIRTUAL_ENV"]), vec![]));
    assert_eq!(env("PATH"), (named(&["PATH"]), vec![]));
    assert_eq!(env("inherit"), (EnvAccess::Inherit, vec![]));
    assert_eq!(env("[Inherit]"), (EnvAccess::Inherit, vec![]));
    assert_eq!(env(""), (named(&[]), vec![]));
    assert_eq!(env("[]"), (named(&[]), vec![]));
    // An unreadable list leaves the guard with fewer variables, not with more.
    for bad in ["[$PATH]", "['A=b']", "[1A]", "{PATH: /bin}", "[[A]]", "['']"] {
        assert_eq!(env(bad), (named(&[]), vec!["env"]), "{bad}");
    }
    assert_eq!(env("[LD_PRELOAD, A, BASH_ENV, ENV]"), (named(&["A"]), vec!["env", "env", "env"]));
    assert_eq!(codes(&format!("{BASE}env: [A]")), ["env-ignored"]);
}

#[test]
fn lints() {
    assert_eq!(codes(&format!("{BASE}async: true")), ["async-gate"]);
    assert_eq!(
        codes("name: guard\ndescription: d\ntrigger: session_start\nmatcher:\n  tool: Shell"),
        ["matcher-ignored"]
    );
    assert_eq!(codes(&format!("{BASE}permissions: [net]")), ["permissions"]);
    assert_eq!(codes("name: guard\ndescription: \"a\\q\"\ntrigger: before_tool"), ["escape"]);
    assert_eq!(codes(&format!("{BASE}tool: Shell")), ["unknown-key"]);
}

#[test]
fn empty_matchers_are_not_given() {
    let read = read_matter(&format!("{BASE}matcher:\n  tool: ''\n  pattern:"));
    assert!(read.definition.matcher.is_empty());
    assert_eq!(read.problems, []);
}

#[test]
fn names_of_any_script() {
    for good in ["guard", "a-1", "拦截危险命令", "προστασία", "हुक"] {
        assert_eq!(name_fault(good), None, "{good}");
    }
    for bad in ["", "Guard", "-a", "a-", "a--b", "a_b", "a b", "ﬁle", "ǅ"] {
        assert!(name_fault(bad).is_some(), "{bad}");
    }
}

#[test]
fn conditions_are_read_in_short_and_in_long_form() {
    let short =
        "matcher:\n  shell: {program: rm, all_flags: -r, not: {targets: temp}}\n  files: .env\n";
    let long = "matcher:\n  shell:\n    - program: [rm]\n      all_flags: [-r]\n      not: {targets: [temp]}\n  files: {any: [.env]}\n";
    let [short, long] = [short, long].map(|matcher| read_matter(&format!("{BASE}{matcher}")));
    assert_eq!((short.problems, long.problems), (vec![], vec![]));
    assert_eq!(short.definition.matcher, long.definition.matcher);
    assert!(short.definition.matcher.has_conditions());
}

#[test]
fn numbers_are_texts_in_conditions() {
    let read = read_matter(&format!(
        "{BASE}matcher: {{shell: {{program: chmod, arguments: [777, 1.50]}}}}"
    ));
    assert_eq!(read.definition.matcher.shell[0].arguments, ["777", "1.50"]);
}

#[test]
fn a_mistake_in_a_condition_makes_the_hook_unusable_and_has_its_place() {
    let found = |matcher: &str| {
        let read = read_matter(&format!("{BASE}{matcher}\ndecision: deny"));
        let problem = read.fault().unwrap_or_else(|| panic!("{matcher}")).clone();
        let place = problem.place.unwrap();
        (problem.message, problem.hint.unwrap_or_default(), (place.line, place.column))
    };
    for (matcher, message, hint, place) in [
        (
            "matcher:\n  shell:\n    programm: rm",
            "unknown key `programm` in `matcher.shell`",
            "did you mean `program`?",
            (7, 5),
        ),
        (
            "matcher:\n  shell: [{program: rm, not: {flag: -i}}]",
            "unknown key `flag` in `matcher.shell.not`",
            "did you mean `flags`?",
            (6, 31),
        ),
        (
            "matcher:\n  any:\n    - shell: {pattern: '('}",
            "`matcher.any.shell.pattern` is not a regular expression: unclosed group",
            "use the syntax of the Rust `regex` crate: no look-around, no back-references",
            (7, 24),
        ),
        (
            "matcher:\n  files: {write: {a: b}}",
            "`matcher.files.write` must be a text or a list of texts",
            "write, for example, `[a, b]`",
            (6, 18),
        ),
        (
            "matcher:\n  shell: rm",
            "`matcher.shell` must be a mapping",
            "write its keys on indented lines below it",
            (6, 10),
        ),
        (
            "matcher:\n  not: {}",
            "`matcher.not` has no conditions",
            "write its keys on indented lines below it",
            (6, 8),
        ),
        (
            "matcher:\n  Shell: {program: rm}",
            "unknown key `Shell` in `matcher`",
            "did you mean `shell`?",
            (6, 3),
        ),
        (
            "matcher:\nshell: {program: rm}",
            "`matcher` has no value",
            "indent its keys below it, or remove `matcher`",
            (5, 8),
        ),
        (
            "matcher:\n  url:",
            "`matcher.url` has no value",
            "remove the key, or give it a value",
            (6, 6),
        ),
        (
            "matcher:\n  shell: {unknown: maybe}",
            "`matcher.shell.unknown` must be `true` or `false`",
            "write `true`",
            (6, 20),
        ),
    ] {
        let (got_message, got_hint, got_place) = found(matcher);
        assert!(got_message.starts_with(message), "{matcher}: {got_message}");
        assert_eq!((got_hint.as_str(), got_place), (hint, place), "{matcher}");
    }
}

#[test]
fn an_answer_needs_no_script_and_its_mistakes_are_named() {
    let read = read_matter(&format!(
        "{BASE}decision: Deny\nreason: '{{command}} {{input.path}}'\nmodified_input: {{a: '{{tool}}', b: null}}\nadditional_context: c"
    ));
    assert_eq!(read.problems, []);
    let answer = read.definition.answer.unwrap();
    assert_eq!(answer.effect, Some(anyhook_model::Effect::Deny));
    assert_eq!(answer.modified_input.unwrap().len(), 2);
    let found = |answer: &str| {
        let read = read_matter(&format!("{BASE}{answer}"));
        let problem = &read.problems[0];
        (problem.severity, problem.message.clone(), problem.hint.clone().unwrap_or_default())
    };
    for (answer, severity, message, hint) in [
        (
            "decision: dney",
            Severity::Unusable,
            "`decision` must be `deny`, `ask` or `allow`",
            "did you mean `deny`?",
        ),
        (
            "decision: deny\nreason: [a]",
            Severity::Unusable,
            "`reason` must be a string",
            "put it in quotes",
        ),
        (
            "reason: a",
            Severity::Error,
            "`reason` without a `decision` has no effect",
            "add `decision: deny` or `decision: ask`",
        ),
        (
            "decision: ask\nreason: '{comand}'",
            Severity::Error,
            "unknown placeholder `{comand}`",
            "did you mean `{command}`?",
        ),
        (
            "decision: ask\nreason: '{zzzzzzz}'",
            Severity::Error,
            "unknown placeholder `{zzzzzzz}`",
            "write `{{zzzzzzz}}` for the text `{zzzzzzz}`",
        ),
        (
            "modified_input: text",
            Severity::Unusable,
            "`modified_input` must be a mapping of fields of the tool's input",
            "write, for example, `modified_input: {command: 'nice {input.command}'}`",
        ),
    ] {
        let (message, hint) = (message.to_owned(), hint.to_owned());
        assert_eq!(found(answer), (severity, message, hint), "{answer}");
    }
}

#[test]
fn a_word_that_is_nearly_a_kind_of_target_is_told() {
    for (target, hint) in [
        ("projct", Some("did you mean `project`? write `./projct` for a file")),
        ("Root", Some("did you mean `root`? write `./Root` for a file")),
        ("project", None),
        (".env", None),
        ("/tmp", None),
        ("build", None),
    ] {
        let matter = format!("{BASE}matcher: {{shell: {{targets: [{target}]}}}}\ndecision: deny");
        let read = read_matter(&matter);
        let problem = read.problems.iter().find(|problem| problem.code == "target");
        assert_eq!(problem.and_then(|problem| problem.hint.as_deref()), hint, "{target}");
    }
}
