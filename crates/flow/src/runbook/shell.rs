//! Interpolates values into shell commands.
//!
//! A value never becomes part of a command's text. It is passed in an environment variable of the
//! command, and the text expands that variable, in quotes. The scanner below follows the shell's
//! quoting so that the expansion is quoted correctly in its context; if it were ever wrong, a value
//! might be split into words, but it would not be executed.

use super::finding::{Finding, Span};
use super::template::{Template, TemplatePiece, TemplateReference};

/// The variable of an agent's prompt.
pub const PROMPT_VARIABLE: &str = "ANYHOOK_PROMPT";
/// Prefix of the variables of values; a number follows.
const VALUE_VARIABLE: &str = "ANYHOOK_VALUE_";

/// A command with its values in variables.
#[derive(Clone, Debug, Default)]
pub struct ShellCommand {
    /// The text, which expands the variables.
    pub text: String,
    /// Each variable, the reference it holds, and where that is used.
    pub values: Vec<(String, TemplateReference, Span)>,
    /// Positions where no value is allowed.
    pub findings: Vec<Finding>,
}

/// Inserts expansions into a command; its variables are numbered from `first`.
pub fn interpolate(template: &Template, first: usize) -> ShellCommand {
    let mut woven = ShellCommand::default();
    let mut scanner = Scanner::new();
    for piece in &template.pieces {
        match piece {
            TemplatePiece::Text(text) => {
                text.chars().for_each(|letter| scanner.take(letter));
                woven.text.push_str(text);
            }
            TemplatePiece::Value(reference, span) => {
                let (before, after) = match scanner.quotes() {
                    Ok(quotes) => quotes,
                    Err((message, hint)) => {
                        let finding = Finding::error("shell", message).at(span).hint(hint);
                        woven.findings.push(finding);
                        continue;
                    }
                };
                let variable = woven.variable(reference, span, first);
                woven.text.push_str(&format!("{before}${{{variable}}}{after}"));
                scanner.take_value();
            }
        }
    }
    woven
}

impl ShellCommand {
    /// Returns the variable for a value; a value that is used twice has one variable.
    fn variable(&mut self, reference: &TemplateReference, span: &Span, first: usize) -> String {
        if let Some((name, ..)) = self.values.iter().find(|(_, known, _)| known == reference) {
            return name.clone();
        }
        let name = match reference {
            TemplateReference::Prompt => PROMPT_VARIABLE.to_owned(),
            _ => {
                let is_number =
                    |(name, ..): &&(String, TemplateReference, Span)| name != PROMPT_VARIABLE;
                format!("{VALUE_VARIABLE}{}", first + self.values.iter().filter(is_number).count())
            }
        };
        self.values.push((name.clone(), reference.clone(), span.clone()));
        name
    }
}

/// What the shell is reading.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    /// Words of a command: at the top level, or in `$(…)`.
    Plain {
        /// Number of open parentheses in it.
        open: usize,
        /// Nesting depth of `case`: a `)` there ends a pattern.
        cases: usize,
    },
    /// `"…"`
    Double,
    /// `'…'`
    Single,
    /// Between backticks.
    Backticks,
    /// `# …`
    Comment,
    /// Arithmetic. Some shells execute commands in a value there.
    Arithmetic {
        /// Its syntax.
        form: SubstitutionForm,
        /// Number of open parentheses or brackets in it.
        open: usize,
    },
    /// The lines after `<<WORD`.
    Document(Document),
}

/// The syntax of arithmetic. All shells know the first; to a shell that does not know the others
/// they mean something else, which can also be written in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SubstitutionForm {
    /// `$((…))`
    Expansion,
    /// `((…))`
    Command,
    /// `$[…]`
    Brackets,
}

impl SubstitutionForm {
    /// Returns its opening and closing characters.
    fn pair(self) -> (char, char) {
        if self == Self::Brackets { ('[', ']') } else { ('(', ')') }
    }

    /// Returns why no value is allowed in it, and what to do.
    fn refusal(self) -> (&'static str, &'static str) {
        match self {
            Self::Expansion => (
                "a shell may execute a value inside `$((…))`",
                "compute it another way, for example with `expr`; write a subshell as `$( (…) )`",
            ),
            Self::Command => (
                "a shell may execute a value inside `((…))`",
                "compute it another way, for example with `expr`; write a subshell as `( (…) )`",
            ),
            Self::Brackets => (
                "a shell may execute a value inside `$[…]`",
                "compute it another way, for example with `expr`; write a literal `$` as `\\$`",
            ),
        }
    }
}

