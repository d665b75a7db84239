//! Tests of updates and keys.

use anyhook_model::pipeline::{PipelinePhase, VisitState};
use anyhook_model::{Effect, RecordId};

use super::*;
use crate::examples::{agent, busy, decision, later, noon, pipeline, record, run};

fn shown(app: &App) -> usize {
    app.stream.shown().len()
}

fn press(app: &mut App, keys: &str) {
    for letter in keys.chars() {
        assert_eq!(app.key(KeyPress::Letter(letter)), KeyEffect::Stay);
    }
}

#[test]
fn what_comes_is_counted() {
    let mut app = App::new(String::new());
    let mut denied = record("before_tool");
    denied.verdict.effect = Some(Effect::Deny);
    app.feed(denied);
    let mut ran = record("after_tool");
    ran.denied_by = Some(RecordId::from_text("7k2m9x4q"));
    app.feed(ran);
    let mut aside = record("before_tool");
    aside.of = Some(RecordId::from_text("7k2m9x4q"));
    aside.runs = vec![run("a", 1)];
    aside.runs[0].failure = Some("exit 1".to_owned());
    app.feed(aside);
    assert_eq!(app.totals, Totals { denials: 1, failures: 1, alarms: 1 });
    assert_eq!(app.sessions.rows()[0].1.events, 2, "what ran aside is no event");
    assert_eq!(app.hooks.rows()[0].1.failures, 1);
}

#[test]
fn every_way_to_quit() {
    for key in [KeyPress::Letter('q'), KeyPress::Escape, KeyPress::Interrupt] {
        assert_eq!(App::new(String::new()).key(key), KeyEffect::Quit, "{key:?}");
    }
    let mut app = App::new(String::new());
    press(&mut app, "/q");
    assert_eq!(app.key(KeyPress::Interrupt), KeyEffect::Quit, "even while typing");
    press(&mut app, "?");
    assert_eq!(app.key(KeyPress::Interrupt), KeyEffect::Quit);
}

#[test]
fn filters() {
    let mut app = busy();
    let all = shown(&app);
    press(&mut app, "d");
    assert_eq!(shown(&app), 2);
    press(&mut app, "f");
    assert_eq!(shown(&app), 1);
    assert_eq!(app.key(KeyPress::Escape), KeyEffect::Stay, "it clears the filter first");
    assert_eq!(shown(&app), all);
    press(&mut app, "/PUSHx");
    app.key(KeyPress::Backspace);
    assert_eq!(shown(&app), 1, "while it is typed");
    app.key(KeyPress::Enter);
    assert!(!app.is_typing);
    assert_eq!(shown(&app), 1);
    press(&mut app, "a");
    assert_eq!(shown(&app), all);
    press(&mut app, "/push");
    app.key(KeyPress::Escape);
    assert_eq!((shown(&app), app.is_typing), (all, false));
}

#[test]
fn a_session_is_chosen() {
    let mut app = busy();
    app.key(KeyPress::Previous);
    assert_eq!(app.focus, Pane::Sessions);
    app.key(KeyPress::Enter);
    assert_eq!(app.focus, Pane::Stream);
    let hosts: Vec<_> = app.stream.shown().iter().map(|kept| kept.record.host.as_str()).collect();
    assert!(!hosts.is_empty() && hosts.iter().all(|host| *host == "claude-code"), "{hosts:?}");
}

#[test]
fn a_hook_is_chosen() {
    let mut app = busy();
    app.key(KeyPress::Next);
    assert_eq!(app.focus, Pane::Hooks);
    app.key(KeyPress::Enter);
    assert_eq!(app.stream.filter.text, "format");
    app.key(KeyPress::Next);
    app.key(KeyPress::Next);
    assert_eq!(app.focus, Pane::Sessions, "round and round");
}

#[test]
fn a_record_is_opened_and_closed() {
    let mut app = busy();
    press(&mut app, "k");
    let KeyEffect::Open(record, _) = app.key(KeyPress::Enter) else { panic!("nothing opened") };
    assert_eq!(record.event.to_string(), "before_stop");
    app.open("a record", vec![vec![(Tone::Plain, record.id.to_string())]]);
    press(&mut app, "jkG ");
    assert!(app.pager.is_some());
    app.key(KeyPress::Escape);
    assert!(app.pager.is_none());
    press(&mut app, "?q");
    assert!(app.pager.is_none(), "`q` closes what covers the panes");
}

/// A view in which two decisions wait.
fn asked() -> App {
    let mut app = busy();
    let decisions = vec![decision("aaaaaaaa", noon()), decision("bbbbbbbb", later(5))];
    app.hear_daemon(DaemonView::Here {
        agents: vec![agent("codex:one", "idle")],
        decisions,
        pipelines: Vec::new(),
    });
    app
}

