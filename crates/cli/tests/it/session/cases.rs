//! What a session does.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use anyhook_daemon::session::{Key, SessionError};
use anyhook_daemon::task::{self, TaskStatus};
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{require, wait_within};

use super::{Stage, TIMEOUT, kill, lives, start_helper, type_line};

/// Makes a test of each case.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        mod cases {
            $(#[test]
            fn $case() {
                crate::session::play(super::$case);
            })*
        }
    };
}

cases! {
    it_is_started_typed_into_and_ends,
    what_is_pasted_arrives_to_the_byte,
    a_paste_is_one_piece_for_who_can_tell,
    lines_are_pasted_into_a_plain_program,
    keys_arrive,
    it_is_as_large_as_said,
    a_screen_is_what_the_program_drew,
    a_program_that_fills_the_screen,
    programs_ask_their_terminal,
    what_scrolled_away_is_remembered,
    its_terminal_is_its_own,
    names_are_told_apart,
    a_long_path_does_no_harm,
    another_process_finds_it_again,
    many_start_it_once,
    it_ends_with_all_it_started,
    it_ends_when_its_terminal_is_gone,
    it_ends_when_its_keeper_was_killed,
    what_cannot_be_started_says_why,
    an_enter_that_was_not_heeded_is_pressed_again,
    what_is_not_shown_is_not_sent,
    what_is_not_there_says_so,
}

const SOON: Duration = Duration::from_secs(10);

fn it_is_started_typed_into_and_ends(stage: &Stage) {
    let played =
        stage.started("echo hello; read -r line; echo \"got $line\"; read -r wait; exit 3");
    assert!(played.is_there());
    played.shows("hello");
    // To start it again does nothing.
    played.session.start().unwrap();
    type_line(&played.session, "a 'b' \"c\"; #{d}", SOON).unwrap();
    played.shows("got a 'b' \"c\"; #{d}");
    let history = played.session.history().unwrap();
    assert!(history.starts_with("hello\n"), "{history}");
    type_line(&played.session, "bye", SOON).unwrap();
    let ended = played.ended();
    assert_eq!((ended.code, ended.killed), (Some(3), false));
    played.is_gone();
    played.session.end().unwrap();
    let last = played.session.history().unwrap();
    assert!(last.contains("got a 'b' \"c\"; #{d}\n"), "{last}");
    let mode = fs::metadata(played.session.folder.join("screen")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    played.session.start().unwrap();
    assert!(!played.is_there(), "what is over is not started again");
}

fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "plain",
        "ends with ;",
        ";",
        "\\;",
        "-t x",
        "--",
        "#{pane_id} #(touch /tmp/never) %1 $HOME `id` $(id)",
        "'single' \"double\" \\backslash\\ !bang",
        "two\nlines\n",
        "\n",
        "a\tb",
        "ä€\u{1f600} 世界 \u{301}",
        "\x1b[31mred\x1b[0m \x07 \x01",
        " blanks ",
        "Enter",
        "C-c",
    ]
    .map(str::to_owned)
    .into();
    texts.push("0123456789abcdef".repeat(4096));
    texts
}

fn what_is_pasted_arrives_to_the_byte(stage: &Stage) {
    let all: usize = texts().iter().map(String::len).sum();
    let played = stage.started(&format!("stty raw -echo; printf ready; head -c {all} > got"));
    played.shows("ready");
    played.paste("");
    for text in texts() {
        played.paste(&text);
    }
    stage.holds("got", texts().concat().as_bytes());
}

fn a_paste_is_one_piece_for_who_can_tell(stage: &Stage) {
    let wanted: String =
        texts().iter().map(|text| format!("\x1b[200~{text}\x1b[201~")).collect::<Vec<_>>().concat();
    let length = wanted.len();
    let played = stage
        .started(&format!("stty raw -echo; printf '\\033[?2004hready'; head -c {length} > got"));
    played.shows("ready");
    for text in texts() {
        played.paste(&text);
    }
    stage.holds("got", wanted.as_bytes());
    let error = played.session.paste("a\x1b[201~\rrm -rf x\r").unwrap_err();
    assert!(matches!(error, SessionError::Unpastable), "{error}");
}

fn lines_are_pasted_into_a_plain_program(stage: &Stage) {
    let played = stage.started("echo ready; exec cat > got");
    played.shows("ready");
    played.paste("one\ntwo ;\n\n-three\n");
    stage.holds("got", b"one\ntwo ;\n\n-three\n");
    played.press(Key::Control('d'));
    assert_eq!(played.ended().code, Some(0));
}

