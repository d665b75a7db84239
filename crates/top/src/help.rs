//! What the keys do.

use anyhook_terminal::Line as Row;
use anyhook_terminal::Tone;

/// The keys in the order of their use, with a word for the line at the bottom.
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

/// The same while a text covers the panes.
pub const IN_PAGER: [(&str, &str); 4] =
    [("Esc", "back"), ("↑↓", "scroll"), ("PgUp PgDn", "page"), ("Home End", "ends")];

/// The same while a text is typed.
pub const IN_TEXT: [(&str, &str); 2] = [("Enter", "keep"), ("Esc", "clear")];

/// The same where decisions are made.
pub const IN_WAITING: [(&str, &str); 5] =
    [("1-9", "choose"), ("↑↓", "select"), ("Enter", "read it"), ("Esc", "back"), ("?", "help")];

/// The same among the pipelines.
pub const IN_PIPELINES: [(&str, &str); 5] =
    [("Enter", "read it"), ("↑↓", "select"), ("w", "decide"), ("Esc", "back"), ("?", "help")];

/// The same while a choice waits to be confirmed.
pub const IN_CHOICE: [(&str, &str); 2] = [("Enter", "yes"), ("Esc", "no")];

const KEYS: [(&str, &str); 18] = [
    ("q, Ctrl-C", "quit"),
    ("Tab, ← →", "to another pane"),
    ("↑ ↓, j k", "select"),
    ("PgUp PgDn", "select, a page at a time"),
    ("Home End, g G", "the first, the last; the last verdict is followed"),
    ("Enter", "on a verdict: all that is known of it, as `log show`"),
    ("", "on a session or hook: only its verdicts"),
    ("", "on a decision: all that is asked"),
    ("", "on a pipeline: all that is known of it, as `pipeline show`"),
    ("w", "to what waits for your decision, the oldest first"),
    ("1 to 9 there", "choose that option; Enter then confirms, Esc leaves"),
    ("l", "to the pipelines, what goes on first"),
    ("/", "only verdicts with a text; Enter keeps it, Esc clears it"),
    ("d", "only denials, and what ran although it was denied"),
    ("f", "only verdicts with a hook that failed"),
    ("a", "all again"),
    ("p", "hold the verdicts, or let them go on"),
    ("Esc", "back; then all again; then quit"),
];

const WORDS: [(Tone, &str, &str); 14] = [
    (Tone::Good, "working", "it thinks, or runs the named tool"),
    (Tone::Warn, "prompting (permission)", "it does not go on until you have answered"),
    (Tone::Warn, "prompting (question)", "likewise"),
    (Tone::Warn, "prompting (plan_approval)", "likewise"),
    (Tone::Hint, "idle", "its turn is over: it is yours"),
    (Tone::Bad, "failed (why)", "its turn failed, and it does not go on by itself"),
    (Tone::Dim, "stopped", "a subagent that is done"),
    (Tone::Dim, "working (silent)", "no event for ten minutes"),
    (Tone::Dim, "exited", "the session is over"),
    (Tone::Bad, "gone", "its process vanished without a word"),
    (Tone::Bad, "deny", "blocked by the hook that is named"),
    (Tone::Bad, "ran", "the host ran it although it was denied"),
    (Tone::Dim, "aside", "the outcome of a hook that nobody waited for"),
    (Tone::Plain, "+ > ? x - .", "a step is done, runs, waits, failed, was cancelled, is left"),
];

/// Returns the page of help. Times are UTC.
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
        dim("From the daemon, if it runs: decisions, pipelines, states by logs and processes."),
        dim("Times are UTC."),
    ]);
    rows
}
