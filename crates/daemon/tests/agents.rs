//! The real agents are watched while they work: a version that writes its log in another way is
//! noticed here.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

/// The tests of the suite `agents`, which are known by this name.
mod agents {
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::time::{Duration, Instant};

    use anyhook_daemon::watch::{LogPositions, LogUpdate, WatchOptions, WatchPlaces, Watcher};
    use anyhook_hosts::log::LogRoots;
    use anyhook_model::BusEvent;
    use anyhook_testkit::agents::{Agent, AgentSandbox};
    use anyhook_testkit::model_server::ModelTurn;

    const LIMIT: Duration = Duration::from_secs(60);

    fn watch(bed: &AgentSandbox) -> (Watcher, Receiver<LogUpdate>) {
        let homes = LogRoots { home: bed.home(), ..LogRoots::default() };
        let (send, receive) = sync_channel(1000);
        let options = WatchOptions { quiet: Duration::from_millis(500), ..WatchOptions::default() };
        let (places, positions) = (WatchPlaces::of(&homes), LogPositions::default());
        (Watcher::start_with(places, positions, send, options).unwrap(), receive)
    }

    /// Takes what is told until the agent is seen to rest in a way.
    fn told(out: &Receiver<LogUpdate>, agent: Agent, last: &str) -> Vec<BusEvent> {
        let until = Instant::now() + LIMIT;
        let mut told: Vec<BusEvent> = Vec::new();
        while told.last().is_none_or(|event| event.type_name() != last) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(watched) = out.recv_timeout(left) else {
                panic!("{} did not come to {last}: {told:#?}", agent.name())
            };
            let Some(event) = watched.report else { continue };
            let report = event.report().unwrap();
            assert_eq!(report.host.as_deref(), Some(agent.name()));
            told.push(event);
        }
        told
    }

    fn works_and_rests(agent: Agent) {
        let Some(bed) = AgentSandbox::new(agent) else { return };
        let (_watcher, out) = watch(&bed);
        let script = [bed.shell_tool("echo heard"), ModelTurn::text("that was all")];
        let outcome = bed.run("do it", script);
        assert_eq!(outcome.exit_code, 0, "{outcome:#?}");
        let told = told(&out, agent, "agent:idle");
        assert_eq!(told[0].type_name(), "agent:working", "{told:#?}");
        let reports: Vec<_> = told.iter().filter_map(BusEvent::report).collect();
        assert!(reports.iter().all(|report| report.agent == reports[0].agent), "{told:#?}");
        assert!(reports.iter().all(|report| report.at.is_some()), "{told:#?}");
        if agent != Agent::GeminiCli {
            let project = bed.project().to_string_lossy().into_owned();
            assert!(reports.iter().all(|report| report.work_dir.as_ref() == Some(&project)));
        }
    }

    fn fails(agent: Agent) {
        let Some(mut bed) = AgentSandbox::new(agent) else { return };
        bed.set_variable("CLAUDE_CODE_MAX_RETRIES", "1");
        let (_watcher, out) = watch(&bed);
        bed.run("do it", vec![ModelTurn::refusal(401, "invalid x-api-key"); 10]);
        let told = told(&out, agent, "agent:failed");
        let Some(BusEvent::AgentFailed(failed)) = told.last() else { panic!("{told:#?}") };
        assert_eq!(failed.kind.name(), "unauthorized", "{failed:?}");
    }

    #[test]
    fn claude_code() {
        works_and_rests(Agent::ClaudeCode);
        fails(Agent::ClaudeCode);
    }

    #[test]
    fn codex() {
        works_and_rests(Agent::Codex);
        fails(Agent::Codex);
    }

    #[test]
    fn gemini_cli() {
        // Without a screen it writes no failure.
        works_and_rests(Agent::GeminiCli);
    }

    #[test]
    fn opencode() {
        works_and_rests(Agent::OpenCode);
        fails(Agent::OpenCode);
    }
}
