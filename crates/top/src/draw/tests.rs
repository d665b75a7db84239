//! Tests of the screen as a person sees it, at several sizes.

use anstyle::AnsiColor;
use anyhook_model::RecordId;
use anyhook_model::pipeline::{PipelinePhase, PipelineView, VisitState};

use super::*;
use crate::app::KeyEffect;
use crate::cursor::CursorMove;
use crate::examples::{agent, busy, decision, later, noon, pipeline, record};
use crate::key::KeyPress;
use crate::picture::{Palette, ScreenRow};

fn drawn(app: &mut App, width: usize, height: usize) -> Picture {
    draw(app, later(40), width, height)
}

fn press(app: &mut App, keys: &str) {
    for letter in keys.chars() {
        app.key(KeyPress::Letter(letter));
    }
}

#[test]
fn a_usual_screen() {
    insta::assert_snapshot!(drawn(&mut busy(), 100, 30));
}

#[test]
fn a_classic_screen() {
    insta::assert_snapshot!(drawn(&mut busy(), 80, 24));
}

#[test]
fn a_wide_screen() {
    insta::assert_snapshot!(drawn(&mut busy(), 160, 24));
}

#[test]
fn a_small_screen_shows_one_pane_at_a_time() {
    let mut app = busy();
    insta::assert_snapshot!("small_verdicts", drawn(&mut app, 40, 12));
    app.key(KeyPress::Next);
    insta::assert_snapshot!("small_hooks", drawn(&mut app, 40, 12));
    app.key(KeyPress::Next);
    insta::assert_snapshot!("small_sessions", drawn(&mut app, 40, 12));
}

#[test]
fn too_small() {
    insta::assert_snapshot!(drawn(&mut busy(), 39, 10));
    for (width, height) in [(1, 1), (3, 200), (40, 9), (200, 1)] {
        drawn(&mut busy(), width, height);
    }
}

#[test]
fn nothing_happened_yet() {
    let mut app = App::new("~/.local/state/anyhook/journal".to_owned());
    insta::assert_snapshot!("reading", drawn(&mut app, 80, 16));
    app.source.is_read = true;
    insta::assert_snapshot!("empty", drawn(&mut app, 80, 20));
    app.source.trouble = Some("permission\ndenied".to_owned());
    app.source.damaged = 2;
    insta::assert_snapshot!("trouble", drawn(&mut app, 80, 20));
}

#[test]
fn a_filter_is_typed_and_finds_nothing() {
    let mut app = busy();
    press(&mut app, "dp/elsewhere");
    insta::assert_snapshot!(drawn(&mut app, 80, 16));
}

/// A view in which this many decisions wait.
fn asked(count: usize) -> App {
    let mut app = busy();
    let mut decisions = vec![decision("7k2m9x4q", noon())];
    decisions[0].inquiry.agent = "codex:019a8b2c-1111-7222-8333-abcdefabf3d1".to_owned();
    for number in 1..count {
        decisions.push(decision(&format!("bbbb{number:04}"), later(number)));
    }
    let mut agents = vec![agent("codex:019a8b2c-1111-7222-8333-abcdefabf3d1", "prompting")];
    agents[0].prompt_type = Some(anyhook_model::PromptType::Permission);
    agents.push(agent("kimi-cli:d5e6", "idle"));
    app.hear_daemon(DaemonView::Here { agents, decisions, pipelines: Vec::new() });
    app
}

#[test]
fn what_waits_for_a_person() {
    let mut app = asked(2);
    insta::assert_snapshot!("waits", drawn(&mut app, 100, 30));
    press(&mut app, "wj");
    insta::assert_snapshot!("waits_with_focus", drawn(&mut app, 80, 24));
    press(&mut app, "2");
    insta::assert_snapshot!("confirm", drawn(&mut app, 80, 24));
    app.key(KeyPress::Enter);
    app.answered(Err("decision bbbb0001 was already made: allow, by ann".to_owned()));
    insta::assert_snapshot!("refused", drawn(&mut app, 80, 24));
    app.key(KeyPress::Enter);
    // Deadlines use the system clock.
    let page = drawn(&mut app, 60, 12).to_string();
    assert!(page.contains("about  git push bbbb0001") && page.contains("  2 deny  the"), "{page}");
}

#[test]
fn what_waits_on_small_screens() {
    let mut app = asked(9);
    insta::assert_snapshot!("small_waits_elsewhere", drawn(&mut app, 40, 12));
    press(&mut app, "wG1");
    insta::assert_snapshot!("small_waits", drawn(&mut app, 40, 12));
}

