//! Current library documentation, from a context7 server.
//!
//! Two tools: one finds the library that a topic is about, the other its documentation. Their names
//! and arguments have changed over the server's versions; the server lists which ones it has. A
//! server that is absent, slow or wrong results in a report that says so, not an error:
//! documentation is a help, not a requirement.

use std::time::Instant;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::client::{ServerSession, ServerTool, SessionLimits};
use crate::config::Server;
use crate::error::{McpError, ServerError, ServerFailure, ServerStep};

/// Maximum length of a summary of the documentation, in bytes.
const SUMMARY: usize = 8 * 1024;
/// The size of the documentation to request, in tokens, if the server takes one.
const TOKENS: u32 = 2000;

/// The names of the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context7Tools {
    /// Finds a library.
    pub resolve: String,
    /// Returns its documentation; the first one that the server has is used.
    pub documentation: Vec<String>,
}

impl Default for Context7Tools {
    fn default() -> Self {
        let documentation = ["get-library-docs", "query-docs"].map(str::to_owned).to_vec();
        Self { resolve: "resolve-library-id".to_owned(), documentation }
    }
}

/// Whether there is documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentationStatus {
    /// There is some.
    #[default]
    Fetched,
    /// There is none; the report says why.
    Unavailable,
}

/// What was found on a topic: one element of `context-refresh-report.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentationReport {
    /// The topic that was requested.
    pub topic: String,
    /// Whether it was found.
    #[serde(default)]
    pub status: DocumentationStatus,
    /// The server that was queried.
    pub source: String,
    /// The library that the server resolved the topic to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Where the documentation is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    /// The beginning of the documentation; `None` if there is no documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was requested; reports written by others may not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Timestamp>,
    /// The stage that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_stage: Option<String>,
    /// Why nothing was fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How to fix it, for the caller; it is not stored.
    #[serde(skip)]
    pub hint: Option<String>,
}

/// Documentation, as the server returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documentation {
    /// The library.
    pub library: String,
    /// The text.
    pub text: String,
}

/// Queries a server about each topic; `now` returns the time of each report. The limits apply to
/// all topics together.
pub fn refresh(
    server: &Server,
    names: &Context7Tools,
    topics: &[String],
    limits: &SessionLimits,
    now: &dyn Fn() -> Timestamp,
) -> Vec<DocumentationReport> {
    let until = Instant::now() + limits.deadline;
    let mut source =
        DocumentationServer { server, names, limits, until, opened: None, unusable: None };
    topics.iter().map(|topic| report(topic, &server.name, &source.fetch(topic), now())).collect()
}

/// One server for all topics. If it fails at a topic, it is restarted for the next; if it cannot be
/// started, it is not tried again.
struct DocumentationServer<'a> {
    server: &'a Server,
    names: &'a Context7Tools,
    limits: &'a SessionLimits,
    until: Instant,
    opened: Option<(ServerSession, Vec<ServerTool>)>,
    unusable: Option<ServerFailure>,
}

impl DocumentationServer<'_> {
    fn fetch(&mut self, topic: &str) -> Result<Documentation, ServerFailure> {
        if let Some(why) = &self.unusable {
            return Err(why.clone());
        }
        let (mut session, tools) = match self.opened.take().map_or_else(|| self.open(), Ok) {
            Ok(opened) => opened,
            Err(error) => return Err(self.unusable.insert(error.into()).clone()),
        };
        let fetched = fetch(&mut session, &tools, &self.server.name, self.names, topic);
        let error = match fetched {
            Ok(documentation) => {
                self.opened = Some((session, tools));
                return Ok(documentation);
            }
            Err(error) => error,
        };
        let is_stopped = matches!(error.fault, ServerError::Stopped);
        let goes_on = matches!(
            error.fault,
            ServerError::ToolFailed { .. }
                | ServerError::UnknownTopic { .. }
                | ServerError::Refused { .. }
        );
        if goes_on {
            self.opened = Some((session, tools));
        }
        let failure = ServerFailure::from(error);
        if is_stopped {
            self.unusable = Some(failure.clone());
        }
        Err(failure)
    }

    fn open(&self) -> Result<(ServerSession, Vec<ServerTool>), McpError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let fault =
                ServerError::TimedOut { limit: self.limits.deadline, step: ServerStep::Connect };
            return Err(error(&self.server.name, fault));
        }
        let mut session = ServerSession::open(
            self.server,
            SessionLimits { deadline: left, ..self.limits.clone() },
        )?;
        let tools = session.tools()?;
        Ok((session, tools))
    }
}

