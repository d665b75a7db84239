//! The keys of a HOOK.md's front matter, shared by the parser and the schema.

use super::limits;

/// A key of the front matter, or of an object in it.
#[derive(Clone, Copy, Debug)]
pub struct HookKey {
    /// The key as it is written.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// Whether a hook must have it.
    pub is_required: bool,
    /// The values it accepts.
    pub value: KeyValue,
}

/// The values that a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum KeyValue {
    /// A text, with its maximum length in characters, if limited.
    Text(Option<usize>),
    /// The name of an event, or a list of them.
    Events,
    /// A whole number.
    Number(NumberRange),
    /// One of these words.
    Words(&'static [KeyWord]),
    /// `true` or `false`; `false` if absent.
    Flag,
    /// A text, or a list of texts, each matching this pattern if one is given.
    Texts(Option<&'static str>),
    /// An object with these keys.
    Object(&'static [HookKey]),
    /// An object with keys of the author's choice.
    OwnObject,
    /// Anything.
    Any,
}

/// The numbers that a key accepts.
#[derive(Clone, Copy, Debug)]
pub struct NumberRange {
    /// The lowest.
    pub least: u64,
    /// The highest.
    pub most: u64,
    /// The number that applies if none is given.
    pub default: u64,
}

/// A word that a key accepts.
#[derive(Clone, Copy, Debug)]
pub struct KeyWord {
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub about: &'static str,
}

const fn key(name: &'static str, value: KeyValue, about: &'static str) -> HookKey {
    HookKey { name, about, is_required: false, value }
}

const fn required(name: &'static str, value: KeyValue, about: &'static str) -> HookKey {
    HookKey { name, about, is_required: true, value }
}

/// How long a hook may take, in milliseconds.
pub const TIMEOUT: NumberRange = NumberRange {
    least: limits::TIMEOUT_MIN,
    most: limits::TIMEOUT_MAX,
    default: limits::TIMEOUT_DEFAULT,
};

/// A hook's priority.
pub const PRIORITY: NumberRange = NumberRange {
    least: 0,
    most: limits::PRIORITY_MAX as u64,
    default: limits::PRIORITY_DEFAULT as u64,
};

/// The effect of a hook's failure; the first is the default.
pub const ON_FAILURE: &[KeyWord; 2] = &[
    KeyWord { word: "allow", about: "The operation continues, with a warning in the journal." },
    KeyWord { word: "block", about: "The operation is blocked." },
];

/// Whether a hook's decision is enforced; the first is the default.
pub const MODE: &[KeyWord; 2] = &[
    KeyWord { word: "enforce", about: "The decision is enforced." },
    KeyWord {
        word: "shadow",
        about: "The hook runs and is journaled, but its decision is ignored.",
    },
];

/// How plain text on a hook's standard output is used; the first is the default.
pub const STDOUT: &[KeyWord; 2] = &[
    KeyWord { word: "log", about: "A note for the journal." },
    KeyWord { word: "context", about: "Context for the model." },
];

/// The keys of `matcher`.
pub const MATCHER: &[HookKey] = &[
    key("tool", KeyValue::Text(None), "A regular expression that must match the whole tool name."),
    key(
        "pattern",
        KeyValue::Text(None),
        "A regular expression searched for in each value of the input.",
    ),
];

/// The keys of a front matter.
pub const KEYS: &[HookKey] = &[
    required(
        "name",
        KeyValue::Text(Some(limits::NAME)),
        "The hook's identifier, the same as its folder name: lowercase or caseless letters, digits, and single hyphens in between.",
    ),
    required("description", KeyValue::Text(Some(limits::DESCRIPTION)), "What the hook does."),
    required("trigger", KeyValue::Events, "The event, or a list of events, in either spelling."),
    key("matcher", KeyValue::Object(MATCHER), "For tool events: which calls trigger the hook."),
    key("timeout", KeyValue::Number(TIMEOUT), "In milliseconds."),
    key("async", KeyValue::Flag, "Run in the background; such a hook cannot block."),
    key("priority", KeyValue::Number(PRIORITY), "Hooks with a higher priority run first."),
    key(
        "metadata",
        KeyValue::OwnObject,
        "For the author's own use. `locked: true` keeps a project from overriding a user's hook; a hook with `on_failure: block` is locked unless it sets `locked: false`.",
    ),
    key("on_failure", KeyValue::Words(ON_FAILURE), "What happens when the hook fails."),
    key("mode", KeyValue::Words(MODE), "Whether the hook's decision is enforced."),
    key("hosts", KeyValue::Texts(None), "The hosts it runs in; all if absent."),
    key("stdout", KeyValue::Words(STDOUT), "How plain text on the hook's stdout is used."),
    key(
        "env",
        KeyValue::Texts(Some("^[A-Za-z_][A-Za-z0-9_]*$")),
        "With `on_failure: block`: the agent's environment variables passed to the hook, or `inherit` for all except those that could replace its code.",
    ),
    key("permissions", KeyValue::Any, "Reserved: not enforced by this version."),
];

/// Returns the names of the keys of a front matter.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    KEYS.iter().map(|key| key.name)
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::hook::{FailMode, Mode, StdoutUse};

    /// Checks that the words of a key are those that the type knows, and that the first is its
    /// default.
    fn are_of<Type: DeserializeOwned + Default + PartialEq + std::fmt::Debug>(words: &[KeyWord]) {
        for (index, KeyWord { word, .. }) in words.iter().enumerate() {
            let read: Type = serde_json::from_value((*word).into()).unwrap();
            assert_eq!(read == Type::default(), index == 0, "{word}");
        }
    }

    #[test]
    fn words_are_those_of_the_types() {
        are_of::<FailMode>(ON_FAILURE);
        are_of::<Mode>(MODE);
        are_of::<StdoutUse>(STDOUT);
    }
}
