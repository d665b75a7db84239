//! What past calls suggest: proposals for declarative hooks. Pure, apart from resolving paths.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_engine::Hook;
use anyhook_engine::matcher::Matcher;
use anyhook_model::hook::MatcherDefinition;
use anyhook_model::report::learn::{CallCounts, LeftOutGroup};
use anyhook_model::{Effect, EventKind};
use anyhook_shell::ShellCommand;

use super::condition::{self, Example};
use super::history::{CallOutcome, PastCall};
use super::subject::{self, FileAccess, Subject};
use super::{files, risk};

/// A call denied this often is denied by a hook; one denied less often is asked about.
const DENIALS: usize = 2;
/// A call allowed this often, and never denied, is allowed by a hook.
const APPROVALS: usize = 3;
/// In at least this many sessions.
const SESSIONS: usize = 2;
/// A pattern for several files needs this many.
const FILES: usize = 3;
/// A hook that asks is not proposed if it would ask about this many calls that were fine, for each
/// that was denied.
const NOISE: usize = 10;

/// How much is needed for a proposal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProposalLimits {
    /// How many calls must agree, if more than usual.
    pub at_least: Option<usize>,
}

/// A hook that is proposed, without its texts.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What it is about.
    pub subject: Subject,
    /// What it decides.
    pub effect: Effect,
    /// When.
    pub matcher: MatcherDefinition,
    /// The calls it was built from.
    pub examples: Vec<usize>,
    /// Harmless calls that look alike and do not match.
    pub look_alikes: Vec<usize>,
    /// The calls of the same kind, counted.
    pub group: CallCounts,
    /// The projects of the examples.
    pub places: BTreeSet<String>,
}

/// What past calls suggest.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    /// What is proposed, the best founded first.
    pub candidates: Vec<Candidate>,
    /// What is not, and why.
    pub left_out: Vec<LeftOutGroup>,
}

/// Returns what calls suggest, besides what installed hooks decide already.
pub fn propose(calls: &[PastCall], installed: &[Hook], limits: ProposalLimits) -> Suggestions {
    let about = calls.iter().map(|call| subject::of(&call.event).filter(|_| call.is_example));
    let mut proposer = Proposer {
        calls,
        installed,
        limits,
        about: about.collect(),
        suggestions: Suggestions::default(),
    };
    for (subject, indexes) in proposer.groups() {
        match subject {
            Subject::File(access) => proposer.file_group(access, &indexes),
            subject => proposer.group(&subject, &indexes),
        }
    }
    let mut suggestions = proposer.suggestions;
    let strength =
        |one: &Candidate| (std::cmp::Reverse(one.effect), usize::MAX - one.examples.len());
    suggestions.candidates.sort_by_key(strength);
    suggestions
}

struct Proposer<'calls> {
    calls: &'calls [PastCall],
    installed: &'calls [Hook],
    limits: ProposalLimits,
    /// What each call is about, if it can be an example.
    about: Vec<Option<(Subject, Option<ShellCommand>)>>,
    suggestions: Suggestions,
}

