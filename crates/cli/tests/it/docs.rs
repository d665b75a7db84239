//! The documents are true: every example in them is run, and every link leads somewhere.
//!
//! Each page is played from top to bottom in one fresh environment, where `anyhook` is the program
//! under test. What a fenced block is decides what happens to it:
//!
//! - `sh`: run with `sh -e`; a command that ends with `# exit N` must end with N, all others with 0;
//! - `sh no-run`: not run, and listed in [`NOT_RUN`];
//! - `sh dist`: run by `cargo xtask test dist`, which has the packages that [`PACKAGES_PAGE`] is about;
//! - `console`: each `$ command` is run and its output compared; a line `…` stands for any lines;
//! - any language with `title=PATH`: written to that file (below the project, or `~/…`). The line
//!   above the block must name the file, since most renderers drop the title. As after an edit in an
//!   editor, the file keeps its mode, and a new one is not executable: the page has to `chmod` it;
//! - `hcl`, `toml` without a title: a runbook, which `anyhook runbook check` must accept; in the page
//!   of workflows a workflow, which `anyhook workflow check` must accept;
//! - `yaml` without a title: a part of a front matter, which `anyhook check` must accept;
//! - `json` without a title: read; in the page of events also sent through `anyhook hook`;
//! - `json schema=NAME`: read, and keeps to that schema;
//! - `jsonl schema=NAME`: each line is read, and keeps to that schema;
//! - `rust`: a doctest of the crate it shows (`crates/sdk/src/lib.rs` includes the page);
//! - `text`: shown, nothing more.
//!
//! At the end of a page every HOOK.md it wrote must pass `anyhook check`.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its pages has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_testkit::{CommandRun, TestEnv, run, write};
use serde_json::Value;

use crate::environment;

/// Blocks marked `sh no-run`: the page and the block's first line.
const NOT_RUN: [(&str, &str); 13] = [
    ("README.md", "cargo run --release -- demo"),
    ("README.md", "cargo xtask install"),
    (
        "docs/guide/connect-an-agent.md",
        "MODEL_URL=http://127.0.0.1:8080/v1 python3 examples/agent/agent.py \"make the tests pass\"",
    ),
    ("docs/guide/get-anyhook.md", "cargo xtask install"),
    ("docs/guide/get-anyhook.md", "cargo xtask dist"),
    ("docs/guide/install-from-your-agent.md", "claude plugin marketplace add anyhook/anyhook"),
    ("docs/guide/install-from-your-agent.md", "codex plugin marketplace add anyhook/anyhook"),
    (
        "docs/guide/install-from-your-agent.md",
        "gemini extensions install https://github.com/anyhook/anyhook",
    ),
    ("docs/guide/install-from-your-agent.md", "mkdir -p ~/.agents/plugins"),
    (
        "docs/guide/let-an-agent-read-the-journal.md",
        "claude mcp add --scope user anyhook -- anyhook mcp",
    ),
    ("docs/guide/let-an-agent-read-the-journal.md", "codex mcp add anyhook -- anyhook mcp"),
    ("docs/performance.md", "cargo xtask bench"),
    ("docs/reference/state-latency.md", "cargo xtask bench --agents --runs 30"),
];

/// The page whose JSON blocks are events.
const EVENTS_PAGE: &str = "docs/reference/events.md";

/// The page whose TOML blocks are workflows.
const WORKFLOW_PAGE: &str = "docs/reference/workflow-file.md";

/// The page whose blocks may need packages.
const PACKAGES_PAGE: &str = "docs/guide/get-anyhook.md";

/// What the tour prints, and the picture of it.
const TOUR: &str = "crates/cli/tests/it/commands/snapshots/it__commands__demo__tour.snap";
const PICTURE: &str = "docs/pictures/demo.svg";

/// How the parts of the tour begin that are in the picture: a HOOK.md, and some of the steps.
const PARTS_OF_THE_TOUR: [&str; 6] = ["  │ ---", "3 ", "4 ", "6 ", "7 ", "8 "];

