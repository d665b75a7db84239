//! What servers do wrong: a typed error for the run or for the call, and the next run is well again.

use std::time::Duration;

use anyhook_sdk::agent::{IfTaken, LiveAgentCenter, McpServer};
use serde_json::json;

use crate::{World, wait_until_ended, wait_until_gone};

#[tokio::test]
async fn a_server_that_cannot_be_started() {
    let world = World::new("normal");
    let missing = McpServer::stdio("/nowhere/server", [""]);
    world.center.register_mcp_server("s", missing, IfTaken::Replace).unwrap();
    let why = world.unusable().await;
    assert!(why.starts_with("`/nowhere/server` cannot be started: "), "{why}");
    assert!(world.model.requests.lock().unwrap().is_empty(), "the model was not asked");
}

#[tokio::test]
async fn a_server_that_ends_at_the_start() {
    let world = World::new("dead");
    let why = world.unusable().await;
    assert!(why.starts_with("it ended while connecting (exit code 1)"), "{why}");
    assert!(why.ends_with("; last output: no configuration"), "{why}");
    wait_until_gone(&world.processes()[0].0);
}

#[tokio::test]
async fn a_server_that_does_not_list_its_tools() {
    let world = World::new("unlisted");
    let why = world.unusable().await;
    assert!(why.contains("the list is lost"), "{why}");
    wait_until_gone(&world.processes()[0].0);
}

#[tokio::test]
async fn a_server_that_does_not_answer_or_answers_garbage_at_the_start() {
    for mode in ["silent", "garbage"] {
        let world = World::of(mode, LiveAgentCenter::builder(), |server| {
            server.connect_timeout(Duration::from_secs(3))
        });
        assert_eq!(world.unusable().await, "timed out after 3000 ms");
        for (server, child) in world.processes() {
            wait_until_gone(&server);
            wait_until_ended(&child);
        }
    }
}

#[tokio::test]
async fn a_slow_call_and_one_that_is_answered_with_garbage() {
    let world = World::of("normal", LiveAgentCenter::builder(), |server| {
        server.call_timeout(Duration::from_millis(300))
    });
    assert_eq!(world.failure("garbage").await, "it took longer than 300 ms");
    let made = world.call("echo", json!({"text": "still there"})).await;
    assert_eq!(made.result, Ok(json!("you said\nstill there")));
    assert_eq!(world.failure("slow").await, "it took longer than 300 ms");
    assert_eq!(world.processes().len(), 1);
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again_at_the_next_run() {
    let world = World::new("normal");
    let why = world.failure("die").await;
    let expected =
        "the MCP server failed: it ended before it answered the call (exit code 3); last output: ";
    assert!(why.starts_with(expected) && why.contains("out of memory"), "{why}");
    let made = world.call("echo", json!({"text": "again"})).await;
    assert_eq!(made.result, Ok(json!("you said\nagain")));
    let processes = world.processes();
    assert_eq!(processes.len(), 2);
    wait_until_gone(&processes[0].0);
    wait_until_ended(&processes[0].1);
}

#[tokio::test]
async fn a_server_that_dies_between_runs_leaves_nothing_and_is_started_again() {
    let world = World::new("normal");
    world.run("a").await.unwrap();
    let (server, child) = world.processes().remove(0);
    let killed = std::process::Command::new("kill").args(["-KILL", &server]).status().unwrap();
    assert!(killed.success());
    wait_until_gone(&server);
    wait_until_ended(&child);
    let made = world.call("echo", json!({"text": "again"})).await;
    assert_eq!(made.result, Ok(json!("you said\nagain")));
}

#[tokio::test]
async fn a_huge_answer_is_an_error() {
    let world = World::new("normal");
    let why = world.failure("huge").await;
    assert_eq!(why, "the MCP server failed: its answer is longer than 10485760 bytes");
    wait_until_gone(&world.processes()[0].0);
    let made = world.call("echo", json!({"text": "again"})).await;
    assert_eq!(made.result, Ok(json!("you said\nagain")));
}
