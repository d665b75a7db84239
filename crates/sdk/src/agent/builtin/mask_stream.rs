//! Masks secrets and personal data in a streamed answer.
//!
//! Decisions are made only where a word ends, never where a piece does: however a text is cut, the
//! same is shown. At such a point everything is shown that can no longer be part of a secret; the
//! rest is held back. What is shown depends only on the held text, which is at most
//! [`MOST_WAITING`] bytes.

use super::mask_secrets::{Detector, MaskSecrets};
use crate::agent::hook::TIMEOUT_DEFAULT;
use crate::agent::stream_hook::{StreamHook, StreamStep};

/// At most this many bytes are held back. A private key of 8192 bits has fewer.
const MOST_WAITING: usize = 16 * 1024;
/// This many words are held back, for secrets such as `Authorization: Bearer …`.
const WORDS: usize = 3;
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Masks secrets and personal data in a streamed answer, also where they are split over several
/// pieces.
///
/// It finds what [`mask_secrets`](super::mask_secrets()) finds, if that fits into 16 KiB. The last
/// few words are held back until the next ones arrive: that is how far the shown text lags behind.
///
/// ```
/// use anyhook_sdk::agent::builtin::mask_secrets_in_stream;
/// use anyhook_sdk::agent::stream_hook::StreamChain;
///
/// let mut chain = StreamChain::new(&[mask_secrets_in_stream("mask")]);
/// let mut shown = chain.push("write to ann@exa").unwrap();
/// shown += &chain.push("mple.org").unwrap();
/// shown += &chain.finish().unwrap();
/// assert_eq!(shown, "write to [redacted email]");
/// ```
pub fn mask_secrets_in_stream(name: impl Into<String>) -> StreamHook {
    hook(name.into(), Detector::default())
}

impl MaskSecrets {
    /// Makes the guardrail for a streamed answer. It masks, never refuses.
    pub fn stream_hook(&self) -> StreamHook {
        hook(self.name().to_owned(), self.detector().clone())
    }
}

fn hook(name: String, detector: Detector) -> StreamHook {
    let hook = StreamHook::with_end(name, move || {
        let mut waiting = HeldText { detector: detector.clone(), text: String::new() };
        Box::new(move |piece, is_last| {
            let mut shown = String::new();
            for letter in piece.chars() {
                waiting.take(letter, &mut shown);
            }
            if is_last {
                shown += &waiting.rest();
            }
            StreamStep::Change(shown)
        })
    });
    // A guardrail that is too slow ends the answer: a busy machine is not a reason to.
    hook.guardrail().timeout(TIMEOUT_DEFAULT)
}

/// The text that is held back.
struct HeldText {
    detector: Detector,
    text: String,
}

impl HeldText {
    fn take(&mut self, letter: char, shown: &mut String) {
        self.text.push(letter);
        if self.text.len() >= MOST_WAITING {
            *shown += &self.rest();
        } else if ends_word(letter) {
            let end = self.settled();
            if end > 0 && self.may_part(end) {
                *shown += &self.detector.masked(&self.text[..end]);
                self.text.drain(..end);
            }
        }
    }

    fn rest(&mut self) -> String {
        self.detector.masked(&std::mem::take(&mut self.text))
    }

    /// Returns whether nothing found spans this position, or needs the text before it to be found.
    fn may_part(&self, at: usize) -> bool {
        let (before, after) = self.text.split_at(at);
        match self.detector.mask(&self.text) {
            None => true,
            Some((whole, _)) => {
                self.detector.masked(before) + &self.detector.masked(after) == whole
            }
        }
    }

    /// Returns the position up to which no further text can change what is found.
    fn settled(&self) -> usize {
        let text = &self.text;
        // Only a key or a command continues after these.
        let hard = text.rfind(ends_all).map_or(0, |at| at + width(text, at));
        let mut end = text.len();
        if hard < end {
            end = last_words(text, end, WORDS);
            // Numbers may be in groups.
            while end > hard && is_group(&text[last_words(text, end, 1)..end]) {
                end = last_words(text, end, 1);
            }
            end = end.max(hard);
        }
        let line = line_start(text);
        let command = text[line..].find("curl").map(|at| line + at);
        [command, open_key(text)].into_iter().flatten().fold(end, usize::min)
    }
}

fn ends_word(letter: char) -> bool {
    letter.is_whitespace() || !letter.is_ascii()
}

fn ends_all(letter: char) -> bool {
    letter == '\n' || !letter.is_ascii()
}

fn width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

/// Returns where the last words before `end` start.
fn last_words(text: &str, end: usize, count: usize) -> usize {
    let mut at = end;
    for _ in 0..count {
        let word = text[..at].trim_end_matches(ends_word);
        at = word.rfind(ends_word).map_or(0, |before| before + width(word, before));
    }
    at
}

