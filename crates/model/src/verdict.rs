//! The combined verdict of all hooks of an event.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::Effect;
use crate::id::RecordId;
use crate::json::Object;

/// The combined verdict of all hooks, with the deciding hook and the failed ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The journal record that explains this verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The decision; absent if no hook has an opinion, which is not the same as `allow`.
    #[serde(rename = "decision", default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The hook that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The tool's whole input after all changes, if there were any.
    #[serde(rename = "modified_input", default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Object>,
    /// The same with the host's own field names, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_input: Option<Value>,
    /// Text for the model, from all hooks, in order.
    #[serde(rename = "additional_context", default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Hooks that failed, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failure>,
    /// Whether a stop gate blocked so often in this turn that the stop is allowed anyway.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub capped: bool,
    /// Warnings for the user that do not affect the decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A hook that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The hook's name.
    pub hook: String,
    /// What went wrong.
    pub why: String,
    /// Whether the failure blocked (`on_failure: block`).
    #[serde(default)]
    pub blocked: bool,
}

impl Verdict {
    /// Returns whether the operation must not continue.
    pub fn is_block(&self) -> bool {
        self.effect == Some(Effect::Deny)
    }

    /// Returns whether there is nothing for the host to do or show.
    pub fn is_silent(&self) -> bool {
        self.effect.is_none() && self.input.is_none() && self.context.is_none()
    }

    /// Returns the word for the verdict: `deny`, `ask`, `allow`, `capped` or `none`.
    pub fn word(&self) -> &'static str {
        match self.effect {
            Some(effect) => effect.word(),
            None if self.capped => "capped",
            None => "none",
        }
    }

    /// Merges the verdict on a later event of the same payload. A deny wins, then an ask.
    pub fn join(&mut self, later: Self) {
        if later.effect > self.effect {
            self.id = later.id.or(self.id.take());
            self.effect = later.effect;
            self.reason = later.reason;
            self.by = later.by;
        }
        if later.input.is_some() {
            self.input = later.input;
            self.native_input = later.native_input;
        }
        self.add_context(later.context);
        self.failed.extend(later.failed);
        self.capped |= later.capped;
        self.warnings.extend(later.warnings);
    }

    /// Appends a text to the context, separated by a blank line.
    pub fn add_context(&mut self, more: Option<String>) {
        let Some(more) = more.filter(|text| !text.trim().is_empty()) else { return };
        match &mut self.context {
            Some(context) => {
                context.push_str("\n\n");
                context.push_str(&more);
            }
            None => self.context = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stronger_of_two_verdicts_stays() {
        let ask =
            Verdict { effect: Some(Effect::Ask), by: Some("a".to_owned()), ..Verdict::default() };
        let deny =
            Verdict { effect: Some(Effect::Deny), by: Some("b".to_owned()), ..Verdict::default() };
        let mut one = ask.clone();
        one.join(deny.clone());
        let mut other = deny;
        other.join(ask);
        assert_eq!((one.effect, one.by.as_deref()), (Some(Effect::Deny), Some("b")));
        assert_eq!((other.effect, other.by.as_deref()), (Some(Effect::Deny), Some("b")));
    }

    #[test]
    fn contexts_are_joined_with_a_blank_line() {
        let mut verdict = Verdict::default();
        verdict.add_context(Some("one".to_owned()));
        verdict.add_context(Some("  ".to_owned()));
        verdict.add_context(Some("two".to_owned()));
        assert_eq!(verdict.context.as_deref(), Some("one\n\ntwo"));
    }
}
