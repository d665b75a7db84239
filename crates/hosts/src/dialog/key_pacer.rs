//! When the next key of an answer may be pressed.

use std::time::{Duration, Instant};

use super::Dialog;

/// Paces the keys of one answer.
///
/// A dialog may ignore a key that comes right after it appears, so a key without effect is pressed
/// again. On a slow machine the first one may only have been late. Then both take effect, and the
/// mark moves on after it was seen at the wanted option: Enter must not follow before the screen
/// has settled, or it confirms another option.
#[derive(Debug)]
pub struct KeyPacer {
    /// How long a key may take to show its effect.
    patience: Duration,
    /// What was shown last, and since when; none before the first key.
    shown: Option<(Dialog, Instant)>,
    /// How many keys were pressed without a visible effect.
    unseen: u32,
}

impl KeyPacer {
    /// Starts an answer.
    pub fn new(patience: Duration) -> Self {
        Self { patience, shown: None, unseen: 0 }
    }

    /// Returns whether a key was pressed.
    pub fn has_pressed(&self) -> bool {
        self.shown.is_some()
    }

    /// Returns whether the next key may be pressed on a dialog that is shown now; the caller then
    /// presses it.
    pub fn may_press(&mut self, dialog: &Dialog, now: Instant) -> bool {
        let Some((before, since)) = &self.shown else {
            return self.press(dialog, now);
        };
        if before == dialog {
            if now.duration_since(*since) <= self.patience {
                return false;
            }
            return self.press(dialog, now);
        }
        self.unseen = self.unseen.saturating_sub(1);
        if self.unseen == 0 {
            return self.press(dialog, now);
        }
        self.shown = Some((dialog.clone(), now));
        false
    }

    fn press(&mut self, dialog: &Dialog, now: Instant) -> bool {
        self.shown = Some((dialog.clone(), now));
        self.unseen += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::Key;

    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(400);

    /// A dialog of two options with the mark `above` the wanted one, or at it.
    fn dialog(above: bool) -> Dialog {
        let keys = if above { vec![Key::Down, Key::Enter] } else { vec![Key::Enter] };
        Dialog { name: "trust", allow: Some(keys), ..Dialog::default() }
    }

    /// Runs looks (milliseconds, whether the mark is above) and returns when keys were pressed.
    fn presses(looks: &[(u64, bool)]) -> Vec<u64> {
        let start = Instant::now();
        let mut pacer = KeyPacer::new(TIMEOUT);
        let mut pressed = Vec::new();
        for (at, above) in looks {
            if pacer.may_press(&dialog(*above), start + Duration::from_millis(*at)) {
                pressed.push(*at);
            }
        }
        pressed
    }

    #[test]
    fn a_key_with_effect_is_followed_by_the_next_at_once() {
        assert_eq!(presses(&[(0, true), (50, true), (100, false), (150, false)]), [0, 100]);
    }

    #[test]
    fn an_ignored_key_is_pressed_again() {
        assert_eq!(presses(&[(0, true), (300, true), (450, true), (500, true)]), [0, 450]);
    }

    #[test]
    fn enter_waits_until_a_late_key_has_shown_its_effect() {
        // The first Down is late, so there are two; the second one wraps to the other option.
        let looks = [(0, true), (450, true), (460, false), (500, false), (600, true)];
        assert_eq!(presses(&looks), [0, 450, 600]);
    }

    #[test]
    fn enter_follows_when_the_screen_has_settled() {
        let looks = [(0, true), (450, true), (460, false), (700, false), (870, false)];
        assert_eq!(presses(&looks), [0, 450, 870]);
    }
}
