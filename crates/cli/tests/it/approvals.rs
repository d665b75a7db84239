//! What an agent may not do: every command that loosens, in a session of real processes.
//!
//! A fake agent is a script of an agent's name that runs a line of shell, as an agent's tool does.

use std::path::PathBuf;
use std::process::Command;

use anyhook_testkit::needs::{self, MachineNeed};
use anyhook_testkit::{CommandRun, TestEnv, require, run, write};
use serde_json::Value;

use crate::commands::trust::at_a_terminal;
use crate::environment;

/// Every command that loosens, as it would be typed.
const LOOSENING: &[&str] = &[
    "trust --all",
    "trust guard",
    "untrust --all",
    "remove mine",
    "remove pack/delivery-workflow --project",
    "uninstall claude-code",
    "promote mine",
    "install claude-code",
    "daemon stop",
    "daemon install",
    "daemon uninstall",
    "decision resolve 7k2m9x4q allow",
    "workflow approve design --by ann",
    "workflow reject design --by ann --note no",
    "workflow reset --all",
    "agent attach 7k2m",
    "agent send 7k2m y",
    "agent send 7k2m y --force",
    "agent thaw 7k2m",
    "pipeline resume 7k2m",
    "pipeline run own",
    "workflow run --with true",
    "reload",
    "ui",
    "ui --stop",
    "ui token add script",
    "ui token remove script",
];

/// Makes an agent's program that runs the line of shell it is given.
fn fake_agent(environment: &TestEnv, name: &str) -> PathBuf {
    let program = environment.root().join("bin").join(name);
    // Not the last command: a shell would become it.
    write(&program, "#!/bin/sh\nsh -c \"$1\"\ncode=$?\nexit $code\n", 0o755);
    program
}

/// Returns a shell that runs a line with the variables of a test; `$anyhook` is the program.
fn shell(environment: &TestEnv, line: &str) -> Command {
    let original = environment.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(environment.project()).env_clear();
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("anyhook", original.get_program());
    command
}

/// Runs a line of shell in an agent's session.
fn in_agent(environment: &TestEnv, agent: &str, line: &str) -> CommandRun {
    let mut command = shell(environment, "exec \"$agent\" \"$line\"");
    command.env("agent", fake_agent(environment, agent)).env("line", line);
    run(command, b"")
}

/// A project with a hook that nobody has trusted.
fn with_guard() -> TestEnv {
    let environment = environment();
    environment.project_hook("guard", "trigger: before_tool", "exit 2");
    environment
}

/// Returns what the journal says of commands: which, how they ended, and the whole record.
fn commands(environment: &TestEnv) -> Vec<(String, String, Value)> {
    let is_command = |record: &Value| {
        record["event"].as_str().is_some_and(|event| event.starts_with("command:"))
    };
    environment
        .all_records()
        .into_iter()
        .filter(is_command)
        .map(|record| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&record["event"]), text(&record["payload"]["outcome"]), record)
        })
        .collect()
}

