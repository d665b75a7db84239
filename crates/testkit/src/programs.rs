//! Programs in folders that hold nothing else, as packages put them: what else the build folder
//! happens to hold changes no test.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the folder that holds these programs and nothing else, inside the build folder.
///
/// They are links, so nothing is copied; tests that run at the same time share them.
pub fn together(programs: &[&Path]) -> PathBuf {
    let names: Vec<_> = programs.iter().map(|program| program.file_name().unwrap()).collect();
    let build = programs[0].parent().unwrap();
    let folder = build.join("apart").join(names.join("+".as_ref()));
    fs::create_dir_all(&folder).unwrap();
    for (program, name) in programs.iter().zip(names) {
        link(program, &folder.join(name));
    }
    folder
}

/// Returns a program in a folder that holds nothing else.
pub fn alone(program: &str) -> PathBuf {
    let program = Path::new(program);
    together(&[program]).join(program.file_name().unwrap())
}

/// Returns a program that another package of the workspace has built beside this one, if it has.
pub fn built_beside(program: &str, name: &str) -> Option<PathBuf> {
    Some(Path::new(program).with_file_name(name)).filter(|path| path.is_file())
}

fn link(program: &Path, place: &Path) {
    let file = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    if file(place) == file(program) {
        return;
    }
    // Put there in one step: others may be about to start it.
    let made = place.with_extension(std::process::id().to_string());
    let _ = fs::remove_file(&made);
    fs::hard_link(program, &made).unwrap();
    fs::rename(&made, place).unwrap();
    // Whoever was quicker has linked the same file, and then renaming leaves ours.
    let _ = fs::remove_file(&made);
}
