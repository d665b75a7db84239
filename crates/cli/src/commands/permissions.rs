//! Permissions of commands: those that weaken an agent's guards may not be run by an agent.
//!
//! Every command has an entry here; a test compares the table with the command line.

use clap::ArgMatches;

/// Who may run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It weakens no guard.
    Anyone,
    /// Only a person.
    Person,
    /// Only a person, unless this option makes it change nothing.
    Unless(&'static str),
    /// Anyone; what an agent creates with it is in shadow mode until a person promotes it.
    Shadow,
    /// The command itself decides: it depends on what has to be done.
    Itself,
}

/// Every command and who may run it.
pub const RULES: &[(&str, Rule)] = &[
    ("demo", Rule::Anyone),
    // Looking and proposing do no harm.
    ("init", Rule::Itself),
    ("hook", Rule::Anyone),
    ("serve", Rule::Anyone),
    ("run", Rule::Anyone),
    ("explain", Rule::Anyone),
    ("list", Rule::Anyone),
    ("check", Rule::Anyone),
    ("new", Rule::Shadow),
    ("test", Rule::Anyone),
    ("prompt", Rule::Anyone),
    ("add", Rule::Shadow),
    ("remove", Rule::Person),
    ("packs", Rule::Anyone),
    ("update", Rule::Unless("dry_run")),
    ("guard mcp", Rule::Anyone),
    ("guard workflow", Rule::Anyone),
    ("guard secrets", Rule::Anyone),
    ("guard checkpoint", Rule::Anyone),
    ("guard tests-before-stop", Rule::Anyone),
    ("guard format-on-write", Rule::Anyone),
    ("guard lint-on-write", Rule::Anyone),
    ("guard rate-limit", Rule::Anyone),
    ("guard budget", Rule::Anyone),
    ("guard context-on-start", Rule::Anyone),
    ("guard notify-when-waiting", Rule::Anyone),
    ("guard session-log", Rule::Anyone),
    ("guard pii", Rule::Anyone),
    ("guard native", Rule::Anyone),
    ("trust", Rule::Unless("show")),
    ("untrust", Rule::Person),
    ("reload", Rule::Person),
    // Registering the same hooks again does no harm.
    ("install", Rule::Itself),
    ("uninstall", Rule::Unless("dry_run")),
    // Listing and proposing do no harm.
    ("import", Rule::Itself),
    // It overwrites work; listing and trying do not.
    ("undo", Rule::Itself),
    ("hosts", Rule::Anyone),
    ("doctor", Rule::Anyone),
    ("status-line", Rule::Anyone),
    ("log", Rule::Anyone),
    ("log show", Rule::Anyone),
    // It only reads, and what it reads anyone may read with the commands around.
    ("mcp", Rule::Anyone),
    ("verify", Rule::Anyone),
    ("stats", Rule::Anyone),
    ("top", Rule::Anyone),
    // Whoever has the link answers decisions.
    ("ui", Rule::Itself),
    ("ui token add", Rule::Person),
    ("ui token list", Rule::Anyone),
    ("ui token remove", Rule::Person),
    ("watch", Rule::Anyone),
    ("agent list", Rule::Anyone),
    ("agent show", Rule::Anyone),
    // A name guards nothing.
    ("agent rename", Rule::Anyone),
    ("agent peek", Rule::Anyone),
    // Whoever attaches to another agent answers its dialogs.
    ("agent attach", Rule::Person),
    // It is typed where a person would type: a shell or the agent's own commands take it, unseen by
    // hooks.
    ("agent send", Rule::Person),
    // It was stopped so that a person looks at it.
    ("agent thaw", Rule::Person),
    ("agent kill", Rule::Anyone),
    // An agent needs a runbook that a person has trusted.
    ("pipeline run", Rule::Itself),
    ("pipeline list", Rule::Anyone),
    ("pipeline show", Rule::Anyone),
    ("pipeline logs", Rule::Anyone),
    ("pipeline cancel", Rule::Anyone),
    // It undoes a person's cancel, with the caller's variables.
    ("pipeline resume", Rule::Person),
    ("pipeline wait", Rule::Anyone),
    ("decision list", Rule::Anyone),
    ("decision show", Rule::Anyone),
    ("decision resolve", Rule::Person),
    ("decision claim", Rule::Person),
    ("decision release", Rule::Person),
    ("decision revoke", Rule::Person),
    ("emit agent:idle", Rule::Anyone),
    ("emit agent:prompt", Rule::Anyone),
    ("emit agent:signal", Rule::Anyone),
    ("runbook check", Rule::Anyone),
    ("runbook list", Rule::Anyone),
    ("runbook show", Rule::Anyone),
    #[cfg(not(feature = "workflow"))]
    ("workflow", Rule::Anyone),
    ("workflow init", Rule::Anyone),
    // An agent may not choose which program is started.
    ("workflow run", Rule::Itself),
    ("workflow status", Rule::Anyone),
    ("workflow list", Rule::Anyone),
    ("workflow next", Rule::Anyone),
    ("workflow context", Rule::Anyone),
    ("workflow complete", Rule::Anyone),
    ("workflow approve", Rule::Person),
    ("workflow reject", Rule::Person),
    ("workflow validate", Rule::Anyone),
    ("workflow check", Rule::Anyone),
    ("workflow graph", Rule::Anyone),
    ("workflow history", Rule::Anyone),
    ("workflow reset", Rule::Person),
    ("context7", Rule::Anyone),
    ("review", Rule::Anyone),
    ("daemon start", Rule::Anyone),
    ("daemon stop", Rule::Person),
    // A person decides what runs at every login.
    ("daemon install", Rule::Unless("print")),
    ("daemon uninstall", Rule::Person),
    ("daemon status", Rule::Anyone),
    ("daemon logs", Rule::Anyone),
    ("replay", Rule::Anyone),
    // Only a person adds a hook that allows.
    ("learn", Rule::Itself),
    // What an agent created in shadow mode is enforced once a person says so.
    ("promote", Rule::Unless("dry_run")),
    ("schema", Rule::Anyone),
    ("completions", Rule::Anyone),
    ("help", Rule::Anyone),
];

