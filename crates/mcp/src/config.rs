//! MCP server configuration: `.agents/mcp.json` and `~/.config/agents/mcp.json`, in the format that
//! many programs share.
//!
//! ```json
//! {
//!   "mcpServers": {
//!     "context7": { "command": "npx", "args": ["-y", "@upstash/context7-mcp"] },
//!     "gemini": { "type": "http", "url": "https://example.com/mcp",
//!                 "headers": { "Authorization": "Bearer ${GEMINI_TOKEN}" } }
//!   }
//! }
//! ```
//!
//! Comments and trailing commas are allowed. Reads no file and no environment: the caller provides
//! both. `${NAME}` is expanded when a server is about to be used, so that a variable that one
//! server lacks does not keep the others from working.

mod expand;
mod read;

use std::collections::BTreeMap;
use std::fmt;

use anyhook_engine::TextPosition;
use anyhook_model::nearest::nearest;
use serde_json::{Map, Value};

pub use self::expand::ExpandError;

/// What is wrong with a configuration, where, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", At(*place))]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// Where in the file.
    pub place: Option<TextPosition>,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: String,
}

/// A key in a configuration that has no effect here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigNote {
    /// The file.
    pub file: String,
    /// Where in the file.
    pub place: TextPosition,
    /// What is noted.
    pub message: String,
}

impl fmt::Display for ConfigNote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}: {}", self.file, At(Some(self.place)), self.message)
    }
}

/// Shows line and column, if they are known.
struct At(Option<TextPosition>);

impl fmt::Display for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(TextPosition { line, column, .. }) => write!(formatter, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// The servers of one file, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    servers: BTreeMap<String, ServerDefinition>,
    /// Keys that have no effect here, in the order of the files.
    pub notes: Vec<ConfigNote>,
}

/// A text of the file, before its variables are expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ConfigText {
    raw: String,
    place: TextPosition,
}

/// A server as defined in its file.
#[derive(Clone, PartialEq, Eq)]
struct ServerDefinition {
    file: String,
    way: TransportDefinition,
    other: Map<String, Value>,
}

impl fmt::Debug for ServerDefinition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without values that may be a secret.
        formatter.debug_struct("ServerDefinition").field("file", &self.file).finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Eq)]
enum TransportDefinition {
    Stdio {
        command: ConfigText,
        arguments: Vec<ConfigText>,
        environment: Vec<(String, ConfigText)>,
        work_dir: Option<ConfigText>,
    },
    Http {
        url: ConfigText,
        headers: Vec<(String, ConfigText)>,
    },
}

/// A server that can be connected to.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name in the configuration.
    pub name: String,
    /// How it is reached.
    pub endpoint: Endpoint,
    /// Keys that have no effect here.
    pub other: Map<String, Value>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A program that uses its standard input and output.
    Stdio {
        /// The program, looked up as a shell does.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Variables in addition to those of this program.
        environment: Vec<(String, String)>,
        /// Its working directory; by default that of this program.
        work_dir: Option<String>,
    },
    /// A server that speaks streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers for every request.
        headers: Vec<(String, String)>,
    },
}

impl Server {
    /// Makes a server that is started as a program.
    pub fn stdio<T: Into<String>>(
        name: impl Into<String>,
        command: impl Into<String>,
        arguments: impl IntoIterator<Item = T>,
    ) -> Self {
        let endpoint = Endpoint::Stdio {
            command: command.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            work_dir: None,
        };
        Self { name: name.into(), endpoint, other: Map::new() }
    }

    /// Makes a server that is reached over HTTP.
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        let endpoint = Endpoint::Http { url: url.into(), headers: Vec::new() };
        Self { name: name.into(), endpoint, other: Map::new() }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of the environment and headers are often secrets, and so are parts of URLs.
        match self {
            Self::Stdio { command, arguments, .. } => formatter
                .debug_struct("Stdio")
                .field("command", command)
                .field("arguments", arguments)
                .finish_non_exhaustive(),
            Self::Http { .. } => formatter.debug_struct("Http").finish_non_exhaustive(),
        }
    }
}

impl Config {
    /// Reads the text of a file; `file` names it in errors.
    pub fn read(file: &str, text: &str) -> Result<Self, ConfigError> {
        read::read(file, text)
    }

    /// Adds the servers of another file that are not in this one: the first file that names a
    /// server counts.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        for (name, definition) in other.servers {
            self.servers.entry(name).or_insert(definition);
        }
        self.notes.extend(other.notes);
        self
    }

    /// Returns the names of all servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Returns the file that a server is from.
    pub fn file_of(&self, name: &str) -> Option<&str> {
        self.servers.get(name).map(|definition| definition.file.as_str())
    }

    /// Returns a server with its variables expanded. `files` are the files that were read, for the
    /// error that it is in none of them.
    pub fn server(
        &self,
        name: &str,
        files: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Server, ConfigError> {
        let Some(definition) = self.servers.get(name) else {
            return Err(self.unknown(name, files));
        };
        let fill = |text: &ConfigText| {
            expand::expand(&text.raw, variable).map_err(|error| ConfigError {
                file: definition.file.clone(),
                place: Some(text.place),
                message: format!("the MCP server `{name}`: {error}"),
                hint: error.hint(),
            })
        };
        let fill_all = |texts: &[ConfigText]| texts.iter().map(fill).collect::<Result<Vec<_>, _>>();
        let fill_named = |texts: &[(String, ConfigText)]| {
            texts
                .iter()
                .map(|(name, text)| Ok((name.clone(), fill(text)?)))
                .collect::<Result<Vec<_>, ConfigError>>()
        };
        let endpoint = match &definition.way {
            TransportDefinition::Stdio { command, arguments, environment, work_dir } => {
                Endpoint::Stdio {
                    command: fill(command)?,
                    arguments: fill_all(arguments)?,
                    environment: fill_named(environment)?,
                    work_dir: work_dir.as_ref().map(fill).transpose()?,
                }
            }
            TransportDefinition::Http { url, headers } => {
                Endpoint::Http { url: fill(url)?, headers: fill_named(headers)? }
            }
        };
        Ok(Server { name: name.to_owned(), endpoint, other: definition.other.clone() })
    }

    fn unknown(&self, name: &str, files: &str) -> ConfigError {
        let hint = match nearest(name, self.names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("add it under `mcpServers` in {files}"),
        };
        let message = format!("there is no MCP server `{name}`");
        ConfigError { file: files.to_owned(), place: None, message, hint }
    }
}

#[cfg(test)]
mod tests;
