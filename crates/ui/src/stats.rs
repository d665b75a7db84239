//! Statistics for people and programs: the journal counted, and what agents have used.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhook_engine::Places;
use anyhook_engine::journal::Journal;
use anyhook_guards::limits::budget::cost_by_options;
use anyhook_model::daemon::{AgentView, Usage};
use anyhook_model::report::StatsReport;
use anyhook_setup::hooks::installed;
use anyhook_stats::{Tally, TallyScope, fails_closed, report};
use anyhook_terminal::time_arg::TimeArg;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::app::{App, blocking};
use crate::error::PageError;
use crate::hooks::environment;
use crate::time_box::TimeBox;

/// How long counting may take.
const COUNTING: Duration = Duration::from_secs(3);
/// How long reading transcripts may take.
const READING: Duration = Duration::from_millis(1500);
/// A longer transcript is not read for the page.
const TRANSCRIPT: u64 = 64 * 1024 * 1024;
/// The transcripts of the agents seen last are read.
const AGENTS: usize = 30;
/// How many of each list are kept.
const KEEP: usize = 10;

/// The journal counted, and what agents have used.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statistics {
    /// The counts.
    pub report: StatsReport,
    /// Whether counting took too long, so that older records were left out.
    pub is_cut: bool,
    /// What the agents that were seen last have used, according to their transcripts.
    pub usage: Vec<AgentUsage>,
}

/// What an agent has used.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentUsage {
    /// The agent's id.
    pub agent: String,
    /// Its display name.
    pub name: String,
    /// Its host.
    pub host: Option<String>,
    /// Its project.
    pub project: Option<String>,
    /// Tokens and turns.
    pub usage: Usage,
    /// The cost, by the prices in the options of the pack `budget`, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// Reads the start of a period, as in an address.
pub fn since(asked: Option<&str>, now: Timestamp) -> Result<Timestamp, PageError> {
    let asked = asked.map_or("7d", str::trim);
    let time: Result<TimeArg, String> = asked.parse();
    let time = time.map_err(|why| PageError::bad_request(format!("`since`: {why}")))?;
    Ok(time.moment(now))
}

/// Counts the journal, and reads what agents have used.
pub async fn count(app: &App, since: Timestamp) -> Result<Statistics, PageError> {
    let agents = app.agents().await?;
    let (journal, places) = (app.journal(), app.places.clone());
    blocking(move || {
        let (report, is_cut) = counted(&journal, &places, since)?;
        Ok(Statistics { report, is_cut, usage: used(agents, since, &places) })
    })
    .await
}

fn counted(
    journal: &Journal,
    places: &Places,
    since: Timestamp,
) -> Result<(StatsReport, bool), PageError> {
    let installed = installed(&environment(places, None));
    let scope = TallyScope {
        since: Some(since),
        fails_closed: fails_closed(&installed),
        keep: KEEP,
        ..TallyScope::default()
    };
    let time = TimeBox::of(COUNTING);
    let newest = Tally::read_newest(journal, scope, &|| time.is_open());
    let newest = newest.map_err(|error| PageError::of_stats(&error))?;
    let wanted = report::HookSelection { installed: &installed, hooks: &[] };
    Ok((report::make(&newest.tally, &wanted, anyhook_engine::now()), newest.is_cut))
}

fn used(mut agents: Vec<AgentView>, since: Timestamp, places: &Places) -> Vec<AgentUsage> {
    let time = TimeBox::of(READING);
    agents.retain(|agent| agent.seen >= since);
    agents.sort_by_key(|agent| std::cmp::Reverse(agent.seen));
    let mut prices = Prices::new(places);
    let mut all = Vec::new();
    for agent in agents.into_iter().take(AGENTS) {
        if !time.is_open() {
            break;
        }
        all.extend(of_agent(&agent, &mut prices));
    }
    all
}

/// Returns what one agent has used.
pub async fn of_one(app: &App, agent: &AgentView) -> Option<AgentUsage> {
    let (agent, places) = (agent.clone(), app.places.clone());
    blocking(move || Ok(of_agent(&agent, &mut Prices::new(&places)))).await.ok().flatten()
}

