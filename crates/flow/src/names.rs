//! Display names of agents and pipelines, and how they are resolved from user input.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::id_prefix::PrefixMatch;

/// Maximum length of a name.
pub const LONGEST: usize = 60;
/// Maximum length of what a variable adds to a pipeline's name.
const PART: usize = 24;
/// Variables that best describe what a pipeline is for, the best first.
const TELLING: [&str; 6] = ["task", "title", "issue", "branch", "feature", "name"];

/// Something that can be named on a command line.
#[derive(Clone, Debug)]
pub struct NamedItem<'all> {
    /// Its id.
    pub id: &'all str,
    /// Its display name.
    pub name: Option<String>,
    /// What else it can be found by.
    pub also: Option<&'all str>,
    /// Whether it is still alive.
    pub lives: bool,
}

/// Why nothing was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Nothing goes by that name.
    Nothing,
    /// Several match: these.
    Several(Vec<String>),
}

/// Finds the id that a person means: by id or name, or by a prefix of either.
pub fn find(text: &str, all: &[NamedItem<'_>]) -> Result<String, NameError> {
    if text.is_empty() {
        return Err(NameError::Nothing);
    }
    if let Some(known) = all.iter().find(|known| known.id == text) {
        return Ok(known.id.to_owned());
    }
    let named = || all.iter().filter(|known| known.name.as_deref() == Some(text));
    let begins = |known: &&NamedItem<'_>| {
        let each = [Some(known.id), known.name.as_deref(), known.also];
        each.into_iter().flatten().any(|name| name.starts_with(text))
    };
    // A name becomes free for others when its holder has ended.
    let living: PrefixMatch<_> = named().filter(|known| known.lives).collect();
    let found =
        living.or_else(|| named().collect()).or_else(|| all.iter().filter(begins).collect());
    match found {
        PrefixMatch::Nothing => Err(NameError::Nothing),
        PrefixMatch::One(known) => Ok(known.id.to_owned()),
        PrefixMatch::Several(all) => Err(NameError::Several(all.into_iter().map(shown).collect())),
    }
}

fn shown(known: &NamedItem<'_>) -> String {
    match &known.name {
        Some(name) => format!("{name} ({})", known.id),
        None => known.id.to_owned(),
    }
}

/// Checks a name that a person chose; returns what is wrong with it.
pub fn check(name: &str) -> Result<(), String> {
    let is_fine = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let begins_well = name.chars().next().is_some_and(char::is_alphanumeric);
    if begins_well && name.chars().all(is_fine) && name.chars().count() <= LONGEST {
        return Ok(());
    }
    Err(format!(
        "`{name}` is not a valid name: use letters, digits, `-`, `_` and `.`, start with a letter \
         or digit, and use at most {LONGEST} characters"
    ))
}

/// Converts a text to a part of a name.
pub fn slug(text: &str, longest: usize) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        let is_fine = letter.is_alphanumeric() || matches!(letter, '_' | '.');
        if is_fine {
            slug.extend(letter.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.chars().count() >= longest {
            break;
        }
    }
    slug.trim_matches(['-', '.', '_']).to_owned()
}

/// Returns the name, with a number appended if it is already in use.
pub fn unique<'all>(base: String, taken: impl Iterator<Item = &'all str>) -> String {
    let taken: BTreeSet<&str> = taken.filter(|name| name.starts_with(&base)).collect();
    if !taken.contains(base.as_str()) {
        return base;
    }
    let numbered = (2_u64..).map(|number| format!("{base}-{number}"));
    let free = numbered.into_iter().find(|name| !taken.contains(name.as_str()));
    free.unwrap_or(base)
}

/// Returns the default name of an agent: its host and the folder it works in.
pub fn of_agent(host: &str, folder: &str) -> String {
    joined(host, &slug(last_part(folder), PART))
}

/// Returns the default name of a pipeline run: the pipeline and what it is for.
pub fn of_run(pipeline: &str, variables: &BTreeMap<String, String>, project: &str) -> String {
    let only = || variables.values().next().filter(|_| variables.len() == 1);
    let told = TELLING.iter().find_map(|name| variables.get(*name)).or_else(only);
    let told = told.map(|value| slug(value, PART)).filter(|slug| !slug.is_empty());
    joined(pipeline, &told.unwrap_or_else(|| slug(last_part(project), PART)))
}

fn joined(one: &str, other: &str) -> String {
    let one = slug(one, PART);
    match (one.as_str(), other) {
        ("", "") => "unnamed".to_owned(),
        ("", other) => other.to_owned(),
        (one, "") => one.to_owned(),
        (one, other) => format!("{one}-{other}"),
    }
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known<'id>(id: &'id str, name: &str, lives: bool) -> NamedItem<'id> {
        NamedItem { id, name: Some(name.to_owned()), also: None, lives }
    }

    #[test]
    fn by_id_by_name_or_by_the_beginning_of_either() {
        let all = [
            known("x1", "shop", false),
            known("x2", "shop", true),
            known("y1", "shop-2", true),
            known("z1", "bank", false),
        ];
        let found = |text: &str| find(text, &all);
        assert_eq!(found("x1"), Ok("x1".to_owned()));
        assert_eq!(found("shop"), Ok("x2".to_owned()), "one that lives comes first");
        assert_eq!(found("ba"), Ok("z1".to_owned()));
        assert_eq!(found("y"), Ok("y1".to_owned()));
        assert_eq!(found("nobody"), Err(NameError::Nothing));
        assert_eq!(found(""), Err(NameError::Nothing));
        let several = ["shop (x1)", "shop (x2)", "shop-2 (y1)"].map(str::to_owned).to_vec();
        assert_eq!(found("sho"), Err(NameError::Several(several)));
    }

    #[test]
    fn names_that_nobody_chose() {
        assert_eq!(of_agent("claude-code", "/home/me/My Shop/"), "claude-code-my-shop");
        assert_eq!(of_agent("codex", "/"), "codex");
        let of = |variables: &[(&str, &str)]| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let variables: BTreeMap<String, String> = variables.iter().map(owned).collect();
            of_run("build", &variables, "/home/me/shop")
        };
        assert_eq!(of(&[]), "build-shop");
        assert_eq!(of(&[("version", "1.2")]), "build-1.2");
        assert_eq!(of(&[("a", "x"), ("b", "y")]), "build-shop");
        assert_eq!(of(&[("a", "x"), ("task", "Fix the parser!")]), "build-fix-the-parser");
        assert_eq!(unique("a".to_owned(), ["a", "a-2", "ab"].into_iter()), "a-3");
    }

    #[test]
    fn names_that_cannot_be() {
        for name in ["", "-x", "a b", "a/b", "a\n", &"x".repeat(LONGEST + 1)] {
            assert!(check(name).is_err(), "{name}");
        }
        for name in ["a", "greet-ann.review.2", "Prüfer_1"] {
            assert!(check(name).is_ok(), "{name}");
        }
    }
}
