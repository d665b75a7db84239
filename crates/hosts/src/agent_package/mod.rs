//! Packages for agents' own plugin mechanisms: what they contain, as texts.
//!
//! A package has the entries that `install` writes, made by the same code, so that a new event is in
//! all of them. What differs is the program: an entry of `install` names it, and a package, which
//! does not know the machine, has a script that finds it. Calls from a package say so (`--plugin`),
//! so that they are dropped where the agent's settings call us, too.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::spec::HostSpec;
use crate::wiring::{self, HookInvocation, SettingsError, SettingsScope, SettingsTexts};
use crate::{PROTOCOLS, claude_code, codex, gemini_cli, goose, opencode};

/// The name of every package, and of the marketplaces.
pub const NAME: &str = "anyhook";
/// The name of the npm package for OpenCode.
pub const OPENCODE_PACKAGE: &str = "anyhook-opencode";
/// The folder of the repository that has the packages.
pub const FOLDER: &str = "plugins";

const SCRIPT: &str = include_str!("anyhook.sh");
const FIND: &str = include_str!("find.js");
const INDEX: &str = include_str!("index.js");

const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
const LICENCE: &str = env!("CARGO_PKG_LICENSE");
const AUTHOR: &str = "The anyhook authors";
const SUMMARY: &str = "Runs your anyhook hooks: guards, context and checks as HOOK.md folders, the same in every coding agent";

/// What a person is told if the program is not there. Without quotes: it is in shell scripts, in
/// JSON and in JavaScript.
pub const MISSING: &str = "anyhook is not installed: guards do not run. To install it: npm install -g anyhook, or see https://github.com/anyhook/anyhook";

/// A manifest: its path in the package, and its content.
type Manifest = (&'static str, fn() -> Value);

/// A package with hooks as commands.
struct HookPackage {
    /// Its folder.
    folder: &'static str,
    /// The agent whose entries it has.
    agent: &'static HostSpec,
    /// Its own folder, as the agent replaces it in commands.
    root: &'static str,
    /// Its manifests, by their path.
    manifests: &'static [Manifest],
    /// Whether several agents read it.
    is_shared: bool,
    /// How to install it.
    install: &'static str,
}

const HOOK_PACKAGES: [HookPackage; 4] = [
    HookPackage {
        folder: "claude-code",
        agent: &claude_code::SPEC,
        root: "${CLAUDE_PLUGIN_ROOT}",
        manifests: &[(".claude-plugin/plugin.json", manifest)],
        is_shared: false,
        install: "claude plugin marketplace add anyhook/anyhook\nclaude plugin install anyhook@anyhook",
    },
    HookPackage {
        folder: "codex",
        agent: &codex::SPEC,
        root: "${PLUGIN_ROOT}",
        manifests: &[(".codex-plugin/plugin.json", codex_manifest)],
        is_shared: false,
        install: "codex plugin marketplace add anyhook/anyhook\ncodex plugin add anyhook@anyhook",
    },
    HookPackage {
        folder: "gemini-cli",
        agent: &gemini_cli::SPEC,
        root: "${extensionPath}",
        manifests: &[("gemini-extension.json", gemini_manifest)],
        is_shared: false,
        install: "gemini extensions install https://github.com/anyhook/anyhook",
    },
    HookPackage {
        folder: "open-plugins",
        agent: &goose::SPEC,
        root: "${PLUGIN_ROOT}",
        manifests: &[("plugin.json", open_manifest), (".plugin/plugin.json", manifest)],
        is_shared: true,
        install: "cp -R plugins/open-plugins ~/.agents/plugins/anyhook",
    },
];

/// Returns the files of all packages and marketplaces, by their path in the repository.
pub fn files() -> Result<BTreeMap<String, String>, SettingsError> {
    let mut files = BTreeMap::from([
        (".claude-plugin/marketplace.json".to_owned(), pretty(&claude_marketplace())),
        (".agents/plugins/marketplace.json".to_owned(), pretty(&codex_marketplace())),
    ]);
    for package in &HOOK_PACKAGES {
        let mut put = |name: &str, text: String| {
            files.insert(format!("{FOLDER}/{}/{name}", package.folder), text);
        };
        for (name, manifest) in package.manifests {
            put(name, pretty(&manifest()));
        }
        put("hooks/hooks.json", package.hooks()?);
        put(wiring::PACKAGE_SCRIPT, script(package.is_shared));
        put("README.md", readme(package.agent.title, package.install, package.note()));
    }
    let install = "{\"plugin\": [\"anyhook-opencode\"]}";
    for (name, text) in [
        ("package.json", pretty(&opencode_manifest())),
        ("index.js", INDEX.to_owned()),
        ("find.js", FIND.replace("@MISSING@", MISSING)),
        ("anyhook.js", opencode::package_module()),
        ("README.md", readme(opencode::SPEC.title, install, OPENCODE_NOTE)),
    ] {
        files.insert(format!("{FOLDER}/{}/{name}", opencode::SPEC.id()), text);
    }
    Ok(files)
}

impl HookPackage {
    /// Returns its hooks: the entries that `install` would write into empty settings.
    fn hooks(&self) -> Result<String, SettingsError> {
        let home = PathBuf::from("/");
        let config_home = home.join(".config");
        let variables = BTreeMap::new();
        let scope = SettingsScope { home, config_home, project: None, variables };
        let call = HookInvocation::in_package(self.root);
        let edits = self.agent.settings.wire(&scope, &SettingsTexts::new(), &call)?;
        let is_json = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
        let text = edits.into_iter().find(|(path, _)| is_json(path)).and_then(|(_, text)| text);
        Ok(text.unwrap_or_default())
    }

    fn note(&self) -> &'static str {
        match self.folder {
            "codex" => CODEX_NOTE,
            "open-plugins" => OPEN_NOTE,
            _ => "",
        }
    }
}