fn of_agent(agent: &AgentView, prices: &mut Prices<'_>) -> Option<AgentUsage> {
    let log = Path::new(agent.log.as_deref()?);
    // A database is asked for one session; a transcript is read from its beginning.
    let is_lines = log.extension().is_some_and(|end| end == "jsonl" || end == "json");
    if is_lines && fs::metadata(log).ok()?.len() > TRANSCRIPT {
        return None;
    }
    let usage = anyhook_daemon::usage::of_agent(agent).filter(|usage| !usage.is_empty())?;
    let project = agent.project.clone().or_else(|| agent.work_dir.clone());
    Some(AgentUsage {
        cost: prices.cost(project.as_deref(), usage),
        agent: agent.id.clone(),
        name: agent.shown_name().to_owned(),
        host: agent.host.clone(),
        project,
        usage,
    })
}

/// The prices of projects: options of the hook of the pack `budget`.
struct Prices<'places> {
    places: &'places Places,
    known: BTreeMap<Option<String>, Option<Value>>,
}

impl<'places> Prices<'places> {
    fn new(places: &'places Places) -> Self {
        Self { places, known: BTreeMap::new() }
    }

    fn cost(&mut self, project: Option<&str>, usage: Usage) -> Option<f64> {
        let places = self.places;
        let options = self.known.entry(project.map(str::to_owned)).or_insert_with(|| {
            let hooks = installed(&environment(places, project)).hooks;
            let mut in_force = hooks.iter().filter(|standing| standing.out.is_none());
            in_force.find_map(|standing| budget_options(&standing.hook.definition.metadata))
        });
        cost_by_options(options.as_ref()?, usage)
    }
}

fn budget_options(metadata: &Value) -> Option<Value> {
    (metadata.get("pack")?.as_str()? == "budget").then(|| metadata.get("options").cloned())?
}

/// The use of tokens in a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectUsage {
    /// How many agents.
    pub agents: usize,
    /// Their tokens and turns.
    pub usage: Usage,
    /// Their cost, as far as it is known.
    pub cost: Option<f64>,
}

/// Sums up by project.
pub fn by_project(all: &[AgentUsage]) -> BTreeMap<&str, ProjectUsage> {
    let mut projects: BTreeMap<&str, ProjectUsage> = BTreeMap::new();
    for one in all {
        let project = projects.entry(one.project.as_deref().unwrap_or("–")).or_default();
        project.agents += 1;
        project.usage = project.usage.plus(one.usage);
        project.cost = match (project.cost, one.cost) {
            (Some(sum), Some(cost)) => Some(sum + cost),
            (sum, cost) => sum.or(cost),
        };
    }
    projects
}

/// Returns the choices of a period, and their names.
pub fn periods() -> [(&'static str, &'static str); 4] {
    [("24h", "a day"), ("7d", "7 days"), ("30d", "30 days"), ("90d", "90 days")]
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_period_is_a_time_or_an_error() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 30);
        let length = |asked| now.duration_since(since(asked, now).unwrap());
        assert_eq!(length(None), SignedDuration::from_hours(7 * 24));
        assert_eq!(length(Some("24h")), SignedDuration::from_hours(24));
        let wrong = since(Some("always"), now).unwrap_err();
        assert!(wrong.message.contains("since"), "{wrong:?}");
    }

    #[test]
    fn prices_are_those_of_the_pack() {
        let options = json!({"prices": {"input": 3}});
        assert_eq!(budget_options(&json!({"pack": "budget", "options": options})), Some(options));
        assert_eq!(budget_options(&json!({"pack": "other", "options": {}})), None);
        assert_eq!(budget_options(&Value::Null), None);
    }

    #[test]
    fn projects_add_up() {
        let one = |project: &str, tokens, cost| AgentUsage {
            agent: "a".to_owned(),
            name: "a".to_owned(),
            host: None,
            project: Some(project.to_owned()),
            usage: Usage { input_tokens: Some(tokens), ..Usage::default() },
            cost,
        };
        let all = [one("/p", 1, Some(0.5)), one("/p", 2, None), one("/q", 4, Some(1.0))];
        let sums = by_project(&all);
        assert_eq!(sums["/p"].usage.input_tokens, Some(3));
        assert_eq!((sums["/p"].agents, sums["/p"].cost), (2, Some(0.5)));
        assert_eq!(sums["/q"].cost, Some(1.0));
    }
}
