//! The texts of notices: made from approval requests, agents' states, pipelines and alarms.

use std::path::Path;

use anyhook_flow::DaemonState;
use anyhook_flow::NoticeName;
use anyhook_flow::agents::Agent;
use anyhook_flow::pipeline::{NoticeMoment, Pipeline};
use anyhook_model::approval_request::ApprovalKind;
use anyhook_model::bus::AlarmReport;
use anyhook_model::notice::{NOTICE_VERSION, NoticeKind, NoticeOption};
use anyhook_model::{AgentState, AlarmKind, ApprovalRequest, FailureKind, Notice, PromptType};

use super::{claim, text};

/// The description of a call may be long; what to do about it must still fit.
const ABOUT: usize = 400;

/// Returns the notice of something that waits for a person's decision. Its id is that of the
/// approval request.
///
/// `called` is the agent's display name, if it has one.
pub fn of_inquiry(
    inquiry: &ApprovalRequest,
    agent: Option<&Agent>,
    called: Option<&str>,
) -> Notice {
    let host = agent.and_then(|agent| agent.host.as_deref());
    let name = called.map_or_else(|| name(&inquiry.agent, host), shown);
    let title = match (inquiry.kind, &inquiry.tool) {
        (ApprovalKind::Escalation, _) => format!("{name} needs you"),
        (ApprovalKind::Gate, _) => format!("{name} needs your decision"),
        (ApprovalKind::Question, _) => format!("{name} has a question"),
        (_, Some(tool)) => format!("{name} wants to run {tool}"),
        (_, None) => format!("{name} asks for permission"),
    };
    // A permission's question says no more than the title.
    let question = (inquiry.kind != ApprovalKind::Permission || inquiry.about.is_none())
        .then_some(inquiry.question.as_str());
    let options = numbered(inquiry);
    let project = agent.and_then(|agent| agent.project.as_deref());
    let body = body(&[
        question.map(|question| text::line(question, ABOUT)),
        inquiry.about.as_deref().map(|about| text::line(about, ABOUT)),
        project.map(place),
        how_to_answer(inquiry.id.as_str(), &options),
    ]);
    Notice {
        v: NOTICE_VERSION,
        id: inquiry.id.as_str().to_owned(),
        kind: NoticeKind::Decision,
        agent: inquiry.agent.clone(),
        title: text::line(&title, text::TITLE),
        body,
        decision: Some(inquiry.id.clone()),
        options,
        until: inquiry.until,
        host: host.map(str::to_owned),
        project: project.map(str::to_owned),
        url: None,
        at: inquiry.created,
    }
}

/// Returns the notice of an agent's current state; `None` if a person need not act on it.
///
/// Its id names the agent, its state and since when: if reported twice, it is one notice.
pub fn of_agent(id: &str, agent: &Agent, called: Option<&str>) -> Option<Notice> {
    let name = called.map_or_else(|| name(id, agent.host.as_deref()), shown);
    let (kind, says) = match (agent.state, &agent.tool) {
        (AgentState::Working | AgentState::Exited, _) => return None,
        (AgentState::Idle | AgentState::Prompting(PromptType::Idle), _) => {
            (NoticeKind::Idle, " is done and waiting for you".to_owned())
        }
        (AgentState::Prompting(PromptType::Permission), Some(tool)) => {
            (NoticeKind::Prompt, format!(" wants to run {tool}"))
        }
        (AgentState::Prompting(kind), _) => (NoticeKind::Prompt, prompt(kind).to_owned()),
        (AgentState::Failed(kind), _) => (NoticeKind::Failed, failure(kind).to_owned()),
        (AgentState::Gone, _) => {
            (NoticeKind::Gone, " ended unexpectedly: its process is gone".to_owned())
        }
    };
    let about = agent.about.as_deref().filter(|_| kind == NoticeKind::Prompt);
    let body =
        body(&[about.map(|about| text::line(about, ABOUT)), agent.project.as_deref().map(place)]);
    Some(Notice {
        v: NOTICE_VERSION,
        id: format!("{}/{}/{}/{id}", kind.name(), agent.activity, agent.since.as_millisecond()),
        kind,
        agent: id.to_owned(),
        title: text::line(&format!("{name}{says}"), text::TITLE),
        body,
        decision: None,
        options: Vec::new(),
        until: None,
        host: agent.host.clone(),
        project: agent.project.clone(),
        url: None,
        at: agent.since,
    })
}

