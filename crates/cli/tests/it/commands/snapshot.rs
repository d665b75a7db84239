//! A whole run as one text: exit code, standard output, standard error, without what differs from
//! run to run.

use anyhook_testkit::{CommandRun, TestEnv};

/// The letters of a record's id.
const ID: &str = "[0-9a-hjkmnp-tv-z]{8}";

/// Compares a run with its snapshot: inline after `@`, else in a file.
macro_rules! assert_run {
    ($environment:expr, $ran:expr $(, @$inline:literal)?) => {{
        let text = $crate::commands::snapshot::text(&$environment, &$ran);
        $crate::commands::snapshot::settings().bind(|| {
            insta::assert_snapshot!(text $(, @$inline)?);
        });
    }};
}

/// Writes a run down.
pub fn text(environment: &TestEnv, ran: &CommandRun) -> String {
    let mut text = format!("exit code: {}\n", ran.code);
    for (name, stream) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        if !stream.is_empty() {
            text.push_str(&format!("----- {name} -----\n{}\n", environment.normal(stream)));
        }
    }
    text
}

/// Returns the filters for ids, times and durations.
pub fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    // A table's line: time, id, and further on how long it took.
    settings.add_filter(
        &format!(r"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d  {ID}  "),
        "[DAY AND TIME]  [ID]  ",
    );
    settings.add_filter(&format!(r"(anyhook log show |record   |of       ){ID}\b"), "${1}[ID]");
    settings.add_filter(&format!(r#"("(?:id|of)": ?"){ID}""#), r#"${1}[ID]""#);
    // A run of a workflow, and what is made of its name.
    settings.add_filter(&format!(r"\b(delivery ){ID}\b"), "${1}[ID]");
    settings.add_filter(&format!(r#"{ID}(-[a-z_]+-\d+")"#), "[ID]${1}");
    settings.add_filter(r"(?m)^(\d+ +)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "${1}[DAY AND TIME]");
    settings
        .add_filter(r"(?m)^(\S  .* (?:progress|completed|blocked|warnings) +)\d+s", "${1}[AGE]");
    // The same in a reply that is a string in a record.
    settings.add_filter(&format!(r#"(\\"id\\": \\"){ID}"#), "${1}[ID]");
    settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:?\d\d:?\d\d(\.\d+)?Z", "[TIME]");
    settings.add_filter(r"(proven at )\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "${1}[DAY AND TIME]");
    // Codex's hash of a handler, whose command holds the home folder.
    settings.add_filter("sha256:[0-9a-f]{64}", "sha256:[HASH]");
    settings.add_filter(r#"("took_us": ?)\d+"#, "${1}[TOOK]");
    settings.add_filter(r"(?m)(  |, )\d+(?:\.\d+)? m?s( ·|$)", "${1}[TOOK]${2}");
    settings.add_filter(r"  \d+(?:\.\d+)? m?s +", "  [TOOK]  ");
    settings.add_filter(r"( failed in )\d+\.\d+ s", "${1}[TOOK]");
    // What a replay cost.
    settings.add_filter(r"p50 [^,]+, p95 [^,]+, total .+", "p50 [TOOK], p95 [TOOK], total [TOOK]");
    settings.add_filter(r"(?m)^(took +)\d+(?:\.\d+)? m?s$", "${1}[TOOK]");
    settings
}
