//! Calls that real agents execute without asking anybody: each way around the hooks is an alarm.
//!
//! The ways are the rows of `docs/reference/unguarded-calls.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, AgentSandbox};
use anyhook_testkit::model_server::{ModelTurn, tells};
use anyhook_testkit::write;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::environment;

/// How long after a call its alarm may be raised: what is promised is a second after the line of the
/// log, which agents write when the call has ended, and this machine may be busy.
const LATEST: SignedDuration = SignedDuration::from_secs(8);

/// An agent whose every call is asked about, and a daemon.
struct Guarded {
    bed: AgentSandbox,
    /// The commands that were to be alarms so far.
    expected: Vec<String>,
    /// The files that `anyhook install` has written, and what was in them before.
    before: Vec<(PathBuf, Option<Vec<u8>>)>,
}

/// Returns the agents' files below a home, and what is in them.
fn agent_files(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_ours = [".local", ".config/agents", "project"].map(|inner| home.join(inner));
            if is_ours.contains(&path) || path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read(&path).unwrap();
                found.insert(path, text);
            }
        }
    }
    found
}

impl Guarded {
    /// Makes a bed where the agent calls us; none if it cannot be run here.
    fn set(agent: Agent, prepare: impl FnOnce(&mut AgentSandbox)) -> Option<Self> {
        let mut bed = AgentSandbox::within(environment(), agent)?;
        let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: 'touch forbidden'}";
        bed.environment().user_hook("no-danger", matter, "echo no >&2\nexit 2");
        let files = agent_files(&bed.home());
        let installed = bed.environment().run(&["install", agent.name()]);
        assert_eq!(installed.code, 0, "{installed:?}");
        let before = agent_files(&bed.home())
            .into_iter()
            .filter(|(path, text)| files.get(path) != Some(text))
            .map(|(path, _)| (path.clone(), files.get(&path).cloned()))
            .collect();
        let quiet = "[notify]\ndesktop = false\n";
        write(&bed.home().join(".config/agents/anyhook.toml"), quiet, 0o644);
        prepare(&mut bed);
        assert_eq!(bed.environment().run(&["daemon", "start"]).code, 0);
        let guarded = Self { bed, expected: Vec::new(), before };
        // Denied, failed and unknown calls are no alarms, nor those with an input that is not accepted,
        // nor those that were asked about.
        let (shell, _) = agent.spec().offline.unwrap().shell_call("");
        let turns = [
            guarded.bed.shell_tool("touch free"),
            guarded.bed.shell_tool("touch forbidden"),
            guarded.bed.shell_tool("exit 3"),
            ModelTurn::tool("no_such_tool", json!({"command": "true"})),
            ModelTurn::tool(shell, json!({"no_such_field": "true"})),
            guarded.bed.write_tool("new.txt", "one\n"),
            guarded.bed.edit_tool("new.txt", "one", "two"),
            guarded.bed.read_tool("new.txt"),
            guarded.bed.read_tool("missing.txt"),
            ModelTurn::text("that was all"),
        ];
        guarded.bed.run("do it", turns);
        assert!(guarded.bed.project().join("free").exists());
        assert!(!guarded.bed.project().join("forbidden").exists());
        Some(guarded)
    }

    /// Returns what the calls were about that are alarms, and when they were raised.
    fn alarms(&self) -> Vec<(String, Timestamp)> {
        let is_alarm = |record: &&Value| {
            let alarms = record["alarms"].as_array().into_iter().flatten();
            // The start of the next session tells of the alarms before it once more.
            record["event"] != "session_start"
                && alarms.into_iter().any(|alarm| alarm["kind"] == "ran_unasked")
        };
        let journal = self.bed.environment().journal();
        let alarms = journal.iter().filter(is_alarm);
        alarms
            .map(|record| {
                let about = record["about"].as_str().unwrap_or_default().to_owned();
                (about, record["at"].as_str().unwrap().parse().unwrap())
            })
            .collect()
    }

    /// Has the agent run a command, and expects an alarm about it, and about nothing else than the
    /// other calls that are necessary.
    fn expect(&mut self, way: &str, others: &[&str], run: impl FnOnce(&AgentSandbox, &str)) {
        let command = format!("touch 'ran {way}'");
        let file = self.bed.project().join(format!("ran {way}"));
        run(&self.bed, &command);
        assert!(file.exists(), "{way}: the agent did not run it: say so in the docs");
        self.expected.push(command.clone());
        self.expected.extend(others.iter().map(|other| (*other).to_owned()));
        let begun = Instant::now();
        while self.alarms().len() < self.expected.len() {
            let list = || self.bed.environment().run(&["agent", "list", "--all", "--json"]);
            assert!(begun.elapsed() < AGENT_PATIENCE, "{way}: {:?} {:?}", self.alarms(), list());
            std::thread::yield_now();
        }
        let alarms = self.alarms();
        let mut told: Vec<&str> = alarms.iter().map(|(about, _)| about.trim_end()).collect();
        told.sort_unstable();
        self.expected.sort();
        assert_eq!(told, self.expected, "{way}");
        let ran = Timestamp::try_from(fs::metadata(&file).unwrap().modified().unwrap()).unwrap();
        let (_, raised) = alarms.iter().find(|(about, _)| about.contains(&command)).unwrap();
        let after = raised.duration_since(ran);
        assert!(after < LATEST, "{way}: the alarm was raised {after:#} after the call");
    }

    /// Like [`Self::expect`], with nothing but the command.
    fn expect_of_command(&mut self, way: &str) {
        self.expect(way, &[], |bed, command| {
            bed.run("do it", [bed.shell_tool(command), ModelTurn::text("that was all")]);
        });
    }

    /// Takes out what `anyhook install` has written, as long as something is done.
    fn without_hooks(&mut self, done: impl FnOnce(&mut Self)) {
        let ours: Vec<(PathBuf, Vec<u8>)> =
            self.before.iter().map(|(path, _)| (path.clone(), fs::read(path).unwrap())).collect();
        assert!(!ours.is_empty(), "nothing was installed");
        for (path, before) in &self.before {
            match before {
                Some(before) => fs::write(path, before).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
        }
        done(self);
        for (path, text) in ours {
            fs::write(path, text).unwrap();
        }
    }

    /// Has a subagent run a command: its call is an alarm, too, if its agent is known from its log, and
    /// so is the call that starts it.
    fn expect_of_subagent(&mut self, tool: &str, input: Value) {
        self.expect("subagent", &["look around"], |bed, command| {
            let report = "I have looked around. ".repeat(20);
            let turns = [
                ModelTurn::tool(tool, input),
                bed.shell_tool(command),
                ModelTurn::text(report),
                ModelTurn::text("that was all"),
            ];
            bed.run("do it", turns);
        });
    }

    /// Writes a file for as long as something is done.
    fn with_file(&mut self, file: &Path, text: &str, done: impl FnOnce(&mut Self)) {
        let before = fs::read(file).ok();
        write(file, text, 0o644);
        done(self);
        match before {
            Some(before) => fs::write(file, before).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
    }

    /// Checks what a person sees, and that another daemon reports nothing again.
    fn end(self) {
        let environment = self.bed.environment();
        let list = environment.run(&["agent", "list", "--all"]).stdout;
        assert!(list.contains("unguarded"), "{list}");
        let doctor = environment.run(&["doctor"]).stdout;
        assert!(doctor.contains("without asking"), "{doctor}");
        assert_eq!(environment.run(&["daemon", "stop"]).code, 0);
        assert_eq!(environment.run(&["daemon", "start"]).code, 0);
        let agents = environment.run(&["agent", "list", "--all", "--json"]).json();
        let counted: u64 =
            agents.as_array().unwrap().iter().filter_map(|agent| agent["unguarded"].as_u64()).sum();
        assert_eq!(counted, self.expected.len() as u64, "{agents:#}");
        assert_eq!(self.alarms().len(), self.expected.len());
    }

    fn settings(&self, inner: &str) -> PathBuf {
        self.bed.home().join(inner)
    }
}

/// A hook that is asked about calls with a mark in them, and does something about anyhook itself.
fn sabotage(bed: &AgentSandbox, name: &str, script: &str) {
    let matter = format!("trigger: before_tool\nmatcher: {{tool: Shell, pattern: 'ran {name}'}}");
    bed.environment().user_hook(name, &matter, script);
}

#[test]
fn claude_code() {
    let prepare = |bed: &mut AgentSandbox| {
        sabotage(bed, "killed", "kill -9 $PPID");
        sabotage(bed, "late", "kill -STOP $PPID; sleep 4; kill -9 $PPID");
    };
    let Some(mut guarded) = Guarded::set(Agent::ClaudeCode, prepare) else { return };
    let user = guarded.settings(".claude/settings.json");
    let settings: Value = serde_json::from_slice(&fs::read(&user).unwrap()).unwrap();

    guarded.expect_of_command("killed");

    let mut impatient = settings.clone();
    for group in impatient["hooks"]["PreToolUse"].as_array_mut().unwrap() {
        let entry = group["hooks"][0].as_object_mut().unwrap();
        entry.insert("timeout".to_owned(), json!(1));
        // With it, a call whose hook is late would be blocked.
        entry.remove("onFailure");
    }
    guarded.with_file(&user, &impatient.to_string(), |guarded| guarded.expect_of_command("late"));

    let mut removed = settings.clone();
    removed.as_object_mut().unwrap().remove("hooks");
    guarded.with_file(&user, &removed.to_string(), |guarded| guarded.expect_of_command("removed"));

    let off = guarded.bed.project().join(".claude/settings.json");
    guarded.with_file(&off, "{\"disableAllHooks\": true}", |guarded| {
        guarded.expect_of_command("off in project");
        guarded.expect("subagent", &["look around"], |bed, command| {
            let task = json!({"description": "look", "prompt": "look around",
                "subagent_type": "general-purpose", "run_in_background": false});
            let turns = [
                ModelTurn::tool("Agent", task),
                bed.shell_tool(command),
                ModelTurn::text("I am back"),
                ModelTurn::text("that was all"),
            ];
            bed.run("do it", turns);
        });
    });

    guarded.bed.add_argument("--settings");
    guarded.bed.add_argument("{\"disableAllHooks\": true}");
    guarded.expect_of_command("off by a flag");
    guarded.bed.clear_arguments();

    // Its hooks are as they were when the session began, or they are not.
    guarded.with_file(&user, &settings.to_string(), |guarded| {
        guarded.expect("changed meanwhile", &[], |bed, command| {
            let change = format!("echo '{{}}' > {}; sleep 3", user.display());
            let turns = [bed.shell_tool(&change), bed.shell_tool(command), ModelTurn::text("done")];
            bed.run("do it", turns);
        });
    });

    let program = guarded.bed.home().join(".local/share/anyhook/bin/anyhook");
    let ours = fs::read(&program).unwrap();
    fs::remove_file(&program).unwrap();
    fs::copy("/bin/true", &program).unwrap();
    guarded.expect_of_command("replaced");
    fs::remove_file(&program).unwrap();
    write(&program, ours, 0o755);
    guarded.end();
}

/// Longer than it takes until the daemon looks for agents.
const WAIT: &str = "timeout 35 tail -f /dev/null";

/// Logs elsewhere are found because the agent runs: at the latest after half a minute.
#[test]
fn claude_code_with_another_home() {
    let Some(mut guarded) = Guarded::set(Agent::ClaudeCode, |_| {}) else { return };
    let other = guarded.bed.home().join("other");
    fs::create_dir(&other).unwrap();
    guarded.bed.set_variable("CLAUDE_CONFIG_DIR", &other);
    guarded.expect("elsewhere", &[WAIT], |bed, command| {
        let wait = bed.shell_tool(WAIT);
        bed.run("do it", [wait, bed.shell_tool(command), ModelTurn::text("done")]);
    });
}

#[test]
fn codex() {
    let Some(mut guarded) = Guarded::set(Agent::Codex, |_| {}) else { return };
    let off = guarded.bed.project().join(".codex/config.toml");
    guarded.with_file(&off, "[features]\nhooks = false\n", |guarded| {
        guarded.expect_of_command("off in project");
    });
    guarded.bed.add_argument("--config");
    guarded.bed.add_argument("features.hooks=false");
    guarded.expect_of_command("off by a flag");
    guarded.bed.clear_arguments();
    guarded.end();
}

/// What is typed into a shell that runs is a command that no hook is asked about.
#[test]
fn codex_types_into_a_shell() {
    let Some(mut guarded) = Guarded::set(Agent::Codex, |_| {}) else { return };
    guarded.bed.add_argument("--dangerously-bypass-approvals-and-sandbox");
    let shell = json!({"cmd": "bash", "tty": true, "yield_time_ms": 500});
    let opened = [ModelTurn::tool("exec_command", shell), ModelTurn::text("it is open")];
    let Some(screen) = guarded.bed.open(opened) else { return };
    screen.submit("open a shell");
    screen.wait_for("it is open");
    let request = screen.model().requests().pop().unwrap();
    let id = (1..100_000)
        .find(|id| tells(&request, &format!("running with session ID {id}\n")))
        .unwrap();
    let typed = |chars: &str| {
        let input = json!({"session_id": id, "chars": chars, "yield_time_ms": 500});
        ModelTurn::tool("write_stdin", input)
    };
    guarded.expect("typed", &[], |_, command| {
        let look = typed("");
        let end = ModelTurn::text("it is typed");
        screen.model().add_turns([look, typed(&format!("{command}\n")), typed("\u{3}"), end]);
        screen.submit("type into it");
        screen.wait_for("it is typed");
    });
    drop(screen);
    guarded.end();
}

/// In code mode the model sends a script, and hooks are asked about the commands in it.
#[test]
fn codex_in_code_mode() {
    let Some(mut guarded) = Guarded::set(Agent::Codex, |_| {}) else { return };
    guarded.bed.set_model("gpt-5.6-luna");
    for word in [
        "--dangerously-bypass-approvals-and-sandbox",
        "--config",
        "notice.model_migrations={ 'gpt-5.6-luna' = 'gpt-6-luna' }",
    ] {
        guarded.bed.add_argument(word);
    }
    let script = |command: &str| {
        let text = format!("text(JSON.stringify(await tools.exec_command({{cmd: {command:?}}})));");
        ModelTurn::tool("functions.exec", json!(text))
    };
    let talk = |bed: &AgentSandbox, prompt: &str, commands: &[&str]| {
        let Some(screen) = bed.open([]) else { return false };
        let mut turns: Vec<ModelTurn> = commands.iter().map(|command| script(command)).collect();
        turns.push(ModelTurn::text("that was it"));
        screen.model().add_part(prompt, turns);
        screen.submit(prompt);
        screen.wait_for("that was it");
        true
    };
    let asked = ["touch inner", "touch forbidden"];
    if !talk(&guarded.bed, "do it in code", &asked) {
        return;
    }
    assert!(guarded.bed.project().join("inner").exists());
    assert!(!guarded.bed.project().join("forbidden").exists());
    guarded.bed.add_argument("--config");
    guarded.bed.add_argument("features.hooks=false");
    guarded.expect("code mode", &[], |bed, command| {
        talk(bed, "do it once more", &[command]);
    });
    guarded.end();
}

#[test]
fn gemini_cli() {
    let Some(mut guarded) = Guarded::set(Agent::GeminiCli, |_| {}) else { return };
    let off = guarded.bed.project().join(".gemini/settings.json");
    guarded.with_file(&off, "{\"hooksConfig\": {\"enabled\": false}}", |guarded| {
        guarded.expect_of_command("off in project");
        guarded.expect("subagent", &["look around"], |bed, command| {
            let task = json!({"agent_name": "generalist", "prompt": "look around"});
            let turns = [
                ModelTurn::tool("invoke_agent", task),
                bed.shell_tool(command),
                ModelTurn::text("I am back"),
                ModelTurn::text("that was all"),
            ];
            bed.run("do it", turns);
        });
    });
    let user = guarded.settings(".gemini/settings.json");
    let mut removed: Value = serde_json::from_slice(&fs::read(&user).unwrap()).unwrap();
    removed.as_object_mut().unwrap().remove("hooks");
    guarded.with_file(&user, &removed.to_string(), |guarded| guarded.expect_of_command("removed"));
    guarded.end();
}

/// A plugin in the place of ours that answers every event itself.
#[test]
fn opencode() {
    let Some(mut guarded) = Guarded::set(Agent::OpenCode, |_| {}) else { return };
    let plugin = guarded.settings(".config/opencode/plugins/anyhook.js");
    let answers = "export default async () => ({\n\
        \"tool.execute.before\": async () => {},\n\"permission.ask\": async () => {},\n});\n";
    guarded.with_file(&plugin, answers, |guarded| {
        guarded.expect_of_command("answered by a plugin");
        guarded.expect("subagent", &["look around"], |bed, command| {
            let task = json!({"description": "look", "prompt": "look around",
                "subagent_type": "general"});
            let turns = [
                ModelTurn::tool("task", task),
                bed.shell_tool(command),
                ModelTurn::text("I am back"),
                ModelTurn::text("that was all"),
            ];
            bed.run("do it", turns);
        });
    });
    guarded.end();
}

/// Our entries, or our plugin, are removed: all that tells of the calls is the agent's log.
fn removed(agent: Agent, subagent: Option<(&str, Value)>) {
    let Some(mut guarded) = Guarded::set(agent, |_| {}) else { return };
    guarded.without_hooks(|guarded| {
        guarded.expect_of_command("removed");
        if let Some((tool, input)) = subagent {
            guarded.expect_of_subagent(tool, input);
        }
    });
    guarded.end();
}

#[test]
fn cline() {
    let task = json!({"systemPrompt": "You look.", "task": "look around"});
    removed(Agent::Cline, Some(("spawn_agent", task)));
}

#[test]
fn copilot() {
    let task = json!({"name": "look", "description": "look", "prompt": "look around",
        "agent_type": "general-purpose", "mode": "sync"});
    removed(Agent::Copilot, Some(("task", task)));
}

#[test]
fn droid() {
    removed(Agent::Droid, None);
}

#[test]
fn grok() {
    let task = json!({"description": "look", "prompt": "look around", "background": false});
    removed(Agent::Grok, Some(("spawn_subagent", task)));
}

#[test]
fn hermes() {
    removed(Agent::Hermes, None);
}

#[test]
fn kimi_cli() {
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "coder"});
    removed(Agent::KimiCli, Some(("Agent", task)));
}

#[test]
fn kimi_code() {
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "coder"});
    removed(Agent::KimiCode, Some(("Agent", task)));
}

#[test]
fn letta() {
    removed(Agent::Letta, None);
}

#[test]
fn qwen_code() {
    let Some(mut guarded) = Guarded::set(Agent::QwenCode, |_| {}) else { return };
    let off = guarded.bed.project().join(".qwen/settings.json");
    guarded.with_file(&off, "{\"disableAllHooks\": true}", |guarded| {
        guarded.expect_of_command("off in project");
    });
    guarded.without_hooks(|guarded| {
        guarded.expect_of_command("removed");
        let task = json!({"description": "look", "prompt": "look around",
            "subagent_type": "general-purpose"});
        guarded.expect_of_subagent("agent", task);
    });
    guarded.end();
}
