//! Commands that people type to an agent, `/name` for most: the file each agent reads one from.

use std::path::PathBuf;

/// Stands in a command's prompt for what the person types behind its name.
pub const ARGUMENT: &str = "{argument}";

/// A command, in no agent's words yet.
#[derive(Clone, Copy, Debug)]
pub struct HostCommand<'text> {
    /// Its name, without a slash.
    pub name: &'text str,
    /// What it does, in a line.
    pub description: &'text str,
    /// What the person types behind its name, in a word: `TOPIC`.
    pub argument_hint: &'text str,
    /// What the agent is told; [`ARGUMENT`] stands for the argument.
    pub prompt: &'text str,
    /// Who put it there, as a line that stays in the file: by it the file is known again.
    pub mark: &'text str,
}

/// A command as an agent reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFile {
    /// Where it belongs.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
    /// What the person types.
    pub call: String,
}

impl HostCommand<'_> {
    /// Returns the prompt with the agent's own word for the argument.
    fn prompt(&self, argument: &str) -> String {
        self.prompt.trim().replace(ARGUMENT, argument)
    }

    /// Returns Markdown with front matter, as most agents read it.
    pub(crate) fn markdown(&self, fields: &[(&str, &str)], argument: &str) -> String {
        let mut text = format!("---\n# {}\n", self.mark);
        for (name, value) in fields {
            // A text of JSON is one of YAML, whatever is in it.
            text.push_str(&format!("{name}: {}\n", serde_json::Value::from(*value)));
        }
        text.push_str(&format!("---\n\n{}\n", self.prompt(argument)));
        text
    }

    /// Returns TOML with a description and a prompt.
    pub(crate) fn toml(&self, argument: &str) -> String {
        let lines = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        format!(
            "# {}\ndescription = \"{}\"\nprompt = \"\"\"\n{}\n\"\"\"\n",
            self.mark,
            lines(self.description),
            lines(&self.prompt(argument))
        )
    }
}

/// Tells whether a command's file carries a mark: whether it is still whose it was.
pub fn has_mark(text: &str, mark: &str) -> bool {
    text.lines().take(2).any(|line| line.strip_prefix("# ") == Some(mark))
}

#[cfg(test)]
mod tests;
