//! Runs a line in the mind: follows what can be told of variables, functions, folders and outputs,
//! and lists the commands.

mod braces;
mod builtins;
mod code;
mod compound;
mod decode;
mod expand;
mod interpreters;
mod options;
mod output;
mod remote;
mod scope;
mod shells;
mod xargs;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::command::{CommandLine, Redirection, RedirectionKind, ShellCommand, base_name};
use crate::limits::{MAX_COMMANDS, MAX_LINE, MAX_NESTING, MAX_UNKNOWN, MAX_WORK, shortened};
use crate::syntax::{
    self, Argument, AssignedValue, Assignment, Command, Operator, RedirectionSyntax, Script,
    Simple, TargetSyntax, WordSyntax,
};
use crate::unknown::{Unknown, UnknownReason};
use crate::word::Word;
use crate::{programs, wrappers};
use output::Output;
use scope::{Scope, Value};

/// Reads a command line.
pub(crate) fn read(line: &str) -> CommandLine {
    let mut reader = Reader::new();
    if line.len() > MAX_LINE {
        reader.report(UnknownReason::TooLong, line);
        return reader.line;
    }
    reader.read_script(syntax::parse(line, 0));
    reader.read_uncalled();
    reader.line
}

struct Function {
    body: Rc<Command>,
    bodies: Rc<Vec<WordSyntax>>,
    is_called: bool,
}

/// What a file contains that was written by this line.
#[derive(Debug, Clone)]
struct Content(Output);

struct Reader {
    line: CommandLine,
    scope: Scope,
    functions: BTreeMap<String, Function>,
    aliases: BTreeMap<String, String>,
    files: BTreeMap<String, Content>,
    /// Bodies of here-documents of the text that is being read.
    bodies: Rc<Vec<WordSyntax>>,
    /// What the commands that run now read, if it is not the terminal.
    input: Option<Output>,
    via: Vec<String>,
    calls: Vec<String>,
    folders: Vec<crate::command::Folder>,
    is_remote: bool,
    depth: u32,
    loops: usize,
    work: usize,
    is_stopped: bool,
    pipelines: u32,
    /// The place of the command that runs now.
    current: usize,
    /// The pipeline and the place in it.
    position: (u32, u32),
}

/// A simple command whose words are known as far as can be told.
struct Run {
    words: Vec<Word>,
    assignments: Vec<(String, Word)>,
    redirections: Vec<Redirection>,
    input: Option<Output>,
}

impl Reader {
    fn new() -> Self {
        Self {
            line: CommandLine::default(),
            scope: Scope::new(),
            functions: BTreeMap::new(),
            aliases: BTreeMap::new(),
            files: BTreeMap::new(),
            bodies: Rc::default(),
            input: None,
            via: Vec::new(),
            calls: Vec::new(),
            folders: Vec::new(),
            is_remote: false,
            depth: 0,
            loops: 0,
            work: MAX_WORK,
            is_stopped: false,
            pipelines: 0,
            current: 0,
            position: (0, 0),
        }
    }

    fn report(&mut self, reason: UnknownReason, text: &str) {
        let unknown = Unknown { reason, text: shortened(text) };
        if self.line.unknown.len() < MAX_UNKNOWN && !self.line.unknown.contains(&unknown) {
            self.line.unknown.push(unknown);
        }
    }

    fn stop(&mut self, reason: UnknownReason, text: &str) {
        if !self.is_stopped {
            self.is_stopped = true;
            // There must be room for it.
            self.line.unknown.truncate(MAX_UNKNOWN - 1);
            self.report(reason, text);
        }
    }

    /// Accounts for bytes that are produced. Returns whether there may be more.
    fn spend(&mut self, bytes: usize) -> bool {
        match self.work.checked_sub(bytes) {
            Some(rest) => self.work = rest,
            None => self.stop(UnknownReason::TooMuchWork, ""),
        }
        !self.is_stopped
    }

    fn read_script(&mut self, script: Script) -> Output {
        for unknown in script.unknown {
            self.report(unknown.reason, &unknown.text);
        }
        let bodies = std::mem::replace(&mut self.bodies, Rc::new(script.bodies));
        let output = self.list(&script.list);
        self.bodies = bodies;
        output
    }

