//! Wiring over generated settings: a second time changes nothing, and taking us out again leaves
//! what was there, with its comments.

use std::path::{Path, PathBuf};

use anyhook_hosts::wiring::{
    EntryFolders, HookInvocation, SettingsEdits, SettingsScope, SettingsTexts, is_ours, json_hooks,
    program_of,
};
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::{Caller, EventKind, Host};
use proptest::prelude::*;
use serde_json::{Value, json};

fn scope(project: bool) -> SettingsScope {
    SettingsScope {
        home: PathBuf::from("/home/you"),
        config_home: PathBuf::from("/home/you/.config"),
        project: project.then(|| PathBuf::from("/src/it")),
        variables: std::collections::BTreeMap::new(),
    }
}

/// How an agent's settings list the hooks of an event.
#[derive(PartialEq, Eq)]
enum Entries {
    /// In groups with a matcher.
    Groups,
    /// One after the other.
    Flat,
    /// In another form, or in files of ours; the tests of its folder look at them.
    Other,
}

/// Returns how an agent's settings list the hooks of an event: as we write them.
fn entries(agent: &HostSpec) -> Entries {
    let path = agent.settings.files(&scope(false))[0].clone();
    let texts = wire(agent, &scope(false), &SettingsTexts::new());
    let settings: Value = match texts.get(&path).map(|text| serde_json::from_str(text)) {
        Some(Ok(settings)) => settings,
        _ => return Entries::Other,
    };
    let first = |hooks: &Value| hooks.as_object()?.values().next()?.as_array()?.first().cloned();
    match settings.get("hooks").and_then(first) {
        Some(entry) if entry.get("hooks").is_some() => Entries::Groups,
        Some(_) => Entries::Flat,
        None => Entries::Other,
    }
}

fn call() -> HookInvocation {
    HookInvocation::to("/home/you/.local/share/anyhook/bin/anyhook")
}

fn apply(texts: &SettingsTexts, edits: SettingsEdits) -> SettingsTexts {
    let mut texts = texts.clone();
    for (path, text) in edits {
        match text {
            Some(text) => texts.insert(path, text),
            None => texts.remove(&path),
        };
    }
    texts
}

fn wire(agent: &HostSpec, scope: &SettingsScope, texts: &SettingsTexts) -> SettingsTexts {
    apply(
        texts,
        agent.settings.wire(scope, texts, &call()).expect("generated settings can be wired"),
    )
}

fn unwire(agent: &HostSpec, scope: &SettingsScope, texts: &SettingsTexts) -> SettingsTexts {
    apply(texts, agent.settings.unwire(scope, texts).expect("generated settings can be unwired"))
}

/// Reads JSON with comments as a plain value.
fn plain(text: &str) -> Value {
    json_hooks::value(Path::new("x"), text, &[]).expect("still JSON").unwrap_or_else(|| json!({}))
}

/// Somebody's handler, which may look a little like ours.
fn theirs() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "command", "command": "theirs.sh", "timeout": 5})),
        Just(json!({"type": "command", "command": "log; anyhook hook claude-code"})),
        Just(json!({"type": "command", "command": "/x/anyhook run before_tool"})),
        Just(json!({"type": "prompt", "prompt": "is anyhook hook codex fine?"})),
        Just(json!({"command": 7})),
        Just(json!("no handler")),
    ]
}

fn group() -> impl Strategy<Value = Value> {
    (proptest::option::of("[A-Z][a-z]{2,5}"), proptest::collection::vec(theirs(), 1..3)).prop_map(
        |(matcher, handlers)| {
            let mut group = json!({});
            if let Some(matcher) = matcher {
                group["matcher"] = json!(matcher);
            }
            group["hooks"] = json!(handlers);
            group
        },
    )
}

/// Somebody's hooks. None are empty: what holds nothing goes with ours.
fn hooks() -> impl Strategy<Value = Value> {
    let event = prop_oneof![
        Just("PreToolUse"),
        Just("Stop"),
        Just("SessionStart"),
        Just("BeforeTool"),
        Just("Other"),
    ];
    proptest::collection::btree_map(event, proptest::collection::vec(group(), 1..3), 1..4)
        .prop_map(|events| json!(events))
}

