//! Reads a shell command line and says which simple commands it runs, as far as can be told from
//! its text.
//!
//! ```text
//! line ──syntax──▶ tree ──read──▶ commands, each with words, redirections, folder, wrappers
//!                                   │ variables, functions, aliases, known outputs are followed;
//!                                   │ sudo, xargs, sh -c, ssh, python -c are looked through
//!                                   ▼
//!                 program tables: flags, operands, files, addresses
//! ```
//!
//! Nothing is run, and nothing is read but the text. Every text is answered, in time linear in its
//! length and with bounded memory. What cannot be told is listed as [`Unknown`]; it is never left
//! out silently.
//!
//! ```
//! let line = anyhook_shell::read("cd /srv && x=rm; sudo $x -rf \"$HOME/old\" | tee log");
//! let remove = line.commands.iter().find(|one| one.program() == Some("rm")).unwrap();
//! assert!(remove.has_flag("-r") && remove.has_flag("--force") == false);
//! assert_eq!(remove.operands()[0].known(), Some("~/old"));
//! assert_eq!(remove.via, ["sudo"]);
//! ```

mod command;
mod files;
pub mod fuzzing;
mod limits;
mod programs;
mod read;
mod syntax;
mod unknown;
mod urls;
mod word;
mod wrappers;

pub use command::{CommandLine, Folder, Redirection, RedirectionKind, ShellCommand};
pub use files::{Access, FileAccess};
pub use unknown::{Unknown, UnknownReason};
pub use word::{Part, Word};

/// Returns what a command line runs, in the syntax of `sh` and `bash`.
pub fn read(line: &str) -> CommandLine {
    read::read(line)
}
