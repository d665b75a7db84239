//! The front matter of a HOOK.md: finds where it begins and ends, and parses its YAML into a tree
//! with positions.
//!
//! Tolerant where the specifications' own examples need it (see `escapes`); what it cannot read is
//! an [`Unreadable`] with its position. Interpreting the tree as a hook is done by
//! [`crate::definition`].

mod escapes;
mod yaml;

use std::borrow::Cow;

pub use yaml::{YamlNode, YamlValue};

use crate::problem::TextPosition;

/// The front matter must end within this many bytes.
const LIMIT: usize = 256 * 1024;

/// The byte order mark that some editors put before all text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The front matter as a tree.
#[derive(Debug)]
pub struct FrontMatter {
    /// The document; a mapping in a hook that can be used.
    pub root: YamlNode,
    /// Escapes in double quotes that YAML does not know and that were read literally.
    pub odd_escapes: Vec<TextPosition>,
    /// Whether bytes that are not UTF-8 were replaced.
    pub lossy: bool,
    head: TextPosition,
    source: FrontMatterText,
}

/// Why there is no front matter to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub place: TextPosition,
}

/// The text between the two `---` lines, and where it starts in the file.
#[derive(Debug)]
struct FrontMatterText {
    text: String,
    /// Bytes and lines of the file before `text`.
    byte_offset: usize,
    line_offset: usize,
    /// Positions (in characters of the text given to YAML) where a backslash was inserted.
    insertions: Vec<usize>,
}

impl FrontMatter {
    /// Reads the front matter at the head of a HOOK.md.
    pub fn read(file: &[u8]) -> Result<Self, Unreadable> {
        let Block { bytes: block, byte_offset, line_offset, head } = block(file)?;
        let text = String::from_utf8_lossy(block);
        let lossy = matches!(text, Cow::Owned(_));
        let doubled = escapes::double(&text);
        let mut source = FrontMatterText {
            text: text.into_owned(),
            byte_offset,
            line_offset,
            insertions: doubled.insertions,
        };
        let odd_escapes =
            doubled.odd.iter().map(|at| source.place_of_original(*at, *at + 2)).collect();
        let parsed = yaml::parse(&doubled.text);
        let root = parsed.map_err(|error| Unreadable {
            message: error.message,
            place: source.place(error.at, error.at + 1),
        })?;
        source.insertions.shrink_to_fit();
        Ok(Self { root, odd_escapes, lossy, head, source })
    }

    /// Returns the position of the line that opens the front matter.
    pub fn head(&self) -> TextPosition {
        self.head
    }

    /// Returns the position of a node in the file.
    pub fn place(&self, node: &YamlNode) -> TextPosition {
        self.source.place(node.start, node.end)
    }
}

impl FrontMatterText {
    /// Returns the position of a range of characters of the text given to YAML.
    fn place(&self, start: usize, end: usize) -> TextPosition {
        let original =
            |at: usize| at - self.insertions.partition_point(|insertion| *insertion < at);
        self.place_of_original(original(start), original(end))
    }

    /// Returns the position of a range of characters of the original text.
    fn place_of_original(&self, start: usize, end: usize) -> TextPosition {
        let byte_of =
            |at: usize| self.text.char_indices().nth(at).map_or(self.text.len(), |(byte, _)| byte);
        let (start, end) = (byte_of(start), byte_of(end.max(start)));
        let place = TextPosition::in_text(&self.text, &(start..end));
        TextPosition {
            line: self.line_offset + place.line,
            column: place.column,
            start: self.byte_offset + place.start,
            end: self.byte_offset + place.end,
        }
    }
}

/// The part of a file between the two `---` lines.
struct Block<'file> {
    bytes: &'file [u8],
    /// Bytes and lines of the file before it.
    byte_offset: usize,
    line_offset: usize,
    /// The line that opens it.
    head: TextPosition,
}

