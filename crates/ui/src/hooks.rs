//! The hooks in force in a project, how they fare, and what was proven of the agents that run them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhook_engine::Places;
use anyhook_engine::discover::{HookStatus, InstalledHooks};
use anyhook_engine::journal::Journal;
use anyhook_engine::settings::Settings;
use anyhook_hook::environment::Environment;
use anyhook_model::report::ListedHook;
use anyhook_model::report::stats::{HookStats, RunStats, ShadowStats, TimeStats};
use anyhook_pages::search::{self, RecordSearch, SearchStart};
use anyhook_setup::hooks::{findings, installed};
use anyhook_setup::proof::standing;
use anyhook_stats::{Tally, TallyScope, fails_closed, report};
use anyhook_terminal::Tone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::app::{App, blocking};
use crate::error::PageError;
use crate::time_box::TimeBox;

/// The period over which hooks are judged.
const PERIOD: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How long counting may take; older records are then left out.
const COUNTING: Duration = Duration::from_secs(2);
/// Projects are looked for in so many of the last records, for so long.
const LAST_RECORDS: usize = 500;
const LOOKING: Duration = Duration::from_millis(400);
/// More projects are not offered.
const PROJECTS: usize = 40;
/// How many of the records that a shadow hook would have blocked are kept.
const KEEP: usize = 5;

/// The hooks of a project.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectHooks {
    /// The project; null for work outside of any.
    pub project: Option<String>,
    /// Since when their runs were counted.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// Whether counting took too long, so that older runs were left out.
    pub is_cut: bool,
    /// The hooks, in the order they run.
    pub hooks: Vec<HookInForce>,
    /// The agents that call anyhook, and what was proven of them.
    pub agents: Vec<AgentStanding>,
    /// Folders and settings that could not be read or are ignored, and why.
    pub notes: Vec<String>,
}

/// A hook, and how it fares.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookInForce {
    /// The hook.
    #[serde(flatten)]
    pub hook: ListedHook,
    /// Whether it runs, or why not, in words.
    pub status: String,
    /// How good that is, for the page.
    #[serde(skip)]
    pub tone: StatusTone,
    /// Its runs in the period; null if it did not run.
    pub health: Option<HookHealth>,
}

/// How good a status is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusTone(pub Tone);

/// How a hook fared.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HookHealth {
    /// How often it ran.
    pub runs: u64,
    /// How often it blocked.
    pub blocks: u64,
    /// How often it asked.
    pub asks: u64,
    /// How often it failed.
    pub failures: u64,
    /// How often it timed out.
    pub timeouts: u64,
    /// How long it took.
    pub time: Option<TimeStats>,
    /// When it last ran.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub last_run: Option<Timestamp>,
    /// What it would have done where it ran as a shadow hook.
    pub shadow: Option<ShadowStats>,
}

/// What was proven of an agent in one place of its settings.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentStanding {
    /// The agent.
    pub agent: String,
    /// Its display name.
    pub title: String,
    /// The project whose settings call anyhook; null for the user's.
    pub project: Option<String>,
    /// When it was proven that its calls are guarded, if that still counts.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub proven: Option<Timestamp>,
    /// Whether the agent itself was seen to heed a denial.
    pub was_run: bool,
    /// Why nothing is proven.
    pub doubt: Option<String>,
}

impl HookHealth {
    fn of(stats: &HookStats, host: Option<&str>) -> Option<Self> {
        let at_host = |host: &str| stats.hosts.iter().find(|one| one.host == host);
        let runs: &RunStats = match host {
            Some(host) => &at_host(host)?.stats,
            None => &stats.all,
        };
        Some(Self {
            runs: runs.runs,
            blocks: runs.blocks,
            asks: runs.asks,
            failures: runs.failures,
            timeouts: runs.timeouts,
            time: runs.time.clone(),
            last_run: runs.last_run,
            shadow: stats.shadow.clone(),
        })
    }
}

/// Returns the projects that agents work in or worked in, the last one first.
pub async fn projects(app: &App) -> Result<Vec<String>, PageError> {
    let mut agents = app.agents().await?;
    agents.sort_by_key(|agent| std::cmp::Reverse(agent.seen));
    let journal = app.journal();
    let recorded = blocking(move || Ok(recorded_projects(&journal))).await?;
    let mut seen = BTreeSet::new();
    let all = agents.into_iter().filter_map(|agent| agent.project).chain(recorded);
    Ok(all.filter(|project| seen.insert(project.clone())).take(PROJECTS).collect())
}

fn recorded_projects(journal: &Journal) -> Vec<String> {
    let time = TimeBox::of(LOOKING);
    let all = RecordSearch::default();
    let found =
        search::newest(journal, &all, LAST_RECORDS, SearchStart::Newest, &|| time.is_open());
    let records = found.map(|found| found.records).unwrap_or_default();
    records.into_iter().filter_map(|record| record.project_dir).collect()
}

