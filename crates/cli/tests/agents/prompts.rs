//! Prompts of Codex, Gemini CLI and OpenCode in a pipeline: one prompt is one decision, wherever it is
//! answered. Claude Code's are with its other pipelines.

use std::fs;

use anyhook_daemon::session::Key;
use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::{ModelTurn, tells};
use anyhook_testkit::write;
use serde_json::{Value, json};

use super::pipelines::{Story, TIMEOUT, all_decisions, names, press};

/// A pipeline whose agent asks one thing after the other.
struct Prompts {
    story: Story,
    /// The decisions there were.
    seen: Vec<Value>,
}

impl Prompts {
    /// Begins; none if the agent cannot be run here.
    fn begin(
        agent: Agent,
        prepare: impl FnOnce(&mut AgentSandbox),
        script: impl FnOnce(&AgentSandbox) -> Vec<ModelTurn>,
    ) -> Option<Self> {
        let story = Story::begin(agent, prepare, "  on_idle = \"done\"", script)?;
        Some(Self { story, seen: Vec::new() })
    }

    fn decisions(&self, more: &[&str]) -> Vec<Value> {
        let arguments = [&["decision", "list", "--json"], more].concat();
        self.story.bed.environment().run(&arguments).json().as_array().unwrap().clone()
    }

    /// Waits for the next decision, which is of this kind.
    fn next(&mut self, kind: &str) -> Value {
        let find = || {
            let open = self.decisions(&[]).into_iter().map(|open| open["inquiry"].clone());
            let is_new = |open: &Value| {
                open["kind"] == kind && !self.seen.iter().any(|seen| seen["id"] == open["id"])
            };
            open.into_iter().find(is_new)
        };
        let mut found = None;
        wait_for(&self.story, &format!("a decision of kind {kind}"), || {
            found = find();
            found.is_some()
        });
        let decision = found.unwrap();
        self.seen.push(decision.clone());
        decision
    }

    fn decide(&self, decision: &Value, choice: &str) {
        self.story.decide(decision, choice);
        assert_eq!(self.ending(decision), "chosen");
    }

    /// Presses a key on the agent's own screen once it shows something; the decision about it ends.
    fn answer_there(&self, decision: &Value, shown: &str, key: Key) {
        wait_for(&self.story, shown, || self.story.screen().contains(shown));
        self.press_until_gone(shown, key);
        wait_for(&self.story, "the decision's end", || self.ending(decision) == "dismissed");
    }

    /// Presses a key until what is shown is gone: a dialog may not heed one right after it appears.
    fn press_until_gone(&self, shown: &str, key: Key) {
        let mut looks = 0;
        wait_for(&self.story, &format!("{} at {shown}", key.name()), || {
            let is_gone = !self.story.screen().contains(shown);
            if !is_gone && looks % 10 == 0 {
                press(&self.story, key);
            }
            looks += 1;
            is_gone
        });
    }

    fn ending(&self, decision: &Value) -> Value {
        let all = self.decisions(&["--all"]);
        let one = all.iter().find(|one| one["inquiry"]["id"] == decision["id"]).unwrap();
        one["resolution"]["ending"].clone()
    }

    fn has(&self, file: &str) -> bool {
        self.story.bed.project().join(file).exists()
    }

    /// Tells whether the model was told something with the result of its turn of this number.
    fn told_after(&self, turn: usize, text: &str) -> bool {
        tells(&self.story.around.model().requests()[turn + 1], text)
    }

    /// The pipeline goes on to its end, and there were no other decisions than those that were seen.
    fn end(&self) {
        self.story.expect_completed();
        let all = all_decisions(&self.story);
        let told = self.story.told();
        assert_eq!(all.len(), self.seen.len(), "one prompt, one decision: {all:#?}\n{told}");
        assert!(self.decisions(&[]).is_empty(), "none is left: {told}");
    }
}

