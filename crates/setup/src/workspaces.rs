//! Checks whether the workspace of a plan can be created, before anything is started.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhook_engine::Places;
use anyhook_model::pipeline::{PipelinePlan, WorkspaceKind};

use crate::shown;

/// Why a workspace cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Its path exists already.
    #[error("the workspace `{0}` already exists")]
    Exists(String),
    /// The project is not a repository.
    #[error("`{0}` is not a git repository, so it cannot have worktrees")]
    NoRepository(String),
    /// The worktree has no commit to start from.
    #[error("`{base}`, the worktree's base, is not a commit in `{project}`")]
    NoCommit {
        /// The requested start.
        base: String,
        /// The project.
        project: String,
    },
    /// The name is not valid for a branch.
    #[error("`{0}` is not a valid branch name")]
    BranchName(String),
    /// The branch exists already.
    #[error("the branch `{0}` already exists")]
    BranchExists(String),
    /// Git cannot be run.
    #[error("a worktree needs git: {0}")]
    NoGit(io::Error),
}

/// Checks for what would keep the workspace of a plan from being created.
pub fn check(plan: &PipelinePlan, places: &Places) -> Result<(), WorkspaceError> {
    let workspace = &plan.workspace;
    if workspace.kind == WorkspaceKind::None {
        return Ok(());
    }
    let root = Path::new(&workspace.root);
    if root.symlink_metadata().is_ok() {
        return Err(WorkspaceError::Exists(shown(root, places)));
    }
    if workspace.kind == WorkspaceKind::Worktree {
        check_worktree(plan, places)?;
    }
    Ok(())
}

fn check_worktree(plan: &PipelinePlan, places: &Places) -> Result<(), WorkspaceError> {
    let project = shown(Path::new(&plan.project), places);
    if !git(plan, &["rev-parse", "--git-dir"])? {
        return Err(WorkspaceError::NoRepository(project));
    }
    let base = plan.workspace.base.as_deref().unwrap_or("HEAD");
    if !git(plan, &["rev-parse", "--verify", "--quiet", &format!("{base}^{{commit}}")])? {
        return Err(WorkspaceError::NoCommit { base: base.to_owned(), project });
    }
    if let Some(branch) = &plan.workspace.branch {
        if !git(plan, &["check-ref-format", "--branch", branch])? {
            return Err(WorkspaceError::BranchName(branch.clone()));
        }
        if git(plan, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")])? {
            return Err(WorkspaceError::BranchExists(branch.clone()));
        }
    }
    Ok(())
}

/// Returns whether git succeeds in the project.
fn git(plan: &PipelinePlan, arguments: &[&str]) -> Result<bool, WorkspaceError> {
    let mut git = Command::new("git");
    git.arg("-C").arg(&plan.project).args(arguments);
    git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(git.status().map_err(WorkspaceError::NoGit)?.success())
}
