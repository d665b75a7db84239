//! Approval requests: what waits for a person's decision, and how it was resolved. The first answer
//! wins.

use std::collections::BTreeMap;

use anyhook_model::approval_request::{
    ANSWER, AgentQuestion, ApprovalEnding, ApprovalKind, Choice, Claim, QuestionAnswer,
    StandingAnswer,
};
use anyhook_model::bus::{AgentReport, AgentSignal};
use anyhook_model::id_prefix::{PrefixMatch, find_by_prefix};
use anyhook_model::json::shorten;
use anyhook_model::nearest::nearest;
use anyhook_model::{ApprovalRequest, BusEvent, RecordId, Resolution, StateSource};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Resolved requests are remembered for this time: the process that waited may ask again.
const REMEMBER: SignedDuration = SignedDuration::from_hours(24);
/// Maximum number of resolved requests that are remembered.
const REMEMBERED: usize = 1000;
/// Maximum number of open requests.
pub const OPEN_AT_ONCE: usize = 10_000;

/// The option that lets a call run.
pub const ALLOW: &str = "allow";

/// Maximum length of a question that an agent asks.
const QUESTION_LIMIT: usize = 1000;

/// Length of the digest prefix that identifies a call.
const CALL_DIGEST: usize = 32;

/// Returns the event that the call of an approval request is running: someone allowed it elsewhere.
pub fn call_runs(inquiry: &ApprovalRequest, now: Timestamp) -> BusEvent {
    let digest = inquiry.digest.as_deref();
    BusEvent::AgentWorking(AgentReport {
        agent: inquiry.agent.clone(),
        source: StateSource::Process,
        at: Some(now),
        tool: inquiry.tool.clone(),
        about: inquiry.about.clone(),
        call: digest.and_then(|digest| digest.get(..CALL_DIGEST)).map(str::to_owned),
        ..AgentReport::default()
    })
}

/// Every approval request, by id. Open ones are kept separately: every event of an agent is checked
/// against them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequests {
    open: BTreeMap<RecordId, HeldRequest>,
    made: BTreeMap<RecordId, HeldRequest>,
    /// Answers that stand for the rest of a session, by the decision they follow from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    standing: BTreeMap<RecordId, StandingAnswer>,
}

/// An approval request and its resolution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldRequest {
    /// What is asked.
    pub inquiry: ApprovalRequest,
    /// How it was resolved; `None` while it is open.
    pub resolution: Option<Resolution>,
    /// Who claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claim>,
}

/// Why an answer is not accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// There is no such decision.
    #[error("there is no decision `{0}`")]
    Unknown(String),
    /// Several begin with this text.
    #[error("`{0}` matches several decisions: {1}")]
    Ambiguous(String, String),
    /// There is no such option.
    #[error("decision {id} has no option `{choice}`: {options}")]
    NoSuchChoice {
        /// The decision.
        id: RecordId,
        /// What was typed.
        choice: String,
        /// The options, listed.
        options: String,
        /// The option that was probably meant.
        near: Option<String>,
    },
    /// There are more or fewer answers than questions.
    #[error("decision {0} {1}, but got {2}")]
    WrongNumber(RecordId, String, usize),
    /// Someone else was first.
    #[error("decision {} was already made: {}", .0.id, ended(.0))]
    AlreadyResolved(Box<Resolution>),
}

impl AnswerError {
    /// Returns the error that a text matches all of these ids.
    pub fn ambiguous<'all>(text: &str, ids: impl Iterator<Item = &'all RecordId>) -> Self {
        let ids: Vec<&str> = ids.map(RecordId::as_str).collect();
        Self::Ambiguous(text.to_owned(), ids.join(", "))
    }
}

