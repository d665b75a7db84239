//! Code of scripting languages: which commands it runs, and which files it changes.
//!
//! Names and texts are looked at, not the language's grammar. Calls that run something are found by
//! their names; if what they run is not a text in the code, that cannot be told.

use std::collections::BTreeMap;

use super::decode;
use crate::command::RedirectionKind;
use crate::programs::contains;
use crate::word::{GAP_END, GAP_START, Word};

/// A language whose code is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    JavaScript,
    Perl,
    Ruby,
    Php,
    Lua,
    Awk,
}

impl Language {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "node",
            Self::Perl => "perl",
            Self::Ruby => "ruby",
            Self::Php => "php",
            Self::Lua => "lua",
            Self::Awk => "awk",
        }
    }

    fn is_comment(self, rest: &str) -> bool {
        match self {
            Self::Python | Self::Perl | Self::Ruby | Self::Awk => rest.starts_with('#'),
            Self::JavaScript => rest.starts_with("//"),
            Self::Php => rest.starts_with('#') || rest.starts_with("//"),
            Self::Lua => rest.starts_with("--"),
        }
    }

    /// Whether variables in double quotes are expanded.
    fn interpolates(self) -> bool {
        matches!(self, Self::Perl | Self::Ruby | Self::Php)
    }

    /// Whether backticks run a command.
    fn has_backticks(self) -> bool {
        matches!(self, Self::Perl | Self::Ruby | Self::Php)
    }
}

/// Something that code does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// It gives a text to a shell.
    Shell(Word),
    /// It runs a program, or does what this program would do.
    Words(Vec<Word>),
    /// It reads or writes a file.
    File(RedirectionKind, Word),
}

/// What was found in code.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) actions: Vec<Action>,
    /// Whether something that is run cannot be told.
    pub(super) is_unknown: bool,
}

/// How deep code in code is read.
const MAX_DEPTH: u32 = 4;

/// Reads code.
pub(super) fn read(code: &str, language: Language) -> Found {
    let mut found = Found::default();
    read_into(code, language, 0, &mut found);
    found
}

