//! Assigns stages to rows, and orders each row.

use crate::definition::{StageDefinition, WorkflowDefinition};

/// Number of passes that order the boxes of a row.
const SWEEPS: usize = 6;

/// A stage or a group.
pub struct Unit<'all> {
    pub group: Option<&'all str>,
    pub members: Vec<&'all StageDefinition>,
}

/// Where an arrow begins or ends: at a unit, or at one of its members.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Port {
    pub unit: usize,
    pub member: Option<usize>,
}

/// An arrow from a unit to its successor.
pub struct Arrow {
    pub from: Port,
    pub to: Port,
}

/// An element of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RowItem {
    Unit(usize),
    Pass(usize),
}

/// The order of everything, before it has a position.
pub struct RowOrder<'all> {
    pub units: Vec<Unit<'all>>,
    pub links: Vec<Arrow>,
    pub rows: Vec<Vec<RowItem>>,
}

/// Computes the order.
pub fn order(definition: &WorkflowDefinition) -> RowOrder<'_> {
    let mut units = units(definition, true);
    let mut links = links(definition, &units);
    let (mut rows, is_ordered) = row_numbers(units.len(), &links);
    if !is_ordered {
        // A stage of a group comes after another of it: they cannot be in parallel.
        units = self::units(definition, false);
        links = self::links(definition, &units);
        (rows, _) = row_numbers(units.len(), &links);
    }
    links.retain(|link| rows[link.from.unit] < rows[link.to.unit]);
    let rows = in_order(&rows, &links);
    RowOrder { units, links, rows }
}

fn units(definition: &WorkflowDefinition, is_grouped: bool) -> Vec<Unit<'_>> {
    let mut units: Vec<Unit<'_>> = Vec::new();
    for stage in &definition.stages {
        let group = stage.group.as_ref().map(|name| name.text.as_str()).filter(|_| is_grouped);
        match units.iter_mut().find(|unit| group.is_some() && unit.group == group) {
            Some(unit) => unit.members.push(stage),
            None => units.push(Unit { group, members: vec![stage] }),
        }
    }
    units
}

/// Returns the arrows: a single one between two units if all of one come after all of the other.
fn links(definition: &WorkflowDefinition, units: &[Unit<'_>]) -> Vec<Arrow> {
    let mut links = Vec::new();
    for (to, later) in units.iter().enumerate() {
        for (from, earlier) in units.iter().enumerate() {
            // For each member: its predecessors.
            let before: Vec<Vec<usize>> = later
                .members
                .iter()
                .map(|stage| {
                    let before = definition.before(stage);
                    let is_before = |one: &StageDefinition| {
                        before.iter().any(|other| other.name.text == one.name.text)
                    };
                    let members = earlier.members.iter().enumerate();
                    members.filter(|(_, one)| is_before(one)).map(|(at, _)| at).collect()
                })
                .collect();
            let is_all = |before: &Vec<usize>| before.len() == earlier.members.len();
            let whole = Port { unit: from, member: None };
            if before.iter().all(is_all) {
                links.push(Arrow { from: whole, to: Port { unit: to, member: None } });
                continue;
            }
            for (member, before) in before.iter().enumerate() {
                let to = Port { unit: to, member: Some(member) };
                if is_all(before) {
                    links.push(Arrow { from: whole, to });
                } else {
                    let one = |at: &usize| Port { unit: from, member: Some(*at) };
                    links.extend(before.iter().map(|at| Arrow { from: one(at), to }));
                }
            }
        }
    }
    links
}

/// Returns the row of every unit, and whether each is below all of its predecessors.
fn row_numbers(units: usize, links: &[Arrow]) -> (Vec<usize>, bool) {
    let mut rows = vec![0; units];
    for _ in 0..units {
        let known = rows.clone();
        for link in links {
            rows[link.to.unit] = rows[link.to.unit].max(rows[link.from.unit] + 1);
        }
        if rows == known {
            return (rows, true);
        }
    }
    let is_ordered = links.iter().all(|link| rows[link.from.unit] < rows[link.to.unit]);
    (rows, is_ordered)
}

/// Returns the elements of each row, ordered so that few arrows cross.
fn in_order(rows: &[usize], links: &[Arrow]) -> Vec<Vec<RowItem>> {
    let mut items: Vec<Vec<RowItem>> = vec![Vec::new(); rows.iter().max().map_or(0, |row| row + 1)];
    for (unit, row) in rows.iter().enumerate() {
        items[*row].push(RowItem::Unit(unit));
    }
    for (number, link) in links.iter().enumerate() {
        for row in &mut items[rows[link.from.unit] + 1..rows[link.to.unit]] {
            row.push(RowItem::Pass(number));
        }
    }
    // The element of a link in a row.
    let at = |number: usize, row: usize| {
        let link = &links[number];
        if row == rows[link.from.unit] {
            RowItem::Unit(link.from.unit)
        } else if row == rows[link.to.unit] {
            RowItem::Unit(link.to.unit)
        } else {
            RowItem::Pass(number)
        }
    };
    let is_in = |number: usize, row: usize| {
        (rows[links[number].from.unit]..=rows[links[number].to.unit]).contains(&row)
    };
    for sweep in 0..SWEEPS {
        let is_down = sweep % 2 == 0;
        for step in 1..items.len() {
            let (row, other) = if is_down {
                (step, step - 1)
            } else {
                (items.len() - 1 - step, items.len() - step)
            };
            let wanted = |(place, item): (usize, &RowItem)| {
                let neighbours: Vec<usize> = (0..links.len())
                    .filter(|&number| is_in(number, row) && is_in(number, other))
                    .filter(|&number| at(number, row) == *item)
                    .filter_map(|number| {
                        items[other].iter().position(|one| *one == at(number, other))
                    })
                    .collect();
                // Twice the mean position of its neighbours, relative to the middle of their row.
                let width = items[other].len();
                match neighbours.len() {
                    0 => (2 * place + 1) * 1_000 / items[row].len(),
                    count => {
                        let sum: usize = neighbours.iter().map(|place| 2 * place + 1).sum();
                        sum * 1_000 / (count * width)
                    }
                }
            };
            let keys: Vec<usize> = items[row].iter().enumerate().map(wanted).collect();
            let mut sorted: Vec<(usize, RowItem)> =
                keys.into_iter().zip(items[row].iter().copied()).collect();
            sorted.sort_by_key(|(key, _)| *key);
            items[row] = sorted.into_iter().map(|(_, item)| item).collect();
        }
    }
    items
}
