//! Lists, pipelines and compound commands.

use std::rc::Rc;

use super::output::Output;
use super::scope::Value;
use super::{Function, Reader, Run};
use crate::limits::MAX_ROUNDS;
use crate::syntax::{
    Argument, Command, Compound, Join, List, Piece, RedirectionSyntax, WordSyntax,
};
use crate::word::Word;

impl Reader {
    pub(super) fn list(&mut self, list: &List) -> Output {
        let mut output = Output::empty();
        let mut mark = self.scope.mark();
        let mut is_conditional = false;
        for item in list {
            if self.is_stopped {
                return Output::computed();
            }
            match item.join {
                Join::Then => {
                    if is_conditional {
                        self.scope.blur(mark);
                    }
                    is_conditional = false;
                }
                Join::And | Join::Or => {
                    if !is_conditional {
                        // What the first one did has happened.
                        mark = self.scope.mark();
                        is_conditional = true;
                    }
                    if item.join == Join::Or {
                        self.scope.blur(mark);
                    }
                }
            }
            let printed = self.pipeline(&item.pipeline);
            output = match item.join {
                Join::Or if !printed.is_empty() => Output::computed(),
                _ => output.then(printed),
            };
            self.spend(output.len() / 8);
        }
        if is_conditional {
            self.scope.blur(mark);
        }
        output
    }

    fn pipeline(&mut self, commands: &[Command]) -> Output {
        self.pipelines += 1;
        let pipeline = self.pipelines - 1;
        if let [only] = commands {
            self.position = (pipeline, 0);
            return self.command(only);
        }
        let before = self.input.clone();
        let mut output = Output::empty();
        for (place, command) in commands.iter().enumerate() {
            self.position = (pipeline, u32::try_from(place).unwrap_or(u32::MAX));
            output = self.subshell(|reader| reader.command(command));
            self.input = Some(output.clone());
        }
        self.input = before;
        output
    }