fn read_into(code: &str, language: Language, depth: u32, found: &mut Found) {
    let tokens = tokens(code, language);
    let mut reader = CodeReader {
        tokens: &tokens,
        at: 0,
        language,
        values: BTreeMap::new(),
        last: None,
        has_processes: code.contains("subprocess")
            || code.contains("child_process")
            || code.contains("Bun.")
            || code.contains("Deno."),
        runs: 0,
        depth,
        nesting: 0,
        found,
    };
    reader.all();
    if reader.runs == 0 && reader.has_processes {
        // It is there to run something, in a way that is not seen.
        let computed = ["child_process", "subprocess"].iter().any(|name| code.contains(name));
        found.is_unknown |= computed && code.contains(['(', '[']);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A name, with `.` between its parts; begins with `.` behind a bracket.
    Name(String),
    Text(Word),
    /// A text that is run.
    Command(Word),
    Mark(char),
    /// The end of a line or a `;`.
    End,
}

fn tokens(code: &str, language: Language) -> Vec<Token> {
    let mut lexer = Lexer { rest: code, language, tokens: Vec::new() };
    while !lexer.rest.is_empty() {
        lexer.next();
    }
    lexer.tokens
}

struct Lexer<'a> {
    rest: &'a str,
    language: Language,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn next(&mut self) {
        let Some(first) = self.rest.chars().next() else { return };
        if self.language.is_comment(self.rest) {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            return;
        }
        match first {
            '\n' | ';' => {
                self.tokens.push(Token::End);
                self.skip(1);
            }
            _ if first.is_whitespace() => self.skip(first.len_utf8()),
            '\'' | '"' => self.text(first, ""),
            '`' => self.backticks(),
            GAP_START => {
                let end =
                    self.rest.find(GAP_END).map_or(self.rest.len(), |end| end + GAP_END.len_utf8());
                self.tokens.push(Token::Text(Word::unknown(
                    self.rest[..end].replace([GAP_START, GAP_END], ""),
                )));
                self.skip(end);
            }
            '$' if self.language == Language::JavaScript && self.rest.starts_with("$`") => {
                self.skip(1);
                let word = self.quoted('`', true);
                self.tokens.push(Token::Command(word));
            }
            '%' if self.language == Language::Ruby && self.rest.starts_with("%x") => {
                self.skip(2);
                self.delimited(true);
            }
            _ if is_name(first) || first == '$' || first == '@' => self.name(),
            _ => {
                self.tokens.push(Token::Mark(first));
                self.skip(first.len_utf8());
            }
        }
    }

    fn skip(&mut self, length: usize) {
        self.rest = &self.rest[length.min(self.rest.len())..];
    }

    fn backticks(&mut self) {
        let word = self.quoted('`', true);
        let is_command = self.language.has_backticks();
        self.tokens.push(if is_command { Token::Command(word) } else { Token::Text(word) });
    }

    fn text(&mut self, quote: char, prefix: &str) {
        let formatted = prefix.contains(['f', 'F']);
        let expands = formatted || quote == '"' && self.language.interpolates();
        let triple = if quote == '"' { "\"\"\"" } else { "'''" };
        if self.language == Language::Python && self.rest.starts_with(triple) {
            let inner = &self.rest[3..];
            let end = inner.find(triple).unwrap_or(inner.len());
            let word = if expands {
                gapped(&inner[..end], Language::Python)
            } else {
                marked(&inner[..end])
            };
            self.tokens.push(Token::Text(word));
            self.skip(end + 6);
            return;
        }
        let word = self.quoted(quote, expands);
        self.tokens.push(Token::Text(word));
    }

    /// Reads a text from its quote on.
    fn quoted(&mut self, quote: char, expands: bool) -> Word {
        self.skip(quote.len_utf8());
        self.until(quote, expands)
    }

    fn until(&mut self, end: char, expands: bool) -> Word {
        let mut text = String::new();
        let mut characters = self.rest.char_indices();
        let mut length = self.rest.len();
        while let Some((place, one)) = characters.next() {
            if one == end {
                length = place + one.len_utf8();
                break;
            }
            if one != '\\' {
                text.push(one);
                continue;
            }
            let after = &self.rest[place + 1..];
            let place = crate::syntax::Escapes::Quotes;
            if let Some(next) = after.chars().next() {
                let simple = next == end || !next.is_ascii_alphanumeric();
                let (read, length) = if simple {
                    (next.to_string(), next.len_utf8())
                } else {
                    crate::syntax::escape(after, place)
                };
                text.push_str(&read);
                let mut taken = 0;
                while taken < length {
                    taken += characters.next().map_or(length, |(_, one)| one.len_utf8());
                }
            }
        }
        self.skip(length);
        if expands { gapped(&text, self.language) } else { marked(&text) }
    }

    /// Reads `(…)`, `{…}` or any other pair after `qx`, `%x` and the like.
    fn delimited(&mut self, is_command: bool) {
        let Some(open) = self.rest.chars().next() else { return };
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        self.skip(open.len_utf8());
        let word = self.until(close, true);
        self.tokens.push(if is_command { Token::Command(word) } else { Token::Text(word) });
    }

    fn name(&mut self) {
        let mut end = 0;
        let mut name = String::new();
        loop {
            let part = self.rest[end..].find(|one: char| !is_name(one) && one != '$' && one != '@');
            let part = part.unwrap_or(self.rest.len() - end);
            name.push_str(&self.rest[end..end + part]);
            end += part;
            let separator =
                ["::", "->", "."].into_iter().find(|one| self.rest[end..].starts_with(one));
            let Some(separator) = separator else { break };
            let next = self.rest[end + separator.len()..].chars().next();
            // `.` joins texts in Perl and PHP.
            if !next.is_some_and(is_name)
                || separator == "." && matches!(self.language, Language::Perl | Language::Php)
            {
                break;
            }
            name.push('.');
            end += separator.len();
        }
        let next = self.rest[end..].chars().next();
        if let Some(quote @ ('\'' | '"')) = next
            && self.language == Language::Python
            && name.len() <= 2
            && name.bytes().all(|one| b"rRbBfFuU".contains(&one))
        {
            self.skip(end);
            return self.text(quote, &name);
        }
        let quoting = matches!(self.language, Language::Perl) && contains("qx q qq", &name);
        if quoting
            && next.is_some_and(|one| {
                !is_name(one) && !one.is_whitespace() && one != '=' && one != ','
            })
        {
            self.skip(end);
            return self.delimited(name == "qx");
        }
        self.skip(end);
        if matches!(self.tokens.last(), Some(Token::Mark('.'))) {
            self.tokens.pop();
            name.insert(0, '.');
        }
        self.tokens.push(Token::Name(name));
    }
}

