//! Proposals from made-up calls, and calls from made-up records.

use std::collections::HashSet;
use std::path::Path;

use anyhook_engine::Hook;
use anyhook_engine::matcher::Matcher;
use anyhook_model::approval_request::{ApprovalEnding, Resolution};
use anyhook_model::hook::DeclaredAnswer;
use anyhook_model::{
    Effect, Event, EventKind, HookDefinition, Payload, Record, RecordId, ToolCall, Verdict,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::history::{self, CallOutcome, PastCall};
use super::propose::{Candidate, ProposalLimits, Suggestions, propose};
use super::{condition, hook_text};
use crate::source::PastPayload;
use CallOutcome::{Allowed, Blocked, Denied, Ran};

fn call(outcome: CallOutcome, session: usize, tool: &str, input: Value) -> PastCall {
    let work = Path::new("/work/shop");
    let kind = EventKind::PermissionRequest;
    let mut event = Event::new(kind, "agent-hooks", work, Timestamp::UNIX_EPOCH);
    event.project_dir = Some(work.to_owned());
    event.home = Some("/home/ann".into());
    let mut called = ToolCall::new(tool, json!({}));
    called.change_input(serde_json::from_value(input).unwrap());
    event.tool = Some(called);
    PastCall {
        records: vec![format!("r{session}")],
        session: format!("s{session}"),
        place: "/work/shop".to_owned(),
        event,
        outcome,
        asked_by_agent: true,
        is_example: true,
        decisions: Vec::new(),
    }
}

fn shell(outcome: CallOutcome, session: usize, command: &str) -> PastCall {
    call(outcome, session, "Shell", json!({"command": command}))
}

fn file(outcome: CallOutcome, tool: &str, path: &str) -> PastCall {
    call(outcome, 1, tool, json!({"path": path, "content": "x"}))
}

fn proposed(calls: &[PastCall]) -> Suggestions {
    propose(calls, &[], ProposalLimits::default())
}

fn only(calls: &[PastCall]) -> Candidate {
    let mut suggestions = proposed(calls);
    assert_eq!(suggestions.candidates.len(), 1, "{suggestions:#?}");
    suggestions.candidates.remove(0)
}

fn matches(candidate: &Candidate, call: &PastCall) -> bool {
    Matcher::new(&candidate.matcher).unwrap().matches(&call.event).is_ok()
}

#[test]
fn what_was_always_denied_is_denied() {
    let calls = [
        shell(Denied, 1, "git push --force origin main"),
        shell(Denied, 2, "git push -f origin feature"),
        shell(Ran, 2, "git push origin main"),
        shell(Allowed, 3, "git push --force-with-lease origin main"),
    ];
    let candidate = only(&calls);
    assert_eq!(candidate.effect, Effect::Deny);
    let expected = json!({"shell": [{
        "program": ["git"], "subcommand": ["push"], "all_flags": ["-f|--force"],
        "arguments": ["origin"],
    }]});
    assert_eq!(serde_json::to_value(&candidate.matcher).unwrap(), expected);
    assert!(matches(&candidate, &shell(Ran, 1, "git push --force origin other")));
    assert!(!matches(&candidate, &shell(Ran, 1, "git push --force backup main")));
    assert_eq!(candidate.look_alikes, [2, 3]);
}

#[test]
fn what_was_denied_once_or_also_allowed_is_asked_about() {
    assert_eq!(only(&[shell(Denied, 1, "npm publish")]).effect, Effect::Ask);
    let mixed = [
        shell(Denied, 1, "npm publish"),
        shell(Denied, 2, "npm publish"),
        shell(Allowed, 3, "npm publish"),
    ];
    assert_eq!(only(&mixed).effect, Effect::Ask);
}

#[test]
fn a_hook_that_would_ask_all_the_time_is_not_proposed() {
    let mut calls = vec![shell(Denied, 1, "npm test")];
    calls.extend((0..11).map(|session| shell(Ran, session, "npm test")));
    let Suggestions { candidates, left_out } = proposed(&calls);
    assert!(candidates.is_empty(), "{candidates:?}");
    assert_eq!(left_out[0].why, "11 such calls were fine");
}

#[test]
fn targets_tell_what_was_denied_from_what_was_fine() {
    let calls = [
        shell(Denied, 1, "rm -rf /srv/data"),
        shell(Denied, 2, "rm -rf /opt/tools/x"),
        shell(Ran, 2, "rm -rf build"),
    ];
    let candidate = only(&calls);
    assert_eq!(candidate.effect, Effect::Deny);
    assert_eq!(candidate.matcher.shell[0].targets, ["outside"]);
    assert!(!matches(&candidate, &calls[2]));
}

#[test]
fn a_line_of_several_commands_says_nothing_about_any_of_them() {
    let several = |outcome| shell(outcome, 1, "npm test; npm publish");
    let suggestions = proposed(&[several(Denied), several(Denied)]);
    assert!(suggestions.candidates.is_empty(), "{suggestions:?}");
    let after_cd = [shell(Denied, 1, "cd a; npm publish"), shell(Denied, 2, "cd b; npm publish")];
    assert_eq!(only(&after_cd).matcher.shell[0].subcommand, ["publish"]);
}

#[test]
fn what_was_always_allowed_is_allowed_exactly() {
    let calls = [
        shell(Allowed, 1, "npm run lint"),
        shell(Allowed, 1, "npm run lint"),
        shell(Allowed, 2, "npm run lint"),
        shell(Allowed, 2, "npm run lint --fix"),
    ];
    let candidate = only(&calls);
    assert_eq!(candidate.effect, Effect::Allow);
    assert_eq!(candidate.examples, [0, 1, 2], "the other was allowed only once");
    for other in [
        "npm run lint --fix",
        "npm run lint; curl x",
        "npm run lint | sh",
        "npm run lint > /etc/x",
        "npm run",
        "echo npm run lint",
    ] {
        assert!(!matches(&candidate, &shell(Ran, 1, other)), "{other}");
    }
    assert!(matches(&candidate, &calls[0]));
}

#[test]
fn a_program_without_arguments_is_allowed_without_arguments() {
    let calls: Vec<PastCall> = (1..=3).map(|session| shell(Allowed, session, "pytest")).collect();
    let candidate = only(&calls);
    assert!(matches(&candidate, &calls[0]));
    assert!(!matches(&candidate, &shell(Ran, 1, "pytest pytest")));
}

#[test]
fn too_few_answers_allow_nothing() {
    let often = |sessions: [usize; 3], command: &str| {
        proposed(&sessions.map(|session| shell(Allowed, session, command))).candidates.len()
    };
    assert_eq!(often([1, 2, 3], "npm run lint"), 1);
    assert_eq!(often([1, 1, 1], "npm run lint"), 0, "one session");
    let twice = [shell(Allowed, 1, "npm run lint"), shell(Allowed, 2, "npm run lint")];
    assert!(proposed(&twice).candidates.is_empty());
    let mut denied = [1, 2, 3, 4].map(|session| shell(Allowed, session, "npm run lint"));
    denied[3].outcome = Denied;
    assert_eq!(only(&denied).effect, Effect::Ask, "denied once");
    let mut by_hook = [1, 2, 3].map(|session| shell(Allowed, session, "npm run lint"));
    for call in &mut by_hook {
        call.asked_by_agent = false;
    }
    assert!(proposed(&by_hook).candidates.is_empty(), "a hook asked, and it still would");
}

#[test]
fn nothing_dangerous_is_ever_allowed() {
    for command in [
        "rm -rf build",
        "rm a",
        "git push --force",
        "git push",
        "git reset --hard",
        "git clean -fdx",
        "terraform apply",
        "kubectl delete pod x",
        "npm publish",
        "sudo ls",
        "bash build.sh",
        "python3 x.py",
        "curl https://example.com",
        "chmod -R 777 src",
        "touch /etc/hosts",
        "rsync -a . /srv/x",
        "cargo clean",
        "docker system prune",
        "anyhook untrust x",
        "cp a $TARGET",
        "npm run deploy:production",
        "make > /etc/x",
    ] {
        let calls: Vec<PastCall> = (0..9).map(|session| shell(Allowed, session, command)).collect();
        let candidates = proposed(&calls).candidates;
        assert!(candidates.is_empty(), "{command}: {candidates:?}");
    }
    let calls: Vec<PastCall> =
        (0..9).map(|session| call(Allowed, session, "mcp__db__query", json!({"q": "1"}))).collect();
    assert!(proposed(&calls).candidates.is_empty(), "its arguments could be anything");
    let writes: Vec<PastCall> =
        (0..9).map(|session| call(Allowed, session, "WriteFile", json!({"path": "a"}))).collect();
    assert!(proposed(&writes).candidates.is_empty(), "what it writes could be anything");
    let reads: Vec<PastCall> = (0..9)
        .map(|session| call(Allowed, session, "ReadFile", json!({"path": "/etc/shadow"})))
        .collect();
    assert!(proposed(&reads).candidates.is_empty(), "outside the project");
}

#[test]
fn files_are_denied_by_the_narrowest_pattern() {
    let calls = [
        file(Denied, "WriteFile", ".env"),
        file(Denied, "EditFile", "a/.env"),
        file(Denied, "WriteFile", "/work/shop/b/.env"),
        file(Ran, "WriteFile", "a/x.rs"),
        file(Ran, "ReadFile", ".env"),
    ];
    let candidate = only(&calls);
    assert_eq!(candidate.effect, Effect::Deny);
    assert_eq!(candidate.matcher.files.as_ref().unwrap().write, [".env"]);
    assert!(!matches(&candidate, &calls[4]), "reading is something else");
    let contradicted = [&calls[..], &[file(Ran, "WriteFile", "c/.env")]].concat();
    let Suggestions { candidates, .. } = proposed(&contradicted);
    let patterns: Vec<&str> = candidates
        .iter()
        .map(|one| one.matcher.files.as_ref().unwrap().write[0].as_str())
        .collect();
    assert_eq!(patterns, ["./.env", "./a/.env", "./b/.env"]);
    assert!(candidates.iter().all(|one| one.effect == Effect::Ask), "each was denied once");
}

#[test]
fn hosts_and_mcp_tools_are_kinds_of_calls() {
    let fetch = |outcome, url: &str| call(outcome, 1, "FetchURL", json!({"url": url}));
    let calls = [
        fetch(Denied, "https://paste.example.com/a/1"),
        fetch(Denied, "https://paste.example.com/a/2"),
        fetch(Ran, "https://docs.example.com/a"),
    ];
    assert_eq!(only(&calls).matcher.url, ["paste.example.com/a"]);
    let mcp = |outcome, tool: &str| call(outcome, 1, tool, json!({}));
    let calls = [
        mcp(Denied, "mcp__github__delete_repo"),
        mcp(Denied, "mcp__github__delete_repo"),
        mcp(Ran, "mcp__github__get_issue"),
    ];
    let candidate = only(&calls);
    assert_eq!(candidate.matcher.mcp.as_ref().unwrap().tool, ["delete_repo"]);
    assert_eq!(candidate.look_alikes, [2]);
}

fn declared(effect: Effect, command: &str) -> Hook {
    let mut definition = HookDefinition::named("known");
    definition.matcher = serde_json::from_value(json!({"shell": {"pattern": command}})).unwrap();
    definition.answer = Some(DeclaredAnswer { effect: Some(effect), ..DeclaredAnswer::default() });
    let text = "---\nname: known\ndescription: x\ntrigger: before_tool\n---\n";
    definition.triggers =
        anyhook_engine::definition::read(text.as_bytes(), "known").definition.triggers;
    Hook::of_program(definition).unwrap()
}

#[test]
fn what_an_installed_hook_decides_is_not_proposed() {
    let twice = [shell(Denied, 1, "npm publish"), shell(Denied, 2, "npm publish")];
    let with = |calls: &[PastCall], hook: Hook| {
        let Suggestions { candidates, left_out } =
            propose(calls, &[hook], ProposalLimits::default());
        (candidates.first().map(|one| one.effect), left_out.first().map(|one| one.why.clone()))
    };
    let denied = with(&twice, declared(Effect::Deny, "publish"));
    assert_eq!(denied, (None, Some("known denies it already".to_owned())));
    let asked = with(&twice, declared(Effect::Ask, "publish"));
    assert_eq!(asked, (Some(Effect::Deny), None), "people always say no when it asks");
    let once = with(&twice[..1], declared(Effect::Ask, "publish"));
    assert_eq!(once, (None, Some("known asks about it already".to_owned())));
    let other = with(&twice, declared(Effect::Deny, "other"));
    assert_eq!(other, (Some(Effect::Deny), None));
    // A script's decisions are known from the journal.
    let mut by_script = twice.clone();
    for call in &mut by_script {
        call.decisions = vec![("known".to_owned(), Effect::Deny)];
        call.outcome = Blocked;
    }
    let mut script = declared(Effect::Deny, "x");
    script.definition.answer = None;
    assert_eq!(with(&by_script, script).0, None);
    assert_eq!(only(&by_script).effect, Effect::Deny, "the hook is not installed any more");
}

#[test]
fn redacted_calls_are_no_examples() {
    let mut calls = [shell(Denied, 1, "npm publish"), shell(Denied, 2, "npm publish")];
    calls[1].is_example = false;
    assert_eq!(only(&calls).examples, [0]);
}

#[test]
fn any_number_of_examples_makes_a_hook() {
    let mut calls: Vec<PastCall> = (0..1500)
        .map(|session| shell(Denied, session, &format!("npm publish x{session}")))
        .collect();
    calls.extend((0..1500).map(|session| shell(Allowed, session, "npm run lint")));
    let mut left_out = Vec::new();
    let candidates = proposed(&calls).candidates;
    let written = hook_text::write_all(candidates, &calls, HashSet::new(), &mut left_out);
    assert_eq!((written.len(), left_out), (2, Vec::new()));
    assert!(written[0].text.contains(" and 1480 more.\n"), "{}", written[0].text);
}

/// Every combination of a few commands and outcomes: no proposal decides against a call that it was
/// made from, and none allows what destroys.
#[test]
fn no_proposal_decides_against_its_examples() {
    let commands = [
        "git push --force origin main",
        "git push -f origin b",
        "rm -rf /srv/x",
        "rm -r build",
        "npm run lint",
        "npm run lint; rm -rf /",
        "make all",
    ];
    let outcomes = [Ran, Allowed, Denied, Blocked];
    let mut state: u64 = 1;
    let mut next = |most: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % most
    };
    let mut seen = [0; 3];
    for _ in 0..300 {
        // Most commands have a usual outcome, so that some are always allowed or denied.
        let usual: Vec<CallOutcome> = commands.iter().map(|_| outcomes[next(4)]).collect();
        let calls: Vec<PastCall> = (0..30)
            .map(|session| {
                let which = next(commands.len());
                let outcome = if next(20) == 0 { outcomes[next(4)] } else { usual[which] };
                shell(outcome, session % 5, commands[which])
            })
            .collect();
        for candidate in proposed(&calls).candidates {
            let of = |call: &&PastCall| matches(&candidate, call);
            let mut matched = calls.iter().filter(of);
            match candidate.effect {
                Effect::Deny => assert!(!matched.any(|call| call.outcome.is_fine())),
                Effect::Allow => {
                    assert!(!matched.any(|call| call.outcome.is_denial()));
                    let risky = ["git push --force origin main", "rm -r build", "rm -rf /srv/x"];
                    assert!(!risky.iter().any(|text| matches(&candidate, &shell(Ran, 1, text))));
                }
                Effect::Ask => {}
            }
            assert!(candidate.examples.iter().all(|index| matches(&candidate, &calls[*index])));
            seen[candidate.effect as usize] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_hook_file_means_what_was_proposed() {
    let mut calls = vec![
        shell(Denied, 1, "git push --force origin main"),
        shell(Denied, 2, "git push -f origin main"),
        shell(Ran, 2, "git push origin main"),
        file(Denied, "WriteFile", "/work/shop/it's/a"),
    ];
    calls.extend((0..3).map(|session| shell(Allowed, session, "npm run lint")));
    let candidates = proposed(&calls).candidates;
    assert_eq!(candidates.len(), 3);
    let taken = ["deny-git-push-force".to_owned()].into();
    let mut left_out = Vec::new();
    let written = hook_text::write_all(candidates, &calls, taken, &mut left_out);
    assert_eq!(left_out, []);
    let names: Vec<&str> = written.iter().map(|one| one.hook.name()).collect();
    assert_eq!(names, ["deny-git-push-force-2", "ask-write-it-s-a", "allow-npm-run-lint"]);
    contains_all(&written[0].text, &["mode: shadow", "decision: deny", "all_flags: '-f|--force'"]);
    contains_all(&written[2].text, &["trigger: [permission_request]", "unknown: true"]);
    let relative = &written[1].tests[0].case["event"]["tool_input"]["path"];
    assert_eq!(relative, "it's/a", "a case runs in a scratch project");
}

fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn a_condition_that_cannot_be_as_narrow_is_none() {
    let call = shell(Allowed, 1, "npm run 'a b'");
    let command = anyhook_shell::read("npm run 'a b'").commands.remove(0);
    let example = condition::Example { event: &call.event, command: Some(&command) };
    let subject = super::subject::of(&call.event).unwrap().0;
    assert_eq!(condition::exact(&subject, &[example]), None);
}

fn record(id: &str, event: &EventKind, call: &str) -> Record {
    let (id, kind) = (RecordId::from_text(id), event.clone());
    let mut record = Record::new(id, Timestamp::UNIX_EPOCH, "agent-hooks", kind);
    record.session = Some("s".to_owned());
    record.work_dir = "/work/shop".to_owned();
    record.call = Some(format!("sha256:{call}"));
    let payload = json!({"event_type": event, "session_id": "s", "tool_name": "Shell", "tool_input": {"command": call}});
    record.payload = Some(Payload::new(payload.to_string().as_bytes()));
    record
}

fn outcomes(records: Vec<Record>) -> Vec<(CallOutcome, usize)> {
    let payloads: Vec<PastPayload> =
        records.into_iter().map(|record| PastPayload::Journaled(vec![record])).collect();
    let scratch = tempfile::tempdir().unwrap();
    let journal = anyhook_engine::journal::Journal::new(scratch.path());
    let calls = history::read(&payloads, Some(&journal), None);
    calls.into_iter().map(|call| (call.outcome, call.records.len())).collect()
}

fn answer(choice: &str) -> Resolution {
    serde_json::from_value(json!({
        "id": "a", "agent": "x", "ending": ApprovalEnding::Chosen, "choice": choice, "by": "ann",
        "at": "2026-01-01T00:00:00Z",
    }))
    .unwrap()
}

fn verdict(effect: Effect) -> Verdict {
    Verdict { effect: Some(effect), by: Some("guard".to_owned()), ..Verdict::default() }
}

#[test]
fn records_become_calls_with_outcomes() {
    use EventKind::{AfterTool, BeforeAgent, BeforeStop, BeforeTool, PermissionRequest};
    let before = |id| record(id, &BeforeTool, "x");
    let request = |id| record(id, &PermissionRequest, "x");
    let after = |id| record(id, &AfterTool, "x");
    let other = || record("o", &AfterTool, "other");
    let stop = || record("e", &BeforeStop, "");
    let mut allowed = before("a");
    (allowed.verdict, allowed.answered) = (verdict(Effect::Allow), Some(answer("allow")));
    let mut denied = before("a");
    (denied.verdict, denied.answered) = (verdict(Effect::Deny), Some(answer("deny")));
    let mut failed = before("a");
    failed.verdict = verdict(Effect::Deny);
    let mut asked = before("a");
    asked.verdict = verdict(Effect::Ask);
    let resolution = {
        let mut told = serde_json::to_value(answer("deny")).unwrap();
        told["type"] = "decision:resolved".into();
        let mut record = record("z", &EventKind::Other("decision:resolved".to_owned()), "");
        record.host = "anyhook".to_owned();
        record.payload = Some(Payload::new(told.to_string().as_bytes()));
        record
    };
    let replied = {
        let name = EventKind::Other("permission.replied".to_owned());
        let mut record = record("z", &name, "unknown");
        let told = json!({"event": {"properties": {"reply": "reject"}}});
        record.payload = Some(Payload::new(told.to_string().as_bytes()));
        record
    };
    for (what, records, expected) in [
        ("nothing stopped it", vec![before("a")], (Ran, 1)),
        ("it ran", vec![before("a"), after("b")], (Ran, 1)),
        ("answered while it waited", vec![allowed], (Allowed, 1)),
        ("denied while it waited", vec![denied], (Denied, 1)),
        ("a hook's failure is no one's decision", vec![failed], (CallOutcome::Unanswered, 1)),
        ("answered later", vec![asked.clone(), resolution], (Denied, 1)),
        ("no answer", vec![asked.clone()], (CallOutcome::Unanswered, 1)),
        ("in the dialog: it ran", vec![before("a"), request("b"), after("c")], (Allowed, 2)),
        (
            "in the dialog: it did not",
            vec![other(), before("a"), request("b"), stop()],
            (Denied, 2),
        ),
        ("the next prompt", vec![other(), asked, record("e", &BeforeAgent, "")], (Denied, 1)),
        ("still open", vec![other(), before("a"), request("b")], (CallOutcome::Unanswered, 2)),
        ("this agent reports no ends", vec![request("b"), stop()], (CallOutcome::Unanswered, 1)),
        ("the agent tells", vec![request("b"), replied], (Denied, 1)),
        ("it never ran", vec![other(), before("a"), stop()], (CallOutcome::Unanswered, 1)),
    ] {
        assert_eq!(outcomes(records), [expected], "{what}");
    }
}
