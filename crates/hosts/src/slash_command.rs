//! Commands that people type to an agent, mostly `/name`: the file from which each agent reads one.

use std::path::PathBuf;

/// The placeholder in a command's prompt for what the user types after its name.
pub const ARGUMENT: &str = "{argument}";

/// A command, independent of any agent.
#[derive(Clone, Copy, Debug)]
pub struct HostCommand<'text> {
    /// Its name, without a slash.
    pub name: &'text str,
    /// What it does, in one line.
    pub description: &'text str,
    /// What the user types after its name, in one word: `TOPIC`.
    pub argument_hint: &'text str,
    /// The prompt for the agent; [`ARGUMENT`] stands for the argument.
    pub prompt: &'text str,
    /// A line that stays in the file and says who put it there, by which the file is recognised
    /// later.
    pub mark: &'text str,
}

/// A command in an agent's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFile {
    /// Its path.
    pub path: PathBuf,
    /// Its contents.
    pub text: String,
    /// What the user types.
    pub call: String,
}

impl HostCommand<'_> {
    /// Returns the prompt with the agent's own placeholder for the argument.
    fn prompt(&self, argument: &str) -> String {
        self.prompt.trim().replace(ARGUMENT, argument)
    }

    /// Returns Markdown with front matter, as most agents read it.
    pub(crate) fn markdown(&self, fields: &[(&str, &str)], argument: &str) -> String {
        let mut text = format!("---\n# {}\n", self.mark);
        for (name, value) in fields {
            // A JSON string is also a YAML string, whatever it contains.
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

/// Returns whether a command's file contains a mark: whether it still belongs to its creator.
pub fn has_mark(text: &str, mark: &str) -> bool {
    text.lines().take(2).any(|line| line.strip_prefix("# ") == Some(mark))
}

#[cfg(test)]
mod tests;
