//! Tests with OpenCode's database, as OpenCode writes it.

use rusqlite::Connection;
use serde_json::Value;

use super::*;

const SESSIONS: [(&str, &str); 4] = [
    ("text", "working idle"),
    ("tools", "working idle"),
    ("rate-limited", "working failed(rate_limited)"),
    ("unauthorized", "working failed(unauthorized)"),
];

fn path(scene: &Scene) -> PathBuf {
    scene.path(".local/share/opencode/opencode.db")
}

fn make(scene: &Scene) -> Connection {
    let connection = Connection::open(path(scene)).unwrap();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../hosts/src/opencode/fixtures/logs/schema.sql");
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection.execute_batch(&fs::read_to_string(schema).unwrap()).unwrap();
    connection
}

/// A recorded session: what was written, in order, with times shifted to now.
struct Recording {
    session: String,
    steps: Vec<(String, Value)>,
}

impl Recording {
    fn read(log: &str) -> Self {
        Self::made(log, 1)
    }

    /// Returns it as if it was made this many milliseconds from now.
    fn made(log: &str, later: i64) -> Self {
        let text = recorded("opencode", log);
        let steps: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let session = steps[0]["row"]["id"].as_str().unwrap().to_owned();
        let first = steps[0]["row"]["time_created"].as_i64().unwrap();
        let shift = jiff::Timestamp::now().as_millisecond() - first + later;
        let steps = steps.into_iter().map(|mut step| {
            for name in ["time_created", "time_updated"] {
                let time = step["row"][name].as_i64().unwrap() + shift;
                step["row"][name] = time.into();
            }
            (step["table"].as_str().unwrap().to_owned(), step["row"].take())
        });
        Self { session, steps: steps.collect() }
    }
}

fn write(connection: &Connection, (table, row): &(String, Value)) {
    let columns: Vec<&String> = row.as_object().unwrap().keys().collect();
    let names = columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let values = vec!["?"; columns.len()].join(", ");
    let parameters = row.as_object().unwrap().values().map(|value| match value {
        Value::Number(number) if number.is_i64() => number.as_i64().into(),
        Value::Number(number) => rusqlite::types::Value::Real(number.as_f64().unwrap()),
        value => value.as_str().unwrap().to_owned().into(),
    });
    let sql = format!("INSERT OR REPLACE INTO {table} ({names}) VALUES ({values})");
    connection.execute(&sql, rusqlite::params_from_iter(parameters)).unwrap();
}

fn write_all(connection: &Connection, steps: &[(String, Value)]) {
    for step in steps {
        write(connection, step);
    }
}

fn names(scene: &Scene) -> Vec<String> {
    let folder = path(scene).parent().unwrap().to_owned();
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_database_that_grows_is_followed() {
    for is_told in [true, false] {
        let mut scene = Scene::new();
        scene.options.is_told = is_told;
        scene.options.often = Duration::from_millis(20);
        scene.watch();
        let connection = make(&scene);
        for (log, expected) in SESSIONS {
            let recording = Recording::read(log);
            for step in &recording.steps {
                write(&connection, step);
                while scene.next(Instant::now()).is_some() {}
            }
            scene.expect(&format!("opencode:{}", recording.session), expected);
        }
    }
}

#[test]
fn a_restart_neither_misses_nor_repeats() {
    let mut scene = Scene::watched();
    let connection = make(&scene);
    let recording = Recording::read("tools");
    let agent = format!("opencode:{}", recording.session);
    let (first, rest) = recording.steps.split_at(20);
    write_all(&connection, first);
    scene.expect(&agent, "working");
    scene.stop();
    write_all(&connection, rest);
    scene.watch();
    scene.expect(&agent, "working idle");
    scene.watch();
    let next = Recording::read("text");
    write_all(&connection, &next.steps);
    scene.expect(&format!("opencode:{}", next.session), "working idle");
    assert_eq!(scene.told(&agent), "working idle");
}

#[test]
fn a_database_nobody_has_open_stays_as_it_is() {
    let mut scene = Scene::new();
    let connection = make(&scene);
    let recording = Recording::made("text", -10_000);
    write_all(&connection, &recording.steps);
    drop(connection);
    assert_eq!(names(&scene), ["opencode.db"]);
    let before = fs::read(path(&scene)).unwrap();
    scene.watch();
    scene.expect(&format!("opencode:{}", recording.session), "idle");
    scene.stop();
    assert_eq!(names(&scene), ["opencode.db"]);
    assert!(fs::read(path(&scene)).unwrap() == before);
}

#[test]
fn a_question_is_a_prompt_until_it_is_answered() {
    let mut scene = Scene::watched();
    let connection = make(&scene);
    let recording = Recording::read("tools");
    let agent = format!("opencode:{}", recording.session);
    for (table, row) in &recording.steps {
        let mut row = row.clone();
        let data = row["data"].as_str().unwrap_or_default().replace("\"bash\"", "\"question\"");
        if table != "session" {
            row["data"] = data.clone().into();
        }
        write(&connection, &(table.clone(), row));
        if data.contains("\"status\":\"running\"") && data.contains("call_1_0") {
            scene.expect(&agent, "working prompt(question)");
        }
        if data.contains("\"status\":\"completed\"") && data.contains("call_1_0") {
            scene.expect(&agent, "working prompt(question) working");
        }
    }
}

#[test]
fn a_subagents_session_is_not_told() {
    let mut scene = Scene::watched();
    let connection = make(&scene);
    let recording = Recording::read("text");
    for (table, row) in &recording.steps {
        let mut row = row.clone();
        if table == "session" {
            row["parent_id"] = "ses_above".into();
        }
        write(&connection, &(table.clone(), row));
    }
    let other = Recording::read("tools");
    write_all(&connection, &other.steps);
    scene.expect(&format!("opencode:{}", other.session), "working idle");
    assert_eq!(scene.told(&format!("opencode:{}", recording.session)), "");
}

#[test]
fn what_is_no_database_of_opencode_says_nothing() {
    let mut scene = Scene::watched();
    fs::write(path(&scene), "garbage ".repeat(10_000)).unwrap();
    let other = Connection::open(scene.path(".local/share/opencode/opencode-beta.db")).unwrap();
    other
        .execute_batch(
            "CREATE TABLE message (id, data); CREATE TABLE part (id);
             CREATE VIEW session AS SELECT 1 AS id;",
        )
        .unwrap();
    scene.catch_up();
    // It finally exists.
    fs::remove_file(path(&scene)).unwrap();
    let connection = make(&scene);
    let recording = Recording::read("text");
    write_all(&connection, &recording.steps);
    scene.expect(&format!("opencode:{}", recording.session), "working idle");
}