/// A here-document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Document {
    /// The line it ends with.
    end: String,
    /// Whether blanks are still skipped before the word.
    is_begun: bool,
    /// Whether tabs before the end do not count (`<<-`).
    is_indented: bool,
    /// Whether nothing is expanded in it (`<<'WORD'`).
    is_quoted: bool,
    /// The line so far.
    line: String,
}

struct Scanner {
    modes: Vec<Mode>,
    /// The last two characters, the later one last.
    last: [char; 2],
    /// Whether the next character is escaped by a backslash.
    escaped: bool,
    /// The word so far, if it may mean something to the shell.
    word: String,
    /// Whether the word is where a command begins.
    at_command: bool,
    /// The here-document whose word is being read.
    naming: Option<Document>,
    /// Here-documents that begin on the next line.
    announced: Vec<Document>,
}

impl Scanner {
    fn new() -> Self {
        Self {
            modes: vec![Mode::Plain { open: 0, cases: 0 }],
            last: ['\n', '\n'],
            escaped: false,
            word: String::new(),
            at_command: true,
            naming: None,
            announced: Vec::new(),
        }
    }

    /// Returns the quotes before and after an expansion here, or why none is allowed.
    fn quotes(&self) -> Result<(&'static str, &'static str), (&'static str, &'static str)> {
        let mode = self.modes.last();
        if self.escaped && !matches!(mode, Some(Mode::Single | Mode::Comment)) {
            return Err((
                "there is a backslash before the value",
                "write `$${` for a literal `${`",
            ));
        }
        if self.naming.is_some() {
            return Err((
                "a value cannot be the delimiter of a here-document",
                "write out the delimiter",
            ));
        }
        match mode {
            None | Some(Mode::Plain { .. }) => Ok(("\"", "\"")),
            Some(Mode::Double | Mode::Comment) => Ok(("", "")),
            Some(Mode::Single) => Ok(("'\"", "\"'")),
            Some(Mode::Document(document)) if !document.is_quoted => Ok(("", "")),
            Some(Mode::Document(_)) => Err((
                "a here-document with a quoted delimiter does not expand values",
                "remove the quotes around the delimiter",
            )),
            Some(Mode::Backticks) => {
                Err(("a value cannot be used inside backticks", "use `$(…)` instead"))
            }
            Some(Mode::Arithmetic { form, .. }) => Err(form.refusal()),
        }
    }

    /// Continues after a value, which is a part of a word.
    fn take_value(&mut self) {
        self.word.push('\u{fffd}');
        if let Some(Mode::Document(document)) = self.modes.last_mut() {
            document.line.push('\u{fffd}');
        }
        self.last = [self.last[1], '\u{fffd}'];
    }

    fn take(&mut self, letter: char) {
        let escaped = std::mem::take(&mut self.escaped);
        if self.naming.is_some() {
            self.name_document(letter);
        } else {
            match self.modes.last_mut() {
                Some(Mode::Comment) if letter == '\n' => {
                    self.modes.pop();
                    self.plain(letter);
                }
                Some(Mode::Single) if letter == '\'' => {
                    self.modes.pop();
                }
                None | Some(Mode::Comment | Mode::Single) => {}
                // To the shell, a line that ends with a backslash continues.
                Some(Mode::Document(document)) if escaped && letter == '\n' => {
                    document.line.pop();
                }
                Some(_) if escaped && letter == '\n' => {}
                Some(Mode::Document(document)) => {
                    if letter == '\n' {
                        let line = std::mem::take(&mut document.line);
                        let line = if document.is_indented {
                            line.trim_start_matches('\t')
                        } else {
                            &line
                        };
                        if line == document.end {
                            self.modes.pop();
                            self.begin_document();
                        }
                    } else {
                        document.line.push(letter);
                        if !document.is_quoted && !escaped {
                            self.expanding(letter);
                        }
                    }
                }
                // The character after a backslash is literal.
                Some(_) if escaped => self.word.push(letter),
                Some(Mode::Double) if letter == '"' => {
                    self.modes.pop();
                }
                Some(Mode::Double) => self.expanding(letter),
                Some(Mode::Backticks) => match letter {
                    '`' => {
                        self.modes.pop();
                    }
                    '\\' => self.escaped = true,
                    _ => {}
                },
                Some(Mode::Arithmetic { form, open }) => {
                    let (opens, closes) = form.pair();
                    if letter == opens {
                        *open += 1;
                    } else if letter == closes {
                        *open -= 1;
                        if *open == 0 {
                            self.modes.pop();
                        }
                    }
                }
                Some(Mode::Plain { .. }) => self.plain(letter),
            }
        }
        let goes_on = escaped && letter == '\n';
        if !self.escaped && !goes_on {
            // An escaped character begins nothing together with the next.
            self.last = [self.last[1], if escaped { '\u{fffd}' } else { letter }];
        }
    }

