//! Paired devices: their public keys, and the digests of their sessions. No secret is stored.
//!
//! The file is read at every use: a device that was removed is refused at once, whoever removed it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_engine::atomic_file::AtomicFile;
use jiff::{SignedDuration, Timestamp};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::secret::{Secret, bytes, hexadecimal};

/// More devices are not paired.
const LIMIT: usize = 32;
/// The longest name.
const NAME: usize = 40;
/// A device that was not used for this long has to be paired again.
const UNUSED: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How often the last use of a device is written down.
const NOTE_EVERY: SignedDuration = SignedDuration::from_mins(10);

/// A paired device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its id.
    pub id: String,
    /// Its name, chosen by the person who paired it.
    pub name: String,
    /// Its public key: an uncompressed point of P-256, in hexadecimal digits.
    pub key: String,
    /// When it was paired.
    pub since: Timestamp,
    /// When it was last used.
    pub used: Timestamp,
    /// Who paired it.
    pub by: String,
    /// The digest of the word in its cookie.
    session: String,
}

/// A device in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedDevice {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its public key: an uncompressed point of P-256, in hexadecimal digits.
    pub key: String,
    /// When it was paired.
    pub since: Timestamp,
    /// When it was last used.
    pub used: Timestamp,
    /// Who paired it.
    pub by: String,
}

impl Device {
    /// Returns what may be shown of it.
    pub fn listed(&self) -> ListedDevice {
        let Self { id, name, key, since, used, by, session: _ } = self.clone();
        ListedDevice { id, name, key, since, used, by }
    }

    /// Returns whether it has signed a text.
    pub fn has_signed(&self, text: &[u8], signature: &str) -> bool {
        has_signed(&self.key, text, signature)
    }
}

/// Returns whether the owner of a key has signed a text.
pub fn has_signed(key: &str, text: &[u8], signature: &str) -> bool {
    let (Some(key), Some(signature)) = (bytes(key), bytes(signature)) else { return false };
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(text, &signature).is_ok()
}

/// Returns whether a device may be called so: one line, for people.
pub fn is_name(name: &str) -> bool {
    let is_shown = |letter: char| !letter.is_control() && !is_invisible(letter);
    let length = name.chars().count();
    (1..=NAME).contains(&length) && name.trim() == name && name.chars().all(is_shown)
}

/// What changes how other letters are shown.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The devices of a state folder.
#[derive(Clone, Debug)]
pub struct DeviceStore {
    file: PathBuf,
}

/// Why devices cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is none of that name.
    #[error("there is no device `{0}`")]
    Unknown(String),
    /// There are too many.
    #[error("there are {LIMIT} devices already")]
    TooMany,
    /// The system has no random numbers.
    #[error("the system provides no random numbers")]
    NoRandom,
    /// The file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
}