/// A fenced block of a page.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    /// The line of its opening fence, from 1.
    line: usize,
    language: String,
    /// The words after the language.
    words: Vec<String>,
    /// The last line above it that is not blank; empty if that belongs to another block.
    above: String,
    text: String,
}

impl Block {
    fn title(&self) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix("title="))
    }

    fn schema(&self) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix("schema="))
    }

    fn is_marked(&self, mark: &str) -> bool {
        self.words.iter().any(|word| word == mark)
    }
}

/// Returns the fenced blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut above = "";
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks < 3 {
            if !line.trim().is_empty() {
                above = line;
            }
            continue;
        }
        let mut words = line[ticks..].split_whitespace().map(str::to_owned);
        let language = words.next().unwrap_or_default();
        let mut text = String::new();
        for (_, inner) in lines.by_ref() {
            if inner.trim_end() == &line[..ticks] {
                break;
            }
            text.push_str(inner);
            text.push('\n');
        }
        let above = std::mem::take(&mut above).to_owned();
        blocks.push(Block { line: number + 1, language, words: words.collect(), above, text });
    }
    blocks
}

/// Returns the commands of a shell block: what one command is, and the exit code it must have.
fn commands(block: &str) -> Vec<(String, i32)> {
    let mut commands = Vec::new();
    let mut plain = String::new();
    let mut command = String::new();
    for line in block.lines() {
        command.push_str(line);
        command.push('\n');
        if line.ends_with('\\') {
            continue;
        }
        match expected_exit(line) {
            Some(code) => {
                if !plain.is_empty() {
                    commands.push((std::mem::take(&mut plain), 0));
                }
                commands.push((std::mem::take(&mut command), code));
            }
            None => plain.push_str(&std::mem::take(&mut command)),
        }
    }
    plain.push_str(&command);
    if !plain.trim().is_empty() {
        commands.push((plain, 0));
    }
    commands
}

/// Reads `# exit N` at the end of a line.
fn expected_exit(line: &str) -> Option<i32> {
    line.rsplit_once("# exit ").and_then(|(_, code)| code.trim().parse().ok())
}

/// One page being played.
struct Play {
    page: String,
    environment: TestEnv,
    hook_files: BTreeSet<PathBuf>,
    faults: Vec<String>,
}

impl Play {
    fn new(page: &str) -> Self {
        let environment = environment();
        let bin = environment.root().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(crate::program(), bin.join("anyhook")).unwrap();
        // Pages may name the examples as one does in the repository.
        symlink(repository().join("examples"), environment.project().join("examples")).unwrap();
        Self { page: page.to_owned(), environment, hook_files: BTreeSet::new(), faults: Vec::new() }
    }

    fn fault(&mut self, line: usize, what: impl AsRef<str>) {
        self.faults.push(format!("{}:{line}: {}", self.page, what.as_ref()));
    }

    /// Runs a script as a person in the project would.
    fn shell(&self, script: &str) -> CommandRun {
        let bin = self.environment.root().join("bin");
        let mut path = bin.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command.args(["-e", "-c", script]).current_dir(self.environment.project()).env_clear();
        for (name, value) in self.environment.command(&[]).get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.env("PATH", path);
        run(command, b"")
    }

    fn block(&mut self, block: &Block) {
        if let Some(title) = block.title() {
            return self.file(title, block);
        }
        match block.language.as_str() {
            "sh" if block.is_marked("no-run") => {}
            "sh" if block.is_marked("dist") && self.page == PACKAGES_PAGE => {}
            "sh" => self.script(block),
            "console" => self.console(block),
            "yaml" => self.front_matter(block),
            "toml" if self.page == WORKFLOW_PAGE => self.checked(block, "workflow"),
            "hcl" | "toml" => self.checked(block, "runbook"),
            "json" => self.json(block),
            "jsonl" => self.json_lines(block),
            // Doctests of the crate they show.
            "text" | "rust" | "rust,no_run" => {}
            other => self.fault(block.line, format!("nobody knows what a `{other}` block is")),
        }
    }

