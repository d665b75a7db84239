//! Finds things named on the command line by an id or a name, or by a prefix of either.

use anyhook_flow::names::{self, NameError, NamedItem};

use crate::error::CommandError;

/// Finds the one thing that is named: by its id or its name, or by a prefix of either.
pub fn named<'all, T>(
    all: &'all [T],
    what: &str,
    text: &str,
    known: impl Fn(&'all T) -> NamedItem<'all>,
) -> Result<&'all T, CommandError> {
    let each: Vec<NamedItem<'all>> = all.iter().map(known).collect();
    match names::find(text, &each) {
        Ok(id) => {
            let index = each.iter().position(|known| known.id == id).unwrap_or_default();
            Ok(&all[index])
        }
        Err(NameError::Nothing) => Err(CommandError::input(format!("there is no {what} `{text}`"))
            .hint(format!("anyhook {what} list --all"))),
        Err(NameError::Several(names)) => {
            let names = names.join(", ");
            Err(CommandError::input(format!("`{text}` matches several {what}s: {names}"))
                .hint("type more of the name or id"))
        }
    }
}
