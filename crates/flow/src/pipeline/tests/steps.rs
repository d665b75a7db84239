use super::*;

#[test]
fn steps_follow_each_other_to_the_end() {
    let mut world = World::begin(plan(vec![to(shell("a"), "b"), shell("b")]));
    let effects = world.exits(0);
    assert_eq!(
        told(&effects),
        ["shell:exited", "step:completed", "pipeline:advanced", "step:started"]
    );
    let effects = world.exits(0);
    assert_eq!(told(&effects), ["shell:exited", "step:completed", "pipeline:completed"]);
    assert_eq!(world.phase(), PipelinePhase::Completed);
    let visits = [("a", VisitState::Completed), ("b", VisitState::Completed)];
    assert_eq!(world.visits(), visits.map(|(step, state)| (step.to_owned(), state)));
    assert_eq!(world.pipeline().jobs().count(), 0);
}

#[test]
fn a_step_that_fails_ends_it_or_takes_another() {
    let mut world = World::begin(plan(vec![to(shell("a"), "b"), shell("b")]));
    let job = world.job(|work| matches!(work, JobWork::Shell));
    world.result(job, exited(Some(2), "fine\nno rule to make it\n\n"));
    assert_eq!(world.phase(), PipelinePhase::Failed);
    let view = world.pipeline().view(&|_| String::new());
    let why = "step `a` failed: exit code 2: no rule to make it";
    assert_eq!(view.why.as_deref(), Some(why));

    let retry = PipelineStep { on_fail: Some("fix".to_owned()), ..to(shell("a"), "b") };
    let mut world = World::begin(plan(vec![retry, shell("b"), to(shell("fix"), "a")]));
    world.exits(1);
    world.exits(0);
    world.exits(0);
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Completed);
    let steps: Vec<String> = world.visits().into_iter().map(|(step, _)| step).collect();
    assert_eq!(steps, ["a", "fix", "a", "b"]);
}

#[test]
fn a_step_is_entered_five_times_at_most() {
    let again = PipelineStep { on_fail: Some("a".to_owned()), ..shell("a") };
    let mut world = World::begin(plan(vec![again]));
    for _ in 0..4 {
        world.exits(1);
        assert_eq!(world.phase(), PipelinePhase::Running);
    }
    world.exits(1);
    assert_eq!(world.phase(), PipelinePhase::Failed);
    let view = world.pipeline().view(&|_| String::new());
    assert_eq!(view.why.as_deref(), Some("step `a` was entered 5 times"));
    assert_eq!(view.visits.len(), 5);
}

#[test]
fn the_pipeline_names_steps_for_its_end() {
    let steps = || vec![shell("a"), shell("tidy"), shell("weep")];
    let with_ends = || {
        let (on_done, on_fail) = (Some("tidy".to_owned()), Some("weep".to_owned()));
        PipelinePlan { on_done, on_fail, on_cancel: Some("tidy".to_owned()), ..plan(steps()) }
    };
    for (first, second, visited, phase) in [
        (0, 0, "tidy", PipelinePhase::Completed),
        (1, 0, "weep", PipelinePhase::Failed),
        (1, 1, "weep", PipelinePhase::Failed),
        (0, 1, "tidy", PipelinePhase::Failed),
    ] {
        let mut world = World::begin(with_ends());
        world.exits(first);
        assert_eq!(world.visits()[1].0, visited);
        assert!(!world.phase().is_over());
        world.exits(second);
        assert_eq!((world.phase(), world.visits().len()), (phase, 2), "{first} {second}");
    }
    let mut world = World::begin(with_ends());
    world.apply(EntryKind::PipelineCancelled { id: id(), by: "ann".to_owned() });
    assert_eq!(world.phase(), PipelinePhase::Running, "what runs is ended first");
    world.ends();
    assert_eq!(world.visits()[1], ("tidy".to_owned(), VisitState::Running));
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Cancelled);
}

#[test]
fn who_cancels_twice_wants_no_more_steps() {
    let tidy = Some("tidy".to_owned());
    let mut world =
        World::begin(PipelinePlan { on_cancel: tidy, ..plan(vec![shell("a"), shell("tidy")]) });
    for _ in 0..2 {
        world.apply(EntryKind::PipelineCancelled { id: id(), by: "ann".to_owned() });
        world.ends();
    }
    assert_eq!((world.phase(), world.visits().len()), (PipelinePhase::Cancelled, 2));
    let mut over = world.pipeline().clone();
    let error = over.cancel("ann", world.at()).unwrap_err();
    assert_eq!(error.to_string(), "pipeline 7k2m9x4q is cancelled");
}

