//! The tree that both formats become: values that know their position in the text.

use std::ops::Range;

use anyhook_model::json::Object;
use serde_json::Value;

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its position; for a block or a table that of its header.
    pub span: Range<usize>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// A text.
    Text(NodeText),
    /// A number.
    Number(serde_json::Number),
    /// True or false.
    Bool(bool),
    /// Values in order.
    List(Vec<Node>),
    /// Values by key.
    Map(NodeMap),
    /// A value that could not be read, which has been reported.
    Unreadable,
}

impl NodeKind {
    /// Describes it, with its article.
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
pub struct NodeText {
    /// The text itself.
    pub text: String,
    /// The position of each of its `${` in the runbook; empty if unknown.
    pub marks: Vec<usize>,
}

impl NodeText {
    /// Makes a text at a position of the source, where it may have escapes.
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
pub struct NodeMap {
    entries: Vec<MapEntry>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// The key.
    pub key: MapKey,
    /// The value.
    pub node: Node,
}

/// A key and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapKey {
    /// The key.
    pub name: String,
    /// Its position.
    pub span: Range<usize>,
}

impl MapKey {
    /// Makes the key of something whose name is missing, which has been reported.
    pub fn nameless(at: usize) -> Self {
        Self { name: String::new(), span: at..at }
    }

    /// Returns whether the name is missing; a written one has a position.
    pub fn is_nameless(&self) -> bool {
        self.name.is_empty() && self.span.is_empty()
    }
}

impl NodeMap {
    /// Returns a key's entry.
    pub fn get(&self, key: &str) -> Option<&MapEntry> {
        self.entries.iter().find(|entry| entry.key.name == key)
    }

    /// Returns a key's value, mutably.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key.name == key).map(|entry| &mut entry.node)
    }

    /// Adds a key; the first of several equal ones counts.
    pub fn push(&mut self, key: MapKey, node: Node) {
        self.entries.push(MapEntry { key, node });
    }

    /// Returns every entry in order.
    pub fn entries(&self) -> &[MapEntry] {
        &self.entries
    }

    /// Goes through every entry in order.
    pub fn iter(&self) -> std::slice::Iter<'_, MapEntry> {
        self.entries.iter()
    }
}

impl<'map> IntoIterator for &'map NodeMap {
    type Item = &'map MapEntry;
    type IntoIter = std::slice::Iter<'map, MapEntry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Node {
    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Text(text) => Value::from(text.text.as_str()),
            NodeKind::Number(number) => Value::Number(number.clone()),
            NodeKind::Bool(flag) => Value::Bool(*flag),
            NodeKind::List(list) => list.iter().map(Self::to_json).collect(),
            NodeKind::Map(map) => {
                let mut members = Object::new();
                for MapEntry { key, node } in map {
                    members.entry(key.name.clone()).or_insert_with(|| node.to_json());
                }
                Value::Object(members)
            }
            NodeKind::Unreadable => Value::Null,
        }
    }

    /// Returns whether it could not be read, which has been reported.
    pub fn is_unreadable(&self) -> bool {
        self.kind == NodeKind::Unreadable
    }
}

/// The target of a path such as `on_error[1].match`.
#[derive(Clone, Debug)]
pub struct PathTarget<'tree> {
    /// The last key on the path.
    pub name: &'tree str,
    /// The position of that key, or of the value itself if it is an element of a list.
    pub key: &'tree Range<usize>,
    /// The value it leads to.
    pub value: &'tree Node,
}

/// Follows a path from an entry whose key is its first part, as far as it exists.
pub fn follow<'tree>(entry: &'tree MapEntry, path: &str) -> PathTarget<'tree> {
    let MapEntry { key, node } = entry;
    let mut found = PathTarget { name: &key.name, key: &key.span, value: node };
    let mut rest = path.strip_prefix(key.name.as_str()).unwrap_or_default();
    while let Some((next, after)) = step(&found, rest) {
        found = next;
        rest = after;
    }
    found
}

/// Follows one step of a path; also returns the rest of it.
fn step<'tree, 'path>(
    from: &PathTarget<'tree>,
    path: &'path str,
) -> Option<(PathTarget<'tree>, &'path str)> {
    match &from.value.kind {
        NodeKind::List(list) => {
            let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
            let item = list.get(number.parse::<usize>().ok()?)?;
            Some((PathTarget { name: from.name, key: &item.span, value: item }, rest))
        }
        NodeKind::Map(map) => {
            let path = path.strip_prefix('.')?;
            // A key may contain dots and brackets.
            let rest_of = |entry: &MapEntry| {
                let rest = path.strip_prefix(entry.key.name.as_str())?;
                (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
            };
            let ways = map.iter().filter_map(|entry| Some((entry, rest_of(entry)?)));
            let (MapEntry { key, node }, rest) = ways.min_by_key(|(_, rest)| rest.len())?;
            Some((PathTarget { name: &key.name, key: &key.span, value: node }, rest))
        }
        _ => None,
    }
}
