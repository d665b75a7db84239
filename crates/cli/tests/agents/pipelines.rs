//! Real agents as steps of pipelines: a command, the agent, a gate, a command.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhook_daemon::session::{Key, Session};
use anyhook_testkit::agents::{Agent, AgentSandbox, DaemonWithModel};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::{wait_within, write};
use serde_json::Value;

use crate::environment;

/// A real agent takes its time, on a machine that does much else.
pub(super) const TIMEOUT: Duration = Duration::from_secs(90);

/// A pipeline with a real agent, under way.
pub(super) struct Story {
    pub(super) around: DaemonWithModel,
    pub(super) bed: AgentSandbox,
    id: String,
}

impl Story {
    /// Begins one; none if the agent cannot be run here.
    pub(super) fn begin(
        agent: Agent,
        prepare: impl FnOnce(&mut AgentSandbox),
        definition: &str,
        script: impl FnOnce(&AgentSandbox) -> Vec<ModelTurn>,
    ) -> Option<Self> {
        Self::begin_in("none", agent, prepare, definition, script)
    }

    /// Begins one in a workspace.
    fn begin_in(
        workspace: &str,
        agent: Agent,
        prepare: impl FnOnce(&mut AgentSandbox),
        definition: &str,
        script: impl FnOnce(&AgentSandbox) -> Vec<ModelTurn>,
    ) -> Option<Self> {
        let mut bed = AgentSandbox::within(environment(), agent)?;
        prepare(&mut bed);
        if agent == Agent::GeminiCli {
            // It takes hooks from its settings alone.
            let installed = bed.environment().run(&["install", "gemini-cli"]);
            assert_eq!(installed.code, 0, "{installed:?}");
        }
        let run = bed.command_line()?.replace('\\', "\\\\").replace('"', "\\\"");
        let runbook = format!(
            r#"
pipeline "story" {{
  workspace = "{workspace}"

  step "before" {{
    run     = "echo before >> ran"
    on_done = {{ step = "work" }}
  }}

  step "work" {{
    run     = {{ agent = "worker" }}
    on_done = {{ step = "after" }}
  }}

  step "after" {{
    run = "echo after >> ran"
  }}
}}

agent "worker" {{
  run    = "{run}"
  host   = "{}"
  prompt = "make the file"
{definition}
}}
"#,
            agent.name()
        );
        let file = bed.project().join(".agents/runbooks/story.hcl");
        write(&file, runbook, 0o644);
        let around = bed.surround(script(&bed));
        let trusted = around.run(&bed, &["trust", ".agents/runbooks/story.hcl"]);
        assert_eq!(trusted.code, 0, "{trusted:?}");
        let begun = around.run(&bed, &["pipeline", "run", "story", "--json"]);
        assert_eq!(begun.code, 0, "{begun:?}");
        let id = begun.json()["id"].as_str().unwrap().to_owned();
        Some(Self { around, bed, id })
    }

    /// Returns what is on the agent's screen.
    pub(super) fn screen(&self) -> String {
        self.around.run(&self.bed, &["agent", "peek", &self.id]).stdout
    }

    fn view(&self) -> Value {
        let ran = self.around.run(&self.bed, &["pipeline", "show", &self.id, "--json"]);
        if ran.code == 0 { ran.json() } else { Value::Null }
    }

    pub(super) fn told(&self) -> String {
        let logs = self.around.run(&self.bed, &["pipeline", "logs", &self.id]).stdout;
        let screen = self.screen();
        let agents = self.around.run(&self.bed, &["agent", "list", "--all"]).stdout;
        format!("{logs}\n{screen}\n{agents}")
    }

    fn wait_phase(&self, phase: &str) -> Value {
        let mut view = self.view();
        let until = std::time::Instant::now() + TIMEOUT;
        while view["phase"] != phase {
            let is_over = view["ended"].is_string();
            assert!(!is_over && std::time::Instant::now() < until, "not {phase}: {}", self.told());
            std::thread::sleep(Duration::from_millis(50));
            view = self.view();
        }
        view
    }

