//! What happens beside the main conversation: tools of MCP servers, subagents, scripts of the model,
//! compaction, and another hook of the user's.
//!
//! Each agent has one conversation of all of it, which is a second table of
//! `docs/hosts/behaviour.md`.

use anyhook_model::EventKind;
use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox, McpServer};
use anyhook_testkit::every_agent;
use anyhook_testkit::model_server::{ModelTurn, tells};
use serde_json::{Value, json};

use super::table::{self, Column};
use super::{DENIED, ENDS, NOT_TOLD, capability};
use crate::environment;

const NO_SUCH_TOOL: &str = "no such tool";

/// What the prompt of the agent contains, and what that of its subagent does.
const MAIN: &str = "the whole task";
const PART: &str = "the other part";

/// What is in the conversation before it is compacted.
const HEAVY: &str = "a very long output";

/// Returns a command that waits for a file: of an MCP server, which some agents start in the
/// background, or of a subagent, which may work there.
fn wait_for(file: &str) -> String {
    format!("timeout 40 sh -c 'until [ -e {file} ]; do sleep 0.1; done'")
}

/// What a hook says to a call.
fn refusal(of: &str) -> String {
    format!("no {of} may do this")
}

/// An agent with the hooks, and a model that does all of it.
struct Scene {
    agent: Agent,
    bed: AgentSandbox,
    outcome: AgentRun,
    records: Vec<Value>,
    column: Column,
}

impl Scene {
    fn play(agent: Agent) -> Option<Self> {
        let mut bed = AgentSandbox::within(environment(), agent)?;
        let here = bed.environment();
        let deny = |of: &str, matcher: &str| {
            let matter = format!("trigger: before_tool\nmatcher: {matcher}");
            let script = format!("echo {:?} >&2\nexit 2", refusal(of));
            here.user_hook(&format!("no-{of}"), &matter, &script);
        };
        let server = if agent == Agent::KimiCli { "" } else { "server: notes, " };
        deny("server", &format!("{{tool: Mcp, mcp: {{{server}tool: erase}}}}"));
        for of in ["subagent", "script", "approval"] {
            deny(of, &format!("{{tool: Shell, pattern: '^touch by-{of}'}}"));
        }
        bed.offer_everything();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/beside/mcp_server.py");
        let folder = bed.project().to_string_lossy().into_owned();
        bed.add_mcp_server(&McpServer {
            name: "notes",
            program: "python3".to_owned(),
            arguments: ["-SE", script, &folder].map(str::to_owned).to_vec(),
        });
        bed.add_approving_hook(&bed.home().join("approved"));
        let installed = bed.environment().run(&["install", agent.name()]);
        assert_eq!(installed.code, 0, "{installed:?}");

        if agent.caches_mcp_tools() {
            bed.run("look around", [bed.shell_tool(&wait_for("listed")), ModelTurn::text("done")]);
        }
        let before = bed.environment().journal().len();
        let outcome = bed.run_with(MAIN, |model| {
            if let Some(request) = agent.summary_request() {
                model.add_part(request, vec![ModelTurn::text(summary()); 2]);
            }
            model.add_part(MAIN, turns(agent));
            model.add_part(PART, turns_of_subagent(agent));
            model.count_as(HEAVY, agent.tokens_to_compact());
        });
        let records = bed.environment().journal().split_off(before);
        Some(Self { agent, bed, outcome, records, column: Column::new() })
    }

    fn note(&mut self, behaviour: &str, outcome: &str) {
        self.column.push((behaviour.to_owned(), outcome.to_owned()));
    }

    fn has(&self, file: &str) -> bool {
        self.bed.project().join(file).exists()
    }

    fn is_told(&self, event: &str) -> bool {
        self.records.iter().any(|record| record["event"] == event)
    }

    fn finish(mut self) {
        self.check_mcp();
        self.check_subagent();
        self.check_script();
        self.check_approval();
        self.check_compaction();
        let verified = self.bed.environment().run(&["verify"]);
        assert_eq!(verified.code, 0, "{verified:?} {self:#?}");
        table::BESIDE.compare(self.agent, &self.column);
    }

    fn check_mcp(&mut self) {
        let behaviour = "a dangerous call of a tool of an MCP server";
        let Some(erase) = mcp_call(self.agent, "erase", "erased") else {
            return self.note(behaviour, NO_SUCH_TOOL);
        };
        assert!(self.has("kept"), "{self:#?}");
        let outcome = if self.agent.ends_on_denied_mcp() {
            let ended = self.bed.run("once more", [erase, ModelTurn::text("that was all")]);
            assert_eq!(ended.requests.len(), 1, "it has learned to go on: {ended:#?}");
            ENDS
        } else {
            assert!(self.outcome.ever_told(&refusal("server")), "{self:#?}");
            DENIED
        };
        assert!(!self.has("erased"), "{self:#?}");
        self.note(behaviour, outcome);
    }

