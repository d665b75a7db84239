//! Identifies the repository a folder belongs to, so that trust follows it when it is moved, and
//! into its worktrees.
//!
//! A repository is identified by its common `.git` directory: device, inode and time of birth. That
//! is cheap (no object is read), survives `mv`, and a repository's content cannot forge it: cloning
//! or unpacking a repository creates a new directory. An inode alone could be reused for another
//! directory later, hence the time of birth; on a file system that does not store it there is no
//! identity, and trust goes by the path alone.
//!
//! A `.git` that is a link has no identity, as an unpacked archive may hold one that leads to
//! another repository. A `.git` file could name another repository as well; it counts only if that
//! repository itself names the worktree (`worktrees/NAME/gitdir`), as `git worktree add` makes it.
//!
//! A copy (`cp -r`, a second clone) is another repository. That its hooks have a content that was
//! trusted elsewhere is offered by `anyhook trust`, not assumed: what a trusted script does depends
//! on the project it is started in (`make lint`).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::hook::read_regular;

/// The entry that makes a folder a repository.
const DOT_GIT: &str = ".git";

/// A folder inside a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryFolder {
    /// The repository's identity.
    pub id: String,
    /// The path of the folder from the top of the working tree.
    pub path: PathBuf,
    /// What was checked to determine the identity: `.git`, and for a worktree what it leads to.
    pub evidence: Vec<PathBuf>,
}

/// Finds the repository that `folder` is in, without looking above `top`.
pub(crate) fn around(folder: &Path, top: &Path) -> Option<RepositoryFolder> {
    for ancestor in folder.ancestors() {
        if ancestor.join(DOT_GIT).symlink_metadata().is_ok() {
            let (id, evidence) = identity(ancestor)?;
            let path = folder.strip_prefix(ancestor).ok()?.to_owned();
            return Some(RepositoryFolder { id, path, evidence });
        }
        if ancestor == top {
            break;
        }
    }
    None
}

/// Returns the branch that is checked out in the repository that a folder is in.
pub(crate) fn branch_of(folder: &Path) -> Option<String> {
    let tree = folder.ancestors().find(|tree| tree.join(DOT_GIT).symlink_metadata().is_ok())?;
    let dot_git = tree.join(DOT_GIT);
    let directory = match line(&dot_git) {
        Some(link) => tree.join(link.strip_prefix("gitdir: ")?),
        None => dot_git,
    };
    Some(line(&directory.join("HEAD"))?.strip_prefix("ref: refs/heads/")?.to_owned())
}

/// Returns the identity of the repository whose working tree is `tree`, and the evidence for it.
fn identity(tree: &Path) -> Option<(String, Vec<PathBuf>)> {
    let dot_git = tree.join(DOT_GIT);
    let metadata = dot_git.symlink_metadata().ok()?;
    if metadata.is_dir() {
        return Some((identity_of(&metadata)?, vec![dot_git]));
    }
    if !metadata.is_file() {
        return None;
    }
    let admin = tree.join(line(&dot_git)?.strip_prefix("gitdir: ")?);
    let admin = fs::canonicalize(admin).ok()?;
    let (common_file, back_file) = (admin.join("commondir"), admin.join("gitdir"));
    let common = fs::canonicalize(admin.join(line(&common_file)?)).ok()?;
    let back = fs::canonicalize(admin.join(line(&back_file)?)).ok()?;
    let is_known = admin.parent() == Some(&common.join("worktrees"))
        && Some(back) == fs::canonicalize(&dot_git).ok();
    let metadata = common.symlink_metadata().ok().filter(|_| is_known)?;
    Some((identity_of(&metadata)?, vec![dot_git, common_file, back_file, common]))
}

fn identity_of(directory: &fs::Metadata) -> Option<String> {
    let born = directory.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}:{}:{}", directory.dev(), directory.ino(), born.as_nanos()))
}

