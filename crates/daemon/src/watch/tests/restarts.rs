//! Tests that nothing is missed and nothing reported twice, whenever watching was stopped.

use super::*;

#[test]
fn it_goes_on_after_any_word() {
    let mut scene = Scene::new();
    let logs = RECORDED.iter().filter(|(_, _, _, expected)| !expected.is_empty());
    let logs: Vec<_> = logs.collect();
    scene.watch();
    for (host, log, session, _) in &logs {
        scene.append(place(host, log, session), recorded(host, log));
    }
    let all: usize = logs.iter().map(|(_, _, _, expected)| expected.split(' ').count()).sum();
    for _ in 0..all {
        // A report is received and stored; whatever was in transit is lost with the process.
        assert!(scene.next(Instant::now() + LIMIT).is_some(), "{:#?}", scene.told);
        scene.watch();
    }
    scene.catch_up();
    for (host, _, session, expected) in &logs {
        assert_eq!(scene.told(&format!("{host}:{session}")), *expected);
    }
}

#[test]
fn what_was_written_meanwhile_is_told() {
    let mut scene = Scene::watched();
    let known = place("claude-code", "", "known");
    scene.append(&known, WORK);
    scene.expect("claude-code:known", "working");
    scene.stop();
    scene.append(&known, format!("{REST}{WORK}{REST}"));
    let new = place("claude-code", "", "new");
    scene.append(&new, format!("{WORK}{REST}{WORK}"));
    scene.watch();
    scene.expect("claude-code:known", "working idle working idle");
    scene.expect("claude-code:new", "working idle working");
}

#[test]
fn a_log_that_was_replaced_meanwhile_begins_anew() {
    let mut scene = Scene::watched();
    let log = place("claude-code", "", "s");
    scene.append(&log, format!("{WORK}{REST}"));
    scene.expect("claude-code:s", "working idle");
    scene.stop();
    fs::write(scene.path(&log), format!("{{}}\n{WORK}{REST}{WORK}{REST}")).unwrap();
    scene.watch();
    scene.expect("claude-code:s", "working idle working idle working idle");
}

#[test]
fn positions_are_bounded() {
    let mut scene = Scene::watched();
    scene.append(place("claude-code", "", "s"), WORK);
    let position = scene.next(Instant::now() + LIMIT).unwrap().position;
    let mut positions = LogPositions::default();
    for number in 0..25_000_i64 {
        let read = jiff::Timestamp::from_second(1_000_000 + number).unwrap();
        let path = format!("/log/{number}");
        positions.note(LogPosition { path, read, ..position.clone() });
        assert!(positions.len() <= 10_000);
    }
    assert!(positions.take("/log/24999", None).is_some());
    assert!(positions.take("/log/0", None).is_none());
}
