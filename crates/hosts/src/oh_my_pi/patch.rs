//! oh-my-pi's own patches: sections that each begin with a file and a tag of what was read, such as
//! `[src/main.rs#1a2b]`, followed by operations by line number. The lines of a body begin with `+`.

/// Returns a patch in the format that other agents use, as far as it says which files it touches and
/// what it adds; `None` if it names no file in oh-my-pi's way.
pub(super) fn in_common_format(text: &str) -> Option<String> {
    let mut lines = Vec::new();
    let mut file = None;
    for line in text.lines() {
        let line = line.trim_start();
        if line.starts_with('+') {
            lines.push(line.to_owned());
            continue;
        }
        let line = line.trim_end();
        if let Some(path) = header(line) {
            lines.push(format!("*** Update File: {path}"));
            file = Some(path);
        } else if line == "REM" {
            let path = file?;
            lines.push(format!("*** Delete File: {path}"));
        } else if let Some(target) = line.strip_prefix("MV ") {
            lines.push(format!("*** Move to: {}", unquoted(target.trim())));
        } else if line.starts_with("*** ") {
            lines.push(line.to_owned());
        }
    }
    file.map(|_| lines.join("\n"))
}

/// Returns the file of a section's first line.
fn header(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let path = inner.rsplit_once('#').map_or(inner, |(path, _)| path);
    Some(unquoted(path.trim())).filter(|path| !path.is_empty())
}

fn unquoted(path: &str) -> &str {
    let inner = |quote: char| path.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use anyhook_model::patch::{FileChange, read};

    use super::*;

    fn changes(text: &str) -> Vec<FileChange> {
        in_common_format(text).map(|patch| read(&patch)).unwrap_or_default()
    }

    #[test]
    fn every_file_of_a_patch_is_seen() {
        let text = "*** Begin Patch\n[a b.txt#1a2b]\nPUT 3.=3:\n+new\n[old.txt#0000]\nREM\n\
            [from.txt#0000]\nPUT <1:\n+[not a file#0000]\nMV to.txt\n*** End Patch\n";
        let update = |path: &str, new: &str| FileChange::Update {
            path: path.to_owned(),
            old: String::new(),
            new: new.to_owned(),
        };
        let content = "[not a file#0000]\n";
        let moved = FileChange::Move {
            path: "from.txt".to_owned(),
            to: "to.txt".to_owned(),
            content: content.to_owned(),
        };
        assert_eq!(
            changes(text),
            [
                update("a b.txt", "new\n"),
                update("old.txt", ""),
                FileChange::Delete { path: "old.txt".to_owned() },
                moved,
                update("from.txt", content),
            ]
        );
    }

    #[test]
    fn a_file_is_seen_however_its_line_is_written() {
        for line in ["[x.txt#0000]", "  [x.txt#0000] ", "[\"x.txt\"#0000]", "[x.txt]"] {
            let [FileChange::Update { path, .. }] = &changes(line)[..] else { panic!("{line}") };
            assert_eq!(path, "x.txt", "{line}");
        }
        for text in ["", "+[x.txt#0000]", "PUT 1.=1:\n+x", "REM"] {
            assert_eq!(in_common_format(text), None, "{text}");
        }
    }
}
