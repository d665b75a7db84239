//! Calls the tool `huge` of a server, and prints what came of it and the most memory that this took,
//! in KiB: `call-within-memory URL`, or `call-within-memory PROGRAM ARGUMENT…`.

#![expect(clippy::print_stdout, reason = "it is a program")]

use std::time::Duration;

use anyhook_mcp::{Endpoint, Server};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_default();
    let server = if first.starts_with("http") {
        let mut server = Server::http("huge", first);
        if let Endpoint::Http { headers, .. } = &mut server.endpoint {
            headers.push(("Authorization".to_owned(), "Bearer s3cret".to_owned()));
        }
        server
    } else {
        Server::stdio("huge", first, arguments)
    };
    let arguments = serde_json::json!({});
    match anyhook_mcp::call(&server, "huge", arguments, Duration::from_secs(60)) {
        Ok(answer) => println!("an answer of {} bytes", answer.text.len()),
        Err(error) => println!("{error}"),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.unwrap_or_default().trim().trim_end_matches(" kB"));
}
