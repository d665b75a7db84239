//! `anyhook stats`.
//!
//! The journal is written by the tests themselves, with fixed times, so that every digit of what is
//! shown can be compared.

use std::fs::OpenOptions;
use std::io::Write;

use anyhook_model::Decision;
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require, run};
use serde_json::{Value, json};

use self::journals::{add, busy, quiet, record, write};
use self::prometheus::families;
use crate::environment;

const PERIOD: [&str; 4] = ["--since", "2026-03-01", "--until", "2026-03-08"];

/// Compares a whole run to the digit: times are fixed here.
macro_rules! assert_exact {
    ($environment:expr, $ran:expr $(, @$inline:literal)?) => {{
        let text = $crate::commands::snapshot::text(&$environment, &$ran);
        let mut settings = insta::Settings::clone_current();
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(text $(, @$inline)?));
    }};
}

mod journals;
mod prometheus;

fn stats(environment: &TestEnv, arguments: &[&str]) -> CommandRun {
    environment.run(&[&["stats"][..], &PERIOD, arguments].concat())
}

#[test]
fn a_week() {
    let environment = busy();
    assert_exact!(environment, stats(&environment, &[]));
}

#[test]
fn a_quiet_journal_has_a_short_view() {
    let environment = quiet();
    let arguments = ["stats", "--since", "2026-03-01", "--until", "2026-03-01T06:00:00Z"];
    assert_exact!(environment, environment.run(&arguments));
}

#[test]
fn one_host() {
    let environment = busy();
    assert_exact!(environment, stats(&environment, &["--host", "opencode"]));
}

#[test]
fn one_hook_in_detail() {
    let environment = busy();
    assert_exact!(environment, stats(&environment, &["guard-shell"]));
}

#[test]
fn a_shadow_hook_in_detail() {
    let environment = busy();
    assert_exact!(environment, stats(&environment, &["lint"]));
    let all = stats(&environment, &["lint", "--all"]).stdout;
    let blocked = |text: &str| text.matches("this file is not formatted…").count();
    assert_eq!(blocked(&all), 35, "{all}");
    assert!(!all.contains("--all"), "{all}");
}

#[test]
fn hooks_that_are_gone_or_never_ran() {
    let environment = busy();
    assert_exact!(environment, stats(&environment, &["green-tests", "deploy-window"]));
}

#[test]
fn a_narrow_terminal() {
    let environment = busy();
    let mut command = environment.command(&["stats"]);
    command.args(PERIOD).env("COLUMNS", "48");
    assert_exact!(environment, run(command, b""));
}

#[test]
fn never_wider_than_the_terminal() {
    let environment = busy();
    let mut long = record(9_000, 100, &"host".repeat(30), &"漢字 about ".repeat(40));
    add(&mut long, &"hook-".repeat(20), 1_000, Decision::deny("why ".repeat(100)));
    add(&mut long, &"watcher-".repeat(10), 1_000, Decision::deny("漢字".repeat(100)));
    long.runs[1].shadow = true;
    write(&environment, vec![long]);
    for width in [20_usize, 33, 60, 79, 80, 100, 140, 240] {
        for hooks in [&[][..], &["lint", "guard-shell", &"watcher-".repeat(10)]] {
            let mut command = environment.command(&["stats", "--all"]);
            command.args(PERIOD).args(hooks).env("COLUMNS", width.to_string());
            let ran = run(command, b"");
            assert_eq!(ran.code, 0, "{ran:?}");
            for line in ran.stdout.lines() {
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= width, "{columns} of {width}: {line}");
                assert_eq!(line.trim_end(), line, "blanks at the end");
            }
        }
    }
}

