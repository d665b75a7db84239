//! A verdict is the same with a daemon, without one, and with one that is dead or hostile.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use anyhook_testkit::TestEnv;

use crate::environment;

/// An environment with hooks of every kind.
fn world() -> TestEnv {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: \"echo|touch\"",
        "echo no >&2; exit 2",
    );
    environment.user_hook(
        "asks",
        "trigger: before_tool\nmatcher:\n  tool: ReadFile",
        r#"echo '{"decision": "ask", "reason": "really?"}'"#,
    );
    environment.user_hook(
        "tells",
        "trigger: before_agent",
        r#"echo '{"additional_context": "be kind"}'"#,
    );
    environment.user_hook("gate", "trigger: before_stop", "echo 'not yet' >&2; exit 2");
    environment.user_hook(
        "broken",
        "trigger: before_tool\nmatcher:\n  tool: WriteFile\non_failure: block",
        "exit 1",
    );
    // Nobody answers: whoever waits for a person falls back.
    let settings = "[decisions]\nwait = [\"permission\", \"ask\"]\n[notify]\ndesktop = false\n";
    anyhook_testkit::write(
        &environment.home().join(".config/agents/anyhook.toml"),
        settings,
        0o644,
    );
    environment
}

/// Returns what every recorded payload of every agent is answered.
fn replies(environment: &TestEnv) -> Vec<String> {
    let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src");
    let mut replies = Vec::new();
    for (folder, host) in [
        ("claude_code", "claude-code"),
        ("codex", "codex"),
        ("gemini_cli", "gemini-cli"),
        ("opencode", "opencode"),
    ] {
        let fixtures = hosts.join(folder).join("fixtures");
        let mut files: Vec<_> = fs::read_dir(&fixtures)
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        files.sort();
        for file in files {
            let payload = fs::read(&file).unwrap();
            let ran = environment.run_with_input(&["hook", host, "--deadline-ms", "1500"], payload);
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let id = regex_lite(&ran.stdout);
            replies.push(format!("{host} {name}: {} {id} {}", ran.code, regex_lite(&ran.stderr)));
        }
    }
    assert!(replies.len() > 150, "{}", replies.len());
    replies
}

/// Takes the ids of records out.
fn regex_lite(text: &str) -> String {
    const MARK: &str = "(anyhook log show ";
    let mut rest = text;
    let mut without = String::new();
    while let Some(at) = rest.find(MARK) {
        without.push_str(&rest[..at]);
        rest = &rest[(at + MARK.len() + 8).min(rest.len())..];
    }
    without + rest
}

#[test]
fn are_the_same_with_and_without_a_daemon() {
    let alone = replies(&world());
    assert!(alone.iter().any(|reply| reply.contains("not yet")), "the hooks run");

    let with_daemon = world();
    with_daemon.run(&["daemon", "start"]);
    assert_eq!(replies(&with_daemon), alone);
    assert!(with_daemon.daemon().is_some());

    // Somebody has the socket and never answers.
    let with_dead_one = world();
    let socket = with_dead_one.state().join("daemon/socket");
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    assert_eq!(replies(&with_dead_one), alone);
}
