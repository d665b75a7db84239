//! Hook trust in Codex, which runs a hook only if its settings contain the hash of exactly that
//! handler: we write it.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item, Table, value};

use super::SettingsError;
use super::toml_hooks::parse;

/// Returns the key and the hash of each handler in a `hooks.json`, ours and others'.
pub fn hashes(path: &Path, hooks: &Value) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (event, groups) in hooks.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for (group_index, group) in groups.as_array().into_iter().flatten().enumerate() {
            for (index, handler) in
                group.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate()
            {
                let Some(command) = handler.get("command").and_then(Value::as_str) else {
                    continue;
                };
                let label = snake(event);
                let key = format!("{}:{label}:{group_index}:{index}", path.display());
                found.push((key, hash(event, &label, group, handler), command.to_owned()));
            }
        }
    }
    found
}

/// Returns the hash of a handler as Codex normalises it.
fn hash(event: &str, label: &str, group: &Value, handler: &Value) -> String {
    let timeout = handler.get("timeout").and_then(Value::as_u64);
    let timeout = if event == "SessionEnd" {
        timeout.unwrap_or(1).clamp(1, 3)
    } else {
        timeout.unwrap_or(600).max(1)
    };
    let is_async = handler.get("async").and_then(Value::as_bool).unwrap_or(false);
    // Keys in alphabetical order, as in the text that is hashed.
    let mut normal = json!({"async": is_async, "command": handler["command"]});
    if let Some(message) = handler.get("statusMessage").filter(|message| !message.is_null()) {
        normal["statusMessage"] = message.clone();
    }
    normal["timeout"] = timeout.into();
    normal["type"] = "command".into();
    let mut identity = json!({"event_name": label, "hooks": [normal]});
    let has_matcher = !matches!(event, "UserPromptSubmit" | "Stop");
    if let Some(matcher) = group.get("matcher").filter(|matcher| has_matcher && !matcher.is_null())
    {
        identity["matcher"] = matcher.clone();
    }
    let digest = Sha256::digest(identity.to_string().as_bytes());
    let hex: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{}", hex.concat())
}

fn snake(event: &str) -> String {
    let mut text = String::new();
    for letter in event.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// Writes the hashes of our handlers to `config.toml`.
pub fn trust(
    path: &Path,
    text: Option<&str>,
    entries: &[(String, String)],
) -> Result<String, SettingsError> {
    let mut document = parse(path, text.unwrap_or(""))?;
    let state = state_table(path, &mut document)?;
    for (key, hash) in entries {
        let entry = state.entry(key).or_insert_with(|| Item::Table(Table::new()));
        let table = entry.as_table_like_mut().ok_or_else(|| unexpected(path, key))?;
        table.insert("trusted_hash", value(hash.as_str()));
    }
    Ok(document.to_string())
}

/// Removes the entries of our handlers in a `hooks.json` from `config.toml`, including those of
/// positions they had earlier.
pub fn untrust(
    path: &Path,
    text: &str,
    hooks_file: &Path,
    entries: &[(String, String)],
) -> Result<String, SettingsError> {
    let mut document = parse(path, text)?;
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    let Some(state) = hooks.get_mut("state").and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    let place = format!("{}:", hooks_file.display());
    let is_ours = |(key, entry): &(&str, &Item)| {
        let hash = entry.get("trusted_hash").and_then(Item::as_str);
        key.starts_with(&place)
            && entries.iter().any(|(place, ours)| key == place || hash == Some(ours.as_str()))
    };
    let ours: Vec<String> = state.iter().filter(is_ours).map(|(key, _)| key.to_owned()).collect();
    if ours.is_empty() {
        return Ok(text.to_owned());
    }
    for key in ours {
        state.remove(&key);
    }
    if state.is_empty() {
        hooks.remove("state");
    }
    if hooks.is_empty() {
        document.remove("hooks");
    }
    Ok(document.to_string())
}

/// The feature that runs hooks, and the older name that Codex still reads for it.
const FEATURES: [&str; 2] = ["hooks", "codex_hooks"];

/// Returns the feature by which `config.toml` disables hooks, in the spelling that is used.
pub fn switched_off(path: &Path, text: &str) -> Result<Option<&'static str>, SettingsError> {
    let document = parse(path, text)?;
    let is_off = |name: &&str| {
        let feature = document.get("features").and_then(|features| features.get(name));
        feature.and_then(Item::as_bool) == Some(false)
    };
    Ok(FEATURES.into_iter().find(is_off))
}

