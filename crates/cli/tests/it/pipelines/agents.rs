//! Agents that are scripts: they tell by `anyhook emit`, or by the events of a host.

use super::*;

/// A pipeline of one agent between two commands.
fn between(agent: &str) -> String {
    format!(
        r#"
pipeline "work" {{
  step "before" {{
    run     = "echo before >> ran"
    on_done = {{ step = "agent" }}
  }}

  step "agent" {{
    run     = {{ agent = "worker" }}
    on_done = {{ step = "after" }}
  }}

  step "after" {{
    run = "echo after >> ran"
  }}
}}

agent "worker" {{
{agent}
}}
"#
    )
}

fn ran(world: &World) -> String {
    fs::read_to_string(world.environment.project().join("ran")).unwrap_or_default()
}

#[test]
fn a_signal_completes_the_step() {
    let world = World::new(&between(
        "  run    = \"./worker --fast\"\n  prompt = \"do 'this'\\nand that\"\n  env    = { COLOUR = \"red\" }",
    ));
    world.agent(
        "worker",
        r#"say "$# $1 $2 $COLOUR $ANYHOOK_AGENT_ID $(tty > /dev/null && echo terminal)"
anyhook emit agent:signal complete
sleep 600"#,
    );
    let id = world.begin("work");
    world.wait_phase(&id, "completed");
    let agent = format!("{id}.agent.2");
    let told = ["2 --fast do 'this'".to_owned(), format!("and that red {agent} terminal")];
    assert_eq!(world.said(), told);
    assert_eq!(ran(&world), "before\nafter\n");
    let view = world.run(&["agent", "show", &agent, "--json"]).json();
    assert_eq!(view["pipeline"], id.as_str());
    assert_eq!(view["state"], "exited", "it is ended with its step");
}

#[test]
fn an_idle_agent_is_nudged_and_then_a_person_is_asked() {
    let world = World::new(&between(
        "  run     = \"./worker\"\n  on_idle = { action = \"nudge\", message = \"keep going; please\" }",
    ));
    world.agent(
        "worker",
        r#"anyhook emit agent:idle
while read -r line; do
  say "told: $line"
  anyhook emit agent:signal continue
  anyhook emit agent:idle
done"#,
    );
    let id = world.begin("work");
    wait("the nudge", || world.said().contains(&"told: keep going; please".to_owned()));
    // A signal `continue` has counts start anew: it is nudged again, and again.
    wait("more nudges", || world.said().len() >= 3);
    assert_eq!(world.run(&["pipeline", "cancel", &id]).code, 0);
    world.wait_phase(&id, "cancelled");
}

#[test]
fn an_agent_that_stays_idle_is_a_persons_to_decide() {
    let world = World::new(&between("  run = \"./worker\""));
    world.agent(
        "worker",
        r#"anyhook emit agent:idle
while read -r line; do
  say "told: $line"
  anyhook emit agent:idle
done"#,
    );
    let id = world.begin("work");
    let decision = world.wait_decision(&id);
    assert_eq!(options(&decision), ["nudge", "done", "fail", "dismiss"]);
    assert_eq!(world.said().len(), 1, "nudged once");
    assert!(world.said()[0].starts_with("told: Continue."));
    let question = decision["id"].as_str().unwrap();
    let ran_it =
        world.run(&["decision", "resolve", question, "nudge", "--message", "use the other file"]);
    assert_eq!(ran_it.code, 0, "{ran_it:?}");
    wait("the person's words", || world.said().contains(&"told: use the other file".to_owned()));
    let decision = world.wait_decision(&id);
    world.decide(&decision, "done");
    world.wait_phase(&id, "completed");
    assert_eq!(ran(&world), "before\nafter\n");
}

