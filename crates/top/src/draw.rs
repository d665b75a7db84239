//! Draws the screen, completely from the state each time.

use anyhook_terminal::format::time_of_day;
use anyhook_terminal::{StyledLine, Tone, counted, first_line, tidy};
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::app::{App, Pane};
use crate::columns::{Column, headings, set, widths};
use crate::daemon_link::DaemonView;
use crate::picture::Picture;
use crate::{help, panes, pipelines, waiting};

#[cfg(test)]
mod tests;

/// Below this nothing useful fits.
const LEAST: (usize, usize) = (40, 10);
/// With fewer rows one pane is shown at a time.
const LEAST_FOR_ALL: usize = 15;
/// From this height on the journal's path is shown.
const LEAST_FOR_PATH: usize = 16;
/// From this width on a record's host and session are shown, too.
const WIDE: usize = 130;

/// Draws everything, in this width and height.
pub fn draw(app: &mut App, now: Timestamp, width: usize, height: usize) -> Picture {
    let mut picture = Picture::new(width);
    if width < LEAST.0 || height < LEAST.1 {
        let text = format!("too small: {}x{} at least", LEAST.0, LEAST.1);
        picture.row(&[(Tone::Warn, text)]);
        picture.end_at(height);
        return picture;
    }
    if app.pager.is_some() {
        draw_pager(&mut picture, height - 1, app);
        picture.keys(&[], &help::IN_PAGER);
        return picture;
    }
    app.pipelines.forget(now);
    picture.rows(&header(app, now, width, height));
    draw_panes(&mut picture, height - 1, app, now);
    draw_bottom(&mut picture, app);
    picture
}

/// Draws the input, the question or the message, and the keys.
fn draw_bottom(picture: &mut Picture, app: &App) {
    if app.is_typing {
        let text = format!("/{}▏", tidy(&app.stream.filter.text));
        picture.keys(&[(Tone::Strong, text)], &help::IN_TEXT);
    } else if let Some(answer) = &app.waiting.chosen {
        // However long it is, the keys must be visible.
        let keys: usize =
            help::IN_CHOICE.iter().map(|(key, word)| key.width() + word.width() + 3).sum();
        let question = first_line(&answer.question(), picture.width.saturating_sub(keys));
        picture.keys(&[(Tone::Warn, question)], &help::IN_CHOICE);
    } else {
        let said: Vec<_> = app.status.iter().map(|(tone, text)| (*tone, tidy(text))).collect();
        let keys = match app.focus {
            Pane::Waiting => &help::IN_WAITING[..],
            Pane::Pipelines => &help::IN_PIPELINES[..],
            Pane::Sessions | Pane::Stream | Pane::Hooks => &help::SHORT[..],
        };
        picture.keys(&said, keys);
    }
}

/// Returns the rows at the top: what happens, the source, and what is wrong.
fn header(app: &App, now: Timestamp, width: usize, height: usize) -> Vec<StyledLine> {
    let bad = |number: usize| if number > 0 { Tone::Bad } else { Tone::Dim };
    let last = match app.last {
        None => "no events".to_owned(),
        Some(at) if width < 60 => time_of_day(at),
        Some(at) => format!("{}, {}", time_of_day(at), panes::ago(now.duration_since(at))),
    };
    let totals = app.totals;
    let waiting = match app.waiting.len() {
        0 => None,
        1 => Some("1 waiting for you (w)".to_owned()),
        number => Some(format!("{number} waiting for you (w)")),
    };
    let first = [
        (Tone::Plain, last),
        (bad(totals.denials), format!("{} denied", totals.denials)),
        (bad(totals.failures), format!("{} failed", totals.failures)),
    ];
    let more = [
        (Tone::Plain, counted(app.sessions.open(), "session")),
        (Tone::Plain, format!("{}/min", counted(app.rate.last_minute(now), "event"))),
    ];
    let name = if width < 100 { "" } else { "anyhook top  " };
    let (mut top, mut used) = (vec![(Tone::Strong, name.to_owned())], name.width());
    let waiting = waiting.map(|words| (Tone::Warn, words));
    let items = first.into_iter().chain(app.pipelines.words()).chain(more);
    for (index, item) in waiting.into_iter().chain(items).enumerate() {
        let between = if index == 0 { "" } else { " · " };
        used += between.width() + item.1.width();
        if used > width {
            break;
        }
        top.extend([(Tone::Dim, between.to_owned()), item]);
    }
    let mut rows = vec![top];
    // On small screens every row counts.
    if height >= LEAST_FOR_PATH {
        rows.push(vec![(Tone::Dim, format!("journal {}", tidy(&app.source.path)))]);
        if app.daemon == DaemonView::Away(None) {
            let words = "no daemon: states from the journal only";
            rows.push(vec![(Tone::Dim, words.to_owned())]);
        }
    }
    if let DaemonView::Away(Some(why)) = &app.daemon {
        let words = format!("{}: states from the journal only", tidy(why));
        rows.push(vec![(Tone::Warn, words)]);
    }
    if app.source.damaged > 0 {
        let lines = counted(app.source.damaged, "damaged line");
        rows.push(vec![(Tone::Warn, format!("journal: {lines} skipped"))]);
    }
    if let Some(trouble) = &app.source.trouble {
        rows.push(vec![(Tone::Bad, "journal: ".to_owned()), (Tone::Plain, tidy(trouble))]);
    }
    if let Some(alarm) = &app.last_alarm {
        let words = format!("{} denied but ran: ", totals.alarms);
        rows.push(vec![(Tone::Bad, words), (Tone::Bad, tidy(alarm))]);
    }
    rows
}

