//! Programs that format or check a file, by its extension.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::event::Event;

/// A larger file is neither formatted nor checked.
const LARGEST: u64 = 2 * 1024 * 1024;

/// A program that comes into question.
#[derive(Clone, Copy, Debug)]
pub struct FileTool {
    /// The extensions of its files.
    pub extensions: &'static [&'static str],
    /// Its command line.
    pub command: &'static str,
    /// It is only used where one of these files is, or one of these `FILE:TEXT` is said in a file;
    /// without any, everywhere.
    pub markers: &'static [&'static str],
}

impl FileTool {
    /// Returns the name of its program.
    pub fn program(&self) -> &'static str {
        self.command.split(' ').next().unwrap_or(self.command)
    }

    /// Returns whether a folder has one of its markers.
    pub fn is_marked_in(&self, folder: &Path) -> bool {
        self.markers.iter().any(|marker| has(folder, marker))
    }
}

/// Returns whether a folder has a marker.
fn has(folder: &Path, marker: &str) -> bool {
    let (name, text) = marker.split_once(':').unwrap_or((marker, ""));
    let file = folder.join(name);
    if text.is_empty() {
        file.is_file()
    } else {
        fs::read_to_string(file).is_ok_and(|content| content.contains(text))
    }
}

/// Commands by extension, as an option; an empty one switches an extension off.
pub type Commands = BTreeMap<String, CommandWords>;

/// A command line, as words or as a text with blanks between them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum CommandWords {
    /// Words separated by blanks.
    Text(String),
    /// One word each.
    List(Vec<String>),
}

impl CommandWords {
    fn words(&self) -> Vec<String> {
        match self {
            Self::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
            Self::List(words) => words.clone(),
        }
    }
}

/// A file that was written.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Its real path.
    pub path: PathBuf,
    /// Its path in the project.
    pub shown: String,
    /// The real path of the project.
    pub project: PathBuf,
}

impl WrittenFile {
    /// Returns the file that a tool has written, if it is a file of the project.
    pub fn of(event: &Event, project: &Path) -> Option<Self> {
        let project = fs::canonicalize(project).ok()?;
        let path = fs::canonicalize(event.file().filter(|_| event.is_write())?).ok()?;
        let shown = path.strip_prefix(&project).ok()?.display().to_string();
        let about = fs::metadata(&path).ok()?;
        (about.is_file() && about.len() <= LARGEST).then_some(Self { path, shown, project })
    }

    /// Returns the command lines that come into question, the best first.
    pub fn command_lines(&self, own: &Commands, tools: &[FileTool]) -> Vec<Vec<String>> {
        let extension = self.path.extension().and_then(|extension| extension.to_str());
        let Some(extension) = extension.map(str::to_ascii_lowercase) else { return Vec::new() };
        if let Some(command) = own.get(&extension) {
            let words = command.words();
            return if words.is_empty() { Vec::new() } else { vec![self.filled_in(&words)] };
        }
        let fits = |tool: &&FileTool| {
            tool.extensions.contains(&extension.as_str())
                && (tool.markers.is_empty()
                    || self.folders().any(|folder| tool.is_marked_in(folder)))
        };
        let words = |tool: &FileTool| {
            let words: Vec<String> = tool.command.split_whitespace().map(str::to_owned).collect();
            self.filled_in(&words)
        };
        tools.iter().filter(fits).map(words).collect()
    }

