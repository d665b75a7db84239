//! To move the project away from its guards: by links, worktrees, clones and other folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::attack_fixture::{EVIL, Host, NAME, Reply, SHELL_GUARD, World, denying, in_time};
use super::{Attempt, Outcome, Seen};

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    command.args([
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "init.defaultBranch=main",
    ]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// A repository with one commit and a trusted guard of its own.
fn world(host: Host) -> Result<World, String> {
    let world = World::empty();
    let project = world.project();
    fs::remove_dir_all(project.join(".git")).unwrap();
    world.env.project_hook(NAME, SHELL_GUARD, &denying());
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "first"]);
    let trusted = world.run(&["trust", "--all"]);
    if trusted.code != 0 {
        return Err(format!("`trust` does not work: {trusted:?}"));
    }
    world.is_guarded(host)?;
    Ok(world)
}

/// Asks in a folder, in a session.
fn ask(world: &World, host: Host, session: &str, folder: &Path, command: &str) -> Reply {
    let input = json!({"command": command});
    let payload = host.call_in(session, host.shell_tool(), &input, folder);
    let mut hook = world.env.command(&["hook", host.name()]);
    // The project may be gone.
    hook.current_dir(world.env.home());
    in_time(&hook, payload.to_string().as_bytes())
}

/// Where the next call comes from, after something was moved.
type Move = fn(&Path) -> PathBuf;
const MOVES: [(&str, &str, Move); 17] = [
    (
        "The project is moved, and a link leads to it",
        "the same folder, the same session",
        |project| {
            fs::rename(project, project.with_file_name("moved")).unwrap();
            symlink("moved", project).unwrap();
            project.to_owned()
        },
    ),
    (
        "The project is moved, and the call comes from there",
        "the new folder, the same session",
        |project| {
            fs::rename(project, project.with_file_name("moved")).unwrap();
            project.with_file_name("moved")
        },
    ),
    (
        "The project is copied, and the call comes from the copy",
        "`cp -a`, the same session",
        |project| {
            let copy = project.with_file_name("copy");
            assert!(
                Command::new("cp").arg("-a").arg(project).arg(&copy).status().unwrap().success()
            );
            copy
        },
    ),
    ("The call comes from a worktree", "`git worktree add`, the same session", |project| {
        git(project, &["worktree", "add", "-q", "../tree"]);
        project.with_file_name("tree")
    }),
    (
        "The call comes from a worktree inside the project",
        "`git worktree add`, the same session",
        |project| {
            git(project, &["worktree", "add", "-q", "inner"]);
            project.join("inner")
        },
    ),
    ("The call comes from a link to the project", "`ln -s`, the same session", |project| {
        let link = project.with_file_name("link");
        symlink(project, &link).unwrap();
        link
    }),
    ("The call comes from a folder inside the project", "`mkdir`, the same session", |project| {
        fs::create_dir_all(project.join("a/b/c")).unwrap();
        project.join("a/b/c")
    }),
    (
        "The call comes from another repository inside the project",
        "`git init inner`, the same session",
        |project| {
            fs::create_dir_all(project.join("inner")).unwrap();
            git(&project.join("inner"), &["init", "-q"]);
            project.join("inner")
        },
    ),
    (
        "The call comes from a nested project with hooks of its own",
        "`mkdir -p inner/.agents/hooks`",
        |project| {
            fs::create_dir_all(project.join("inner/.agents/hooks")).unwrap();
            project.join("inner")
        },
    ),
    ("The call comes from the home folder", "`cd`, the same session", |project| {
        project.parent().unwrap().to_owned()
    }),
    ("The call comes from `/`", "`cd /`, the same session", |_| PathBuf::from("/")),
    ("The call comes from a folder that is not there", "the same session", |project| {
        project.join("not/there")
    }),
    ("The call comes from a folder that was removed", "`rmdir`, the same session", |project| {
        let folder = project.join("gone");
        fs::create_dir(&folder).unwrap();
        fs::remove_dir(&folder).unwrap();
        folder
    }),
    ("The call's folder goes up out of the project", "`..`, the same session", |project| {
        project.join("..").join("..")
    }),
    ("The repository's `.git` is removed", "`rm -r .git`, the same session", |project| {
        fs::remove_dir_all(project.join(".git")).unwrap();
        project.to_owned()
    }),
    ("The repository's `.git` leads elsewhere", "`.git` as a file, the same session", |project| {
        fs::rename(project.join(".git"), project.with_file_name("git")).unwrap();
        fs::write(project.join(".git"), "gitdir: ../git\n").unwrap();
        project.to_owned()
    }),
    ("A branch without the guard is checked out", "`git checkout`, the same session", |project| {
        git(project, &["checkout", "-q", "--orphan", "bare"]);
        git(project, &["rm", "-rqf", "."]);
        project.to_owned()
    }),
];

