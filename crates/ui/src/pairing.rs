//! Pairing a device: one link, one device, one person at the terminal who agrees.
//!
//! ```text
//!  terminal                       daemon                        phone
//!     │── open_lan ──────────────▶ │                              │
//!     │◀── link with a secret ──── │                              │
//!     │  ═══ the QR code, from the screen to the camera ════════▶ │ makes a key
//!     │                            │ ◀── name, key, proof ─────── │ shows the code
//!     │◀── arrived ─────────────── │                              │
//!     │  the person reads the certificate's fingerprint and the code from the phone
//!     │── confirm CODE ──────────▶ │ ── the session's cookie ───▶ │
//! ```
//!
//! The secret is in the part of the link that browsers do not send; the proof shows that the device
//! has it. The code is derived from the certificate, the secret, the device's key and its name: it
//! tells a person that the device that arrived is the one in their hand. It says nothing about who
//! serves the page, as that decides what the page shows; for that, there is the fingerprint, which
//! the browser shows itself.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhook_model::daemon::{PairingLink, PairingState, Refusal, RefusalCode};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::watch;

use crate::devices::{Device, DeviceStore, has_signed, is_name, public_key};
use crate::secret::Secret;

/// For how long a device can use the link.
const LINK_LIFE: Duration = Duration::from_secs(120);
/// For how long a device that has used it waits for the person at the terminal.
const CONFIRM_LIFE: Duration = Duration::from_secs(300);
/// How many wrong proofs, and how many wrong codes, end a pairing.
const TRIES: u8 = 5;

/// What a device sends to be paired.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// What it is called.
    pub name: String,
    /// Its public key.
    pub key: String,
    /// Derived from the link's secret for these very values.
    pub proof: String,
    /// The key's signature of the same values: whoever sends them has it.
    pub signature: String,
}

/// Why a pairing does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    /// There is none, or another one has begun since.
    #[error("there is no such pairing")]
    Unknown,
    /// Nobody went on with it in time.
    #[error("the pairing took too long")]
    Late,
    /// The proof or the signature is wrong.
    #[error("the device does not have the link's secret")]
    WrongProof,
    /// There were too many wrong proofs or codes.
    #[error("there were too many wrong attempts")]
    TooMany,
    /// Two devices had the link.
    #[error("two devices have used the link: someone else has seen it")]
    TwoDevices,
    /// The person at the terminal said no.
    #[error("the pairing was cancelled at the terminal")]
    Cancelled,
    /// No device has arrived that could be confirmed.
    #[error("no device has arrived yet")]
    NoDevice,
    /// The name cannot be used.
    #[error("this cannot be a device's name: one line of at most 40 letters")]
    Name,
    /// The key cannot be used.
    #[error("this is not a public key of P-256")]
    Key,
    /// The device cannot be stored.
    #[error("the device cannot be stored")]
    Store,
    /// The system has no random numbers.
    #[error("the system provides no random numbers")]
    NoRandom,
}

impl From<PairingError> for Refusal {
    fn from(error: PairingError) -> Self {
        let hint = Some("anyhook ui --lan".to_owned());
        Self { code: RefusalCode::NotNow, message: error.to_string(), hint }
    }
}

#[derive(Debug)]
enum Step {
    Waiting { wrong: u8 },
    Arrived { name: String, key: String, ticket: String, code: String, at: Instant, left: u8 },
    Paired { ticket: String, device: Box<Device>, session: Secret, at: Instant },
    Over(PairingError),
}

#[derive(Debug)]
struct Pairing {
    id: String,
    secret: Secret,
    fingerprint: String,
    by: String,
    made: Instant,
    step: Step,
}

/// The pairing that is under way; a new one ends it.
#[derive(Debug)]
pub struct Pairings {
    current: Mutex<Option<Pairing>>,
    changed: watch::Sender<()>,
}

impl Default for Pairings {
    fn default() -> Self {
        Self { current: Mutex::new(None), changed: watch::Sender::new(()) }
    }
}