#[test]
fn a_gate_decides_whether_idle_means_done() {
    let world = World::new(&between(
        "  run     = \"./worker\"\n  on_idle = { action = \"gate\", run = \"cat result; grep -q good result\", attempts = 5 }",
    ));
    world.agent("worker", "echo bad > result; anyhook emit agent:idle; read -r line");
    let id = world.begin("work");
    let decision = world.wait_decision(&id);
    assert_eq!(options(&decision), ["retry", "skip", "fail"]);
    let question = decision["question"].as_str().unwrap();
    assert_eq!(question, "the gate `cat result; grep -q good result` failed (1):\nbad");
    write(&world.environment.project().join("result"), "good\n", 0o644);
    world.decide(&decision, "retry");
    world.wait_phase(&id, "completed");
}

#[test]
fn a_gate_has_its_own_time_limit() {
    let world = World::new(&between(
        "  run     = \"./worker\"\n  on_idle = { action = \"gate\", run = \"echo slow; sleep 600\", timeout = \"1s\" }",
    ));
    world.agent("worker", "anyhook emit agent:idle; read -r line");
    let id = world.begin("work");
    let decision = world.wait_decision(&id);
    let question = decision["question"].as_str().unwrap();
    assert!(question.contains("was killed:\nslow\nit timed out"), "{question}");
    world.decide(&decision, "skip");
    world.wait_phase(&id, "completed");
}

/// A script that speaks as Claude Code does: its hooks are called as the real one calls them.
const HOST: &str = r#"hook() {
  event=$1; more=$2
  printf '{"session_id":"s1","cwd":"%s","hook_event_name":"%s"%s}' "$PWD" "$event" "$more" |
    anyhook hook claude-code
}
hook SessionStart ',"source":"startup"'
hook UserPromptSubmit ',"prompt":"go"'
"#;

#[test]
fn an_escalated_permission_is_answered_through_the_host() {
    for (choice, behavior) in [("allow", "allow"), ("deny", "deny")] {
        let world = World::new(&between("  run  = \"./worker\"\n  host = \"claude-code\""));
        world.agent(
            "worker",
            &format!(
                r#"{HOST}
reply=$(hook PermissionRequest ',"tool_name":"Bash","tool_input":{{"command":"make deploy"}}')
say "$reply"
anyhook emit agent:signal complete
sleep 600"#
            ),
        );
        let id = world.begin("work");
        let decision = world.wait_decision(&id);
        assert_eq!(options(&decision), ["allow", "deny", "attach", "fail"]);
        assert_eq!(
            (&decision["kind"], &decision["about"]),
            (&"permission".into(), &"make deploy".into())
        );
        let open = world.run(&["decision", "list", "--json"]).json();
        assert_eq!(open.as_array().unwrap().len(), 1, "one decision, not two");
        let agent = format!("{id}.agent.2");
        assert_eq!(world.agent_state(&agent), "prompting");
        let refused = world.run(&["agent", "send", &agent, "yes"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("is at a prompt"), "{refused:?}");
        world.decide(&decision, choice);
        world.wait_phase(&id, "completed");
        let said = world.said().concat();
        let reply: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(reply["hookSpecificOutput"]["decision"]["behavior"], behavior, "{said}");
    }
}

#[test]
fn a_stop_is_held_until_the_agent_signals() {
    let world = World::new(&between(
        "  run     = \"./worker\"\n  host    = \"claude-code\"\n  on_stop = { action = \"signal\", message = \"say how it stands\" }",
    ));
    world.agent(
        "worker",
        &format!(
            r#"{HOST}
say "$(hook Stop ',"stop_hook_active":false')"
anyhook emit agent:signal complete
sleep 600"#
        ),
    );
    let id = world.begin("work");
    world.wait_phase(&id, "completed");
    let reply: Value = serde_json::from_str(&world.said().concat()).unwrap();
    assert_eq!(reply["decision"], "block");
    assert!(reply["reason"].as_str().unwrap().starts_with("say how it stands"), "{reply}");
    let record = world
        .environment
        .journal()
        .into_iter()
        .find(|record| record["verdict"]["by"] == "pipeline")
        .expect("who held it is in the journal");
    assert_eq!(record["event"], "before_stop");
    let left = fs::read_dir(world.environment.state().join("daemon/agents")).unwrap().count();
    assert_eq!(left, 0, "no instructions stay");
}

#[test]
fn a_dead_agent_is_started_again_in_its_session() {
    let world = World::new(&between(
        "  run     = \"./worker\"\n  host    = \"claude-code\"\n  prompt  = \"begin\"\n  on_dead = { action = \"recover\", attempts = 2, message = \"go on then\" }",
    ));
    world.agent(
        "worker",
        &format!(
            r#"say "$*"
{HOST}
if [ -e died ]; then anyhook emit agent:signal complete; sleep 600; fi
touch died
exit 7"#
        ),
    );
    let id = world.begin("work");
    world.wait_phase(&id, "completed");
    let said = world.said();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].trim_end().ends_with("begin"), "{said:?}");
    assert!(said[1].contains("--resume s1") && said[1].ends_with("go on then"), "{said:?}");
}

