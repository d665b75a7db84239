//! A builder for the text of an SVG.

use std::fmt::Write as _;

use crate::graph::layout::{Point, Rect};

/// The style of a graph.
pub const STYLE: &str = include_str!("style.css");

/// Returns the approximate width of a text: the fonts of readers differ.
pub fn text_width(text: &str, size: i32) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 100).saturating_mul(size) * 31 / 50
}

/// An SVG under construction.
#[derive(Default)]
pub struct SvgPage {
    body: String,
    depth: usize,
}

impl SvgPage {
    fn line(&mut self, line: &str) {
        let indent = "  ".repeat(self.depth + 1);
        let _ = writeln!(self.body, "{indent}{line}");
    }

    /// Opens a group.
    pub fn open(&mut self) {
        self.line("<g>");
        self.depth += 1;
    }

    pub fn close(&mut self) {
        self.depth -= 1;
        self.line("</g>");
    }

    pub fn element(&mut self, element: &str, text: &str) {
        self.line(&format!("<{element}>{}</{element}>", escaped(text)));
    }

    pub fn text(&mut self, class: &str, (x, y): Point, text: &str) {
        self.line(&format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(text)));
    }

    pub fn box_of(&mut self, class: &str, place: Rect, round: i32) {
        let Rect { x, y, width, height } = place;
        self.line(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             rx=\"{round}\"/>"
        ));
    }

    pub fn circle(&mut self, class: &str, (x, y): Point, radius: i32) {
        self.line(&format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"));
    }

    /// Draws a path; with an arrowhead at its end, if one is named.
    pub fn path(&mut self, class: &str, path: &str, head: &str) {
        let head =
            if head.is_empty() { String::new() } else { format!(" marker-end=\"url(#{head})\"") };
        self.line(&format!("<path class=\"{class}\" d=\"{path}\"{head}/>"));
    }

    /// Builds the complete SVG; without its style for a page that has it already.
    pub fn finish(
        self,
        (width, height): Point,
        title: &str,
        description: &str,
        has_style: bool,
    ) -> String {
        let marker = |id: &str| {
            format!(
                "    <marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" \
                 markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" \
                 orient=\"auto\"><path class=\"{id}\" d=\"M0 0 L10 5 L0 10 Z\"/></marker>"
            )
        };
        let style = if has_style {
            let style = STYLE.trim_end().replace('\n', "\n    ");
            format!("  <style>\n    {style}\n  </style>\n")
        } else {
            String::new()
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"workflow-title \
             workflow-description\">\n  <title id=\"workflow-title\">{}</title>\n  <desc \
             id=\"workflow-description\">{}</desc>\n{style}  <defs>\n{}\n{}\n  \
             </defs>\n  <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{}</svg>\n",
            escaped(title),
            escaped(description),
            marker("head"),
            marker("back-head"),
            self.body
        )
    }
}

/// Escapes a text for XML; characters that are not allowed are omitted.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if letter.is_control() => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}
