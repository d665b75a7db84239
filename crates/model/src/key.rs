//! Keys to press in an agent's terminal session.

use serde::{Deserialize, Serialize};

/// A key to press.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// Tab.
    Tab,
    /// A character.
    Character(char),
    /// A letter, or one of `@[\]^_`, with the control key.
    Control(char),
}

impl Key {
    /// Returns its name; a character is its own name.
    pub fn name(self) -> String {
        match self {
            Self::Enter => "Enter".to_owned(),
            Self::Escape => "Escape".to_owned(),
            Self::Up => "Up".to_owned(),
            Self::Down => "Down".to_owned(),
            Self::Left => "Left".to_owned(),
            Self::Right => "Right".to_owned(),
            Self::Tab => "Tab".to_owned(),
            Self::Character(character) => character.to_string(),
            Self::Control(character) => format!("C-{character}"),
        }
    }

    /// Returns the byte that a character produces with the control key, if any.
    pub fn control(character: char) -> Option<u8> {
        let byte = u8::try_from(character).ok()?;
        (byte.is_ascii_alphabetic() || b"@[\\]^_".contains(&byte)).then_some(byte & 0x1f)
    }
}
