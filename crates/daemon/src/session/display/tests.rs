use proptest::prelude::*;

use super::*;

fn display(rows: u16, columns: u16) -> Display {
    Display::new(TerminalSize { rows, columns })
}

fn printed(rows: u16, columns: u16, text: &str) -> Display {
    let mut display = display(rows, columns);
    display.print(text.as_bytes());
    display
}

#[test]
fn what_programs_ask_is_answered() {
    let mut display = printed(24, 80, "\x1b[3;5H");
    for (asked, answer) in [
        ("\x1b[6n", "\x1b[3;5R"),
        ("\x1b[?6n", "\x1b[?3;5R"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[c", "\x1b[?1;2c"),
        ("\x1b[0c", "\x1b[?1;2c"),
        ("\x1b[>c", "\x1b[>0;10;0c"),
        ("\x1b[18t", "\x1b[8;24;80t"),
        ("\x1b[?u\x1b[c", "\x1b[?1;2c"),
        ("\x1b[4n", ""),
        ("\x1b[7;1c", ""),
    ] {
        let said = display.print(asked.as_bytes());
        assert_eq!(String::from_utf8(said).unwrap(), answer, "{asked:?}");
    }
    assert!(display.print(b"\x1b[").is_empty());
    assert_eq!(display.print(b"6n"), b"\x1b[3;5R", "a question may come in pieces");
}

#[test]
fn a_screen_is_text() {
    let display = printed(5, 20, "one\r\n  \x1b[31mtwo\x1b[m ä\u{1f600}   \r\n\r\n");
    assert_eq!(display.text(), "one\n  two ä\u{1f600}\n");
}

#[test]
fn what_scrolled_away_is_in_the_history_once() {
    let lines: Vec<String> = (1..=57).map(|number| format!("line {number}")).collect();
    let mut display = printed(5, 20, &lines.join("\r\n"));
    assert_eq!(display.text(), trimmed(&lines[52..].join("\n")));
    assert_eq!(display.history(), trimmed(&lines.join("\n")));
    assert_eq!(display.text(), trimmed(&lines[52..].join("\n")), "it is as it was before");
    display.print(b"\x1b[?1049hfull");
    assert_eq!(display.text(), "full\n");
}

#[test]
fn a_line_that_is_too_long_is_whole_in_the_history() {
    let long = "0123456789".repeat(5);
    let mut display = printed(3, 20, &format!("{long}\r\nend\r\n\r\n\r\n"));
    assert_eq!(display.history(), format!("{long}\nend\n"));
}

#[test]
fn the_history_is_bounded() {
    let mut display = display(5, 20);
    for _ in 0..3 * SCROLLED {
        display.print(b"line\r\n");
    }
    assert_eq!(display.history().lines().count(), SCROLLED + 4);
}

#[test]
fn a_paste_is_marked_for_who_can_tell() {
    let mut display = display(5, 20);
    assert_eq!(display.paste("a\nb"), b"a\nb");
    display.print(b"\x1b[?2004h");
    assert_eq!(display.paste("a\nb"), b"\x1b[200~a\nb\x1b[201~");
}

#[test]
fn arrows_are_as_the_program_wants_them() {
    let mut display = display(5, 20);
    assert_eq!(display.key(Key::Up).unwrap(), b"\x1b[A");
    display.print(b"\x1b[?1h");
    assert_eq!(display.key(Key::Down).unwrap(), b"\x1bOB");
    assert_eq!(display.key(Key::Control('c')).unwrap(), b"\x03");
    assert_eq!(display.key(Key::Character('ä')).unwrap(), "ä".as_bytes());
}

#[test]
fn a_size_is_never_none() {
    let mut display = display(0, 0);
    display.print(b"abc\r\ndef\r\n\x1b[99;99Hx");
    assert_eq!(
        display.resize(TerminalSize { rows: 0, columns: 60000 }),
        TerminalSize { rows: 2, columns: 1000 }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A client that is shown one screen after the other sees the current content.
    #[test]
    fn what_is_shown_is_what_is_there(
        pieces in proptest::collection::vec("([a-zä世 ]{0,12}|\r\n|\u{1b}\\[[1-6];[1-9]H|\u{1b}\\[[0-7]m|\u{1b}\\[[JKLM]|\u{1b}\\[\\?(1049|25|1000|2004)[hl]){0,12}", 1..6),
    ) {
        let mut display = display(6, 12);
        let mut shown = TerminalView::default();
        let mut theirs = Parser::new_with_callbacks(
            NonZeroU16::new(6).unwrap(), NonZeroU16::new(12).unwrap(), 0, TerminalReplies::default(),
        );
        theirs.process(b"left from before");
        for piece in pieces {
            display.print(piece.as_bytes());
            theirs.process(display.show(&mut shown).as_bytes());
            let ours = display.parser.screen();
            let rows = |screen: &Screen| screen.rows(0, 12).collect::<Vec<_>>();
            prop_assert_eq!(rows(theirs.screen()), rows(ours));
            prop_assert_eq!(theirs.screen().hide_cursor(), ours.hide_cursor());
            prop_assert_eq!(theirs.screen().bracketed_paste(), ours.bracketed_paste());
            prop_assert_eq!(theirs.screen().mouse_protocol_mode(), ours.mouse_protocol_mode());
            prop_assert_eq!(theirs.screen().cursor_position(), ours.cursor_position());
            prop_assert!(theirs.callbacks().said.is_empty(), "nothing is asked of a person's terminal");
            prop_assert_eq!(display.show(&mut shown), "", "there is nothing new");
        }
    }

    #[test]
    fn nothing_that_is_printed_makes_it_panic(bytes: Vec<u8>, rows: u16, columns: u16) {
        let mut display = display(4, 10);
        display.print(&bytes);
        display.resize(TerminalSize { rows: rows % 50, columns: columns % 50 });
        display.print(&bytes);
        display.history();
        display.show(&mut TerminalView::default());
    }
}