    /// Reads a text that is run as shell, by something.
    fn read_text(&mut self, text: &Word, via: &str) -> Output {
        if text.known().is_none() {
            self.report(gap_reason(text), &text.text);
        }
        if !self.spend(text.text.len()) {
            return Output::computed();
        }
        self.nested(via, |reader| {
            let position = reader.position;
            let output = reader.read_script(syntax::parse(&text.marked(), reader.depth));
            reader.position = position;
            output
        })
    }

    /// Does something one level deeper, for commands that are run by `via`.
    fn nested(&mut self, via: &str, act: impl FnOnce(&mut Self) -> Output) -> Output {
        if self.depth >= MAX_NESTING {
            self.report(UnknownReason::TooDeep, via);
            return Output::computed();
        }
        self.depth += 1;
        self.via.push(via.to_owned());
        let current = self.current;
        let output = act(self);
        self.current = current;
        self.via.pop();
        self.depth -= 1;
        output
    }

    /// Does something whose variables and folder are forgotten afterwards.
    fn subshell(&mut self, act: impl FnOnce(&mut Self) -> Output) -> Output {
        let mark = self.scope.mark();
        let output = act(self);
        self.scope.undo(mark);
        output
    }

    /// Reads functions that nothing called: they may be called by something that is not known.
    fn read_uncalled(&mut self) {
        while let Some((name, body, bodies)) = self.next_uncalled() {
            self.scope.set_positional(None);
            self.calls.push(name);
            let before = std::mem::replace(&mut self.bodies, bodies);
            self.pipelines += 1;
            self.position = (self.pipelines, 0);
            self.command(&body);
            self.bodies = before;
            self.calls.pop();
        }
    }

    fn next_uncalled(&mut self) -> Option<(String, Rc<Command>, Rc<Vec<WordSyntax>>)> {
        let (name, function) = self.functions.iter_mut().find(|(_, one)| !one.is_called)?;
        function.is_called = true;
        Some((name.clone(), Rc::clone(&function.body), Rc::clone(&function.bodies)))
    }

    fn simple(&mut self, simple: &Simple) -> Output {
        if self.is_stopped {
            return Output::computed();
        }
        let start = self.line.commands.len();
        let position = self.position;
        if let Some(output) = self.alias(simple) {
            return output;
        }
        let values: Vec<_> = simple.assignments.iter().map(|one| self.assigned(one)).collect();
        let mut words = Vec::with_capacity(simple.words.len());
        let mut arrays = Vec::new();
        for argument in &simple.words {
            match argument {
                Argument::Word(word) => self.expand_argument(word, &mut words),
                Argument::Array(array) => arrays.push(self.assigned(array)),
            }
        }
        let (redirections, input) = self.redirections(&simple.redirections);
        let assignments =
            values.iter().chain(&arrays).map(|(name, value)| (name.clone(), value_word(value)));
        let run = Run { words, assignments: assignments.collect(), redirections, input };
        self.position = position;
        self.emit(start, &run);
        if run.words.is_empty() {
            self.executed_variables(&run.assignments);
            for (name, value) in values {
                self.set(&name, value);
            }
            return self.redirected(Output::empty(), &run.redirections);
        }
        let mark = self.scope.mark();
        for (name, value) in values {
            self.set(&name, value);
        }
        self.executed_variables(&run.assignments);
        let builtin = run.words[0].known().is_some_and(builtins::changes_scope);
        if !builtin && !run.assignments.is_empty() {
            let output = self.run(&run);
            self.scope.undo(mark);
            return self.redirected(output, &run.redirections);
        }
        for (name, value) in arrays {
            self.set(&name, value);
        }
        let output = self.run(&run);
        self.position = position;
        self.redirected(output, &run.redirections)
    }

    /// Sets a variable, and reads its value if shells run it.
    fn set(&mut self, name: &str, value: Value) {
        self.scope.set(name, value);
    }

