//! Detects secrets and personal data, and masks or refuses them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhook_engine::redact::redact;
use serde_json::{Map, Value};

use super::personal;
use crate::agent::hook::{PostHook, PreHook};
use crate::function::HookError;

/// A text contained secrets or personal data and was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text contains data that must not be passed on: {}", kinds.join(", "))]
#[non_exhaustive]
pub struct SecretsFound {
    /// The kinds, such as `github-token` or `email`; never the secrets themselves.
    pub kinds: Vec<String>,
}

/// What is searched for.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    secrets: bool,
    ignored: BTreeSet<String>,
}

impl Default for Detector {
    fn default() -> Self {
        Self { secrets: true, ignored: BTreeSet::new() }
    }
}

impl Detector {
    /// Returns the text with `[redacted KIND]` in place of everything that was found, and the kinds
    /// without duplicates; `None` if nothing was found.
    pub(crate) fn mask(&self, text: &str) -> Option<(String, Vec<&'static str>)> {
        let redacted = self.secrets.then(|| redact(text)).flatten();
        let (text, mut kinds) = match &redacted {
            Some(redacted) => (redacted.text.as_str(), redacted.kinds.clone()),
            None => (text, Vec::new()),
        };
        let mut masked = String::new();
        let mut done = 0;
        for (range, kind) in personal::find(text) {
            if self.ignored.contains(kind) {
                continue;
            }
            masked.push_str(&text[done..range.start]);
            let _ = write!(masked, "[redacted {kind}]");
            done = range.end;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        masked.push_str(&text[done..]);
        (!kinds.is_empty()).then_some((masked, kinds))
    }

    /// Returns the masked text, whether something was found or not.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.mask(text).map_or_else(|| text.to_owned(), |(masked, _)| masked)
    }
}

/// Replaces secrets and personal data by `[redacted KIND]`; made by [`mask_secrets`] and
/// [`refuse_secrets`].
#[derive(Clone, Debug)]
#[must_use]
pub struct MaskSecrets {
    name: String,
    detector: Detector,
    refuses: bool,
}

/// Masks secrets and personal data: in the user's message, and in the agent's answer.
///
/// It finds secrets as in the journal (keys, tokens, passwords), and of personal data `email`,
/// `card`, `iban`, `us-ssn` and `phone` (in international form). The kinds that were found are in
/// `metadata["masked"]` of the context or the run.
///
/// ```
/// use anyhook_sdk::agent::builtin::mask_secrets;
///
/// let masking = mask_secrets("mask").without("email");
/// assert_eq!(masking.mask("a@b.org, +49 30 901820"), "a@b.org, [redacted phone]");
/// let (before, after) = (masking.pre_hook(), masking.post_hook());
/// ```
pub fn mask_secrets(name: impl Into<String>) -> MaskSecrets {
    MaskSecrets { name: name.into(), detector: Detector::default(), refuses: false }
}

/// Refuses texts with secrets or personal data, with [`SecretsFound`]; otherwise like
/// [`mask_secrets`].
///
/// ```
/// use anyhook_sdk::agent::builtin::refuse_secrets;
///
/// let before = refuse_secrets("no-secrets").pre_hook();
/// # let _ = before;
/// ```
pub fn refuse_secrets(name: impl Into<String>) -> MaskSecrets {
    MaskSecrets { refuses: true, ..mask_secrets(name) }
}

impl MaskSecrets {
    /// Lets personal data of this kind pass.
    pub fn without(mut self, kind: impl Into<String>) -> Self {
        self.detector.ignored.insert(kind.into());
        self
    }

    /// Searches for secrets only, not for personal data.
    pub fn secrets_only(mut self) -> Self {
        let all = ["email", "card", "iban", "us-ssn", "phone"];
        self.detector.ignored.extend(all.map(str::to_owned));
        self
    }

    /// Searches for personal data only, not for secrets.
    pub fn personal_data_only(mut self) -> Self {
        self.detector.secrets = false;
        self
    }

