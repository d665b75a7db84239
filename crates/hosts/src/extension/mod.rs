//! The extension with which pi and oh-my-pi call us: one file for both, as they load the same kind of
//! file and report almost the same events.
//!
//! They have no hook commands. The extension sends payloads in the common format, and receives
//! `deny`, `input`, `context` and `message`.

pub(crate) mod events;
pub(crate) mod replies;
pub(crate) mod sessions;

use std::path::{Path, PathBuf};

use anyhook_model::EventKind;
use serde_json::Value;

use crate::wiring::{
    AgentStart, HookInvocation, Injection, SettingsEdits, SettingsError, SettingsTexts,
    WiringStatus, folders_in, plugin_lines,
};

/// Its source; names like `@BINARY@` are placeholders that `install` fills in.
pub(crate) const SOURCE: &str = include_str!("extension.js");

/// The extension of one agent.
#[derive(Debug)]
pub(crate) struct Extension {
    /// Its source.
    pub source: &'static str,
    /// The agent's id.
    pub host: &'static str,
    /// The agent's display name.
    pub title: &'static str,
    /// How long a hook may take, in milliseconds: a little less than the agent waits.
    pub limit_ms: u64,
    /// The same at the end of a session.
    pub end_limit_ms: u64,
    /// Whether prompts given on the command line are reported when the agent starts, not as input.
    pub prompts_at_start: bool,
}

impl Extension {
    /// Returns its text.
    pub fn text(&self, call: &HookInvocation) -> String {
        let marker = call.folders().map(|folders| folders.marker().to_string_lossy().into_owned());
        let values: [(&str, Value); 4] = [
            ("\"@BINARY@\"", call.answering().to_string_lossy().into()),
            ("\"@ARGUMENTS@\"", call.arguments(self.host, self.limit_ms).into()),
            ("\"@END_ARGUMENTS@\"", call.arguments(self.host, self.end_limit_ms).into()),
            ("\"@MARKER@\"", marker.unwrap_or_default().into()),
        ];
        let text = self
            .source
            .replace("@TITLE@", self.title)
            .replace("@HOST@", self.host)
            .replace("@LIMIT_MS@", &self.limit_ms.to_string())
            .replace("@END_LIMIT_MS@", &self.end_limit_ms.to_string())
            .replace("@PROMPTS_AT_START@", &self.prompts_at_start.to_string());
        // Each placeholder precedes what the earlier ones are replaced with, so that no path is
        // mistaken for a placeholder.
        values.iter().fold(text, |text, (place, value)| text.replacen(place, &value.to_string(), 1))
    }

    /// Adds it at a path.
    pub fn wire(
        &self,
        path: PathBuf,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        if texts.get(&path).is_some_and(|text| !self.is_ours(text)) {
            return Err(SettingsError::Unexpected {
                path,
                what: "the file".to_owned(),
                expected: "our extension",
            });
        }
        Ok(SettingsEdits::from([(path, Some(self.text(call)))]))
    }

    /// Removes it from a path.
    pub fn unwire(&self, path: PathBuf, texts: &SettingsTexts) -> SettingsEdits {
        let is_ours = texts.get(&path).is_some_and(|text| self.is_ours(text));
        if is_ours { SettingsEdits::from([(path, None)]) } else { SettingsEdits::new() }
    }

    /// Determines how it calls us.
    pub fn inspect(&self, path: &Path, texts: &SettingsTexts) -> WiringStatus {
        let mut found = WiringStatus::default();
        let text = texts.get(path).filter(|text| self.is_ours(text));
        let Some((text, binary)) = text.and_then(|text| Some((text, binary_of(text)?))) else {
            found.missing.push("all".to_owned());
            return found;
        };
        let arguments = arguments_of(text);
        found.plugin_folders = folders_in(&arguments);
        let event =
            crate::find(self.host).and_then(|spec| spec.native_name(&EventKind::BeforeTool));
        found.entries = plugin_lines(&binary, &arguments, event);
        found.before_tool = found.entries.first().map(|entry| entry.line.clone());
        found.ours.push(binary);
        if !text.contains("\"--state\"") {
            found.outdated.push("all".to_owned());
        }
        found
    }

    /// Returns it for one start, named on the command line.
    pub fn inject(&self, start: &AgentStart<'_>) -> Injection {
        let file = start.folder.join("anyhook.js");
        Injection {
            arguments: vec!["-e".to_owned(), file.to_string_lossy().into_owned()],
            files: [(file, self.text(start.call))].into(),
            ..Injection::default()
        }
    }

    /// Returns whether a text is that of our extension for this agent.
    pub fn is_ours(&self, text: &str) -> bool {
        let rest = text.strip_prefix("// anyhook for ");
        rest.and_then(|rest| rest.strip_prefix(self.title))
            .is_some_and(|rest| rest.starts_with(':'))
    }
}

/// Returns the arguments with which an extension of ours calls its program.
fn arguments_of(text: &str) -> Vec<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const ARGUMENTS = "));
    let read = line.map(|line| serde_json::from_str(line.trim_end_matches(';')));
    read.and_then(Result::ok).unwrap_or_default()
}

/// Returns the program that an extension of ours calls.
fn binary_of(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("const BINARY = "))?;
    serde_json::from_str(line.trim_end_matches(';')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENSION: Extension = Extension {
        source: SOURCE,
        host: "pi",
        title: "pi",
        limit_ms: 1000,
        end_limit_ms: 500,
        prompts_at_start: true,
    };

    #[test]
    fn every_placeholder_is_replaced() {
        let text = EXTENSION.text(&HookInvocation::to("/x/@MARKER@/anyhook"));
        assert_eq!(text.matches('@').count(), 2, "only those of the path: {text}");
        assert!(text.contains("const BINARY = \"/x/@MARKER@/anyhook\";"), "{text}");
        assert!(text.contains("const MARKER = \"\";"), "{text}");
        assert!(
            text.contains("const END_ARGUMENTS = [\"hook\",\"pi\",\"--deadline-ms\",\"450\"];")
        );
        assert!(text.contains("const PROMPTS_AT_START = true;"), "{text}");
    }

    #[test]
    fn another_extension_is_neither_replaced_nor_removed() {
        let path = PathBuf::from("/x/anyhook.js");
        let call = HookInvocation::to("/x/anyhook");
        for theirs in ["export default () => {}", "// anyhook for pi-like: theirs"] {
            let texts = SettingsTexts::from([(path.clone(), theirs.to_owned())]);
            assert!(EXTENSION.wire(path.clone(), &texts, &call).is_err(), "{theirs}");
            assert!(EXTENSION.unwire(path.clone(), &texts).is_empty(), "{theirs}");
            assert!(EXTENSION.inspect(&path, &texts).ours.is_empty(), "{theirs}");
        }
    }

    #[test]
    fn it_is_named_for_one_start() {
        let call = HookInvocation::to("/x/anyhook");
        let folder = Path::new("/f");
        let start = AgentStart { agent_id: "a", folder, displaced: None, call: &call };
        let injection = EXTENSION.inject(&start);
        assert_eq!(injection.arguments, ["-e", "/f/anyhook.js"]);
        assert_eq!(injection.files[Path::new("/f/anyhook.js")], EXTENSION.text(&call));
    }
}
