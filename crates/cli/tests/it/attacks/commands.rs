//! To loosen guards by command, as an agent: by its variables, by its processes, in disguise.

use std::fs;
use std::process::Command;

use anyhook_testkit::{CommandRun, run, write};

use super::attack_fixture::{EVIL, Host, SHELL_GUARD, World, denying};
use super::{Attempt, Outcome, Seen};

/// Commands that loosen, as they are typed.
const LOOSENING: [&str; 20] = [
    "trust --all",
    "trust theirs",
    "untrust --all",
    "remove sentry",
    "uninstall claude-code",
    "reload",
    "promote watched",
    "daemon stop",
    "decision resolve 7k2m9x4q allow",
    "workflow approve design --by ann",
    "workflow reject design --by ann --note no",
    "workflow reset --all",
    "install codex",
    "agent attach 7k2m",
    "pipeline run esc",
    "pipeline run mine",
    "pipeline resume 7k2m",
    "agent send 7k2m !rm",
    "agent thaw 7k2m",
    "workflow run --with true",
];

/// The variables by which agents' shells are known.
const VARIABLES: [(&str, &str); 9] = [
    ("CLAUDECODE", "1"),
    ("CODEX_THREAD_ID", "01a1e090"),
    ("GEMINI_CLI", "1"),
    ("OPENCODE", "1"),
    ("CURSOR_AGENT", "1"),
    ("COPILOT_CLI", "1"),
    ("QWEN_CODE", "1"),
    ("AI_AGENT", "1"),
    ("ANYHOOK_AGENT_ID", "7k2m"),
];

/// Ways in which an agent's process may start a command; `$anyhook` is the program, `[C]` the
/// command.
const DISGUISES: [(&str, &str); 9] = [
    ("plainly", "$anyhook [C]"),
    ("without any variable", "env -i HOME=\"$HOME\" PATH=\"$PATH\" $anyhook [C]"),
    ("by another shell", "bash -c '$anyhook [C]'"),
    ("by `nohup`", "nohup $anyhook [C] 2>&1"),
    ("by `timeout`", "timeout 10 $anyhook [C]"),
    ("by `setsid`, which it waits for", "setsid --wait $anyhook [C]"),
    (
        "by `setsid` without variables",
        "env -i HOME=\"$HOME\" PATH=\"$PATH\" setsid --wait $anyhook [C]",
    ),
    (
        "by `python3`",
        "python3 -c 'import subprocess, os, sys; sys.exit(subprocess.call([os.environ[\"anyhook\"]] + \"[C]\".split()))'",
    ),
    ("by `xargs`", "echo [C] | xargs $anyhook"),
];

/// A world with something of everything to loosen.
fn world() -> World {
    let world = World::guarded();
    world.env.project_hook("theirs", SHELL_GUARD, &denying());
    world.env.user_hook("watched", "trigger: before_tool\nmode: shadow", "exit 2");
    fs::create_dir_all(world.env.home().join(".claude")).unwrap();
    write(
        &world.project().join(".agents/runbooks/esc.toml"),
        "[[pipeline.esc.step]]\nname = \"one\"\nrun = \"touch escaped\"\n",
        0o644,
    );
    for folder in [".config", "other"] {
        write(
            &world.env.home().join(folder).join("agents/runbooks/mine.toml"),
            "[[pipeline.mine.step]]\nname = \"one\"\nrun = \"touch escaped\"\n",
            0o644,
        );
    }
    world
}

/// A shell in the project with the variables of a test.
fn shell(world: &World, line: &str) -> Command {
    let original = world.env.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(world.project()).env_clear();
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("anyhook", original.get_program());
    command
}

fn refused(world: &World, ran: &CommandRun) -> Seen {
    let text = format!("{}{}", ran.stdout, ran.stderr);
    if ran.code == 0 {
        return Err(format!("it was done: {text}"));
    }
    if !text.contains("is refused: only a person may do this")
        && !text.contains("is refused: there is no terminal")
    {
        return Err(format!("it failed for another reason: {text}"));
    }
    let guarded = world.shell(Host::Claude, EVIL).verdict()?;
    if guarded != Outcome::Denied {
        return Err(format!("the guard does not deny any more, but: {guarded}"));
    }
    let is_journaled =
        world.env.all_records().iter().any(|record| {
            record["event"].as_str().is_some_and(|event| event.starts_with("command:"))
        });
    if is_journaled { Ok(Outcome::Refused) } else { Err("it is not in the journal".to_owned()) }
}

