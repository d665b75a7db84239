//! Requests that a device has signed: the text that is signed, and the words that make each of them
//! count once, and soon.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhook_model::approval_request::AnswerSignature;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};

use crate::devices::Device;
use crate::error::PageError;
use crate::secret::Secret;

/// The header with the device's id.
pub const DEVICE: HeaderName = HeaderName::from_static("x-anyhook-device");
/// The header with the one-time word.
pub const NONCE: HeaderName = HeaderName::from_static("x-anyhook-nonce");
/// The header with the signature.
pub const SIGNATURE: HeaderName = HeaderName::from_static("x-anyhook-signature");

/// For how long a one-time word can be used.
const LIFE: Duration = Duration::from_secs(60);
/// More words at once are not remembered; the oldest is forgotten, and then not accepted.
const WORDS: usize = 256;
/// More words at once of one device are not given.
const WORDS_OF_ONE: usize = 32;
/// A longer request of a device is refused: its text is kept with the answer.
pub const BODY_LIMIT: usize = 32 * 1024;

/// A word that one request of one device may contain, once.
#[derive(Debug)]
struct Nonce {
    digest: String,
    device: String,
    made: Instant,
    is_used: bool,
}

/// The words that were given to devices.
#[derive(Debug, Default)]
pub struct Nonces(VecDeque<Nonce>);

impl Nonces {
    /// Gives a word to a device.
    pub fn give(&mut self, device: &str) -> Result<Secret, PageError> {
        let word = Secret::random().map_err(|_| {
            let message = "the system provides no random numbers";
            PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_random", message)
        })?;
        while self.0.iter().filter(|nonce| nonce.device == device).count() >= WORDS_OF_ONE {
            let oldest = self.0.iter().position(|nonce| nonce.device == device);
            let Some(oldest) = oldest else { break };
            self.0.remove(oldest);
        }
        if self.0.len() >= WORDS {
            self.0.pop_front();
        }
        let (digest, device) = (word.digest(), device.to_owned());
        self.0.push_back(Nonce { digest, device, made: Instant::now(), is_used: false });
        Ok(word)
    }

    /// Uses a word up. Whatever else is wrong with the request, it cannot be used again.
    fn take(&mut self, device: &str, word: &Secret, now: Instant) -> Result<(), PageError> {
        let digest = word.digest();
        let found = self.0.iter_mut().find(|one| one.digest == digest && one.device == device);
        let Some(nonce) = found else {
            return Err(refused("unknown_nonce", "its one-time word is unknown or too old"));
        };
        if std::mem::replace(&mut nonce.is_used, true) {
            return Err(refused("replayed", "it was sent before"));
        }
        if now.saturating_duration_since(nonce.made) > LIFE {
            return Err(refused("late", "it was signed too long ago"));
        }
        Ok(())
    }
}

/// What a device has signed.
#[derive(Clone, Copy, Debug)]
pub struct SignedRequest<'request> {
    /// The method.
    pub method: &'request Method,
    /// The path, with the query if there is one.
    pub path: &'request str,
    /// The headers.
    pub headers: &'request HeaderMap,
    /// The body.
    pub body: &'request [u8],
}

impl SignedRequest<'_> {
    /// Checks that the device has signed exactly this request, now, and for the first time.
    pub fn check(
        &self,
        device: &Device,
        nonces: &mut Nonces,
        now: Instant,
    ) -> Result<AnswerSignature, PageError> {
        let header = |name: &HeaderName| self.headers.get(name)?.to_str().ok();
        let headers = (header(&DEVICE), header(&NONCE), header(&SIGNATURE));
        let (Some(id), Some(nonce), Some(signature)) = headers else {
            let error = refused("unsigned", "it is not signed by the device");
            return Err(error.hint("a device signs what it sends: its browser needs JavaScript"));
        };
        if id != device.id {
            return Err(refused("wrong_device", "it is signed for another device"));
        }
        nonces.take(&device.id, &Secret::received(nonce), now)?;
        let body = std::str::from_utf8(self.body);
        let body = body.map_err(|_| PageError::bad_request("the body is not text"))?;
        let text = text(self.method.as_str(), self.path, id, nonce, body);
        if !device.has_signed(text.as_bytes(), signature) {
            return Err(refused("wrong_signature", "the signature does not fit the request"));
        }
        let (device, key) = (device.id.clone(), device.key.clone());
        Ok(AnswerSignature { device, key, text, signature: signature.to_owned() })
    }
}

/// Returns the text that a device signs. The body comes last and is any text; nothing before it can
/// contain a line break.
pub fn text(method: &str, path: &str, device: &str, nonce: &str, body: &str) -> String {
    format!("anyhook request 1\n{method} {path}\ndevice {device}\nnonce {nonce}\n\n{body}")
}

