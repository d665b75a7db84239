//! Finds the JSON objects in a script's output.

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::dialect::{is_same_key, is_telling_key};

/// An object's fields in order. A map would lose a deny to a later field of the same name.
pub(super) type Fields = Vec<(String, Member)>;

/// The value of a field.
#[derive(Debug)]
pub(super) enum Member {
    /// An object that may contain a decision, duplicate keys included.
    Nested(Fields),
    /// Anything else.
    Value(Value),
}

impl Member {
    /// Returns it as a plain value; of duplicate keys the last is kept.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Nested(fields) => Value::Object(
                fields.into_iter().map(|(key, member)| (key, member.into_value())).collect(),
            ),
        }
    }
}

/// What was found in a text.
#[derive(Debug, Default)]
pub(super) struct FoundObjects {
    /// The objects that parse, in order.
    pub objects: Vec<LocatedObject>,
    /// Why something that starts like JSON does not parse: the first such place.
    pub broken: Option<String>,
    /// Everything else, and the objects that log text precedes.
    pub text: String,
}

/// An object, and where it was found.
#[derive(Debug)]
pub(super) struct LocatedObject {
    /// Its fields.
    pub fields: Fields,
    /// Whether log text precedes it on its line: it may be part of that.
    pub in_line: bool,
}

/// Finds every object in a text: on a line of its own, in an array, or after log text on its line.
///
/// Linear in the text's length: what fails to parse is retried from a later character only while
/// all these attempts together have not read four times the text.
pub(super) fn find(text: &str) -> FoundObjects {
    let mut scan =
        Scan { text, at: 0, budget: text.len() * 4 + 4096, found: FoundObjects::default() };
    // Leading blanks do not make a line of their own: `  {…}` is JSON too.
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with(['{', '[']) {
        scan.at = text.len() - start.len();
    }
    scan.all();
    scan.found
}

struct Scan<'text> {
    text: &'text str,
    at: usize,
    /// How many bytes may still be read in failed attempts.
    budget: usize,
    found: FoundObjects,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn all(&mut self) {
        let mut at_start = true;
        while self.at < self.text.len() {
            if self.budget == 0 {
                let why = "too many parts of it look like JSON but do not parse".to_owned();
                self.found.broken.get_or_insert(why);
                self.skip(self.text.len() - self.at);
                return;
            }
            at_start = match self.rest().as_bytes()[0] {
                b'{' if at_start => self.object(),
                b'[' if at_start => self.array(),
                b'{' => self.object_in_line(),
                _ => self.plain(),
            };
        }
    }

    /// Takes this many bytes as text.
    fn skip(&mut self, bytes: usize) {
        let end = self.at + bytes;
        self.found.text.push_str(&self.text[self.at..end]);
        self.at = end;
    }

    /// Takes text up to the end of the line, or to what may be an object.
    fn plain(&mut self) -> bool {
        let rest = self.rest();
        match rest.find(['{', '\n']) {
            None => self.skip(rest.len()),
            Some(at) if rest.as_bytes()[at] == b'{' => self.skip(at),
            Some(newline) => {
                self.skip(newline + 1);
                return true;
            }
        }
        false
    }

    /// Reads an object that has its line to itself.
    fn object(&mut self) -> bool {
        match parse(self.rest()) {
            Ok((Object(fields), length)) => {
                self.found.objects.push(LocatedObject { fields, in_line: false });
                self.step_over(length)
            }
            Err(broken) => self.give_up(&broken, true),
        }
    }

    /// Reads an array as its objects.
    fn array(&mut self) -> bool {
        match parse::<IgnoredAny>(self.rest()) {
            Ok((_, length)) => {
                let objects = objects_of(&self.rest()[..length]);
                if objects.is_empty() {
                    self.skip(length);
                    return false;
                }
                let places =
                    objects.into_iter().map(|fields| LocatedObject { fields, in_line: false });
                self.found.objects.extend(places);
                self.step_over(length)
            }
            Err(broken) => {
                // Log lines begin with `[12:00:01]` or `[info]`.
                let inside = self.rest().trim_start_matches(|letter: char| {
                    letter == '[' || letter.is_ascii_whitespace()
                });
                let is_json = inside.starts_with('{');
                self.give_up(&broken, is_json)
            }
        }
    }

    /// Reads an object that log text precedes.
    fn object_in_line(&mut self) -> bool {
        // Most braces in a text do not begin an object.
        let inside = self.rest()[1..].trim_start_matches([' ', '\t', '\r', '\n']);
        if !inside.starts_with(['"', '}']) {
            let read = self.rest().len() - inside.len();
            let is_answer = begins_answer(inside);
            return self.give_up(&Broken { error: None, read }, is_answer);
        }
        match parse(self.rest()) {
            Ok((Object(fields), length)) => {
                self.found.objects.push(LocatedObject { fields, in_line: true });
                self.skip(length);
                false
            }
            Err(broken) => {
                let is_answer = begins_answer(inside);
                self.give_up(&broken, is_answer)
            }
        }
    }

    /// Advances past JSON; returns whether what follows is on a line of its own.
    fn step_over(&mut self, length: usize) -> bool {
        self.at += length;
        let rest = self.rest();
        let after = rest.trim_start_matches([' ', '\t', '\r']);
        if !after.starts_with('{') {
            return after.is_empty() || after.starts_with('\n');
        }
        self.at += rest.len() - after.len();
        true
    }

    /// Takes as text a character that does not begin any JSON; what follows it may.
    fn give_up(&mut self, broken: &Broken, is_failure: bool) -> bool {
        if is_failure {
            let why = || {
                let error = broken.error.as_ref().map(ToString::to_string).unwrap_or_default();
                format!("its output looks like JSON but does not parse, so it is ignored: {error}")
            };
            self.found.broken.get_or_insert_with(why);
        }
        self.budget = self.budget.saturating_sub(broken.read);
        self.skip(1);
        false
    }
}

