//! `cargo xtask generate`: generates files from the code, and checks that they are up to date.
//!
//! Everything is first generated in a temporary folder, with the layout of the repository. Then it
//! is either copied or compared.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{TaskResult, Workspace, bench, process};

const SCHEMAS: &str = "crates/model/schemas";
/// The path of the schema of a workflow's file, which the program generates from the keys that it
/// reads.
const WORKFLOW_SCHEMAS: &str = "crates/workflow/schemas";
/// The schemas of a workflow's artifacts, which are written by hand: those that the program itself
/// reads or writes, and those of the method that comes with it.
const ARTIFACTS: [&str; 2] =
    ["crates/workflow/src/schemas", "crates/cli/packs/delivery-workflow/workflow/schemas"];
/// The names that agents use, as the model knows them.
const AGENT_NAMES: &str = "crates/model/src/agent_names.rs";
/// The packages for agents' plugin mechanisms.
const AGENT_PACKAGES: &str = "plugins";
/// The description of the HTTP API, which is in the program.
const API_DESCRIPTION: &str = "crates/ui/openapi.json";
const REFERENCE: &str = "docs/reference";
const HOSTS: &str = "docs/hosts";
const PICTURES: &str = "docs/pictures";
const NOTE: &str = "<!-- Made by `cargo xtask generate`; changes here are lost. -->\n";

/// Writes the generated files, or compares them.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    match arguments {
        [] => write(workspace),
        [only] if only == "--check" => check(workspace),
        _ => bail!("`generate` takes only `--check`, but got `{}`", arguments.join(" ")),
    }
}

/// Reports which files in the repository differ from the generated ones.
pub fn check(workspace: &Workspace) -> Result<TaskResult> {
    let fresh = generate(workspace)?;
    let mut differ = Vec::new();
    for file in files_below(fresh.path())? {
        let wanted = fs::read(fresh.path().join(&file))?;
        match fs::read(workspace.root.join(&file)) {
            Ok(found) if found == wanted => {}
            Ok(_) => differ.push(format!("{} differs", file.display())),
            Err(_) => differ.push(format!("{} is missing", file.display())),
        }
    }
    for file in stale(workspace, fresh.path())? {
        differ.push(format!("{} is not generated any more", file.display()));
    }
    if differ.is_empty() {
        println!("generated files are up to date");
        return Ok(TaskResult::Good);
    }
    println!("{}\nhint: run cargo xtask generate", differ.join("\n"));
    Ok(TaskResult::Bad)
}

fn write(workspace: &Workspace) -> Result<TaskResult> {
    let fresh = generate(workspace)?;
    for file in files_below(fresh.path())? {
        let text = fs::read(fresh.path().join(&file))?;
        let place = workspace.root.join(&file);
        // An unchanged file keeps its time, so cargo need not rebuild.
        if fs::read(&place).is_ok_and(|old| old == text) {
            continue;
        }
        fs::create_dir_all(place.parent().context("a generated file has no folder")?)?;
        fs::write(&place, text)?;
        println!("wrote {}", file.display());
    }
    for file in stale(workspace, fresh.path())? {
        fs::remove_file(workspace.root.join(&file))?;
        println!("removed {}", file.display());
    }
    Ok(TaskResult::Good)
}

