//! Matches a hook's matcher against a tool call, doing as little work as the call needs.
//!
//! Compiling a regular expression takes about 100 µs, the first of a process ten times as much;
//! a thousand hooks would take longer than the tool they guard. So:
//!
//! - what is read from a HOOK.md is only parsed, which finds every mistake ([`Expression::whole`],
//!   [`Expression::anywhere`]);
//! - the parsed expression determines which literals a text must contain to match
//!   ([`RequiredLiterals`]). A tool's name and most guards' words are nothing but literals, and
//!   need no expression at all;
//! - a short text that contains what is needed is walked through with the parsed expression;
//! - the expression is compiled for a long one, once.
//!
//! Reading 1,000 matchers, each of a tool and a pattern, takes 14 ms instead of 318 (measured on a
//! busy machine, in one run); asking them all about an event of 1 KB, 27 µs.
//!
//! A required literal that a match can do without would silently switch off a guard. The invariant
//! is in the tests: whatever the expression and the text, the answer is that of the plain
//! expression.

mod call_texts;
mod compiled;
pub(crate) mod conditions;
mod expression;
mod literals;
mod size;
#[cfg(test)]
mod tests;
mod walk;
mod wildcard;

use anyhook_model::json::any_leaf;
use anyhook_model::{Event, MatcherDefinition, SkipReason, ToolCall, tools};

pub use call_texts::CallTexts;
use conditions::Conditions;
pub use conditions::{MatchEvidence, Prefilter, reading};
pub(crate) use expression::holds_in_any_case;
pub use expression::{Expression, MatchExtent};
pub use literals::RequiredLiterals;

use crate::path_forms;

/// The expressions of a hook's matcher. The default matches every call.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    tool: Option<Expression>,
    pattern: Option<Expression>,
    conditions: Option<Box<Conditions>>,
}

impl Matcher {
    /// Makes a matcher from expressions that are known to be valid.
    pub fn from_parts(tool: Option<Expression>, pattern: Option<Expression>) -> Self {
        Self { tool, pattern, conditions: None }
    }

    /// Makes a matcher as it is defined. The error says what is wrong with an expression.
    pub fn new(definition: &MatcherDefinition) -> Result<Self, String> {
        let mut matcher = Self::default();
        if let Some(tool) = &definition.tool {
            matcher.set_tool(tool)?;
        }
        if let Some(pattern) = &definition.pattern {
            matcher.set_pattern(pattern)?;
        }
        matcher.set_conditions(definition)?;
        Ok(matcher)
    }

    /// Sets the conditions. The error says what is wrong with an expression in them.
    pub fn set_conditions(&mut self, definition: &MatcherDefinition) -> Result<(), String> {
        self.conditions = Conditions::new(definition)?.map(Box::new);
        Ok(())
    }

    /// Sets the expression for the whole tool name, case-insensitively. The error says what is
    /// wrong with it.
    ///
    /// A name that an agent has for a canonical tool means that tool, whichever agent calls it.
    pub fn set_tool(&mut self, expression: &str) -> Result<(), String> {
        let mut tool = Expression::whole(expression)?;
        let meant: Vec<&str> = tools::TOOLS
            .iter()
            .filter(|known| known.names.iter().any(|(name, _)| tool.is_match(name)))
            .map(|known| known.name)
            .filter(|name| !tool.is_match(name))
            .collect();
        tool.widen(&meant);
        self.tool = Some(tool);
        Ok(())
    }

    /// Sets the expression searched for in the input's values. The error says what is wrong with
    /// it.
    pub fn set_pattern(&mut self, expression: &str) -> Result<(), String> {
        self.pattern = Some(Expression::anywhere(expression)?);
        Ok(())
    }

    /// Returns the expression for the whole tool name.
    pub fn tool(&self) -> Option<&Expression> {
        self.tool.as_ref()
    }

    /// Returns the expression searched for in the input's values.
    pub fn pattern(&self) -> Option<&Expression> {
        self.pattern.as_ref()
    }

    /// Returns what of an event's call matched, or why it does not match.
    pub fn matches(&self, event: &Event) -> Result<MatchEvidence, SkipReason> {
        let Some(call) = &event.tool else { return Ok(MatchEvidence::default()) };
        if self.pattern.is_some() && self.tool_matches(call) {
            path_forms::resolve(event);
        }
        match (self.mismatch(call), &self.conditions) {
            (Some(why), _) => Err(why),
            (None, Some(conditions)) => {
                conditions.matches(event).map_err(|_| SkipReason::Conditions)
            }
            (None, None) => Ok(MatchEvidence::default()),
        }
    }

    /// Returns the key of the first condition that does not hold, for people.
    pub fn unmet_condition(&self, event: &Event) -> Option<&'static str> {
        self.conditions.as_ref()?.matches(event).err()
    }

    /// Returns what a call must contain so that its conditions may hold.
    pub fn prefilter(&self) -> Prefilter {
        let open = || Prefilter { is_open: true, ..Prefilter::default() };
        self.conditions.as_ref().map_or_else(open, |conditions| conditions.prefilter())
    }

    /// Returns why the call does not match its expressions, or `None` if it does.
    pub fn mismatch(&self, call: &ToolCall) -> Option<SkipReason> {
        if !self.tool_matches(call) {
            return Some(SkipReason::Tool);
        }
        let Some(pattern) = &self.pattern else { return None };
        let mut found = |leaf: &str| pattern.is_match(leaf);
        let forms = call.forms.get();
        let matches = any_leaf(&call.input, &mut found)
            || forms.is_some_and(|forms| forms.is_cut || forms.texts().any(&mut found))
            || call.native.as_ref().is_some_and(|native| any_leaf(&native.tool_input, &mut found));
        (!matches).then_some(SkipReason::Pattern)
    }

    /// Returns whether the call may match; only then is [`Matcher::mismatch`] worth asking.
    ///
    /// The tool is matched exactly. The pattern is not compiled: its literals decide.
    pub fn may_match(&self, call: &ToolCall, leaves: &CallTexts) -> bool {
        self.tool_matches(call)
            && self.pattern.as_ref().is_none_or(|pattern| match pattern.needs() {
                RequiredLiterals::Nothing => true,
                RequiredLiterals::Exactly(literals) | RequiredLiterals::AnyOf(literals) => {
                    leaves.contains_any(literals)
                }
            })
    }

    /// Returns whether the call's tool matches, by any of its names.
    pub fn tool_matches(&self, call: &ToolCall) -> bool {
        self.tool.as_ref().is_none_or(|tool| call.names().any(|name| tool.is_match(name)))
    }
}