    /// Adds a command before those found while its words were expanded.
    fn emit(&mut self, start: usize, run: &Run) {
        if self.line.commands.len() >= MAX_COMMANDS {
            return self.stop(UnknownReason::TooManyCommands, "");
        }
        let command = ShellCommand {
            words: run.words.clone(),
            assignments: run.assignments.iter().cloned().chain(declared(&run.words)).collect(),
            redirections: run.redirections.clone(),
            pipeline: self.position.0,
            place: self.position.1,
            via: self.via.clone(),
            folder: self.scope.folder().clone(),
            is_remote: self.is_remote,
            is_unknown: false,
        };
        let bytes: usize = run.words.iter().map(|word| word.text.len() + 8).sum();
        self.spend(bytes + 16);
        let unknown = command.program().is_none() && !command.words.is_empty();
        self.current = start.min(self.line.commands.len());
        self.line.commands.insert(self.current, command);
        if unknown {
            let text = Word::joined(&run.words).text;
            self.report(UnknownReason::Program, &text);
            self.line.commands[self.current].is_unknown = true;
        }
    }

    /// Marks the command that runs now: what it runs cannot be told.
    fn unknown_code(&mut self, reason: UnknownReason, text: &str) {
        self.report(reason, text);
        self.mark_unknown();
    }

    fn mark_unknown(&mut self) {
        if let Some(command) = self.line.commands.get_mut(self.current) {
            command.is_unknown = true;
        }
    }

    /// Lists and runs a command that another one runs, in the same place of the pipeline.
    fn run_inner(&mut self, via: &str, words: Vec<Word>, outer: &Run) -> Output {
        if words.is_empty() || self.is_stopped {
            return Output::empty();
        }
        self.nested(via, |reader| {
            let run = Run {
                words,
                assignments: outer.assignments.clone(),
                redirections: outer.redirections.clone(),
                input: outer.input.clone(),
            };
            reader.emit(reader.line.commands.len(), &run);
            reader.run(&run)
        })
    }

    /// Follows what a command does. Returns what it prints.
    fn run(&mut self, run: &Run) -> Output {
        if self.is_stopped {
            return Output::computed();
        }
        let Some(program) = run.words[0].known() else { return self.run_unknown(run) };
        let name = base_name(program).to_owned();
        if let Some(output) = self.call(&name, run) {
            return output;
        }
        if program.contains('/')
            && let Some(Content(content)) = self.file(program)
        {
            return self.run_file(&name, &content, run);
        }
        self.options_that_run(&name, run);
        if let Some(output) = self.builtin(&name, run) {
            return output;
        }
        if let Some(output) = self.shell(&name, run) {
            return output;
        }
        if let Some(output) = self.interpreter(&name, run) {
            return output;
        }
        if let Some(output) = self.remote(&name, run) {
            return output;
        }
        if let Some(output) = self.many(&name, run) {
            return output;
        }
        if let Some(wrapper) = wrappers::find(&name) {
            return self.wrapper(wrapper, run);
        }
        self.output(&name, run)
    }

    /// A program that cannot be told may be nothing, or a wrapper.
    fn run_unknown(&mut self, run: &Run) -> Output {
        let next = run.words.get(1).and_then(Word::known).map(base_name);
        let known =
            |name: &str| programs::find(name).name == name || wrappers::find(name).is_some();
        if next.is_some_and(known) {
            let via = run.words[0].text.clone();
            self.run_inner(&via, run.words[1..].to_vec(), run);
        }
        Output::computed()
    }

    /// Calls a function of this line.
    fn call(&mut self, name: &str, run: &Run) -> Option<Output> {
        if self.calls.iter().any(|call| call == name) || self.calls.len() > 8 {
            return None;
        }
        let function = self.functions.get_mut(name)?;
        function.is_called = true;
        let (body, bodies) = (Rc::clone(&function.body), Rc::clone(&function.bodies));
        let before = self.scope.positional().map(<[Word]>::to_vec);
        self.scope.set_positional(Some(run.words[1..].to_vec()));
        self.calls.push(name.to_owned());
        let bodies = std::mem::replace(&mut self.bodies, bodies);
        let input = std::mem::replace(&mut self.input, run.input.clone());
        let position = self.position;
        self.depth += 1;
        let output = if self.depth > MAX_NESTING {
            self.report(UnknownReason::TooDeep, name);
            Output::computed()
        } else {
            self.command(&body)
        };
        self.depth -= 1;
        self.position = position;
        self.input = input;
        self.bodies = bodies;
        self.calls.pop();
        self.scope.set_positional(before);
        Some(output)
    }

