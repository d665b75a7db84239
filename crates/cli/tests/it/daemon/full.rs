//! A full disk: refused loudly, and nothing that was confirmed is lost.

use std::process::{Command, Stdio};

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{require, run, wait_until};

use crate::environment;

#[test]
fn a_decision_that_cannot_be_stored_is_refused_until_there_is_room() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    let store = environment.state().join("daemon/store");
    std::fs::create_dir_all(&store).unwrap();
    // One namespace for all commands: the store is on a small disk of its own.
    let store = store.display();
    let mut keeper = Command::new("unshare")
        .args(["-m", "sh", "-e", "-c"])
        .arg(format!("mount -t tmpfs -o size=64k none '{store}'; echo ready; exec sleep 1000"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut ready = std::io::BufReader::new(keeper.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut ready, &mut line).unwrap();
    let inside = |program: &mut Command| {
        let mut command = Command::new("nsenter");
        command.args(["-m", "-w", "-t", &keeper.id().to_string()]);
        command.arg(program.get_program()).args(program.get_args()).env_clear();
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir("/");
        command
    };
    let anyhook = |arguments: &[&str]| run(inside(&mut environment.command(arguments)), b"");
    let shell = |line: &str| run(inside(Command::new("sh").args(["-c", line])), b"");

    anyhook(&["emit", "agent:signal", "--agent", "a", "escalate", "--message", "look"]);
    let decisions = anyhook(&["decision", "list", "--json"]).json();
    let id = decisions[0]["inquiry"]["id"].as_str().unwrap().to_owned();
    let filled = shell(&format!("cat /dev/zero > '{store}/fill'"));
    assert!(filled.stderr.contains("No space left"), "{filled:?}");
    let told = anyhook(&["emit", "agent:idle", "--agent", "b"]);
    assert_eq!(told.code, 0, "the journal has it: {told:?}");
    // A last page may have room for a short one.
    let message = "x".repeat(16 * 1024);
    let resolve = ["decision", "resolve", &id, "done", "--message", &message];
    let refused = anyhook(&resolve);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("No space left"), "{refused:?}");
    let status = anyhook(&["daemon", "status"]);
    assert!(status.stdout.contains("No space left"), "{status:?}");
    assert_eq!(anyhook(&["decision", "list", "--json"]).json().as_array().unwrap().len(), 1);

    shell(&format!("rm '{store}/fill'"));
    wait_until("the decision to be made", || anyhook(&resolve).code == 0);
    wait_until("what was told meanwhile to be known", || {
        anyhook(&["agent", "list", "--json"]).json().as_array().unwrap().len() == 1
    });
    environment.kill_daemon();
    assert_eq!(anyhook(&["decision", "list", "--json"]).json().as_array().unwrap().len(), 0);
    keeper.kill().unwrap();
    keeper.wait().unwrap();
}
