//! Reports which hooks are off when a session begins, so that no one believes they are guarded when
//! they are not.

use std::path::Path;

use anyhook_model::{Alarm, AlarmKind, SkipReason};

use crate::discover::{HookStatus, InstalledHooks};
use crate::failure_streak;
use crate::hook::{Hook, Trust};
use crate::script_check;

/// At most this many hooks are named per reason; the others are counted.
const NAMED: usize = 4;

/// Reports which hooks are off, why, and the command that helps: one alarm per reason.
pub fn hooks_off(installed: &InstalledHooks, state: &Path) -> Vec<Alarm> {
    let with = |is_it: &dyn Fn(&HookStatus) -> bool| -> Vec<&Hook> {
        let standing = installed.hooks.iter().filter(|standing| is_it(standing));
        standing.map(|standing| &standing.hook).collect()
    };
    let untrusted = with(&|standing| standing.out == Some(SkipReason::Untrusted));
    let changed = with(&|standing| {
        standing.out.is_none() && matches!(standing.hook.trust, Trust::Changed(_))
    });
    let is_unusable = |standing: &HookStatus| {
        standing.out.is_none()
            && standing.hook.fault().is_some()
            && !matches!(standing.hook.trust, Trust::Changed(_))
    };
    let unusable = with(&|standing| is_unusable(standing) && !standing.hook.blocks_on_failure());
    let blocking = with(&|standing| is_unusable(standing) && standing.hook.blocks_on_failure());
    // Most hooks have never failed, and then there is no folder.
    let has_failures = failure_streak::folder(state).is_dir();
    let is_sound =
        |standing: &HookStatus| standing.out.is_none() && standing.hook.fault().is_none();
    let cannot_start = with(&|standing| is_sound(standing) && cannot_start(&standing.hook));
    let failing = with(&|standing| {
        has_failures
            && is_sound(standing)
            && !cannot_start.iter().any(|known| known.folder == standing.hook.folder)
            && failure_streak::worth_telling(state, &standing.hook).is_some()
    });
    let reasons = [
        (
            untrusted,
            "not trusted, so it won't run",
            "not trusted, so they won't run",
            "anyhook trust",
        ),
        (
            changed,
            "changed since it was trusted",
            "changed since they were trusted",
            "anyhook trust",
        ),
        (unusable, "unusable", "unusable", "anyhook check"),
        (
            cannot_start,
            "its script cannot be started",
            "their scripts cannot be started",
            "anyhook check",
        ),
        (failing, "failing every time", "failing every time", "anyhook doctor"),
    ];
    let off = reasons
        .into_iter()
        .filter(|(hooks, ..)| !hooks.is_empty())
        .map(|(hooks, one, several, command)| off(&hooks, one, several, command));
    let blocking = (!blocking.is_empty()).then(|| {
        let names = names(&blocking);
        let words = match &blocking[..] {
            [_] => "1 guard is broken, so it blocks every call it guards",
            _ => "guards are broken, so they block every call they guard",
        };
        let count = if blocking.len() > 1 { format!("{} ", blocking.len()) } else { String::new() };
        let text = format!("{count}{words}: {names} (anyhook check)");
        Alarm { kind: AlarmKind::HooksOff, hook: None, text }
    });
    off.chain(blocking).collect()
}

/// Returns whether a hook's script cannot be started, so that there is no need to wait until it
/// fails.
fn cannot_start(hook: &Hook) -> bool {
    let script = hook.entry.as_ref().filter(|entry| entry.interpreter.is_none());
    script.is_some_and(|entry| script_check::unstartable(&entry.script).is_some())
}

/// Names hooks; if there are many, names some and counts the rest.
fn names(hooks: &[&Hook]) -> String {
    let mut names: Vec<String> =
        hooks.iter().map(|hook| hook.name().to_owned()).take(NAMED).collect();
    let more = hooks.len() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// Formats one reason.
fn off(hooks: &[&Hook], one: &str, several: &str, command: &str) -> Alarm {
    let names = names(hooks);
    let text = match hooks {
        [_] => format!("1 hook is off, {one}: {names} ({command})"),
        _ => format!("{} hooks are off, {several}: {names} ({command})", hooks.len()),
    };
    Alarm { kind: AlarmKind::HooksOff, hook: None, text }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use anyhook_model::{FailMode, RunOutcome, RunRecord};

    use super::*;
    use crate::hook::Level;
    use crate::problem::{Problem, Severity};

    fn hook(name: &str, level: Level, trust: Trust) -> Hook {
        let folder = PathBuf::from(format!("/{}/{name}", level.word()));
        let mut hook = Hook::unread(&folder, level);
        hook.definition.on_failure = FailMode::Block;
        hook.trust = trust;
        hook
    }

    fn texts(hooks: Vec<Hook>, state: &Path) -> Vec<String> {
        hooks_off(&InstalledHooks::of(hooks), state).into_iter().map(|alarm| alarm.text).collect()
    }

    #[test]
    fn one_line_for_each_reason_and_none_when_all_is_well() {
        let state = tempfile::tempdir().unwrap();
        let good = hook("good", Level::User, Trust::NotNeeded);
        assert_eq!(texts(vec![good.clone()], state.path()), [] as [&str; 0]);
        let changed = hook("moved", Level::Project, Trust::Changed("it has".to_owned()));
        let mut broken = hook("broken", Level::User, Trust::NotNeeded);
        broken.problems.push(Problem::new("regex", Severity::Unusable, "no expression"));
        let mut hooks = vec![good, changed, broken];
        hooks.extend((0..6).map(|at| hook(&format!("p{at}"), Level::Project, Trust::Never)));
        assert_eq!(
            texts(hooks, state.path()),
            [
                "6 hooks are off, not trusted, so they won't run: p0, p1, p2, p3, 2 more (anyhook trust)",
                "1 hook is off, changed since it was trusted: moved (anyhook trust)",
                "1 guard is broken, so it blocks every call it guards: broken (anyhook check)",
            ]
        );
    }

    #[test]
    fn a_hook_that_fails_every_time_is_named() {
        let state = tempfile::tempdir().unwrap();
        let good = hook("good", Level::User, Trust::NotNeeded);
        fs::create_dir_all(state.path()).unwrap();
        let run = RunRecord {
            hook: "good".to_owned(),
            folder: good.folder_text(),
            shadow: false,
            outcome: Some(RunOutcome::Exited(1)),
            decision: anyhook_model::Decision::default(),
            failure: Some("exit code 1".to_owned()),
            notes: Vec::new(),
            stdout: String::new(),
            stderr: String::new(),
            took_us: 0,
        };
        for _ in 0..4 {
            failure_streak::remember(state.path(), &run);
        }
        assert_eq!(texts(vec![good.clone()], state.path()), [] as [&str; 0]);
        failure_streak::remember(state.path(), &run);
        assert_eq!(
            texts(vec![good], state.path()),
            ["1 hook is off, failing every time: good (anyhook doctor)"]
        );
    }
}
