//! Redacts secrets from a text before it is written to disk.
//!
//! The text is a program's output or a line of JSON; both are handled by the same code. What is
//! replaced never contains a `"` nor a part of an escape, so JSON stays JSON of the same shape.
//!
//! Rules are prefixes and classes of bytes, not regular expressions: compiling those would cost
//! more than all the rest of the hook path. The whole line is searched, so that no field can be
//! forgotten.
//!
//! # Why it is linear
//!
//! The scan only moves forward. At a byte where a rule may begin, the rule looks ahead, and no byte
//! is examined more than a fixed number of times, for one of these reasons:
//! - a token's body contains no word boundary, so no token begins within a rejected body; bodies
//!   joined by dots are limited in number;
//! - a name's value is read only after a separator; base64 contains none, and for words that do,
//!   `dull` remembers how far a word was rejected: no suffix of it can be a secret either;
//! - a private key's body ends where the next one begins, a URL's authority at `/`, and the
//!   options of `curl` are not read again for a `curl` among them.

mod rules;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::rules::{
    ALNUM, AUTHORITY, BASE64, CAPITALS, CLASS, DASH, DIGIT, LEADS, LOWER, QUOTE, RULES, SCHEMES,
    SPACE, SPAN, SecretShape, SecretToken, UNDERSCORE, UPPER, URL64, VALUE, Value, is,
    is_in_threes,
};

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// The text, with `[redacted KIND]` where a secret was.
    pub text: String,
    /// What was found, each kind once, in order of first appearance.
    pub kinds: Vec<&'static str>,
}

/// Returns the text with its secrets replaced by `[redacted KIND]`, or `None` if there are none.
pub fn redact(text: &str) -> Option<Redacted> {
    let mut scan = SecretScan { text, bytes: text.as_bytes(), ..SecretScan::default() };
    scan.run(|_, _| {});
    if scan.kinds.is_empty() {
        return None;
    }
    scan.out.push_str(&text[scan.done..]);
    Some(Redacted { text: scan.out, kinds: scan.kinds })
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretPlace {
    /// The range of the secret's bytes.
    pub range: Range<usize>,
    /// What it is.
    pub kind: &'static str,
}

/// Returns where the secrets of a text are, in order.
pub fn find(text: &str) -> Vec<SecretPlace> {
    let mut scan = SecretScan { text, bytes: text.as_bytes(), ..SecretScan::default() };
    let mut places = Vec::new();
    scan.run(|range, kind| places.push(SecretPlace { range: range.clone(), kind }));
    places
}

/// Returns the text without its secrets.
pub fn without_secrets(text: String) -> String {
    match redact(&text) {
        Some(redacted) => redacted.text,
        None => text,
    }
}

/// Returns whether a text begins with the prefix of a rule. Words that begin like some rules are
/// frequent, and resuming the scan after each of them takes longer than this check.
fn begins_a_rule(text: &[u8]) -> bool {
    match text[0] {
        b':' | b'-' | b'c' => return true,
        _ => {}
    }
    let (from, to) = SPAN[text[0] as usize];
    RULES[from as usize..to as usize].iter().any(|rule| match rule.shape {
        SecretShape::Token(_) => text.starts_with(rule.prefix.as_bytes()),
        SecretShape::Name(_) => is_name(text, rule.prefix),
    })
}

/// Returns whether a text begins with a name, in any case and with `-` or `_`.
fn is_name(text: &[u8], name: &str) -> bool {
    let fold = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    text.len() >= name.len() && text.iter().zip(name.bytes()).all(|(a, b)| fold(*a) == fold(b))
}

#[derive(Default)]
struct SecretScan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    out: String,
    kinds: Vec<&'static str>,
    /// The text up to here has been written to `out`.
    done: usize,
    /// The range of the password of the last URL, and of the last `curl`.
    url: Range<usize>,
    curl: Range<usize>,
    /// The options of the last `curl` were read up to here.
    curl_end: usize,
    /// The end of the last word that was read as a value and rejected: no suffix of it is a secret.
    dull: usize,
}

