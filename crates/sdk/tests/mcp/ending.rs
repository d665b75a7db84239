//! No server outlives those who need it.

use std::path::Path;
use std::time::Duration;

use anyhook_sdk::agent::{Cancel, LiveAgentCenter, RunError, RunRequest, SessionContext};

use crate::{World, wait_until_ended, wait_until_gone};

/// A server that only sleeps is waited for without a thread of the runtime, of which there is one.
#[tokio::test]
async fn the_runtime_is_never_blocked_and_a_cancelled_run_leaves_no_server() {
    let world = World::new("silent");
    let cancel = Cancel::default();
    let request = RunRequest::new(SessionContext::new("a", "session"), "go");
    let run = world.center.run(request.cancel(cancel.clone()));
    let other = async {
        while world.processes().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(run, other);
    assert!(matches!(ended, Err(RunError::Cancelled { .. })), "{ended:?}");
    let (server, _) = world.processes().remove(0);
    let gone = tokio::task::spawn_blocking(move || wait_until_gone(&server));
    gone.await.unwrap();
}

#[tokio::test]
async fn a_dropped_center_ends_its_servers() {
    let world = World::new("normal");
    world.run("a").await.unwrap();
    let World { center, scratch, model } = world;
    let world = World { center: LiveAgentCenter::builder().build(), scratch, model };
    let (server, child) = world.processes().remove(0);
    assert!(Path::new("/proc").join(&server).exists());
    drop(center);
    wait_until_gone(&server);
    wait_until_ended(&child);
}

/// A program may drop its center when its runtime is gone, or use it in another one.
#[test]
fn a_center_outlives_a_runtime() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = World::new("normal");
    runtime().block_on(world.run("a")).unwrap();
    runtime().block_on(world.run("a")).unwrap();
    let processes = world.processes();
    assert_eq!(processes.len(), 2, "a connection belongs to its runtime");
    let World { center, scratch: _scratch, .. } = world;
    drop(center);
    for (server, child) in processes {
        wait_until_gone(&server);
        wait_until_ended(&child);
    }
}
