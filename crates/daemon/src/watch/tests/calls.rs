//! Executed calls in logs of other forms: the rows of Hermes' database, and documents that are written
//! anew, as Cline writes them.

use rusqlite::Connection;
use rusqlite::types::Value as Column;
use serde_json::{Value, json};

use super::*;

fn steps(log: &str) -> Vec<Value> {
    let text = recorded("hermes", log);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Makes a database as Hermes does.
fn make(scene: &Scene) -> Connection {
    let connection = Connection::open(scene.path(".hermes/state.db")).unwrap();
    let schema =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src/hermes/fixtures/logs/schema.sql");
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.execute_batch(&fs::read_to_string(schema).unwrap()).unwrap();
    connection
}

/// Adds a recorded row, with its times shifted to now.
fn add(connection: &Connection, step: &Value, shift: f64) {
    let row = step["row"].as_object().unwrap();
    let row: Vec<(&String, Column)> = row
        .iter()
        .filter(|(name, _)| *name != "id" || step["table"] == "sessions")
        .map(|(name, value)| {
            let column = match value {
                Value::Null => Column::Null,
                Value::Number(time) => Column::Real(time.as_f64().unwrap() + shift),
                value => Column::Text(value.as_str().unwrap().to_owned()),
            };
            (name, column)
        })
        .collect();
    let names: Vec<&str> = row.iter().map(|(name, _)| name.as_str()).collect();
    let values = vec!["?"; names.len()].join(", ");
    let table = step["table"].as_str().unwrap();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({values})", names.join(", "));
    let columns = row.into_iter().map(|(_, column)| column);
    connection.execute(&sql, rusqlite::params_from_iter(columns)).unwrap();
}

fn told(call: &RanCall) -> String {
    let tool = call.tool.as_deref().unwrap_or_default();
    format!("{} {tool} {}", call.call, call.about.as_deref().unwrap_or_default())
}

#[test]
fn the_calls_of_a_growing_database_are_told_once_each() {
    let mut scene = Scene::watched();
    let connection = make(&scene);
    for log in ["calls", "delegated"] {
        let steps = steps(log);
        let first = steps[0]["row"]["started_at"].as_f64().unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a time of today")]
        let shift = jiff::Timestamp::now().as_millisecond() as f64 / 1e3 + 0.001 - first;
        let session = steps[0]["row"]["id"].as_str().unwrap().to_owned();
        for (number, step) in steps.iter().enumerate() {
            add(&connection, step, shift);
            if number == 6 {
                scene.catch_up();
                // It continues where it was.
                scene.watch();
            }
        }
        scene.expect(&format!("hermes:{session}"), "working idle");
    }
    // Databases are read after logs that changed at the same time: it may take another round.
    let until = Instant::now() + LIMIT;
    while scene.calls.len() < 10 && Instant::now() < until {
        scene.catch_up();
    }
    scene.catch_up();
    let calls: Vec<String> = scene.calls.iter().map(told).collect();
    assert_eq!(
        calls,
        [
            "call_1_0 terminal echo heard; touch free",
            "call_3_0 terminal echo out; exit 3",
            "call_5_0 write_file /home/user/project/new.txt",
            "call_6_0 patch /home/user/project/new.txt",
            "call_7_0 read_file /home/user/project/new.txt",
            "call_8_0 read_file /home/user/project/missing.txt",
            "call_1_0 terminal echo before",
            "call_2_0 delegate_task look around",
            "call_3_0 terminal echo inside",
            "call_5_0 terminal echo after",
        ]
    );
    for call in &scene.calls {
        assert_eq!(call.work_dir.as_deref(), Some("/home/user/project"), "{call:?}");
        assert!(call.at.is_some() && call.began.is_some() && !call.session.is_empty(), "{call:?}");
    }
}

/// Writes a document as Cline does: a new file in the place of the old one.
fn replace(scene: &Scene, messages: &[Value]) {
    let path = scene.path(".cline/data/sessions/s/s.messages.json");
    let beside = path.with_extension("new");
    fs::write(&beside, json!({"version": 1, "messages": messages}).to_string()).unwrap();
    fs::rename(beside, path).unwrap();
}

#[test]
fn a_document_that_is_written_anew_is_followed() {
    for is_told in [true, false] {
        let mut scene = Scene::new();
        scene.options.is_told = is_told;
        scene.options.often = Duration::from_millis(20);
        scene.watch();
        let text = recorded("cline", "calls");
        let messages: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for end in 1..=messages.len() {
            // One that is being written says nothing yet.
            fs::write(scene.path(".cline/data/sessions/s/s.messages.json"), "{\"messages\": [")
                .unwrap();
            replace(&scene, &messages[..end]);
            if end == 8 {
                scene.catch_up();
                scene.watch();
            }
        }
        scene.expect("cline:s", "working idle");
        scene.catch_up();
        let calls = |scene: &Scene| scene.calls.iter().map(told).collect::<Vec<String>>();
        let all = [
            "call_1_0 run_commands echo heard; touch free",
            "call_3_0 run_commands echo out; exit 3",
            "call_5_0 editor /home/user/project/new.txt",
            "call_6_0 editor /home/user/project/new.txt",
            "call_7_0 read_files ",
        ];
        assert_eq!(calls(&scene), all);
        // A person took back what came after the first call, and goes on.
        scene.calls.clear();
        for (end, expected) in [(3, &all[..1]), (8, &all[..2])] {
            replace(&scene, &messages[..end]);
            let until = Instant::now() + LIMIT;
            while scene.calls.len() < expected.len() {
                assert!(Instant::now() < until, "{:?}", calls(&scene));
                scene.next(Instant::now() + Duration::from_millis(20));
            }
            assert_eq!(calls(&scene), expected, "each is told again, once");
        }
    }
}
