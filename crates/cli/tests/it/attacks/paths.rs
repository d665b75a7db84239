//! To name a protected file by another path than the guard knows.

use std::fs;
use std::os::unix::fs::symlink;

use super::attack_fixture::{Host, NAME, World, denying};
use super::{Attempt, Outcome, Seen};

/// How a guard names the file `protected/secret.txt` of the project.
const PATTERNS: [(&str, &str); 2] = [
    ("relative to the project", "^protected/secret\\.txt$"),
    ("absolute", "/project/protected/secret\\.txt$"),
];

/// Other names of that file; `[P]` is the project.
const NAMES: [(&str, &str); 17] = [
    ("The path ends with a slash", "[P]/protected/secret.txt/"),
    ("The path ends with slash and dot", "[P]/protected/secret.txt/."),
    ("The path has two slashes", "[P]/protected//secret.txt"),
    ("The path has many slashes", "[P]////protected///secret.txt"),
    ("The path has a dot as a folder", "[P]/protected/./secret.txt"),
    ("The path goes up and down again", "[P]/protected/../protected/secret.txt"),
    ("The path goes through a folder that is not there", "[P]/none/../protected/secret.txt"),
    ("The path goes out of the project and back", "[P]/../project/protected/secret.txt"),
    ("The path is relative", "protected/secret.txt"),
    ("The path is relative and begins with a dot", "./protected/secret.txt"),
    ("The path is relative and goes up first", "../project/protected/secret.txt"),
    ("The path is relative and ends with a slash", "protected/secret.txt/"),
    ("The file is reached by a link to it", "[P]/link.txt"),
    ("The file is reached by a link to its folder", "[P]/folder/secret.txt"),
    ("The file is reached by a link to a link", "[P]/link-to-link.txt"),
    ("The file is reached by a link to the project", "[P]/../other/protected/secret.txt"),
    ("A link leads to a file that is not there yet", "[P]/to-come.txt"),
];