fn fetch(
    session: &mut ServerSession,
    tools: &[ServerTool],
    server: &str,
    names: &Context7Tools,
    topic: &str,
) -> Result<Documentation, McpError> {
    let find = |name: &String| tools.iter().find(|tool| tool.name == *name);
    let missing = |name: &str| {
        let known = tools.iter().map(|tool| tool.name.clone()).collect();
        error(server, ServerError::NoSuchTool { tool: name.to_owned(), known })
    };
    let documentation = names.documentation.iter().find_map(find);
    let documentation =
        documentation.ok_or_else(|| missing(&names.documentation.join("` or `")))?;
    let library = if is_library(topic) {
        topic.to_owned()
    } else {
        let resolve = find(&names.resolve).ok_or_else(|| missing(&names.resolve))?;
        let answer = session.call(&resolve.name, resolve_arguments(resolve, topic))?;
        library_in(&answer.text, topic).ok_or_else(|| {
            let others: Vec<&str> = listed(&answer.text).iter().map(|one| one.id).collect();
            let said = match others.as_slice() {
                [] => first_line(&answer.text).to_owned(),
                others => {
                    let names = others.iter().take(5).copied().collect::<Vec<_>>().join(", ");
                    format!("no match among {names}")
                }
            };
            error(server, ServerError::UnknownTopic { topic: topic.to_owned(), said })
        })?
    };
    let arguments = documentation_arguments(documentation, &library, topic);
    let text = session.call(&documentation.name, arguments)?.text;
    if !is_documentation(&text) {
        let message = first_line(&text).to_owned();
        return Err(error(
            server,
            ServerError::ToolFailed { tool: documentation.name.clone(), message },
        ));
    }
    Ok(Documentation { library, text })
}

fn error(server: &str, fault: ServerError) -> McpError {
    McpError { server: server.to_owned(), fault, last_words: None }
}

/// Makes a report of the result: documentation, or why there is none.
pub fn report(
    topic: &str,
    source: &str,
    fetched: &Result<Documentation, ServerFailure>,
    fetched_at: Timestamp,
) -> DocumentationReport {
    let mut report = DocumentationReport {
        topic: topic.to_owned(),
        status: DocumentationStatus::Unavailable,
        source: source.to_owned(),
        library: None,
        source_url: None,
        summary: None,
        fetched_at: Some(fetched_at),
        for_stage: None,
        reason: None,
        hint: None,
    };
    match fetched {
        Ok(documentation) => {
            report.status = DocumentationStatus::Fetched;
            report.library = Some(documentation.library.clone());
            report.source_url = address_in(&documentation.text);
            report.summary = Some(summary(&documentation.text));
        }
        Err(failure) => {
            report.reason = Some(failure.reason.clone());
            report.hint = Some(failure.hint.clone());
        }
    }
    report
}

/// Returns whether a topic is already a library id, such as `/vercel/next.js`.
fn is_library(topic: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./@".contains(letter);
    topic.starts_with('/') && topic.matches('/').count() >= 2 && topic.chars().all(is_plain)
}

fn resolve_arguments(tool: &ServerTool, topic: &str) -> Value {
    let mut arguments = Map::from_iter([("libraryName".to_owned(), json!(topic))]);
    if tool.takes("query") {
        arguments.insert("query".to_owned(), json!(topic));
    }
    Value::Object(arguments)
}

fn documentation_arguments(tool: &ServerTool, library: &str, topic: &str) -> Value {
    // Newer servers take `libraryId` and a question.
    let id = if tool.takes("libraryId") { "libraryId" } else { "context7CompatibleLibraryID" };
    let mut arguments = Map::from_iter([(id.to_owned(), json!(library))]);
    for name in ["query", "topic"] {
        if tool.takes(name) {
            arguments.insert(name.to_owned(), json!(topic));
        }
    }
    if tool.takes("tokens") {
        arguments.insert("tokens".to_owned(), json!(TOKENS));
    }
    Value::Object(arguments)
}

