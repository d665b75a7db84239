//! What a person sees: tones instead of colours, and columns that line up.

use std::io::{self, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

/// What a piece of text means; its colour follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// A heading, a name.
    Strong,
    /// Went well, goes on.
    Good,
    /// Blocked, failed.
    Bad,
    /// Asks, warns.
    Warn,
    /// Beside the point.
    Dim,
    /// The next step.
    Hint,
}

impl Tone {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Good => colour(AnsiColor::Green),
            Self::Bad => colour(AnsiColor::Red).bold(),
            Self::Warn => colour(AnsiColor::Yellow),
            Self::Dim => Style::new().dimmed(),
            Self::Hint => colour(AnsiColor::Cyan),
        }
    }
}

/// A piece of text with its tone.
pub type Piece<'text> = (Tone, &'text str);

/// A piece of text that stands by itself.
pub type OwnedPiece = (Tone, String);
/// A line of such pieces.
pub type Line = Vec<OwnedPiece>;

/// Where a command writes.
pub struct Out {
    writer: Box<dyn Write>,
}

impl Out {
    /// Writes to standard output; colours only on a terminal.
    pub fn stdout() -> Self {
        Self { writer: Box::new(io::BufWriter::new(AutoStream::auto(io::stdout()))) }
    }

    /// Writes to standard error.
    pub fn stderr() -> Self {
        Self { writer: Box::new(AutoStream::auto(io::stderr())) }
    }

    /// Writes pieces without ending the line.
    pub fn pieces(&mut self, pieces: &[Piece<'_>]) -> io::Result<()> {
        for (tone, text) in pieces {
            let style = tone.style();
            write!(self.writer, "{style}{}{style:#}", printable(text))?;
        }
        Ok(())
    }

    /// Writes a line of pieces.
    pub fn line(&mut self, pieces: &[Piece<'_>]) -> io::Result<()> {
        self.pieces(pieces)?;
        writeln!(self.writer)
    }

    /// Writes lines of pieces, indented.
    pub fn lines(&mut self, indent: &str, lines: &[Line]) -> io::Result<()> {
        for line in lines {
            if !line.is_empty() {
                self.writer.write_all(indent.as_bytes())?;
            }
            let pieces: Vec<Piece<'_>> =
                line.iter().map(|(tone, text)| (*tone, text.as_str())).collect();
            self.line(&pieces)?;
        }
        Ok(())
    }

    /// Writes the next step.
    pub fn hint(&mut self, text: &str) -> io::Result<()> {
        self.line(&[(Tone::Hint, "hint: "), (Tone::Plain, text)])
    }

    /// Writes a plain line.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.writer, "{text}")
    }

    /// Writes a named value, its name in a column that lines up.
    pub fn field(&mut self, name: &str, tone: Tone, value: &str) -> io::Result<()> {
        self.lines("", &field(name, tone, value))
    }

    /// Writes an empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.writer)
    }

    /// Writes a value as JSON, indented for people.
    pub fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        writeln!(self.writer, "{text}")
    }

    /// Writes rows in columns that line up.
    pub fn table(&mut self, rows: &[Vec<Cell>]) -> io::Result<()> {
        self.lines("", &columns(rows))
    }

    /// Hands on what was written so far.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// One field of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    tone: Tone,
    text: String,
}

impl Cell {
    /// Makes a field.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: printable(&text.into()) }
    }

    fn width(&self) -> usize {
        self.text.width()
    }
}

/// Returns rows as lines, in columns that line up.
pub fn columns(rows: &[Vec<Cell>]) -> Vec<Line> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max().unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<Cell>| {
        // Empty fields at the end leave no blanks behind.
        let filled = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        let mut line = Line::new();
        for (column, cell) in row[..filled].iter().enumerate() {
            line.push((cell.tone, cell.text.clone()));
            if column + 1 < filled {
                // Not `{:blanks$}`: a width above 65,535 is refused with a panic.
                line.push((Tone::Plain, " ".repeat(widths[column] - cell.width() + 2)));
            }
        }
        line
    };
    rows.iter().map(line).collect()
}

/// Returns a named value as lines, its name in a column that lines up, and so its further lines.
pub fn field(name: &str, tone: Tone, value: &str) -> Vec<Line> {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    // One that is empty has a line, too.
    let first = if value.is_empty() { Some("") } else { None };
    let lines = first.into_iter().chain(value.lines());
    let line = |(name, value): (&str, &str)| {
        vec![(Tone::Dim, format!("{name:<10} ")), (tone, value.to_owned())]
    };
    names.zip(lines).map(line).collect()
}

/// Returns text that cannot steer a terminal: control characters but line breaks and tabs go.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| {
            if letter.is_control() && !matches!(letter, '\n' | '\t') { '\u{fffd}' } else { letter }
        })
        .collect()
}

/// Returns a number with its noun: `1 hook`, `2 hooks`.
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns the first line of a text, cut to a width.
pub fn first_line(text: &str, width: usize) -> String {
    let line = text.lines().next().unwrap_or("");
    let more = text.lines().nth(1).is_some();
    if line.width() <= width && !more {
        return line.to_owned();
    }
    let mut cut = String::new();
    for letter in line.chars() {
        if cut.width() + 1 >= width {
            break;
        }
        cut.push(letter);
    }
    cut.push('…');
    cut
}
