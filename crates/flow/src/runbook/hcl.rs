//! Reads HCL as a tree.
//!
//! `${…}` is a language of our own, not HCL. Before HCL is parsed, each `${` is replaced with a
//! character of the same length, so that every position stays correct; it is restored in the texts.

use std::ops::Range;

use anyhook_model::runbook_keys::{AGENT, PIPELINE, STEP, names};
use hcl_edit::Span as _;
use hcl_edit::expr::{Expression, ObjectKey};
use hcl_edit::parser::parse_body;
use hcl_edit::structure::{Block, Body, Structure};

use super::duplicates::{RenamedKeys, unquoted};
use super::finding::Finding;
use super::tree::{MapKey, Node, NodeKind, NodeMap, NodeText};

/// The replacements of `${` and `%{`: control characters that have no use in a text.
const MASKS: [(&str, char); 2] = [("${", '\u{91}'), ("%{", '\u{92}')];

/// The replacement of a control character that is already a mask; it has the same length.
const NO_MASK: &str = "\u{80}";

/// Blocks that have a name.
const NAMED: [&str; 3] = ["pipeline", "agent", "step"];

/// Reads HCL.
pub fn tree(text: &str) -> (Option<Node>, Vec<Finding>) {
    let mut findings = masks_in(text);
    let mut renamed = RenamedKeys::new(mask(text));
    // Each iteration renames one more duplicate key, as long as there are any.
    let last = loop {
        let parsed = parse_body(&renamed.text);
        let Err(error) = &parsed else { break parsed };
        if !is_twice(error) || !renamed.rename(&place(text, error)) {
            break parsed;
        }
    };
    match last {
        Ok(body) => {
            let mut reader = HclReader { text, renamed: &renamed, findings };
            let map = reader.body(&body, NodeMap::default());
            (Some(Node { kind: NodeKind::Map(map), span: 0..0 }), reader.findings)
        }
        Err(error) => {
            findings.extend(renamed.keys().map(|(name, span)| twice(name, span)));
            findings.push(unreadable(text, &error));
            (None, findings)
        }
    }
}

/// Finds control characters that are masks.
fn masks_in(text: &str) -> Vec<Finding> {
    let found = MASKS.iter().flat_map(|(_, mask)| text.match_indices(*mask));
    found
        .map(|(at, mask)| {
            let code = mask.chars().next().map_or(0, u32::from);
            let what = format!("the control character U+{code:04X} is not allowed");
            Finding::error("unreadable", what).at(at..at + mask.len()).hint("remove it")
        })
        .collect()
}

fn is_twice(error: &hcl_edit::parser::Error) -> bool {
    error.message().contains("redefined")
}

/// Returns the word, or the text in quotes, that the parser stopped at.
fn place(text: &str, error: &hcl_edit::parser::Error) -> Range<usize> {
    let at = error.location().offset();
    let rest = text.get(at..).unwrap_or_default();
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    let quoted = rest.strip_prefix('"').and_then(|inner| inner.find('"')).map(|end| end + 2);
    let length = match quoted.filter(|_| is_twice(error)) {
        Some(length) => length,
        None => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
    };
    at..(at + length.max(1)).min(text.len())
}

/// Reports what the HCL parser does not understand.
fn unreadable(text: &str, error: &hcl_edit::parser::Error) -> Finding {
    let span = place(text, error);
    if is_twice(error) {
        return twice(unquoted(text.get(span.clone()).unwrap_or_default()), span);
    }
    Finding::error("unreadable", format!("not valid HCL: {}", error.message())).at(span).hint(
        "write each attribute as `key = value` on its own line, and each block as `name \"label\" { … }`",
    )
}

fn twice(name: &str, span: Range<usize>) -> Finding {
    let finding = Finding::error("twice", format!("`{name}` is given twice"));
    finding.at(span).hint("remove one of them")
}

fn mask(text: &str) -> String {
    let text = text.replace(MASKS.map(|(_, mask)| mask), NO_MASK);
    MASKS
        .iter()
        .fold(text, |text, (written, mask)| text.replace(written, mask.encode_utf8(&mut [0; 4])))
}

