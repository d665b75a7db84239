//! A limit on the length of messages.

use anyhook_model::truncate::first_chars;

use crate::agent::hook::PreHook;
use crate::function::HookError;

/// A message is longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message has {characters} characters, more than {most}")]
#[non_exhaustive]
pub struct TooLong {
    /// How many characters it has.
    pub characters: usize,
    /// How many characters it may have.
    pub most: usize,
}

/// Limits the length of messages; made by [`max_length`].
#[derive(Clone, Debug)]
#[must_use]
pub struct MaxLength {
    name: String,
    most: usize,
    truncates: bool,
}

/// Refuses messages with more characters than this, with [`TooLong`].
///
/// ```
/// use anyhook_sdk::agent::builtin::max_length;
///
/// let refuses = max_length("short", 10_000).pre_hook();
/// let cuts = max_length("short", 10_000).truncate().pre_hook();
/// ```
pub fn max_length(name: impl Into<String>, characters: usize) -> MaxLength {
    MaxLength { name: name.into(), most: characters, truncates: false }
}

impl MaxLength {
    /// Truncates a longer message instead of refusing it.
    pub fn truncate(mut self) -> Self {
        self.truncates = true;
        self
    }

    /// Makes the guardrail.
    pub fn pre_hook(self) -> PreHook {
        let hook = PreHook::boxed(self.name.clone(), move |context| {
            let ended = self.apply(&mut context.user_message);
            Box::pin(async move { ended.map_err(HookError::of) })
        });
        hook.guardrail()
    }

    fn apply(&self, message: &mut String) -> Result<(), TooLong> {
        let end = first_chars(message, self.most).len();
        if end == message.len() {
            return Ok(());
        }
        if !self.truncates {
            return Err(TooLong { characters: message.chars().count(), most: self.most });
        }
        message.truncate(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::builtin::tests::say;

    #[tokio::test]
    async fn refused_or_cut_between_characters() {
        let refuses = max_length("short", 3).pre_hook();
        say(&refuses, "äöü").await.unwrap();
        let error = say(&refuses, "äöüß").await.unwrap_err();
        assert_eq!(*error.downcast_ref::<TooLong>().unwrap(), TooLong { characters: 4, most: 3 });
        let cuts = max_length("short", 3).truncate().pre_hook();
        assert_eq!(say(&cuts, "äö世界").await.unwrap().user_message, "äö世");
        let nothing = max_length("none", 0).truncate().pre_hook();
        assert_eq!(say(&nothing, "a").await.unwrap().user_message, "");
    }
}
