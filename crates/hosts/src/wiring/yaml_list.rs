//! Edits a list of names in YAML settings, such as `plugins.enabled`: a line is added or removed, and
//! everything else stays as it is, with its comments.
//!
//! The text is parsed before and after. An edit that would change anything but the list is refused,
//! as is a form in which the line cannot be added: then the person is told what to write.

use std::ops::Range;
use std::path::Path;

use saphyr_parser::{Event, Parser, Span};

use super::SettingsError;

/// A list of names: the key of a mapping, and the key in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct YamlList {
    /// The key of the mapping, at the top.
    pub section: &'static str,
    /// The key of the list in it.
    pub key: &'static str,
}

/// What we add is marked with this, if it is more than the name.
const MARK: &str = " # added by anyhook";

/// What cannot be edited should be written in this form.
const EXPECTED: &str = "a list with one name on each line";

/// How deep a file may be nested.
const NESTING_LIMIT: usize = 64;

impl YamlList {
    /// Returns the names in the list.
    pub fn names(self, path: &Path, text: &str) -> Result<Vec<String>, SettingsError> {
        let document = Document::parse(path, text)?;
        let list = self.list(&document).map(|list| &list.value);
        let Some(Content::List { items, .. }) = list else { return Ok(Vec::new()) };
        Ok(items.iter().filter_map(|item| Some(item.text()?.to_owned())).collect())
    }

    /// Adds a name, unless it is there.
    pub fn add(self, path: &Path, text: &str, name: &str) -> Result<String, SettingsError> {
        let before = Document::parse(path, text)?;
        if self.item(&before, name).is_some() {
            return Ok(text.to_owned());
        }
        let edited = self.with(&before, name);
        self.checked(path, text, edited, name, true)
    }

    /// Removes a name, and what was added along with it.
    pub fn remove(self, path: &Path, text: &str, name: &str) -> Result<String, SettingsError> {
        let before = Document::parse(path, text)?;
        let Some((list, item)) = self.item(&before, name) else { return Ok(text.to_owned()) };
        let Content::List { is_flow, items } = &list.value else { return Ok(text.to_owned()) };
        let edited = if *is_flow {
            Some(without_range(text, &flow_item(text, item)))
        } else {
            self.without_line(&before, item, items.len())
        };
        self.checked(path, text, edited, name, false)
    }

    /// Returns the edited text if nothing but the list has changed in it.
    fn checked(
        self,
        path: &Path,
        text: &str,
        edited: Option<String>,
        name: &str,
        is_added: bool,
    ) -> Result<String, SettingsError> {
        let unexpected = || SettingsError::Unexpected {
            path: path.to_owned(),
            what: format!("`{}.{}`", self.section, self.key),
            expected: EXPECTED,
        };
        let edited = edited.ok_or_else(unexpected)?;
        let (before, after) = (Document::parse(path, text)?, Document::parse(path, &edited));
        let after = after.map_err(|_| unexpected())?;
        let is_there = self.item(&after, name).is_some();
        let same = self.rest(&before, name) == self.rest(&after, name);
        if is_there == is_added && same { Ok(edited) } else { Err(unexpected()) }
    }

    /// Returns the text with the name added; `None` if that cannot be done.
    fn with(self, document: &Document<'_>, name: &str) -> Option<String> {
        let text = document.text;
        let end = document.line_end();
        let Some(root) = document.root.as_ref().filter(|root| !root.is_empty()) else {
            let section = self.section_lines(name, end);
            return document.takes_lines_at_its_start().then(|| section + text);
        };
        let Content::Map { is_flow: false, pairs } = &root.value else { return None };
        let Some(section) = root.get(self.section) else {
            let section = self.section_lines(name, end);
            if text.ends_with('\n') {
                return Some(format!("{text}{section}"));
            }
            let start = document.start_of_line(pairs.first()?.0.place.start)?;
            return Some(inserted(text, start, &section));
        };
        let (key, value) = section;
        let is_merged = value.get("<<").is_some();
        let list = value.get(self.key).map(|(_, list)| list);
        if is_merged || value.is_anchored || list.is_some_and(|list| list.is_anchored) {
            return None;
        }
        match &value.value {
            Content::Map { is_flow, .. } if *is_flow || value.get(self.key).is_some() => {
                let (key, list) = value.get(self.key)?;
                Self::with_item(document, key, list, name)
            }
            Content::Map { pairs, .. } => {
                let first = pairs.first()?.0.place.start;
                let start = document.start_of_line(first)?;
                Some(inserted(text, start, &self.list_lines(&text[start..first], name, end)))
            }
            _ if value.is_empty() => {
                let after = document.next_line(key.place.end);
                let lines = self.list_lines("  ", name, end);
                text[..after].ends_with('\n').then(|| inserted(text, after, &lines))
            }
            _ => None,
        }
    }