/// A library that a server lists.
struct Listed<'text> {
    title: &'text str,
    id: &'text str,
}

/// Returns the libraries that a server lists, in its order: the best fit first.
fn listed(text: &str) -> Vec<Listed<'_>> {
    let mut all = Vec::new();
    let mut title = "";
    for line in text.lines() {
        let line = line.trim().trim_start_matches(['-', '*']).trim_start();
        if let Some(rest) = line.strip_prefix("Title:") {
            title = rest.trim();
        }
        let Some(id) = line.strip_prefix("Context7-compatible library ID:") else { continue };
        if id.trim().starts_with('/') {
            all.push(Listed { title, id: id.trim() });
        }
    }
    all
}

/// Finds the library that a topic is about: one whose title is the beginning of the topic, else the
/// first whose title or id has a word of it.
///
/// Servers list what they have even if nothing fits; documentation of another library is worse than
/// none.
fn library_in(text: &str, topic: &str) -> Option<String> {
    let all = listed(text);
    let lower = topic.to_lowercase();
    let is_named = |one: &&Listed<'_>| {
        let title = one.title.to_lowercase();
        let rest = lower.strip_prefix(title.as_str());
        !title.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let wanted = words(topic);
    let has_word = |one: &&Listed<'_>| {
        let known: Vec<String> = [words(one.title), words(one.id)].concat();
        wanted.iter().any(|word| known.iter().any(|other| is_same_word(word, other)))
    };
    let found = all.iter().find(is_named).or_else(|| all.iter().find(has_word));
    found.map(|one| one.id.to_owned())
}

/// Returns the words of a name: `Next.js App` is next, app and, written together, nextjs.
fn words(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in name.to_lowercase().split([' ', '/']) {
        let pieces = part.split(|letter: char| !letter.is_alphanumeric());
        all.extend(pieces.map(str::to_owned));
        all.push(part.chars().filter(|letter| letter.is_alphanumeric()).collect());
    }
    // Words that are in half of all names do not distinguish them.
    all.retain(|word| word.chars().count() > 1 && !matches!(word.as_str(), "js" | "the" | "docs"));
    all
}

/// Returns whether two words mean the same: `postgres` is `postgresql`.
fn is_same_word(one: &str, other: &str) -> bool {
    let is_beginning = |short: &str, long: &str| short.len() > 3 && long.starts_with(short);
    one == other || is_beginning(one, other) || is_beginning(other, one)
}

/// Returns whether a text is documentation, and not an apology that a server returns instead
/// without marking it as an error.
fn is_documentation(text: &str) -> bool {
    let text = text.trim_start();
    let excuses = [
        "Documentation not found",
        "Error fetching",
        "Failed to fetch",
        "Rate limited",
        "No documentation",
    ];
    !text.is_empty() && !excuses.iter().any(|excuse| text.starts_with(excuse))
}

/// Returns the first URL that the documentation names as its source.
fn address_in(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let line = line.trim().to_ascii_lowercase().starts_with("source:").then(|| line.trim())?;
        let address = line["source:".len()..].trim();
        let end = address.find(char::is_whitespace).unwrap_or(address.len());
        let address = &address[..end];
        (address.starts_with("https://") || address.starts_with("http://"))
            .then(|| address.to_owned())
    })
}

/// Returns the beginning of the documentation, up to the end of a line.
fn summary(text: &str) -> String {
    let text = text.trim();
    if text.len() <= SUMMARY {
        return text.to_owned();
    }
    let end = boundary(text, SUMMARY);
    let end = text[..end].rfind('\n').filter(|line| *line > SUMMARY / 2).unwrap_or(end);
    format!("{}\n…", text[..end].trim_end())
}

fn first_line(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or("no output");
    &line[..boundary(line, 200)]
}

/// Returns the last position up to `most` that is a character boundary.
fn boundary(text: &str, most: usize) -> usize {
    let most = most.min(text.len());
    (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