/// How a file is written: line ends, indentation, comments, commas at the end.
#[derive(Clone, Debug)]
struct Form {
    indent: &'static str,
    line_end: &'static str,
    comments: Vec<&'static str>,
    comma: bool,
    mark: bool,
    last_line: bool,
}

fn form() -> impl Strategy<Value = Form> {
    (
        prop_oneof![Just("  "), Just("\t"), Just("    "), Just("")],
        prop_oneof![Just("\n"), Just("\r\n"), Just(" ")],
        proptest::sample::subsequence(vec!["/* first */", "/* second */", "/* third */"], 0..=3),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(indent, line_end, comments, comma, mark, last_line)| Form {
            indent,
            line_end,
            comments,
            comma,
            mark,
            last_line,
        })
}

/// Writes settings in a form.
fn written(settings: &Value, form: &Form) -> String {
    let pretty = serde_json::to_string_pretty(settings).expect("a value");
    let mut comments = form.comments.iter();
    let mut text = String::new();
    if form.mark {
        text.push('\u{feff}');
    }
    let count = pretty.lines().count();
    for (number, line) in pretty.lines().enumerate() {
        let inner = line.trim_start();
        text.push_str(&form.indent.repeat((line.len() - inner.len()) / 2));
        text.push_str(inner);
        let before_last = number + 2 == count;
        if form.comma && before_last && !inner.ends_with('{') {
            text.push(',');
        }
        // A comment stands behind what it is about, or before the end of what holds it.
        if let Some(comment) = (number % 2 == 1).then(|| comments.next()).flatten() {
            text.push(' ');
            text.push_str(comment);
        }
        if number + 1 < count || form.last_line {
            text.push_str(form.line_end);
        }
    }
    text
}

fn kept_comments(before: &str, after: &str) -> bool {
    ["/* first */", "/* second */", "/* third */"]
        .iter()
        .filter(|comment| before.contains(**comment))
        .all(|comment| after.contains(comment))
}

