//! Where commands write: lines of toned pieces, tables and JSON, with colours only on a terminal.

use std::io::{self, Write};

use anstream::AutoStream;

use crate::table::{Cell, columns, field};
use crate::text::printable;
use crate::tone::{Line, Piece, Tone};

/// Where a command writes.
pub struct Out {
    writer: Box<dyn Write>,
}

impl std::fmt::Debug for Out {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Out")
    }
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
