//! Patterns for files: the narrowest that agree with enough examples and contradict none.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_engine::path_forms;
use anyhook_model::Event;
use anyhook_model::hook::{FileCondition, MatcherDefinition};

use super::subject::{self, FileAccess};

/// Returns the path of the file that a tool names, as a pattern for exactly this file: `./a` in the
/// project, `~/.ssh/id` in the home folder, absolute elsewhere. `None` if it cannot be a pattern.
pub fn pattern_of(event: &Event) -> Option<String> {
    let path = subject::file(event.tool.as_ref()?)?;
    path_forms::resolve(event);
    let forms = event.tool.as_ref()?.forms.get()?;
    let form = forms.files.iter().find(|form| form.given == path)?;
    let home = event.home.as_ref().map(|home| home.to_string_lossy().into_owned());
    let in_home = || {
        let rest = form.path.strip_prefix(home?.as_str())?.strip_prefix('/')?;
        Some(format!("~/{rest}"))
    };
    let pattern = match &form.relative {
        Some(relative) => format!("./{relative}"),
        None => in_home().unwrap_or_else(|| form.path.clone()),
    };
    let is_plain = !pattern.contains(['*', '?', '[', ']', '{', '}', '!', '\\', '\n']);
    is_plain.then_some(pattern)
}

/// Returns the condition on files that are accessed so.
pub fn condition(access: FileAccess, patterns: Vec<String>) -> MatcherDefinition {
    let mut files = FileCondition::default();
    match access {
        FileAccess::Read => files.read = patterns,
        FileAccess::Write => files.write = patterns,
        FileAccess::Delete => files.delete = patterns,
        FileAccess::Move => files.r#move = patterns,
    }
    MatcherDefinition { files: Some(files), ..MatcherDefinition::default() }
}

/// Sorts examples by the pattern that covers them. `paths` are exact patterns, by the index of their
/// example. A pattern for several files needs `enough` different ones, and `is_contradicted` must
/// not say that it matches something that was fine.
pub fn cluster(
    paths: &[(usize, String)],
    enough: usize,
    is_contradicted: &dyn Fn(&str) -> bool,
) -> Vec<(String, Vec<usize>)> {
    let mut left: BTreeMap<usize, &str> =
        paths.iter().map(|(index, path)| (*index, path.as_str())).collect();
    let mut found = Vec::new();
    for wider in [base_name, folder, extension] {
        let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for path in left.values() {
            if let Some(pattern) = wider(path) {
                groups.entry(pattern).or_default().insert(path);
            }
        }
        for (pattern, files) in groups {
            if files.len() < enough || is_contradicted(&pattern) {
                continue;
            }
            let is_meant = |path: &str| files.contains(path);
            let covered: Vec<usize> =
                left.iter().filter(|(_, path)| is_meant(path)).map(|(index, _)| *index).collect();
            left.retain(|_, path| !is_meant(path));
            found.push((pattern, covered));
        }
    }
    let mut exact: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, path) in left {
        exact.entry(path).or_default().push(index);
    }
    found.extend(exact.into_iter().map(|(path, indexes)| (path.to_owned(), indexes)));
    found
}

fn base_name(path: &str) -> Option<String> {
    path.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn folder(path: &str) -> Option<String> {
    let (folder, _) = path.rsplit_once('/')?;
    let is_narrow = !matches!(folder, "" | "." | "~");
    is_narrow.then(|| format!("{folder}/**"))
}

fn extension(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| format!("*.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clustered(paths: &[&str], fine: &[&str]) -> Vec<(String, Vec<usize>)> {
        let paths: Vec<(usize, String)> =
            paths.iter().enumerate().map(|(index, path)| (index, (*path).to_owned())).collect();
        cluster(&paths, 3, &|pattern| fine.contains(&pattern))
    }

    #[test]
    fn a_pattern_needs_enough_files_and_no_contradiction() {
        let same_name = ["./a/.env", "./b/.env", "./.env"];
        assert_eq!(clustered(&same_name, &[]), [(".env".to_owned(), vec![0, 1, 2])]);
        let exact = clustered(&same_name, &[".env"]);
        assert_eq!(exact.len(), 3, "{exact:?}");
        let same_folder = ["./ci/a.yml", "./ci/b.yml", "./ci/c.toml"];
        assert_eq!(clustered(&same_folder, &[]), [("./ci/**".to_owned(), vec![0, 1, 2])]);
        let same_extension = ["./a/x.lock", "./b/y.lock", "./z.lock"];
        assert_eq!(clustered(&same_extension, &[]), [("*.lock".to_owned(), vec![0, 1, 2])]);
        assert_eq!(clustered(&["./a", "./a"], &[]), [("./a".to_owned(), vec![0, 1])]);
    }
}
