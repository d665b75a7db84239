//! Our plugin for one start of OpenCode or a fork of it, passed with settings in a variable.
//!
//! It combines the plugins of all its settings, so those of the user and the project run as well.

use std::path::Path;

use serde_json::{Value, json};

use super::flavour::Flavour;
use super::settings::plugin;
use crate::wiring::json_hooks;
use crate::wiring::{AgentStart, Injection, SettingsError};

pub fn inject(flavour: &Flavour, start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
    let file = start.folder.join("anyhook.js");
    let plugin_name = Value::from(address(&file));
    let variable = flavour.settings_variable;
    let path = Path::new(variable);
    let mut settings = match start.displaced {
        Some(text) => json_hooks::value(path, text, &[])?.unwrap_or_default(),
        None => json!({}),
    };
    let unexpected = |what: &str, expected| SettingsError::Unexpected {
        path: path.to_owned(),
        what: what.to_owned(),
        expected,
    };
    let fields = settings.as_object_mut().ok_or_else(|| unexpected("its value", "an object"))?;
    let plugins = fields.entry("plugin").or_insert_with(|| json!([]));
    let plugins = plugins.as_array_mut().ok_or_else(|| unexpected("`plugin`", "a list"))?;
    if !plugins.contains(&plugin_name) {
        plugins.push(plugin_name);
    }
    Ok(Injection {
        files: [(file, plugin(flavour, start.call))].into(),
        variables: [(variable, settings.to_string())].into(),
        ..Injection::default()
    })
}

/// Returns the URL of a file.
fn address(file: &Path) -> String {
    let mut address = "file://".to_owned();
    for byte in file.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/._~-".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use crate::wiring::HookInvocation;

    use super::super::FLAVOUR;
    use super::*;

    const VARIABLE: &str = "OPENCODE_CONFIG_CONTENT";

    fn injected(displaced: Option<&str>) -> Result<Injection, SettingsError> {
        let call = HookInvocation::to("/x/anyhook");
        inject(
            &FLAVOUR,
            &AgentStart { agent_id: "a", folder: Path::new("/f"), displaced, call: &call },
        )
    }

    #[test]
    fn our_plugin_is_added_to_what_is_there() {
        let bare = injected(None).unwrap();
        assert!(bare.files[Path::new("/f/anyhook.js")].contains("const BINARY = \"/x/anyhook\";"));
        assert_eq!(bare.variables[VARIABLE], r#"{"plugin":["file:///f/anyhook.js"]}"#);
        let theirs = "{\"model\": \"x\", // why\n \"plugin\": [\"mine\"]}";
        let both = injected(Some(theirs)).unwrap();
        assert_eq!(
            both.variables[VARIABLE],
            r#"{"model":"x","plugin":["mine","file:///f/anyhook.js"]}"#
        );
        assert_eq!(injected(Some(&both.variables[VARIABLE])).unwrap(), both);
        for broken in ["{", "[]", r#"{"plugin": 3}"#] {
            assert!(injected(Some(broken)).is_err(), "{broken}");
        }
    }
}
