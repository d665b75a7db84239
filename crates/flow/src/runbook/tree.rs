//! What both formats become: values in which everything knows its place in the text.

use std::ops::Range;

use anyhook_model::json::Object;
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
            Self::Text(_) => "a string",
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

impl Key {
    /// Makes the key of something that should have a name and has none, which has been told.
    pub fn nameless(at: usize) -> Self {
        Self { name: String::new(), span: at..at }
    }

    /// Tells whether it is of something without a name; one that is written has a place.
    pub fn is_nameless(&self) -> bool {
        self.name.is_empty() && self.span.is_empty()
    }
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

    /// Adds a key; of several that are the same the first counts.
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
                let mut members = Object::new();
                for Entry { key, node } in map {
                    members.entry(key.name.clone()).or_insert_with(|| node.to_json());
                }
                Value::Object(members)
            }
            Kind::Unreadable => Value::Null,
        }
    }

    /// Tells whether it could not be read, which has been told.
    pub fn is_unreadable(&self) -> bool {
        self.kind == Kind::Unreadable
    }
}

/// Where a path such as `on_error[1].match` leads.
#[derive(Clone, Debug)]
pub struct Found<'tree> {
    /// The last key on the way.
    pub name: &'tree str,
    /// Where that key stands, or the value itself if it is one of a list.
    pub key: &'tree Range<usize>,
    /// The value it leads to.
    pub value: &'tree Node,
}

/// Follows a path from an entry whose key is its first part, as far as there is a way.
pub fn follow<'tree>(entry: &'tree Entry, path: &str) -> Found<'tree> {
    let Entry { key, node } = entry;
    let mut found = Found { name: &key.name, key: &key.span, value: node };
    let mut rest = path.strip_prefix(key.name.as_str()).unwrap_or_default();
    while let Some((next, after)) = step(&found, rest) {
        found = next;
        rest = after;
    }
    found
}

/// Goes one step of a path; returns what is left of it, too.
fn step<'tree, 'path>(from: &Found<'tree>, path: &'path str) -> Option<(Found<'tree>, &'path str)> {
    match &from.value.kind {
        Kind::List(list) => {
            let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
            let item = list.get(number.parse::<usize>().ok()?)?;
            Some((Found { name: from.name, key: &item.span, value: item }, rest))
        }
        Kind::Map(map) => {
            let path = path.strip_prefix('.')?;
            // A key may have dots and brackets in it.
            let rest_of = |entry: &Entry| {
                let rest = path.strip_prefix(entry.key.name.as_str())?;
                (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
            };
            let ways = map.iter().filter_map(|entry| Some((entry, rest_of(entry)?)));
            let (Entry { key, node }, rest) = ways.min_by_key(|(_, rest)| rest.len())?;
            Some((Found { name: &key.name, key: &key.span, value: node }, rest))
        }
        _ => None,
    }
}