/// Returns whether a word may be one of the groups of a number: `4111`, `(415)`, `WEST`.
fn is_group(word: &str) -> bool {
    let word = word.trim_end();
    let short = word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    !word.is_empty() && (short || word.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Returns where the last line starts; a line that ends with a backslash continues.
fn line_start(text: &str) -> usize {
    let mut end = text.len();
    while let Some(at) = text[..end].rfind('\n') {
        if !text[..at].ends_with('\\') {
            return at + 1;
        }
        end = at;
    }
    0
}

/// Returns where a private key starts that has no end yet.
fn open_key(text: &str) -> Option<usize> {
    let begin = text.rfind(BEGIN)?;
    let ended = text[begin..].find(END).is_some_and(|at| {
        let label = &text[begin + at + END.len()..];
        label.contains("-----")
    });
    (!ended).then_some(begin)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::mask_secrets;
    use super::*;
    use crate::agent::stream_hook::StreamChain;

    fn streamed<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut chain = StreamChain::new(&[mask_secrets_in_stream("mask")]);
        let mut shown = String::new();
        for piece in pieces {
            shown += &chain.push(piece).unwrap();
        }
        shown + &chain.finish().unwrap()
    }

    fn letters(text: &str) -> Vec<&str> {
        text.char_indices().map(|(at, letter)| &text[at..at + letter.len_utf8()]).collect()
    }

    fn key() -> String {
        let line = "MIIEpAIBAAKCAQEA7bq0dXkS8nq2mVd3yQ4cWf9oTgR1hLxZ5uJpEvKi6sBaCwYz\n";
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----", line.repeat(20))
    }

    #[test]
    fn letter_by_letter_as_in_one_piece() {
        for text in [
            "token ghp_16C7e42F292c6912E7710c838347Ae178B4a here",
            "\"Authorization\": \"Bearer abcdef0123456789abcdef01\" and then more words follow",
            "pay 4111 1111 1111 1111 now, or DE89 3704 0044 0532 0130 00, or GB82 WEST 1234 5698 7654 32!",
            "call +1 (415) 555-2671 or +49 30 901820 now please do it",
            "curl -s -X POST https://example.org -H 'a: b' -u ann:s3cretpw1 and more\nnext line",
            "curl -s \\\n -X POST -u ann:s3cretpw1 https://x.org\nnext line",
            "密码是 ghp_16C7e42F292c6912E7710c838347Ae178B4a，邮箱 a@b.org。好的",
            "nothing at all to see here, only words and words",
            &format!("the key:\n{}\nand more text", key()),
        ] {
            let whole = mask_secrets("mask").mask(text);
            assert_eq!(streamed(letters(text)), whole);
            assert_eq!(streamed([text]), whole);
        }
    }

    #[test]
    fn words_are_shown_soon() {
        let mut chain = StreamChain::new(&[mask_secrets_in_stream("mask")]);
        assert_eq!(chain.push("one two three four five ").unwrap(), "one two ");
        assert_eq!(chain.push("six\n").unwrap(), "three four five six\n");
        assert_eq!(chain.push("你好，").unwrap(), "你好，");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut chain = StreamChain::new(&[mask_secrets_in_stream("mask")]);
        let long = "x".repeat(10 * MOST_WAITING);
        let shown = chain.push(&long).unwrap();
        assert!(long.len() - shown.len() < MOST_WAITING);
        assert_eq!(shown + &chain.finish().unwrap(), long);
    }

    fn part() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => "[a-z]{1,9}[,.]? ",
            1 => "[a-zäö世界]{1,5}",
            1 => Just("\n".to_owned()),
            1 => "[0-9]{1,5} ",
            1 => "ghp_[A-Za-z0-9]{36} ",
            1 => "[a-z]{1,5}@[a-z]{1,5}\\.org ",
            1 => Just("4111 1111 1111 1111, ".to_owned()),
            1 => Just("DE89 3704 0044 0532 0130 00. ".to_owned()),
            1 => Just("+49 30 901820 ".to_owned()),
            1 => "password: [a-z0-9]{8,12}; ",
            1 => "Authorization: Bearer [a-z0-9]{20}; ",
            1 => "curl -u [a-z]{3}:[a-z0-9]{5} x\n",
        ]
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_same_is_shown(
            text in "[ -~\n]{0,200}|[ -~äö世\u{2003}\n]{0,60}",
            cuts in prop::collection::vec(0.0f64..1.0, 0..12),
        ) {
            prop_assert_eq!(streamed(cut(&text, &cuts)), streamed(letters(&text)));
        }

        #[test]
        fn what_is_found_in_the_whole_is_found_in_pieces(
            parts in prop::collection::vec(part(), 0..40),
            cuts in prop::collection::vec(0.0f64..1.0, 0..12),
        ) {
            let text = parts.concat();
            prop_assert_eq!(streamed(cut(&text, &cuts)), mask_secrets("mask").mask(&text));
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "any place will do"
    )]
    fn cut<'a>(text: &'a str, cuts: &[f64]) -> Vec<&'a str> {
        let mut places: Vec<usize> =
            cuts.iter().map(|cut| (cut * text.len() as f64) as usize).collect();
        places.retain(|place| text.is_char_boundary(*place));
        places.extend([0, text.len()]);
        places.sort_unstable();
        places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
    }
}