#[test]
fn everything_that_loosens_is_refused_in_an_agents_session() {
    let environment = with_guard();
    environment.user_hook("mine", "trigger: before_tool\nmode: shadow", "exit 2");
    let own = environment.home().join(".config/agents/runbooks/own.hcl");
    write(&own, "pipeline \"own\" {\n  step \"a\" {\n    run = \"touch ran\"\n  }\n}\n", 0o644);
    for line in LOOSENING {
        let ran = in_agent(&environment, "codex", &format!("$anyhook {line}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{line}: {ran:?}");
        let refused = ran
            .stderr
            .contains("is refused: only a person may do this, and this runs under Codex (process ");
        assert!(refused, "{line}: {ran:?}");
        assert!(ran.stderr.ends_with("in your own terminal\n"), "{line}: {ran:?}");
    }
    let journaled = commands(&environment);
    assert_eq!(journaled.len(), LOOSENING.len());
    for (line, (event, outcome, record)) in LOOSENING.iter().zip(&journaled) {
        assert!(line.starts_with(&event["command:".len()..].replace('_', " ")), "{line}: {event}");
        assert_eq!(outcome, "refused");
        let process = &record["payload"]["process"];
        let program = environment.command(&[]).get_program().to_str().unwrap().to_owned();
        assert_eq!(process["program"], program.as_str());
        let names: Vec<&str> = process["ancestors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|ancestor| ancestor["name"].as_str().unwrap())
            .collect();
        assert_eq!(names.last(), Some(&"codex"), "{line}: {names:?}");
        let typed: Vec<&str> = line.split(' ').collect();
        assert_eq!(record["payload"]["arguments"], serde_json::json!(typed));
    }
    assert!(environment.user_hooks().join("mine/HOOK.md").exists());
    assert_eq!(environment.shell("ls").code, 0, "the guard is not trusted");
}

#[test]
fn what_only_looks_is_for_everybody() {
    let environment = with_guard();
    environment.user_hook("mine", "trigger: before_tool\nmode: shadow", "exit 2");
    for line in
        ["trust --show", "promote mine --dry-run", "list", "log", "install claude-code --dry-run"]
    {
        let ran = in_agent(&environment, "claude", &format!("$anyhook {line}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}: {ran:?}");
    }
    assert!(commands(&environment).is_empty());
}

#[test]
fn an_agent_is_recognised_however_it_starts_the_command() {
    for agent in ["claude", "codex", "gemini", "opencode", "qwen", "copilot", "cursor-agent"] {
        for line in [
            "$anyhook trust --all",
            "sh -c '$anyhook trust --all; exit $?'",
            "env -i HOME=$HOME $anyhook trust --all",
            "setsid --wait $anyhook trust --all",
        ] {
            let environment = with_guard();
            let ran = in_agent(&environment, agent, line);
            assert_eq!(ran.code, 1, "{agent}: {line}: {ran:?}");
            assert!(ran.stderr.contains("only a person may do this"), "{agent}: {line}: {ran:?}");
        }
    }
}

#[test]
fn an_agents_variable_counts_wherever_it_was_set() {
    for name in anyhook_hosts::recognition::session_variables().chain(["ANYHOOK_AGENT_ID"]) {
        for line in [
            "exec $anyhook trust --all",
            // The shell that was started with it is above, and alive.
            "env -u NAME $anyhook trust --all; exit $?",
            "env -i HOME=$HOME ANYHOOK_TOP_PROCESS=$ANYHOOK_TOP_PROCESS $anyhook trust --all; exit $?",
            // Nothing is above, but what the program was started with stays.
            "setsid --fork --wait $anyhook trust --all; exit $?",
        ] {
            let environment = with_guard();
            let mut command = shell(&environment, &line.replace("NAME", name));
            command.env(name, "1");
            let ran = run(command, b"");
            assert_eq!(ran.code, 1, "{name}: {line}: {ran:?}");
            assert!(ran.stderr.contains(&format!("({name} is set")), "{ran:?}");
        }
    }
}

#[test]
fn a_script_of_a_person_is_not_refused_for_want_of_a_terminal() {
    let environment = with_guard();
    let lines = [
        "$anyhook trust --all",
        "setsid --wait $anyhook trust --all",
        "env -i HOME=$HOME ANYHOOK_TOP_PROCESS=$ANYHOOK_TOP_PROCESS $anyhook trust --all; exit $?",
        "TERM_PROGRAM=vscode CURSOR_TRACE_ID=1 CODEX_HOME=/x $anyhook trust --all",
    ];
    for line in lines {
        let ran = run(shell(&environment, line), b"");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}: {ran:?}");
    }
    let journaled = commands(&environment);
    assert_eq!(journaled.len(), lines.len());
    for (event, outcome, record) in &journaled {
        assert_eq!((event.as_str(), outcome.as_str()), ("command:trust", "done"));
        assert_eq!(record["about"], "anyhook trust --all: done");
    }
    assert_eq!(environment.shell("ls").code, 2, "the guard is trusted");
}

#[test]
fn a_terminal_can_be_required() {
    require!(MachineNeed::Terminals);
    let environment = with_guard();
    let settings = environment.user_hooks().parent().unwrap().join("anyhook.toml");
    write(&settings, "[person]\nterminal = \"required\"\n", 0o644);
    let without = || run(shell(&environment, "setsid --wait $anyhook trust --all"), b"");
    let ran = without();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(
        ran.stderr,
        "error: `anyhook trust` is refused: there is no terminal, and [person] in \
         `~/.config/agents/anyhook.toml` requires one\nhint: run it in your own terminal\n"
    );
    assert_eq!(commands(&environment)[0].1, "refused");
    let ran = at_a_terminal(&environment, &["trust", "--all"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    // A project has no say in it.
    write(&settings, "", 0o644);
    let own = environment.project().join(".agents/anyhook.toml");
    write(&own, "[person]\nterminal = \"required\"\n", 0o644);
    assert_eq!(without().code, 0);
}

/// A person's rule that a terminal is required.
const REQUIRED: &str = "[person]\nterminal = \"required\"\n";

#[test]
fn no_variable_of_the_caller_takes_the_rule_away() {
    let environment = with_guard();
    write(&environment.home().join(".config/agents/anyhook.toml"), REQUIRED, 0o644);
    environment.shell("ls");
    for (number, line) in [
        "XDG_CONFIG_HOME=/nx setsid --wait $anyhook trust --all",
        "XDG_CONFIG_HOME=/nx setsid --wait $anyhook uninstall claude-code",
        "XDG_CONFIG_HOME=/nx setsid --wait $anyhook reload",
        "XDG_CONFIG_HOME=/nx XDG_STATE_HOME=$PWD/x setsid --wait $anyhook trust --all",
        "HOME=$PWD/x setsid --wait $anyhook trust --all",
    ]
    .into_iter()
    .enumerate()
    {
        let ran = run(shell(&environment, line), b"");
        assert_eq!(ran.code, 1, "{line}: {ran:?}");
        assert!(ran.stderr.contains("is refused: there is no terminal"), "{line}: {ran:?}");
        let journaled = commands(&environment);
        assert_eq!(journaled.len(), number + 1, "{line}: {journaled:?}");
        assert_eq!(journaled[number].1, "refused", "{line}");
    }
    assert_eq!(environment.shell("ls").code, 0, "the guard is not trusted");
}

#[test]
fn the_rule_counts_where_agents_were_told_that_it_is() {
    let environment = with_guard();
    let elsewhere = "XDG_CONFIG_HOME=$HOME/conf XDG_STATE_HOME=$HOME/kept";
    for agent in ["claude-code", "codex", "gemini-cli"] {
        let line = format!("{elsewhere} $anyhook install {agent}");
        let ran = run(shell(&environment, &line), b"");
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    write(&environment.home().join("conf/agents/anyhook.toml"), REQUIRED, 0o644);
    let ran = run(shell(&environment, "setsid --wait $anyhook uninstall claude-code"), b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    let rule = "[person] in `~/conf/agents/anyhook.toml` requires one";
    assert!(ran.stderr.contains(rule), "{ran:?}");
    let log = run(shell(&environment, &format!("{elsewhere} $anyhook log")), b"");
    assert!(log.stdout.contains("anyhook uninstall claude-code: refused"), "{log:?}");
}

#[test]
fn a_rule_that_cannot_be_read_counts_as_required() {
    let environment = with_guard();
    let settings = environment.home().join(".config/agents/anyhook.toml");
    for (text, place) in [
        ("[person]\nterminal = \"Required\"\n", "anyhook.toml:2:12`"),
        ("[person]\nterminal = \"requird\"\n", "anyhook.toml:2:12`"),
        ("[persn]\nterminal = \"required\"\n", "anyhook.toml:1`"),
        ("[person\n", "anyhook.toml:1:8`"),
    ] {
        write(&settings, text, 0o644);
        let ran = run(shell(&environment, "setsid --wait $anyhook trust --all"), b"");
        assert_eq!(ran.code, 1, "{text}: {ran:?}");
        assert!(ran.stderr.contains("one is required until this is fixed"), "{text}: {ran:?}");
        assert!(ran.stderr.contains(place), "{text}: {ran:?}");
    }
    // What is wrong elsewhere is no rule.
    write(&settings, "stop_kap = 3\n", 0o644);
    let ran = run(shell(&environment, "setsid --wait $anyhook trust --all"), b"");
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_state_folder_of_the_callers_own_hides_nothing() {
    let environment = environment();
    environment.user_hook("mine", "trigger: before_tool", "exit 0");
    environment.shell("ls");
    let refused = "CLAUDECODE=1 XDG_STATE_HOME=$PWD/x $anyhook remove mine";
    let ran = run(shell(&environment, refused), b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    let ran = run(shell(&environment, "XDG_STATE_HOME=$PWD/x $anyhook remove mine"), b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    let outcomes: Vec<_> =
        commands(&environment).into_iter().map(|(event, outcome, _)| (event, outcome)).collect();
    let of = |outcome: &str| ("command:remove".to_owned(), outcome.to_owned());
    assert_eq!(outcomes, [of("refused"), of("done")]);
}

/// Runs a line in an own process namespace, of which the shell around it is the init. Needs
/// [`MachineNeed::Processes`].
fn under_own_init(environment: &TestEnv, line: &str) -> CommandRun {
    let init = format!("{line}\nexit $?");
    let mut command = shell(environment, "exec unshare -pf --mount-proc sh -c \"$init\"");
    command.env("init", init).env_remove("ANYHOOK_TOP_PROCESS");
    run(command, b"")
}

/// What runs after it has cut itself loose: says in `out` and `code` how the command ended.
const JOB: &str = "#!/bin/sh\n[A] trust --all > out 2>&1; echo $? > code.new; mv code.new code\n";
/// Without a variable of an agent; `[T]` is what tests need.
const LOOSE: &str = "env -i HOME=\"$HOME\" PATH=\"$PATH\" [T]";
/// Waits for the one that has cut itself loose.
const WAIT: &str = "timeout 60 sh -c 'until [ -e code ]; do sleep 0.02; done'";

/// Ways in which a command loses its parents, and which program each needs.
const WAYS: [(&str, &str); 11] = [
    ("setsid", "setsid --fork sh ./job"),
    ("setsid", "setsid --fork env ./job"),
    ("setsid", "setsid --fork setsid --fork ./job"),
    ("xargs", "setsid --fork xargs ./job"),
    ("find", "setsid --fork find job -exec ./{} ';'"),
    ("awk", "setsid --fork awk 'BEGIN { system(\"./job\") }'"),
    ("python3", "setsid --fork python3 -c 'import subprocess; subprocess.call([\"./job\"])'"),
    ("perl", "setsid --fork perl -e 'system \"./job\"'"),
    ("make", "setsid --fork make -f recipe"),
    ("nice", "setsid --fork nice ./job"),
    ("sh", "sh -c './job &'"),
];

/// Writes what has cut itself loose, and returns the line that starts it in such a way.
fn loose(environment: &TestEnv, way: &str) -> String {
    let program = environment.command(&[]).get_program().to_str().unwrap().to_owned();
    write(&environment.project().join("job"), JOB.replace("[A]", &program), 0o755);
    write(&environment.project().join("recipe"), "all:\n\t./job\n", 0o644);
    let test = format!("ANYHOOK_PASSWD_HOME='{}'", environment.home().display());
    let line = format!("{} {way} < /dev/null\n{WAIT}", LOOSE.replace("[T]", &test));
    write(&environment.project().join("loose"), &line, 0o644);
    line
}

/// What a test of those ways needs.
fn ways_need() -> Vec<MachineNeed> {
    let programs = WAYS.into_iter().map(|(program, _)| MachineNeed::Program(program));
    [MachineNeed::Processes].into_iter().chain(programs).collect()
}

#[test]
fn an_agent_is_recognised_after_it_cut_the_command_loose() {
    if !needs::begin(&ways_need()) {
        return;
    }
    for (_, way) in WAYS {
        let environment = with_guard();
        loose(&environment, way);
        let agent = fake_agent(&environment, "codex");
        // In a session of its own, as below a terminal or a service.
        let line = format!("setsid --wait \"{}\" \"$(cat loose)\"", agent.display());
        let ran = under_own_init(&environment, &line);
        assert_eq!(ran.code, 0, "{way}: {ran:?}");
        let said = |file: &str| std::fs::read_to_string(environment.project().join(file)).unwrap();
        assert_eq!(said("code"), "1\n", "{way}: {}", said("out"));
        assert!(said("out").contains("this runs under Codex (process "), "{}", said("out"));
        assert!(said("out").contains("is in the same control group"), "{}", said("out"));
        assert_eq!(commands(&environment)[0].1, "refused");
    }
}

#[test]
fn an_agent_is_recognised_after_it_cut_the_command_loose_in_its_terminal() {
    require!(MachineNeed::Processes, MachineNeed::Terminals);
    let environment = with_guard();
    loose(&environment, "sh -c './job &'");
    let agent = fake_agent(&environment, "codex");
    // The leader of the terminal's session starts the agent, as a person's shell does.
    let leader = format!("#!/bin/sh\n\"{}\" \"$(cat loose)\"\nexit $?\n", agent.display());
    write(&environment.project().join("leader"), leader, 0o755);
    let line = "script --quiet --return --command ./leader /dev/null < /dev/null";
    let ran = under_own_init(&environment, line);
    let said = |file: &str| std::fs::read_to_string(environment.project().join(file));
    assert_eq!(said("code").ok().as_deref(), Some("1\n"), "{ran:?}: {:?}", said("out"));
    assert!(said("out").unwrap().contains("is in the same control group"), "{:?}", said("out"));
    // What a person types there is a person's.
    write(&environment.project().join("leader"), "#!/bin/sh\n./job\nexit $?\n", 0o755);
    std::fs::remove_file(environment.project().join("code")).unwrap();
    let ran = under_own_init(&environment, line);
    assert_eq!(said("code").ok().as_deref(), Some("0\n"), "{ran:?}: {:?}", said("out"));
}

#[test]
fn a_script_that_runs_by_itself_is_a_persons_where_no_agent_lives() {
    if !needs::begin(&ways_need()) {
        return;
    }
    for (_, way) in WAYS {
        let environment = with_guard();
        let line = loose(&environment, way);
        let ran = under_own_init(&environment, &line);
        assert_eq!(ran.code, 0, "{way}: {ran:?}");
        let said = std::fs::read_to_string(environment.project().join("code")).unwrap();
        assert_eq!(said, "0\n", "{way}");
        assert_eq!(commands(&environment)[0].1, "done");
    }
}

#[test]
fn a_script_of_an_older_service_is_a_persons_beside_an_agent() {
    require!(MachineNeed::Processes);
    let environment = with_guard();
    let agent = fake_agent(&environment, "codex");
    loose(&environment, "true");
    // The service waits until the agent lives, and runs the script then. The system counts the times
    // at which processes start in hundredths of a second.
    let line = format!(
        "setsid --fork sh -c 'sleep 0.05; touch serves; until [ -e lives ]; do sleep 0.02; done; ./job'\n\
         timeout 60 sh -c 'until [ -e serves ]; do sleep 0.02; done'\n\
         setsid --wait \"{}\" \"touch lives; {WAIT}\"",
        agent.display(),
    );
    let ran = under_own_init(&environment, &line);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(commands(&environment)[0].1, "done");
}

#[test]
fn a_script_beside_a_live_agent_is_a_persons() {
    require!(MachineNeed::Processes);
    let environment = with_guard();
    let agent = fake_agent(&environment, "codex");
    // As in a container: init starts an agent in the background, and goes on.
    let line = format!(
        "\"{}\" \"touch lives; $(cat wait)\" &\n\
         timeout 60 sh -c 'until [ -e lives ]; do sleep 0.02; done'\n\
         sh -c '$anyhook trust --all; exit $?'; code=$?; touch code; wait; exit $code",
        agent.display(),
    );
    write(&environment.project().join("wait"), WAIT, 0o644);
    let ran = under_own_init(&environment, &line);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(commands(&environment)[0].1, "done");
}

#[test]
fn an_agent_may_learn_restrictions_but_not_what_is_allowed() {
    let environment = crate::commands::learn::past();
    let learn = "$anyhook learn --write --yes --level project";
    let ran = in_agent(&environment, "claude", &format!("{learn} allow-npm-run-lint"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("`anyhook learn` is refused: only a person may do this"),
        "{ran:?}"
    );
    assert!(!environment.project_hooks().exists());
    let ran = in_agent(&environment, "claude", &format!("{learn} deny-git-push-force"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("have a person run: anyhook promote deny-git-push-force"),
        "{ran:?}"
    );
    let outcomes: Vec<_> =
        commands(&environment).into_iter().map(|(_, outcome, _)| outcome).collect();
    assert_eq!(outcomes, ["refused", "done in shadow mode"]);
}

#[test]
fn what_an_agent_adds_or_makes_is_watched_until_a_person_promotes_it() {
    let environment = environment();
    let theirs = environment.hook(
        &environment.project(),
        "theirs",
        "trigger: before_tool\nmode: enforce",
        "echo no >&2; exit 2",
    );
    let ran = in_agent(&environment, "claude", "$anyhook add theirs");
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = ran.stdout.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert!(
        text.starts_with(
            "not enforced yet: `mode: shadow`, because this runs under Claude Code (process "
        ),
        "{ran:?}"
    );
    assert!(
        text.ends_with("\nhint: to enforce it, have a person run: anyhook promote theirs"),
        "{ran:?}"
    );
    let source = std::fs::read_to_string(theirs.join("HOOK.md")).unwrap();
    assert!(source.contains("mode: enforce"), "the hook that was added stays as it is");
    assert_eq!(environment.shell("ls").code, 0);
    let made = "$anyhook new own --trigger before_tool --tool Shell --pattern ls";
    let ran = in_agent(&environment, "claude", made);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("anyhook promote own"), "{ran:?}");
    assert_eq!(environment.shell("ls").code, 0);
    let outcomes: Vec<_> =
        commands(&environment).into_iter().map(|(event, outcome, _)| (event, outcome)).collect();
    let shadow = |event: &str| (event.to_owned(), "done in shadow mode".to_owned());
    assert_eq!(outcomes, [shadow("command:add"), shadow("command:new")]);
    assert_eq!(environment.run(&["promote", "theirs"]).code, 0);
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn a_pack_that_an_agent_adds_is_watched() {
    let environment = environment();
    let ran = in_agent(&environment, "claude", "$anyhook add pack/delivery-workflow --project");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("hint: not enforced yet: `mode: shadow`"), "{ran:?}");
    for entry in std::fs::read_dir(environment.project_hooks()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path().join("HOOK.md")).unwrap();
        assert!(text.contains("\nmode: shadow\n"), "{text}");
    }
}

#[test]
fn to_install_again_what_is_installed_is_for_everybody() {
    let environment = environment();
    assert_eq!(environment.run(&["install", "claude-code"]).code, 0);
    let ran = in_agent(&environment, "claude", "$anyhook install claude-code");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let settings = environment.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    write(&settings, text.replace("PreToolUse", "Other"), 0o644);
    let ran = in_agent(&environment, "claude", "$anyhook install claude-code");
    assert_eq!(ran.code, 1, "{ran:?}");
    let outcomes: Vec<String> =
        commands(&environment).into_iter().map(|(_, outcome, _)| outcome).collect();
    assert_eq!(outcomes, ["done", "refused"]);
}

#[test]
fn the_log_tells_of_it_in_a_line_and_in_full() {
    let environment = with_guard();
    let ran = in_agent(&environment, "gemini", "$anyhook untrust --all");
    assert_eq!(ran.code, 1, "{ran:?}");
    let log = environment.run(&["log"]);
    assert!(log.stdout.contains("command:untrust"), "{log:?}");
    assert!(log.stdout.contains("anyhook untrust --all: refused: only a person"), "{log:?}");
    let id = commands(&environment)[0].2["id"].as_str().unwrap().to_owned();
    let shown = environment.run(&["log", "show", &id]);
    for part in ["\"ancestors\"", "\"gemini\"", "\"outcome\": \"refused\""] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
}

#[test]
fn secrets_on_the_command_line_are_not_journaled() {
    let environment = with_guard();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let line = format!("$anyhook decision resolve 7k2m9x4q allow --message {secret}");
    let ran = in_agent(&environment, "codex", &line);
    assert_eq!(ran.code, 1, "{ran:?}");
    let journaled = commands(&environment)[0].2.to_string();
    assert!(!journaled.contains(&secret), "{journaled}");
}
