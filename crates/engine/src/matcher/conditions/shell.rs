//! Conditions on one simple command.

use std::path::Path;

use anyhook_model::Event;
use anyhook_model::hook::ShellCondition;
use anyhook_shell::{Access, RedirectionKind, ShellCommand, Word};

use super::facts::CallFacts;
use super::target::{Place, Target, TargetKind};
use super::{MatchEvidence, Prefilter, join};
use crate::matcher::{Expression, wildcard};
use crate::repository::branch_of;

/// A condition on one simple command, ready to use.
#[derive(Clone, Debug)]
pub struct ShellMatcher {
    definition: ShellCondition,
    /// The words of each subcommand.
    subcommands: Vec<Vec<String>>,
    /// The spellings of each flag that must be given.
    all_flags: Vec<Vec<String>>,
    pattern: Option<Expression>,
    targets: Vec<TargetKind>,
    /// What it reads, writes, deletes and moves.
    by_access: [(Access, Vec<TargetKind>); 4],
    redirects: Vec<TargetKind>,
    except: Vec<TargetKind>,
    any: Vec<Self>,
    all: Vec<Self>,
    not: Option<Box<Self>>,
}

/// A condition holds for a command.
struct Held {
    /// The argument that matched.
    argument: Option<String>,
}

/// A command in its line.
struct Candidate<'call> {
    command: &'call ShellCommand,
    facts: &'call CallFacts,
    place: Place<'call>,
    /// The folder in which it runs.
    folder: Option<String>,
}

impl ShellMatcher {
    /// Makes it ready to use. The error says what is wrong with an expression.
    pub fn new(definition: &ShellCondition) -> Result<Self, String> {
        let split = |texts: &[String], separator: char| -> Vec<Vec<String>> {
            let pieces = |text: &String| {
                text.split(separator)
                    .map(str::trim)
                    .filter(|piece| !piece.is_empty())
                    .map(str::to_owned)
                    .collect()
            };
            texts.iter().map(pieces).collect()
        };
        let kinds = |texts: &[String]| texts.iter().map(|text| TargetKind::new(text)).collect();
        let several = |definitions: &[ShellCondition]| {
            definitions.iter().map(Self::new).collect::<Result<Vec<_>, _>>()
        };
        let not = definition.not.as_deref().map(Self::new).transpose()?;
        let all_flags = split(&definition.all_flags, '|');
        if all_flags.iter().any(Vec::is_empty) {
            return Err("an item of `all_flags` names no flag".to_owned());
        }
        let subcommands = split(&definition.subcommand, ' ');
        if subcommands.iter().any(Vec::is_empty) {
            return Err("an item of `subcommand` has no words".to_owned());
        }
        let pattern = definition.pattern.as_deref().map(Expression::anywhere).transpose()?;
        Ok(Self {
            subcommands,
            all_flags,
            pattern,
            targets: kinds(&definition.targets),
            by_access: [
                (Access::Read, kinds(&definition.reads)),
                (Access::Write, kinds(&definition.writes)),
                (Access::Delete, kinds(&definition.deletes)),
                (Access::Move, kinds(&definition.moves)),
            ],
            except: kinds(&definition.except),
            redirects: kinds(&definition.redirects),
            any: several(&definition.any)?,
            all: several(&definition.all)?,
            not: not.map(Box::new),
            definition: definition.clone(),
        })
    }

    /// Returns what matched, if a command of the call does.
    pub fn matches(&self, facts: &CallFacts, event: &Event) -> Option<MatchEvidence> {
        let place = Place::of(event);
        let of_commands = facts.commands().find_map(|command| {
            let folder = place.folder_of(command);
            let candidate = Candidate { command, facts, place, folder };
            let Held { argument } = self.holds(&candidate)?;
            Some(MatchEvidence {
                command: Some(command.text()),
                program: command.program().map(str::to_owned),
                argument,
                ..MatchEvidence::default()
            })
        });
        of_commands.or_else(|| self.unread_line(facts))
    }

    /// Matches a line of which a part could not be read at all, where only that is asked for.
    fn unread_line(&self, facts: &CallFacts) -> Option<MatchEvidence> {
        let only_unknown = ShellCondition { unknown: Some(true), ..ShellCondition::default() };
        if self.definition != only_unknown {
            return None;
        }
        let unknown = facts.lines.iter().flat_map(|line| &line.unknown).next();
        let is_cut = facts.is_cut && !facts.lines.is_empty();
        let text = unknown.map(|unknown| unknown.text.clone());
        (unknown.is_some() || is_cut)
            .then(|| MatchEvidence { command: text, ..MatchEvidence::default() })
    }