#[test]
fn an_agent_that_dies_is_a_persons_to_decide() {
    let world = World::new(&between("  run = \"./worker\""));
    world.agent("worker", "say \"$ANYHOOK_AGENT_ID\"; test -e again");
    let id = world.begin("work");
    let decision = world.wait_decision(&id);
    assert_eq!(options(&decision), ["retry", "skip", "fail"]);
    assert_eq!(decision["question"], "the agent is gone: its process ended unexpectedly");
    write(&world.environment.project().join("again"), "", 0o644);
    world.decide(&decision, "retry");
    let decision = world.wait_decision(&id);
    assert_eq!(decision["question"], "the agent exited");
    world.decide(&decision, "skip");
    world.wait_phase(&id, "completed");
    assert_eq!(world.said().len(), 2);
}

#[test]
fn an_agent_can_be_ended_and_its_failure_takes_another_step() {
    let world = World::new(
        r#"
pipeline "work" {
  step "agent" {
    run     = { agent = "worker" }
    on_fail = { step = "sorry" }
  }

  step "sorry" {
    run = "echo sorry >> ran"
  }
}

agent "worker" {
  run     = "./worker"
  on_dead = "fail"
}
"#,
    );
    world.agent("worker", "say here; sleep 600");
    let id = world.begin("work");
    wait("the agent", || world.said() == ["here"]);
    wait("its session", || world.run(&["agent", "kill", &id[..6]]).code == 0);
    world.wait_phase(&id, "completed");
    assert_eq!(ran(&world), "sorry\n");
}

#[test]
fn two_pipelines_do_not_mix() {
    let world = World::new(&between("  run = \"./worker\""));
    world.agent(
        "worker",
        "say here; read -r line; say \"$line\"; anyhook emit agent:signal complete; sleep 600",
    );
    let ids = [world.begin("work"), world.begin("work")];
    wait("both agents", || world.said().len() == 2);
    for (id, text) in ids.iter().zip(["one", "two"]) {
        let agent = format!("{id}.agent");
        wait("its session", || world.run(&["agent", "send", &agent, text]).code == 0);
        world.wait_phase(id, "completed");
        assert_eq!(world.said().last().unwrap(), text);
    }
}

#[test]
fn an_agent_cannot_answer_for_a_person() {
    let world = World::new(&between("  run = \"./worker\""));
    world.agent(
        "worker",
        r#"anyhook emit agent:signal escalate --message "may I?"
while ! [ -e decision ]; do sleep 0.05; done
anyhook decision resolve "$(cat decision)" done > answer 2>&1; echo "exit $?" >> answer
unset ANYHOOK_AGENT_ID
anyhook decision resolve "$(cat decision)" done > hidden 2>&1; echo "exit $?" >> hidden
say tried; sleep 600"#,
    );
    let id = world.begin("work");
    let decision = world.wait_decision(&id);
    let project = world.environment.project();
    write(&project.join("decision"), decision["id"].as_str().unwrap(), 0o644);
    wait("it to have tried", || world.said() == ["tried"]);
    for file in ["answer", "hidden"] {
        let text = fs::read_to_string(project.join(file)).unwrap();
        assert!(text.contains("only a person may do this"), "{file}: {text}");
        assert!(text.ends_with("exit 1\n"), "{file}: {text}");
    }
    assert_eq!(world.view(&id)["phase"], "waiting");
    world.decide(&decision, "done");
    world.wait_phase(&id, "completed");
}

