//! Puts a hook into shadow mode in its HOOK.md: what an agent adds is only watched until a person
//! promotes it.

use std::fs;
use std::path::Path;

use anyhook_engine::definition;
use anyhook_model::Mode;

use crate::error::SetupError;

/// Returns a HOOK.md with `mode: shadow`; `None` if that cannot be inserted.
pub fn in_shadow(file: &[u8], name: &str) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let is_fence = |line: &&[u8]| line.trim_ascii_end().ends_with(b"---");
    let begin = lines.iter().position(is_fence)?;
    let end = begin + 1 + lines.iter().skip(begin + 1).position(is_fence)?;
    let is_mode = |line: &[u8]| {
        line.strip_prefix(b"mode").is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"))
    };
    let ending: &[u8] = if lines[begin].ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    let mut after = lines[..=begin].concat();
    after.extend_from_slice(b"mode: shadow");
    after.extend_from_slice(ending);
    for (index, line) in lines.iter().enumerate().skip(begin + 1) {
        if index > end || !is_mode(line) {
            after.extend_from_slice(line);
        }
    }
    // The insertion may have changed the meaning of an unusual file.
    let (old, new) = (definition::read(file, name), definition::read(&after, name));
    let is_read = new.problems.iter().all(|problem| problem.code != "unreadable");
    let is_shadow =
        is_read && new.definition.mode == Mode::Shadow && new.problems.len() <= old.problems.len();
    is_shadow.then_some(after)
}

/// Puts the hook in a folder into shadow mode.
pub fn put_in_shadow(folder: &Path, name: &str) -> Result<(), SetupError> {
    let file = folder.join("HOOK.md");
    let at_fault = SetupError::unusable(&file);
    let before = fs::read(&file).map_err(&at_fault)?;
    let after = in_shadow(&before, name).ok_or_else(|| SetupError::NoShadow(name.to_owned()))?;
    // The target of a link is not ours to change.
    fs::remove_file(&file).map_err(&at_fault)?;
    fs::write(&file, after).map_err(at_fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_written_or_replaced() {
        let of = |text: &str| {
            in_shadow(text.as_bytes(), "a").map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let matter = "name: a\ndescription: b\ntrigger: before_tool\n";
        let after = format!("---\nmode: shadow\n{matter}---\nmode: enforce\n");
        for mode in ["", "mode: enforce\n", "mode : 'enforce'\n", "mode: shadow\n"] {
            let before = format!("---\n{matter}{mode}---\nmode: enforce\n");
            assert_eq!(of(&before), Some(after.clone()), "{before}");
        }
        let windows = of(&format!("---\n{matter}---\n").replace('\n', "\r\n")).unwrap();
        assert!(windows.starts_with("---\r\nmode: shadow\r\nname"), "{windows}");
        for odd in ["", "no front matter", "---\nname: a\n", "---\n{name: a, mode: enforce}\n---\n"]
        {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
