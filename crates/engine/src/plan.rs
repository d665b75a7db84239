//! Plans which hooks are due at an event, in what order, and which are not and why.
//!
//! A pure function of the installed hooks and the event. Matchers are not asked here: an earlier
//! hook may change the input, so each is asked when its turn comes (see [`crate::dispatch`]).

use anyhook_model::{Event, EventKind, SkipReason, Skipped, Spelling};

use crate::discover::{HookStatus, InstalledHooks, OmittedHooks};
use crate::hook::{Hook, Trust};
use crate::matcher::MatchEvidence;

/// The hooks due at one event, in order, and all others.
#[derive(Clone, Debug)]
pub struct DispatchPlan<'hooks> {
    /// Hooks to run, in order.
    pub steps: Vec<PlannedStep<'hooks>>,
    /// Hooks left out, and why.
    pub skipped: Vec<(&'hooks Hook, SkipReason)>,
    /// Hooks that were left out before planning.
    pub passed: &'hooks OmittedHooks,
}

/// A hook whose turn will come.
#[derive(Clone, Debug)]
pub struct PlannedStep<'hooks> {
    /// The hook.
    pub hook: &'hooks Hook,
    /// How its author spells the event.
    pub spelling: Spelling,
    /// Why it fails without being run, if it does.
    pub broken: Option<NotRunnable>,
}

/// Why a hook fails without being run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRunnable {
    /// It cannot run at all, so its matcher cannot be asked either.
    Unusable(String),
    /// A project's hook that is no longer what was trusted.
    Changed(String),
}

/// What decides whether a hook is due, wherever it was read from.
pub(crate) trait DueCheck {
    /// Returns why it is left out at every event, if it is.
    fn out(&self) -> Option<SkipReason>;
    /// Returns whether it runs at an event.
    fn waits_for(&self, kind: &EventKind) -> bool;
    /// Returns whether it runs at no event at all.
    fn waits_for_nothing(&self) -> bool;
    /// Returns whether it runs in a host.
    fn is_for(&self, host: &str) -> bool;
    /// Returns what keeps it from running.
    fn fault(&self) -> Option<String>;
    /// Returns whether its failure blocks.
    fn blocks_on_failure(&self) -> bool;
    /// Returns how it differs from what was trusted.
    fn change(&self) -> Option<String>;
}

/// Decides whether a hook is due, and whether it fails without being run. The reasons come in the
/// order a person would ask.
pub(crate) fn due(hook: &impl DueCheck, event: &Event) -> Result<Option<NotRunnable>, SkipReason> {
    if let Some(out) = hook.out() {
        return Err(out);
    }
    if !hook.waits_for(&event.kind) {
        return Err(match hook.fault() {
            Some(fault) if hook.waits_for_nothing() => SkipReason::Unusable(fault),
            _ => SkipReason::OtherEvent,
        });
    }
    if !hook.is_for(&event.host) {
        return Err(SkipReason::Host);
    }
    match (hook.fault(), hook.change()) {
        (_, Some(why)) => Ok(Some(NotRunnable::Changed(why))),
        (Some(fault), None) if hook.blocks_on_failure() => Ok(Some(NotRunnable::Unusable(fault))),
        (Some(fault), None) => Err(SkipReason::Unusable(fault)),
        (None, None) => Ok(None),
    }
}

impl DueCheck for HookStatus {
    fn out(&self) -> Option<SkipReason> {
        self.out.clone()
    }

    fn waits_for(&self, kind: &EventKind) -> bool {
        self.hook.definition.spelling_of(kind).is_some()
    }

    fn waits_for_nothing(&self) -> bool {
        self.hook.definition.triggers.is_empty()
    }

    fn is_for(&self, host: &str) -> bool {
        let hosts = &self.hook.definition.hosts;
        hosts.is_empty() || hosts.iter().any(|named| named == host)
    }

    fn fault(&self) -> Option<String> {
        self.hook.fault_words()
    }

    fn blocks_on_failure(&self) -> bool {
        self.hook.blocks_on_failure()
    }

    fn change(&self) -> Option<String> {
        match &self.hook.trust {
            Trust::Changed(why) => Some(why.clone()),
            Trust::NotNeeded | Trust::Trusted | Trust::Never => None,
        }
    }
}

impl<'hooks> DispatchPlan<'hooks> {
    /// Plans one event.
    pub fn new(installed: &'hooks InstalledHooks, event: &Event) -> Self {
        let mut plan = Self { steps: Vec::new(), skipped: Vec::new(), passed: &installed.passed };
        for standing in &installed.hooks {
            let hook = &standing.hook;
            match due(standing, event) {
                Ok(broken) => {
                    let spelling = hook.definition.spelling_of(&event.kind).unwrap_or_default();
                    plan.steps.push(PlannedStep { hook, spelling, broken });
                }
                Err(why) => plan.skipped.push((hook, why)),
            }
        }
        plan
    }
}

impl PlannedStep<'_> {
    /// Returns why the hook's matcher excludes it, given the event as it is now.
    pub fn mismatch(&self, event: &Event) -> Option<SkipReason> {
        self.matches(event).err()
    }

    /// Returns what of the event the hook's matcher matched, or why it excludes it.
    pub fn matches(&self, event: &Event) -> Result<MatchEvidence, SkipReason> {
        let is_asked =
            event.kind.has_matcher() && !matches!(self.broken, Some(NotRunnable::Unusable(_)));
        if is_asked { self.hook.matcher.matches(event) } else { Ok(MatchEvidence::default()) }
    }
}

/// Describes a skipped hook for the journal and for people.
pub fn skipped(hook: &Hook, why: SkipReason) -> Skipped {
    Skipped::new(hook.name(), || hook.folder_text(), why)
}
