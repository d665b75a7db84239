//! Dispatches one event through all hooks that are due: a state machine without I/O, except for
//! resolving the paths of a call ([`crate::path_forms`]).
//!
//! A driver asks [`Dispatch::next_step`] what to do, does it (runs a process, or a closure), and
//! hands the result to [`Dispatch::feed`]. Ordering, matching, chained input changes, composing and
//! fail modes are implemented here and nowhere else.
//!
//! ```text
//!            next                      feed
//! driver ────────▶ DispatchStep::Run(due) ────────▶ … ──▶ DispatchStep::Done ──finish──▶ Verdict
//!                  DispatchStep::Detach(due)
//! ```

use std::path::Path;
use std::time::Duration;

use anyhook_model::json::{self, FieldRole, OpaqueField, merge};
use anyhook_model::{
    Decision, Effect, Event, Failure, Host, Mode, RunOutcome, RunRecord, Skipped, Spelling,
    StdinForm, Verdict,
};
use serde_json::Value;

use crate::declared_answer;
use crate::discover::MISMATCHES_NAMED;
use crate::hook::Hook;
use crate::output::{RunOutput, give_reason, interpret};
use crate::path_forms;
use crate::plan::{DispatchPlan, NotRunnable, PlannedStep, skipped};

/// What the driver is to do next.
#[derive(Debug)]
pub enum DispatchStep<'a> {
    /// Run this hook, wait for it, and feed its result.
    Run(DueHook<'a>),
    /// Start this hook in the background without waiting, and feed whether it was started.
    Detach(DueHook<'a>),
    /// Nothing more to do: call [`Dispatch::finish`].
    Done,
}

/// A hook whose turn has come, and the event as it is now.
#[derive(Clone, Copy, Debug)]
pub struct DueHook<'a> {
    /// The hook.
    pub hook: &'a Hook,
    /// The event, including the input changes of earlier hooks.
    pub event: &'a Event,
    /// How the hook spells the event.
    pub spelling: Spelling,
    /// The agent's own form of it.
    native: NativeEvent<'a>,
}

/// An event in its agent's own form.
#[derive(Clone, Copy, Debug, Default)]
struct NativeEvent<'a> {
    payload: AgentPayload<'a>,
    /// Where the payload has the tool's input, if a hook has changed that.
    changed_input: Option<&'static [&'static str]>,
}

/// The payload of an agent that an event came in.
#[derive(Clone, Copy, Debug, Default)]
pub enum AgentPayload<'a> {
    /// There is none: the event was made in another way.
    #[default]
    None,
    /// This one, and the event is the first in it.
    Of(&'a [u8]),
    /// One that an earlier event came in, too.
    Further {
        /// The payload.
        payload: &'a [u8],
        /// The folders of the hooks that ran at its earlier events.
        ran: &'a [String],
    },
}

impl DueHook<'_> {
    /// Returns what the script reads on standard input, or why there is nothing to give it.
    pub fn input(&self) -> Result<String, String> {
        if self.hook.definition.stdin == StdinForm::Native {
            return self.native_input();
        }
        path_forms::resolve(self.event);
        Ok(self.event.to_json(self.spelling) + "\n")
    }

    /// Returns the agent's payload as it was sent; an input that an earlier hook has changed
    /// replaces the one in it.
    fn native_input(&self) -> Result<String, String> {
        let payload = match self.native.payload {
            AgentPayload::Of(payload) => payload,
            AgentPayload::Further { payload, .. } if self.native.changed_input.is_none() => {
                return Ok(json::lossy(payload).into_owned());
            }
            AgentPayload::Further { .. } => {
                return Err("an earlier hook changed a part of the call, which the agent's own payload cannot show".to_owned());
            }
            AgentPayload::None => {
                return Err(
                    "it reads an agent's own payload (stdin: native), and this event has none"
                        .to_owned(),
                );
            }
        };
        let Some(path) = self.native.changed_input else {
            return Ok(json::lossy(payload).into_owned());
        };
        let call = self.event.tool.as_ref();
        let input =
            call.map(|call| call.native.as_ref().map_or(&call.input, |own| &own.tool_input));
        let mut whole = json::read(payload).map_err(|error| error.to_string())?.value;
        let place = path.iter().try_fold(&mut whole, |value, key| value.get_mut(*key));
        match (place, input) {
            (Some(place), Some(input)) => *place = input.clone(),
            _ => {
                return Err("an earlier hook changed the input, which the payload lacks".to_owned());
            }
        }
        Ok(whole.to_string() + "\n")
    }
}

