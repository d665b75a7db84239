//! `anyhook top`: watch all agents at work.

mod app;
mod canvas;
mod cursor;
mod draw;
#[cfg(test)]
mod examples;
mod filter;
mod help;
mod hooks;
mod key;
mod link;
mod news;
mod pager;
mod panes;
mod pipelines;
mod rate;
mod screen;
mod sessions;
mod state;
mod stream;
mod table;
mod waiting;

use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use anyhook_engine::journal::Journal;
use anyhook_engine::{Places, now};
use anyhook_model::{Record, exit_code};
use clap::Args;
use ratatui::crossterm::style::force_color_output;

use self::app::{App, Step};
use self::canvas::Palette;
use self::link::Link;
use self::news::{Following, News};
use self::screen::Screen;
use super::Ended;
use super::log::trace::{self, Trace};
use super::pipeline::page;
use crate::daemon::folder;
use crate::environment::{Environment, shown};
use crate::error::Trouble;
use crate::since::Since;

/// Ages are shown in seconds, so the screen is drawn so often at least.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// How often signals are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// So much news may wait: whoever brings more waits, too.
const NEWS_WAITING: usize = 32;

/// Watch all agents at work: sessions, verdicts as they come, slow and failing hooks
///
/// Where the daemon runs, pipelines are shown, too, and what waits for your decision is shown and
/// answered; `?` in the view explains its keys.
#[derive(Args)]
#[command(after_help = "Example: anyhook top --since 8h")]
pub struct TopArgs {
    /// Begin with the records since then: how long ago (30m, 8h, 7d), or a time
    #[arg(long, value_name = "WHEN", default_value = "1h")]
    since: Since,
}

pub fn run(arguments: &TopArgs, environment: &Environment) -> Ended {
    let journal = environment.journal().ok_or_else(Trouble::no_journal)?;
    let app = App::new(shown(journal.folder(), &environment.places));
    let mut screen = Screen::open().map_err(|error| {
        Trouble::usage(format!("`anyhook top` needs a terminal: {error}")).hint("anyhook log -f")
    })?;
    let (sender, news) = sync_channel(NEWS_WAITING);
    let following =
        Following::start(journal.clone(), arguments.since.moment(now()), sender.clone());
    let link = Link::start(folder(&environment.places)?, sender.clone());
    news::keys(sender);
    let outside = Outside { journal: &journal, link: &link, places: &environment.places };
    // A terminal that cannot be written to is gone, and so is whoever looked at it.
    let _ = watch(app, &news, &outside, &mut screen);
    drop(screen);
    // Whoever brings news must not wait for us to take it.
    drop(news);
    drop(following);
    Ok(exit_code::OK)
}

/// What keys may ask for.
struct Outside<'outside> {
    journal: &'outside Journal,
    link: &'outside Link,
    places: &'outside Places,
}

/// Shows what comes, until the person has seen enough.
fn watch(
    mut app: App,
    news: &Receiver<News>,
    outside: &Outside<'_>,
    screen: &mut Screen,
) -> io::Result<()> {
    let palette = Palette { colours: AutoStream::choice(&io::stdout()) != ColorChoice::Never };
    // `--color` has the last word.
    force_color_output(palette.colours);
    let mut draw_at = Instant::now();
    while !screen.was_told_to_end() {
        if draw_at <= Instant::now() {
            screen.draw(|frame| draw::draw(frame, &mut app, now(), palette))?;
            draw_at = Instant::now() + DRAW_EVERY;
        }
        let wait = LOOK_EVERY.min(draw_at.saturating_duration_since(Instant::now()));
        let Ok(first) = news.recv_timeout(wait) else { continue };
        draw_at = Instant::now();
        // All that waits is drawn at once; what keeps coming must not keep the screen waiting.
        let more = news.try_iter().take(NEWS_WAITING);
        for came in std::iter::once(first).chain(more) {
            if take(came, &mut app, outside) == Step::Quit {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Takes in what came.
fn take(came: News, app: &mut App, outside: &Outside<'_>) -> Step {
    match came {
        News::Resized => {}
        News::Records(records) => records.into_iter().for_each(|record| app.feed(record)),
        News::Read { damaged, trouble } => {
            (app.source.damaged, app.source.trouble, app.source.is_read) = (damaged, trouble, true);
        }
        News::Daemon(daemon) => app.hear_daemon(daemon),
        News::Answered(answered) => app.answered(answered),
        News::Key(key) => match app.key(key) {
            Step::Answer(answer) => outside.link.answer(answer),
            Step::Open(record, family) => open(*record, family, app, outside.journal),
            Step::OpenPipeline(pipeline, asks) => {
                let rows = page::lines(&pipeline, asks.as_ref(), now(), outside.places);
                app.open(&format!("pipeline {}", pipeline.id), rows);
            }
            step => return step,
        },
    }
    Step::Stay
}

/// Shows all that is known of a record, with its long texts.
fn open(record: Record, family: Vec<Record>, app: &mut App, journal: &Journal) {
    let title = format!("record {}", record.id);
    app.open(&title, trace::lines(&Trace::new(journal, record, family)));
}
