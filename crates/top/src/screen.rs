//! The terminal screen: taken over completely, and restored in every case.

use std::io::{self, IsTerminal, Write, stdout};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, DisableLineWrap, EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::picture::{Palette, Picture};

/// Our own screen, until it is dropped.
#[derive(Debug)]
pub struct Screen {
    /// The size when it was last drawn, and its rows.
    drawn: Option<((u16, u16), Vec<String>)>,
    was_told_to_end: Arc<AtomicBool>,
}

impl Screen {
    /// Takes over the terminal.
    pub fn open() -> io::Result<Self> {
        if !stdout().is_terminal() {
            return Err(io::Error::other("standard output is not a terminal"));
        }
        let was_told_to_end = Arc::new(AtomicBool::new(false));
        // The second signal ends us at once: at the first we may be blocked on the terminal. A
        // hangup is signalled more than once, and no one waits for us then.
        for signal in [SIGTERM, SIGINT] {
            flag::register_conditional_shutdown(signal, 1, Arc::clone(&was_told_to_end))?;
        }
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            flag::register(signal, Arc::clone(&was_told_to_end))?;
        }
        enable_raw_mode()?;
        restore_on_panic();
        // From here on the drop restores it, whatever happens.
        let screen = Self { drawn: None, was_told_to_end };
        // Without wrapping, a row that the terminal considers wider than we do stays in its row.
        execute!(stdout(), EnterAlternateScreen, DisableLineWrap, Hide)?;
        Ok(screen)
    }

    /// Draws a picture for the terminal's size; only rows that differ are written.
    pub fn draw(
        &mut self,
        palette: Palette,
        draw: impl FnOnce(usize, usize) -> Picture,
    ) -> io::Result<()> {
        let size = size()?;
        let rows = draw(size.0.into(), size.1.into()).escaped(palette);
        let mut output = io::BufWriter::new(stdout().lock());
        let before = match &self.drawn {
            Some((drawn_size, rows)) if *drawn_size == size => &rows[..],
            _ => {
                queue!(output, Clear(ClearType::All))?;
                &[]
            }
        };
        // Written even if no row differs, to detect that a terminal is gone.
        queue!(output, MoveTo(0, 0))?;
        for (number, row) in (0..size.1).zip(&rows) {
            if before.get(usize::from(number)) != Some(row) {
                // Cleared first: after a full row it would erase the last character.
                let clear = Clear(ClearType::UntilNewLine);
                queue!(output, MoveTo(0, number), clear, Print(row))?;
            }
        }
        output.flush()?;
        self.drawn = Some((size, rows));
        Ok(())
    }

    /// Returns whether a signal asked us to end.
    pub fn was_told_to_end(&self) -> bool {
        self.was_told_to_end.load(Ordering::Relaxed)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal; calling it more than once does no harm.
fn restore() {
    // A terminal that is gone needs no restoring.
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), EnableLineWrap, LeaveAlternateScreen, Show);
}

/// Makes a panic restore the terminal before it is reported.
fn restore_on_panic() {
    set_hook(before(restore, take_hook()));
}

type PanicHook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Makes a panic hook that does one thing and then another.
fn before(first: impl Fn() + Send + Sync + 'static, then: PanicHook) -> PanicHook {
    Box::new(move |panic| {
        first();
        then(panic);
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn the_terminal_is_given_back_before_a_panic_is_told() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let (first, then) = (Arc::clone(&order), Arc::clone(&order));
        let told: PanicHook = Box::new(move |panic| {
            // Other tests may panic in the meantime.
            if panic.payload_as_str() == Some("on purpose") {
                then.lock().unwrap().push("told");
            }
        });
        let original = take_hook();
        set_hook(before(move || first.lock().unwrap().push("given back"), told));
        let ended = std::thread::spawn(|| panic!("on purpose")).join();
        set_hook(original);
        assert!(ended.is_err());
        let order = order.lock().unwrap();
        assert_eq!(order[order.len() - 2..], ["given back", "told"]);
    }
}