/// Reads a one-line file of git's.
fn line(file: &Path) -> Option<String> {
    let text = String::from_utf8(read_regular(file).ok()?).ok()?;
    Some(text.trim_end_matches('\n').to_owned()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// A repository with a worktree, as git lays them out.
    fn scratch() -> (TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (main, tree) = (root.join("main"), root.join("tree"));
        let admin = main.join(".git/worktrees/tree");
        fs::create_dir_all(&admin).unwrap();
        fs::create_dir_all(tree.join("inner")).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
        fs::write(admin.join("commondir"), "../..\n").unwrap();
        fs::write(admin.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        (folder, main, tree)
    }

    fn id(tree: &Path) -> Option<String> {
        around(tree, tree).map(|inside| inside.id)
    }

    #[test]
    fn the_branch_of_a_folder_is_that_of_its_tree() {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        let other = scratch.path().join("other");
        fs::create_dir_all(tree.join(".git/worktrees/other")).unwrap();
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::create_dir(&other).unwrap();
        assert_eq!(branch_of(&tree), None);
        fs::write(tree.join(".git/HEAD"), "ref: refs/heads/release/1\n").unwrap();
        assert_eq!(branch_of(&tree.join("src")).as_deref(), Some("release/1"));
        let admin = tree.join(".git/worktrees/other");
        fs::write(admin.join("HEAD"), "ref: refs/heads/fix\n").unwrap();
        fs::write(other.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
        assert_eq!(branch_of(&other).as_deref(), Some("fix"));
        fs::write(admin.join("HEAD"), "0123abcd\n").unwrap();
        assert_eq!(branch_of(&other), None);
    }

    #[test]
    fn a_worktree_is_the_same_repository_and_a_copy_is_not() {
        let (_folder, main, tree) = scratch();
        let known = id(&main).unwrap();
        assert_eq!(id(&tree), Some(known.clone()));
        let inner = around(&tree.join("inner"), &tree).unwrap();
        assert_eq!((inner.id, inner.path), (known.clone(), PathBuf::from("inner")));
        let copy = main.with_file_name("copy");
        fs::create_dir_all(copy.join(".git")).unwrap();
        assert!(id(&copy).is_some_and(|id| id != known));
    }

    #[test]
    fn it_is_the_same_repository_wherever_it_is_moved() {
        let (_folder, main, _) = scratch();
        let known = id(&main);
        let moved = main.with_file_name("moved");
        fs::rename(&main, &moved).unwrap();
        assert!(known.is_some() && id(&moved) == known);
        assert_eq!(id(&main), None);
    }

    #[test]
    fn nothing_in_an_archive_makes_it_another_repository() {
        let (_folder, main, tree) = scratch();
        let evil = main.with_file_name("evil");
        fs::create_dir(&evil).unwrap();
        let dot_git = evil.join(".git");
        // A link to it; a file that names it; one that names a worktree's, which is not this one.
        symlink(main.join(".git"), &dot_git).unwrap();
        assert_eq!(id(&evil), None);
        fs::remove_file(&dot_git).unwrap();
        for target in [main.join(".git"), main.join(".git/worktrees/tree")] {
            fs::write(&dot_git, format!("gitdir: {}\n", target.display())).unwrap();
            assert_eq!(id(&evil), None, "{}", target.display());
        }
        // A separate folder that says all the right things, also by way of a link.
        let fake = evil.join("worktrees/fake");
        fs::create_dir_all(&fake).unwrap();
        symlink(main.join(".git"), evil.join("common")).unwrap();
        fs::write(fake.join("gitdir"), format!("{}\n", dot_git.display())).unwrap();
        fs::write(&dot_git, format!("gitdir: {}\n", fake.display())).unwrap();
        for common in [main.join(".git"), evil.join("common")] {
            fs::write(fake.join("commondir"), format!("{}\n", common.display())).unwrap();
            assert_eq!(id(&evil), None);
        }
        assert!(id(&tree).is_some());
    }

    #[test]
    fn it_is_not_looked_for_above_the_top() {
        let (_folder, main, _) = scratch();
        let deep = main.join("a/b");
        assert_eq!(around(&deep, &main).unwrap().path, Path::new("a/b"));
        assert_eq!(around(&deep, &main.join("a")), None);
    }
}
