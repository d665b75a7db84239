//! What becomes of each of an agent's own hooks, and why.

use anyhook_engine::definition::name_fault;
use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_hosts::native_hooks::{MatcherForm, NativeHook};
use anyhook_model::Mode;

use super::definition::is_same_command;
use super::run;
use super::survey::{ImportSurvey, ImportedFolder};
use super::words::{Folders, only_native};
use crate::error::SetupError;
use crate::hooks;

/// What becomes of an agent's hooks.
#[derive(Debug)]
pub struct ImportPlan {
    /// What was found.
    pub survey: ImportSurvey,
    /// What becomes of the hooks in the settings, in their order.
    pub hooks: Vec<PlannedHook>,
    /// Whether hooks that lose something are imported, too.
    pub partial: bool,
}

/// One or more hooks in the settings that become one.
#[derive(Debug)]
pub struct PlannedHook {
    /// Their places in the list of those that were found.
    pub natives: Vec<usize>,
    /// What becomes of them.
    pub fate: HookFate,
    /// In what they will differ.
    pub notes: Vec<String>,
}

/// What becomes of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookFate {
    /// It can be imported, under this name.
    Importable(String),
    /// It was imported.
    Imported {
        /// The name of the imported hook.
        name: String,
        /// Why the imported hook does not stand in for it yet.
        not_in_force: Option<String>,
    },
    /// It cannot be carried over, and why.
    NotCarriedOver(String),
}

impl ImportPlan {
    /// Looks at an agent's hooks, the user's or the project's, and plans what becomes of them.
    pub fn of(
        agent: &'static HostSpec,
        project: bool,
        partial: bool,
        environment: &Environment,
    ) -> Result<Self, SetupError> {
        let survey = ImportSurvey::look(agent, project, environment)?;
        let installed = hooks::installed(environment).hooks;
        let not_in_force = |folder: &ImportedFolder| -> Option<String> {
            let found = installed.iter().find(|standing| standing.hook.folder == folder.folder);
            match found {
                None => Some("it is not installed here".to_owned()),
                Some(found) if found.out.is_some() => found.out.as_ref().map(ToString::to_string),
                Some(found) if found.hook.definition.mode == Mode::Shadow => {
                    Some(format!("in shadow mode (anyhook promote {})", found.hook.name()))
                }
                Some(found) => found.hook.fault().map(|fault| fault.message.clone()),
            }
        };
        let mut taken: Vec<String> =
            installed.iter().map(|standing| standing.hook.name().to_owned()).collect();
        let mut refusals = refusals(&survey, partial, environment);
        keep_positions(&survey, &mut refusals);
        let mut planned: Vec<PlannedHook> = Vec::new();
        for (index, hook) in survey.natives.iter().enumerate() {
            let fate = match refusals[index].take() {
                Some(why) => HookFate::NotCarriedOver(why),
                None => match survey
                    .imported
                    .iter()
                    .find(|folder| folder.definition.is_of(agent.id(), hook))
                {
                    Some(folder) => HookFate::Imported {
                        name: folder.name(),
                        not_in_force: not_in_force(folder),
                    },
                    None => {
                        if let Some(same) = same_command(&survey, &mut planned, hook) {
                            same.natives.push(index);
                            continue;
                        }
                        let name = free_name(hook, &survey, &taken);
                        taken.push(name.clone());
                        HookFate::Importable(name)
                    }
                },
            };
            let notes = match fate {
                HookFate::NotCarriedOver(_) => Vec::new(),
                _ => notes(&survey, hook, environment),
            };
            planned.push(PlannedHook { natives: vec![index], fate, notes });
        }
        Ok(Self { survey, hooks: planned, partial })
    }

    /// Returns the hooks that can be imported, each with the name it gets.
    pub fn importable(&self) -> impl Iterator<Item = (&PlannedHook, &str)> {
        self.hooks.iter().filter_map(|hook| match &hook.fate {
            HookFate::Importable(name) => Some((hook, name.as_str())),
            _ => None,
        })
    }

    /// Returns the hooks that were imported and are in force, so that the agent need not run them
    /// any more, each with its name.
    pub fn replaced(&self) -> impl Iterator<Item = (&PlannedHook, &str)> {
        self.hooks.iter().filter_map(|hook| match &hook.fate {
            HookFate::Imported { name, not_in_force: None } => Some((hook, name.as_str())),
            _ => None,
        })
    }
}

/// Returns the hook that is to be imported and runs the same command at the same event, if the agent
/// runs such a command once.
fn same_command<'plan>(
    survey: &ImportSurvey,
    planned: &'plan mut [PlannedHook],
    hook: &NativeHook,
) -> Option<&'plan mut PlannedHook> {
    if !survey.format.same_command_once {
        return None;
    }
    planned.iter_mut().find(|other| {
        matches!(other.fate, HookFate::Importable(_))
            && is_same_command(&survey.natives[other.natives[0]], hook)
    })
}

