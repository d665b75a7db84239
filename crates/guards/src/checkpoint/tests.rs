//! Checkpoints and restores in real repositories.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use super::*;

struct Sample {
    folder: tempfile::TempDir,
}

impl Sample {
    /// A repository without commits.
    fn empty() -> Self {
        let sample = Self { folder: tempfile::tempdir().unwrap() };
        sample.git(&["init", "--quiet", "--initial-branch=main"]);
        sample
    }

    /// A repository with a commit of `a`, `b` and `.gitignore`, which ignores `ignored*`.
    fn committed() -> Self {
        let sample = Self::empty();
        sample.write("a", "a1\n");
        sample.write("dir/b", "b1\n");
        sample.write(".gitignore", "ignored*\n");
        sample.git(&["add", "-A"]);
        sample.git(&[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@x",
            "commit",
            "--quiet",
            "-m",
            "one",
        ]);
        sample
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let ran =
            Command::new("git").args(arguments).current_dir(self.folder.path()).output().unwrap();
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    }

    fn repository(&self) -> Repository {
        Repository::find(self.folder.path()).unwrap()
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        self.repository().checkpoint("s", "before", 50).unwrap()
    }

    fn undo(&self, id: Option<&str>) -> UndoPlan {
        let plan = self.repository().plan_undo(id).unwrap();
        self.repository().undo(&plan).unwrap();
        plan
    }
}

