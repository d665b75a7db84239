//! What holds for every text.

use std::time::{Duration, Instant};

use anyhook_shell::{UnknownReason, fuzzing, read};
use proptest::prelude::*;

/// Pieces that mean something, to be put together in any order.
const PIECES: &[&str] = &[
    "rm",
    " ",
    "-rf",
    "/",
    "$",
    "(",
    ")",
    "$(",
    "$((",
    "))",
    "{",
    "}",
    "${",
    "${x:-",
    "`",
    "\\",
    "'",
    "\"",
    "$'",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    "<",
    ">",
    "<<E",
    "<<<",
    "E\n",
    "if ",
    "then ",
    "fi",
    "for f in ",
    "do ",
    "done",
    "case ",
    " in ",
    ";;",
    "esac",
    "[[ ",
    " ]]",
    "x=",
    "$x",
    "=",
    "a=(",
    "f()",
    "function ",
    "sh -c ",
    "eval ",
    "sudo ",
    "xargs ",
    "python3 -c ",
    "perl -e ",
    "os.system(",
    "echo ",
    "printf ",
    "base64 -d",
    "tr ",
    "%s",
    "*",
    "?",
    "[",
    "]",
    "#",
    "!",
    "~",
    "{a,b}",
    "{1..9}",
    "é",
    "\u{f8fe}",
    "\u{f8ff}",
    "\0",
    "\r\n",
    "find . -exec ",
    "ssh h ",
    "git -c alias.x=!",
    "while ",
    "cd ",
    ",",
    ":",
    "1",
    "@",
    "%",
    "+",
    "-",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        fuzzing::command_line(text.as_bytes());
    }

    #[test]
    fn any_mixture_is_answered(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        fuzzing::command_line(pieces.concat().as_bytes());
    }

    #[test]
    fn a_word_is_the_same_in_all_quotes(word in "[ -~éß\n]{1,20}") {
        let single = format!("echo '{}'", word.replace('\'', "'\\''"));
        let mut double = String::from("echo \"");
        let mut plain = String::from("echo ");
        let mut ansi = String::from("echo $'");
        for one in word.chars() {
            if matches!(one, '"' | '\\' | '$' | '`') {
                double.push('\\');
            }
            double.push(one);
            match one {
                '\n' => plain.push_str("'\n'"),
                _ => plain.extend(['\\', one]),
            }
            match one {
                '\'' | '\\' => ansi.extend(['\\', one]),
                '\n' => ansi.push_str("\\n"),
                _ => ansi.push_str(&format!("\\U{:08x}", u32::from(one))),
            }
        }
        double.push('"');
        ansi.push('\'');
        for line in [single, double, plain, ansi] {
            let read = read(&line);
            prop_assert_eq!(read.commands.len(), 1, "{}", &line);
            prop_assert_eq!(read.commands[0].arguments()[0].known(), Some(word.as_str()), "{}", &line);
        }
    }
}

/// Texts that grow, each made to be slow or deep.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("", "(", ""),
    ("", "$(", ""),
    ("", "$(($((", ""),
    ("", "$((", ""),
    ("", "((", ""),
    ("", "{ ", ""),
    ("", "${x:-", ""),
    ("", "\"$(", ""),
    ("", "`\\", ""),
    ("echo \"", "a", ""),
    ("echo '", "a", ""),
    ("", "a && ", "a"),
    ("", "a | ", "a"),
    ("", "a;", ""),
    ("", "a\n", ""),
    ("", "x=a\n", ""),
    ("", "a||x=1||", "a"),
    ("x=a;", "x=$x$x;", "$x"),
    ("cat", " <<E", "\n"),
    ("", "$(( $(cat <<A\n", ""),
    ("", "if a; then ", ""),
    ("", "case a in a) ", ""),
    ("", "for i in 1 2 3; do ", ""),
    ("", "f() ", ""),
    ("", "@(", ""),
    ("echo a@(", "@(", ""),
    ("[[ ", "( ", ""),
    ("", "{a,", ""),
    ("", "{a,b}", ""),
    ("", "eval ", "rm"),
    ("", "sudo ", "rm"),
    ("", "sh -c '", ""),
    ("python3 -c '", "(", ""),
    ("python3 -c '", "os.system(\"a\");", "'"),
    ("python3 -c '", "eval(", "'"),
    ("", "a=(", ""),
    ("", "! ", "a"),
    ("", "<(", ""),
    ("x=a; echo ${x", "/a/a", "}"),
    ("alias a='", "a a ", "'; a"),
    ("f() { f; f; }; ", "f; ", ""),
    ("git ", "-c alias.a=!git ", "a"),
    ("find ", "-exec find ", ""),
    ("echo a | xargs -I{} echo ", "{}", ""),
    ("printf '", "%s", "' a b c"),
];

#[test]
fn hostile_texts_are_read_at_once_on_a_small_stack() {
    let reading = || {
        for (start, part, end) in HOSTILE {
            let text = format!("{start}{}{end}", part.repeat(60_000 / part.len()));
            let began = Instant::now();
            let line = read(&text);
            // Some thousand times what it takes, for slow machines without optimization.
            assert!(began.elapsed() < Duration::from_secs(10), "{start}{part}");
            assert!(line.commands.len() <= 1024, "{start}{part}");
            assert!(line.unknown.len() <= 64, "{start}{part}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(reading).unwrap();
    thread.join().unwrap();
}

#[test]
fn what_is_too_much_is_said() {
    let reasons = |line: &str| -> Vec<UnknownReason> {
        read(line).unknown.iter().map(|unknown| unknown.reason).collect()
    };
    assert_eq!(reasons(&"a".repeat(70_000)), [UnknownReason::TooLong]);
    assert!(reasons(&"a;".repeat(5000)).contains(&UnknownReason::TooManyCommands));
    assert!(reasons(&"$(".repeat(100)).contains(&UnknownReason::TooDeep));
    let doubled = format!("x=aaaaaaaaaaaaaaaa;{}", "x=$x$x;".repeat(30));
    assert!(reasons(&doubled).contains(&UnknownReason::TooMuchWork));
    assert!(reasons("echo {1..100000}").contains(&UnknownReason::TooMuchWork));
}

#[test]
fn commands_before_something_unreadable_are_kept() {
    for end in ["$(", "'", "\"", "{", "(", "if a", "fi", ")", "((", "${", "a=("] {
        let line = format!("rm -rf /; {end}");
        assert_eq!(read(&line).commands[0].text(), "rm -rf /", "{line}");
    }
}