const CODEX_NOTE: &str = "Codex runs the hooks of a plugin only after you have reviewed them: start `codex` and trust them when it asks, or later with `/hooks`. Until then it skips them without a word.\n\n";
const OPEN_NOTE: &str = "This is the layout of Open Plugins, for agents that read it: Goose loads it from `~/.agents/plugins`, Copilot CLI with `copilot plugin install`. An agent that says who it is gets answers in its own form; any other is answered as Goose.\n\n";
const OPENCODE_NOTE: &str = "The line belongs in `opencode.json`, for all your projects in `~/.config/opencode/opencode.json`.\n\n";

fn readme(title: &str, install: &str, note: &str) -> String {
    format!(
        "# anyhook for {title}\n\n\
         {SUMMARY}. This package connects {title} to [anyhook]({REPOSITORY}): every event goes to \
         the program `anyhook`, which decides by your hooks and keeps a journal.\n\n\
         ```text\n{install}\n```\n\n\
         {note}The program itself is not in the package: \
         [install it]({REPOSITORY}/blob/main/docs/guide/get-anyhook.md), for example with `npm \
         install -g anyhook`. Without it you are told when a session starts, and tool calls are \
         refused if a guard with `on_failure: block` is installed. If `anyhook install` has also \
         connected the agent, the calls of this package are dropped, so no hook runs twice.\n\n\
         Made by `cargo xtask generate`; changes here are lost.\n"
    )
}

/// Returns the script that finds the program; a shared one also finds out who calls.
fn script(is_shared: bool) -> String {
    let scripts = wiring::unanswered_scripts();
    SCRIPT
        .replace("@RUNNERS@\n", &if is_shared { runners() } else { String::new() })
        .replace("@REFUSED@", scripts.refused)
        .replace("@SOFTENED@", scripts.softened)
        .replace("@REPLY@\n", if is_shared { COPILOT_REPLY } else { "" })
        .replace("@REFUSAL@", REFUSAL)
        .replace("@MISSING@", MISSING)
}

/// What a refused call is told, as `index.js` says it, too.
const REFUSAL: &str =
    "@MISSING@. A guard that blocks on failure is installed, so this call is refused.";

/// Copilot CLI takes the reason from standard output alone.
const COPILOT_REPLY: &str = r#"            [ "$host" != copilot ] || printf '%s\n' '{"permissionDecision": "deny", "permissionDecisionReason": "@REFUSAL@"}'
"#;

/// Returns the lines that find out which agent runs a shared package, by the variables that only
/// this agent sets for hooks.
fn runners() -> String {
    let mut lines = "\n# The agent that reads this layout by default, or the one that says who it is.\nhost=$2\nshift 2\n".to_owned();
    for protocol in
        PROTOCOLS.into_iter().filter(|host| host.also_runs_hooks_of.contains(&"claude-code"))
    {
        if let Some(variable) = protocol.hook_variables.first() {
            lines.push_str(&format!("[ -z \"${{{variable}:-}}\" ] || host={}\n", protocol.id));
        }
    }
    lines + "set -- hook \"$host\" \"$@\"\n\n"
}

fn manifest() -> Value {
    json!({
        "name": NAME,
        "version": VERSION,
        "description": SUMMARY,
        "author": {"name": AUTHOR, "url": REPOSITORY},
        "homepage": REPOSITORY,
        "repository": REPOSITORY,
        "license": LICENCE,
        "keywords": ["hooks", "guards", "policy", "security"],
    })
}