#[test]
fn a_restore_brings_back_content_modes_links_and_deleted_files() {
    let sample = Sample::committed();
    sample.write("new", "n1\n");
    sample.write("run", "#!/bin/sh\n");
    fs::set_permissions(sample.path("run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a", sample.path("link")).unwrap();
    sample.write("a", "a2\n");
    sample.checkpoint().unwrap();

    sample.write("a", "a3\n");
    fs::remove_file(sample.path("dir/b")).unwrap();
    fs::remove_dir(sample.path("dir")).unwrap();
    fs::remove_file(sample.path("run")).unwrap();
    fs::remove_file(sample.path("link")).unwrap();
    sample.write("new", "n2\n");
    sample.write("more/deep/file", "m\n");
    sample.undo(None);
    assert_eq!(sample.read("a").unwrap(), "a2\n");
    assert_eq!(sample.read("dir/b").unwrap(), "b1\n");
    assert_eq!(sample.read("new").unwrap(), "n1\n");
    assert_eq!(fs::metadata(sample.path("run")).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(fs::read_link(sample.path("link")).unwrap(), Path::new("a"));
    assert!(!sample.path("more").exists(), "also the folders");
}

#[test]
fn an_undo_can_be_undone() {
    let sample = Sample::committed();
    sample.checkpoint().unwrap();
    sample.write("a", "a2\n");
    sample.write("new", "n\n");
    let there = sample.undo(None);
    assert_eq!((sample.read("a").as_deref(), sample.read("new")), (Some("a1\n"), None));
    sample.undo(None);
    assert_eq!(
        (sample.read("a").as_deref(), sample.read("new").as_deref()),
        (Some("a2\n"), Some("n\n"))
    );
    sample.undo(Some(there.target.id()));
    assert_eq!(sample.read("a").as_deref(), Some("a1\n"));
}

#[test]
fn index_branch_and_stash_stay() {
    let sample = Sample::committed();
    sample.write("staged", "s\n");
    sample.git(&["add", "staged"]);
    sample.write("a", "a2\n");
    let look = || {
        (
            sample.git(&["diff", "--cached", "--raw"]),
            sample.git(&["rev-parse", "HEAD"]),
            sample.git(&["stash", "list"]),
            sample.git(&["branch", "-a"]),
            fs::read(sample.path(".git/index")).unwrap(),
        )
    };
    let before = look();
    sample.checkpoint().unwrap();
    assert!(before == look());
    sample.write("a", "a3\n");
    let plan = sample.repository().plan_undo(None).unwrap();
    sample.repository().undo(&plan).unwrap();
    assert_eq!(sample.read("a").unwrap(), "a2\n");
    assert!(before.0 == look().0 && before.1 == look().1 && before.2 == look().2);
}

#[test]
fn ignored_files_are_never_touched() {
    let sample = Sample::committed();
    sample.write("later", "kept\n");
    sample.write("ignored-1", "i1\n");
    sample.checkpoint().unwrap();
    // What a checkpoint contains is ignored now, and a folder with ignored files is in the way.
    sample.write(".gitignore", "ignored*\nlater\n");
    sample.write("later", "changed\n");
    sample.write("ignored-1", "i2\n");
    fs::remove_file(sample.path("a")).unwrap();
    sample.write("a/ignored-2", "i\n");
    let plan = sample.undo(None);
    let skipped: Vec<&Path> = plan
        .changes
        .iter()
        .filter(|one| one.kind == ChangeKind::Skip)
        .map(|one| one.path.as_path())
        .collect();
    assert_eq!(skipped, [Path::new("a"), Path::new("later")]);
    assert_eq!(sample.read("later").unwrap(), "changed\n");
    assert_eq!(sample.read("ignored-1").unwrap(), "i2\n");
    assert_eq!(sample.read("a/ignored-2").unwrap(), "i\n");
    assert_eq!(sample.read(".gitignore").unwrap(), "ignored*\n");
}

#[test]
fn a_file_and_a_folder_change_places() {
    let sample = Sample::committed();
    sample.checkpoint().unwrap();
    fs::remove_file(sample.path("a")).unwrap();
    sample.write("a/inner", "x\n");
    fs::remove_dir_all(sample.path("dir")).unwrap();
    sample.write("dir", "a file now\n");
    sample.undo(None);
    assert_eq!(sample.read("a").unwrap(), "a1\n");
    assert_eq!(sample.read("dir/b").unwrap(), "b1\n");
    sample.undo(None);
    assert_eq!(sample.read("a/inner").unwrap(), "x\n");
    assert_eq!(sample.read("dir").unwrap(), "a file now\n");
}

#[test]
fn only_what_changed_is_kept_and_not_without_limit() {
    let sample = Sample::committed();
    assert!(sample.checkpoint().is_some());
    assert_eq!(sample.checkpoint(), None);
    for number in 0..6 {
        sample.write("a", &format!("{number}\n"));
        sample.repository().checkpoint("s", "x", 3).unwrap().unwrap();
    }
    let kept: Vec<String> =
        sample.repository().checkpoints().unwrap().into_iter().map(|one| one.name).collect();
    let wanted = [7, 6, 5].map(|number| format!("{REFS}/s/{number}"));
    assert_eq!(kept, wanted);
}

/// A change in the same second and of the same length is not overlooked.
#[test]
fn a_quick_change_is_seen() {
    let sample = Sample::committed();
    for number in 0..10 {
        sample.write("a", &format!("{number}\n"));
        sample.git(&["add", "a"]);
        let staged = sample.repository().snapshot().unwrap();
        sample.write("a", &format!("{}\n", (number + 1) % 10));
        assert_ne!(sample.repository().snapshot().unwrap(), staged, "{number}");
    }
}

#[test]
fn without_a_commit() {
    let sample = Sample::empty();
    sample.write("a", "1\n");
    sample.checkpoint().unwrap();
    sample.write("a", "2\n");
    sample.write("b", "2\n");
    sample.undo(None);
    assert_eq!((sample.read("a").as_deref(), sample.read("b")), (Some("1\n"), None));
    assert!(!sample.path(".git/index").exists(), "the index is the person's");
}

#[test]
fn a_linked_working_tree_has_its_own_checkpoints() {
    let sample = Sample::committed();
    let elsewhere = tempfile::tempdir().unwrap();
    let tree = elsewhere.path().join("tree");
    sample.git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    sample.checkpoint().unwrap();
    let linked = Repository::find(&tree).unwrap();
    assert_eq!(linked.checkpoints().unwrap(), []);
    linked.checkpoint("s", "x", 50).unwrap().unwrap();
    fs::write(tree.join("a"), "linked\n").unwrap();
    let plan = linked.plan_undo(None).unwrap();
    linked.undo(&plan).unwrap();
    assert_eq!(fs::read_to_string(tree.join("a")).unwrap(), "a1\n");
    assert_eq!(sample.repository().checkpoints().unwrap().len(), 1);
}

#[test]
fn large_files_and_repositories_within_are_left_alone() {
    let sample = Sample::committed();
    let large = "x".repeat(2 * 1024 * 1024);
    sample.write("large", &large);
    sample.write("inner/file", "i\n");
    Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(sample.path("inner"))
        .status()
        .unwrap();
    let small = Repository::with_limit(sample.folder.path(), 1).unwrap();
    let made = small.checkpoint("s", "x", 50).unwrap().unwrap();
    let files = sample.git(&["ls-tree", "-r", "--name-only", &made.commit]);
    assert_eq!(files, ".gitignore\na\ndir/b\n");
    sample.write("a", "a2\n");
    sample.undo(None);
    assert_eq!(sample.read("a").unwrap(), "a1\n");
    assert_eq!(sample.read("large").unwrap(), large);
    assert_eq!(sample.read("inner/file").unwrap(), "i\n");
}

#[test]
fn a_folder_below_the_top_and_strange_names() {
    let sample = Sample::committed();
    sample.write("dir/with space\nand line", "1\n");
    let below = Repository::find(&sample.path("dir")).unwrap();
    below.checkpoint("s", "x", 50).unwrap().unwrap();
    sample.write("dir/with space\nand line", "2\n");
    sample.write("a", "a2\n");
    sample.undo(None);
    assert_eq!(sample.read("dir/with space\nand line").unwrap(), "1\n");
    assert_eq!(sample.read("a").unwrap(), "a1\n");
}

#[test]
fn what_cannot_be_undone_is_told() {
    let nowhere = tempfile::tempdir().unwrap();
    let error = Repository::find(nowhere.path()).unwrap_err().to_string();
    assert!(error.contains("not a git repository"), "{error}");
    let sample = Sample::committed();
    let why = |id: Option<&str>| sample.repository().plan_undo(id).unwrap_err().to_string();
    assert!(why(None).ends_with("has no checkpoints"));
    sample.checkpoint().unwrap();
    assert_eq!(why(None), "nothing to undo: all checkpoints equal the working tree");
    assert_eq!(why(Some("0000")), "there is no checkpoint `0000`");
}

#[test]
fn many_at_once_take_different_numbers() {
    let sample = Sample::committed();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let repository = sample.repository();
            scope.spawn(move || {
                let tree = repository.snapshot().unwrap();
                repository.keep_tree(&tree, "s", &format!("number {number}")).unwrap();
            });
        }
    });
    let names: BTreeSet<String> =
        sample.repository().checkpoints().unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names.len(), 8);
}

#[test]
fn a_session_is_part_of_a_ref() {
    assert_eq!(session_folder("0198-ab_c"), "0198-ab_c");
    for session in ["../../heads", "a b", "", "undo", "é", "a.lock"] {
        assert_eq!(session_folder(session).len(), 16, "{session}");
    }
}