/// Returns the notice of a pipeline at a moment; `None` if it does not notify then.
fn of_pipeline(pipeline: &Pipeline, moment: NoticeMoment, visits: u64) -> Option<Notice> {
    let plan = &pipeline.plan;
    let view = pipeline.view(&|_| String::new());
    let name = plan.run_name.as_ref().unwrap_or(&plan.name);
    let (word, at) = match moment {
        NoticeMoment::Start => ("started", Some(view.created)),
        NoticeMoment::Done => ("completed", view.ended),
        NoticeMoment::Fail => ("failed", view.ended),
        NoticeMoment::Cancel => ("was cancelled", view.ended),
    };
    let body = body(&[
        Some(text::line(pipeline.notice(moment)?, ABOUT)),
        view.why.as_deref().map(|why| text::line(why, ABOUT)),
        Some(place(&plan.project)),
    ]);
    Some(Notice {
        v: NOTICE_VERSION,
        id: format!("{}-{word}-{visits}", plan.id),
        kind: NoticeKind::Pipeline,
        agent: format!("{} {}", plan.name, plan.id),
        title: text::line(&format!("Pipeline {name} {word}"), text::TITLE),
        body,
        decision: None,
        options: Vec::new(),
        until: None,
        host: None,
        project: Some(plan.project.clone()),
        url: None,
        at: at?,
    })
}

/// Returns the notice of what bypassed a guard, changed one or keeps one from guarding.
fn of_alarms(report: &AlarmReport, called: Option<&str>) -> Notice {
    let name = called.map_or_else(|| name(&report.agent, Some(&report.host)), shown);
    let worst = report.alarms.iter().map(|alarm| alarm.kind).min_by_key(|kind| urgency(*kind));
    let says = worst.map_or("", alarm);
    let texts = report.alarms.iter().map(|alarm| Some(text::line(&alarm.text, ABOUT)));
    let parts: Vec<_> = texts.chain([report.project.as_deref().map(place)]).collect();
    Notice {
        v: NOTICE_VERSION,
        id: format!("alarm-{}", report.record),
        kind: NoticeKind::Alarm,
        agent: report.agent.clone(),
        title: text::line(&format!("{name}{says}"), text::TITLE),
        body: body(&parts),
        decision: None,
        options: Vec::new(),
        until: None,
        host: Some(report.host.clone()),
        project: report.project.clone(),
        url: None,
        at: report.at,
    }
}

/// Orders alarms: what has happened comes before what may happen.
fn urgency(kind: AlarmKind) -> u8 {
    match kind {
        AlarmKind::DeniedButRan => 0,
        AlarmKind::RanUnasked => 1,
        AlarmKind::EntryRemoved => 2,
        AlarmKind::ProgramChanged => 3,
        AlarmKind::GuardChanged => 4,
        AlarmKind::HooksOff => 5,
    }
}

fn alarm(kind: AlarmKind) -> &'static str {
    match kind {
        AlarmKind::DeniedButRan => " ran a denied call",
        AlarmKind::RanUnasked => " ran a call without asking",
        AlarmKind::EntryRemoved => ": anyhook was removed from its settings",
        AlarmKind::ProgramChanged => ": the anyhook program was replaced",
        AlarmKind::GuardChanged => ": a guard changed during the session",
        AlarmKind::HooksOff => ": hooks are off",
    }
}

/// Returns the notice with a name; `None` if what it is about is over.
pub fn of_name(name: &NoticeName, state: &DaemonState) -> Option<Notice> {
    match name {
        NoticeName::Decision(id) => {
            let held = state.inquiries.get(id).filter(|held| held.resolution.is_none())?;
            let agent = &held.inquiry.agent;
            let called = state.agent_name(agent);
            Some(of_inquiry(&held.inquiry, state.agents.get(agent), called.as_deref()))
        }
        NoticeName::Agent(id, kind, activity) => {
            let agent = state.agents.get(id).filter(|agent| agent.activity == *activity)?;
            let called = state.agent_name(id);
            of_agent(id, agent, called.as_deref()).filter(|notice| notice.kind == *kind)
        }
        NoticeName::Pipeline(id, moment, visits) => {
            of_pipeline(state.pipelines.get(id)?, *moment, *visits)
        }
        NoticeName::Alarm(id) => state.outbox.alarms.get(id).map(|report| {
            let called = state.agent_name(&report.agent);
            of_alarms(report, called.as_deref())
        }),
    }
}

/// Makes the texts of a notice safe to show, wherever they came from.
pub fn made_fit(mut notice: Notice) -> Notice {
    let fit = |text: Option<String>| text.map(|text| text::line(&text, text::BODY));
    notice.id = claim::short_id(&notice.id);
    notice.host = fit(notice.host);
    notice.project = fit(notice.project);
    notice.agent = text::line(&notice.agent, text::NAME);
    notice.title = text::line(&notice.title, text::TITLE);
    notice.body = text::line(&notice.body, text::BODY);
    for option in &mut notice.options {
        option.name = text::line(&option.name, text::NAME);
        option.does = text::line(&option.does, text::TITLE);
    }
    notice
}