impl Proposer<'_> {
    fn groups(&self) -> BTreeMap<Subject, Vec<usize>> {
        let mut groups: BTreeMap<Subject, Vec<usize>> = BTreeMap::new();
        for (index, about) in self.about.iter().enumerate() {
            if let Some((subject, _)) = about {
                groups.entry(subject.clone()).or_default().push(index);
            }
        }
        groups
    }

    fn group(&mut self, subject: &Subject, indexes: &[usize]) {
        let denied = self.with(indexes, CallOutcome::is_denial);
        if denied.is_empty() {
            self.approve(subject, indexes);
            return;
        }
        let Some(denied) = self.undecided(subject, denied, indexes) else { return };
        match condition::narrowest(subject, &self.examples(&denied)) {
            Some(matcher) => self.restrict(subject, matcher, denied, indexes),
            None => self.leave_out(subject, indexes, "no condition covers these calls"),
        }
    }

    /// Proposes patterns for the files that were denied.
    fn file_group(&mut self, access: FileAccess, indexes: &[usize]) {
        let subject = Subject::File(access);
        let denied = self.with(indexes, CallOutcome::is_denial);
        if denied.is_empty() {
            self.approve(&subject, indexes);
            return;
        }
        let Some(denied) = self.undecided(&subject, denied, indexes) else { return };
        let pattern = |index: &usize| Some((*index, files::pattern_of(&self.calls[*index].event)?));
        let paths: Vec<(usize, String)> = denied.iter().filter_map(pattern).collect();
        let condition = |pattern: &str| files::condition(access, vec![pattern.to_owned()]);
        let is_contradicted = |pattern: &str| !self.fine(&condition(pattern)).is_empty();
        let enough = self.at_least(FILES);
        for (pattern, covered) in files::cluster(&paths, enough, &is_contradicted) {
            let matcher = condition(&pattern);
            if condition::covers(&matcher, &self.examples(&covered)) {
                self.restrict(&subject, matcher, covered, indexes);
            }
        }
    }

    fn with(&self, indexes: &[usize], is_meant: impl Fn(CallOutcome) -> bool) -> Vec<usize> {
        indexes.iter().copied().filter(|index| is_meant(self.calls[*index].outcome)).collect()
    }

    fn examples(&self, indexes: &[usize]) -> Vec<Example<'_>> {
        let example = |index: &usize| Example {
            event: &self.calls[*index].event,
            command: self.about[*index].as_ref().and_then(|(_, command)| command.as_ref()),
        };
        indexes.iter().map(example).collect()
    }

    fn at_least(&self, usual: usize) -> usize {
        self.limits.at_least.map_or(usual, |least| least.max(usual))
    }

    /// Returns the denied calls that no installed hook denies; `None` if there are none, or too few
    /// for what the person asked for.
    fn undecided(
        &mut self,
        subject: &Subject,
        denied: Vec<usize>,
        indexes: &[usize],
    ) -> Option<Vec<usize>> {
        let decider = self.decided_by(&denied, Effect::Deny);
        let left: Vec<usize> =
            denied.into_iter().filter(|index| !self.is_decided(*index, Effect::Deny)).collect();
        let why = match decider {
            Some(name) if left.is_empty() => format!("{name} denies it already"),
            _ if left.len() < self.limits.at_least.unwrap_or(1) => {
                format!("denied only {} times", left.len())
            }
            _ => return Some(left),
        };
        self.leave_out(subject, indexes, &why);
        None
    }

    /// Proposes to deny the calls, or to ask about them.
    fn restrict(
        &mut self,
        subject: &Subject,
        matcher: MatcherDefinition,
        denied: Vec<usize>,
        indexes: &[usize],
    ) {
        let fine = self.fine(&matcher);
        let is_clear = fine.is_empty() && denied.len() >= self.at_least(DENIALS);
        let effect = if is_clear { Effect::Deny } else { Effect::Ask };
        if effect == Effect::Ask {
            if let Some(name) = self.decided_by(&denied, Effect::Ask) {
                self.leave_out(subject, indexes, &format!("{name} asks about it already"));
                return;
            }
            if fine.len() > NOISE * denied.len() {
                let why = format!("{} such calls were fine", fine.len());
                self.leave_out(subject, indexes, &why);
                return;
            }
        }
        self.add(subject, effect, matcher, denied, indexes);
    }

    /// Proposes to allow exactly the calls that people always allowed.
    fn approve(&mut self, subject: &Subject, indexes: &[usize]) {
        let allowed = self.with(indexes, |outcome| outcome == CallOutcome::Allowed);
        // Where a hook asks, an allow of another hook does not count.
        let asked = allowed.into_iter().filter(|index| self.calls[*index].asked_by_agent);
        let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for index in asked {
            if let Some(text) = self.identity(index) {
                same.entry(text).or_default().push(index);
            }
        }
        let often = self.at_least(APPROVALS);
        same.retain(|_, indexes| indexes.len() >= often && self.sessions(indexes) >= SESSIONS);
        let examples: Vec<usize> = same.into_values().flatten().collect();
        if examples.is_empty() {
            return;
        }
        let why = self.examples(&examples).iter().find_map(|example| risk::of(subject, example));
        if let Some(why) = why {
            self.leave_out(subject, indexes, &format!("never allowed unseen: {why}"));
            return;
        }
        if let Some(name) = self.decided_by(&examples, Effect::Allow) {
            self.leave_out(subject, indexes, &format!("{name} decides it already"));
            return;
        }
        let matcher = condition::exact(subject, &self.examples(&examples));
        let denied = |matcher: &MatcherDefinition| {
            self.matched(matcher, |call| call.outcome.is_denial()).is_empty()
        };
        match matcher.filter(denied) {
            Some(matcher) => self.add(subject, Effect::Allow, matcher, examples, indexes),
            None => {
                let why = "never allowed unseen: no condition is as narrow as these calls";
                self.leave_out(subject, indexes, why);
            }
        }
    }

    /// Returns what makes a call the same as another.
    fn identity(&self, index: usize) -> Option<String> {
        let event = &self.calls[index].event;
        match self.about[index].as_ref()? {
            (Subject::Command { .. }, Some(command)) => Some(command.text()),
            (Subject::Url(_), _) => subject::url(event.tool.as_ref()?),
            (Subject::File(_), _) => files::pattern_of(event),
            (Subject::Mcp { .. }, _) => Some(String::new()),
            (Subject::Command { .. }, None) => None,
        }
    }

    fn sessions(&self, indexes: &[usize]) -> usize {
        let sessions = indexes.iter().map(|index| self.calls[*index].session.as_str());
        sessions.collect::<BTreeSet<_>>().len()
    }

    /// Returns the calls that were fine and match.
    fn fine(&self, matcher: &MatcherDefinition) -> Vec<usize> {
        self.matched(matcher, |call| call.outcome.is_fine())
    }

    fn matched(
        &self,
        matcher: &MatcherDefinition,
        is_meant: impl Fn(&PastCall) -> bool,
    ) -> Vec<usize> {
        let Ok(matcher) = Matcher::new(matcher) else { return Vec::new() };
        let is_match = |call: &PastCall| is_meant(call) && matcher.matches(&call.event).is_ok();
        (0..self.calls.len()).filter(|index| is_match(&self.calls[*index])).collect()
    }

    fn add(
        &mut self,
        subject: &Subject,
        effect: Effect,
        matcher: MatcherDefinition,
        examples: Vec<usize>,
        indexes: &[usize],
    ) {
        let candidate = Candidate {
            subject: subject.clone(),
            effect,
            look_alikes: self.look_alikes(subject, &matcher),
            group: self.counts(indexes),
            places: examples.iter().map(|index| self.calls[*index].place.clone()).collect(),
            matcher,
            examples,
        };
        self.suggestions.candidates.push(candidate);
    }

    /// Returns calls that were fine and that are of the same family, but do not match.
    fn look_alikes(&self, subject: &Subject, matcher: &MatcherDefinition) -> Vec<usize> {
        let Ok(matcher) = Matcher::new(matcher) else { return Vec::new() };
        let is_alike = |index: &usize| {
            let about = self.about[*index].as_ref();
            about.is_some_and(|(other, _)| is_same_family(subject, other))
                && self.calls[*index].outcome.is_fine()
                && matcher.matches(&self.calls[*index].event).is_err()
        };
        (0..self.calls.len()).filter(is_alike).collect()
    }

    fn counts(&self, indexes: &[usize]) -> CallCounts {
        counts(indexes.iter().map(|index| &self.calls[*index]))
    }

    fn is_decided(&self, index: usize, effect: Effect) -> bool {
        let call = &self.calls[index];
        self.installed.iter().any(|hook| decides(hook, call, effect))
    }

    /// Returns an installed hook that decides at least so about all of the calls; or one of several
    /// that do together.
    fn decided_by(&self, indexes: &[usize], effect: Effect) -> Option<String> {
        let is_decided = indexes.iter().all(|index| self.is_decided(*index, effect));
        let call = &self.calls[*indexes.first().filter(|_| is_decided)?];
        let hook = self.installed.iter().find(|hook| decides(hook, call, effect))?;
        Some(hook.name().to_owned())
    }

    fn leave_out(&mut self, subject: &Subject, indexes: &[usize], why: &str) {
        let calls = self.counts(indexes);
        let left_out = LeftOutGroup { subject: subject.to_string(), why: why.to_owned(), calls };
        self.suggestions.left_out.push(left_out);
    }
}

