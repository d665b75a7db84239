//! Expansion of words: variables, substitutions, splitting into fields.

use super::braces::{self, Unit};
use super::output::Output;
use super::scope::Value;
use super::{Content, Reader};
use crate::syntax::{Index, List, Operation, Parameter, Piece, WordSyntax};
use crate::unknown::UnknownReason;
use crate::word::{Part, Word};

/// What a parameter expands to.
enum Expansion {
    One(Word),
    /// Each is a word of its own.
    Many(Vec<Word>),
}

/// The words that one word becomes.
#[derive(Default)]
struct Fields {
    done: Vec<Word>,
    current: Word,
    is_open: bool,
}

impl Fields {
    fn finish(&mut self) {
        if self.is_open {
            self.done.push(std::mem::take(&mut self.current));
            self.is_open = false;
        }
    }

    fn add(&mut self, word: &Word) {
        self.is_open = true;
        self.current.push_word(word);
        if word.is_glob() {
            self.current.set_glob(true);
        }
    }

    fn text(&mut self, text: &str, quoted: bool) {
        self.is_open = true;
        if quoted {
            self.current.push(text);
        } else {
            self.current.push_unquoted(text);
        }
    }

    /// Adds the value of an unquoted expansion, split into words.
    fn split(&mut self, word: &Word, separators: &str) {
        for part in word.parts() {
            match part {
                Part::Unknown(source) => {
                    self.is_open = true;
                    self.current.push_unknown(source);
                }
                Part::Known(text) => {
                    for (index, field) in text.split(|one| separators.contains(one)).enumerate() {
                        if index > 0 {
                            self.finish();
                        }
                        if !field.is_empty() {
                            self.text(field, false);
                        }
                    }
                }
            }
        }
    }
}

