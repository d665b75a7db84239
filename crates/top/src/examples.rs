//! Records for tests.

use anyhook_model::approval_request::{ApprovalKind, Choice};
use anyhook_model::daemon::{AgentView, DecisionView};
use anyhook_model::pipeline::{
    PIPELINE_VERSION, PipelinePhase, PipelineView, VisitState, VisitView, Workspace, WorkspaceKind,
};
use anyhook_model::{
    ApprovalRequest, Decision, Effect, EventKind, Record, RecordId, RunOutcome, RunRecord,
    StateSource,
};
use jiff::{SignedDuration, Timestamp};

use crate::app::App;

/// The moment of every example.
pub fn noon() -> Timestamp {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

/// This many seconds later.
pub fn later(seconds: usize) -> Timestamp {
    noon() + SignedDuration::from_secs(i64::try_from(seconds).unwrap())
}

/// A record of an event of the session `one` of Codex.
pub fn record(event: &str) -> Record {
    let id = RecordId::from_text("7k2m9x4q");
    let mut record = Record::new(id, noon(), "codex", EventKind::from_name(event));
    record.session = Some("one".to_owned());
    "/home/me/shop".clone_into(&mut record.work_dir);
    record.took_us = 4_200;
    record
}

/// An open decision of the session `one` of Codex, for a minute.
pub fn decision(id: &str, created: Timestamp) -> DecisionView {
    let inquiry = ApprovalRequest {
        id: RecordId::from_text(id),
        kind: ApprovalKind::Permission,
        agent: "codex:one".to_owned(),
        question: "codex wants to use Shell".to_owned(),
        tool: Some("Shell".to_owned()),
        about: Some(format!("git push {id}")),
        digest: Some("5d41402abc4b2a76b9719d911017c592".to_owned()),
        hook: None,
        calls: Vec::new(),
        options: vec![
            Choice::new("allow", "the call is allowed"),
            Choice::new("deny", "the call is turned down"),
        ],
        questions: Vec::new(),
        created,
        until: Some(created + SignedDuration::from_mins(1)),
    };
    DecisionView {
        inquiry,
        resolution: None,
        agent_name: None,
        project: None,
        pipeline: None,
        claimed: None,
        waited_ms: 0,
    }
}

/// An agent in a state, as the daemon reports it.
pub fn agent(id: &str, state: &str) -> AgentView {
    let (host, session) = id.split_once(':').unzip();
    AgentView {
        id: id.to_owned(),
        name: None,
        state: state.to_owned(),
        prompt_type: None,
        failure: None,
        source: StateSource::Log,
        since: noon(),
        seen: later(30),
        host: host.map(str::to_owned),
        session: session.map(str::to_owned),
        work_dir: Some("/home/me/shop".to_owned()),
        project: None,
        tool: None,
        about: None,
        process: None,
        log: None,
        unguarded: 0,
        frozen: false,
        decision: None,
        pipeline: None,
        daemon_down: None,
        usage: None,
    }
}

/// A pipeline of four steps, the first of which were visited.
pub fn pipeline(id: &str, phase: PipelinePhase, visited: &[VisitState]) -> PipelineView {
    let steps = ["plan", "build", "review", "publish"].map(str::to_owned).to_vec();
    let visit = |((number, step), state): ((u32, &String), &VisitState)| VisitView {
        number,
        step: step.clone(),
        state: *state,
        why: None,
        began: noon(),
        ended: None,
        agent: None,
        output: None,
    };
    let visits: Vec<VisitView> = (1..).zip(&steps).zip(visited).map(visit).collect();
    PipelineView {
        v: PIPELINE_VERSION,
        id: RecordId::from_text(id),
        name: "release".to_owned(),
        run_name: None,
        runbook: "/home/me/shop/.agents/runbooks/release.hcl".to_owned(),
        project: "/home/me/shop".to_owned(),
        phase,
        why: None,
        step: visits.last().map(|visit| visit.step.clone()),
        agent: None,
        decision: None,
        created: noon(),
        ended: None,
        variables: [("version".to_owned(), "1.2".to_owned())].into(),
        workspace: Workspace {
            kind: WorkspaceKind::None,
            root: "/home/me/shop".to_owned(),
            keep: false,
            branch: None,
            base: None,
        },
        steps,
        visits,
        daemon_down: None,
        usage: None,
    }
}

/// A run of a hook that took this long.
pub fn run(hook: &str, took_us: u64) -> RunRecord {
    RunRecord {
        hook: hook.to_owned(),
        folder: format!("/home/me/.config/agents/hooks/{hook}"),
        shadow: false,
        outcome: Some(RunOutcome::Exited(0)),
        decision: Decision::default(),
        failure: None,
        notes: Vec::new(),
        stdout: String::new(),
        stderr: String::new(),
        took_us,
    }
}

/// A view with some of everything.
pub fn busy() -> App {
    let mut app = App::new("~/.local/state/anyhook/journal".to_owned());
    app.source.is_read = true;
    let mut seconds = 0;
    let mut feed =
        |host: &str, session: &str, event: &str, about: &str, change: &dyn Fn(&mut Record)| {
            let mut record = record(event);
            record.id = RecordId::from_text(format!("aaaa{seconds:04}"));
            record.at = later(seconds);
            host.clone_into(&mut record.host);
            record.session = Some(session.to_owned());
            record.tool = event.contains("tool").then(|| "Shell".to_owned());
            record.about = (!about.is_empty()).then(|| about.to_owned());
            change(&mut record);
            app.feed(record);
            seconds += 3;
        };
    let (one, two) = ("019a8b2c-1111-7222-8333-abcdefabf3d1", "d4c3b2a1");
    feed("codex", one, "session_start", "", &|_| {});
    feed("codex", one, "before_agent", "make the tests pass\nquickly", &|_| {});
    feed("codex", one, "before_tool", "cargo test", &|record| {
        record.runs = vec![run("guard", 3_100), run("audit", 1_500)];
    });
    feed("claude-code", two, "before_tool", "git push --force", &|record| {
        "/srv/billing/".clone_into(&mut record.work_dir);
        record.runs = vec![run("guard", 2_900)];
        record.verdict.effect = Some(Effect::Deny);
        record.verdict.by = Some("guard".to_owned());
        record.verdict.reason = Some("no force on Fridays".to_owned());
    });
    feed("claude-code", two, "after_tool", "rm -rf /tmp/x \u{1b}[2J", &|record| {
        record.denied_by = Some(RecordId::from_text("aaaa0009"));
    });
    feed("claude-code", two, "subagent_start", "find the bug", &|record| {
        record.agent = Some("explorer".to_owned());
    });
    feed("codex", one, "before_stop", "done", &|record| {
        record.runs = vec![run("format", 1_900_000)];
        record.runs[0].failure = Some("exit 1: no such table".to_owned());
    });
    feed("gemini-cli", "s3", "permission_request", "npm install", &|record| {
        record.verdict.effect = Some(Effect::Ask);
        record.verdict.by = Some("asker".to_owned());
        record.runs = vec![run("asker", 12_000)];
    });
    app
}
