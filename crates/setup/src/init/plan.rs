//! Which packs are proposed for a machine and a project, and why.

use anyhook_engine::Level;
use anyhook_model::report::init::{InitAgent, InitEffect, InitPack, InitProject, InitReport};

use super::survey::Survey;
use crate::error::SetupError;

/// What a person has chosen in advance.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// These packs, instead of those that are proposed.
    pub packs: Option<Vec<String>>,
    /// Import the agents' own hooks, too: this is not done unasked, as they are someone's work.
    pub import: bool,
}

/// The branches that the pack `protect-branches` protects anyway.
const USUAL_BRANCHES: [&str; 4] = ["main", "master", "trunk", "production"];

/// What is known about a pack.
struct Proposal {
    name: &'static str,
    /// What it is for.
    about: &'static str,
    /// Returns why it is proposed for a project, if it is.
    why: fn(&InitProject) -> Option<String>,
    /// Whether it is proposed without a project, too.
    always: bool,
    /// Whether it belongs to a project rather than to a person.
    of_project: bool,
    /// When it does something.
    when: &'static str,
    /// What it does then.
    then: &'static str,
}

const PROPOSALS: [Proposal; 15] = [
    Proposal {
        name: "no-destroy",
        about: "commands that destroy files, uncommitted work, disks or databases",
        why: no_reason,
        always: true,
        of_project: false,
        when: "an agent runs `rm -rf /`",
        then: "it is denied",
    },
    Proposal {
        name: "protect-paths",
        about: "secrets, keys, lockfiles, CI and system files",
        why: |project| {
            let files = &project.secret_files;
            (!files.is_empty()).then(|| {
                format!(
                    "{} in this project, and other secrets, keys, lockfiles, CI and system files",
                    files.join(", ")
                )
            })
        },
        always: true,
        of_project: false,
        when: "an agent reads `.env` or a key",
        then: "it is denied",
    },
    Proposal {
        name: "no-exfil",
        about: "commands that send secrets or code elsewhere",
        why: no_reason,
        always: true,
        of_project: false,
        when: "an agent uploads `.env` with curl",
        then: "it is denied",
    },
    Proposal {
        name: "secrets",
        about: "keys and passwords in what agents write, run and are asked",
        why: no_reason,
        always: true,
        of_project: false,
        when: "an agent writes an API key into a file",
        then: "it is denied",
    },
    Proposal {
        name: "protect-branches",
        about: "pushes to shared branches, and rewritten history",
        why: |project| {
            let branch = project.default_branch.as_deref().unwrap_or("main");
            project.git.then(|| {
                format!("this is a git repository: pushes to {branch}, and rewritten history")
            })
        },
        always: false,
        of_project: false,
        when: "an agent pushes to `main`",
        then: "you are asked",
    },
    Proposal {
        name: "checkpoint",
        about: "a snapshot in git before an agent changes files",
        why: |project| {
            project.git.then(|| {
                "this is a git repository: a snapshot before an agent changes files".to_owned()
            })
        },
        always: false,
        of_project: false,
        when: "an agent changes files",
        then: "they are saved first; `anyhook undo` brings them back",
    },
    Proposal {
        name: "tests-before-stop",
        about: "the tests pass before an agent stops, if it changed files",
        why: |project| {
            let command = project.test_command.as_ref()?;
            Some(format!("`{command}` passes before an agent stops, if it changed files"))
        },
        always: false,
        of_project: true,
        when: "an agent that changed files stops",
        then: "the tests have to pass first",
    },
    Proposal {
        name: "format-on-write",
        about: "what agents write is formatted",
        why: |project| {
            let with = &project.formatters;
            (!with.is_empty()).then(|| format!("{} formats what agents write", with.join(", ")))
        },
        always: false,
        of_project: true,
        when: "an agent writes a file",
        then: "it is formatted",
    },
    other(
        "lint-on-write",
        "what agents write is linted",
        true,
        "an agent writes a file",
        "findings of the linter go back to it",
    ),
    other(
        "context-on-start",
        "branch, changes and tasks for a new session",
        false,
        "a session starts",
        "it is told the branch, changes and tasks",
    ),
    other(
        "notify-when-waiting",
        "a notice when an agent waits for you",
        false,
        "an agent waits for you",
        "you are told on the desktop",
    ),
    other(
        "session-log",
        "a line for each prompt, tool call and stop",
        false,
        "an agent does something",
        "it is written to a log of the day",
    ),
    other(
        "pii",
        "personal data in what agents write and send",
        false,
        "an agent writes personal data",
        "you are asked",
    ),
    other(
        "rate-limit",
        "calls per minute and session",
        false,
        "an agent makes very many calls",
        "you are asked",
    ),
    other(
        "budget",
        "tokens and cost per session and day; set its limits",
        false,
        "a session or a day is over its budget",
        "you are asked",
    ),
];