    /// Writes a titled block to its file, as an editor does: only `chmod` makes it executable.
    fn file(&mut self, title: &str, block: &Block) {
        let path = match title.strip_prefix("~/") {
            Some(inner) => self.environment.home().join(inner),
            None => self.environment.project().join(title),
        };
        let old_mode = fs::metadata(&path).map(|metadata| metadata.permissions().mode() & 0o777);
        write(&path, &block.text, old_mode.unwrap_or(0o644));
        if path.ends_with("HOOK.md") {
            self.hook_files.insert(path);
        } else if block.language == "json" {
            self.read_json(block);
        }
    }

    fn script(&mut self, block: &Block) {
        for (command, code) in commands(&block.text) {
            let ran = self.shell(&command);
            if ran.code != code {
                self.fault(block.line, format!("expected exit {code}: {command}{ran:#?}"));
            }
        }
    }

    /// Runs each `$ command` and compares what it prints with the lines below it.
    fn console(&mut self, block: &Block) {
        let mut sessions: Vec<(String, String)> = Vec::new();
        for line in block.text.lines() {
            match (line.strip_prefix("$ "), sessions.last_mut()) {
                (Some(command), _) => sessions.push((command.to_owned(), String::new())),
                (None, Some((command, output))) => {
                    let part = if command.ends_with('\\') { command } else { output };
                    part.push_str(line.strip_prefix("> ").unwrap_or(line));
                    part.push('\n');
                }
                (None, None) => self.fault(block.line, "output before the first command"),
            }
        }
        for (command, expected) in sessions {
            let code = expected_exit(command.lines().last().unwrap_or_default()).unwrap_or(0);
            let ran = self.shell(&format!("{{ {command}\n}} 2>&1"));
            let found = self.normal(&ran.stdout);
            if !fits(&normal_text(&expected), &found) || ran.code != code {
                self.fault(
                    block.line,
                    format!(
                        "$ {command}\n--- expected, exit {code}\n{}\n--- found, exit {}\n{}",
                        normal_text(&expected).join("\n"),
                        ran.code,
                        found.join("\n")
                    ),
                );
            }
        }
    }

    /// Checks a part of a front matter; what is missing for a whole one is added.
    fn front_matter(&mut self, block: &Block) {
        let mut matter = String::new();
        for (key, line) in [
            ("name:", "name: example\n"),
            ("description:", "description: An example\n"),
            ("trigger:", "trigger: before_tool\n"),
        ] {
            if !block.text.lines().any(|given| given.starts_with(key)) {
                matter.push_str(line);
            }
        }
        let folder = self.environment.root().join("example");
        write(&folder.join("HOOK.md"), format!("---\n{matter}{}---\n", block.text), 0o644);
        write(&folder.join("scripts/run"), "#!/bin/sh\n", 0o755);
        let ran = self.environment.run(&["check", &folder.to_string_lossy()]);
        if ran.code != 0 {
            self.fault(block.line, ran.stdout);
        }
    }

    /// Checks a runbook or a workflow.
    fn checked(&mut self, block: &Block, command: &str) {
        let file = self.environment.root().join(format!("example.{}", block.language));
        write(&file, &block.text, 0o644);
        let ran = self.environment.run(&[command, "check", &file.to_string_lossy()]);
        if ran.code != 0 {
            self.fault(block.line, ran.stdout);
        }
    }

    fn read_json(&mut self, block: &Block) -> bool {
        match serde_json::from_str::<Value>(&block.text) {
            Ok(_) => true,
            Err(error) => {
                self.fault(block.line, format!("not JSON: {error}"));
                false
            }
        }
    }

    fn json(&mut self, block: &Block) {
        if !self.read_json(block) {
            return;
        }
        if let Some(name) = block.schema() {
            return self.keeps_to(block, name, &[&block.text]);
        }
        if self.page != EVENTS_PAGE {
            return;
        }
        let ran = self.environment.run_with_input(&["hook", "agent-hooks"], &block.text);
        if ran.code != 0 {
            self.fault(block.line, format!("{ran:#?}"));
        }
    }

    /// Checks each line against the schema that the block names.
    fn json_lines(&mut self, block: &Block) {
        let Some(name) = block.schema() else {
            return self.fault(block.line, "lines of JSON without a schema");
        };
        self.keeps_to(block, name, &block.text.lines().collect::<Vec<_>>());
    }

