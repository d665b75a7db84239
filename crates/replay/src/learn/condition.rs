//! The narrowest conditions that cover examples.
//!
//! A condition begins with what a call is, and each further part is added if all examples still
//! match. Whether they do is asked of the engine's own matcher, so a condition never means anything
//! else than what was checked.

use std::collections::BTreeSet;

use anyhook_engine::matcher::Matcher;
use anyhook_model::Event;
use anyhook_model::hook::{FileCondition, MatcherDefinition, McpCondition, ShellCondition};
use anyhook_shell::ShellCommand;

use super::subject::{self, Subject};

/// Kinds of targets, the narrowest first.
const TARGETS: [&str; 9] =
    ["device", "root", "home", "project", "repository", "unknown", "outside", "temp", "inside"];
/// Kinds of targets that lie outside the project, or are all of it.
const FAR_TARGETS: [&str; 7] =
    ["device", "root", "home", "project", "repository", "unknown", "outside"];
/// Longer arguments are not named in a condition.
const ARGUMENT_LIMIT: usize = 80;
/// More arguments than this are not named.
const ARGUMENTS: usize = 4;

/// A call and what it is about.
#[derive(Clone, Copy, Debug)]
pub struct Example<'call> {
    /// The call.
    pub event: &'call Event,
    /// The command it is about, if it is one.
    pub command: Option<&'call ShellCommand>,
}

