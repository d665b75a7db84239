//! Hooks for one start of Claude Code, passed with `--settings`.
//!
//! It combines the hooks of all its settings, so those of the user and the project run as well. Of
//! several `--settings` options the last takes effect, so ours includes the contents of an earlier
//! one.

use std::path::Path;

use anyhook_model::bus::SignalKind;
use serde_json::json;

use super::settings::{EVENTS, handler};
use crate::launch::arguments_of;
use crate::wiring::json_hooks::{self, Handler, MatcherGroup};
use crate::wiring::{
    AgentStart, DisplacedSettings, InjectedSignal, Injection, PERMISSION_SECONDS, SettingsError,
};

/// The timeout in seconds of a hook that only reports something; it needs a few milliseconds.
const TIMEOUT: u32 = 10;

/// The option that names further settings.
const OPTION: &str = "--settings";

pub fn inject(start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
    let path = Path::new("the file of --settings");
    let handlers: Vec<Handler> =
        EVENTS.iter().map(|event| handler(event, start.call, PERMISSION_SECONDS)).collect();
    let text = json_hooks::wire(path, start.displaced, "claude-code", &handlers)?;
    let told = |emission: InjectedSignal| {
        let command = emission.command(start.agent_id, start.call);
        json!({"type": "command", "command": command, "timeout": TIMEOUT})
    };
    let groups = [
        MatcherGroup {
            matcher: "idle_prompt",
            handler: told(InjectedSignal::Idle),
            is_ours: |command| InjectedSignal::Idle.is_told_by(command),
        },
        MatcherGroup {
            matcher: "permission_prompt",
            handler: told(InjectedSignal::Permission),
            is_ours: |command| InjectedSignal::Permission.is_told_by(command),
        },
    ];
    let text = json_hooks::add_matched(path, Some(&text), "Notification", &groups)?;
    let text = json_hooks::add_to_list(path, Some(&text), ["permissions", "allow"], &signals())?;
    let file = start.folder.join("settings.json");
    let arguments = vec![OPTION.to_owned(), file.to_string_lossy().into_owned()];
    Ok(Injection { files: [(file, text)].into(), arguments, ..Injection::default() })
}

/// Returns the permissions to report the status of the work: the agent is asked to do so, so no
/// person should have to allow it each time. Exactly these commands: a longer one may contain
/// anything.
fn signals() -> Vec<String> {
    [SignalKind::Complete, SignalKind::Escalate, SignalKind::Continue]
        .map(|kind| format!("Bash(anyhook emit agent:signal {})", kind.name()))
        .to_vec()
}

