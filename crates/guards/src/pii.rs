//! Personal data: e-mail addresses, phone and card numbers, IBANs, US social security numbers, and
//! IP addresses. What has a check digit counts only if that is right; examples do not count.

use std::net::Ipv4Addr;
use std::ops::Range;

use regex::Regex;
use serde::Deserialize;

use crate::Place;
use crate::answer::Answer;
use crate::event::Event;
use crate::options::{GuardError, Pattern};
use crate::sensitive::{CallAction, Finding, OutputAction, Policy, PromptAction};

/// A kind of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PersonalData {
    /// An e-mail address.
    Email,
    /// A phone number.
    Phone,
    /// The number of a payment card.
    Card,
    /// An international bank account number.
    Iban,
    /// A social security number of the United States.
    Ssn,
    /// A public IPv4 address.
    Ip,
}

use PersonalData::{Card, Email, Iban, Ip, Phone, Ssn};

/// Options of the pack `pii`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PiiOptions {
    action: CallAction,
    prompts: PromptAction,
    outputs: OutputAction,
    kinds: Vec<PersonalData>,
    allow: Vec<Pattern>,
    allow_paths: Vec<Pattern>,
}

impl Default for PiiOptions {
    fn default() -> Self {
        Self {
            action: CallAction::Ask,
            prompts: PromptAction::Warn,
            outputs: OutputAction::Warn,
            kinds: vec![Email, Phone, Card, Iban, Ssn],
            allow: Vec::new(),
            allow_paths: Vec::new(),
        }
    }
}

/// Returns the answer to an event.
pub fn decide(event: &Event, options: &PiiOptions, place: &Place) -> Result<Answer, GuardError> {
    let policy = Policy {
        words: ("personal data", "personal data"),
        advice: "use made-up data, such as addresses at example.com; if it is meant to be there, a person can add it to `allow` or its file to `allow_paths` in the hook's HOOK.md",
        writes: options.action,
        calls: options.action,
        prompts: options.prompts,
        outputs: options.outputs,
        allow: options.allow.clone(),
        allow_paths: options.allow_paths.clone(),
    };
    let detectors: Vec<Detector> =
        options.kinds.iter().filter_map(|kind| Detector::new(*kind)).collect();
    Ok(policy.decide(event, &|text| find_all(&detectors, text), place))
}

/// Returns what detectors find, in order; of what overlaps, the first and longest.
fn find_all(detectors: &[Detector], text: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = detectors.iter().flat_map(|one| one.find(text)).collect();
    found.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end)));
    let mut end = 0;
    found.retain(|one| {
        let is_first = one.range.start >= end;
        end = if is_first { one.range.end } else { end };
        is_first
    });
    found
}

struct Detector {
    name: &'static str,
    expression: Regex,
    is_real: fn(&str) -> bool,
}

impl Detector {
    fn new(kind: PersonalData) -> Option<Self> {
        let (name, expression, is_real): (_, _, fn(&str) -> bool) = match kind {
            Email => (
                "e-mail-address",
                r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,250}\.[A-Za-z]{2,24}",
                is_email,
            ),
            Phone => (
                "phone-number",
                r"\+[1-9][0-9]{0,2}[ ./-]?(?:\([0-9]{1,4}\)[ ./-]?)?[0-9]{1,5}(?:[ ./-]?[0-9]{2,5}){1,5}|\(?[2-9][0-9]{2}\)?[ .-][2-9][0-9]{2}[ .-][0-9]{4}",
                is_phone,
            ),
            Card => ("card-number", r"[3-6][0-9]{3}(?:[ -]?[0-9]{3,6}){2,4}", is_card),
            Iban => ("iban", r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{1,4}){3,8}", is_iban),
            Ssn => ("social-security-number", r"[0-9]{3}-[0-9]{2}-[0-9]{4}", is_ssn),
            Ip => ("ip-address", r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}", is_public_address),
        };
        Regex::new(expression).ok().map(|expression| Self { name, expression, is_real })
    }

    fn find(&self, text: &str) -> Vec<Finding> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(one) = self.expression.find_at(text, at) {
            let real = shorter(one.as_str()).map(|end| one.start()..one.start() + end);
            let real = real.into_iter().find(|range| self.is_found(text, range));
            at = match &real {
                Some(range) => range.end,
                None => one.start() + text[one.start()..].chars().next().map_or(1, char::len_utf8),
            };
            found.extend(real.map(|range| Finding { range, kind: self.name }));
        }
        found
    }

    /// Returns whether a range is what is looked for, and not a part of something else.
    fn is_found(&self, text: &str, range: &Range<usize>) -> bool {
        let before = text[..range.start].chars().next_back();
        let after = text[range.end..].chars().next();
        let is_part =
            |letter: Option<char>| letter.is_some_and(|one| one.is_alphanumeric() || one == '_');
        let is_number = self.name != "e-mail-address";
        let goes_on = is_number && is_in_number(before, after, text, range);
        !(is_part(before) || is_part(after) || goes_on) && (self.is_real)(&text[range.clone()])
    }
}