const fn other(
    name: &'static str,
    about: &'static str,
    of_project: bool,
    when: &'static str,
    then: &'static str,
) -> Proposal {
    Proposal { name, about, why: no_reason, always: false, of_project, when, then }
}

fn no_reason(_: &InitProject) -> Option<String> {
    None
}

/// Returns what is proposed for what was found.
pub fn plan(survey: Survey, choice: &Choice) -> Result<InitReport, SetupError> {
    let known = || PROPOSALS.iter().map(|pack| pack.name.to_owned());
    let named = choice.packs.iter().flatten();
    if let Some(name) =
        named.map(|name| bare(name)).find(|name| known().all(|known| known != *name))
    {
        return Err(SetupError::UnknownPack { name: name.to_owned(), known: known().collect() });
    }
    let Survey { mut agents, project, added } = survey;
    for agent in &mut agents {
        agent.chosen = !agent.was_installed && agent.problem.is_none();
        let is_called = agent.chosen || agent.was_installed;
        if let Some(import) = &mut agent.import {
            import.chosen = choice.import && is_called;
        }
    }
    let packs = PROPOSALS.iter().map(|pack| pack.of(project.as_ref(), &added, choice)).collect();
    let result = "proposed".to_owned();
    Ok(InitReport { result, agents, project, packs, ..InitReport::default() })
}

/// Returns a pack's name without `pack/`.
fn bare(name: &str) -> &str {
    name.strip_prefix(crate::packs::PREFIX).unwrap_or(name)
}

impl Proposal {
    fn of(
        &self,
        project: Option<&InitProject>,
        added: &[(String, Level)],
        choice: &Choice,
    ) -> InitPack {
        let found = added.iter().find(|(name, _)| name == self.name).map(|(_, level)| *level);
        let usual = if self.of_project && project.is_some() { Level::Project } else { Level::User };
        let why = project.and_then(self.why);
        let proposed = self.always || why.is_some();
        let is_named = |names: &Vec<String>| names.iter().any(|name| bare(name) == self.name);
        let wanted = choice.packs.as_ref().map_or(proposed, is_named);
        InitPack {
            name: self.name.to_owned(),
            level: found.unwrap_or(usual).word().to_owned(),
            was_added: found.is_some(),
            proposed,
            chosen: wanted && found.is_none(),
            reason: why.unwrap_or_else(|| self.about.to_owned()),
            options: self.options(project),
            problem: None,
        }
    }

    /// Returns the options that a project needs.
    fn options(&self, project: Option<&InitProject>) -> Vec<String> {
        let branch = project.and_then(|project| project.default_branch.as_deref());
        match branch.filter(|branch| !USUAL_BRANCHES.contains(branch)) {
            Some(branch) if self.name == "protect-branches" => {
                let pattern = branch.replace('.', r"\.");
                let mut checked_out: Vec<&str> = USUAL_BRANCHES.to_vec();
                checked_out.extend(["release/*", branch]);
                vec![
                    format!("branches=main|master|trunk|production|release/[^:]*|{pattern}"),
                    format!("checked_out={}", serde_json::json!(checked_out)),
                ]
            }
            _ => Vec::new(),
        }
    }
}

/// Returns whether there is anything to do.
pub fn has_work(report: &InitReport) -> bool {
    report.agents.iter().any(|agent| agent.chosen || is_imported(agent))
        || report.packs.iter().any(|pack| pack.chosen)
}

/// Returns whether an agent's own hooks are to be imported, or were.
pub fn is_imported(agent: &InitAgent) -> bool {
    agent.import.as_ref().is_some_and(|import| import.chosen)
}

/// Returns whether an agent calls anyhook, or will.
pub fn is_called(report: &InitReport) -> bool {
    report.agents.iter().any(|agent| agent.chosen || agent.was_installed)
}

/// Returns what happens from now on, and when.
pub fn effects(report: &InitReport) -> Vec<InitEffect> {
    // Packs stop nothing where no agent asks.
    if !is_called(report) {
        return Vec::new();
    }
    let is_there = |pack: &&Proposal| {
        let found = report.packs.iter().find(|found| found.name == pack.name);
        found.is_some_and(|found| found.was_added || found.chosen)
    };
    let effect = |pack: &Proposal| InitEffect {
        when: pack.when.to_owned(),
        then: pack.then.to_owned(),
        pack: pack.name.to_owned(),
    };
    PROPOSALS.iter().filter(is_there).map(effect).collect()
}

#[cfg(test)]
mod tests {
    use anyhook_model::report::init::InitImport;

    use super::*;

    fn project() -> InitProject {
        InitProject {
            git: true,
            test_command: Some("cargo test".to_owned()),
            formatters: vec!["rustfmt".to_owned()],
            secret_files: vec![".env".to_owned()],
            ..InitProject::default()
        }
    }