    /// Waits for a decision of the pipeline; returns it.
    fn wait_decision(&self) -> Value {
        let view = self.wait_phase("waiting");
        let id = view["decision"].as_str().unwrap();
        self.bed.environment().run(&["decision", "show", id, "--json"]).json()["inquiry"].clone()
    }

    pub(super) fn decide(&self, decision: &Value, choice: &str) {
        let id = decision["id"].as_str().unwrap();
        let made = self.bed.environment().run(&["decision", "resolve", id, choice]);
        assert_eq!(made.code, 0, "{made:?}");
    }

    /// Sees that all was done, once and in order.
    pub(super) fn expect_completed(&self) -> Value {
        let view = self.wait_phase("completed");
        let root = std::path::Path::new(view["workspace"]["root"].as_str().unwrap());
        let ran = fs::read_to_string(root.join("ran")).unwrap();
        assert_eq!(ran, "before\nafter\n");
        view
    }

    fn why(&self) -> String {
        self.view()["visits"][1]["why"].as_str().unwrap_or_default().to_owned()
    }
}

fn signal() -> String {
    format!("'{}' emit agent:signal complete", env!("CARGO_BIN_EXE_anyhook"))
}

/// What Claude Code is told so that it asks about nothing.
fn asks_nothing(bed: &mut AgentSandbox) {
    bed.add_argument("--allowedTools");
    bed.add_argument("Bash,Write");
}

const GATE: &str = "  on_idle = { action = \"gate\", run = \"test -e made\" }";

#[test]
fn claude_code_completes_by_a_signal() {
    let script = |bed: &AgentSandbox| vec![bed.shell_tool(&signal()), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::ClaudeCode, asks_nothing, "", script) else { return };
    story.expect_completed();
    assert_eq!(story.why(), "the agent reported that it is done");
    let prompt = story.around.model().requests();
    assert!(anyhook_testkit::model_server::tells(&prompt[0], "make the file"));
}

#[test]
fn claude_code_completes_by_idle_and_a_gate() {
    let script = |bed: &AgentSandbox| vec![bed.shell_tool("touch made"), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::ClaudeCode, asks_nothing, GATE, script) else { return };
    story.expect_completed();
    assert_eq!(story.why(), "the gate `test -e made` succeeded");
}

#[test]
fn claude_code_is_nudged_when_it_rests_too_early() {
    let script = |bed: &AgentSandbox| {
        vec![
            ModelTurn::text("I think I am done"),
            bed.shell_tool(&signal()),
            ModelTurn::text("now I am"),
        ]
    };
    let definition = "  on_idle = { action = \"nudge\", message = \"no, make it; 'now'\" }";
    let Some(story) = Story::begin(Agent::ClaudeCode, asks_nothing, definition, script) else {
        return;
    };
    story.expect_completed();
    let requests = story.around.model().requests();
    assert!(anyhook_testkit::model_server::tells(&requests[1], "no, make it; 'now'"));
}

/// Begins a story in which the agent asks before it makes the file.
fn asked(agent: Agent, prepare: impl FnOnce(&mut AgentSandbox)) -> Option<(Story, Value)> {
    let script = |bed: &AgentSandbox| vec![bed.shell_tool("touch made"), ModelTurn::text("done")];
    let story = Story::begin(agent, prepare, GATE, script)?;
    let decision = story.wait_decision();
    assert!(!story.bed.project().join("made").exists(), "it waits: {}", story.told());
    Some((story, decision))
}

pub(super) fn names(decision: &Value) -> Vec<&str> {
    let options = decision["options"].as_array().unwrap();
    options.iter().map(|option| option["name"].as_str().unwrap()).collect()
}