#[test]
fn a_decision_is_made_by_a_number_and_enter() {
    let mut app = asked();
    press(&mut app, "1");
    assert_eq!(app.waiting.chosen, None, "the keys are for another pane");
    press(&mut app, "wj2");
    assert!(app.waiting.chosen.is_some());
    let KeyEffect::Answer(answer) = app.key(KeyPress::Enter) else { panic!("nothing answered") };
    assert_eq!((answer.id.as_str(), answer.choice.as_str()), ("bbbbbbbb", "deny"));
    assert_eq!(answer.question(), "deny bbbbbbbb: Shell git push bbbbbbbb?");
    assert_eq!(app.key(KeyPress::Enter), KeyEffect::Stay, "once");
    app.answered(Err("decision bbbbbbbb was already made".to_owned()));
    assert_eq!(app.status.as_ref().unwrap().0, Tone::Bad);
    app.key(KeyPress::Escape);
    assert_eq!(app.status, None, "any key clears it");
}

#[test]
fn a_choice_is_left_or_changed() {
    for key in
        [KeyPress::Escape, KeyPress::Letter('q'), KeyPress::Move(CursorMove::Down), KeyPress::Next]
    {
        let mut app = asked();
        press(&mut app, "w1");
        assert_eq!(app.key(key), KeyEffect::Stay);
        assert_eq!((&app.waiting.chosen, app.focus), (&None, Pane::Waiting), "{key:?}");
        assert_eq!(app.waiting.row(), 0, "the key does nothing else");
    }
    let mut app = asked();
    press(&mut app, "w12");
    assert_eq!(app.waiting.chosen.as_ref().unwrap().choice, "deny");
    assert_eq!(app.key(KeyPress::Interrupt), KeyEffect::Quit);
    press(&mut app, "xw7");
    assert_eq!(app.status.as_ref().unwrap().1, "there is no option 7");
}

#[test]
fn somebody_else_was_first() {
    let mut app = asked();
    press(&mut app, "w1");
    app.hear_daemon(DaemonView::Away(None));
    assert_eq!(app.key(KeyPress::Enter), KeyEffect::Stay, "nothing is chosen any more");
    assert!(app.waiting.is_empty());
    app.key(KeyPress::Escape);
    assert_eq!(app.focus, Pane::Stream, "back, and not out");
}

#[test]
fn the_way_to_what_waits() {
    let mut app = asked();
    app.key(KeyPress::Next);
    app.key(KeyPress::Next);
    assert_eq!(app.focus, Pane::Waiting);
    app.key(KeyPress::Enter);
    assert_eq!(app.pager.as_ref().unwrap().title, "decision aaaaaaaa");
    press(&mut app, "1q");
    assert!(app.pager.is_none() && app.waiting.chosen.is_none());
    app.key(KeyPress::Previous);
    assert_eq!(app.focus, Pane::Hooks);
    app.hear_daemon(DaemonView::Away(None));
    app.key(KeyPress::Next);
    assert_eq!(app.focus, Pane::Sessions, "nothing waits");
}

#[test]
fn the_way_to_the_pipelines() {
    let mut app = busy();
    assert_eq!(app.panes().len(), 3, "no pipelines, no pane");
    let mut waits = pipeline("aaaaaaaa", PipelinePhase::Waiting, &[VisitState::Waiting]);
    waits.decision = Some(RecordId::from_text("bbbbbbbb"));
    let runs = pipeline("cccccccc", PipelinePhase::Running, &[VisitState::Running]);
    let decisions = vec![decision("bbbbbbbb", noon())];
    let pipelines = vec![waits, runs.clone()];
    app.hear_daemon(DaemonView::Here { agents: Vec::new(), decisions, pipelines });
    press(&mut app, "l");
    assert_eq!(app.focus, Pane::Pipelines);
    let KeyEffect::OpenPipeline(opened, asks) = app.key(KeyPress::Enter) else {
        panic!("nothing opened")
    };
    assert_eq!(opened.id.as_str(), "aaaaaaaa");
    assert_eq!(asks.unwrap().id.as_str(), "bbbbbbbb");
    press(&mut app, "j1");
    assert_eq!(app.waiting.chosen, None, "numbers are for decisions");
    assert_eq!(app.key(KeyPress::Enter), KeyEffect::OpenPipeline(Box::new(runs), None));
    app.key(KeyPress::Previous);
    assert_eq!(app.focus, Pane::Waiting);
    app.key(KeyPress::Next);
    app.key(KeyPress::Next);
    assert_eq!(app.focus, Pane::Sessions);
    press(&mut app, "l");
    app.hear_daemon(DaemonView::Away(None));
    assert_eq!(app.key(KeyPress::Enter), KeyEffect::Stay, "nothing is there any more");
    assert!(app.panes().contains(&Pane::Pipelines), "but the pane is, as long as it is looked at");
    app.key(KeyPress::Escape);
    assert_eq!((app.focus, app.panes().len()), (Pane::Stream, 3), "back, and not out");
}

#[test]
fn nothing_can_be_opened_where_nothing_is() {
    let mut app = App::new(String::new());
    press(&mut app, "l");
    for _ in 0..4 {
        assert_eq!(app.key(KeyPress::Enter), KeyEffect::Stay);
        press(&mut app, "jkgG");
        app.key(KeyPress::Next);
    }
}