/// Returns the plugins that `config.toml` enables, each with its marketplace: `NAME@MARKETPLACE`.
pub fn enabled_plugins(path: &Path, text: &str) -> Result<Vec<String>, SettingsError> {
    let document = parse(path, text)?;
    let plugins = document.get("plugins").and_then(Item::as_table_like);
    let is_on = |plugin: &Item| plugin.get("enabled").and_then(Item::as_bool).unwrap_or(true);
    let names = plugins.into_iter().flat_map(|plugins| plugins.iter());
    Ok(names.filter(|(_, plugin)| is_on(plugin)).map(|(name, _)| name.to_owned()).collect())
}

/// Returns the hash that `config.toml` contains for a key.
pub fn trusted_hash(path: &Path, text: &str, key: &str) -> Result<Option<String>, SettingsError> {
    let document = parse(path, text)?;
    let entry =
        document.get("hooks").and_then(|hooks| hooks.get("state")).and_then(|state| state.get(key));
    Ok(entry.and_then(|entry| entry.get("trusted_hash")).and_then(Item::as_str).map(str::to_owned))
}

fn state_table<'document>(
    path: &Path,
    document: &'document mut DocumentMut,
) -> Result<&'document mut dyn toml_edit::TableLike, SettingsError> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let hooks = document
        .entry("hooks")
        .or_insert_with(implicit)
        .as_table_like_mut()
        .ok_or_else(|| unexpected(path, "hooks"))?;
    hooks
        .entry("state")
        .or_insert_with(implicit)
        .as_table_like_mut()
        .ok_or_else(|| unexpected(path, "hooks.state"))
}

fn unexpected(path: &Path, what: &str) -> SettingsError {
    SettingsError::Unexpected {
        path: path.to_owned(),
        what: format!("`{what}`"),
        expected: "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_the_program_makes() {
        // Computed with the reference implementation for the same handler.
        let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "/x/anyhook hook codex", "timeout": 600}]}]}});
        let found = hashes(Path::new("/home/user/.codex/hooks.json"), &hooks);
        assert_eq!(found[0].0, "/home/user/.codex/hooks.json:pre_tool_use:0:0");
        assert_eq!(
            found[0].1,
            "sha256:2c0721fbe34fa6115596e163474283310aa351fd7a9337a5b8fe75eafd957ef0"
        );
    }

    #[test]
    fn trust_is_added_and_taken_away_without_touching_the_rest() {
        let text = "# mine\nmodel = \"x\" # why\n\n[features]\nhooks = true\n";
        let path = Path::new("config.toml");
        let entries = [("/h.json:stop:0:0".to_owned(), "sha256:aa".to_owned())];
        let after = trust(path, Some(text), &entries).unwrap();
        assert!(after.starts_with(text), "{after}");
        assert_eq!(
            trusted_hash(path, &after, "/h.json:stop:0:0").unwrap().as_deref(),
            Some("sha256:aa")
        );
        assert_eq!(trust(path, Some(&after), &entries).unwrap(), after);
        assert_eq!(untrust(path, &after, Path::new("/h.json"), &entries).unwrap(), text);
        assert_eq!(switched_off(path, text).unwrap(), None);
        for name in FEATURES {
            for off in [format!("[features]\n{name} = false\n"), format!("features.{name} = false")]
            {
                assert_eq!(switched_off(path, &off).unwrap(), Some(name), "{off}");
            }
        }
        let both = "[features]\nhooks = true\ncodex_hooks = false\n";
        assert_eq!(switched_off(path, both).unwrap(), Some("codex_hooks"));
        assert!(trust(path, Some("hooks = 3"), &entries).is_err());
        assert!(trust(path, Some("= broken"), &entries).is_err());
    }
}
