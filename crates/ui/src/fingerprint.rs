//! The question whether a browser was shown our certificate.
//!
//! A yes is said too easily, and a page can show anything. So the fingerprint is shown with pairs
//! missing, and a person fills them in from the browser's own view of the certificate. Someone in
//! between would need a certificate that has the same pairs in those places, and does not know the
//! places before it has to have one.

use ring::rand::{SecureRandom, SystemRandom};

/// How many pairs of digits a fingerprint has.
const PAIRS: usize = 32;
/// How many are missing.
const MISSING: usize = 6;
/// How many are shown in one line.
const IN_LINE: usize = 8;

/// A fingerprint with pairs missing.
#[derive(Debug)]
pub struct FingerprintQuestion {
    pairs: Vec<String>,
    missing: Vec<usize>,
}

impl FingerprintQuestion {
    /// Chooses the pairs; nothing if the text is no SHA-256, or the system has no random numbers.
    pub fn new(fingerprint: &str) -> Option<Self> {
        let digits: Vec<char> = digits(fingerprint);
        let pairs: Vec<String> = digits.chunks(2).map(|pair| pair.iter().collect()).collect();
        let random = SystemRandom::new();
        let mut missing = Vec::new();
        while missing.len() < MISSING {
            let mut byte = [0];
            random.fill(&mut byte).ok()?;
            let place = usize::from(byte[0]) % PAIRS;
            if !missing.contains(&place) {
                missing.push(place);
            }
        }
        missing.sort_unstable();
        (pairs.len() == PAIRS).then_some(Self { pairs, missing })
    }

    /// Returns the lines that are shown.
    pub fn lines(&self) -> Vec<String> {
        let shown = |(place, pair): (usize, &String)| {
            if self.missing.contains(&place) { "??".to_owned() } else { pair.clone() }
        };
        let all: Vec<String> = self.pairs.iter().enumerate().map(shown).collect();
        all.chunks(IN_LINE).map(|line| line.join(" ")).collect()
    }

    /// Returns whether these are the missing pairs, in order.
    pub fn is_answer(&self, typed: &str) -> bool {
        let missing: String =
            self.missing.iter().map(|place| self.pairs[*place].as_str()).collect();
        digits(typed).iter().collect::<String>() == missing
    }
}

/// Returns the hexadecimal digits of a text, as browsers write them in capitals.
fn digits(text: &str) -> Vec<char> {
    let digits = text.chars().filter(char::is_ascii_hexdigit);
    digits.map(|digit| digit.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINGERPRINT: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    #[test]
    fn the_missing_pairs_are_asked_for() {
        let question = FingerprintQuestion::new(FINGERPRINT).unwrap();
        let shown = question.lines().join(" ");
        assert_eq!(shown.split(' ').count(), PAIRS);
        assert_eq!(shown.matches("??").count(), MISSING);
        let missing: Vec<String> = (0..PAIRS)
            .map(|place| format!("{place:02X}"))
            .filter(|pair| !shown.split(' ').any(|one| one == pair))
            .collect();
        assert!(question.is_answer(&missing.join(" ")));
        assert!(question.is_answer(&missing.join(":").to_lowercase()));
        assert!(!question.is_answer(&missing[1..].join(" ")));
        assert!(!question.is_answer(""));
        assert!(!question.is_answer(FINGERPRINT));
    }

    #[test]
    fn other_places_are_asked_for_each_time() {
        let lines = |_| FingerprintQuestion::new(FINGERPRINT).unwrap().lines();
        let all: std::collections::BTreeSet<_> = (0..20).map(lines).collect();
        assert!(all.len() > 10, "{all:?}");
        assert!(FingerprintQuestion::new("ab").is_none());
    }
}
