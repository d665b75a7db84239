//! Settings of the page that the daemon serves: the `[ui]` table. A project cannot set it.

use serde::Deserialize;
use serde::de::{self, Deserializer};

/// The page that the daemon serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UiSettings {
    /// Whether the daemon serves it.
    pub enabled: bool,
    /// Its address, as other devices reach it: for the links in notices.
    #[serde(deserialize_with = "maybe_base_url")]
    pub url: Option<String>,
    /// Its port; 0 is any.
    pub port: u16,
    /// Whether other machines may reach it.
    pub lan: bool,
}

impl UiSettings {
    /// Returns the address of the page of a decision. It contains no secret.
    pub fn decision_url(&self, id: &str) -> Option<String> {
        // Ids are letters and digits; anything else would lead elsewhere.
        let is_plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let base = self.url.as_deref().filter(|_| is_plain)?;
        Some(format!("{}/decisions/{id}", base.trim_end_matches('/')))
    }
}

fn maybe_base_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    base_url(deserializer).map(Some)
}

/// Reads an address to which paths are appended. Errors do not repeat it: it may contain a secret.
pub(super) fn base_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let address = String::deserialize(deserializer)?;
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    let why = match rest {
        None => "the address must start with https:// or http://",
        Some(rest) if rest.is_empty() || rest.starts_with('/') => "the address has no host",
        Some(rest) if rest.contains(['@', '?', '#']) => {
            "the address must not contain a user name or a query"
        }
        Some(rest) if !rest.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "the address must not contain spaces or letters outside ASCII"
        }
        Some(_) => return Ok(address),
    };
    Err(de::Error::custom(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<UiSettings, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }

    #[test]
    fn without_an_address_there_is_no_link() {
        let settings = read("").unwrap();
        assert_eq!(settings, UiSettings::default());
        assert!(!settings.enabled && settings.decision_url("7k2m9x4q").is_none());
    }

    #[test]
    fn a_link_leads_to_one_decision() {
        let settings = read("enabled = true\nurl = 'https://box:7777/'\nport = 7777\nlan = true");
        let settings = settings.unwrap();
        let link = settings.decision_url("7k2m9x4q");
        assert_eq!(link.as_deref(), Some("https://box:7777/decisions/7k2m9x4q"));
        for id in ["", "../x", "a b", "a/b", "ä"] {
            assert_eq!(settings.decision_url(id), None, "{id}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, why) in [
            ("url = 'box:7777'", "must start with https://"),
            ("url = 'https://'", "no host"),
            ("url = 'https://me:secret@box'", "user name or a query"),
            ("url = 'https://box/#secret'", "user name or a query"),
            ("url = 'https://box/ secret'", "spaces"),
            ("port = 70000", "u16"),
            ("enable = true", "enable"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