/// Returns why hooks cannot be carried over, in their order.
fn refusals(
    survey: &ImportSurvey,
    partial: bool,
    environment: &Environment,
) -> Vec<Option<String>> {
    let refusal = |hook: &NativeHook| -> Option<String> {
        let format = survey.format;
        let event = match &hook.command {
            Err(why) => return Some(why.clone()),
            Ok(_) => format.event(&hook.event)?,
        };
        let matcher = hook.matcher.as_deref().filter(|_| event.target.is_some());
        let form = matcher.map(|matcher| (format.matcher)(event, matcher));
        if let Some(MatcherForm::Search(text) | MatcherForm::Whole(text)) = &form
            && let Err(why) = run::expression(text)
        {
            return Some(format!("its matcher `{text}` cannot be read: {why}"));
        }
        if partial {
            return None;
        }
        let (word, what) = lost(survey, hook, environment).into_iter().next()?;
        Some(format!("it names `{word}`, with which {} {what} (--partial)", format.title))
    };
    survey.natives.iter().map(refusal).collect()
}

/// Returns what only the agent can do for a hook, as far as can be seen.
fn lost(
    survey: &ImportSurvey,
    hook: &NativeHook,
    environment: &Environment,
) -> Vec<(&'static str, &'static str)> {
    let Ok(command) = &hook.command else { return Vec::new() };
    let project = environment.project_root();
    let folders = Folders { home: &survey.scope.home, project: &project };
    only_native(survey.format, &command.line(), folders)
}

/// Keeps hooks that stand before one that stays, where the agent identifies hooks by their position
/// and would not run that one any more.
fn keep_positions(survey: &ImportSurvey, refusals: &mut [Option<String>]) {
    if !survey.format.counts_positions {
        return;
    }
    let natives = &survey.natives;
    for index in 0..natives.len() {
        let hook = &natives[index];
        let stays_after = |other: &usize| {
            let after = &natives[*other];
            refusals[*other].is_some()
                && after.file == hook.file
                && after.event == hook.event
                && after.place > hook.place
        };
        if refusals[index].is_none()
            && let Some(other) = (0..natives.len()).find(stays_after)
        {
            let title = survey.format.title;
            refusals[index] = Some(format!(
                "{title} trusts hooks by their position, so `{}` after it would not run any more",
                natives[other].label
            ));
        }
    }
}

/// Returns in what an imported hook differs.
fn notes(survey: &ImportSurvey, hook: &NativeHook, environment: &Environment) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(unasked) = survey.format.event(&hook.event).and_then(|event| event.unasked) {
        notes.push(format!("it does not run at every `{}`: {unasked}", hook.event));
    }
    if let (Ok(command), Some(event)) = (&hook.command, survey.format.event(&hook.event)) {
        let most = run::longest_ms(survey.agent, event);
        // What no one has asked for is not worth a note.
        if command.timeout_ms > most && command.timeout_ms != event.default_ms {
            let (most, own) = (most / 1000, command.timeout_ms / 1000);
            notes.push(format!("it may take {most} s, not {own} s"));
        }
    }
    let title = survey.format.title;
    let lost = lost(survey, hook, environment).into_iter();
    notes.extend(lost.map(|(word, what)| {
        format!("it names `{word}`, with which {title} {what}: anyhook does not")
    }));
    notes
}

/// Programs that run another one, or a script.
const RUNNERS: [&str; 22] = [
    "bash", "bun", "bunx", "deno", "env", "exec", "node", "npx", "perl", "php", "pipx", "pnpm",
    "python", "python3", "ruby", "run", "sh", "sudo", "tsx", "uv", "uvx", "zsh",
];

/// Returns a name that no hook has yet.
fn free_name(hook: &NativeHook, survey: &ImportSurvey, taken: &[String]) -> String {
    let base = name_of(&hook.label).unwrap_or_else(|| slug(&hook.event));
    let base = if name_fault(&base).is_some() { "imported-hook".to_owned() } else { base };
    let is_free = |name: &String| {
        !taken.contains(name) && survey.hooks_folder.join(name).symlink_metadata().is_err()
    };
    let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
    std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base)
}

/// Returns a name for a command: that of its script or program.
pub(super) fn name_of(command: &str) -> Option<String> {
    let is_between = |letter: char| letter.is_whitespace() || ";|&()".contains(letter);
    // Quotes may be around a part of a word: "$CLAUDE_PROJECT_DIR"/guard.sh
    let whole = command.replace(['"', '\''], "");
    let words = whole.split(is_between).filter(|word| !word.is_empty());
    let is_name = |word: &&str| {
        let file = word.rsplit('/').next().unwrap_or_default();
        !word.starts_with('-') && !word.contains(['=', '`']) && !RUNNERS.contains(&file)
    };
    let word = words.into_iter().find(is_name)?;
    let file = word.rsplit('/').find(|part| !part.is_empty())?;
    let stem = match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    };
    Some(slug(stem)).filter(|name| !name.is_empty())
}

/// Returns a text as a hook may be called.
fn slug(text: &str) -> String {
    let mut name = String::new();
    let mut previous = '-';
    for letter in text.chars() {
        if letter.is_uppercase() && previous.is_lowercase() {
            name.push('-');
        }
        let kept = if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        if kept != '-' || !name.ends_with('-') {
            name.push(kept);
        }
        previous = letter;
    }
    name.truncate(48);
    name.trim_matches('-').to_owned()
}