    /// Returns the text with the name added to a list that is there.
    fn with_item(document: &Document<'_>, key: &Node, list: &Node, name: &str) -> Option<String> {
        let (text, end) = (document.text, document.line_end());
        match &list.value {
            Content::List { is_flow: true, items } => {
                let separator = if items.is_empty() { "" } else { ", " };
                Some(inserted(text, list.place.start + 1, &format!("{name}{separator}")))
            }
            Content::List { is_flow: false, items } => {
                let start = document.any_start_of_line(items.first()?.place.start);
                let line = &text[start..];
                let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
                Some(inserted(text, start, &format!("{indent}- {name}{end}")))
            }
            _ if list.is_empty() => {
                let indent = &text[document.start_of_line(key.place.start)?..key.place.start];
                let after = document.next_line(key.place.end);
                let line = format!("{indent}  - {name}{end}");
                text[..after].ends_with('\n').then(|| inserted(text, after, &line))
            }
            _ => None,
        }
    }

    /// Returns the text without the line of a name, and without the lines above it that we added,
    /// if nothing else belongs to them.
    fn without_line(self, document: &Document<'_>, item: &Node, count: usize) -> Option<String> {
        let text = document.text;
        let (_, section) = document.root.as_ref()?.get(self.section)?;
        let mut removed = vec![document.line(item.place.start)];
        let is_marked = |line: &Range<usize>| text[line.clone()].trim_end().ends_with(MARK);
        let list = document.line(section.get(self.key)?.0.place.start);
        if count == 1 && is_marked(&list) {
            removed.push(list);
            let top = document.line(document.root.as_ref()?.get(self.section)?.0.place.start);
            let Content::Map { pairs, .. } = &section.value else { return None };
            if pairs.len() == 1 && is_marked(&top) {
                removed.push(top);
            }
        }
        removed.sort_by_key(|range| range.start);
        removed.dedup();
        Some(removed.iter().rev().fold(text.to_owned(), |text, range| without_range(&text, range)))
    }

    fn section_lines(self, name: &str, end: &str) -> String {
        format!("{}:{MARK}{end}{}", self.section, self.list_lines("  ", name, end))
    }

    fn list_lines(self, indent: &str, name: &str, end: &str) -> String {
        format!("{indent}{}:{MARK}{end}{indent}  - {name}{end}", self.key)
    }

    fn list<'document>(self, document: &'document Document<'_>) -> Option<&'document Node> {
        let (_, section) = document.root.as_ref()?.get(self.section)?;
        section.get(self.key).map(|(_, list)| list)
    }

    fn item<'document>(
        self,
        document: &'document Document<'_>,
        name: &str,
    ) -> Option<(&'document Node, &'document Node)> {
        let list = self.list(document)?;
        let Content::List { items, .. } = &list.value else { return None };
        items.iter().find(|item| item.text() == Some(name)).map(|item| (list, item))
    }

    /// Returns what a document says, apart from a name in the list, and from the list and its section
    /// if nothing else is in them.
    fn rest(self, document: &Document<'_>, name: &str) -> Option<Content> {
        let mut root = document.root.clone()?;
        if let Content::Map { pairs, .. } = &mut root.value {
            for (_, section) in pairs.iter_mut().filter(|(key, _)| key.text() == Some(self.section))
            {
                let Content::Map { pairs, .. } = &mut section.value else { continue };
                for (_, list) in pairs.iter_mut().filter(|(key, _)| key.text() == Some(self.key)) {
                    if let Content::List { items, .. } = &mut list.value {
                        items.retain(|item| item.text() != Some(name));
                    }
                }
                pairs.retain(|(key, list)| key.text() != Some(self.key) || !list.is_empty());
            }
            pairs.retain(|(key, section)| key.text() != Some(self.section) || !section.is_empty());
        }
        Some(root.value)
            .filter(|_| !document.root.as_ref().is_some_and(Node::is_empty))
            .filter(|value| !matches!(value, Content::Map { pairs, .. } if pairs.is_empty()))
    }
}

