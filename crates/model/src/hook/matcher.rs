//! What a hook's matcher says: expressions for the tool call, and conditions on what it would do.

use serde::{Deserialize, Deserializer, Serialize};

/// What a tool call must match; everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatcherDefinition {
    /// A regular expression that must match the whole tool name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A regular expression that must be found in one of the input's values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Conditions on a command: one of these must hold for one simple command of the line.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub shell: Vec<ShellCondition>,
    /// Files that the call must read, write, delete or move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileCondition>,
    /// URLs, one of which the call must fetch.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub url: Vec<String>,
    /// The tool of an MCP server that must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpCondition>,
    /// Matchers of which at least one must match.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub any: Vec<Self>,
    /// Matchers that must all match.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub all: Vec<Self>,
    /// A matcher that must not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Self>>,
}

impl MatcherDefinition {
    /// Returns whether every tool call matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether it says more than expressions for the tool and its input.
    pub fn has_conditions(&self) -> bool {
        let Self { tool: _, pattern: _, shell, files, url, mcp, any, all, not } = self;
        !(shell.is_empty() && url.is_empty() && any.is_empty() && all.is_empty())
            || files.is_some()
            || mcp.is_some()
            || not.is_some()
    }
}

/// Conditions on one simple command; everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShellCondition {
    /// Names of programs, one of which it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub program: Vec<String>,
    /// Subcommands, one of which it gives: `push`, `remote remove`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub subcommand: Vec<String>,
    /// Flags, at least one of which it gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub flags: Vec<String>,
    /// Flags that it all gives; `-r|--recursive` is either.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub all_flags: Vec<String>,
    /// Patterns, one of which an argument matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub arguments: Vec<String>,
    /// A regular expression that is found in an argument, or in the command as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Kinds of files, or patterns for them, one of which it works on.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub targets: Vec<String>,
    /// The same for files that it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub reads: Vec<String>,
    /// The same for files that it writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub writes: Vec<String>,
    /// The same for files that it deletes.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub deletes: Vec<String>,
    /// The same for files that it moves from their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub moves: Vec<String>,
    /// Kinds of files, or patterns for them, that do not count for any of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub except: Vec<String>,
    /// The same for files that its output is redirected to.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub redirects: Vec<String>,
    /// Programs through one of which it runs: `sudo`, `xargs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub via: Vec<String>,
    /// Programs, one of which reads its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub piped_to: Vec<String>,
    /// Programs, one of which gives it its input.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub piped_from: Vec<String>,
    /// Variables, one of which is set for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub assigns: Vec<String>,
    /// Branches, one of which is checked out in the repository in which it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub branch: Vec<String>,
    /// Whether it runs on another machine or in a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<bool>,
    /// Whether what it runs cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<bool>,
    /// Conditions of which at least one must hold for the same command.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub any: Vec<Self>,
    /// Conditions that must all hold for the same command.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub all: Vec<Self>,
    /// A condition that must not hold for the same command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Self>>,
}

/// Patterns for the files of a call, by what it does to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "FilesForm")]
pub struct FileCondition {
    /// Files that it reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Files that it writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Files that it deletes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delete: Vec<String>,
    /// Files that it moves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub r#move: Vec<String>,
    /// Files, whatever it does to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
    /// Files that do not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Whether they must exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
}

/// What may stand for a [`FileCondition`]: one pattern, a list of them, or an object.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum FilesForm {
    One(String),
    Many(Vec<String>),
    ByAccess {
        #[serde(default, deserialize_with = "one_or_many")]
        read: Vec<String>,
        #[serde(default, deserialize_with = "one_or_many")]
        write: Vec<String>,
        #[serde(default, deserialize_with = "one_or_many")]
        delete: Vec<String>,
        #[serde(default, deserialize_with = "one_or_many")]
        r#move: Vec<String>,
        #[serde(default, deserialize_with = "one_or_many")]
        any: Vec<String>,
        #[serde(default, deserialize_with = "one_or_many")]
        except: Vec<String>,
        #[serde(default)]
        exists: Option<bool>,
    },
}

impl From<FilesForm> for FileCondition {
    fn from(form: FilesForm) -> Self {
        match form {
            FilesForm::One(any) => Self { any: vec![any], ..Self::default() },
            FilesForm::Many(any) => Self { any, ..Self::default() },
            FilesForm::ByAccess { read, write, delete, r#move, any, except, exists } => {
                Self { read, write, delete, r#move, any, except, exists }
            }
        }
    }
}

/// A tool of an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct McpCondition {
    /// Names of servers, one of which it belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub server: Vec<String>,
    /// Names of tools, one of which it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub tool: Vec<String>,
}

/// Reads a list, or the only item of one.
fn one_or_many<'de, D: Deserializer<'de>, Item: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<Item>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form<Item> {
        Many(Vec<Item>),
        One(Item),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Many(items) => items,
        Form::One(item) => vec![item],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(matcher: Value) -> MatcherDefinition {
        serde_json::from_value(matcher).unwrap()
    }

    #[test]
    fn one_stands_for_a_list_of_one() {
        let short = read(json!({
            "shell": {"program": "rm", "not": {"flags": "-i"}},
            "files": ".env",
            "any": {"url": "example.com"},
        }));
        let long = read(json!({
            "shell": [{"program": ["rm"], "not": {"flags": ["-i"]}}],
            "files": {"any": [".env"]},
            "any": [{"url": ["example.com"]}],
        }));
        assert_eq!(short, long);
        assert!(short.has_conditions());
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let matcher = read(json!({
            "tool": "Shell",
            "shell": [{"program": "git", "unknown": true}],
            "files": {"write": "a", "except": ["b", "c"]},
            "mcp": {"server": "x"},
            "all": [{"not": {"pattern": "y"}}],
        }));
        let stored = serde_json::to_value(&matcher).unwrap();
        assert_eq!(read(stored), matcher);
    }

    #[test]
    fn expressions_alone_are_no_conditions() {
        assert!(!read(json!({"tool": "Shell", "pattern": "x"})).has_conditions());
        assert!(read(json!({})).is_empty());
    }
}
