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

/// The columns of a table, by agent.
type Columns = BTreeMap<String, Column>;

/// A page with tables, each with one column for each agent.
struct Page {
    /// The page in `docs`.
    file: &'static str,
    title: &'static str,
    /// What the cells are.
    about: &'static str,
    /// The agents it is about.
    agents: &'static [Agent],
    tables: &'static [Heading],
}

/// What is above a table.
struct Heading {
    /// The heading of its section; none if it is the only one.
    section: Option<&'static str>,
    /// What the rows are.
    rows: &'static str,
}

/// A table of a page, which is made by the tests of one module.
pub struct Table {
    page: &'static Page,
    /// Its place among the page's tables.
    place: usize,
}

static BEHAVIOUR: Page = Page {
    file: "hosts/behaviour.md",
    title: "What each agent does",
    about: "Each cell was observed in the real program, run by the tests with a scripted model: the \
            same hooks, installed with `anyhook install`. \"Told\" means that the text was in the \
            next request to the model.",
    agents: &Agent::ALL,
    tables: &[
        Heading { section: Some("In the main conversation"), rows: "what happens" },
        Heading { section: Some("Beside the main conversation"), rows: "what happens" },
        Heading { section: Some("Settings of a project"), rows: "what happens" },
    ],
};

static PACK_BEHAVIOUR: Page = Page {
    file: "packs/behaviour.md",
    title: "What each pack does in each agent",
    about: "Each cell was observed in the real program, run by the tests with a scripted model: \
            packs added with `anyhook add`, the agent connected with `anyhook install`. What looks \
            like something that a pack denies, and is not, ran.",
    agents: &[Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli, Agent::OpenCode],
    tables: &[Heading { section: None, rows: "pack" }],
};

/// What hooks do.
pub const HOOKS: Table = Table { page: &BEHAVIOUR, place: 0 };
/// What happens beside the main conversation.
pub const BESIDE: Table = Table { page: &BEHAVIOUR, place: 1 };
/// What a project that disables hooks achieves.
pub const OFF: Table = Table { page: &BEHAVIOUR, place: 2 };
/// What packs do.
pub const PACKS: Table = Table { page: &PACK_BEHAVIOUR, place: 0 };

impl Table {
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
            self.page.file
        );
    }

    /// Returns what the documents say, by agent.
    pub fn columns(&self) -> Columns {
        let text = fs::read_to_string(self.page.path()).unwrap_or_default();
        self.page.read(&text).swap_remove(self.place)
    }

    fn update(&self, agent: Agent, column: &Column) {
        let path = self.page.path();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file =
            File::options().create(true).truncate(false).read(true).write(true).open(path).unwrap();
        // The others write theirs at the same time.
        file.lock().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let mut tables = self.page.read(&text);
        tables[self.place].insert(agent.name().to_owned(), column.clone());
        let mut rows: Vec<Vec<String>> = tables.iter().map(rows_of).collect();
        rows[self.place] = names(column);
        file.rewind().unwrap();
        file.set_len(0).unwrap();
        file.write_all(self.page.show(&tables, &rows).as_bytes()).unwrap();
    }
}

impl Page {
    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(self.file)
    }

    /// Reads the columns of each of its tables.
    fn read(&self, text: &str) -> Vec<Columns> {
        let of = |heading: &Heading| match heading.section {
            None => read(text),
            Some(section) => {
                let start = format!("\n## {section}\n");
                let rest = text.split_once(&start).map_or("", |(_, rest)| rest);
                read(rest.split("\n## ").next().unwrap_or_default())
            }
        };
        self.tables.iter().map(of).collect()
    }

    /// Shows its tables, each with these rows.
    fn show(&self, tables: &[Columns], rows: &[Vec<String>]) -> String {
        let line = |first: &str, cells: Vec<&str>| format!("| {first} | {} |\n", cells.join(" | "));
        let mut text = format!("{MADE}\n\n# {}\n\n{}\n", self.title, self.about);
        for ((heading, columns), rows) in self.tables.iter().zip(tables).zip(rows) {
            if let Some(section) = heading.section {
                text += &format!("\n## {section}\n");
            }
            text += "\n";
            text += &line(heading.rows, columns.keys().map(String::as_str).collect());
            text += &format!("|---|{}\n", "---|".repeat(columns.len()));
            for behaviour in rows {
                let cells = columns.values().map(|column| cell(column, behaviour)).collect();
                text += &line(behaviour, cells);
            }
        }
        text
    }
}

fn names(column: &Column) -> Vec<String> {
    column.iter().map(|(behaviour, _)| behaviour.clone()).collect()
}

/// Returns the rows of a table, which are those of each of its columns.
fn rows_of(columns: &Columns) -> Vec<String> {
    columns.values().next().map(names).unwrap_or_default()
}

const MADE: &str = "<!-- Made by the end-to-end tests: ANYHOOK_UPDATE_BEHAVIOUR=1 cargo test -p anyhook --test agents; changes here are lost. -->";

/// Reads the columns of a table, by agent.
fn read(text: &str) -> Columns {
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
        // A table that no test has filled has no column.
        .filter(|(_, name)| !name.is_empty())
        .map(|(number, name)| ((*name).to_owned(), column(number)))
        .collect()
}

fn cell<'column>(column: &'column Column, behaviour: &str) -> &'column str {
    column.iter().find(|(name, _)| name == behaviour).map_or("?", |(_, outcome)| outcome)
}

#[test]
fn the_tables_are_whole() {
    for page in [&BEHAVIOUR, &PACK_BEHAVIOUR] {
        let text = fs::read_to_string(page.path()).unwrap();
        let tables = page.read(&text);
        let expected: BTreeSet<_> = page.agents.iter().map(|agent| agent.name()).collect();
        for columns in &tables {
            let agents: BTreeSet<_> = columns.keys().map(String::as_str).collect();
            assert_eq!(agents, expected, "{}", page.file);
        }
        let rows: Vec<_> = tables.iter().map(rows_of).collect();
        assert_eq!(page.show(&tables, &rows), text, "made with ANYHOOK_UPDATE_BEHAVIOUR=1");
        assert!(!text.contains(" ? "), "{text}");
    }
}