/// Returns whether all examples match.
pub fn covers(definition: &MatcherDefinition, examples: &[Example<'_>]) -> bool {
    let Ok(matcher) = Matcher::new(definition) else { return false };
    examples.iter().all(|example| matcher.matches(example.event).is_ok())
}

/// Returns the narrowest condition that all examples of a subject meet; `None` if it cannot be said.
pub fn narrowest(subject: &Subject, examples: &[Example<'_>]) -> Option<MatcherDefinition> {
    let definition = match subject {
        Subject::Command { program, subcommand, .. } => command(program, subcommand, examples)?,
        Subject::Url(host) => {
            let url = vec![format!("{host}{}", common_folder(examples, host)?)];
            MatcherDefinition { url, ..MatcherDefinition::default() }
        }
        Subject::Mcp { server, tool } => {
            let mcp = McpCondition { server: vec![server.clone()], tool: vec![tool.clone()] };
            MatcherDefinition { mcp: Some(mcp), ..MatcherDefinition::default() }
        }
        Subject::File(_) => return None,
    };
    covers(&definition, examples).then_some(definition)
}

fn of_shell(condition: ShellCondition) -> MatcherDefinition {
    MatcherDefinition { shell: vec![condition], ..MatcherDefinition::default() }
}

/// Returns whether a text means itself where `*` stands for any letters.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= ARGUMENT_LIMIT
        && !text.contains(['*', '?', '[', '{', '|', '\n', '\\'])
}

/// Returns the condition on commands that all examples meet: the program, how it is run, and the
/// flags, arguments and targets that they have in common.
fn command(program: &str, subcommand: &str, examples: &[Example<'_>]) -> Option<MatcherDefinition> {
    if !is_plain(program) {
        return None;
    }
    let mut condition = ShellCondition {
        program: vec![program.to_owned()],
        subcommand: Some(subcommand.to_owned())
            .filter(|words| !words.is_empty())
            .into_iter()
            .collect(),
        ..ShellCondition::default()
    };
    let commands: Vec<&ShellCommand> =
        examples.iter().filter_map(|example| example.command).collect();
    let refine = |condition: &mut ShellCondition, change: &dyn Fn(&mut ShellCondition)| {
        let mut narrower = condition.clone();
        change(&mut narrower);
        let is_sound = covers(&of_shell(narrower.clone()), examples);
        if is_sound {
            *condition = narrower;
        }
        is_sound
    };
    for via in common(&commands, |command| command.via.clone()) {
        refine(&mut condition, &|condition| condition.via = vec![via.clone()]);
    }
    if commands.iter().all(|command| command.is_remote) {
        refine(&mut condition, &|condition| condition.remote = Some(true));
    }
    for flag in common(&commands, subject::flags_of) {
        refine(&mut condition, &|condition| condition.all_flags.push(flag.clone()));
    }
    let mut named = 0;
    for argument in common(&commands, |command| operands(command, subcommand)) {
        if named < ARGUMENTS {
            let is_named = refine(&mut condition, &|condition| name(condition, &argument));
            named += usize::from(is_named);
        }
    }
    if named == 0 {
        TARGETS.iter().find(|kind| {
            refine(&mut condition, &|condition| condition.targets = vec![(**kind).to_owned()])
        });
    }
    Some(of_shell(condition))
}

/// Adds an argument that a command must have.
fn name(condition: &mut ShellCondition, argument: &str) {
    let arguments = vec![argument.to_owned()];
    if condition.arguments.is_empty() {
        condition.arguments = arguments;
    } else {
        condition.all.push(ShellCondition { arguments, ..ShellCondition::default() });
    }
}

/// Returns what all commands have, in the order of the first.
fn common(commands: &[&ShellCommand], of: impl Fn(&ShellCommand) -> Vec<String>) -> Vec<String> {
    let Some((first, others)) = commands.split_first() else { return Vec::new() };
    let others: Vec<BTreeSet<String>> =
        others.iter().map(|command| of(command).into_iter().collect()).collect();
    let mut seen = BTreeSet::new();
    let is_common = |item: &String| others.iter().all(|other| other.contains(item));
    of(first).into_iter().filter(|item| is_common(item) && seen.insert(item.clone())).collect()
}

/// Returns the arguments of a command that are neither flags nor its subcommand.
fn operands(command: &ShellCommand, subcommand: &str) -> Vec<String> {
    let words: Vec<&str> = subcommand.split_whitespace().collect();
    let known = command.operands().into_iter().filter_map(|word| word.known());
    let texts = known.filter(|text| is_plain(text) && !words.contains(text));
    texts.map(str::to_owned).collect()
}

/// Returns the folder that all URLs of the examples have in common, such as `/api`; empty if they
/// have none. `None` if it cannot be written as a pattern.
fn common_folder(examples: &[Example<'_>], host: &str) -> Option<String> {
    let path = |example: &Example<'_>| -> Option<Vec<String>> {
        let url = subject::url(example.event.tool.as_ref()?)?;
        let (_, rest) = url.split_once("://")?;
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        let path = path.split(['?', '#']).next().unwrap_or_default();
        Some(path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect())
    };
    let mut paths = examples.iter().map(path);
    let mut folder = paths.next()??;
    for other in paths {
        let other = other?;
        let alike = folder.iter().zip(&other).take_while(|(one, two)| one == two).count();
        folder.truncate(alike);
    }
    let is_sound = is_plain(host) && folder.iter().all(|part| is_plain(part));
    is_sound.then(|| folder.iter().flat_map(|part| ["/", part.as_str()]).collect())
}

/// Returns the condition that calls exactly like the examples meet, and no others; `None` if there
/// is none.
///
/// What is allowed unseen must be no more than what was allowed: the same command and nothing next
/// to it, the same file, the same URL.
pub fn exact(subject: &Subject, examples: &[Example<'_>]) -> Option<MatcherDefinition> {
    let definition = match subject {
        Subject::Command { program, .. } => exact_command(program, examples)?,
        Subject::Url(_) => {
            let urls = examples.iter().map(|one| subject::url(one.event.tool.as_ref()?));
            let urls: Option<BTreeSet<String>> = urls.collect();
            let urls = urls?;
            if urls.iter().any(|url| url.contains(['*', '?', '#', '@'])) {
                return None;
            }
            let (tool, url) = (Some("FetchURL".to_owned()), urls.into_iter().collect());
            MatcherDefinition { tool, url, ..MatcherDefinition::default() }
        }
        Subject::File(subject::FileAccess::Read) => {
            let files = examples.iter().map(|one| super::files::pattern_of(one.event));
            let read: Option<BTreeSet<String>> = files.collect();
            let read: Vec<String> = read?.into_iter().collect();
            if read.iter().any(|pattern| !pattern.starts_with("./")) {
                return None;
            }
            let files = Some(FileCondition { read, ..FileCondition::default() });
            let tool = Some("ReadFile".to_owned());
            MatcherDefinition { tool, files, ..MatcherDefinition::default() }
        }
        // Its arguments, or what it writes, could be anything.
        Subject::Mcp { .. } | Subject::File(_) => return None,
    };
    covers(&definition, examples).then_some(definition)
}

/// Returns whether what is typed is one plain command and nothing else.
fn is_bare(example: &Example<'_>) -> bool {
    let Some((command, tool)) = example.command.zip(example.event.tool.as_ref()) else {
        return false;
    };
    let lines = anyhook_model::tools::shell_lines(&tool.input);
    let (commands, is_known) = subject::commands(tool);
    let odd = ['\'', '"', '\\', '$', '`', '*', '?', '[', '{', '~', '<', '>', '&', ';', '\n'];
    is_known
        && commands.len() == 1
        && lines.len() == 1
        && lines[0].trim() == command.text()
        && !command.text().contains(odd)
        && command.via.is_empty()
        && command.assignments.is_empty()
        && command.redirections.is_empty()
        && !command.is_remote
}

fn exact_command(program: &str, examples: &[Example<'_>]) -> Option<MatcherDefinition> {
    if !examples.iter().all(is_bare) {
        return None;
    }
    let texts: BTreeSet<String> =
        examples.iter().filter_map(|example| Some(example.command?.text())).collect();
    let (alone, longer): (Vec<String>, Vec<String>) =
        texts.into_iter().partition(|text| *text == program);
    let arguments = |pattern: &str| {
        let arguments = vec![pattern.to_owned()];
        Some(Box::new(ShellCondition { arguments, ..ShellCondition::default() }))
    };
    // A pattern is found in an argument, too, but no argument has a blank.
    let escaped: Vec<String> = longer.iter().map(|text| escape(text)).collect();
    let with_arguments = (!longer.is_empty()).then(|| ShellCondition {
        pattern: Some(format!("^({})$", escaped.join("|"))),
        not: arguments("* *"),
        ..ShellCondition::default()
    });
    let without = (!alone.is_empty())
        .then(|| ShellCondition { not: arguments("*"), ..ShellCondition::default() });
    let mut kinds: Vec<ShellCondition> = with_arguments.into_iter().chain(without).collect();
    let mut condition = match kinds.len() {
        1 => kinds.remove(0),
        _ => ShellCondition { any: kinds, ..ShellCondition::default() },
    };
    condition.program = vec![program.to_owned()];
    Some(MatcherDefinition {
        not: Some(Box::new(anything_else(&condition))),
        ..of_shell(condition)
    })
}

/// Returns a condition that holds for a line with anything more than such commands.
fn anything_else(condition: &ShellCondition) -> MatcherDefinition {
    let any = || vec!["*".to_owned()];
    let redirects = ["inside", "outside", "temp", "project", "home", "root", "unknown"];
    let shell = vec![
        ShellCondition { not: Some(Box::new(condition.clone())), ..ShellCondition::default() },
        ShellCondition { unknown: Some(true), ..ShellCondition::default() },
        ShellCondition { remote: Some(true), ..ShellCondition::default() },
        ShellCondition { via: any(), ..ShellCondition::default() },
        ShellCondition { assigns: any(), ..ShellCondition::default() },
        ShellCondition {
            redirects: redirects.map(str::to_owned).to_vec(),
            ..ShellCondition::default()
        },
    ];
    MatcherDefinition { shell, ..MatcherDefinition::default() }
}

/// Returns a regular expression that matches only a text.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if "\\.+*?()|[]{}^$".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Returns whether a command works on something outside the project, or on all of it.
pub fn reaches_far(example: &Example<'_>) -> bool {
    let Some(program) = example.command.and_then(ShellCommand::program) else { return false };
    let condition = ShellCondition {
        program: vec![program.to_owned()],
        targets: FAR_TARGETS.map(str::to_owned).to_vec(),
        ..ShellCondition::default()
    };
    covers(&of_shell(condition), std::slice::from_ref(example))
}