/// Generates every file in a temporary folder.
fn generate(workspace: &Workspace) -> Result<tempfile::TempDir> {
    let fresh = tempfile::tempdir()?;
    let schemas = fresh.path().join(SCHEMAS);
    let reference = fresh.path().join(REFERENCE);
    fs::create_dir_all(&schemas)?;
    fs::create_dir_all(&reference)?;

    let programs = workspace.build_everything()?;
    process::run(Command::new(programs.join("examples/generate_schemas")).arg(&schemas))?;

    let description = process::output(&mut Command::new(programs.join("examples/openapi")))?;
    let file = fresh.path().join(API_DESCRIPTION);
    fs::create_dir_all(file.parent().context("a generated file has no folder")?)?;
    fs::write(file, description)?;

    let names = fresh.path().join(AGENT_NAMES);
    fs::create_dir_all(names.parent().context("a generated file has no folder")?)?;
    let events = reference.join("events.md");
    let mut command = Command::new(programs.join("examples/agent_names"));
    process::run(command.arg(&names).arg(&events))?;
    let page = fs::read_to_string(workspace.root.join(REFERENCE).join("events.md"))?;
    let table = fs::read_to_string(&events)?;
    fs::write(&events, bench::page::filled(&page, &[("tools", table)])?)?;
    let mut command = Command::new("rustfmt");
    command.args(["--edition", "2024", "--config-path"]).arg(&workspace.root).arg(&names);
    process::run(&mut command)?;

    let packages = programs.join("examples/agent_packages");
    process::run(Command::new(packages).arg(fresh.path()))?;

    let anyhook = programs.join("anyhook");
    let file = fresh.path().join(WORKFLOW_SCHEMAS);
    fs::create_dir_all(&file)?;
    let text = process::output(Command::new(&anyhook).args(["schema", "workflow-file"]))?;
    fs::write(file.join("workflow-file.schema.json"), text)?;
    fs::write(reference.join("schemas.md"), schemas_page(workspace, fresh.path())?)?;
    fs::write(reference.join("commands.md"), commands_page(&anyhook)?)?;

    let pages = fresh.path().join(HOSTS);
    fs::create_dir_all(&pages)?;
    let hosts = hosts(&anyhook)?;
    fs::write(pages.join("README.md"), hosts_page(&hosts))?;
    for host in hosts.iter().filter(|host| host["unsupported"].is_null()) {
        fs::write(pages.join(format!("{}.md", word(&host["id"]))), host_page(host))?;
    }

    let pictures = fresh.path().join(PICTURES);
    fs::create_dir_all(&pictures)?;
    fs::write(pictures.join("delivery-workflow.svg"), workflow_picture(&anyhook)?)?;
    bench::page::generate(workspace, fresh.path())?;
    Ok(fresh)
}

/// The picture of the workflow that comes with the program.
fn workflow_picture(anyhook: &Path) -> Result<String> {
    // A project without a workflow of its own.
    let nowhere = tempfile::tempdir()?;
    let mut command = Command::new(anyhook);
    command.args(["workflow", "graph", "--svg", "--plain"]);
    command.current_dir(nowhere.path()).env_clear().env("HOME", nowhere.path());
    process::output(&mut command)
}

/// What the program knows about each agent.
fn hosts(anyhook: &Path) -> Result<Vec<Value>> {
    // Which agents this machine has must not affect the pages.
    let nowhere = tempfile::tempdir()?;
    let mut command = Command::new(anyhook);
    command.args(["hosts", "--json"]).env_clear().env("HOME", nowhere.path());
    let hosts = serde_json::from_str(&process::output(&mut command)?)
        .context("anyhook hosts printed no JSON")?;
    Ok(hosts)
}

/// The page that compares the agents.
fn hosts_page(hosts: &[Value]) -> String {
    let mut page = format!(
        "# Agents\n\n{NOTE}\n\
         What a hook can do in each agent; `anyhook hosts` prints the same. \
         [How to install](../guide/install.md).\n\n\
         | agent | tested with | page |\n|---|---|---|\n"
    );
    let (refused, hosts): (Vec<&Value>, Vec<&Value>) =
        hosts.iter().partition(|host| host["unsupported"].is_string());
    for host in &hosts {
        let id = word(&host["id"]);
        let _ = writeln!(
            page,
            "| {} | {} | [`{id}`]({id}.md) |",
            cell(&host["title"]),
            host["tried_version"].as_str().unwrap_or("not run here")
        );
    }
    if !refused.is_empty() {
        page.push_str(
            "\nAgents that `anyhook install` refuses:\n\n| agent | version | why |\n|---|---|---|\n",
        );
    }
    for host in refused {
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            cell(&host["title"]),
            cell(&host["tried_version"]),
            cell(&host["unsupported"])
        );
    }
    let first = hosts.first().map_or(&[][..], |host| list(&host["capabilities"]));
    page.push_str(
        "\nA hook can **B** block, **M** change the input, add **C** context, or **A** ask the user. `·` \
         means that it sees the event and cannot influence it, `–` that the agent has no such event. \
         [What a block means at each event](../reference/events.md).\n\n| agent |",
    );
    for row in first {
        let _ = write!(page, " `{}` |", word(&row["event"]));
    }
    let _ = write!(page, "\n|---|{}", "---|".repeat(first.len()));
    for host in hosts {
        let _ = write!(page, "\n| {} |", cell(&host["title"]));
        for row in list(&host["capabilities"]) {
            let _ = write!(page, " {} |", letters(row));
        }
    }
    page.push('\n');
    page
}