fn by_variable(command: &str, name: &str, value: &str) -> Seen {
    let world = world();
    world.is_guarded(Host::Claude)?;
    let mut shell = shell(&world, &format!("$anyhook {command}"));
    shell.env(name, value);
    refused(&world, &run(shell, b""))
}

/// A command with variables that lead elsewhere, in an agent's session.
fn by_environment(line: &str) -> Seen {
    let world = world();
    world.is_guarded(Host::Claude)?;
    let mut shell = shell(&world, line);
    shell.env("CLAUDECODE", "1");
    refused(&world, &run(shell, b""))
}

/// A command without a terminal, where a person's settings require one.
fn without_terminal(settings: &str, line: &str) -> Seen {
    let world = world();
    world.is_guarded(Host::Claude)?;
    write(&world.env.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    refused(&world, &run(shell(&world, line), b""))
}

/// A command that an agent cut loose from all its processes and variables.
fn cut_loose(start: &str, command: &str) -> Seen {
    let world = world();
    world.is_guarded(Host::Claude)?;
    let program = world.env.command(&[]).get_program().to_string_lossy().into_owned();
    let job = format!(
        "#!/bin/sh\n{program} {command} > out 2>&1; echo $? > code.new; mv code.new code\n"
    );
    let home = world.env.home().display().to_string();
    let loose = format!(
        "env -i HOME=\"$HOME\" PATH=\"$PATH\" ANYHOOK_PASSWD_HOME='{home}' {start} < /dev/null\n\
         timeout 60 sh -c 'until [ -e code ]; do sleep 0.02; done'\n"
    );
    // Written by another process, as in `by_process`.
    for (file, text) in [
        ("job", job.as_str()),
        ("loose", &loose),
        ("codex", "#!/bin/sh\nsh -c \"$1\"\ncode=$?\nexit $code\n"),
    ] {
        let mut writer = Command::new("sh");
        writer.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(world.project().join(file));
        assert_eq!(run(writer, text.as_bytes()).code, 0);
    }
    let init = "setsid --wait ./codex \"$(cat loose)\"\ncat out\nexit $(cat code)";
    let mut shell = shell(&world, "exec unshare -pf --mount-proc sh -c \"$init\"");
    shell.env("init", init).env_remove("ANYHOOK_TOP_PROCESS");
    refused(&world, &run(shell, b""))
}

fn by_process(agent: &str, disguise: &str, command: &str) -> Seen {
    let world = world();
    world.is_guarded(Host::Claude)?;
    let program = world.env.root().join("bin").join(agent);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    // Written by another process: what we hold open for writing, another thread's child may hold
    // too, and then it cannot be run.
    let mut writer = Command::new("sh");
    writer.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(&program);
    // Not the last command: a shell would become it.
    let made = run(writer, b"#!/bin/sh\nsh -c \"$1\"\ncode=$?\nexit $code\n");
    assert_eq!(made.code, 0, "{made:?}");
    let mut shell = shell(&world, "exec \"$agent\" \"$line\"");
    shell.env("agent", program).env("line", disguise.replace("[C]", command));
    refused(&world, &run(shell, b""))
}

/// What an agent adds only watches.
fn in_shadow(line: &str, name: &str) -> Seen {
    let world = world();
    world.is_guarded(Host::Claude)?;
    let source = world.env.root().join("source");
    world.env.hook(
        &source,
        "added",
        "trigger: before_tool\npriority: 1000",
        "echo '{\"decision\": \"allow\"}'",
    );
    let mut shell = shell(&world, &line.replace("[S]", &source.join("added").to_string_lossy()));
    shell.env("CLAUDECODE", "1");
    let ran = run(shell, b"");
    if ran.code != 0 {
        return Err(format!("it does not work at all: {ran:?}"));
    }
    let file = [world.env.user_hooks(), world.env.project_hooks()]
        .map(|hooks| hooks.join(name).join("HOOK.md"))
        .into_iter()
        .find(|file| file.exists());
    let text = fs::read_to_string(file.ok_or("nothing was made")?).unwrap();
    if text.contains("mode: shadow") {
        Ok(Outcome::Refused)
    } else {
        Err(format!("it counts at once: {text}"))
    }
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, command) in LOOSENING.into_iter().enumerate() {
        for (name, value) in [VARIABLES[number % 9], VARIABLES[(number + 4) % 9]] {
            let how = format!("`{name}={value} anyhook {command}`");
            let what = "A command that loosens is run with an agent's variable";
            let run = move || by_variable(command, name, value);
            list.push(Attempt::new(what, how, Outcome::Refused, run));
        }
    }
    let agents = ["claude", "codex", "gemini", "opencode", "copilot"];
    for (number, (way, disguise)) in DISGUISES.into_iter().enumerate() {
        for (offset, command) in
            ["trust --all", "untrust --all", "remove sentry"].into_iter().enumerate()
        {
            let agent = agents[(number + offset) % agents.len()];
            let how = format!("`anyhook {command}` {way}, below a process `{agent}`");
            let what = "A command that loosens is run by an agent's process";
            let run = move || by_process(agent, disguise, command);
            list.push(Attempt::new(what, how, Outcome::Refused, run));
        }
    }
    for line in [
        "XDG_CONFIG_HOME=\"$HOME/other\" $anyhook pipeline run mine",
        "$anyhook pipeline run mine --runbook \"$HOME/other/agents/runbooks/mine.toml\"",
        "XDG_STATE_HOME=\"$HOME/other\" $anyhook pipeline run mine",
        "XDG_STATE_HOME=\"$HOME/other\" $anyhook remove sentry",
        "XDG_STATE_HOME=\"$HOME/other\" $anyhook trust --all",
        "HOME=\"$HOME/other\" $anyhook untrust --all",
    ] {
        let how = format!("`CLAUDECODE=1 {}`", line.replace("$anyhook", "anyhook"));
        let what = "A command that loosens is run with folders of the agent's own";
        list.push(Attempt::new(what, how, Outcome::Refused, move || by_environment(line)));
    }
    let required = "[person]\nterminal = \"required\"\n";
    for (settings, variables) in [
        (required, ""),
        (required, "XDG_CONFIG_HOME=/nx "),
        (required, "HOME=\"$HOME/other\" "),
        (required, "XDG_CONFIG_HOME=/nx XDG_STATE_HOME=\"$HOME/other\" "),
        ("[person]\nterminal = \"Required\"\n", ""),
        ("[person]\nterminal = \"requird\"\n", ""),
        ("[Person]\nterminal = \"required\"\n", ""),
        ("[person\n", ""),
    ] {
        let line = format!("{variables}setsid --wait $anyhook trust --all");
        let rule = settings.trim_end().replace('\n', " ");
        let how = format!("`{}`, with `{rule}`", line.replace("$anyhook", "anyhook"));
        let what = "The rule that a terminal is required is got around";
        let run = move || without_terminal(settings, &line);
        list.push(Attempt::new(what, how, Outcome::Refused, run));
    }
    for (number, start) in [
        "setsid --fork ./job",
        "setsid --fork xargs ./job",
        "setsid --fork find job -exec ./{} ';'",
        "setsid --fork awk 'BEGIN { system(\"./job\") }'",
        "setsid --fork python3 -c 'import subprocess; subprocess.call([\"./job\"])'",
        "sh -c './job &'",
    ]
    .into_iter()
    .enumerate()
    {
        let command = ["trust --all", "untrust --all", "remove sentry"][number % 3];
        let how = format!("`anyhook {command}` by `env -i … {start}`");
        let what = "An agent cuts a command that loosens loose from itself";
        let run = move || cut_loose(start, command);
        list.push(Attempt::new(what, how, Outcome::Refused, run).only_as_root());
    }
    for (what, line, name) in [
        (
            "An agent makes a hook that would count",
            "$anyhook new added --trigger before_tool",
            "added",
        ),
        ("An agent adds a hook that allows everything", "$anyhook add [S]", "added"),
    ] {
        let how = format!("`{}`: in shadow mode until a person promotes it", line.replace('$', ""));
        let run = move || in_shadow(line, name);
        list.push(Attempt::new(what, how, Outcome::Refused, run));
    }
    list
}
