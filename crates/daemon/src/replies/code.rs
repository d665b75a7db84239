//! Codes that buttons in notices answer with.
//!
//! ```text
//! 7k2m9x4q.1.68f0a3c2.3fb1…    decision, number of the option, expiry in seconds, tag
//! ```
//!
//! The tag is an HMAC-SHA256, cut to 128 bits, under a key that only this user can read. It covers
//! more than the code says: the channel that the button is in, the option's name, and the digest of
//! the exact call. So a code cannot be made, changed, or used for another decision, another call or
//! on another channel, whoever can read and write there. Using it twice is refused by the store:
//! the first answer wins.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::digest::hex;
use anyhook_engine::regular_file::open_own;
use anyhook_model::notice::Channel;
use anyhook_model::{ApprovalRequest, RecordId};
use jiff::{SignedDuration, Timestamp};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use rustix::fs::OFlags;

/// What Telegram's buttons can carry.
pub const CODE_LIMIT: usize = 64;
/// How much of a tag is in a code, in hexadecimal digits.
const TAG: usize = 32;
const KEY: usize = 32;
/// How long a code is valid if the decision itself does not expire.
const VALID: SignedDuration = SignedDuration::from_hours(24);
/// The most options that get a button.
const BUTTONS: usize = 8;

/// The key of the codes.
pub struct AnswerKey(hmac::Key);

impl std::fmt::Debug for AnswerKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AnswerKey")
    }
}

/// A code, taken apart. Nothing of it is believed before [`AnswerKey::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerCode {
    /// The decision.
    pub decision: RecordId,
    /// The number of the option.
    pub number: u32,
    expiry: i64,
    tag: String,
}

/// Why a code does not answer a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// It was not made by us, or for something else.
    #[error("the code was not made for this decision, this call, this option and this channel")]
    Forged,
    /// It is too old.
    #[error("the code has expired")]
    Expired,
}

impl AnswerKey {
    /// Reads the key, or creates one.
    pub fn load_or_create(path: &Path) -> io::Result<Self> {
        match open_own(path, OFlags::RDONLY) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(KEY as u64 + 1).read_to_end(&mut bytes)?;
                if bytes.len() == KEY {
                    return Ok(Self::new(&bytes));
                }
                // Codes that were made with a damaged key are not valid any more; no harm.
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut bytes = [0; KEY];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| io::Error::other("the system gives no random numbers"))?;
        AtomicFile::new(path).replace(&bytes)?;
        Ok(Self::new(&bytes))
    }

    fn new(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Returns a code for each option of a decision, in their order; none if its answers are more
    /// than an option, or if there are too many.
    pub fn codes(
        &self,
        inquiry: &ApprovalRequest,
        channel: Channel,
        now: Timestamp,
    ) -> Vec<String> {
        let takes_an_option = match inquiry.questions.as_slice() {
            [] => true,
            [one] => !one.free_text && !one.multiple,
            _ => false,
        };
        if !takes_an_option || inquiry.options.len() > BUTTONS {
            return Vec::new();
        }
        let expires = inquiry.until.unwrap_or(now.saturating_add(VALID).unwrap_or(now));
        // A second more: the decision itself ends in the middle of one.
        let expiry = expires.as_second().saturating_add(1);
        let code = |number: u32| {
            let tag = self.tag(inquiry, channel, number, expiry)?;
            let code = format!("{}.{number}.{expiry:x}.{tag}", inquiry.id);
            (code.len() <= CODE_LIMIT && AnswerCode::parse(&code).is_some()).then_some(code)
        };
        (1..)
            .zip(&inquiry.options)
            .map(|(number, _)| code(number))
            .collect::<Option<_>>()
            .unwrap_or_default()
    }

    /// Checks that a code was made for this decision and this channel, and is still valid.
    pub fn check(
        &self,
        code: &AnswerCode,
        inquiry: &ApprovalRequest,
        channel: Channel,
        now: Timestamp,
    ) -> Result<(), CodeError> {
        let message = message(inquiry, channel, code.number, code.expiry);
        let expected = message.map(|message| tag(&self.0, &message)).ok_or(CodeError::Forged)?;
        // Takes as long wherever they differ.
        let differ = expected
            .bytes()
            .zip(code.tag.bytes())
            .fold(expected.len() ^ code.tag.len(), |sum, (one, other)| {
                sum | usize::from(one ^ other)
            });
        if differ != 0 || code.decision != inquiry.id {
            return Err(CodeError::Forged);
        }
        if now.as_second() >= code.expiry { Err(CodeError::Expired) } else { Ok(()) }
    }

    fn tag(
        &self,
        inquiry: &ApprovalRequest,
        channel: Channel,
        number: u32,
        expiry: i64,
    ) -> Option<String> {
        message(inquiry, channel, number, expiry).map(|message| tag(&self.0, &message))
    }
}

