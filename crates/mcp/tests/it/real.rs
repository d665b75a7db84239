//! Servers that others have written, from npm, at pinned versions; they need no network to run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhook_mcp::context7::{self, Context7Tools, DocumentationStatus};
use anyhook_mcp::{Endpoint, Server, ServerError, ServerSession};
use anyhook_testkit::{needs, npm};
use jiff::Timestamp;
use serde_json::json;

use crate::{LONG, limits};

const EVERYTHING: &str = "@modelcontextprotocol/server-everything";
const CONTEXT7: &str = "@upstash/context7-mcp";

/// Returns the entry of a package, or says that the test is skipped.
fn installed(what: &str, name: &str, version: &str) -> Option<String> {
    let folder: PathBuf =
        match npm::install(&format!("mcp/{what}"), &[&format!("{name}@{version}")]) {
            Ok(folder) => folder,
            Err(error) => {
                needs::skip(name, &error.to_string());
                return None;
            }
        };
    let entry = folder.join("node_modules").join(name).join("dist/index.js");
    Some(entry.to_str().unwrap().to_owned())
}

fn everything() -> Option<String> {
    installed("everything", EVERYTHING, "2026.8.31")
}

fn must_serve(server: &Server) {
    let mut session = ServerSession::open(server, limits(LONG)).unwrap();
    let tools = session.tools().unwrap();
    assert!(tools.iter().any(|tool| tool.name == "echo" && tool.takes("message")), "{tools:?}");
    let answer = session.call("echo", json!({"message": "hello"})).unwrap();
    assert_eq!(answer.text, "Echo: hello");
    let answer = session.call("get-sum", json!({"a": 2, "b": 3})).unwrap();
    assert!(answer.text.contains('5'), "{answer:?}");
    let answer = session.call("get-structured-content", json!({"location": "New York"})).unwrap();
    assert!(answer.structured.is_some(), "{answer:?}");
    let answer = session.call("get-tiny-image", json!({})).unwrap();
    assert!(answer.text.contains("[image: image/png]"), "{answer:?}");
    let error = session.call("nothing-like-it", json!({})).unwrap_err();
    assert!(matches!(error.fault, ServerError::NoSuchTool { .. }), "{error}");
    let error = session.call("get-sum", json!({"a": "two"})).unwrap_err();
    assert!(
        matches!(error.fault, ServerError::ToolFailed { .. } | ServerError::Refused { .. }),
        "{error}"
    );
    let answer = session.call("echo", json!({"message": "still there"})).unwrap();
    assert_eq!(answer.text, "Echo: still there");
}

#[test]
fn a_reference_server_on_its_standard_input_and_output() {
    let Some(entry) = everything() else { return };
    must_serve(&Server::stdio("everything", "node", [entry, "stdio".to_owned()]));
}

#[test]
fn a_reference_server_over_streamable_http() {
    let Some(entry) = everything() else { return };
    // Somebody else may take the port before the server does; then it ends, and gets another.
    for _ in 0..5 {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let web = Running::start(&entry, port);
        if let Some(_web) = web {
            must_serve(&Server::http("everything", format!("http://127.0.0.1:{port}/mcp")));
            return;
        }
    }
    panic!("the server found no port");
}

struct Running(Child);

impl Running {
    /// Starts a server and waits until it listens.
    fn start(entry: &str, port: u16) -> Option<Self> {
        let mut child = Command::new("node")
            .args([entry, "streamableHttp"])
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let running = Self(child);
        let mut lines = errors.lines();
        let listens =
            lines.by_ref().map_while(Result::ok).any(|line| line.contains("listening on"));
        // It goes on talking.
        thread::spawn(move || lines.for_each(drop));
        listens.then_some(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The real server, and in place of its network a page that we serve.
#[test]
fn the_context7_server() {
    let Some(entry) = installed("context7", CONTEXT7, "4.1.1") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    let mut server = Server::stdio("context7", "node", [entry]);
    if let Endpoint::Stdio { environment, .. } = &mut server.endpoint {
        environment.push(("CONTEXT7_API_URL".to_owned(), address));
        environment.push(("CONTEXT7_TELEMETRY_DISABLED".to_owned(), "1".to_owned()));
    }
    let topics = ["Next.js App Router", "no such thing", "/vercel/gone"].map(str::to_owned);
    let names = Context7Tools::default();
    let reports = context7::refresh(&server, &names, &topics, &limits(LONG), &Timestamp::now);
    assert_eq!(reports[0].status, DocumentationStatus::Fetched, "{reports:?}");
    assert_eq!(reports[0].library.as_deref(), Some("/vercel/next.js"));
    assert_eq!(reports[0].source_url.as_deref(), Some("https://nextjs.org/docs/app"));
    assert!(reports[0].summary.as_deref().unwrap().contains("useRouter"), "{reports:?}");
    assert_eq!(reports[1].status, DocumentationStatus::Unavailable, "{reports:?}");
    assert_eq!(reports[2].status, DocumentationStatus::Unavailable, "{reports:?}");
    assert!(reports[2].reason.as_deref().unwrap().contains("not found"), "{reports:?}");
}

/// Answers one request as the service behind the server does.
fn answer(mut stream: std::net::TcpStream) {
    let mut request = String::new();
    let mut reader = BufReader::new(&stream);
    while !request.ends_with("\r\n\r\n") {
        if reader.read_line(&mut request).unwrap_or(0) == 0 {
            return;
        }
    }
    let page = "### Routing\n\nSource: https://nextjs.org/docs/app\n\nKey APIs: useRouter";
    let (kind, body) = if request.contains("/v2/libs/search") {
        let known = json!([{
            "id": "/vercel/next.js", "title": "Next.js", "description": "The React framework",
            "totalSnippets": 5000, "trustScore": 10, "versions": ["v15.1.8"],
        }]);
        let results = if request.contains("Next.js") { known } else { json!([]) };
        ("application/json", json!({"results": results}).to_string())
    } else if request.contains("gone") {
        ("text/plain", String::new())
    } else {
        ("text/plain", page.to_owned())
    };
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.flush();
    let _ = stream.read(&mut [0]);
}