impl SecretScan<'_> {
    fn run(&mut self, mut found: impl FnMut(&Range<usize>, &'static str)) {
        let mut at = 0;
        while let Some(lead) = self.lead(at) {
            if let Some((range, kind)) = self.secret(lead) {
                at = range.end;
                found(&range, kind);
                self.replace(range, kind);
            } else {
                at = lead + 1;
            }
        }
    }

    /// Returns where a rule may begin, from a position on.
    fn lead(&self, from: usize) -> Option<usize> {
        // What a URL or a `curl` has announced is next, unless something comes before it.
        let announced = [&self.url, &self.curl].map(|range| range.start.wrapping_sub(1));
        let end = self.bytes.len();
        let announced = announced.into_iter().filter(|at| (from..end).contains(at)).min();
        let end = announced.map_or(end, |at| end.min(at + 4));
        let bytes = self.bytes.get(from..end).unwrap_or_default();
        let first_of = |mut places: Range<usize>| places.find(|at| self.may_begin(from + at));
        let (words, rest) = bytes.as_chunks::<8>();
        let mut before = 0;
        for (index, word) in words.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            // Three bytes at every other position: they are the first of a rule, or those from its
            // second on. The first three begin in the previous word.
            let threes = [before >> 48 | word << 16, word, word >> 16, word >> 32];
            if threes.into_iter().fold(false, |found, three| found | is_in_threes(three)) {
                for (three, behind) in threes.into_iter().zip((8 * index..).step_by(2)) {
                    if !is_in_threes(three) {
                        continue;
                    }
                    let at = behind.saturating_sub(3)..behind.saturating_sub(1);
                    if let Some(found) = first_of(at) {
                        return announced.into_iter().chain([from + found]).min();
                    }
                }
            }
            before = word;
        }
        let found = first_of((bytes.len() - rest.len()).saturating_sub(3)..bytes.len());
        announced.into_iter().chain(found.map(|at| from + at)).min()
    }

    /// Returns whether the text at a position begins like a rule.
    fn may_begin(&self, at: usize) -> bool {
        let [first, second, third] = &LEADS;
        let rest = self.rest(at);
        match rest {
            [one, two, three, ..] => {
                first[*one as usize] & second[*two as usize] & third[*three as usize] != 0
                    && begins_a_rule(rest)
            }
            _ => false,
        }
    }

    fn replace(&mut self, range: Range<usize>, kind: &'static str) {
        self.out.push_str(&self.text[self.done..range.start]);
        self.out.push_str("[redacted ");
        self.out.push_str(kind);
        self.out.push(']');
        self.done = range.end;
        // What ended the options of `curl` is gone.
        if range.start < self.curl_end && self.curl_end <= range.end {
            self.curl_options(range.end);
        }
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// Returns the byte at a position, or 0 past the end.
    fn get(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn rest(&self, at: usize) -> &[u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// Returns where the run of a class that begins at a position ends.
    fn run_end(&self, at: usize, class: u16) -> usize {
        at + self.count(at, |byte| is(byte, class))
    }

    /// Returns the secret announced at a position.
    fn secret(&mut self, at: usize) -> Option<(Range<usize>, &'static str)> {
        match self.bytes[at] {
            b':' => return self.colon(at),
            b'-' => return Some((self.private_key(at)?, "private-key")),
            b'c' => {
                self.curl(at);
                return None;
            }
            _ => {}
        }
        let (from, to) = SPAN[self.bytes[at] as usize];
        let boundary = self.boundary(at);
        let third = self.get(at + 2).to_ascii_lowercase();
        RULES[from as usize..to as usize].iter().find_map(|rule| {
            if rule.prefix.as_bytes()[2].to_ascii_lowercase() != third {
                return None;
            }
            let range = match &rule.shape {
                SecretShape::Token(token) if boundary => at..self.token(at, rule.prefix, token)?,
                SecretShape::Token(_) => return None,
                SecretShape::Name(value) => self.named(at, rule.prefix, *value, boundary)?,
            };
            Some((range, rule.kind))
        })
    }

    /// Returns whether a word may begin at a position: what precedes it is not part of it.
    fn boundary(&self, at: usize) -> bool {
        let before = &self.bytes[self.done..at];
        let hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
        match before {
            // The letter of an escape is not the first of a word,
            [.., b'\\'] if b"nrtbfu".contains(&self.bytes[at]) => {
                before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 0
            }
            // and not the last of one.
            [] | [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
            [.., b'\\', b'u', a, b, c, d] if hex(&[*a, *b, *c, *d]) => true,
            [.., b'%', a, b] if hex(&[*a, *b]) => true,
            // The end of a terminal colour code.
            [codes @ .., b'm' | b'K'] => {
                let code = |byte: &&u8| is(**byte, DIGIT) || **byte == b';';
                let length = codes.iter().rev().take(20).take_while(code).count();
                codes[..codes.len() - length].ends_with(b"[")
            }
            [.., byte] => !is(*byte, URL64),
        }
    }

    /// Returns where the token that begins at a position ends.
    fn token(&self, at: usize, prefix: &str, token: &SecretToken) -> Option<usize> {
        if !self.rest(at).starts_with(prefix.as_bytes()) {
            return None;
        }
        let from = at + prefix.len();
        let mut end = self.run_end(from, token.body);
        if !(token.min..=token.max).contains(&(end - from)) {
            return None;
        }
        let body = &self.bytes[from..end];
        let mut more = 0;
        while more < token.dotted.1 && self.get(end) == b'.' {
            let next = self.run_end(end + 1, token.body);
            if next == end + 1 {
                break;
            }
            end = next;
            more += 1;
        }
        let fits = more >= token.dotted.0
            && !is(self.get(end), ALNUM)
            && !one_letter(body)
            && (!token.varied || varied(body));
        fits.then_some(end)
    }

    /// Returns the range of the value of a name that begins at a position.
    fn named(
        &mut self,
        at: usize,
        name: &str,
        value: Value,
        boundary: bool,
    ) -> Option<Range<usize>> {
        let end = at + name.len();
        if !is_name(self.rest(at), name) {
            return None;
        }
        if let Value::Base64(min, max) = value {
            let (from, _) = self.separator(end, true)?;
            let end = self.run_end(from, BASE64);
            let body = &self.bytes[from..end];
            let end = end + self.count(end, |byte| byte == b'=').min(2);
            let fits = (min..=max).contains(&(end - from)) && varied(body) && !one_letter(body);
            return (fits && !self.example(end)).then_some(from..end);
        }
        if !boundary && !matches!(self.get(at.wrapping_sub(1)), b'-' | b'_') {
            return None;
        }
        let (from, listed) = self.separator(end, false)?;
        if sigil(self.rest(from)) {
            return None;
        }
        let dull = from < self.dull;
        let end = if dull { self.dull } else { self.value_end(from) };
        let first = &self.bytes[from..end];
        let credential = matches!(value, Value::Credential);
        let scheme = credential
            && SCHEMES.iter().any(|scheme| first.eq_ignore_ascii_case(scheme.as_bytes()));
        let min = if credential || listed { 16 } else { 8 };
        if !scheme && !dull && opaque(first, min) && !self.example(end) {
            return Some(from..end);
        }
        self.dull = end;
        let may_be_scheme = from < end && end == self.run_end(from, URL64);
        if !credential || !may_be_scheme || self.get(end) != b' ' {
            return None;
        }
        let from = end + self.count(end, |byte| byte == b' ');
        let end = self.value_end(from);
        let min = if scheme { 6 } else { 16 };
        let fits = opaque(&self.bytes[from..end], min) && !self.example(end);
        fits.then(|| from..self.parameters(end))
    }

    /// Returns where the value of a name that ends at a position begins, and whether only a comma
    /// separates them. A name in quotes must have a value in quotes: in JSON anything else is not a
    /// string.
    fn separator(&self, end: usize, loose: bool) -> Option<(usize, bool)> {
        let blank = |byte| matches!(byte, b' ' | b'\t');
        let closed = self.quote(end);
        // As in `headers["Authorization"] = …`.
        let end = closed.map_or(end, |end| end + usize::from(self.get(end) == b']'));
        let mut at = end + self.count(end, blank);
        let listed = closed.is_some() && self.get(at) == b',';
        match self.get(at) {
            b':' | b'=' => at += 1 + usize::from(matches!(self.get(at + 1), b'=' | b'>')),
            b',' if listed => at += 1,
            b'>' if loose => at += 1,
            _ if loose && at > end => {}
            _ => return None,
        }
        at += self.count(at, blank);
        match self.quote(at) {
            // The quote was the end of a JSON string, not the beginning of one.
            Some(inner) if self.get(inner) == b':' => None,
            Some(inner) => Some((inner, listed)),
            None => closed.is_none().then_some((at, listed)),
        }
    }

    /// Returns the position after the quote at a position, including the backslashes before it.
    fn quote(&self, at: usize) -> Option<usize> {
        let at = at + self.count(at, |byte| byte == b'\\');
        matches!(self.get(at), b'"' | b'\'' | b'`').then_some(at + 1)
    }

    /// Returns where the word of a value ends; an ellipsis is not part of it.
    fn value_end(&self, from: usize) -> usize {
        let goes_on = |at: &usize| {
            is(self.get(*at), VALUE)
                && !(self.get(*at) == b'.' && self.rest(*at).starts_with(b"..."))
        };
        from + (from..self.bytes.len()).take_while(goes_on).count()
    }

    /// Returns whether what ends at a position is a call, is cut short with an ellipsis, or had
    /// more of it replaced.
    fn example(&self, end: usize) -> bool {
        let ellipsis = |dots: &str| self.rest(end).starts_with(dots.as_bytes());
        matches!(self.get(end), b'(' | b'[' | b'{') || ellipsis("...") || ellipsis("…")
    }

    /// Returns where the `, name=value` parameters after a credential end.
    fn parameters(&self, mut end: usize) -> usize {
        while self.get(end) == b',' {
            let from = end + 1 + self.count(end + 1, |byte| byte == b' ');
            let next = from + self.count(from, |byte| is(byte, VALUE) || byte == b';');
            if !self.bytes[from..next].contains(&b'=') {
                break;
            }
            end = next;
        }
        end
    }

    /// Returns the password after this colon; or notes a URL that may have one further on.
    fn colon(&mut self, at: usize) -> Option<(Range<usize>, &'static str)> {
        if self.url.start == at + 1 {
            return Some((self.url.clone(), "url-password"));
        }
        if self.curl.start == at + 1 {
            return Some((self.curl.clone(), "password"));
        }
        if self.rest(at).starts_with(b"://") && is(self.get(at.wrapping_sub(1)), ALNUM) {
            let from = at + 3;
            let authority = &self.bytes[from..self.run_end(from, AUTHORITY)];
            let colon = authority.iter().position(|&byte| byte == b':')?;
            let end = authority.iter().rposition(|&byte| byte == b'@')?;
            let password = authority.get(colon + 1..end)?;
            if !password.is_empty() && !placeholder(password) {
                self.url = from + colon + 1..from + end;
            }
        }
        None
    }

    fn curl(&mut self, at: usize) {
        let command = self.rest(at).starts_with(b"curl") && is(self.get(at + 4), SPACE | QUOTE);
        if command && at >= self.curl_end && self.boundary(at) {
            self.curl_options(at + 4);
        }
    }

    /// Searches for `-u user:password` in what follows `curl`.
    fn curl_options(&mut self, mut at: usize) {
        while let Some(&byte) = self.bytes.get(at) {
            match byte {
                b'\n' | b'|' => break,
                b'&' if self.get(at + 1) == b'&' => break,
                b'\\' => {
                    // A newline in JSON has 1, 2, 4 … backslashes, a line continuation three times
                    // as many.
                    let count = self.count(at, |byte| byte == b'\\');
                    at += count;
                    if self.get(at) == b'n' && count.is_power_of_two() {
                        break;
                    }
                    at += usize::from(matches!(self.get(at), b'n' | b'\n'));
                    continue;
                }
                b'-' if is(self.bytes[at - 1], SPACE | QUOTE)
                    || self.bytes[..at].ends_with(b"\\n") =>
                {
                    if let Some(password) = self.user_option(at) {
                        at = password.end;
                        self.curl = password;
                        break;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.curl_end = at;
    }

    fn user_option(&self, at: usize) -> Option<Range<usize>> {
        let end = self.run_end(at, UPPER | LOWER | DASH);
        let from = match &self.bytes[at..end] {
            b"--user" | b"--proxy-user" => end,
            [b'-', b'-', ..] => return None,
            [b'-', b'u' | b'U', _, ..] => at + 2,
            [b'-', .., b'u' | b'U'] => end,
            _ => return None,
        };
        let between = |byte| is(byte, QUOTE) || matches!(byte, b' ' | b'=' | b',');
        let user = from + self.count(from, between);
        let quoted = user > from && is(self.get(user - 1), QUOTE);
        let colon = user + self.count(user, |byte| is(byte, VALUE) && byte != b':');
        if colon == user || self.get(colon) != b':' {
            return None;
        }
        let ends = |byte| match byte {
            b' ' | b';' | b'|' | b'&' | b'<' | b'>' | b'(' | b')' => !quoted,
            _ => byte < b' ' || is(byte, QUOTE),
        };
        let password = colon + 1..colon + 1 + self.count(colon + 1, |byte| !ends(byte));
        (password.len() >= 2 && !placeholder(&self.bytes[password.clone()])).then_some(password)
    }

    /// Returns the range of the private key whose `-----BEGIN` has its last dash at a position.
    fn private_key(&self, at: usize) -> Option<Range<usize>> {
        let before = &self.bytes[self.done..at];
        if !self.rest(at).starts_with(b"-BEGIN ") || !before.ends_with(b"----") {
            return None;
        }
        let from = self.label_end(at + 7);
        let label = &self.bytes[at + 7..from];
        let private = label.windows(11).any(|words| words == b"PRIVATE KEY");
        if !private || !self.rest(from).starts_with(b"-----") {
            return None;
        }
        let from = from + 5;
        let mut stop = from;
        while stop < self.bytes.len() && self.bytes[stop] != b'"' {
            if self.bytes[stop] == b'-' && self.bytes[..stop].ends_with(b"----") {
                let rest = self.rest(stop);
                if rest.starts_with(b"-END ") {
                    let body = &self.bytes[from..stop];
                    let found = body.split(|&byte| !is(byte, BASE64)).any(key_material);
                    let end = self.label_end(stop + 5);
                    let end = end + self.count(end, |byte| byte == b'-').min(5);
                    return found.then_some(at - 4..end);
                } else if rest.starts_with(b"-BEGIN ") {
                    break;
                }
            } else if self.bytes[stop] == b'[' && self.rest(stop).starts_with(b"[redacted ") {
                break; // where another key was
            }
            stop += 1;
        }
        Some(at - 4..self.key_end(from, stop)?)
    }

    fn label_end(&self, at: usize) -> usize {
        at + self.count(at, |byte| is(byte, CAPITALS) || byte == b' ').min(40)
    }

    /// Returns where a key without an end marker stops: after its lines and words of base64.
    fn key_end(&self, from: usize, stop: usize) -> Option<usize> {
        let (mut at, mut end, mut full) = (from, None, false);
        loop {
            at += self.count(at, |byte| is(byte, SPACE));
            if self.get(at) == b'\\' {
                at += self.count(at, |byte| byte == b'\\');
                if !matches!(self.get(at), b'n' | b'r' | b't') {
                    return end;
                }
                at += 1;
                continue;
            }
            let next = at + self.count(at, |byte| is(byte, BASE64) || byte == b'=');
            let word = &self.bytes[at..next];
            let header = matches!(self.get(next), b':' | b'-');
            if key_material(word) {
                end = Some(next);
                full = word.len() >= 48;
                at = next;
            } else if end.is_none() && header && !word.is_empty() {
                // A line such as `Proc-Type: 4,ENCRYPTED`.
                let line = self.bytes[next..stop].iter();
                at = next + line.take_while(|&&byte| !matches!(byte, b'\n' | b'\\')).count();
            } else {
                // After a full line the last one may be short.
                let line_end = self.get(next) < b' ' || is(self.get(next), QUOTE);
                return if full && line_end && !word.is_empty() { Some(next) } else { end };
            }
        }
    }

    fn count(&self, at: usize, class: impl Fn(u8) -> bool) -> usize {
        self.rest(at).iter().take_while(|&&byte| class(byte)).count()
    }
}

fn key_material(run: &[u8]) -> bool {
    run.len() >= 24 && !one_letter(run)
}

/// Returns whether there is a digit, or both upper and lower case letters.
fn varied(text: &[u8]) -> bool {
    let all = text.iter().fold(0, |all, &byte| all | CLASS[byte as usize]);
    all & DIGIT != 0 || all & UPPER != 0 && all & LOWER != 0
}

/// Returns whether the last dozen letters are all the same, as in `ghp_xxxxxxxxxxxx`: a
/// placeholder.
fn one_letter(text: &[u8]) -> bool {
    let mut letters = text.iter().rev().filter(|&&byte| is(byte, ALNUM)).take(12);
    letters.next().is_some_and(|last| letters.all(|letter| letter.eq_ignore_ascii_case(last)))
}

/// Returns whether a word cannot be one of a language or of a program.
fn opaque(word: &[u8], min: usize) -> bool {
    let camel = || word.windows(2).any(|pair| is(pair[0], LOWER) && is(pair[1], UPPER));
    word.len() >= min
        && !placeholder(word)
        && !one_letter(word)
        && (word.iter().any(u8::is_ascii_digit) || word.len() >= 12 && camel())
}

/// Returns whether a word stands for a secret that is elsewhere, or for one that was replaced.
fn placeholder(word: &[u8]) -> bool {
    let ellipsis = word.starts_with(b"...") || word.ends_with(b"...");
    let same = word.iter().all(|byte| byte.eq_ignore_ascii_case(&word[0]));
    sigil(word) || same || ellipsis || word.windows(9).any(|part| part == b"[redacted")
}

/// Returns whether a text is `$NAME`, `${NAME}`, `<name>`, `{name}`, `***`, `%s` or the like.
fn sigil(text: &[u8]) -> bool {
    match text {
        [b'<' | b'{' | b'[', ..] | [b'*', b'*', ..] | [b'$', b'{' | b'(', ..] | [b'%', _] => true,
        [b'$', name @ ..] => {
            is(*name.first().unwrap_or(&0), UPPER | LOWER | UNDERSCORE)
                && name.iter().all(|&byte| is(byte, ALNUM | UNDERSCORE))
        }
        [b'%', a, b, ..] => !(a.is_ascii_hexdigit() && b.is_ascii_hexdigit()),
        _ => false,
    }
}
