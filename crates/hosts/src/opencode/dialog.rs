//! The permission dialog of OpenCode, which replaces its input.
//!
//! OpenCode reports it to our plugin, which can also answer it. The selected option is recognisable
//! only by its colour, and the arrow keys wrap around: without colours only Escape is safe.

use anyhook_model::PromptType;

use anyhook_model::Key;

use crate::dialog::{Dialog, Grid, steps};

/// The options of a permission.
const OPTIONS: [&str; 3] = ["Allow once", "Allow always", "Reject"];

/// The first character of every line of the dialog.
const EDGE: char = '┃';

pub fn read(screen: &str) -> Option<Dialog> {
    let grid = Grid::read(screen);
    let lines: Vec<&str> = grid.text.lines().collect();
    // Its input has a different edge below it.
    let end = lines.iter().rposition(|line| !line.trim().is_empty())?;
    let edge = lines[end].find(EDGE)?;
    let is_edged =
        |line: &str| line.find(EDGE) == Some(edge) && line.trim_start().starts_with(EDGE);
    let first = (0..=end).rev().take_while(|place| is_edged(lines[*place])).last()?;
    let row = (first..=end).rev().find(|place| is_row(lines[*place]))?;
    // At most an empty line of the dialog follows its options.
    if row + 1 < end {
        return None;
    }
    let inner = |place: usize| text(lines[place]);
    let title = (first..row).find(|place| inner(*place) == "△ Permission required")?;
    let what = inner(title + 1).trim_start_matches(['#', '→', '←', ' ']);
    let detail = (title + 2..row).map(inner).find(|line| !line.is_empty());
    let about = match detail {
        // The name of the action says less than the command itself.
        Some(command) if command.starts_with("$ ") => command,
        _ => what,
    };
    let allow = grid.highlighted(row, &OPTIONS);
    Some(Dialog {
        name: "permission",
        prompt_type: PromptType::Permission,
        question: format!("OpenCode asks for permission: {what}"),
        about: Some(about.to_owned()),
        allow: allow.map(|selected| steps(selected, 0, Key::Left, Key::Right)),
        deny: Some(vec![Key::Escape]),
        is_told: true,
        ..Dialog::default()
    })
}

fn is_row(line: &str) -> bool {
    let words: Vec<&str> = text(line).split("  ").map(str::trim).collect();
    words.starts_with(&OPTIONS)
}

/// Returns the text of a line of the dialog, without its edge and without what is displayed next to
/// it.
fn text(line: &str) -> &str {
    let inner = line.trim_start().trim_start_matches(EDGE).trim();
    inner.split_once("          ").map_or(inner, |(text, _)| text.trim_end())
}
