use std::fs;
use std::path::Path;

use anyhook_engine::settings::NotifyCommand;
use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryStatus};
use anyhook_testkit::{wait_until, write};

use super::{NoticeJob, SHOWN, delivered, failure, job, only};

fn job_with(scratch: &Path, command: NotifyCommand) -> NoticeJob {
    let mut job = job(scratch);
    job.settings.command = Some(command);
    job
}

fn line(line: impl Into<String>) -> NotifyCommand {
    NotifyCommand::Line(line.into())
}

#[test]
fn a_program_gets_the_notice_as_data_and_its_arguments_as_they_are() {
    let scratch = tempfile::tempdir().unwrap();
    let program = scratch.path().join("notify me");
    let script = "#!/bin/sh\ncd \"${0%/*}\"\nprintf '%s\\n' \"$@\" > arguments\ncat > input\n\
        env | grep ^ANYHOOK_NOTICE_ | sort > environment\n";
    write(&program, script, 0o755);
    let arguments = ["$(touch NOW)", "a b"].map(str::to_owned);
    let words = [program.to_str().unwrap().to_owned()].into_iter().chain(arguments).collect();
    let outcome = delivered(job_with(scratch.path(), NotifyCommand::Program(words)), None);
    assert_eq!(only(&outcome, Channel::Command).result, DeliveryStatus::Delivered);

    let read = |name: &str| fs::read_to_string(scratch.path().join(name)).unwrap();
    assert_eq!(read("arguments"), "$(touch NOW)\na b\n");
    let input: Notice = serde_json::from_str(&read("input")).unwrap();
    assert_eq!((input.title.as_str(), input.options.len()), (SHOWN, 2));
    assert_eq!(
        read("environment"),
        format!(
            "ANYHOOK_NOTICE_AGENT=codex:s\nANYHOOK_NOTICE_BODY={SHOWN}\n\
            ANYHOOK_NOTICE_DECISION=7k2m9x4q\nANYHOOK_NOTICE_ID=7k2m9x4q\n\
            ANYHOOK_NOTICE_KIND=decision\nANYHOOK_NOTICE_TITLE={SHOWN}\nANYHOOK_NOTICE_URL=\n"
        )
    );
    let names: Vec<_> =
        fs::read_dir(scratch.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name == "NOW"), "{names:?}");
}

#[test]
fn a_line_is_the_shells_and_what_an_agent_says_is_not() {
    let scratch = tempfile::tempdir().unwrap();
    let text =
        format!("cd '{}' && echo $ANYHOOK_NOTICE_TITLE | cat > said", scratch.path().display());
    delivered(job_with(scratch.path(), line(text)), None);
    assert!(fs::read_to_string(scratch.path().join("said")).unwrap().contains("$(touch NOW)"));
    assert!(!scratch.path().join("NOW").exists());
}

#[test]
fn a_failure_says_how_and_what_the_program_said() {
    let scratch = tempfile::tempdir().unwrap();
    let outcome =
        delivered(job_with(scratch.path(), line("echo no\u{1b}[2Jway >&2; exit 3")), None);
    assert_eq!(failure(&outcome, Channel::Command), "exit 3: no [2Jway");

    let scratch = tempfile::tempdir().unwrap();
    let words = NotifyCommand::Program(vec!["/nowhere/notify-me".to_owned()]);
    let why = failure(&delivered(job_with(scratch.path(), words), None), Channel::Command);
    assert!(why.contains("/nowhere/notify-me"), "{why}");
}

#[test]
fn a_flood_does_no_harm() {
    let scratch = tempfile::tempdir().unwrap();
    let flood = line("head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2; exit 1");
    let outcome = delivered(job_with(scratch.path(), flood), None);
    assert!(failure(&outcome, Channel::Command).len() < 1000);
}

#[test]
fn a_program_that_hangs_is_ended_with_all_its_children() {
    let scratch = tempfile::tempdir().unwrap();
    let pids = scratch.path().join("pids");
    // What leaves the process group is ended, too.
    let text = format!(
        "setsid sleep 1000 & echo $! > '{0}'; sleep 1000 & echo $! >> '{0}'; echo $$ >> '{0}'; trap '' TERM; wait",
        pids.display()
    );
    let mut job = job_with(scratch.path(), line(text));
    job.settings.timeout_seconds = 1;
    let outcome = delivered(job, None);
    assert_eq!(failure(&outcome, Channel::Command), "timed out after 1000 ms");
    let pids = fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 3);
    for pid in pids.lines() {
        wait_until("the process ends", || {
            // One that has ended and was not waited for by its new parent is dead, too.
            fs::read_to_string(format!("/proc/{pid}/stat"))
                .map_or(true, |stat| stat.rsplit(')').next().unwrap().starts_with(" Z"))
        });
    }
}
