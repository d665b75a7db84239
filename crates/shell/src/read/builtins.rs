//! Builtins that change what later commands mean.

use super::output::Output;
use super::scope::Value;
use super::{Reader, Run};
use crate::command::Folder;
use crate::programs::contains;
use crate::unknown::UnknownReason;
use crate::word::Word;

/// Builtins whose effects last.
const LASTING: &str = "cd chdir pushd popd export declare local readonly typeset unset read mapfile \
                       readarray set shift alias unalias eval source . printf getopts let trap exec \
                       command builtin";

/// Whether what a builtin sets remains.
pub(super) fn changes_scope(program: &str) -> bool {
    contains(LASTING, program)
}

impl Reader {
    pub(super) fn builtin(&mut self, name: &str, run: &Run) -> Option<Output> {
        let arguments = &run.words[1..];
        match name {
            "cd" | "chdir" | "pushd" | "popd" => self.change_folder(name, arguments),
            "export" | "declare" | "local" | "readonly" | "typeset" => self.declare(arguments),
            "unset" => self.unset_all(arguments),
            "read" => self.read_variables(run),
            "mapfile" | "readarray" => {
                let name = arguments.last().and_then(Word::known).unwrap_or("MAPFILE").to_owned();
                self.scope.set(&name, Value::Unknown);
            }
            "set" => self.set_positional(arguments),
            "shift" => self.shift(arguments),
            "let" => {
                for word in arguments {
                    if let Some((name, _)) = word.split_once('=') {
                        self.scope.set(name, Value::Unknown);
                    }
                }
            }
            "getopts" => {
                if let Some(name) = arguments.get(1).and_then(Word::known) {
                    self.scope.set(name, Value::Unknown);
                }
            }
            "printf" if arguments.first().is_some_and(|word| word.text == "-v") => {
                let variable = arguments.get(1).and_then(Word::known)?;
                let words = std::iter::once(run.words[0].clone()).chain(arguments[2..].to_vec());
                let inner = Run {
                    words: words.collect(),
                    assignments: Vec::new(),
                    redirections: Vec::new(),
                    input: None,
                };
                let value = match self.output("printf", &inner) {
                    Output::Known(word) => Value::Scalar(word),
                    _ => Value::Unknown,
                };
                self.scope.set(variable, value);
            }
            "alias" => self.define_aliases(arguments),
            "unalias" => {
                for word in arguments {
                    self.aliases.remove(&word.text);
                }
            }
            "trap" => {
                if arguments.len() > 1 && arguments[0].text != "-" && !arguments[0].is_empty() {
                    let code = arguments[0].clone();
                    self.read_text(&code, "trap");
                }
            }
            "eval" => {
                let arguments = match arguments.first() {
                    Some(first) if first.text == "--" => &arguments[1..],
                    _ => arguments,
                };
                let code = Word::joined(arguments);
                return Some(self.run_code(&code, "eval"));
            }
            "source" | "." => return Some(self.source(run)),
            _ => return None,
        }
        (name != "pushd").then(Output::empty)
    }

    /// Reads a text that a command runs as shell, and marks the command if parts are unknown.
    pub(super) fn run_code(&mut self, code: &Word, via: &str) -> Output {
        if code.known().is_none() {
            self.mark_unknown();
        }
        self.read_text(code, via)
    }

    fn change_folder(&mut self, name: &str, arguments: &[Word]) {
        let current = self.scope.folder().clone();
        let is_flag = |word: &&Word| {
            word.known().is_some_and(|text| contains("-P -L -e -@ -n -q -- -PL -LP", text))
        };
        let count = arguments.iter().take_while(is_flag).count();
        let target = arguments.get(count);
        let folder = match (name, target.map(|word| (word.known(), word.is_glob()))) {
            ("popd", _) => self.folders.pop().unwrap_or(Folder::Unknown),
            ("pushd", None) => Folder::Unknown,
            (_, None) => Folder::Absolute("~".to_owned()),
            (_, Some((Some("-"), _))) => self.folders.last().cloned().unwrap_or(Folder::Unknown),
            (_, Some((Some(""), _))) => current.clone(),
            (_, Some((Some(path), false))) => current.join(path),
            (_, Some(_)) => Folder::Unknown,
        };
        if name != "popd" && self.folders.len() < 256 {
            self.folders.push(current);
        }
        self.scope.set_folder(folder);
    }

