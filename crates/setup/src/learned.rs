//! Adds hooks whose files are texts, such as those that `anyhook learn` proposes: each completely or
//! not at all, and never over something that is there.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhook_model::report::learn::HookProposal;

use crate::error::SetupError;

/// A hook to be added.
#[derive(Clone, Debug)]
pub struct NewFolder {
    /// The hook's name.
    pub name: String,
    /// Its files, by relative path.
    pub files: Vec<(String, String)>,
}

impl From<&HookProposal> for NewFolder {
    fn from(proposal: &HookProposal) -> Self {
        let mut files = vec![("HOOK.md".to_owned(), proposal.hook_file.clone())];
        files.extend(proposal.tests.iter().map(|test| {
            let text = format!("{:#}\n", test.case);
            (format!("tests/{}.json", test.name), text)
        }));
        Self { name: proposal.name.clone(), files }
    }
}

/// Adds hooks to a folder of hooks. Returns their folders, in order.
///
/// All are written to a hidden folder first, which is not a hook, and then renamed: a running agent
/// never sees half of one.
pub fn add(hooks_folder: &Path, hooks: &[NewFolder]) -> Result<Vec<PathBuf>, SetupError> {
    let targets: Vec<PathBuf> = hooks.iter().map(|hook| hooks_folder.join(&hook.name)).collect();
    if let Some(path) = targets.iter().find(|target| target.symlink_metadata().is_ok()) {
        let cause = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(SetupError::NotAdded { path: path.clone(), cause });
    }
    let not_added = |cause: io::Error| SetupError::NotAdded { path: hooks_folder.into(), cause };
    fs::create_dir_all(hooks_folder).map_err(not_added)?;
    let staging = tempfile::Builder::new().prefix(".adding-").tempdir_in(hooks_folder);
    let staging = staging.map_err(not_added)?;
    for hook in hooks {
        write(&staging.path().join(&hook.name), &hook.files).map_err(not_added)?;
    }
    let mut added: Vec<PathBuf> = Vec::new();
    for (hook, target) in hooks.iter().zip(&targets) {
        // A folder with files in it is never replaced by a rename.
        if let Err(cause) = fs::rename(staging.path().join(&hook.name), target) {
            for target in added {
                // The original error is reported; what cannot be removed stays, in shadow mode.
                let _ = fs::remove_dir_all(target);
            }
            return Err(SetupError::NotAdded { path: target.clone(), cause });
        }
        added.push(target.clone());
    }
    Ok(added)
}

fn write(folder: &Path, files: &[(String, String)]) -> io::Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text)?;
        if name.starts_with("scripts/") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(name: &str) -> NewFolder {
        let files = [("HOOK.md", "a"), ("tests/one.json", "{}")];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
        NewFolder { name: name.to_owned(), files }
    }

    #[test]
    fn all_are_added_or_none() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("hooks");
        assert_eq!(add(&folder, &[hook("a")]).unwrap(), [folder.join("a")]);
        assert_eq!(fs::read_to_string(folder.join("a/tests/one.json")).unwrap(), "{}");
        fs::write(folder.join("a/HOOK.md"), "mine").unwrap();
        let refused = add(&folder, &[hook("b"), hook("a")]).unwrap_err();
        assert!(matches!(refused, SetupError::NotAdded { .. }), "{refused}");
        assert_eq!(fs::read_to_string(folder.join("a/HOOK.md")).unwrap(), "mine");
        let left: Vec<_> =
            fs::read_dir(&folder).unwrap().flatten().map(|it| it.file_name()).collect();
        assert_eq!(left, ["a"], "nothing else, not even a hidden folder");
    }
}