fn draw_pager(picture: &mut Picture, end: usize, app: &mut App) {
    let Some(pager) = &mut app.pager else { return };
    let seen = pager.seen(picture.width, end - 1).to_vec();
    let progress = format!(" · {}%", pager.progress());
    picture.title(&[(Tone::Strong, tidy(&pager.title)), (Tone::Dim, progress)], true);
    picture.rows(&seen);
    picture.end_at(end);
}

/// The content of a pane.
struct Content {
    title: StyledLine,
    columns: &'static [Column],
    rows: Vec<StyledLine>,
    /// What is shown if there are no rows.
    instead: Vec<StyledLine>,
    selected: usize,
}

/// Draws the panes below what is drawn already, down to the row `end`.
fn draw_panes(picture: &mut Picture, end: usize, app: &mut App, now: Timestamp) {
    let width = picture.width;
    let content = |app: &App, pane| match pane {
        Pane::Waiting => waiting(app, now),
        Pane::Pipelines => pipelines(app, now),
        Pane::Sessions => sessions(app, now),
        Pane::Stream => stream(app, width),
        Pane::Hooks => hooks(app, now),
    };
    let mut left = end.saturating_sub(picture.rows.len());
    if left < LEAST_FOR_ALL {
        let content = content(app, app.focus);
        draw_pane(picture, end, app, app.focus, &content);
        return;
    }
    // The outer panes take what they need up to a share, the records the rest.
    let height = |content: &Content, left: usize, share: usize| {
        let wanted = content.rows.len().max(content.instead.len()) + 2;
        wanted.min(left * share / 100)
    };
    let panes = app.panes();
    for pane in [Pane::Waiting, Pane::Pipelines].into_iter().filter(|pane| panes.contains(pane)) {
        let content = content(app, pane);
        let high = height(&content, left, 25);
        left -= high;
        draw_pane(picture, end - left, app, pane, &content);
    }
    let (sessions, hooks) = (content(app, Pane::Sessions), content(app, Pane::Hooks));
    let (above, below) = (height(&sessions, left, 35), height(&hooks, left, 30));
    draw_pane(picture, end - left + above, app, Pane::Sessions, &sessions);
    draw_pane(picture, end - below, app, Pane::Stream, &content(app, Pane::Stream));
    draw_pane(picture, end, app, Pane::Hooks, &hooks);
}

/// Draws a pane down to the row `end`.
fn draw_pane(picture: &mut Picture, end: usize, app: &mut App, pane: Pane, content: &Content) {
    let has_focus = app.focus == pane;
    picture.title(&content.title, has_focus);
    if content.rows.is_empty() {
        picture.rows(&content.instead);
        picture.end_at(end);
        return;
    }
    let widths = widths(content.columns, &content.rows, picture.width);
    picture.row(&set(&headings(content.columns), content.columns, &widths));
    let (count, height) = (content.rows.len(), end.saturating_sub(picture.rows.len()));
    let offset = match pane {
        Pane::Waiting => app.waiting.cursor.seen(content.selected, count, height),
        Pane::Pipelines => app.pipelines.cursor.seen(content.selected, count, height),
        Pane::Sessions => app.session_cursor.seen(content.selected, count, height),
        Pane::Stream => app.stream.cursor.seen(content.selected, count, height),
        Pane::Hooks => app.hook_cursor.seen(content.selected, count, height),
    };
    for (index, cells) in content.rows.iter().enumerate().skip(offset).take(height) {
        let row = set(cells, content.columns, &widths);
        if has_focus && index == content.selected {
            picture.selected_row(&row);
        } else {
            picture.row(&row);
        }
    }
    picture.end_at(end);
}

