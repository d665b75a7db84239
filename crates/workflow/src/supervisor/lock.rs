//! Ensures that one supervisor runs at a time: two would start every agent twice.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};

use crate::error::WorkflowError;
use crate::project::Project;

/// Takes the lock for running a project's workflow, until it is dropped or its process ends.
pub fn hold(project: &Project) -> Result<File, WorkflowError> {
    let folder = project.system();
    fs::create_dir_all(&folder).map_err(WorkflowError::at(&folder))?;
    let path = folder.join(".workflow-run.lock");
    let at = |error: std::io::Error| WorkflowError::At { path: path.clone(), error };
    let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
    let mut file = open.map_err(at)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut who = String::new();
            file.read_to_string(&mut who).map_err(at)?;
            // The other one holds the lock a moment before it has written its process id.
            return Err(WorkflowError::AlreadyRunning(who.trim().parse().ok()));
        }
        Err(TryLockError::Error(error)) => return Err(at(error)),
    }
    file.set_len(0).map_err(at)?;
    file.rewind().map_err(at)?;
    writeln!(file, "{}", std::process::id()).map_err(at)?;
    Ok(file)
}
