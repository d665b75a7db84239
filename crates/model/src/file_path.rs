//! A file path named by a tool call, in every form that a guard may match.

use std::sync::OnceLock;

use serde::Serialize;

/// A path of a call in its forms. A pattern that matches one of them matches the call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FilePath {
    /// Absolute, without `.`, `..`, `//` or a trailing `/`.
    pub path: String,
    /// As given in the call.
    pub given: String,
    /// Relative to the project folder, if inside it.
    pub relative: Option<String>,
    /// With links resolved; for a path that does not exist, as far as it does.
    pub real: String,
    /// The real path relative to the project's real folder, if inside it.
    pub real_relative: Option<String>,
    /// The file's link count, if it exists; more than 1 means hard links.
    pub links: Option<u64>,
    /// Its other names in the project, if it has hard links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<OtherName>,
    /// How many of its names were not found: they are outside the project, in a folder that is not
    /// searched, or the project has too many files.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown_names: u64,
}

/// Another name of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OtherName {
    /// Absolute, with links resolved.
    pub path: String,
    /// Relative to the project's real folder.
    pub relative: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl FilePath {
    /// Returns its forms without duplicates.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let real = Some(&self.real).filter(|real| **real != self.path);
        let inner = self.real_relative.as_ref().filter(|_| self.real_relative != self.relative);
        let further = [self.relative.as_ref(), real, inner].into_iter().flatten();
        let others = self.other_names.iter().flat_map(|other| [&other.path, &other.relative]);
        [&self.given, &self.path].into_iter().chain(further).chain(others).map(String::as_str)
    }
}

/// What a call is matched against in addition to the values of its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallForms {
    /// Its files, in the order in which they are named.
    pub files: Vec<FilePath>,
    /// Commands given as a list of words, as one line each.
    pub commands: Vec<String>,
    /// Whether there are more files than were examined: then every pattern counts as matching.
    pub is_cut: bool,
}

impl CallForms {
    /// Returns every text that is not, or may not be, in the input already.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(FilePath::texts).chain(self.commands.iter().map(String::as_str))
    }

    /// Returns the files as an event lists them: absolute, each followed by its real path and its
    /// other names.
    pub fn listed(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| {
            let real = Some(file.real.as_str()).filter(|real| *real != file.path);
            let others = file.other_names.iter().map(|other| other.path.as_str());
            std::iter::once(file.path.as_str()).chain(real).chain(others)
        })
    }
}

/// The forms of a call, computed when they are first needed.
///
/// They are derived from the call and the disk, so they are ignored when calls are compared.
#[derive(Clone, Debug, Default)]
pub struct LazyForms(OnceLock<CallForms>);

impl LazyForms {
    /// Returns the forms, if they were computed.
    pub fn get(&self) -> Option<&CallForms> {
        self.0.get()
    }

    /// Returns the forms; `find` computes them the first time.
    pub fn get_or_init(&self, find: impl FnOnce() -> CallForms) -> &CallForms {
        self.0.get_or_init(find)
    }

    /// Clears them, because the call or its location has changed.
    pub fn forget(&mut self) {
        self.0.take();
    }
}

impl PartialEq for LazyForms {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