/// Returns the settings that a command line itself names.
pub fn displaced(run: &str) -> Option<DisplacedSettings> {
    let arguments = arguments_of(run);
    let place = arguments.iter().rposition(|word| {
        word == OPTION || word.strip_prefix(OPTION).is_some_and(|rest| rest.starts_with('='))
    })?;
    let value = match arguments[place].split_once('=') {
        Some((_, value)) => value,
        None => arguments.get(place + 1)?,
    };
    Some(if value.trim_start().starts_with('{') {
        DisplacedSettings::Text(value.to_owned())
    } else {
        DisplacedSettings::File(value.into())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::wiring::HookInvocation;

    use super::*;

    fn tried(agent_id: &str, displaced: Option<&str>) -> Result<Injection, SettingsError> {
        let call = HookInvocation::to("/x/anyhook");
        inject(&AgentStart { agent_id, folder: Path::new("/f"), displaced, call: &call })
    }

    fn injected(agent_id: &str, displaced: Option<&str>) -> String {
        let injection = tried(agent_id, displaced).unwrap();
        assert_eq!(injection.arguments, ["--settings", "/f/settings.json"]);
        assert!(injection.variables.is_empty() && injection.why_not.is_none());
        injection.files[Path::new("/f/settings.json")].clone()
    }

    fn plain(text: &str) -> Value {
        json_hooks::value(Path::new("s"), text, &[]).unwrap().unwrap()
    }

    fn notifications(text: &str) -> Value {
        plain(text)["hooks"]["Notification"].clone()
    }

    #[test]
    fn every_event_has_its_hook_and_a_permission_may_wait_for_a_day() {
        let settings = plain(&injected("agent-7", None));
        let hooks = settings["hooks"].as_object().unwrap();
        assert_eq!(hooks.keys().collect::<Vec<_>>(), EVENTS);
        let stop = json!([{"hooks": [{"type": "command", "timeout": 600,
            "command": "/x/anyhook hook claude-code --deadline-ms 540000"}]}]);
        assert_eq!(hooks["Stop"], stop);
        let tool = json!([{"hooks": [{"type": "command", "timeout": 600, "onFailure": "block",
            "command": "/x/anyhook hook claude-code --deadline-ms 540000 --tool-event"}]}]);
        assert_eq!(hooks["PreToolUse"], tool);
        let permission = &hooks["PermissionRequest"][0]["hooks"][0];
        assert_eq!(permission["timeout"], 86400);
        let command = permission["command"].as_str().unwrap();
        assert!(
            command.ends_with("hook claude-code --deadline-ms 77760000 --tool-event"),
            "{command}"
        );
    }

    #[test]
    fn two_notification_hooks_with_their_matchers() {
        let told = notifications(&injected("agent-7", None));
        let group = |matcher: &str, command: &str| {
            let handler = json!({"type": "command", "command": command, "timeout": 10});
            json!({"matcher": matcher, "hooks": [handler]})
        };
        assert_eq!(told[1], group("idle_prompt", "/x/anyhook emit agent:idle --agent agent-7"));
        let command = "/x/anyhook emit agent:prompt --agent agent-7 --type permission";
        assert_eq!(told[2], group("permission_prompt", command));
        assert_eq!(told.as_array().unwrap().len(), 3);
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
        assert_eq!(notifications(&after).as_array().unwrap().len(), 5, "{after}");
        assert_eq!(plain(&after)["hooks"]["Stop"].as_array().unwrap().len(), 2, "{after}");
        assert_eq!(injected("a", Some(&after)), after, "a second time changes nothing");
    }

    #[test]
    fn the_agent_may_say_how_its_work_stands_and_nothing_longer() {
        let ours = [
            "Bash(anyhook emit agent:signal complete)",
            "Bash(anyhook emit agent:signal escalate)",
            "Bash(anyhook emit agent:signal continue)",
        ];
        let bare = plain(&injected("a", None));
        assert_eq!(bare["permissions"], json!({"allow": ours}));
        let theirs =
            format!(r#"{{"permissions": {{"allow": ["Read", "{}"], "deny": ["Bash"]}}}}"#, ours[0]);
        let both = plain(&injected("a", Some(&theirs)));
        let allow = json!(["Read", ours[0], ours[1], ours[2]]);
        assert_eq!(both["permissions"], json!({"allow": allow, "deny": ["Bash"]}));
        assert!(tried("a", Some(r#"{"permissions": {"allow": "all"}}"#)).is_err());
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
        let command = &notifications(&text)[1]["hooks"][0]["command"];
        assert_eq!(command, "/x/anyhook emit agent:idle --agent 'a b; touch x'");
        let text = injected("it's $(x)\n--type", None);
        let command = &notifications(&text)[2]["hooks"][0]["command"];
        let wanted =
            "/x/anyhook emit agent:prompt --agent 'it'\\''s $(x)\n--type' --type permission";
        assert_eq!(command, wanted);
        assert_eq!(injected("it's $(x)\n--type", Some(&text)), text);
    }

    #[test]
    fn settings_that_cannot_be_read_are_said() {
        for text in ["{", r#"{"hooks": {"Notification": 3}}"#] {
            assert!(tried("a", Some(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn settings_of_the_command_line_are_kept() {
        let file = |path: &str| Some(DisplacedSettings::File(path.into()));
        for (run, found) in [
            ("claude", None),
            ("claude --settings mine.json --model x", file("mine.json")),
            ("claude --settings='/a b/s.json'", file("/a b/s.json")),
            ("X=1 claude --settings one --settings two", file("two")),
            (
                r#"claude --settings '{"a": 1}'"#,
                Some(DisplacedSettings::Text(r#"{"a": 1}"#.to_owned())),
            ),
            ("claude --settings", None),
            ("echo --settings x && claude", None),
        ] {
            assert_eq!(displaced(run), found, "{run}");
        }
    }
}
