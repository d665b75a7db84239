//! The real agents, connected with `anyhook install`: the same hooks do the same in each.
//!
//! Each agent has one scripted conversation, and a second one for what would end the first. What
//! was seen is a column of `docs/hosts/behaviour.md`; what an agent is known not to do is asserted,
//! too, so that we notice when it learns.

#![expect(
    clippy::unwrap_used,
    clippy::format_push_string,
    reason = "a test that cannot set up its world has failed, one that is left out says so, and speed is no matter"
)]

use anyhook_testkit::{TestEnv, programs};

/// Returns the program under test, without the small one beside it.
fn program() -> String {
    programs::alone(env!("CARGO_BIN_EXE_anyhook")).to_str().unwrap().to_owned()
}

/// Makes a fresh environment for the program under test.
fn environment() -> TestEnv {
    TestEnv::new(&program())
}

mod agent_packages;
mod decisions;
mod dialect;
mod dialogs;
mod foreign_entries;
mod held;
mod homes;
mod hooks;
mod human_only;
mod injection;
mod interactive_claude;
mod mcp;
mod native_hooks;
mod off;
mod overruled;
mod packs;
mod paths;
mod pipelines;
mod prompts;
mod proof;
mod screen;
mod table;
mod tools;
mod unanswered;
mod unguarded;
mod usage;
mod weakened;
mod workflow;
#[path = "../it/workflow/workflow_fixture.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod workflow_fixture;
mod workflow_run;

use std::fs;

use anyhook_hosts::capabilities::Capability;
use anyhook_model::EventKind;
use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox};
use anyhook_testkit::every_agent;
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::write;
use serde_json::Value;

use table::Column;

const DENIED: &str = "denied, the model is told why";
const TOLD: &str = "told to the model";
const LOST: &str = "lost, the journal says so";
const NOT_TOLD: &str = "not told";
const NOT_ASKED_AGAIN: &str = "not asked again";
const ENDS: &str = "does not run, the program ends";

