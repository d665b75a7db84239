//! Commands: lists, pipelines, compound and simple commands, redirections.

use std::rc::Rc;

use super::word::{Until, is_name, is_name_start};
use super::{
    Argument, AssignedValue, Assignment, Command, Compound, Item, Join, List, Operator, Parser,
    Pending, RedirectionSyntax, Simple, TargetSyntax, WordSyntax,
};
use crate::unknown::UnknownReason;

/// Words that end a list where a command is expected.
const CLOSING: [&str; 8] = ["}", "then", "else", "elif", "fi", "do", "done", "esac"];
/// Words that begin a compound command.
const OPENING: [&str; 10] =
    ["if", "while", "until", "for", "case", "select", "function", "{", "[[", "foreach"];

/// Redirections, of which none begins with an earlier one.
const OPERATORS: [(&str, Operator); 12] = [
    ("&>>", Operator::AppendBoth),
    ("&>", Operator::WriteBoth),
    ("<<<", Operator::HereString),
    ("<<", Operator::HereDocument),
    ("<>", Operator::ReadWrite),
    ("<&", Operator::Duplicate),
    ("<", Operator::Read),
    (">>", Operator::Append),
    (">&", Operator::WriteBoth),
    (">|", Operator::Write),
    (">!", Operator::Write),
    (">", Operator::Write),
];

