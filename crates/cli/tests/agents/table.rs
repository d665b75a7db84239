//! The tables of what each agent does, kept in the documents.
//!
//! Each agent's test compares its own column, so that they can run side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhook_testkit::agents::Agent;

/// What happens in an agent: behaviour and outcome, row by row.
pub type Column = Vec<(String, String)>;

/// A page with a table, one column for each agent.
pub struct Page {
    /// The page in `docs`.
    file: &'static str,
    title: &'static str,
    /// What the cells are.
    about: &'static str,
    /// What the rows are.
    rows: &'static str,
    /// The agents it is about.
    agents: &'static [Agent],
}

/// What hooks do.
pub const HOOKS: Page = Page {
    file: "hosts/behaviour.md",
    title: "What each agent does",
    about: "Each cell was observed in the real program, run by the tests with a scripted model: the \
            same hooks, installed with `anyhook install`. \"Told\" means that the text was in the \
            next request to the model.",
    rows: "what happens",
    agents: &Agent::ALL,
};

/// What packs do.
pub const PACKS: Page = Page {
    file: "packs/behaviour.md",
    title: "What each pack does in each agent",
    about: "Each cell was observed in the real program, run by the tests with a scripted model: \
            packs added with `anyhook add`, the agent connected with `anyhook install`. What looks \
            like something that a pack denies, and is not, ran.",
    rows: "pack",
    agents: &[Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli, Agent::OpenCode],
};

impl Page {
    /// Compares an agent's column with the documents, or writes it there.
    pub fn compare(&self, agent: Agent, column: &Column) {
        if std::env::var_os("ANYHOOK_UPDATE_BEHAVIOUR").is_some_and(|update| update == "1") {
            return self.update(agent, column);
        }
        assert_eq!(
            Some(column),
            self.columns().get(agent.name()),
            "{} is not as docs/{} says; if it should be: ANYHOOK_UPDATE_BEHAVIOUR=1",
            agent.name(),
            self.file
        );
    }

    /// Returns what the documents say, by agent.
    pub fn columns(&self) -> BTreeMap<String, Column> {
        read(&fs::read_to_string(self.path()).unwrap_or_default())
    }

    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(self.file)
    }

    fn update(&self, agent: Agent, column: &Column) {
        let path = self.path();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file =
            File::options().create(true).truncate(false).read(true).write(true).open(path).unwrap();
        // The others write theirs at the same time.
        file.lock().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let mut columns = read(&text);
        columns.insert(agent.name().to_owned(), column.clone());
        file.rewind().unwrap();
        file.set_len(0).unwrap();
        file.write_all(self.show(&columns, column).as_bytes()).unwrap();
    }

    /// Shows all columns, with the rows of one.
    fn show(&self, columns: &BTreeMap<String, Column>, rows: &Column) -> String {
        let line = |first: &str, cells: Vec<&str>| format!("| {first} | {} |\n", cells.join(" | "));
        let mut text = format!("{MADE}\n\n# {}\n\n{}\n\n", self.title, self.about);
        text += &line(self.rows, columns.keys().map(String::as_str).collect());
        text += &format!("|---|{}\n", "---|".repeat(columns.len()));
        for (behaviour, _) in rows {
            let cells = columns.values().map(|column| cell(column, behaviour)).collect();
            text += &line(behaviour, cells);
        }
        text
    }
}

const MADE: &str = "<!-- Made by the end-to-end tests: ANYHOOK_UPDATE_BEHAVIOUR=1 cargo test -p anyhook --test agents; changes here are lost. -->";

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

fn cell<'column>(column: &'column Column, behaviour: &str) -> &'column str {
    column.iter().find(|(name, _)| name == behaviour).map_or("?", |(_, outcome)| outcome)
}

#[test]
fn the_tables_are_whole() {
    for page in [HOOKS, PACKS] {
        let text = fs::read_to_string(page.path()).unwrap();
        let columns = read(&text);
        let agents: BTreeSet<_> = columns.keys().map(String::as_str).collect();
        let expected: BTreeSet<_> = page.agents.iter().map(|agent| agent.name()).collect();
        assert_eq!(agents, expected, "{}", page.file);
        let shown = page.show(&columns, &columns["codex"]);
        assert_eq!(shown, text, "made with ANYHOOK_UPDATE_BEHAVIOUR=1");
        assert!(!text.contains(" ? "), "{text}");
    }
}
