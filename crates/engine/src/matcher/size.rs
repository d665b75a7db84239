//! Estimates an upper bound for the size of a compiled expression.
//!
//! `regex` rejects what compiles to more than 10 MiB. To know that without compiling, the size of
//! each part of an expression is estimated generously.

use regex_syntax::hir::{Class, Hir, HirKind};

/// A size well below what `regex` rejects.
const SMALL: usize = 8 << 20;

/// The size of one state of the automaton, with a transition and the unions around it.
const STATE: usize = 128;

/// The size of one state of a class: itself, its transition, its entry in a union.
const CLASS_STATE: usize = 32 + 8 + 4;

/// The size before anything of the expression is added: its anchors, its implicit group.
const FRAME: usize = 16 * STATE;

/// Returns whether the expression certainly compiles to less than `regex` allows.
pub(super) fn is_surely_small(hir: &Hir) -> bool {
    upper_bound(hir) <= SMALL
}

/// Returns an upper bound for the size of the compiled expression, in bytes.
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

/// Returns the maximum number of states a class becomes: one for each byte of each sequence.
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

/// Returns the maximum number of bytes in the sequences that a range of characters is split into.
fn range_states(start: u32, end: u32) -> usize {
    // Characters that differ only in their last byte are one sequence; the others are split where
    // another byte changes, at both ends, and around the surrogates.
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
