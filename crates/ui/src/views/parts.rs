//! Small parts of pages.

use anyhook_model::json::shorten;
use anyhook_terminal::format::{brief, thousands};
use anyhook_terminal::{Tone, printable};
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

/// A moment, as how long ago it was; the browser counts on.
pub fn ago(at: Timestamp) -> Markup {
    let past = Timestamp::now().duration_since(at).max(SignedDuration::ZERO);
    html! { time datetime=(at) title=(at) data-ago { (brief(past)) } }
}

/// A moment in the future, as how long it is until then.
pub fn left(until: Timestamp) -> Markup {
    let left = until.duration_since(Timestamp::now()).max(SignedDuration::ZERO);
    html! { time datetime=(until) title=(until) data-left { (brief(left)) } }
}

/// A length of time.
pub fn span(milliseconds: u64) -> String {
    brief(SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX)))
}

/// What a list shows if there is nothing in it.
pub fn empty(headline: &str, text: &Markup) -> Markup {
    html! { section.empty { h2 { (headline) } p { (text) } } }
}

/// A fact in a list of facts, if it is known.
pub fn fact(name: &str, value: Option<&str>) -> Markup {
    html! { @if let Some(value) = value { dt { (name) } dd { (value) } } }
}

/// The name of a project's folder.
pub fn folder_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// The class of a tone.
pub fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "wait",
        Tone::Hint => "idle",
        Tone::Plain | Tone::Strong | Tone::Dim => "over",
    }
}

/// A text in full, or its beginning if it is very long; without what moves a cursor.
pub fn long_text(text: &str, limit: usize) -> Markup {
    let shown = shorten(text, limit);
    let left = text.len().saturating_sub(shown.len());
    html! {
        pre tabindex="0" { (printable(&shown)) }
        @if left > 0 { p.hint { "The rest is not shown: " (thousands(left as u64)) " bytes more." } }
    }
}

/// What is wrong with what was asked for.
pub fn problems(problems: &[String]) -> Markup {
    html! {
        @if !problems.is_empty() {
            div.notice.bad role="alert" {
                @for problem in problems { p { (super::sentence(&printable(&shorten(problem, 500)))) } }
            }
        }
    }
}

/// Returns an address with a query; values may be any text.
pub fn with_query<'pair>(
    path: &str,
    pairs: impl IntoIterator<Item = (&'pair str, &'pair str)>,
) -> String {
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{}={}", in_path(name), in_path(value)))
        .collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

/// Returns a part of an address, so that any text is one part of a path.
pub fn in_path(text: &str) -> String {
    let escaped = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    // A path that is only dots is removed by browsers.
    if text.bytes().all(|byte| byte == b'.') {
        return text.bytes().map(|_| "%2E").collect();
    }
    text.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_part_of_a_path() {
        assert_eq!(in_path("claude-code:a1"), "claude-code%3Aa1");
        assert_eq!(in_path("../x?y#z"), "..%2Fx%3Fy%23z");
        assert_eq!(in_path(".."), "%2E%2E");
        assert_eq!(in_path("é"), "%C3%A9");
    }

    #[test]
    fn text_from_elsewhere_is_escaped() {
        let evil = "<script>alert(1)</script>\" onload=\"x";
        let shown = fact("name", Some(evil)).into_string();
        assert!(!shown.contains("<script>") && shown.contains("&lt;script&gt;"), "{shown}");
        assert!(!shown.contains("\" onload"), "{shown}");
    }
}