/// Counts calls by how they ended.
pub fn counts<'call>(calls: impl Iterator<Item = &'call PastCall>) -> CallCounts {
    let mut counts = CallCounts::default();
    let (mut sessions, mut projects) = (BTreeSet::new(), BTreeSet::new());
    for call in calls {
        counts.calls += 1;
        *match call.outcome {
            CallOutcome::Ran => &mut counts.ran,
            CallOutcome::Allowed => &mut counts.allowed,
            CallOutcome::Denied => &mut counts.denied,
            CallOutcome::Blocked => &mut counts.blocked,
            CallOutcome::Unanswered => &mut counts.unanswered,
        } += 1;
        sessions.insert(&call.session);
        projects.insert(&call.place);
    }
    counts.sessions = sessions.len();
    counts.projects = projects.len();
    counts
}

/// Returns whether an installed hook decides about a call, at least so. What a script decides is
/// known if it has done so.
fn decides(hook: &Hook, call: &PastCall, effect: Effect) -> bool {
    let definition = &hook.definition;
    let is_for = definition.hosts.is_empty() || definition.hosts.contains(&call.event.host);
    let is_asked = definition.triggers.iter().any(|trigger| {
        matches!(trigger.kind, EventKind::BeforeTool | EventKind::PermissionRequest)
    });
    match &definition.answer {
        Some(answer) => {
            is_for
                && is_asked
                && answer.effect >= Some(effect)
                && hook.matcher.matches(&call.event).is_ok()
        }
        None => call.decisions.iter().any(|(name, own)| name == hook.name() && *own >= effect),
    }
}

/// Returns whether two calls look alike: the same program, tool or server.
fn is_same_family(one: &Subject, other: &Subject) -> bool {
    match (one, other) {
        (Subject::Command { program: one, .. }, Subject::Command { program: other, .. }) => {
            one == other
        }
        (Subject::Mcp { server: one, .. }, Subject::Mcp { server: other, .. }) => one == other,
        (Subject::File(one), Subject::File(other)) => one == other,
        (Subject::Url(_), Subject::Url(_)) => true,
        _ => false,
    }
}
