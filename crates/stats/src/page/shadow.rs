//! Shadow hooks, which run without effect: shows what they would have done.
//!
//! Used by `anyhook stats`, and shown to a person who is about to enforce such a hook.

use std::io;

use anyhook_model::report::stats::ShadowStats;
use anyhook_terminal::format::{many, second, thousands};
use anyhook_terminal::{Column, Page, Tone};

/// Returns the summary line: `would have blocked 14 of 2,310`.
pub fn shadow_line(shadow: &ShadowStats) -> String {
    let mut line = format!(
        "would have blocked {} of {}",
        thousands(shadow.would_block),
        thousands(shadow.runs)
    );
    let by_failure = shadow.would_block_by_failure;
    let details: Vec<String> = [
        (by_failure, format!("{} by failing", thousands(by_failure))),
        (shadow.blocked_anyway, format!("{} blocked anyway", thousands(shadow.blocked_anyway))),
    ]
    .into_iter()
    .filter_map(|(count, words)| (count > 0).then_some(words))
    .collect();
    if !details.is_empty() {
        line.push_str(&format!(" ({})", details.join(", ")));
    }
    for (count, words) in [
        (shadow.would_ask, ", asked"),
        (shadow.would_change, ", changed the input"),
        (shadow.failures, "; failed"),
    ] {
        if count > 0 {
            line.push_str(&format!("{words} {}", many(count, "time")));
        }
    }
    line
}

/// Shows what it would have blocked, the newest first.
pub fn show_shadow_blocks(shadow: &ShadowStats, page: &mut Page<'_>) -> io::Result<()> {
    let rows = &shadow.last;
    let column = |text: &dyn Fn(usize) -> (Tone, String)| {
        Column::new("", (0..rows.len()).map(text).collect::<Vec<_>>().into_iter())
    };
    page.table(
        4,
        vec![
            column(&|row| (Tone::Dim, second(rows[row].at))).weight(1),
            column(&|row| (Tone::Plain, rows[row].id.to_string())),
            column(&|row| (Tone::Dim, rows[row].host.clone())).weight(2).least(4),
            column(&|row| (Tone::Plain, rows[row].about.clone())).weight(3).least(12),
            column(&|row| {
                let failed = if rows[row].failed { "failed: " } else { "" };
                (Tone::Warn, format!("{failed}{}", rows[row].reason))
            })
            .least(10),
        ],
    )?;
    show_more(shadow.would_block, rows.len(), 4, page)
}

/// Shows how many are left out.
pub(super) fn show_more(
    count: u64,
    shown: usize,
    indent: usize,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let more = count.saturating_sub(u64::try_from(shown).unwrap_or(u64::MAX));
    if more == 0 {
        return Ok(());
    }
    let indent = " ".repeat(indent);
    let text = format!("{indent}… and {} more; --all shows them", thousands(more));
    page.line(&[(Tone::Dim, &text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_line() {
        let mut shadow = ShadowStats { runs: 6, would_block: 2, ..ShadowStats::default() };
        assert_eq!(shadow_line(&shadow), "would have blocked 2 of 6");
        (shadow.blocked_anyway, shadow.would_ask, shadow.failures) = (1, 1, 1);
        assert_eq!(
            shadow_line(&shadow),
            "would have blocked 2 of 6 (1 blocked anyway), asked 1 time; failed 1 time"
        );
        (shadow.would_block, shadow.would_block_by_failure) = (3, 1);
        assert_eq!(
            shadow_line(&shadow),
            "would have blocked 3 of 6 (1 by failing, 1 blocked anyway), asked 1 time; failed 1 time"
        );
    }
}