/// The result of a hook's turn.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// How the run ended.
    pub outcome: RunOutcome,
    /// Its standard output, as far as it was captured.
    pub stdout: String,
    /// Its standard error, as far as it was captured.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl RunResult {
    /// Makes the result of a hook whose answer is declared.
    fn declared() -> Self {
        Self { outcome: RunOutcome::Declared, ..Self::not_started("") }
    }

    /// Makes the result of a run that never started.
    pub fn not_started(why: impl Into<String>) -> Self {
        Self {
            outcome: RunOutcome::NotStarted(why.into()),
            stdout: String::new(),
            stderr: String::new(),
            took: Duration::ZERO,
        }
    }
}

/// A dispatch in progress.
pub struct Dispatch<'hooks> {
    host: &'hooks dyn Host,
    payload: AgentPayload<'hooks>,
    steps: Vec<PlannedStep<'hooks>>,
    next: usize,
    event: Event,
    verdict: Verdict,
    runs: Vec<RunRecord>,
    skipped: Vec<Skipped>,
    mismatches: usize,
    more_skipped: usize,
    other_events: usize,
}

/// A finished dispatch.
#[derive(Clone, Debug)]
pub struct FinishedDispatch {
    /// The combined verdict of all hooks.
    pub verdict: Verdict,
    /// The event, with all input changes.
    pub event: Event,
    /// The result of each hook that was due.
    pub runs: Vec<RunRecord>,
    /// The hooks that were skipped; those for other events are only counted.
    pub skipped: Vec<Skipped>,
    /// How many more were skipped because their matcher does not match.
    pub more_skipped: usize,
    /// How many hooks are for other events.
    pub other_events: usize,
}

impl FinishedDispatch {
    /// Finishes the dispatch of an event that no hook is due for.
    pub fn of(event: Event) -> Self {
        Self {
            verdict: Verdict::default(),
            event,
            runs: Vec::new(),
            skipped: Vec::new(),
            more_skipped: 0,
            other_events: 0,
        }
    }
}

impl std::fmt::Debug for Dispatch<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Dispatch")
            .field("next", &self.next)
            .field("verdict", &self.verdict)
            .finish_non_exhaustive()
    }
}

impl<'hooks> Dispatch<'hooks> {
    /// Begins the dispatch of an event.
    pub fn new(host: &'hooks dyn Host, plan: DispatchPlan<'hooks>, event: Event) -> Self {
        use anyhook_model::SkipReason::OtherEvent;
        let mut other_events = plan.passed.other_events;
        let mut left_out = plan.passed.skipped.clone();
        for (hook, why) in plan.skipped {
            if why == OtherEvent {
                other_events += 1;
            } else {
                left_out.push(skipped(hook, why));
            }
        }
        Self {
            host,
            payload: AgentPayload::None,
            other_events,
            steps: plan.steps,
            next: 0,
            event,
            verdict: Verdict::default(),
            runs: Vec::new(),
            skipped: left_out,
            mismatches: 0,
            more_skipped: plan.passed.more_skipped,
        }
    }

    /// Gives hooks that read an agent's own payload the one that the event came in.
    pub fn with_payload(mut self, payload: AgentPayload<'hooks>) -> Self {
        self.payload = payload;
        self
    }

