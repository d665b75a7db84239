//! The tools of `anyhook mcp`, from their types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::json::remove;
use crate::mcp::{
    FoundRecords, HooksInForce, ListAgents, ListDecisions, ListPipelines, ListedAgents,
    ListedDecisions, ListedPipelines, ProjectHooks, SearchJournal, ShowAgent, ShowDecision,
    ShowRecord, ShownAgent, ShownDecision, ShownRecord, Stats,
};
use crate::report::StatsReport;

/// Returns the list of all tools, as it is to be committed.
pub fn tools() -> String {
    let tools = json!([
        tool::<ListAgents, ListedAgents>("list_agents", "List agents"),
        tool::<ShowAgent, ShownAgent>("show_agent", "Show an agent"),
        tool::<ListDecisions, ListedDecisions>("list_decisions", "List decisions"),
        tool::<ShowDecision, ShownDecision>("show_decision", "Show a decision"),
        tool::<SearchJournal, FoundRecords>("search_journal", "Search the journal"),
        tool::<ShowRecord, ShownRecord>("show_record", "Show a record"),
        tool::<HooksInForce, ProjectHooks>("hooks_in_force", "List hooks in force"),
        tool::<ListPipelines, ListedPipelines>("list_pipelines", "List pipelines"),
        tool::<Stats, StatsReport>("stats", "Summarize the journal"),
    ]);
    format!("{tools:#}\n")
}

/// Returns a tool; its description is that of its arguments.
fn tool<Arguments: JsonSchema, Output: JsonSchema>(name: &str, title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut input = schema::<Arguments>(settings.clone().into_generator());
    let description = input.as_object_mut().and_then(|input| remove(input, "description"));
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": input,
        // What may be left out is not required.
        "outputSchema": schema::<Output>(settings.for_serialize().into_generator()),
        "annotations": {
            "readOnlyHint": true,
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": false,
        },
    })
}

/// Returns a schema without what only a file of its own needs.
fn schema<T: JsonSchema>(generator: SchemaGenerator) -> Value {
    let mut schema = generator.into_root_schema_for::<T>();
    schema.remove("$schema");
    schema.remove("title");
    let mut schema = schema.into();
    remove_formats(&mut schema);
    schema
}

/// Removes formats of numbers, such as `uint32`: clients that do not know them warn of each.
fn remove_formats(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("format").is_some_and(Value::is_string) {
                remove(members, "format");
            }
            members.values_mut().for_each(remove_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_formats),
        _ => {}
    }
}