/// Describes how a decision was resolved.
pub fn ended(resolution: &Resolution) -> String {
    match (&resolution.choice, resolution.ending) {
        (Some(choice), ApprovalEnding::Chosen) => {
            let answers = resolution.answers.iter().map(|one| one.answer.join(", "));
            let answers = answers.collect::<Vec<_>>().join("; ");
            let said =
                if answers.is_empty() { choice.clone() } else { format!("answered {answers}") };
            match &resolution.follows {
                Some(earlier) => format!("{said}, as in decision {earlier} by {}", resolution.by),
                None => format!("{said}, by {}", resolution.by),
            }
        }
        (_, ApprovalEnding::Expired) => "no answer in time".to_owned(),
        (_, ApprovalEnding::Dismissed | ApprovalEnding::Chosen) => {
            format!("dismissed: {}", resolution.by)
        }
    }
}

impl ApprovalRequests {
    /// Returns one by its id.
    pub fn get(&self, id: &RecordId) -> Option<&HeldRequest> {
        self.open.get(id).or_else(|| self.made.get(id))
    }

    /// Returns all of them, the open ones first.
    pub fn iter(&self) -> impl Iterator<Item = &HeldRequest> {
        self.open.values().chain(self.made.values())
    }

    /// Returns those that are open.
    pub fn open(&self) -> impl Iterator<Item = &ApprovalRequest> {
        self.open.values().map(|held| &held.inquiry)
    }