#[test]
fn colours_only_when_asked_for() {
    let environment = busy();
    assert!(!stats(&environment, &[]).stdout.contains('\x1b'));
    let mut always = environment.command(&["stats", "--color", "always"]);
    always.args(PERIOD).env_remove("NO_COLOR");
    assert!(run(always, b"").stdout.contains("\x1b[1m\x1b[31m"));
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let environment = environment();
    let mut rude = record(1, 60, "co\x1bdex", "\x1b[2J\x07\r");
    add(&mut rude, "ru\x1bde", 1_000, Decision::deny("\x1b]0;x\x07"));
    rude.runs[0].shadow = true;
    write(&environment, vec![rude]);
    for arguments in [&[][..], &["ru\x1bde"]] {
        let shown = stats(&environment, arguments).stdout;
        assert!(!shown.contains(['\x1b', '\x07', '\r']), "{shown:?}");
    }
}

#[test]
fn an_empty_journal() {
    let environment = environment();
    assert_exact!(environment, environment.run(&["stats"]), @"
    exit code: 0
    ----- stdout -----
    the journal is empty
    hint: `anyhook install` sets up your agents; `anyhook demo` shows what happens
    ");
    assert_eq!(environment.run(&["stats", "--json"]).json()["records"], 0);
    let metrics = environment.run(&["stats", "--prometheus"]);
    assert_eq!(families(&metrics.stdout)["anyhook_journal_records_total"].kind, "counter");
}

#[test]
fn nothing_in_the_period() {
    let environment = quiet();
    assert_exact!(environment, environment.run(&["stats", "--since", "2026-03-02"]), @"
    exit code: 0
    ----- stdout -----
    no records since 2026-03-02 00:00:00
    ");
    let ran = environment.run(&["stats", "--since", "2026-03-02", "--until", "2026-03-02"]);
    assert_exact!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: the period ends before it begins
    hint: --until must be after --since
    ");
}

#[test]
fn an_unknown_hook() {
    let environment = busy();
    assert_exact!(environment, stats(&environment, &["gard-shell"]), @"
    exit code: 65
    ----- stderr -----
    error: hook `gard-shell` is neither installed nor in the journal
    hint: did you mean `guard-shell`?
    ");
    assert_exact!(environment, stats(&environment, &["zzz"]), @"
    exit code: 65
    ----- stderr -----
    error: hook `zzz` is neither installed nor in the journal
    hint: `anyhook list` shows installed hooks
    ");
    assert_exact!(environment, stats(&environment, &["--host", "opencodex"]), @"
    exit code: 65
    ----- stderr -----
    error: host `opencodex` is neither supported nor in the journal
    hint: did you mean `opencode`?
    ");
}

#[test]
fn a_hook_that_is_gone_and_did_not_run() {
    let environment = busy();
    let ran =
        environment.run(&["stats", "notify", "--since", "2026-03-07", "--until", "2026-03-08"]);
    assert_exact!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    24 hours to 2026-03-08 00:00 · 70 records · 4 sessions · claude-code, codex

    notify  no runs in this period
    ");
}

#[test]
fn damaged_lines_are_told() {
    let environment = quiet();
    let mut file = OpenOptions::new()
        .append(true)
        .open(environment.state().join("journal/00000001.jsonl"))
        .unwrap();
    file.write_all(b"{\"v\":2,\"torn\n").unwrap();
    let ran = stats(&environment, &[]);
    assert!(ran.stdout.ends_with("damaged  1 line in the journal skipped\n"), "{ran:?}");
    assert_eq!(stats(&environment, &["--json"]).json()["damaged_lines"], 1);
}

#[test]
fn without_a_state_folder() {
    require!(MachineNeed::Users);
    let environment = environment();
    let command = environment.command_without_home(&["stats"]);
    assert_exact!(environment, run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: no state folder, so there is no journal
    hint: set HOME
    ");
}

#[test]
fn json_keeps_to_its_schema() {
    let schema = environment().run(&["schema", "stats"]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (environment, arguments) in [
        (busy(), &["--json"][..]),
        (busy(), &["--json", "--all", "--host", "codex"]),
        (busy(), &["--json", "lint"]),
        (environment(), &["--json"]),
    ] {
        let report = stats(&environment, arguments).json();
        let faults: Vec<String> = validator
            .iter_errors(&report)
            .map(|fault| format!("{fault} at {}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
    assert!(!validator.is_valid(&json!({"records": "many"})));
}

#[test]
fn json_of_a_quiet_journal() {
    let environment = quiet();
    assert_exact!(environment, stats(&environment, &["--json"]));
}

/// The numbers of a week, by hand.
#[test]
fn json_of_a_week() {
    let environment = busy();
    let report = stats(&environment, &["--json"]).json();
    let hook = |name: &str| -> Value {
        let hooks = report["hooks"].as_array().unwrap();
        hooks.iter().find(|hook| hook["hook"] == name).unwrap().clone()
    };
    assert_eq!(report["records"], 1_406);
    assert_eq!(hook("guard-shell")["blocks"], 17);
    assert_eq!(hook("guard-shell")["installed"], true);
    let runs = &hook("guard-shell")["runs_per_step"];
    let sum: u64 = runs.as_array().unwrap().iter().map(|runs| runs.as_u64().unwrap()).sum();
    assert_eq!((sum, runs.as_array().unwrap().len()), (1_401, 7));
    assert_eq!(hook("lint")["shadow"]["would_block"], 42);
    assert_eq!(hook("lint")["shadow"]["would_block_by_failure"], 7);
    assert_eq!((&hook("lint")["timeouts"], &hook("lint")["blocks"]), (&json!(7), &json!(0)));
    assert_eq!(hook("notify")["time"]["total_us"], 2_345_678);
    assert_eq!(hook("strict")["blocks_by_failure"], 1);
    assert_eq!(report["always_failing"], json!(["broken"]));
    assert_eq!(report["never_fired"][0]["hook"], "deploy-window");
    assert_eq!(report["capped_stops"], 1);
    assert_eq!(report["redacted_records"], 5);
    assert_eq!(report["denied_but_ran_last"][0]["host"], "opencode");
}

#[test]
fn a_journal_that_is_shorter_than_the_period() {
    let environment = quiet();
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    environment.user_hook("gate", "trigger: before_stop", "exit 0");
    let ran = environment.run(&["stats", "--since", "2026-01-01", "--until", "2026-03-02"]);
    assert_exact!(environment, ran);
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["stats", "--help"]));
}

#[test]
fn json_and_prometheus_exclude_each_other() {
    let environment = environment();
    assert_eq!(environment.run(&["stats", "--json", "--prometheus"]).code, 64);
}

/// What is dispatched for real is counted: blocks, failures, runs aside.
#[test]
fn real_dispatches() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher: {pattern: mkfs}",
        "echo no >&2; exit 2",
    );
    environment.user_hook("broken", "trigger: before_tool", "exit 1");
    environment.user_hook("aside", "trigger: before_tool\nasync: true", "exit 0");
    for command in ["ls", "mkfs /dev/sda"] {
        environment.event(&json!({
            "event_type": "before_tool", "session_id": "one", "tool_name": "Shell",
            "tool_input": {"command": command},
        }));
    }
    let report = || environment.run(&["stats", "--json"]).json();
    let find = |report: &Value, name: &str| -> Value {
        let hooks = report["hooks"].as_array().unwrap();
        hooks.iter().find(|hook| hook["hook"] == name).unwrap().clone()
    };
    anyhook_testkit::wait_until("the runs aside", || find(&report(), "aside")["runs"] == 2);
    let report = report();
    assert_eq!(find(&report, "aside")["unfinished"], 0);
    assert_eq!(
        (&find(&report, "guard")["runs"], &find(&report, "guard")["blocks"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(find(&report, "broken")["failures"], 2);
    assert_eq!(report["sessions"], 1);
    assert_eq!(report["hosts"][0]["events"], 2);
}
