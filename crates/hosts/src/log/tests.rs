use super::*;

#[test]
fn a_pattern_stands_for_names() {
    assert!(is_named("*", "anything"));
    assert!(is_named("chats", "chats"));
    assert!(!is_named("chats", "chat"));
    assert!(is_named("session-*.jsonl", "session-1.jsonl"));
    assert!(!is_named("session-*.jsonl", "session-1.json"));
    assert!(!is_named("aba*aba", "aba"), "the two ends do not overlap");
}

#[test]
fn a_name_that_can_be_none_is_not_taken() {
    let mut state = LogState::default();
    for name in [None, Some(""), Some("a\nb"), Some("x".repeat(201).as_str())] {
        state.name_session(name);
        assert_eq!(state.session, None);
    }
    state.name_session(Some("first"));
    state.name_session(Some("second"));
    assert_eq!(state.session.as_deref(), Some("first"));
}
