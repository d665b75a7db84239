//! Layout of the graph: the position of every element.
//!
//! ```text
//! row 0        [ requirements ]            what comes before nothing
//!                     ▼
//! row 1        [ architecture ]            each below all that it comes after
//!                     ▼
//! row 2  ┌ [ ] ─ [ implementation ] ─ [ ] ┐    a group side by side, in a frame
//! ```
//!
//! Arrows bend between rows only. One that crosses a row has a slot of its own in it, so none goes
//! through a box. Arrows back to repeated stages are drawn at the left of everything.

mod board;
mod edges;
mod order;

use crate::definition::{StageDefinition, WorkflowDefinition};
use board::Board;

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rect {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

impl Rect {
    pub fn middle(self) -> i32 {
        self.x + self.width / 2
    }

    pub fn center(self) -> i32 {
        self.y + self.height / 2
    }

    pub fn right(self) -> i32 {
        self.x + self.width
    }

    pub fn bottom(self) -> i32 {
        self.y + self.height
    }
}

/// A point.
pub type Point = (i32, i32);

/// A stage in the graph.
#[derive(Clone, Debug)]
pub struct Drawn<'all> {
    pub stage: &'all StageDefinition,
    pub place: Rect,
    pub gate: Option<Rect>,
    /// Its group, if that has no frame.
    pub group: Option<&'all str>,
}

/// The stages in the graph.
#[derive(Clone, Debug, Default)]
pub struct DiagramLayout<'all> {
    pub stages: Vec<Drawn<'all>>,
    pub frames: Vec<(&'all str, Rect)>,
    /// The arrows from each stage to the next: from top to bottom.
    pub arrows: Vec<Vec<Point>>,
    /// The arrows back, with their reason: with corners.
    pub back: Vec<(&'static str, Vec<Point>)>,
    pub right: i32,
    pub bottom: i32,
}

/// The sizes of elements.
pub struct Sizes<'all> {
    pub width: &'all dyn Fn(&StageDefinition) -> i32,
    pub height: i32,
    pub gate: &'all dyn Fn(&[&str]) -> (i32, i32),
}

/// Computes the position of everything, below and to the right of a point.
pub fn plan<'all>(
    definition: &'all WorkflowDefinition,
    sizes: &Sizes<'_>,
    start: Point,
) -> DiagramLayout<'all> {
    Board::new(definition, sizes, order::order(definition)).plan(start)
}
