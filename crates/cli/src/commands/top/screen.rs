//! The terminal: taken over as a whole, and given back in every case.

use std::io::{self, BufWriter, IsTerminal, Stdout, stdout};
use std::mem::ManuallyDrop;
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Our own screen, until it is dropped.
#[derive(Debug)]
pub struct Screen {
    /// Never dropped: it would complain on standard error about a terminal that is gone, and panic
    /// when it cannot.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    was_told_to_end: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over.
    pub fn open() -> io::Result<Self> {
        if !stdout().is_terminal() {
            return Err(io::Error::other("standard output is no terminal"));
        }
        let was_told_to_end = Arc::new(AtomicBool::new(false));
        // The second one ends us at once: the first may find us waiting for the terminal. One that
        // hangs up says so more than once, and keeps nobody waiting.
        for signal in [SIGTERM, SIGINT] {
            flag::register_conditional_shutdown(signal, 1, Arc::clone(&was_told_to_end))?;
        }
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            flag::register(signal, Arc::clone(&was_told_to_end))?;
        }
        enable_raw_mode()?;
        restore_on_panic();
        // From here on the drop gives it back, whatever happens.
        let opened = Terminal::new(CrosstermBackend::new(BufWriter::new(stdout())))
            .map(|terminal| Self { terminal: ManuallyDrop::new(terminal), was_told_to_end });
        let entered = opened.and_then(|screen| {
            execute!(stdout(), EnterAlternateScreen)?;
            Ok(screen)
        });
        entered.inspect_err(|_| restore())
    }

    /// Draws what has changed.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// Tells whether a signal said that it is over.
    pub fn was_told_to_end(&self) -> bool {
        self.was_told_to_end.load(Ordering::Relaxed)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back; more than once does no harm.
fn restore() {
    // A terminal that is gone needs nothing back.
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// Makes a panic give the terminal back before it is told.
fn restore_on_panic() {
    set_hook(before(restore, take_hook()));
}

type PanicHook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Makes a hook that does one thing and then another.
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