/// What an earlier version wrote, which had no small program, is put right, and there is one entry.
#[test]
fn the_small_program_takes_the_place_of_the_whole_one() {
    let old = HookInvocation::to("/bin/anyhook");
    let folders = EntryFolders {
        home: PathBuf::from("/home/you"),
        config: PathBuf::from("/home/you/.config/agents"),
        state: PathBuf::from("/home/you/.local/state/anyhook"),
    };
    let small = Some(PathBuf::from("/bin/anyhook-hook"));
    let new = HookInvocation { small, folders: Some(folders), ..old.clone() };
    for (agent, project) in AGENTS.into_iter().flat_map(|agent| [(agent, false), (agent, true)]) {
        let scope = scope(project);
        let wired = |texts: &SettingsTexts, call| {
            apply(texts, agent.settings.wire(&scope, texts, call).unwrap())
        };
        // What takes the place of something is indented a little otherwise.
        let words = |texts: &SettingsTexts| {
            texts.values().map(|text| text.split_whitespace().collect()).collect::<Vec<String>>()
        };
        // A project that pi does not trust would be an obstacle.
        let trust = PathBuf::from("/home/you/.pi/agent/trust.json");
        let before = SettingsTexts::from([(trust, "{\"/src/it\": true}".to_owned())]);
        let once = wired(&before, &old);
        let again = wired(&once, &new);
        assert_eq!(words(&again), words(&wired(&before, &new)), "{}", agent.id());
        assert_eq!(wired(&again, &new), again, "{}: a second time", agent.id());
        let found = agent.settings.inspect(&scope, &again).unwrap();
        assert!(found.missing.is_empty() && found.rivals.is_empty(), "{found:?}");
        assert!(found.stale.is_empty() && found.obstacles.is_empty(), "{found:?}");
        assert!(found.outdated.is_empty(), "{found:?}");
        let older = agent.settings.inspect(&scope, &once).unwrap();
        assert!(!older.outdated.is_empty() && older.missing.is_empty(), "{older:?}");
        assert!(!found.ours.is_empty(), "{}", agent.id());
        let mut named: Vec<(&str, PathBuf)> = new
            .folders()
            .iter()
            .flat_map(|folders| folders.options())
            .map(|(option, folder)| (option, folder.to_owned()))
            .collect();
        named.sort_unstable();
        assert_eq!(found.folders(), named, "{}", agent.id());
        for ours in &found.ours {
            // A plugin names the program alone.
            let program = program_of(ours).unwrap_or_else(|| PathBuf::from(ours));
            assert_eq!(program, Path::new("/bin/anyhook-hook"), "{ours}");
        }
        // And back, where a version without one is installed over it.
        assert_eq!(words(&wired(&again, &old)), words(&once), "{}", agent.id());
        let without = unwire(agent, &scope, &again);
        assert_eq!(without, unwire(agent, &scope, &once), "{}", agent.id());
        assert!(
            agent.settings.inspect(&scope, &without).unwrap().ours.is_empty(),
            "{}",
            agent.id()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_there_stays(
        others in proptest::collection::btree_map("[a-z]{1,5}", 0u32..1000, 0..4),
        hooks in proptest::option::of(hooks()),
        form in form(),
        project in any::<bool>(),
        older in any::<bool>(),
    ) {
        let scope = scope(project);
        for agent in AGENTS.into_iter().filter(|agent| entries(agent) != Entries::Other) {
            // An older entry of ours is a group.
            let older = older && entries(agent) == Entries::Groups;
            let mut settings = json!(others);
            if let Some(hooks) = &hooks {
                settings["hooks"] = hooks.clone();
            }
            let wanted = settings.clone();
            if older {
                let program = if project { "anyhook" } else { "anyhook-hook" };
                let command = format!("/old/{program} hook {}", agent.id());
                let handler = json!({"type": "command", "command": command});
                for event in ["Stop", "BeforeTool"] {
                    let groups = &mut settings["hooks"][event];
                    if !groups.is_array() {
                        *groups = json!([]);
                    }
                    groups.as_array_mut().expect("a list").insert(0, json!({"hooks": [handler]}));
                }
            }
            let path = agent.settings.files(&scope)[0].clone();
            let text = written(&settings, &form);
            let texts = SettingsTexts::from([(path.clone(), text.clone())]);
            let wired = wire(agent, &scope, &texts);
            prop_assert_eq!(&wire(agent, &scope, &wired), &wired, "a second time");
            prop_assert_eq!(wired[&path].starts_with('\u{feff}'), form.mark);
            // A comment inside an older entry of ours goes with it.
            prop_assert!(older || kept_comments(&text, &wired[&path]), "{}", wired[&path]);
            let found = agent.settings.inspect(&scope, &wired).expect("it was wired");
            prop_assert!(found.missing.is_empty() && found.stale.is_empty(), "{found:?}");
            let mut places = std::collections::BTreeSet::new();
            for (event, command) in json_hooks::commands(&path, &wired[&path]).expect("JSON") {
                let known = ["BeforeTool", "Stop"].contains(&event.as_str());
                if is_ours(&command, agent.id()) && !(known && command.starts_with("/old")) {
                    prop_assert!(places.insert(event), "one entry an event: {}", wired[&path]);
                }
            }
            let back = unwire(agent, &scope, &wired);
            prop_assert_eq!(plain(&back[&path]), wanted, "{}", back[&path]);
            if !older {
                prop_assert!(kept_comments(&text, &back[&path]), "{}", back[&path]);
            }
            prop_assert_eq!(&unwire(agent, &scope, &back), &back, "a second time");
        }
    }

    #[test]
    fn codex_keeps_its_toml(
        others in proptest::collection::btree_map("[a-z]{1,5}x", 0u32..1000, 0..4),
        features in any::<bool>(),
        trusted in proptest::collection::btree_map("/[a-z]{1,5}/hooks[.]json:stop:[0-3]:0", "[a-f0-9]{8}", 0..3),
        inline in any::<bool>(),
        comment in any::<bool>(),
    ) {
        let mut text = String::new();
        for (key, value) in &others {
            text.push_str(&format!("{key}  =  {value}\n"));
        }
        if comment {
            text.push_str("# first\n");
        }
        if features {
            text.push_str("\n[features] # second\nhooks = true\n");
        }
        for (key, hash) in &trusted {
            if inline {
                continue;
            }
            text.push_str(&format!("[hooks.state.\"{key}\"]\ntrusted_hash = 'sha256:{hash}'\n"));
        }
        if inline && !trusted.is_empty() {
            text.push_str("[hooks.state]\n");
            for (key, hash) in &trusted {
                text.push_str(&format!("\"{key}\" = {{ trusted_hash = 'sha256:{hash}' }}\n"));
            }
        }
        let agent = anyhook_hosts::find("codex").expect("it is one of ours");
        let scope = scope(false);
        let config = agent.settings.files(&scope)[1].clone();
        let texts = SettingsTexts::from([(config.clone(), text.clone())]);
        let wired = wire(agent, &scope, &texts);
        for line in text.lines() {
            prop_assert!(wired[&config].contains(line), "{line}: {}", wired[&config]);
        }
        prop_assert_eq!(&wire(agent, &scope, &wired), &wired, "a second time");
        let back = unwire(agent, &scope, &wired);
        prop_assert_eq!(&back[&config], &text);
    }

    /// Whatever a file holds, wiring either works or changes nothing and says why.
    #[test]
    fn any_text_is_borne(text in "\\PC{0,40}|[\\{\\}\\[\\]\",:a-c/*\n ]{0,30}") {
        let scope = scope(false);
        for agent in AGENTS {
            let files = agent.settings.files(&scope);
            let texts: SettingsTexts = files.into_iter().map(|path| (path, text.clone())).collect();
            if let Ok(edits) = agent.settings.wire(&scope, &texts, &call()) {
                let wired = apply(&texts, edits);
                prop_assert_eq!(&wire(agent, &scope, &wired), &wired, "a second time");
            }
            let _ = agent.settings.unwire(&scope, &texts);
            let _ = agent.settings.inspect(&scope, &texts);
        }
    }
}

/// What an agent's settings call before a tool, with what the agent would send, is a shell call.
#[test]
fn a_shell_call_can_be_made_as_the_agent_would() {
    for agent in AGENTS {
        let texts = wire(agent, &scope(false), &SettingsTexts::new());
        let command = agent.settings.inspect(&scope(false), &texts).unwrap().before_tool.unwrap();
        assert!(command.ends_with(" --tool-event"), "{command}");
        assert!(is_ours(&command, agent.id()), "{command}");
        assert!(program_of(&command).unwrap().ends_with("bin/anyhook"), "{command}");
        let payload = agent.shell_payload("rm -rf /", "s", Path::new("/src/it"));
        let caller = Caller::new("/elsewhere", jiff::Timestamp::UNIX_EPOCH);
        let events = agent.protocol.decode(&payload, &caller).unwrap();
        let [event] = &events[..] else { panic!("{events:?}") };
        assert_eq!((&event.kind, event.doubt), (&EventKind::BeforeTool, None));
        assert_eq!(event.session.as_deref(), Some("s"));
        assert_eq!(event.work_dir, Path::new("/src/it"));
        let tool = event.tool.as_ref().unwrap();
        assert_eq!(tool.name, "Shell");
        assert_eq!(tool.input.get("command"), Some(&json!("rm -rf /")));
    }
}

#[test]
fn hooks_that_are_not_ours_are_named_with_their_events() {
    let settings = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine.sh"}]}],
        "Unknown": [{"hooks": [{"type": "command", "command": "other.sh"}]}],
    }});
    let agent = anyhook_hosts::find("claude-code").unwrap();
    let path = agent.settings.files(&scope(false)).remove(0);
    let texts = wire(agent, &scope(false), &SettingsTexts::from([(path, settings.to_string())]));
    let others = agent.settings.inspect(&scope(false), &texts).unwrap().others;
    let named: Vec<(&str, &str)> =
        others.iter().map(|hook| (hook.event.as_str(), hook.command.as_str())).collect();
    assert_eq!(named, [("PreToolUse", "mine.sh"), ("Unknown", "other.sh")]);
}
