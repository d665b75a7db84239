//! `cargo xtask generate`: the files that are made from the code, and the check that they are
//! up to date.
//!
//! Everything is first made in a temporary folder, laid out as in the repository. Then it is
//! either put into place or compared.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{Ending, Workspace, process};

const SCHEMAS: &str = "crates/model/schemas";
const REFERENCE: &str = "docs/reference";
const NOTE: &str = "<!-- Made by `cargo xtask generate`; changes here are lost. -->\n";

/// Writes the generated files, or compares them.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<Ending> {
    match arguments {
        [] => write(workspace),
        [only] if only == "--check" => check(workspace),
        _ => bail!("`generate` takes only `--check`, but got `{}`", arguments.join(" ")),
    }
}

/// Says which files in the repository differ from what the code makes now.
pub fn check(workspace: &Workspace) -> Result<Ending> {
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
    for file in stale_schemas(workspace, fresh.path())? {
        differ.push(format!("{} is not generated any more", file.display()));
    }
    if differ.is_empty() {
        println!("generated files are up to date");
        return Ok(Ending::Good);
    }
    println!("{}\nhint: run cargo xtask generate", differ.join("\n"));
    Ok(Ending::Bad)
}

fn write(workspace: &Workspace) -> Result<Ending> {
    let fresh = generate(workspace)?;
    for file in files_below(fresh.path())? {
        let text = fs::read(fresh.path().join(&file))?;
        let place = workspace.root.join(&file);
        // A file left alone keeps its time, so cargo need not build again.
        if fs::read(&place).is_ok_and(|old| old == text) {
            continue;
        }
        fs::create_dir_all(place.parent().context("a generated file has no folder")?)?;
        fs::write(&place, text)?;
        println!("wrote {}", file.display());
    }
    for file in stale_schemas(workspace, fresh.path())? {
        fs::remove_file(workspace.root.join(&file))?;
        println!("removed {}", file.display());
    }
    Ok(Ending::Good)
}

/// Makes every generated file in a temporary folder.
fn generate(workspace: &Workspace) -> Result<tempfile::TempDir> {
    let fresh = tempfile::tempdir()?;
    let schemas = fresh.path().join(SCHEMAS);
    let reference = fresh.path().join(REFERENCE);
    fs::create_dir_all(&schemas)?;
    fs::create_dir_all(&reference)?;

    let mut command = workspace.cargo();
    command.args(["run", "--quiet", "--locked", "--package", "anyhook-model"]);
    command.args(["--features", "schema", "--example", "generate_schemas", "--"]).arg(&schemas);
    process::run(&mut command)?;
    fs::write(reference.join("schemas.md"), schemas_page(&schemas)?)?;

    let anyhook = workspace.build_anyhook("dev")?;
    fs::write(reference.join("commands.md"), commands_page(&anyhook)?)?;
    Ok(fresh)
}

/// The page with the help text of every command.
fn commands_page(anyhook: &Path) -> Result<String> {
    let mut page = format!("# Commands\n\n{NOTE}\nWhat `anyhook COMMAND --help` prints.\n");
    add_command(anyhook, &mut Vec::new(), &mut page)?;
    Ok(page)
}

/// Adds one command's help text and then, in order, those of the commands below it.
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

/// The names in the "Commands:" section of a help text, without `help` itself.
fn commands_in(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
        // Names stand two columns in; what stands further in continues a description.
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The page that lists the schemas.
fn schemas_page(folder: &Path) -> Result<String> {
    let mut page = format!(
        "# JSON Schemas\n\n{NOTE}\n`anyhook schema NAME` prints one of these.\n\n\
         | file | title | what it describes |\n|---|---|---|\n"
    );
    let files = files_below(folder)?;
    if files.is_empty() {
        bail!("no schema was generated");
    }
    for file in files {
        let text = fs::read_to_string(folder.join(&file))?;
        let schema: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} is not JSON", file.display()))?;
        let file = file.display();
        let _ = writeln!(
            page,
            "| [`{file}`](../../{SCHEMAS}/{file}) | {} | {} |",
            cell(&schema["title"]),
            cell(&schema["description"])
        );
    }
    Ok(page)
}

/// A text as one cell of a table.
fn cell(value: &Value) -> String {
    let text = value.as_str().unwrap_or("");
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Schemas in the repository that are not made any more.
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

/// Every file below a folder, relative to it, in order.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
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
