//! Why a pack cannot be added or updated. Nothing was written in any of these cases.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhook_engine::problem::nearest;

use super::PREFIX;
use super::tree::{BYTES_LIMIT, FILES_LIMIT};

/// Why a pack cannot be added or updated.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The source cannot be used as it was written.
    #[error("`{given}` cannot be used: {fault}")]
    Source {
        /// What was written.
        given: String,
        /// What is wrong with it.
        fault: SourceFault,
    },
    /// Nothing is at the path.
    #[error("`{}`: {cause}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// Neither a pack nor a hook.
    #[error("`{0}` has neither a pack.toml nor a HOOK.md")]
    NotAPack(String),
    /// A file of the pack cannot be accepted.
    #[error("`{path}` in `{source_text}` cannot be added: {fault}")]
    Content {
        /// The source.
        source_text: String,
        /// The path in the pack.
        path: String,
        /// What is wrong with it.
        fault: ContentFault,
    },
    /// `pack.toml` cannot be used.
    #[error("pack.toml of `{source_text}` cannot be used: {why}")]
    Manifest {
        /// The source.
        source_text: String,
        /// The reason.
        why: String,
    },
    /// A pack from outside has the name of one that comes with anyhook.
    #[error("`{0}` is the name of a pack that comes with anyhook")]
    BuiltInName(String),
    /// The source has another pack now.
    #[error("`{source_text}` was `{expected}` and calls itself `{found}` now")]
    OtherName {
        /// The source.
        source_text: String,
        /// The name it had.
        expected: String,
        /// The name it has.
        found: String,
    },
    /// Another pack of this name was added.
    #[error("there already is a pack `{name}`, from `{added}`")]
    OtherSource {
        /// The name.
        name: String,
        /// Where the other comes from.
        added: String,
    },
    /// The pack was already added, with other content or options.
    #[error("`{0}` was already added, with other content or other options")]
    AlreadyAdded(String),
    /// Another process has changed what was added.
    #[error("`{0}` was changed by another process in the meantime")]
    ChangedMeanwhile(String),
    /// A hook cannot be used.
    #[error("the hook `{hook}` of the pack cannot be used: {why}")]
    Hook {
        /// Its folder.
        hook: String,
        /// The reason.
        why: String,
    },
    /// A command cannot be used.
    #[error("the command `{command}` of the pack cannot be used: {why}")]
    Command {
        /// Its file.
        command: String,
        /// The reason.
        why: String,
    },
    /// There is nothing in the pack.
    #[error("`{0}` has no hooks")]
    Empty(String),
    /// The content is not what was expected.
    #[error("the content is not what was expected\n  expected {expected}\n  found    {found}")]
    OtherDigest {
        /// The digest that was given.
        expected: String,
        /// The digest of the content.
        found: String,
    },
    /// There is no such option.
    #[error("`{pack}` has no option `{name}`")]
    UnknownOption {
        /// The pack.
        pack: String,
        /// The option.
        name: String,
        /// Its options.
        known: Vec<String>,
    },
    /// A value has another type.
    #[error("`{given}` is not {expected}, which the option `{name}` is")]
    OptionType {
        /// The option.
        name: String,
        /// The name of its type.
        expected: &'static str,
        /// The value.
        given: String,
    },
    /// A value of an option that has one value was given twice.
    #[error("the option `{0}` has one value and was set twice")]
    SetTwice(String),
    /// `--set` without a name and a value.
    #[error("`{0}` is not NAME=VALUE")]
    NotASetting(String),
    /// No pack of this name was added.
    #[error("no pack `{name}` was added")]
    NotAdded {
        /// The name.
        name: String,
        /// The packs that were.
        known: Vec<String>,
    },
    /// Git failed.
    #[error("git cannot fetch `{source_text}`: {fault}")]
    Git {
        /// The address.
        source_text: String,
        /// The reason.
        fault: GitFault,
    },
    /// `packs.lock` cannot be used.
    #[error("`{}` cannot be used: {why}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// Whose the error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackErrorKind {
    /// What was typed cannot be meant.
    Usage,
    /// What was named cannot be used.
    Input,
    /// It failed.
    Problem,
}

impl PackError {
    /// Returns whose the error is.
    pub fn kind(&self) -> PackErrorKind {
        match self {
            Self::Source { .. } | Self::NotASetting(_) | Self::SetTwice(_) => PackErrorKind::Usage,
            Self::OtherDigest { .. }
            | Self::OtherSource { .. }
            | Self::AlreadyAdded(_)
            | Self::ChangedMeanwhile(_)
            | Self::Git { .. } => PackErrorKind::Problem,
            _ => PackErrorKind::Input,
        }
    }