fn by_move(host: Host, session: &str, place: Move) -> Seen {
    let world = world(host)?;
    let folder = place(&world.project());
    match ask(&world, host, session, &folder, EVIL).verdict()? {
        // That what was trusted is gone or changed blocks; it is as good as the guard's no.
        Outcome::Blocked => Ok(Outcome::Denied),
        other => Ok(other),
    }
}

/// A session that was first seen elsewhere.
fn seen_elsewhere(host: Host, elsewhere: fn(&Path) -> PathBuf) -> Seen {
    let world = world(host)?;
    let other = elsewhere(&world.project());
    let first = ask(&world, host, "s7", &other, "ls");
    if !first.passes() {
        return Err(format!("a harmless call does not pass elsewhere: {first:?}"));
    }
    ask(&world, host, "s7", &world.project(), EVIL).verdict()
}

/// A variable that names another project.
fn by_variable(value: fn(&Path) -> PathBuf) -> Seen {
    let host = Host::Claude;
    let world = world(host)?;
    let mut command = world.env.command(&["hook", host.name()]);
    command.env("CLAUDE_PROJECT_DIR", value(&world.project()));
    let input = json!({"command": EVIL});
    let payload = host.call_in("s8", host.shell_tool(), &input, &world.project());
    in_time(&command, payload.to_string().as_bytes()).verdict()
}

fn another(project: &Path) -> PathBuf {
    let other = project.with_file_name("other");
    fs::create_dir_all(&other).unwrap();
    git(&other, &["init", "-q"]);
    other
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, how, place)) in MOVES.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("{how}, in `{}`", host.name());
        list.push(Attempt::new(what, how, Outcome::Denied, move || by_move(host, "s1", place)));
    }
    // In a new session: there trust must follow content and repository, not the path.
    for number in [0, 1, 3, 4, 5, 6] {
        let (what, _, place) = MOVES[number];
        let host = Host::ALL[(number + 1) % Host::ALL.len()];
        let how = format!("in a new session, in `{}`", host.name());
        list.push(Attempt::new(what, how, Outcome::Denied, move || by_move(host, "s9", place)));
    }
    for (number, (what, elsewhere)) in [
        ("The session was first seen in another repository", another as fn(&Path) -> PathBuf),
        ("The session was first seen in the home folder", |project| {
            project.parent().unwrap().into()
        }),
        ("The session was first seen in `/tmp`", |_| PathBuf::from("/tmp")),
    ]
    .into_iter()
    .enumerate()
    {
        for host in [Host::ALL[number], Host::ALL[number + 2]] {
            let how = format!("in `{}`", host.name());
            let run = move || seen_elsewhere(host, elsewhere);
            list.push(Attempt::new(what, how, Outcome::Denied, run));
        }
    }
    for (what, value) in [
        ("`CLAUDE_PROJECT_DIR` names another repository", another as fn(&Path) -> PathBuf),
        ("`CLAUDE_PROJECT_DIR` names a folder that is not there", |_| PathBuf::from("/nowhere")),
        ("`CLAUDE_PROJECT_DIR` names `/`", |_| PathBuf::from("/")),
        ("`CLAUDE_PROJECT_DIR` is empty", |_| PathBuf::new()),
    ] {
        let run = move || by_variable(value);
        list.push(Attempt::new(what, "in a new session of `claude-code`", Outcome::Denied, run));
    }
    list
}
