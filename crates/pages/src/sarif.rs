//! Findings about hooks as SARIF 2.1.0, the format in which code hosts and editors take the findings
//! of programs that check code.

use std::collections::BTreeMap;
use std::path::Path;

use anyhook_engine::problem::TextPosition;
use anyhook_engine::{Problem, Severity};
use serde_json::{Value, json};

/// The version of the format.
const VERSION: &str = "2.1.0";
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Where the rules are explained.
const HELP: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/reference/hook-file.md");
/// What relative paths in a log are relative to.
const ROOT: &str = "%SRCROOT%";

/// A file and what was found in it.
#[derive(Clone, Copy, Debug)]
pub struct CheckedFile<'check> {
    /// Its path.
    pub path: &'check Path,
    /// Its text.
    pub text: &'check str,
    /// The findings.
    pub problems: &'check [Problem],
}

/// Returns the log of a check: every finding with its rule and its position. Files below `root` are
/// named relative to it, so that the code host finds them. `notes` are about no file.
pub fn check_log(root: &Path, files: &[CheckedFile<'_>], notes: &[String]) -> Value {
    let mut rules = BTreeMap::new();
    for problem in files.iter().flat_map(|file| file.problems) {
        rules.entry(problem.code).or_insert(problem.severity);
    }
    let results: Vec<Value> = files
        .iter()
        .flat_map(|file| file.problems.iter().map(move |problem| (file, problem)))
        .map(|(file, problem)| {
            let index = rules.keys().position(|code| *code == problem.code).unwrap_or_default();
            result(root, file, problem, index)
        })
        .collect();
    let rules: Vec<Value> = rules.iter().map(|(code, severity)| rule(code, *severity)).collect();
    let notification = |note: &String| json!({"level": "warning", "message": {"text": note}});
    let notifications: Vec<Value> = notes.iter().map(notification).collect();
    json!({
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [{
            "tool": {"driver": {
                "name": "anyhook",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "automationDetails": {"id": "anyhook-check/"},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {ROOT: {"uri": address(root, true)}},
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    })
}

fn rule(code: &str, severity: Severity) -> Value {
    json!({
        "id": code,
        "shortDescription": {"text": code.replace('-', " ")},
        "helpUri": HELP,
        "defaultConfiguration": {"level": level(severity)},
    })
}

fn result(root: &Path, file: &CheckedFile<'_>, problem: &Problem, rule: usize) -> Value {
    let hint = problem.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    json!({
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": level(problem.severity),
        "message": {"text": format!("{}{hint}", problem.message)},
        "locations": [{"physicalLocation": {
            "artifactLocation": artifact(root, file.path),
            "region": region(file.text, problem.place),
        }}],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error | Severity::Unusable => "error",
    }
}

fn artifact(root: &Path, path: &Path) -> Value {
    match path.strip_prefix(root) {
        Ok(inner) => json!({"uri": encoded(inner), "uriBaseId": ROOT}),
        Err(_) => json!({"uri": address(path, false)}),
    }
}

/// Returns where a finding is; one without a position is about the file, whose first line stands for
/// it, as code hosts show nothing else.
fn region(text: &str, place: Option<TextPosition>) -> Value {
    let Some(place) = place else { return json!({"startLine": 1}) };
    let marked = text.get(place.start..place.end).map_or(1, |marked| marked.chars().count());
    json!({
        "startLine": place.line,
        "startColumn": place.column,
        "endColumn": place.column + marked.max(1),
    })
}

/// Returns a path as the address of a file or a folder.
fn address(path: &Path, is_folder: bool) -> String {
    let path = encoded(path);
    let end = if is_folder && !path.ends_with('/') { "/" } else { "" };
    format!("file://{path}{end}")
}

/// Returns a path as part of an address.
fn encoded(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/._~-".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\nname: a\ntrigger: bèfore_tool\n---\n";

    fn log(path: &str, problems: &[Problem], notes: &[String]) -> Value {
        let file = CheckedFile { path: Path::new(path), text: TEXT, problems };
        check_log(Path::new("/a project"), &[file], notes)
    }

    #[test]
    fn a_finding_has_its_rule_and_its_position_in_characters() {
        let start = TEXT.find("bèfore").unwrap();
        let place = TextPosition::in_text(TEXT, &(start..start + "bèfore_tool".len()));
        let problem = Problem::new("unknown-trigger", Severity::Unusable, "no such event")
            .hint("did you mean `before_tool`?")
            .at(place);
        let note = Problem::new("a-note", Severity::Note, "good to know");
        let log = log("/a project/.agents/hooks/ü/HOOK.md", &[problem, note], &[]);
        let run = &log["runs"][0];
        assert_eq!(run["originalUriBaseIds"]["%SRCROOT%"]["uri"], "file:///a%20project/");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let [first, second] = run["results"].as_array().unwrap().as_slice() else { panic!() };
        assert_eq!(
            rules[usize::try_from(first["ruleIndex"].as_u64().unwrap()).unwrap()]["id"],
            "unknown-trigger"
        );
        assert_eq!(first["ruleId"], "unknown-trigger");
        assert_eq!(first["level"], "error");
        assert_eq!(first["message"]["text"], "no such event\nhint: did you mean `before_tool`?");
        let place = &first["locations"][0]["physicalLocation"];
        assert_eq!(
            place["artifactLocation"],
            json!({"uri": ".agents/hooks/%C3%BC/HOOK.md", "uriBaseId": "%SRCROOT%"})
        );
        assert_eq!(place["region"], json!({"startLine": 3, "startColumn": 10, "endColumn": 21}));
        assert_eq!(second["level"], "note");
        let region = &second["locations"][0]["physicalLocation"]["region"];
        assert_eq!(*region, json!({"startLine": 1}));
    }

    #[test]
    fn a_file_elsewhere_is_named_in_full_and_a_note_is_about_the_run() {
        let problem = Problem::new("a-note", Severity::Warning, "x");
        let log = log("/else where/HOOK.md", &[problem], &["no access".to_owned()]);
        let run = &log["runs"][0];
        let place = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"], json!({"uri": "file:///else%20where/HOOK.md"}));
        let told = &run["invocations"][0]["toolExecutionNotifications"][0];
        assert_eq!(told["message"]["text"], "no access");
    }
}
