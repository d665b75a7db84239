//! The example runbooks: what they say, and how they are laid out.

use std::fs;
use std::path::PathBuf;

use anyhook_flow::runbook::{Runbook, RunbookFormat, read, tree};

use crate::environment;

fn examples() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runbooks");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hcl"))
        .collect();
    files.sort();
    assert!(files.len() >= 3);
    files
}

fn runbook(text: &str, format: RunbookFormat) -> Runbook {
    let reading = read(text, format);
    assert_eq!(reading.findings, []);
    reading.runbook
}

#[test]
fn each_is_the_same_in_both_formats() {
    for file in examples() {
        let hcl = fs::read_to_string(&file).unwrap();
        let toml = fs::read_to_string(file.with_extension("toml")).unwrap();
        assert_eq!(
            runbook(&hcl, RunbookFormat::Hcl),
            runbook(&toml, RunbookFormat::Toml),
            "{}",
            file.display()
        );
        let json = |text: &str, format| {
            let mut json = tree(text, format).0.unwrap().to_json();
            json.sort_all_objects();
            json
        };
        assert_eq!(json(&hcl, RunbookFormat::Hcl), json(&toml, RunbookFormat::Toml));
    }
}

#[test]
fn check_finds_nothing() {
    let environment = environment();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runbooks");
    assert_run!(environment, environment.run(&["runbook", "check", folder]), @"
    exit code: 0
    ----- stdout -----
    6 runbooks, no problems
    ");
}

/// A formatter would leave them as they are.
#[test]
fn each_is_laid_out_as_a_formatter_would() {
    for file in examples() {
        let text = fs::read_to_string(&file).unwrap();
        // `${…}` is not HCL's: it is taken out for its parser.
        let plain = text.replace("${", "(").replace("%{", "(");
        let body: hcl_edit::structure::Body = plain.parse().unwrap();
        assert_eq!(body.to_string(), plain, "{}", file.display());
        assert_eq!(laid_out(&text), text, "{}", file.display());
    }
}

/// Lays HCL out: two blanks for each open bracket, `=` in a column over lines that follow each
/// other. What a here-document has in it stays.
fn laid_out(text: &str) -> String {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut depth: usize = 0;
    let mut inside: Option<String> = None;
    for line in text.lines() {
        if let Some(end) = &inside {
            let is_end = line.trim() == end;
            lines.push((0, line.to_owned()));
            if is_end {
                inside = None;
            }
            continue;
        }
        let line = line.trim();
        let code = without_texts(line);
        let closes = code.starts_with(['}', ']']);
        lines.push((2 * (depth - usize::from(closes)), line.to_owned()));
        depth += code.matches(['{', '[']).count();
        depth -= code.matches(['}', ']']).count();
        if let Some((_, word)) = code.split_once("<<") {
            inside = Some(word.trim_start_matches('-').to_owned());
        }
    }
    let mut formatted = String::new();
    let mut from = 0;
    while from < lines.len() {
        let run = lines[from..].iter().take_while(|(_, line)| is_attribute(line)).count();
        // A value that goes on in further lines ends the run; `=` of others is one column.
        let run = lines[from..from + run]
            .iter()
            .position(|(_, line)| line.ends_with(['{', '[']) || line.contains("<<"))
            .unwrap_or(run);
        let key = |line: &str| line.split(" = ").next().unwrap_or_default().trim_end().to_owned();
        let width = lines[from..from + run].iter().map(|(_, line)| key(line).len()).max();
        for (indent, line) in &lines[from..from + run.max(1)] {
            let line = match (width, line.split_once(" = ")) {
                (Some(width), Some((name, value))) if run > 0 => {
                    format!("{:width$} = {}", name.trim_end(), value.trim_start())
                }
                _ => line.clone(),
            };
            let blanks = if line.is_empty() { 0 } else { *indent };
            formatted.push_str(&format!("{}{line}\n", " ".repeat(blanks)));
        }
        from += run.max(1);
    }
    formatted
}

fn is_attribute(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(key, _)| {
        key.trim_end().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Returns a line without its texts and its comment.
fn without_texts(line: &str) -> String {
    let code: String = line.split('"').step_by(2).collect();
    code.split('#').next().unwrap_or_default().to_owned()
}

#[test]
fn the_check_of_the_layout_finds_mistakes() {
    let good = "a \"b\" {\n  x   = 1\n  yyy = \"{\"\n\n  z = {\n    k = 1\n  }\n}\n";
    assert_eq!(laid_out(good), good);
    for bad in
        ["a \"b\" {\n  x = 1\n  yyy = 2\n}\n", "a \"b\" {\n x = 1\n}\n", "a {\n  x  = 1\n}\n"]
    {
        assert_ne!(laid_out(bad), bad);
    }
}