#[test]
fn claude_code_completes_by_a_permission_that_a_person_gave() {
    let Some((story, decision)) = asked(Agent::ClaudeCode, |_| {}) else { return };
    assert_eq!(names(&decision), ["allow", "deny", "attach", "fail"]);
    assert_eq!(
        (&decision["kind"], &decision["about"]),
        (&"permission".into(), &"touch made".into())
    );
    story.decide(&decision, "allow");
    story.expect_completed();
}

/// In its default mode, in which it asks about every other command.
#[test]
fn claude_code_says_that_it_is_done_without_being_asked() {
    let script = |bed: &AgentSandbox| {
        vec![bed.shell_tool("anyhook emit agent:signal complete"), ModelTurn::text("done")]
    };
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_anyhook")).parent().unwrap();
    let env = format!("  env = {{ PATH = \"{}:${{PATH}}\" }}", folder.display());
    let Some(story) = Story::begin(Agent::ClaudeCode, |_| {}, &env, script) else { return };
    story.expect_completed();
    assert_eq!(story.why(), "the agent reported that it is done");
    assert_eq!(all_decisions(&story), Vec::<Value>::new(), "{}", story.told());
}

/// Returns the decisions there ever were about the story's agent. On a slow machine one may have been
/// asked before the agent's own question came, in whose place that one is.
pub(super) fn all_decisions(story: &Story) -> Vec<Value> {
    let listed = story.bed.environment().run(&["decision", "list", "--all", "--json"]);
    let mut all = listed.json().as_array().unwrap().clone();
    all.retain(|one| one["resolution"]["by"] != "the agent itself is asking about it");
    all
}

/// Waits for the decision by which the agent's own host asks.
fn wait_own_question(story: &Story) -> Value {
    wait_within(TIMEOUT, "the agent's own question", || {
        story.wait_decision()["kind"] != "escalation"
    });
    story.wait_decision()
}

/// Presses a key in the agent's own session, as a person who is attached to it does.
pub(super) fn press(story: &Story, key: Key) {
    let state = story.bed.environment().state();
    let jobs = state.join("daemon/pipelines").join(&story.id).join("jobs");
    let runs = |job: &PathBuf| job.join("claim").exists() && !job.join("ended").exists();
    let jobs = fs::read_dir(jobs).unwrap().map(|job| job.unwrap().path());
    let running: Vec<PathBuf> = jobs.filter(runs).collect();
    let [folder] = &running[..] else { panic!("one job runs: {running:?}") };
    let name = format!("{}-{}", story.id, folder.file_name().unwrap().to_str().unwrap());
    let binary = env!("CARGO_BIN_EXE_anyhook").into();
    let runtime = Session::runtime_folder(&state);
    Session { folder: folder.clone(), name, binary, runtime }.press(key).unwrap();
}

#[test]
fn claude_code_is_answered_on_its_own_screen() {
    let Some((story, decision)) = asked(Agent::ClaudeCode, |_| {}) else { return };
    wait_within(TIMEOUT, "the dialog", || story.screen().contains("Do you want to proceed?"));
    press(&story, Key::Character('1'));
    story.expect_completed();
    let all = all_decisions(&story);
    assert_eq!(all.len(), 1, "one prompt, one decision: {all:#?}\n{}", story.told());
    assert_eq!(all[0]["inquiry"]["id"], decision["id"]);
    assert_eq!(all[0]["resolution"]["ending"], "dismissed");
}