    /// Returns the open requests about an agent.
    pub fn open_about<'all>(
        &'all self,
        agent: &'all str,
    ) -> impl Iterator<Item = &'all ApprovalRequest> {
        self.open().filter(move |inquiry| inquiry.agent == agent)
    }

    /// Adds a new request; an existing one stays as it is. Returns whether it is new.
    pub fn add(&mut self, inquiry: &ApprovalRequest, now: Timestamp) -> bool {
        if self.get(&inquiry.id).is_some() {
            return false;
        }
        self.forget(now);
        let held = HeldRequest { inquiry: inquiry.clone(), resolution: None, claimed: None };
        self.open.insert(inquiry.id.clone(), held);
        true
    }

    /// Adds the options that an open request does not have yet.
    pub fn add_options(&mut self, id: &RecordId, options: &[Choice]) {
        let Some(held) = self.open.get_mut(id) else { return };
        let known = &mut held.inquiry.options;
        for option in options {
            if !known.iter().any(|known| known.name == option.name) {
                known.push(option.clone());
            }
        }
    }

    /// Resolves a request. Returns whether this is the first answer.
    pub fn end(&mut self, resolution: &Resolution) -> bool {
        let Some(mut held) = self.open.remove(&resolution.id) else { return false };
        held.resolution = Some(resolution.clone());
        // The journal has them.
        held.inquiry.calls = Vec::new();
        self.made.insert(resolution.id.clone(), held);
        true
    }

    /// Reads a person's answer: an id or a prefix of one, an option's number or name.
    pub fn answer(
        &self,
        id: &str,
        choice: &str,
        more: &[String],
        message: Option<String>,
        by: String,
        now: Timestamp,
    ) -> Result<Resolution, AnswerError> {
        let held = self.find(id)?;
        if let Some(resolution) = &held.resolution {
            return Err(AnswerError::AlreadyResolved(Box::new(resolution.clone())));
        }
        let inquiry = &held.inquiry;
        let (choice, answers) = chosen(inquiry, choice, more)?;
        let who = by.clone();
        Ok(Resolution {
            id: inquiry.id.clone(),
            agent: inquiry.agent.clone(),
            ending: ApprovalEnding::Chosen,
            choice: Some(choice),
            message,
            answers,
            by,
            process: None,
            at: now,
            digest: inquiry.digest.clone(),
            asked: Some(inquiry.created),
            agent_name: None,
            pipeline: None,
            claimed_by: held.claimed.as_ref().map(|claim| claim.by.clone()).filter(|by| *by != who),
            again: false,
            follows: None,
            signature: None,
        })
    }

    /// Sets or clears who has claimed an open request.
    pub fn claim(&mut self, id: &RecordId, claim: Option<&Claim>) {
        if let Some(held) = self.open.get_mut(id) {
            held.claimed = claim.cloned();
        }
    }

    /// Returns why an answer cannot stand for the rest of the session, if so.
    pub fn may_stand(&self, resolution: &Resolution) -> Result<(), &'static str> {
        let Some(held) = self.open.get(&resolution.id) else { return Err("it is not open") };
        let is_call = matches!(held.inquiry.kind, ApprovalKind::Permission | ApprovalKind::Ask);
        if !is_call || held.inquiry.digest.is_none() {
            return Err("it is not about a call of a tool");
        }
        if resolution.choice.as_deref() != Some(ALLOW) {
            return Err("only `allow` can be repeated for the same call");
        }
        Ok(())
    }

    /// Makes the answer to a decision stand for a session.
    pub fn let_stand(&mut self, resolution: &Resolution, session: Option<&str>) {
        let Some(held) = self.get(&resolution.id) else { return };
        let inquiry = &held.inquiry;
        let Some(digest) = inquiry.digest.clone() else { return };
        let standing = StandingAnswer {
            id: inquiry.id.clone(),
            kind: inquiry.kind,
            agent: inquiry.agent.clone(),
            session: session.map(str::to_owned),
            question: inquiry.question.clone(),
            tool: inquiry.tool.clone(),
            about: inquiry.about.clone(),
            digest,
            by: resolution.by.clone(),
            since: resolution.at,
            used: 0,
        };
        self.standing.insert(standing.id.clone(), standing);
    }

    /// Returns the standing answers.
    pub fn standing(&self) -> impl Iterator<Item = &StandingAnswer> {
        self.standing.values()
    }

    /// Returns the answer that stands for a request: same agent and session, exactly the same call.
    /// For a hook's request, the question must be the same, too: it may be from another hook.
    pub fn standing_for(
        &self,
        inquiry: &ApprovalRequest,
        session: Option<&str>,
    ) -> Option<&StandingAnswer> {
        let digest = inquiry.digest.as_deref()?;
        self.standing.values().find(|standing| {
            standing.agent == inquiry.agent
                && standing.kind == inquiry.kind
                && standing.digest == digest
                && standing.tool == inquiry.tool
                && standing.session.as_deref() == session
                && (inquiry.kind == ApprovalKind::Permission
                    || standing.question == inquiry.question)
        })
    }

    /// Counts a use of a standing answer.
    pub fn count_use(&mut self, id: &RecordId) {
        if let Some(standing) = self.standing.get_mut(id) {
            standing.used += 1;
        }
    }

    /// Revokes a standing answer. Returns whether there was one.
    pub fn revoke(&mut self, id: &RecordId) -> bool {
        self.standing.remove(id).is_some()
    }

    /// Removes the standing answers of an agent that do not belong to this session; all of them if
    /// it is `None`.
    pub fn end_standing(&mut self, agent: &str, session: Option<&str>) {
        self.standing.retain(|_, standing| {
            standing.agent != agent || session.is_some() && standing.session.as_deref() == session
        });
    }

    /// Finds a request by its id or a prefix of it; open ones take precedence over resolved ones.
    pub fn find(&self, id: &str) -> Result<&HeldRequest, AnswerError> {
        if let Some(held) = self.get(&RecordId::from_text(id)) {
            return Ok(held);
        }
        let open = find_by_prefix(id, self.open.values(), |held| held.inquiry.id.as_str());
        let found = open
            .or_else(|| find_by_prefix(id, self.made.values(), |held| held.inquiry.id.as_str()));
        single_match(found, id)
    }

    /// Returns when the next one expires.
    pub fn next_end(&self) -> Option<Timestamp> {
        self.open().filter_map(|inquiry| inquiry.until).min()
    }

    /// Returns the resolutions of the requests that have expired.
    pub fn expired(&self, now: Timestamp) -> Vec<Resolution> {
        let is_over = |inquiry: &&ApprovalRequest| inquiry.until.is_some_and(|until| until <= now);
        self.open()
            .filter(is_over)
            .map(|inquiry| without_answer(inquiry, ApprovalEnding::Expired, "nobody", now))
            .collect()
    }

    fn forget(&mut self, now: Timestamp) {
        let made_at = |held: &HeldRequest| held.resolution.as_ref().map(|resolution| resolution.at);
        self.made
            .retain(|_, held| made_at(held).is_some_and(|at| now.duration_since(at) < REMEMBER));
        let mut by_time: Vec<(Option<Timestamp>, RecordId)> =
            self.made.iter().map(|(id, held)| (made_at(held), id.clone())).collect();
        by_time.sort();
        let too_many = by_time.len().saturating_sub(REMEMBERED);
        for (_, id) in by_time.drain(..too_many) {
            self.made.remove(&id);
        }
    }
}