fn refused(code: &'static str, why: &str) -> PageError {
    PageError::new(StatusCode::FORBIDDEN, code, format!("the request is refused: {why}"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

    use super::*;
    use crate::devices::DeviceStore;
    use crate::secret::hexadecimal;

    const PATH: &str = "/decisions/7k2m9x4q/answer";
    const BODY: &str = "choice=allow&digest=ab12";

    struct World {
        key: EcdsaKeyPair,
        device: Device,
        nonces: Nonces,
        now: Instant,
    }

    /// What is sent, after it was signed.
    struct Sent<'sent> {
        method: Method,
        path: &'sent str,
        id: &'sent str,
        nonce: &'sent str,
        body: &'sent str,
    }

    fn new_key() -> EcdsaKeyPair {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap()
    }

    fn world() -> World {
        let folder = tempfile::tempdir().unwrap();
        let store = DeviceStore::new(folder.path().join("devices.json"));
        let key = new_key();
        let public = hexadecimal(key.public_key().as_ref());
        let (device, _) = store.add("phone", &public, "ann", Timestamp::UNIX_EPOCH).unwrap();
        World { key, device, nonces: Nonces::default(), now: Instant::now() }
    }

    impl World {
        fn sign(&self, nonce: &str) -> String {
            let text = text("POST", PATH, &self.device.id, nonce, BODY);
            let signed = self.key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
            hexadecimal(signed.as_ref())
        }

        fn send(&mut self, sent: &Sent<'_>, signature: &str) -> Result<AnswerSignature, PageError> {
            let mut headers = HeaderMap::new();
            headers.insert(DEVICE, sent.id.parse().unwrap());
            headers.insert(NONCE, sent.nonce.parse().unwrap());
            headers.insert(SIGNATURE, signature.parse().unwrap());
            let request = SignedRequest {
                method: &sent.method,
                path: sent.path,
                headers: &headers,
                body: sent.body.as_bytes(),
            };
            request.check(&self.device, &mut self.nonces, self.now)
        }
    }

    fn code(checked: Result<AnswerSignature, PageError>) -> &'static str {
        checked.unwrap_err().code
    }

    #[test]
    fn what_was_signed_is_accepted_once() {
        let mut world = world();
        let id = world.device.id.clone();
        let nonce = world.nonces.give(&id).unwrap();
        let signature = world.sign(nonce.text());
        let sent =
            Sent { method: Method::POST, path: PATH, id: &id, nonce: nonce.text(), body: BODY };
        let accepted = world.send(&sent, &signature).unwrap();
        assert!(crate::devices::has_signed(
            &accepted.key,
            accepted.text.as_bytes(),
            &accepted.signature
        ));
        assert!(accepted.text.ends_with(BODY) && accepted.text.contains(PATH));
        assert_eq!(code(world.send(&sent, &signature)), "replayed");
    }

    #[test]
    fn what_was_altered_is_refused() {
        let mut world = world();
        let id = world.device.id.clone();
        let sent = Sent { method: Method::POST, path: PATH, id: &id, nonce: "", body: BODY };
        let altered = |change: &dyn Fn(&mut Sent<'_>), world: &mut World| {
            let nonce = world.nonces.give(&id).unwrap();
            let signature = world.sign(nonce.text());
            let mut sent = Sent { method: sent.method.clone(), nonce: nonce.text(), ..sent };
            change(&mut sent);
            code(world.send(&sent, &signature))
        };
        let wrong = "wrong_signature";
        assert_eq!(altered(&|sent| sent.method = Method::PUT, &mut world), wrong);
        assert_eq!(altered(&|sent| sent.path = "/decisions/other/answer", &mut world), wrong);
        assert_eq!(altered(&|sent| sent.body = "choice=deny&digest=ab12", &mut world), wrong);
        assert_eq!(altered(&|sent| sent.body = "choice=allow&digest=ff", &mut world), wrong);
        assert_eq!(altered(&|sent| sent.body = "", &mut world), wrong);
        assert_eq!(altered(&|sent| sent.id = "other", &mut world), "wrong_device");
        assert_eq!(altered(&|sent| sent.nonce = "another word", &mut world), "unknown_nonce");
    }

    #[test]
    fn another_key_another_devices_word_and_no_signature_are_refused() {
        let mut world = world();
        let id = world.device.id.clone();
        let nonce = world.nonces.give(&id).unwrap();
        let right = std::mem::replace(&mut world.key, new_key());
        let signature = world.sign(nonce.text());
        let sent =
            Sent { method: Method::POST, path: PATH, id: &id, nonce: nonce.text(), body: BODY };
        assert_eq!(code(world.send(&sent, &signature)), "wrong_signature");
        world.key = right;
        let theirs = world.nonces.give("another device").unwrap();
        let signature = world.sign(theirs.text());
        let sent = Sent { nonce: theirs.text(), ..sent };
        assert_eq!(code(world.send(&sent, &signature)), "unknown_nonce");
        let headers = HeaderMap::new();
        let request = SignedRequest {
            method: &Method::POST,
            path: PATH,
            headers: &headers,
            body: BODY.as_bytes(),
        };
        let checked = request.check(&world.device, &mut world.nonces, world.now);
        assert_eq!(code(checked), "unsigned");
    }

    #[test]
    fn a_word_is_good_for_a_minute_and_words_are_bounded() {
        let mut world = world();
        let id = world.device.id.clone();
        let first = world.nonces.give(&id).unwrap();
        let signature = world.sign(first.text());
        world.now += LIFE + Duration::from_secs(1);
        let sent =
            Sent { method: Method::POST, path: PATH, id: &id, nonce: first.text(), body: BODY };
        assert_eq!(code(world.send(&sent, &signature)), "late");
        for _ in 0..WORDS_OF_ONE {
            world.nonces.give(&id).unwrap();
        }
        assert_eq!(world.nonces.0.len(), WORDS_OF_ONE);
        assert_eq!(code(world.send(&sent, &signature)), "unknown_nonce");
        for number in 0..2 * WORDS {
            world.nonces.give(&format!("d{number}")).unwrap();
        }
        assert_eq!(world.nonces.0.len(), WORDS);
    }
}
