//! Invariants that hold for any events in any order.

use anyhook_model::pipeline::ENTRY_LIMIT;
use proptest::prelude::*;

use super::*;

/// An event that may happen next. Events that are impossible at that point are skipped.
#[derive(Clone, Debug)]
enum Act {
    /// A job ends with a result.
    Job(prop::sample::Index, JobOutcome),
    Works,
    Idles,
    Asks,
    Prompts,
    Signals(SignalKind),
    Exits,
    Gone,
    Fails,
    Stops,
    /// Someone decides the pipeline's question.
    Decides(prop::sample::Index),
    /// Someone decides any question.
    Dismisses,
    Cancels,
    Resumes,
    Fires,
    /// An agent of an earlier step still reports something.
    Stale,
}

#[derive(Clone, Copy, Debug)]
enum JobOutcome {
    Started,
    Done,
    Exited(Option<i32>),
    TimedOut,
    InDoubt,
    Failed,
    Obsolete,
}

fn job_outcomes() -> impl Strategy<Value = JobOutcome> {
    prop_oneof![
        2 => Just(JobOutcome::Started),
        4 => Just(JobOutcome::Done),
        4 => Just(JobOutcome::Exited(Some(0))),
        2 => Just(JobOutcome::Exited(Some(1))),
        1 => Just(JobOutcome::Exited(None)),
        1 => Just(JobOutcome::TimedOut),
        1 => Just(JobOutcome::InDoubt),
        1 => Just(JobOutcome::Failed),
        1 => Just(JobOutcome::Obsolete),
    ]
}

fn acts() -> impl Strategy<Value = Act> {
    let signal = prop_oneof![
        Just(SignalKind::Complete),
        Just(SignalKind::Escalate),
        Just(SignalKind::Continue)
    ];
    prop_oneof![
        12 => (any::<prop::sample::Index>(), job_outcomes()).prop_map(|(job, outcome)| Act::Job(job, outcome)),
        3 => Just(Act::Works),
        3 => Just(Act::Idles),
        1 => Just(Act::Asks),
        1 => Just(Act::Prompts),
        1 => signal.prop_map(Act::Signals),
        1 => Just(Act::Exits),
        1 => Just(Act::Gone),
        1 => Just(Act::Fails),
        1 => Just(Act::Stops),
        3 => any::<prop::sample::Index>().prop_map(Act::Decides),
        1 => Just(Act::Dismisses),
        1 => Just(Act::Cancels),
        1 => Just(Act::Resumes),
        1 => Just(Act::Fires),
        1 => Just(Act::Stale),
    ]
}

fn reactions() -> impl Strategy<Value = Value> {
    let gate = json!({"action": "gate", "run": "check", "attempts": 2});
    let on_idle = prop::sample::select(vec![
        json!("nudge"),
        json!("done"),
        json!("escalate"),
        gate.clone(),
        json!({"action": "nudge", "attempts": 3, "cooldown": "10s"}),
    ]);
    let on_prompt = prop::sample::select(vec![json!("escalate"), json!("fail"), gate.clone()]);
    let on_dead = prop::sample::select(vec![
        json!("recover"),
        json!("escalate"),
        json!("done"),
        gate.clone(),
        json!({"action": "recover", "attempts": "forever"}),
    ]);
    let on_error = prop::sample::select(vec![json!("escalate"), json!("recover"), gate]);
    let on_stop = prop::sample::select(vec![json!("idle"), json!("signal"), json!("escalate")]);
    (on_idle, on_prompt, on_dead, on_error, on_stop).prop_map(
        |(on_idle, on_prompt, on_dead, on_error, on_stop)| {
            json!({"on_idle": on_idle, "on_prompt": on_prompt, "on_dead": on_dead,
                "on_error": on_error, "on_stop": on_stop})
        },
    )
}

fn plans() -> impl Strategy<Value = PipelinePlan> {
    let names = ["a", "b", "c", "d"];
    let edge = || prop::option::of(prop::sample::select(names.map(str::to_owned).to_vec()));
    let step = (prop::option::of(reactions()), edge(), edge(), edge());
    let steps = prop::collection::vec(step, 4);
    (steps, edge(), edge(), edge(), any::<bool>(), any::<bool>()).prop_map(
        move |(steps, on_done, on_fail, on_cancel, has_workspace, keep)| {
            let steps =
                names.iter().zip(steps).map(|(name, (reactions, on_done, on_fail, on_cancel))| {
                    let step = reactions.map_or_else(|| shell(name), |all| agent(name, &all));
                    PipelineStep { on_done, on_fail, on_cancel, ..step }
                });
            let mut plan = PipelinePlan { on_done, on_fail, on_cancel, ..plan(steps.collect()) };
            if has_workspace {
                plan.workspace.kind = WorkspaceKind::Folder;
            }
            plan.workspace.keep = keep;
            plan
        },
    )
}