    fn declare(&mut self, arguments: &[Word]) {
        // `-n` makes a variable stand for another one.
        let is_reference = arguments
            .iter()
            .any(|word| word.prefix().starts_with('-') && word.prefix().contains('n'));
        for word in arguments {
            if is_reference && let Some((name, _)) = word.split_once('=') {
                let name = name.to_owned();
                self.scope.set(&name, Value::Unknown);
            } else if let Some((name, value)) = word.split_once('=') {
                let append = name.ends_with('+');
                let name = name.trim_end_matches('+').to_owned();
                let old = append.then(|| self.scope.get(&name).cloned()).flatten();
                self.scope.set(&name, super::appended(old, value.clone()));
                self.executed_variables(&[(name, value)]);
            }
        }
    }

    fn unset_all(&mut self, arguments: &[Word]) {
        for word in arguments {
            let Some(name) = word.known().filter(|name| !name.starts_with('-')) else { continue };
            self.scope.set(name, Value::Scalar(Word::default()));
            if let Some(function) = self.functions.get(name)
                && function.is_called
            {
                self.functions.remove(name);
            }
        }
    }

    fn read_variables(&mut self, run: &Run) {
        let names: Vec<&str> = run.words[1..]
            .iter()
            .filter_map(Word::known)
            .filter(|name| {
                !name.is_empty()
                    && name.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'_')
            })
            .collect();
        let line = run.input.as_ref().and_then(Output::known).and_then(|text| text.lines().next());
        let line = line.map(str::to_owned);
        let mut rest = line.as_deref().map(str::trim);
        for (index, name) in names.iter().enumerate() {
            let is_last = index + 1 == names.len();
            let value = match rest {
                None => Value::Unknown,
                Some(text) if is_last => Value::Scalar(Word::literal(text)),
                Some(text) => {
                    let (field, next) = text.split_once([' ', '\t']).unwrap_or((text, ""));
                    rest = Some(next.trim_start());
                    Value::Scalar(Word::literal(field))
                }
            };
            self.scope.set(name, value);
        }
        if names.is_empty() {
            self.scope.set(
                "REPLY",
                line.map_or(Value::Unknown, |line| Value::Scalar(Word::literal(line))),
            );
        }
    }

    fn set_positional(&mut self, arguments: &[Word]) {
        let Some(first) = arguments.first() else { return };
        let words = match first.known() {
            Some("--") => &arguments[1..],
            Some(text) if text.starts_with(['-', '+']) => {
                match arguments.iter().position(|word| word.text == "--") {
                    Some(place) => &arguments[place + 1..],
                    None => return,
                }
            }
            _ => arguments,
        };
        self.scope.set_positional(Some(words.to_vec()));
    }

    fn shift(&mut self, arguments: &[Word]) {
        let count = match arguments.first().map(Word::known) {
            None => Some(1),
            Some(text) => text.and_then(|text| text.parse::<usize>().ok()),
        };
        let rest = match (self.scope.positional(), count) {
            (Some(words), Some(count)) => Some(words.get(count..).unwrap_or(words).to_vec()),
            _ => None,
        };
        self.scope.set_positional(rest);
    }

    fn define_aliases(&mut self, arguments: &[Word]) {
        for word in arguments {
            let Some((name, value)) = word.split_once('=') else { continue };
            match value.known() {
                Some(text) => {
                    self.aliases.insert(name.to_owned(), text.to_owned());
                }
                None => self.report(UnknownReason::ComputedCode, &word.text),
            }
        }
    }

    /// Reads a file that a shell runs, if this line wrote it.
    fn source(&mut self, run: &Run) -> Output {
        let Some(word) = run.words.get(1) else { return Output::empty() };
        match self.content_of(word) {
            Some(content) => self.run_output(content, "source", &word.text),
            None if word.known() == Some("/dev/stdin") => {
                let input = run.input.clone().unwrap_or_else(Output::computed);
                self.run_output(input, "source", &word.text)
            }
            None => Output::computed(),
        }
    }

    /// Returns what a file has that this line wrote, or a process substitution prints.
    pub(super) fn content_of(&self, word: &Word) -> Option<Output> {
        match word.known() {
            Some(path) => self.file(path).map(|content| content.0),
            None => self.files.get(&word.text).map(|content| content.0.clone()),
        }
    }

    /// Reads an output that is run as shell.
    pub(super) fn run_output(&mut self, code: Output, via: &str, source: &str) -> Output {
        match code {
            Output::Known(code) => self.run_code(&code, via),
            Output::File => Output::computed(),
            Output::Unknown(reason) => {
                self.unknown_code(reason, source);
                Output::computed()
            }
        }
    }
}