/// Returns the bytes between the two `---` lines. Blank lines before the first are fine.
fn block(file: &[u8]) -> Result<Block<'_>, Unreadable> {
    let unreadable = |message: &str, line: usize, start: usize| Unreadable {
        message: message.to_owned(),
        place: TextPosition { line, column: 1, start, end: (start + 3).min(file.len()).max(start) },
    };
    let bom = if file.starts_with(BOM) { 3 } else { 0 };
    let line_end = |from: usize| {
        file[from..].iter().position(|byte| *byte == b'\n').map_or(file.len(), |at| from + at + 1)
    };
    let is_fence =
        |line: &[u8]| line.strip_prefix(b"---").is_some_and(|rest| rest.trim_ascii().is_empty());
    let (mut open, mut line) = (bom, 1);
    while open < file.len() && file[open..line_end(open)].trim_ascii().is_empty() {
        (open, line) = (line_end(open), line + 1);
    }
    let start = line_end(open);
    if !is_fence(&file[open..start]) {
        return Err(unreadable("no front matter: the first line must be `---`", line, open));
    }
    let mut at = start;
    while at < file.len() && at - start <= LIMIT {
        let next = line_end(at);
        if is_fence(&file[at..next]) {
            let head = TextPosition { line, column: 1, start: open, end: open + 3 };
            let bytes = &file[start..at];
            return Ok(Block { bytes, byte_offset: start, line_offset: line, head });
        }
        at = next;
    }
    if at < file.len() {
        return Err(unreadable("the front matter is longer than 256 KiB", line, open));
    }
    Err(unreadable("the front matter is missing its closing `---` line", line, open))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(file: &[u8], key: &str) -> Option<String> {
        FrontMatter::read(file).unwrap().root.get(key).and_then(YamlNode::text).map(str::to_owned)
    }

    #[test]
    fn three_dashes_inside_a_value_do_not_end_it() {
        let file = b"---\ndescription: a --- b\nx: y\n---\n---\nbody";
        assert_eq!(field(file, "description").as_deref(), Some("a --- b"));
        assert_eq!(field(file, "x").as_deref(), Some("y"));
    }

    #[test]
    fn crlf_bom_no_final_newline_and_a_binary_body_are_fine() {
        assert_eq!(
            field(b"\xef\xbb\xbf---\r\nname: a\r\n---\r\n\xff\xfe", "name").as_deref(),
            Some("a")
        );
        assert_eq!(field(b"---\nname: a\n---", "name").as_deref(), Some("a"));
    }

    #[test]
    fn blank_lines_before_the_front_matter_are_fine() {
        let file = b"\xef\xbb\xbf\n  \r\n---\nname: a\n---\n";
        assert_eq!(field(file, "name").as_deref(), Some("a"));
        let matter = FrontMatter::read(file).unwrap();
        assert_eq!((matter.head().line, matter.head().start), (3, 8));
        let place = matter.place(matter.root.get("name").unwrap());
        assert_eq!((place.line, &file[place.start..place.end]), (4, &b"a"[..]));
    }

    #[test]
    fn a_missing_fence_is_named() {
        let message = |file: &[u8]| FrontMatter::read(file).unwrap_err().message;
        assert!(message(b"name: a\n").contains("first line"));
        assert!(message(b"").contains("first line"));
        assert!(message(b"---\nname: a\n").contains("missing its closing"));
        assert!(
            message(&[b"---\n".to_vec(), vec![b'a'; LIMIT + 10], b"\nb\n---\n".to_vec()].concat())
                .contains("longer")
        );
    }

    #[test]
    fn places_count_in_the_file_as_written() {
        let file = b"---\nname: a\nmatcher: {pattern: \"\\.py\\b\", tool: \"\xc3\xbc\\x\"} # c\nbad: [\n---\n";
        let error = FrontMatter::read(file).unwrap_err();
        assert_eq!(error.place.line, 5, "{error:?}");
        let file = b"---\nname: a\nm: {pattern: \"\\.py\\b\", tool: \"T\"}\n---\n";
        let matter = FrontMatter::read(file).unwrap();
        let tool = matter.root.get("m").unwrap().get("tool").unwrap();
        let place = matter.place(tool);
        assert_eq!((place.line, place.column), (3, 30));
        assert_eq!(&file[place.start..place.end], b"\"T\"");
    }
}