/// Returns the values that a proof, a code and a signature are made of.
fn transcript(fingerprint: &str, key: &str, name: &str) -> String {
    format!("anyhook pairing 1\ncertificate {fingerprint}\nkey {key}\nname {name}\n")
}

/// Returns the code that a device shows, such as `47-11-93`.
fn code(secret: &Secret, transcript: &str) -> String {
    let derived = secret.derived(&format!("code\n{transcript}"));
    let number = derived.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let number = number.unwrap_or_default() % 1_000_000;
    format!("{:02}-{:02}-{:02}", number / 10_000, number / 100 % 100, number % 100)
}

impl Pairing {
    /// Ends it if it has taken too long.
    fn look(&mut self, now: Instant) {
        let is_late = match &self.step {
            Step::Waiting { .. } => now.saturating_duration_since(self.made) > LINK_LIFE,
            Step::Arrived { at, .. } | Step::Paired { at, .. } => {
                now.saturating_duration_since(*at) > CONFIRM_LIFE
            }
            Step::Over(_) => false,
        };
        if is_late {
            self.step = Step::Over(PairingError::Late);
        }
    }

    fn end<T>(&mut self, error: PairingError) -> Result<T, PairingError> {
        self.step = Step::Over(error);
        Err(error)
    }

    fn arrive(&mut self, arrival: &Arrival, now: Instant) -> Result<Secret, PairingError> {
        let (wrong, is_first) = match &self.step {
            Step::Waiting { wrong } => (*wrong, true),
            Step::Arrived { .. } => (0, false),
            // Who comes later may hear that it is over, not whether the link was good.
            Step::Paired { .. } => return Err(PairingError::Unknown),
            Step::Over(error) => return Err(*error),
        };
        let Arrival { name, key, proof, signature } = arrival;
        let transcript = transcript(&self.fingerprint, key, name);
        if !self.secret.has_derived(&format!("proof\n{transcript}"), proof) {
            if is_first {
                let wrong = wrong + 1;
                self.step = Step::Waiting { wrong };
                if wrong >= TRIES {
                    return self.end(PairingError::TooMany);
                }
            }
            return Err(PairingError::WrongProof);
        }
        if !is_first {
            return self.end(PairingError::TwoDevices);
        }
        if !is_name(name) {
            return Err(PairingError::Name);
        }
        // As it was sent, it is part of the proof.
        if public_key(key).as_ref() != Some(key)
            || !has_signed(key, transcript.as_bytes(), signature)
        {
            return Err(PairingError::Key);
        }
        let ticket = Secret::random().map_err(|_| PairingError::NoRandom)?;
        self.step = Step::Arrived {
            name: name.clone(),
            key: key.clone(),
            ticket: ticket.digest(),
            code: code(&self.secret, &transcript),
            at: now,
            left: TRIES,
        };
        Ok(ticket)
    }

    fn confirm(
        &mut self,
        typed: &str,
        devices: &DeviceStore,
        now: Instant,
    ) -> Result<PairingState, PairingError> {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let (name, key, ticket) = match &mut self.step {
            Step::Waiting { .. } => return Err(PairingError::NoDevice),
            Step::Over(error) => return Err(*error),
            Step::Paired { device, .. } => {
                return Ok(PairingState::Paired { name: device.name.clone() });
            }
            Step::Arrived { code, left, .. } if digits(typed) != digits(code) => {
                *left = left.saturating_sub(1);
                return match *left {
                    0 => self.end(PairingError::TooMany),
                    left => Ok(PairingState::WrongCode { left }),
                };
            }
            Step::Arrived { name, key, ticket, .. } => (name.clone(), key.clone(), ticket.clone()),
        };
        let Ok((device, session)) = devices.add(&name, &key, &self.by, Timestamp::now()) else {
            return self.end(PairingError::Store);
        };
        let name = device.name.clone();
        self.step = Step::Paired { ticket, device: Box::new(device), session, at: now };
        Ok(PairingState::Paired { name })
    }