/// Returns the one decision that `text` names, or the error that there is none or several.
pub fn single_match<'all>(
    found: PrefixMatch<&'all HeldRequest>,
    text: &str,
) -> Result<&'all HeldRequest, AnswerError> {
    match found {
        PrefixMatch::Nothing => Err(AnswerError::Unknown(text.to_owned())),
        PrefixMatch::One(held) => Ok(held),
        PrefixMatch::Several(all) => {
            Err(AnswerError::ambiguous(text, all.iter().map(|held| &held.inquiry.id)))
        }
    }
}

/// Reads the choice: the name of an option, or the answers to the agent's questions.
fn chosen(
    inquiry: &ApprovalRequest,
    choice: &str,
    more: &[String],
) -> Result<(String, Vec<QuestionAnswer>), AnswerError> {
    let asked = inquiry.questions.len();
    let option = option(&inquiry.options, choice);
    let is_answer = |option: &Choice| match &inquiry.questions[..] {
        [one] => one.options.contains(option),
        _ => false,
    };
    match option {
        Some(option) if more.is_empty() && !is_answer(option) => {
            Ok((option.name.clone(), Vec::new()))
        }
        None if asked == 0 => Err(no_such_choice(inquiry, choice, &inquiry.options)),
        _ => {
            let given = 1 + more.len();
            if given != asked.max(1) {
                let wants = match asked {
                    0 | 1 => "takes one answer".to_owned(),
                    _ => format!("asks {asked} questions and needs an answer to each"),
                };
                return Err(AnswerError::WrongNumber(inquiry.id.clone(), wants, given));
            }
            let texts = std::iter::once(choice).chain(more.iter().map(String::as_str));
            let answers = inquiry.questions.iter().zip(texts);
            let answers = answers.map(|(question, text)| answer_to(inquiry, question, text));
            Ok((ANSWER.to_owned(), answers.collect::<Result<_, _>>()?))
        }
    }
}

/// Reads the answer to one question: numbers or names of its options, separated by commas if
/// several are allowed, or free text.
fn answer_to(
    inquiry: &ApprovalRequest,
    question: &AgentQuestion,
    text: &str,
) -> Result<QuestionAnswer, AnswerError> {
    let named = |text: &str| option(&question.options, text).map(|option| option.name.clone());
    let parts: Vec<&str> = match named(text) {
        None if question.multiple => text.split(',').map(str::trim).collect(),
        _ => vec![text],
    };
    let known: Option<Vec<String>> = parts.iter().map(|part| named(part)).collect();
    let is_number = |part: &&str| part.parse::<usize>().is_ok();
    let answer = match known {
        Some(known) => known,
        // A number that no option has is a mistake, not free text.
        None if question.free_text && !text.trim().is_empty() && !parts.iter().any(is_number) => {
            vec![text.to_owned()]
        }
        None => return Err(no_such_choice(inquiry, text, &question.options)),
    };
    Ok(QuestionAnswer { question: question.text.clone(), answer })
}

/// Finds an option by its number or its name.
fn option<'all>(options: &'all [Choice], choice: &str) -> Option<&'all Choice> {
    match choice.parse::<usize>().ok() {
        Some(number) => options.get(number.checked_sub(1)?),
        None => options.iter().find(|option| option.name == choice),
    }
}

fn no_such_choice(inquiry: &ApprovalRequest, choice: &str, options: &[Choice]) -> AnswerError {
    let near = nearest(choice, options.iter().map(|option| option.name.as_str()));
    AnswerError::NoSuchChoice {
        id: inquiry.id.clone(),
        choice: choice.to_owned(),
        options: listed(options),
        near: near.map(str::to_owned),
    }
}

