//! Whether the workspace of a plan can be made, looked at before anything is begun.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhook_engine::Places;
use anyhook_model::pipeline::{PipelinePlan, WorkspaceKind};

use crate::shown;

/// Why a workspace cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Something is in its place.
    #[error("the workspace `{0}` already exists")]
    Exists(String),
    /// The project has no worktrees.
    #[error("`{0}` is not a git repository, so it cannot have worktrees")]
    NoRepository(String),
    /// The worktree has nothing to begin at.
    #[error("`{base}`, the worktree's base, is not a commit in `{project}`")]
    NoCommit {
        /// What it was to begin at.
        base: String,
        /// The project.
        project: String,
    },
    /// No branch can be called so.
    #[error("`{0}` is not a valid branch name")]
    BranchName(String),
    /// The branch is there.
    #[error("the branch `{0}` already exists")]
    BranchExists(String),
    /// Git cannot be run.
    #[error("a worktree needs git: {0}")]
    NoGit(io::Error),
}

/// Looks for what would keep the workspace of a plan from being made.
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

/// Tells whether git succeeds in the project.
fn git(plan: &PipelinePlan, arguments: &[&str]) -> Result<bool, WorkspaceError> {
    let mut git = Command::new("git");
    git.arg("-C").arg(&plan.project).args(arguments);
    git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(git.status().map_err(WorkspaceError::NoGit)?.success())
}