    fn state(&self) -> Result<PairingState, PairingError> {
        match &self.step {
            Step::Waiting { .. } => Ok(PairingState::Waiting),
            Step::Arrived { name, .. } => Ok(PairingState::Arrived { name: name.clone() }),
            Step::Paired { device, .. } => Ok(PairingState::Paired { name: device.name.clone() }),
            Step::Over(PairingError::Cancelled) => Ok(PairingState::Cancelled),
            Step::Over(error) => Err(*error),
        }
    }
}

impl Pairings {
    fn current(&self) -> MutexGuard<'_, Option<Pairing>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the pairing that is under way.
    fn with<T>(
        &self,
        now: Instant,
        work: impl FnOnce(&mut Pairing) -> Result<T, PairingError>,
    ) -> Result<T, PairingError> {
        let mut current = self.current();
        let pairing = current.as_mut().ok_or(PairingError::Unknown)?;
        pairing.look(now);
        let done = work(pairing);
        drop(current);
        self.changed.send_replace(());
        done
    }

    /// Begins a pairing. `page` is the address of the page, `fingerprint` that of its certificate.
    pub fn begin(
        &self,
        page: &str,
        fingerprint: &str,
        by: &str,
        now: Instant,
    ) -> Result<PairingLink, PairingError> {
        let random = || Secret::random().map_err(|_| PairingError::NoRandom);
        let (id, secret) = (random()?.short(), random()?.short());
        let fingerprint: String = fingerprint.chars().take(32).collect();
        let link = format!("{page}pair#{secret}.{fingerprint}");
        *self.current() = Some(Pairing {
            id: id.clone(),
            secret: Secret::received(&secret),
            fingerprint,
            by: by.to_owned(),
            made: now,
            step: Step::Waiting { wrong: 0 },
        });
        self.changed.send_replace(());
        Ok(PairingLink { id, link, seconds: LINK_LIFE.as_secs() })
    }

    /// A device has used the link. Returns the word with which it asks how it went on.
    pub fn arrive(&self, arrival: &Arrival, now: Instant) -> Result<Secret, PairingError> {
        self.with(now, |pairing| pairing.arrive(arrival, now))
    }

    /// The person at the terminal has read a code from the device.
    pub fn confirm(
        &self,
        id: &str,
        typed: &str,
        devices: &DeviceStore,
        now: Instant,
    ) -> Result<PairingState, PairingError> {
        self.with(now, |pairing| {
            if pairing.id != id {
                return Err(PairingError::Unknown);
            }
            pairing.confirm(typed, devices, now)
        })
    }

    /// The person at the terminal said no.
    pub fn cancel(&self, id: &str) -> Result<PairingState, PairingError> {
        self.with(Instant::now(), |pairing| match &pairing.step {
            _ if pairing.id != id => Err(PairingError::Unknown),
            Step::Paired { device, .. } => Ok(PairingState::Paired { name: device.name.clone() }),
            // The device is told the first reason.
            Step::Over(_) => Ok(PairingState::Cancelled),
            Step::Waiting { .. } | Step::Arrived { .. } => {
                pairing.step = Step::Over(PairingError::Cancelled);
                Ok(PairingState::Cancelled)
            }
        })
    }

    /// Forgets the pairing.
    pub fn clear(&self) {
        *self.current() = None;
        self.changed.send_replace(());
    }

    /// Waits until a device has arrived, or the pairing has ended; at most for `patience`.
    pub async fn wait(&self, id: &str, patience: Duration) -> Result<PairingState, PairingError> {
        let mut changed = self.changed.subscribe();
        let end = tokio::time::Instant::now() + patience;
        loop {
            let state = self.look(|pairing| {
                if pairing.id == id { pairing.state() } else { Err(PairingError::Unknown) }
            })?;
            if state != PairingState::Waiting
                || tokio::time::timeout_at(end, changed.changed()).await.is_err()
            {
                return Ok(state);
            }
        }
    }