fn result_of(work: &JobWork, outcome: JobOutcome) -> Option<JobResult> {
    let ends_only =
        matches!(work, JobWork::End { .. } | JobWork::MakeWorkspace | JobWork::RemoveWorkspace);
    Some(match outcome {
        JobOutcome::Started if matches!(work, JobWork::Agent { .. }) => {
            JobResult::Started { warning: None, to_type: None }
        }
        JobOutcome::Started => return None,
        JobOutcome::Done => JobResult::Done { note: None },
        JobOutcome::Exited(code) if !ends_only => exited(code, "out"),
        JobOutcome::TimedOut if !ends_only => {
            // A command may exit successfully when it is terminated.
            JobResult::Exited { code: Some(0), timed_out: true, output: String::new() }
        }
        JobOutcome::InDoubt if !matches!(work, JobWork::End { .. }) => JobResult::InDoubt,
        JobOutcome::Obsolete => JobResult::Obsolete { why: "over".to_owned() },
        _ => JobResult::Failed { why: "broken".to_owned() },
    })
}

impl World {
    fn act(&mut self, act: &Act, stale: Option<&String>) -> StateEffects {
        let is_agent = self.pipeline().present().is_some_and(|visit| visit.agent.is_some());
        let report = is_agent.then(|| self.report());
        match (act, report) {
            (Act::Job(index, outcome), _) => {
                let jobs: Vec<_> = self.pipeline().jobs().cloned().collect();
                if jobs.is_empty() {
                    return StateEffects::default();
                }
                let job = index.get(&jobs);
                match result_of(&job.work, *outcome) {
                    Some(result) => self.result(job.number, result),
                    None => StateEffects::default(),
                }
            }
            (Act::Works, Some(report)) => self.hear(BusEvent::AgentWorking(report)),
            (Act::Idles, Some(report)) => self.hear(BusEvent::AgentIdle(report)),
            (Act::Asks, Some(_)) => {
                let name = format!("p{}", self.now);
                self.hook_asks(&name);
                StateEffects::default()
            }
            (Act::Prompts, Some(report)) => {
                let prompt_type = PromptType::Question;
                self.hear(BusEvent::AgentPrompt(AgentPrompt { report, prompt_type }))
            }
            (Act::Signals(kind), Some(_)) => self.signals(*kind, None),
            (Act::Exits, Some(report)) => self.hear(BusEvent::AgentExited(report)),
            (Act::Gone, Some(report)) => self
                .hear(BusEvent::AgentGone(AgentReport { source: StateSource::Process, ..report })),
            (Act::Fails, Some(report)) => {
                let failed = anyhook_model::bus::AgentFailed { report, ..Default::default() };
                self.hear(BusEvent::AgentFailed(failed))
            }
            (Act::Stops, Some(report)) => self.hear(BusEvent::AgentStop(report)),
            (Act::Decides(index), _) if self.pipeline().question().is_some() => {
                let options = self.options();
                let choice = index.get(&options).clone();
                self.decides(&choice)
            }
            (Act::Dismisses, _) => {
                // Only hook processes give up: no process waits for a pipeline's own question.
                let waits = |open: &&ApprovalRequest| open.kind != ApprovalKind::Escalation;
                let Some(open) = self.state.inquiries.open().find(waits).cloned() else {
                    return StateEffects::default();
                };
                let ended = crate::approval_requests::without_answer(
                    &open,
                    ApprovalEnding::Expired,
                    "nobody",
                    self.at(),
                );
                self.hear(BusEvent::DecisionResolved(ended))
            }
            (Act::Cancels, _) => {
                self.apply(EntryKind::PipelineCancelled { id: id(), by: "ann".to_owned() })
            }
            (Act::Resumes, _) => {
                let resumed =
                    EntryKind::PipelineResumed { id: id(), step: None, by: "ann".to_owned() };
                self.apply(resumed)
            }
            (Act::Fires, _) => match self.pipeline().waits_until() {
                Some(until) => {
                    self.now = self.now.max(until.as_second());
                    self.apply(EntryKind::TimerFired(id()))
                }
                None => StateEffects::default(),
            },
            (Act::Stale, _) => match stale {
                Some(agent) => {
                    let report = AgentReport {
                        agent: agent.clone(),
                        source: StateSource::Hook,
                        ..AgentReport::default()
                    };
                    self.hear(BusEvent::AgentIdle(report))
                }
                None => StateEffects::default(),
            },
            _ => StateEffects::default(),
        }
    }

