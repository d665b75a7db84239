//! Parses the text of a configuration file into its servers.

use std::collections::BTreeMap;

use anyhook_engine::TextPosition;
use anyhook_model::nearest::nearest;
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Map;

use super::{Config, ConfigError, ConfigNote, ConfigText, ServerDefinition, TransportDefinition};

const STDIO: &[&str] = &["command", "args", "env", "cwd", "type"];
const HTTP: &[&str] = &["url", "headers", "type"];

/// Allows comments and trailing commas, as people write them; no other extensions.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

pub(super) fn read(file: &str, text: &str) -> Result<Config, ConfigError> {
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let reader = ConfigReader { file, text };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).map_err(|error| {
        reader.error(
            error.range(),
            format!("this is not JSON: {}", error.kind()),
            "fix the syntax; comments and trailing commas are allowed",
        )
    })?;
    let mut config = Config::default();
    // An empty file defines nothing.
    let Some(root) = parsed.value else { return Ok(config) };
    let form = "write `{ \"mcpServers\": { \"NAME\": { \"command\": \"…\" } } }`";
    let root = reader.object(&root, "the file", form)?;
    for property in &root.properties {
        let name = property.name.as_str();
        if name != "mcpServers" {
            config.notes.push(reader.unknown(property, &["mcpServers"], "the file"));
            continue;
        }
        let servers = reader.object(&property.value, "`mcpServers`", form)?;
        for server in &servers.properties {
            let name = server.name.as_str();
            if name.is_empty() {
                let range = server.name.range();
                return Err(reader.error(range, "a server has no name", "give it one"));
            }
            let definition = reader.server(name, &server.value, &mut config.notes)?;
            if config.servers.insert(name.to_owned(), definition).is_some() {
                let message = format!("the MCP server `{name}` is defined twice");
                return Err(reader.error(server.name.range(), message, "remove one of them"));
            }
        }
    }
    Ok(config)
}

struct ConfigReader<'a> {
    file: &'a str,
    text: &'a str,
}

