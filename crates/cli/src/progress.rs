//! A bar on standard error for what takes more than a moment; nothing where nobody looks.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Nothing is shown before this: what is quick needs no bar.
const PATIENCE: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(100);
const WIDTH: u64 = 30;

/// How far something has come.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    total: u64,
    began: Instant,
    drawn: Option<Instant>,
    is_seen: bool,
}

impl Progress {
    /// Begins something of so many parts.
    pub fn new(what: &'static str, total: u64) -> Self {
        let is_seen = io::stderr().is_terminal();
        Self { what, total, began: Instant::now(), drawn: None, is_seen }
    }

    /// Says that so many parts are done.
    pub fn at(&mut self, done: u64) {
        let now = Instant::now();
        let is_due = match self.drawn {
            None => now - self.began > PATIENCE,
            Some(drawn) => now - drawn > EVERY,
        };
        if self.is_seen && is_due {
            self.drawn = Some(now);
            // Whether anybody sees the bar changes nothing.
            let _ = write!(io::stderr(), "\r{}", self.line(done));
        }
    }

    fn line(&self, done: u64) -> String {
        let filled = (done * WIDTH).checked_div(self.total).unwrap_or(0).min(WIDTH);
        let full = "█".repeat(usize::try_from(filled).unwrap_or(0));
        let empty = "░".repeat(usize::try_from(WIDTH - filled).unwrap_or(0));
        let percent = (done * 100).checked_div(self.total).unwrap_or(100).min(100);
        format!("{} {full}{empty} {percent:>3} %", self.what)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_up() {
        let progress = Progress::new("reading", 4);
        assert_eq!(progress.line(0), format!("reading {}   0 %", "░".repeat(30)));
        assert!(progress.line(2).ends_with("░  50 %"));
        assert_eq!(progress.line(9), format!("reading {} 100 %", "█".repeat(30)));
        assert!(Progress::new("nothing", 0).line(0).ends_with("100 %"));
    }
}
