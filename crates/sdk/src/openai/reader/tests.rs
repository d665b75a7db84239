//! Tests of whole answers, through every layer but the network.

use proptest::prelude::*;

use super::*;
use crate::agent::{RequestedCall, StopReason, Usage};

const LIMIT: usize = 4096;

type Read = (Vec<ModelEvent>, Option<ModelError>);

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let secrets = Arc::new(Secrets::new(Some("sk-secret"), std::iter::empty()));
    let (mut reader, mut events) = (BodyReader::new(200, LIMIT, secrets), VecDeque::new());
    for piece in pieces {
        if let Err(error) = reader.feed(piece, &mut events) {
            return (events.into(), Some(error));
        }
    }
    let end = reader.finish(&mut events);
    (events.into(), end.err())
}

/// Reads the chunks of a stream that ends with `[DONE]`.
fn read_chunks(chunks: &[&str]) -> Read {
    let mut stream = String::new();
    for chunk in chunks.iter().chain(&["[DONE]"]) {
        stream.push_str(&format!("data: {chunk}\n\n"));
    }
    read([stream.as_bytes()])
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> ModelEvent {
    let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
    ModelEvent::Call(RequestedCall { id, name, arguments })
}

fn garbage(read: &Read) -> &str {
    match read {
        (_, Some(ModelError::Garbage(why))) => why,
        read => panic!("no garbage: {read:?}"),
    }
}

const STREAM: &str = concat!(
    ": hello\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüße 🌍\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\n",
    "data: \"function\":{\"name\":\"Shell\",\"arguments\":\"{\\\"c\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,",
    "\"function\":{\"arguments\":\"\\\":\\\"ä\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n",
    "data: [DONE]\n\n",
);

fn expected() -> Read {
    let usage = ModelEvent::Usage(Usage { input_tokens: 7, output_tokens: 3 });
    let call = call("a", "Shell", "{\"c\":\"ä\"}");
    (vec![text("Grüße 🌍"), usage, call, ModelEvent::Done(StopReason::Calls)], None)
}

#[test]
fn a_stream_is_the_same_cut_anywhere() {
    assert_eq!(read([STREAM.as_bytes()]), expected());
    assert_eq!(read(STREAM.as_bytes().chunks(1)), expected());
    for cut in 0..STREAM.len() {
        let (first, second) = STREAM.as_bytes().split_at(cut);
        assert_eq!(read([first, second]), expected(), "cut at {cut}");
    }
}

#[test]
fn a_stream_that_ends_early_is_broken_off() {
    let end = STREAM.find("data: {\"choices\":[{\"delta\":{},\"finish").unwrap();
    for cut in 0..end {
        let (_, error) = read([&STREAM.as_bytes()[..cut]]);
        assert_eq!(error, Some(ModelError::BrokenOff), "cut at {cut}");
    }
    let reason_end = STREAM.find("data: {\"choices\":[],").unwrap();
    for cut in reason_end..STREAM.len() {
        let (events, error) = read([&STREAM.as_bytes()[..cut]]);
        assert_eq!(error, None, "cut at {cut}");
        assert_eq!(events.last(), Some(&ModelEvent::Done(StopReason::Calls)), "cut at {cut}");
    }
}

#[test]
fn calls_are_told_apart_by_index_else_by_id() {
    let delta = |calls: &str| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{calls}]}}}}]}}"#);
    let mixed = [
        delta(r#"{"index":1,"id":"b","function":{"name":"B","arguments":"{\"x\""}}"#),
        delta(r#"{"index":0,"id":"a","function":{"name":"A","arguments":""}}"#),
        delta(r#"{"index":1,"id":"b","function":{"name":"B","arguments":":1}"}}"#),
    ];
    let same_index = [
        delta(r#"{"index":0,"id":"b","function":{"name":"B","arguments":"{\"x\":1}"}}"#),
        delta(r#"{"index":0,"id":"a","function":{"name":"A","arguments":"{}"}}"#),
    ];
    let no_index = [
        delta(r#"{"id":"b","function":{"name":"B","arguments":{"x":1}}}"#),
        delta(r#"{"id":"a","function":{"name":"A"}}"#),
    ];
    let done = ModelEvent::Done(StopReason::Calls);
    let expected = (vec![call("b", "B", "{\"x\":1}"), call("a", "A", "{}"), done], None);
    for chunks in [&mixed[..], &same_index, &no_index] {
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        assert_eq!(read_chunks(&chunks), expected);
    }
}

#[test]
fn a_call_without_an_id_gets_one() {
    let chunk = r#"{"id":"x","choices":[{"delta":{"tool_calls":[{"function":{"name":"A"}}]}}]}"#;
    assert_eq!(read_chunks(&[chunk]).0[0], call("x-0", "A", "{}"));
}

#[test]
fn a_call_that_was_cut_off_is_not_made() {
    let chunk = r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"a",
        "function":{"name":"A","arguments":"{\"x"}}]},"finish_reason":"length"}]}"#;
    let done = ModelEvent::Done(StopReason::Length);
    assert_eq!(read_chunks(&[&chunk.replace('\n', "")]), (vec![text("a"), done], None));
}

