//! Patterns for names, and patterns for files.

use fast_glob::glob_match;

/// Returns whether a text matches a pattern in which `*` stands for any letters and `?` for one.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut place) = (0, 0);
    // Where to go on if the letters after the last star do not match.
    let mut star: Option<(usize, usize)> = None;
    while place < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, place));
                at += 1;
            }
            Some(letter) if *letter == text[place] || *letter == b'?' => {
                at += 1;
                place += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    (at, place) = (after, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

/// Returns whether a text matches one of several patterns.
pub fn matches_any(patterns: &[String], text: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, text))
}

/// A pattern for files, as in a `.gitignore`.
#[derive(Clone, Debug)]
pub struct FilePattern {
    base: PatternBase,
    /// Below its base.
    pattern: String,
    /// The same, at any depth if it has no base.
    glob: String,
}

/// What a pattern is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternBase {
    /// The root of the file system.
    Root,
    /// The person's home folder.
    Home,
    /// The project.
    Project,
    /// Any folder, in the project or not.
    Anywhere,
}

/// A path in the forms that a pattern may match.
#[derive(Clone, Copy, Debug)]
pub struct PathForms<'path> {
    /// Absolute, without `.` and `..`.
    pub absolute: &'path str,
    /// Relative to the project, if inside it.
    pub relative: Option<&'path str>,
    /// Relative to the home folder, if inside it.
    pub in_home: Option<&'path str>,
}

impl FilePattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Self {
        let (base, pattern) = match (text.strip_prefix('/'), text.strip_prefix("~/")) {
            (Some(rest), _) => (PatternBase::Root, rest),
            (_, Some(rest)) => (PatternBase::Home, rest),
            _ if text == "~" => (PatternBase::Home, "."),
            _ => {
                let rest = text.strip_prefix("./").unwrap_or(text);
                let inner = rest.trim_end_matches('/');
                let is_anywhere = rest.starts_with("**/") || !inner.contains('/');
                let base = if is_anywhere && !text.starts_with("./") {
                    PatternBase::Anywhere
                } else {
                    PatternBase::Project
                };
                (base, rest)
            }
        };
        let pattern = pattern.trim_end_matches('/');
        // What is in a folder that matches, matches too.
        let pattern = pattern.strip_suffix("/**").unwrap_or(pattern).to_owned();
        let is_shallow = base == PatternBase::Anywhere && !pattern.starts_with("**/");
        let glob = if is_shallow { format!("**/{pattern}") } else { pattern.clone() };
        Self { base, pattern, glob }
    }

    /// Returns whether a file, or a folder that it is in, matches.
    pub fn matches(&self, path: &PathForms<'_>) -> bool {
        let text = match self.base {
            PatternBase::Root | PatternBase::Anywhere => {
                Some(path.absolute.trim_start_matches('/'))
            }
            PatternBase::Home => path.in_home,
            PatternBase::Project => path.relative,
        };
        text.is_some_and(|text| self.matches_text(text))
    }

    fn matches_text(&self, text: &str) -> bool {
        glob_match(&self.glob, text)
            || text.match_indices('/').any(|(end, _)| glob_match(&self.glob, &text[..end]))
    }

    /// Returns whether a path with wildcards, as in a command, may stand for what matches: only told
    /// for a pattern without wildcards of its own.
    pub fn may_be(&self, glob: &PathForms<'_>) -> bool {
        if self.pattern.contains(['*', '?', '[', '{', '\\']) {
            return false;
        }
        let (folder, name) = self.pattern.rsplit_once('/').unwrap_or(("", &self.pattern));
        let Some((parent, wanted)) = glob.absolute.rsplit_once('/') else { return false };
        // `*` may stand for anything, and nearly never stands for this.
        let letters = wanted.chars().filter(|letter| !"*?[]".contains(*letter)).count();
        // A wildcard does not stand for a dot at the beginning.
        let is_shown = wanted.starts_with('.') || !name.starts_with('.');
        letters > 1 && is_shown && parent.ends_with(folder) && glob_match(wanted, name)
    }

    /// Returns a text that every path it matches contains, if there is one.
    pub fn literal(&self) -> Option<&str> {
        if self.pattern.contains(['{', '[', '\\', '!']) {
            return None;
        }
        let pieces = self.pattern.split(['*', '?', '/']);
        pieces.max_by_key(|piece| piece.len()).filter(|piece| piece.len() > 1 && *piece != "..")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, text, is_match) in [
            ("rm", "rm", true),
            ("rm", "rmdir", false),
            ("mkfs*", "mkfs.ext4", true),
            ("*:main", "origin:main", true),
            ("a*b*c", "a/x/b/y/c", true),
            ("a*b*c", "a/x/b/y", false),
            ("?d", "rd", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), is_match, "{pattern} {text}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_exponential_time() {
        let pattern = "*a".repeat(500) + "b";
        assert!(!matches(&pattern, &"a".repeat(5_000)));
    }

    #[test]
    fn files_match_as_in_a_gitignore() {
        let matches = |pattern: &str, path: &str| {
            let forms = PathForms {
                absolute: path,
                relative: path.strip_prefix("/p/"),
                in_home: path.strip_prefix("/home/me/"),
            };
            FilePattern::new(pattern).matches(&forms)
        };
        for (pattern, path, is_match) in [
            (".env", "/p/.env", true),
            (".env", "/p/a/.env", true),
            (".env", "/elsewhere/.env", true),
            (".env", "/p/.env.example", false),
            (".env.*", "/p/.env.local", true),
            ("*.pem", "/p/keys/a.pem", true),
            ("secrets", "/p/secrets/deep/x", true),
            ("secrets/", "/p/secrets/x", true),
            ("config/secrets", "/p/config/secrets/x", true),
            ("config/secrets", "/p/a/config/secrets", false),
            ("**/migrations/*.sql", "/p/db/migrations/1.sql", true),
            ("/etc/**", "/etc/passwd", true),
            ("/etc/**", "/etc", true),
            ("/etc", "/p/etc", false),
            ("~/.ssh", "/home/me/.ssh/id_rsa", true),
            ("~/.ssh", "/p/.ssh/id_rsa", false),
            ("./build", "/p/build/x", true),
            ("./build", "/p/a/build", false),
        ] {
            assert_eq!(matches(pattern, path), is_match, "{pattern} {path}");
        }
    }

    #[test]
    fn a_literal_is_in_every_match() {
        for (pattern, literal) in [
            (".env", Some(".env")),
            ("**/migrations/*.sql", Some("migrations")),
            ("*.pem", Some(".pem")),
            ("**", None),
            ("{a,b}/secret", None),
        ] {
            assert_eq!(FilePattern::new(pattern).literal(), literal, "{pattern}");
        }
    }
}