fn prompt(kind: PromptType) -> &'static str {
    match kind {
        PromptType::Permission => " asks for permission",
        PromptType::PlanApproval => " has a plan for you to approve",
        PromptType::Question => " has a question",
        PromptType::Idle | PromptType::Other => " is waiting for you",
    }
}

fn failure(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unauthorized => " failed: its API key or login was rejected",
        FailureKind::OutOfCredits => " failed: out of credits",
        FailureKind::NoNetwork => " failed: cannot reach the model",
        FailureKind::RateLimited => " failed: rate limit reached",
        FailureKind::Other => " failed",
    }
}

/// Returns the agent's display name: its host, if its id consists only of the host and a session.
fn name(id: &str, host: Option<&str>) -> String {
    let host = host.filter(|host| {
        id.strip_prefix(host).is_some_and(|session| session.is_empty() || session.starts_with(':'))
    });
    shown(host.unwrap_or(id))
}

fn shown(name: &str) -> String {
    text::line(name, text::NAME / 2)
}

fn numbered(inquiry: &ApprovalRequest) -> Vec<NoticeOption> {
    (1..)
        .zip(&inquiry.options)
        .map(|(number, choice)| NoticeOption {
            number,
            name: text::line(&choice.name, text::NAME),
            does: text::line(&choice.does, text::TITLE),
        })
        .collect()
}

fn how_to_answer(id: &str, options: &[NoticeOption]) -> Option<String> {
    let choices: Vec<_> =
        options.iter().map(|option| format!("{} ({})", option.number, option.name)).collect();
    let (last, others) = choices.split_last()?;
    let choices =
        if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
    Some(format!("anyhook decision resolve {id} {choices}"))
}

fn place(project: &str) -> String {
    let folder = Path::new(project)
        .file_name()
        .map_or_else(|| project.into(), |name| name.to_string_lossy());
    format!("in {}", text::line(&folder, text::NAME))
}

fn body(parts: &[Option<String>]) -> String {
    let parts: Vec<_> =
        parts.iter().flatten().map(String::as_str).filter(|part| !part.is_empty()).collect();
    text::line(&parts.join(" · "), text::BODY)
}

#[cfg(test)]
pub(crate) mod tests {
    use anyhook_flow::agents::Agents;
    use anyhook_model::BusEvent;
    use anyhook_model::RecordId;
    use anyhook_model::approval_request::Choice;
    use serde_json::{Value, json};

    use super::*;

    /// Returns a notice of a decision with that id.
    pub(crate) fn notice(id: &str) -> Notice {
        Notice { id: id.to_owned(), ..of_inquiry(&inquiry(), None, None) }
    }

    fn inquiry() -> ApprovalRequest {
        ApprovalRequest {
            id: RecordId::from_text("7k2m9x4q"),
            kind: ApprovalKind::Permission,
            agent: "claude-code:s1".to_owned(),
            question: "May it run Shell?".to_owned(),
            tool: Some("Shell".to_owned()),
            about: Some("rm -rf build".to_owned()),
            digest: None,
            hook: None,
            calls: Vec::new(),
            options: vec![Choice::new("allow", "it runs"), Choice::new("deny", "it does not")],
            questions: Vec::new(),
            created: "2026-01-01T00:00:00Z".parse().unwrap(),
            until: Some("2026-01-01T00:05:00Z".parse().unwrap()),
        }
    }

    fn agent(mut event: Value) -> Agent {
        event["agent"] = "claude-code:s1".into();
        event["host"] = "claude-code".into();
        event["project"] = "/home/me/shop".into();
        event["source"] = "hook".into();
        event["at"] = "2026-01-01T00:00:00Z".into();
        let event: BusEvent = serde_json::from_value(event).unwrap();
        let mut agents = Agents::default();
        agents.hear(&event, "2026-01-01T00:00:00Z".parse().unwrap());
        agents.get("claude-code:s1").unwrap().clone()
    }

    #[test]
    fn a_permission_says_what_it_is_about_and_how_to_answer() {
        let agent = agent(json!({"type": "agent:working"}));
        let notice = of_inquiry(&inquiry(), Some(&agent), None);
        assert_eq!(notice.title, "claude-code wants to run Shell");
        assert_eq!(
            notice.body,
            "rm -rf build · in shop · anyhook decision resolve 7k2m9x4q 1 (allow) or 2 (deny)"
        );
        assert_eq!((notice.id.as_str(), notice.kind), ("7k2m9x4q", NoticeKind::Decision));
        assert_eq!(notice.options[1].number, 2);
        assert_eq!(notice.until, inquiry().until);
    }

