//! One `workflow run` at a time: two would start every agent twice.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::Trouble;
use crate::workflow::project::Project;

/// Holds the right to run a project's workflow until it is dropped, or its process ends.
pub fn hold(project: &Project) -> Result<File, Trouble> {
    let folder = project.system();
    fs::create_dir_all(&folder).map_err(|error| Trouble::at(&folder, error))?;
    let path = folder.join(".workflow-run.lock");
    let at = |error: std::io::Error| Trouble::at(&path, error);
    let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
    let mut file = open.map_err(at)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut who = String::new();
            file.read_to_string(&mut who).map_err(at)?;
            let who = who.trim();
            // It has the lock a moment before it has written its number.
            let (who, how) = match who.parse::<u32>() {
                Ok(id) => (format!("process {id}"), format!(", or end it with `kill {id}`")),
                Err(_) => ("another process".to_owned(), ", or end it".to_owned()),
            };
            return Err(Trouble::problem(format!("{who} runs this workflow already"))
                .hint(format!("wait for it{how}: its agents go on")));
        }
        Err(error) => return Err(at(error.into())),
    }
    file.set_len(0).map_err(at)?;
    file.rewind().map_err(at)?;
    writeln!(file, "{}", std::process::id()).map_err(at)?;
    Ok(file)
}