    /// Returns what of a command matched, if it does.
    fn holds(&self, candidate: &Candidate<'_>) -> Option<Held> {
        let definition = &self.definition;
        let command = candidate.command;
        let is_program = |name: &str| wildcard::matches_any(&definition.program, name);
        let is_sound = (definition.program.is_empty() || command.program().is_some_and(is_program))
            && definition.unknown.is_none_or(|unknown| unknown == command.is_unknown)
            && definition.remote.is_none_or(|remote| remote == command.is_remote)
            && (definition.via.is_empty()
                || command.via.iter().any(|via| wildcard::matches_any(&definition.via, via)))
            && (self.subcommands.is_empty() || self.is_subcommand(command))
            && (definition.flags.is_empty()
                || definition.flags.iter().any(|flag| command.has_flag(flag)))
            && self
                .all_flags
                .iter()
                .all(|spellings| spellings.iter().any(|flag| command.has_flag(flag)))
            && (definition.branch.is_empty() || candidate.is_on_branch(&definition.branch))
            && (definition.assigns.is_empty() || assigns(command, &definition.assigns))
            && (definition.piped_to.is_empty()
                || candidate.is_piped(&definition.piped_to, |own, other| own < other))
            && (definition.piped_from.is_empty()
                || candidate.is_piped(&definition.piped_from, |own, other| own > other));
        if !is_sound {
            return None;
        }
        let mut argument = None;
        if !definition.arguments.is_empty() {
            argument = Some(argument_like(command, &definition.arguments)?);
        }
        if let Some(pattern) = &self.pattern {
            argument = argument.or(Some(found(command, pattern)?));
        }
        if !self.redirects.is_empty() {
            argument = argument.or(Some(candidate.redirect(&self.redirects, &self.except)?));
        }
        if !self.targets.is_empty() {
            argument = argument.or(Some(candidate.target(None, &self.targets, &self.except)?));
        }
        for (access, kinds) in self.by_access.iter().filter(|(_, kinds)| !kinds.is_empty()) {
            let target = candidate.target(Some(*access), kinds, &self.except)?;
            argument = argument.or(Some(target));
        }
        for other in &self.all {
            let Held { argument: more } = other.holds(candidate)?;
            argument = argument.or(more);
        }
        if !self.any.is_empty() {
            let held = self.any.iter().find_map(|other| other.holds(candidate));
            let Held { argument: more } = held?;
            argument = argument.or(more);
        }
        match &self.not {
            Some(not) if not.holds(candidate).is_some() => None,
            _ => Some(Held { argument }),
        }
    }

    fn is_subcommand(&self, command: &ShellCommand) -> bool {
        let given = command.subcommand();
        self.subcommands.iter().any(|wanted| {
            wanted.len() <= given.len()
                && wanted.iter().zip(&given).all(|(wanted, given)| wildcard::matches(wanted, given))
        })
    }

    /// Returns which programs a command must run for it to hold.
    pub fn prefilter(&self) -> Prefilter {
        let own = &self.definition.program;
        if !own.is_empty() {
            return Prefilter { programs: own.clone(), ..Prefilter::default() };
        }
        let mut parts: Vec<Prefilter> = self.all.iter().map(Self::prefilter).collect();
        if !self.any.is_empty() {
            parts.push(join(self.any.iter().map(Self::prefilter)));
        }
        parts.into_iter().find(|part| !part.is_open).unwrap_or_else(Prefilter::open)
    }
}

impl Candidate<'_> {
    fn is_piped(&self, programs: &[String], is_meant: impl Fn(u32, u32) -> bool) -> bool {
        let own = self.command;
        let lines = &self.facts.lines;
        let of_line =
            lines.iter().find(|line| line.commands.iter().any(|one| std::ptr::eq(one, own)));
        of_line.is_some_and(|line| {
            line.commands.iter().any(|other| {
                other.pipeline == own.pipeline
                    && is_meant(own.place, other.place)
                    && other.program().is_some_and(|name| wildcard::matches_any(programs, name))
            })
        })
    }

    fn is_on_branch(&self, branches: &[String]) -> bool {
        let branch = self.folder.as_deref().and_then(|folder| branch_of(Path::new(folder)));
        branch.is_some_and(|branch| wildcard::matches_any(branches, &branch))
    }

    fn redirect(&self, kinds: &[TargetKind], except: &[TargetKind]) -> Option<String> {
        let writes = self.command.redirections.iter().filter(|redirection| {
            matches!(
                redirection.kind,
                RedirectionKind::Write | RedirectionKind::Append | RedirectionKind::ReadWrite
            )
        });
        self.first_of(writes.map(|redirection| &redirection.target), kinds, except)
    }

    fn target(
        &self,
        access: Option<Access>,
        kinds: &[TargetKind],
        except: &[TargetKind],
    ) -> Option<String> {
        let files = self.command.files();
        let files = files.iter().filter(|file| access.is_none_or(|access| access == file.access));
        self.first_of(files.map(|file| &*file.word), kinds, except)
    }

    fn first_of<'word>(
        &self,
        words: impl Iterator<Item = &'word Word>,
        kinds: &[TargetKind],
        except: &[TargetKind],
    ) -> Option<String> {
        let mut words = words.filter(|word| {
            let target = Target::new(word, self.folder.as_deref(), self.place);
            let is_one_of = |kinds: &[TargetKind]| kinds.iter().any(|kind| target.is(kind));
            is_one_of(kinds) && !is_one_of(except)
        });
        words.next().map(|word| word.text.clone())
    }
}

fn assigns(command: &ShellCommand, names: &[String]) -> bool {
    command.assignments.iter().any(|(name, _)| wildcard::matches_any(names, name))
}

fn argument_like(command: &ShellCommand, patterns: &[String]) -> Option<String> {
    let known = command.arguments().iter().filter_map(Word::known);
    known.into_iter().find(|text| wildcard::matches_any(patterns, text)).map(str::to_owned)
}

fn found(command: &ShellCommand, pattern: &Expression) -> Option<String> {
    let argument =
        command.arguments().iter().filter_map(Word::known).find(|text| pattern.is_match(text));
    let whole = || Some(command.text()).filter(|text| pattern.is_match(text));
    argument.map(str::to_owned).or_else(whole)
}
