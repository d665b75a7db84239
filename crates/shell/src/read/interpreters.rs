//! Interpreters with code in their arguments or their input.

use super::code::{self, Action, Language};
use super::output::Output;
use super::{Reader, Run};
use crate::command::Redirection;
use crate::programs::contains;
use crate::unknown::UnknownReason;
use crate::word::Word;
use crate::wrappers;

/// How an interpreter is called.
struct Interpreter {
    names: &'static str,
    /// `None` if code in it is not read.
    language: Option<Language>,
    /// Options whose value is code.
    code: &'static str,
    /// Other options that take a value.
    values: &'static str,
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: "python python2 python3 pypy pypy3 ipython ipython3",
        language: Some(Language::Python),
        code: "-c",
        values: "-W -X -Q",
    },
    Interpreter {
        names: "node nodejs bun tsx ts-node deno",
        language: Some(Language::JavaScript),
        code: "-e --eval -p --print -pe",
        values: "-r --require --import --loader -C --conditions",
    },
    Interpreter { names: "perl", language: Some(Language::Perl), code: "-e -E", values: "-I" },
    Interpreter {
        names: "ruby jruby",
        language: Some(Language::Ruby),
        code: "-e",
        values: "-I -r -C",
    },
    Interpreter { names: "php", language: Some(Language::Php), code: "-r", values: "-d -c -f" },
    Interpreter { names: "lua luajit", language: Some(Language::Lua), code: "-e", values: "-l" },
    Interpreter {
        names: "Rscript R julia elixir groovy scala ghc guile tclsh erl swift racket sbcl iex raku",
        language: None,
        code: "-e -E -c --eval -eval",
        values: "",
    },
];

impl Reader {
    pub(super) fn interpreter(&mut self, name: &str, run: &Run) -> Option<Output> {
        if contains("awk gawk mawk nawk busybox-awk", name) {
            return Some(self.awk(run));
        }
        // `python3.12`
        let plain = match name.strip_prefix("python") {
            Some(version) if version.starts_with(|one: char| one.is_ascii_digit()) => "python",
            _ => name,
        };
        let interpreter = INTERPRETERS.iter().find(|one| contains(one.names, plain))?;
        let codes = codes(run, interpreter);
        if !codes.is_empty() {
            for code in &codes {
                self.run_language(code, interpreter.language);
            }
            return Some(Output::Unknown(UnknownReason::ComputedCode));
        }
        let first = wrappers::inner(run, interpreter.values, 0).into_iter().next();
        if run.words[1..]
            .iter()
            .any(|word| word.prefix().starts_with("-m") && plain.starts_with("py"))
        {
            return Some(Output::computed());
        }
        match first {
            Some(word) if plain == "deno" && word.text == "eval" => {
                let words = wrappers::inner(run, interpreter.values, 1);
                if let Some(code) = wrappers::skip_options(&words, "").first() {
                    self.run_language(code, interpreter.language);
                }
            }
            Some(word) if !matches!(word.known(), Some("-" | "/dev/stdin")) => {
                if let Some(content) = self.content_of(&word) {
                    self.run_content(content, interpreter.language, &word.text);
                }
            }
            _ => {
                if let Some(input) = run.input.clone() {
                    let source = Word::joined(&run.words).text;
                    self.run_content(input, interpreter.language, &source);
                }
            }
        }
        Some(Output::Unknown(UnknownReason::ComputedCode))
    }

    fn run_content(&mut self, content: Output, language: Option<Language>, source: &str) {
        match content {
            Output::Known(code) => self.run_language(&code, language),
            Output::File => {}
            Output::Unknown(reason) => self.unknown_code(reason, source),
        }
    }

    fn run_language(&mut self, code: &Word, language: Option<Language>) {
        let Some(language) = language else {
            return self.unknown_code(UnknownReason::Language, &code.text);
        };
        if code.known().is_none() {
            self.unknown_code(UnknownReason::ComputedCode, &code.text);
        }
        if !self.spend(code.text.len() * 2) {
            return;
        }
        let found = code::read(&code.marked(), language);
        if found.is_unknown {
            self.unknown_code(UnknownReason::InterpreterCode, &code.text);
        }
        for action in found.actions {
            if self.is_stopped {
                return;
            }
            self.act(action, language.name());
        }
    }

    fn act(&mut self, action: Action, via: &str) {
        let nothing = || Run {
            words: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            input: None,
        };
        match action {
            Action::Shell(code) => {
                self.subshell(|reader| reader.read_text(&code, via));
            }
            Action::Words(words) => {
                self.run_inner(via, words, &nothing());
            }
            Action::File(kind, target) => {
                self.nested(via, |reader| {
                    let run = Run { redirections: vec![Redirection { kind, target }], ..nothing() };
                    reader.emit(reader.line.commands.len(), &run);
                    Output::empty()
                });
            }
        }
    }

    fn awk(&mut self, run: &Run) -> Output {
        let from_file = run.words[1..]
            .iter()
            .any(|word| word.prefix().starts_with("-f") || word.prefix().starts_with("--file"));
        let values = "-F -v -f --file --assign --field-separator -e --source";
        if !from_file && let Some(code) = wrappers::inner(run, values, 0).into_iter().next() {
            self.run_language(&code, Some(Language::Awk));
        }
        Output::Unknown(run_reason(run))
    }
}

/// Why the output of a filter cannot be told.
fn run_reason(run: &Run) -> UnknownReason {
    match &run.input {
        Some(Output::Unknown(reason)) => *reason,
        _ => UnknownReason::InputCode,
    }
}

/// Returns the code in an interpreter's options.
fn codes(run: &Run, interpreter: &Interpreter) -> Vec<Word> {
    let mut codes = Vec::new();
    let mut at = 1;
    while let Some(word) = run.words.get(at) {
        let text = word.prefix();
        at += 1;
        if !text.starts_with('-') || text == "-" || text == "--" {
            break;
        }
        if let Some((name, code)) = word.split_once('=')
            && contains(interpreter.code, name)
        {
            codes.push(code);
            continue;
        }
        match code_option(text, interpreter.code) {
            // The code is in the same word.
            Some(place) if place < word.text.len() => codes.push(word.after(place)),
            Some(_) => {
                codes.extend(run.words.get(at).cloned());
                at += 1;
            }
            None => at += usize::from(wrappers::takes_value(text, interpreter.values)),
        }
    }
    codes
}

/// Returns where the code begins if an option takes code: its end if the next word is the code.
fn code_option(option: &str, code: &str) -> Option<usize> {
    if contains(code, option) {
        return Some(option.len());
    }
    if option.starts_with("--") {
        return None;
    }
    // Also in bundles such as `-ne`, and before the code as in `-c'…'`.
    let is_code = |letter: char| {
        code.split(' ').any(|one| one.strip_prefix('-') == Some(letter.encode_utf8(&mut [0; 4])))
    };
    let mut letters = option.char_indices().skip(1);
    let (place, letter) =
        letters.find(|&(_, letter)| is_code(letter) || !letter.is_ascii_alphanumeric())?;
    let attached = matches!(letter, 'i' | 'I' | 'm' | 'M');
    (is_code(letter) && !attached).then_some(place + 1)
}