/// Returns where a match may end: with all of its groups, or without the last ones, which may be
/// another number.
fn shorter(found: &str) -> impl Iterator<Item = usize> {
    let ends = found.char_indices().rev().filter(|(_, letter)| matches!(letter, ' ' | '-'));
    std::iter::once(found.len()).chain(ends.map(|(end, _)| end))
}

/// Returns whether a number goes on: as a version, a decimal number or a longer row of digits.
fn is_in_number(
    before: Option<char>,
    after: Option<char>,
    text: &str,
    range: &Range<usize>,
) -> bool {
    let is_digit = |letter: Option<char>| letter.is_some_and(|one| one.is_ascii_digit());
    let joins = |letter: Option<char>| matches!(letter, Some('.' | '-' | '/'));
    joins(before) && is_digit(text[..range.start].chars().rev().nth(1))
        || joins(after) && is_digit(text[range.end..].chars().nth(1))
}

fn is_email(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    let Some((name, domain)) = address.split_once('@') else { return false };
    let plain = name.replace(['-', '_', '.'], "");
    let is_nobody = plain.starts_with("noreply")
        || plain.starts_with("donotreply")
        || name == "git"
        || name.is_empty();
    let last = domain.rsplit('.').next().unwrap_or_default();
    let is_reserved = ["example", "test", "invalid", "localhost", "local", "internal"]
        .contains(&last)
        || ["example.com", "example.org", "example.net", "domain.com", "email.com"]
            .iter()
            .any(|known| domain == *known || domain.ends_with(&format!(".{known}")))
        || domain.contains("noreply");
    // A picture such as `logo@2x.png`.
    let is_file = ["png", "jpg", "jpeg", "gif", "svg", "webp", "js", "css", "ts"].contains(&last);
    !is_nobody
        && !is_reserved
        && !is_file
        && domain.starts_with(|first: char| first.is_ascii_alphanumeric())
}

fn digits(text: &str) -> Vec<u8> {
    text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect()
}

fn is_phone(number: &str) -> bool {
    let all = digits(number);
    let is_international = number.starts_with('+');
    // 555-0100 to 555-0199 are for films.
    let is_fiction = all.windows(5).any(|five| five == [5, 5, 5, 0, 1]);
    let is_sequence =
        all.windows(7).any(|seven| seven.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 10));
    let is_same = all.windows(6).any(|six| six.iter().all(|digit| *digit == six[0]));
    let length = if is_international { 9..=15 } else { 10..=10 };
    length.contains(&all.len()) && !is_fiction && !is_sequence && !is_same
}

/// Numbers that payment services document for tests.
const TEST_CARDS: [&str; 9] = [
    "4242424242424242",
    "4111111111111111",
    "4000056655665556",
    "4012888888881881",
    "5555555555554444",
    "5105105105105100",
    "378282246310005",
    "6011111111111117",
    "3530111333300000",
];

fn is_card(number: &str) -> bool {
    let all = digits(number);
    let text: String = all.iter().map(|digit| char::from(b'0' + digit)).collect();
    let is_network = match text.as_bytes() {
        [b'4', ..] => matches!(all.len(), 13 | 16 | 19),
        [b'5', b'1'..=b'5', ..] => all.len() == 16,
        [b'3', b'4' | b'7', ..] => all.len() == 15,
        [b'3', b'0' | b'6' | b'8', ..] => all.len() == 14,
        [b'3', b'5', ..] | [b'6', ..] => (16..=19).contains(&all.len()),
        _ => false,
    };
    is_network && luhn(&all) && !TEST_CARDS.contains(&text.as_str())
}

fn luhn(digits: &[u8]) -> bool {
    let value = |(at, digit): (usize, &u8)| match (at % 2, u32::from(*digit) * 2) {
        (0, _) => u32::from(*digit),
        (_, twice) => twice / 10 + twice % 10,
    };
    digits.iter().rev().enumerate().map(value).sum::<u32>() % 10 == 0
}

/// Numbers that documents show.
const TEST_IBANS: [&str; 4] = [
    "DE89370400440532013000",
    "GB82WEST12345698765432",
    "GB29NWBK60161331926819",
    "FR1420041010050500013M02606",
];