impl Parser<'_> {
    /// Reads the whole text.
    pub(super) fn script(&mut self) -> List {
        let mut list = self.list();
        while self.at < self.text.len() {
            // Something that closes nothing: what follows is read all the same.
            let start = self.at;
            self.report(UnknownReason::Syntax, start);
            self.skip_token();
            list.extend(self.list());
            if self.at == start {
                self.at = self.text.len();
            }
        }
        list
    }

    /// Passes one word or operator.
    fn skip_token(&mut self) {
        let word = self.word();
        if word.is_empty() {
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        }
    }

    /// Reads pipelines up to something that closes, which is not passed.
    pub(super) fn list(&mut self) -> List {
        let mut list = List::new();
        let mut join = Join::Then;
        loop {
            self.skip_lines();
            match self.byte() {
                None | Some(b')') => break,
                Some(b';') if self.byte_at(1) == Some(b';') || self.starts_with(";&") => break,
                Some(b';' | b'&') if !self.starts_with("&>") => {
                    self.at += 1;
                    join = Join::Then;
                    continue;
                }
                _ if self.at_closing_word() => break,
                _ => {}
            }
            let start = self.at;
            let pipeline = self.pipeline();
            if !pipeline.is_empty() {
                list.push(Item { pipeline, join });
            }
            join = self.join();
            if self.at == start {
                self.report(UnknownReason::Syntax, start);
                self.skip_token();
            }
        }
        list
    }

    /// Reads what follows a pipeline.
    fn join(&mut self) -> Join {
        self.skip_blanks();
        if self.take("&&") {
            return Join::And;
        }
        if self.take("||") {
            return Join::Or;
        }
        if self.starts_with(";;") || self.starts_with(";&") {
            return Join::Then;
        }
        if matches!(self.byte(), Some(b';' | b'&')) && !self.starts_with("&>") {
            self.at += 1;
        }
        Join::Then
    }

    fn pipeline(&mut self) -> Vec<Command> {
        let mut commands = Vec::new();
        loop {
            self.skip_prefixes();
            match self.command() {
                Some(command) => commands.push(command),
                None => break,
            }
            self.skip_blanks();
            if self.starts_with("||") || !(self.take("|&") || self.take("|")) {
                break;
            }
            self.skip_lines();
        }
        commands
    }

    /// Skips `!`, and `time` and `coproc` before compound commands.
    fn skip_prefixes(&mut self) {
        loop {
            self.skip_blanks();
            if self.byte() == Some(b'!') && matches!(self.byte_at(1), Some(b' ' | b'\t' | b'(')) {
                self.at += 1;
                continue;
            }
            let before = self.at;
            let named = self.reserved() == "coproc";
            if !(self.take_word("time") || self.take_word("coproc")) {
                return;
            }
            self.skip_blanks();
            if named && !self.at_compound() {
                self.name();
                self.skip_blanks();
            }
            if self.take_word("-p") {
                self.skip_blanks();
            }
            if !self.at_compound() {
                self.at = before;
                return;
            }
        }
    }

    fn at_compound(&self) -> bool {
        self.byte() == Some(b'(')
            || OPENING.contains(&self.reserved())
            || self.reserved() == "time"
            || self.starts_with("! ")
    }

    /// Returns the unquoted word that begins here, if nothing but a blank or operator ends it.
    fn reserved(&self) -> &str {
        let rest = self.rest();
        let end = rest.bytes().take(9).position(super::word::is_meta);
        let end = end.unwrap_or(rest.len().min(9));
        rest.get(..end).unwrap_or("")
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.reserved() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn at_closing_word(&self) -> bool {
        CLOSING.contains(&self.reserved())
    }

    fn command(&mut self) -> Option<Command> {
        if self.byte() == Some(b'(') {
            let compound = self.parenthesis();
            return Some(self.with_redirections(compound));
        }
        if let Some(compound) = self.compound() {
            return Some(self.with_redirections(compound));
        }
        if self.take_word("function") {
            self.skip_blanks();
            return Some(self.function());
        }
        if let Some(length) = self.function_name() {
            let start = self.at;
            let name = self.text[start..start + length].to_owned();
            self.at += length;
            self.skip_blanks();
            self.at += 1;
            self.skip_blanks();
            if self.take(")") {
                return Some(self.function_body(name));
            }
            self.at = start;
        }
        self.simple().map(Command::Simple)
    }

    /// Returns the length of the name before `()`.
    fn function_name(&self) -> Option<usize> {
        let bytes = self.rest().as_bytes();
        let length = bytes.iter().take(256).position(|&byte| {
            super::word::is_meta(byte) || matches!(byte, b'$' | b'\'' | b'"' | b'\\' | b'`' | b'=')
        })?;
        let mut rest = bytes[length..].iter().skip_while(|&&byte| byte == b' ');
        let opens = length > 0 && rest.next() == Some(&b'(');
        let closes = rest.find(|&&byte| byte != b' ') == Some(&b')');
        (opens && closes).then_some(length)
    }

    fn function(&mut self) -> Command {
        let start = self.at;
        self.word();
        let name = self.text[start..self.at].to_owned();
        self.skip_blanks();
        if self.take("(") {
            self.skip_blanks();
            self.take(")");
        }
        self.function_body(name)
    }

    fn function_body(&mut self, name: String) -> Command {
        self.skip_lines();
        let body = self.deeper(Self::command);
        let empty = || Command::Simple(Simple::default());
        Command::Function { name, body: Rc::new(body.unwrap_or_else(empty)) }
    }

    fn with_redirections(&mut self, compound: Compound) -> Command {
        let mut redirections = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirection() {
                Some(redirection) => redirections.push(redirection),
                None => return Command::Compound(compound, redirections),
            }
        }
    }

    fn parenthesis(&mut self) -> Compound {
        let start = self.at;
        if self.byte_at(1) == Some(b'(')
            && let Some(inner) = self.arithmetic()
        {
            return Compound::Arithmetic(inner);
        }
        self.at += 1;
        Compound::Subshell(self.nested_list(start))
    }

    fn compound(&mut self) -> Option<Compound> {
        let start = self.at;
        let read: fn(&mut Self, usize) -> Compound = match self.reserved() {
            "{" => Self::group,
            "if" => Self::branches,
            "while" | "until" => Self::while_loop,
            "for" | "select" | "foreach" => Self::for_loop,
            "case" => Self::case,
            "[[" => Self::test,
            _ => return None,
        };
        self.word();
        Some(self.deeper(|parser| read(parser, start)))
    }

    fn expect(&mut self, word: &str, start: usize) {
        self.skip_lines();
        let found = self.take_word(word) || word == "}" && self.take("}");
        if !found {
            self.report(UnknownReason::Syntax, start);
        }
    }

    fn group(&mut self, start: usize) -> Compound {
        let list = self.list();
        self.expect("}", start);
        Compound::Group(list)
    }

    fn branches(&mut self, start: usize) -> Compound {
        let mut lists = vec![self.list()];
        loop {
            if self.take_word("fi") {
                return Compound::Branches(lists);
            }
            if !["then", "elif", "else"].into_iter().any(|word| self.take_word(word)) {
                self.report(UnknownReason::Syntax, start);
                return Compound::Branches(lists);
            }
            lists.push(self.list());
        }
    }

    fn while_loop(&mut self, start: usize) -> Compound {
        let condition = self.list();
        let body = self.loop_body(start);
        Compound::Loop { condition, body }
    }

    fn loop_body(&mut self, start: usize) -> List {
        self.skip_lines();
        while self.byte() == Some(b';') {
            self.at += 1;
            self.skip_lines();
        }
        if self.take_word("{") {
            let list = self.list();
            self.expect("}", start);
            return list;
        }
        self.expect("do", start);
        let list = self.list();
        self.expect("done", start);
        list
    }

    fn for_loop(&mut self, start: usize) -> Compound {
        self.skip_blanks();
        if self.starts_with("((") {
            let head = self.arithmetic_head();
            let body = self.loop_body(start);
            let head = Command::Compound(Compound::Arithmetic(head), Vec::new());
            let condition = vec![Item { pipeline: vec![head], join: Join::Then }];
            return Compound::Loop { condition, body };
        }
        let name = self.name();
        self.skip_lines();
        let values = self.for_values();
        let from = self.at;
        let body = self.loop_body(start);
        let body_text = self.text[from..self.at].to_owned();
        Compound::For { name, values, body, body_text }
    }

    fn arithmetic_head(&mut self) -> WordSyntax {
        self.arithmetic().unwrap_or_else(|| {
            let start = self.at;
            self.report(UnknownReason::Syntax, start);
            self.at += 2;
            WordSyntax::new()
        })
    }

    fn for_values(&mut self) -> Option<Vec<WordSyntax>> {
        if self.take_word("in") {
            return Some(self.words());
        }
        // As zsh has it: `for f (a b)`.
        if self.take("(") {
            let words = self.words();
            self.take(")");
            return Some(words);
        }
        None
    }

    /// Reads words up to an operator.
    fn words(&mut self) -> Vec<WordSyntax> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            let start = self.at;
            let word = self.word();
            if self.at == start {
                return words;
            }
            words.push(word);
        }
    }

    fn case(&mut self, start: usize) -> Compound {
        self.skip_blanks();
        let subject = self.word();
        self.expect("in", start);
        let mut arms = Vec::new();
        loop {
            self.skip_lines();
            if self.take_word("esac") {
                break;
            }
            let before = self.at;
            let Some(arm) = self.arm() else {
                self.report(UnknownReason::Syntax, start);
                break;
            };
            arms.push(arm);
            if !(self.take(";;&") || self.take(";;") || self.take(";&")) {
                self.expect("esac", start);
                break;
            }
            if self.at == before {
                break;
            }
        }
        Compound::Case { subject, arms }
    }

    fn arm(&mut self) -> Option<(Vec<WordSyntax>, List)> {
        self.take("(");
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            patterns.push(self.word());
            self.skip_blanks();
            if self.take(")") {
                return Some((patterns, self.list()));
            }
            if !self.take("|") {
                return None;
            }
        }
    }

    fn test(&mut self, start: usize) -> Compound {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            if self.take_word("]]") {
                return Compound::Test(words);
            }
            let before = self.at;
            let word = self.word();
            if self.at > before {
                words.push(word);
                continue;
            }
            match self.byte() {
                None => {
                    self.report(UnknownReason::Syntax, start);
                    return Compound::Test(words);
                }
                Some(b'\n') => self.line_break(),
                Some(_) => self.at += 1,
            }
        }
    }

    fn simple(&mut self) -> Option<Simple> {
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            let start = self.at;
            if self.byte() == Some(b'#') {
                self.skip_comment();
                break;
            }
            if let Some(redirection) = self.redirection() {
                simple.redirections.push(redirection);
            } else if let Some(assignment) = self.assignment(!simple.words.is_empty()) {
                if simple.words.is_empty() {
                    simple.assignments.push(assignment);
                } else {
                    simple.words.push(Argument::Array(assignment));
                }
            } else {
                let word = self.word();
                if self.at == start {
                    break;
                }
                simple.words.push(Argument::Word(word));
            }
        }
        let empty = simple.assignments.is_empty()
            && simple.words.is_empty()
            && simple.redirections.is_empty();
        (!empty).then_some(simple)
    }

    /// Reads `name=…`; behind the program only `name=(…)`.
    fn assignment(&mut self, only_array: bool) -> Option<Assignment> {
        let start = self.at;
        let (length, element) = self.assigned_name()?;
        let rest = &self.rest().as_bytes()[length..];
        let append = rest.starts_with(b"+=");
        let operator = if append { 2 } else { 1 };
        let array = rest.get(operator) == Some(&b'(');
        if only_array && !array {
            return None;
        }
        let name = self.text[start..start + length].split('[').next().unwrap_or("").to_owned();
        self.at += length + operator;
        let value = if array { self.array() } else { AssignedValue::Scalar(self.word()) };
        Some(Assignment { name, append, element, value })
    }

    /// Returns how long the name is and whether it has an index, if an assignment begins here.
    fn assigned_name(&self) -> Option<(usize, bool)> {
        let bytes = self.rest().as_bytes();
        if !is_name_start(*bytes.first()?) {
            return None;
        }
        let name = bytes.iter().position(|&byte| !is_name(byte))?;
        let index = match bytes[name] {
            b'[' => bytes[name..].iter().take(256).position(|&byte| byte == b']')? + 1,
            _ => 0,
        };
        if bytes[name..name + index].iter().any(u8::is_ascii_whitespace) {
            return None;
        }
        let rest = &bytes[name + index..];
        (rest.starts_with(b"=") || rest.starts_with(b"+=")).then_some((name + index, index > 0))
    }

    fn array(&mut self) -> AssignedValue {
        let start = self.at;
        self.at += 1;
        let words = self.deeper(|parser| {
            let mut words = Vec::new();
            loop {
                parser.skip_lines();
                let before = parser.at;
                let word = parser.word();
                if parser.at == before {
                    return words;
                }
                words.push(word);
            }
        });
        if !self.take(")") {
            self.report(UnknownReason::Syntax, start);
        }
        AssignedValue::Array(words)
    }

    fn redirection(&mut self) -> Option<RedirectionSyntax> {
        let start = self.at;
        let descriptor = self.descriptor();
        let Some((operator, length)) = self.operator() else {
            self.at = start;
            return None;
        };
        self.at += length;
        let target = match operator {
            Operator::HereDocument => self.here_document_head(),
            _ => {
                self.skip_blanks();
                TargetSyntax::Word(self.word())
            }
        };
        Some(RedirectionSyntax { descriptor, operator, target })
    }

    /// Reads the number or `{name}` before a redirection.
    fn descriptor(&mut self) -> Option<String> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let end = if bytes.first() == Some(&b'{') {
            bytes.iter().take(64).position(|&byte| byte == b'}')? + 1
        } else {
            bytes.iter().take(8).position(|byte| !byte.is_ascii_digit())?
        };
        let named = bytes[..end].iter().all(|&byte| is_name(byte) || matches!(byte, b'{' | b'}'));
        let redirects = matches!(bytes.get(end), Some(b'<' | b'>'));
        if end == 0 || !named || !redirects {
            return None;
        }
        self.at += end;
        Some(rest[..end].to_owned())
    }

    fn operator(&self) -> Option<(Operator, usize)> {
        let rest = self.rest();
        if rest.starts_with("<(") || rest.starts_with(">(") {
            return None;
        }
        let found = OPERATORS.iter().find(|(text, _)| rest.starts_with(text))?;
        Some((found.1, found.0.len()))
    }

    /// Reads the word that ends a here-document, whose body comes at the next line break.
    fn here_document_head(&mut self) -> TargetSyntax {
        let tabs = self.take("-");
        self.skip_blanks();
        let start = self.at;
        let pieces = self.pieces(Until::WordEnd);
        let raw = &self.text[start..self.at];
        let quoted = raw.contains(['\'', '"', '\\']);
        let end = if quoted { super::plain_text(&pieces) } else { raw.to_owned() };
        let body = self.bodies.len();
        self.bodies.push(WordSyntax::new());
        self.pending.push(Pending { body, end, quoted, tabs });
        TargetSyntax::Body(body)
    }
}
