//! What a session should know when it starts: branch, changes, last commits, open tasks, files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhook_engine::redact;
use anyhook_model::EventKind;
use anyhook_model::truncate::first_bytes;
use serde::Deserialize;

use crate::Place;
use crate::answer::Answer;
use crate::checkpoint::git::Git;
use crate::event::Event;
use crate::options::GuardError;

/// Files with open tasks, by the names that are in use.
const TODO_FILES: [&str; 6] =
    ["TODO.md", "TODO", "todo.md", "docs/TODO.md", "TODO.txt", ".agents/TODO.md"];

/// Options of the pack `context-on-start`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextOptions {
    git: bool,
    commits: usize,
    changed_files: usize,
    todo: bool,
    files: Vec<String>,
    max_bytes: usize,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            git: true,
            commits: 5,
            changed_files: 20,
            todo: true,
            files: Vec::new(),
            max_bytes: 6000,
        }
    }
}

/// Returns the answer to an event.
pub fn decide(
    event: &Event,
    options: &ContextOptions,
    place: &Place,
) -> Result<Answer, GuardError> {
    if event.kind != EventKind::SessionStart {
        return Ok(Answer::none());
    }
    let mut parts = Vec::new();
    if options.git {
        parts.push(of_repository(&place.project, options));
    }
    let todo = TODO_FILES.iter().find(|name| place.project.join(name).is_file());
    let todo = todo.filter(|_| options.todo).map(|name| (*name).to_owned());
    let share = options.max_bytes / (options.files.len() + 1).max(1);
    for name in todo.into_iter().chain(options.files.iter().cloned()) {
        parts.push(of_file(&place.project, &name, share)?);
    }
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    if text.is_empty() {
        return Ok(Answer::none());
    }
    let text = redact::without_secrets(text);
    Ok(Answer::context(first_bytes(&text, options.max_bytes)))
}

/// Returns the branch, the changed files and the last commits; nothing without a repository.
fn of_repository(project: &Path, options: &ContextOptions) -> Option<String> {
    let git = Git::new(project);
    let told = |arguments: &[&str]| {
        let output = git.output(arguments).ok()?;
        Some(String::from_utf8_lossy(&output).trim_end().to_owned())
    };
    let status = told(&["status", "--porcelain", "--branch"])?;
    let mut lines = status.lines();
    let branch = lines.next().unwrap_or_default().trim_start_matches("## ");
    let mut text = format!("Branch: {branch}");
    let changed: Vec<&str> = lines.collect();
    if changed.is_empty() {
        text += "\nNo uncommitted changes.";
    } else {
        text += &format!("\nUncommitted changes ({} files):", changed.len());
        changed.iter().take(options.changed_files).for_each(|line| text += &format!("\n{line}"));
        if changed.len() > options.changed_files {
            text += "\n…";
        }
    }
    let count = format!("-{}", options.commits);
    if let Some(log) = told(&["log", &count, "--format=%h %ad %s", "--date=short"])
        && options.commits > 0
        && !log.is_empty()
    {
        text += &format!("\nLast commits:\n{log}");
    }
    Some(text)
}

/// Returns a file of the project with its name; nothing if there is none.
fn of_file(project: &Path, name: &str, most: usize) -> Result<Option<String>, GuardError> {
    let path = inside(project, name)?;
    let Ok(file) = File::open(&path) else { return Ok(None) };
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    if !file.metadata().is_ok_and(|about| about.is_file())
        || file.take(limit).read_to_end(&mut bytes).is_err()
    {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes);
    let shown = first_bytes(&text, most).trim_end();
    let more = if bytes.len() > most { "\n…" } else { "" };
    Ok((!shown.is_empty()).then(|| format!("{name}:\n{shown}{more}")))
}

/// Returns a path of an option in the project; one that leads elsewhere is an error.
pub fn inside(project: &Path, name: &str) -> Result<std::path::PathBuf, GuardError> {
    let is_plain =
        |part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir);
    if name.is_empty() || !Path::new(name).components().all(is_plain) {
        return Err(GuardError::Options(format!("`{name}` is not a path in the project")));
    }
    Ok(project.join(name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use serde_json::{Value, json};

    use super::*;
    use crate::options;

    fn context(project: &Path, options: &Value) -> Result<Answer, GuardError> {
        let event = Event::new(json!({"event_type": "session_start"}));
        let place = Place { project: project.to_owned(), ..Place::of_tests("/p") };
        decide(&event, &options::read(options).unwrap(), &place)
    }

    #[test]
    fn a_repository_with_tasks() {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let who = ["-c", "user.name=x", "-c", "user.email=x@x"];
            let ran =
                Command::new("git").args(who).args(arguments).current_dir(folder.path()).status();
            assert!(ran.unwrap().success());
        };
        git(&["init", "--quiet", "--initial-branch=topic"]);
        fs::write(folder.path().join("TODO.md"), "- [ ] first\n").unwrap();
        git(&["add", "-A"]);
        git(&["commit", "--quiet", "-m", "the beginning"]);
        fs::write(folder.path().join("new"), "").unwrap();
        let text = context(folder.path(), &Value::Null).unwrap().context.unwrap();
        let parts = [
            "Branch: topic\n",
            "(1 files):\n?? new\n",
            " the beginning\n\n",
            "TODO.md:\n- [ ] first",
        ];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert_eq!(
            context(folder.path(), &json!({"git": false, "todo": false})).unwrap(),
            Answer::none()
        );
    }

    #[test]
    fn files_are_cut_and_stay_in_the_project() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "x".repeat(10_000)).unwrap();
        let options = json!({"git": false, "files": ["a", "none"], "max_bytes": 300});
        let text = context(folder.path(), &options).unwrap().context.unwrap();
        assert!(text.len() <= 300 && text.ends_with("x\n…"), "{text}");
        for name in ["../a", "/etc/passwd", ""] {
            let error = context(folder.path(), &json!({"files": [name]})).unwrap_err().to_string();
            assert!(error.contains("is not a path in the project"), "{error}");
        }
    }
}
