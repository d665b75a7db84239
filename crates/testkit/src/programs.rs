//! Programs in folders that contain nothing else, as packages install them: other files in the
//! build folder do not affect tests.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the folder that contains these programs and nothing else, inside the build folder.
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

/// Returns a program in a folder that contains nothing else.
pub fn alone(program: &str) -> PathBuf {
    let program = Path::new(program);
    together(&[program]).join(program.file_name().unwrap())
}

/// Returns a program that another package of the workspace has built next to this one, if it
/// exists.
pub fn built_beside(program: &str, name: &str) -> Option<PathBuf> {
    Some(Path::new(program).with_file_name(name)).filter(|path| path.is_file())
}

fn link(program: &Path, place: &Path) {
    let file = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    if file(place) == file(program) {
        return;
    }
    // Created atomically: other tests may be about to start it. Each caller makes its own link:
    // threads of one process get here at the same time.
    let ours = tempfile::tempdir_in(place.parent().unwrap().parent().unwrap()).unwrap();
    let made = ours.path().join("program");
    fs::hard_link(program, &made).unwrap();
    fs::rename(&made, place).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_begin_at_the_same_time_share_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        for version in ["first", "second"] {
            let _ = fs::remove_file(&program);
            fs::write(&program, version).unwrap();
            let begin = std::sync::Barrier::new(16);
            std::thread::scope(|scope| {
                for _ in 0..16 {
                    scope.spawn(|| {
                        begin.wait();
                        let place = alone(program.to_str().unwrap());
                        assert_eq!(fs::read_to_string(&place).unwrap(), version);
                        let holds = fs::read_dir(place.parent().unwrap()).unwrap().count();
                        assert_eq!(holds, 1);
                    });
                }
            });
        }
    }
}
