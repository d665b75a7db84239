//! Makes the lists of hosts from the lines that declare them in `src/lib.rs`, so that a host is a
//! folder and one line. (A macro that declares modules would hide them from rustfmt.)

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lib.rs");
    let library = fs::read_to_string("src/lib.rs")?;
    let declared =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let hosts: Vec<&str> =
        declared.filter(|module| is_host(&Path::new("src").join(module))).collect();
    let list = |constant: &str| {
        let paths: Vec<String> = hosts.iter().map(|host| format!("&{host}::{constant}")).collect();
        paths.join(", ")
    };
    let count = hosts.len();
    let text = format!(
        "/// Every agent, by name.\npub const AGENTS: [&HostSpec; {count}] = [{}];\n\n\
         const PROTOCOLS: [&Protocol; {count}] = [{}];\n",
        list("SPEC"),
        list("PROTOCOL"),
    );
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    fs::write(folder.join("lists.rs"), text)
}

/// A host has a `capabilities.rs`; no other folder has one.
fn is_host(folder: &Path) -> bool {
    folder.join("capabilities.rs").is_file()
}
