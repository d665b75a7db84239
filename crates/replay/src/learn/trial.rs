//! Tries proposed hooks: each on its test cases, and all on the past events.

use std::collections::{HashMap, HashSet};

use anyhook_engine::Engine;
use anyhook_hook::environment::Environment;
use anyhook_model::Effect;
use anyhook_model::report::learn::{HookProposal, LeftOutGroup, ProposedTest};

use super::history::PastCall;
use super::hook_text::{self, WrittenHook};
use super::propose::counts;
use crate::source::PastPayload;
use crate::{ReplayError, cases, sandbox_run};

/// Returns the proposals that do what they were made for, with what each would have done.
///
/// They run in shadow mode, as they are going to be installed: so each decides for itself.
pub fn judge(
    written: Vec<WrittenHook>,
    calls: &[PastCall],
    payloads: &[PastPayload],
    environment: &Environment,
    progress: &mut dyn FnMut(u64),
    left_out: &mut Vec<LeftOutGroup>,
) -> Result<Vec<HookProposal>, ReplayError> {
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let decided = replay(&written, calls, payloads, environment, progress)?;
    let engine = Engine::new(environment.places.clone());
    let mut proposals = Vec::new();
    for mut one in written {
        let decided = decided.get(one.hook.name()).cloned().unwrap_or_default();
        one.tests = sound_tests(&one, &engine)?;
        let candidate = &one.candidate;
        if is_sound(&one, &decided, calls) {
            proposals.push(proposal(one, &decided, calls));
        } else {
            left_out.push(LeftOutGroup {
                subject: hook_text::about(candidate),
                why: "a replay decided otherwise than people did".to_owned(),
                calls: candidate.group.clone(),
            });
        }
    }
    Ok(proposals)
}

/// Returns the calls that each hook decided about.
fn replay(
    written: &[WrittenHook],
    calls: &[PastCall],
    payloads: &[PastPayload],
    environment: &Environment,
    progress: &mut dyn FnMut(u64),
) -> Result<HashMap<String, HashSet<usize>>, ReplayError> {
    let hooks = written.iter().map(|one| one.hook.clone()).collect();
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let tried =
        sandbox_run::all(hooks, payloads, jobs, environment, progress, |item, finished| {
            let decided = finished.runs.iter().filter(|run| run.decision.effect.is_some());
            (item.id.clone(), decided.map(|run| run.hook.clone()).collect::<Vec<String>>())
        })?;
    let of_record: HashMap<&str, usize> = calls
        .iter()
        .enumerate()
        .flat_map(|(index, call)| call.records.iter().map(move |id| (id.as_str(), index)))
        .collect();
    let mut decided: HashMap<String, HashSet<usize>> = HashMap::new();
    for (id, hooks) in tried.into_iter().flatten().flatten() {
        let Some(index) = of_record.get(id.as_str()) else { continue };
        for hook in hooks {
            decided.entry(hook).or_default().insert(*index);
        }
    }
    Ok(decided)
}

/// Returns whether a hook decides about every call that it was made from, and against none.
fn is_sound(one: &WrittenHook, decided: &HashSet<usize>, calls: &[PastCall]) -> bool {
    let candidate = &one.candidate;
    // A hook that allows runs only where the agent asked.
    let is_covered = candidate.examples.iter().all(|index| decided.contains(index));
    let is_against = |index: &usize| match candidate.effect {
        Effect::Deny => calls[*index].outcome.is_fine(),
        Effect::Allow => calls[*index].outcome.is_denial(),
        Effect::Ask => false,
    };
    is_covered && !decided.iter().any(is_against) && one.tests.len() > 1
}

/// Returns the test cases that pass: in a scratch project, some calls cannot be repeated.
fn sound_tests(one: &WrittenHook, engine: &Engine) -> Result<Vec<ProposedTest>, ReplayError> {
    let scratch = tempfile::Builder::new().prefix("anyhook-learn-").tempdir()?;
    let mut sound = Vec::new();
    for test in &one.tests {
        let path = scratch.path().join(format!("{}.json", test.name));
        std::fs::write(&path, test.case.to_string())?;
        if cases::test(engine, &one.hook, &path)?.passed {
            sound.push(test.clone());
        }
    }
    Ok(sound)
}

fn proposal(one: WrittenHook, decided: &HashSet<usize>, calls: &[PastCall]) -> HookProposal {
    let WrittenHook { candidate, description, text, hook, tests } = one;
    HookProposal {
        name: hook.name().to_owned(),
        description,
        decision: candidate.effect,
        about: hook_text::about(&candidate),
        hook_file: text,
        tests,
        evidence: hook_text::evidence(&candidate, calls).map(str::to_owned).collect(),
        projects: candidate.places.iter().cloned().collect(),
        would_have_decided: counts(decided.iter().map(|index| &calls[*index])),
        group: candidate.group,
    }
}