    /// Expands an alias in front of a command.
    fn alias(&mut self, simple: &Simple) -> Option<Output> {
        let Some(Argument::Word(first)) = simple.words.first() else { return None };
        let [syntax::Piece::Text { text, quoted: false }] = first.as_slice() else { return None };
        if self.aliases.is_empty() || self.via.iter().any(|via| via == "alias") {
            return None;
        }
        let mut line = Word::literal(self.aliases.get(text)?.clone());
        for argument in &simple.words[1..] {
            if let Argument::Word(word) = argument {
                let mut words = Vec::new();
                self.expand_argument(word, &mut words);
                for word in words {
                    line.push(" ");
                    line.push_word(&quoted(&word));
                }
            }
        }
        let (redirections, input) = self.redirections(&simple.redirections);
        let before = self.input.take();
        self.input = input.or_else(|| before.clone());
        let output = self.read_text(&line, "alias");
        self.input = before;
        Some(self.redirected(output, &redirections))
    }

    fn assigned(&mut self, assignment: &Assignment) -> (String, Value) {
        let name = assignment.name.clone();
        let old = assignment.append.then(|| self.scope.get(&name).cloned()).flatten();
        let value = match &assignment.value {
            AssignedValue::Scalar(word) => {
                let word = self.expand_one(word);
                if assignment.element { self.element(&name, word) } else { appended(old, word) }
            }
            AssignedValue::Array(words) => {
                let mut all = match old {
                    Some(Value::Array(old)) => old,
                    Some(Value::Scalar(old)) => vec![old],
                    _ => Vec::new(),
                };
                for word in words {
                    self.expand_argument(word, &mut all);
                }
                let keyed = all
                    .iter()
                    .any(|word| word.prefix().starts_with('[') && word.text.contains("]="));
                if keyed { Value::Unknown } else { Value::Array(all) }
            }
        };
        (name, value)
    }

    /// One element of an array: which one is not followed.
    fn element(&self, name: &str, word: Word) -> Value {
        match self.scope.get(name) {
            None => Value::Array(vec![word]),
            Some(_) => Value::Unknown,
        }
    }

    /// Expands redirections. Returns them, and what the command reads.
    fn redirections(&mut self, syntax: &[RedirectionSyntax]) -> (Vec<Redirection>, Option<Output>) {
        let mut input = self.input.clone();
        let mut redirections = Vec::with_capacity(syntax.len());
        for one in syntax {
            let redirection = self.redirection(one);
            let standard = one.descriptor.as_deref().is_none_or(|name| name == "0");
            if standard && let Some(text) = self.input_of(one, &redirection) {
                input = Some(text);
            }
            redirections.push(redirection);
        }
        (redirections, input)
    }

    fn input_of(&mut self, syntax: &RedirectionSyntax, one: &Redirection) -> Option<Output> {
        match one.kind {
            RedirectionKind::HereDocument => Some(Output::Known(one.target.clone())),
            RedirectionKind::HereString => {
                let mut text = one.target.clone();
                text.push("\n");
                Some(Output::Known(text))
            }
            RedirectionKind::Read | RedirectionKind::ReadWrite => {
                if let TargetSyntax::Word(word) = &syntax.target
                    && let [syntax::Piece::Process { .. }] = word.as_slice()
                {
                    return self.files.get(&one.target.text).map(|content| content.0.clone());
                }
                let content = one.target.known().and_then(|path| self.file(path));
                content.map(|content| content.0).or(Some(Output::File))
            }
            _ => None,
        }
    }

