//! Runs hooks on past events in parallel, each event in its own scratch folder.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use anyhook_engine::discover::InstalledHooks;
use anyhook_engine::dispatch::FinishedDispatch;
use anyhook_engine::{Engine, Hook};
use anyhook_hook::environment::Environment;
use anyhook_hook::find_host;
use anyhook_model::OpenFormat;

use crate::ReplayError;
use crate::source::{PastEvent, PastPayload};

/// Runs the hooks on the events of every payload, and reports how many payloads are processed.
/// Returns what `judge` makes of each event, in the order of the payloads; `None` for one that
/// cannot be reconstructed.
pub fn all<Judged: Send>(
    hooks: Vec<Hook>,
    payloads: &[PastPayload],
    jobs: usize,
    environment: &Environment,
    progress: &mut dyn FnMut(u64),
    judge: impl Fn(&PastEvent, &FinishedDispatch) -> Judged + Sync,
) -> Result<Vec<Option<Vec<Judged>>>, ReplayError> {
    let names: HashSet<String> = hooks.iter().map(|hook| hook.name().to_owned()).collect();
    let installed = InstalledHooks::of(hooks);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(payloads.len()) {
            let (installed, names, next, sender) = (&installed, &names, &next, sender.clone());
            let judge = &judge;
            scope.spawn(move || {
                let engine = Engine::new(environment.places.clone());
                let journal = environment.journal();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(payload) = payloads.get(index) else { break };
                    // Events are reconstructed one payload at a time: they may be large.
                    let judged = payload.items(journal.as_ref()).map(|items| {
                        let run = |item| run(&engine, installed, names, item);
                        let one = |item| Ok(judge(item, &run(item)?));
                        items.iter().map(one).collect::<Result<Vec<Judged>, ReplayError>>()
                    });
                    if sender.send((index, judged.transpose())).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut results: Vec<Option<Vec<Judged>>> = payloads.iter().map(|_| None).collect();
        let mut done = 0;
        // Consumed by value: an error stops all workers.
        for (index, result) in receiver {
            results[index] = result?;
            done += 1;
            progress(done);
        }
        Ok(results)
    })
}

/// Runs the hooks on one event.
fn run(
    engine: &Engine,
    installed: &InstalledHooks,
    names: &HashSet<String>,
    item: &PastEvent,
) -> Result<FinishedDispatch, ReplayError> {
    let mut event = item.event_at_turn_of(|name| names.contains(name));
    // A declarative hook starts nothing, so it needs no folder.
    let is_due = installed.hooks.iter().any(|standing| {
        let definition = &standing.hook.definition;
        definition.answer.is_none()
            && definition.triggers.iter().any(|trigger| trigger.kind == event.kind)
    });
    let mut scratch = None;
    let mut variables = Vec::new();
    let mut installed = Cow::Borrowed(installed);
    if is_due {
        let folder = tempfile::Builder::new().prefix("anyhook-replay-").tempdir()?;
        let project = folder.path().join("project");
        std::fs::create_dir(&project)?;
        variables = home_variables(folder.path());
        // Scripts run in an empty project, but what they match was in the real one.
        for standing in &mut installed.to_mut().hooks {
            standing.hook.root = Some(project.clone());
        }
        let recorded = item.record.as_ref().and_then(|record| record.project_dir.as_ref());
        event.project_dir = recorded.map(PathBuf::from).or(event.project_dir);
        scratch = Some(folder);
    }
    let host = find_host(&event.host).unwrap_or(&OpenFormat);
    let finished = engine.run_only(host, &installed, event, &variables);
    drop(scratch);
    Ok(finished)
}

/// Returns variables that keep a script away from the person's own files.
fn home_variables(folder: &Path) -> Vec<(OsString, OsString)> {
    let inner = |name: &str| folder.join(name).into_os_string();
    [
        ("HOME", folder.as_os_str().to_owned()),
        ("XDG_CONFIG_HOME", inner(".config")),
        ("XDG_STATE_HOME", inner(".local/state")),
        ("XDG_DATA_HOME", inner(".local/share")),
        ("XDG_CACHE_HOME", inner(".cache")),
        ("TMPDIR", folder.as_os_str().to_owned()),
        ("ANYHOOK_REPLAY", "1".into()),
    ]
    .map(|(name, value)| (name.into(), value))
    .to_vec()
}