#[test]
fn it_is_taken_up_where_it_stopped() {
    let mut world = World::begin(plan(vec![to(shell("a"), "b"), to(shell("b"), "c"), shell("c")]));
    world.exits(0);
    world.exits(1);
    assert_eq!(world.phase(), PipelinePhase::Failed);
    world.apply(EntryKind::PipelineResumed { id: id(), step: None, by: "ann".to_owned() });
    assert_eq!(world.visits()[2], ("b".to_owned(), VisitState::Running));
    world.exits(0);
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Completed);
    for (step, error) in
        [(None, "pipeline 7k2m9x4q is completed"), (Some("zz"), "pipeline 7k2m9x4q is completed")]
    {
        assert_eq!(world.pipeline().may_resume(step).unwrap_err().to_string(), error);
    }
}

#[test]
fn it_is_taken_up_at_a_step_that_is_named() {
    let mut world = World::begin(plan(vec![to(shell("a"), "b"), shell("b")]));
    let error = world.pipeline().may_resume(None).unwrap_err();
    assert_eq!(error.to_string(), "pipeline 7k2m9x4q has not ended: it is running");
    world.exits(1);
    let error = world.pipeline().may_resume(Some("zz")).unwrap_err();
    assert_eq!(error.to_string(), "pipeline 7k2m9x4q has no step `zz`; available: a, b");
    let step = Some("b".to_owned());
    world.apply(EntryKind::PipelineResumed { id: id(), step, by: "ann".to_owned() });
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Completed);
    let steps: Vec<String> = world.visits().into_iter().map(|(step, _)| step).collect();
    assert_eq!(steps, ["a", "b"]);
}

#[test]
fn a_command_in_doubt_is_a_persons_to_decide() {
    for (choice, phase) in [
        ("retry", PipelinePhase::Running),
        ("skip", PipelinePhase::Completed),
        ("fail", PipelinePhase::Failed),
    ] {
        let mut world = World::begin(plan(vec![shell("a")]));
        let job = world.job(|work| matches!(work, JobWork::Shell));
        let effects = world.result(job, JobResult::InDoubt);
        assert_eq!(told(&effects), ["step:waiting", "decision:created"]);
        assert_eq!(
            (world.phase(), world.options()),
            (PipelinePhase::Waiting, ["retry", "skip", "fail"].map(str::to_owned).to_vec())
        );
        let question = NoticeName::Decision(world.question().id.clone());
        assert!(world.state.outbox.notices.contains(&question));
        world.decides(choice);
        assert_eq!(world.phase(), phase, "{choice}");
        if choice == "retry" {
            let again = world.job(|work| matches!(work, JobWork::Shell));
            assert_ne!(again, job, "another job, so that it is not taken for the one before");
            world.exits(0);
            assert_eq!(world.phase(), PipelinePhase::Completed);
        }
    }
}

fn with_workspace(keep: bool) -> PipelinePlan {
    let workspace = Workspace {
        kind: WorkspaceKind::Folder,
        root: "/w".to_owned(),
        keep,
        branch: None,
        base: None,
    };
    PipelinePlan { workspace, ..plan(vec![shell("a")]) }
}

#[test]
fn a_workspace_is_made_first_and_removed_last() {
    let mut world = World::begin(with_workspace(false));
    assert!(world.visits().is_empty());
    let job = world.job(|work| *work == JobWork::MakeWorkspace);
    let effects = world.result(job, JobResult::Done { note: None });
    assert_eq!(told(&effects), ["workspace:created", "step:started"]);
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Running);
    let job = world.job(|work| *work == JobWork::RemoveWorkspace);
    let effects = world.result(job, JobResult::Done { note: None });
    assert_eq!(told(&effects), ["workspace:deleted", "pipeline:completed"]);
}

#[test]
fn a_workspace_stays_if_it_is_to_or_something_failed() {
    for (keep, code) in [(true, 0), (true, 1), (false, 1)] {
        let mut world = World::begin(with_workspace(keep));
        let job = world.job(|work| *work == JobWork::MakeWorkspace);
        world.result(job, JobResult::Done { note: None });
        world.exits(code);
        assert!(world.phase().is_over(), "{keep} {code}");
    }
}

#[test]
fn without_its_workspace_nothing_begins() {
    let mut world = World::begin(with_workspace(false));
    let job = world.job(|work| *work == JobWork::MakeWorkspace);
    world.result(job, JobResult::Failed { why: "the disk is full".to_owned() });
    assert_eq!((world.phase(), world.visits().len()), (PipelinePhase::Failed, 0));
    world.apply(EntryKind::PipelineResumed { id: id(), step: None, by: "ann".to_owned() });
    let job = world.job(|work| *work == JobWork::MakeWorkspace);
    world.apply(EntryKind::PipelineCancelled { id: id(), by: "ann".to_owned() });
    world.result(job, JobResult::Done { note: None });
    assert_eq!((world.phase(), world.visits().len()), (PipelinePhase::Cancelled, 0));
}