fn keys_arrive(stage: &Stage) {
    let keys = [
        (Key::Enter, "\r"),
        (Key::Escape, "\x1b"),
        (Key::Character('x'), "x"),
        (Key::Up, "\x1b[A"),
        (Key::Down, "\x1b[B"),
        (Key::Tab, "\t"),
        (Key::Character('ä'), "ä"),
        (Key::Character(';'), ";"),
        (Key::Character('-'), "-"),
        (Key::Character(' '), " "),
        (Key::Character('世'), "世"),
        (Key::Control('c'), "\x03"),
        (Key::Control('Z'), "\x1a"),
        (Key::Control('\\'), "\x1c"),
    ];
    let wanted: String = keys.iter().map(|(_, bytes)| *bytes).collect();
    let length = wanted.len();
    let played = stage.started(&format!(
        "stty raw -echo; printf ready; head -c {length} > got; printf '\\033[?1hagain'; head -c 3 > arrow"
    ));
    played.shows("ready");
    for (key, _) in keys {
        played.press(key);
    }
    stage.holds("got", wanted.as_bytes());
    played.shows("again");
    played.press(Key::Up);
    stage.holds("arrow", b"\x1bOA");
    let error = played.session.press(Key::Control('ä')).unwrap_err();
    assert_eq!(error.to_string(), "no control key combination for 'ä'");
}

fn it_is_as_large_as_said(stage: &Stage) {
    let played = stage.started("stty size; exec cat");
    played.shows("50 160");
}

fn a_screen_is_what_the_program_drew(stage: &Stage) {
    let played = stage.started(
        "printf 'gone\\033[2J\\033[3;5H\\033[1;31mthree\\033[m\\033[1;1Hone ä世\\033[5;1Hend'; exec cat",
    );
    played.shows("end");
    assert_eq!(played.screen(), "one ä世\n\n    three\n\nend\n");
}

fn a_program_that_fills_the_screen(stage: &Stage) {
    require!(MachineNeed::Program("vi"));
    let played = stage.started("echo before; vi -u NONE text; echo after; exec cat");
    played.shows("~\n~\n");
    // It takes no paste while it is asked for keys.
    let press_all = |text: &str| text.chars().for_each(|key| played.press(Key::Character(key)));
    press_all("ityped in vi");
    played.shows("typed in vi");
    played.press(Key::Escape);
    press_all(":wq");
    played.shows(":wq");
    played.press(Key::Enter);
    played.shows("after");
    stage.holds("text", b"typed in vi\n");
    assert!(!played.screen().contains('~'), "the screen from before is back: {}", played.screen());
}

fn programs_ask_their_terminal(stage: &Stage) {
    stage
        .started("stty raw -echo; printf 'ab\\033[6n'; head -c 6 > where; printf '\\033[c'; head -c 3 > what")
        .ended();
    stage.holds("where", b"\x1b[1;3R");
    stage.holds("what", b"\x1b[?");
}

fn what_scrolled_away_is_remembered(stage: &Stage) {
    let played = stage.started("seq 500; printf '%0400d\\n' 7; echo end; exec cat");
    played.shows("end");
    let history = played.session.history().unwrap();
    let mut lines: Vec<String> = (1..=500).map(|number: u32| number.to_string()).collect();
    lines.extend([format!("{:0400}", 7), "end".to_owned()]);
    assert_eq!(history, lines.join("\n") + "\n");
    assert!(!played.screen().contains("\n400\n"));
    assert!(!played.session.folder.join("screen").exists(), "it is written when the session ends");
}

fn its_terminal_is_its_own(stage: &Stage) {
    let played = stage.started(
        "{ echo \"$TERM $COLUMNS$STY\"; case $TMUX in *person*) echo no;; esac; tty; ps -o tpgid= -o pgid= -p $$; } > got.part; mv got.part got; exec cat",
    );
    let got = stage.line("got");
    let lines: Vec<&str> = got.lines().collect();
    assert_eq!(lines[0].trim(), "xterm-256color");
    assert!(lines[1].starts_with("/dev/pts/"), "{got}");
    let groups: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(groups[0], groups[1], "the command is in front");
    // Keys that make signals are for the command alone.
    let pressed = played.session.press(Key::Control('c'));
    // It may be over before it can answer.
    assert!(matches!(pressed, Ok(()) | Err(SessionError::NotThere(_))), "{pressed:?}");
    let ended = played.ended();
    assert_eq!((ended.signal, ended.killed), (Some(2), false), "{ended:?}");
}

fn names_are_told_apart(stage: &Stage) {
    let names = ["x", "x-1", "x:1", "x.1", "x 1", "-x", "ä;", "#{pid}", "x\n", &"x".repeat(300)];
    let all: Vec<_> = (0..)
        .zip(names)
        .map(|(number, name)| {
            stage.named(name, number, &format!("echo this is {number}.; exec cat"))
        })
        .collect();
    for played in all.iter().skip(1) {
        played.session.start().unwrap();
    }
    assert!(!all[0].is_there(), "a name is not the beginning of another");
    for (number, played) in all.iter().enumerate().skip(1) {
        played.shows(&format!("this is {number}."));
    }
    all[2].session.end().unwrap();
    let left = all.iter().filter(|played| played.is_there()).count();
    assert_eq!(left, all.len() - 2);
}

fn a_long_path_does_no_harm(stage: &Stage) {
    let mut played = stage.prepared("echo here; exec cat");
    played.session.runtime = stage.environment.root().join("long".repeat(40));
    played.session.start().unwrap();
    played.shows("here");
    let short = fs::read_link(played.session.runtime.join("sockets")).unwrap();
    played.session.end().unwrap();
    assert!(!played.is_there());
    fs::remove_dir_all(short).unwrap();
}

