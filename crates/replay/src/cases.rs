//! Runs the test cases of hooks: the files of their `tests` folder, each in a scratch project.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use anyhook_engine::discover::InstalledHooks;
use anyhook_engine::dispatch::FinishedDispatch;
use anyhook_engine::hook::Trust;
use anyhook_engine::{Engine, Hook, now};
use anyhook_model::case::{Case, CaseFile, ExpectedDecision};
use anyhook_model::json::to_spaced;
use anyhook_model::report::TestedCase;
use anyhook_model::{Caller, Effect, Host, OpenFormat, SkipReason};
use serde_json::Value;

use crate::ReplayError;

/// Returns the case files of a hook's folder, in order.
pub fn case_files(folder: &Path) -> Result<Vec<PathBuf>, ReplayError> {
    let tests = folder.join("tests");
    let entries = match fs::read_dir(&tests) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(ReplayError::Unusable { path: tests, cause }),
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    Ok(files)
}

/// Runs one case in a scratch project.
pub fn test(engine: &Engine, hook: &Hook, path: &Path) -> Result<TestedCase, ReplayError> {
    let text = fs::read_to_string(path).map_err(unusable(path))?;
    let mut tested = TestedCase {
        hook: hook.name().to_owned(),
        case: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        description: None,
        passed: false,
        faults: Vec::new(),
    };
    let case: Case = match serde_json::from_str(&text) {
        Ok(case) => case,
        Err(error) => {
            tested.faults.push(format!("not a test case: {error}"));
            tested.faults.push("hint: `anyhook schema case` describes one".to_owned());
            return Ok(tested);
        }
    };
    tested.description.clone_from(&case.description);
    let scratch = tempfile::Builder::new().prefix("anyhook-test-").tempdir()?;
    let project = fs::canonicalize(scratch.path())?;
    for (name, file) in &case.files {
        if let Err(error) = lay_out(&project, name, file) {
            tested.faults.push(error.to_string());
            return Ok(tested);
        }
    }
    let caller = Caller {
        work_dir: project.clone(),
        project_dir: Some(project.clone()),
        now: now(),
        agent_id: None,
        foreign_entry: None,
    };
    let decoded =
        OpenFormat.decode(Value::Object(case.event.clone()).to_string().as_bytes(), &caller);
    let event = match decoded {
        Ok(mut events) if !events.is_empty() => events.remove(0),
        Ok(_) => return Ok(tested),
        Err(error) => {
            tested.faults.push(error.to_string());
            return Ok(tested);
        }
    };
    let variables: Vec<(OsString, OsString)> = case
        .env
        .iter()
        .map(|(name, value)| (name.into(), fill_in(value, &project).into()))
        .collect();
    // A case runs its hook explicitly, so it does not matter whether the hook is trusted or
    // overridden.
    let hook = Hook { trust: Trust::NotNeeded, ..hook.clone() };
    if let Some(fault) = hook.fault() {
        tested.faults.push(format!("the hook cannot run: {}", fault.message));
        return Ok(tested);
    }
    let mut event = event;
    if let Some(host) = hook.definition.hosts.first() {
        event.host.clone_from(host);
    }
    let alone = InstalledHooks::of(vec![hook]);
    let finished = engine.run_only(&OpenFormat, &alone, event, &variables);
    compare(&case, &finished, &project, &mut tested.faults);
    tested.passed = tested.faults.is_empty();
    Ok(tested)
}

fn unusable(path: &Path) -> impl Fn(io::Error) -> ReplayError {
    move |cause| ReplayError::Unusable { path: path.to_owned(), cause }
}

fn lay_out(project: &Path, name: &str, file: &CaseFile) -> Result<(), ReplayError> {
    let inner = Path::new(name);
    if !inner.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(ReplayError::LeadsOut(name.to_owned()));
    }
    let path = project.join(inner);
    let parent = path.parent().unwrap_or(project);
    fs::create_dir_all(parent).map_err(unusable(parent))?;
    let (content, mode) = match file {
        CaseFile::Text(content) => (content, 0o644),
        CaseFile::Program { content, executable } => {
            (content, if *executable { 0o755 } else { 0o644 })
        }
    };
    fs::write(&path, content).map_err(unusable(&path))?;
    fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(unusable(&path))
}

/// Expands `${PROJECT}`, and `${NAME}` from our own environment.
fn fill_in(value: &str, project: &Path) -> String {
    let mut filled = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            filled.push_str("${");
            rest = after;
            continue;
        };
        match name {
            "PROJECT" => filled.push_str(&project.to_string_lossy()),
            _ => filled.push_str(&std::env::var(name).unwrap_or_default()),
        }
        rest = behind;
    }
    filled + rest
}

/// Records the differences from what the case expects.
fn compare(case: &Case, finished: &FinishedDispatch, project: &Path, faults: &mut Vec<String>) {
    let expect = &case.expect;
    let run = finished.runs.first();
    let decision = run.map(|run| &run.decision);
    let found = match run {
        None => ExpectedDecision::Skipped,
        Some(run) if run.failure.is_some() => ExpectedDecision::Failed,
        // The output of an async hook is ignored, so it has no opinion.
        Some(_) if finished.verdict.effect.is_none() && !run.is_some_and(|run| run.shadow) => {
            ExpectedDecision::None
        }
        Some(run) => match run.decision.effect {
            None => ExpectedDecision::None,
            Some(Effect::Allow) => ExpectedDecision::Allow,
            Some(Effect::Ask) => ExpectedDecision::Ask,
            Some(Effect::Deny) => ExpectedDecision::Deny,
        },
    };
    if found != expect.decision {
        let why = run.and_then(|run| run.failure.as_ref().or(run.decision.reason.as_ref()));
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        faults.push(format!("expected {}, got {}{why}", expect.decision.word(), found.word()));
        if run.is_none() {
            // Hooks of other events are only counted, so they are not in the list.
            let why = finished.skipped.first().map_or(&SkipReason::OtherEvent, |left| &left.why);
            faults.push(format!("skipped: {why}"));
        }
    }
    let quoted = |text: Option<&str>| text.map_or("none".to_owned(), |text| format!("{text:?}"));
    let mut same = |what: &str, expected: Option<&str>, found: Option<&str>| {
        if let Some(expected) = expected.filter(|expected| found != Some(*expected)) {
            faults.push(format!("expected {what} {expected:?}, got {}", quoted(found)));
        }
    };
    let reason = decision.and_then(|decision| decision.reason.as_deref());
    same("reason", expect.reason.as_deref(), reason);
    let context = finished.verdict.context.as_deref();
    same("additional_context", expect.additional_context.as_deref(), context);
    let input = finished.verdict.input.as_ref();
    if let Some(expected) =
        expect.modified_input.as_ref().filter(|expected| input != Some(*expected))
    {
        let found = input.map_or_else(|| "none".to_owned(), to_spaced);
        faults.push(format!("expected modified_input {}, got {found}", to_spaced(expected)));
    }
    if let Some(part) = expect
        .reason_contains
        .as_deref()
        .filter(|part| !reason.is_some_and(|reason| reason.contains(part)))
    {
        faults.push(format!("expected a reason with {part:?}, got {}", quoted(reason)));
    }
    for (name, expected) in &expect.files {
        let found = fs::read(project.join(name))
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if found != *expected {
            let (expected, found) = (quoted(expected.as_deref()), quoted(found.as_deref()));
            faults.push(format!("expected file {name}: {expected}, got {found}"));
        }
    }
}
