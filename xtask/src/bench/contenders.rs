//! The contenders of the benchmark: the yardsticks and our program in its usual and its hardest
//! situations.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::events;
use super::measure::{Contender, RowKind, time};
use super::project::{BenchHook, BenchProject, HOOK, index_folder};

// The names of rows that goals are about.
pub const LIMIT: &str = "a static no-op";
pub const TRUE: &str = "/bin/true";
pub const CAT_LARGE: &str = "cat of the 1 MB event";
pub const SCRIPT: &str = "the sh script alone";
pub const TEN: &str = "anyhook, 10 hooks, none matches";
pub const HUNDRED: &str = "anyhook, 100 hooks, none matches";
pub const THOUSAND: &str = "anyhook, 1000 hooks, none matches";
pub const LARGE_FILE: &str = "anyhook, 100 hooks, 1 MB for another tool";
pub const LARGE_COMMAND: &str = "anyhook, 100 hooks, 1 MB that they search";
pub const ONE: &str = "anyhook, one matching sh hook";
pub const GUARDS: &str = "anyhook, 100 declarative guards, none matches";
pub const GUARD: &str = "anyhook, 100 declarative guards, one matches";
pub const THOUSAND_GUARDS: &str = "anyhook, 1000 declarative guards, none matches";
pub const STATUS_LINE: &str = "anyhook status-line";
pub const REBUILT: &str = "anyhook, 1000 hooks, index from nothing";

/// After this long every change of a file counts as old.
const SETTLED: Duration = Duration::from_secs(5);
/// How often a hook is edited to check that each edit takes effect.
const EDITS: usize = 20;
/// What the ordinary event's command starts with.
const BEGINNING: &str = "echo let e";

/// All contenders except the peers, with lines about those that cannot take part.
pub struct Contenders {
    pub list: Vec<Contender>,
    pub left_out: Vec<String>,
    /// The ordinary event.
    pub event: PathBuf,
}

/// Makes a home folder for each contender and lists them all.
pub fn list(
    place: &BenchProject,
    anyhook: &Path,
    whole: &Path,
    limit: &Path,
) -> Result<Contenders> {
    let project = &place.project;
    let small = place.file("event.json", &events::command(project, events::SMALL)?)?;
    let file = place.file("file.json", &events::file(project, events::LARGE)?)?;
    let command = place.file("command.json", &events::command(project, events::LARGE)?)?;
    let huge = place.file("huge.json", &events::file(project, events::HUGE)?)?;

    let empty = place.home("none", 0)?;
    let hundred = place.home("hundred", 100)?;
    let thousand = place.home("thousand", 1000)?;
    let rebuilt = place.home("rebuilt", 1000)?;
    let closed = place.home_with("closed", 100, "on_failure: block\n")?;
    let matching = BenchHook { name: "bench-match", pattern: "echo", exit_code: 0, lines: "" };
    let one = place.home("one", 0)?;
    let script = matching.write(&one)?;
    let among = place.home("among", 99)?;
    matching.write(&among)?;

    let plain = |name: &str, program: &Path, event: &Path| Contender {
        name: name.to_owned(),
        kind: RowKind::Yardstick,
        program: program.to_owned(),
        arguments: Vec::new(),
        home: empty.clone(),
        event: event.to_owned(),
        every: 1,
        without: None,
    };
    let hook = |name: &str, home: &Path, event: &Path| Contender {
        name: name.to_owned(),
        kind: RowKind::Anyhook,
        program: anyhook.to_owned(),
        arguments: HOOK.map(str::to_owned).to_vec(),
        home: home.to_owned(),
        event: event.to_owned(),
        every: 1,
        without: None,
    };
    let mut list = vec![
        plain(LIMIT, limit, &small),
        plain(TRUE, "/bin/true".as_ref(), &small),
        plain("cat of the 1 KB event", "/bin/cat".as_ref(), &small),
        plain(CAT_LARGE, "/bin/cat".as_ref(), &file),
        plain(SCRIPT, &script, &small),
        hook("anyhook, no hooks", &empty, &small),
        hook(TEN, &place.home("ten", 10)?, &small),
        hook(HUNDRED, &hundred, &small),
        hook(THOUSAND, &thousand, &small),
        hook("anyhook, 100 hooks that fail closed, none matches", &closed, &small),
        Contender {
            program: whole.to_owned(),
            ..hook("the same by the full program, 100 hooks", &hundred, &small)
        },
        hook(LARGE_FILE, &hundred, &file),
        hook(LARGE_COMMAND, &hundred, &command),
        Contender {
            every: 20,
            ..hook("anyhook, 100 hooks, 10 MB for another tool", &hundred, &huge)
        },
        hook(ONE, &one, &small),
        hook("anyhook, one matching sh hook among 100", &among, &small),
        hook(GUARDS, &place.home_of_guards("guards", 100, false)?, &small),
        hook(GUARD, &place.home_of_guards("guard", 100, true)?, &small),
        hook(THOUSAND_GUARDS, &place.home_of_guards("thousand-guards", 1000, false)?, &small),
        // Claude Code writes to it what an event has, too: the session and the folder.
        Contender {
            program: whole.to_owned(),
            arguments: vec!["status-line".to_owned()],
            ..hook(STATUS_LINE, &hundred, &small)
        },
    ];
    let mut left_out = Vec::new();
    let index = index_folder(&rebuilt);
    let rebuilt = Contender { without: Some(index.clone()), ..hook(REBUILT, &rebuilt, &small) };
    if makes_an_index(place, &rebuilt, &index)? {
        list.push(rebuilt);
    } else {
        left_out.push(format!("{REBUILT}: there is no index after an event"));
    }
    Ok(Contenders { list, left_out, event: small })
}

