//! What both formats become: values in which everything knows its place in the text.

use std::ops::Range;

use serde_json::Value;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Where it stands; of a block or a table its head.
    pub span: Range<usize>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A text.
    Text(Text),
    /// A number.
    Number(serde_json::Number),
    /// True or false.
    Bool(bool),
    /// Values in order.
    List(Vec<Node>),
    /// Values by key.
    Map(Map),
    /// What could not be read; that has been told.
    Unreadable,
}

impl Kind {
    /// Returns what it is, with its article.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Number(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text itself.
    pub text: String,
    /// Where each `${` of it stands in the runbook; empty if that cannot be told.
    pub marks: Vec<usize>,
}

impl Text {
    /// Takes a text that stands at a place of the source, there perhaps with escapes.
    pub fn new(text: String, source: &str, span: &Range<usize>) -> Self {
        let written = source.get(span.clone()).unwrap_or_default();
        let marks: Vec<usize> =
            written.match_indices("${").map(|(at, _)| span.start + at).collect();
        let is_told = marks.len() == text.matches("${").count();
        Self { text, marks: if is_told { marks } else { Vec::new() } }
    }
}

/// Values by key, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub node: Node,
}

/// A key and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub name: String,
    /// Where it stands.
    pub span: Range<usize>,
}

impl Map {
    /// Returns a key's entry.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.name == key)
    }

    /// Returns a key's value, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key.name == key).map(|entry| &mut entry.node)
    }

    /// Adds a key that is not there yet.
    pub fn push(&mut self, key: Key, node: Node) {
        self.entries.push(Entry { key, node });
    }

    /// Returns every entry in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Goes through every entry in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }
}

impl<'map> IntoIterator for &'map Map {
    type Item = &'map Entry;
    type IntoIter = std::slice::Iter<'map, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Node {
    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Text(text) => Value::from(text.text.as_str()),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Bool(flag) => Value::Bool(*flag),
            Kind::List(list) => list.iter().map(Self::to_json).collect(),
            Kind::Map(map) => {
                let members =
                    map.iter().map(|entry| (entry.key.name.clone(), entry.node.to_json()));
                Value::Object(members.collect())
            }
            Kind::Unreadable => Value::Null,
        }
    }

    /// Tells whether all of it could be read.
    pub fn is_whole(&self) -> bool {
        match &self.kind {
            Kind::List(list) => list.iter().all(Self::is_whole),
            Kind::Map(map) => map.iter().all(|entry| entry.node.is_whole()),
            Kind::Unreadable => false,
            Kind::Text(_) | Kind::Number(_) | Kind::Bool(_) => true,
        }
    }

    fn get(&self, key: &str) -> Option<&Entry> {
        match &self.kind {
            Kind::Map(map) => map.get(key),
            _ => None,
        }
    }
}

/// Where a path such as `on_error[1].match` leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The last key on the way.
    pub key: Range<usize>,
    /// The value it leads to.
    pub value: Range<usize>,
}

/// Follows a path from an entry whose key is its first part, as far as there is a way.
pub fn follow(entry: &Entry, path: &str) -> Found {
    let mut node = &entry.node;
    let mut key = entry.key.span.clone();
    for part in path.strip_prefix(entry.key.name.as_str()).unwrap_or_default().split(['.', '[']) {
        if let Some(number) = part.strip_suffix(']') {
            let item = match (&node.kind, number.parse::<usize>()) {
                (Kind::List(list), Ok(number)) => list.get(number),
                _ => None,
            };
            let Some(item) = item else { break };
            node = item;
            key = item.span.clone();
        } else if !part.is_empty() {
            let Some(entry) = node.get(part) else { break };
            node = &entry.node;
            key = entry.key.span.clone();
        }
    }
    Found { key, value: node.span.clone() }
}