/// The page of one agent.
fn host_page(host: &Value) -> String {
    let (id, title) = (word(&host["id"]), cell(&host["title"]));
    let tested = host["tried_version"].as_str().map_or_else(
        || "Not run here: written from its documentation.".to_owned(),
        |version| format!("Tested with version {version}. Other versions may differ: [`anyhook doctor --prove`](../reference/proof.md) shows whether yours heeds hooks."),
    );
    let mut page = format!(
        "# {title}\n\n{NOTE}\n\
         {tested}\n\n\
         ## Install\n\n```sh\n\
         anyhook install {id} --dry-run    # only shows what would change\n\
         anyhook install {id}\n\
         anyhook doctor --prove {id}       # shows that it works on this machine\n\
         anyhook uninstall {id} --verify   # takes it back, to the byte\n```\n\n\
         `--project` writes into the project's settings instead of the user's. \
         [More about installing](../guide/install.md).\n\n\
         ## What works\n\n\
         | event | the agent's name for it | what a hook can do |\n|---|---|---|\n"
    );
    let rows = list(&host["capabilities"]);
    for row in rows.iter().filter(|row| !row["native"].is_null()) {
        let _ = writeln!(
            page,
            "| `{}` | `{}` | {} |",
            word(&row["event"]),
            word(&row["native"]),
            powers(row)
        );
    }
    page.push_str("\n## What does not work\n\n");
    let names = |filter: &dyn Fn(&&Value) -> bool| {
        let names = rows.iter().filter(filter).map(|row| format!("`{}`", word(&row["event"])));
        names.collect::<Vec<_>>().join(", ")
    };
    let missing = names(&|row| row["native"].is_null());
    if !missing.is_empty() {
        let _ = writeln!(page, "- It has no {missing}: hooks at these events never run.");
    }
    let told = names(&|row| !row["native"].is_null() && row["block"] == false);
    let _ = writeln!(page, "- Hooks cannot block at {told}.");
    let before_tool = rows.iter().find(|row| row["event"] == "before_tool");
    if before_tool.is_some_and(|row| row["ask"] == false) {
        page.push_str(
            "- The user cannot be asked before a tool call: an `ask` becomes a deny that explains \
             how to approve \
             ([`ask_fallback`](../reference/files.md#anyhooktoml)).\n",
        );
    }
    if before_tool.is_some_and(|row| row["context"] == false) {
        page.push_str(
            "- Context added before a tool call does not reach the model; the journal records it \
             as lost.\n",
        );
    }
    page.push_str(&versions(host));
    page.push_str(
        "\n## Quirks\n\nEvidence: `run`, the real program was run; `docs`, its documentation \
         says so; `source`, its source code shows it.\n\n\
         | id | versions | what it does | what anyhook does | evidence |\n|---|---|---|---|---|\n",
    );
    for quirk in list(&host["quirks"]) {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            word(&quirk["id"]),
            cell(&quirk["versions"]),
            cell(&quirk["behaviour"]),
            cell(&quirk["mitigation"]),
            cell(&quirk["evidence"])
        );
    }
    page
}

/// Returns which versions of an agent are known, and how.
fn versions(host: &Value) -> String {
    let mut text = "\n## Versions\n\n`anyhook doctor` and `anyhook hosts` say which of these the \
         installed version is. [`anyhook doctor --prove`](../reference/proof.md) shows whether it \
         heeds hooks.\n\n| versions | hooks | how it is known |\n|---|---|---|\n"
        .to_owned();
    for contract in list(&host["contracts"]) {
        let from = word(&contract["from"]);
        let range = match contract["below"].as_str() {
            Some(below) => format!("{from} to before {below}"),
            None => format!("{from} and later"),
        };
        let note = contract["note"].as_str();
        let hooks = match (contract["supported"] == true, note) {
            (true, None) => "work as described here".to_owned(),
            (true, Some(note)) => format!("work: {note}"),
            (false, note) => format!("do not work: {}", note.unwrap_or("none is called")),
        };
        let known = match (contract["run"].as_str(), contract["documented"].as_str()) {
            (Some(version), _) => format!("version {version} was run"),
            (None, date) => format!("documentation of {}; not run", date.unwrap_or("unknown date")),
        };
        let _ = writeln!(text, "| {range} | {hooks} | {known} |");
    }
    text
}