    fn check_subagent(&mut self) {
        let (agent, behaviour) = (self.agent, "a dangerous shell command of a subagent");
        let started_and_ended = "the start and the end of a subagent";
        let events = [EventKind::SubagentStart, EventKind::SubagentStop];
        let names = events.iter().map(EventKind::to_string);
        let told: Vec<String> = names.filter(|event| self.is_told(event)).collect();
        let why_not = match (agent.subagent_tool(""), agent.subagent_failure()) {
            (None, _) => Some(NO_SUCH_TOOL),
            (Some(_), Some(failure)) => {
                assert!(self.outcome.ever_told(failure), "{self:#?}");
                Some("none starts without its vendor")
            }
            (Some(_), None) => None,
        };
        if let Some(why_not) = why_not {
            assert!(told.is_empty(), "{self:#?}");
            self.note(behaviour, why_not);
            return self.note(started_and_ended, why_not);
        }
        assert!(!self.has("by-subagent") && self.has("part-done"), "{self:#?}");
        let mut requests = self.outcome.requests.iter().filter(|request| is_of_subagent(request));
        assert!(requests.any(|request| tells(request, &refusal("subagent"))), "{self:#?}");
        self.note(behaviour, DENIED);
        for event in &events {
            assert_eq!(self.is_told(&event.to_string()), agent.is_told(event), "{self:#?}");
        }
        let told: Vec<String> = told.iter().map(|event| format!("`{event}`")).collect();
        let told = if told.is_empty() { NOT_TOLD.to_owned() } else { told.join(", ") };
        self.note(started_and_ended, &told);
    }

    fn check_script(&mut self) {
        let behaviour = "a dangerous shell command in a script of the model's";
        let Some(script) = self.agent.script_tool("touch by-script") else {
            return self.note(behaviour, NO_SUCH_TOOL);
        };
        let denied = if let Some(model) = self.agent.scripting_model() {
            self.bed.set_model(model);
            self.bed.run("write a script", [script, ModelTurn::text("that was all")])
        } else {
            self.outcome.clone()
        };
        assert!(denied.ever_told(&refusal("script")), "{denied:#?} {self:#?}");
        assert!(!self.has("by-script"), "{self:#?}");
        self.note(behaviour, DENIED);
    }

    fn check_approval(&mut self) {
        assert!(self.bed.home().join("approved").exists(), "{self:#?}");
        assert!(!self.has("by-approval"), "{self:#?}");
        assert!(self.outcome.ever_told(&refusal("approval")), "{self:#?}");
        self.note("a dangerous shell command that another hook of the user's approves", DENIED);
    }

    fn check_compaction(&mut self) {
        for event in [EventKind::PreCompact, EventKind::PostCompact] {
            let is_told = self.is_told(&event.to_string());
            assert_eq!(is_told, self.agent.is_told(&event), "{event}: {self:#?}");
            let outcome = match capability(self.agent, &event).native {
                None => "no such event",
                Some(_) if is_told => "told",
                // Gemini CLI tells of something else under that name.
                Some(_) if self.is_told("compression_check") => {
                    "told of each check, as `compression_check`"
                }
                Some(_) => "cannot be forced here",
            };
            self.note(&format!("a compaction: `{event}`"), outcome);
        }
    }
}

fn is_of_subagent(request: &Value) -> bool {
    tells(request, PART) && !tells(request, MAIN)
}

fn mcp_call(agent: Agent, tool: &str, name: &str) -> Option<ModelTurn> {
    agent.mcp_tool("notes", tool, json!({"name": name}))
}

fn turns(agent: Agent) -> Vec<ModelTurn> {
    let mut turns = Vec::new();
    turns.extend(agent.subagent_tool(&format!("Do {PART}, please.")));
    if agent.subagent_tool("").is_some() && agent.subagent_failure().is_none() {
        turns.push(agent.shell_tool(&wait_for("part-done")));
    }
    if agent.scripting_model().is_none() {
        turns.extend(agent.script_tool("touch by-script"));
    }
    turns.push(agent.shell_tool("touch by-approval"));
    if let Some(keep) = mcp_call(agent, "keep", "kept") {
        turns.extend([agent.shell_tool(&wait_for("listed")), keep]);
    }
    if !agent.ends_on_denied_mcp() {
        turns.extend(mcp_call(agent, "erase", "erased"));
    }
    turns.extend([
        // Some keep what they have if a summary is not much shorter.
        agent.shell_tool(&format!("echo {HEAVY}; seq 3000")),
        agent.shell_tool("echo more"),
        ModelTurn::text("that was all"),
    ]);
    turns
}

fn turns_of_subagent(agent: Agent) -> Vec<ModelTurn> {
    let commands =
        ["touch by-subagent", "touch part-done"].map(|command| agent.shell_tool(command));
    commands.into_iter().chain([agent.subagent_result("the part is done")]).collect()
}

/// A summary that an agent accepts that has expectations of one.
fn summary() -> String {
    let sentence =
        "The person has asked for a task of several parts, and all but the last are done. ";
    format!("<summary>{}</summary>", sentence.repeat(12))
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let AgentRun { exit_code, stdout, stderr, requests, .. } = &self.outcome;
        writeln!(formatter, "exit {exit_code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")?;
        for record in &self.records {
            writeln!(
                formatter,
                "{} ({}) {} {} -> {}",
                record["event"],
                record["native_name"],
                record["tool"],
                record["about"],
                record["verdict"]
            )?;
        }
        writeln!(formatter, "--- {} requests, {:#?}", requests.len(), self.column)?;
        Ok(())
    }
}

fn does_the_same_beside(agent: Agent) {
    let Some(scene) = Scene::play(agent) else { return };
    scene.finish();
}

every_agent!(does_the_same_beside);