/// Returns whether what follows a brace begins with a key that decides, in any quotes: then an
/// answer was meant, even where it cannot be parsed.
fn begins_answer(inside: &str) -> bool {
    const LONGEST: usize = 40;
    let quote = |letter: char| matches!(letter, '"' | '\'');
    let Some(rest) = inside.strip_prefix(quote) else { return false };
    let key = rest.split(quote).next().filter(|key| key.len() <= LONGEST && key.len() < rest.len());
    key.is_some_and(is_telling_key)
}

/// Text that does not parse.
struct Broken {
    error: Option<serde_json::Error>,
    /// How many bytes were read to find that out.
    read: usize,
}

/// Parses a value at the head of a text; returns it and its length.
fn parse<T: for<'de> Deserialize<'de>>(text: &str) -> Result<(T, usize), Broken> {
    let mut reader = serde_json::Deserializer::from_str(text).into_iter::<T>();
    match reader.next() {
        Some(Ok(value)) => Ok((value, reader.byte_offset())),
        Some(Err(error)) => {
            let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            let read = lines.map(str::len).sum::<usize>() + error.column();
            Err(Broken { error: Some(error), read: read.max(1) })
        }
        None => Err(Broken { error: None, read: 1 }),
    }
}

/// Returns the objects of an array that parses, and of arrays in it.
fn objects_of(array: &str) -> Vec<Fields> {
    let is_between =
        |letter: char| matches!(letter, '[' | ']' | ',') || letter.is_ascii_whitespace();
    let mut objects = Vec::new();
    let mut rest = array.trim_start_matches(is_between);
    while !rest.is_empty() {
        let length = if rest.starts_with('{') {
            parse(rest).map(|(Object(fields), length)| {
                objects.push(fields);
                length
            })
        } else {
            parse::<IgnoredAny>(rest).map(|(_, length)| length)
        };
        let Ok(length) = length else { break };
        rest = rest[length..].trim_start_matches(is_between);
    }
    objects
}

/// An object.
struct Object(Fields);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor).map(Self)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Fields;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let member = if is_same_key(&key, NESTING) {
                match map.next_value::<Nesting>()? {
                    Nesting::Object(fields) => {
                        let member = |(key, value)| (key, Member::Value(value));
                        Member::Nested(fields.into_iter().map(member).collect())
                    }
                    Nesting::Other(value) => Member::Value(value),
                }
            } else {
                Member::Value(map.next_value()?)
            };
            fields.push((key, member));
        }
        Ok(fields)
    }
}

/// The key that contains the decision in Claude Code's answers.
const NESTING: &str = "hookSpecificOutput";

/// The value of [`NESTING`]: an object with its duplicate keys, or something invalid.
enum Nesting {
    Object(Vec<(String, Value)>),
    Other(Value),
}

impl<'de> Deserialize<'de> for Nesting {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NestingVisitor;
        impl<'de> Visitor<'de> for NestingVisitor {
            type Value = Nesting;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Nesting, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Nesting::Object(fields))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Nesting, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Nesting::Other(Value::Array(Vec::new())))
            }

            fn visit_unit<E>(self) -> Result<Nesting, E> {
                Ok(Nesting::Other(Value::Null))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Nesting, E> {
                Ok(Nesting::Other(value.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Nesting, E> {
                Ok(Nesting::Other(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Nesting, E> {
                Ok(Nesting::Other(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Nesting, E> {
                Ok(Nesting::Other(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Nesting, E> {
                Ok(Nesting::Other(value.into()))
            }
        }
        deserializer.deserialize_any(NestingVisitor)
    }
}
