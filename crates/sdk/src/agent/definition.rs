//! The definition of an agent, as data.

use anyhook_model::nearest::nearest;
use serde::{Deserialize, Serialize};

/// An agent: data, loadable from JSON. The things it names are registered with a
/// [center](super::AgentCenter).
///
/// Keys are written in snake case, and read in camel case, too. An unknown key is an error: a guard
/// whose list is misspelt must not be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written")]
#[non_exhaustive]
pub struct Agent {
    /// Its id, by which a session names it.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// A short description.
    pub description: String,
    /// The model, by the name it is registered under.
    pub model_name: String,
    /// The system prompt of the model.
    pub instructions: String,
    /// Its tools.
    pub tool_names: Vec<String>,
    /// MCP servers whose tools it has.
    pub mcp_server_names: Vec<String>,
    /// Hooks that run before it.
    pub pre_hook_names: Vec<String>,
    /// Hooks that run after it.
    pub post_hook_names: Vec<String>,
    /// Hooks around each call of its model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model_hook_names: Vec<String>,
}

/// An agent as it is read, with unknown keys.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    id: String,
    name: String,
    description: String,
    #[serde(alias = "modelName")]
    model_name: String,
    instructions: String,
    #[serde(alias = "toolNames")]
    tool_names: Vec<String>,
    #[serde(alias = "mcpServerNames")]
    mcp_server_names: Vec<String>,
    #[serde(alias = "preHookNames")]
    pre_hook_names: Vec<String>,
    #[serde(alias = "postHookNames")]
    post_hook_names: Vec<String>,
    #[serde(alias = "modelHookNames")]
    model_hook_names: Vec<String>,
    #[serde(flatten)]
    unknown: serde_json::Map<String, serde_json::Value>,
}

/// The keys of an agent, in both spellings.
const KEYS: [&str; 16] = [
    "id",
    "name",
    "description",
    "instructions",
    "model_name",
    "modelName",
    "tool_names",
    "toolNames",
    "mcp_server_names",
    "mcpServerNames",
    "pre_hook_names",
    "preHookNames",
    "post_hook_names",
    "postHookNames",
    "model_hook_names",
    "modelHookNames",
];

/// A key that an agent does not have.
#[derive(Debug, thiserror::Error)]
enum UnknownKey {
    #[error("unknown key `{0}`; did you mean `{1}`?")]
    Near(String, &'static str),
    #[error("unknown key `{0}`; available: {list}", list = snake_case_keys())]
    Far(String),
}

fn snake_case_keys() -> String {
    let is_plain = |key: &&str| !key.contains(|letter: char| letter.is_ascii_uppercase());
    KEYS.into_iter().filter(is_plain).collect::<Vec<_>>().join(", ")
}

impl TryFrom<Written> for Agent {
    type Error = UnknownKey;

    fn try_from(written: Written) -> Result<Self, UnknownKey> {
        if let Some(key) = written.unknown.into_iter().next().map(|(key, _)| key) {
            return Err(match nearest(&key, KEYS.into_iter()) {
                Some(near) => UnknownKey::Near(key, near),
                None => UnknownKey::Far(key),
            });
        }
        Ok(Self {
            id: written.id,
            name: written.name,
            description: written.description,
            model_name: written.model_name,
            instructions: written.instructions,
            tool_names: written.tool_names,
            mcp_server_names: written.mcp_server_names,
            pre_hook_names: written.pre_hook_names,
            post_hook_names: written.post_hook_names,
            model_hook_names: written.model_hook_names,
        })
    }
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

    /// Sets its description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the system prompt of the model.
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

    /// Sets the hooks around each call of its model.
    pub fn model_hooks<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.model_hook_names = names.into_iter().map(Into::into).collect();
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

    #[test]
    fn a_key_that_no_agent_has_is_an_error() {
        let read = |text: &str| serde_json::from_str::<Agent>(text).unwrap_err().to_string();
        let misspelt = read(r#"{"id": "a", "preHooksNames": ["guard"]}"#);
        assert!(misspelt.contains("unknown key `preHooksNames`; did you mean `preHookNames`?"));
        let foreign = read(r#"{"id": "a", "temperature": 0.5}"#);
        assert!(foreign.contains("unknown key `temperature`; available: id, name,"), "{foreign}");
        let twice = read(r#"{"id": "a", "tool_names": [], "toolNames": []}"#);
        assert!(twice.contains("duplicate field"), "{twice}");
    }

    #[test]
    fn every_key_is_known_in_both_spellings() {
        let lists = KEYS.into_iter().filter(|key| key.contains("ames"));
        for key in lists {
            serde_json::from_value::<Agent>(serde_json::json!({key: ["x"]})).unwrap();
        }
        let Ok(serde_json::Value::Object(written)) =
            serde_json::to_value(Agent::new("a", "m").model_hooks(["x"]))
        else {
            panic!("an agent is an object")
        };
        assert!(written.keys().all(|key| KEYS.contains(&key.as_str())));
        assert_eq!(written.len() + 6, KEYS.len(), "six keys have a second spelling");
    }
}
