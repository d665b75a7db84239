//! Parses patches in the `*** Begin Patch` format: what they would do to which file.

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// The file is created or overwritten.
    Add {
        /// Which file.
        path: String,
        /// Its content.
        content: String,
    },
    /// Parts of the file are replaced.
    Update {
        /// Which file.
        path: String,
        /// The removed lines and their context.
        old: String,
        /// The added lines and their context.
        new: String,
    },
    /// The file is removed.
    Delete {
        /// Which file.
        path: String,
    },
    /// The file is renamed.
    Move {
        /// Its current name.
        path: String,
        /// Its new name.
        to: String,
        /// Its content, as far as the patch contains it.
        content: String,
    },
}

/// Parses a patch. An update that also moves the file gives both changes.
///
/// Lines that are not part of the format are skipped: the host rejects such a patch itself, and a
/// guard still sees every file that is named.
pub fn read(text: &str) -> Vec<FileChange> {
    let mut changes = Vec::new();
    let mut current: Option<FileChange> = None;
    let mut target: Option<String> = None;
    for line in text.lines() {
        // Hosts tolerate spaces around a header; seeing one file too many is the safe side.
        let header = line.trim().strip_prefix("*** ").and_then(|header| header.split_once(':'));
        match header {
            Some((kind, path)) => {
                let path = path.trim().to_owned();
                let next = match kind.trim() {
                    "Add File" => FileChange::Add { path, content: String::new() },
                    "Update File" => {
                        FileChange::Update { path, old: String::new(), new: String::new() }
                    }
                    "Delete File" => FileChange::Delete { path },
                    "Move to" => {
                        if matches!(current, Some(FileChange::Update { .. })) {
                            // Seeing one target too many is the safe side.
                            finish_move(&mut changes, current.as_ref(), target.replace(path));
                        }
                        continue;
                    }
                    _ => continue,
                };
                finish_move(&mut changes, current.as_ref(), target.take());
                changes.extend(current.replace(next));
            }
            None => {
                if let Some(change) = &mut current {
                    add_line(change, line);
                }
            }
        }
    }
    finish_move(&mut changes, current.as_ref(), target);
    changes.extend(current);
    changes
}

/// Adds the move of a file that is also updated.
fn finish_move(changes: &mut Vec<FileChange>, update: Option<&FileChange>, to: Option<String>) {
    if let (Some(FileChange::Update { path, new, .. }), Some(to)) = (update, to) {
        changes.push(FileChange::Move { path: path.clone(), to, content: new.clone() });
    }
}

/// Adds a line of a patch's body to the change it belongs to.
fn add_line(change: &mut FileChange, line: &str) {
    let push = |text: &mut String, line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    match change {
        FileChange::Add { content, .. } => {
            if let Some(added) = line.strip_prefix('+') {
                push(content, added);
            }
        }
        FileChange::Update { old, new, .. } => match line.split_at_checked(1) {
            Some(("-", gone)) => push(old, gone),
            Some(("+", come)) => push(new, come),
            Some((" ", same)) => {
                push(old, same);
                push(new, same);
            }
            _ => {}
        },
        FileChange::Delete { .. } | FileChange::Move { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_file_is_seen() {
        let patch = "*** Begin Patch\n*** Add File: a\n+one\n+two\n*** Update File: b\n*** Move to: c\n@@\n same\n-old\n+new\n*** Delete File: d\n*** End Patch\n";
        assert_eq!(
            read(patch),
            [
                FileChange::Add { path: "a".to_owned(), content: "one\ntwo\n".to_owned() },
                FileChange::Move {
                    path: "b".to_owned(),
                    to: "c".to_owned(),
                    content: "same\nnew\n".to_owned()
                },
                FileChange::Update {
                    path: "b".to_owned(),
                    old: "same\nold\n".to_owned(),
                    new: "same\nnew\n".to_owned()
                },
                FileChange::Delete { path: "d".to_owned() },
            ]
        );
    }

    #[test]
    fn headers_are_read_as_loosely_as_hosts_do() {
        let named = |text: &str| matches!(read(text)[..], [FileChange::Delete { ref path }] if path == "secret");
        assert!(named("  *** Delete File: secret"));
        assert!(named("*** Delete File:secret\r\n"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>(), noise in "(\\*\\*\\* (Add File|Move to|Update File): [a-z]\n|[+ -][a-z]*\n){0,20}") {
            let _ = read(&text);
            let named = noise.matches("Add File").count() + noise.matches("Update File").count();
            prop_assert!(read(&noise).len() >= named);
        }
    }
}
