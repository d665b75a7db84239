//! Addresses among a command's arguments.

use crate::command::{Role, ShellCommand};
use crate::programs::contains;
use crate::word::Word;

/// Programs whose operands are addresses without a scheme, too.
const FETCHING: &str = "curl wget http https httpie xh aria2c lynx w3m links";

/// Returns the known addresses of a command.
pub(crate) fn of(command: &ShellCommand) -> Vec<&str> {
    let fetches = command.program().is_some_and(|name| contains(FETCHING, name));
    let mut urls = Vec::new();
    for (word, role) in command.roles() {
        let text = address(word);
        let bare = fetches && role == Role::Operand && looks_like_host(text);
        if has_scheme(text) || bare {
            urls.push(text);
        } else if let Some((_, value)) = text.split_once('=').filter(|(_, value)| has_scheme(value))
        {
            urls.push(value);
        }
    }
    urls
}

/// Returns the part of a word in which an address can stand: all that is known, or the beginning.
fn address(word: &Word) -> &str {
    word.known().unwrap_or(word.prefix())
}

fn has_scheme(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty()
            && !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

fn looks_like_host(text: &str) -> bool {
    let host = text.split(['/', ':', '?']).next().unwrap_or("");
    !text.starts_with(['/', '.', '-', '~']) && (host.contains('.') || host == "localhost")
}
