//! `anyhook top`: shows all agents live, on a screen that is redrawn continuously.
//!
//! - `updates` and `daemon_link` provide input: keys, records, the daemon's state;
//! - `app` is the state of the view, with a part for each pane: `sessions`, `stream`, `hooks`,
//!   `waiting`, `pipelines`;
//! - `draw` renders it to a `picture`, `screen` writes that to the terminal.
//!
//! There is no widget library underneath: every pane is as wide as the terminal, so a picture is
//! rows of toned text, and a row that did not change is not written again.

mod app;
mod columns;
mod cursor;
mod daemon_link;
mod draw;
#[cfg(test)]
mod examples;
mod filter;
mod help;
mod hooks;
mod key;
mod pager;
mod panes;
mod picture;
mod pipelines;
mod rate;
mod screen;
mod sessions;
mod state;
mod stream;
mod updates;
mod waiting;

use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use anyhook_engine::journal::Journal;
use anyhook_engine::{Places, now};
use anyhook_model::pipeline::PipelineView;
use anyhook_model::{ApprovalRequest, Record};
use anyhook_pages::pipeline;
use anyhook_pages::record::{self, Trace};
use anyhook_socket::DaemonFolder;
use anyhook_terminal::StyledLine;
use jiff::Timestamp;

use crate::app::{App, KeyEffect};
use crate::daemon_link::DaemonLink;
use crate::picture::Palette;
use crate::screen::Screen;
use crate::updates::{JournalFollower, Update};

/// Ages are shown in seconds, so the screen is redrawn at least this often.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// How often signals are checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// At most this many updates are queued: a sender of more has to wait.
const NEWS_WAITING: usize = 32;

/// There is no terminal to draw on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoTerminal(io::Error);

/// What is shown.
#[derive(Debug)]
pub struct Top {
    /// The journal.
    pub journal: Journal,
    /// Its path, as a person would write it.
    pub shown_path: String,
    /// Records from this time on are shown.
    pub since: Timestamp,
    /// The daemon's folder.
    pub daemon: DaemonFolder,
    /// The person at the terminal, who makes decisions.
    pub person: String,
    /// The folders, for paths as a person would write them.
    pub places: Places,
    /// Whether there are colours.
    pub colours: bool,
}

impl Top {
    /// Shows what happens until the person quits.
    pub fn run(self) -> Result<(), NoTerminal> {
        let app = App::new(self.shown_path);
        let mut screen = Screen::open().map_err(NoTerminal)?;
        let (sender, news) = sync_channel(NEWS_WAITING);
        let pages = Pages { journal: self.journal.clone(), places: self.places };
        let following = JournalFollower::start(self.journal, self.since, sender.clone());
        let link = DaemonLink::start(self.daemon, self.person, sender.clone());
        updates::keys(sender);
        let palette = Palette { colours: self.colours };
        // A terminal that cannot be written to is gone, and so is its user.
        let _ = watch(app, &news, &link, &pages, palette, &mut screen);
        drop(screen);
        // Threads that send updates must not block on us.
        drop(news);
        drop(following);
        Ok(())
    }
}

/// What pages are made of.
struct Pages {
    journal: Journal,
    places: Places,
}

impl Pages {
    fn record(&self, record: Record, family: Vec<Record>) -> Vec<StyledLine> {
        record::lines(&Trace::new(&self.journal, record, family))
    }

    fn pipeline(&self, shown: &PipelineView, asks: Option<&ApprovalRequest>) -> Vec<StyledLine> {
        pipeline::lines(shown, asks, now(), &self.places)
    }
}

/// Shows updates until the person quits.
fn watch(
    mut app: App,
    news: &Receiver<Update>,
    link: &DaemonLink,
    pages: &Pages,
    palette: Palette,
    screen: &mut Screen,
) -> io::Result<()> {
    let mut draw_at = Instant::now();
    while !screen.was_told_to_end() {
        if draw_at <= Instant::now() {
            screen.draw(palette, |width, height| draw::draw(&mut app, now(), width, height))?;
            draw_at = Instant::now() + DRAW_EVERY;
        }
        let wait = LOOK_EVERY.min(draw_at.saturating_duration_since(Instant::now()));
        let Ok(first) = news.recv_timeout(wait) else { continue };
        draw_at = Instant::now();
        // All queued updates are drawn at once; a steady flow must not delay drawing.
        let more = news.try_iter().take(NEWS_WAITING);
        for came in std::iter::once(first).chain(more) {
            if take(came, &mut app, link, pages) == KeyEffect::Quit {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Applies an update.
fn take(came: Update, app: &mut App, link: &DaemonLink, pages: &Pages) -> KeyEffect {
    match came {
        Update::Resized => {}
        Update::Records(records) => records.into_iter().for_each(|record| app.feed(record)),
        Update::Read { damaged, trouble } => {
            (app.source.damaged, app.source.trouble, app.source.is_read) = (damaged, trouble, true);
        }
        Update::Daemon(daemon) => app.hear_daemon(daemon),
        Update::Answered(answered) => app.answered(answered),
        Update::Key(key) => match app.key(key) {
            KeyEffect::Answer(answer) => link.answer(answer),
            KeyEffect::Open(record, family) => {
                let title = format!("record {}", record.id);
                app.open(&title, pages.record(*record, family));
            }
            KeyEffect::OpenPipeline(pipeline, asks) => {
                let rows = pages.pipeline(&pipeline, asks.as_deref());
                app.open(&format!("pipeline {}", pipeline.id), rows);
            }
            step => return step,
        },
    }
    KeyEffect::Stay
}