fn another_process_finds_it_again(stage: &Stage) {
    let played = stage.prepared("echo here; read -r line; echo \"got $line\"; exec cat");
    let mut starter = start_helper(&played, "start");
    let lines = BufReader::new(starter.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("started")));
    starter.kill().unwrap();
    starter.wait().unwrap();
    assert!(played.is_there());
    played.shows("here");
    type_line(&played.session, "again", SOON).unwrap();
    played.shows("got again");
}

fn many_start_it_once(stage: &Stage) {
    let played = stage.prepared("echo ran >> runs; echo here; exec cat");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| played.session.start().unwrap());
        }
    });
    played.shows("here");
    assert_eq!(stage.line("runs"), "ran");
}

const STUBBORN: &str = "
trap : TERM HUP
sh -c 'echo $$ > child; while :; do sleep 0.05; done' &
setsid sh -c 'echo $$ > session; trap : TERM HUP; while :; do sleep 0.05; done' &
while [ ! -s child ] || [ ! -s session ]; do sleep 0.01; done
echo last words
echo $$ > all
while :; do sleep 0.05; done
";

fn it_ends_with_all_it_started(stage: &Stage) {
    let played = stage.started(STUBBORN);
    let processes = ["child", "session", "all"].map(|name| stage.line(name));
    played.shows("last words");
    played.session.end().unwrap();
    assert!(!played.is_there());
    assert!(played.ended().killed);
    for process in processes {
        assert!(!lives(&process), "{process}");
    }
    let last = played.session.history().unwrap();
    assert!(last.contains("last words\n"), "{last}");
    assert_eq!(fs::read_to_string(played.session.folder.join("screen")).unwrap(), last);
    played.session.end().unwrap();
}

fn it_ends_when_its_terminal_is_gone(stage: &Stage) {
    let played = stage.started(STUBBORN);
    let processes = ["child", "session", "all"].map(|name| stage.line(name));
    kill("-9", &played.terminal_process());
    let ended = played.ended();
    assert!(ended.killed, "{ended:?}");
    assert!(!played.is_there());
    for process in processes {
        assert!(!lives(&process), "{process}");
    }
}

fn it_ends_when_its_keeper_was_killed(stage: &Stage) {
    let played = stage.started(STUBBORN);
    let processes = ["child", "session", "all"].map(|name| stage.line(name));
    let TaskStatus::Running(keeper) = task::status(&played.session.folder).unwrap() else {
        panic!("it does not run")
    };
    kill("-9", &keeper.pid.to_string());
    assert_eq!(task::wait(&played.session.folder).unwrap(), TaskStatus::InDoubt);
    let stubborn = &processes[1..];
    assert!(stubborn.iter().all(|process| lives(process)), "they do not heed its terminal");
    played.session.end().unwrap();
    assert!(!played.is_there());
    for process in processes {
        assert!(!lives(&process), "{process}");
    }
}

fn what_cannot_be_started_says_why(stage: &Stage) {
    let played = stage.prepared("true");
    fs::write(played.session.folder.join("task.json"), "{}").unwrap();
    let error = played.session.start().unwrap_err();
    let told = stage.environment.normal(&error.to_string());
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "the session `s-0` could not be started: `[ROOT]/tasks/0/task.json` cannot be read: missing field";
    assert!(told.starts_with(why), "{told}");
    assert!(!played.is_there());
    assert_eq!(task::status(&played.session.folder).unwrap(), TaskStatus::NotBegun);

    let mut gone = stage.prepared("true");
    gone.session.binary = "/nowhere/anyhook".into();
    let error = gone.session.start().unwrap_err();
    assert!(error.to_string().starts_with("the session `s-1` could not be started: "), "{error}");
}

fn an_enter_that_was_not_heeded_is_pressed_again(stage: &Stage) {
    let played = stage.started(
        "stty raw -echo; printf ready; head -c 3; head -c 1 > first; head -c 1 > second; printf sent; exec cat",
    );
    played.shows("ready");
    type_line(&played.session, "abc", SOON).unwrap();
    played.shows("readyabcsent");
    stage.holds("first", b"\r");
    stage.holds("second", b"\r");
}

fn what_is_not_shown_is_not_sent(stage: &Stage) {
    let played = stage.started("stty -icanon -echo; printf ready; exec cat > got");
    played.shows("ready");
    let error = type_line(&played.session, "abc", Duration::from_millis(200)).unwrap_err();
    assert_eq!(error.to_string(), "the session `s-0` does not show the typed text");
    stage.holds("got", b"abc");
}

fn what_is_not_there_says_so(stage: &Stage) {
    let played = stage.prepared("true");
    let session = &played.session;
    assert!(!played.is_there());
    for error in [
        session.screen().unwrap_err(),
        session.history().unwrap_err(),
        session.paste("x").unwrap_err(),
        session.press(Key::Enter).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "there is no session `s-0`");
    }
    session.end().unwrap();
    let mode = fs::metadata(&stage.runtime).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    wait_within(TIMEOUT, "nothing to be left", || !played.is_there());
}