fn waiting(app: &App, now: Timestamp) -> Content {
    let nothing = match app.daemon {
        DaemonView::Away(_) => "no daemon, so no decisions here",
        DaemonView::Here { .. } | DaemonView::Unasked => "nothing is waiting for you",
    };
    Content {
        title: vec![
            (Tone::Strong, "Waiting for you".to_owned()),
            (Tone::Warn, format!(" {}", app.waiting.len())),
        ],
        columns: &waiting::COLUMNS,
        rows: app.waiting.rows(now),
        instead: vec![vec![(Tone::Dim, nothing.to_owned())]],
        selected: app.waiting.row(),
    }
}

fn pipelines(app: &App, now: Timestamp) -> Content {
    let nothing = match app.daemon {
        DaemonView::Away(_) => "no daemon, so no pipelines",
        DaemonView::Here { .. } | DaemonView::Unasked => "no pipeline is running",
    };
    Content {
        title: title("Pipelines", app.pipelines.len()),
        columns: &pipelines::COLUMNS,
        rows: app.pipelines.rows(now),
        instead: vec![vec![(Tone::Dim, nothing.to_owned())]],
        selected: app.pipelines.row(),
    }
}

fn sessions(app: &App, now: Timestamp) -> Content {
    let list = app.sessions.rows();
    Content {
        title: title("Sessions", list.len()),
        columns: &panes::SESSIONS,
        rows: list.iter().flat_map(|(key, session)| panes::session(key, session, now)).collect(),
        instead: vec![vec![(Tone::Dim, "no sessions yet".to_owned())]],
        selected: app.session_cursor.row(&app.sessions.row_keys()),
    }
}

fn stream(app: &App, width: usize) -> Content {
    let shown = app.stream.shown();
    let mut title = title("Verdicts", shown.len());
    for (tone, words) in app.stream.filter.words() {
        title.extend([(Tone::Dim, " · ".to_owned()), (tone, tidy(&words))]);
    }
    if let Some(held_back) = app.stream.held_back() {
        title.push((Tone::Warn, format!(" · paused, {held_back} new")));
    }
    let is_wide = width >= WIDE;
    Content {
        title,
        columns: if is_wide { &panes::STREAM_WIDE } else { &panes::STREAM },
        rows: shown.iter().map(|kept| panes::record(&kept.record, is_wide)).collect(),
        instead: nothing_shown(app),
        selected: app.stream.cursor.row(&app.stream.keys()),
    }
}

fn hooks(app: &App, now: Timestamp) -> Content {
    let list = app.hooks.rows();
    Content {
        title: title("Slow and failing hooks", list.len()),
        columns: &panes::HOOKS,
        rows: list.iter().map(|(name, hook)| panes::hook(name, hook, now)).collect(),
        instead: vec![vec![(Tone::Dim, "no hook has run yet".to_owned())]],
        selected: app.hook_cursor.row(&app.hook_keys()),
    }
}

fn title(name: &str, count: usize) -> StyledLine {
    vec![(Tone::Strong, name.to_owned()), (Tone::Plain, format!(" {count}"))]
}

/// Returns what is shown if there is no record: why, and what to do.
fn nothing_shown(app: &App) -> Vec<StyledLine> {
    let say = |text: &str| vec![(Tone::Plain, text.to_owned())];
    let hint = |command: &str, words: &str| {
        vec![(Tone::Hint, format!("  {command:<24}")), (Tone::Dim, words.to_owned())]
    };
    if !app.stream.is_empty() {
        return vec![say("No matches. `a` shows all.")];
    }
    if !app.source.is_read {
        return vec![say("Reading the journal …")];
    }
    vec![
        say("No events yet; they appear as they happen."),
        hint("anyhook install", "sets up agents"),
        hint("anyhook demo", "shows hooks in action"),
        hint("anyhook top --since 1d", "goes further back"),
    ]
}
