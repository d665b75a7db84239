//! `anyhook top`: all agents at work, on a screen that draws itself anew.
//!
//! - `news` and `link` bring what comes from outside: keys, records, what the daemon says;
//! - `app` is the state of the view, with a part for each pane: `sessions`, `stream`, `hooks`,
//!   `waiting`, `pipelines`;
//! - `draw` makes a `picture` of it, `screen` brings that to the terminal.
//!
//! There is no widget library below: every pane is as wide as the terminal, so a picture is rows of
//! toned text, and a row that did not change is not written again.

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
use anyhook_engine::now;
use anyhook_model::pipeline::PipelineView;
use anyhook_model::{ApprovalRequest, Record};
use anyhook_socket::DaemonFolder;
use anyhook_terminal::StyledLine;
use jiff::Timestamp;

use crate::app::{App, KeyEffect};
use crate::daemon_link::DaemonLink;
use crate::picture::Palette;
use crate::screen::Screen;
use crate::updates::{JournalFollower, Update};

/// Ages are shown in seconds, so the screen is drawn so often at least.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// How often signals are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// So much news may wait: a sender of more waits, too.
const NEWS_WAITING: usize = 32;

/// There is no terminal to draw on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoTerminal(io::Error);

/// What is looked at.
#[derive(Debug)]
pub struct Top {
    /// The journal.
    pub journal: Journal,
    /// Where it is, as a person would write it.
    pub shown_path: String,
    /// Records of this time or later are shown.
    pub since: Timestamp,
    /// Where the daemon is found, if it runs.
    pub daemon: DaemonFolder,
    /// Who sits at the terminal and makes decisions.
    pub person: String,
    /// Whether there are colours.
    pub colours: bool,
}

/// All that is known of one thing, in lines; as other commands show it.
pub trait Pages {
    /// Returns all that is known of a record with its family, itself among it.
    fn record(&self, record: Record, family: Vec<Record>) -> Vec<StyledLine>;
    /// Returns all that is known of a pipeline, and what it asks.
    fn pipeline(&self, pipeline: &PipelineView, asks: Option<&ApprovalRequest>) -> Vec<StyledLine>;
}

impl Top {
    /// Shows what goes on until the person has seen enough.
    pub fn run(self, pages: &dyn Pages) -> Result<(), NoTerminal> {
        let app = App::new(self.shown_path);
        let mut screen = Screen::open().map_err(NoTerminal)?;
        let (sender, news) = sync_channel(NEWS_WAITING);
        let following = JournalFollower::start(self.journal, self.since, sender.clone());
        let link = DaemonLink::start(self.daemon, self.person, sender.clone());
        updates::keys(sender);
        let palette = Palette { colours: self.colours };
        // A terminal that cannot be written to is gone, and so is its reader.
        let _ = watch(app, &news, &link, pages, palette, &mut screen);
        drop(screen);
        // The senders of news must not wait for us to take it.
        drop(news);
        drop(following);
        Ok(())
    }
}

/// Shows what comes, until the person has seen enough.
fn watch(
    mut app: App,
    news: &Receiver<Update>,
    link: &DaemonLink,
    pages: &dyn Pages,
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
        // All that waits is drawn at once; what keeps coming must not keep the screen waiting.
        let more = news.try_iter().take(NEWS_WAITING);
        for came in std::iter::once(first).chain(more) {
            if take(came, &mut app, link, pages) == KeyEffect::Quit {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Takes in what came.
fn take(came: Update, app: &mut App, link: &DaemonLink, pages: &dyn Pages) -> KeyEffect {
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
                let rows = pages.pipeline(&pipeline, asks.as_ref());
                app.open(&format!("pipeline {}", pipeline.id), rows);
            }
            step => return step,
        },
    }
    KeyEffect::Stay
}
