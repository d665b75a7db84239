//! What a project is written in, and which of its tools the guards would use: the tests, formatters
//! and linters.

use std::fs;
use std::path::Path;

use crate::file_tools::FileTool;
use crate::format_on_write::FORMATTERS;
use crate::lint_on_write::LINTERS;
use crate::tests_before_stop::test_command;

/// A language, the files at the top of a project that show it, and the extensions of its files.
struct Language {
    name: &'static str,
    files: &'static [&'static str],
    extensions: &'static [&'static str],
}

const LANGUAGES: [Language; 11] = [
    Language { name: "Rust", files: &["Cargo.toml"], extensions: &["rs"] },
    Language {
        name: "TypeScript",
        files: &["tsconfig.json"],
        extensions: &["ts", "tsx", "mts", "cts"],
    },
    Language {
        name: "JavaScript",
        files: &["package.json", "deno.json", "deno.jsonc"],
        extensions: &["js", "jsx", "mjs", "cjs"],
    },
    Language {
        name: "Python",
        files: &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"],
        extensions: &["py", "pyi"],
    },
    Language { name: "Go", files: &["go.mod"], extensions: &["go"] },
    Language {
        name: "Java or Kotlin",
        files: &["pom.xml", "build.gradle", "build.gradle.kts", "gradlew"],
        extensions: &["java", "kt"],
    },
    Language { name: "Ruby", files: &["Gemfile"], extensions: &["rb"] },
    Language { name: "PHP", files: &["composer.json"], extensions: &["php"] },
    Language { name: "Elixir", files: &["mix.exs"], extensions: &["ex", "exs"] },
    Language { name: "Zig", files: &["build.zig"], extensions: &["zig"] },
    Language { name: "Terraform", files: &["main.tf"], extensions: &["tf", "tfvars"] },
];

/// What is known about a project from the files at its top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectTools {
    /// Its languages.
    pub languages: Vec<&'static str>,
    /// The command that runs its tests.
    pub tests: Option<String>,
    /// The formatters that are there.
    pub formatters: Vec<&'static str>,
    /// The linters that are there.
    pub linters: Vec<&'static str>,
}

impl ProjectTools {
    /// Looks at a project; `has_program` says whether a program can be found.
    pub fn find(project: &Path, has_program: &dyn Fn(&str) -> bool) -> Self {
        let has = |name: &&str| project.join(name).is_file();
        let languages: Vec<&Language> =
            LANGUAGES.iter().filter(|language| language.files.iter().any(has)).collect();
        let extensions: Vec<&str> =
            languages.iter().flat_map(|language| language.extensions).copied().collect();
        let here = |tools: &[FileTool]| programs(tools, &extensions, project, has_program);
        Self {
            languages: languages.iter().map(|language| language.name).collect(),
            tests: test_command(project),
            formatters: here(&FORMATTERS),
            linters: here(&LINTERS),
        }
    }
}

/// Returns the programs that would be used for files with these extensions, and are there.
fn programs(
    tools: &[FileTool],
    extensions: &[&str],
    project: &Path,
    has_program: &dyn Fn(&str) -> bool,
) -> Vec<&'static str> {
    let mut found = Vec::new();
    for tool in tools {
        let is_for = tool.extensions.iter().any(|extension| extensions.contains(extension));
        let is_said = tool.is_marked_in(project);
        let is_wanted = if tool.markers.is_empty() { is_for } else { is_said };
        let program = tool.program();
        let local = project.join("node_modules/.bin").join(program);
        let is_there = || has_program(program) || fs::metadata(&local).is_ok();
        if is_wanted && is_there() && !found.contains(&program) {
            found.push(program);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(files: &[(&str, &str)], programs: &[&str]) -> ProjectTools {
        let project = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = project.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        ProjectTools::find(project.path(), &|name| programs.contains(&name))
    }

    #[test]
    fn the_tools_are_those_that_the_guards_would_use() {
        let rust = look(&[("Cargo.toml", "")], &["rustfmt", "gofmt", "shellcheck"]);
        assert_eq!(rust.languages, ["Rust"]);
        assert_eq!(rust.tests.as_deref(), Some("cargo test"));
        assert_eq!((rust.formatters, rust.linters), (vec!["rustfmt"], vec![]));
        let python = [("pyproject.toml", "[tool.ruff]\n[tool.pytest.ini_options]\n")];
        let python = look(&python, &["ruff", "black", "python3"]);
        assert_eq!(python.languages, ["Python"]);
        assert_eq!(python.tests.as_deref(), Some("python3 -m pytest -q"));
        assert_eq!((python.formatters, python.linters), (vec!["ruff"], vec!["ruff"]));
    }

    #[test]
    fn a_tool_of_the_project_itself_counts() {
        let files =
            [("package.json", "{}"), (".prettierrc", ""), ("node_modules/.bin/prettier", "")];
        let found = look(&files, &[]);
        assert_eq!((found.languages, found.tests), (vec!["JavaScript"], None));
        assert_eq!(found.formatters, ["prettier"]);
        assert_eq!(look(&files[..2], &[]).formatters, Vec::<&str>::new());
        assert_eq!(look(&files[..1], &["prettier"]).formatters, Vec::<&str>::new());
    }

    #[test]
    fn an_empty_folder_is_nothing() {
        assert_eq!(look(&[], &["rustfmt", "ruff"]), ProjectTools::default());
    }
}