/// What a hook can do at an event, in words.
fn powers(row: &Value) -> String {
    if row["native"].is_null() {
        return "–".to_owned();
    }
    let powers: Vec<&str> = [
        ("block", "block"),
        ("modify", "change the input"),
        ("context", "add context"),
        ("ask", "ask the user"),
    ]
    .into_iter()
    .filter_map(|(key, words)| (row[key] == true).then_some(words))
    .collect();
    if powers.is_empty() { "observe only".to_owned() } else { powers.join(", ") }
}

/// Returns what a hook can do at an event, as letters.
fn letters(row: &Value) -> String {
    if row["native"].is_null() {
        return "–".to_owned();
    }
    let powers = [("block", 'B'), ("modify", 'M'), ("context", 'C'), ("ask", 'A')];
    let letters: String = powers
        .into_iter()
        .filter_map(|(key, letter)| (row[key] == true).then_some(letter))
        .collect();
    if letters.is_empty() { "·".to_owned() } else { letters }
}

/// Returns a text without quotes.
fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The page with the help text of every command.
fn commands_page(anyhook: &Path) -> Result<String> {
    let mut page = format!("# Commands\n\n{NOTE}\nWhat `anyhook COMMAND --help` prints.\n");
    add_command(anyhook, &mut Vec::new(), &mut page)?;
    Ok(page)
}

/// Adds one command's help text and then, in order, those of its subcommands.
fn add_command(anyhook: &Path, words: &mut Vec<String>, page: &mut String) -> Result<()> {
    let mut command = Command::new(anyhook);
    // Help is wrapped to the terminal, so its width must be the same everywhere.
    command.args(&*words).arg("--help").env("COLUMNS", "100").env("NO_COLOR", "1");
    let help = process::output(&mut command)?;
    let name = ["anyhook"].into_iter().chain(words.iter().map(String::as_str));
    let _ = write!(page, "\n## {}\n\n```text\n", name.collect::<Vec<_>>().join(" "));
    for line in help.trim().lines() {
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page.push_str("```\n");
    for below in commands_in(&help) {
        words.push(below);
        add_command(anyhook, words, page)?;
        words.pop();
    }
    Ok(())
}

/// The commands that a help text lists, under one heading or in groups, without `help` itself.
fn commands_in(help: &str) -> Vec<String> {
    let mut is_list = false;
    let mut names = Vec::new();
    for line in help.lines() {
        if !line.is_empty() && !line.starts_with(' ') {
            let heading = line.strip_suffix(':');
            is_list = heading.is_some_and(|title| !matches!(title, "Arguments" | "Options"));
        }
        // Names are indented by two columns; deeper lines continue a description.
        let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        let name = name.and_then(|rest| rest.split_whitespace().next());
        names.extend(name.filter(|name| is_list && *name != "help").map(str::to_owned));
    }
    names
}

/// The page that lists the schemas.
fn schemas_page(workspace: &Workspace, fresh: &Path) -> Result<String> {
    let mut page =
        format!("# JSON Schemas\n\n{NOTE}\n`anyhook schema NAME` prints one of these.\n\n");
    page.push_str(TABLE_HEAD);
    let mut rows = schema_rows(&fresh.join(SCHEMAS), SCHEMAS)?;
    rows.extend(schema_rows(&fresh.join(WORKFLOW_SCHEMAS), WORKFLOW_SCHEMAS)?);
    rows.sort();
    for row in &rows {
        page.push_str(row);
    }
    page.push_str("\nFor the [artifacts](artifacts.md) of a workflow:\n\n");
    page.push_str(TABLE_HEAD);
    let mut rows = Vec::new();
    for home in ARTIFACTS {
        rows.extend(schema_rows(&workspace.root.join(home), home)?);
    }
    rows.sort();
    for row in &rows {
        page.push_str(row);
    }
    Ok(page)
}

const TABLE_HEAD: &str = "| file | title | what it describes |\n|---|---|---|\n";

/// Returns a row for each schema of a folder, which is in the repository at `home`.
fn schema_rows(folder: &Path, home: &str) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    let mut files = files_below(folder)?;
    files.retain(|file| {
        // The tools of `anyhook mcp` have schemas and are none.
        file.extension().is_some_and(|extension| extension == "json")
            && !file.ends_with("mcp-tools.json")
    });
    if files.is_empty() {
        bail!("there is no schema in {}", folder.display());
    }
    for file in files {
        let text = fs::read_to_string(folder.join(&file))?;
        let schema: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} is not JSON", file.display()))?;
        let file = file.display();
        rows.push(format!(
            "| [`{file}`](../../{home}/{file}) | {} | {} |\n",
            cell(&schema["title"]),
            cell(&schema["description"])
        ));
    }
    Ok(rows)
}

