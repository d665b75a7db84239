//! Notification hooks for one start of Claude Code, by `--settings`.
//!
//! It adds up the hooks of all its settings, so those of the user and the project run as well.

use std::path::Path;

use serde_json::json;

use crate::wiring::json_hooks::{self, Matched};
use crate::wiring::{Call, Emission, Injection, SettingsError, is_ours};

/// Seconds that one of them may take; it needs a few milliseconds.
const TIMEOUT: u32 = 10;

pub fn inject(
    agent_id: &str,
    settings: Option<&str>,
    call: &Call,
) -> Result<Option<Injection>, SettingsError> {
    let path = Path::new("the file of --settings");
    if let Some(text) = settings {
        let commands = json_hooks::commands(path, text)?;
        if commands.iter().any(|(_, command)| is_ours(command, "claude-code")) {
            return Ok(None);
        }
    }
    let handler = |emission: Emission| {
        let command = emission.command(agent_id, call);
        json!({"type": "command", "command": command, "timeout": TIMEOUT})
    };
    let groups = [
        Matched {
            matcher: "idle_prompt",
            handler: handler(Emission::Idle),
            is_ours: |command| Emission::Idle.is_told_by(command),
        },
        Matched {
            matcher: "permission_prompt",
            handler: handler(Emission::Permission),
            is_ours: |command| Emission::Permission.is_told_by(command),
        },
    ];
    let text = json_hooks::add_matched(path, settings, "Notification", &groups)?;
    Ok(Some(Injection::File { option: "--settings", text }))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    use super::*;

    fn call() -> Call {
        Call { binary: PathBuf::from("/x/anyhook") }
    }

    fn injected(agent_id: &str, settings: Option<&str>) -> String {
        let injection = inject(agent_id, settings, &call()).unwrap().unwrap();
        assert_eq!(injection.arguments(Path::new("/s.json")), ["--settings", "/s.json"]);
        injection.text().unwrap().to_owned()
    }

    fn plain(text: &str) -> Value {
        json_hooks::value(Path::new("s"), text, &[]).unwrap().unwrap()
    }

    #[test]
    fn two_notification_hooks_with_their_matchers() {
        let settings = plain(&injected("agent-7", None));
        let group = |matcher: &str, command: &str| {
            let handler = json!({"type": "command", "command": command, "timeout": 10});
            json!({"matcher": matcher, "hooks": [handler]})
        };
        let wanted = json!({"hooks": {"Notification": [
            group("idle_prompt", "/x/anyhook emit agent:idle --agent agent-7"),
            group(
                "permission_prompt",
                "/x/anyhook emit agent:prompt --agent agent-7 --type permission",
            ),
        ]}});
        assert_eq!(settings, wanted);
    }

    #[test]
    fn what_is_there_stays_and_a_second_time_changes_nothing() {
        let text = r#"{
  // mine
  "model": "opus", /* why */
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "theirs.sh"}]}],
    "Notification": [
      {"matcher": "idle_prompt", "hooks": [{"type": "command", "command": "ding"}]}, // loud
      {"hooks": [{"type": "command", "command": "anyhook emit agent:idle --agent me; ding"}]}
    ]
  }
}
"#;
        let after = injected("a", Some(text));
        for kept in [
            "// mine",
            "\"model\": \"opus\", /* why */",
            "\"command\": \"theirs.sh\"",
            "{\"matcher\": \"idle_prompt\", \"hooks\": [{\"type\": \"command\", \"command\": \"ding\"}]}, // loud",
            "anyhook emit agent:idle --agent me; ding",
        ] {
            assert!(after.contains(kept), "{kept}: {after}");
        }
        let groups = plain(&after)["hooks"]["Notification"].as_array().unwrap().len();
        assert_eq!(groups, 4, "{after}");
        assert_eq!(injected("a", Some(&after)), after, "a second time changes nothing");
    }

    #[test]
    fn another_agents_entries_are_replaced() {
        let first = injected("first", None);
        let second = injected("second", Some(&first));
        assert_eq!(plain(&second), plain(&injected("second", None)));
    }

    #[test]
    fn an_id_is_one_word_whatever_it_is() {
        let text = injected("a b; touch x", None);
        let command = &plain(&text)["hooks"]["Notification"][0]["hooks"][0]["command"];
        assert_eq!(command, "/x/anyhook emit agent:idle --agent 'a b; touch x'");
        let text = injected("it's $(x)\n--type", None);
        let command = &plain(&text)["hooks"]["Notification"][1]["hooks"][0]["command"];
        let wanted =
            "/x/anyhook emit agent:prompt --agent 'it'\\''s $(x)\n--type' --type permission";
        assert_eq!(command, wanted);
        assert_eq!(injected("it's $(x)\n--type", Some(&text)), text);
    }

    #[test]
    fn nothing_where_we_are_called_already() {
        let text = r#"{"hooks": {"Stop": [{"hooks": [{"command": "anyhook hook claude-code"}]}]}}"#;
        assert_eq!(inject("a", Some(text), &call()).unwrap(), None);
        assert!(inject("a", Some("{"), &call()).is_err());
        assert!(inject("a", Some(r#"{"hooks": {"Notification": 3}}"#), &call()).is_err());
    }
}
