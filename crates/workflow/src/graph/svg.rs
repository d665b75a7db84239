//! Draws a workflow as SVG: self-contained, for light and dark pages, and accessible to screen
//! readers.

mod page;
mod panel;

use super::layout::{Drawn, Point, Rect, Sizes, plan};
use super::{GateStatus, Reviewed, gate_lines, gate_status, reviewed, state_of};
use crate::definition::{StageDefinition, WorkflowDefinition};
use crate::state::{ReviewState, WorkflowState};
use crate::vocabulary::{Asks, ReviewStatus, Verdict};
pub use page::STYLE;
use page::{SvgPage, text_width};

/// Space around everything.
const MARGIN: i32 = 40;
/// Where the stages begin, below the name.
const TOP: i32 = 104;
/// Half the size of a review's number.
const CHIP: i32 = 10;

/// Draws a workflow; with a state, also the status of each stage.
pub fn svg(definition: &WorkflowDefinition, state: Option<&WorkflowState>) -> String {
    draw(definition, state, true)
}

/// Like [`svg`], without a style: for a page that has [`STYLE`].
pub fn svg_of_page(definition: &WorkflowDefinition, state: Option<&WorkflowState>) -> String {
    draw(definition, state, false)
}

fn draw(definition: &WorkflowDefinition, state: Option<&WorkflowState>, has_style: bool) -> String {
    let sizes = Sizes {
        width: &|stage| width(definition, stage),
        height: if state.is_some() { 88 } else { 68 },
        gate: &gate_size,
    };
    let plan = plan(definition, &sizes, (MARGIN, TOP));
    let mut page = SvgPage::default();
    draw_heading(&mut page, definition, state);
    for (name, place) in &plan.frames {
        page.open();
        page.box_of("frame", *place, 14);
        page.text("part soft", (place.x + 18, place.y + 25), name);
        page.close();
    }
    for points in &plan.arrows {
        page.path("arrow", &down(points), "head");
    }
    for (why, points) in &plan.back {
        page.path("arrow back", &cornered(points), "back-head");
        if let [(x, _), .., _] = points.as_slice()
            && let Some((_, y)) = points.iter().find(|(other, _)| other < x)
        {
            page.text("small back-word end", (x - 8, y - 6), why);
        }
    }
    for drawn in &plan.stages {
        draw_stage(&mut page, definition, drawn, state);
    }
    let (right, bottom) = panel::draw(&mut page, definition, state, (plan.right + 56, TOP), &plan);
    let size = (right.max(plan.right) + MARGIN, bottom.max(plan.bottom) + MARGIN);
    let title = format!("Workflow {}", definition.name);
    page.finish(size, &title, &described(definition, state), has_style)
}

/// Describes in words what the graph shows.
fn described(definition: &WorkflowDefinition, state: Option<&WorkflowState>) -> String {
    let stages = definition.stages.iter().map(|stage| {
        let before: Vec<&str> = stage.after.iter().map(|name| name.text.as_str()).collect();
        let after = if before.is_empty() {
            String::new()
        } else {
            format!(", after {}", before.join(" and "))
        };
        let now = state_of(state, stage).map(|now| format!(", {}", now.status.name()));
        format!("{} by {}{after}{}.", stage.name.text, stage.agent.text, now.unwrap_or_default())
    });
    stages.collect::<Vec<_>>().join(" ")
}

fn draw_heading(
    page: &mut SvgPage,
    definition: &WorkflowDefinition,
    state: Option<&WorkflowState>,
) {
    page.text("heading", (MARGIN, 52), &definition.name);
    let under = match state {
        Some(state) => {
            let at = state.current_stage.as_ref().map(|stage| format!(", at {stage}"));
            format!("{}{}", state.status.name(), at.unwrap_or_default())
        }
        None => {
            let count = |number: usize, one: &str| {
                format!("{number} {one}{}", if number == 1 { "" } else { "s" })
            };
            let (stages, reviews) = (definition.stages.len(), definition.reviews.len());
            format!("{}, {}", count(stages, "stage"), count(reviews, "review"))
        }
    };
    page.text("soft", (MARGIN, 74), &under);
}

/// Returns the width of a stage's box: its texts fit, and the numbers of its reviews next to the
/// arrow.
fn width(definition: &WorkflowDefinition, stage: &StageDefinition) -> i32 {
    let name = text_width(&stage.name.text, 14);
    let agent = text_width(&stage.agent.text, 12);
    let chips = i32::try_from(chips(definition, stage).len()).unwrap_or(0) * (2 * CHIP + 6);
    (name.max(agent) + 48).max(2 * chips + 48).max(196)
}

/// Returns the size of a gate that holds its lines.
fn gate_size(lines: &[&str]) -> (i32, i32) {
    let widest = lines.iter().map(|line| text_width(line, 12)).max().unwrap_or(0);
    let high = i32::try_from(lines.len()).unwrap_or(1) * 15;
    let height = high + 44;
    // The corners of the text stay inside its edges.
    let width = widest * height / (height - high) + 16;
    (width, height)
}

/// Returns the reviews that a stage may have: their numbers, and whether it always has them.
fn chips<'all>(
    definition: &'all WorkflowDefinition,
    stage: &StageDefinition,
) -> Vec<(usize, &'all str, Vec<Reviewed>)> {
    let mut all = Vec::new();
    for (number, review) in definition.reviews.iter().enumerate() {
        let whens: Vec<Reviewed> = reviewed(definition, review)
            .into_iter()
            .filter(|(_, stages)| stages.iter().any(|one| one.name.text == stage.name.text))
            .map(|(when, _)| when)
            .collect();
        if !whens.is_empty() {
            all.push((number + 1, review.name.text.as_str(), whens));
        }
    }
    all
}