fn tag(key: &hmac::Key, message: &str) -> String {
    let mut tag = hex(hmac::sign(key, message.as_bytes()).as_ref());
    tag.truncate(TAG);
    tag
}

/// Returns what a tag covers; `None` if there is no such option.
fn message(
    inquiry: &ApprovalRequest,
    channel: Channel,
    number: u32,
    expiry: i64,
) -> Option<String> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    let option = inquiry.options.get(index)?;
    let digest = inquiry.digest.as_deref().unwrap_or("");
    let parts = [inquiry.id.as_str(), channel.name(), digest, &option.name];
    let mut message = format!("anyhook answer 1\n{number}\n{expiry}\n");
    for part in parts {
        // With its length, so that no two lists of parts have the same text.
        let _ = writeln!(message, "{}:{part}", part.len());
    }
    Some(message)
}

impl AnswerCode {
    /// Takes a code apart; `None` if it does not have the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > CODE_LIMIT {
            return None;
        }
        let mut parts = text.split('.');
        let (id, number) = (parts.next()?, parts.next()?);
        let (expiry, tag) = (parts.next()?, parts.next()?);
        let is_digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_hex = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
        };
        let is_plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let has_form = is_plain && is_digits(number) && is_hex(expiry) && is_hex(tag);
        if parts.next().is_some() || !has_form || tag.len() != TAG {
            return None;
        }
        Some(Self {
            decision: RecordId::from_text(id),
            number: number.parse().ok()?,
            expiry: i64::from_str_radix(expiry, 16).ok()?,
            tag: tag.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use anyhook_model::approval_request::{AgentQuestion, ApprovalKind, Choice};
    use proptest::prelude::*;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn inquiry() -> ApprovalRequest {
        ApprovalRequest {
            id: RecordId::from_text("7k2m9x4q"),
            kind: ApprovalKind::Permission,
            agent: "codex:s".to_owned(),
            question: "May it?".to_owned(),
            tool: Some("Shell".to_owned()),
            about: Some("ls".to_owned()),
            digest: Some("d1".to_owned()),
            hook: None,
            calls: Vec::new(),
            options: vec![Choice::new("allow", "it runs"), Choice::new("deny", "it does not")],
            questions: Vec::new(),
            created: now(),
            until: Some("2026-01-01T00:05:00Z".parse().unwrap()),
        }
    }

    fn key() -> AnswerKey {
        AnswerKey::new(&[7; KEY])
    }

    fn codes(inquiry: &ApprovalRequest) -> Vec<AnswerCode> {
        let codes = key().codes(inquiry, Channel::Telegram, now());
        assert!(codes.iter().all(|code| code.len() <= CODE_LIMIT), "{codes:?}");
        codes.iter().map(|code| AnswerCode::parse(code).unwrap()).collect()
    }

    #[test]
    fn a_code_is_good_for_its_decision_its_call_its_option_and_its_channel() {
        let codes = codes(&inquiry());
        assert_eq!(codes.iter().map(|code| code.number).collect::<Vec<_>>(), [1, 2]);
        let check = |code: &AnswerCode, inquiry: &ApprovalRequest| {
            key().check(code, inquiry, Channel::Telegram, now())
        };
        for code in &codes {
            assert_eq!(check(code, &inquiry()), Ok(()));
        }
        let [code, _] = codes.as_slice() else { panic!("{codes:?}") };
        let forged = Err(CodeError::Forged);
        for altered in [
            AnswerCode { number: 2, ..code.clone() },
            AnswerCode { number: 0, ..code.clone() },
            AnswerCode { number: 3, ..code.clone() },
            AnswerCode { expiry: code.expiry + 1, ..code.clone() },
            AnswerCode { decision: RecordId::from_text("8k2m9x4q"), ..code.clone() },
            AnswerCode { tag: "0".repeat(TAG), ..code.clone() },
        ] {
            assert_eq!(check(&altered, &inquiry()), forged, "{altered:?}");
        }
        for other in [
            ApprovalRequest { id: RecordId::from_text("8k2m9x4q"), ..inquiry() },
            ApprovalRequest { digest: Some("d2".to_owned()), ..inquiry() },
            ApprovalRequest { digest: None, ..inquiry() },
            ApprovalRequest {
                options: vec![Choice::new("deny", ""), Choice::new("allow", "")],
                ..inquiry()
            },
        ] {
            assert_eq!(check(code, &other), forged, "{other:?}");
        }
        assert_eq!(key().check(code, &inquiry(), Channel::Ntfy, now()), forged);
        let other = AnswerKey::new(&[8; KEY]);
        assert_eq!(other.check(code, &inquiry(), Channel::Telegram, now()), forged);
    }

    #[test]
    fn a_code_ends_with_its_decision() {
        let code = &codes(&inquiry())[0];
        let check =
            |at: &str| key().check(code, &inquiry(), Channel::Telegram, at.parse().unwrap());
        assert_eq!(check("2026-01-01T00:05:00Z"), Ok(()));
        assert_eq!(check("2026-01-01T00:05:01Z"), Err(CodeError::Expired));
        let open = ApprovalRequest { until: None, ..inquiry() };
        let code = &codes(&open)[0];
        let check = |at: &str| key().check(code, &open, Channel::Telegram, at.parse().unwrap());
        assert_eq!(check("2026-01-01T23:59:59Z"), Ok(()));
        assert_eq!(check("2026-01-02T00:00:01Z"), Err(CodeError::Expired));
    }

    #[test]
    fn what_takes_more_than_an_option_has_no_code() {
        let free = AgentQuestion { free_text: true, ..AgentQuestion::default() };
        let several = AgentQuestion { multiple: true, ..AgentQuestion::default() };
        let plain = AgentQuestion::default();
        let with =
            |questions: Vec<AgentQuestion>| codes(&ApprovalRequest { questions, ..inquiry() });
        assert!(with(vec![free]).is_empty() && with(vec![several]).is_empty());
        assert!(with(vec![plain.clone(), plain.clone()]).is_empty());
        assert_eq!(with(vec![plain]).len(), 2);
        let many = vec![Choice::new("x", ""); BUTTONS + 1];
        assert!(codes(&ApprovalRequest { options: many, ..inquiry() }).is_empty());
        for id in ["a".repeat(60), "a.b".to_owned(), String::new(), "ä".to_owned()] {
            let id = RecordId::from_text(&id);
            assert!(codes(&ApprovalRequest { id: id.clone(), ..inquiry() }).is_empty(), "{id}");
        }
    }

    #[test]
    fn what_is_no_code_is_none() {
        let tag = "0".repeat(TAG);
        assert!(AnswerCode::parse(&format!("7k2m.1.ff.{tag}")).is_some());
        for text in [
            String::new(),
            "allow".to_owned(),
            format!("7k2m.1.ff.{tag}."),
            format!("7k2m.1.ff.{tag}0"),
            format!("7k2m.1.ff.{}", "Z".repeat(TAG)),
            format!("7k2m.-1.ff.{tag}"),
            format!("7k2m.+1.ff.{tag}"),
            format!("7k2m.1.-f.{tag}"),
            format!("7k2m.99999999999.ff.{tag}"),
            format!("7k2m.1.ffffffffffffffff.{tag}"),
            format!(".1.ff.{tag}"),
            format!("7k/m.1.ff.{tag}"),
            "x".repeat(100_000),
        ] {
            assert_eq!(AnswerCode::parse(&text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_a_code_is_one(text in any::<String>(), like in "[a-z0-9]{1,9}\\.[0-9]{1,3}\\.[0-9a-f]{1,9}\\.[0-9a-f]{32}") {
            for text in [text, like] {
                if let Some(code) = AnswerCode::parse(&text) {
                    let checked = key().check(&code, &inquiry(), Channel::Ntfy, now());
                    prop_assert_eq!(checked, Err(CodeError::Forged));
                }
            }
        }
    }

    #[test]
    fn the_key_stays_and_is_private() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("answer-key");
        let code = |key: &AnswerKey| key.codes(&inquiry(), Channel::Slack, now());
        let first = code(&AnswerKey::load_or_create(&path).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(code(&AnswerKey::load_or_create(&path).unwrap()), first);
        fs::write(&path, "short").unwrap();
        assert_ne!(code(&AnswerKey::load_or_create(&path).unwrap()), first);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(AnswerKey::load_or_create(&path).is_err());
    }
}
