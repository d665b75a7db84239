use std::os::unix::fs::PermissionsExt;

use super::*;

/// A home with a project, and an agent that is about to be launched there.
struct World {
    root: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("home/project/.git")).unwrap();
        Self { root, variables: BTreeMap::new() }
    }

    fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    fn own(&self) -> PathBuf {
        self.root.path().join("own")
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.home().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn scope(&self) -> SettingsScope {
        SettingsScope {
            home: self.home(),
            config_home: self.home().join(".config"),
            project: None,
            variables: BTreeMap::new(),
        }
    }

    fn prepare(&self, run: &str) -> LaunchAdditions {
        self.prepare_with(run, Path::new("/x/anyhook"))
    }

    fn prepare_with(&self, run: &str, binary: &Path) -> LaunchAdditions {
        let folder = self.home().join("project");
        let start = AgentLaunch {
            agent_id: "fix 1",
            host: None,
            run,
            folder: &folder,
            variables: &self.variables,
            prompt: Some("do it"),
            resume: None,
            state: None,
        };
        let additions = prepare(&start, &self.scope(), binary, &self.own()).unwrap();
        assert_eq!(additions.variables[AGENT_ID], "fix 1");
        additions
    }

    /// Installs our hooks into an agent, as `anyhook install` does.
    fn install(&self, host: &str, project: Option<PathBuf>) {
        let scope = SettingsScope { project, ..self.scope() };
        let call = HookInvocation::to("/y/anyhook");
        let edits =
            find(host).unwrap().settings.wire(&scope, &SettingsTexts::new(), &call).unwrap();
        for (path, text) in edits {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.unwrap()).unwrap();
        }
    }
}

fn words(additions: &LaunchAdditions) -> Option<&str> {
    additions.warning.as_ref().map(|warning| warning.text.as_str())
}

#[test]
fn an_agent_that_does_not_call_us_gets_hooks_for_this_start() {
    let world = World::new();
    let claude = world.prepare("claude --model opus");
    let file = world.own().join("settings.json");
    let settings = file.to_string_lossy().into_owned();
    assert_eq!(claude.arguments, ["--settings", &settings, "--", "do it"]);
    assert_eq!((claude.host, words(&claude)), (Some("claude-code"), None));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("/x/anyhook hook claude-code"), "{text}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&world.own())), (0o600, 0o700));
    forget(&world.own()).unwrap();
    forget(&world.own()).unwrap();
    assert!(!world.own().exists());

    let codex = world.prepare("codex");
    assert_eq!(codex.arguments.len(), 6);
    assert_eq!(codex.arguments[4..], ["--", "do it"]);
    let opencode = world.prepare("opencode");
    assert_eq!(opencode.arguments, ["--prompt=do it"]);
    assert!(opencode.variables["OPENCODE_CONFIG_CONTENT"].contains("/own/anyhook.js\""));
}

#[test]
fn the_small_program_answers_where_it_is_beside() {
    let world = World::new();
    let binary = world.home().join("bin/anyhook");
    world.put("bin/anyhook-hook", "");
    world.prepare_with("claude", &binary);
    let text = fs::read_to_string(world.own().join("settings.json")).unwrap();
    let small = format!("{}/anyhook-hook hook claude-code", world.home().join("bin").display());
    assert!(text.contains(&small) && !text.contains("anyhook hook"), "{text}");
    assert!(
        text.contains("/anyhook emit agent:idle") && !text.contains("anyhook-hook emit"),
        "{text}"
    );
}

#[test]
fn one_that_calls_us_gets_its_prompt_alone() {
    for host in ["claude-code", "codex", "gemini-cli", "opencode"] {
        let run = find(host).unwrap().program;
        for of_project in [false, true] {
            let world = World::new();
            world.install(host, of_project.then(|| world.home().join("project")));
            let additions = world.prepare(run);
            assert_eq!(words(&additions), None, "{host}");
            assert_eq!(additions.variables.len(), 1, "{host}");
            let prompt =
                (find(host).unwrap().launch)(&Launch { run, prompt: Some("do it"), resume: None });
            assert_eq!(additions.arguments, prompt, "{host}");
            assert!(!world.own().exists(), "{host}");
        }
    }
}

#[test]
fn what_a_start_says_itself_is_kept() {
    let mut world = World::new();
    world.put("project/mine.json", r#"{"model": "opus"}"#);
    world.prepare("claude --settings mine.json");
    let text = fs::read_to_string(world.own().join("settings.json")).unwrap();
    assert!(text.contains(r#""model": "opus""#) && text.contains("hook claude-code"), "{text}");

    world.put(".codex/config.toml", "notify = [\"mine\"]\n");
    let codex = world.prepare("codex");
    assert!(codex.arguments[3].contains("\"mine\""), "{:?}", codex.arguments);
    world.put("other/config.toml", "notify = [\"another\"]\n");
    let other = world.home().join("other").to_string_lossy().into_owned();
    world.variables.insert("CODEX_HOME".to_owned(), other);
    let codex = world.prepare("codex");
    assert!(codex.arguments[3].contains("\"another\""), "{:?}", codex.arguments);

    world.variables.insert("OPENCODE_CONFIG_CONTENT".to_owned(), r#"{"model": "x"}"#.to_owned());
    let opencode = world.prepare("opencode");
    assert!(opencode.variables["OPENCODE_CONFIG_CONTENT"].starts_with(r#"{"model":"x","plugin":"#));
}

#[test]
fn a_person_is_told_what_does_not_work() {
    let world = World::new();
    let gemini = world.prepare("gemini");
    assert_eq!(gemini.arguments, ["--prompt-interactive=do it"]);
    let LaunchWarning { text, hint } = gemini.warning.unwrap();
    assert_eq!(
        text,
        "gemini-cli does not call anyhook: it only reads hooks from its settings files"
    );
    assert_eq!(hint, "anyhook install gemini-cli");

    let unknown = world.prepare("./mine --flag");
    assert_eq!((unknown.arguments.as_slice(), unknown.host), (&["do it".to_owned()][..], None));
    assert!(words(&unknown).unwrap().starts_with("unknown agent program"));

    world.put(".claude/settings.json", r#"{"disableAllHooks": true}"#);
    let claude = world.prepare("claude");
    assert!(words(&claude).unwrap().contains("disableAllHooks"), "{claude:?}");

    world.put(".codex/config.toml", "notify =");
    let codex = world.prepare("codex");
    assert_eq!(codex.arguments, ["--", "do it"]);
    assert!(words(&codex).unwrap().contains("`config.toml` is invalid"), "{codex:?}");

    let world = World::new();
    world.install("codex", None);
    world.put(".codex/config.toml", "");
    let stale = world.prepare("codex");
    assert_eq!(stale.warning.unwrap().hint, "anyhook install codex");
}