fn wait_for(story: &Story, what: &str, mut is_so: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(std::time::Instant::now() < until, "waited in vain for {what}: {}", story.told());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

const PERMISSION: [&str; 4] = ["allow", "deny", "attach", "fail"];

/// Its dialog comes after the hook: the person answers by the decision, or has the dialog shown by it.
#[test]
fn codex() {
    let escalated = |command: &str| {
        let reason = "it makes a file";
        let sandbox = "require_escalated";
        let input =
            json!({"cmd": command, "sandbox_permissions": sandbox, "justification": reason});
        ModelTurn::tool("exec_command", input)
    };
    let script = |_: &AgentSandbox| {
        let calls = ["touch one", "touch two", "touch three"].map(escalated);
        calls.into_iter().chain([ModelTurn::text("done")]).collect()
    };
    let Some(mut prompts) = Prompts::begin(Agent::Codex, |_| {}, script) else { return };
    let first = prompts.next("permission");
    assert_eq!((names(&first), &first["about"]), (PERMISSION.to_vec(), &"touch one".into()));
    assert!(!prompts.has("one"));
    prompts.decide(&first, "allow");
    let second = prompts.next("permission");
    assert!(prompts.has("one"));
    prompts.decide(&second, "deny");
    let third = prompts.next("permission");
    assert!(prompts.told_after(1, "denied it") && !prompts.has("two"));
    prompts.decide(&third, "attach");
    let dialog = "Would you like to run the following command?";
    wait_for(&prompts.story, "its own dialog", || prompts.story.screen().contains(dialog));
    prompts.press_until_gone(dialog, Key::Character('y'));
    prompts.end();
    assert!(prompts.has("three"));
}

/// It takes no answer from a hook: what is decided is typed.
#[test]
fn gemini_cli() {
    let script = |bed: &AgentSandbox| {
        vec![
            bed.shell_tool("touch one"),
            bed.write_tool("two", "it\n"),
            bed.shell_tool("touch three"),
            ModelTurn::text("done"),
        ]
    };
    let Some(mut prompts) = Prompts::begin(Agent::GeminiCli, |_| {}, script) else { return };
    let first = prompts.next("escalation");
    assert_eq!(names(&first), PERMISSION);
    assert!(first["question"].as_str().unwrap().contains("touch one"), "{first:#}");
    assert!(!prompts.has("one"));
    prompts.decide(&first, "allow");
    let second = prompts.next("escalation");
    assert!(prompts.has("one") && !prompts.has("two"));
    prompts.decide(&second, "allow");
    let third = prompts.next("escalation");
    assert!(prompts.has("two") && !prompts.has("three"));
    prompts.answer_there(&third, "Allow once", Key::Enter);
    prompts.end();
    assert!(prompts.has("three"));
}

fn colours(multiple: &str) -> Value {
    let option = |label: &str| json!({"label": label, "description": format!("it is {label}")});
    json!({"question": "Which colour?", "header": "Colour", "id": "colour", "type": "choice",
        "options": [option("red"), option("blue")], multiple: false})
}

/// Our plugin answers its dialogs, which are on the screen meanwhile.
#[test]
fn opencode() {
    let asks = |bed: &mut AgentSandbox| {
        bed.set_variable("OPENCODE_PERMISSION", json!({"bash": "ask"}).to_string());
    };
    let script = |bed: &AgentSandbox| {
        vec![
            bed.shell_tool("touch one"),
            bed.shell_tool("touch two"),
            bed.shell_tool("touch three"),
            ModelTurn::text("done"),
        ]
    };
    let Some(mut prompts) = Prompts::begin(Agent::OpenCode, asks, script) else { return };
    let first = prompts.next("permission");
    assert_eq!((names(&first), &first["about"]), (PERMISSION.to_vec(), &"touch one".into()));
    wait_for(&prompts.story, "its dialog", || prompts.story.screen().contains("Allow once"));
    assert!(!prompts.has("one"));
    prompts.decide(&first, "allow");
    let second = prompts.next("permission");
    assert!(prompts.has("one"));
    prompts.decide(&second, "deny");
    let third = prompts.next("permission");
    assert!(prompts.told_after(1, "denied it") && !prompts.has("two"));
    prompts.answer_there(&third, "Allow once", Key::Enter);
    prompts.end();
    assert!(prompts.has("three"));
}

#[test]
fn a_question_of_opencode() {
    let asks = || ModelTurn::tool("question", json!({"questions": [colours("multiple")]}));
    let script = |_: &AgentSandbox| vec![asks(), asks(), asks(), asks(), ModelTurn::text("done")];
    let Some(mut prompts) = Prompts::begin(Agent::OpenCode, |_| {}, script) else { return };
    for (turn, choice, answer) in [(0, "2", "blue"), (1, "a warm grey", "a warm grey")] {
        let asked = prompts.next("question");
        assert_eq!(names(&asked), ["red", "blue", "decline", "attach", "fail"]);
        assert_eq!(asked["question"], "Which colour?");
        prompts.decide(&asked, choice);
        wait_for(&prompts.story, answer, || {
            prompts.story.around.model().requests().len() > turn + 1
        });
        assert!(prompts.told_after(turn, &format!("=\"{answer}\"")), "{answer}");
    }
    let asked = prompts.next("question");
    prompts.decide(&asked, "decline");
    let asked = prompts.next("question");
    assert!(prompts.told_after(2, "declined to answer"));
    prompts.answer_there(&asked, "Which colour?", Key::Enter);
    prompts.end();
    assert!(prompts.told_after(3, "red"));
}

/// A question that keys answer: by a decision, then on the agent's own screen.
fn question_by_keys(
    agent: Agent,
    prepare: impl FnOnce(&mut AgentSandbox),
    asks: &ModelTurn,
    shown: &str,
) {
    let script = |_: &AgentSandbox| vec![asks.clone(), asks.clone(), ModelTurn::text("done")];
    let Some(mut prompts) = Prompts::begin(agent, prepare, script) else { return };
    let asked = prompts.next("escalation");
    assert_eq!(names(&asked), ["red", "blue", "attach", "fail"]);
    prompts.decide(&asked, "blue");
    let asked = prompts.next("escalation");
    assert!(prompts.told_after(0, "blue"));
    prompts.answer_there(&asked, shown, Key::Enter);
    prompts.end();
    assert!(prompts.told_after(1, "red"));
}

#[test]
fn a_question_of_codex() {
    let prepare = |bed: &mut AgentSandbox| {
        bed.add_argument("--config");
        bed.add_argument("features.default_mode_request_user_input=true");
    };
    let asks = ModelTurn::tool("request_user_input", json!({"questions": [colours("multiple")]}));
    question_by_keys(Agent::Codex, prepare, &asks, "enter to submit");
}

#[test]
fn a_question_of_gemini_cli() {
    let asks = ModelTurn::tool("ask_user", json!({"questions": [colours("multiSelect")]}));
    question_by_keys(Agent::GeminiCli, |_| {}, &asks, "Enter to select");
}

#[test]
fn a_plan_of_gemini_cli() {
    let prepare = |bed: &mut AgentSandbox| {
        let file = bed.home().join(".gemini/settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        settings["general"]["plan"] = json!({"directory": "plans"});
        write(&file, settings.to_string(), 0o644);
        write(&bed.project().join("plans/plan.md"), "# The plan\n\n1. make it\n", 0o644);
        bed.add_argument("--approval-mode");
        bed.add_argument("plan");
    };
    let script = |_: &AgentSandbox| {
        vec![
            ModelTurn::tool("exit_plan_mode", json!({"plan_filename": "plan.md"})),
            ModelTurn::text("done"),
        ]
    };
    let Some(mut prompts) = Prompts::begin(Agent::GeminiCli, prepare, script) else { return };
    let asked = prompts.next("escalation");
    assert_eq!(names(&asked), PERMISSION);
    prompts.decide(&asked, "allow");
    prompts.end();
}