fn codex_manifest() -> Value {
    let mut manifest = manifest();
    manifest["hooks"] = "./hooks/hooks.json".into();
    manifest["interface"] = json!({
        "displayName": NAME,
        "shortDescription": "One hook engine for every coding agent",
        "longDescription": SUMMARY,
        "developerName": AUTHOR,
        "category": "Productivity",
        "websiteURL": REPOSITORY,
    });
    manifest
}

fn gemini_manifest() -> Value {
    json!({"name": NAME, "version": VERSION, "description": SUMMARY})
}

/// The manifest of Open Plugins, which allows no other fields.
fn open_manifest() -> Value {
    let mut manifest = manifest();
    manifest["id"] = format!("{REPOSITORY}/tree/main/{FOLDER}/open-plugins").into();
    manifest
}

fn opencode_manifest() -> Value {
    json!({
        "name": OPENCODE_PACKAGE,
        "version": VERSION,
        "description": SUMMARY,
        "license": LICENCE,
        "author": AUTHOR,
        "repository": {"type": "git", "url": format!("git+{REPOSITORY}.git")},
        "type": "module",
        "main": "./index.js",
        "exports": {".": "./index.js"},
        "files": ["index.js", "anyhook.js", "find.js"],
    })
}

fn claude_marketplace() -> Value {
    json!({
        "name": NAME,
        "owner": {"name": AUTHOR, "url": REPOSITORY},
        "description": SUMMARY,
        "plugins": [{
            "name": NAME,
            "source": format!("./{FOLDER}/claude-code"),
            "description": SUMMARY,
            "category": "security",
        }],
    })
}

