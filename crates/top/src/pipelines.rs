//! The pipelines: the progress of each, and what it waits for.

use std::cmp::Reverse;

use anyhook_model::RecordId;
use anyhook_model::pipeline::{PipelinePhase, PipelineView};
use anyhook_terminal::states::{NOT_VISITED, phase_tone, pipeline_reason, visit_sign, visited};
use jiff::{SignedDuration, Timestamp};

use crate::columns::{Column, number, words};
use crate::cursor::{Cursor, CursorMove};
use crate::panes::age;
use anyhook_terminal::StyledLine as Row;
use anyhook_terminal::tidy;
use anyhook_terminal::{Tone, counted};

/// At most this many are kept; of the finished ones the oldest are dropped first.
const KEEP: usize = 200;
/// A finished one is shown for this long.
const SHOWN_AFTER: SignedDuration = SignedDuration::from_mins(5);
/// At most this many steps of a pipeline are drawn.
const STEPS: usize = 12;

/// The columns of the pipelines.
pub const COLUMNS: [Column; 7] = [
    words("PIPELINE", 8, 8, 5),
    words("NAME", 6, 20, 7),
    words("STATE", 9, 9, 9),
    words("STEP", 6, 16, 4),
    words("STEPS", 5, STEPS, 6),
    number("AGE", 4, 3),
    words("WHY", 10, usize::MAX, 8),
];

/// Returns the pipelines to show: running ones first, the newest first.
pub fn worth_showing(mut all: Vec<PipelineView>, now: Timestamp) -> Vec<PipelineView> {
    all.retain(|pipeline| is_shown(pipeline, now));
    all.sort_by_key(|pipeline| (pipeline.phase.is_over(), Reverse(pipeline.created)));
    all.truncate(KEEP);
    all
}

fn is_shown(pipeline: &PipelineView, now: Timestamp) -> bool {
    let is_new = |ended| now.duration_since(ended) < SHOWN_AFTER;
    !pipeline.phase.is_over() || pipeline.ended.is_some_and(is_new)
}

/// All pipelines that are shown.
#[derive(Debug)]
pub struct PipelineTable {
    shown: Vec<PipelineView>,
    /// The selected one.
    pub cursor: Cursor<RecordId>,
}

impl Default for PipelineTable {
    fn default() -> Self {
        Self { shown: Vec::new(), cursor: Cursor::at_first() }
    }
}

impl PipelineTable {
    /// Takes the daemon's pipelines, in display order.
    pub fn hear(&mut self, pipelines: &[PipelineView]) {
        self.shown = pipelines.iter().take(KEEP).cloned().collect();
    }

    /// Removes those that finished long ago.
    pub fn forget(&mut self, now: Timestamp) {
        self.shown.retain(|pipeline| is_shown(pipeline, now));
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Selects another one.
    pub fn go(&mut self, to: CursorMove) {
        self.cursor.go(to, &self.keys());
    }

    /// Returns the row of the selected one.
    pub fn row(&self) -> usize {
        self.cursor.row(&self.keys())
    }

    /// Returns the selected one.
    pub fn selected(&self) -> Option<&PipelineView> {
        self.shown.get(self.row())
    }

    /// Returns the message for how many are running, and how many of them wait for a person.
    pub fn words(&self) -> Option<(Tone, String)> {
        let count = |phase| self.shown.iter().filter(|pipeline| pipeline.phase == phase).count();
        let (running, waiting) = (count(PipelinePhase::Running), count(PipelinePhase::Waiting));
        let all = counted(running + waiting, "pipeline");
        match (running, waiting) {
            (0, 0) => None,
            (_, 0) => Some((Tone::Plain, all)),
            (_, 1) => Some((Tone::Warn, format!("{all}, 1 waiting"))),
            (_, several) => Some((Tone::Warn, format!("{all}, {several} waiting"))),
        }
    }

    /// Returns the rows of the pane.
    pub fn rows(&self, now: Timestamp) -> Vec<Row> {
        self.shown.iter().map(|pipeline| row(pipeline, now)).collect()
    }

    fn keys(&self) -> Vec<RecordId> {
        self.shown.iter().map(|pipeline| pipeline.id.clone()).collect()
    }
}

fn row(pipeline: &PipelineView, now: Timestamp) -> Row {
    let until = pipeline.ended.unwrap_or(now);
    let tone = phase_tone(pipeline.phase);
    vec![
        (Tone::Strong, tidy(pipeline.id.as_str())),
        (Tone::Plain, tidy(pipeline.run_name.as_ref().unwrap_or(&pipeline.name))),
        (tone, pipeline.phase.name().to_owned()),
        (Tone::Plain, tidy(pipeline.step.as_deref().unwrap_or("–"))),
        (tone, picture(pipeline)),
        (Tone::Dim, age(until.duration_since(pipeline.created))),
        (Tone::Plain, tidy(&pipeline_reason(pipeline, 400))),
    ]
}

/// Draws every step as one character; if there are too many, those around the current one.
fn picture(pipeline: &PipelineView) -> String {
    let visited = visited(pipeline);
    let sign = |step: &String| {
        visited.get(step.as_str()).map_or(NOT_VISITED, |state| visit_sign(*state).0)
    };
    let count = pipeline.steps.len();
    if count <= STEPS {
        return pipeline.steps.iter().map(sign).collect();
    }
    let step = pipeline.step.as_ref();
    let at = pipeline.steps.iter().position(|other| Some(other) == step).unwrap_or(0);
    // The current step is in the middle, except near the ends.
    let first = at.saturating_sub(STEPS / 2).min(count - STEPS);
    let end = first + STEPS;
    let (cut_before, cut_after) = (first > 0, end < count);
    let inner = &pipeline.steps[first + usize::from(cut_before)..end - usize::from(cut_after)];
    let dots = |is_cut| if is_cut { "…" } else { "" };
    format!("{}{}{}", dots(cut_before), inner.iter().map(sign).collect::<String>(), dots(cut_after))
}

#[cfg(test)]
mod tests {
    use anyhook_model::pipeline::VisitState;
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::examples::{later, noon, pipeline};

