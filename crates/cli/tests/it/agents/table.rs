//! The table of what each agent does, kept in the documents.
//!
//! Each agent's test compares its own column, so that they can run side by side.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhook_testkit::agents::Agent;

/// What happens in an agent: behaviour and outcome, row by row.
pub type Column = Vec<(String, String)>;

const BEFORE: &str = "<!-- Made by the end-to-end tests: ANYHOOK_UPDATE_BEHAVIOUR=1 cargo test -p anyhook --test it agents; changes here are lost. -->

# What each agent does

Each cell was observed in the real program, run by the tests with a scripted model: the same \
hooks, installed with `anyhook install`. \"Told\" means that the text was in the next request to \
the model.

";

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts/behaviour.md")
}

/// Compares an agent's column with the documents, or writes it there.
pub fn compare(agent: Agent, column: &Column) {
    if std::env::var_os("ANYHOOK_UPDATE_BEHAVIOUR").is_some_and(|update| update == "1") {
        return update(agent, column);
    }
    let kept = read(&fs::read_to_string(file()).unwrap_or_default());
    assert_eq!(
        Some(column),
        kept.get(agent.name()),
        "{} is not as docs/hosts/behaviour.md says; if it should be: ANYHOOK_UPDATE_BEHAVIOUR=1",
        agent.name()
    );
}

fn update(agent: Agent, column: &Column) {
    fs::create_dir_all(file().parent().unwrap()).unwrap();
    let mut file =
        File::options().create(true).truncate(false).read(true).write(true).open(file()).unwrap();
    // The others write theirs at the same time.
    file.lock().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    let mut columns = read(&text);
    columns.insert(agent.name().to_owned(), column.clone());
    file.rewind().unwrap();
    file.set_len(0).unwrap();
    file.write_all(show(&columns, column).as_bytes()).unwrap();
}

/// Reads the columns of a table, by agent.
fn read(text: &str) -> BTreeMap<String, Column> {
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect())
        .collect();
    let Some((names, rows)) = rows.split_first() else { return BTreeMap::new() };
    let column = |number: usize| {
        let cell = |row: &Vec<&str>| (row[0].to_owned(), row[number].to_owned());
        rows.iter().filter(|row| row.len() == names.len()).map(cell).collect()
    };
    names
        .iter()
        .enumerate()
        .skip(1)
        .map(|(number, name)| ((*name).to_owned(), column(number)))
        .collect()
}

/// Shows all columns, with the rows of one.
fn show(columns: &BTreeMap<String, Column>, rows: &Column) -> String {
    let line = |first: &str, cells: Vec<&str>| format!("| {first} | {} |\n", cells.join(" | "));
    let mut text = BEFORE.to_owned();
    text += &line("what happens", columns.keys().map(String::as_str).collect());
    text += &format!("|---|{}\n", "---|".repeat(columns.len()));
    for (behaviour, _) in rows {
        let cells = columns.values().map(|column| cell(column, behaviour)).collect();
        text += &line(behaviour, cells);
    }
    text
}

fn cell<'column>(column: &'column Column, behaviour: &str) -> &'column str {
    column.iter().find(|(name, _)| name == behaviour).map_or("?", |(_, outcome)| outcome)
}

#[test]
fn the_table_is_whole() {
    let text = fs::read_to_string(file()).unwrap();
    let columns = read(&text);
    let agents: Vec<_> = columns.keys().map(String::as_str).collect();
    assert_eq!(agents, Agent::ALL.map(Agent::name));
    assert_eq!(show(&columns, &columns["codex"]), text, "made with ANYHOOK_UPDATE_BEHAVIOUR=1");
    assert!(!text.contains(" ? "), "{text}");
}
