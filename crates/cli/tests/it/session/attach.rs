//! A person at a session. Their terminal is a session, too: one of our own.

use anyhook_daemon::session::Key;
use anyhook_testkit::wait_within;

use super::{Played, Stage, TIMEOUT, helper_words, kill, play, start_helper, type_line};

const INNER: &str = "
size() { stty size > size.part; mv size.part size; }
trap size WINCH; size; echo inner is here
while :; do read -r line && echo \"got $line\"; done
";

/// Has a person attach to a session, in a terminal of their own.
fn person<'a>(desk: &'a Stage, inner: &Played<'_>) -> Played<'a> {
    let (variables, words) = helper_words(inner, "attach");
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let set: Vec<String> =
        variables.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
    let run: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    desk.started(&format!(
        "before=$(stty -g); echo at the desk; {} sh -c 'echo $$ > person; exec \"$@\"' sh {}; [ \"$before\" = \"$(stty -g)\" ] && echo the same terminal; exec cat",
        set.join(" "),
        run.join(" "),
    ))
}

fn desk() -> Stage {
    Stage::new()
}

fn size(stage: &Stage, wanted: &str) {
    wait_within(TIMEOUT, &format!("the size to be {wanted}"), || stage.line("size") == wanted);
}

fn leave(person: &Played<'_>) {
    person.press(Key::Control('b'));
    person.press(Key::Character('d'));
    person.shows("attached and back");
    person.shows("the same terminal");
}

fn a_person_comes_types_and_leaves(stage: &Stage) {
    let inner = stage.started(INNER);
    inner.shows("inner is here");
    size(stage, "50 160");
    let desk = desk();
    let person = person(&desk, &inner);
    person.shows("inner is here");
    person.shows("Ctrl-b d to detach");
    // The last row says how to leave.
    size(stage, "49 160");
    type_line(&person.session, "from the person ä", TIMEOUT).unwrap();
    inner.shows("got from the person ä");
    person.shows("got from the person ä");
    // Others can type meanwhile, and a second person can sit down.
    inner.paste("from elsewhere\n");
    person.shows("got from elsewhere");
    let other_desk = self::desk();
    let other = self::person(&other_desk, &inner);
    other.shows("got from elsewhere");
    leave(&other);
    assert!(inner.is_there());
    person.paste("still here\n");
    inner.shows("got still here");
    leave(&person);
    assert!(person.screen().starts_with("at the desk\n"), "what was before is back");
    assert!(inner.is_there());
    size(stage, "50 160");
    inner.paste("alone again\n");
    inner.shows("got alone again");
}

fn a_session_ends_under_a_person(stage: &Stage) {
    let inner = stage.started("echo inner is here; read -r line; exit 0");
    let desk = desk();
    let person = person(&desk, &inner);
    person.shows("inner is here");
    person.press(Key::Enter);
    inner.ended();
    person.shows("attached and back");
    person.shows("the same terminal");
}

fn whoever_is_told_to_end_leaves_the_terminal_as_it_was(stage: &Stage) {
    let inner = stage.started(INNER);
    let desk = desk();
    let person = person(&desk, &inner);
    person.shows("inner is here");
    kill("-TERM", &desk.line("person"));
    person.shows("the same terminal");
    assert!(inner.is_there());
}

fn without_a_terminal_there_is_nothing_to_see(stage: &Stage) {
    let inner = stage.started(INNER);
    let output = start_helper(&inner, "attach").wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("not attached: this is not a terminal"), "{said}");
}

fn nobody_attaches_to_what_is_not_there(stage: &Stage) {
    let inner = stage.prepared("true");
    let desk = desk();
    person(&desk, &inner).shows("not attached: there is no session `s-0`");
}

macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        mod cases {
            $(#[test]
            fn $case() {
                super::play(super::$case);
            })*
        }
    };
}

cases! {
    a_person_comes_types_and_leaves,
    a_session_ends_under_a_person,
    whoever_is_told_to_end_leaves_the_terminal_as_it_was,
    without_a_terminal_there_is_nothing_to_see,
    nobody_attaches_to_what_is_not_there,
}
