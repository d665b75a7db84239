//! Parses server-sent events (SSE) from pieces that may be cut anywhere.
//!
//! Not with `sse-stream`, which MCP's transport requires: it buffers lines and events of any
//! length, drops an event that the end of the stream completes, and fails on unknown fields, in
//! which model servers report errors.

/// An item in a stream of server-sent events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SseItem {
    /// The data of one event, its lines joined.
    Data(String),
    /// A line that is not part of an event: the standard ignores it, but an HTML page is full of
    /// them.
    Stray(String),
}

/// Why a stream cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseError {
    #[error("an event is longer than {0} bytes")]
    TooLong(usize),
    #[error("it is not UTF-8")]
    NotUtf8,
}

/// Parses server-sent events. Buffers at most one line and one event, neither longer than the
/// limit.
#[derive(Debug)]
pub(super) struct SseParser {
    /// The current line: bytes, because a piece may end inside a character.
    line: Vec<u8>,
    data: Option<String>,
    /// The last byte was `\r`: a `\n` now belongs to it.
    after_return: bool,
    limit: usize,
    failed: Option<SseError>,
}

impl SseParser {
    pub(super) fn new(limit: usize) -> Self {
        Self { line: Vec::new(), data: None, after_return: false, limit, failed: None }
    }

    /// Takes the next piece and adds the items it completes. After an error it keeps failing.
    pub(super) fn feed(
        &mut self,
        mut piece: &[u8],
        items: &mut Vec<SseItem>,
    ) -> Result<(), SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.after_return && !piece.is_empty() {
            self.after_return = false;
            piece = piece.strip_prefix(b"\n").unwrap_or(piece);
        }
        while let Some(end) = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&piece[..end])?;
            self.end_line(items)?;
            let is_return = piece[end] == b'\r';
            piece = &piece[end + 1..];
            if is_return {
                self.after_return = piece.is_empty();
                piece = piece.strip_prefix(b"\n").unwrap_or(piece);
            }
        }
        self.extend_line(piece)
    }

    /// Takes the end of the stream: an event without its empty line counts, too.
    pub(super) fn finish(&mut self, items: &mut Vec<SseItem>) -> Result<(), SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if !self.line.is_empty() {
            self.end_line(items)?;
        }
        items.extend(self.data.take().map(SseItem::Data));
        Ok(())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if bytes.len() > self.limit - self.line.len() {
            return Err(self.fail(SseError::TooLong(self.limit)));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, items: &mut Vec<SseItem>) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        let Ok(line) = String::from_utf8(line) else {
            return Err(self.fail(SseError::NotUtf8));
        };
        if line.is_empty() {
            items.extend(self.data.take().map(SseItem::Data));
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        match field {
            "data" => self.add_data(value.strip_prefix(' ').unwrap_or(value))?,
            // A line that starts with a colon is a comment.
            "" | "event" | "id" | "retry" => {}
            _ => items.push(SseItem::Stray(line)),
        }
        Ok(())
    }

    fn add_data(&mut self, value: &str) -> Result<(), SseError> {
        let held = self.data.as_ref().map_or(0, |data| data.len() + 1);
        if held + value.len() > self.limit {
            return Err(self.fail(SseError::TooLong(self.limit)));
        }
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
        Ok(())
    }

    fn fail(&mut self, error: SseError) -> SseError {
        self.failed = Some(error);
        self.line = Vec::new();
        self.data = None;
        error
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 64;

    /// Parses a stream cut after the given numbers of bytes, repeatedly.
    fn read(stream: &[u8], cuts: &[usize]) -> (Vec<SseItem>, Result<(), SseError>) {
        let (mut parser, mut items) = (SseParser::new(LIMIT), Vec::new());
        let (mut rest, mut cuts) = (stream, cuts.iter().cycle());
        while !rest.is_empty() {
            let length = cuts.next().map_or(rest.len(), |&length| length.clamp(1, rest.len()));
            let (piece, after) = rest.split_at(length);
            rest = after;
            if let Err(error) = parser.feed(piece, &mut items) {
                return (items, Err(error));
            }
        }
        let end = parser.finish(&mut items);
        (items, end)
    }

    fn data(stream: &str) -> Vec<String> {
        let (items, end) = read(stream.as_bytes(), &[]);
        assert_eq!(end, Ok(()), "{stream:?}");
        items
            .into_iter()
            .map(|item| match item {
                SseItem::Data(data) => data,
                SseItem::Stray(line) => panic!("stray: {line}"),
            })
            .collect()
    }

    #[test]
    fn an_event_is_its_data() {
        assert_eq!(data("data: a\n\ndata:b\n\n"), ["a", "b"]);
        assert_eq!(data("data:  a \n\n"), [" a "], "only one space belongs to the field");
        assert_eq!(data("data\n\n"), [""]);
    }

    #[test]
    fn lines_end_in_any_way() {
        assert_eq!(data("data: a\r\ndata: b\r\n\r\n"), ["a\nb"]);
        assert_eq!(data("data: a\rdata: b\r\r"), ["a\nb"]);
    }

    #[test]
    fn comments_names_and_empty_lines_are_no_data() {
        assert_eq!(data(": hello\n\nevent: x\nid: 7\nretry: 10\n\n\n:\ndata: a\n\n"), ["a"]);
    }

    #[test]
    fn the_end_completes_an_event() {
        assert_eq!(data("data: a\n\ndata: b"), ["a", "b"]);
        assert_eq!(data("data: a\ndata: b\n"), ["a\nb"]);
    }

    #[test]
    fn what_is_no_event_is_shown() {
        let (items, end) = read(b"<html>\n\n", &[]);
        assert_eq!((items, end), (vec![SseItem::Stray("<html>".to_owned())], Ok(())));
    }

    #[test]
    fn too_much_is_refused() {
        let line = [b"data: a\n\n".as_slice(), &[b'x'; LIMIT + 1]].concat();
        let too_long = Err(SseError::TooLong(LIMIT));
        assert_eq!(read(&line, &[]), (vec![SseItem::Data("a".to_owned())], too_long));
        assert_eq!(read("data: 0123456789\n".repeat(7).as_bytes(), &[]), (vec![], too_long));
    }

    #[test]
    fn a_failure_lasts() {
        let (mut parser, mut items) = (SseParser::new(LIMIT), Vec::new());
        assert_eq!(parser.feed(b"data: \xff\n", &mut items), Err(SseError::NotUtf8));
        assert_eq!(parser.feed(b"data: a\n\n", &mut items), Err(SseError::NotUtf8));
        assert_eq!(parser.finish(&mut items), Err(SseError::NotUtf8));
        assert_eq!(items, []);
    }

    /// Streams that look like events, with many errors.
    fn streams() -> impl Strategy<Value = Vec<u8>> {
        let parts = prop_oneof![
            4 => prop::sample::select(vec![
                "data: ", "data:", "data", ":", " ", "\n", "\r", "\r\n", "\n\n", "event: x",
                "ä", "€", "𝄞", "\u{feff}", "[DONE]",
            ])
            .prop_map(|part| part.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..20),
        ];
        prop::collection::vec(parts, 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same(
            stream in streams(),
            cuts in prop::collection::vec(1_usize..9, 1..9),
        ) {
            prop_assert_eq!(read(&stream, &cuts), read(&stream, &[]));
        }

        #[test]
        fn any_bytes_are_survived(
            stream in prop::collection::vec(any::<u8>(), 0..500),
            cut in 1_usize..50,
        ) {
            let (items, _) = read(&stream, &[cut]);
            for item in items {
                let (SseItem::Data(text) | SseItem::Stray(text)) = item;
                prop_assert!(text.len() <= LIMIT);
            }
        }

        #[test]
        fn what_was_sent_is_read(texts in prop::collection::vec("[^\r\n]{0,12}", 0..6)) {
            let mut stream = String::new();
            for text in &texts {
                stream.push_str(&format!("data: {text}\r\n\r\n"));
            }
            prop_assert_eq!(data(&stream), texts);
        }
    }
}