impl ConfigReader<'_> {
    fn place(&self, range: Range) -> TextPosition {
        TextPosition::in_text(self.text, &(range.start..range.end))
    }

    fn error(
        &self,
        range: Range,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> ConfigError {
        ConfigError {
            file: self.file.to_owned(),
            place: Some(self.place(range)),
            message: message.into(),
            hint: hint.into(),
        }
    }

    fn unknown(&self, property: &ObjectProp<'_>, known: &[&str], whose: &str) -> ConfigNote {
        let name = property.name.as_str();
        let meant = nearest(name, known.iter().copied())
            .map(|near| format!(" (did you mean `{near}`?)"))
            .unwrap_or_default();
        ConfigNote {
            file: self.file.to_owned(),
            place: self.place(property.name.range()),
            message: format!("unknown key `{name}` in {whose}{meant}"),
        }
    }

    fn object<'n, 'a>(
        &self,
        node: &'n Node<'a>,
        what: &str,
        hint: &str,
    ) -> Result<&'n Object<'a>, ConfigError> {
        match node {
            Node::Object(object) => Ok(object),
            other => Err(self.mismatch(other, what, "an object", hint)),
        }
    }

    fn mismatch(&self, node: &Node<'_>, what: &str, expected: &str, hint: &str) -> ConfigError {
        let found = match node {
            Node::StringLit(_) => "a string",
            Node::NumberLit(_) => "a number",
            Node::BooleanLit(_) => "a boolean",
            Node::Object(_) => "an object",
            Node::Array(_) => "a list",
            Node::NullKeyword(_) => "null",
        };
        self.error(node.range(), format!("{what} must be {expected}, not {found}"), hint)
    }

    fn server(
        &self,
        name: &str,
        node: &Node<'_>,
        notes: &mut Vec<ConfigNote>,
    ) -> Result<ServerDefinition, ConfigError> {
        let whose = format!("the MCP server `{name}`");
        let either = "give it a `command` (a program) or a `url` (streamable HTTP)";
        let object = self.object(node, &whose, either)?;
        let mut keys: BTreeMap<&str, &ObjectProp<'_>> = BTreeMap::new();
        for property in &object.properties {
            if keys.insert(property.name.as_str(), property).is_some() {
                let message = format!("`{}` of {whose} is defined twice", property.name.as_str());
                return Err(self.error(property.name.range(), message, "remove one of them"));
            }
        }
        let kind = keys.get("type").map(|property| self.kind(&whose, property)).transpose()?;
        let (command, url) = (keys.get("command"), keys.get("url"));
        let (known, way) = match (kind, command, url) {
            (None, Some(_), Some(url)) => {
                let message = format!("{whose} has both a `command` and a `url`");
                return Err(self.error(url.name.range(), message, "remove one of them"));
            }
            (None | Some(TransportKind::Stdio), Some(command), _) => {
                (STDIO, self.stdio(&whose, command, &keys)?)
            }
            (None | Some(TransportKind::Http), _, Some(url)) => {
                (HTTP, self.http(&whose, url, &keys)?)
            }
            (Some(kind), _, _) => {
                let (word, key) = match kind {
                    TransportKind::Stdio => ("stdio", "command"),
                    TransportKind::Http => ("http", "url"),
                };
                let range = keys.get("type").map_or(object.range, |property| property.range);
                let message = format!("{whose} has the type `{word}`, but no `{key}`");
                return Err(self.error(range, message, format!("give it a `{key}`")));
            }
            (None, None, None) => {
                let message = format!("{whose} has neither a `command` nor a `url`");
                return Err(self.error(object.range, message, either));
            }
        };
        let mut other = Map::new();
        for property in &object.properties {
            if !known.contains(&property.name.as_str()) {
                notes.push(self.unknown(property, known, &whose));
                let value = property.value.clone().into();
                other.insert(property.name.as_str().to_owned(), value);
            }
        }
        Ok(ServerDefinition { file: self.file.to_owned(), way, other })
    }

    fn kind(&self, whose: &str, property: &ObjectProp<'_>) -> Result<TransportKind, ConfigError> {
        let text = self.text(&property.value, &format!("`type` of {whose}"))?;
        match text.raw.as_str() {
            "stdio" => Ok(TransportKind::Stdio),
            // Three spellings of the same transport are in use.
            "http" | "streamable-http" | "streamableHttp" => Ok(TransportKind::Http),
            "sse" => Err(self.error(
                property.value.range(),
                format!("{whose} has the type `sse`, which the protocol no longer supports"),
                "use its streamable HTTP address with the type `http`",
            )),
            other => Err(self.error(
                property.value.range(),
                format!("{whose} has the unknown type `{other}`"),
                "write `stdio` or `http`",
            )),
        }
    }

    fn stdio(
        &self,
        whose: &str,
        command: &ObjectProp<'_>,
        keys: &BTreeMap<&str, &ObjectProp<'_>>,
    ) -> Result<TransportDefinition, ConfigError> {
        let program = self.text(&command.value, &format!("`command` of {whose}"))?;
        if program.raw.trim().is_empty() {
            let message = format!("`command` of {whose} is empty");
            return Err(self.error(command.value.range(), message, "name a program"));
        }
        let arguments = match keys.get("args").map(|property| &property.value) {
            None => Vec::new(),
            Some(Node::Array(list)) => {
                let what = format!("an argument of {whose}");
                list.elements
                    .iter()
                    .map(|element| self.text(element, &what))
                    .collect::<Result<_, _>>()?
            }
            Some(other) => {
                let what = format!("`args` of {whose}");
                return Err(self.mismatch(other, &what, "a list", "write `[\"one\", \"two\"]`"));
            }
        };
        let work_dir = keys
            .get("cwd")
            .map(|property| self.text(&property.value, &format!("`cwd` of {whose}")))
            .transpose()?;
        let environment = self.texts(keys.get("env").copied(), &format!("`env` of {whose}"))?;
        Ok(TransportDefinition::Stdio { command: program, arguments, environment, work_dir })
    }

    fn http(
        &self,
        whose: &str,
        url: &ObjectProp<'_>,
        keys: &BTreeMap<&str, &ObjectProp<'_>>,
    ) -> Result<TransportDefinition, ConfigError> {
        let url = self.text(&url.value, &format!("`url` of {whose}"))?;
        let headers = self.texts(keys.get("headers").copied(), &format!("`headers` of {whose}"))?;
        Ok(TransportDefinition::Http { url, headers })
    }

    fn text(&self, node: &Node<'_>, what: &str) -> Result<ConfigText, ConfigError> {
        match node {
            Node::StringLit(string) => {
                Ok(ConfigText { raw: string.value.to_string(), place: self.place(string.range) })
            }
            other => Err(self.mismatch(other, what, "a string", "put it in double quotes")),
        }
    }

    fn texts(
        &self,
        property: Option<&ObjectProp<'_>>,
        what: &str,
    ) -> Result<Vec<(String, ConfigText)>, ConfigError> {
        let Some(property) = property else { return Ok(Vec::new()) };
        let object = self.object(&property.value, what, "write `{ \"NAME\": \"value\" }`")?;
        let mut texts = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            let text = self.text(&property.value, &format!("`{name}` in {what}"))?;
            texts.push((name.to_owned(), text));
        }
        Ok(texts)
    }
}

#[derive(Clone, Copy, Debug)]
enum TransportKind {
    Stdio,
    Http,
}
