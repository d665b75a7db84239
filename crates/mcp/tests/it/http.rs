//! Servers that speak streamable HTTP.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhook_mcp::{Endpoint, Server, ServerError, ServerSession, ServerStep};
use anyhook_testkit::tls::{CERTIFICATE, PRIVATE_KEY};
use serde_json::json;

use crate::{LONG, SHORT, fault, limits, program, script};

/// A scripted server; it ends with this.
pub struct Web {
    child: Child,
    output: BufReader<ChildStdout>,
    pub port: u16,
}

impl Web {
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// Starts one that encrypts, with the certificate and key in a file.
    fn start_with(pem: Option<&Path>) -> Self {
        let mut child = Command::new("python3")
            .args(["-u", &script("http_server.py")])
            .args(pem)
            .stdout(Stdio::piped())
            // It complains about clients that do not listen to the end.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut web = Self { output: BufReader::new(child.stdout.take().unwrap()), child, port: 0 };
        web.port = web.line().parse().unwrap();
        web
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    pub fn server(&self, mode: &str) -> Server {
        let mut server = Server::http("web", format!("http://127.0.0.1:{}/{mode}", self.port));
        if let Endpoint::Http { headers, .. } = &mut server.endpoint {
            headers.push(("Authorization".to_owned(), "Bearer s3cret".to_owned()));
        }
        server
    }

    fn failure(&self, mode: &str, deadline: std::time::Duration) -> ServerError {
        let server = self.server(mode);
        fault(anyhook_mcp::call(&server, "echo", json!({}), deadline).unwrap_err())
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn answers_come_whole_and_as_events_and_the_session_is_deleted() {
    let mut web = Web::start();
    for mode in ["", "events"] {
        let mut session = ServerSession::open(&web.server(mode), limits(LONG)).unwrap();
        assert_eq!(session.tools().unwrap()[0].name, "echo");
        assert_eq!(session.call("echo", json!({})).unwrap().text, "xxxxx");
        assert_eq!(session.call("echo", json!({})).unwrap().text, "xxxxx");
        drop(session);
        assert_eq!(web.line(), "deleted s1");
    }
}

#[test]
fn what_servers_do_wrong_is_told() {
    let web = Web::start();
    let garbage = web.failure("garbage", LONG);
    assert!(
        matches!(&garbage, ServerError::Garbage(text) if text == "<html>hello</html>"),
        "{garbage}"
    );
    let broken = web.failure("broken", LONG);
    assert_eq!(broken.to_string(), "it answered with status 500: out of order");
    let elsewhere = web.failure("elsewhere", LONG);
    assert!(matches!(elsewhere, ServerError::Status { status: 302, .. }), "{elsewhere}");
    let cut = web.failure("cut", LONG);
    assert!(
        matches!(cut, ServerError::Closed { step: ServerStep::Call, in_the_middle: true }),
        "{cut}"
    );
    let empty = web.failure("empty-events", LONG);
    assert!(
        matches!(empty, ServerError::Closed { step: ServerStep::Call, in_the_middle: false }),
        "{empty}"
    );
    let slow = web.failure("slow", SHORT);
    assert!(matches!(slow, ServerError::TimedOut { step: ServerStep::Call, .. }), "{slow}");
    let other = web.failure("other-id", LONG);
    assert!(matches!(&other, ServerError::OtherId { received } if received == "4711"), "{other}");
    for mode in ["huge", "huge-events"] {
        let huge = web.failure(mode, LONG);
        assert!(matches!(huge, ServerError::TooLong { limit: 8_388_608 }), "{huge}");
    }
}

#[test]
fn a_server_that_wants_to_know_who_we_are() {
    let web = Web::start();
    let server = Server::http("web", format!("http://localhost:{}/", web.port));
    let error = ServerSession::open(&server, limits(LONG)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the MCP server `web`: it answered with status 401: who are you?"
    );
    assert!(error.hint().contains("`headers`"), "{}", error.hint());
}

/// In a process of its own, whose environment says which certificates it knows.
#[test]
fn what_is_encrypted_is_read_if_the_certificate_is_known() {
    let scratch = tempfile::tempdir().unwrap();
    let (pem, known) = (scratch.path().join("server.pem"), scratch.path().join("known.pem"));
    std::fs::write(&pem, format!("{CERTIFICATE}{PRIVATE_KEY}")).unwrap();
    std::fs::write(&known, CERTIFICATE).unwrap();
    let web = Web::start_with(Some(&pem));
    let call = |host: &str, known: Option<&Path>| {
        let mut command = Command::new(program());
        command.arg(format!("https://{host}:{}/events", web.port));
        command.env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
        if let Some(known) = known {
            command.env("SSL_CERT_FILE", known);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let said = call("127.0.0.1", Some(&known));
    assert!(said.starts_with("an answer of 5 bytes\n"), "{said}");
    for said in [call("127.0.0.1", None), call("localhost", Some(&known))] {
        assert!(said.contains("it cannot be reached: "), "{said}");
        assert!(said.contains("certificate"), "{said}");
    }
}

#[test]
fn addresses_that_lead_nowhere() {
    // Taken and given back: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Server::http("web", format!("http://127.0.0.1:{port}/mcp"));
    let error = ServerSession::open(&server, limits(LONG)).unwrap_err();
    assert!(matches!(error.fault, ServerError::Unreachable(_)), "{error}");
    for (url, why) in [
        (
            "http://example.com/mcp",
            "its address uses http://, which is only allowed for this machine",
        ),
        ("pigeon://x", "its address must start with https:// or http://"),
    ] {
        let error = ServerSession::open(&Server::http("web", url), limits(LONG)).unwrap_err();
        assert!(error.fault.to_string().starts_with(why), "{error}");
    }
}