    pub(super) fn command(&mut self, command: &Command) -> Output {
        if self.is_stopped {
            return Output::computed();
        }
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Function { name, body } => {
                let function = Function {
                    body: Rc::clone(body),
                    bodies: Rc::clone(&self.bodies),
                    is_called: false,
                };
                self.redefine(name, function);
                Output::empty()
            }
            Command::Compound(compound, redirections) => {
                self.redirected_compound(compound, redirections)
            }
        }
    }

    /// Defines a function. One of the same name that was not called is read first.
    fn redefine(&mut self, name: &str, function: Function) {
        if let Some(old) = self.functions.insert(name.to_owned(), function)
            && !old.is_called
            && !self.calls.iter().any(|call| call == name)
        {
            self.calls.push(name.to_owned());
            let bodies = std::mem::replace(&mut self.bodies, old.bodies);
            let mark = self.scope.mark();
            self.scope.set_positional(None);
            self.command(&old.body);
            self.scope.undo(mark);
            self.bodies = bodies;
            self.calls.pop();
        }
    }

    fn redirected_compound(&mut self, compound: &Compound, syntax: &[RedirectionSyntax]) -> Output {
        if syntax.is_empty() {
            return self.compound(compound);
        }
        let start = self.line.commands.len();
        let position = self.position;
        let (redirections, input) = self.redirections(syntax);
        let run = Run { words: Vec::new(), assignments: Vec::new(), redirections, input };
        self.position = position;
        self.emit(start, &run);
        let before = std::mem::replace(&mut self.input, run.input);
        let output = self.compound(compound);
        self.input = before;
        self.redirected(output, &run.redirections)
    }

    fn compound(&mut self, compound: &Compound) -> Output {
        match compound {
            Compound::Group(list) => self.list(list),
            Compound::Subshell(list) => self.subshell(|reader| reader.list(list)),
            Compound::Branches(lists) => self.branches(lists),
            Compound::Loop { condition, body } => self.loop_(condition, body),
            Compound::For { name, values, body, body_text } => {
                self.for_loop(name, values.as_deref(), body, body_text)
            }
            Compound::Case { subject, arms } => self.case(subject, arms),
            Compound::Test(words) => {
                for word in words {
                    self.expand_one(word);
                }
                Output::empty()
            }
            Compound::Arithmetic(pieces) => {
                self.arithmetic(pieces);
                Output::empty()
            }
        }
    }

    fn branches(&mut self, lists: &[List]) -> Output {
        let mark = self.scope.mark();
        let mut printed = false;
        for list in lists {
            printed |= !self.list(list).is_empty();
            self.scope.blur(mark);
        }
        if printed { Output::computed() } else { Output::empty() }
    }

    fn loop_(&mut self, condition: &List, body: &List) -> Output {
        if let Some(output) = self.lines_read(condition, body) {
            return output;
        }
        let mark = self.scope.mark();
        let printed = self.round(condition, body);
        // In the next round variables have what the body set.
        if self.scope.blur(mark) && self.loops < MAX_ROUNDS.len() {
            self.round(condition, body);
        }
        self.scope.blur(mark);
        if printed { Output::computed() } else { Output::empty() }
    }

    /// Reads a loop once. Returns whether it prints something.
    fn round(&mut self, condition: &List, body: &List) -> bool {
        self.loops += 1;
        let before = !self.list(condition).is_empty();
        let within = !self.list(body).is_empty();
        self.loops -= 1;
        before || within
    }

    /// Reads `while read …` once for each line, if they are known.
    fn lines_read(&mut self, condition: &List, body: &List) -> Option<Output> {
        let [item] = condition.as_slice() else { return None };
        let [Command::Simple(simple)] = item.pipeline.as_slice() else { return None };
        let Some(Argument::Word(first)) = simple.words.first() else { return None };
        let reads = matches!(first.as_slice(), [Piece::Text { text, .. }] if text == "read");
        let rounds = *MAX_ROUNDS.get(self.loops)?;
        let text = match self.input.as_ref()? {
            Output::Known(word) => word.known()?.to_owned(),
            _ => return None,
        };
        if !reads || text.lines().count() > rounds {
            return None;
        }
        let before = self.input.take();
        let mut output = Output::empty();
        self.loops += 1;
        for line in text.lines() {
            self.input = Some(Output::text(format!("{line}\n")));
            self.list(condition);
            self.input = before.clone();
            output = output.then(self.list(body));
        }
        self.loops -= 1;
        self.input = before;
        Some(output)
    }

    fn for_loop(
        &mut self,
        name: &str,
        values: Option<&[WordSyntax]>,
        body: &List,
        body_text: &str,
    ) -> Output {
        let mut words = Vec::new();
        match values {
            Some(values) => values.iter().for_each(|word| self.expand_argument(word, &mut words)),
            None => match self.scope.positional() {
                Some(positional) => words = positional.to_vec(),
                None => words.push(Word::unknown("$@")),
            },
        }
        if words.is_empty() {
            // What is in the body counts in any case.
            words.push(Word::unknown(format!("${name}")));
        }
        let rounds = MAX_ROUNDS.get(self.loops).copied().unwrap_or(0);
        let used = body_text.contains(name);
        let exact = words.len() <= rounds || !used;
        if !exact {
            words.truncate(rounds);
        }
        if !used {
            words.truncate(1);
        }
        let mark = self.scope.mark();
        let mut output = Output::empty();
        self.loops += 1;
        for word in words {
            self.scope.set(name, Value::Scalar(word));
            output = output.then(self.list(body));
        }
        if !exact {
            self.scope.set(name, Value::Unknown);
            self.list(body);
        }
        self.loops -= 1;
        let changed = self.scope.blur(mark);
        if exact && used && !changed || output.is_empty() { output } else { Output::computed() }
    }

    fn case(&mut self, subject: &WordSyntax, arms: &[(Vec<WordSyntax>, List)]) -> Output {
        self.expand_one(subject);
        let mark = self.scope.mark();
        let mut printed = false;
        for (patterns, list) in arms {
            for pattern in patterns {
                self.expand_one(pattern);
            }
            printed |= !self.list(list).is_empty();
            self.scope.blur(mark);
        }
        if printed { Output::computed() } else { Output::empty() }
    }

    /// Follows substitutions in arithmetic, and forgets the variables it sets.
    pub(super) fn arithmetic(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Text { text, .. }
                    if text.contains('=') || text.contains("++") || text.contains("--") =>
                {
                    self.forget_names(text);
                }
                Piece::Text { .. } => {}
                _ => {
                    self.expand_piece(piece);
                }
            }
        }
    }

    fn forget_names(&mut self, text: &str) {
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        for name in text.split(|character| !is_name(character)) {
            if self.scope.get(name).is_some() {
                self.scope.set(name, Value::Unknown);
            }
        }
    }
}
