//! Writes every JSON Schema, and the tools of `anyhook mcp`, into the folder named on the command line (`cargo xtask generate`).

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).map(PathBuf::from).ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(&folder)?;
    for (name, text) in anyhook_model::schema::generate() {
        fs::write(folder.join(format!("{name}.schema.json")), text)?;
    }
    fs::write(folder.join("mcp-tools.json"), anyhook_model::schema::mcp_tools())
}
