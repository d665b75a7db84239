//! Packs on disk: `pack.toml`, which describes one, and `packs.lock`, which records those that were
//! added at a level.

use serde::{Deserialize, Serialize};

/// The version of [`PacksLock`].
///
/// - 1: the first.
pub const LOCK_VERSION: u32 = 1;

/// `pack.toml`: what a pack is, and what can be set about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackManifest {
    /// The pack's name: lowercase letters, digits and hyphens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does, in one line.
    pub description: String,
    /// What to do once it is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// What can be set when it is added.
    #[serde(default, rename = "option", skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<PackOption>,
}

/// Something that can be set about a pack. `%{NAME}` in a HOOK.md of the pack stands for its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackOption {
    /// Its name: a lowercase letter, then lowercase letters, digits, `-` and `_`.
    pub name: String,
    /// What it means, in one line.
    #[serde(default)]
    pub about: String,
    /// Its value unless another is set, which must have the same type.
    pub default: OptionValue,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OptionValue {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

/// `packs.lock`, next to the `hooks` folder of a level: the packs that were added there, where they
/// come from, and what they contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacksLock {
    /// The version of this file.
    pub version: u32,
    /// The packs, by name.
    #[serde(default, rename = "pack", skip_serializing_if = "Vec::is_empty")]
    pub packs: Vec<LockedPack>,
}

impl Default for PacksLock {
    fn default() -> Self {
        Self { version: LOCK_VERSION, packs: Vec::new() }
    }
}

/// A pack that was added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockedPack {
    /// Its name.
    pub name: String,
    /// What it does, in one line.
    pub description: String,
    /// Where it comes from: `pack/NAME` for one that comes with anyhook, an absolute path, or the
    /// address of a git repository, with `//FOLDER` if it is not at the top.
    pub source: String,
    /// The branch, tag or commit that was asked for; the default branch if none was.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit that was fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The digest of its content, `sha256:` and 64 digits.
    pub digest: String,
    /// What can be set about it.
    #[serde(default, rename = "option", skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<LockedOption>,
    /// Its hooks as they were written.
    #[serde(default, rename = "hook", skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<LockedHook>,
    /// Its commands as they were written, for each agent.
    #[serde(default, rename = "command", skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<LockedCommand>,
}

/// An option of a pack, and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockedOption {
    /// The option.
    #[serde(flatten)]
    pub option: PackOption,
    /// The value that was set, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<OptionValue>,
}

/// A hook of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockedHook {
    /// Its name, which is that of its folder.
    pub name: String,
    /// The digest of its folder as it was written.
    pub digest: String,
    /// Whether it was put in shadow mode, because an agent added it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
}

/// A command of a pack for one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockedCommand {
    /// The agent.
    pub agent: String,
    /// The command's name.
    pub name: String,
    /// The digest of its file.
    pub digest: String,
}

impl OptionValue {
    /// Returns the name of its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list of texts",
        }
    }

    /// Returns whether another value has the same type.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Returns it as YAML on one line. Texts are in single quotes, where nothing is an escape.
    pub fn to_yaml(&self) -> String {
        let quoted = |text: &String| format!("'{}'", text.replace('\'', "''"));
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(text) => quoted(text),
            Self::List(texts) => {
                format!("[{}]", texts.iter().map(quoted).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl LockedOption {
    /// Returns the value that counts.
    pub fn current(&self) -> &OptionValue {
        self.value.as_ref().unwrap_or(&self.option.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_yaml_on_one_line() {
        let text = |text: &str| OptionValue::Text(text.to_owned());
        assert_eq!(text("it's \\d \"x\"").to_yaml(), "'it''s \\d \"x\"'");
        let list = OptionValue::List(vec![".env".to_owned(), "*.pem".to_owned()]);
        assert_eq!(list.to_yaml(), "['.env', '*.pem']");
        assert_eq!(OptionValue::List(Vec::new()).to_yaml(), "[]");
        assert_eq!(OptionValue::Bool(true).to_yaml(), "true");
        assert_eq!(OptionValue::Integer(-3).to_yaml(), "-3");
        assert_eq!(OptionValue::Number(0.5).to_yaml(), "0.5");
        assert!(!list.is_like(&text("x")));
    }
}
