//! Who is due at an event, in what order, and who is not and why.
//!
//! A pure function of the installed hooks and the event. Matchers are not asked here: an earlier
//! hook may change the input, so each is asked when its turn comes (see [`crate::dispatch`]).

use anyhook_model::{Event, SkipReason, Skipped, Spelling};

use crate::discover::Installed;
use crate::hook::{Hook, Trust};

/// The hooks due at one event, in order, and all others.
#[derive(Clone, Debug)]
pub struct Plan<'hooks> {
    /// Hooks to run, in order.
    pub steps: Vec<PlannedStep<'hooks>>,
    /// Hooks left out, and why.
    pub skipped: Vec<(&'hooks Hook, SkipReason)>,
}

/// A hook whose turn will come.
#[derive(Clone, Debug)]
pub struct PlannedStep<'hooks> {
    /// The hook.
    pub hook: &'hooks Hook,
    /// How its author spells the event.
    pub spelling: Spelling,
    /// Why it fails without being run, if it does.
    pub broken: Option<Broken>,
}

/// Why a hook fails without being run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It cannot run at all, so its matcher cannot be asked either.
    Unusable(String),
    /// A project's hook that is no longer what was trusted.
    Changed(String),
}

impl<'hooks> Plan<'hooks> {
    /// Plans one event.
    pub fn new(installed: &'hooks Installed, event: &Event) -> Self {
        let mut plan = Self { steps: Vec::new(), skipped: Vec::new() };
        for standing in &installed.hooks {
            let hook = &standing.hook;
            match due(hook, standing.out.as_ref(), event) {
                Ok(step) => plan.steps.push(step),
                Err(why) => plan.skipped.push((hook, why)),
            }
        }
        plan
    }
}

/// Decides whether a hook is due. The reasons come in the order a person would ask.
fn due<'hooks>(
    hook: &'hooks Hook,
    out: Option<&SkipReason>,
    event: &Event,
) -> Result<PlannedStep<'hooks>, SkipReason> {
    let definition = &hook.definition;
    if let Some(out) = out {
        return Err(out.clone());
    }
    let fault = hook.fault().map(|problem| problem.message.clone());
    let Some(spelling) = definition.spelling_of(&event.kind) else {
        return Err(match fault {
            Some(fault) if definition.triggers.is_empty() => SkipReason::Unusable(fault),
            _ => SkipReason::OtherEvent,
        });
    };
    if !definition.hosts.is_empty() && !definition.hosts.contains(&event.host) {
        return Err(SkipReason::Host);
    }
    let broken = match (fault, &hook.trust) {
        (_, Trust::Changed(why)) => Some(Broken::Changed(why.clone())),
        (Some(fault), _) if hook.blocks_on_failure() => Some(Broken::Unusable(fault)),
        (Some(fault), _) => return Err(SkipReason::Unusable(fault)),
        (None, _) => None,
    };
    Ok(PlannedStep { hook, spelling, broken })
}

impl PlannedStep<'_> {
    /// Returns why the hook's matcher keeps it out, given the event as it is now.
    pub fn mismatch(&self, event: &Event) -> Option<SkipReason> {
        if matches!(self.broken, Some(Broken::Unusable(_))) {
            return None;
        }
        event
            .tool
            .as_ref()
            .filter(|_| event.kind.has_matcher())
            .and_then(|tool| self.hook.matcher.mismatch(tool))
    }
}

/// Words a skipped hook for the journal and for people.
pub fn skipped(hook: &Hook, why: SkipReason) -> Skipped {
    Skipped { hook: hook.name().to_owned(), folder: hook.folder_text(), why }
}