/// The steps of a conversation: a name, what the model does, and the canonical tools it is.
type Step = (&'static str, ModelTurn, &'static [&'static str]);

/// A conversation that took place.
struct Talk {
    steps: Vec<Step>,
    outcome: AgentRun,
    /// The journal's records of it.
    records: Vec<Value>,
}

impl Talk {
    fn hold(bed: &AgentSandbox, prompt: &str, steps: Vec<Step>) -> Self {
        let before = bed.environment().journal().len();
        let turns: Vec<ModelTurn> = steps.iter().map(|(_, turn, _)| turn.clone()).collect();
        let outcome = bed.run(prompt, turns);
        let records = bed.environment().journal().split_off(before);
        let talk = Self { steps, outcome, records };
        talk.check_records(bed.agent());
        // The journal is whole, and the agent has heeded every denial.
        let verified = bed.environment().run(&["verify"]);
        assert_eq!(verified.code, 0, "{verified:?} {talk:#?}");
        talk
    }

    /// Tells whether the model heard a text with the result of a step, and not before.
    fn told_after(&self, step: &str, text: &str) -> bool {
        let number = self.steps.iter().position(|(name, ..)| *name == step).unwrap();
        !self.outcome.told(number, text) && self.outcome.told(number + 1, text)
    }

    /// Returns the records of an event.
    fn of(&self, event: &EventKind) -> impl Iterator<Item = &Value> {
        let event = event.to_string();
        self.records.iter().filter(move |record| record["event"] == event)
    }

    /// Tells whether the journal says that context was lost at an event.
    fn lost_context(&self, native: &str) -> bool {
        let is_lost = |record: &&Value| lost(record, "additional_context");
        self.records.iter().filter(|record| record["native_name"] == native).any(|it| is_lost(&it))
    }

    /// Every record is the agent's, and its tools have the canonical names.
    fn check_records(&self, agent: Agent) {
        assert!(self.records.iter().all(|record| record["host"] == agent.name()), "{self:#?}");
        assert!(self.records.iter().all(|record| record["denied_by"].is_null()), "{self:#?}");
        // No call ran unasked, and no guard changed.
        assert!(self.records.iter().all(|record| record["alarms"].is_null()), "{self:#?}");
        let expected: Vec<&str> =
            self.steps.iter().flat_map(|(.., tools)| *tools).copied().collect();
        let found: Vec<&str> =
            self.of(&EventKind::BeforeTool).filter_map(|record| record["tool"].as_str()).collect();
        assert_eq!(found, expected, "{self:#?}");
    }
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = self.outcome.requests.last().map(|request| format!("{request:#}"));
        let AgentRun { exit_code, stdout, stderr, .. } = &self.outcome;
        writeln!(formatter, "exit {exit_code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")?;
        for record in &self.records {
            writeln!(
                formatter,
                "{} ({}) {} {} -> {} lost {}",
                record["event"],
                record["native_name"],
                record["tool"],
                record["about"],
                record["verdict"],
                record["lost"]
            )?;
            writeln!(formatter, "    {}", record["runs"])?;
        }
        writeln!(formatter, "--- last request\n{}", last.unwrap_or_default())
    }
}

/// An agent at work, and what was seen.
struct Scene {
    bed: AgentSandbox,
    column: Column,
}

impl Scene {
    /// Makes a bed with the hooks, where the agent calls us; none if it cannot be run here.
    fn set(agent: Agent) -> Option<Self> {
        let bed = AgentSandbox::within(environment(), agent)?;
        hooks::write(bed.environment());
        for file in ["precious/one.txt", "protected/old.txt", "free.txt"] {
            write(&bed.project().join(file), "first\nsecond\n", 0o644);
        }
        let installed = bed.environment().run(&["install", agent.name()]);
        assert_eq!(installed.code, 0, "{installed:?}");
        Some(Self { bed, column: Column::new() })
    }

    fn content(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.bed.project().join(file)).ok()
    }

    fn is_unchanged(&self, file: &str) -> bool {
        self.content(file).as_deref() == Some("first\nsecond\n")
    }

    fn note(&mut self, behaviour: &str, outcome: &str) {
        self.column.push((behaviour.to_owned(), outcome.to_owned()));
    }

    /// Notes a call that must not have run, with a reason that must have reached the model.
    fn note_denied(&mut self, behaviour: &str, talk: &Talk, step: &str, reason: &str) {
        assert!(talk.told_after(step, reason), "{step}: {talk:#?}");
        self.note(behaviour, DENIED);
    }

    /// Notes where a context went, which must be where the table of capabilities says.
    fn note_context(&mut self, event: &EventKind, reached: bool, talk: &Talk) {
        let agent = self.bed.agent();
        if !agent.is_told(event) {
            assert!(!reached && talk.of(event).next().is_none(), "{event}: {talk:#?}");
            return self.note(&format!("context at `{event}`"), NOT_TOLD);
        }
        let row = capability(agent, event);
        let native = row.native.unwrap();
        assert_eq!(reached, row.context, "context at {event}: {talk:#?}");
        assert_eq!(talk.lost_context(native), !row.context, "the journal on {event}: {talk:#?}");
        self.note(&format!("context at `{event}`"), if reached { TOLD } else { LOST });
    }

    fn conversation(&self) -> Vec<Step> {
        let (bed, agent) = (&self.bed, self.bed.agent());
        let shell = |name, command: &str| -> Step { (name, bed.shell_tool(command), &["Shell"]) };
        let mut steps = vec![
            shell("silent", "echo yes > allowed.txt; echo heard"),
            shell("danger", "rm -rf precious"),
            ("write", bed.write_tool("protected/new.txt", "new\n"), &["WriteFile"]),
            ("read", bed.read_tool("protected/old.txt"), agent.reads_as()),
            ("edit", bed.edit_tool("protected/old.txt", "first", "changed"), &["EditFile"]),
        ];
        if agent.patching_model().is_none() {
            steps.extend(self.patch());
        }
        steps.extend([
            shell("crash", "touch crash-please"),
            shell("change", "echo original > changed.txt"),
            ("stamp", bed.write_tool("draft.txt", "plain\n"), &["WriteFile"]),
            shell("context", "echo context-please"),
            shell("failing", "exit 3"),
        ]);
        if !agent.ends_on_ask() {
            steps.push(shell("ask", "touch ask-please"));
        }
        if can_hold(agent) {
            steps.extend([
                ("stop", ModelTurn::text("I stop here"), &[] as &[&str]),
                shell("finish", "touch finished.txt"),
            ]);
        }
        steps.push(("end", ModelTurn::text("that was all"), &[]));
        steps
    }

    /// A patch of two files; the second is protected.
    fn patch(&self) -> Option<Step> {
        let patch = "*** Begin Patch\n*** Update File: free.txt\n@@\n-first\n+changed\n second\n\
             *** Delete File: protected/old.txt\n*** End Patch\n";
        Some(("patch", self.bed.patch_tool(patch)?, &["EditFile", "DeleteFile"]))
    }

    fn play(mut self) {
        let talk = Talk::hold(&self.bed, "do it", self.conversation());
        assert_eq!(talk.outcome.exit_code, 0, "{talk:#?}");
        self.check_no_opinion(&talk);
        self.check_denials(&talk);
        self.check_ask(&talk);
        self.check_changes(&talk);
        self.check_contexts(&talk);
        self.check_stop(&talk);
        self.check_events(&talk);
        self.column.extend(unanswered::rows(self.bed.agent()).unwrap());
        table::HOOKS.compare(self.bed.agent(), &self.column);
    }

    fn check_no_opinion(&mut self, talk: &Talk) {
        assert_eq!(self.content("allowed.txt").as_deref(), Some("yes\n"), "{talk:#?}");
        assert!(talk.told_after("silent", "heard"), "{talk:#?}");
        let record = talk.of(&EventKind::BeforeTool).next().unwrap();
        assert_eq!(record["runs"].as_array().map(Vec::len), Some(1), "{record:#}");
        assert_eq!(record["verdict"].get("decision"), None, "{record:#}");
        self.note("a hook has no opinion", "everything as without it");
    }

    fn check_denials(&mut self, talk: &Talk) {
        assert!(self.is_unchanged("precious/one.txt"), "{talk:#?}");
        self.note_denied("a dangerous shell command", talk, "danger", hooks::DANGER);
        assert_eq!(self.content("protected/new.txt"), None, "{talk:#?}");
        self.note_denied("a write to a protected file", talk, "write", &protected("WriteFile"));
        assert!(self.is_unchanged("protected/old.txt"), "{talk:#?}");
        self.note_denied("an edit of a protected file", talk, "edit", &protected("EditFile"));
        self.check_patch(talk);
        assert_eq!(self.content("crash-please"), None, "{talk:#?}");
        let behaviour = "a command whose guard crashes (`on_failure: block`)";
        self.note_denied(behaviour, talk, "crash", hooks::CRASHED);
    }

    fn check_patch(&mut self, talk: &Talk) {
        let behaviour = "a patch of two files, one protected";
        let reason = protected("DeleteFile");
        match (self.patch(), self.bed.agent().patching_model()) {
            (None, _) => self.note(behaviour, "no such tool"),
            (Some(_), None) => self.note_denied(behaviour, talk, "patch", &reason),
            (Some(patch), Some(model)) => {
                self.bed.set_model(model);
                let talk = Talk::hold(&self.bed, "patch it", vec![patch]);
                self.note_denied(behaviour, &talk, "patch", &reason);
            }
        }
        assert!(self.is_unchanged("free.txt"), "{talk:#?}");
        assert!(self.is_unchanged("protected/old.txt"), "{talk:#?}");
    }

    fn check_ask(&mut self, talk: &Talk) {
        let behaviour = "a command that a hook asks about, with nobody there";
        if self.bed.agent().ends_on_ask() {
            let step = ("ask", self.bed.shell_tool("touch ask-please"), &["Shell"] as &[&str]);
            let talk = Talk::hold(&self.bed, "ask", vec![step]);
            assert_eq!(talk.outcome.requests.len(), 1, "it has learned to ask: {talk:#?}");
            let record = talk.of(&EventKind::BeforeTool).next().unwrap();
            assert_eq!(record["verdict"]["decision"], "ask", "{record:#}");
            self.note(behaviour, ENDS);
        } else {
            let asks = capability(self.bed.agent(), &EventKind::BeforeTool).ask;
            assert_eq!(talk.told_after("ask", "To approve it"), !asks, "{talk:#?}");
            self.note_denied(behaviour, talk, "ask", hooks::ASK);
        }
        assert_eq!(self.content("ask-please"), None, "{talk:#?}");
    }

    fn check_changes(&mut self, talk: &Talk) {
        let can_modify = capability(self.bed.agent(), &EventKind::BeforeTool).modify;
        let behaviour = "a command that two hooks change, one after the other";
        let (content, outcome) = if can_modify {
            ("one\ntwo\n", "runs as changed by both")
        } else {
            ("original\n", "runs as it was, the journal says why")
        };
        assert_eq!(self.content("changed.txt").as_deref(), Some(content), "{talk:#?}");
        assert_eq!(has_failed(talk, "change-first"), !can_modify, "{talk:#?}");
        self.note(behaviour, outcome);
        let rewrites = can_modify && self.bed.agent().rewrites_files();
        let (content, outcome) = if rewrites {
            ("stamped\n", "written as changed")
        } else {
            ("plain\n", "written as it was, the journal says why")
        };
        assert_eq!(self.content("draft.txt").as_deref(), Some(content), "{talk:#?}");
        assert_eq!(has_failed(talk, "stamp"), !rewrites, "{talk:#?}");
        self.note("a file whose new content a hook changes", outcome);
    }

    fn check_contexts(&mut self, talk: &Talk) {
        let first = |text| talk.outcome.told(0, text);
        self.note_context(&EventKind::SessionStart, first(hooks::CONTEXT_OF_SESSION), talk);
        self.note_context(&EventKind::BeforeAgent, first(hooks::CONTEXT_OF_PROMPT), talk);
        let before = talk.told_after("context", hooks::CONTEXT_BEFORE_TOOL);
        self.note_context(&EventKind::BeforeTool, before, talk);
        let after = talk.told_after("silent", hooks::CONTEXT_AFTER_TOOL);
        self.note_context(&EventKind::AfterTool, after, talk);
        let at_stop = talk.outcome.ever_told(hooks::CONTEXT_AT_STOP);
        let agent = self.bed.agent();
        if capability(agent, &EventKind::BeforeStop).block && !agent.asks_again_at_stop() {
            // The gate adds its context only at a stop that it lets pass.
            assert!(!at_stop, "{talk:#?}");
            return self.note(&format!("context at `{}`", EventKind::BeforeStop), NOT_ASKED_AGAIN);
        }
        self.note_context(&EventKind::BeforeStop, at_stop, talk);
    }

    /// The gate holds the agent back once; what it then does is part of the same turn.
    fn check_stop(&mut self, talk: &Talk) {
        let agent = self.bed.agent();
        let stops: Vec<&Value> = talk.of(&EventKind::BeforeStop).collect();
        let decisions: Vec<_> = stops.iter().map(|stop| &stop["verdict"]["decision"]).collect();
        let outcome = if can_hold(agent) {
            assert!(talk.told_after("stop", hooks::UNFINISHED), "{talk:#?}");
            assert!(self.content("finished.txt").is_some(), "{talk:#?}");
            if agent.asks_again_at_stop() {
                assert_eq!(decisions, [&Value::from("deny"), &Value::Null], "{talk:#?}");
                let counts: Vec<u64> = stops.iter().map(|stop| step_count(stop)).collect();
                assert_eq!(counts[1], counts[0] + 1, "the count began anew: {talk:#?}");
                "sent back once with the reason, then let go"
            } else {
                assert_eq!(decisions, [&Value::from("deny")], "{talk:#?}");
                "sent back once with the reason, not asked again"
            }
        } else if agent.is_told(&EventKind::BeforeStop) {
            assert_eq!(decisions, [&Value::from("deny")], "{talk:#?}");
            assert!(lost(stops[0], "deny"), "{talk:#?}");
            "let go, the journal says so"
        } else {
            assert_eq!(decisions, [] as [&Value; 0], "{talk:#?}");
            NOT_TOLD
        };
        self.note("a stop while the work is not finished", outcome);
        let prompts: Vec<_> =
            talk.of(&EventKind::BeforeAgent).map(|record| record["about"].to_string()).collect();
        // Some agents put quotes around it.
        let prompts: Vec<_> = prompts.iter().map(|text| text.trim_matches(['"', '\\'])).collect();
        let expected: &[&str] =
            if agent.is_told(&EventKind::BeforeAgent) { &["do it"] } else { &[] };
        assert_eq!(prompts, expected, "the agent's going on is no prompt: {talk:#?}");
    }

    fn check_events(&mut self, talk: &Talk) {
        let failures: Vec<_> =
            talk.of(&EventKind::AfterToolFailure).map(|record| &record["about"]).collect();
        let others = failures.iter().filter(|about| **about != "exit 3").count();
        if self.bed.agent().reports_denied_as_failed() {
            let denied = talk
                .of(&EventKind::BeforeTool)
                .filter(|record| record["verdict"]["decision"] == "deny" || asked(record));
            assert_eq!(others, denied.count(), "{talk:#?}");
        } else {
            assert_eq!(others, 0, "a call that was denied has not failed: {talk:#?}");
        }
        let failed = failures.len() > others;
        let succeeded = talk.of(&EventKind::AfterTool).any(|record| record["about"] == "exit 3");
        let agent = self.bed.agent();
        if !agent.tells_of_failed_commands() {
            assert!(!failed && !succeeded, "it has learned to tell: {talk:#?}");
        } else if agent.is_told(&EventKind::AfterTool) {
            assert_ne!(failed, succeeded, "{talk:#?}");
        }
        let outcome = match (failed, succeeded) {
            (true, _) => "`after_tool_failure`",
            (false, true) => "`after_tool`",
            (false, false) => NOT_TOLD,
        };
        self.note("a shell command that fails", outcome);
        let ended = talk.of(&EventKind::SessionEnd).next().is_some();
        self.note("the end of the program", if ended { "`session_end`" } else { NOT_TOLD });
    }
}