    fn chosen(survey: Survey, packs: Option<&[&str]>) -> Vec<String> {
        let packs = packs.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let report = plan(survey, &Choice { packs, ..Choice::default() }).unwrap();
        let chosen = report.packs.iter().filter(|pack| pack.chosen);
        chosen.map(|pack| format!("{} {}", pack.name, pack.level)).collect()
    }

    #[test]
    fn what_is_proposed_depends_on_the_project() {
        let user = ["no-destroy user", "protect-paths user", "no-exfil user", "secrets user"];
        assert_eq!(chosen(Survey::default(), None), user);
        let all = [
            &user[..],
            &["protect-branches user", "checkpoint user"],
            &["tests-before-stop project", "format-on-write project"],
        ];
        let survey = Survey { project: Some(project()), ..Survey::default() };
        assert_eq!(chosen(survey.clone(), None), all.concat());
        let plain = InitProject { git: false, test_command: None, ..project() };
        let survey = Survey { project: Some(plain), ..survey };
        assert_eq!(chosen(survey, None), [&user[..], &["format-on-write project"]].concat());
    }

    #[test]
    fn what_was_added_is_not_added_again() {
        let added = vec![("secrets".to_owned(), Level::User), ("pii".to_owned(), Level::Project)];
        let survey = Survey { added, ..Survey::default() };
        let left = ["no-destroy user", "protect-paths user", "no-exfil user"];
        assert_eq!(chosen(survey.clone(), None), left);
        assert!(chosen(survey, Some(&["secrets", "pii"])).is_empty());
    }

    #[test]
    fn packs_can_be_named() {
        let named = Some(&["pack/pii", "lint-on-write"][..]);
        assert_eq!(chosen(Survey::default(), named), ["lint-on-write user", "pii user"]);
        let survey = Survey { project: Some(project()), ..Survey::default() };
        assert_eq!(chosen(survey, named), ["lint-on-write project", "pii user"]);
        let choice = Choice { packs: Some(vec!["nope".to_owned()]), ..Choice::default() };
        let error = plan(Survey::default(), &choice).unwrap_err();
        assert_eq!(error.to_string(), "there is no pack `nope`");
    }

    #[test]
    fn an_unusual_default_branch_is_protected() {
        let branches = |branch: &str| {
            let default_branch = Some(branch.to_owned());
            let project = Some(InitProject { default_branch, ..project() });
            let report = plan(Survey { project, ..Survey::default() }, &Choice::default()).unwrap();
            report.packs.into_iter().find(|pack| pack.name == "protect-branches").unwrap().options
        };
        assert!(branches("main").is_empty());
        let set = branches("dev.x");
        assert!(set[0].ends_with(r"|dev\.x") && set[1].ends_with(r#""dev.x"]"#), "{set:?}");
    }

    #[test]
    fn an_agent_is_installed_unless_it_is_or_cannot_be() {
        let agent = |was_installed, problem: Option<&str>| InitAgent {
            was_installed,
            problem: problem.map(str::to_owned),
            ..InitAgent::default()
        };
        let agents = vec![agent(false, None), agent(true, None), agent(false, Some("broken"))];
        let survey = Survey { agents, ..Survey::default() };
        let choice = Choice { packs: Some(Vec::new()), ..Choice::default() };
        let report = plan(survey, &choice).unwrap();
        let chosen: Vec<bool> = report.agents.iter().map(|agent| agent.chosen).collect();
        assert_eq!(chosen, [true, false, false]);
        assert!(has_work(&report) && effects(&report).is_empty());
        assert!(!has_work(&InitReport::default()));
    }

    #[test]
    fn own_hooks_are_imported_only_if_one_says_so() {
        let import = Some(InitImport { hooks: vec!["guard".to_owned()], ..InitImport::default() });
        let agent = InitAgent { was_installed: true, import, ..InitAgent::default() };
        let lone = InitAgent { problem: Some("broken".to_owned()), ..agent.clone() };
        let lone = InitAgent { was_installed: false, ..lone };
        for import in [false, true] {
            let survey = Survey { agents: vec![agent.clone(), lone.clone()], ..Survey::default() };
            let report = plan(survey, &Choice { packs: Some(Vec::new()), import }).unwrap();
            let imported: Vec<bool> = report.agents.iter().map(is_imported).collect();
            assert_eq!(imported, [import, false], "not where anyhook is not called");
            assert_eq!(has_work(&report), import);
        }
    }

    #[test]
    fn where_no_agent_asks_nothing_is_promised() {
        let agents = vec![InitAgent::default()];
        let mut report = plan(Survey { agents, ..Survey::default() }, &Choice::default()).unwrap();
        assert!(!effects(&report).is_empty());
        report.agents[0].chosen = false;
        assert!(effects(&report).is_empty());
    }
}
