//! Sends events through hooks, side by side, each in a scratch folder of its own.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use anyhook_engine::discover::Installed;
use anyhook_engine::dispatch::Finished;
use anyhook_engine::{Engine, Hook};
use anyhook_model::OpenFormat;

use super::source::Item;
use crate::environment::Environment;
use crate::error::Trouble;
use crate::hook::find_host;
use crate::progress::Progress;

/// Tries the hooks on every item; the results come in the order of the items.
pub fn all(
    hooks: Vec<Hook>,
    items: &[Item],
    jobs: usize,
    environment: &Environment,
) -> Result<Vec<Finished>, Trouble> {
    let installed = Installed::of(hooks);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut progress = Progress::new("replaying", items.len() as u64);
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            let (installed, next, sender) = (&installed, &next, sender.clone());
            scope.spawn(move || {
                let engine = Engine::new(environment.places.clone());
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    if sender.send((index, one(&engine, installed, item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut results: Vec<Option<Finished>> = items.iter().map(|_| None).collect();
        for (done, (index, result)) in receiver.iter().enumerate() {
            results[index] = Some(result?);
            progress.at(done as u64 + 1);
        }
        Ok(results.into_iter().flatten().collect())
    })
}

/// Tries the hooks on one event.
fn one(engine: &Engine, installed: &Installed, item: &Item) -> Result<Finished, Trouble> {
    let is_tried = |name: &str| installed.hooks.iter().any(|standing| standing.hook.name() == name);
    let mut event = item.event_at_turn_of(is_tried);
    let is_due = installed.hooks.iter().any(|standing| {
        standing.hook.definition.triggers.iter().any(|trigger| trigger.kind == event.kind)
    });
    let mut scratch = None;
    let mut variables = Vec::new();
    if is_due {
        let folder = tempfile::Builder::new().prefix("anyhook-replay-").tempdir()?;
        let project = folder.path().join("project");
        std::fs::create_dir(&project)?;
        variables = home_variables(folder.path());
        event.project_dir = Some(project);
        scratch = Some(folder);
    }
    let host = find_host(&event.host).unwrap_or(&OpenFormat);
    let finished = engine.run_apart(host, installed, event, &variables);
    drop(scratch);
    Ok(finished)
}

/// Returns variables that keep a script from the person's own files.
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
