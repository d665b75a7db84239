//! Options of a pack: their values, and the HOOK.md files in which they appear as `%{NAME}`.

use std::collections::BTreeMap;

use anyhook_model::pack::{LockedOption, OptionValue, PackOption};

use super::error::PackError;

/// Values by the names of their options.
pub type OptionValues = BTreeMap<String, OptionValue>;

/// Reads settings that were typed as `NAME=VALUE`. A list is set by `["a", "b"]`, or an item at a
/// time.
pub fn read_settings(
    pack: &str,
    options: &[PackOption],
    settings: &[String],
) -> Result<OptionValues, PackError> {
    let mut values = OptionValues::new();
    for setting in settings {
        let (name, text) =
            setting.split_once('=').ok_or_else(|| PackError::NotASetting(setting.clone()))?;
        let option = find(pack, options, name)?;
        let value = read_value(option, text)?;
        match (values.get_mut(name), value) {
            (Some(OptionValue::List(items)), OptionValue::List(more)) => items.extend(more),
            (Some(_), _) => return Err(PackError::SetTwice(name.to_owned())),
            (None, value) => drop(values.insert(name.to_owned(), value)),
        }
    }
    Ok(values)
}

fn find<'options>(
    pack: &str,
    options: &'options [PackOption],
    name: &str,
) -> Result<&'options PackOption, PackError> {
    options.iter().find(|option| option.name == name).ok_or_else(|| PackError::UnknownOption {
        pack: pack.to_owned(),
        name: name.to_owned(),
        known: options.iter().map(|option| option.name.clone()).collect(),
    })
}

fn read_value(option: &PackOption, text: &str) -> Result<OptionValue, PackError> {
    let value = match &option.default {
        OptionValue::Bool(_) => text.parse().ok().map(OptionValue::Bool),
        OptionValue::Integer(_) => text.parse().ok().map(OptionValue::Integer),
        OptionValue::Number(_) => {
            text.parse().ok().filter(|value: &f64| value.is_finite()).map(OptionValue::Number)
        }
        OptionValue::Text(_) => Some(OptionValue::Text(text.to_owned())),
        OptionValue::List(_) if text.trim_start().starts_with('[') => {
            serde_json::from_str(text).ok().map(OptionValue::List)
        }
        OptionValue::List(_) => Some(OptionValue::List(vec![text.to_owned()])),
    };
    value.filter(is_plain).ok_or_else(|| PackError::OptionType {
        name: option.name.clone(),
        expected: option.default.type_name(),
        given: super::source::printable(text),
    })
}

/// Returns whether a value has no control characters: each is on one line.
pub(super) fn is_plain(value: &OptionValue) -> bool {
    let is_plain = |text: &String| !text.chars().any(char::is_control);
    match value {
        OptionValue::Text(text) => is_plain(text),
        OptionValue::List(texts) => texts.iter().all(is_plain),
        _ => true,
    }
}

/// Returns what `packs.lock` records: every option, and the values that were set. Values of options
/// that no longer exist, or have another type now, are dropped.
pub(super) fn locked(options: &[PackOption], values: &OptionValues) -> Vec<LockedOption> {
    let lock = |option: &PackOption| {
        let value = values.get(&option.name).filter(|value| value.is_like(&option.default));
        LockedOption { option: option.clone(), value: value.cloned() }
    };
    options.iter().map(lock).collect()
}

/// Returns the values that were set.
pub fn set_values(options: &[LockedOption]) -> OptionValues {
    let set = |option: &LockedOption| Some((option.option.name.clone(), option.value.clone()?));
    options.iter().filter_map(set).collect()
}

/// Replaces every `%{NAME}` in a file. The error is a name that is not an option's.
///
/// In a text in single quotes an option is a part of that text, and a list its alternatives.
pub(super) fn render(file: &[u8], options: &[LockedOption]) -> Result<Vec<u8>, String> {
    let Ok(mut rest) = std::str::from_utf8(file) else { return Ok(file.to_owned()) };
    let mut rendered = String::with_capacity(rest.len());
    while let Some(at) = rest.find("%{") {
        rendered.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let Some((name, further)) = after.split_once('}').filter(|(name, _)| is_name(name)) else {
            rendered.push_str("%{");
            rest = after;
            continue;
        };
        let option = options.iter().find(|option| option.option.name == name);
        let value = option.ok_or_else(|| name.to_owned())?.current();
        if is_quoted(&rendered) {
            rendered.push_str(&in_quotes(value));
        } else {
            rendered.push_str(&value.to_yaml());
        }
        rest = further;
    }
    rendered.push_str(rest);
    Ok(rendered.into_bytes())
}

