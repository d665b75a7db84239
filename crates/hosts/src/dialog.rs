//! Dialogs on an agent's screen that no hook reports, or none can answer: whether a folder is
//! trusted, a login, an offer, and permissions of agents that accept no answer from hooks.
//!
//! A dialog counts only if the screen ends with it, including its options and the mark at one of
//! them: an agent may quote the text of one. The keys are counted from the current position of the
//! mark.

mod colours;
mod key_pacer;

use anyhook_model::{Key, PromptType};

pub(crate) use colours::Grid;
pub use key_pacer::KeyPacer;

/// A dialog on a screen.
///
/// Some agents ignore a key that comes right after they have asked: press one, check again before
/// the next (see [`KeyPacer`]), and compute the keys from the mark's position at that time. A
/// dialog that is being redrawn is absent for a moment, so a single check without it does not show
/// that it is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialog {
    /// Its name.
    pub name: &'static str,
    /// The kind of prompt.
    pub prompt_type: PromptType,
    /// What it asks.
    pub question: String,
    /// What it is about: a folder, a command.
    pub about: Option<String>,
    /// The keys that say yes; `None` if only a person can.
    pub allow: Option<Vec<Key>>,
    /// The keys that say no; `None` if only a person can.
    pub deny: Option<Vec<Key>>,
    /// The options of a question, and the keys that choose each of them.
    pub options: Vec<(String, Vec<Key>)>,
    /// Whether the agent's own events report when it appears and when it is answered.
    pub is_told: bool,
}

impl Dialog {
    /// Returns what it asks, and about what.
    pub fn words(&self) -> String {
        match &self.about {
            Some(about) => format!("{} {about}", self.question),
            None => self.question.clone(),
        }
    }

    /// Returns the keys that choose an option of a question.
    pub fn keys_of(&self, label: &str) -> Option<&Vec<Key>> {
        self.options.iter().find(|(option, _)| option == label).map(|(_, keys)| keys)
    }

    /// Returns whether it is about the call that a hook reported: the screen shows the beginning of
    /// a long command, and the name of a file.
    ///
    /// `prompt` is the kind of prompt, if known: the dialog of a plan does not name its call.
    pub fn is_about(&self, told: &str, prompt: Option<PromptType>) -> bool {
        let is_plan = self.prompt_type == PromptType::PlanApproval;
        if is_plan && prompt.is_some() {
            return prompt == Some(PromptType::PlanApproval);
        }
        let Some(first) = told.lines().map(one_spaced).find(|line| !line.is_empty()) else {
            return false;
        };
        let shown = one_spaced(&self.words());
        let begins: String = first.chars().take(TOLD_LENGTH).collect();
        let is_path = first.starts_with('/') && !first.contains(' ');
        let file = first.rsplit('/').next().filter(|name| is_path && !name.is_empty());
        let is_word = |name: &str| {
            let ends = |letter: char| letter.is_whitespace() || "/\"'`()[]{},:;".contains(letter);
            shown.split(ends).any(|word| word.trim_end_matches(['.', '?', '…']) == name)
        };
        let is_call = shown.match_indices(&begins).any(|(at, _)| agree(&shown[at..], &first));
        is_plan || is_call || file.is_some_and(is_word)
    }

    /// Returns whether it is the same dialog, wherever the mark is.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.words() == other.words()
    }
}

/// Returns whether a screen shows a command, as far as it is visible: lines are wrapped between
/// words.
fn agree(shown: &str, told: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|one| !one.is_whitespace()).collect::<Vec<_>>();
    let (shown, told) = (letters(shown), letters(told));
    let differs = shown.iter().zip(&told).find(|(shown, told)| shown != told);
    differs.is_none_or(|(shown, _)| *shown == '…')
}

/// How much of a command's beginning is searched for; more may not fit on the screen.
const TOLD_LENGTH: usize = 40;

fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A dialog with its options on consecutive lines, as an agent is known to show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownDialog {
    /// Its name.
    pub name: &'static str,
    /// The kind of prompt.
    pub prompt_type: PromptType,
    /// A text that a line above its options contains.
    pub title: &'static str,
    /// Its last line; `None` if the options are last.
    pub footer: Option<&'static str>,
    /// What it asks.
    pub question: &'static str,
    /// The beginning of the option that says yes.
    pub allow: Option<&'static str>,
    /// The beginning of the option that says no.
    pub deny: Option<&'static str>,
    /// What it is about.
    pub about: SubjectLocation,
}

/// Where a dialog says what it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SubjectLocation {
    /// Nowhere.
    Nothing,
    /// In the title's line, after a text.
    After(&'static str),
    /// In the title's line.
    Title,
    /// In the next non-empty line below one that contains this text.
    Below(&'static str),
}

impl KnownDialog {
    /// Parses the dialog from lines that end with it.
    pub fn read(&self, lines: &[&str], marks: &[char]) -> Option<Dialog> {
        let end = lines.iter().rposition(|line| !line.trim().is_empty())?;
        let menu_end = match self.footer {
            Some(footer) if lines[end].trim() == footer => end,
            Some(_) => return None,
            None => end + 1,
        };
        let title = lines[..menu_end].iter().rposition(|line| line.contains(self.title))?;
        let menu = Menu::read(lines, title, menu_end, marks)?;
        let keys = |label: Option<&str>| label.map(|label| menu.keys(label));
        // A missing option: it is not the known dialog.
        let (allow, deny) = match (keys(self.allow), keys(self.deny)) {
            (Some(None), _) | (_, Some(None)) => return None,
            (allow, deny) => (allow.flatten(), deny.flatten()),
        };
        let about = match self.about {
            SubjectLocation::Nothing => None,
            SubjectLocation::After(text) => lines[title].split_once(text).map(|(_, about)| about),
            SubjectLocation::Title => Some(lines[title]),
            SubjectLocation::Below(text) => {
                let place = lines[..menu_end].iter().rposition(|line| line.contains(text))?;
                lines[place + 1..menu_end].iter().find(|line| !line.trim().is_empty()).copied()
            }
        };
        let about = about.map(|about| about.trim().to_owned()).filter(|about| !about.is_empty());
        let question = self.question.to_owned();
        Some(Dialog {
            name: self.name,
            prompt_type: self.prompt_type,
            question,
            about,
            allow,
            deny,
            ..Dialog::default()
        })
    }
}

/// Options on consecutive lines, and the one at which the mark is.
#[derive(Debug)]
pub(crate) struct Menu<'screen> {
    /// The options, without their numbers.
    pub options: Vec<&'screen str>,
    /// The one with the mark.
    pub selected: usize,
    /// The line of the first option.
    pub first: usize,
}

impl<'screen> Menu<'screen> {
    /// Parses the options between two lines, after which only empty lines may follow.
    pub fn read(lines: &[&'screen str], from: usize, to: usize, marks: &[char]) -> Option<Self> {
        let marked = |line: &&str| {
            let column = column(line)?;
            let mut letters = line.chars().skip(column);
            let is_marked = letters.next().is_some_and(|letter| marks.contains(&letter));
            (is_marked && letters.next() == Some(' ')).then_some(column)
        };
        let place = (from..to).rev().find(|place| marked(&lines[*place]).is_some())?;
        // The other options are aligned with the text after the mark.
        let text_at = marked(&lines[place])? + 2;
        let is_option = |line: &&str| column(line) == Some(text_at);
        let first = (from..place).rev().take_while(|above| is_option(&lines[*above])).last();
        let first = first.unwrap_or(place);
        let last = (place + 1..to).take_while(|below| is_option(&lines[*below])).last();
        let last = last.unwrap_or(place);
        if !lines[last + 1..to].iter().all(|line| line.trim().is_empty()) {
            return None;
        }
        let text = |line: &'screen str| {
            let start = line.char_indices().nth(text_at).map_or(line.len(), |(start, _)| start);
            without_number(line[start..].trim())
        };
        let options = lines[first..=last].iter().map(|line| text(line)).collect();
        Some(Self { options, selected: place - first, first })
    }

