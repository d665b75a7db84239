//! All that can go wrong.

use std::time::{Duration, Instant};

use anyhook_sdk::agent::{Model, ModelError, ModelEvent};
use anyhook_sdk::openai::OpenAiModel;
use tokio::net::TcpListener;

use super::server::{Server, Step};
use super::{
    HEAD, RECORDED, SHORT, answer, ask, chunked, greeting, next, recorded, short, text, write,
};

fn refusal(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![write(format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"))]
}

fn refused(status: u16, message: &str) -> ModelError {
    ModelError::Refused { status, message: message.to_owned() }
}

fn assert_garbage(error: Option<&ModelError>, part: &str) {
    match error {
        Some(ModelError::Garbage(why)) if why.contains(part) => {}
        error => panic!("no garbage with `{part}`: {error:?}"),
    }
}

/// Asks a server that answers once.
async fn ask_once(script: Vec<Step>) -> (Vec<ModelEvent>, Option<ModelError>) {
    let server = Server::start(vec![script]).await;
    ask(&server.model().api_key("sk-secret").retries(0)).await
}

#[tokio::test]
async fn nobody_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (events, error) = ask(&OpenAiModel::new(format!("http://{address}"), "m").retries(0)).await;
    assert_eq!(events, []);
    match error {
        Some(ModelError::Unreachable(why)) => assert!(why.contains(&address.to_string()), "{why}"),
        error => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_wrong_base_url_or_header_is_told() {
    for model in [
        OpenAiModel::new("localhost:80", "m"),
        OpenAiModel::new("http://user:sk-secret@localhost", "m"),
        OpenAiModel::new("http://127.0.0.1", "m").api_key("sk-secret\nx"),
        OpenAiModel::new("http://127.0.0.1", "m").header("a b", "sk-secret"),
    ] {
        let (_, error) = ask(&model).await;
        let Some(ModelError::Unreachable(why)) = error else { panic!("{error:?}") };
        assert!(!why.contains("secret"), "{why}");
        assert!(!format!("{model:?}").contains("secret"), "{model:?}");
    }
}

#[tokio::test]
async fn a_refusal_has_the_servers_message_without_the_key() {
    let body = r#"{"error":{"message":"Incorrect API key: sk-secret.","type":"x"}}"#;
    let (events, error) = ask_once(refusal("401 Unauthorized", "", body)).await;
    assert_eq!((events, error), (vec![], Some(refused(401, "Incorrect API key: ***."))));
    let (_, error) = ask_once(refusal("404 Not Found", "", r#"{"error":"no model"}"#)).await;
    assert_eq!(error, Some(refused(404, "no model")));
    let (_, error) = ask_once(refusal("422 No", "", r#"{"detail":"wrong"}"#)).await;
    assert_eq!(error, Some(refused(422, "wrong")));
}

#[tokio::test]
async fn a_refusal_without_a_message_is_its_beginning() {
    let page = format!("sk-secret{}", "ä".repeat(100_000));
    let (_, error) = ask_once(refusal("403 Forbidden", "", &page)).await;
    assert_eq!(error, Some(refused(403, &format!("***{}…", "ä".repeat(497)))));
    let (_, error) = ask_once(refusal("404 Not Found", "", " \n")).await;
    assert_eq!(error, Some(refused(404, "Not Found")));
}

#[tokio::test]
async fn a_refusal_that_never_ends_is_told() {
    let script = vec![write("HTTP/1.1 400 No\r\n\r\nno"), Step::UntilClosed];
    let server = Server::start(vec![script]).await;
    let (_, error) = ask(&server.model().idle_timeout(Duration::from_millis(100))).await;
    assert_eq!(error, Some(refused(400, "no")));
    let script = vec![write("HTTP/1.1 400 No\r\n\r\n"), Step::WriteForever(vec![b'x'; 1024])];
    let (_, error) = ask_once(script).await;
    assert_eq!(error, Some(refused(400, &format!("{}…", "x".repeat(500)))));
}

#[tokio::test]
async fn an_error_in_the_stream_comes_after_what_was_said() {
    let body = SHORT
        .replace(",\"finish_reason\":\"stop\"", "")
        .replace("data: [DONE]", "data: {\"error\":{\"message\":\"overloaded, sk-secret\"}}");
    let (events, error) = ask_once(answer(&body)).await;
    assert_eq!((events, error), (vec![text("hi")], Some(refused(200, "overloaded, ***"))));
}

#[tokio::test]
async fn garbage_is_told() {
    let (_, error) = ask_once(answer("data: sk-secret\n\n")).await;
    assert_garbage(error.as_ref(), "`***`");
    let (_, error) = ask_once(answer("data: {\"choices\":7}\n\n")).await;
    assert_garbage(error.as_ref(), "invalid type");
    let (_, error) = ask_once(answer("<!DOCTYPE html>\n<p>sk-secret</p>")).await;
    assert_garbage(error.as_ref(), "<!DOCTYPE html>");
    let (_, error) = ask_once(answer("data: \u{0}\n\n")).await;
    assert_garbage(error.as_ref(), "");
    let (_, error) = ask_once(vec![write(HEAD), write(b"data: \xff\n\n")]).await;
    assert_garbage(error.as_ref(), "UTF-8");
    let (_, error) = ask_once(vec![write("SSH-2.0-OpenSSH_9.6\r\n")]).await;
    assert_garbage(error.as_ref(), "");
    let bad_chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    let (_, error) = ask_once(vec![write(bad_chunk)]).await;
    assert_garbage(error.as_ref(), "");
}

#[tokio::test]
async fn silence_is_told() {
    let limit = Duration::from_millis(200);
    let first =
        &RECORDED[..RECORDED.find("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool").unwrap()];
    let scripts = vec![
        vec![Step::UntilClosed],
        vec![write(HEAD), Step::UntilClosed],
        vec![write(HEAD), write(first), Step::UntilClosed],
    ];
    let mut server = Server::start(scripts).await;
    for said in [0, 0, 2] {
        let begun = Instant::now();
        let (events, error) = ask(&server.model().idle_timeout(limit)).await;
        assert_eq!((events.len(), error), (said, Some(ModelError::Stalled(200))));
        assert!(begun.elapsed() >= limit);
        server.closed().await;
    }
}

#[tokio::test]
async fn silence_after_the_end_does_no_harm() {
    let body = SHORT.strip_suffix("data: [DONE]\n\n").unwrap();
    let server = Server::start(vec![vec![write(HEAD), write(body), Step::UntilClosed]]).await;
    let model = server.model().idle_timeout(Duration::from_millis(100));
    assert_eq!(ask(&model).await, (short(), None));
}

#[tokio::test]
async fn a_slow_answer_is_no_silence() {
    let mut script = vec![write(HEAD)];
    for piece in RECORDED.as_bytes().chunks(RECORDED.len() / 8) {
        script.extend([Step::Pause(Duration::from_millis(100)), write(piece)]);
    }
    let server = Server::start(vec![script]).await;
    let model = server.model().idle_timeout(Duration::from_millis(700));
    let begun = Instant::now();
    assert_eq!(ask(&model).await, (recorded(), None));
    assert!(begun.elapsed() > Duration::from_millis(700));
}

#[tokio::test]
async fn a_slow_reader_is_no_silence() {
    let (first, rest) = RECORDED
        .split_at(RECORDED.find("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool").unwrap());
    let limit = Duration::from_millis(400);
    let script =
        vec![write(HEAD), write(first), Step::Pause(Duration::from_millis(1400)), write(rest)];
    let server = Server::start(vec![script]).await;
    let mut stream = server.model().idle_timeout(limit).ask(greeting()).await.unwrap();
    assert_eq!(next(&mut stream).await, Some(Ok(text("Schöne "))));
    // Time is the subject: nobody waits for the server, and then only for a moment.
    tokio::time::sleep(Duration::from_millis(1300)).await;
    let mut events = vec![text("Schöne ")];
    while let Some(event) = next(&mut stream).await {
        events.push(event.unwrap());
    }
    assert_eq!(events, recorded());
}

#[tokio::test]
async fn an_answer_may_break_off() {
    let end = RECORDED.find("data: {\"choices\":[{\"index\":0,\"delta\":{},").unwrap();
    let (events, error) = ask_once(answer(&RECORDED[..end])).await;
    assert_eq!((events.len(), error), (2, Some(ModelError::BrokenOff)));
    let mut cut = chunked(RECORDED.as_bytes()[..end].chunks(50));
    cut.pop();
    let (events, error) = ask_once(cut).await;
    assert_eq!((events.len(), error), (2, Some(ModelError::BrokenOff)));
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"choices\":[";
    for script in [vec![], answer(""), answer("{\"choices\":["), vec![write(whole)]] {
        assert_eq!(ask_once(script).await, (vec![], Some(ModelError::BrokenOff)));
    }
}

#[tokio::test]
async fn a_line_without_end_is_refused() {
    let script = vec![write(HEAD), write("data: "), Step::WriteForever(vec![b'x'; 65536])];
    let mut server = Server::start(vec![script]).await;
    let (_, error) = ask(&server.model()).await;
    assert_garbage(error.as_ref(), "longer than 16777216 bytes");
    server.closed().await;
}

#[tokio::test]
async fn an_answer_without_end_is_refused() {
    let delta = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"0123456789"}}]}}]}"#;
    let script = vec![write(HEAD), Step::WriteForever(format!("{delta}\n\n").into_bytes())];
    let whole = vec![write(HEAD), write("{"), Step::WriteForever(vec![b' '; 4096])];
    let mut server = Server::start(vec![script, whole]).await;
    for _ in 0..2 {
        let (_, error) = ask(&server.model().longest_answer(20_000)).await;
        assert_garbage(error.as_ref(), "longer than 20000 bytes");
        server.closed().await;
    }
}