/// A view with pipelines of every phase; one waits for a decision.
fn with_pipelines() -> App {
    use VisitState::{Cancelled, Completed, Failed, Running, Waiting};
    let mut asks = decision("bbbb0001", later(5));
    asks.inquiry.question = "the agent is idle".to_owned();
    (asks.inquiry.tool, asks.inquiry.about, asks.inquiry.until) = (None, None, None);
    let mut waits = pipeline("7k2m9x4q", PipelinePhase::Waiting, &[Completed, Completed, Waiting]);
    waits.decision = Some(asks.inquiry.id.clone());
    waits.why = Some("the agent is idle".to_owned());
    waits.agent = Some("7k2m9x4q.review.3".to_owned());
    waits.visits[2].why = Some("the agent is idle".to_owned());
    let runs = pipeline("8a3n5y6r", PipelinePhase::Running, &[Completed, Running]);
    let mut failed = pipeline("9b4p6z7s", PipelinePhase::Failed, &[Completed, Failed]);
    failed.why = Some("step `build` failed: exit code 1: no such\ntable".to_owned());
    let mut cancelled = pipeline("2c5q7w8t", PipelinePhase::Cancelled, &[Cancelled]);
    cancelled.why = Some("cancelled by ann".to_owned());
    let done = pipeline("3d6r8v9u", PipelinePhase::Completed, &[Completed; 4]);
    let mut pipelines = vec![waits, runs, failed, cancelled, done];
    for over in pipelines.iter_mut().filter(|pipeline| pipeline.phase.is_over()) {
        over.ended = Some(later(20));
    }
    let mut app = busy();
    let decisions = vec![asks];
    app.hear_daemon(DaemonView::Here { agents: Vec::new(), decisions, pipelines });
    app
}

#[test]
fn pipelines() {
    let mut app = with_pipelines();
    insta::assert_snapshot!("pipelines", drawn(&mut app, 100, 34));
    press(&mut app, "lj");
    insta::assert_snapshot!("pipelines_with_focus", drawn(&mut app, 80, 24));
    insta::assert_snapshot!("small_pipelines", drawn(&mut app, 40, 12));
    press(&mut app, "k");
    let KeyEffect::OpenPipeline(pipeline, asks) = app.key(KeyPress::Enter) else {
        panic!("not opened")
    };
    assert_eq!((pipeline.id.as_str(), asks.is_some()), ("7k2m9x4q", true));
    let rows =
        vec![vec![(Tone::Strong, "7k2m9x4q".to_owned()), (Tone::Plain, " release".to_owned())]];
    app.open("pipeline 7k2m9x4q", rows);
    insta::assert_snapshot!("a_pipeline", drawn(&mut app, 60, 24));
}

#[test]
fn pipelines_that_are_long_over_are_not_shown() {
    let mut app = with_pipelines();
    let screen = draw(&mut app, later(3600), 100, 34);
    assert!(screen.to_string().contains("Pipelines 2"), "{screen}");
    app.hear_daemon(DaemonView::Away(None));
    assert!(!drawn(&mut app, 100, 34).to_string().contains("Pipelines"));
    press(&mut app, "l");
    assert!(drawn(&mut app, 100, 34).to_string().contains("no daemon, so no pipelines"));
}

#[test]
fn without_a_daemon() {
    let mut app = busy();
    app.hear_daemon(DaemonView::Away(None));
    press(&mut app, "w");
    insta::assert_snapshot!("no_daemon", drawn(&mut app, 80, 24));
    app.hear_daemon(DaemonView::Away(Some("the daemon does not answer".to_owned())));
    let screen = drawn(&mut app, 80, 24).to_string();
    assert!(screen.contains("the daemon does not answer: states from the journal only"));
}

#[test]
fn a_text_covers_the_panes() {
    let mut app = busy();
    let line = |tone, text: &str| vec![(tone, text.to_owned())];
    let mut rows = vec![line(Tone::Strong, &"a long line, ".repeat(6)), line(Tone::Dim, "")];
    rows.extend((0..20).map(|number| line(Tone::Plain, &format!("line {number}"))));
    app.open("record aaaa0021", rows);
    insta::assert_snapshot!(drawn(&mut app, 60, 16));
}