    /// Waits until the person at the terminal has decided about the device with this word; at most
    /// for `patience`. Returns the device and its session, once; none if there is no decision yet.
    pub async fn finish(
        &self,
        ticket: &Secret,
        patience: Duration,
    ) -> Result<Option<(Device, Secret)>, PairingError> {
        let mut changed = self.changed.subscribe();
        let end = tokio::time::Instant::now() + patience;
        let digest = ticket.digest();
        loop {
            let found = self.look(|pairing| match &pairing.step {
                Step::Arrived { ticket, .. } if *ticket == digest => Ok(None),
                Step::Paired { ticket, device, session, .. } if *ticket == digest => {
                    let found = (device.as_ref().clone(), session.clone());
                    pairing.step = Step::Over(PairingError::Unknown);
                    Ok(Some(found))
                }
                Step::Over(error) => Err(*error),
                _ => Err(PairingError::Unknown),
            })?;
            if found.is_some() || tokio::time::timeout_at(end, changed.changed()).await.is_err() {
                return Ok(found);
            }
        }
    }

    /// Looks at the pairing without telling others that it has changed.
    fn look<T>(
        &self,
        work: impl FnOnce(&mut Pairing) -> Result<T, PairingError>,
    ) -> Result<T, PairingError> {
        let mut current = self.current();
        let pairing = current.as_mut().ok_or(PairingError::Unknown)?;
        pairing.look(Instant::now());
        work(pairing)
    }
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

    use super::*;
    use crate::secret::hexadecimal;

    struct World {
        _folder: tempfile::TempDir,
        devices: DeviceStore,
        pairings: Pairings,
        link: PairingLink,
        now: Instant,
    }

    fn world() -> World {
        let folder = tempfile::tempdir().unwrap();
        let devices = DeviceStore::new(folder.path().join("devices.json"));
        let (pairings, now) = (Pairings::default(), Instant::now());
        let link = pairings.begin("https://h:1/", &"ab".repeat(32), "ann", now).unwrap();
        World { _folder: folder, devices, pairings, link, now }
    }

    /// What the phone's page does with the link.
    fn arrival(link: &PairingLink, name: &str) -> (Arrival, String) {
        let (_, fragment) = link.link.split_once('#').unwrap();
        let (secret, fingerprint) = fragment.split_once('.').unwrap();
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        let key = hexadecimal(pair.public_key().as_ref());
        let text = transcript(fingerprint, &key, name);
        let secret = Secret::received(secret);
        let proof = secret.derived(&format!("proof\n{text}"));
        let signature = hexadecimal(pair.sign(&random, text.as_bytes()).unwrap().as_ref());
        (Arrival { name: name.to_owned(), key, proof, signature }, code(&secret, &text))
    }