impl Reader {
    /// Expands a word to the words it becomes.
    pub(super) fn expand_argument(&mut self, word: &WordSyntax, words: &mut Vec<Word>) {
        if self.is_stopped {
            return;
        }
        if let [Piece::Text { text, quoted }] = word.as_slice()
            && (*quoted || !text.contains('{'))
        {
            self.spend(text.len());
            let mut fields = Fields::default();
            fields.text(text, *quoted);
            words.push(fields.current);
            return;
        }
        let has_braces = word.iter().any(
            |piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains('{')),
        );
        if !has_braces {
            let units: Vec<_> = word.iter().map(Unit::of).collect();
            return self.expand_units(&units, words);
        }
        match braces::expand(word) {
            Some(all) => all.iter().for_each(|units| self.expand_units(units, words)),
            None => {
                self.report(UnknownReason::TooMuchWork, "{…}");
                words.push(Word::unknown("{…}"));
            }
        }
    }

    fn expand_units(&mut self, units: &[Unit<'_>], words: &mut Vec<Word>) {
        let mut fields = Fields::default();
        for unit in units {
            match unit {
                Unit::Text(text, quoted) => {
                    self.spend(text.len());
                    fields.text(text, *quoted);
                }
                Unit::Owned(text) => fields.text(text, true),
                Unit::Piece(piece) => self.expand_into(piece, &mut fields),
            }
            if self.is_stopped {
                return;
            }
        }
        fields.finish();
        words.append(&mut fields.done);
    }

    fn expand_into(&mut self, piece: &Piece, fields: &mut Fields) {
        let (expansion, quoted) = match piece {
            Piece::Parameter { parameter, quoted, source } => {
                (self.parameter(parameter, source, fields.current.is_empty()), *quoted)
            }
            Piece::Substitution { list, quoted, source } => {
                (Expansion::One(self.substitution(list, source)), *quoted)
            }
            _ => (Expansion::One(self.expand_piece(piece)), true),
        };
        let separators = if quoted { String::new() } else { self.separators() };
        match expansion {
            Expansion::One(word) => {
                self.spend(word.text.len());
                if quoted { fields.add(&word) } else { fields.split(&word, &separators) }
            }
            Expansion::Many(words) => {
                for (index, word) in words.iter().enumerate() {
                    self.spend(word.text.len());
                    if index > 0 {
                        fields.finish();
                    }
                    if quoted { fields.add(word) } else { fields.split(word, &separators) }
                }
            }
        }
    }

    /// Expands a word that stays one, as in assignments.
    pub(super) fn expand_one(&mut self, word: &WordSyntax) -> Word {
        let mut all = Word::default();
        for piece in word {
            if self.is_stopped {
                break;
            }
            match piece {
                Piece::Parameter { parameter, source, .. } => {
                    match self.parameter(parameter, source, all.is_empty()) {
                        Expansion::One(word) => all.push_word(&word),
                        Expansion::Many(words) => all.push_word(&Word::joined(&words)),
                    }
                }
                _ => all.push_word(&self.expand_piece(piece)),
            }
        }
        self.spend(all.text.len());
        all
    }

    pub(super) fn expand_piece(&mut self, piece: &Piece) -> Word {
        match piece {
            Piece::Text { text, quoted: true } => Word::literal(text.clone()),
            Piece::Text { text, quoted: false } => {
                let mut word = Word::default();
                word.push_unquoted(text);
                word
            }
            Piece::Parameter { parameter, source, .. } => {
                match self.parameter(parameter, source, true) {
                    Expansion::One(word) => word,
                    Expansion::Many(words) => Word::joined(&words),
                }
            }
            Piece::Substitution { list, source, .. } => self.substitution(list, source),
            Piece::Process { list, source } => self.process(list, source),
            Piece::Arithmetic { inner, source } => {
                self.arithmetic(inner);
                number_of(inner).map_or_else(|| Word::unknown(source.clone()), Word::literal)
            }
            Piece::Gap { source } => Word::unknown(source.clone()),
        }
    }

    /// Returns what commands print, without line breaks at the end.
    fn substitution(&mut self, list: &List, source: &str) -> Word {
        match self.run_aside(list) {
            Output::Known(word) => trimmed_end(&word),
            Output::File | Output::Unknown(_) => Word::unknown(source),
        }
    }

    /// Reads commands of a substitution.
    fn run_aside(&mut self, list: &List) -> Output {
        let position = self.position;
        let output = self.subshell(|reader| reader.list(list));
        self.position = position;
        output
    }

    /// Names a process substitution like a file, whose content may be known.
    fn process(&mut self, list: &List, source: &str) -> Word {
        let output = self.run_aside(list);
        let name = format!("/dev/fd/{}", self.files.len());
        let word = Word::unknown(format!("{name} {source}"));
        self.files.insert(word.text.clone(), Content(output));
        word
    }

    fn separators(&self) -> String {
        match self.scope.get("IFS") {
            Some(Value::Scalar(word)) => word.known().unwrap_or(" \t\n").to_owned(),
            _ => " \t\n".to_owned(),
        }
    }

    fn parameter(&mut self, parameter: &Parameter, source: &str, at_start: bool) -> Expansion {
        if parameter.length {
            return Expansion::One(Word::unknown(source));
        }
        let mut name = parameter.name.clone();
        if let Index::One(index) = &parameter.index
            && self.scope.get(&name).is_none()
        {
            self.expand_one(index);
        }
        if parameter.indirect {
            match self.scope.get(&name) {
                Some(Value::Scalar(word)) if word.known().is_some() => name.clone_from(&word.text),
                _ => return Expansion::One(Word::unknown(source)),
            }
        }
        let base = self.base(&name, &parameter.index, at_start);
        self.operate(parameter, base, &name, source)
    }

    /// Returns the value without any operation, if the parameter is set.
    fn base(&mut self, name: &str, index: &Index, at_start: bool) -> Option<Expansion> {
        if let Some(value) = self.scope.get(name).cloned() {
            return self.element_of(value, index, name);
        }
        let positional = self.scope.positional();
        let unknown = || Some(Expansion::One(Word::unknown(format!("${name}"))));
        match name {
            "@" | "*" => match positional {
                Some(words) => Some(Expansion::Many(words.to_vec())),
                None => unknown(),
            },
            _ if name.starts_with(|one: char| one.is_ascii_digit()) => {
                let place: usize = name.parse().unwrap_or(usize::MAX);
                match (place, positional) {
                    (0, _) => Some(Expansion::One(Word::literal("bash"))),
                    (_, None) => unknown(),
                    (_, Some(words)) => words.get(place - 1).cloned().map(Expansion::One),
                }
            }
            "HOME" => Some(Expansion::One(Word::literal("~"))),
            "PWD" if at_start => Some(Expansion::One(Word::literal("."))),
            "IFS" => Some(Expansion::One(Word::literal(" \t\n"))),
            "SHELL" => Some(Expansion::One(Word::literal("/bin/sh"))),
            "BASH" => Some(Expansion::One(Word::literal("/bin/bash"))),
            _ if !name.starts_with(|one: char| one.is_ascii_alphabetic() || one == '_') => {
                unknown()
            }
            _ => None,
        }
    }

    fn element_of(&mut self, value: Value, index: &Index, name: &str) -> Option<Expansion> {
        let unknown = || Some(Expansion::One(Word::unknown(format!("${name}"))));
        match (value, index) {
            (Value::Unknown, _) => unknown(),
            (Value::Scalar(word), _) => Some(Expansion::One(word)),
            (Value::Array(words), Index::All) => Some(Expansion::Many(words)),
            (Value::Array(words), Index::None) => words.into_iter().next().map(Expansion::One),
            (Value::Array(words), Index::One(index)) => {
                let index = self.expand_one(index);
                match index.known().and_then(|text| text.parse::<usize>().ok()) {
                    Some(place) => words.into_iter().nth(place).map(Expansion::One),
                    None => unknown(),
                }
            }
        }
    }

    fn operate(
        &mut self,
        parameter: &Parameter,
        base: Option<Expansion>,
        name: &str,
        source: &str,
    ) -> Expansion {
        let unset = || Expansion::One(Word::unknown(format!("${name}")));
        match &parameter.operation {
            Operation::None => base.unwrap_or_else(|| self.unset(name)),
            Operation::Default { word, colon, assign } => {
                let word = self.expand_one(word);
                match base {
                    Some(value) if !(*colon && is_empty(&value)) => value,
                    _ => {
                        if *assign {
                            self.scope.set(name, Value::Scalar(word.clone()));
                        }
                        Expansion::One(word)
                    }
                }
            }
            Operation::Alternative(word) => {
                let word = self.expand_one(word);
                match base {
                    Some(value) if is_known_empty(&value) => Expansion::One(Word::default()),
                    Some(_) => Expansion::One(word),
                    None => Expansion::One(Word::unknown(source)),
                }
            }
            Operation::Remove { word, suffix } => {
                let pattern = self.expand_one(word);
                let removed = one(base).and_then(|value| removed(&value, &pattern, *suffix));
                Expansion::One(removed.unwrap_or_else(|| Word::unknown(source)))
            }
            Operation::Replace { pattern, replacement, all } => {
                let pattern = self.expand_one(pattern);
                let replacement = self.expand_one(replacement);
                let replaced =
                    one(base).and_then(|value| self.replaced(&value, &pattern, &replacement, *all));
                Expansion::One(replaced.unwrap_or_else(|| Word::unknown(source)))
            }
            Operation::Case { upper } => match one(base).as_ref().and_then(Word::known) {
                Some(text) if *upper => Expansion::One(Word::literal(text.to_uppercase())),
                Some(text) => Expansion::One(Word::literal(text.to_lowercase())),
                None => Expansion::One(Word::unknown(source)),
            },
            Operation::Substring { from, length } => {
                let from = self.expand_one(from);
                let length = length.as_ref().map(|length| self.expand_one(length));
                match base {
                    Some(Expansion::Many(words)) => {
                        slice(&words, &from, length.as_ref()).map_or_else(unset, Expansion::Many)
                    }
                    Some(Expansion::One(value)) => {
                        let part = substring(&value, &from, length.as_ref());
                        Expansion::One(part.unwrap_or_else(|| Word::unknown(source)))
                    }
                    None => Expansion::One(Word::unknown(source)),
                }
            }
            Operation::Required(word) => {
                self.expand_one(word);
                base.unwrap_or_else(|| Expansion::One(Word::unknown(source)))
            }
            Operation::Other(word) => {
                self.expand_one(word);
                Expansion::One(Word::unknown(source))
            }
        }
    }

    /// A variable that this line does not set: it may come from the environment.
    fn unset(&self, name: &str) -> Expansion {
        let is_position = name.starts_with(|one: char| one.is_ascii_digit());
        if is_position && self.scope.positional().is_some() {
            return Expansion::One(Word::default());
        }
        Expansion::One(Word::unknown(format!("${name}")))
    }

    /// Replaces a text that is no pattern.
    fn replaced(&mut self, value: &Word, pattern: &Word, by: &Word, all: bool) -> Option<Word> {
        let (value, text, by) = (value.known()?, pattern.known()?, by.known()?);
        if pattern.is_glob() || text.is_empty() || text.starts_with(['#', '%']) {
            return None;
        }
        let count = value.matches(text).count();
        self.spend(count * by.len()).then(|| {
            Word::literal(if all { value.replace(text, by) } else { value.replacen(text, by, 1) })
        })
    }
}