    /// Checks texts of JSON against a schema.
    fn keeps_to(&mut self, block: &Block, name: &str, texts: &[&str]) {
        let schema = self.environment.run(&["schema", name]).json();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for text in texts {
            let value: Value = match serde_json::from_str(text) {
                Ok(value) => value,
                Err(error) => return self.fault(block.line, format!("not JSON: {error}: {text}")),
            };
            for fault in validator.iter_errors(&value) {
                self.fault(block.line, format!("{fault} at {}: {text}", fault.instance_path()));
            }
        }
    }

    /// Checks every HOOK.md the page has written.
    fn finish(mut self) -> Vec<String> {
        for file in std::mem::take(&mut self.hook_files) {
            let folder = file.parent().unwrap_or(&file).to_owned();
            // A page may also show how a hook is taken away.
            if !folder.exists() {
                continue;
            }
            let ran = self.environment.run(&["check", &folder.to_string_lossy()]);
            if ran.code != 0 {
                self.fault(0, ran.stdout);
            }
        }
        self.faults
    }

    /// Replaces what differs from run to run.
    fn normal(&self, text: &str) -> Vec<String> {
        let home = self.environment.home().to_string_lossy().into_owned();
        normal_text(&text.replace(&home, "/home/you"))
    }
}

/// Replaces times, durations and ids, and makes every gap one blank.
fn normal_text(text: &str) -> Vec<String> {
    text.trim_end().lines().map(normal_line).collect()
}

fn normal_line(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut normal = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        let bare = word.trim_matches(|letter: char| "\",:()`{}".contains(letter));
        let unit = words.get(index + 1).map(|next| next.trim_end_matches([',', ')']));
        let is_number = |text: &str| text.parse::<f64>().is_ok();
        let is_before = |name: &&str| index > 0 && words[index - 1].ends_with(*name);
        let follows_process = ["process", "pid"].iter().any(is_before);
        let is_unit = ["ms", "s"].contains(&word.trim_end_matches([',', ')']));
        if is_unit && index > 0 && is_number(words[index - 1]) {
            // A busy machine takes seconds.
            normal.push(word.replacen("ms", "s", 1));
        } else if is_time(bare) {
            normal.push(word.replace(bare, "[TIME]"));
        } else if is_number(bare) && (matches!(unit, Some("ms" | "s")) || follows_process) {
            normal.push("[NUMBER]".to_owned());
        } else if is_age(bare) {
            normal.push(word.replace(bare, "[AGE]"));
        } else if is_id(bare) {
            normal.push(word.replace(bare, "[ID]"));
        } else if let Some((pipeline, _)) = bare.split_once('.')
            && is_id(pipeline)
        {
            // An agent of a pipeline.
            normal.push(word.replacen(pipeline, "[ID]", 1));
        } else {
            normal.push((*word).to_owned());
        }
    }
    normal.join(" ")
}

/// Tells whether a word is a date, a time of day, or both.
fn is_time(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits >= 6
        && word.starts_with(|letter: char| letter.is_ascii_digit())
        && word.chars().all(|letter| letter.is_ascii_digit() || "-:.TZ".contains(letter))
        && (word.contains(':') || word.matches('-').count() == 2)
}

/// Tells whether a word says how long ago something was: `5s`, `3m`, `2h`, `4d`.
///
/// No more than four digits: an id may look like it, too.
fn is_age(word: &str) -> bool {
    word.strip_suffix(['s', 'm', 'h', 'd']).is_some_and(|count| {
        (1..=4).contains(&count.len()) && count.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Tells whether a word could be a record's id: eight letters without i, l, o and u.
///
/// Some English words look like one. That does no harm: both sides are treated alike.
fn is_id(word: &str) -> bool {
    word.len() == 8
        && word.bytes().all(|byte| {
            byte.is_ascii_digit()
                || byte.is_ascii_lowercase() && !matches!(byte, b'i' | b'l' | b'o' | b'u')
        })
}

/// Compares lines; `…` alone on an expected line stands for any lines.
fn fits(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=found.len()).any(|skipped| fits(rest, &found[skipped..]))
        }
        Some((first, rest)) => {
            found.first().is_some_and(|line| line == first) && fits(rest, &found[1..])
        }
    }
}

