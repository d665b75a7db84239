//! Computes positions from rows.

use super::edges::{GatedBox, PlacedUnits, RowBand};
use super::order::{Arrow, Port, RowItem, RowOrder, Unit};
use super::{DiagramLayout, Drawn, Point, Rect, Sizes};
use crate::definition::{StageDefinition, WorkflowDefinition};
use crate::graph::{approval, gate_lines};
use crate::vocabulary::When;

/// Between two rows.
const ROW_GAP: i32 = 60;
/// Between two boxes of a row.
const GAP: i32 = 36;
/// Between a box and its gate.
const GATE_GAP: i32 = 34;
/// Around the boxes of a frame, and above them for its name.
const FRAME: i32 = 24;
const FRAME_NAME: i32 = 18;
/// Width of the slot of an arrow that crosses a row.
const PASS: i32 = 24;
/// Between two arrows at the left.
const LANE: i32 = 18;

/// Where a unit's boxes are, relative to its top left corner.
struct Shape {
    width: i32,
    /// Space above the boxes: for gates, and for a frame.
    above: i32,
    /// Space below the boxes.
    below: i32,
    /// Space around them.
    frame: i32,
    /// Width of each box.
    each: i32,
}

/// Everything that is to be positioned.
pub struct Board<'all, 'sizes> {
    definition: &'all WorkflowDefinition,
    sizes: &'sizes Sizes<'sizes>,
    units: Vec<Unit<'all>>,
    links: Vec<Arrow>,
    rows: Vec<Vec<RowItem>>,
    shapes: Vec<Shape>,
}

impl<'all, 'sizes> Board<'all, 'sizes> {
    pub fn new(
        definition: &'all WorkflowDefinition,
        sizes: &'sizes Sizes<'sizes>,
        RowOrder { units, links, rows }: RowOrder<'all>,
    ) -> Self {
        let mut board = Self { definition, sizes, units, links, rows, shapes: Vec::new() };
        board.shapes = board.units.iter().map(|unit| board.shape(unit)).collect();
        board
    }

    fn gate(&self, stage: &StageDefinition) -> Option<(i32, i32)> {
        gate_lines(stage).map(|lines| (self.sizes.gate)(&lines))
    }

    fn shape(&self, unit: &Unit<'_>) -> Shape {
        let frame = if unit.group.is_some() { FRAME } else { 0 };
        let name = if unit.group.is_some() { FRAME_NAME } else { 0 };
        let room = |when: When| {
            let gates = unit.members.iter().filter(|stage| approval(stage) == Some(when));
            let heights = gates.filter_map(|stage| Some(self.gate(stage)?.1 + GATE_GAP));
            heights.max().unwrap_or(0)
        };
        let gate = |stage: &StageDefinition| self.gate(stage).map_or(0, |(width, _)| width + 40);
        let widths = unit.members.iter().map(|stage| (self.sizes.width)(stage).max(gate(stage)));
        // Boxes in parallel have the same size.
        let each = widths.max().unwrap_or(0);
        let count = i32::try_from(unit.members.len()).unwrap_or(0);
        Shape {
            width: count * (each + GAP) - GAP + 2 * frame,
            above: frame + name + room(When::Before),
            below: frame + room(When::After),
            frame,
            each,
        }
    }

    fn item_width(&self, item: RowItem) -> i32 {
        match item {
            RowItem::Unit(unit) => self.shapes[unit].width,
            RowItem::Pass(_) => PASS,
        }
    }

    fn row_width(&self, row: &[RowItem]) -> i32 {
        let widths: i32 = row.iter().map(|item| self.item_width(*item) + GAP).sum();
        widths - GAP
    }

