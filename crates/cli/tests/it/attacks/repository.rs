//! To send odd files with a repository: they must neither stop a guard nor make an agent wait.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::attack_fixture::{EVIL, Host, NAME, World};
use super::{Attempt, Outcome, Seen};

fn agents(project: &Path) -> std::path::PathBuf {
    let folder = project.join(".agents");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn settings(project: &Path, text: &str) {
    fs::write(agents(project).join("anyhook.toml"), text).unwrap();
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What a repository may bring.
type Bring = fn(&Path);
const BROUGHT: [(&str, Bring); 27] = [
    ("`.agents` is a file", |project| fs::write(project.join(".agents"), "x").unwrap()),
    ("`.agents` is a link to `/`", |project| symlink("/", project.join(".agents")).unwrap()),
    ("`.agents` is a link to itself", |project| {
        symlink(".agents", project.join(".agents")).unwrap();
    }),
    ("`.agents` is a named pipe", |project| pipe(&project.join(".agents"))),
    ("`.agents/hooks` is a file", |project| {
        fs::write(agents(project).join("hooks"), "x").unwrap();
    }),
    ("`.agents/hooks` is a link to `/proc`", |project| {
        symlink("/proc", agents(project).join("hooks")).unwrap();
    }),
    ("`.agents/hooks` is a link to `/`", |project| {
        symlink("/", agents(project).join("hooks")).unwrap();
    }),
    ("`.agents/hooks` is a named pipe", |project| pipe(&project.join(".agents/hooks"))),
    ("`.agents/anyhook.toml` is a link to `/dev/zero`", |project| {
        symlink("/dev/zero", agents(project).join("anyhook.toml")).unwrap();
    }),
    ("`.agents/anyhook.toml` is a link to `/dev/tty`", |project| {
        symlink("/dev/tty", agents(project).join("anyhook.toml")).unwrap();
    }),
    ("`.agents/anyhook.toml` is a named pipe", |project| {
        pipe(&project.join(".agents/anyhook.toml"));
    }),
    ("`.agents/anyhook.toml` is a folder", |project| {
        fs::create_dir_all(project.join(".agents/anyhook.toml")).unwrap();
    }),
    ("`.agents/anyhook.toml` is noise", |project| settings(project, "\u{1}= [[[")),
    ("The project's settings let stops pass at once", |project| {
        settings(project, "stop_cap = 0\n");
    }),
    ("The project's settings let questions pass", |project| {
        settings(project, "ask_fallback = \"pass\"\n");
    }),
    ("The project's settings switch the journal off", |project| {
        settings(project, "[journal]\nkeep_days = 0\nmax_bytes = 0\n");
    }),
    ("A hook's HOOK.md is a named pipe", |project| {
        pipe(&project.join(".agents/hooks/theirs/HOOK.md"));
    }),
    ("A hook's HOOK.md is a link to `/dev/zero`", |project| {
        fs::create_dir_all(project.join(".agents/hooks/theirs")).unwrap();
        symlink("/dev/zero", project.join(".agents/hooks/theirs/HOOK.md")).unwrap();
    }),
    ("A hook's HOOK.md is a gigabyte of nothing", |project| {
        fs::create_dir_all(project.join(".agents/hooks/theirs")).unwrap();
        let file = fs::File::create(project.join(".agents/hooks/theirs/HOOK.md")).unwrap();
        file.set_len(1 << 30).unwrap();
    }),
    ("A hook is a link to a folder above itself", |project| {
        fs::create_dir_all(project.join(".agents/hooks")).unwrap();
        symlink("..", project.join(".agents/hooks/theirs")).unwrap();
    }),
    ("There are 500 hooks", |project| {
        for number in 0..500 {
            let folder = project.join(format!(".agents/hooks/theirs-{number}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("HOOK.md"), "---\ntrigger: before_tool\n---\n").unwrap();
        }
    }),
    ("A hook's name is a page long and odd", |project| {
        let name = "\u{202e}\u{1b}[2J ".repeat(15);
        fs::create_dir_all(project.join(".agents/hooks").join(name)).unwrap();
    }),
    ("An untrusted hook has the guard's name", |project| {
        let folder = project.join(".agents/hooks").join(NAME);
        fs::create_dir_all(folder.join("scripts")).unwrap();
        fs::write(
            folder.join("HOOK.md"),
            "---\nname: sentry\ndescription: x\ntrigger: session_end\n---\n",
        )
        .unwrap();
        fs::write(folder.join("scripts/run.sh"), "exit 0\n").unwrap();
    }),
    ("`.git` is a file that leads elsewhere", |project| {
        let _ = fs::remove_dir_all(project.join(".git"));
        fs::write(project.join(".git"), "gitdir: /nowhere/at/all\n").unwrap();
    }),
    ("`.git` is a named pipe", |project| {
        let _ = fs::remove_dir_all(project.join(".git"));
        pipe(&project.join(".git"));
    }),
    ("`.git` is a link to `/dev/zero`", |project| {
        let _ = fs::remove_dir_all(project.join(".git"));
        symlink("/dev/zero", project.join(".git")).unwrap();
    }),
    ("Another `.agents` lies deeper with settings of its own", |project| {
        fs::create_dir_all(project.join("sub/.agents/hooks")).unwrap();
        fs::write(project.join("sub/.agents/anyhook.toml"), "ask_fallback = \"pass\"\n").unwrap();
    }),
];

fn attempt(host: Host, bring: Bring) -> Seen {
    let world = World::guarded();
    world.is_guarded(host)?;
    bring(&world.project());
    let harmless = world.shell(host, "ls");
    if !harmless.passes() {
        return Err(format!("a harmless call does not pass any more: {harmless:?}"));
    }
    world.shell(host, EVIL).verdict()
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for (number, (what, bring)) in BROUGHT.into_iter().enumerate() {
        let host = Host::ALL[number % Host::ALL.len()];
        let how = format!("in `{}`", host.name());
        let run = move || attempt(host, bring);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    list
}