#[test]
fn a_person_is_told_at_the_moments_that_are_named() {
    let text = |text: &str| Some(text.to_owned());
    let notify = PipelineNotices {
        on_start: text("started"),
        on_done: text("done"),
        on_fail: text("failed"),
        on_cancel: None,
    };
    let mut world = World::begin(PipelinePlan { notify, ..plan(vec![shell("a")]) });
    let moments = |world: &World| -> Vec<NoticeMoment> {
        let of = |name: &NoticeName| match name {
            NoticeName::Pipeline(_, moment, _) => Some(*moment),
            _ => None,
        };
        world.state.outbox.notices.iter().filter_map(of).collect()
    };
    assert_eq!(moments(&world), [NoticeMoment::Start]);
    world.exits(0);
    assert_eq!(moments(&world), [NoticeMoment::Start, NoticeMoment::Done]);
    assert_eq!(world.pipeline().notice(NoticeMoment::Done), Some("done"));
}

#[test]
fn what_comes_of_a_job_twice_counts_once() {
    let mut world = World::begin(plan(vec![to(shell("a"), "b"), shell("b")]));
    let job = world.job(|work| matches!(work, JobWork::Shell));
    world.result(job, exited(Some(0), ""));
    let before = world.state.clone();
    let effects = world.result(job, exited(Some(0), ""));
    let dropped = Some("no one is waiting for this job any more");
    assert_eq!(effects, StateEffects { dropped, ..StateEffects::default() });
    assert_eq!(world.state, before);
}

#[test]
fn a_step_that_is_done_is_not_done_again_after_a_cancel() {
    let mut world =
        World::begin(plan(vec![to(shell("a"), "b"), to(agent("b", &json!({})), "c"), shell("c")]));
    world.exits(0);
    world.starts();
    world.signals(SignalKind::Complete, None);
    // Its agent is being ended.
    world.apply(EntryKind::PipelineCancelled { id: id(), by: "ann".to_owned() });
    world.ends();
    assert_eq!(world.phase(), PipelinePhase::Cancelled);
    world.apply(EntryKind::PipelineResumed { id: id(), step: None, by: "ann".to_owned() });
    assert_eq!(world.visits()[2], ("c".to_owned(), VisitState::Running));
}

#[test]
fn what_ends_by_itself_cannot_be_cancelled() {
    let mut world = World::begin(with_workspace(false));
    let job = world.job(|work| *work == JobWork::MakeWorkspace);
    world.result(job, JobResult::Done { note: None });
    world.exits(0);
    let error = world.pipeline().may_cancel().unwrap_err();
    assert_eq!(error.to_string(), "pipeline 7k2m9x4q is already ending");
    world.apply(EntryKind::PipelineCancelled { id: id(), by: "ann".to_owned() });
    let job = world.job(|work| *work == JobWork::RemoveWorkspace);
    world.result(job, JobResult::Done { note: None });
    assert_eq!(world.phase(), PipelinePhase::Completed);
}

#[test]
fn a_command_that_succeeds_when_its_time_is_over_has_failed() {
    let mut world = World::begin(plan(vec![shell("a")]));
    let job = world.job(|work| matches!(work, JobWork::Shell));
    let late = JobResult::Exited { code: Some(0), timed_out: true, output: String::new() };
    world.result(job, late);
    assert_eq!(world.phase(), PipelinePhase::Failed);
}

#[test]
fn a_workspace_that_was_made_is_not_made_again() {
    let mut world = World::begin(with_workspace(true));
    let job = world.job(|work| *work == JobWork::MakeWorkspace);
    world.apply(EntryKind::PipelineCancelled { id: id(), by: "ann".to_owned() });
    world.result(job, JobResult::Done { note: None });
    world.apply(EntryKind::PipelineResumed { id: id(), step: None, by: "ann".to_owned() });
    world.exits(0);
    assert_eq!(world.phase(), PipelinePhase::Completed);
}

#[test]
fn a_workspace_in_doubt_is_a_persons_to_decide() {
    for (choice, phase) in [
        ("retry", PipelinePhase::Running),
        ("skip", PipelinePhase::Running),
        ("fail", PipelinePhase::Failed),
    ] {
        let mut world = World::begin(with_workspace(true));
        let job = world.job(|work| *work == JobWork::MakeWorkspace);
        world.result(job, JobResult::InDoubt);
        world.decides(choice);
        assert_eq!(world.phase(), phase, "{choice}");
        assert_eq!(world.visits().len(), usize::from(choice == "skip"), "{choice}");
    }
}