fn one(expansion: Option<Expansion>) -> Option<Word> {
    match expansion? {
        Expansion::One(word) => Some(word),
        Expansion::Many(_) => None,
    }
}

fn is_empty(expansion: &Expansion) -> bool {
    match expansion {
        Expansion::One(word) => word.is_empty(),
        Expansion::Many(words) => words.is_empty(),
    }
}

fn is_known_empty(expansion: &Expansion) -> bool {
    is_empty(expansion)
}

/// Removes a beginning or an end that is no pattern.
fn removed(value: &Word, pattern: &Word, suffix: bool) -> Option<Word> {
    let (text, pattern_text) = (value.known()?, pattern.known()?);
    if pattern.is_glob() {
        return None;
    }
    let rest =
        if suffix { text.strip_suffix(pattern_text) } else { text.strip_prefix(pattern_text) };
    Some(Word::literal(rest.unwrap_or(text)))
}

/// Returns the start and the length, if they are numbers.
fn bounds(from: &Word, length: Option<&Word>, all: usize) -> Option<(usize, usize)> {
    let number = |word: &Word| word.known()?.trim().parse::<isize>().ok();
    let from = number(from)?;
    let start = usize::try_from(from).unwrap_or_else(|_| all.saturating_sub(from.unsigned_abs()));
    let start = start.min(all);
    let end = match length {
        None => all,
        Some(length) => match usize::try_from(number(length)?) {
            Ok(length) => start.saturating_add(length).min(all),
            Err(_) => all.saturating_sub(number(length)?.unsigned_abs()).max(start),
        },
    };
    Some((start, end - start))
}

fn substring(value: &Word, from: &Word, length: Option<&Word>) -> Option<Word> {
    let text = value.known()?;
    let (start, length) = bounds(from, length, text.chars().count())?;
    Some(Word::literal(text.chars().skip(start).take(length).collect::<String>()))
}

fn slice(words: &[Word], from: &Word, length: Option<&Word>) -> Option<Vec<Word>> {
    let (start, length) = bounds(from, length, words.len())?;
    Some(words[start..start + length].to_vec())
}

/// Returns the number an arithmetic expansion consists of.
fn number_of(pieces: &[Piece]) -> Option<String> {
    let [Piece::Text { text, .. }] = pieces else { return None };
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.to_owned())
}

fn trimmed_end(word: &Word) -> Word {
    if let Some(text) = word.known() {
        return Word::literal(text.trim_end_matches('\n'));
    }
    let mut trimmed = Word::default();
    let parts = word.parts();
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Known(text) if index + 1 == parts.len() => {
                trimmed.push(text.trim_end_matches('\n'));
            }
            Part::Known(text) => trimmed.push(text),
            Part::Unknown(source) => trimmed.push_unknown(source),
        }
    }
    trimmed
}
