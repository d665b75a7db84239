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
    /// One of these words; nothing if absent.
    Choice(&'static [KeyWord]),
    /// `true` or `false`; `false` if absent.
    Flag,
    /// `true` or `false`; nothing if absent.
    Boolean,
    /// A text, or a list of texts, each matching this pattern if one is given.
    Texts(Option<&'static str>),
    /// A regular expression.
    Pattern,
    /// An object of conditions, in one of the forms it may be written in.
    Condition(ConditionKeys, ConditionForm),
    /// An object with keys of the author's choice.
    OwnObject,
    /// Anything.
    Any,
}

/// The keys of an object of conditions. Such an object may contain others of its kind, so its keys
/// are behind a function.
#[derive(Clone, Copy, Debug)]
pub struct ConditionKeys {
    /// Its name in the schema.
    pub name: &'static str,
    /// Its keys.
    pub keys: fn() -> &'static [HookKey],
}

/// How conditions may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionForm {
    /// One object.
    One,
    /// One object, or a list of them.
    Many,
    /// One object, or a text, or a list of texts.
    Texts,
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

/// What a hook reads on standard input; the first is the default.
pub const STDIN: &[KeyWord; 2] = &[
    KeyWord { word: "event", about: "The event of the open format." },
    KeyWord { word: "native", about: "The agent's own payload." },
];

/// What a declarative hook decides.
pub const DECISION: &[KeyWord; 3] = &[
    KeyWord { word: "deny", about: "The call is denied." },
    KeyWord { word: "ask", about: "The person is asked." },
    KeyWord { word: "allow", about: "The call is allowed without asking." },
];

/// `matcher`, and the objects in its `any`, `all` and `not`.
pub const MATCHER: ConditionKeys = ConditionKeys { name: "Matcher", keys: || MATCHER_KEYS };
/// `matcher.shell`, and the objects in its `any`, `all` and `not`.
pub const SHELL: ConditionKeys = ConditionKeys { name: "ShellCondition", keys: || SHELL_KEYS };
/// `matcher.files`.
pub const FILES: ConditionKeys = ConditionKeys { name: "FileCondition", keys: || FILES_KEYS };
/// `matcher.mcp`.
pub const MCP: ConditionKeys = ConditionKeys { name: "McpCondition", keys: || MCP_KEYS };

const TEXTS: KeyValue = KeyValue::Texts(None);
const ONE: ConditionForm = ConditionForm::One;
const MANY: ConditionForm = ConditionForm::Many;

const MATCHER_KEYS: &[HookKey] = &[
    key("tool", KeyValue::Pattern, "A regular expression that must match the whole tool name."),
    key(
        "pattern",
        KeyValue::Pattern,
        "A regular expression searched for in each value of the input.",
    ),
    key(
        "shell",
        KeyValue::Condition(SHELL, MANY),
        "Conditions on one simple command of a command line; in a list, one object must match.",
    ),
    key(
        "files",
        KeyValue::Condition(FILES, ConditionForm::Texts),
        "Patterns for files that a tool or a command touches, or such patterns by what it does to them.",
    ),
    key("url", TEXTS, "Hosts or URLs, one of which a tool or a command fetches."),
    key("mcp", KeyValue::Condition(MCP, ONE), "The tool of an MCP server."),
    key("any", KeyValue::Condition(MATCHER, MANY), "Matchers, at least one of which must match."),
    key("all", KeyValue::Condition(MATCHER, MANY), "Matchers that must all match."),
    key("not", KeyValue::Condition(MATCHER, ONE), "A matcher that must not match."),
];

const SHELL_KEYS: &[HookKey] = &[
    key("program", TEXTS, "Programs, one of which it runs; `*` stands for any letters."),
    key("subcommand", TEXTS, "Subcommands, one of which it gives: `push`, `remote remove`."),
    key("flags", TEXTS, "Flags, at least one of which it gives: `-f`, `--force`."),
    key("all_flags", TEXTS, "Flags that it all gives; `-r|--recursive` is either."),
    key("arguments", TEXTS, "Patterns, one of which an argument matches."),
    key(
        "pattern",
        KeyValue::Pattern,
        "A regular expression searched for in each argument and in the command as a whole.",
    ),
    key(
        "targets",
        TEXTS,
        "What it works on: `root`, `home`, `project`, `inside`, `outside`, `temp`, `repository`, `device`, `unknown`, or patterns for files.",
    ),
    key("reads", TEXTS, "The same for what it reads."),
    key("writes", TEXTS, "The same for what it writes."),
    key("deletes", TEXTS, "The same for what it deletes."),
    key("moves", TEXTS, "The same for what it moves from its place."),
    key("except", TEXTS, "Targets that do not count for any of these keys."),
    key("redirects", TEXTS, "The same for the files that its output is redirected to."),
    key("via", TEXTS, "Programs through one of which it runs: `sudo`, `xargs`, `ssh`."),
    key("piped_to", TEXTS, "Programs, one of which reads its output."),
    key("piped_from", TEXTS, "Programs, one of which gives it its input."),
    key("assigns", TEXTS, "Variables, one of which is set for it."),
    key("branch", TEXTS, "Branches, one of which is checked out where it runs."),
    key("remote", KeyValue::Boolean, "Whether it runs on another machine or in a container."),
    key("unknown", KeyValue::Boolean, "Whether what it runs cannot be told."),
    key("any", KeyValue::Condition(SHELL, MANY), "Conditions, at least one of which must hold."),
    key("all", KeyValue::Condition(SHELL, MANY), "Conditions that must all hold."),
    key("not", KeyValue::Condition(SHELL, ONE), "A condition that must not hold."),
];

const FILES_KEYS: &[HookKey] = &[
    key("read", TEXTS, "Files that it reads."),
    key("write", TEXTS, "Files that it writes."),
    key("delete", TEXTS, "Files that it deletes."),
    key("move", TEXTS, "Files that it moves, from or to."),
    key("any", TEXTS, "Files, whatever it does to them."),
    key("except", TEXTS, "Files that do not count."),
    key("exists", KeyValue::Boolean, "Whether the file must exist, or must not."),
];

const MCP_KEYS: &[HookKey] = &[
    key("server", TEXTS, "Servers, one of which it belongs to; `*` stands for any letters."),
    key("tool", TEXTS, "Tools, one of which it is; `*` stands for any letters."),
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
    key(
        "matcher",
        KeyValue::Condition(MATCHER, ONE),
        "For tool events: which calls trigger the hook.",
    ),
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
    key("stdin", KeyValue::Words(STDIN), "What the hook reads on standard input."),
    key("stdout", KeyValue::Words(STDOUT), "How plain text on the hook's stdout is used."),
    key(
        "env",
        KeyValue::Texts(Some("^[A-Za-z_][A-Za-z0-9_]*$")),
        "With `on_failure: block`: the agent's environment variables passed to the hook, or `inherit` for all except those that could replace its code.",
    ),
    key(
        "decision",
        KeyValue::Choice(DECISION),
        "What the hook decides whenever it matches, without a script.",
    ),
    key("reason", KeyValue::Text(None), "Why it decides so; `{path}` and others are replaced."),
    key(
        "modified_input",
        KeyValue::OwnObject,
        "Fields to set in the tool's input, without a script; placeholders in texts are replaced.",
    ),
    key(
        "additional_context",
        KeyValue::Text(None),
        "Text for the model, without a script; placeholders are replaced.",
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
    use crate::hook::{FailMode, Mode, StdinForm, StdoutUse};

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
        are_of::<StdinForm>(STDIN);
        are_of::<StdoutUse>(STDOUT);
    }
}