    /// Returns a text as it would be passed on.
    pub fn mask(&self, text: &str) -> String {
        self.detector.masked(text)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn detector(&self) -> &Detector {
        &self.detector
    }

    /// Makes the guardrail for the user's message.
    pub fn pre_hook(&self) -> PreHook {
        let this = Arc::new(self.clone());
        let hook = PreHook::boxed(&self.name, move |context| {
            let ended = this.apply(&mut context.user_message, &mut context.metadata);
            Box::pin(async move { ended })
        });
        hook.guardrail()
    }

    /// Makes the guardrail for the agent's answer. The output of tools is not changed.
    pub fn post_hook(&self) -> PostHook {
        let this = Arc::new(self.clone());
        let hook = PostHook::boxed(&self.name, move |_, run| {
            let ended = this.apply(&mut run.output, &mut run.metadata);
            Box::pin(async move { ended })
        });
        hook.guardrail()
    }

    fn apply(&self, text: &mut String, metadata: &mut Map<String, Value>) -> Result<(), HookError> {
        let Some((masked, kinds)) = self.detector.mask(text) else { return Ok(()) };
        if self.refuses {
            let kinds = kinds.into_iter().map(str::to_owned).collect();
            return Err(HookError::of(SecretsFound { kinds }));
        }
        *text = masked;
        let noted = metadata.entry("masked").or_insert_with(|| Value::Array(Vec::new()));
        // Another hook may have put something else there; ours is authoritative about masking.
        if !noted.is_array() {
            *noted = Value::Array(Vec::new());
        }
        if let Value::Array(noted) = noted {
            for kind in kinds.into_iter().map(Value::from) {
                if !noted.contains(&kind) {
                    noted.push(kind);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::builtin::tests::{before, context, say};
    use crate::agent::run::Run;

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    #[tokio::test]
    async fn masked_and_noted_before_and_after() {
        let masking = mask_secrets("mask");
        let text = format!("token {TOKEN}, mail a@b.org and again c@d.org");
        let context = say(&masking.pre_hook(), &text).await.unwrap();
        let masked =
            "token [redacted github-token], mail [redacted email] and again [redacted email]";
        assert_eq!(context.user_message, masked);
        assert_eq!(context.metadata["masked"], json!(["github-token", "email"]));

        let mut run = Run { output: text, ..Run::default() };
        run.metadata.insert("masked".into(), json!(["phone"]));
        let hook = masking.post_hook();
        (hook.function)(&context, &mut run).await.unwrap();
        assert_eq!(run.output, masked);
        assert_eq!(run.metadata["masked"], json!(["phone", "github-token", "email"]));
    }

    #[tokio::test]
    async fn refused_without_telling_the_secret() {
        let error = say(&refuse_secrets("no").pre_hook(), TOKEN).await.unwrap_err();
        assert_eq!(error.downcast_ref::<SecretsFound>().unwrap().kinds, ["github-token"]);
        assert!(!error.to_string().contains(TOKEN));
        let context = say(&refuse_secrets("no").pre_hook(), "hello").await.unwrap();
        assert!(context.metadata.is_empty());
    }

    #[tokio::test]
    async fn what_is_looked_for_can_be_chosen() {
        let text = format!("{TOKEN} a@b.org");
        assert_eq!(mask_secrets("m").secrets_only().mask(&text), "[redacted github-token] a@b.org");
        assert_eq!(
            mask_secrets("m").personal_data_only().mask(&text),
            format!("{TOKEN} [redacted email]")
        );
        let mut context = context("x");
        context.metadata.insert("masked".into(), json!("mine"));
        context.user_message = text;
        before(&mask_secrets("m").pre_hook(), &mut context).await.unwrap();
        assert_eq!(context.metadata["masked"], json!(["github-token", "email"]));
    }

    #[test]
    fn masking_twice_changes_nothing_more() {
        let masking = mask_secrets("m");
        let once =
            masking.mask(&format!("{TOKEN} a@b.org 4111 1111 1111 1111 https://u:pw12@h.org/"));
        assert_eq!(masking.mask(&once), once);
    }
}