    /// Returns the keys that choose an option: the one with exactly this label, otherwise the only
    /// one that starts with it.
    pub fn keys(&self, label: &str) -> Option<Vec<Key>> {
        let begins = |option: &&str| {
            option.strip_prefix(label).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        let wanted = match self.options.iter().position(|option| *option == label) {
            Some(wanted) => wanted,
            None if self.options.iter().filter(|option| begins(option)).count() == 1 => {
                self.options.iter().position(begins)?
            }
            None => return None,
        };
        Some(steps(self.selected, wanted, Key::Up, Key::Down))
    }
}

/// Options that are numbered from 1, possibly with explanations in between.
#[derive(Debug)]
pub(crate) struct NumberedMenu<'screen> {
    /// The text after each number.
    pub options: Vec<&'screen str>,
    /// The one with the mark.
    pub selected: usize,
    /// The line of the first option.
    pub first: usize,
}

impl<'screen> NumberedMenu<'screen> {
    /// Parses the options; `None` if they are not numbered consecutively.
    pub fn read(lines: &[&'screen str], marks: &[char]) -> Option<Self> {
        let option = |line: &'screen str| {
            let is_marked = line.trim_start().starts_with(marks);
            let text = line.trim_start().trim_start_matches(marks);
            let place = line.chars().count() - text.trim_start().chars().count();
            let (number, text) = text.trim_start().split_once(". ")?;
            Some((place, number.parse::<usize>().ok()?, text.trim(), is_marked))
        };
        let all = || lines.iter().enumerate().filter_map(|(at, line)| Some((at, option(line)?)));
        // The other options are aligned with the one that has the mark.
        let (_, (column, ..)) = all().find(|(_, (.., is_marked))| *is_marked)?;
        let found: Vec<_> = all().filter(|(_, (place, ..))| *place == column).collect();
        let is_counted =
            found.iter().enumerate().all(|(at, (_, (_, number, ..)))| *number == at + 1);
        let mut marked = (0..found.len()).filter(|at| found[*at].1.3);
        let (Some(selected), None) = (marked.next(), marked.next()) else { return None };
        is_counted.then(|| Self {
            options: found.iter().map(|(_, (_, _, text, _))| *text).collect(),
            selected,
            first: found.first().map_or(0, |(at, _)| *at),
        })
    }

    /// Returns the keys that choose the option with exactly this label.
    pub fn keys(&self, label: &str) -> Option<Vec<Key>> {
        let wanted = self.options.iter().position(|option| *option == label)?;
        Some(steps(self.selected, wanted, Key::Up, Key::Down))
    }

    /// Converts it to a question, whose text is on the lines between the title and the options.
    pub fn question(&self, lines: &[&str], title: usize, label: fn(&str) -> String) -> Dialog {
        let asked: Vec<&str> =
            lines[title + 1..self.first].iter().map(|line| line.trim()).collect();
        let option = |(at, option): (usize, &&str)| {
            (label(option), steps(self.selected, at, Key::Up, Key::Down))
        };
        Dialog {
            name: "question",
            prompt_type: PromptType::Question,
            question: one_spaced(&asked.join(" ")),
            options: self.options.iter().enumerate().map(option).collect(),
            is_told: true,
            ..Dialog::default()
        }
    }
}

/// Returns the keys that move from one option to another and choose it.
pub(crate) fn steps(from: usize, to: usize, back: Key, forth: Key) -> Vec<Key> {
    let key = if to < from { back } else { forth };
    let moves = std::iter::repeat_n(key, from.abs_diff(to));
    moves.chain([Key::Enter]).collect()
}

/// Returns the column at which a line's text starts.
fn column(line: &str) -> Option<usize> {
    line.chars().position(|letter| !letter.is_whitespace())
}

/// Removes the number before an option.
fn without_number(option: &str) -> &str {
    match option.split_once(". ") {
        Some((number, text)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text,
        _ => option,
    }
}

#[cfg(test)]
mod tests;
