//! How big an expression gets when it is compiled, at most.
//!
//! `regex` refuses what compiles to more than 10 MiB. To know that without compiling, what each
//! part of an expression becomes is counted generously.

use regex_syntax::hir::{Class, Hir, HirKind};

/// A size well below what `regex` refuses.
const SMALL: usize = 8 << 20;

/// What one state of the automaton takes, with a transition and the unions around it.
const STATE: usize = 128;

/// What one state of a class takes: itself, its transition, its place in a union.
const CLASS_STATE: usize = 32 + 8 + 4;

/// What is there before anything of the expression: its anchors, its implicit group.
const FRAME: usize = 16 * STATE;

/// Tells whether the expression compiles to less than `regex` allows, with no doubt.
pub(super) fn is_surely_small(hir: &Hir) -> bool {
    upper_bound(hir) <= SMALL
}

/// Returns a size that the compiled expression does not exceed, in bytes.
pub(super) fn upper_bound(hir: &Hir) -> usize {
    part(hir).saturating_add(FRAME)
}

fn part(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE,
        HirKind::Literal(literal) => STATE.saturating_mul(literal.0.len() + 1),
        HirKind::Class(class) => CLASS_STATE.saturating_mul(class_states(class) + 4),
        HirKind::Capture(capture) => part(&capture.sub).saturating_add(2 * STATE),
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min).max(1);
            let copies = usize::try_from(copies).unwrap_or(usize::MAX);
            (part(&repetition.sub).saturating_add(STATE))
                .saturating_mul(copies)
                .saturating_add(4 * STATE)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .fold(2 * STATE, |sum, each| sum.saturating_add(part(each)).saturating_add(STATE)),
    }
}

/// Returns how many states a class becomes, at most: one for each byte of each sequence.
fn class_states(class: &Class) -> usize {
    match class {
        Class::Bytes(class) => class.ranges().len(),
        Class::Unicode(class) => class
            .ranges()
            .iter()
            .map(|range| range_states(range.start().into(), range.end().into()))
            .sum(),
    }
}

/// Returns how many bytes the sequences have, at most, that a range of characters is cut into.
fn range_states(start: u32, end: u32) -> usize {
    // Characters that differ in their last byte only are one sequence; the others are cut where a
    // byte more changes, at both ends, and around the surrogates.
    const CUT: [(u32, u32, usize, usize); 4] = [
        (0, 0x7f, 1, 1),
        (0x80, 0x7ff, 2, 6),
        (0x800, 0xffff, 3, 30),
        (0x1_0000, 0x10_ffff, 4, 28),
    ];
    CUT.iter()
        .filter(|(first, last, ..)| start <= *last && end >= *first)
        .map(|(.., one, all)| if start >> 6 == end >> 6 { *one } else { *all })
        .sum()
}
