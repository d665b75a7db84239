//! The state of the view: what was received, what is selected, and what keys do.

use anyhook_model::pipeline::PipelineView;
use anyhook_model::{ApprovalRequest, Record};

use crate::cursor::{Cursor, CursorMove};
use crate::daemon_link::DaemonView;
use crate::filter::{OutcomeFilter, ViewFilter};
use crate::help;
use crate::hooks::HookTable;
use crate::key::KeyPress;
use crate::pager::Pager;
use crate::pipelines::PipelineTable;
use crate::rate::Rate;
use crate::sessions::{RowKey, SessionTable};
use crate::stream::RecordStream;
use crate::waiting::{self, PendingAnswer, WaitingRequests};
use anyhook_terminal::StyledLine as Row;
use anyhook_terminal::{OwnedStyledText as Piece, Tone};

#[cfg(test)]
mod tests;

/// The parts of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// What waits for a person; not shown while nothing does.
    Waiting,
    /// The progress of pipelines; not shown while there are none.
    Pipelines,
    /// The agents at work.
    Sessions,
    /// The newest records.
    Stream,
    /// The statistics of hooks.
    Hooks,
}

impl Pane {
    const ALL: [Self; 5] =
        [Self::Waiting, Self::Pipelines, Self::Sessions, Self::Stream, Self::Hooks];
}

/// What a key requests that the view cannot do itself.
#[derive(Debug, PartialEq)]
pub enum KeyEffect {
    /// Nothing.
    Stay,
    /// Quit.
    Quit,
    /// Show all that is known of a record; with its related records.
    Open(Box<Record>, Vec<Record>),
    /// Show all that is known of a pipeline; with its approval request.
    OpenPipeline(Box<PipelineView>, Option<Box<ApprovalRequest>>),
    /// Answer a decision.
    Answer(PendingAnswer),
}

/// The counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events that were denied.
    pub denials: usize,
    /// Runs of hooks that failed.
    pub failures: usize,
    /// Calls that ran although they were denied.
    pub alarms: usize,
}

/// The status of the journal itself.
#[derive(Debug, Default)]
pub struct JournalSource {
    /// Its path.
    pub path: String,
    /// Why it cannot be read.
    pub trouble: Option<String>,
    /// How many lines were not records.
    pub damaged: usize,
    /// Whether all existing records have been read.
    pub is_read: bool,
}

/// The state of the view.
#[derive(Debug)]
pub struct App {
    /// The journal.
    pub source: JournalSource,
    /// The daemon.
    pub daemon: DaemonView,
    /// What waits for a person.
    pub waiting: WaitingRequests,
    /// The progress of pipelines.
    pub pipelines: PipelineTable,
    /// A message that is shown until the next key.
    pub status: Option<Piece>,
    /// The agents at work.
    pub sessions: SessionTable,
    /// The selected session or subagent.
    pub session_cursor: Cursor<RowKey>,
    /// The newest records.
    pub stream: RecordStream,
    /// The statistics of hooks.
    pub hooks: HookTable,
    /// The selected hook.
    pub hook_cursor: Cursor<String>,
    /// The rate of events.
    pub rate: Rate,
    /// The counters.
    pub totals: Totals,
    /// The last call that ran although it was denied.
    pub last_alarm: Option<String>,
    /// The time of the newest record.
    pub last: Option<jiff::Timestamp>,
    /// Which pane has the focus.
    pub focus: Pane,
    /// Whether a text is being typed.
    pub is_typing: bool,
    /// The text that covers the panes.
    pub pager: Option<Pager>,
}