    fn check_laws(&self) {
        let pipeline = self.pipeline();
        let jobs: Vec<_> = pipeline.jobs().map(|job| &job.work).collect();
        let of_main = |work: &&&JobWork| {
            matches!(
                work,
                JobWork::Shell
                    | JobWork::Agent { .. }
                    | JobWork::MakeWorkspace
                    | JobWork::RemoveWorkspace
            )
        };
        assert!(jobs.iter().filter(of_main).count() <= 1, "two work at once: {jobs:?}");
        let owed = self.state.outbox.job_ids().map(|job| (job.pipeline, job.number));
        assert!(
            owed.eq(pipeline.jobs().map(|job| (id(), job.number))),
            "what it waits for is owed"
        );
        if pipeline.is_over() {
            assert!(jobs.is_empty(), "it is over and {jobs:?}");
            assert!(pipeline.question().is_none());
            assert!(pipeline.ended().is_some());
        } else {
            let waits = !jobs.is_empty()
                || pipeline.question().is_some()
                || pipeline.waits_until().is_some();
            assert!(waits, "it waits for nothing: {pipeline:#?}");
        }
        if let Some(question) = pipeline.question() {
            let held = self.state.inquiries.get(&question.id).expect("what is asked is there");
            assert!(held.resolution.is_none(), "what is decided is asked no more");
            assert!(!held.inquiry.options.is_empty());
        }
        // The pipeline waits for each of its open questions.
        for open in self.state.inquiries.open() {
            if open.kind == ApprovalKind::Escalation {
                assert_eq!(pipeline.question().map(|asked| &asked.id), Some(&open.id));
            }
        }
        let view = pipeline.view(&|job| job.to_string());
        let open = view.visits.iter().filter(|visit| visit.ended.is_none()).count();
        assert!(open <= 1, "{view:?}");
        for earlier in view.visits.iter().rev().skip(1) {
            assert!(earlier.ended.is_some(), "one step after the other");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn laws_hold_whatever_happens(plan in plans(), acts in prop::collection::vec(acts(), 1..60)) {
        let mut world = World::begin(plan);
        world.check_laws();
        let mut stale = None;
        let mut done: Vec<(String, VisitState)> = Vec::new();
        for act in &acts {
            if let Some(visit) = world.pipeline().present()
                && let Some(agent) = &visit.agent
            {
                stale.get_or_insert_with(|| agent.clone());
            }
            world.act(act, stale.as_ref());
            world.check_laws();
            // What is over does not change.
            let visits = world.visits();
            for (before, now) in done.iter().zip(&visits) {
                if !matches!(before.1, VisitState::Running | VisitState::Waiting) {
                    prop_assert_eq!(before, now);
                }
            }
            done = visits;
        }
        world.check_json();
    }

    /// An end is always reached: every job ends with a result, every question is decided.
    #[test]
    fn it_ends(plan in plans(), choices in prop::collection::vec((any::<prop::sample::Index>(), job_outcomes()), 400)) {
        let mut world = World::begin(plan);
        for (index, outcome) in &choices {
            if world.pipeline().is_over() {
                break;
            }
            if world.pipeline().question().is_some() {
                let options = world.options();
                // Other options could let it continue for ever.
                let last = options.iter().find(|name| *name == "fail").unwrap().clone();
                world.decides(&last);
            } else {
                let act = Act::Job(*index, *outcome);
                world.act(&act, None);
            }
        }
        // Only an agent that is restarted for ever may run for ever.
        let text = serde_json::to_string(&world.pipeline().plan).unwrap();
        prop_assert!(world.pipeline().is_over() || text.contains("forever"));
        let entered = world.visits().len();
        let limit = usize::try_from(ENTRY_LIMIT).unwrap() * world.pipeline().plan.steps.len();
        prop_assert!(entered <= limit, "{entered}");
    }
}