/// A part of a document, and its bytes.
#[derive(Clone, Debug)]
struct Node {
    value: Content,
    place: Range<usize>,
    /// Whether it has a name, by which it may also stand elsewhere.
    is_anchored: bool,
}

#[derive(Clone, Debug)]
enum Content {
    Scalar { text: String, is_plain: bool, tag: Option<String> },
    Alias(usize),
    List { items: Vec<Node>, is_flow: bool },
    Map { pairs: Vec<(Node, Node)>, is_flow: bool },
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Scalar { text, is_plain, tag },
                Self::Scalar { text: text_2, is_plain: is_plain_2, tag: tag_2 },
            ) => (text, is_plain, tag) == (text_2, is_plain_2, tag_2),
            (Self::Alias(one), Self::Alias(two)) => one == two,
            (Self::List { items: one, .. }, Self::List { items: two, .. }) => one == two,
            (Self::Map { pairs: one, .. }, Self::Map { pairs: two, .. }) => one == two,
            _ => false,
        }
    }
}

impl Node {
    fn text(&self) -> Option<&str> {
        match &self.value {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns the key and the value of a mapping's entry; the last one if a key appears twice.
    fn get(&self, key: &str) -> Option<&(Node, Node)> {
        let Content::Map { pairs, .. } = &self.value else { return None };
        pairs.iter().rev().find(|(name, _)| name.text() == Some(key))
    }

    /// Returns whether nothing was written, or nothing is in it.
    fn is_empty(&self) -> bool {
        match &self.value {
            Content::Scalar { text, is_plain, tag } => {
                text.is_empty() && *is_plain && tag.is_none()
            }
            Content::Alias(_) => false,
            Content::List { items, .. } => items.is_empty(),
            Content::Map { pairs, .. } => pairs.is_empty(),
        }
    }
}

/// The text of a file, parsed.
struct Document<'text> {
    text: &'text str,
    /// The only document in it; `None` if there is none.
    root: Option<Node>,
}

/// A collection whose end has not been reached yet.
struct Open {
    node: Node,
    key: Option<Node>,
}

impl<'text> Document<'text> {
    fn parse(path: &Path, text: &'text str) -> Result<Self, SettingsError> {
        let broken = |why: String| SettingsError::Broken { path: path.to_owned(), why };
        let places: Vec<usize> =
            text.char_indices().map(|(place, _)| place).chain([text.len()]).collect();
        let byte = |character: usize| places.get(character).copied().unwrap_or(text.len());
        let mut open: Vec<Open> = Vec::new();
        let mut root = None;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| {
                let (line, column) = (error.marker().line(), error.marker().col() + 1);
                broken(format!("{} on line {line} column {column}", error.info()))
            })?;
            let node = |value: Content, span: &Span, anchor: usize| Node {
                value,
                place: byte(span.start.index())..byte(span.end.index()),
                is_anchored: anchor != 0,
            };
            let is_flow = |span: &Span| text[byte(span.start.index())..].starts_with(['[', '{']);
            let complete = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let is_plain = style == saphyr_parser::ScalarStyle::Plain;
                    let tag = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix));
                    let text = text.into_owned();
                    Some(node(Content::Scalar { text, is_plain, tag }, &span, anchor))
                }
                Event::Alias(anchor) => Some(node(Content::Alias(anchor), &span, 0)),
                Event::SequenceStart(anchor, _) => {
                    let value = Content::List { items: Vec::new(), is_flow: is_flow(&span) };
                    open.push(Open { node: node(value, &span, anchor), key: None });
                    None
                }
                Event::MappingStart(anchor, _) => {
                    let value = Content::Map { pairs: Vec::new(), is_flow: is_flow(&span) };
                    open.push(Open { node: node(value, &span, anchor), key: None });
                    None
                }
                Event::SequenceEnd | Event::MappingEnd => open.pop().map(|mut closed| {
                    closed.node.place.end = byte(span.end.index());
                    closed.node
                }),
                _ => None,
            };
            if open.len() > NESTING_LIMIT {
                return Err(broken("it is nested too deeply".to_owned()));
            }
            let Some(complete) = complete else { continue };
            match open.last_mut() {
                None if root.is_some() => {
                    return Err(broken("it holds more than one document".to_owned()));
                }
                None => root = Some(complete),
                Some(Open { node: Node { value: Content::List { items, .. }, .. }, .. }) => {
                    items.push(complete);
                }
                Some(Open { node: Node { value: Content::Map { pairs, .. }, .. }, key }) => {
                    match key.take() {
                        None => *key = Some(complete),
                        Some(name) => pairs.push((name, complete)),
                    }
                }
                Some(_) => {}
            }
        }
        Ok(Self { text, root })
    }

    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Returns whether lines can precede all that is there, which has no content.
    fn takes_lines_at_its_start(&self) -> bool {
        self.text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    }

    fn any_start_of_line(&self, place: usize) -> usize {
        self.text[..place].rfind('\n').map_or(0, |end| end + 1)
    }

    /// Returns where the line of a place begins if only spaces precede it there.
    fn start_of_line(&self, place: usize) -> Option<usize> {
        let start = self.any_start_of_line(place);
        self.text[start..place].bytes().all(|byte| byte == b' ').then_some(start)
    }

    fn next_line(&self, place: usize) -> usize {
        self.text[place..].find('\n').map_or(self.text.len(), |end| place + end + 1)
    }

    fn line(&self, place: usize) -> Range<usize> {
        self.any_start_of_line(place)..self.next_line(place)
    }
}