/// Returns the resolution of a request that no one answered.
pub fn without_answer(
    inquiry: &ApprovalRequest,
    ending: ApprovalEnding,
    by: &str,
    now: Timestamp,
) -> Resolution {
    Resolution {
        id: inquiry.id.clone(),
        agent: inquiry.agent.clone(),
        ending,
        choice: None,
        message: None,
        answers: Vec::new(),
        by: by.to_owned(),
        process: None,
        at: now,
        digest: inquiry.digest.clone(),
        asked: Some(inquiry.created),
        agent_name: None,
        pipeline: None,
        claimed_by: None,
        again: false,
        follows: None,
        signature: None,
    }
}

/// Returns the approval request for an agent that asks for a person itself.
pub fn escalation(signal: &AgentSignal, id: RecordId, now: Timestamp) -> ApprovalRequest {
    ApprovalRequest {
        id,
        kind: ApprovalKind::Escalation,
        agent: signal.report.agent.clone(),
        question: match &signal.message {
            Some(message) => shorten(message, QUESTION_LIMIT),
            None => "the agent asks for help".to_owned(),
        },
        tool: None,
        about: None,
        digest: None,
        hook: None,
        calls: Vec::new(),
        options: vec![
            Choice::new("done", "it has been handled"),
            Choice::new("dismiss", "nothing needs to be done"),
        ],
        questions: Vec::new(),
        created: now,
        until: None,
    }
}