    /// Returns the folders from the file up to the project.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.project))
    }

    fn filled_in(&self, words: &[String]) -> Vec<String> {
        let path = self.path.display().to_string();
        let edition = self.edition();
        let fill = |word: &String| {
            word.replace("{file}", &path).replace("{path}", &path).replace("{edition}", &edition)
        };
        let mut words: Vec<String> = words.iter().map(fill).collect();
        if let Some(program) = words.first_mut() {
            let local = |folder: &Path| Some(folder.join("node_modules/.bin").join(&*program));
            let local = self.folders().filter_map(local).find(|local| local.is_file());
            if let Some(local) = local.filter(|_| !program.contains('/')) {
                *program = local.display().to_string();
            }
        }
        words
    }

    /// Returns the edition of Rust that the nearest package says.
    fn edition(&self) -> String {
        let of_package = |folder: &Path| {
            let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
            let line = text.lines().find_map(|line| line.trim().strip_prefix("edition"))?;
            let year: String = line.chars().filter(char::is_ascii_digit).collect();
            (year.len() == 4).then_some(year)
        };
        self.folders().find_map(of_package).unwrap_or_else(|| "2021".to_owned())
    }
}

/// Returns the name of a program, for people.
pub fn program(words: &[String]) -> &str {
    let word = words.first().map_or("", String::as_str);
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOOLS: [FileTool; 3] = [
        FileTool {
            extensions: &["py"],
            command: "black {file}",
            markers: &["pyproject.toml:[tool.black]"],
        },
        FileTool {
            extensions: &["py", "rs"],
            command: "other --edition {edition} {path}",
            markers: &[],
        },
        FileTool {
            extensions: &["js"],
            command: "prettier --stdin {path}",
            markers: &[".prettierrc"],
        },
    ];

    fn lines(files: &[(&str, &str)], name: &str, own: &serde_json::Value) -> Vec<String> {
        let project = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(project.path()).unwrap();
        for (name, text) in files.iter().chain(&[(name, "x")]) {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let event = Event::new(json!({"tool_name": "WriteFile", "files": [path.join(name)]}));
        let written = WrittenFile::of(&event, project.path()).unwrap();
        assert_eq!(written.shown, name);
        let own: Commands = serde_json::from_value(own.clone()).unwrap();
        let lines = written.command_lines(&own, &TOOLS);
        lines
            .into_iter()
            .map(|words| words.join(" ").replace(path.to_str().unwrap(), "P"))
            .collect()
    }

    #[test]
    fn a_tool_is_one_that_the_project_uses() {
        let none = json!({});
        assert_eq!(lines(&[], "a/b.py", &none), ["other --edition 2021 P/a/b.py"]);
        let black = [("pyproject.toml", "[tool.black]\n")];
        assert_eq!(lines(&black, "a.py", &none), ["black P/a.py", "other --edition 2021 P/a.py"]);
        let edition = [("x/Cargo.toml", "[package]\nedition = \"2024\"\n")];
        assert_eq!(lines(&edition, "x/src/a.RS", &none), ["other --edition 2024 P/x/src/a.RS"]);
        assert!(lines(&[], "a.js", &none).is_empty() && lines(&[], "Makefile", &none).is_empty());
        let local = [(".prettierrc", ""), ("node_modules/.bin/prettier", "")];
        assert_eq!(
            lines(&local, "web/a.js", &none),
            ["P/node_modules/.bin/prettier --stdin P/web/a.js"]
        );
    }

    #[test]
    fn own_commands_come_first() {
        assert_eq!(lines(&[], "a.py", &json!({"py": "yapf -i {file}"})), ["yapf -i P/a.py"]);
        assert_eq!(lines(&[], "a.py", &json!({"py": ["my tool", "{file}"]})), ["my tool P/a.py"]);
        assert!(lines(&[], "a.py", &json!({"py": ""})).is_empty());
    }

    #[test]
    fn only_files_of_the_project() {
        let (project, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("a.py"), "").unwrap();
        std::os::unix::fs::symlink(other.path().join("a.py"), project.path().join("link.py"))
            .unwrap();
        for path in
            [other.path().join("a.py"), project.path().join("link.py"), project.path().join("none")]
        {
            let event = Event::new(json!({"tool_name": "WriteFile", "files": [path]}));
            assert!(WrittenFile::of(&event, project.path()).is_none(), "{path:?}");
        }
    }
}
