//! To name a protected file by another path than the guard knows.

use std::fs;
use std::os::unix::fs::symlink;

use super::world::{Host, NAME, World, denying};
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

fn world(pattern: &str) -> World {
    let matter = format!(
        "trigger: before_tool\nmatcher:\n  tool: WriteFile|EditFile\n  pattern: {pattern}\n\
         on_failure: block"
    );
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
        let payload = if edits { host.edit(path, &project) } else { host.write(path, &project) };
        world.send(host, payload.to_string())
    };
    let harmless = call(&project.join("open.txt").to_string_lossy());
    if !harmless.passes() {
        return Err(format!("a harmless call does not pass: {harmless:?}"));
    }
    call(&name.replace("[P]", &project.to_string_lossy())).verdict()
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
    list
}

/// A hard link has no name to find; a guard is told that the file has others.
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