    #[test]
    fn an_escalation_says_what_the_agent_said() {
        let inquiry = ApprovalRequest {
            kind: ApprovalKind::Escalation,
            agent: "reviewer".to_owned(),
            question: "Which of the two?".to_owned(),
            tool: None,
            about: None,
            options: vec![Choice::new("dismiss", "nothing")],
            ..inquiry()
        };
        let notice = of_inquiry(&inquiry, None, None);
        assert_eq!(notice.title, "reviewer needs you");
        assert_eq!(
            notice.body,
            "Which of the two? · anyhook decision resolve 7k2m9x4q 1 (dismiss)"
        );
    }

    #[test]
    fn a_gate_says_what_the_workflow_waits_for() {
        let inquiry = ApprovalRequest {
            kind: ApprovalKind::Gate,
            agent: "workflow/requirements".to_owned(),
            question: "Approve `requirements`?".to_owned(),
            tool: None,
            about: None,
            options: vec![Choice::new("approve", "it goes on"), Choice::new("reject", "not so")],
            ..inquiry()
        };
        let notice = of_inquiry(&inquiry, None, None);
        assert_eq!(notice.title, "workflow/requirements needs your decision");
        assert_eq!(
            notice.body,
            "Approve `requirements`? · anyhook decision resolve 7k2m9x4q 1 (approve) or 2 (reject)"
        );
    }

    #[test]
    fn what_is_hostile_is_shown_as_text_and_leaves_room_for_the_answer() {
        let inquiry = ApprovalRequest {
            about: Some("\u{1b}[2J$(touch x)\n' \u{202e}".to_owned() + &"x".repeat(100_000)),
            tool: Some("Sh\nell".to_owned()),
            ..inquiry()
        };
        let notice = of_inquiry(&inquiry, None, None);
        assert_eq!(notice.title, "claude-code:s1 wants to run Sh ell");
        assert!(notice.body.starts_with("[2J$(touch x) ' xxx"), "{}", notice.body);
        assert!(notice.body.ends_with("7k2m9x4q 1 (allow) or 2 (deny)"), "{}", notice.body);
    }

    #[test]
    fn states_that_need_a_person_have_words() {
        for (event, kind, title) in [
            (json!({"type": "agent:idle"}), NoticeKind::Idle, "is done and waiting for you"),
            (
                json!({"type": "agent:prompt", "prompt_type": "permission", "tool": "Shell"}),
                NoticeKind::Prompt,
                "wants to run Shell",
            ),
            (
                json!({"type": "agent:prompt", "prompt_type": "question"}),
                NoticeKind::Prompt,
                "has a question",
            ),
            (
                json!({"type": "agent:failed", "kind": "rate_limited"}),
                NoticeKind::Failed,
                "failed: rate limit reached",
            ),
            (
                json!({"type": "agent:gone"}),
                NoticeKind::Gone,
                "ended unexpectedly: its process is gone",
            ),
        ] {
            let notice = of_agent("claude-code:s1", &agent(event), None).unwrap();
            assert_eq!((notice.kind, notice.title), (kind, format!("claude-code {title}")));
            assert_eq!(notice.body, "in shop");
        }
        for event in [json!({"type": "agent:working"}), json!({"type": "agent:exited"})] {
            assert_eq!(of_agent("claude-code:s1", &agent(event), None), None);
        }
    }

    #[test]
    fn an_alarm_says_the_worst_first_and_all_of_it() {
        let report: AlarmReport = serde_json::from_value(json!({
            "record": "7k2m9x4q", "agent": "opencode:s1", "host": "opencode",
            "project": "/home/me/shop", "at": "2026-01-01T00:00:00Z",
            "alarms": [
                {"kind": "hooks_off", "text": "1 hook is off, unusable: broken (anyhook check)"},
                {"kind": "denied_but_ran", "text": "denied but ran: opencode ran `Shell rm x`"},
            ],
        }))
        .unwrap();
        let notice = of_alarms(&report, None);
        assert_eq!(notice.title, "opencode ran a denied call");
        assert_eq!(
            notice.body,
            "1 hook is off, unusable: broken (anyhook check) · denied but ran: opencode ran `Shell rm x` · in shop"
        );
        assert_eq!((notice.id.as_str(), notice.kind), ("alarm-7k2m9x4q", NoticeKind::Alarm));
    }

    #[test]
    fn the_same_rest_is_the_same_notice() {
        let idle = agent(json!({"type": "agent:idle"}));
        let id = |agent: &Agent| of_agent("claude-code:s1", agent, None).unwrap().id;
        assert_eq!(id(&idle), id(&idle.clone()));
        assert_ne!(id(&idle), id(&Agent { activity: idle.activity + 1, ..idle.clone() }));
        assert_ne!(id(&idle), id(&agent(json!({"type": "agent:gone"}))));
    }
}