/// Calls of tools that are in no table, or that have no canonical name: `[P]` is the project.
const CALLS: [(Host, &str, &str); 12] = [
    (Host::Claude, "mcp__fs__write_file", r#"{"path": "[P]//protected/secret.txt"}"#),
    (
        Host::Claude,
        "mcp__fs__edit",
        r#"{"edits": [{"file_path": "[P]/x/../protected/secret.txt"}]}"#,
    ),
    (Host::Claude, "mcp__fs__open", r#"{"uri": "file://[P]/link.txt"}"#),
    (Host::Claude, "LSP", r#"{"operation": "hover", "filePath": "[P]/folder/secret.txt"}"#),
    (Host::Gemini, "read_many_files", r#"{"include": ["open.txt", "./protected/secret.txt"]}"#),
    (Host::Gemini, "list_directory", r#"{"dir_path": "protected/./secret.txt"}"#),
    (Host::Gemini, "something_new", r#"{"absolute_path": "[P]/./protected/secret.txt"}"#),
    (Host::Codex, "mcp__fs__move", r#"{"source": "link.txt", "destination": "open.txt"}"#),
    (Host::Codex, "something_new", r#"{"files": [{"name": "x", "path": "link-to-link.txt"}]}"#),
    (Host::OpenCode, "something_new", r#"{"paths": ["open.txt", "folder//secret.txt"]}"#),
    (Host::Open, "Frobnicate", r#"{"notebook_path": "./protected//secret.txt"}"#),
    (Host::Open, "Frobnicate", r#"{"request": {"targetFile": "../project/protected/secret.txt"}}"#),
];

fn world(pattern: &str) -> World {
    world_of("tool: WriteFile|EditFile\n  ", pattern)
}

fn world_of(tool: &str, pattern: &str) -> World {
    let matter =
        format!("trigger: before_tool\nmatcher:\n  {tool}pattern: {pattern}\non_failure: block");
    let world = World::with(&matter, &denying());
    let project = world.project();
    fs::create_dir(project.join("protected")).unwrap();
    fs::write(project.join("protected/secret.txt"), "a\n").unwrap();
    fs::write(project.join("open.txt"), "a\n").unwrap();
    symlink("protected/secret.txt", project.join("link.txt")).unwrap();
    symlink("link.txt", project.join("link-to-link.txt")).unwrap();
    symlink("protected", project.join("folder")).unwrap();
    symlink(&project, project.join("../other")).unwrap();
    world
}

fn attempt(host: Host, pattern: &str, name: &str, edits: bool) -> Seen {
    let world = world(pattern);
    let project = world.project();
    if name.contains("to-come") {
        fs::remove_file(project.join("protected/secret.txt")).unwrap();
        symlink("protected/secret.txt", project.join("to-come.txt")).unwrap();
    }
    let call = |path: &str| {
        if edits { host.edit(path, &project) } else { host.write(path, &project) }
    };
    world.lets_through(host, &call(&project.join("open.txt").to_string_lossy()))?;
    let evil = call(&name.replace("[P]", &project.to_string_lossy()));
    world.send(host, evil.to_string()).verdict()
}

/// A guard of a file that names no tool.
fn by_tool(host: Host, tool: &str, input: &str) -> Seen {
    let world = world_of("", PATTERNS[0].1);
    let project = world.project();
    world.lets_through(host, &host.write("open.txt", &project))?;
    let input = input.replace("[P]", &project.to_string_lossy());
    let input = serde_json::from_str(&input).unwrap();
    world.send(host, host.call(tool, &input, &project).to_string()).verdict()
}

/// A guard of a file by its name, and another name for it.
fn twin(host: Host, pattern: &str, edits: bool) -> Seen {
    let world = world(pattern);
    let project = world.project();
    fs::hard_link(project.join("protected/secret.txt"), project.join("twin.txt")).unwrap();
    let call = |name: &str| {
        let path = project.join(name).to_string_lossy().into_owned();
        if edits { host.edit(&path, &project) } else { host.write(&path, &project) }
    };
    world.lets_through(host, &call("open.txt"))?;
    world.send(host, call("twin.txt").to_string()).verdict()
}

pub fn list() -> Vec<Attempt> {
    let mut list = Vec::new();
    for host in Host::ALL {
        for (number, (what, name)) in NAMES.into_iter().enumerate() {
            // Both kinds of guards and both tools, each with every name on some agent.
            let (kind, pattern) = PATTERNS[(number + host as usize) % 2];
            let edits = (number / 2 + host as usize) % 2 == 1;
            let verb = if edits { "edit" } else { "write" };
            let how = format!(
                "{verb} `{}` as `{}`; the guard's pattern is {kind}",
                name.replace("[P]", "PROJECT"),
                host.name()
            );
            let run = move || attempt(host, pattern, name, edits);
            list.push(Attempt::new(what, how, Outcome::Denied, run));
        }
    }
    for host in Host::ALL {
        let how = format!("`ln protected/secret.txt twin.txt`, then edit it, as `{}`", host.name());
        list.push(Attempt::new(
            "The file is edited by a hard link, and the guard looks at `links`",
            how,
            Outcome::Denied,
            move || hard_link(host),
        ));
    }
    for host in Host::ALL {
        let (kind, pattern) = PATTERNS[host as usize % 2];
        let edits = (host as usize).is_multiple_of(2);
        let verb = if edits { "edit" } else { "write" };
        let how = format!(
            "`ln protected/secret.txt twin.txt`, then {verb} it, as `{}`; the guard's pattern is \
             {kind}",
            host.name()
        );
        let run = move || twin(host, pattern, edits);
        list.push(Attempt::new("The file is reached by a hard link", how, Outcome::Denied, run));
    }
    for (host, tool, input) in CALLS {
        let how = format!(
            "`{tool}` with `{}`, as `{}`; the guard names no tool",
            input.replace("[P]", "PROJECT"),
            host.name()
        );
        let what = "The file is named by a tool that is in no table, or has no canonical name";
        let run = move || by_tool(host, tool, input);
        list.push(Attempt::new(what, how, Outcome::Denied, run));
    }
    list
}

/// A hard link out of the project has no name to find; a guard is told that the file has others.
fn hard_link(host: Host) -> Seen {
    let script = format!("grep -q '\"links\": [2-9]' && {{ {}; }}; exit 0", denying());
    let world = World::with(
        "trigger: before_tool\nmatcher:\n  tool: WriteFile|EditFile\non_failure: block",
        &script,
    );
    let project = world.project();
    fs::write(project.join("open.txt"), "a\n").unwrap();
    fs::create_dir(project.join("protected")).unwrap();
    fs::write(project.join("protected/secret.txt"), "a\n").unwrap();
    fs::hard_link(project.join("protected/secret.txt"), project.join("twin.txt")).unwrap();
    let call = |name: &str| {
        let path = project.join(name);
        world.send(host, host.edit(&path.to_string_lossy(), &project).to_string())
    };
    let harmless = call("open.txt");
    if !harmless.passes() {
        return Err(format!("a harmless call does not pass to {NAME}: {harmless:?}"));
    }
    call("twin.txt").verdict()
}
