//! Events answered in this process: for tests of what hooks decide, not of how a process is called.
//!
//! Scripts get the variables of the tests, so they may not use `HOME`.

use anyhook_engine::{Engine, Places, now};
use anyhook_model::Caller;
use anyhook_testkit::{CommandRun, TestEnv};

/// Returns an environment whose events are answered in this process.
pub fn environment() -> TestEnv {
    TestEnv::in_memory(&crate::program()).answered_by(answer)
}

fn answer(environment: &TestEnv, payload: Vec<u8>) -> CommandRun {
    answer_host(environment, "agent-hooks", payload)
}

/// Answers a host's payload as `anyhook hook HOST` does.
pub fn answer_host(environment: &TestEnv, host: &str, payload: Vec<u8>) -> CommandRun {
    let home = environment.home();
    let places = Places {
        managed: "/etc/agents".into(),
        user: Some(home.join(".config/agents")),
        state: Some(environment.state()),
        home: Some(home),
        binary: Some(environment.command(&[]).get_program().into()),
    };
    let engine = Engine::new(places).with_index();
    let host = anyhook_hook::find_host(host).unwrap();
    let caller = Caller::new(environment.project(), now());
    let reply = engine.dispatch(host, payload, &caller, None);
    CommandRun { code: reply.exit_code.into(), stdout: reply.stdout, stderr: reply.stderr }
}
