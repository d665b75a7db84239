//! Parses YAML into a tree of nodes that know their position.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

/// Limits on the nesting and on the number of nodes (with aliases expanded) of a front matter.
const NESTING_LIMIT: usize = 64;
const NODE_LIMIT: usize = 20_000;

/// A value and its position, in characters of the parsed text.
#[derive(Clone, Debug)]
pub struct YamlNode {
    /// The value.
    pub value: YamlValue,
    /// The first character.
    pub start: usize,
    /// The character after the last.
    pub end: usize,
}

/// A YAML value.
#[derive(Clone, Debug)]
pub enum YamlValue {
    /// A scalar; `plain` if it was written without quotes.
    Scalar {
        /// The text.
        text: String,
        /// Whether it may be read as a number, a boolean or null.
        plain: bool,
    },
    /// A list.
    Sequence(Vec<YamlNode>),
    /// Keys and values in the order they were written.
    Mapping(Vec<(YamlNode, YamlNode)>),
}

impl YamlNode {
    /// Returns the value of a key; the last one if the key appears twice.
    pub fn get(&self, key: &str) -> Option<&YamlNode> {
        let YamlValue::Mapping(pairs) = &self.value else { return None };
        pairs.iter().rev().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    /// Returns the text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns whether the value is YAML's null, including when nothing was written.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, YamlValue::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Returns the value as JSON: plain scalars get the type they look like.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            YamlValue::Scalar { .. } if self.is_null() => serde_json::Value::Null,
            YamlValue::Scalar { text, plain: true } => match text.as_str() {
                "true" | "True" | "TRUE" => true.into(),
                "false" | "False" | "FALSE" => false.into(),
                number if number.bytes().any(|byte| byte.is_ascii_digit()) => {
                    serde_json::from_str::<serde_json::Number>(number)
                        .map_or_else(|_| number.into(), serde_json::Value::Number)
                }
                other => other.into(),
            },
            YamlValue::Scalar { text, plain: false } => text.as_str().into(),
            YamlValue::Sequence(items) => items.iter().map(Self::to_json).collect(),
            YamlValue::Mapping(pairs) => pairs
                .iter()
                .map(|(key, value)| (key.text().unwrap_or_default().to_owned(), value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}

/// Why the text is not YAML we can read, and at which character.
pub(super) struct YamlError {
    pub message: String,
    pub at: usize,
}

/// A collection whose end has not been reached yet.
struct Open {
    node: YamlNode,
    anchor: usize,
    key: Option<YamlNode>,
}

/// Reads the first document. Empty text is a null.
pub(super) fn parse(text: &str) -> Result<YamlNode, YamlError> {
    let mut open: Vec<Open> = Vec::new();
    let mut anchors: HashMap<usize, (YamlNode, usize)> = HashMap::new();
    let mut nodes = 0usize;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError {
            message: format!("not valid YAML: {}", error.info()),
            at: error.marker().index(),
        })?;
        let error =
            |message: &str| YamlError { message: message.to_owned(), at: span.start.index() };
        let before = nodes;
        let complete = match event {
            Event::Scalar(text, style, anchor, _) => {
                nodes += 1;
                let value = YamlValue::Scalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                };
                Some((node(value, &span), anchor))
            }
            Event::Alias(anchor) => {
                let (target, size) = anchors
                    .get(&anchor)
                    .ok_or_else(|| error("not valid YAML: an alias refers to itself"))?;
                nodes += size;
                if nodes > NODE_LIMIT {
                    return Err(error(
                        "the front matter is too large once its aliases are expanded",
                    ));
                }
                Some((target.clone(), 0))
            }
            Event::SequenceStart(anchor, _) => {
                nodes += 1;
                open.push(Open {
                    node: node(YamlValue::Sequence(Vec::new()), &span),
                    anchor,
                    key: None,
                });
                None
            }
            Event::MappingStart(anchor, _) => {
                nodes += 1;
                open.push(Open {
                    node: node(YamlValue::Mapping(Vec::new()), &span),
                    anchor,
                    key: None,
                });
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|mut closed| {
                closed.node.end = span.end.index();
                (closed.node, closed.anchor)
            }),
            _ => None,
        };
        if open.len() > NESTING_LIMIT {
            return Err(error("the front matter is nested too deeply"));
        }
        if nodes > NODE_LIMIT {
            return Err(error("the front matter has too many values"));
        }
        let Some((complete, anchor)) = complete else { continue };
        if anchor != 0 {
            let size = count(&complete).max(nodes - before);
            anchors.insert(anchor, (complete.clone(), size));
        }
        match open.last_mut() {
            None => return Ok(complete),
            Some(Open { node: YamlNode { value: YamlValue::Sequence(items), .. }, .. }) => {
                items.push(complete);
            }
            Some(Open { node: YamlNode { value: YamlValue::Mapping(pairs), .. }, key, .. }) => {
                match key.take() {
                    None => *key = Some(complete),
                    Some(name) => pairs.push((name, complete)),
                }
            }
            Some(_) => {}
        }
    }
    Ok(YamlNode { value: YamlValue::Scalar { text: String::new(), plain: true }, start: 0, end: 0 })
}

fn node(value: YamlValue, span: &Span) -> YamlNode {
    YamlNode { value, start: span.start.index(), end: span.end.index() }
}

fn count(node: &YamlNode) -> usize {
    1 + match &node.value {
        YamlValue::Scalar { .. } => 0,
        YamlValue::Sequence(items) => items.iter().map(count).sum(),
        YamlValue::Mapping(pairs) => {
            pairs.iter().map(|(key, value)| count(key) + count(value)).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<serde_json::Value, String> {
        parse(text).map(|node| node.to_json()).map_err(|error| error.message)
    }

    #[test]
    fn plain_scalars_are_what_they_look_like() {
        assert_eq!(
            read("a: 5\nb: true\nc: ~\nd: '5'\ne: x\nf: [1.5, y]\ng:\n  h: i"),
            Ok(
                json!({"a": 5, "b": true, "c": null, "d": "5", "e": "x", "f": [1.5, "y"], "g": {"h": "i"}})
            )
        );
        assert_eq!(read(""), Ok(json!(null)));
    }

    #[test]
    fn aliases_are_followed_but_not_to_the_moon() {
        assert_eq!(read("a: &x 1\nb: *x"), Ok(json!({"a": 1, "b": 1})));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(read(&bomb).unwrap_err().contains("too large"));
    }

    #[test]
    fn depth_has_an_end() {
        assert!(read(&"[".repeat(50_000)).is_err());
        assert!(read(&format!("{}{}", "[".repeat(500), "]".repeat(500))).is_err());
        assert!(
            read(&format!("{}{}", "[".repeat(70), "]".repeat(70))).unwrap_err().contains("deep")
        );
    }
}