#[test]
fn reasons_are_known() {
    for (reason, expected) in [
        ("stop", StopReason::Finished),
        ("length", StopReason::Length),
        ("content_filter", StopReason::Refused),
        ("tool_calls", StopReason::Finished),
        ("anything", StopReason::Finished),
    ] {
        let chunk = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        let done = ModelEvent::Done(expected);
        assert_eq!(read_chunks(&[&chunk]), (vec![done], None), "{reason}");
    }
    let refusal = r#"{"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}"#;
    let done = ModelEvent::Done(StopReason::Refused);
    assert_eq!(read_chunks(&[refusal]), (vec![text("no"), done], None));
}

#[test]
fn an_empty_reason_or_cost_is_none() {
    let chunk = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":""}],"usage":{}}"#;
    let stream = format!("data: {chunk}\n\n");
    assert_eq!(read([stream.as_bytes()]), (vec![text("a")], Some(ModelError::BrokenOff)));
}

#[test]
fn other_choices_and_thoughts_are_left_out() {
    let chunk = r#"{"choices":[{"index":1,"delta":{"content":"x"}},
        {"index":0,"delta":{"content":[{"type":"thinking"},{"type":"text","text":"a"}]}}]}"#;
    let done = ModelEvent::Done(StopReason::Finished);
    assert_eq!(read_chunks(&[&chunk.replace('\n', "")]), (vec![text("a"), done], None));
}

#[test]
fn a_whole_answer_is_read() {
    let body = b"\xef\xbb\xbf\n {\"choices\": [{\"message\": {\"content\": \"\xc3\xa4\"}}]}\n";
    let expected = (vec![text("ä"), ModelEvent::Done(StopReason::Finished)], None);
    assert_eq!(read([body.as_slice()]), expected);
    assert_eq!(read(body.chunks(1)), expected);
    assert_eq!(read([&body[..20]]), (vec![], Some(ModelError::BrokenOff)));
    garbage(&read([b"{\"choices\": 1}".as_slice()]));
    garbage(&read([[b'{'; LIMIT + 1].as_slice()]));
}

#[test]
fn wrong_shapes_are_garbage() {
    for chunk in [
        "x",
        "1",
        "{}",
        "{\"choices\":1}",
        "{\"choices\":[{}]}",
        "{\"choices\":[{\"delta\":{\"content\":1}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":\"a\"}]}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}",
    ] {
        garbage(&read_chunks(&[chunk]));
    }
    assert_eq!(garbage(&read_chunks(&[])), "it has no answer");
}

#[test]
fn what_is_no_stream_is_garbage_and_shows_no_secret() {
    let why = read([b"<html>sk-secret</html>".as_slice()]);
    assert_eq!(garbage(&why), "it is not an event stream: `<html>***</html>`");
    let why = read_chunks(&["{\"choices\":\"sk-secret\"}"]);
    assert!(garbage(&why).contains("***") && !garbage(&why).contains("secret"), "{why:?}");
}

#[test]
fn an_error_in_the_stream_is_told() {
    let (_, error) = read_chunks(&[r#"{"error":{"message":"busy: sk-secret","code":1}}"#]);
    let message = "busy: ***".to_owned();
    assert_eq!(error, Some(ModelError::Refused { status: 200, message }));
}

#[test]
fn an_answer_is_bounded() {
    let chunk = format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(999));
    let read = read_chunks(&[chunk.as_str(); 5]);
    assert_eq!(garbage(&read), "it is longer than 4096 bytes");
    assert_eq!(read.0.len(), 4);
}

proptest! {
    #[test]
    fn any_bytes_are_survived_the_same_way(
        noise in prop::collection::vec(any::<u8>(), 0..20),
        place in 0..STREAM.len(),
        cut in 1_usize..50,
    ) {
        let (before, after) = STREAM.as_bytes().split_at(place);
        let stream = [before, &noise, after].concat();
        prop_assert_eq!(read(stream.chunks(cut)), read([stream.as_slice()]));
    }
}
