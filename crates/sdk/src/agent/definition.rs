//! An agent, as it is written down.

use serde::{Deserialize, Serialize};

/// An agent: data, loadable from JSON. What its names stand for is registered with a
/// [center](super::AgentCenter).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Agent {
    /// Its id, by which a session names it.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The model, by the name it is registered under.
    #[serde(alias = "modelName")]
    pub model_name: String,
    /// What the model is told first.
    pub instructions: String,
    /// Its tools.
    #[serde(alias = "toolNames")]
    pub tool_names: Vec<String>,
    /// MCP servers whose tools it has.
    #[serde(alias = "mcpServerNames")]
    pub mcp_server_names: Vec<String>,
    /// Hooks that run before it.
    #[serde(alias = "preHookNames")]
    pub pre_hook_names: Vec<String>,
    /// Hooks that run after it.
    #[serde(alias = "postHookNames")]
    pub post_hook_names: Vec<String>,
}

impl Agent {
    /// Makes an agent without tools and hooks.
    pub fn new(id: impl Into<String>, model_name: impl Into<String>) -> Self {
        let id = id.into();
        Self { name: id.clone(), id, model_name: model_name.into(), ..Self::default() }
    }

    /// Sets the name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets what it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets what the model is told first.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = instructions.into();
        self
    }

    /// Sets its tools.
    pub fn tools<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.tool_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the MCP servers whose tools it has.
    pub fn mcp_servers<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.mcp_server_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the hooks that run before it.
    pub fn pre_hooks<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.pre_hook_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the hooks that run after it.
    pub fn post_hooks<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.post_hook_names = names.into_iter().map(Into::into).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_from_json_in_either_spelling() {
        let agent: Agent = serde_json::from_str(
            r#"{"id": "a", "name": "A", "modelName": "gpt", "pre_hook_names": ["x"]}"#,
        )
        .unwrap();
        assert_eq!(agent, Agent::new("a", "gpt").name("A").pre_hooks(["x"]));
        let text = serde_json::to_string(&agent).unwrap();
        assert_eq!(serde_json::from_str::<Agent>(&text).unwrap(), agent);
    }
}
