//! Real agents side by side: `workflow run` has three different ones work at the same time.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::{ModelTurn, tells};
use anyhook_testkit::{finish, write};

use crate::workflow_fixture::{Desk, WORK, artifact, artifact_path, signal, signal_path};

/// Not on anybody's `PATH`: so agents are told where it is.
const PROGRAM: &str = env!("CARGO_BIN_EXE_anyhook");

/// Real agents take their time, on a machine that does much else.
const TIMEOUT: Duration = Duration::from_secs(150);

/// Who works where, and what it may do without asking.
const CREW: [(&str, Agent, &[&str]); 3] = [
    ("frontend_implementation", Agent::Codex, &["--dangerously-bypass-approvals-and-sandbox"]),
    ("backend_implementation", Agent::ClaudeCode, &[]),
    ("ai_implementation", Agent::OpenCode, &[]),
];

/// Waits for all three: none goes on alone. Codex takes back the word after ten seconds.
const WAIT: &str = "for i in $(seq 90); do [ $(wc -l < began) -ge 3 ] && break; sleep 0.1; done";

/// Makes what every stage is to make, and a script that hands it in.
fn prepare(desk: &Desk) {
    let id = desk.state()["id"].as_str().unwrap().to_owned();
    for (stage, agent, _) in WORK {
        let (artifact_path, signal_path) = (artifact_path(stage), signal_path(agent));
        let mut word = signal(stage, &[&artifact_path]);
        word["id"] = format!("{id}-{stage}-1").into();
        let made = desk.environment.root().join("made").join(stage);
        write(&made.join("artifact"), artifact(stage, "full_system").to_string(), 0o644);
        write(&made.join("signal"), word.to_string(), 0o644);
        let made = made.display();
        let hand_in = format!(
            "mkdir -p \"$(dirname {artifact_path})\" && cp '{made}/artifact' {artifact_path} && cp '{made}/signal' {signal_path} && '{PROGRAM}' workflow complete {signal_path}\n"
        );
        write(&desk.path(&format!("hand-in/{stage}")), hand_in, 0o644);
    }
}

/// Says in the workflow's file how agents are started.
fn start_by(desk_file: &std::path::Path, agent: &str, run: &str) {
    let text = fs::read_to_string(desk_file).unwrap();
    let run = run.replace('\\', "\\\\").replace('"', "\\\"");
    let head = format!("[agent.{agent}]\n");
    assert!(text.contains(&head));
    write(desk_file, text.replace(&head, &format!("{head}run = \"{run}\"\n")), 0o644);
}

/// Tells whether a process has ended, and leaves its end to be waited for.
fn is_over(child: &Child) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('Z'))
}

#[test]
fn three_agents_work_side_by_side() {
    let desk = Desk::new();
    desk.up_to("frontend_implementation");
    // The gates have started a daemon out here, and agents are to be where their model is.
    desk.environment.kill_daemon();
    prepare(&desk);
    let file = desk.path(".agents/workflow.toml");
    let Some(mut bed) = AgentSandbox::within(desk.environment, Agent::ClaudeCode) else { return };
    bed.add_argument("--allowedTools");
    bed.add_argument("Bash,Write");
    let claude = bed.command_line().unwrap();
    let agent_of = |stage: &str| WORK.iter().find(|(name, ..)| *name == stage).unwrap().1;
    for (stage, agent, arguments) in CREW {
        let run = if agent == Agent::ClaudeCode {
            claude.clone()
        } else {
            let Some(()) = bed.join(agent) else { return };
            bed.command_line_of(agent, arguments).unwrap()
        };
        start_by(&file, agent_of(stage), &run);
    }
    // Whoever may have to work must have a command.
    for (stage, agent, _) in WORK {
        if CREW.iter().all(|(other, ..)| *other != stage) {
            start_by(&file, agent, &claude);
        }
    }
    let around = bed.surround(Vec::new());
    let part = |stage: &str, turns: Vec<ModelTurn>| {
        around.model().add_part(format!("You are `{}`", agent_of(stage)), turns);
    };
    for (stage, agent, _) in CREW {
        let mut turns = vec![agent.shell_tool("echo here >> began")];
        turns.extend((0..8).map(|_| agent.shell_tool(WAIT)));
        let hand_in = format!("[ $(wc -l < began) -ge 3 ] && sh hand-in/{stage}");
        turns.extend([agent.shell_tool(&hand_in), ModelTurn::text("done")]);
        part(stage, turns);
    }
    let hand_in = Agent::ClaudeCode.shell_tool("sh hand-in/qa_testing");
    part("qa_testing", vec![hand_in, ModelTurn::text("done")]);

    let run = around.begin(&bed, &["workflow", "run"]);
    let limit = Instant::now() + TIMEOUT;
    while Instant::now() < limit && !is_over(&run) {
        std::thread::sleep(Duration::from_millis(100));
    }
    // One that waits for a person says so when it is told to end.
    let _ = Command::new("kill").arg(run.id().to_string()).status();
    let ran = finish(run);
    let told = || {
        let pipelines = around.run(&bed, &["pipeline", "list", "--all"]).stdout;
        let agents = around.run(&bed, &["agent", "list", "--all"]).stdout;
        format!("{}\n{}\n{pipelines}\n{agents}", ran.stdout, ran.stderr)
    };
    assert_eq!(ran.code, 0, "{}", told());
    assert!(ran.stdout.contains("Start `deployment`?"), "{}", told());
    let began = fs::read_to_string(bed.project().join("began")).unwrap();
    assert_eq!(began, "here\nhere\nhere\n", "each began once: {}", told());
    // Real ones: their hooks have told the daemon who they are.
    let agents = around.run(&bed, &["agent", "list", "--all", "--json"]).json();
    let mut hosts: Vec<(String, String)> = Vec::new();
    for agent in agents.as_array().unwrap() {
        let id = agent["id"].as_str().unwrap();
        let stage = id.split('.').nth(1).unwrap_or_default().to_owned();
        hosts.push((stage, agent["host"].as_str().unwrap_or_default().to_owned()));
    }
    for (stage, agent, _) in CREW {
        let of_stage = (stage.to_owned(), agent.name().to_owned());
        assert!(hosts.contains(&of_stage), "{of_stage:?}: {hosts:?}\n{}", told());
        // What the architect made reached its model with the prompt.
        let requests = around.model().requests();
        let mark = format!("You are `{}`", agent_of(stage));
        let first = requests.iter().find(|request| tells(request, &mark)).unwrap();
        assert!(tells(first, "One service of quartz."), "{stage}");
        assert!(tells(first, &format!("{} workflow complete", crate::program())), "{stage}");
    }
    assert!(ran.stdout.matches(" starts").count() == 4, "{}", told());
}