fn is_name(one: char) -> bool {
    one.is_alphanumeric() || one == '_'
}

/// Returns a text in which parts may be marked as not known.
fn marked(text: &str) -> Word {
    let mut word = Word::default();
    let mut rest = text;
    while let Some(start) = rest.find(GAP_START) {
        word.push(&rest[..start]);
        let inner = &rest[start + GAP_START.len_utf8()..];
        let end = inner.find(GAP_END).unwrap_or(inner.len());
        word.push_unknown(&inner[..end]);
        rest = inner.get(end + GAP_END.len_utf8()..).unwrap_or("");
    }
    word.push(rest);
    word
}

/// Returns a text with what is expanded in it as not known.
fn gapped(text: &str, language: Language) -> Word {
    let mut word = Word::default();
    let mut rest = text;
    let starts: &[char] = match language {
        Language::Python => &['{'],
        Language::Ruby => &['#'],
        _ => &['$'],
    };
    while let Some(start) = rest.find(starts) {
        let after = &rest[start + 1..];
        let braced = language == Language::Python || after.starts_with('{');
        let length = if braced {
            after.find('}').map_or(after.len(), |end| end + 1)
        } else if language == Language::Ruby {
            0
        } else {
            after.find(|one| !is_name(one)).unwrap_or(after.len())
        };
        word.push_word(&marked(&rest[..start]));
        if length == 0 {
            word.push(&rest[start..=start]);
        } else {
            word.push_unknown(&rest[start..start + 1 + length]);
        }
        rest = &after[length..];
    }
    word.push_word(&marked(rest));
    word
}

/// A value in code.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(Word),
    List(Vec<Word>),
    /// `name=value`, `name: value`
    Named,
    Unknown,
}

struct CodeReader<'a> {
    tokens: &'a [Token],
    at: usize,
    language: Language,
    /// Variables that were set to a text.
    values: BTreeMap<String, Value>,
    /// The value of the bracket before.
    last: Option<Value>,
    has_processes: bool,
    /// How many calls that run something were found.
    runs: u32,
    depth: u32,
    nesting: u32,
    found: &'a mut Found,
}

/// Calls that give a text to a shell, in any language.
const SHELL_CALLS: &str = "system popen popen2 popen3 popen4 getoutput getstatusoutput execSync \
                           shell_exec passthru proc_open pcntl_exec create_subprocess_shell \
                           capture2 capture2e capture3 execute";
/// Calls of modules for processes: a text or a list of words.
const PROCESS_CALLS: &str = "run call check_call check_output Popen spawn spawnSync execFile \
                             execFileSync exec create_subprocess_exec Command fork execa \
                             execaSync execaCommand execaCommandSync";
/// Calls that replace the process: the program, then its name and arguments.
const EXEC_CALLS: &str = "execl execle execlp execlpe execv execve execvp execvpe spawnl spawnlp \
                          spawnv spawnvp posix_spawn posix_spawnp";
const REMOVE_ALL_CALLS: &str = "rmtree rm_rf rm_r remove_dir_all removeSync remove_tree rimraf \
                                rimrafSync remove_entry_secure rmSync emptyDirSync emptyDir";
const REMOVE_CALLS: &str = "unlink unlinkSync rmdir rmdirSync removedirs";
const MOVE_CALLS: &str = "renameSync renames";
const WRITE_CALLS: &str = "writeFileSync writeFile appendFileSync appendFile createWriteStream \
                           file_put_contents write_text write_bytes writeTextFile writeTextFileSync";