fn capability(agent: Agent, event: &EventKind) -> &'static Capability {
    let agent = anyhook_hosts::find(agent.name()).unwrap();
    agent.protocol.capabilities.iter().find(|row| row.event == *event).unwrap()
}

/// Tells whether a hook can keep an agent from stopping when it runs without a screen.
fn can_hold(agent: Agent) -> bool {
    agent.is_told(&EventKind::BeforeStop)
        && capability(agent, &EventKind::BeforeStop).block
        && agent.can_be_held()
}

fn asked(record: &Value) -> bool {
    record["verdict"]["decision"] == "ask"
}

fn protected(tool: &str) -> String {
    format!("{} {tool}", hooks::PROTECTED)
}

/// Returns the number of tool calls that the stop gate was told.
fn step_count(stop: &Value) -> u64 {
    let stdout = stop["runs"][0]["stdout"].as_str().unwrap();
    stdout.lines().find_map(|line| line.strip_prefix("steps=")?.parse().ok()).unwrap()
}

/// Tells whether a record says that a part of its verdict could not be expressed.
fn lost(record: &Value, what: &str) -> bool {
    record["lost"].as_array().into_iter().flatten().any(|part| part["what"] == what)
}

/// Tells whether a hook has failed before a tool.
fn has_failed(talk: &Talk, hook: &str) -> bool {
    talk.of(&EventKind::BeforeTool).any(|record| {
        let failures = record["verdict"]["failed"].as_array();
        failures.into_iter().flatten().any(|failure| failure["hook"] == hook)
    })
}

fn does_the_same(agent: Agent) {
    let Some(scene) = Scene::set(agent) else { return };
    scene.play();
}

every_agent!(does_the_same);
