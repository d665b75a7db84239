//! The decisions that wait for a person, and the answer that the person is about to give.

use std::collections::BTreeMap;

use anyhook_flow::approval_requests::{ended, listed};
use anyhook_model::daemon::DecisionView;
use anyhook_model::{ApprovalRequest, RecordId};
use jiff::Timestamp;

use crate::columns::{Column, number, words};
use crate::cursor::{Cursor, CursorMove};
use crate::filter::short;
use crate::panes::{age, ago};
use anyhook_terminal::StyledLine as Row;
use anyhook_terminal::tidy;
use anyhook_terminal::{Tone, first_line};

/// The columns of the decisions.
pub const COLUMNS: [Column; 6] = [
    words("DECISION", 8, 8, 4),
    words("AGENT", 11, 26, 3),
    number("AGE", 4, 2),
    number("LEFT", 4, 6),
    words("WHAT", 10, usize::MAX, 9),
    words("CHOOSE", 15, 40, 8),
];

/// An answer that is about to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingAnswer {
    /// The decision.
    pub id: RecordId,
    /// The name of the chosen option.
    pub choice: String,
    /// What it is about.
    what: String,
}

impl PendingAnswer {
    /// Returns the question for confirmation.
    pub fn question(&self) -> String {
        tidy(&format!("{} {}: {}?", self.choice, self.id, self.what))
    }
}

/// Everything that waits for a person.
#[derive(Debug)]
pub struct WaitingRequests {
    /// The open decisions, oldest first.
    open: Vec<ApprovalRequest>,
    /// The names of agents that have one, and who claimed the decision, by decision.
    names: BTreeMap<RecordId, (Option<String>, Option<String>)>,
    /// The selected one.
    pub cursor: Cursor<RecordId>,
    /// The option that is chosen and not yet confirmed.
    pub chosen: Option<PendingAnswer>,
}

impl Default for WaitingRequests {
    fn default() -> Self {
        Self { open: Vec::new(), names: BTreeMap::new(), cursor: Cursor::at_first(), chosen: None }
    }
}

