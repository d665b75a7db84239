//! Lists the files of the packs for the program to carry: every file below `packs/`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Where the packs are, in this crate: what is published has to have them.
const FOLDER: &str = "packs";

fn main() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?)
        .join(FOLDER)
        .canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let inner = file.strip_prefix(&root).map_err(io::Error::other)?;
        let (inner, file) = (text(inner)?, text(&file)?);
        let line = writeln!(list, "    ({inner:?}, include_bytes!({file:?})),");
        line.map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR"))?);
    fs::write(out.join("packs.rs"), list)
}

fn text(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| io::Error::other(format!("{} is no UTF-8", path.display())))
}

/// Finds the files below a folder; hidden ones are an editor's or a system's.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