/// Returns the project that is asked for: only one that agents work in, so that nobody looks at other
/// folders through the page.
pub fn chosen(projects: &[String], asked: Option<&str>) -> Result<Option<String>, PageError> {
    let Some(asked) = asked else { return Ok(projects.first().cloned()) };
    let found = projects.iter().find(|project| project.as_str() == asked);
    found.cloned().map(Some).ok_or_else(|| {
        PageError::unknown("project in which an agent was seen", asked).hint("anyhook list")
    })
}

/// Returns the environment of work in a project.
pub fn environment(places: &Places, project: Option<&str>) -> Environment {
    let work_dir = project.map(PathBuf::from).or_else(|| places.home.clone());
    Environment {
        places: places.clone(),
        work_dir: work_dir.unwrap_or_else(|| PathBuf::from("/")),
        agent_id: None,
    }
}

/// Returns the hooks of a project; with a host only those that run there.
pub async fn of_project(
    app: &App,
    project: Option<String>,
    host: Option<String>,
) -> Result<ProjectHooks, PageError> {
    let environment = environment(&app.places, project.as_deref());
    let journal = app.journal();
    blocking(move || read(&environment, &journal, project, host.as_deref())).await
}

fn read(
    environment: &Environment,
    journal: &Journal,
    project: Option<String>,
    host: Option<&str>,
) -> Result<ProjectHooks, PageError> {
    let now = anyhook_engine::now();
    let since = now.checked_sub(PERIOD).unwrap_or(Timestamp::MIN);
    let mut installed = installed(environment);
    for standing in &mut installed.hooks {
        let found = findings(&standing.hook, environment);
        standing.hook.problems.extend(found);
    }
    let scope = TallyScope {
        since: Some(since),
        host: host.map(str::to_owned),
        fails_closed: fails_closed(&installed),
        keep: KEEP,
        ..TallyScope::default()
    };
    let time = TimeBox::of(COUNTING);
    let newest = Tally::read_newest(journal, scope, &|| time.is_open());
    let newest = newest.map_err(|error| PageError::of_stats(&error))?;
    let wanted = report::HookSelection { installed: &installed, hooks: &[] };
    let counted = report::make(&newest.tally, &wanted, now);
    let health = |name: &str| {
        let stats = counted.hooks.iter().find(|stats| stats.hook == name)?;
        HookHealth::of(stats, host)
    };
    let runs_at = |standing: &&HookStatus| {
        let hosts = &standing.hook.definition.hosts;
        host.is_none_or(|host| hosts.is_empty() || hosts.iter().any(|one| one == host))
    };
    let hooks = installed.hooks.iter().filter(runs_at).map(|standing| {
        let (tone, status) = anyhook_pages::hooks::status(standing);
        let hook = anyhook_pages::hooks::listed(standing);
        HookInForce { health: health(&hook.name), hook, status, tone: StatusTone(tone) }
    });
    Ok(ProjectHooks {
        since: if newest.is_cut { newest.tally.oldest.unwrap_or(since) } else { since },
        is_cut: newest.is_cut,
        hooks: hooks.collect(),
        agents: agents(environment, host),
        notes: notes(&installed, environment, project.as_deref()),
        project,
    })
}

fn notes(
    installed: &InstalledHooks,
    environment: &Environment,
    project: Option<&str>,
) -> Vec<String> {
    let settings = Settings::load(&environment.places, project.map(Path::new));
    let of_hooks = anyhook_pages::hooks::beside(&installed.hooks);
    installed.notes.iter().cloned().chain(settings.problems).chain(of_hooks).collect()
}

fn agents(environment: &Environment, host: Option<&str>) -> Vec<AgentStanding> {
    // Settings that cannot be read are reported by `anyhook doctor`.
    let all = standing::all(environment).unwrap_or_default().into_iter();
    let all = all.filter(|one| host.is_none_or(|host| one.subject.agent.id() == host));
    let told = all.map(|one| AgentStanding {
        agent: one.subject.agent.id().to_owned(),
        title: one.subject.agent.title.to_owned(),
        project: one.subject.project(),
        proven: one.proven(),
        was_run: one.was_run(),
        doubt: one.doubt.as_ref().map(standing::Doubt::words),
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_projects_of_agents_are_looked_at() {
        let known = ["/home/ann/shop".to_owned(), "/home/ann/blog".to_owned()];
        assert_eq!(chosen(&known, None).unwrap().as_deref(), Some("/home/ann/shop"));
        assert_eq!(
            chosen(&known, Some("/home/ann/blog")).unwrap().as_deref(),
            Some("/home/ann/blog")
        );
        assert_eq!(chosen(&[], None).unwrap(), None);
        for other in ["/etc", "", "/home/ann", "/home/ann/shop/../blog"] {
            let refused = chosen(&known, Some(other)).unwrap_err();
            assert_eq!(refused.status, axum::http::StatusCode::NOT_FOUND, "{other}");
        }
    }
}