    async fn finish(world: &World, ticket: &Secret) -> Result<Option<Device>, PairingError> {
        let found = world.pairings.finish(ticket, Duration::ZERO).await?;
        Ok(found.map(|(device, _)| device))
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    #[test]
    fn a_device_is_paired_when_a_person_has_read_its_code() {
        let world = world();
        let (arrival, code) = arrival(&world.link, "phone");
        let id = &world.link.id;
        let early = world.pairings.confirm(id, &code, &world.devices, world.now);
        assert_eq!(early, Err(PairingError::NoDevice));
        let ticket = world.pairings.arrive(&arrival, world.now).unwrap();
        block_on(async {
            let state = world.pairings.wait(id, Duration::ZERO).await.unwrap();
            assert_eq!(state, PairingState::Arrived { name: "phone".to_owned() });
            assert_eq!(finish(&world, &ticket).await, Ok(None));
            let typed = code.replace('-', " ");
            let paired = world.pairings.confirm(id, &typed, &world.devices, world.now).unwrap();
            assert_eq!(paired, PairingState::Paired { name: "phone".to_owned() });
            let strange = Secret::random().unwrap();
            assert_eq!(finish(&world, &strange).await, Err(PairingError::Unknown));
            let device = finish(&world, &ticket).await.unwrap().unwrap();
            assert_eq!((device.name.as_str(), &device.key), ("phone", &arrival.key));
            assert_eq!(finish(&world, &ticket).await, Err(PairingError::Unknown), "only once");
        });
        assert_eq!(world.devices.list().unwrap().len(), 1);
    }

    #[test]
    fn wrong_proofs_and_wrong_codes_are_bounded() {
        let world = world();
        let (mut wrong, _) = arrival(&world.link, "phone");
        wrong.name = "another name".to_owned();
        for _ in 1..TRIES {
            assert_eq!(
                world.pairings.arrive(&wrong, world.now).unwrap_err(),
                PairingError::WrongProof
            );
        }
        assert_eq!(world.pairings.arrive(&wrong, world.now).unwrap_err(), PairingError::TooMany);
        let (right, _) = arrival(&world.link, "phone");
        assert_eq!(world.pairings.arrive(&right, world.now).unwrap_err(), PairingError::TooMany);

        let world = self::world();
        let (right, code) = arrival(&world.link, "phone");
        world.pairings.arrive(&right, world.now).unwrap();
        let confirm =
            |code: &str| world.pairings.confirm(&world.link.id, code, &world.devices, world.now);
        for left in (1..TRIES).rev() {
            assert_eq!(confirm("12-34"), Ok(PairingState::WrongCode { left }));
        }
        assert_eq!(confirm("12-34"), Err(PairingError::TooMany));
        assert_eq!(confirm(&code), Err(PairingError::TooMany));
        assert!(world.devices.list().unwrap().is_empty());
    }

    #[test]
    fn a_link_that_two_devices_have_pairs_neither() {
        let world = world();
        let (one, code) = arrival(&world.link, "one");
        let (other, _) = arrival(&world.link, "other");
        let ticket = world.pairings.arrive(&one, world.now).unwrap();
        let second = world.pairings.arrive(&other, world.now).unwrap_err();
        assert_eq!(second, PairingError::TwoDevices);
        let confirmed = world.pairings.confirm(&world.link.id, &code, &world.devices, world.now);
        assert_eq!(confirmed, Err(PairingError::TwoDevices));
        assert_eq!(block_on(finish(&world, &ticket)), Err(PairingError::TwoDevices));
    }

    #[test]
    fn a_pairing_ends_in_time_when_cancelled_and_with_the_next() {
        let world = world();
        let (late, code) = arrival(&world.link, "phone");
        let after = world.now + LINK_LIFE + Duration::from_secs(1);
        assert_eq!(world.pairings.arrive(&late, after).unwrap_err(), PairingError::Late);

        let world = self::world();
        let (arrived, _) = arrival(&world.link, "phone");
        world.pairings.arrive(&arrived, world.now).unwrap();
        let id = &world.link.id;
        let after = world.now + CONFIRM_LIFE + Duration::from_secs(1);
        let confirmed = world.pairings.confirm(id, &code, &world.devices, after);
        assert_eq!(confirmed, Err(PairingError::Late));

        let world = self::world();
        assert_eq!(world.pairings.cancel(&world.link.id), Ok(PairingState::Cancelled));
        let (arrived, _) = arrival(&world.link, "phone");
        let refused = world.pairings.arrive(&arrived, world.now).unwrap_err();
        assert_eq!(refused, PairingError::Cancelled);
        world.pairings.begin("https://h:1/", "ab", "ann", world.now).unwrap();
        let old = world.pairings.confirm(&world.link.id, "1", &world.devices, world.now);
        assert_eq!(old, Err(PairingError::Unknown));
    }

    #[test]
    fn a_device_needs_a_name_and_its_key() {
        let world = world();
        let (nameless, _) = arrival(&world.link, "two\nlines");
        assert_eq!(world.pairings.arrive(&nameless, world.now).unwrap_err(), PairingError::Name);
        let (one, _) = arrival(&world.link, "phone");
        let (other, _) = arrival(&world.link, "phone");
        let stolen = Arrival { signature: other.signature, ..one };
        assert_eq!(world.pairings.arrive(&stolen, world.now).unwrap_err(), PairingError::Key);
    }
}
