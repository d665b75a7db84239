//! Tests with files that are created, replaced and removed.

use std::time::SystemTime;

use super::*;

const LOG: &str = "claude-code:s";

fn log() -> PathBuf {
    place("claude-code", "", "s")
}

#[test]
fn a_line_counts_when_it_is_whole() {
    let mut scene = Scene::watched();
    let (start, end) = WORK.split_at(40);
    scene.append(log(), start);
    scene.catch_up();
    assert_eq!(scene.told(LOG), "");
    scene.append(log(), end.trim_end());
    scene.catch_up();
    assert_eq!(scene.told(LOG), "", "there may be more of it");
    scene.append(log(), "\n");
    scene.expect(LOG, "working");
}

#[test]
fn a_file_that_got_shorter_begins_anew() {
    let mut scene = Scene::watched();
    scene.append(log(), format!("{WORK}{REST}"));
    scene.expect(LOG, "working idle");
    let path = scene.path(log());
    File::create(&path).unwrap();
    scene.append(log(), REST);
    scene.expect(LOG, "working idle idle");
}

#[test]
fn another_file_in_its_place_begins_anew() {
    let mut scene = Scene::watched();
    scene.append(log(), format!("{WORK}{REST}"));
    scene.expect(LOG, "working idle");
    let path = scene.path(log());
    fs::rename(&path, path.with_extension("old")).unwrap();
    scene.append(log(), format!("{WORK}{REST}{WORK}"));
    scene.expect(LOG, "working idle working idle working");
    // The same file, but with entirely new content.
    fs::write(&path, format!("{{\"type\":\"summary\"}}\n{REST}{WORK}{REST}{WORK}{REST}")).unwrap();
    scene.catch_up();
    let told = scene.told(LOG);
    assert!(told.starts_with("working idle working idle working idle working idle"), "{told}");
    assert!(told.ends_with("idle"), "{told}");
}

#[test]
fn a_file_that_goes_and_comes_again_is_read() {
    let mut scene = Scene::watched();
    scene.append(log(), WORK);
    scene.expect(LOG, "working");
    fs::remove_dir_all(scene.home.path().join(".claude")).unwrap();
    scene.append(place("codex", "", "01a1e248-8930-7eb0-8f14-50fd4b45ff26"), "{}\n");
    scene.append(log(), REST);
    scene.expect(LOG, "working idle");
}

#[test]
fn a_new_day_is_a_new_folder() {
    let mut scene = Scene::watched();
    let start = r#"{"type":"event_msg","payload":{"type":"task_started"}}"#;
    for (day, session) in ["2026/11/16", "2026/11/17", "2026/12/01", "2027/01/01"]
        .into_iter()
        .zip('1'..)
        .map(|(day, last)| (day, format!("01a1e248-8930-7eb0-8f14-50fd4b45ff2{last}")))
    {
        scene.append(
            format!(".codex/sessions/{day}/rollout-x-{session}.jsonl"),
            format!("{start}\n"),
        );
        scene.expect(&format!("codex:{session}"), "working");
    }
}

#[test]
fn what_was_there_before_is_told_as_it_is_now() {
    let mut scene = Scene::new();
    let session = "01a1e250-8a2d-7151-9a76-1f673eecee56";
    let path = place("codex", "interrupted", session);
    let text = recorded("codex", "interrupted");
    let (first, rest) = text.split_at(text.find('\n').unwrap() + 1);
    // More than is read of the end, between the line that identifies the log and the rest.
    let filler = format!("{{\"type\":\"x\",\"y\":\"{}\"}}\n", "é".repeat(100_000)).repeat(3);
    scene.append(&path, format!("{first}{filler}{rest}"));
    let old = place("claude-code", "", "old");
    scene.append(&old, format!("{WORK}{REST}"));
    let long_ago = SystemTime::now() - Duration::from_secs(48 * 3600);
    File::options().append(true).open(scene.path(&old)).unwrap().set_modified(long_ago).unwrap();
    scene.let_time_pass();
    scene.watch();
    let watched = scene.next(Instant::now() + LIMIT).unwrap();
    assert_eq!(
        watched.report.as_ref().unwrap().report().unwrap().work_dir.as_deref(),
        Some("/home/user/project")
    );
    scene.catch_up();
    assert_eq!(scene.told(&format!("codex:{session}")), "idle");
    assert_eq!(scene.told("claude-code:old"), "", "nobody waits for it");
    scene.append(&old, WORK);
    scene.expect("claude-code:old", "working");
    scene.append(&path, "{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_started\"}}\n");
    scene.expect(&format!("codex:{session}"), "idle working");
}

#[test]
fn a_subagents_log_that_is_read_from_its_end_is_known() {
    let mut scene = Scene::new();
    let session = "01a1e250-8a2d-7151-9a76-1f673eecee56";
    let meta = format!(
        "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"{session}\",\"thread_source\":\"subagent\"}}}}\n"
    );
    let filler = format!("{{\"y\":\"{}\"}}\n", "x".repeat(300_000));
    let start = "{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_started\"}}\n";
    scene.append(place("codex", "", session), format!("{meta}{filler}{start}"));
    scene.let_time_pass();
    scene.watch();
    scene.catch_up();
    assert_eq!(scene.told(&format!("codex:{session}")), "");
}

#[test]
fn garbage_does_no_harm() {
    let mut scene = Scene::watched();
    let mut garbage = Vec::new();
    let mut number: u32 = 1;
    for _ in 0..200_000 {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        garbage.extend((number >> 16).to_le_bytes());
    }
    garbage.push(b'\n');
    scene.append(log(), &garbage);
    scene.append(log(), format!("{WORK}\n\n{{\n[]\n{REST}"));
    scene.append(place("claude-code", "", "b"), "\n".repeat(100_000));
    scene.expect(LOG, "working idle");
    let watched = scene.positions.take(scene.path(log()).to_str().unwrap(), None).unwrap();
    assert!(watched.state.unread > 0);
}

#[test]
fn a_line_of_50_mb_is_skipped_and_one_of_5_is_read() {
    let mut scene = Scene::watched();
    let long = "x".repeat(50_000_000);
    scene.append(log(), "{\"type\":\"user\",\"x\":\"");
    scene.append(log(), long);
    // Others do not have to wait.
    scene.catch_up();
    scene.append(log(), "\"}\n");
    let big = "y".repeat(5_000_000);
    let line = WORK.replace("do it", &big);
    scene.append(log(), line);
    scene.expect(LOG, "working");
    let watched = scene.positions.take(scene.path(log()).to_str().unwrap(), None).unwrap();
    assert_eq!(watched.state.unread, 1);
}

#[test]
fn what_is_no_file_is_left_alone() {
    let mut scene = Scene::watched();
    let pipe = scene.path(place("claude-code", "", "pipe"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    fs::create_dir_all(scene.path(place("claude-code", "", "folder"))).unwrap();
    let link = scene.path(place("claude-code", "", "link"));
    std::os::unix::fs::symlink("nowhere", link).unwrap();
    scene.catch_up();
}
