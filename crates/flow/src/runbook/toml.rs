//! Reads TOML as a tree.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, TomlError, Value};

use super::duplicates::{RenamedKeys, unquoted};
use super::finding::Finding;
use super::tree::{MapKey, Node, NodeKind, NodeMap, NodeText};

/// Reads TOML.
pub fn tree(text: &str) -> (Option<Node>, Vec<Finding>) {
    let mut renamed = RenamedKeys::new(text.to_owned());
    // Each iteration renames one more duplicate key, as long as there are any.
    let last = loop {
        let parsed = Document::parse(renamed.text.clone());
        let Err(error) = &parsed else { break parsed };
        if !is_twice(error) || !renamed.rename_table(&error.span().unwrap_or_default()) {
            break parsed;
        }
    };
    let mut findings: Vec<Finding> = renamed.keys().map(|(name, span)| twice(name, span)).collect();
    match last {
        Ok(document) => {
            let mut reader = TomlReader { text, renamed: &renamed, findings };
            let map = reader.table(document.as_table());
            (Some(Node { kind: NodeKind::Map(map), span: 0..0 }), reader.findings)
        }
        Err(error) => {
            findings.push(unreadable(text, &error));
            (None, findings)
        }
    }
}

fn is_twice(error: &TomlError) -> bool {
    error.message().contains("duplicate key")
}

/// Reports what the TOML parser does not understand.
fn unreadable(text: &str, error: &TomlError) -> Finding {
    let span = error.span().unwrap_or_default();
    if is_twice(error) {
        return twice(unquoted(text.get(span.clone()).unwrap_or_default()), span);
    }
    let message = format!("not valid TOML: {}", error.message());
    Finding::error("unreadable", message).at(span).hint("see https://toml.io")
}

fn twice(name: &str, span: Range<usize>) -> Finding {
    let finding = Finding::error("twice", format!("`{name}` is given twice"));
    finding.at(span).hint("remove one of them, or give it another name")
}

struct TomlReader<'text> {
    text: &'text str,
    renamed: &'text RenamedKeys,
    findings: Vec<Finding>,
}

impl TomlReader<'_> {
    fn table(&mut self, table: &dyn TableLike) -> NodeMap {
        let mut map = NodeMap::default();
        for (name, item) in table.iter() {
            let key = table.get_key_value(name).and_then(|(key, _)| key.span()).unwrap_or_default();
            let node = self.item(item, &key);
            map.push(MapKey { name: self.renamed.name(name.to_owned(), &key), span: key }, node);
        }
        map
    }

    /// Reads an item; one without a position of its own gets that of its key.
    fn item(&mut self, item: &Item, key: &Range<usize>) -> Node {
        let span = item.span().unwrap_or_else(|| key.clone());
        let kind = match item {
            Item::None => NodeKind::Unreadable,
            Item::Value(value) => return self.value(value, key),
            Item::Table(table) => NodeKind::Map(self.table(table)),
            Item::ArrayOfTables(tables) => NodeKind::List(
                tables
                    .iter()
                    .map(|table| {
                        let span = table.span().unwrap_or_else(|| key.clone());
                        Node { kind: NodeKind::Map(self.table(table)), span }
                    })
                    .collect(),
            ),
        };
        Node { kind, span }
    }

    fn value(&mut self, value: &Value, key: &Range<usize>) -> Node {
        let span = value.span().unwrap_or_else(|| key.clone());
        let kind = match value {
            Value::String(text) => {
                NodeKind::Text(NodeText::new(text.value().clone(), self.text, &span))
            }
            Value::Integer(number) => NodeKind::Number((*number.value()).into()),
            Value::Float(number) => match serde_json::Number::from_f64(*number.value()) {
                Some(number) => NodeKind::Number(number),
                None => self.no_value("the number must be finite", &span),
            },
            Value::Boolean(flag) => NodeKind::Bool(*flag.value()),
            Value::Datetime(_) => self.no_value("dates are not supported", &span),
            Value::Array(array) => {
                NodeKind::List(array.iter().map(|item| self.value(item, &span)).collect())
            }
            Value::InlineTable(table) => NodeKind::Map(self.table(table)),
        };
        Node { kind, span }
    }

    fn no_value(&mut self, what: &str, span: &Range<usize>) -> NodeKind {
        let finding = Finding::error("type", what).at(span.clone());
        self.findings.push(finding.hint("write it as a string, in quotes"));
        NodeKind::Unreadable
    }
}