impl WaitingRequests {
    /// Takes the daemon's decisions.
    ///
    /// Returns the message to show if the one about to be answered needs no answer any more.
    pub fn hear(&mut self, decisions: &[DecisionView]) -> Option<String> {
        let open = decisions.iter().filter(|decision| decision.resolution.is_none());
        self.open = open.map(|decision| decision.inquiry.clone()).collect();
        let name = |decision: &DecisionView| {
            let claimed = decision.claimed.as_ref().map(|claim| claim.by.clone());
            (decision.inquiry.id.clone(), (decision.agent_name.clone(), claimed))
        };
        self.names = decisions.iter().map(name).collect();
        self.open.sort_by_key(|inquiry| inquiry.created);
        let id = &self.chosen.as_ref()?.id;
        if self.open.iter().any(|inquiry| inquiry.id == *id) {
            return None;
        }
        let made = decisions.iter().find(|decision| decision.inquiry.id == *id);
        let how = made.and_then(|decision| decision.resolution.as_ref()).map(ended);
        let said = match how {
            Some(how) => format!("decision {id} was already made: {how}"),
            None => format!("decision {id} is no longer open"),
        };
        self.chosen = None;
        Some(said)
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Selects another one.
    pub fn go(&mut self, to: CursorMove) {
        self.cursor.go(to, &self.keys());
    }

    /// Returns the row of the selected one.
    pub fn row(&self) -> usize {
        self.cursor.row(&self.keys())
    }

    /// Returns the selected one.
    pub fn selected(&self) -> Option<&ApprovalRequest> {
        self.open.get(self.row())
    }

    /// Returns one by its id.
    pub fn find(&self, id: &RecordId) -> Option<&ApprovalRequest> {
        self.open.iter().find(|inquiry| inquiry.id == *id)
    }

    /// Chooses an option of the selected one by its number. Returns whether there is such an
    /// option.
    pub fn choose(&mut self, number: char) -> bool {
        let answer = self.selected().and_then(|inquiry| {
            let index = number.to_digit(10)?.checked_sub(1)?;
            let option = inquiry.options.get(usize::try_from(index).ok()?)?;
            let (id, choice) = (inquiry.id.clone(), option.name.clone());
            Some(PendingAnswer { id, choice, what: what(inquiry) })
        });
        let is_one = answer.is_some();
        self.chosen = answer.or(self.chosen.take());
        is_one
    }

    /// Returns the rows of the pane.
    pub fn rows(&self, now: Timestamp) -> Vec<Row> {
        let row = |inquiry: &ApprovalRequest| {
            let (name, claimed) = self.names.get(&inquiry.id).cloned().unwrap_or_default();
            let agent = name.unwrap_or_else(|| short_agent(&inquiry.agent));
            let choose = match claimed {
                Some(by) => format!("{by} claimed it: {}", listed(&inquiry.options)),
                None => listed(&inquiry.options),
            };
            let left = inquiry.until.map(|until| age(until.duration_since(now)));
            vec![
                (Tone::Strong, tidy(inquiry.id.as_str())),
                (Tone::Plain, tidy(&agent)),
                (Tone::Dim, age(now.duration_since(inquiry.created))),
                (Tone::Plain, left.unwrap_or_else(|| "–".to_owned())),
                (Tone::Plain, tidy(&what(inquiry))),
                (Tone::Warn, tidy(&choose)),
            ]
        };
        self.open.iter().map(row).collect()
    }

    fn keys(&self) -> Vec<RecordId> {
        self.open.iter().map(|inquiry| inquiry.id.clone()).collect()
    }
}

/// Returns an agent's id with a short session.
fn short_agent(id: &str) -> String {
    match id.split_once(':') {
        Some((host, session)) => format!("{host}:{}", short(session)),
        None => short(id),
    }
}

/// Returns what a decision is about, on one line.
fn what(inquiry: &ApprovalRequest) -> String {
    let text = match (&inquiry.tool, &inquiry.about) {
        (Some(tool), Some(about)) => format!("{tool} {about}"),
        (None, Some(about)) => about.clone(),
        (_, None) => inquiry.question.clone(),
    };
    first_line(&text, 400)
}

/// Returns all that is known of a decision.
pub fn page(inquiry: &ApprovalRequest, now: Timestamp) -> Vec<Row> {
    let until = inquiry.until.map(|until| {
        format!("{}, then the agent asks in its own dialog", age(until.duration_since(now)))
    });
    let mut rows = vec![vec![(Tone::Strong, inquiry.question.clone())]];
    let fields = [
        ("agent", Some(inquiry.agent.clone())),
        ("tool", inquiry.tool.clone()),
        ("about", inquiry.about.clone()),
        ("input", inquiry.digest.as_ref().map(|digest| format!("sha256:{digest}"))),
        ("asked", Some(ago(now.duration_since(inquiry.created)))),
        ("left", until),
    ];
    for (name, value) in fields {
        for (index, line) in value.iter().flat_map(|value| value.lines()).enumerate() {
            let name = if index == 0 { name } else { "" };
            rows.push(vec![(Tone::Dim, format!("{name:<7}")), (Tone::Plain, line.to_owned())]);
        }
    }
    for (number, option) in (1..).zip(&inquiry.options) {
        rows.push(vec![
            (Tone::Warn, format!("  {number} ")),
            (Tone::Strong, option.name.clone()),
            (Tone::Dim, format!("  {}", option.does)),
        ]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use anyhook_model::Resolution;
    use anyhook_model::approval_request::ApprovalEnding;

    use super::*;
    use crate::examples::{decision, later, noon};

    #[test]
    fn the_oldest_stands_first_and_what_is_made_is_left_out() {
        let mut waiting = WaitingRequests::default();
        let mut made = decision("aaaaaaaa", noon());
        made.resolution = Some(resolution("aaaaaaaa"));
        let (second, first) = (decision("bbbbbbbb", later(9)), decision("cccccccc", later(5)));
        assert_eq!(waiting.hear(&[made, second, first]), None);
        let ids: Vec<_> = waiting.rows(later(9)).iter().map(|row| row[0].1.clone()).collect();
        assert_eq!(ids, ["cccccccc", "bbbbbbbb"]);
    }

    #[test]
    fn a_choice_stays_with_its_decision() {
        let mut waiting = WaitingRequests::default();
        waiting.hear(&[decision("aaaaaaaa", noon()), decision("bbbbbbbb", later(1))]);
        assert!(!waiting.choose('3') && !waiting.choose('0') && waiting.chosen.is_none());
        assert!(waiting.choose('2'));
        // Another one takes its position in the list.
        let said = waiting.hear(&[decision("bbbbbbbb", later(1))]);
        assert_eq!(said.as_deref(), Some("decision aaaaaaaa is no longer open"));
        assert_eq!(waiting.chosen, None);
        assert!(waiting.choose('1'));
        assert_eq!(waiting.chosen.as_ref().unwrap().id.as_str(), "bbbbbbbb");
        let mut made = decision("bbbbbbbb", later(1));
        made.resolution = Some(resolution("bbbbbbbb"));
        let said = waiting.hear(&[made]);
        assert_eq!(said.as_deref(), Some("decision bbbbbbbb was already made: deny, by ann"));
    }

    fn resolution(id: &str) -> Resolution {
        Resolution {
            id: RecordId::from_text(id),
            agent: "codex:one".to_owned(),
            ending: ApprovalEnding::Chosen,
            choice: Some("deny".to_owned()),
            message: None,
            answers: Vec::new(),
            by: "ann".to_owned(),
            process: None,
            at: noon(),
            digest: None,
            asked: None,
            agent_name: None,
            pipeline: None,
            claimed_by: None,
            again: false,
            follows: None,
            signature: None,
        }
    }

    #[test]
    fn long_ids_of_agents_are_short() {
        assert_eq!(short_agent("codex:019a8b2c-1111-7222-8333-abcdefabf3d1"), "codex:019a8b2…f3d1");
        assert_eq!(short_agent("mine"), "mine");
    }
}
