//! The output of commands: lines of toned pieces, tables and JSON, with colours only on a terminal,
//! and there in a pager on request.

use std::io::{self, IsTerminal, Write};

use anstream::AutoStream;

use crate::pager::Pager;
use crate::table::{Cell, columns, field};
use crate::text::printable;
use crate::tone::{StyledLine, StyledText, Tone};

/// The output of a command.
pub struct Out {
    writer: Box<dyn Write>,
    /// Whether it is a terminal, so that a person reads it.
    is_terminal: bool,
    held: Option<Held>,
}

/// Output that is held until it is shown in a pager.
struct Held {
    pager: Pager,
    text: Vec<u8>,
}

impl std::fmt::Debug for Out {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Out")
    }
}

impl Out {
    /// Writes to standard output; colours only on a terminal.
    pub fn stdout() -> Self {
        let writer = Box::new(io::BufWriter::new(AutoStream::auto(io::stdout())));
        Self { writer, is_terminal: io::stdout().is_terminal(), held: None }
    }

    /// Writes to standard error.
    pub fn stderr() -> Self {
        let writer = Box::new(AutoStream::auto(io::stderr()));
        Self { writer, is_terminal: false, held: None }
    }

    /// Shows everything written from here to the next [`flush`](Self::flush) in a pager, if
    /// standard output is a terminal.
    ///
    /// It is held until then: a slow reader must not delay the command.
    pub fn page(&mut self, pager: Pager) {
        if self.is_terminal && self.held.is_none() {
            self.held = Some(Held { pager, text: Vec::new() });
        }
    }

    /// Returns whether output is held for a pager.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    fn sink(&mut self) -> &mut dyn Write {
        match &mut self.held {
            Some(held) => &mut held.text,
            None => &mut *self.writer,
        }
    }

    /// Writes pieces without ending the line.
    pub fn pieces(&mut self, pieces: &[StyledText<'_>]) -> io::Result<()> {
        for (tone, text) in pieces {
            let style = tone.style();
            write!(self.sink(), "{style}{}{style:#}", printable(text))?;
        }
        Ok(())
    }

    /// Writes a line of pieces.
    pub fn line(&mut self, pieces: &[StyledText<'_>]) -> io::Result<()> {
        self.pieces(pieces)?;
        writeln!(self.sink())
    }

    /// Writes lines of pieces, indented.
    pub fn lines(&mut self, indent: &str, lines: &[StyledLine]) -> io::Result<()> {
        for line in lines {
            if !line.is_empty() {
                self.sink().write_all(indent.as_bytes())?;
            }
            let pieces: Vec<StyledText<'_>> =
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
        writeln!(self.sink(), "{text}")
    }

    /// Writes a line with its own colours, wherever the output goes: for programs that draw it.
    pub fn as_it_is(&mut self, text: &str) -> io::Result<()> {
        self.flush()?;
        let mut writer = io::stdout();
        writeln!(writer, "{text}")?;
        writer.flush()
    }

    /// Writes a named value, its name in an aligned column.
    pub fn field(&mut self, name: &str, tone: Tone, value: &str) -> io::Result<()> {
        self.lines("", &field(name, tone, value))
    }

    /// Writes an empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.sink())
    }

    /// Writes a value as JSON, indented for people.
    pub fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        writeln!(self.sink(), "{text}")
    }

    /// Writes rows in aligned columns.
    pub fn table(&mut self, rows: &[Vec<Cell>]) -> io::Result<()> {
        self.lines("", &columns(rows))
    }

    /// Flushes what was written so far. Output held for a pager is shown in it, and this returns
    /// once the person has read it.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(Held { pager, text }) = self.held.take() {
            self.writer.flush()?;
            let colours = AutoStream::choice(&io::stdout());
            if !text.is_empty() && !pager.show(&text, colours) {
                self.writer.write_all(&text)?;
            }
        }
        self.writer.flush()
    }
}