fn repository() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// Returns the Markdown files at and below a place, relative to the repository, in order.
fn markdown_files(inner: &str) -> Vec<String> {
    files_with(inner, "md")
}

/// Returns the files with an extension at and below a place, as [`markdown_files`].
fn files_with(inner: &str, extension: &str) -> Vec<String> {
    let root = repository();
    let mut files = Vec::new();
    let mut pending = vec![root.join(inner)];
    while let Some(path) = pending.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A page under a second name is looked at under its first.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" {
                pending.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
            }
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path.strip_prefix(&root).unwrap().to_string_lossy().into_owned());
        }
    }
    files.sort();
    files
}

fn pages() -> Vec<String> {
    ["README.md".to_owned()].into_iter().chain(markdown_files("docs")).collect()
}

fn read(page: &str) -> String {
    fs::read_to_string(repository().join(page)).unwrap()
}

#[test]
fn every_example_works() {
    let mut faults = Vec::new();
    for page in pages() {
        let mut play = Play::new(&page);
        for block in blocks(&read(&page)) {
            play.block(&block);
        }
        faults.extend(play.finish());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn what_is_not_run_is_listed() {
    let mut found: Vec<(String, String)> = Vec::new();
    for page in pages() {
        for block in blocks(&read(&page)) {
            if block.is_marked("no-run") {
                let first = block.text.lines().next().unwrap_or_default();
                let command = first.split(" #").next().unwrap_or_default().trim_end();
                found.push((page.clone(), command.to_owned()));
            }
        }
    }
    let listed: Vec<(String, String)> =
        NOT_RUN.iter().map(|(page, line)| ((*page).to_owned(), (*line).to_owned())).collect();
    assert_eq!(found, listed);
}

/// A title is not shown on GitHub, crates.io or npm.
#[test]
fn every_file_is_named_above_its_block() {
    let mut unnamed = Vec::new();
    for file in markdown_files(".").iter().map(|file| file.trim_start_matches("./")) {
        for block in blocks(&read(file)) {
            if let Some(title) = block.title()
                && !block.above.contains(&format!("`{title}`"))
            {
                let line = block.line;
                unnamed.push(format!("{file}:{line}: the line above does not name `{title}`"));
            }
        }
    }
    assert!(unnamed.is_empty(), "{}", unnamed.join("\n"));
}

/// README.md shows a part of what the tour prints.
#[test]
fn the_picture_of_the_tour_is_its_output() {
    let picture = picture_of_the_tour(&read(TOUR));
    if std::env::var_os("ANYHOOK_UPDATE_PICTURES").is_some() {
        fs::write(repository().join(PICTURE), &picture).unwrap();
    }
    let hint = "ANYHOOK_UPDATE_PICTURES=1 cargo test -p anyhook --test it picture";
    assert_eq!(read(PICTURE), picture, "{hint}");
}

/// Draws a part of the tour as a terminal shows it, without the times, which differ in each run.
fn picture_of_the_tour(tour: &str) -> String {
    let mut lines = vec!["$ anyhook demo"];
    for part in tour.split("\n\n") {
        if PARTS_OF_THE_TOUR.iter().any(|start| part.starts_with(start)) {
            lines.push("");
            lines.extend(part.lines().map(|line| line.trim_end_matches("  [TOOK]")));
        }
    }
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default() * 8 + 32;
    let height = lines.len() * 18 + 24;
    let mut rows = String::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let class = if line.starts_with("  │") {
            "file"
        } else if line.starts_with("    ") {
            "hook"
        } else if line.starts_with("  blocked") {
            "blocked"
        } else if line.starts_with("  ") {
            "passed"
        } else {
            "step"
        };
        let y = 28 + 18 * index;
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        rows.push_str(&format!(
            "  <text class=\"{class}\" x=\"16\" y=\"{y}\" xml:space=\"preserve\">{text}</text>\n"
        ));
    }
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="demo-title">
  <title id="demo-title">A part of the output of anyhook demo</title>
  <style>
    text {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 13px; fill: #e2e8f0; }}
    .step {{ font-weight: 700; }}
    .file {{ fill: #94a3b8; }}
    .hook {{ fill: #7dd3fc; }}
    .passed {{ fill: #86efac; }}
    .blocked {{ fill: #fca5a5; }}
  </style>
  <rect width="{width}" height="{height}" rx="8" fill="#0f172a"/>
{rows}</svg>
"##
    )
}

#[test]
fn every_link_leads_somewhere() {
    let root = repository();
    let mut broken = Vec::new();
    for file in markdown_files(".").iter().map(|file| file.trim_start_matches("./")) {
        let text = read(file);
        // What looks like a link in a front matter is an expression.
        let front_matter = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let text = front_matter.map_or(text.as_str(), |(_, body)| body);
        let folder = root.join(file).parent().unwrap().to_owned();
        for link in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { root.join(file) } else { folder.join(path) };
            if !target.exists() {
                broken.push(format!("{file}: {link}: there is no such file"));
            } else if !anchor.is_empty()
                && !anchors(&fs::read_to_string(&target).unwrap_or_default()).contains(anchor)
            {
                broken.push(format!("{file}: {link}: there is no such heading"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Pages for contributors name source files in backticks: whole, or by the end of their path.
#[test]
fn every_source_file_that_is_named_exists() {
    let sources: Vec<String> =
        ["crates", "xtask", "fuzz"].iter().flat_map(|part| files_with(part, "rs")).collect();
    let is_for_contributors = |page: &String| {
        page.ends_with("AGENTS.md")
            || ["./ARCHITECTURE.md", "./CONTRIBUTING.md"].contains(&page.as_str())
            || page.starts_with("./docs/contributing/")
            || page.starts_with("./docs/design/")
    };
    let mut missing = Vec::new();
    for page in
        markdown_files(".").iter().map(|page| format!("./{}", page.trim_start_matches("./")))
    {
        if !is_for_contributors(&page) {
            continue;
        }
        let text = read(&page);
        let named = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        // A part in capitals is to be filled in.
        let is_file = |name: &&str| {
            Path::new(name).extension().is_some_and(|extension| extension == "rs")
                && !name.contains([' ', '*', '{', '…'])
                && !name.split('/').any(|part| part.starts_with(char::is_uppercase))
        };
        for name in named.filter(is_file) {
            let below = format!("/{name}");
            if !sources.iter().any(|source| source == name || source.ends_with(&below)) {
                missing.push(format!("{page}: `{name}`"));
            }
        }
    }
    assert!(missing.is_empty(), "there is no such file:\n{}", missing.join("\n"));
}

/// Returns the targets of a page's links and images, those in code aside.
fn links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(page) {
        // Every second part stands between backticks.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("");
        links.extend(
            plain
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split_once(')'))
                .map(|(target, _)| target.to_owned()),
        );
    }
    links
}

/// Returns the lines of a page outside its fenced blocks.
fn prose(page: &str) -> Vec<&str> {
    let mut fence = None;
    page.lines()
        .filter(|line| {
            let ticks = line.len() - line.trim_start_matches('`').len();
            match fence {
                Some(open) => {
                    if ticks == open && line.trim_end().len() == ticks {
                        fence = None;
                    }
                    false
                }
                None if ticks >= 3 => {
                    fence = Some(ticks);
                    false
                }
                None => true,
            }
        })
        .collect()
}

/// Returns the names under which a page's headings can be linked to.
fn anchors(page: &str) -> BTreeSet<String> {
    prose(page)
        .into_iter()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
                .map(|letter| if letter == ' ' { '-' } else { letter })
                .collect()
        })
        .collect()
}

/// The reference pages name what the program knows, so that neither outgrows the other.
#[test]
fn the_reference_is_complete() {
    let environment = environment();
    let schema = environment.run(&["schema", "front-matter"]).json();
    let fields = read("docs/reference/hook-file.md");
    for field in schema["properties"].as_object().unwrap().keys() {
        assert!(fields.contains(&format!("`{field}`")), "hook-file.md does not name {field}");
    }
    let events = read(EVENTS_PAGE);
    for name in schema["properties"]["trigger"]["anyOf"][0]["enum"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        assert!(events.contains(&format!("`{name}`")), "events.md does not name {name}");
    }
    for tool in anyhook_model::tools::TOOLS {
        let list = |items: Vec<String>| {
            if items.is_empty() { "–".to_owned() } else { items.join(", ") }
        };
        let fields = list(tool.fields.iter().map(|field| format!("`{field}`")).collect());
        let whole = tool.names.iter().map(|(name, whose)| format!("`{name}` ({whose})"));
        let special = tool.special.iter().map(|(name, whose)| format!("*`{name}`* ({whose})"));
        let names = list(whole.chain(special).collect());
        let row = format!("| `{}` | {} | {fields} | {names} |\n", tool.name, tool.what);
        assert!(events.contains(&row), "events.md lacks the row\n{row}");
    }
    let cases = read("docs/reference/test-cases.md");
    let schema = environment.run(&["schema", "case"]).json();
    for field in schema["properties"].as_object().unwrap().keys() {
        assert!(cases.contains(&format!("`{field}`")), "test-cases.md does not name {field}");
    }
    let journal = read("docs/reference/journal.md");
    let schema = environment.run(&["schema", "record"]).json();
    for field in schema["properties"].as_object().unwrap().keys() {
        assert!(journal.contains(&format!("`{field}`")), "journal.md does not name {field}");
    }
}

/// As above, of runbooks.
#[test]
fn the_reference_of_runbooks_is_complete() {
    use anyhook_model::runbook_keys as keys;
    let page = read("docs/reference/runbooks.md");
    let all = [
        keys::RUNBOOK,
        keys::PIPELINE,
        keys::VARIABLE,
        keys::WORKSPACE,
        keys::NOTIFY,
        keys::STEP,
        keys::RUN,
        keys::NEXT,
        keys::AGENT,
    ];
    for key in all.map(keys::names).concat().iter().chain(keys::LATER) {
        assert!(page.contains(&format!("`{key}`")), "runbooks.md does not name {key}");
    }
    for (_, verb) in anyhook_model::reaction::Verb::ALL {
        assert!(page.contains(&format!("`{verb}`")), "runbooks.md does not name {verb}");
    }
}

/// As above, of workflows: every key and word, and every finding.
#[test]
fn the_reference_of_workflows_is_complete() {
    use anyhook_workflow::definition::keys;
    use anyhook_workflow::vocabulary::{Mode, OnFailure, Risk, Severity, Verdict, When};
    let page = read(WORKFLOW_PAGE);
    let all = keys::TABLES.iter().flat_map(|table| table.names());
    let words = Mode::ALL.iter().map(|(_, word)| *word);
    let words = words.chain(OnFailure::ALL.iter().map(|(_, word)| *word));
    let words = words.chain(Risk::ALL.iter().map(|(_, word)| *word));
    let words = words.chain(Severity::ALL.iter().map(|(_, word)| *word));
    let words = words.chain(Verdict::ALL.iter().map(|(_, word)| *word));
    let words = words.chain(When::ALL.iter().map(|(_, word)| *word));
    for word in all.chain(words) {
        assert!(page.contains(&format!("`{word}`")), "workflow-file.md does not name {word}");
    }
}

/// As above, of artifacts: every kind with its file, and every field at its kind or one it names.
#[test]
fn the_reference_of_artifacts_is_complete() {
    let kinds: Vec<_> = crate::workflow::method().kinds().collect();
    let page = read("docs/reference/artifacts.md");
    let part = |name: &str| {
        let start = page.find(&format!("\n## {name}\n")).unwrap_or_else(|| panic!("no {name}"));
        let rest = &page[start + 4..];
        &rest[..rest.find("\n## ").unwrap_or(rest.len())]
    };
    let definition = crate::workflow::method().definition();
    let stages = definition.stages.iter().flat_map(|stage| &stage.artifacts);
    let made = stages.chain(definition.reviews.iter().flat_map(|review| &review.artifacts));
    let made = made.map(|artifact| artifact.file.text.as_str());
    for file in made.chain(anyhook_workflow::schemas::OWN_KINDS.iter().map(|kind| kind.file())) {
        assert!(page.contains(&format!("{file}`")), "{file}");
    }
    for kind in &kinds {
        let own = part(kind.name());
        let other = kinds.iter().find(|other| own.contains(&format!("(#{other})")));
        let text = format!("{own}{}", other.map(|other| part(other.name())).unwrap_or_default());
        let schema: Value = serde_json::from_str(kind.text()).unwrap();
        let mut places = vec![&schema];
        while let Some(place) = places.pop() {
            for (field, inner) in place["properties"].as_object().into_iter().flatten() {
                assert!(text.contains(&format!("`{field}`")), "{kind}: {field}");
                places.push(inner);
            }
            places.extend(place.get("items"));
            places.extend(place["$defs"].as_object().into_iter().flat_map(|all| all.values()));
        }
    }
}

/// As above, of what is said by and to the daemon.
#[test]
fn the_reference_of_the_daemon_is_complete() {
    let environment = environment();
    let page = read("docs/reference/daemon.md");
    let names = |name: &str| assert!(page.contains(&format!("`{name}`")), "daemon.md lacks {name}");
    for name in anyhook_model::BusEvent::TYPES {
        names(name);
    }
    let schema = environment.run(&["schema", "happening"]).json();
    for kind in ["AgentReport", "ProcessName", "ApprovalRequest", "Resolution", "PipelineReport"] {
        schema["$defs"][kind]["properties"].as_object().unwrap().keys().for_each(|key| names(key));
    }
    let request = environment.run(&["schema", "daemon-request"]).json().to_string();
    let response = environment.run(&["schema", "daemon-response"]).json();
    for code in response["$defs"]["RefusalCode"]["oneOf"].as_array().unwrap() {
        names(code["const"].as_str().unwrap());
    }
    let headings = anchors(&page);
    for what in [
        "status",
        "stop",
        "agents",
        "decisions",
        "resolve",
        "ask",
        "follow",
        "pipelines",
        "run_pipeline",
        "cancel_pipeline",
        "resume_pipeline",
        "pipeline_log",
        "session",
        "send",
        "thaw",
        "kill",
    ] {
        assert!(request.contains(&format!("\"{what}\"")) && headings.contains(what), "{what}");
    }
}

#[test]
fn blocks_are_read_with_their_words() {
    let page = "a\n```sh no-run\nx\n```\n````markdown title=a/b\n```\nin\n```\n````\n";
    let found = blocks(page);
    assert_eq!(found.len(), 2);
    assert!(found[0].is_marked("no-run") && found[0].line == 2);
    assert_eq!((found[1].title(), found[1].text.as_str()), (Some("a/b"), "```\nin\n```\n"));
    assert_eq!((found[0].above.as_str(), found[1].above.as_str()), ("a", ""));
}

#[test]
fn a_command_may_have_another_exit_code() {
    assert_eq!(
        commands("a\nb \\\n  c # exit 2\nd\n"),
        [("a\n".to_owned(), 0), ("b \\\n  c # exit 2\n".to_owned(), 2), ("d\n".to_owned(), 0)]
    );
}

#[test]
fn what_differs_from_run_to_run_is_made_equal() {
    assert_eq!(
        normal_line("2026-11-15 21:12:37  0myh0ngq  before_tool   deny  guard  13 ms   Shell ls"),
        "[TIME] [TIME] [ID] before_tool deny guard [NUMBER] s Shell ls"
    );
    assert_eq!(normal_line("at       2026-11-15T21:12:37.117Z"), "at [TIME]");
    assert_eq!(normal_line("idle  12s  (process 4711,"), "idle [AGE] (process [NUMBER]");
    assert_eq!(normal_line("4714219d"), "[ID]");
    assert_eq!(normal_line("agent `7k2m9x4q.review.3`"), "agent `[ID].review.3`");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a\n…\nd"), &lines("a\nb\nc\nd")));
    assert!(!fits(&lines("a\n…\nd"), &lines("a\nb")));
}