#[test]
fn claude_code_has_its_plan_approved_by_one_decision() {
    let prepare = |bed: &mut AgentSandbox| {
        bed.add_argument("--permission-mode");
        bed.add_argument("plan");
    };
    let plan = ModelTurn::tool("ExitPlanMode", serde_json::json!({"plan": "1. make it"}));
    let script = |_: &AgentSandbox| vec![plan, ModelTurn::text("done")];
    let definition = "  on_idle = \"done\"";
    let Some(story) = Story::begin(Agent::ClaudeCode, prepare, definition, script) else { return };
    let decision = wait_own_question(&story);
    assert_eq!(names(&decision), ["allow", "deny", "attach", "fail"]);
    assert_eq!(
        (&decision["kind"], &decision["tool"]),
        (&"permission".into(), &"ExitPlanMode".into())
    );
    story.decide(&decision, "allow");
    story.expect_completed();
    let all = all_decisions(&story);
    assert_eq!(all.len(), 1, "one prompt, one decision: {all:#?}\n{}", story.told());
}

#[test]
fn claude_code_has_its_question_answered_by_one_decision() {
    let option = |label: &str| serde_json::json!({"label": label, "description": "it is"});
    let question = serde_json::json!({"question": "Which colours?", "header": "Colour",
        "options": [option("red"), option("blue"), option("green")], "multiSelect": true});
    let asks = ModelTurn::tool("AskUserQuestion", serde_json::json!({"questions": [question]}));
    let script = |_: &AgentSandbox| vec![asks, ModelTurn::text("done")];
    let definition = "  on_idle = \"done\"";
    let Some(story) = Story::begin(Agent::ClaudeCode, |_| {}, definition, script) else { return };
    let decision = wait_own_question(&story);
    assert_eq!(names(&decision), ["decline", "attach", "fail"]);
    let asked = &decision["questions"][0];
    assert_eq!((&asked["text"], &asked["multiple"]), (&"Which colours?".into(), &true.into()));
    story.decide(&decision, "1,blue");
    story.expect_completed();
    let requests = story.around.model().requests();
    let told = |text: &str| anyhook_testkit::model_server::tells(&requests[1], text);
    assert!(told("red, blue"), "{:#}", requests[1]);
    assert_eq!(all_decisions(&story).len(), 1, "{}", story.told());
}

/// The end of a turn is told by the hook of the stop, the session's log and later by a notification.
#[test]
fn claude_code_is_nudged_once_for_one_rest() {
    let script = |bed: &AgentSandbox| {
        vec![
            ModelTurn::text("I think I am done"),
            bed.shell_tool(&signal()),
            ModelTurn::text("now I am"),
        ]
    };
    let definition = "  on_idle = { action = \"nudge\", attempts = 5, message = \"go on!\" }";
    for round in 0..rounds() {
        let story = Story::begin(Agent::ClaudeCode, asks_nothing, definition, script);
        let Some(story) = story else { return };
        story.expect_completed();
        let told = story.told();
        let prompts = story
            .bed
            .environment()
            .journal()
            .iter()
            .filter(|record| record["native_name"] == "UserPromptSubmit")
            .count();
        assert_eq!(prompts, 2, "round {round}: the prompt and one nudge: {told}");
        assert!(all_decisions(&story).is_empty(), "round {round}: nobody is asked: {told}");
    }
}

