//! Types a line into a program that draws its own screen.

use std::mem;
use std::time::{Duration, Instant};

use anyhook_engine::wait::try_poll_until;

use super::end::LOOK_EVERY;
use super::{Key, Session, SessionError};

/// If the program has not reacted to Enter by then, it took it for part of the paste.
const HEEDED: Duration = Duration::from_secs(1);

impl Session {
    /// Pastes a text to the program and presses Enter once the text is on the screen: a program may
    /// take an Enter that comes right after a paste for part of it. Calls `may_enter` just before
    /// Enter is pressed, and returns whether it was.
    ///
    /// Each of the two steps may take up to `limit`. It is an error if the screen does not show the
    /// text, and Enter is then not pressed; it is not an error if it does not change after Enter,
    /// as some programs do not react immediately.
    pub fn type_line_if(
        &self,
        text: &str,
        limit: Duration,
        may_enter: impl FnOnce() -> bool,
    ) -> Result<bool, SessionError> {
        // Even a program that prints nothing moves the cursor.
        let look = || {
            let (column, row) = self.cursor()?;
            Ok(format!("{column} {row}\n{}", self.screen()?))
        };
        let before = look()?;
        self.paste(text)?;
        let shown = if text.is_empty() { Some(before) } else { settled(&before, limit, look)? };
        let Some(shown) = shown else { return Err(SessionError::NotShown(self.name.clone())) };
        if !may_enter() {
            return Ok(false);
        }
        self.press(Key::Enter)?;
        if !changes(&shown, HEEDED.min(limit), look)? {
            self.press(Key::Enter)?;
            changes(&shown, HEEDED.min(limit), look)?;
        }
        Ok(true)
    }
}

/// Waits until the screen has changed and is the same for two reads; `None` if it does not change.
fn settled(
    before: &str,
    limit: Duration,
    mut look: impl FnMut() -> Result<String, SessionError>,
) -> Result<Option<String>, SessionError> {
    let mut last = before.to_owned();
    try_poll_until(Instant::now() + limit, LOOK_EVERY, || {
        let seen = mem::replace(&mut last, look()?);
        Ok::<_, SessionError>((last != before && last == seen).then_some(()))
    })?;
    // A screen that changes all the time shows the text as well as it can.
    Ok((last != before).then_some(last))
}

/// Waits until the screen changes. A session that is over has changed, too.
fn changes(
    before: &str,
    limit: Duration,
    mut look: impl FnMut() -> Result<String, SessionError>,
) -> Result<bool, SessionError> {
    let changed = try_poll_until(Instant::now() + limit, LOOK_EVERY, || match look() {
        Ok(now) if now == before => Ok(None),
        Ok(_) | Err(SessionError::NotThere(_)) => Ok(Some(())),
        Err(error) => Err(error),
    })?;
    Ok(changed.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn looks(screens: &[&str]) -> impl FnMut() -> Result<String, SessionError> {
        let mut left: Vec<String> = screens.iter().rev().map(|&screen| screen.to_owned()).collect();
        move || {
            let screen = if left.len() > 1 { left.pop() } else { left.last().cloned() };
            screen.filter(|text| text != "over").ok_or(SessionError::NotThere("x".to_owned()))
        }
    }

    #[test]
    fn a_screen_is_settled_when_it_is_the_same_twice() {
        let seen = settled("a", LIMIT, looks(&["a", "a", "ab", "abc", "abc"])).unwrap();
        assert_eq!(seen.as_deref(), Some("abc"));
        assert_eq!(settled("a", Duration::ZERO, looks(&["a"])).unwrap(), None);
        assert!(settled("a", LIMIT, looks(&["a", "over"])).is_err());
    }

    #[test]
    fn a_session_that_is_over_has_changed() {
        assert!(changes("a", LIMIT, looks(&["a", "a", "b"])).unwrap());
        assert!(changes("a", LIMIT, looks(&["a", "over"])).unwrap());
        assert!(!changes("a", Duration::ZERO, looks(&["a"])).unwrap());
    }
}
