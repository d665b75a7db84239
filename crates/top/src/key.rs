//! Keys, whatever the terminal sends for them.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::cursor::Move;

/// A key that means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter.
    Letter(char),
    /// Ctrl-C.
    Interrupt,
    /// Enter.
    Enter,
    /// Esc.
    Escape,
    /// Backspace.
    Backspace,
    /// To the next pane.
    Next,
    /// To the pane before.
    Previous,
    /// To another row.
    Move(Move),
}

impl Key {
    /// Reads a key; what means nothing is none.
    pub fn of(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        if event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            let is_interrupt =
                event.modifiers.contains(KeyModifiers::CONTROL) && event.code == KeyCode::Char('c');
            return is_interrupt.then_some(Self::Interrupt);
        }
        Some(match event.code {
            KeyCode::Char(letter) => Self::Letter(letter),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Tab | KeyCode::Right => Self::Next,
            KeyCode::BackTab | KeyCode::Left => Self::Previous,
            KeyCode::Up => Self::Move(Move::Up),
            KeyCode::Down => Self::Move(Move::Down),
            KeyCode::PageUp => Self::Move(Move::PageUp),
            KeyCode::PageDown => Self::Move(Move::PageDown),
            KeyCode::Home => Self::Move(Move::First),
            KeyCode::End => Self::Move(Move::Last),
            _ => return None,
        })
    }

    /// Returns where a key leads that is no text now.
    pub fn leads(self) -> Option<Move> {
        match self {
            Self::Move(to) => Some(to),
            Self::Letter('k') => Some(Move::Up),
            Self::Letter('j') => Some(Move::Down),
            Self::Letter('g') => Some(Move::First),
            Self::Letter('G') => Some(Move::Last),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read() {
        let of = |code, modifiers| Key::of(&KeyEvent::new(code, modifiers));
        let plain = |code| of(code, KeyModifiers::NONE);
        assert_eq!(plain(KeyCode::Char('q')), Some(Key::Letter('q')));
        assert_eq!(of(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Key::Letter('G')));
        assert_eq!(plain(KeyCode::Tab), Some(Key::Next));
        assert_eq!(of(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Key::Previous));
        assert_eq!(plain(KeyCode::Left), Some(Key::Previous));
        assert_eq!(plain(KeyCode::Home), Some(Key::Move(Move::First)));
        assert_eq!(plain(KeyCode::F(5)), None);
    }

    #[test]
    fn ctrl_c_is_no_letter() {
        let of = |letter, modifiers| Key::of(&KeyEvent::new(KeyCode::Char(letter), modifiers));
        assert_eq!(of('c', KeyModifiers::CONTROL), Some(Key::Interrupt));
        assert_eq!(of('c', KeyModifiers::ALT), None);
        assert_eq!(of('q', KeyModifiers::CONTROL), None);
    }
}