#[tokio::test]
async fn dropping_an_answer_closes_the_connection() {
    let script = vec![write(HEAD), write(&RECORDED[..400]), Step::UntilClosed];
    let mut server = Server::start(vec![script, vec![Step::UntilClosed]]).await;
    let mut stream = server.model().ask(greeting()).await.unwrap();
    assert_eq!(next(&mut stream).await, Some(Ok(text("Schöne "))));
    drop(stream);
    server.closed().await;

    // And so does dropping a question that is not answered yet.
    let model = server.model();
    let asking = tokio::time::timeout(Duration::from_millis(200), model.ask(greeting()));
    assert!(asking.await.is_err());
    server.closed().await;
}

#[tokio::test]
async fn a_question_is_asked_again() {
    let busy = refusal("500 Internal Server Error", "", "");
    let server =
        Server::start(vec![busy.clone(), refusal("503 Busy", "", ""), answer(SHORT)]).await;
    let begun = Instant::now();
    assert_eq!(ask(&server.model()).await, (short(), None));
    assert!(begun.elapsed() >= Duration::from_millis(750));
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|request| request.body == seen[0].body));
}

#[tokio::test]
async fn a_question_is_not_asked_for_ever() {
    let busy = refusal("500 Oh", "Retry-After: 0\r\n", r#"{"error":{"message":"oh"}}"#);
    let server = Server::start(vec![busy; 9]).await;
    assert_eq!(ask(&server.model()).await.1, Some(refused(500, "oh")));
    assert_eq!(server.seen().len(), 3);
    assert_eq!(ask(&server.model().retries(0)).await.1, Some(refused(500, "oh")));
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_server_may_ask_for_a_pause() {
    let busy = refusal("429 Too Many Requests", "Retry-After: 1\r\n", "");
    let server = Server::start(vec![busy, answer(SHORT)]).await;
    let begun = Instant::now();
    assert_eq!(ask(&server.model()).await, (short(), None));
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_server_that_comes_late_is_reached() {
    // An address of its own: no other test takes the port in between.
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let model = OpenAiModel::new(format!("http://{address}"), "m").retries(5);
    let start = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Server::on(TcpListener::bind(address).await.unwrap(), vec![answer(SHORT)], None)
    };
    let (_server, answered) = tokio::join!(start, ask(&model));
    assert_eq!(answered, (short(), None));
}

#[tokio::test]
async fn nothing_is_asked_again_that_cannot_get_better() {
    for script in [refusal("400 No", "", "no"), vec![], answer("x\n"), answer("data: x\n\n")] {
        let server = Server::start(vec![script, answer(SHORT)]).await;
        assert!(ask(&server.model()).await.1.is_some());
        assert_eq!(server.seen().len(), 1);
    }
}
