//! The filter for decisions on the command line.

use anyhook_model::daemon::DecisionView;
use clap::Args;

use crate::pattern::Pattern;

/// Which decisions are meant: all of what is given must fit. In patterns `*` stands for anything.
#[derive(Args)]
pub struct DecisionFilter {
    /// Only from agents with this name or id
    #[arg(long, value_name = "PATTERN")]
    pub agent: Option<Pattern>,
    /// Only from this project: its path or folder name
    #[arg(long, value_name = "PATTERN")]
    pub project: Option<Pattern>,
    /// Only for calls to this tool
    #[arg(long, value_name = "PATTERN")]
    pub tool: Option<Pattern>,
    /// Only for calls matching this, such as 'git status*'
    #[arg(long, value_name = "PATTERN")]
    pub about: Option<Pattern>,
}

impl DecisionFilter {
    /// Returns the selected decisions; with `all`, also those that have been made.
    pub fn choose(&self, mut decisions: Vec<DecisionView>, all: bool) -> Vec<DecisionView> {
        decisions.retain(|decision| (all || decision.resolution.is_none()) && self.takes(decision));
        decisions
    }

    /// Returns whether the filter selects a decision.
    pub fn takes(&self, decision: &DecisionView) -> bool {
        let inquiry = &decision.inquiry;
        let fits = |pattern: &Option<Pattern>, test: &dyn Fn(&Pattern) -> bool| {
            pattern.as_ref().is_none_or(test)
        };
        let agents = [decision.agent_name.as_deref(), Some(inquiry.agent.as_str())];
        fits(&self.agent, &|one| one.matches_any(agents))
            && fits(&self.project, &|one| {
                decision.project.as_deref().is_some_and(|path| one.matches_path(path))
            })
            && fits(&self.tool, &|one| {
                inquiry.tool.as_deref().is_some_and(|tool| one.matches_word(tool))
            })
            && fits(&self.about, &|one| {
                inquiry.about.as_deref().is_some_and(|about| one.matches_word(about))
            })
    }
}
