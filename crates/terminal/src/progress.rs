//! Progress on standard error for what takes a while: a status line that is redrawn and erased at
//! the end. Nothing is shown if standard error is not a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{Out, Tone, first_line};

/// Returns the current width of the terminal.
pub type TerminalWidth = fn() -> usize;

/// No bar is shown before this: quick work needs none.
const BAR_PATIENCE: Duration = Duration::from_millis(500);
const BAR_EVERY: Duration = Duration::from_millis(100);
const BAR_WIDTH: u64 = 30;
/// No wait is reported before this.
const SHOW_DELAY: Duration = Duration::from_secs(1);
/// How often a [`RunningHookNotice`] checks the clock.
const TICK: Duration = Duration::from_millis(100);

/// The status line.
#[derive(Debug)]
struct StatusLine {
    width: TerminalWidth,
    is_seen: bool,
    is_drawn: bool,
}

impl StatusLine {
    fn new(width: TerminalWidth) -> Self {
        Self { width, is_seen: io::stderr().is_terminal(), is_drawn: false }
    }

    fn draw(&mut self, text: &str) {
        if !self.is_seen {
            return;
        }
        self.is_drawn = true;
        // A wrapped line could not be erased. Whether anyone sees it changes nothing.
        let text = first_line(text, (self.width)() - 1);
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }

    fn wipe(&mut self) {
        if self.is_drawn {
            self.is_drawn = false;
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// A progress bar.
#[derive(Debug)]
pub struct ProgressBar {
    what: &'static str,
    total: u64,
    began: Instant,
    drawn: Option<Instant>,
    line: StatusLine,
}

impl ProgressBar {
    /// Starts a bar with this many parts.
    pub fn new(what: &'static str, total: u64, width: TerminalWidth) -> Self {
        Self { what, total, began: Instant::now(), drawn: None, line: StatusLine::new(width) }
    }

    /// Sets how many parts are done.
    pub fn at(&mut self, done: u64) {
        let now = Instant::now();
        let is_due = match self.drawn {
            None => now - self.began > BAR_PATIENCE,
            Some(drawn) => now - drawn > BAR_EVERY,
        };
        if is_due {
            self.drawn = Some(now);
            let bar = self.bar(done);
            self.line.draw(&bar);
        }
    }

    fn bar(&self, done: u64) -> String {
        let filled = (done * BAR_WIDTH).checked_div(self.total).unwrap_or(0).min(BAR_WIDTH);
        let full = "█".repeat(usize::try_from(filled).unwrap_or(0));
        let empty = "░".repeat(usize::try_from(BAR_WIDTH - filled).unwrap_or(0));
        let percent = (done * 100).checked_div(self.total).unwrap_or(100).min(100);
        format!("{} {full}{empty} {percent:>3} %", self.what)
    }
}

/// What is waited for, and for how long.
#[derive(Debug)]
pub struct WaitNotice {
    began: Instant,
    drawn: Option<String>,
    line: StatusLine,
}

impl WaitNotice {
    /// Starts the wait.
    pub fn new(width: TerminalWidth) -> Self {
        Self { began: Instant::now(), drawn: None, line: StatusLine::new(width) }
    }

    /// Shows what is waited for, since the start.
    pub fn say(&mut self, what: &str) {
        self.say_since(what, self.began);
    }

    /// Shows what is waited for, and since when; nothing in the first second.
    fn say_since(&mut self, what: &str, since: Instant) {
        let waited = since.elapsed();
        if waited < SHOW_DELAY {
            // The previous wait is over.
            self.line.wipe();
            self.drawn = None;
            return;
        }
        let text = format!("{what} … {} s", waited.as_secs());
        if self.drawn.as_ref() != Some(&text) {
            self.line.draw(&text);
            self.drawn = Some(text);
        }
    }
}

/// The hook that runs, and since when.
static RUNNING: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// Notes which hook is started, for the status line.
pub fn note_running(hook: &str) {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    *running = Some((hook.to_owned(), Instant::now()));
}

/// Shows the running hook until it is dropped: for work that cannot report itself.
#[derive(Debug)]
pub struct RunningHookNotice {
    working: Option<(Sender<()>, JoinHandle<()>)>,
}

impl RunningHookNotice {
    /// Starts to show it; `more` is printed after the hook's name.
    pub fn start(more: String, width: TerminalWidth) -> Self {
        if !io::stderr().is_terminal() {
            return Self { working: None };
        }
        // The previous run is over.
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (working, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut waiting = WaitNotice::new(width);
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some((hook, since)) = running {
                    waiting.say_since(&format!("running {hook}{more}"), since);
                }
            }
        });
        Self { working: Some((working, thread)) }
    }
}

impl Drop for RunningHookNotice {
    fn drop(&mut self) {
        if let Some((working, thread)) = self.working.take() {
            drop(working);
            // The line is erased before anything else is written.
            let _ = thread.join();
        }
    }
}

/// Prints on standard error that we read from a terminal: otherwise it looks as if nothing
/// happened.
pub fn say_that_we_read(what: &str) {
    if io::stdin().is_terminal() {
        let text = format!("reading {what} from standard input (Ctrl-D ends it)");
        // Whether anyone sees it changes nothing.
        let _ = Out::stderr().line(&[(Tone::Dim, &text)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_up() {
        let progress = ProgressBar::new("reading", 4, || 80);
        assert_eq!(progress.bar(0), format!("reading {}   0 %", "░".repeat(30)));
        assert!(progress.bar(2).ends_with("░  50 %"));
        assert_eq!(progress.bar(9), format!("reading {} 100 %", "█".repeat(30)));
        assert!(ProgressBar::new("nothing", 0, || 80).bar(0).ends_with("100 %"));
    }

    #[test]
    fn nothing_is_said_in_the_first_second() {
        let mut waiting = WaitNotice::new(|| 80);
        waiting.say("asking");
        assert_eq!(waiting.drawn, None);
        let earlier = Instant::now().checked_sub(Duration::from_millis(2500)).unwrap();
        waiting.say_since("asking", earlier);
        assert_eq!(waiting.drawn.as_deref(), Some("asking … 2 s"));
    }
}