    /// Returns what to do next. Until a result is fed, the same step is returned.
    pub fn next_step(&mut self) -> DispatchStep<'_> {
        while !self.verdict.is_block() {
            let Some(step) = self.steps.get(self.next) else { break };
            if step.hook.definition.stdin == StdinForm::Native
                && let AgentPayload::Further { ran, .. } = self.payload
                && ran.iter().any(|folder| step.hook.folder == Path::new(folder))
            {
                // It was asked about the payload as a whole.
                self.other_events += 1;
                self.next += 1;
                continue;
            }
            let evidence = match step.matches(&self.event) {
                Ok(evidence) => evidence,
                Err(why) => {
                    if self.mismatches < MISMATCHES_NAMED {
                        self.skipped.push(skipped(step.hook, why));
                        self.mismatches += 1;
                    } else {
                        self.more_skipped += 1;
                    }
                    self.next += 1;
                    continue;
                }
            };
            let (hook, spelling) = (step.hook, step.spelling);
            if let Some(NotRunnable::Unusable(why) | NotRunnable::Changed(why)) =
                step.broken.clone()
            {
                self.next += 1;
                self.settle(hook, RunOutput { failure: Some(why), ..RunOutput::default() }, None);
                continue;
            }
            if let Some(answer) = &hook.definition.answer {
                self.next += 1;
                let mut decision = declared_answer::decide(answer, &self.event, &evidence);
                give_reason(&mut decision, hook.name());
                let said = RunOutput { decision, ..RunOutput::default() };
                self.settle(hook, said, Some(RunResult::declared()));
                continue;
            }
            let is_input = |field: &&OpaqueField| field.role == FieldRole::Input;
            let input = self.verdict.input.as_ref().and_then(|_| {
                self.host.opaque_fields().iter().find(is_input).map(|field| field.path)
            });
            let native = NativeEvent { payload: self.payload, changed_input: input };
            let due = DueHook { hook, event: &self.event, spelling, native };
            return if hook.definition.is_async {
                DispatchStep::Detach(due)
            } else {
                DispatchStep::Run(due)
            };
        }
        DispatchStep::Done
    }

    /// Accepts the result of the step that [`Self::next_step`] returned.
    pub fn feed(&mut self, result: RunResult) {
        let Some(step) = self.steps.get(self.next) else { return };
        let hook = step.hook;
        self.next += 1;
        let said = interpret(
            hook.name(),
            &self.event.kind,
            hook.definition.stdout,
            &result.outcome,
            &result.stdout,
            &result.stderr,
        );
        self.settle(hook, said, Some(result));
    }

    /// Accepts what a function decided at the step that [`Self::next_step`] returned, or how it
    /// failed.
    pub fn feed_decision(
        &mut self,
        said: Result<Decision, String>,
        outcome: RunOutcome,
        took: Duration,
    ) {
        let Some(step) = self.steps.get(self.next) else { return };
        let hook = step.hook;
        self.next += 1;
        let said = match said {
            Ok(decision) => RunOutput { decision, ..RunOutput::default() },
            Err(why) => RunOutput { failure: Some(why), ..RunOutput::default() },
        };
        let result = RunResult { outcome, stdout: String::new(), stderr: String::new(), took };
        self.settle(hook, said, Some(result));
    }

    /// Runs the dispatch to its end; `turn` performs each step.
    pub fn drive(
        mut self,
        mut turn: impl FnMut(&DispatchStep<'_>) -> RunResult,
    ) -> FinishedDispatch {
        loop {
            let result = match self.next_step() {
                DispatchStep::Done => return self.finish(),
                step => turn(&step),
            };
            self.feed(result);
        }
    }

    /// Finishes the dispatch.
    pub fn finish(mut self) -> FinishedDispatch {
        if self.verdict.is_block() {
            // The call does not happen, so its changed input is of no use.
            self.verdict.input = None;
            self.verdict.native_input = None;
        }
        FinishedDispatch {
            verdict: self.verdict,
            event: self.event,
            runs: self.runs,
            skipped: self.skipped,
            more_skipped: self.more_skipped,
            other_events: self.other_events,
        }
    }

    /// Adds what one hook said to the verdict and to the record.
    fn settle(&mut self, hook: &Hook, mut said: RunOutput, result: Option<RunResult>) {
        let definition = &hook.definition;
        let counts = definition.mode == Mode::Enforce && !definition.is_async;
        // What could be read next to something broken counts, unless the failure itself blocks.
        let mut stands = counts && !(said.failure.is_some() && hook.blocks_on_failure());
        if stands {
            stands = self.change_input(&mut said);
        }
        if let Some(why) = said.failure.as_ref().filter(|_| counts) {
            let blocked = hook.blocks_on_failure();
            self.verdict.failed.push(Failure {
                hook: hook.name().to_owned(),
                why: why.clone(),
                blocked,
            });
            if blocked {
                let reason = format!(
                    "hook {} failed, and it blocks on failure (on_failure: block): {why}",
                    hook.name()
                );
                self.decide(Effect::Deny, hook, Some(reason));
            }
        }
        if stands {
            self.verdict.add_context(said.decision.additional_context.clone());
            if let Some(effect) = said.decision.effect {
                self.decide(effect, hook, said.decision.reason.clone());
            }
            if let Some(told) = &said.told {
                self.verdict.warnings.push(format!("{}: {told}", hook.name()));
            }
        }
        self.runs.push(run_record(hook, said, result));
    }

    /// The strongest effect wins, and the first hook to say it gives the reason.
    fn decide(&mut self, effect: Effect, hook: &Hook, reason: Option<String>) {
        if Some(effect) > self.verdict.effect {
            self.verdict.effect = Some(effect);
            self.verdict.by = Some(hook.name().to_owned());
            self.verdict.reason = reason;
        }
    }

    /// Merges an input change into the event, or turns it into the hook's failure: then nothing
    /// else it said counts.
    fn change_input(&mut self, said: &mut RunOutput) -> bool {
        let Some(change) = &said.decision.modified_input else { return true };
        if !self.event.kind.takes_input_change() {
            said.notes.push(format!("`modified_input` has no effect at {}", self.event.kind));
            return true;
        }
        let Some(tool) = &mut self.event.tool else { return true };
        let changed = match (&tool.input, tool.fixed) {
            (_, Some(why)) => Err(why.to_owned()),
            (Value::Object(_) | Value::Null, None) => {
                let mut changed = tool.input.as_object().cloned().unwrap_or_default();
                merge(&mut changed, change);
                self.host.native_input(tool, &changed).map(|native| (changed, native))
            }
            _ => Err("the tool's input is not an object".to_owned()),
        };
        match changed {
            Ok((changed, native)) => {
                tool.change_input(changed.clone());
                self.verdict.input = Some(changed);
                if let Some(call) = &mut tool.native {
                    // Later hooks must not match the previous input.
                    call.tool_input = native.clone().unwrap_or_default();
                }
                self.verdict.native_input = native;
            }
            Err(why) => {
                said.failure = Some(format!("cannot apply `modified_input`: {why}"));
                return false;
            }
        }
        true
    }
}

