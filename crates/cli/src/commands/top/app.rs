//! All that the view knows: what came, what is looked at, what keys do.

use anyhook_model::Record;

use super::cursor::{Cursor, Move};
use super::filter::{Filter, Only};
use super::help;
use super::hooks::Hooks;
use super::key::Key;
use super::pager::Pager;
use super::rate::Rate;
use super::sessions::{RowKey, Sessions};
use super::stream::Stream;
use crate::ui::Line as Row;

#[cfg(test)]
mod tests;

/// The parts of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// Who is at work.
    Sessions,
    /// The newest records.
    Stream,
    /// How hooks do.
    Hooks,
}

impl Pane {
    const ALL: [Self; 3] = [Self::Sessions, Self::Stream, Self::Hooks];

    /// Returns the pane so many further.
    fn further(self, by: usize) -> Self {
        let place = Self::ALL.iter().position(|pane| *pane == self).unwrap_or(0);
        Self::ALL[(place + by) % Self::ALL.len()]
    }
}

/// What a key asks for that is not the view's own business.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Nothing.
    Stay,
    /// To end.
    Quit,
    /// To show all that is known of a record; and its family.
    Open(Box<Record>, Vec<Record>),
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events that were denied.
    pub denials: usize,
    /// Runs of hooks that failed.
    pub failures: usize,
    /// Calls that ran although they were denied.
    pub alarms: usize,
}

/// What is known of the journal itself.
#[derive(Debug, Default)]
pub struct Source {
    /// Where it is.
    pub path: String,
    /// Why it cannot be read.
    pub trouble: Option<String>,
    /// How many lines were no records.
    pub damaged: usize,
    /// Whether all that was there has been read.
    pub is_read: bool,
}

/// The state of the view.
#[derive(Debug)]
pub struct App {
    /// The journal.
    pub source: Source,
    /// Who is at work.
    pub sessions: Sessions,
    /// The selected session or subagent.
    pub session_cursor: Cursor<RowKey>,
    /// The newest records.
    pub stream: Stream,
    /// How hooks do.
    pub hooks: Hooks,
    /// The selected hook.
    pub hook_cursor: Cursor<String>,
    /// How much comes.
    pub rate: Rate,
    /// What is counted.
    pub totals: Totals,
    /// The last call that ran although it was denied.
    pub last_alarm: Option<String>,
    /// The newest record.
    pub last: Option<jiff::Timestamp>,
    /// Which pane the keys are for.
    pub focus: Pane,
    /// Whether a text is being typed.
    pub is_typing: bool,
    /// What covers the panes.
    pub pager: Option<Pager>,
}

impl App {
    /// Makes the view of a journal, with nothing read yet.
    pub fn new(path: String) -> Self {
        Self {
            source: Source { path, ..Source::default() },
            sessions: Sessions::default(),
            session_cursor: Cursor::at_first(),
            stream: Stream::default(),
            hooks: Hooks::default(),
            hook_cursor: Cursor::at_first(),
            rate: Rate::default(),
            totals: Totals::default(),
            last_alarm: None,
            last: None,
            focus: Pane::Stream,
            is_typing: false,
            pager: None,
        }
    }

    /// Takes a record in.
    pub fn feed(&mut self, record: Record) {
        self.hooks.feed(&record);
        let failed = record.runs.iter().filter(|run| run.failure.is_some());
        self.totals.failures += failed.count();
        if let Some(denied) = &record.denied_by {
            self.totals.alarms += 1;
            let about = [record.tool.as_deref(), record.about.as_deref()];
            let about = about.into_iter().flatten().collect::<Vec<_>>().join(" ");
            self.last_alarm = Some(format!("{} `{about}` ({denied})", record.host));
        }
        // What ran aside is no event of its own.
        if record.of.is_none() {
            self.totals.denials += usize::from(record.denies());
            self.sessions.feed(&record);
            self.rate.feed(record.at);
            self.last = self.last.max(Some(record.at));
        }
        self.stream.feed(record);
    }

    /// Does what a key asks for.
    pub fn key(&mut self, key: Key) -> Step {
        if key == Key::Interrupt {
            return Step::Quit;
        }
        if self.pager.is_some() {
            self.key_in_pager(key);
            return Step::Stay;
        }
        if self.is_typing {
            self.key_in_text(key);
            return Step::Stay;
        }
        if let Some(to) = key.leads() {
            self.go(to);
            return Step::Stay;
        }
        match key {
            Key::Letter('q') => return Step::Quit,
            Key::Escape if self.stream.filter.is_open() => return Step::Quit,
            Key::Escape | Key::Letter('a') => self.stream.filter = Filter::default(),
            Key::Enter => return self.enter(),
            Key::Next => self.focus = self.focus.further(1),
            Key::Previous => self.focus = self.focus.further(2),
            Key::Letter('d') => self.stream.filter.only = Only::Denials,
            Key::Letter('f') => self.stream.filter.only = Only::Failures,
            Key::Letter('p') => self.stream.pause(),
            Key::Letter('/') => {
                self.is_typing = true;
                self.focus = Pane::Stream;
            }
            Key::Letter('?') => self.open("help", help::rows()),
            _ => {}
        }
        Step::Stay
    }

    /// Covers the panes with a text.
    pub fn open(&mut self, title: &str, rows: Vec<Row>) {
        self.pager = Some(Pager::new(title, rows));
    }

    fn key_in_pager(&mut self, key: Key) {
        let Some(pager) = &mut self.pager else { return };
        match (key, key.leads()) {
            (_, Some(to)) => pager.go(to),
            (Key::Letter(' '), _) => pager.go(Move::PageDown),
            (Key::Escape | Key::Enter | Key::Backspace | Key::Letter('q'), _) => self.pager = None,
            _ => {}
        }
    }

    fn key_in_text(&mut self, key: Key) {
        let text = &mut self.stream.filter.text;
        match key {
            Key::Letter(letter) => text.push(letter),
            Key::Backspace => drop(text.pop()),
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                text.clear();
                self.is_typing = false;
            }
            Key::Move(to) => self.go(to),
            _ => {}
        }
    }

    fn go(&mut self, to: Move) {
        match self.focus {
            Pane::Sessions => self.session_cursor.go(to, &self.sessions.row_keys()),
            Pane::Stream => {
                let keys = self.stream.keys();
                self.stream.cursor.go(to, &keys);
            }
            Pane::Hooks => self.hook_cursor.go(to, &self.hook_keys()),
        }
    }

    /// Opens the selected record, or shows only those of the selected session or hook.
    fn enter(&mut self) -> Step {
        match self.focus {
            Pane::Stream => {
                return match self.stream.selected() {
                    Some((record, family)) => Step::Open(Box::new(record), family),
                    None => Step::Stay,
                };
            }
            Pane::Sessions => {
                let mut keys = self.sessions.row_keys();
                if keys.is_empty() {
                    return Step::Stay;
                }
                let (session, _) = keys.swap_remove(self.session_cursor.row(&keys));
                self.stream.filter.session = Some(session);
            }
            Pane::Hooks => {
                let mut keys = self.hook_keys();
                if keys.is_empty() {
                    return Step::Stay;
                }
                self.stream.filter.text = keys.swap_remove(self.hook_cursor.row(&keys));
            }
        }
        self.focus = Pane::Stream;
        self.stream.cursor = Cursor::at_last();
        Step::Stay
    }

    /// Returns the names of the hooks as they are shown.
    pub fn hook_keys(&self) -> Vec<String> {
        self.hooks.rows().iter().map(|(name, _)| (*name).to_owned()).collect()
    }
}
