//! Codex.
//!
//! Its hooks run only if they are trusted. A test that does not care about that adds the argument
//! `--dangerously-bypass-hook-trust`.

use std::path::Path;

use serde_json::json;

use super::{AgentProgram, npm_architecture};
use crate::model_server::ModelTurn;

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
