//! Expands `${NAME}` and `${NAME:-default}` in values.

/// Why a value cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// A variable is not set, and has no default.
    #[error("the variable `{0}` is not set")]
    NotSet(String),
    /// The text between the braces is not a name.
    #[error("`${{{0}}}` is not a valid variable")]
    NoName(String),
    /// A brace is missing.
    #[error("a `${{` is not closed")]
    NotClosed,
}

impl ExpandError {
    /// Returns the next step.
    pub fn hint(&self) -> String {
        match self {
            Self::NotSet(name) => format!("set it, or write `${{{name}:-DEFAULT}}`"),
            Self::NoName(_) | Self::NotClosed => {
                "write `${NAME}` or `${NAME:-DEFAULT}`; `$${` stands for `${` itself".to_owned()
            }
        }
    }
}

/// Expands the variables of a value. As in a shell, an empty variable also takes the default; the
/// result is not expanded again.
pub fn expand(raw: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, ExpandError> {
    let mut filled = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            filled.push_str(before);
            filled.push_str("${");
            rest = &from[2..];
            continue;
        }
        filled.push_str(before);
        let Some((inner, after)) = from[2..].split_once('}') else {
            return Err(ExpandError::NotClosed);
        };
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if !is_name(name) {
            return Err(ExpandError::NoName(inner.to_owned()));
        }
        match (variable(name), default) {
            (Some(value), None) => filled.push_str(&value),
            (Some(value), Some(_)) if !value.is_empty() => filled.push_str(&value),
            (_, Some(default)) => filled.push_str(default),
            (None, None) => return Err(ExpandError::NotSet(name.to_owned())),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter == '_' || letter.is_ascii_alphabetic())
        && name.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}
