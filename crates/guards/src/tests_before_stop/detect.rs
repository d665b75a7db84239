//! Which command runs a project's tests, as far as its files tell.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// What `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";

/// Returns the command that runs a project's tests.
pub fn test_command(project: &Path) -> Option<String> {
    let has = |name: &str| project.join(name).is_file();
    let text = |name: &str| fs::read_to_string(project.join(name)).unwrap_or_default();
    let command = if has("Cargo.toml") {
        "cargo test"
    } else if has_test_script(&text("package.json")) {
        match () {
            () if has("pnpm-lock.yaml") => "pnpm test",
            () if has("yarn.lock") => "yarn test",
            () if has("bun.lock") || has("bun.lockb") => "bun run test",
            () => "npm test",
        }
    } else if has("deno.json") || has("deno.jsonc") {
        "deno test"
    } else if has("go.mod") {
        "go test ./..."
    } else if is_for_pytest(project, &text("pyproject.toml")) {
        if has("uv.lock") { "uv run pytest -q" } else { "python3 -m pytest -q" }
    } else if has("pom.xml") {
        "mvn -q test"
    } else if has("gradlew") {
        "./gradlew test"
    } else if has("mix.exs") {
        "mix test"
    } else if has_target(&text("justfile")) {
        "just test"
    } else if has_target(&text("Makefile")) {
        "make test"
    } else {
        return None;
    };
    Some(command.to_owned())
}

fn has_test_script(package: &str) -> bool {
    let package: Value = serde_json::from_str(package).unwrap_or_default();
    let script = package.pointer("/scripts/test").and_then(Value::as_str);
    script.is_some_and(|script| !script.contains(NO_TESTS))
}

fn is_for_pytest(project: &Path, settings: &str) -> bool {
    ["pytest.ini", "conftest.py", "tests/conftest.py"]
        .iter()
        .any(|name| project.join(name).is_file())
        || settings.contains("pytest")
}

fn has_target(file: &str) -> bool {
    file.lines().any(|line| line.starts_with("test:") && !line.starts_with("test:="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_that_of_the_project() {
        for (files, expected) in [
            (&[("Cargo.toml", ""), ("Makefile", "test:\n")][..], Some("cargo test")),
            (&[("package.json", r#"{"scripts": {"test": "jest"}}"#)], Some("npm test")),
            (
                &[("package.json", r#"{"scripts": {"test": "jest"}}"#), ("pnpm-lock.yaml", "")],
                Some("pnpm test"),
            ),
            (
                &[(
                    "package.json",
                    r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#,
                )],
                None,
            ),
            (&[("package.json", "{")], None),
            (&[("pyproject.toml", "[tool.pytest.ini_options]\n")], Some("python3 -m pytest -q")),
            (&[("pyproject.toml", "[project]\n")], None),
            (&[("go.mod", "module x\n")], Some("go test ./...")),
            (&[("Makefile", "all:\n\ntest: all\n\t./run\n")], Some("make test")),
            (&[("Makefile", "test := x\nall:\n")], None),
            (&[], None),
        ] {
            let project = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::write(project.path().join(name), text).unwrap();
            }
            assert_eq!(test_command(project.path()).as_deref(), expected, "{files:?}");
        }
    }
}