/// Records the result of a hook's turn.
pub(crate) fn run_record(hook: &Hook, said: RunOutput, result: Option<RunResult>) -> RunRecord {
    let (outcome, stdout, stderr, took) = match result {
        Some(result) => (Some(result.outcome), result.stdout, result.stderr, result.took),
        None => (None, String::new(), String::new(), Duration::ZERO),
    };
    RunRecord {
        hook: hook.name().to_owned(),
        folder: hook.folder_text(),
        shadow: hook.definition.mode == Mode::Shadow,
        outcome,
        decision: said.decision,
        failure: said.failure,
        notes: said.notes,
        stdout,
        stderr,
        took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use anyhook_model::{
        EventKind, FailMode, HookDefinition, HookTrigger, OpenFormat, SkipReason, ToolCall,
    };
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::discover::InstalledHooks;
    use crate::hook::{Level, Trust};
    use crate::matcher::Matcher;
    use crate::problem::{Problem, Severity};

    fn hook(name: &str, priority: u16) -> Hook {
        let mut definition = HookDefinition::named(name);
        definition.priority = priority;
        definition.triggers =
            vec![HookTrigger { kind: EventKind::BeforeTool, spelling: Spelling::Alias }];
        Hook {
            definition,
            matcher: Matcher::default(),
            problems: Vec::new(),
            level: Level::User,
            nesting: 0,
            folder: PathBuf::from(format!("/{name}")),
            runs_from: PathBuf::new(),
            entry: None,
            trust: Trust::NotNeeded,
            replaces: false,
            record: None,
            root: None,
        }
    }

    fn event(command: &str) -> Event {
        let mut event = Event::new(
            EventKind::BeforeTool,
            "agent-hooks",
            Path::new("/p"),
            jiff::Timestamp::UNIX_EPOCH,
        );
        event.tool = Some(ToolCall::new("Shell", json!({"command": command, "timeout": 5})));
        event
    }

    fn exited(code: i32, stdout: &str, stderr: &str) -> RunResult {
        RunResult {
            outcome: RunOutcome::Exited(code),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            took: Duration::ZERO,
        }
    }

    /// Drives a dispatch; `answer` plays the hooks' part.
    fn drive(
        hooks: Vec<Hook>,
        event: Event,
        mut answer: impl FnMut(&DueHook<'_>) -> RunResult,
    ) -> FinishedDispatch {
        let installed = InstalledHooks::of(hooks);
        Dispatch::new(&OpenFormat, DispatchPlan::new(&installed, &event), event).drive(|step| {
            match step {
                DispatchStep::Run(due) | DispatchStep::Detach(due) => answer(due),
                DispatchStep::Done => unreachable!(),
            }
        })
    }

    fn ran(finished: &FinishedDispatch) -> Vec<&str> {
        finished.runs.iter().map(|run| run.hook.as_str()).collect()
    }

    #[test]
    fn the_first_block_stops_the_rest() {
        let finished = drive(vec![hook("a", 3), hook("b", 2), hook("c", 1)], event("ls"), |due| {
            match due.hook.name() {
                "b" => exited(2, "", "no"),
                _ => exited(0, "", ""),
            }
        });
        assert_eq!(ran(&finished), ["a", "b"]);
        assert_eq!(finished.verdict.by.as_deref(), Some("b"));
        assert_eq!(finished.verdict.reason.as_deref(), Some("no"));
    }

    #[test]
    fn an_ask_stays_unless_a_later_hook_denies() {
        let hooks = || vec![hook("a", 4), hook("b", 3), hook("c", 2)];
        let finished = drive(hooks(), event("ls"), |due| match due.hook.name() {
            "a" => exited(0, r#"{"decision": "ask", "reason": "first"}"#, ""),
            "b" => exited(0, r#"{"decision": "ask", "reason": "second"}"#, ""),
            _ => exited(0, r#"{"decision": "allow"}"#, ""),
        });
        assert_eq!(
            (finished.verdict.effect, finished.verdict.reason.as_deref()),
            (Some(Effect::Ask), Some("first"))
        );
        let finished = drive(hooks(), event("ls"), |due| match due.hook.name() {
            "a" => exited(0, r#"{"decision": "ask", "reason": "first"}"#, ""),
            "c" => exited(2, "", "never"),
            _ => exited(0, "", ""),
        });
        assert_eq!(
            (finished.verdict.effect, finished.verdict.reason.as_deref()),
            (Some(Effect::Deny), Some("never"))
        );
    }

    #[test]
    fn input_changes_are_chained_and_later_hooks_match_them() {
        let mut second = hook("b", 2);
        second.matcher.set_pattern("^pnpm").unwrap();
        let mut third = hook("c", 1);
        third.matcher.set_pattern("^npm").unwrap();
        let finished =
            drive(vec![hook("a", 3), second, third], event("npm i"), |due| match due.hook.name() {
                "a" => {
                    exited(0, r#"{"modified_input": {"command": "pnpm i", "timeout": null}}"#, "")
                }
                "b" => {
                    assert!(
                        due.input().unwrap().contains(r#""tool_input": {"command": "pnpm i"}"#),
                        "{}",
                        due.input().unwrap()
                    );
                    exited(0, r#"{"modified_input": {"cwd": "/x"}}"#, "")
                }
                _ => unreachable!(),
            });
        assert_eq!(
            finished.verdict.input.as_ref(),
            json!({"command": "pnpm i", "cwd": "/x"}).as_object()
        );
        assert_eq!(finished.verdict.effect, None);
        assert_eq!(finished.skipped[0].why, SkipReason::Pattern);
    }

    #[test]
    fn input_changes_count_on_some_events_only() {
        let mut hook = hook("a", 1);
        hook.definition.triggers[0].kind = EventKind::AfterTool;
        let mut event = event("ls");
        event.kind = EventKind::AfterTool;
        let finished =
            drive(vec![hook], event, |_| exited(0, r#"{"modified_input": {"command": "x"}}"#, ""));
        assert_eq!(finished.verdict.input, None);
        assert_eq!(finished.runs[0].notes.len(), 1);
        assert_eq!(finished.runs[0].failure, None);
    }

    #[test]
    fn failures_are_open_or_closed_as_the_hook_says() {
        let finished =
            drive(vec![hook("a", 2), hook("b", 1)], event("ls"), |_| exited(1, "", "boom"));
        assert_eq!(finished.verdict.effect, None);
        assert_eq!(finished.verdict.failed.len(), 2);
        let mut closed = hook("a", 2);
        closed.definition.on_failure = FailMode::Block;
        let finished = drive(vec![closed, hook("b", 1)], event("ls"), |_| exited(1, "", "boom"));
        assert!(finished.verdict.is_block());
        assert!(finished.verdict.reason.unwrap().contains("boom"));
        assert_eq!(finished.runs.len(), 1);
    }

    #[test]
    fn unusable_hooks_block_only_if_they_say_so() {
        let mut broken = hook("a", 2);
        broken.problems.push(Problem::new("regex", Severity::Unusable, "bad regex"));
        let finished =
            drive(vec![broken.clone(), hook("b", 1)], event("ls"), |_| exited(0, "", ""));
        assert_eq!(ran(&finished), ["b"]);
        assert_eq!(finished.skipped[0].why, SkipReason::Unusable("bad regex".to_owned()));
        broken.definition.on_failure = FailMode::Block;
        broken.matcher.set_tool("Other").unwrap();
        let finished = drive(vec![broken, hook("b", 1)], event("ls"), |_| unreachable!());
        assert!(finished.verdict.reason.unwrap().contains("bad regex"));
    }

    #[test]
    fn changed_hooks_fail_where_they_would_have_run() {
        let mut changed = hook("a", 2);
        changed.trust = Trust::Changed("it has changed".to_owned());
        let finished = drive(vec![changed.clone()], event("ls"), |_| unreachable!());
        assert_eq!((finished.verdict.failed.len(), finished.verdict.effect), (1, None));
        changed.definition.on_failure = FailMode::Block;
        assert!(drive(vec![changed.clone()], event("ls"), |_| unreachable!()).verdict.is_block());
        changed.matcher.set_tool("Other").unwrap();
        assert!(!drive(vec![changed], event("ls"), |_| unreachable!()).verdict.is_block());
    }

    #[test]
    fn shadow_and_async_hooks_count_for_nothing() {
        let mut shadow = hook("a", 3);
        shadow.definition.mode = Mode::Shadow;
        shadow.definition.on_failure = FailMode::Block;
        let mut aside = hook("b", 2);
        aside.definition.is_async = true;
        let finished = drive(vec![shadow, aside, hook("c", 1)], event("ls"), |due| {
            match due.hook.name() {
                "a" => exited(
                    0,
                    r#"{"decision": "deny", "additional_context": "x", "modified_input": {"command": "y"}}"#,
                    "",
                ),
                "b" => RunResult { outcome: RunOutcome::Detached, ..RunResult::not_started("") },
                _ => {
                    assert!(due.input().unwrap().contains("\"ls\""));
                    exited(0, "", "")
                }
            }
        });
        assert_eq!(finished.verdict, Verdict::default());
        assert_eq!(ran(&finished), ["a", "b", "c"]);
        assert!(finished.runs[0].shadow && finished.runs[0].decision.effect == Some(Effect::Deny));
    }

    #[test]
    fn an_input_that_is_fixed_is_not_changed() {
        let mut event = event("ls");
        event.tool.as_mut().unwrap().fixed = Some("of a reason");
        let finished = drive(vec![hook("a", 1)], event, |_| {
            exited(0, r#"{"modified_input": {"command": "x"}}"#, "")
        });
        assert_eq!(finished.verdict.failed.len(), 1);
        assert_eq!(finished.verdict.input, None);
    }

    #[test]
    fn a_hook_may_read_the_payload_once_and_as_it_is_now() {
        const PAYLOAD: &str = r#"{"tool_input":{"command":"ls"},"mine":1}"#;
        let installed = InstalledHooks::of(vec![hook("a", 3), {
            let mut native = hook("b", 2);
            native.definition.stdin = StdinForm::Native;
            native
        }]);
        let drive = |payload: AgentPayload<'_>, change: &str| {
            let plan = DispatchPlan::new(&installed, &event("ls"));
            let dispatch = Dispatch::new(&OpenFormat, plan, event("ls")).with_payload(payload);
            let mut inputs = Vec::new();
            let finished = dispatch.drive(|step| {
                let DispatchStep::Run(due) = step else { unreachable!() };
                if due.hook.name() == "a" {
                    return exited(0, change, "");
                }
                inputs.push(due.input());
                exited(0, "", "")
            });
            (inputs, finished.other_events)
        };
        let payload = AgentPayload::Of(PAYLOAD.as_bytes());
        assert_eq!(drive(payload, ""), (vec![Ok(PAYLOAD.to_owned())], 0));
        let (inputs, _) = drive(payload, r#"{"modified_input": {"command": "pwd"}}"#);
        let changed: Value = serde_json::from_str(inputs[0].as_ref().unwrap()).unwrap();
        assert_eq!(changed, json!({"tool_input": {"command": "pwd", "timeout": 5}, "mine": 1}));
        let ran = installed.hooks.iter().map(|one| one.hook.folder.to_string_lossy().into_owned());
        let ran: Vec<String> = ran.collect();
        let further = |ran| AgentPayload::Further { payload: PAYLOAD.as_bytes(), ran };
        assert_eq!(drive(further(&ran), ""), (vec![], 1), "it was asked at another part");
        let asked = (vec![Ok(PAYLOAD.to_owned())], 0);
        assert_eq!(drive(further(&[]), ""), asked, "its matcher did not match the other parts");
        let (inputs, _) = drive(further(&[]), r#"{"modified_input": {"command": "pwd"}}"#);
        assert!(inputs[0].as_ref().unwrap_err().contains("a part of the call"));
        let (inputs, _) = drive(AgentPayload::None, "");
        assert!(inputs[0].as_ref().unwrap_err().contains("stdin: native"));
    }

    #[test]
    fn hooks_see_the_event_in_their_own_spelling() {
        drive(vec![hook("a", 1)], event("ls"), |due| {
            assert!(due.input().unwrap().starts_with("{\"event_type\": \"pre-tool-call\", "));
            exited(0, "", "")
        });
    }

    proptest! {
        /// Composing: the verdict is the strongest effect among the hooks up to the first deny.
        #[test]
        fn the_strongest_effect_stands(words in proptest::collection::vec(0usize..5, 0..8)) {
            const OUTPUTS: [&str; 5] = ["", r#"{"decision": "allow"}"#, r#"{"decision": "ask"}"#, r#"{"decision": "deny"}"#, "{broken"];
            let effects = [None, Some(Effect::Allow), Some(Effect::Ask), Some(Effect::Deny), None];
            let hooks = (0..words.len()).map(|index| hook(&format!("h{index}"), u16::try_from(900 - index).unwrap())).collect();
            let mut turn = 0;
            let finished = drive(hooks, event("ls"), |_| { turn += 1; exited(0, OUTPUTS[words[turn - 1]], "") });
            let expected = words.iter().map(|word| effects[*word]).max().flatten();
            prop_assert_eq!(finished.verdict.effect, expected);
            let until_deny = words.iter().position(|word| *word == 3).map_or(words.len(), |at| at + 1);
            prop_assert_eq!(finished.runs.len(), until_deny);
        }

        /// Chaining: the input after all hooks is the fold of their changes.
        #[test]
        fn changes_are_a_fold(changes in proptest::collection::vec((0u8..3, proptest::option::of(0u8..9)), 0..8)) {
            let hooks = (0..changes.len()).map(|index| hook(&format!("h{index}"), u16::try_from(900 - index).unwrap())).collect();
            let mut turn = 0;
            let finished = drive(hooks, event("ls"), |_| {
                let (key, value) = &changes[turn];
                turn += 1;
                exited(0, &json!({"modified_input": {format!("k{key}"): value}}).to_string(), "")
            });
            let mut expected = json!({"command": "ls", "timeout": 5}).as_object().unwrap().clone();
            for (key, value) in &changes {
                merge(&mut expected, json!({format!("k{key}"): value}).as_object().unwrap());
            }
            let tool = finished.event.tool.unwrap();
            prop_assert_eq!(tool.input.as_object().unwrap(), &expected);
            prop_assert_eq!(finished.verdict.input.is_some(), !changes.is_empty());
        }
    }

    proptest! {
        /// A declared answer has the verdict of a script that says the same.
        #[test]
        fn a_declared_answer_is_that_of_a_script(
            word in prop::sample::select(vec![None, Some("deny"), Some("ask"), Some("allow")]),
            reason in proptest::option::of("[a-z ]{1,8}"),
            context in proptest::option::of("[a-z ]{1,8}"),
            input in proptest::option::of("[a-z ]{0,8}"),
            shadow: bool,
            fails_closed: bool,
        ) {
            use anyhook_model::hook::DeclaredAnswer;
            let answer = json!({
                "decision": word, "reason": reason, "additional_context": context,
                "modified_input": input.map(|command| json!({"command": command})),
            });
            let hook = |declared: bool| {
                let mut hook = hook("guard", 100);
                if shadow {
                    hook.definition.mode = Mode::Shadow;
                }
                if fails_closed {
                    hook.definition.on_failure = FailMode::Block;
                }
                if declared {
                    let answer: DeclaredAnswer = serde_json::from_value(answer.clone()).unwrap();
                    hook.definition.answer = Some(answer);
                }
                InstalledHooks::of(vec![hook])
            };
            let (declared, scripted) = (hook(true), hook(false));
            let run = |installed: &InstalledHooks| {
                let event = event("ls");
                let plan = DispatchPlan::new(installed, &event);
                Dispatch::new(&OpenFormat, plan, event).drive(|_| exited(0, &answer.to_string(), ""))
            };
            let (declared, scripted) = (run(&declared), run(&scripted));
            // Nothing that is said is a failure of a script, and no answer that could be declared.
            prop_assume!(scripted.verdict.failed.is_empty());
            prop_assert_eq!(declared.verdict, scripted.verdict);
            prop_assert_eq!(declared.event, scripted.event);
        }
    }
}