/// Returns the name of the typed command, such as `daemon stop`, if only a person may run it with
/// these arguments.
pub fn for_a_person(typed: &ArgMatches) -> Option<String> {
    let mut names = Vec::new();
    let mut inner = typed;
    while let Some((name, further)) = inner.subcommand() {
        names.push(name);
        inner = further;
    }
    let name = names.join(" ");
    let rule =
        RULES.iter().find(|(known, _)| *known == name).map_or(Rule::Person, |(_, rule)| *rule);
    let is_meant = match rule {
        Rule::Anyone | Rule::Shadow | Rule::Itself => false,
        Rule::Person => true,
        Rule::Unless(option) => !inner.get_flag(option),
    };
    is_meant.then_some(name)
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;

    /// Returns every command that can be typed, with its definition.
    fn typed(command: &Command, name: &str, all: &mut Vec<(String, Command)>) {
        if !name.is_empty() && !command.is_subcommand_required_set() {
            all.push((name.to_owned(), command.clone()));
        }
        for inner in command.get_subcommands() {
            typed(inner, format!("{name} {}", inner.get_name()).trim_start(), all);
        }
    }

    #[test]
    fn every_command_has_a_rule_and_every_rule_a_command() {
        let mut all = Vec::new();
        typed(&crate::commands::Cli::command(), "", &mut all);
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let ruled: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
        for name in &names {
            let found = ruled.iter().filter(|known| *known == name).count();
            assert_eq!(found, 1, "`{name}`: say in permissions.rs who may run it");
        }
        for name in &ruled {
            assert!(names.contains(name), "`{name}` is in permissions.rs and no command");
        }
        for (name, rule) in RULES {
            if let Rule::Unless(option) = rule {
                let command = &all.iter().find(|(known, _)| known == name).unwrap().1;
                let has = command.get_arguments().any(|argument| argument.get_id() == option);
                assert!(has, "`{name}` has no option `{option}`");
            }
        }
    }

    #[test]
    fn what_only_shows_is_for_anyone() {
        let of = |line: &str| {
            let words = line.split(' ');
            for_a_person(&crate::commands::Cli::command().try_get_matches_from(words).unwrap())
        };
        assert_eq!(of("anyhook trust --all").as_deref(), Some("trust"));
        assert_eq!(of("anyhook trust --show"), None);
        assert_eq!(of("anyhook daemon stop").as_deref(), Some("daemon stop"));
        assert_eq!(of("anyhook daemon status"), None);
        assert_eq!(of("anyhook agent send a text").as_deref(), Some("agent send"));
        assert_eq!(of("anyhook pipeline resume 7k2m").as_deref(), Some("pipeline resume"));
        assert_eq!(of("anyhook --color never promote x").as_deref(), Some("promote"));
        assert_eq!(of("anyhook promote x --dry-run"), None);
    }
}