fn unmask(text: &str) -> String {
    let text = text.to_owned();
    MASKS.iter().fold(text, |text, (written, mask)| text.replace(*mask, written))
}

struct HclReader<'text> {
    text: &'text str,
    renamed: &'text RenamedKeys,
    findings: Vec<Finding>,
}

impl HclReader<'_> {
    fn body(&mut self, body: &Body, mut map: NodeMap) -> NodeMap {
        for structure in body {
            match structure {
                Structure::Attribute(attribute) => {
                    let span = attribute.key.span().unwrap_or_default();
                    let key = self.key(attribute.key.to_string(), span);
                    let node = self.expression(&attribute.value);
                    self.add(&mut map, key, node);
                }
                Structure::Block(block) => self.block(block, &mut map),
            }
        }
        map
    }

    fn key(&self, read: String, span: Range<usize>) -> MapKey {
        MapKey { name: self.renamed.name(read, &span), span }
    }

    /// Adds a key, and reports duplicates.
    fn add(&mut self, map: &mut NodeMap, key: MapKey, node: Node) {
        if map.get(&key.name).is_some() {
            self.findings.push(twice(&key.name, key.span.clone()));
        }
        map.push(key, node);
    }

    fn block(&mut self, block: &Block, map: &mut NodeMap) {
        let kind = block.ident.to_string();
        let kind_span = block.ident.span().unwrap_or_default();
        let labels: Vec<MapKey> = block
            .labels
            .iter()
            .map(|label| MapKey {
                name: unmask(label.as_str()),
                span: label.span().unwrap_or_else(|| kind_span.clone()),
            })
            .collect();
        let head = kind_span.start..labels.last().map_or(kind_span.end, |last| last.span.end);
        let is_named = NAMED.contains(&kind.as_str());
        // An unknown block is reported as a whole.
        let is_known =
            is_named || [PIPELINE, STEP, AGENT].map(names).concat().contains(&kind.as_str());
        if is_known && labels.len() != usize::from(is_named) {
            let (message, hint) = if is_named {
                let article = if kind == "agent" { "an" } else { "a" };
                let message = format!("{article} {kind} must have exactly one name");
                (message, format!("write `{kind} \"name\" {{ … }}`"))
            } else {
                (format!("`{kind}` does not take a name"), format!("write `{kind} {{ … }}`"))
            };
            self.findings.push(Finding::error("name", message).at(head.clone()).hint(hint));
        }
        let key = MapKey { name: kind, span: kind_span };
        if !is_named {
            let inner = self.body(&block.body, NodeMap::default());
            return self.add(map, key, Node { kind: NodeKind::Map(inner), span: head });
        }
        let label = labels.into_iter().next().unwrap_or_else(|| MapKey::nameless(head.end));
        if key.name == "step" {
            let mut inner = NodeMap::default();
            let name = MapKey { name: "name".to_owned(), span: label.span.clone() };
            let text = NodeText::new(label.name, self.text, &label.span);
            inner.push(name, Node { kind: NodeKind::Text(text), span: label.span });
            let inner = self.body(&block.body, inner);
            let step = Node { kind: NodeKind::Map(inner), span: head };
            match map.get_mut("step") {
                None => {
                    let span = step.span.clone();
                    map.push(key, Node { kind: NodeKind::List(vec![step]), span });
                }
                Some(Node { kind: NodeKind::List(steps), .. }) => steps.push(step),
                Some(_) => self.add(map, key, step),
            }
            return;
        }
        let inner = self.body(&block.body, NodeMap::default());
        let node = Node { kind: NodeKind::Map(inner), span: head.clone() };
        if map.get(&key.name).is_none() {
            let all = Node { kind: NodeKind::Map(NodeMap::default()), span: head };
            map.push(key.clone(), all);
        }
        match map.get_mut(&key.name) {
            Some(Node { kind: NodeKind::Map(all), .. }) => {
                if !label.is_nameless() && all.get(&label.name).is_some() {
                    let message = format!("duplicate {} `{}`", key.name, label.name);
                    let hint = "give one of them another name";
                    let finding = Finding::error("twice", message).at(label.span.clone());
                    self.findings.push(finding.hint(hint));
                }
                all.push(label, node);
            }
            _ => self.add(map, key, node),
        }
    }

    fn expression(&mut self, expression: &Expression) -> Node {
        let span = expression.span().unwrap_or_default();
        let kind = self.kind(expression, &span).unwrap_or(NodeKind::Unreadable);
        Node { kind, span }
    }

    fn kind(&mut self, expression: &Expression, span: &Range<usize>) -> Option<NodeKind> {
        Some(match expression {
            Expression::Bool(flag) => NodeKind::Bool(*flag.value()),
            Expression::Number(number) => NodeKind::Number(self.number(number.value(), span)?),
            Expression::String(text) => NodeKind::Text(self.string(text.value(), span)?),
            Expression::HeredocTemplate(heredoc) => {
                let text: Option<String> = heredoc
                    .template
                    .iter()
                    .map(|element| element.as_literal().map(|literal| literal.as_str()))
                    .collect();
                NodeKind::Text(self.string(&text?, span)?)
            }
            Expression::Array(array) => {
                NodeKind::List(array.iter().map(|item| self.expression(item)).collect())
            }
            Expression::Object(object) => {
                let mut map = NodeMap::default();
                for (key, value) in object {
                    let key = self.object_key(key);
                    let node = self.expression(value.expr());
                    if let Some(key) = key {
                        self.add(&mut map, key, node);
                    }
                }
                NodeKind::Map(map)
            }
            other => {
                self.no_literal(other, span.clone());
                return None;
            }
        })
    }

    fn object_key(&mut self, key: &ObjectKey) -> Option<MapKey> {
        let span = key.span().unwrap_or_default();
        let name = match key {
            ObjectKey::Ident(name) => name.to_string(),
            ObjectKey::Expression(Expression::String(name)) => unmask(name.value()),
            ObjectKey::Expression(other) => {
                self.no_literal(other, span);
                return None;
            }
        };
        Some(self.key(name, span))
    }

    fn number(
        &mut self,
        number: &hcl_edit::Number,
        span: &Range<usize>,
    ) -> Option<serde_json::Number> {
        let found = number
            .as_u64()
            .map(serde_json::Number::from)
            .or_else(|| number.as_i64().map(serde_json::Number::from))
            .or_else(|| number.as_f64().and_then(serde_json::Number::from_f64));
        if found.is_none() {
            let finding = Finding::error("expression", "the number is too large");
            self.findings.push(finding.at(span.clone()));
        }
        found
    }

    /// Restores what was masked; an escape that stands for a mask is not one of ours.
    fn string(&mut self, text: &str, span: &Range<usize>) -> Option<NodeText> {
        let written = self.renamed.text.get(span.clone()).unwrap_or_default();
        let count = |text: &str| MASKS.map(|(_, mask)| text.matches(mask).count());
        if count(text) != count(written) {
            self.findings.push(
                Finding::error(
                    "unreadable",
                    "the control characters U+0091 and U+0092 are not allowed",
                )
                .at(span.clone())
                .hint("remove the escape"),
            );
            return None;
        }
        Some(NodeText::new(unmask(text), self.text, span))
    }

    /// Reports a value that is not a literal.
    fn no_literal(&mut self, expression: &Expression, span: Range<usize>) {
        let (what, hint) = match expression {
            Expression::Null(_) => ("`null` is not supported", "omit the key".to_owned()),
            Expression::Variable(name) => {
                ("strings must be quoted", format!("write `\"{}\"`", name.value()))
            }
            Expression::Traversal(_) => (
                "bare references are not supported",
                "put it in a string, such as `\"${var.name}\"`".to_owned(),
            ),
            Expression::FuncCall(_) => (
                "functions are not supported",
                "write out the value, or compute it in a step's `run`".to_owned(),
            ),
            _ => ("expressions are not supported", "write out the value".to_owned()),
        };
        self.findings.push(Finding::error("expression", what).at(span).hint(hint));
    }
}
