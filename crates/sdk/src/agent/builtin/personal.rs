//! Finds personal data: e-mail addresses, cards, bank accounts, US social security numbers, phone
//! numbers.
//!
//! Each finder prefers precision over recall: check digits are verified.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}")
});
static DIGITS: LazyLock<Regex> = LazyLock::new(|| compiled(r"[0-9]+(?:[ -][0-9]+)*"));
static IBAN: LazyLock<Regex> = LazyLock::new(|| compiled(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}"));
static PHONE: LazyLock<Regex> = LazyLock::new(|| compiled(r"\+[1-9](?:[ .()/-]{0,2}[0-9]){7,14}"));

/// File extensions that look like the domain of an address, as in `logo@2x.png`.
const FILE_ENDINGS: [&str; 10] =
    ["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "json", "html"];

/// The length of an account number in each country.
const IBAN_LENGTHS: &str = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 \
    CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 \
    GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LI21 \
    LT20 LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 \
    PS29 PT25 QA29 RO24 RS22 SA24 SE24 SI19 SK24 SM27 TN24 TR26 UA29 VA22 \
    XK20";

#[expect(clippy::expect_used, reason = "the expressions are constants, and tested")]
pub(super) fn compiled(expression: &str) -> Regex {
    Regex::new(expression).expect("a constant expression")
}

/// Finds all, in order; matches do not overlap.
pub(super) fn find(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let mut found = Vec::new();
    if text.contains('@') {
        found.extend(
            EMAIL
                .find_iter(text)
                .map(|hit| hit.range())
                .filter_map(|range| is_address(text, &range).then_some((range, "email"))),
        );
    }
    if text.bytes().any(|byte| byte.is_ascii_digit()) {
        found.extend(ibans(text));
        let phones = PHONE.find_iter(text).map(|hit| hit.range());
        found.extend(phones.filter(|range| is_free(text, range)).map(|range| (range, "phone")));
        for hit in DIGITS.find_iter(text) {
            numbers(text, hit.range(), &mut found);
        }
    }
    // Of two at the same position the longer one counts.
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut end = 0;
    found.retain(|(range, _)| {
        let free = range.start >= end;
        end = if free { range.end } else { end };
        free
    });
    found
}

/// Returns whether neither a letter nor a digit is adjacent to it.
fn is_free(text: &str, range: &Range<usize>) -> bool {
    let touches = |byte: Option<&u8>| byte.is_some_and(|byte| is_word(*byte));
    let bytes = text.as_bytes();
    !touches(range.start.checked_sub(1).and_then(|at| bytes.get(at)))
        && !touches(bytes.get(range.end))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_address(text: &str, range: &Range<usize>) -> bool {
    let address = &text[range.clone()];
    let ending = address.rsplit('.').next().unwrap_or_default();
    // As in `git@host.org:owner/repository`.
    let after = &text.as_bytes()[range.end..];
    let is_remote = address.starts_with("git@")
        || matches!(after, [b':', next, ..] if next.is_ascii_alphanumeric() || *next == b'/');
    !is_remote && !address.starts_with('.') && !FILE_ENDINGS.contains(&ending)
}

fn ibans(text: &str) -> impl Iterator<Item = (Range<usize>, &'static str)> {
    IBAN.find_iter(text).filter_map(|hit| {
        // The expression may have matched words that follow: the country defines the length.
        let country = hit.as_str().get(..2)?;
        let known = IBAN_LENGTHS.split(' ').find_map(|known| known.strip_prefix(country))?;
        let length: usize = known.parse().ok()?;
        let mut letters = hit.as_str().bytes().enumerate().filter(|(_, byte)| *byte != b' ');
        let (last, _) = letters.nth(length - 1)?;
        let range = hit.start()..hit.start() + last + 1;
        (is_free(text, &range) && has_check_digits(&text[range.clone()])).then_some((range, "iban"))
    })
}

/// ISO 7064: the first four characters moved to the end, letters as numbers, modulo 97 is 1.
fn has_check_digits(iban: &str) -> bool {
    let all: Vec<u8> = iban.bytes().filter(|byte| *byte != b' ').collect();
    let rest = all.iter().cycle().skip(4).take(all.len()).fold(0u32, |rest, &byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    rest == 1
}

/// Searches for cards and social security numbers in digits separated by single spaces or dashes.
fn numbers(text: &str, run: Range<usize>, found: &mut Vec<(Range<usize>, &'static str)>) {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut from = run.start;
    for part in text[run.clone()].split([' ', '-']) {
        groups.push(from..from + part.len());
        from += part.len() + 1;
    }
    let mut at = 0;
    while at < groups.len() {
        let hit = [5, 4, 3, 1].into_iter().find_map(|count| {
            let parts = groups.get(at..at + count)?;
            let range = parts[0].start..parts[count - 1].end;
            let kind = kind_of(text, parts)?;
            is_free(text, &range).then_some((count, range, kind))
        });
        match hit {
            Some((count, range, kind)) => {
                found.push((range, kind));
                at += count;
            }
            None => at += 1,
        }
    }
}

fn kind_of(text: &str, groups: &[Range<usize>]) -> Option<&'static str> {
    let lengths: Vec<usize> = groups.iter().map(ExactSizeIterator::len).collect();
    match lengths[..] {
        [3, 2, 4] => is_social_security_number(text, groups).then_some("us-ssn"),
        [13..=19] | [4, 4, 4, 4] | [4, 4, 4, 4, 1..=3] | [4, 6, 4 | 5] => {
            let digits: Vec<u8> = groups
                .iter()
                .flat_map(|group| text[group.clone()].bytes().map(|byte| byte - b'0'))
                .collect();
            is_card(&digits).then_some("card")
        }
        _ => None,
    }
}

fn is_social_security_number(text: &str, groups: &[Range<usize>]) -> bool {
    let [area, group, serial] = groups else { return false };
    let dashes = text.as_bytes()[area.end] == b'-' && text.as_bytes()[group.end] == b'-';
    let [area, group, serial] = [area, group, serial].map(|part| &text[part.clone()]);
    dashes
        && !matches!(area, "000" | "666")
        && !area.starts_with('9')
        && group != "00"
        && serial != "0000"
}

/// Returns whether an issuer uses such numbers, and the check digit is right.
fn is_card(digits: &[u8]) -> bool {
    let first =
        |count: usize| digits.iter().take(count).fold(0u32, |all, &one| all * 10 + u32::from(one));
    let issued = match digits.len() {
        13 => first(1) == 4,
        14 => matches!(first(2), 36 | 38 | 39) || matches!(first(3), 300..=305),
        15 => matches!(first(2), 34 | 37),
        16..=19 => {
            matches!(first(1), 4)
                || matches!(first(2), 35 | 51..=55 | 62 | 65)
                || matches!(first(3), 644..=649)
                || matches!(first(4), 2221..=2720 | 6011)
        }
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, &digit)| match (index % 2, u32::from(digit) * 2) {
            (0, _) => u32::from(digit),
            (_, double) => double / 10 + double % 10,
        })
        .sum();
    let varied = digits.iter().any(|digit| *digit != digits[0]);
    issued && varied && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&str, &'static str)> {
        find(text).into_iter().map(|(range, kind)| (&text[range], kind)).collect()
    }

    #[test]
    fn found() {
        for (text, hits) in [
            (
                "write to ann.lee+x@mail.example.co.uk.",
                &[("ann.lee+x@mail.example.co.uk", "email")][..],
            ),
            ("<bob@example.com>", &[("bob@example.com", "email")]),
            ("card 4111 1111 1111 1111 12/27", &[("4111 1111 1111 1111", "card")]),
            ("4111-1111-1111-1111", &[("4111-1111-1111-1111", "card")]),
            ("5555555555554444", &[("5555555555554444", "card")]),
            ("amex 3782 822463 10005", &[("3782 822463 10005", "card")]),
            ("order 17 6011111111111117", &[("6011111111111117", "card")]),
            ("IBAN DE89 3704 0044 0532 0130 00 please", &[("DE89 3704 0044 0532 0130 00", "iban")]),
            ("GB82WEST12345698765432", &[("GB82WEST12345698765432", "iban")]),
            ("NL91 ABNA 0417 1643 00 AND MORE", &[("NL91 ABNA 0417 1643 00", "iban")]),
            ("ssn 219-09-9999,", &[("219-09-9999", "us-ssn")]),
            ("call +49 30 901820 today", &[("+49 30 901820", "phone")]),
            ("+1 (415) 555-2671", &[("+1 (415) 555-2671", "phone")]),
            ("tel:+8613912345678.", &[("+8613912345678", "phone")]),
            ("电话：+86 139 1234 5678。", &[("+86 139 1234 5678", "phone")]),
            ("a@b.de, c@d.fr", &[("a@b.de", "email"), ("c@d.fr", "email")]),
        ] {
            assert_eq!(kinds(text), hits, "{text}");
        }
    }

    #[test]
    fn passed() {
        for text in [
            "root@localhost",
            "@decorator and @types/node@20.1.2",
            "git@github.com:anyhook/anyhook.git",
            "scp file deploy@host.example.com:/srv",
            "logo@2x.png",
            "4111 1111 1111 1112",
            "1234567890123456",
            "0000 0000 0000 0000",
            "timestamp 1700000000000",
            "41111111111111111111111",
            "a4111111111111111",
            "DE89 3704 0044 0532 0130 01",
            "XX89 3704 0044 0532 0130 00",
            "000-12-3456 666-12-3456 912-12-3456 123-00-1234 123-45-0000",
            "2024-01-15 12:30:00 +0200",
            "123-45-67890",
            "v1.2.3+20240115",
            "x+12345678901",
            "1,000,000 + 250",
            "+12 34",
            "sha 9c5b94b1-35ad-49bb-b118-8e8fc24abf80",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }
}
