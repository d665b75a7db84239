//! A file that a call names, in every form a guard may know it by.

use std::sync::OnceLock;

use serde::Serialize;

/// A path of a call in its forms. A pattern that matches one of them matches the call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FilePath {
    /// Absolute, without `.`, `..`, `//` and a `/` at the end.
    pub path: String,
    /// As the call names it.
    pub given: String,
    /// From the project's folder on, if it is inside.
    pub relative: Option<String>,
    /// With links resolved; of what does not exist, as far as it does.
    pub real: String,
    /// The real path from the project's real folder on, if it is inside.
    pub real_relative: Option<String>,
    /// How many names the file has, if it exists: more than one are hard links.
    pub links: Option<u64>,
}

impl FilePath {
    /// Returns its forms, none of them twice.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let real = Some(&self.real).filter(|real| **real != self.path);
        let inner = self.real_relative.as_ref().filter(|_| self.real_relative != self.relative);
        let further = [self.relative.as_ref(), real, inner].into_iter().flatten();
        [&self.given, &self.path].into_iter().chain(further).map(String::as_str)
    }
}

/// What a call is matched by beside the values of its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallForms {
    /// Its files, in the order in which they are named.
    pub files: Vec<FilePath>,
    /// Commands that are given as a list of words, as one line each.
    pub commands: Vec<String>,
    /// Whether there are more files than were looked at: then every pattern counts as matching.
    pub is_cut: bool,
}

impl CallForms {
    /// Returns every text that is not in the input already, or may not be.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(FilePath::texts).chain(self.commands.iter().map(String::as_str))
    }

    /// Returns the files as an event lists them: absolute, each real path behind its own.
    pub fn listed(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| {
            let real = Some(file.real.as_str()).filter(|real| *real != file.path);
            std::iter::once(file.path.as_str()).chain(real)
        })
    }
}

/// The forms of a call, computed when they are first needed.
///
/// They follow from the call and the disk, so they make no call different from another.
#[derive(Clone, Debug, Default)]
pub struct LazyForms(OnceLock<CallForms>);

impl LazyForms {
    /// Returns the forms, if they were computed.
    pub fn get(&self) -> Option<&CallForms> {
        self.0.get()
    }

    /// Returns the forms; `find` finds them out the first time.
    pub fn get_or_init(&self, find: impl FnOnce() -> CallForms) -> &CallForms {
        self.0.get_or_init(find)
    }

    /// Forgets them: the call is another, or where it happens.
    pub fn forget(&mut self) {
        self.0.take();
    }
}

impl PartialEq for LazyForms {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