impl App {
    /// Makes the view of a journal, with nothing read yet.
    pub fn new(path: String) -> Self {
        Self {
            source: JournalSource { path, ..JournalSource::default() },
            daemon: DaemonView::default(),
            waiting: WaitingRequests::default(),
            pipelines: PipelineTable::default(),
            status: None,
            sessions: SessionTable::default(),
            session_cursor: Cursor::at_first(),
            stream: RecordStream::default(),
            hooks: HookTable::default(),
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

    /// Adds a record.
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
        // A background run is not an event of its own.
        if record.of.is_none() {
            self.totals.denials += usize::from(record.denies());
            self.sessions.feed(&record);
            self.rate.feed(record.at);
            self.last = self.last.max(Some(record.at));
        }
        self.stream.feed(record);
    }

    /// Takes the daemon's state.
    pub fn hear_daemon(&mut self, daemon: DaemonView) {
        let (agents, decisions, pipelines) = match &daemon {
            DaemonView::Here { agents, decisions, pipelines } => {
                (Some(&agents[..]), &decisions[..], &pipelines[..])
            }
            DaemonView::Away(_) | DaemonView::Unasked => (None, &[][..], &[][..]),
        };
        self.sessions.hear_daemon(agents);
        self.pipelines.hear(pipelines);
        if let Some(said) = self.waiting.hear(decisions) {
            self.status = Some((Tone::Bad, said));
        }
        self.daemon = daemon;
    }

    /// Shows the result of a decision, or why it could not be made.
    pub fn answered(&mut self, answered: Result<String, String>) {
        self.status = Some(match answered {
            Ok(made) => (Tone::Good, made),
            Err(why) => (Tone::Bad, why),
        });
    }

    /// Returns the visible panes.
    pub fn panes(&self) -> Vec<Pane> {
        let is_there = |pane: &Pane| {
            let has_rows = match pane {
                Pane::Waiting => !self.waiting.is_empty(),
                Pane::Pipelines => !self.pipelines.is_empty(),
                Pane::Sessions | Pane::Stream | Pane::Hooks => true,
            };
            has_rows || self.focus == *pane
        };
        Pane::ALL.into_iter().filter(is_there).collect()
    }

    /// Returns the pane after the one with the focus, or before it.
    fn beside(&self, is_before: bool) -> Pane {
        let panes = self.panes();
        let place = panes.iter().position(|pane| *pane == self.focus).unwrap_or(0);
        let by = if is_before { panes.len() - 1 } else { 1 };
        panes[(place + by) % panes.len()]
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyPress) -> KeyEffect {
        if key == KeyPress::Interrupt {
            return KeyEffect::Quit;
        }
        self.status = None;
        if self.pager.is_some() {
            self.key_in_pager(key);
            return KeyEffect::Stay;
        }
        if self.is_typing {
            self.key_in_text(key);
            return KeyEffect::Stay;
        }
        if let Some(answer) = self.waiting.chosen.take() {
            return self.key_in_choice(key, answer);
        }
        if let Some(to) = key.leads() {
            self.go(to);
            return KeyEffect::Stay;
        }
        match key {
            KeyPress::Letter('q') => return KeyEffect::Quit,
            KeyPress::Letter(number @ '1'..='9') if self.focus == Pane::Waiting => {
                self.choose(number);
            }
            KeyPress::Escape if matches!(self.focus, Pane::Waiting | Pane::Pipelines) => {
                self.focus = Pane::Stream;
            }
            KeyPress::Escape if self.stream.filter.is_open() => return KeyEffect::Quit,
            KeyPress::Escape | KeyPress::Letter('a') => self.stream.filter = ViewFilter::default(),
            KeyPress::Enter => return self.enter(),
            KeyPress::Next => self.focus = self.beside(false),
            KeyPress::Previous => self.focus = self.beside(true),
            KeyPress::Letter('w') => self.focus = Pane::Waiting,
            KeyPress::Letter('l') => self.focus = Pane::Pipelines,
            KeyPress::Letter('d') => self.stream.filter.only = OutcomeFilter::Denials,
            KeyPress::Letter('f') => self.stream.filter.only = OutcomeFilter::Failures,
            KeyPress::Letter('p') => self.stream.pause(),
            KeyPress::Letter('/') => {
                self.is_typing = true;
                self.focus = Pane::Stream;
            }
            KeyPress::Letter('?') => self.open("help", help::rows()),
            _ => {}
        }
        KeyEffect::Stay
    }

    /// Covers the panes with a text.
    pub fn open(&mut self, title: &str, rows: Vec<Row>) {
        self.pager = Some(Pager::new(title, rows));
    }

    fn key_in_pager(&mut self, key: KeyPress) {
        let Some(pager) = &mut self.pager else { return };
        match (key, key.leads()) {
            (_, Some(to)) => pager.go(to),
            (KeyPress::Letter(' '), _) => pager.go(CursorMove::PageDown),
            (
                KeyPress::Escape | KeyPress::Enter | KeyPress::Backspace | KeyPress::Letter('q'),
                _,
            ) => self.pager = None,
            _ => {}
        }
    }

    fn key_in_text(&mut self, key: KeyPress) {
        let text = &mut self.stream.filter.text;
        match key {
            KeyPress::Letter(letter) => text.push(letter),
            KeyPress::Backspace => drop(text.pop()),
            KeyPress::Enter => self.is_typing = false,
            KeyPress::Escape => {
                text.clear();
                self.is_typing = false;
            }
            KeyPress::Move(to) => self.go(to),
            _ => {}
        }
    }

    /// Chooses the option of the selected decision with a number; it must be confirmed.
    fn choose(&mut self, number: char) {
        if !self.waiting.choose(number) && !self.waiting.is_empty() {
            self.status = Some((Tone::Bad, format!("there is no option {number}")));
        }
    }

    /// Enter confirms, another number makes a new choice, and every other key cancels it.
    fn key_in_choice(&mut self, key: KeyPress, answer: PendingAnswer) -> KeyEffect {
        match key {
            KeyPress::Enter => {
                self.status = Some((Tone::Dim, format!("{}: {} …", answer.id, answer.choice)));
                return KeyEffect::Answer(answer);
            }
            KeyPress::Letter(number @ '1'..='9') => self.choose(number),
            _ => {}
        }
        KeyEffect::Stay
    }

    fn go(&mut self, to: CursorMove) {
        match self.focus {
            Pane::Waiting => self.waiting.go(to),
            Pane::Pipelines => self.pipelines.go(to),
            Pane::Sessions => self.session_cursor.go(to, &self.sessions.row_keys()),
            Pane::Stream => {
                let keys = self.stream.keys();
                self.stream.cursor.go(to, &keys);
            }
            Pane::Hooks => self.hook_cursor.go(to, &self.hook_keys()),
        }
    }

    /// Opens the selected record, decision or pipeline, or filters by the selected session or hook.
    fn enter(&mut self) -> KeyEffect {
        match self.focus {
            Pane::Waiting => {
                if let Some(inquiry) = self.waiting.selected() {
                    let rows = waiting::page(inquiry, anyhook_engine::now());
                    self.open(&format!("decision {}", inquiry.id.clone()), rows);
                }
                return KeyEffect::Stay;
            }
            Pane::Pipelines => {
                let Some(pipeline) = self.pipelines.selected() else { return KeyEffect::Stay };
                let asks = pipeline.decision.as_ref().and_then(|id| self.waiting.find(id));
                return KeyEffect::OpenPipeline(
                    Box::new(pipeline.clone()),
                    asks.cloned().map(Box::new),
                );
            }
            Pane::Stream => {
                return match self.stream.selected() {
                    Some((record, family)) => KeyEffect::Open(Box::new(record), family),
                    None => KeyEffect::Stay,
                };
            }
            Pane::Sessions => {
                let mut keys = self.sessions.row_keys();
                if keys.is_empty() {
                    return KeyEffect::Stay;
                }
                let (session, _) = keys.swap_remove(self.session_cursor.row(&keys));
                self.stream.filter.session = Some(session);
            }
            Pane::Hooks => {
                let mut keys = self.hook_keys();
                if keys.is_empty() {
                    return KeyEffect::Stay;
                }
                self.stream.filter.text = keys.swap_remove(self.hook_cursor.row(&keys));
            }
        }
        self.focus = Pane::Stream;
        self.stream.cursor = Cursor::at_last();
        KeyEffect::Stay
    }

    /// Returns the names of the hooks in display order.
    pub fn hook_keys(&self) -> Vec<String> {
        self.hooks.rows().iter().map(|(name, _)| (*name).to_owned()).collect()
    }
}