/// How often it is tried; `ANYHOOK_ROUNDS` for a longer look.
fn rounds() -> usize {
    std::env::var("ANYHOOK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3)
}

#[test]
fn claude_code_survives_the_daemon() {
    let Some((story, decision)) = asked(Agent::ClaudeCode, |_| {}) else { return };
    wait_within(TIMEOUT, "the dialog", || story.screen().contains("Do you want to proceed?"));
    for _ in 0..2 {
        story.bed.environment().kill_daemon();
        wait_within(TIMEOUT, "the session to be found again", || {
            story.screen().contains("Do you want to proceed?")
        });
    }
    let again = story.wait_decision();
    assert_eq!(again["id"], decision["id"], "the same decision is still open");
    story.decide(&again, "allow");
    let view = story.expect_completed();
    assert_eq!(view["visits"].as_array().unwrap().len(), 3, "no step was done twice");
    assert_eq!(story.around.model().requests().len(), 2, "one agent asked the model");
}

#[test]
fn claude_code_asks_whether_to_trust_the_folder() {
    let script = |bed: &AgentSandbox| vec![bed.shell_tool("touch made"), ModelTurn::text("done")];
    let story = Story::begin_in("folder", Agent::ClaudeCode, asks_nothing, GATE, script);
    let Some(story) = story else { return };
    let decision = story.wait_decision();
    assert_eq!(names(&decision), ["allow", "deny", "attach", "fail"]);
    let question = decision["question"].as_str().unwrap();
    assert!(question.contains("trust"), "{question}");
    story.decide(&decision, "allow");
    story.expect_completed();
}

#[test]
fn claude_code_is_started_again_in_its_session() {
    let script = |bed: &AgentSandbox| {
        vec![ModelTurn::text("it rests"), bed.shell_tool("touch made"), ModelTurn::text("done")]
    };
    let definition = "  on_idle = { action = \"gate\", run = \"test -e made\", attempts = 3 }\n  on_dead = { action = \"recover\", message = \"make it now\" }";
    let Some(story) = Story::begin(Agent::ClaudeCode, asks_nothing, definition, script) else {
        return;
    };
    story.wait_decision();
    let killed = story.bed.environment().run(&["agent", "kill", &story.id]);
    assert_eq!(killed.code, 0, "{killed:?}");
    story.expect_completed();
    let requests = story.around.model().requests();
    let last = &requests[1];
    for text in ["make the file", "it rests", "make it now"] {
        assert!(anyhook_testkit::model_server::tells(last, text), "{text}: {}", story.told());
    }
}

#[test]
fn codex_completes_by_a_signal_and_by_idle_and_a_gate() {
    let all =
        |bed: &mut AgentSandbox| bed.add_argument("--dangerously-bypass-approvals-and-sandbox");
    let script = |bed: &AgentSandbox| vec![bed.shell_tool(&signal()), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::Codex, all, "", script) else { return };
    story.expect_completed();
    assert_eq!(story.why(), "the agent reported that it is done");
    let script = |bed: &AgentSandbox| vec![bed.shell_tool("touch made"), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::Codex, all, GATE, script) else { return };
    story.expect_completed();
    assert_eq!(story.why(), "the gate `test -e made` succeeded");
}

#[test]
fn opencode_completes_by_a_signal_and_by_idle_and_a_gate() {
    let script = |bed: &AgentSandbox| vec![bed.shell_tool(&signal()), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::OpenCode, |_| {}, "", script) else { return };
    story.expect_completed();
    assert_eq!(story.why(), "the agent reported that it is done");
    let script = |bed: &AgentSandbox| vec![bed.shell_tool("touch made"), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::OpenCode, |_| {}, GATE, script) else { return };
    story.expect_completed();
    assert_eq!(story.why(), "the gate `test -e made` succeeded");
}

#[test]
fn gemini_cli_completes_by_a_signal_and_by_idle_and_a_gate() {
    let all = |bed: &mut AgentSandbox| bed.add_argument("--yolo");
    let script = |bed: &AgentSandbox| vec![bed.shell_tool(&signal()), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::GeminiCli, all, "", script) else { return };
    story.expect_completed();
    let script = |bed: &AgentSandbox| vec![bed.shell_tool("touch made"), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::GeminiCli, all, GATE, script) else { return };
    story.expect_completed();
}

#[test]
fn opencode_survives_the_daemon() {
    let go = "while ! [ -e go ]; do sleep 0.1; done; touch made";
    let script = |bed: &AgentSandbox| vec![bed.shell_tool(go), ModelTurn::text("done")];
    let Some(story) = Story::begin(Agent::OpenCode, |_| {}, GATE, script) else { return };
    wait_within(TIMEOUT, "the agent to work", || !story.around.model().requests().is_empty());
    story.bed.environment().kill_daemon();
    write(&story.bed.project().join("go"), "", 0o644);
    story.expect_completed();
}