/// Lists options for people: `1 allow, 2 deny`.
pub fn listed(options: &[Choice]) -> String {
    let numbered: Vec<String> = options
        .iter()
        .enumerate()
        .map(|(index, option)| format!("{} {}", index + 1, option.name))
        .collect();
    numbered.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn inquiry(id: &str) -> ApprovalRequest {
        ApprovalRequest {
            id: RecordId::from_text(id),
            kind: ApprovalKind::Permission,
            agent: "a".to_owned(),
            question: "May it?".to_owned(),
            tool: None,
            about: None,
            digest: Some("d".to_owned()),
            hook: None,
            calls: Vec::new(),
            options: vec![Choice::new("allow", ""), Choice::new("deny", "")],
            questions: Vec::new(),
            created: second(0),
            until: Some(second(60)),
        }
    }

    fn two() -> ApprovalRequests {
        let mut inquiries = ApprovalRequests::default();
        assert!(inquiries.add(&inquiry("abc1"), second(0)));
        assert!(inquiries.add(&inquiry("abd2"), second(0)));
        inquiries
    }

    fn answer(
        inquiries: &ApprovalRequests,
        id: &str,
        choice: &str,
    ) -> Result<Resolution, AnswerError> {
        inquiries.answer(id, choice, &[], None, "ann".to_owned(), second(1))
    }

    #[test]
    fn the_first_answer_wins() {
        let mut inquiries = two();
        let first = answer(&inquiries, "abc1", "1").unwrap();
        let second = answer(&inquiries, "abc1", "deny").unwrap();
        assert_eq!((first.choice.as_deref(), first.digest.as_deref()), (Some("allow"), Some("d")));
        assert!(inquiries.end(&first));
        assert!(!inquiries.end(&second));
        assert_eq!(
            answer(&inquiries, "abc1", "2").unwrap_err().to_string(),
            "decision abc1 was already made: allow, by ann"
        );
    }

    #[test]
    fn an_answer_names_a_decision_and_an_option() {
        let inquiries = two();
        for (id, choice, message) in [
            ("zz", "1", "there is no decision `zz`"),
            ("", "1", "there is no decision ``"),
            ("ab", "1", "`ab` matches several decisions: abc1, abd2"),
            ("abc", "3", "decision abc1 has no option `3`: 1 allow, 2 deny"),
            ("abc", "0", "decision abc1 has no option `0`: 1 allow, 2 deny"),
            ("abc", "perhaps", "decision abc1 has no option `perhaps`: 1 allow, 2 deny"),
        ] {
            assert_eq!(answer(&inquiries, id, choice).unwrap_err().to_string(), message);
        }
        assert_eq!(answer(&inquiries, "abc", "2").unwrap().choice.as_deref(), Some("deny"));
    }

    fn questions() -> ApprovalRequests {
        let options = vec![Choice::new("red", "warm"), Choice::new("blue", "cold")];
        let one = AgentQuestion {
            text: "Which colour?".to_owned(),
            options: options.clone(),
            free_text: true,
            ..AgentQuestion::default()
        };
        let several = AgentQuestion {
            text: "Which sizes?".to_owned(),
            options: vec![Choice::new("S", ""), Choice::new("M", ""), Choice::new("L", "")],
            multiple: true,
            ..AgentQuestion::default()
        };
        let mut all = ApprovalRequests::default();
        let decline = Choice::new("decline", "");
        let mut simple = ApprovalRequest { questions: vec![one.clone()], ..inquiry("simple") };
        simple.options = [options, vec![decline.clone()]].concat();
        all.add(&simple, second(0));
        let mut both = ApprovalRequest { questions: vec![one, several], ..inquiry("both") };
        both.options = vec![decline];
        all.add(&both, second(0));
        all
    }

    #[test]
    fn a_question_takes_its_own_answers() {
        let inquiries = questions();
        let answer = |id: &str, answers: &[&str]| {
            let more: Vec<String> = answers[1..].iter().map(|&text| text.to_owned()).collect();
            inquiries
                .answer(id, answers[0], &more, None, "ann".to_owned(), second(1))
                .map_or_else(|error| error.to_string(), |answer| ended(&answer))
        };
        for (id, given, expected) in [
            ("simple", &["2"][..], "answered blue, by ann"),
            ("simple", &["red"], "answered red, by ann"),
            ("simple", &["a warm grey"], "answered a warm grey, by ann"),
            ("simple", &["decline"], "decline, by ann"),
            ("simple", &["3"], "decline, by ann"),
            ("simple", &["4"], "decision simple has no option `4`: 1 red, 2 blue"),
            ("simple", &["red", "2"], "decision simple takes one answer, but got 2"),
            ("both", &["1", "1,3"], "answered red; S, L, by ann"),
            ("both", &["grey", "M"], "answered grey; M, by ann"),
            ("both", &["decline"], "decline, by ann"),
            ("both", &["1", "XL"], "decision both has no option `XL`: 1 S, 2 M, 3 L"),
            (
                "both",
                &["red"],
                "decision both asks 2 questions and needs an answer to each, but got 1",
            ),
        ] {
            assert_eq!(answer(id, given), expected, "{id} {given:?}");
        }
    }

    #[test]
    fn the_beginning_of_an_id_means_an_open_one() {
        let mut inquiries = two();
        let made = answer(&inquiries, "abc1", "1").unwrap();
        inquiries.end(&made);
        assert_eq!(answer(&inquiries, "ab", "1").unwrap().id.as_str(), "abd2");
    }

    #[test]
    fn time_ends_them() {
        let mut inquiries = two();
        assert_eq!(inquiries.next_end(), Some(second(60)));
        assert!(inquiries.expired(second(59)).is_empty());
        for resolution in inquiries.expired(second(60)) {
            assert_eq!(resolution.ending, ApprovalEnding::Expired);
            assert!(inquiries.end(&resolution));
        }
        assert_eq!((inquiries.open().count(), inquiries.next_end()), (0, None));
    }

    #[test]
    fn what_is_decided_is_forgotten_in_time() {
        let mut inquiries = ApprovalRequests::default();
        for number in 0..REMEMBERED + 5 {
            let inquiry = inquiry(&format!("{number:08}"));
            inquiries.add(&inquiry, second(0));
            let at = second(i64::try_from(number).unwrap());
            inquiries.end(&without_answer(&inquiry, ApprovalEnding::Dismissed, "x", at));
        }
        inquiries.add(&inquiry("new"), second(2000));
        assert_eq!(inquiries.iter().count(), REMEMBERED + 1);
        assert!(inquiries.get(&RecordId::from_text("00000004")).is_none());
        inquiries.add(&inquiry("newer"), second(200_000));
        assert_eq!(inquiries.iter().count(), 2, "open ones stay");
    }
}
