//! The dialogs of Codex before its first prompt, each alone on the screen.

use anyhook_model::PromptType;

use crate::dialog::{About, Dialog, Grid, Known};

const KNOWN: [Known; 4] = [
    Known {
        name: "trust",
        prompt_type: PromptType::Permission,
        title: "Trust this folder?",
        footer: Some("enter continue · esc quit"),
        question: "Codex asks whether this folder is trusted",
        allow: Some("Trust and continue"),
        deny: Some("Quit"),
        about: About::Below("Folder access"),
    },
    Known {
        name: "hook_trust",
        prompt_type: PromptType::Permission,
        title: "Hooks need review",
        footer: Some("enter confirm · esc skip"),
        question: "Codex asks whether its hooks are trusted",
        allow: Some("Trust all and continue"),
        deny: Some("Continue without trusting"),
        about: About::Below("Hooks need review"),
    },
    Known {
        name: "update",
        prompt_type: PromptType::Other,
        title: "Update available",
        footer: Some("enter continue · esc skip"),
        question: "Codex offers an update",
        allow: Some("Update now"),
        deny: Some("Skip"),
        about: About::Title,
    },
    Known {
        name: "model",
        prompt_type: PromptType::Other,
        title: "Meet ",
        footer: Some("enter/esc confirm · ^c quit"),
        question: "Codex offers another model",
        allow: Some("Try new model"),
        deny: Some("Use existing model"),
        about: About::After("Meet "),
    },
];

pub fn read(screen: &str) -> Option<Dialog> {
    let grid = Grid::read(screen);
    let lines: Vec<&str> = grid.text.lines().collect();
    KNOWN.iter().find_map(|known| known.read(&lines, &['›'])).or_else(|| login(&lines))
}

/// The question how to log in; each of its options has a line that explains it.
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
    })
}
