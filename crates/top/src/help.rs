//! The help for the keys.

use anyhook_terminal::StyledLine as Row;
use anyhook_terminal::Tone;

/// The keys in order of use, with a word for the line at the bottom.
pub const SHORT: [(&str, &str); 12] = [
    ("q", "quit"),
    ("?", "help"),
    ("Tab", "pane"),
    ("↑↓", "select"),
    ("Enter", "open"),
    ("w", "decide"),
    ("/", "filter"),
    ("d", "denials"),
    ("f", "failures"),
    ("a", "all"),
    ("p", "pause"),
    ("l", "pipelines"),
];

/// The keys while a text covers the panes.
pub const IN_PAGER: [(&str, &str); 4] =
    [("Esc", "back"), ("↑↓", "scroll"), ("PgUp PgDn", "page"), ("Home End", "ends")];

/// The keys while a text is typed.
pub const IN_TEXT: [(&str, &str); 2] = [("Enter", "keep"), ("Esc", "clear")];

/// The keys where decisions are made.
pub const IN_WAITING: [(&str, &str); 5] =
    [("1-9", "choose"), ("↑↓", "select"), ("Enter", "read it"), ("Esc", "back"), ("?", "help")];

/// The keys in the pane of pipelines.
pub const IN_PIPELINES: [(&str, &str); 5] =
    [("Enter", "read it"), ("↑↓", "select"), ("w", "decide"), ("Esc", "back"), ("?", "help")];

/// The keys while a choice waits to be confirmed.
pub const IN_CHOICE: [(&str, &str); 2] = [("Enter", "yes"), ("Esc", "no")];

const KEYS: [(&str, &str); 18] = [
    ("q, Ctrl-C", "quit"),
    ("Tab, ← →", "next, previous pane"),
    ("↑ ↓, j k", "select"),
    ("PgUp PgDn", "select, one page at a time"),
    ("Home End, g G", "first, last; at the last verdict, new ones are followed"),
    ("Enter", "on a verdict: everything about it, as `log show`"),
    ("", "on a session or hook: only its verdicts"),
    ("", "on a decision: the full question"),
    ("", "on a pipeline: everything about it, as `pipeline show`"),
    ("w", "go to the decisions waiting for you, oldest first"),
    ("1 to 9 there", "choose that option; then Enter confirms, Esc cancels"),
    ("l", "go to the pipelines, active ones first"),
    ("/", "only verdicts with a text; Enter keeps it, Esc clears it"),
    ("d", "only denials, and calls that ran despite a denial"),
    ("f", "only verdicts with a failed hook"),
    ("a", "show all again"),
    ("p", "pause or resume the verdicts"),
    ("Esc", "back; then show all; then quit"),
];

const WORDS: [(Tone, &str, &str); 14] = [
    (Tone::Good, "working", "thinking, or running the named tool"),
    (Tone::Warn, "prompting (permission)", "blocked until you answer"),
    (Tone::Warn, "prompting (question)", "same"),
    (Tone::Warn, "prompting (plan_approval)", "same"),
    (Tone::Hint, "idle", "its turn is finished: it is your turn"),
    (Tone::Bad, "failed (why)", "its turn failed, and it does not continue by itself"),
    (Tone::Dim, "stopped", "a finished subagent"),
    (Tone::Dim, "working (silent)", "no event for ten minutes"),
    (Tone::Dim, "exited", "the session has ended"),
    (Tone::Bad, "gone", "its process ended unexpectedly"),
    (Tone::Bad, "deny", "blocked by the hook shown"),
    (Tone::Bad, "ran", "the host ran it despite a denial"),
    (Tone::Dim, "async", "the outcome of a background hook"),
    (Tone::Plain, "+ > ? x - .", "a step: done, running, waiting, failed, cancelled, not reached"),
];

/// Returns the help page. Times are UTC.
pub fn rows() -> Vec<Row> {
    let heading = |text: &str| vec![(Tone::Strong, text.to_owned())];
    let row = |tone, name: &str, words: &str| {
        vec![(tone, format!("  {name:<19}")), (Tone::Plain, words.to_owned())]
    };
    let mut rows = vec![heading("Keys")];
    rows.extend(KEYS.iter().map(|(key, words)| row(Tone::Hint, key, words)));
    rows.extend([Vec::new(), heading("Words")]);
    rows.extend(WORDS.iter().map(|(tone, name, words)| row(*tone, name, words)));
    let dim = |text: &str| vec![(Tone::Dim, text.to_owned())];
    rows.extend([
        Vec::new(),
        dim("With a running daemon: decisions, pipelines, and states from logs and processes."),
        dim("Times are UTC."),
    ]);
    rows
}
