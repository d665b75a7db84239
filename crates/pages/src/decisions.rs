//! Decisions that wait for a person, and how they ended.

use std::io;

use anyhook_flow::approval_requests::{ended, listed};
use anyhook_model::ApprovalRequest;
use anyhook_model::approval_request::{AgentQuestion, Choice, StandingAnswer};
use anyhook_model::daemon::{AgentView, DecisionView};
use anyhook_terminal::format::{age, brief};
use anyhook_terminal::{Cell, Out, StyledLine, Tone, columns, counted, first_line};
use jiff::{SignedDuration, Timestamp};

/// Writes a line for each decision.
pub fn table(decisions: &[DecisionView], out: &mut Out) -> io::Result<()> {
    let mut rows = vec![
        ["decision", "agent", "for", "what", "choose"]
            .map(|title| Cell::new(Tone::Dim, title))
            .to_vec(),
    ];
    for decision in decisions {
        let inquiry = &decision.inquiry;
        let (tone, choose) = match (&decision.resolution, &decision.claimed) {
            (None, None) => (Tone::Warn, listed(&inquiry.options)),
            (None, Some(claim)) => {
                (Tone::Hint, format!("{} claimed it: {}", claim.by, listed(&inquiry.options)))
            }
            (Some(resolution), _) => (Tone::Dim, ended(resolution)),
        };
        rows.push(vec![
            Cell::new(Tone::Strong, inquiry.id.to_string()),
            Cell::new(Tone::Plain, decision.shown_agent()),
            Cell::new(Tone::Plain, waited(decision)),
            Cell::new(Tone::Plain, what(decision)),
            Cell::new(tone, choose),
        ]);
    }
    out.table(&rows)
}

/// Returns how long a decision has waited, or had waited when it was made.
fn waited(decision: &DecisionView) -> String {
    brief(SignedDuration::from_millis(i64::try_from(decision.waited_ms).unwrap_or(i64::MAX)))
}

/// Returns a line for each standing answer.
pub fn standing(
    standing: &[StandingAnswer],
    agents: &[AgentView],
    now: Timestamp,
) -> Vec<StyledLine> {
    let name = |id: &str| {
        let known = agents.iter().find(|agent| agent.id == id);
        known.map_or(id, AgentView::shown_name).to_owned()
    };
    let titles = ["decision", "agent", "for", "allowed without asking", "by", "used"];
    let mut rows = vec![titles.map(|title| Cell::new(Tone::Dim, title)).to_vec()];
    for one in standing {
        let about = one.about.as_deref().unwrap_or(&one.question);
        let call = match &one.tool {
            Some(tool) => format!("{tool}: {about}"),
            None => about.to_owned(),
        };
        let used = usize::try_from(one.used).unwrap_or(usize::MAX);
        rows.push(vec![
            Cell::new(Tone::Strong, one.id.to_string()),
            Cell::new(Tone::Plain, name(&one.agent)),
            Cell::new(Tone::Plain, age(one.since, now)),
            Cell::new(Tone::Plain, first_line(&call, 60)),
            Cell::new(Tone::Plain, one.by.clone()),
            Cell::new(Tone::Plain, counted(used, "time")),
        ]);
    }
    columns(&rows)
}

/// Shows all that is known of a decision, and how to answer it.
pub fn show(decision: &DecisionView, now: Timestamp, out: &mut Out) -> io::Result<()> {
    let inquiry = &decision.inquiry;
    out.line(&[
        (Tone::Strong, inquiry.id.as_str()),
        (Tone::Plain, " "),
        (Tone::Plain, &inquiry.question),
    ])?;
    let until = inquiry
        .until
        .map(|until| format!("{}, then the agent asks in its own dialog", age(now, until)));
    let open_until = until.filter(|_| decision.resolution.is_none());
    let agent = match &decision.agent_name {
        Some(name) => format!("{name} ({})", inquiry.agent),
        None => inquiry.agent.clone(),
    };
    let resolution = decision.resolution.as_ref();
    let rows = [
        ("agent", Some(agent)),
        ("pipeline", decision.pipeline.clone()),
        ("tool", inquiry.tool.clone()),
        ("about", inquiry.about.clone()),
        ("input", inquiry.digest.as_ref().map(|digest| format!("sha256:{digest}"))),
        ("asked", Some(format!("{} ago", age(inquiry.created, now)))),
        ("expires in", open_until),
        (
            "claimed",
            decision
                .claimed
                .as_ref()
                .map(|claim| format!("by {}, {} ago", claim.by, age(claim.at, now))),
        ),
        ("waited", resolution.map(|_| waited(decision))),
        (
            "ended",
            resolution.map(|resolution| {
                format!("{}, {} ago", ended(resolution), age(resolution.at, now))
            }),
        ),
        (
            "again",
            resolution
                .filter(|made| made.again)
                .map(|_| "identical calls are allowed for the rest of the session".to_owned()),
        ),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            out.field(name, Tone::Plain, &value)?;
        }
    }
    if decision.resolution.is_none() {
        let is_simple = is_simple(&inquiry.questions);
        for question in inquiry.questions.iter().filter(|_| !is_simple) {
            let several =
                if question.multiple { "  (choose any, separated by commas)" } else { "" };
            out.line(&[(Tone::Strong, &question.text), (Tone::Dim, several)])?;
            show_options(&question.options, out)?;
        }
        show_options(&inquiry.options, out)?;
        for command in how_to_answer(inquiry) {
            out.hint(&command)?;
        }
    }
    Ok(())
}

/// Returns whether the options of a decision are the only possible answers, apart from free text.
fn is_simple(questions: &[AgentQuestion]) -> bool {
    matches!(questions, [] | [AgentQuestion { multiple: false, .. }])
}

fn show_options(options: &[Choice], out: &mut Out) -> io::Result<()> {
    for (index, option) in options.iter().enumerate() {
        let number = format!("  {} ", index + 1);
        out.line(&[
            (Tone::Warn, &number),
            (Tone::Strong, &option.name),
            (Tone::Dim, &format!("  {}", option.does)),
        ])?;
    }
    Ok(())
}

/// Returns the commands that answer. An option is named, not numbered: no one should allow a call
/// by pasting a hint without having read it.
pub fn how_to_answer(inquiry: &ApprovalRequest) -> Vec<String> {
    let resolve = format!("anyhook decision resolve {}", inquiry.id);
    if inquiry.questions.is_empty() {
        return inquiry.options.iter().map(|option| format!("{resolve} {}", option.name)).collect();
    }
    let answers: Vec<&str> = inquiry
        .questions
        .iter()
        .map(|question| if question.multiple { "1,2" } else { "1" })
        .collect();
    let mut command = format!("{resolve} {}", answers.join(" "));
    if inquiry.questions.iter().any(|question| question.free_text) {
        command.push_str("   (or your own words in quotes)");
    }
    vec![command]
}

/// Returns what a decision is about, on one line.
fn what(decision: &DecisionView) -> String {
    let inquiry = &decision.inquiry;
    let text = match (&inquiry.tool, &inquiry.about) {
        (Some(tool), Some(about)) => format!("{tool}: {about}"),
        (_, Some(about)) => about.clone(),
        _ => inquiry.question.clone(),
    };
    anyhook_model::json::shorten(text.lines().next().unwrap_or(""), 60)
}