    /// Handles a character where only expansions mean something.
    fn expanding(&mut self, letter: char) {
        match letter {
            '\\' => self.escaped = true,
            '`' => self.modes.push(Mode::Backticks),
            '(' if self.last[1] == '$' => self.open_substitution(),
            '[' if self.last[1] == '$' => self.open_brackets(),
            _ => {}
        }
    }

    fn open_brackets(&mut self) {
        self.modes.push(Mode::Arithmetic { form: SubstitutionForm::Brackets, open: 1 });
    }

    fn open_substitution(&mut self) {
        self.modes.push(Mode::Plain { open: 0, cases: 0 });
        self.word.clear();
        self.at_command = true;
    }

    /// Handles a character of a command.
    fn plain(&mut self, letter: char) {
        let ends_word = letter.is_whitespace() || ";&|()<>".contains(letter);
        if ends_word {
            self.end_word(letter);
        }
        let before = self.last[1];
        match letter {
            '\\' => self.escaped = true,
            '"' => self.modes.push(Mode::Double),
            '\'' => self.modes.push(Mode::Single),
            '`' => self.modes.push(Mode::Backticks),
            '#' if before.is_whitespace() || ";&|()".contains(before) => {
                self.modes.push(Mode::Comment);
            }
            '(' if before == '$' => self.open_substitution(),
            // Both parentheses were just opened: `$((`.
            '(' if before == '(' && self.last[0] == '$' && self.modes.len() > 1 => {
                self.modes.pop();
                self.modes.push(Mode::Arithmetic { form: SubstitutionForm::Expansion, open: 2 });
            }
            // Where a command begins, after `for`, after a function's name.
            '(' if before == '(' => {
                self.parentheses(false);
                self.modes.push(Mode::Arithmetic { form: SubstitutionForm::Command, open: 2 });
            }
            '[' if before == '$' => self.open_brackets(),
            '(' => self.parentheses(true),
            ')' => self.parentheses(false),
            '<' if before == '<' && self.last[0] != '<' => self.naming = Some(Document::default()),
            '\n' => self.begin_document(),
            _ => {}
        }
        if !ends_word {
            self.word.push(letter);
        }
    }

    fn parentheses(&mut self, opens: bool) {
        let is_inner = self.modes.len() > 1;
        let Some(Mode::Plain { open, cases }) = self.modes.last_mut() else { return };
        match (opens, *open) {
            (true, _) => *open += 1,
            (false, 0) if is_inner && *cases == 0 => {
                self.modes.pop();
                self.at_command = false;
            }
            (false, _) => *open = open.saturating_sub(1),
        }
    }

    /// Handles the end of a word: `case` and `esac` determine what a `)` means.
    fn end_word(&mut self, letter: char) {
        let word = std::mem::take(&mut self.word);
        let leads = ["if", "then", "else", "elif", "do", "while", "until", "!", "{"];
        if let Some(Mode::Plain { cases, .. }) = self.modes.last_mut()
            && self.at_command
        {
            match word.as_str() {
                "case" => *cases += 1,
                "esac" => *cases = cases.saturating_sub(1),
                _ => {}
            }
        }
        if !word.is_empty() && !leads.contains(&word.as_str()) {
            self.at_command = false;
        }
        if matches!(letter, '\n' | ';' | '&' | '|' | '(' | ')') {
            self.at_command = true;
        }
    }

    /// Handles a character of the word after `<<`.
    fn name_document(&mut self, letter: char) {
        let Some(document) = self.naming.as_mut() else { return };
        match letter {
            // `<<<` is a word, in shells that know it.
            '<' if !document.is_begun && document.end.is_empty() && self.last[1] == '<' => {
                self.naming = None;
            }
            '-' if !document.is_begun && self.last[1] == '<' => document.is_indented = true,
            ' ' | '\t' if !document.is_begun => {}
            '\'' | '"' | '\\' => {
                document.is_begun = true;
                document.is_quoted = true;
            }
            _ if letter.is_whitespace() || ";&|<>()".contains(letter) => {
                let document = self.naming.take();
                self.announced.extend(document.filter(|document| document.is_begun));
                self.plain(letter);
            }
            _ => {
                document.is_begun = true;
                document.end.push(letter);
            }
        }
    }

    /// Begins the next here-document at the start of a line.
    fn begin_document(&mut self) {
        if !self.announced.is_empty() {
            self.modes.push(Mode::Document(self.announced.remove(0)));
        }
    }
}

#[cfg(test)]
mod tests;
