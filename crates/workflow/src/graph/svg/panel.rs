//! The panel next to the stages: who reviews what, and the legend.

use std::collections::BTreeSet;

use super::page::{SvgPage, text_width};
use super::{CHIP, draw_chip, draw_gate, reviewed};
use crate::definition::{ReviewDefinition, WorkflowDefinition};
use crate::graph::layout::{DiagramLayout, Point, Rect};
use crate::state::WorkflowState;

const WIDTH: i32 = 300;
/// Between the lines of a text.
const LINE: i32 = 17;

/// Draws the panel; returns its bottom right corner.
pub fn draw(
    page: &mut SvgPage,
    definition: &WorkflowDefinition,
    state: Option<&WorkflowState>,
    (x, top): Point,
    plan: &DiagramLayout<'_>,
) -> Point {
    let mut y = top;
    let mut right = x + WIDTH;
    if !definition.reviews.is_empty() {
        page.text("part", (x, y + 12), "Reviews");
        y += 30;
    }
    for (number, review) in definition.reviews.iter().enumerate() {
        let place = draw_review(page, definition, number + 1, review, (x, y));
        right = right.max(place.right());
        y = place.bottom() + 16;
    }
    (right, draw_signs(page, definition, state, (x, y + 14), plan))
}

/// Draws a review: who reviews, and when.
fn draw_review(
    page: &mut SvgPage,
    definition: &WorkflowDefinition,
    number: usize,
    review: &ReviewDefinition,
    (x, y): Point,
) -> Rect {
    let name = &review.name.text;
    let agent = &review.agent.text;
    let names = text_width(name, 14).max(text_width(agent, 12)) + 64;
    let width = WIDTH.max(names);
    let mut lines = Vec::new();
    for (when, stages) in reviewed(definition, review) {
        let stages = if stages.len() == definition.stages.len() {
            "every stage".to_owned()
        } else {
            let names: Vec<&str> = stages.iter().map(|stage| stage.name.text.as_str()).collect();
            names.join(", ")
        };
        lines.extend(wrapped(&format!("{}: {stages}", when.words()), width - 40));
    }
    if lines.is_empty() {
        lines.push("when an agent requests it".to_owned());
    }
    let height = 66 + LINE * i32::try_from(lines.len()).unwrap_or(0);
    let place = Rect { x, y, width, height };
    page.open();
    page.box_of("review", place, 22);
    draw_chip(page, "chip", (x + 20 + CHIP, y + 30), number);
    page.text("name", (x + 50, y + 27), name);
    page.text("soft", (x + 50, y + 45), agent);
    for (number, line) in (0..).zip(&lines) {
        page.text("small", (x + 20, y + 68 + LINE * number), line);
    }
    page.close();
    place
}

/// Breaks a text into lines that fit.
fn wrapped(text: &str, width: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), 11) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Draws the legend of the symbols that are used; returns where it ends.
fn draw_signs(
    page: &mut SvgPage,
    definition: &WorkflowDefinition,
    state: Option<&WorkflowState>,
    (x, top): Point,
    plan: &DiagramLayout<'_>,
) -> i32 {
    page.text("part", (x, top + 12), "Legend");
    let mut y = top + 40;
    let sign = |y: i32| Rect { x, y: y - 9, width: 36, height: 18 };
    let mut say = |page: &mut SvgPage, words: &str| {
        page.text("small", (x + 50, y + 4), words);
        y += 28;
        y - 28
    };
    if definition.stages.iter().any(|stage| stage.approval.is_some()) {
        let y = say(page, "needs approval");
        draw_gate(page, "gate", sign(y), &[]);
    }
    if !definition.reviews.is_empty() {
        let y = say(page, "review, depending on risk");
        page.circle("chip", (x + 18, y), CHIP);
        if definition.reviews.iter().any(|review| !review.stages.is_empty()) {
            let y = say(page, "review, always");
            page.circle("always", (x + 18, y), CHIP);
        }
    }
    if state.is_none() && definition.stages.iter().any(|stage| stage.optional) {
        let y = say(page, "skipped if not needed");
        page.box_of("stage optional", sign(y), 5);
    }
    if !plan.frames.is_empty() {
        let y = say(page, "in parallel");
        page.box_of("frame", sign(y), 5);
    }
    if !plan.arrows.is_empty() {
        let y = say(page, "comes after it");
        page.path("arrow", &format!("M{x} {y} L{} {y}", x + 36), "head");
    }
    if !plan.back.is_empty() {
        let y = say(page, "is redone");
        page.path("arrow back", &format!("M{x} {y} L{} {y}", x + 36), "back-head");
    }
    let statuses: BTreeSet<_> =
        state.iter().flat_map(|state| state.stages.values()).map(|stage| stage.status).collect();
    for status in statuses {
        let y = say(page, status.name());
        page.box_of(status.name(), sign(y), 5);
    }
    y - 10
}