    /// Computes the position of everything.
    pub fn plan(&self, (left, top): Point) -> DiagramLayout<'all> {
        let mut back = self.back();
        let lanes = i32::try_from(back.len()).unwrap_or_default();
        let left_of_all = if lanes == 0 { left } else { left + lanes * LANE + 56 };
        let width = self.rows.iter().map(|row| self.row_width(row)).max().unwrap_or(0);
        let placed = self.place(left_of_all, width, top);
        let mut plan = DiagramLayout {
            right: left_of_all + width,
            bottom: placed.bands.last().map_or(top, |band| band.bottom),
            ..DiagramLayout::default()
        };
        for (number, unit) in self.units.iter().enumerate() {
            if let Some(name) = unit.group {
                plan.frames.push((name, placed.units[number]));
            }
            for (stage, cell) in unit.members.iter().zip(&placed.members[number]) {
                let group = stage.group.as_ref().map(|name| name.text.as_str());
                plan.stages.push(Drawn {
                    stage,
                    place: cell.place,
                    gate: cell.gate,
                    group: group.filter(|_| unit.group.is_none()),
                });
                plan.arrows.extend(cell.gate.map(|gate| {
                    let (above, below) =
                        if gate.y < cell.place.y { (gate, cell.place) } else { (cell.place, gate) };
                    vec![(above.middle(), above.bottom()), (below.middle(), below.y)]
                }));
            }
        }
        let links = self.links.iter().enumerate();
        plan.arrows.extend(links.map(|(number, link)| placed.arrow(number, link)));
        let rows =
            |link: &Arrow| placed.row_of[link.from.unit].abs_diff(placed.row_of[link.to.unit]);
        // The longer arrow is further out.
        back.sort_by_key(|(_, link)| std::cmp::Reverse(rows(link)));
        for (lane, (why, link)) in (0..).zip(&back) {
            let first = |port: Port| {
                let row = &self.rows[placed.row_of[port.unit]];
                row.first() == Some(&RowItem::Unit(port.unit)) && port.member.unwrap_or(0) == 0
            };
            let ends = (first(link.from), first(link.to));
            plan.back.push((why, placed.back(link, ends, left + lane * LANE, lane)));
        }
        plan
    }

    fn place(&self, left: i32, width: i32, top: i32) -> PlacedUnits {
        let mut placed = PlacedUnits {
            bands: Vec::new(),
            row_of: vec![0; self.units.len()],
            units: vec![Rect::default(); self.units.len()],
            members: vec![Vec::new(); self.units.len()],
            passes: Vec::new(),
        };
        let height = self.sizes.height;
        let mut y = top;
        for (number, row) in self.rows.iter().enumerate() {
            let units = row.iter().filter_map(|item| match item {
                RowItem::Unit(unit) => Some(&self.shapes[*unit]),
                RowItem::Pass(_) => None,
            });
            let above = units.clone().map(|shape| shape.above).max().unwrap_or(0);
            let below = units.map(|shape| shape.below).max().unwrap_or(0);
            let line = y + above;
            let mut x = left + (width - self.row_width(row)) / 2;
            for item in row {
                match item {
                    RowItem::Pass(link) => placed.passes.push((*link, number, x + PASS / 2)),
                    RowItem::Unit(unit) => {
                        let shape = &self.shapes[*unit];
                        placed.row_of[*unit] = number;
                        placed.units[*unit] = Rect {
                            x,
                            y: line - shape.above,
                            width: shape.width,
                            height: shape.above + height + shape.below,
                        };
                        placed.members[*unit] = self.cells(*unit, (x, line));
                    }
                }
                x += self.item_width(*item) + GAP;
            }
            placed.bands.push(RowBand { top: y, bottom: line + height + below });
            y = line + height + below + ROW_GAP;
        }
        placed
    }

    /// Returns the boxes of a unit, with their gates.
    fn cells(&self, unit: usize, (x, y): Point) -> Vec<GatedBox> {
        let shape = &self.shapes[unit];
        let (width, height) = (shape.each, self.sizes.height);
        let cells = (0..).zip(&self.units[unit].members).map(|(number, stage)| {
            let x = x + shape.frame + number * (width + GAP);
            let place = Rect { x, y, width, height };
            let gate = self.gate(stage).map(|(width, height)| Rect {
                x: place.middle() - width / 2,
                y: match approval(stage) {
                    Some(When::Before) => place.y - GATE_GAP - height,
                    _ => place.bottom() + GATE_GAP,
                },
                width,
                height,
            });
            GatedBox { place, gate }
        });
        cells.collect()
    }

    fn port(&self, stage: &str) -> Option<Port> {
        self.units.iter().enumerate().find_map(|(unit, one)| {
            let member = one.members.iter().position(|other| other.name.text == stage)?;
            Some(Port { unit, member: one.group.map(|_| member) })
        })
    }

    /// Returns the arrows back, with their reason.
    fn back(&self) -> Vec<(&'static str, Arrow)> {
        let mut all = Vec::new();
        if let Some(qa) = &self.definition.qa
            && let Some(from) = self.port(&qa.stage.text)
        {
            let named = self.definition.all_named(&qa.fix);
            let is_named =
                |stage: &&StageDefinition| named.iter().any(|one| one.name.text == stage.name.text);
            for (unit, one) in self.units.iter().enumerate() {
                if one.members.iter().all(&is_named) {
                    all.push(("fix", Arrow { from, to: Port { unit, member: None } }));
                    continue;
                }
                let members = one.members.iter().enumerate().filter(|(_, stage)| is_named(stage));
                all.extend(members.map(|(member, _)| {
                    ("fix", Arrow { from, to: Port { unit, member: Some(member) } })
                }));
            }
        }
        for stage in &self.definition.stages {
            let to = stage.rollback_to.as_ref().and_then(|to| self.port(&to.text));
            if let (Some(from), Some(to)) = (self.port(&stage.name.text), to) {
                all.push(("rollback", Arrow { from, to }));
            }
        }
        all.retain(|(_, link)| link.from.unit != link.to.unit);
        all
    }
}