#[test]
fn help() {
    let mut app = busy();
    press(&mut app, "?");
    insta::assert_snapshot!(drawn(&mut app, 80, 30));
}

#[test]
fn tones_and_the_selected_row() {
    let screen = drawn(&mut busy(), 100, 30);
    let found = |text: &str| {
        let rows = screen.rows.iter();
        let mut pieces = rows.flat_map(|row| row.pieces.iter().map(move |piece| (row, piece)));
        let (row, (tone, _)) = pieces.find(|(_, (_, piece))| piece.contains(text)).unwrap();
        (*tone, row.is_selected)
    };
    assert_eq!(found("deny"), (Tone::Bad, false));
    assert_eq!(found("denied but ran"), (Tone::Bad, false));
    assert_eq!(found("prompting (perm"), (Tone::Warn, false));
    assert_eq!(found("ask  "), (Tone::Warn, true), "the newest is selected");
    let colours = Palette { colours: true };
    let red = colours.style(Tone::Bad).get_fg_color();
    assert_eq!(red, Some(AnsiColor::Red.into()));
    let (row, plain) = (screen.escaped(colours), screen.escaped(Palette { colours: false }));
    assert!(row.iter().any(|row| row.contains("\u{1b}[31m")));
    assert!(plain.iter().all(|row| !row.contains("\u{1b}[3")), "no colour at all");
    let selected = screen.rows.iter().position(|row| row.is_selected).unwrap();
    assert!(plain[selected].matches("\u{1b}[7m").count() > 1, "{:?}", plain[selected]);
}

/// Any input, at any size: no panic, and no control character on the screen.
#[test]
fn hostile_records() {
    let hostile = "\u{1b}]0;x\u{7}\r\n\t\u{9b}31m日本語\u{202e}\u{200d}👩‍👩‍👧 ".repeat(20);
    let mut app = busy();
    for event in ["before_tool", "notification", &hostile] {
        let mut record = record(event);
        for text in [&mut record.session, &mut record.agent, &mut record.tool, &mut record.about] {
            *text = Some(hostile.clone());
        }
        record.host.clone_from(&hostile);
        record.work_dir.clone_from(&hostile);
        record.verdict.by = Some(hostile.clone());
        record.runs = vec![crate::examples::run(&hostile, u64::MAX)];
        record.runs[0].failure = Some(hostile.clone());
        record.runs[0].stdout.clone_from(&hostile);
        record.denied_by = Some(record.id.clone());
        app.feed(record);
    }
    let mut asks = decision(&hostile, noon());
    asks.inquiry.agent.clone_from(&hostile);
    asks.inquiry.options[0].name.clone_from(&hostile);
    let agents = vec![agent(&hostile, &hostile)];
    let pipelines = vec![hostile_pipeline(&hostile)];
    app.hear_daemon(DaemonView::Here { agents, decisions: vec![asks], pipelines });
    app.waiting.choose('1');
    app.status = Some((Tone::Bad, hostile.clone()));
    for (width, height) in [(40, 10), (41, 11), (57, 18), (80, 24), (131, 50)] {
        for pager in [false, true] {
            let pipeline = Pane::Pipelines;
            for focus in [Pane::Waiting, pipeline, Pane::Sessions, Pane::Stream, Pane::Hooks] {
                app.focus = focus;
                app.key(KeyPress::Move(CursorMove::Up));
                app.waiting.choose('1');
                if pager {
                    app.open(&hostile, vec![vec![(Tone::Plain, hostile.clone())]; 3]);
                }
                let screen = drawn(&mut app, width, height);
                assert_eq!(screen.rows.len(), height);
                for text in screen.rows.iter().map(ScreenRow::text) {
                    assert!(
                        !text.contains(|letter: char| {
                            letter.is_control() || letter == '\u{202e}'
                        })
                    );
                    assert!(text.width() <= width, "{text}");
                }
                app.pager = None;
            }
        }
    }
}

fn hostile_pipeline(hostile: &str) -> PipelineView {
    let mut pipeline = pipeline(hostile, PipelinePhase::Waiting, &[VisitState::Waiting]);
    hostile.clone_into(&mut pipeline.name);
    for text in [&mut pipeline.why, &mut pipeline.step, &mut pipeline.agent] {
        *text = Some(hostile.to_owned());
    }
    pipeline.decision = Some(RecordId::from_text(hostile));
    pipeline.steps = (0..40).map(|number| format!("{hostile}{number}")).collect();
    pipeline
}
