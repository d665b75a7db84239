//! Keys, independent of the codes that a terminal sends.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::cursor::CursorMove;

/// A key that is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPress {
    /// A character.
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
    /// To the previous pane.
    Previous,
    /// To another row.
    Move(CursorMove),
}

impl KeyPress {
    /// Converts a key event; `None` if the key is not used.
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
            KeyCode::Up => Self::Move(CursorMove::Up),
            KeyCode::Down => Self::Move(CursorMove::Down),
            KeyCode::PageUp => Self::Move(CursorMove::PageUp),
            KeyCode::PageDown => Self::Move(CursorMove::PageDown),
            KeyCode::Home => Self::Move(CursorMove::First),
            KeyCode::End => Self::Move(CursorMove::Last),
            _ => return None,
        })
    }

    /// Returns the movement of a key that is not text input now.
    pub fn leads(self) -> Option<CursorMove> {
        match self {
            Self::Move(to) => Some(to),
            Self::Letter('k') => Some(CursorMove::Up),
            Self::Letter('j') => Some(CursorMove::Down),
            Self::Letter('g') => Some(CursorMove::First),
            Self::Letter('G') => Some(CursorMove::Last),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read() {
        let of = |code, modifiers| KeyPress::of(&KeyEvent::new(code, modifiers));
        let plain = |code| of(code, KeyModifiers::NONE);
        assert_eq!(plain(KeyCode::Char('q')), Some(KeyPress::Letter('q')));
        assert_eq!(of(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(KeyPress::Letter('G')));
        assert_eq!(plain(KeyCode::Tab), Some(KeyPress::Next));
        assert_eq!(of(KeyCode::BackTab, KeyModifiers::SHIFT), Some(KeyPress::Previous));
        assert_eq!(plain(KeyCode::Left), Some(KeyPress::Previous));
        assert_eq!(plain(KeyCode::Home), Some(KeyPress::Move(CursorMove::First)));
        assert_eq!(plain(KeyCode::F(5)), None);
    }

    #[test]
    fn ctrl_c_is_no_letter() {
        let of = |letter, modifiers| KeyPress::of(&KeyEvent::new(KeyCode::Char(letter), modifiers));
        assert_eq!(of('c', KeyModifiers::CONTROL), Some(KeyPress::Interrupt));
        assert_eq!(of('c', KeyModifiers::ALT), None);
        assert_eq!(of('q', KeyModifiers::CONTROL), None);
    }
}