    /// Returns the next step.
    pub fn hint(&self) -> String {
        let nothing = "nothing was written";
        let near = |name: &str, known: &[String], none: &str| {
            let found = nearest(name, known.iter().map(String::as_str));
            match (found, known) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, []) => none.to_owned(),
                (None, known) => format!("available: {}", known.join(", ")),
            }
        };
        match self {
            Self::Source { fault: SourceFault::Transport(_), .. } => {
                "use https://…, ssh://…, user@host:path, or a folder".to_owned()
            }
            Self::Source { fault: SourceFault::Password, .. } => {
                "leave it out, and store it in a credential helper of git".to_owned()
            }
            Self::Source { .. } => "write SOURCE[//FOLDER][#REF][@sha256:DIGEST]".to_owned(),
            Self::Unreadable { .. } | Self::NotAPack(_) => {
                "pass the folder of a hook (HOOK.md) or of a pack (pack.toml and hooks/)".to_owned()
            }
            Self::OtherDigest { .. } => {
                format!("{nothing}; without the digest the command shows what it is now")
            }
            Self::OtherSource { name, .. } => {
                format!("{nothing}; `anyhook remove {PREFIX}{name}` removes that one")
            }
            Self::AlreadyAdded(name) => format!("`anyhook update {name}` shows what changes"),
            Self::UnknownOption { name, known, .. } => near(name, known, "it has no options"),
            Self::NotAdded { name, known } => near(name, known, "`anyhook packs` lists all"),
            Self::OptionType { .. } | Self::SetTwice(_) | Self::NotASetting(_) => {
                "`anyhook packs NAME` shows the options of a pack; set one with --set NAME=VALUE".to_owned()
            }
            Self::Git { fault: GitFault::Program(_), .. } => "install git".to_owned(),
            Self::Git { .. } => {
                "check the address, the reference and your access; git must not need to ask for anything"
                    .to_owned()
            }
            Self::Lock { .. } => "restore the file, or remove it and add the packs again".to_owned(),
            Self::ChangedMeanwhile(_) => "try again".to_owned(),
            Self::BuiltInName(name) => format!("{nothing}; that one is {PREFIX}{name}"),
            Self::Content { .. }
            | Self::Manifest { .. }
            | Self::OtherName { .. }
            | Self::Hook { .. }
            | Self::Command { .. }
            | Self::Empty(_) => nothing.to_owned(),
        }
    }
}

/// What is wrong with a source as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceFault {
    /// Nothing was written, or nothing but a digest.
    #[error("it is empty")]
    Empty,
    /// A program would take it for an option.
    #[error("it starts with `-`")]
    Dash,
    /// It has control characters.
    #[error("it has control characters")]
    Control,
    /// It is fetched in a way that is not allowed.
    #[error("`{0}` is not one of https, ssh and file")]
    Transport(String),
    /// It contains a password, which would be recorded.
    #[error("it contains a password or token, which packs.lock would record")]
    Password,
    /// The folder in the repository is not one.
    #[error("`//{0}` is not a folder inside the repository")]
    Subfolder(String),
    /// The reference cannot be one.
    #[error("`#{0}` cannot be a branch, a tag or a full commit")]
    Reference(String),
    /// The digest is not one.
    #[error("`@{0}` is not `@sha256:` and 64 hexadecimal digits")]
    Digest(String),
}

/// Why a file of a pack cannot be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentFault {
    /// A symbolic link.
    #[error("it is a symbolic link")]
    Link,
    /// A submodule of git.
    #[error("it is a git submodule")]
    Submodule,
    /// A device, a pipe or a socket.
    #[error("it is not a file or a folder")]
    Special,
    /// A name that could lead elsewhere or disguise itself.
    #[error("its name is not allowed")]
    Name,
    /// A folder that git would use.
    #[error("a pack may not contain a `.git`")]
    DotGit,
    /// It differs from another only in upper and lower case.
    #[error("it differs from `{0}` only in upper and lower case")]
    Case(String),
    /// Git would change its content with a filter.
    #[error("it sets filters of git, which are not run")]
    Filter,
    /// Its content is in Git LFS.
    #[error("its content is in Git LFS, which is not fetched")]
    Lfs,
    /// There is too much.
    #[error("a pack may have at most {FILES_LIMIT} files and {} MiB", BYTES_LIMIT / 1024 / 1024)]
    TooLarge,
}

/// Why git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitFault {
    /// It could not be started.
    #[error("the program git cannot be started: {0}")]
    Program(io::Error),
    /// It said so.
    #[error("{0}")]
    Said(String),
    /// It took too long.
    #[error("it took longer than {} seconds", .0.as_secs())]
    TimeLimit(Duration),
    /// It fetched too much.
    #[error("the repository has more than {} MiB", .0 / 1024 / 1024)]
    TooLarge(u64),
    /// The temporary folder cannot be used.
    #[error("the temporary folder cannot be used: {0}")]
    Scratch(io::Error),
}
