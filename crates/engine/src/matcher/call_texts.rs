//! The texts of a tool call, searched for the literals of many hooks.
//!
//! Most literals occur in no text. A table of the byte pairs that occur, built in one pass, shows
//! that after a few lookups; only what it cannot exclude is searched. Searching is left to the
//! standard library: crates that do it faster first detect the processor's features, which in a
//! virtual machine takes longer than handling a small event altogether.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

use anyhook_model::ToolCall;
use anyhook_model::json::{any_leaf, next_escape, unescape};
use serde_json::Value;

/// From this many bytes on, most byte pairs occur, and triples are more selective.
const MANY_BYTES: usize = 16 << 10;

/// The texts of a tool call.
#[derive(Default)]
pub struct CallTexts<'call> {
    texts: Vec<Text<'call>>,
    /// How many bytes the texts have together.
    length: usize,
    /// Whether there are texts that were not collected: then every literal may occur.
    may_hold_more: bool,
    // Built when first needed.
    pairs: OnceCell<Pairs>,
    triples: OnceCell<Triples>,
}

/// One text.
enum Text<'call> {
    Plain(Cow<'call, str>),
    /// The inside of a JSON string; decoded when first searched.
    Escaped {
        raw: &'call str,
        decoded: OnceCell<String>,
    },
}

impl<'call> CallTexts<'call> {
    /// Collects the texts of a call: every value of its input, in our form and in the host's, and
    /// the forms of its paths, as far as they were resolved.
    pub fn of(call: &'call ToolCall) -> Self {
        let mut leaves = Self::default();
        leaves.add_value(&call.input);
        if let Some(native) = &call.native
            && native.tool_input != call.input
        {
            leaves.add_value(&native.tool_input);
        }
        if let Some(forms) = call.forms.get() {
            leaves.may_hold_more = forms.is_cut;
            forms.texts().for_each(|text| leaves.add_text(text));
        }
        leaves
    }

    /// Adds a text that is not in the call itself.
    pub fn add_text(&mut self, text: &'call str) {
        self.add(text.len(), Text::Plain(Cow::Borrowed(text)));
    }

    /// Adds the text of a JSON string, given what is between its quotes.
    pub fn add_json_string(&mut self, raw: &'call str) {
        if next_escape(raw).is_some() {
            self.add(raw.len(), Text::Escaped { raw, decoded: OnceCell::new() });
        } else {
            self.add_text(raw);
        }
    }

    /// Returns whether some text contains one of the literals.
    ///
    /// Literals may be given as bytes: most are never needed as a text.
    pub fn contains_any(&self, literals: impl IntoIterator<Item: AsRef<[u8]>>) -> bool {
        self.may_hold_more || literals.into_iter().any(|literal| self.contains(literal.as_ref()))
    }

    fn contains(&self, literal: &[u8]) -> bool {
        let may_be_there = match literal.len() {
            0 | 1 => true,
            length if length >= Triples::LEAST && self.length >= MANY_BYTES => {
                self.triples.get_or_init(|| Triples::of(&self.texts)).may_hold(literal)
            }
            _ => self.pairs.get_or_init(|| Pairs::of(&self.texts)).may_hold(literal),
        };
        may_be_there
            && str::from_utf8(literal)
                .is_ok_and(|literal| self.texts.iter().any(|text| text.get().contains(literal)))
    }

    fn add_value(&mut self, value: &'call Value) {
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            match value {
                Value::String(text) => self.add_text(text),
                Value::Array(items) => stack.extend(items),
                Value::Object(fields) => stack.extend(fields.values()),
                Value::Null => {}
                // In their JSON form.
                Value::Bool(_) | Value::Number(_) => {
                    any_leaf(value, &mut |text| {
                        self.add(text.len(), Text::Plain(Cow::Owned(text.to_owned())));
                        false
                    });
                }
            }
        }
    }

    fn add(&mut self, length: usize, text: Text<'call>) {
        self.pairs.take();
        self.triples.take();
        self.length += length;
        self.texts.push(text);
    }
}

impl fmt::Debug for CallTexts<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallTexts").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Text<'_> {
    fn get(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Escaped { raw, decoded } => decoded.get_or_init(|| unescape(raw).into_owned()),
        }
    }
}

/// A set of byte pairs that occur, with false positives but no false negatives. One bit each: small
/// enough to need no allocation.
struct Pairs([u64; 64]);

impl Pairs {
    fn of(texts: &[Text]) -> Self {
        let mut pairs = Self([0; 64]);
        for text in texts {
            for pair in text.get().as_bytes().windows(2) {
                let (word, bit) = Self::place(pair);
                pairs.0[word] |= bit;
            }
        }
        pairs
    }

    fn may_hold(&self, literal: &[u8]) -> bool {
        literal.windows(2).all(|pair| {
            let (word, bit) = Self::place(pair);
            self.0[word] & bit != 0
        })
    }

    /// Returns the position of a pair: six bits of each byte tell most letters apart.
    fn place(pair: &[u8]) -> (usize, u64) {
        (usize::from(pair[0] & 0x3f), 1 << (pair[1] & 0x3f))
    }
}

/// A set of byte triples that occur at even positions in a text, with false positives but no false
/// negatives.
struct Triples(Box<[bool]>);

impl Triples {
    /// How long a literal must be to have a triple at an even position, wherever it starts.
    const LEAST: usize = 4;

    /// Enough to tell the triples of a long text apart.
    const PLACES: usize = 1 << 16;

    fn of(texts: &[Text]) -> Self {
        let mut places = vec![false; Self::PLACES].into_boxed_slice();
        for text in texts {
            for triple in text.get().as_bytes().windows(3).step_by(2) {
                places[Self::place(triple)] = true;
            }
        }
        Self(places)
    }

    fn may_hold(&self, literal: &[u8]) -> bool {
        let holds = |start: usize| {
            let mut triples = literal[start..].windows(3).step_by(2);
            triples.all(|triple| self.0[Self::place(triple)])
        };
        holds(0) || holds(1)
    }

    fn place(triple: &[u8]) -> usize {
        let bytes = u32::from_le_bytes([triple[0], triple[1], triple[2], 0]);
        // The multiplier is that of Fibonacci hashing: 2^32 over the golden ratio.
        (bytes.wrapping_mul(0x9e37_79b1) >> 16) as usize
    }
}
