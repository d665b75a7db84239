//! The dialogs of Gemini CLI: a frame that replaces its input, with at most a notice below it.
//!
//! It reports its permission prompts to hooks, but accepts no answer from them.

use anyhook_model::{Key, PromptType};

use crate::dialog::{Dialog, Grid, KnownDialog, Menu, NumberedMenu, SubjectLocation};

const MARKS: [char; 1] = ['●'];

const KNOWN: [KnownDialog; 2] = [
    KnownDialog {
        name: "trust",
        prompt_type: PromptType::Permission,
        title: "Do you trust the files in this folder?",
        footer: None,
        question: "Gemini CLI asks whether to trust this folder",
        allow: Some("Trust folder"),
        deny: Some("Don't trust"),
        about: SubjectLocation::Nothing,
    },
    KnownDialog {
        name: "loop",
        prompt_type: PromptType::Other,
        title: "A potential loop was detected",
        footer: None,
        question: "Gemini CLI seems to be stuck in a loop. Continue with loop detection off?",
        allow: Some("Disable loop detection for this session"),
        deny: Some("Keep loop detection enabled"),
        about: SubjectLocation::Nothing,
    },
];

pub fn read(screen: &str) -> Option<Dialog> {
    let grid = Grid::read(screen);
    let lines: Vec<&str> = grid.text.lines().collect();
    let inner = framed(&lines)?;
    KNOWN
        .iter()
        .find_map(|known| known.read(&inner, &MARKS))
        .or_else(|| permission(&inner))
        .or_else(|| login(&inner))
        .or_else(|| plan(&inner))
        .or_else(|| question(&inner))
}

/// The last line of its questions and plans.
const NAVIGATE: &str = "Enter to select · ↑/↓ to navigate";

/// A question to the user. Several are shown one after the other, and under another title.
fn question(inner: &[&str]) -> Option<Dialog> {
    let title = inner.iter().position(|line| line.trim() == "Answer Questions")?;
    let end = inner.iter().rposition(|line| !line.trim().is_empty())?;
    let is_question = inner[end].trim().starts_with(NAVIGATE);
    let options = NumberedMenu::read(inner.get(title..end).filter(|_| is_question)?, &MARKS)?;
    Some(options.question(&inner[title..end], 0, str::to_owned))
}

/// A plan that needs approval: approving it does not approve every edit that follows from it.
fn plan(inner: &[&str]) -> Option<Dialog> {
    let end = inner.iter().rposition(|line| !line.trim().is_empty())?;
    let is_plan = inner[end].trim().starts_with(NAVIGATE);
    let options = NumberedMenu::read(inner.get(..end).filter(|_| is_plan)?, &MARKS)?;
    options.keys("Yes, automatically accept edits")?;
    Some(Dialog {
        name: "plan",
        prompt_type: PromptType::PlanApproval,
        question: "Gemini CLI asks you to approve its plan".to_owned(),
        allow: Some(options.keys("Yes, manually accept edits")?),
        deny: Some(vec![Key::Escape]),
        is_told: true,
        ..Dialog::default()
    })
}

/// Returns the contents of the frame with which the screen ends.
fn framed<'screen>(lines: &[&'screen str]) -> Option<Vec<&'screen str>> {
    let bottom = lines.iter().rposition(|line| line.trim_start().starts_with('╰'))?;
    // A notice may continue on the next line, further to the right.
    let is_notice = |lines: &[&str]| {
        let begins = |line: &&str| line.trim_start().starts_with('⚠');
        begins(&lines[0]) && lines[1..].iter().all(|line| begins(line) || line.starts_with("   "))
    };
    let mut below = lines[bottom + 1..].split(|line| line.trim().is_empty());
    if !below.all(|lines| lines.is_empty() || is_notice(lines)) {
        return None;
    }
    let indent = lines[bottom].find('╰')?;
    let top = lines[..bottom].iter().rposition(|line| line.find('╭') == Some(indent))?;
    lines[top + 1..bottom]
        .iter()
        .map(|line| line.trim().strip_prefix('│')?.strip_suffix('│'))
        .collect()
}

/// A permission prompt: what it is about is on the first line, the question right above the
/// options.
fn permission(inner: &[&str]) -> Option<Dialog> {
    let menu = Menu::read(inner, 0, inner.len(), &MARKS)?;
    let allow = menu.keys("Allow once")?;
    // Escape has the same effect, and is a single key.
    menu.keys("No, suggest changes (esc)")?;
    let about = inner.first()?.trim().strip_prefix("? ")?;
    let question = inner[..menu.first].iter().rfind(|line| !line.trim().is_empty())?;
    Some(Dialog {
        name: "permission",
        prompt_type: PromptType::Permission,
        question: question.trim().to_owned(),
        about: Some(about.trim().to_owned()),
        allow: Some(allow),
        deny: Some(vec![Key::Escape]),
        ..Dialog::default()
    })
}

/// The question how to log in; its purpose is stated below its options.
fn login(inner: &[&str]) -> Option<Dialog> {
    let has = |text: &str| inner.iter().any(|line| line.contains(text));
    let is_login = has("How would you like to authenticate for this project?")
        && has("(Use Enter to select)")
        && inner.iter().any(|line| line.trim_start().starts_with("● "));
    is_login.then(|| Dialog {
        name: "login",
        prompt_type: PromptType::Other,
        question: "Gemini CLI asks how to log in".to_owned(),
        about: None,
        allow: None,
        deny: None,
        ..Dialog::default()
    })
}
