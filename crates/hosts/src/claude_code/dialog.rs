//! The dialogs of Claude Code: below the last horizontal rule on the screen, where its input is
//! otherwise.

use anyhook_model::PromptType;

use anyhook_model::Key;

use crate::dialog::{Dialog, Grid, KnownDialog, SubjectLocation, steps};

const CONFIRM: Option<&str> = Some("Enter to confirm · Esc to cancel");

const KNOWN: [KnownDialog; 6] = [
    KnownDialog {
        name: "trust",
        prompt_type: PromptType::Permission,
        title: "Is this a project you created or one you trust?",
        footer: CONFIRM,
        question: "Claude Code asks whether to trust this folder",
        allow: Some("Yes, I trust this folder"),
        deny: Some("No, exit"),
        about: SubjectLocation::Below("Accessing workspace:"),
    },
    KnownDialog {
        name: "bypass_permissions",
        prompt_type: PromptType::Permission,
        title: "running in Bypass Permissions mode",
        footer: CONFIRM,
        question: "Claude Code asks whether it may run without asking for permission",
        allow: Some("Yes, I accept"),
        deny: Some("No, exit"),
        about: SubjectLocation::Nothing,
    },
    KnownDialog {
        name: "api_key",
        prompt_type: PromptType::Permission,
        title: "Do you want to use this API key?",
        footer: CONFIRM,
        question: "Claude Code asks whether it may use the API key from its environment",
        allow: Some("Yes"),
        deny: Some("No"),
        about: SubjectLocation::Nothing,
    },
    KnownDialog {
        name: "mcp_server",
        prompt_type: PromptType::Permission,
        title: "New MCP server found in this project: ",
        footer: CONFIRM,
        question: "Claude Code asks whether it may use one of the project's MCP servers",
        allow: Some("Use this MCP server"),
        deny: Some("Continue without using this MCP server"),
        about: SubjectLocation::After("found in this project: "),
    },
    KnownDialog {
        name: "login",
        prompt_type: PromptType::Other,
        title: "Select login method:",
        footer: Some("Esc to cancel"),
        question: "Claude Code asks how to log in",
        allow: None,
        deny: None,
        about: SubjectLocation::Nothing,
    },
    // At its very first start it cannot be dismissed.
    KnownDialog {
        name: "login",
        prompt_type: PromptType::Other,
        title: "Select login method:",
        footer: None,
        question: "Claude Code asks how to log in",
        allow: None,
        deny: None,
        about: SubjectLocation::Nothing,
    },
];

pub fn read(screen: &str) -> Option<Dialog> {
    let grid = Grid::read(screen);
    let lines: Vec<&str> = grid.text.lines().collect();
    let across = lines.iter().rposition(|line| is_across(line))?;
    let lines = &lines[across + 1..];
    KNOWN
        .iter()
        .find_map(|known| known.read(lines, &['❯']))
        .or_else(|| servers(lines))
        .or_else(|| theme(lines))
}

fn is_across(line: &str) -> bool {
    line.trim_start().starts_with(['─', '▔'])
}

/// The question which of several servers may be used: checkboxes, and a line to continue.
fn servers(lines: &[&str]) -> Option<Dialog> {
    let end = lines.iter().rposition(|line| !line.trim().is_empty())?;
    let is_question =
        lines.iter().any(|line| line.contains("new MCP servers found in this project"));
    if !is_question || lines[end].trim() != "Space to select · Esc to reject all" {
        return None;
    }
    let first = lines[..end].iter().rposition(|line| line.trim().is_empty())? + 1;
    let options: Vec<&str> = lines[first..end].iter().map(|line| line.trim()).collect();
    let selected = options.iter().position(|option| option.starts_with('❯'))?;
    let texts = options.iter().map(|option| option.trim_start_matches('❯').trim());
    let (go_on, names): (Vec<_>, Vec<_>) = texts.partition(|text| *text == "Enable selected");
    let is_last = options.last().is_some_and(|last| last.ends_with("Enable selected"));
    if go_on.len() != 1 || !is_last {
        return None;
    }
    Some(Dialog {
        name: "mcp_servers",
        prompt_type: PromptType::Permission,
        question: "Claude Code asks whether it may use the project's MCP servers".to_owned(),
        about: Some(
            names.iter().map(|name| name.trim_start_matches("[✔] ")).collect::<Vec<_>>().join(", "),
        ),
        allow: Some(steps(selected, options.len() - 1, Key::Up, Key::Down)),
        deny: Some(vec![Key::Escape]),
        ..Dialog::default()
    })
}

/// The question about the color theme, to which any answer is fine.
fn theme(lines: &[&str]) -> Option<Dialog> {
    let end = lines.iter().rposition(|line| !line.trim().is_empty())?;
    let title = "Choose the text style that looks best with your terminal";
    let title = lines.iter().rposition(|line| line.contains(title))?;
    let is_marked = lines[title..].iter().any(|line| line.trim_start().starts_with("❯ "));
    let is_end = lines[end].trim() == "Enter to select · Esc to cancel";
    (is_marked && is_end).then(|| Dialog {
        name: "theme",
        prompt_type: PromptType::Other,
        question: "Claude Code asks which color theme to use".to_owned(),
        about: None,
        allow: Some(vec![Key::Enter]),
        deny: None,
        ..Dialog::default()
    })
}
