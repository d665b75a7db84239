use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryStatus};
use anyhook_testkit::write;
use ring::hmac;

use super::{SHOWN, delivered, failure, job, only};

/// What a server got.
struct Request {
    head: String,
    body: String,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A server that answers one connection after another, and then refuses.
struct Server {
    url: String,
    requests: Receiver<Request>,
}

impl Server {
    /// Each answer is a head after its first line's `HTTP/1.1 `; an empty one never comes.
    fn new<const N: usize>(answers: [&str; N]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?to=me", listener.local_addr().unwrap());
        let (tell, requests) = mpsc::channel();
        let answers = answers.map(str::to_owned);
        thread::spawn(move || {
            let mut open = Vec::new();
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else { return };
                if tell.send(read(&stream)).is_err() {
                    return;
                }
                if answer.is_empty() {
                    open.push(stream);
                } else {
                    let _ = write!(&stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
                }
            }
        });
        Self { url, requests }
    }
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0);
    }
    let mut request = Request { head, body: String::new() };
    let length: u64 = request.header("Content-Length").unwrap().parse().unwrap();
    reader.take(length).read_to_string(&mut request.body).unwrap();
    request
}

#[test]
fn a_request_is_signed_and_names_its_notice() {
    let scratch = tempfile::tempdir().unwrap();
    let server = Server::new(["204 No Content"]);
    let mut job = job(scratch.path());
    job.settings.webhook = Some(server.url.clone());
    let secret = scratch.path().join("key");
    write(&secret, "s3cret\n", 0o600);
    job.settings.webhook_secret_file = Some(secret);
    let outcome = delivered(job, None);
    assert_eq!(only(&outcome, Channel::Webhook).result, DeliveryStatus::Delivered);

    let request = server.requests.recv().unwrap();
    assert!(request.head.starts_with("POST /hook?to=me HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("X-Anyhook-Notice"), Some("7k2m9x4q"));
    assert_eq!(request.header("Content-Type"), Some("application/json"));
    let timestamp = request.header("X-Anyhook-Timestamp").unwrap();
    let signature = request.header("X-Anyhook-Signature").unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"s3cret");
    let tag = hmac::sign(&key, format!("{timestamp}.{}", request.body).as_bytes());
    let hex = tag.as_ref().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    assert_eq!(signature, format!("sha256={hex}"));
    let notice: Notice = serde_json::from_str(&request.body).unwrap();
    assert_eq!((notice.title.as_str(), notice.body.as_str()), (SHOWN, SHOWN));
}

#[test]
fn a_server_that_falls_over_is_asked_again() {
    let scratch = tempfile::tempdir().unwrap();
    let server = Server::new(["503 Busy", "500 Broken", "200 OK"]);
    let mut job = job(scratch.path());
    job.settings.webhook = Some(server.url.clone());
    let outcome = delivered(job, None);
    assert!(outcome.is_delivered(), "{outcome:?}");
    let requests: Vec<_> = server.requests.iter().collect();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.header("X-Anyhook-Notice") == Some("7k2m9x4q")));
    assert!(requests.iter().all(|request| request.header("X-Anyhook-Signature").is_none()));
}

#[test]
fn after_three_tries_it_is_enough() {
    let scratch = tempfile::tempdir().unwrap();
    let server = Server::new(["503 Busy", "503 Busy", "429 Slow", "200 OK"]);
    let mut job = job(scratch.path());
    job.settings.webhook = Some(server.url.clone());
    let why = failure(&delivered(job, None), Channel::Webhook);
    assert_eq!(why, "127.0.0.1: status 429");
    assert_eq!(server.requests.try_iter().count(), 3);
}

#[test]
fn a_redirect_is_not_followed_and_a_refusal_not_repeated() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let there = elsewhere.local_addr().unwrap();
    for (answer, says) in [
        (format!("307 Go\r\nLocation: http://{there}/"), "redirects are not followed"),
        ("404 Not here".to_owned(), "status 404"),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let server = Server::new([answer.as_str(), "200 OK"]);
        let mut job = job(scratch.path());
        job.settings.webhook = Some(server.url.clone());
        let why = failure(&delivered(job, None), Channel::Webhook);
        assert!(why.contains(says) && !why.contains("hook?"), "{why}");
        assert_eq!(server.requests.try_iter().count(), 1);
    }
    assert!(elsewhere.accept().is_err(), "nobody came");
}

#[test]
fn a_server_that_does_not_answer_costs_the_limit_and_no_more() {
    let scratch = tempfile::tempdir().unwrap();
    let server = Server::new(["", "", ""]);
    let mut job = job(scratch.path());
    job.settings.webhook = Some(server.url.clone());
    job.settings.timeout_seconds = 1;
    let why = failure(&delivered(job, None), Channel::Webhook);
    assert_eq!(why, "127.0.0.1: no answer in time");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut job = job(scratch.path());
    job.settings.webhook = Some(format!("http://localhost:{port}/token"));
    let why = failure(&delivered(job, None), Channel::Webhook);
    assert!(why.starts_with("localhost: ") && !why.contains("token"), "{why}");
}

#[test]
fn without_its_secret_nothing_is_sent() {
    let scratch = tempfile::tempdir().unwrap();
    let secret = scratch.path().join("key");
    for (mode, says) in [(None, "cannot be read"), (Some(0o644), "can be read by others")] {
        if let Some(mode) = mode {
            write(&secret, "s3cret", mode);
        }
        let folder = tempfile::tempdir().unwrap();
        let server = Server::new(["200 OK"]);
        let mut job = job(folder.path());
        job.settings.webhook = Some(server.url.clone());
        job.settings.webhook_secret_file = Some(secret.clone());
        let why = failure(&delivered(job, None), Channel::Webhook);
        assert!(why.starts_with("the secret file `") && why.contains(says), "{why}");
        assert_eq!(server.requests.try_iter().count(), 0);
    }
}

#[test]
fn what_is_not_encrypted_stays_on_this_machine() {
    let scratch = tempfile::tempdir().unwrap();
    let mut job = job(scratch.path());
    job.settings.webhook = Some("http://192.0.2.1/".to_owned());
    let why = failure(&delivered(job, None), Channel::Webhook);
    assert!(why.contains("use https://"), "{why}");
}