#[test]
fn the_whole_command_tells_which_agent_it_is() {
    for (run, host) in [
        ("npx -y @openai/codex", Some("codex")),
        ("env -u X claude --model opus", Some("claude-code")),
        ("cd . && claude", Some("claude-code")),
        ("${AGENT:-gemini} --yolo", Some("gemini-cli")),
        ("cd ${AGENT:-claude} && ./worker", None),
        ("./worker", None),
    ] {
        let world = World::new(&between(&format!("  run = \"{run}\"")));
        let ran = world.run(&["pipeline", "run", "work", "--dry-run"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let plan = ran.json();
        let steps = plan["steps"].as_array().unwrap();
        let agent = steps.iter().find_map(|step| step["work"].get("agent")).unwrap();
        assert_eq!(agent["host"].as_str(), host, "{run}");
    }
}

#[test]
fn what_is_done_about_a_failure_depends_on_its_kind() {
    let world = World::new(&between(
        r#"  run      = "./worker"
  host     = "claude-code"
  on_error = [
    { match = "rate_limited", action = "recover", message = "try again" },
    { action = "fail", message = "not like that" },
  ]"#,
    ));
    world.agent(
        "worker",
        &format!(
            r#"say "$*"
{HOST}
if [ -e tried ]; then hook StopFailure ',"error":"authentication_failed"'; sleep 600; fi
touch tried
hook StopFailure ',"error":"rate_limit"'
sleep 600"#
        ),
    );
    let id = world.begin("work");
    let view = world.wait_phase(&id, "failed");
    assert_eq!(view["why"], "step `agent` failed: not like that");
    assert_eq!(world.said().len(), 2, "{:?}", world.said());
    assert!(world.said()[1].ends_with("try again"), "{:?}", world.said());
}

/// What an agent tells whose step is over: in the pipeline's log, in the journal's rows and in what is
/// known of one record.
#[test]
fn what_a_stale_agent_tells_is_dropped_with_its_reason() {
    let world = World::new(
        r#"
pipeline "work" {
  step "first" {
    run     = { agent = "one" }
    on_done = { step = "second" }
  }

  step "second" {
    run = { agent = "two" }
  }
}

agent "one" {
  run = "./one"
}

agent "two" {
  run = "./two"
}
"#,
    );
    world.agent("one", "anyhook emit agent:signal complete; sleep 600");
    world.agent("two", "say here; sleep 600");
    let id = world.begin("work");
    wait("the second agent", || world.said() == ["here"]);
    let stale = format!("{id}.first.1");
    let emitted = world.run(&["emit", "agent:prompt", "--agent", &stale, "--type", "question"]);
    assert_eq!(emitted.code, 0, "{emitted:?}");
    let why = "the agent is not working on the current step";
    let line = format!("agent:prompt of {stale} ignored: {why}");
    wait("the pipeline's log", || world.run(&["pipeline", "logs", &id]).stdout.contains(&line));

    let rows = world.run(&["log", "--event", "agent:prompt"]).stdout;
    assert!(rows.contains(&format!("{stale}: waits at a prompt (question)")), "{rows}");
    let rows = world.run(&["log", "--event", "agent:signal"]).stdout;
    assert!(rows.contains(&format!("{stale}: reports that it is done")), "{rows}");

    let record = world.run(&["log", "--event", "agent:prompt", "--json"]).json();
    let record = record["id"].as_str().unwrap();
    let shown = world.run(&["log", "show", record]).stdout;
    assert!(shown.contains("dropped  the agent has ended\n"), "{shown}");
    let shown = world.run(&["log", "show", record, "--json"]).json();
    assert_eq!(shown["dropped"], "the agent has ended");
    world.environment.kill_daemon();
    let shown = world.run(&["log", "show", record]).stdout;
    let unknown = "daemon   is not running, so how it handled this event is unknown\n";
    assert!(shown.contains(unknown), "{shown}");
    assert_eq!(world.run(&["pipeline", "cancel", &id]).code, 0);
    world.wait_phase(&id, "cancelled");
}