fn codex_marketplace() -> Value {
    json!({
        "name": NAME,
        "interface": {"displayName": NAME},
        "plugins": [{
            "name": NAME,
            "source": {"source": "local", "path": format!("./{FOLDER}/codex")},
            "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
            "category": "Productivity",
        }],
    })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::{Command, Output, Stdio};

    use super::*;
    use crate::wiring::{is_ours, is_package_call, json_hooks};

    /// Returns the commands of a package, by event.
    fn commands(folder: &str) -> Vec<(String, String)> {
        let text = &files().unwrap()[&format!("{FOLDER}/{folder}/hooks/hooks.json")];
        json_hooks::commands(Path::new("hooks.json"), text).unwrap()
    }

    #[test]
    fn a_package_has_the_entries_that_install_writes() {
        for package in &HOOK_PACKAGES {
            let id = package.agent.id();
            let found = commands(package.folder);
            let home = PathBuf::from("/h");
            let scope = SettingsScope {
                config_home: home.join(".config"),
                home,
                project: None,
                variables: BTreeMap::new(),
            };
            let call = HookInvocation::to("/x/anyhook");
            let settings = package.agent.settings;
            let edits = settings.wire(&scope, &SettingsTexts::new(), &call).unwrap();
            let texts = edits.into_iter().filter_map(|(path, text)| Some((path, text?))).collect();
            let installed = settings.inspect(&scope, &texts).unwrap().events;
            let events: Vec<&String> = found.iter().map(|(event, _)| event).collect();
            assert_eq!(events, installed.iter().collect::<Vec<_>>(), "{id}");
            for (event, command) in &found {
                assert!(
                    is_package_call(command, id) && !is_ours(command, id),
                    "{event}: {command}"
                );
                let is_tool = command.contains("anyhook.sh tool:");
                assert_eq!(command.ends_with(" --plugin --tool-event"), is_tool, "{command}");
            }
            let tool = package.agent.native_name(&anyhook_model::EventKind::BeforeTool);
            let before_tool = found.iter().find(|(event, _)| Some(event.as_str()) == tool);
            assert!(before_tool.unwrap().1.contains(" tool:"), "{id}");
        }
    }

    #[test]
    fn no_placeholder_is_left() {
        for (path, text) in files().unwrap() {
            let names = [
                "@MISSING@",
                "@RUNNERS@",
                "@REPLY@",
                "@REFUSAL@",
                "@REFUSED@",
                "@SOFTENED@",
                "@BINARY@",
                "@MARKER@",
            ];
            assert!(!names.iter().any(|name| text.contains(name)), "{path}");
            assert!(!MISSING.contains(['"', '\'', '\\', '$', '`']));
            if Path::new(&path).extension().is_some_and(|ending| ending == "json") {
                serde_json::from_str::<Value>(&text)
                    .unwrap_or_else(|error| panic!("{path}: {error}"));
            }
        }
    }

    /// A home with the script of a package and, perhaps, a program that tells how it was called.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new(folder: &str) -> Self {
            let root = tempfile::tempdir().unwrap();
            let script =
                &files().unwrap()[&format!("{FOLDER}/{folder}/{}", wiring::PACKAGE_SCRIPT)];
            // Nothing of the real machine is found.
            let own = script
                .replace("/usr/local/bin /usr/bin", root.path().join("usr").to_str().unwrap());
            assert_ne!(own, *script);
            fs::write(root.path().join(wiring::PACKAGE_SCRIPT), own).unwrap();
            fs::create_dir(root.path().join("path")).unwrap();
            for tool in ["cat", "grep"] {
                let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
                let found = found.iter().find(|path| path.exists()).unwrap();
                std::os::unix::fs::symlink(found, root.path().join("path").join(tool)).unwrap();
            }
            Self(root)
        }

        fn install(&self, place: &str, script: &str) {
            let path = self.0.path().join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn write(&self, place: &str, text: &str) {
            let path = self.0.path().join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Runs the command of an event, as the agent does.
        fn call(&self, package: &HookPackage, event: &str, variables: &[(&str, &str)]) -> Output {
            let commands = commands(package.folder);
            let (_, command) = commands.iter().find(|(name, _)| name == event).unwrap();
            let root = self.0.path().to_str().unwrap();
            let command = command.replace(package.root, root);
            let mut child = Command::new("/bin/sh")
                .args(["-c", &command])
                .env_clear()
                .env("HOME", self.0.path())
                .env("PATH", format!("{root}/path"))
                .envs(variables.iter().copied())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let payload = format!("{{\"hook_event_name\":\"{event}\"}}");
            // A program that does not read it may have ended.
            let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes());
            child.wait_with_output().unwrap()
        }
    }

    #[test]
    fn the_program_is_found_where_install_puts_it_and_then_on_the_path() {
        let [claude, ..] = &HOOK_PACKAGES;
        let machine = Machine::new("claude-code");
        machine.install("path/anyhook", "echo by PATH: \"$@\"; exit 2");
        let found = machine.call(claude, "PreToolUse", &[]);
        let said = String::from_utf8(found.stdout).unwrap();
        assert_eq!(said, "by PATH: hook claude-code --deadline-ms 540000 --plugin --tool-event\n");
        assert_eq!(found.status.code(), Some(2));
        machine.install(".local/share/anyhook/bin/anyhook-hook", "cat; exit 7");
        let found = machine.call(claude, "SessionStart", &[]);
        assert_eq!(found.stdout, b"{\"hook_event_name\":\"SessionStart\"}");
        assert_eq!(found.status.code(), Some(1), "no other code is an answer");
    }

    #[test]
    fn a_person_is_told_that_it_is_not_installed() {
        for package in &HOOK_PACKAGES {
            let machine = Machine::new(package.folder);
            let told = machine.call(package, "SessionStart", &[]);
            assert!(told.status.success(), "{told:?}");
            let told: Value = serde_json::from_slice(&told.stdout).unwrap();
            assert_eq!(told["systemMessage"], format!("{MISSING}."));
            let tool = package.agent.native_name(&anyhook_model::EventKind::BeforeTool).unwrap();
            let open = machine.call(package, tool, &[]);
            assert!(open.status.success() && open.stdout.is_empty(), "{open:?}");
        }
    }

    #[test]
    fn a_guard_that_cannot_run_refuses() {
        let [claude, ..] = &HOOK_PACKAGES;
        let marked = Machine::new("claude-code");
        marked.write(".local/state/anyhook/guarded/user", "");
        let own = Machine::new("claude-code");
        own.write(".config/agents/hooks/mine/HOOK.md", "---\nname: mine\non_failure: block\n---\n");
        for machine in [&marked, &own] {
            let refused = machine.call(claude, "PreToolUse", &[]);
            assert_eq!(refused.status.code(), Some(2), "{refused:?}");
            let said = String::from_utf8(refused.stderr).unwrap();
            assert!(said.starts_with(MISSING) && said.contains("this call is refused"), "{said}");
        }
        let killed = Machine::new("claude-code");
        killed.write(".local/state/anyhook/guarded/user", "");
        killed.install(".local/share/anyhook/bin/anyhook-hook", "kill -9 $$");
        let refused = killed.call(claude, "PreToolUse", &[]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }

    #[test]
    fn a_shared_package_answers_the_agent_that_says_who_it_is() {
        let open = HOOK_PACKAGES.iter().find(|package| package.is_shared).unwrap();
        let machine = Machine::new(open.folder);
        machine.install(".local/share/anyhook/bin/anyhook-hook", "echo \"$2\"");
        for (variables, host) in [
            (&[][..], "goose"),
            (&[("COPILOT_PROJECT_DIR", "/p")], "copilot"),
            (&[("GROK_HOOK_EVENT", "x")], "grok"),
        ] {
            let found = machine.call(open, "PreToolUse", variables);
            assert_eq!(String::from_utf8(found.stdout).unwrap().trim(), host);
        }
    }
}
