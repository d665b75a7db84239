//! An answer of 50 MB is refused before it is in memory.

use std::process::Command;

use crate::http::Web;
use crate::{Scripted, program};

/// In a process of its own, so that the memory is that of one client alone.
#[test]
fn memory_stays_bounded() {
    let scripted = Scripted::new("normal");
    let anyhook_mcp::Endpoint::Stdio { arguments, .. } = &scripted.server.endpoint else { return };
    let web = Web::start();
    let address = |mode: &str| format!("http://127.0.0.1:{}/{mode}", web.port);
    let stdio: Vec<String> = ["python3".to_owned()].into_iter().chain(arguments.clone()).collect();
    for server in [stdio, vec![address("huge")], vec![address("huge-events")]] {
        let output = Command::new(program()).args(&server).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let (error, peak) = said.trim().rsplit_once('\n').unwrap_or_else(|| {
            panic!("{said}{}", String::from_utf8_lossy(&output.stderr));
        });
        assert!(error.ends_with("its answer is longer than 8388608 bytes"), "{server:?}: {error}");
        let peak: u64 = peak.parse().unwrap();
        assert!(peak < 40 * 1024, "{server:?}: {peak} KiB at most");
    }
}
