//! Tokens of programs that use the API. Only their digests are stored.

use std::io;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// What every token begins with, so that one that leaked is recognised.
const PREFIX: &str = "anyhook_";
/// More tokens are not kept.
const LIMIT: usize = 100;

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// See everything.
    Read,
    /// Answer decisions and send input, too.
    Answer,
}

impl Scope {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Answer => "answer",
        }
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its name, chosen by a person.
    pub name: String,
    /// What it is for.
    pub scope: Scope,
    /// When it was made.
    pub since: Timestamp,
    digest: String,
}

/// A token in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedToken {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub scope: Scope,
    /// When it was made.
    pub since: Timestamp,
}

impl Token {
    /// Returns what may be shown of it.
    pub fn listed(&self) -> ListedToken {
        ListedToken { name: self.name.clone(), scope: self.scope, since: self.since }
    }
}

/// The tokens of a state folder. Read at every use: another process may change them.
#[derive(Clone, Debug)]
pub struct TokenStore {
    file: PathBuf,
}

/// Why tokens cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// There is one of that name.
    #[error("there is already a token `{0}`")]
    Exists(String),
    /// There is none of that name.
    #[error("there is no token `{0}`")]
    Unknown(String),
    /// Its name cannot be used.
    #[error("`{0}` is not a valid name: use letters, digits, `-`, `_` and `.`, at most 64")]
    Name(String),
    /// There are too many.
    #[error("there are {LIMIT} tokens already")]
    TooMany,
    /// The system has no random numbers.
    #[error("the system provides no random numbers")]
    NoRandom,
    /// The file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
}

impl TokenStore {
    /// Names the file.
    pub fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// Returns the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns all tokens, by name.
    pub fn list(&self) -> Result<Vec<Token>, TokenError> {
        let bytes = match std::fs::read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(TokenError::File(self.file.clone(), error)),
        };
        serde_json::from_slice(&bytes)
            .map_err(|error| TokenError::File(self.file.clone(), io::Error::other(error)))
    }

    /// Makes a token, and returns its secret; it is not shown again.
    pub fn add(&self, name: &str, scope: Scope, now: Timestamp) -> Result<String, TokenError> {
        let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_usual) {
            return Err(TokenError::Name(name.to_owned()));
        }
        let mut all = self.list()?;
        if all.iter().any(|token| token.name == name) {
            return Err(TokenError::Exists(name.to_owned()));
        }
        if all.len() >= LIMIT {
            return Err(TokenError::TooMany);
        }
        let random = Secret::random().map_err(|_| TokenError::NoRandom)?;
        let secret = Secret::received(&format!("{PREFIX}{}", random.text()));
        all.push(Token { name: name.to_owned(), scope, since: now, digest: secret.digest() });
        all.sort_by(|one, other| one.name.cmp(&other.name));
        self.keep(&all)?;
        Ok(secret.text().to_owned())
    }

    /// Removes a token.
    pub fn remove(&self, name: &str) -> Result<(), TokenError> {
        let mut all = self.list()?;
        let before = all.len();
        all.retain(|token| token.name != name);
        if all.len() == before {
            return Err(TokenError::Unknown(name.to_owned()));
        }
        self.keep(&all)
    }

    /// Returns the token of a secret. If the file cannot be read, there is none.
    pub fn find(&self, secret: &Secret) -> Option<Token> {
        let digest = secret.digest();
        self.list().ok()?.into_iter().find(|token| token.digest == digest)
    }

    fn keep(&self, all: &[Token]) -> Result<(), TokenError> {
        let write = || -> io::Result<()> {
            if let Some(folder) = self.file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            AtomicFile::new(&self.file).replace(&serde_json::to_vec(all).map_err(io::Error::other)?)
        };
        write().map_err(|error| TokenError::File(self.file.clone(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_secret_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::new(folder.path().join("ui/tokens.json"));
        let secret = store.add("ci", Scope::Read, Timestamp::UNIX_EPOCH).unwrap();
        store.add("bot", Scope::Answer, Timestamp::UNIX_EPOCH).unwrap();
        assert!(secret.starts_with(PREFIX));
        assert!(!std::fs::read_to_string(store.file()).unwrap().contains(&secret));
        assert_eq!(store.find(&Secret::received(&secret)).unwrap().scope, Scope::Read);
        let names: Vec<String> = store.list().unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["bot", "ci"]);
        let again = store.add("ci", Scope::Answer, Timestamp::UNIX_EPOCH);
        assert!(matches!(again, Err(TokenError::Exists(_))), "{again:?}");
        store.remove("ci").unwrap();
        assert!(store.find(&Secret::received(&secret)).is_none());
        assert!(matches!(store.remove("ci"), Err(TokenError::Unknown(_))));
        for wrong in ["", "a b", "é", &"x".repeat(65)] {
            let refused = store.add(wrong, Scope::Read, Timestamp::UNIX_EPOCH);
            assert!(matches!(refused, Err(TokenError::Name(_))), "{refused:?}");
        }
    }

    #[test]
    fn a_damaged_file_lets_nobody_in_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::new(folder.path().join("tokens.json"));
        let secret = store.add("ci", Scope::Read, Timestamp::UNIX_EPOCH).unwrap();
        std::fs::write(store.file(), "[{").unwrap();
        assert!(store.find(&Secret::received(&secret)).is_none());
        let added = store.add("other", Scope::Read, Timestamp::UNIX_EPOCH);
        assert!(matches!(added, Err(TokenError::File(..))), "{added:?}");
        assert_eq!(std::fs::read_to_string(store.file()).unwrap(), "[{");
    }
}