fn is_iban(text: &str) -> bool {
    let text: String = text.chars().filter(|letter| *letter != ' ').collect();
    if !(15..=34).contains(&text.len()) || TEST_IBANS.contains(&text.as_str()) {
        return false;
    }
    let moved = text[4..].chars().chain(text[..4].chars());
    let rest = moved.filter_map(|letter| letter.to_digit(36)).fold(0, |rest, value| {
        let shift = if value > 9 { 100 } else { 10 };
        (rest * shift + value) % 97
    });
    rest == 1
}

fn is_ssn(text: &str) -> bool {
    let parts: Vec<u32> = text.split('-').filter_map(|part| part.parse().ok()).collect();
    let [area, group, serial] = parts[..] else { return false };
    let is_given = area != 0 && area != 666 && area < 900 && group != 0 && serial != 0;
    is_given && !["078-05-1120", "123-45-6789", "111-11-1111", "219-09-9999"].contains(&text)
}

fn is_public_address(text: &str) -> bool {
    let Ok(address) = text.parse::<Ipv4Addr>() else { return false };
    let [first, second, ..] = address.octets();
    !address.is_private()
        && !address.is_loopback()
        && !address.is_link_local()
        && !address.is_documentation()
        && !address.is_multicast()
        && !address.is_broadcast()
        && first != 0
        && first < 240
        && !(first == 100 && (64..128).contains(&second))
        && !["8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9"].contains(&text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::options;

    fn kinds(text: &str) -> Vec<&'static str> {
        let all = [Email, Phone, Card, Iban, Ssn, Ip];
        let detectors: Vec<Detector> =
            all.into_iter().map(|kind| Detector::new(kind).unwrap()).collect();
        find_all(&detectors, text).into_iter().map(|one| one.kind).collect()
    }

    #[test]
    fn personal_data_is_found() {
        for (text, kind) in [
            ("write to jane.doe@gmail.com, please", "e-mail-address"),
            ("<j.d+x@firma-mueller.de>", "e-mail-address"),
            ("call +49 170 3928471", "phone-number"),
            ("call +44 (0)20 7946 0958 now", "phone-number"),
            ("(415) 867-5309", "phone-number"),
            ("card 4539 5787 6362 1486", "card-number"),
            ("4539 5787 6362 1486 123", "card-number"),
            ("card=371449635398431;", "card-number"),
            ("DE75 5121 0800 1245 1261 99", "iban"),
            ("IBAN:NL02ABNA0123456789", "iban"),
            ("ssn 536-90-4399", "social-security-number"),
            ("from 203.12.34.56", "ip-address"),
        ] {
            assert_eq!(kinds(text), [kind], "{text}");
        }
    }

    #[test]
    fn examples_and_what_only_looks_alike_are_not() {
        for text in [
            "ann@example.com bob@mail.example.org x@corp.test",
            "12345+user@users.noreply.github.com noreply@github.com",
            "git@github.com:owner/name.git",
            "logo@2x.png react@18.2.0 user@host",
            "+1 415 555 0132 and 555-0100",
            "+1234567890 0000000000",
            "4242 4242 4242 4242, 4111111111111111",
            "1234567890123456 4539578763621487",
            "DE89 3704 0044 0532 0130 00 and GB33BUKB20201555555556",
            "123-45-6789 000-12-3456 666-12-3456 2024-01-2026",
            "192.168.1.1 10.0.0.1 127.0.0.1 8.8.8.8 192.0.2.7 1.2.3.4.5",
            "550e8400-e29b-41d4-a716-446655440000",
            "2026-11-18T19:49:24Z 1763495364123",
            "id 4539578763621486123456789",
        ] {
            assert!(kinds(text).is_empty(), "{text}: {:?}", kinds(text));
        }
    }

    fn answer(event: Value, options: &Value) -> Answer {
        decide(&Event::new(event), &options::read(options).unwrap(), &Place::of_tests("/p"))
            .unwrap()
    }

    #[test]
    fn masked_asked_or_denied() {
        let call = json!({"event_type": "before_tool", "tool_name": "Shell",
            "tool_input": {"command": "mail jane@gmail.com 4539578763621486"}});
        let masked = answer(call.clone(), &json!({"action": "mask"}));
        assert_eq!(
            masked.modified_input["command"],
            "mail [redacted e-mail-address] [redacted card-number]"
        );
        assert!(answer(call.clone(), &json!({"action": "deny"})).denied().is_some());
        assert!(answer(call.clone(), &Value::Null).to_json().unwrap()["decision"] == "ask");
        assert_eq!(answer(call, &json!({"kinds": ["ssn"]})), Answer::none());
        let prompt = json!({"event_type": "before_agent", "prompt": "jane@gmail.com"});
        assert!(answer(prompt, &Value::Null).context.unwrap().contains("personal data"));
    }
}
