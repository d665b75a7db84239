//! Routes arrows between positioned elements.

use super::order::{Arrow, Port};
use super::{Point, Rect};

/// A row in the graph.
#[derive(Clone, Copy, Default)]
pub struct RowBand {
    pub top: i32,
    pub bottom: i32,
}

/// Positions of units, their members and the arrows that cross a row.
pub struct PlacedUnits {
    pub bands: Vec<RowBand>,
    pub row_of: Vec<usize>,
    pub units: Vec<Rect>,
    pub members: Vec<Vec<GatedBox>>,
    /// For each: the arrow, the row, and its position there.
    pub passes: Vec<(usize, usize, i32)>,
}

/// A box with its gate.
#[derive(Clone, Copy, Default)]
pub struct GatedBox {
    pub place: Rect,
    pub gate: Option<Rect>,
}

impl GatedBox {
    fn top(self) -> i32 {
        self.gate.map_or(self.place.y, |gate| gate.y.min(self.place.y))
    }

    fn bottom(self) -> i32 {
        self.gate.map_or(self.place.bottom(), |gate| gate.bottom().max(self.place.bottom()))
    }
}

impl PlacedUnits {
    /// Returns the end point of an arrow at a port.
    fn ends(&self, port: Port) -> (i32, i32, i32) {
        match port.member {
            Some(member) => {
                let cell = self.members[port.unit][member];
                (cell.place.middle(), cell.top(), cell.bottom())
            }
            None => match self.members[port.unit].as_slice() {
                [cell] if self.units[port.unit].x == cell.place.x => {
                    (cell.place.middle(), cell.top(), cell.bottom())
                }
                _ => {
                    let place = self.units[port.unit];
                    (place.middle(), place.y, place.bottom())
                }
            },
        }
    }

    /// Returns an arrow's path down: straight through rows, bent between them.
    pub fn arrow(&self, number: usize, link: &Arrow) -> Vec<Point> {
        let (x, _, bottom) = self.ends(link.from);
        let mut points = vec![(x, bottom), (x, self.bands[self.row_of[link.from.unit]].bottom)];
        for (_, row, x) in self.passes.iter().filter(|(pass, ..)| *pass == number) {
            let band = self.bands[*row];
            points.extend([(*x, band.top), (*x, band.bottom)]);
        }
        let (x, top, _) = self.ends(link.to);
        points.extend([(x, self.bands[self.row_of[link.to.unit]].top), (x, top)]);
        points.dedup();
        points
    }

    /// Returns the path of an arrow back, at the left of everything.
    pub fn back(
        &self,
        link: &Arrow,
        (is_first, is_to_first): (bool, bool),
        lane_x: i32,
        lane: i32,
    ) -> Vec<Point> {
        let offset = 18 + 6 * (lane % 5);
        let from = self.side(link.from);
        let to = self.side(link.to);
        let mut points = if is_first {
            let y = from.center() + 10;
            vec![(from.x, y), (lane_x, y)]
        } else {
            let y = self.bands[self.row_of[link.from.unit]].bottom + offset;
            let x = from.x + 12;
            vec![(x, from.bottom()), (x, y), (lane_x, y)]
        };
        if is_to_first {
            let y = to.center() - 10;
            points.extend([(lane_x, y), (to.x, y)]);
        } else {
            let y = self.bands[self.row_of[link.to.unit]].top - offset;
            let x = to.x + 12;
            points.extend([(lane_x, y), (x, y), (x, to.y)]);
        }
        points
    }

    /// Returns what an arrow at the left begins or ends at: a box, or a whole frame.
    fn side(&self, port: Port) -> Rect {
        match (port.member, self.members[port.unit].as_slice()) {
            (Some(member), cells) => cells[member].place,
            (None, [cell]) if self.units[port.unit].x == cell.place.x => cell.place,
            (None, _) => self.units[port.unit],
        }
    }
}