/// Returns whether the program leaves an index behind: not for hooks that were changed just now.
fn makes_an_index(place: &BenchProject, contender: &Contender, index: &Path) -> Result<bool> {
    let began = Instant::now();
    loop {
        time(place, contender)?;
        let writes_something = contender.home.join("state").exists();
        if index.exists() || !writes_something || began.elapsed() > SETTLED {
            return Ok(index.exists());
        }
    }
}

/// Checks that what is measured matches its name: a hook that matches is run, and an edit is seen
/// by the very next event, however soon after the last one it is made.
pub fn prove(place: &BenchProject, anyhook: &Path, event: &Path) -> Result<()> {
    let home = place.home("proof", 100)?;
    for turn in 0..EDITS {
        // Of the same length, so that the file's size does not reveal the edit.
        let (pattern, wanted) = if turn % 2 == 0 { ("never-0050", 0) } else { (BEGINNING, 2) };
        BenchHook { name: "bench-0050", pattern, exit_code: 2, lines: "" }.write(&home)?;
        for _ in 0..2 {
            let status = place.hook_call(anyhook, &home, event)?.status()?;
            if status.code() != Some(wanted) {
                bail!(
                    "with the pattern `{pattern}` (edit {turn}), anyhook ended with {status}, \
                     not with {wanted}"
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_runs_no_hook_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let place = BenchProject::make(folder.path()).unwrap();
        let text = events::command(&place.project, events::SMALL).unwrap();
        assert!(text.contains(BEGINNING), "{text}");
        let event = place.file("event.json", &text).unwrap();
        let error = prove(&place, Path::new("/bin/true"), &event).unwrap_err();
        assert!(error.to_string().contains("not with 2"), "{error}");
    }

    #[test]
    fn without_an_index_its_row_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let place = BenchProject::make(folder.path()).unwrap();
        let found =
            list(&place, "/bin/true".as_ref(), "/bin/true".as_ref(), "/bin/true".as_ref()).unwrap();
        assert!(found.list.iter().all(|one| one.name != REBUILT));
        assert_eq!(found.left_out.len(), 1);
        let mut names: Vec<_> = found.list.iter().map(|one| &one.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), found.list.len(), "a row is found by its name");
    }
}
