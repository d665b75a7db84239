//! Formats a finding for people: the line it is about, with a caret.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use anyhook_engine::problem::TextPosition;
use anyhook_engine::{Problem, Severity};

use anyhook_terminal::printable;

/// Draws a finding in the text of a file.
pub fn draw(problem: &Problem, path: &str, text: &str) -> String {
    let level = match problem.severity {
        Severity::Note => Level::NOTE,
        Severity::Warning => Level::WARNING,
        Severity::Error | Severity::Unusable => Level::ERROR,
    };
    let unusable =
        if problem.severity == Severity::Unusable { " (the hook cannot run)" } else { "" };
    let message = format!("{}{unusable}", problem.message);
    let title = level.primary_title(message).id(problem.code);
    let mut group = match problem.place {
        Some(place) => {
            let mark = AnnotationKind::Primary.span(span(text, place));
            title.element(Snippet::source(text).path(path).annotation(mark))
        }
        None => title.element(Origin::path(path)),
    };
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.with_name("hint").message(printable(hint)));
    }
    let groups: [Group<'_>; 1] = [group];
    Renderer::styled().render(&groups)
}

/// Returns where a finding is in the text, at character boundaries: a caret cannot be inside one.
fn span(text: &str, place: TextPosition) -> Range<usize> {
    let letter = |from: usize| (from..text.len()).find(|at| text.is_char_boundary(*at));
    letter(place.start).unwrap_or(text.len())..letter(place.end).unwrap_or(text.len())
}
