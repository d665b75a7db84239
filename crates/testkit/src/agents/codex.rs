//! Codex.
//!
//! Its hooks run only if they are trusted. A test that does not care about that adds the argument
//! `--dangerously-bypass-hook-trust`.

use std::fs;
use std::path::Path;

use anyhook_hosts::wiring::codex_trust;

use serde_json::{Value, json};

use super::{AgentProgram, AgentSandbox, McpServer, nested_hook, npm_architecture};
use crate::model_server::ModelTurn;
use crate::write;

pub(super) struct Codex;

impl AgentProgram for Codex {
    fn program(&self, folder: &Path) -> Vec<String> {
        let package = format!("@openai/codex-linux-{}", npm_architecture());
        let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let vendor = folder.join("node_modules").join(package).join("vendor");
        vec![vendor.join(triple).join("bin/codex").to_string_lossy().into_owned()]
    }

    fn screen_mark(&self) -> &'static str {
        "›"
    }

    fn read_tool(&self, path: &str) -> ModelTurn {
        // Codex has no tool for it.
        ModelTurn::tool("exec_command", json!({"cmd": format!("cat '{path}'")}))
    }

    fn reads_as(&self) -> &'static [&'static str] {
        &["Shell"]
    }

    fn write_tool(&self, path: &str, content: &str) -> ModelTurn {
        patch_file(&format!("Add File: {path}"), &marked(content, "+"))
    }

    fn edit_tool(&self, path: &str, old: &str, new: &str) -> ModelTurn {
        let change = format!("@@\n{}{}", marked(old, "-"), marked(new, "+"));
        patch_file(&format!("Update File: {path}"), &change)
    }

    fn patch_tool(&self, text: &str) -> Option<ModelTurn> {
        Some(patch(text))
    }

    // It writes by patches, which are not rewritten.
    fn rewrites_files(&self) -> bool {
        false
    }

    fn add_mcp_server(&self, bed: &AgentSandbox, server: &McpServer) {
        bed.add_text(".codex/config.toml", &server.toml());
    }

    fn mcp_tool(&self, server: &str, tool: &str, input: Value) -> Option<ModelTurn> {
        Some(ModelTurn::tool(format!("mcp__{server}.{tool}"), input))
    }

    fn subagent_tool(&self, prompt: &str) -> Option<ModelTurn> {
        Some(ModelTurn::tool("multi_agent_v1.spawn_agent", json!({"message": prompt})))
    }

    fn script_tool(&self, command: &str) -> Option<ModelTurn> {
        let script =
            format!("text(JSON.stringify(await tools.exec_command({{cmd: {command:?}}})));");
        Some(ModelTurn::tool("functions.exec", json!(script)))
    }

    // In its code mode the model has a tool for scripts instead of the others.
    fn scripting_model(&self) -> Option<&'static str> {
        Some("gpt-5.6-luna")
    }

    // It takes no approval but one with an input, which may be the one that it has.
    fn add_approving_hook(&self, bed: &AgentSandbox, made: &Path) {
        let program = bed.home().join("approve.py");
        let script = format!(
            "#!/usr/bin/env python3\nimport json, pathlib, sys\n\
             call = json.load(sys.stdin)\npathlib.Path({:?}).touch()\n\
             print(json.dumps({{'hookSpecificOutput': {{'hookEventName': 'PreToolUse',\n\
             \x20   'permissionDecision': 'allow', 'updatedInput': call['tool_input']}}}}))\n",
            made.to_string_lossy()
        );
        write(&program, script, 0o755);
        let hooks = nested_hook("PreToolUse", &program.to_string_lossy());
        bed.add_json(".codex/hooks.json", hooks.clone());
        let (file, config) = (bed.home().join(".codex/hooks.json"), ".codex/config.toml");
        let entries = codex_trust::hashes(&file, &hooks).into_iter();
        let entries: Vec<_> = entries.map(|(key, hash, _)| (key, hash)).collect();
        let config = bed.home().join(config);
        let text = fs::read_to_string(&config).ok();
        let text = codex_trust::trust(&config, text.as_deref(), &entries).unwrap();
        write(&config, text, 0o600);
    }
}

fn marked(lines: &str, mark: &str) -> String {
    lines.lines().flat_map(|line| [mark, line, "\n"]).collect()
}

fn patch_file(what: &str, change: &str) -> ModelTurn {
    patch(&format!("*** Begin Patch\n*** {what}\n{change}*** End Patch\n"))
}

fn patch(text: &str) -> ModelTurn {
    ModelTurn::tool("apply_patch", json!(text))
}