/// A text as one cell of a table.
fn cell(value: &Value) -> String {
    let text = value.as_str().unwrap_or("");
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Returns files in the repository that are no longer generated.
fn stale(workspace: &Workspace, fresh: &Path) -> Result<Vec<PathBuf>> {
    let mut stale = stale_schemas(workspace, fresh)?;
    let packages = Path::new(AGENT_PACKAGES);
    if workspace.root.join(packages).exists() {
        let files = files_below(&workspace.root.join(packages))?;
        let files = files.iter().map(|file| packages.join(file));
        stale.extend(files.filter(|file| !fresh.join(file).exists()));
    }
    Ok(stale)
}

/// Returns schemas in the repository that are no longer generated.
fn stale_schemas(workspace: &Workspace, fresh: &Path) -> Result<Vec<PathBuf>> {
    let folder = Path::new(SCHEMAS);
    let present = workspace.root.join(folder);
    if !present.exists() {
        return Ok(Vec::new());
    }
    let mut stale: Vec<_> = files_below(&present)?.iter().map(|file| folder.join(file)).collect();
    stale.retain(|file| {
        file.to_string_lossy().ends_with(".schema.json") && !fresh.join(file).exists()
    });
    Ok(stale)
}

/// Returns every file below a folder, relative to it, sorted.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in folder.join(&inner).read_dir()? {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            if entry.file_type()?.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_names_are_read_from_the_help_text() {
        let help = "\
One hook engine

Usage: anyhook [OPTIONS] <COMMAND>

Commands:
  demo         a tour that goes on
               for a second line
  hook         what an agent calls [aliases: h]

  completions
          a description below the name
  help         Print this message

Options:
  -h, --help  Print help
";
        assert_eq!(commands_in(help), ["demo", "hook", "completions"]);
    }

    #[test]
    fn a_command_without_commands_has_none() {
        assert!(commands_in("Usage: anyhook demo\n\nOptions:\n  -h  Print help\n").is_empty());
    }

    #[test]
    fn powers_are_words() {
        let row = serde_json::json!({"native": "X", "block": true, "modify": false, "ask": true});
        assert_eq!(powers(&row), "block, ask the user");
        assert_eq!(powers(&serde_json::json!({"native": "X"})), "observe only");
        assert_eq!(powers(&serde_json::json!({"native": null, "block": true})), "–");
        assert_eq!(letters(&row), "BA");
        assert_eq!(letters(&serde_json::json!({"native": "X"})), "·");
    }

    #[test]
    fn a_cell_is_one_line_without_bars() {
        assert_eq!(cell(&Value::from("a |\n b")), "a \\| b");
        assert_eq!(cell(&Value::Null), "");
    }

    #[test]
    fn files_are_found_at_every_depth_in_order() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(folder.path().join("b/inner"), "").unwrap();
        fs::write(folder.path().join("a"), "").unwrap();
        assert_eq!(files_below(folder.path()).unwrap(), [Path::new("a"), Path::new("b/inner")]);
    }
}