const READ_CALLS: &str = "readFileSync readFile createReadStream file_get_contents read_text \
                          read_bytes readTextFile readTextFileSync readlines";
impl CodeReader<'_> {
    fn all(&mut self) {
        while self.at < self.tokens.len() {
            let before = self.at;
            self.step();
            if self.at == before {
                self.at += 1;
            }
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_mark(&self, mark: char) -> bool {
        self.peek() == Some(&Token::Mark(mark))
    }

    fn step(&mut self) {
        match self.peek().cloned() {
            Some(Token::Name(name)) => {
                self.at += 1;
                self.name(&name);
            }
            Some(Token::Command(code)) => {
                self.at += 1;
                self.runs += 1;
                self.shell(code);
            }
            Some(Token::Text(word)) => {
                self.at += 1;
                self.text_in_awk(&word);
                self.last = Some(Value::Text(word));
            }
            Some(_) => {
                self.at += 1;
            }
            None => {}
        }
    }

    /// `"command" | getline` and `print | "command"`
    fn text_in_awk(&mut self, word: &Word) {
        if self.language != Language::Awk {
            return;
        }
        let before = self.at.checked_sub(2).and_then(|place| self.tokens.get(place));
        let piped = before == Some(&Token::Mark('|')) || before == Some(&Token::Mark('&'));
        let getline = self.is_mark('|')
            && matches!(self.tokens.get(self.at + 1), Some(Token::Name(name)) if name == "getline")
            || self.is_mark('|') && self.tokens.get(self.at + 1) == Some(&Token::Mark('&'));
        if piped || getline {
            self.shell(word.clone());
        } else if before == Some(&Token::Mark('>')) {
            self.found.actions.push(Action::File(RedirectionKind::Write, word.clone()));
        }
    }

    fn name(&mut self, name: &str) {
        if self.is_mark('=') && self.tokens.get(self.at + 1) != Some(&Token::Mark('=')) {
            self.at += 1;
            let value = self.expression();
            self.values.insert(name.trim_start_matches(['$', '@']).to_owned(), value);
            return;
        }
        if contains("const let var my our local", name) {
            return;
        }
        if self.is_mark('(') {
            self.last = Some(self.call(name));
        } else if self.calls_without_brackets(name) {
            let arguments = self.bare_arguments();
            self.called(name, &arguments);
        } else if self.runs_a_computed_name(name) {
            self.found.is_unknown = true;
        }
    }

    /// Perl and Ruby need no brackets.
    fn calls_without_brackets(&self, name: &str) -> bool {
        let calls = "system exec unlink rmdir rmtree remove_tree spawn eval FileUtils.rm_rf \
                     FileUtils.rm_r FileUtils.rm File.delete File.unlink IO.popen rename open popen";
        let starts = match self.peek() {
            Some(Token::Text(_) | Token::Command(_)) => true,
            Some(Token::Name(_)) => name != "open",
            Some(Token::Mark(mark)) => *mark == '[',
            _ => false,
        };
        matches!(self.language, Language::Perl | Language::Ruby | Language::Lua)
            && contains(calls, name)
            && starts
    }

    /// `$name(…)` in PHP, `x["name"](…)` in JavaScript are not followed; a mention of `eval` is.
    fn runs_a_computed_name(&self, name: &str) -> bool {
        let last = last_part(name);
        match self.language {
            Language::Python => {
                contains("exec eval getattr __import__", last) && !self.is_mark('{')
            }
            Language::JavaScript => contains("eval Function", last),
            Language::Perl => name == "eval" && !self.is_mark('{'),
            _ => false,
        }
    }

    /// Reads `(…)` behind a name.
    fn call(&mut self, name: &str) -> Value {
        let arguments = self.bracketed();
        if self.language == Language::Php && name.starts_with('$') {
            self.found.is_unknown = true;
        }
        self.called(name, &arguments)
    }

    fn bare_arguments(&mut self) -> Vec<Value> {
        let mut arguments = vec![self.expression()];
        while self.is_mark(',') && arguments.len() < 64 {
            self.at += 1;
            arguments.push(self.expression());
        }
        arguments
    }

    /// Reads arguments up to the closing bracket.
    fn bracketed(&mut self) -> Vec<Value> {
        self.at += 1;
        self.nesting += 1;
        let mut arguments = Vec::new();
        while let Some(token) = self.peek() {
            match token {
                Token::Mark(')' | ']' | '}') => {
                    self.at += 1;
                    break;
                }
                Token::Mark(',') | Token::End => self.at += 1,
                _ => {
                    let before = self.at;
                    arguments.push(self.expression());
                    if self.at == before {
                        self.at += 1;
                    }
                }
            }
        }
        self.nesting -= 1;
        arguments
    }

    /// Reads values joined by `+`, `.` or `/`.
    fn expression(&mut self) -> Value {
        if self.nesting > 24 {
            self.found.is_unknown = true;
            self.at = self.tokens.len();
            return Value::Unknown;
        }
        let mut value = self.primary();
        loop {
            let joint = match self.peek() {
                Some(Token::Mark('+')) => "",
                Some(Token::Mark('.')) if self.language != Language::Python => "",
                Some(Token::Mark('/')) if self.language == Language::Python => "/",
                // Texts behind each other are one.
                Some(Token::Text(_))
                    if matches!(value, Value::Text(_)) && self.language == Language::Python =>
                {
                    ""
                }
                _ => break,
            };
            self.at += usize::from(!matches!(self.peek(), Some(Token::Text(_))));
            let next = self.primary();
            value = joined(value, next, joint);
        }
        self.rest_of_expression(value)
    }

    /// Anything else up to a comma or a bracket makes a value unknown.
    fn rest_of_expression(&mut self, value: Value) -> Value {
        let mut value = value;
        while let Some(token) = self.peek().cloned() {
            match token {
                Token::Mark(',' | ')' | ']' | '}') | Token::End => break,
                Token::Mark('=' | ':') => {
                    self.at += 1;
                    self.expression();
                    value = Value::Named;
                }
                Token::Mark('(' | '[' | '{') => {
                    self.bracketed();
                    value = Value::Unknown;
                }
                Token::Name(name) if name.starts_with('.') => {
                    self.at += 1;
                    self.last = Some(value.clone());
                    value = if self.is_mark('(') { self.call(&name) } else { Value::Unknown };
                }
                Token::Name(name) => {
                    self.at += 1;
                    self.name(&name);
                    if !contains("or and if unless else not in is", &name) {
                        value = Value::Unknown;
                    }
                }
                _ => {
                    self.step();
                    value = Value::Unknown;
                }
            }
        }
        value
    }

    fn primary(&mut self) -> Value {
        match self.peek().cloned() {
            Some(Token::Text(word)) => {
                self.at += 1;
                Value::Text(word)
            }
            Some(Token::Mark('[')) => {
                let items = self.bracketed();
                let words = items.into_iter().map(|item| match item {
                    Value::Text(word) => word,
                    _ => Word::unknown("…"),
                });
                Value::List(words.collect())
            }
            Some(Token::Mark('(')) => {
                let mut items = self.bracketed();
                if items.len() == 1 { items.remove(0) } else { list_of(&items) }
            }
            Some(Token::Mark('{')) => {
                self.bracketed();
                Value::Named
            }
            Some(Token::Name(name)) => {
                self.at += 1;
                if name == "new" || name == "await" {
                    return self.primary();
                }
                if self.is_mark('(') {
                    return self.call(&name);
                }
                let known = self.values.get(name.trim_start_matches(['$', '@'])).cloned();
                match (known, name.as_str()) {
                    (Some(value), _) => value,
                    (None, "os.environ" | "process.env" | "ENV") => {
                        let home = self.is_mark('[').then(|| self.bracketed());
                        match home.as_deref() {
                            Some([Value::Text(word)]) if word.text == "HOME" => {
                                Value::Text(Word::literal("~"))
                            }
                            _ => Value::Unknown,
                        }
                    }
                    (None, "process.env.HOME") => Value::Text(Word::literal("~")),
                    (None, _) => {
                        if self.calls_without_brackets(&name) {
                            let arguments = self.bare_arguments();
                            return self.called(&name, &arguments);
                        }
                        Value::Unknown
                    }
                }
            }
            Some(Token::Command(code)) => {
                self.at += 1;
                self.runs += 1;
                self.shell(code);
                Value::Unknown
            }
            _ => Value::Unknown,
        }
    }

    fn shell(&mut self, code: Word) {
        self.found.actions.push(Action::Shell(code));
    }

    /// Notes what a call does, and returns its value as far as it is known.
    fn called(&mut self, name: &str, arguments: &[Value]) -> Value {
        let last = last_part(name);
        if let Some(value) = self.pure(name, arguments) {
            return value;
        }
        let module = name.len().checked_sub(last.len() + 1).map_or("", |end| &name[..end]);
        if self.runs_code(last, module) {
            self.code(last, arguments);
        } else if self.is_shell_call(last, module) || self.is_process_call(last, module) {
            self.runs += 1;
            self.process(arguments);
        } else if contains(EXEC_CALLS, last) {
            self.runs += 1;
            self.replaced(arguments, last.starts_with("spawn"));
        } else {
            self.files(last, module, arguments);
        }
        Value::Unknown
    }

    fn is_shell_call(&self, last: &str, module: &str) -> bool {
        match last {
            "execute" => self.language == Language::Lua && (module == "os" || module.is_empty()),
            "exec" => matches!(self.language, Language::Perl | Language::Ruby | Language::Php),
            "open" => self.language == Language::Perl,
            _ => contains(SHELL_CALLS, last),
        }
    }

    fn is_process_call(&self, last: &str, module: &str) -> bool {
        let is_spawn = last == "spawn" && (self.language == Language::Ruby || module == "pty");
        contains(PROCESS_CALLS, last) && self.has_processes || is_spawn
    }

    fn runs_code(&self, last: &str, module: &str) -> bool {
        let calls = match self.language {
            Language::Python if last == "compile" => return module.is_empty(),
            Language::Python => "exec eval getattr import_module run_path run_module",
            Language::JavaScript => "eval Function runInNewContext runInThisContext runInContext",
            Language::Perl => "eval",
            Language::Ruby => "eval instance_eval class_eval module_eval send public_send __send__",
            Language::Php => "eval assert create_function call_user_func call_user_func_array",
            Language::Lua => "loadstring load dofile",
            Language::Awk => return false,
        };
        contains(calls, last)
    }

    /// Reads code in code.
    fn code(&mut self, last: &str, arguments: &[Value]) {
        let harmless = last == "getattr" || last == "import_module";
        match arguments.first() {
            Some(Value::Text(code))
                if code.known().is_some() && !harmless && self.depth < MAX_DEPTH =>
            {
                read_into(&code.text.clone(), self.language, self.depth + 1, self.found);
            }
            _ => self.found.is_unknown = true,
        }
    }

    /// A call that runs a text or words.
    fn process(&mut self, arguments: &[Value]) {
        match arguments {
            [Value::Text(program), Value::List(words), ..] => {
                let words = std::iter::once(program.clone()).chain(words.iter().cloned());
                self.found.actions.push(Action::Words(words.collect()));
            }
            [Value::Text(first), rest @ ..] => {
                let more: Vec<Word> = rest.iter().map_while(text).collect();
                if more.is_empty()
                    || self.language == Language::Python && !is_perl_like(self.language)
                {
                    self.shell(strip_pipes(first));
                } else {
                    let words = std::iter::once(first.clone()).chain(more);
                    self.found.actions.push(Action::Words(words.collect()));
                }
            }
            [Value::List(words), ..] if !words.is_empty() => {
                self.found.actions.push(Action::Words(words.clone()));
            }
            _ => self.found.is_unknown = true,
        }
    }

    /// `execvp("rm", ["rm", "-rf", "/"])`, `execlp("rm", "rm", "-rf", "/")`
    fn replaced(&mut self, arguments: &[Value], has_mode: bool) {
        let arguments = match arguments {
            [_, rest @ ..] if has_mode => rest,
            all => all,
        };
        match arguments {
            [Value::Text(program), Value::List(words), ..] => {
                let words = words.iter().skip(1).cloned();
                let words = std::iter::once(program.clone()).chain(words);
                self.found.actions.push(Action::Words(words.collect()));
            }
            [Value::Text(program), rest @ ..] => {
                let words = rest.iter().skip(1).filter_map(text);
                let words = std::iter::once(program.clone()).chain(words);
                self.found.actions.push(Action::Words(words.collect()));
            }
            _ => self.found.is_unknown = true,
        }
    }

    /// Calls that change files.
    fn files(&mut self, last: &str, module: &str, arguments: &[Value]) {
        let receiver = self.receiver(module);
        let given = arguments.first().and_then(paths);
        let of_path = contains("write_text write_bytes read_text read_bytes rename replace", last);
        let is_path =
            receiver.is_some() && (of_path || !matches!(arguments.first(), Some(Value::Text(_))));
        let targets = if is_path { receiver.clone().map(|word| vec![word]) } else { given };
        let files = "os fs File FileUtils shutil Deno fsp path IO fs.promises Dir ::File pathlib";
        let of_files =
            contains(files, module) || module.ends_with("promises") || module.starts_with("fs");
        if contains(REMOVE_ALL_CALLS, last) || last == "rm" && of_files {
            self.remove(&["rm", "-r"], targets);
        } else if contains(REMOVE_CALLS, last) || contains("remove delete rm_f", last) && of_files {
            self.remove(&["rm"], targets);
        } else if contains(MOVE_CALLS, last)
            || contains("rename replace move mv", last)
                && (of_files || self.language == Language::Perl)
        {
            let moved = receiver.filter(|_| arguments.len() == 1).map(Value::Text);
            let all: Vec<Value> = moved.into_iter().chain(arguments.iter().cloned()).collect();
            self.two("mv", &all);
        } else if contains("copy copy2 copyfile copytree copyFileSync cp cp_r cpSync", last)
            && of_files
        {
            self.two("cp", arguments);
        } else if contains(WRITE_CALLS, last) || last == "write" && of_files {
            self.file(RedirectionKind::Write, targets);
        } else if contains(READ_CALLS, last) || last == "read" && of_files {
            self.file(RedirectionKind::Read, targets);
        } else if last == "open" || last == "fopen" {
            self.open(targets.or_else(|| arguments.first().and_then(paths)), arguments);
        }
    }

    /// Returns the path a method is called on: of a variable, or of what stands before.
    fn receiver(&self, module: &str) -> Option<Word> {
        let value =
            if module.is_empty() { self.last.clone()? } else { self.values.get(module)?.clone() };
        match value {
            Value::Text(word) => Some(word),
            _ => None,
        }
    }

    fn remove(&mut self, command: &[&str], targets: Option<Vec<Word>>) {
        let mut words: Vec<Word> = command.iter().copied().map(Word::literal).collect();
        words.extend(targets.unwrap_or_else(|| vec![Word::unknown("…")]));
        self.found.actions.push(Action::Words(words));
    }

    fn two(&mut self, command: &str, arguments: &[Value]) {
        let unknown = || Word::unknown("…");
        let word = |place: usize| arguments.get(place).and_then(text).unwrap_or_else(unknown);
        self.found.actions.push(Action::Words(vec![Word::literal(command), word(0), word(1)]));
    }

    fn file(&mut self, kind: RedirectionKind, targets: Option<Vec<Word>>) {
        let targets = targets.unwrap_or_else(|| vec![Word::unknown("…")]);
        let actions = targets.into_iter().map(|target| Action::File(kind, target));
        self.found.actions.extend(actions);
    }

    fn open(&mut self, targets: Option<Vec<Word>>, arguments: &[Value]) {
        let mode = arguments.get(1).and_then(text).map(|word| word.text).unwrap_or_default();
        let writes = mode.contains(['w', 'a', 'x', '+', '>']);
        self.file(if writes { RedirectionKind::Write } else { RedirectionKind::Read }, targets);
    }

    /// Values of calls that only compute.
    fn pure(&self, name: &str, arguments: &[Value]) -> Option<Value> {
        let first = || arguments.first().cloned().unwrap_or(Value::Unknown);
        let known = || text(arguments.first()?)?.known().map(str::to_owned);
        match name {
            "Path" | "pathlib.Path" | "os.path.expanduser" | "os.path.abspath"
            | "os.path.realpath" | "str" | "path.resolve" | "path.normalize" | "os.fspath"
            | "File.expand_path" => Some(first()),
            "shlex.split" => Some(split(&first())),
            ".split" if arguments.len() <= 1 => Some(split(self.last.as_ref()?)),
            "os.path.join" | "path.join" | "File.join" => {
                let all: Option<Vec<Word>> = arguments.iter().map(text).collect();
                let mut path = Word::default();
                for (index, word) in all?.iter().enumerate() {
                    if index > 0 {
                        path.push("/");
                    }
                    path.push_word(word);
                }
                Some(Value::Text(path))
            }
            "Path.home" | "pathlib.Path.home" | "os.homedir" | "Dir.home" => {
                Some(Value::Text(Word::literal("~")))
            }
            "os.getcwd" | "Path.cwd" | "process.cwd" | "Dir.pwd" => {
                Some(Value::Text(Word::literal(".")))
            }
            "base64.b64decode" | "atob" | "b64decode" | "base64_decode" | "Base64.decode64"
            | "decode_base64" => {
                let decoded = decode::filter("base64", &[Word::literal("-d")], &known()?)?;
                Some(Value::Text(Word::literal(decoded)))
            }
            "bytes.fromhex" => {
                let decoded = decode::filter("xxd", &[Word::literal("-r")], &known()?)?;
                Some(Value::Text(Word::literal(decoded)))
            }
            ".decode" | ".toString" | ".strip" | ".encode" => self.last.clone(),
            _ => None,
        }
    }
}

fn is_perl_like(language: Language) -> bool {
    matches!(language, Language::Perl | Language::Ruby | Language::Php)
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn text(value: &Value) -> Option<Word> {
    match value {
        Value::Text(word) => Some(word.clone()),
        _ => None,
    }
}

/// Returns the paths of a value: a text or a list of them.
fn paths(value: &Value) -> Option<Vec<Word>> {
    match value {
        Value::Text(word) => Some(vec![word.clone()]),
        Value::List(words) => Some(words.clone()),
        Value::Named | Value::Unknown => None,
    }
}

/// Returns the words of a text.
fn split(value: &Value) -> Value {
    match value {
        Value::Text(word) if word.known().is_some() => {
            let remove = |one: char| one == '\'' || one == '"';
            let words =
                word.text.split_whitespace().map(|one| Word::literal(one.replace(remove, "")));
            Value::List(words.collect())
        }
        _ => Value::Unknown,
    }
}

fn list_of(items: &[Value]) -> Value {
    let words: Option<Vec<Word>> = items.iter().map(text).collect();
    words.map_or(Value::Unknown, Value::List)
}

fn joined(first: Value, second: Value, joint: &str) -> Value {
    match (first, second) {
        (Value::Text(mut first), Value::Text(second)) => {
            first.push(joint);
            first.push_word(&second);
            Value::Text(first)
        }
        (Value::Text(mut first), _) => {
            first.push(joint);
            first.push_unknown("…");
            Value::Text(first)
        }
        (Value::List(mut first), Value::List(second)) => {
            first.extend(second);
            Value::List(first)
        }
        (Value::List(mut first), _) => {
            first.push(Word::unknown("…"));
            Value::List(first)
        }
        (_, Value::Text(second)) => {
            let mut word = Word::unknown("…");
            word.push(joint);
            word.push_word(&second);
            Value::Text(word)
        }
        _ => Value::Unknown,
    }
}

/// `open(F, "command |")` in Perl.
fn strip_pipes(code: &Word) -> Word {
    match code.known() {
        Some(text) => Word::literal(text.trim().trim_matches('|').trim()),
        None => code.clone(),
    }
}