/// Returns whether the end of a text is in single quotes, on its line.
fn is_quoted(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or(text);
    line.matches('\'').count() % 2 == 1
}

/// Returns a value as a part of a text in single quotes.
fn in_quotes(value: &OptionValue) -> String {
    let text = match value {
        OptionValue::Text(text) => text.clone(),
        OptionValue::List(items) => items.join("|"),
        other => other.to_yaml(),
    };
    text.chars().filter(|letter| !letter.is_control()).collect::<String>().replace('\'', "''")
}

/// Returns whether an option may have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter)
    };
    name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.len() <= 64
        && name.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<PackOption> {
        let option = |name: &str, default| PackOption {
            name: name.to_owned(),
            about: String::new(),
            default,
        };
        vec![
            option("paths", OptionValue::List(vec![".env".to_owned()])),
            option("limit", OptionValue::Integer(3)),
            option("share", OptionValue::Number(0.5)),
            option("strict", OptionValue::Bool(true)),
            option("word", OptionValue::Text("x".to_owned())),
        ]
    }

    fn set(settings: &[&str]) -> Result<OptionValues, String> {
        let settings: Vec<String> = settings.iter().map(|text| (*text).to_owned()).collect();
        read_settings("guards", &options(), &settings).map_err(|error| error.to_string())
    }

    #[test]
    fn values_have_the_type_of_the_default() {
        let values =
            set(&["paths=[\".env\", \"*.pem\"]", "limit=7", "share=1", "strict=false", "word=a=b"]);
        let values = values.unwrap();
        let list = |items: &[&str]| {
            OptionValue::List(items.iter().map(|item| (*item).to_owned()).collect())
        };
        assert_eq!(values["paths"], list(&[".env", "*.pem"]));
        assert_eq!(values["limit"], OptionValue::Integer(7));
        assert_eq!(values["share"], OptionValue::Number(1.0));
        assert_eq!(values["strict"], OptionValue::Bool(false));
        assert_eq!(values["word"], OptionValue::Text("a=b".to_owned()));
        assert_eq!(
            set(&["paths=main", "paths=release"]).unwrap()["paths"],
            list(&["main", "release"])
        );
        assert_eq!(set(&["paths=[]"]).unwrap()["paths"], list(&[]));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (settings, said) in [
            (&["nope=1"][..], "`guards` has no option `nope`"),
            (&["limit=x"], "`x` is not a whole number, which the option `limit` is"),
            (&["strict=yes"], "`yes` is not true or false, which the option `strict` is"),
            (&["share=nan"], "`nan` is not a number, which the option `share` is"),
            (&["paths=[1]"], "`[1]` is not a list of texts, which the option `paths` is"),
            (&["word=a\nb"], "`a\\u{a}b` is not a text, which the option `word` is"),
            (&["limit=1", "limit=2"], "the option `limit` has one value and was set twice"),
            (&["limit"], "`limit` is not NAME=VALUE"),
        ] {
            assert_eq!(set(settings).unwrap_err(), said);
        }
    }

    #[test]
    fn placeholders_are_replaced_and_nothing_else() {
        let values = set(&["paths=it's", "limit=4"]).unwrap();
        let locked = locked(&options(), &values);
        let of = |text: &str| {
            render(text.as_bytes(), &locked).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let text = "a: %{paths}\nb: %{limit}\nc: %{ x } %{} %{X} 100% %{\nd: %{strict}%{word}";
        let rendered = "a: ['it''s']\nb: 4\nc: %{ x } %{} %{X} 100% %{\nd: true'x'";
        assert_eq!(of(text).unwrap(), rendered);
        let quoted = "a: 'x|%{word}$' # '%{paths}'\nb: ['%{limit}', %{limit}]";
        assert_eq!(of(quoted).unwrap(), "a: 'x|x$' # 'it''s'\nb: ['4', 4]");
        assert_eq!(of("%{nope}"), Err("nope".to_owned()));
        assert_eq!(set_values(&locked), values);
    }
}
