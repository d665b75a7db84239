//! The tone of pieces of text: what they mean, and their colours.

use anstyle::{AnsiColor, Style};

/// What a piece of text means, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// A heading, a name.
    Strong,
    /// Succeeded, running.
    Good,
    /// Blocked, failed.
    Bad,
    /// Asks, warns.
    Warn,
    /// Less important.
    Dim,
    /// The next step.
    Hint,
}

impl Tone {
    /// Returns its style.
    pub fn style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Good => colour(AnsiColor::Green),
            Self::Bad => colour(AnsiColor::Red).bold(),
            Self::Warn => colour(AnsiColor::Yellow),
            Self::Dim => Style::new().dimmed(),
            Self::Hint => colour(AnsiColor::Cyan),
        }
    }
}

/// A piece of text with its tone.
pub type StyledText<'text> = (Tone, &'text str);

/// A piece of text that owns its text.
pub type OwnedStyledText = (Tone, String);
/// A line of such pieces.
pub type StyledLine = Vec<OwnedStyledText>;
