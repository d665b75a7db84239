//! Asks a person for confirmation.

use std::io::{BufRead, IsTerminal, Write};

use crate::error::CommandError;
use crate::ui::{Out, Tone};

/// Asks a question on standard error; without a terminal the answer is no.
pub fn confirm(question: &str) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    Out::stderr().pieces(&[(Tone::Strong, &format!("{question} [y/N] "))])?;
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
