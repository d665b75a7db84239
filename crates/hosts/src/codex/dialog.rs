//! The dialogs of Codex before its first prompt, each alone on the screen, and its questions, which
//! replace its input.
//!
//! It asks for permissions through its hook, and shows its dialog only if the hook does not answer.

use anyhook_model::PromptType;

use crate::dialog::{Dialog, Grid, KnownDialog, NumberedMenu, SubjectLocation};

const KNOWN: [KnownDialog; 4] = [
    KnownDialog {
        name: "trust",
        prompt_type: PromptType::Permission,
        title: "Trust this folder?",
        footer: Some("enter continue · esc quit"),
        question: "Codex asks whether to trust this folder",
        allow: Some("Trust and continue"),
        deny: Some("Quit"),
        about: SubjectLocation::Below("Folder access"),
    },
    KnownDialog {
        name: "hook_trust",
        prompt_type: PromptType::Permission,
        title: "Hooks need review",
        footer: Some("enter confirm · esc skip"),
        question: "Codex asks whether to trust its hooks",
        allow: Some("Trust all and continue"),
        deny: Some("Continue without trusting"),
        about: SubjectLocation::Below("Hooks need review"),
    },
    KnownDialog {
        name: "update",
        prompt_type: PromptType::Other,
        title: "Update available",
        footer: Some("enter continue · esc skip"),
        question: "Codex offers an update",
        allow: Some("Update now"),
        deny: Some("Skip"),
        about: SubjectLocation::Title,
    },
    KnownDialog {
        name: "model",
        prompt_type: PromptType::Other,
        title: "Meet ",
        footer: Some("enter/esc confirm · ^c quit"),
        question: "Codex offers another model",
        allow: Some("Try new model"),
        deny: Some("Use existing model"),
        about: SubjectLocation::After("Meet "),
    },
];

pub fn read(screen: &str) -> Option<Dialog> {
    let grid = Grid::read(screen);
    let lines: Vec<&str> = grid.text.lines().collect();
    KNOWN
        .iter()
        .find_map(|known| known.read(&lines, &['›']))
        .or_else(|| login(&lines))
        .or_else(|| question(&lines))
}

/// A question to the user. Several questions are shown one after the other, and need more than one
/// answer.
fn question(lines: &[&str]) -> Option<Dialog> {
    let end = lines.iter().rposition(|line| !line.trim().is_empty())?;
    let is_question = lines[end].contains("enter to submit answer");
    let title = lines.iter().rposition(|line| line.trim().starts_with("Question 1/1"))?;
    let options = NumberedMenu::read(lines.get(title..end).filter(|_| is_question)?, &['›'])?;
    // The explanation follows the label on the same line.
    let label = |option: &str| option.split("  ").next().unwrap_or_default().trim_end().to_owned();
    Some(options.question(&lines[title..end], 0, label))
}

/// The question how to log in; each of its options has an explanatory line.
fn login(lines: &[&str]) -> Option<Dialog> {
    let end = lines.iter().rposition(|line| !line.trim().is_empty())?;
    let title = lines.iter().position(|line| line.trim() == "Choose how you want to use Codex.")?;
    let is_marked = lines[title..].iter().any(|line| line.starts_with(['>', '›']));
    (is_marked && lines[end].trim() == "Press enter to continue").then(|| Dialog {
        name: "login",
        prompt_type: PromptType::Other,
        question: "Codex asks how to log in".to_owned(),
        about: None,
        allow: None,
        deny: None,
        ..Dialog::default()
    })
}