    #[test]
    fn what_goes_on_stands_first_and_what_is_long_over_is_left_out() {
        let over = |id: &str, seconds: usize| {
            let mut over = pipeline(id, PipelinePhase::Completed, &[VisitState::Completed]);
            over.ended = Some(later(seconds));
            over
        };
        let mut newer = pipeline("cccccccc", PipelinePhase::Waiting, &[VisitState::Waiting]);
        newer.created = later(30);
        let older = pipeline("bbbbbbbb", PipelinePhase::Running, &[VisitState::Running]);
        let all = vec![over("dddddddd", 10), over("aaaaaaaa", 100), older, newer];
        let now = later(10) + SHOWN_AFTER;
        let ids = |shown: &[PipelineView]| -> Vec<String> {
            shown.iter().map(|pipeline| pipeline.id.to_string()).collect()
        };
        let shown = worth_showing(all, now);
        assert_eq!(ids(&shown), ["cccccccc", "bbbbbbbb", "aaaaaaaa"]);
        let mut pipelines = PipelineTable::default();
        pipelines.hear(&shown);
        assert_eq!(pipelines.words().unwrap().1, "2 pipelines, 1 waiting");
        pipelines.go(CursorMove::Last);
        assert_eq!(pipelines.selected().unwrap().id.as_str(), "aaaaaaaa");
        pipelines.forget(later(100) + SHOWN_AFTER);
        assert_eq!(ids(&pipelines.shown), ["cccccccc", "bbbbbbbb"]);
        assert_eq!(pipelines.selected().unwrap().id.as_str(), "cccccccc", "the other is gone");
    }

    #[test]
    fn memory_is_bounded_and_what_goes_on_is_kept() {
        let mut all: Vec<_> = (0..KEEP)
            .map(|number| {
                let mut over = pipeline(&format!("{number:08}"), PipelinePhase::Failed, &[]);
                (over.created, over.ended) = (later(number), Some(later(number)));
                over
            })
            .collect();
        all.push(pipeline("running", PipelinePhase::Running, &[VisitState::Running]));
        let shown = worth_showing(all, later(KEEP));
        assert_eq!((shown.len(), shown[0].id.as_str()), (KEEP, "running"));
        assert!(shown.iter().all(|pipeline| pipeline.id.as_str() != "00000000"));
    }

    #[test]
    fn the_picture_of_the_steps() {
        use VisitState::{Cancelled, Completed, Failed, Running, Waiting};
        let picture_of =
            |states: &[VisitState]| picture(&pipeline("aaaaaaaa", PipelinePhase::Running, states));
        assert_eq!(picture_of(&[]), "....");
        assert_eq!(picture_of(&[Completed, Completed, Running]), "++>.");
        assert_eq!(picture_of(&[Failed, Cancelled, Waiting]), "x-?.");
        // A step that is visited again has its current state.
        let mut again = pipeline("aaaaaaaa", PipelinePhase::Running, &[Failed, Completed]);
        again.visits.push(again.visits[0].clone());
        again.visits[2].state = Running;
        assert_eq!(picture(&again), ">+..");
    }

    #[test]
    fn many_steps_are_drawn_around_the_present_one() {
        let count = 3 * STEPS;
        let mut long = pipeline("aaaaaaaa", PipelinePhase::Running, &[]);
        long.steps = (0..count).map(|number| format!("s{number}")).collect();
        let template =
            pipeline("x", PipelinePhase::Running, &[VisitState::Completed]).visits.remove(0);
        let mut drawn = Vec::new();
        for at in 0..count {
            long.step = Some(format!("s{at}"));
            let mut visit = template.clone();
            (visit.step, visit.state) = (format!("s{at}"), VisitState::Running);
            long.visits.push(visit);
            let text = picture(&long);
            assert_eq!(text.width(), STEPS, "{text}");
            assert_eq!(text.matches('>').count(), 1, "{at}: {text}");
            if let Some(last) = long.visits.last_mut() {
                last.state = VisitState::Completed;
            }
            drawn.push(text);
        }
        assert_eq!(drawn[0], ">..........…");
        assert_eq!(drawn[count / 2], "…+++++>....…");
        assert_eq!(drawn[count - 1], "…++++++++++>");
    }

    #[test]
    fn the_row_of_one() {
        let mut waiting = pipeline("7k2m9x4q", PipelinePhase::Waiting, &[VisitState::Waiting]);
        waiting.why = Some("the agent is idle\nand more".to_owned());
        waiting.decision = Some(RecordId::from_text("aaaaaaaa"));
        let cells: Vec<String> = row(&waiting, later(90)).into_iter().map(|cell| cell.1).collect();
        let expected = [
            "7k2m9x4q",
            "release",
            "waiting",
            "plan",
            "?...",
            "90s",
            "decision aaaaaaaa: the agent is idle…",
        ];
        assert_eq!(cells, expected);
        waiting.ended = Some(noon());
        assert_eq!(row(&waiting, later(90))[5].1, "now", "its own time");
    }
}
