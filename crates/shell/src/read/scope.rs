//! Variables, positional parameters and the folder, with a log of their changes: what happens in a
//! subshell is undone, and what may have happened or not becomes unknown.

use std::collections::BTreeMap;

use crate::command::Folder;
use crate::word::Word;

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// It was set, to something that cannot be told.
    Unknown,
    Scalar(Word),
    Array(Vec<Word>),
}

#[derive(Debug)]
enum Change {
    Variable(String, Option<Value>),
    Folder(Folder),
    Positional(Option<Vec<Word>>),
}

/// A state of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(usize);

#[derive(Debug)]
pub(super) struct Scope {
    variables: BTreeMap<String, Value>,
    folder: Folder,
    /// `None` if they cannot be told.
    positional: Option<Vec<Word>>,
    log: Vec<Change>,
}

impl Scope {
    pub(super) fn new() -> Self {
        Self {
            variables: BTreeMap::new(),
            folder: Folder::Start,
            positional: Some(Vec::new()),
            log: Vec::new(),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(super) fn positional(&self) -> Option<&[Word]> {
        self.positional.as_deref()
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        let old = self.variables.insert(name.to_owned(), value);
        self.log.push(Change::Variable(name.to_owned(), old));
    }

    pub(super) fn set_folder(&mut self, folder: Folder) {
        let old = std::mem::replace(&mut self.folder, folder);
        self.log.push(Change::Folder(old));
    }

    pub(super) fn set_positional(&mut self, words: Option<Vec<Word>>) {
        let old = std::mem::replace(&mut self.positional, words);
        self.log.push(Change::Positional(old));
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Takes back everything since a mark.
    pub(super) fn undo(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            match self.log.pop() {
                Some(Change::Variable(name, Some(old))) => {
                    self.variables.insert(name, old);
                }
                Some(Change::Variable(name, None)) => {
                    self.variables.remove(&name);
                }
                Some(Change::Folder(old)) => self.folder = old,
                Some(Change::Positional(old)) => self.positional = old,
                None => return,
            }
        }
    }

    /// Makes unknown what changed since a mark: it may have happened, or not. Returns whether
    /// something that was known is unknown now.
    pub(super) fn blur(&mut self, mark: Mark) -> bool {
        let mut blurred = false;
        for change in &self.log[mark.0.min(self.log.len())..] {
            match change {
                Change::Variable(name, old) => {
                    // A value that replaced none is most likely the one.
                    if let (Some(value), Some(old)) = (self.variables.get_mut(name), old)
                        && old != value
                        && *value != Value::Unknown
                    {
                        blurred = true;
                        *value = Value::Unknown;
                    }
                }
                Change::Folder(old) => {
                    if *old != self.folder && self.folder != Folder::Unknown {
                        blurred = true;
                        self.folder = Folder::Unknown;
                    }
                }
                Change::Positional(old) => {
                    let had_none = old.as_ref().is_some_and(Vec::is_empty);
                    if *old != self.positional && !had_none {
                        self.positional = None;
                    }
                }
            }
        }
        blurred
    }
}
