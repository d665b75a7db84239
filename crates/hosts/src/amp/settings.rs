//! Our plugin among those of Amp.

use std::path::PathBuf;

use crate::extension::Extension;
use crate::spec;
use crate::wiring::{
    AgentStart, HookInvocation, Injection, SettingsEdits, SettingsError, SettingsScope,
    SettingsTexts, WiringStatus,
};

const PLUGIN: Extension = Extension {
    source: include_str!("plugin.js"),
    host: "amp",
    title: "Amp",
    limit_ms: 600_000,
    end_limit_ms: 600_000,
    prompts_at_start: true,
};

/// Its settings.
pub(super) struct Settings;

impl spec::SettingsEditor for Settings {
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        vec![plugin(scope)]
    }

    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError> {
        PLUGIN.wire(plugin(scope), texts, call)
    }

    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError> {
        Ok(PLUGIN.unwire(plugin(scope), texts))
    }

    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError> {
        Ok(PLUGIN.inspect(&plugin(scope), texts))
    }

    fn inject(&self, _start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        let why = "it only loads plugins from its folders";
        Ok(Injection { why_not: Some(why), ..Injection::default() })
    }
}

fn plugin(scope: &SettingsScope) -> PathBuf {
    let folder = match &scope.project {
        Some(project) => project.join(".amp"),
        None => scope.config_home.join("amp"),
    };
    folder.join("plugins/anyhook.ts")
}
