//! One line for the status line of Claude Code or of tmux: whether guards stand. It starts nothing and
//! asks nobody, so that it can be drawn again and again.

use std::path::PathBuf;

use anyhook_engine::discover::{InstalledHooks, ReadDepth};
use anyhook_hook::environment::Environment;
use anyhook_terminal::format::brief;
use jiff::Timestamp;
use serde_json::Value;

use super::standing::{self, Standing};
use crate::error::SetupError;

/// How colours are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineColours {
    /// For terminals, and programs that pass them on.
    Ansi,
    /// For tmux.
    Tmux,
    /// Without any.
    None,
}

/// What Claude Code tells its status line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentSession {
    /// Its version.
    pub version: Option<String>,
    /// The folder that it works in.
    pub work_dir: Option<PathBuf>,
}

/// The agent that tells its status line about itself.
const AGENT: &str = "claude-code";

impl AgentSession {
    /// Reads what was told on standard input; `None` if it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let told: Value = serde_json::from_str(text).ok()?;
        told.is_object().then(|| {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let folders = [&told["workspace"]["current_dir"], &told["cwd"]];
            let work_dir = folders.into_iter().find_map(text).map(PathBuf::from);
            Self {
                version: text(&told["version"]),
                work_dir: work_dir.filter(|folder| folder.is_absolute()),
            }
        })
    }
}

/// What the line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    /// How many hooks are ready.
    pub hooks: usize,
    /// Why something is not proven, and the command that helps.
    pub fault: Option<(String, String)>,
    /// When everything was proven: the oldest proof.
    pub proven: Option<Timestamp>,
    /// How many decisions wait for a person, if that is known.
    pub waiting: Option<usize>,
}

impl StatusLine {
    /// Looks at the hooks, the settings and the proofs: of all agents, or of the one that asks.
    pub fn look(
        session: Option<&AgentSession>,
        environment: &Environment,
    ) -> Result<Self, SetupError> {
        let work_dir = session.and_then(|session| session.work_dir.clone());
        let work_dir = work_dir.unwrap_or_else(|| environment.work_dir.clone());
        let environment = &Environment { work_dir, ..environment.clone() };
        let root = environment.project_root();
        let installed = InstalledHooks::find(
            &environment.places,
            Some(&root),
            &environment.work_dir,
            ReadDepth::WhatMayRun,
        );
        let hooks = installed.hooks.iter().filter(|hook| hook.out.is_none()).count();
        let mut standings = standing::all(environment)?;
        if session.is_some() {
            standings.retain(|standing| standing.subject.agent.id() == AGENT);
        }
        let told = session.and_then(|session| session.version.as_deref());
        let standings: Vec<Standing> = if told.is_some() {
            standings.into_iter().map(|standing| standing.with_version(told)).collect()
        } else {
            standings
        };
        Ok(Self::of(hooks, &standings, session.is_some()))
    }

    fn of(hooks: usize, standings: &[Standing], is_one: bool) -> Self {
        let doubtful =
            standings.iter().find_map(|standing| Some((standing, standing.doubt.as_ref()?)));
        let fault = match doubtful {
            _ if standings.is_empty() => {
                let command = if is_one {
                    format!("anyhook install {AGENT}")
                } else {
                    "anyhook install".to_owned()
                };
                Some(("not installed".to_owned(), command))
            }
            Some((_, doubt)) if is_one || standings.len() == 1 => {
                Some((doubt.brief().to_owned(), PROVE.to_owned()))
            }
            Some((standing, doubt)) => {
                let agent = standing.subject.agent.id();
                Some((format!("{agent}: {}", doubt.brief()), PROVE.to_owned()))
            }
            None => None,
        };
        let proven = standings.iter().filter_map(Standing::proven).min();
        Self { hooks, fault, proven, waiting: None }
    }

    /// Returns the line.
    pub fn text(&self, colours: LineColours, now: Timestamp) -> String {
        let waiting = self.waiting.filter(|waiting| *waiting > 0);
        let waiting =
            waiting.map(|waiting| colours.paint(Colour::Yellow, &format!(" · {waiting} waiting")));
        let waiting = waiting.unwrap_or_default();
        if let Some((fault, command)) = &self.fault {
            let text = format!("anyhook ✗ {fault}: run {command}");
            return colours.paint(Colour::Red, &text) + &waiting;
        }
        let hooks =
            if self.hooks == 1 { "1 hook".to_owned() } else { format!("{} hooks", self.hooks) };
        let proven = self.proven.map(|at| {
            let age = now.duration_since(at);
            if age.as_secs() < 60 {
                " · proven now".to_owned()
            } else {
                format!(" · proven {} ago", brief(age))
            }
        });
        colours.paint(Colour::Green, "anyhook ✓")
            + &format!(" {hooks}{}", proven.unwrap_or_default())
            + &waiting
    }
}

/// The command that proves everything again.
pub const PROVE: &str = "anyhook doctor --prove";

#[derive(Clone, Copy)]
enum Colour {
    Red,
    Green,
    Yellow,
}

impl LineColours {
    fn paint(self, colour: Colour, text: &str) -> String {
        let (number, name) = match colour {
            Colour::Red => (31, "red"),
            Colour::Green => (32, "green"),
            Colour::Yellow => (33, "yellow"),
        };
        match self {
            Self::Ansi => format!("\x1b[{number}m{text}\x1b[0m"),
            // A `#` would begin a format of its own.
            Self::Tmux => format!("#[fg={name}]{}#[default]", text.replace('#', "##")),
            Self::None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn the_line_says_what_matters() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 30);
        let proven = Some(now - SignedDuration::from_hours(49));
        let good = StatusLine { hooks: 3, fault: None, proven, waiting: None };
        assert_eq!(good.text(LineColours::None, now), "anyhook ✓ 3 hooks · proven 2d ago");
        let waiting = StatusLine { hooks: 1, waiting: Some(2), proven: Some(now), ..good.clone() };
        assert_eq!(
            waiting.text(LineColours::None, now),
            "anyhook ✓ 1 hook · proven now · 2 waiting"
        );
        let none = StatusLine { waiting: Some(0), ..good.clone() };
        assert_eq!(none.text(LineColours::None, now), good.text(LineColours::None, now));
        let fault = Some(("not proven".to_owned(), PROVE.to_owned()));
        let bad = StatusLine { fault, ..good };
        let text = "anyhook ✗ not proven: run anyhook doctor --prove";
        assert_eq!(bad.text(LineColours::None, now), text);
        assert_eq!(bad.text(LineColours::Ansi, now), format!("\x1b[31m{text}\x1b[0m"));
        assert_eq!(bad.text(LineColours::Tmux, now), format!("#[fg=red]{text}#[default]"));
    }

    #[test]
    fn what_claude_code_tells_is_read() {
        let text = r#"{"cwd": "/a", "workspace": {"current_dir": "/b"}, "version": "2.1.325"}"#;
        let session = AgentSession::parse(text).unwrap();
        assert_eq!(session.version.as_deref(), Some("2.1.325"));
        assert_eq!(session.work_dir, Some("/b".into()));
        let relative = AgentSession::parse(r#"{"cwd": "a"}"#);
        assert_eq!(relative, Some(AgentSession::default()));
        assert_eq!(AgentSession::parse(""), None);
        assert_eq!(AgentSession::parse("[]"), None);
    }
}
