//! `anyhook add` of packs from folders and git repositories, also hostile ones; their options; what
//! `packs` and `remove` make of them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require, run, write};

use crate::environment;

pub const GUARD: &str = "---\nname: guard\ndescription: Guards\ntrigger: before_tool\nmatcher:\n  \
                         tool: Shell\non_failure: block\n---\nText.\n";

const PATHS: &str = "---\nname: paths\ndescription: Protects\ntrigger: before_tool\nmetadata:\n  \
                     paths: %{paths}\n  limit: %{limit}\n---\nProtects %{paths}.\n";

const MANIFEST: &str = "name = \"team\"\ndescription = \"Guards of our team\"\n";

const OPTIONS: &str = "\n[[option]]\nname = \"paths\"\nabout = \"What is protected\"\n\
                       default = [\".env\"]\n\n[[option]]\nname = \"limit\"\ndefault = 3\n";

/// Writes a pack with one hook.
pub fn pack(folder: &Path) {
    write(&folder.join("pack.toml"), MANIFEST, 0o644);
    write(&folder.join("README.md"), "Not a part of the pack.\n", 0o644);
    write(&folder.join("hooks/guard/HOOK.md"), GUARD, 0o644);
    write(&folder.join("hooks/guard/scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
}

/// Writes a pack with options.
fn pack_with_options(folder: &Path) {
    write(&folder.join("pack.toml"), format!("{MANIFEST}{OPTIONS}"), 0o644);
    write(&folder.join("hooks/paths/HOOK.md"), PATHS, 0o644);
    write(&folder.join("hooks/paths/scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
}

pub fn git(folder: &Path, words: &[&str]) -> String {
    git_with_input(folder, words, b"")
}

fn git_with_input(folder: &Path, words: &[&str], input: &[u8]) -> String {
    let mut command = Command::new("git");
    let settings =
        ["user.name=n", "user.email=e@x", "init.defaultBranch=main", "core.protectNTFS=false"];
    for setting in settings.iter().chain(&["core.protectHFS=false", "protocol.file.allow=always"]) {
        command.args(["-c", setting]);
    }
    command.args(words).current_dir(folder).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a repository of a pack, and returns it.
pub fn repository(environment: &TestEnv, name: &str) -> PathBuf {
    let folder = environment.root().join(name);
    fs::create_dir_all(&folder).unwrap();
    git(&folder, &["init", "--quiet"]);
    pack(&folder);
    commit(&folder);
    folder
}

pub fn commit(folder: &Path) {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--allow-empty", "--message", "x"]);
}

fn address(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

pub fn lock(environment: &TestEnv) -> PathBuf {
    environment.user_hooks().parent().unwrap().join("packs.lock")
}

/// Asserts that a command was refused, for this reason, and wrote nothing.
fn refused(environment: &TestEnv, words: &[&str], why: &str) -> CommandRun {
    let ran = environment.run(words);
    assert_ne!(ran.code, 0, "{words:?}: {ran:?}");
    assert!(ran.stderr.contains(why), "{words:?}: {why}: {ran:?}");
    assert!(!lock(environment).exists(), "{words:?}");
    let hooks = fs::read_dir(environment.user_hooks()).map_or(0, Iterator::count);
    assert_eq!(hooks, 0, "{words:?}");
    ran
}

/// The digest that `add` names in its hint.
fn digest_in(ran: &CommandRun) -> String {
    let from = ran.stderr.rfind("@sha256:").unwrap_or_else(|| panic!("{ran:?}"));
    ran.stderr[from + 1..].chars().take("sha256:".len() + 64).collect()
}

#[test]
fn without_a_terminal_the_exact_command_is_named() {
    let environment = environment();
    let folder = environment.root().join("team");
    pack(&folder);
    let source = folder.to_str().unwrap();
    let ran = refused(&environment, &["add", source], "without a terminal");
    assert!(
        ran.stderr.contains(&format!("hint: to add exactly this: anyhook add {source}@sha256:"))
    );
    for part in ["team  1 hook", "Guards of our team", "before_tool", "scripts/run", "block"] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    let pinned = format!("{source}@{}", digest_in(&ran));
    assert_run!(environment, environment.run(&["add", &pinned]), @"
    exit code: 0
    ----- stdout -----
    added 1 hook: ~/.config/agents/hooks
    ");
    let added = environment.user_hooks().join("guard");
    assert_eq!(fs::read_to_string(added.join("HOOK.md")).unwrap(), GUARD);
    assert!(!environment.user_hooks().join("README.md").exists());
    let lock = fs::read_to_string(lock(&environment)).unwrap();
    assert!(
        lock.contains("version = 1") && lock.contains(&format!("source = \"{source}\"")),
        "{lock}"
    );
    let journaled = environment.all_records();
    assert!(journaled.iter().any(|record| record["event"] == "command:add"), "{journaled:#?}");
}

#[test]
fn another_content_than_the_digest_says() {
    let environment = environment();
    let folder = environment.root().join("team");
    pack(&folder);
    let source = folder.to_str().unwrap();
    let digest = digest_in(&environment.run(&["add", source]));
    write(&folder.join("hooks/guard/scripts/run"), "#!/bin/sh\nexit 2\n", 0o755);
    let now = digest_in(&environment.run(&["add", source]));
    assert_ne!(now, digest);
    let ran = refused(&environment, &["add", &format!("{source}@{digest}"), "--yes"], &digest);
    assert!(ran.stderr.contains(&now), "both are shown: {ran:?}");
    refused(&environment, &["add", &format!("{source}@sha256:12")], "64 hexadecimal digits");
}

#[test]
fn on_a_terminal_a_person_is_asked() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    let folder = environment.root().join("team");
    pack(&folder);
    let typed = |answer: &str| {
        let program = environment.command(&[]);
        let line = format!("'{}' add '{}'", program.get_program().display(), folder.display());
        let mut command = environment.command(&[]);
        let words = ["--quiet", "--return", "--command", &line, "/dev/null"];
        let mut script = Command::new("script");
        script.args(words).current_dir(environment.project()).env_clear();
        script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command = script;
        run(command, answer.as_bytes())
    };
    let ran = typed("n\n");
    assert!(ran.stdout.contains("Add 1 hook of team? [y/N]") && ran.code == 1, "{ran:?}");
    assert!(!environment.user_hooks().exists() && !lock(&environment).exists());
    let ran = typed("y\n");
    assert!(ran.stdout.contains("added 1 hook") && ran.code == 0, "{ran:?}");
}

#[test]
fn an_agent_may_not_add_a_pack_from_outside() {
    let environment = environment();
    let folder = environment.root().join("team");
    pack(&folder);
    let mut command = environment.command(&["add", folder.to_str().unwrap(), "--yes"]);
    command.env("CLAUDECODE", "1");
    let ran = run(command, b"");
    assert!(ran.code == 1 && ran.stderr.contains("only a person may do this"), "{ran:?}");
    assert!(!environment.user_hooks().exists());
}

/// A pack that comes with the program may be added by an agent, and is only watched.
#[test]
fn what_an_agent_added_is_the_packs_also_when_it_is_promoted() {
    let environment = environment();
    let mut command = environment.command(&["add", "pack/delivery-workflow"]);
    command.env("CLAUDECODE", "1");
    assert_eq!(run(command, b"").code, 0);
    let state = || {
        let listed = environment.run(&["packs", "delivery-workflow", "--json"]).json();
        listed["installed"][0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(), "same");
    assert_eq!(environment.run(&["promote", "pre-mcp"]).code, 0);
    assert_eq!(state(), "same");
    let ran = environment.run(&["update"]);
    assert!(ran.code == 0 && ran.stdout.contains("up to date"), "{ran:?}");
    let hook = environment.user_hooks().join("second-opinion/HOOK.md");
    assert!(fs::read_to_string(hook).unwrap().contains("mode: shadow"));
}

#[test]
fn from_a_repository_by_branch_tag_and_commit() {
    let environment = environment();
    let folder = repository(&environment, "origin");
    git(&folder, &["tag", "--annotate", "--message", "x", "v1"]);
    let first = git(&folder, &["rev-parse", "HEAD"]);
    write(&folder.join("hooks/guard/HOOK.md"), GUARD.replace("Text", "Second"), 0o644);
    commit(&folder);
    git(&folder, &["branch", "next"]);
    let address = address(&folder);
    for (reference, text) in
        [("#v1", "Text"), ("#next", "Second"), ("", "Second"), (&format!("#{first}"), "Text")]
    {
        let source = format!("{address}{reference}");
        let ran = environment.run(&["add", &source, "--yes", "--json"]);
        assert_eq!(ran.code, 0, "{source}: {ran:?}");
        assert_eq!(ran.json()["source"], address.as_str());
        let added = fs::read_to_string(environment.user_hooks().join("guard/HOOK.md")).unwrap();
        assert!(added.contains(text), "{source}");
        let lock = fs::read_to_string(lock(&environment)).unwrap();
        assert_eq!(lock.contains(&format!("commit = \"{first}\"")), text == "Text", "{lock}");
        assert_eq!(environment.run(&["remove", "pack/team"]).code, 0);
    }
    refused(
        &environment,
        &["add", &format!("{address}#nope"), "--yes"],
        "couldn't find remote ref nope",
    );
    refused(&environment, &["add", "file:///nowhere/x.git", "--yes"], "git cannot fetch");
}

/// A bare repository by its path, and a folder in it; a hook that is not in a pack.
#[test]
fn from_a_folder_of_a_bare_repository() {
    let environment = environment();
    let folder = environment.root().join("work");
    fs::create_dir_all(&folder).unwrap();
    git(&folder, &["init", "--quiet"]);
    pack(&folder.join("packs/team"));
    write(&folder.join("single/HOOK.md"), GUARD.replace("name: guard", "name: single"), 0o644);
    write(&folder.join("single/scripts/run"), "#!/bin/sh\nexit 0\n", 0o755);
    commit(&folder);
    git(environment.root(), &["clone", "--quiet", "--bare", "work", "bare.git"]);
    let bare = environment.root().join("bare.git");
    let bare = bare.to_str().unwrap();
    refused(&environment, &["add", bare, "--yes"], "neither a pack.toml nor a HOOK.md");
    refused(&environment, &["add", &format!("{bare}//nope"), "--yes"], "git cannot fetch");
    assert_eq!(environment.run(&["add", &format!("{bare}//packs/team"), "--yes"]).code, 0);
    assert_eq!(environment.run(&["add", &format!("{bare}//single"), "--yes"]).code, 0);
    assert!(environment.user_hooks().join("single/scripts/run").is_file());
    let packs = environment.run(&["packs"]).stdout;
    assert!(
        packs.contains("bare.git//packs/team") && packs.contains("bare.git//single"),
        "{packs}"
    );
    assert_eq!(environment.run(&["list", "--json"]).json()["hooks"].as_array().unwrap().len(), 2);
}

/// The same content has the same digest wherever it is.
#[test]
fn a_digest_is_of_the_content_alone() {
    let environment = environment();
    let folder = environment.root().join("team");
    pack(&folder);
    let by_folder = digest_in(&environment.run(&["add", folder.to_str().unwrap()]));
    let repository = repository(&environment, "origin");
    let by_git = digest_in(&environment.run(&["add", &address(&repository)]));
    assert_eq!(by_folder, by_git);
}

#[test]
fn transports_and_options_of_programs_are_refused() {
    let environment = environment();
    let marker = environment.root().join("ran");
    let command = format!("ext::sh -c 'touch% {}'", marker.display());
    refused(&environment, &["add", &command, "--yes"], "`ext` is not one of");
    refused(&environment, &["add", "http://example.com/x", "--yes"], "`http` is not one of");
    refused(&environment, &["add", "git://example.com/x", "--yes"], "`git` is not one of");
    refused(&environment, &["add", "--yes", "--", "-uwhoami"], "starts with `-`");
    refused(&environment, &["add", "ssh://-oProxyCommand=x/y", "--yes"], "starts with `-`");
    refused(&environment, &["add", "https://me:word@example.com/x", "--yes"], "password");
    assert!(!marker.exists());
}

/// Writes a tree with any names and modes, and a commit of it.
fn commit_entries(folder: &Path, entries: &[(&str, &str, &str)]) {
    let mut tree: Vec<u8> = Vec::new();
    for (mode, object, path) in entries {
        tree.extend_from_slice(format!("{mode} {path}\0").as_bytes());
        let bytes =
            (0..40).step_by(2).map(|at| u8::from_str_radix(&object[at..at + 2], 16).unwrap());
        tree.extend(bytes);
    }
    let words = ["hash-object", "-w", "-t", "tree", "--literally", "--stdin"];
    let tree = git_with_input(folder, &words, &tree);
    let commit = git(folder, &["commit-tree", "-m", "x", &tree]);
    git(folder, &["update-ref", "refs/heads/main", &commit]);
}

/// Commits a pack with one more entry in the folder of its hook.
fn commit_with(folder: &Path, mode: &str, object: &str, name: &str) {
    let blob =
        |text: &str| git_with_input(folder, &["hash-object", "-w", "--stdin"], text.as_bytes());
    let (guard, manifest) = (blob(GUARD), blob(MANIFEST));
    let tree = |entries: &[(&str, &str, &str)]| {
        commit_entries(folder, entries);
        git(folder, &["rev-parse", "main^{tree}"])
    };
    let hook = tree(&[("100644", &guard, "HOOK.md"), (mode, object, name)]);
    let hooks = tree(&[("40000", &hook, "guard")]);
    tree(&[("40000", &hooks, "hooks"), ("100644", &manifest, "pack.toml")]);
}

#[test]
fn hostile_entries_of_a_repository_are_refused() {
    let environment = environment();
    let folder = repository(&environment, "hostile");
    let blob =
        |text: &str| git_with_input(&folder, &["hash-object", "-w", "--stdin"], text.as_bytes());
    let text = blob("x\n");
    let link = blob("/etc/passwd");
    let attributes = blob("* filter=evil\n");
    let lfs = blob("version https://git-lfs.github.com/spec/v1\noid sha256:x\nsize 1\n");
    let commit = git(&folder, &["rev-parse", "HEAD"]);
    let inner =
        git_with_input(&folder, &["mktree"], format!("100644 blob {text}\tconfig\n").as_bytes());
    let address = address(&folder);
    for (mode, object, name, why) in [
        ("120000", &link, "link", "it is a symbolic link"),
        ("160000", &commit, "module", "it is a git submodule"),
        ("40000", &inner, ".git", "a pack may not contain a `.git`"),
        ("40000", &inner, ".GIT", "a pack may not contain a `.git`"),
        ("40000", &inner, "..", "its name is not allowed"),
        ("100644", &text, "a\nb", "its name is not allowed"),
        ("100644", &text, "a\x1b[31mb", "its name is not allowed"),
        ("100644", &text, "hook.md", "it differs from `hooks/guard/HOOK.md` only in upper"),
        ("100644", &attributes, ".gitattributes", "it sets filters of git"),
        ("100644", &lfs, "data", "its content is in Git LFS"),
        ("10644", &text, "pipe", "it is a git submodule"),
    ] {
        commit_with(&folder, mode, object, name);
        let ran = refused(&environment, &["add", &address, "--yes"], why);
        assert!(ran.code == 65 && !ran.stderr.contains('\x1b'), "{name:?}: {ran:?}");
    }
    let entries = [("120000", link.as_str(), "pack.toml")];
    commit_entries(&folder, &entries);
    refused(&environment, &["add", &address, "--yes"], "it is a symbolic link");
}

#[test]
fn huge_repositories_are_refused() {
    let environment = environment();
    let folder = repository(&environment, "huge");
    let huge = folder.join("hooks/guard/huge");
    fs::File::create(&huge).unwrap().set_len(17 * 1024 * 1024).unwrap();
    commit(&folder);
    refused(&environment, &["add", &address(&folder), "--yes"], "at most 1000 files and 16 MiB");
    refused(
        &environment,
        &["add", folder.to_str().unwrap(), "--yes"],
        "at most 1000 files and 16 MiB",
    );
    fs::remove_file(huge).unwrap();
    for index in 0..1_000 {
        write(&folder.join(format!("hooks/guard/files/{index}")), "", 0o644);
    }
    commit(&folder);
    refused(&environment, &["add", &address(&folder), "--yes"], "at most 1000 files and 16 MiB");
}

/// What git would run or read of the person's machine when it checks a repository out.
#[test]
fn nothing_of_a_repository_is_run() {
    let environment = environment();
    let folder = repository(&environment, "origin");
    let marker = environment.root().join("ran");
    let touch = format!("#!/bin/sh\ntouch {}\n", marker.display());
    for hook in ["post-checkout", "post-merge", "reference-transaction", "post-index-change"] {
        write(&environment.home().join(".githooks").join(hook), &touch, 0o755);
    }
    write(&environment.home().join("touch"), &touch, 0o755);
    let touch = environment.home().join("touch").display().to_string();
    let config = format!(
        "[core]\n\thooksPath = {hooks}\n\tfsmonitor = {touch}\n\tsshCommand = {touch}\n\
         [init]\n\ttemplateDir = {hooks}\n[filter \"evil\"]\n\tsmudge = {touch}\n\
         [protocol \"ext\"]\n\tallow = always\n",
        hooks = environment.home().join(".githooks").display(),
    );
    write(&environment.home().join(".gitconfig"), config, 0o644);
    write(&folder.join(".gitattributes"), "* filter=evil\n", 0o644);
    write(&folder.join(".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh\n", 0o644);
    commit(&folder);
    let mut command = environment.command(&["add", &address(&folder), "--yes"]);
    command.env("GIT_DIR", "/nowhere").env("GIT_CONFIG_COUNT", "1");
    command.env("GIT_CONFIG_KEY_0", "uploadpack.packObjectsHook").env("GIT_CONFIG_VALUE_0", touch);
    let ran = run(command, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!marker.exists());
    assert!(environment.user_hooks().join("guard/HOOK.md").is_file());
}

#[test]
fn a_manifest_that_lies_or_cannot_be_used() {
    let environment = environment();
    let folder = environment.root().join("team");
    let source = folder.to_str().unwrap().to_owned();
    let manifest = |text: &str| write(&folder.join("pack.toml"), text, 0o644);
    pack(&folder);
    for (text, why) in [
        ("name = \"delivery-workflow\"\ndescription = \"x\"", "comes with anyhook"),
        ("name = \"../x\"\ndescription = \"x\"", "may only contain lowercase letters"),
        ("description = \"x\"", "it has no `name`"),
        ("name = \"team\"", "missing field `description`"),
        ("name = ", "pack.toml of"),
        ("name = \"team\"\ndescription = \"a\\nb\"", "on one line"),
        (
            "name = \"team\"\ndescription = \"x\"\n[[option]]\nname = \"A\"\ndefault = 1",
            "cannot be named",
        ),
    ] {
        manifest(text);
        refused(&environment, &["add", &source, "--yes"], why);
    }
    manifest(MANIFEST);
    let hook = folder.join("hooks/guard/HOOK.md");
    for (text, why) in [
        (GUARD.replace("name: guard", "name: other"), "it calls itself \"other\""),
        (GUARD.replace("trigger: before_tool", "trigger: never"), "unknown trigger"),
        ("---\n: [\n---\n".to_owned(), "the hook `guard` of the pack cannot be used"),
        (GUARD.replace("Text", "%{nope}"), "uses %{nope}, which is not an option"),
        (
            GUARD.replace("on_failure", "metadata:\n  pack: mine\non_failure"),
            "of the pack \"mine\"",
        ),
    ] {
        write(&hook, text, 0o644);
        refused(&environment, &["add", &source, "--yes"], why);
    }
    write(&hook, GUARD, 0o644);
    fs::remove_file(folder.join("hooks/guard/scripts/run")).unwrap();
    refused(
        &environment,
        &["add", &source, "--yes"],
        "the hook `guard` of the pack cannot be used",
    );
    symlink("/bin/true", folder.join("hooks/guard/scripts/run")).unwrap();
    refused(&environment, &["add", &source, "--yes"], "it is a symbolic link");
    fs::remove_dir_all(folder.join("hooks")).unwrap();
    refused(&environment, &["add", &source, "--yes"], "has no hooks");
}

#[test]
fn another_pack_of_the_same_name() {
    let environment = environment();
    for name in ["one", "two"] {
        pack(&environment.root().join(name));
    }
    let source = |name: &str| environment.root().join(name).display().to_string();
    assert_eq!(environment.run(&["add", &source("one"), "--yes"]).code, 0);
    assert_run!(environment, environment.run(&["add", &source("two"), "--yes"]), @"
    exit code: 1
    ----- stderr -----
    error: there already is a pack `team`, from `[ROOT]/one`
    hint: nothing was written; `anyhook remove pack/team` removes that one
    ");
    let ran = environment.run(&["add", &source("one"), "--yes"]);
    assert!(ran.code == 0 && ran.stdout.contains("already in place"), "{ran:?}");
    write(&environment.root().join("one/hooks/guard/HOOK.md"), GUARD.replace("Text", "New"), 0o644);
    assert_run!(environment, environment.run(&["add", &source("one"), "--yes"]), @"
    exit code: 1
    ----- stderr -----
    error: `team` was already added, with other content or other options
    hint: `anyhook update team` shows what changes
    ");
}

#[test]
fn options_are_set_and_shown() {
    let environment = environment();
    let folder = environment.root().join("team");
    pack_with_options(&folder);
    let source = folder.to_str().unwrap();
    refused(
        &environment,
        &["add", source, "--yes", "--set", "path=x"],
        "`team` has no option `path`",
    );
    refused(&environment, &["add", source, "--yes", "--set", "limit=x"], "is not a whole number");
    refused(&environment, &["add", source, "--yes", "--set", "limit"], "is not NAME=VALUE");
    let set = ["--set", "paths=[\".env\",\"it's\"]", "--set", "paths=*.pem", "--yes"];
    assert_eq!(environment.run(&[&["add", source], &set[..]].concat()).code, 0);
    let written = fs::read_to_string(environment.user_hooks().join("paths/HOOK.md")).unwrap();
    assert!(written.contains("paths: ['.env', 'it''s', '*.pem']\n  limit: 3\n"), "{written}");
    assert_run!(environment, environment.run(&["packs", "team"]), @"
    exit code: 0
    ----- stdout -----
    team
      Guards of our team
      installed at the user level, ~/.config/agents/hooks
        from [ROOT]/team
        sha256:[HASH]  same

    option  default   value                       what it is
    paths   ['.env']  ['.env', 'it''s', '*.pem']  What is protected
    limit   3         3

    hook   trigger      what it does
    paths  before_tool  Protects
    ");
    assert_eq!(
        environment.run(&["packs", "team", "--json"]).json()["installed"][0]["state"],
        "same"
    );
    assert_eq!(environment.run(&["check"]).code, 0);
    let ran = environment.run(&["update", "team", "--set", "limit=5", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let written = fs::read_to_string(environment.user_hooks().join("paths/HOOK.md")).unwrap();
    assert!(written.contains("paths: ['.env', 'it''s', '*.pem']\n  limit: 5\n"), "{written}");
}

#[test]
fn what_is_there_is_listed_and_removed() {
    let environment = environment();
    let folder = repository(&environment, "origin");
    let source = format!("{}#main", address(&folder));
    assert_eq!(environment.run(&["add", &source, "--yes", "--project"]).code, 0);
    let lock = environment.project_hooks().parent().unwrap().join("packs.lock");
    assert!(lock.is_file());
    let listed = || environment.run(&["packs", "team", "--json"]).json()["installed"][0].clone();
    assert_eq!(
        (listed()["state"].as_str(), listed()["ref"].as_str()),
        (Some("same"), Some("main"))
    );
    let hook = environment.project_hooks().join("guard/HOOK.md");
    write(&hook, GUARD.replace("Text", "Mine"), 0o644);
    assert_eq!(listed()["state"], "changed");
    let asked = environment.run(&["packs", "team", "--updates", "--json"]).json();
    assert_eq!(asked["installed"][0]["update_available"], false);
    fs::remove_dir_all(hook.parent().unwrap()).unwrap();
    assert_eq!(listed()["state"], "missing");
    assert_eq!(environment.run(&["add", &source, "--yes", "--project"]).code, 0, "restored");
    assert_eq!(listed()["state"], "same");
    let ran = environment.run(&["remove", "pack/team"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains(&format!("anyhook add {source}@sha256:")), "{ran:?}");
    assert!(ran.stdout.contains("--project"), "{ran:?}");
    assert!(!hook.exists() && !lock.exists());
    assert_eq!(environment.run(&["remove", "pack/team"]).code, 65);
}

/// A project's `packs.lock` is whatever its repository contains.
#[test]
fn a_hostile_lock_file_leads_nowhere() {
    let environment = environment();
    let folder = environment.root().join("team");
    pack(&folder);
    assert_eq!(environment.run(&["add", folder.to_str().unwrap(), "--yes", "--project"]).code, 0);
    let lock = environment.project_hooks().parent().unwrap().join("packs.lock");
    let good = fs::read_to_string(&lock).unwrap();
    let victim = environment.project().join("precious/HOOK.md");
    write(&victim, GUARD, 0o644);
    for (bad, why) in [
        (good.replace("name = \"guard\"", "name = \"../../precious\""), "may only contain"),
        (good.replace(folder.to_str().unwrap(), "ext::sh -c x"), "`ext` is not one of"),
        (good.replace("version = 1", "version = 2"), "newer"),
        ("version = ".to_owned(), "packs.lock"),
    ] {
        write(&lock, &bad, 0o644);
        for words in [&["remove", "pack/team"][..], &["update", "--yes"], &["packs"]] {
            let ran = environment.run(words);
            assert!(ran.code == 65 && ran.stderr.contains(why), "{words:?}: {why}: {ran:?}");
        }
    }
    assert!(victim.is_file());
    fs::remove_file(&lock).unwrap();
    symlink("/etc/passwd", &lock).unwrap();
    let ran = environment.run(&["update"]);
    assert!(ran.code == 65 && ran.stderr.contains("not a regular file"), "{ran:?}");
}

/// With one thing in the way, nothing at all is written.
#[test]
fn something_is_in_the_way() {
    let environment = environment();
    let folder = environment.root().join("team");
    pack(&folder);
    write(&folder.join("hooks/other/HOOK.md"), GUARD.replace("name: guard", "name: other"), 0o644);
    write(&folder.join("hooks/other/scripts/run"), "#!/bin/sh\n", 0o755);
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    let ran = environment.run(&["add", folder.to_str().unwrap(), "--yes"]);
    assert!(ran.code == 1 && ran.stderr.contains("guard (a different hook)"), "{ran:?}");
    assert!(!lock(&environment).exists() && !environment.user_hooks().join("other").exists());
    fs::remove_dir_all(environment.user_hooks()).unwrap();
    fs::create_dir_all(lock(&environment)).unwrap();
    let ran = environment.run(&["add", folder.to_str().unwrap(), "--yes"]);
    assert!(ran.code == 65 && ran.stderr.contains("packs.lock"), "{ran:?}");
    assert!(!environment.user_hooks().exists());
}