fn draw_stage(
    page: &mut SvgPage,
    definition: &WorkflowDefinition,
    drawn: &Drawn<'_>,
    state: Option<&WorkflowState>,
) {
    let Drawn { stage, place, gate, group } = drawn;
    let now = state_of(state, stage);
    let class = now.map_or("stage", |now| now.status.name());
    let optional = if stage.optional && now.is_none() { " optional" } else { "" };
    page.open();
    page.element("title", &stage.name.text);
    page.box_of(&format!("{class}{optional}"), *place, 10);
    let x = place.middle();
    page.text("name middle", (x, place.y + 30), &stage.name.text);
    let agent = match group {
        Some(group) => format!("{}, {group}", stage.agent.text),
        None => stage.agent.text.clone(),
    };
    page.text("soft middle", (x, place.y + 50), &agent);
    if let Some(now) = now {
        let mut words = now.status.name().to_owned();
        if now.attempts > 1 {
            words = format!("{words}, attempt {}", now.attempts);
        }
        if now.asks == Some(Asks::Choice) {
            words = format!("{words}, a choice");
        }
        page.text("small middle", (x, place.y + 70), &words);
    }
    page.close();
    draw_chips(page, definition, drawn, state);
    if let (Some(gate), Some(lines)) = (gate, gate_lines(stage)) {
        let (class, word) = match now.map(gate_status) {
            Some(GateStatus::Asked) => ("asked", "asked"),
            Some(GateStatus::Open) => ("approved", "approved"),
            Some(GateStatus::Shut) => ("rejected", "rejected"),
            Some(GateStatus::Closed) | None => ("gate", "approval"),
        };
        let modes = lines.into_iter().skip(1);
        draw_gate(page, class, *gate, &std::iter::once(word).chain(modes).collect::<Vec<_>>());
    }
}

fn draw_chips(
    page: &mut SvgPage,
    definition: &WorkflowDefinition,
    drawn: &Drawn<'_>,
    state: Option<&WorkflowState>,
) {
    let now = state_of(state, drawn.stage);
    let all = chips(definition, drawn.stage);
    let mut x = drawn.place.right() - 14 - CHIP;
    for (number, name, whens) in all.iter().rev() {
        let review = now.and_then(|now| now.reviews.get(*name));
        let is_always = whens.iter().any(|when| matches!(when, Reviewed::Always));
        let class = match review.map(review_class) {
            Some(class) => class,
            None if is_always => "always",
            None => "chip",
        };
        page.open();
        let words: Vec<String> = whens.iter().map(Reviewed::words).collect();
        page.element("title", &format!("{name}: {}", words.join("; ")));
        draw_chip(page, class, (x, drawn.place.bottom()), *number);
        page.close();
        x -= 2 * CHIP + 6;
    }
}

fn review_class(review: &ReviewState) -> &'static str {
    match (review.status, review.verdict) {
        (ReviewStatus::Pending, _) => "pending",
        (ReviewStatus::InProgress, _) => "in_progress",
        (_, Some(Verdict::ApproveWithNotes)) => "completed_with_warnings",
        (_, Some(Verdict::NeedsChanges | Verdict::Reject)) => "rejected",
        (ReviewStatus::Completed, _) => "approved",
    }
}

fn draw_chip(page: &mut SvgPage, class: &str, (x, y): Point, number: usize) {
    page.circle(class, (x, y), CHIP);
    page.text("small middle", (x, y + 4), &number.to_string());
}

fn draw_gate(page: &mut SvgPage, class: &str, place: Rect, lines: &[&str]) {
    let Rect { x, y, .. } = place;
    let (middle, center) = (place.middle(), place.center());
    page.path(
        class,
        &format!(
            "M{middle} {y} L{} {center} L{middle} {} L{x} {center} Z",
            place.right(),
            place.bottom()
        ),
        "",
    );
    let above = i32::try_from(lines.len()).unwrap_or(1) * 15 / 2;
    for (number, line) in (0..).zip(lines) {
        let class = if number == 0 { "middle" } else { "small soft middle" };
        page.text(class, (middle, center - above + 11 + 15 * number), line);
    }
}

/// Draws a path down: straight where the column stays the same, bent where it changes. It ends
/// straight, and its head points down.
fn down(points: &[Point]) -> String {
    const STRAIGHT: i32 = 10;
    let mut path = String::new();
    let mut last: Option<Point> = None;
    for &(x, y) in points {
        let step = match last {
            None => format!("M{x} {y}"),
            Some((before, _)) if before == x => format!(" L{x} {y}"),
            Some((before, above)) => {
                let end = y - STRAIGHT;
                let half = i32::midpoint(above, end);
                format!(" C{before} {half} {x} {half} {x} {end} L{x} {y}")
            }
        };
        path.push_str(&step);
        last = Some((x, y));
    }
    path
}

/// Draws a path with rounded corners.
fn cornered(points: &[Point]) -> String {
    const ROUND: i32 = 8;
    let mut path = String::new();
    for (number, &(x, y)) in points.iter().enumerate() {
        let before = number.checked_sub(1).and_then(|number| points.get(number));
        let after = points.get(number + 1);
        // A point just before the corner, towards another point.
        let short = |(to_x, to_y): Point| {
            let step = |from: i32, to: i32| from + (to - from).clamp(-ROUND, ROUND);
            (step(x, to_x), step(y, to_y))
        };
        path.push_str(&match (before, after) {
            (None, _) => format!("M{x} {y}"),
            (Some(_), None) => format!(" L{x} {y}"),
            (Some(&before), Some(&after)) => {
                let ((from_x, from_y), (to_x, to_y)) = (short(before), short(after));
                format!(" L{from_x} {from_y} Q{x} {y} {to_x} {to_y}")
            }
        });
    }
    path
}