impl DeviceStore {
    /// Names the file.
    pub fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// Returns all devices, by name.
    pub fn list(&self) -> Result<Vec<Device>, DeviceError> {
        let bytes = match std::fs::read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed(error)),
        };
        serde_json::from_slice(&bytes).map_err(|error| self.failed(io::Error::other(error)))
    }

    /// Adds a device, and returns it with the word for its cookie. If its name is taken, a number
    /// is appended.
    pub fn add(
        &self,
        name: &str,
        key: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<(Device, Secret), DeviceError> {
        let session = Secret::random().map_err(|_| DeviceError::NoRandom)?;
        let id = Secret::random().map_err(|_| DeviceError::NoRandom)?.short();
        self.change(|all| {
            if all.len() >= LIMIT {
                return Err(DeviceError::TooMany);
            }
            let is_taken = |name: &str| all.iter().any(|device| device.name == name);
            let numbered = (2..).map(|number| format!("{name} {number}"));
            let mut names = std::iter::once(name.to_owned()).chain(numbered);
            let name = names.find(|name| !is_taken(name)).unwrap_or_else(|| id.clone());
            let (key, by) = (key.to_owned(), by.to_owned());
            let session_digest = session.digest();
            let device =
                Device { id, name, key, since: now, used: now, by, session: session_digest };
            all.push(device.clone());
            all.sort_by(|one, other| one.name.cmp(&other.name));
            Ok((device, session.clone()))
        })
    }

    /// Removes a device by its name or id.
    pub fn remove(&self, name: &str) -> Result<Device, DeviceError> {
        self.change(|all| {
            let found = all.iter().position(|device| device.id == name || device.name == name);
            let at = found.ok_or_else(|| DeviceError::Unknown(name.to_owned()))?;
            Ok(all.remove(at))
        })
    }

    /// Returns the device that has this word in its cookie, and notes that it is used. If the file
    /// cannot be read, there is none.
    pub fn find(&self, session: &Secret, now: Timestamp) -> Option<Device> {
        let digest = session.digest();
        let device = self.list().ok()?.into_iter().find(|device| device.session == digest)?;
        let unused = now.duration_since(device.used);
        if unused > UNUSED {
            return None;
        }
        if unused > NOTE_EVERY {
            // Only a note; and it must not bring back what was just removed.
            let _ = self.change(|all| {
                all.iter_mut().filter(|one| one.id == device.id).for_each(|one| one.used = now);
                Ok(())
            });
        }
        Some(device)
    }

    /// Returns whether a device is still paired.
    pub fn has(&self, id: &str) -> bool {
        self.list().is_ok_and(|all| all.iter().any(|device| device.id == id))
    }

    /// Changes the devices while no other process does.
    fn change<T>(
        &self,
        work: impl FnOnce(&mut Vec<Device>) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let _turn = self.turn().map_err(|error| self.failed(error))?;
        let mut all = self.list()?;
        let done = work(&mut all)?;
        let write = || -> io::Result<()> {
            AtomicFile::new(&self.file)
                .replace(&serde_json::to_vec(&all).map_err(io::Error::other)?)
        };
        write().map_err(|error| self.failed(error))?;
        Ok(done)
    }

    fn turn(&self) -> io::Result<File> {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder)?;
        let path = self.file.with_extension("lock");
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn failed(&self, error: io::Error) -> DeviceError {
        DeviceError::File(self.file.clone(), error)
    }
}

/// Writes a key as it is stored, if it is one that signatures can be checked with.
pub fn public_key(text: &str) -> Option<String> {
    let key = bytes(text)?;
    (key.len() == 65 && key.first() == Some(&4)).then(|| hexadecimal(&key))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn store(folder: &tempfile::TempDir) -> DeviceStore {
        DeviceStore::new(folder.path().join("ui/devices.json"))
    }

    #[test]
    fn a_device_is_known_by_its_cookie_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let (device, cookie) = store.add("phone", "04ab", "ann", NOW).unwrap();
        let (second, _) = store.add("phone", "04cd", "ann", NOW).unwrap();
        assert_eq!(second.name, "phone 2");
        assert_eq!(store.find(&cookie, NOW).unwrap(), device);
        let text = std::fs::read_to_string(folder.path().join("ui/devices.json")).unwrap();
        assert!(!text.contains(cookie.text()));
        assert!(store.find(&Secret::random().unwrap(), NOW).is_none());
        store.remove("phone").unwrap();
        assert!(store.find(&cookie, NOW).is_none() && !store.has(&device.id));
        assert!(store.has(&second.id));
        assert!(matches!(store.remove("phone"), Err(DeviceError::Unknown(_))));
        store.remove(&second.id).unwrap();
        assert!(store.list().unwrap().is_empty());
    }

    #[test]
    fn an_unused_device_is_not_let_in() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let (_, cookie) = store.add("phone", "04ab", "ann", NOW).unwrap();
        let later = |days: i64| NOW + SignedDuration::from_hours(24 * days);
        assert!(store.find(&cookie, later(89)).is_some());
        assert!(store.find(&cookie, later(178)).is_some(), "its use was noted");
        assert!(store.find(&cookie, later(269)).is_none());
    }

    #[test]
    fn a_damaged_file_lets_nobody_in_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let (_, cookie) = store.add("phone", "04ab", "ann", NOW).unwrap();
        std::fs::write(&store.file, "[{").unwrap();
        assert!(store.find(&cookie, NOW).is_none());
        assert!(matches!(store.add("x", "04", "ann", NOW), Err(DeviceError::File(..))));
        assert_eq!(std::fs::read_to_string(&store.file).unwrap(), "[{");
    }

    #[test]
    fn devices_are_bounded_and_their_names_are_plain() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        for number in 0..LIMIT {
            store.add(&format!("d{number}"), "04", "ann", NOW).unwrap();
        }
        assert!(matches!(store.add("one more", "04", "ann", NOW), Err(DeviceError::TooMany)));
        for good in ["phone", "Ann's phone", "é 2"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", " x", "a\nb", "a\u{202e}b", &"x".repeat(NAME + 1)] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