/// Returns the range of a name in a list in brackets, with the comma that belongs to it.
fn flow_item(text: &str, item: &Node) -> Range<usize> {
    let Range { start, end } = item.place.clone();
    let after = text[end..].trim_start_matches(' ');
    if let Some(rest) = after.strip_prefix(',') {
        return start..text.len() - rest.strip_prefix(' ').unwrap_or(rest).len();
    }
    let before = text[..start].trim_end_matches(' ');
    before.strip_suffix(',').map_or(start, str::len)..end
}

fn inserted(text: &str, place: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..place], &text[place..])
}

fn without_range(text: &str, range: &Range<usize>) -> String {
    format!("{}{}", &text[..range.start], &text[range.end..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIST: YamlList = YamlList { section: "plugins", key: "enabled" };

    fn add(text: &str) -> Result<String, SettingsError> {
        LIST.add(Path::new("config.yaml"), text, "anyhook")
    }

    fn remove(text: &str) -> Result<String, SettingsError> {
        LIST.remove(Path::new("config.yaml"), text, "anyhook")
    }

    #[test]
    fn a_name_is_added_and_removed_without_touching_the_rest() {
        for (before, after) in [
            ("", "plugins: # added by anyhook\n  enabled: # added by anyhook\n    - anyhook\n"),
            (
                "# mine\nmodel: x # why\n",
                "# mine\nmodel: x # why\nplugins: # added by anyhook\n  enabled: # added by anyhook\n    - anyhook\n",
            ),
            (
                "# no end\nmodel: x",
                "# no end\nplugins: # added by anyhook\n  enabled: # added by anyhook\n    - anyhook\nmodel: x",
            ),
            (
                "---\nmodel: x\n",
                "---\nmodel: x\nplugins: # added by anyhook\n  enabled: # added by anyhook\n    - anyhook\n",
            ),
            (
                "plugins:\n    entries: {}\nmodel: x\n",
                "plugins:\n    enabled: # added by anyhook\n      - anyhook\n    entries: {}\nmodel: x\n",
            ),
            (
                "plugins:\nmodel: x\n",
                "plugins:\n  enabled: # added by anyhook\n    - anyhook\nmodel: x\n",
            ),
            (
                "plugins:\n  enabled: # theirs\n  # first\n  - a # why\n  - 'b'\n",
                "plugins:\n  enabled: # theirs\n  # first\n  - anyhook\n  - a # why\n  - 'b'\n",
            ),
            (
                "plugins:\r\n  enabled:\r\n  - a\r\n",
                "plugins:\r\n  enabled:\r\n  - anyhook\r\n  - a\r\n",
            ),
            ("plugins:\n  enabled:\nx: 1\n", "plugins:\n  enabled:\n    - anyhook\nx: 1\n"),
            ("plugins:\n  enabled: []\n", "plugins:\n  enabled: [anyhook]\n"),
            ("plugins:\n  enabled: [ a, b ]\n", "plugins:\n  enabled: [anyhook,  a, b ]\n"),
            ("plugins: {enabled: [a]} # x\n", "plugins: {enabled: [anyhook, a]} # x\n"),
            ("ü: 'ß'\nplugins: {enabled: [ä]}\n", "ü: 'ß'\nplugins: {enabled: [anyhook, ä]}\n"),
        ] {
            assert_eq!(add(before).as_deref(), Ok(after));
            assert_eq!(add(after).as_deref(), Ok(after), "a second time");
            assert_eq!(remove(after).as_deref(), Ok(before));
            assert_eq!(remove(before).as_deref(), Ok(before));
        }
    }

    #[test]
    fn what_was_added_to_ours_stays() {
        let marked = "plugins: # added by anyhook\n  enabled: # added by anyhook\n";
        let (ours, theirs) = ("    - anyhook\n", "    - theirs\n");
        let kept = format!("{marked}{theirs}");
        assert_eq!(remove(&format!("{marked}{ours}{theirs}")).as_deref(), Ok(&*kept));
        let other = format!("{marked}{ours}  disabled: []\n");
        let kept = "plugins: # added by anyhook\n  disabled: []\n";
        assert_eq!(remove(&other).as_deref(), Ok(kept));
    }

    #[test]
    fn what_the_agent_has_written_anew_is_ours_too() {
        let text = "plugins:\n  enabled:\n  - theirs\n  - anyhook\nx: 1\n";
        assert_eq!(remove(text).as_deref(), Ok("plugins:\n  enabled:\n  - theirs\nx: 1\n"));
        let text = "plugins: {enabled: [theirs, anyhook]}\n";
        assert_eq!(remove(text).as_deref(), Ok("plugins: {enabled: [theirs]}\n"));
    }

    #[test]
    fn what_cannot_be_edited_is_an_error() {
        for text in [
            "{model: x}\n",
            "plugins: {}\n",
            "plugins: [a]\n",
            "plugins: null\n",
            "plugins:\n  enabled: a\n",
            "plugins:\n  enabled: null\n",
            "plugins:\n  enabled:\n  -\n    a\n",
            "plugins: &all\n  enabled: &more [a]\nother: *more\n",
            "base: &base {enabled: [a]}\nplugins:\n  <<: *base\n",
            "list\n",
            "- a\n",
            "---\n",
        ] {
            let error = add(text).unwrap_err();
            assert!(matches!(error, SettingsError::Unexpected { .. }), "{text}: {error}");
            assert!(error.to_string().contains("`plugins.enabled`"), "{error}");
        }
        let error = add("a: b\nc: [d\n").unwrap_err().to_string();
        assert!(error.starts_with("`config.yaml` is invalid: "), "{error}");
        assert!(error.contains(" on line "), "{error}");
        assert!(add("a: b\n---\nc: d\n").is_err());
        assert!(add(&"[".repeat(1000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_edited_or_refused(text in "(plugins|enabled|- a|[:{}\\[\\],#&*'\"a \n-]|  ){0,20}") {
            if let Ok(with) = add(&text) {
                prop_assert!(LIST.names(Path::new("x"), &with).unwrap().contains(&"anyhook".to_owned()));
                if with != text {
                    prop_assert_eq!(remove(&with), Ok(text.clone()));
                }
            }
            let _ = remove(&text);
        }
    }
}