    fn redirection(&mut self, syntax: &RedirectionSyntax) -> Redirection {
        let target = match &syntax.target {
            TargetSyntax::Word(word) => {
                let mut words = Vec::new();
                self.expand_argument(word, &mut words);
                if words.len() == 1 { words.remove(0) } else { Word::joined(&words) }
            }
            TargetSyntax::Body(index) => {
                let bodies = Rc::clone(&self.bodies);
                bodies.get(*index).map_or_else(Word::default, |body| self.expand_one(body))
            }
        };
        let is_descriptor = target.known().is_some_and(|text| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        });
        let kind = match syntax.operator {
            Operator::Read => RedirectionKind::Read,
            Operator::Append | Operator::AppendBoth => RedirectionKind::Append,
            Operator::ReadWrite => RedirectionKind::ReadWrite,
            Operator::Duplicate => RedirectionKind::Duplicate,
            Operator::WriteBoth if is_descriptor => RedirectionKind::Duplicate,
            Operator::Write | Operator::WriteBoth => RedirectionKind::Write,
            Operator::HereString => RedirectionKind::HereString,
            Operator::HereDocument => RedirectionKind::HereDocument,
        };
        Redirection { kind, target }
    }

    /// Sends an output where redirections say: into a file, of which is remembered what it has.
    fn redirected(&mut self, output: Output, redirections: &[Redirection]) -> Output {
        let mut output = output;
        for one in redirections {
            if !matches!(one.kind, RedirectionKind::Write | RedirectionKind::Append) {
                continue;
            }
            let content = std::mem::replace(&mut output, Output::empty());
            if let Some(path) = one.target.known()
                && path != "/dev/null"
            {
                let path = path.to_owned();
                self.write_file(&path, content, one.kind == RedirectionKind::Append);
            }
        }
        output
    }

    fn write_file(&mut self, path: &str, content: Output, append: bool) {
        let key = path.trim_start_matches("./").to_owned();
        let before = if append { self.files.remove(&key).map(|old| old.0) } else { None };
        let content = match before {
            Some(before) => before.then(content),
            None => content,
        };
        self.spend(content.len());
        self.files.insert(key, Content(content));
    }

    /// Returns what a file contains, if this line wrote it.
    fn file(&self, path: &str) -> Option<Content> {
        self.files.get(path.trim_start_matches("./")).cloned()
    }
}

/// Why a text with unknown parts cannot be told.
fn gap_reason(text: &Word) -> UnknownReason {
    let fetched = ["curl", "wget", "http://", "https://"];
    let decoded = ["base64", "base32", "xxd", "openssl", "gunzip", "gzip", "zcat", "uudecode"];
    if fetched.iter().any(|name| text.text.contains(name)) {
        UnknownReason::DownloadedCode
    } else if decoded.iter().any(|name| text.text.contains(name)) {
        UnknownReason::DecodedCode
    } else {
        UnknownReason::ComputedCode
    }
}

/// Returns a value as one word.
fn value_word(value: &Value) -> Word {
    match value {
        Value::Unknown => Word::unknown("…"),
        Value::Scalar(word) => word.clone(),
        Value::Array(words) => Word::joined(words),
    }
}

/// Adds to a value, as `+=` does.
fn appended(old: Option<Value>, word: Word) -> Value {
    match old {
        None => Value::Scalar(word),
        Some(Value::Scalar(mut old)) => {
            old.push_word(&word);
            Value::Scalar(old)
        }
        Some(_) => Value::Unknown,
    }
}

/// Returns a word in single quotes, to be read again as one word.
fn quoted(word: &Word) -> Word {
    let mut quoted = Word::literal("'");
    for part in word.parts() {
        match part {
            crate::word::Part::Known(text) => quoted.push(&text.replace('\'', "'\\''")),
            crate::word::Part::Unknown(source) => quoted.push_unknown(source),
        }
    }
    quoted.push("'");
    quoted
}

/// Returns the variables that a builtin sets by its arguments: `export NAME=VALUE`.
fn declared(words: &[Word]) -> Vec<(String, Word)> {
    const DECLARING: &str = "export declare local readonly typeset";
    let [program, arguments @ ..] = words else { return Vec::new() };
    if !program.known().is_some_and(|name| programs::contains(DECLARING, name)) {
        return Vec::new();
    }
    let pair = |word: &Word| word.split_once('=').map(|(name, value)| (name.to_owned(), value));
    arguments.iter().filter_map(pair).collect()
}
